/* The list of list scheduling: operators whose producers were taken, by key. */
#ifndef BERTH_READY_H
#define BERTH_READY_H

#include "graph.h"

typedef struct berth_ready {
	const berth_graph *g;
	const int64_t *op_key; /* [n_ops] */
	int32_t *heap, n;      /* topological indices, best first */
	int32_t *op_waits;     /* [n_ops] inputs that were not taken */
} berth_ready;

/* An empty list for g, in mem. Fails: BERTH_ENOMEM. */
berth_status berth_ready_new(const berth_graph *g, berth_arena *mem, berth_ready *out, berth_err *err);

/* Begin: nothing is taken. op_key [n_ops] is borrowed. O(ops). */
void berth_ready_start(berth_ready *r, const int64_t *op_key);

/* Take the ready operator with the largest key; -1: all are taken. Ties: the lower topological index. O(log
 * ready) for it and for each consumer that becomes ready. */
int32_t berth_ready_next(berth_ready *r);

#endif
