/* A placement method: one file each, one line each in a registry. */
#ifndef BERTH_METHOD_H
#define BERTH_METHOD_H

#include "search.h"

typedef struct berth_method {
	const char *name;  /* as on the command line */
	const char *about; /* one sentence with the source */
	bool searches;     /* uses the budget of evaluations; the others answer at once */
	/* Offer at least one legal placement to the search; its incumbent is the answer. Fails:
	 * BERTH_ENOMEM, BERTH_EINVAL, BERTH_EUNSUPPORTED (a kind of rule, objective or limit that the method
	 * cannot do). */
	berth_status (*run)(berth_search *s, berth_arena *tmp, berth_err *err);
	/* The package whose lack at build time leaves the method unable to run; NULL: it can. NULL where it
	 * stands on no optional library; ask berth_method_missing. */
	const char *(*missing)(void);
} berth_method;

static inline const char *berth_method_missing(const berth_method *m)
{
	return m->missing ? m->missing() : NULL;
}

/* The methods of this folder. */
extern const berth_method *const berth_heuristics[];
extern const int32_t berth_n_heuristics;

/* The portfolio that seeds the searches and the agent: single (first), heft, ceft-cpop, pbqp, ceft-pbqp. */
extern const berth_method *const berth_portfolio_methods[];
extern const int32_t berth_n_portfolio;

/* Run a method on a search; afterwards, where the incumbent exceeds a device's memory, repair it by moving
 * colocation groups to devices with room (berth_repair). A method that searches is repaired only while the
 * search has room, for the sake of the rule of search.h: it does well to start from a repaired placement.
 * Pins, forbidden devices and colocation hold by construction; separation and contiguity are mended
 * (berth_constraints_mend), and limits of the objective are met by local search, as far as a few evaluations
 * can. tmp is scratch, reset at exit. */
berth_status berth_method_run(const berth_method *m, berth_search *s, berth_arena *tmp, berth_err *err);

/* ---- shared by methods ---- */

/* Mend separation and contiguity; then move colocation groups off the devices whose peak exceeds their
 * memory, latest operators first, to those with the most room, until it fits or nothing helps. At most 66
 * evaluations (counted, not limited by the budget). Where a rule or a limit is broken still, up to 256 more,
 * within the budget, by local search. op_dev: in and out, the best found is offered to the search. */
berth_status berth_repair(berth_search *s, int32_t *op_dev, berth_arena *tmp, berth_err *err);

/* First improvement over moves of single colocation groups, in random order, until a whole round brings
 * nothing or `evaluations` are made. op_dev in and out, with its score. Batches of candidates run on all
 * workers; the result does not depend on their number. */
berth_status berth_improve(berth_search *s, int32_t *op_dev, berth_score *score, int64_t evaluations,
                           berth_rng *rng, berth_arena *tmp, berth_err *err);

/* Run the portfolio on the search: where walks start. Fails: BERTH_ENOMEM. */
berth_status berth_start_from_portfolio(berth_search *s, berth_arena *tmp, berth_err *err);

/* Has any colocation group more than one legal device? */
bool berth_can_move(const berth_problem *p);

/* Fill an empty partial schedule; ctx is the method's. */
struct berth_partial;
typedef berth_status (*berth_schedule_fn)(void *ctx, struct berth_partial *part, berth_arena *tmp,
                                          berth_err *err);

/* How much of the tensors a schedule asks memory for (berth_partial_limit_memory), try by try, until the
 * placement fits: only what stays at first, the upper bound in the end. */
enum { BERTH_MEMORY_TRIES = 4 };
extern const double berth_memory_share[BERTH_MEMORY_TRIES];

/* Make a schedule and offer its placement under the system's rule and with the order of its starts, up to
 * BERTH_MEMORY_TRIES times. Two evaluations a try. Fails: BERTH_ENOMEM. */
berth_status berth_offer_schedule(berth_search *s, berth_schedule_fn schedule, void *ctx, berth_arena *tmp,
                                  berth_err *err);

/* rank_d of CPOP: mean times and mean transfers from the sources to each operator, without its own time. out
 * [n_ops]. */
void berth_downward_ranks(const berth_problem *p, int64_t *op_rank_ns);

/* Disjoint blocks of operators that move together: CSR off [n+1] into op. Units stay whole. */
typedef struct berth_blocks {
	int32_t n;
	const int32_t *off, *op;
} berth_blocks;

/* The same over moves of blocks. Of a block, the operators that are not legal on the new device stay where
 * they are. */
berth_status berth_improve_blocks(berth_search *s, const berth_blocks *blocks, int32_t *op_dev,
                                  berth_score *score, int64_t evaluations, berth_rng *rng, berth_arena *tmp,
                                  berth_err *err);

/* Bytes that a colocation group takes with it to another device: parameters, shared ones too, state, outputs
 * and tensors of its operators. out [n_colocs]. */
void berth_coloc_bytes(const berth_problem *p, int64_t *coloc_bytes);

/* Sum of the operator times of a colocation group on a device. */
int64_t berth_coloc_time(const berth_problem *p, int32_t coloc, int32_t dev);
static inline void berth_coloc_put(const berth_problem *p, int32_t coloc, int32_t dev, int32_t *op_dev)
{
	for (int32_t i = p->coloc_off[coloc]; i < p->coloc_off[coloc + 1]; i++)
		op_dev[p->coloc_op[i]] = dev;
}
static inline bool berth_coloc_legal(const berth_problem *p, int32_t coloc, int32_t dev)
{
	return berth_op_legal(p, p->coloc_op[p->coloc_off[coloc]], dev);
}

#endif
