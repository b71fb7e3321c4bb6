/* What the machine that berth runs on can do: the floating-point peak of a core by OpenBLAS, the memory
 * bandwidth of a core by copying, and its memory. */
#ifndef BERTH_HOST_H
#define BERTH_HOST_H

#include "arena.h"

#include <stdint.h>

typedef struct berth_host {
	int32_t n_cores;          /* that this process may use (cores.h) */
	/* Single precision, of one core: the best of several products of 512 x 512 matrices. */
	double peak_flops;
	/* Bytes read and written a second by one core: the best of several copies of 64 MiB. */
	double mem_bandwidth;
	int64_t memory_bytes;
	const char *core;         /* what OpenBLAS takes the CPU for */
} berth_host;

/* Measure that; it takes about a second. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_host_measure(berth_arena *tmp, berth_host *out, berth_err *err);

#endif
