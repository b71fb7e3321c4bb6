/* Where hwloc was not found at build: the processors that the system lets this process use. */
#include "cores.h"

#include <sched.h>
#include <unistd.h>

int32_t berth_cores(int32_t *core, int32_t max)
{
	cpu_set_t set;
	int32_t n = 0;
	if (sched_getaffinity(0, sizeof set, &set) != 0) { /* more processors than a set has room for: take
		                                              them all */
		for (long online = sysconf(_SC_NPROCESSORS_ONLN); n < online && n < max; n++)
			core[n] = n;
		return n;
	}
	for (size_t i = 0; i < CPU_SETSIZE && n < max; i++)
		if (CPU_ISSET(i, &set))
			core[n++] = (int32_t)i;
	return n;
}
