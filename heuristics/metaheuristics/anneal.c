/* Simulated annealing: S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing",
 * Science 220, 1983. A run cools by a factor of 100; which run comes next is told in cooling.h.
 *
 * Where latency and energy, or throughput, are all that counts, moves are chosen by estimates (screen.h), and
 * only the best one is simulated. The estimates come from a base of the walk's own, its present placement, so
 * they are the same for any number of workers.
 *
 * A walk alone draws candidates ahead for all workers. Those after the first that is accepted are dropped
 * with their random numbers. Several walks go side by side, a worker each. In turns: each walk makes some
 * steps from the present placement, on its own, by random numbers of its own. Then what they changed comes
 * together. The turn goes on from the walk that came to the best; what each other one changed where that one
 * did not is tried on top of it, and taken by Metropolis' rule. Where walks change other parts of a schedule,
 * nearly all of their steps count. With walks that meet seldom and go on from the best alone, most are lost.
 * Every walk has an evaluator of its own, so the result depends on the number of walks and not on how many
 * threads make them. The scheme is berth's own. For what is known of parallel annealing see D. R. Greening,
 * "Parallel simulated annealing techniques", Physica D 42, 1990. */
#include "anneal.h"

#include "screen.h"

enum { BLOCK = 64, MAX_DRAWS = 32, MOST_GAP = 512 };
enum { SCREENED_OPS = 20000 }; /* in graphs up to this size moves are screened */

#define FIRST_KEY (UINT32_C(1) << 31) /* far enough from both ends for moves */
#define COOLING 0.01                  /* last temperature of a run / first one */

typedef struct walks walks;

/* Room for a placement and, where there are keys, for them. */
typedef struct spot {
	int32_t *op_dev;
	uint32_t *op_key;
} spot;

struct berth_annealer {
	berth_search *s;
	const berth_walk_style *style;
	walks *walks;      /* NULL: it walks alone */
	double first_temperature; /* of the run */
	int64_t n_steps, done;    /* of the run */
	berth_moves moves;
	bool screens;
	berth_screen screen;
	berth_screen_base base; /* log NULL: moves are not screened */
	berth_rng rng;
	int32_t block_size; /* candidates drawn ahead */
	double key_share;   /* of the moves that change a key; 0: there are no keys */
	uint32_t key_gap;   /* between neighbours at first */
	spot now;           /* the present placement */
	berth_score score;
	berth_score best;         /* of the run */
	spot best_spot;           /* its placement, where there are keys */
	spot trials;              /* [block_size][n_ops] */
	berth_keyed trial[BLOCK]; /* the same */
	berth_score trial_score[BLOCK];
	int64_t limit_ns[BLOCK]; /* latency above which it is not taken */
	double slack[BLOCK];     /* how much worse one may be, relative to the present value */
	berth_rng rng_after[BLOCK];
	berth_mix mix, mix_after[BLOCK]; /* of kinds of moves, where they are screened */
	bool screened[BLOCK];
	berth_screen_kind kind[BLOCK]; /* of those */
};

static berth_status new_spot(berth_arena *mem, size_t n, bool keys, spot *out, berth_err *err)
{
	BERTH_TRY_NEW(mem, n, err, out->op_dev);
	return keys ? BERTH_NEW(mem, out->op_key, n, err) : BERTH_OK;
}

static berth_keyed keyed(spot x)
{
	return (berth_keyed){x.op_dev, x.op_key};
}

static spot trial_at(const berth_annealer *a, int32_t i)
{
	int32_t n_ops = a->s->p->n_ops;
	return (spot){BERTH_ROW(a->trials.op_dev, i, n_ops),
	              a->trials.op_key ? BERTH_ROW(a->trials.op_key, i, n_ops) : NULL};
}

static void copy_spot(const berth_annealer *a, spot to, berth_keyed from)
{
	BERTH_COPY(to.op_dev, from.op_dev, a->s->p->n_ops);
	if (to.op_key)
		BERTH_COPY(to.op_key, from.op_key, a->s->p->n_ops);
}

/* Metropolis' rule with the random number drawn beforehand: u < exp(-delta / T). Memory goes before the
 * value. */
static bool accepts(void *ctx, int32_t i, berth_score score)
{
	const berth_annealer *a = ctx;
	if (score.excess != a->score.excess)
		return score.excess < a->score.excess;
	return score.value <= a->score.value * (1 + a->slack[i]);
}

/* An operator goes before or behind another one of its device, one that is not far from it in the
 * topological order. */
static bool draw_key(void *ctx, int32_t *moved, uint32_t *key)
{
	berth_annealer *a = ctx;
	const berth_graph *g = a->s->p->g;
	uint32_t n = (uint32_t)g->n_ops;
	for (int tries = 0; tries < MAX_DRAWS; tries++) {
		int32_t op = (int32_t)berth_rng_below(&a->rng, n),
			far = (int32_t)exp2(berth_rng_unit(&a->rng) * log2(n)),
			jump = 1 + (int32_t)berth_rng_below(&a->rng, a->key_gap / 2 + 1);
		int32_t at = g->op_topo[op] + (berth_rng_next(&a->rng) & 1 ? far : -far);
		if (at < 0 || at >= g->n_ops || a->now.op_dev[g->topo_op[at]] != a->now.op_dev[op])
			continue;
		*moved = op;
		*key = a->now.op_key[g->topo_op[at]] + (uint32_t)(berth_rng_next(&a->rng) & 1 ? jump : -jump);
		return true;
	}
	return false;
}

/* How much worse trial i may be. */
static void draw_slack(berth_annealer *a, int32_t i, double temperature)
{
	a->slack[i] = -log(1 - berth_rng_unit(&a->rng)) * temperature;
	a->limit_ns[i] =
		berth_score_feasible(a->score)
			? berth_eval_latency_limit(&a->s->eval[0], a->score.value * (1 + a->slack[i]))
			: INT64_MAX;
}

static void draw(berth_annealer *a, int32_t i, double temperature)
{
	spot trial = trial_at(a, i);
	copy_spot(a, trial, keyed(a->now));
	a->screened[i] = false;
	if (a->key_share > 0 && berth_rng_unit(&a->rng) < a->key_share) {
		uint32_t *trial_key = trial.op_key;
		int32_t op;
		uint32_t key;
		if (a->base.log && a->screen.has_paths)
			berth_screen_draw_key(&a->screen, &a->base, draw_key, a, trial_key);
		else if (draw_key(a, &op, &key))
			trial_key[op] = key;
	} else if (a->base.log) {
		a->screened[i] = true;
		a->kind[i] = berth_mix_draw(&a->mix, &a->rng);
		berth_screen_draw(&a->screen, a->kind[i], &a->base, &a->moves, &a->rng, trial.op_dev);
	} else
		berth_moves_draw(&a->moves, a->style->largest_move, MAX_DRAWS, &a->rng, trial.op_dev);
	draw_slack(a, i, temperature);
	a->rng_after[i] = a->rng;
	a->mix_after[i] = a->mix;
}

/* The best of the run is the present placement where that is better; without its placement where there are no
 * keys: then the search keeps that. Returns by how much the logarithm of its value fell. */
static double keep_best(berth_annealer *a)
{
	berth_score before = a->best;
	if (!berth_score_less(a->score, before))
		return 0;
	a->best = a->score;
	if (a->now.op_key)
		copy_spot(a, a->best_spot, keyed(a->now));
	return berth_score_feasible(before) && a->score.value > 0 ? log(before.value / a->score.value) : 0;
}

/* Evaluations that may be made, at most want; where there are keys one is left for the offer of the best. */
static int32_t annealer_budget_left(const berth_annealer *a, int32_t want)
{
	int32_t kept = a->now.op_key != NULL;
	int32_t left = (int32_t)berth_search_budget_left(a->s, want + kept) - kept;
	return left > 0 ? left : 0;
}

/* The temperature of the run after so many steps. */
static double annealer_temperature(const berth_annealer *a, int64_t done)
{
	return a->first_temperature * pow(COOLING, (double)done / (double)a->n_steps);
}

static void take_trial(berth_annealer *a, int32_t i)
{
	a->score = a->trial_score[i];
	copy_spot(a, a->now, a->trial[i]);
}

/* At most `most` steps, after the first `done` of the run: up to the first that is accepted. Each has the
 * temperature of its place, however many are drawn ahead. Returns the steps made; 0: no budget left. */
static int64_t annealer_steps(berth_annealer *a, int64_t done, int64_t most)
{
	int64_t n = most;
	int32_t left = annealer_budget_left(a, n < a->block_size ? (int32_t)n : a->block_size);
	if (left == 0)
		return 0;
	/* Moves are screened from a base that is the present placement, whatever other workers' bases
	 * are. */
	a->base = (berth_screen_base){NULL, a->now.op_dev, a->now.op_key};
	if (a->screens && berth_score_feasible(a->score))
		a->base.log = berth_eval_base(&a->s->eval[0], keyed(a->now));
	for (int32_t i = 0; i < left; i++)
		draw(a, i, annealer_temperature(a, done + i));
	int32_t taken = berth_search_offer_first(a->s, left, keyed(a->now), a->trial, a->limit_ns,
	                                         a->trial_score, accepts, a);
	if (taken == left)
		return left;
	a->rng = a->rng_after[taken];
	take_trial(a, taken);
	double fall = keep_best(a);
	a->mix = a->mix_after[taken];
	if (a->screened[taken])
		berth_mix_gain(&a->mix, a->kind[taken], fall);
	return taken + 1;
}

/* Take trial 0, begun and then changed, if it is accepted. One evaluation. */
static void annealer_try(berth_annealer *a, double temperature)
{
	draw_slack(a, 0, temperature);
	if (berth_search_offer_first(a->s, 1, keyed(a->now), a->trial, a->limit_ns, a->trial_score, accepts,
	                             a) == 0)
		take_trial(a, 0);
}

/* ---- walks side by side ---- */

#define TURN_NS 2e7 /* of a walk, in counted work */

enum { LEAST_TURN = 8, MOST_TOGETHER = 128 }; /* steps of a walk; of all walks in a turn */

typedef struct walk {
	berth_search s; /* for its evaluator and its best */
	berth_annealer *a;
	int64_t budget; /* steps that it may make in this turn */
} walk;

struct walks {
	int32_t n;
	int64_t turn;     /* steps of each */
	walk *walk;       /* [n] */
	spot old;         /* where the turn began */
};

/* Walks for an annealer, as many as its search's configuration asks for, 2 and up. key_share and plain as in
 * berth_annealer_new. In mem: each takes what an annealer and its evaluator take. Fails: BERTH_ENOMEM. */
static berth_status walks_new(const berth_annealer *a, double key_share, bool plain, berth_rng rng,
                              berth_arena *mem, walks **out, berth_err *err)
{
	const berth_problem *p = a->s->p;
	berth_search_cfg cfg = {.objective = a->s->cfg.objective, .evaluations = BERTH_UNLIMITED};
	walks *w;
	BERTH_TRY_NEW(mem, 1, err, w);
	w->n = a->s->cfg.walks;
	/* Where more is changed at once, more of it does not go together. */
	int32_t n_walks = w->n;
	double most = MOST_TOGETHER / n_walks, n = TURN_NS / berth_search_evaluation_ns(p);
	n = n < most ? n : most;
	w->turn = n < LEAST_TURN ? LEAST_TURN : (int64_t)n;
	BERTH_TRY_NEW(mem, w->n, err, w->walk);
	BERTH_TRY(new_spot(mem, (size_t)p->n_ops, key_share > 0, &w->old, err));
	for (int32_t i = 0; i < w->n; i++) {
		walk *x = &w->walk[i];
		berth_rng own = berth_rng_seed(berth_rng_next(&rng), (uint64_t)i);
		BERTH_TRY(berth_search_new(p, &cfg, mem, &x->s, err));
		BERTH_TRY(berth_annealer_new(&x->s, key_share, plain, own, mem, &x->a, err));
	}
	*out = w;
	return BERTH_OK;
}

static void make_steps(void *ctx, int32_t i, int32_t worker)
{
	const berth_annealer *a = ctx;
	walk *w = &a->walks->walk[i];
	(void)worker;
	copy_spot(a, w->a->now, keyed(a->now));
	w->a->score = a->score;
	w->a->first_temperature = a->first_temperature;
	w->a->n_steps = a->n_steps;
	w->a->best = a->best; /* placements come with what is better only */
	w->s.best = a->s->best;
	w->s.bound = a->s->bound;
	w->s.cfg.gap = a->s->cfg.gap;
	w->s.evaluations = 0;
	w->s.stopped = false;
	for (int64_t made = 0, n = 1; made < w->budget && n > 0; made += n)
		n = annealer_steps(w->a, a->done + made * a->walks->n, w->budget - made);
}

/* The index of the walk that came to the best. */
static int32_t go_on_from_best(berth_annealer *a)
{
	const walk *list = a->walks->walk;
	int32_t best = 0;
	for (int32_t i = 1; i < a->walks->n; i++)
		if (berth_score_less(list[i].a->score, list[best].a->score))
			best = i;
	copy_spot(a, a->now, keyed(list[best].a->now));
	a->score = list[best].a->score;
	return best;
}

/* What a walk changed and the present placement did not, on top of it. */
static void add_changes(berth_annealer *a, const berth_annealer *from)
{
	const walks *w = a->walks;
	spot trial = trial_at(a, 0);
	copy_spot(a, trial, keyed(a->now));
	for (int32_t op = 0; op < a->s->p->n_ops; op++) {
		if (a->now.op_dev[op] == w->old.op_dev[op])
			trial.op_dev[op] = from->now.op_dev[op];
		if (trial.op_key && a->now.op_key[op] == w->old.op_key[op])
			trial.op_key[op] = from->now.op_key[op];
	}
	annealer_try(a, annealer_temperature(a, a->done));
}

static void come_together(berth_annealer *a)
{
	const walks *w = a->walks;
	copy_spot(a, w->old, keyed(a->now));
	int32_t best = go_on_from_best(a);
	for (int32_t k = 1; k < w->n && annealer_budget_left(a, 1) > 0; k++)
		add_changes(a, w->walk[(best + k) % w->n].a);
	keep_best(a);
}

/* The next turn of the annealer's run. Returns the steps made, all walks together; 0: no budget left. Each
 * step is an evaluation, and each other walk's changes are one. Where the budget ends within it the walks
 * make their steps one walk after the other, as far as it goes. */
static int64_t walks_turn(berth_annealer *a)
{
	walks *w = a->walks;
	int64_t n = (a->n_steps - a->done + w->n - 1) / w->n, made = 0;
	n = n < w->turn ? n : w->turn;
	int64_t left = annealer_budget_left(a, (int32_t)(n * w->n + w->n - 1));
	if (left == 0)
		return 0;
	for (int32_t i = 0; i < w->n; i++) {
		w->walk[i].budget = left < n ? left : n;
		left -= w->walk[i].budget;
		made += w->walk[i].budget;
	}
	berth_pool_run(a->s->cfg.pool, w->n, make_steps, a);
	for (int32_t i = 0; i < w->n; i++) {
		/* The best that a walk saw in this turn. */
		a->s->evaluations += w->walk[i].s.evaluations;
		if (!a->now.op_key) {
			berth_search_keep(a->s, w->walk[i].s.best, w->walk[i].s.best_dev, NULL);
		} else if (berth_score_less(w->walk[i].a->best, a->best)) {
			a->best = w->walk[i].a->best;
			copy_spot(a, a->best_spot, keyed(w->walk[i].a->best_spot));
		}
	}
	come_together(a);
	return made;
}

/* ---- a run ---- */

berth_status berth_annealer_new(berth_search *s, double key_share, bool plain, berth_rng rng,
                                berth_arena *mem, berth_annealer **out, berth_err *err)
{
	int32_t ahead = berth_pool_workers(s->cfg.pool);
	berth_annealer *a;
	BERTH_TRY_NEW(mem, 1, err, a);
	a->s = s;
	a->style = berth_walk_style_of(s);
	a->rng = rng;
	a->key_share = key_share;
	a->key_gap = (uint32_t)(s->p->n_ops < (1 << 30) / MOST_GAP ? MOST_GAP : (1 << 30) / s->p->n_ops);
	a->block_size = ahead < BLOCK ? ahead : BLOCK;
	BERTH_TRY(berth_moves_new(s->p, mem, &a->moves, err));
	BERTH_TRY(berth_search_prepare_walk(s, err));
	a->screens = !plain && berth_screen_knows(&s->cfg.objective) && s->p->n_ops <= SCREENED_OPS;
	if (a->screens) {
		BERTH_TRY(berth_eval_want_log(&s->eval[0], s->mem, err));
		BERTH_TRY(berth_screen_new(s->p, &s->cfg.objective, a->style, mem, &a->screen, err));
		a->screen.fewest = s->candidates;
		berth_mix_begin(&a->mix, a->style->share);
	}
	size_t n_ops = (size_t)a->s->p->n_ops;
	bool keys = a->key_share > 0;
	BERTH_TRY(new_spot(mem, n_ops, keys, &a->now, err));
	BERTH_TRY(new_spot(mem, (size_t)a->block_size * n_ops, keys, &a->trials, err));
	for (int32_t i = 0; i < a->block_size; i++)
		a->trial[i] = keyed(trial_at(a, i));
	BERTH_TRY(keys ? new_spot(mem, n_ops, true, &a->best_spot, err) : BERTH_OK);
	if (s->cfg.walks > 1)
		BERTH_TRY(walks_new(a, key_share, plain, rng, mem, &a->walks, err));
	*out = a;
	return BERTH_OK;
}

static bool take_any(void *ctx, int32_t i, berth_score score)
{
	(void)ctx;
	(void)i;
	(void)score;
	return true;
}

berth_keyed berth_anneal_best(const berth_annealer *a, berth_score *score)
{
	*score = a->best;
	return keyed(a->best_spot);
}

bool berth_anneal_cool(berth_annealer *a, berth_keyed from, double first_temperature, int64_t n_steps)
{
	int64_t n;
	a->best = berth_score_worst();
	if (annealer_budget_left(a, 1) == 0)
		return false;
	/* The incumbent may have its value from an order of its own. */
	const berth_problem *p = a->s->p;
	berth_keyed x = keyed(a->now);
	BERTH_COPY(a->now.op_dev, from.op_dev, p->n_ops);
	for (int32_t op = 0; op < p->n_ops && a->now.op_key; op++)
		a->now.op_key[op] =
			from.op_key ? from.op_key[op] : FIRST_KEY + a->key_gap * (uint32_t)p->op_prio[op];
	berth_search_offer_first(a->s, 1, x, &x, NULL, &a->score, take_any, NULL);
	keep_best(a);
	a->first_temperature = first_temperature;
	a->n_steps = n_steps;
	for (a->done = 0; a->done < n_steps; a->done += n)
		if ((n = a->walks ? walks_turn(a) : annealer_steps(a, a->done, n_steps - a->done)) == 0)
			return false;
	return true;
}
