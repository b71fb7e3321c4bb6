/* Several copies of a graph on one machine at the same time, for throughput: data parallel where each copy
 * stands on a device of its own, model parallel where they share devices, or both. After Ghannane,
 * Abdelfattah (DiviML, arXiv 2308.00127). Each copy holds weights of its own. */
#pragma once

#include "graph_union.h"
#include "solve.h"

enum { BERTH_MOST_REPLICAS = 64 };

typedef struct berth_replicas {
	int32_t n;     /* copies; 0: no number of copies has a placement */
	berth_graph g; /* all of them; of none, the least number that was asked for */
	berth_graph_parts parts;
	double sample_s;         /* the largest load / copies */
	const int32_t *op_dev;   /* [g.n_ops] the placement that was found */
	const int32_t *op_order; /* [g.n_ops] the order that it runs in; NULL: that of the system */
	int64_t evaluations;     /* over all numbers of copies */
	bool interrupted;        /* not all numbers were tried; this is the best so far */
} berth_replicas;

/* The number of copies from least to most with the least seconds a sample, each number by a search with all
 * of cfg's budget. A search starts from the better of two: each copy whole on the device that is done with it
 * first beside the copies it has, or each as a search placed the graph alone. cfg's objective is the
 * throughput. A time of cfg is that of all searches together, in proportion to the copies; numbers about that
 * of the devices are tried first, and one that would take longer than what is left is not tried. Where cfg's
 * cancel is set no further number is tried but the first one, where there is no answer yet. g and s are
 * borrowed, mem holds the result. tmp is scratch, another arena, reset at exit.
 * Fails: BERTH_EINVAL, BERTH_EFORMAT (sums beyond what a graph holds), BERTH_EINTERRUPTED (before there was
 * an answer), BERTH_ENOMEM. */
berth_status berth_replicas_choose(const berth_graph *g, const berth_system *s, int32_t least, int32_t most,
                                   const berth_method *method, const berth_search_cfg *cfg, berth_arena *mem,
                                   berth_arena *tmp, berth_replicas *out, berth_err *err);

/* Copies that are tried where nobody says how many: twice the devices, and no more than so many operators in
 * all. */
int32_t berth_replicas_most(const berth_graph *g, const berth_system *s);
