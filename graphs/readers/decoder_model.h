/* A decoder put together from the tensors of its files: which weight each tensor is, whether all are there
 * and of the right shape, and the graph. What GGUF files and model folders share. */
#pragma once

#include "decoder.h"
#include "ggml_types.h"
#include "graph_format.h"

/* How a decoder in files is to run: what words behind the name of a GGUF file or a model folder say. */
typedef struct berth_gguf_options {
	int64_t batch;      /* sequences at once */
	/* tokens: read at once, or in the cache with the one that is made; 0: 4096, or the model's if
	 * that is less */
	int64_t context;
	bool decode;        /* make one token; else read */
	int64_t chunk;      /* tokens read at once, behind the others in the cache; 0: all */
	bool each_expert;   /* an operator for each expert of a layer */
	const char *cache;  /* type of cached numbers: f32, f16, bf16, q8_0, q5_1, q5_0, q4_1, q4_0, iq4_nl */
	const char *weights; /* type of all matrices, as if the file had it (q4_k ...); "file": its own */
	const char *suffix; /* of the graph's name: the options that are no defaults, as ":key=value" */
} berth_gguf_options;

/* batch 1, context 0, prefill, all experts of a layer in one operator, f16, weights as in the file. */
berth_gguf_options berth_gguf_options_default(void);

/* From words like "batch=8", "context=32768", "mode=decode", "experts=each", "cache=q8_0", "weights=q4_k".
 * Fails: BERTH_EINVAL (an unknown key or value), BERTH_ENOMEM. */
berth_status berth_gguf_options_read(const char *file, const char *const *word, int32_t n, berth_arena *mem,
                                     berth_gguf_options *out, berth_err *err);

enum {
	DECODER_MAX_LAYERS = 384,
	DECODER_MAX_EXPERTS = 1024,
	DECODER_MAX_WARNINGS = 16,
	DECODER_RANK = 4
};

/* Bytes in a file, not ended by 0. */
typedef struct text_span {
	const char *text;
	size_t n;
} text_span;

bool text_span_is(text_span s, const char *text);
/* For "%.*s" in messages. */
int text_span_shown(text_span s);

typedef struct decoder_tensor {
	text_span name;
	int64_t dim[DECODER_RANK]; /* innermost first: columns in, columns out, matrices; 1 behind the last */
	int64_t bytes;             /* at most 2^53 */
	berth_precision dtype;     /* that it is multiplied in; none: that of the numbers */
} decoder_tensor;

/* How the tensors of some architectures are called. */
typedef struct decoder_style {
	decoder_names names;
	/* gate, up and down of one expert: its number stands between; NULL: there are none */
	struct { const char *before, *after; } expert[3];
	const char *position;   /* the table of positions; NULL: none */
	/* of model folders */
	const char *prefix;     /* of all names; files of base models leave it out. NULL: none */
	const char *rotary;     /* a module without parameters that device maps name; NULL: none */
	const char *block;      /* class of a layer, which must not be split */
	bool transposed;        /* matrices are stored [in, out] */
} decoder_style;

/* An architecture whose graph is known. */
typedef struct decoder_arch {
	const char *name;
	/* of so many layers all but the last attend within a window, if the model has one; 0: none does;
	 * 1 (of model folders): all do */
	int window_every;
	bool gelu;
	bool tied; /* where config.json does not say */
	const decoder_style *style;
} decoder_arch;

/* Experts of a layer that stand in tensors of their own: which ones there are. */
typedef struct decoder_loose {
	uint64_t seen[3][DECODER_MAX_EXPERTS / 64]; /* gate, up, down */
	int32_t n_seen[3];
} decoder_loose;

typedef struct decoder_model {
	const char *file;        /* that tells the sizes, for messages */
	const decoder_arch *arch;
	const decoder_style *style;
	int32_t n_layers;        /* that run */
	int32_t n_all;           /* with those that predict further tokens */
	int64_t hidden, experts, top;
	int64_t context;         /* most tokens; 0: not said */
	berth_precision dtype;   /* of the numbers between operators */
	decoder d;               /* d.layer: the layers */
	decoder_layer *layer;    /* [n_layers] */
	decoder_loose **loose;   /* [n_layers] NULL: none */
	int64_t n_tensors, tensor_bytes, n_skipped, skipped_bytes;
	int32_t n_warnings;
	const char *warning[DECODER_MAX_WARNINGS];
	berth_arena *tmp;
} decoder_model;

extern const char *const decoder_step_names[DECODER_STEPS]; /* of operators without weights */

/* Put the tensor where it is used. Fails: BERTH_EFORMAT (without a place), BERTH_ENOMEM. */
berth_status decoder_model_add(decoder_model *m, const decoder_tensor *t, berth_err *err);
/* All tensors are there: is each one that a layer needs, and of the right shape? Fails: BERTH_EFORMAT. */
berth_status decoder_model_check(decoder_model *m, berth_err *err);
/* Matrices as that type: its bytes, and what it is multiplied in. Norms, biases and routers stay as they are,
 * as quantisers leave them. The model was checked. */
void decoder_model_store(decoder_model *m, const ggml_type *type);
/* Tokens of the context, by the options and the files. */
int64_t decoder_model_context(const decoder_model *m, const berth_gguf_options *opt);
/* The graph of a checked model, named by the stem and the options; path stands in messages. report may be
 * NULL. Fails: BERTH_EFORMAT, BERTH_EINVAL (sizes beyond 2^53 bytes by the options), BERTH_ENOMEM. */
berth_status decoder_model_graph(decoder_model *m, const berth_gguf_options *opt, const char *path,
                                 text_span stem, int64_t elem_bytes, berth_arena *mem, berth_graph *out,
                                 berth_read_report *report, berth_err *err);
