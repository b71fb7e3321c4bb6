/* What training on the models of the demo comes to: one pass of the policy as it is built in and as it was
 * trained, and searches that start from each, beside local search. */
#include "parts.h"
#include "policy_file.h"
#include "train.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_MODELS = 2, SEARCH = 20000, MAX_SEEDS = 100 };

static const char *const models[N_MODELS] = {"resnet50", "inception-v3"};

/* The columns of a model: a value a seed each. */
typedef enum figure {
	BUILT_IN,
	TRAINED,
	BEST,
	LOCAL_SEARCH,
	FROM_BUILT_IN,
	FROM_TRAINED,
	N_FIGURES
} figure;

typedef struct table {
	double value[N_MODELS][N_FIGURES][MAX_SEEDS];
	int learned[N_MODELS]; /* seeds that left nothing to learn */
} table;

static int compare_values(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static double median(double *x, int n)
{
	qsort(x, (size_t)n, sizeof *x, compare_values);
	return (x[(n - 1) / 2] + x[n / 2]) / 2;
}

/* Train with a seed; the policy is left in the file. */
static void train_on(subject *x, int seed, int64_t evaluations, const char *path, table *t)
{
	berth_arena mem = {0}, tmp = {0};
	berth_train_item item[N_MODELS];
	berth_train_cfg cfg = berth_train_cfg_default();
	berth_train_result result;
	berth_err err;
	for (int i = 0; i < N_MODELS; i++)
		item[i] = (berth_train_item){&x[i].p, models[i], "cpu+2gpu"};
	cfg.seed = (uint64_t)seed + 1;
	cfg.evaluations = evaluations;
	cfg.path = path;
	must(berth_train(&cfg, item, N_MODELS, &mem, &tmp, &result, &err), &err);
	for (int i = 0; i < N_MODELS; i++) {
		t->value[i][BEST][seed] = result.best[i].value;
		t->learned[i] += result.best[i].collapsed;
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void run_seed(subject *x, int seed, int64_t evaluations, const char *path, table *t)
{
	berth_arena mem = {0}, tmp = {0};
	berth_policy_file f;
	berth_err err;
	train_on(x, seed, evaluations, path, t);
	must(berth_policy_file_read(path, &mem, &f, &err), &err);
	berth_search_cfg built_in = {.seed = (uint64_t)seed + 1, .evaluations = SEARCH}, trained = built_in;
	trained.policy = &f;
	for (int i = 0; i < N_MODELS; i++) {
		t->value[i][BUILT_IN][seed] = run_with(&x[i], "policy", &built_in);
		t->value[i][TRAINED][seed] = run_with(&x[i], "policy", &trained);
		t->value[i][LOCAL_SEARCH][seed] = run_with(&x[i], "local-search", &built_in);
		t->value[i][FROM_BUILT_IN][seed] = run_with(&x[i], "berth", &built_in);
		t->value[i][FROM_TRAINED][seed] = run_with(&x[i], "berth", &trained);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void print_table(table *t, int n_seeds, int64_t evaluations)
{
	printf("\n## Training on two models: `scripts/demo`, %lld evaluations, %d seeds\n\n"
	       "On `cpu+2gpu`; medians in ms. Pass: the policy's most probable placement, no search. `berth` "
	       "and\n"
	       "`local-search` have %d evaluations each.\n\n",
	       (long long)evaluations, n_seeds, SEARCH);
	printf("| model | nothing left to learn | pass, built in | pass, trained | best in training | "
	       "local-search | berth, built in | berth, trained |\n|---|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < N_MODELS; i++) {
		printf("| %s | %d of %d seeds", models[i], t->learned[i], n_seeds);
		for (int k = 0; k < N_FIGURES; k++)
			printf(" | %.4g", 1e3 * median(t->value[i][k], n_seeds));
		printf(" |\n");
	}
}

void table_train(int n_seeds, int64_t evaluations)
{
	char path[] = "/tmp/berth-learning-XXXXXX";
	subject x[N_MODELS];
	berth_err err;
	table *t = calloc(1, sizeof *t);
	int fd = mkstemp(path);
	must(t && fd >= 0 ? BERTH_OK : berth_fail(&err, BERTH_EIO, "%s: cannot create", path), &err);
	close(fd);
	for (int i = 0; i < N_MODELS; i++) {
		char graph[64];
		snprintf(graph, sizeof graph, "zoo:%s", models[i]);
		open_subject_of(&x[i], graph, "cpu+2gpu");
	}
	for (int seed = 0; seed < n_seeds; seed++)
		run_seed(x, seed, evaluations, path, t);
	print_table(t, n_seeds, evaluations);
	for (int i = 0; i < N_MODELS; i++)
		close_subject(&x[i]);
	unlink(path);
	free(t);
}
