/* What a GGUF model has beside its graph: its tensors by name, for programs that are told of tensors. */
#ifndef BERTH_GGUF_LIST_H
#define BERTH_GGUF_LIST_H

#include "gguf.h"

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
 * (N has nine digits at most); *rest is name then. */
int32_t berth_gguf_layer_of(const char *name, const char **rest);

#endif
