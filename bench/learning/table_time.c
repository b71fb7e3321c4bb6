/* Annealing and berth at equal CPU time: all from the portfolio, all on the reference simulator, one thread.
 * Annealing moves operators and leaves their order to the system's rule. */
#include "anneal.h"
#include "cooling.h"
#include "instances_of_learning.h"
#include "portfolio.h"
#include "registry.h"
#include "screen.h"

#include <math.h>

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

static void add_ratio(ratios *r, double ratio)
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
const berth_method plain_annealing = {"anneal, plain", "", true, run_plain, NULL, NULL};
static const berth_method blind = {"anneal, blind", "", true, run_blind, NULL, NULL};
static const berth_method unlearned = {"berth, unlearned", "", true, run_unlearned, NULL, NULL};

enum { N_RIVALS = 5, FEW = 10 }; /* of very long runs one instance in FEW */
#define LONG_S 10.              /* from here on fewer rivals */
#define VERY_LONG_S 60.

static void print_row(int i, const berth_method *const *rival, int n_rivals, const bench_options *o,
                      ratios *r)
{
	const berth_search_cfg cfg = {.evaluations = INT64_MAX / 4, .cpu_s = o->seconds};
	subject x;
	open_timed(&x, i);
	bench_bound(&x);
	double base = bench_median_value(&x, rival[0], &cfg, o->seeds),
	       bound = x.b.value[BERTH_LATENCY] / base;
	print_timed(i);
	printf(" %d | %.4g |", x.p.n_ops, base);
	for (int k = 1; k < n_rivals; k++) {
		double ratio = bench_median_value(&x, rival[k], &cfg, o->seeds) / base;
		if (isfinite(ratio)) {
			printf(" %.4f |", ratio);
			add_ratio(&r[k], ratio);
		} else {
			printf(" - |");
		}
	}
	printf(" %.4f |\n", bound);
	if (isfinite(base))
		add_ratio(&r[0], bound);
	fflush(stdout);
	bench_close(&x);
}

/* *n of them. */
static void choose_rivals(double seconds, const berth_method **rival, int *n)
{
	*n = 0;
	rival[(*n)++] = &plain_annealing;
	if (seconds < LONG_S) {
		rival[(*n)++] = &blind;
		rival[(*n)++] = bench_method("anneal");
	}
	rival[(*n)++] = &unlearned;
	rival[(*n)++] = bench_method("berth");
}

static void print_head(const berth_method *const *rival, int n_rivals, const bench_options *o)
{
	printf("\n## Annealing and berth at equal CPU time: %g s, one thread\n\nMedian of %d seeds: the "
	       "value of annealing as it was before there were estimates (moves drawn blindly at three "
	       "temperatures in turn, from five seeds), and the others' by it. Below 1 is better. Blind: the "
	       "same from the seeds of today. Unlearned: `berth` without policy, learning and learned walks. "
	       "Bound: nothing can be below it.\n\n| instance | operators |",
	       o->seconds, o->seeds);
	for (int k = 0; k < n_rivals; k++)
		printf(" %s |", rival[k]->name);
	printf(" bound |\n|---|---|");
	for (int k = 0; k <= n_rivals; k++)
		printf("---|");
	printf("\n");
}

static void run_time(const bench_options *o)
{
	const berth_method *rival[N_RIVALS];
	ratios r[2][N_RIVALS] = {0}; /* of the instances of the table, of those drawn by the rule */
	static const char *const of[] = {"chosen", "drawn by the rule"};
	int n_rivals;
	choose_rivals(o->seconds, rival, &n_rivals);
	print_head(rival, n_rivals, o);
	for (int i = 0; i < N_TIMED; i += o->seconds < VERY_LONG_S ? 1 : FEW)
		print_row(i, rival, n_rivals, o, r[i >= N_CHOSEN]);
	printf("\n");
	bench_head("instances|by the first|geometric mean|of|better by 0.1 %|worse by 0.1 %|not worse by "
	           "over 0.5 %");
	for (int drawn = 0; drawn < 2; drawn++) {
		for (int k = 1; k < n_rivals; k++)
			print_ratios(of[drawn], rival[k]->name, &r[drawn][k]);
		print_ratios(of[drawn], "bound", &r[drawn][0]);
	}
}

const bench_entry bench_time = {
	"time", "", "learning", "15 min",
	"annealing and berth at equal CPU time", {.seeds = 3, .seconds = 1}, run_time};
