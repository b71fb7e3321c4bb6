/* The search object: budget, incumbent, evaluation on all workers; and the bounds that a search is told
 * with. */
#include "search.h"

/* The search object: budget, incumbent, evaluation on all workers. */

#define EVALUATION_NS 50.0 /* for each operator and edge */

enum { PER_ANSWER = 2 }; /* evaluations: by the rule, and in its own order */

/* A step may end so much after the time: seconds, or a share of it where that is more. */
#define LATE_S 0.1
#define LATE_SHARE 0.03
#define LEAST_S 1e-6   /* of a share of time: 0 would be no limit */
#define WHY_SHARE 0.05 /* of the time is left to tell why nothing fits */

berth_search_cfg berth_search_cfg_default(void)
{
	return (berth_search_cfg){.seed = 1, .evaluations = 10000};
}

void berth_search_cfg_begin(berth_search_cfg *cfg)
{
	if (cfg->time_s > 0 && cfg->time_from == 0)
		cfg->time_from = berth_wall_seconds();
	if (cfg->cpu_s > 0 && cfg->cpu_from == 0)
		cfg->cpu_from = berth_cpu_seconds();
}

static double wall_left(const berth_search_cfg *cfg)
{
	return cfg->time_s > 0 ? cfg->time_s - (berth_wall_seconds() - cfg->time_from) : INFINITY;
}

static double cpu_left(const berth_search_cfg *cfg)
{
	return cfg->cpu_s > 0 ? cfg->cpu_s - (berth_cpu_seconds() - cfg->cpu_from) : INFINITY;
}

double berth_search_cfg_left(const berth_search_cfg *cfg)
{
	return fmin(wall_left(cfg), cpu_left(cfg));
}

bool berth_search_cfg_over(const berth_search_cfg *cfg)
{
	return (cfg->cancel && atomic_load(cfg->cancel)) || !(berth_search_cfg_left(cfg) > 0);
}

berth_search_cfg berth_search_cfg_part(const berth_search_cfg *cfg, double share)
{
	berth_search_cfg part = *cfg;
	part.time_from = part.cpu_from = 0;
	if (cfg->time_s > 0)
		part.time_s = fmax(share * wall_left(cfg), LEAST_S);
	if (cfg->cpu_s > 0)
		part.cpu_s = fmax(share * cpu_left(cfg), LEAST_S);
	return part;
}

berth_status berth_search_cfg_open(const berth_search_options *o, berth_search_cfg *out, berth_err *err)
{
	berth_search_cfg cfg = berth_search_cfg_default();
	if (o->objective)
		BERTH_TRY(berth_objective_parse(o->objective, &cfg.objective, err));
	cfg.seed = o->seed;
	cfg.time_s = o->time_s;
	cfg.cpu_s = o->cpu_s;
	if (o->evaluations >= 0)
		cfg.evaluations = o->evaluations;
	else if (o->time_s > 0 || o->cpu_s > 0)
		cfg.evaluations = BERTH_UNLIMITED;
	BERTH_TRY(berth_pool_new(o->threads, &cfg.pool, err));
	*out = cfg;
	return BERTH_OK;
}

berth_status berth_search_new(const berth_problem *p, const berth_search_cfg *cfg, berth_arena *mem,
                              berth_search *out, berth_err *err)
{
	berth_search s = {
		.p = p, .cfg = *cfg, .mem = mem, .best = berth_score_worst(), .bound = NAN, .mean = NAN};
	int32_t workers = berth_pool_workers(cfg->pool);
	s.cfg.kept = NULL; /* set by whose search it is */
	BERTH_TRY(berth_problem_feasible(p, err));
	BERTH_TRY_NEW(mem, workers, err, s.eval);
	for (int32_t w = 0; w < workers; w++)
		BERTH_TRY(berth_eval_new(p, &cfg->objective, mem, &s.eval[w], err));
	BERTH_TRY_NEW(mem, p->n_ops, err, s.best_dev, s.best_order);
	s.told = berth_wall_seconds();
	s.started = cfg->time_from != 0 ? cfg->time_from : s.told;
	s.cpu_started = cfg->cpu_from != 0 ? cfg->cpu_from : cfg->cpu_s > 0 ? berth_cpu_seconds() : 0;
	s.may_work_ns = INFINITY;
	s.may_evaluate = INT64_MAX;
	*out = s;
	return BERTH_OK;
}

double berth_search_seconds_left(const berth_search *s)
{
	double wall = INFINITY, cpu = INFINITY;
	if (s->cfg.time_s > 0)
		wall = s->cfg.time_s - (berth_wall_seconds() - s->started);
	if (s->cfg.cpu_s > 0)
		cpu = (s->cfg.cpu_s - (berth_cpu_seconds() - s->cpu_started)) /
		      berth_pool_workers(s->cfg.pool);
	return fmin(wall, cpu);
}

berth_patience berth_search_patience(const berth_search *s)
{
	double left_s = berth_search_seconds_left(s);
	berth_patience until = {.cancel = s->cfg.cancel};
	if (isfinite(left_s))
		until.end_s = berth_wall_seconds() + fmax(left_s, BERTH_SURE_NS * 1e-9);
	return until;
}

bool berth_search_over(const berth_search *s)
{
	return (s->cfg.cancel && atomic_load(s->cfg.cancel)) || berth_search_seconds_left(s) <= 0;
}

double berth_search_evaluation_ns(const berth_problem *p)
{
	return EVALUATION_NS * ((double)p->n_ops + p->g->n_edges);
}

bool berth_search_afford(berth_search *s, double ns)
{
	bool over = berth_search_timed(s) && s->worked_ns + ns <= BERTH_SURE_NS
	                    ? s->cfg.cancel && atomic_load(s->cfg.cancel)
	                    : berth_search_over(s);
	if (over || s->worked_ns + ns > s->may_work_ns || s->evaluations > s->may_evaluate - PER_ANSWER) {
		s->cut = true;
		return false;
	}
	s->worked_ns += ns;
	return true;
}

/* A batch of large evaluations may not end long after the time. */
static void end_in_time(berth_search *s, double left_s, int64_t want)
{
	double late_s = fmax(LATE_SHARE * fmax(s->cfg.time_s, s->cfg.cpu_s), LATE_S),
	       eval_s = s->eval_s / berth_pool_workers(s->cfg.pool);
	if (eval_s > 0 && (double)want * eval_s > left_s + late_s) {
		int64_t fit = (int64_t)fmax(left_s / eval_s, 1);
		s->cfg.evaluations =
			s->cfg.evaluations < s->evaluations + fit ? s->cfg.evaluations : s->evaluations + fit;
	}
}

int64_t berth_search_budget_left(berth_search *s, int64_t want)
{
	if (s->cfg.cancel && atomic_load(s->cfg.cancel))
		s->stopped = true;
	if (berth_search_timed(s)) {
		double left_s = berth_search_seconds_left(s);
		if (!berth_score_feasible(s->best))
			left_s -= WHY_SHARE * fmax(s->cfg.time_s, s->cfg.cpu_s);
		if (left_s <= 0)
			s->stopped = true;
		else
			end_in_time(s, left_s, want);
	}
	if (s->cfg.progress && !s->stopped) {
		double now = berth_wall_seconds();
		if (now - s->told >= 0.1) {
			berth_progress p = {s->evaluations, s->best, s->mean, s->bound,
			                    (double)s->evaluations / fmax(now - s->started, 1e-9)};
			s->told = now;
			s->cfg.progress(s->cfg.progress_ctx, &p);
		}
	}
	if (berth_score_feasible(s->best) && s->best.value <= s->bound * (1 + s->cfg.gap))
		s->stopped = true; /* proven best, or close enough */
	int64_t left = s->stopped ? 0 : s->cfg.evaluations - s->evaluations;
	return left < 0 ? 0 : left < want ? left : want;
}

void berth_search_keep(berth_search *s, berth_score score, const int32_t *op_dev, const int32_t *order)
{
	size_t bytes = (size_t)s->p->n_ops * sizeof *op_dev;
	if (!berth_score_less(score, s->best) && isfinite(s->best.excess))
		return;
	s->best = score;
	s->best_has_order = order != NULL;
	if (bytes)
		memmove(s->best_dev, op_dev, bytes);
	if (bytes && order)
		memmove(s->best_order, order, bytes);
	if (s->cfg.kept)
		s->cfg.kept(s->cfg.kept_ctx, s);
}

void berth_search_leave_out(berth_search *s, const char *name)
{
	for (int32_t k = 0; k < s->n_left_out; k++)
		if (strcmp(s->left_out[k], name) == 0)
			return;
	if (s->n_left_out < BERTH_MOST_SEEDS)
		s->left_out[s->n_left_out++] = name;
}

void berth_search_prove(berth_search *s, double bound)
{
	if (!(s->bound >= bound))
		s->bound = bound;
}

/* The clock that evaluations are timed by. */
static double clock_of(const berth_search *s)
{
	return s->cfg.cpu_s > 0 ? berth_cpu_seconds() : berth_wall_seconds();
}

berth_score berth_search_offer(berth_search *s, const int32_t *op_dev, const int32_t *order)
{
	double began = berth_search_timed(s) ? clock_of(s) : 0;
	berth_score score = berth_eval_run(&s->eval[0], op_dev, order);
	s->evaluations++;
	if (began > 0)
		s->eval_s = clock_of(s) - began;
	berth_search_keep(s, score, op_dev, order);
	return score;
}

berth_score berth_search_offer_ordered(berth_search *s, const int32_t *op_dev, const int32_t *order)
{
	berth_score a = berth_search_offer(s, op_dev, NULL), b = berth_search_offer(s, op_dev, order);
	return berth_score_less(b, a) ? b : a;
}

typedef struct batch {
	berth_search *s;
	const int32_t *op_devs;
	berth_score *scores;
	const int32_t *orders;
	berth_keyed base;
	const berth_keyed *x;
	const int64_t *limit_ns;
} batch;

static void score_one(void *ctx, int32_t item, int32_t worker)
{
	batch *b = ctx;
	b->scores[item] =
		berth_eval_run(&b->s->eval[worker], BERTH_ROW(b->op_devs, item, b->s->p->n_ops), NULL);
}

void berth_search_offer_batch(berth_search *s, int32_t n, const int32_t *op_devs, berth_score *scores)
{
	batch b = {.s = s, .op_devs = op_devs, .scores = scores};
	berth_pool_run(s->cfg.pool, n, score_one, &b);
	s->evaluations += n;
	for (int32_t i = 0; i < n; i++)
		berth_search_keep(s, scores[i], BERTH_ROW(op_devs, i, s->p->n_ops), NULL);
}

typedef struct making {
	berth_search *s;
	void (*make)(void *ctx, int32_t i, int32_t worker, int32_t *op_dev);
	void *ctx;
	int32_t *rows;
	berth_score *scores;
} making;

static void make_one(void *ctx, int32_t item, int32_t worker)
{
	making *m = ctx;
	int32_t *op_dev = BERTH_ROW(m->rows, worker, m->s->p->n_ops);
	m->make(m->ctx, item, worker, op_dev);
	m->scores[item] = berth_eval_run(&m->s->eval[worker], op_dev, NULL);
}

void berth_search_offer_made(berth_search *s, int32_t n,
                             void (*make)(void *ctx, int32_t i, int32_t worker, int32_t *op_dev), void *ctx,
                             int32_t *rows, berth_score *scores)
{
	making m = {s, make, ctx, rows, scores};
	berth_pool_run(s->cfg.pool, n, make_one, &m);
	s->evaluations += n;
	for (int32_t i = 0; i < n; i++)
		if (berth_score_less(scores[i], s->best) || !isfinite(s->best.excess)) {
			make(ctx, i, 0, rows);
			berth_search_keep(s, scores[i], rows, NULL);
		}
}

void berth_search_score_ordered(const berth_search *s, int32_t worker, const int32_t *op_dev,
                                const int32_t *order, berth_score scores[2])
{
	scores[0] = berth_eval_run(&s->eval[worker], op_dev, NULL);
	scores[1] = berth_eval_run(&s->eval[worker], op_dev, order);
}

static void score_both(void *ctx, int32_t item, int32_t worker)
{
	batch *b = ctx;
	size_t at = (size_t)item * (size_t)b->s->p->n_ops;
	berth_search_score_ordered(b->s, worker, b->op_devs + at, b->orders + at, b->scores + 2 * item);
}

void berth_search_tell_ordered(const berth_search *s, int32_t *op_dev, int32_t *order, berth_score scores[2])
{
	size_t bytes = (size_t)s->p->n_ops * sizeof *op_dev;
	if (bytes) {
		memcpy(op_dev, s->best_dev, bytes);
		memcpy(order, s->best_order, bytes);
	}
	scores[0] = s->best_has_order ? berth_score_worst() : s->best;
	scores[1] = s->best_has_order ? s->best : berth_score_worst();
}

void berth_search_offer_scored(berth_search *s, int32_t n, const int32_t *op_devs, const int32_t *orders,
                               const berth_score *scores)
{
	s->evaluations += 2 * (int64_t)n;
	for (int32_t i = 0; i < n; i++) {
		size_t at = (size_t)i * (size_t)s->p->n_ops;
		berth_search_keep(s, scores[2 * i], op_devs + at, NULL);
		berth_search_keep(s, scores[2 * i + 1], op_devs + at, orders + at);
	}
}

void berth_search_offer_batch_ordered(berth_search *s, int32_t n, const int32_t *op_devs,
                                      const int32_t *orders, berth_score *scores)
{
	batch b = {.s = s, .op_devs = op_devs, .scores = scores, .orders = orders};
	berth_pool_run(s->cfg.pool, n, score_both, &b);
	berth_search_offer_scored(s, n, op_devs, orders, scores);
}

static void score_near(void *ctx, int32_t item, int32_t worker)
{
	batch *b = ctx;
	b->scores[item] = berth_eval_near(&b->s->eval[worker], b->base, b->x[item],
	                                  b->limit_ns ? b->limit_ns[item] : INT64_MAX);
}

berth_status berth_search_prepare_walk(berth_search *s, berth_err *err)
{
	for (int32_t w = 0; w < berth_pool_workers(s->cfg.pool); w++)
		BERTH_TRY(berth_eval_want_near(&s->eval[w], s->mem, err));
	return BERTH_OK;
}

int32_t berth_search_offer_first(berth_search *s, int32_t n, berth_keyed base, const berth_keyed *x,
                                 const int64_t *limit_ns, berth_score *scores,
                                 bool (*accept)(void *ctx, int32_t i, berth_score score), void *ctx)
{
	int32_t workers = berth_pool_workers(s->cfg.pool);
	for (int32_t first = 0; first < n; first += workers) {
		int32_t some = n - first < workers ? n - first : workers;
		batch b = {.s = s,
		           .scores = scores + first,
		           .base = base,
		           .x = x + first,
		           .limit_ns = limit_ns ? limit_ns + first : NULL};
		berth_pool_run(s->cfg.pool, some, score_near, &b);
		for (int32_t i = first; i < first + some; i++) {
			s->evaluations++;
			if (!x[i].op_key)
				berth_search_keep(s, scores[i], x[i].op_dev, NULL);
			if (accept(ctx, i, scores[i]))
				return i;
		}
	}
	return n;
}

berth_status berth_search_offer_keyed(berth_search *s, berth_keyed x, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_eval *e = &s->eval[0];
	int32_t *order;
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, order);
	berth_score score = berth_eval_keyed(e, x);
	s->evaluations++;
	if (isfinite(score.excess)) {
		berth_sim_start_order(e->sim, order);
		berth_search_keep(s, score, x.op_dev, order);
	}
	return BERTH_OK;
}

enum { FAST, AUTO, STRONG, N_BOUNDS };

/* *at: which of the words; e: the effort that it stands for. */
static berth_status find_effort(const berth_problem *p, const berth_bound_options *o, int32_t *at,
                                berth_bound_effort *e, berth_err *err)
{
	static const char *const names[N_BOUNDS] = {"fast", "auto", "strong"};
	int64_t evaluations = o->evaluations >= 0 ? o->evaluations
	                      : o->time_s > 0     ? BERTH_UNLIMITED
	                                          : berth_search_cfg_default().evaluations;
	*at = AUTO;
	*e = berth_bound_effort_all(o->objective);
	if (o->bound)
		BERTH_TRY(berth_text_find(names, N_BOUNDS, o->bound, "bound", NULL, at, err));
	if (*at == AUTO)
		e->work_ns = berth_bound_work_for(p, evaluations, o->time_s);
	if (o->nodes > 0)
		e->nodes = o->nodes;
	return BERTH_OK;
}

berth_status berth_search_bounds(const berth_problem *p, const berth_bound_options *o, berth_arena *tmp,
                                 berth_bounds *out, berth_err *err)
{
	berth_bound_effort e;
	int32_t at;
	BERTH_TRY(find_effort(p, o, &at, &e, err));
	BERTH_TRY(berth_bounds_new(p, tmp, out, err));
	return at == FAST ? BERTH_OK : berth_bounds_strengthen(p, &e, tmp, out, err);
}

berth_status berth_search_certify(const berth_problem *p, const berth_bound_options *o, int64_t told_ns,
                                  berth_bound_proof *x, berth_arena *tmp, berth_err *err)
{
	berth_bound_effort e;
	int32_t at;
	BERTH_TRY(find_effort(p, o, &at, &e, err));
	BERTH_TRY(berth_bounds_certify(p, at == FAST ? NULL : &e, x, tmp, err));
	if (x->load || !x->any || x->best.bound_ns >= told_ns || p->n_ops > BERTH_CERTIFICATE_TREE_OPS)
		return BERTH_OK;
	BERTH_SCRATCH(tmp);
	/* A tree for all operators at once: of the latency alone. */
	int64_t *known;
	size_t cells = (size_t)p->n_devs * (size_t)p->n_devs;
	BERTH_TRY_NEW(tmp, 2 * cells, err, known);
	known[0] = x->best.bound_ns;
	known[cells] = told_ns;
	const berth_known_block all = {0, p->n_ops, -1, -1, known, known + cells};
	return berth_certify_blocks(p, &all, 1, x, tmp, err);
}
