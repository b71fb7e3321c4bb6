/* The description of a machine: devices, links and memory pools, where each figure tells its origin. It
 * becomes a system (system.h), where a figure that is missing is left out. */
#pragma once

#include "machine.h"
#include "system.h"

typedef enum berth_device_figure { /* named as in the file */
	                           BERTH_PEAK_FLOPS,
	                           BERTH_MEM_BANDWIDTH,
	                           BERTH_MEMORY_BYTES,
	                           BERTH_OP_OVERHEAD_S,
	                           BERTH_FRESH_BANDWIDTH, /* of CPUs alone */
	                           BERTH_N_DEVICE_FIGURES
} berth_device_figure;

typedef struct berth_described_device {
	const char *name, *kind;  /* "gpu0", "gpu" */
	const char *model;        /* what it is, for people; "" where nobody says */
	const char *driver, *pci; /* NULL: none */
	uint32_t libraries;       /* berth_gpu.libraries; 0: a CPU */
	berth_gpu_nature nature;
	int32_t n_cores;      /* of a CPU; 0: another device */
	int64_t cache_bytes;  /* of a CPU's last level; 0: not said */
	int32_t pool;         /* -1: none */
	const char *left_out; /* why it is not in the system; NULL: it is */
	berth_figure figure[BERTH_N_DEVICE_FIGURES];
} berth_described_device;

typedef struct berth_described_link {
	int32_t from, to;
	berth_figure latency, bandwidth;
} berth_described_link;

typedef struct berth_described_pool {
	const char *name;
	berth_figure bandwidth, bytes;
} berth_described_pool;

typedef struct berth_description {
	const char *name;
	bool contention;
	int32_t n_devs, n_links, n_pools;
	berth_described_device *dev;
	berth_described_link *link;
	berth_described_pool *pool;
} berth_description;

/* "peak_flops" and so on. */
const char *berth_device_figure_name(berth_device_figure f);

/* A device a CPU node ("cpu0") and a GPU ("gpu0"). GPUs that are software are left out unless software is
 * true. Links: between nodes, and of each GPU with the node next to it and with GPUs that it was seen to copy
 * to. An integrated GPU and its node are a pool ("dram0"), and so is each node where there are several. In
 * mem, with texts of m. Fails: BERTH_ENOMEM. */
berth_status berth_describe_machine(const berth_machine *m, bool software, berth_arena *mem,
                                    berth_description *out, berth_err *err);

/* Devices of an engine: names[n] of kinds[n], each of which says its memory_bytes[n] or -1. Those of kind
 * "cpu" are n_cores cores each with these figures, and have an equal part of the memory. Nobody tells figures
 * of others. Links are those of the full graph; an engine times them. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_describe_engine(const berth_cpu_nodes *cpus, int32_t n_cores,
                                   const berth_cpu_figures *core, const berth_figure *latency, int32_t n,
                                   const char *const *names, const char *const *kinds,
                                   const int64_t *memory_bytes, berth_arena *mem, berth_description *out,
                                   berth_err *err);

/* Leave out devices that no known link leads to, or none comes from, if there are several. */
void berth_description_settle(berth_description *d);

/* The system, without the devices that are left out. A bandwidth of a link that nobody tells is `stand_in`
 * bytes/s, for somebody who is to tell it then; 0: the link is left out. What the user gave stands as it is,
 * other figures have four digits. Fails: BERTH_EFORMAT (what is left is no system), BERTH_ENOMEM. */
berth_status berth_description_system(const berth_description *d, double stand_in, berth_arena *mem,
                                      berth_arena *tmp, berth_system *out, berth_err *err);
