/* berth show GRAPH --granularity G: the blocks of a graph. */
#ifndef BERTH_CLI_SHOW_BLOCKS_H
#define BERTH_CLI_SHOW_BLOCKS_H

#include "cli_granularity.h"

/* The blocks of g in program order, as a table or, with c->json, a document. Fails: as cli_granularity_blocks
 * does. */
berth_status show_blocks(cli *c, const cli_granularity *x, const berth_graph *g, berth_err *err);

#endif
