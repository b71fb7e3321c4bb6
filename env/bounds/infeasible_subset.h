/* Why no placement is feasible: a smallest set of rules that stand against each other, with a proof.
 *
 * The proof is one of: an operator is left without a device; separation and contiguity cannot hold (exact
 * search, constraints.h); a set of devices has too little memory for what must stay on it to the end, or a
 * device for what an operator needs around it; a lower bound is above a limit, also under the other limits.
 * So a conflict that needs a better proof (packing, lifetimes of many tensors) is not found. */
#ifndef BERTH_INFEASIBLE_SUBSET_H
#define BERTH_INFEASIBLE_SUBSET_H

#include "check.h"
#include "objective.h"
#include "threads.h"

/* One rule that can stand in a conflict. */
typedef struct berth_rule {
	berth_violation_kind kind; /* CANNOT_RUN and PIN of op; FORBID of op and dev; COLOCATION and
	                              SEPARATION of a group; CONTIGUITY and MEMORY of dev; LIMIT */
	int32_t op, dev, group;    /* -1: none */
	int metric;                /* -1: none */
} berth_rule;

typedef struct berth_infeasible_subset {
	bool proven;               /* no placement keeps the rules below; where false, nothing is said */
	bool smallest;  /* no conflict of fewer rules has such a proof; where false, only no part of this one
	                   has */
	bool cut_short; /* the time was over before that was known: rules may stand below that the conflict
	                   does not need */
	berth_rule *rule;          /* [n] */
	const char **message;      /* [n] what each rule asks */
	int32_t n;
	int64_t *dev_least_bytes; /* [n_devs] memory_bytes that the device needs at least for the proof to
	                             fail, the others as they are; -1: not known */
} berth_infeasible_subset;

/* Find a conflict of p under the limits of o (NULL: none), as far as patience goes (NULL: to the end); each
 * proof is looked at as a whole. The result lives in mem; tmp is scratch, another arena, reset at exit.
 * Fails: BERTH_ENOMEM. About (rules of the conflict) * log(rules) proofs, each O(ops * devs + 2^devs) and
 * what bounds cost where there are limits. */
berth_status berth_infeasible_subset_find(const berth_problem *p, const berth_objective *o,
                                          const berth_patience *until, berth_arena *mem, berth_arena *tmp,
                                          berth_infeasible_subset *out, berth_err *err);

/* The graph and system of p without one rule, in mem; strings and the other arrays are shared. Not for
 * CANNOT_RUN. Fails: BERTH_ENOMEM. */
berth_status berth_rule_drop(const berth_problem *p, const berth_rule *rule, berth_arena *mem, berth_graph *g,
                             berth_system *s, berth_err *err);

#endif
