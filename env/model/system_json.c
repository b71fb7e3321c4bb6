/* berth-system version 1, read with the place of every error: the whole, its links and its memory pools. */
#include "system_json.h"

#include "cost_model.h"
#include "system_read.h"

/* The device that the member key of at names. */
static berth_status read_end(const berth_json *at, const system_reader *r, const char *key, int32_t *d,
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
static berth_status find_channel(system_reader *r, const char *shared, int32_t *channel, berth_err *err)
{
	berth_system *s = &r->s;
	*channel = shared ? berth_strmap_get(&r->channels, shared) : -1;
	if (*channel >= 0)
		return BERTH_OK;
	*channel = s->n_channels;
	if (shared) {
		BERTH_TRY(system_copy_word(r, shared, &s->channel_name[*channel], err));
		BERTH_TRY(berth_strmap_add(&r->channels, s->channel_name[*channel], *channel, channel, err));
	}
	s->n_channels++;
	return BERTH_OK;
}

/* The link that is next, one direction of an entry of the file. */
static berth_status add_link(const berth_json *at, system_reader *r, int32_t from, int32_t to,
                             const char *shared, berth_err *err)
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
	system_reader *r = ctx;
	static const char *const known[] = {
		"from",      "to",     "latency_s",       "bandwidth",
		"both_ways", "shared", "joules_per_byte", "collective_latency_s", "collective_bandwidth",
		NULL};
	int32_t from, to, l = r->s.n_links;
	const char *shared = NULL;
	bool both_ways = false;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(read_end(at, r, "from", &from, err));
	BERTH_TRY(read_end(at, r, "to", &to, err));
	BERTH_TRY(system_read_figures(at, r, BERTH_OF_LINK, l, err));
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
	return system_read_figures(at, r, BERTH_OF_LINK, l + 1, err);
}

/* A word of a table, the first where the key is left out. */
static berth_status read_word(const berth_json *doc, const char *key, const char *const *name, int32_t n,
                              const char *what, const char *tail, int32_t *at, berth_err *err)
{
	const char *word = name[0];
	BERTH_TRY(berth_json_string(doc, key, false, &word, err));
	return berth_json_find(doc, key, name, n, word, what, tail, at, err);
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
	return system_read_figure(doc, "op_gap_s", BERTH_SECONDS, true, &s->op_gap_s, err);
}

static berth_status read_member(void *ctx, const berth_json *at, berth_err *err)
{
	system_reader *r = ctx;
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
	system_reader *r = ctx;
	berth_system *s = &r->s;
	berth_json list;
	int32_t i = r->n_pools_read;
	BERTH_TRY(berth_json_keys(at, known, err));
	const char *name = NULL;
	int32_t found;
	berth_json v = berth_json_get(at, "name");
	BERTH_TRY(berth_json_string(at, "name", true, &name, err));
	if (!*name)
		return berth_json_fail(&v, err, "the name is empty");
	BERTH_TRY(system_copy_word(r, name, &r->s.pool_name[i], err));
	BERTH_TRY(berth_strmap_add(&r->pools, r->s.pool_name[i], i, &found, err));
	BERTH_TRY(found == i ? BERTH_OK
	                     : berth_json_fail(&v, err,
	                                       "two memory pools are named '%.80s'; names must be unique",
	                                       name));
	BERTH_TRY(system_read_figure(at, "bandwidth", BERTH_BYTES_PER_S, true, &s->pool_bandwidth[i], err));
	BERTH_TRY(system_read_bytes(at, "bytes", &s->pool_bytes[i], err));
	BERTH_TRY(berth_json_array(at, "devices", true, &list, err));
	BERTH_TRY(berth_json_each(&list, read_member, r, err));
	r->n_pools_read++;
	return berth_json_placed(at, berth_pool_check(s, i, err), err);
}

static berth_status read_pools(const berth_json *doc, system_reader *r, berth_err *err)
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
	BERTH_TRY(system_new_figures(r, BERTH_OF_POOL, s->n_pools, err));
	return berth_json_each(&list, read_pool, r, err);
}

static berth_status read_system(const berth_json *doc, system_reader *r, berth_err *err)
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
	BERTH_TRY(system_copy_word(r, name, &r->s.name, err));
	BERTH_TRY(berth_json_bool(doc, "contention", &r->s.contention, err));
	static const char *const order[] = {"priority", "fifo", "program", "given"},
				 *const channel_order[] = {"request", "program"},
				 *const times[] = {"model", "roofline"};
	int32_t at;
	BERTH_TRY(read_word(doc, "times", times, 2, "way to predict times", "; expected model or roofline",
	                    &at, err));
	r->s.roofline = at == 1;
	BERTH_TRY(read_word(doc, "order", order, 4, "order", "; expected priority, fifo, program or given",
	                    &at, err));
	r->s.order = (berth_order)at;
	BERTH_TRY(read_word(doc, "channel_order", channel_order, 2, "channel order",
	                    "; expected request or program", &at, err));
	r->s.channel_order = (berth_channel_order)at;
	BERTH_TRY(read_cost_model(doc, &r->s, err));
	BERTH_TRY(read_gap(doc, &r->s, err));
	BERTH_TRY(system_read_devices(doc, r, err));
	berth_json list;
	berth_system *s = &r->s;
	int32_t n = s->n_devs * (s->n_devs - 1); /* at most: one per ordered pair */
	BERTH_TRY(berth_json_array(doc, "links", false, &list, err));
	int32_t n_entries = berth_json_count(&list);
	if (n_entries < n / 2)
		n = 2 * n_entries;
	/* one more is read before it is refused */
	BERTH_TRY(system_new_figures(r, BERTH_OF_LINK, n + 1, err));
	BERTH_TRY_NEW(r->mem, n, err, s->link_from, s->link_to, s->link_channel, s->channel_name);
	BERTH_TRY(berth_json_each(&list, read_link, r, err));
	BERTH_TRY(read_pools(doc, r, err));
	return berth_json_placed(&links, berth_system_check(&r->s, r->tmp, err), err);
}

berth_status berth_system_parse_json(const char *file, const char *text, size_t size, berth_arena *mem,
                                     berth_arena *tmp, berth_system *out, berth_err *err)
{
	BERTH_JSON_DOC(at);
	BERTH_TRY(berth_json_open_doc(file, text, size, &at, err));
	BERTH_SCRATCH(tmp);
	system_reader r = {
		.mem = mem, .tmp = tmp, .s = {.contention = true, .cost_model = &berth_cost_reference}};
	berth_strmap_init(&r.devs, tmp);
	berth_strmap_init(&r.channels, tmp);
	berth_strmap_init(&r.pools, tmp);
	BERTH_TRY(read_system(&at, &r, err));
	*out = r.s;
	return BERTH_OK;
}
