/* What the policy sees: a problem, coarsened, as arrays of features of order 1. Times are measured in units
 * of the mean time of a group, so that the encoding does not change when everything gets faster. */
#pragma once

#include "coarsen.h"
#include "objective.h"
#include "policy.h"
#include "problem.h"

enum {
	ENCODE_NODE = 31,
	ENCODE_EDGE = 4,
	ENCODE_DEV = 11,
	ENCODE_PAIR = 9,
	ENCODE_LINK = 4,
	ENCODE_STEP = 40
};

/* What an objective asks for: how time, loads and energy count in it. Latency: time 1. Throughput: load 1.
 * Energy: energy 1. Energy-delay product: time and energy 1. Sums: the means of their terms. */
typedef struct berth_aim {
	double time, load, energy;
} berth_aim;

berth_aim berth_aim_of(const berth_objective *o);

typedef struct berth_encoding {
	const berth_problem *p;
	berth_aim aim;
	berth_coarsening co;
	int32_t n_groups, n_devs;
	/* Groups are the nodes. A device is legal for a group if it is for one of its colocation groups. */
	policy_input in;
	/* [n_ops] the fastest legal device. An operator goes there where it cannot go with its group. */
	int32_t *op_fallback;
	int64_t path_ns; /* critical path of CEFT */
} berth_encoding;

/* Encode p, to be placed with this aim, in about n_groups groups (see coarsen.h). Bytes of a group are capped
 * by half of the smallest memory. hints: one feature of each (group, device) pair is the share of the group
 * that HEFT puts there. It also tells equal devices apart. Without hints it is 0. Every operator needs a
 * legal device (berth_problem_feasible). Lives in mem; tmp is scratch, reset at exit. Fails: BERTH_EINVAL,
 * BERTH_ENOMEM. O(edges * devs^2 + groups * devs). */
berth_status berth_encode(const berth_problem *p, berth_aim aim, int32_t n_groups, bool hints,
                          berth_arena *mem, berth_arena *tmp, berth_encoding *out, berth_err *err);

/* Dimensions of a policy for these features. */
policy_dims berth_encode_dims(int32_t hidden, int32_t rounds);

/* The fastest legal device of every operator's colocation group, so that colocated operators agree: op_dev
 * [n_ops] out. */
void berth_fallbacks(const berth_problem *p, int32_t *op_dev);

/* Groups' devices to operators' devices: each operator goes with its group, or to its fallback where that is
 * not legal. */
void berth_encoding_project(const berth_encoding *e, const int32_t *group_dev, int32_t *op_dev);

/* The other way: each group's device is the legal one where most of its time is spent. Ties go to the lower
 * device. scratch: [n_groups][n_devs]. */
void berth_encoding_lift(const berth_encoding *e, const int32_t *op_dev, int32_t *group_dev,
                         int64_t *scratch);

/* threshold [n_groups][n_devs]: where in [0, 1) a draw from logp [n_groups][n_devs] passes on from each
 * device to the next. */
void berth_encoding_thresholds(const berth_encoding *e, const nn_real *logp, double *threshold);

/* Draw a device for every group. One random number a group. */
void berth_encoding_draw(const berth_encoding *e, const double *threshold, berth_rng *rng,
                         int32_t *group_dev);

/* drawn_logp[n_groups] = logp[n_groups][n_devs] of the devices that were drawn. */
void berth_encoding_pick(const berth_encoding *e, const nn_real *logp, const int32_t *group_dev,
                         nn_real *drawn_logp);
