/* What if the machine were another one: a placement on a changed system, as it is and solved anew. */
#pragma once

#include "check.h"
#include "solve.h"

typedef struct berth_whatif_cfg {
	const berth_method *method; /* that solves anew; it starts from the placement */
	berth_search_cfg search;    /* objective, seed and budget of each solution */
	const char *bound;          /* of each machine, as in search.h */
} berth_whatif_cfg;

/* One placement on one system. */
typedef struct berth_whatif_side {
	bool answered;                  /* there is a placement that runs: metric and value are set */
	berth_verdict v;                /* under the objective */
	int64_t evaluations;
	const int32_t *op_dev, *order;  /* [n_ops]; order NULL: the system's rule */
	const char *broken;             /* what stands against it first; NULL: nothing */
} berth_whatif_side;

typedef struct berth_whatif_row {
	berth_system s;                 /* the changed one */
	double lower_bound;             /* of the objective; NAN: not known */
	berth_whatif_side same, anew;   /* anew is never worse than same */
} berth_whatif_row;

/* Apply the changes (system_change.h; NULL or "": none) to a copy of s and compare.
 *   op_dev, order  [n_ops] the placement; order may be NULL. Devices are the same by their names. Where one
 *                  that runs something is gone there is no same placement (same.broken tells)
 * The row lives in mem. tmp is scratch, another arena, reset at exit. Fails: BERTH_EINVAL (a change that is
 * none, or that makes no system), BERTH_EFORMAT (objective without watts), BERTH_ENOMEM. */
berth_status berth_whatif(const berth_graph *g, const berth_system *s, const int32_t *op_dev,
                          const int32_t *order, const char *changes, const berth_whatif_cfg *cfg,
                          berth_arena *mem, berth_arena *tmp, berth_whatif_row *out, berth_err *err);

/* Rows of changes; the first is the system as it is. */
typedef struct berth_whatif_rows {
	berth_objective objective;
	const char **change; /* [n] "as it is", then the changes */
	berth_whatif_row *row;
	int32_t n;
} berth_whatif_rows;

/* A row for the system as it is, and one for each of the n changes. Fails: as berth_whatif. */
berth_status berth_whatif_each(const berth_graph *g, const berth_system *s, const berth_placement *placement,
                               const char *const *change, int32_t n, const berth_whatif_cfg *cfg,
                               berth_arena *mem, berth_arena *tmp, berth_whatif_rows *out, berth_err *err);
