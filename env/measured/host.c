/* See host.h. */
#include "host.h"

#include "cores.h"
#include "threads.h"

#include <cblas.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

static berth_status measure_peak(berth_arena *tmp, double *flops, berth_err *err)
{
	enum { N = 512, TIMES = 12 };
	float *a;
	double best = INFINITY;
	BERTH_TRY(BERTH_NEW(tmp, a, 3 * N * N, err));
	for (int i = 0; i < 2 * N * N; i++)
		a[i] = (float)(i % 17) * 0.0625f;
	openblas_set_num_threads(1);
	for (int i = 0; i < TIMES; i++) {
		double from = berth_wall_seconds();
		cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, N, N, N, 1, a, N, a + N * N, N, 0,
		            a + 2 * N * N, N);
		best = fmin(best, berth_wall_seconds() - from);
	}
	*flops = 2.0 * N * N * N / best;
	return BERTH_OK;
}

static berth_status measure_memory(berth_arena *tmp, double *bandwidth, berth_err *err)
{
	const size_t size = 64u << 20;
	unsigned char *a, *b;
	double best = INFINITY;
	BERTH_TRY(BERTH_NEW(tmp, a, size, err));
	BERTH_TRY(BERTH_NEW(tmp, b, size, err));
	memset(a, 1, size);
	for (int i = 0; i < 6; i++) {
		double from = berth_wall_seconds();
		memcpy(b, a, size);
		a[(size_t)i] = b[size - 1];
		best = fmin(best, berth_wall_seconds() - from);
	}
	*bandwidth = 2.0 * (double)size / best;
	return BERTH_OK;
}

berth_status berth_host_measure(berth_arena *tmp, berth_host *out, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t core[BERTH_MAX_CORES], n_cores = berth_cores(core, BERTH_MAX_CORES);
	berth_host h = {.core = openblas_get_corename(), .n_cores = n_cores > 0 ? n_cores : 1};
	h.memory_bytes = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
	berth_status st = measure_peak(tmp, &h.peak_flops, err);
	if (st == BERTH_OK)
		st = measure_memory(tmp, &h.mem_bandwidth, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = h;
	return st;
}
