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
#include "entries.h"
#include "registry.h"
#include "screen.h"

#include <stddef.h>

#define PER_DOUBLING 0.0083
#define MOST_CHANGE 0.3 /* of a value's logarithm that counts */
#define NEVER 0.004     /* where a share that is zero by hand begins */
#define FIRST_STEP 0.3

enum { POPULATION = 12, DRAWN = 48, ASIDE = 5, NAME_SIZE = 112 };

/* ---- numbers of a style ---- */

/* A number that is learned: where it stands, and whether its logarithm is. A step of one is `step` of it. */
#define FIELD(group, name, step) {group, #name, offsetof(berth_walk_style, name), step}
#define SHARE(kind) {"kinds", #kind, offsetof(berth_walk_style, share[BERTH_SCREEN_##kind]), 1}
/* Logarithms are learned. Behind the first SHARED stand those of moves by paths alone. */
static const struct number {
	const char *group, *name;
	size_t at;
	double step;
} numbers[] = {
	FIELD("sizes, candidates", largest_move, .5),
	FIELD("sizes, candidates", ends_per_candidate, 1),
	FIELD("sizes, candidates", most_anew, 1),
	FIELD("temperatures", first_temperature[0], .7),
	FIELD("temperatures", first_temperature[1], .7),
	FIELD("temperatures", first_temperature[2], .7),
	SHARE(BLIND), SHARE(LOADS), SHARE(LOADS_ANEW), SHARE(LOADS_LARGE), SHARE(PATHS), SHARE(PATHS_ANEW)};
enum { N_NUMBERS = BENCH_N(numbers), SHARED = 10 };

static double *number_of(berth_walk_style *s, int i)
{
	return (double *)(void *)((char *)s + numbers[i].at);
}

static int n_numbers(bool by_paths)
{
	return by_paths ? N_NUMBERS : SHARED;
}

static berth_walk_style by_hand(bool by_paths)
{
	return by_paths ? berth_walks_by_hand.by_paths : berth_walks_by_hand.by_loads;
}

static berth_walk_style style_of(bool by_paths, const double *learned)
{
	berth_walk_style s = by_hand(by_paths);
	for (int i = 0; i < n_numbers(by_paths); i++)
		*number_of(&s, i) = exp(learned[i] * numbers[i].step);
	return s;
}

/* ---- trials ---- */

/* Machines that no table of docs/learning.md has; models are of families that some have. */
static void open_pair(int32_t i, subject *x)
{
	static const char *const models[] = {
		"mobilenet-v2", "resnet18", "resnet34", "densenet121:batch=4", "randwire:graph=ba:seed=47",
		"randwire:graph=ws:seed=75", "rnnlm:seq=6:layers=3", "chain-mm:tiles=3", "ffnn:tiles=2",
		"llama-block", "bert-base:batch=4:seq=64", "transformer:batch=2", "unet:batch=4",
		"gnmt:seq=3"};
	static const char *const topologies[] = {"full", "bus", "star", "hosts"};
	char graph[NAME_SIZE], system[NAME_SIZE];
	berth_rng rng = berth_rng_seed(7, (uint64_t)i);
	unsigned devices = 2 + berth_rng_below(&rng, 6), topology = berth_rng_below(&rng, 4);
	double unlike = berth_rng_unit(&rng), ops = 50 * pow(14, berth_rng_unit(&rng)),
	       ccr = 0.07 * pow(40, berth_rng_unit(&rng)), width = 4 * pow(8, berth_rng_unit(&rng));
	snprintf(system, NAME_SIZE, "random:devices=%u:topology=%s:heterogeneity=%.2f:seed=%d", devices,
	         topologies[topology], unlike, 5000 + i);
	snprintf(graph, NAME_SIZE, "random:ops=%.0f:width=%.0f:ccr=%.3f:heterogeneity=%.2f:seed=%d", ops,
	         width, ccr, berth_rng_unit(&rng), 5000 + i);
	bench_open(x, i % 2 ? graph : models[i / 2 % BENCH_N(models)], system);
}

/* Styles on pairs `which`; style 0 is what the others are measured by. */
typedef struct trial {
	bool by_paths; /* latency and the energy-delay product; else throughput */
	const subject *pairs;
	const int32_t *which;
	int32_t n_which, n_styles;
	const berth_walk_style *style;
	int64_t evaluations;
	uint64_t seed;
	double *value, *cpu_s; /* [n_styles][n_which] logarithms; CPU seconds */
} trial;

static void walk_once(void *ctx, int32_t item, int32_t worker)
{
	const trial *t = ctx;
	int32_t k = item / t->n_styles, c = item % t->n_styles, at = c * t->n_which + k;
	const subject *x = &t->pairs[t->which[k]];
	const berth_walk_styles styles = {t->style[c], t->style[c]};
	berth_metric metric = !t->by_paths                             ? BERTH_THROUGHPUT
	                      : t->which[k] % 7 < 2 && x->p.has_energy ? BERTH_EDP
	                                                               : BERTH_LATENCY;
	const berth_search_cfg cfg = {.objective = berth_objective_of(metric),
	                              .seed = t->seed + (uint64_t)k,
	                              .evaluations = t->evaluations,
	                              .walk_styles = &styles};
	double began = bench_thread_seconds(), value = bench_value(x, &berth_method_anneal, &cfg);
	(void)worker;
	t->value[at] = isfinite(value) ? log(value) : NAN;
	t->cpu_s[at] = bench_thread_seconds() - began;
}

/* What style c is worth by style 0, in logarithms, with what its CPU time costs; *error: the standard error
 * of the mean over pairs. */
static double worth(const trial *t, int32_t c, double *error)
{
	double sum = 0, squares = 0, cpu = 0, cpu_0 = 0;
	int32_t n = 0;
	for (int32_t k = 0; k < t->n_which; k++) {
		double change = t->value[c * t->n_which + k] - t->value[k];
		cpu += t->cpu_s[c * t->n_which + k];
		cpu_0 += t->cpu_s[k];
		if (isnan(change))
			continue;
		change = fmax(-MOST_CHANGE, fmin(change, MOST_CHANGE));
		sum += change;
		squares += change * change;
		n++;
	}
	double mean = sum / n;
	*error = sqrt(fmax(0, squares / n - mean * mean) / n);
	return mean + PER_DOUBLING * log2(cpu / cpu_0);
}

static void try_styles(trial *t, const berth_walk_style *style, int32_t n, berth_pool *pool)
{
	t->style = style;
	t->n_styles = n;
	berth_pool_run(pool, t->n_which * n, walk_once, t);
}

static void print_worth(const trial *t, int32_t c, const char *name)
{
	double error, gain = worth(t, c, &error);
	printf("| %s | %+.2f %% | %.2f %% |\n", name, 100 * gain, 100 * error);
}

/* ---- learning ---- */

static void print_numbers(FILE *to, bool by_paths, const double *mean)
{
	berth_walk_style hand = by_hand(by_paths), s = style_of(by_paths, mean);
	fprintf(to, "\n| number | by hand | learned |\n|---|---|---|\n");
	for (int i = 0; i < n_numbers(by_paths); i++)
		fprintf(to, "| %s | %.4g | %.4g |\n",
		            numbers[i].name, *number_of(&hand, i), *number_of(&s, i));
	fflush(to);
}

/* A generation: the mean of c moves. t has its pairs and its seed. */
static void go_on(cma *c, trial *t, berth_pool *pool)
{
	double point[POPULATION * N_NUMBERS], fitness[POPULATION], error;
	berth_walk_style style[POPULATION + 1] = {by_hand(t->by_paths)};
	cma_draw(c, point);
	for (int k = 0; k < POPULATION; k++)
		style[k + 1] = style_of(t->by_paths, BERTH_ROW(point, k, c->n));
	try_styles(t, style, POPULATION + 1, pool);
	for (int k = 0; k < POPULATION; k++)
		fitness[k] = worth(t, k + 1, &error);
	cma_tell(c, fitness);
}

/* aside: a trial on the pairs that nothing is learned from. */
static void learn(trial aside, int32_t n_pairs, const bench_options *o, berth_pool *pool, berth_arena *mem)
{
	berth_walk_style start = aside.by_paths ? berth_walks_learned.by_paths : berth_walks_learned.by_loads;
	double mean[N_NUMBERS];
	int32_t n = n_numbers(aside.by_paths), n_generations = (int32_t)o->rounds, which[DRAWN];
	berth_rng rng = berth_rng_seed(1, 1);
	cma c;
	for (int i = 0; i < n; i++)
		mean[i] = log(*number_of(&start, i) > 0 ? *number_of(&start, i) : NEVER) / numbers[i].step;
	MUST(cma_new(n, POPULATION, mean, FIRST_STEP, 1, mem, &c, &err));
	printf("\n### Walks learned by %s\n\n%d generations of %d styles on %d pairs each, of %d; %lld to "
	       "%lld evaluations. On the %d pairs aside, with %lld evaluations: the mean change of the "
	       "value's logarithm from the style set by hand, with what CPU time costs, and its standard "
	       "error.\n\n| generation | value | +- |\n|---|---|---|\n",
	       aside.by_paths ? "paths" : "loads", n_generations,
	       POPULATION, DRAWN, n_pairs, (long long)o->evaluations, 4 * (long long)o->evaluations,
	       aside.n_which, (long long)aside.evaluations);
	for (int32_t g = 0; g <= n_generations; g++) {
		trial t = aside;
		if (g % ASIDE == 0 || g == n_generations) {
			const berth_walk_style both[] = {by_hand(t.by_paths), style_of(t.by_paths, c.mean)};
			char name[16];
			snprintf(name, sizeof name, "%d", g);
			try_styles(&t, both, 2, pool);
			print_worth(&t, 1, name);
			print_numbers(g == n_generations ? stdout : stderr, t.by_paths, c.mean);
		}
		for (int32_t k = 0; k < DRAWN; k++)
			do
				which[k] = (int32_t)berth_rng_below(&rng, (uint32_t)n_pairs);
			while (which[k] % ASIDE == 0);
		t.which = which;
		t.n_which = DRAWN;
		t.evaluations = (int64_t)((double)o->evaluations * pow(4, berth_rng_unit(&rng)));
		t.seed = 1000 * (uint64_t)(g + 1);
		if (g < n_generations)
			go_on(&c, &t, pool);
	}
}

/* What each group of numbers is worth: the learned style without it. */
static void tell_parts(trial t, berth_pool *pool)
{
	berth_walk_style hand = by_hand(true), style[8] = {hand, berth_walks_learned.by_paths};
	const char *without[8] = {"", "nothing"};
	int32_t n = 2;
	for (int i = 0; i < N_NUMBERS; i++) { /* those of a group follow each other */
		if (strcmp(without[n - 1], numbers[i].group) != 0) {
			style[n] = berth_walks_learned.by_paths;
			without[n++] = numbers[i].group;
		}
		*number_of(&style[n - 1], i) = *number_of(&hand, i);
	}
	try_styles(&t, style, n, pool);
	printf("\n### What is learned of walks, part by part\n\nThe learned walks, and with a part as set by "
	       "hand, by those that are all by hand: the mean change of the value's logarithm on %d pairs, "
	       "%lld evaluations, with what CPU time costs, and its standard error.\n\n| by hand | value | "
	       "+- |\n|---|---|---|\n", t.n_which, (long long)t.evaluations);
	for (int32_t k = 1; k < n; k++)
		print_worth(&t, k, without[k]);
}

void table_tune(const bench_options *o)
{
	const char *what = o->n_words == 1 ? o->word[0] : "";
	bool parts = strcmp(what, "parts") == 0, by_paths = strcmp(what, "paths") == 0;
	int32_t n = (int32_t)o->instances, n_aside = 0;
	BERTH_ARENA(mem);
	berth_pool *pool;
	if (!(parts || by_paths || strcmp(what, "loads") == 0) || n < 2 * ASIDE)
		bench_refuse("tune: paths, loads or parts, and ten pairs at least");
	MUST(berth_pool_new(o->threads, &pool, &err));
	subject *pairs = bench_new(&mem, (size_t)n, sizeof *pairs);
	int32_t *aside = bench_new(&mem, (size_t)n, sizeof *aside);
	size_t most = (size_t)(POPULATION + 1) * (size_t)(n + DRAWN);
	double *value = bench_new(&mem, most, sizeof *value), *cpu_s = bench_new(&mem, most, sizeof *cpu_s);
	for (int32_t i = 0; i < n; i++) {
		open_pair(i, &pairs[i]);
		if (i % ASIDE == 0)
			aside[n_aside++] = i;
	}
	trial t = {parts || by_paths, pairs, aside, n_aside, 0, NULL, 2 * o->evaluations,
	           parts ? 2000000 : 1000000, value, cpu_s};
	if (parts)
		tell_parts(t, pool);
	else
		learn(t, n, o, pool, &mem);
	berth_pool_free(pool);
	for (int32_t i = 0; i < n; i++)
		bench_close(&pairs[i]);
}
