/* What the files that ask a vendor's library share. Inside the folder only: these run in a process of their
 * own (gpu.h). */
#pragma once

#include "gpu.h"

#include <stddef.h>

/* Ask the library of that file; measure: time its devices as well. The answer is complete for all it got to
 * know. */
typedef void gpu_ask(const char *file, bool measure, bool software, berth_gpu_answer *out);
gpu_ask gpu_cuda_ask, gpu_vulkan_ask, gpu_opencl_ask;

/* Load a library. NULL: out says why not. */
void *gpu_open(const char *file, berth_gpu_answer *out);

/* The functions of names[n] into fn[n]. False: one is missing, and out says which. */
bool gpu_functions(void *library, const char *const *name, void (**fn)(void), int n, berth_gpu_answer *out);

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

/* Time of do_it(ctx): the least of `times`, seconds. NAN: it said false once. */
double gpu_time(bool (*do_it)(void *ctx), void *ctx, int times);

/* A measured figure takes the place of one that was told; one that failed leaves it. */
void gpu_put_figure(berth_gpu *g, berth_gpu_figure which, berth_figure f);

/* Sizes of measured copies: within a device, which has caches, and to and from it. A device with little
 * memory gets an eighth of it. */
enum { GPU_INSIDE_BYTES = 256 << 20, GPU_ACROSS_BYTES = 64 << 20 };
size_t gpu_copy_bytes(double memory_bytes, size_t most);
