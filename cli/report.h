/* What several verbs tell of a placement, as results and as text, and pages of --report. */
#pragma once

#include "check.h"
#include "cli.h"
#include "graph_union.h"
#include "page.h"
#include "pipeline.h"
#include "result.h"
#include "timeline.h"

extern const berth_result_kind violation_kind, metrics_kind, device_kind, pool_kind, model_kind, packed_kind,
	pipeline_kind;

/* Results in c->mem. Lists may be empty: of models, where one has the system for itself; of memory pools,
 * where there are none. Those of a timeline hold null where nothing runs. */
const berth_result_list *report_violations(cli *c, const berth_problem *p, const berth_violations *list);
const berth_result_list *report_devices(cli *c, const berth_problem *p, const berth_timeline *t);
const berth_result_list *report_models(cli *c, const berth_graph_parts *parts, const berth_timeline *t);
const berth_result_list *report_pools(cli *c, const berth_problem *p, const berth_timeline *t);
/* NULL without --compress. */
const berth_result *report_packed(cli *c, const berth_problem *p, const berth_timeline *t);

/* One more of device_kind, NAN: null. */
void report_add_device(berth_result_list *all, const berth_problem *p, const int32_t *op_dev, int32_t d,
                       double busy, double peak_bytes);

/* Figures of the metrics, each by its key: metric [BERTH_N_METRICS] values, NAN: null. */
const berth_result *report_metrics(cli *c, const double *metric);

/* What busy times are shares of: the period from sample to sample where the objective is the throughput, else
 * the latency. */
typedef struct report_span {
	bool period;
	double s;
	const char *name; /* "of the time" or "of the period" */
} report_span;

/* A row for each device: operators, busy, peak memory and memory, bytes sent. peak_bytes [n_devs]; NULL:
 * those of t. Fails: BERTH_ENOMEM. */
berth_status report_print_devices(cli *c, const berth_problem *p, const berth_timeline *t,
                                  const berth_objective *o, const int64_t *peak_bytes, berth_err *err);

/* A row a model where several share the system; nothing otherwise. Fails: BERTH_ENOMEM. */
berth_status report_print_models(cli *c, const berth_graph_parts *parts, const berth_timeline *t,
                                 berth_err *err);

/* The largest causes of lost time, at most three, as text. Fails: BERTH_ENOMEM. */
berth_status report_print_lost(cli *c, const berth_problem *p, const berth_timeline *t, berth_err *err);

/* The first violations as text, at most five. */
void report_print_violations(const berth_violations *list);
/* The failure of a verb whose plan breaks them: the first, or only how many where words have told them. */
berth_status report_broken(const cli *c, const char *plan, const berth_violations *list, berth_err *err);

/* A blank line, and a row for each pool: load, peak memory and memory. o NULL: of the latency.
 * Fails: BERTH_ENOMEM. */
berth_status report_print_pools(cli *c, const berth_problem *p, const berth_timeline *t,
                                const berth_objective *o, berth_err *err);

/* A blank line, and a row for each pool: bandwidth, memory, members. Fails: BERTH_ENOMEM. */
berth_status report_print_pools_of(cli *c, const berth_system *s, berth_err *err);

/* A line; nothing without --compress. t is of p and runs. */
void report_print_packed(const cli *c, const berth_problem *p, const berth_timeline *t);

/* What is told of samples in flight, where the objective is the throughput. */
typedef struct report_pipeline {
	/* The objective is the throughput, and samples in flight are defined. Else all else is 0. */
	bool told;
	berth_pipeline x;
} report_pipeline;

/* Of a placement that was simulated, in c->mem. Fails: BERTH_ENOMEM. */
berth_status report_pipeline_find(cli *c, const berth_problem *p, const berth_timeline *t,
                                  const berth_objective *o, report_pipeline *out, berth_err *err);

/* NULL where nothing is told. */
const berth_result *report_pipeline_result(cli *c, const berth_problem *p, const report_pipeline *x);

/* How many samples are in flight, and where they do not fit; or nothing. */
void report_print_pipeline(const berth_problem *p, const report_pipeline *x);

/* --report of verbs: what they found as a page with pictures, one HTML file. */
#define CLI_REPORT(path) \
	{"report", 0, CLI_FILE_ONLY, (path), "FILE.html", \
	 "write a page with pictures: one file for any browser"}

/* Begin a page of a kind (page.h) about a graph on a system, NULL: of several; with the document. unit: of
 * values in it. */
berth_status cli_report_open(cli *c, berth_page *page, const char *kind, const char *graph,
                             const char *system, const char *unit, const berth_result *document,
                             berth_err *err);

/* End it and write it to path. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status cli_report_write(cli *c, berth_page *page, const char *path, berth_err *err);
