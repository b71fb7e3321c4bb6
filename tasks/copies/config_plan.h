/* A configuration as a plan: its copies, without the exchange. */
#ifndef BERTH_CONFIG_PLAN_H
#define BERTH_CONFIG_PLAN_H

#include "configuration.h"
#include "graph_union.h"

typedef struct berth_config_plan {
	int32_t n_copies;
	const int32_t *batch; /* [n_copies] index of each copy's batch */
	/* The graph of one copy, or the union of all in the order of berth_config_members. */
	berth_graph g;
	int32_t *op_dev, *op_order; /* [g.n_ops] */
	int64_t latency_ns;         /* until the slowest copy is done */
} berth_config_plan;

/* The plan of a configuration that can be.
 *   graph  [x->n_batches] the model at each batch, with the operators of those in x; where times in x were
 *          measured (times.h), these are without them, as who loads the plan has them
 * All lives in mem and may borrow the graphs; tmp is scratch, another arena, reset at exit. Fails:
 * BERTH_EFORMAT (sums beyond what a graph holds), BERTH_ENOMEM. O(operators of all copies, and a
 * simulation). */
berth_status berth_config_plan_new(const berth_copies *x, const berth_configuration *c,
                                   const berth_graph *graph, berth_arena *mem, berth_arena *tmp,
                                   berth_config_plan *out, berth_err *err);

#endif
