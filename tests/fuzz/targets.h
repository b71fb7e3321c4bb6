/* Every fuzz target by its name. */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef int target_run(const uint8_t *data, size_t size);
typedef size_t target_mutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

typedef struct fuzz_target {
	const char *name;
	target_run *run;
	target_mutator *mutator; /* NULL: it has none */
} fuzz_target;

/* NULL where there is none of this name. */
const fuzz_target *find_target(const char *name);
