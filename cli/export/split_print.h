/* What `berth split` tells: what was cut, what was not and why, and what it costs. */
#ifndef BERTH_CLI_SPLIT_PRINT_H
#define BERTH_CLI_SPLIT_PRINT_H

#include "graph.h"
#include "pieces.h"
#include "split_search.h"

typedef struct split_told {
	const char *out, *data; /* files; data NULL: none was named */
	const pieces_model *p;
	const berth_graph *before, *after;
	const split_search *search; /* NULL: what is cut was said */
} split_told;

/* Fails: BERTH_ENOMEM. */
berth_status split_print_json(cli *c, const split_told *t, berth_err *err);
berth_status split_print_text(cli *c, const split_told *t, berth_err *err);

#endif
