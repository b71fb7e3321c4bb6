/* See slowed.h. */
#include "slowed.h"

static berth_slowed slowed(int32_t pool, int64_t took_ns, int64_t alone_ns)
{
	if (pool < 0 || took_ns <= alone_ns || alone_ns <= 0)
		return (berth_slowed){-1, 0, 1};
	return (berth_slowed){pool, took_ns - alone_ns, (double)took_ns / (double)alone_ns};
}

berth_slowed berth_op_slowed(const berth_problem *p, const berth_timeline *t, int32_t op)
{
	int32_t dev = t->op_dev[op];
	return slowed(berth_dev_pool(p, dev), t->end_ns[op] - t->start_ns[op], berth_op_time(p, op, dev));
}

berth_slowed berth_hop_slowed(const berth_problem *p, const berth_timeline *t, const berth_sim_hop *h)
{
	size_t class_link = (size_t)p->tensor_class[h->tensor] * (size_t)p->s->n_links + (size_t)h->link;
	if (!p->n_pools)
		return slowed(-1, 0, 0);
	int32_t from = p->link_pool[2 * h->link], to = p->link_pool[2 * h->link + 1],
		pool = from < 0 || (to >= 0 && t->pool_ns[to] > t->pool_ns[from]) ? to : from;
	return slowed(pool, h->end_ns - h->start_ns, p->class_link_ns[class_link]);
}
