/* Inside the PBQP solver: the graph that the reductions consume, and the steps on it. Private to
 * base/pbqp*.c. */
#pragma once

#include "pbqp.h"

/* Half-edge h = 2e leaves the edge's first end, h = 2e+1 its second; h ^ 1 is the way back. */
typedef struct pbqp_half {
	int32_t to, next, prev; /* neighbours in the list of the node that it leaves; -1: none */
} pbqp_half;

typedef struct pbqp_edge {
	int64_t *cost; /* [k_first][k_second] */
	bool live;     /* listed at both ends */
	/* the matrix may be written to: an extract has those of the outer problem until it changes them */
	bool own;
} pbqp_edge;

/* A PBQP under reduction. Taken nodes keep their list, so that a choice can be propagated to them; their
 * neighbours forget them. */
typedef struct pbqp_work {
	berth_arena *mem;
	int32_t n_nodes, n_edges, max_alts;
	size_t cap_edge;
	int64_t base;          /* cost that every assignment pays */
	int32_t *n_alts;       /* [n_nodes] */
	int32_t *cost_off;     /* [n_nodes+1] into cost */
	int64_t *cost;         /* node costs; INF: alternative forbidden */
	int32_t *first, *degree;
	bool *alive;           /* [n_nodes] not taken */
	pbqp_half *half;       /* [2 * n_edges] */
	pbqp_edge *edge;       /* [n_edges] */

	/* where the nodes came from (pbqp_work_extract) */
	int32_t n_outer;       /* nodes of the outer problem */
	int32_t *outer_node;   /* [n_nodes] */
	int32_t *outer_alt;    /* [cost_off] */
	/* [cost_off] the alternative in the problem that the caller stated; NULL: this one is it */
	int32_t *label;
	int32_t *outer_fixed;  /* [n_outer] the only alternative kept, or -1 */
} pbqp_work;

/* A matrix, seen from one end. */
typedef struct pbqp_view {
	int64_t *c;
	int32_t row, col;
} pbqp_view;

static inline int64_t pbqp_add(int64_t a, int64_t b)
{
	int64_t sum = a + b;
	return sum < BERTH_PBQP_INF ? sum : BERTH_PBQP_INF;
}

static inline pbqp_view pbqp_view_of(const pbqp_work *w, int32_t h)
{
	int32_t n = w->n_alts[w->half[h ^ 1].to], m = w->n_alts[w->half[h].to];
	return h & 1 ? (pbqp_view){w->edge[h >> 1].cost, 1, n} : (pbqp_view){w->edge[h >> 1].cost, m, 1};
}

static inline int64_t *pbqp_at(pbqp_view x, int32_t i, int32_t j)
{
	return x.c + (ptrdiff_t)i * x.row + (ptrdiff_t)j * x.col;
}

/* Index of the least of cost[n], ties to the lowest. */
int32_t pbqp_argmin(const int64_t *cost, int32_t n);

/* ---- pbqp_work.c: the graph ---- */

/* Half-edge from u to v, or -1. O(smaller degree). */
int32_t pbqp_work_find(const pbqp_work *w, int32_t u, int32_t v);
/* Append an edge with a matrix of its own that the caller gives; room for it must be there. Returns the
 * half-edge from u. */
int32_t pbqp_work_link(pbqp_work *w, int32_t u, int32_t v, int64_t *cost);
/* Take half-edge h out of the list of the node that it leaves. */
void pbqp_work_unlink(pbqp_work *w, int32_t h);
/* Cost of x[n_nodes] on a work without taken nodes. */
int64_t pbqp_work_cost(const pbqp_work *w, const int32_t *x);

/* Before a matrix is written to: where it is not the edge's own it is copied. Fails: BERTH_ENOMEM. */
berth_status pbqp_work_own(pbqp_work *w, int32_t e, berth_err *err);

/* Edge normalisation towards the node v that h leaves: the least cost of each row over the other end's
 * allowed alternatives moves into v's costs. *forbidden: an alternative of v became that. Fails:
 * BERTH_ENOMEM. */
berth_status pbqp_work_pull(pbqp_work *w, int32_t h, bool *forbidden, berth_err *err);

/* Those alive in w, with the alternatives that are not forbidden and, if keep is not NULL, marked in
 * keep[cost_off]. A node with one alternative left is folded into its neighbours. One with none makes the
 * base INF; then out has no nodes. Memory from mem. Matrices that lose no alternative are those of w until
 * out changes them: w must stay as it is as long as out is there. */
berth_status pbqp_work_extract(const pbqp_work *w, const bool *keep, berth_arena *mem, pbqp_work *out,
                               berth_err *err);
/* Write the choice x of an extract into x_outer, at its nodes only. */
void pbqp_work_lift(const pbqp_work *w, const int32_t *x, int32_t *x_outer);

/* ---- pbqp_reduce.c ---- */

/* How many nodes each reduction took. */
typedef struct pbqp_counts {
	int32_t n_r0, n_r1, n_r2, n_rn;
} pbqp_counts;

typedef enum pbqp_rn { PBQP_RN_EARLY, PBQP_RN_LATE, PBQP_RN_KEEP } pbqp_rn;

typedef struct pbqp_reducer {
	pbqp_work *w;
	int32_t *order, n_order;      /* nodes taken, first first */
	int32_t *choice;              /* [n_nodes] RN's choice, -1: made in propagation */
	int32_t *low[3], n_low[3];    /* nodes last seen with that degree */
	unsigned char *bucket;        /* [n_nodes] the list that a node was last put on; 3: none */
	int32_t *edge_stack, n_stack; /* edges to normalise */
	bool *edge_queued;
	/* RN: lists of nodes by degree, the highest that may have one; -1: not built yet */
	int32_t *head, *next, top;
	const int32_t *sequence;      /* RN takes nodes in this order [n_nodes] instead, if not NULL */
	int32_t at_sequence;
	bool normalise;
	int64_t *scratch;             /* 3 * max_alts^2 + max_alts */
	pbqp_counts n_taken;
} pbqp_reducer;

/* A reducer of w (whose nodes are all alive and which has room for n_nodes edges more). Memory from w->mem.
 */
berth_status pbqp_reducer_new(pbqp_work *w, bool normalise, pbqp_reducer *r, berth_err *err);
/* Normalise, R0, RI, RII until only nodes of degree three or more are left. */
berth_status pbqp_reduce_exact(pbqp_reducer *r, berth_err *err);
/* The same with RN until nothing is left; KEEP fixes RN's nodes to their choice in keep[n_nodes] and
 * optimises the rest. */
berth_status pbqp_reduce_all(pbqp_reducer *r, pbqp_rn rn, const int32_t *keep, berth_err *err);
/* Choose for all nodes taken, last first; x[n_nodes] holds the choices of the others. */
void pbqp_propagate(const pbqp_reducer *r, int32_t *x);
/* look[i] = cost of alternative i of v + sum over neighbours of the least cost that they can then have. */
void pbqp_look_ahead(const pbqp_work *w, int32_t v, int64_t *look);

/* ---- pbqp_exact.c: bounds ---- */

/* Raise w->base by moving costs between nodes and edges without changing the problem, for at most n_sweeps
 * there and back. Nodes taken are left alone. Fails: BERTH_ENOMEM. */
berth_status pbqp_raise_bound(pbqp_work *w, int32_t n_sweeps, berth_err *err);
/* The base and the least cost of each node that is not taken: no assignment costs less. */
int64_t pbqp_lower_bound(const pbqp_work *w);

/* ---- pbqp_improve.c ---- */

/* Answer a work without taken nodes by one RN order; x [n_nodes] out, counts may be NULL. Scratch from
 * w->mem. */
berth_status pbqp_solve_rn(const pbqp_work *w, pbqp_rn rn, int32_t *x, pbqp_counts *counts, berth_err *err);
/* Answer by both orders of RN, fused. Scratch from w->mem. */
berth_status pbqp_solve_both(const pbqp_work *w, int32_t *x, int64_t *cost, pbqp_counts *counts,
                             berth_err *err);

/* The same, then improve. Costs of w are moved, not changed, by pbqp_raise_bound. Scratch from
 * w->mem. */
berth_status pbqp_solve_best(pbqp_work *w, int32_t *x, int64_t *cost, pbqp_counts *counts, berth_err *err);

/* ---- pbqp_exact.c ---- */

/* Improve x of *cost on a work without taken nodes until that is proven best or *nodes reaches node_limit
 * (<= 0: none). *complete: no limit was met, *cost is the least there is. Scratch from w->mem. */
berth_status pbqp_branch_and_bound(const pbqp_work *w, int64_t node_limit, int32_t *x, int64_t *cost,
                                   int64_t *nodes, bool *complete, berth_err *err);
