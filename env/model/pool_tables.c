/* Demands and loads of operators and hops in memory pools; see pool_tables.h. The formulas are those of the
 * execution model. */
#include "pool_tables.h"

#include <math.h>

#define MOST_LOAD_NS 0x1p61 /* above it the problem is refused: it is no more than a number that fits */

static int64_t whole_ns(double ns)
{
	return (int64_t)floor(fmin(ns, MOST_LOAD_NS));
}

static void op_figures(berth_problem *p, int32_t op, int32_t dev)
{
	size_t i = (size_t)op * (size_t)p->n_devs + (size_t)dev;
	int32_t pool = p->s->dev_pool[dev];
	double time = (double)p->op_dev_time_ns[i];
	double bytes = (double)p->g->op_read_bytes[op] + (double)p->g->op_write_bytes[op];
	if (pool < 0 || !(time > 0))
		return;
	p->op_dev_demand[i] = fmin(bytes / time, p->pool_rate[pool]);
	p->op_dev_pool_ns[i] = whole_ns(fmin(bytes / p->pool_rate[pool], time));
}

static void hop_figures(berth_problem *p, int32_t c, int32_t link)
{
	size_t i = (size_t)c * (size_t)p->s->n_links + (size_t)link;
	const int32_t *pool = &p->link_pool[2 * link];
	bool inside = pool[0] >= 0 && p->s->dev_pool[p->s->link_to[link]] == pool[0];
	double time = (double)p->class_link_ns[i], bytes = (double)p->class_bytes[c] * (inside ? 2 : 1);
	if ((pool[0] < 0 && pool[1] < 0) || !(time > 0))
		return;
	p->class_link_demand[i] = bytes / time;
	for (size_t k = 0; k < 2; k++)
		if (pool[k] >= 0)
			p->class_link_pool_ns[2 * i + k] = whole_ns(bytes / p->pool_rate[pool[k]]);
}

/* The most that transfers of a tensor of class c can load all pools. */
static double most_load(const berth_problem *p, int32_t c)
{
	size_t n = (size_t)p->n_devs, links = (size_t)p->s->n_links;
	double most = 0;
	for (size_t from = 0; from < n; from++) {
		double sum = 0;
		for (size_t to = 0; to < n; to++) {
			int32_t r = p->class_pair_route[((size_t)c * n + from) * n + to];
			if (r < 0)
				continue;
			for (int32_t h = p->route_off[r]; h < p->route_off[r + 1]; h++) {
				size_t i = (size_t)c * links + (size_t)p->route_link[h];
				sum += (double)p->class_link_pool_ns[2 * i] +
				       (double)p->class_link_pool_ns[2 * i + 1];
			}
		}
		most = fmax(most, sum);
	}
	return most;
}

static berth_status count_loads(const berth_problem *p, berth_arena *tmp, double *total_ns, berth_err *err)
{
	double *class_load;
	BERTH_TRY(BERTH_NEW(tmp, class_load, p->n_classes, err));
	*total_ns *= 2; /* operators load pools for no longer than they take */
	for (int32_t c = 0; c < p->n_classes; c++)
		class_load[c] = most_load(p, c);
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		*total_ns += class_load[p->tensor_class[t]];
	return BERTH_OK;
}

berth_status berth_pool_tables(berth_problem *p, berth_arena *mem, berth_arena *tmp, double *total_ns,
                               berth_err *err)
{
	const berth_system *s = p->s;
	size_t devs = (size_t)p->n_devs, links = (size_t)s->n_links;
	p->n_pools = s->n_pools;
	if (!p->n_pools)
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(mem, p->pool_rate, p->n_pools, err));
	BERTH_TRY(BERTH_NEW(mem, p->link_pool, 2 * links, err));
	BERTH_TRY(BERTH_NEW(mem, p->op_dev_demand, (size_t)p->n_ops * devs, err));
	BERTH_TRY(BERTH_NEW(mem, p->op_dev_pool_ns, (size_t)p->n_ops * devs, err));
	BERTH_TRY(BERTH_NEW(mem, p->class_link_demand, (size_t)p->n_classes * links, err));
	BERTH_TRY(BERTH_NEW(mem, p->class_link_pool_ns, 2 * (size_t)p->n_classes * links, err));
	for (int32_t i = 0; i < p->n_pools; i++)
		p->pool_rate[i] = s->pool_bandwidth[i] * 1e-9;
	for (size_t l = 0; l < links; l++) {
		int32_t from = s->dev_pool[s->link_from[l]], to = s->dev_pool[s->link_to[l]];
		p->link_pool[2 * l] = from;
		p->link_pool[2 * l + 1] = to == from ? -1 : to;
	}
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t d = 0; d < p->n_devs; d++)
			op_figures(p, op, d);
	for (int32_t c = 0; c < p->n_classes; c++)
		for (int32_t l = 0; l < s->n_links; l++)
			hop_figures(p, c, l);
	return count_loads(p, tmp, total_ns, err);
}
