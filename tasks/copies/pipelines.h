/* A training step by pipelines over unlike devices. A stage has layers that follow each other, on devices of
 * one or two kinds: replicas, each a group of devices of one host that share every layer (tensor width), with
 * a share of each micro-batch. Stages may differ in kinds, widths, replicas and layers. Micro-batches go by
 * 1F1B with a flush (Narayanan et al., SC 2021); stages are found by a dynamic program from the last one on.
 * After Um et al. (Metis, USENIX ATC 2024) and Strati et al. (Sailor, SOSP 2025): what they choose, not how.
 */
#pragma once

#include "cluster.h"
#include "granularity.h"

#include <stdatomic.h>

enum {
	BERTH_MOST_TRAIN_KINDS = 6,
	BERTH_MOST_TRAIN_WIDTHS = 5,
	BERTH_MOST_TRAIN_PARTS = 3,
	BERTH_MOST_TRAIN_BATCHES = 64,
	BERTH_MOST_TRAIN_STAGES = 32,
	BERTH_MOST_MICRO_BATCHES = 4096,
	BERTH_MOST_TRAIN_SAMPLES = 1 << 20
};

/* What a message takes: the slowest way there is between such devices. latency_s INFINITY: over others. */
typedef struct berth_train_hop {
	double latency_s, byte_s;
} berth_train_hop;

/* Sums over the first layers, [n_layers+1], of a replica. */
typedef struct berth_train_times {
	const double *forward_s, *backward_s; /* of a micro-batch's share, all-reduces among its devices too
	                                       */
	const double *update_s;               /* of a step */
} berth_train_times;

/* Equal devices. */
typedef struct berth_train_kind {
	int32_t first;            /* device of the system */
	const char *name;         /* of that device */
	int32_t n_devs, per_host; /* all of them; those of one host */
	int64_t memory_bytes;     /* -1: no limit */
	double idle_w, busy_w;    /* NAN: not given */
	double price_h;           /* NAN: not given */
	/* Devices of a replica: 1, 2, 4, ... as long as they divide per_host. */
	int32_t n_widths;
	const int32_t *barred;          /* [n_layers+1] layers among the first that cannot run there */
	const berth_train_times *times; /* [n_batches][n_widths] */
	berth_train_hop inside;         /* between two of one host, in a collective */
} berth_train_kind;

/* A host as a cluster of its own. */
typedef struct berth_train_host {
	const char *name;
	int32_t n_devs[BERTH_MOST_TRAIN_KINDS];
	berth_train_hop hop[BERTH_MOST_TRAIN_KINDS][BERTH_MOST_TRAIN_KINDS];
} berth_train_host;

typedef enum berth_train_goal {
	BERTH_TRAIN_TIME,
	BERTH_TRAIN_ENERGY, /* devices without a layer are off */
	BERTH_TRAIN_EDP,
	BERTH_TRAIN_MONEY,
	BERTH_N_TRAIN_GOALS
} berth_train_goal;

/* What is to be trained, and on what. Sums are over the first layers, [n_layers+1]. */
typedef struct berth_train_task {
	int32_t n_layers, n_kinds, n_batches;
	const int64_t *batch;                    /* [n_batches] that a replica may have of a micro-batch */
	int64_t samples;                         /* of a step */
	const int64_t *param_bytes, *held_bytes; /* sums; held: with gradients and the optimizer's state */
	const int64_t *const *kept_bytes;        /* [n_batches] sums: kept from forward to backward */
	const int64_t *const *forward_bytes, *const *backward_bytes; /* [n_batches][n_layers+1] over the
	                                                                border */
	const int64_t *work_bytes;                                   /* [n_batches] of the largest operator */
	berth_train_kind kind[BERTH_MOST_TRAIN_KINDS];
	berth_train_hop hop[BERTH_MOST_TRAIN_KINDS][BERTH_MOST_TRAIN_KINDS]; /* between hosts, if there are
	                                                                        some */
	bool one_wire; /* hosts share channels to each other */
	int32_t n_hosts;
	const berth_train_host *host; /* [n_hosts] unlike ones, which are tried alone, too */
	berth_train_goal goal;
} berth_train_task;

/* Replicas of a stage that are alike. */
typedef struct berth_train_part {
	int32_t kind, width, batch, n; /* width, batch: indices; n: replicas */
	int64_t memory_bytes;          /* of each device */
} berth_train_part;

typedef struct berth_train_stage {
	int32_t from, to, n_parts;                     /* layers from .. to-1 */
	berth_train_part part[BERTH_MOST_TRAIN_PARTS]; /* the search has one or two */
	double forward_s, backward_s;                  /* of a micro-batch, by the slowest replica */
	double sync_s; /* after the last one: gradients summed, weights updated */
} berth_train_stage;

typedef struct berth_train_plan {
	int32_t n_stages; /* 0: none was found */
	berth_train_stage stage[BERTH_MOST_TRAIN_STAGES];
	int64_t micro_batch, n_micro;   /* samples of one, and how many */
	double step_s, energy_j, money; /* of a step; NAN: no watts, no price */
	double value;                   /* of the goal */
	double bound_s;                 /* no plan's step is shorter (docs/clusters.md) */
	double looked_at;               /* stages that were tried */
	const char *host; /* that has all devices of the plan, and whose ways alone were counted; NULL: any */
} berth_train_plan;

/* Devices of a replica of width index w. */
static inline int32_t berth_train_width(int32_t w)
{
	return (int32_t)1 << w;
}

/* The tables of a model at n batches, graph [n] being its training step at each. blocks: its layers. In mem;
 * tmp is scratch, another arena, reset at exit. Fails: BERTH_EINVAL (no backward pass, too many kinds, a
 * device with several slots, unlike layers), as berth_problem_new. */
berth_status berth_train_new(const berth_graph *graph, const int64_t *batch, int32_t n,
                             const berth_cluster *c, berth_arena *mem, berth_arena *tmp,
                             berth_granularity *blocks, berth_train_task *out, berth_err *err);

/* Times, memory and costs of a plan whose stages have layers and parts. The pipeline is exact: each forward
 * and backward pass in its order, a stage held while it sends. False: a device lacks memory, or a layer
 * cannot run. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(stages * micro-batches). */
berth_status berth_train_value(const berth_train_task *x, berth_train_plan *p, bool *fits, berth_arena *tmp,
                               berth_err *err);

typedef void berth_train_progress(void *ctx, const char *what, int32_t done, int32_t of);

/* Work of a search that takes seconds. */
static const double BERTH_TRAIN_WORK = 1.5e8;

/* The plan that is best for the goal of those found. work: steps of the search, about; one and its work, one
 * plan. tell: or NULL. tmp as above. Fails: BERTH_ENOMEM, BERTH_EINTERRUPTED. */
berth_status berth_train_search(const berth_train_task *x, double work, const atomic_int *cancel,
                                berth_train_progress *tell, void *ctx, berth_arena *tmp,
                                berth_train_plan *out, berth_err *err);

/* The parts of that, for searches. */
/* hop, one_wire and hosts of x, whose kinds are known: dev_kind [n_devs]. In mem; tmp and tmp2 are scratch.
 * Fails: BERTH_ENOMEM. O(devices^2). */
berth_status berth_train_ways(const berth_cluster *c, const int32_t *dev_kind, berth_train_task *x,
                              berth_arena *mem, berth_arena *tmp, berth_arena *tmp2, berth_err *err);
/* Of a stage with layers and parts: times and memory, with so many micro-batches in flight. False: as above.
 */
bool berth_train_stage_value(const berth_train_task *x, berth_train_stage *g, int32_t in_flight);
/* Messages of a micro-batch from stage a to b, and back. */
void berth_train_border(const berth_train_task *x, const berth_train_stage *a, const berth_train_stage *b,
                        double *ahead_s, double *back_s);
/* Joules of a stage above idling in a step. */
double berth_train_stage_joules(const berth_train_task *x, const berth_train_stage *g, double n_micro);
/* The goal's value of a step on n_devs [n_kinds] devices. */
double berth_train_goal_value(const berth_train_task *x, double step_s, double joules, const int32_t *n_devs,
                              double *energy_j, double *money);
/* Least work of the first layers, [n_layers+1], for a sample, in parts of what a kind with speed [n_kinds]
 * does in a second; and the least seconds of a micro-batch through them. */
void berth_train_least(const berth_train_task *x, double *work, double *path_s, double *speed);
/* No plan's step is shorter, given work and path_s of all layers. */
double berth_train_bound_of(const berth_train_task *x, double work, double path_s, const double *speed);

/* Bytes that a device lacks for the layers from .. to-1 at the best width, batch and kind, which are told; at
 * most 0: it fits. */
int64_t berth_train_lacks(const berth_train_task *x, int32_t from, int32_t to, int64_t *need, int32_t *kind,
                          int32_t *width);
