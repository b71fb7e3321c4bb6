/* The rules that a placement must keep, in one place.
 *   pin, forbid     Of one operator and one device.
 *   colocate        Operators of one group stand on one device.
 *   separate        Operators of one group stand on different devices.
 *   contiguous      A device's operators are one piece: no path of the graph leaves the device and comes
 *                   back to it.
 *   max_cuts        Of the borders between blocks that follow each other, at most so many lie between
 *                   different devices (cuts.h).
 *   memory_bytes    Of a device, less its margin: dev_limit_bytes of the problem. What is held is the
 *                   simulator's to tell.
 *
 * Pins, forbidden devices and colocation are folded into op_dev_legal and colocation groups. A method keeps
 * them by moving colocation groups among legal devices. Separation, contiguity and cuts join colocation
 * groups. They are counted by a score (berth_eval), so that searches prefer placements that keep them. Where
 * a method's answer breaks them, it is mended (constraints_mend.h). */
#ifndef BERTH_CONSTRAINTS_H
#define BERTH_CONSTRAINTS_H

#include "problem_tables.h"

/* Fill the parts of a problem that stand for rules: colocation groups, op_dev_legal, separation groups,
 * dev_limit_bytes. g, s and op_dev_time_ns are set. tmp is scratch, not reset.
 * Fails: BERTH_EFORMAT (a pin to a device that the system lacks), BERTH_ENOMEM. */
berth_status berth_constraints_compile(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err);

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

#endif
