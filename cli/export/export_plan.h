/* A plan with what it was made for: its model, and the machine where that can be had. */
#ifndef BERTH_CLI_EXPORT_PLAN_H
#define BERTH_CLI_EXPORT_PLAN_H

#include "check.h"
#include "exporters.h"
#include "graph_load.h"

typedef struct export_plan {
	berth_graph g;
	/* --on, else the built-in system that the plan names, else nothing but the names of its devices */
	berth_system s;
	bool priced; /* s is a system: p, t and v are set */
	berth_placement placement;
	berth_objective objective; /* the plan's, where the system has it; else latency */
	berth_problem p;
	berth_timeline t;
	berth_verdict v;
	const char *module; /* FILE.py:FACTORY and its words, where the model is one; NULL: it is not */
	bool mapped; /* the model is a file: */
	berth_content model;
	berth_read_options words;
} export_plan;

/* The plan in the file at path, of the model spec, on the system `on` (NULL: see above). graph: the model's
 * with measured times, for which the plan was made; NULL: it was made for the model's own. To be undone by
 * export_plan_close, also where it fails. Fails: as the readers; BERTH_EFORMAT (the plan was made for another
 * graph, or graph is none of the model). */
berth_status export_plan_open(cli *c, const char *path, const char *spec, const char *graph, const char *on,
                              export_plan *out, berth_err *err);
void export_plan_close(const export_plan *x);

#endif
