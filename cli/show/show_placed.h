/* A placement with its graph and its system, simulated. */
#ifndef BERTH_CLI_SHOW_PLACED_H
#define BERTH_CLI_SHOW_PLACED_H

#include "graph_load.h"
#include "objective.h"
#include "show.h"
#include "timeline.h"

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

#endif
