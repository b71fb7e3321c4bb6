/* See train_teach.h. A search of a pair depends on the pair, its turn and the policy, never on when it is
 * made, so a training that goes on finds the same teachers. */
#include "train_teach.h"

#include "coloc.h"
#include "cooling.h"

enum { TURNS = 18, SEARCHES = 3 };

int64_t trainer_taught_turns(const trainer *w)
{
	return trainer_teaches(w) ? (int64_t)TURNS * w->n_items : 0;
}

bool trainer_turn_is_taught(const trainer *w)
{
	return w->turns.next < trainer_taught_turns(w);
}

bool trainer_turn_searches(const trainer *w)
{
	return w->turns.next / w->n_items % (TURNS / SEARCHES) == 0;
}

static berth_status anneal(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_cooling c;
	BERTH_TRY(berth_cooling_new(s, true, s->mem, &c, err));
	return berth_cooling_finish(&c, tmp, err);
}

/* The incumbent stays the teacher where nothing better is found. */
static berth_status find(berth_search *s, const berth_search *known, double bound, const int32_t *from,
                         berth_arena *tmp, berth_err *err)
{
	berth_search_prove(s, bound);
	if (from)
		berth_search_offer(s, from, NULL);
	else
		berth_search_keep(s, known->best, known->best_dev, berth_search_order(known));
	BERTH_TRY(anneal(s, tmp, err));
	berth_search_keep(s, known->best, known->best_dev, berth_search_order(known));
	return BERTH_OK;
}

berth_status trainer_teach(void *ctx, int32_t pair, const int32_t *from, int32_t *op_dev, int32_t *order,
                           berth_score scores[2], berth_err *err)
{
	const trainer *w = ctx;
	const berth_search *known = &w->search[pair];
	const berth_pair *own = &w->l.pair[pair];
	const atomic_int *cancel = w->ranks->n > 1 ? NULL : w->cfg->cancel;
	berth_search_cfg cfg = {.objective = known->cfg.objective,
	                        .seed = own->seed + (uint64_t)own->episodes,
	                        .evaluations = w->cfg->teach,
	                        .cancel = cancel};
	berth_arena mem = {0}, tmp = {0};
	berth_search s;
	berth_search_tell_ordered(known, op_dev, order, scores);
	if (trainer_is_proven(w, pair) || !berth_can_move(known->p))
		return BERTH_OK;
	berth_status st = berth_search_new(known->p, &cfg, &mem, &s, err);
	if (st == BERTH_OK)
		st = find(&s, known, w->pair[pair].bound, from, &tmp, err);
	if (st == BERTH_OK)
		berth_search_tell_ordered(&s, op_dev, order, scores);
	if (st == BERTH_OK && cancel && *cancel)
		st = berth_fail(err, BERTH_EINTERRUPTED, "interrupted while it was taught");
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}
