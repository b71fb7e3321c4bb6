/* The list of fuzz targets: one row for each fuzz_NAME.c, which the build writes into fuzz_targets.h. */
#include "targets.h"

#include <string.h>

#define TARGET(name, mutator)                                                                                \
	target_run name;                                                                                     \
	target_mutator name##_mutator;
#include "fuzz_targets.h"
#undef TARGET

#define TARGET(name, mutator) {#name, name, mutator},
static const fuzz_target targets[] = {
#include "fuzz_targets.h"
};

const fuzz_target *find_target(const char *name)
{
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
		if (strcmp(name, targets[i].name) == 0)
			return &targets[i];
	return NULL;
}
