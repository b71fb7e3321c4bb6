/* What list schedules share: the list of ready operators, and a guide. */
#pragma once

#include "graph.h"
#include "problem.h"

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

/* A guide: a whole placement that a list schedule revises. A list schedule decides on an operator before it
 * knows where the operator's consumers will be. A guide tells where they were. */

typedef struct berth_guide {
	const berth_problem *p;
	bool is_set;
	int32_t *op_dev;  /* [n_ops] */
	int64_t *rest_ns; /* [n_ops][n_devs] from the operator's end there on, where all behind it stays */
	int64_t *rank_ns; /* [n_ops] its time and the rest, where it is itself */
} berth_guide;

/* None yet, in mem. Fails: BERTH_ENOMEM. */
berth_status berth_guide_new(const berth_problem *p, berth_arena *mem, berth_guide *out, berth_err *err);

/* None yet, with room for problems of at most n_ops operators and n_cells = operators * devices. Its p is to
 * be set before it is. Fails: BERTH_ENOMEM. */
berth_status berth_guide_room(size_t n_ops, size_t n_cells, berth_arena *mem, berth_guide *out,
                              berth_err *err);

/* Take a placement of legal devices, op_dev [n_ops], for a guide. O(edges * devs). */
void berth_guide_set(berth_guide *w, const int32_t *op_dev);
