/* Branch and bound for latency (exact_search.h): the best placement together with the best order in which
 * devices start their operators. Memory and all other rules are kept; the simulator scores. Exact up to MOST
 * operators, if the nodes suffice; larger graphs are grouped to GROUPS, which they mostly do for. */
#include "exact.h"
#include "exact_search.h"
#include "method.h"

enum { MOST = BERTH_EXACT_SEARCH_OPS, GROUPS = 16 };
enum { TREE_NODES = 4000 };         /* of each tree, some tenths of a second */
#define NODES INT64_C(20000000)     /* of up to GROUPS operators, some ten seconds */
#define MANY_NODES INT64_C(1000000) /* of more, the same */

typedef struct leaf_ctx {
	berth_search *s;
	const int32_t *ops;      /* [n] operators of the problem by the instance's numbers */
	int32_t *op_dev, *order; /* scratch */
} leaf_ctx;

static int64_t leaf(void *ctx, const int32_t *dev, const int32_t *order)
{
	leaf_ctx *c = ctx;
	for (int32_t i = 0; i < c->s->p->n_ops; i++) {
		c->op_dev[c->ops[i]] = dev[i];
		c->order[i] = c->ops[order[i]];
	}
	berth_score score = berth_search_offer(c->s, c->op_dev, c->order);
	return berth_score_feasible(score) ? berth_exact_last_ns(c->s) : BERTH_EXACT_SEARCH_NEVER;
}

static bool stop(void *ctx)
{
	berth_search *s = ((leaf_ctx *)ctx)->s;
	berth_search_budget_left(s, 1);
	return s->stopped;
}

/* Does every placement without an order run as it does with one? Where channels serve what comes first in the
 * program they follow the topological order then, and the devices another rule. */
static bool orders_are_all(const berth_problem *p)
{
	return !p->s->contention || p->s->channel_order != BERTH_CHANNELS_PROGRAM;
}

static berth_status solve(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_exact_search *x;
	berth_exact_search_result r;
	leaf_ctx c = {.s = s, .ops = s->p->g->topo_op};
	BERTH_TRY(berth_exact_incumbent(s, tmp, err));
	BERTH_TRY(berth_exact_search_new(s->p, s->p->n_ops, c.ops, tmp, &x, err));
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, c.op_dev, c.order);
	berth_exact_search_cfg cfg = {.upper_ns = BERTH_EXACT_SEARCH_NEVER,
	                              .nodes = s->cfg.nodes > 0       ? s->cfg.nodes
	                                       : s->p->n_ops > GROUPS ? MANY_NODES
	                                                              : NODES,
	                              .leaf = leaf,
	                              .stop = stop,
	                              .ctx = &c};
	if (berth_score_feasible(s->best))
		cfg.upper_ns = llround(s->best.value * 1e9);
	berth_exact_search_run(x, &cfg, &r);
	s->nodes = r.nodes;
	s->proof = r.complete && orders_are_all(s->p) ? BERTH_PROOF_OPTIMAL : BERTH_PROOF_LIMIT;
	if (orders_are_all(s->p) && r.lower_ns < BERTH_EXACT_SEARCH_NEVER)
		berth_search_prove(s, (double)r.lower_ns / 1e9);
	return BERTH_OK;
}

static bool over(void *ctx)
{
	return berth_search_over(ctx);
}

/* It was cut. Claims between the bound and the incumbent, by trees of cases: their nodes conclude more. */
static berth_status claim_more(berth_search *s, berth_arena *tmp, berth_err *err)
{
	int64_t least_ns = s->bound > 0 ? (int64_t)(s->bound * 1e9 * (1 - 1e-12)) : 0;
	int64_t ns, nodes;
	if (!berth_score_feasible(s->best) || (s->cfg.nodes > 0 && s->cfg.nodes < TREE_NODES))
		return BERTH_OK;
	int64_t best_ns = llround(s->best.value * 1e9);
	BERTH_TRY(berth_tree_climb(s->p, least_ns, best_ns, TREE_NODES, over, s, tmp, &ns, &nodes, err));
	if (ns > least_ns)
		berth_search_prove(s, (double)ns / 1e9);
	if (ns >= best_ns)
		s->proof = BERTH_PROOF_OPTIMAL;
	return BERTH_OK;
}

static berth_status branch_and_bound_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_exact_needs_latency(s, "branch-and-bound", err));
	BERTH_TRY(berth_exact_or_grouped(s, MOST, GROUPS, solve, tmp, err));
	if (s->p->n_ops <= MOST && s->proof == BERTH_PROOF_LIMIT && !s->stopped)
		BERTH_TRY(claim_more(s, tmp, err));
	if (s->p->n_ops <= GROUPS || s->p->n_ops > MOST || s->proof != BERTH_PROOF_LIMIT || s->stopped)
		return BERTH_OK;
	/* It was cut: what groups come to may be better than what was found. */
	int64_t nodes = s->nodes;
	BERTH_TRY(berth_exact_grouped(s, GROUPS, solve, tmp, err));
	s->nodes = nodes;
	s->groups = 0;
	return BERTH_OK;
}

const berth_method berth_method_branch_and_bound = {"branch-and-bound",
                                                    "Proves the least latency over placements and orders of "
                                                    "up to 64 operators or 16 groups (after Carlier, "
                                                    "Pinson 1989).",
                                                    false,
                                                    branch_and_bound_run,
                                                    NULL,
                                                    "after Carlier, Pinson 1989"};
