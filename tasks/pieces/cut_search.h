/* The search over cuts: which operators are cut, along which axis, into which shares, and where each piece
 * goes. By the exact simulator:
 *
 *  1. The whole operators are placed, with all of the budget.
 *  2. Programs by rule (cut_seeds.h) are scored as they come.
 *  3. The best of three kinds are annealed, then the best of these, by moves that cut, merge, shift shares
 *     and turn axes (cut_seeds.h). As many programs, those of 2 among them, as a quarter of the budget has
 *     evaluations. Each takes up to three.
 *  4. Their pieces, and those of the best seeds as they were, are placed by the method, from where the search
 *     had them, with three quarters of the budget, half of that for all. Fewer are placed where the method's
 *     quick answers take more than a program's part. Half of the rest is for what the best comes to when
 *     types of operators that gain by being whole are whole, the other half for the best.
 *
 * The answer is the best of 1 and 4: never worse than whole operators by the same method and budget. 2 to 4
 * may take one and a half times the budget, and what the method answers at once, which is counted and not
 * limited. */
#pragma once

#include "cut_program.h"
#include "solve.h"

/* A program that the search kept. */
typedef struct berth_cut_answer {
	const berth_cut_op *op; /* [n_ops of the whole] */
	const char *from;       /* the seed it began as */
	berth_cut_program *program;
	berth_solution r; /* its pieces placed */
} berth_cut_answer;

typedef struct berth_cut_result {
	berth_solution whole;
	berth_cut_answer cut; /* the best program with pieces; program NULL: none was feasible */
	bool gains;           /* it is better than whole */
	double lower_bound;   /* of all programs, whole ones too (below); NAN: not known */
	int32_t programs;     /* that were made and scored */
	int64_t evaluations;  /* all that were made: of programs and placements, whole ones too */
	bool interrupted;     /* the user had enough of it */
	bool close;           /* it ended as close to lower_bound as cfg->gap asks for */
} berth_cut_result;

/* A program was scored: r->programs of `most`, which may not be reached, by r->evaluations. */
typedef void berth_cut_told(void *ctx, const berth_cut_result *r, int64_t most, berth_score best);

/* c is open and its whole_dev is set by the search. bounds are of c->placed. told may be NULL. The result
 * lives in mem and borrows c. tmp is scratch, another arena, reset at exit. Results depend on cfg as in
 * search.h. Fails: as berth_solve and berth_cut_program_make. */
berth_status berth_cut_search(berth_cutting *c, const berth_bounds *bounds, const berth_method *method,
                              const berth_search_cfg *cfg, berth_cut_told *told, void *ctx, berth_arena *mem,
                              berth_arena *tmp, berth_cut_result *out, berth_err *err);

/* For c's objective, in its unit, if that is latency or throughput. NAN: not known. It is known where each
 * device has an overhead of 1 ns or more. Times are those of the roofline, or measured and shared out to
 * pieces as in cut_program.h. Rows that are computed twice
 * only add. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. As berth_load_dual. */
berth_status berth_cut_bound(const berth_cutting *c, berth_arena *tmp, double *out, berth_err *err);

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
