/* The library and its table of functions. */
#include "ort_provider.h"
#include "ort_table.h"

#include <dlfcn.h>
#include <unistd.h>

berth_status ort_check(const ort_lib *lib, ort_status s, const char *what, berth_err *err)
{
	if (!s)
		return BERTH_OK;
	const char *text = ((const char *(*)(ort_status))lib->api[GET_ERROR_MESSAGE])(s);
	berth_fail(err, BERTH_EFORMAT, "%s: %.380s", what, text);
	RELEASE(lib, RELEASE_STATUS, s);
	return BERTH_EFORMAT;
}

/* ---- opening ---- */

static void *open_at(const char *dir, const char *rest)
{
	char path[1024];
	if (!dir || snprintf(path, sizeof path, "%s%s", dir, rest) >= (int)sizeof path)
		return NULL;
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void *open_beside(void)
{
	char path[900];
	ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
	char *slash = n > 0 ? (path[n] = '\0', strrchr(path, '/')) : NULL;
	if (!slash)
		return NULL;
	*slash = '\0';
	void *handle = open_at(path, "/libonnxruntime.so.1");
	return handle ? handle : open_at(path, "/../lib/berth/libonnxruntime.so.1");
}

static void *find_library(const char *path)
{
	void *handle;
	if (path)
		return dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (getenv("BERTH_ORT_LIBRARY"))
		return dlopen(getenv("BERTH_ORT_LIBRARY"), RTLD_NOW | RTLD_LOCAL);
	if ((handle = open_beside()) ||
	    (handle = open_at(getenv("XDG_CACHE_HOME"), "/berth/libonnxruntime.so.1")) ||
	    (handle = open_at(getenv("HOME"), "/.cache/berth/libonnxruntime.so.1")))
		return handle;
	return dlopen("libonnxruntime.so.1", RTLD_NOW | RTLD_LOCAL);
}

berth_status ort_open(const char *path, berth_arena *mem, ort_lib **out, berth_err *err)
{
	ort_lib *lib;
	/* From 1.30 on it collects what it is used for, into files of the user's, to be sent. */
	setenv("ORT_DISABLE_TELEMETRY", "1", 1);
	void *handle = find_library(path);
	if (!handle)
		return berth_fail(err, BERTH_EIO,
		                  "ONNX Runtime is not installed (%.200s); 'scripts/setup engine' brings it, "
		                  "--library or BERTH_ORT_LIBRARY name it",
		                  dlerror());
	BERTH_TRY_NEW(mem, 1, err, lib);
	const ort_base *(*get_base)(void) = NULL;
	void *symbol = dlsym(handle, "OrtGetApiBase");
	memcpy(&get_base, &symbol, sizeof symbol);
	const ort_base *base = get_base ? get_base() : NULL;
	lib->base = base;
	if (!base || !(lib->api = base->get_api(API_VERSION)))
		return berth_fail(err, BERTH_EIO, "the library has no ONNX Runtime API of version %d",
		                  API_VERSION);
	lib->version = base->version();
	BERTH_TRY(ORT(lib, "ONNX Runtime", err, CREATE_ENV, (int, const char *, void **), 3, "berth",
	              &lib->env));
	BERTH_TRY(ORT(lib, "ONNX Runtime", err, CREATE_CPU_MEMORY, (int, int, void **), 1, 0, &lib->memory));
	*out = lib;
	return BERTH_OK;
}

const char *ort_version(const ort_lib *lib)
{
	return lib->version;
}

const void *ort_cpu_memory(const ort_lib *lib)
{
	return lib->memory;
}

/* ---- sessions ---- */

static berth_status add_config(ort_lib *lib, void *options, const char *key, const char *value,
                               berth_err *err)
{
	return ORT(lib, key, err, ADD_CONFIG_ENTRY, (void *, const char *, const char *), options, key,
	           value);
}

static berth_status set_options(ort_lib *lib, void *options, const ort_session_cfg *cfg, berth_err *err)
{
	BERTH_TRY(ORT(lib, "threads", err, SET_INTRA_OP_THREADS, (void *, int), options, cfg->threads));
	BERTH_TRY(ORT(lib, "threads", err, SET_INTER_OP_THREADS, (void *, int), options,
	              cfg->at_once ? cfg->at_once : 1));
	BERTH_TRY(ORT(lib, "the mode", err, SET_EXECUTION_MODE, (void *, int), options, cfg->at_once > 0));
	BERTH_TRY(ORT(lib, "optimisation", err, SET_OPTIMIZATION_LEVEL, (void *, int), options, cfg->level));
	if (cfg->optimised)
		BERTH_TRY(ORT(lib, "the optimised model", err, SET_OPTIMIZED_PATH, (void *, const char *),
		              options, cfg->optimised));
	if (cfg->threads != 1) /* else they spin on after a run, on the cores of the next one */
		BERTH_TRY(add_config(lib, options, "session.force_spinning_stop", "1", err));
	for (const char *const *c = cfg->config; c && *c; c += 2)
		BERTH_TRY(add_config(lib, options, c[0], c[1], err));
	for (int32_t i = 0; i < cfg->n_providers; i++)
		BERTH_TRY(ort_provider_append(lib, options, cfg->provider[i], err));
	if (!cfg->profile)
		return BERTH_OK;
	return ORT(lib, "profiling", err, ENABLE_PROFILING, (void *, const char *), options, cfg->profile);
}

berth_status ort_session_new(ort_lib *lib, const void *data, size_t size, const ort_session_cfg *cfg,
                             ort_session **out, berth_err *err)
{
	void *options = NULL;
	BERTH_TRY(ORT(lib, "session options", err, CREATE_SESSION_OPTIONS, (void **), &options));
	berth_status st = set_options(lib, options, cfg, err);
	if (st == BERTH_OK)
		st = ORT(lib, "session", err, CREATE_SESSION_FROM_ARRAY, (void *, const void *, size_t,
		         const void *, ort_session **), lib->env, data, size, options, out);
	RELEASE(lib, RELEASE_SESSION_OPTIONS, options);
	return st;
}

berth_status ort_session_end_profile(ort_lib *lib, ort_session *s, berth_arena *mem, const char **path,
                                     berth_err *err)
{
	void *allocator = NULL;
	char *text = NULL;
	BERTH_TRY(ORT(lib, "profiling", err, GET_ALLOCATOR, (void **), &allocator));
	BERTH_TRY(ORT(lib, "profiling", err, END_PROFILING, (ort_session *, void *, char **), s, allocator,
	              &text));
	*path = berth_arena_strdup(mem, text);
	BERTH_TRY(ORT(lib, "profiling", err, ALLOCATOR_FREE, (void *, void *), allocator, text));
	return berth_got(*path, err);
}

void ort_session_free(ort_lib *lib, ort_session *s)
{
	if (s)
		RELEASE(lib, RELEASE_SESSION, s);
}

/* ---- values ---- */

berth_status ort_value_over(ort_lib *lib, void *data, const ort_shape *shape, ort_value **out, berth_err *err)
{
	return ORT(lib, "tensor", err, CREATE_TENSOR_OVER, (const void *, void *, size_t, const int64_t *,
	           size_t, int, ort_value **), lib->memory, data, shape->bytes, shape->dim,
	           (size_t)shape->rank, (int)shape->elem, out);
}

void ort_value_free(ort_lib *lib, ort_value *v)
{
	if (v)
		RELEASE(lib, RELEASE_VALUE, v);
}

berth_status ort_tensors_new(berth_arena *mem, size_t most, ort_tensors *out, berth_err *err)
{
	out->n = 0;
	BERTH_TRY_NEW(mem, most, err, out->name, out->value);
	return BERTH_OK;
}

berth_status ort_tensors_add(ort_lib *lib, ort_tensors *t, const char *name, void *data,
                             const ort_shape *shape, berth_err *err)
{
	BERTH_TRY(ort_value_over(lib, data, shape, &t->value[t->n], err));
	t->name[t->n++] = name;
	return BERTH_OK;
}

void ort_tensors_free(ort_lib *lib, ort_tensors *t)
{
	for (int32_t i = 0; i < t->n; i++) {
		ort_value_free(lib, t->value[i]);
		t->value[i] = NULL;
	}
}

berth_status ort_run(ort_lib *lib, ort_session *s, const ort_tensors *in, const ort_tensors *out,
                     berth_err *err)
{
	return ORT(lib, "run", err, RUN,
	           (ort_session *, const void *, const char *const *, ort_value *const *, size_t,
	            const char *const *, size_t, ort_value **),
	           s, NULL, in->name, in->value, (size_t)in->n, out->name, (size_t)out->n, out->value);
}

static berth_status look_shape(ort_lib *lib, void *info, ort_shape *shape, berth_err *err)
{
	int elem = 0;
	size_t rank = 0, count = 1;
	BERTH_TRY(ORT(lib, "type", err, GET_ELEMENT_TYPE, (const void *, int *), info, &elem));
	BERTH_TRY(ORT(lib, "rank", err, GET_RANK, (const void *, size_t *), info, &rank));
	if (rank > ORT_MAX_RANK || !ort_elem_bytes(elem))
		return berth_fail(err, BERTH_EFORMAT,
		                  "a tensor of element type %d and rank %zu; expected numbers and at most %d "
		                  "dimensions",
		                  elem, rank, ORT_MAX_RANK);
	BERTH_TRY(ORT(lib, "shape", err, GET_DIMENSIONS, (const void *, int64_t *, size_t), info, shape->dim,
	              rank));
	for (size_t i = 0; i < rank; i++)
		count *= (size_t)shape->dim[i];
	shape->elem = elem;
	shape->rank = (int32_t)rank;
	shape->bytes = count * ort_elem_bytes(elem);
	return BERTH_OK;
}

berth_status ort_value_look(ort_lib *lib, ort_value *v, ort_shape *shape, void **data, berth_err *err)
{
	int is_tensor = 0;
	void *info = NULL;
	BERTH_TRY(ORT(lib, "value", err, IS_TENSOR, (const ort_value *, int *), v, &is_tensor));
	if (!is_tensor)
		return berth_fail(
			err, BERTH_EFORMAT,
			"a value that is no tensor (a sequence, a map); the engine moves tensors only");
	BERTH_TRY(ORT(lib, "value", err, GET_TYPE_AND_SHAPE, (const ort_value *, void **), v, &info));
	berth_status st = look_shape(lib, info, shape, err);
	RELEASE(lib, RELEASE_TYPE_AND_SHAPE, info);
	BERTH_TRY(st);
	return ORT(lib, "data", err, GET_TENSOR_DATA, (ort_value *, void **), v, data);
}

size_t ort_elem_bytes(int32_t elem)
{
	static const unsigned char bytes[] = {0, 4, 1, 1, 2, 2, 4, 8, 0, 1, 2, 8, 4, 8, 8, 16, 2};
	return elem > 0 && elem < (int32_t)sizeof bytes ? bytes[elem] : 0;
}
