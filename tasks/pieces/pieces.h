/* Operators of an ONNX model cut into pieces: each piece computes a share of its operator's result, and the
 * model with the pieces computes what the model did. The rules, each with the reason why it is right, stand
 * in docs/splitting.md (pieces_rule.h has the code). The rewriting is of the file: its shapes, attributes and
 * weights are what tells how to cut. The graph of the cut program is what the importer makes of the new file.
 *
 * What a piece takes is cut where it stands: a piece of the same share is taken as it is, so that chains stay
 * cut without coming together. Slice and Concat nodes stand only where shares or axes differ, and where a row
 * needs its neighbours' rows. Weights are cut as initializers, and kept in their own file where they are in
 * one. */
#pragma once

#include "file.h"
#include "graph_format.h"

enum { PIECES_MOST = 256 }; /* pieces of one operator */

/* One operator that is to be cut. */
typedef struct pieces_ask {
	const char *op; /* the node's name; its first output's name where it has none */
	/* A dimension of its first output: a number from 0, or a word (docs/splitting.md); "inner": what is
	 * summed over. NULL: the cheapest of those that can be cut. */
	const char *axis;
	int32_t k;           /* 2 to PIECES_MOST */
	const double *share; /* [k] above 0, in any unit */
	/* Each piece makes for itself what it takes of others' pieces (an all-gather, an all-to-all), and
	 * pieces along an inner axis are added in as many shares (a reduce-scatter): nothing goes through one
	 * node. */
	bool each;
} pieces_ask;

/* How the axes of all others are chosen. */
typedef enum pieces_style {
	PIECES_CHEAPEST, /* each along its cheapest axis */
	/* All along the batch: the first dimension of the first input, as far as operators keep it. Data
	 * parallelism. */
	PIECES_DATA,
	/* Products with weights by columns, and the next ones along what is summed (Shoeybi et al.,
	 * "Megatron-LM: Training Multi-Billion Parameter Language Models Using Model Parallelism", arXiv
	 * 1909.08053, section 3), a table by its vocabulary; what stands between pairs by tokens (Korthikanti
	 * et al., "Reducing Activation Recomputation in Large Transformer Models", MLSys 2023,
	 * section 4.2.2); experts one by one. Others as what they take is cut; else they stay whole. */
	PIECES_TENSOR
} pieces_style;

typedef struct pieces_options {
	const pieces_ask *ask; /* [n_asks] by name */
	int32_t n_asks;
	/* All other operators too, each along its cheapest axis, where k is not 0; of these types only, where
	 * n_types is not 0. One that has no rule, and no operator, is an error. */
	int32_t k;
	const double *share; /* [k] */
	const char *const *type;
	int32_t n_types;
	pieces_style style;
	bool each; /* as in pieces_ask */
	/* Rows that a neighbour has are computed twice instead of being sent: pieces of a chain of
	 * convolutions compute all that their followers need (their receptive field). */
	bool overlap;
	const char *outside; /* what a new file of weights is to be called in the model; NULL: none may be */
} pieces_options;

/* An operator that was cut. */
typedef struct pieces_made {
	const char *op, *type, *axis; /* axis: a word, or a number */
	int64_t length;               /* of the axis */
	int32_t k;
	int64_t *own;       /* [k + 1] piece i has own[i] to own[i + 1] - 1 */
	int64_t *from, *to; /* [k] what it computes, which is more where rows overlap */
	const char **name;  /* [k] the pieces' names */
} pieces_made;

typedef struct pieces_refused {
	const char *op, *type, *why;
} pieces_refused;

/* Bytes of a new file of weights: `rows` blocks of `bytes`, `stride` apart, from `at` on in the file that the
 * model calls `from`. */
typedef struct pieces_copy {
	const char *from;
	int64_t at, rows, bytes, stride;
} pieces_copy;

typedef struct pieces_model {
	berth_file_piece *piece; /* [n_pieces] the new file; they point into the old one's bytes and mem */
	size_t n_pieces;
	pieces_made *made;       /* [n_made] in the order of the graph */
	/* [n_refused] that could not be cut: of `ask` (n_asked of them), then others */
	pieces_refused *refused;
	pieces_copy *copy;       /* [n_copies] the new file of weights, one behind the other */
	int32_t n_made, n_refused, n_asked, n_slices, n_joins, n_sums, n_copies;
	/* For want of a new file of weights n_other_axis operators are cut along another axis than the style
	 * wants: the first, and why. */
	pieces_refused other_axis;
	int32_t n_other_axis;
	int32_t n_lookups; /* nodes around pieces of a vocabulary: which indices are theirs */
} pieces_model;

/* A model that was read once, to be cut in many ways. It borrows the file's bytes and read. */
typedef struct pieces_source pieces_source;

/* Read the model in data[size]; file stands in messages. read as in onnx.h, may be NULL. Everything lives in
 * mem. Fails: BERTH_EFORMAT (no ONNX model), BERTH_EUNSUPPORTED (it calls functions of its own),
 * BERTH_ENOMEM. O(bytes outside of weights). */
berth_status pieces_open(const char *file, const unsigned char *data, size_t size,
                         const berth_read_options *read, berth_arena *mem, pieces_source **out,
                         berth_err *err);

/* Cut it. Everything lives in mem, which is another arena than the source's where the source is to be cut
 * again and mem reset before. Fails: BERTH_EINVAL (an operator that it does not have, a bad axis),
 * BERTH_EFORMAT, BERTH_EUNSUPPORTED, BERTH_ENOMEM. O(bytes outside of weights + weights that are cut). */
berth_status pieces_cut_source(const pieces_source *s, const pieces_options *opt, berth_arena *mem,
                        pieces_model *out, berth_err *err);

/* An operator that can be cut in two, and how. */
typedef struct pieces_axes {
	const char *op;
	const char **axis; /* [n] words as pieces_ask has them */
	int32_t n;
	/* A piece reads at least its share of what the operator reads, less these: rows between windows that
	 * are further apart than they are long, and what the first piece has alone. */
	double loose_bytes;
	bool skips; /* some piece may not take an input that another operator makes */
} pieces_axes;

/* All that can be cut in two along some axis, and whose name no other has, in the order of the graph. outside
 * as in pieces_options. Everything lives in mem. Fails: BERTH_ENOMEM. O(operators * dimensions). */
berth_status pieces_list(const pieces_source *s, const char *outside, berth_arena *mem, pieces_axes **out,
                         int32_t *n, berth_err *err);

/* What would be cut, and along which axis: made, without names, and refused of out. No weight is looked at.
 * Fails as pieces_cut_source. O(operators * dimensions). */
berth_status pieces_plan_source(const pieces_source *s, const pieces_options *opt, berth_arena *mem,
                                pieces_model *out, berth_err *err);

/* pieces_open and pieces_cut_source. */
berth_status pieces_cut_model(const char *file, const unsigned char *data, size_t size,
                              const berth_read_options *read, const pieces_options *opt, berth_arena *mem,
                              pieces_model *out, berth_err *err);
/* The same of a model, in read->sandbox where there is one. Fails: berth_sandbox_run, too. */
berth_status pieces_cut_apart(const berth_content *model, const berth_read_options *read,
                              const pieces_options *opt, berth_arena *mem, pieces_model *out, berth_err *err);
