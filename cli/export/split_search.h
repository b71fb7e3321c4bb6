/* `berth split --on SYSTEM`: what is cut, and where the pieces go, found by the search over cuts. */
#ifndef BERTH_CLI_SPLIT_SEARCH_H
#define BERTH_CLI_SPLIT_SEARCH_H

#include "budget.h"
#include "cut_explain.h"
#include "graph_format.h"
#include "options.h"
#include "print.h"

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
	berth_graph placed_graph;        /* that, or its training step */
	berth_training_options training; /* of the step */
	berth_problem p, placed;         /* of the model's graph, and of placed_graph */
	berth_bounds bounds;
	berth_cutting c;
	berth_cut_result r;
	berth_cut_gain *gain; /* [n_gains] where something is cut */
	int32_t n_gains;
} split_search;

/* Options of the search are for it alone: none is given without `on`. usual: what they are where they are not
 * given. Fails: BERTH_EINVAL. */
berth_status split_search_check(const cli *c, const split_search_args *a, const split_search_args *usual,
                                berth_err *err);

/* Search. made is the best program; nothing is cut in it where whole operators are better.
 *   g      the model's graph         model, read  its file, and how it was read
 *   after  how the new model is read: without what is fixed in it
 * Fails: as cli_system_load and berth_cut_search; BERTH_EINFEASIBLE (no placement fits). */
berth_status split_search_run(cli *c, const split_search_args *a, const berth_graph *g,
                              const berth_content *model, const berth_read_options *read,
                              const berth_read_options *after, const char *outside, split_search *x,
                              pieces_model *made, berth_err *err);

/* The plan of the answer, for the graph of the new model or its training step: text [size], in the command's
 * memory. Fails: BERTH_ENOMEM. */
berth_status split_search_plan(cli *c, const split_search *x, const berth_graph *after, const char **text,
                               size_t *size, berth_err *err);

void split_search_put(berth_json_out *w, const split_search *x);
/* out: the new model's file. Fails: BERTH_ENOMEM. */
berth_status split_search_print(cli *c, const split_search *x, const char *out, berth_err *err);
/* The device of that operator of the new model; NULL: there is none of that name. O(operators). */
const char *split_search_device(const split_search *x, const char *piece);

#endif
