/* Changed figures of a system: one by its name, those of all links for packed tensors, memory drawn about
 * what a graph needs. Copies of systems to change stand here, too. */
#include "system_change.h"

#include "memory_pools.h"
#include "text.h"
#include "units.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct change {
	const char *what;     /* the whole text, for messages */
	char *name, *key;
	double value;
	const char *unit;     /* "x": value is a factor */
} change;

static const struct {
	const char *key;
	berth_quantity quantity;
} quantities[] = {
	{"peak_flops", BERTH_FLOPS_PER_S},
	{"mem_bandwidth", BERTH_BYTES_PER_S},
	{"bandwidth", BERTH_BYTES_PER_S},
	{"memory_bytes", BERTH_BYTES},
	{"bytes", BERTH_BYTES},
	{"op_overhead_s", BERTH_SECONDS},
	{"latency_s", BERTH_SECONDS},
	{"idle_w", BERTH_WATTS},
	{"busy_w", BERTH_WATTS},
	{"joules_per_byte", BERTH_JOULES_PER_BYTE},
};

static const char *const dev_keys[] = {"peak_flops",    "mem_bandwidth", "op_overhead_s", "memory_bytes",
                                       "memory_margin", "slots",         "idle_w",        "busy_w"};
static const char *const link_keys[] = {"latency_s", "bandwidth", "joules_per_byte"};
static const char *const pool_keys[] = {"bandwidth", "bytes"};
enum {
	N_DEV_KEYS = sizeof dev_keys / sizeof *dev_keys,
	N_LINK_KEYS = sizeof link_keys / sizeof *link_keys,
	N_POOL_KEYS = sizeof pool_keys / sizeof *pool_keys
};

#define POOL "pool."

/* The name may hold dots and equals signs, the key cannot: split at the last ones. */
static berth_status split(const char *what, berth_arena *tmp, change *c, berth_err *err)
{
	const char *end;
	char *text = berth_arena_strdup(tmp, what);
	if (!text)
		return berth_nomem(err);
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
	*c = (change){what, text, dot + 1, berth_text_number(equals + 1, &end), ""};
	c->unit = end;
	if (!isfinite(c->value)) /* there is none, or it is too large */
		return berth_fail(err, BERTH_EINVAL,
		                  "'%.80s': '%.40s' is neither a number nor a factor such as 2x", what,
		                  equals + 1);
	return BERTH_OK;
}

static bool is_factor(const change *c)
{
	return strcmp(c->unit, "x") == 0;
}

/* The value in the unit of the key. */
static berth_status in_si(const change *c, double *out, berth_err *err)
{
	char known[96];
	const char *end;
	berth_quantity q = BERTH_PLAIN;
	for (size_t i = 0; i < sizeof quantities / sizeof *quantities; i++)
		if (strcmp(c->key, quantities[i].key) == 0)
			q = quantities[i].quantity;
	double factor = berth_unit(q, c->unit, &end);
	*out = c->value * factor;
	if (factor > 0 && !*end)
		return BERTH_OK;
	berth_unit_names(q, known);
	return berth_fail(err, BERTH_EINVAL, "'%.80s': '%.40s' is no unit of %s; %s%s", c->what, c->unit,
	                  c->key, *known ? "known: " : "it has none", known);
}

/* The new figure of key, in its range. given: there is an old one. */
static berth_status figure(const change *c, double old, bool given, double *out, berth_err *err)
{
	double x = old * c->value;
	if (!is_factor(c))
		BERTH_TRY(in_si(c, &x, err));
	else if (!given)
		return berth_fail(err, BERTH_EINVAL, "'%.80s': '%.80s' has no %s to multiply; give a number",
		                  c->what, c->name, c->key);
	bool slots = strcmp(c->key, "slots") == 0;
	if (slots && is_factor(c))
		x = floor(x);
	if (slots && x != floor(x))
		return berth_fail(err, BERTH_EINVAL, "'%.80s': slots is a whole number", c->what);
	if (berth_system_figure_check(c->key, x, err) != BERTH_OK)
		return berth_fail_in(err, BERTH_EINVAL, "'%.80s': ", c->what);
	*out = x;
	return BERTH_OK;
}

static berth_status set_double(const change *c, double *field, berth_err *err)
{
	bool zero_is_none = strcmp(c->key, "peak_flops") == 0 || strcmp(c->key, "mem_bandwidth") == 0;
	return figure(c, *field, !isnan(*field) && !(zero_is_none && *field == 0), field, err);
}

static berth_status set_memory(const change *c, int64_t *field, berth_err *err)
{
	double x;
	if (is_factor(c) && *field < 0)
		return BERTH_OK;
	BERTH_TRY(figure(c, (double)*field, true, &x, err));
	*field = (int64_t)x;
	return BERTH_OK;
}

static berth_status set_slots(const change *c, int32_t *field, berth_err *err)
{
	double x;
	BERTH_TRY(figure(c, *field, true, &x, err));
	*field = (int32_t)x;
	return BERTH_OK;
}

/* The key's place in keys[n]. */
static berth_status find_key(const change *c, const char *const *keys, int32_t n, int32_t *at, berth_err *err)
{
	berth_status st = berth_text_find(keys, n, c->key, "key", NULL, at, err);
	return st == BERTH_OK ? st : berth_fail_in(err, st, "'%.80s': ", c->what);
}

static berth_status set_device(berth_system *s, int32_t d, const change *c, berth_err *err)
{
	const char *key = c->key;
	if (strcmp(key, "peak_flops") == 0) return set_double(c, &s->dev_peak_flops[d], err);
	if (strcmp(key, "mem_bandwidth") == 0) return set_double(c, &s->dev_mem_bandwidth[d], err);
	if (strcmp(key, "op_overhead_s") == 0) return set_double(c, &s->dev_op_overhead_s[d], err);
	if (strcmp(key, "idle_w") == 0) return set_double(c, &s->dev_idle_w[d], err);
	if (strcmp(key, "busy_w") == 0) return set_double(c, &s->dev_busy_w[d], err);
	if (strcmp(key, "memory_margin") == 0) return set_double(c, &s->dev_memory_margin[d], err);
	if (strcmp(key, "memory_bytes") == 0) return set_memory(c, &s->dev_memory_bytes[d], err);
	if (strcmp(key, "slots") == 0) return set_slots(c, &s->dev_slots[d], err);
	return find_key(c, dev_keys, N_DEV_KEYS, &(int32_t){0}, err);
}

static berth_status set_link(berth_system *s, int32_t l, const change *c, berth_err *err)
{
	if (strcmp(c->key, "latency_s") == 0) return set_double(c, &s->link_latency_s[l], err);
	if (strcmp(c->key, "bandwidth") == 0) return set_double(c, &s->link_bandwidth[l], err);
	if (strcmp(c->key, "joules_per_byte") == 0) return set_double(c, &s->link_joules_per_byte[l], err);
	return find_key(c, link_keys, N_LINK_KEYS, &(int32_t){0}, err);
}

static berth_status set_pool(berth_system *s, int32_t i, const change *c, berth_err *err)
{
	if (strcmp(c->key, "bandwidth") == 0) return set_double(c, &s->pool_bandwidth[i], err);
	if (strcmp(c->key, "bytes") == 0) return set_memory(c, &s->pool_bytes[i], err);
	return find_key(c, pool_keys, N_POOL_KEYS, &(int32_t){0}, err);
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

/* Does the name mean link l? Its channel's name, FROM->TO or FROM:TO. */
static berth_status means_link(const berth_system *s, int32_t l, const char *name, berth_arena *tmp,
                               bool *out, berth_err *err)
{
	const char *channel = s->channel_name[s->link_channel[l]], *arrow = link_name(s, l, "->", tmp),
		   *colon = link_name(s, l, ":", tmp);
	if (!arrow || !colon)
		return berth_nomem(err);
	*out = (channel && strcmp(channel, name) == 0) || strcmp(arrow, name) == 0 ||
	       strcmp(colon, name) == 0;
	return BERTH_OK;
}

static berth_status fail_name(const berth_system *s, const change *c, berth_arena *tmp, berth_err *err)
{
	const char **known;
	int32_t n = 0;
	char hint[96];
	BERTH_TRY(BERTH_NEW(tmp, known, s->n_devs + s->n_pools + 2 * s->n_links, err));
	for (int32_t d = 0; d < s->n_devs; d++)
		known[n++] = s->dev_name[d];
	for (int32_t i = 0; i < s->n_pools; i++)
		if (!(known[n++] = berth_arena_printf(tmp, POOL "%s", s->pool_name[i])))
			return berth_nomem(err);
	for (int32_t l = 0; l < s->n_links; l++) {
		const char *channel = s->channel_name[s->link_channel[l]];
		if (channel)
			known[n++] = channel;
		if (!(known[n++] = link_name(s, l, "->", tmp)))
			return berth_nomem(err);
	}
	return berth_fail(err, BERTH_EINVAL,
	                  "'%.80s': system '%.60s' has no device, link or memory pool '%.60s'%s; links are "
	                  "called FROM->TO or by their shared name, pools pool.NAME",
	                  c->what, s->name, c->name,
	                  berth_text_suggest(hint, sizeof hint, c->name, known, n));
}

static berth_status apply(berth_system *s, const char *what, berth_arena *tmp, berth_err *err)
{
	change c;
	bool any = false;
	BERTH_TRY(split(what, tmp, &c, err));
	int32_t d = berth_system_find_dev(s, c.name);
	if (d >= 0)
		return set_device(s, d, &c, err);
	int32_t pool = find_pool(s, c.name);
	if (pool >= 0)
		return set_pool(s, pool, &c, err);
	for (int32_t l = 0; l < s->n_links; l++) {
		bool here = false;
		BERTH_TRY(means_link(s, l, c.name, tmp, &here, err));
		any |= here;
		if (here)
			BERTH_TRY(set_link(s, l, &c, err));
	}
	return any ? BERTH_OK : fail_name(s, &c, tmp, err);
}

berth_status berth_system_set(berth_system *s, const char *what, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = apply(s, what, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}

/* ---- copies ---- */

#define COPY(field, n)                                                            \
	do {                                                                      \
		BERTH_TRY(BERTH_NEW(mem, c.field, (n), err));                     \
		if ((n) > 0)                                                      \
			memcpy(c.field, s->field, (size_t)(n) * sizeof *c.field); \
	} while (0)

berth_status berth_system_clone(const berth_system *s, berth_arena *mem, berth_system *out, berth_err *err)
{
	berth_system c = *s;
	COPY(dev_peak_flops, s->n_devs);
	COPY(dev_mem_bandwidth, s->n_devs);
	COPY(dev_op_overhead_s, s->n_devs);
	COPY(dev_memory_bytes, s->n_devs);
	COPY(dev_memory_margin, s->n_devs);
	COPY(dev_slots, s->n_devs);
	COPY(dev_idle_w, s->n_devs);
	COPY(dev_busy_w, s->n_devs);
	COPY(link_latency_s, s->n_links);
	COPY(link_bandwidth, s->n_links);
	COPY(link_joules_per_byte, s->n_links);
	COPY(pool_bandwidth, s->n_pools);
	COPY(pool_bytes, s->n_pools);
	*out = c;
	return BERTH_OK;
}

/* ---- packed tensors ---- */

berth_status berth_system_pack(berth_system *s, int factor, berth_arena *mem, berth_err *err)
{
	double *latency_s, *s_per_byte;
	BERTH_TRY(BERTH_NEW(mem, latency_s, s->n_links, err));
	BERTH_TRY(BERTH_NEW(mem, s_per_byte, s->n_links, err));
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

/* Uses of each tensor that are still to come. */
static berth_status count_uses(const berth_graph *g, berth_arena *tmp, int32_t **left, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(tmp, *left, g->n_tensors, err));
	for (int32_t i = 0; i < g->op_in_off[g->n_ops]; i++)
		(*left)[g->in_tensor[i]]++;
	return BERTH_OK;
}

static int64_t most_live(const berth_graph *g, int32_t *left)
{
	int64_t live = 0, most = 0;
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i];
		live += g->op_output_bytes[op];
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
			live += g->tensor_bytes[t];
		int64_t now = live + g->op_workspace_bytes[op];
		most = now > most ? now : most;
		for (int32_t k = g->op_in_off[op]; k < g->op_in_off[op + 1]; k++)
			if (--left[g->in_tensor[k]] == 0)
				live -= g->tensor_bytes[g->in_tensor[k]];
	}
	return most;
}

berth_status berth_graph_need(const berth_graph *g, berth_arena *tmp, int64_t *bytes, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t *left;
	BERTH_TRY(count_uses(g, tmp, &left, err));
	*bytes = most_live(g, left) + berth_graph_param_bytes(g);
	for (int32_t op = 0; op < g->n_ops; op++)
		*bytes += g->op_state_bytes[op];
	berth_arena_reset(tmp, mark);
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
			s->dev_memory_bytes[d] =
				old > 0 ? (int64_t)((double)s->pool_bytes[pool] *
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
