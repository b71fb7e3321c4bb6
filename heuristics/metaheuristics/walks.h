/* Walks of annealing side by side. In turns: each walk makes some steps from the present placement, on its
 * own, by random numbers of its own. Then what they changed comes together. The turn goes on from the walk
 * that came to the best; what each other one changed where that one did not is tried on top of it, and taken
 * by Metropolis' rule. Where walks change other parts of a schedule, nearly all of their steps count. With
 * walks that meet seldom and go on from the best alone, most are lost.
 *
 * Every walk has an evaluator of its own, so the result depends on the number of walks and not on how many
 * threads make them. The scheme is berth's own. For what is known of parallel annealing see D. R. Greening,
 * "Parallel simulated annealing techniques", Physica D 42, 1990. */
#ifndef BERTH_WALKS_H
#define BERTH_WALKS_H

#include "annealer.h"

typedef struct berth_walks berth_walks;

/* Walks for an annealer, as many as its search's configuration asks for, 2 and up. key_share and plain as in
 * berth_annealer_new. In mem: each takes what an annealer and its evaluator take. Fails: BERTH_ENOMEM. */
berth_status berth_walks_new(const berth_annealer *a, double key_share, bool plain, berth_rng rng,
                             berth_arena *mem, berth_walks **out, berth_err *err);

/* The next turn of the annealer's run. Returns the steps made, all walks together; 0: no budget left. Each
 * step is an evaluation, and each other walk's changes are one. Where the budget ends within it the walks
 * make their steps one walk after the other, as far as it goes. */
int64_t berth_walks_turn(berth_annealer *a);

#endif
