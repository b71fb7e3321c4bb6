/* What a move changes, without simulating it: joules and their price (berth_prices), and loads of devices,
 * channels and memory pools (berth_loads). */
#pragma once

#include "incremental.h"
#include "objective.h"
#include "problem_tables.h"
#include "rng.h"

/* Where a tensor goes in a placement. */

/* Scratch: marks on devices. */
typedef struct berth_dests {
	int64_t *at, stamp; /* [n_devs] */
	int32_t *dev, n;    /* [n_devs] the devices other than its producer's that take a tensor, each once */
} berth_dests;

/* In mem. Fails: BERTH_ENOMEM. */
static inline berth_status berth_dests_new(const berth_problem *p, berth_arena *mem, berth_dests *out,
                                           berth_err *err)
{
	berth_dests x = {.n = 0};
	BERTH_TRY_NEW(mem, p->n_devs, err, x.at, x.dev);
	*out = x;
	return BERTH_OK;
}

/* Those of tensor t under op_dev [n_ops]. O(its uses). */
static inline void berth_dests_find(berth_dests *x, const berth_graph *g, int32_t t, const int32_t *op_dev)
{
	x->at[op_dev[g->tensor_producer[t]]] = ++x->stamp;
	x->n = 0;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t d = op_dev[g->edge_consumer[e]];
		if (x->at[d] != x->stamp)
			x->dev[x->n++] = d;
		x->at[d] = x->stamp;
	}
}

/* What an objective pays, around a placement at hand, for a nanosecond of latency and for a joule above
 * idling: its slopes there. With them an estimate of the latency and the joules that a move changes rank
 * moves under objectives of latency, energy and the energy-delay product. The joules of a whole placement are
 * exact but for slow-downs in memory pools; those of placing anew are an estimate, as later operators have no
 * device yet. */

typedef struct berth_prices {
	const berth_problem *p;
	const berth_objective *objective;
	double idle_w;            /* of all devices */
	double per_ns, per_joule; /* 1 and 0 where latency is all that counts */
	int64_t serial;           /* of the base that they are of */
	int64_t *seen, stamp;     /* [n_tensors] scratch */
	berth_dests dests;        /* scratch */
} berth_prices;

/* Is the objective one of latency and energy alone, with whatever limits? Others have no slopes here. */
bool berth_prices_known(const berth_objective *o);

/* In mem; objective is borrowed. Fails: BERTH_ENOMEM. */
berth_status berth_prices_new(const berth_problem *p, const berth_objective *objective, berth_arena *mem,
                              berth_prices *out, berth_err *err);

/* Bring them up to the base that was logged. O(ops + hops). */
void berth_prices_update(berth_prices *x, const berth_base_log *base);

/* Joules above idling that op_dev [n_ops] takes more than base_dev [n_ops], which differs in op [n] at most.
 * O(uses of the tensors that they make and take). */
double berth_prices_joules(berth_prices *x, const int32_t *base_dev, const int32_t *op_dev, int32_t n,
                           const int32_t *op);

/* Joules of op on d with its inputs brought there and its outputs to whom `stays` says so; an estimate where
 * others are to move, too. O(its edges). */
double berth_prices_joules_at(const berth_prices *x, int32_t op, int32_t d, const int32_t *op_dev,
                              bool (*stays)(const void *ctx, int32_t op), const void *ctx);

/* Loads of devices, channels and memory pools in a placement, and what a move does to them: without
 * simulation, and exact where all operators have a device. Placing anew estimates: what comes later is taken
 * to be near. What ranks moves is a potential, the sum over all of (load / largest load)^16: the largest load
 * alone says nothing of moves that leave it as it is (as in the greedy for unlike machines of J. Aspnes, Y.
 * Azar, A. Fiat, S. Plotkin, O. Waarts, "On-line routing of virtual circuits with applications to load
 * balancing and machine scheduling", Journal of the ACM 44, 1997, section 3, with a power for their
 * exponential). */

typedef struct berth_loads {
	const berth_problem *p;
	int32_t n;             /* resources: devices, channels, pools */
	double *load;          /* [n] of the placement at hand, ns of one sample */
	double most;           /* the largest */
	double *trial;         /* [n] of a candidate; that of load where it is not touched */
	int64_t *touched;      /* [n] stamps */
	int32_t *list, n_list; /* [n] what is touched */
	int64_t *seen;         /* [n_tensors] stamps */
	int64_t *moves;        /* [n_ops] stamps: what has no device yet */
	int64_t *placed;       /* [n_colocs] stamps: whose device is known */
	int64_t stamp;
	int32_t top; /* the resource of the largest load */
	bool found;  /* scratch of visits */
	double growth;
	berth_dests dests;
} berth_loads;

/* In mem. Fails: BERTH_ENOMEM. */
berth_status berth_loads_new(const berth_problem *p, berth_arena *mem, berth_loads *out, berth_err *err);

/* The placement at hand is op_dev [n_ops]. O(ops + uses of tensors). */
void berth_loads_begin(berth_loads *x, const int32_t *op_dev);

/* Is op, or a tensor that it makes or takes, on what has the largest load? */
bool berth_loads_critical(berth_loads *x, int32_t op, const int32_t *op_dev);

/* How the potential changes where op_dev [n_ops] differs from base_dev, the placement at hand, in op [n] at
 * most. O(uses of the tensors that they make and take). */
double berth_loads_change(berth_loads *x, const int32_t *base_dev, const int32_t *op_dev, int32_t n,
                          const int32_t *op);

/* Place op [n], in topological order, anew: whole colocation groups, each with its first operator where the
 * potential grows least, with what comes later taken to be near. noise: mean of what is added to each growth,
 * exponentially. op_dev, which holds the placement at hand, is written. O(n * devices * degree). */
void berth_loads_place(berth_loads *x, int32_t n, const int32_t *op, double noise, berth_rng *rng,
                       int32_t *op_dev);
