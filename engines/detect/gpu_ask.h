/* What the files that ask a vendor's library share. Inside the folder only: these run in a process of their
 * own (gpu.h). */
#pragma once

#include "gpu.h"

/* Ask the library of that file; measure: time its devices as well. The answer is complete for all it got to
 * know. */
typedef void gpu_ask(const char *file, bool measure, bool software, berth_gpu_answer *out);
gpu_ask gpu_cuda_ask, gpu_vulkan_ask, gpu_opencl_ask;

/* Load a library, and its functions of names[n] into the members of a struct of n function pointers. False:
 * out says why not. */
bool gpu_open(const char *file, const char *const *name, int n, void *functions, berth_gpu_answer *out);

/* It does not work: state and why. */
void gpu_failed(berth_gpu_answer *out, const char *fmt, ...) BERTH_PRINTF(2, 3);

/* Text of a driver into to[size]: all but printable ASCII becomes '?', for a terminal obeys what it prints.
 * Blanks at the ends go. text is read up to n bytes or its closing 0. */
void gpu_text(char *to, size_t size, const char *text, size_t n);

/* The letters and digits of a name in small letters, without what stands in brackets: "(R)", "(RADV NAVI31)".
 * Drivers write the name of one device in several ways. */
void gpu_plain_name(const char *name, char to[128]);

/* A new device with every figure missing. NULL where there are BERTH_MAX_GPUS. */
berth_gpu *gpu_new(berth_gpu_answer *out, berth_gpu_library l);

/* Work of a device to be timed; false: it failed. bytes: that it copies. */
typedef bool gpu_work(void *ctx, size_t bytes);

/* The least time of `times`, seconds. NAN: it said false once. */
double gpu_time(gpu_work *work, void *ctx, size_t bytes, int times);

/* A figure of such work, the best of some after one that does not count. It takes the place of one that was
 * told; one that failed leaves it. */
typedef struct gpu_timing {
	berth_gpu_figure figure;
	gpu_work *work;
	double per_byte; /* bytes that each byte of a copy moves, for a rate; 0: a delay */
	const char *how; /* of a rate, what follows "copies of N MiB" */
} gpu_timing;
void gpu_measure(berth_gpu *g, const gpu_timing *t, int n, void *ctx, size_t inside, size_t across,
                 const char *library);

/* The same for a figure by itself. */
void gpu_put_figure(berth_gpu *g, berth_gpu_figure which, berth_figure f);

/* Sizes of measured copies: within a device, which has caches, and to and from it. A device with little
 * memory gets an eighth of it. */
enum { GPU_INSIDE_BYTES = 256 << 20, GPU_ACROSS_BYTES = 64 << 20 };
size_t gpu_copy_bytes(double memory_bytes, size_t most);
