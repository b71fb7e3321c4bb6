/* Any bytes as what an engine writes: its hello and its answers to every question, in pieces of any size.
 * What is taken is true to what was asked; all else is an error with a message. */
#include "engine_lines.h"
#include "fuzz.h"
#include "mutate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	berth_measured m;
	berth_err err = {0};
	fuzz_begin(&a);
	engine_lines(data, size, size % 4 == 3 ? 1 + size % 97 : 0);
	berth_status st = engine_lines_open(NULL, &a.mem, &m, &err);
	if (st != BERTH_OK) {
		must(err.code == st && err.msg[0]);
		return 0;
	}
	engine_lines_ask(&m, &a.mem, &a.tmp);
	berth_measured_close(&m);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return mutate_lines(data, size, max_size, seed, engine_lines_words);
}
