/* Times of pieces, where those of their operators are measured. Inside the room. */
#ifndef BERTH_CUT_TIMES_H
#define BERTH_CUT_TIMES_H

#include "cut_making.h"

/* Give operators of m->cut the times of those that they come from, for all devices that have one.
 * A whole one has its operator's time T. A piece with a share s of the work has o + s (T - o), with o the
 * device's overhead of an operator, at most T: what does not shrink with the piece. The share is that of
 * FLOP, or of bytes written where an operator has none. What stands between pieces has no time of its own.
 * origin is set. In m->mem. O(operators * devices). Fails: BERTH_ENOMEM. */
berth_status cut_times(cut_making *m, berth_err *err);

#endif
