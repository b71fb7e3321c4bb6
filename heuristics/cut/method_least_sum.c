/* The method `least-sum`: placements with the least sum of operator and transfer times (least_sum.h). Where
 * nothing overlaps that is the latency, and the method proves it: the value itself, or under limits of memory
 * a bound below. There what is cheapest at some prices of bytes is mixed and improved. Where
 * the best does not fit for what it holds beside bytes at rest, all is done again with a share of the bytes
 * of tensors and workspaces beside, as large as the peak was. */
#include "coloc.h"
#include "cost_model.h"
#include "eval.h"
#include "least_sum.h"
#include "method.h"
#include "search.h"
#include "simple.h"

typedef struct sum_improver {
	berth_search *s;
	const int64_t *coloc_bytes, *limit_bytes; /* [n_colocs] at rest; [berth_n_resources] -1: no limit */
	int32_t *coloc;                           /* [n_colocs] in the order in which they begin */
	int32_t *dev, *best_dev;                  /* [n_colocs] in that order */
	int64_t *used;                            /* [berth_n_resources] */
	berth_sum_walk walk;
} sum_improver;

#define MOVE_NS 30.0 /* of work to move a colocation group, for each of its operators and edges */

enum { MOST_RUN = 1000, PATIENCE = 24 }; /* PATIENCE: groups that a run goes on for without a better sum */

/* In mem. The arrays of bytes are borrowed. Fails: BERTH_ENOMEM. */
static berth_status sum_improver_new(berth_search *s, const int64_t *coloc_bytes, const int64_t *limit_bytes,
                                     berth_arena *mem, sum_improver *out, berth_err *err)
{
	const berth_problem *p = s->p;
	bool *listed;
	int32_t n = 0;
	*out = (sum_improver){.s = s, .coloc_bytes = coloc_bytes, .limit_bytes = limit_bytes};
	BERTH_TRY_NEW(mem, p->n_colocs, err, out->coloc, out->dev, out->best_dev);
	BERTH_TRY_NEW(mem, p->n_colocs, err, listed);
	BERTH_TRY_NEW(mem, berth_n_resources(p), err, out->used);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t u = p->op_coloc[p->g->topo_op[k]];
		if (!listed[u])
			out->coloc[n++] = u;
		listed[u] = true;
	}
	return berth_sum_walk_new(p, mem, &out->walk, err);
}

static void count(sum_improver *x, int32_t u, int32_t dev, int64_t sign)
{
	int32_t pool = berth_dev_pool(x->s->p, dev);
	x->used[dev] += sign * x->coloc_bytes[u];
	if (pool >= 0)
		x->used[x->s->p->n_devs + pool] += sign * x->coloc_bytes[u];
}

static void begin(sum_improver *x, const int32_t *op_dev)
{
	const berth_problem *p = x->s->p;
	berth_sum_walk_set(&x->walk, op_dev);
	BERTH_CLEAR(x->used, berth_n_resources(p));
	for (int32_t k = 0; k < p->n_colocs; k++) {
		x->dev[k] = berth_coloc_dev(p, x->coloc[k], op_dev);
		count(x, x->coloc[k], x->dev[k], 1);
	}
}

/* Move the k-th colocation group. */
static void move(sum_improver *x, int32_t k, int32_t dev)
{
	if (x->dev[k] == dev)
		return;
	count(x, x->coloc[k], x->dev[k], -1);
	count(x, x->coloc[k], dev, 1);
	x->dev[k] = dev;
	berth_sum_walk_move_coloc(&x->walk, x->coloc[k], dev);
}

static bool has_room(const sum_improver *x, int32_t dev)
{
	int32_t pool = berth_dev_pool(x->s->p, dev), at = x->s->p->n_devs + pool;
	return (x->limit_bytes[dev] < 0 || x->used[dev] <= x->limit_bytes[dev]) &&
	       (pool < 0 || x->limit_bytes[at] < 0 || x->used[at] <= x->limit_bytes[at]);
}

static bool fits(const sum_improver *x)
{
	for (int32_t d = 0; d < x->s->p->n_devs; d++)
		if (!has_room(x, d))
			return false;
	return true;
}

/* The best of all placements that are one of the two up to some colocation group in the order, the other one
 * behind, and whose bytes fit: op_dev [n_ops] in and out, the better one of it and that. */
static void sum_mix(sum_improver *x, const int32_t *first, const int32_t *second, int32_t *op_dev)
{
	const berth_problem *p = x->s->p;
	int32_t best = -1;
	berth_sum_walk_set(&x->walk, op_dev);
	int64_t best_ns = x->walk.sum_ns;
	begin(x, second);
	for (int32_t k = 0; k < p->n_colocs; k++) {
		move(x, k, berth_coloc_dev(p, x->coloc[k], first));
		if (x->walk.sum_ns < best_ns && fits(x)) {
			best_ns = x->walk.sum_ns;
			best = k;
		}
	}
	for (int32_t k = 0; k < p->n_colocs && best >= 0; k++) {
		const int32_t *from = k <= best ? first : second;
		berth_coloc_put(p, x->coloc[k], berth_coloc_dev(p, x->coloc[k], from), op_dev);
	}
}

/* Move a run from the i-th colocation group on, as far as is best. Returns whether it gains. */
static bool move_run(sum_improver *x, int32_t i, int32_t dev)
{
	const berth_problem *p = x->s->p;
	int64_t best_ns = x->walk.sum_ns;
	int32_t best = i - 1, k = i;
	for (; k < p->n_colocs && k < i + MOST_RUN && k - best <= PATIENCE; k++) {
		x->best_dev[k] = x->dev[k];
		if (!berth_coloc_legal(p, x->coloc[k], dev))
			break;
		move(x, k, dev);
		if (!has_room(x, dev)) {
			move(x, k, x->best_dev[k]);
			break;
		}
		if (x->walk.sum_ns < best_ns) {
			best_ns = x->walk.sum_ns;
			best = k;
		}
	}
	while (--k > best)
		move(x, k, x->best_dev[k]);
	return best >= i;
}

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
		int64_t peak = k < p->n_devs ? berth_sim_last(sim).peak_bytes[k]
		                             : berth_sim_last(sim).pool_peak_bytes[k - p->n_devs],
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
	if (a->best_ns > ns) {
		/* Runs of colocation groups that follow one another move to another device as long as any
		 * gains, and work may be done. The bytes of op_dev fit. */
		int32_t *op_dev = a->best;
		const berth_problem *p = a->improver.s->p;
		double pass_ns = MOVE_NS * PATIENCE * 2 * p->n_devs * ((double)p->n_ops + p->g->n_edges);
		begin(&a->improver, op_dev);
		for (bool gained = true; gained && berth_search_afford(a->improver.s, pass_ns);) {
			gained = false;
			for (int32_t i = 0; i < p->n_colocs; i++)
				for (int32_t d = 0; d < p->n_devs; d++)
					gained |= a->improver.dev[i] != d && move_run(&a->improver, i, d);
		}
		BERTH_COPY(op_dev, a->improver.walk.op_dev, p->n_ops);
	}
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
