/* The workloads of J. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan, F. Nina Paravecino, "Efficient
 * algorithms for device placement of DNN graph operators", NeurIPS 2020: a file is a graph, a machine of
 * accelerators and CPUs, and a cost model of its own. */
#ifndef BERTH_TARNAWSKI_H
#define BERTH_TARNAWSKI_H

#include "graph.h"
#include "system.h"

/* Bytes of a tensor are its transfer time in the file's colocation group times this: links of that bandwidth
 * give the time back. */
#define BERTH_TARNAWSKI_BYTES 1e12

/* Does the text look like one of these files? It names maxFPGAs and no format. */
bool berth_tarnawski_is(const char *text, size_t size);

/* Read a file: {"maxSizePerFPGA", "maxFPGAs", "maxCPUs", "nodes": [{"id", "name", "supportedOnFpga",
 * "cpuLatency", "fpgaLatency", "isBackwardNode", "colorClass", "size"}], "edges": [{"sourceId", "destId",
 * "cost"}]}. Devices are acc0.. (kind acc, memory maxSizePerFPGA) and cpu0.. (kind cpu), the system's cost
 * model is "tarnawski". A colour class is a colocation group. Operators have the node's name where it is
 * unique, else node and its id. Times are in the file's own colocation group, read as seconds. mem holds
 * both; tmp is scratch, reset at exit. Fails: BERTH_EFORMAT with the place, BERTH_ENOMEM. */
berth_status berth_tarnawski_parse(const char *file, const char *text, size_t size, berth_arena *mem,
                                   berth_arena *tmp, berth_graph *g, berth_system *s, berth_err *err);

#endif
