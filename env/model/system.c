/* Look-ups in a system and the check of all its invariants; see system.h. */
#include "system.h"

#include "memory_pools.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const char *berth_channel_order_name(berth_channel_order order)
{
	static const char *const name[] = {"request", "program"};
	return name[order];
}

const char *berth_order_name(berth_order order)
{
	static const char *const name[] = {"priority", "fifo", "program", "given"};
	return name[order];
}

int32_t berth_system_find_dev(const berth_system *s, const char *name)
{
	for (int32_t d = 0; d < s->n_devs; d++)
		if (strcmp(s->dev_name[d], name) == 0)
			return d;
	return -1;
}

double berth_system_efficiency(const berth_system *s, int32_t dev, const char *type)
{
	double others = 1;
	for (int32_t i = s->dev_eff_off[dev]; i < s->dev_eff_off[dev + 1]; i++) {
		if (type && strcmp(s->eff_type[i], type) == 0)
			return s->eff_value[i];
		if (strcmp(s->eff_type[i], "*") == 0)
			others = s->eff_value[i];
	}
	return others;
}

bool berth_system_runs(const berth_system *s, int32_t dev, const char *type)
{
	if (s->dev_runs_all[dev])
		return true;
	for (int32_t i = s->dev_runs_off[dev]; type && i < s->dev_runs_off[dev + 1]; i++)
		if (strcmp(s->runs_type[i], type) == 0)
			return true;
	return false;
}

static double plain_s(const berth_system *s, int32_t l, double bytes)
{
	return s->link_latency_s[l] + bytes / s->link_bandwidth[l];
}

bool berth_hop_packed(const berth_system *s, int32_t l, double bytes)
{
	return s->link_packed_latency_s && bytes > 0 &&
	       s->link_packed_latency_s[l] + bytes * s->link_packed_s_per_byte[l] < plain_s(s, l, bytes);
}

double berth_hop_s(const berth_system *s, int32_t l, double bytes)
{
	return berth_hop_packed(s, l, bytes)
	               ? s->link_packed_latency_s[l] + bytes * s->link_packed_s_per_byte[l]
	               : plain_s(s, l, bytes);
}

/* ---- checking ---- */

typedef struct figure_range {
	const char *key;
	double least, most;
} figure_range;

static const figure_range figures[] = {
	{"peak_flops", 1e-9, 1e30},
	{"mem_bandwidth", 1e-9, 1e30},
	{"efficiency", 1e-9, 1e9},
	{"op_overhead_s", 0, 1e6},
	{"op_gap_s", 0, 1e6},
	{"memory_margin", 0, 0.999999},
	{"memory_bytes", 0, 0x1p53},
	{"slots", 1, BERTH_MAX_SLOTS},
	{"idle_w", 0, 1e12},
	{"busy_w", 0, 1e12},
	{"latency_s", 0, 1e6},
	{"bandwidth", 1e-9, 1e30},
	{"joules_per_byte", 0, 1e12},
	{"bytes", 0, 0x1p53},
};

berth_status berth_system_figure_check(const char *key, double x, berth_err *err)
{
	const figure_range *f = figures;
	while (strcmp(f->key, key) != 0) {
		f++;
		assert(f < figures + sizeof figures / sizeof *figures);
	}
	if (x >= f->least && x <= f->most)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT, "%s is %.10g; expected %.10g to %.10g", key, x, f->least,
	                  f->most);
}

/* figure_check where 0 says "not given". */
static berth_status check_given(const char *key, double x, berth_err *err)
{
	return x == 0 ? BERTH_OK : berth_system_figure_check(key, x, err);
}

static berth_status check_watts(double idle_w, double busy_w, berth_err *err)
{
	if (isnan(idle_w) && isnan(busy_w))
		return BERTH_OK;
	BERTH_TRY(berth_system_figure_check("idle_w", idle_w, err));
	BERTH_TRY(berth_system_figure_check("busy_w", busy_w, err));
	if (busy_w < idle_w)
		return berth_fail(err, BERTH_EFORMAT, "busy_w is %.10g, below idle_w, %.10g", busy_w, idle_w);
	return BERTH_OK;
}

static berth_status check_types(const berth_system *s, int32_t d, berth_err *err)
{
	int32_t stars = 0;
	if (s->dev_eff_off[d] > s->dev_eff_off[d + 1] || s->dev_runs_off[d] > s->dev_runs_off[d + 1])
		return berth_fail(err, BERTH_EFORMAT, "offsets of its types fall");
	for (int32_t i = s->dev_eff_off[d]; i < s->dev_eff_off[d + 1]; i++) {
		BERTH_TRY(berth_system_figure_check("efficiency", s->eff_value[i], err));
		stars += strcmp(s->eff_type[i], "*") == 0;
	}
	if (stars != 1)
		return berth_fail(err, BERTH_EFORMAT, "%d efficiencies for '*'; expected one", stars);
	if (s->dev_runs_all[d] && s->dev_runs_off[d] < s->dev_runs_off[d + 1])
		return berth_fail(err, BERTH_EFORMAT, "it runs all types and has a list of types");
	return BERTH_OK;
}

static berth_status check_device(const berth_system *s, int32_t d, berth_err *err)
{
	BERTH_TRY(check_given("peak_flops", s->dev_peak_flops[d], err));
	BERTH_TRY(check_given("mem_bandwidth", s->dev_mem_bandwidth[d], err));
	BERTH_TRY(berth_system_figure_check("op_overhead_s", s->dev_op_overhead_s[d], err));
	if (s->dev_memory_bytes[d] != -1)
		BERTH_TRY(berth_system_figure_check("memory_bytes", (double)s->dev_memory_bytes[d], err));
	BERTH_TRY(berth_system_figure_check("memory_margin", s->dev_memory_margin[d], err));
	BERTH_TRY(berth_system_figure_check("slots", s->dev_slots[d], err));
	BERTH_TRY(check_watts(s->dev_idle_w[d], s->dev_busy_w[d], err));
	return check_types(s, d, err);
}

static berth_status check_devices(const berth_system *s, berth_err *err)
{
	if (s->n_devs < 1 || s->n_devs > BERTH_MAX_DEVS)
		return berth_fail(err, BERTH_EFORMAT, "%d devices; expected 1 to %d", s->n_devs,
		                  BERTH_MAX_DEVS);
	for (int32_t d = 0; d < s->n_devs; d++) {
		if (!s->dev_name[d] || !*s->dev_name[d] || !s->dev_kind[d])
			return berth_fail(err, BERTH_EFORMAT, "device %d has no name or no kind", d);
		if (berth_system_find_dev(s, s->dev_name[d]) != d)
			return berth_fail(err, BERTH_EFORMAT,
			                  "two devices are named '%.80s'; names must be unique",
			                  s->dev_name[d]);
		berth_status st = check_device(s, d, err);
		if (st != BERTH_OK)
			return berth_fail_in(err, st, "device '%.80s': ", s->dev_name[d]);
	}
	return BERTH_OK;
}

static berth_status check_link(const berth_system *s, int32_t l, berth_err *err)
{
	int32_t from = s->link_from[l], to = s->link_to[l];
	if (from < 0 || from >= s->n_devs || to < 0 || to >= s->n_devs || from == to)
		return berth_fail(err, BERTH_EFORMAT, "link %d goes from device %d to %d of %d", l, from, to,
		                  s->n_devs);
	if (s->link_of[from * s->n_devs + to] != l)
		return berth_fail(err, BERTH_EFORMAT, "link %d is not the one link from '%.80s' to '%.80s'",
		                  l, s->dev_name[from], s->dev_name[to]);
	berth_status st = berth_system_figure_check("latency_s", s->link_latency_s[l], err);
	if (st == BERTH_OK)
		st = berth_system_figure_check("bandwidth", s->link_bandwidth[l], err);
	if (st == BERTH_OK)
		st = berth_system_figure_check("joules_per_byte", s->link_joules_per_byte[l], err);
	if (st == BERTH_OK)
		return st;
	return berth_fail_in(err, st, "link from '%.80s' to '%.80s': ", s->dev_name[from], s->dev_name[to]);
}

static berth_status check_links(const berth_system *s, berth_err *err)
{
	int32_t n_pairs = 0, n_seen = 0;
	for (int32_t i = 0; i < s->n_devs * s->n_devs; i++)
		n_pairs += s->link_of[i] >= 0;
	if (n_pairs != s->n_links)
		return berth_fail(err, BERTH_EFORMAT, "%d ordered pairs have a link, there are %d links",
		                  n_pairs, s->n_links);
	for (int32_t l = 0; l < s->n_links; l++) {
		int32_t c = s->link_channel[l];
		BERTH_TRY(check_link(s, l, err));
		if (c < 0 || c > n_seen || c >= s->n_channels || (c < n_seen && !s->channel_name[c]))
			return berth_fail(err, BERTH_EFORMAT,
			                  "link %d: channel %d of %d is out of order or shared without a "
			                  "name",
			                  l, c, s->n_channels);
		n_seen += c == n_seen;
	}
	return n_seen == s->n_channels ? BERTH_OK
	                               : berth_fail(err, BERTH_EFORMAT, "channel %d has no link", n_seen);
}

static berth_status fail_path(const berth_system *s, int32_t from, int32_t to, berth_err *err)
{
	return berth_fail(err, BERTH_EFORMAT, "no path from '%.80s' to '%.80s'; add a link",
	                  s->dev_name[from], s->dev_name[to]);
}

/* Every pair has a path if and only if device 0 reaches all and all reach device 0. */
static berth_status check_paths(const berth_system *s, bool forward, berth_arena *tmp, berth_err *err)
{
	int32_t *stack, n_stack = 0, n = s->n_devs;
	bool *seen;
	BERTH_TRY(BERTH_NEW(tmp, stack, n, err));
	BERTH_TRY(BERTH_NEW(tmp, seen, n, err));
	stack[n_stack++] = 0;
	seen[0] = true;
	while (n_stack) {
		int32_t a = stack[--n_stack];
		for (int32_t b = 0; b < n; b++)
			if (!seen[b] && s->link_of[forward ? a * n + b : b * n + a] >= 0) {
				seen[b] = true;
				stack[n_stack++] = b;
			}
	}
	for (int32_t d = 0; d < n; d++)
		if (!seen[d])
			return forward ? fail_path(s, 0, d, err) : fail_path(s, d, 0, err);
	return BERTH_OK;
}

berth_status berth_system_check(const berth_system *s, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(check_devices(s, err));
	BERTH_TRY(check_links(s, err));
	BERTH_TRY(berth_pools_check(s, err));
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = check_paths(s, true, tmp, err);
	if (st == BERTH_OK)
		st = check_paths(s, false, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}
