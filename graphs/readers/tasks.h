/* Task graphs of the scheduling literature: Graphviz DOT, the Standard Task Graph set's format (STG), and
 * Pegasus workflows (DAX).
 *
 * Units. Times are read as seconds, times `unit`. Such a time holds on every device ("*" in time_s): these
 * formats describe equal processors. With `speed`, the FLOP/s of the machine on which the times were taken,
 * they become FLOPs instead, and devices differ. Where an edge has a cost that is a time, it becomes the
 * bytes that a link of `bandwidth` bytes per second carries in that time. */
#pragma once

#include "graph_format.h"

typedef struct berth_task_options {
	double unit;        /* seconds that one unit of time in the file stands for */
	double speed;       /* FLOP/s of the machine that times hold on; 0: they hold everywhere */
	double bandwidth;   /* bytes/s of the link that costs of edges hold on */
	const char *suffix; /* of the graph's name: the options that are no defaults, as ":key=value" */
} berth_task_options;

/* From words like "unit=1e-3", "speed=4e9", "bandwidth=1.25e8". Fails: BERTH_EINVAL (an unknown key or
 * value), BERTH_ENOMEM. */
berth_status berth_task_options_read(const char *file, const char *const *word, int32_t n, berth_arena *mem,
                                     berth_task_options *out, berth_err *err);

/* The formats. A text needs no closing 0. A file is shown in messages, and its stem is the graph's name.
 * Reading fails: BERTH_EFORMAT (file:line:column, what was found and expected), BERTH_ENOMEM. O(text),
 * sorted.
 *
 * DOT: a directed graph. Nodes are operators named by their ids. Subgraphs are flattened, and an edge may
 * have one at its ends. These attributes count (upper or lower case):
 *   of a node, as numbers
 *     flops, size: FLOPs
 *     time, runtime, duration, cost, weight, and label where it is a number: a time, the first of these
 *     time_KIND: a time on devices of that name or kind
 *     read_bytes, write_bytes, param_bytes, output_bytes
 *   of a node, as text: type, colocate, pin
 *   of an edge
 *     bytes, size, data: bytes
 *     time, comm, cost, weight, and label where it is a number: else a time
 *     tensor: the name of what is sent. Edges with one name carry one tensor. Without it, each edge
 *       carries its own. */
extern const berth_format berth_format_dot; /* begins with strict, digraph or graph */

/* STG: the number of tasks (without the two dummies), then a line for each task. A line holds its number,
 * time, number of predecessors, and their numbers. In the form with communication each predecessor is
 * followed by the cost of its edge. Comments stand after #. Operators are named by their numbers. Edges
 * without a cost carry 0 bytes. */
extern const berth_format berth_format_stg; /* begins with a digit */

/* DAX: XML of Pegasus 2 and 3. It holds jobs with runtime, the files that they use with link="input" or
 * "output" and size, and child/parent. Operators are named by their jobs' ids, and their type is the
 * job's name. A file is one tensor from the job that makes it to those that take it. A child that takes
 * nothing of its parent gets an edge of 0 bytes. Files that no job takes leave the graph. Files that no
 * job makes are read from outside. */
extern const berth_format berth_format_dax; /* begins with < */

/* WfCommons: workflows as they ran, in JSON, WfFormat 1.0 to 1.5. Tasks and files are as the jobs and files
 * of DAX; a task's peak of memory is its workspace. The time of a task holds everywhere, and stands under the
 * name of each machine that it was taken on, too. */
extern const berth_format berth_format_wfcommons; /* JSON that names schemaVersion and workflow */

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
