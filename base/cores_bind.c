/* Keeping a thread on a core; see cores.h. */
#include "cores.h"

#include <sched.h>

void berth_cores_bind(int32_t core)
{
	cpu_set_t set;
	CPU_ZERO(&set);
	if (core >= 0 && core < CPU_SETSIZE) {
		CPU_SET((size_t)core, &set);
		sched_setaffinity(0, sizeof set, &set);
	}
}
