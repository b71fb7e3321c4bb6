/* Several policies on the held-out pairs, by the best known value of each: for the curve of a
 * training. */
#include "instances_of_learning.h"

/* One pair. */
typedef struct known {
	double heft, best; /* best 0: it is not feasible */
	double *pass;      /* [policies] */
} known;

typedef struct work {
	known pair[HELD_OUT_PAIRS];
	const berth_policy_file *policy;
	int n;
	int64_t evaluations;
} work;

static void judge(void *ctx, int32_t i, int32_t worker)
{
	work *x = ctx;
	known *k = &x->pair[i];
	(void)worker;
	BENCH_OPEN(s, held_out(i).graph, held_out(i).system);
	if (berth_problem_feasible(&s.p, NULL) != BERTH_OK)
		return;
	k->heft = bench_value_of(&s, "heft", BERTH_LATENCY, 0);
	k->best = fmin(fmin(bench_value_of(&s, "anneal", BERTH_LATENCY, x->evaluations),
	                    bench_value_of(&s, "berth", BERTH_LATENCY, x->evaluations)), k->heft);
	for (int j = 0; j < x->n; j++) {
		const berth_search_cfg cfg = {
			.seed = 1, .evaluations = x->evaluations, .policy = &x->policy[j]};
		k->pass[j] = bench_value(&s, bench_method("policy"), &cfg);
		k->best = fmin(k->best, k->pass[j]);
	}
	k->best = isfinite(k->best) ? k->best : 0;
}

static void print_policy(const work *x, int j, const char *name)
{
	bench_mean all = {0}, by_size[2] = {{0}};
	double worst = 0;
	int not_worse = 0;
	for (int i = 0; i < HELD_OUT_PAIRS; i++) {
		const known *k = &x->pair[i];
		if (k->best == 0)
			continue;
		double ratio = fmin(k->pass[j] / k->best, 100); /* what does not fit */
		bench_add(&all, ratio);
		bench_add(&by_size[i % HELD_OUT_SYSTEMS >= UNSEEN_SIZES], ratio);
		not_worse += k->pass[j] <= k->heft * 1.0001;
		worst = fmax(worst, ratio);
	}
	printf("| %s | %lld | %zu | %.4f | %.3f | %.0f %% | %.4f | %.4f |\n", name,
	       (long long)x->policy[j].evaluations, policy_param_count(&x->policy[j].dims),
	       bench_mean_of(all), worst, 100.0 * not_worse / all.n, bench_mean_of(by_size[0]),
	       bench_mean_of(by_size[1]));
}

static void print_policies(const bench_options *o, int n, const berth_policy_file *policy,
                           const char *const *name)
{
	BERTH_ARENA(mem);
	berth_pool *pool;
	work x = {.policy = policy, .n = n, .evaluations = o->evaluations};
	for (int i = 0; i < HELD_OUT_PAIRS; i++)
		x.pair[i].pass = bench_new(&mem, (size_t)n, sizeof(double));
	MUST(berth_pool_new(o->threads ? o->threads : 2, &pool, &err));
	berth_pool_run(pool, HELD_OUT_PAIRS, judge, &x);
	berth_pool_free(pool);
	printf("One forward pass, latency, on the pairs of the table above: values relative to the best "
	       "known (geometric mean; the best of annealing and `berth` with %lld evaluations, of HEFT and "
	       "of all policies of this table).\n\n", (long long)o->evaluations);
	bench_head("policy|evaluations|parameters|pass|its worst|not worse than heft|"
	           "numbers of devices seen in training|not seen");
	for (int j = 0; j < n; j++)
		print_policy(&x, j, name[j]);
}

/* A file's name without its folder and its ending. */
static const char *name_of(const char *path, berth_arena *mem)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strrchr(name, '.');
	char *copy = bench_new(mem, strlen(name) + 1, 1);
	return memcpy(copy, name, end ? (size_t)(end - name) : strlen(name));
}

void table_policies(const bench_options *o)
{
	BERTH_ARENA(mem);
	int n = o->n_words;
	if (n == 0)
		bench_refuse("policies: which files?");
	berth_policy_file *policy = bench_new(&mem, (size_t)n, sizeof *policy);
	const char **name = bench_new(&mem, (size_t)n, sizeof *name);
	for (int j = 0; j < n; j++) {
		MUST(berth_policy_file_read(o->word[j], &mem, &policy[j], &err));
		name[j] = name_of(o->word[j], &mem);
	}
	print_policies(o, n, policy, name);
}
