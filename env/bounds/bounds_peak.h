/* A lower bound of the largest peak of memory. */
#ifndef BERTH_BOUNDS_PEAK_H
#define BERTH_BOUNDS_PEAK_H

#include "problem.h"

/* The larger of two. What an operator needs while it starts, with all that its colocation group keeps. And
 * what stays to the end (parameters, state, what leaves the graph), spread as evenly as memories and the
 * devices that operators may stand on allow. docs/proofs.md, "Peak of memory".
 *
 * *least_bytes is exact. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(ops * devs + edges), and 2^n
 * for n memories up to 8. */
berth_status berth_bounds_peak(const berth_problem *p, berth_arena *tmp, int64_t *least_bytes,
                               berth_err *err);

#endif
