/* Sequential placements by a list schedule. The policy picks the device of every operator in turn. It sees
 * the partial schedule: earliest starts and ends, where transfers wait for their channels (traffic.h), loads,
 * data already there, memory left. It also moves operators forward or back in the list. With the weight of
 * "ends first" alone it is HEFT with contention. One decoder belongs to one thread. Nothing is allocated
 * while it decodes. */
#pragma once

#include "encode.h"
#include "partial.h"
#include "ready.h"

/* Features of a device at a step, of order 1. Times in units of the mean operator time, through log(1 + x).
 * New ones come last: policies keep their weights in this order. */
enum {
	STEP_LATER,        /* ends later than on the device where it ends first */
	STEP_LATER_OF_OWN, /* the same, relative to its own least time */
	STEP_STARTS_LATER,
	STEP_REST_LATER,    /* end + optimistic rest of the graph, above the least */
	STEP_ENDS_FIRST,    /* 1: no device ends it sooner */
	STEP_REST_FIRST,    /* 1: no device has a smaller end + rest */
	STEP_LOAD,          /* time placed on the device, of the length that can be hoped for */
	STEP_END,           /* end of its last operator, likewise */
	STEP_INPUTS_HERE,   /* share of the input bytes that are produced here */
	STEP_SLOWER,        /* log of the operator's time here to its least one */
	STEP_MEMORY,        /* share of the memory bound so far; 0: unlimited */
	STEP_FULL,          /* 1: the upper bound of memory would be exceeded */
	STEP_LEAVING,       /* what moving its tensors away from here takes */
	STEP_TOO_LONG,      /* end + rest, above the length that can be hoped for */
	STEP_CRITICAL,      /* later, times how critical the operator is */
	STEP_WITH_PRODUCER, /* 1: the producer of its largest input is here */
	/* What moving its inputs here takes on all channels. Those that are here already are left out. */
	STEP_MOVED,
	/* Load of the busiest channel that they take, with them, of the length that can be hoped for. 0
	 * without contention. */
	STEP_CHANNELS,
	/* By the guide; 0 without one. */
	STEP_GUIDED_LATER,    /* end + rest where all behind it stays as in the guide, above the least */
	STEP_GUIDED_FIRST,    /* 1: no device has a smaller one */
	STEP_GUIDED_HERE,     /* 1: it was here */
	STEP_GUIDED_CRITICAL, /* later, times how critical it was */
	STEP_GUIDED_END,      /* end and what is still to come here, of the length that can be hoped for */
	/* By the aim of the objective (encode.h); 0 where it does not count. */
	STEP_AIMED_ENERGY,    /* energy above that of the thriftiest device, without transfers */
	STEP_AIMED_THRIFTY,   /* 1: no device takes less */
	STEP_AIMED_LOAD,      /* load with the operator, of the bottleneck that can be hoped for */
	STEP_AIMED_OVER,      /* what is above that */
	STEP_AIMED_CHANNELS,  /* load of the busiest channel of its inputs, of the same */
	/* What stands around it (around.h). */
	STEP_MATES,        /* share here of what its consumers get from others whose device is known */
	STEP_HEIRS_SLOWER, /* mean log of its consumers' times here to their least ones */
	STEP_QUEUE,        /* least times of other ready operators that are fastest here */
	STEP_GAP,          /* how long the device would wait for it */
	/* The same for all devices. */
	STEP_PRESSURE, /* least times of other ready operators, a device's part */
	STEP_PROGRESS, /* length so far, of the length that can be hoped for */
	STEP_OWN,      /* its least time */
	STEP_FAN,      /* its consumers, through log(1 + x) */
	STEP_CRITICALITY, /* how critical it is */
	/* Further ones by the guide, of a device again; 0 without one, the loads where they do not count. */
	STEP_GUIDED_LEAVING, /* what moving its tensors from here to where its consumers were takes */
	STEP_AIMED_COMING, /* load with it and what the guide still puts here, of the hoped for bottleneck */
	STEP_AIMED_WORST,  /* what of that is above the largest one that the guide comes to elsewhere */
	N_STEP
};
_Static_assert(N_STEP == (int)ENCODE_STEP, "the encoding's width of step features is that of the list");
_Static_assert(STEP_GUIDED_LATER == 18 && STEP_AIMED_ENERGY == 23 && STEP_MATES == 28 &&
                       STEP_CRITICALITY == 36 && STEP_GUIDED_LEAVING == 37,
               "policies that were trained keep their columns");

typedef struct berth_decoder berth_decoder;

/* What an episode decided, for learning. Steps are operators that could choose: neither bound by their
 * colocation group nor with one legal device. */
typedef struct berth_episode {
	int32_t n_steps;
	int32_t *node;       /* [n_ops] group of each step's operator */
	nn_real *x;          /* [n_ops][n_devs][N_STEP] */
	uint8_t *mask;       /* [n_ops][n_devs] */
	int32_t *action;     /* [n_ops] */
	nn_real *logp;       /* [n_ops] of the action */
	nn_real *noise;      /* [n_ops] of each operator's key, in standard deviations; not by step */
} berth_episode;

/* Room for problems of at most n_ops operators and n_cells = operators * devices. Fails: BERTH_ENOMEM. */
berth_status berth_episode_new(size_t n_ops, size_t n_cells, berth_arena *mem, berth_episode *out,
                               berth_err *err);

/* How devices and keys are drawn. */
typedef struct berth_decode_how {
	berth_rng *rng;      /* NULL: the most probable device at each step, keys as they are */
	double temperature;  /* of devices, > 0 */
	double key_sigma;    /* standard deviation of keys, in mean operator times; >= 0 */
	const berth_guide *guide; /* its ranks are the list's, with keys; NULL, or not set: the problem's */
	const int32_t *force; /* [n_ops] legal devices to go to instead, for imitation; NULL: choose */
} berth_decode_how;

/* A decoder for what e encodes, in mem. Fails: BERTH_ENOMEM. O(edges * devs^2). */
berth_status berth_decoder_new(const berth_encoding *e, berth_arena *mem, berth_decoder **out,
                               berth_err *err);

/* Schedule all operators on part (empty, of the same problem).
 *   net    of embedded activations
 *   trace  NULL: not kept
 * O(edges * devs + ops * devs * features * hidden); with a guide 16 of a tensor's uses, squared, too. */
void berth_decode(berth_decoder *d, const policy_stepper *net, const berth_decode_how *how,
                  berth_partial *part, berth_episode *trace);

/* The decoder's own partial schedule, emptied: for those who have none. */
berth_partial *berth_decoder_partial(berth_decoder *d);

/* Weights that make an untrained policy decode like HEFT: softly, when it draws. params: of the dims of the
 * encoding. */
void berth_decode_prior(const policy_dims *dims, nn_real params[]);
