/* Devices of one slot as machines: what stands there has to be done one after the other. Conclusions from
 * that for schedules that are shorter than a claim, for those who check certificates and those who look for
 * them. It is edge finding with heads and tails (J. Carlier, E. Pinson, "An algorithm for solving the
 * job-shop problem", Management Science 35, 1989; P. Baptiste, C. Le Pape, W. Nuijten, "Constraint-based
 * scheduling", 2001, chapter 2), with several devices for an operator and transfers between them.
 * docs/proofs.md, "Machines". */
#pragma once

#include "problem.h"

typedef struct berth_machine_job {
	int64_t head, time, tail; /* least start, time, least time from its end to the end of the run */
	int32_t op;
	bool fixed; /* it stands here; else it may */
} berth_machine_job;

typedef struct berth_machines {
	const berth_problem *p;
	int64_t *head, *tail;    /* [n_ops][n_devs] as in a job; heads of INT64_MAX / 4: not there */
	berth_machine_job *job;  /* [n_ops] of the machine at hand */
	int64_t claim_ns, steps; /* steps of all runs so far, a nanosecond each, about */
	int64_t most_steps;      /* no round begins behind them, and nothing is proven then */
	bool changed, none;      /* in this round; no schedule is left */
} berth_machines;

/* Has some device of one slot two operators that stand nowhere else? Nothing comes of machines elsewhere. */
bool berth_machines_work(const berth_problem *p);

/* In mem. Fails: BERTH_ENOMEM. 16 bytes for each operator and device, 40 an operator. */
berth_status berth_machines_new(const berth_problem *p, berth_arena *mem, berth_machines *out,
                                berth_err *err);

/* Is no placement and order left whose latency is below claim_ns? O(rounds * (edges * devs^2 + jobs^3)); some
 * ten rounds, with machines of many jobs left out of what takes the cube. */
bool berth_machines_full(berth_machines *m, int64_t claim_ns);

/* The largest number that divides all times that a latency is a sum of, at least 1. docs/proofs.md, "Common
 * divisor". O(ops * devs + classes * links). */
int64_t berth_common_divisor_ns(const berth_problem *p);

/* A bound of the latency, rounded up to a multiple of it. */
int64_t berth_round_up_ns(const berth_problem *p, int64_t bound_ns);
