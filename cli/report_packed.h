/* Which tensors travel packed (--compress), and how far off their numbers are at most. */
#ifndef BERTH_CLI_REPORT_PACKED_H
#define BERTH_CLI_REPORT_PACKED_H

#include "cli.h"
#include "json.h"
#include "timeline.h"

/* A line; nothing without --compress. t is of p and runs. */
void report_print_packed(const cli *c, const berth_problem *p, const berth_timeline *t);
/* `compress`: factor, error, and the hops that go packed. */
void report_put_packed(const cli *c, berth_json_out *w, const berth_problem *p, const berth_timeline *t);

#endif
