/* The pairs of a training: what is remembered of each and what it is worth to go on with it. */

#include "graph_format.h"
#include "system_json.h"
#include "trainer.h"

enum { FLAT_UPDATES = 16, LOOK_EVERY = 16, STRIDE = 7919 /* a prime */ };

#define SURE 0.1 /* nats */

berth_status train_turns_new(int32_t n_items, berth_arena *mem, train_turns *out, berth_err *err)
{
	*out = (train_turns){.n_items = n_items};
	return BERTH_NEW(mem, out->flat, n_items, err);
}

bool train_turns_collapsed(const train_turns *t, int32_t item)
{
	return t->flat[item] >= FLAT_UPDATES;
}

int32_t train_turns_n_collapsed(const train_turns *t)
{
	int32_t n = 0;
	for (int32_t i = 0; i < t->n_items; i++)
		n += train_turns_collapsed(t, i);
	return n;
}

int32_t train_turns_spread(int64_t turn, int32_t n_items)
{
	return (int32_t)(turn * (n_items % STRIDE ? STRIDE : 1) % n_items);
}

int32_t train_turns_next(train_turns *t)
{
	if (train_turns_n_collapsed(t) == t->n_items)
		return -1;
	for (;;) {
		int64_t turn = t->next++;
		int32_t item = train_turns_spread(turn, t->n_items);
		if (!train_turns_collapsed(t, item) || turn / t->n_items % LOOK_EVERY == 0)
			return item;
	}
}

void train_turns_note(train_turns *t, int32_t item, const berth_step_stats *stats, bool improved)
{
	bool flat = stats->worst == stats->best && stats->entropy < SURE && !improved;
	t->flat[item] = flat ? t->flat[item] + 1 : 0;
}

/* A copy of it, as the incumbent of a closed pair. Fails: BERTH_ENOMEM. */
static berth_status put_incumbent(trainer *w, int32_t i, const int32_t *op_dev, const int32_t *op_order,
                                   berth_err *err)
{
	train_pair *pair = &w->pair[i];
	if (!pair->dev)
		BERTH_TRY_NEW(w->mem, pair->n_ops, err, pair->dev);
	if (op_order && !pair->order)
		BERTH_TRY_NEW(w->mem, pair->n_ops, err, pair->order);
	for (int32_t op = 0; op < pair->n_ops; op++) {
		pair->dev[op] = (uint8_t)op_dev[op];
		if (op_order)
			pair->order[op] = op_order[op];
	}
	return BERTH_OK;
}

void trainer_incumbent(const trainer *w, int32_t i, int32_t *op_dev, int32_t *op_order)
{
	const train_pair *pair = &w->pair[i];
	const berth_search *s = &w->search[i];
	bool kept = trainer_streams(w) && !pair->open;
	for (int32_t op = 0; op < pair->n_ops; op++) {
		op_dev[op] = kept ? pair->dev[op] : s->best_dev[op];
		op_order[op] = !s->best_has_order ? 0 : kept ? pair->order[op] : s->best_order[op];
	}
}

berth_objective trainer_objective(const trainer *w, int32_t i, const berth_problem *p)
{
	static const berth_metric one[] = {BERTH_LATENCY, BERTH_LATENCY, BERTH_THROUGHPUT, BERTH_ENERGY,
	                                   BERTH_EDP};
	berth_rng rng = berth_rng_seed(w->cfg->seed, BERTH_STREAM_OBJECTIVE + (uint64_t)i);
	berth_metric m = one[berth_rng_below(&rng, sizeof one / sizeof *one)];
	if (!w->cfg->each_objective)
		return w->cfg->objective;
	return berth_objective_of(berth_metric_check(m, p, NULL) == BERTH_OK ? m : BERTH_LATENCY);
}

/* The numbers and the incumbent of a pair that was closed, into the search of one that is opened. */
static void resume_search(const trainer *w, int32_t i, berth_search *s)
{
	const berth_search *was = &w->search[i];
	if (!w->pair[i].dev)
		return; /* it is opened for the first time */
	s->evaluations = was->evaluations;
	s->mean = was->mean;
	s->best = was->best;
	s->best_has_order = was->best_has_order;
	trainer_incumbent(w, i, s->best_dev, s->best_order);
	s->cfg.cancel = was->cfg.cancel;
}

berth_status trainer_digest(const berth_problem *p, berth_arena *tmp, char digest[TRAIN_DIGEST],
                            berth_err *err)
{
	char graph[65], system[65];
	BERTH_TRY(berth_graph_sha256(p->g, tmp, graph, err));
	BERTH_TRY(berth_system_sha256(p->s, tmp, system, err));
	memcpy(digest, graph, 64);
	memcpy(digest + 64, system, 64);
	return BERTH_OK;
}

/* What is opened for the first time, by one rank, is noted. Later it has to be the same, with all. */
static berth_status check_digest(const trainer *w, train_pair *pair, const berth_train_item *item,
                                 berth_err *err)
{
	char digest[TRAIN_DIGEST];
	BERTH_TRY(trainer_digest(item->p, &pair->tmp, pair->dev ? digest : pair->digest, err));
	if (!pair->dev || memcmp(digest, pair->digest, TRAIN_DIGEST) == 0)
		return BERTH_OK;
	if (pair->rank != w->ranks->me)
		return berth_fail(err, BERTH_EFORMAT,
		                  "'%s' on '%s' is another one than rank %d, on %s, had when training began",
		                  item->graph, item->system, (int)pair->rank, w->ranks->host[pair->rank]);
	return berth_fail(err, BERTH_EFORMAT, "'%s' on '%s' has changed since training began", item->graph,
	                  item->system);
}

berth_status trainer_open(trainer *w, int32_t i, berth_err *err)
{
	train_pair *pair = &w->pair[i];
	berth_train_item item;
	berth_search s;
	if (pair->open)
		return BERTH_OK;
	BERTH_TRY(w->cfg->open(w->cfg->open_ctx, i, &pair->mem, &pair->tmp, &item, err));
	pair->objective = trainer_objective(w, i, item.p);
	berth_search_cfg cfg = {.objective = pair->objective,
	                        .seed = w->cfg->seed,
	                        .evaluations = INT64_MAX,
	                        .pool = w->cfg->pool};
	BERTH_TRY(check_digest(w, pair, &item, err));
	pair->n_ops = item.p->n_ops;
	BERTH_TRY(berth_search_new(item.p, &cfg, &pair->mem, &s, err));
	resume_search(w, i, &s);
	w->search[i] = s;
	pair->open = true;
	if (!pair->dev)
		pair->item = item; /* to be copied before it is closed */
	return berth_learner_open_pair(&w->l, i, &w->search[i], &pair->mem, &pair->tmp, err);
}

berth_status trainer_open_slot(trainer *w, int32_t i, berth_err *err)
{
	train_pair *pair = &w->pair[i];
	berth_search s = {.cfg = {.pool = w->cfg->pool, .objective = pair->objective}, .mem = &pair->mem};
	berth_problem *sizes;
	if (pair->open)
		return BERTH_OK;
	BERTH_TRY_NEW(&pair->mem, 1, err, sizes);
	BERTH_TRY_NEW(&pair->mem, pair->n_ops, err, s.best_dev, s.best_order);
	sizes->n_ops = pair->n_ops;
	s.p = sizes;
	resume_search(w, i, &s);
	w->search[i] = s;
	pair->open = true;
	w->l.pair[i].s = &w->search[i];
	return BERTH_OK;
}

berth_status trainer_close(trainer *w, int32_t i, berth_err *err)
{
	train_pair *pair = &w->pair[i];
	berth_search *s = &w->search[i];
	if (!trainer_streams(w) || !pair->open)
		return BERTH_OK;
	berth_status st = put_incumbent(w, i, s->best_dev, berth_search_order(s), err);
	berth_arena_free(&pair->mem);
	berth_arena_free(&pair->tmp);
	s->best_dev = s->best_order = NULL;
	s->p = NULL;
	s->eval = NULL;
	pair->open = false;
	return st;
}

/* ---- those of a round ---- */

typedef struct opening {
	trainer *w;
	int32_t pair[BERTH_MOST_AT_ONCE], n;
} opening;

static berth_status open_one(void *ctx, int32_t k, berth_err *err)
{
	const opening *x = ctx;
	return trainer_open(x->w, x->pair[k], err);
}

static void note_pair(opening *x, int32_t i)
{
	for (int32_t k = 0; k < x->n; k++)
		if (x->pair[k] == i)
			return;
	x->pair[x->n++] = i;
}

berth_status trainer_open_round(void *ctx, int32_t n, berth_err *err)
{
	trainer *w = ctx;
	opening x = {.w = w};
	for (int32_t k = 0; k < n; k++)
		if (w->l.batch[k].rank == w->ranks->me)
			note_pair(&x, (int32_t)(w->l.batch[k].pair - w->l.pair));
	BERTH_TRY(trainer_each(w, x.n, open_one, &x, err));
	for (int32_t k = 0; k < n; k++)
		BERTH_TRY(trainer_open_slot(w, (int32_t)(w->l.batch[k].pair - w->l.pair), err));
	return BERTH_OK;
}
