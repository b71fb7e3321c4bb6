/* Decoders of large language models, at any size. llama has root-mean-square normalisation, rotary
 * positions, grouped keys and values and a gated feed-forward network (Touvron et al., "Llama 2", arXiv
 * 2307.09288). The feed-forward network of moe is a mixture of experts (Jiang et al., "Mixtral of
 * Experts", arXiv 2401.04088). Names follow the published checkpoints.
 *
 * mode=prefill reads seq tokens at once; with chunk=N the last N of them, the others in the cache.
 * mode=decode makes one token with seq tokens in the cache, itself included. Keys and values of all seq
 * tokens stay as state_bytes of the two products of attention, except in training. Inference gives the logits
 * of the last token only. */
#include "decoder.h"
#include "ggml_types.h"

static const char *const slot_names[DECODER_SLOTS] = {
	[DECODER_ATTN_NORM] = "input_layernorm", [DECODER_Q] = "self_attn.q_proj",
	[DECODER_K] = "self_attn.k_proj",        [DECODER_V] = "self_attn.v_proj",
	[DECODER_O] = "self_attn.o_proj",        [DECODER_FFN_NORM] = "post_attention_layernorm",
	[DECODER_GATE] = "mlp.gate_proj",        [DECODER_UP] = "mlp.up_proj",
	[DECODER_DOWN] = "mlp.down_proj",        [DECODER_ROUTER] = "gate"};

static const char *const step_names[DECODER_STEPS] = {[DECODER_Q_TURN] = "self_attn.q.transpose",
                                                      [DECODER_K_TURN] = "self_attn.k.transpose",
                                                      [DECODER_V_TURN] = "self_attn.v.transpose",
                                                      [DECODER_Q_ROTATE] = "self_attn.q.rotate",
                                                      [DECODER_K_ROTATE] = "self_attn.k.rotate",
                                                      [DECODER_SCORES] = "self_attn.scores",
                                                      [DECODER_SCALE] = "self_attn.scale",
                                                      [DECODER_MASK] = "self_attn.mask",
                                                      [DECODER_SOFTMAX] = "self_attn.softmax",
                                                      [DECODER_CONTEXT] = "self_attn.context",
                                                      [DECODER_TURN_BACK] = "self_attn.transpose",
                                                      [DECODER_ATTN_RESIDUAL] = "self_attn.residual",
                                                      [DECODER_ACTIVATION] = "mlp.silu",
                                                      [DECODER_GATED] = "mlp.mul",
                                                      [DECODER_FFN_RESIDUAL] = "mlp.residual",
                                                      [DECODER_TOP] = "topk",
                                                      [DECODER_ROUTE_SOFTMAX] = "gate.softmax",
                                                      [DECODER_EXPERTS_SUM] = "experts.sum",
                                                      [DECODER_LAST] = "last"};

static const decoder_names names = {"layers",       slot_names, step_names, "",       "",
                                    "embed_tokens", "",         "norm",     "lm_head"};

/* The sizes that the zoo's parameters give. */
typedef struct sizes {
	int64_t seq, chunk, hidden, heads, kv_heads, ffn, vocabulary, experts, top;
	bool decode;
	const ggml_type *weights, *cache; /* NULL: the type of the numbers */
} sizes;

static sizes read_values(zoo_net *net)
{
	sizes s = {.seq = zoo_whole(net, "seq"),
	           .chunk = zoo_whole(net, "chunk"),
	           .hidden = zoo_whole(net, "hidden"),
	           .heads = zoo_whole(net, "heads"),
	           .kv_heads = zoo_whole(net, "kv-heads"),
	           .ffn = zoo_whole(net, "ffn"),
	           .vocabulary = zoo_whole(net, "vocab"),
	           .experts = (int64_t)zoo_value_or(net, "experts", 0),
	           .top = (int64_t)zoo_value_or(net, "top", 0),
	           .decode = zoo_value(net, "mode") > 0,
	           .weights = ggml_type_named(zoo_word(net, "weights")),
	           .cache = ggml_type_named(zoo_word(net, "cache"))};
	if (s.hidden % s.heads)
		zoo_refuse(net, "hidden is %lld and heads %lld; expected heads to divide hidden",
		           (long long)s.hidden, (long long)s.heads);
	if (s.heads % s.kv_heads)
		zoo_refuse(net, "heads is %lld and kv-heads %lld; expected kv-heads to divide heads",
		           (long long)s.heads, (long long)s.kv_heads);
	if (s.top > s.experts)
		zoo_refuse(net, "top is %lld; expected at most %lld, the number of experts", (long long)s.top,
		           (long long)s.experts);
	if (net->training && (s.weights || s.cache || s.chunk))
		zoo_refuse(net, "a type of weights or of a cache, or a chunk, is given with training=1");
	if (s.decode && net->training)
		zoo_refuse(net, "mode is decode with training=1; expected mode=prefill, which reads all "
		                "tokens at once");
	return s;
}

/* Norms and the router stay of the type of the numbers, as quantisers leave them. */
static decoder_weight plain(const zoo_net *net, int64_t in, int64_t out, int64_t n)
{
	double bytes = (double)n * (double)in * (double)out * (double)net->elem_bytes;
	return (decoder_weight){in, out, bytes, 0, net->dtype};
}

static decoder_weight matrix(const zoo_net *net, const sizes *s, int64_t in, int64_t out, int64_t n)
{
	decoder_weight w = plain(net, in, out, n);
	if (!s->weights)
		return w;
	w.bytes = ggml_bytes(s->weights, in, (double)out * (double)n);
	w.dtype = ggml_precision(s->weights);
	return w;
}

static decoder_layer make_layer(const zoo_net *net, const sizes *s)
{
	int64_t head = s->hidden / s->heads;
	decoder_layer l = {.heads = s->heads, .kv_heads = s->kv_heads, .key = head, .value = head};
	l.w[DECODER_ATTN_NORM] = l.w[DECODER_FFN_NORM] = plain(net, s->hidden, 1, 1);
	l.w[DECODER_Q] = matrix(net, s, s->hidden, s->heads * head, 1);
	l.w[DECODER_K] = l.w[DECODER_V] = matrix(net, s, s->hidden, s->kv_heads * head, 1);
	l.w[DECODER_O] = matrix(net, s, s->heads * head, s->hidden, 1);
	if (s->experts) {
		l.w[DECODER_ROUTER] = plain(net, s->hidden, s->experts, 1);
		l.w[DECODER_GATE_EXPS] = l.w[DECODER_UP_EXPS] = matrix(net, s, s->hidden, s->ffn, s->experts);
		l.w[DECODER_DOWN_EXPS] = matrix(net, s, s->ffn, s->hidden, s->experts);
	} else {
		l.w[DECODER_GATE] = l.w[DECODER_UP] = matrix(net, s, s->hidden, s->ffn, 1);
		l.w[DECODER_DOWN] = matrix(net, s, s->ffn, s->hidden, 1);
	}
	return l;
}

void zoo_build_decoder(zoo_net *net)
{
	decoder_layer *layers = NULL;
	sizes s = read_values(net);
	int32_t n = (int32_t)zoo_whole(net, "layers");
	if (net->status == BERTH_OK)
		net->status = BERTH_NEW(net->tmp, layers, n, net->err);
	if (net->status != BERTH_OK)
		return;
	double cached = s.cache ? (double)s.cache->bytes / s.cache->elements : (double)net->elem_bytes;
	for (int32_t i = 0; i < n; i++)
		layers[i] = make_layer(net, &s);
	decoder d = {.names = &names,
	             .rows = s.decode                       ? 1
	                     : s.chunk && s.chunk < s.seq ? s.chunk
	                                                  : s.seq,
	             .seq = s.seq,
	             .vocabulary = s.vocabulary,
	             .experts = s.experts,
	             .top = s.top,
	             .each_expert = true,
	             .key_bytes = cached,
	             .value_bytes = cached,
	             .n_layers = n,
	             .layer = layers,
	             .embed = matrix(net, &s, s.hidden, s.vocabulary, 1),
	             .output_norm = plain(net, s.hidden, 1, 1),
	             .output = matrix(net, &s, s.hidden, s.vocabulary, 1)};
	decoder_build(net, &d);
}
