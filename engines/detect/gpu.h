/* GPUs, as the vendors' own libraries tell them. The libraries are loaded at run time, each in a process of
 * its own with a limit of time: a driver that crashes or hangs takes nothing with it. Nothing of them is
 * needed to build: gpu_cuda.c, gpu_vulkan.c and gpu_opencl.c declare the few functions that are called. */
#pragma once

#include "arena.h"
#include "figure.h"

enum { BERTH_MAX_GPUS = 32 };

typedef enum berth_gpu_library {
	BERTH_GPU_CUDA,
	BERTH_GPU_VULKAN,
	BERTH_GPU_OPENCL,
	BERTH_N_GPU_LIBRARIES
} berth_gpu_library;

typedef enum berth_gpu_nature {
	BERTH_GPU_UNKNOWN,    /* the library does not say */
	BERTH_GPU_DISCRETE,   /* with memory of its own */
	BERTH_GPU_INTEGRATED, /* shares the CPU's memory */
	BERTH_GPU_SOFTWARE    /* the CPU once more: pocl, llvmpipe */
} berth_gpu_nature;

typedef enum berth_gpu_figure {
	BERTH_GPU_PEAK,           /* FLOP/s, single precision */
	BERTH_GPU_BANDWIDTH,      /* bytes/s that its memory reads and writes */
	BERTH_GPU_MEMORY,         /* bytes */
	BERTH_GPU_OVERHEAD,       /* s from starting the least work to its end */
	BERTH_GPU_TO_BANDWIDTH,   /* bytes/s from the CPU's memory */
	BERTH_GPU_TO_LATENCY,     /* s of a copy of four bytes */
	BERTH_GPU_FROM_BANDWIDTH, /* to the CPU's memory */
	BERTH_GPU_FROM_LATENCY,
	BERTH_N_GPU_FIGURES
} berth_gpu_figure;

typedef struct berth_pci { /* where it is plugged in */
	bool known;
	uint32_t domain, bus, device, function;
} berth_pci;

/* One device. A plain block of memory: it comes through a pipe. Texts are printable ASCII. */
typedef struct berth_gpu {
	char name[128], driver[128];
	uint32_t libraries; /* bit 1 << berth_gpu_library: who tells of it */
	berth_gpu_nature nature;
	berth_pci pci;
	bool has_uuid;
	unsigned char uuid[16];
	int32_t platform; /* of OpenCL */
	berth_figure figure[BERTH_N_GPU_FIGURES];
	/* Copies to the device of that index in the same list; 0: none were made. */
	float peer_bandwidth[BERTH_MAX_GPUS], peer_latency_s[BERTH_MAX_GPUS]; /* bytes/s, s */
} berth_gpu;

/* A list of GPUs: the answer of one library, or all of them together. */
typedef struct berth_gpus {
	int32_t n;
	berth_gpu gpu[BERTH_MAX_GPUS];
} berth_gpus;

typedef enum berth_gpu_state {
	BERTH_GPU_ABSENT,  /* no such library */
	BERTH_GPU_FAILED,  /* it is there, and does not work; `why` says how */
	BERTH_GPU_ANSWERED /* perhaps with no device */
} berth_gpu_state;

typedef struct berth_gpu_answer {
	berth_gpu_state state;
	char why[160]; /* also of a measurement that failed after an answer; else "" */
	berth_gpus gpus;
} berth_gpu_answer;

typedef struct berth_gpu_cfg {
	const char *file[BERTH_N_GPU_LIBRARIES]; /* name or path of each library */
	double limit_s; /* that a library may take to answer, and as much again to measure */
	bool software;  /* measure software devices, too */
} berth_gpu_cfg;

/* libcuda.so.1, libvulkan.so.1, libOpenCL.so.1; 60 s; no software devices. */
berth_gpu_cfg berth_gpu_cfg_default(void);

/* "cuda", "vulkan", "opencl". */
const char *berth_gpu_library_name(berth_gpu_library l);

/* Ask a library for its devices, and measure them where its interface can. Fails: BERTH_EIO (no process);
 * whatever the library does is no failure of this function. */
berth_status berth_gpu_ask(const berth_gpu_cfg *cfg, berth_gpu_library l, berth_gpu_answer *out,
                           berth_err *err);

/* One list of what the libraries' answers [BERTH_N_GPU_LIBRARIES] tell: a device that several tell of is one.
 * It is the same by its place on the bus, else by its UUID, else by its name: the k-th of a name in one
 * answer is the k-th of it in another. Of figures the one with the best origin stays, then the first
 * library's. *dropped: devices beyond BERTH_MAX_GPUS. */
void berth_gpus_merge(const berth_gpu_answer *answer, berth_gpus *out, int32_t *dropped);

/* Fill what is missing by the catalogue (catalogue.h). tmp: scratch, returned at exit. Fails:
 * BERTH_ENOMEM. */
berth_status berth_gpus_look_up(berth_gpus *gpus, berth_arena *tmp, berth_err *err);
