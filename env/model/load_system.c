/* Which reader a system goes to, and what a file is. */
#include "load_system.h"

#include "file.h"
#include "graph_json.h"
#include "json_check.h"
#include "json_large.h"
#include "load.h"
#include "onnx.h"
#include "system_json.h"
#include "systems_builtin.h"
#include "tarnawski.h"
#include "tarnawski_system.h"
#include "zoo.h"

#include <string.h>
#include <unistd.h>

#define PREFIX "system:"

static bool is_system_spec(const char *spec)
{
	return strncmp(spec, PREFIX, sizeof PREFIX - 1) == 0;
}

berth_status berth_system_host_path(berth_arena *mem, const char **path, berth_err *err)
{
	return berth_cache_path("host.json", mem, path, err);
}

/* There is no file at path, but a built-in machine is called so: says that. Else what failed stands. */
static berth_status name_builtin(const char *path, berth_status failed, berth_err *err)
{
	int32_t n;
	const berth_system_row *row = berth_system_builtin_list(&n);
	bool there = true;
	if (failed != BERTH_EIO || berth_file_there(path, &there, NULL) != BERTH_OK || there)
		return failed;
	for (int32_t i = 0; i < n; i++)
		if (strcmp(row[i].name, path) == 0)
			return berth_fail(err, failed,
			                  "%s: there is no such file; the built-in machine is " PREFIX "%s",
			                  path, path);
	return failed;
}

static berth_status load_file(const char *path, berth_arena *mem, berth_arena *tmp, berth_system *out,
                              berth_err *err)
{
	const unsigned char *data;
	size_t size;
	berth_status st = berth_file_map(path, &data, &size, err);
	if (st != BERTH_OK)
		return name_builtin(path, st, err);
	st = berth_system_parse_json(path, data ? (const char *)data : "", size, mem, tmp, out, err);
	berth_file_unmap(data, size);
	return st;
}

static berth_status load_host(berth_arena *mem, berth_arena *tmp, berth_system *out, berth_err *err)
{
	const char *path;
	BERTH_TRY(berth_system_host_path(mem, &path, err));
	bool there;
	BERTH_TRY(berth_file_there(path, &there, err));
	if (!there)
		return berth_fail(
			err, BERTH_EINVAL,
			"system:host: this machine was not described yet; 'berth profile --system' does so");
	return load_file(path, mem, tmp, out, err);
}

berth_status berth_system_load(const char *spec, berth_arena *mem, berth_arena *tmp, berth_system *out,
                               berth_err *err)
{
	if (strcmp(spec, PREFIX "host") == 0)
		return load_host(mem, tmp, out, err);
	return is_system_spec(spec) ? berth_system_builtin(spec + sizeof PREFIX - 1, mem, tmp, out, err)
	                            : load_file(spec, mem, tmp, out, err);
}

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

static berth_status input_of_data(const char *text, size_t size, berth_input *out, berth_err *err)
{
	const berth_format *format = berth_format_of(text, size);
	if (format != &berth_format_json) {
		bool policy = format == &berth_format_onnx &&
		              is_safetensors((const unsigned char *)text, size);
		*out = policy ? BERTH_INPUT_POLICY : BERTH_INPUT_GRAPH;
		return BERTH_OK;
	}
	cJSON *doc = berth_json_peek(text, size);
	if (!doc && berth_json_check("", text, size, NULL) == BERTH_OK)
		return berth_nomem(err);
	*out = doc ? input_of_doc(doc) : BERTH_INPUT_GRAPH; /* what is wrong is told by its reader */
	cJSON_Delete(doc);
	return BERTH_OK;
}

/* Map the file of spec, without the words behind its name. */
static berth_status map_file(const char *spec, const unsigned char **data, size_t *size, berth_err *err)
{
	berth_arena mem = {0};
	const char *path = berth_graph_path(spec, &mem);
	berth_status st = path ? berth_file_map(path, data, size, err) : berth_nomem(err);
	if (path && st != BERTH_OK)
		st = name_builtin(path, berth_graph_missing(path, st, err), err);
	berth_arena_free(&mem);
	return st;
}

berth_status berth_input_of(const char *spec, berth_input *out, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	*out = is_system_spec(spec) ? BERTH_INPUT_SYSTEM : BERTH_INPUT_GRAPH;
	if (is_system_spec(spec) || berth_zoo_is_spec(spec) || berth_file_is_stream(spec))
		return BERTH_OK;
	BERTH_TRY(map_file(spec, &data, &size, err));
	berth_status st = input_of_data(data ? (const char *)data : "", size, out, err);
	berth_file_unmap(data, size);
	return st;
}

bool berth_is_workload(const char *spec)
{
	const unsigned char *data;
	size_t size;
	if (berth_zoo_is_spec(spec) || berth_file_is_stream(spec) ||
	    map_file(spec, &data, &size, NULL) != BERTH_OK)
		return false;
	const char *text = data ? (const char *)data : "";
	bool found = berth_format_of(text, size) == &berth_format_tarnawski;
	berth_file_unmap(data, size);
	return found;
}

/* *found: path is a published workload, read into g and s. */
static berth_status load_workload(const char *path, berth_arena *mem, berth_arena *tmp, berth_graph *g,
                                  berth_system *s, bool *found, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	BERTH_TRY(map_file(path, &data, &size, err));
	const char *text = data ? (const char *)data : "";
	*found = berth_format_of(text, size) == &berth_format_tarnawski;
	berth_status st = *found ? berth_tarnawski_parse(path, text, size, mem, tmp, g, s, err) : BERTH_OK;
	berth_file_unmap(data, size);
	return st;
}

berth_status berth_instance_load(const char *graph, const char *system, const berth_read_options *opt,
                                 berth_arena *mem, berth_arena *tmp, berth_graph *g, berth_system *s,
                                 berth_read_report *report, berth_err *err)
{
	bool found = false;
	if (!berth_zoo_is_spec(graph) && !berth_file_is_stream(graph))
		BERTH_TRY(load_workload(graph, mem, tmp, g, s, &found, err));
	if (found && report)
		*report = (berth_read_report){0};
	if (!found && !system)
		return berth_fail(err, BERTH_EINVAL,
		                  "--on SYSTEM is missing: %s brings no machine of its own", graph);
	if (!found)
		BERTH_TRY(berth_graph_load(graph, opt, mem, tmp, g, report, err));
	return system ? berth_system_load(system, mem, tmp, s, err) : BERTH_OK;
}
