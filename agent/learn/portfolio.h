/* The portfolio from which the agent starts: the answers of a few heuristics. The best single device is the
 * reference of rewards. */
#pragma once

#include "search.h"

typedef struct berth_portfolio_answer {
	const char *method;
	berth_score score;
	int32_t *op_dev; /* [n_ops] */
} berth_portfolio_answer;

typedef struct berth_portfolio {
	int32_t n, best;  /* best: index of the best score, ties to the first */
	berth_portfolio_answer answer[BERTH_MOST_SEEDS];
	double reference; /* value of the best single device, even where it exceeds memory */
} berth_portfolio;

/* Run the seeds (seeds.h), each repaired for memory. s keeps the best and counts the evaluations; where it is
 * cancelled the first answers are all. Placements live in mem. Fails: BERTH_ENOMEM. */
berth_status berth_portfolio_run(berth_search *s, berth_arena *mem, berth_arena *tmp, berth_portfolio *out,
                                 berth_err *err);

/* Value of the best single device alone, for rewards. Its evaluations count. Its placement is not kept. */
berth_status berth_single_reference(berth_search *s, double *value, berth_arena *tmp, berth_err *err);
