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

static berth_status no_dims(const char *spec, const berth_onnx_options *opt, berth_err *err)
{
	if (!opt || !opt->n_dims)
		return BERTH_OK;
	return berth_fail(err, BERTH_EINVAL, "%s: dimension '%.80s' is given, but only ONNX models have symbolic dimensions", spec, opt->dim[0]);
}

static berth_status load_file(const char *path, const berth_onnx_options *opt, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                              berth_onnx_report *report, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	berth_status st;
	BERTH_TRY(berth_file_map(path, &data, &size, err));
	const char *text = data ? (const char *)data : "";
	if (!berth_data_is_text(text, size))
		st = berth_graph_parse_onnx(path, data, size, opt, mem, tmp, out, report, err);
	else if ((st = no_dims(path, opt, err)) == BERTH_OK)
		st = berth_graph_parse_json(path, text, size, mem, tmp, out, err);
	berth_file_unmap(data, size);
	return st;
}

berth_status berth_graph_load(const char *spec, const berth_onnx_options *opt, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                              berth_onnx_report *report, berth_err *err)
{
	if (report)
		*report = (berth_onnx_report){0};
	if (!berth_zoo_is_spec(spec))
		return load_file(spec, opt, mem, tmp, out, report, err);
	BERTH_TRY(no_dims(spec, opt, err));
	return berth_zoo_build(spec, mem, tmp, out, err);
}
