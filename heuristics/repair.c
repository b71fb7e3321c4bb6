/* Repair. First cuts (stages.h), which may be all, then separation and contiguity (constraints.h).
 *
 * Then memory: what a device, or a memory pool, holds too much is taken off it, latest operators first, to
 * the devices with the most memory left. Each step moves about as many bytes as the simulated peak is too
 * high. A step that does not help is undone and tried with half the bytes, down to one colocation group,
 * which is then left where it is. Where all steps end above memory, one more placement is tried: first fit by
 * an upper bound of what devices hold.
 *
 * What still breaks a rule or a limit then goes through a short local search. */
#include "repair.h"

#include "coloc.h"
#include "constraints.h"
#include "improve.h"
#include "partial.h"
#include "stages.h"

enum { MAX_EVALUATIONS = 64, MAX_SEARCH = 256 };

typedef struct repair {
	berth_search *s;
	const berth_problem *p;
	int64_t *coloc_bytes;  /* [n_colocs] what moves with a colocation group */
	bool *coloc_stays;     /* [n_colocs] moving it alone did not help */
	int32_t *trial;       /* [n_ops] */
	/* of the best placement [n_devs], [n_pools]: what is left; below 0: too much; INT64_MAX: no limit */
	int64_t *left, *pool_left;
	/* during a step: the same, that of the pool included; what is still to go */
	int64_t *room, *pool_over;
	berth_score best;
	int32_t n_moved, last_moved;
} repair;

static berth_score evaluate(repair *r, const int32_t *op_dev)
{
	return berth_search_offer(r->s, op_dev, NULL);
}

/* One evaluation more? */
static bool afford(const repair *r)
{
	return berth_search_afford(r->s, berth_search_evaluation_ns(r->p));
}

static int64_t left_of(int64_t limit, int64_t peak)
{
	return limit < 0 ? INT64_MAX : limit - peak;
}

static void remember(repair *r, berth_score score)
{
	r->best = score;
	const berth_sim *sim = r->s->eval[0].sim;
	for (int32_t d = 0; d < r->p->n_devs; d++)
		r->left[d] = left_of(r->p->dev_limit_bytes[d], berth_sim_last(sim).peak_bytes[d]);
	for (int32_t q = 0; q < r->p->n_pools; q++)
		r->pool_left[q] = left_of(r->p->s->pool_bytes[q], berth_sim_last(sim).pool_peak_bytes[q]);
}

/* Move colocation groups off dev in the trial until `bytes` have gone. Returns what went. */
static int64_t unload(repair *r, int32_t dev, int64_t bytes)
{
	const berth_graph *g = r->p->g;
	int64_t gone = 0;
	for (int32_t k = g->n_ops - 1; k >= 0 && bytes > gone; k--) {
		int32_t op = g->topo_op[k], coloc = r->p->op_coloc[op];
		if (r->trial[op] != dev || r->coloc_stays[coloc] || r->coloc_bytes[coloc] == 0)
			continue;
		/* The legal device other than dev with the most memory left, if the colocation group may fit
		 * there; else -1. / */
		int32_t best = -1;
		for (int32_t d = 0; d < r->p->n_devs; d++)
			if (d != dev && berth_coloc_legal(r->p, coloc, d) &&
			    (best < 0 || r->room[d] > r->room[best]))
				best = d;
		int32_t to = best >= 0 && r->room[best] > 0 ? best : -1;
		if (to < 0)
			continue;
		berth_coloc_put(r->p, coloc, to, r->trial);
		r->room[to] -= r->room[to] == INT64_MAX ? 0 : r->coloc_bytes[coloc];
		gone += r->coloc_bytes[coloc];
		r->n_moved++;
		r->last_moved = coloc;
	}
	return gone;
}

/* One step from op_dev, kept there if it helps. share: part of the excess to move. */
static bool step(repair *r, int32_t *op_dev, int64_t share)
{
	BERTH_COPY(r->trial, op_dev, r->p->n_ops);
	r->n_moved = 0;
	/* Room of each device at the beginning of a step, and what each pool has too much. */
	const berth_problem *p = r->p;
	for (int32_t q = 0; q < p->n_pools; q++)
		r->pool_over[q] = r->pool_left[q] < 0 ? (-r->pool_left[q] - 1) / share + 1 : 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		int32_t pool = berth_dev_pool(p, d);
		r->room[d] = r->left[d];
		if (pool >= 0 && r->pool_left[pool] < r->room[d])
			r->room[d] = r->pool_left[pool];
	}
	for (int32_t d = 0; d < r->p->n_devs; d++) {
		int32_t pool = berth_dev_pool(r->p, d);
		int64_t over = r->left[d] < 0 ? (-r->left[d] - 1) / share + 1 : 0;
		if (pool >= 0 && r->pool_over[pool] > over)
			over = r->pool_over[pool];
		if (over > 0)
			over = unload(r, d, over);
		if (pool >= 0)
			r->pool_over[pool] -= over;
	}
	if (r->n_moved == 0)
		return false;
	berth_score score = evaluate(r, r->trial);
	if (!berth_score_less(score, r->best))
		return false;
	remember(r, score);
	BERTH_COPY(op_dev, r->trial, r->p->n_ops);
	return true;
}

/* The present device if the colocation group fits there, else the first one where it does, else the one with
 * the most memory left. */
static int32_t first_fitting(const repair *r, berth_partial *part, int32_t coloc, int32_t present)
{
	if (berth_coloc_legal(r->p, coloc, present) && berth_partial_fits(part, coloc, present))
		return present;
	for (int32_t d = 0; d < r->p->n_devs; d++)
		if (berth_coloc_legal(r->p, coloc, d) && berth_partial_fits(part, coloc, d))
			return d;
	return berth_partial_roomiest(part, coloc);
}

/* First fit in topological order, kept in op_dev if it is better. */
static berth_status first_fit(repair *r, int32_t *op_dev, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = r->p;
	berth_partial *part;
	int32_t dev = 0;
	BERTH_TRY(berth_partial_new(p, tmp, &part, err));
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k];
		if (berth_partial_dev(part, op) >= 0)
			continue;
		dev = first_fitting(r, part, p->op_coloc[op], dev);
		berth_partial_bind(part, p->op_coloc[op], dev);
	}
	berth_partial_devs(part, r->trial);
	berth_score score = evaluate(r, r->trial);
	if (berth_score_less(score, r->best)) {
		remember(r, score);
		BERTH_COPY(op_dev, r->trial, p->n_ops);
	}
	return BERTH_OK;
}

static berth_status repair_memory(berth_search *s, int32_t *op_dev, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	repair r = {.s = s, .p = p};
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, r.coloc_bytes, r.coloc_stays);
	BERTH_TRY_NEW(tmp, p->n_ops, err, r.trial);
	BERTH_TRY_NEW(tmp, p->n_devs, err, r.left, r.room);
	BERTH_TRY_NEW(tmp, p->n_pools, err, r.pool_left, r.pool_over);
	berth_coloc_bytes(p, r.coloc_bytes);
	int64_t share = 1, last = r.s->evaluations + MAX_EVALUATIONS - 1;
	remember(&r, evaluate(&r, op_dev));
	while (!berth_score_feasible(r.best) && r.s->evaluations < last && afford(&r)) {
		if (step(&r, op_dev, share)) {
			share = 1;
			continue;
		}
		if (r.n_moved == 0)
			break;
		if (r.n_moved == 1)
			r.coloc_stays[r.last_moved] = true;
		else
			share *= 2;
	}
	return berth_score_feasible(r.best) || !afford(&r) ? BERTH_OK : first_fit(&r, op_dev, tmp, err);
}

berth_status berth_repair(berth_search *s, int32_t *op_dev, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	bool kept = true;
	if (p->max_cuts >= 0)
		BERTH_TRY(berth_stages_offer(s, op_dev, MAX_SEARCH, tmp, err));
	if (p->max_cuts >= 0 && berth_score_feasible(s->best))
		return BERTH_OK;
	if (p->coupled)
		BERTH_TRY(berth_constraints_mend(p, op_dev, &kept, tmp, err));
	if (!p->memory_free)
		BERTH_TRY(repair_memory(s, op_dev, tmp, err));
	else if (p->coupled)
		berth_search_offer(s, op_dev, NULL);
	if (berth_score_feasible(s->best) ||
	    (p->memory_free && !p->coupled && !berth_objective_has_limits(&s->cfg.objective)))
		return BERTH_OK;
	berth_score score = berth_search_offer(s, op_dev, NULL);
	berth_rng rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD);
	int64_t most = 0;
	while (most < MAX_SEARCH && berth_search_afford(s, berth_search_evaluation_ns(p)))
		most++;
	return berth_improve(s, op_dev, &score, most, &rng, tmp, err);
}

berth_status berth_repair_incumbent(berth_search *s, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t *op_dev;
	if (berth_score_feasible(s->best))
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, op_dev);
	BERTH_COPY(op_dev, s->best_dev, s->p->n_ops);
	return berth_repair(s, op_dev, tmp, err);
}
