/* The tables of a compiled problem: a graph on a system. problem.h fills them; afterwards they are
 * read-only, so that any number of threads can evaluate placements.
 *
 * Durations follow the execution model. They are computed in double and rounded once to whole nanoseconds.
 * Tensors of equal size and equal cut form a byte class. Hop and route times are tables over (class, link)
 * and (class, source, destination). */
#pragma once

#include "graph.h"
#include "system.h"

typedef struct berth_problem {
	const berth_graph *g;
	const berth_system *s;
	int32_t n_ops, n_devs;

	int64_t *op_dev_time_ns; /* [n_ops][n_devs]; -1: cannot run there */
	/* [n_ops][n_devs] 1: it can run there, and no pin, no forbidden device and no member of its
	 * colocation group stands against it */
	uint8_t *op_dev_legal;
	/* [n_ops] and their sum: what the engine takes where everything is on alone_dev; NULL: as above */
	int64_t *alone_ns, alone_sum_ns;
	int32_t alone_dev;
	int64_t *op_mean_ns; /* [n_ops] floor of the mean over the devices that can run it; 0: none can */

	/* Colocation groups: operators that must share a device. Every other operator is a group of its own.
	 * They are numbered by their lowest member. */
	int32_t n_colocs;
	int32_t *op_coloc;  /* [n_ops] */
	int32_t *coloc_off; /* [n_colocs+1] into coloc_op */
	int32_t *coloc_op;  /* operators by group, ascending */

	/* the rules of constraints.h that join colocation groups */
	bool coupled;          /* there are separation groups, contiguous devices or a limit of cuts */
	bool rules_infeasible; /* proven: no placement keeps them all, memory aside */
	int32_t n_pieces;      /* contiguous devices */
	int32_t *dev_piece;    /* [n_devs] 0 .. n_pieces-1; -1: need not be contiguous */
	/* Colocation groups as the blocks of the graph follow each other. Neighbours differ, and a group
	 * whose operators are in several blocks comes several times. At most max_cuts of the borders between
	 * neighbours lie between different devices; -1: any number. Without blocks there is no chain. */
	int32_t max_cuts, n_chain;
	int32_t *chain_coloc; /* [n_chain] */

	int64_t *dev_limit_bytes; /* [n_devs] memory less its margin; -1: unlimited */

	/* byte classes, numbered as tensors first leave their producers in topological order */
	int32_t n_classes;
	int64_t *class_bytes;  /* [n_classes] */
	double *class_cut_s;   /* [n_classes] seconds that each hop takes beside */
	/* [n_classes] of messages of collectives, where links have figures for those */
	bool *class_collective;
	int32_t *tensor_class; /* [n_tensors] */
	/* [n_classes] floor of the mean routed time over ordered pairs of different devices; 0 with one */
	int64_t *class_mean_ns;
	int64_t *class_link_ns; /* [n_classes][n_links] one hop */
	int64_t *class_pair_ns; /* [n_classes][n_devs][n_devs] routed, without contention; diagonal: 0 */

	/* Routes. That of (class, from, to) is r = class_pair_route[...]: the links route_link[route_off[r]]
	 * .. route_link[route_off[r + 1] - 1]. Pairs on the diagonal have none (-1). */
	int32_t *class_pair_route;
	int32_t *route_off, *route_link;
	int32_t n_routes;

	int64_t *op_rank_ns; /* [n_ops] upward rank of the execution model */
	int32_t *prio_op;    /* [n_ops] operators, largest rank first; ties by topological index */
	int32_t *op_prio;    /* [n_ops] its inverse */

	/* Memory pools, where the system has some; else n_pools is 0 and the tables are NULL. Traffic of an
	 * operator is read_bytes + write_bytes, through the pool of its device. That of a hop is its bytes,
	 * through the pools of both ends of its link; where both are one pool, twice. A piece (operator or
	 * hop) of 0 ns takes no part in pools: all its figures are 0. */
	int32_t n_pools;
	double *pool_rate;  /* [n_pools] bandwidth, bytes/ns */
	int32_t *link_pool; /* [n_links][2] where hops count: pool of `from`, of `to`; -1: none.
	                     * One pool at both ends stands in the first place only. */
	/* Demand: bytes/ns that it asks of the pool when it runs alone, traffic / time; 0: takes no part. */
	double *op_dev_demand;     /* [n_ops][n_devs] at most the pool's rate: a measured time is believed */
	double *class_link_demand; /* [n_classes][n_links] of a hop, in each of its pools; no limit */
	/* Load: the time that traffic takes at the pool's whole rate, whole ns rounded down. That of an
	 * operator, [n_ops][n_devs], is at most its time. */
	int64_t *op_dev_pool_ns;
	int64_t *class_link_pool_ns; /* [n_classes][n_links][2] in the order of link_pool */

	int32_t *edge_in_pos; /* [n_edges] index into in_tensor: place among its consumer's inputs */
	bool has_energy;      /* every device has watts, and the cost model defines energy */
	bool memory_free;     /* no placement can exceed the memory of any device or pool */
	bool lists_queue;     /* transfers of list schedules fill no gaps: to tell what gaps are worth */
} berth_problem;

/* Place of an operator, or of another row, and a device in a table [..][n_devs]. */
static inline size_t berth_cell(const berth_problem *p, int32_t row, int32_t dev)
{
	return (size_t)row * (size_t)p->n_devs + (size_t)dev;
}

static inline int64_t berth_op_time(const berth_problem *p, int32_t op, int32_t dev)
{
	return p->op_dev_time_ns[berth_cell(p, op, dev)];
}

static inline bool berth_op_legal(const berth_problem *p, int32_t op, int32_t dev)
{
	return p->op_dev_legal[berth_cell(p, op, dev)];
}

/* May everything stand on alone_dev, so that it takes what alone_ns says? O(ops). */
static inline bool berth_may_be_alone(const berth_problem *p)
{
	for (int32_t op = 0; p->alone_ns && op < p->n_ops; op++)
		if (!berth_op_legal(p, op, p->alone_dev))
			return false;
	return p->alone_ns != NULL;
}

/* The pool of dev; -1: none. */
static inline int32_t berth_dev_pool(const berth_problem *p, int32_t dev)
{
	return p->n_pools ? p->s->dev_pool[dev] : -1;
}

/* What the pool of dev may hold; -1: no pool, or no limit. */
static inline int64_t berth_dev_pool_bytes(const berth_problem *p, int32_t dev)
{
	int32_t pool = berth_dev_pool(p, dev);
	return pool < 0 ? -1 : p->s->pool_bytes[pool];
}

/* What dev may hold where nothing else is in its pool; -1: no limit. */
static inline int64_t berth_dev_most_bytes(const berth_problem *p, int32_t dev)
{
	int64_t own = p->dev_limit_bytes[dev], pool = berth_dev_pool_bytes(p, dev);
	return own < 0 || (pool >= 0 && pool < own) ? pool : own;
}

/* Load of op on the pool of dev, in ns of the whole pool; 0 without a pool. */
static inline int64_t berth_op_pool_ns(const berth_problem *p, int32_t op, int32_t dev)
{
	return p->n_pools ? p->op_dev_pool_ns[berth_cell(p, op, dev)] : 0;
}

/* What has a load and a limit of memory: devices, and behind them memory pools. */
static inline int32_t berth_n_resources(const berth_problem *p)
{
	return p->n_devs + p->n_pools;
}

/* What resource k may hold; -1: no limit. */
static inline int64_t berth_limit_bytes(const berth_problem *p, int32_t k)
{
	return k < p->n_devs ? p->dev_limit_bytes[k] : p->s->pool_bytes[k - p->n_devs];
}

/* Slots of a device, 1 of a pool. */
static inline int32_t berth_units(const berth_problem *p, int32_t k)
{
	return k < p->n_devs ? p->s->dev_slots[k] : 1;
}

/* Bytes that op keeps on its device whatever the schedule: its own parameters and state, and what leaves the
 * graph from it. Shared parameters may be there already. */
static inline int64_t berth_kept_bytes(const berth_problem *p, int32_t op)
{
	return p->g->op_param_bytes[op] + p->g->op_state_bytes[op] + p->g->op_output_bytes[op];
}

/* Place of a byte class and two devices in a table [n_classes][n_devs][n_devs]. */
static inline size_t berth_class_cell(const berth_problem *p, int32_t class, int32_t from, int32_t to)
{
	return berth_cell(p, class * p->n_devs + from, to);
}

/* Routed time of tensor t from one device to another, without contention. */
static inline int64_t berth_transfer_ns(const berth_problem *p, int32_t t, int32_t from, int32_t to)
{
	return p->class_pair_ns[berth_class_cell(p, p->tensor_class[t], from, to)];
}

/* Its route there, into route_off; -1 from a device to itself. */
static inline int32_t berth_route(const berth_problem *p, int32_t t, int32_t from, int32_t to)
{
	return p->class_pair_route[berth_class_cell(p, p->tensor_class[t], from, to)];
}

/* Time of one hop of tensor t. */
static inline int64_t berth_hop_ns(const berth_problem *p, int32_t t, int32_t link)
{
	return p->class_link_ns[(size_t)p->tensor_class[t] * (size_t)p->s->n_links + (size_t)link];
}

/* Joules above idling of op on dev, and of tensor t on its way from one device to another; 0 where energy is
 * not known. */
static inline double berth_op_joules(const berth_problem *p, int32_t op, int32_t dev)
{
	if (!p->has_energy)
		return 0;
	return (p->s->dev_busy_w[dev] - p->s->dev_idle_w[dev]) *
	       ((double)berth_op_time(p, op, dev) * 1e-9 / p->s->dev_slots[dev]);
}

static inline double berth_transfer_joules(const berth_problem *p, int32_t t, int32_t from, int32_t to)
{
	int32_t route = berth_route(p, t, from, to);
	double sum = 0;
	BERTH_EACH (i, p->route_off, route)
		sum += p->s->link_joules_per_byte[p->route_link[i]] * (double)p->g->tensor_bytes[t];
	return sum;
}

/* Tables of a problem about what lies between devices: routes for every size of a tensor, memory pools. */
/* Set class_pair_ns, class_pair_route, route_off, route_link and n_routes of p, whose class_link_ns and
 * classes are known. A direct link is always used. Elsewhere the path is that of the least sum of rounded
 * hops; of equals the one with fewest hops, then with the lowest devices, step by step.
 *   by_class   [n_classes] classes in the order in which to look at them; neighbours best take the same
 *              routes
 *   tmp        scratch, not reset
 * Fails: BERTH_ELIMIT (tables beyond 2^31 entries), BERTH_ENOMEM. O(classes * devs * links) where neighbours
 * agree. */
berth_status berth_routes_compile(berth_problem *p, const int32_t *by_class, berth_arena *mem,
                                  berth_arena *tmp, berth_err *err);

/* What operators and hops ask of memory pools, as tables of a problem. */

/* Set the tables of p about pools (problem_tables.h), in mem. Operator times, byte classes, hop times and
 * routes are there. *total_ns is that of all operators, and grows by the most that all traffic together can
 * take at the rates of the pools: slowed pieces can make a run longer by no more. Without pools it does
 * nothing.
 *   tmp   scratch; the caller resets it
 * Fails: BERTH_ENOMEM.
 * O(ops * devs + classes * (links + devs * devs * hops of a route)). */
berth_status berth_pool_tables(berth_problem *p, berth_arena *mem, berth_arena *tmp, double *total_ns,
                               berth_err *err);
