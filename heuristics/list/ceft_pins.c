/* Pins from the CEFT table; see ceft_pins.h. */
#include "ceft_pins.h"

berth_status berth_ceft_pins_new(const berth_problem *p, berth_arena *tmp, berth_ceft_pins *out,
                                 berth_err *err)
{
	*out = (berth_ceft_pins){.p = p};
	return berth_ceft_new(p, tmp, &out->ceft, err);
}

berth_status berth_ceft_pins_schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const berth_ceft_pins *c = ctx;
	for (berth_ceft_step at = c->ceft.end; at.op >= 0; at = berth_ceft_before(&c->ceft, at)) {
		int32_t u = c->p->op_coloc[at.op];
		if (berth_partial_dev(part, at.op) < 0 && berth_partial_fits(part, u, at.dev))
			berth_partial_bind(part, u, at.dev);
	}
	return berth_partial_schedule(part, c->op_key, tmp, err);
}
