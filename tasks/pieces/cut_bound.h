/* A lower bound of all programs of pieces: whatever is cut along the axes of tasks/pieces, into any shares,
 * and wherever pieces go. docs/proofs.md, "Programs of pieces". */
#ifndef BERTH_CUT_BOUND_H
#define BERTH_CUT_BOUND_H

#include "cut_program.h"

/* For c's objective, in its unit, if that is latency or throughput. NAN: not known. It is known where each
 * device has an overhead of 1 ns or more. Times are those of the roofline, or measured and shared out to
 * pieces as in cut_times.h. Rows that are computed twice
 * only add. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. As berth_load_dual. */
berth_status berth_cut_bound(const berth_cutting *c, berth_arena *tmp, double *out, berth_err *err);

#endif
