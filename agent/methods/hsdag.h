/* HSDAG on a problem: the features of its nodes, the parsing of its graph by learned scores, and the
 * method. */
#ifndef BERTH_HSDAG_H
#define BERTH_HSDAG_H

#include "encode.h"
#include "hsdag_net.h"
#include "search.h"

enum {
	HSDAG_TYPES = 16,
	HSDAG_DEGREES = 6,
	HSDAG_POSITION = 16,
	HSDAG_FEATURES = HSDAG_TYPES + 2 * HSDAG_DEGREES + HSDAG_POSITION + 3
};

/* A problem as the network reads it. Nodes are chains of operators (step one of the paper), heavier groups
 * where more than HSDAG_MOST are left. */
enum { HSDAG_MOST = 2048 };
typedef struct hsdag_view {
	const berth_problem *p;
	hsdag_graph g;
	berth_coarsening nodes;
	/* [n_edges of the operators' graph] the pair of nodes that the edge joins. -1: it is inside one. */
	int32_t *edge_link;
	int32_t *op_fallback;  /* [n_ops] */
} hsdag_view;

/* Features of a node [HSDAG_FEATURES]: share of each operator type, one-hot degrees in and out, fractal
 * dimension, sines and cosines of its place in topological order, and, for the output's shape that graphs do
 * not keep, logarithms of the bytes it makes and of its mean time. In mem; tmp is scratch, reset at exit.
 * Fails: BERTH_ENOMEM. O(nodes * edges). */
berth_status hsdag_view_new(const berth_problem *p, berth_arena *mem, berth_arena *tmp, hsdag_view *out,
                            berth_err *err);

/* Fractal dimension of every node of an undirected graph, out [n_nodes]: the slope of log(nodes within r
 * hops) over log r, least squares over the radii at which there is a node more; 0 with fewer than two. Nodes
 * out of reach do not count. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. */
berth_status hsdag_fractal_dimensions(const hsdag_graph *g, double *dimension, berth_arena *tmp,
                                      berth_err *err);

/* A parsing: an encoding of groups only (no features but the mask), so that encode.h draws and projects. */
typedef struct hsdag_parsing {
	berth_encoding e;          /* p, co.op_group, n_groups, n_devs, in.mask, op_fallback */
	hsdag_clusters c;
	/* room, owned by the parsing */
	int32_t *node_cluster, *op_cluster;
	uint8_t *mask;
	double *edge_score;
} hsdag_parsing;

/* Room for parsings of v, in mem. */
berth_status hsdag_parsing_new(const hsdag_view *v, berth_arena *mem, hsdag_parsing *out, berth_err *err);

/* Parse by scores [n_edges of v->g] into about `target` clusters. a and b are scratch, two arenas, both
 * reset at exit. Fails: BERTH_ENOMEM. */
berth_status hsdag_parse(const hsdag_view *v, const nn_real *scores, int32_t target, berth_arena *a,
                         berth_arena *b, hsdag_parsing *out, berth_err *err);

typedef struct berth_hsdag_cfg {
	bool ppo;             /* false: REINFORCE as released; default true */
	int32_t groups;       /* clusters that parsing stops at; default 64 */
	int32_t hidden;       /* default 64 */
	int32_t batch;        /* placements drawn from one parsing (PPO); default 10 */
	int32_t epochs;       /* gradient steps on them; default 4 */
	double lr, clip, entropy;  /* defaults 5e-4, 0.2, 0.005 */
	int32_t steps;        /* of an episode (REINFORCE); default 20 */
	double discount, reinforce_lr; /* defaults 0.95 and 1e-3 */
} berth_hsdag_cfg;

berth_hsdag_cfg berth_hsdag_cfg_default(void);

/* Draw, score and learn until the budget of s ends; at least one placement is offered. Fails: BERTH_ENOMEM,
 * BERTH_EINVAL (numbers no longer finite). */
berth_status berth_hsdag_run(berth_search *s, const berth_hsdag_cfg *cfg, berth_arena *tmp, berth_err *err);

#endif
