/* What styles of walks are worth: pairs of graphs and machines, styles tried on them, a style's numbers. */
#pragma once

#include "bench.h"
#include "screen.h"

enum { ASIDE = 5 }; /* every fifth pair is not learned from */

/* Pairs 0 .. n - 1 of the rule. In mem. */
subject *pairs_open(int32_t n, berth_arena *mem);
void pairs_close(subject *pairs, int32_t n);

/* Styles 0 .. n_styles - 1 on pairs `which`; style 0 is what the others are measured by. */
typedef struct trial {
	bool by_paths; /* latency and the energy-delay product; else throughput */
	subject *pairs;
	const int32_t *which;
	int32_t n_which, n_styles;
	const berth_walk_style *style;
	int64_t evaluations;
	uint64_t seed;
	double *value, *cpu_s; /* [n_styles][n_which] logarithms; CPU seconds */
} trial;

void trial_run(trial *t, berth_pool *pool);

/* What style c is worth by style 0, in logarithms, with what its CPU time costs; *error: the standard error
 * of the mean over pairs, or NULL. */
double trial_worth(const trial *t, int32_t c, double *error);

/* The numbers of a style that are learned: in units of a first step, logarithms where they are of scale. */
enum { MOST_NUMBERS = 12 };
int n_numbers(bool by_paths);
const char *number_name(int i);
double number_get(const berth_walk_style *s, int i);         /* as it stands in the style */
double number_learned(const berth_walk_style *s, int i);     /* as it is learned */
void number_set(berth_walk_style *s, int i, double learned);
void number_copy(berth_walk_style *to, const berth_walk_style *from, int i);

/* Numbers that belong together, by what they are of; NULL behind the last one. */
const char *number_group(int i);

const berth_walk_style *style_by_hand(bool by_paths);
