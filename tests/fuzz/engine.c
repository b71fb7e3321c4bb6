/* What libFuzzer calls: the target by whose name the program is called. Called by NAME-plain, the same
 * without the target's own mutator, as libFuzzer changes inputs where there is none. */
#include "mutate.h"
#include "targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

static const fuzz_target *chosen;
static target_mutator *own_mutator;

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc;
	char name[256];
	const char *called = strrchr((*argv)[0], '/');
	snprintf(name, sizeof name, "%s", called ? called + 1 : (*argv)[0]);
	char *plain = strstr(name, "-plain");
	if (plain)
		*plain = 0;
	chosen = find_target(name);
	if (!chosen) {
		fprintf(stderr, "no fuzz target is called %s\n", name);
		exit(2);
	}
	own_mutator = plain ? NULL : chosen->mutator;
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	return chosen->run(data, size);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	return own_mutator ? own_mutator(data, size, max_size, seed) : LLVMFuzzerMutate(data, size, max_size);
}
