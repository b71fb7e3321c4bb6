/* Serving a model from many servers: how copies of it are laid over groups of equal devices, as pipelines of
 * blocks that follow one another. Equal servers and equal devices are kinds with a number, so the work does
 * not grow with how many there are. After Ghannane, Abdelfattah (DiviML, arXiv 2308.00127): symmetry of
 * servers. */
#pragma once

#include "cluster.h"
#include "granularity.h"
#include "layout.h"
#include "problem.h"

enum {
	BERTH_MOST_SERVER_KINDS = 8,
	BERTH_MOST_SPAN = 8 /* servers that one copy may stand on */
};

/* Equal servers. */
typedef struct berth_server_kind {
	const char *name;
	int64_t n_servers;
	int32_t n_devs;          /* equal devices of a server; its other ones take no block */
	const char *const *dev;  /* [n_devs] their names */
	const int64_t *block_ns; /* [n_blocks] on one of them; -1: cannot run there */
	int64_t memory_bytes;    /* of one of them; -1: no limit */
	/* What goes on between blocks takes that to another device of the server at most; of borders that
	 * share a channel, all that one server may have together. Outside: so on channels that its ways to
	 * unlike servers share, or those inside and outside. */
	int64_t inside_ns, outside_ns;
	double byte_ns, inside_byte_ns; /* of a byte more, over the slowest of its ways; inside */
	/* The server's disk, from which weights are read in each step that memory has no room for: of one of
	 * the devices, where all of them read at once. 0: none */
	int64_t disk_bytes;
	double disk_byte_ns;
} berth_server_kind;

/* What is to be served, and where. */
typedef struct berth_serving {
	int32_t n_blocks, n_kinds;
	const int64_t *block_bytes;       /* [n_blocks] weights and state */
	const int64_t *block_state_bytes; /* [n_blocks] of these the state */
	int64_t work_bytes;               /* that a device needs beside: tensors of its largest block */
	berth_server_kind kind[BERTH_MOST_SERVER_KINDS];
	/* What goes on between blocks from a device of one kind to one of another server of the other kind
	 * takes that, wherever both stand, each server on wires like its host's; -1: no link. A way over a
	 * third server is none, over a host of which there is none (a switch) it is. */
	int64_t link_ns[BERTH_MOST_SERVER_KINDS][BERTH_MOST_SERVER_KINDS];
	/* So the way alone, where nothing else of the server is on it */
	int64_t way_ns[BERTH_MOST_SERVER_KINDS][BERTH_MOST_SERVER_KINDS];
	bool spans;      /* copies may stand on several servers */
	int64_t most_ns; /* that a sample may take through all layers, no waiting counted; 0: no limit */
	const struct berth_search_cfg *cfg; /* ends what is done on it, as in berth_layout_task */
} berth_serving;

/* Like groups, each with a copy. Either part of one server, or whole servers. */
typedef struct berth_serving_group {
	int64_t n;                                /* so many of them; rates and periods are those of one */
	int32_t n_devs[BERTH_MOST_SERVER_KINDS];  /* devices of each kind */
	int32_t servers[BERTH_MOST_SERVER_KINDS]; /* whole servers of each kind; all 0: part of one server */
	int64_t period_ns;                        /* the busiest device, or the slowest border */
	int64_t latency_ns;                       /* of a sample: steps of all devices, and all borders */
} berth_serving_group;

typedef struct berth_serving_plan {
	berth_serving_group *group; /* [n_groups] */
	int32_t n_groups;
	int64_t n_copies;
	double per_s; /* samples a second of all copies */
	/* No plan of such groups has more (relaxed; equal to per_s where it was searched to the end;
	 * bound_per_s where groups were left out) */
	double groups_per_s;
	/* No plan at all has more, blocks cut into parts and memory aside (load dual, raised by 1e-12) */
	double bound_per_s;
	int64_t solved;   /* pipelines that were looked at */
	int64_t left_out; /* groups that were not, though perhaps better: more than 2^20 states */
} berth_serving_plan;

/* The model's blocks on the hosts of c, of host h n_servers[h] equal ones (0: it is left out). The devices of
 * a host are the most numerous equal ones. p: the graph on the whole system. In mem; tmp is scratch, another
 * arena, reset at exit. Fails: BERTH_EINVAL (more kinds than BERTH_MOST_SERVER_KINDS, a device with several
 * slots), BERTH_ENOMEM. */
berth_status berth_serving_new(const berth_problem *p, const berth_cluster *c,
                               const berth_granularity *blocks, const int64_t *n_servers, berth_arena *mem,
                               berth_arena *tmp, berth_serving *out, berth_err *err);

/* Bytes that a device reads from its disk in each step, of all that it has; must: those that are no weights.
 * -1: it cannot hold them. */
static inline int64_t berth_serving_read_bytes(const berth_server_kind *d, int64_t bytes, int64_t must)
{
	int64_t over = d->memory_bytes < 0 ? 0 : berth_max(0, bytes - d->memory_bytes);
	return over > berth_min(d->disk_bytes, bytes - must) ? -1 : over;
}

/* Disks read ahead (mmap), while their devices and others compute: the longer of both is a step. */
static inline double berth_serving_step_ns(const berth_server_kind *d, double run_ns, int64_t read_bytes)
{
	return fmax(run_ns, (double)read_bytes * d->disk_byte_ns);
}

/* What goes on from a device of kind k to any other one of kind o takes that at most, with what the ways to
 * unlike servers share; -1: no link to all of them. */
int64_t berth_serving_link_ns(const berth_serving *x, int32_t k, int32_t o);

/* The same of one sample, by itself. */
int64_t berth_serving_way_ns(const berth_serving *x, int32_t k, int32_t o);

/* The shortest period of a copy on g->n_devs and g->servers, each device with blocks that follow each other,
 * by a dynamic program over how many of each kind were used; exact, but with x->most_ns on unlike devices.
 * Into g->period_ns (-1: it does not fit) and g->latency_ns. tmp is scratch, reset at exit. Fails:
 * BERTH_ENOMEM. O(product of (n_devs + 1) * kinds * log). */
berth_status berth_serving_period(const berth_serving *x, berth_serving_group *g, berth_arena *tmp,
                                  berth_err *err);

/* A device of a copy, and its blocks: from .. to-1. */
typedef struct berth_serving_stage {
	int32_t kind, from, to;
	int64_t read_bytes; /* from the disk, in each step */
} berth_serving_stage;

/* The blocks of each device of a copy of group g of a plan for x, in the order of the blocks; of several ways
 * with the same period one. Devices without a block are left out. In mem; tmp as above. Fails:
 * BERTH_ENOMEM. */
berth_status berth_serving_stages(const berth_serving *x, const berth_serving_group *g, berth_arena *mem,
                                  berth_arena *tmp, berth_serving_stage **stage, int32_t *n_stages,
                                  berth_err *err);

/* The plan with the most samples a second that was found. Servers of a kind are divided into equal or unequal
 * parts by a dynamic program, exactly; groups of whole servers, where they beat what their servers have
 * alone, by the linear relaxation, rounded down, and a dynamic program for what is left. All numbers of
 * servers small: by that program alone, exactly. In mem; tmp as above. Fails: BERTH_ELIMIT
 * (simplex.h), BERTH_ENOMEM. */
berth_status berth_serving_solve(const berth_serving *x, berth_arena *mem, berth_arena *tmp,
                                 berth_serving_plan *out, berth_err *err);

/* Do the same devices of each server take part? a and b are of the same servers, at other batches. */
bool berth_serving_same_devices(const berth_serving *a, const berth_serving *b);

/* What layers held singly have to serve more than copies, which are simpler to run. */
#define BERTH_MORE_THAN_COPIES 1.001

/* The layout with the most samples a second that was found on nodes that are the kinds' devices: x [n] are
 * the same model and servers at n batches, of batch [n] samples; a kind's devices are those of `at`, one of
 * them, and batches at which not all of these take part do not count for it. A node has the largest rate of
 * those whose weights, state and tensors it holds: the fewer its layers, the larger the batch may be. What
 * goes on between layers limits the flow, too: what a node passes on at its batch, and what it gets. step_s
 * [x->n_kinds][n_blocks+1], may be NULL: seconds a sample through so many layers, as measured; a kind with
 * any has no others, and holds as many layers as have one (0: that of the next larger number). start: to
 * begin with, and taken itself where little more is found. With at->most_ns no way takes longer: a sample is
 * at a node for a whole step, wherever it comes in, and on the links between. In mem; tmp is scratch, another
 * arena. Fails: as berth_layout_search. */
berth_status berth_serving_lay(const berth_serving *x, const int64_t *batch, int32_t n,
                               const berth_serving *at, const double *step_s, const berth_layers *start,
                               int32_t tries, berth_arena *mem, berth_arena *tmp, berth_layers *out,
                               berth_err *err);

/* The same nodes' flow of given groups, and the bound of all layouts. Fails: as berth_layout_flow. */
berth_status berth_serving_value(const berth_serving *x, const int64_t *batch, int32_t n,
                                 const berth_serving *at, const double *step_s, berth_arena *mem,
                                 berth_arena *tmp, berth_layers *l, berth_err *err);

/* The groups of a plan as those of a layout, in mem. Fails: BERTH_ENOMEM. */
berth_status berth_serving_layout(const berth_serving *x, const berth_serving_plan *plan, berth_arena *mem,
                                  berth_arena *tmp, berth_layers *out, berth_err *err);
