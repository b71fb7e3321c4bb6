/* An ONNX model as the engine holds it. berth's importer decodes it, so that operators are numbered and
 * folded as in berth's graph. Every tensor has real numbers in it: those of one run of the unsplit model.
 *
 * Weights that the file leaves out are made. They look like graph inputs, stand in a file of their own that
 * is not there, or are Constants without content. They are uniform:
 *   matrices and kernels                     in +-sqrt(6 / fan-in); for MatMul in +-sqrt(3 / fan-in)
 *   scales and variances of normalisations   in 0.5 to 1.5
 *   other vectors                            in +-0.1
 * Inputs are uniform in +-1; whole numbers and truth values are 0 or 1. All come from PCG32 with the
 * value's number as the stream, and are the same in every run. */
#pragma once

#include "onnx_edit.h"
#include "onnx_model.h"
#include "ort_api.h"

enum { ORT_MAX_WHOLE = 8 };

typedef struct ort_model {
	ort_lib *lib;
	berth_arena *mem;
	onnx_model onnx;
	int32_t n_ops;
	int32_t *op_node;          /* [n_ops] */
	int32_t *node_op;          /* [n_nodes] -1: it is no operator */
	int32_t *value_op;         /* [n_values] the operator that makes it; -1: none */
	ort_shape *shape;          /* [n_values]; elem 0: not known */
	void **data;               /* [n_values] content, NULL: none */
	ort_value **value;         /* [n_values] made by the run of the unsplit model, NULL: none */
	int32_t *stamp, now;       /* [n_values] */
	int32_t *input;            /* [in.n] graph inputs that are no weights */
	ort_tensors in;
	ort_tensors out;           /* names of the graph's outputs */
	int level;
	const char *const *config; /* of sessions of the unsplit model (ort_session_new) */
	int whole_threads[ORT_MAX_WHOLE];
	ort_session *whole[ORT_MAX_WHOLE];
	int32_t n_whole;
	void **expected; /* [n_outputs] outputs of the unsplit model, optimised as the engine's default is */
	void **plain;    /* [n_outputs] the same of other_level, which is no optimisation */
	int other_level;
	double tolerance; /* the largest difference of outputs that can be rounding */
	bool quantised;  /* numbers of few steps: rounding may be more, where pieces are fused otherwise */
	const char *missing; /* the first file of weights that is not there: they are made; NULL: none */
} ort_model;

/* Load the model with the dimensions of opt, make what it lacks, and run it once. Everything lives in mem;
 * ort_model_close gives back what is not memory. Fails: BERTH_EFORMAT (no ONNX, or it cannot be run),
 * BERTH_EIO, BERTH_ENOMEM. */
berth_status ort_model_open(ort_lib *lib, const char *path, const berth_read_options *opt, int level,
                            const char *const *config, berth_arena *mem, ort_model *out, berth_err *err);
void ort_model_close(ort_model *m);

static inline const onnx_node *ort_model_node(const ort_model *m, int32_t op)
{
	return &m->onnx.node[m->op_node[op]];
}

/* Names of the values v[n], without values, in mem. Fails: BERTH_ENOMEM. */
berth_status ort_model_names(const ort_model *m, const int32_t *v, int32_t n, berth_arena *mem,
                             ort_tensors *out, berth_err *err);
/* Room for the content of a value, in mem. Fails: BERTH_ENOMEM. */
berth_status ort_model_room(const ort_model *m, int32_t v, berth_arena *mem, void **data, berth_err *err);
/* Add value v over its content. */
berth_status ort_model_add(const ort_model *m, int32_t v, void *data, ort_tensors *t, berth_err *err);

/* Is the node a Constant whose content the file leaves out, so that it was made? No run gives it, and parts
 * of the model have an initializer in its place. */
bool ort_model_makes(const ort_model *m, int32_t node);

/* A model of the given nodes [n], in topological order, with outputs out[n_out] (values). A value that no
 * node makes is an initializer where it is constant, else an input. in (room for n_values) gets the input
 * values, *n_in their number. The bytes live in mem. Fails: BERTH_EFORMAT (an input of unknown content),
 * BERTH_ENOMEM. */
berth_status ort_model_part(ort_model *m, const int32_t *nodes, int32_t n, const int32_t *out, int32_t n_out,
                            berth_arena *mem, int32_t *in, int32_t *n_in, berth_strbuf *bytes,
                            berth_err *err);

/* The model of an operator alone: bytes, values that it makes, out [*n_out], and the inputs that it has in
 * the unsplit model, with room for `more`. All lives in mem. Fails: as ort_model_part. */
berth_status ort_model_alone(ort_model *m, int32_t op, int32_t more, berth_arena *mem, ort_tensors *in,
                             int32_t **out, int32_t *n_out, berth_strbuf *bytes, berth_err *err);

/* ValueInfoProto as a field of a graph (11 input, 12 output). shape NULL: the name alone. */
void ort_put_value_info(berth_strbuf *graph, uint32_t field, const char *name, const ort_shape *shape);
/* The field that w has just passed, as it stands. */
void ort_put_kept(berth_strbuf *b, const protobuf *w, const protobuf_field *f);

/* A session of the unsplit model. Fails: as ort_session_new; BERTH_ENOMEM. */
berth_status ort_model_session(ort_model *m, const ort_session_cfg *cfg, ort_session **out, berth_err *err);

/* The unsplit model on `threads` threads, optimised by the engine's level. Kept. */
berth_status ort_model_whole(ort_model *m, int threads, ort_session **out, berth_err *err);
/* Run it; outputs [n_outputs] are made and must be freed. */
berth_status ort_model_run_whole(ort_model *m, ort_session *s, ort_value **outputs, berth_err *err);

/* From now on plans are made and judged without optimisation; and back again. */
void ort_model_swap_level(ort_model *m);

/* Largest difference of output o from what is expected, relative to the largest expected element
 * (ort_compare.h). */
double ort_model_difference(const ort_model *m, int32_t o, const void *data);
