/* The method `least-sum`: placements with the least sum of operator and transfer times (least_sum.h). Where
 * nothing overlaps that is the latency, and the method proves it: the value itself, or under limits of memory
 * a bound below. There what is cheapest at some prices of bytes is mixed and improved (sum_improve.h). Where
 * the best does not fit for what it holds beside bytes at rest, all is done again with a share of the bytes
 * of tensors and workspaces beside, as large as the peak was. */
#include "least_sum.h"

#include "array.h"
#include "coloc.h"
#include "cost_model.h"
#include "method.h"
#include "simple.h"
#include "sum_improve.h"

#include <math.h>

enum { ROUNDS = 8 };

#define MORE 1.25 /* of the share, at least, from round to round */

typedef struct asking {
	berth_search *s;
	int64_t *limit_bytes; /* [berth_n_resources] */
	/* [n_colocs] bytes at rest, those of tensors and workspaces, and what is taken for them all */
	int64_t *rest, *passing, *taken;
	double share;         /* of those that pass */
	sum_improver improver;
	/* [n_ops] the latest placement that fits, and that does not; the best that fits; scratch */
	int32_t *fitting, *full, *best, *now;
	bool has_fitting, has_full;
	int64_t best_ns; /* INT64_MAX: none fits */
} asking;

static bool afford(void *ctx, double ns)
{
	const asking *a = ctx;
	return berth_search_afford(a->s, ns);
}

static void keep_best(asking *a)
{
	berth_sum_walk_set(&a->improver.walk, a->now);
	if (a->improver.walk.sum_ns >= a->best_ns)
		return;
	a->best_ns = a->improver.walk.sum_ns;
	BERTH_COPY(a->best, a->now, a->s->p->n_ops);
}

static int64_t found(void *ctx, const int32_t *op_dev, const int64_t *coloc_bytes, bool fits)
{
	asking *a = ctx;
	int32_t n_ops = a->s->p->n_ops;
	a->improver.coloc_bytes = coloc_bytes;
	if (a->share == 0)
		BERTH_COPY(a->rest, coloc_bytes, a->s->p->n_colocs);
	BERTH_COPY(fits ? a->fitting : a->full, op_dev, n_ops);
	*(fits ? &a->has_fitting : &a->has_full) = true;
	if (a->has_fitting) {
		BERTH_COPY(a->now, a->fitting, n_ops);
		if (a->has_full) {
			sum_mix(&a->improver, a->fitting, a->full, a->now);
			sum_mix(&a->improver, a->full, a->fitting, a->now);
		}
		keep_best(a);
	}
	return a->best_ns;
}

/* The share of what passes by which the best, as it ran last, would not have fit. */
static void raise_share(asking *a)
{
	const berth_problem *p = a->s->p;
	const berth_sim *sim = a->s->eval[0].sim;
	double least = a->share;
	for (int32_t k = 0; k < berth_n_resources(p); k++) {
		int64_t peak = k < p->n_devs ? berth_sim_peak_bytes(sim)[k]
		                             : berth_sim_pool_peak_bytes(sim)[k - p->n_devs],
			rest = 0, passing = 0;
		if (a->limit_bytes[k] < 0 || peak <= a->limit_bytes[k])
			continue;
		for (int32_t u = 0; u < p->n_colocs; u++) {
			int32_t d = berth_coloc_dev(p, u, a->best);
			if (d != k && p->n_devs + berth_dev_pool(p, d) != k)
				continue;
			rest += a->rest[u];
			passing += a->passing[u];
		}
		if (passing > 0)
			least = fmax(least, (double)(peak - rest) / (double)passing);
	}
	a->share = fmax(least, a->share * MORE);
	for (int32_t u = 0; u < p->n_colocs; u++)
		a->taken[u] = a->rest[u] + (int64_t)(a->share * (double)a->passing[u]);
}

/* The value that a sum comes to; false: the objective has more in it. */
static bool value_of(const berth_search *s, int64_t ns, double *value)
{
	bool latency = berth_objective_is(&s->cfg.objective, BERTH_LATENCY);
	*value = latency ? (double)ns / 1e9 : (double)ns * 1e-9;
	return s->p->s->cost_model->sums_times &&
	       (latency || berth_objective_is(&s->cfg.objective, BERTH_THROUGHPUT));
}

/* *again: the best has too little room. */
static berth_status look(asking *a, bool first, bool *again, berth_arena *tmp, berth_err *err)
{
	const berth_sum_asker who = {afford, found, a, first ? NULL : a->taken};
	int64_t ns;
	double bound;
	a->has_fitting = a->has_full = *again = false;
	a->best_ns = INT64_MAX;
	BERTH_TRY(berth_least_sum(a->s->p, &who, tmp, &ns, err));
	a->improver.coloc_bytes = first ? a->rest : a->taken; /* those that found was told are gone */
	if (first && value_of(a->s, ns, &bound))
		berth_search_prove(a->s, bound);
	if (a->best_ns == INT64_MAX) { /* it is to be repaired */
		if (!a->has_full)
			berth_single_placement(a->s->p, 0, a->full);
		berth_search_offer(a->s, a->full, NULL);
		return BERTH_OK;
	}
	if (a->best_ns > ns)
		sum_move_runs(&a->improver, a->best);
	*again = !berth_score_feasible(berth_search_offer(a->s, a->best, NULL));
	if (*again)
		raise_share(a);
	return BERTH_OK;
}

static berth_status least_sum_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	asking a = {.s = s};
	int32_t n = berth_n_resources(s->p);
	bool again = true;
	BERTH_TRY_NEW(tmp, n, err, a.limit_bytes);
	BERTH_TRY_NEW(tmp, s->p->n_colocs, err, a.rest, a.passing, a.taken);
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, a.fitting, a.full, a.best, a.now);
	for (int32_t k = 0; k < n; k++)
		a.limit_bytes[k] = berth_limit_bytes(s->p, k);
	for (int32_t op = 0; op < s->p->n_ops; op++) {
		int64_t *passing = &a.passing[s->p->op_coloc[op]];
		*passing += s->p->g->op_workspace_bytes[op];
		BERTH_EACH (t, s->p->g->op_tensor_off, op)
			*passing += s->p->g->tensor_bytes[t];
	}
	BERTH_TRY(sum_improver_new(s, NULL, a.limit_bytes, tmp, &a.improver, err));
	for (int i = 0; i < ROUNDS && again; i++)
		BERTH_TRY(look(&a, i == 0, &again, tmp, err));
	return BERTH_OK;
}

const berth_method berth_method_least_sum = {
	"least-sum",
	"Least sum of operator and transfer times by a cut or PBQP, with its proof (after Stone 1977).",
	false, least_sum_run, NULL, "after Stone, IEEE TSE 1977; Scholz, Eckstein, LCTES 2002"};
