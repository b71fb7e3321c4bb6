/* What the exact methods share. Graphs beyond their size are grouped, and the groups' graph is solved as an
 * instance of its own. */
#pragma once

#include "lp.h"
#include "search.h"

typedef berth_status (*berth_exact_fn)(berth_search *s, berth_arena *tmp, berth_err *err);

/* Run solve on the search where the problem has at most most_ops operators. Else group them to `groups`
 * (heavy-edge, balanced by mean time), solve the groups' graph in a search of its own, and offer its
 * placement, under the system's rule and in the order of the groups. Nothing is proven then for the graph
 * itself, and the groups' evaluations are not counted; s->groups tells how many there were.
 *
 * solve sets proof, bound and nodes of the search that it is given. The portfolio is offered first in any
 * case. Fails: BERTH_ENOMEM, and as solve does. */
berth_status berth_exact_or_grouped(berth_search *s, int32_t most_ops, int32_t groups, berth_exact_fn solve,
                                    berth_arena *tmp, berth_err *err);

/* The second half of that alone: group to most_ops, solve the groups' graph, offer its placement. Nothing is
 * offered where groups cannot be had (their operators share no device, colocation makes them cyclic). Fails:
 * BERTH_ENOMEM, and as solve does. */
berth_status berth_exact_grouped(berth_search *s, int32_t most_ops, berth_exact_fn solve, berth_arena *tmp,
                                 berth_err *err);

/* BERTH_EUNSUPPORTED, naming the method, unless the objective is latency alone, without limits. */
berth_status berth_exact_needs_latency(const berth_search *s, const char *method, berth_err *err);

/* A start for exact search: the portfolio, then a short local search. */
berth_status berth_exact_incumbent(berth_search *s, berth_arena *tmp, berth_err *err);

/* Latency of the placement that the search's first evaluator scored last, in ns. */
int64_t berth_exact_last_ns(const berth_search *s);

/* Offer a placement under the system's rule, and under the order too where that is topological. tmp is
 * scratch, reset at exit. */
void berth_exact_offer(berth_search *s, const int32_t *op_dev, const int32_t *order, berth_arena *tmp);

/* Write a model as free MPS. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_exact_write_model(const char *path, const berth_lp *lp, berth_arena *tmp, berth_err *err);
