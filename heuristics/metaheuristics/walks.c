/* See walks.h. */
#include "walks.h"

#include <string.h>

#define TURN_NS 2e7 /* of a walk, in counted work */
enum { LEAST_TURN = 8, MOST_TOGETHER = 128 }; /* steps of a walk; of all walks in a turn */

typedef struct walk {
	berth_search s; /* for its evaluator and its best */
	berth_annealer *a;
	int64_t budget; /* steps that it may make in this turn */
} walk;

struct berth_walks {
	int32_t n;
	int64_t turn;     /* steps of each */
	walk *walk;       /* [n] */
	int32_t *old_dev; /* [n_ops] where the turn began */
	uint32_t *old_key;
};

/* Where more is changed at once, more of it does not go together. */
static int64_t steps_of_turn(const berth_problem *p, int32_t n_walks)
{
	double most = MOST_TOGETHER / n_walks, n = TURN_NS / berth_search_evaluation_ns(p);
	n = n < most ? n : most;
	return n < LEAST_TURN ? LEAST_TURN : (int64_t)n;
}

berth_status berth_walks_new(const berth_annealer *a, double key_share, bool plain, berth_rng rng,
                             berth_arena *mem, berth_walks **out, berth_err *err)
{
	const berth_problem *p = a->s->p;
	berth_search_cfg cfg = {.objective = a->s->cfg.objective, .evaluations = BERTH_UNLIMITED};
	berth_walks *w;
	BERTH_TRY(BERTH_NEW(mem, w, 1, err));
	w->n = a->s->cfg.walks;
	w->turn = steps_of_turn(p, w->n);
	BERTH_TRY(BERTH_NEW(mem, w->walk, w->n, err));
	BERTH_TRY(BERTH_NEW(mem, w->old_dev, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, w->old_key, p->n_ops, err));
	for (int32_t i = 0; i < w->n; i++) {
		walk *x = &w->walk[i];
		berth_rng own = berth_rng_seed(berth_rng_next(&rng), (uint64_t)i);
		BERTH_TRY(berth_search_new(p, &cfg, mem, &x->s, err));
		BERTH_TRY(berth_annealer_new(&x->s, key_share, plain, own, mem, &x->a, err));
	}
	*out = w;
	return BERTH_OK;
}

/* ---- apart ---- */

static void copy_present(int32_t *op_dev, uint32_t *op_key, const berth_annealer *from)
{
	size_t n_ops = (size_t)from->s->p->n_ops;
	memcpy(op_dev, from->op_dev, n_ops * sizeof *op_dev);
	if (from->op_key)
		memcpy(op_key, from->op_key, n_ops * sizeof *op_key);
}

static void begin_turn(walk *w, const berth_annealer *a)
{
	copy_present(w->a->op_dev, w->a->op_key, a);
	w->a->score = a->score;
	w->a->first_temperature = a->first_temperature;
	w->a->n_steps = a->n_steps;
	w->a->best = a->best; /* placements come with what is better only */
	w->s.best = a->s->best;
	w->s.bound = a->s->bound;
	w->s.cfg.gap = a->s->cfg.gap;
	w->s.evaluations = 0;
	w->s.stopped = false;
}

static void make_steps(void *ctx, int32_t i, int32_t worker)
{
	const berth_annealer *a = ctx;
	walk *w = &a->walks->walk[i];
	(void)worker;
	begin_turn(w, a);
	for (int64_t made = 0, n = 1; made < w->budget && n > 0; made += n)
		n = berth_annealer_steps(w->a, a->done + made * a->walks->n, w->budget - made);
}

/* ---- together ---- */

/* The best that a walk saw in this turn. */
static void hear(berth_annealer *a, const walk *w)
{
	a->s->evaluations += w->s.evaluations;
	if (!a->op_key) {
		berth_search_keep(a->s, w->s.best, w->s.best_dev, NULL);
	} else if (berth_score_less(w->a->best, a->best)) {
		size_t n_ops = (size_t)a->s->p->n_ops;
		a->best = w->a->best;
		memcpy(a->best_dev, w->a->best_dev, n_ops * sizeof *a->best_dev);
		memcpy(a->best_key, w->a->best_key, n_ops * sizeof *a->best_key);
	}
}

/* The index of the walk that came to the best. */
static int32_t go_on_from_best(berth_annealer *a)
{
	const walk *list = a->walks->walk;
	int32_t best = 0;
	for (int32_t i = 1; i < a->walks->n; i++)
		if (berth_score_less(list[i].a->score, list[best].a->score))
			best = i;
	copy_present(a->op_dev, a->op_key, list[best].a);
	a->score = list[best].a->score;
	return best;
}

/* What a walk changed and the present placement did not, on top of it. */
static void add_changes(berth_annealer *a, const berth_annealer *from)
{
	const berth_walks *w = a->walks;
	berth_annealer_begin_trial(a, 0);
	for (int32_t op = 0; op < a->s->p->n_ops; op++) {
		if (a->op_dev[op] == w->old_dev[op])
			a->trial_dev[op] = from->op_dev[op];
		if (a->op_key && a->op_key[op] == w->old_key[op])
			a->trial_key[op] = from->op_key[op];
	}
	berth_annealer_try(a, berth_annealer_temperature(a, a->done));
}

static void come_together(berth_annealer *a)
{
	const berth_walks *w = a->walks;
	copy_present(w->old_dev, w->old_key, a);
	int32_t best = go_on_from_best(a);
	for (int32_t k = 1; k < w->n && berth_annealer_budget_left(a, 1) > 0; k++)
		add_changes(a, w->walk[(best + k) % w->n].a);
	berth_annealer_keep_best(a);
}

int64_t berth_walks_turn(berth_annealer *a)
{
	berth_walks *w = a->walks;
	int64_t n = (a->n_steps - a->done + w->n - 1) / w->n, made = 0;
	n = n < w->turn ? n : w->turn;
	int64_t left = berth_annealer_budget_left(a, (int32_t)(n * w->n + w->n - 1));
	if (left == 0)
		return 0;
	for (int32_t i = 0; i < w->n; i++) {
		w->walk[i].budget = left < n ? left : n;
		left -= w->walk[i].budget;
		made += w->walk[i].budget;
	}
	berth_pool_run(a->s->cfg.pool, w->n, make_steps, a);
	for (int32_t i = 0; i < w->n; i++)
		hear(a, &w->walk[i]);
	come_together(a);
	return made;
}
