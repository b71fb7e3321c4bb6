/* The shipped policy on what it was not trained on: other model families, other machines, other numbers of
 * devices. */
#include "instances_of_learning.h"
#include "policy_file.h"
#include "proposals.h"

#include <math.h>
#include <string.h>

typedef struct row {
	double single, heft, portfolio, policy, draws, few, anneal, best;
} row;

typedef struct sums {
	int n, not_worse, loose, strict, few_enough, unfit;
	double single, heft, portfolio, policy, draws, few; /* logarithms to the best known */
	double worst;                                       /* of policy */
} sums;

enum { FEW = 100, DRAWS = 16 };

static double value_of(const subject *x, const char *method, berth_metric metric, int64_t evaluations)
{
	berth_search_cfg cfg = {
		.objective = berth_objective_of(metric), .seed = 1, .evaluations = evaluations};
	return bench_value_of(x, method, &cfg);
}

/* The best of one pass and of 16 draws. */
static double run_draws(const subject *x, berth_metric metric)
{
	berth_arena mem = {0}, tmp = {0};
	berth_search_cfg cfg = {
		.objective = berth_objective_of(metric), .seed = 1, .evaluations = BERTH_UNLIMITED};
	berth_policy_file f;
	berth_proposals p;
	berth_search s;
	MUST(berth_policy_builtin(&mem, &f, &err));
	MUST(berth_search_new(&x->p, &cfg, &mem, &s, &err));
	MUST(berth_proposals_new(&f, &s, &mem, &tmp, &p, &err));
	MUST(berth_proposals_offer_greedy(&p, &tmp, &err));
	berth_proposals_offer_draws(&p, (int64_t)2 * DRAWS);
	double value = berth_score_feasible(s.best) ? s.best.value : INFINITY;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return value;
}

static bool measure(const subject *x, berth_metric metric, int64_t evaluations, row *r)
{
	if (berth_problem_feasible(&x->p, NULL) != BERTH_OK ||
	    berth_metric_check(metric, &x->p, NULL) != BERTH_OK)
		return false;
	r->single = value_of(x, "single", metric, 0);
	r->heft = value_of(x, "heft", metric, 0);
	r->policy = value_of(x, "policy", metric, 0);
	r->draws = fmin(run_draws(x, metric), r->policy);
	r->portfolio = value_of(x, "berth", metric, 0);
	r->few = value_of(x, "berth", metric, FEW);
	r->anneal = value_of(x, "anneal", metric, evaluations);
	r->best = fmin(fmin(r->anneal, value_of(x, "berth", metric, evaluations)),
	               fmin(fmin(r->few, r->draws), fmin(r->single, r->heft)));
	return isfinite(r->best);
}

static double loss(double value, double best)
{
	return log(fmin(value / best, 100)); /* what does not fit counts as a hundred times the best known */
}

static void add_row(sums *s, const row *r)
{
	s->n++;
	s->not_worse += r->policy <= r->heft * 1.0001;
	s->loose += r->heft > 1.02 * r->best;
	s->strict += r->heft > 1.02 * r->best && r->policy < r->heft * 0.9999;
	s->few_enough += r->few <= r->anneal * 1.005;
	s->unfit += !isfinite(r->policy) && isfinite(r->portfolio);
	s->worst = fmax(s->worst, r->policy / r->best);
	s->single += loss(r->single, r->best);
	s->heft += loss(r->heft, r->best);
	s->portfolio += loss(r->portfolio, r->best);
	s->policy += loss(r->policy, r->best);
	s->draws += loss(r->draws, r->best);
	s->few += loss(r->few, r->best);
}

static void print_head(void)
{
	bench_head("|instances|single|heft|policy|its worst|16 draws|start|berth, 100|policy not worse than "
	           "heft|"
	           "better where heft is 2 % off|berth, 100 within 0.5 % of anneal|policy does not fit, "
	           "others do");
}

static void print_row(const char *name, const sums *s)
{
	printf("| %s | %d | %.3f | %.3f | **%.3f** | %.3f | %.3f | %.3f | %.3f | %.0f %% | %.0f %% of %d | "
	       "%.0f %% | %d |\n",
	       name, s->n, exp(s->single / s->n), exp(s->heft / s->n), exp(s->policy / s->n), s->worst,
	       exp(s->draws / s->n), exp(s->portfolio / s->n), exp(s->few / s->n),
	       100.0 * s->not_worse / s->n, s->loose ? 100.0 * s->strict / s->loose : 100.0, s->loose,
	       100.0 * s->few_enough / s->n, s->unfit);
}

static void run_zero_shot(const bench_options *o)
{
	int64_t evaluations = o->evaluations;
	sums by_graph[HELD_OUT_GRAPHS] = {{0}}, by_system[HELD_OUT_SYSTEMS] = {{0}}, seen = {0}, unseen = {0},
	     all = {0};
	for (int i = 0; i < HELD_OUT_GRAPHS; i++)
		for (int k = 0; k < HELD_OUT_SYSTEMS; k++) {
			row r;
			subject x;
			bench_open(&x, held_out_graphs[i], held_out_systems[k].name);
			bool ok = measure(&x, BERTH_LATENCY, evaluations, &r);
			bench_close(&x);
			if (!ok)
				continue;
			add_row(&by_graph[i], &r);
			add_row(&by_system[k], &r);
			add_row(held_out_systems[k].unseen_size ? &unseen : &seen, &r);
			add_row(&all, &r);
		}
	printf("\n## The shipped policy on what it has not seen\n\n"
	       "`checkpoints/zero-shot.safetensors` on model families that it was not trained on (random "
	       "graphs: other seeds), on the built-in machines and on random ones. Values relative to the "
	       "best known (geometric mean; the best of annealing and `berth` with %lld evaluations and of "
	       "all that is shown). `policy` is one forward pass, decoded up to eight times from nothing and "
	       "from what quick answers and two partitions come to; `16 draws` the best "
	       "of that and of 16 draws. `start` is `berth` with no evaluations asked: portfolio and "
	       "policy. `berth` has %d evaluations, `anneal` %lld.\n\n",
	       (long long)evaluations, FEW, (long long)evaluations);
	print_head();
	for (int i = 0; i < HELD_OUT_GRAPHS; i++)
		if (by_graph[i].n)
			print_row(held_out_graphs[i], &by_graph[i]);
	for (int k = 0; k < HELD_OUT_SYSTEMS; k++)
		if (by_system[k].n)
			print_row(held_out_systems[k].name, &by_system[k]);
	print_row("numbers of devices that training saw", &seen);
	print_row("numbers that it did not: 7, 12, 16", &unseen);
	print_row("all", &all);
}

const bench_entry bench_zero_shot = {
	"zero-shot", "", "learning", "30 min",
	"the shipped policy on what it has not seen", {.evaluations = 10000}, run_zero_shot};

/* ---- new pairs ---- */

enum { N_NEW = 100, FIRST_SEED = 100000 }; /* of no machine of training or of another table */

static void run_new_pairs(const bench_options *o)
{
	int64_t evaluations = o->evaluations;
	static const berth_metric metric[] = {BERTH_LATENCY, BERTH_THROUGHPUT, BERTH_ENERGY, BERTH_EDP};
	enum { N_METRICS = sizeof metric / sizeof *metric };
	sums all[N_METRICS] = {{0}};
	berth_rng rng = berth_rng_seed(FIRST_SEED, BERTH_STREAM_RANDOM);
	for (int seed = FIRST_SEED; all[0].n < N_NEW; seed++) {
		char machine[HELD_OUT_TEXT];
		const char *model = held_out_model((uint32_t)seed % HELD_OUT_FAMILIES, &rng);
		subject x;
		held_out_machine(seed, &rng, machine);
		bench_open(&x, model, machine);
		for (int m = 0; m < N_METRICS; m++) {
			row r;
			if (measure(&x, metric[m], evaluations, &r))
				add_row(&all[m], &r);
		}
		bench_close(&x);
	}
	printf("\n## %d new pairs\n\nThe same on pairs drawn by a rule "
	       "(`bench/learning/instances_of_learning.c`): a "
	       "model of each family that training did not see in turn, each on a random machine of its own, "
	       "of three to seven devices. For each objective; `berth` and `anneal` have %lld "
	       "evaluations.\n\n",
	       N_NEW, (long long)evaluations);
	print_head();
	for (int m = 0; m < N_METRICS; m++)
		print_row(berth_metrics[metric[m]].name, &all[m]);
}

const bench_entry bench_new_pairs = {
	"new-pairs", "", "learning", "1 h",
	"the same on 100 pairs drawn by a rule, for each objective", {.evaluations = 10000}, run_new_pairs};
