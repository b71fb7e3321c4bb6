/* Simulated annealing as a tool for other methods: single cooling runs from any placement. */
#pragma once

#include "method.h"

typedef struct berth_annealer berth_annealer;

/* An annealer on s, in mem; rng is copied. key_share: the share of the moves that change the order of
 * operators by keys; berth_keys_work must hold then. 0: placements run by the system's rule. plain: moves are
 * drawn blindly, as Kirkpatrick et al. have them, and not chosen by estimates. Fails: BERTH_ENOMEM. */
berth_status berth_annealer_new(berth_search *s, double key_share, bool plain, berth_rng rng,
                                berth_arena *mem, berth_annealer **out, berth_err *err);

/* One run of n_steps from a placement, cooling by a factor of 100 from first_temperature, which is relative
 * to the value. One evaluation more, for the start. False when no budget was left. Without keys the search
 * keeps the best seen; with keys one evaluation is left, for the caller to offer the best, which has the
 * worst score where no budget was left for any. A start without keys has those of the rule priority. */
bool berth_anneal_cool(berth_annealer *a, berth_keyed from, double first_temperature, int64_t n_steps);

/* The best of the last run, of an annealer with keys; it is the annealer's until the next run. */
berth_keyed berth_anneal_best(const berth_annealer *a, berth_score *score);
