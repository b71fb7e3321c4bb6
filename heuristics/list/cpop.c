/* CPOP, critical path on a processor (Topcuoglu, Hariri, Wu 2002; see heft.c). The priority of an operator is
 * rank_u + rank_d, the longest path through it by means. The operators of one longest path go to the one
 * device that runs them fastest together. Of the ready operators the one with the highest priority goes next.
 * Those off the path go to where they end first, with insertion. Two evaluations a try (offer_schedule.h).
 *
 * Beyond the paper: where no device runs the whole path, the one that runs most of its operators is taken.
 * The others go by finish time. So does a colocation group that may not fit there. */
#include "method.h"
#include "offer_schedule.h"
#include "partial.h"
#include "ranks.h"

/* The consumer that the longest path from op goes on to; -1 for a sink. Ties: the lower tensor, then the
 * lower consumer. */
static int32_t next_on_path(const berth_problem *p, int32_t op)
{
	const berth_graph *g = p->g;
	int32_t best = -1;
	int64_t best_rank = -1;
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
			int64_t rank =
				p->class_mean_ns[p->tensor_class[t]] + p->op_rank_ns[g->edge_consumer[e]];
			if (rank > best_rank) {
				best = g->edge_consumer[e];
				best_rank = rank;
			}
		}
	return best;
}

/* The device that can run most operators of the path, and of those the fastest; ties: the lowest. */
static int32_t path_dev(const berth_problem *p, int32_t first)
{
	int32_t best = 0, best_runs = -1;
	int64_t best_ns = 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		int32_t runs = 0;
		int64_t ns = 0;
		for (int32_t op = first; op >= 0; op = next_on_path(p, op))
			if (berth_op_legal(p, op, d)) {
				runs++;
				ns += berth_op_time(p, op, d);
			}
		if (runs > best_runs || (runs == best_runs && ns < best_ns)) {
			best = d;
			best_runs = runs;
			best_ns = ns;
		}
	}
	return best;
}

typedef struct cpop {
	const berth_problem *p;
	int64_t *op_key; /* [n_ops] */
	int32_t first, dev; /* where the path starts; its device */
} cpop;

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const cpop *c = ctx;
	const berth_problem *p = c->p;
	for (int32_t op = c->first; op >= 0; op = next_on_path(p, op))
		if (berth_partial_dev(part, op) < 0 && berth_op_legal(p, op, c->dev) &&
		    berth_partial_fits(part, p->op_coloc[op], c->dev))
			berth_partial_bind(part, p->op_coloc[op], c->dev);
	return berth_partial_schedule(part, c->op_key, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	/* The first by priority has the largest upward rank: it is the source of a longest path. */
	cpop c = {.p = p, .first = p->n_ops ? p->prio_op[0] : -1};
	BERTH_TRY(BERTH_NEW(tmp, c.op_key, p->n_ops, err));
	berth_downward_ranks(p, c.op_key);
	for (int32_t op = 0; op < p->n_ops; op++)
		c.op_key[op] += p->op_rank_ns[op];
	c.dev = path_dev(p, c.first);
	return berth_offer_schedule(s, schedule, &c, tmp, err);
}

const berth_method berth_method_cpop = {"cpop", "Critical path on a processor (Topcuoglu, Hariri, Wu 2002).",
                                        false, run, NULL};
