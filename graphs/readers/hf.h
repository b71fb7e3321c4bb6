/* Model folders as transformers and accelerate read them: config.json beside safetensors files, to operator
 * graphs. The graph is named by the folder, by its config.json, by its index or by its first safetensors
 * file. Only config.json, the index and the headers are read, no weights.
 *
 * The graph has the operators of decoder.h. An operator that uses a parameter has the parameter's name.
 * Weights count the bytes that they take in the files; activations are as wide as the embedding's numbers.
 * Words behind the name are those of GGUF files (gguf.h), but weights. */
#pragma once

#include "decoder_model.h"
#include "graph_format.h"

/* The rows, ended by one without a name. */
extern const decoder_arch hf_archs[];

/* From the text of config.json. Fails: BERTH_EFORMAT (an architecture that is not known, quantised weights),
 * BERTH_ENOMEM. */
berth_status hf_model_new(const char *file, const char *text, size_t size, berth_arena *tmp, decoder_model *m,
                          berth_err *err);
/* Put the tensor of that file where it is used. */
berth_status hf_model_add(decoder_model *m, const char *file, decoder_tensor *t, berth_err *err);
/* All tensors are there: is each one that a layer needs, and of the right shape? */
berth_status hf_model_check(decoder_model *m, berth_err *err);

/* ---- the format ---- */

/* What the model is beside its graph, for programs that are told of modules. Fails: as the reader. */
berth_status hf_model_read(const berth_content *from, berth_arena *tmp, decoder_model *out, berth_err *err);

/* config.json of the folder at path; path itself where it is none. In mem; NULL when memory runs out. */
const char *hf_folder_file(const char *path, berth_arena *mem);

/* Is it the config.json of a model folder by its name, whatever stands in it? Not where it is berth's own. */
bool hf_is_config(const char *path, const char *data, size_t size);

/* A safetensors file, or JSON with "architectures" (config.json) or "weight_map" (an index) */
extern const berth_format berth_format_hf;
