/* berth-grouping: what grouping costs. Prints the tables of docs/methods.md; see --help. Same build, same
 * text.
 *
 * A grouped instance is the instance with its groups as colocation groups, so that every method searches
 * among placements that keep groups whole, under the same simulator. Its best placement is then refined back
 * through the levels of the grouper (refine.h). The best known ungrouped value of an instance is the best of
 * everything that was found for it. */
#include "group_loss.h"
#include "methods.h"
#include "refine.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *graph, *system;
} instances[] = {
	{"zoo:inception-v3:batch=8", "hetero-cluster"},
	{"zoo:inception-v3:batch=32:training=1", "cpu+2gpu"},
	{"zoo:resnet50:batch=192:training=1", "cpu+2gpu"},
	{"zoo:bert-base:batch=64:training=1", "hetero-cluster"},
	{"zoo:vit:batch=32:training=1", "cpu+2gpu"},
	{"zoo:gpt2:batch=8:training=1", "4gpu"},
	{"zoo:nasnet-a:batch=8", "4gpu"},
	{"zoo:nasnet-a:size=mobile:batch=64", "cpu+2gpu"},
	{"zoo:randwire:batch=64", "4gpu"},
	{"zoo:randwire:graph=er:batch=64", "hetero-cluster"},
	{"zoo:densenet121:batch=32", "4gpu"},
	{"zoo:rnnlm:seq=20:layers=4", "4gpu"},
	{"zoo:gnmt:seq=6", "4gpu"},
	{"zoo:transformer:batch=32", "hetero-cluster"},
	{"zoo:moe:layers=4", "4gpu"},
	{"zoo:llama-layer:tiles=4", "4gpu"},
	{"zoo:ffnn:tiles=4", "4gpu"},
	{"zoo:random:ops=400:seed=21", "cpu+2gpu"},
	{"zoo:random:ops=600:ccr=1:seed=22", "hetero-cluster"},
	{"zoo:random:ops=500:ccr=0.1:width=20:seed=23", "4gpu"},
};
static const int32_t targets[] = {16, 32, 64, 128, 256};
enum {
	N_INSTANCES = sizeof instances / sizeof *instances,
	N_TARGETS = sizeof targets / sizeof *targets,
	MAX_GROUPERS = 8,
	SHOWN = 2,
	N_FREE = 4
};

/* What was found for one grouper and target. */
typedef struct finding {
	int32_t n_groups;
	const int32_t *op_group;
	double grouped, refined; /* seconds, geometric means over the seeds */
} finding;

typedef struct effort {
	int64_t evaluations; /* of a grouped search, and again of its refinement */
	int seeds;
} effort;

typedef struct subject {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	double best;
	finding found[MAX_GROUPERS][N_TARGETS];
} subject;

static void must(berth_status st, const berth_err *err)
{
	if (st == BERTH_OK)
		return;
	fprintf(stderr, "berth-grouping: %s\n", err->msg);
	exit(berth_exit_code(st));
}

static void open_subject(subject *x, int i)
{
	berth_err err;
	*x = (subject){.best = INFINITY};
	must(berth_zoo_build(instances[i].graph, &x->mem, &x->tmp, &x->g, &err), &err);
	must(berth_system_builtin(instances[i].system, &x->mem, &x->tmp, &x->s, &err), &err);
	must(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err), &err);
}

static double value_of(const berth_search *s)
{
	return berth_score_feasible(s->best) ? s->best.value : INFINITY;
}

static void run_method(const char *name, berth_search *s, berth_arena *tmp)
{
	const berth_method *m;
	berth_err err;
	must(berth_method_find(name, &m, &err), &err);
	must(berth_method_run(m, s, tmp, &err), &err);
}

/* Annealing without groups, as much of it as a grouped run and its refinement have together, from several
 * seeds. */
static void search_freely(subject *x, int64_t evaluations)
{
	for (uint64_t seed = 1; seed <= N_FREE; seed++) {
		berth_arena mem = {0}, tmp = {0};
		berth_search s;
		berth_search_cfg cfg = {.seed = seed, .evaluations = 2 * evaluations};
		berth_err err;
		must(berth_search_new(&x->p, &cfg, &mem, &s, &err), &err);
		run_method(seed % 2 ? "anneal" : "local-search", &s, &tmp);
		x->best = fmin(x->best, value_of(&s));
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

static double refine(subject *x, const berth_coarsening *c, const berth_search *grouped, int64_t evaluations,
                     uint64_t seed)
{
	berth_arena mem = {0}, tmp = {0};
	berth_search s;
	berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_METHOD);
	berth_levels levels;
	berth_err err;
	must(berth_search_new(&x->p, &cfg, &mem, &s, &err), &err);
	must(berth_levels_new(&x->p, c, &mem, &levels, &err), &err);
	berth_search_keep(&s, grouped->best, grouped->best_dev,
	                  grouped->best_has_order ? grouped->best_order : NULL);
	int32_t *op_dev = berth_arena_alloc(&mem, (size_t)x->p.n_ops, sizeof *op_dev);
	if (!op_dev)
		abort();
	memcpy(op_dev, grouped->best_dev, (size_t)x->p.n_ops * sizeof *op_dev);
	berth_score score = berth_search_offer(&s, op_dev, NULL);
	must(berth_refine(&s, &levels, op_dev, &score, evaluations - 1, &rng, &tmp, &err), &err);
	double value = value_of(&s);
	x->best = fmin(x->best, value);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return value;
}

/* One seed: logarithms of the values are added to out. */
static void search_grouped(subject *x, const berth_coarsening *c, int64_t evaluations, uint64_t seed,
                           finding *out)
{
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_graph g;
	berth_problem p;
	berth_search s;
	berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	must(berth_group_whole(&x->g, c, &mem, &g, &err), &err);
	must(berth_problem_new(&g, &x->s, &mem, &tmp, &p, &err), &err);
	must(berth_search_new(&p, &cfg, &mem, &s, &err), &err);
	run_method("anneal", &s, &tmp);
	out->grouped += log(value_of(&s));
	out->refined += log(refine(x, c, &s, evaluations, seed));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void measure(subject *x, const berth_grouper *grouper, int32_t target, const effort *e, finding *out)
{
	berth_coarsening c;
	berth_coarsen_cfg cfg;
	berth_group_judge judge = {&x->p, e->evaluations / 10, &x->tmp};
	berth_err err;
	must(berth_group_cfg(&x->p, target, &x->mem, &cfg, &err), &err);
	cfg.grouper = grouper;
	cfg.loss = berth_group_loss;
	cfg.loss_ctx = &judge;
	must(berth_coarsen(&x->g, &cfg, &x->mem, &x->tmp, &c, &err), &err);
	*out = (finding){.n_groups = c.n_groups, .op_group = c.op_group};
	for (finding *f = x->found[0]; f < out; f++) /* the same groups by another name */
		if (f->n_groups == c.n_groups &&
		    memcmp(f->op_group, c.op_group, (size_t)x->g.n_ops * sizeof *c.op_group) == 0) {
			*out = *f;
			return;
		}
	for (int seed = 1; seed <= e->seeds; seed++)
		search_grouped(x, &c, e->evaluations, (uint64_t)seed, out);
	out->grouped = exp(out->grouped / e->seeds);
	out->refined = exp(out->refined / e->seeds);
}

/* ---- the tables ---- */

typedef struct sums {
	double grouped[MAX_GROUPERS][N_TARGETS], refined[MAX_GROUPERS][N_TARGETS],
		groups[MAX_GROUPERS][N_TARGETS]; /* sums of logarithms; of groups */
} sums;

static void print_header(const char *first)
{
	printf("| %s |", first);
	for (int t = 0; t < N_TARGETS; t++)
		printf(" %d |", targets[t]);
	printf("\n|---|---|---|---|---|---|\n");
}

static void print_means(const char *title, const berth_grouper *list, int32_t n, double (*sum)[N_TARGETS])
{
	printf("\n### %s\n\n", title);
	print_header("grouper");
	for (int32_t k = 0; k < n; k++) {
		printf("| %s |", list[k].name);
		for (int t = 0; t < N_TARGETS; t++)
			printf(" %+.2f %% |", 100 * (exp(sum[k][t] / N_INSTANCES) - 1));
		printf("\n");
	}
}

static void print_instance_row(const subject *x, int i, int32_t n)
{
	printf("| %s on %s | %d | %.4g |", instances[i].graph + 4, instances[i].system, x->g.n_ops,
	       x->best * 1e3);
	for (int32_t k = 0; k < n; k++)
		printf(" %+.1f / %+.1f |", 100 * (x->found[k][SHOWN].grouped / x->best - 1),
		       100 * (x->found[k][SHOWN].refined / x->best - 1));
	printf("\n");
	fflush(stdout);
}

static void run_instance(int i, const berth_grouper *list, int32_t n, const effort *e, sums *total)
{
	subject x;
	open_subject(&x, i);
	search_freely(&x, e->evaluations);
	for (int32_t k = 0; k < n; k++)
		for (int t = 0; t < N_TARGETS; t++)
			measure(&x, &list[k], targets[t], e, &x.found[k][t]);
	for (int32_t k = 0; k < n; k++)
		for (int t = 0; t < N_TARGETS; t++) {
			total->grouped[k][t] += log(x.found[k][t].grouped / x.best);
			total->refined[k][t] += log(x.found[k][t].refined / x.best);
			total->groups[k][t] += x.found[k][t].n_groups;
		}
	print_instance_row(&x, i, n);
	berth_arena_free(&x.mem);
	berth_arena_free(&x.tmp);
}

static void print_tables(const effort *e)
{
	sums total = {0};
	int32_t n;
	const berth_grouper *list = berth_grouper_list(&n);
	printf("\n### At %d groups: loss in %%, grouped / refined\n\n| instance | operators | best known, ms "
	       "|",
	       targets[SHOWN]);
	for (int32_t k = 0; k < n; k++)
		printf(" %s |", list[k].name);
	printf("\n|---|---|---|");
	for (int32_t k = 0; k < n; k++)
		printf("---|");
	printf("\n");
	for (int i = 0; i < N_INSTANCES; i++)
		run_instance(i, list, n, e, &total);
	print_means("Loss with refinement, geometric mean, by number of groups wanted", list, n,
	            total.refined);
	print_means("Loss without refinement", list, n, total.grouped);
	printf("\n### Groups reached, mean\n\n");
	print_header("grouper");
	for (int32_t k = 0; k < n; k++) {
		printf("| %s |", list[k].name);
		for (int t = 0; t < N_TARGETS; t++)
			printf(" %.0f |", total.groups[k][t] / N_INSTANCES);
		printf("\n");
	}
}

static int usage(FILE *to)
{
	fprintf(to, "usage: berth-grouping [--evaluations N] [--seeds N]\n\nPrints the tables of "
	            "docs/methods.md; 4,000 "
	            "evaluations a run (10 at least), 1 seed.\n");
	return to == stdout ? 0 : 2;
}

int main(int argc, char **argv)
{
	effort e = {4000, 1};
	for (int i = 1; i < argc; i++) {
		if (i + 1 < argc && strcmp(argv[i], "--evaluations") == 0)
			e.evaluations = atoll(argv[++i]);
		else if (i + 1 < argc && strcmp(argv[i], "--seeds") == 0)
			e.seeds = atoi(argv[++i]);
		else
			return usage(strcmp(argv[i], "--help") == 0 ? stdout : stderr);
	}
	if (e.evaluations < 10 || e.seeds < 1)
		return usage(stderr);
	print_tables(&e);
	return 0;
}
