/* Which models are decoders, and the words of --dim, --ctx, --batch and --kv-type as words of a spec. */
#include "decoder_words.h"

#include "decoder_uses.h"
#include "file.h"
#include "gguf.h"
#include "load.h"
#include "zoo.h"

#include <string.h>

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
	if (berth_spec_has(w->spec, key))
		return berth_fail(err, BERTH_EINVAL, "%s: '%s' is given twice: as a word and as an option",
		                  w->spec, key);
	w->spec = berth_spec_set(w->spec, key, value, &c->mem);
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
		BERTH_TRY(add_count(c, w, berth_decoder_context_word(w->gguf), a->context, err));
	if (a->batch)
		BERTH_TRY(add_count(c, w, "batch", a->batch, err));
	return a->cache ? add_word(c, w, "cache", a->cache, err) : BERTH_OK;
}

berth_status decoder_words_read(cli *c, const decoder_args *a, const char *spec, decoder_words *out,
                                berth_err *err)
{
	decoder_words w = {.spec = spec};
	BERTH_TRY(is_gguf(c, spec, &w.gguf, err));
	w.is = w.gguf || is_model(spec, "moe") || is_model(spec, "llama");
	if (!w.is && (a->context || a->batch || a->cache))
		return berth_fail(err, BERTH_EINVAL,
		                  "%s: --ctx, --batch and --kv-type are for language models: GGUF files, "
		                  "zoo:llama and zoo:moe",
		                  spec);
	if (w.is)
		BERTH_TRY(add_words(c, a, &w, err));
	w.mode = berth_spec_has(w.spec, "mode");
	w.is &= !c->training && strcmp(berth_spec_get(w.spec, "training", "0", &c->mem), "0") == 0;
	*out = w;
	return BERTH_OK;
}
