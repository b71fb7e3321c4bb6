/* Parts of documents and reports that several verbs print. */
#ifndef BERTH_CLI_REPORT_H
#define BERTH_CLI_REPORT_H

#include "check.h"
#include "cli.h"
#include "graph_union.h"
#include "json.h"
#include "timeline.h"

/* "violations":[{kind, op, device, pool, needed, limit, message}], keys that do not apply left out. */
void report_put_violations(berth_json_out *w, const berth_problem *p, const berth_violations *list);

/* {name, busy_s, peak_memory_bytes, memory_bytes} of device d; NAN: null. */
void report_put_device(berth_json_out *w, const berth_system *s, int32_t d, double busy_s, double peak_bytes);

/* Figures of the metrics, each by its key: metric [BERTH_N_METRICS] values, NAN: null. */
void report_put_metrics(berth_json_out *w, const double *metric);

/* "devices":[...] of these. Without a timeline busy_s and peak_memory_bytes are null. */
void report_put_devices(berth_json_out *w, const berth_problem *p, const berth_timeline *t);

/* What busy times are shares of: the period from sample to sample where the objective is the throughput, else
 * the latency. o NULL: the latency. */
typedef struct report_span {
	bool period;
	double s;
	const char *name; /* "of the time" or "of the period" */
} report_span;
report_span report_span_of(const berth_timeline *t, const berth_objective *o);

/* A row for each device: operators, busy, peak memory and memory, bytes sent. peak_bytes [n_devs]; NULL:
 * those of t. Fails: BERTH_ENOMEM. */
berth_status report_print_devices(cli *c, const berth_problem *p, const berth_timeline *t,
                                  const berth_objective *o, const int64_t *peak_bytes, berth_err *err);

/* "models":[{name, end_s}] where several models share the machine; nothing otherwise. end_s is when the last
 * operator of the model ends; null where the cost model does not tell. */
void report_put_models(berth_json_out *w, const berth_graph_parts *parts, const berth_timeline *t);
/* The same as text, a row a model. Fails: BERTH_ENOMEM. */
berth_status report_print_models(cli *c, const berth_graph_parts *parts, const berth_timeline *t,
                                 berth_err *err);

/* The largest causes of lost time, at most three, as text. Fails: BERTH_ENOMEM. */
berth_status report_print_lost(cli *c, const berth_problem *p, const berth_timeline *t, berth_err *err);

/* The first violations as text, at most five. */
void report_print_violations(const berth_violations *list);

#endif
