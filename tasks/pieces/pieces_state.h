/* A model while it is being cut: what was decided, in what form each value is there, and the new file's nodes
 * and weights. Inside of tasks/pieces. */
#pragma once

#include "pieces.h"
#include "pieces_rule.h"
#include "text.h"

/* A part of a value along one dimension. */
typedef struct pieces_part {
	int32_t dim;
	int64_t from, to;
	const char *name;
	struct pieces_part *next;
} pieces_part;

typedef struct pieces_value {
	int32_t dim, k;     /* it is there in k pieces along dim; 0: whole */
	const int64_t *own; /* [k + 1] */
	pieces_part *piece; /* [k] what each holds, at least its own */
	pieces_part *part;  /* others that were made of it */
	bool joined;        /* of pieces: the whole was made, too */
	bool whole;         /* somebody takes all of it */
} pieces_value;

/* What was decided for a node. */
typedef struct pieces_cut {
	pieces_spec spec;
	int32_t k;
	int64_t *own;       /* [k + 1] */
	int64_t *from, *to; /* [k] what is computed */
	const char *axis;
	const char **name;   /* [k] of the pieces */
	const double *share; /* [k] */
	bool each;           /* as in pieces_ask */
	/* The dimension along which its outputs are there in pieces; PIECES_INNER: they are whole. Sums in
	 * shares have their bounds in sum_own [k + 1]. */
	int32_t out_dim;
	int64_t *sum_own;
} pieces_cut;

/* What becomes of a node that is not cut (pieces_beside.c). */
typedef enum pieces_fate {
	PIECES_STAYS,
	PIECES_GOES,    /* nobody takes its results any more */
	PIECES_BY_PIECE /* the shape of a value: that of its first piece and a rest */
} pieces_fate;

/* A node of the new file. */
typedef struct pieces_node {
	int32_t old;      /* the node of the file, as it stands; -1: a new one: */
	const char *data; /* [size] */
	size_t size;
} pieces_node;

struct pieces_source {
	onnx_model m;
	const berth_read_options *read; /* NULL: no dimension is given */
	uint64_t *open;                 /* [n_values] dimensions that the file leaves open */
	int32_t *uses;                  /* [n_values] by nodes and as an output of the graph */
	berth_strmap values, nodes;     /* names that the file has */
	berth_strmap label;             /* -> the first node that is called so */
	bool *again;                    /* [n_nodes] of those: another node is called so, too */
};

/* Names that are taken: those of the file, and new ones. */
typedef struct pieces_names {
	const berth_strmap *old;
	berth_strmap added;
} pieces_names;

typedef struct pieces_state {
	const pieces_source *s;
	onnx_model m;
	const pieces_options *opt;
	const berth_read_options *read; /* NULL: no dimension is given */
	berth_arena *mem;               /* of everything */
	const uint64_t *open;           /* [n_values] dimensions that the file leaves open */
	pieces_value *value;            /* [n_values] */
	pieces_cut **cut;               /* [n_nodes] NULL: as it is */
	pieces_fate *fate;              /* [n_nodes] once all cuts are decided */
	pieces_names values, nodes;     /* names that are taken */
	int32_t n_names;                /* of them that are new */
	berth_strmap numbers;           /* "N" -> the constant N of Slice nodes: */
	const char **number;
	pieces_node *node;                /* [n_nodes] of the new file */
	berth_file_piece *weight, *input; /* fields that are added to the graph: initializers, inputs */
	size_t n_numbers, cap_number, n_nodes, cap_node, n_weights, cap_weight, n_inputs, cap_input, cap_copy,
		cap_refused;
	char *text; /* [cap_text] a name that is looked up */
	size_t cap_text;
	int64_t copied;        /* bytes of the new file of weights */
	int32_t taker, takers; /* which piece of how many takes something; takers 0: none makes anything
	                          itself */
	pieces_model *out;
} pieces_state;

static inline pieces_at pieces_at_node(pieces_state *x, int32_t node)
{
	return (pieces_at){&x->m, &x->m.node[node], x->open};
}

/* ---- pieces_open.c ---- */

/* Nothing is cut yet; out is the caller's to set. Fails: BERTH_ENOMEM. */
berth_status pieces_state_new(const pieces_source *s, const pieces_options *opt, berth_arena *mem,
                              pieces_state *x, berth_err *err);

/* ---- pieces_plan.c ---- */

/* Decide what is cut, along which axis, and what each piece computes. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status pieces_plan(pieces_state *x, berth_err *err);
/* Why the node cannot be cut along dim (then the rest of *s is worth nothing), NULL: it can. Fails:
 * BERTH_ENOMEM. */
berth_status pieces_consider(pieces_state *x, int32_t node, int32_t dim, pieces_spec *s, const char **why,
                             berth_err *err);
/* Into what an operator is cut: as in pieces_ask. */
typedef struct pieces_parts {
	int32_t k;
	const double *share; /* [k] */
	bool each;
} pieces_parts;

/* Cut the node so; NULL in *why, or why not. Fails: BERTH_ENOMEM. */
berth_status pieces_make(pieces_state *x, int32_t node, const pieces_spec *s, const pieces_parts *parts,
                         const char **why, berth_err *err);
berth_status pieces_make_cheapest(pieces_state *x, int32_t node, const pieces_parts *parts, const char **why,
                                  berth_err *err);
/* Is the value there in k pieces along dim? */
bool pieces_stands_cut(const pieces_state *x, int32_t v, int32_t k, int32_t dim);
/* Is it there in pieces? */
bool pieces_is_cut(const pieces_state *x, int32_t v);
/* What the piece that computes [a, b) takes of input k: false: nothing, all of it for dim PIECES_WHOLE. */
void pieces_range(const pieces_spec *s, int32_t k, int64_t a, int64_t b, int64_t *from, int64_t *to);

/* ---- pieces_beside.c ---- */

/* Set x->fate. Fails: BERTH_ENOMEM. O(inputs of nodes). */
berth_status pieces_find_idle(pieces_state *x, berth_err *err);
/* Nodes for a Shape that is PIECES_BY_PIECE. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status pieces_put_shape(pieces_state *x, int32_t node, berth_err *err);

/* ---- pieces_style.c ---- */

/* As pieces_make_cheapest, by the style and the parts of the options. */
berth_status pieces_make_styled(pieces_state *x, int32_t node, const char **why, berth_err *err);

/* ---- pieces_tensor.c ---- */

/* The reason of weights that stand in a file of their own, and not in lines. */
extern const char pieces_needs_data[];
/* Why a constant cannot be cut along dim. NULL: it can. */
const char *pieces_tensor_why(const pieces_state *x, int32_t v, int32_t dim);
/* Will pieces of the constant stand in the file, and not be made by Slice? */
bool pieces_tensor_stands(const pieces_state *x, int32_t v);
/* [from, to) of a constant as one of its own. Fails: BERTH_EFORMAT, BERTH_ENOMEM. */
berth_status pieces_tensor_part(pieces_state *x, int32_t v, int32_t dim, int64_t from, int64_t to,
                                const char *name, berth_err *err);
/* Integers as a constant of its own, [n]. Fails: BERTH_ENOMEM. */
berth_status pieces_ints_put(pieces_state *x, const char *name, const int64_t *ints, int32_t n,
                             berth_err *err);
/* A zero of a type whose elements have whole bytes, [1]. Fails: BERTH_ENOMEM. */
berth_status pieces_zero_put(pieces_state *x, const char *name, int32_t elem, berth_err *err);

/* ---- pieces_region.c ---- */

/* The name of [from, to) of v along dim; of all of v. Nodes that make it are added. Fails: BERTH_EFORMAT,
 * BERTH_ENOMEM. */
berth_status pieces_region(pieces_state *x, int32_t v, int32_t dim, int64_t from, int64_t to,
                           const char **name, berth_err *err);
berth_status pieces_whole(pieces_state *x, int32_t v, berth_err *err);
/* The name of all of v for the piece that takes it now. */
berth_status pieces_all(pieces_state *x, int32_t v, const char **name, berth_err *err);
/* The shares [own[j], own[j + 1]) along dim of the sum of values in [k], the j-th in out[j]. label: what
 * nodes are called after. Fails: BERTH_ENOMEM. */
berth_status pieces_sum_shares(pieces_state *x, const char *label, int32_t v, int32_t dim, int32_t k,
                               const int64_t *own, const char *const *in, const char **out, berth_err *err);

/* A number as a constant [1] that all nodes share. Fails: BERTH_ENOMEM. */
berth_status pieces_number(pieces_state *x, int64_t value, const char **name, berth_err *err);

/* Indices in lines of a piece, and the nearest that it has. */
typedef struct pieces_lines {
	const char *own, *near;
} pieces_lines;
/* Of the indices, for lines [from, to) of a table of `lines`. base: what new names begin with. Fails:
 * BERTH_ENOMEM. */
berth_status pieces_lines_before(pieces_state *x, const char *base, const char *index, int64_t lines,
                                 int64_t from, int64_t to, pieces_lines *out, berth_err *err);
/* What a Gather of them made (of type elem, of indices of that rank, and lines of `more` dimensions), with
 * zeros where a line is another piece's. Fails: BERTH_ENOMEM. */
berth_status pieces_lines_behind(pieces_state *x, const char *base, const pieces_lines *l, int32_t rank,
                                 int32_t more, int32_t elem, const char *made, const char **out,
                                 berth_err *err);

/* ---- pieces_put.c ---- */

/* A name that no value, or no node, has (taken: x->values or x->nodes), from the format. Fails:
 * BERTH_ENOMEM. */
berth_status pieces_name(pieces_state *x, pieces_names *taken, const char **out, berth_err *err,
                         const char *fmt, ...) BERTH_PRINTF(5, 6);
/* A text, and a message that the other buffer holds, as a field. */
void pieces_put_text(berth_strbuf *b, uint32_t field, const char *text);
void pieces_put_message(berth_strbuf *b, uint32_t field, const berth_strbuf *message);
/* A field of the graph from what the buffer holds. */
berth_status pieces_field(pieces_state *x, uint32_t number, const berth_strbuf *message,
                          berth_file_piece *out, berth_err *err);
/* An attribute of one or more numbers. */
typedef struct pieces_attr {
	const char *name;
	const int64_t *ints; /* [n] */
	int32_t n;           /* -1: one number, not a list */
} pieces_attr;
/* A node of a type of the default domain, called name (or like it, where another node is). */
berth_status pieces_put_node(pieces_state *x, const char *type, const char *name, const char *const *in,
                             int32_t n_in, const char *out, const pieces_attr *attr, int32_t n_attrs,
                             berth_err *err);
/* The node with other inputs, outputs and name, and with these attributes instead of those of the name;
 * everything else stays as it is. */
berth_status pieces_put_copy(pieces_state *x, int32_t node, const char *name, const char *const *in,
                             const char *const *out, const pieces_attr *attr, int32_t n_attrs,
                             const char *drop, berth_err *err);
berth_status pieces_put_old(pieces_state *x, int32_t node, berth_err *err);

/* Is the symbolic dimension among those that opt (may be NULL) gives? */
bool pieces_is_given(const berth_read_options *opt, const char *name);
/* What field f of the graph speaks of, an input (11), an output (12) or another value (13), with the
 * dimensions that are given. *any = false: there are none, and the field stays. Fails: BERTH_EFORMAT,
 * BERTH_ENOMEM. */
berth_status pieces_fix(pieces_state *x, const protobuf *w, const protobuf_field *f, berth_file_piece *out,
                        bool *any, berth_err *err);
