/* Where hwloc was not found at build: as many cores as are online, and threads stay where the system puts them. */
#include "exec.h"

#include <unistd.h>

int32_t bind_cores(int32_t *core, int32_t max)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	for (int32_t i = 0; i < max && i < n; i++)
		core[i] = i;
	return n < max ? (int32_t)n : max;
}

void bind_to(int32_t core)
{
	(void)core;
}
