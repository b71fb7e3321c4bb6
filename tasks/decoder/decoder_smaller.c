/* A language model that does not fit is tried with one thing made smaller after the other: tokens, the type
 * of the cache, that of the weights, sequences, parts of layers apart. What a short search places is told. */
#include "decoder_smaller.h"

#include "exporters.h"
#include "ggml_types.h"

enum { EVALUATIONS = 300 };

typedef struct finder {
	const berth_decoder_cfg *how;
	const berth_decoder *x;
	const berth_method *method;
	berth_search_cfg cfg;
	const berth_patience *until;
	berth_smaller *out;
	berth_arena *mem, *tmp;
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
static berth_status find_apart(const berth_decoder *y, const berth_problem *p, const int32_t *op_dev,
                               trial *out, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *first, *away;
	bool *torn;
	BERTH_TRY_NEW(mem, y->layers.n_blocks, err, first, torn);
	BERTH_TRY_NEW(mem, p->n_devs, err, away);
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

/* Where the engine has a method of its own, that tells, with memory as the engine takes it. *told false: it
 * cannot be asked of this. */
static berth_status ask_engine(const finder *f, const char *spec, const berth_problem *p, bool *told,
                               bool *fits, berth_err *err)
{
	const berth_exporter *e = p->s->engine ? berth_exporter_for(p->s->engine) : NULL;
	berth_read_options words;
	BERTH_MODEL(model);
	berth_err own = {0};
	int32_t *op_dev;
	double bound;
	*told = false;
	if (!e || !e->best || !f->x->gguf)
		return BERTH_OK;
	BERTH_TRY_NEW(f->mem, p->n_ops, err, op_dev);
	BERTH_TRY(berth_model_map(spec, NULL, f->mem, &model, &words, err));
	const berth_export_source x = {.g = p->g,
	                               .s = p->s,
	                               .p = p,
	                               .model = &model,
	                               .read = &words,
	                               .sandbox = f->how->sandbox};
	berth_status st = berth_export_best(e, &x, f->tmp, op_dev, &bound, &own);
	*told = st == BERTH_OK || st == BERTH_EINFEASIBLE;
	*fits = st == BERTH_OK;
	return st == BERTH_ENOMEM || st == BERTH_EIO ? berth_fail(err, st, "%s", own.msg) : BERTH_OK;
}

static berth_status place_trial(const finder *f, const char *spec, const char *granularity, trial *out,
                                berth_err *err)
{
	berth_decoder_cfg how = *f->how;
	berth_decoder y = {.spec = spec, .gguf = f->x->gguf};
	berth_graph decode, g;
	berth_system s;
	berth_problem p;
	berth_bounds bounds;
	berth_solution r;
	bool told;
	how.granularity = granularity;
	BERTH_TRY(berth_decoder_load(&how, &y, &decode, &s, f->mem, f->tmp, err));
	out->weight_bytes = berth_graph_param_bytes(&decode);
	BERTH_TRY(berth_decoder_lay_granularity(&how, &decode, f->mem, f->tmp, &g, err));
	BERTH_TRY(berth_problem_new(&g, &s, f->mem, f->tmp, &p, err));
	BERTH_TRY(ask_engine(f, spec, &p, &told, &out->fits, err));
	if (told)
		return BERTH_OK;
	BERTH_TRY(berth_bounds_new(&p, f->tmp, &bounds, err));
	BERTH_TRY(berth_solve(&p, &bounds, f->method, &f->cfg, f->mem, f->tmp, &r, err));
	if (!r.feasible)
		return BERTH_OK;
	BERTH_TRY(berth_decoder_judge(&y, &r, f->mem, err));
	out->fits = y.v.feasible;
	return find_apart(&y, &p, r.op_dev, out, f->mem, err);
}

/* All memory is given back. A spec that is refused, or a search that ends early, fits not. */
static berth_status try_spec(const finder *f, const char *spec, const char *granularity, trial *out,
                             berth_err *err)
{
	*out = (trial){0};
	f->out->cut_short |= berth_patience_over(f->until);
	BERTH_TRY(berth_got(spec, err));
	if (f->out->cut_short)
		return BERTH_OK;
	BERTH_SCRATCH(f->mem);
	berth_status st = place_trial(f, spec, granularity, out, err);
	if (st != BERTH_OK)
		out->fits = false;
	return st == BERTH_ENOMEM || st == BERTH_EIO ? st : BERTH_OK;
}

static berth_status try_word(const finder *f, const char *spec, const char *key, const char *value,
                             trial *out, berth_err *err)
{
	return try_spec(f, berth_spec_set(spec, key, value, f->mem), f->how->granularity, out, err);
}

static berth_status try_count(const finder *f, const char *spec, const char *key, int64_t value, bool *fits,
                              berth_err *err)
{
	trial t;
	char text[32];
	snprintf(text, sizeof text, "%lld", (long long)value);
	BERTH_TRY(try_word(f, spec, key, text, &t, err));
	*fits = t.fits;
	return BERTH_OK;
}

static void add_change(const finder *f, berth_smaller_change change)
{
	if (f->out->n < BERTH_MOST_SMALLER)
		f->out->item[f->out->n++] = change;
}

/* ---- numbers ---- */

/* The largest multiple of step below `now` with which spec fits; 0: none. */
static berth_status largest_count(const finder *f, const char *spec, const char *key, int64_t now,
                                  int64_t step, int64_t *out, berth_err *err)
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

/* The most tokens below the model's with which spec fits; 0: none. */
static berth_status largest_context(const finder *f, const char *spec, int64_t *tokens, berth_err *err)
{
	int64_t now = f->x->context, step = now > 2048 ? 256 : now > 16 ? now / 16 : 1;
	return largest_count(f, spec, berth_decoder_context_word(f->x->gguf), now, step, tokens, err);
}

static berth_status smaller_batch(const finder *f, berth_err *err)
{
	berth_smaller_change change = {.kind = "batch"};
	BERTH_TRY(largest_count(f, f->x->spec, "batch", f->x->batch, 1, &change.batch, err));
	if (change.batch)
		add_change(f, change);
	return BERTH_OK;
}

/* ---- types ---- */

static const char *const caches[] = {"f16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0"};
static const char *const weights[] = {"f16", "q8_0", "q6_k", "q5_k", "q4_k", "q3_k", "q2_k"};
enum { N_CACHES = sizeof caches / sizeof *caches, N_WEIGHTS = sizeof weights / sizeof *weights };

static double bits_of(const char *name)
{
	const ggml_type *type = ggml_type_named(name);
	return type ? 8.0 * type->bytes / type->elements : 0;
}

/* Bits of a cached number now. */
static double cache_bits(const finder *f)
{
	const char *spec = f->x->spec,
		   *word = berth_spec_get(spec, "cache", f->x->gguf ? "f16" : "dtype", f->mem);
	return bits_of(strcmp(word, "dtype") == 0 ? berth_spec_get(spec, "dtype", "f16", f->mem) : word);
}

/* The smallest first: where that does not fit, none does. */
static berth_status smaller_cache(const finder *f, berth_err *err)
{
	trial t;
	double now = cache_bits(f);
	if (bits_of(caches[N_CACHES - 1]) >= now)
		return BERTH_OK;
	BERTH_TRY(try_word(f, f->x->spec, "cache", caches[N_CACHES - 1], &t, err));
	if (!t.fits)
		return BERTH_OK;
	t.fits = false;
	for (int i = 0; i < N_CACHES && !t.fits; i++) {
		if (bits_of(caches[i]) >= now)
			continue;
		BERTH_TRY(try_word(f, f->x->spec, "cache", caches[i], &t, err));
		if (t.fits)
			add_change(f, (berth_smaller_change){.kind = "cache", .cache = caches[i]});
	}
	return BERTH_OK;
}

/* The largest type that makes the model fit spec; NULL: none. */
static berth_status smaller_weights(const finder *f, const char *spec, const char **out, berth_err *err)
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

static berth_status smaller_weights_alone(const finder *f, berth_err *err)
{
	berth_smaller_change change = {.kind = "weights"};
	BERTH_TRY(smaller_weights(f, f->x->spec, &change.weights, err));
	if (change.weights)
		add_change(f, change);
	return BERTH_OK;
}

/* ---- parts of layers ---- */

static berth_status parts_apart(const finder *f, berth_err *err)
{
	trial t;
	const char *now = f->how->granularity, *finer = berth_grain_name(BERTH_GRAIN_BLOCK);
	if (!now || strcmp(now, berth_grain_name(BERTH_GRAIN_LAYER)) != 0)
		return BERTH_OK;
	BERTH_TRY(try_spec(f, f->x->spec, finer, &t, err));
	if (t.fits)
		add_change(f, (berth_smaller_change){.kind = "granularity",
		                                     .granularity = finer,
		                                     .layers = t.apart,
		                                     .experts = t.experts,
		                                     .device = f->x->s.dev_name[t.away_dev]});
	return BERTH_OK;
}

/* ---- several at once ---- */

static berth_status try_together(const finder *f, berth_err *err)
{
	berth_smaller_change change = {.kind = "together"};
	for (int i = 1; i < N_CACHES; i++) {
		if (bits_of(caches[i]) >= cache_bits(f))
			continue;
		const char *spec = berth_spec_set(f->x->spec, "cache", caches[i], f->mem);
		BERTH_TRY(berth_got(spec, err));
		BERTH_TRY(smaller_weights(f, spec, &change.weights, err));
		if (change.weights) {
			change.cache = caches[i];
			add_change(f, change);
			return BERTH_OK;
		}
	}
	for (int i = 0; i < N_WEIGHTS && !change.context; i++) {
		const char *spec = berth_spec_set(f->x->spec, "weights", weights[i], f->mem);
		BERTH_TRY(berth_got(spec, err));
		BERTH_TRY(largest_context(f, spec, &change.context, err));
		change.weights = weights[i];
	}
	if (change.context)
		add_change(f, change);
	return BERTH_OK;
}

/* ---- all of it ---- */

berth_status berth_smaller_find(const berth_decoder *x, const berth_decoder_cfg *how,
                                const berth_search_cfg *cfg, const berth_patience *until, berth_arena *mem,
                                berth_arena *tmp, berth_smaller *out, berth_err *err)
{
	finder f = {.how = how,
	            .x = x,
	            .cfg = {.objective = cfg->objective, .seed = cfg->seed, .evaluations = EVALUATIONS},
	            .until = until,
	            .out = out,
	            .mem = mem,
	            .tmp = tmp};
	BERTH_TRY(berth_method_find("anneal", &f.method, err));
	*out = (berth_smaller){0};
	berth_smaller_change change = {.kind = "context"};
	BERTH_TRY(largest_context(&f, f.x->spec, &change.context, err));
	if (change.context)
		add_change(&f, change);
	BERTH_TRY(smaller_cache(&f, err));
	BERTH_TRY(smaller_weights_alone(&f, err));
	BERTH_TRY(smaller_batch(&f, err));
	BERTH_TRY(parts_apart(&f, err));
	return out->n ? BERTH_OK : try_together(&f, err);
}
