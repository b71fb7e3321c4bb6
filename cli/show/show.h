/* The parts of berth show, one a kind of input. */
#pragma once

#include "cli.h"
#include "cli_granularity.h"
#include "graph_load.h"
#include "objective.h"
#include "options.h"
#include "timeline.h"

typedef struct show_args {
	const char *input;                            /* what is shown */
	const char *on, *graph, *placement, *dot, *out, *op; /* NULL: not given */
	bool training, fuse;
	int64_t replicas; /* of a training step; 0: not said */
	const char *times; /* "", or how they are predicted; NULL: not asked for */
	cli_texts profile;
	cli_granularity blocks; /* the blocks of a graph are shown where its name is not NULL */
} show_args;

/* A placement with its graph and its system, simulated. */
typedef struct show_placed {
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_placement placement;
	berth_timeline t;
	berth_objective objective; /* the placement's, where the system has it; else latency */
} show_placed;

/* The placement a->placement of the graph a->graph on the system a->on. The last two go by the names in the
 * file where they are NULL. Fails: as the readers; BERTH_EINVAL (the names say nothing). */
berth_status show_placed_load(cli *c, const show_args *a, show_placed *out, berth_err *err);

/* "system:NAME" of what the placement file at path says; NULL where it says nothing. Fails: as reading it. */
berth_status show_placed_system(cli *c, const char *path, const char **out, berth_err *err);

berth_status show_graph(cli *c, const show_args *a, berth_err *err);
berth_status show_system(cli *c, const show_args *a, berth_err *err);
berth_status show_policy(cli *c, const show_args *a, berth_err *err);
/* Predicted times of all operators on all devices. Fails: BERTH_ENOMEM. */
berth_status show_times(cli *c, const berth_graph *g, const berth_system *s, berth_err *err);
/* One operator of a graph; p NULL: on no system. Fails: BERTH_EINVAL (it has none of this name). */
berth_status show_graph_op(cli *c, const berth_graph *g, const berth_problem *p, const char *name,
                           berth_err *err);
/* The operator a->op of that placement. */
berth_status show_placed_op(cli *c, const show_args *a, berth_err *err);
/* What stands where in it. */
berth_status show_placed_graph(cli *c, const show_args *a, berth_err *err);
/* The blocks of a graph in program order. Fails: as cli_granularity_blocks. */
berth_status show_blocks(cli *c, const cli_granularity *x, const berth_graph *g, berth_err *err);
berth_status show_placement(cli *c, const show_args *a, berth_err *err);
