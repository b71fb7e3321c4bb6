/* What cores do, measured: threads, one a core, do the same work at once. Times are those of the clock, the
 * best of several. */
#pragma once

#include "figure.h"

/* Cores that work together, and the memory that they work in. */
typedef struct berth_cpu_team {
	const int32_t *core; /* [n_cores] numbers of the system's processors */
	int32_t n_cores;
	int64_t cache_bytes, memory_bytes; /* 0: not said */
} berth_cpu_team;

typedef struct berth_cpu_figures {
	berth_figure peak_flops;    /* single precision: products of matrices by OpenBLAS, if it is there */
	berth_figure mem_bandwidth; /* bytes read and written a second: copies beyond the caches */
	berth_figure fresh_bandwidth; /* bytes/s written to memory that the operating system just gave */
	berth_figure overhead;      /* s from calling all cores to their being done, with nothing to do */
} berth_cpu_figures;

/* Rounds of the same work, of which other programs may have held up any: round_s [n] by the clock, which are
 * put in order; own_s [n], or NULL: of the time of the core that took longest. The best round by the clock
 * counts, where its cores had all of it; else the best by their own time, which is too quick where cores slow
 * each other down and did not run at once. Of none the best is INFINITY. */
typedef struct berth_cpu_rounds {
	double best_s, usual; /* usual: the median by the clock, as many times the best */
} berth_cpu_rounds;
berth_cpu_rounds berth_cpu_rounds_of(double *round_s, const double *own_s, int32_t n);
#define BERTH_ROUNDS_DISAGREE 2.0 /* so many times the best: other programs run */

/* As the kernel calls it, "an unnamed CPU" where it does not; name. */
const char *berth_cpu_name(char name[128]);

/* The kernel of OpenBLAS (OPENBLAS_CORETYPE) for the widest vectors that this CPU's flags allow. It takes one
 * of 2004 by itself where it does not know a CPU. NULL: /proc/cpuinfo tells no flags of AVX. */
const char *berth_cpu_blas_kernel(void);

/* Takes some tenths of a second. Fails: BERTH_ENOMEM (memory or threads). */
berth_status berth_cpu_measure(const berth_cpu_team *team, berth_cpu_figures *out, berth_err *err);

/* How fast bytes come from the memory of one team to that of another: `to` copies. *latency: half of the time
 * in which a flag goes there and back between a core of each. Fails: BERTH_ENOMEM. */
berth_status berth_cpu_measure_link(const berth_cpu_team *from, const berth_cpu_team *to,
                                    berth_figure *bandwidth, berth_figure *latency, berth_err *err);
