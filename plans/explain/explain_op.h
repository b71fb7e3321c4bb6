/* Why one operator runs where and when it does: what it waited for, how late it may end, and what every
 * other device would cost. */
#pragma once

#include "check.h"
#include "explain.h"
#include "objective.h"
#include "timeline.h"

/* One input of the operator. */
typedef struct berth_op_input {
	int32_t tensor;
	int64_t produced_ns, arrives_ns; /* on the operator's device; equal where it was made there */
	int64_t queued_ns, moving_ns;    /* of the way: waiting for channels, and in them */
} berth_op_input;

/* The operator's colocation group on a device, simulated anew with all others where they are. */
typedef struct berth_op_choice {
	/* The operator's own; -1: it cannot run there, or one of its colocation group cannot. */
	int64_t time_ns;
	berth_slowed slowed;     /* how memory pools slow it there */
	berth_violations broken; /* what stands against the whole placement then */
	const char *blocked;     /* the first of them that is not there now; NULL: nothing new */
	int64_t latency_ns;      /* -1: it cannot run there */
	double value;            /* of the objective; NAN as above */
} berth_op_choice;

typedef struct berth_op_story {
	int32_t op, dev;
	int64_t ready_ns, start_ns, end_ns; /* ready: the last input is there; 0 without inputs */
	/* How much later it could end without a later end of the run, when devices and channels keep their
	 * orders, and all that runs takes as long as it did. */
	int64_t slack_ns;
	berth_op_input *input;        /* [n_inputs] in the order of the graph */
	int32_t n_inputs, last_input; /* the one that arrived last, ties to the first; -1: no inputs */
	int32_t *before_op;           /* [n_before] ran on the device between ready and start, by start */
	int32_t n_before;
	berth_op_choice *choice;      /* [n_devs]; that of dev is the placement as it is */
	/* Where its colocation group is not now, and the objective would be least; -1: it can run nowhere
	 * else. */
	int32_t best_dev;
	/* What keeps it from a better device; NULL: no other device is better, or nothing keeps it. */
	const char *binds;
} berth_op_story;

/* Tell the story of op in a simulated placement (t->r.runs) under an objective. The story lives in mem; tmp
 * is scratch, another arena, reset at exit. Fails: BERTH_ENOMEM. One simulation a device, and O((ops + hops)
 * log). */
berth_status berth_explain_op(const berth_problem *p, const berth_timeline *t, const berth_objective *o,
                              int32_t op, berth_arena *mem, berth_arena *tmp, berth_op_story *out,
                              berth_err *err);

/* slack_ns of every operator, out [n_ops]. As above. */
berth_status berth_slack(const berth_problem *p, const berth_timeline *t, int64_t *op_slack_ns,
                         berth_arena *tmp, berth_err *err);
