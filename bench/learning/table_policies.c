/* Several policies on the held-out pairs, by the best known value of each: for the curve of a
 * training, and for what inputs are worth (table_knows.c). */
#include "instances_of_learning.h"

#include <math.h>
#include <string.h>

/* One pair. */
typedef struct known {
	bool there; /* it is feasible */
	bool unseen_size;
	double heft, best;
	double *pass; /* [policies] */
} known;

typedef struct work {
	known *pair; /* [HELD_OUT_PAIRS] */
	const berth_policy_file *policy;
	int n;
	int64_t evaluations;
} work;

static void judge(void *ctx, int32_t i, int32_t worker)
{
	const work *x = ctx;
	known *k = &x->pair[i];
	subject s;
	berth_search_cfg cfg = {.seed = 1, .evaluations = x->evaluations};
	(void)worker;
	open_held_out(&s, i);
	k->there = berth_problem_feasible(&s.p, NULL) == BERTH_OK;
	k->unseen_size = held_out_systems[i % HELD_OUT_SYSTEMS].unseen_size;
	if (k->there) {
		k->heft = bench_value_of(&s, "heft", &cfg);
		k->best = fmin(fmin(bench_value_of(&s, "anneal", &cfg), bench_value_of(&s, "berth", &cfg)),
		               k->heft);
		for (int j = 0; j < x->n; j++) {
			cfg.policy = &x->policy[j];
			k->pass[j] = bench_value_of(&s, "policy", &cfg);
			k->best = fmin(k->best, k->pass[j]);
		}
		k->there = isfinite(k->best);
	}
	bench_close(&s);
}

/* What is said of some of the pairs. */
typedef struct sums {
	int n, not_worse;
	double loss, worst;
} sums;

static sums sum_up(const work *x, int j, bool unseen)
{
	sums s = {0};
	for (int i = 0; i < HELD_OUT_PAIRS; i++) {
		const known *k = &x->pair[i];
		if (!k->there || k->unseen_size != unseen)
			continue;
		double ratio = fmin(k->pass[j] / k->best, 100); /* what does not fit */
		s.n++;
		s.not_worse += k->pass[j] <= k->heft * 1.0001;
		s.loss += log(ratio);
		s.worst = fmax(s.worst, ratio);
	}
	return s;
}

static void print_policy(const work *x, int j, const char *name)
{
	sums seen = sum_up(x, j, false), unseen = sum_up(x, j, true);
	int n = seen.n + unseen.n;
	printf("| %s | %lld | %zu | %.4f | %.3f | %.0f %% | %.4f | %.4f |\n", name,
	       (long long)x->policy[j].evaluations, policy_param_count(&x->policy[j].dims),
	       exp((seen.loss + unseen.loss) / n), fmax(seen.worst, unseen.worst),
	       100.0 * (seen.not_worse + unseen.not_worse) / n, exp(seen.loss / seen.n),
	       exp(unseen.loss / unseen.n));
}

void print_policies(const bench_options *o, int n, const berth_policy_file *policy, const char *const *name)
{
	berth_arena mem = {0};
	berth_pool *pool;
	work x = {.policy = policy, .n = n, .evaluations = o->evaluations};
	MUST(BERTH_NEW(&mem, x.pair, HELD_OUT_PAIRS, &err));
	for (int i = 0; i < HELD_OUT_PAIRS; i++)
		MUST(BERTH_NEW(&mem, x.pair[i].pass, n, &err));
	MUST(berth_pool_new(o->threads ? o->threads : 2, &pool, &err));
	berth_pool_run(pool, HELD_OUT_PAIRS, judge, &x);
	printf("One forward pass, latency, on the pairs of the table above: values relative to the best "
	       "known (geometric mean; the best of annealing and `berth` with %lld evaluations, of HEFT "
	       "and of all policies of this table).\n\n",
	       (long long)o->evaluations);
	bench_head("policy|evaluations|parameters|pass|its worst|not worse than heft|"
	           "numbers of devices seen in training|not seen");
	for (int j = 0; j < n; j++)
		print_policy(&x, j, name[j]);
	berth_pool_free(pool);
	berth_arena_free(&mem);
}

/* A file's name without its folder and its ending. */
static const char *name_of(const char *path, berth_arena *mem)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strrchr(name, '.');
	char *copy = bench_new(mem, strlen(name) + 1, 1);
	return memcpy(copy, name, end ? (size_t)(end - name) : strlen(name));
}

static void run_policies(const bench_options *o)
{
	berth_arena mem = {0};
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
	berth_arena_free(&mem);
}

const bench_entry bench_policies = {
	"policies", "FILE...", "learning", "20 min",
	"one pass of policies in files on the pairs held out",
	{.evaluations = 10000, .threads = 2}, run_policies};
