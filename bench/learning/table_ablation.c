/* What is each part of `berth` worth? The method with one part taken away or exchanged, at one budget:
 * within the whole, where annealing makes up for much, and the agent alone, without annealing. */
#include "instances_of_learning.h"

/* A policy as shipped, with fresh weights, and one that hears nothing of its neighbours. */
typedef enum weights { WEIGHTS_SHIPPED, WEIGHTS_RANDOM, WEIGHTS_DEAF, N_WEIGHTS } weights;

static void as_it_is(berth_agent_cfg *c) { (void)c; }
static void no_edges(berth_agent_cfg *c) { c->edges = false; }
static void no_portfolio(berth_agent_cfg *c) { c->portfolio = false; }
static void no_proposals(berth_agent_cfg *c) { c->proposals = false; }
static void no_ce(berth_agent_cfg *c) { c->learner.clone_steps = 0; }
static void no_ppo(berth_agent_cfg *c) { c->learner.epochs = 0; }
static void no_grouping(berth_agent_cfg *c) { c->learner.groups = 4096; }
static void no_learning(berth_agent_cfg *c)
{
	c->learn_share = c->learner.epochs = c->learner.clone_steps = 0;
}
static void sequential(berth_agent_cfg *c) { c->sequential_cells = INT64_MAX; }
static void no_orders(berth_agent_cfg *c) { c->orders = false; }
static void one_shot(berth_agent_cfg *c) { c->sequential_cells = 0; }

static const struct variant {
	const char *name;
	void (*change)(berth_agent_cfg *cfg);
	weights weights;
} variants[] = {
	{"as it is", as_it_is, WEIGHTS_SHIPPED},
	{"random weights of the policy", as_it_is, WEIGHTS_RANDOM},
	{"no policy", no_proposals, WEIGHTS_SHIPPED},
	{"no edges: policy and learner do not see who gives to whom", no_edges, WEIGHTS_DEAF},
	{"no portfolio", no_portfolio, WEIGHTS_SHIPPED},
	{"no cross-entropy", no_ce, WEIGHTS_SHIPPED},
	{"no PPO", no_ppo, WEIGHTS_SHIPPED},
	{"no grouping", no_grouping, WEIGHTS_SHIPPED},
	{"no learning", no_learning, WEIGHTS_SHIPPED},
	{"no orders: placements by the system's rule", no_orders, WEIGHTS_SHIPPED},
	{"one-shot decoding, whatever the size", one_shot, WEIGHTS_SHIPPED},
	{"sequential decoding, whatever the size", sequential, WEIGHTS_SHIPPED},
	{"the same from random weights", sequential, WEIGHTS_RANDOM},
};
enum { N_VARIANTS = BENCH_N(variants) };

/* Of the method below; one at a time. A method has no context of its own. */
static const struct variant *running;
static bool anneals;

static berth_status run_variant(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_agent_cfg cfg = berth_agent_cfg_default();
	running->change(&cfg);
	cfg.anneal = anneals;
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
	static cost costs[2][N_VARIANTS];
	BERTH_ARENA(mem);
	berth_policy_file shipped, policy[N_WEIGHTS];
	MUST(berth_policy_builtin(&mem, &shipped, &err));
	for (int i = 0; i < N_WEIGHTS; i++)
		policy[i] = with_weights(&shipped, (weights)i, &mem);
	for (int i = 0; i < N_SIX; i++) {
		BENCH_OPEN(x, six[i].graph, six[i].system);
		for (int alone = 0; alone < 2; alone++) {
			anneals = !alone;
			run_instance(&x, policy, o, costs[alone]);
		}
	}
	printf("\n## What each part is worth, %lld evaluations, %d seeds\n\nCost of taking a part of `berth` "
	       "away or of exchanging it: geometric mean over the six instances above, relative to `berth` "
	       "as it is, with equal seeds\n[95 %% bootstrap interval]. Within the whole, annealing makes up "
	       "for much; the agent alone is policy, portfolio and learning without annealing.\n\n",
	       (long long)o->evaluations, o->seeds);
	bench_head("|within the whole|the agent alone");
	for (int v = 1; v < N_VARIANTS; v++) {
		printf("| %s", variants[v].name);
		for (int alone = 0; alone < 2; alone++) {
			const cost *c = &costs[alone][v];
			berth_interval r = berth_bootstrap(c->ratio, c->n, mean, &mem);
			printf(" | %+.2f %% [%+.2f, %+.2f]", 100 * expm1(r.middle), 100 * expm1(r.low),
			       100 * expm1(r.high));
		}
		printf(" |\n");
	}
}
