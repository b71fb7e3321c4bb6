/* Where a tensor goes in a placement. */
#ifndef BERTH_DESTS_H
#define BERTH_DESTS_H

#include "problem_tables.h"

/* Scratch: marks on devices. */
typedef struct berth_dests {
	int64_t *at, stamp; /* [n_devs] */
	int32_t *dev, n;    /* [n_devs] the devices other than its producer's that take a tensor, each once */
} berth_dests;

/* In mem. Fails: BERTH_ENOMEM. */
static inline berth_status berth_dests_new(const berth_problem *p, berth_arena *mem, berth_dests *out,
                                           berth_err *err)
{
	berth_dests x = {.n = 0};
	BERTH_TRY(BERTH_NEW(mem, x.at, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(mem, x.dev, p->n_devs, err));
	*out = x;
	return BERTH_OK;
}

/* Those of tensor t under op_dev [n_ops]. O(its uses). */
static inline void berth_dests_find(berth_dests *x, const berth_graph *g, int32_t t, const int32_t *op_dev)
{
	x->at[op_dev[g->tensor_producer[t]]] = ++x->stamp;
	x->n = 0;
	for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
		int32_t d = op_dev[g->edge_consumer[e]];
		if (x->at[d] != x->stamp)
			x->dev[x->n++] = d;
		x->at[d] = x->stamp;
	}
}

#endif
