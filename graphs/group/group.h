/* What the groupers share: the graph of a level, clusters taken as the next level, cyclic clusters cut until
 * they are not.
 *
 * A grouper starts from the level of colocation groups and takes clusters as new levels until the target is
 * reached or nothing is left to join. Clusters are given by leader[node]: the cluster's first node. */
#pragma once

#include "coarsen.h"

/* One level's graph: nodes in a topological order of the kept edges (u < v for each), parallel edges
 * merged. */
typedef struct group_level {
	int32_t n, n_edges;
	double *cost;
	int64_t *bytes;
	int32_t *off, *to;     /* successors, CSR */
	double *score;
	int32_t *in_off, *from; /* predecessors */
	double *in_score;
} group_level;

typedef struct group_caps {
	double cost;
	int64_t bytes;
} group_caps;

enum { GROUP_MAX_LEVELS = 256 }; /* rounds are far fewer: each but the relaxing ones shrinks */

typedef struct group_work {
	const berth_graph *g;
	const berth_coarsen_cfg *cfg;
	berth_arena *mem, *tmp;
	berth_err *err;
	berth_coarsening *c; /* n_colocs, op_coloc, n_levels so far */
	int32_t *maps[GROUP_MAX_LEVELS];
	int32_t counts[GROUP_MAX_LEVELS + 1];
	berth_arena level[2];    /* the graph of this level; empty */
	group_level now;         /* in level[0] */
} group_work;

/* ---- levels ---- */

/* Number the colocation groups of g into c, and make the level of them, in mem; tmp is another arena. Fails:
 * BERTH_ENOMEM. */
berth_status group_number_colocs(const berth_graph *g, berth_coarsening *c, berth_arena *mem,
                                 berth_arena *tmp, berth_err *err);
berth_status group_first_level(const berth_graph *g, const berth_coarsen_cfg *cfg, const berth_coarsening *c,
                               group_level *l, berth_arena *mem, berth_arena *tmp, berth_err *err);

/* The next level under map, in mem; tmp is another arena. */
berth_status group_contract(const group_level *l, const int32_t *map, int32_t n, group_level *out,
                            berth_arena *mem, berth_arena *tmp, berth_err *err);

/* Kahn's order of the clusters of a level, lowest first member first. map[node] becomes the cluster's
 * number in that order. *n is the count of those that could be ordered: all, if the clusters' graph is
 * acyclic. */
berth_status group_renumber(const group_level *l, const int32_t *leader, int32_t *map, int32_t *n,
                            berth_arena *tmp, berth_err *err);

/* What op weighs against max_bytes where the caller says nothing. */
int64_t group_default_bytes(const berth_graph *g, int32_t op);

/* ---- for groupers ---- */

/* Room for another level? */
bool group_may_go_on(const group_work *w);

/* Cost of all nodes; caps of a cluster: balance * total / target, max_bytes. */
double group_total_cost(const group_level *l);
group_caps group_caps_of(const group_work *w);
bool group_fits(const group_level *l, group_caps cap, double cost, int64_t bytes, int32_t v);

/* Take clusters as the next level. They must be acyclic. */
berth_status group_take(group_work *w, const int32_t *leader);

/* Clusters of any label in [0, n), cut until their graph is acyclic and then taken, if any is left. *shrunk:
 * nodes fewer. */
berth_status group_take_labels(group_work *w, const int32_t *label, int32_t *shrunk);

/* Heavy-edge rounds down to the target; caps of cost are relaxed where nothing else is left. */
berth_status group_heavy_rounds(group_work *w);

/* ---- the groupers, one a file ---- */

berth_status group_run_chain(group_work *w);
berth_status group_run_heavy_edge(group_work *w);
berth_status group_run_modularity(group_work *w);
berth_status group_run_by_score(group_work *w);
