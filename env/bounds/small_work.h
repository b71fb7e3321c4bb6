/* What the parts of the exact search share. See small.h. */
#ifndef BERTH_SMALL_WORK_H
#define BERTH_SMALL_WORK_H

#include "small.h"

enum { SMALL_PRICES = 80, SMALL_MAX_HOPS = 8 };

/* Work on one machine that takes one job at a time: earliest start, time, least time after it. */
typedef struct small_job {
	int64_t head, time, tail;
} small_job;

typedef struct small_tensor {
	int32_t producer, n_uses, class;
	const int32_t *use;      /* consumers, ascending */
} small_tensor;

/* A tensor on its way to a device, in the placement at hand. */
typedef struct small_move {
	int32_t tensor, dest;
} small_move;

struct berth_small {
	const berth_problem *p;
	int32_t n, n_devs, n_tensors, n_edges, n_prices;
	int64_t *time;            /* [n][n_devs] -1: not allowed */
	int64_t *release;         /* [n][n_devs] earliest start, by what is not in the instance */
	int64_t *after;           /* [n][n_devs] least time after the end, by what is not in the instance */
	int64_t *tail;            /* [n][n_devs] critical earliest finish, backwards */
	int32_t *leader;          /* [n] first operator of its colocation group */
	int64_t *bytes;           /* [n] that stay on its device for good */
	int64_t *held_before;     /* [n_devs] bytes that a device holds already */
	small_tensor *tensor;     /* [n_tensors] */
	int32_t *in_off, *in;     /* inputs of each operator: tensors */
	int32_t *out_off;         /* [n+1] tensors are grouped by producer */
	uint64_t *above;          /* [n] operators before it, by precedence */
	double *price;            /* [n_prices][n_devs] sum of price * slots = 1 */
	double *rest;             /* [n+1][n_prices] least priced work of operators from i on */
	int32_t *mirror;          /* [n_devs] an earlier device that looks the same; -1: none */
	bool ties_matter;         /* mirrored placements may differ in who goes first on a channel */

	/* state */
	const berth_small_cfg *cfg;
	int32_t *dev;             /* [n] -1: open */
	int64_t *head;            /* [n] */
	int64_t *load;            /* [n_devs] */
	int64_t *held;            /* [n_devs] bytes */
	int32_t *count;           /* [n_devs] */
	small_job *job;           /* [max(n, hops)] scratch */
	small_move *move;         /* [n_edges] */
	int32_t *order;           /* [n] */
	int64_t upper, open, best, nodes;
	bool stopped;
};

static inline int64_t small_time(const berth_small *x, int32_t i, int32_t d)
{
	return x->time[i * x->n_devs + d];
}

static inline int64_t small_transfer(const berth_small *x, int32_t class, int32_t from, int32_t to)
{
	return x->p->class_pair_ns[((size_t)class * (size_t)x->n_devs + (size_t)from) * (size_t)x->n_devs + (size_t)to];
}

/* Least time in which one machine does all jobs, with heads and tails, preemption allowed: a lower bound without. job is changed. 0 for none. O(n^2). */
int64_t small_one_machine(small_job *job, int32_t n);

/* Lower bound of all devices and channels for operators 0 .. n_placed-1 on x->dev, heads x->head, tails tail[i * stride + (stride > 1 ? dev : 0)]. */
int64_t small_machines(berth_small *x, int32_t n_placed, const int64_t *head, const int64_t *tail, int32_t stride);

/* One node more. False, with lower noted as open, when a limit is reached. */
bool small_step(berth_small *x, int64_t lower);

/* A schedule of that length was found, or a relaxation that ends there. */
void small_found(berth_small *x, int64_t value);

/* The second level, for the complete placement x->dev. */
void small_order(berth_small *x, int64_t lower);

#endif
