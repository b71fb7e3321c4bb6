/* Annealing and berth at equal CPU time: all from the portfolio, all on the reference simulator, one thread.
 * Annealing moves operators and leaves their order to the system's rule. */
#include "parts.h"

#include "anneal.h"
#include "cooling.h"
#include "methods.h"
#include "portfolio.h"
#include "registry.h"
#include "statistics.h"

#include <math.h>
#include <stdio.h>

static const struct {
	const char *graph, *system;
} instances[] = {
	{"zoo:inception-v3:batch=16", "cpu+2gpu"}, {"zoo:inception-v3:batch=8", "hetero-cluster"},
	{"zoo:inception-v3:batch=8:training=1", "4gpu"},
	{"zoo:nasnet-a:batch=8", "cpu+2gpu"}, {"zoo:nasnet-a:batch=8", "hetero-cluster"},
	{"zoo:nasnet-a:size=mobile:batch=64", "4gpu"},
	{"zoo:resnet50:batch=192:training=1", "cpu+2gpu"}, {"zoo:resnet18:training=1:batch=16", "4gpu"},
	{"zoo:bert-base:batch=64:training=1", "hetero-cluster"},
	{"zoo:bert-large:training=1:batch=8", "4gpu"},
	{"zoo:gpt2-medium:training=1:batch=4", "hetero-cluster"}, {"zoo:gpt2:batch=8:training=1", "4gpu"},
	{"zoo:vit:batch=32:training=1", "cpu+2gpu"}, {"zoo:randwire:batch=64", "4gpu"},
	{"zoo:randwire:graph=er:batch=64", "hetero-cluster"},
	{"zoo:rnnlm:seq=20:layers=4", "4gpu"}, {"zoo:gnmt:seq=10", "4gpu"},
	{"zoo:gnmt:seq=6", "hetero-cluster"}, {"zoo:moe:layers=4", "edge"},
	{"zoo:llama-layer:tiles=4", "4gpu"}, {"zoo:llama-layer:tiles=4", "cpu+2gpu"},
	{"zoo:ffnn:tiles=4", "cpu+2gpu"}, {"zoo:chain-mm:tiles=4", "4gpu"},
	{"zoo:random:ops=400:seed=21", "cpu+2gpu"}, {"zoo:random:ops=600:ccr=1:seed=22", "hetero-cluster"},
	{"zoo:random:ops=2000:seed=23:width=20", "4gpu"},
	{"zoo:random:ops=3000:seed=24:width=30", "hetero-cluster"},
	{"zoo:random:ops=1000:seed=25:ccr=0.1", "random:devices=8:seed=9"},
};
enum {
	N_INSTANCES = sizeof instances / sizeof *instances,
	FEW = 5,
	MAX_SEEDS = 100
}; /* of long runs one instance in FEW */

int n_timed_instances(void)
{
	return N_INSTANCES;
}

void open_timed_instance(subject *x, int i)
{
	open_subject_of(x, instances[i].graph, instances[i].system);
}

void print_timed_instance(int i)
{
	printf("| %s on %s |", instances[i].graph + 4, instances[i].system);
}

/* Annealing as it was without estimates: moves drawn blindly, runs of doubling length at three temperatures.
 */
static berth_status run_plain(berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const double first_temperature[] = {0.001, 0.01, 0.1};
	berth_annealer *a;
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	BERTH_TRY(berth_annealer_new(s, 0, true, berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD), tmp, &a,
	                             err));
	for (int64_t i = 0, n_steps = 500;
	     berth_anneal_cool(a, (berth_keyed){.op_dev = s->best_dev}, first_temperature[i % 3], n_steps);
	     i++)
		n_steps += i % 3 == 2 ? n_steps : 0;
	return BERTH_OK;
}

/* What berth is without a policy: the portfolio and annealing, by the rule and with orders. */
static berth_status run_unlearned(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_portfolio known;
	berth_cooling c;
	bool ended = false;
	BERTH_TRY(berth_portfolio_run(s, s->mem, tmp, &known, err));
	BERTH_TRY(berth_cooling_new(s, true, s->mem, &c, err));
	for (int32_t i = 0; i < known.n && s->best_has_order && berth_search_budget_left(s, 1) > 0; i++)
		berth_cooling_consider(&c, known.answer[i].op_dev,
		                       berth_search_offer(s, known.answer[i].op_dev, NULL));
	while (!ended)
		BERTH_TRY(berth_cooling_run(&c, &ended, tmp, err));
	return BERTH_OK;
}

typedef struct ratios {
	double sum;
	int better, worse, close, n;
} ratios;

static void add(ratios *r, double ratio)
{
	r->sum += log(ratio);
	r->better += ratio < 0.999;
	r->worse += ratio > 1.001;
	r->close += ratio <= 1.005;
	r->n++;
}

static void print_ratios(const char *name, const ratios *r)
{
	printf("%s: geometric mean %.4f; better by 0.1 %% on %d, worse by 0.1 %% on %d of %d; not worse by "
	       "over 0.5 %% on %.0f %%.\n",
	       name, exp(r->sum / r->n), r->better, r->worse, r->n, 100.0 * r->close / r->n);
}

/* The rivals of the table; the first one is what the others are measured by. */
static const berth_method plain = {"anneal, blind", "", true, run_plain, NULL};
static const berth_method unlearned = {"berth, unlearned", "", true, run_unlearned, NULL};
enum { N_RIVALS = 4 };

static double median_of(const subject *x, const berth_method *method, int n_seeds, double seconds)
{
	double v[MAX_SEEDS];
	berth_arena tmp = {0};
	for (int k = 0; k < n_seeds; k++) {
		berth_search_cfg cfg = {
			.seed = (uint64_t)k + 1, .evaluations = INT64_MAX / 4, .cpu_s = seconds};
		v[k] = run_this(x, method, &cfg);
	}
	double median = berth_median(v, n_seeds, &tmp);
	berth_arena_free(&tmp);
	return median;
}

static void print_row(int i, const berth_method *const *rival, int n_seeds, double seconds, ratios *r)
{
	subject x;
	open_timed_instance(&x, i);
	double base = median_of(&x, rival[0], n_seeds, seconds);
	print_timed_instance(i);
	printf(" %d | %.4g |", x.p.n_ops, base);
	for (int k = 1; k < N_RIVALS; k++) {
		double ratio = median_of(&x, rival[k], n_seeds, seconds) / base;
		if (isfinite(ratio)) {
			printf(" %.4f |", ratio);
			add(&r[k], ratio);
		} else {
			printf(" - |");
		}
	}
	printf("\n");
	fflush(stdout);
	close_subject(&x);
}

void table_time(int n_seeds, double seconds)
{
	const berth_method *rival[N_RIVALS] = {&plain, NULL, &unlearned, NULL};
	ratios r[N_RIVALS] = {0};
	berth_err err;
	must(berth_method_find("anneal", &rival[1], &err), &err);
	must(berth_method_find("berth", &rival[3], &err), &err);
	printf("\n## Annealing and berth at equal CPU time: %g s, one thread\n\nMedian of %d seeds: the "
	       "value of annealing with moves that are drawn blindly at three temperatures in turn, and "
	       "the others' by it. Below 1 is better. Unlearned: `berth` without policy and learning.\n\n"
	       "| instance | operators |",
	       seconds, n_seeds);
	for (int k = 0; k < N_RIVALS; k++)
		printf(" %s |", rival[k]->name);
	printf("\n|---|---|---|---|---|---|\n");
	for (int i = 0; i < N_INSTANCES; i += seconds < 60 ? 1 : FEW)
		print_row(i, rival, n_seeds, seconds, r);
	printf("\n");
	for (int k = 1; k < N_RIVALS; k++)
		print_ratios(rival[k]->name, &r[k]);
}
