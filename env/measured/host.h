/* What the machine can do that berth stands on: floating-point peak of a core by OpenBLAS, memory bandwidth
 * of a core by copying, memory. */
#ifndef BERTH_HOST_H
#define BERTH_HOST_H

#include "arena.h"

#include <stdint.h>

typedef struct berth_host {
	int32_t n_cores;          /* that this process may use (cores.h) */
	double peak_flops;        /* single precision, of one core: the best of several products of 512 x 512
	                             matrices */
	double mem_bandwidth; /* bytes read and written a second by one core: the best of several copies of 64
	                         MiB */
	int64_t memory_bytes;
	const char *core;         /* what OpenBLAS takes the CPU for */
} berth_host;

/* About a second. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_host_measure(berth_arena *tmp, berth_host *out, berth_err *err);

#endif
