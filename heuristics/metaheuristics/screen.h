/* Moves by estimates. Of some candidates of one shape the one of the best estimate: the shape is drawn first,
 * as large moves would starve among small ones. And some groups that lie together are placed anew, one after
 * the other, each where the estimate is best: so chains change devices at once.
 *
 * Paths tell what is critical in a schedule that is good. Where one is bad everywhere no short piece of a
 * path is to blame: most often a device or a channel has too much to do. There large pieces are placed anew
 * by loads, for latency too. */
#ifndef BERTH_SCREEN_H
#define BERTH_SCREEN_H

#include "estimate.h"
#include "loads.h"
#include "moves.h"
#include "style.h"

/* Estimates by paths or by loads, and the groups that are critical by them. */
typedef struct berth_screen_view {
	int64_t serial;                /* of the base that it is of */
	int32_t *critical, n_critical; /* colocation groups without slack, or of the largest load */
} berth_screen_view;

typedef struct berth_screen {
	const berth_problem *p;
	const berth_walk_style *style;
	berth_estimate estimate;
	bool has_paths;                /* not for throughput: there are tails and prices */
	berth_tails tails;
	berth_prices prices;
	berth_loads loads;
	berth_screen_view view[2];     /* by paths, by loads */
	int32_t *best, *best_dev;      /* [n_colocs] the best candidate: its groups, and where they go */
} berth_screen;

/* Are there estimates for the objective: of latency and energy, or of throughput? */
bool berth_screen_knows(const berth_objective *o);

/* In mem; berth_screen_knows must hold of the objective, which is borrowed, as style is. Fails:
 * BERTH_ENOMEM. */
berth_status berth_screen_new(const berth_problem *p, const berth_objective *objective,
                              const berth_walk_style *style, berth_arena *mem, berth_screen *out,
                              berth_err *err);

/* The present placement op_dev [n_ops] with keys op_key [n_ops], or NULL, and how it ran. */
typedef struct berth_screen_base {
	const berth_base_log *log;
	const int32_t *op_dev;
	const uint32_t *op_key;
} berth_screen_base;

/* Change trial [n_ops], which holds the present placement, by one move of that kind; kinds by paths need
 * has_paths. Returns the number of colocation groups moved. */
int32_t berth_screen_draw(berth_screen *x, berth_screen_kind kind, const berth_screen_base *base,
                          berth_moves *m, berth_rng *rng, int32_t *trial);

/* Candidates of changed keys: draw(ctx, &op, &key) draws one, and tells whether it came to anything. The best
 * is written to trial_key [n_ops], which holds the present keys. */
void berth_screen_draw_key(berth_screen *x, const berth_screen_base *base,
                           bool (*draw)(void *ctx, int32_t *op, uint32_t *key), void *ctx,
                           uint32_t *trial_key);

#endif
