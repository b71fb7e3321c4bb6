/* The numbers that annealing's walks are made of: how often each kind of move comes, how large moves are, how
 * many candidates an evaluation is worth, how hot runs begin. They were learned together, from what walks
 * reach in the same CPU time (docs/learning.md, "Learned walks"). */
#ifndef BERTH_STYLE_H
#define BERTH_STYLE_H

#include "heats.h"
#include "search.h"

/* What a move is drawn by. */
typedef enum berth_screen_kind {
	BERTH_SCREEN_BLIND,        /* nothing */
	BERTH_SCREEN_PATHS,        /* candidates of a shape, by paths and prices */
	BERTH_SCREEN_PATHS_ANEW,   /* a few groups placed anew by them */
	BERTH_SCREEN_LOADS,        /* the same two by loads */
	BERTH_SCREEN_LOADS_ANEW,
	BERTH_SCREEN_LOADS_LARGE,  /* up to a third of all groups placed anew by loads */
	BERTH_SCREEN_KINDS
} berth_screen_kind;

typedef struct berth_walk_style {
	double share[BERTH_SCREEN_KINDS];   /* of kinds of moves in ordinary times */
	double largest_move;                /* of all colocation groups */
	double ends_per_candidate;          /* of operators and hops in the base */
	double most_anew;                   /* groups that are placed anew at once */
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

/* That of the search's configuration, for its objective. */
const berth_walk_style *berth_walk_style_of(const berth_search *s);

#endif
