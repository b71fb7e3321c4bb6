/* --replicas: several copies of the model on the machine at once, for throughput. */
#pragma once

#include "budget.h"
#include "json.h"
#include "replicas.h"

typedef struct place_replicas {
	const char *asked; /* "auto" or a number; NULL: one copy, as ever */
	berth_replicas r;
} place_replicas;

/* Copies are for throughput alone. Fails: BERTH_EINVAL. */
berth_status place_replicas_check(const berth_objective *objective, berth_err *err);

/* A share of the times of --time, which hold from the start of the program, for all searches
 * that choose copies. */
void place_replicas_limit(const cli *c, double share, berth_search_cfg *cfg);

/* The number of --replicas; with auto *least and *most stay. Fails: BERTH_EINVAL. */
berth_status place_replicas_number(const char *text, int32_t *least, int32_t *most, berth_err *err);

/* Choose the number of copies by searches of their own, with the budget each. g becomes all of them, parts as
 * in graph_union.h. Where none has a placement g becomes the least number asked for. Fails: BERTH_EINVAL (no
 * such number, another objective than throughput), and as berth_replicas_choose. */
berth_status place_replicas_choose(cli *c, const cli_budget *budget, const berth_objective *objective,
                                   const berth_method *method, const berth_system *s, place_replicas *x,
                                   berth_graph *g, berth_graph_parts *parts, berth_err *err);

/* A line about them; value of the answer. */
void place_replicas_print(const place_replicas *x, double value);
