/* Which reader a graph goes to. */
#include "load.h"

#include "file.h"
#include "graph_json.h"
#include "zoo.h"

bool berth_data_is_text(const char *data, size_t size)
{
	for (size_t i = 0; i < size && i < 256; i++) {
		unsigned char c = (unsigned char)data[i];
		if (c < ' ' && c != '\n' && c != '\r' && c != '\t')
			return false;
	}
	return true;
}

static berth_status load_file(const char *path, const char *const *dim, int32_t n_dims, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                              berth_err *err)
{
	char *data;
	size_t size;
	BERTH_TRY(berth_file_read(path, tmp, &data, &size, err));
	if (!berth_data_is_text(data, size))
		return berth_fail(err, BERTH_EFORMAT, "%s: not JSON text; expected a berth-graph file", path);
	if (n_dims)
		return berth_fail(err, BERTH_EINVAL, "%s: dimension '%.80s' is given, but only ONNX models have symbolic dimensions", path, dim[0]);
	return berth_graph_parse_json(path, data, size, mem, tmp, out, err);
}

berth_status berth_graph_load(const char *spec, const char *const *dim, int32_t n_dims, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                              berth_err *err)
{
	if (berth_zoo_is_spec(spec) && n_dims)
		return berth_fail(err, BERTH_EINVAL, "%s: dimension '%.80s' is given, but only ONNX models have symbolic dimensions", spec, dim[0]);
	if (berth_zoo_is_spec(spec))
		return berth_zoo_build(spec, mem, tmp, out, err);
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = load_file(spec, dim, n_dims, mem, tmp, out, err);
	berth_arena_reset(tmp, mark);
	return st;
}
