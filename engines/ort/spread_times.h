/* The profile of a session across providers in the operators' terms. */
#ifndef BERTH_SPREAD_TIMES_H
#define BERTH_SPREAD_TIMES_H

#include "kernel_times.h"
#include "ort_spread.h"

/* Fill p's kernels, pieces and `elsewhere`. tmp is scratch. Fails: BERTH_EFORMAT (an operator with a kernel
 * of its own ran in another provider than the placement says, or in one of no device), BERTH_ENOMEM. */
berth_status spread_times_read(ort_spread *p, const kernel_times *t, berth_arena *tmp, berth_err *err);

#endif
