/* What compare has found, as tables, CSV and JSON. */
#pragma once

#include "cli.h"
#include "compare.h"
#include "json.h"
#include "print.h"
#include "result.h"

/* All rows of one graph on one system. */
typedef struct cli_compare_block {
	const char *graph, *system;
	const char *bound_kind; /* as berth_bounds */
	berth_compare_row *row; /* method by method, seed by seed */
	int32_t n;
} cli_compare_block;

typedef struct cli_comparison {
	const char **name; /* [n_methods] of methods, and of plans behind them */
	int32_t n_methods, n_seeds;
	int32_t single, against; /* methods: the best single device; whom wins are counted against */
	berth_objective objective;
	int64_t evaluations;               /* of each row's budget; INT64_MAX: not limited */
	double time_s, cpu_s;              /* 0: not limited */
	cli_compare_block *block;
	int32_t n_blocks;
} cli_comparison;

typedef enum cli_compare_table { CLI_TABLE_ROWS, CLI_TABLE_INSTANCES, CLI_TABLE_METHODS } cli_compare_table;

typedef struct cli_compare_format {
	cli_format as;
	bool named; /* table was asked for; else rows as CSV, and instances and methods for people */
	cli_compare_table table;
} cli_compare_format;

/* The document of --json, in c->mem. Fails: BERTH_ENOMEM. */
berth_status cli_compare_document(cli *c, const cli_comparison *r, const berth_result **out, berth_err *err);

/* Print. A comparison that was interrupted is printed as far as it came. Fails: BERTH_ENOMEM. */
berth_status cli_compare_print(cli *c, const cli_comparison *r, const cli_compare_format *f, berth_err *err);
