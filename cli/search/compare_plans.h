/* --placement and --engine-default of compare: placements as rows beside the methods. */
#ifndef BERTH_CLI_COMPARE_PLANS_H
#define BERTH_CLI_COMPARE_PLANS_H

#include "cli.h"
#include "compare.h"

typedef struct compare_plans {
	cli_texts files, engines;
} compare_plans;

int32_t compare_plans_count(const compare_plans *a);

/* name [count]: the files as they are called, then "E default" of the engines. Fails: BERTH_EINVAL (no such
 * engine), BERTH_ENOMEM. */
berth_status compare_plans_name(cli *c, const compare_plans *a, const char **name, berth_err *err);

/* *plan [count] of g, as it was read, on s: files are read. Fails: as the reader of placements. */
berth_status compare_plans_read(cli *c, const compare_plans *a, const berth_graph *g, const berth_system *s,
                                const char *const *name, berth_compare_plan **plan, berth_err *err);

/* What engines do with p goes behind the files. spec: what its graph was read from, and that file's format
 * (of a read report); engines whose default is told of the file read it once more. Fails: as the readers of
 * graphs, BERTH_ENOMEM. */
berth_status compare_plans_ask(cli *c, const compare_plans *a, const char *spec, const char *format,
                               const berth_problem *p, berth_compare_plan *plan, berth_err *err);

#endif
