/* berth-system version 1, read with the place of every error. What all figures share, their keys, ranges
 * and absences, is a table of system.c. */
#include "system_json.h"

#include "cost_model.h"
#include "json.h"
#include "text.h"

#include <math.h>
#include <string.h>

enum { MOST_TYPES = 1 << 16 }; /* in the efficiencies of all devices, and in what they run */

/* A list of numbers by type as it grows. */
typedef struct by_type {
	const char *key;
	berth_by_type *to;
	size_t cap_type, cap_value;
} by_type;

typedef struct reader {
	berth_arena *mem, *tmp;
	berth_system s;
	berth_strmap devs, channels, pools;
	size_t cap_runs;
	by_type efficiency, scale;
	int32_t n_read, n_pools_read; /* devices */
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

/* Bytes, or null for no limit. */
static berth_status read_bytes(const berth_json *at, const char *key, int64_t *out, berth_err *err)
{
	berth_json v = berth_json_get(at, key);
	if (!cJSON_IsNull(v.item))
		return berth_json_bytes(at, key, false, out, err);
	*out = -1;
	return BERTH_OK;
}

static berth_status read_peak(void *peaks, const berth_json *v, berth_err *err)
{
	berth_precision p;
	berth_err why;
	double x;
	if (berth_precision_find(v->key, &p, &why) != BERTH_OK)
		return berth_json_fail(v, err, "%s", why.msg);
	BERTH_TRY(berth_json_value(v, 0, &x, err));
	BERTH_TRY(berth_json_placed(v, berth_system_figure_check("peak_flops", x, err), err));
	((double *)peaks)[p] = x;
	return BERTH_OK;
}

/* Peaks by precision; *f32 is that of single precision. */
static berth_status read_peaks(const berth_json *at, berth_system *s, int32_t d, double *f32, berth_err *err)
{
	berth_json map;
	double *peaks = &s->dev_peaks[d * BERTH_N_PRECISIONS];
	BERTH_TRY(berth_json_object(at, "peak_flops", true, &map, err));
	BERTH_CLEAR(peaks, BERTH_N_PRECISIONS);
	BERTH_TRY(berth_json_each(&map, read_peak, peaks, err));
	*f32 = peaks[BERTH_F32];
	peaks[BERTH_F32] = 0;
	return BERTH_OK;
}

/* All figures of element i of a kind. */
static berth_status read_figures(const berth_json *at, reader *r, int of, int32_t i, berth_err *err)
{
	for (const berth_system_figure *f = berth_system_figures; f < berth_system_figures + BERTH_N_FIGURES;
	     f++) {
		if ((int)f->of != of)
			continue;
		double x = berth_system_figure_get(&r->s, f, i); /* as by default, or like another device */
		int64_t bytes = (int64_t)x;
		int32_t count = (int32_t)x;
		if (cJSON_IsObject(berth_json_get(at, f->key).item) && strcmp(f->key, "peak_flops") == 0)
			BERTH_TRY(read_peaks(at, &r->s, i, &x, err));
		else if (f->type == BERTH_FIGURE_BYTES)
			BERTH_TRY(read_bytes(at, f->key, &bytes, err));
		else if (f->type == BERTH_FIGURE_COUNT)
			BERTH_TRY(berth_json_int(at, f->key, false, 1, (int32_t)f->most, &count, err));
		else
			BERTH_TRY(read_figure(at, f->key, strcmp(f->key, "bandwidth") == 0, &x, err));
		berth_system_figure_set(&r->s, f, i,
		                        f->type == BERTH_FIGURE_BYTES   ? (double)bytes
		                        : f->type == BERTH_FIGURE_COUNT ? count
		                                                        : x);
	}
	return BERTH_OK;
}

static berth_status check_watts(const berth_json *at, double idle_w, double busy_w, berth_err *err)
{
	if (isnan(idle_w) != isnan(busy_w))
		return berth_json_fail(at, err, "'%s' is given without '%s'; give both or neither",
		                       isnan(idle_w) ? "busy_w" : "idle_w",
		                       isnan(idle_w) ? "idle_w" : "busy_w");
	berth_json v = berth_json_get(at, "busy_w");
	return busy_w < idle_w
	               ? berth_json_fail(&v, err, "busy_w is %.10g, below idle_w, %.10g", busy_w, idle_w)
	               : BERTH_OK;
}

static berth_status new_figures(reader *r, int of, int32_t n, berth_err *err)
{
	for (const berth_system_figure *f = berth_system_figures; f < berth_system_figures + BERTH_N_FIGURES;
	     f++)
		if ((int)f->of == of)
			BERTH_TRY(berth_system_figure_new(&r->s, f, n, NULL, r->mem, err));
	return BERTH_OK;
}

/* One more number by type of device d, the last so far. */
static berth_status add_by_type(reader *r, by_type *x, int32_t d, const char *type, double value,
                                berth_err *err)
{
	berth_by_type *to = x->to;
	int32_t i = to->off[d + 1];
	if (i == MOST_TYPES)
		return berth_fail(err, BERTH_EFORMAT, "more than %d types of %s in all", MOST_TYPES, x->key);
	BERTH_TRY(BERTH_GROW(r->mem, to->type, i, &x->cap_type, err));
	BERTH_TRY(BERTH_GROW(r->mem, to->value, i, &x->cap_value, err));
	BERTH_TRY(copy_word(r, type, &to->type[i], err));
	to->value[i] = value;
	to->off[d + 1]++;
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
	by_type *x;
	int32_t d, n;
	berth_strmap seen;
} of_device;

static berth_status read_one_by_type(void *ctx, const berth_json *v, berth_err *err)
{
	of_device *of = ctx;
	if (!cJSON_IsNumber(v->item))
		return berth_json_fail(v, err, "expected a number");
	double x = v->item->valuedouble;
	const char *type = berth_arena_strdup(of->r->tmp, v->key);
	BERTH_TRY(berth_got(type, err));
	BERTH_TRY(only_once(v, &of->seen, type, err));
	BERTH_TRY(berth_json_placed(v, berth_system_figure_check(of->x->key, x, err), err));
	return berth_json_placed(v->up, add_by_type(of->r, of->x, of->d, v->key, x, err), err);
}

static berth_status read_by_type(const berth_json *at, reader *r, by_type *x, int32_t d, berth_err *err)
{
	berth_json map;
	of_device of = {.r = r, .x = x, .d = d};
	berth_strmap_init(&of.seen, r->tmp);
	BERTH_TRY(berth_json_object(at, x->key, false, &map, err));
	x->to->off[d + 1] = x->to->off[d];
	if (!cJSON_GetObjectItemCaseSensitive(map.item, "*"))
		BERTH_TRY(add_by_type(r, x, d, "*", 1, err));
	return berth_json_each(&map, read_one_by_type, &of, err);
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

static berth_status read_class(const berth_json *at, berth_system *s, int32_t d, berth_err *err)
{
	static const char *const name[] = {"gpu", "cpu", "npu"};
	const char *word = NULL;
	int32_t found;
	BERTH_TRY(berth_json_string(at, "class", false, &word, err));
	if (!word)
		return BERTH_OK;
	BERTH_TRY(berth_json_find(at, "class", name, 3, word, "class", "; expected gpu, cpu or npu", &found,
	                          err));
	s->dev_class[d] = (berth_dev_class)(found + 1);
	return BERTH_OK;
}

static berth_status read_device(void *ctx, const berth_json *at, berth_err *err)
{
	static const char *const known[] = {
		"name",         "kind",          "peak_flops", "efficiency", "mem_bandwidth",
		"memory_bytes", "op_overhead_s", "slots",      "runs",       "idle_w",
		"busy_w",       "memory_margin", "contiguous", "host",       "like",
		"class",        "units",         "cache_bytes", "power_w",   "process_nm",
		"scale",        NULL};
	reader *r = ctx;
	berth_system *s = &r->s;
	int32_t d = r->n_read++;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(read_dev_names(at, r, d, err));
	BERTH_TRY(read_class(at, s, d, err));
	BERTH_TRY(read_figures(at, r, BERTH_OF_DEVICE, d, err));
	BERTH_TRY(read_by_type(at, r, &r->efficiency, d, err));
	BERTH_TRY(read_by_type(at, r, &r->scale, d, err));
	BERTH_TRY(berth_json_bool(at, "contiguous", &s->dev_contiguous[d], err));
	BERTH_TRY(read_runs(at, r, d, err));
	return check_watts(at, s->dev_idle_w[d], s->dev_busy_w[d], err);
}

static berth_status alloc_devices(reader *r, int32_t n, berth_err *err)
{
	berth_system *s = &r->s;
	s->n_devs = n;
	BERTH_TRY(new_figures(r, BERTH_OF_DEVICE, n, err));
	BERTH_TRY_NEW(r->mem, n, err, s->dev_name, s->dev_kind, s->dev_host, s->dev_contiguous, s->dev_like,
	              s->dev_class);
	BERTH_TRY_NEW(r->mem, n * BERTH_N_PRECISIONS, err, s->dev_peaks);
	BERTH_TRY_NEW(r->mem, n + 1, err, s->efficiency.off, s->scale.off, s->dev_runs_off);
	r->efficiency = (by_type){.key = "efficiency", .to = &s->efficiency};
	r->scale = (by_type){.key = "scale", .to = &s->scale};
	BERTH_TRY_NEW(r->mem, n, err, s->dev_runs_all);
	BERTH_TRY_NEW(r->mem, n * n, err, s->link_of);
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

/* The link that is next, one direction of an entry of the file. */
static berth_status add_link(const berth_json *at, reader *r, int32_t from, int32_t to, const char *shared,
                             berth_err *err)
{
	berth_system *s = &r->s;
	int32_t *of = &s->link_of[from * s->n_devs + to], l = s->n_links;
	if (*of >= 0)
		return berth_json_fail(at, err,
		                       "a second link from '%.80s' to '%.80s'; an ordered pair has one "
		                       "('both_ways' makes the link back too)",
		                       s->dev_name[from], s->dev_name[to]);
	BERTH_TRY(find_channel(r, shared, &s->link_channel[l], err));
	s->link_from[l] = from;
	s->link_to[l] = to;
	*of = s->n_links++;
	return BERTH_OK;
}

static berth_status read_link(void *ctx, const berth_json *at, berth_err *err)
{
	reader *r = ctx;
	static const char *const known[] = {"from",      "to",     "latency_s",       "bandwidth",
	                                    "both_ways", "shared", "joules_per_byte", NULL};
	int32_t from, to, l = r->s.n_links;
	const char *shared = NULL;
	bool both_ways = false;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(read_end(at, r, "from", &from, err));
	BERTH_TRY(read_end(at, r, "to", &to, err));
	BERTH_TRY(read_figures(at, r, BERTH_OF_LINK, l, err));
	BERTH_TRY(berth_json_bool(at, "both_ways", &both_ways, err));
	BERTH_TRY(berth_json_string(at, "shared", false, &shared, err));
	if (from == to)
		return berth_json_fail(at, err, "link from '%.80s' to itself", r->s.dev_name[from]);
	if (shared && !*shared)
		return berth_json_fail(at, err, "the shared channel's name is empty");
	BERTH_TRY(add_link(at, r, from, to, shared, err));
	if (!both_ways)
		return BERTH_OK;
	BERTH_TRY(add_link(at, r, to, from, shared, err));
	return read_figures(at, r, BERTH_OF_LINK, l + 1, err);
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
	BERTH_TRY(new_figures(r, BERTH_OF_LINK, n + 1, err)); /* one more is read before it is refused */
	BERTH_TRY_NEW(r->mem, n, err, s->link_from, s->link_to, s->link_channel, s->channel_name);
	return berth_json_each(&list, read_link, r, err);
}

/* A word of a table, the first where the key is left out. */
static berth_status read_word(const berth_json *doc, const char *key, const char *const *name, int32_t n,
                              const char *what, const char *tail, int32_t *at, berth_err *err)
{
	const char *word = name[0];
	BERTH_TRY(berth_json_string(doc, key, false, &word, err));
	return berth_json_find(doc, key, name, n, word, what, tail, at, err);
}

static berth_status read_orders(const berth_json *doc, berth_system *s, berth_err *err)
{
	static const char *const order[] = {"priority", "fifo", "program", "given"},
				 *const channel_order[] = {"request", "program"},
				 *const times[] = {"model", "roofline"};
	int32_t at;
	BERTH_TRY(read_word(doc, "times", times, 2, "way to predict times", "; expected model or roofline",
	                    &at, err));
	s->roofline = at == 1;
	BERTH_TRY(read_word(doc, "order", order, 4, "order", "; expected priority, fifo, program or given",
	                    &at, err));
	s->order = (berth_order)at;
	BERTH_TRY(read_word(doc, "channel_order", channel_order, 2, "channel order",
	                    "; expected request or program", &at, err));
	s->channel_order = (berth_channel_order)at;
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

static berth_status read_pool_name(const berth_json *at, reader *r, int32_t i, berth_err *err)
{
	const char *name = NULL;
	int32_t found;
	berth_json v = berth_json_get(at, "name");
	BERTH_TRY(berth_json_string(at, "name", true, &name, err));
	if (!*name)
		return berth_json_fail(&v, err, "the name is empty");
	BERTH_TRY(copy_word(r, name, &r->s.pool_name[i], err));
	BERTH_TRY(berth_strmap_add(&r->pools, r->s.pool_name[i], i, &found, err));
	return found == i ? BERTH_OK
	                  : berth_json_fail(&v, err,
	                                    "two memory pools are named '%.80s'; names must be unique", name);
}

static berth_status read_member(void *ctx, const berth_json *at, berth_err *err)
{
	reader *r = ctx;
	const berth_system *s = &r->s;
	char hint[128];
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected the name of a device");
	const char *name = at->item->valuestring;
	int32_t d = berth_strmap_get(&r->devs, name);
	if (d < 0)
		return berth_json_fail(at, err, "unknown device '%.80s'%s", name,
		                       berth_text_suggest(hint, sizeof hint, name, s->dev_name, s->n_devs));
	if (s->dev_pool[d] >= 0)
		return berth_json_fail(at, err, "device '%.80s' stands twice; a device has one memory pool",
		                       name);
	s->dev_pool[d] = r->n_pools_read;
	return BERTH_OK;
}

static berth_status read_pool(void *ctx, const berth_json *at, berth_err *err)
{
	static const char *const known[] = {"name", "bandwidth", "bytes", "devices", NULL};
	reader *r = ctx;
	berth_system *s = &r->s;
	berth_json list;
	int32_t i = r->n_pools_read;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(read_pool_name(at, r, i, err));
	BERTH_TRY(berth_json_number(at, "bandwidth", true, -INFINITY, &s->pool_bandwidth[i], err));
	BERTH_TRY(read_bytes(at, "bytes", &s->pool_bytes[i], err));
	BERTH_TRY(berth_json_array(at, "devices", true, &list, err));
	BERTH_TRY(berth_json_each(&list, read_member, r, err));
	r->n_pools_read++;
	return berth_json_placed(at, berth_pool_check(s, i, err), err);
}

static berth_status read_pools(const berth_json *doc, reader *r, berth_err *err)
{
	berth_system *s = &r->s;
	berth_json list;
	BERTH_TRY_NEW(r->mem, s->n_devs, err, s->dev_pool);
	for (int32_t d = 0; d < s->n_devs; d++)
		s->dev_pool[d] = -1;
	BERTH_TRY(berth_json_array(doc, "memory_pools", false, &list, err));
	s->n_pools = berth_json_count(&list);
	if (s->n_pools > s->n_devs)
		return berth_json_fail(&list, err, "%d memory pools for %d devices; a device has one at most",
		                       s->n_pools, s->n_devs);
	BERTH_TRY_NEW(r->mem, s->n_pools, err, s->pool_name);
	BERTH_TRY(new_figures(r, BERTH_OF_POOL, s->n_pools, err));
	return berth_json_each(&list, read_pool, r, err);
}

static berth_status read_system(const berth_json *doc, reader *r, berth_err *err)
{
	static const char *const known[] = {"format",   "version",       "name",       "contention",
	                                    "order",    "channel_order", "cost_model", "op_gap_s",
	                                    "devices",  "links",         "memory_pools",
	                                    "times",    NULL};
	const char *name = "";
	berth_json links = berth_json_get(doc, "links");
	BERTH_TRY(berth_json_format(doc, "berth-system", 1, err));
	BERTH_TRY(berth_json_keys(doc, known, err));
	BERTH_TRY(berth_json_string(doc, "name", false, &name, err));
	BERTH_TRY(copy_word(r, name, &r->s.name, err));
	BERTH_TRY(berth_json_bool(doc, "contention", &r->s.contention, err));
	BERTH_TRY(read_orders(doc, &r->s, err));
	BERTH_TRY(read_cost_model(doc, &r->s, err));
	BERTH_TRY(read_gap(doc, &r->s, err));
	BERTH_TRY(read_devices(doc, r, err));
	BERTH_TRY(read_links(doc, r, err));
	BERTH_TRY(read_pools(doc, r, err));
	return berth_json_placed(&links, berth_system_check(&r->s, r->tmp, err), err);
}

berth_status berth_system_parse_json(const char *file, const char *text, size_t size, berth_arena *mem,
                                     berth_arena *tmp, berth_system *out, berth_err *err)
{
	cJSON *doc;
	BERTH_TRY(berth_json_parse_large(file, text, size, &doc, err));
	berth_json at = {doc, file, NULL, NULL, 0};
	BERTH_SCRATCH(tmp);
	reader r = {.mem = mem, .tmp = tmp, .s = {.contention = true, .cost_model = &berth_cost_reference}};
	berth_strmap_init(&r.devs, tmp);
	berth_strmap_init(&r.channels, tmp);
	berth_strmap_init(&r.pools, tmp);
	berth_status st = read_system(&at, &r, err);
	cJSON_Delete(doc);
	if (st == BERTH_OK)
		*out = r.s;
	return st;
}
