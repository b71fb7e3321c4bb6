/* The inside of an annealer, for anneal.c and for walks side by side (walks.c). */
#ifndef BERTH_ANNEALER_H
#define BERTH_ANNEALER_H

#include "anneal.h"
#include "mix.h"
#include "moves.h"
#include "screen.h"

enum { BERTH_ANNEALER_BLOCK = 64 };

struct berth_annealer {
	berth_search *s;
	const berth_walk_style *style;
	struct berth_walks *walks; /* NULL: it walks alone */
	double first_temperature;  /* of the run */
	int64_t n_steps, done;     /* of the run */
	berth_moves moves;
	bool screens;
	berth_screen screen;
	berth_screen_base base; /* log NULL: moves are not screened */
	berth_rng rng;
	int32_t block_size;      /* candidates drawn ahead */
	double key_share;        /* of the moves that change a key; 0: there are no keys */
	uint32_t key_gap;        /* between neighbours at first */
	int32_t *op_dev;         /* [n_ops] the present placement */
	uint32_t *op_key;        /* [n_ops] and its keys, where there are keys */
	berth_score score;
	berth_score best;        /* of the run */
	int32_t *best_dev;       /* [n_ops] its placement, where there are keys */
	uint32_t *best_key;
	int32_t *trial_dev;      /* [block_size][n_ops] */
	uint32_t *trial_key;
	berth_keyed trial[BERTH_ANNEALER_BLOCK]; /* the same */
	berth_score trial_score[BERTH_ANNEALER_BLOCK];
	int64_t limit_ns[BERTH_ANNEALER_BLOCK]; /* latency above which it is not taken */
	double slack[BERTH_ANNEALER_BLOCK]; /* how much worse one may be, relative to the present value */
	berth_rng rng_after[BERTH_ANNEALER_BLOCK];
	berth_mix mix, mix_after[BERTH_ANNEALER_BLOCK]; /* of kinds of moves, where they are screened */
	bool screened[BERTH_ANNEALER_BLOCK];
	berth_screen_kind kind[BERTH_ANNEALER_BLOCK]; /* of those */
};

/* Evaluations that may be made, at most want; where there are keys one is left for the offer of the best. */
int32_t berth_annealer_budget_left(const berth_annealer *a, int32_t want);

/* The temperature of the run after so many steps. */
double berth_annealer_temperature(const berth_annealer *a, int64_t done);

/* At most `most` steps, after the first `done` of the run: up to the first that is accepted. Each has the
 * temperature of its place, however many are drawn ahead. Returns the steps made; 0: no budget left. */
int64_t berth_annealer_steps(berth_annealer *a, int64_t done, int64_t most);

/* The present placement into trial i. */
void berth_annealer_begin_trial(berth_annealer *a, int32_t i);

/* Take trial 0, begun and then changed, if it is accepted. One evaluation. */
void berth_annealer_try(berth_annealer *a, double temperature);

/* The best of the run is the present placement where that is better; without its placement where there are no
 * keys: then the search keeps that. Returns by how much the logarithm of its value fell. */
double berth_annealer_keep_best(berth_annealer *a);

#endif
