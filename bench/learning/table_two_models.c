/* What training on the models of the demo comes to: one pass of the policy as it is built in and as it was
 * trained, and searches that start from each, beside local search. */
#include "instances_of_learning.h"
#include "train.h"

#include <unistd.h>

enum { N_MODELS = 2, SEARCH = 20000 };

static const char *const models[N_MODELS] = {"resnet50", "inception-v3"};

/* The columns of a model, and what makes them: a method, by the policy that was trained or that is built in.
 * A value a seed each. */
static const struct {
	const char *method;
	bool trained;
} figures[] = {{"policy", false}, {"policy", true}, {NULL, true}, {"local-search", false}, {"berth", false},
               {"berth", true}};
enum { BEST = 2, N_FIGURES = 6 }; /* BEST: in training */

typedef struct table {
	double value[N_MODELS][N_FIGURES][MAX_SEEDS];
	int learned[N_MODELS]; /* seeds that left nothing to learn */
} table;

/* Train with a seed; the policy is left in the file. */
static void train_on(subject *x, int seed, int64_t evaluations, const char *path, table *t)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_train_item item[N_MODELS];
	berth_train_cfg cfg = berth_train_cfg_default();
	berth_train_result result;
	for (int i = 0; i < N_MODELS; i++)
		item[i] = (berth_train_item){&x[i].p, models[i], "cpu+2gpu"};
	cfg.seed = (uint64_t)seed + 1;
	cfg.evaluations = evaluations;
	cfg.path = path;
	MUST(berth_train(&cfg, item, N_MODELS, &mem, &tmp, &result, &err));
	for (int i = 0; i < N_MODELS; i++) {
		t->value[i][BEST][seed] = result.best[i].value;
		t->learned[i] += result.best[i].collapsed;
	}
}

static void run_seed(subject *x, int seed, int64_t evaluations, const char *path, table *t)
{
	BERTH_ARENA(mem);
	berth_policy_file f;
	train_on(x, seed, evaluations, path, t);
	MUST(berth_policy_file_read(path, &mem, &f, &err));
	for (int i = 0; i < N_MODELS; i++)
		for (int k = 0; k < N_FIGURES; k++) {
			const berth_search_cfg cfg = {.seed = (uint64_t)seed + 1,
			                              .evaluations = SEARCH,
			                              .policy = figures[k].trained ? &f : NULL};
			if (k != BEST)
				t->value[i][k][seed] =
					bench_value(&x[i], bench_method(figures[k].method), &cfg);
		}
}

void table_train(const bench_options *o)
{
	static table t;
	char path[] = BENCH_PATH;
	subject x[N_MODELS];
	bench_make_file(path);
	for (int i = 0; i < N_MODELS; i++)
		bench_open(&x[i], models[i], "cpu+2gpu");
	for (int seed = 0; seed < o->seeds; seed++)
		run_seed(x, seed, o->evaluations, path, &t);
	printf("\n## Training on two models: `scripts/demo`, %lld evaluations, %d seeds\n\nOn `cpu+2gpu`; "
	       "medians in ms. Pass: the policy's most probable placement, no search. `berth` "
	       "and\n`local-search` have %d evaluations each.\n\n",
	       (long long)o->evaluations, o->seeds, SEARCH);
	bench_head("model|nothing left to learn|pass, built in|pass, trained|best in training|local-search|"
	           "berth, built in|berth, trained");
	for (int i = 0; i < N_MODELS; i++) {
		printf("| %s | %d of %d seeds", models[i], t.learned[i], o->seeds);
		for (int k = 0; k < N_FIGURES; k++)
			printf(" | %.4g", 1e3 * bench_median(t.value[i][k], o->seeds));
		printf(" |\n");
		bench_close(&x[i]);
	}
	unlink(path);
}
