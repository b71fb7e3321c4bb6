/* Tensors of a GGUF file put to their use in the layers of a decoder. Shapes are checked against the
 * metadata. */
#include "gguf_model.h"

#include "text.h"

#include <string.h>

/* Names of tensors without ".weight" and ".bias". */
static const char *const slot_names[DECODER_SLOTS] = {[DECODER_ATTN_NORM] = "attn_norm",
                                                      [DECODER_Q] = "attn_q",
                                                      [DECODER_K] = "attn_k",
                                                      [DECODER_V] = "attn_v",
                                                      [DECODER_QKV] = "attn_qkv",
                                                      [DECODER_Q_NORM] = "attn_q_norm",
                                                      [DECODER_K_NORM] = "attn_k_norm",
                                                      [DECODER_Q_A] = "attn_q_a",
                                                      [DECODER_Q_A_NORM] = "attn_q_a_norm",
                                                      [DECODER_Q_B] = "attn_q_b",
                                                      [DECODER_KV_A] = "attn_kv_a_mqa",
                                                      [DECODER_KV_A_NORM] = "attn_kv_a_norm",
                                                      [DECODER_KV_B] = "attn_kv_b",
                                                      [DECODER_K_B] = "attn_k_b",
                                                      [DECODER_V_B] = "attn_v_b",
                                                      [DECODER_O] = "attn_output",
                                                      [DECODER_POST_ATTN_NORM] = "post_attention_norm",
                                                      [DECODER_FFN_NORM] = "ffn_norm",
                                                      [DECODER_GATE] = "ffn_gate",
                                                      [DECODER_UP] = "ffn_up",
                                                      [DECODER_DOWN] = "ffn_down",
                                                      [DECODER_POST_FFN_NORM] = "post_ffw_norm",
                                                      [DECODER_ROUTER] = "ffn_gate_inp",
                                                      [DECODER_GATE_EXPS] = "ffn_gate_exps",
                                                      [DECODER_UP_EXPS] = "ffn_up_exps",
                                                      [DECODER_DOWN_EXPS] = "ffn_down_exps",
                                                      [DECODER_SHARED_ROUTER] = "ffn_gate_inp_shexp",
                                                      [DECODER_SHARED_GATE] = "ffn_gate_shexp",
                                                      [DECODER_SHARED_UP] = "ffn_up_shexp",
                                                      [DECODER_SHARED_DOWN] = "ffn_down_shexp"};

const char *const gguf_step_names[DECODER_STEPS] = {[DECODER_QKV_SPLIT] = "attn_qkv.split",
                                                      [DECODER_Q_TURN] = "attn_q.transpose",
                                                      [DECODER_K_TURN] = "attn_k.transpose",
                                                      [DECODER_V_TURN] = "attn_v.transpose",
                                                      [DECODER_Q_ROTATE] = "attn_q.rotate",
                                                      [DECODER_K_ROTATE] = "attn_k.rotate",
                                                      [DECODER_KV_SPLIT] = "attn_kv.split",
                                                      [DECODER_SCORES] = "attn.scores",
                                                      [DECODER_SCALE] = "attn.scale",
                                                      [DECODER_MASK] = "attn.mask",
                                                      [DECODER_SOFTMAX] = "attn.softmax",
                                                      [DECODER_CONTEXT] = "attn.context",
                                                      [DECODER_TURN_BACK] = "attn.transpose",
                                                      [DECODER_ATTN_RESIDUAL] = "attn.residual",
                                                      [DECODER_UP_SPLIT] = "ffn_up.split",
                                                      [DECODER_ACTIVATION] = "ffn.activation",
                                                      [DECODER_GATED] = "ffn.mul",
                                                      [DECODER_FFN_RESIDUAL] = "ffn.residual",
                                                      [DECODER_TOP] = "ffn_gate_inp.top",
                                                      [DECODER_ROUTE_SOFTMAX] = "ffn_gate_inp.softmax",
                                                      [DECODER_EXPERTS_SPLIT] = "ffn_up_exps.split",
                                                      [DECODER_EXPERTS_ACTIVATION] = "ffn_exps.activation",
                                                      [DECODER_EXPERTS_GATED] = "ffn_exps.mul",
                                                      [DECODER_EXPERTS_SUM] = "ffn_exps.sum",
                                                      [DECODER_SHARED_SPLIT] = "ffn_up_shexp.split",
                                                      [DECODER_SHARED_ACTIVATION] = "ffn_shexp.activation",
                                                      [DECODER_SHARED_GATED] = "ffn_shexp.mul",
                                                      [DECODER_SHARED_SIGMOID] = "ffn_shexp.sigmoid",
                                                      [DECODER_SHARED_WEIGHED] = "ffn_shexp.weigh",
                                                      [DECODER_SHARED_SUM] = "ffn_shexp.sum",
                                                      [DECODER_LAST] = "last"};

const decoder_names gguf_names = {"blk",        slot_names,        gguf_step_names,    ".weight", ".bias",
                                  "token_embd", "token_embd_norm", "output_norm", "output"};

typedef enum shape_kind { SHAPE_NORM, SHAPE_MATRIX, SHAPE_EXPERTS, SHAPE_HEADS } shape_kind;

static shape_kind shape_of(decoder_slot slot)
{
	switch (slot) {
	case DECODER_ATTN_NORM:
	case DECODER_Q_NORM:
	case DECODER_K_NORM:
	case DECODER_Q_A_NORM:
	case DECODER_KV_A_NORM:
	case DECODER_POST_ATTN_NORM: case DECODER_FFN_NORM: case DECODER_POST_FFN_NORM: return SHAPE_NORM;
	case DECODER_GATE_EXPS: case DECODER_UP_EXPS: case DECODER_DOWN_EXPS: return SHAPE_EXPERTS;
	case DECODER_K_B: case DECODER_V_B: return SHAPE_HEADS;
	default: return SHAPE_MATRIX;
	}
}

/* ---- sizes ---- */

/* Does the layer attend within the window? By the file's pattern: a number of layers, or a truth value for
 * each; else by the architecture's. */
static berth_status is_windowed(const gguf_meta *meta, int32_t layer, bool *out, berth_err *err)
{
	int64_t every = meta->arch->window_every;
	if (meta->given[GGUF_WINDOW_PATTERN] && meta->key[GGUF_WINDOW_PATTERN].kind == GGUF_ARRAY) {
		int64_t x;
		BERTH_TRY(gguf_meta_whole(meta, GGUF_WINDOW_PATTERN, layer, 0, &x, err));
		*out = x != 0;
		return BERTH_OK;
	}
	BERTH_TRY(gguf_meta_whole(meta, GGUF_WINDOW_PATTERN, 0, every, &every, err));
	*out = every > 0 && layer % every < every - 1;
	return BERTH_OK;
}

static berth_status read_layer(const gguf_model *m, int32_t i, decoder_layer *l, berth_err *err)
{
	const gguf_meta *meta = m->meta;
	int64_t head;
	bool windowed;
	BERTH_TRY(gguf_meta_whole(meta, GGUF_HEADS, i, -1, &l->heads, err));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_KV_HEADS, i, l->heads, &l->kv_heads, err));
	if (l->heads < 1 || l->kv_heads < 1 || l->heads % l->kv_heads)
		return gguf_fail(meta->file, meta->key[GGUF_HEADS].at, err,
		                 "layer %d has %lld heads and %lld heads of keys and values; expected the "
		                 "second to divide the first",
		                 i, (long long)l->heads, (long long)l->kv_heads);
	head = m->hidden / l->heads;
	BERTH_TRY(gguf_meta_whole(meta, GGUF_KEY, i, head, &l->key, err));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_VALUE, i, head, &l->value, err));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_KEY_MLA, i, l->key, &l->key, err));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_VALUE_MLA, i, l->value, &l->value, err));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_LATENT, i, 0, &l->latent, err));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_WINDOW, i, 0, &l->window, err));
	BERTH_TRY(is_windowed(meta, i, &windowed, err));
	if (!windowed)
		l->window = 0;
	if (l->latent)
		l->kv_heads = l->heads;
	if (l->key < 1 || l->value < 1)
		return gguf_fail(
			meta->file, meta->file->keys_at, err,
			"heads of layer %d have no columns: embedding_length is %lld and head_count %lld", i,
			(long long)m->hidden, (long long)l->heads);
	return BERTH_OK;
}

static berth_status read_experts(gguf_model *m, berth_err *err)
{
	BERTH_TRY(gguf_meta_whole(m->meta, GGUF_EXPERTS, 0, 0, &m->experts, err));
	BERTH_TRY(gguf_meta_whole(m->meta, GGUF_TOP, 0, 0, &m->top, err));
	if (m->experts > GGUF_MAX_EXPERTS)
		return gguf_fail(m->meta->file, m->meta->key[GGUF_EXPERTS].at, err,
		                 "%lld experts; expected at most %d", (long long)m->experts,
		                 GGUF_MAX_EXPERTS);
	if (m->experts && (m->top < 1 || m->top > m->experts))
		return gguf_fail(m->meta->file, m->meta->key[GGUF_TOP].at, err,
		                 "a token goes to %lld experts of %lld; expected 1 to all", (long long)m->top,
		                 (long long)m->experts);
	return BERTH_OK;
}

berth_status gguf_model_new(const gguf_meta *meta, berth_arena *tmp, gguf_model *m, berth_err *err)
{
	int64_t layers, further;
	*m = (gguf_model){.meta = meta, .tmp = tmp};
	BERTH_TRY(gguf_meta_whole(meta, GGUF_LAYERS, 0, -1, &layers, err));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_HIDDEN, 0, -1, &m->hidden, err));
	BERTH_TRY(gguf_meta_whole(meta, GGUF_NEXTN, 0, 0, &further, err));
	if (layers < 1 || layers > GGUF_MAX_LAYERS)
		return gguf_fail(meta->file, meta->key[GGUF_LAYERS].at, err, "%lld layers; expected 1 to %d",
		                 (long long)layers, GGUF_MAX_LAYERS);
	if (m->hidden < 1)
		return gguf_fail(meta->file, meta->key[GGUF_HIDDEN].at, err, "embedding_length is 0");
	if (further >= layers)
		return gguf_fail(meta->file, meta->key[GGUF_NEXTN].at, err,
		                 "%lld of %lld layers predict further tokens; expected fewer",
		                 (long long)further, (long long)layers);
	m->n_all = (int32_t)layers;
	m->n_layers = (int32_t)(layers - further);
	BERTH_TRY(read_experts(m, err));
	BERTH_TRY_NEW(tmp, m->n_layers, err, m->layer, m->loose);
	for (int32_t i = 0; i < m->n_layers; i++)
		BERTH_TRY(read_layer(m, i, &m->layer[i], err));
	return BERTH_OK;
}

/* ---- tensors ---- */

static int shown(gguf_span s)
{
	return s.n < 80 ? (int)s.n : 80;
}

static berth_status wrong_shape(const gguf_file *f, const gguf_tensor *t, const char *expected,
                                berth_err *err)
{
	return gguf_fail(f, t->at, err, "tensor '%.*s' is [%lld, %lld, %lld, %lld]; expected %s",
	                 shown(t->name), t->name.text, (long long)t->dim[0], (long long)t->dim[1],
	                 (long long)t->dim[2], (long long)t->dim[3], expected);
}

static berth_status twice(const gguf_file *f, const gguf_tensor *t, berth_err *err)
{
	return gguf_fail(f, t->at, err, "tensor '%.*s' stands twice", shown(t->name), t->name.text);
}

/* A matrix, norm or bias into its place. */
static berth_status put(const gguf_file *f, const gguf_tensor *t, bool bias, decoder_weight *w,
                        berth_err *err)
{
	if ((bias ? w->bias_bytes : w->bytes) > 0)
		return twice(f, t, err);
	if (bias) {
		w->bias_bytes = (double)t->bytes;
		return BERTH_OK;
	}
	w->bytes = (double)t->bytes;
	w->in = t->dim[0];
	w->out = t->dim[1];
	return BERTH_OK;
}

/* The number at the front of s, at most 9 digits, and what is behind it and a dot; false: there is none. */
static bool take_index(gguf_span *s, int64_t *out)
{
	size_t n = 0;
	*out = 0;
	while (n < s->n && n < 10 && s->text[n] >= '0' && s->text[n] <= '9')
		*out = *out * 10 + (s->text[n++] - '0');
	if (n == 0 || n == 10 || n == s->n || s->text[n] != '.')
		return false;
	s->text += n + 1;
	s->n -= n + 1;
	return true;
}

static bool take_word(gguf_span *s, const char *word)
{
	size_t n = strlen(word);
	if (s->n < n || memcmp(s->text, word, n) != 0)
		return false;
	s->text += n;
	s->n -= n;
	return true;
}

/* NAME.weight or NAME.bias? */
static bool is_part(gguf_span s, const char *name, bool *bias)
{
	if (!take_word(&s, name))
		return false;
	*bias = gguf_span_is(s, ".bias");
	return *bias || gguf_span_is(s, ".weight");
}

/* A warning, once for each text. */
static berth_status warn(gguf_model *m, const char *text, berth_err *err)
{
	if (!text)
		return berth_nomem(err);
	for (int32_t i = 0; i < m->n_warnings; i++)
		if (strcmp(m->warning[i], text) == 0)
			return BERTH_OK;
	if (m->n_warnings < GGUF_MAX_WARNINGS)
		m->warning[m->n_warnings++] = text;
	return BERTH_OK;
}

/* Small tensors whose use costs next to nothing are no matter of a warning. */
static berth_status put_other(gguf_model *m, const gguf_tensor *t, gguf_span name, double *bytes,
                              berth_err *err)
{
	static const char *const quiet[] = {
		"rope_freqs.weight",    "rope_factors_long.weight", "rope_factors_short.weight",
		"attn_rot_embd.weight", "attn_sinks.weight",        "exp_probs_b.bias",
		"exp_probs_b"};
	*bytes += (double)t->bytes;
	for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
		if (gguf_span_is(name, quiet[i]))
			return BERTH_OK;
	if (!berth_text_is_utf8(name.text, name.n))
		name = (gguf_span){"(no UTF-8)", 10};
	berth_arena_mark mark = berth_arena_get_mark(m->tmp);
	int32_t n = m->n_warnings;
	BERTH_TRY(warn(m,
	               berth_arena_printf(
			       m->tmp,
			       "no use is known for tensors '%.*s'; their bytes count, their work does not",
			       shown(name), name.text),
	               err));
	if (m->n_warnings == n)
		berth_arena_reset(m->tmp, mark);
	return BERTH_OK;
}

/* ffn_gate.3.weight and its like: one expert. */
static berth_status put_loose(gguf_model *m, const gguf_file *f, const gguf_tensor *t, int32_t layer,
                              int which, int64_t e, berth_err *err)
{
	decoder_weight *w = &m->layer[layer].w[DECODER_GATE_EXPS + which];
	if (e >= m->experts)
		return gguf_fail(f, t->at, err,
		                 "tensor '%.*s' is one of expert %lld; expected fewer than %lld, the number "
		                 "of experts",
		                 shown(t->name), t->name.text, (long long)e, (long long)m->experts);
	if (!m->loose[layer])
		BERTH_TRY_NEW(m->tmp, 1, err, m->loose[layer]);
	gguf_loose *loose = m->loose[layer];
	uint64_t bit = (uint64_t)1 << (e % 64);
	if ((loose->seen[which][e / 64] & bit) || (w->bytes > 0 && !loose->n_seen[which]))
		return twice(f, t, err);
	if (loose->n_seen[which] && (t->dim[0] != w->in || t->dim[1] != w->out))
		return wrong_shape(f, t, "the shape of the other experts", err);
	loose->seen[which][e / 64] |= bit;
	loose->n_seen[which]++;
	w->in = t->dim[0];
	w->out = t->dim[1];
	w->bytes += (double)t->bytes;
	return BERTH_OK;
}

static berth_status put_in_layer(gguf_model *m, const gguf_file *f, const gguf_tensor *t, int32_t layer,
                                 gguf_span name, berth_err *err)
{
	static const char *const loose[] = {"ffn_gate.", "ffn_up.", "ffn_down."};
	decoder_layer *l = &m->layer[layer];
	bool bias;
	for (int slot = 0; slot < DECODER_SLOTS; slot++)
		if (is_part(name, slot_names[slot], &bias)) {
			if (!bias && shape_of((decoder_slot)slot) == SHAPE_EXPERTS && t->dim[2] != m->experts)
				return wrong_shape(f, t, "as many matrices as there are experts", err);
			if (!bias && shape_of((decoder_slot)slot) == SHAPE_HEADS && t->dim[2] != l->heads)
				return wrong_shape(f, t, "as many matrices as there are heads", err);
			return put(f, t, bias, &l->w[slot], err);
		}
	for (int which = 0; which < 3; which++) {
		gguf_span rest = name;
		int64_t e;
		if (take_word(&rest, loose[which]) && take_index(&rest, &e) && gguf_span_is(rest, "weight"))
			return put_loose(m, f, t, layer, which, e, err);
	}
	return put_other(m, t, name, &l->other_bytes, err);
}

static berth_status put_global(gguf_model *m, const gguf_file *f, const gguf_tensor *t, berth_err *err)
{
	struct { const char *name; decoder_weight *w; } place[] = {
		{"token_embd", &m->d.embed}, {"token_embd_norm", &m->d.embed_norm},
		{"output_norm", &m->d.output_norm}, {"output", &m->d.output}};
	bool bias;
	for (size_t i = 0; i < sizeof place / sizeof *place; i++)
		if (is_part(t->name, place[i].name, &bias))
			return put(f, t, bias, place[i].w, err);
	return put_other(m, t, t->name, &m->d.other_bytes, err);
}

berth_status gguf_model_add(gguf_model *m, const gguf_file *f, const gguf_tensor *t, berth_err *err)
{
	gguf_span name = t->name;
	int64_t layer;
	m->n_tensors++;
	m->tensor_bytes += t->bytes;
	if (m->tensor_bytes > (int64_t)1 << 53)
		return gguf_fail(f, t->at, err, "all tensors together have more than 2^53 bytes");
	if (!take_word(&name, "blk.") || !take_index(&name, &layer))
		return put_global(m, f, t, err);
	if (layer >= m->n_all)
		return gguf_fail(
			f, t->at, err,
			"tensor '%.*s' is one of layer %lld; expected fewer than %d, the number of layers",
			shown(t->name), t->name.text, (long long)layer, m->n_all);
	if (layer < m->n_layers)
		return put_in_layer(m, f, t, (int32_t)layer, name, err);
	m->n_skipped++;
	m->skipped_bytes += t->bytes;
	return BERTH_OK;
}

/* ---- checks ---- */

typedef struct check {
	const gguf_model *m;
	int32_t layer;
	const decoder_layer *l;
	berth_err *err;
} check;

static bool has(const check *c, decoder_slot slot)
{
	return c->l->w[slot].bytes > 0;
}

static berth_status missing(const check *c, const char *what)
{
	return berth_fail(c->err, BERTH_EFORMAT,
	                  "%s: there is no tensor 'blk.%d.%s.weight', which architecture %s needs",
	                  c->m->meta->file->name, c->layer, what, c->m->meta->arch->name);
}

/* The tensor of the slot is [in, out]. */
static berth_status expect(const check *c, decoder_slot slot, int64_t in, int64_t out)
{
	const decoder_weight *w = &c->l->w[slot];
	if (!has(c, slot))
		return missing(c, slot_names[slot]);
	if (w->in == in && w->out == out)
		return BERTH_OK;
	return berth_fail(
		c->err, BERTH_EFORMAT,
		"%s: tensor 'blk.%d.%s.weight' is [%lld, %lld]; expected [%lld, %lld] by the metadata",
		c->m->meta->file->name, c->layer, slot_names[slot], (long long)w->in, (long long)w->out,
		(long long)in, (long long)out);
}

static berth_status check_latent(const check *c)
{
	const decoder_layer *l = c->l;
	int64_t hidden = c->m->hidden, rotated = l->w[DECODER_KV_A].out - l->latent, plain = l->key - rotated;
	if (rotated < 0 || plain < 1 || l->latent < 1)
		return berth_fail(c->err, BERTH_EFORMAT,
		                  "%s: tensor 'blk.%d.attn_kv_a_mqa.weight' makes %lld columns; expected at "
		                  "least attention.kv_lora_rank, %lld, and less than %lld "
		                  "more, the columns of a head",
		                  c->m->meta->file->name, c->layer, (long long)l->w[DECODER_KV_A].out,
		                  (long long)l->latent, (long long)l->key);
	BERTH_TRY(expect(c, DECODER_KV_A, hidden, l->latent + rotated));
	if (has(c, DECODER_Q_A)) {
		BERTH_TRY(expect(c, DECODER_Q_A, hidden, l->w[DECODER_Q_A].out));
		BERTH_TRY(expect(c, DECODER_Q_B, l->w[DECODER_Q_A].out, l->heads * l->key));
	} else {
		BERTH_TRY(expect(c, DECODER_Q, hidden, l->heads * l->key));
	}
	if (!has(c, DECODER_K_B))
		return expect(c, DECODER_KV_B, l->latent, l->heads * (plain + l->value));
	BERTH_TRY(expect(c, DECODER_K_B, plain, l->latent));
	return expect(c, DECODER_V_B, l->latent, l->value);
}

static berth_status check_attention(const check *c)
{
	const decoder_layer *l = c->l;
	int64_t hidden = c->m->hidden, kv = l->kv_heads * (l->key + l->value);
	BERTH_TRY(expect(c, DECODER_O, l->heads * l->value, hidden));
	if (has(c, DECODER_KV_A))
		return check_latent(c);
	if (has(c, DECODER_QKV))
		return expect(c, DECODER_QKV, hidden, l->heads * l->key + kv);
	BERTH_TRY(expect(c, DECODER_Q, hidden, l->heads * l->key));
	BERTH_TRY(expect(c, DECODER_K, hidden, l->kv_heads * l->key));
	return expect(c, DECODER_V, hidden, l->kv_heads * l->value);
}

/* gate and up [hidden, width], down [width, hidden]; up without a gate may have twice the width. */
static berth_status check_gated(const check *c, decoder_slot gate, decoder_slot up, decoder_slot down)
{
	int64_t hidden = c->m->hidden, width = c->l->w[down].in;
	BERTH_TRY(expect(c, down, width, hidden));
	if (has(c, gate))
		BERTH_TRY(expect(c, gate, hidden, width));
	return expect(c, up, hidden, !has(c, gate) && c->l->w[up].out == 2 * width ? 2 * width : width);
}

static berth_status check_mixture(const check *c)
{
	const gguf_loose *loose = c->m->loose[c->layer];
	static const char *const names[] = {"ffn_gate.N", "ffn_up.N", "ffn_down.N"};
	if (!c->m->experts)
		return berth_fail(c->err, BERTH_EFORMAT,
		                  "%s: tensor 'blk.%d.ffn_gate_inp.weight' routes to experts; expected a key "
		                  "'%s.expert_count' above 0",
		                  c->m->meta->file->name, c->layer, c->m->meta->arch->name);
	for (int i = 0; loose && i < 3; i++)
		if (loose->n_seen[i] && loose->n_seen[i] != c->m->experts)
			return berth_fail(
				c->err, BERTH_EFORMAT,
				"%s: %d tensors 'blk.%d.%s.weight'; expected %lld, the number of experts",
				c->m->meta->file->name, loose->n_seen[i], c->layer, names[i],
				(long long)c->m->experts);
	BERTH_TRY(expect(c, DECODER_ROUTER, c->m->hidden, c->m->experts));
	BERTH_TRY(check_gated(c, DECODER_GATE_EXPS, DECODER_UP_EXPS, DECODER_DOWN_EXPS));
	if (has(c, DECODER_SHARED_ROUTER) &&
	    !(c->l->w[DECODER_SHARED_ROUTER].in == c->m->hidden && c->l->w[DECODER_SHARED_ROUTER].out == 1))
		return expect(c, DECODER_SHARED_ROUTER, c->m->hidden, 1);
	return has(c, DECODER_SHARED_UP)
	               ? check_gated(c, DECODER_SHARED_GATE, DECODER_SHARED_UP, DECODER_SHARED_DOWN)
	               : BERTH_OK;
}

static berth_status check_layer(const check *c)
{
	BERTH_TRY(check_attention(c));
	return has(c, DECODER_ROUTER) ? check_mixture(c)
	                              : check_gated(c, DECODER_GATE, DECODER_UP, DECODER_DOWN);
}

static berth_status check_global(const gguf_model *m, berth_err *err)
{
	const char *file = m->meta->file->name;
	if (m->d.embed.bytes <= 0)
		return berth_fail(err, BERTH_EFORMAT, "%s: there is no tensor 'token_embd.weight'", file);
	if (m->d.embed.in != m->hidden)
		return berth_fail(
			err, BERTH_EFORMAT,
			"%s: tensor 'token_embd.weight' has rows of %lld; expected %lld by the metadata",
			file, (long long)m->d.embed.in, (long long)m->hidden);
	if (m->d.output.bytes > 0 && (m->d.output.in != m->hidden || m->d.output.out != m->d.embed.out))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: tensor 'output.weight' is [%lld, %lld]; expected [%lld, %lld] as "
		                  "'token_embd.weight'",
		                  file, (long long)m->d.output.in, (long long)m->d.output.out,
		                  (long long)m->hidden, (long long)m->d.embed.out);
	return BERTH_OK;
}

berth_status gguf_model_check(gguf_model *m, berth_err *err)
{
	BERTH_TRY(check_global(m, err));
	for (int32_t i = 0; i < m->n_layers; i++) {
		check c = {m, i, &m->layer[i], err};
		BERTH_TRY(check_layer(&c));
		/* unless a norm behind the feed-forward network says otherwise */
		m->layer[i].early_post_norm = m->layer[i].w[DECODER_FFN_NORM].bytes <= 0 &&
		                              m->layer[i].w[DECODER_POST_FFN_NORM].bytes <= 0;
	}
	m->d.tied = m->d.output.bytes <= 0;
	m->d.vocabulary = m->d.embed.out;
	return BERTH_OK;
}

/* ---- other types ---- */

static void store(decoder_weight *w, const ggml_type *type, int64_t n)
{
	if (w->bytes > 0)
		w->bytes = ggml_bytes(type, w->in, (double)w->out * (double)n);
}

void gguf_model_store(gguf_model *m, const ggml_type *type)
{
	for (int32_t i = 0; i < m->n_layers; i++)
		for (int slot = 0; slot < DECODER_SLOTS; slot++) {
			shape_kind shape = shape_of((decoder_slot)slot);
			if (shape != SHAPE_NORM && slot != DECODER_ROUTER && slot != DECODER_SHARED_ROUTER)
				store(&m->layer[i].w[slot], type,
				      shape == SHAPE_EXPERTS ? m->experts
				      : shape == SHAPE_HEADS ? m->layer[i].heads
				                             : 1);
		}
	store(&m->d.embed, type, 1);
	store(&m->d.output, type, 1);
}
