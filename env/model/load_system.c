/* Which reader a system goes to, and what a file is: a graph, a system, a placement, a policy, or a published
 * workload, which is graph and system. With a sandbox strangers' bytes are looked at in one. */
#include "load_system.h"

#include "file.h"
#include "onnx.h"
#include "system_json.h"
#include "system_read.h"
#include "systems_builtin.h"
#include "tasks.h"

#include <unistd.h>

#define PREFIX "system:"
#define HOST "host:"

static bool is_system_spec(const char *spec)
{
	return strncmp(spec, PREFIX, sizeof PREFIX - 1) == 0 || strncmp(spec, HOST, sizeof HOST - 1) == 0;
}

berth_status berth_system_host_path(berth_arena *mem, const char **path, berth_err *err)
{
	return berth_cache_path("host.json", mem, path, err);
}

/* Is path a device of the catalogue, which a machine can be made of? Its class, else NULL. */
static const char *class_of_device(const char *path)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_catalogue c;
	const berth_device_row *row;
	return berth_catalogue_read(&mem, &c, NULL) == BERTH_OK &&
	                       berth_device_find(&c, path, &tmp, &row, NULL) == BERTH_OK
	               ? berth_device_class_name(row->device_class)
	               : NULL;
}

/* There is no file at path, but a machine is called so, is made of such words, or nearly so: says that. Else
 * what failed stands. */
static berth_status name_builtin(const char *path, berth_status failed, berth_err *err)
{
	int32_t n;
	const berth_system_row *row = berth_system_builtin_list(&n);
	static const char *const prefixes[] = {"system", "host"};
	const char *name[64] = {"host"}, *class = class_of_device(path), *near, *prefix;
	bool there = true;
	if (failed != BERTH_EIO || berth_file_there(path, &there, NULL) != BERTH_OK || there)
		return failed;
	for (int32_t i = 0; i < n && i < 63; i++)
		name[i + 1] = row[i].name;
	char word[64];
	snprintf(word, sizeof word, "%.*s", (int)strcspn(path, ":"), path);
	size_t n_word = strcspn(path, ":");
	bool file = strchr(path, '/') || strchr(path, '.');
	near = file ? NULL : berth_text_nearest(word, name, n + 1);
	prefix = file || !path[n_word] ? NULL : berth_text_nearest(word, prefixes, 2);
	if (path[n_word] && near && strncmp(near, path, n_word) == 0 && !near[n_word])
		return berth_fail(err, failed, "%s: there is no such file; the machine is " PREFIX "%s", path,
		                  path);
	if (near && strcmp(near, path) == 0)
		return berth_fail(err, failed, "%s: there is no such file; the %s machine is " PREFIX "%s",
		                  path, near == name[0] ? "described" : "built-in", path);
	if (class || strncmp(path, "cpu=", 4) == 0 || strncmp(path, "gpu=", 4) == 0)
		return berth_fail(err, failed, "%s: there is no such file; a machine of such devices is " HOST
		                  "%s%s%s", path, class ? class : "", class ? "=" : "", path);
	if (prefix)
		return berth_fail(err, failed, "%s: there is no such file (did you mean %s%s?)", path, prefix,
		                  path + n_word);
	if (near)
		return berth_fail(err, failed, "%s: there is no such file (did you mean " PREFIX "%s?)", path,
		                  near);
	return failed;
}

/* ---- in a sandbox ---- */

/* A system as canonical JSON. */
static berth_status work_system(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	const berth_content *x = ctx;
	berth_arena tmp = {0};
	berth_system s;
	BERTH_TRY(berth_system_parse_json(x->name, x->data, x->size, mem, &tmp, &s, err));
	return berth_system_write_json(&s, false, mem, data, size, err);
}

/* A graph (berth_graph_to_text), a line break, its system as canonical JSON; nothing where it is no
 * published workload. */
static berth_status work_workload(void *ctx, berth_arena *mem, const char **data, size_t *size,
                                  berth_err *err)
{
	const berth_content *x = ctx;
	const berth_read_report none = {0};
	const char *graph, *system;
	size_t n_graph, n_system;
	berth_arena tmp = {0};
	berth_graph g;
	berth_system s;
	if (berth_content_format(x) != &berth_format_tarnawski)
		return BERTH_OK;
	BERTH_TRY(berth_tarnawski_parse(x->name, x->data, x->size, mem, &tmp, &g, &s, err));
	BERTH_TRY(berth_graph_to_text(&g, &none, mem, &graph, &n_graph, err));
	BERTH_TRY(berth_system_write_json(&s, false, mem, &system, &n_system, err));
	berth_strbuf both = {.mem = mem};
	berth_strbuf_add(&both, graph, n_graph);
	berth_strbuf_add(&both, "\n", 1);
	berth_strbuf_add(&both, system, n_system);
	return berth_strbuf_done(&both, data, size, err);
}

static berth_status workload_apart(const berth_content *x, const berth_sandbox *sandbox, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *g, berth_system *s, bool *found,
                                   berth_err *err)
{
	const char *text, *end;
	size_t size;
	berth_read_report none;
	berth_content copy = *x;
	BERTH_TRY(berth_sandbox_run(sandbox, x->name, work_workload, &copy, tmp, &text, &size, err));
	*found = size > 0;
	if (!*found)
		return BERTH_OK;
	for (end = text + size - 1; end > text && *end != '\n';)
		end--;
	BERTH_TRY(berth_graph_from_text(x->name, text, (size_t)(end - text), mem, tmp, g, &none, err));
	return berth_system_parse_json(x->name, end + 1, size - (size_t)(end + 1 - text), mem, tmp, s, err);
}

/* ---- systems ---- */

static berth_status parse_system(const berth_content *x, const berth_sandbox *sandbox, berth_arena *mem,
                                 berth_arena *tmp, berth_system *out, berth_err *err)
{
	berth_content from = *x;
	if (sandbox)
		BERTH_TRY(berth_sandbox_run(sandbox, x->name, work_system, &from, tmp, &from.data, &from.size,
		                            err));
	return berth_system_parse_json(x->name, from.data, from.size, mem, tmp, out, err);
}

static berth_status load_file(const char *path, const berth_sandbox *sandbox, berth_arena *mem,
                              berth_arena *tmp, berth_system *out, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_SCRATCH(tmp);
	berth_status st = berth_file_take(BERTH_READS_SYSTEM, path, &data, &size, err);
	if (st != BERTH_OK)
		return name_builtin(path, st, err);
	const berth_content x = {.name = path, .data = data ? (const char *)data : "", .size = size};
	st = parse_system(&x, sandbox, mem, tmp, out, err);
	berth_file_unmap(data, size);
	return st;
}

berth_status berth_system_load(const char *spec, const berth_sandbox *sandbox, berth_arena *mem,
                               berth_arena *tmp, berth_system *out, berth_err *err)
{
	const char *name = spec + (strncmp(spec, PREFIX, sizeof PREFIX - 1) == 0 ? sizeof PREFIX - 1 : 0);
	if (strncmp(name, HOST, sizeof HOST - 1) == 0) {
		/* "host:WORDS". */
		const char *text;
		size_t size;
		BERTH_TRY(berth_system_host_text(name + sizeof HOST - 1, mem, tmp, &text, &size, err));
		return berth_system_parse_json(name, text, size, mem, tmp, out, err);
	}
	if (is_system_spec(spec) && strchr(spec, ','))
		return berth_fail(err, BERTH_EINVAL, "'%s' is a list; expected one system", spec);
	if (strcmp(spec, PREFIX "host") == 0) {
		const char *path;
		BERTH_TRY(berth_system_host_path(mem, &path, err));
		bool there;
		BERTH_TRY(berth_file_there(path, &there, err));
		if (!there)
			return berth_fail(err, BERTH_EINVAL,
			                  "system:host: this machine was not described yet; 'berth profile "
			                  "--system' does so");
		return load_file(path, NULL, mem, tmp, out, err);
	}
	return is_system_spec(spec) ? berth_system_builtin(name, mem, tmp, out, err)
	                            : load_file(spec, sandbox, mem, tmp, out, err);
}

/* ---- what a file is ---- */

static berth_input input_of_doc(const cJSON *doc)
{
	const cJSON *format = cJSON_GetObjectItemCaseSensitive(doc, "format");
	const char *name = cJSON_IsString(format) ? format->valuestring : "";
	if (strcmp(name, "berth-system") == 0)
		return BERTH_INPUT_SYSTEM;
	if (strcmp(name, "berth-placement") == 0 ||
	    (!format && cJSON_GetObjectItemCaseSensitive(doc, "placement")))
		return BERTH_INPUT_PLACEMENT;
	return BERTH_INPUT_GRAPH;
}

/* A safetensors file: eight bytes, the little-endian length of the JSON object that follows them. */
static bool is_safetensors(const unsigned char *data, size_t size)
{
	uint64_t n = 0;
	for (int i = 7; i >= 0 && size > 8; i--)
		n = n << 8 | data[i];
	return size > 8 && n >= 2 && n <= size - 8 && data[8] == '{';
}

/* A published workload beside the inputs: graph and system in one. */
enum { WORKLOAD = BERTH_INPUT_POLICY + 1 };

/* Which it is, as a byte. */
static berth_status tell_kind(const berth_content *x, char *out, berth_err *err)
{
	const berth_format *format = berth_content_format(x);
	*out = format == &berth_format_tarnawski ? WORKLOAD : BERTH_INPUT_GRAPH;
	if (format == &berth_format_onnx && is_safetensors((const unsigned char *)x->data, x->size))
		*out = BERTH_INPUT_POLICY;
	if (format != &berth_format_json)
		return BERTH_OK;
	cJSON *doc = berth_json_peek(x->data, x->size);
	if (!doc && berth_json_check("", x->data, x->size, NULL) == BERTH_OK)
		return berth_nomem(err);
	*out = doc ? (char)input_of_doc(doc) : BERTH_INPUT_GRAPH; /* what is wrong is told by its reader */
	cJSON_Delete(doc);
	return BERTH_OK;
}

/* What has no bytes of a graph to be looked at before it is read. */
static bool is_no_file(const char *spec)
{
	return !berth_graph_is_file(spec) || berth_file_is_stream(spec);
}

/* Map the file of spec, without the words behind its name. */
static berth_status map_file(const char *spec, berth_content *out, berth_err *err)
{
	BERTH_ARENA(mem);
	const char *path = berth_graph_path(spec, &mem), *host = "host";
	berth_status st = path ? berth_graph_map(path, out, err) : berth_nomem(err);
	if (path && st != BERTH_OK) { /* hots:gpu=t4 is nearly a machine of words, no graph with words */
		bool words = strchr(path, ':') == NULL && berth_text_nearest(path, &host, 1);
		st = berth_graph_missing(path, name_builtin(words ? spec : path, st, err), err);
	}
	out->name = spec;
	return st;
}

static berth_status work_kind(void *ctx, berth_arena *mem, const char **data, size_t *size, berth_err *err)
{
	char *answer = berth_arena_alloc(mem, 1, 1);
	BERTH_TRY(berth_got(answer, err));
	*data = answer;
	*size = 1;
	return tell_kind(ctx, answer, err);
}

/* The kind of the file that spec names. An answer of the sandbox that makes no sense is as good as none: a
 * graph's reader tells. */
static berth_status kind_of(const char *spec, const berth_sandbox *sandbox, int *out, berth_err *err)
{
	berth_content x;
	BERTH_ARENA(mem);
	char kind = BERTH_INPUT_GRAPH;
	const char *answer = &kind;
	size_t size = 1;
	BERTH_TRY(map_file(spec, &x, err));
	berth_status st = sandbox && !x.format /* else the first bytes have told it */
	                          ? berth_sandbox_run(sandbox, x.name, work_kind, &x, &mem, &answer, &size,
	                                              err)
	                          : tell_kind(&x, &kind, err);
	if (st == BERTH_OK)
		*out = size == 1 && *answer > 0 && *answer <= WORKLOAD ? *answer : BERTH_INPUT_GRAPH;
	berth_graph_unmap(&x);
	return st;
}

berth_status berth_input_of(const char *spec, const berth_sandbox *sandbox, berth_input *out, berth_err *err)
{
	int kind = is_system_spec(spec) ? BERTH_INPUT_SYSTEM : BERTH_INPUT_GRAPH;
	if (!is_system_spec(spec) && !is_no_file(spec))
		BERTH_TRY(kind_of(spec, sandbox, &kind, err));
	*out = kind == WORKLOAD ? BERTH_INPUT_GRAPH : (berth_input)kind;
	return BERTH_OK;
}

bool berth_is_workload(const char *spec, const berth_sandbox *sandbox)
{
	int kind = BERTH_INPUT_GRAPH;
	return !is_no_file(spec) && kind_of(spec, sandbox, &kind, NULL) == BERTH_OK && kind == WORKLOAD;
}

/* *found: path is a published workload, read into g and s. */
static berth_status load_workload(const char *path, const berth_sandbox *sandbox, berth_arena *mem,
                                  berth_arena *tmp, berth_graph *g, berth_system *s, bool *found,
                                  berth_err *err)
{
	berth_content x;
	BERTH_TRY(map_file(path, &x, err));
	berth_status st = BERTH_OK;
	BERTH_SCRATCH(tmp);
	if (sandbox && !x.format)
		st = workload_apart(&x, sandbox, mem, tmp, g, s, found, err);
	else if ((*found = berth_content_format(&x) == &berth_format_tarnawski))
		st = berth_tarnawski_parse(path, x.data, x.size, mem, tmp, g, s, err);
	berth_graph_unmap(&x);
	return st;
}

berth_status berth_instance_load(const char *graph, const char *system, const berth_read_options *opt,
                                 berth_arena *mem, berth_arena *tmp, berth_graph *g, berth_system *s,
                                 berth_read_report *report, berth_err *err)
{
	const berth_sandbox *sandbox = opt ? opt->sandbox : NULL;
	bool found = false;
	if (!is_no_file(graph))
		BERTH_TRY(load_workload(graph, sandbox, mem, tmp, g, s, &found, err));
	if (found && report)
		*report = (berth_read_report){0};
	if (!found && !system)
		return berth_fail(err, BERTH_EINVAL,
		                  "--on SYSTEM is missing: %s brings no machine of its own; 'berth systems' "
		                  "lists those that are built in",
		                  graph);
	if (!found)
		BERTH_TRY(berth_graph_load(graph, opt, mem, tmp, g, report, err));
	return system ? berth_system_load(system, sandbox, mem, tmp, s, err) : BERTH_OK;
}
