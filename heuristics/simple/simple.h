/* All operators on one device. */
#pragma once

#include "problem.h"

/* Every colocation group on dev, or on its fastest legal device where it is not legal there: op_dev out
 * [n_ops]. */
void berth_single_placement(const berth_problem *p, int32_t dev, int32_t *op_dev);
