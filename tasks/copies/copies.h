/* What one host can do in data-parallel training: the sets of its devices that hold a copy of the model, and
 * what a step of such a copy takes at each batch, by the simulator. Equal hosts and equal devices are asked
 * once. */
#pragma once

#include "cluster.h"
#include "methods.h"
#include "problem.h"
#include "sim.h"

/* A step of one copy of the model at one batch, alone on its devices. */
typedef struct berth_copy_price {
	bool runs; /* every operator can stand there, and memory is kept */
	int64_t time_ns;
	double active_j; /* joules above idling, transfers in; NAN: not known */
	double peak_w;   /* the most that its devices draw at once above idling; NAN: not known */
	const int32_t *op_dev, *op_order; /* [n_ops] on the devices of the host that was asked, as they start
	                                   */
	const int64_t *dev_grad_bytes; /* [devices of the host] parameters that each holds: its gradients */
} berth_copy_price;

/* Devices of a host that hold one copy together. */
typedef struct berth_crew {
	int32_t n;
	const int32_t *place;    /* [n] among the devices of the host, ascending */
	berth_copy_price *price; /* [n_batches] */
} berth_crew;

/* Crews that work side by side, a copy each. */
typedef struct berth_layout {
	int32_t n;
	const int32_t *crew; /* [n] */
} berth_layout;

typedef struct berth_host_copies {
	berth_crew *crew;
	berth_layout *layout; /* [n_layouts] each other set of devices, a copy each or one for all */
	int32_t n_crews, n_layouts;
} berth_host_copies;

typedef struct berth_copies {
	const berth_cluster *c;
	int32_t n_batches;
	const int64_t *batch;     /* [n_batches] samples of a copy's step, ascending */
	const berth_graph *graph; /* [n_batches] */
	berth_problem *problem;   /* [n_batches] on the whole system */
	int64_t grad_bytes;       /* parameters of the model */
	/* [n_hosts] what is known of each host; equal ones share it. Devices of a price are those of the host
	 * host_like[h], place by place */
	const berth_host_copies **host;
	int64_t evaluations;
} berth_copies;

enum { BERTH_MOST_DEVICE_SETS = 1024 };

/* Price all copies.
 *   graph    [n_batches] the training step at each batch; batch ascending
 *   method   places a copy on several devices, by search (latency; its other limits hold for each of them)
 * All lives in mem; c and graph are borrowed, and the equal hosts of c are those that the graphs' times
 * tell apart no more. tmp is scratch, another arena, reset at exit. Fails: BERTH_EINVAL (no training step;
 * pinned or forbidden devices), BERTH_ELIMIT (a host with more than BERTH_MOST_DEVICE_SETS unlike sets of
 * devices), BERTH_EINTERRUPTED, BERTH_ENOMEM. */
berth_status berth_copies_new(berth_cluster *c, const berth_graph *graph, const int64_t *batch,
                              int32_t n_batches, const berth_method *method, const berth_search_cfg *search,
                              berth_arena *mem, berth_arena *tmp, berth_copies *out, berth_err *err);

/* The device at a place of host h. */
static inline int32_t berth_copy_dev(const berth_copies *x, int32_t host, int32_t place)
{
	return x->c->host_dev[x->c->host_off[host] + place];
}

/* dev [devices of the system]: that of `host` for each device of the equal host that was asked, in which the
 * op_dev of prices are. O(devices of the host). */
void berth_copy_devs(const berth_copies *x, int32_t host, int32_t *dev);

/* The largest batch whose step is over by deadline_ns; -1: none. O(batches). */
int32_t berth_copy_batch(const berth_copies *x, const berth_crew *crew, int64_t deadline_ns);

/* Watts above idling, of the last run of sim with op_dev [n_ops]: each running operator draws its slot's part
 * of what its device draws above idling. NAN where a device has no watts. tmp is scratch, reset at exit.
 * Fails: BERTH_ENOMEM. O(ops log ops). */
berth_status berth_peak_watts(const berth_problem *p, const berth_sim *sim, const int32_t *op_dev,
                              berth_arena *tmp, double *out, berth_err *err);
