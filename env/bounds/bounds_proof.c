/* The best certificate of a bound; see bounds_proof.h. */
#include "bounds_proof.h"

berth_status berth_bound_proof_offer(berth_bound_proof *x, const berth_problem *p, const berth_certificate *c,
                                     berth_arena *tmp, berth_err *err)
{
	int64_t proven_ns;
	if (!x || x->load != c->load)
		return BERTH_OK;
	berth_status st = berth_certificate_prove(c, p, tmp, &proven_ns, err);
	if (st == BERTH_EFORMAT)
		return BERTH_OK; /* it is none: dropped */
	BERTH_TRY(st);
	if (x->any && proven_ns <= x->best.bound_ns)
		return BERTH_OK;
	x->any = true;
	x->best = *c;
	x->best.bound_ns = proven_ns;
	x->best.graph_name = p->g->name;
	x->best.system_name = p->s->name;
	return BERTH_OK;
}
