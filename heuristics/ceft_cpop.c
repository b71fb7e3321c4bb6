/* CEFT-CPOP (Vasudevan, Gregg, arXiv 1701.08800): CPOP with the critical path of the CEFT table, whose operators go to the path's own devices, not
 * to one. The others go by rank_u + rank_d to where they end first, with insertion. The paper was not at hand for its exact priorities;
 * these are CPOP's. Beside it HEFT with the same pins is scheduled, as it is the better one on about every second random graph;
 * the search keeps the best of both. Four evaluations, more
 * where memory is short. */
#include "method.h"
#include "ceft.h"
#include "partial.h"

typedef struct ceft_cpop {
	const berth_problem *p;
	berth_ceft ceft;
	const int64_t *op_key; /* [n_ops] */
} ceft_cpop;

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const ceft_cpop *c = ctx;
	int32_t op = c->ceft.end_op, dev = c->ceft.end_dev;
	while (op >= 0) {
		size_t cell = (size_t)op * (size_t)c->p->n_devs + (size_t)dev;
		if (berth_partial_dev(part, op) < 0 && berth_partial_fits(part, c->p->op_unit[op], dev))
			berth_partial_bind(part, c->p->op_unit[op], dev);
		op = c->ceft.back_op[cell];
		dev = c->ceft.back_dev[cell];
	}
	return berth_partial_schedule(part, c->op_key, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	ceft_cpop c = {.p = p};
	int64_t *through;
	BERTH_TRY(berth_ceft_new(p, tmp, &c.ceft, err));
	BERTH_TRY(BERTH_NEW(tmp, through, p->n_ops, err));
	berth_downward_ranks(p, through);
	for (int32_t op = 0; op < p->n_ops; op++)
		through[op] += p->op_rank_ns[op];
	c.op_key = through;
	BERTH_TRY(berth_offer_schedule(s, schedule, &c, tmp, err));
	c.op_key = p->op_rank_ns;
	return berth_offer_schedule(s, schedule, &c, tmp, err);
}

const berth_method berth_method_ceft_cpop = {"ceft-cpop", "CPOP and HEFT with the critical path pinned to its CEFT devices (Vasudevan, Gregg 2017).", false, run};
