/* What is told of samples in flight, where the objective is the throughput. */
#ifndef BERTH_CLI_REPORT_PIPELINE_H
#define BERTH_CLI_REPORT_PIPELINE_H

#include "cli.h"
#include "json.h"
#include "objective.h"
#include "pipeline.h"

typedef struct report_pipeline {
	/* The objective is the throughput, and samples in flight are defined. Else all else is 0. */
	bool told;
	berth_pipeline x;
} report_pipeline;

/* Of a placement that was simulated, in c->mem. Fails: BERTH_ENOMEM. */
berth_status report_pipeline_find(cli *c, const berth_problem *p, const berth_timeline *t,
                                  const berth_objective *o, report_pipeline *out, berth_err *err);

/* "pipeline":{period_s, latency_s, samples_in_flight, fits, devices:[{name, peak_memory_bytes}]}, or
 * nothing. */
void report_put_pipeline(berth_json_out *w, const berth_problem *p, const report_pipeline *x);

/* How many samples are in flight, and where they do not fit; or nothing. */
void report_print_pipeline(const berth_problem *p, const report_pipeline *x);

#endif
