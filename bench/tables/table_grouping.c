/* What grouping costs: the tables of docs/methods.md. Same build, same text.
 *
 * A grouped instance is the instance with its groups as colocation groups, so that every method searches
 * among placements that keep groups whole, under the same simulator. Its best placement is then refined back
 * through the levels of the grouper. The best known ungrouped value of an instance is the best of everything
 * that was found for it. */
#include "bench.h"

#include "coarsen.h"
#include "sort.h"
#include "group_loss.h"
#include "improve.h"

#include <math.h>
#include <string.h>

static const bench_pair instances[] = {
	{"inception-v3:batch=8", "hetero-cluster"},
	{"inception-v3:batch=32:training=1", "cpu+2gpu"},
	{"resnet50:batch=192:training=1", "cpu+2gpu"},
	{"bert-base:batch=64:training=1", "hetero-cluster"},
	{"vit:batch=32:training=1", "cpu+2gpu"},
	{"gpt2:batch=8:training=1", "4gpu"},
	{"nasnet-a:batch=8", "4gpu"},
	{"nasnet-a:size=mobile:batch=64", "cpu+2gpu"},
	{"randwire:batch=64", "4gpu"},
	{"randwire:graph=er:batch=64", "hetero-cluster"},
	{"densenet121:batch=32", "4gpu"},
	{"rnnlm:seq=20:layers=4", "4gpu"},
	{"gnmt:seq=6", "4gpu"},
	{"transformer:batch=32", "hetero-cluster"},
	{"moe:layers=4", "4gpu"},
	{"llama-layer:tiles=4", "4gpu"},
	{"ffnn:tiles=4", "4gpu"},
	{"random:ops=400:seed=21", "cpu+2gpu"},
	{"random:ops=600:ccr=1:seed=22", "hetero-cluster"},
	{"random:ops=500:ccr=0.1:width=20:seed=23", "4gpu"},
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

typedef struct task {
	subject x;
	double best;
	finding found[MAX_GROUPERS][N_TARGETS];
} task;

/* ---- refinement ---- */

/* Levels of a coarsening to refine by: moves of groups, then of the nodes of finer levels, last of colocation
 * groups. Without that last, ungrouped search grouping could exclude the optimum. */
typedef struct levels {
	int32_t n;           /* coarsest first; the last one is the colocation groups */
	berth_blocks *level; /* [n] */
} levels;

/* Those that are worth a round: each at least a quarter smaller than the next finer one. In mem. */
static levels find_levels(const berth_problem *p, const berth_coarsening *c, berth_arena *mem)
{
	int32_t *node = bench_new(mem, (size_t)p->n_ops, sizeof *node), last = INT32_MAX;
	levels l = {0, bench_new(mem, (size_t)c->n_levels, sizeof *l.level)};
	/* From the colocation groups on, coarser and coarser; kept in reverse. */
	for (int32_t op = 0; op < p->n_ops; op++)
		node[op] = c->op_coloc[op];
	for (int32_t k = 0; k < c->n_levels; k++) {
		if (k == 0 || k == c->n_levels - 1 || c->level_n[k] <= last / 4 * 3) {
			int32_t *off, *op;
			MUST(berth_csr_new(c->level_n[k], p->n_ops, node, NULL, mem, &off, &op, &err));
			l.level[l.n++] = (berth_blocks){c->level_n[k], off, op};
			last = c->level_n[k];
		}
		for (int32_t op = 0; k + 1 < c->n_levels && op < p->n_ops; op++)
			node[op] = c->level_map[k][node[op]];
	}
	for (int32_t i = 0; i < l.n / 2; i++) {
		berth_blocks x = l.level[i];
		l.level[i] = l.level[l.n - 1 - i];
		l.level[l.n - 1 - i] = x;
	}
	return l;
}

/* First improvement from op_dev on, about so many evaluations over all levels; the last level gets what the
 * others leave. */
static void refine_levels(berth_search *s, const levels *l, int32_t *op_dev, int64_t evaluations,
                          berth_rng *rng, berth_arena *tmp)
{
	berth_score score = berth_search_offer(s, op_dev, NULL);
	int64_t end = s->evaluations + evaluations;
	for (int32_t i = 0; i < l->n; i++) {
		int64_t share = (end - s->evaluations) / (l->n - i);
		MUST(berth_improve_blocks(s, &l->level[i], op_dev, &score, share, rng, tmp, &err));
	}
}

/* ---- searches ---- */

static double value_of(const berth_search *s)
{
	return berth_score_feasible(s->best) ? s->best.value : INFINITY;
}

/* Annealing and local search without groups, as much as a grouped run and its refinement have together, from
 * several seeds. */
static void search_freely(task *t, int64_t evaluations)
{
	for (uint64_t seed = 1; seed <= N_FREE; seed++) {
		berth_search_cfg cfg = {.seed = seed, .evaluations = 2 * evaluations};
		t->best = fmin(t->best, bench_value_of(&t->x, seed % 2 ? "anneal" : "local-search", &cfg));
	}
}

static double refine(task *t, const berth_coarsening *c, const berth_search *grouped, int64_t evaluations,
                     uint64_t seed)
{
	const berth_problem *p = &t->x.p;
	berth_arena mem = {0}, tmp = {0};
	berth_search s;
	berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_METHOD);
	int32_t *op_dev = bench_new(&mem, (size_t)p->n_ops, sizeof *op_dev);
	MUST(berth_search_new(p, &cfg, &mem, &s, &err));
	levels l = find_levels(p, c, &mem);
	berth_search_keep(&s, grouped->best, grouped->best_dev,
	                  grouped->best_has_order ? grouped->best_order : NULL);
	memcpy(op_dev, grouped->best_dev, (size_t)p->n_ops * sizeof *op_dev);
	refine_levels(&s, &l, op_dev, evaluations - 1, &rng, &tmp);
	double value = value_of(&s);
	t->best = fmin(t->best, value);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return value;
}

/* One seed: logarithms of the values are added to out. */
static void search_grouped(task *t, const berth_coarsening *c, int64_t evaluations, uint64_t seed,
                           finding *out)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_problem p;
	berth_search s;
	berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	MUST(berth_group_whole(&t->x.g, c, &mem, &g, &err));
	MUST(berth_problem_new(&g, &t->x.s, &mem, &tmp, &p, &err));
	MUST(berth_search_new(&p, &cfg, &mem, &s, &err));
	MUST(berth_method_run(bench_method("anneal"), &s, &tmp, &err));
	out->grouped += log(value_of(&s));
	out->refined += log(refine(t, c, &s, evaluations, seed));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void measure(task *t, const berth_grouper *grouper, int32_t target, const bench_options *o,
                    finding *out)
{
	subject *x = &t->x;
	berth_coarsening c;
	berth_coarsen_cfg cfg;
	berth_group_judge judge = {&x->p, o->evaluations / 10, &x->tmp};
	MUST(berth_group_cfg(&x->p, target, &x->mem, &cfg, &err));
	cfg.grouper = grouper;
	cfg.loss = berth_group_loss;
	cfg.loss_ctx = &judge;
	MUST(berth_coarsen(&x->g, &cfg, &x->mem, &x->tmp, &c, &err));
	*out = (finding){.n_groups = c.n_groups, .op_group = c.op_group};
	for (finding *f = t->found[0]; f < out; f++) /* the same groups by another name */
		if (f->n_groups == c.n_groups &&
		    memcmp(f->op_group, c.op_group, (size_t)x->g.n_ops * sizeof *c.op_group) == 0) {
			*out = *f;
			return;
		}
	for (int seed = 1; seed <= o->seeds; seed++)
		search_grouped(t, &c, o->evaluations, (uint64_t)seed, out);
	out->grouped = exp(out->grouped / o->seeds);
	out->refined = exp(out->refined / o->seeds);
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

static void run_instance(int i, const berth_grouper *list, int32_t n, const bench_options *o, sums *total)
{
	task t = {.best = INFINITY};
	bench_open(&t.x, instances[i].graph, instances[i].system);
	search_freely(&t, o->evaluations);
	for (int32_t k = 0; k < n; k++)
		for (int j = 0; j < N_TARGETS; j++)
			measure(&t, &list[k], targets[j], o, &t.found[k][j]);
	for (int32_t k = 0; k < n; k++)
		for (int j = 0; j < N_TARGETS; j++) {
			total->grouped[k][j] += log(t.found[k][j].grouped / t.best);
			total->refined[k][j] += log(t.found[k][j].refined / t.best);
			total->groups[k][j] += t.found[k][j].n_groups;
		}
	printf("| %s on %s | %d | %.4g |", instances[i].graph, instances[i].system, t.x.g.n_ops,
	       t.best * 1e3);
	for (int32_t k = 0; k < n; k++)
		printf(" %+.1f / %+.1f |", 100 * (t.found[k][SHOWN].grouped / t.best - 1),
		       100 * (t.found[k][SHOWN].refined / t.best - 1));
	printf("\n");
	fflush(stdout);
	bench_close(&t.x);
}

static void run_grouping(const bench_options *o)
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
		run_instance(i, list, n, o, &total);
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

const bench_entry bench_grouping = {
	"grouping", "", "methods", "2 h",
	"what grouping costs", {.evaluations = 4000, .seeds = 1}, run_grouping};
