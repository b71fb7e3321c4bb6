/* Which hosts and devices of a cluster take part in data-parallel training, after Gu, Kong, Munir, Kim
 * (ICPADS 2019): every configuration is judged by what its copies take alone and by formulas for the
 * exchange; the best of these are simulated whole, and the best of those is the answer. */
#pragma once

#include "configuration.h"

typedef struct berth_configure_cfg {
	berth_goal goal;
	berth_exchange_kind exchange; /* BERTH_EXCHANGE_BEST: whichever is shorter */
	int64_t most; /* configurations that are looked at one by one; where there are more: a search */
	/* Of the best so many are simulated whole, 1 to BERTH_MOST_WHOLE; more where none of them fits. */
	int32_t n_whole;
} berth_configure_cfg;

enum { BERTH_MOST_WHOLE = 256 };

/* time, all of them up to a million, 16 */
berth_configure_cfg berth_configure_cfg_default(void);

typedef struct berth_configure_choice {
	berth_configuration c;
	berth_config_value predicted, simulated; /* of a system for an engine both by the formulas */
} berth_configure_choice;

typedef struct berth_configured {
	bool found; /* false: no copy fits anywhere, or no configuration does */
	berth_configure_choice best;
	double looked_at; /* configurations */
	bool all;         /* those are all there are, of equal hosts and devices one each */
	/* The goal's value of no configuration is below, by formulas. Where all were looked at, the best. */
	double bound;
	int32_t n_whole;               /* simulated whole: the best, and others of the front */
	berth_configure_choice *front; /* [n_front] by time: none is better in both time and energy */
	int32_t n_front;
} berth_configured;

/* The configuration for a goal. All lives in mem; tmp, tmp2 are scratch, other arenas, reset at exit. cancel
 * as in berth_search_cfg. Fails: BERTH_EINVAL (a goal that needs watts, where a device has none),
 * BERTH_EINTERRUPTED, BERTH_ENOMEM. O(configurations * copies), and the simulations. */
berth_status berth_configure(const berth_copies *x, const berth_configure_cfg *cfg, const atomic_int *cancel,
                             berth_arena *mem, berth_arena *tmp, berth_arena *tmp2, berth_configured *out,
                             berth_err *err);

/* Sets of hosts with layouts, times the deadlines that a set could have at most: what looking at all of them
 * costs. */
double berth_configurations_most(const berth_copies *x);

/* Visit every configuration that can be, of equal hosts the first ones; c and v are the visitor's during the
 * call. Stops where it returns another status than BERTH_OK, with that. tmp is scratch, reset at exit. */
typedef berth_status berth_config_visit(void *ctx, const berth_configuration *c, const berth_config_value *v,
                                        berth_err *err);
berth_status berth_configure_each(berth_exchanger *e, berth_exchange_kind kind, berth_arena *tmp,
                                  berth_config_visit *visit, void *ctx, berth_err *err);

/* Times in ascending order, each once; returns how many they are. */
int32_t berth_config_sort_times(int64_t *ns, int32_t n);

/* Visit good configurations: for each deadline each host by itself, and for each number of hosts those that
 * are best for the goal by themselves, where a bound does not tell that these are worse than what was seen;
 * then from the best eight of these every change of one host, of two hosts' places, and of the deadline, for
 * as long as that gains. *bound: no configuration has a smaller value of the goal, by formulas. tmp is
 * scratch, reset at exit. Fails as berth_configure_each. O(deadlines * hosts * copies), and that of each
 * round of changes. */
berth_status berth_config_search(berth_exchanger *e, berth_goal goal, berth_exchange_kind kind,
                                 berth_arena *tmp, berth_config_visit *visit, void *ctx, double *bound,
                                 berth_err *err);
