/* A guide: a whole placement that a list schedule revises. A list schedule decides on an operator before it
 * knows where the operator's consumers will be. A guide tells where they were. */
#ifndef BERTH_GUIDE_H
#define BERTH_GUIDE_H

#include "problem.h"

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

#endif
