/* The loop of training: items are opened, their portfolios made, and each turn of searching, learning and
 * saving done for all of them. What is kept of a step stands in train_state.c, so that a run that was
 * interrupted goes on to the same bits. */
#include "trainer.h"

#include "file.h"

#include <unistd.h>

enum { START_PASSES = 8, START_STEPS = 8, MOST_VISITS = 4096 };

berth_train_cfg berth_train_cfg_default(void)
{
	berth_learner_cfg learner = berth_learner_cfg_default();
	learner.decoding = BERTH_SEQUENTIAL;
	learner.hints = false;
	learner.hidden = 32;
	learner.batch = 32; /* 16 episodes */
	learner.epochs = 2;
	learner.at_once = BERTH_TRAINED_AT_ONCE;
	learner.entropy = 0.001;
	return (berth_train_cfg){.learner = learner, .seed = 1, .evaluations = 20000, .save_s = 1};
}

/* ---- set-up ---- */

static berth_status name_items(trainer *w, berth_err *err)
{
	berth_strbuf b = {.mem = w->mem};
	for (int32_t i = 0; i < w->n_items; i++)
		berth_strbuf_printf(&b, "%s%s on %s%s%s", i ? "; " : "", w->pair[i].item.graph,
		                    w->pair[i].item.system, w->cfg->engine ? " for " : "",
		                    w->cfg->engine ? w->cfg->engine : "");
	return berth_strbuf_done(&b, &w->trained_on, NULL, err);
}

static berth_status open_item(trainer *w, int32_t i, berth_err *err)
{
	const berth_problem *p = w->items[i].p;
	train_pair *pair = &w->pair[i];
	pair->objective = trainer_objective(w, i, p);
	berth_search_cfg cfg = {.objective = pair->objective,
	                        .seed = w->cfg->seed,
	                        .evaluations = INT64_MAX,
	                        .pool = w->cfg->pool};
	pair->item = w->items[i];
	pair->n_ops = p->n_ops;
	BERTH_TRY(trainer_digest(p, &pair->tmp, pair->digest, err));
	return berth_search_new(p, &cfg, &pair->mem, &w->search[i], err);
}

/* What an item starts with. */
static berth_status start_item(trainer *w, int32_t i, berth_err *err)
{
	const berth_problem *p = w->search[i].p;
	train_pair *pair = &w->pair[i];
	berth_bounds b;
	BERTH_TRY(berth_bounds_new(p, &pair->tmp, &b, err));
	BERTH_TRY(berth_bounds_objective(p, &b, &pair->objective, &pair->tmp, &pair->bound, err));
	BERTH_TRY(berth_portfolio_run(&w->search[i], &pair->mem, &pair->tmp, &pair->portfolio, err));
	w->search[i].cfg.cancel = w->cfg->cancel; /* not before: a checkpoint needs all of the portfolio */
	return BERTH_OK;
}

/* The same for one that is streamed, opened for the first time. */
static berth_status begin_item(trainer *w, int32_t i, berth_err *err)
{
	BERTH_TRY(trainer_open(w, i, err));
	return start_item(w, i, err);
}

typedef struct each {
	berth_status (*work)(void *ctx, int32_t i, berth_err *err);
	void *ctx;
	berth_status *status; /* [n] */
	berth_err *err;       /* [n] */
} each;

static void do_one(void *ctx, int32_t i, int32_t worker)
{
	const each *x = ctx;
	(void)worker;
	x->status[i] = x->work(x->ctx, i, &x->err[i]);
}

berth_status trainer_each(trainer *w, int32_t n, berth_status (*work)(void *ctx, int32_t i, berth_err *err),
                          void *ctx, berth_err *err)
{
	each x = {.work = work, .ctx = ctx};
	BERTH_SCRATCH(w->tmp);
	BERTH_TRY_NEW(w->tmp, n, err, x.status, x.err);
	berth_pool_run(w->cfg->pool, n, do_one, &x);
	for (int32_t i = 0; i < n; i++)
		if (x.status[i] != BERTH_OK)
			return berth_fail(err, x.status[i], "%s", x.err[i].msg);
	return BERTH_OK;
}

/* What is done for items, each in its own memory. */
typedef berth_status item_fn(trainer *w, int32_t i, berth_err *err);

typedef struct some_items {
	trainer *w;
	item_fn *work;
	bool mine; /* for those of this rank alone */
	int32_t first;
} some_items;

static berth_status do_item(void *ctx, int32_t k, berth_err *err)
{
	const some_items *x = ctx;
	train_pair *pair = &x->w->pair[x->first + k];
	if (x->mine && pair->rank != x->w->ranks->me)
		return BERTH_OK;
	berth_status st = x->work(x->w, x->first + k, err);
	berth_arena_free(&pair->tmp);
	return st;
}

/* Items from first up to end. */
static berth_status do_some(trainer *w, int32_t first, int32_t end, item_fn *work, bool mine, berth_err *err)
{
	return trainer_each(w, end - first, do_item, &(some_items){w, work, mine, first}, err);
}

static berth_status do_each(trainer *w, item_fn *work, bool mine, berth_err *err)
{
	return do_some(w, 0, w->n_items, work, mine, err);
}

static berth_status imitate_item(trainer *w, int32_t i, berth_err *err)
{
	train_pair *pair = &w->pair[i];
	const int32_t *op_dev = pair->portfolio.answer[pair->portfolio.best].op_dev;
	int32_t *start;
	if (!trainer_streams(w))
		return berth_learner_clone_starts(&w->l, i, 1, &op_dev, START_STEPS, err);
	BERTH_TRY(trainer_open(w, i, err));
	BERTH_TRY_NEW(&pair->tmp, pair->n_ops, err, start);
	for (int32_t op = 0; op < pair->n_ops; op++)
		start[op] = pair->start[op];
	op_dev = start;
	BERTH_TRY(berth_learner_clone_starts(&w->l, i, 1, &op_dev, START_STEPS, err));
	return trainer_close(w, i, err);
}

int64_t trainer_made(const trainer *w)
{
	int64_t sum = 0;
	for (int32_t i = 0; i < w->n_items; i++)
		sum += w->search[i].evaluations;
	return sum;
}

/* ---- the run ---- */

/* Over all items of the last update of each: what the policy draws, against the best single device. */
static double mean_reward(const trainer *w)
{
	double sum = 0;
	for (int32_t i = 0; i < w->n_items; i++)
		sum += w->l.pair[i].baseline.mean;
	return sum / w->n_items;
}

static void tell(trainer *w, const berth_turn *turn, const berth_step_stats *stats, int64_t step)
{
	int32_t item = turn->pair;
	int64_t made = trainer_made(w);
	const berth_search *h = &w->search[item];
	berth_train_update u = {
		.step = step,
		.evaluations = made,
		.item = item,
		.graph = w->pair[item].item.graph,
		.system = w->pair[item].item.system,
		.stats = *stats,
		.best_value = berth_score_feasible(h->best) ? h->best.value : NAN,
		.bound = w->pair[item].bound,
		.flat = w->turns.flat[item],
		.collapsed = train_turns_collapsed(&w->turns, item),
		.n_collapsed = train_turns_n_collapsed(&w->turns),
		.mean_reward = mean_reward(w),
		.is_taught = turn->taught,
		.taught = w->turns.next < trainer_taught_turns(w) ? w->turns.next : trainer_taught_turns(w),
		.to_teach = trainer_taught_turns(w),
		.evaluations_per_s = (double)(made - w->made_before) /
	                             fmax(berth_wall_seconds() - w->started, 1e-9)};
	if (w->cfg->update)
		w->cfg->update(w->cfg->update_ctx, &u);
}

/* Evaluations but for those of final searches. */
static int64_t learned(const trainer *w)
{
	return trainer_made(w) - w->search_spent;
}

static berth_status learn_round(trainer *w, int32_t n, const berth_turn *turn, berth_err *err)
{
	berth_step_stats stats[BERTH_MOST_AT_ONCE];
	berth_score before[BERTH_MOST_AT_ONCE];
	double started = berth_wall_seconds();
	for (int32_t k = 0; k < n; k++)
		before[k] = w->search[turn[k].pair].best;
	BERTH_TRY(berth_learner_round(&w->l, n, turn, stats, err));
	for (int32_t k = 0; k < n; k++)
		BERTH_TRY(trainer_close(w, turn[k].pair, err));
	for (int32_t k = 0; k < n; k++) {
		if (!turn[k].taught)
			train_turns_note(&w->turns, turn[k].pair, &stats[k],
			                 berth_score_less(w->search[turn[k].pair].best, before[k]));
		tell(w, &turn[k], &stats[k], w->l.steps - n + k + 1);
	}
	if (trainer_tunes(w))
		BERTH_TRY(trainer_tune_look(w, learned(w), w->cfg->evaluations, err));
	return trainer_maybe_save(w, berth_wall_seconds() - started, err);
}

/* A policy that was taught has more to lose by what it draws. */
#define TAUGHT_RATE 0.3

/* Turns that are taught. One that is interrupted leaves no trace. */
static berth_status be_taught(trainer *w, berth_err *err)
{
	while (trainer_turn_is_taught(w) && !trainer_cancelled(w)) {
		berth_turn turn[BERTH_MOST_AT_ONCE];
		int64_t first = w->turns.next;
		int32_t n = 0;
		/* Over the last quarter of the turns that are taught the rate falls to that of what
		 * follows. */
		int64_t all = trainer_taught_turns(w), left = all - w->turns.next;
		w->l.lr_scale = TAUGHT_RATE + (1 - TAUGHT_RATE) * fmin(1, 4 * (double)left / (double)all);
		/* No pair twice: it would not know yet what is found in its first turn. */
		for (; n < w->cfg->learner.at_once && n < w->n_items && trainer_turn_is_taught(w); n++) {
			bool search = trainer_turn_searches(w);
			int32_t pair = train_turns_next(&w->turns);
			turn[n] = (berth_turn){.pair = pair, .taught = true, .search = search};
		}
		berth_status st = learn_round(w, n, turn, err);
		if (st == BERTH_EINTERRUPTED)
			w->turns.next = first;
		else if (st != BERTH_OK)
			return st;
	}
	return BERTH_OK;
}

/* Steps over the items in turn, until the budget but for the reserve is spent or there is nothing left to
 * learn. The rate falls to 0 over the second half. */
static berth_status draw(trainer *w, berth_err *err)
{
	double rate = trainer_teaches(w) ? TAUGHT_RATE : 1;
	int64_t budget = w->cfg->evaluations - trainer_reserve(w), left;
	int32_t batch = w->cfg->learner.batch, item = 0;
	while ((left = budget - learned(w)) > 0 && item >= 0 && !trainer_tune_over(w) &&
	       !trainer_cancelled(w)) {
		berth_turn turn[BERTH_MOST_AT_ONCE];
		int32_t n = 0;
		w->l.lr_scale = rate * fmin(1, 2 * (double)left / (double)budget);
		for (; n < w->cfg->learner.at_once && left > 0; n++, left -= batch) {
			if ((item = train_turns_next(&w->turns)) < 0)
				break;
			turn[n] = (berth_turn){.pair = item, .left = left < batch ? (int32_t)left : batch};
		}
		if (n)
			BERTH_TRY(learn_round(w, n, turn, err));
	}
	if (!trainer_cancelled(w))
		w->search_start = trainer_made(w);
	return BERTH_OK;
}

/* What a checkpoint asks for under another budget than its own. False: there is nothing to do. */
static bool renew_budget(trainer *w)
{
	int64_t asked = w->cfg->evaluations;
	w->made_before = trainer_made(w);
	if (asked > w->saved_budget) {
		w->search_start = -1;
		w->searched = 0;
	}
	return asked >= w->saved_budget || asked > w->made_before;
}

static double value_of(berth_score score)
{
	return berth_score_feasible(score) ? score.value : NAN;
}

static berth_status report(trainer *w, berth_train_result *out, berth_err *err)
{
	out->n_ranks = w->ranks->n;
	BERTH_TRY(trainer_trade_done(w, w->own_evaluations + w->l.evaluations, &out->rank, err));
	out->evaluations = trainer_made(w);
	out->before = w->made_before;
	out->steps = w->l.steps;
	out->taught = w->turns.next < trainer_taught_turns(w) ? w->turns.next : trainer_taught_turns(w);
	out->n_collapsed = train_turns_n_collapsed(&w->turns);
	out->searched = w->search_spent;
	out->done = w->search_start >= 0 && learned(w) < w->cfg->evaluations - trainer_reserve(w);
	if (trainer_tunes(w))
		BERTH_TRY(trainer_tune_report(w, &out->tuned, err));
	BERTH_TRY_NEW(w->mem, w->n_items, err, out->best);
	for (int32_t i = 0; i < w->n_items; i++) {
		const berth_search *h = &w->search[i];
		const berth_portfolio *known = &w->pair[i].portfolio;
		const berth_portfolio_answer *start = &known->answer[known->best];
		berth_train_best *best = &out->best[i];
		*best = (berth_train_best){.value = value_of(h->best),
		                           .objective = w->pair[i].objective,
		                           .portfolio_value = value_of(start->score),
		                           .portfolio_method = start->method,
		                           .graph = w->pair[i].item.graph,
		                           .system = w->pair[i].item.system,
		                           .collapsed = train_turns_collapsed(&w->turns, i)};
		if (trainer_streams(w))
			continue;
		BERTH_TRY_NEW(w->mem, h->p->n_ops, err, best->op_dev);
		BERTH_COPY(best->op_dev, h->best_dev, h->p->n_ops);
	}
	return BERTH_OK;
}

/* Nothing is left to go on with. The checkpoint before the last one goes when that was read back. */
static berth_status drop_older(trainer *w, berth_err *err)
{
	BERTH_ARENA(mem);
	berth_policy_file f;
	BERTH_TRY(berth_policy_file_read(w->cfg->path, &mem, &f, err));
	unlink(w->older);
	return BERTH_OK;
}

static berth_status open_all(trainer *w, berth_err *err)
{
	BERTH_TRY_NEW(w->mem, w->n_items, err, w->search);
	if (trainer_streams(w)) {
		/* Nothing is read of pairs that are streamed before their portfolios. */
		for (int32_t i = 0; i < w->n_items; i++)
			w->pair[i].rank = i % w->ranks->n;
		BERTH_TRY(berth_learner_new_closed(&w->cfg->learner, w->cfg->seed, w->n_items, w->mem, &w->l,
		                                   err));
		w->l.ranks = w->ranks;
		w->l.open = trainer_open_round;
		w->l.open_ctx = w;
		w->l.teach = trainer_teach;
		w->l.teach_ctx = w;
		BERTH_TRY(trainer_check_inputs(w, err));
		return train_turns_new(w->n_items, w->mem, &w->turns, err);
	}
	BERTH_TRY(do_each(w, open_item, false, err));
	BERTH_TRY(name_items(w, err));
	if (trainer_tunes(w))
		BERTH_TRY(trainer_tune_open(w, err));
	BERTH_TRY(trainer_check_inputs(w, err));
	BERTH_TRY(trainer_deal_items(w, err));
	berth_search **all;
	BERTH_TRY_NEW(w->mem, w->n_items, err, all);
	for (int32_t i = 0; i < w->n_items; i++)
		all[i] = &w->search[i];
	const nn_real *params = trainer_tunes(w) ? w->cfg->from->params : NULL;
	BERTH_TRY(berth_learner_new(&w->cfg->learner, w->cfg->seed, params, all, w->n_items, w->mem, w->tmp,
	                            &w->l, err));
	w->l.ranks = w->ranks;
	w->l.teach = trainer_teach;
	w->l.teach_ctx = w;
	return train_turns_new(w->n_items, w->mem, &w->turns, err);
}

static berth_status start_held(trainer *w, berth_err *err)
{
	BERTH_TRY(berth_ranks_agree(w->ranks, do_each(w, start_item, true, err), err));
	return trainer_trade_starts(w, err);
}

static berth_status start_some(trainer *w, int32_t first, int32_t end, learner_sizes *z, berth_err *err)
{
	BERTH_TRY(do_some(w, first, end, begin_item, true, err));
	for (int32_t i = first; i < end; i++)
		if (w->pair[i].rank == w->ranks->me) {
			/* A pair of this rank that was opened: what is kept of it, and closed. */
			train_pair *pair = &w->pair[i];
			berth_train_item item = pair->item;
			const int32_t *best = pair->portfolio.answer[pair->portfolio.best].op_dev;
			berth_learner_measure(&w->l, i, z);
			pair->item = (berth_train_item){.graph = berth_arena_strdup(w->mem, item.graph),
			                                .system = berth_arena_strdup(w->mem, item.system)};
			if (!pair->item.graph || !pair->item.system)
				return berth_nomem(err);
			BERTH_TRY_NEW(&w->starts, pair->n_ops, err, pair->start);
			for (int32_t op = 0; op < pair->n_ops; op++)
				pair->start[op] = (uint8_t)best[op];
			for (int32_t k = 0; k < pair->portfolio.n; k++)
				pair->portfolio.answer[k].op_dev = NULL;
			BERTH_TRY(trainer_close(w, i, err));
		}
	return BERTH_OK;
}

enum { STARTS_AT_ONCE = 64 };

/* Some pairs after the others: opened by their rank, told to all, and closed. */
static berth_status start_streamed(trainer *w, berth_err *err)
{
	learner_sizes z = {.workers = 1};
	for (int32_t i = 0; i < w->n_items; i += STARTS_AT_ONCE) {
		int32_t end = i + STARTS_AT_ONCE < w->n_items ? i + STARTS_AT_ONCE : w->n_items;
		BERTH_TRY(berth_ranks_agree(w->ranks, start_some(w, i, end, &z, err), err));
		BERTH_TRY(trainer_trade_streamed(w, i, end, err));
	}
	BERTH_TRY(trainer_trade_sizes(w, &z, err));
	BERTH_TRY(name_items(w, err));
	return berth_learner_make_room(&w->l, &z, w->mem, err);
}

/* The portfolio; and the checkpoint's state, or a policy that begins. *begun: there was something to go on
 * with. */
static berth_status start(trainer *w, bool resume, bool *begun, berth_err *err)
{
	*begun = false;
	BERTH_TRY(trainer_streams(w) ? start_streamed(w, err) : start_held(w, err));
	/* Evaluations of the portfolios that this rank has run. */
	for (int32_t i = 0; i < w->n_items; i++)
		w->own_evaluations += w->pair[i].rank == w->ranks->me ? w->search[i].evaluations : 0;
	for (int32_t i = 0; i < w->n_items; i++)
		w->l.pair[i].reference = w->pair[i].portfolio.reference;
	if (trainer_tunes(w))
		BERTH_TRY(trainer_tune_begin(w, err));
	if (resume)
		BERTH_TRY(trainer_load(w, begun, err));
	if (*begun)
		return trainer_check_state(w, err);
	double started = berth_wall_seconds();
	if (!trainer_tunes(w) && !trainer_teaches(w)) {
		/* Soft imitation of the best of each item's portfolio, in turns so that no item is
		 * forgotten. It is done one after the other, so of many items some are left out. */
		int64_t visits = (int64_t)START_PASSES * w->n_items;
		for (int64_t v = 0; v < visits && v < MOST_VISITS; v++)
			BERTH_TRY(imitate_item(w, visits > MOST_VISITS ? train_turns_spread(v, w->n_items)
			                                               : (int32_t)(v % w->n_items), err));
		berth_arena_free(&w->starts);
	} else
		berth_arena_free(&w->starts);
	BERTH_TRY(trainer_check_state(w, err));
	return trainer_maybe_save(w, berth_wall_seconds() - started, err);
}

static berth_status train(trainer *w, berth_train_result *out, berth_err *err)
{
	const berth_train_cfg *cfg = w->cfg;
	bool begun;
	BERTH_TRY(open_all(w, err));
	if (cfg->resume && cfg->path)
		BERTH_TRY(berth_file_there(cfg->path, &out->resumed, err));
	BERTH_TRY(trainer_by_first(w, &out->resumed, err));
	/* On large graphs the portfolio takes long: a first checkpoint tells that nothing was learned yet.
	 * It takes the place of no other file, which would be lost for nothing. */
	bool there = true;
	if (trainer_writes(w) && !trainer_streams(w))
		BERTH_TRY(berth_file_there(w->cfg->path, &there, err));
	if (!there)
		BERTH_TRY(trainer_save(w, err));
	BERTH_TRY(start(w, out->resumed, &begun, err));
	out->resumed = begun; /* an empty checkpoint is begun anew */
	out->nothing = begun && !renew_budget(w);
	w->started = w->saved = berth_wall_seconds();
	if (!out->nothing) {
		if (w->search_start < 0) {
			BERTH_TRY(be_taught(w, err));
			BERTH_TRY(draw(w, err));
		}
		if (!trainer_cancelled(w))
			BERTH_TRY(trainer_search(w, err));
		bool stop = trainer_cancelled(w) && w->searched < w->n_items;
		BERTH_TRY(trainer_save(w, err));
		BERTH_TRY(trainer_writes(w) && !stop ? drop_older(w, err) : BERTH_OK);
	}
	BERTH_TRY(report(w, out, err));
	return out->nothing || w->searched == w->n_items
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINTERRUPTED, "interrupted after %lld evaluations",
	                            (long long)out->evaluations);
}

berth_status berth_train(const berth_train_cfg *cfg, const berth_train_item *items, int32_t n_items,
                         berth_arena *mem, berth_arena *tmp, berth_train_result *out, berth_err *err)
{
	trainer w = {.cfg = cfg,
	             .items = items,
	             .n_items = n_items,
	             .mem = mem,
	             .tmp = tmp,
	             .search_start = -1};
	w.started = w.saved = berth_wall_seconds();
	w.alone = (berth_ranks){.n = 1, .cancel = cfg->cancel};
	w.ranks = cfg->ranks ? cfg->ranks : &w.alone;
	w.ranks->cancel = cfg->cancel;
	w.cpu_started = berth_cpu_seconds() - w.ranks->waited_cpu_s;
	*out = (berth_train_result){0};
	if (n_items < 1)
		return berth_fail(err, BERTH_EINVAL, "nothing to train on");
	if (cfg->teach < 0)
		return berth_fail(err, BERTH_EINVAL, "%lld evaluations for a teacher; expected none or more",
		                  (long long)cfg->teach);
	if (cfg->teach && (cfg->from || cfg->learner.decoding != BERTH_SEQUENTIAL))
		return berth_fail(err, BERTH_EUNSUPPORTED, "teachers: not with %s",
		                  cfg->from ? "fine-tuning" : "another decoding than sequential");
	if (cfg->from && !items)
		return berth_fail(err, BERTH_EUNSUPPORTED, "so many pairs are not fine-tuned on");
	if ((w.ranks->n > 1 || !items) && cfg->learner.decoding != BERTH_SEQUENTIAL)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "%s train with sequential decoding alone, not with %s",
		                  items ? "several ranks" : "so many pairs",
		                  berth_decoding_name(cfg->learner.decoding));
	if (cfg->path && !(w.older = berth_arena_printf(mem, "%s" BERTH_TRAIN_OLDER, cfg->path)))
		return berth_nomem(err);
	BERTH_TRY_NEW(mem, n_items, err, w.pair);
	berth_status st = berth_ranks_agree(w.ranks, train(&w, out, err), err);
	for (int32_t i = 0; i < n_items; i++) {
		berth_arena_free(&w.pair[i].mem);
		berth_arena_free(&w.pair[i].tmp);
	}
	berth_arena_free(&w.starts);
	return st;
}
