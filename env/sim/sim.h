/* The reference simulator: the execution model, exactly. One berth_sim is the scratch of one thread for one
 * problem; nothing is allocated while it runs. */
#pragma once

#include "problem.h"

typedef struct berth_sim berth_sim;

/* One hop of one tensor to one destination, as it was simulated. */
typedef struct berth_sim_hop {
	int32_t tensor, dest, link;
	int64_t request_ns, start_ns, end_ns;
} berth_sim_hop;

typedef struct berth_sim_result {
	bool runs; /* every operator sits where it can run; false: nothing below is set */
	bool fits; /* no peak of a device or memory pool is above its memory */
	int64_t latency_ns;
	double load_s;   /* seconds per sample: largest load of a device, a memory pool or, with contention, a
	                  * channel */
	double energy_j; /* NAN where a device has no watts, or the cost model no energy */
	/* largest peak of a device or memory pool; 0 where memory was not tracked */
	int64_t peak_bytes;
	/* 0 if it fits; else sum over devices and pools of (peak - memory) / max(memory, 1) */
	double excess;
} berth_sim_result;

/* Scratch for simulations of p, in mem. Fails: BERTH_ENOMEM. */
berth_status berth_sim_new(const berth_problem *p, berth_arena *mem, berth_sim **out, berth_err *err);

/* What a device holds from now on. */
typedef void berth_sim_holds(void *ctx, int64_t now_ns, int32_t dev, int64_t bytes);

/* Ask for details: peaks of all devices even where nothing can exceed memory, and every hop. hops has room
 * for as many as berth_sim_max_hops tells; NULL: hops are not kept. */
void berth_sim_want_peaks(berth_sim *sim, bool peaks);
void berth_sim_want_hops(berth_sim *sim, berth_sim_hop *hops);
size_t berth_sim_max_hops(const berth_problem *p);
/* Be told, after each round, of every device that holds another sum than before; after the first round of
 * all. Asks for peaks, too. Under other cost models a device holds one sum all the time. NULL: nobody
 * listens. */
void berth_sim_want_memory(berth_sim *sim, berth_sim_holds *holds, void *ctx);

/* Keys in the place of the system's order rule. Of the operators that are ready a device starts that of the
 * smallest op_key [n_ops]; ties go to the lower topological index. It holds for all runs from now on that are
 * given no order. The keys are borrowed. NULL: the rule again. */
void berth_sim_use_keys(berth_sim *sim, const uint32_t *op_key);

/* Do keys tell all there is to tell of an order? Not where channels or the cost model have an order of their
 * own. */
bool berth_keys_work(const berth_problem *p);

/* Simulate.
 *   op_dev   [n_ops] device of each operator, 0 .. n_devs-1
 *   order    [n_ops] operators in a topological order (the `given` rule), or NULL: the system's rule
 * O((ops + edges) log) time; ties and rounding as in the execution model. */
void berth_sim_run(berth_sim *sim, const int32_t *op_dev, const int32_t *order, berth_sim_result *out);

/* Of the last run, the simulator's own. Peaks are set where memory was tracked: it can be exceeded, or peaks
 * were asked for. */
typedef struct berth_sim_details {
	const int64_t *start_ns, *end_ns;  /* [n_ops] */
	const int64_t *dev_time_ns;        /* [n_devs] sum of operator times */
	const int64_t *dev_slow_ns;        /* [n_devs] by how much they took longer, slowed by pools */
	const int64_t *peak_bytes;         /* [n_devs] */
	const int64_t *pool_peak_bytes;    /* [n_pools] of all members together */
	const int64_t *pool_ns;            /* [n_pools] load */
	const int64_t *channel_ns;         /* [n_channels] load */
	const int64_t *link_bytes;         /* [n_links] of all hops */
	size_t n_hops;
} berth_sim_details;

berth_sim_details berth_sim_last(const berth_sim *sim);

/* The operators as the last run started them, out order [n_ops]. The run went to its end. The order is
 * topological, and given that order the placement runs alike. O(ops); under other cost models, which tell
 * times and not turns, O(ops log ops). */
void berth_sim_start_order(berth_sim *sim, int32_t *order);

/* Is order a permutation of all operators in which producers stand before consumers? */
bool berth_order_is_topological(const berth_graph *g, const int32_t *order, berth_arena *tmp);
