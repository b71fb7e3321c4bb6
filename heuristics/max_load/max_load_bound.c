/* Counting bound of the largest load; see max_load_bound.h. Devices of a kind that pays for transfers are
 * accelerators. */
#include "max_load_bound.h"

#include "cost_model.h"

#include <math.h>
#include <stdlib.h>

static int longer_first(const void *pa, const void *pb)
{
	double a = *(const double *)pa, b = *(const double *)pb;
	return (a < b) - (a > b);
}

/* Least time on an accelerator; -1: a CPU can take it, or nobody. */
static double bound_to_accelerators(const berth_max_load *m, int32_t item, double upper_s)
{
	double least = INFINITY;
	for (int32_t d = 0; d < m->p->n_devs; d++) {
		double s = m->item_s[(size_t)item * (size_t)m->p->n_devs + (size_t)d];
		if (berth_cost_model_pays(m->p, d))
			least = fmin(least, s);
		else if (s <= upper_s)
			return -1;
	}
	return isfinite(least) ? least : -1;
}

/* sum[i]: of the i longest. */
static double count(const double *sum, int32_t n, int32_t n_acc)
{
	double bound = 0;
	for (int32_t j = 1; j <= n; j++)
		for (int32_t k = 1; k <= n_acc; k++) {
			int32_t rest = j % n_acc, held = k * (j / n_acc) + (k < rest ? k : rest);
			bound = fmax(bound, (sum[j] - sum[j - held]) / k);
		}
	return bound;
}

static berth_status find(const berth_max_load *m, double upper_s, berth_arena *tmp, double *bound_s,
                         berth_err *err)
{
	double *length, *sum;
	int32_t n = 0, n_acc = 0;
	BERTH_TRY(BERTH_NEW(tmp, length, m->n_items, err));
	BERTH_TRY(BERTH_NEW(tmp, sum, (size_t)m->n_items + 1, err));
	for (int32_t d = 0; d < m->p->n_devs; d++)
		n_acc += berth_cost_model_pays(m->p, d);
	for (int32_t i = 0; i < m->n_items && n_acc; i++) {
		double least = bound_to_accelerators(m, i, upper_s);
		if (least >= 0)
			length[n++] = least;
	}
	qsort(length, (size_t)n, sizeof *length, longer_first);
	for (int32_t i = 0; i < n; i++)
		sum[i + 1] = sum[i] + length[i];
	*bound_s = n_acc ? count(sum, n, n_acc) * (1 - 1e-12) : 0; /* sums round */
	return BERTH_OK;
}

berth_status berth_max_load_bound(const berth_max_load *m, double upper_s, berth_arena *tmp, double *bound_s,
                                  berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = find(m, upper_s, tmp, bound_s, err);
	berth_arena_reset(tmp, mark);
	return st;
}
