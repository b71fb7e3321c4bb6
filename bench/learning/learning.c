/* berth-learning: does the agent learn, and what is it worth? Prints the tables of docs/learning.md as
 * Markdown; see --help. Same seeds, same tables. */
#include "fine_tune.h"
#include "learner.h"
#include "methods.h"
#include "parts.h"
#include "portfolio.h"
#include "statistics.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SEEDS = 100 };

static const struct {
	const char *graph, *system;
} instances[] = {
	{"zoo:inception-v3", "cpu+2gpu"},
	{"zoo:inception-v3:batch=8", "hetero-cluster"},
	{"zoo:resnet50:batch=192:training=1", "cpu+2gpu"},
	{"zoo:bert-base:batch=64:training=1", "hetero-cluster"},
	{"zoo:random:ops=200:seed=11", "cpu+2gpu"},
	{"zoo:random:ops=300:ccr=1:seed=12", "hetero-cluster"},
};
enum { N_INSTANCES = sizeof instances / sizeof *instances };

void must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "berth-learning: %s\n", err->msg);
	exit(berth_exit_code(st));
}

void open_subject_of(subject *x, const char *graph, const char *system)
{
	berth_err err;
	*x = (subject){0};
	must(berth_zoo_build(graph, &x->mem, &x->tmp, &x->g, &err), &err);
	must(berth_system_builtin(system, &x->mem, &x->tmp, &x->s, &err), &err);
	must(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err), &err);
	must(berth_bounds_new(&x->p, &x->tmp, &x->b, &err), &err);
}

int n_instances(void)
{
	return N_INSTANCES;
}

void open_instance(subject *x, int i)
{
	open_subject_of(x, instances[i].graph, instances[i].system);
}

void close_subject(subject *x)
{
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
}

double run_this(const subject *x, const berth_method *m, const berth_search_cfg *cfg)
{
	berth_arena mem = {0}, tmp = {0};
	berth_search s;
	berth_err err;
	must(berth_search_new(&x->p, cfg, &mem, &s, &err), &err);
	must(berth_method_run(m, &s, &tmp, &err), &err);
	double value = berth_score_feasible(s.best) ? s.best.value : INFINITY;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return value;
}

const berth_method *method_called(const char *name)
{
	const berth_method *m;
	berth_err err;
	must(berth_method_find(name, &m, &err), &err);
	return m;
}

double run_with(const subject *x, const char *name, const berth_search_cfg *cfg)
{
	return run_this(x, method_called(name), cfg);
}

double median_timed(const subject *x, const berth_method *method, int n_seeds, double seconds)
{
	double v[MAX_SEEDS];
	berth_arena tmp = {0};
	for (int k = 0; k < n_seeds; k++) {
		berth_search_cfg cfg = {
			.seed = (uint64_t)k + 1, .evaluations = INT64_MAX / 4, .cpu_s = seconds};
		v[k] = run_this(x, method, &cfg);
	}
	double median = berth_median(v, n_seeds, &tmp);
	berth_arena_free(&tmp);
	return median;
}

static double run_method(const subject *x, const char *name, uint64_t seed, int64_t evaluations)
{
	berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	return run_with(x, name, &cfg);
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
	berth_err err;
	int64_t left, n_first = 0, n_last = 0;
	learner.hints = false;
	if (!train)
		learner.epochs = learner.clone_steps = 0;
	must(berth_search_new(&x->p, &cfg, &mem, &s, &err), &err);
	must(berth_learner_new(&learner, seed, NULL, &all, 1, &mem, &tmp, &l, &err), &err);
	must(berth_single_reference(&s, &l.pair[0].reference, &tmp, &err), &err);
	*first = *last = 0;
	while ((left = berth_search_budget_left(&s, berth_learner_want(&l, 0))) > 0) {
		berth_step_stats stats;
		must(berth_learner_step(&l, 0, (int32_t)left, &stats, &err), &err);
		if (s.evaluations <= evaluations / 10) {
			*first += stats.mean * stats.n;
			n_first += stats.n;
		}
		if (s.evaluations > evaluations - evaluations / 10) {
			*last += stats.mean * stats.n;
			n_last += stats.n;
		}
	}
	*first /= (double)n_first;
	*last /= (double)n_last;
	double value = berth_score_feasible(s.best) ? s.best.value : INFINITY;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return value;
}

static void print_interval(berth_interval v, double scale, const char *format)
{
	printf(" | ");
	printf(format, v.middle * scale);
	printf(" [");
	printf(format, v.low * scale);
	printf(", ");
	printf(format, v.high * scale);
	printf("]");
}

void print_instance_name(int i)
{
	printf("%s on %s", instances[i].graph + 4, instances[i].system);
}

static void print_instance(int i)
{
	printf("| ");
	print_instance_name(i);
}

/* ---- the tables ---- */

static void table_learn(int n_seeds, int64_t evaluations)
{
	int disjoint = 0, rising = 0;
	printf("\n### Learning alone: no portfolio, no refinement, %lld evaluations, %d seeds\n\n",
	       (long long)evaluations, n_seeds);
	printf("Best value in ms: interquartile mean [95 %% bootstrap interval]. Reward: log(best single "
	       "device / value), mean of the first and the last tenth of the samples.\n\n");
	printf("| instance | best of random | untrained sampler | trained | reward, first tenth | last tenth "
	       "| intervals disjoint |\n|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < N_INSTANCES; i++) {
		double random[MAX_SEEDS], blank[MAX_SEEDS], trained[MAX_SEEDS], first[MAX_SEEDS],
			last[MAX_SEEDS], a, b;
		subject x;
		open_instance(&x, i);
		for (int k = 0; k < n_seeds; k++) {
			random[k] = run_method(&x, "random", (uint64_t)k + 1, evaluations);
			blank[k] = run_sampler(&x, false, (uint64_t)k + 1, evaluations, &a, &b);
			trained[k] = run_sampler(&x, true, (uint64_t)k + 1, evaluations, &first[k], &last[k]);
		}
		berth_interval r = berth_bootstrap(random, n_seeds, berth_iqm, &x.tmp),
			       u = berth_bootstrap(blank, n_seeds, berth_iqm, &x.tmp);
		berth_interval t = berth_bootstrap(trained, n_seeds, berth_iqm, &x.tmp);
		berth_interval f = berth_bootstrap(first, n_seeds, berth_iqm, &x.tmp),
			       l = berth_bootstrap(last, n_seeds, berth_iqm, &x.tmp);
		bool apart = t.high < r.low && t.high < u.low;
		disjoint += apart;
		rising += l.low > f.high;
		print_instance(i);
		print_interval(r, 1e3, "%.4g");
		print_interval(u, 1e3, "%.4g");
		print_interval(t, 1e3, "%.4g");
		print_interval(f, 1, "%.3f");
		print_interval(l, 1, "%.3f");
		printf(" | %s |\n", apart ? "yes" : "no");
		fflush(stdout);
		close_subject(&x);
	}
	printf("\nIntervals disjoint on %d of %d instances; mean reward rises beyond the intervals on %d of "
	       "%d.\n",
	       disjoint, N_INSTANCES, rising, N_INSTANCES);
}

static void table_berth(int n_seeds, int64_t evaluations)
{
	static const char *const once[] = {"single", "heft", "ceft-cpop", "pbqp", "ceft-pbqp"};
	enum { N_ONCE = sizeof once / sizeof *once };
	double log_ratio = 0, log_anneal = 0;
	int worse = 0, runs = 0;
	printf("\n### `berth` against its parts and its rivals, %lld evaluations each, %d seeds\n\n",
	       (long long)evaluations, n_seeds);
	printf("Value in ms: interquartile mean [95 %% bootstrap interval]. `local-search` starts from the "
	       "best heuristic and goes on until the budget ends.\n\n");
	printf("| instance | best single device | best heuristic | local-search | anneal | berth | berth / "
	       "local-search | berth / anneal | bound |\n|---|---|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < N_INSTANCES; i++) {
		double local[MAX_SEEDS], anneal[MAX_SEEDS], ours[MAX_SEEDS], single = INFINITY,
									     best = INFINITY;
		int which = 0;
		subject x;
		open_instance(&x, i);
		for (int k = 0; k < N_ONCE; k++) {
			double v = run_method(&x, once[k], 1, 0);
			if (k == 0)
				single = v;
			if (v < best) {
				best = v;
				which = k;
			}
		}
		for (int k = 0; k < n_seeds; k++) {
			local[k] = run_method(&x, "local-search", (uint64_t)k + 1, evaluations);
			anneal[k] = run_method(&x, "anneal", (uint64_t)k + 1, evaluations);
			ours[k] = run_method(&x, "berth", (uint64_t)k + 1, evaluations);
			worse += ours[k] > best;
			runs++;
		}
		berth_interval l = berth_bootstrap(local, n_seeds, berth_iqm, &x.tmp),
			       a = berth_bootstrap(anneal, n_seeds, berth_iqm, &x.tmp);
		berth_interval o = berth_bootstrap(ours, n_seeds, berth_iqm, &x.tmp);
		log_ratio += log(o.middle / l.middle) / N_INSTANCES;
		log_anneal += log(o.middle / a.middle) / N_INSTANCES;
		print_instance(i);
		if (isfinite(single))
			printf(" | %.4g", single * 1e3);
		else
			printf(" | does not fit");
		printf(" | %.4g (%s)", best * 1e3, once[which]);
		print_interval(l, 1e3, "%.4g");
		print_interval(a, 1e3, "%.4g");
		print_interval(o, 1e3, "%.4g");
		printf(" | %.4f | %.4f | %.4g |\n", o.middle / l.middle, o.middle / a.middle,
		       x.b.value[BERTH_LATENCY] * 1e3);
		fflush(stdout);
		close_subject(&x);
	}
	printf("\nGeometric mean of berth / local-search: %.4f; of berth / anneal: %.4f. Worse than the "
	       "portfolio or the best single device: %d of %d runs.\n",
	       exp(log_ratio), exp(log_anneal), worse, runs);
}

static void table_post(int n_seeds, int64_t evaluations)
{
	static const char *const method[] = {"random", "cem", "ppo", "post"};
	enum { N = sizeof method / sizeof *method };
	double mean[N] = {0};
	printf("\n### Table policies: `post` against its halves, %lld evaluations, %d seeds\n\n",
	       (long long)evaluations, n_seeds);
	printf("Best value in ms: interquartile mean [95 %% bootstrap interval].\n\n| instance | random | "
	       "cem | ppo | post |\n|---|---|---|---|---|\n");
	for (int i = 0; i < N_INSTANCES; i++) {
		subject x;
		open_instance(&x, i);
		print_instance(i);
		for (int m = 0; m < N; m++) {
			double v[MAX_SEEDS];
			for (int k = 0; k < n_seeds; k++)
				v[k] = run_method(&x, method[m], (uint64_t)k + 1, evaluations);
			berth_interval r = berth_bootstrap(v, n_seeds, berth_iqm, &x.tmp);
			mean[m] += log(r.middle) / N_INSTANCES;
			print_interval(r, 1e3, "%.4g");
			fflush(stdout);
		}
		printf(" |\n");
		close_subject(&x);
	}
	printf("\nGeometric mean of post / cem: %.4f; of post / ppo: %.4f.\n", exp(mean[3] - mean[1]),
	       exp(mean[3] - mean[2]));
}

static int usage(FILE *to)
{
	fprintf(to, "usage: berth-learning [--part PART] [--seeds N] [--evaluations N] [--time S]\n"
	            "       berth-learning --part policies [--evaluations N] POLICY...\n\n"
	            "Prints the tables of docs/learning.md. PART: learn, berth, post, train, tiled,\n"
	            "ablation, objectives, estimates, prior, zero-shot, new-pairs, fleets, time,\n"
	            "walks, solvers, knows. Without it all of them: 10,000 evaluations for learn and\n"
	            "berth, 2,400 for post, tiled, ablation and objectives; 10 seeds. prior: at\n"
	            "most 5,000 evaluations, 5 seeds. train: 150,000, 5 seeds. time: 3 seeds of 1\n"
	            "s. walks: 20,000, 5 seeds. solvers: 3 seeds of 1 s. fleets: 300 s each.\n"
	            "policies: those in the files, on the pairs of zero-shot; 10,000.\n");
	return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	const char *part = NULL;
	int seeds = 10;
	long long evaluations = 0;
	double seconds = 0;
	int i = 1;
	for (; i < argc && argv[i][0] == '-'; i++) {
		if (i + 1 < argc && strcmp(argv[i], "--part") == 0)
			part = argv[++i];
		else if (i + 1 < argc && strcmp(argv[i], "--seeds") == 0)
			seeds = atoi(argv[++i]);
		else if (i + 1 < argc && strcmp(argv[i], "--evaluations") == 0)
			evaluations = atoll(argv[++i]);
		else if (i + 1 < argc && strcmp(argv[i], "--time") == 0)
			seconds = atof(argv[++i]);
		else
			return usage(strcmp(argv[i], "--help") == 0 ? stdout : stderr);
	}
	if (seeds < 1 || seeds > MAX_SEEDS || evaluations < 0 || !(seconds >= 0))
		return usage(stderr);
	bool any = false, policies = part && strcmp(part, "policies") == 0;
	if (policies == (i == argc)) /* files, for that part alone */
		return usage(stderr);
	if (policies && (any = true))
		table_policies(evaluations ? evaluations : 10000, argc - i, argv + i);
	if ((!part || strcmp(part, "learn") == 0) && (any = true))
		table_learn(seeds, evaluations ? evaluations : 10000);
	if ((!part || strcmp(part, "berth") == 0) && (any = true))
		table_berth(seeds, evaluations ? evaluations : 10000);
	if ((!part || strcmp(part, "post") == 0) && (any = true))
		table_post(seeds, evaluations ? evaluations : 2400);
	if ((!part || strcmp(part, "train") == 0) && (any = true))
		table_train(seeds < 5 ? seeds : 5, evaluations ? evaluations : 150000);
	if ((!part || strcmp(part, "tiled") == 0) && (any = true))
		table_tiled(seeds, evaluations ? evaluations : 2400);
	if ((!part || strcmp(part, "ablation") == 0) && (any = true))
		table_ablation(seeds, evaluations ? evaluations : 2400);
	if ((!part || strcmp(part, "estimates") == 0) && (any = true))
		table_estimates();
	if ((!part || strcmp(part, "objectives") == 0) && (any = true))
		table_objectives(seeds, evaluations ? evaluations : 2400);
	if ((!part || strcmp(part, "prior") == 0) && (any = true))
		table_prior(seeds < 5 ? seeds : 5, evaluations ? evaluations : 5000);
	if ((!part || strcmp(part, "zero-shot") == 0) && (any = true))
		table_zero_shot(evaluations ? evaluations : 10000);
	if ((!part || strcmp(part, "new-pairs") == 0) && (any = true))
		table_new_pairs(evaluations ? evaluations : 10000);
	if ((!part || strcmp(part, "time") == 0) && (any = true))
		table_time(seeds < 3 ? seeds : 3, seconds > 0 ? seconds : 1);
	if ((!part || strcmp(part, "fleets") == 0) && (any = true))
		table_fleets(seconds > 0 ? seconds : BERTH_FINE_TUNE_S);
	if ((!part || strcmp(part, "knows") == 0) && (any = true))
		table_knows(evaluations ? evaluations : 10000);
	if ((!part || strcmp(part, "walks") == 0) && (any = true))
		table_walks(seeds < 5 ? seeds : 5, evaluations ? evaluations : 20000);
	if ((!part || strcmp(part, "solvers") == 0) && (any = true))
		table_solvers(seeds < 3 ? seeds : 3, seconds > 0 ? seconds : 1);
	return any ? 0 : usage(stderr);
}
