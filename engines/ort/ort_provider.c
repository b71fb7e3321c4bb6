/* Execution providers of ONNX Runtime: found, appended to sessions, and given inputs and outputs in their own
 * memory. */
#include "ort_provider.h"
#include "ort_table.h"
#include "text.h"

#include <unistd.h>

/* A call that gives a value and no status. */
#define GET(lib, at, result, types, ...) (((result(*) types)(lib)->api[at])(__VA_ARGS__))

berth_status ort_providers_open(ort_lib *lib, berth_err *err)
{
	const ort_place *api = lib->base->get_api(ORT_PROVIDERS_VERSION);
	if (!api)
		return berth_fail(
			err, BERTH_EIO,
			"--providers wants ONNX Runtime 1.25 or newer, which gives nodes to providers "
			"by labels; this is %.40s",
			lib->version);
	lib->api = api;
	return BERTH_OK;
}

static berth_status missing(berth_status st, berth_err *err)
{
	if (st != BERTH_OK)
		err->code = BERTH_EIO; /* not of a model */
	return st == BERTH_OK ? BERTH_OK : BERTH_EIO;
}

/* The library would look for a relative path in its own folder only. */
static const char *absolute(const char *path, char *buf, size_t size)
{
	char folder[1024];
	bool there = *path != '/' && access(path, R_OK) == 0 && getcwd(folder, sizeof folder);
	return there && snprintf(buf, size, "%s/%s", folder, path) < (int)size ? buf : path;
}

berth_status ort_provider_load(ort_lib *lib, const char *name, const char *path, berth_err *err)
{
	char buf[2048];
	return missing(ORT(lib, "--provider-library", err, REGISTER_LIBRARY, (void *, const char *,
	                   const char *), lib->env, name, absolute(path, buf, sizeof buf)), err);
}

/* ---- finding ---- */

static const char *provider_of(const ort_lib *lib, const void *device)
{
	return GET(lib, DEVICE_PROVIDER, const char *, (const void *), device);
}

static void describe(const ort_lib *lib, const void *device, ort_provider *out)
{
	static const char *const kinds[] = {"cpu", "gpu", "npu"};
	const void *hardware = GET(lib, DEVICE_HARDWARE, const void *, (const void *), device);
	const void *memory = GET(lib, DEVICE_MEMORY, const void *, (const void *, int), device, 0);
	int kind = GET(lib, HARDWARE_TYPE, int, (const void *), hardware);
	out->device = device;
	out->memory = memory ? memory : lib->memory;
	out->kind = kind >= 0 && kind < 3 ? kinds[kind] : "";
	snprintf(out->what, sizeof out->what, "%.100s %x:%x",
	         GET(lib, DEVICE_VENDOR, const char *, (const void *), device),
	         (unsigned)GET(lib, HARDWARE_VENDOR_ID, uint32_t, (const void *), hardware),
	         (unsigned)GET(lib, HARDWARE_DEVICE_ID, uint32_t, (const void *), hardware));
}

static void add_name(char *text, size_t size, const char *name)
{
	size_t len = strlen(text);
	if (!strstr(text, name))
		snprintf(text + len, size - len, "%s%s", len ? ", " : "", name);
}

/* Providers that the library was built with, told or looked for. A device tells more of one. */
static berth_status look_built_in(ort_lib *lib, const char *name, bool *found, char *names, size_t size,
                                  berth_err *err)
{
	char **list = NULL;
	int n = 0;
	BERTH_TRY(ORT(lib, "providers", err, GET_AVAILABLE_PROVIDERS, (char ***, int *), &list, &n));
	for (int i = 0; i < n; i++) {
		*found |= strcmp(list[i], name) == 0;
		add_name(names, size, list[i]);
	}
	return ORT(lib, "providers", err, RELEASE_AVAILABLE_PROVIDERS, (char **, int), list, n);
}

/* WebGPU may tell no device, and no memory; but the library knows its memory by name. What is made here is
 * made once, and lives as long as the process, like the library and its CPU memory (ort_open). */
static berth_status know_webgpu(ort_lib *lib, ort_provider *out, berth_err *err)
{
	enum { DEVICE_ALLOCATOR = 0, DEFAULT_MEMORY = 0 };
	void *memory = NULL;
	if (strcmp(out->name, "WebGpuExecutionProvider") != 0)
		return BERTH_OK;
	out->late = true;
	out->kind = "gpu";
	if (out->memory != lib->memory)
		return BERTH_OK;
	BERTH_TRY(ORT(lib, "WebGPU's memory", err, CREATE_MEMORY, (const char *, int, int, int, void **),
	              "WebGPU_Buf", DEVICE_ALLOCATOR, 0, DEFAULT_MEMORY, &memory));
	out->memory = memory;
	return BERTH_OK;
}

/* NAME or NAME:N. */
static void read_name(const char *text, ort_provider *out, uint64_t *id)
{
	const char *colon = strchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : strlen(text);
	if (n < sizeof out->name)
		memcpy(out->name, text, n);
	if (colon && (!berth_text_whole(colon + 1, strlen(colon + 1), 999, id) ||
	              snprintf(out->id, sizeof out->id, "%s", colon + 1) >= (int)sizeof out->id))
		*out->name = '\0';
}

berth_status ort_provider_find(ort_lib *lib, const char *text, ort_provider *out, berth_err *err)
{
	const void *const *device;
	char names[256] = "";
	bool found = false;
	size_t n = 0;
	uint64_t before = 0;
	*out = (ort_provider){.memory = lib->memory, .kind = ""};
	read_name(text, out, &before);
	const char *name = out->name;
	BERTH_TRY(look_built_in(lib, name, &found, names, sizeof names, err));
	BERTH_TRY(missing(ORT(lib, "devices", err, GET_DEVICES,
	                      (const void *, const void *const **, size_t *), lib->env, &device, &n),
	                  err));
	for (size_t i = 0; i < n; i++)
		add_name(names, sizeof names, provider_of(lib, device[i]));
	if (ort_provider_is_cpu(out) && !*out->id) {
		out->kind = "cpu";
		return BERTH_OK;
	}
	for (size_t i = 0; i < n && !out->device; i++)
		if (strcmp(provider_of(lib, device[i]), name) == 0 && before-- == 0)
			describe(lib, device[i], out);
	if (!*out->name || ort_provider_is_cpu(out) || (!found && !out->device))
		return berth_fail(err, BERTH_EIO,
		                  "ONNX Runtime %.20s has no provider '%.60s' here; it has %.256s "
		                  "(--provider-library NAME=FILE brings others)",
		                  lib->version, text, names);
	return know_webgpu(lib, out, err);
}

bool ort_provider_is_cpu(const ort_provider *p)
{
	return strcmp(p->name, ORT_CPU_PROVIDER) == 0;
}

/* ---- appending ---- */

static const char *const device_id = "device_id";

/* CUDA as it has been appended since before providers had devices. */
static berth_status append_cuda(ort_lib *lib, void *options, const ort_provider *p, berth_err *err)
{
	void *cuda = NULL;
	const char *id = p->id;
	berth_status st = BERTH_OK;
	BERTH_TRY(ORT(lib, "CUDA", err, CREATE_CUDA_OPTIONS, (void **), &cuda));
	if (*id)
		st = ORT(lib, p->name, err, UPDATE_CUDA_OPTIONS, (void *, const char *const *,
		         const char *const *, size_t), cuda, &device_id, &id, (size_t)1);
	if (st == BERTH_OK)
		st = ORT(lib, p->name, err, APPEND_CUDA, (void *, const void *), options, cuda);
	RELEASE(lib, RELEASE_CUDA_OPTIONS, cuda);
	return st;
}

/* Others go by their names without "ExecutionProvider"; WebGPU writes itself otherwise there. */
static berth_status append_by_name(ort_lib *lib, void *options, const ort_provider *p, berth_err *err)
{
	char name[ORT_PROVIDER_NAME];
	const char *id = p->id;
	memcpy(name, p->name, sizeof name);
	char *tail = strstr(name, "ExecutionProvider");
	if (tail)
		*tail = '\0';
	return ORT(lib, p->name, err, APPEND_BY_NAME, (void *, const char *, const char *const *,
	           const char *const *, size_t), options, strcmp(name, "WebGpu") == 0 ? "WebGPU" : name,
	           &device_id, &id, (size_t)(*id != '\0'));
}

berth_status ort_provider_append(ort_lib *lib, void *options, const ort_provider *p, berth_err *err)
{
	if (ort_provider_is_cpu(p))
		return BERTH_OK;
	if (p->device)
		return ORT(lib, p->name, err, APPEND_DEVICE, (void *, void *, const void *const *, size_t,
		           const char *const *, const char *const *, size_t), options, lib->env, &p->device,
		           (size_t)1, NULL, NULL, (size_t)0);
	berth_status st = strcmp(p->name, "CUDAExecutionProvider") == 0
	                          ? append_cuda(lib, options, p, err)
	                          : append_by_name(lib, options, p, err);
	if (st == BERTH_OK || (!strstr(err->msg, "Failed to load") && !strstr(err->msg, "cannot be loaded")))
		return st;
	const berth_err why = *err;
	return berth_fail(err, st,
	                  "%s needs libonnxruntime_providers_*.so beside ONNX Runtime's library, which "
	                  "--library names: %.300s",
	                  p->name, why.msg);
}

/* ---- sessions with inputs and outputs where providers want them ---- */

static berth_status bind_all(ort_lib *lib, ort_binding *b, const ort_tensors *in, const ort_tensors *out,
                             const ort_provider *out_at, const void *flag_at, berth_err *err)
{
	for (int32_t i = 0; i < in->n; i++)
		BERTH_TRY(ORT(lib, "input", err, BIND_INPUT, (ort_binding *, const char *, const ort_value *),
		              b, in->name[i], in->value[i]));
	for (int32_t i = 0; i < out->n + out_at->late; i++)
		BERTH_TRY(ORT(lib, "output", err, BIND_OUTPUT_TO, (ort_binding *, const char *, const void *),
		              b, i < out->n ? out->name[i] : ORT_FLAG_OUT,
		              i < out->n ? out_at->memory : flag_at));
	return ORT(lib, "input", err, SYNCHRONIZE_INPUTS, (ort_binding *), b);
}

berth_status ort_bind(ort_lib *lib, ort_session *s, const ort_tensors *in, const ort_tensors *out,
                      const ort_provider *out_at, const void *flag_at, ort_binding **b, berth_err *err)
{
	ort_binding *made = NULL;
	BERTH_TRY(ORT(lib, "binding", err, CREATE_BINDING, (ort_session *, ort_binding **), s, &made));
	berth_status st = bind_all(lib, made, in, out, out_at, flag_at, err);
	if (st != BERTH_OK)
		ort_bind_free(lib, made);
	else
		*b = made;
	return st;
}

void ort_bind_free(ort_lib *lib, ort_binding *b)
{
	if (b)
		RELEASE(lib, RELEASE_BINDING, b);
}

berth_status ort_bind_run(ort_lib *lib, ort_session *s, ort_binding *b, berth_err *err)
{
	BERTH_TRY(ORT(lib, "run", err, RUN_BOUND, (ort_session *, const void *, const ort_binding *), s, NULL,
	              b));
	return ORT(lib, "run", err, SYNCHRONIZE_OUTPUTS, (ort_binding *), b);
}
