/* Figures about a graph's shape, for show. */
#ifndef BERTH_STATS_H
#define BERTH_STATS_H

#include "graph.h"

typedef struct berth_graph_stats {
	int32_t depth;         /* operators on the longest path; 0 for an empty graph */
	int32_t width;         /* most operators at one distance from the sources */
	int64_t tensor_bytes;  /* of all tensors */
	int64_t memory_bytes;  /* parameters, state and outputs: what stays for as long as the model does */
	int32_t *type_ops;     /* [n_types + 1] operators of each type; the last: those without a type */
	double *type_flops, *type_macs; /* [n_types + 1] */
	/* [n_types + 1]; a shared parameter counts for its first user */
	int64_t *type_read_bytes, *type_write_bytes, *type_param_bytes, *type_state_bytes;
	int64_t state_bytes, moved_bytes; /* of all operators; moved: read and written */
	int32_t cut_ops, pieces; /* operators that stand in pieces, by the names of these, and their pieces */
	int32_t *type_by_ops;  /* [n_types + 1] types by falling number of operators; ties: first use first */
} berth_graph_stats;

/* Arrays live in mem. tmp is scratch, reset at exit. Fails: BERTH_ENOMEM. O(ops + edges + types^2). */
berth_status berth_graph_stats_new(const berth_graph *g, berth_arena *mem, berth_arena *tmp,
                                   berth_graph_stats *out, berth_err *err);

/* Pieces that operators were cut into, by the names of these (docs/splitting.md), and in *cut_ops of how many
 * operators. O(ops). */
int32_t berth_graph_pieces(const berth_graph *g, int32_t *cut_ops);

#endif
