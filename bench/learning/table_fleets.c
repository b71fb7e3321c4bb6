/* Fleets: one machine and some models, none of which the shipped policy was trained on. It is fine-tuned on
 * all but two of the models, and judged on all. */
#include "fine_tune.h"
#include "instances_of_learning.h"

#include <unistd.h>

enum { N_FLEETS = 10, LEAST = 4, MOST = 6, LEFT_OUT = 2, FEW = 100 };
enum { PASS, ALONE, SEARCH, N_RATIOS };

typedef struct fleet {
	char machine[HELD_OUT_TEXT];
	const char *model[MOST]; /* those that are left out come last */
	int n;
	subject x[MOST];
	/* by [models], after by before: one pass, one pass of the tuned weights without those that they began
	 * as, and a search of few evaluations */
	double ratio[N_RATIOS][MOST];
} fleet;

/* Does the model fit, as the shipped policy places it? */
static bool fits(const subject *x)
{
	return berth_problem_feasible(&x->p, NULL) == BERTH_OK &&
	       isfinite(bench_value_of(x, "policy", BERTH_LATENCY, 0));
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

/* Values are multiplied by those of a policy, or divided. */
static void judge(fleet *f, const berth_policy_file *policy, bool divide, int first, int end)
{
	static const char *const method[] = {"policy", "policy", "berth"};
	for (int r = first; r < end; r++)
		for (int i = 0; i < f->n; i++) {
			const berth_search_cfg cfg = {
				.seed = 1, .policy = policy, .evaluations = r == SEARCH ? FEW : 0};
			double value = bench_value(&f->x[i], bench_method(method[r]), &cfg);
			f->ratio[r][i] = divide ? 1 / value : f->ratio[r][i] * value;
		}
}

/* The policy is left in the file. */
static void tune(const fleet *f, const berth_policy_file *from, double seconds, const char *path)
{
	BERTH_ARENA(mem);
	BERTH_ARENA(tmp);
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
	BERTH_ARENA(mem);
	berth_policy_file tuned;
	(void)worker;
	bench_make_file(path);
	draw_fleet(k, f);
	judge(f, x->from, true, 0, N_RATIOS);
	tune(f, x->from, x->seconds, path);
	MUST(berth_policy_file_read(path, &mem, &tuned, &err));
	judge(f, &tuned, false, PASS, ALONE);
	judge(f, &tuned, false, SEARCH, N_RATIOS);
	tuned.base = NULL;
	judge(f, &tuned, false, ALONE, SEARCH);
	for (int i = 0; i < f->n; i++)
		bench_close(&f->x[i]);
	unlink(path);
	fprintf(stderr, "%s\n", f->machine);
}

/* Over the fleets. */
typedef struct totals {
	int better, worse;
	bench_mean on, off;
	double worst[N_RATIOS];
} totals;

static void print_fleet(const fleet *f, totals *all)
{
	int n = f->n - LEFT_OUT;
	double on[N_RATIOS], off = berth_geomean(f->ratio[PASS] + n, LEFT_OUT), worst[N_RATIOS];
	for (int r = 0; r < N_RATIOS; r++) {
		on[r] = berth_geomean(f->ratio[r], n);
		worst[r] = bench_largest(f->ratio[r] + n, LEFT_OUT);
		all->worst[r] = fmax(all->worst[r], worst[r]);
	}
	printf("| %s |", f->machine + 7);
	for (int i = 0; i < f->n; i++)
		printf("%s %s", i == n ? " |" : i ? "," : "", f->model[i]);
	printf(" | %.4f | %.4f | %.4f | %.4f | %.4f | %.4f | %.4f |\n", on[PASS], off, worst[PASS], on[ALONE],
	       worst[ALONE], on[SEARCH], worst[SEARCH]);
	all->better += on[PASS] < 0.9999;
	all->worse += worst[PASS] > 1.002;
	bench_add(&all->on, on[PASS]);
	bench_add(&all->off, off);
}

void table_fleets(const bench_options *o)
{
	totals all = {0};
	BERTH_ARENA(mem);
	berth_policy_file from;
	berth_pool *pool;
	work x = {bench_new(&mem, N_FLEETS, sizeof *x.f), &from, o->seconds};
	MUST(berth_policy_builtin(&mem, &from, &err));
	MUST(berth_pool_new(o->threads, &pool, &err));
	berth_pool_run(pool, N_FLEETS, tune_fleet, &x);
	berth_pool_free(pool);
	printf("\n## Tuned on a fleet\n\nThe shipped policy, tuned by `train --fine-tune` in about %.0f CPU "
	       "seconds (evaluations by the rule of thumb), on %d fleets: a random machine, and %d to %d "
	       "models of families that training did not see, drawn by a rule "
	       "(`bench/learning/table_fleets.c`). The last %d models are left out of the tuning. Values of "
	       "the tuned policy by those of the shipped one, geometric means; below 1 is better. `pass` is "
	       "the method `policy`: a tuned policy tries the pass of the one that it began as, too. `alone` "
	       "is without that. `100` is `berth` with %d evaluations.\n\n",
	       o->seconds, N_FLEETS, LEAST, MOST, LEFT_OUT, FEW);
	bench_head("random machine|tuned on|left out|pass, tuned on|pass, left out|worst left out|"
	           "alone, tuned on|alone, worst left out|100, tuned on|100, worst left out");
	for (int k = 0; k < N_FLEETS; k++)
		print_fleet(&x.f[k], &all);
	printf("\nOne pass is better on the models tuned on in %d of %d fleets, %.4f in the mean; on those "
	       "left out %.4f, worst %.4f (by over 0.2 %% in %d fleets). Alone the worst of those is %.4f. "
	       "With %d evaluations it is %.4f.\n",
	       all.better, N_FLEETS, bench_mean_of(all.on), bench_mean_of(all.off),
	       all.worst[PASS], all.worse, all.worst[ALONE], FEW, all.worst[SEARCH]);
}
