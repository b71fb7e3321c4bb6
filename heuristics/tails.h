/* What waits for what in a simulated base: the order on each device, and the longest tail behind each
 * operator along data, devices and channels. It is the head and tail view of a schedule of job-shop search
 * (E. Taillard, "Parallel taboo search techniques for the job shop scheduling problem", ORSA Journal on
 * Computing 6, 1994, section 2), with transfers as operations of their channels. */
#pragma once

#include "incremental.h"

typedef struct berth_tails {
	const berth_problem *p;
	const berth_base_log *base;  /* what they are of */
	int64_t serial;              /* of it */
	int32_t n_hops;
	int32_t *dev_off, *dev_op;   /* CSR [n_devs+1]: operators of each device as they end */
	int32_t *dev_at;             /* [n_ops] place of each in dev_op */
	/* [n_tensors * n_devs] the hop that brought a tensor; set only where one did */
	int32_t *last_hop;
	int64_t *ready_ns;           /* [n_ops] when all inputs were there */
	int64_t *tail_ns;            /* [n_ops] from an operator's start to the end of the run, at least */
	int64_t *hop_tail_ns;        /* [hops] the same of a hop */
	int32_t *hop_before, *hop_first; /* [hops] scratch: on its channel; on its way; -1: none */
	int32_t *chan_last;          /* [n_channels] scratch */
} berth_tails;

/* In mem. Fails: BERTH_ENOMEM. 4 bytes for each pair of tensor and device, 24 an operator, 16 a hop. */
berth_status berth_tails_new(const berth_problem *p, berth_arena *mem, berth_tails *out, berth_err *err);

/* Bring them up to the base that was logged, if they are not of it already. O(ops + edges + hops). */
void berth_tails_update(berth_tails *t, const berth_base_log *base);

/* The hop that brought tensor to dev in the base; -1: it was not brought there. */
int32_t berth_tails_hop(const berth_tails *t, int32_t tensor, int32_t dev);

/* How much later an operator may end without the run ending later, as far as the base's waits tell. */
static inline int64_t berth_tails_slack(const berth_tails *t, int32_t op)
{
	return t->base->latency_ns - t->base->start_ns[op] - t->tail_ns[op];
}
