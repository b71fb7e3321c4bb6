/* What a search makes small: a metric, or a weighted sum of metrics, under limits on others.
 *
 * As text it is SUM[:LIMIT[,LIMIT...]]. SUM is METRIC or WEIGHT*METRIC, joined by "+", as in "latency" and
 * "0.7*latency+0.3*energy". LIMIT is METRIC<=FIGURE, with a unit or in that of the metric: latency<=20ms,
 * energy<=3. For throughput it is the samples a second that are asked for: throughput>=50. Terms are summed
 * in SI units, so a weight is the price of one unit. */
#pragma once

#include "sim.h"
#include "units.h"

/* A metric is a name here and a row of berth_metrics. */
typedef enum berth_metric {
	BERTH_LATENCY,
	BERTH_THROUGHPUT,
	BERTH_ENERGY,
	BERTH_EDP,
	BERTH_POWER,
	BERTH_MEMORY,
	BERTH_N_METRICS
} berth_metric;
enum { BERTH_OBJECTIVE_TEXT = 400 };

/* Lower bounds over all placements, of which the bound of a metric is made. NAN: not known. */
typedef struct berth_bound_parts {
	double latency_s, load_s, energy_j, edp;
	double idle_w; /* what all devices draw at rest */
	double peak_bytes;
} berth_bound_parts;

/* What joint bounds weigh against each other (bounds_joint.c). */
typedef enum berth_joint_part {
	BERTH_JOINT_LATENCY,
	BERTH_JOINT_LOAD,
	BERTH_JOINT_ENERGY,
	BERTH_N_JOINT /* none of them */
} berth_joint_part;

typedef struct berth_metric_row {
	const char *name;
	const char *label; /* in tables and reports */
	const char *unit;  /* of the value */
	const char *key;   /* of the figure in JSON documents; NULL: not told there */
	/* NULL, or "sample": people are told 1 / value, in samples a second, and limits are >=. */
	const char *per;
	bool needs_watts;
	bool needs_peaks; /* memory must be tracked (berth_sim_want_peaks) */
	bool by_load; /* it follows from loads: the order of operators does not matter */
	berth_joint_part joint;
	/* It is in proportion to time^of_time * energy^of_energy; time is the latency or the load. */
	int of_time, of_energy;
	berth_quantity quantity; /* whose units a limit may have */
	/* Value of a simulated placement; smaller is better in all. */
	double (*value)(const berth_sim_result *r);
	/* A value that no placement is below. */
	double (*bound)(const berth_bound_parts *b);
} berth_metric_row;

/* latency (s), throughput (s/sample), energy (J), edp (energy-delay product, J s), power (W, 0 for an empty
 * run), memory (bytes, the largest peak of a device or memory pool). */
extern const berth_metric_row berth_metrics[BERTH_N_METRICS];

/* A value in a message: "0.0034 s", "9.54 MiB (10000000 bytes)". buf of 64 bytes. */
const char *berth_metric_text(berth_metric m, double value, char buf[64]);
/* What is told to people: the value, or 1 / value where the row has `per`. */
double berth_metric_figure(berth_metric m, double value);
/* Fails: BERTH_EINVAL naming the known ones. */
berth_status berth_metric_parse(const char *name, berth_metric *out, berth_err *err);
/* BERTH_EFORMAT where the system has too little for the metric: energy without watts, or under a cost model
 * that does not define it. */
berth_status berth_metric_check(berth_metric m, const berth_problem *p, berth_err *err);

/* All zero: latency. Made by the functions below only. */
typedef struct berth_objective {
	char text[BERTH_OBJECTIVE_TEXT]; /* canonical form; empty: latency */
	double weight[BERTH_N_METRICS];  /* > 0 where sums */
	bool sums[BERTH_N_METRICS];      /* the metric stands in the sum */
	bool limits[BERTH_N_METRICS];    /* the metric has a limit */
	double most[BERTH_N_METRICS];    /* > 0 where limits; unit of the metric */
} berth_objective;

/* The metric alone. */
berth_objective berth_objective_of(berth_metric m);
/* Fails: BERTH_EINVAL (an unknown metric, naming the nearest; a weight or limit that is not above 0; a
 * metric with two limits). */
berth_status berth_objective_parse(const char *text, berth_objective *out, berth_err *err);
const char *berth_objective_name(const berth_objective *o);
/* The row of the metric that is all of the sum, with weight 1; NULL: there is none. */
const berth_metric_row *berth_objective_metric(const berth_objective *o);
/* Unit of the value; "" where a sum mixes several or is weighted. */
const char *berth_objective_unit(const berth_objective *o);
/* Is it this metric alone (with whatever limits)? */
bool berth_objective_is(const berth_objective *o, berth_metric m);
/* Does one of its metrics need memory to be tracked? */
bool berth_objective_needs_peaks(const berth_objective *o);
bool berth_objective_has_limits(const berth_objective *o);
bool berth_objective_equal(const berth_objective *a, const berth_objective *b);
/* Of all its metrics, as berth_metric_check. */
berth_status berth_objective_check(const berth_objective *o, const berth_problem *p, berth_err *err);

/* The objective that a plan is judged by, by every verb: that of its text. Where there is none (NULL), or
 * none that p has figures for, it is latency; limits that p has figures for stand all the same. */
berth_objective berth_objective_of_plan(const char *text, const berth_problem *p);

/* The sum for these values of the metrics, NAN where one of its metrics is. It only grows with each: a sum
 * of lower bounds is a lower bound. */
double berth_objective_sum(const berth_objective *o, const double metric[BERTH_N_METRICS]);
/* The sum of a simulated placement. */
double berth_objective_value(const berth_objective *o, const berth_sim_result *r);
/* How far limits are broken: sum of value / limit - 1 over those that are; 0: none. */
double berth_objective_excess(const berth_objective *o, const berth_sim_result *r);
