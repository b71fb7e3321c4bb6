/* A line that is config.json, then any bytes as the safetensors file beside it: an answer that passes its
 * check and can be used, or an error. */
#include "fuzz.h"
#include "hf.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_graph g;
	berth_read_report r = {0};
	berth_read_options opt = {0};
	berth_err err = {0};
	const uint8_t *end = memchr(data, '\n', size);
	size_t n = end ? (size_t)(end - data) : size, rest = end ? n + 1 : n;
	fuzz_begin(&a);
	berth_content part = {.name = "f/model.safetensors",
	                      .data = fuzz_text(data + rest, size - rest, &a.mem),
	                      .size = size - rest};
	berth_content from = {.name = "f/config.json",
	                      .data = fuzz_text(data, n, &a.mem),
	                      .size = n,
	                      .part = &part,
	                      .n_parts = 1};
	berth_status st = berth_format_hf.parse(&from, &opt, &a.mem, &a.tmp, &g, &r, &err);
	if (st != BERTH_OK) {
		must(st == BERTH_EFORMAT || st == BERTH_EINVAL || st == BERTH_ENOMEM);
		must(err.code == st && err.msg[0]);
		return 0;
	}
	must(berth_graph_check(&g, NULL) == BERTH_OK);
	if (fuzz_goes_deep(data, size))
		fuzz_use_graph(&g, &a.mem, &a.tmp);
	return 0;
}
