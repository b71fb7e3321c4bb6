/* Samples that follow one another through the machine: a schedule that reaches the throughput of a placement,
 * and the memory that it needs.
 *
 * Every period one sample more begins, and all go the same way. Each device does its operators once a
 * period, one after another, as many at once as it has slots; each channel its hops. An operator starts at
 * its turn in the first period in which its inputs are there. docs/execution-model.md, "Samples in flight".
 */
#pragma once

#include "timeline.h"

typedef struct berth_pipeline {
	int64_t period_ns;  /* the largest load, rounded up; 0: samples take no time, nothing below is set */
	int64_t latency_ns; /* from the beginning of a sample to its end */
	int64_t in_flight;  /* samples that have begun and not ended, at most */
	const int64_t *start_ns, *end_ns; /* [n_ops] of a sample that begins at 0 */
	berth_sim_hop *hops;              /* [n_hops] of it */
	size_t n_hops;
	const int64_t *peak_bytes; /* [n_devs] of all samples in flight */
	bool fits;                 /* no peak is above what its device may hold */
} berth_pipeline;

/* Is there such a schedule? Not under other cost models, nor where devices share the bandwidth of a memory
 * pool. */
bool berth_pipeline_defined(const berth_problem *p);

/* The schedule of a placement that was simulated and runs: operators and hops take their turns in the order
 * in which t starts the operators. All of it lives in mem; tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O((ops + hops) log). */
berth_status berth_pipeline_new(const berth_problem *p, const berth_timeline *t, berth_arena *mem,
                                berth_arena *tmp, berth_pipeline *out, berth_err *err);
