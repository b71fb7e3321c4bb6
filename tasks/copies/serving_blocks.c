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

/* Do both take the same time for each operator, and hold as much? */
static bool same_work(const berth_problem *p, int32_t a, int32_t b)
{
	bool same = berth_dev_most_bytes(p, a) == berth_dev_most_bytes(p, b);
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
} users;

/* What is found on the way of the borders of a server. */
typedef struct ways {
	const berth_problem *border;
	const berth_cluster *c;
	bool *mine; /* [n_devs] devices of the kind */
	int32_t host;
	users *use;                   /* [n_channels] */
	int32_t *seen;                /* [n_channels][4] device + 1 that was counted last */
	double *inside_s, *outside_s; /* [n_channels] longest hop */
	berth_server_kind *k;
} ways;

static void count_user(int32_t *n, int32_t *seen, int32_t dev)
{
	*n += *seen != dev + 1;
	*seen = dev + 1;
}

/* The way from the kind's device dev to another one, or back from there. */
static void follow_way(ways *w, int32_t dev, int32_t other, bool back)
{
	const berth_problem *p = w->border;
	const berth_system *s = w->c->s;
	bool out = w->c->dev_host[other] != w->host;
	if (dev == other || (!out && !w->mine[other]))
		return;
	int32_t pair = back ? other * s->n_devs + dev : dev * s->n_devs + other;
	int32_t route = p->class_pair_route[pair];
	int64_t *most = out ? &w->k->outside_ns : &w->k->inside_ns;
	*most = p->class_pair_ns[pair] > *most ? p->class_pair_ns[pair] : *most;
	BERTH_EACH (i, p->route_off, route) {
		int32_t l = p->route_link[i], *seen = &w->seen[4 * s->link_channel[l]];
		users *u = &w->use[s->link_channel[l]];
		double *hop_s = &(out ? w->outside_s : w->inside_s)[s->link_channel[l]];
		*hop_s = fmax(*hop_s,
		              s->link_latency_s[l] + (double)p->g->tensor_bytes[0] / s->link_bandwidth[l]);
		count_user(back ? &u->receive : &u->send, &seen[back], dev);
		if (out)
			count_user(back ? &u->receive_in : &u->send_out, &seen[2 + back], dev);
	}
}

static void at_least(int64_t *ns, int32_t n, double hop_s)
{
	int64_t sum = (int64_t)fmin(ceil(n * hop_s * 1e9), 1e18);
	*ns = sum > *ns ? sum : *ns;
}

/* The slowest way, and what the borders that share a channel take together. Where no copy of a server has a
 * shorter period than all borders of its devices take on a channel, the copies together do not take more of
 * it than there is. */
static berth_status time_ways(const berth_problem *p, const berth_cluster *c, int32_t dev,
                              const berth_problem *border, berth_arena *tmp, berth_server_kind *k,
                              berth_err *err)
{
	int32_t n = c->s->n_devs, channels = c->s->n_channels;
	ways w = {.border = border, .c = c, .host = c->dev_host[dev], .k = k};
	BERTH_TRY_NEW(tmp, n, err, w.mine);
	BERTH_TRY_NEW(tmp, channels, err, w.use);
	BERTH_TRY_NEW(tmp, 4 * channels, err, w.seen);
	BERTH_TRY_NEW(tmp, channels, err, w.inside_s, w.outside_s);
	for (int32_t a = 0; a < n; a++)
		w.mine[a] = c->dev_host[a] == w.host && same_work(p, a, dev);
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = 0; b < n && w.mine[a]; b++) {
			follow_way(&w, a, b, false);
			follow_way(&w, a, b, true);
		}
	for (int32_t i = 0; i < channels && c->s->contention; i++) {
		const users *u = &w.use[i];
		int32_t inside = u->send < u->receive ? u->send : u->receive,
			all = u->send + u->receive_in < u->receive + u->send_out ? u->send + u->receive_in
		                                                                 : u->receive + u->send_out;
		at_least(&k->inside_ns, inside < k->n_devs ? inside : k->n_devs - 1, w.inside_s[i]);
		if (w.outside_s[i] > 0)
			at_least(&k->outside_ns, all, fmax(w.inside_s[i], w.outside_s[i]));
	}
	return BERTH_OK;
}

static berth_status add_kind(const berth_problem *p, const berth_cluster *c, const berth_granularity *blocks,
                             int32_t host, int64_t n_servers, const berth_problem border[2], berth_serving *x,
                             berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_server_kind *k = &x->kind[x->n_kinds];
	if (x->n_kinds == BERTH_MOST_SERVER_KINDS)
		return berth_fail(err, BERTH_EINVAL, "more than %d kinds of servers",
		                  BERTH_MOST_SERVER_KINDS);
	*k = (berth_server_kind){.name = c->host_name[host], .n_servers = n_servers};
	int32_t dev = main_device(p, c, host, &k->n_devs);
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
	k->memory_bytes = berth_dev_most_bytes(p, dev);
	berth_server_kind more = *k;
	BERTH_TRY(time_ways(p, c, dev, &border[0], tmp, k, err));
	BERTH_TRY(time_ways(p, c, dev, &border[1], tmp, &more, err));
	k->inside_byte_ns = (double)(more.inside_ns - k->inside_ns) / (double)more_bytes(c->s);
	k->byte_ns = (double)(berth_max(more.inside_ns, more.outside_ns) -
	                      berth_max(k->inside_ns, k->outside_ns)) /
	             (double)more_bytes(c->s);
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

static berth_status make_serving(const berth_problem *p, const berth_cluster *c,
                                 const berth_granularity *blocks, const int64_t *n_servers, berth_arena *mem,
                                 berth_arena *tmp, berth_serving *x, berth_err *err)
{
	berth_problem border[2];
	int64_t bytes = 0;
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
	BERTH_TRY(berth_cluster_probe(c, bytes, mem, tmp, &border[0], err));
	BERTH_TRY(berth_cluster_probe(c, bytes + more_bytes(c->s), mem, tmp, &border[1], err));
	int64_t servers = 0;
	for (int32_t h = 0; h < c->n_hosts; h++)
		servers += n_servers[h];
	x->spans = c->n_hosts > 1 && servers > 1;
	for (int32_t h = 0; h < c->n_hosts; h++) {
		int64_t n = 0;
		for (int32_t k = h; k < c->n_hosts; k++)
			n += c->host_like[k] == h ? n_servers[k] : 0;
		if (c->host_like[h] == h && n > 0)
			BERTH_TRY(add_kind(p, c, blocks, h, n, border, x, mem, tmp, err));
	}
	return BERTH_OK;
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
