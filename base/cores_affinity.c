/* Where hwloc was not found at build: the processors that the system lets this process use. */
#include "cores.h"

#include <sched.h>

int32_t berth_cores(int32_t *core, int32_t max)
{
	cpu_set_t set;
	int32_t n = 0;
	if (sched_getaffinity(0, sizeof set, &set) != 0)
		return 0;
	for (size_t i = 0; i < CPU_SETSIZE && n < max; i++)
		if (CPU_ISSET(i, &set))
			core[n++] = (int32_t)i;
	return n;
}
