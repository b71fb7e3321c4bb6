/* The parts that bounds are made of, each a lower bound by itself; bounds.h puts them together. Inside the
 * bounds only. */
#pragma once

#include "certify.h"
#include "objective.h"
#include "problem.h"

/* ---- joint bound (bounds_joint.c) ---- */

/* A joint lower bound of weighted latency, load and energy, under limits on them: one choice of devices must
 * serve all terms at once. Multipliers of the limits and prices of devices and memory pools are made good by
 * projected supergradients; any of them give a bound. docs/proofs.md, "Joint bound". */
typedef struct berth_joint {
	double latency, load, energy;                /* weights, per second, second and joule */
	double most_latency, most_load, most_energy; /* limits; INFINITY: none */
} berth_joint;

/*   ceft_s, latency_s  length of the CEFT path, and the best bound of the latency
 * Without watts the energy's weight must be 0 and its limit none. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(iterations * ops * devs), at most about 4 million steps or 40 iterations. */
berth_status berth_joint_bound(const berth_problem *p, const berth_joint *j, double ceft_s, double latency_s,
                               berth_arena *tmp, double *out, berth_err *err);

/* ---- path bound (bounds_joint.c) ---- */

/* Lower bounds along paths of the graph, where latency and energy are weighed against each other.
 *
 * For weights A, C >= 0, path(A, C) is a bound of A * latency + C * (joules beside those at rest). It is the
 * length of the CEFT recurrence with both in the cost of an operator. Limits are weighed in by multipliers.
 * docs/proofs.md, "Path bound". */

/* Bound of the weighted sum under the limits of j, with the load's bound load_s. p->has_energy holds where
 * the energy has a weight or a limit. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(edges * devs^2),
 * some 60 times where there are limits. */
berth_status berth_path_joint(const berth_problem *p, const berth_joint *j, double load_s, berth_arena *tmp,
                              double *out, berth_err *err);

/* Bound of energy * latency, from those of either. As above, 13 times. */
berth_status berth_path_edp(const berth_problem *p, double latency_s, double energy_j, berth_arena *tmp,
                            double *out, berth_err *err);

/* ---- gates (bounds_blocks.c) ---- */

/* A gate is an operator that every other one stands before or after on a path. Bounds of what is between
 * two gates, for each pair of their devices, are added up along the gates. They come from the exact search
 * (exact_search.h) without channels' order, cut after `nodes` nodes. Where more operators are between two
 * gates than it takes, they come from earliest finish times and the load dual. docs/proofs.md, "Gates".
 *
 * Then once more with the simulator's score of each schedule, contention and memory pools included, for
 * blocks that run alone: no tensor passes their gates by. Gates that one passes by are left out where the
 * larger block can still be searched.
 *
 * Of the pairs of devices only those on the shortest chain are searched, with more and more nodes: no other
 * can raise the bound.
 *
 * *lower_ns: 0 where there is no gate and the graph is too large. Blocks that look the same are searched
 * once. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(ops^2 / 64 + blocks * devs^2 * nodes). */
berth_status berth_bounds_blocks(const berth_problem *p, int64_t nodes, berth_bound_work *budget,
                                 berth_arena *tmp, int64_t *lower_ns, berth_err *err);

/* ---- a block alone (block_alone.c) ---- */

typedef struct berth_block_alone berth_block_alone;

/* Operators ops [n] of p, ascending in topological order and by index, which breaks ties on channels, with
 * the edges among them. Where `entry` is set, ops[0] is a gate after whose end the block begins. *out is NULL
 * where the compiled block has other times than p. mem keeps it; tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(n * devs + classes * devs^3). */
berth_status berth_block_alone_new(const berth_problem *p, int32_t n, const int32_t *ops, bool entry,
                                   berth_arena *mem, berth_arena *tmp, berth_block_alone **out,
                                   berth_err *err);

/* What the simulator tells from the end of the gate on, for the placement dev [n] with the topological order
 * order [n], by numbers in the block. Memory does not count. */
int64_t berth_block_alone_ns(berth_block_alone *b, const int32_t *dev, const int32_t *order);

/* ---- linear relaxation (bounds_lp.c) ---- */

enum { BERTH_BOUNDS_LP_CELLS = 16000 };

/* The least of the value of the relaxation (placement_lp.h) and `upper`, the latency up to which the model
 * holds. It weighs paths, loads of devices and channels, and memory together. The value is not taken from the
 * solver: its duals, in whole numbers, are checked exactly (certificate.h), whatever they are. Where they do
 * not prove what the solver says, budget->dropped is set. docs/proofs.md, "Linear relaxation".
 *   lower_ns  a bound known already; upper is eight times it
 *   *out_ns   0 where the model is beyond BERTH_BOUNDS_LP_CELLS edges * devs^2 or operators * devs, where
 *             solving it would take more than the work that is left, or where there is no solver
 * tmp's hook gives the memory. Fails: BERTH_ENOMEM. Some seconds at the largest; the simplex is cut after a
 * number of iterations. */
berth_status berth_bounds_lp(const berth_problem *p, int64_t lower_ns, berth_bound_work *budget,
                             berth_arena *tmp, int64_t *out_ns, berth_err *err);

/* The same for the throughput: a lower bound of the largest load of a device or channel, from one that is
 * known already. It weighs operators and transfers together, where a channel carries one at a time, under
 * what devices can hold. */
berth_status berth_bounds_load_lp(const berth_problem *p, double lower_ns, berth_bound_work *budget,
                                  berth_arena *tmp, double *out_ns, berth_err *err);

/* ---- load and memory (bounds_memory.c) ---- */

/* The load dual (bounds_load.h) with a price for each byte that an operator keeps for good on a device or in
 * a memory pool, less what the limits are worth at these prices. Any prices give a bound of the largest load,
 * and so of the latency. They are found by subgradients, rounded to whole numbers and proven by the
 * certificate's checker. docs/proofs.md, "Load and memory".
 *
 * *lower_ns: 0 where nothing has a limit, or too little work is left. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(iterations * ops * devs). */
berth_status berth_bounds_load_memory(const berth_problem *p, berth_bound_work *budget, berth_arena *tmp,
                                      int64_t *lower_ns, berth_err *err);

/* ---- path and memory (bounds_memory.c) ---- */

/* The length of the critical path of earliest finish times, when each device, and each memory pool, has a
 * price for what operators keep on it for good, less what its memory is worth at that price. Any prices give
 * a bound; they are found by subgradients. docs/proofs.md, "Memory".
 *
 * *lower_ns: 0 where nothing has a limit, or too little work is left; rounded down with a margin for sums in
 * double. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(iterations * ops * devs^2). */
berth_status berth_bounds_memory(const berth_problem *p, berth_bound_work *budget, berth_arena *tmp,
                                 int64_t *lower_ns, berth_err *err);

/* ---- peak of memory (bounds_peak.c) ---- */

/* The larger of two. What an operator needs while it starts, with all that its colocation group keeps. And
 * what stays to the end (parameters, state, what leaves the graph), spread as evenly as memories and the
 * devices that operators may stand on allow. docs/proofs.md, "Peak of memory".
 *
 * *least_bytes is exact. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(ops * devs + edges), and 2^n
 * for n memories up to 8. */
berth_status berth_bounds_peak(const berth_problem *p, berth_arena *tmp, int64_t *least_bytes,
                               berth_err *err);

/* ---- windows (bounds_windows.c) ---- */

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
