/* Placements under a given order, by longest paths: the heads and tails of job-shop search, kept while one
 * operator after the other changes its place. Where nothing but data and devices makes an operator wait, they
 * are the simulator's times, to the nanosecond.
 *
 * The order is one topological sequence of all operators, in which those of a device follow each other as
 * they run there. So operators can change their device without closing a circle. */
#pragma once

#include "sim.h"

typedef struct berth_sequence {
	const berth_problem *p;
	int32_t *op_dev;            /* [n_ops] */
	int32_t *order, *at;        /* [n_ops] the sequence, and its inverse */
	int32_t *before, *behind;   /* [n_ops] neighbours on the device; -1: none */
	int64_t *ready_ns;          /* [n_ops] when all inputs are there */
	int64_t *start_ns, *end_ns; /* [n_ops] */
	int64_t *tail_ns;           /* [n_ops] from an operator's start to the end of the run */
	int64_t *data_tail_ns;      /* [n_ops] from its end, by what takes its tensors alone */
	int64_t latency_ns;
	int64_t *most_ns;            /* [n_ops] the latest end in the sequence up to there */
	int32_t *last;               /* [n_devs] scratch */
	int32_t *mark, stamp, *held; /* [n_ops] scratch: what goes with an operator that moves */
} berth_sequence;

/* Are they the simulator's times? There is no contention, no memory pool that could slow anything, one slot a
 * device, and the model of costs is that of execution-model.md. */
bool berth_sequence_exact(const berth_problem *p);

/* In mem. Fails: BERTH_ENOMEM. 76 bytes an operator. */
berth_status berth_sequence_new(const berth_problem *p, berth_arena *mem, berth_sequence *out,
                                berth_err *err);

/* op_dev [n_ops] under order [n_ops], which is topological. Times are not set. O(ops). */
void berth_sequence_set(berth_sequence *q, const int32_t *op_dev, const int32_t *order);

/* Where an operator goes: to a device, right behind one of its operators and before another, neighbours there
 * once it is away; -1: to an end. */
typedef struct berth_sequence_move {
	int32_t op, dev, before, behind;
} berth_sequence_move;

/* Make a move; what must stay behind, or before, the operator goes with it in the sequence. Times are not set
 * anew. False: it would close a circle, and nothing is changed. *first, *last: the part of the sequence in
 * which anything changed. O(its length, and its edges). */
bool berth_sequence_change(berth_sequence *q, const berth_sequence_move *m, int32_t *first, int32_t *last);

/* The move that takes back a move of op. */
berth_sequence_move berth_sequence_place(const berth_sequence *q, int32_t op);

/* Times from `first` in the sequence on, and tails from `last` back: after a change of what stands between
 * them; 0 and n_ops - 1 after berth_sequence_set. Every operator must run where it is. O(ops + edges). */
void berth_sequence_heads(berth_sequence *q, int32_t first);
void berth_sequence_tails(berth_sequence *q, int32_t last);
