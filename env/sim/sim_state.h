/* The state of a simulation, for sim.c and for incremental.c, which stops in the middle of one. Everybody
 * else uses sim.h. */
#pragma once

#include "sim.h"

typedef struct event {
	int64_t time;
	int32_t what; /* >= 0: operator ends; < 0: hop of transfer ~what ends */
} event;

/* A tensor under way to one destination. */
typedef struct transfer {
	/* request instant << 32 | tensor; with channels in program order the place in the channel's
	 * sequence */
	uint64_t key;
	int32_t tensor, dest;
	int32_t hop, hop_end; /* into route_link: the present hop, one past the last */
	int32_t prev, next;   /* neighbours in the channel's queue; -1: none */
	int32_t place;        /* channels in program order: hop h stands at hop_place[place + h] */
	int32_t uses_left;    /* consumers at the destination that have not ended */
	int64_t request_ns, start_ns;
} transfer;

typedef struct device {
	uint64_t *ready; /* heap; room for all operators of the device */
	int32_t n_ready, running, n_started;
	int32_t first; /* into seq_op: its operators in the order of program or given */
	bool dirty;
} device;

typedef struct channel {
	int32_t head, tail; /* waiting transfers */
	int32_t n_started;
	bool busy, dirty;
} channel;

typedef struct pool_piece {
	double demand; /* bytes/ns that it asks of each of its pools */
	double work;   /* ns at full speed that were left at since_ns */
	double speed;  /* since then, (0, 1] */
	int64_t since_ns, end_ns;
	int64_t alone_ns; /* its end, had it not been slowed */
	int32_t what;     /* as in an event of the simulator */
	int32_t pool[2]; /* -1: none */
} pool_piece;

typedef struct pool_share {
	const berth_problem *p;
	pool_piece *piece; /* [n_pieces] under way, by demand */
	int32_t n_pieces, cap;
	int32_t *n_in;    /* [n_pools] pieces of each pool */
	double *level;    /* [n_pools] the most that a piece gets; INFINITY: each gets what it asks */
	bool *changed;    /* [n_pools] a piece has come or gone since the level was computed */
	bool any_changed;
	int64_t next_ns; /* least end of a piece, as of pool_share_settle; INT64_MAX: none is under way */
} pool_share;

struct berth_sim {
	const berth_problem *p;
	bool want_peaks;
	bool track;       /* memory, in this run */
	bool sure_to_fit; /* the caller has a proof that the placement cannot exceed memory */
	berth_sim_hop *hops;
	size_t n_hops;
	int32_t *ends; /* operators, and hops as ~index, as they end; NULL: not logged */
	int32_t n_ends;
	berth_sim_holds *holds; /* who is told of memory, and with what; NULL: nobody */
	void *holds_ctx;
	int64_t *told_bytes; /* [n_devs] what was told last; -1: nothing yet */

	/* constants of the problem */
	int32_t *op_n_in;        /* [n_ops] inputs */
	int64_t *op_start_bytes; /* [n_ops] allocated at the start: its tensors, output and workspace */

	/* state of a run */
	const int32_t *op_dev;
	bool by_sequence; /* program or given */
	bool fifo;
	const uint32_t *op_key; /* [n_ops] the caller's keys in the place of the rule; NULL: none */
	const int32_t *key_op;  /* operators by the lower half of their ready key */
	bool places;            /* channels in program order */
	int32_t *hop_place;     /* [max hops] place in the channel's sequence, by tensor, destination, hop */
	int32_t *tensor_place;  /* [n_tensors] into hop_place: its first hop */
	int32_t *op_seq;        /* [n_ops] place in its device's sequence (program and given) */
	int32_t *seq_op;        /* [n_ops] the inverse */
	uint64_t *ready_store;  /* [n_ops] */
	device *dev;            /* [n_devs] */
	channel *chan;          /* [n_channels] */
	transfer *moves;        /* [n_edges] */
	int32_t n_moves;
	int32_t *pending; /* without contention: transfers whose next hop starts in this round */
	int32_t n_pending;
	int32_t *dirty_dev, *dirty_chan, n_dirty_dev, n_dirty_chan;
	event *heap;
	int32_t n_heap;
	int64_t now;
	int32_t n_ended; /* operators */
	uint64_t instant;
	int32_t *dest_move; /* [n_devs] the transfer of the tensor at hand to each device; -1: none */
	/* one block */
	int32_t *op_waits;     /* [n_ops] inputs not there yet */
	int32_t *tensor_holds; /* [n_tensors] local consumers and departing hops that keep it at home */
	int32_t *in_move;      /* [n_edges] by input place: the transfer that brought it; -1: made here */

	int32_t *start_seq, n_starts; /* [n_ops] */
	int64_t *start_ns, *end_ns;   /* [n_ops] */
	int64_t *dev_time_ns;         /* [n_devs] */
	/* [resources] of devices, and of all members of each memory pool; those of pools are summed where
	 * a peak is noted */
	int64_t *mem_bytes, *peak_bytes;

	/* memory pools; share is NULL where there are none */
	pool_share *share;

	/* what has added up so far, one block */
	int64_t *sums; /* [n_sums] */
	size_t n_sums;
	int64_t *chan_ns;     /* [n_channels] */
	int64_t *link_bytes;  /* [n_links] carried */
	int64_t *pool_ns;     /* [n_pools] load */
	int64_t *dev_slow_ns; /* [n_devs] by how much its operators took longer than alone */

	/* Give up when an operator starts from which the run must go on past the limit. tail_ns [n_ops] is
	 * the least time from an operator's start to the end of the run; NULL: never give up. */
	const int64_t *tail_ns;
	int64_t limit_ns;
	bool over;

	void *cost_scratch; /* of a cost model that runs itself; NULL: the execution model */
};

/* How ready operators are told apart from now on: by the caller's keys or the system's rule, unless an order
 * is given. */
void sim_choose_rule(berth_sim *s, bool order_given);

/* Begin a run and make its first starts. False: an operator cannot run where it sits. Not for other cost
 * models, which run themselves. */
bool sim_begin(berth_sim *s, const int32_t *op_dev, const int32_t *order);

/* Event: operator what, or hop of transfer ~what, ends at that time. */
void sim_event_push(berth_sim *s, int64_t time, int32_t what);

/* Memory pools (sim_pools.c). Scratch for simulations of p, in mem; *out is NULL where p has no pools. Fails:
 * BERTH_ENOMEM. */
berth_status pool_share_new(const berth_problem *p, berth_arena *mem, pool_share **out, berth_err *err);

/* The pieces are these n [<= cap]; none at the beginning of a run. Levels are computed when the next round is
 * settled: others may have gone since they were. */
void pool_share_set(pool_share *q, const pool_piece *piece, int32_t n);

/* The same state by that much later. */
void pool_share_shift(pool_share *q, int64_t by_ns);

/* Does the operator, or the present hop of transfer id, that starts now go through pools? Then it is under
 * way there. */
bool sim_start_op_in_pool(berth_sim *s, int32_t op, int32_t d, int64_t time_ns);
bool sim_start_hop_in_pools(berth_sim *s, int32_t id, int64_t time_ns);

/* Memory of the pools, behind that of the devices in bytes [resources]. O(n_devs). */
void sim_sum_pools(const berth_problem *p, int64_t *bytes);

/* Ready lists in the store, one behind the other. n_ready of each device says how many operators it has; it
 * is 0 then. */
void sim_cut_ready_store(berth_sim *s);

/* What the ends and starts of the round are to the pools. What ends next in them goes into the heap, if
 * nothing there ends before it: then the heap has what comes next, and is empty only at the end. */
void sim_settle_pools(berth_sim *s);

/* All ends and starts at the time of the next event; n_heap > 0. Rounds without duration are events of their
 * own. Unless once, go on to the end. */
void sim_advance(berth_sim *s, bool once);

/* What came out: when n_heap is 0. */
void sim_conclude(const berth_sim *s, berth_sim_result *out);
