/* What stands around an operator that a list schedule is about to place: others that are ready or will be
 * when it is placed, those that take its output, and where the rest of their inputs is. One belongs to one
 * thread. */
#pragma once

#include "partial.h"
#include "ready.h"

typedef struct berth_around {
	const berth_problem *p;
	const int64_t *op_least_ns; /* [n_ops] over legal devices; borrowed */
	int32_t *op_fastest;        /* [n_ops] the first device of that time */
	float *slower;              /* [n_ops][n_devs] log of the time there to the least one, at most 5 */
	/* of operators that are ready, or are as soon as the one that was taken is placed */
	uint8_t *op_queued;         /* [n_ops] */
	int64_t *queue_ns;          /* [n_devs] least times of those that are fastest there */
	int64_t queue_all_ns;
	/* of the operator that was looked at */
	/* [n_devs] share there of what its consumers get from others whose device is known */
	double *mate_share;
	double *heirs_slower;       /* [n_devs] mean of `slower` of its consumers */
	int32_t fan;                /* consumers that were looked at */
} berth_around;

/* In mem. Fails: BERTH_ENOMEM. O(operators * devices). */
berth_status berth_around_new(const berth_problem *p, const int64_t *op_least_ns, berth_arena *mem,
                              berth_around *out, berth_err *err);

/* A list begins: r was started. */
void berth_around_start(berth_around *x, const berth_ready *r);

/* op was taken from r. O(its consumers). */
void berth_around_take(berth_around *x, const berth_ready *r, int32_t op);

/* Look at op, whose producers stand on part. The first 16 of its consumers count, with 16 inputs each. O(16 *
 * (16 + devices)). */
void berth_around_look(berth_around *x, const berth_partial *part, int32_t op);
