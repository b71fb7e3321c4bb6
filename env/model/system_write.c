/* berth-system version 1, written in canonical form, and its digest. */
#include "system_json.h"

#include "engine_rules.h"
#include "sha256.h"

static void put_given(berth_json_out *w, const char *key, double x)
{
	if (x > 0)
		berth_json_put_number(w, key, x);
}

/* by_default: what a file has that leaves the key out. */
static void write_by_type(const berth_by_type *x, const char *key, int32_t d, bool by_default,
                          berth_json_out *w)
{
	int32_t first = x->off[d], end = x->off[d + 1];
	if (by_default && end == first + 1 && x->value[first] == 1) /* "*" alone, at 1 */
		return;
	berth_json_open(w, key, '{');
	for (int32_t i = first; i < end; i++)
		berth_json_put_number(w, x->type[i], x->value[i]);
	berth_json_close(w, '}');
}

static void write_peaks(const berth_system *s, int32_t d, berth_json_out *w)
{
	const double *peak = &s->dev_peaks[d * BERTH_N_PRECISIONS];
	bool any = s->dev_like[d] != NULL; /* else those of the other device would be left */
	for (int p = 0; p < BERTH_N_PRECISIONS; p++)
		any = any || peak[p] > 0;
	if (!any) {
		put_given(w, "peak_flops", s->dev_peak_flops[d]);
		return;
	}
	berth_json_open(w, "peak_flops", '{');
	for (int p = 0; p < BERTH_N_PRECISIONS; p++)
		put_given(w, berth_precision_name((berth_precision)p),
		          p == BERTH_F32 ? s->dev_peak_flops[d] : peak[p]);
	berth_json_close(w, '}');
}

static void write_runs(const berth_system *s, int32_t d, berth_json_out *w)
{
	if (s->dev_runs_all[d])
		return;
	berth_json_open(w, "runs", '[');
	BERTH_EACH (i, s->dev_runs_off, d)
		berth_json_put_string(w, NULL, s->runs_type[i]);
	berth_json_close(w, ']');
}

/* Where a device is like another one, what is left out would be that one's. */
static void write_device(const berth_system *s, int32_t d, berth_json_out *w)
{
	bool like = s->dev_like[d] != NULL;
	berth_json_open(w, NULL, '{');
	berth_json_flat(w, true);
	berth_json_put_string(w, "name", s->dev_name[d]);
	if (like || strcmp(s->dev_kind[d], s->dev_name[d]) != 0)
		berth_json_put_string(w, "kind", s->dev_kind[d]);
	if (s->dev_host[d])
		berth_json_put_string(w, "host", s->dev_host[d]);
	if (like)
		berth_json_put_string(w, "like", s->dev_like[d]);
	write_peaks(s, d, w);
	write_by_type(&s->efficiency, "efficiency", d, !like, w);
	put_given(w, "mem_bandwidth", s->dev_mem_bandwidth[d]);
	if (s->dev_memory_bytes[d] < 0)
		berth_json_put_null(w, "memory_bytes");
	else
		berth_json_put_int(w, "memory_bytes", s->dev_memory_bytes[d]);
	put_given(w, "memory_margin", s->dev_memory_margin[d]);
	if (s->dev_contiguous[d])
		berth_json_put_bool(w, "contiguous", true);
	if (like || s->dev_op_overhead_s[d] > 0)
		berth_json_put_number(w, "op_overhead_s", s->dev_op_overhead_s[d]);
	if (s->dev_slots[d] != 1)
		berth_json_put_int(w, "slots", s->dev_slots[d]);
	/* By what its times are predicted. */
	if (s->dev_class[d])
		berth_json_put_string(w, "class", berth_device_class_name(s->dev_class[d]));
	if (s->dev_units[d])
		berth_json_put_int(w, "units", s->dev_units[d]);
	if (s->dev_lanes[d])
		berth_json_put_int(w, "lanes", s->dev_lanes[d]);
	put_given(w, "cache_bytes", s->dev_cache_bytes[d]);
	put_given(w, "fresh_bandwidth", s->dev_fresh_bandwidth[d]);
	put_given(w, "power_w", s->dev_power_w[d]);
	put_given(w, "process_nm", s->dev_process_nm[d]);
	write_by_type(&s->scale, "scale", d, true, w);
	if (s->dev_calibrated[d])
		berth_json_put_string(w, "calibrated", s->dev_calibrated[d]);
	write_runs(s, d, w);
	if (!isnan(s->dev_idle_w[d])) {
		berth_json_put_number(w, "idle_w", s->dev_idle_w[d]);
		berth_json_put_number(w, "busy_w", s->dev_busy_w[d]);
	}
	if (!isnan(s->dev_price_h[d]))
		berth_json_put_number(w, "price_h", s->dev_price_h[d]);
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

/* Would one entry with "both_ways" read back as the links l and l + 1? */
static bool folds(const berth_system *s, int32_t l)
{
	int32_t b = l + 1;
	if (b >= s->n_links || s->link_from[b] != s->link_to[l] || s->link_to[b] != s->link_from[l])
		return false;
	if (!berth_system_figures_same(s, BERTH_OF_LINK, b, l))
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
	if (!isnan(s->link_collective_latency_s[l]))
		berth_json_put_number(w, "collective_latency_s", s->link_collective_latency_s[l]);
	if (!isnan(s->link_collective_bandwidth[l]))
		berth_json_put_number(w, "collective_bandwidth", s->link_collective_bandwidth[l]);
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

static void write_pools(const berth_system *s, berth_json_out *w)
{
	if (!s->n_pools)
		return;
	berth_json_open(w, "memory_pools", '[');
	for (int32_t i = 0; i < s->n_pools; i++) {
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
	if (s->cost_model != &berth_cost_reference && !(s->engine && s->engine->cost))
		berth_json_put_string(&w, "cost_model", s->cost_model->name);
	if (s->roofline)
		berth_json_put_string(&w, "times", "roofline");
	if (s->cost_model->op_gap_s > 0)
		berth_json_put_number(&w, "op_gap_s", s->op_gap_s);
	berth_json_open(&w, "devices", '[');
	for (int32_t d = 0; d < s->n_devs; d++)
		write_device(s, d, &w);
	berth_json_close(&w, ']');
	if (s->n_links) {
		berth_json_open(&w, "links", '[');
		for (int32_t l = 0; l < s->n_links; l++) {
			bool both_ways = folds(s, l);
			write_link(s, l, both_ways, &w);
			l += both_ways;
		}
		berth_json_close(&w, ']');
	}
	write_pools(s, &w);
	berth_json_close(&w, '}');
	return berth_json_done(&w, text, len, err);
}

berth_status berth_system_sha256(const berth_system *s, berth_arena *tmp, char hex[65], berth_err *err)
{
	const char *text;
	size_t len;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_system_write_json(s, false, tmp, &text, &len, err));
	berth_sha256_hex(text, len, hex);
	return BERTH_OK;
}
