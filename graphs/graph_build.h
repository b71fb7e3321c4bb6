/* What a graph is built from, between graph_build.c, which takes it piece by piece, and graph_finish.c,
 * which makes the graph. Everything grows without being copied, and what is not stated takes no memory, so
 * that a file of many short statements does not need a multiple of its size. */
#pragma once

#include "columns.h"
#include "graph.h"
#include "name_index.h"

/* Of operators. Words are stored as their index + 1. */
enum {
	OP_NAME,
	OP_TYPE,
	OP_COLOC,
	OP_SEP,
	OP_PIN,
	OP_BACKWARD,
	OP_FLOPS,
	OP_MACS,
	OP_READ,
	OP_WRITE,
	OP_PARAM,
	OP_STATE,
	OP_WORKSPACE,
	OP_OUTPUT,
	OP_DTYPE,
	OP_DIMS, /* their kind, then the numbers */
	OP_COLUMNS = OP_DIMS + 1 + BERTH_MOST_DIMS
};
/* Of edges. EDGE_BYTES holds GRAPH_OWN too, where the edge carries a tensor of its own, named like its
 * consumer. */
enum { EDGE_FROM, EDGE_TO, EDGE_BYTES, EDGE_TENSOR, EDGE_CUT, EDGE_COLUMNS };
/* Of what is attached to an operator or a parameter: a time, a forbidden device, a use. */
enum { PAIR_AT, PAIR_WHAT, PAIR_SECONDS, PAIR_COLUMNS };
enum { PARAM_NAME, PARAM_BYTES, PARAM_COLUMNS };

#define GRAPH_OWN (INT64_C(1) << 62)
#define GRAPH_MAX_BYTES (INT64_C(1) << 53) /* of one figure: exact as a JSON number */

enum { GRAPH_MAX_DEVICES = 1 << 16 }; /* names of devices: their indices fit 16 bits */

/* A list of words without repeats. */
typedef struct graph_words {
	columns word; /* one column */
	berth_name_index index;
} graph_words;

struct berth_builder {
	berth_arena *tmp;
	const char *name;
	bool borrows;            /* texts stay where they are until the graph is finished */
	berth_arena *texts;      /* that copies of texts are put into: tmp, or where the graph will be */
	const char *const *names; /* of operators, once they are finished; NULL: as the columns say */
	columns op, edge, time, forbid, use, param;
	graph_words types, colocs, seps, devices; /* devices: keys of times, pins, forbidden ones */
	berth_name_index ops, params;
	const char *last_tensor; /* as kept */
	berth_merge merge;
};

/* NULL, an unnamed tensor, stands first; then bytewise. */
int graph_compare_names(const char *a, const char *b);

/* Word i of the list. */
const char *graph_word(const graph_words *w, int32_t i);

/* Name of tensor of edge e; NULL: unnamed. */
const char *graph_edge_tensor(const berth_builder *b, size_t e);

/* The shape of operator op. */
berth_dims graph_dims(const berth_builder *b, size_t op);
/* It has all its numbers, and is no other work than what is stated. Fails: BERTH_EFORMAT. */
berth_status graph_check_dims(const char *op, const berth_op_spec *s, berth_err *err);
/* op_shape and the list of unlike shapes of g, in mem; their columns are dropped. zeros [n_ops]. Fails:
 * BERTH_ENOMEM. O(ops). */
berth_status graph_finish_dims(berth_builder *b, int32_t *zeros, berth_arena *mem, berth_graph *g,
                               berth_err *err);
