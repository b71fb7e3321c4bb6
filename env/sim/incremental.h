/* Placements that differ little from one at hand, the base: the reference simulator, run only from the first
 * moment at which anything differs, until the rest is known to go as it did before or until it is proven
 * that the latency exceeds a limit.
 *
 * The base leaves snapshots of the simulator's state. A moved operator changes nothing before the first end
 * of one of its producers, so that the run starts from the last snapshot before that. A state that equals a
 * snapshot's but for a shift in time goes on as the base did until the next end of such a producer, or to
 * the end of the run: all that is skipped. Memory need not be followed where all that a device ever holds
 * fits it at once; else nothing is skipped. Results equal those of berth_sim_run with the system's order
 * rule, to the last bit; asserted at each run where the build says BERTH_DEBUG.
 *
 * Under the rules program and given without keys, channels in program order and cost models of their own,
 * every run is a full one. */
#ifndef BERTH_INCREMENTAL_H
#define BERTH_INCREMENTAL_H

#include "sim.h"

typedef struct berth_incremental berth_incremental;

/* Scratch of one thread, in mem. Fails: BERTH_ENOMEM. Memory: 300 bytes an operator and 32 an edge beside
 * that of a berth_sim, with more than 20,000 operators 120; where memory can be exceeded as much again for
 * each tensor and edge. */
berth_status berth_incremental_new(const berth_problem *p, berth_arena *mem, berth_incremental **out,
                                   berth_err *err);

/* From now on the placements given come with these keys [n_ops] (berth_sim_use_keys), which need not be
 * those of the base; borrowed until the next call. NULL: the system's rule, the state at the beginning. With
 * keys every rule of operators is as quick as priority. */
void berth_incremental_use_keys(berth_incremental *n, const uint32_t *op_key);

/* Make op_dev [n_ops] the base (copied) and simulate it, from a snapshot of the base before where that
 * serves. False: an operator cannot run where it sits, and there is no base then. */
bool berth_incremental_base(berth_incremental *n, const int32_t *op_dev, berth_sim_result *out);

/* Is op_dev, with the keys in use, the base? */
bool berth_incremental_is_base(const berth_incremental *n, const int32_t *op_dev);
bool berth_incremental_has_base(const berth_incremental *n); /* one that a run may go on from */

/* Simulate op_dev [n_ops]. False: the latency is above limit_ns, and nothing is set; INT64_MAX: no limit.
 * Needs a base. O(n_ops) to find what differs, then what has to be run again. */
bool berth_incremental_run(berth_incremental *n, const int32_t *op_dev, int64_t limit_ns,
                           berth_sim_result *out);

/* For tests and benches: rounds of the simulator run so far, and runs that skipped a part. */
int64_t berth_incremental_rounds(const berth_incremental *n);
int64_t berth_incremental_skipped(const berth_incremental *n);

#endif
