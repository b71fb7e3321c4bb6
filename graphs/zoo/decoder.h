/* Decoders of large language models as operators: from a description, layer by layer, of what is stored
 * and how it is used. The zoo fills the description from a few parameters, the GGUF reader from a file's
 * metadata and tensors.
 *
 * What runs follows from what is there: a norm, a bias, a gate, a shared expert is applied where its
 * weight is. A layer's attention is one of
 *   - projections to queries, keys and values,
 *   - one fused projection,
 *   - latent attention (DeepSeek-AI, "DeepSeek-V2", arXiv 2405.04434). The cache holds one compressed row
 *   a token if the file has the projections for that (K_B, V_B), and whole keys and values if it has
 *   KV_B.
 * Experts get equal shares of the tokens. */
#pragma once

#include "zoo_layers.h"

/* A stored matrix [in, out] with the bytes it takes (bytes 0: there is none), and its bias. Experts: in and
 * out of one, bytes of all. Norms: in. */
typedef struct decoder_weight {
	int64_t in, out;
	double bytes, bias_bytes;
} decoder_weight;

typedef enum decoder_slot {
	DECODER_ATTN_NORM,
	DECODER_Q,
	DECODER_K,
	DECODER_V,
	DECODER_QKV,
	DECODER_Q_NORM,
	DECODER_K_NORM,
	DECODER_Q_A,
	DECODER_Q_A_NORM,
	DECODER_Q_B,
	DECODER_KV_A,
	DECODER_KV_A_NORM,
	DECODER_KV_B,
	DECODER_K_B,
	DECODER_V_B,
	DECODER_O,
	DECODER_POST_ATTN_NORM,
	DECODER_FFN_NORM,
	DECODER_GATE,
	DECODER_UP,
	DECODER_DOWN,
	DECODER_POST_FFN_NORM,
	DECODER_ROUTER,
	DECODER_GATE_EXPS,
	DECODER_UP_EXPS,
	DECODER_DOWN_EXPS,
	DECODER_SHARED_ROUTER,
	DECODER_SHARED_GATE,
	DECODER_SHARED_UP,
	DECODER_SHARED_DOWN,
	DECODER_SLOTS
} decoder_slot;

/* Operators that hold no weight. */
typedef enum decoder_step {
	DECODER_QKV_SPLIT,
	DECODER_Q_TURN,
	DECODER_K_TURN,
	DECODER_V_TURN,
	DECODER_Q_ROTATE,
	DECODER_K_ROTATE,
	DECODER_KV_SPLIT,
	DECODER_SCORES,
	DECODER_SCALE,
	DECODER_MASK,
	DECODER_SOFTMAX,
	DECODER_CONTEXT,
	DECODER_TURN_BACK,
	DECODER_ATTN_RESIDUAL,
	DECODER_UP_SPLIT,
	DECODER_ACTIVATION,
	DECODER_GATED,
	DECODER_FFN_RESIDUAL,
	DECODER_TOP,
	DECODER_ROUTE_SOFTMAX,
	DECODER_EXPERTS_SPLIT,
	DECODER_EXPERTS_ACTIVATION,
	DECODER_EXPERTS_GATED,
	DECODER_EXPERTS_SUM,
	DECODER_SHARED_SPLIT,
	DECODER_SHARED_ACTIVATION,
	DECODER_SHARED_GATED,
	DECODER_SHARED_SIGMOID,
	DECODER_SHARED_WEIGHED,
	DECODER_SHARED_SUM,
	DECODER_LAST,
	DECODER_STEPS
} decoder_step;

typedef struct decoder_layer {
	int64_t heads, kv_heads;
	int64_t key, value;  /* columns of a head, for scores and for what they weigh */
	/* columns of a compressed row (DECODER_KV_A) without its rotated part; 0: no latent attention */
	int64_t latent;
	int64_t window;      /* newest tokens that attention reaches; 0: all */
	decoder_weight w[DECODER_SLOTS];
	/* the norm behind attention stands before the feed-forward network, in the place of
	 * DECODER_FFN_NORM */
	bool early_post_norm;
	/* weights that no operator here is known to use; the layer's first one holds and reads them */
	double other_bytes;
} decoder_layer;

typedef struct decoder_names {
	const char *layer;        /* "layers": operators of layer 3 start with "layers.3." */
	const char *const *slot;  /* [DECODER_SLOTS] */
	const char *const *step;  /* [DECODER_STEPS] */
	const char *weight, *bias; /* what follows the name of a slot */
	const char *embed, *embed_norm, *output_norm, *output;
} decoder_names;

typedef struct decoder {
	const decoder_names *names;
	int64_t rows, seq;        /* tokens of a sequence read now, and with those in the cache */
	int64_t vocabulary;
	int64_t experts, top;     /* 0: no mixture */
	bool each_expert;         /* an operator for each expert, not for all of a layer */
	bool tied;                /* the output uses the embedding's matrix */
	bool gelu;
	double key_bytes, value_bytes; /* of one cached number */
	int32_t n_layers;
	const decoder_layer *layer;    /* [n_layers] */
	decoder_weight embed, embed_norm, output_norm, output;
	double other_bytes;            /* as of a layer */
} decoder;

/* Add the operators of d to net. Errors stick to net. */
void decoder_build(zoo_net *net, const decoder *d);
