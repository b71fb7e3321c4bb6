/* The state of a simulation, for sim.c and those that stop in the middle of one (incremental.c); everybody
 * else uses sim.h. */
#ifndef BERTH_SIM_STATE_H
#define BERTH_SIM_STATE_H

#include "sim.h"

typedef struct event {
	int64_t time;
	int32_t what; /* >= 0: operator ends; < 0: hop of transfer ~what ends */
} event;

/* A tensor under way to one destination. */
typedef struct transfer {
	uint64_t key; /* request instant << 32 | tensor; in program order the place in the channel's sequence
	               */
	int32_t tensor, dest;
	int32_t hop, hop_end; /* into route_link: the present hop, one past the last */
	int32_t prev, next;   /* neighbours in the channel's queue; -1: none */
	int32_t place;        /* into hop_place: of hop h at place + h (channels in program order) */
	int32_t uses_left;    /* consumers at the destination that have not ended */
	int64_t request_ns, start_ns;
} transfer;

typedef struct device {
	uint64_t *ready; /* heap; room for all operators of the device */
	int32_t n_ready, running, n_started;
	int32_t first;   /* into seq_op: its operators in the order of program or given */
	bool dirty;
} device;

typedef struct channel {
	int32_t head, tail; /* waiting transfers */
	int32_t n_started;
	bool busy, dirty;
} channel;

struct berth_sim {
	const berth_problem *p;
	bool want_peaks, track; /* track: memory in this run */
	bool sure_to_fit;       /* the caller has a proof that the placement cannot exceed memory */
	berth_sim_hop *hops;
	size_t n_hops;

	/* constants of the problem */
	int32_t *op_n_in;           /* [n_ops] inputs */
	int64_t *op_start_bytes;    /* [n_ops] allocated at the start: its tensors, output and workspace */

	/* state of a run */
	const int32_t *op_dev;
	bool by_sequence;           /* program or given */
	bool fifo;
	const uint32_t *op_key;     /* [n_ops] the caller's keys in the place of the rule; NULL: none */
	const int32_t *key_op;      /* operators by the lower half of their ready key */
	bool places;                /* channels in program order */
	int32_t *hop_place, *tensor_place; /* [max hops] place of each hop in its channel's sequence, by
	                                      tensor, destination, hop; [n_tensors] first of each */
	int32_t *op_waits;          /* [n_ops] inputs not there yet */
	int32_t *op_seq, *seq_op;   /* [n_ops] place in its device's sequence (program and given) and its
	                               inverse */
	uint64_t *ready_store;      /* [n_ops] */
	device *dev;                /* [n_devs] */
	channel *chan;              /* [n_channels] */
	transfer *moves;            /* [n_edges] */
	int32_t n_moves;
	int32_t *pending; /* transfers whose next hop starts in this round without a queue (no contention) */
	int32_t n_pending;
	int32_t *dirty_dev, *dirty_chan, n_dirty_dev, n_dirty_chan;
	event *heap;
	int32_t n_heap;
	int64_t now;
	int32_t n_ended;            /* operators */
	uint64_t instant;
	int32_t *dest_move;         /* [n_devs] the transfer of the tensor at hand to each device; -1 */
	int32_t *in_move;      /* [n_edges] by input place: the transfer that brought it; -1: made here */
	int32_t *tensor_holds; /* [n_tensors] local consumers and departing hops that keep it on its
	                          producer's device */

	int32_t *start_seq, n_starts;   /* [n_ops] */
	int64_t *start_ns, *end_ns, *dev_time_ns, *chan_ns, *mem_bytes, *peak_bytes;
	int64_t *link_bytes;        /* [n_links] carried so far */

	/* Give up when an operator starts from which the run must go on past the limit. */
	const int64_t *tail_ns; /* [n_ops] least time from an operator's start to the end of the run; NULL:
	                           never give up */
	int64_t limit_ns;
	bool over;

	void *cost_scratch; /* of a cost model that runs itself; NULL: the execution model */
};

/* How ready operators are told apart from now on: by the caller's keys or the system's rule, unless an order
 * is given. */
void sim_choose_rule(berth_sim *s, bool order_given);

/* Begin a run and make its first starts; false: an operator cannot run where it sits. Not for cost models of
 * their own. */
bool sim_begin(berth_sim *s, const int32_t *op_dev, const int32_t *order);

/* All ends and starts at the time of the next event, where n_heap > 0; rounds without duration are events of
 * their own. Unless once, go on to the end. */
void sim_advance(berth_sim *s, bool once);

/* What came out: when n_heap is 0. */
void sim_conclude(const berth_sim *s, berth_sim_result *out);

#endif
