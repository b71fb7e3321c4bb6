/* The parts of berth show, one a kind of input. */
#ifndef BERTH_CLI_SHOW_H
#define BERTH_CLI_SHOW_H

#include "cli.h"
#include "options.h"

typedef struct show_args {
	const char *input;                            /* what is shown */
	const char *on, *placement, *dot, *out, *op; /* NULL: not given */
	cli_texts dim;
	int64_t coarsen;                              /* 0: not given */
} show_args;

berth_status show_graph(cli *c, const show_args *a, berth_err *err);
berth_status show_system(cli *c, const show_args *a, berth_err *err);
berth_status show_policy(cli *c, const show_args *a, berth_err *err);
berth_status show_placement(cli *c, const show_args *a, berth_err *err);

#endif
