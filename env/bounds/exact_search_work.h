/* What the parts of the exact search share. See exact_search.h. */
#pragma once

#include "exact_search.h"

enum { SMALL_PRICES = 80, SMALL_MAX_HOPS = 8 };

/* Work on one machine that takes one job at a time: earliest start, time, least time after it. */
typedef struct exact_search_job {
	int64_t head, time, tail;
} exact_search_job;

typedef struct exact_search_tensor {
	int32_t producer, n_uses, class;
	const int32_t *use; /* consumers, ascending */
} exact_search_tensor;

/* A tensor on its way to a device, in the placement at hand. */
typedef struct exact_search_move {
	int32_t tensor, dest;
} exact_search_move;

struct berth_exact_search {
	const berth_problem *p;
	int32_t n, n_devs, n_tensors, n_edges, n_prices;
	int64_t *time;        /* [n][n_devs] -1: not allowed */
	int64_t *release;     /* [n][n_devs] earliest start, by what is not in the instance */
	int64_t *after;       /* [n][n_devs] least time after the end, by what is not in the instance */
	int64_t *tail;        /* [n][n_devs] critical earliest finish, backwards */
	int32_t *leader;      /* [n] first operator of its colocation group */
	int64_t *pool_ns;     /* [n][n_devs] load on the device's memory pool */
	int64_t *bytes;       /* [n] that stay on its device for good */
	int64_t *held_before; /* [n_devs] bytes that a device holds already */
	exact_search_tensor *tensor; /* [n_tensors] */
	int32_t *in_off, *in;        /* inputs of each operator: tensors */
	int32_t *out_off;            /* [n+1] tensors are grouped by producer */
	uint64_t *above;             /* [n] operators before it, by precedence */
	double *price;               /* [n_prices][n_devs] sum of price * slots = 1 */
	double *rest;                /* [n+1][n_prices] least priced work of operators from i on */
	int64_t *pool_rest;          /* [n+1][n_pools] least load of operators from i on */
	int32_t *mirror;             /* [n_devs] an earlier device that looks the same; -1: none */
	bool ties_matter;            /* mirrored placements may differ in who goes first on a channel */

	/* state */
	const berth_exact_search_cfg *cfg;
	int32_t *dev;            /* [n] -1: open */
	int64_t *head;           /* [n] */
	int64_t *load;           /* [n_devs] */
	int64_t *pool_load;      /* [n_pools] */
	int64_t *held;           /* [n_devs] bytes */
	int32_t *count;          /* [n_devs] */
	exact_search_job *job;   /* [max(n, hops)] scratch */
	exact_search_move *move; /* [n_edges] */
	int32_t *order;          /* [n] */
	int64_t upper, open, best, nodes;
	int32_t depth; /* of the second level */
	bool stopped, left_open;
};

static inline int64_t exact_search_time(const berth_exact_search *x, int32_t i, int32_t d)
{
	return x->time[i * x->n_devs + d];
}

static inline int64_t exact_search_transfer(const berth_exact_search *x, int32_t class, int32_t from,
                                            int32_t to)
{
	return x->p->class_pair_ns[berth_class_cell(x->p, class, from, to)];
}

/* Lower bound of all devices and channels for operators 0 .. n_placed-1 on x->dev, heads x->head, tails
 * tail[i * stride + (stride > 1 ? dev : 0)]. */
int64_t exact_search_machines(berth_exact_search *x, int32_t n_placed, const int64_t *head,
                              const int64_t *tail, int32_t stride);

/* Sets x->mirror and x->ties_matter. With ties that matter and a caller that scores, there are no mirrors. */
void exact_search_mirrors(berth_exact_search *x);

/* One node more. False, with lower noted as open, when a limit is reached. */
bool exact_search_step(berth_exact_search *x, int64_t lower);

/* What is below a node of that bound is left open: the result is not complete. */
void exact_search_leave(berth_exact_search *x, int64_t lower);

/* A schedule of that length was found, or a relaxation that ends there. */
void exact_search_found(berth_exact_search *x, int64_t value);

/* The second level, for the complete placement x->dev. */
void exact_search_order(berth_exact_search *x, int64_t lower);
