/* What the bound by gates knows, as a certificate. */
#ifndef BERTH_CERTIFY_BLOCKS_H
#define BERTH_CERTIFY_BLOCKS_H

#include "bounds_proof.h"

/* Operators first .. last-1 of the topological order between two gates (-1: none). Blocks that look the same
 * have the same tables. */
typedef struct berth_known_block {
	int32_t first, last, entry, exit;
	const int64_t *paths; /* [n_devs][n_devs] by paths alone */
	const int64_t *lower; /* [n_devs][n_devs] all that is known */
} berth_known_block;

/* Offer a certificate of the chain of blocks. What no tree proves in x->nodes nodes is claimed for less. tmp
 * is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status berth_certify_blocks(const berth_problem *p, const berth_known_block *block, int32_t n_blocks,
                                  berth_bound_proof *x, berth_arena *tmp, berth_err *err);

#endif
