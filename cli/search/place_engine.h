/* place for an engine (--for): which one, what it does by itself, and how that is told. */
#pragma once

#include "cli.h"
#include "engine_plan.h"
#include "load.h"
#include "place_decoder.h"
#include "result.h"

typedef struct place_engine {
	berth_engine_plan plan;
	berth_problem p; /* of the graph as it was read: the engine need not keep to a granularity */
	bool mapped; /* the model is a file: */
	berth_content model;
	berth_read_options words;
	/* without --for: one that runs the file, too, though plans are for none; NULL: none does */
	const berth_engine_rules *other;
	double there, usual_there; /* the answer in it, and what it does by itself; NAN: not known */
	int32_t n_cut;             /* kernels that it fuses and the answer parts */
	bool method_named;         /* by the user, who wants its placement */
} place_engine;

/* Before the graph is read: the engine that files of spec's format are placed for where --for names none.
 * That is told. Fails: as readers of files, BERTH_ENOMEM. */
berth_status place_engine_choose(cli *c, const char *spec, place_engine *x, berth_err *err);

/* Where the system stands for an engine, g is its problem as it was read (of a language model in both uses:
 * what d searches), and the model (spec) is read once more. To be undone by place_engine_close, also where it
 * fails. Fails: as berth_engine_plan_open. */
berth_status place_engine_open(cli *c, const char *spec, const berth_graph *g, const berth_system *s,
                               const place_decoder *d, place_engine *x, berth_err *err);
void place_engine_close(const place_engine *x);

/* What the answer is worth in the other engine. Fails: BERTH_ENOMEM. */
berth_status place_engine_look(cli *c, const berth_solution *r, place_engine *x, berth_err *err);

/* Members of the document. NULL: there is none. */
extern const berth_result_kind engine_kind, other_engine_kind;
const berth_result *place_engine_result(cli *c, const place_engine *x, const berth_solution *r);
const berth_result *place_engine_other(cli *c, const place_engine *x);

/* What stands behind the system's name in the first line, and the lines on what the engine does by itself. */
void place_engine_print_head(const place_engine *x);
void place_engine_print(const place_engine *x, const berth_objective *o);
