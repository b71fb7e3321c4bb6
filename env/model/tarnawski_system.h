/* Machines of the workloads of Tarnawski et al. (tarnawski.c). */
#pragma once

#include "graph.h"
#include "system.h"

/* Read a whole file: the graph (tarnawski.c), and {"maxSizePerFPGA", "maxFPGAs", "maxCPUs"}. Devices are
 * acc0.. (kind acc, memory maxSizePerFPGA) and cpu0.. (kind cpu); the system's cost model is "tarnawski".
 * mem holds both; tmp is scratch, reset at exit. Fails: BERTH_EFORMAT with the place, BERTH_ENOMEM. */
berth_status berth_tarnawski_parse(const char *file, const char *text, size_t size, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *g, berth_system *s, berth_err *err);
