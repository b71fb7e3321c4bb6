/* Graphs of the workloads of J. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan, F. Nina Paravecino,
 * "Efficient algorithms for device placement of DNN graph operators", NeurIPS 2020. A file is a graph, a
 * machine of accelerators and CPUs, and a cost model of its own. The machine is read by
 * tarnawski_system.h. */
#ifndef BERTH_TARNAWSKI_H
#define BERTH_TARNAWSKI_H

#include "graph_format.h"

/* Bytes of a tensor are its transfer time in the file's unit times this: links of that bandwidth give the
 * time back. */
#define BERTH_TARNAWSKI_BYTES 1e12

/* A text that names maxFPGAs, and no format of berth's. */
extern const berth_format berth_format_tarnawski;

/* The graph of a file: {"nodes": [{"id", "name", "supportedOnFpga", "cpuLatency", "fpgaLatency",
 * "isBackwardNode", "colorClass", "size"}], "edges": [{"sourceId", "destId", "cost"}]}. A colour class is
 * a colocation group. Operators have the node's name where it is unique, else node and its id. Their
 * times are those of kinds cpu and acc, in the file's own unit, read as seconds. mem holds the graph; tmp
 * is scratch, reset at exit. Fails: BERTH_EFORMAT with the place, BERTH_ENOMEM. */
berth_status berth_graph_parse_tarnawski(const char *file, const char *text, size_t size, berth_arena *mem,
                                         berth_arena *tmp, berth_graph *out, berth_err *err);

#endif
