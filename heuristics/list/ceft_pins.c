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
	int32_t op = c->ceft.end_op, dev = c->ceft.end_dev;
	while (op >= 0) {
		size_t cell = (size_t)op * (size_t)c->p->n_devs + (size_t)dev;
		if (berth_partial_dev(part, op) < 0 && berth_partial_fits(part, c->p->op_coloc[op], dev))
			berth_partial_bind(part, c->p->op_coloc[op], dev);
		op = c->ceft.back_op[cell];
		dev = c->ceft.back_dev[cell];
	}
	return berth_partial_schedule(part, c->op_key, tmp, err);
}
