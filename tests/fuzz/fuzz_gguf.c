/* Any bytes as a GGUF file, read for prefill or, where its size is odd, for decoding with an operator an
 * expert: an answer that passes its check and can be used, or an error that names the file. */
#include "fuzz.h"
#include "parse_gguf.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_graph g;
	berth_read_report r;
	berth_err err = {0};
	berth_gguf_options opt = berth_gguf_options_default();
	opt.decode = opt.each_expert = size % 2;
	fuzz_begin(&a);
	berth_status st = parse_gguf("f.gguf", data, size, &opt, &a.mem, &a.tmp, &g, &r, &err);
	fuzz_check_answer(st, &g, "f.gguf: ", &err);
	if (st == BERTH_OK && fuzz_goes_deep(data, size))
		fuzz_use_graph(&g, &a.mem, &a.tmp);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return mutate_gguf(data, size, max_size, seed);
}
