/* See show_critical.h. */
#include "show_critical.h"

#include "ceft.h"

/* Back from the end of the path, every operator on the device that the path has it on. */
static void walk(const berth_problem *p, const berth_ceft *ceft, show_critical *c)
{
	int64_t computing = 0;
	for (berth_ceft_step at = ceft->end; at.op >= 0; at = berth_ceft_before(ceft, at)) {
		int32_t type = p->g->op_type[at.op] < 0 ? p->g->n_types : p->g->op_type[at.op];
		c->n_ops++;
		c->type_ns[type] += berth_op_time(p, at.op, at.dev);
		computing += berth_op_time(p, at.op, at.dev);
	}
	c->transfer_ns = ceft->length_ns - computing;
}

berth_status show_critical_find(const berth_problem *p, berth_arena *mem, berth_arena *tmp,
                                show_critical *out, berth_err *err)
{
	berth_ceft ceft;
	*out = (show_critical){.length_ns = -1};
	BERTH_TRY(BERTH_NEW(mem, out->type_ns, p->g->n_types + 1, err));
	if (berth_problem_feasible(p, NULL) != BERTH_OK)
		return BERTH_OK;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = berth_ceft_new(p, tmp, &ceft, err);
	if (st == BERTH_OK) {
		out->length_ns = ceft.length_ns;
		walk(p, &ceft, out);
	}
	berth_arena_reset(tmp, mark);
	return st;
}
