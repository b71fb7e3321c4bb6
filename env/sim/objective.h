/* What a search makes small: a metric, or a weighted sum of metrics, under limits on others.
 *
 * As text: SUM[:LIMIT[,LIMIT...]]. SUM is METRIC or WEIGHT*METRIC, joined by "+": "latency",
 * "0.7*latency+0.3*energy". LIMIT is METRIC<=FIGURE, with a unit or in that of the metric (latency<=20ms,
 * energy<=3), and for throughput the samples a second that are asked for (throughput>=50). Terms are summed
 * in SI units (seconds, seconds per sample, joules, joule-seconds, watts): a weight is the price of one
 * unit. */
#ifndef BERTH_OBJECTIVE_H
#define BERTH_OBJECTIVE_H

#include "sim.h"

typedef enum berth_metric {
	BERTH_LATENCY,
	BERTH_THROUGHPUT,
	BERTH_ENERGY,
	BERTH_EDP,
	BERTH_POWER
} berth_metric;
enum { BERTH_N_METRICS = 5, BERTH_OBJECTIVE_TEXT = 400 };

/* "latency", ...; unit of the value: "s", "s/sample", "J", "J s", "W". */
const char *berth_metric_name(berth_metric m);
const char *berth_metric_unit(berth_metric m);
/* Fails: BERTH_EINVAL naming the known ones. */
berth_status berth_metric_parse(const char *name, berth_metric *out, berth_err *err);
/* Value of a simulated placement, smaller is better in all: seconds, seconds per sample, joules,
 * joule-seconds, watts (0 for an empty run). */
double berth_metric_value(berth_metric m, const berth_sim_result *r);
/* BERTH_EFORMAT where the system has too little for the metric: energy without watts, or under a cost model
 * that does not define it. */
berth_status berth_metric_check(berth_metric m, const berth_problem *p, berth_err *err);

/* All zero: latency. Made by the functions below only. */
typedef struct berth_objective {
	char text[BERTH_OBJECTIVE_TEXT];      /* canonical form; empty: latency */
	double weight[BERTH_N_METRICS];       /* > 0 where sums */
	bool sums[BERTH_N_METRICS];           /* the metric stands in the sum */
	bool limits[BERTH_N_METRICS];         /* the metric has a limit */
	double most[BERTH_N_METRICS];         /* > 0 where limits; unit of the metric */
} berth_objective;

/* The metric alone. */
berth_objective berth_objective_of(berth_metric m);
/* Fails: BERTH_EINVAL (an unknown metric, naming the nearest; a weight or limit that is not above 0; a
 * metric with two limits). */
berth_status berth_objective_parse(const char *text, berth_objective *out, berth_err *err);
const char *berth_objective_name(const berth_objective *o);
/* Unit of the value; "" where a sum mixes several or is weighted. */
const char *berth_objective_unit(const berth_objective *o);
/* Is it this metric alone (with whatever limits)? */
bool berth_objective_is(const berth_objective *o, berth_metric m);
bool berth_objective_has_limits(const berth_objective *o);
bool berth_objective_equal(const berth_objective *a, const berth_objective *b);
/* Of all its metrics, as berth_metric_check. */
berth_status berth_objective_check(const berth_objective *o, const berth_problem *p, berth_err *err);

/* The sum for these values of the metrics, NAN where one of its metrics is. It only grows with each: a sum
 * of lower bounds is a lower bound. */
double berth_objective_sum(const berth_objective *o, const double metric[BERTH_N_METRICS]);
/* The sum of a simulated placement. */
double berth_objective_value(const berth_objective *o, const berth_sim_result *r);
/* How far limits are broken: sum of value / limit - 1 over those that are; 0: none. */
double berth_objective_excess(const berth_objective *o, const berth_sim_result *r);

#endif
