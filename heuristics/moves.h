/* Random changes of a placement by one unit or several together, for searches that walk. A move takes units to one other device: a single unit, units of
 * one device that are joined in the graph, or a topological window; or it exchanges the devices of two units. */
#ifndef BERTH_MOVES_H
#define BERTH_MOVES_H

#include "method.h"

typedef struct berth_moves {
	const berth_problem *p;
	int32_t *unit_near_off, *unit_near; /* CSR [n_units+1]: units joined to each by a tensor, ascending, each once */
	int32_t *unit_seq;                  /* [n_units] units by the topological index of their first operator */
	int32_t *unit_at;                   /* its inverse */
	int32_t *moved, n_moved;            /* [n_units] units that the last draw moved */
	int64_t *seen, stamp;               /* [n_units] scratch */
} berth_moves;

/* In mem. Fails: BERTH_ENOMEM. O(edges log edges). */
berth_status berth_moves_new(const berth_problem *p, berth_arena *mem, berth_moves *out, berth_err *err);

/* Change op_dev [n_ops] by one random move to legal devices; moved tells which units. Returns their number; 0: the draw came to nothing. largest: units of a
 * move at most, >= 1. Expected O(units moved * degree + operators moved). */
int32_t berth_moves_draw(berth_moves *m, int32_t largest, berth_rng *rng, int32_t *op_dev);

/* First improvement as berth_improve does it, from the given units and their neighbours; a unit that moves lets its neighbours be tried again. Ends in a
 * local optimum where only the neighbourhood of the units had been changed from one, or when the search has no room. */
berth_status berth_improve_near(berth_search *s, const berth_moves *near, int32_t *op_dev, berth_score *score, const int32_t *units, int32_t n_units,
                                berth_rng *rng, berth_arena *tmp, berth_err *err);

#endif
