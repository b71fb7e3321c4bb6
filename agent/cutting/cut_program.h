/* Programs of pieces: which devices run each operator of a model, with what share of it. A piece is what one
 * device runs of an operator. The program is the model that graphs/pieces makes of it, read by the importer
 * as any model is, in memory. */
#ifndef BERTH_CUT_PROGRAM_H
#define BERTH_CUT_PROGRAM_H

#include "eval.h"
#include "pieces.h"

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
	const berth_problem *p;          /* of whole operators; borrowed */
	berth_objective objective;
	const pieces_axes **axes; /* [n_ops] along what it can be cut; NULL: it stays whole */
	const int32_t *whole_dev; /* [n_ops] a plan of whole operators; the caller's to set */
} berth_cutting;

/* What can be cut. Fields that stand before axes are set. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_cutting_open(berth_cutting *c, berth_arena *mem, berth_err *err);

/* A program, placed. */
typedef struct berth_cut_program {
	pieces_model made; /* nothing was cut where n_made is 0 */
	berth_graph g;
	berth_problem p; /* of g, and of the system of c->p */
	int32_t *op_dev; /* [g.n_ops] */
	/* [g.n_ops] an order that is better than the system's rule; NULL: none of two is, that of the graph
	 * and that by the longest way to the end from where the pieces stand. A rule by mean times lets a
	 * device go on with its large pieces, while others wait for what it is to send. */
	const int32_t *order;
	berth_score score;
	int32_t evaluations; /* that the score took: an order each */
} berth_cut_program;

/* Cut, read, place and score. Pieces and whole operators stand where op [n_ops of c->p] says, or, where they
 * cannot run there, where they run quickest. What stands between them goes where its work, and the way of
 * what it takes and makes, are the shortest. Two evaluations, or three where the third order can be tried.
 *   mem   holds the program; its graph borrows c
 *   tmp   scratch, another arena, reset at exit
 * Fails: BERTH_EINVAL (an axis that an operator does not have), BERTH_ENOMEM, and as pieces_cut_source. */
berth_status berth_cut_program_make(const berth_cutting *c, const berth_cut_op *op, berth_arena *mem,
                                    berth_arena *tmp, berth_cut_program *out, berth_err *err);

/* The device that runs most of it; of equal ones the first. */
int32_t berth_cut_way_most(const berth_cut_way *w);

#endif
