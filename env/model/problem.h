/* A graph on a system, compiled: operator times, legal devices, routes, ranks. Read-only after
 * berth_problem_new, so that any number of threads can evaluate placements of it.
 *
 * Durations follow the execution model: computed in double, rounded once to whole nanoseconds. Tensors of
 * equal size and equal cut form a byte class; hop and route times are tables over (class, link) and (class,
 * source, destination). */
#ifndef BERTH_PROBLEM_H
#define BERTH_PROBLEM_H

#include "graph.h"
#include "system.h"

typedef struct berth_problem {
	const berth_graph *g;
	const berth_system *s;
	int32_t n_ops, n_devs;

	int64_t *op_dev_time_ns;  /* [n_ops][n_devs]; -1: cannot run there */
	uint8_t *op_dev_legal; /* [n_ops][n_devs] 1: can run there, nor does a pin, a forbidden device or the
	                          colocation group stand against it */
	int64_t *op_mean_ns;   /* [n_ops] floor of the mean over the devices that can run it; 0 where none can
	                        */

	/* colocation groups: operators that must share a device (colocation groups; every other operator is
	 * its own), by lowest member */
	int32_t n_colocs;
	int32_t *op_coloc;         /* [n_ops] */
	int32_t *coloc_off;        /* [n_colocs+1] into coloc_op, ascending */
	int32_t *coloc_op;

	/* the rules of constraints.h that join colocation groups */
	bool coupled;             /* there are separation groups or contiguous devices */
	bool rules_conflict;      /* proven: no placement keeps them all, memory aside */
	int32_t n_pieces;         /* contiguous devices */
	int32_t *dev_piece;       /* [n_devs] 0 .. n_pieces-1; -1: need not be contiguous */

	int64_t *dev_limit_bytes; /* [n_devs] memory less its margin; -1: unlimited */

	/* byte classes */
	int32_t n_classes;
	int64_t *class_bytes; /* [n_classes] as tensors first leave their producers in topological order */
	double *class_cut_s;      /* [n_classes] what each hop takes beside */
	int32_t *tensor_class;    /* [n_tensors] */
	int64_t *class_mean_ns;   /* [n_classes] floor of the mean routed time over ordered pairs of different
	                             devices; 0 with one device */
	int64_t *class_link_ns;   /* [n_classes][n_links] one hop */
	int64_t *class_pair_ns;   /* [n_classes][n_devs][n_devs] routed, without contention; 0 on the diagonal
	                           */
	/* routes: route of (class, from, to) is links route_link[route_off[r]] .. of r =
	 * class_pair_route[...]; pairs on the diagonal have none (-1) */
	int32_t *class_pair_route;
	int32_t *route_off, *route_link;
	int32_t n_routes;

	int64_t *op_rank_ns;      /* [n_ops] upward rank of the execution model */
	int32_t *prio_op; /* [n_ops] operators by the priority rule: largest rank first, ties by topological
	                     index */
	int32_t *op_prio;         /* [n_ops] its inverse */

	int32_t *edge_in_pos; /* [n_edges] place of the edge among its consumer's inputs: index into in_tensor
	                       */
	bool has_energy;          /* every device has watts */
	bool memory_free;         /* no placement can exceed any device's memory */
} berth_problem;

/* Compile. The problem lives in mem and borrows g and s. A pin to a device that the system lacks is
 * BERTH_EFORMAT; an operator without a legal device is not an error here (berth_problem_feasible tells).
 * Fails: BERTH_EFORMAT (also where times or bytes overflow), BERTH_ENOMEM, BERTH_ELIMIT (tables beyond 2^31
 * entries). O(ops * devs + classes * devs * (devs + links)) and more where routes differ. tmp is scratch,
 * reset at exit. */
berth_status berth_problem_new(const berth_graph *g, const berth_system *s, berth_arena *mem,
                               berth_arena *tmp, berth_problem *out, berth_err *err);

/* BERTH_OK if every operator has a legal device; else BERTH_EINFEASIBLE with a message naming the first
 * operator that has none and why. */
berth_status berth_problem_feasible(const berth_problem *p, berth_err *err);

static inline int64_t berth_op_time(const berth_problem *p, int32_t op, int32_t dev)
{
	return p->op_dev_time_ns[(size_t)op * (size_t)p->n_devs + (size_t)dev];
}

static inline bool berth_op_legal(const berth_problem *p, int32_t op, int32_t dev)
{
	return p->op_dev_legal[(size_t)op * (size_t)p->n_devs + (size_t)dev];
}

/* Routed time of tensor t from one device to another, without contention. */
static inline int64_t berth_transfer_ns(const berth_problem *p, int32_t t, int32_t from, int32_t to)
{
	size_t n = (size_t)p->n_devs;
	return p->class_pair_ns[((size_t)p->tensor_class[t] * n + (size_t)from) * n + (size_t)to];
}

#endif
