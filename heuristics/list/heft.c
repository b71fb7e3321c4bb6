/* HEFT: H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task scheduling for
 * heterogeneous computing", IEEE TPDS 13(3), 2002. Operators go by upward rank (mean times and mean
 * transfers; a topological order), each to the device where it ends first, in idle gaps too. The order of
 * starts is offered beside the placement. Two evaluations a try.
 *
 * Beyond the paper: a colocation group goes whole to the device of its first operator. Memory is kept as
 * offer_schedule.h says. */
#include "method.h"
#include "offer_schedule.h"
#include "partial.h"

enum { LOOK_AHEAD = 8 };

typedef struct heft {
	const berth_problem *p;
} heft;

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = ((const heft *)ctx)->p;
	(void)tmp;
	(void)err;
	for (int32_t k = 0; k < p->n_ops; k++) {
		int64_t start;
		if (k + LOOK_AHEAD < p->n_ops)
			berth_partial_look_ahead(part, p->prio_op[k + LOOK_AHEAD]);
		int32_t op = p->prio_op[k], dev = berth_partial_earliest(part, op, true, &start);
		berth_partial_place(part, op, dev, start);
	}
	return BERTH_OK;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	heft h = {s->p};
	return berth_offer_schedule(s, schedule, &h, tmp, err);
}

const berth_method berth_method_heft = {
	"heft", "Heterogeneous earliest finish time with insertion (Topcuoglu, Hariri, Wu 2002).", false, run,
	NULL};
