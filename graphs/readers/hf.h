/* Model folders as transformers and accelerate read them: config.json beside safetensors files, to operator
 * graphs. The graph is named by the folder, by its config.json, by its index or by its first safetensors
 * file. Only config.json, the index and the headers are read, no weights.
 *
 * The graph has the operators of decoder.h. An operator that uses a parameter has the parameter's name.
 * Weights count the bytes that they take in the files; activations are as wide as the embedding's numbers.
 * Words behind the name are those of GGUF files (gguf.h), but weights. */
#pragma once

#include "arena.h"
#include "decoder.h"
#include "graph_format.h"
#include "json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- headers of safetensors files: names, types and shapes of tensors; weights are not touched ---- */

enum { HF_RANK = 4 };

typedef struct hf_tensor {
	const char *name; /* gone when the visit ends */
	int32_t n_dims;
	int64_t dim[HF_RANK]; /* 1 from n_dims on */
	int32_t elem_bytes;
	int64_t bytes; /* at most 2^53 */
} hf_tensor;

/* ---- what the files say about the model ---- */

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

/* ---- the format ---- */

/* What the model is beside its graph, for programs that are told of modules. Fails: as the reader. */
berth_status hf_model_read(const berth_content *from, berth_arena *tmp, hf_model *out, berth_err *err);

/* config.json of the folder at path; path itself where it is none. In mem; NULL when memory runs out. */
const char *hf_folder_file(const char *path, berth_arena *mem);

/* Is it the config.json of a model folder by its name, whatever stands in it? Not where it is berth's own. */
bool hf_is_config(const char *path, const char *data, size_t size);

/* A safetensors file, or JSON with "architectures" (config.json) or "weight_map" (an index) */
extern const berth_format berth_format_hf;
