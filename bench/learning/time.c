/* Annealing and berth at equal CPU time: all from the portfolio, all on the reference simulator, one thread.
 * Annealing moves operators and leaves their order to the system's rule. */
#include "parts.h"

#include "anneal.h"
#include "cooling.h"
#include "methods.h"
#include "portfolio.h"
#include "registry.h"
#include "statistics.h"
#include "style.h"

#include <inttypes.h>
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
enum { N_INSTANCES = sizeof instances / sizeof *instances, N_DRAWN = 28, NAME_SIZE = 96 };

int n_timed_instances(void)
{
	return N_INSTANCES + N_DRAWN;
}

/* Those behind the table are drawn by a rule: every other one is a model of the zoo, the others are random
 * graphs, all on random machines that nothing was ever chosen by. */
static void name_drawn(int k, char graph[NAME_SIZE], char system[NAME_SIZE])
{
	static const char *const models[] = {
		"inception-v3", "resnet50", "nasnet-a:size=mobile", "randwire", "randwire:graph=ba",
		"mobilenet-v2", "densenet121", "bert-base", "gpt2", "vit", "transformer", "unet",
		"gnmt:seq=8", "rnnlm:seq=16"};
	static const char *const topologies[] = {"full", "bus", "star", "hosts"};
	enum { N_MODELS = sizeof models / sizeof *models };
	berth_rng rng = berth_rng_seed(2026, (uint64_t)k);
	uint32_t devices = 2 + berth_rng_below(&rng, 7), topology = berth_rng_below(&rng, 4);
	snprintf(system, NAME_SIZE, "random:devices=%" PRIu32 ":topology=%s:seed=%d", devices,
	         topologies[topology], 900 + k);
	if (k % 2 == 0) {
		uint32_t batch = UINT32_C(1) << berth_rng_below(&rng, 7), training = berth_rng_below(&rng, 2);
		snprintf(graph, NAME_SIZE, "zoo:%s:batch=%" PRIu32 ":training=%" PRIu32,
		         models[k / 2 % N_MODELS], batch, training);
		return;
	}
	double ops = 200 * pow(10, berth_rng_unit(&rng)), ccr = 0.1 * pow(20, berth_rng_unit(&rng));
	uint32_t width = 4 + berth_rng_below(&rng, 28);
	snprintf(graph, NAME_SIZE, "zoo:random:ops=%.0f:seed=%d:ccr=%.2f:width=%" PRIu32, ops, 900 + k, ccr,
	         width);
}

static void name_timed(int i, char graph[NAME_SIZE], char system[NAME_SIZE])
{
	if (i >= N_INSTANCES) {
		name_drawn(i - N_INSTANCES, graph, system);
		return;
	}
	snprintf(graph, NAME_SIZE, "%s", instances[i].graph);
	snprintf(system, NAME_SIZE, "%s", instances[i].system);
}

void open_timed_instance(subject *x, int i)
{
	char graph[NAME_SIZE], system[NAME_SIZE];
	name_timed(i, graph, system);
	open_subject_of(x, graph, system);
}

void print_timed_instance(int i)
{
	char graph[NAME_SIZE], system[NAME_SIZE];
	name_timed(i, graph, system);
	printf("| %s on %s |", graph + 4, system);
}

/* Moves drawn blindly, runs of doubling length at three temperatures. */
static berth_status walk_blindly(berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const double first_temperature[] = {0.001, 0.01, 0.1};
	berth_annealer *a;
	BERTH_TRY(berth_annealer_new(s, 0, true, berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD), tmp, &a,
	                             err));
	for (int64_t i = 0, n_steps = 500;
	     berth_anneal_cool(a, (berth_keyed){.op_dev = s->best_dev}, first_temperature[i % 3], n_steps);
	     i++)
		n_steps += i % 3 == 2 ? n_steps : 0;
	return BERTH_OK;
}

/* Annealing as it was before there were estimates, with the seeds of that time. */
static berth_status run_plain(berth_search *s, berth_arena *tmp, berth_err *err)
{
	s->cfg.walk_styles = &berth_walks_by_hand;
	static const char *const seeds[] = {"single", "heft", "ceft-cpop", "pbqp", "ceft-pbqp"};
	for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
		const berth_method *seed;
		BERTH_TRY(berth_method_find(seeds[i], &seed, err));
		BERTH_TRY(berth_method_run(seed, s, tmp, err));
	}
	return walk_blindly(s, tmp, err);
}

/* The same from the seeds of today. */
static berth_status run_blind(berth_search *s, berth_arena *tmp, berth_err *err)
{
	s->cfg.walk_styles = &berth_walks_by_hand;
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	return walk_blindly(s, tmp, err);
}

/* What berth is without what is learned: the portfolio and annealing as set by hand, by the rule and with
 * orders. */
static berth_status run_unlearned(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_portfolio known;
	berth_cooling c;
	bool ended = false;
	s->cfg.walk_styles = &berth_walks_by_hand;
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

static void print_ratios(const char *of, const char *name, const ratios *r)
{
	printf("| %s | %s | %.4f | %d | %d | %d | %.0f %% |\n", of, name, exp(r->sum / r->n), r->n, r->better,
	       r->worse, 100.0 * r->close / r->n);
}

/* The rivals of the table; the first one is what the others are measured by. */
static const berth_method plain = {"anneal, plain", "", true, run_plain, NULL};
static const berth_method blind = {"anneal, blind", "", true, run_blind, NULL};
static const berth_method unlearned = {"berth, unlearned", "", true, run_unlearned, NULL};

const berth_method *plain_annealing(void)
{
	return &plain;
}

enum { N_RIVALS = 5, FEW = 10 }; /* of very long runs one instance in FEW */
#define LONG_S 10.              /* from here on fewer rivals */
#define VERY_LONG_S 60.

static void print_row(int i, const berth_method *const *rival, int n_rivals, int n_seeds, double seconds,
                      ratios *r)
{
	subject x;
	open_timed_instance(&x, i);
	double base = median_timed(&x, rival[0], n_seeds, seconds);
	print_timed_instance(i);
	printf(" %d | %.4g |", x.p.n_ops, base);
	for (int k = 1; k < n_rivals; k++) {
		double ratio = median_timed(&x, rival[k], n_seeds, seconds) / base;
		if (isfinite(ratio)) {
			printf(" %.4f |", ratio);
			add(&r[k], ratio);
		} else {
			printf(" - |");
		}
	}
	printf(" %.4f |\n", x.b.value[BERTH_LATENCY] / base);
	if (isfinite(base))
		add(&r[0], x.b.value[BERTH_LATENCY] / base);
	fflush(stdout);
	close_subject(&x);
}

/* *n of them. */
static void choose_rivals(double seconds, const berth_method **rival, int *n)
{
	*n = 0;
	rival[(*n)++] = &plain;
	if (seconds < LONG_S) {
		rival[(*n)++] = &blind;
		rival[(*n)++] = method_called("anneal");
	}
	rival[(*n)++] = &unlearned;
	rival[(*n)++] = method_called("berth");
}

static void print_head(const berth_method *const *rival, int n_rivals, int n_seeds, double seconds)
{
	printf("\n## Annealing and berth at equal CPU time: %g s, one thread\n\nMedian of %d seeds: the "
	       "value of annealing as it was before there were estimates (moves drawn blindly at three "
	       "temperatures in turn, from five seeds), and the others' by it. Below 1 is better. Blind: the "
	       "same from the seeds of today. Unlearned: `berth` without policy, learning and learned walks. "
	       "Bound: nothing can be below it.\n\n| instance | operators |",
	       seconds, n_seeds);
	for (int k = 0; k < n_rivals; k++)
		printf(" %s |", rival[k]->name);
	printf(" bound |\n|---|---|");
	for (int k = 0; k <= n_rivals; k++)
		printf("---|");
	printf("\n");
}

void table_time(int n_seeds, double seconds)
{
	const berth_method *rival[N_RIVALS];
	ratios r[2][N_RIVALS] = {0}; /* of the instances of the table, of those drawn by the rule */
	static const char *const of[] = {"chosen", "drawn by the rule"};
	int n_rivals;
	choose_rivals(seconds, rival, &n_rivals);
	print_head(rival, n_rivals, n_seeds, seconds);
	for (int i = 0; i < n_timed_instances(); i += seconds < VERY_LONG_S ? 1 : FEW)
		print_row(i, rival, n_rivals, n_seeds, seconds, r[i >= N_INSTANCES]);
	printf("\n| instances | by the first | geometric mean | of | better by 0.1 %% | worse by 0.1 %% | "
	       "not worse by over 0.5 %% |\n|---|---|---|---|---|---|---|\n");
	for (int drawn = 0; drawn < 2; drawn++) {
		for (int k = 1; k < n_rivals; k++)
			print_ratios(of[drawn], rival[k]->name, &r[drawn][k]);
		print_ratios(of[drawn], "bound", &r[drawn][0]);
	}
}
