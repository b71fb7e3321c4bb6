/* Moves of annealing. Candidates are judged by estimates, by paths (estimate.h) or by loads (loads.h), and
 * only the best one is simulated. Which kind of move comes next follows what each kind has gained. */
#include "screen.h"

#include "cost_model.h"

#include "coloc.h"

const berth_walk_styles berth_walks_by_hand = {{.share = {[BERTH_SCREEN_BLIND] = .02,
                                                          [BERTH_SCREEN_PATHS] = .38,
                                                          [BERTH_SCREEN_PATHS_ANEW] = .57,
                                                          [BERTH_SCREEN_LOADS_LARGE] = .03},
                                                .largest_move = 0.25,
                                                .ends_per_candidate = 64,
                                                .most_anew = 10,
                                                .first_temperature = {0.001, 0.01, 0.1}},
                                               {.share = {[BERTH_SCREEN_BLIND] = .02,
                                                          [BERTH_SCREEN_LOADS] = .38,
                                                          [BERTH_SCREEN_LOADS_ANEW] = .57,
                                                          [BERTH_SCREEN_LOADS_LARGE] = .03},
                                                .largest_move = 0.25,
                                                .ends_per_candidate = 64,
                                                .most_anew = 10,
                                                .first_temperature = {0.001, 0.01, 0.1}}};

/* Of ten generations each from those set by hand, rounded. By paths: for latency, learned together with where
 * moves begin and with noise, neither of which gained. */
const berth_walk_styles berth_walks_learned = {{.share = {[BERTH_SCREEN_BLIND] = .0165,
                                                          [BERTH_SCREEN_PATHS] = .5712,
                                                          [BERTH_SCREEN_PATHS_ANEW] = .3554,
                                                          [BERTH_SCREEN_LOADS] = .0057,
                                                          [BERTH_SCREEN_LOADS_ANEW] = .0019,
                                                          [BERTH_SCREEN_LOADS_LARGE] = .0493},
                                                .largest_move = 0.146,
                                                .ends_per_candidate = 9.2,
                                                .most_anew = 6.5,
                                                .first_temperature = {0.00192, 0.00325, 0.0317}},
                                               {.share = {[BERTH_SCREEN_BLIND] = .019,
                                                          [BERTH_SCREEN_LOADS] = .503,
                                                          [BERTH_SCREEN_LOADS_ANEW] = .465,
                                                          [BERTH_SCREEN_LOADS_LARGE] = .013},
                                                .largest_move = 0.337,
                                                .ends_per_candidate = 14.75,
                                                .most_anew = 23.7,
                                                .first_temperature = {0.00262, 0.0137, 0.078}}};

const berth_walk_style *berth_walk_style_of(const berth_search *s)
{
	bool by_paths = berth_prices_known(&s->cfg.objective), blind = by_paths && s->p->s->cost_model->run;
	const berth_walk_styles *x = s->cfg.walk_styles ? s->cfg.walk_styles
	                             : blind            ? &berth_walks_by_hand
	                                                : &berth_walks_learned;
	return by_paths ? &x->by_paths : &x->by_loads;
}

/* Of a draw and its evaluation: estimates need the tails of each new base, or its loads. */
static const double cost_of[BERTH_SCREEN_KINDS] = {1, 2.5, 2.5, 2, 2, 2};

#define FORGOTTEN (1. / 256) /* of gains and costs, by a draw */
#define NOTHING 1e-5         /* a gain for a cost that is as good as none */
#define MOST_TIMES 16        /* times its ordinary share, or that part of it */
#define PRIOR_COST 10
#define PROMISE 0.016 /* gain of large pieces at first, so that they are tried */

void berth_mix_begin(berth_mix *m, const double *share)
{
	*m = (berth_mix){.share = share};
	m->gain[BERTH_SCREEN_LOADS_LARGE] = PROMISE;
}

static double rate(const berth_mix *m, int k)
{
	return (m->gain[k] + NOTHING * PRIOR_COST) / (m->cost[k] + PRIOR_COST) + NOTHING;
}

/* weight [BERTH_SCREEN_KINDS] out; returns the sum. */
static double weigh(const berth_mix *m, double *weight)
{
	double mean = 0, sum = 0;
	for (int k = 0; k < BERTH_SCREEN_KINDS; k++)
		mean += m->share[k] * rate(m, k);
	for (int k = 0; k < BERTH_SCREEN_KINDS; k++) {
		weight[k] = m->share[k] * fmax(1. / MOST_TIMES, fmin(rate(m, k) / mean, MOST_TIMES));
		sum += weight[k];
	}
	return sum;
}

berth_screen_kind berth_mix_draw(berth_mix *m, berth_rng *rng)
{
	double weight[BERTH_SCREEN_KINDS], at = weigh(m, weight) * berth_rng_unit(rng);
	int kind = BERTH_SCREEN_BLIND;
	for (int k = 0; k < BERTH_SCREEN_KINDS && at >= 0; k++) {
		if (weight[k] > 0)
			kind = k;
		at -= weight[k];
	}
	for (int k = 0; k < BERTH_SCREEN_KINDS; k++) {
		m->gain[k] *= 1 - FORGOTTEN;
		m->cost[k] *= 1 - FORGOTTEN;
	}
	m->cost[kind] += cost_of[kind];
	return (berth_screen_kind)kind;
}

void berth_mix_gain(berth_mix *m, berth_screen_kind kind, double fall)
{
	m->gain[kind] += fall;
}

/* Candidates of a move, and the groups of one from which on there are fewer. */
enum { FEWEST = 2, MOST = 16, LARGE = 64, MAX_DRAWS = 32 };

#define CRITICAL_SHARE 0.4 /* of the candidates, those from a critical group on */
#define LARGE_SHARE 0.3    /* of all groups, at most, in large pieces */

enum { PATHS, LOADS };

bool berth_screen_knows(const berth_objective *o)
{
	return berth_prices_known(o) || berth_objective_is(o, BERTH_THROUGHPUT);
}

berth_status berth_screen_new(const berth_problem *p, const berth_objective *objective,
                              const berth_walk_style *style, berth_arena *mem, berth_screen *out,
                              berth_err *err)
{
	berth_screen x = {.p = p, .style = style, .has_paths = berth_prices_known(objective)};
	BERTH_TRY(berth_estimate_new(p, mem, &x.estimate, err));
	BERTH_TRY(berth_loads_new(p, mem, &x.loads, err));
	if (x.has_paths) {
		BERTH_TRY(berth_tails_new(p, mem, &x.tails, err));
		BERTH_TRY(berth_prices_new(p, objective, mem, &x.prices, err));
	}
	for (int i = x.has_paths ? PATHS : LOADS; i <= LOADS; i++)
		BERTH_TRY_NEW(mem, p->n_ops, err, x.view[i].critical);
	BERTH_TRY_NEW(mem, p->n_colocs, err, x.best, x.best_dev);
	*out = x;
	return BERTH_OK;
}

/* Bring the view by paths or by loads up to the base. */
static void look(berth_screen *x, int by, const berth_screen_base *base)
{
	berth_screen_view *v = &x->view[by];
	if (v->serial == base->log->serial)
		return;
	v->serial = base->log->serial;
	if (by == LOADS) {
		berth_loads_begin(&x->loads, base->op_dev);
	} else {
		berth_tails_update(&x->tails, base->log);
		berth_prices_update(&x->prices, base->log);
	}
	v->n_critical = 0;
	for (int32_t op = 0; op < x->p->n_ops; op++)
		if (by == LOADS ? berth_loads_critical(&x->loads, op, base->op_dev)
		                : berth_tails_slack(&x->tails, op) <= 0)
			v->critical[v->n_critical++] = x->p->op_coloc[op];
}

static int32_t draw_coloc(const berth_screen *x, const berth_screen_view *v, berth_rng *rng)
{
	if (v->n_critical > 0 && berth_rng_unit(rng) < CRITICAL_SHARE)
		return v->critical[berth_rng_below(rng, (uint32_t)v->n_critical)];
	return (int32_t)berth_rng_below(rng, (uint32_t)x->p->n_colocs);
}

/* Candidates that an evaluation is worth: simulating takes longer the more ends there are. */
static int32_t candidates(const berth_screen *x, const berth_base_log *log)
{
	double n = fmax(FEWEST, fmin(log->n_ends / x->style->ends_per_candidate, MOST));
	return (int32_t)fmax(n, x->fewest);
}

static void begin_groups(berth_screen *x, const berth_moves *m)
{
	const berth_problem *p = m->p;
	berth_estimate_begin(&x->estimate);
	for (int32_t i = 0; i < m->n_moved; i++)
		BERTH_EACH (k, p->coloc_off, m->moved[i])
			berth_estimate_moved(&x->estimate, p->coloc_op[k]);
}

double berth_screen_price(berth_screen *x, bool by_paths, const berth_screen_base *base, const berth_moves *m,
                          const int32_t *op_dev, double enough)
{
	const berth_prices *prices = &x->prices;
	int32_t n;
	begin_groups(x, m);
	if (!by_paths) {
		const int32_t *op = berth_estimate_ops(&x->estimate, &n);
		return berth_loads_change(&x->loads, base->op_dev, op_dev, n, op);
	}
	bool burns = prices->per_joule > 0;
	double most_ns = enough / prices->per_ns;
	int64_t enough_ns = burns || !(most_ns < 1e18) ? INT64_MAX : (int64_t)most_ns;
	double price = prices->per_ns * (double)berth_estimate_latency(&x->estimate, &x->tails, op_dev,
	                                                               base->op_key, enough_ns);
	if (burns)
		price += prices->per_joule * berth_prices_joules(&x->prices, base->op_dev, op_dev,
		                                                 x->estimate.n_ops, x->estimate.op);
	return price;
}

/* The best of n candidates of a shape. */
static int32_t draw_best(berth_screen *x, int by, const berth_screen_base *base, berth_moves *m,
                         berth_move_shape shape, int32_t n, berth_rng *rng, int32_t *trial)
{
	double least = INFINITY;
	int32_t n_best = 0;
	for (int32_t i = 0; i < n; i++) {
		if (berth_moves_draw_from(m, shape, draw_coloc(x, &x->view[by], rng), rng, trial) == 0)
			continue;
		double price = n == 1 ? 0 : berth_screen_price(x, by == PATHS, base, m, trial, least);
		if (price < least) {
			least = price;
			/* Keep the candidate that stands in trial. */
			for (int32_t k = 0; k < m->n_moved; k++) {
				x->best[k] = m->moved[k];
				x->best_dev[k] = berth_coloc_dev(m->p, m->moved[k], trial);
			}
			n_best = m->n_moved;
		}
		berth_moves_undo(m, base->op_dev, trial);
	}
	for (int32_t k = 0; k < n_best; k++)
		berth_coloc_put(m->p, x->best[k], x->best_dev[k], trial);
	return n_best;
}

static int32_t draw_shaped(berth_screen *x, int by, const berth_screen_base *base, berth_moves *m,
                           berth_rng *rng, int32_t *trial)
{
	berth_move_shape shape = berth_moves_draw_shape(m, x->style->largest_move, rng);
	int32_t n = candidates(x, base->log);
	if (shape.size > LARGE)
		n = n * LARGE / shape.size;
	return draw_best(x, by, base, m, shape, n > 1 ? n : 1, rng, trial);
}

/* Some groups that lie together leave their devices, and are placed again one after the other. */
static int32_t draw_anew(berth_screen *x, int by, const berth_screen_base *base, berth_moves *m, int32_t size,
                         berth_rng *rng, int32_t *trial)
{
	double noise = pow(10, -1.5 - 2.5 * berth_rng_unit(rng));
	berth_moves_gather(m, draw_coloc(x, &x->view[by], rng), size, rng);
	begin_groups(x, m);
	if (by == LOADS) {
		int32_t n;
		const int32_t *op = berth_estimate_ops(&x->estimate, &n);
		berth_loads_place(&x->loads, n, op, noise, rng, trial);
	} else {
		noise *= (double)base->log->latency_ns;
		berth_estimate_place(&x->estimate, &x->tails, &x->prices, base->op_key, noise, rng, trial);
	}
	int32_t n = 0;
	for (int32_t i = 0; i < m->n_moved; i++)
		n += berth_coloc_dev(m->p, m->moved[i], trial) !=
		     berth_coloc_dev(m->p, m->moved[i], base->op_dev);
	return n;
}

static int32_t small_piece(const berth_screen *x, berth_rng *rng)
{
	double most = fmax(1, fmin(round(x->style->most_anew), x->p->n_colocs));
	return 1 + (int32_t)berth_rng_below(rng, (uint32_t)most);
}

/* Each power of two about equally often. */
static int32_t large_piece(const berth_problem *p, berth_rng *rng)
{
	return (int32_t)exp2(berth_rng_unit(rng) * log2(1 + LARGE_SHARE * p->n_colocs));
}

static int32_t draw_kind(berth_screen *x, berth_screen_kind kind, const berth_screen_base *base,
                         berth_moves *m, berth_rng *rng, int32_t *trial)
{
	switch (kind) {
	case BERTH_SCREEN_PATHS:
		return draw_shaped(x, PATHS, base, m, rng, trial);
	case BERTH_SCREEN_LOADS:
		return draw_shaped(x, LOADS, base, m, rng, trial);
	case BERTH_SCREEN_PATHS_ANEW:
		return draw_anew(x, PATHS, base, m, small_piece(x, rng), rng, trial);
	case BERTH_SCREEN_LOADS_ANEW:
		return draw_anew(x, LOADS, base, m, small_piece(x, rng), rng, trial);
	case BERTH_SCREEN_LOADS_LARGE:
		return draw_anew(x, LOADS, base, m, large_piece(x->p, rng), rng, trial);
	default:
		return berth_moves_draw(m, x->style->largest_move, 1, rng, trial);
	}
}

int32_t berth_screen_draw(berth_screen *x, berth_screen_kind kind, const berth_screen_base *base,
                          berth_moves *m, berth_rng *rng, int32_t *trial)
{
	int32_t n_moved = 0;
	if (kind != BERTH_SCREEN_BLIND)
		look(x, kind < BERTH_SCREEN_LOADS ? PATHS : LOADS, base);
	for (int tries = 0; tries < MAX_DRAWS && n_moved == 0; tries++)
		n_moved = draw_kind(x, kind, base, m, rng, trial);
	return n_moved;
}

void berth_screen_draw_key(berth_screen *x, const berth_screen_base *base,
                           bool (*draw)(void *ctx, int32_t *op, uint32_t *key), void *ctx,
                           uint32_t *trial_key)
{
	int64_t least = INT64_MAX;
	int32_t best = -1, op;
	uint32_t best_key = 0, key;
	look(x, PATHS, base);
	for (int32_t i = candidates(x, base->log); i > 0; i--) {
		if (!draw(ctx, &op, &key))
			continue;
		trial_key[op] = key;
		berth_estimate_begin(&x->estimate);
		berth_estimate_moved(&x->estimate, op);
		int64_t ns = berth_estimate_latency(&x->estimate, &x->tails, base->op_dev, trial_key, least);
		trial_key[op] = base->op_key[op];
		if (ns < least) {
			least = ns;
			best = op;
			best_key = key;
		}
	}
	if (best >= 0)
		trial_key[best] = best_key;
}
