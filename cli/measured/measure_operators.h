/* When operators ran in a measured run: as a table, and as a trace. */
#ifndef BERTH_CLI_MEASURE_OPERATORS_H
#define BERTH_CLI_MEASURE_OPERATORS_H

#include "cli.h"
#include "json.h"
#include "measured.h"

/* A table of those that took longest. Fails: BERTH_ENOMEM, BERTH_EIO. */
berth_status measure_operators_print(cli *c, const berth_graph *g, const berth_system *s,
                                     const berth_operator_time *x, int32_t n, berth_err *err);

/* Write Chrome's trace event format: a thread for each device, a complete event for each kernel. Fails:
 * BERTH_EIO, BERTH_ENOMEM. */
berth_status measure_operators_trace(cli *c, const char *path, const berth_graph *g, const berth_system *s,
                                     const berth_operator_time *x, int32_t n, berth_err *err);

#endif
