/* What grouping costs on a system, by searching the graph with its groups kept whole. The grouper "auto" is
 * chosen by that. */
#pragma once

#include "coarsen.h"
#include "problem.h"

/* A graph whose colocation groups are the groups of c, so that every method searches among placements that
 * keep them whole, under the same simulator. It shares the rest with g. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_group_whole(const berth_graph *g, const berth_coarsening *c, berth_arena *mem,
                               berth_graph *out, berth_err *err);

/* Coarsening as an encoding or search on p wants it: costs are mean times, a group's bytes at most half of
 * the smallest memory. The costs live in mem. Fails: BERTH_ENOMEM. */
berth_status berth_group_cfg(const berth_problem *p, int32_t target, berth_arena *mem, berth_coarsen_cfg *out,
                             berth_err *err);

/* Judges coarsenings of p for the grouper "auto": latency after `evaluations` of annealing from the
 * portfolio with whole groups. */
typedef struct berth_group_judge {
	const berth_problem *p;
	int64_t evaluations; /* of each grouper */
	berth_arena *tmp;
} berth_group_judge;

/* For berth_coarsen_cfg.loss with a berth_group_judge as its context. Fails: BERTH_ENOMEM. */
berth_status berth_group_loss(void *judge, const berth_coarsening *c, double *loss, berth_err *err);
