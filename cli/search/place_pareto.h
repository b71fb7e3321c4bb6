/* The part of berth place that searches for a Pareto front of two objectives. */
#pragma once

#include "bounds.h"
#include "budget.h"

typedef struct place_pareto_args {
	cli_texts objectives; /* two */
	const char *report;   /* file for a page; NULL: none */
	const char *out;      /* a pattern with one %d, the number of the point; NULL: no files */
} place_pareto_args;

/* Search, write and print. Fails: BERTH_EINVAL (not two objectives, a bad pattern), BERTH_EINFEASIBLE (no
 * point), as berth_pareto_search, BERTH_EIO. */
berth_status place_pareto(cli *c, const place_pareto_args *a, const cli_budget *budget,
                          const berth_problem *p, const berth_bounds *bounds, berth_err *err);
