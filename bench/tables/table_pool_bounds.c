/* The table of memory pools in docs/bounds.md: the best placements found on the built-in systems with pools
 * against the bound, and against the bound of the same system without them. Same build, same text. */
#include "bench.h"

#include "text.h"

/* Each device may hold what the pool may. */
static void drop_pools(berth_system *s)
{
	for (int32_t d = 0; d < s->n_devs; d++) {
		int32_t pool = s->dev_pool[d];
		if (pool >= 0 && s->dev_memory_bytes[d] < 0)
			s->dev_memory_bytes[d] = s->pool_bytes[pool];
	}
	s->n_pools = 0;
}

/* strong ones, of the system as it is or without its pools */
static void open_bounded(subject *x, const char *model, const char *system, bool pools)
{
	berth_bound_effort all = berth_bound_effort_all(NULL);
	bench_open(x, model, system);
	if (!pools) {
		drop_pools(&x->s);
		MUST(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err));
	}
	bench_bound(x);
	MUST(berth_bounds_strengthen(&x->p, &all, &x->tmp, &x->b, &err));
}

static void print_instance(const char *model, const char *system, int64_t evaluations)
{
	static const berth_metric metrics[] = {BERTH_LATENCY, BERTH_THROUGHPUT};
	char value[32];
	subject with, without;
	open_bounded(&with, model, system, true);
	open_bounded(&without, model, system, false);
	for (int k = 0; k < 2; k++) {
		berth_metric m = metrics[k];
		berth_solution r;
		berth_search_cfg cfg = berth_search_cfg_default();
		cfg.objective = berth_objective_of(m);
		cfg.evaluations = evaluations;
		bench_solve(&with, &with.b, "berth", &cfg, &r);
		printf("| %s | %s | %s | ", with.g.name, with.s.name, berth_metrics[m].name);
		if (r.feasible)
			printf("%s | %.2f %% | %.2f %% |\n", berth_text_seconds(value, r.value),
			       100 * berth_gap(r.value, without.b.value[m]),
			       100 * berth_gap(r.value, with.b.value[m]));
		else
			printf("none found | | |\n");
	}
	fflush(stdout);
	bench_close(&with);
	bench_close(&without);
}

static void run_pool_bounds(const bench_options *o)
{
	static const char *const systems[] = {"laptop", "edge"};
	static const char *const models[] = {"llama:layers=4:mode=decode",
	                                     "moe:layers=2:mode=decode",
	                                     "rnnlm",
	                                     "gpt2",
	                                     "resnet50:batch=8",
	                                     "randwire"};
	bench_head("model|system|objective|best found|gap, pools left out|gap");
	for (int i = 0; i < 12; i++)
		print_instance(models[i % 6], systems[i / 6], o->evaluations);
}

const bench_entry bench_pool_bounds = {
	"pool-bounds", "", "bounds", "5 min",
	"the bound of memory pools, and without them", {.evaluations = 3000}, run_pool_bounds};
