/* Look-ups in a system, its figures by their keys, and the check of all its invariants. */
#include "system.h"

#include "cost_model.h"

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

bool berth_system_is(const berth_system *s, int32_t dev, const char *begins)
{
	const char *class = berth_device_class_name(s->dev_class[dev]);
	const size_t n = strlen(begins);
	return strncmp(s->dev_kind[dev], begins, n) == 0 || strncmp(s->dev_name[dev], begins, n) == 0 ||
	       (class && strcmp(class, begins) == 0);
}

int32_t berth_system_find_pool(const berth_system *s, const char *name)
{
	for (int32_t i = 0; i < s->n_pools; i++)
		if (strcmp(s->pool_name[i], name) == 0)
			return i;
	return -1;
}

double berth_by_type_get(const berth_by_type *x, int32_t dev, const char *type)
{
	double others = 1;
	BERTH_EACH (i, x->off, dev) {
		if (type && strcmp(x->type[i], type) == 0)
			return x->value[i];
		if (strcmp(x->type[i], "*") == 0)
			others = x->value[i];
	}
	return others;
}

double berth_system_peak(const berth_system *s, int32_t dev, berth_precision p, berth_precision *used)
{
	const double *peak = &s->dev_peaks[dev * BERTH_N_PRECISIONS];
	*used = p ? p : BERTH_F32;
	while (*used != BERTH_F32 && !(peak[*used] > 0))
		*used = berth_precision_fallback(*used);
	return *used == BERTH_F32 ? s->dev_peak_flops[dev] : peak[*used];
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

bool berth_system_has_collectives(const berth_system *s)
{
	bool has = false;
	for (int32_t l = 0; l < s->n_links && !has; l++)
		has = !isnan(s->link_collective_latency_s[l]) || !isnan(s->link_collective_bandwidth[l]);
	return has;
}

void berth_collective_figures(const berth_system *s, int32_t l, double *latency_s, double *bandwidth)
{
	const double *own_s = s->link_collective_latency_s, *own = s->link_collective_bandwidth;
	*latency_s = isnan(own_s[l]) ? s->link_latency_s[l] : own_s[l];
	*bandwidth = isnan(own[l]) ? s->link_bandwidth[l] : own[l];
}

double berth_collective_hop_s(const berth_system *s, int32_t l, double bytes)
{
	double latency_s, bandwidth;
	berth_collective_figures(s, l, &latency_s, &bandwidth);
	return latency_s + bytes / bandwidth;
}

/* ---- checking ---- */

/* In the order of files. */
#define OF_DEVICE(key, type) #key, BERTH_OF_DEVICE, BERTH_FIGURE_##type, offsetof(berth_system, dev_##key)
#define OF_LINK(key) #key, BERTH_OF_LINK, BERTH_FIGURE_NUMBER, offsetof(berth_system, link_##key)
#define OF_POOL(key, type) #key, BERTH_OF_POOL, BERTH_FIGURE_##type, offsetof(berth_system, pool_##key)

const berth_system_figure berth_system_figures[BERTH_N_FIGURES] = {
	{OF_DEVICE(peak_flops, NUMBER), 1e-9, 1e30, 0, true, BERTH_FLOPS_PER_S},
	{OF_DEVICE(mem_bandwidth, NUMBER), 1e-9, 1e30, 0, true, BERTH_BYTES_PER_S},
	{OF_DEVICE(op_overhead_s, NUMBER), 0, 1e6, 0, false, BERTH_SECONDS},
	{OF_DEVICE(memory_bytes, BYTES), 0, 0x1p53, -1, true, BERTH_BYTES},
	{OF_DEVICE(memory_margin, NUMBER), 0, 0.999999, 0, false, BERTH_PLAIN},
	{OF_DEVICE(slots, COUNT), 1, BERTH_MAX_SLOTS, 1, false, BERTH_PLAIN},
	{OF_DEVICE(idle_w, NUMBER), 0, 1e12, NAN, true, BERTH_WATTS},
	{OF_DEVICE(busy_w, NUMBER), 0, 1e12, NAN, true, BERTH_WATTS},
	{OF_DEVICE(price_h, NUMBER), 0, 1e12, NAN, true, BERTH_PLAIN},
	{OF_DEVICE(units, COUNT), 1, 1 << 20, 0, true, BERTH_PLAIN},
	{OF_DEVICE(lanes, COUNT), 1, 1 << 20, 0, true, BERTH_PLAIN},
	{OF_DEVICE(cache_bytes, NUMBER), 1, 0x1p53, 0, true, BERTH_BYTES},
	{OF_DEVICE(fresh_bandwidth, NUMBER), 1e-9, 1e30, 0, true, BERTH_BYTES_PER_S},
	{OF_DEVICE(power_w, NUMBER), 1e-3, 1e6, 0, true, BERTH_WATTS},
	{OF_DEVICE(process_nm, NUMBER), 0.1, 1e4, 0, true, BERTH_PLAIN},
	{OF_LINK(latency_s), 0, 1e6, 0, false, BERTH_SECONDS},
	{OF_LINK(bandwidth), 1e-9, 1e30, 0, false, BERTH_BYTES_PER_S},
	{OF_LINK(joules_per_byte), 0, 1e12, 0, false, BERTH_JOULES_PER_BYTE},
	{OF_LINK(collective_latency_s), 0, 1e6, NAN, true, BERTH_SECONDS},
	{OF_LINK(collective_bandwidth), 1e-9, 1e30, NAN, true, BERTH_BYTES_PER_S},
	{OF_POOL(bandwidth, NUMBER), 1e-9, 1e30, 0, false, BERTH_BYTES_PER_S},
	{OF_POOL(bytes, BYTES), 0, 0x1p53, -1, true, BERTH_BYTES},
	{.key = "efficiency", .of = BERTH_OF_OTHERS, .least = 1e-9, .most = 1e9},
	{.key = "scale", .of = BERTH_OF_OTHERS, .least = 1e-3, .most = 1e3},
	{.key = "op_gap_s", .of = BERTH_OF_OTHERS, .least = 0, .most = 1e6},
};

static void *array_of(const berth_system *s, const berth_system_figure *f)
{
	void *array;
	memcpy(&array, (const char *)s + f->array, sizeof array);
	return array;
}

double berth_system_figure_get(const berth_system *s, const berth_system_figure *f, int32_t i)
{
	const void *array = array_of(s, f);
	return f->type == BERTH_FIGURE_NUMBER  ? ((const double *)array)[i]
	       : f->type == BERTH_FIGURE_BYTES ? (double)((const int64_t *)array)[i]
	                                       : ((const int32_t *)array)[i];
}

void berth_system_figure_set(berth_system *s, const berth_system_figure *f, int32_t i, double x)
{
	void *array = array_of(s, f);
	if (f->type == BERTH_FIGURE_NUMBER)
		((double *)array)[i] = x;
	else if (f->type == BERTH_FIGURE_BYTES)
		((int64_t *)array)[i] = (int64_t)x;
	else
		((int32_t *)array)[i] = (int32_t)x;
}

bool berth_system_figure_given(const berth_system_figure *f, double x)
{
	return !isnan(x) && !(f->optional && x == f->absent);
}

bool berth_system_figures_same(const berth_system *s, int of, int32_t a, int32_t b)
{
	for (const berth_system_figure *f = berth_system_figures; f < berth_system_figures + BERTH_N_FIGURES;
	     f++) {
		double x = (int)f->of == of ? berth_system_figure_get(s, f, a) : 0,
		       y = (int)f->of == of ? berth_system_figure_get(s, f, b) : 0;
		if (x != y && !(isnan(x) && isnan(y)))
			return false;
	}
	return true;
}

berth_status berth_system_figure_new(berth_system *s, const berth_system_figure *f, int32_t n,
                                     const berth_system *from, berth_arena *mem, berth_err *err)
{
	void *array = berth_arena_alloc(mem, (size_t)n, f->type == BERTH_FIGURE_COUNT ? sizeof(int32_t) : 8);
	BERTH_TRY(berth_got(array, err));
	memcpy((char *)s + f->array, &array, sizeof array);
	for (int32_t i = 0; i < n; i++)
		berth_system_figure_set(s, f, i, from ? berth_system_figure_get(from, f, i) : f->absent);
	return BERTH_OK;
}

berth_status berth_system_figure_check(const char *key, double x, berth_err *err)
{
	const berth_system_figure *f = berth_system_figures;
	while (strcmp(f->key, key) != 0) {
		f++;
		assert(f < berth_system_figures + BERTH_N_FIGURES);
	}
	if (x >= f->least && x <= f->most)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT, "%s is %.10g; expected %.10g to %.10g", key, x, f->least,
	                  f->most);
}

/* All figures of device, link or pool i that are given. */
static berth_status check_figures(const berth_system *s, int of, int32_t i, berth_err *err)
{
	for (const berth_system_figure *f = berth_system_figures; f < berth_system_figures + BERTH_N_FIGURES;
	     f++)
		if ((int)f->of == of &&
		    (!f->optional || berth_system_figure_given(f, berth_system_figure_get(s, f, i))))
			BERTH_TRY(berth_system_figure_check(f->key, berth_system_figure_get(s, f, i), err));
	return BERTH_OK;
}

static berth_status check_watts(double idle_w, double busy_w, berth_err *err)
{
	if (isnan(idle_w) != isnan(busy_w))
		return berth_system_figure_check(isnan(idle_w) ? "idle_w" : "busy_w", NAN, err);
	if (busy_w < idle_w)
		return berth_fail(err, BERTH_EFORMAT, "busy_w is %.10g, below idle_w, %.10g", busy_w, idle_w);
	return BERTH_OK;
}

static berth_status check_by_type(const berth_by_type *x, const char *key, int32_t d, berth_err *err)
{
	int32_t stars = 0;
	if (x->off[d] > x->off[d + 1])
		return berth_fail(err, BERTH_EFORMAT, "offsets of its types fall");
	BERTH_EACH (i, x->off, d) {
		BERTH_TRY(berth_system_figure_check(key, x->value[i], err));
		stars += strcmp(x->type[i], "*") == 0;
	}
	return stars == 1 ? BERTH_OK
	                  : berth_fail(err, BERTH_EFORMAT, "%d of %s for '*'; expected one", stars, key);
}

static berth_status check_device(const berth_system *s, int32_t d, berth_err *err)
{
	BERTH_TRY(check_figures(s, BERTH_OF_DEVICE, d, err));
	/* Peaks of other precisions, which no table of figures has. */
	for (int p = 0; p < BERTH_N_PRECISIONS; p++)
		if (s->dev_peaks[d * BERTH_N_PRECISIONS + p] != 0)
			BERTH_TRY(berth_system_figure_check("peak_flops",
			                                    s->dev_peaks[d * BERTH_N_PRECISIONS + p], err));
	BERTH_TRY(check_watts(s->dev_idle_w[d], s->dev_busy_w[d], err));
	BERTH_TRY(check_by_type(&s->efficiency, "efficiency", d, err));
	BERTH_TRY(check_by_type(&s->scale, "scale", d, err));
	if (s->dev_runs_off[d] > s->dev_runs_off[d + 1])
		return berth_fail(err, BERTH_EFORMAT, "offsets of its types fall");
	if (s->dev_runs_all[d] && s->dev_runs_off[d] < s->dev_runs_off[d + 1])
		return berth_fail(err, BERTH_EFORMAT, "it runs all types and has a list of types");
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
	berth_status st = check_figures(s, BERTH_OF_LINK, l, err);
	if (st == BERTH_OK)
		return st;
	return berth_fail_in(err, st, "link from '%.80s' to '%.80s': ", s->dev_name[from], s->dev_name[to]);
}

static berth_status check_member(const berth_system *s, int32_t i, int32_t d, berth_err *err)
{
	if (s->dev_mem_bandwidth[d] > s->pool_bandwidth[i])
		return berth_fail(err, BERTH_EFORMAT,
		                  "bandwidth is %.10g, below the mem_bandwidth of device '%.80s', %.10g",
		                  s->pool_bandwidth[i], s->dev_name[d], s->dev_mem_bandwidth[d]);
	if (s->pool_bytes[i] >= 0 && s->dev_memory_bytes[d] > s->pool_bytes[i])
		return berth_fail(
			err, BERTH_EFORMAT, "bytes is %lld, below the memory_bytes of device '%.80s', %lld",
			(long long)s->pool_bytes[i], s->dev_name[d], (long long)s->dev_memory_bytes[d]);
	return BERTH_OK;
}

berth_status berth_pool_check(const berth_system *s, int32_t i, berth_err *err)
{
	int32_t n_members = 0;
	if (s->cost_model->run && !s->cost_model->sums_times)
		return berth_fail(err, BERTH_EFORMAT,
		                  "cost model '%s' knows no memory pools; remove them, or the cost model",
		                  s->cost_model->name);
	BERTH_TRY(check_figures(s, BERTH_OF_POOL, i, err));
	for (int32_t d = 0; d < s->n_devs; d++)
		if (s->dev_pool[d] == i) {
			BERTH_TRY(check_member(s, i, d, err));
			n_members++;
		}
	return n_members ? BERTH_OK
	                 : berth_fail(err, BERTH_EFORMAT, "it has no device; expected at least one");
}

/* Names are there and unique, figures in range, each pool has a member. A member's mem_bandwidth is at most
 * the pool's, its memory_bytes are at most the pool's. Only the reference cost model knows of pools.
 * Fails: BERTH_EFORMAT, naming the pool. O(pools * (pools + devices)). */
static berth_status check_pools(const berth_system *s, berth_err *err)
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
		berth_status st = berth_pool_check(s, i, err);
		if (st != BERTH_OK)
			return berth_fail_in(err, st, "memory pool '%.80s': ", s->pool_name[i]);
	}
	return BERTH_OK;
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
	BERTH_TRY_NEW(tmp, n, err, stack, seen);
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
	BERTH_TRY(n_seen == s->n_channels ? BERTH_OK
	                                  : berth_fail(err, BERTH_EFORMAT, "channel %d has no link", n_seen));
	BERTH_TRY(check_pools(s, err));
	BERTH_SCRATCH(tmp);
	BERTH_TRY(check_paths(s, true, tmp, err));
	return check_paths(s, false, tmp, err);
}
