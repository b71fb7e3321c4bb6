/* CEFT-CPOP (Vasudevan, Gregg, arXiv 1701.08800): CPOP with the critical path of the CEFT table, whose operators go to the path's own devices, not
 * to one. The others go by rank_u + rank_d to where they end first, with insertion. The paper was not at hand for its exact priorities;
 * these are CPOP's. Beside it HEFT with the same pins is scheduled, as it is the better one on about every second random graph;
 * the search keeps the best of both. Four evaluations. */
#include "method.h"
#include "ceft.h"
#include "partial.h"

static void bind_path(const berth_problem *p, const berth_ceft *ceft, berth_partial *part)
{
	int32_t op = ceft->end_op, dev = ceft->end_dev;
	while (op >= 0) {
		size_t cell = (size_t)op * (size_t)p->n_devs + (size_t)dev;
		if (berth_partial_dev(part, op) < 0 && berth_partial_fits(part, p->op_unit[op], dev))
			berth_partial_bind(part, p->op_unit[op], dev);
		op = ceft->back_op[cell];
		dev = ceft->back_dev[cell];
	}
}

static berth_status schedule(berth_search *s, const berth_ceft *ceft, berth_partial *part, const int64_t *op_key, berth_arena *tmp, berth_err *err)
{
	berth_partial_reset(part);
	bind_path(s->p, ceft, part);
	BERTH_TRY(berth_partial_schedule(part, op_key, tmp, err));
	return berth_offer_schedule(s, part, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	berth_ceft ceft;
	berth_partial *part;
	int64_t *op_key;
	BERTH_TRY(berth_ceft_new(p, tmp, &ceft, err));
	BERTH_TRY(berth_partial_new(p, tmp, &part, err));
	BERTH_TRY(BERTH_NEW(tmp, op_key, p->n_ops, err));
	berth_downward_ranks(p, op_key);
	for (int32_t op = 0; op < p->n_ops; op++)
		op_key[op] += p->op_rank_ns[op];
	BERTH_TRY(schedule(s, &ceft, part, op_key, tmp, err));
	return schedule(s, &ceft, part, p->op_rank_ns, tmp, err);
}

const berth_method berth_method_ceft_cpop = {"ceft-cpop", "CPOP and HEFT with the critical path pinned to its CEFT devices (Vasudevan, Gregg 2017).", false, run};
