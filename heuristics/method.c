/* Running a method, and repairing its answer. */
#include "method.h"

#include "repair.h"

#include <string.h>

/* A search that was stopped makes no further evaluation, so that the same run with the number that it
 * reached as its budget gives the same answer. */
berth_status berth_method_run(const berth_method *m, berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t *op_dev;
	berth_status st = m->run(s, tmp, err);
	berth_arena_reset(tmp, mark);
	if (st != BERTH_OK || berth_score_feasible(s->best) ||
	    (m->searches && berth_search_budget_left(s, 1) == 0))
		return st;
	st = BERTH_NEW(tmp, op_dev, s->p->n_ops, err);
	if (st == BERTH_OK) {
		memcpy(op_dev, s->best_dev, (size_t)s->p->n_ops * sizeof *op_dev);
		st = berth_repair(s, op_dev, tmp, err);
	}
	berth_arena_reset(tmp, mark);
	return st;
}
