/* --replicas: several copies of the model on the machine at once, for throughput. The models that a plan of
 * several copies is of are told for other verbs to be given in that order. */
#pragma once

#include "budget.h"
#include "cli.h"
#include "json.h"
#include "placement.h"
#include "replicas.h"

typedef struct place_replicas {
	const char *asked; /* "auto" or a number; NULL: one copy, as ever */
	berth_replicas r;
} place_replicas;

/* --replicas is for throughput alone. Fails: BERTH_EINVAL. */
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

typedef struct copies_plan {
	const char *out;    /* where it was written; NULL: it was not */
	const char **model; /* [n] a copy each, as on a command line */
	int32_t n;
} copies_plan;

/* *model: the spec with more words behind it; NULL: none. In c->mem. Fails: BERTH_ENOMEM. */
berth_status copies_model(cli *c, const char *spec, const char *words, const char **model, berth_err *err);

/* Write it to p->out. Fails: as berth_placement_write. */
berth_status copies_write(cli *c, const copies_plan *p, const berth_placement *placement,
                          const berth_graph *g, const berth_system *s, berth_err *err);

/* "written to OUT: a plan of MODEL MODEL", what: words behind OUT. Nothing where it was not written. */
void copies_print(const copies_plan *p, const char *what);

/* How many copies of one model the command line gives; 0: one model, or unlike ones. */
int32_t copies_given(const cli *c);

/* A line with the time a sample and the samples a second of n copies whose period has one of each. Nothing
 * for n = 0. */
void copies_print_rate(int32_t n, double period_s);
