/* Moves by estimates, and the numbers that annealing's walks are made of.
 *
 * Of some candidates of one shape the one of the best estimate: the shape is drawn first, as large moves
 * would starve among small ones. And some groups that lie together are placed anew, one after the other, each
 * where the estimate is best: so chains change devices at once.
 *
 * Paths tell what is critical in a schedule that is good. Where one is bad everywhere no short piece of a
 * path is to blame: most often a device or a channel has too much to do. There large pieces are placed anew
 * by loads, for latency too. */
#pragma once

#include "estimate.h"
#include "loads.h"
#include "moves.h"
#include "search.h"

/* What a move is drawn by. */
typedef enum berth_screen_kind {
	BERTH_SCREEN_BLIND,      /* nothing */
	BERTH_SCREEN_PATHS,      /* candidates of a shape, by paths and prices */
	BERTH_SCREEN_PATHS_ANEW, /* a few groups placed anew by them */
	BERTH_SCREEN_LOADS,      /* the same two by loads */
	BERTH_SCREEN_LOADS_ANEW,
	BERTH_SCREEN_LOADS_LARGE, /* up to a third of all groups placed anew by loads */
	BERTH_SCREEN_KINDS
} berth_screen_kind;

enum { BERTH_HEATS = 3 }; /* temperatures that runs begin at (cooling.h) */

/* The numbers that walks are made of. They were learned together, from what walks reach in the same CPU time
 * (docs/learning.md, "Learned walks"). */
typedef struct berth_walk_style {
	double share[BERTH_SCREEN_KINDS];      /* of kinds of moves in ordinary times */
	double largest_move;                   /* of all colocation groups */
	double ends_per_candidate;             /* of operators and hops in the base */
	double most_anew;                      /* groups that are placed anew at once */
	double first_temperature[BERTH_HEATS]; /* of runs: cold ones refine, hot ones leave a basin */
} berth_walk_style;

/* For objectives that are estimated by paths, and for the others. */
typedef struct berth_walk_styles {
	berth_walk_style by_paths, by_loads;
} berth_walk_styles;

/* Those that come with berth. */
extern const berth_walk_styles berth_walks_learned;

/* As they were set by hand; learning began there. */
extern const berth_walk_styles berth_walks_by_hand;

/* That of the search's configuration, for its objective. Where the cost model has no paths to estimate by,
 * those set by hand stand in for the learned ones, which were learned with estimates. */
const berth_walk_style *berth_walk_style_of(const berth_search *s);

/* Estimates by paths or by loads, and the groups that are critical by them. */
typedef struct berth_screen_view {
	int64_t serial;                /* of the base that it is of */
	int32_t *critical, n_critical; /* colocation groups without slack, or of the largest load */
} berth_screen_view;

typedef struct berth_screen {
	const berth_problem *p;
	const berth_walk_style *style;
	berth_estimate estimate;
	bool has_paths; /* not for throughput: there are tails and prices */
	berth_tails tails;
	berth_prices prices;
	berth_loads loads;
	berth_screen_view view[2]; /* by paths, by loads */
	int32_t fewest;            /* candidates; 0: as the style has them */
	int32_t *best, *best_dev;  /* [n_colocs] the best candidate: its groups, and where they go */
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

/* What the objective is expected to pay for the groups of a move, which have moved in op_dev [n_ops] from the
 * base: by paths (has_paths) no less than `enough` where that is reached, else by loads. Tails and prices, or
 * loads, must be of the base. */
double berth_screen_price(berth_screen *x, bool by_paths, const berth_screen_base *base, const berth_moves *m,
                          const int32_t *op_dev, double enough);

/* Change trial [n_ops], which holds the present placement, by one move of that kind; kinds by paths need
 * has_paths. Returns the number of colocation groups moved. */
int32_t berth_screen_draw(berth_screen *x, berth_screen_kind kind, const berth_screen_base *base,
                          berth_moves *m, berth_rng *rng, int32_t *trial);

/* Candidates of changed keys: draw(ctx, &op, &key) draws one, and tells whether it came to anything. The best
 * is written to trial_key [n_ops], which holds the present keys. */
void berth_screen_draw_key(berth_screen *x, const berth_screen_base *base,
                           bool (*draw)(void *ctx, int32_t *op, uint32_t *key), void *ctx,
                           uint32_t *trial_key);

/* Which kind of move a walk draws next: each by its share in ordinary times, and more often while it gains
 * more than others for its cost (as operators in S. Ropke, D. Pisinger, "An adaptive large neighborhood
 * search heuristic for the pickup and delivery problem with time windows", Transportation Science 40, 2006,
 * section 3.4, with the fall of the best value as the score). Gains and costs are counts, not times: the
 * sequence follows from the search alone. Far from good, where much is gained, kinds differ a hundredfold.
 * Near the end next to nothing is gained, and the shares are the ordinary ones. */
typedef struct berth_mix {
	double gain[BERTH_SCREEN_KINDS], cost[BERTH_SCREEN_KINDS]; /* of late */
	const double *share; /* [BERTH_SCREEN_KINDS] of each kind in ordinary times */
} berth_mix;

/* share is borrowed; a kind whose share is 0 never comes. */
void berth_mix_begin(berth_mix *m, const double *share);

/* Draw a kind; its cost is told. */
berth_screen_kind berth_mix_draw(berth_mix *m, berth_rng *rng);

/* A move of that kind let the logarithm of the best value fall by `fall`. */
void berth_mix_gain(berth_mix *m, berth_screen_kind kind, double fall);
