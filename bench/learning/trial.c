/* See trial.h. */
#include "trial.h"

#include "method.h"
#include "registry.h"

#include <inttypes.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <time.h>

#define PER_DOUBLING 0.0083
#define MOST_CHANGE 0.3 /* of a value's logarithm that counts */
#define NEVER 0.004     /* where a share that is zero by hand begins */

enum { NAME_SIZE = 112 };

/* A number that is learned: where it stands, and whether its logarithm is. A step of one is `step` of it. */
typedef struct number {
	const char *group, *name;
	size_t at;
	double step;
	bool logarithm;
} number;

#define FIELD(group, name, step, logarithm) {group, #name, offsetof(berth_walk_style, name), step, logarithm}
#define SHARE(kind) {"kinds", #kind, offsetof(berth_walk_style, share[BERTH_SCREEN_##kind]), 1, true}
/* Behind the first SHARED those of moves by paths alone. */
static const number numbers[] = {
	FIELD("sizes, candidates", largest_move, .5, true),
	FIELD("sizes, candidates", ends_per_candidate, 1, true),
	FIELD("sizes, candidates", most_anew, 1, true),
	FIELD("temperatures", first_temperature[0], .7, true),
	FIELD("temperatures", first_temperature[1], .7, true),
	FIELD("temperatures", first_temperature[2], .7, true),
	SHARE(BLIND), SHARE(LOADS), SHARE(LOADS_ANEW), SHARE(LOADS_LARGE), SHARE(PATHS), SHARE(PATHS_ANEW)};
enum { N_NUMBERS = sizeof numbers / sizeof *numbers, SHARED = 10 };
_Static_assert(N_NUMBERS == (int)MOST_NUMBERS, "all numbers");

/* Machines that no table of docs/learning.md has; models are of families that some have. */
static void name_pair(int32_t i, char graph[NAME_SIZE], char system[NAME_SIZE])
{
	static const char *const models[] = {
		"mobilenet-v2", "resnet18", "resnet34", "densenet121:batch=4", "randwire:graph=ba:seed=47",
		"randwire:graph=ws:seed=75", "rnnlm:seq=6:layers=3", "chain-mm:tiles=3", "ffnn:tiles=2",
		"llama-block", "bert-base:batch=4:seq=64", "transformer:batch=2",
		"unet:batch=4", "gnmt:seq=3"};
	static const char *const topologies[] = {"full", "bus", "star", "hosts"};
	enum { N_MODELS = sizeof models / sizeof *models };
	berth_rng rng = berth_rng_seed(7, (uint64_t)i);
	uint32_t devices = 2 + berth_rng_below(&rng, 6), topology = berth_rng_below(&rng, 4);
	double unlike = berth_rng_unit(&rng), ops = 50 * pow(14, berth_rng_unit(&rng)),
	       ccr = 0.07 * pow(40, berth_rng_unit(&rng)), width = 4 * pow(8, berth_rng_unit(&rng));
	snprintf(system, NAME_SIZE, "random:devices=%" PRIu32 ":topology=%s:heterogeneity=%.2f:seed=%" PRId32,
	         devices, topologies[topology], unlike, 5000 + i);
	if (i % 2 == 0)
		snprintf(graph, NAME_SIZE, "%s", models[i / 2 % N_MODELS]);
	else
		snprintf(graph, NAME_SIZE,
		         "random:ops=%.0f:width=%.0f:ccr=%.3f:heterogeneity=%.2f:seed=%" PRId32, ops,
		         width, ccr, berth_rng_unit(&rng), 5000 + i);
}

subject *pairs_open(int32_t n, berth_arena *mem)
{
	subject *pairs = bench_new(mem, (size_t)n, sizeof *pairs);
	for (int32_t i = 0; i < n; i++) {
		char graph[NAME_SIZE], system[NAME_SIZE];
		name_pair(i, graph, system);
		bench_open(&pairs[i], graph, system);
	}
	return pairs;
}

void pairs_close(subject *pairs, int32_t n)
{
	for (int32_t i = 0; i < n; i++)
		bench_close(&pairs[i]);
}

static void walk_once(void *ctx, int32_t item, int32_t worker)
{
	const trial *t = ctx;
	int32_t k = item / t->n_styles, c = item % t->n_styles;
	subject *x = &t->pairs[t->which[k]];
	berth_arena mem = {0}, tmp = {0};
	berth_walk_styles styles = {t->style[c], t->style[c]};
	berth_metric metric = !t->by_paths                                            ? BERTH_THROUGHPUT
	                      : t->which[k] % 7 < 2 && x->p.has_energy ? BERTH_EDP
	                                                                          : BERTH_LATENCY;
	berth_search_cfg cfg = {.objective = berth_objective_of(metric),
	                        .seed = t->seed + (uint64_t)k,
	                        .evaluations = t->evaluations,
	                        .walk_styles = &styles};
	berth_search s;
	double began = bench_thread_seconds();
	(void)worker;
	MUST(berth_search_new(&x->p, &cfg, &mem, &s, &err));
	MUST(berth_method_run(&berth_method_anneal, &s, &tmp, &err));
	t->value[c * t->n_which + k] = berth_score_feasible(s.best) ? log(s.best.value) : NAN;
	t->cpu_s[c * t->n_which + k] = bench_thread_seconds() - began;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

void trial_run(trial *t, berth_pool *pool)
{
	berth_pool_run(pool, t->n_which * t->n_styles, walk_once, t);
}

double trial_worth(const trial *t, int32_t c, double *error)
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
	if (error)
		*error = sqrt(fmax(0, squares / n - mean * mean) / n);
	return mean + PER_DOUBLING * log2(cpu / cpu_0);
}

const berth_walk_style *style_by_hand(bool by_paths)
{
	return by_paths ? &berth_walks_by_hand.by_paths : &berth_walks_by_hand.by_loads;
}

int n_numbers(bool by_paths)
{
	return by_paths ? N_NUMBERS : SHARED;
}

const char *number_name(int i)
{
	return numbers[i].name;
}

const char *number_group(int i)
{
	return i < N_NUMBERS ? numbers[i].group : NULL;
}

double number_get(const berth_walk_style *s, int i)
{
	return *(const double *)((const char *)s + numbers[i].at);
}

double number_learned(const berth_walk_style *s, int i)
{
	double x = number_get(s, i);
	return (numbers[i].logarithm ? log(x > 0 ? x : NEVER) : x) / numbers[i].step;
}

void number_set(berth_walk_style *s, int i, double learned)
{
	double x = learned * numbers[i].step;
	*(double *)((char *)s + numbers[i].at) = numbers[i].logarithm ? exp(x) : x;
}

void number_copy(berth_walk_style *to, const berth_walk_style *from, int i)
{
	*(double *)((char *)to + numbers[i].at) = number_get(from, i);
}
