/* What serving.h knows of a model and of servers: times and bytes of blocks, and what goes on between them.
 */
#include "serving.h"

#include <string.h>

/* ---- the model ---- */

/* Weights and state by block; tensors of the largest block. What is shared counts for each block. */
static berth_status count_bytes(const berth_graph *g, const berth_granularity *blocks, berth_serving *x,
                                berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	int64_t *bytes, *tensors;
	BERTH_TRY(BERTH_NEW(mem, bytes, blocks->n_blocks, err));
	BERTH_TRY(BERTH_NEW(tmp, tensors, blocks->n_blocks, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t b = blocks->op_block[op];
		bytes[b] += g->op_param_bytes[op] + g->op_state_bytes[op];
		for (int32_t i = g->op_param_off[op]; i < g->op_param_off[op + 1]; i++)
			bytes[b] += g->param_bytes[g->op_param[i]];
		tensors[b] += g->op_workspace_bytes[op] + g->op_output_bytes[op];
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
			tensors[b] += g->tensor_bytes[t];
	}
	for (int32_t b = 0; b < blocks->n_blocks; b++)
		x->work_bytes = tensors[b] > x->work_bytes ? tensors[b] : x->work_bytes;
	x->n_blocks = blocks->n_blocks;
	x->block_bytes = bytes;
	return BERTH_OK;
}

/* The most bytes that any border between blocks is crossed by. */
static berth_status widest_border(const berth_graph *g, const berth_granularity *blocks, berth_arena *tmp,
                                  int64_t *out, berth_err *err)
{
	int64_t *rise, now = 0;
	BERTH_TRY(BERTH_NEW(tmp, rise, blocks->n_blocks + 1, err));
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t from = blocks->op_block[g->tensor_producer[t]], to = from;
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
			int32_t b = blocks->op_block[g->edge_consumer[e]];
			to = b > to ? b : to;
		}
		rise[from] += g->tensor_bytes[t];
		rise[to] -= g->tensor_bytes[t];
	}
	for (int32_t b = 0; b < blocks->n_blocks; b++) {
		now += rise[b];
		*out = now > *out ? now : *out;
	}
	return BERTH_OK;
}

/* ---- the servers ---- */

/* Do both take the same time for each operator, and hold as much? */
static bool same_work(const berth_problem *p, int32_t a, int32_t b)
{
	bool same = berth_dev_most_bytes(p, a) == berth_dev_most_bytes(p, b);
	for (int32_t op = 0; op < p->n_ops && same; op++)
		same = berth_op_time(p, op, a) == berth_op_time(p, op, b) &&
		       berth_op_legal(p, op, a) == berth_op_legal(p, op, b);
	return same;
}

/* The most numerous devices of the host that do the same work: n of them, the first one. */
static int32_t main_device(const berth_problem *p, const berth_cluster *c, int32_t host, int32_t *n)
{
	int32_t best = -1;
	*n = 0;
	for (int32_t i = c->host_off[host]; i < c->host_off[host + 1]; i++) {
		int32_t same = 0;
		for (int32_t k = c->host_off[host]; k < c->host_off[host + 1]; k++)
			same += same_work(p, c->host_dev[i], c->host_dev[k]);
		if (same > *n) {
			*n = same;
			best = c->host_dev[i];
		}
	}
	return best;
}

static berth_status time_blocks(const berth_problem *p, const berth_granularity *blocks, int32_t dev,
                                berth_arena *mem, const int64_t **out, berth_err *err)
{
	int64_t *ns;
	BERTH_TRY(BERTH_NEW(mem, ns, blocks->n_blocks, err));
	for (int32_t op = 0; op < p->n_ops; op++) {
		int64_t *b = &ns[blocks->op_block[op]];
		*b = *b < 0 || !berth_op_legal(p, op, dev) ? -1 : *b + berth_op_time(p, op, dev);
	}
	*out = ns;
	return BERTH_OK;
}

/* Routed times of so many bytes between any two devices [n_devs][n_devs]. */
static berth_status time_border(const berth_system *s, int64_t bytes, berth_arena *mem, berth_arena *tmp,
                                const int64_t **pair_ns, berth_err *err)
{
	berth_builder *b;
	berth_graph *g;
	berth_problem p;
	BERTH_TRY(BERTH_NEW(mem, g, 1, err));
	BERTH_TRY(berth_builder_new(tmp, "border", &b, err));
	BERTH_TRY(berth_builder_op(b, &(berth_op_spec){.name = "from"}, NULL, err));
	BERTH_TRY(berth_builder_op(b, &(berth_op_spec){.name = "to"}, NULL, err));
	BERTH_TRY(berth_builder_edge(b, 0, 1, bytes, NULL, err));
	BERTH_TRY(berth_builder_finish(b, mem, g, err));
	BERTH_TRY(berth_problem_new(g, s, mem, tmp, &p, err));
	*pair_ns = p.class_pair_ns;
	return BERTH_OK;
}

/* From each of the devices of the kind to each other one, and to those of other hosts. */
static void time_ways(const berth_problem *p, const berth_cluster *c, int32_t dev, const int64_t *pair_ns,
                      berth_server_kind *k)
{
	int32_t n = c->s->n_devs, host = c->dev_host[dev];
	for (int32_t a = 0; a < n; a++)
		for (int32_t b = 0; b < n && c->dev_host[a] == host && same_work(p, a, dev); b++) {
			int64_t way = pair_ns[a * n + b], back = pair_ns[b * n + a];
			int64_t *most = c->dev_host[b] == host ? &k->inside_ns : &k->outside_ns;
			if (c->dev_host[b] == host && !same_work(p, b, dev))
				continue;
			*most = way > *most ? way : *most;
			*most = back > *most ? back : *most;
		}
}

static berth_status add_kind(const berth_problem *p, const berth_cluster *c, const berth_granularity *blocks,
                             int32_t host, int64_t n_servers, const int64_t *pair_ns, berth_serving *x,
                             berth_arena *mem, berth_err *err)
{
	berth_server_kind *k = &x->kind[x->n_kinds];
	if (x->n_kinds == BERTH_MOST_SERVER_KINDS)
		return berth_fail(err, BERTH_EINVAL, "more than %d kinds of servers",
		                  BERTH_MOST_SERVER_KINDS);
	*k = (berth_server_kind){.name = c->host_name[host], .n_servers = n_servers};
	int32_t dev = main_device(p, c, host, &k->n_devs);
	for (int32_t i = c->host_off[host]; i < c->host_off[host + 1]; i++)
		if (c->s->dev_slots[c->host_dev[i]] > 1)
			return berth_fail(err, BERTH_EINVAL,
			                  "device '%s' has %d slots: pipelines of layers are for devices "
			                  "with one; leave out its \"slots\"",
			                  c->s->dev_name[c->host_dev[i]],
			                  c->s->dev_slots[c->host_dev[i]]);
	k->memory_bytes = berth_dev_most_bytes(p, dev);
	time_ways(p, c, dev, pair_ns, k);
	x->n_kinds++;
	return time_blocks(p, blocks, dev, mem, &k->block_ns, err);
}

static berth_status make(const berth_problem *p, const berth_cluster *c, const berth_granularity *blocks,
                         const int64_t *n_servers, berth_arena *mem, berth_arena *tmp, berth_serving *x,
                         berth_err *err)
{
	const int64_t *pair_ns;
	int64_t border = 0;
	BERTH_TRY(count_bytes(p->g, blocks, x, mem, tmp, err));
	BERTH_TRY(widest_border(p->g, blocks, tmp, &border, err));
	BERTH_TRY(time_border(c->s, border, mem, tmp, &pair_ns, err));
	x->spans = c->n_hosts > 1;
	for (int32_t h = 0; h < c->n_hosts; h++) {
		int64_t n = 0;
		for (int32_t k = h; k < c->n_hosts; k++)
			n += c->host_like[k] == h ? n_servers[k] : 0;
		if (c->host_like[h] == h && n > 0)
			BERTH_TRY(add_kind(p, c, blocks, h, n, pair_ns, x, mem, err));
	}
	return BERTH_OK;
}

berth_status berth_serving_new(const berth_problem *p, const berth_cluster *c,
                               const berth_granularity *blocks, const int64_t *n_servers, berth_arena *mem,
                               berth_arena *tmp, berth_serving *out, berth_err *err)
{
	berth_serving x = {0};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = make(p, c, blocks, n_servers, mem, tmp, &x, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = x;
	return st;
}
