/* Tensors of a model folder put to their use, by what config.json says and the names that architectures
 * have. */
#include "hf.h"

/* ---- names ---- */

#define ATTENTION                                                                                            \
	[DECODER_ATTN_NORM] = "input_layernorm", [DECODER_Q] = "self_attn.q_proj",                           \
	[DECODER_K] = "self_attn.k_proj", [DECODER_V] = "self_attn.v_proj",                                  \
	[DECODER_QKV] = "self_attn.qkv_proj", [DECODER_Q_NORM] = "self_attn.q_norm",                         \
	[DECODER_K_NORM] = "self_attn.k_norm", [DECODER_O] = "self_attn.o_proj"
#define FEED_FORWARD                                                                                         \
	[DECODER_GATE] = "mlp.gate_proj", [DECODER_UP] = "mlp.up_proj", [DECODER_DOWN] = "mlp.down_proj"

static const char *const llama_slots[DECODER_SLOTS] = {
	ATTENTION, FEED_FORWARD, [DECODER_FFN_NORM] = "post_attention_layernorm"};
static const char *const phi_slots[DECODER_SLOTS] = {
	ATTENTION, [DECODER_UP] = "mlp.gate_up_proj", [DECODER_DOWN] = "mlp.down_proj",
	[DECODER_FFN_NORM] = "post_attention_layernorm"};
static const char *const gemma_slots[DECODER_SLOTS] = {
	ATTENTION, FEED_FORWARD, [DECODER_POST_ATTN_NORM] = "post_attention_layernorm",
	[DECODER_FFN_NORM] = "pre_feedforward_layernorm",
	[DECODER_POST_FFN_NORM] = "post_feedforward_layernorm"};
static const char *const mixtral_slots[DECODER_SLOTS] = {ATTENTION,
                                                         [DECODER_FFN_NORM] = "post_attention_layernorm",
                                                         [DECODER_ROUTER] = "block_sparse_moe.gate",
                                                         [DECODER_GATE_EXPS] = "block_sparse_moe.experts.w1",
                                                         [DECODER_UP_EXPS] = "block_sparse_moe.experts.w3",
                                                         [DECODER_DOWN_EXPS] = "block_sparse_moe.experts.w2"};
static const char *const moe_slots[DECODER_SLOTS] = {ATTENTION,
                                                     FEED_FORWARD,
                                                     [DECODER_FFN_NORM] = "post_attention_layernorm",
                                                     [DECODER_ROUTER] = "mlp.gate",
                                                     [DECODER_GATE_EXPS] = "mlp.experts.gate_proj",
                                                     [DECODER_UP_EXPS] = "mlp.experts.up_proj",
                                                     [DECODER_DOWN_EXPS] = "mlp.experts.down_proj",
                                                     [DECODER_SHARED_ROUTER] = "mlp.shared_expert_gate",
                                                     [DECODER_SHARED_GATE] = "mlp.shared_expert.gate_proj",
                                                     [DECODER_SHARED_UP] = "mlp.shared_expert.up_proj",
                                                     [DECODER_SHARED_DOWN] = "mlp.shared_expert.down_proj"};
static const char *const gpt2_slots[DECODER_SLOTS] = {
	[DECODER_ATTN_NORM] = "ln_1", [DECODER_QKV] = "attn.c_attn", [DECODER_O] = "attn.c_proj",
	[DECODER_FFN_NORM] = "ln_2",  [DECODER_UP] = "mlp.c_fc",     [DECODER_DOWN] = "mlp.c_proj"};

#define NAMES(slots)                                                                                         \
	{                                                                                                    \
		"model.layers", slots, decoder_step_names, ".weight", ".bias", "model.embed_tokens",         \
			"model.embed_norm", "model.norm", "lm_head"                                          \
	}

static const decoder_style llama = {.names = NAMES(llama_slots),
                               .rotary = "model.rotary_emb",
                               .block = "LlamaDecoderLayer"},
		      phi = {.names = NAMES(phi_slots), .rotary = "model.rotary_emb"},
		      gemma = {.names = NAMES(gemma_slots), .rotary = "model.rotary_emb"},
		      mixtral = {.names = NAMES(mixtral_slots),
                                 .rotary = "model.rotary_emb",
                                 .expert = {{"block_sparse_moe.experts.", ".w1.weight"},
                                            {"block_sparse_moe.experts.", ".w3.weight"},
                                            {"block_sparse_moe.experts.", ".w2.weight"}}},
		      moe = {.names = NAMES(moe_slots),
                             .rotary = "model.rotary_emb",
                             .expert = {{"mlp.experts.", ".gate_proj.weight"},
                                        {"mlp.experts.", ".up_proj.weight"},
                                        {"mlp.experts.", ".down_proj.weight"}}},
		      gpt2 = {.names = {"transformer.h", gpt2_slots, decoder_step_names, ".weight", ".bias",
                                        "transformer.wte", "transformer.embed_norm", "transformer.ln_f",
                                        "lm_head"},
                              .prefix = "transformer.",
                              .position = "transformer.wpe",
                              .transposed = true};

const decoder_arch hf_archs[] = {
	{"LlamaForCausalLM", 0, false, false, &llama},  {"MistralForCausalLM", 1, false, false, &llama},
	{"Qwen2ForCausalLM", 1, false, false, &llama},  {"Qwen3ForCausalLM", 1, false, false, &llama},
	{"GemmaForCausalLM", 0, true, true, &llama},    {"Gemma2ForCausalLM", 2, true, true, &gemma},
	{"Phi3ForCausalLM", 1, false, false, &phi},     {"MixtralForCausalLM", 1, false, false, &mixtral},
	{"Qwen2MoeForCausalLM", 1, false, false, &moe}, {"Qwen3MoeForCausalLM", 1, false, false, &moe},
	{"GPT2LMHeadModel", 0, true, true, &gpt2},      {0}};

/* ---- config.json ---- */

/* A whole number under one of two names; null is none. */
static berth_status get_whole(const berth_json *at, const char *key, const char *or_key, int64_t otherwise,
                              int64_t *out, berth_err *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(at->item, key);
	const cJSON *other = or_key ? cJSON_GetObjectItemCaseSensitive(at->item, or_key) : NULL;
	if (!item && !other && or_key && otherwise < 0)
		return berth_json_fail(at, err, "key '%s' (or '%s') is missing", key, or_key);
	if (!item && other) {
		item = other;
		key = or_key;
	}
	int32_t x = 0;
	if ((!item || cJSON_IsNull(item)) && otherwise >= 0) {
		*out = otherwise;
		return BERTH_OK;
	}
	BERTH_TRY(berth_json_int(at, key, true, 0, INT32_MAX, &x, err));
	*out = x;
	return BERTH_OK;
}

static berth_status unknown_arch(const char *file, const char *name, berth_arena *tmp, berth_err *err)
{
	const char *list = "";
	for (const decoder_arch *a = hf_archs; a->name; a++)
		if (!(list = berth_arena_printf(tmp, "%s%s%s", list, *list ? ", " : "", a->name)))
			return berth_nomem(err);
	return berth_fail(err, BERTH_EFORMAT, "%s: architecture '%.60s' is not known; known: %s", file, name,
	                  list);
}

/* Does the layer attend within the window? By "layer_types", else by the architecture. */
static bool is_windowed(const berth_json *at, const decoder_model *m, int32_t layer)
{
	const cJSON *types = cJSON_GetObjectItemCaseSensitive(at->item, "layer_types");
	if (cJSON_IsArray(types)) {
		const cJSON *type = cJSON_GetArrayItem(types, layer);
		return cJSON_IsString(type) && strcmp(type->valuestring, "sliding_attention") == 0;
	}
	int every = m->arch->window_every;
	return every == 1 || (every > 1 && layer % every < every - 1);
}

/* one: a layer without its window. */
static berth_status check_sizes(const decoder_model *m, const decoder_layer *one, berth_err *err)
{
	if (m->n_layers < 1 || m->n_layers > DECODER_MAX_LAYERS)
		return berth_fail(err, BERTH_EFORMAT, "%s: %d layers; expected 1 to %d", m->file, m->n_layers,
		                  DECODER_MAX_LAYERS);
	if (m->hidden < 1 || one->heads < 1 || one->kv_heads < 1 || one->heads % one->kv_heads ||
	    one->key < 1)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: %lld columns, %lld heads and %lld heads of keys and values; expected the "
			"last to divide the second",
			m->file, (long long)m->hidden, (long long)one->heads, (long long)one->kv_heads);
	if (m->experts > DECODER_MAX_EXPERTS || (m->experts && (m->top < 1 || m->top > m->experts)))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: %lld of %lld experts; expected at least 1, and at most %d "
		                  "in all",
		                  m->file, (long long)m->top, (long long)m->experts, DECODER_MAX_EXPERTS);
	return BERTH_OK;
}

static berth_status read_config(const berth_json *at, decoder_model *m, berth_err *err)
{
	int64_t layers, window;
	bool use_window = true;
	decoder_layer one = {0};
	berth_json list;
	BERTH_TRY(berth_json_array(at, "architectures", true, &list, err));
	const cJSON *first = list.item->child;
	if (!first || !cJSON_IsString(first))
		return berth_json_fail(&list, err, "expected the name of an architecture");
	for (const decoder_arch *a = hf_archs; a->name; a++)
		if (strcmp(a->name, first->valuestring) == 0)
			m->arch = a;
	if (!m->arch)
		return unknown_arch(m->file, first->valuestring, m->tmp, err);
	m->style = m->arch->style;
	if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(at->item, "quantization_config")))
		return berth_json_fail(at, err,
		                       "the weights are quantised (quantization_config), which is not read");
	BERTH_TRY(get_whole(at, "num_hidden_layers", "n_layer", -1, &layers, err));
	BERTH_TRY(get_whole(at, "hidden_size", "n_embd", -1, &m->hidden, err));
	BERTH_TRY(get_whole(at, "num_attention_heads", "n_head", -1, &one.heads, err));
	BERTH_TRY(get_whole(at, "num_key_value_heads", NULL, one.heads, &one.kv_heads, err));
	BERTH_TRY(get_whole(at, "head_dim", NULL, one.heads ? m->hidden / one.heads : 0, &one.key, err));
	BERTH_TRY(get_whole(at, "num_local_experts", "num_experts", 0, &m->experts, err));
	BERTH_TRY(get_whole(at, "num_experts_per_tok", NULL, 0, &m->top, err));
	BERTH_TRY(get_whole(at, "max_position_embeddings", "n_positions", 0, &m->context, err));
	BERTH_TRY(get_whole(at, "sliding_window", NULL, 0, &window, err));
	m->d.tied = m->arch->tied;
	BERTH_TRY(berth_json_bool(at, "tie_word_embeddings", &m->d.tied, err));
	BERTH_TRY(berth_json_bool(at, "use_sliding_window", &use_window, err));
	m->n_all = m->n_layers = layers > DECODER_MAX_LAYERS ? DECODER_MAX_LAYERS + 1 : (int32_t)layers;
	if (!m->style->expert[0].before)
		m->experts = 0;
	one.value = one.key;
	BERTH_TRY(check_sizes(m, &one, err));
	BERTH_TRY_NEW(m->tmp, m->n_layers, err, m->layer, m->loose);
	for (int32_t i = 0; i < m->n_layers; i++) {
		m->layer[i] = one;
		m->layer[i].window = use_window && is_windowed(at, m, i) ? window : 0;
	}
	return BERTH_OK;
}

berth_status hf_model_new(const char *file, const char *text, size_t size, berth_arena *tmp, decoder_model *m,
                          berth_err *err)
{
	BERTH_JSON_DOC(at);
	*m = (decoder_model){.file = file, .tmp = tmp};
	BERTH_TRY(berth_json_open_doc(file, text, size, &at, err));
	return cJSON_IsObject(at.item) ? read_config(&at, m, err)
	                               : berth_json_fail(&at, err, "expected an object");
}

/* ---- tensors ---- */

/* Is it a buffer of a layer that is computed anew when a model is loaded? */
static bool is_computed(const decoder_style *s, const char *name)
{
	static const char *const ends[] = {"self_attn.rotary_emb.inv_freq", "attn.bias", "attn.masked_bias"};
	size_t n = strlen(s->names.layer), at = n + 1;
	if (strncmp(name, s->names.layer, n) != 0 || name[n] != '.')
		return false;
	at += strspn(name + at, "0123456789") + 1;
	for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
		if (strlen(name) > at && strcmp(name + at, ends[i]) == 0)
			return true;
	return false;
}

berth_status hf_model_add(decoder_model *m, const char *file, decoder_tensor *t, berth_err *err)
{
	const decoder_style *s = m->style;
	const char *name = t->name.text;
	if (s->prefix && strncmp(name, s->prefix, strlen(s->prefix)) != 0 &&
	    strncmp(name, "lm_head.", 8) != 0 &&
	    !(name = berth_arena_printf(m->tmp, "%s%s", s->prefix, name)))
		return berth_nomem(err);
	if (is_computed(s, name)) {
		m->n_tensors++;
		return BERTH_OK;
	}
	t->name = (text_span){name, strlen(name)};
	if (s->transposed && strncmp(name, s->names.layer, strlen(s->names.layer)) == 0 && t->dim[1] > 1) {
		int64_t in = t->dim[1];
		t->dim[1] = t->dim[0];
		t->dim[0] = in;
	}
	berth_status st = decoder_model_add(m, t, err);
	return st == BERTH_OK ? st : berth_fail_in(err, st, "%s: ", file);
}

/* ---- checks ---- */

/* All experts stand in tensors of their own. */
static berth_status check_experts(const decoder_model *m, int32_t layer, berth_err *err)
{
	const decoder_loose *loose = m->loose[layer];
	for (int i = 0; i < 3 && m->layer[layer].w[DECODER_ROUTER].bytes > 0; i++) {
		int32_t n = loose ? loose->n_seen[i] : 0;
		const char *after = m->style->expert[i].after;
		if (n != m->experts)
			return berth_fail(err, BERTH_EFORMAT,
			                  "%s: layer %d has %d tensors '%.*s' of experts; expected %lld",
			                  m->file, layer, n, (int)strcspn(after + 1, "."), after + 1,
			                  (long long)m->experts);
	}
	return BERTH_OK;
}

berth_status hf_model_check(decoder_model *m, berth_err *err)
{
	const decoder_names *n = &m->style->names;
	if (m->d.tied) /* a copy of it in a file is the same matrix */
		m->d.output = (decoder_weight){0};
	else if (m->d.embed.bytes > 0 && m->d.output.bytes <= 0)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: expected a tensor '%s.weight' of the shape of '%s.weight', as the embedding is "
			"not tied to the output",
			m->file, n->output, n->embed);
	for (int32_t i = 0; i < m->n_layers; i++)
		BERTH_TRY(check_experts(m, i, err));
	return decoder_model_check(m, err);
}
