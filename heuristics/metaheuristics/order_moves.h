/* Moves of the walk over orders (order_walk.h), with the latency that each is expected to come to, by heads
 * and tails, and whether it is tabu. They begin at critical operators. On their device these are moved within
 * their block, those that follow each other without a gap: E. Nowicki, C. Smutnicki, "A fast taboo search
 * algorithm for the job shop problem", Management Science 42, 1996, for its ends; E. Balas, A. Vazacopoulos,
 * "Guided local search with shifting bottleneck for job shop scheduling", Management Science 44, 1998, for
 * farther places and for the estimates. On another device they go where they fit best: M. Mastrolilli, L. M.
 * Gambardella, "Effective neighbourhood functions for the flexible job shop problem", Journal of Scheduling
 * 3, 2000. */
#pragma once

#include "op_sequence.h"
#include "rng.h"
#include "tails.h"

typedef struct berth_order_move {
	berth_sequence_move move;
	bool tabu;
	int64_t ns; /* the latency that is expected */
} berth_order_move;

typedef struct berth_order_moves {
	const berth_problem *p;
	const berth_sequence *now; /* the present placement with its times */
	const berth_tails *tails;  /* of its simulation; NULL: times are longest paths */
	berth_rng *rng;
	bool devices;              /* some operator may change its device */
	int32_t *dev_off, *dev_op; /* operators of each device, in sequence */
	int32_t *critical, n_critical;
	berth_order_move *list;
	int32_t n_list;
	int64_t *span_ns;     /* scratch */
	int64_t *until, step; /* steps up to which something is tabu */
} berth_order_moves;

/* In mem; now and rng are borrowed. Fails: BERTH_ENOMEM. 8 bytes an operator. */
berth_status berth_order_moves_new(const berth_problem *p, const berth_sequence *now, berth_rng *rng,
                                   berth_arena *mem, berth_order_moves *out, berth_err *err);

/* The next step: list the moves of the present placement. O(ops), and what is looked at. */
void berth_order_moves_look(berth_order_moves *m);

/* What x undoes may not come back for a while; before it is made. */
void berth_order_moves_forbid(berth_order_moves *m, const berth_sequence_move *x);
