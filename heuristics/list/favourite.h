/* Favourite children: of the consumers of an operator the one that should run right after it on its device.
 */
#pragma once

#include "problem.h"

typedef struct favourite_cfg {
	int32_t window; /* operators of one linear program, >= 2 */
	/* Cost of the starts' mean, where the length costs 1. It decides what the length leaves open; 0: does
	 * not. */
	double promptness;
	/* Asked before each window but the first: where it says no, operators from there on have no
	 * favourites. NULL: never asked. */
	bool (*go_on)(void *ctx);
	void *ctx;
} favourite_cfg;

favourite_cfg favourite_cfg_default(void);

/* Solve for favourites. op_child out [n_ops], -1: none; an operator is the favourite of at most one.
 * length_ns, which may be NULL: the value of the linear program's length. With one window and promptness 0 it
 * is a lower bound of schedules on equal devices where no transfer takes longer than an operator. tmp is
 * scratch, reset at exit. Fails: BERTH_EUNSUPPORTED (no solver: names the package), BERTH_ENOMEM. */
berth_status favourite_children(const berth_problem *p, const favourite_cfg *cfg, int32_t *op_child,
                                double *length_ns, berth_arena *tmp, berth_err *err);
