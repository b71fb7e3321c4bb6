/* Annealing for the smallest largest load (S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, Science 220, 1983) on
 * the incremental loads of max_load.h. What is minimised is a power mean of the loads, as the largest
 * alone says nothing of most moves. */
#include "max_load_search.h"

#include "cost_model.h"

enum { CHECK_EVERY = 4096, MOST_MOVED = 64, FIRST_RUN = 1 << 17, N_HOT = 3 };
#define POWER 24.0
#define COOLING 0.01 /* last temperature of a run / first one */
enum { MOVES_AN_EVALUATION = 16, FIRST_TURN = 1 << 15 };
static const double hot[N_HOT] = {0.001, 0.003, 0.01}; /* first temperatures, relative to the value */

typedef struct walk {
	berth_search *s;
	berth_max_load *m;
	berth_rng rng;
	int32_t n_devs;
	double *saved_s;       /* [n_devs] loads before the step */
	int32_t moved[MOST_MOVED], from[MOST_MOVED], n_moved; /* of the step */
	double energy, scale;  /* of the present placement; the value that it is relative to */
	double best;           /* largest load of the best placement so far */
	int32_t *op_dev;       /* [n_ops] scratch */
	int32_t *best_item_dev;
	bool in_turn;          /* within the budget of the search, a move a part of an evaluation */
} walk;

static double largest(const walk *w)
{
	double most = 0;
	for (int32_t d = 0; d < w->n_devs; d++)
		most = fmax(most, w->m->load_s[d]);
	return most;
}

/* The power mean of the loads, up to a constant factor, relative to scale. */
static double energy_of(const walk *w)
{
	double most = largest(w), sum = 0;
	if (most <= 0)
		return 0;
	for (int32_t d = 0; d < w->n_devs; d++) {
		double x = w->m->load_s[d] / most, x2 = x * x, x4 = x2 * x2, x8 = x4 * x4;
		sum += x8 * x8 * x8; /* POWER */
	}
	return most / w->scale * (1 + log(sum) / POWER);
}

/* ---- a step ---- */

static bool put(walk *w, int32_t item, int32_t dev)
{
	if (w->n_moved == MOST_MOVED || w->m->item_dev[item] == dev || !berth_max_load_fits(w->m, item, dev))
		return false;
	w->moved[w->n_moved] = item;
	w->from[w->n_moved++] = w->m->item_dev[item];
	berth_max_load_move(w->m, item, dev);
	return true;
}

static int32_t any_item(walk *w)
{
	return (int32_t)berth_rng_below(&w->rng, (uint32_t)w->m->n_items);
}

/* Mostly where a neighbour is, so that tensors stay whole. */
static int32_t draw_dev(walk *w, int32_t item)
{
	const berth_max_load *m = w->m;
	uint32_t near = (uint32_t)(m->near_off[item + 1] - m->near_off[item]);
	if (near && berth_rng_below(&w->rng, 4) != 0) {
		int32_t dev = m->item_dev[m->near_item[m->near_off[item] +
		                                       (int32_t)berth_rng_below(&w->rng, near)]];
		if (dev != m->item_dev[item])
			return dev;
	}
	return (int32_t)berth_rng_below(&w->rng, (uint32_t)w->n_devs);
}

/* An item and, drawn from it by random neighbours on its device, up to n - 1 others. */
static void move_set(walk *w, int32_t item, int32_t dev, int32_t n)
{
	const berth_max_load *m = w->m;
	int32_t home = m->item_dev[item];
	if (!put(w, item, dev))
		return;
	for (int32_t tries = 0; tries < 2 * n && w->n_moved < n; tries++) {
		int32_t from = w->moved[berth_rng_below(&w->rng, (uint32_t)w->n_moved)];
		uint32_t near = (uint32_t)(m->near_off[from + 1] - m->near_off[from]);
		if (near == 0)
			return;
		int32_t next = m->near_item[m->near_off[from] + (int32_t)berth_rng_below(&w->rng, near)];
		if (m->item_dev[next] == home)
			put(w, next, dev);
	}
}

static void keep_best(walk *w)
{
	double value = largest(w);
	if (!(value < w->best * (1 - 1e-12)))
		return;
	w->best = value;
	BERTH_COPY(w->best_item_dev, w->m->item_dev, w->m->n_items);
}

static void make_step(walk *w, double temperature)
{
	BERTH_COPY(w->saved_s, w->m->load_s, w->n_devs);
	int32_t item = any_item(w), dev = draw_dev(w, item), home = w->m->item_dev[item];
	uint32_t kind = berth_rng_below(&w->rng, 8);
	w->n_moved = 0;
	if (kind < 4) {
		put(w, item, dev);
	} else if (kind < 6) {
		int32_t other = any_item(w), there = w->m->item_dev[other];
		if (put(w, item, there))
			put(w, other, home);
	} else {
		move_set(w, item, dev, 2 << berth_rng_below(&w->rng, 5));
	}
	if (w->n_moved == 0)
		return;
	double energy = energy_of(w), worse = energy - w->energy;
	if (worse > 0 && !(berth_rng_unit(&w->rng) < exp(-worse / temperature))) {
		while (w->n_moved > 0) {
			w->n_moved--;
			berth_max_load_move(w->m, w->moved[w->n_moved], w->from[w->n_moved]);
		}
		BERTH_COPY(w->m->load_s, w->saved_s, w->n_devs);
		return;
	}
	w->energy = energy;
	if (worse < 0)
		keep_best(w);
}

/* ---- runs ---- */

/* Start from the best; loads without the rounding of moves. */
static void restart(walk *w)
{
	for (int32_t op = 0; op < w->s->p->n_ops; op++)
		w->op_dev[op] = w->best_item_dev[w->m->op_item[op]];
	berth_max_load_place(w->m, w->op_dev);
	w->scale = largest(w) > 0 ? largest(w) : 1;
	w->energy = energy_of(w);
}

/* Moves that a turn may make now, with their evaluations counted. The last evaluation is left for the offer
 * of the best. */
static int64_t allowed(walk *w)
{
	int64_t left = berth_search_budget_left(w->s, CHECK_EVERY / MOVES_AN_EVALUATION + 1) - 1;
	left = left > 0 ? left : 0;
	w->s->evaluations += left;
	return left * MOVES_AN_EVALUATION;
}

/* Moves that count as an evaluation each, whatever the budget; false: stopped. */
static bool count(walk *w, int64_t moves)
{
	w->s->evaluations += moves;
	berth_search_budget_left(w->s, 1);
	return !w->s->stopped;
}

/* Cool over n steps; false: stopped. */
static bool cool(walk *w, double temperature, int64_t n)
{
	double factor = pow(COOLING, (double)CHECK_EVERY / (double)n);
	for (int64_t done = 0; done < n; done += CHECK_EVERY) {
		int64_t some = w->in_turn ? allowed(w) : CHECK_EVERY;
		for (int64_t k = 0; k < some; k++)
			make_step(w, temperature);
		if (some < CHECK_EVERY || (!w->in_turn && !count(w, some)))
			return false;
		temperature *= factor;
	}
	return true;
}

static void offer_best(walk *w)
{
	restart(w);
	berth_max_load_devs(w->m, w->op_dev);
	berth_search_offer(w->s, w->op_dev, NULL);
}

static berth_status new_walk(walk *w, const int32_t *from_dev, berth_arena *tmp, berth_err *err)
{
	size_t n_items = (size_t)w->m->n_items;
	BERTH_TRY_NEW(tmp, w->n_devs, err, w->saved_s);
	BERTH_TRY_NEW(tmp, w->s->p->n_ops, err, w->op_dev);
	BERTH_TRY_NEW(tmp, n_items, err, w->best_item_dev);
	berth_max_load_place(w->m, from_dev);
	BERTH_COPY(w->best_item_dev, w->m->item_dev, n_items);
	w->best = largest(w);
	return BERTH_OK;
}

/* Runs in turn at the temperatures, each turn twice as long. */
static berth_status search(walk *w, int64_t moves, berth_arena *tmp, berth_err *err)
{
	bool going = true;
	int64_t n = FIRST_RUN;
	BERTH_TRY(new_walk(w, w->s->best_dev, tmp, err));
	for (int k = 0; going && moves > 0; k++) {
		n = n < moves ? n : moves;
		restart(w);
		going = cool(w, hot[k % N_HOT], n);
		moves -= n;
		n *= k % N_HOT == N_HOT - 1 ? 2 : 1;
	}
	offer_best(w);
	return BERTH_OK;
}

berth_status berth_max_load_search(berth_search *s, berth_max_load *m, int64_t moves, berth_arena *tmp,
                                   berth_err *err)
{
	walk w = {.s = s,
	          .m = m,
	          .rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_SEARCH),
	          .n_devs = s->p->n_devs};
	BERTH_SCRATCH(tmp);
	return m->n_items ? search(&w, moves, tmp, err) : BERTH_OK;
}

/* ---- turns ---- */

bool berth_max_load_knows(const berth_search *s)
{
	const berth_objective *o = &s->cfg.objective;
	return berth_cost_model_sums(s->p->s->cost_model) && !s->p->coupled &&
	       berth_objective_is(o, BERTH_THROUGHPUT) && !berth_objective_has_limits(o);
}

berth_max_load_turns berth_max_load_turns_new(const berth_search *s)
{
	return (berth_max_load_turns){.rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_SEARCH),
	                              .moves = FIRST_TURN};
}

static berth_status take_turn(berth_max_load_turns *t, berth_search *s, bool *ended, berth_arena *tmp,
                              berth_err *err)
{
	berth_max_load m;
	walk w = {.s = s, .m = &m, .rng = t->rng, .n_devs = s->p->n_devs, .in_turn = true};
	BERTH_TRY(berth_max_load_new(s->p, s->best.value * (1 + 1e-9), tmp, tmp, &m, err));
	if (m.n_items == 0)
		return BERTH_OK;
	BERTH_TRY(new_walk(&w, s->best_dev, tmp, err));
	restart(&w);
	*ended = !cool(&w, hot[t->at % N_HOT], t->moves);
	offer_best(&w);
	t->rng = w.rng;
	if (++t->at % N_HOT == 0 && t->moves < INT64_MAX / 4)
		t->moves *= 2;
	return BERTH_OK;
}

berth_status berth_max_load_turn(berth_max_load_turns *t, berth_search *s, bool *ended, berth_arena *tmp,
                                 berth_err *err)
{
	BERTH_SCRATCH(tmp);
	*ended = berth_search_budget_left(s, 1) == 0;
	return *ended ? BERTH_OK : take_turn(t, s, ended, tmp, err);
}
