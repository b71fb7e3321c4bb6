/* What grouping costs: the tables of docs/methods.md. Same build, same text.
 *
 * A grouped instance is the instance with its groups as colocation groups, so that every method searches
 * among placements that keep groups whole, under the same simulator. Its best placement is then refined back
 * through the levels of the grouper. The best known ungrouped value of an instance is the best of everything
 * that was found for it. */
#include "coarsen.h"
#include "entries.h"
#include "group_cfg.h"
#include "improve.h"
#include "sort.h"

static const bench_pair instances[] = {
	{"inception-v3:batch=8", "hetero-cluster"}, {"inception-v3:batch=32:training=1", "cpu+2gpu"},
	{"resnet50:batch=192:training=1", "cpu+2gpu"}, {"bert-base:batch=64:training=1", "hetero-cluster"},
	{"vit:batch=32:training=1", "cpu+2gpu"}, {"gpt2:batch=8:training=1", "4gpu"},
	{"nasnet-a:batch=8", "4gpu"}, {"nasnet-a:size=mobile:batch=64", "cpu+2gpu"},
	{"randwire:batch=64", "4gpu"}, {"randwire:graph=er:batch=64", "hetero-cluster"},
	{"densenet121:batch=32", "4gpu"}, {"rnnlm:seq=20:layers=4", "4gpu"}, {"gnmt:seq=6", "4gpu"},
	{"transformer:batch=32", "hetero-cluster"}, {"moe:layers=4", "4gpu"}, {"llama-layer:tiles=4", "4gpu"},
	{"ffnn:tiles=4", "4gpu"}, {"random:ops=400:seed=21", "cpu+2gpu"},
	{"random:ops=600:ccr=1:seed=22", "hetero-cluster"},
	{"random:ops=500:ccr=0.1:width=20:seed=23", "4gpu"},
};
static const int32_t targets[] = {16, 32, 64, 128, 256};
enum { N_TARGETS = BENCH_N(targets), MOST = 8 * N_TARGETS, SHOWN = 2, N_FREE = 4 };

/* What was found for one grouper and target. */
typedef struct finding {
	int32_t n_groups;
	const int32_t *op_group;
	bench_mean grouped, refined; /* seconds, over the seeds */
} finding;

typedef struct task {
	subject x;
	double best;
	finding found[MOST]; /* groupers, for each its targets */
} task;

/* ---- refinement ---- */

/* Levels of a coarsening to refine by: moves of groups, then of the nodes of finer levels, last of colocation
 * groups. Without that last, ungrouped search grouping could exclude the optimum. Those that are worth a
 * round: each at least a quarter smaller than the next finer one. Returned [*n] in mem, finest first. */
static berth_blocks *find_levels(const berth_problem *p, const berth_coarsening *c, berth_arena *mem,
                                 int32_t *n)
{
	int32_t *node = bench_new(mem, (size_t)p->n_ops, sizeof *node), last = INT32_MAX;
	berth_blocks *level = bench_new(mem, (size_t)c->n_levels, sizeof *level);
	*n = 0;
	BERTH_COPY(node, c->op_coloc, p->n_ops);
	for (int32_t k = 0; k < c->n_levels; k++) {
		if (k == 0 || k == c->n_levels - 1 || c->level_n[k] <= last / 4 * 3) {
			int32_t *off, *op;
			MUST(berth_csr_new(c->level_n[k], p->n_ops, node, NULL, mem, &off, &op, &err));
			level[(*n)++] = (berth_blocks){c->level_n[k], off, op};
			last = c->level_n[k];
		}
		for (int32_t op = 0; k + 1 < c->n_levels && op < p->n_ops; op++)
			node[op] = c->level_map[k][node[op]];
	}
	return level;
}

/* First improvement from the answer of a grouped search on, coarsest level first, about so many evaluations
 * over all levels; the last level gets what the others leave. */
static double refine(task *t, const berth_coarsening *c, const berth_search *grouped, int64_t evaluations,
                     uint64_t seed)
{
	const berth_problem *p = &t->x.p;
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_search s;
	berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	berth_rng rng = berth_rng_seed(seed, BERTH_STREAM_METHOD);
	int32_t n, *op_dev = bench_new(&mem, (size_t)p->n_ops, sizeof *op_dev);
	MUST(berth_search_new(p, &cfg, &mem, &s, &err));
	const berth_blocks *level = find_levels(p, c, &mem, &n);
	berth_search_keep(&s, grouped->best, grouped->best_dev,
	                  grouped->best_has_order ? grouped->best_order : NULL);
	BERTH_COPY(op_dev, grouped->best_dev, p->n_ops);
	berth_score score = berth_search_offer(&s, op_dev, NULL);
	for (int64_t end = s.evaluations + evaluations - 1; n > 0; n--)
		MUST(berth_improve_blocks(&s, &level[n - 1], op_dev, &score, (end - s.evaluations) / n, &rng,
		                          &tmp, &err));
	t->best = fmin(t->best, bench_found(&s));
	return bench_found(&s);
}

/* ---- searches ---- */

/* A graph whose colocation groups are the groups of c. It shares the rest with g. */
static berth_graph whole_groups(const berth_graph *g, const berth_coarsening *c, berth_arena *mem)
{
	berth_graph copy = *g;
	copy.n_coloc_names = c->n_groups;
	copy.op_coloc_name = c->op_group;
	copy.coloc_name = bench_new(mem, (size_t)c->n_groups, sizeof *copy.coloc_name);
	for (int32_t i = 0; i < c->n_groups; i++)
		MUST(berth_got(copy.coloc_name[i] = berth_arena_printf(mem, "group%d", i), &err));
	return copy;
}

/* One seed: its values are added to out. */
static void search_grouped(task *t, const berth_coarsening *c, int64_t evaluations, uint64_t seed,
                           finding *out)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
	berth_graph g = whole_groups(&t->x.g, c, &mem);
	berth_problem p;
	berth_search s;
	berth_search_cfg cfg = {.seed = seed, .evaluations = evaluations};
	MUST(berth_problem_new(&g, &t->x.s, &mem, &tmp, &p, &err));
	MUST(berth_search_new(&p, &cfg, &mem, &s, &err));
	MUST(berth_method_run(bench_method("anneal"), &s, &tmp, &err));
	bench_add(&out->grouped, bench_found(&s));
	bench_add(&out->refined, refine(t, c, &s, evaluations, seed));
}

static void measure(task *t, const berth_grouper *grouper, int32_t target, const bench_options *o,
                    finding *out)
{
	subject *x = &t->x;
	berth_coarsening c;
	berth_coarsen_cfg cfg;
	MUST(berth_group_cfg(&x->p, target, &x->mem, &cfg, &err));
	cfg.grouper = grouper;
	MUST(berth_coarsen(&x->g, &cfg, &x->mem, &x->tmp, &c, &err));
	*out = (finding){.n_groups = c.n_groups, .op_group = c.op_group};
	for (finding *f = t->found; f < out; f++) /* the same groups by another name */
		if (f->n_groups == c.n_groups &&
		    memcmp(f->op_group, c.op_group, (size_t)x->g.n_ops * sizeof *c.op_group) == 0) {
			*out = *f;
			return;
		}
	for (int seed = 1; seed <= o->seeds; seed++)
		search_grouped(t, &c, o->evaluations, (uint64_t)seed, out);
}

/* ---- the tables ---- */

/* Over the instances: losses without and with refinement, groups that were reached. */
typedef struct sums {
	bench_mean grouped[MOST], refined[MOST];
	double groups[MOST];
} sums;

/* A row a grouper, by number of groups wanted; sum NULL: the groups reached. */
static void print_means(const char *title, const berth_grouper *list, int32_t n, const sums *all,
                        const bench_mean *sum)
{
	printf("\n### %s\n\n", title);
	bench_head("grouper|16|32|64|128|256");
	for (int32_t k = 0; k < n; k++) {
		printf("| %s |", list[k].name);
		for (int t = k * N_TARGETS; t < (k + 1) * N_TARGETS; t++)
			sum ? printf(" %+.2f %% |", 100 * (bench_mean_of(sum[t]) - 1))
			    : printf(" %.0f |", all->groups[t] / BENCH_N(instances));
		printf("\n");
	}
}

static void run_instance(int i, const berth_grouper *list, int32_t n, const bench_options *o, sums *total)
{
	task t = {.best = INFINITY};
	bench_open(&t.x, instances[i].graph, instances[i].system);
	/* without groups, as much as a grouped run and its refinement have together, from several seeds */
	for (uint64_t seed = 1; seed <= N_FREE; seed++) {
		const berth_search_cfg cfg = {.seed = seed, .evaluations = 2 * o->evaluations};
		const char *method = seed % 2 ? "anneal" : "local-search";
		t.best = fmin(t.best, bench_value(&t.x, bench_method(method), &cfg));
	}
	for (int k = 0; k < n * N_TARGETS; k++)
		measure(&t, &list[k / N_TARGETS], targets[k % N_TARGETS], o, &t.found[k]);
	printf("| %s on %s | %d | %.4g |",
	       instances[i].graph, instances[i].system, t.x.g.n_ops, t.best * 1e3);
	for (int k = 0; k < n * N_TARGETS; k++) {
		const finding *f = &t.found[k];
		double grouped = bench_mean_of(f->grouped) / t.best,
		       refined = bench_mean_of(f->refined) / t.best;
		bench_add(&total->grouped[k], grouped);
		bench_add(&total->refined[k], refined);
		total->groups[k] += f->n_groups;
		if (k % N_TARGETS == SHOWN)
			printf(" %+.1f / %+.1f |", 100 * (grouped - 1), 100 * (refined - 1));
	}
	printf("\n");
	bench_close(&t.x);
}

void table_grouping(const bench_options *o)
{
	sums total = {0};
	int32_t n;
	const berth_grouper *list = berth_grouper_list(&n);
	printf("\n### At %d groups: loss in %%, grouped / refined\n\n| instance | operators | best known, ms "
	       "|",
	       targets[SHOWN]);
	for (int32_t k = 0; k < n; k++)
		printf(" %s |", list[k].name);
	bench_rule(3 + n, 0);
	for (int i = 0; i < BENCH_N(instances); i++)
		run_instance(i, list, n, o, &total);
	print_means("Loss with refinement, geometric mean, by number of groups wanted", list, n, &total,
	            total.refined);
	print_means("Loss without refinement", list, n, &total, total.grouped);
	print_means("Groups reached, mean", list, n, &total, NULL);
}
