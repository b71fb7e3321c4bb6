/* What stands in this machine: CPU nodes as measured, GPUs as their libraries tell. description.h makes a
 * system of it. */
#ifndef BERTH_MACHINE_H
#define BERTH_MACHINE_H

#include "arena.h"
#include "cpu_measure.h"
#include "cpu_nodes.h"
#include "gpu.h"

enum { BERTH_MAX_UNTOLD = 16 };

typedef struct berth_machine_cfg {
	berth_gpu_cfg gpu;
	const char *sysfs; /* "/sys" */
} berth_machine_cfg;

typedef struct berth_machine {
	berth_cpu_nodes cpus;
	berth_cpu_figures node[BERTH_MAX_NODES];
	/* Between nodes [cpus.n * cpus.n], from * n + to; of a node to itself: missing. */
	berth_figure *node_bandwidth, *node_latency;
	berth_gpu_answer answer[BERTH_N_GPU_LIBRARIES];
	berth_gpus gpus;                   /* merged, and looked up in the table */
	berth_figure pcie[BERTH_MAX_GPUS]; /* bandwidth of the link of each */
	int32_t gpu_node[BERTH_MAX_GPUS];  /* the system's number of the NUMA node next to it; -1: not said */
	int32_t dropped;                   /* GPUs for which there was no room */
	/* GPUs on the bus that no library tells of, "0000:01:00.0 (10de:2204)". */
	int32_t n_untold;
	char untold[BERTH_MAX_UNTOLD][40];
} berth_machine;

berth_machine_cfg berth_machine_cfg_default(void);

/* Cores, and what a core alone does; for engines, whose devices are cores. */
berth_status berth_machine_find_core(berth_cpu_nodes *cpus, berth_cpu_figures *core, berth_figure *latency,
                                     berth_err *err);

/* All of it, in mem; some seconds, of which drivers take most. The processes for the drivers come first,
 * while this one has no threads. Fails: BERTH_ENOMEM, BERTH_EIO (no process). What a driver does is no
 * failure. */
berth_status berth_machine_find(const berth_machine_cfg *cfg, berth_arena *mem, berth_machine **out,
                                berth_err *err);

#endif
