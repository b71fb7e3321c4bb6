/* The models that a plan of several copies is of, told for other verbs to be given in that order. */
#pragma once

#include "cli.h"
#include "placement.h"

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
