/* The tensors of a GGUF model; see gguf_list.h. */
#include "gguf_list.h"

#include "ggml_types.h"
#include "gguf_model.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/* Names that a person and a command line can hold. */
static bool is_name(gguf_span s)
{
	for (size_t i = 0; i < s.n; i++)
		if ((unsigned char)s.text[i] < ' ' || s.text[i] == 0x7f)
			return false;
	return berth_text_is_utf8(s.text, s.n);
}

static berth_status list_part(gguf_file *f, gguf_model *m, berth_arena *mem, berth_gguf_list *out,
                              size_t *cap_name, size_t *cap_bytes, berth_err *err)
{
	gguf_tensor t;
	for (uint64_t i = 0; i < f->n_tensors; i++) {
		BERTH_TRY(gguf_next_tensor(f, &t, err));
		BERTH_TRY(gguf_model_add(m, f, &t, err));
		if (!is_name(t.name))
			return gguf_fail(f, t.at, err, "the name of a tensor is no text");
		BERTH_TRY(BERTH_GROW(mem, out->name, out->n_tensors, cap_name, err));
		BERTH_TRY(BERTH_GROW(mem, out->bytes, out->n_tensors, cap_bytes, err));
		if (!(out->name[out->n_tensors] = berth_arena_strndup(mem, t.name.text, t.name.n)))
			return berth_nomem(err);
		out->bytes[out->n_tensors++] = t.bytes;
	}
	return BERTH_OK;
}

static berth_status list_parts(const berth_content *model, gguf_model *m, berth_arena *mem,
                               berth_gguf_list *out, berth_err *err)
{
	size_t cap_name = 0, cap_bytes = 0;
	for (int32_t i = 0; i <= model->n_parts; i++) {
		const berth_content *c = i ? &model->part[i - 1] : model;
		gguf_file f = {.name = c->name, .data = (const unsigned char *)c->data, .size = c->size};
		gguf_key key;
		BERTH_TRY(gguf_open(&f, err));
		for (uint64_t k = 0; k < f.n_keys; k++)
			BERTH_TRY(gguf_next_key(&f, &key, err));
		BERTH_TRY(list_part(&f, m, mem, out, &cap_name, &cap_bytes, err));
	}
	return BERTH_OK;
}

static berth_gguf_layer sizes_of(const decoder_layer *l)
{
	bool one_row = l->latent && l->w[DECODER_K_B].bytes > 0;
	return (berth_gguf_layer){
		.q = l->heads * l->key,
		.k = one_row ? l->w[DECODER_KV_A].out : l->kv_heads * l->key,
		.v = one_row ? 0 : l->kv_heads * l->value,
		.o = l->heads * l->value,
		.ffn = l->w[DECODER_ROUTER].bytes > 0 ? l->w[DECODER_DOWN_EXPS].in : l->w[DECODER_DOWN].in,
		.shared = l->w[DECODER_SHARED_DOWN].in,
		.window = l->window,
		.experts = l->w[DECODER_ROUTER].bytes > 0,
		.latent = l->latent > 0,
	};
}

static berth_status list_layers(const gguf_model *m, berth_arena *mem, berth_gguf_list *out, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(mem, out->layer, m->n_layers, err));
	for (int32_t i = 0; i < m->n_layers; i++)
		out->layer[i] = sizes_of(&m->layer[i]);
	return BERTH_OK;
}

static berth_status list(const berth_content *model, const berth_read_options *opt, berth_arena *mem,
                         berth_arena *tmp, berth_gguf_list *out, berth_err *err)
{
	gguf_file first = {
		.name = model->name, .data = (const unsigned char *)model->data, .size = model->size};
	gguf_meta meta;
	gguf_model m;
	BERTH_TRY(berth_gguf_options_read(model->name, opt ? opt->dim : NULL, opt ? opt->n_dims : 0, mem,
	                                  &out->opt, err));
	BERTH_TRY(gguf_open(&first, err));
	BERTH_TRY(gguf_read_meta(&first, &meta, err));
	BERTH_TRY(gguf_model_new(&meta, tmp, &m, err));
	BERTH_TRY(list_parts(model, &m, mem, out, err));
	BERTH_TRY(gguf_model_check(&m, err));
	BERTH_TRY(gguf_choose_context(&m, &out->opt, &out->context, err));
	out->n_layers = m.n_layers;
	out->n_all_layers = m.n_all;
	out->hidden = m.hidden;
	out->vocabulary = m.d.vocabulary;
	out->experts = m.experts;
	out->top = m.top;
	const ggml_type *cache = ggml_type_named(out->opt.cache);
	out->cache_bytes = (double)cache->bytes / cache->elements;
	return list_layers(&m, mem, out, err);
}

berth_status berth_gguf_list_tensors(const berth_content *model, const berth_read_options *opt,
                                     berth_arena *mem, berth_arena *tmp, berth_gguf_list *out, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	*out = (berth_gguf_list){0};
	berth_status st = list(model, opt, mem, tmp, out, err);
	berth_arena_reset(tmp, mark);
	return st;
}

int32_t berth_gguf_layer_of(const char *name, const char **rest)
{
	static const char before[] = "blk.";
	size_t n = sizeof before - 1,
	       digits = strncmp(name, before, n) == 0 ? strspn(name + n, "0123456789") : 0;
	*rest = name;
	if (digits == 0 || digits > 9 || name[n + digits] != '.')
		return -1;
	*rest = name + n + digits + 1;
	return (int32_t)strtol(name + n, NULL, 10);
}
