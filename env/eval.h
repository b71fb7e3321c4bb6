/* Objectives and the score of a placement. One berth_eval belongs to one thread. */
#ifndef BERTH_EVAL_H
#define BERTH_EVAL_H

#include "sim.h"

typedef enum berth_objective { BERTH_LATENCY, BERTH_THROUGHPUT, BERTH_ENERGY, BERTH_EDP, BERTH_POWER } berth_objective;
enum { BERTH_N_OBJECTIVES = 5 };

/* "latency", ...; unit of the value: "s", "s/sample", "J", "J s", "W". */
const char *berth_objective_name(berth_objective o);
const char *berth_objective_unit(berth_objective o);
/* Fails: BERTH_EINVAL naming the known ones. */
berth_status berth_objective_parse(const char *name, berth_objective *out, berth_err *err);
/* BERTH_EFORMAT where the system has too little for the objective (energy without watts). */
berth_status berth_objective_check(berth_objective o, const berth_problem *p, berth_err *err);
/* Value of a simulated placement, smaller is better in all: seconds, seconds per sample, joules, joule-seconds, watts (0 for an empty run). */
double berth_objective_value(berth_objective o, const berth_sim_result *r);

/* Score of a placement: those that fit memory by value, before all others by excess (see berth_sim_result). Smaller is better. */
typedef struct berth_score {
	double excess, value;
} berth_score;

static inline bool berth_score_less(berth_score a, berth_score b)
{
	return a.excess != b.excess ? a.excess < b.excess : a.value < b.value;
}

static inline bool berth_score_feasible(berth_score s)
{
	return !(s.excess > 0);
}

/* The score that any placement improves on. */
berth_score berth_score_worst(void);

typedef struct berth_eval {
	const berth_problem *p;
	berth_objective objective;
	berth_sim *sim;
} berth_eval;

berth_status berth_eval_new(const berth_problem *p, berth_objective objective, berth_arena *mem, berth_eval *out, berth_err *err);

/* One evaluation by the reference simulator. Pins, forbidden devices and colocation are the caller's care; an operator on a device that cannot
 * run it gives infinite excess. order as in berth_sim_run. */
berth_score berth_eval_run(berth_eval *e, const int32_t *op_dev, const int32_t *order);

#endif
