/* Cooling runs of annealing one after the other (anneal.h), of growing length: which comes next, and those
 * within `berth`, of placements by the system's order rule and of placements together with orders in turn. */
#pragma once

#include "anneal.h"
#include "order_walk.h"
#include "screen.h"

enum { BERTH_HEATS_FIRST_STEPS = 500 };

/* Which cooling run comes next: its first temperature and its length. Runs come in rounds, one at each
 * temperature, and each round is twice as long as the one before. A temperature that gained nothing where
 * another one did has its share of the round halved, so that steps go where they pay: which temperature that
 * is differs from graph to graph and changes on the way. None falls below a sixteenth, for what has frozen.
 * The sequence follows from the gains alone, not from a budget or a clock. */
typedef struct berth_heats {
	const double *first_temperature; /* [BERTH_HEATS] */
	int64_t n_steps;                 /* of a run with a whole share */
	int32_t at;                      /* the temperature of the present run */
	double share[BERTH_HEATS];       /* of n_steps */
	double gain[BERTH_HEATS];        /* of this round: fall of the value's logarithm for each step */
} berth_heats;

/* first_temperature [BERTH_HEATS] is borrowed. */
void berth_heats_begin(berth_heats *h, const double *first_temperature);

/* The present run: first temperature, relative to the value, and steps. */
double berth_heats_temperature(const berth_heats *h);
int64_t berth_heats_steps(const berth_heats *h);

/* It has been made, and the incumbent went from one score to another. The next one is the present one. */
void berth_heats_tell(berth_heats *h, berth_score before, berth_score after);

/* Annealing within `berth`. */
typedef struct berth_cooling {
	berth_search *s;
	berth_heats heats;
	bool moves; /* some operator may change its device; else orders are all there is */
	berth_annealer *by_rule, *with_order; /* with_order NULL: orders are not searched */
	double order_share;                   /* steps with orders for each step by the rule */
	berth_order_walk *walk;               /* over given orders; NULL: keys tell enough of them */
	double walk_share;                    /* its time for that of steps by the rule */
	int32_t *rule_dev;                    /* [n_ops] the best by the rule */
	berth_score rule_score;
	int32_t *order_dev;  /* [n_ops] the best with an order, */
	uint32_t *order_key; /* [n_ops] and its keys */
	berth_score order_score;
} berth_cooling;

/* In mem. orders: search orders too, where the system lets them count. Fails: BERTH_ENOMEM. */
berth_status berth_cooling_new(berth_search *s, bool orders, berth_arena *mem, berth_cooling *out,
                               berth_err *err);

/* Go on from op_dev [n_ops] if it is better than what is known, with its score by the rule. */
void berth_cooling_consider(berth_cooling *c, const int32_t *op_dev, berth_score score);

/* Steps of the next run by the rule. */
int64_t berth_cooling_steps(const berth_cooling *c);

/* The next run by heats, of each kind. The one with orders has about as many steps for each by the rule as
 * order_share says, which follows what the two gained last. It is left out in rounds below 2,000 steps,
 * and so is the walk over given orders but where its steps are quick. *ended: the budget
 * is at its end. tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_cooling_run(berth_cooling *c, bool *ended, berth_arena *tmp, berth_err *err);

/* Runs until the budget is at its end. */
berth_status berth_cooling_finish(berth_cooling *c, berth_arena *tmp, berth_err *err);
