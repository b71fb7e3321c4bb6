/* Loads of devices, channels and memory pools in a placement, and what a move does to them: without
 * simulation, and exact where all operators have a device. Placing anew estimates: what comes later is taken
 * to be near. What ranks moves is a potential, the sum over all of (load / largest load)^16: the largest load
 * alone says nothing of moves that leave it as it is (as in the greedy for unlike machines of J. Aspnes, Y.
 * Azar, A. Fiat, S. Plotkin, O. Waarts, "On-line routing of virtual circuits with applications to load
 * balancing and machine scheduling", Journal of the ACM 44, 1997, section 3, with a power for their
 * exponential). */
#ifndef BERTH_LOADS_H
#define BERTH_LOADS_H

#include "dests.h"
#include "rng.h"

typedef struct berth_loads {
	const berth_problem *p;
	int32_t n;              /* resources: devices, channels, pools */
	double *load;           /* [n] of the placement at hand, ns of one sample */
	double most;            /* the largest */
	double *trial;          /* [n] of a candidate; that of load where it is not touched */
	int64_t *touched;       /* [n] stamps */
	int32_t *list, n_list;  /* [n] what is touched */
	int64_t *seen;          /* [n_tensors] stamps */
	int64_t *moves;         /* [n_ops] stamps: what has no device yet */
	int64_t *placed;        /* [n_colocs] stamps: whose device is known */
	int64_t stamp;
	int32_t top;            /* the resource of the largest load */
	bool found;             /* scratch of visits */
	double growth;
	berth_dests dests;
} berth_loads;

/* In mem. Fails: BERTH_ENOMEM. */
berth_status berth_loads_new(const berth_problem *p, berth_arena *mem, berth_loads *out, berth_err *err);

/* The placement at hand is op_dev [n_ops]. O(ops + uses of tensors). */
void berth_loads_begin(berth_loads *x, const int32_t *op_dev);

/* Is op, or a tensor that it makes or takes, on what has the largest load? */
bool berth_loads_critical(berth_loads *x, int32_t op, const int32_t *op_dev);

/* How the potential changes where op_dev [n_ops] differs from base_dev, the placement at hand, in op [n] at
 * most. O(uses of the tensors that they make and take). */
double berth_loads_change(berth_loads *x, const int32_t *base_dev, const int32_t *op_dev, int32_t n,
                          const int32_t *op);

/* Place op [n], in topological order, anew: whole colocation groups, each with its first operator where the
 * potential grows least, with what comes later taken to be near. noise: mean of what is added to each growth,
 * exponentially. op_dev, which holds the placement at hand, is written. O(n * devices * degree). */
void berth_loads_place(berth_loads *x, int32_t n, const int32_t *op, double noise, berth_rng *rng,
                       int32_t *op_dev);

#endif
