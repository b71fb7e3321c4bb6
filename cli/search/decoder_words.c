/* See decoder_words.h. */
#include "decoder_words.h"

#include "file.h"
#include "gguf.h"
#include "load.h"
#include "zoo.h"

#include <string.h>

/* Where ":key=" stands in spec; NULL: nowhere. */
static const char *find_word(const char *spec, const char *key)
{
	size_t n = strlen(key);
	for (const char *at = strchr(spec, ':'); at; at = strchr(at + 1, ':'))
		if (strncmp(at + 1, key, n) == 0 && at[n + 1] == '=')
			return at;
	return NULL;
}

const char *decoder_words_set(const char *spec, const char *key, const char *value, berth_arena *mem)
{
	const char *at = find_word(spec, key);
	if (!at)
		return berth_arena_printf(mem, "%s:%s=%s", spec, key, value);
	return berth_arena_printf(mem, "%.*s%s:%s=%s", (int)(at - spec), spec, at + 1 + strcspn(at + 1, ":"),
	                          key, value);
}

const char *decoder_words_get(const char *spec, const char *key, const char *otherwise, berth_arena *mem)
{
	const char *at = find_word(spec, key);
	if (!at)
		return otherwise;
	at += strlen(key) + 2;
	const char *value = berth_arena_strndup(mem, at, strcspn(at, ":"));
	return value ? value : otherwise;
}

const char *decoder_words_context(const decoder_words *w)
{
	return w->gguf ? "context" : "seq";
}

static bool is_model(const char *spec, const char *name)
{
	size_t n = strlen(name);
	return berth_zoo_is_spec(spec) && strncmp(spec + 4, name, n) == 0 &&
	       (!spec[4 + n] || spec[4 + n] == ':');
}

static berth_status is_gguf(cli *c, const char *spec, bool *is, berth_err *err)
{
	const unsigned char *data;
	size_t size;
	bool there;
	const char *path = berth_graph_path(spec, &c->mem);
	*is = false;
	if (!path)
		return berth_nomem(err);
	if (!berth_graph_is_file(spec) || berth_file_is_stream(path))
		return BERTH_OK;
	BERTH_TRY(berth_file_there(path, &there, err));
	if (!there)
		return BERTH_OK; /* whoever reads it tells, with a hint */
	BERTH_TRY(berth_file_map(path, &data, &size, err));
	*is = data && berth_format_gguf.is((const char *)data, size);
	berth_file_unmap(data, size);
	return BERTH_OK;
}

static berth_status add_word(cli *c, decoder_words *w, const char *key, const char *value, berth_err *err)
{
	if (find_word(w->spec, key))
		return berth_fail(err, BERTH_EINVAL, "%s: '%s' is given twice: as a word and as an option",
		                  w->spec, key);
	w->spec = decoder_words_set(w->spec, key, value, &c->mem);
	return w->spec ? BERTH_OK : berth_nomem(err);
}

static berth_status add_count(cli *c, decoder_words *w, const char *key, int64_t value, berth_err *err)
{
	const char *text = berth_arena_printf(&c->mem, "%lld", (long long)value);
	return text ? add_word(c, w, key, text, err) : berth_nomem(err);
}

static berth_status add_words(cli *c, const decoder_args *a, decoder_words *w, berth_err *err)
{
	for (int32_t i = 0; i < c->dim.n; i++)
		if (!(w->spec = berth_arena_printf(&c->mem, "%s:%s", w->spec, c->dim.text[i])))
			return berth_nomem(err);
	if (a->context)
		BERTH_TRY(add_count(c, w, decoder_words_context(w), a->context, err));
	if (a->batch)
		BERTH_TRY(add_count(c, w, "batch", a->batch, err));
	return a->cache ? add_word(c, w, "cache", a->cache, err) : BERTH_OK;
}

berth_status decoder_words_read(cli *c, const decoder_args *a, const char *spec, decoder_words *out,
                                berth_err *err)
{
	decoder_words w = {.spec = spec};
	BERTH_TRY(is_gguf(c, spec, &w.gguf, err));
	w.moe = is_model(spec, "moe");
	w.is = w.gguf || w.moe || is_model(spec, "llama");
	if (!w.is && (a->context || a->batch || a->cache))
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: --ctx, --batch and --kv-type are for language models: GGUF files, "
		                  "zoo:llama and zoo:moe",
		                  spec);
	if (w.is)
		BERTH_TRY(add_words(c, a, &w, err));
	w.mode = find_word(w.spec, "mode") != NULL;
	w.is &= !c->training && strcmp(decoder_words_get(w.spec, "training", "0", &c->mem), "0") == 0;
	*out = w;
	return BERTH_OK;
}
