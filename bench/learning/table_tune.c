/* Learns the numbers of annealing's walks (heuristics/metaheuristics/screen.h). Covariance matrix adaptation
 * minimises the logarithm of the value that annealing reaches, on pairs of graphs and machines drawn by a
 * rule. A style that takes twice the CPU time pays PER_DOUBLING for it, about what walks gain in that time.
 * It goes on from the styles that come with berth. Every fifth pair is kept aside.
 *
 * paths: latency on five pairs of seven, the energy-delay product on the others. loads: throughput. Each
 * generation draws its evaluations between as many as are asked for and four times as many. Prints tables:
 * what the numbers gain on the pairs aside, and the numbers; on stderr those on the way. The CPU time is
 * measured, so two runs differ a little. parts: what each group of numbers is worth. */
#include "cma.h"
#include "trial.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_STEP 0.3

enum { POPULATION = 12, DRAWN = 48 };

static berth_walk_style style_of(bool by_paths, const double *x)
{
	berth_walk_style s = *style_by_hand(by_paths);
	for (int i = 0; i < n_numbers(by_paths); i++)
		number_set(&s, i, x[i]);
	return s;
}

/* The pairs that nothing is learned from; as many as *n. */
static int32_t *list_aside(int32_t n_pairs, berth_arena *mem, int32_t *n)
{
	int32_t *aside;
	MUST(BERTH_NEW(mem, aside, n_pairs, &err));
	*n = 0;
	for (int32_t i = 0; i < n_pairs; i += ASIDE)
		aside[(*n)++] = i;
	return aside;
}

static void draw_pairs(berth_rng *rng, int32_t n_pairs, int32_t n, int32_t *which)
{
	for (int32_t k = 0; k < n; k++)
		do
			which[k] = (int32_t)berth_rng_below(rng, (uint32_t)n_pairs);
		while (which[k] % ASIDE == 0);
}

static void print_aside(trial *t, const double *mean, int32_t generation, berth_pool *pool)
{
	berth_walk_style both[] = {*style_by_hand(t->by_paths), style_of(t->by_paths, mean)};
	double error, gain;
	t->style = both;
	t->n_styles = 2;
	trial_run(t, pool);
	gain = trial_worth(t, 1, &error);
	printf("| %" PRId32 " | %+.2f %% | %.2f %% |\n", generation, 100 * gain, 100 * error);
	fflush(stdout);
}

static void print_numbers(FILE *to, bool by_paths, const double *mean)
{
	berth_walk_style hand = *style_by_hand(by_paths), s = style_of(by_paths, mean);
	fprintf(to, "\n| number | by hand | learned |\n|---|---|---|\n");
	for (int i = 0; i < n_numbers(by_paths); i++)
		fprintf(to, "| %s | %.4g | %.4g |\n", number_name(i), number_get(&hand, i),
		        number_get(&s, i));
	fflush(to);
}

static void begin(bool by_paths, berth_arena *mem, cma *c)
{
	const berth_walk_style *start =
		by_paths ? &berth_walks_learned.by_paths : &berth_walks_learned.by_loads;
	double mean[MOST_NUMBERS];
	for (int i = 0; i < n_numbers(by_paths); i++)
		mean[i] = number_learned(start, i);
	MUST(cma_new(n_numbers(by_paths), POPULATION, mean, FIRST_STEP, 1, mem, c, &err));
}

/* A generation: the mean of c moves. t has its pairs and its seed. */
static void go_on(cma *c, trial *t, berth_pool *pool)
{
	double point[POPULATION * MOST_NUMBERS], fitness[POPULATION];
	berth_walk_style style[POPULATION + 1] = {*style_by_hand(t->by_paths)};
	cma_draw(c, point);
	for (int k = 0; k < POPULATION; k++)
		style[k + 1] = style_of(t->by_paths, point + (size_t)k * (size_t)c->n);
	t->style = style;
	t->n_styles = POPULATION + 1;
	trial_run(t, pool);
	for (int k = 0; k < POPULATION; k++)
		fitness[k] = trial_worth(t, k + 1, NULL);
	cma_tell(c, fitness);
}

static void learn(bool by_paths, subject *pairs, int32_t n_pairs, int32_t n_generations, int64_t evaluations,
                  berth_pool *pool, berth_arena *mem)
{
	int32_t n_aside, *aside = list_aside(n_pairs, mem, &n_aside), *which;
	double *value, *cpu_s;
	berth_rng rng = berth_rng_seed(1, 1);
	size_t most = (size_t)(POPULATION + 1) * (size_t)(n_pairs + DRAWN);
	cma c;
	MUST(BERTH_NEW(mem, which, DRAWN, &err));
	MUST(BERTH_NEW(mem, value, most, &err));
	MUST(BERTH_NEW(mem, cpu_s, most, &err));
	begin(by_paths, mem, &c);
	printf("\n### Walks learned by %s\n\n%" PRId32 " generations of %d styles on %d pairs each, of "
	       "%" PRId32 "; %" PRId64 " to %" PRId64 " evaluations. On the %" PRId32 " pairs aside, with "
	       "%" PRId64
	       " evaluations: the mean change of the value's logarithm from the style set by hand, with what "
	       "CPU time costs, and its standard error.\n\n| generation | value | +- |\n|---|---|---|\n",
	       by_paths ? "paths" : "loads", n_generations, POPULATION, DRAWN, n_pairs, evaluations,
	       4 * evaluations, n_aside, 2 * evaluations);
	for (int32_t g = 0; g <= n_generations; g++) {
		trial t = {by_paths, pairs, aside, n_aside, 0, NULL, 2 * evaluations, 1000000, value, cpu_s};
		if (g % ASIDE == 0 || g == n_generations) {
			print_aside(&t, c.mean, g, pool);
			print_numbers(g == n_generations ? stdout : stderr, by_paths, c.mean);
		}
		draw_pairs(&rng, n_pairs, DRAWN, which);
		t.which = which;
		t.n_which = DRAWN;
		t.evaluations = (int64_t)((double)evaluations * pow(4, berth_rng_unit(&rng)));
		t.seed = 1000 * (uint64_t)(g + 1);
		if (g < n_generations)
			go_on(&c, &t, pool);
	}
}

/* What each group of numbers is worth: the learned style without it. */
static void tell_parts(subject *pairs, int32_t n_pairs, int64_t evaluations, berth_pool *pool,
                       berth_arena *mem)
{
	enum { MOST_GROUPS = 8 };
	berth_walk_style style[MOST_GROUPS] = {*style_by_hand(true), berth_walks_learned.by_paths};
	const char *without[MOST_GROUPS] = {"", "nothing"};
	int32_t n_aside, *aside = list_aside(n_pairs, mem, &n_aside), n = 2;
	double *value, *cpu_s;
	MUST(BERTH_NEW(mem, value, (size_t)n_pairs * MOST_GROUPS, &err));
	MUST(BERTH_NEW(mem, cpu_s, (size_t)n_pairs * MOST_GROUPS, &err));
	for (int i = 0; number_group(i); i++) {
		int32_t k = 2;
		while (k < n && strcmp(without[k], number_group(i)) != 0)
			k++;
		if (k == n) {
			style[n] = berth_walks_learned.by_paths;
			without[n++] = number_group(i);
		}
		number_copy(&style[k], style_by_hand(true), i);
	}
	trial t = {true, pairs, aside, n_aside, n, style, evaluations, 2000000, value, cpu_s};
	trial_run(&t, pool);
	printf("\n### What is learned of walks, part by part\n\nThe learned walks, and with a part as set by "
	       "hand, by those that are all by hand: the mean change of the value's logarithm on %" PRId32
	       " pairs, %" PRId64 " evaluations, with what CPU time costs, and its standard error.\n\n"
	       "| by hand | value | +- |\n|---|---|---|\n",
	       n_aside, evaluations);
	for (int32_t k = 1; k < n; k++) {
		double error, gain = trial_worth(&t, k, &error);
		printf("| %s | %+.2f %% | %.2f %% |\n", without[k], 100 * gain, 100 * error);
	}
}

static void run_tune(const bench_options *o)
{
	const char *what = o->n_words == 1 ? o->word[0] : "";
	bool parts = strcmp(what, "parts") == 0, by_paths = strcmp(what, "paths") == 0;
	int32_t n_pairs = (int32_t)o->instances;
	berth_arena mem = {0};
	berth_pool *pool;
	if (!(parts || by_paths || strcmp(what, "loads") == 0) || n_pairs < 2 * ASIDE)
		bench_refuse("tune: paths, loads or parts, and ten pairs at least");
	MUST(berth_pool_new(o->threads, &pool, &err));
	subject *pairs = pairs_open(n_pairs, &mem);
	if (parts)
		tell_parts(pairs, n_pairs, 2 * o->evaluations, pool, &mem);
	else
		learn(by_paths, pairs, n_pairs, (int32_t)o->rounds, o->evaluations, pool, &mem);
	berth_pool_free(pool);
	pairs_close(pairs, n_pairs);
	berth_arena_free(&mem);
}

const bench_entry bench_tune = {
	"tune", "paths|loads|parts", "learning", "hours; parts 10 min",
	"learns the numbers of annealing's walks",
	{.rounds = 40, .instances = 600, .evaluations = 1000, .threads = 2}, run_tune};
