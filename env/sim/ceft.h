/* Critical earliest finish times (Vasudevan & Gregg, "CEFT", arXiv 1701.08800). */
#pragma once

#include "problem.h"

#define BERTH_CEFT_NEVER (INT64_MAX / 4) /* op is not legal there */

/* An operator of the critical path, on the device that the path has it on. */
typedef struct berth_ceft_step {
	int32_t op, dev; /* op -1: none */
} berth_ceft_step;

typedef struct berth_ceft {
	int32_t n_devs;
	int64_t *finish_ns;    /* [n_ops][n_devs] */
	berth_ceft_step *back; /* [n_ops][n_devs] the producer that decides; none: a source, or not legal */
	int64_t length_ns;     /* of the critical path: max over sinks of min over devices */
	berth_ceft_step end;   /* where the critical path ends; none, and length 0, for an empty graph */
} berth_ceft;

/* finish[i][d] = time(i, d) + max over inputs of min over the producer's device of (finish + routed transfer
 * without contention), over legal devices. It is a lower bound of the end of i on d in any schedule, by
 * induction along the topological order: a producer may use another device for each consumer, which is a
 * relaxation. Ties: the lowest producer and device. The table lives in mem. Fails: BERTH_ENOMEM.
 * O(edges * devs^2). */
berth_status berth_ceft_new(const berth_problem *p, berth_arena *mem, berth_ceft *out, berth_err *err);

/* The step before `at` on the critical path: for (at = c->end; at.op >= 0; at = berth_ceft_before(c, at)). */
static inline berth_ceft_step berth_ceft_before(const berth_ceft *c, berth_ceft_step at)
{
	return c->back[(size_t)at.op * (size_t)c->n_devs + (size_t)at.dev];
}

/* The other way: tail[i][d] = max over i's consumers of min over the consumer's device of (routed transfer +
 * time + tail there), 0 for a sink. From the end of i on d no schedule without contention ends the rest of
 * the graph sooner. It is the optimistic cost table of H. Arabnejad and J. G. Barbosa, "List scheduling
 * algorithm for heterogeneous systems by an optimistic cost table", IEEE TPDS 25(3), 2014.
 *   op_ns     [n_ops][n_devs] what an operator counts in the place of its time, where it is legal; NULL: its
 *             time. Tails end at BERTH_CEFT_NEVER.
 *   tail_ns   out [n_ops][n_devs]
 * O(edges * devs^2). */
void berth_ceft_tails(const berth_problem *p, const int64_t *op_ns, int64_t *tail_ns);
