/* Placements that differ little from one at hand, the base. The reference simulator runs only from the first
 * moment at which anything differs. It stops when the rest is known to go as it did before, or when it is
 * proven that the latency exceeds a limit. Results equal those of berth_sim_run to the last bit, which is
 * asserted at each run where the build says BERTH_DEBUG.
 *
 * The base leaves snapshots of the simulator's state. A moved operator changes nothing before the first end
 * of one of its producers, so the run starts from the last snapshot before that. A state that equals a
 * snapshot's but for a shift in time goes on as the base did, until the next end of such a producer or to the
 * end of the run. All that is skipped. Where all that a device ever holds does not fit it at once, memory is
 * followed: that of what is skipped is the base's and what the devices hold more meanwhile. So nothing is
 * skipped then before all that moved operators made is used up, nor while a part of what they wait for is
 * made.
 *
 * Every run is a full one under the rules program and given without keys, with channels in program order, and
 * under cost models without orders. */
#pragma once

#include "sim.h"

typedef struct berth_incremental berth_incremental;

/* Scratch of one thread, in mem. Fails: BERTH_ENOMEM. Beside that of a berth_sim it takes 310 bytes an
 * operator and 32 an edge; with more than 20,000 operators, 120 an operator. Where memory can be exceeded,
 * each tensor and edge takes as much again. */
berth_status berth_incremental_new(const berth_problem *p, berth_arena *mem, berth_incremental **out,
                                   berth_err *err);

/* How a base ran. */
typedef struct berth_base_log {
	int64_t serial;         /* another one for each base */
	const int32_t *op_dev;  /* [n_ops] */
	const uint32_t *op_key; /* [n_ops]; NULL: the system's rule */
	const int64_t *start_ns, *end_ns; /* [n_ops] */
	/* [n_ends] operators, and hops as ~index, as they ended: what waits for another comes behind it */
	const int32_t *ends;
	int32_t n_ends;
	const berth_sim_hop *hops;
	int64_t latency_ns;
} berth_base_log;

/* From the next base on, log how it runs, in mem. Later calls do nothing. Fails: BERTH_ENOMEM. 4 bytes an
 * operator, and 44 for each hop that a tensor can make. */
berth_status berth_incremental_want_log(berth_incremental *n, berth_arena *mem, berth_err *err);

/* The log of the present base, which is n's; NULL where there is none. */
const berth_base_log *berth_incremental_log(const berth_incremental *n);

/* From now on the placements given come with these keys [n_ops] (berth_sim_use_keys). They need not be those
 * of the base. They are borrowed until the next call. NULL: the system's rule, as at the beginning. With keys
 * every rule of operators is as quick as priority. */
void berth_incremental_use_keys(berth_incremental *n, const uint32_t *op_key);

/* Make op_dev [n_ops] the base and simulate it, from a snapshot of the base before where that serves. It is
 * copied. False: an operator cannot run where it sits, and there is no base then. */
bool berth_incremental_base(berth_incremental *n, const int32_t *op_dev, berth_sim_result *out);

/* Is op_dev, with the keys in use, the base? */
bool berth_incremental_is_base(const berth_incremental *n, const int32_t *op_dev);

/* Is there a base that a run may go on from? */
bool berth_incremental_has_base(const berth_incremental *n);

/* Simulate op_dev [n_ops]. Needs a base. False: the latency is above limit_ns, and nothing is set. INT64_MAX:
 * no limit. O(n_ops) to find what differs, then what has to be run again. */
bool berth_incremental_run(berth_incremental *n, const int32_t *op_dev, int64_t limit_ns,
                           berth_sim_result *out);

/* For tests and benches: rounds of the simulator run so far, and runs that skipped a part. */
int64_t berth_incremental_rounds(const berth_incremental *n);
int64_t berth_incremental_skipped(const berth_incremental *n);
