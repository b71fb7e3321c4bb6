/* What stands in this machine: CPU nodes as measured, GPUs as their libraries tell. description.h makes a
 * system of it. */
#pragma once

#include "arena.h"
#include "cpu_measure.h"
#include "cpu_nodes.h"
#include "gpu.h"

enum { BERTH_MAX_UNTOLD = 16 };

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

/* Cores, and what *n of them do together (0, or more than there are: all, out: how many); for engines, whose
 * devices are cores or have them all. */
berth_status berth_machine_find_cores(berth_cpu_nodes *cpus, int32_t *n, berth_cpu_figures *out,
                                      berth_figure *latency, berth_err *err);

/* All of it, in mem; some seconds, of which drivers take most. The processes for the drivers come first,
 * while this one has no threads. Fails: BERTH_ENOMEM, BERTH_EIO (no process). What a driver does is no
 * failure. */
berth_status berth_machine_find(const berth_gpu_cfg *gpu, berth_arena *mem, berth_machine **out,
                                berth_err *err);

/* What the kernel tells of devices on the PCI bus: links, NUMA nodes, displays that no library tells of.
 * sysfs is where that stands: "/sys". */

/* Bytes a second that a device's link carries one way: width x speed x what its encoding leaves (8b/10b up to
 * 5 GT/s, 128b/130b up to 32 GT/s, 236 of 256 bytes at 64 GT/s; PCI Express Base Specification 6.0). The
 * speed is the greatest that the device and its port have, for an idle GPU slows its link down; the width is
 * the one that is there. Headers of packets are not counted. */
berth_figure berth_pcie_bandwidth(const char *sysfs, const berth_pci *pci);

/* The NUMA node next to it; -1: not said. */
int32_t berth_pcie_node(const char *sysfs, const berth_pci *pci);

/* GPUs of NVIDIA, AMD and Intel that stand on the bus, but in no library's answer: "0000:01:00.0 (10de:2204)"
 * into text[most][40]. Returns how many. */
int32_t berth_pcie_untold(const char *sysfs, const berth_gpus *told, int32_t most, char text[][40]);
