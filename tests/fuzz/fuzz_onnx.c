/* Any bytes as an ONNX model: an answer that passes its check, or an error with a message. */
#include "onnx.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_read_report r;
	berth_err err = {0};
	berth_status st = berth_graph_parse_onnx("f.onnx", data, size, NULL, &mem, &tmp, &g, &r, &err);
	if (st == BERTH_OK ? berth_graph_check(&g, &err) != BERTH_OK
	                   : (st != BERTH_EFORMAT && st != BERTH_ENOMEM) || strncmp(err.msg, "f.onnx: ", 8))
		abort();
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return 0;
}
