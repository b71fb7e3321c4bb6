/* Repair of a placement that exceeds memory or breaks a rule. */
#pragma once

#include "search.h"

/* Where cuts are limited, offer stages (berth_stages_offer), which ends it if they are feasible. Mend
 * separation and contiguity (berth_constraints_mend). Then move colocation groups off the devices whose
 * peak exceeds their memory, latest operators first, to those with the most memory left, until it fits or
 * nothing helps. At most 66 evaluations, which are counted but not limited by the budget. Where a rule or a
 * limit is broken still, local search makes up to 256 more, within the budget. op_dev in and out; the best
 * found is offered to the search. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_repair(berth_search *s, int32_t *op_dev, berth_arena *tmp, berth_err *err);

/* The same from the incumbent, unless it is feasible. tmp is scratch, reset at exit. */
berth_status berth_repair_incumbent(berth_search *s, berth_arena *tmp, berth_err *err);
