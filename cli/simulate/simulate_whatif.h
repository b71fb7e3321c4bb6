/* The part of berth simulate that asks what another machine would bring. */
#ifndef BERTH_CLI_SIMULATE_WHATIF_H
#define BERTH_CLI_SIMULATE_WHATIF_H

#include "cli.h"
#include "json.h"
#include "whatif.h"

/* Rows of changes; the first is the system as it is. */
typedef struct simulate_whatif {
	berth_objective objective;
	const char **change; /* [n] */
	berth_whatif_row *row;
	int32_t n;
} simulate_whatif;

/* Make the rows: one of the system as it is, then one for each of the n changes. Fails: as berth_whatif. */
berth_status simulate_whatif_run(cli *c, const berth_graph *g, const berth_system *s,
                                 const berth_placement *placement, const char *const *change, int32_t n,
                                 const berth_whatif_cfg *cfg, simulate_whatif *out, berth_err *err);

/* Keys "base", "resolved" (of one set of changes) or "changes":[...] into an open document. */
void simulate_whatif_put_set(berth_json_out *w, const simulate_whatif *x, const berth_graph *g);
void simulate_whatif_put_each(berth_json_out *w, const simulate_whatif *x, const berth_graph *g);

/* The same as tables. Fail: BERTH_ENOMEM. */
berth_status simulate_whatif_print_set(cli *c, const simulate_whatif *x, berth_err *err);
berth_status simulate_whatif_print_each(cli *c, const simulate_whatif *x, berth_err *err);

#endif
