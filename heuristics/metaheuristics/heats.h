/* Which cooling run of annealing comes next: its first temperature and its length. Runs come in rounds, one
 * at each temperature, and each round is twice as long as the one before. A temperature that gained nothing
 * where another one did has its share of the round halved, so that steps go where they pay: which temperature
 * that is differs from graph to graph and changes on the way. None falls below a sixteenth, for what has
 * frozen. The sequence follows from the gains alone, not from a budget or a clock. */
#ifndef BERTH_HEATS_H
#define BERTH_HEATS_H

#include "eval.h"

enum { BERTH_HEATS = 3, BERTH_HEATS_FIRST_STEPS = 500 };

typedef struct berth_heats {
	const double *first_temperature; /* [BERTH_HEATS] */
	int64_t n_steps;            /* of a run with a whole share */
	int32_t at;                 /* the temperature of the present run */
	double share[BERTH_HEATS];  /* of n_steps */
	double gain[BERTH_HEATS];   /* of this round: fall of the value's logarithm for each step */
} berth_heats;

/* first_temperature [BERTH_HEATS] is borrowed. */
void berth_heats_begin(berth_heats *h, const double *first_temperature);

/* The present run: first temperature, relative to the value, and steps. */
double berth_heats_temperature(const berth_heats *h);
int64_t berth_heats_steps(const berth_heats *h);

/* It has been made, and the incumbent went from one score to another. The next one is the present one. */
void berth_heats_tell(berth_heats *h, berth_score before, berth_score after);

#endif
