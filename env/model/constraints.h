/* The rules that a placement must keep, in one place.
 *   pin, forbid     Of one operator and one device.
 *   colocate        Operators of one group stand on one device.
 *   separate        Operators of one group stand on different devices.
 *   contiguous      A device's operators are one piece: no path of the graph leaves the device and comes
 *                   back to it.
 *   max_cuts        Of the borders between blocks that follow each other, at most so many lie between
 *                   different devices.
 *   memory_bytes    Of a device, less its margin: dev_limit_bytes of the problem. What is held is the
 *                   simulator's to tell.
 *
 * Pins, forbidden devices and colocation are folded into op_dev_legal and colocation groups. A method keeps
 * them by moving colocation groups among legal devices. Separation, contiguity and cuts join colocation
 * groups. They are counted by a score (berth_eval), so that searches prefer placements that keep them. Where
 * a method's answer breaks them, it is mended. */
#pragma once

#include "graph.h"
#include "problem_tables.h"
#include "system.h"
#include "text.h"

/* Fill the parts of a problem that stand for rules: colocation groups, op_dev_legal, separation groups,
 * dev_limit_bytes. g, s and op_dev_time_ns are set. tmp is scratch, not reset.
 * Fails: BERTH_EFORMAT (a pin to a device that the system lacks), BERTH_ENOMEM. */
berth_status berth_constraints_compile(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err);

/* Fill op_dev_legal of dev once more, after its times have changed. O(ops). */
void berth_constraints_legal(berth_problem *p, int32_t dev);

/* Do pin and forbidden devices of op itself allow dev, and can it run there? */
bool berth_op_allows(const berth_problem *p, int32_t op, int32_t dev);

/* Is dev one of the devices forbidden to op? */
bool berth_op_forbids(const berth_problem *p, int32_t op, int32_t dev);

/* Scratch words that the functions below need. */
size_t berth_constraints_scratch(const berth_problem *p);

/* How often op_dev breaks separation and contiguity; 0: both are kept. Separation is broken by each operator
 * beyond the first of its group on a device, contiguity by each operator at which a path re-enters its
 * device. scratch [berth_constraints_scratch]. O(ops + edges) where p->coupled, else 0 at once. */
int64_t berth_groups_broken(const berth_problem *p, const int32_t *op_dev, uint64_t *scratch);

/* The same with each cut above the limit. */
int64_t berth_constraints_broken(const berth_problem *p, const int32_t *op_dev, uint64_t *scratch);

/* The operators that break contiguity: breaks [n_ops] is set to 1 or 0. As above. */
void berth_constraints_reentries(const berth_problem *p, const int32_t *op_dev, uint8_t *breaks,
                                 uint64_t *scratch);

/* The names of the rules that join groups in p, for messages: "separation and contiguity". */
const char *berth_constraints_joining(const berth_problem *p);

/* ---- cuts: borders between neighbours of the chain that lie on different devices ---- */

/* The operators of p in the order of the chain: order [n_ops]; chain [n_ops]: where each stands in it. Fails:
 * BERTH_ENOMEM. */
berth_status berth_cuts_operators(const berth_problem *p, int32_t *order, int32_t *op_chain, berth_arena *tmp,
                                  berth_err *err);

/* Cuts of op_dev [n_ops]; 0 without a limit. O(chain). */
int64_t berth_cuts(const berth_problem *p, const int32_t *op_dev);

/* How many there are above the limit; 0 without one. */
int64_t berth_cuts_above(const berth_problem *p, const int32_t *op_dev);

/* Cuts that no placement of legal devices has fewer of; -1 without a limit. It is exact where every group
 * comes once. O(chain * devs). */
int64_t berth_cuts_least(const berth_problem *p);

/* ---- contiguity, found in one pass over the operators ---- */

/* A piece is the forward, or the backward, operators of a contiguous device. A path must not leave a piece
 * and come back to it. */

/* Of each operator, a bit for each piece. met: the operator, or one that leads to it, is in the piece. left:
 * a path to it has left the piece. Backwards the same over what it leads to. The last row is scratch. */
typedef struct contiguity {
	const berth_problem *p;
	size_t words;
	bool backwards;
	uint64_t *met, *left; /* [n_ops + 1][words] */
} contiguity;

/* Words of one row. */
size_t contiguity_words(const berth_problem *p);

/* Rows in scratch [2 * contiguity_words * (n_ops + 1)]. Operators then arrive and settle in topological
 * order; backwards: in the reverse of it. */
contiguity contiguity_new(const berth_problem *p, bool backwards, uint64_t *scratch);

/* Bring op's row to what leads to it, without op itself. The neighbours that lead to it are done. */
void contiguity_arrive(const contiguity *t, int32_t op);

/* Would op, which has arrived, re-enter its piece on dev? -1: no device, and no. */
bool contiguity_reenters(const contiguity *t, int32_t op, int32_t dev);

/* Count op itself, which has arrived, on dev. -1: not decided; it counts as whatever does no harm. */
void contiguity_settle(const contiguity *t, int32_t op, int32_t dev);

/* How many operators of op_dev [n_ops] re-enter their piece. Devices may be -1. breaks [n_ops] is set to 1 or
 * 0 for each; NULL: not asked for. O((ops + edges) * words). */
int64_t contiguity_broken(const berth_problem *p, const int32_t *op_dev, uint8_t *breaks, uint64_t *scratch);

/* ---- rules kept (constraints_mend.c) ---- */

/* Is it proven, by exact search within a bounded number of steps, that no placement keeps separation and
 * contiguity together with the other rules? Memory is not looked at. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_constraints_prove(const berth_problem *p, berth_arena *tmp, bool *infeasible,
                                     berth_err *err);

/* Mend separation and contiguity of a placement that keeps the other rules. Separated colocation groups come
 * first. Then, in topological order, each group stays where it is wanted, unless its device was left on a
 * path to it. Else it goes to a device that no path to it has left: that of a producer if possible, or the
 * fastest.
 *   op_dev   [n_ops] in and out; groups stay together and on legal devices
 *   kept     do all rules hold now?
 *   tmp      scratch
 * Fails: BERTH_ENOMEM. Passes of O((ops + edges) * devs / 64), then an exact search within a bounded number
 * of steps. */
berth_status berth_constraints_mend(const berth_problem *p, int32_t *op_dev, bool *kept, berth_arena *tmp,
                                    berth_err *err);

/* Rules added to a graph beside those of its file: pins, forbidden devices, colocation. */
/* OPS is the name of an operator, or a pattern as fnmatch(3) knows them, where * stands for any text:
 * "layer1.*". Several stand with commas between. An operator of just that name goes before a pattern. */
typedef struct berth_rule_texts {
	const char **pin;      /* [n_pins] "OPS=DEVICE": they stand on that device */
	const char **forbid;   /* [n_forbids] "OPS=DEVICE": they stand anywhere else */
	const char **colocate; /* [n_colocates] "OPS": they share one device */
	int32_t n_pins, n_forbids, n_colocates;
	/* NULL, or where a line goes for each pin that gives way: of two that name an operator the narrower
	 * one holds, which names fewer operators, else the later one. Pins of the graph are the first. */
	berth_strbuf *told;
} berth_rule_texts;

/* Add rules to g, for s. Operators that shared a device with one that is colocated go with it. Names, edges
 * and all else are shared with the graph as it was, which g->plain keeps. Rules that contradict each other
 * otherwise make the problem infeasible; its explanation tells.
 *   rules, s  are to outlive g
 *   mem   holds what changes; another arena than tmp, which is scratch, reset at exit
 * Fails: BERTH_EINVAL (a text of another form; a pattern that no operator has, or a device that s lacks,
 * naming the nearest; fewer than two operators to colocate), BERTH_ENOMEM.
 * g is untouched then. O(texts * ops). */
berth_status berth_graph_add_rules(const berth_rule_texts *rules, const berth_system *s, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *g, berth_err *err);
