/* Why a problem is infeasible, and what would have to give way. */
#ifndef BERTH_CLI_REPORT_CONFLICT_H
#define BERTH_CLI_REPORT_CONFLICT_H

#include "cli.h"
#include "json.h"
#include "relax.h"

typedef struct report_infeasible {
	berth_infeasible_subset subset;
	berth_relaxations relax;
} report_infeasible;

/* Find both. op_dev is the least infeasible placement that was found, with its order, or NULL. until is that
 * of relax.h. Fails: BERTH_ENOMEM. */
berth_status report_infeasible_find(cli *c, const berth_problem *p, const berth_objective *o,
                                    const int32_t *op_dev, const int32_t *order, const berth_patience *until,
                                    report_infeasible *out, berth_err *err);

/* "conflict":{proven, smallest, cut_short, rules:[{kind, op, device, group, metric, message}]},
 * "relaxations":[{...the rule, add_bytes, most, least, text}], "relaxations_together". */
void report_put_infeasible(berth_json_out *w, const berth_problem *p, const report_infeasible *x);

/* The same as text. */
void report_print_infeasible(const report_infeasible *x);

#endif
