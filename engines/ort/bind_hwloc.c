/* Binding by hwloc. */
#include "exec.h"

#include <hwloc.h>

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
