/* GGUF files (llama.cpp's models) to operator graphs: decoders like Llama and mixtures of experts. Only the
 * header is read: keys and the records of tensors. A file that ends behind them (the first megabytes of a
 * download) is enough. Parts of a split file (NAME-00001-of-00003.gguf) are found beside the first, where the
 * name is a path.
 *
 * The graph has the operators of decoder.h, from the tensors that are there: projections with or without
 * bias, fused queries, keys and values, norms before and after, gated feed-forward networks, experts, shared
 * experts, latent attention. An operator that uses a tensor has the tensor's name. The others are named after
 * what they do. Weights count the bytes that they take in the file. Activations are 4-byte floats, as ggml
 * computes. Attention is one operator (flash), of which the cache of keys and values is state_bytes.
 *
 * Experts of one layer are one operator (each_expert: one each). It costs what the chosen experts cost and
 * reads the mean number of matrices that are chosen. Layers that predict further tokens (nextn) do not run
 * and are left out. Tensors with no known use in a known architecture are held and read by the first
 * operator of their layer, and named in a warning. */
#pragma once

#include "decoder_model.h"

/* Graph of a model, whose files have their headers at least. report may be NULL. tmp is scratch, reset at
 * exit. Fails: BERTH_EFORMAT (file, and byte, key or tensor; an unknown architecture), BERTH_EINVAL (sizes
 * beyond 2^53 bytes by the options), BERTH_ENOMEM. O(bytes of the headers). */
berth_status berth_gguf_graph(const berth_content *from, const berth_gguf_options *opt, berth_arena *mem,
                              berth_arena *tmp, berth_graph *out, berth_read_report *report, berth_err *err);

extern const berth_format berth_format_gguf; /* begins with "GGUF" */

/* What a layer computes for a token: numbers in a row. */
typedef struct berth_gguf_layer {
	int64_t q, k, v, o;   /* queries, keys, values, and what attention makes of them */
	int64_t ffn, shared;  /* in the feed-forward network (of one expert); in the shared expert, or 0 */
	int64_t window;       /* newest tokens that attention reaches; 0: all */
	bool experts, latent; /* it is a mixture; it compresses keys and values */
} berth_gguf_layer;

/* Strings and arrays live in the arena that it was read into. */
typedef struct berth_gguf_list {
	int32_t n_tensors;
	const char **name; /* [n_tensors], in the order of the files */
	int64_t *bytes;    /* [n_tensors] */
	/* layers that run, and with those that predict further tokens */
	int32_t n_layers, n_all_layers;
	berth_gguf_layer *layer; /* [n_layers] */
	int64_t hidden, vocabulary, experts, top;
	double cache_bytes; /* of one number in the cache */
	int64_t context;    /* tokens, by the options */
	berth_gguf_options opt;
} berth_gguf_list;

/* The tensors of a model that is read with opt (NULL: the defaults). tmp is scratch, another arena than mem,
 * reset at exit. Fails: BERTH_EFORMAT (also a name that is no text), BERTH_EINVAL (a bad word),
 * BERTH_ENOMEM. O(bytes of the headers). */
berth_status berth_gguf_list_tensors(const berth_content *model, const berth_read_options *opt,
                                     berth_arena *mem, berth_arena *tmp, berth_gguf_list *out,
                                     berth_err *err);

/* The layer of a tensor or operator "blk.N.REST", and REST. -1: the name is no layer's, as the reader has it
 * (N has nine digits at most); *rest is name then. rest may be NULL. */
int32_t berth_gguf_layer_of(const char *name, const char **rest);
