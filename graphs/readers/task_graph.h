/* What the readers of task graphs share: operators with times, edges with times, the graph's name. */
#ifndef BERTH_TASK_GRAPH_H
#define BERTH_TASK_GRAPH_H

#include "scan.h"
#include "tasks.h"

typedef struct task_graph {
	const berth_task_options *opt;
	berth_builder *b;
	berth_arena *tmp;
	berth_err *err;
} task_graph;

/* A builder named after the file. */
berth_status task_graph_new(task_graph *t, const char *file);
/* An operator; seconds (in units of the file) NAN: no time is known. */
berth_status task_graph_op(task_graph *t, const berth_op_spec *spec, double time, int32_t *op);
/* May the operator take that time (in units of the file; NAN: not known)? For a message with the place; the
 * time itself comes by task_graph_time. */
berth_status task_graph_check_time(const task_graph *t, int32_t op, double time);
/* The time (in units of the file; NAN: not known) of an operator that is there, once; dummy: one of which
 * no FLOPs are known either takes 0. */
berth_status task_graph_time(task_graph *t, int32_t op, double time, bool dummy);
/* Bytes of an edge of that time, at most 2^53; -1: more. */
int64_t task_graph_bytes(const task_graph *t, double time);
/* Is it a name? UTF-8, without 0 bytes, not empty; else BERTH_EFORMAT without a place. */
berth_status task_graph_check_name(const task_graph *t, scan_word w);
/* A copy with a closing 0; UTF-8, without 0 bytes, not empty; else BERTH_EFORMAT without a place. */
berth_status task_graph_name(const task_graph *t, scan_word w, const char **out);

#endif
