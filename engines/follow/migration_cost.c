/* See migration_cost.h. */
#include "migration_cost.h"

/* The smallest class of at least so many bytes, else the largest. -1: the graph has no tensors. */
static int32_t class_near(const berth_problem *p, int64_t bytes)
{
	int32_t best = -1;
	for (int32_t c = 0; c < p->n_classes; c++) {
		int64_t have = best < 0 ? -1 : p->class_bytes[best], b = p->class_bytes[c];
		if (have < bytes ? b > have : b >= bytes && b < have)
			best = c;
	}
	return best;
}

static double hop_s(const berth_system *s, int32_t link, int64_t bytes)
{
	return s->link_latency_s[link] + (double)bytes / s->link_bandwidth[link];
}

/* Without tensors the graph has single operators and no routes: then it is the direct link. */
static double transfer_s(const berth_problem *p, int64_t bytes, int32_t from, int32_t to)
{
	int32_t c = class_near(p, bytes), direct = p->s->link_of[from * p->n_devs + to];
	double seconds = 0;
	if (from == to || bytes == 0)
		return 0;
	if (c < 0)
		return direct >= 0 ? hop_s(p->s, direct, bytes) : 0;
	int32_t r = p->class_pair_route[((size_t)c * (size_t)p->n_devs + (size_t)from) * (size_t)p->n_devs +
	                                (size_t)to];
	for (int32_t h = p->route_off[r]; h < p->route_off[r + 1]; h++)
		seconds += hop_s(p->s, p->route_link[h], bytes);
	return seconds;
}

/* Seconds for shared parameter q. stamp [n_devs] gets q + 1 where the parameter is already. */
static double move_shared(const berth_problem *p, int32_t q, const int32_t *from, const int32_t *to,
                          int32_t *stamp)
{
	const berth_graph *g = p->g;
	double seconds = 0;
	for (int32_t i = g->param_op_off[q]; i < g->param_op_off[q + 1]; i++)
		stamp[from[g->param_op[i]]] = q + 1;
	for (int32_t i = g->param_op_off[q]; i < g->param_op_off[q + 1]; i++) {
		int32_t op = g->param_op[i];
		if (stamp[to[op]] == q + 1)
			continue;
		stamp[to[op]] = q + 1;
		seconds += transfer_s(p, g->param_bytes[q], from[op], to[op]);
	}
	return seconds;
}

berth_status berth_migration_cost(const berth_problem *p, const int32_t *from, const int32_t *to,
                                  berth_arena *tmp, berth_migration *out, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	const berth_graph *g = p->g;
	berth_migration r = {0};
	int32_t *stamp;
	BERTH_TRY(BERTH_NEW(tmp, stamp, p->n_devs, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		r.n_moved += from[op] != to[op];
		r.seconds += transfer_s(p, g->op_param_bytes[op] + g->op_state_bytes[op], from[op], to[op]);
	}
	for (int32_t q = 0; q < g->n_params; q++)
		r.seconds += move_shared(p, q, from, to, stamp);
	berth_arena_reset(tmp, mark);
	*out = r;
	return BERTH_OK;
}
