/* Random instances (instance.h). A world is drawn key by key; what depends on it (which operator runs where,
 * the placement) is read back from the world, not from the texts. */
#include "instance.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N_OPS = INSTANCE_MAX_OPS, N_DEV = INSTANCE_MAX_DEVICES, N_TENSOR_NAMES = 6, N_TYPES = 4, N_KINDS = 3 };

/* NULL: the key is left out. Bytewise order differs from the order here, from the alphabet's and from signed
 * characters'. */
static const char *const tensor_names[N_TENSOR_NAMES] = { NULL, "b", "\xc3\xa9", "B", "a", "aa" };
static const char *const type_names[N_TYPES] = { NULL, "Conv", "Gemm", "Relu" };
static const char *const kind_names[N_KINDS] = { "cpu", "gpu", "npu" };

typedef struct string {
	char *text;
	size_t length, room;
} string;

typedef struct world {
	uint64_t random;
	const uint8_t *bytes; /* draws that are given; their end */
	const uint8_t *end;
	bool ticks;  /* durations are small whole nanoseconds */
	bool pooled; /* there are memory pools */
	double mem_bandwidth[N_DEV];
	long long memory_bytes[N_DEV]; /* 0: no limit */
	int n_ops, n_devices;
	char op_name[N_OPS][16], device_name[N_DEV][16];
	const char *device_kind[N_DEV];
	bool has_roofline[N_DEV], limits_types[N_DEV], runs_type[N_DEV][N_TYPES];
	int op_type[N_OPS], op_group[N_OPS], op_pin[N_OPS]; /* group 0 and pin -1: none */
	bool can_run[N_OPS][N_DEV], forbidden[N_OPS][N_DEV];
	int hidden_order[N_OPS]; /* the operators in one topological order */
	bool follows[N_OPS][N_OPS]; /* [consumer][producer] */
	bool order_is_given;
} world;

/* ---- random numbers (splitmix64: Steele, Lea & Flood 2014) and text ---- */

static uint64_t draw(world *w)
{
	if (w->bytes < w->end)
		return *w->bytes++;
	uint64_t z = w->random += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static int below(world *w, int n)
{
	return (int)(draw(w) % (uint64_t)n);
}

static bool chance(world *w, int percent)
{
	return below(w, 100) < percent;
}

static void shuffle(world *w, int n, int a[])
{
	for (int i = 0; i < n; i++) {
		int j = below(w, i + 1);
		if (j < i)
			a[i] = a[j];
		a[j] = i;
	}
}

static void put(string *s, const char *format, ...)
{
	for (;;) {
		va_list arguments;
		va_start(arguments, format);
		int n = vsnprintf(s->text ? s->text + s->length : NULL, s->room - s->length, format,
		                  arguments);
		va_end(arguments);
		if (n < 0)
			abort();
		if (s->length + (size_t)n < s->room) {
			s->length += (size_t)n;
			return;
		}
		s->room = 2 * s->room + (size_t)n + 1;
		s->text = realloc(s->text, s->room);
		if (!s->text)
			abort();
	}
}

static void put_list(string *s, bool *first, const char *word) /* one more string of a JSON list */
{
	put(s, "%s\"%s\"", *first ? "" : ",", word);
	*first = false;
}

/* ---- quantities: a tick is a nanosecond; all rates are a unit a nanosecond, its half or its double ---- */

static int few(world *w)
{
	return chance(w, 30) ? 0 : below(w, 5);
}

static double time_s(world *w)
{
	return w->ticks ? few(w) * 1e-9 : (chance(w, 10) ? 0 : below(w, 1000000) * 1.37e-9);
}

static double rate_per_s(world *w)
{
	static const double tick_rate[] = { 1e9, 1e9, 2e9, 5e8 };
	return w->ticks ? tick_rate[below(w, 4)] : 1e9 + below(w, 1000000) * 7919.0;
}

static int64_t count(world *w) /* FLOPs, bytes */
{
	return w->ticks ? few(w) : (chance(w, 15) ? 0 : below(w, 3000000));
}

static void put_count(world *w, string *s, const char *key, int percent)
{
	if (chance(w, percent))
		put(s, ",\"%s\":%lld", key, (long long)count(w));
}

/* ---- the system ---- */

static void draw_system(world *w)
{
	for (int d = 0; d < w->n_devices; d++) {
		const char *kind = kind_names[below(w, N_KINDS)];
		/* Names count down, so that the alphabet and the index disagree. */
		snprintf(w->device_name[d], sizeof w->device_name[d], "%s%d", kind, w->n_devices - d);
		w->device_kind[d] = chance(w, 60)            ? kind
		                    : d > 0 && chance(w, 15) ? w->device_name[d - 1]
		                                             : w->device_name[d];
		w->has_roofline[d] = chance(w, 80);
		w->limits_types[d] = chance(w, 25);
		for (int t = 1; t < N_TYPES; t++)
			w->runs_type[d][t] = chance(w, 65);
	}
}

static void put_device(world *w, string *s, int d, bool watts)
{
	put(s, "%s\n {\"name\":\"%s\"", d ? "," : "", w->device_name[d]);
	if (strcmp(w->device_kind[d], w->device_name[d]) != 0 || chance(w, 20))
		put(s, ",\"kind\":\"%s\"", w->device_kind[d]);
	int which = w->has_roofline[d] ? 1 + below(w, 3) : 0; /* compute, memory, both */
	if (which & 1)
		put(s, ",\"peak_flops\":%.17g", rate_per_s(w));
	if (which & 2)
		put(s, ",\"mem_bandwidth\":%.17g", w->mem_bandwidth[d] = rate_per_s(w));
	if (chance(w, 40)) {
		put(s, ",\"efficiency\":{");
		bool star = chance(w, 80);
		if (star)
			put(s, "\"*\":%g", chance(w, 50) ? 0.5 : w->ticks ? 1 : 0.61);
		if (chance(w, 60))
			put(s, "%s\"%s\":%g", star ? "," : "", type_names[1 + below(w, N_TYPES - 1)],
			    w->ticks ? 0.25 : 0.73);
		put(s, "}");
	}
	if (chance(w, 30))
		put(s, ",\"op_overhead_s\":%.17g", w->ticks ? below(w, 3) * 1e-9 : 1.3e-6);
	if (chance(w, 45))
		put(s, ",\"slots\":%d", 1 + below(w, 3));
	if (w->limits_types[d]) {
		bool first = true;
		put(s, ",\"runs\":[");
		for (int t = 1; t < N_TYPES; t++)
			if (w->runs_type[d][t])
				put_list(s, &first, type_names[t]);
		put(s, "]");
	}
	if (chance(w, 35))
		put(s, ",\"memory_bytes\":%lld",
		    w->memory_bytes[d] = (w->ticks ? 1LL : 600000LL) * (4 + below(w, 6 + 4 * w->n_ops)));
	if (watts) {
		double idle_w = below(w, 4) * (w->ticks ? 1 : 3.7);
		put(s, ",\"idle_w\":%.17g,\"busy_w\":%.17g", idle_w, idle_w + below(w, 5) * 2.5);
	}
	put(s, "}");
}

static void put_link(world *w, string *s, bool linked[][N_DEV], int a, int b, int percent_shared)
{
	bool both = !linked[b][a] && chance(w, 50);
	bool first = true;
	for (int i = 0; i < w->n_devices; i++)
		for (int j = 0; j < w->n_devices; j++)
			first = first && !linked[i][j];
	put(s, "%s\n {\"from\":\"%s\",\"to\":\"%s\",\"bandwidth\":%.17g", first ? "" : ",", w->device_name[a],
	    w->device_name[b], rate_per_s(w));
	linked[a][b] = true;
	linked[b][a] |= both;
	if (chance(w, 60))
		put(s, ",\"latency_s\":%.17g", w->ticks ? below(w, 3) * 1e-9 : below(w, 100) * 1.1e-7);
	if (both || chance(w, 20))
		put(s, ",\"both_ways\":%s", both ? "true" : "false");
	if (chance(w, percent_shared))
		put(s, ",\"shared\":\"%s\"", chance(w, 70) ? "bus" : "pcie");
	if (chance(w, 30))
		put(s, ",\"joules_per_byte\":%.17g", below(w, 4) * 0.25);
	put(s, "}");
}

static void put_pool(world *w, string *s, int q, const int *pool_of)
{
	double most = w->ticks ? 5e8 : 1e9;
	long long bytes = 0;
	bool first = true;
	put(s, "\"name\":\"m%d\",\"devices\":[", q);
	for (int d = 0; d < w->n_devices; d++)
		if (pool_of[d] == q) {
			put_list(s, &first, w->device_name[d]);
			most = w->mem_bandwidth[d] > most ? w->mem_bandwidth[d] : most;
			bytes = w->memory_bytes[d] > bytes ? w->memory_bytes[d] : bytes;
		}
	put(s, "],\"bandwidth\":%.17g", most * (2 + below(w, 4)) / 2);
	if (chance(w, 33))
		put(s, ",\"bytes\":%lld", bytes + (w->ticks ? 1LL : 600000LL) * below(w, 6 + 6 * w->n_ops));
	else if (chance(w, 20))
		put(s, ",\"bytes\":null");
}

/* By a stream of its own: all else is as without pools. */
static void put_pools(world *w, string *s)
{
	int pool_of[N_DEV], n_pools = 0, most;
	uint64_t stream = w->random;
	w->random ^= 0x706f6f6cu;
	most = 1 + below(w, 3);
	for (int d = 0; d < w->n_devices; d++) {
		int q = below(w, n_pools < most ? n_pools + 1 : n_pools);
		pool_of[d] = chance(w, 85) ? q : -1;
		n_pools += pool_of[d] == n_pools;
	}
	put(s, ",\n\"memory_pools\":[");
	for (int q = 0; q < n_pools; q++) {
		put(s, "%s\n {", q ? "," : "");
		put_pool(w, s, q, pool_of);
		put(s, "}");
	}
	put(s, "]");
	w->random = stream;
}

static char *system_text(world *w)
{
	static const char *const rule[] = { "priority", "fifo", "program", "given" };
	string s = { 0 };
	int r = below(w, 9) / 2; /* 4: the default */
	w->order_is_given = r == 3;
	put(&s, "{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\"");
	if (chance(w, 60))
		put(&s, ",\"contention\":%s", chance(w, 60) ? "true" : "false");
	if (r < 4)
		put(&s, ",\"order\":\"%s\"", rule[r]);
	put(&s, ",\n\"devices\":[");
	int without_watts = chance(w, 25) ? below(w, w->n_devices) : -1;
	for (int d = 0; d < w->n_devices; d++)
		put_device(w, &s, d, d != without_watts);
	put(&s, "],\n\"links\":[");
	bool linked[N_DEV][N_DEV] = { { false } };
	int ring[N_DEV], percent_linked = below(w, 3) * 30, percent_shared = below(w, 3) * 35;
	shuffle(w, w->n_devices, ring); /* a cycle through all devices makes it strongly connected */
	for (int i = 0; i < w->n_devices && w->n_devices > 1; i++)
		if (!linked[ring[i]][ring[(i + 1) % w->n_devices]])
			put_link(w, &s, linked, ring[i], ring[(i + 1) % w->n_devices], percent_shared);
	for (int a = 0; a < w->n_devices; a++)
		for (int b = 0; b < w->n_devices; b++)
			if (a != b && !linked[a][b] && chance(w, percent_linked))
				put_link(w, &s, linked, a, b, percent_shared);
	put(&s, "]");
	if (w->pooled)
		put_pools(w, &s);
	put(&s, "}\n");
	return s.text;
}

/* ---- the graph ---- */

/* Measured times by device name, by kind, for machines that are not here, and null; sets what they allow and
 * deny. */
static void put_times(world *w, string *s, int op)
{
	bool any = false, must = true;
	int by_name[N_DEV], by_kind[N_KINDS]; /* 0: no entry, 1: a time, 2: null */
	for (int k = 0; k < N_KINDS; k++)
		by_kind[k] = chance(w, 12) ? 1 + (below(w, 4) == 0) : 0;
	for (int d = 0; d < w->n_devices; d++)
		by_name[d] = chance(w, 20) ? 1 + (below(w, 4) == 0) : 0;
	for (int pass = 0; pass < 2 && must; pass++) { /* twice when it turns out that no device can run it */
		for (int d = 0; d < w->n_devices; d++) {
			int entry = by_name[d];
			for (int k = 0; k < N_KINDS && !entry; k++)
				entry = strcmp(kind_names[k], w->device_kind[d]) == 0 ? by_kind[k] : 0;
			for (int e = 0; e < w->n_devices && !entry; e++)
				entry = strcmp(w->device_name[e], w->device_kind[d]) == 0 ? by_name[e] : 0;
			bool type_runs = !w->limits_types[d] || w->runs_type[d][w->op_type[op]];
			w->can_run[op][d] = entry ? entry == 1 : w->has_roofline[d] && type_runs;
			must = must && !w->can_run[op][d];
		}
		if (must)
			by_name[below(w, w->n_devices)] = 1;
	}
	for (int e = -1; e < w->n_devices + N_KINDS; e++) {
		int entry = e < 0 ? chance(w, 10) : e < w->n_devices ? by_name[e] : by_kind[e - w->n_devices];
		if (!entry)
			continue;
		put(s, "%s\"%s\":", any ? "," : ",\"time_s\":{",
		    e < 0              ? "tpu"
		    : e < w->n_devices ? w->device_name[e]
		                       : kind_names[e - w->n_devices]);
		any = true;
		if (entry == 1)
			put(s, "%.17g", time_s(w));
		else
			put(s, "null");
	}
	if (any)
		put(s, "}");
	else if (chance(w, 5))
		put(s, ",\"time_s\":{}");
}

static void put_op(world *w, string *s, int op)
{
	put(s, "%s\n {\"name\":\"%s\"", op ? "," : "", w->op_name[op]);
	w->op_type[op] = below(w, N_TYPES);
	if (w->op_type[op])
		put(s, ",\"type\":\"%s\"", type_names[w->op_type[op]]);
	put_count(w, s, "flops", 75);
	put_count(w, s, "macs", 20);
	put_count(w, s, "read_bytes", 50);
	put_count(w, s, "write_bytes", 50);
	put_count(w, s, "param_bytes", 40);
	put_count(w, s, "state_bytes", 25);
	put_count(w, s, "workspace_bytes", 50);
	put_count(w, s, "output_bytes", 40);
	put_times(w, s, op);
	w->op_group[op] = chance(w, 20) ? 1 + below(w, 2) : 0;
	if (w->op_group[op])
		put(s, ",\"colocate\":\"g%d\"", w->op_group[op]);
	w->op_pin[op] = chance(w, 10) ? below(w, w->n_devices) : -1;
	if (w->op_pin[op] >= 0)
		put(s, ",\"pin\":\"%s\"", w->device_name[w->op_pin[op]]);
	if (chance(w, 15)) {
		bool first = true;
		put(s, ",\"forbid\":[");
		for (int d = 0; d < w->n_devices; d++) {
			w->forbidden[op][d] = d != w->op_pin[op] && chance(w, 30);
			if (w->forbidden[op][d])
				put_list(s, &first, w->device_name[d]);
		}
		put(s, "]");
	}
	if (chance(w, 30))
		put(s, ",\"backward\":%s", chance(w, 50) ? "true" : "false");
	put(s, "}");
}

static void put_params(world *w, string *s)
{
	int n = below(w, 4);
	put(s, ",\n\"params\":[");
	for (int p = 0; p < n; p++) {
		bool first = true;
		int ops[N_OPS], n_users = 1 + below(w, w->n_ops < 4 ? w->n_ops : 4);
		shuffle(w, w->n_ops, ops);
		put(s, "%s\n {\"name\":\"w%d\",\"bytes\":%lld,\"ops\":[", p ? "," : "", p,
		    (long long)count(w));
		for (int i = 0; i < n_users; i++)
			put_list(s, &first, w->op_name[ops[i]]);
		put(s, "]}");
	}
	put(s, "]");
}

static void put_edges(world *w, string *s)
{
	bool any = false;
	int percent_named = below(w, 3) * 40;
	int64_t bytes[N_OPS][N_TENSOR_NAMES];
	memset(bytes, -1, sizeof bytes);
	put(s, ",\n\"edges\":[");
	for (int position = 1; position < w->n_ops; position++) {
		bool used[N_OPS][N_TENSOR_NAMES] = { { false } };
		int to = w->hidden_order[position], n_inputs = below(w, 4);
		for (int i = 0; i < n_inputs; i++) {
			int back = chance(w, 60) && position > 3 ? 3 : position; /* mostly from near,
			                                                            sometimes from far */
			int from = w->hidden_order[position - 1 - below(w, back)];
			int t = chance(w, percent_named) ? below(w, N_TENSOR_NAMES) : 0;
			if (used[from][t])
				continue;
			used[from][t] = w->follows[to][from] = true;
			if (bytes[from][t] < 0)
				bytes[from][t] = count(w);
			put(s, "%s\n {\"from\":\"%s\",\"to\":\"%s\",\"bytes\":%lld", any ? "," : "",
			    w->op_name[from], w->op_name[to], (long long)bytes[from][t]);
			if (bytes[from][t] % 5 == 3)
				put(s, ",\"cut_s\":%.17g",
				    (double)(bytes[from][t] % 997) * (w->ticks ? 1e-9 : 1.7e-7));
			if (t)
				put(s, ",\"tensor\":\"%s\"", tensor_names[t]);
			put(s, "}");
			any = true;
		}
	}
	put(s, "]");
}

static char *graph_text(world *w)
{
	string s = { 0 };
	for (int i = 0; i < w->n_ops; i++) /* names in another order than the indices */
		snprintf(w->op_name[i], sizeof w->op_name[i], "%c%d", "xayz"[below(w, 4)], i);
	shuffle(w, w->n_ops, w->hidden_order);
	put(&s, "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\n\"ops\":[");
	for (int i = 0; i < w->n_ops; i++)
		put_op(w, &s, i);
	put(&s, "]");
	if (chance(w, 60))
		put_params(w, &s);
	put_edges(w, &s);
	put(&s, "}\n");
	return s.text;
}

/* ---- the placement ---- */

static void put_order(world *w, string *s)
{
	bool first = true, placed[N_OPS] = { false };
	put(s, "\"order\":[");
	for (int n = 0; n < w->n_ops; n++) {
		int candidate[N_OPS], n_candidates = 0;
		for (int i = 0; i < w->n_ops; i++) {
			bool can = !placed[i];
			for (int j = 0; j < w->n_ops; j++)
				can = can && (!w->follows[i][j] || placed[j]);
			if (can)
				candidate[n_candidates++] = i;
		}
		int next = candidate[below(w, n_candidates)];
		placed[next] = true;
		put_list(s, &first, w->op_name[next]);
	}
	put(s, "],");
}

static char *placement_text(world *w)
{
	string s = { 0 };
	bool lawless = chance(w, 10), spread = chance(w, 60);
	int group_device[3], home = below(w, w->n_devices);
	for (int g = 0; g < 3; g++)
		group_device[g] = below(w, w->n_devices);
	put(&s, "{\"format\":\"berth-placement\",\"version\":1,");
	if (chance(w, 20))
		put(&s,
		    "\"graph\":{\"name\":\"g\"},\"system\":{\"name\":\"s\"},\"method\":\"random\",\"seed\":%"
		    "d,\"evaluations\":1,",
		    below(w, 100));
	if (w->order_is_given || chance(w, 15))
		put_order(w, &s);
	put(&s, "\n\"placement\":{");
	for (int i = 0; i < w->n_ops; i++) {
		int d = w->op_pin[i] >= 0         ? w->op_pin[i]
		        : w->op_group[i]          ? group_device[w->op_group[i]]
		        : spread || chance(w, 20) ? below(w, w->n_devices)
		                                  : home;
		if (lawless)
			d = below(w, w->n_devices);
		/* Moves on from where it cannot run, and usually from where it may not. */
		for (int tries = 0;
		     tries < 20 && (w->can_run[i][d] ? w->forbidden[i][d] && !lawless : !chance(w, 2));
		     tries++)
			d = below(w, w->n_devices);
		put(&s, "%s\"%s\":\"%s\"", i ? "," : "", w->op_name[i], w->device_name[d]);
	}
	put(&s, "}}\n");
	return s.text;
}

static world *new_world(uint64_t seed, bool pooled)
{
	world *w = calloc(1, sizeof *w);
	if (!w)
		abort();
	w->random = seed;
	w->pooled = pooled;
	return w;
}

static void make(world *w, int max_ops, int max_devices, instance *out)
{
	w->ticks = chance(w, 67);
	w->n_ops = 1 + below(w, max_ops < N_OPS ? max_ops : N_OPS);
	w->n_devices = 1 + below(w, max_devices < N_DEV ? max_devices : N_DEV);
	draw_system(w);
	*out = (instance){ .n_ops = w->n_ops, .n_devices = w->n_devices };
	out->graph = graph_text(w);
	out->system = system_text(w);
	out->placement = placement_text(w);
	free(w);
}

void instance_make(uint64_t seed, int max_ops, int max_devices, instance *out)
{
	make(new_world(seed, false), max_ops, max_devices, out);
}

void instance_make_pooled(uint64_t seed, int max_ops, int max_devices, instance *out)
{
	make(new_world(seed, true), max_ops, max_devices, out);
}

void instance_make_from(const uint8_t *bytes, size_t n, int max_ops, int max_devices, instance *out)
{
	world *w = new_world(n, n > 0 && bytes[0] % 2);
	w->bytes = bytes;
	w->end = n ? bytes + n : bytes;
	make(w, max_ops, max_devices, out);
}

void instance_free(instance *i)
{
	free(i->graph);
	free(i->system);
	free(i->placement);
	*i = (instance){ 0 };
}
