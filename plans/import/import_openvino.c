/* Importer "openvino": {friendly name: device} of an ONNX model, as exporter "openvino" writes it and as a
 * program can tell it of a compiled model. */
#include "import_reading.h"

static berth_status is(const char *text, size_t size, bool *found, berth_err *err)
{
	import_map_kind kind;
	BERTH_TRY(import_map_look(text, size, &kind, err));
	*found = kind == IMPORT_OTHER_MAP;
	return BERTH_OK;
}

static berth_status take(void *ctx, const char *name, int32_t word, berth_err *err)
{
	berth_import *m = ctx;
	int32_t op = berth_strmap_get(&m->ops, name);
	if (op == -1)
		return berth_import_refuse(m, "operator", name, err);
	return op >= 0 ? berth_import_tell(m, op, word, err) : BERTH_OK;
}

static berth_status read(berth_import *m, berth_arena *tmp, berth_err *err)
{
	(void)tmp;
	BERTH_TRY(berth_import_onnx_names(m, err));
	return import_map_each(m, take, m, err);
}

const berth_importer berth_import_openvino = {
	.name = "openvino",
	.about = "JSON {friendly name: device}",
	.is = is,
	.read = read,
};
