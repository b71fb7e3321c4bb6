/* What a model folder says about its model, between its files and the graph. */
#ifndef BERTH_HF_MODEL_H
#define BERTH_HF_MODEL_H

#include "decoder.h"
#include "hf_header.h"
#include "json.h"

enum { HF_MAX_LAYERS = 384, HF_MAX_EXPERTS = 1024, HF_MAX_WARNINGS = 16 };

/* How the tensors of some architectures are called. */
typedef struct hf_style {
	decoder_names names;
	const char *prefix;     /* of all names; files of base models leave it out. NULL: none */
	const char *experts[3]; /* gate, up and down of expert N: behind "LAYER." stands "EXPERTS.N.NAME" */
	const char *experts_at; /* EXPERTS */
	const char *rotary;     /* a module without parameters that device maps name; NULL: none */
	const char *position;   /* the table of positions; NULL: none */
	const char *block;      /* class of a layer, which must not be split */
	bool transposed;        /* matrices are stored [in, out] */
} hf_style;

/* An architecture of config.json. */
typedef struct hf_arch {
	const char *name;
	const hf_style *style;
	bool gelu, tied;  /* tied: where config.json does not say */
	int window_every; /* of so many layers all but the last attend within the window, where there is one;
	                     1: all do */
} hf_arch;

typedef struct hf_model {
	const char *file; /* config.json, for messages */
	const hf_arch *arch;
	int32_t n_layers;
	int64_t hidden, heads, kv_heads, head, experts, top, window, context, vocabulary;
	bool tied;
	int32_t elem_bytes; /* of the embedding */
	decoder d;
	decoder_layer *layer;    /* [n_layers] */
	int32_t (*n_experts)[3]; /* [n_layers] tensors of experts seen */
	int64_t n_tensors;
	int32_t n_warnings;
	const char *warning[HF_MAX_WARNINGS];
	berth_arena *tmp;
} hf_model;

/* The rows, ended by one without a name. */
extern const hf_arch hf_archs[];

/* From the text of config.json. Fails: BERTH_EFORMAT (an architecture that is not known, quantised weights),
 * BERTH_ENOMEM. */
berth_status hf_model_new(const char *file, const char *text, size_t size, berth_arena *tmp, hf_model *m,
                          berth_err *err);
/* Put the tensor of that file where it is used. */
berth_status hf_model_add(hf_model *m, const char *file, const hf_tensor *t, berth_err *err);
/* All tensors are there: is each one that a layer needs, and of the right shape? */
berth_status hf_model_check(hf_model *m, berth_err *err);

#endif
