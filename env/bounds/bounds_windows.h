/* A lower bound of the latency by windows: what stands between two operators has to be done between them. */
#ifndef BERTH_BOUNDS_WINDOWS_H
#define BERTH_BOUNDS_WINDOWS_H

#include "bounds_effort.h"
#include "problem.h"

/* Critical earliest finish times, raised by windows. A window is a pair of operators u, v with a path
 * between them, and all operators on paths from u to v. These run after u ends and before v starts. Where
 * u and v have their devices, an operator on another device has a head and a tail, as tensors have to get
 * there and back. So a device has time for the window's operators only between the least head and the
 * least tail on it. The earliest end of v is raised as long as the loads of the window, at some prices, do
 * not fit in that. The beginning and the end of the run are ends of windows, too.
 *
 * It is interval reasoning for unlike devices with transfers, anchored at both ends, after E. B. Fernandez
 * and B. Bussell, "Bounds on the number of processors and time for multiprocessor optimal schedules", IEEE
 * Trans. Computers 22(8), 1973, and K. K. Jain and V. Rajaraman, "Lower and upper bounds on time for
 * multiprocessor optimal schedules", IEEE TPDS 5(8), 1994. docs/proofs.md, "Windows".
 *
 * *lower_ns: 0 where there are too many operators or devices, or too little work is left. At most half of
 * the work that is left is taken; windows that it does not pay for are left out. Where budget->proof is of
 * the latency it is offered a certificate of all of it, for no work. tmp's hook gives the memory. Fails:
 * BERTH_ENOMEM. Some seconds for thousands of operators. */
berth_status berth_bounds_windows(const berth_problem *p, berth_bound_work *budget, berth_arena *tmp,
                                  int64_t *lower_ns, berth_err *err);

#endif
