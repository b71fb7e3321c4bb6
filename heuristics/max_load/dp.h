/* The dynamic program `dp` as a seed of other searches. */
#ifndef BERTH_DP_H
#define BERTH_DP_H

#include "search.h"

/* Offer what `dp` finds within a hundredth of its work; nothing where it does not know the machine or the
 * objective. Its work is counted as that of a seed. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_dp_seed(berth_search *s, berth_arena *tmp, berth_err *err);

#endif
