/* Times and bytes of a model's blocks on each kind of device, and what goes on between two blocks over each
 * kind of link. All of serving works on these tables alone. */
#include "serving.h"

/* ---- the model ---- */

/* Weights and state by block; tensors of the largest block. What is shared counts for each block. */
static berth_status count_bytes(const berth_graph *g, const berth_granularity *blocks, berth_serving *x,
                                berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	int64_t *bytes, *tensors, *state;
	BERTH_TRY_NEW(mem, blocks->n_blocks, err, bytes, state);
	BERTH_TRY_NEW(tmp, blocks->n_blocks, err, tensors);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t b = blocks->op_block[op];
		bytes[b] += g->op_param_bytes[op] + g->op_state_bytes[op];
		state[b] += g->op_state_bytes[op];
		BERTH_EACH (i, g->op_param_off, op)
			bytes[b] += g->param_bytes[g->op_param[i]];
		tensors[b] += g->op_workspace_bytes[op] + g->op_output_bytes[op];
		BERTH_EACH (t, g->op_tensor_off, op)
			tensors[b] += g->tensor_bytes[t];
	}
	for (int32_t b = 0; b < blocks->n_blocks; b++)
		x->work_bytes = tensors[b] > x->work_bytes ? tensors[b] : x->work_bytes;
	x->n_blocks = blocks->n_blocks;
	x->block_bytes = bytes;
	x->block_state_bytes = state;
	return BERTH_OK;
}

/* ---- the servers ---- */

/* By which a byte's time is told: a GiB, or what the slowest link takes a million seconds for. */
static int64_t more_bytes(const berth_system *s)
{
	double bytes = 1 << 30;
	for (int32_t l = 0; l < s->n_links; l++)
		bytes = fmin(bytes, ceil(1e6 * s->link_bandwidth[l]));
	return (int64_t)bytes;
}

static bool is_disk(const berth_system *s, int32_t dev)
{
	return berth_system_is(s, dev, "disk");
}

/* Do both take the same time for each operator, and hold as much? */
static bool same_work(const berth_problem *p, int32_t a, int32_t b)
{
	bool same = berth_dev_most_bytes(p, a) == berth_dev_most_bytes(p, b) && !is_disk(p->s, b);
	for (int32_t op = 0; op < p->n_ops && same; op++)
		same = berth_op_time(p, op, a) == berth_op_time(p, op, b) &&
		       berth_op_legal(p, op, a) == berth_op_legal(p, op, b);
	return same;
}

/* Samples a second of a device that does all of the work; 0 where it cannot. */
static double speed_of(const berth_problem *p, int32_t dev)
{
	double ns = 1; /* a model that takes no time */
	for (int32_t op = 0; op < p->n_ops; op++) {
		if (!berth_op_legal(p, op, dev))
			return 0;
		ns += (double)berth_op_time(p, op, dev);
	}
	return 1e9 / ns;
}

/* The devices of the host that do the same work and together the most of it: n of them, the first one. */
static int32_t main_device(const berth_problem *p, const berth_cluster *c, int32_t host, int32_t *n)
{
	int32_t best = -1;
	double most = -1;
	*n = 0;
	BERTH_EACH (i, c->host_off, host) {
		int32_t same = 0;
		if (is_disk(c->s, c->host_dev[i]))
			continue;
		BERTH_EACH (k, c->host_off, host)
			same += same_work(p, c->host_dev[i], c->host_dev[k]);
		double together = same * speed_of(p, c->host_dev[i]);
		if (together > most) {
			most = together;
			*n = same;
			best = c->host_dev[i];
		}
	}
	return best;
}

/* Devices of a server that send or receive over a channel. Each sends over one border at most, and receives
 * over one at most, whatever copies the server has. */
typedef struct users {
	int32_t send, receive, send_out, receive_in; /* out, in: to and from other hosts */
	uint32_t peers;                              /* kinds at the other ends; INSIDE: the server itself */
	double hop_s;                                /* the longest */
} users;

enum { INSIDE = BERTH_MOST_SERVER_KINDS, LEFT_OUT, ALL_KINDS = -1, ALL_HOSTS = -2 /* left out ones, too */ };
enum { UNUSED = -1, DISK = -2 };

/* What is found on the ways of the borders of a server. */
typedef struct ways {
	const berth_problem *border;
	const berth_cluster *c;
	const int64_t *n_servers;
	const int32_t *dev_kind; /* [n_devs] or UNUSED or DISK */
	users *use;              /* [n_channels] */
	int32_t *seen;           /* [n_channels][4] device + 1 that was counted last */
} ways;

static void count_user(int32_t *n, int32_t *seen, int32_t dev)
{
	*n += *seen != dev + 1;
	*seen = dev + 1;
}

/* The way from the device dev to another one, or back from there; what it takes, -1 where it goes over a
 * third server. */
static int64_t follow_way(ways *w, int32_t dev, int32_t other, bool back)
{
	const berth_problem *p = w->border;
	const berth_system *s = w->c->s;
	const int32_t *host = w->c->dev_host;
	bool out = host[other] != host[dev];
	int32_t pair = back ? other * s->n_devs + dev : dev * s->n_devs + other;
	int32_t route = p->class_pair_route[pair];
	BERTH_EACH (i, p->route_off, route) {
		int32_t to = host[s->link_to[p->route_link[i]]];
		if (to != host[dev] && to != host[other] && w->n_servers[to] > 0)
			return -1;
	}
	BERTH_EACH (i, p->route_off, route) {
		int32_t l = p->route_link[i], *seen = &w->seen[4 * s->link_channel[l]];
		users *u = &w->use[s->link_channel[l]];
		u->hop_s = fmax(u->hop_s,
		                s->link_latency_s[l] + (double)p->g->tensor_bytes[0] / s->link_bandwidth[l]);
		u->peers |= 1u << (!out ? INSIDE : w->dev_kind[other] < 0 ? LEFT_OUT : w->dev_kind[other]);
		count_user(back ? &u->receive : &u->send, &seen[back], dev);
		if (out)
			count_user(back ? &u->receive_in : &u->send_out, &seen[2 + back], dev);
	}
	return p->class_pair_ns[pair];
}

/* All ways between devices of kind k of that host and those of kind o outside or inside of it; what those
 * there, or with `back` those from there, take at most. -1: none, or to kind o one over a third server. */
static int64_t follow_ways(ways *w, int32_t host, int32_t k, int32_t o, bool inside, bool back)
{
	int32_t n = w->c->s->n_devs;
	int64_t most = -1;
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = 0; b < n; b++) {
			const int32_t *at = w->c->dev_host;
			if (a == b || w->dev_kind[a] != k || at[a] != host || (at[b] == host) != inside ||
			    w->dev_kind[b] == DISK ||
			    (o >= 0 ? w->dev_kind[b] != o : o == ALL_KINDS && w->dev_kind[b] < 0))
				continue;
			int64_t there = follow_way(w, a, b, back), from = follow_way(w, a, b, !back);
			if (o >= 0 && (there < 0 || from < 0))
				return -1;
			most = berth_max(most, there);
		}
	return most;
}

static void forget_users(ways *w)
{
	BERTH_CLEAR(w->use, w->c->s->n_channels);
	BERTH_CLEAR(w->seen, 4 * w->c->s->n_channels);
}

static int64_t at_least(int64_t ns, int64_t n, double hop_s)
{
	return berth_max(ns, (int64_t)fmin(ceil((double)n * hop_s * 1e9), 1e18));
}

/* To servers of kind o, and back from these: as one side sees it. What one server may have on a channel goes
 * one after the other. */
static int64_t time_link(ways *w, int32_t host, int32_t k, int32_t o, bool back, int64_t *way_ns)
{
	forget_users(w);
	int64_t ns = follow_ways(w, host, k, o, false, back);
	*way_ns = berth_max(*way_ns, ns);
	for (int32_t i = 0; i < w->c->s->n_channels && w->c->s->contention && ns >= 0; i++) {
		const users *u = &w->use[i];
		if ((back ? u->receive : u->send) > 0)
			ns = at_least(ns, u->send + u->receive, u->hop_s);
	}
	return ns;
}

/* Where no copy of a server has a shorter period than all borders of its devices take on a channel, the
 * copies together do not take more of it than there is. */
static void time_server(ways *w, int32_t host, int32_t k, berth_server_kind *d)
{
	const berth_system *s = w->c->s;
	forget_users(w);
	d->inside_ns = berth_max(0, follow_ways(w, host, k, k, true, false));
	for (int32_t i = 0; i < s->n_channels && s->contention; i++) {
		const users *u = &w->use[i];
		int64_t both = berth_min(u->send, u->receive);
		d->inside_ns = at_least(d->inside_ns, berth_min(both, d->n_devs - 1), u->hop_s);
	}
	d->outside_ns = 0;
	follow_ways(w, host, k, ALL_KINDS, false, false);
	for (int32_t i = 0; i < s->n_channels && s->contention; i++) {
		const users *u = &w->use[i];
		if (u->peers & (u->peers - 1)) /* more than one */
			d->outside_ns = at_least(d->outside_ns,
			                         berth_min(u->send + u->receive_in, u->receive + u->send_out),
			                         u->hop_s);
	}
}

/* root [n_kinds] the first host of each kind; many: it has others that are equal. Of one host alone the file
 * does not say how others like it are reached: by its slowest way to any. */
static void time_ways(ways *w, const int32_t *root, const bool *many, berth_serving *x)
{
	for (int32_t k = 0; k < x->n_kinds; k++) {
		time_server(w, root[k], k, &x->kind[k]);
		for (int32_t o = 0; o < x->n_kinds; o++) {
			int64_t *way_ns = &x->way_ns[k][o],
				there = time_link(w, root[k], k, o, false, way_ns),
				from = time_link(w, root[o], o, k, true, way_ns);
			x->link_ns[k][o] = there < 0 || from < 0 ? -1 : berth_max(there, from);
		}
	}
	for (int32_t k = 0; k < x->n_kinds; k++)
		if (!many[k])
			x->link_ns[k][k] =
				berth_max(time_link(w, root[k], k, ALL_HOSTS, false, &x->way_ns[k][k]),
			                  time_link(w, root[k], k, ALL_HOSTS, true, &x->way_ns[k][k]));
}

int64_t berth_serving_way_ns(const berth_serving *x, int32_t k, int32_t o)
{
	const berth_server_kind *d = &x->kind[k];
	if (k != o)
		return x->way_ns[k][o];
	return d->n_servers < 2 ? d->inside_ns : berth_max(x->way_ns[k][k], d->inside_ns);
}

static int64_t slowest_way(const berth_serving *x, int32_t k)
{
	int64_t ns = berth_max(x->kind[k].inside_ns, x->kind[k].outside_ns);
	for (int32_t o = 0; o < x->n_kinds; o++)
		ns = berth_max(ns, berth_max(x->link_ns[k][o], x->link_ns[o][k]));
	return ns;
}

int64_t berth_serving_link_ns(const berth_serving *x, int32_t k, int32_t o)
{
	const berth_server_kind *d = &x->kind[k];
	int64_t ns = x->link_ns[k][o];
	if (k == o && d->n_servers < 2)
		ns = d->inside_ns;
	else if (k == o && ns >= 0)
		ns = berth_max(ns, d->inside_ns);
	return ns < 0 ? -1 : berth_max(ns, x->spans || d->n_servers > 1 ? d->outside_ns : 0);
}

static berth_status add_kind(const berth_problem *p, const berth_cluster *c, const berth_granularity *blocks,
                             int32_t host, int64_t n_servers, int32_t *dev_kind, berth_serving *x,
                             berth_arena *mem, berth_err *err)
{
	berth_server_kind *k = &x->kind[x->n_kinds];
	if (x->n_kinds == BERTH_MOST_SERVER_KINDS)
		return berth_fail(err, BERTH_EINVAL, "more than %d kinds of servers",
		                  BERTH_MOST_SERVER_KINDS);
	*k = (berth_server_kind){.name = c->host_name[host], .n_servers = n_servers};
	int32_t dev = main_device(p, c, host, &k->n_devs);
	if (dev < 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "host '%s' has no device but a disk: give it one that computes", k->name);
	const char **name;
	BERTH_TRY_NEW(mem, k->n_devs, err, name);
	k->dev = name;
	BERTH_EACH (i, c->host_off, host)
		if (same_work(p, c->host_dev[i], dev))
			*name++ = c->s->dev_name[c->host_dev[i]];
	BERTH_EACH (i, c->host_off, host)
		if (c->s->dev_slots[c->host_dev[i]] > 1)
			return berth_fail(err, BERTH_EINVAL,
			                  "device '%s' has %d slots: pipelines of layers are for devices "
			                  "with one; leave out its \"slots\"",
			                  c->s->dev_name[c->host_dev[i]], c->s->dev_slots[c->host_dev[i]]);
	for (int32_t d = 0; d < c->s->n_devs; d++)
		if (c->host_like[c->dev_host[d]] == host && same_work(p, d, dev))
			dev_kind[d] = x->n_kinds;
	k->memory_bytes = berth_dev_most_bytes(p, dev);
	x->n_kinds++;
	int64_t *ns;
	BERTH_TRY_NEW(mem, blocks->n_blocks, err, ns);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int64_t *b = &ns[blocks->op_block[op]];
		*b = *b < 0 || !berth_op_legal(p, op, dev) ? -1 : *b + berth_op_time(p, op, dev);
	}
	k->block_ns = ns;
	return BERTH_OK;
}

/* The disk of the host, by its slowest way to a device that takes part. */
static berth_status find_disk(const berth_problem *p, const berth_cluster *c, const berth_problem border[2],
                              int32_t host, const int32_t *dev_kind, berth_server_kind *d, berth_err *err)
{
	int32_t disk = -1, n = c->s->n_devs;
	BERTH_EACH (i, c->host_off, host)
		if (is_disk(c->s, c->host_dev[i])) {
			if (disk >= 0)
				return berth_fail(
					err, BERTH_EINVAL,
					"host '%s' has two disks, '%s' and '%s': give one with what "
					"both read",
					d->name, c->s->dev_name[disk], c->s->dev_name[c->host_dev[i]]);
			disk = c->host_dev[i];
		}
	BERTH_EACH (i, c->host_off, host) {
		int32_t dev = c->host_dev[i], pair = disk * n + dev;
		if (disk < 0 || dev_kind[dev] < 0)
			continue;
		d->disk_byte_ns = fmax(
			d->disk_byte_ns,
			d->n_devs * (double)(border[1].class_pair_ns[pair] - border[0].class_pair_ns[pair]) /
				(double)more_bytes(c->s));
		d->disk_bytes = berth_dev_most_bytes(p, disk);
		d->disk_bytes = d->disk_bytes < 0 ? INT64_MAX : d->disk_bytes / d->n_devs;
	}
	return BERTH_OK;
}

/* Over the hosts' links, borders of as many bytes; and what a byte more takes. */
static berth_status time_links(const berth_problem *p, const berth_cluster *c, int64_t bytes,
                               const int64_t *n_servers, const int32_t *dev_kind, const int32_t *root,
                               const bool *many, berth_serving *x, berth_arena *mem, berth_arena *tmp,
                               berth_err *err)
{
	berth_problem border[2];
	berth_serving more = *x;
	ways w = {.c = c, .n_servers = n_servers, .dev_kind = dev_kind, .border = &border[0]};
	BERTH_TRY_NEW(tmp, c->s->n_channels, err, w.use);
	BERTH_TRY_NEW(tmp, 4 * c->s->n_channels, err, w.seen);
	BERTH_TRY(berth_cluster_probe(c, bytes, mem, tmp, &border[0], err));
	BERTH_TRY(berth_cluster_probe(c, bytes + more_bytes(c->s), mem, tmp, &border[1], err));
	time_ways(&w, root, many, x);
	w.border = &border[1];
	time_ways(&w, root, many, &more);
	for (int32_t k = 0; k < x->n_kinds; k++) {
		berth_server_kind *d = &x->kind[k];
		d->inside_byte_ns =
			(double)(more.kind[k].inside_ns - d->inside_ns) / (double)more_bytes(c->s);
		d->byte_ns = (double)(slowest_way(&more, k) - slowest_way(x, k)) / (double)more_bytes(c->s);
		BERTH_TRY(find_disk(p, c, border, root[k], dev_kind, d, err));
	}
	return BERTH_OK;
}

static berth_status make_serving(const berth_problem *p, const berth_cluster *c,
                                 const berth_granularity *blocks, const int64_t *n_servers, berth_arena *mem,
                                 berth_arena *tmp, berth_serving *x, berth_err *err)
{
	int64_t bytes = 0;
	int32_t *dev_kind, root[BERTH_MOST_SERVER_KINDS];
	bool many[BERTH_MOST_SERVER_KINDS] = {false};
	BERTH_TRY(count_bytes(p->g, blocks, x, mem, tmp, err));
	/* The most bytes that any border between blocks is crossed by. */
	const berth_graph *g = p->g;
	int64_t *rise, now = 0;
	BERTH_TRY_NEW(tmp, blocks->n_blocks + 1, err, rise);
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t from = blocks->op_block[g->tensor_producer[t]], to = from;
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t b = blocks->op_block[g->edge_consumer[e]];
			to = b > to ? b : to;
		}
		rise[from] += g->tensor_bytes[t];
		rise[to] -= g->tensor_bytes[t];
	}
	for (int32_t b = 0; b < blocks->n_blocks; b++) {
		now += rise[b];
		bytes = now > bytes ? now : bytes;
	}
	BERTH_TRY_NEW(tmp, c->s->n_devs, err, dev_kind);
	for (int32_t d = 0; d < c->s->n_devs; d++)
		dev_kind[d] = is_disk(c->s, d) ? DISK : UNUSED;
	int64_t servers = 0;
	for (int32_t h = 0; h < c->n_hosts; h++)
		servers += n_servers[h];
	x->spans = c->n_hosts > 1 && servers > 1;
	for (int32_t h = 0; h < c->n_hosts; h++) {
		int64_t n = 0, hosts = 0;
		for (int32_t k = h; k < c->n_hosts; k++) {
			n += c->host_like[k] == h ? n_servers[k] : 0;
			hosts += c->host_like[k] == h;
		}
		if (c->host_like[h] != h || n == 0)
			continue;
		BERTH_TRY(add_kind(p, c, blocks, h, n, dev_kind, x, mem, err));
		root[x->n_kinds - 1] = h;
		many[x->n_kinds - 1] = hosts > 1;
	}
	return time_links(p, c, bytes, n_servers, dev_kind, root, many, x, mem, tmp, err);
}

berth_status berth_serving_new(const berth_problem *p, const berth_cluster *c,
                               const berth_granularity *blocks, const int64_t *n_servers, berth_arena *mem,
                               berth_arena *tmp, berth_serving *out, berth_err *err)
{
	berth_serving x = {0};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(make_serving(p, c, blocks, n_servers, mem, tmp, &x, err));
	*out = x;
	return BERTH_OK;
}
