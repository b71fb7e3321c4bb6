/* The critical path of a graph on a system, for berth show. */
#ifndef BERTH_CLI_SHOW_CRITICAL_H
#define BERTH_CLI_SHOW_CRITICAL_H

#include "problem.h"

typedef struct show_critical {
	int64_t length_ns;   /* CEFT length; -1: an operator has no legal device */
	int64_t transfer_ns; /* of it between devices */
	int32_t n_ops;       /* on it */
	int64_t *type_ns;    /* [n_types + 1] time of its operators by type */
} show_critical;

/* tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(edges * devs^2). */
berth_status show_critical_find(const berth_problem *p, berth_arena *mem, berth_arena *tmp,
                                show_critical *out, berth_err *err);

#endif
