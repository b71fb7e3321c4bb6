/* Does the agent learn, and what is it worth? Three tables of docs/learning.md on six instances: learning
 * alone; `berth` against its parts and rivals; table policies. Same seeds, same tables. */
#include "instances_of_learning.h"
#include "learner.h"
#include "portfolio.h"

#include <math.h>

/* So many runs of a method, the interquartile mean with its interval. */
static berth_interval run_method(const subject *x, const char *method, const bench_options *o, double *value)
{
	const berth_search_cfg cfg = {.evaluations = o->evaluations};
	bench_values(x, bench_method(method), &cfg, o->seeds, value);
	return bench_iqm(value, o->seeds);
}

static void open_six(subject *x, int i)
{
	bench_open(x, six[i].graph, six[i].system);
	printf("| %s on %s", six[i].graph, six[i].system);
}

/* ---- learning alone ---- */

typedef struct reward {
	double sum;
	int64_t n;
} reward;

static void add_reward(reward *r, const berth_step_stats *s)
{
	r->sum += s->mean * s->n;
	r->n += s->n;
}

/* The sampler alone: no portfolio, no refinement; trained or with its untrained weights. first and last: mean
 * reward of the first and last tenth. */
static double run_sampler(const subject *x, bool train, uint64_t seed, int64_t evaluations, double *first,
                          double *last)
{
	berth_arena mem = {0}, tmp = {0};
	berth_search s, *all = &s;
	berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	berth_learner_cfg learner = berth_learner_cfg_default();
	berth_learner l;
	reward begin = {0}, end = {0};
	int64_t left;
	learner.hints = false;
	if (!train)
		learner.epochs = learner.clone_steps = 0;
	MUST(berth_search_new(&x->p, &cfg, &mem, &s, &err));
	MUST(berth_learner_new(&learner, seed, NULL, &all, 1, &mem, &tmp, &l, &err));
	MUST(berth_single_reference(&s, &l.pair[0].reference, &tmp, &err));
	while ((left = berth_search_budget_left(&s, berth_learner_want(&l, 0))) > 0) {
		berth_step_stats stats;
		MUST(berth_learner_step(&l, 0, (int32_t)left, &stats, &err));
		if (s.evaluations <= evaluations / 10)
			add_reward(&begin, &stats);
		if (s.evaluations > evaluations - evaluations / 10)
			add_reward(&end, &stats);
	}
	*first = begin.sum / (double)begin.n;
	*last = end.sum / (double)end.n;
	double value = berth_score_feasible(s.best) ? s.best.value : INFINITY;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return value;
}

static void run_learn(const bench_options *o)
{
	int disjoint = 0, rising = 0;
	printf("\n### Learning alone: no portfolio, no refinement, %lld evaluations, %d seeds\n\n"
	       "Best value in ms: interquartile mean [95 %% bootstrap interval]. Reward: log(best single "
	       "device / value), mean of the first and the last tenth of the samples.\n\n",
	       (long long)o->evaluations, o->seeds);
	bench_head("instance|best of random|untrained sampler|trained|reward, first tenth|last tenth|"
	           "intervals disjoint");
	for (int i = 0; i < N_SIX; i++) {
		double v[MAX_SEEDS], blank[MAX_SEEDS], trained[MAX_SEEDS], first[MAX_SEEDS], last[MAX_SEEDS],
			a, b;
		subject x;
		open_six(&x, i);
		berth_interval random = run_method(&x, "random", o, v);
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
		bench_print_interval(random, 1e3, "%.4g");
		bench_print_interval(u, 1e3, "%.4g");
		bench_print_interval(t, 1e3, "%.4g");
		bench_print_interval(f, 1, "%.3f");
		bench_print_interval(l, 1, "%.3f");
		printf(" | %s |\n", apart ? "yes" : "no");
		fflush(stdout);
		bench_close(&x);
	}
	printf("\nIntervals disjoint on %d of %d instances; mean reward rises beyond the intervals on %d of "
	       "%d.\n",
	       disjoint, N_SIX, rising, N_SIX);
}

const bench_entry bench_learn = {
	"learn", "", "learning", "30 min",
	"learning alone", {.evaluations = 10000, .seeds = 10}, run_learn};

/* ---- berth and its rivals ---- */

static void run_berth(const bench_options *o)
{
	static const char *const once[] = {"single", "heft", "ceft-cpop", "pbqp", "ceft-pbqp"};
	enum { N_ONCE = sizeof once / sizeof *once };
	const berth_search_cfg quick = {.seed = 1};
	double log_local = 0, log_anneal = 0;
	int worse = 0;
	printf("\n### `berth` against its parts and its rivals, %lld evaluations each, %d seeds\n\n"
	       "Value in ms: interquartile mean [95 %% bootstrap interval]. `local-search` starts from the "
	       "best heuristic and goes on until the budget ends.\n\n",
	       (long long)o->evaluations, o->seeds);
	bench_head(
		"instance|best single device|best heuristic|local-search|anneal|berth|berth / local-search|"
		"berth / anneal|bound");
	for (int i = 0; i < N_SIX; i++) {
		double v[MAX_SEEDS], single = INFINITY, best = INFINITY;
		const char *which = once[0];
		subject x;
		open_six(&x, i);
		bench_bound(&x);
		for (int k = 0; k < N_ONCE; k++) {
			double value = bench_value_of(&x, once[k], &quick);
			single = k == 0 ? value : single;
			which = value < best ? once[k] : which;
			best = fmin(best, value);
		}
		bench_print_value(single * 1e3, "%.4g", "does not fit");
		printf(" | %.4g (%s)", best * 1e3, which);
		berth_interval local = run_method(&x, "local-search", o, v),
			       anneal = run_method(&x, "anneal", o, v), ours = run_method(&x, "berth", o, v);
		for (int k = 0; k < o->seeds; k++)
			worse += v[k] > best;
		log_local += log(ours.middle / local.middle) / N_SIX;
		log_anneal += log(ours.middle / anneal.middle) / N_SIX;
		bench_print_interval(local, 1e3, "%.4g");
		bench_print_interval(anneal, 1e3, "%.4g");
		bench_print_interval(ours, 1e3, "%.4g");
		printf(" | %.4f | %.4f | %.4g |\n", ours.middle / local.middle, ours.middle / anneal.middle,
		       x.b.value[BERTH_LATENCY] * 1e3);
		fflush(stdout);
		bench_close(&x);
	}
	printf("\nGeometric mean of berth / local-search: %.4f; of berth / anneal: %.4f. Worse than the "
	       "portfolio or the best single device: %d of %d runs.\n",
	       exp(log_local), exp(log_anneal), worse, N_SIX * o->seeds);
}

const bench_entry bench_berth = {
	"berth", "", "learning", "20 min",
	"berth against its parts and its rivals", {.evaluations = 10000, .seeds = 10}, run_berth};

/* ---- table policies ---- */

static void run_post(const bench_options *o)
{
	static const char *const method[] = {"random", "cem", "ppo", "post"};
	enum { N = sizeof method / sizeof *method };
	double mean[N] = {0};
	printf("\n### Table policies: `post` against its halves, %lld evaluations, %d seeds\n\n"
	       "Best value in ms: interquartile mean [95 %% bootstrap interval].\n\n",
	       (long long)o->evaluations, o->seeds);
	bench_head("instance|random|cem|ppo|post");
	for (int i = 0; i < N_SIX; i++) {
		subject x;
		open_six(&x, i);
		for (int m = 0; m < N; m++) {
			double v[MAX_SEEDS];
			berth_interval r = run_method(&x, method[m], o, v);
			mean[m] += log(r.middle) / N_SIX;
			bench_print_interval(r, 1e3, "%.4g");
			fflush(stdout);
		}
		printf(" |\n");
		bench_close(&x);
	}
	printf("\nGeometric mean of post / cem: %.4f; of post / ppo: %.4f.\n", exp(mean[3] - mean[1]),
	       exp(mean[3] - mean[2]));
}

const bench_entry bench_post = {
	"post", "", "learning", "10 min",
	"table policies: post against its halves", {.evaluations = 2400, .seeds = 10}, run_post};
