/* Several policies on the held-out pairs, by the best known value of each: for the curve of a
 * training, and for what inputs are worth (knows.c). */
#include "held_out.h"
#include "parts.h"

#include <math.h>
#include <stdio.h>
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
	open_subject_of(&s, held_out_graphs[i / HELD_OUT_SYSTEMS],
	                held_out_systems[i % HELD_OUT_SYSTEMS].name);
	k->there = berth_problem_feasible(&s.p, NULL) == BERTH_OK;
	k->unseen_size = held_out_systems[i % HELD_OUT_SYSTEMS].unseen_size;
	if (k->there) {
		k->heft = run_with(&s, "heft", &cfg);
		k->best = fmin(fmin(run_with(&s, "anneal", &cfg), run_with(&s, "berth", &cfg)), k->heft);
		for (int j = 0; j < x->n; j++) {
			cfg.policy = &x->policy[j];
			k->pass[j] = run_with(&s, "policy", &cfg);
			k->best = fmin(k->best, k->pass[j]);
		}
		k->there = isfinite(k->best);
	}
	close_subject(&s);
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

void table_of_policies(int64_t evaluations, int n, const berth_policy_file *policy, const char *const *name)
{
	berth_arena mem = {0};
	berth_pool *pool;
	berth_err err;
	work x = {.policy = policy, .n = n, .evaluations = evaluations};
	must(BERTH_NEW(&mem, x.pair, HELD_OUT_PAIRS, &err), &err);
	for (int i = 0; i < HELD_OUT_PAIRS; i++)
		must(BERTH_NEW(&mem, x.pair[i].pass, n, &err), &err);
	must(berth_pool_new(2, &pool, &err), &err);
	berth_pool_run(pool, HELD_OUT_PAIRS, judge, &x);
	printf("One forward pass, latency, on the pairs of the table above: values relative to the best "
	       "known (geometric mean; the best of annealing and `berth` with %lld evaluations, of HEFT "
	       "and of all policies of this table).\n\n",
	       (long long)evaluations);
	printf("| policy | evaluations | parameters | pass | its worst | not worse than heft | numbers of "
	       "devices seen in training | not seen |\n|---|---|---|---|---|---|---|---|\n");
	for (int j = 0; j < n; j++)
		print_policy(&x, j, name[j]);
	berth_pool_free(pool);
	berth_arena_free(&mem);
}

/* A file's name without its folder and its ending. */
static const char *name_of(const char *path, berth_arena *mem)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *end = strrchr(name, '.');
	return berth_arena_printf(mem, "%.*s", end ? (int)(end - name) : (int)strlen(name), name);
}

void table_policies(int64_t evaluations, int n, char *const *path)
{
	berth_arena mem = {0};
	berth_policy_file *policy;
	const char **name;
	berth_err err;
	must(BERTH_NEW(&mem, policy, n, &err), &err);
	must(BERTH_NEW(&mem, name, n, &err), &err);
	for (int j = 0; j < n; j++) {
		must(berth_policy_file_read(path[j], &mem, &policy[j], &err), &err);
		name[j] = name_of(path[j], &mem);
		must(name[j] ? BERTH_OK : berth_nomem(&err), &err);
	}
	table_of_policies(evaluations, n, policy, name);
	berth_arena_free(&mem);
}
