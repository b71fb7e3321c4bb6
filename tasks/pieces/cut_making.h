/* A program of pieces in the making. Inside the room. */
#ifndef BERTH_CUT_MAKING_H
#define BERTH_CUT_MAKING_H

#include "cut_program.h"

/* What an operator of a cut model comes from. */
typedef struct cut_origin {
	int32_t op;    /* of the whole model; -1: it stands between pieces */
	int32_t piece; /* the i-th, from 0 on; -1: op is whole */
} cut_origin;

typedef struct cut_making {
	const berth_cutting *c;
	const berth_cut_op *op; /* [n_ops of c->p] */
	berth_cut_program *x;
	berth_arena *mem, *tmp; /* as in berth_cut_program_make */
	berth_graph cut;        /* of the cut model: x->g, or what that is a training step of */
	cut_origin *origin;     /* [cut.n_ops] */
	const int32_t *of;      /* [x->g.n_ops] operator of `cut` that it is, or is derived from */
	int32_t *copy;          /* [cut.n_ops] what it is in x->g; -1: it is left out */
} cut_making;

/* Does operator i of x->g stand in the cut model? Others are derived from such. */
static inline bool cut_making_is_copy(const cut_making *m, int32_t i)
{
	return m->copy[m->of[i]] == i;
}

#endif
