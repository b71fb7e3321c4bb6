/* What groups of operators may weigh on a system. */
#pragma once

#include "coarsen.h"
#include "problem.h"

/* Coarsening as an encoding or search on p wants it: costs are mean times, a group's bytes at most half of
 * the smallest memory. The costs live in mem. Fails: BERTH_ENOMEM. */
berth_status berth_group_cfg(const berth_problem *p, int32_t target, berth_arena *mem, berth_coarsen_cfg *out,
                             berth_err *err);
