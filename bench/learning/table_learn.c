/* Does the agent learn, and what is it worth? Two tables of docs/learning.md on six instances: learning
 * alone, and objectives other than latency. Same seeds, same tables. */
#include "instances_of_learning.h"
#include "learner.h"
#include "portfolio.h"

/* So many runs of a method, the interquartile mean with its interval; printed as a cell. */
static berth_interval run_method(const subject *x, const char *method, const bench_options *o)
{
	const berth_search_cfg cfg = {.evaluations = o->evaluations};
	berth_interval r = bench_iqm_value(x, bench_method(method), &cfg, o->seeds);
	bench_print_interval(r, 1e3, "%.4g");
	return r;
}

/* ---- learning alone ---- */

static void add_reward(bench_mean *r, const berth_step_stats *s)
{
	r->log += s->mean * s->n;
	r->n += (int)s->n;
}

/* The sampler alone: no portfolio, no refinement; trained or with its untrained weights. first and last: mean
 * reward of the first and last tenth. */
static double run_sampler(const subject *x, bool train, uint64_t seed, int64_t evaluations, double *first,
                          double *last)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_search s, *all = &s;
	const berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	berth_learner_cfg learner = berth_learner_cfg_default();
	berth_learner l;
	bench_mean begin = {0}, end = {0};
	int64_t left;
	learner.hints = false;
	if (!train)
		learner.epochs = learner.clone_steps = 0;
	MUST(berth_search_new(&x->p, &cfg, &mem, &s, &err));
	MUST(berth_learner_new(&learner, seed, NULL, &all, 1, &mem, &tmp, &l, &err));
	MUST(berth_single_reference(&s, &l.pair[0].reference, &tmp, &err));
	while ((left = berth_search_budget_left(&s, learner.batch)) > 0) {
		berth_step_stats stats;
		MUST(berth_learner_step(&l, 0, (int32_t)left, &stats, &err));
		if (s.evaluations <= evaluations / 10)
			add_reward(&begin, &stats);
		if (s.evaluations > evaluations - evaluations / 10)
			add_reward(&end, &stats);
	}
	*first = begin.log / begin.n;
	*last = end.log / end.n;
	return bench_found(&s);
}

void table_learn(const bench_options *o)
{
	int disjoint = 0, rising = 0;
	printf("\n### Learning alone: no portfolio, no refinement, %lld evaluations, %d seeds\n\nBest value "
	       "in ms: interquartile mean [95 %% bootstrap interval]. Reward: log(best single device / "
	       "value), mean of the first and the last tenth of the samples.\n\n",
	       (long long)o->evaluations, o->seeds);
	bench_head("instance|best of random|untrained sampler|trained|reward, first tenth|last tenth|"
	           "intervals disjoint");
	for (int i = 0; i < N_SIX; i++) {
		double blank[MAX_SEEDS], trained[MAX_SEEDS], first[MAX_SEEDS], last[MAX_SEEDS], a, b;
		BENCH_OPEN_SIX(x, i);
		berth_interval random = run_method(&x, "random", o);
		for (int k = 0; k < o->seeds; k++) {
			uint64_t seed = (uint64_t)k + 1;
			blank[k] = run_sampler(&x, false, seed, o->evaluations, &a, &b);
			trained[k] = run_sampler(&x, true, seed, o->evaluations, &first[k], &last[k]);
		}
		berth_interval u = bench_iqm(blank, o->seeds), t = bench_iqm(trained, o->seeds),
			       f = bench_iqm(first, o->seeds), l = bench_iqm(last, o->seeds);
		bool apart = t.high < random.low && t.high < u.low;
		disjoint += apart;
		rising += l.low > f.high;
		bench_print_interval(u, 1e3, "%.4g");
		bench_print_interval(t, 1e3, "%.4g");
		bench_print_interval(f, 1, "%.3f");
		bench_print_interval(l, 1, "%.3f");
		printf(" | %s |\n", apart ? "yes" : "no");
	}
	printf("\nIntervals disjoint on %d of %d instances; mean reward rises beyond the intervals on %d of "
	       "%d.\n",
	       disjoint, N_SIX, rising, N_SIX);
}

/* ---- the other objectives ---- */

/* Of one objective: berth by the best single device, by the best heuristic, by plain annealing and by
 * annealing. */
typedef struct standing {
	int worse;
	bench_mean by[4];
} standing;

static void print_objective(int i, berth_metric m, const bench_options *o, standing *s)
{
	static const char *const heuristics[] = {"single", "heft", "ceft-cpop", "pbqp", "ceft-pbqp",
	                                         "round-robin", "peft", "heft-lookahead"};
	const berth_method *const rival[] = {&plain_annealing, bench_method("anneal"), bench_method("berth")};
	const double scale = m == BERTH_THROUGHPUT ? 1e3 : 1;
	double single, best, bound, value[3];
	berth_objective goal = berth_objective_of(m);
	const berth_search_cfg cfg = {.objective = goal, .evaluations = o->evaluations};
	printf("| %s, %s on %s", berth_metrics[m].name, six[i].graph, six[i].system);
	BENCH_OPEN(x, six[i].graph, six[i].system);
	bench_bound(&x);
	MUST(berth_bounds_objective(&x.p, &x.b, &goal, &x.tmp, &bound, &err));
	printf(" (%s)", print_at_once(&x, m, heuristics, BENCH_N(heuristics), scale, &single, &best));
	for (int k = 0; k < 3; k++) {
		berth_interval r = bench_iqm_value(&x, rival[k], &cfg, o->seeds);
		bench_print_interval(r, scale, "%.4g");
		value[k] = r.middle;
	}
	double berth = value[2];
	printf(" | %.4f | %.4f | %.4g |\n", berth / value[0], berth / value[1], bound * scale);
	bench_add(&s->by[0], fmin(berth / single, 1)); /* what does not fit counts as no worse */
	bench_add(&s->by[1], berth / best);
	bench_add(&s->by[2], berth / value[0]);
	bench_add(&s->by[3], berth / value[1]);
	s->worse += berth > fmin(best, single) * (1 + 1e-9);
}

void table_objectives(const bench_options *o)
{
	static const berth_metric metrics[] = {BERTH_ENERGY, BERTH_EDP, BERTH_THROUGHPUT};
	standing s[3] = {{0}};
	printf("\n## Energy, energy-delay product and throughput, %lld evaluations, %d seeds\n\nJ, J s and "
	       "ms a sample: interquartile mean [95 %% bootstrap interval]. The best heuristic is that of "
	       "all that answer at once. Plain: annealing as it was before there were estimates, from the "
	       "seeds of that time.\n\n", (long long)o->evaluations, o->seeds);
	bench_head("objective, instance|best single device|best heuristic|plain|anneal|berth|berth / plain|"
	           "berth / anneal|bound");
	for (int k = 0; k < 3 * N_SIX; k++)
		print_objective(k % N_SIX, metrics[k / N_SIX], o, &s[k / N_SIX]);
	printf("\nGeometric means of `berth` to");
	for (int m = 0; m < 3; m++)
		printf("%s the best single device, the best heuristic, plain annealing and annealing: %.4f, "
		       "%.4f, %.4f, %.4f for %s (worse than a part on %d of %d)", m ? ";" : "",
		       bench_mean_of(s[m].by[0]), bench_mean_of(s[m].by[1]), bench_mean_of(s[m].by[2]),
		       bench_mean_of(s[m].by[3]), berth_metrics[metrics[m]].name, s[m].worse, N_SIX);
	printf(".\n");
}
