/* A configuration of a cluster for data-parallel training: which hosts take part, with which copies on which
 * devices, at which batches; and what it is worth. */
#pragma once

#include "exchange.h"
#include "graph_union.h"

typedef enum berth_goal {
	BERTH_GOAL_TIME,   /* seconds a sample */
	BERTH_GOAL_POWER,  /* mean watts of the hosts that take part */
	BERTH_GOAL_PEAK,   /* the most watts that they draw at once */
	BERTH_GOAL_ENERGY, /* joules a sample */
	BERTH_GOAL_EDP,    /* joules a sample * seconds a sample */
	BERTH_N_GOALS
} berth_goal;

typedef struct berth_goal_row {
	const char *name, *unit;
	bool needs_watts;
} berth_goal_row;
extern const berth_goal_row berth_goals[BERTH_N_GOALS];

/* Fails: BERTH_EINVAL naming the known ones. */
berth_status berth_goal_parse(const char *name, berth_goal *out, berth_err *err);

/* All hosts with a layout take part. Each copy has the largest batch whose step, alone, is over by the
 * deadline. */
typedef struct berth_configuration {
	int32_t host_layout[BERTH_MAX_DEVS]; /* [n_hosts] into the layouts of the host; -1: switched off */
	int64_t deadline_ns;
} berth_configuration;

typedef struct berth_config_value {
	int32_t n_copies;
	int64_t samples;         /* of a step, all copies together */
	double step_s;           /* the slowest copy, then the exchange */
	berth_exchange exchange; /* its time and joules are those of the formulas */
	double energy_j;         /* of a step; NAN: not known, as for the next ones */
	double power_w, peak_w;  /* peak_w: the sum of the copies' peaks, which they may reach at once */
} berth_config_value;

/* In the unit of the goal; smaller is better. */
double berth_goal_value(berth_goal goal, const berth_config_value *v);

/* The copies of a configuration, by host: member [n_devs] out, returns their number; 0 where no host takes
 * part, or where one of the copies is not over by the deadline. O(copies * batches). */
int32_t berth_config_members(const berth_copies *x, const berth_configuration *c, berth_member *member);

/* By the prices of the copies and the formulas of the exchange. member [n_devs] is scratch. False: it cannot
 * be. O(copies * (batches + route)). */
bool berth_config_predict(berth_exchanger *e, const berth_configuration *c, berth_exchange_kind kind,
                          berth_member *member, berth_config_value *out);

/* By a simulation of all of it: all copies and every transfer of the exchange as one graph on the whole
 * system. how: the exchange, as berth_config_predict has it. *runs: it can be, and keeps memory and rules.
 * tmp is scratch, and tmp2 another one, both reset at exit. Fails: BERTH_ENOMEM, BERTH_EFORMAT (sums beyond
 * what a graph holds). O(operators of all copies, and a simulation). */
berth_status berth_config_simulate(const berth_copies *x, const berth_configuration *c,
                                   const berth_exchange *how, berth_arena *tmp, berth_arena *tmp2,
                                   berth_config_value *out, bool *runs, berth_err *err);

typedef struct berth_config_plan {
	int32_t n_copies;
	const int32_t *batch; /* [n_copies] index of each copy's batch */
	/* The graph of one copy, or the union of all in the order of berth_config_members. */
	berth_graph g;
	int32_t *op_dev, *op_order; /* [g.n_ops] */
	int64_t latency_ns;         /* until the slowest copy is done */
} berth_config_plan;

/* The plan of a configuration that can be.
 *   graph  [x->n_batches] the model at each batch, with the operators of those in x; where times in x were
 *          measured (times.h), these are without them, as who loads the plan has them
 * All lives in mem and may borrow the graphs; tmp is scratch, another arena, reset at exit. Fails:
 * BERTH_EFORMAT (sums beyond what a graph holds), BERTH_ENOMEM. O(operators of all copies, and a
 * simulation). */
berth_status berth_config_plan_new(const berth_copies *x, const berth_configuration *c,
                                   const berth_graph *graph, berth_arena *mem, berth_arena *tmp,
                                   berth_config_plan *out, berth_err *err);
