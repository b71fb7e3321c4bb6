/* The integer program of the largest load: the non-contiguous throughput model of Tarnawski et al. (NeurIPS
 * 2020, section 4), over items of max_load.h. */
#pragma once

#include "lp.h"
#include "max_load.h"

typedef struct berth_max_load_lp {
	berth_lp lp; /* its value is the largest load in seconds */
	/* [n_items][n_devs] column that is 1 where the item stands there; -1: it cannot */
	int32_t *item_dev_col;
	double *start; /* [n_cols] the placement of the loads as a solution */
} berth_max_load_lp;

/* Columns: x[item, device] whole, y[tensor, accelerator] = |x of the producer - x of a consumer| where one
 * differs, the largest load T. Every placement whose largest load is at most that of m's present one is a
 * solution, up to an exchange of equal devices: item k stands on one of the first k + 1 of them. least: a
 * lower bound of the value. The present placement is the start. Arrays live in mem. Fails: BERTH_ENOMEM. */
berth_status berth_max_load_lp_new(const berth_max_load *m, double least, berth_arena *mem,
                                   berth_max_load_lp *out, berth_err *err);
