/* Certificates of bounds while these are made. */
#ifndef BERTH_BOUNDS_PROOF_H
#define BERTH_BOUNDS_PROOF_H

#include "certificate.h"

/* The best certificate so far. */
typedef struct berth_bound_proof {
	berth_arena *mem; /* keeps what certificates point to */
	bool load;        /* of the largest load, not of the latency */
	int64_t nodes;    /* of each tree at most */
	bool any;
	berth_certificate best;
} berth_bound_proof;

/* Keep c, whose arrays are in x->mem, if it proves more than the best so far. Its bound is what it proves. x
 * may be NULL. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_bound_proof_offer(berth_bound_proof *x, const berth_problem *p, const berth_certificate *c,
                                     berth_arena *tmp, berth_err *err);

#endif
