/* The splitting heuristic of DiviML (Y. Ghannane and M. S. Abdelfattah, "DiviML: a module-based heuristic for
 * mapping neural networks onto heterogeneous platforms", arXiv 2308.00127). Communities come from modularity
 * and are made acyclic. Each is solved exactly, in topological order, with what was placed before. This is
 * tried on groups of operators, the coarsest first, and on the operators, with communities of several sizes.
 * The best by the simulator is the answer. */
#include "split.h"

#include "exact.h"
#include "exact_search.h"
#include "registry.h"

#include <math.h>

enum { MOST_OPS = 2000, N_SIZES = 4, N_TARGETS = 5, ROUNDS = 3 };
#define NODES 3000

static const int32_t sizes[N_SIZES] = {4, 6, 8, 12};
static const int32_t targets[N_TARGETS] = {16, 32, 64, 128, 256};

#define SEARCH_NS 1500.0 /* of a community's search, for each operator, device and operator of a community */

static bool colocs_fit(const berth_problem *p, int32_t most_ops)
{
	for (int32_t u = 0; u < p->n_colocs; u++)
		if (p->coloc_off[u + 1] - p->coloc_off[u] > most_ops)
			return false;
	return true;
}

static bool affords(berth_search *s, int32_t most_ops)
{
	return berth_search_afford(s, SEARCH_NS * s->p->n_ops * s->p->n_devs * most_ops);
}

/* Is there time to search one more community? Some take many times what is counted for them, so the clock is
 * looked at, too; but as a seed it comes to the same whatever the time. */
static bool go_on(void *ctx)
{
	berth_search *s = ctx;
	return berth_search_afford(s, 0) && (isfinite(s->may_work_ns) || !berth_search_over(s));
}

static berth_status offer_split(berth_search *s, int32_t most_ops, int32_t *op_dev, int32_t *order,
                                berth_arena *tmp, berth_err *err)
{
	split_cfg cfg = {.most_ops = most_ops,
	                 .nodes = s->cfg.nodes > 0 ? s->cfg.nodes : NODES,
	                 .rounds = ROUNDS,
	                 .go_on = go_on,
	                 .ctx = s};
	BERTH_TRY(split_place(s->p, &cfg, op_dev, order, tmp, err));
	berth_exact_offer(s, op_dev, order, tmp);
	return BERTH_OK;
}

static berth_status solve(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t *op_dev, *order;
	BERTH_TRY(BERTH_NEW(tmp, op_dev, s->p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, order, s->p->n_ops, err));
	for (int32_t i = 0; i < N_SIZES; i++)
		if (colocs_fit(s->p, sizes[i]) && affords(s, sizes[i]))
			BERTH_TRY(offer_split(s, sizes[i], op_dev, order, tmp, err));
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_exact_needs_latency(s, "split", err));
	if (s->p->n_devs > BERTH_EXACT_SEARCH_DEVS)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method split takes up to %d devices, this machine has %d",
		                  BERTH_EXACT_SEARCH_DEVS, (int)s->p->n_devs);
	for (int32_t i = 0; i < N_TARGETS; i++)
		if (targets[i] < s->p->n_ops && berth_search_afford(s, berth_search_evaluation_ns(s->p)))
			BERTH_TRY(berth_exact_grouped(s, targets[i], solve, tmp, err));
	if (s->p->n_ops <= MOST_OPS)
		BERTH_TRY(solve(s, tmp, err));
	return isfinite(s->best.excess) ? BERTH_OK : berth_method_single.run(s, tmp, err);
}

const berth_method berth_method_split = {"split",
                                         "Communities by modularity, each placed by exact search, one after "
                                         "the other (DiviML, Ghannane, Abdelfattah 2023).",
                                         false, run, NULL};
