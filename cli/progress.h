/* Progress of long runs: one line on standard error, written over and over. Only on a terminal, and not with
 * --quiet. */
#pragma once

#include "cli.h"
#include "search.h"

typedef struct cli_progress {
	bool on;             /* there is somebody to tell */
	bool shown;          /* a line stands there */
	char label[13];
	berth_objective objective;
	int64_t evaluations; /* budget, or 0 */
	double time_s;       /* limit, or 0 */
	double started;
} cli_progress;

/* Start telling about a run. p must outlive it. */
void cli_progress_open(cli_progress *p, const cli *c, const char *label);
/* Clear the line. */
void cli_progress_end(cli_progress *p);

/* Show a text. */
void cli_progress_line(cli_progress *p, const char *fmt, ...) BERTH_PRINTF(2, 3);
/* Show how much of something is done. A callback of measured runs: ctx is the cli_progress. */
void cli_progress_count(void *ctx, const char *what, int32_t done, int32_t of);

/* Open p for a search, which tells it where it is. */
void cli_progress_start(cli_progress *p, const cli *c, const char *label, berth_search_cfg *cfg);
