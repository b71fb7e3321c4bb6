/* Annealing within `berth`: of placements by the system's order rule and of placements together with orders,
 * in turn. */
#ifndef BERTH_COOLING_H
#define BERTH_COOLING_H

#include "anneal.h"
#include "heats.h"

typedef struct berth_cooling {
	berth_search *s;
	berth_heats heats;
	berth_annealer *by_rule, *with_order; /* with_order NULL: orders are not searched */
	double order_share;         /* steps with orders for each step by the rule */
	int32_t *rule_dev;          /* [n_ops] the best by the rule */
	berth_score rule_score;
	int32_t *order_dev;         /* [n_ops] the best with an order, */
	uint32_t *order_key;        /* [n_ops] and its keys */
	berth_score order_score;
} berth_cooling;

/* In mem. orders: search orders too, where the system lets them count. Fails: BERTH_ENOMEM. */
berth_status berth_cooling_new(berth_search *s, bool orders, berth_arena *mem, berth_cooling *out,
                               berth_err *err);

/* Go on from op_dev [n_ops] if it is better than what is known, with its score by the rule. */
void berth_cooling_consider(berth_cooling *c, const int32_t *op_dev, berth_score score);

/* Steps of the next run by the rule. */
int64_t berth_cooling_steps(const berth_cooling *c);

/* The next run of heats.h, of each kind. The one with orders has about as many steps for each by the rule as
 * order_share says, which follows what the two gained last. It is left out in rounds below 2,000 steps.
 * *ended: the budget is at its end. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_cooling_run(berth_cooling *c, bool *ended, berth_arena *tmp, berth_err *err);

/* Runs until the budget is at its end. */
berth_status berth_cooling_finish(berth_cooling *c, berth_arena *tmp, berth_err *err);

#endif
