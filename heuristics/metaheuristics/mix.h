/* Which kind of move a walk draws next: each by its share in ordinary times, and more often while it gains
 * more than others for its cost (as operators in S. Ropke, D. Pisinger, "An adaptive large neighborhood
 * search heuristic for the pickup and delivery problem with time windows", Transportation Science 40, 2006,
 * section 3.4, with the fall of the best value as the score). Gains and costs are counts, not times: the
 * sequence follows from the search alone. Far from good, where much is gained, kinds differ a hundredfold.
 * Near the end next to nothing is gained, and the shares are the ordinary ones. */
#ifndef BERTH_MIX_H
#define BERTH_MIX_H

#include "rng.h"
#include "screen.h"

typedef struct berth_mix {
	double gain[BERTH_SCREEN_KINDS], cost[BERTH_SCREEN_KINDS]; /* of late */
	const double *share; /* [BERTH_SCREEN_KINDS] of each kind in ordinary times */
} berth_mix;

/* share is borrowed; a kind whose share is 0 never comes. */
void berth_mix_begin(berth_mix *m, const double *share);

/* Draw a kind; its cost is told. */
berth_screen_kind berth_mix_draw(berth_mix *m, berth_rng *rng);

/* A move of that kind let the logarithm of the best value fall by `fall`. */
void berth_mix_gain(berth_mix *m, berth_screen_kind kind, double fall);

#endif
