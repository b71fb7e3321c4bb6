/* Transfers of a partial schedule that wait for their channels. The times of partial.h are those of
 * transfers that are alone; here each hop goes in the first idle gap of its channel that takes it. Which hop
 * takes a gap first is the order of scheduling, so that these are times as the execution model has them with
 * contention, but for that order. (Scheduling with contention and insertion: O. Sinnen, L. A. Sousa,
 * "Communication contention in task scheduling", IEEE TPDS 16(6), 2005.) Without contention they are the same
 * as there. */
#pragma once

#include "idle.h"
#include "partial.h"

typedef struct berth_traffic {
	const berth_problem *p;
	int64_t *arrive_ns; /* [n_tensors][n_devs] when it is made or sent there; -1: it is not */
	berth_idle idle;    /* of all channels; none without contention */
	int64_t *claim_ns;  /* [n_channels] end of what would be sent; 0 between calls */
} berth_traffic;

/* For schedules of p, in mem. To be reset. Fails: BERTH_ENOMEM. */
berth_status berth_traffic_new(const berth_problem *p, berth_arena *mem, berth_traffic *out, berth_err *err);

/* Nothing was sent. O(tensors * devs). */
void berth_traffic_reset(berth_traffic *w);

/* When all inputs of op can be on dev, if they are sent now. All its producers are placed on part and noted
 * here. O(hops of its inputs, and gaps). */
int64_t berth_traffic_ready(berth_traffic *w, const berth_partial *part, int32_t op, int32_t dev);

/* op runs on dev until end_ns: send its inputs there. O(hops of its inputs, and gaps). */
void berth_traffic_note(berth_traffic *w, const berth_partial *part, int32_t op, int32_t dev, int64_t end_ns);

/* Is tensor t on dev, or on its way there? */
static inline bool berth_traffic_sent(const berth_traffic *w, int32_t t, int32_t dev)
{
	return w->arrive_ns[berth_cell(w->p, t, dev)] >= 0;
}
