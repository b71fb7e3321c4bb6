/* `berth split --on SYSTEM`: what is cut, and where the pieces go, found by the search over cuts. */
#ifndef BERTH_CLI_SPLIT_SEARCH_H
#define BERTH_CLI_SPLIT_SEARCH_H

#include "budget.h"
#include "options.h"
#include "print.h"
#include "split_model.h"

typedef struct split_search_args {
	const char *on; /* NULL: nothing is searched for */
	const char *method, *plan;
	const char *times; /* a profile of the model; NULL: none */
	cli_budget budget;
} split_search_args;

typedef struct split_search {
	const split_search_args *a;
	berth_system s;
	berth_graph timed;               /* the model's graph with times, of a->times */
	berth_graph ruled;               /* the model's graph with --pin and --forbid */
	berth_graph placed;              /* that, or its training step */
	berth_training_options training; /* of the step */
	berth_split_request q;
	berth_split_answer x;
} split_search;

/* Options of the search are for it alone: none is given without `on`. usual: what they are where they are not
 * given. Fails: BERTH_EINVAL. */
berth_status split_search_check(const cli *c, const split_search_args *a, const split_search_args *usual,
                                berth_err *err);

/* Search for what q asks, whose model, words and graph are set. made is the new model. Fails: as
 * cli_system_load and berth_split_search; BERTH_EINFEASIBLE (no placement fits). */
berth_status split_search_run(cli *c, const split_search_args *a, const berth_split_request *q,
                              split_search *x, pieces_model *made, berth_err *err);

void split_search_put(berth_json_out *w, const split_search *x);
/* out: the new model's file. Fails: BERTH_ENOMEM. */
berth_status split_search_print(cli *c, const split_search *x, const char *out, berth_err *err);

#endif
