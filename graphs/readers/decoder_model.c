/* Tensors put to their use in the layers of a decoder, by the names that a style gives them. Their shapes are
 * checked against the sizes that the model states. */
#include "decoder_model.h"

#define DECODER_STEP(step, name) name,
const char *const decoder_step_names[DECODER_STEPS] = {DECODER_STEP_LIST(DECODER_STEP)};

#define DECODER_SLOT(slot, name, shape) DECODER_##shape,
static const decoder_shape slot_shape[DECODER_SLOTS] = {DECODER_SLOT_LIST(DECODER_SLOT)};

bool text_span_is(text_span s, const char *text)
{
	return strlen(text) == s.n && memcmp(s.text, text, s.n) == 0;
}

int text_span_shown(text_span s)
{
	return s.n < 80 ? (int)s.n : 80;
}

/* ---- names ---- */

/* The number at the front of s, at most 9 digits, and what is behind it; false: there is none, or one with a
 * zero in front, which would be another number once more. */
static bool take_index(text_span *s, int64_t *out)
{
	size_t n = 0;
	*out = 0;
	while (n < s->n && n < 10 && s->text[n] >= '0' && s->text[n] <= '9')
		*out = *out * 10 + (s->text[n++] - '0');
	if (n == 0 || n == 10 || (n > 1 && *s->text == '0'))
		return false;
	s->text += n;
	s->n -= n;
	return true;
}

static bool take_word(text_span *s, const char *word)
{
	size_t n = strlen(word);
	if (s->n < n || memcmp(s->text, word, n) != 0)
		return false;
	s->text += n;
	s->n -= n;
	return true;
}

/* NAME.weight or NAME.bias? name NULL: of nothing. */
static bool is_part(text_span s, const char *name, bool *bias)
{
	if (!name || !take_word(&s, name))
		return false;
	*bias = text_span_is(s, ".bias");
	return *bias || text_span_is(s, ".weight");
}

/* ---- tensors ---- */

static berth_status wrong(const decoder_tensor *t, const char *what, berth_err *err)
{
	return berth_fail(err, BERTH_EFORMAT, "tensor '%.*s' %s", text_span_shown(t->name), t->name.text,
	                  what);
}

static berth_status wrong_shape(const decoder_tensor *t, const char *expected, berth_err *err)
{
	return berth_fail(err, BERTH_EFORMAT, "tensor '%.*s' is [%lld, %lld, %lld, %lld]; expected %s",
	                  text_span_shown(t->name), t->name.text, (long long)t->dim[0],
	                  (long long)t->dim[1], (long long)t->dim[2], (long long)t->dim[3], expected);
}

/* A matrix, norm or bias into its place. */
static berth_status put(const decoder_tensor *t, bool bias, decoder_weight *w, berth_err *err)
{
	if ((bias ? w->bias_bytes : w->bytes) > 0)
		return wrong(t, "stands twice", err);
	if (bias) {
		w->bias_bytes = (double)t->bytes;
		return BERTH_OK;
	}
	*w = (decoder_weight){t->dim[0], t->dim[1], (double)t->bytes, w->bias_bytes, t->dtype};
	return BERTH_OK;
}

/* Bytes that some operator holds, with a warning, once for each name. Small tensors whose use costs next to
 * nothing are no matter of one. */
static berth_status put_other(decoder_model *m, const decoder_tensor *t, text_span name, double *bytes,
                              berth_err *err)
{
	static const char *const quiet[] = {
		"rope_freqs.weight",    "rope_factors_long.weight", "rope_factors_short.weight",
		"attn_rot_embd.weight", "attn_sinks.weight",        "exp_probs_b.bias",
		"position_embd.weight",
		"exp_probs_b"};
	*bytes += (double)t->bytes;
	for (size_t i = 0; i < sizeof quiet / sizeof *quiet; i++)
		if (text_span_is(name, quiet[i]))
			return BERTH_OK;
	if (!berth_text_is_utf8(name.text, name.n))
		name = (text_span){"(no UTF-8)", 10};
	berth_arena_mark mark = berth_arena_get_mark(m->tmp);
	const char *text = berth_arena_printf(
		m->tmp, "no use is known for tensors '%.*s'; their bytes count, their work does not",
		text_span_shown(name), name.text);
	BERTH_TRY(berth_got(text, err));
	bool kept = m->n_warnings < DECODER_MAX_WARNINGS;
	for (int32_t i = 0; i < m->n_warnings; i++)
		kept = kept && strcmp(m->warning[i], text) != 0;
	if (kept)
		m->warning[m->n_warnings++] = text;
	else
		berth_arena_reset(m->tmp, mark);
	return BERTH_OK;
}

/* One matrix of expert e. */
static berth_status put_loose(decoder_model *m, const decoder_tensor *t, int32_t layer, int which, int64_t e,
                              berth_err *err)
{
	decoder_weight *w = &m->layer[layer].w[DECODER_GATE_EXPS + which];
	if (e >= m->experts)
		return berth_fail(
			err, BERTH_EFORMAT,
			"tensor '%.*s' is one of expert %lld; expected fewer than %lld, the number of "
			"experts",
			text_span_shown(t->name), t->name.text, (long long)e, (long long)m->experts);
	if (!m->loose[layer])
		BERTH_TRY_NEW(m->tmp, 1, err, m->loose[layer]);
	decoder_loose *loose = m->loose[layer];
	uint64_t bit = (uint64_t)1 << (e % 64);
	if ((loose->seen[which][e / 64] & bit) || (w->bytes > 0 && !loose->n_seen[which]))
		return wrong(t, "stands twice", err);
	if (loose->n_seen[which] && (t->dim[0] != w->in || t->dim[1] != w->out))
		return wrong_shape(t, "the shape of the other experts", err);
	loose->seen[which][e / 64] |= bit;
	loose->n_seen[which]++;
	w->in = t->dim[0];
	w->out = t->dim[1];
	w->bytes += (double)t->bytes;
	w->dtype = t->dtype;
	return BERTH_OK;
}

static berth_status put_in_layer(decoder_model *m, const decoder_tensor *t, int32_t layer, text_span name,
                                 berth_err *err)
{
	decoder_layer *l = &m->layer[layer];
	bool bias;
	for (int slot = 0; slot < DECODER_SLOTS; slot++)
		if (is_part(name, m->style->names.slot[slot], &bias)) {
			if (!bias && slot_shape[slot] == DECODER_EXPERTS && t->dim[2] != m->experts)
				return wrong_shape(t, "as many matrices as there are experts", err);
			if (!bias && slot_shape[slot] == DECODER_HEADS && t->dim[2] != l->heads)
				return wrong_shape(t, "as many matrices as there are heads", err);
			return put(t, bias, &l->w[slot], err);
		}
	for (int which = 0; which < 3; which++) {
		text_span rest = name;
		int64_t e;
		if (m->style->expert[which].before && take_word(&rest, m->style->expert[which].before) &&
		    take_index(&rest, &e) && text_span_is(rest, m->style->expert[which].after))
			return put_loose(m, t, layer, which, e, err);
	}
	return put_other(m, t, name, &l->other_bytes, err);
}

static berth_status put_global(decoder_model *m, const decoder_tensor *t, berth_err *err)
{
	const decoder_names *n = &m->style->names;
	struct { const char *name; decoder_weight *w; } place[] = {{n->embed, &m->d.embed},
	                                                           {n->embed_norm, &m->d.embed_norm},
	                                                           {n->output_norm, &m->d.output_norm},
	                                                           {n->output, &m->d.output}};
	bool bias;
	for (size_t i = 0; i < sizeof place / sizeof *place; i++)
		if (is_part(t->name, place[i].name, &bias))
			return put(t, bias, place[i].w, err);
	if (!is_part(t->name, m->style->position, &bias))
		return put_other(m, t, t->name, &m->d.other_bytes, err);
	m->d.other_bytes += (double)t->bytes;
	return BERTH_OK;
}

berth_status decoder_model_add(decoder_model *m, const decoder_tensor *t, berth_err *err)
{
	text_span name = t->name;
	int64_t layer;
	m->n_tensors++;
	m->tensor_bytes += t->bytes;
	if (m->tensor_bytes > (int64_t)1 << 53)
		return berth_fail(err, BERTH_EFORMAT, "all tensors together have more than 2^53 bytes");
	if (!take_word(&name, m->style->names.layer) || !take_word(&name, ".") ||
	    !take_index(&name, &layer) || !take_word(&name, "."))
		return put_global(m, t, err);
	if (layer >= m->n_all)
		return berth_fail(
			err, BERTH_EFORMAT,
			"tensor '%.*s' is one of layer %lld; expected fewer than %d, the number of layers",
			text_span_shown(t->name), t->name.text, (long long)layer, m->n_all);
	if (layer < m->n_layers)
		return put_in_layer(m, t, (int32_t)layer, name, err);
	m->n_skipped++;
	m->skipped_bytes += t->bytes;
	return BERTH_OK;
}

/* ---- checks ---- */

typedef struct check {
	const decoder_model *m;
	int32_t layer;
	const decoder_layer *l;
	berth_err *err;
} check;

static bool has(const check *c, decoder_slot slot)
{
	return c->l->w[slot].bytes > 0;
}

/* The tensor of the slot is [in, out]. */
static berth_status expect(const check *c, decoder_slot slot, int64_t in, int64_t out)
{
	const decoder_weight *w = &c->l->w[slot];
	const decoder_names *n = &c->m->style->names;
	const char *name = n->slot[slot] ? n->slot[slot] : "(one for attention or experts)";
	if (!has(c, slot))
		return berth_fail(c->err, BERTH_EFORMAT,
		                  "%s: there is no tensor '%s.%d.%s.weight', which architecture %s needs",
		                  c->m->file, n->layer, c->layer, name, c->m->arch->name);
	if (w->in == in && w->out == out)
		return BERTH_OK;
	return berth_fail(
		c->err, BERTH_EFORMAT,
		"%s: tensor '%s.%d.%s.weight' is [%lld, %lld]; expected [%lld, %lld] by the metadata",
		c->m->file, n->layer, c->layer, name, (long long)w->in, (long long)w->out, (long long)in,
		(long long)out);
}

static berth_status check_latent(const check *c)
{
	const decoder_layer *l = c->l;
	const decoder_names *n = &c->m->style->names;
	int64_t hidden = c->m->hidden, rotated = l->w[DECODER_KV_A].out - l->latent, plain = l->key - rotated;
	if (rotated < 0 || plain < 1 || l->latent < 1)
		return berth_fail(c->err, BERTH_EFORMAT,
		                  "%s: tensor '%s.%d.%s.weight' makes %lld columns; expected at "
		                  "least attention.kv_lora_rank, %lld, and less than %lld "
		                  "more, the columns of a head",
		                  c->m->file, n->layer, c->layer, n->slot[DECODER_KV_A],
		                  (long long)l->w[DECODER_KV_A].out, (long long)l->latent, (long long)l->key);
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
	if (!l->heads)
		return BERTH_OK;
	if (!l->kv_heads)
		return expect(c, DECODER_O, hidden, hidden);
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
	BERTH_TRY(expect(c, DECODER_ROUTER, c->m->hidden, c->m->experts));
	BERTH_TRY(check_gated(c, DECODER_GATE_EXPS, DECODER_UP_EXPS, DECODER_DOWN_EXPS));
	if (has(c, DECODER_SHARED_ROUTER))
		BERTH_TRY(expect(c, DECODER_SHARED_ROUTER, c->m->hidden, 1));
	return has(c, DECODER_SHARED_UP)
	               ? check_gated(c, DECODER_SHARED_GATE, DECODER_SHARED_UP, DECODER_SHARED_DOWN)
	               : BERTH_OK;
}

berth_status decoder_model_check(decoder_model *m, berth_err *err)
{
	const decoder_names *n = &m->style->names;
	if (m->d.embed.bytes <= 0)
		return berth_fail(err, BERTH_EFORMAT, "%s: there is no tensor '%s.weight'", m->file,
		                  n->embed);
	if (m->d.embed.in != m->hidden)
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: tensor '%s.weight' has rows of %lld; expected %lld by the metadata",
		                  m->file, n->embed, (long long)m->d.embed.in, (long long)m->hidden);
	if (m->d.output.bytes > 0 && (m->d.output.in != m->hidden || m->d.output.out != m->d.embed.out))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%s: tensor '%s.weight' is [%lld, %lld]; expected [%lld, %lld] as "
		                  "'%s.weight'",
		                  m->file, n->output, (long long)m->d.output.in, (long long)m->d.output.out,
		                  (long long)m->hidden, (long long)m->d.embed.out, n->embed);
	for (int32_t i = 0; i < m->n_layers; i++) {
		check c = {m, i, &m->layer[i], err};
		BERTH_TRY(check_attention(&c));
		if (!c.l->without_ffn)
			BERTH_TRY(has(&c, DECODER_ROUTER)
			                  ? check_mixture(&c)
			                  : check_gated(&c, DECODER_GATE, DECODER_UP, DECODER_DOWN));
		/* unless a norm behind the feed-forward network says otherwise */
		m->layer[i].early_post_norm = !has(&c, DECODER_FFN_NORM) && !has(&c, DECODER_POST_FFN_NORM);
	}
	m->d.tied = m->d.output.bytes <= 0;
	m->d.vocabulary = m->d.embed.out;
	return BERTH_OK;
}

/* ---- other types ---- */

static void store(decoder_weight *w, const ggml_type *type, int64_t n)
{
	if (w->bytes <= 0)
		return;
	w->bytes = ggml_bytes(type, w->in, (double)w->out * (double)n);
	w->dtype = ggml_precision(type);
}

void decoder_model_store(decoder_model *m, const ggml_type *type)
{
	for (int32_t i = 0; i < m->n_layers; i++)
		for (int slot = 0; slot < DECODER_SLOTS; slot++)
			if (slot_shape[slot] != DECODER_NORM && slot != DECODER_ROUTER &&
			    slot != DECODER_SHARED_ROUTER)
				store(&m->layer[i].w[slot], type,
				      slot_shape[slot] == DECODER_EXPERTS ? m->experts
				      : slot_shape[slot] == DECODER_HEADS ? m->layer[i].heads
				                                        : 1);
	store(&m->d.embed, type, 1);
	store(&m->d.output, type, 1);
}

/* ---- the graph ---- */

int64_t decoder_model_context(const decoder_model *m, const berth_gguf_options *opt)
{
	enum { USUAL = 4096 };
	return opt->context ? opt->context : m->context >= 1 && m->context < USUAL ? m->context : USUAL;
}

static berth_status fill_report(const decoder_model *m, const berth_gguf_options *opt, berth_arena *mem,
                                berth_read_report *out, berth_err *err)
{
	char bytes[32];
	*out = (berth_read_report){.n_dims = 2};
	BERTH_TRY_NEW(mem, out->n_dims, err, out->dim_name, out->dim_value);
	BERTH_TRY_NEW(mem, m->n_warnings + 2, err, out->warning);
	out->dim_name[0] = "batch";
	out->dim_value[0] = opt->batch;
	out->dim_name[1] = "context";
	out->dim_value[1] = m->d.seq;
	if (m->n_skipped &&
	    !(out->warning[out->n_warnings++] = berth_arena_printf(
		      mem,
		      "%lld tensors (%s) of %d layers that predict further tokens are left out: these layers "
		      "do not run",
		      (long long)m->n_skipped, berth_text_bytes(bytes, (double)m->skipped_bytes),
		      m->n_all - m->n_layers)))
		return berth_nomem(err);
	if (m->context >= 1 && m->d.seq > m->context &&
	    !(out->warning[out->n_warnings++] = berth_arena_printf(
		      mem, "a context of %lld tokens: the model was made for %lld", (long long)m->d.seq,
		      (long long)m->context)))
		return berth_nomem(err);
	for (int32_t i = 0; i < m->n_warnings; i++)
		BERTH_TRY(berth_got(out->warning[out->n_warnings++] = berth_arena_strdup(mem, m->warning[i]),
		                    err));
	return BERTH_OK;
}

berth_status decoder_model_graph(decoder_model *m, const berth_gguf_options *opt, const char *path,
                                 text_span stem, int64_t elem_bytes, berth_arena *mem, berth_graph *out,
                                 berth_read_report *report, berth_err *err)
{
	const char *name = berth_arena_printf(m->tmp, "%.*s%s", (int)stem.n, stem.text, opt->suffix);
	zoo_net net = {.tmp = m->tmp,
	               .err = err,
	               .batch = opt->batch,
	               .elem_bytes = elem_bytes,
	               .dtype = m->dtype};
	berth_graph g;
	BERTH_TRY(berth_got(name, err));
	BERTH_TRY(berth_builder_new(m->tmp, name, &net.builder, err));
	const ggml_type *cache = ggml_type_named(opt->cache);
	decoder *d = &m->d;
	d->names = &m->style->names;
	d->seq = decoder_model_context(m, opt);
	d->rows = opt->decode ? 1 : opt->chunk && opt->chunk < d->seq ? opt->chunk : d->seq;
	d->experts = m->experts;
	d->top = m->top;
	d->each_expert = opt->each_expert;
	d->gelu = m->arch->gelu;
	d->key_bytes = d->value_bytes = (double)cache->bytes / cache->elements;
	d->n_layers = m->n_layers;
	d->layer = m->layer;
	decoder_build(&net, &m->d);
	berth_status st = net.status;
	if (st == BERTH_OK)
		st = berth_builder_finish(net.builder, mem, &g, err);
	if (st == BERTH_EINVAL && !*opt->suffix) /* sizes that a graph cannot hold come from the files */
		st = BERTH_EFORMAT;
	if (st == BERTH_EINVAL || st == BERTH_EFORMAT)
		return berth_fail_in(err, st, "%s: ", path);
	BERTH_TRY(st);
	if (report)
		BERTH_TRY(fill_report(m, opt, mem, report, err));
	*out = g;
	return BERTH_OK;
}
