/* Times of operators as accelerate runs them. */
#pragma once

#include "problem_tables.h"

/* Changes times and transfers of devices that accelerate only stores modules on (the CPU, and the disk), once
 * routes are known: an operator there runs on the first other device, with a copy of its weights for each
 * run, and its tensors go from there. Without another device nothing changes. O(ops * devs + classes * devs).
 */
void berth_accelerate_times(berth_problem *p);
