/* Memory pools in and out of system files, and their check; see memory_pools.h. */
#include "memory_pools.h"

#include "cost_model.h"
#include "json.h"

#include <math.h>
#include <string.h>

int32_t berth_system_find_pool(const berth_system *s, const char *name)
{
	for (int32_t i = 0; i < s->n_pools; i++)
		if (strcmp(s->pool_name[i], name) == 0)
			return i;
	return -1;
}

/* ---- checking ---- */

static berth_status check_member(const berth_system *s, int32_t i, int32_t d, berth_err *err)
{
	if (s->dev_mem_bandwidth[d] > s->pool_bandwidth[i])
		return berth_fail(err, BERTH_EFORMAT,
		                  "bandwidth is %.10g, below the mem_bandwidth of device '%.80s', %.10g",
		                  s->pool_bandwidth[i], s->dev_name[d], s->dev_mem_bandwidth[d]);
	if (s->pool_bytes[i] >= 0 && s->dev_memory_bytes[d] > s->pool_bytes[i])
		return berth_fail(err, BERTH_EFORMAT,
		                  "bytes is %lld, below the memory_bytes of device '%.80s', %lld",
		                  (long long)s->pool_bytes[i], s->dev_name[d],
		                  (long long)s->dev_memory_bytes[d]);
	return BERTH_OK;
}

static berth_status check_pool(const berth_system *s, int32_t i, berth_err *err)
{
	int32_t n_members = 0;
	if (s->cost_model != &berth_cost_reference)
		return berth_fail(err, BERTH_EFORMAT,
		                  "cost model '%s' knows no memory pools; remove them, or the cost model",
		                  s->cost_model->name);
	BERTH_TRY(berth_system_figure_check("bandwidth", s->pool_bandwidth[i], err));
	if (s->pool_bytes[i] != -1)
		BERTH_TRY(berth_system_figure_check("bytes", (double)s->pool_bytes[i], err));
	for (int32_t d = 0; d < s->n_devs; d++)
		if (s->dev_pool[d] == i) {
			BERTH_TRY(check_member(s, i, d, err));
			n_members++;
		}
	return n_members ? BERTH_OK
	                 : berth_fail(err, BERTH_EFORMAT, "it has no device; expected at least one");
}

berth_status berth_pools_check(const berth_system *s, berth_err *err)
{
	for (int32_t d = 0; d < s->n_devs; d++)
		if (s->dev_pool[d] < -1 || s->dev_pool[d] >= s->n_pools)
			return berth_fail(err, BERTH_EFORMAT, "device '%.80s' is in memory pool %d of %d",
			                  s->dev_name[d], s->dev_pool[d], s->n_pools);
	for (int32_t i = 0; i < s->n_pools; i++) {
		if (!s->pool_name[i] || !*s->pool_name[i])
			return berth_fail(err, BERTH_EFORMAT, "memory pool %d has no name", i);
		if (berth_system_find_pool(s, s->pool_name[i]) != i)
			return berth_fail(err, BERTH_EFORMAT,
			                  "two memory pools are named '%.80s'; names must be unique",
			                  s->pool_name[i]);
		berth_status st = check_pool(s, i, err);
		if (st != BERTH_OK)
			return berth_fail_in(err, st, "memory pool '%.80s': ", s->pool_name[i]);
	}
	return BERTH_OK;
}

/* ---- reading ---- */

static berth_status read_name(const berth_json *at, berth_strmap *names, int32_t i, berth_arena *mem,
                              berth_system *s, berth_err *err)
{
	const char *name = NULL;
	int32_t found;
	berth_json v = berth_json_get(at, "name");
	BERTH_TRY(berth_json_string(at, "name", true, &name, err));
	if (!*name)
		return berth_json_fail(&v, err, "the name is empty");
	if (!(s->pool_name[i] = berth_arena_strdup(mem, name)))
		return berth_nomem(err);
	BERTH_TRY(berth_strmap_add(names, s->pool_name[i], i, &found, err));
	return found == i ? BERTH_OK
	                  : berth_json_fail(&v, err,
	                                    "two memory pools are named '%.80s'; names must be unique", name);
}

static berth_status read_bytes(const berth_json *at, int64_t *out, berth_err *err)
{
	berth_json v = berth_json_get(at, "bytes");
	*out = -1;
	return cJSON_IsNull(v.item) ? BERTH_OK : berth_json_bytes(at, "bytes", false, out, err);
}

typedef struct reader {
	const berth_strmap *devs;
	berth_strmap names;
	berth_arena *mem;
	berth_system *s;
	int32_t pool; /* at hand */
} reader;

static berth_status read_member(void *ctx, const berth_json *at, berth_err *err)
{
	const reader *r = ctx;
	const berth_system *s = r->s;
	char hint[128];
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected the name of a device");
	const char *name = at->item->valuestring;
	int32_t d = berth_strmap_get(r->devs, name);
	if (d < 0)
		return berth_json_fail(at, err, "unknown device '%.80s'%s", name,
		                       berth_text_suggest(hint, sizeof hint, name, s->dev_name, s->n_devs));
	if (s->dev_pool[d] >= 0)
		return berth_json_fail(at, err, "device '%.80s' stands twice; a device has one memory pool",
		                       name);
	s->dev_pool[d] = r->pool;
	return BERTH_OK;
}

static berth_status read_pool(void *ctx, const berth_json *at, berth_err *err)
{
	static const char *const known[] = {"name", "bandwidth", "bytes", "devices", NULL};
	reader *r = ctx;
	berth_system *s = r->s;
	berth_json list;
	int32_t i = r->pool;
	BERTH_TRY(berth_json_keys(at, known, err));
	BERTH_TRY(read_name(at, &r->names, i, r->mem, s, err));
	BERTH_TRY(berth_json_number(at, "bandwidth", true, -INFINITY, &s->pool_bandwidth[i], err));
	BERTH_TRY(read_bytes(at, &s->pool_bytes[i], err));
	BERTH_TRY(berth_json_array(at, "devices", true, &list, err));
	BERTH_TRY(berth_json_each(&list, read_member, r, err));
	r->pool++;
	return berth_json_placed(at, check_pool(s, i, err), err);
}

berth_status berth_pools_read(const berth_json *doc, const berth_strmap *devs, berth_arena *mem,
                              berth_arena *tmp, berth_system *s, berth_err *err)
{
	berth_json list;
	reader r = {.devs = devs, .mem = mem, .s = s};
	BERTH_TRY(BERTH_NEW(mem, s->dev_pool, s->n_devs, err));
	for (int32_t d = 0; d < s->n_devs; d++)
		s->dev_pool[d] = -1;
	BERTH_TRY(berth_json_array(doc, "memory_pools", false, &list, err));
	s->n_pools = berth_json_count(&list);
	if (s->n_pools > s->n_devs)
		return berth_json_fail(&list, err, "%d memory pools for %d devices; a device has one at most",
		                       s->n_pools, s->n_devs);
	BERTH_TRY(BERTH_NEW(mem, s->pool_name, s->n_pools, err));
	BERTH_TRY(BERTH_NEW(mem, s->pool_bandwidth, s->n_pools, err));
	BERTH_TRY(BERTH_NEW(mem, s->pool_bytes, s->n_pools, err));
	berth_strmap_init(&r.names, tmp);
	return berth_json_each(&list, read_pool, &r, err);
}

/* ---- writing ---- */

static void write_pool(const berth_system *s, int32_t i, berth_json_out *w)
{
	berth_json_open(w, NULL, '{');
	berth_json_flat(w, true);
	berth_json_put_string(w, "name", s->pool_name[i]);
	berth_json_put_number(w, "bandwidth", s->pool_bandwidth[i]);
	if (s->pool_bytes[i] >= 0)
		berth_json_put_int(w, "bytes", s->pool_bytes[i]);
	berth_json_open(w, "devices", '[');
	for (int32_t d = 0; d < s->n_devs; d++)
		if (s->dev_pool[d] == i)
			berth_json_put_string(w, NULL, s->dev_name[d]);
	berth_json_close(w, ']');
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

void berth_pools_write(const berth_system *s, berth_json_out *w)
{
	if (!s->n_pools)
		return;
	berth_json_open(w, "memory_pools", '[');
	for (int32_t i = 0; i < s->n_pools; i++)
		write_pool(s, i, w);
	berth_json_close(w, ']');
}
