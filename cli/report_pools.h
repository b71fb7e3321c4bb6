/* What is told of memory pools: of a system, and of a placement on it. All of it is nothing for a system
 * without pools. */
#ifndef BERTH_CLI_REPORT_POOLS_H
#define BERTH_CLI_REPORT_POOLS_H

#include "cli.h"
#include "json.h"
#include "objective.h"
#include "timeline.h"

/* "memory_pools":[{name, load_s, peak_memory_bytes, memory_bytes}]; the two in the middle are null where the
 * placement cannot run. */
void report_put_pools(berth_json_out *w, const berth_problem *p, const berth_timeline *t);

/* A blank line, and a row for each pool: load, peak memory and memory. o as in report_span_of. Fails:
 * BERTH_ENOMEM. */
berth_status report_print_pools(cli *c, const berth_problem *p, const berth_timeline *t,
                                const berth_objective *o, berth_err *err);

/* A blank line, and a row for each pool: bandwidth, memory, members. Fails: BERTH_ENOMEM. */
berth_status report_print_pools_of(cli *c, const berth_system *s, berth_err *err);

#endif
