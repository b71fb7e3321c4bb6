/* CEFT-CPOP (Vasudevan, Gregg, arXiv 1701.08800): CPOP with the critical path of the CEFT table. The
 * operators of the path go to the path's own devices, not to one. The others go by rank_u + rank_d to where
 * they end first, with insertion. The paper was not at hand for its exact priorities; these are CPOP's.
 *
 * HEFT with the same pins (`heft-ceft` alone) is scheduled too, as it is the better one on about every second
 * random graph. The search keeps the best of both. Four evaluations, more where memory is short. */
#include "ceft_pins.h"
#include "method.h"
#include "offer_schedule.h"
#include "ranks.h"

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	berth_ceft_pins c;
	int64_t *through;
	BERTH_TRY(berth_ceft_pins_new(p, tmp, &c, err));
	BERTH_TRY(BERTH_NEW(tmp, through, p->n_ops, err));
	berth_downward_ranks(p, through);
	for (int32_t op = 0; op < p->n_ops; op++)
		through[op] += p->op_rank_ns[op];
	c.op_key = through;
	BERTH_TRY(berth_offer_schedule(s, berth_ceft_pins_schedule, &c, tmp, err));
	c.op_key = p->op_rank_ns;
	return berth_offer_schedule(s, berth_ceft_pins_schedule, &c, tmp, err);
}

const berth_method berth_method_ceft_cpop = {
	"ceft-cpop",
	"CPOP and HEFT with the critical path pinned to its CEFT devices (Vasudevan, Gregg 2017).", false,
	run, NULL};
