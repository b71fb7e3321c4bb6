/* The table of docs/bounds.md: the best known placements of the zoo on the built-in systems against the
 * bounds. Same build, same text. */
#include "entries.h"
#include "search.h"
#include "systems_builtin.h"
#include "zoo.h"

/* The bounds of x become those of a kind. */
static double bound_by(subject *x, const char *kind, int64_t evaluations)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	const berth_bound_options o = {
		.bound = kind, .objective = &latency, .evaluations = evaluations};
	MUST(berth_search_bounds(&x->p, &o, &x->tmp, &x->b, &err));
	return x->b.value[BERTH_LATENCY];
}

/* The better of *best and what a method finds; *by: the method of the best. */
static void try_method(subject *x, const char *method, int64_t evaluations, double *best, const char **by)
{
	const berth_search_cfg cfg = {.seed = 1, .evaluations = evaluations};
	berth_solution r;
	if (bench_solve(x, method, &cfg, &r) == BERTH_OK && r.feasible && !(*best <= r.value)) {
		*best = r.value;
		*by = method;
	}
}

static const char *const methods[] = {"local-search", "anneal", "berth"};
static const char *const kinds[] = {"fast", "auto", "strong"};

enum { N_KINDS = 3, MOST_ROWS = 512 };

typedef struct table {
	double gap[N_KINDS][MOST_ROWS];
	int32_t n, without, closed[N_KINDS];
} table;

static void print_bounds(table *t, const char *model, const char *system, int64_t evaluations)
{
	double bound[N_KINDS], value = NAN;
	const char *by = "";
	if (t->n + t->without == MOST_ROWS)
		return;
	BENCH_OPEN(x, model, system);
	for (int k = 0; k < N_KINDS; k++)
		bound[k] = bound_by(&x, kinds[k], evaluations);
	for (int k = 0; k < BENCH_N(methods); k++)
		try_method(&x, methods[k], evaluations, &value, &by);
	if (isnan(value)) {
		t->without++;
		printf("| %s | %s | none found | | | | |\n", model, system);
		return;
	}
	printf("| %s | %s | %.6g ms | %s |", model, system, value * 1e3, by);
	for (int k = 0; k < N_KINDS; k++) {
		double gap = t->gap[k][t->n] = berth_gap(value, bound[k]);
		t->closed[k] += gap < 5e-5;
		printf(" %.2f %% |", 100 * gap);
	}
	t->n++;
	putchar('\n');
}

void table_bounds(const bench_options *o)
{
	static const char *const trained[] = {"resnet50:training=1", "bert-base:training=1",
	                                      "inception-v3:training=1", "mobilenet-v2:training=1"};
	static table t;
	int32_t n_models, n_systems;
	const berth_zoo_model *zoo = berth_zoo_list(&n_models);
	const berth_system_row *system = berth_system_builtin_list(&n_systems);
	int32_t n = o->n_words ? o->n_words : n_models + BENCH_N(trained);
	bench_head("model|system|best|by|gap, fast|gap, auto|gap, strong");
	for (int32_t i = 0; i < n_systems * n; i++) {
		int32_t k = i % n;
		const char *model = o->n_words     ? o->word[k]
		                    : k < n_models ? zoo[k].name
		                                   : trained[k - n_models];
		if (!system[i / n].recipe)
			print_bounds(&t, model, system[i / n].name, o->evaluations);
	}
	printf("\n%d instances (%d more have no placement that fits, or none was found). Median gap, and how "
	       "many are 0.00 %%:", (int)t.n, (int)t.without);
	for (int k = 0; k < N_KINDS; k++)
		printf("%s %s %.2f %%, %d", k ? ";" : "", kinds[k], 100 * bench_median(t.gap[k], t.n),
		       (int)t.closed[k]);
	printf(".\n");
}
