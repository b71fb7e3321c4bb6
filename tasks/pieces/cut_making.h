/* A program of pieces in the making. Inside the room. */
#pragma once

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

/* Set x->op_dev. Pieces and whole operators stand where their ways say, or, where they cannot run there,
 * where they run quickest. The i-th of k nodes between pieces stands with the i-th piece that takes from it,
 * else that gives to it. Others go where their work, and the way of what they take and make, are the
 * shortest. What a training step adds stands with what it is derived from, and colocation groups with their
 * first operator. tmp is scratch. Fails: BERTH_ENOMEM. O((operators + edges) * devices). */
berth_status cut_place(cut_making *m, berth_err *err);

/* Score the program that is placed, by the best of some orders; sets x->score, x->order and x->evaluations:
 *
 *   the system's rule
 *   that of the graph
 *   the longest way to the end first, from where the operators stand, where keys work. A rule by mean times
 *     lets a device go on with its large pieces, while others wait for what it is to send
 *   of a training step with micro-batches those of pipelines: GPipe (Huang et al., NeurIPS 2019, section
 *     2.2), and 1F1B (Narayanan et al., SOSP 2019, section 3.2, with the flush of Narayanan et al., SC 2021,
 *     section 2.2.1), which keeps the activations of fewer micro-batches. A device is a stage.
 *
 * Fails: BERTH_ENOMEM. O((operators + edges) log operators) and the evaluations. */
berth_status cut_order(cut_making *m, berth_err *err);
