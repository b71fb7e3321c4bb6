/* Fuzzing of the checkpoint reader: the input as it is, and with a digest that fits, so that the checks
 * behind it are reached. What is accepted survives a round trip. */
#include "safetensors.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool holds)
{
	if (!holds)
		abort();
}

static void decode(const void *data, size_t size)
{
	berth_arena mem = {0};
	safetensors_file f, again;
	berth_err err = {0};
	berth_status st = safetensors_decode("fuzz", data, size, &mem, &f, &err);
	if (st == BERTH_OK) {
		void *first, *second;
		size_t n, m;
		must(safetensors_encode(&f, &mem, &first, &n, &err) == BERTH_OK);
		must(safetensors_decode("again", first, n, &mem, &again, &err) == BERTH_OK);
		must(safetensors_encode(&again, &mem, &second, &m, &err) == BERTH_OK);
		must(n == m && memcmp(first, second, n) == 0);
	} else {
		must(st == BERTH_EFORMAT && err.code == st && err.msg[0]);
	}
	berth_arena_free(&mem);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);
	must(copy != NULL);
	decode(data, size);
	memcpy(copy, data, size);
	if (safetensors_seal(copy, size))
		decode(copy, size);
	free(copy);
	return 0;
}
