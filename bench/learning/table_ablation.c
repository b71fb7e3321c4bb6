/* What is each part of `berth` worth? The method with one part taken away or exchanged, at one budget. */
#include "instances_of_learning.h"
#include "screen.h"

/* A policy as shipped, with fresh weights, and one that hears nothing of its neighbours. */
typedef enum weights { WEIGHTS_SHIPPED, WEIGHTS_RANDOM, WEIGHTS_DEAF, N_WEIGHTS } weights;

static void as_it_is(berth_agent_cfg *c) { (void)c; }
static void no_portfolio(berth_agent_cfg *c) { c->portfolio = false; }
static void no_far_seeds(berth_agent_cfg *c) { c->far = false; }
static void no_proposals(berth_agent_cfg *c) { c->proposals = false; }
static void no_orders(berth_agent_cfg *c) { c->orders = false; }

static const struct variant {
	const char *name;
	void (*change)(berth_agent_cfg *cfg);
	weights weights;
	bool by_hand; /* walks as set by hand */
} variants[] = {
	{"as it is", as_it_is, WEIGHTS_SHIPPED, false},
	{"random weights of the policy", as_it_is, WEIGHTS_RANDOM, false},
	{"a policy that does not see who gives to whom", as_it_is, WEIGHTS_DEAF, false},
	{"no policy", no_proposals, WEIGHTS_SHIPPED, false},
	{"walks as set by hand", as_it_is, WEIGHTS_SHIPPED, true},
	{"neither policy nor learned walks", no_proposals, WEIGHTS_SHIPPED, true},
	{"no portfolio", no_portfolio, WEIGHTS_SHIPPED, false},
	{"no partitions and communities", no_far_seeds, WEIGHTS_SHIPPED, false},
	{"no orders: placements by the system's rule", no_orders, WEIGHTS_SHIPPED, false},
};
enum { N_VARIANTS = BENCH_N(variants) };

/* Of the method below; one at a time. A method has no context of its own. */
static const struct variant *running;

static berth_status run_variant(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_agent_cfg cfg = berth_agent_cfg_default();
	running->change(&cfg);
	if (running->by_hand)
		s->cfg.walk_styles = &berth_walks_by_hand;
	return berth_agent_run(s, &cfg, tmp, err);
}

static const berth_method method = {"berth", "with a part less", true, run_variant, NULL, NULL};

/* The shipped policy with other weights, in mem. */
static berth_policy_file with_weights(const berth_policy_file *f, weights which, berth_arena *mem)
{
	berth_policy_file out = *f;
	berth_rng rng = berth_rng_seed(1, BERTH_STREAM_INIT);
	nn_real *w = params_of(f, mem);
	if (which == WEIGHTS_RANDOM)
		policy_init(&f->dims, w, &rng);
	if (which == WEIGHTS_DEAF)
		forget_rows(&f->dims, w, "node_upd_m", 0, INT32_MAX);
	out.params = w;
	return out;
}

/* Logarithms of the ratio to `as it is`, run by run with equal seeds. */
typedef struct cost {
	double ratio[MAX_SEEDS * N_SIX];
	int n;
} cost;

static double mean(const double *x, int32_t n, berth_arena *tmp)
{
	double sum = 0;
	(void)tmp;
	for (int32_t i = 0; i < n; i++)
		sum += x[i] / n;
	return sum;
}

/* All variants on one instance; costs[variant]. What does not fit counts as a hundred times as much. */
static void run_instance(const subject *x, const berth_policy_file policy[N_WEIGHTS], const bench_options *o,
                         cost costs[N_VARIANTS])
{
	double base[MAX_SEEDS], value[MAX_SEEDS];
	for (int v = 0; v < N_VARIANTS; v++) {
		const berth_search_cfg cfg = {.evaluations = o->evaluations,
		                              .policy = &policy[variants[v].weights]};
		running = &variants[v];
		bench_values(x, &method, &cfg, o->seeds, v ? value : base);
		for (int k = 0; k < o->seeds && v; k++)
			costs[v].ratio[costs[v].n++] = log(fmin(value[k] / base[k], 100));
	}
}

void table_ablation(const bench_options *o)
{
	static cost costs[N_VARIANTS];
	BERTH_ARENA(mem);
	berth_policy_file shipped, policy[N_WEIGHTS];
	MUST(berth_policy_builtin(&mem, &shipped, &err));
	for (int i = 0; i < N_WEIGHTS; i++)
		policy[i] = with_weights(&shipped, (weights)i, &mem);
	for (int i = 0; i < N_SIX; i++) {
		BENCH_OPEN(x, six[i].graph, six[i].system);
		run_instance(&x, policy, o, costs);
	}
	printf("\n## What each part is worth, %lld evaluations, %d seeds\n\nWhat `berth` loses where a part "
	       "of it is taken away or exchanged: geometric mean over the six instances above, with equal "
	       "seeds [95 %% bootstrap interval]. Annealing makes up for much.\n\n",
	       (long long)o->evaluations, o->seeds);
	bench_head("|loss");
	for (int v = 1; v < N_VARIANTS; v++) {
		const cost *c = &costs[v];
		berth_interval r = berth_bootstrap(c->ratio, c->n, mean, &mem);
		printf("| %s | %+.2f %% [%+.2f, %+.2f] |\n", variants[v].name, 100 * expm1(r.middle),
		       100 * expm1(r.low), 100 * expm1(r.high));
	}
}
