/* The frame of list schedules: which operator comes next follows from keys, where it goes from a rule that is
 * the method's own. */
#pragma once

#include "offer_schedule.h"
#include "traffic.h"

/* An operator on a device. */
typedef struct berth_list_place {
	berth_partial *part;
	int32_t op, dev;
	int64_t start_ns, end_ns;
} berth_list_place;

typedef struct berth_list {
	const berth_problem *p;
	const int64_t *op_key;  /* [n_ops] largest first */
	bool insertion;         /* in idle gaps too */
	berth_traffic *traffic; /* transfers wait for their channels; NULL: they do not */
	/* What a place is worth; the smallest is taken (ties: the lower device). */
	int64_t (*score)(void *ctx, const berth_list_place *at);
	void *ctx;
} berth_list;

/* A berth_schedule_fn, list a berth_list: fill an empty partial schedule. Of the ready operators the one with
 * the largest key comes next (ties: the lower topological index). It goes to its colocation group's device,
 * where that has one. Else it goes to the device with the smallest score, of the legal ones where the
 * colocation group fits. Where it fits nowhere, it goes to the one with the most memory left. tmp is scratch,
 * reset at exit. Fails: BERTH_ENOMEM. O(edges * devs + ops * (log ops + devs * score)). */
berth_status berth_list_schedule(void *list, berth_partial *part, berth_arena *tmp, berth_err *err);
