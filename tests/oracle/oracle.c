/* The slow oracle (oracle.h). Reads top to bottom: the model read from JSON, routes, ranks, then one instant
 * after the other. */
#include "oracle.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { N_DEV = ORACLE_MAX_DEVICES };
enum rule { PRIORITY, FIFO, PROGRAM, GIVEN };
enum state { WAITING, QUEUED, RUNNING, DONE }; /* of operators and transfers; QUEUED: ready, or requested */

typedef struct hop_link {
	bool exists;
	double latency_s, bandwidth, joules_per_byte;
	int channel;
} hop_link;

typedef struct tensor {
	int producer;
	const char *name; /* NULL: the unnamed output */
	int64_t bytes;
	double cut_s; /* of each hop, beside the link */
} tensor;

typedef struct edge {
	int tensor, consumer;
} edge;

typedef struct op {
	const cJSON *json;
	int64_t time_ns[N_DEV]; /* -1: cannot run there */
	int64_t fixed_bytes, workspace_bytes, output_bytes, rank;
	int topological;
} op;

typedef struct model {
	cJSON *graph, *system;
	const cJSON *device[N_DEV];
	hop_link link[N_DEV][N_DEV];
	const cJSON *pool[N_DEV];
	int n_pools, pool_of[N_DEV]; /* -1: the device is in none */
	op *ops;
	tensor *tensors;
	edge *edges;
	int n_devices, n_ops, n_tensors, n_edges, n_channels;
	enum rule rule;
	bool contention;
} model;

typedef struct route {
	int64_t ns;
	int n_hops, device[N_DEV]; /* device[0] is the source, device[n_hops] the destination */
} route;

typedef struct flow { /* of what runs: through memory pools at this speed since then */
	double left_ns, speed; /* left_ns: of its time alone, at `since` */
	int64_t since;
} flow;

typedef struct transfer {
	int tensor, destination, hop; /* hop: how many hops have ended */
	route route;
	enum state state;
	int64_t requested, start, end;
	flow flow;
} transfer;

typedef struct sim {
	const model *m;
	const int32_t *dev;
	const int *given; /* [n_ops] position in the placement's order, or NULL */
	enum rule rule;
	enum state *state; /* [n_ops] */
	int64_t *ready, *start, *end;
	flow *flow; /* [n_ops] */
	transfer *transfers;
	int n_transfers, n_waits, n_slowed_ops, n_slowed_hops;
	int64_t now;
} sim;

static void *zeros(int n, size_t size)
{
	void *p = calloc((size_t)n + 1, size);
	if (!p)
		abort();
	return p;
}

/* ---- JSON ---- */

static const cJSON *item(const cJSON *object, const char *key)
{
	return cJSON_GetObjectItemCaseSensitive(object, key);
}

static double number(const cJSON *object, const char *key, double missing)
{
	const cJSON *v = item(object, key);
	return cJSON_IsNumber(v) ? v->valuedouble : missing;
}

static int64_t bytes_of(const cJSON *object, const char *key)
{
	return (int64_t)number(object, key, 0);
}

static const char *text(const cJSON *object, const char *key, const char *missing)
{
	const cJSON *v = item(object, key);
	return cJSON_IsString(v) ? v->valuestring : missing;
}

static int named(const cJSON *array, const char *name) /* index of the object of this name, -1: none */
{
	int i = 0;
	for (const cJSON *v = array ? array->child : NULL; v && name; v = v->next, i++)
		if (text(v, "name", NULL) && strcmp(text(v, "name", ""), name) == 0)
			return i;
	return -1;
}

static bool lists(const cJSON *array, const char *word)
{
	for (const cJSON *v = array ? array->child : NULL; v && word; v = v->next)
		if (cJSON_IsString(v) && strcmp(v->valuestring, word) == 0)
			return true;
	return false;
}

/* NULL, the unnamed tensor, comes before every name; bytes compare unsigned. */
static int compare_names(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) : (a != NULL) - (b != NULL);
}

/* ---- operator time, hop time, route ---- */

static int64_t op_time_ns(const cJSON *o, const cJSON *device)
{
	const char *name = text(device, "name", ""), *type = text(o, "type", NULL);
	const cJSON *measured = item(item(o, "time_s"), name);
	if (!measured)
		measured = item(item(o, "time_s"), text(device, "kind", name));
	if (!measured)
		measured = item(item(o, "time_s"), "*");
	if (measured)
		return cJSON_IsNumber(measured) ? llround(measured->valuedouble * 1e9) : -1;
	if (item(device, "runs") && !lists(item(device, "runs"), type))
		return -1;
	double peak = number(device, "peak_flops", 0), bandwidth = number(device, "mem_bandwidth", 0);
	if (!(peak > 0) && !(bandwidth > 0))
		return -1;
	const cJSON *efficiency = item(device, "efficiency");
	double eff = number(efficiency, type ? type : "*", number(efficiency, "*", 1));
	double bytes = number(o, "read_bytes", 0) + number(o, "write_bytes", 0);
	double compute_s = peak > 0 ? number(o, "flops", 0) / (peak * eff) : 0;
	double memory_s = bandwidth > 0 ? bytes / bandwidth : 0;
	return llround((number(device, "op_overhead_s", 0) + fmax(compute_s, memory_s)) * 1e9);
}

static int64_t hop_ns(const model *m, int from, int to, const tensor *t)
{
	const hop_link *l = &m->link[from][to];
	return llround((l->latency_s + (double)t->bytes / l->bandwidth + t->cut_s) * 1e9);
}

/* Tries every simple path that continues `path`: least time, then fewest hops, then (as they come in that
 * order) lowest devices. */
static void extend(const model *m, const tensor *t, int to, const route *path, route *best)
{
	int here = path->device[path->n_hops];
	if (best->n_hops > 0 && path->ns > best->ns)
		return;
	if (here == to) {
		if (best->n_hops == 0 || path->ns < best->ns ||
		    (path->ns == best->ns && path->n_hops < best->n_hops))
			*best = *path;
		return;
	}
	for (int next = 0; next < m->n_devices; next++) {
		bool visited = false;
		for (int i = 0; i <= path->n_hops; i++)
			visited |= path->device[i] == next;
		if (visited || !m->link[here][next].exists)
			continue;
		route longer = *path;
		longer.device[++longer.n_hops] = next;
		longer.ns += hop_ns(m, here, next, t);
		extend(m, t, to, &longer, best);
	}
}

static route find_route(const model *m, const tensor *t, int from, int to) /* n_hops 0: there is none */
{
	route direct = { .n_hops = 1, .device = { from, to } }, source = { .device = { from } }, best = { 0 };
	if (!m->link[from][to].exists)
		extend(m, t, to, &source, &best);
	else
		direct.ns = hop_ns(m, from, to, t);
	return m->link[from][to].exists ? direct : best;
}

/* ---- the model ---- */

static bool add_link(model *m, const cJSON *json, int from, int to, const char **channel_name)
{
	if (from < 0 || to < 0)
		return false;
	const char *shared = text(json, "shared", NULL);
	int channel = 0;
	while (channel < m->n_channels &&
	       !(shared && channel_name[channel] && strcmp(shared, channel_name[channel]) == 0))
		channel++;
	if (channel == m->n_channels)
		channel_name[m->n_channels++] = shared;
	m->link[from][to] = (hop_link){ true, number(json, "latency_s", 0), number(json, "bandwidth", 0),
	                                number(json, "joules_per_byte", 0), channel };
	return true;
}

static void read_pools(model *m)
{
	const cJSON *pools = item(m->system, "memory_pools");
	m->n_pools = cJSON_GetArraySize(pools);
	for (int d = 0; d < m->n_devices; d++) {
		m->pool_of[d] = -1;
		for (int q = 0; q < m->n_pools && q < N_DEV; q++) {
			m->pool[q] = cJSON_GetArrayItem(pools, q);
			if (lists(item(m->pool[q], "devices"), text(m->device[d], "name", "")))
				m->pool_of[d] = q;
		}
	}
}

static bool read_system(model *m)
{
	const tensor nothing = { 0 };
	const cJSON *devices = item(m->system, "devices"), *links = item(m->system, "links");
	static const char *const rule_name[] = { "priority", "fifo", "program", "given" };
	const char *rule = text(m->system, "order", "priority");
	while (m->rule < GIVEN && strcmp(rule, rule_name[m->rule]) != 0)
		m->rule++;
	m->contention = !cJSON_IsFalse(item(m->system, "contention"));
	m->n_devices = cJSON_GetArraySize(devices);
	if (strcmp(rule, rule_name[m->rule]) != 0 || m->n_devices < 1 || m->n_devices > N_DEV)
		return false;
	for (int d = 0; d < m->n_devices; d++)
		m->device[d] = cJSON_GetArrayItem(devices, d);
	read_pools(m);
	if (m->n_pools > N_DEV)
		return false;
	const char **channel_name = zeros(2 * cJSON_GetArraySize(links), sizeof *channel_name);
	bool ok = true;
	for (const cJSON *l = links ? links->child : NULL; l && ok; l = l->next) {
		int from = named(devices, text(l, "from", NULL)), to = named(devices, text(l, "to", NULL));
		ok = add_link(m, l, from, to, channel_name);
		if (ok && cJSON_IsTrue(item(l, "both_ways")))
			ok = add_link(m, l, to, from, channel_name);
	}
	free(channel_name);
	for (int a = 0; a < m->n_devices; a++)
		for (int b = 0; b < m->n_devices; b++)
			ok = ok && (a == b || find_route(m, &nothing, a, b).n_hops > 0);
	return ok;
}

static bool read_graph(model *m)
{
	const cJSON *ops = item(m->graph, "ops"), *edges = item(m->graph, "edges");
	m->n_ops = cJSON_GetArraySize(ops);
	m->ops = zeros(m->n_ops, sizeof *m->ops);
	m->tensors = zeros(cJSON_GetArraySize(edges), sizeof *m->tensors);
	m->edges = zeros(cJSON_GetArraySize(edges), sizeof *m->edges);
	for (int i = 0; i < m->n_ops; i++) {
		const cJSON *o = cJSON_GetArrayItem(ops, i);
		m->ops[i] = (op){.json = o,
		                 .fixed_bytes = bytes_of(o, "param_bytes") + bytes_of(o, "state_bytes"),
		                 .workspace_bytes = bytes_of(o, "workspace_bytes"),
		                 .output_bytes = bytes_of(o, "output_bytes"),
		                 .topological = -1};
		for (int d = 0; d < m->n_devices; d++)
			m->ops[i].time_ns[d] = op_time_ns(o, m->device[d]);
	}
	for (const cJSON *e = edges ? edges->child : NULL; e; e = e->next) {
		tensor t = {named(ops, text(e, "from", NULL)), text(e, "tensor", NULL), bytes_of(e, "bytes"),
		            number(e, "cut_s", 0)};
		int to = named(ops, text(e, "to", NULL)), i = 0;
		if (t.producer < 0 || to < 0)
			return false;
		while (i < m->n_tensors && !(m->tensors[i].producer == t.producer &&
		                             compare_names(m->tensors[i].name, t.name) == 0))
			i++;
		if (i == m->n_tensors)
			m->tensors[m->n_tensors++] = t;
		m->edges[m->n_edges++] = (edge){ i, to };
	}
	for (int index = 0; index < m->n_ops; index++) { /* Kahn: the lowest operator whose producers all have
		                                            an index */
		int next = -1;
		for (int i = m->n_ops - 1; i >= 0; i--) {
			bool can = m->ops[i].topological < 0;
			for (int e = 0; e < m->n_edges; e++)
				can = can &&
				      (m->edges[e].consumer != i ||
				       m->ops[m->tensors[m->edges[e].tensor].producer].topological >= 0);
			next = can ? i : next;
		}
		if (next < 0)
			return false;
		m->ops[next].topological = index;
	}
	return true;
}

static int64_t mean_transfer_ns(const model *m, const tensor *t)
{
	int64_t sum = 0, pairs = (int64_t)m->n_devices * (m->n_devices - 1);
	for (int a = 0; a < m->n_devices; a++)
		for (int b = 0; b < m->n_devices; b++)
			sum += a == b ? 0 : find_route(m, t, a, b).ns;
	return pairs ? sum / pairs : 0;
}

static void set_ranks(model *m)
{
	int64_t *mean_tr = zeros(m->n_tensors, sizeof *mean_tr);
	for (int t = 0; t < m->n_tensors; t++)
		mean_tr[t] = mean_transfer_ns(m, &m->tensors[t]);
	for (int index = m->n_ops - 1; index >= 0; index--) {
		int i = 0, count = 0;
		int64_t sum = 0, longest = 0;
		while (m->ops[i].topological != index)
			i++;
		for (int d = 0; d < m->n_devices; d++)
			if (m->ops[i].time_ns[d] >= 0) {
				sum += m->ops[i].time_ns[d];
				count++;
			}
		for (int e = 0; e < m->n_edges; e++)
			if (m->tensors[m->edges[e].tensor].producer == i) {
				int64_t tail =
					mean_tr[m->edges[e].tensor] + m->ops[m->edges[e].consumer].rank;
				longest = tail > longest ? tail : longest;
			}
		m->ops[i].rank = (count ? sum / count : 0) + longest;
	}
	free(mean_tr);
}

static bool model_read(model *m, const char *graph_json, const char *system_json)
{
	*m = (model){ .graph = cJSON_Parse(graph_json), .system = cJSON_Parse(system_json) };
	if (!m->graph || !m->system || !read_system(m) || !read_graph(m))
		return false;
	for (const cJSON *p = item(m->graph, "params") ? item(m->graph, "params")->child : NULL; p;
	     p = p->next)
		for (const cJSON *o = item(p, "ops") ? item(p, "ops")->child : NULL; o; o = o->next)
			if (named(item(m->graph, "ops"), cJSON_GetStringValue(o)) < 0)
				return false;
	set_ranks(m);
	return true;
}

static void model_free(model *m)
{
	cJSON_Delete(m->graph);
	cJSON_Delete(m->system);
	free(m->ops);
	free(m->tensors);
	free(m->edges);
}

/* ---- one instant ---- */

static transfer *find_transfer(const sim *s, int t, int destination)
{
	for (int i = 0; i < s->n_transfers; i++)
		if (s->transfers[i].tensor == t && s->transfers[i].destination == destination)
			return &s->transfers[i];
	return NULL;
}

static bool inputs_here(const sim *s, int i)
{
	for (int e = 0; e < s->m->n_edges; e++) {
		int t = s->m->edges[e].tensor, producer = s->m->tensors[t].producer;
		if (s->m->edges[e].consumer != i)
			continue;
		if (s->dev[producer] == s->dev[i] ? s->state[producer] != DONE
		                                  : find_transfer(s, t, s->dev[i])->state != DONE)
			return false;
	}
	return true;
}

static int64_t present_hop_ns(const sim *s, const transfer *x)
{
	return hop_ns(s->m, x->route.device[x->hop], x->route.device[x->hop + 1], &s->m->tensors[x->tensor]);
}

static void end_all(sim *s)
{
	for (int i = 0; i < s->m->n_ops; i++)
		if (s->state[i] == RUNNING && s->end[i] == s->now) {
			s->state[i] = DONE;
			s->n_slowed_ops += s->now - s->start[i] > s->m->ops[i].time_ns[s->dev[i]];
		}
	for (transfer *x = s->transfers; x < s->transfers + s->n_transfers; x++) {
		bool ended = x->state == RUNNING && x->end == s->now;
		s->n_slowed_hops += ended && s->now - x->start > present_hop_ns(s, x);
		x->hop += ended;
		if (ended && x->hop == x->route.n_hops) {
			x->state = DONE;
		} else if (ended ||
		           (x->state == WAITING && s->state[s->m->tensors[x->tensor].producer] == DONE)) {
			x->state = QUEUED;
			x->requested = s->now;
		}
	}
	for (int i = 0; i < s->m->n_ops; i++)
		if (s->state[i] == WAITING && inputs_here(s, i)) {
			s->state[i] = QUEUED;
			s->ready[i] = s->now;
		}
}

static bool op_before(const sim *s, int a, int b)
{
	const op *x = &s->m->ops[a], *y = &s->m->ops[b];
	if (s->rule == GIVEN)
		return s->given[a] < s->given[b];
	if (s->rule == PRIORITY && x->rank != y->rank)
		return x->rank > y->rank;
	if (s->rule == FIFO && s->ready[a] != s->ready[b])
		return s->ready[a] < s->ready[b];
	return x->topological < y->topological;
}

static int next_op(const sim *s, int d) /* that device d may start now, -1: none */
{
	bool in_line = s->rule == PROGRAM || s->rule == GIVEN; /* then one that is not ready yet holds up
	                                                          those behind it */
	int first = -1, running = 0;
	for (int i = 0; i < s->m->n_ops; i++) {
		if (s->dev[i] != d)
			continue;
		running += s->state[i] == RUNNING;
		if ((s->state[i] == QUEUED || (in_line && s->state[i] == WAITING)) &&
		    (first < 0 || op_before(s, i, first)))
			first = i;
	}
	bool free_slot = running < (int)number(s->m->device[d], "slots", 1);
	return first >= 0 && s->state[first] == QUEUED && free_slot ? first : -1;
}

static int channel_of(const sim *s, const transfer *x)
{
	return s->m->link[x->route.device[x->hop]][x->route.device[x->hop + 1]].channel;
}

static bool transfer_before(const sim *s, const transfer *a, const transfer *b)
{
	const tensor *x = &s->m->tensors[a->tensor], *y = &s->m->tensors[b->tensor];
	if (a->requested != b->requested)
		return a->requested < b->requested;
	if (x->producer != y->producer)
		return x->producer < y->producer;
	int names = compare_names(x->name, y->name);
	return names ? names < 0 : a->destination < b->destination;
}

static transfer *next_transfer(const sim *s) /* that may start now, NULL: none */
{
	transfer *first = NULL;
	for (transfer *x = s->transfers; x < s->transfers + s->n_transfers; x++) {
		bool idle = x->state == QUEUED;
		for (transfer *y = s->transfers;
		     idle && s->m->contention && y < s->transfers + s->n_transfers; y++)
			idle = y->state != RUNNING || channel_of(s, y) != channel_of(s, x);
		if (idle && (!first || transfer_before(s, x, first)))
			first = x;
	}
	return first;
}

static void start_all(sim *s)
{
	for (int d = 0; d < s->m->n_devices; d++)
		for (int i = next_op(s, d); i >= 0; i = next_op(s, d)) {
			s->state[i] = RUNNING;
			s->start[i] = s->now;
			s->end[i] = s->now + s->m->ops[i].time_ns[d];
			s->flow[i] = (flow){(double)s->m->ops[i].time_ns[d], 1, s->now};
		}
	for (transfer *x = next_transfer(s); x; x = next_transfer(s)) {
		x->state = RUNNING;
		x->start = s->now;
		x->end = s->now + present_hop_ns(s, x);
		x->flow = (flow){(double)present_hop_ns(s, x), 1, s->now};
		s->n_waits += s->now > x->requested;
	}
}

/* ---- memory pools ---- */

static double pool_rate(const model *m, int q) /* bytes/ns */
{
	return number(m->pool[q], "bandwidth", 0) * 1e-9;
}

static double op_traffic(const model *m, int i)
{
	return number(m->ops[i].json, "read_bytes", 0) + number(m->ops[i].json, "write_bytes", 0);
}

/* Bytes per nanosecond that operator i asks of pool q, alone on device d; 0: it takes no part. */
static double op_demand(const model *m, int i, int d, int q)
{
	int64_t alone = m->ops[i].time_ns[d];
	return m->pool_of[d] != q || alone <= 0 ? 0
	                                        : fmin(op_traffic(m, i) / (double)alone, pool_rate(m, q));
}

/* Bytes that a hop moves through pool q: in at one end, out at the other. */
static double hop_traffic(const model *m, int from, int to, const tensor *t, int q)
{
	int times = (m->pool_of[from] == q) + (m->pool_of[to] == q);
	return hop_ns(m, from, to, t) > 0 ? (double)times * (double)t->bytes : 0;
}

static double hop_demand(const sim *s, const transfer *x, int q)
{
	int from = x->route.device[x->hop], to = x->route.device[x->hop + 1];
	double traffic = x->state == RUNNING ? hop_traffic(s->m, from, to, &s->m->tensors[x->tensor], q) : 0;
	return traffic > 0 ? traffic / (double)present_hop_ns(s, x) : 0;
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* The level up to which pool q is filled: who asks more gets this, who asks less gets that. */
static double fill_level(const sim *s, int q)
{
	int n = 0;
	double *asked = zeros(s->m->n_ops + s->n_transfers, sizeof *asked);
	for (int i = 0; i < s->m->n_ops; i++)
		if (s->state[i] == RUNNING && op_demand(s->m, i, s->dev[i], q) > 0)
			asked[n++] = op_demand(s->m, i, s->dev[i], q);
	for (int i = 0; i < s->n_transfers; i++)
		if (hop_demand(s, &s->transfers[i], q) > 0)
			asked[n++] = hop_demand(s, &s->transfers[i], q);
	qsort(asked, (size_t)n, sizeof *asked, compare_doubles);
	double left = pool_rate(s->m, q), level = INFINITY;
	for (int k = 0; k < n && isinf(level); k++) {
		if (asked[k] > left / (n - k))
			level = left / (n - k);
		left -= asked[k];
	}
	free(asked);
	return level;
}

static void set_speed(const sim *s, flow *f, double speed, int64_t *end)
{
	if (speed == f->speed)
		return;
	f->left_ns = f->left_ns - f->speed * (double)(s->now - f->since);
	f->speed = speed;
	f->since = s->now;
	*end = s->now + (int64_t)fmin(ceil(fmax(f->left_ns, 0) / speed), 0x1p61);
}

static void share_pools(sim *s)
{
	double level[N_DEV];
	for (int q = 0; q < s->m->n_pools; q++)
		level[q] = fill_level(s, q);
	for (int i = 0; i < s->m->n_ops; i++) {
		double speed = 1;
		for (int q = 0; q < s->m->n_pools; q++)
			if (op_demand(s->m, i, s->dev[i], q) > level[q])
				speed = level[q] / op_demand(s->m, i, s->dev[i], q);
		if (s->state[i] == RUNNING)
			set_speed(s, &s->flow[i], speed, &s->end[i]);
	}
	for (transfer *x = s->transfers; x < s->transfers + s->n_transfers; x++) {
		double speed = 1;
		for (int q = 0; q < s->m->n_pools && x->state == RUNNING; q++)
			if (hop_demand(s, x, q) > level[q])
				speed = fmin(speed, level[q] / hop_demand(s, x, q));
		if (x->state == RUNNING)
			set_speed(s, &x->flow, speed, &x->end);
	}
}

/* ---- memory ---- */

static int64_t parameters_on(const sim *s, int d)
{
	const cJSON *params = item(s->m->graph, "params");
	int64_t sum = 0;
	for (int i = 0; i < s->m->n_ops; i++)
		sum += s->dev[i] == d ? s->m->ops[i].fixed_bytes : 0;
	for (const cJSON *p = params ? params->child : NULL; p; p = p->next) {
		bool used = false;
		for (int i = 0; i < s->m->n_ops; i++)
			used |= s->dev[i] == d &&
			        lists(item(p, "ops"), text(s->m->ops[i].json, "name", NULL));
		sum += used ? bytes_of(p, "bytes") : 0;
	}
	return sum;
}

static bool tensor_is_live(const sim *s, int t, int d)
{
	int producer = s->m->tensors[t].producer;
	bool home = s->dev[producer] == d, live = false;
	const transfer *in = home ? NULL : find_transfer(s, t, d);
	if (home ? s->state[producer] < RUNNING : !in || (in->hop == 0 && in->state != RUNNING))
		return false; /* not there yet */
	for (int e = 0; e < s->m->n_edges; e++)
		live |= s->m->edges[e].tensor == t && s->dev[s->m->edges[e].consumer] == d &&
		        s->state[s->m->edges[e].consumer] != DONE;
	for (int i = 0; i < s->n_transfers && home; i++)
		live |= s->transfers[i].tensor == t && s->transfers[i].hop == 0;
	return live;
}

static int64_t live_bytes_on(const sim *s, int d)
{
	int64_t sum = 0;
	for (int i = 0; i < s->m->n_ops; i++)
		if (s->dev[i] == d)
			sum += (s->state[i] == RUNNING ? s->m->ops[i].workspace_bytes : 0) +
			       (s->state[i] >= RUNNING ? s->m->ops[i].output_bytes : 0);
	for (int t = 0; t < s->m->n_tensors; t++)
		sum += tensor_is_live(s, t, d) ? s->m->tensors[t].bytes : 0;
	return sum;
}

/* ---- a whole run ---- */

static bool rules_kept(const model *m, const int32_t *dev)
{
	for (int i = 0; i < m->n_ops; i++) {
		const cJSON *o = m->ops[i].json;
		const char *here = text(m->device[dev[i]], "name", ""), *group = text(o, "colocate", NULL);
		if (strcmp(text(o, "pin", here), here) != 0 || lists(item(o, "forbid"), here))
			return false;
		for (int j = 0; j < i && group; j++)
			if (dev[j] != dev[i] &&
			    compare_names(group, text(m->ops[j].json, "colocate", NULL)) == 0)
				return false;
	}
	return true;
}

static void note_peaks(const sim *s, const int64_t *parameters, oracle_result *out)
{
	int64_t of_pool[N_DEV] = {0};
	for (int d = 0; d < s->m->n_devices; d++) {
		int64_t used = parameters[d] + live_bytes_on(s, d), *peak = &out->device[d].peak_memory_bytes;
		*peak = used > *peak ? used : *peak;
		if (s->m->pool_of[d] >= 0)
			of_pool[s->m->pool_of[d]] += used;
	}
	for (int q = 0; q < s->m->n_pools; q++)
		if (of_pool[q] > out->pool[q].peak_memory_bytes)
			out->pool[q].peak_memory_bytes = of_pool[q];
}

static void run(sim *s, oracle_result *out)
{
	const model *m = s->m;
	for (int e = 0; e < m->n_edges; e++) {
		int t = m->edges[e].tensor, from = s->dev[m->tensors[t].producer],
		    to = s->dev[m->edges[e].consumer];
		if (from != to && !find_transfer(s, t, to))
			s->transfers[s->n_transfers++] =
				(transfer){.tensor = t,
			                   .destination = to,
			                   .route = find_route(m, &m->tensors[t], from, to)};
	}
	int64_t parameters[N_DEV];
	for (int d = 0; d < m->n_devices; d++)
		parameters[d] = parameters_on(s, d);
	for (int64_t next = 0; next >= 0;) { /* one round; what takes no time ends in a further round at the
		                                same instant */
		s->now = next;
		end_all(s);
		start_all(s);
		share_pools(s);
		note_peaks(s, parameters, out);
		next = -1;
		for (int i = 0; i < m->n_ops; i++)
			if (s->state[i] == RUNNING && (next < 0 || s->end[i] < next))
				next = s->end[i];
		for (int i = 0; i < s->n_transfers; i++)
			if (s->transfers[i].state == RUNNING && (next < 0 || s->transfers[i].end < next))
				next = s->transfers[i].end;
	}
}

/* Traffic of each pool at its whole bandwidth, each piece's time rounded down; an operator's is at most the
 * time that it takes alone. */
static void load_pools(const sim *s, oracle_result *out)
{
	const model *m = s->m;
	for (int q = 0; q < m->n_pools; q++) {
		int64_t ns = 0;
		for (int i = 0; i < m->n_ops; i++)
			if (m->pool_of[s->dev[i]] == q)
				ns += (int64_t)fmin(op_traffic(m, i) / pool_rate(m, q),
				                    (double)m->ops[i].time_ns[s->dev[i]]);
		for (const transfer *x = s->transfers; x < s->transfers + s->n_transfers; x++)
			for (int h = 0; h < x->route.n_hops; h++)
				ns += (int64_t)(hop_traffic(m, x->route.device[h], x->route.device[h + 1],
				                            &m->tensors[x->tensor], q) /
				                pool_rate(m, q));
		out->pool[q].load_s = (double)ns * 1e-9;
		out->load_s = fmax(out->load_s, out->pool[q].load_s);
		out->memory_fits = out->memory_fits && (double)out->pool[q].peak_memory_bytes <=
		                                               number(m->pool[q], "bytes", INFINITY);
	}
}

static void add_up(const sim *s, oracle_result *out)
{
	const model *m = s->m;
	int64_t op_ns[N_DEV] = {0}, busy_ns[N_DEV] = {0};
	int64_t *channel_ns = zeros(m->n_channels, sizeof *channel_ns);
	for (int i = 0; i < m->n_ops; i++) {
		op_ns[s->dev[i]] += m->ops[i].time_ns[s->dev[i]];
		busy_ns[s->dev[i]] += s->end[i] - s->start[i];
		out->latency_ns = s->end[i] > out->latency_ns ? s->end[i] : out->latency_ns;
	}
	out->n_transfers = s->n_transfers;
	out->n_waits = s->n_waits;
	out->n_slowed_ops = s->n_slowed_ops;
	out->n_slowed_hops = s->n_slowed_hops;
	for (const transfer *x = s->transfers; x < s->transfers + s->n_transfers; x++)
		for (int h = 0; h < x->route.n_hops; h++) {
			int from = x->route.device[h], to = x->route.device[h + 1];
			channel_ns[m->link[from][to].channel] += hop_ns(m, from, to, &m->tensors[x->tensor]);
			out->energy_j +=
				m->link[from][to].joules_per_byte * (double)m->tensors[x->tensor].bytes;
			out->n_hops++;
		}
	for (int c = 0; c < m->n_channels && m->contention; c++)
		out->load_s = fmax(out->load_s, (double)channel_ns[c] * 1e-9);
	free(channel_ns);
	out->has_energy = out->memory_fits = true;
	for (int d = 0; d < m->n_devices; d++) {
		const cJSON *device = m->device[d];
		double idle = number(device, "idle_w", NAN), busy = number(device, "busy_w", NAN);
		oracle_device *o = &out->device[d];
		double load_s = (double)op_ns[d] * 1e-9 / number(device, "slots", 1);
		o->busy_s = (double)busy_ns[d] * 1e-9 / number(device, "slots", 1);
		out->load_s = fmax(out->load_s, load_s);
		out->has_energy = out->has_energy && !isnan(idle + busy);
		out->energy_j += idle * (double)out->latency_ns * 1e-9 + (busy - idle) * o->busy_s;
		out->memory_fits = out->memory_fits &&
		                   (double)o->peak_memory_bytes <= number(device, "memory_bytes", INFINITY);
	}
	load_pools(s, out);
	out->rules_kept = rules_kept(m, s->dev);
	out->feasible = out->rules_kept && out->memory_fits;
}

static void simulate(const model *m, const int32_t *dev, const int *given, oracle_result *out)
{
	*out = (oracle_result){ .runs = true };
	for (int i = 0; i < m->n_ops; i++)
		out->runs = out->runs && m->ops[i].time_ns[dev[i]] >= 0;
	if (!out->runs)
		return;
	out->n_devices = m->n_devices;
	out->n_pools = m->n_pools;
	out->n_ops = m->n_ops;
	out->start_ns = zeros(m->n_ops, sizeof *out->start_ns);
	out->end_ns = zeros(m->n_ops, sizeof *out->end_ns);
	out->dev = zeros(m->n_ops, sizeof *out->dev);
	memcpy(out->dev, dev, (size_t)m->n_ops * sizeof *dev);
	sim s = {.m = m,
	         .dev = dev,
	         .given = given,
	         .rule = given ? GIVEN : m->rule,
	         .start = out->start_ns,
	         .end = out->end_ns};
	s.state = zeros(m->n_ops, sizeof *s.state);
	s.ready = zeros(m->n_ops, sizeof *s.ready);
	s.flow = zeros(m->n_ops, sizeof *s.flow);
	s.transfers = zeros(m->n_edges, sizeof *s.transfers);
	run(&s, out);
	add_up(&s, out);
	free(s.state);
	free(s.ready);
	free(s.flow);
	free(s.transfers);
}

static bool read_placement(const model *m, const cJSON *json, int32_t *dev, int *given, bool *has_order)
{
	const cJSON *ops = item(m->graph, "ops"), *order = item(json, "order");
	for (int i = 0; i < m->n_ops; i++) {
		const char *name = text(m->ops[i].json, "name", "");
		dev[i] = named(item(m->system, "devices"), text(item(json, "placement"), name, NULL));
		if (dev[i] < 0)
			return false;
	}
	*has_order = cJSON_IsArray(order);
	if (!*has_order)
		return m->rule != GIVEN;
	for (int i = 0; i < m->n_ops; i++)
		given[i] = -1;
	int position = 0;
	for (const cJSON *v = order->child; v; v = v->next, position++) {
		int i = named(ops, cJSON_GetStringValue(v));
		if (i < 0 || given[i] >= 0)
			return false;
		given[i] = position;
	}
	bool ok = position == m->n_ops;
	for (int e = 0; e < m->n_edges && ok; e++)
		ok = given[m->tensors[m->edges[e].tensor].producer] < given[m->edges[e].consumer];
	return ok;
}

int oracle_simulate(const char *graph_json, const char *system_json, const char *placement_json,
                    oracle_result *out)
{
	model m;
	cJSON *placement = cJSON_Parse(placement_json);
	bool has_order, ok = model_read(&m, graph_json, system_json) && placement;
	int32_t *dev = zeros(m.n_ops, sizeof *dev);
	int *given = zeros(m.n_ops, sizeof *given);
	*out = (oracle_result){ 0 };
	ok = ok && read_placement(&m, placement, dev, given, &has_order);
	if (ok)
		simulate(&m, dev, has_order ? given : NULL, out);
	free(dev);
	free(given);
	cJSON_Delete(placement);
	model_free(&m);
	return ok ? 0 : -1;
}

void oracle_free(oracle_result *r)
{
	free(r->start_ns);
	free(r->end_ns);
	free(r->dev);
	*r = (oracle_result){ 0 };
}

/* ---- brute force ---- */

static void improve(oracle_best *best, const oracle_result *r)
{
	if (best->latency_ns < 0 || r->latency_ns < best->latency_ns)
		best->latency_ns = r->latency_ns;
	best->load_s = fmin(best->load_s, r->load_s); /* fmin passes over NAN */
	if (r->has_energy) {
		best->energy_j = fmin(best->energy_j, r->energy_j);
		best->edp = fmin(best->edp, r->energy_j * ((double)r->latency_ns * 1e-9));
	}
}

int oracle_brute_force(const char *graph_json, const char *system_json, oracle_optimum *out)
{
	const oracle_best none = { -1, NAN, NAN, NAN };
	model m;
	*out = (oracle_optimum){ .feasible = none, .any_memory = none, .any = none };
	double n_placements = model_read(&m, graph_json, system_json) && m.rule != GIVEN
	                              ? pow(m.n_devices, m.n_ops)
	                              : INFINITY;
	int32_t *dev = zeros(m.n_ops, sizeof *dev);
	for (int code = 0; n_placements <= 20000 && code < n_placements; code++) {
		oracle_result r;
		for (int i = 0, rest = code; i < m.n_ops; i++, rest /= m.n_devices)
			dev[i] = rest % m.n_devices;
		simulate(&m, dev, NULL, &r);
		out->n_placements++;
		out->n_run += r.runs;
		out->n_feasible += r.feasible;
		if (r.runs)
			improve(&out->any, &r);
		if (r.runs && r.rules_kept)
			improve(&out->any_memory, &r);
		if (r.feasible)
			improve(&out->feasible, &r);
		oracle_free(&r);
	}
	free(dev);
	model_free(&m);
	return n_placements <= 20000 ? 0 : -1;
}
