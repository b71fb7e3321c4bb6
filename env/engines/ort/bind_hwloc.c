/* Cores by hwloc. */
#include "exec.h"

#include <hwloc.h>

int32_t bind_cores(int32_t *core, int32_t max)
{
	hwloc_topology_t t;
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	int32_t n = 0;
	if (hwloc_topology_init(&t) != 0)
		return 0;
	if (hwloc_topology_load(t) == 0 && hwloc_get_cpubind(t, set, HWLOC_CPUBIND_PROCESS) == 0) {
		hwloc_bitmap_singlify_per_core(t, set, 0);
		for (int i = hwloc_bitmap_first(set); i >= 0 && n < max; i = hwloc_bitmap_next(set, i))
			core[n++] = i;
	}
	hwloc_topology_destroy(t);
	hwloc_bitmap_free(set);
	return n;
}

void bind_to(int32_t core)
{
	hwloc_topology_t t;
	hwloc_bitmap_t set = hwloc_bitmap_alloc();
	hwloc_bitmap_set(set, (unsigned)core);
	if (hwloc_topology_init(&t) == 0) {
		if (hwloc_topology_load(t) == 0)
			hwloc_set_cpubind(t, set, HWLOC_CPUBIND_THREAD);
		hwloc_topology_destroy(t);
	}
	hwloc_bitmap_free(set);
}
