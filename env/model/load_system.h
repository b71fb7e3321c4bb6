/* A system from whatever names one, and what a file holds. */
#pragma once

#include "graph.h"
#include "load.h"
#include "system.h"

typedef enum berth_input {
	BERTH_INPUT_GRAPH,
	BERTH_INPUT_SYSTEM,
	BERTH_INPUT_PLACEMENT,
	BERTH_INPUT_POLICY
} berth_input;

/* What spec names: by its prefix ("zoo:", "system:") or by what the file says about itself. A file that says
 * nothing is taken for a graph. sandbox, here and below: files are read in one; NULL: here. Fails: BERTH_EIO,
 * BERTH_EFORMAT (text that is not JSON), BERTH_ENOMEM. */
berth_status berth_input_of(const char *spec, const berth_sandbox *sandbox, berth_input *out, berth_err *err);

/* The file that "system:host" stands for: the machine that berth runs on, as it was described last.
 * Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_system_host_path(berth_arena *mem, const char **path, berth_err *err);

/* "system:NAME", "system:host" or a berth-system file. mem holds the system; tmp is scratch, another arena
 * than mem, reset at exit. Fails: BERTH_EINVAL (unknown name; no description of the host), BERTH_EFORMAT,
 * BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_system_load(const char *spec, const berth_sandbox *sandbox, berth_arena *mem,
                               berth_arena *tmp, berth_system *out, berth_err *err);

/* Is it a file that holds graph and system? False also where it cannot be read, and of a pipe. */
bool berth_is_workload(const char *spec, const berth_sandbox *sandbox);

/* A graph, and the system that it is to be placed on: two specs, or a published workload (tasks.h) that
 * holds both, whose system may be NULL.
 *   opt, report  as in berth_graph_load; opt->sandbox holds for the system, too
 * Fails: as berth_graph_load and berth_system_load; BERTH_EINVAL where system is NULL and graph brings
 * none. */
berth_status berth_instance_load(const char *graph, const char *system, const berth_read_options *opt,
                                 berth_arena *mem, berth_arena *tmp, berth_graph *g, berth_system *s,
                                 berth_read_report *report, berth_err *err);

/* Machines of the workloads of Tarnawski et al. (tarnawski.c). */
/* Read a whole file: the graph (tarnawski.c), and {"maxSizePerFPGA", "maxFPGAs", "maxCPUs"}. Devices are
 * acc0.. (kind acc, memory maxSizePerFPGA) and cpu0.. (kind cpu); the system's cost model is "tarnawski".
 * mem holds both; tmp is scratch, reset at exit. Fails: BERTH_EFORMAT with the place, BERTH_ENOMEM. */
berth_status berth_tarnawski_parse(const char *file, const char *text, size_t size, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *g, berth_system *s, berth_err *err);
