/* Rows of compare that no method makes: placements from files and folders, and what an engine does by itself.
 */
#pragma once

#include "cli.h"
#include "compare.h"
#include "engine_rules.h"

typedef struct compare_plans {
	cli_texts given;                  /* of --placement: [NAME=]FILE or [NAME=]FOLDER */
	const berth_engine_rules *engine; /* of --for; NULL: none */
	const char **name; /* [n] as rows are called: placements, then "E default" of the engine */
	int32_t n;
	struct compare_folder *of;            /* [given.n] */
	bool files;                           /* one of them is no folder: it takes one graph on one system */
	bool asks_objective;                  /* theirs is asked for, and they must agree: */
	const char *objective, *objective_of; /* NULL: none was read yet; the file that it is of */
} compare_plans;

/* Names them, and looks into folders: which file there is for which graph and system. Words of files that are
 * placements themselves go to c. Fails: BERTH_EINVAL, BERTH_EIO, BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status compare_plans_open(cli *c, compare_plans *x, berth_err *err);

/* Those of g on y, as they are read, into out [n]: what a folder has none of says so. Fails: as above, and
 * where they have unlike objectives. */
berth_status compare_plans_read(cli *c, compare_plans *x, const berth_graph *g, const berth_system *y,
                                berth_compare_plan *out, berth_err *err);

/* What the engine does with p by itself goes behind them. spec: what its graph was read from. Fails:
 * BERTH_ENOMEM, and as readers of the model. */
berth_status compare_plans_ask(cli *c, const compare_plans *x, const char *spec, const berth_problem *p,
                               berth_compare_plan *out, berth_err *err);

/* Tells of files in folders that no row was made of. Fails: BERTH_ENOMEM. */
berth_status compare_plans_tell(cli *c, const compare_plans *x, berth_err *err);
