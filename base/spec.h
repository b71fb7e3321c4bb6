/* Specs: NAME[:key=value...] with a table of parameters, as in "zoo:resnet50:batch=8". */
#pragma once

#include "arena.h"

enum { BERTH_SPEC_WORD = 64, BERTH_SPEC_PARAMS = 20 };

/* One parameter. A number in [min, max], or one word of choice (NULL-terminated list; def is then an index
 * into it). */
typedef struct berth_spec_param {
	const char *name, *about;
	double def, min, max;
	bool whole;                /* only whole numbers */
	const char *const *choice; /* NULL: a number */
} berth_spec_param;

/* A named table of at most BERTH_SPEC_PARAMS parameters. */
typedef struct berth_spec_table {
	const char *kind, *name; /* "model 'resnet50'" in messages */
	const berth_spec_param *param;
	int32_t n;
} berth_spec_table;

/* The name at the front of text (no prefix), cut at BERTH_SPEC_WORD - 1; returns what follows it. */
const char *berth_spec_name(const char *text, char name[BERTH_SPEC_WORD]);

/* The ":key=value" pairs of rest into value [t->n], defaults elsewhere. spec is the whole for messages.
 * Fails: BERTH_EINVAL (an unknown key, naming the nearest; one that stands twice or without a value; a value
 * out of its range). */
berth_status berth_spec_values(const char *spec, const char *rest, const berth_spec_table *t, double value[],
                               berth_err *err);

/* NAME[:key=value...] with keys in table order and without defaults, in mem; NULL when memory runs out. */
const char *berth_spec_canonical(const berth_spec_table *t, const double value[], berth_arena *mem);
