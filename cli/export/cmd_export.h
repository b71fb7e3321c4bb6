/* Parts of `berth export`: a plan with what it was made for, and plans of whole blocks or that the target can
 * express. */
#pragma once

#include "check.h"
#include "exporters.h"
#include "graph_load.h"
#include "uses.h"

/* A plan with its model, and the machine where that can be had. */
typedef struct export_plan {
	berth_graph g;
	/* --on, else the built-in system that the plan names, else nothing but the names of its devices */
	berth_system s;
	bool priced; /* s is a system: p, t and v are set */
	berth_placement placement;
	berth_uses uses; /* where the placement tells some */
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
 * with measured times, for which the plan was made; NULL: it was made for the model's own. e: what writes it,
 * whose engine prices it. To be undone by
 * export_plan_close, also where it fails. Fails: as the readers; BERTH_EFORMAT (the plan was made for another
 * graph, or graph is none of the model). */
berth_status export_plan_open(cli *c, const char *path, const char *spec, const char *graph, const char *on,
                              const berth_exporter *e, export_plan *out, berth_err *err);
void export_plan_close(const export_plan *x);

/* --granularity and --nearest. */
typedef struct export_blocks {
	const char *granularity; /* NULL: none was asked for */
	bool nearest;
	const int32_t *plan; /* [n_ops] devices as they were read */
	int32_t moved;       /* operators; -1: the plan is as it was */
	double before;       /* the plan's value before; NAN: not known */
} export_blocks;

/* Hold the plan against the blocks; with nearest make it the nearest one that has each of them whole, and
 * price it. Fails: BERTH_EUNSUPPORTED (a block is on several devices; none can run it), as the readers. */
berth_status export_blocks_apply(cli *c, export_blocks *b, const berth_exporter *e, export_plan *x,
                                 berth_err *err);

/* Of a plan with whole blocks, source's: with nearest make it the nearest one that e can express, and price
 * it. source then holds it, too. */
berth_status export_blocks_express(cli *c, export_blocks *b, const berth_exporter *e,
                                   berth_export_source *source, export_plan *x, berth_err *err);

/* e refuses the plan of source with st: where there is one of whole layers that it can be told, name it
 * behind the message, with its price. Returns st. Fails otherwise: BERTH_ENOMEM. */
berth_status export_blocks_hint(cli *c, const export_blocks *b, const berth_exporter *e,
                                const berth_export_source *source, const export_plan *x, berth_status st,
                                berth_err *err);
