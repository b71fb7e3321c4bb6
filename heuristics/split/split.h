/* Splitting: communities of operators, each placed by exact search, one after the other. */
#pragma once

#include "problem.h"

typedef struct split_cfg {
	int32_t most_ops; /* of a community, 1 .. BERTH_EXACT_SEARCH_OPS */
	int64_t nodes;    /* limit of the search of one community */
	/* how often communities are solved again with all others fixed; less if a round changes nothing */
	int32_t rounds;
	/* Asked before each community: where it says no, those that have no devices yet go their shortest
	 * ways, and no more are solved. NULL: never asked. */
	bool (*go_on)(void *ctx);
	void *ctx;
} split_cfg;

/* Communities in an order in which each follows those that it has inputs from (where colocation does not
 * forbid it). */
typedef struct split_communities {
	int32_t n;
	int32_t *off, *op; /* CSR [n+1], operators by topological index */
	int32_t *op_comm;  /* [n_ops] */
} split_communities;

/* By modularity over mean transfer times, cut to most_ops operators. Colocation groups stay whole unless they
 * are larger. In mem. Fails: BERTH_ENOMEM. */
berth_status split_communities_new(const berth_problem *p, int32_t most_ops, berth_arena *mem,
                                   berth_arena *tmp, split_communities *out, berth_err *err);

/* Place all operators: op_dev out [n_ops], order out [n_ops] by start, which colocation may keep from being
 * topological. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. The problem has at most
 * BERTH_EXACT_SEARCH_DEVS devices and no colocation group larger than cfg->most_ops. */
berth_status split_place(const berth_problem *p, const split_cfg *cfg, int32_t *op_dev, int32_t *order,
                         berth_arena *tmp, berth_err *err);
