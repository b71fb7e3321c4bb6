/* Nodes by hwloc, in a process of its own: an assertion ends it where memory runs out. */
#include "cpu_nodes.h"

#include "apart.h"
#include "gpu_ask.h"

#include <errno.h>
#include <hwloc.h>
#include <unistd.h>

/* Bytes of the caches of the last level that the cores of set have. */
static int64_t cache_of(hwloc_topology_t t, hwloc_const_bitmap_t set)
{
	static const hwloc_obj_type_t levels[] = {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE};
	for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
		int64_t bytes = 0;
		hwloc_obj_t o = NULL;
		while ((o = hwloc_get_next_obj_by_type(t, levels[i], o)))
			if (hwloc_bitmap_intersects(o->cpuset, set))
				bytes += (int64_t)o->attr->cache.size;
		if (bytes > 0)
			return bytes;
	}
	return 0;
}

static void list_nodes(hwloc_topology_t t, hwloc_bitmap_t left, hwloc_bitmap_t tmp, berth_cpu_nodes *out)
{
	int32_t n_cores = 0;
	hwloc_obj_t o = NULL;
	if (hwloc_get_cpubind(t, left, HWLOC_CPUBIND_PROCESS) != 0)
		hwloc_bitmap_copy(left, hwloc_topology_get_allowed_cpuset(t));
	hwloc_bitmap_and(left, left, hwloc_topology_get_allowed_cpuset(t));
	hwloc_bitmap_singlify_per_core(t, left, 0);
	while ((o = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_NUMANODE, o))) {
		/* Give the node those of left that stand at it. A second memory of the same cores
		 * (high-bandwidth memory) finds none left. */
		int64_t bytes = (int64_t)o->attr->numanode.local_memory;
		berth_cpu_node node = {
			.number = (int32_t)o->os_index, .first_core = n_cores, .memory_bytes = bytes};
		hwloc_bitmap_and(tmp, left, o->cpuset);
		node.cache_bytes = cache_of(t, tmp);
		for (int i = hwloc_bitmap_first(tmp); i >= 0 && n_cores < BERTH_MAX_CORES;
		     i = hwloc_bitmap_next(tmp, i))
			out->core[(n_cores)++] = i;
		hwloc_bitmap_andnot(left, left, tmp);
		node.n_cores = n_cores - node.first_core;
		if (node.n_cores > 0 && out->n < BERTH_MAX_NODES)
			out->node[out->n++] = node;
		else
			out->far_bytes += bytes;
	}
	/* One node has all of the memory. Its own count leaves out what a virtual machine got later. */
	int64_t all = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	if (out->n == 1 && out->far_bytes == 0 && hwloc_topology_is_thissystem(t) && all > 0)
		out->node[0].memory_bytes = all;
	hwloc_obj_t package = hwloc_get_next_obj_by_type(t, HWLOC_OBJ_PACKAGE, NULL);
	const char *model = package ? hwloc_obj_get_info_by_name(package, "CPUModel") : NULL;
	if (model)
		gpu_text(out->model, sizeof out->model, model, strlen(model));
}

static bool find(hwloc_topology_t t, berth_cpu_nodes *out)
{
	hwloc_bitmap_t left = hwloc_bitmap_alloc(), tmp = hwloc_bitmap_alloc();
	bool loaded = left && tmp && hwloc_topology_load(t) == 0;
	int why = errno;
	if (loaded)
		list_nodes(t, left, tmp, out);
	hwloc_bitmap_free(left);
	hwloc_bitmap_free(tmp);
	errno = why;
	return loaded;
}

static berth_status find_apart(void *ctx, berth_err *err)
{
	hwloc_topology_t t;
	errno = 0;
	bool begun = hwloc_topology_init(&t) == 0, found = begun && find(t, ctx);
	if (!found && errno == ENOMEM)
		return berth_nomem(err);
	if (begun)
		hwloc_topology_destroy(t);
	return BERTH_OK;
}

berth_status berth_cpu_nodes_find(berth_cpu_nodes *out, berth_err *err)
{
	static const double limit_s = 10; /* where affinities are refused hwloc asks the kernel for ever */
	const berth_apart_block block = {out, sizeof *out};
	berth_apart_end how;
	*out = (berth_cpu_nodes){.n = 0};
	BERTH_TRY(berth_apart_within(limit_s, find_apart, out, 1, &block, &how, err));
	if (how != BERTH_APART_ANSWERED)
		return berth_fail(err, BERTH_EIO,
		                  how == BERTH_APART_LATE
		                          ? "hwloc did not tell the cores in time"
		                          : "hwloc ended its process before it told the cores");
	if (out->n == 0)
		*out = (berth_cpu_nodes){.n = 1, .node = {{.number = -1, .n_cores = 1}}};
	return BERTH_OK;
}
