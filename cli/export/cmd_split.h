/* Parts of `berth split`: the search of --on SYSTEM, and what is told. */
#pragma once

#include "budget.h"
#include "options.h"
#include "pieces.h"
#include "print.h"
#include "split_model.h"

typedef struct split_search_args {
	const char *on; /* NULL: nothing is searched for */
	const char *method, *plan;
	const char *profile; /* a profile of the model; NULL: none */
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

/* Search for what q asks, whose model, words and graph are set. made is the new model. Fails: as
 * cli_system_load and berth_split_search; BERTH_EINFEASIBLE (no placement fits). */
berth_status split_search_run(cli *c, const split_search_args *a, const berth_split_request *q,
                              split_search *x, pieces_model *made, berth_err *err);

/* ---- what is told ---- */

typedef struct split_told {
	const char *out, *data; /* files; data NULL: none was named */
	const pieces_model *p;
	const berth_graph *before, *after;
	const split_search *search; /* NULL: what is cut was said */
} split_told;

/* The document, or text. Fails: BERTH_ENOMEM. */
berth_status split_tell(cli *c, const split_told *t, berth_err *err);
