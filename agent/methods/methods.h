/* All placement methods: those of heuristics/ and the learned ones. */
#pragma once

#include "method.h"

/* Number of methods, and one of them: heuristics first, in the order of their table. */
int32_t berth_n_methods(void);

const berth_method *berth_method_at(int32_t i);

/* The method called name. Fails: BERTH_EINVAL, naming the nearest one. */
berth_status berth_method_find(const char *name, const berth_method **out, berth_err *err);

/* What place uses where none is named: `berth`. */
const berth_method *berth_method_default(void);

/* Configuration of the method `berth`, part by part: for the method itself, and for telling what each part is
 * worth. */

typedef struct berth_agent_cfg {
	bool portfolio; /* run the portfolio first; false: the best single device alone */
	bool far;       /* partitions and communities beside it (seeds.h) */
	bool proposals; /* offer the trained policy's own placements */
	/* Refine the order of operators with the placement. false: placements by the system's rule. */
	bool orders;
} berth_agent_cfg;

berth_agent_cfg berth_agent_cfg_default(void);

/* Search until the budget ends. Fails: BERTH_ENOMEM, BERTH_EINVAL (a policy's settings). */
berth_status berth_agent_run(berth_search *s, const berth_agent_cfg *cfg, berth_arena *tmp, berth_err *err);
