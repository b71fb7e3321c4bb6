/* By how much memory pools slowed what ran (docs/execution-model.md, "Memory pools"). */
#pragma once

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

/* Where the time of a simulated placement goes: its critical chain, walked back from the operator that ends
 * last. */

typedef enum berth_lost_kind {
	BERTH_LOST_TRANSFER, /* a tensor of the chain was on its way over the link */
	BERTH_LOST_CHANNEL,  /* it waited for the channel, which carried others */
	/* An operator of the chain had its inputs and waited for the device, or for its turn there. */
	BERTH_LOST_DEVICE,
	BERTH_LOST_POOL /* an operator or tensor of the chain took longer than alone, in a memory pool */
} berth_lost_kind;

/* All the chain's time of one cause. */
typedef struct berth_lost {
	berth_lost_kind kind;
	int32_t where;  /* link, channel, device or memory pool */
	int64_t ns;
	int32_t times;  /* how often, on the chain */
} berth_lost;

typedef struct berth_explanation {
	/* latency = compute + sum of all lost times, exactly; compute: of operators alone */
	int64_t latency_ns, compute_ns;
	berth_lost *lost;               /* [n] by falling time; ties by kind, then place */
	int32_t n;
} berth_explanation;

/* The chain is an operator, of its inputs the one that arrived last, its producer, and so on to a source.
 * Ties go to the lowest tensor. Where nothing overlaps (sums_times) it has everything. t->r.runs must hold.
 * The list lives in mem; tmp is scratch, another arena, reset at exit. Fails: BERTH_ENOMEM. O(ops + edges +
 * hops). */
berth_status berth_explain(const berth_problem *p, const berth_timeline *t, berth_arena *mem,
                           berth_arena *tmp, berth_explanation *out, berth_err *err);

/* "transfers gpu0 -> gpu1 over pcie0", "waiting for pcie0", "waiting for gpu0, busy with other operators",
 * "sharing memory pool dram". Returns buf. */
char *berth_lost_text(const berth_problem *p, const berth_lost *lost, char *buf, size_t size);
