/* Measured times out of ONNX Runtime's profile (EnableProfiling), a JSON array of trace events. Those of
 * category "Node" whose names end in "_kernel_time" are one run of one operator each, in whole
 * microseconds. They join a graph by the node's name. */
#pragma once

#include "graph.h"
#include "json.h"

/* What joined and what did not; strings live in the graph's arena. */
typedef struct berth_ort_report {
	int32_t n_runs;             /* events of nodes */
	int32_t n_timed, n_untimed; /* operators with and without a time out of this profile */
	const char **untimed;       /* [n_untimed] their names, in the graph's order */
	/* names of events that no operator has (fused, renamed or inserted by the runtime), in the order
	 * of the file: */
	int32_t n_unjoined;
	const char **unjoined;
	double joined_s, unjoined_s; /* seconds of all events */
} berth_ort_report;

/* Is the event the run of a node's kernel? Then *name [*n] is the node's, borrowed. Fails: BERTH_EFORMAT. */
berth_status berth_ort_node_event(const berth_json *at, bool *is, const char **name, size_t *n,
                                  berth_err *err);

/* A copy of g with the times of the profile text[size]. An operator takes the median of its runs. The
 * first run is left out where there are three or more (it warms up). The times stand for device. Where
 * that is NULL they stand for the kind of device that ran the operator: "cpu" for the CPU provider, "gpu"
 * for those of graphics cards (CUDA, TensorRT, ROCm, MIGraphX, DirectML, WebGPU, JS), "npu" for any
 * other. A time that the operator had for the same name gives way. Arrays live in mem, the rest is g's.
 * tmp is scratch, reset at exit. Fails: BERTH_EFORMAT (file, place), BERTH_ENOMEM. O(bytes + runs log
 * runs). */
berth_status berth_graph_ort_times(const char *file, const char *text, size_t size, const char *device,
                                   const berth_graph *g, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                                   berth_ort_report *report, berth_err *err);
