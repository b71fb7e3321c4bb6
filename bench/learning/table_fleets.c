/* Fleets: one machine and some models, none of which the shipped policy was trained on. It is fine-tuned on
 * all but two of the models, and judged on all. */
#include "fine_tune.h"
#include "instances_of_learning.h"
#include "policy_file.h"
#include "rng.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { N_FLEETS = 10, LEAST = 4, MOST = 6, LEFT_OUT = 2, FEW = 100 };

/* Values [models] of one pass, and of a search of few evaluations. */
typedef struct values {
	double pass[MOST], few[MOST];
} values;

typedef struct fleet {
	char machine[HELD_OUT_TEXT];
	const char *model[MOST]; /* those that are left out come last */
	int n;
	subject x[MOST];
	values before, after;
	double alone[MOST]; /* one pass of the tuned weights, without those that they began as */
} fleet;

/* Over the fleets. */
typedef struct totals {
	int better, worse;
	double tuned_on, others, worst, worst_alone, worst_few;
} totals;

/* Does the model fit, as the shipped policy places it? */
static bool fits(const subject *x)
{
	berth_search_cfg cfg = {.seed = 1};
	return berth_problem_feasible(&x->p, NULL) == BERTH_OK && isfinite(bench_value_of(x, "policy", &cfg));
}

/* Four to six models of different families, those that do not fit passed over. */
static void draw_fleet(int k, fleet *f)
{
	berth_rng rng = berth_rng_seed((uint64_t)k, BERTH_STREAM_RANDOM);
	bool used[HELD_OUT_FAMILIES] = {false};
	*f = (fleet){0};
	held_out_machine(300 + k, &rng, f->machine);
	int n = LEAST + (int)berth_rng_below(&rng, MOST - LEAST + 1);
	while (f->n < n) {
		uint32_t family = berth_rng_below(&rng, HELD_OUT_FAMILIES);
		const char *model = held_out_model(family, &rng);
		if (used[family])
			continue;
		used[family] = true;
		bench_open(&f->x[f->n], model, f->machine);
		if (fits(&f->x[f->n]))
			f->model[f->n++] = model;
		else
			bench_close(&f->x[f->n]);
	}
}

static void judge(const fleet *f, const berth_policy_file *policy, values *out)
{
	for (int i = 0; i < f->n; i++) {
		berth_search_cfg pass = {.seed = 1, .policy = policy}, few = pass;
		few.evaluations = FEW;
		out->pass[i] = bench_value_of(&f->x[i], "policy", &pass);
		out->few[i] = bench_value_of(&f->x[i], "berth", &few);
	}
}

/* The policy is left in the file. */
static void tune(const fleet *f, const berth_policy_file *from, double seconds, const char *path)
{
	berth_arena mem = {0}, tmp = {0};
	berth_train_item item[MOST];
	berth_fine_tune parts;
	berth_train_cfg cfg;
	berth_train_result result;
	int n = f->n - LEFT_OUT;
	for (int i = 0; i < n; i++)
		item[i] = (berth_train_item){&f->x[i].p, f->model[i], f->machine};
	MUST(berth_fine_tune_split(item, n, 1, &mem, &tmp, &parts, &err));
	MUST(berth_fine_tune_cfg(from, &parts, seconds, &cfg, &err));
	cfg.path = path;
	MUST(berth_train(&cfg, parts.learned, parts.n_learned, &mem, &tmp, &result, &err));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Geometric mean of after / before of some models; *worst: raised to the largest. */
static double ratio(const double *after, const double *before, int first, int end, double *worst)
{
	double sum = 0;
	for (int i = first; i < end; i++) {
		sum += log(after[i] / before[i]);
		*worst = fmax(*worst, after[i] / before[i]);
	}
	return exp(sum / (end - first));
}

static void print_fleet(const fleet *f, totals *all)
{
	int n = f->n - LEFT_OUT;
	double any = 0, worst = 0, alone = 0, few = 0;
	double on = ratio(f->after.pass, f->before.pass, 0, n, &any),
	       off = ratio(f->after.pass, f->before.pass, n, f->n, &worst);
	printf("| %s |", f->machine + 7);
	for (int i = 0; i < f->n; i++)
		printf("%s %s", i == n ? " |" : i ? "," : "", f->model[i]);
	printf(" | %.4f | %.4f | %.4f |", on, off, worst);
	printf(" %.4f |", ratio(f->alone, f->before.pass, 0, n, &any));
	ratio(f->alone, f->before.pass, n, f->n, &alone);
	printf(" %.4f |", alone);
	printf(" %.4f |", ratio(f->after.few, f->before.few, 0, n, &any));
	ratio(f->after.few, f->before.few, n, f->n, &few);
	printf(" %.4f |\n", few);
	all->better += on < 0.9999;
	all->worse += worst > 1.002;
	all->tuned_on += log(on) / N_FLEETS;
	all->others += log(off) / N_FLEETS;
	all->worst = fmax(all->worst, worst);
	all->worst_alone = fmax(all->worst_alone, alone);
	all->worst_few = fmax(all->worst_few, few);
}

static void print_head(double seconds)
{
	printf("\n## Tuned on a fleet\n\n"
	       "The shipped policy, tuned by `train --fine-tune` in about %.0f CPU seconds "
	       "(evaluations by the rule of thumb), on %d fleets: a random machine, and %d to "
	       "%d models of families that training did not see, drawn by a rule "
	       "(`bench/learning/table_fleets.c`). The last %d models are left out of the tuning. "
	       "Values of the tuned policy by those of the shipped one, geometric means; "
	       "below 1 is better. `pass` is the method `policy`: a tuned policy tries the "
	       "pass of the one that it began as, too. `alone` is without that. `100` is "
	       "`berth` with %d evaluations.\n\n",
	       seconds, N_FLEETS, LEAST, MOST, LEFT_OUT, FEW);
	bench_head("random machine|tuned on|left out|pass, tuned on|pass, left out|worst left out|alone, "
	           "tuned on|"
	           "alone, worst left out|100, tuned on|100, worst left out");
}

/* What each worker does: fleets, several at once. */
typedef struct work {
	fleet *f; /* [N_FLEETS] */
	const berth_policy_file *from;
	double seconds;
} work;

static void tune_fleet(void *ctx, int32_t k, int32_t worker)
{
	const work *x = ctx;
	fleet *f = &x->f[k];
	char path[] = BENCH_PATH;
	berth_arena mem = {0};
	berth_policy_file tuned;
	(void)worker;
	bench_make_file(path);
	draw_fleet(k, f);
	judge(f, x->from, &f->before);
	tune(f, x->from, x->seconds, path);
	MUST(berth_policy_file_read(path, &mem, &tuned, &err));
	judge(f, &tuned, &f->after);
	tuned.base = NULL;
	for (int i = 0; i < f->n; i++) {
		berth_search_cfg pass = {.seed = 1, .policy = &tuned};
		f->alone[i] = bench_value_of(&f->x[i], "policy", &pass);
		bench_close(&f->x[i]);
	}
	unlink(path);
	berth_arena_free(&mem);
	fprintf(stderr, "%s\n", f->machine);
}

static void print_totals(const totals *all)
{
	printf("\nOne pass is better on the models tuned on in %d of %d fleets, %.4f in the mean; on those "
	       "left out %.4f, worst %.4f (by over 0.2 %% in %d fleets). Alone the worst of those is %.4f. "
	       "With %d evaluations it is %.4f.\n",
	       all->better, N_FLEETS, exp(all->tuned_on), exp(all->others), all->worst, all->worse,
	       all->worst_alone, FEW, all->worst_few);
}

static void run_fleets(const bench_options *o)
{
	totals all = {0};
	berth_arena mem = {0};
	berth_policy_file from;
	berth_pool *pool;
	work x = {bench_new(&mem, N_FLEETS, sizeof *x.f), &from, o->seconds};
	MUST(berth_policy_builtin(&mem, &from, &err));
	MUST(berth_pool_new(o->threads, &pool, &err));
	berth_pool_run(pool, N_FLEETS, tune_fleet, &x);
	print_head(o->seconds);
	for (int k = 0; k < N_FLEETS; k++)
		print_fleet(&x.f[k], &all);
	print_totals(&all);
	berth_pool_free(pool);
	berth_arena_free(&mem);
}

const bench_entry bench_fleets = {
	"fleets", "", "learning", "1 h",
	"the policy fine-tuned on fleets, so many CPU seconds each",
	{.seconds = BERTH_FINE_TUNE_S, .threads = 2}, run_fleets};
