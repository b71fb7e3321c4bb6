/* What would let a language model fit that does not (decoder_smaller.h), told in words of the command line.
 */
#pragma once

#include "cli.h"
#include "decoder_smaller.h"
#include "place_decoder.h"
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

typedef struct place_smaller {
	berth_smaller found;
	const char *text[BERTH_MOST_SMALLER]; /* [found.n] "context=6144" */
} place_smaller;

/* berth_smaller_find for the model of x. */
berth_status place_smaller_find(cli *c, place_decoder *x, const berth_search_cfg *cfg,
                                const berth_patience *until, place_smaller *out, berth_err *err);

void place_smaller_print(const place_smaller *s);
extern const berth_result_kind smaller_kind;
const berth_result_list *place_smaller_list(cli *c, const place_smaller *s);
