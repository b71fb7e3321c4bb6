/* Groupers: fewer, larger nodes for a policy to place. A grouper works round by round until the target count
 * is reached. Every round is a level that is kept, so that refinement can go back through the levels. Each
 * method is a file (group_NAME.c) and a row of one table.
 *
 * The nodes to start from are colocation groups: the operators that must share a device. An operator that is
 * bound to no other is a colocation group of its own. They are ordered by their first operator in topological
 * order. Nothing but colocation makes edges run against that order. The groups' graph without such edges is
 * acyclic. */
#pragma once

#include "granularity.h"

struct group_work;

typedef struct berth_grouper {
	const char *name, *about;
	berth_status (*run)(struct group_work *w);
} berth_grouper;

/* All groupers, [*n]. */
const berth_grouper *berth_grouper_list(int32_t *n);

/* The grouper called name. Fails: BERTH_EINVAL, naming the nearest. */
berth_status berth_grouper_find(const char *name, const berth_grouper **out, berth_err *err);

typedef struct berth_coarsen_cfg {
	const berth_grouper *grouper; /* NULL: heavy-edge */
	int32_t target;              /* groups wanted, >= 1; more stay where caps or components forbid it */
	/* cap of a group's op_bytes; a single colocation group may exceed it; INT64_MAX: none */
	int64_t max_bytes;
	/* cap of a group's cost: balance * total / target, relaxed when nothing else is left; > 1 */
	double balance;
	const double *op_cost;       /* [n_ops] >= 0, for balance (mean time); NULL: 1 each */
	const int64_t *op_bytes;     /* [n_ops] for max_bytes; NULL: parameters + state + tensors made */
	/* [n_edges] what contracting the edge is worth; NULL: bytes of its tensor */
	const double *edge_score;
} berth_coarsen_cfg;

berth_coarsen_cfg berth_coarsen_cfg_default(int32_t target);

typedef struct berth_coarsening {
	int32_t n_colocs, n_groups;
	/* [n_ops] colocation groups numbered by their first operator in topological order */
	int32_t *op_coloc;
	int32_t *op_group;           /* [n_ops] groups numbered likewise */
	int32_t n_levels;            /* level 0: the colocation groups; the last one: the groups */
	int32_t *level_n;            /* [n_levels] nodes */
	int32_t **level_map;         /* [n_levels-1] level_map[l][node of level l] = its node of level l+1 */
} berth_coarsening;

/* Coarsen g. The result lives in mem; tmp is scratch, reset at exit. Fails: BERTH_EINVAL (target or balance
 * out of range), BERTH_ENOMEM. O((edges log edges) * rounds); rounds grow with the logarithm of colocation
 * groups / target. Deterministic: ties go to lower indices. */
berth_status berth_coarsen(const berth_graph *g, const berth_coarsen_cfg *cfg, berth_arena *mem,
                           berth_arena *tmp, berth_coarsening *out, berth_err *err);

/* All invariants. The maps compose. Colocation groups stay whole. The quotient graph is acyclic as stated
 * above. Caps hold for groups of more than one colocation group. Debug builds check them after every
 * berth_coarsen. Fails: BERTH_EFORMAT naming the first broken one, BERTH_ENOMEM. */
berth_status berth_coarsening_check(const berth_graph *g, const berth_coarsening *c,
                                    const berth_coarsen_cfg *cfg, berth_arena *tmp, berth_err *err);

/* g with what an inference engine runs as one kernel as one operator, by the rules of group_fusion.c, in
 * mem. A kernel is called like its product, or like its exit where it has none or two, and has that one's
 * type, precision and shape; work, parameters and state are sums; what its members handed to each other is
 * neither read nor written; times of its members are dropped, unless it has only one. Members with a pin,
 * forbidden devices or another group of colocation or separation than their exit stay by themselves.
 *   tmp  scratch, another arena than mem, reset at exit
 * Fails: BERTH_ENOMEM; BERTH_EFORMAT (sums beyond the limits of a graph). O(ops + edges). */
berth_status berth_graph_fuse(const berth_graph *g, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                              berth_err *err);
/* g with each block of kernels (BERTH_GRAIN_KERNEL) as one operator, whatever pins say; op_new out [n_ops]:
 * the operator that it is of. Fails: as that does. */
berth_status berth_graph_fuse_kernels(const berth_graph *g, const berth_granularity *kernels, int32_t *op_new,
                                      berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_err *err);
