/* The cores that this process may use, by NUMA node: what stands next to one memory. */
#pragma once

#include "cores.h"
#include "status.h"

enum { BERTH_MAX_NODES = 64 };

typedef struct berth_cpu_node {
	int32_t number;              /* the system's; -1: not said */
	int32_t first_core, n_cores; /* in berth_cpu_nodes.core */
	int64_t memory_bytes;        /* 0: not said */
	bool limited;                /* memory_bytes is what a container may use (berth_cpu_nodes_limit) */
	int64_t cache_bytes;         /* of its last level; 0: not said */
} berth_cpu_node;

typedef struct berth_cpu_nodes {
	int32_t n; /* 1 at least: all cores are one node where nobody tells */
	berth_cpu_node node[BERTH_MAX_NODES];
	int32_t core[BERTH_MAX_CORES]; /* numbers of the system's processors, one a core */
	int64_t far_bytes; /* memory of nodes without cores of their own, which is in no node here */
	char model[128];   /* "" where nobody says; printable ASCII */
} berth_cpu_nodes;

/* Let the one node have no more memory than the control group of a container allows. sysfs: "/sys". Several
 * nodes stay as they are: a limit does not say which of them it is for. */
void berth_cpu_nodes_limit(berth_cpu_nodes *nodes, const char *sysfs);

/* With hwloc; without it one node with all of the memory. What nobody tells is not said. Fails: BERTH_ENOMEM,
 * BERTH_EIO (hwloc runs in a process of its own, and there is none, or it ends). */
berth_status berth_cpu_nodes_find(berth_cpu_nodes *out, berth_err *err);
