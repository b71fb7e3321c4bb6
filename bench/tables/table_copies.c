/* The tables of docs/clusters.md on copies of a model: throughput on the fastest device, by one copy, and by
 * as many as are best; and copies for requests of unlike sizes, seven in ten of batch 1, three of batch 8.
 * Values are the same for one build. */
#include "entries.h"
#include "request_mix.h"

static const char *const systems[] = {"cpu+2gpu", "hetero-cluster"};

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
	const berth_search_cfg cfg = {
		.objective = berth_objective_of(BERTH_THROUGHPUT), .seed = 1, .evaluations = evaluations};
	berth_replicas r;
	MUST(berth_replicas_choose(&x->g, &x->s, 1, most, bench_method("anneal"), &cfg, &x->mem, &x->tmp, &r,
	                           &err));
	*n = r.n;
	return r.sample_s;
}

/* gain: of copies over the fastest device and over one copy. */
static void print_replicas(const char *model, const char *system, int64_t evaluations, bench_mean gain[2],
                           double *most)
{
	int32_t n;
	BENCH_OPEN(x, model, system);
	bench_bound(&x);
	double single = fastest(&x.p), one = choose_copies(&x, 1, evaluations, &n),
	       from = berth_cpu_seconds(),
	       copies = choose_copies(&x, berth_replicas_most(&x.g, &x.s), evaluations, &n);
	printf("| %s | %s | %.1f | %.1f | %.1f | %d | %.2f | %.2f | %.1f %% | %.2f s |\n", model, system,
	       1 / single, 1 / one, 1 / copies, (int)n, single / copies, one / copies,
	       100 * (copies / ((double)x.b.load_ns * 1e-9) - 1), berth_cpu_seconds() - from);
	bench_add(&gain[0], single / copies);
	bench_add(&gain[1], one / copies);
	*most = fmax(*most, single / copies);
}

void table_replicas(const bench_options *o)
{
	static const char *const models[] = {"inception-v3",    "resnet50", "mobilenet-v2",
	                                     "densenet121",     "vgg16",    "randwire:seed=1",
	                                     "randwire:seed=2", "bert-base"};
	bench_head("model|system|fastest device, samples/s:|one copy:|copies:|their number:|"
	           "over the fastest device:|over one copy:|above the bound:|CPU time:");
	for (int k = 0; k < 2; k++) {
		bench_mean gain[2] = {{0}};
		double most = 0;
		for (int i = 0; i < BENCH_N(models); i++)
			print_replicas(models[i], systems[k], o->evaluations, gain, &most);
		printf("| geometric mean | %s | | | | | %.2f | %.2f | | |\n| most | %s | | | | | %.2f | | | |"
		       "\n",
		       systems[k], bench_mean_of(gain[0]), bench_mean_of(gain[1]), systems[k], most);
	}
}

/* ---- requests of unlike sizes ---- */

enum { N_SIZES = 2 };

static void print_mix(const char *model, const char *system, int64_t evaluations, bench_mean gain[2])
{
	static const double share[N_SIZES] = {0.7, 0.3};
	const berth_search_cfg cfg = {
		.objective = berth_objective_of(BERTH_THROUGHPUT), .seed = 1, .evaluations = evaluations};
	char small[64], large[64];
	berth_mix r = {0};
	int32_t apart = 0;
	double from = berth_cpu_seconds();
	snprintf(small, sizeof small, "%s:batch=1", model);
	snprintf(large, sizeof large, "%s:batch=8", model);
	BENCH_OPEN(x, small, system);
	BENCH_OPEN(y, large, system);
	const berth_graph g[N_SIZES] = {x.g, y.g};
	const berth_requests q = {N_SIZES, g, share};
	MUST(berth_mix_choose(&q, &x.s, berth_replicas_most(&x.g, &x.s), bench_method("anneal"), &cfg, &x.mem,
	                      &x.tmp, &r, &err));
	for (int32_t k = 0; k < r.n; k++)
		apart += !(r.copy[k].per_s[0] > 0) || !(r.copy[k].per_s[1] > 0);
	double over = r.per_s / r.device_per_s, one = r.per_s / r.one_per_s;
	printf("| %s | %s | %.1f | %.1f | %.1f | %d | %d | %.2f | %.2f | %.1f %% | %.2f s |\n", model, system,
	       r.device_per_s, r.one_per_s, r.per_s, (int)r.n, (int)apart, over, one,
	       100 * (1 - r.per_s / r.bound_per_s), berth_cpu_seconds() - from);
	bench_add(&gain[0], over);
	bench_add(&gain[1], one);
}

void table_mix(const bench_options *o)
{
	static const char *const models[] = {"inception-v3", "resnet50",        "mobilenet-v2", "densenet121",
	                                     "vgg16",        "randwire:seed=1", "bert-base"};
	bench_head("model|system|fastest device, requests/s:|one copy:|copies:|their number:|for one size "
	           "alone:|over the fastest device:|over one copy:|below the bound:|CPU time:");
	for (int k = 0; k < 2; k++) {
		bench_mean gain[2] = {{0}};
		for (int i = 0; i < BENCH_N(models); i++)
			print_mix(models[i], systems[k], o->evaluations, gain);
		printf("| geometric mean | %s | | | | | | %.2f | %.2f | | |\n", systems[k],
		       bench_mean_of(gain[0]), bench_mean_of(gain[1]));
	}
}
