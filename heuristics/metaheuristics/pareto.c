/* First points, searches for one objective and for weighted sums, then walks, each in a direction of its
 * own. The front keeps what nothing else beats in both objectives. */
#include "pareto.h"

#include "anneal.h"
#include "coloc.h"
#include "moves.h"
#include "registry.h"

enum {
	N_DIRECTIONS = 24,
	FEWEST_DIRECTIONS = 6,
	N_SUMS = 3,
	PARTS = 10, /* of the budget: a search for one objective has one */
	FIRST_ROUND = 100,
	SPARE = 4,
	MAX_DRAWS = 32
};

#define FIRST_TEMPERATURE 0.05 /* of the range of the front */
#define COOLING 0.01
#define LARGEST_MOVE 0.25      /* of all colocation groups */
#define SUM_SHARE 0.05 /* of the weighted sum in a distance, so that ties in the larger term are broken */

/* Slots for points; op_order is set where a point has one. */
typedef struct front {
	berth_pareto_point *point; /* [n] by rising value[0] */
	int32_t n, most;
} front;

typedef struct walker {
	int32_t *op_dev; /* [n_ops] where it stands */
	double excess, value[2];
	double weight[2];
	double slack;    /* of the present draw */
} walker;

typedef struct state {
	const berth_problem *p;
	const berth_pareto_cfg *cfg;
	berth_search clock;  /* counts evaluations and knows when to stop */
	berth_eval *eval;    /* [workers] */
	front f;
	walker walk[N_DIRECTIONS];
	int32_t n_walks;     /* of this round */
	int32_t *trial;      /* [N_DIRECTIONS][n_ops] */
	double trial_excess[N_DIRECTIONS], trial_value[N_DIRECTIONS][2];
	double low[2], range[2]; /* of the front, for distances */
	berth_moves moves;
	berth_rng rng;
} state;

/* ---- the front ---- */

/* How far apart the neighbours of a point are, as a share of the front. The ends count as infinitely far. */
static double crowding(const front *f, int32_t i)
{
	if (i == 0 || i == f->n - 1)
		return INFINITY;
	const double *a = f->point[i - 1].value, *b = f->point[i + 1].value, *first = f->point[0].value,
		     *last = f->point[f->n - 1].value;
	double wide = last[0] - first[0], high = first[1] - last[1];
	return (wide > 0 ? (b[0] - a[0]) / wide : 0) + (high > 0 ? (a[1] - b[1]) / high : 0);
}

static void remove_at(front *f, int32_t i)
{
	berth_pareto_point gone = f->point[i]; /* its arrays are used again */
	BERTH_COPY(f->point + i, f->point + i + 1, f->n - 1 - i);
	f->point[--f->n] = gone;
}

static void thin(front *f, int32_t most)
{
	while (f->n > most) {
		int32_t least = 0;
		for (int32_t i = 1; i < f->n; i++)
			if (crowding(f, i) < crowding(f, least))
				least = i;
		remove_at(f, least);
	}
}

/* Place of a point with these values; -1: the front has one that is as good in both. */
static int32_t place_of(const front *f, const double value[2])
{
	int32_t at = 0;
	while (at < f->n && f->point[at].value[0] < value[0])
		at++;
	if (at > 0 && f->point[at - 1].value[1] <= value[1])
		return -1;
	return at < f->n && f->point[at].value[0] == value[0] && f->point[at].value[1] <= value[1] ? -1 : at;
}

/* Keep a feasible placement if it belongs to the front. There is always one slot more than `most`. */
static void offer(state *s, const double value[2], const int32_t *op_dev, const int32_t *order,
                  const char *method)
{
	front *f = &s->f;
	int32_t at = place_of(f, value);
	size_t bytes = (size_t)s->p->n_ops * sizeof *op_dev;
	if (at < 0)
		return;
	while (at < f->n && f->point[at].value[1] >= value[1])
		remove_at(f, at);
	berth_pareto_point fresh = f->point[f->n];
	BERTH_COPY(f->point + at + 1, f->point + at, f->n - at);
	f->n++;
	fresh.value[0] = value[0];
	fresh.value[1] = value[1];
	fresh.method = method;
	f->point[at] = fresh;
	if (bytes)
		memcpy(fresh.op_dev, op_dev, bytes);
	if (bytes && order)
		memcpy(fresh.op_order, order, bytes);
	else if (bytes)
		fresh.op_order[0] = -1; /* none */
	thin(f, f->most);
}

static void measure(state *s)
{
	const berth_pareto_point *a = &s->f.point[0], *b = &s->f.point[s->f.n - 1];
	if (!s->f.n)
		return;
	s->low[0] = a->value[0];
	s->low[1] = b->value[1];
	s->range[0] = fmax(b->value[0] - a->value[0], 1e-3 * fabs(a->value[0]));
	s->range[1] = fmax(a->value[1] - b->value[1], 1e-3 * fabs(b->value[1]));
	for (int k = 0; k < 2; k++)
		s->range[k] = s->range[k] > 0 ? s->range[k] : 1;
}

/* Augmented weighted Tchebycheff distance to the best values seen. */
static double distance(const state *s, const walker *w, const double value[2])
{
	double a = w->weight[0] * (value[0] - s->low[0]) / s->range[0],
	       b = w->weight[1] * (value[1] - s->low[1]) / s->range[1];
	return fmax(a, b) + SUM_SHARE * (a + b);
}

/* ---- evaluation ---- */

static double score(state *s, int32_t worker, const int32_t *op_dev, const int32_t *order, double value[2])
{
	berth_sim_result r;
	double excess = berth_eval_result(&s->eval[worker], op_dev, order, &r);
	for (int k = 0; k < 2 && r.runs; k++) {
		value[k] = berth_objective_value(&s->cfg->objective[k], &r);
		excess += berth_objective_excess(&s->cfg->objective[k], &r);
	}
	return excess;
}

static void consider(state *s, const int32_t *op_dev, const int32_t *order, const char *method)
{
	double value[2];
	s->clock.evaluations++;
	if (!(score(s, 0, op_dev, order, value) > 0))
		offer(s, value, op_dev, order, method);
}

static void score_trial(void *ctx, int32_t i, int32_t worker)
{
	state *s = ctx;
	s->trial_excess[i] = score(s, worker, BERTH_ROW(s->trial, i, s->p->n_ops), NULL, s->trial_value[i]);
}

/* ---- first points ---- */

/* Sum of both objectives with a share for the first, each as a fraction of what it is on the front so far. */
static bool mix(const state *s, double share, berth_objective *out)
{
	char text[2 * BERTH_OBJECTIVE_TEXT] = "";
	double weight[BERTH_N_METRICS] = {0};
	size_t n = 0;
	for (int k = 0; k < 2; k++)
		for (int m = 0; m < BERTH_N_METRICS; m++) {
			const berth_objective *o = &s->cfg->objective[k];
			double own = o->sums[m] ? o->weight[m] : berth_objective_is(o, (berth_metric)m);
			weight[m] += own * (k ? 1 - share : share) / fmax(s->low[k], 1e-30);
		}
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (weight[m] > 0)
			n += (size_t)snprintf(text + n, sizeof text - n, "%s%.17g*%s", n ? "+" : "",
			                      weight[m], berth_metrics[m].name);
	return berth_objective_parse(text, out, NULL) == BERTH_OK;
}

static berth_status start_with(state *s, const berth_objective *objective, const berth_method *m,
                              berth_arena *tmp, berth_err *err)
{
	berth_search sub;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_method_run_apart(m, &s->clock, objective, &sub, tmp, err));
	if (!isfinite(sub.best.excess))
		return BERTH_OK;
	s->clock.evaluations += sub.evaluations;
	consider(s, sub.best_dev, NULL, m->name);
	if (sub.best_has_order)
		consider(s, sub.best_dev, sub.best_order, m->name);
	return BERTH_OK;
}

static berth_status start_at(state *s, const berth_objective *objective, berth_arena *tmp, berth_err *err)
{
	berth_seeds_begin(&s->clock);
	for (int32_t i = 0; i < berth_n_seeds; i++) {
		if (!berth_seeds_may_run(&s->clock, i))
			continue;
		BERTH_TRY(start_with(s, objective, berth_seeds[i].method, tmp, err));
		berth_seeds_have_run(&s->clock, i);
	}
	berth_seeds_end(&s->clock);
	measure(s);
	return BERTH_OK;
}

/* ---- searches for one objective ---- */

/* The search that the method makes for an objective with its part of the budget. */
static berth_status search_for(state *s, const berth_objective *objective, berth_arena *mem, berth_arena *tmp,
                               berth_err *err)
{
	const berth_method *m = s->cfg->method ? s->cfg->method : &berth_method_anneal;
	berth_search_cfg cfg = s->cfg->search;
	berth_search sub;
	cfg.objective = *objective;
	cfg.evaluations = cfg.evaluations < BERTH_UNLIMITED ? cfg.evaluations / PARTS : cfg.evaluations;
	cfg.time_s /= PARTS;
	cfg.cpu_s /= PARTS;
	cfg.progress = NULL;
	cfg.time_from = cfg.cpu_from = 0;
	BERTH_TRY(berth_search_new(s->p, &cfg, mem, &sub, err));
	BERTH_TRY(berth_limits_first(m, &sub, tmp, err));
	BERTH_TRY(berth_method_run(m, &sub, tmp, err));
	s->clock.evaluations += sub.evaluations;
	if (isfinite(sub.best.excess))
		consider(s, sub.best_dev, berth_search_order(&sub), m->name);
	return BERTH_OK;
}

static berth_status search_apart(state *s, const berth_objective *objective, berth_arena *tmp, berth_err *err)
{
	berth_arena mem;
	berth_arena_init(&mem, tmp->hook);
	berth_status st = search_for(s, objective, &mem, tmp, err);
	berth_arena_free(&mem);
	measure(s);
	return st;
}

/* One of the objectives, under the limits of both. */
static berth_objective limited(const state *s, int k)
{
	berth_objective o = s->cfg->objective[k];
	const berth_objective *other = &s->cfg->objective[!k];
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (other->limits[m] && !(o.limits[m] && o.most[m] <= other->most[m])) {
			o.limits[m] = true;
			o.most[m] = other->most[m];
		}
	return o;
}

/* ---- walks ---- */

static bool accepts(const state *s, int32_t i)
{
	const walker *w = &s->walk[i];
	if (s->trial_excess[i] != w->excess)
		return s->trial_excess[i] < w->excess;
	return distance(s, w, s->trial_value[i]) <= distance(s, w, w->value) + w->slack;
}

/* One step of all walkers; false: no budget left. */
static bool step(state *s, double temperature)
{
	int32_t n = (int32_t)berth_search_budget_left(&s->clock, s->n_walks);
	for (int32_t i = 0; i < n; i++) {
		size_t n_ops = (size_t)s->p->n_ops;
		int32_t *trial = BERTH_ROW(s->trial, i, n_ops);
		BERTH_COPY(trial, s->walk[i].op_dev, n_ops);
		berth_moves_draw(&s->moves, LARGEST_MOVE, MAX_DRAWS, &s->rng, trial);
		s->walk[i].slack = -log(1 - berth_rng_unit(&s->rng)) * temperature;
	}
	berth_pool_run(s->cfg->search.pool, n, score_trial, s);
	s->clock.evaluations += n;
	for (int32_t i = 0; i < n; i++) {
		const int32_t *trial = BERTH_ROW(s->trial, i, s->p->n_ops);
		if (!(s->trial_excess[i] > 0))
			offer(s, s->trial_value[i], trial, NULL, "pareto");
		if (!accepts(s, i))
			continue;
		walker *w = &s->walk[i];
		BERTH_COPY(w->op_dev, trial, s->p->n_ops);
		memcpy(w->value, s->trial_value[i], sizeof w->value);
		w->excess = s->trial_excess[i];
	}
	return n == s->n_walks;
}

static void walk(state *s)
{
	s->n_walks = FEWEST_DIRECTIONS;
	for (int64_t steps = FIRST_ROUND; s->f.n > 0; steps += steps / 2) {
		/* Every walker to the point of the front that is nearest in its direction. */
		size_t bytes = (size_t)s->p->n_ops * sizeof *s->trial;
		measure(s);
		for (int32_t i = 0; i < s->n_walks; i++) {
			walker *w = &s->walk[i];
			double share = (double)i / (s->n_walks - 1);
			w->weight[0] = fmax(share, 1e-3);
			w->weight[1] = fmax(1 - share, 1e-3);
			const berth_pareto_point *best = &s->f.point[0];
			for (int32_t k = 1; k < s->f.n; k++)
				if (distance(s, w, s->f.point[k].value) < distance(s, w, best->value))
					best = &s->f.point[k];
			memcpy(w->op_dev, best->op_dev, bytes);
			memcpy(w->value, best->value, sizeof w->value);
			w->excess = 0;
		}
		for (int64_t k = 0; k < steps; k++)
			if (!step(s, FIRST_TEMPERATURE * pow(COOLING, (double)k / (double)steps)))
				return;
		s->n_walks = 2 * s->n_walks < N_DIRECTIONS ? 2 * s->n_walks : N_DIRECTIONS;
	}
}

/* ---- all of it ---- */

static berth_status new_state(state *s, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	int32_t most = s->cfg->most_points * SPARE;
	berth_search_cfg clock = s->cfg->search;
	BERTH_TRY(berth_objective_check(&s->cfg->objective[0], p, err));
	BERTH_TRY(berth_objective_check(&s->cfg->objective[1], p, err));
	clock.objective = (berth_objective){.text = ""};
	clock.progress = NULL;
	BERTH_TRY(berth_search_new(p, &clock, tmp, &s->clock, err));
	s->eval = s->clock.eval;
	for (int32_t w = 0; w < berth_pool_workers(clock.pool); w++)
		berth_sim_want_peaks(s->eval[w].sim,
		                     berth_objective_needs_peaks(&s->cfg->objective[0]) ||
		                             berth_objective_needs_peaks(&s->cfg->objective[1]));
	s->f.most = most;
	BERTH_TRY_NEW(mem, most + 1, err, s->f.point);
	for (int32_t i = 0; i <= most; i++) {
		BERTH_TRY_NEW(mem, p->n_ops, err, s->f.point[i].op_dev, s->f.point[i].op_order);
	}
	BERTH_TRY_NEW(tmp, (size_t)N_DIRECTIONS * (size_t)p->n_ops, err, s->trial);
	for (int32_t i = 0; i < N_DIRECTIONS; i++) {
		BERTH_TRY_NEW(tmp, p->n_ops, err, s->walk[i].op_dev);
	}
	s->rng = berth_rng_seed(s->cfg->search.seed, BERTH_STREAM_METHOD);
	return berth_moves_new(p, tmp, &s->moves, err);
}

static berth_status search(state *s, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(new_state(s, mem, tmp, err));
	if (s->p->n_ops == 0) {
		consider(s, s->trial, NULL, "pareto");
		s->f.point[0].op_order = NULL;
		return BERTH_OK;
	}
	/* Each method for each objective alone, then for sums between them. What must be evaluated to answer
	 * at all is counted but not limited. */
	berth_objective between;
	BERTH_TRY(start_at(s, &s->cfg->objective[0], tmp, err));
	BERTH_TRY(start_at(s, &s->cfg->objective[1], tmp, err));
	for (int i = 1; i <= N_SUMS && s->f.n && berth_search_budget_left(&s->clock, 1); i++)
		if (mix(s, (double)i / (N_SUMS + 1), &between))
			BERTH_TRY(start_at(s, &between, tmp, err));
	if (berth_can_move(s->p)) {
		berth_objective o;
		for (int k = 0; k < 2; k++) {
			o = limited(s, k);
			BERTH_TRY(search_apart(s, &o, tmp, err));
		}
		for (int i = 1; i <= N_SUMS && s->f.n && berth_search_budget_left(&s->clock, 1); i++)
			if (mix(s, (double)i / (N_SUMS + 1), &o))
				BERTH_TRY(search_apart(s, &o, tmp, err));
		walk(s);
	}
	thin(&s->f, s->cfg->most_points);
	for (int32_t i = 0; i < s->f.n; i++)
		if (s->f.point[i].op_order[0] < 0)
			s->f.point[i].op_order = NULL;
	return BERTH_OK;
}

berth_status berth_pareto_search(const berth_problem *p, const berth_pareto_cfg *cfg, berth_arena *mem,
                                 berth_arena *tmp, berth_pareto *out, berth_err *err)
{
	state *s;
	if (cfg->most_points < 2 || cfg->most_points > BERTH_PARETO_MOST)
		return berth_fail(err, BERTH_EINVAL, "a front of %d points; expected 2 to %d",
		                  cfg->most_points, BERTH_PARETO_MOST);
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, 1, err, s);
	s->p = p;
	s->cfg = cfg;
	BERTH_TRY(search(s, mem, tmp, err));
	*out = (berth_pareto){s->f.point, s->f.n, s->clock.evaluations, s->clock.stopped};
	return BERTH_OK;
}
