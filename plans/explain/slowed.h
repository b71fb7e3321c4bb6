/* By how much memory pools slowed what ran (docs/execution-model.md, "Memory pools"). */
#ifndef BERTH_SLOWED_H
#define BERTH_SLOWED_H

#include "timeline.h"

typedef struct berth_slowed {
	int32_t pool; /* by which; -1: it took its time alone */
	int64_t ns;   /* longer than alone */
	double times; /* as long as alone; 1 where it was not slowed */
} berth_slowed;

/* Of an operator, and of a hop, in a simulated placement (t->r.runs). A hop between two pools counts for the
 * one that has more to move in all, of equals the sender's. */
berth_slowed berth_op_slowed(const berth_problem *p, const berth_timeline *t, int32_t op);
berth_slowed berth_hop_slowed(const berth_problem *p, const berth_timeline *t, const berth_sim_hop *h);

#endif
