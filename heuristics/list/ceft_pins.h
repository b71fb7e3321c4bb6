/* List schedules with the critical path of the CEFT table pinned to its own devices. `ceft-cpop` and
 * `heft-ceft` share them. */
#ifndef BERTH_CEFT_PINS_H
#define BERTH_CEFT_PINS_H

#include "ceft.h"
#include "partial.h"

typedef struct berth_ceft_pins {
	const berth_problem *p;
	berth_ceft ceft;
	const int64_t *op_key; /* [n_ops] largest first */
} berth_ceft_pins;

/* The table of p, in tmp, with keys that the caller sets. Fails: BERTH_ENOMEM. O(edges * devs^2). */
berth_status berth_ceft_pins_new(const berth_problem *p, berth_arena *tmp, berth_ceft_pins *out,
                                 berth_err *err);

/* A berth_schedule_fn, ctx a berth_ceft_pins. Colocation groups of the path go to its devices, where they
 * fit, from the path's end. The others go by key to where they end first, with insertion. */
berth_status berth_ceft_pins_schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err);

#endif
