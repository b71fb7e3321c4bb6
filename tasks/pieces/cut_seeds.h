/* Programs that a search over cuts starts from, by rule. */
#ifndef BERTH_CUT_SEEDS_H
#define BERTH_CUT_SEEDS_H

#include "cut_program.h"

typedef struct berth_cut_seed {
	const char *name, *about;
	/* The i-th program of its kind, i from 0, as op [n_ops of c->p]; *more false: there is none, and op
	 * is worth nothing. What op points to lives in mem or in c. Fails: BERTH_ENOMEM. */
	berth_status (*make)(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op,
	                     bool *more, berth_err *err);
} berth_cut_seed;

/* In the order in which they are tried. */
extern const berth_cut_seed berth_cut_seeds[];
extern const int32_t berth_n_cut_seeds;

/* ---- cut_styles.c: as berth_cut_seed.make ---- */

berth_status berth_cut_data(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op, bool *more,
                            berth_err *err);
berth_status berth_cut_tensor(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op,
                              bool *more, berth_err *err);
berth_status berth_cut_pipeline(const berth_cutting *c, int32_t i, berth_arena *mem, berth_cut_op *op,
                                bool *more, berth_err *err);

/* ---- for seeds ---- */

/* All of it on one device. Fails: BERTH_ENOMEM. */
berth_status berth_cut_whole(int32_t dev, berth_arena *mem, const berth_cut_way **out, berth_err *err);

/* Devices [n_devs] that can run all operators op [n] of c->p from the quickest to the slowest, by the sum of
 * their times; how many they are. One on which rules let none of them stand is left out. ns [n_devs]: the
 * sums. Ties go to the lower index. O(n * devices). */
int32_t berth_cut_quickest(const berth_cutting *c, const int32_t *op, int32_t n, int32_t *dev, double *ns);

/* Pieces for dev [k], each with a share by its speed, 1 / ns of that device. Devices come in ascending order.
 * Fails: BERTH_ENOMEM. */
berth_status berth_cut_by_speed(const int32_t *dev, int32_t k, const double *ns, berth_arena *mem,
                                const berth_cut_way **out, berth_err *err);

#endif
