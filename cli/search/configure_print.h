/* What berth configure tells. */
#ifndef BERTH_CLI_CONFIGURE_PRINT_H
#define BERTH_CLI_CONFIGURE_PRINT_H

#include "budget.h"
#include "cli.h"
#include "configure.h"
#include "copies_print.h"

typedef struct configure_view {
	berth_configure_cfg cfg;
	const int64_t *batch;     /* [n_batches] */
	const berth_graph *graph; /* [n_batches] with measured times, where some are given */
	const berth_graph *model; /* [n_batches] without them */
	int32_t n_batches;
	berth_system s;
	berth_cluster cluster;
	berth_copies copies;
	berth_configured r;
	copies_plan plan;
} configure_view;

/* The document, on standard output. Fails: BERTH_ENOMEM. */
berth_status configure_put(cli *c, const configure_view *v, berth_err *err);

/* As text; something was found. Fails: BERTH_ENOMEM. */
berth_status configure_print(cli *c, const configure_view *v, berth_err *err);

#endif
