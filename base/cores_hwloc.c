/* Cores by hwloc. */
#include "cores.h"

#include <hwloc.h>

static int32_t list_cores(hwloc_topology_t t, hwloc_bitmap_t set, int32_t *core, int32_t max)
{
	int32_t n = 0;
	if (hwloc_get_cpubind(t, set, HWLOC_CPUBIND_PROCESS) != 0)
		return 0;
	hwloc_bitmap_and(set, set, hwloc_topology_get_allowed_cpuset(t));
	hwloc_bitmap_singlify_per_core(t, set, 0);
	for (int i = hwloc_bitmap_first(set); i >= 0 && n < max; i = hwloc_bitmap_next(set, i))
		core[n++] = i;
	return n;
}

int32_t berth_cores(int32_t *core, int32_t max)
{
	hwloc_topology_t t;
	int32_t n = 0;
	if (hwloc_topology_init(&t) != 0)
		return 0;
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	if (set && hwloc_topology_load(t) == 0)
		n = list_cores(t, set, core, max);
	hwloc_bitmap_free(set);
	hwloc_topology_destroy(t);
	return n;
}
