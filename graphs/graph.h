/* The operator graph: structs of arrays over operators (op), tensors (t), edges (e = one use of one tensor
 * by one consumer), parameters shared by several operators. Built once by a berth_builder, checked, then
 * read-only.
 *
 * Order: operators keep the order of the file. Tensors are numbered by (producer, unnamed first, name
 * bytewise), so that a lower tensor index comes first wherever the execution model breaks ties by producer
 * and tensor name. Edges are numbered tensor by tensor, consumers ascending.
 *
 * Columns of zeros share their memory, and so do those of -1, those of 0, 1, 2, ... and equal texts: a graph
 * is read-only. */
#pragma once

#include "arena.h"
#include "precision.h"
#include "text.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The shape of an operator's work, by which its time is predicted (times.h). Keys of files are those of
 * berth_dims_key. All are at least 1. */
typedef enum berth_dims_kind {
	BERTH_DIMS_NONE,
	BERTH_DIMS_PRODUCT, /* b products of [m, k] by [k, n] */
	BERTH_DIMS_CONV,    /* batch, in and out channels, output pixels, taps (pixels of the kernel), stride,
	                     * groups, dilation */
	BERTH_DIMS_ROWS,    /* rows of a width: what other types write, or read where they reduce or pool */
	BERTH_N_DIMS_KINDS
} berth_dims_kind;

enum { BERTH_MOST_DIMS = 8 };

typedef struct berth_dims {
	berth_dims_kind kind;
	int64_t at[BERTH_MOST_DIMS]; /* in the order above; 0 beyond */
} berth_dims;

/* Name of number i of a kind, or NULL beyond its last. */
const char *berth_dims_key(berth_dims_kind kind, int i);
/* Multiply-accumulates of products and convolutions, elements of rows; 0 without a shape. */
double berth_dims_work(const berth_dims *d);
/* The shape of a text: the keys of one kind in any order, as in "b=1,m=128,n=64,k=32".
 * Fails: BERTH_EFORMAT. */
berth_status berth_dims_parse(const char *text, berth_dims *out, berth_err *err);
/* The shape with these numbers; none where one of them is below 1, as of an empty tensor, or beyond 2^53. */
berth_dims berth_dims_of(berth_dims_kind kind, const int64_t at[BERTH_MOST_DIMS]);
#define BERTH_DIMS(kind, ...) \
	berth_dims_of(BERTH_DIMS_##kind, (const int64_t[BERTH_MOST_DIMS]){__VA_ARGS__})

typedef struct berth_graph {
	const char *name;
	int32_t n_ops, n_tensors, n_edges, n_types, n_params, n_coloc_names, n_seps, n_times, n_time_names,
		n_forbids, n_shapes;

	/* operators [n_ops] */
	const char **op_name;
	int32_t *op_type;              /* into type_name; -1: no type */
	double *op_flops, *op_macs;    /* >= 0; 0: not known */
	int64_t *op_read_bytes, *op_write_bytes, *op_param_bytes, *op_state_bytes, *op_workspace_bytes,
		*op_output_bytes;
	int32_t *op_coloc_name;             /* into coloc_name; -1: free */
	/* into sep_name; -1: free. Operators of one separation group stand on different devices */
	int32_t *op_sep;
	const char **op_pin;           /* device name; NULL: free */
	bool *op_backward;
	unsigned char *op_dtype;       /* berth_precision that it computes in; 0: not given, read as f32 */
	int32_t *op_shape;             /* into shape; 0: none, as shape[0] is */
	berth_dims *shape;             /* [n_shapes] unlike ones, in order of first use */
	const char **type_name;        /* [n_types], in order of first use */
	const char **coloc_name;       /* [n_coloc_names], in order of first use */
	const char *coloc_called;      /* "kernel", "layer": what all of them are; NULL: colocation groups */
	const char **sep_name;         /* [n_seps], in order of first use */

	/* measured times, CSR: op_time_off [n_ops+1] into time_key (index of a name in time_name: of a device
	 * or kind; "*": any other) and time_s (seconds; NAN: cannot run) */
	int32_t *op_time_off;
	uint16_t *time_key;
	double *time_s;
	const char **time_name; /* [n_time_names] */

	/* forbidden devices, CSR: op_forbid_off [n_ops+1] into forbid_dev (device names) */
	int32_t *op_forbid_off;
	const char **forbid_dev;

	/* shared parameters, CSR both ways: a parameter is stored once per device that holds one of its
	 * users */
	const char **param_name;       /* [n_params] */
	int64_t *param_bytes;
	int64_t all_param_bytes;       /* of all operators, shared ones once */
	int32_t *param_op_off;         /* [n_params+1] into param_op, ascending */
	int32_t *param_op;
	int32_t *op_param_off;         /* [n_ops+1] into op_param, ascending */
	int32_t *op_param;

	/* tensors: those of op are op_tensor_off[op] .. op_tensor_off[op+1]-1 */
	int32_t *op_tensor_off;        /* [n_ops+1] */
	int32_t *tensor_producer;      /* [n_tensors] */
	const char **tensor_name;      /* NULL: the unnamed output */
	int64_t *tensor_bytes;
	double *tensor_cut_s; /* seconds that each hop takes beside what the link says; NULL: none anywhere */
	int32_t *tensor_use_off;       /* [n_tensors+1] into edge_consumer: the edges of the tensor */
	int32_t *edge_consumer;        /* [n_edges] */

	/* inputs, CSR: op_in_off [n_ops+1] into in_tensor, tensors ascending */
	int32_t *op_in_off;
	int32_t *in_tensor;

	/* The graph as it was read, where rules were added to it (constraints.h); else NULL. */
	const struct berth_graph *plain;

	int32_t *topo_op;              /* [n_ops] Kahn's order, lowest operator index first */
	int32_t *op_topo;              /* [n_ops] its inverse */

	/* Blocks in program order (granularity.h): at most max_cuts of the borders between neighbours lie
	 * between different devices (-1: any number). No file states them. */
	int32_t n_blocks, max_cuts;
	int32_t *op_block;             /* [n_ops] 0 .. n_blocks-1; NULL: it has no blocks */
} berth_graph;

/* A loop over the edges of all tensors that op makes, which stand in a row. */
#define BERTH_EACH_USE(e, g, op) \
	for (int32_t e = (g)->tensor_use_off[(g)->op_tensor_off[op]], \
	             end_of_##e = (g)->tensor_use_off[(g)->op_tensor_off[(op) + 1]]; e < end_of_##e; e++)

/* What a group of operators that share a device is called. */
static inline const char *berth_coloc_called(const berth_graph *g)
{
	return g->coloc_called ? g->coloc_called : "colocation group";
}

/* ---- building ---- */

typedef struct berth_builder berth_builder;

#define BERTH_MOST_OP_S 1e6 /* seconds that an operator may take */

/* Attributes of one operator; zero-initialise, set what is known. Strings are copied. */
typedef struct berth_op_spec {
	const char *name, *type; /* name required; type may be NULL */
	double flops, macs;
	int64_t read_bytes, write_bytes, param_bytes, state_bytes, workspace_bytes, output_bytes;
	const char *colocate, *separate, *pin;
	bool backward;
	berth_precision dtype;
	berth_dims dims;
} berth_op_spec;

/* A builder whose memory is tmp (it grows there until the caller resets it). Fails: BERTH_ENOMEM. */
berth_status berth_builder_new(berth_arena *tmp, const char *name, berth_builder **out, berth_err *err);

/* For large graphs, right after berth_builder_new. Makes room for the names of as many operators (more
 * may come). It is also a promise that all texts handed to the builder stay until it is finished, so that
 * it need not copy them. Fails: BERTH_ENOMEM. */
berth_status berth_builder_reserve(berth_builder *b, size_t n_ops, berth_err *err);

/* For large graphs, too: texts that the builder copies are put into mem at once, in which the graph will be
 * finished, so that it need not copy them again. What fails leaves some there. */
berth_status berth_builder_texts(berth_builder *b, berth_arena *mem, berth_err *err);

/* Append an operator; *op (if not NULL) = its index. Fails: BERTH_EFORMAT (empty or duplicate name, negative
 * or not finite figure), BERTH_ENOMEM. */
berth_status berth_builder_op(berth_builder *b, const berth_op_spec *spec, int32_t *op, berth_err *err);

/* What is stated about op so far (texts are the builder's), and all of it but the name anew. */
void berth_builder_get(const berth_builder *b, int32_t op, berth_op_spec *out);
berth_status berth_builder_set(berth_builder *b, int32_t op, const berth_op_spec *spec, berth_err *err);

/* Measured time of op on a device name or kind, or ("*") on all that no other key names; seconds NAN: cannot
 * run there. At most once per (op, key). */
berth_status berth_builder_time(berth_builder *b, int32_t op, const char *key, double seconds,
                                berth_err *err);
berth_status berth_builder_forbid(berth_builder *b, int32_t op, const char *device, berth_err *err);

/* One use of the producer's tensor (NULL: the unnamed output) by a consumer. */
berth_status berth_builder_edge(berth_builder *b, int32_t from, int32_t to, int64_t bytes, const char *tensor,
                                berth_err *err);

/* The same with a tensor of the edge's own, which is named like the consumer. */
berth_status berth_builder_own_edge(berth_builder *b, int32_t from, int32_t to, int64_t bytes,
                                    berth_err *err);
/* What becomes of edges without a tensor's name between the same two: refused (that is so where nothing is
 * said), one edge with the bytes of all, one with the most of them. */
typedef enum berth_merge { BERTH_MERGE_NONE, BERTH_MERGE_SUM, BERTH_MERGE_MOST } berth_merge;
void berth_builder_merge(berth_builder *b, berth_merge how);
/* Operators so far. */
int32_t berth_builder_ops(const berth_builder *b);
/* Edges so far, numbered in the order in which they came; bytes and tensor of one anew (own: as of
 * berth_builder_own_edge). */
int32_t berth_builder_edges(const berth_builder *b);
berth_status berth_builder_set_edge(berth_builder *b, int32_t edge, int64_t bytes, const char *tensor,
                                    bool own, berth_err *err);

/* Seconds that each hop of the tensor takes beside what the link says. This is what an engine pays where
 * the tensor leaves the operators that it runs as one piece (a layout that is changed, a fusion that
 * cannot be made). It speaks of the edge added last. All edges of a tensor say the same. Fails:
 * BERTH_EFORMAT (negative, not finite). */
berth_status berth_builder_cut(berth_builder *b, double seconds, berth_err *err);

/* A parameter that several operators share; use adds a user. */
berth_status berth_builder_param(berth_builder *b, const char *name, int64_t bytes, int32_t *param,
                                 berth_err *err);
berth_status berth_builder_param_use(berth_builder *b, int32_t param, int32_t op, berth_err *err);

/* Index of the operator with that name, or -1. */
int32_t berth_builder_find(const berth_builder *b, const char *name);

/* The finished graph, in mem; needs nothing of the builder afterwards, which is empty then. Fails:
 * BERTH_EFORMAT (a cycle, named by operators on it; the same (from, to, tensor) twice; unequal bytes of one
 * tensor; sums beyond limits), BERTH_ENOMEM. O(ops + edges, sorted). */
berth_status berth_builder_finish(berth_builder *b, berth_arena *mem, berth_graph *out, berth_err *err);

/* All invariants above. Fails: BERTH_EFORMAT with the first broken one. O(ops + edges). */
berth_status berth_graph_check(const berth_graph *g, berth_err *err);
/* In debug builds, wherever a graph is made: a broken invariant ends the program (berth_must). */
void berth_graph_must_hold(const berth_graph *g);

/* The shape of op; of kind BERTH_DIMS_NONE where it has none. */
const berth_dims *berth_graph_dims(const berth_graph *g, int32_t op);

/* What g states about op, but for its times and forbidden devices. Borrows g's texts. */
berth_op_spec berth_graph_op_spec(const berth_graph *g, int32_t op);

/* The file's name in path without folder and suffix, as graphs are called: [*n], not closed by a 0. */
const char *berth_graph_stem(const char *path, size_t *n);

/* Index of the operator with that name, or -1. O(ops). */
int32_t berth_graph_find(const berth_graph *g, const char *name);

/* The operators by their names: map, in mem. Fails: BERTH_ENOMEM. O(ops). */
berth_status berth_graph_names(const berth_graph *g, berth_arena *mem, berth_strmap *map, berth_err *err);

/* What measured time i is for. */
const char *berth_graph_time_name(const berth_graph *g, int32_t i);
/* The names of out's times: those of g, then more[n]. Texts are borrowed, the list is in mem. Fails:
 * BERTH_EFORMAT (too many), BERTH_ENOMEM. */
berth_status berth_graph_join_time_names(const berth_graph *g, const char *const *more, size_t n,
                                         berth_arena *mem, berth_graph *out, berth_err *err);

/* ---- sums, for show ---- */
double berth_graph_flops(const berth_graph *g);
double berth_graph_macs(const berth_graph *g);
/* Bytes of an operator's weights, shared ones too; and has it any? */
int64_t berth_graph_op_weights(const berth_graph *g, int32_t op);
bool berth_graph_has_weights(const berth_graph *g, int32_t op);
/* Parameters of all operators, each shared one once. */
int64_t berth_graph_param_bytes(const berth_graph *g);

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

/* What the names of pieces tell (docs/splitting.md, Names). */
/* Of "NAME/piece 2 of 3" the number 2, and in *of, which may be NULL, 3; the last piece counts where pieces
 * were cut again. In *len, which may be NULL, the length of NAME. 0: no piece. */
int32_t berth_piece_number(const char *name, int32_t *of, size_t *len);
/* Is it the name of what a join takes: of a piece, or of a share of a sum ("NAME/sum 1 of 2")? */
bool berth_piece_is_part(const char *name);
/* Does the name say that pieces come together there ("VALUE/joined")? */
bool berth_piece_is_join(const char *name);

/* The number at the end of the name of a piece, or of one of several nodes between pieces
 * ("VALUE/joined 1 of 2"): 1, and in *of 2. 0: it has none. */
int32_t berth_piece_share(const char *name, int32_t *of);

/* Does any part of the name say so: is it a piece, a share, or derived from one, as
 * "NAME/piece 1 of 2/grad_sum"? */
bool berth_piece_named(const char *name);
