/* Why a problem is infeasible, and what would have to give way. */
#pragma once

#include "cli.h"
#include "relax.h"
#include "result.h"

typedef struct report_infeasible {
	berth_infeasible_subset subset;
	berth_relaxations relax;
} report_infeasible;

/* Find both. op_dev is the least infeasible placement that was found, with its order, or NULL. until is that
 * of relax.h. Fails: BERTH_ENOMEM. */
berth_status report_infeasible_find(cli *c, const berth_problem *p, const berth_objective *o,
                                    const int32_t *op_dev, const int32_t *order, const berth_patience *until,
                                    report_infeasible *out, berth_err *err);

extern const berth_result_kind infeasible_kind;
/* In c->mem. */
const berth_result *report_infeasible_result(cli *c, const berth_problem *p, const report_infeasible *x);

/* The same as text. */
void report_print_infeasible(const report_infeasible *x);
