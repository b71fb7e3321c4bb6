/* Tensors of a model folder put to their use, by what config.json says and the names that architectures
 * have. */
#include "hf.h"

#include "gguf_model.h"
#include "json.h"
#include "text.h"

#include <string.h>

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
		"model.layers", slots, gguf_step_names, ".weight", ".bias", "model.embed_tokens",            \
			"model.embed_norm", "model.norm", "lm_head"                                          \
	}

static const hf_style llama = {.names = NAMES(llama_slots),
                               .rotary = "model.rotary_emb",
                               .block = "LlamaDecoderLayer"},
		      phi = {.names = NAMES(phi_slots), .rotary = "model.rotary_emb"},
		      gemma = {.names = NAMES(gemma_slots), .rotary = "model.rotary_emb"},
		      mixtral = {.names = NAMES(mixtral_slots),
                                 .rotary = "model.rotary_emb",
                                 .experts = {"w1", "w3", "w2"},
                                 .experts_at = "block_sparse_moe.experts"},
		      moe = {.names = NAMES(moe_slots),
                             .rotary = "model.rotary_emb",
                             .experts = {"gate_proj", "up_proj", "down_proj"},
                             .experts_at = "mlp.experts"},
		      gpt2 = {.names = {"transformer.h", gpt2_slots, gguf_step_names, ".weight", ".bias",
                                        "transformer.wte", "transformer.embed_norm", "transformer.ln_f",
                                        "lm_head"},
                              .prefix = "transformer.",
                              .position = "transformer.wpe",
                              .transposed = true};

const hf_arch hf_archs[] = {
	{"LlamaForCausalLM", &llama, false, false, 0},  {"MistralForCausalLM", &llama, false, false, 1},
	{"Qwen2ForCausalLM", &llama, false, false, 1},  {"Qwen3ForCausalLM", &llama, false, false, 1},
	{"GemmaForCausalLM", &llama, true, true, 0},    {"Gemma2ForCausalLM", &gemma, true, true, 2},
	{"Phi3ForCausalLM", &phi, false, false, 1},     {"MixtralForCausalLM", &mixtral, false, false, 1},
	{"Qwen2MoeForCausalLM", &moe, false, false, 1}, {"Qwen3MoeForCausalLM", &moe, false, false, 1},
	{"GPT2LMHeadModel", &gpt2, true, true, 0},      {0}};

/* ---- config.json ---- */

/* A whole number under one of two names; null is none. */
static berth_status get_whole(const berth_json *at, const char *key, const char *or_key, int64_t otherwise,
                              int64_t *out, berth_err *err)
{
	const cJSON *item = cJSON_GetObjectItemCaseSensitive(at->item, key);
	if (!item && or_key) {
		item = cJSON_GetObjectItemCaseSensitive(at->item, or_key);
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
	for (const hf_arch *a = hf_archs; a->name; a++)
		if (!(list = berth_arena_printf(tmp, "%s%s%s", list, *list ? ", " : "", a->name)))
			return berth_nomem(err);
	return berth_fail(err, BERTH_EFORMAT, "%s: architecture '%.60s' is not known; known: %s", file, name,
	                  list);
}

static berth_status find_arch(const berth_json *at, hf_model *m, berth_err *err)
{
	berth_json list;
	BERTH_TRY(berth_json_array(at, "architectures", true, &list, err));
	const cJSON *first = list.item->child;
	if (!first || !cJSON_IsString(first))
		return berth_json_fail(&list, err, "expected the name of an architecture");
	for (const hf_arch *a = hf_archs; a->name; a++)
		if (strcmp(a->name, first->valuestring) == 0)
			m->arch = a;
	return m->arch ? BERTH_OK : unknown_arch(m->file, first->valuestring, m->tmp, err);
}

/* Does the layer attend within the window? By "layer_types", else by the architecture. */
static bool is_windowed(const berth_json *at, const hf_model *m, int32_t layer)
{
	const cJSON *types = cJSON_GetObjectItemCaseSensitive(at->item, "layer_types");
	if (cJSON_IsArray(types)) {
		const cJSON *type = cJSON_GetArrayItem(types, layer);
		return cJSON_IsString(type) && strcmp(type->valuestring, "sliding_attention") == 0;
	}
	int every = m->arch->window_every;
	return every == 1 || (every > 1 && layer % every < every - 1);
}

static berth_status check_sizes(const hf_model *m, berth_err *err)
{
	if (m->n_layers < 1 || m->n_layers > HF_MAX_LAYERS)
		return berth_fail(err, BERTH_EFORMAT, "%s: %d layers; expected 1 to %d", m->file, m->n_layers,
		                  HF_MAX_LAYERS);
	if (m->hidden < 1 || m->heads < 1 || m->kv_heads < 1 || m->heads % m->kv_heads || m->head < 1)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: %lld columns, %lld heads and %lld heads of keys and values; expected the "
			"last to divide the second",
			m->file, (long long)m->hidden, (long long)m->heads, (long long)m->kv_heads);
	if (m->experts > HF_MAX_EXPERTS || (m->experts && (m->top < 1 || m->top > m->experts)))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: %lld of %lld experts; expected at least 1, and at most %d "
		                  "in all",
		                  m->file, (long long)m->top, (long long)m->experts, HF_MAX_EXPERTS);
	return BERTH_OK;
}

static berth_status read_config(const berth_json *at, hf_model *m, berth_err *err)
{
	int64_t layers, window;
	bool use_window = true;
	BERTH_TRY(find_arch(at, m, err));
	if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(at->item, "quantization_config")))
		return berth_json_fail(at, err,
		                       "the weights are quantised (quantization_config), which is not read");
	BERTH_TRY(get_whole(at, "num_hidden_layers", "n_layer", -1, &layers, err));
	BERTH_TRY(get_whole(at, "hidden_size", "n_embd", -1, &m->hidden, err));
	BERTH_TRY(get_whole(at, "num_attention_heads", "n_head", -1, &m->heads, err));
	BERTH_TRY(get_whole(at, "num_key_value_heads", NULL, m->heads, &m->kv_heads, err));
	BERTH_TRY(get_whole(at, "head_dim", NULL, m->heads ? m->hidden / m->heads : 0, &m->head, err));
	BERTH_TRY(get_whole(at, "num_local_experts", "num_experts", 0, &m->experts, err));
	BERTH_TRY(get_whole(at, "num_experts_per_tok", NULL, 0, &m->top, err));
	BERTH_TRY(get_whole(at, "max_position_embeddings", "n_positions", 0, &m->context, err));
	BERTH_TRY(get_whole(at, "sliding_window", NULL, 0, &window, err));
	m->tied = m->arch->tied;
	BERTH_TRY(berth_json_bool(at, "tie_word_embeddings", &m->tied, err));
	BERTH_TRY(berth_json_bool(at, "use_sliding_window", &use_window, err));
	m->n_layers = layers > HF_MAX_LAYERS ? HF_MAX_LAYERS + 1 : (int32_t)layers;
	if (!m->arch->style->experts_at)
		m->experts = 0;
	BERTH_TRY(check_sizes(m, err));
	BERTH_TRY_NEW(m->tmp, m->n_layers, err, m->layer, m->n_experts);
	for (int32_t i = 0; i < m->n_layers; i++)
		m->layer[i] = (decoder_layer){.heads = m->heads,
		                              .kv_heads = m->kv_heads,
		                              .key = m->head,
		                              .value = m->head,
		                              .window = use_window && is_windowed(at, m, i) ? window : 0};
	return BERTH_OK;
}

berth_status hf_model_new(const char *file, const char *text, size_t size, berth_arena *tmp, hf_model *m,
                          berth_err *err)
{
	cJSON *doc;
	*m = (hf_model){.file = file, .tmp = tmp};
	BERTH_TRY(berth_json_parse_large(file, text, size, &doc, err));
	const berth_json at = {.item = doc, .file = file};
	berth_status st = cJSON_IsObject(doc) ? read_config(&at, m, err)
	                                      : berth_json_fail(&at, err, "expected an object");
	cJSON_Delete(doc);
	return st;
}

/* ---- tensors ---- */

static berth_status twice(const char *file, const hf_tensor *t, berth_err *err)
{
	return berth_fail(err, BERTH_EFORMAT, "%s: tensor '%.80s' stands twice", file, t->name);
}

static berth_status put(const hf_model *m, const char *file, const hf_tensor *t, bool bias, decoder_weight *w,
                        berth_err *err)
{
	bool turned = m->arch->style->transposed && t->n_dims == 2;
	if ((bias ? w->bias_bytes : w->bytes) > 0)
		return twice(file, t, err);
	if (bias) {
		w->bias_bytes = (double)t->bytes;
		return BERTH_OK;
	}
	w->bytes = (double)t->bytes;
	w->in = t->n_dims == 1 || turned ? t->dim[0] : t->dim[1];
	w->out = t->n_dims == 1 ? 1 : turned ? t->dim[1] : t->dim[0];
	return BERTH_OK;
}

/* What is behind word and a dot in name; NULL: it does not begin so. */
static const char *behind(const char *name, const char *word)
{
	size_t n = strlen(word);
	return strncmp(name, word, n) == 0 && name[n] == '.' ? name + n + 1 : NULL;
}

static const char *take_index(const char *name, int64_t *out)
{
	size_t n = strspn(name, "0123456789");
	*out = 0;
	if (n == 0 || n > 9 || name[n] != '.' || (n > 1 && *name == '0')) /* 00 would be 0 once more */
		return NULL;
	for (size_t i = 0; i < n; i++)
		*out = *out * 10 + (name[i] - '0');
	return name + n + 1;
}

static bool is_part(const char *name, const char *stem, bool *bias)
{
	const char *rest = behind(name, stem);
	*bias = rest && strcmp(rest, "bias") == 0;
	return *bias || (rest && strcmp(rest, "weight") == 0);
}

static berth_status put_other(hf_model *m, const hf_tensor *t, const char *name, double *bytes,
                              berth_err *err)
{
	*bytes += (double)t->bytes;
	if (m->n_warnings == HF_MAX_WARNINGS)
		return BERTH_OK;
	const char *text = berth_arena_printf(
		m->tmp, "no use is known for tensors '%.80s'; their bytes count, their work does not", name);
	if (!text)
		return berth_nomem(err);
	for (int32_t i = 0; i < m->n_warnings; i++)
		if (strcmp(m->warning[i], text) == 0)
			return BERTH_OK;
	m->warning[m->n_warnings++] = text;
	return BERTH_OK;
}

/* One matrix of one expert; which: gate, up, down. */
static berth_status put_expert(hf_model *m, const char *file, const hf_tensor *t, int32_t layer, int which,
                               int64_t expert, berth_err *err)
{
	decoder_weight one = {0}, *all = &m->layer[layer].w[DECODER_GATE_EXPS + which];
	if (expert >= m->experts)
		return berth_fail(err, BERTH_EFORMAT, "%s: tensor '%.80s' is one of expert %lld of %lld",
		                  file, t->name, (long long)expert, (long long)m->experts);
	BERTH_TRY(put(m, file, t, false, &one, err));
	if (all->bytes > 0 && (all->in != one.in || all->out != one.out))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: tensor '%.80s' has another shape than other experts", file, t->name);
	all->in = one.in;
	all->out = one.out;
	all->bytes += one.bytes;
	m->n_experts[layer][which]++;
	return BERTH_OK;
}

static berth_status put_in_layer(hf_model *m, const char *file, const hf_tensor *t, int32_t layer,
                                 const char *name, berth_err *err)
{
	/* buffers that are computed anew when a model is loaded */
	static const char *const computed[] = {"self_attn.rotary_emb.inv_freq", "attn.bias",
	                                       "attn.masked_bias"};
	const hf_style *s = m->arch->style;
	decoder_layer *l = &m->layer[layer];
	bool bias;
	int64_t expert;
	for (size_t i = 0; i < sizeof computed / sizeof *computed; i++)
		if (strcmp(name, computed[i]) == 0)
			return BERTH_OK;
	for (int slot = 0; slot < DECODER_SLOTS; slot++)
		if (s->names.slot[slot] && is_part(name, s->names.slot[slot], &bias))
			return put(m, file, t, bias, &l->w[slot], err);
	const char *rest = s->experts_at ? behind(name, s->experts_at) : NULL;
	rest = rest ? take_index(rest, &expert) : NULL;
	for (int which = 0; rest && which < 3; which++)
		if (is_part(rest, s->experts[which], &bias) && !bias)
			return put_expert(m, file, t, layer, which, expert, err);
	return put_other(m, t, name, &l->other_bytes, err);
}

static berth_status put_global(hf_model *m, const char *file, const hf_tensor *t, const char *name,
                               berth_err *err)
{
	const decoder_names *n = &m->arch->style->names;
	struct {
		const char *name;
		decoder_weight *w;
	} place[] = {{n->embed, &m->d.embed}, {n->output_norm, &m->d.output_norm}, {n->output, &m->d.output}};
	bool bias;
	for (size_t i = 0; i < sizeof place / sizeof *place; i++) {
		if (!is_part(name, place[i].name, &bias))
			continue;
		BERTH_TRY(put(m, file, t, bias, place[i].w, err));
		if (i != 1 && !bias && m->arch->style->transposed) { /* not what is looked up */
			place[i].w->in = t->dim[1];
			place[i].w->out = t->dim[0];
		}
		if (i == 0)
			m->elem_bytes = t->elem_bytes;
		return BERTH_OK;
	}
	if (m->arch->style->position && is_part(name, m->arch->style->position, &bias)) {
		m->d.other_bytes += (double)t->bytes;
		return BERTH_OK;
	}
	return put_other(m, t, name, &m->d.other_bytes, err);
}

berth_status hf_model_add(hf_model *m, const char *file, const hf_tensor *t, berth_err *err)
{
	const hf_style *s = m->arch->style;
	const char *name = t->name, *rest;
	int64_t layer;
	m->n_tensors++;
	if (s->prefix && strncmp(name, s->prefix, strlen(s->prefix)) != 0 &&
	    strncmp(name, "lm_head.", 8) != 0 &&
	    !(name = berth_arena_printf(m->tmp, "%s%s", s->prefix, name)))
		return berth_nomem(err);
	rest = behind(name, s->names.layer);
	if (!rest || !(rest = take_index(rest, &layer)))
		return put_global(m, file, t, name, err);
	if (layer >= m->n_layers)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: tensor '%.80s' is one of layer %lld; expected fewer than %d, the layers of %s",
			file, t->name, (long long)layer, m->n_layers, m->file);
	return put_in_layer(m, file, t, (int32_t)layer, rest, err);
}

/* ---- checks ---- */

typedef struct check {
	const hf_model *m;
	int32_t layer;
	berth_err *err;
} check;

static const decoder_weight *weight(const check *c, decoder_slot slot)
{
	return &c->m->layer[c->layer].w[slot];
}

/* The tensor of the slot is [out, in]; in 0: any. */
static berth_status expect(const check *c, decoder_slot slot, int64_t in, int64_t out)
{
	const decoder_weight *w = weight(c, slot);
	const decoder_names *n = &c->m->arch->style->names;
	const char *part = n->slot[slot] ? n->slot[slot] : "(one for attention or experts)";
	if (w->bytes <= 0)
		return berth_fail(c->err, BERTH_EFORMAT,
		                  "%s: there is no tensor '%s.%d.%s.weight', which architecture %s needs",
		                  c->m->file, n->layer, c->layer, part, c->m->arch->name);
	if (w->in == in && w->out == out)
		return BERTH_OK;
	return berth_fail(c->err, BERTH_EFORMAT,
	                  "%s: tensor '%s.%d.%s.weight' makes %lld columns of %lld; expected "
	                  "%lld of %lld",
	                  c->m->file, n->layer, c->layer, part, (long long)w->out, (long long)w->in,
	                  (long long)out, (long long)in);
}

static berth_status check_attention(const check *c)
{
	const hf_model *m = c->m;
	int64_t q = m->heads * m->head, kv = m->kv_heads * m->head;
	BERTH_TRY(expect(c, DECODER_O, q, m->hidden));
	if (weight(c, DECODER_QKV)->bytes > 0)
		return expect(c, DECODER_QKV, m->hidden, q + 2 * kv);
	BERTH_TRY(expect(c, DECODER_Q, m->hidden, q));
	BERTH_TRY(expect(c, DECODER_K, m->hidden, kv));
	return expect(c, DECODER_V, m->hidden, kv);
}

/* As gguf_model.c's. */
static berth_status check_gated(const check *c, decoder_slot gate, decoder_slot up, decoder_slot down)
{
	int64_t hidden = c->m->hidden, width = weight(c, down)->in;
	bool gated = weight(c, gate)->bytes > 0;
	BERTH_TRY(expect(c, down, width, hidden));
	if (gated)
		BERTH_TRY(expect(c, gate, hidden, width));
	return expect(c, up, hidden, !gated && weight(c, up)->out == 2 * width ? 2 * width : width);
}

static berth_status check_layer(const check *c)
{
	const hf_model *m = c->m;
	BERTH_TRY(check_attention(c));
	if (weight(c, DECODER_ROUTER)->bytes <= 0)
		return check_gated(c, DECODER_GATE, DECODER_UP, DECODER_DOWN);
	BERTH_TRY(expect(c, DECODER_ROUTER, m->hidden, m->experts));
	for (int i = 0; i < 3; i++)
		if (m->n_experts[c->layer][i] != m->experts)
			return berth_fail(c->err, BERTH_EFORMAT,
			                  "%s: layer %d has %d tensors '%s' of experts; expected "
			                  "%lld",
			                  m->file, c->layer, m->n_experts[c->layer][i],
			                  m->arch->style->experts[i], (long long)m->experts);
	BERTH_TRY(check_gated(c, DECODER_GATE_EXPS, DECODER_UP_EXPS, DECODER_DOWN_EXPS));
	return weight(c, DECODER_SHARED_UP)->bytes > 0
	               ? check_gated(c, DECODER_SHARED_GATE, DECODER_SHARED_UP, DECODER_SHARED_DOWN)
	               : BERTH_OK;
}

berth_status hf_model_check(hf_model *m, berth_err *err)
{
	const decoder_names *n = &m->arch->style->names;
	if (m->d.embed.bytes <= 0 || m->d.embed.in != m->hidden)
		return berth_fail(err, BERTH_EFORMAT, "%s: expected a tensor '%s.weight' with rows of %lld",
		                  m->file, n->embed, (long long)m->hidden);
	if (m->tied) /* a copy of it in a file is the same matrix */
		m->d.output = (decoder_weight){0};
	else if (m->d.output.bytes <= 0 || m->d.output.in != m->hidden || m->d.output.out != m->d.embed.out)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: expected a tensor '%s.weight' of the shape of '%s.weight', as the embedding is "
			"not tied to the output",
			m->file, n->output, n->embed);
	for (int32_t i = 0; i < m->n_layers; i++)
		BERTH_TRY(check_layer(&(check){m, i, err}));
	m->d.tied = m->tied;
	m->d.vocabulary = m->d.embed.out;
	return BERTH_OK;
}
