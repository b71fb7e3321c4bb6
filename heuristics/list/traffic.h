/* Transfers of a partial schedule that wait for their channels. The times of partial.h are those of
 * transfers that are alone; here each hop goes in the first idle gap of its channel that takes it. Which hop
 * takes a gap first is the order of scheduling, so that these are times as the execution model has them with
 * contention, but for that order. (Scheduling with contention and insertion: O. Sinnen, L. A. Sousa,
 * "Communication contention in task scheduling", IEEE TPDS 16(6), 2005.) Without contention they are the same
 * as there. */
#pragma once

#include "idle.h"
#include "problem.h"

/* Of a channel: what would be sent. */
typedef struct berth_claim {
	int64_t end_ns, load_ns;
} berth_claim;

typedef struct berth_traffic {
	const berth_problem *p;
	int64_t *arrive_ns; /* [n_tensors][n_devs] when it is made or sent there; -1: it is not */
	int32_t *home;      /* [n_tensors] where it was made */
	int64_t *load_ns;   /* [n_channels] of all that was sent */
	berth_idle idle;    /* of all channels; none without contention */
	berth_claim *channel; /* [n_channels] 0 between calls */
	int32_t *claimed;   /* [n_channels] scratch */
} berth_traffic;

/* What it takes that all inputs of an operator are on a device, if they are sent now. */
typedef struct berth_transfers {
	int64_t ready_ns;   /* when they are there */
	int64_t sum_ns;     /* of all hops of those that are not there yet */
	int64_t busiest_ns; /* the largest load of a channel that they take, with them */
} berth_transfers;

/* For schedules of p, in mem. To be reset. Fails: BERTH_ENOMEM. */
berth_status berth_traffic_new(const berth_problem *p, berth_arena *mem, berth_traffic *out, berth_err *err);

/* Nothing was sent. O(tensors * devs). */
void berth_traffic_reset(berth_traffic *w);

/* Of op on dev. All its producers are noted here. O(hops of its inputs, and gaps). */
berth_transfers berth_traffic_look(berth_traffic *w, int32_t op, int32_t dev);

/* op runs on dev until end_ns: send its inputs there. O(hops of its inputs, and gaps). */
void berth_traffic_note(berth_traffic *w, int32_t op, int32_t dev, int64_t end_ns);

/* Is tensor t on dev, or on its way there? */
static inline bool berth_traffic_sent(const berth_traffic *w, int32_t t, int32_t dev)
{
	return w->arrive_ns[berth_cell(w->p, t, dev)] >= 0;
}
