/* What a move does to the latency, without simulating it: the longest path through what moved, by the heads
 * and tails of a simulated base (as for insertion moves in job shops: M. Dell'Amico, M. Trubian, "Applying
 * tabu search to the job-shop scheduling problem", Annals of Operations Research 41, 1993). It is a guess,
 * too low where other paths stay critical and too high where what moved makes room. It ranks candidates and
 * is never a value. */
#pragma once

#include "loads.h"
#include "rng.h"
#include "tails.h"

enum { BERTH_ESTIMATE_DEVICES = 16 };

typedef struct berth_estimate {
	const berth_problem *p;
	int64_t *end_ns;   /* [n_ops] of the operators that moved */
	int64_t *free_ns;  /* [n_devs] when the last of them there ends */
	int64_t *seen, stamp; /* [n_ops] which moved */
	int32_t *op, n_ops; /* [n_ops] those */
	int64_t *placed;    /* [n_colocs] scratch: whose device is known */
	int32_t dev[BERTH_ESTIMATE_DEVICES]; /* scratch: where an operator may go */
} berth_estimate;

/* In mem. Fails: BERTH_ENOMEM. */
berth_status berth_estimate_new(const berth_problem *p, berth_arena *mem, berth_estimate *out,
                                berth_err *err);

/* A move begins: nothing has moved yet. Then: op has another device, or another key. */
void berth_estimate_begin(berth_estimate *e);
void berth_estimate_moved(berth_estimate *e, int32_t op);

/* What moves, by the topological order; n of them. Once for each move that began, in the place of the
 * functions below. */
const int32_t *berth_estimate_ops(berth_estimate *e, int32_t *n);

/* The latency that op_dev [n_ops] (and op_key [n_ops], or NULL) is expected to have, in ns, where it differs
 * from the base of t in what moved. At `enough` it stops: it is no less. Once for each move that began.
 * O(moved operators * (degree + log)). */
int64_t berth_estimate_latency(berth_estimate *e, const berth_tails *t, const int32_t *op_dev,
                               const uint32_t *op_key, int64_t enough);

/* Place what moves anew, whole colocation groups: operators one by one in topological order, each where its
 * longest path is expected to be the shortest, with what moves later taken to be near (a rollout in the
 * schedule as it is, as a list scheduler of insertion would; the repair of large neighbourhoods: P. Shaw,
 * "Using constraint programming and local search methods to solve vehicle routing problems", CP 1998). Each
 * path is longer by a random amount of mean noise_ns, exponentially; prices add what its joules are worth.
 * op_dev [n_ops] is written. With more than 16 devices only those of neighbours and two more are tried. Once
 * for each move that began. O(moved operators * devices * (degree + log)). */
void berth_estimate_place(berth_estimate *e, const berth_tails *t, const berth_prices *prices,
                          const uint32_t *op_key, double noise_ns, berth_rng *rng, int32_t *op_dev);
