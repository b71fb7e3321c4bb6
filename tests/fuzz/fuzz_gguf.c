/* Any bytes as a GGUF file, read for prefill or, where its size is odd, for decoding with an operator an
 * expert: an answer that passes its check, or an error that names the file. */
#include "gguf.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_gguf_report r;
	berth_err err = {0};
	berth_gguf_options opt = berth_gguf_options_default();
	opt.decode = opt.each_expert = size % 2;
	berth_status st = berth_graph_parse_gguf("f.gguf", data, size, &opt, &mem, &tmp, &g, &r, &err);
	if (st == BERTH_OK ? berth_graph_check(&g, &err) != BERTH_OK
	                   : (st != BERTH_EFORMAT && st != BERTH_ENOMEM) || strncmp(err.msg, "f.gguf: ", 8))
		abort();
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return 0;
}
