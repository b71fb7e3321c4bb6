/* Ranks of operators by mean times; upward ranks are berth_problem.op_rank_ns. */
#ifndef BERTH_RANKS_H
#define BERTH_RANKS_H

#include "problem.h"

/* rank_d of CPOP (Topcuoglu, Hariri, Wu 2002): mean times and mean transfers from the sources to each
 * operator, without its own time. op_rank_ns out [n_ops]. O(ops + edges). */
void berth_downward_ranks(const berth_problem *p, int64_t *op_rank_ns);

#endif
