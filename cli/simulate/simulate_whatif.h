/* The part of berth simulate that asks what another machine would bring. */
#pragma once

#include "cli.h"
#include "result.h"
#include "whatif.h"

/* Keys "base", "resolved" (of one set of changes) or "changes":[...] into an open document. */
/* The documents: all of `simulated`, and what the changes bring. */
const berth_result *simulate_whatif_set(cli *c, const berth_whatif_rows *x, const berth_graph *g,
                                        const berth_result *simulated);
const berth_result *simulate_whatif_each(cli *c, const berth_whatif_rows *x, const berth_graph *g,
                                         const berth_result *simulated);

/* The same as tables. Fail: BERTH_ENOMEM. */
berth_status simulate_whatif_print_set(cli *c, const berth_whatif_rows *x, berth_err *err);
berth_status simulate_whatif_print_each(cli *c, const berth_whatif_rows *x, berth_err *err);
