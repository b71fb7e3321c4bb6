/* Random changes of a program of pieces. A move takes operators that stand one behind the other, from one to
 * all of them: they are put together on a device, cut for several, cut as their neighbours are, get other
 * shares, devices that change places, another axis, or other joints. */
#ifndef BERTH_CUT_MOVES_H
#define BERTH_CUT_MOVES_H

#include "cut_program.h"
#include "rng.h"

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

#endif
