/* Tables of docs/bounds.md: the best known placements of the zoo on the built-in systems against the bounds,
 * and what moves where a gap is large: longer searches from several starts, and longer bounding. Same build,
 * same text. */
#include "entries.h"
#include "search.h"
#include "systems_builtin.h"
#include "zoo.h"

/* The bounds of x become those of a kind. */
static double bound_by(subject *x, const char *kind, int64_t evaluations, int64_t nodes)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	const berth_bound_options o = {
		.bound = kind, .objective = &latency, .evaluations = evaluations, .nodes = nodes};
	MUST(berth_search_bounds(&x->p, &o, &x->tmp, &x->b, &err));
	return x->b.value[BERTH_LATENCY];
}

/* The better of *best and what a method finds; *by: the method of the best. */
static void try_method(subject *x, const char *method, uint64_t seed, int64_t evaluations, double *best,
                       const char **by)
{
	const berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	berth_solution r;
	if (bench_solve(x, method, &cfg, &r) == BERTH_OK && r.feasible && !(*best <= r.value)) {
		*best = r.value;
		*by = method;
	}
}

/* ---- the zoo ---- */

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
		bound[k] = bound_by(&x, kinds[k], evaluations, 0);
	for (int k = 0; k < BENCH_N(methods); k++)
		try_method(&x, methods[k], 1, evaluations, &value, &by);
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

/* ---- both sides of large gaps ---- */

/* The twenty largest gaps, small graphs and large ones, and randwire, whose gaps were among them before
 * windows; and most of the gaps from 0.01 % to 1 %. */
static const char *const sets[][20] = {
	{"small", "llama-layer@hetero-cluster", "llama-block@hetero-cluster", "ffnn@hetero-cluster",
         "random@hetero-cluster", "chain-mm@hetero-cluster", "gnmt@random", "randwire@hetero-cluster",
         "randwire@random", "randwire@cpu+2gpu"},
	{"large", "nasnet-a@hetero-cluster", "nasnet-a@cpu+2gpu", "nasnet-a@random",
         "bert-base:training=1@cpu+2gpu", "bert-base:training=1@hetero-cluster",
         "bert-base:training=1@random", "inception-v3:training=1@hetero-cluster",
         "inception-v3:training=1@cpu+2gpu", "inception-v3:training=1@laptop",
         "inception-v3:training=1@random", "resnet50:training=1@hetero-cluster",
         "resnet50:training=1@cpu+2gpu", "resnet50:training=1@random", "resnet50:training=1@edge"},
	{"nearly", "resnet50@edge", "resnet101@edge", "resnet152@edge", "resnet101@4gpu", "resnet152@4gpu",
         "inception-v3@4gpu", "densenet121@random", "unet@edge", "gpt2@laptop", "bert-base@laptop",
         "bert-base@edge", "bert-base@cpu+2gpu", "bert-large@cpu+2gpu", "bert-large@laptop",
         "bert-large@edge", "transformer@random", "llama-block@4gpu"}};

enum { FIRST_EVALUATIONS = 5000, STARTS = 3 };

typedef struct moved {
	int32_t n, value, bound, order; /* how many moved; that the value moved more than the bound */
} moved;

/* The row of MODEL@SYSTEM. */
static void print_both(const char *text, const bench_options *o, moved *n)
{
	char model[128];
	const char *at = strrchr(text, '@'), *by;
	double value = INFINITY;
	if (!at)
		bench_refuse("neither a set nor MODEL@SYSTEM");
	snprintf(model, sizeof model, "%.*s", (int)(at - text), text);
	BENCH_OPEN(x, model, at + 1);
	double bound = bound_by(&x, "auto", FIRST_EVALUATIONS, 0);
	try_method(&x, "anneal", 1, FIRST_EVALUATIONS, &value, &by);
	double less = value, more = bound_by(&x, "strong", FIRST_EVALUATIONS, o->nodes);
	for (uint64_t seed = 1; seed <= STARTS; seed++) {
		try_method(&x, "anneal", seed, o->evaluations, &less, &by);
		try_method(&x, "berth", seed, o->evaluations, &less, &by);
	}
	double down = 1 - less / value, up = more / bound - 1;
	printf("| %s | %s | %.6g ms | %.6g ms | %.2f %% | %.6g ms | %.6g ms | %.2f %% | %.2f %% | %.2f %% "
	       "|\n",
	       model, at + 1, value * 1e3, less * 1e3, 100 * down, bound * 1e3, more * 1e3, 100 * up,
	       100 * berth_gap(value, bound), 100 * berth_gap(less, more));
	n->n++;
	n->value += down > 1e-4;
	n->bound += up > 1e-4;
	n->order += down > up;
}

/* The rows of a set, or of one instance. */
static void print_set(const char *text, const bench_options *o, moved *n)
{
	for (int s = 0; s < BENCH_N(sets); s++)
		if (strcmp(text, sets[s][0]) == 0) {
			for (const char *const *i = sets[s] + 1; *i; i++)
				print_both(*i, o, n);
			return;
		}
	print_both(text, o, n);
}

void table_both_sides(const bench_options *o)
{
	moved n = {0};
	bench_head("model|system|best, 5,000 evaluations:|best, long:|less:|bound, auto:|bound, long:|more:|"
	           "gap, before:|gap, after:");
	for (int k = 0; k < o->n_words; k++)
		print_set(o->word[k], o, &n);
	if (!o->n_words)
		print_set("small", o, &n);
	printf("\nOf %d instances the value moved on %d, the bound on %d; the value moved more than the "
	       "bound on %d.\n", (int)n.n, (int)n.value, (int)n.bound, (int)n.order);
}
