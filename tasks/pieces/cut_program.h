/* Programs of pieces: which devices run each operator of a model, with what share of it. A piece is what one
 * device runs of an operator. The program is the model that tasks/pieces makes of it, read by the importer
 * as any model is, in memory. */
#pragma once

#include "eval.h"
#include "pieces.h"
#include "training.h"

/* Who runs an operator: k pieces; 1: it stays whole. */
typedef struct berth_cut_way {
	int32_t k;
	const int32_t *dev;  /* [k] a device may have several */
	const double *share; /* [k] above 0, in any unit */
} berth_cut_way;

/* What becomes of an operator. One that cannot be cut so stays whole, on the device of the largest share. */
typedef struct berth_cut_op {
	const berth_cut_way *way;
	const char *axis; /* as pieces_ask has it; NULL: the cheapest, behind those before it */
	bool each;        /* as in pieces_ask */
} berth_cut_op;

/* A model that is to be cut for a system. */
typedef struct berth_cutting {
	const char *name; /* of the model, in messages */
	const pieces_source *source;
	const berth_read_options *after; /* how a cut model is read; may be NULL */
	const char *outside;             /* as in pieces_options */
	const berth_problem *p;          /* of whole operators, for which ways are chosen; borrowed */
	/* What is placed: p, or that with rules, or a training step of it. Whole operators are placed as it
	 * is, programs are made like it. */
	const berth_problem *placed;
	const berth_graph *ruled; /* p's graph with rules that are added to it; NULL: none are */
	const berth_training_options *training; /* of the step that is placed; NULL: the model itself is */
	berth_objective objective;
	const pieces_axes **axes; /* [n_ops] along what it can be cut; NULL: it stays whole */
	const bool *may;          /* [n_ops * n_devs] rules let it stand there; NULL: there are no rules */
	const int32_t *whole_dev; /* [n_ops] a plan of whole operators; the caller's to set */
} berth_cutting;

/* What can be cut, and where rules let it stand. Fields that stand before axes are set. In mem. Fails:
 * BERTH_ENOMEM. */
berth_status berth_cutting_open(berth_cutting *c, berth_arena *mem, berth_err *err);

/* A program, placed. */
typedef struct berth_cut_program {
	pieces_model made; /* nothing was cut where n_made is 0 */
	berth_graph g;      /* of the cut model, with rules; or its training step */
	int32_t replicas;   /* of that step, as berth_training_options has it */
	berth_problem p;    /* of g, and of the system of c->p */
	int32_t *op_dev; /* [g.n_ops] */
	/* [g.n_ops] an order that is better than the system's rule; NULL: none is of those in cut_making.h */
	const int32_t *order;
	berth_score score;
	int32_t evaluations; /* that the score took: an order each */
} berth_cut_program;

/* Cut, read, place and score (cut_making.h). An operator with a pin stays whole there. Rules that
 * forbid a device hold for pieces, and for what stands behind them. Pieces that one device has of an operator
 * share their weights in a training step. An evaluation for each order that is tried, two to five.
 *   mem   holds the program; its graph borrows c
 *   tmp   scratch, another arena, reset at exit
 * Fails: BERTH_EINVAL (an axis that an operator does not have), BERTH_ENOMEM, and as pieces_cut_source. */
berth_status berth_cut_program_make(const berth_cutting *c, const berth_cut_op *op, berth_arena *mem,
                                    berth_arena *tmp, berth_cut_program *out, berth_err *err);

/* The device that runs most of it; of equal ones the first. */
int32_t berth_cut_way_most(const berth_cut_way *w);
/* How many devices it has: fewer than pieces where these are micro-batches. O(pieces^2). */
int32_t berth_cut_way_devices(const berth_cut_way *w);
