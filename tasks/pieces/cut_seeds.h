/* Programs that a search over cuts starts from, by rule, and random changes of them. */
#pragma once

#include "cut_program.h"
#include "rng.h"

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

/* ---- ways ---- */

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

/* ---- moves ---- */

typedef struct berth_cut_moves {
	const berth_cutting *c;
	berth_arena *mem; /* of new ways */
	int32_t *dev;     /* [n_devs] scratch */
	double *ns;       /* [n_devs] scratch */
	int32_t first, n; /* what the last draw changed: n operators of the topological order from there on */
} berth_cut_moves;

/* In mem. Fails: BERTH_ENOMEM. */
berth_status berth_cut_moves_new(const berth_cutting *c, berth_arena *mem, berth_cut_moves *out,
                                 berth_err *err);

/* Change op [n_ops]; *moved false: the draw came to nothing. Fails: BERTH_ENOMEM. O(operators * devices). */
berth_status berth_cut_moves_draw(berth_cut_moves *m, berth_rng *rng, berth_cut_op *op, bool *moved,
                                  berth_err *err);
