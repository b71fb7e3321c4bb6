/* HEFT: H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task scheduling for heterogeneous computing",
 * IEEE TPDS 13(3), 2002. Operators by upward rank (mean times and mean transfers; a topological order), each on the device where it ends first,
 * in idle gaps too. The order of starts is offered beside the placement. Two evaluations.
 *
 * Beyond the paper: a unit goes whole to the device of its first operator; a device that could run out of memory is taken only where all could. */
#include "method.h"
#include "partial.h"

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_partial *part;
	BERTH_TRY(berth_partial_new(s->p, tmp, &part, err));
	for (int32_t k = 0; k < s->p->n_ops; k++) {
		int64_t start;
		int32_t op = s->p->prio_op[k], dev = berth_partial_earliest(part, op, true, &start);
		berth_partial_place(part, op, dev, start);
	}
	return berth_offer_schedule(s, part, tmp, err);
}

const berth_method berth_method_heft = {"heft", "Heterogeneous earliest finish time with insertion (Topcuoglu, Hariri, Wu 2002).", false, run};
