/* Layers of the zoo: each call adds one operator with its shape, FLOPs, MACs and bytes to a net and returns
 * its output.
 *
 * Costs: 2 FLOPs a multiply-accumulate for Conv, Gemm and MatMul, one FLOP an output element for the rest;
 * read_bytes are all inputs and the parameters used, write_bytes the output. Views (Flatten, Reshape) are no
 * operators.
 *
 * The first error sticks to the net and the calls after it do nothing, so that a model reads as a list of
 * layers. */
#pragma once

#include "zoo.h"

enum { ZOO_RANK = 4, ZOO_INPUT = -1, ZOO_NAME = 96, ZOO_MAX_EXPERTS = 64 };

/* An output: batch, channels, height, width in pictures; batch, heads, rows, columns in matrices. op
 * ZOO_INPUT: comes from outside. */
typedef struct zoo_tensor {
	int32_t op;
	int64_t dim[ZOO_RANK];
	const char *name; /* NULL: the operator's unnamed output */
} zoo_tensor;

typedef struct zoo_net {
	berth_builder *builder;
	berth_arena *tmp;
	berth_err *err;
	berth_status status;
	const berth_zoo_model *model;
	const double *value; /* [model->n_params] */
	int64_t batch, elem_bytes;
	berth_precision dtype; /* of the numbers */
	bool training;       /* keep BatchNormalization apart */
	bool output;         /* the next operator's output leaves the graph */
	double other_bytes;  /* parameters that the next operator holds and reads beside its own */
	char scope[ZOO_NAME]; /* stands before the names of operators, with a dot between */
} zoo_net;

/* Value of a parameter that the model's table names, also as a whole number; with _or of one that it may not
 * name, too. */
double zoo_value(const zoo_net *net, const char *name);
int64_t zoo_whole(const zoo_net *net, const char *name);
double zoo_value_or(const zoo_net *net, const char *name, double otherwise);
/* The word of a parameter that takes words. */
const char *zoo_word(const zoo_net *net, const char *name);

/* Names of the operators from here on start with this scope; or with none. */
void zoo_scope(zoo_net *net, const char *fmt, ...) BERTH_PRINTF(2, 3);
void zoo_scope_end(zoo_net *net);

/* printf into the net's scratch; "" when memory runs out. */
const char *zoo_name(zoo_net *net, const char *fmt, ...) BERTH_PRINTF(2, 3);

/* The next operator's output leaves the graph. */
void zoo_mark_output(zoo_net *net);

/* The net fails with a message about the values of its parameters (BERTH_EINVAL). */
void zoo_refuse(zoo_net *net, const char *fmt, ...) BERTH_PRINTF(2, 3);

zoo_tensor zoo_input(int64_t n, int64_t c, int64_t h, int64_t w);

typedef struct zoo_window { /* of a convolution or pooling */
	int64_t kernel_h, kernel_w, stride, pad_h, pad_w;
} zoo_window;
zoo_window zoo_square(int64_t kernel, int64_t stride, int64_t pad);
extern const zoo_window zoo_1x1, zoo_3x3; /* of stride 1 and padded, so that the size stays */

/* groups divides the channels of input and output. */
zoo_tensor zoo_conv(zoo_net *net, const char *name, zoo_tensor x, int64_t out_channels, zoo_window win,
                    int64_t groups, bool bias);
/* The same with its normalisation, which is folded into it but in training. */
zoo_tensor zoo_conv_norm(zoo_net *net, const char *conv, const char *norm, zoo_tensor x, int64_t out_channels,
                         zoo_window win, int64_t groups);
/* The same as NAME.conv and NAME.bn, in one group. */
zoo_tensor zoo_conv_bn(zoo_net *net, const char *name, zoo_tensor x, int64_t out_channels, zoo_window win);
/* 2x2 with stride 2: twice the height and width. */
zoo_tensor zoo_conv_up(zoo_net *net, const char *name, zoo_tensor x, int64_t out_channels);
zoo_tensor zoo_pool(zoo_net *net, const char *name, const char *type, zoo_tensor x, zoo_window win);
zoo_tensor zoo_global_pool(zoo_net *net, const char *name, zoo_tensor x);
zoo_tensor zoo_batchnorm(zoo_net *net, const char *name, zoo_tensor x);
/* Relu, Gelu, Softmax, Div ...: same shape, no parameters. */
zoo_tensor zoo_unary(zoo_net *net, const char *name, const char *type, zoo_tensor x);
zoo_tensor zoo_binary(zoo_net *net, const char *name, const char *type, zoo_tensor a, zoo_tensor b);
/* Along channels, or along any dimension. */
zoo_tensor zoo_concat(zoo_net *net, const char *name, int32_t n, const zoo_tensor x[]);
zoo_tensor zoo_concat_along(zoo_net *net, const char *name, int dim, int32_t n, const zoo_tensor x[]);
/* x flattened to [dim 0, rest] times weights, plus bias. */
zoo_tensor zoo_gemm(zoo_net *net, const char *name, zoo_tensor x, int64_t out_features);
/* A linear layer as ONNX exports have it: NAME.matmul and NAME.add. */
zoo_tensor zoo_linear(zoo_net *net, const char *name, zoo_tensor x, int64_t columns);
/* Columns cut into n equal parts, outputs named "0", "1", ... */
void zoo_split(zoo_net *net, const char *name, zoo_tensor x, int32_t n, zoo_tensor out[]);
/* x[.., rows, k] times weights[k, columns] (a shared parameter where shared >= 0). */
zoo_tensor zoo_project(zoo_net *net, const char *name, zoo_tensor x, int64_t columns, int32_t shared);
/* a[.., rows, k] times b[.., k, columns]. */
zoo_tensor zoo_matmul(zoo_net *net, const char *name, zoo_tensor a, zoo_tensor b);
/* x + bias[columns]. */
zoo_tensor zoo_bias(zoo_net *net, const char *name, zoo_tensor x);
/* x + the first rows of a table[table_rows, columns]. */
zoo_tensor zoo_position(zoo_net *net, const char *name, zoo_tensor x, int64_t table_rows);
zoo_tensor zoo_layernorm(zoo_net *net, const char *name, zoo_tensor x);
/* Rows of a table[table_rows, columns] picked by batch x rows 8-byte indices from outside (a shared
 * parameter where shared >= 0). */
zoo_tensor zoo_embedding(zoo_net *net, const char *name, int64_t rows, int64_t table_rows, int64_t columns,
                         int32_t shared);
/* The first row only: Gather of one index. */
zoo_tensor zoo_first_row(zoo_net *net, const char *name, zoo_tensor x);
/* A copy in another order; dim as it is afterwards. */
zoo_tensor zoo_transpose(zoo_net *net, const char *name, zoo_tensor x, int64_t d0, int64_t d1, int64_t d2,
                         int64_t d3);

/* A parameter of several operators (-1 on failure), and one use of it. */
int32_t zoo_shared_param(zoo_net *net, const char *name, int64_t elements);
int32_t zoo_shared_bytes(zoo_net *net, const char *name, double bytes);
void zoo_use_param(zoo_net *net, zoo_tensor user, int32_t param);

/* Room for n tensors in the net's scratch; NULL where memory runs out. */
zoo_tensor *zoo_tensors(zoo_net *net, int64_t n);

/* Any other operator: figures of elements (not bytes) in, one unnamed output of the shape out. */
typedef struct zoo_cost {
	double macs, flops;         /* flops 0: twice the macs, or one an output element without macs */
	double params, read_params; /* elements held, elements read */
	double read_extra_bytes;    /* what comes from outside beside the inputs */
	double weight_bytes, read_weight_bytes; /* the same as stored, in bytes */
	double state_bytes;         /* held beside parameters: a cache */
	berth_precision dtype;      /* none: of the numbers */
	berth_dims dims;            /* none, and no macs: those of out (zoo_rows) */
} zoo_cost;
/* x as rows of its last dimension that is not 1. */
berth_dims zoo_rows(zoo_tensor x);
zoo_tensor zoo_op(zoo_net *net, const char *name, const char *type, int32_t n, const zoo_tensor x[],
                  zoo_tensor out, zoo_cost cost);

/* Models, one family a file. */
void zoo_build_resnet(zoo_net *net);
void zoo_build_inception(zoo_net *net);
void zoo_build_bert(zoo_net *net);
void zoo_build_random(zoo_net *net);
void zoo_build_plain(zoo_net *net);
void zoo_build_mobilenet(zoo_net *net);
void zoo_build_gpt(zoo_net *net);
void zoo_build_chain(zoo_net *net);
void zoo_build_ffnn(zoo_net *net);
void zoo_build_llama(zoo_net *net);
void zoo_build_densenet(zoo_net *net);
void zoo_build_nasnet(zoo_net *net);
void zoo_build_randwire(zoo_net *net);
void zoo_build_rnnlm(zoo_net *net);
void zoo_build_gnmt(zoo_net *net);
void zoo_build_transformer(zoo_net *net);
void zoo_build_decoder(zoo_net *net);
void zoo_build_vit(zoo_net *net);
void zoo_build_unet(zoo_net *net);
