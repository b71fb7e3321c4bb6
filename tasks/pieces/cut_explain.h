/* What cuts gain: the program with those of a type undone. */
#ifndef BERTH_CUT_EXPLAIN_H
#define BERTH_CUT_EXPLAIN_H

#include "cut_search.h"

/* The operators of one type. */
typedef struct berth_cut_gain {
	const char *type;
	int32_t ops, pieces;
	double least_share, most_share; /* of a piece */
	/* The objective where these operators are whole, each on the device of its largest piece, and the
	 * others are cut as they are. As berth_cut_program_make places it; NAN: it does not fit. Beside it
	 * stands program->score.value of the answer, not the value that the method found. */
	double undone;
} berth_cut_gain;

/* Of r->cut, types as they come in the graph. In mem. tmp is scratch, another arena, reset at exit. r counts
 * the programs that were made, one a type. Fails: as berth_cut_program_make. */
berth_status berth_cut_explain(const berth_cutting *c, berth_cut_result *r, berth_arena *mem,
                               berth_arena *tmp, berth_cut_gain **out, int32_t *n, berth_err *err);

/* Make types of operators of r->cut whole for as long as that makes the program better, placed by rule.
 *   over   asked before each program: is it enough? ctx is what it gets
 *   op     [n_ops of the whole] what becomes of the operators then; ways in mem
 *   *any   some type is whole now
 * tmp is scratch, another arena, reset at exit. r counts the programs that were made: one a type, once more
 * for each round in which a type gains. Fails: as berth_cut_program_make. */
berth_status berth_cut_prune(const berth_cutting *c, berth_cut_result *r, bool (*over)(void *ctx), void *ctx,
                             berth_arena *mem, berth_arena *tmp, berth_cut_op *op, bool *any, berth_err *err);

#endif
