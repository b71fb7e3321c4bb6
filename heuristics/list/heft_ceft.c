/* HEFT (heft.c) with the critical path of the CEFT table (A. Vasudevan, D. Gregg, arXiv 1701.08800) pinned to
 * the path's own devices. Ready operators go by upward rank: those of the path to their pins, the others to
 * where they end first, in idle gaps too. The pairing is ours; `ceft-cpop` has the same pins under CPOP's
 * priorities. Two evaluations a try (offer_schedule.h). */
#include "ceft_pins.h"
#include "method.h"
#include "offer_schedule.h"

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_ceft_pins c;
	BERTH_TRY(berth_ceft_pins_new(s->p, tmp, &c, err));
	c.op_key = s->p->op_rank_ns;
	return berth_offer_schedule(s, berth_ceft_pins_schedule, &c, tmp, err);
}

const berth_method berth_method_heft_ceft = {
	"heft-ceft", "HEFT with the critical path pinned to its CEFT devices (after Vasudevan, Gregg 2017).",
	false, run, NULL};
