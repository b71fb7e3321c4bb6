/* The table of memory pools in docs/bounds.md: the best placements found on the built-in systems with pools
 * against the bound, and against the bound of the same system without them. Same build, same text. */
#include "entries.h"
#include "text.h"

/* Strong bounds, of the system as it is or without its pools: then each device may hold what the pool may. */
static void bound_strongly(subject *x, bool pools)
{
	berth_bound_effort all = berth_bound_effort_all(NULL);
	berth_system *s = &x->s;
	for (int32_t d = 0; d < s->n_devs && !pools; d++)
		if (s->dev_pool[d] >= 0 && s->dev_memory_bytes[d] < 0)
			s->dev_memory_bytes[d] = s->pool_bytes[s->dev_pool[d]];
	if (!pools) {
		s->n_pools = 0;
		MUST(berth_problem_new(&x->g, s, &x->mem, &x->tmp, &x->p, &err));
	}
	bench_bound(x);
	MUST(berth_bounds_strengthen(&x->p, &all, &x->tmp, &x->b, &err));
}

static void print_instance(const char *model, const char *system, int64_t evaluations)
{
	static const berth_metric metrics[] = {BERTH_LATENCY, BERTH_THROUGHPUT};
	BENCH_OPEN(with, model, system);
	BENCH_OPEN(without, model, system);
	bound_strongly(&with, true);
	bound_strongly(&without, false);
	for (int k = 0; k < 2; k++) {
		berth_metric m = metrics[k];
		const berth_search_cfg cfg = {
			.objective = berth_objective_of(m), .seed = 1, .evaluations = evaluations};
		berth_solution r;
		char value[32];
		bench_solve(&with, "berth", &cfg, &r);
		printf("| %s | %s | %s | ", with.g.name, with.s.name, berth_metrics[m].name);
		if (r.feasible)
			printf("%s | %.2f %% | %.2f %% |\n", berth_text_seconds(value, r.value),
			       100 * berth_gap(r.value, without.b.value[m]),
			       100 * berth_gap(r.value, with.b.value[m]));
		else
			printf("none found | | |\n");
	}
}

void table_pool_bounds(const bench_options *o)
{
	static const char *const models[] = {"llama:layers=4:mode=decode", "moe:layers=2:mode=decode",
	                                     "rnnlm", "gpt2", "resnet50:batch=8", "randwire"};
	bench_head("model|system|objective|best found|gap, pools left out|gap");
	for (int i = 0; i < 12; i++)
		print_instance(models[i % 6], i < 6 ? "laptop" : "edge", o->evaluations);
}
