/* --steps of berth configure: steps that were measured in short runs, in the place of simulated ones. */
#ifndef BERTH_CLI_CONFIGURE_STEPS_H
#define BERTH_CLI_CONFIGURE_STEPS_H

#include "cli.h"
#include "graph.h"
#include "system.h"

/* Times of the graphs after the measured steps, DEVICE:BATCH=SECONDS each. graph [n_batches] is changed in
 * its place, batch [n_batches] what each is for. Fails: BERTH_EINVAL (not of that form, no such device or
 * batch, one that stands twice, a device on which the model does not run), BERTH_ENOMEM. */
berth_status configure_steps(cli *c, const cli_texts *given, const berth_system *s, const int64_t *batch,
                             int32_t n_batches, berth_graph *graph, berth_err *err);

#endif
