/* The parts of berth show, one a kind of input. */
#ifndef BERTH_CLI_SHOW_H
#define BERTH_CLI_SHOW_H

#include "cli.h"
#include "cli_granularity.h"
#include "options.h"

typedef struct show_args {
	const char *input;                            /* what is shown */
	const char *on, *graph, *placement, *dot, *out, *op, *grouper; /* NULL: not given */
	int64_t coarsen;                              /* 0: not given */
	bool training;
	int64_t replicas; /* of a training step; 0: not said */
	cli_texts times;
	cli_granularity blocks; /* the blocks of a graph are shown where its name is not NULL */
} show_args;

berth_status show_graph(cli *c, const show_args *a, berth_err *err);
berth_status show_system(cli *c, const show_args *a, berth_err *err);
berth_status show_policy(cli *c, const show_args *a, berth_err *err);
/* The operator a->op of the placement a->placement of the graph a->graph on the system a->on. The last two
 * go by the names in the file where they are NULL. */
berth_status show_placed_op(cli *c, const show_args *a, berth_err *err);
/* The same placement: what stands where. */
berth_status show_placed_graph(cli *c, const show_args *a, berth_err *err);
berth_status show_placement(cli *c, const show_args *a, berth_err *err);

#endif
