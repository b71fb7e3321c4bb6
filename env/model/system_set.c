/* Changed figures of a system: one by its name, those of all links for packed tensors, memory drawn about
 * what a graph needs. Copies of systems to change stand here, too. */
#include "system_change.h"

typedef struct change {
	const char *what; /* the whole text, for messages */
	char *name, *key;
	const char *text; /* the value as it was written */
	double factor;    /* of "2x"; NAN: it is none */
} change;

#define POOL "pool."

static bool is_factor(const change *c)
{
	return !isnan(c->factor);
}

/* The value in the unit of the figure. */
static berth_status in_si(const change *c, const berth_system_figure *f, double *out, berth_err *err)
{
	char known[96];
	const char *end;
	*out = berth_unit_number(f->quantity, c->text, &end);
	if (isfinite(*out) && !*end)
		return BERTH_OK;
	berth_unit_names(f->quantity, known);
	return berth_fail(err, BERTH_EINVAL, "'%.80s': '%.40s' is no unit of %s; %s%s", c->what, end,
	                  c->key, *known ? "known: " : "it has none", known);
}

/* The figure that the key means, of element i of its kind. */
static berth_status set_key(berth_system *s, int of, int32_t i, const change *c, berth_err *err)
{
	const char *known[BERTH_N_FIGURES];
	int32_t n = 0, at;
	for (const berth_system_figure *f = berth_system_figures; f < berth_system_figures + BERTH_N_FIGURES;
	     f++) {
		if ((int)f->of != of)
			continue;
		if (strcmp(f->key, c->key) == 0) {
			/* Set the figure of element i, in its range. Unlimited memory times a factor stays
			 * so; peaks of other precisions change as that of f32 does. */
			bool counts = f->type == BERTH_FIGURE_COUNT;
			double old = berth_system_figure_get(s, f, i), x = old * c->factor;
			if (!is_factor(c))
				BERTH_TRY(in_si(c, f, &x, err));
			else if (f->type == BERTH_FIGURE_BYTES && old < 0)
				return BERTH_OK;
			else if (!berth_system_figure_given(f, old))
				return berth_fail(err, BERTH_EINVAL,
				                  "'%.80s': '%.80s' has no %s to multiply; give a number",
				                  c->what, c->name, c->key);
			if (counts && is_factor(c))
				x = floor(x);
			if (counts && x != floor(x))
				return berth_fail(err, BERTH_EINVAL, "'%.80s': %s is a whole number", c->what,
				                  c->key);
			if (berth_system_figure_check(c->key, x, err) != BERTH_OK)
				return berth_fail_in(err, BERTH_EINVAL, "'%.80s': ", c->what);
			berth_system_figure_set(s, f, i, x);
			if (strcmp(c->key, "peak_flops") == 0 && old > 0)
				for (int p = 0; p < BERTH_N_PRECISIONS; p++)
					s->dev_peaks[i * BERTH_N_PRECISIONS + p] *= x / old;
			return BERTH_OK;
		}
		known[n++] = f->key;
	}
	return berth_fail_in(err, berth_text_find(known, n, c->key, "key", NULL, &at, err),
	                     "'%.80s': ", c->what);
}

/* The memory pool that the name pool.NAME means, or -1. */
static int32_t find_pool(const berth_system *s, const char *name)
{
	size_t n = sizeof POOL - 1;
	return strncmp(name, POOL, n) == 0 ? berth_system_find_pool(s, name + n) : -1;
}

static const char *link_name(const berth_system *s, int32_t l, const char *between, berth_arena *tmp)
{
	return berth_arena_printf(tmp, "%s%s%s", s->dev_name[s->link_from[l]], between,
	                          s->dev_name[s->link_to[l]]);
}

static berth_status fail_name(const berth_system *s, const change *c, berth_arena *tmp, berth_err *err)
{
	const char **known;
	int32_t n = 0;
	char hint[96];
	BERTH_TRY_NEW(tmp, s->n_devs + s->n_pools + 2 * s->n_links, err, known);
	for (int32_t d = 0; d < s->n_devs; d++)
		known[n++] = s->dev_name[d];
	for (int32_t i = 0; i < s->n_pools; i++)
		BERTH_TRY(berth_got(known[n++] = berth_arena_printf(tmp, POOL "%s", s->pool_name[i]), err));
	for (int32_t l = 0; l < s->n_links; l++) {
		const char *channel = s->channel_name[s->link_channel[l]];
		if (channel)
			known[n++] = channel;
		BERTH_TRY(berth_got(known[n++] = link_name(s, l, "->", tmp), err));
	}
	return berth_fail(err, BERTH_EINVAL,
	                  "'%.80s': system '%.60s' has no device, link or memory pool '%.60s'%s; links are "
	                  "called FROM->TO or by their shared name, pools pool.NAME",
	                  c->what, s->name, c->name,
	                  berth_text_suggest(hint, sizeof hint, c->name, known, n));
}

berth_status berth_system_set(berth_system *s, const char *what, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	change c;
	/* The name may hold dots and equals signs, the key cannot: split at the last ones. */
	const char *end;
	char *text = berth_arena_strdup(tmp, what);
	BERTH_TRY(berth_got(text, err));
	char *equals = strrchr(text, '='), *dot = NULL;
	if (equals) {
		*equals = '\0';
		dot = strrchr(text, '.');
	}
	if (!dot || dot == text)
		return berth_fail(err, BERTH_EINVAL,
		                  "'%.80s' is no change of a system; expected NAME.KEY=VALUE or NAME.KEY=2x",
		                  what);
	*dot = '\0';
	double x = berth_text_number(equals + 1, &end);
	c = (change){what, text, dot + 1, equals + 1, strcmp(end, "x") == 0 ? x : NAN};
	if (!isfinite(x)) /* there is none, or it is too large */
		return berth_fail(err, BERTH_EINVAL,
		                  "'%.80s': '%.40s' is neither a number nor a factor such as 2x", what,
		                  equals + 1);
	int32_t d = berth_system_find_dev(s, c.name), pool = d < 0 ? find_pool(s, c.name) : -1;
	bool any = d >= 0 || pool >= 0;
	if (any)
		BERTH_TRY(set_key(s, d >= 0 ? BERTH_OF_DEVICE : BERTH_OF_POOL, d >= 0 ? d : pool, &c, err));
	for (int32_t l = 0; d < 0 && pool < 0 && l < s->n_links; l++) {
		bool here = false;
		/* Does the name mean link l? Its channel's name, FROM->TO or FROM:TO. */
		const char *name = c.name;
		const char *channel = s->channel_name[s->link_channel[l]],
			   *arrow = link_name(s, l, "->", tmp), *colon = link_name(s, l, ":", tmp);
		if (!arrow || !colon)
			return berth_nomem(err);
		here = (channel && strcmp(channel, name) == 0) || strcmp(arrow, name) == 0 ||
		       strcmp(colon, name) == 0;
		any |= here;
		if (here)
			BERTH_TRY(set_key(s, BERTH_OF_LINK, l, &c, err));
	}
	return any ? BERTH_OK : fail_name(s, &c, tmp, err);
}

/* ---- copies ---- */

berth_status berth_system_clone(const berth_system *s, berth_arena *mem, berth_system *out, berth_err *err)
{
	berth_system c = *s;
	for (const berth_system_figure *f = berth_system_figures; f < berth_system_figures + BERTH_N_FIGURES;
	     f++)
		if (f->of != BERTH_OF_OTHERS)
			BERTH_TRY(berth_system_figure_new(&c, f,
			                                  f->of == BERTH_OF_DEVICE ? s->n_devs
			                                  : f->of == BERTH_OF_LINK ? s->n_links
			                                                           : s->n_pools,
			                                  s, mem, err));
	int32_t n_peaks = s->n_devs * BERTH_N_PRECISIONS;
	BERTH_TRY_NEW(mem, n_peaks, err, c.dev_peaks);
	BERTH_COPY(c.dev_peaks, s->dev_peaks, n_peaks);
	*out = c;
	return BERTH_OK;
}

/* ---- packed tensors ---- */

berth_status berth_system_pack(berth_system *s, int factor, berth_arena *mem, berth_err *err)
{
	double *latency_s, *s_per_byte;
	BERTH_TRY_NEW(mem, s->n_links, err, latency_s, s_per_byte);
	for (int32_t l = 0; l < s->n_links; l++) {
		const int32_t end[2] = {s->link_from[l], s->link_to[l]};
		latency_s[l] = s->link_latency_s[l];
		s_per_byte[l] = 1 / (factor * s->link_bandwidth[l]);
		for (int k = 0; k < 2; k++) {
			double rate = s->dev_mem_bandwidth[end[k]];
			latency_s[l] += s->dev_op_overhead_s[end[k]];
			s_per_byte[l] += rate > 0 ? (1 + 1.0 / factor) / rate : 0;
		}
	}
	s->link_packed_latency_s = latency_s;
	s->link_packed_s_per_byte = s_per_byte;
	s->pack_factor = factor;
	return BERTH_OK;
}

double berth_packed_error(int factor)
{
	return factor == 2 ? 1.0 / 2048 : factor == 4 ? 1.0 / 254 : 1.0 / 14;
}

/* ---- short memory ---- */

static int64_t most_live(const berth_graph *g, int32_t *left)
{
	int64_t live = 0, most = 0;
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i];
		live += g->op_output_bytes[op];
		BERTH_EACH (t, g->op_tensor_off, op)
			live += g->tensor_bytes[t];
		int64_t now = live + g->op_workspace_bytes[op];
		most = now > most ? now : most;
		BERTH_EACH (k, g->op_in_off, op)
			if (--left[g->in_tensor[k]] == 0)
				live -= g->tensor_bytes[g->in_tensor[k]];
	}
	return most;
}

berth_status berth_graph_need(const berth_graph *g, berth_arena *tmp, int64_t *bytes, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t *left;
	/* Uses of each tensor that are still to come. */
	BERTH_TRY_NEW(tmp, g->n_tensors, err, left);
	for (int32_t i = 0; i < g->op_in_off[g->n_ops]; i++)
		left[g->in_tensor[i]]++;
	*bytes = most_live(g, left) + berth_graph_param_bytes(g);
	for (int32_t op = 0; op < g->n_ops; op++)
		*bytes += g->op_state_bytes[op];
	return BERTH_OK;
}

/* A limited pool gets what was drawn for its members, bytes [n_devs], and each member the part of it that it
 * had before; one without a limit of its own has none. */
static void tighten_pool(berth_system *s, int32_t pool, const double *bytes)
{
	double sum = 0, old = (double)s->pool_bytes[pool];
	for (int32_t d = 0; d < s->n_devs; d++)
		sum += s->dev_pool[d] == pool ? bytes[d] : 0;
	s->pool_bytes[pool] = (int64_t)fmin(sum, 0x1p53);
	for (int32_t d = 0; d < s->n_devs; d++)
		if (s->dev_pool[d] == pool && s->dev_memory_bytes[d] >= 0)
			s->dev_memory_bytes[d] = old > 0 ? (int64_t)((double)s->pool_bytes[pool] *
			                                             ((double)s->dev_memory_bytes[d] / old))
			                                 : 0;
}

static bool is_in_limited_pool(const berth_system *s, int32_t d)
{
	return s->n_pools && s->dev_pool[d] >= 0 && s->pool_bytes[s->dev_pool[d]] >= 0;
}

berth_status berth_system_tighten(const berth_graph *g, berth_rng *rng, berth_system *s, berth_arena *tmp,
                                  berth_err *err)
{
	int64_t need;
	double share[BERTH_MAX_DEVS], sum = 0;
	bool limited = true;
	BERTH_TRY(berth_graph_need(g, tmp, &need, err));
	for (int32_t d = 0; d < s->n_devs; d++)
		limited &= s->dev_memory_bytes[d] > 0;
	double total = (double)need * 1.1 * pow(3 / 1.1, berth_rng_unit(rng));
	for (int32_t d = 0; d < s->n_devs; d++)
		sum += share[d] =
			(limited ? (double)s->dev_memory_bytes[d] : 1) * exp(0.3 * berth_rng_normal(rng));
	for (int32_t d = 0; d < s->n_devs; d++)
		share[d] = fmin(ceil(total * share[d] / sum), 0x1p53);
	for (int32_t d = 0; d < s->n_devs; d++)
		if (!is_in_limited_pool(s, d))
			s->dev_memory_bytes[d] = (int64_t)share[d];
	for (int32_t i = 0; i < s->n_pools; i++)
		if (s->pool_bytes[i] >= 0)
			tighten_pool(s, i, share);
	return BERTH_OK;
}
