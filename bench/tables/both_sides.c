/* berth-both-sides-table: prints the table of docs/bounds.md on what moves where a gap is large: longer
 * searches from several starts, and longer bounding. Same build, same text.
 *
 *     berth-both-sides-table EVALUATIONS NODES [SET | MODEL@SYSTEM]...
 *
 * Without instances: the set small. */
#include "load.h"
#include "load_system.h"
#include "search_bounds.h"
#include "solve.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The twenty largest gaps of docs/bounds.md, small graphs and large ones, and randwire, whose gaps were among
 * them before windows; and most of the gaps from 0.01 % to 1 %. */
static const char *const small[] = {
	"llama-layer@hetero-cluster", "llama-block@hetero-cluster",
	"ffnn@hetero-cluster",        "random@hetero-cluster",
	"chain-mm@hetero-cluster",    "gnmt@random",
	"randwire@hetero-cluster",    "randwire@random",
	"randwire@cpu+2gpu",
};
static const char *const large[] = {
	"nasnet-a@hetero-cluster",
	"nasnet-a@cpu+2gpu",
	"nasnet-a@random",
	"bert-base:training=1@cpu+2gpu",
	"bert-base:training=1@hetero-cluster",
	"bert-base:training=1@random",
	"inception-v3:training=1@hetero-cluster",
	"inception-v3:training=1@cpu+2gpu",
	"inception-v3:training=1@laptop",
	"inception-v3:training=1@random",
	"resnet50:training=1@hetero-cluster",
	"resnet50:training=1@cpu+2gpu",
	"resnet50:training=1@random",
	"resnet50:training=1@edge",
};
static const char *const nearly[] = {
	"resnet50@edge",       "resnet101@edge",    "resnet152@edge",     "resnet101@4gpu",
	"resnet152@4gpu",      "inception-v3@4gpu", "densenet121@random", "unet@edge",
	"gpt2@laptop",         "bert-base@laptop",  "bert-base@edge",     "bert-base@cpu+2gpu",
	"bert-large@cpu+2gpu", "bert-large@laptop", "bert-large@edge",    "transformer@random",
	"llama-block@4gpu",
};

static const struct {
	const char *name, *const *instance;
	int n;
} sets[] = {
	{"small", small, sizeof small / sizeof *small},
	{"large", large, sizeof large / sizeof *large},
	{"nearly", nearly, sizeof nearly / sizeof *nearly},
};

enum { N_SETS = sizeof sets / sizeof *sets, FIRST_EVALUATIONS = 5000, STARTS = 3 };

typedef struct moved {
	int32_t n, value, bound, order; /* how many moved; that the value moved more than the bound */
} moved;

/* The better of *best and what a method finds. */
static berth_status search(const berth_problem *p, const berth_bounds *b, const char *method, uint64_t seed,
                           int64_t evaluations, berth_arena *tmp, double *best, berth_err *err)
{
	const berth_method *m;
	berth_arena mem = {0};
	berth_solution r;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.seed = seed;
	cfg.evaluations = evaluations;
	BERTH_TRY(berth_method_find(method, &m, err));
	berth_status st = berth_solve(p, b, m, &cfg, &mem, tmp, &r, err);
	if (st == BERTH_OK && r.feasible)
		*best = fmin(*best, r.value);
	berth_arena_free(&mem);
	return st;
}

static berth_status both_sides(const berth_problem *p, int64_t evaluations, int64_t nodes, berth_arena *tmp,
                               double value[2], double bound[2], berth_err *err)
{
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_bound_options o = {.bound = "auto", .objective = &latency, .evaluations = FIRST_EVALUATIONS};
	berth_bounds b;
	value[0] = INFINITY;
	BERTH_TRY(berth_search_bounds(p, &o, tmp, &b, err));
	bound[0] = b.value[BERTH_LATENCY];
	BERTH_TRY(search(p, &b, "anneal", 1, FIRST_EVALUATIONS, tmp, &value[0], err));
	value[1] = value[0];
	o.bound = "strong";
	o.nodes = nodes;
	BERTH_TRY(berth_search_bounds(p, &o, tmp, &b, err));
	bound[1] = b.value[BERTH_LATENCY];
	for (uint64_t seed = 1; seed <= STARTS; seed++) {
		BERTH_TRY(search(p, &b, "anneal", seed, evaluations, tmp, &value[1], err));
		BERTH_TRY(search(p, &b, "berth", seed, evaluations, tmp, &value[1], err));
	}
	return BERTH_OK;
}

static berth_status row(const char *model, const char *system, int64_t evaluations, int64_t nodes, moved *n,
                        berth_err *err)
{
	char spec[160], machine[160];
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	double value[2], bound[2];
	snprintf(spec, sizeof spec, "zoo:%s", model);
	snprintf(machine, sizeof machine, "system:%s", system);
	berth_status st = berth_graph_load(spec, NULL, &mem, &tmp, &g, NULL, err);
	st = st ? st : berth_system_load(machine, NULL, &mem, &tmp, &s, err);
	st = st ? st : berth_problem_new(&g, &s, &mem, &tmp, &p, err);
	st = st ? st : both_sides(&p, evaluations, nodes, &tmp, value, bound, err);
	if (st == BERTH_OK) {
		double down = 1 - value[1] / value[0], up = bound[1] / bound[0] - 1;
		printf("| %s | %s | %.6g ms | %.6g ms | %.2f %% | %.6g ms | %.6g ms | %.2f %% | %.2f %% | "
		       "%.2f %% |\n",
		       model, system, value[0] * 1e3, value[1] * 1e3, 100 * down, bound[0] * 1e3,
		       bound[1] * 1e3, 100 * up, 100 * berth_gap(value[0], bound[0]),
		       100 * berth_gap(value[1], bound[1]));
		fflush(stdout);
		n->n++;
		n->value += down > 1e-4;
		n->bound += up > 1e-4;
		n->order += down > up;
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

/* The row of MODEL@SYSTEM. */
static berth_status instance(const char *text, char **budget, moved *n, berth_err *err)
{
	char model[128], *system;
	snprintf(model, sizeof model, "%s", text);
	system = strrchr(model, '@');
	if (!system)
		return berth_fail(err, BERTH_EINVAL, "neither a set nor MODEL@SYSTEM");
	*system = '\0';
	return row(model, system + 1, atoll(budget[0]), atoll(budget[1]), n, err);
}

/* The rows of a set, or of one instance. */
static berth_status rows(const char *text, char **budget, moved *n, berth_err *err)
{
	for (int s = 0; s < N_SETS; s++)
		if (strcmp(text, sets[s].name) == 0) {
			for (int k = 0; k < sets[s].n; k++)
				BERTH_TRY(instance(sets[s].instance[k], budget, n, err));
			return BERTH_OK;
		}
	return instance(text, budget, n, err);
}

int main(int argc, char **argv)
{
	moved n = {0};
	if (argc < 3) {
		fprintf(stderr, "usage: berth-both-sides-table EVALUATIONS NODES [SET | MODEL@SYSTEM]...\n");
		return 2;
	}
	printf("| model | system | best, 5,000 evaluations | best, long | less | bound, auto | bound, long | "
	       "more | gap, "
	       "before | gap, after |\n"
	       "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|\n");
	for (int k = 3; k < argc || k == 3; k++) {
		berth_err err;
		const char *text = k < argc ? argv[k] : sets[0].name;
		berth_status st = rows(text, argv + 1, &n, &err);
		if (st != BERTH_OK) {
			fprintf(stderr, "berth-both-sides-table: %s: %s\n", text, err.msg);
			return berth_exit_code(st);
		}
	}
	printf("\nOf %d instances the value moved on %d, the bound on %d; the value moved more than the "
	       "bound on %d.\n",
	       (int)n.n, (int)n.value, (int)n.bound, (int)n.order);
	return 0;
}
