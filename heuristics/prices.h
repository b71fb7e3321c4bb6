/* What an objective pays, around a placement at hand, for a nanosecond of latency and for a joule above
 * idling: its slopes there. With them an estimate of the latency and the joules that a move changes rank
 * moves under objectives of latency, energy and the energy-delay product. The joules of a whole placement are
 * exact but for slow-downs in memory pools; those of placing anew are an estimate, as later operators have no
 * device yet. */
#ifndef BERTH_PRICES_H
#define BERTH_PRICES_H

#include "dests.h"
#include "incremental.h"
#include "objective.h"

typedef struct berth_prices {
	const berth_problem *p;
	const berth_objective *objective;
	double idle_w;          /* of all devices */
	double per_ns, per_joule; /* 1 and 0 where latency is all that counts */
	int64_t serial;         /* of the base that they are of */
	int64_t *seen, stamp;   /* [n_tensors] scratch */
	berth_dests dests;      /* scratch */
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

#endif
