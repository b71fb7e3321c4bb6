/* Progress of a search on standard error: a bar on a terminal, a line now and then elsewhere. */
#ifndef BERTH_CLI_PROGRESS_H
#define BERTH_CLI_PROGRESS_H

#include "cli.h"
#include "search.h"

typedef struct cli_progress {
	bool on, terminal, shown;
	char label[64];
	berth_objective objective;
	int64_t evaluations; /* budget, or 0 */
	double time_s;       /* limit, or 0 */
	double started, told;
} cli_progress;

/* Start telling about a search; connects it to cfg, unless --quiet. p must outlive the search. */
void cli_progress_start(cli_progress *p, const cli *c, const char *label, berth_search_cfg *cfg);
/* Show where a search is, at once on a terminal. */
void cli_progress_tell(cli_progress *p, const berth_progress *now);
/* Clear the bar. */
void cli_progress_end(cli_progress *p);

#endif
