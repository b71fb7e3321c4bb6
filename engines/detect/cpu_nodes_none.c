/* Where hwloc was not found at build: all cores are one node with all of the memory. */
#include "cpu_nodes.h"

#include <unistd.h>

berth_status berth_cpu_nodes_find(berth_cpu_nodes *out, berth_err *err)
{
	(void)err;
	*out = (berth_cpu_nodes){.n = 1};
	int32_t n = berth_cores(out->core, BERTH_MAX_CORES);
	int64_t pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	out->node[0] = (berth_cpu_node){.number = -1,
	                                .n_cores = n > 0 ? n : 1,
	                                .memory_bytes = pages > 0 && page > 0 ? pages * page : 0};
	return BERTH_OK;
}
