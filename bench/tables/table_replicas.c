/* The table of docs/clusters.md on copies of a model: throughput on the fastest device, by one copy, and by
 * as many as are best. Values are the same for one build. */
#include "bench.h"

#include "replicas.h"

#include <math.h>

/* Of all devices: the largest load is all of the graph's time on one. */
static double fastest(const berth_problem *p)
{
	double best = INFINITY;
	for (int32_t d = 0; d < p->n_devs; d++) {
		double sum = 0;
		for (int32_t op = 0; op < p->n_ops; op++)
			sum += berth_op_legal(p, op, d) ? (double)berth_op_time(p, op, d) : INFINITY;
		best = fmin(best, sum * 1e-9 / p->s->dev_slots[d]);
	}
	return best;
}

static double choose_copies(subject *x, int32_t most, int64_t evaluations, int32_t *n)
{
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_replicas r;
	cfg.objective = berth_objective_of(BERTH_THROUGHPUT);
	cfg.evaluations = evaluations;
	MUST(berth_replicas_choose(&x->g, &x->s, 1, most, bench_method("anneal"), &cfg, &x->mem, &x->tmp, &r,
	                           &err));
	*n = r.n;
	return r.sample_s;
}

/* sum: logarithms of what copies gain over the fastest device and over one copy. */
static void print_row(const char *model, const char *system, int64_t evaluations, double sum[2], double *most)
{
	subject x;
	int32_t n;
	bench_open(&x, model, system);
	bench_bound(&x);
	double single = fastest(&x.p), one = choose_copies(&x, 1, evaluations, &n),
	       from = berth_cpu_seconds(),
	       copies = choose_copies(&x, berth_replicas_most(&x.g, &x.s), evaluations, &n);
	printf("| %s | %s | %.1f | %.1f | %.1f | %d | %.2f | %.2f | %.1f %% | %.2f s |\n", model, system,
	       1 / single, 1 / one, 1 / copies, (int)n, single / copies, one / copies,
	       100 * (copies / ((double)x.b.load_ns * 1e-9) - 1), berth_cpu_seconds() - from);
	fflush(stdout);
	sum[0] += log(single / copies);
	sum[1] += log(one / copies);
	*most = fmax(*most, single / copies);
	bench_close(&x);
}

static void run_replicas(const bench_options *o)
{
	static const char *const models[] = {"inception-v3",    "resnet50", "mobilenet-v2",
	                                     "densenet121",     "vgg16",    "randwire:seed=1",
	                                     "randwire:seed=2", "bert-base"};
	static const char *const systems[] = {"cpu+2gpu", "hetero-cluster"};
	enum { N_MODELS = sizeof models / sizeof *models };
	bench_head("model|system|fastest device, samples/s:|one copy:|copies:|their number:|over the fastest "
	           "device:|"
	           "over one copy:|above the bound:|CPU time:");
	for (int k = 0; k < 2; k++) {
		double sum[2] = {0}, most = 0;
		for (int i = 0; i < N_MODELS; i++)
			print_row(models[i], systems[k], o->evaluations, sum, &most);
		printf("| geometric mean | %s | | | | | %.2f | %.2f | | |\n| most | %s | | | | | %.2f | | | "
		       "|\n",
		       systems[k], exp(sum[0] / N_MODELS), exp(sum[1] / N_MODELS), systems[k], most);
	}
}

const bench_entry bench_replicas = {
	"replicas", "", "clusters", "2 min",
	"copies of a model for throughput", {.evaluations = 1000}, run_replicas};
