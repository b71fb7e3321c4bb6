/* Cooling runs one after the other: the method `anneal`, and the annealing within `berth`, where orders are
 * searched too. Orders are keys (berth_sim_use_keys). Walks over them drift far where they do not matter yet,
 * so short budgets are better spent by the rule alone. With tens of thousands of evaluations they gain what
 * no placement by the rule has. Over given orders a walk gains at once where its steps are quick. */
#include "cooling.h"

#include "coloc.h"
#include "registry.h"

#define LEAST_STEPS (1. / 16)

void berth_heats_begin(berth_heats *h, const double *first_temperature)
{
	*h = (berth_heats){.first_temperature = first_temperature, .n_steps = BERTH_HEATS_FIRST_STEPS};
	for (int32_t i = 0; i < BERTH_HEATS; i++)
		h->share[i] = 1;
}

double berth_heats_temperature(const berth_heats *h)
{
	return h->first_temperature[h->at];
}

int64_t berth_heats_steps(const berth_heats *h)
{
	return (int64_t)(h->share[h->at] * (double)h->n_steps);
}

/* What became feasible or needs less memory than it lacked has gained more than any value. */
static double gain_of(berth_score before, berth_score after)
{
	if (before.excess != after.excess)
		return after.excess < before.excess ? INFINITY : 0;
	double gain = log(before.value / after.value);
	return gain > 0 ? gain : 0; /* of values that are 0, not a number */
}

void berth_heats_tell(berth_heats *h, berth_score before, berth_score after)
{
	h->gain[h->at] = gain_of(before, after) / (double)berth_heats_steps(h);
	if (++h->at < BERTH_HEATS)
		return;
	h->at = 0;
	double most = 0;
	for (int32_t i = 0; i < BERTH_HEATS; i++)
		most = fmax(most, h->gain[i]);
	for (int32_t i = 0; i < BERTH_HEATS && most > 0; i++)
		h->share[i] = h->gain[i] >= most / 2 ? fmin(1, h->share[i] * 2)
		                                     : fmax(LEAST_STEPS, h->share[i] / 2);
	if (h->n_steps < INT64_MAX / 4)
		h->n_steps *= 2;
}

static berth_status anneal_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_annealer *a;
	berth_heats heats;
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	if (!berth_can_move(s->p) || berth_orders_decide(s))
		return berth_walk_orders(s, tmp, err);
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
	anneal_run, NULL, "Kirkpatrick, Gelatt, Vecchi 1983"};

enum { ORDERS_FROM = 2000 };

#define KEY_SHARE 0.3 /* of the moves, those of a key */
#define FIRST_SHARE 0.5
#define LEAST_SHARE 0.1
#define MOST_SHARE 4.0
#define SHIFT 1.5 /* of the share, to the kind that gained more */
#define QUICK 6.0 /* steps over orders that take as long as one by the rule, where runs are longest paths */
#define SLOW 0.3  /* the same where they are simulated, and steps by the rule are not whole runs */

static berth_status new_orders(berth_cooling *c, berth_arena *mem, berth_err *err)
{
	berth_search *s = c->s;
	c->order_share = FIRST_SHARE;
	c->order_score = berth_score_worst();
	BERTH_TRY_NEW(mem, s->p->n_ops, err, c->order_dev, c->order_key);
	return berth_annealer_new(s, KEY_SHARE, false, berth_rng_seed(s->cfg.seed, BERTH_STREAM_ORDER), mem,
	                          &c->with_order, err);
}

berth_status berth_cooling_new(berth_search *s, bool orders, berth_arena *mem, berth_cooling *out,
                               berth_err *err)
{
	*out = (berth_cooling){.s = s, .rule_score = berth_score_worst()};
	berth_heats_begin(&out->heats, berth_walk_style_of(s)->first_temperature);
	out->walk_share = FIRST_SHARE;
	out->moves = berth_can_move(s->p);
	if (orders && berth_order_walk_works(s) &&
	    (berth_order_walk_quick(s) || !berth_keys_work(s->p) || !out->moves))
		BERTH_TRY(berth_order_walk_new(s, berth_rng_seed(s->cfg.seed, BERTH_STREAM_WALK), mem,
		                               &out->walk, err));
	BERTH_TRY_NEW(mem, s->p->n_ops, err, out->rule_dev);
	BERTH_TRY(berth_annealer_new(s, 0, false, berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD), mem,
	                             &out->by_rule, err));
	return orders && berth_keys_work(s->p) ? new_orders(out, mem, err) : BERTH_OK;
}

void berth_cooling_consider(berth_cooling *c, const int32_t *op_dev, berth_score score)
{
	if (!berth_score_less(score, c->rule_score))
		return;
	c->rule_score = score;
	BERTH_COPY(c->rule_dev, op_dev, c->s->p->n_ops);
}

/* An incumbent that owes its value to an order of its own may be a bad start by the rule. */
static void consider_incumbent(berth_cooling *c)
{
	berth_search *s = c->s;
	if (!s->best_has_order)
		berth_cooling_consider(c, s->best_dev, s->best);
	else if (memcmp(s->best_dev, c->rule_dev, (size_t)s->p->n_ops * sizeof *s->best_dev) != 0 &&
	         berth_search_budget_left(s, 1) > 0)
		berth_cooling_consider(c, s->best_dev, berth_search_offer(s, s->best_dev, NULL));
}

/* From the best with an order, or by the rule where that is better. */
static berth_status run_orders(berth_cooling *c, double first_temperature, int64_t n_steps, bool *ended,
                               berth_arena *tmp, berth_err *err)
{
	size_t n_ops = (size_t)c->s->p->n_ops;
	berth_keyed from = {c->order_dev, c->order_key}, found;
	berth_score score;
	if (berth_score_less(c->rule_score, c->order_score))
		from = (berth_keyed){.op_dev = c->rule_dev};
	*ended = !berth_anneal_cool(c->with_order, from, first_temperature, n_steps);
	found = berth_anneal_best(c->with_order, &score);
	if (berth_score_less(score, c->order_score)) {
		BERTH_COPY(c->order_dev, found.op_dev, n_ops);
		BERTH_COPY(c->order_key, found.op_key, n_ops);
		c->order_score = score;
	}
	/* Offered whatever it is worth, so that a run goes the same way with the evaluations that it made as
	 * its budget. */
	return isfinite(score.excess) ? berth_search_offer_keyed(c->s, found, tmp, err) : BERTH_OK;
}

/* For gains; not a number, so that nothing is said of gains, where nothing feasible is known. */
static double level(const berth_search *s)
{
	return berth_score_feasible(s->best) && s->best.value > 0 ? log(s->best.value) : NAN;
}

int64_t berth_cooling_steps(const berth_cooling *c)
{
	return berth_heats_steps(&c->heats);
}

static void shift(double *share, double gain, double gain_by_rule)
{
	if (gain > gain_by_rule)
		*share = fmin(*share * SHIFT, MOST_SHARE);
	else if (gain < gain_by_rule)
		*share = fmax(*share / SHIFT, LEAST_SHARE);
}

static berth_status run_both(berth_cooling *c, bool *ended, berth_arena *tmp, berth_err *err)
{
	double before = level(c->s), middle, first_temperature = berth_heats_temperature(&c->heats);
	int64_t n_steps = berth_heats_steps(&c->heats);
	bool early = c->moves && c->heats.n_steps < ORDERS_FROM;
	if (c->moves) {
		consider_incumbent(c);
		*ended = !berth_anneal_cool(c->by_rule, (berth_keyed){.op_dev = c->rule_dev},
		                            first_temperature, n_steps);
		if (*ended || (early && !berth_order_walk_quick(c->s)))
			return BERTH_OK;
	}
	middle = level(c->s);
	double by_rule = (before - middle) / (double)n_steps;
	if (c->walk) {
		double n = floor(c->walk_share * (double)n_steps);
		/* Over given orders, for as long as so many steps by the rule take. */
		berth_order_walk_start(c->walk);
		*ended = !berth_order_walk_run(c->walk,
		                               (int64_t)(n * (berth_order_walk_quick(c->s) ? QUICK : SLOW)));
		shift(&c->walk_share, (middle - level(c->s)) / n, by_rule);
		middle = level(c->s);
	}
	if (*ended || !c->with_order || early)
		return BERTH_OK;
	double n = floor(c->order_share * (double)n_steps);
	consider_incumbent(c);
	BERTH_TRY(run_orders(c, first_temperature, (int64_t)n, ended, tmp, err));
	shift(&c->order_share, (middle - level(c->s)) / n, by_rule);
	return BERTH_OK;
}

berth_status berth_cooling_run(berth_cooling *c, bool *ended, berth_arena *tmp, berth_err *err)
{
	berth_score before = c->s->best;
	BERTH_TRY(run_both(c, ended, tmp, err));
	berth_heats_tell(&c->heats, before, c->s->best);
	return BERTH_OK;
}

berth_status berth_cooling_finish(berth_cooling *c, berth_arena *tmp, berth_err *err)
{
	bool ended = !c->moves && !c->walk && !c->with_order;
	while (!ended)
		BERTH_TRY(berth_cooling_run(c, &ended, tmp, err));
	return BERTH_OK;
}
