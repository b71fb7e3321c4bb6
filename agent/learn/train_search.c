/* Searches within a training: of teachers, while it runs, and the final one from every incumbent. */
#include "coloc.h"
#include "cooling.h"
#include "improve.h"
#include "trainer.h"

/* A teacher's search of a pair depends on the pair, its turn and the policy, never on when it is
 * made, so a training that goes on finds the same teachers. */
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
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_search s;
	berth_search_tell_ordered(known, op_dev, order, scores);
	if (trainer_is_proven(w, pair) || !berth_can_move(known->p))
		return BERTH_OK;
	BERTH_TRY(berth_search_new(known->p, &cfg, &mem, &s, err));
	/* The incumbent stays the teacher where nothing better is found. */
	berth_search_prove(&s, w->pair[pair].bound);
	if (from)
		berth_search_offer(&s, from, NULL);
	else
		berth_search_keep(&s, known->best, known->best_dev, berth_search_order(known));
	berth_cooling c;
	BERTH_TRY(berth_cooling_new(&s, true, s.mem, &c, err));
	BERTH_TRY(berth_cooling_finish(&c, &tmp, err));
	berth_search_keep(&s, known->best, known->best_dev, berth_search_order(known));
	berth_search_tell_ordered(&s, op_dev, order, scores);
	if (cancel && *cancel)
		return berth_fail(err, BERTH_EINTERRUPTED, "interrupted while it was taught");
	return BERTH_OK;
}

/* The final search of training; see trainer.h. What it finds is told, and kept in the checkpoint; the policy
 * does not learn from it. */

/* An item's search, on a copy. */
typedef struct item_search {
	trainer *w;
	int32_t item;
	int32_t rank; /* that makes it */
	int64_t evaluations;
	berth_arena mem, tmp;
	berth_search s;
} item_search;

/* A pair that is streamed once more: its problem, its incumbent, and its portfolio, which was not kept. */
static berth_status open_again(item_search *x, berth_train_item *item, berth_search *h,
                               berth_portfolio *known, berth_err *err)
{
	trainer *w = x->w;
	berth_search s;
	BERTH_TRY(w->cfg->open(w->cfg->open_ctx, x->item, &x->mem, &x->tmp, item, err));
	berth_search_cfg cfg = {
		.objective = w->pair[x->item].objective, .seed = w->cfg->seed, .evaluations = INT64_MAX};
	BERTH_TRY(berth_search_new(item->p, &cfg, &x->mem, &s, err));
	BERTH_TRY(berth_portfolio_run(&s, &x->mem, &x->tmp, known, err));
	*h = w->search[x->item];
	h->p = item->p;
	BERTH_TRY_NEW(&x->mem, item->p->n_ops, err, h->best_dev, h->best_order);
	trainer_incumbent(w, x->item, h->best_dev, h->best_order);
	return BERTH_OK;
}

/* Half of the evaluations for local search, half for annealing: neither is better everywhere. */
static berth_status search_item(item_search *x, berth_err *err)
{
	berth_search again, *h = &x->w->search[x->item];
	berth_portfolio known = x->w->pair[x->item].portfolio;
	berth_train_item item;
	if (trainer_streams(x->w))
		BERTH_TRY(open_again(x, &item, h = &again, &known, err));
	berth_search_cfg cfg = {.objective = h->cfg.objective,
	                        .seed = x->w->l.pair[x->item].seed,
	                        .evaluations = x->evaluations,
	                        .cancel = h->cfg.cancel};
	BERTH_TRY(berth_search_new(h->p, &cfg, &x->mem, &x->s, err));
	berth_search_prove(&x->s, x->w->pair[x->item].bound);
	berth_search_keep(&x->s, h->best, h->best_dev, berth_search_order(h));
	if (x->evaluations == 0)
		return BERTH_OK;
	x->s.cfg.evaluations = x->evaluations / 2;
	BERTH_TRY(berth_local_search(&x->s, &x->tmp, err));
	x->s.cfg.evaluations = x->evaluations;
	/* Runs of annealing of doubling length, as in the method berth. */
	berth_cooling c;
	BERTH_TRY(berth_cooling_new(&x->s, true, x->s.mem, &c, err));
	for (int32_t i = 0; i < known.n && x->s.best_has_order && berth_search_budget_left(&x->s, 1) > 0; i++)
		berth_cooling_consider(&c, known.answer[i].op_dev,
		                       berth_search_offer(&x->s, known.answer[i].op_dev, NULL));
	return berth_cooling_finish(&c, &x->tmp, err);
}

static berth_status run_item(void *ctx, int32_t i, berth_err *err)
{
	item_search *x = (item_search *)ctx + i;
	return x->rank == x->w->ranks->me ? search_item(x, err) : BERTH_OK;
}

static berth_status take_over(const item_search *x, berth_err *err)
{
	berth_search *h = &x->w->search[x->item];
	if (trainer_streams(x->w))
		BERTH_TRY(trainer_open_slot(x->w, x->item, err));
	h->evaluations += x->s.evaluations;
	x->w->search_spent += x->s.evaluations;
	berth_search_keep(h, x->s.best, x->s.best_dev, berth_search_order(&x->s));
	return trainer_close(x->w, x->item, err);
}

bool trainer_is_proven(const trainer *w, int32_t i)
{
	berth_score best = w->search[i].best;
	return w->pair[i].n_ops == 0 || (berth_score_feasible(best) && best.value <= w->pair[i].bound);
}

/* Shares of `left`, an equal one for each item that is left but for those that are proven; and who
 * searches. */
static berth_status share_out(trainer *w, int32_t first, int32_t n, int64_t left, item_search *part,
                              berth_err *err)
{
	int64_t others = 0, work[BERTH_MOST_AT_ONCE] = {0};
	int32_t rank[BERTH_MOST_AT_ONCE];
	for (int32_t i = first; i < w->n_items; i++)
		others += !trainer_is_proven(w, i);
	for (int32_t k = 0; k < n; k++) {
		int64_t share = trainer_is_proven(w, first + k) ? 0 : left / others--;
		part[k] = (item_search){.w = w, .item = first + k, .evaluations = share};
		left -= share;
		work[k] = share * w->pair[first + k].n_ops;
	}
	BERTH_TRY(trainer_deal(w, n, work, rank, err));
	for (int32_t k = 0; k < n; k++)
		part[k].rank = rank[k];
	return BERTH_OK;
}

typedef struct parts {
	item_search *part;
	int32_t n;
} parts;

/* What a search has found, into arrays of this rank's own where another one has searched. */
static berth_status trade_found(void *ctx, int32_t rank, berth_pack *p, berth_err *err)
{
	const parts *x = ctx;
	for (int32_t k = 0; k < x->n; k++) {
		item_search *y = &x->part[k];
		int32_t n_ops = y->w->pair[y->item].n_ops;
		if (y->rank != rank)
			continue;
		if (p->how == BERTH_PACK_TAKE)
			BERTH_TRY_NEW(&y->mem, n_ops, err, y->s.best_dev, y->s.best_order);
		trainer_pack_found(p, &y->s, n_ops);
	}
	return BERTH_OK;
}

static berth_status run_parts(trainer *w, parts *x, berth_err *err)
{
	BERTH_TRY(berth_ranks_agree(w->ranks, trainer_each(w, x->n, run_item, x->part, err), err));
	return berth_ranks_trade(w->ranks, trade_found, x, w->tmp, err);
}

/* The n items from `first` on. *cut: it was interrupted, and all is as before. They are too large for a stack
 * that may not grow. */
static berth_status search_part(trainer *w, int32_t first, int32_t n, int64_t left, bool *cut, berth_err *err)
{
	BERTH_SCRATCH(w->tmp);
	item_search *part;
	BERTH_TRY_NEW(w->tmp, n, err, part);
	/* In part [n]. */
	parts x = {part, n};
	BERTH_TRY(share_out(w, first, n, left, part, err));
	berth_status st = run_parts(w, &x, err);
	*cut = trainer_cancelled(w); /* asked once: all are taken over, or none */
	for (int32_t k = 0; k < n; k++) {
		if (part[k].rank == w->ranks->me)
			w->own_evaluations += part[k].s.evaluations;
		if (st == BERTH_OK && !*cut)
			st = take_over(&part[k], err);
		berth_arena_free(&part[k].mem);
		berth_arena_free(&part[k].tmp);
	}
	return st;
}

berth_status trainer_search(trainer *w, berth_err *err)
{
	int64_t budget = w->cfg->evaluations, end = w->search_start + trainer_reserve(w);
	end = end < budget ? end : budget;
	while (w->searched < w->n_items && !trainer_cancelled(w)) {
		int32_t first = (int32_t)w->searched, n = w->n_items - first;
		int64_t left = end - trainer_made(w);
		bool cut = false;
		n = n < w->cfg->learner.at_once ? n : w->cfg->learner.at_once;
		if (left > 0)
			BERTH_TRY(search_part(w, first, n, left, &cut, err));
		if (cut)
			return BERTH_OK;
		w->searched += n;
		BERTH_TRY(trainer_maybe_save(w, 0, err));
	}
	return BERTH_OK;
}
