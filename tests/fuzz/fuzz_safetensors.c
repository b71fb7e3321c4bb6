/* Any bytes as a file of tensors: as it is, and with a digest that fits, so that the checks behind it are
 * reached. What is accepted survives a round trip. */
#include "fuzz.h"
#include "mutate.h"
#include "safetensors.h"

#include <string.h>

static void decode(const void *data, size_t size, berth_arena *mem)
{
	safetensors_file f, again;
	berth_err err = {0};
	berth_status st = safetensors_decode("fuzz", data, size, mem, &f, &err);
	if (st == BERTH_OK) {
		void *first, *second;
		size_t n, m;
		must(safetensors_encode(&f, mem, &first, &n, &err) == BERTH_OK);
		must(safetensors_decode("again", first, n, mem, &again, &err) == BERTH_OK);
		must(safetensors_encode(&again, mem, &second, &m, &err) == BERTH_OK);
		must(n == m && memcmp(first, second, n) == 0);
	} else {
		must(st == BERTH_EFORMAT && err.code == st && err.msg[0]);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static fuzz_arenas a;
	fuzz_begin(&a);
	decode(data, size, &a.mem);
	char *copy = fuzz_text(data, size, &a.mem);
	if (safetensors_seal(copy, size))
		decode(copy, size, &a.mem);
	return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return mutate_safetensors(data, size, max_size, seed);
}
