/* Iterated local search: H. R. Lourenco, O. C. Martin, T. Stuetzle, "Iterated local search", Handbook of
 * Metaheuristics, 2003. It goes from the incumbent, at first the best of the portfolio, to a local optimum of
 * moves of single colocation groups. Then, until the budget ends, it makes one random move of several
 * colocation groups (moves.h) and improves from the colocation groups that were moved. Where that ended
 * worse, it goes back. */
#include "local_search.h"

#include "coloc.h"
#include "improve.h"
#include "moves.h"
#include "registry.h"

#include <string.h>

#define LARGEST_MOVE 0.05 /* of all colocation groups */

/* One random move and improvement around it, kept in op_dev if it ends no worse. */
static berth_status kick(berth_search *s, berth_moves *moves, int32_t *op_dev, berth_score *score,
                         int32_t *trial, berth_rng *rng, berth_arena *tmp, berth_err *err)
{
	size_t bytes = (size_t)s->p->n_ops * sizeof *op_dev;
	memcpy(trial, op_dev, bytes);
	if (berth_moves_draw(moves, LARGEST_MOVE, 1, rng, trial) == 0)
		return BERTH_OK;
	berth_score trial_score = berth_search_offer(s, trial, NULL);
	BERTH_TRY(berth_improve_near(s, moves, trial, &trial_score, moves->moved, moves->n_moved, rng, tmp,
	                             err));
	if (berth_score_less(*score, trial_score))
		return BERTH_OK;
	*score = trial_score;
	memcpy(op_dev, trial, bytes);
	return BERTH_OK;
}

berth_status berth_local_search(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	berth_rng rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD);
	berth_moves moves;
	int32_t *op_dev, *trial;
	if (!berth_can_move(p) || berth_search_budget_left(s, 1) == 0)
		return BERTH_OK;
	BERTH_TRY(berth_moves_new(p, tmp, &moves, err));
	BERTH_TRY(BERTH_NEW(tmp, op_dev, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, trial, p->n_ops, err));
	memcpy(op_dev, s->best_dev, (size_t)p->n_ops * sizeof *op_dev);
	/* The incumbent may have its value from an order of its own. */
	berth_score score = berth_search_offer(s, op_dev, NULL);
	BERTH_TRY(berth_improve(s, op_dev, &score, INT64_MAX, &rng, tmp, err));
	while (berth_search_budget_left(s, 1))
		BERTH_TRY(kick(s, &moves, op_dev, &score, trial, &rng, tmp, err));
	return BERTH_OK;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	return berth_local_search(s, tmp, err);
}

const berth_method berth_method_local_search = {
	"local-search",
	"Iterated local search over moves of colocation groups (Lourenco, Martin, Stuetzle 2003).", true, run,
	NULL};
