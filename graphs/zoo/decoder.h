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
	berth_precision dtype; /* that it is multiplied in; none: that of the numbers */
} decoder_weight;

/* Where weights are used, under the names of GGUF files (without ".weight" and ".bias"), and what they are: a
 * row of numbers, a matrix, one for each expert, or one for each head. */
#define DECODER_SLOT_LIST(X) \
	X(ATTN_NORM, "attn_norm", NORM) X(Q, "attn_q", MATRIX) X(K, "attn_k", MATRIX) \
	X(V, "attn_v", MATRIX) X(QKV, "attn_qkv", MATRIX) X(Q_NORM, "attn_q_norm", NORM) \
	X(K_NORM, "attn_k_norm", NORM) X(Q_A, "attn_q_a", MATRIX) X(Q_A_NORM, "attn_q_a_norm", NORM) \
	X(Q_B, "attn_q_b", MATRIX) X(KV_A, "attn_kv_a_mqa", MATRIX) \
	X(KV_A_NORM, "attn_kv_a_norm", NORM) X(KV_B, "attn_kv_b", MATRIX) X(K_B, "attn_k_b", HEADS) \
	X(V_B, "attn_v_b", HEADS) X(O, "attn_output", MATRIX) \
	X(POST_ATTN_NORM, "post_attention_norm", NORM) X(FFN_NORM, "ffn_norm", NORM) \
	X(GATE, "ffn_gate", MATRIX) X(UP, "ffn_up", MATRIX) X(DOWN, "ffn_down", MATRIX) \
	X(POST_FFN_NORM, "post_ffw_norm", NORM) X(ROUTER, "ffn_gate_inp", MATRIX) \
	X(GATE_EXPS, "ffn_gate_exps", EXPERTS) X(UP_EXPS, "ffn_up_exps", EXPERTS) \
	X(DOWN_EXPS, "ffn_down_exps", EXPERTS) X(SHARED_ROUTER, "ffn_gate_inp_shexp", MATRIX) \
	X(SHARED_GATE, "ffn_gate_shexp", MATRIX) X(SHARED_UP, "ffn_up_shexp", MATRIX) \
	X(SHARED_DOWN, "ffn_down_shexp", MATRIX)
typedef enum decoder_slot {
#define DECODER_SLOT(slot, name, shape) DECODER_##slot,
	DECODER_SLOT_LIST(DECODER_SLOT)
#undef DECODER_SLOT
	DECODER_SLOTS
} decoder_slot;
typedef enum decoder_shape { DECODER_NORM, DECODER_MATRIX, DECODER_EXPERTS, DECODER_HEADS } decoder_shape;

/* Operators that hold no weight, under names of the same kind. */
#define DECODER_STEP_LIST(X) \
	X(QKV_SPLIT, "attn_qkv.split") X(Q_TURN, "attn_q.transpose") X(K_TURN, "attn_k.transpose") \
	X(V_TURN, "attn_v.transpose") X(Q_ROTATE, "attn_q.rotate") X(K_ROTATE, "attn_k.rotate") \
	X(KV_SPLIT, "attn_kv.split") X(SCORES, "attn.scores") X(SCALE, "attn.scale") \
	X(MASK, "attn.mask") X(SOFTMAX, "attn.softmax") X(CONTEXT, "attn.context") X(FLASH, "attn.flash") \
	X(TURN_BACK, "attn.transpose") X(ATTN_RESIDUAL, "attn.residual") X(UP_SPLIT, "ffn_up.split") \
	X(ACTIVATION, "ffn.activation") X(GATED, "ffn.mul") X(FFN_RESIDUAL, "ffn.residual") \
	X(TOP, "ffn_gate_inp.top") X(ROUTE_SOFTMAX, "ffn_gate_inp.softmax") \
	X(EXPERTS_SPLIT, "ffn_up_exps.split") X(EXPERTS_ACTIVATION, "ffn_exps.activation") \
	X(EXPERTS_GATED, "ffn_exps.mul") X(EXPERTS_SUM, "ffn_exps.sum") \
	X(SHARED_SPLIT, "ffn_up_shexp.split") X(SHARED_ACTIVATION, "ffn_shexp.activation") \
	X(SHARED_GATED, "ffn_shexp.mul") X(SHARED_SIGMOID, "ffn_shexp.sigmoid") \
	X(SHARED_WEIGHED, "ffn_shexp.weigh") X(SHARED_SUM, "ffn_shexp.sum") X(LAST, "last")
typedef enum decoder_step {
#define DECODER_STEP(step, name) DECODER_##step,
	DECODER_STEP_LIST(DECODER_STEP)
#undef DECODER_STEP
	DECODER_STEPS
} decoder_step;

/* Layers of one model may differ: heads 0: no attention; kv_heads 0: a projection (O) in its place. */
typedef struct decoder_layer {
	int64_t heads, kv_heads;
	bool without_ffn; /* no feed-forward network */
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
	bool flash; /* attention is one operator, which holds no scores (Dao et al., arXiv 2205.14135) */
	double key_bytes, value_bytes; /* of one cached number */
	int32_t n_layers;
	const decoder_layer *layer;    /* [n_layers] */
	decoder_weight embed, embed_norm, output_norm, output;
	double other_bytes;            /* as of a layer */
} decoder;

/* Add the operators of d to net. Errors stick to net. */
void decoder_build(zoo_net *net, const decoder *d);
