/* The shipped policy on what it was not trained on: other model families, other machines, other numbers of
 * devices. */
#include "instances_of_learning.h"

/* What is measured of a pair; the first seven by the best known. SAME_TIME: annealing in the time of
 * START. */
enum { SINGLE, HEFT, POLICY, DRAWN, START, SAME_TIME, FEW, N_SHOWN, ANNEAL = N_SHOWN, BERTH, N_VALUES };
static const char *const methods[] = {"single", "heft", "policy", "policy", "berth",
                                      "anneal", "berth", "anneal", "berth"};

typedef struct sums {
	int n, not_worse, loose, strict, few_enough, unfit;
	bench_mean by[N_SHOWN]; /* the best known; what does not fit counts as a hundred times that */
	double worst;           /* of policy */
	int64_t evaluations;    /* of START */
} sums;

enum { FEW_EVALUATIONS = 100, DRAWS = 16 };

void open_proposals(const subject *x, berth_metric metric, berth_arena *mem, berth_arena *tmp,
                    berth_search *s, berth_proposals *out)
{
	const berth_search_cfg cfg = {
		.objective = berth_objective_of(metric), .seed = 1, .evaluations = BERTH_UNLIMITED};
	berth_policy_file *f = bench_new(mem, 1, sizeof *f);
	MUST(berth_policy_builtin(mem, f, &err));
	MUST(berth_search_new(&x->p, &cfg, mem, s, &err));
	MUST(berth_proposals_new(f, s, mem, tmp, out, &err));
}

/* The best of one pass and of 16 draws. */
static double run_draws(const subject *x, berth_metric metric)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_proposals p;
	berth_search s;
	open_proposals(x, metric, &mem, &tmp, &s, &p);
	MUST(berth_proposals_offer_greedy(&p, &tmp, &err));
	berth_proposals_offer_draws(&p, (int64_t)2 * DRAWS);
	return bench_found(&s);
}

/* `berth` with no evaluations asked. */
static double run_start(const subject *x, berth_metric metric, int64_t *evaluations, double *seconds)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	const berth_search_cfg cfg = {.objective = berth_objective_of(metric), .seed = 1};
	berth_search s;
	double from = berth_cpu_seconds();
	MUST(berth_search_new(&x->p, &cfg, &mem, &s, &err));
	MUST(berth_method_run(bench_method("berth"), &s, &tmp, &err));
	*evaluations = s.evaluations;
	*seconds = berth_cpu_seconds() - from;
	return bench_found(&s);
}

/* The pair goes to each of n sums, where it has a placement and the objective a value. */
static void measure(const bench_pair pair, berth_metric metric, int64_t evaluations, int n, sums *const *to)
{
	double v[N_VALUES], best = INFINITY, seconds;
	int64_t at_start;
	BENCH_OPEN(x, pair.graph, pair.system);
	if (berth_problem_feasible(&x.p, NULL) != BERTH_OK ||
	    berth_metric_check(metric, &x.p, NULL) != BERTH_OK)
		return;
	v[START] = run_start(&x, metric, &at_start, &seconds);
	const berth_search_cfg same = {.objective = berth_objective_of(metric),
	                               .seed = 1,
	                               .evaluations = BERTH_UNLIMITED,
	                               .cpu_s = seconds};
	v[SAME_TIME] = bench_value(&x, bench_method("anneal"), &same);
	for (int k = 0; k < N_VALUES; k++) {
		int64_t most = k == FEW ? FEW_EVALUATIONS : k >= ANNEAL ? evaluations : 0;
		if (k != START && k != SAME_TIME)
			v[k] = bench_value_of(&x, methods[k], metric, most);
		if (k == DRAWN)
			v[k] = fmin(run_draws(&x, metric), v[POLICY]);
		best = k == START || k == POLICY ? best : fmin(best, v[k]);
	}
	for (int i = 0; i < n && isfinite(best); i++) {
		sums *s = to[i];
		s->n++;
		s->evaluations += at_start;
		s->not_worse += v[POLICY] <= v[HEFT] * 1.0001;
		s->loose += v[HEFT] > 1.02 * best;
		s->strict += v[HEFT] > 1.02 * best && v[POLICY] < v[HEFT] * 0.9999;
		s->few_enough += v[FEW] <= v[ANNEAL] * 1.005;
		s->unfit += !isfinite(v[POLICY]) && isfinite(v[START]);
		s->worst = fmax(s->worst, v[POLICY] / best);
		for (int k = 0; k < N_SHOWN; k++)
			bench_add(&s->by[k], fmin(v[k] / best, 100));
	}
}

static void print_head(void)
{
	bench_head("|instances|single|heft|policy|its worst|16 draws|start|evaluations of start|"
	           "anneal, its CPU time|berth, 100|policy not worse than "
	           "heft|better where heft is 2 % off|berth, 100 within 0.5 % of anneal|policy does not fit, "
	           "others do");
}

static void print_row(const char *name, const sums *s)
{
	printf("| %s | %d | %.3f | %.3f | **%.3f** | %.3f | %.3f | %.3f | %.0f | %.3f | %.3f | %.0f %% | "
	       "%.0f %% of %d | %.0f %% | %d |\n", name, s->n, bench_mean_of(s->by[SINGLE]),
	       bench_mean_of(s->by[HEFT]), bench_mean_of(s->by[POLICY]), s->worst,
	       bench_mean_of(s->by[DRAWN]), bench_mean_of(s->by[START]), (double)s->evaluations / s->n,
	       bench_mean_of(s->by[SAME_TIME]), bench_mean_of(s->by[FEW]), 100.0 * s->not_worse / s->n,
	       s->loose ? 100.0 * s->strict / s->loose : 100.0, s->loose,
	       100.0 * s->few_enough / s->n, s->unfit);
}

void table_zero_shot(const bench_options *o)
{
	sums by_graph[HELD_OUT_GRAPHS] = {{0}}, by_system[HELD_OUT_SYSTEMS] = {{0}}, by_size[2] = {{0}},
	     all = {0};
	for (int i = 0; i < HELD_OUT_PAIRS; i++) {
		int graph = i / HELD_OUT_SYSTEMS, system = i % HELD_OUT_SYSTEMS;
		sums *const to[] = {&all, &by_graph[graph], &by_system[system],
		                    &by_size[system >= UNSEEN_SIZES]};
		measure(held_out(i), BERTH_LATENCY, o->evaluations, 4, to);
	}
	printf("\n## The shipped policy on what it has not seen\n\n`checkpoints/zero-shot.safetensors` on "
	       "model families that it was not trained on (random graphs: other seeds), on the built-in "
	       "machines and on random ones. Values relative to the best known (geometric mean; the best of "
	       "annealing and `berth` with %lld evaluations and of all that is shown). `policy` is one "
	       "forward pass, decoded up to eight times from nothing and from what quick answers and two "
	       "partitions come to; `16 draws` the best of that and of 16 draws. `start` is `berth` with no "
	       "evaluations asked: portfolio and policy. `berth` has %d evaluations, `anneal` %lld.\n\n",
	       (long long)o->evaluations, FEW_EVALUATIONS, (long long)o->evaluations);
	print_head();
	for (int i = 0; i < HELD_OUT_GRAPHS; i++)
		if (by_graph[i].n)
			print_row(held_out_graphs[i], &by_graph[i]);
	for (int k = 0; k < HELD_OUT_SYSTEMS; k++)
		if (by_system[k].n)
			print_row(held_out_systems[k], &by_system[k]);
	print_row("numbers of devices that training saw", &by_size[0]);
	print_row("numbers that it did not: 7, 12, 16", &by_size[1]);
	print_row("all", &all);
}

/* ---- new pairs ---- */

void table_new_pairs(const bench_options *o)
{
	enum { N_NEW = 100, FIRST_SEED = 100000 }; /* of no machine of training or of another table */
	static const berth_metric metric[] = {BERTH_LATENCY, BERTH_THROUGHPUT, BERTH_ENERGY, BERTH_EDP};
	sums all[BENCH_N(metric)] = {{0}};
	berth_rng rng = berth_rng_seed(FIRST_SEED, BERTH_STREAM_RANDOM);
	for (int seed = FIRST_SEED; all[0].n < N_NEW; seed++) {
		char machine[HELD_OUT_TEXT];
		const char *model = held_out_model((uint32_t)seed % HELD_OUT_FAMILIES, &rng);
		held_out_machine(seed, &rng, machine);
		for (int m = 0; m < BENCH_N(metric); m++)
			measure((bench_pair){model, machine}, metric[m], o->evaluations, 1,
			        (sums *[]){&all[m]});
	}
	printf("\n## %d new pairs\n\nThe same on pairs drawn by a rule "
	       "(`bench/learning/instances_of_learning.c`): a model of each family that training did not see "
	       "in turn, each on a random machine of its own, of three to seven devices. For each objective; "
	       "`berth` and `anneal` have %lld evaluations.\n\n", N_NEW, (long long)o->evaluations);
	print_head();
	for (int m = 0; m < BENCH_N(metric); m++)
		print_row(berth_metrics[metric[m]].name, &all[m]);
}
