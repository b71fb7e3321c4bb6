/* Simulated annealing as a tool for other methods: single cooling runs from any placement. */
#ifndef BERTH_ANNEAL_H
#define BERTH_ANNEAL_H

#include "method.h"
#include "moves.h"

enum { BERTH_ANNEAL_SCALES = 3, BERTH_ANNEAL_FIRST_STEPS = 500 };
/* First temperatures relative to the value: cold runs refine, hot ones leave a basin. */
extern const double berth_anneal_scale[BERTH_ANNEAL_SCALES];

extern const berth_method berth_method_anneal;

typedef struct berth_annealer berth_annealer;

/* An annealer on s, in mem; rng is copied. Fails: BERTH_ENOMEM. */
berth_status berth_annealer_new(berth_search *s, berth_rng rng, berth_arena *mem, berth_annealer **out, berth_err *err);

/* One run of n_steps from op_dev [n_ops], cooling by a factor of 100 from first_temperature (relative to the value). The search keeps the best seen. One
 * evaluation more, for the start. False when the room was at its end. */
bool berth_anneal_cool(berth_annealer *a, const int32_t *op_dev, double first_temperature, int64_t n_steps);

#endif
