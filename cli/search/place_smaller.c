/* See place_smaller.h. */
#include "place_smaller.h"

#include "ggml_types.h"
#include "methods.h"
#include "say.h"

#include <stdio.h>
#include <string.h>

enum { EVALUATIONS = 300 };

typedef struct finder {
	cli *c;
	const place_decoder *x;
	const char *system;
	const cli_granularity *granularity;
	const berth_method *method;
	berth_search_cfg cfg;
	const berth_patience *until;
	place_smaller *out;
} finder;

/* What one change came to. */
typedef struct trial {
	bool fits;
	int64_t weight_bytes;
	int32_t apart;    /* layers on several devices */
	int32_t away_dev; /* where most of those parts are */
	bool experts;     /* some are experts */
} trial;

/* ---- one change, tried ---- */

/* Layers that stand on several devices, and the device that most operators away from their layer's first one
 * are on. */
static berth_status find_apart(const place_decoder *y, const berth_problem *p, const int32_t *op_dev,
                               trial *out, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *first, *away;
	bool *torn;
	BERTH_TRY(BERTH_NEW(mem, first, y->layers.n_blocks, err));
	BERTH_TRY(BERTH_NEW(mem, torn, y->layers.n_blocks, err));
	BERTH_TRY(BERTH_NEW(mem, away, p->n_devs, err));
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k], layer = y->layers.op_block[op], dev = op_dev[op];
		if (!first[layer])
			first[layer] = dev + 1;
		if (first[layer] == dev + 1)
			continue;
		out->apart += !torn[layer];
		torn[layer] = true;
		out->away_dev = ++away[dev] > away[out->away_dev] ? dev : out->away_dev;
		out->experts |= strstr(g->op_name[op], "experts") || strstr(g->op_name[op], "exps");
	}
	return BERTH_OK;
}

static berth_status place_trial(const finder *f, const char *spec, const cli_granularity *granularity,
                                trial *out, berth_err *err)
{
	cli *c = f->c;
	place_decoder y = {.on = true, .words = f->x->words};
	berth_graph decode, g;
	berth_system s;
	berth_problem p;
	berth_bounds bounds;
	berth_solution r;
	y.words.spec = spec;
	BERTH_TRY(place_decoder_load(c, f->system, granularity, &y, &decode, &s, err));
	g = decode;
	out->weight_bytes = berth_graph_param_bytes(&g);
	BERTH_TRY(cli_granularity_apply(c, granularity, &g, err));
	BERTH_TRY(berth_problem_new(&g, &s, &c->mem, &c->tmp, &p, err));
	BERTH_TRY(berth_bounds_new(&p, &c->tmp, &bounds, err));
	BERTH_TRY(berth_solve(&p, &bounds, f->method, &f->cfg, &c->mem, &c->tmp, &r, err));
	if (!r.feasible)
		return BERTH_OK;
	BERTH_TRY(place_decoder_judge(c, &y, &r, err));
	out->fits = y.v.feasible;
	return find_apart(&y, &p, r.op_dev, out, &c->mem, err);
}

/* Silent, and all memory is given back. A spec that is refused, or a search that ends early, fits not. */
static berth_status try_spec(finder *f, const char *spec, const cli_granularity *granularity, trial *out,
                             berth_err *err)
{
	cli *c = f->c;
	cli_texts warned = c->warned;
	bool quiet = c->quiet, strict = c->strict;
	*out = (trial){0};
	f->out->cut_short |= berth_patience_over(f->until);
	if (!spec)
		return berth_nomem(err);
	if (f->out->cut_short)
		return BERTH_OK;
	berth_arena_mark mark = berth_arena_get_mark(&c->mem);
	c->quiet = true;
	c->strict = false;
	berth_status st = place_trial(f, spec, granularity, out, err);
	c->quiet = quiet;
	c->strict = strict;
	c->warned = warned;
	berth_arena_reset(&c->mem, mark);
	if (st != BERTH_OK)
		out->fits = false;
	return st == BERTH_ENOMEM || st == BERTH_EIO ? st : BERTH_OK;
}

static berth_status try_word(finder *f, const char *spec, const char *key, const char *value, trial *out,
                             berth_err *err)
{
	return try_spec(f, decoder_words_set(spec, key, value, &f->c->mem), f->granularity, out, err);
}

static berth_status try_count(finder *f, const char *spec, const char *key, int64_t value, bool *fits,
                              berth_err *err)
{
	trial t;
	char text[32];
	snprintf(text, sizeof text, "%lld", (long long)value);
	BERTH_TRY(try_word(f, spec, key, text, &t, err));
	*fits = t.fits;
	return BERTH_OK;
}

static berth_status add(finder *f, const char *kind, const char *text, berth_err *err)
{
	if (!text)
		return berth_nomem(err);
	if (f->out->n < PLACE_SMALLER_MOST) {
		f->out->item[f->out->n].kind = kind;
		f->out->item[f->out->n++].text = text;
	}
	return BERTH_OK;
}

/* ---- numbers ---- */

/* The largest multiple of step below `now` with which spec fits; 0: none. */
static berth_status largest(finder *f, const char *spec, const char *key, int64_t now, int64_t step,
                            int64_t *out, berth_err *err)
{
	int64_t low = 0, high = (now - 1) / step + 1; /* low fits, or is 0; high does not */
	bool fits;
	*out = 0;
	if (high <= 1)
		return BERTH_OK;
	BERTH_TRY(try_count(f, spec, key, step, &fits, err));
	if (!fits)
		return BERTH_OK;
	for (low = 1; high - low > 1;) {
		int64_t middle = low + (high - low) / 2;
		BERTH_TRY(try_count(f, spec, key, middle * step, &fits, err));
		*(fits ? &low : &high) = middle;
	}
	*out = low * step;
	return BERTH_OK;
}

static int64_t context_step(const place_decoder *x)
{
	return x->context > 2048 ? 256 : x->context > 16 ? x->context / 16 : 1;
}

static berth_status smaller_context(finder *f, berth_err *err)
{
	int64_t tokens;
	BERTH_TRY(largest(f, f->x->words.spec, decoder_words_context(&f->x->words), f->x->context,
	                  context_step(f->x), &tokens, err));
	return tokens ? add(f, "context", berth_arena_printf(&f->c->mem, "--ctx %lld", (long long)tokens),
	                    err)
	              : BERTH_OK;
}

static berth_status smaller_batch(finder *f, berth_err *err)
{
	int64_t batch;
	BERTH_TRY(largest(f, f->x->words.spec, "batch", f->x->batch, 1, &batch, err));
	return batch ? add(f, "batch", berth_arena_printf(&f->c->mem, "--batch %lld", (long long)batch), err)
	             : BERTH_OK;
}

/* ---- types ---- */

static const char *const caches[] = {"f16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"};
static const char *const weights[] = {"f16", "q8_0", "q6_k", "q5_k", "q4_k", "q3_k", "q2_k"};
enum { N_CACHES = sizeof caches / sizeof *caches, N_WEIGHTS = sizeof weights / sizeof *weights };

static double bits(const char *name)
{
	const ggml_type *type = ggml_type_named(name);
	return type ? 8.0 * type->bytes / type->elements : 0;
}

/* Bits of a cached number now. */
static double cache_bits(const finder *f)
{
	const char *spec = f->x->words.spec,
		   *word = decoder_words_get(spec, "cache", f->x->words.gguf ? "f16" : "dtype", &f->c->mem);
	return bits(strcmp(word, "dtype") == 0 ? decoder_words_get(spec, "dtype", "f16", &f->c->mem) : word);
}

/* The smallest first: where that does not fit, none does. */
static berth_status smaller_cache(finder *f, berth_err *err)
{
	trial t;
	double now = cache_bits(f);
	if (bits(caches[N_CACHES - 1]) >= now)
		return BERTH_OK;
	BERTH_TRY(try_word(f, f->x->words.spec, "cache", caches[N_CACHES - 1], &t, err));
	if (!t.fits)
		return BERTH_OK;
	for (int i = 0; i < N_CACHES; i++) {
		if (bits(caches[i]) >= now)
			continue;
		BERTH_TRY(try_word(f, f->x->words.spec, "cache", caches[i], &t, err));
		if (t.fits)
			return add(f, "cache", berth_arena_printf(&f->c->mem, "--kv-type %s", caches[i]),
			           err);
	}
	return BERTH_OK;
}

/* The largest type that makes the model fit spec; NULL: none. */
static berth_status smaller_weights(finder *f, const char *spec, const char **out, berth_err *err)
{
	trial t;
	int64_t now = berth_graph_param_bytes(&f->x->whole);
	*out = NULL;
	BERTH_TRY(try_word(f, spec, "weights", weights[N_WEIGHTS - 1], &t, err));
	if (!t.fits || t.weight_bytes >= now)
		return BERTH_OK;
	for (int i = 0; i < N_WEIGHTS && !*out; i++) {
		BERTH_TRY(try_word(f, spec, "weights", weights[i], &t, err));
		if (t.fits && t.weight_bytes < now)
			*out = weights[i];
	}
	return BERTH_OK;
}

static berth_status smaller_weights_alone(finder *f, berth_err *err)
{
	const char *type;
	BERTH_TRY(smaller_weights(f, f->x->words.spec, &type, err));
	return type ? add(f, "weights", berth_arena_printf(&f->c->mem, "weights=%s", type), err) : BERTH_OK;
}

/* ---- parts of layers ---- */

static berth_status parts_apart(finder *f, berth_err *err)
{
	trial t;
	cli_granularity finer = *f->granularity;
	finer.name = berth_grain_name(BERTH_GRAIN_BLOCK);
	if (!f->granularity->name || strcmp(f->granularity->name, berth_grain_name(BERTH_GRAIN_LAYER)) != 0)
		return BERTH_OK;
	BERTH_TRY(try_spec(f, f->x->words.spec, &finer, &t, err));
	if (!t.fits)
		return BERTH_OK;
	return add(f, "granularity",
	           berth_arena_printf(&f->c->mem, "--granularity block, with %s of %d layer%s on %s",
	                              t.experts ? "experts" : "parts", t.apart, t.apart == 1 ? "" : "s",
	                              f->x->s.dev_name[t.away_dev]),
	           err);
}

/* ---- several at once ---- */

static berth_status together(finder *f, berth_err *err)
{
	const char *type = NULL, *spec = NULL;
	int64_t tokens;
	for (int i = 1; i < N_CACHES && !type; i++) {
		if (bits(caches[i]) >= cache_bits(f))
			continue;
		if (!(spec = decoder_words_set(f->x->words.spec, "cache", caches[i], &f->c->mem)))
			return berth_nomem(err);
		BERTH_TRY(smaller_weights(f, spec, &type, err));
		if (type)
			return add(f, "together",
			           berth_arena_printf(&f->c->mem, "weights=%s and --kv-type %s", type,
			                              caches[i]),
			           err);
	}
	for (int i = 0; i < N_WEIGHTS; i++) {
		spec = decoder_words_set(f->x->words.spec, "weights", weights[i], &f->c->mem);
		if (!spec)
			return berth_nomem(err);
		BERTH_TRY(largest(f, spec, decoder_words_context(&f->x->words), f->x->context,
		                  context_step(f->x), &tokens, err));
		if (tokens)
			return add(f, "together",
			           berth_arena_printf(&f->c->mem, "weights=%s and --ctx %lld", weights[i],
			                              (long long)tokens),
			           err);
	}
	return BERTH_OK;
}

/* ---- all of it ---- */

berth_status place_smaller_find(cli *c, const place_decoder *x, const char *system,
                                const cli_granularity *granularity, const berth_search_cfg *cfg,
                                const berth_patience *until, place_smaller *out, berth_err *err)
{
	finder f = {.c = c,
	            .x = x,
	            .system = system,
	            .granularity = granularity,
	            .cfg = {.objective = cfg->objective, .seed = cfg->seed, .evaluations = EVALUATIONS},
	            .until = until,
	            .out = out};
	BERTH_TRY(berth_method_find("anneal", &f.method, err));
	*out = (place_smaller){0};
	BERTH_TRY(smaller_context(&f, err));
	BERTH_TRY(smaller_cache(&f, err));
	BERTH_TRY(smaller_weights_alone(&f, err));
	BERTH_TRY(smaller_batch(&f, err));
	BERTH_TRY(parts_apart(&f, err));
	return out->n ? BERTH_OK : together(&f, err);
}

void place_smaller_print(const place_smaller *s)
{
	if (s->n)
		cli_say("the model would fit with%s\n", s->n > 1 ? " any one of" : "");
	for (int32_t i = 0; i < s->n; i++)
		cli_say("  %s\n", s->item[i].text);
	if (s->cut_short)
		cli_say("smaller models were not all tried: the time was over\n");
}

void place_smaller_put(berth_json_out *w, const place_smaller *s)
{
	berth_json_open(w, "smaller", '[');
	for (int32_t i = 0; i < s->n; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "kind", s->item[i].kind);
		berth_json_put_string(w, "text", s->item[i].text);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}
