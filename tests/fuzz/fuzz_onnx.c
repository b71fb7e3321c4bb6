/* Any bytes as an ONNX model: an answer that passes its check and can be used, or an error with a message. */
#include "fuzz.h"
#include "mutate.h"
#include "onnx.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_graph g;
	berth_read_report r;
	berth_err err = {0};
	fuzz_begin(&a);
	berth_status st = berth_graph_parse_onnx("f.onnx", data, size, NULL, &a.mem, &a.tmp, &g, &r, &err);
	fuzz_check_answer(st, &g, "f.onnx: ", &err);
	if (st == BERTH_OK && fuzz_goes_deep(data, size))
		fuzz_use_graph(&g, &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return mutate_onnx(data, size, max_size, seed);
}
