/* Simulated annealing: S. Kirkpatrick, C. D. Gelatt, M. P. Vecchi, "Optimization by simulated annealing",
 * Science 220, 1983. It starts from the best of the portfolio and walks by the moves of moves.h.
 *
 * The schedule does not know the budget: runs of growing length, each from the incumbent, at temperatures
 * that follow what they gain (heats.h). A run cools by a factor of 100.
 *
 * Where latency and energy, or throughput, are all that counts, moves are chosen by estimates (screen.h), and
 * only the best one is simulated. Which kind of move comes next follows what each kind gained (mix.h). The
 * estimates come from a base of the walk's own, its present placement, so they are the same for any number of
 * workers.
 *
 * A walk alone draws candidates ahead for all workers. Those after the first that is accepted are dropped
 * with their random numbers. Several walks go side by side (walks.h), a worker each. */
#include "annealer.h"

#include "coloc.h"
#include "heats.h"
#include "registry.h"
#include "walks.h"

#include <math.h>
#include <string.h>

enum { MAX_DRAWS = 32, MOST_GAP = 512 };
enum { SCREENED_OPS = 20000 }; /* in graphs up to this size moves are screened */

#define FIRST_KEY (UINT32_C(1) << 31) /* far enough from both ends for moves */

#define COOLING 0.01       /* last temperature of a run / first one */

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
		if (at < 0 || at >= g->n_ops || a->op_dev[g->topo_op[at]] != a->op_dev[op])
			continue;
		*moved = op;
		*key = a->op_key[g->topo_op[at]] + (uint32_t)(berth_rng_next(&a->rng) & 1 ? jump : -jump);
		return true;
	}
	return false;
}

static void change_key(berth_annealer *a, uint32_t *trial_key)
{
	int32_t op;
	uint32_t key;
	if (a->base.log && a->screen.has_paths)
		berth_screen_draw_key(&a->screen, &a->base, draw_key, a, trial_key);
	else if (draw_key(a, &op, &key))
		trial_key[op] = key;
}

static void draw_screened(berth_annealer *a, int32_t i, int32_t *trial)
{
	a->screened[i] = true;
	a->kind[i] = berth_mix_draw(&a->mix, &a->rng);
	berth_screen_draw(&a->screen, a->kind[i], &a->base, &a->moves, &a->rng, trial);
}

void berth_annealer_begin_trial(berth_annealer *a, int32_t i)
{
	size_t n_ops = (size_t)a->s->p->n_ops;
	a->trial[i] = (berth_keyed){.op_dev = memcpy(a->trial_dev + (size_t)i * n_ops, a->op_dev,
	                                             n_ops * sizeof *a->op_dev)};
	if (a->op_key)
		a->trial[i].op_key =
			memcpy(a->trial_key + (size_t)i * n_ops, a->op_key, n_ops * sizeof *a->op_key);
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
	size_t n_ops = (size_t)a->s->p->n_ops;
	int32_t *trial = a->trial_dev + (size_t)i * n_ops;
	berth_annealer_begin_trial(a, i);
	a->screened[i] = false;
	if (a->key_share > 0 && berth_rng_unit(&a->rng) < a->key_share)
		change_key(a, a->trial_key + (size_t)i * n_ops);
	else if (a->base.log)
		draw_screened(a, i, trial);
	else
		berth_moves_draw(&a->moves, a->style->largest_move, MAX_DRAWS, &a->rng, trial);
	draw_slack(a, i, temperature);
	a->rng_after[i] = a->rng;
	a->mix_after[i] = a->mix;
}

double berth_annealer_keep_best(berth_annealer *a)
{
	size_t n_ops = (size_t)a->s->p->n_ops;
	berth_score before = a->best;
	if (!berth_score_less(a->score, before))
		return 0;
	a->best = a->score;
	if (a->op_key) {
		memcpy(a->best_dev, a->op_dev, n_ops * sizeof *a->best_dev);
		memcpy(a->best_key, a->op_key, n_ops * sizeof *a->best_key);
	}
	return berth_score_feasible(before) && a->score.value > 0 ? log(before.value / a->score.value) : 0;
}

int32_t berth_annealer_budget_left(const berth_annealer *a, int32_t want)
{
	int32_t kept = a->op_key != NULL;
	int32_t left = (int32_t)berth_search_budget_left(a->s, want + kept) - kept;
	return left > 0 ? left : 0;
}

/* Moves are screened from a base that is the present placement, whatever other workers' bases are. */
static void choose_base(berth_annealer *a)
{
	a->base = (berth_screen_base){NULL, a->op_dev, a->op_key};
	if (a->screens && berth_score_feasible(a->score))
		a->base.log = berth_eval_base(&a->s->eval[0], (berth_keyed){a->op_dev, a->op_key});
}

double berth_annealer_temperature(const berth_annealer *a, int64_t done)
{
	return a->first_temperature * pow(COOLING, (double)done / (double)a->n_steps);
}

static void take_trial(berth_annealer *a, int32_t i)
{
	size_t n_ops = (size_t)a->s->p->n_ops;
	a->score = a->trial_score[i];
	memcpy(a->op_dev, a->trial[i].op_dev, n_ops * sizeof *a->op_dev);
	if (a->op_key)
		memcpy(a->op_key, a->trial[i].op_key, n_ops * sizeof *a->op_key);
}

int64_t berth_annealer_steps(berth_annealer *a, int64_t done, int64_t most)
{
	int64_t n = most;
	int32_t left = berth_annealer_budget_left(a, n < a->block_size ? (int32_t)n : a->block_size);
	if (left == 0)
		return 0;
	choose_base(a);
	for (int32_t i = 0; i < left; i++)
		draw(a, i, berth_annealer_temperature(a, done + i));
	int32_t taken = berth_search_offer_first(a->s, left, (berth_keyed){a->op_dev, a->op_key}, a->trial,
	                                         a->limit_ns, a->trial_score, accepts, a);
	if (taken == left)
		return left;
	a->rng = a->rng_after[taken];
	take_trial(a, taken);
	double fall = berth_annealer_keep_best(a);
	a->mix = a->mix_after[taken];
	if (a->screened[taken])
		berth_mix_gain(&a->mix, a->kind[taken], fall);
	return taken + 1;
}

void berth_annealer_try(berth_annealer *a, double temperature)
{
	draw_slack(a, 0, temperature);
	if (berth_search_offer_first(a->s, 1, (berth_keyed){a->op_dev, a->op_key}, a->trial, a->limit_ns,
	                             a->trial_score, accepts, a) == 0)
		take_trial(a, 0);
}

static berth_status new_keys(berth_annealer *a, berth_arena *mem, berth_err *err)
{
	size_t n_ops = (size_t)a->s->p->n_ops;
	if (!(a->key_share > 0))
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(mem, a->op_key, n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, a->best_dev, n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, a->best_key, n_ops, err));
	return BERTH_NEW(mem, a->trial_key, (size_t)a->block_size * n_ops, err);
}

berth_status berth_annealer_new(berth_search *s, double key_share, bool plain, berth_rng rng,
                                berth_arena *mem, berth_annealer **out, berth_err *err)
{
	int32_t ahead = berth_pool_workers(s->cfg.pool);
	berth_annealer *a;
	BERTH_TRY(BERTH_NEW(mem, a, 1, err));
	a->s = s;
	a->style = berth_walk_style_of(s);
	a->rng = rng;
	a->key_share = key_share;
	a->key_gap = (uint32_t)(s->p->n_ops < (1 << 30) / MOST_GAP ? MOST_GAP : (1 << 30) / s->p->n_ops);
	a->block_size = ahead < BERTH_ANNEALER_BLOCK ? ahead : BERTH_ANNEALER_BLOCK;
	BERTH_TRY(berth_moves_new(s->p, mem, &a->moves, err));
	BERTH_TRY(berth_search_prepare_walk(s, err));
	a->screens = !plain && berth_screen_knows(&s->cfg.objective) && s->p->n_ops <= SCREENED_OPS;
	if (a->screens) {
		BERTH_TRY(berth_eval_want_log(&s->eval[0], s->mem, err));
		BERTH_TRY(berth_screen_new(s->p, &s->cfg.objective, a->style, mem, &a->screen, err));
		berth_mix_begin(&a->mix, a->style->share);
	}
	BERTH_TRY(BERTH_NEW(mem, a->op_dev, s->p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, a->trial_dev, (size_t)a->block_size * (size_t)s->p->n_ops, err));
	BERTH_TRY(new_keys(a, mem, err));
	if (s->cfg.walks > 1)
		BERTH_TRY(berth_walks_new(a, key_share, plain, rng, mem, &a->walks, err));
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

/* The incumbent may have its value from an order of its own. */
static void start(berth_annealer *a, berth_keyed from)
{
	size_t n_ops = (size_t)a->s->p->n_ops;
	berth_keyed x = {a->op_dev, a->op_key};
	memcpy(a->op_dev, from.op_dev, n_ops * sizeof *a->op_dev);
	for (size_t op = 0; op < n_ops && a->op_key; op++)
		a->op_key[op] = from.op_key ? from.op_key[op]
		                            : FIRST_KEY + a->key_gap * (uint32_t)a->s->p->op_prio[op];
	berth_search_offer_first(a->s, 1, x, &x, NULL, &a->score, take_any, NULL);
	berth_annealer_keep_best(a);
}

berth_keyed berth_anneal_best(const berth_annealer *a, berth_score *score)
{
	*score = a->best;
	return (berth_keyed){a->best_dev, a->best_key};
}

bool berth_anneal_cool(berth_annealer *a, berth_keyed from, double first_temperature, int64_t n_steps)
{
	int64_t n;
	a->best = berth_score_worst();
	if (berth_annealer_budget_left(a, 1) == 0)
		return false;
	start(a, from);
	a->first_temperature = first_temperature;
	a->n_steps = n_steps;
	for (a->done = 0; a->done < n_steps; a->done += n)
		if ((n = a->walks ? berth_walks_turn(a)
		                  : berth_annealer_steps(a, a->done, n_steps - a->done)) == 0)
			return false;
	return true;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_annealer *a;
	berth_heats heats;
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	if (!berth_can_move(s->p))
		return BERTH_OK;
	BERTH_TRY(berth_annealer_new(s, 0, false, berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD), tmp, &a,
	                             err));
	berth_heats_begin(&heats, berth_walk_style_of(s)->first_temperature);
	for (berth_score before = s->best;
	     berth_anneal_cool(a, (berth_keyed){.op_dev = s->best_dev}, berth_heats_temperature(&heats),
	                       berth_heats_steps(&heats));
	     before = s->best)
		berth_heats_tell(&heats, before, s->best);
	return BERTH_OK;
}

const berth_method berth_method_anneal = {
	"anneal", "Simulated annealing in runs of doubling length (Kirkpatrick, Gelatt, Vecchi 1983).", true,
	run, NULL};
