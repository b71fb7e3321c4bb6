/* Few operators that tell most of a device's times: for a quick profile. */
#pragma once

#include "graph.h"
#include "system.h"

/* Mark n operators of g (or all that dev can run, if they are fewer) in chosen [n_ops]: one after the other
 * from the group, of a type and a decade of predicted time, whose operators are uncertain for the most
 * seconds (time by error, half of it each time it was chosen from), and there the longest. Of equal operators
 * the first is taken: same [n_ops] has it for each. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(n *
 * operators). */
berth_status berth_quick_choose(const berth_graph *g, const berth_system *s, int32_t dev, int32_t n,
                                const int32_t *same, bool *chosen, berth_arena *tmp, berth_err *err);
