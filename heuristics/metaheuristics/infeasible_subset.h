/* Why no placement is feasible: an infeasible subset of the rules, as small as can be, with a proof.
 *
 * The proof is one of four. An operator is left without a device. Separation and contiguity cannot hold, by
 * exact search (constraints.h). Memory is short: a set of devices has too little for what must stay on it to
 * the end, or a device has too little for what an operator needs around it. A lower bound is above a limit,
 * also under the other limits.
 * A subset that needs a better proof, of packing or of the lifetimes of many tensors, is not found. */
#pragma once

#include "check.h"
#include "objective.h"
#include "threads.h"

/* One rule of a problem. */
typedef struct berth_rule {
	/* CANNOT_RUN and PIN of op; FORBID of op and dev; COLOCATION and SEPARATION of a group; CONTIGUITY
	 * and MEMORY of dev; POOL of a memory pool; CUTS; LIMIT of a metric. */
	berth_violation_kind kind;
	int32_t op, dev, group; /* -1: none */
	int metric;             /* -1: none */
	int32_t pool;           /* -1: none */
} berth_rule;

typedef struct berth_infeasible_subset {
	bool proven; /* no placement keeps the rules below; where false, nothing is said */
	/* No subset of fewer rules has such a proof; where false, only no part of this one has. */
	bool smallest;
	/* The time was over before that was known: rules may stand below that the proof does not need. */
	bool cut_short;
	berth_rule *rule;     /* [n] */
	const char **message; /* [n] what each rule asks */
	int32_t n;
	/* [n_devs + n_pools] bytes that the device, or behind these the memory pool, needs at least for the
	 * proof to fail, the others as they are; -1: not known. */
	int64_t *least_bytes;
} berth_infeasible_subset;

/* Find an infeasible subset of the rules of p and of the limits of o (NULL: none). It goes as far as patience
 * does (NULL: to the end); each proof is looked at as a whole. The result lives in mem; tmp is scratch,
 * another arena, reset at exit. Fails: BERTH_ENOMEM. About (rules of the subset) * log(rules) proofs. Each is
 * O(ops * devs + 2^devs), and what bounds cost where there are limits. */
berth_status berth_infeasible_subset_find(const berth_problem *p, const berth_objective *o,
                                          const berth_patience *until, berth_arena *mem, berth_arena *tmp,
                                          berth_infeasible_subset *out, berth_err *err);

/* The graph and system of p without one rule, in mem; strings and the other arrays are shared. Not for
 * CANNOT_RUN. Fails: BERTH_ENOMEM. */
berth_status berth_rule_drop(const berth_problem *p, const berth_rule *rule, berth_arena *mem, berth_graph *g,
                             berth_system *s, berth_err *err);
