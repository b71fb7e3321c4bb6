/* berth-system version 1: reading with the place of every error, writing in canonical form. */
#include "system_json.h"

#include "cost_model.h"
#include "json.h"
#include "memory_pools.h"
#include "sha256.h"
#include "text.h"

#include <math.h>
#include <string.h>

/* ---- reading ---- */

enum { MOST_TYPES = 1 << 16 }; /* in the efficiencies of all devices, and in what they run */

typedef struct reader {
	berth_arena *mem, *tmp;
	berth_system s;
	berth_strmap devs, channels;
	size_t cap_eff_type, cap_eff_value, cap_runs;
	int32_t n_read; /* devices */
} reader;

static berth_status copy_word(reader *r, const char *word, const char **out, berth_err *err)
{
	*out = berth_arena_strdup(r->mem, word);
	return *out ? BERTH_OK : berth_nomem(err);
}

/* A number in the range of its key. */
static berth_status read_figure(const berth_json *at, const char *key, bool required, double *out,
                                berth_err *err)
{
	double x = NAN;
	berth_json v = berth_json_get(at, key);
	BERTH_TRY(berth_json_number(at, key, required, -INFINITY, &x, err));
	if (isnan(x))
		return BERTH_OK;
	BERTH_TRY(berth_json_placed(&v, berth_system_figure_check(key, x, err), err));
	*out = x;
	return BERTH_OK;
}

static berth_status read_memory(const berth_json *at, int64_t *out, berth_err *err)
{
	berth_json v = berth_json_get(at, "memory_bytes");
	*out = -1;
	return cJSON_IsNull(v.item) ? BERTH_OK : berth_json_bytes(at, "memory_bytes", false, out, err);
}

static berth_status read_watts(const berth_json *at, double *idle_w, double *busy_w, berth_err *err)
{
	*idle_w = *busy_w = NAN;
	BERTH_TRY(read_figure(at, "idle_w", false, idle_w, err));
	BERTH_TRY(read_figure(at, "busy_w", false, busy_w, err));
	if (isnan(*idle_w) != isnan(*busy_w))
		return berth_json_fail(at, err, "'%s' is given without '%s'; give both or neither",
		                       isnan(*idle_w) ? "busy_w" : "idle_w",
		                       isnan(*idle_w) ? "idle_w" : "busy_w");
	if (*busy_w < *idle_w) {
		berth_json v = berth_json_get(at, "busy_w");
		return berth_json_fail(&v, err, "busy_w is %.10g, below idle_w, %.10g", *busy_w, *idle_w);
	}
	return BERTH_OK;
}

static berth_status add_efficiency(reader *r, int32_t d, const char *type, double value, berth_err *err)
{
	berth_system *s = &r->s;
	int32_t i = s->dev_eff_off[d + 1];
	if (i == MOST_TYPES)
		return berth_fail(err, BERTH_EFORMAT, "more than %d efficiencies in all", MOST_TYPES);
	BERTH_TRY(BERTH_GROW(r->mem, s->eff_type, i, &r->cap_eff_type, err));
	BERTH_TRY(BERTH_GROW(r->mem, s->eff_value, i, &r->cap_eff_value, err));
	BERTH_TRY(copy_word(r, type, &s->eff_type[i], err));
	s->eff_value[i] = value;
	s->dev_eff_off[d + 1]++;
	return BERTH_OK;
}

/* Remember word of the list that at is an element of; an error if it was there. */
static berth_status only_once(const berth_json *at, berth_strmap *seen, const char *word, berth_err *err)
{
	int32_t now = (int32_t)seen->len, first;
	BERTH_TRY(berth_strmap_add(seen, word, now, &first, err));
	return first == now ? BERTH_OK : berth_json_fail(at, err, "type '%.60s' stands twice", word);
}

typedef struct of_device {
	reader *r;
	int32_t d, n;
	berth_strmap seen;
} of_device;

static berth_status read_one_efficiency(void *ctx, const berth_json *v, berth_err *err)
{
	of_device *of = ctx;
	if (!cJSON_IsNumber(v->item))
		return berth_json_fail(v, err, "expected a number, the fraction of peak_flops");
	double x = v->item->valuedouble;
	const char *type = berth_arena_strdup(of->r->tmp, v->key);
	if (!type)
		return berth_nomem(err);
	BERTH_TRY(only_once(v, &of->seen, type, err));
	BERTH_TRY(berth_json_placed(v, berth_system_figure_check("efficiency", x, err), err));
	return berth_json_placed(v->up, add_efficiency(of->r, of->d, v->key, x, err), err);
}

static berth_status find_any(void *found, const berth_json *v, berth_err *err)
{
	(void)err;
	*(bool *)found |= strcmp(v->key, "*") == 0;
	return BERTH_OK;
}

static berth_status read_efficiency(const berth_json *at, reader *r, int32_t d, berth_err *err)
{
	berth_json map;
	of_device of = {.r = r, .d = d};
	bool any = false;
	berth_strmap_init(&of.seen, r->tmp);
	BERTH_TRY(berth_json_object(at, "efficiency", false, &map, err));
	r->s.dev_eff_off[d + 1] = r->s.dev_eff_off[d];
	BERTH_TRY(berth_json_each(&map, find_any, &any, err));
	if (!any)
		BERTH_TRY(add_efficiency(r, d, "*", 1, err));
	return berth_json_each(&map, read_one_efficiency, &of, err);
}

static berth_status read_run(void *ctx, const berth_json *v, berth_err *err)
{
	of_device *of = ctx;
	reader *r = of->r;
	if (!cJSON_IsString(v->item))
		return berth_json_fail(v, err, "expected the name of an operator type");
	if (of->n == MOST_TYPES)
		return berth_json_fail(v->up, err, "more than %d types in all", MOST_TYPES);
	BERTH_TRY(BERTH_GROW(r->mem, r->s.runs_type, of->n, &r->cap_runs, err));
	BERTH_TRY(copy_word(r, v->item->valuestring, &r->s.runs_type[of->n], err));
	return only_once(v, &of->seen, r->s.runs_type[of->n++], err);
}

static berth_status read_runs(const berth_json *at, reader *r, int32_t d, berth_err *err)
{
	berth_json list;
	of_device of = {.r = r, .d = d, .n = r->s.dev_runs_off[d]};
	berth_strmap_init(&of.seen, r->tmp);
	BERTH_TRY(berth_json_array(at, "runs", false, &list, err));
	r->s.dev_runs_all[d] = !list.item;
	BERTH_TRY(berth_json_each(&list, read_run, &of, err));
	r->s.dev_runs_off[d + 1] = of.n;
	return BERTH_OK;
}

static berth_status read_dev_names(const berth_json *at, reader *r, int32_t d, berth_err *err)
{
	const char *name = NULL, *kind = NULL, *host = NULL;
	berth_json v = berth_json_get(at, "name"), on = berth_json_get(at, "host");
	int32_t found;
	BERTH_TRY(berth_json_string(at, "name", true, &name, err));
	BERTH_TRY(berth_json_string(at, "kind", false, &kind, err));
	BERTH_TRY(berth_json_string(at, "host", false, &host, err));
	if (host && !*host)
		return berth_json_fail(&on, err, "the host's name is empty");
	if (!*name)
		return berth_json_fail(&v, err, "the name is empty");
	BERTH_TRY(copy_word(r, name, &r->s.dev_name[d], err));
	BERTH_TRY(copy_word(r, kind ? kind : name, &r->s.dev_kind[d], err));
	if (host)
		BERTH_TRY(copy_word(r, host, &r->s.dev_host[d], err));
	BERTH_TRY(berth_strmap_add(&r->devs, r->s.dev_name[d], d, &found, err));
	return found == d ? BERTH_OK
	                  : berth_json_fail(&v, err, "two devices are named '%.80s'; names must be unique",
	                                    name);
}

static berth_status read_device(void *ctx, const berth_json *at, berth_err *err)
{
	static const char *const known[] = {
		"name",  "kind", "peak_flops", "efficiency", "mem_bandwidth", "memory_bytes", "op_overhead_s",
		"slots", "runs", "idle_w",     "busy_w",     "memory_margin", "contiguous",   "host",
		NULL};
	reader *r = ctx;
	berth_system *s = &r->s;
	int32_t d = r->n_read++;
	s->dev_slots[d] = 1;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(read_dev_names(at, r, d, err));
	BERTH_TRY(read_figure(at, "peak_flops", false, &s->dev_peak_flops[d], err));
	BERTH_TRY(read_efficiency(at, r, d, err));
	BERTH_TRY(read_figure(at, "mem_bandwidth", false, &s->dev_mem_bandwidth[d], err));
	BERTH_TRY(read_memory(at, &s->dev_memory_bytes[d], err));
	BERTH_TRY(read_figure(at, "memory_margin", false, &s->dev_memory_margin[d], err));
	BERTH_TRY(berth_json_bool(at, "contiguous", &s->dev_contiguous[d], err));
	BERTH_TRY(read_figure(at, "op_overhead_s", false, &s->dev_op_overhead_s[d], err));
	BERTH_TRY(berth_json_int(at, "slots", false, 1, BERTH_MAX_SLOTS, &s->dev_slots[d], err));
	BERTH_TRY(read_runs(at, r, d, err));
	return read_watts(at, &s->dev_idle_w[d], &s->dev_busy_w[d], err);
}

static berth_status alloc_devices(reader *r, int32_t n, berth_err *err)
{
	berth_system *s = &r->s;
	s->n_devs = n;
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_name, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_kind, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_host, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_peak_flops, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_mem_bandwidth, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_op_overhead_s, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_memory_bytes, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_memory_margin, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_contiguous, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_slots, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_idle_w, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_busy_w, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_eff_off, n + 1, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_runs_off, n + 1, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->dev_runs_all, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->link_of, n * n, err));
	for (int32_t i = 0; i < n * n; i++)
		s->link_of[i] = -1;
	return BERTH_OK;
}

static berth_status read_devices(const berth_json *doc, reader *r, berth_err *err)
{
	berth_json list;
	BERTH_TRY(berth_json_array(doc, "devices", true, &list, err));
	int32_t n = berth_json_count(&list);
	if (n < 1 || n > BERTH_MAX_DEVS)
		return berth_json_fail(&list, err, "%d devices; expected 1 to %d", n, BERTH_MAX_DEVS);
	BERTH_TRY(alloc_devices(r, n, err));
	return berth_json_each(&list, read_device, r, err);
}

/* The device that the member key of at names. */
static berth_status read_end(const berth_json *at, const reader *r, const char *key, int32_t *d,
                             berth_err *err)
{
	const char *name = NULL;
	char hint[128];
	berth_json v = berth_json_get(at, key);
	BERTH_TRY(berth_json_string(at, key, true, &name, err));
	*d = berth_strmap_get(&r->devs, name);
	if (*d >= 0)
		return BERTH_OK;
	return berth_json_fail(&v, err, "unknown device '%.80s'%s", name,
	                       berth_text_suggest(hint, sizeof hint, name, r->s.dev_name, r->s.n_devs));
}

/* The channel called shared, or a new one of a link's own (shared NULL). */
static berth_status find_channel(reader *r, const char *shared, int32_t *channel, berth_err *err)
{
	berth_system *s = &r->s;
	*channel = shared ? berth_strmap_get(&r->channels, shared) : -1;
	if (*channel >= 0)
		return BERTH_OK;
	*channel = s->n_channels;
	if (shared) {
		BERTH_TRY(copy_word(r, shared, &s->channel_name[*channel], err));
		BERTH_TRY(berth_strmap_add(&r->channels, s->channel_name[*channel], *channel, channel, err));
	}
	s->n_channels++;
	return BERTH_OK;
}

typedef struct link_entry { /* of the file: one direction, or both */
	int32_t from, to;
	bool both_ways;
	const char *shared;
	double latency_s, bandwidth, joules_per_byte;
} link_entry;

static berth_status add_link(const berth_json *at, reader *r, const link_entry *e, int32_t from, int32_t to,
                             berth_err *err)
{
	berth_system *s = &r->s;
	int32_t *of = &s->link_of[from * s->n_devs + to], l = s->n_links;
	if (*of >= 0)
		return berth_json_fail(at, err,
		                       "a second link from '%.80s' to '%.80s'; an ordered pair has one "
		                       "('both_ways' makes the link back too)",
		                       s->dev_name[from], s->dev_name[to]);
	BERTH_TRY(find_channel(r, e->shared, &s->link_channel[l], err));
	s->link_from[l] = from;
	s->link_to[l] = to;
	s->link_latency_s[l] = e->latency_s;
	s->link_bandwidth[l] = e->bandwidth;
	s->link_joules_per_byte[l] = e->joules_per_byte;
	*of = s->n_links++;
	return BERTH_OK;
}

static berth_status read_link(void *ctx, const berth_json *at, berth_err *err)
{
	reader *r = ctx;
	static const char *const known[] = {"from",      "to",     "latency_s",       "bandwidth",
	                                    "both_ways", "shared", "joules_per_byte", NULL};
	link_entry e = {0};
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(read_end(at, r, "from", &e.from, err));
	BERTH_TRY(read_end(at, r, "to", &e.to, err));
	BERTH_TRY(read_figure(at, "latency_s", false, &e.latency_s, err));
	BERTH_TRY(read_figure(at, "bandwidth", true, &e.bandwidth, err));
	BERTH_TRY(berth_json_bool(at, "both_ways", &e.both_ways, err));
	BERTH_TRY(berth_json_string(at, "shared", false, &e.shared, err));
	BERTH_TRY(read_figure(at, "joules_per_byte", false, &e.joules_per_byte, err));
	if (e.from == e.to)
		return berth_json_fail(at, err, "link from '%.80s' to itself", r->s.dev_name[e.from]);
	if (e.shared && !*e.shared)
		return berth_json_fail(at, err, "the shared channel's name is empty");
	BERTH_TRY(add_link(at, r, &e, e.from, e.to, err));
	return e.both_ways ? add_link(at, r, &e, e.to, e.from, err) : BERTH_OK;
}

static berth_status read_links(const berth_json *doc, reader *r, berth_err *err)
{
	berth_json list;
	berth_system *s = &r->s;
	int32_t n = s->n_devs * (s->n_devs - 1); /* at most: one per ordered pair */
	BERTH_TRY(berth_json_array(doc, "links", false, &list, err));
	int32_t n_entries = berth_json_count(&list);
	if (n_entries < n / 2)
		n = 2 * n_entries;
	BERTH_TRY(BERTH_NEW(r->mem, s->link_from, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->link_to, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->link_channel, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->link_latency_s, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->link_bandwidth, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->link_joules_per_byte, n, err));
	BERTH_TRY(BERTH_NEW(r->mem, s->channel_name, n, err));
	return berth_json_each(&list, read_link, r, err);
}

static berth_status read_order(const berth_json *doc, berth_order *order, berth_err *err)
{
	static const char *const name[] = {"priority", "fifo", "program", "given"};
	const char *word = name[0];
	int32_t at;
	BERTH_TRY(berth_json_string(doc, "order", false, &word, err));
	BERTH_TRY(berth_json_find(doc, "order", name, 4, word, "order",
	                    "; expected priority, fifo, program or given", &at, err));
	*order = (berth_order)at;
	return BERTH_OK;
}

static berth_status read_channel_order(const berth_json *doc, berth_channel_order *out, berth_err *err)
{
	const char *names[BERTH_N_CHANNEL_ORDERS], *word = berth_channel_order_name(BERTH_CHANNELS_REQUEST);
	int32_t at;
	BERTH_TRY(berth_json_string(doc, "channel_order", false, &word, err));
	for (int i = 0; i < BERTH_N_CHANNEL_ORDERS; i++)
		names[i] = berth_channel_order_name((berth_channel_order)i);
	BERTH_TRY(berth_json_find(doc, "channel_order", names, BERTH_N_CHANNEL_ORDERS, word, "channel order",
	                    "; expected request or program", &at, err));
	*out = (berth_channel_order)at;
	return BERTH_OK;
}

static berth_status read_contention_free(const berth_json *doc, const char *word, berth_system *s,
                                         berth_err *err)
{
	berth_json contention = berth_json_get(doc, "contention"), order = berth_json_get(doc, "order");
	if ((contention.item && s->contention) || (order.item && s->order != BERTH_ORDER_FIFO)) {
		berth_json v = berth_json_get(doc, "cost_model");
		return berth_json_fail(&v, err,
		                       "cost model '%s' is \"contention\": false with \"order\": \"fifo\", "
		                       "but the file says otherwise; leave those keys out",
		                       word);
	}
	s->contention = false;
	s->order = BERTH_ORDER_FIFO;
	return BERTH_OK;
}

static berth_status read_cost_model(const berth_json *doc, berth_system *s, berth_err *err)
{
	const char *word = berth_cost_reference.name;
	const berth_cost_model *m = NULL;
	berth_json v = berth_json_get(doc, "cost_model");
	BERTH_TRY(berth_json_string(doc, "cost_model", false, &word, err));
	BERTH_TRY(berth_json_placed(&v, berth_cost_model_find(word, &m, err), err));
	if (m->contention_free)
		return read_contention_free(doc, word, s, err);
	s->cost_model = m;
	return BERTH_OK;
}

static bool has_gap(const berth_cost_model *m)
{
	return m->op_gap_s > 0;
}

static berth_status read_gap(const berth_json *doc, berth_system *s, berth_err *err)
{
	berth_json v = berth_json_get(doc, "op_gap_s");
	char names[256];
	s->op_gap_s = s->cost_model->op_gap_s;
	if (!v.item)
		return BERTH_OK;
	if (!has_gap(s->cost_model))
		return berth_json_fail(&v, err,
		                       "op_gap_s is for the cost model %s only; remove it, or use "
		                       "op_overhead_s of the devices",
		                       berth_cost_model_names(has_gap, names, sizeof names));
	BERTH_TRY(berth_json_number(doc, "op_gap_s", true, 0, &s->op_gap_s, err));
	return berth_json_placed(&v, berth_system_figure_check("op_gap_s", s->op_gap_s, err), err);
}

static berth_status read_system(const berth_json *doc, reader *r, berth_err *err)
{
	static const char *const known[] = {"format",  "version",       "name",       "contention",
	                                    "order",   "channel_order", "cost_model", "op_gap_s",
	                                    "devices", "links",         "memory_pools", NULL};
	const char *name = "";
	berth_json links = berth_json_get(doc, "links");
	BERTH_TRY(berth_json_format(doc, "berth-system", 1, err));
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(berth_json_string(doc, "name", false, &name, err));
	BERTH_TRY(copy_word(r, name, &r->s.name, err));
	BERTH_TRY(berth_json_bool(doc, "contention", &r->s.contention, err));
	BERTH_TRY(read_order(doc, &r->s.order, err));
	BERTH_TRY(read_channel_order(doc, &r->s.channel_order, err));
	BERTH_TRY(read_cost_model(doc, &r->s, err));
	BERTH_TRY(read_gap(doc, &r->s, err));
	BERTH_TRY(read_devices(doc, r, err));
	BERTH_TRY(read_links(doc, r, err));
	BERTH_TRY(berth_pools_read(doc, &r->devs, r->mem, r->tmp, &r->s, err));
	return berth_json_placed(&links, berth_system_check(&r->s, r->tmp, err), err);
}

berth_status berth_system_parse_json(const char *file, const char *text, size_t size, berth_arena *mem,
                                     berth_arena *tmp, berth_system *out, berth_err *err)
{
	cJSON *doc;
	BERTH_TRY(berth_json_parse_large(file, text, size, &doc, err));
	berth_json at = {doc, file, NULL, NULL, 0};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	reader r = {.mem = mem, .tmp = tmp, .s = {.contention = true, .cost_model = &berth_cost_reference}};
	berth_strmap_init(&r.devs, tmp);
	berth_strmap_init(&r.channels, tmp);
	berth_status st = read_system(&at, &r, err);
	berth_arena_reset(tmp, mark);
	cJSON_Delete(doc);
	if (st == BERTH_OK)
		*out = r.s;
	return st;
}

/* ---- writing ---- */

static void put_given(berth_json_out *w, const char *key, double x)
{
	if (x > 0)
		berth_json_put_number(w, key, x);
}

static void write_efficiency(const berth_system *s, int32_t d, berth_json_out *w)
{
	int32_t first = s->dev_eff_off[d], end = s->dev_eff_off[d + 1];
	if (end == first + 1 && s->eff_value[first] == 1) /* the default: "*" alone, at 1 */
		return;
	berth_json_open(w, "efficiency", '{');
	for (int32_t i = first; i < end; i++)
		berth_json_put_number(w, s->eff_type[i], s->eff_value[i]);
	berth_json_close(w, '}');
}

static void write_runs(const berth_system *s, int32_t d, berth_json_out *w)
{
	if (s->dev_runs_all[d])
		return;
	berth_json_open(w, "runs", '[');
	for (int32_t i = s->dev_runs_off[d]; i < s->dev_runs_off[d + 1]; i++)
		berth_json_put_string(w, NULL, s->runs_type[i]);
	berth_json_close(w, ']');
}

static void write_device(const berth_system *s, int32_t d, berth_json_out *w)
{
	berth_json_open(w, NULL, '{');
	berth_json_flat(w, true);
	berth_json_put_string(w, "name", s->dev_name[d]);
	if (strcmp(s->dev_kind[d], s->dev_name[d]) != 0)
		berth_json_put_string(w, "kind", s->dev_kind[d]);
	if (s->dev_host[d])
		berth_json_put_string(w, "host", s->dev_host[d]);
	put_given(w, "peak_flops", s->dev_peak_flops[d]);
	write_efficiency(s, d, w);
	put_given(w, "mem_bandwidth", s->dev_mem_bandwidth[d]);
	if (s->dev_memory_bytes[d] < 0)
		berth_json_put_null(w, "memory_bytes");
	else
		berth_json_put_int(w, "memory_bytes", s->dev_memory_bytes[d]);
	put_given(w, "memory_margin", s->dev_memory_margin[d]);
	if (s->dev_contiguous[d])
		berth_json_put_bool(w, "contiguous", true);
	put_given(w, "op_overhead_s", s->dev_op_overhead_s[d]);
	if (s->dev_slots[d] != 1)
		berth_json_put_int(w, "slots", s->dev_slots[d]);
	write_runs(s, d, w);
	if (!isnan(s->dev_idle_w[d])) {
		berth_json_put_number(w, "idle_w", s->dev_idle_w[d]);
		berth_json_put_number(w, "busy_w", s->dev_busy_w[d]);
	}
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

/* Would one entry with "both_ways" read back as the links l and l + 1? */
static bool folds(const berth_system *s, int32_t l)
{
	int32_t b = l + 1;
	if (b >= s->n_links || s->link_from[b] != s->link_to[l] || s->link_to[b] != s->link_from[l])
		return false;
	if (s->link_latency_s[b] != s->link_latency_s[l] || s->link_bandwidth[b] != s->link_bandwidth[l] ||
	    s->link_joules_per_byte[b] != s->link_joules_per_byte[l])
		return false;
	return s->link_channel[b] == s->link_channel[l] ||
	       (!s->channel_name[s->link_channel[b]] && !s->channel_name[s->link_channel[l]]);
}

static void write_link(const berth_system *s, int32_t l, bool both_ways, berth_json_out *w)
{
	berth_json_open(w, NULL, '{');
	berth_json_flat(w, true);
	berth_json_put_string(w, "from", s->dev_name[s->link_from[l]]);
	berth_json_put_string(w, "to", s->dev_name[s->link_to[l]]);
	put_given(w, "latency_s", s->link_latency_s[l]);
	berth_json_put_number(w, "bandwidth", s->link_bandwidth[l]);
	if (both_ways)
		berth_json_put_bool(w, "both_ways", true);
	if (s->channel_name[s->link_channel[l]])
		berth_json_put_string(w, "shared", s->channel_name[s->link_channel[l]]);
	put_given(w, "joules_per_byte", s->link_joules_per_byte[l]);
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

static void write_links(const berth_system *s, berth_json_out *w)
{
	berth_json_open(w, "links", '[');
	for (int32_t l = 0; l < s->n_links; l++) {
		bool both_ways = folds(s, l);
		write_link(s, l, both_ways, w);
		l += both_ways;
	}
	berth_json_close(w, ']');
}

berth_status berth_system_write_json(const berth_system *s, bool pretty, berth_arena *mem, const char **text,
                                     size_t *len, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, mem, pretty);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-system");
	berth_json_put_int(&w, "version", 1);
	berth_json_put_string(&w, "name", s->name);
	if (!s->contention)
		berth_json_put_bool(&w, "contention", false);
	if (s->order != BERTH_ORDER_PRIORITY)
		berth_json_put_string(&w, "order", berth_order_name(s->order));
	if (s->channel_order != BERTH_CHANNELS_REQUEST)
		berth_json_put_string(&w, "channel_order", berth_channel_order_name(s->channel_order));
	if (s->cost_model != &berth_cost_reference)
		berth_json_put_string(&w, "cost_model", s->cost_model->name);
	if (has_gap(s->cost_model))
		berth_json_put_number(&w, "op_gap_s", s->op_gap_s);
	berth_json_open(&w, "devices", '[');
	for (int32_t d = 0; d < s->n_devs; d++)
		write_device(s, d, &w);
	berth_json_close(&w, ']');
	if (s->n_links)
		write_links(s, &w);
	berth_pools_write(s, &w);
	berth_json_close(&w, '}');
	return berth_json_done(&w, text, len, err);
}

berth_status berth_system_sha256(const berth_system *s, berth_arena *tmp, char hex[65], berth_err *err)
{
	const char *text;
	size_t len;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = berth_system_write_json(s, false, tmp, &text, &len, err);
	if (st == BERTH_OK)
		berth_sha256_hex(text, len, hex);
	berth_arena_reset(tmp, mark);
	return st;
}
