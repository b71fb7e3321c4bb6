/* What the simulator does where devices stand in memory pools. It is apart from sim.c so that systems without
 * pools do not pay for it: sim.c comes here only where there are some. */
#include "sim_state.h"

bool sim_start_op_in_pool(berth_sim *s, int32_t op, int32_t d, int64_t time_ns)
{
	size_t i = (size_t)op * (size_t)s->p->n_devs + (size_t)d;
	const int32_t pool[2] = {s->p->s->dev_pool[d], -1};
	if (!(s->p->op_dev_demand[i] > 0))
		return false;
	s->pool_ns[pool[0]] += s->p->op_dev_pool_ns[i];
	pool_share_start(s->share, op, s->p->op_dev_demand[i], pool, time_ns, s->now);
	return true;
}

bool sim_start_hop_in_pools(berth_sim *s, int32_t id, int64_t time_ns)
{
	const berth_problem *p = s->p;
	const transfer *m = &s->moves[id];
	size_t link = (size_t)p->route_link[m->hop];
	size_t i = (size_t)p->tensor_class[m->tensor] * (size_t)p->s->n_links + link;
	const int32_t *pool = &p->link_pool[2 * link];
	if (!(p->class_link_demand[i] > 0))
		return false;
	for (size_t k = 0; k < 2; k++)
		if (pool[k] >= 0)
			s->pool_ns[pool[k]] += p->class_link_pool_ns[2 * i + k];
	pool_share_start(s->share, ~id, p->class_link_demand[i], pool, time_ns, s->now);
	return true;
}

void sim_note_pool_peak(berth_sim *s, int32_t d)
{
	int32_t pool = s->p->s->dev_pool[d];
	int64_t bytes = 0;
	if (pool < 0)
		return;
	for (int32_t k = 0; k < s->p->n_devs; k++)
		bytes += s->p->s->dev_pool[k] == pool ? s->mem_bytes[k] : 0;
	if (bytes > s->pool_peak_bytes[pool])
		s->pool_peak_bytes[pool] = bytes;
}

/* What ends next goes into the heap: nothing changes before. */
static void take_due(berth_sim *s)
{
	int32_t what;
	int64_t slow_ns, due = s->share->next_ns;
	if (!s->share->n_pieces || (s->n_heap && s->heap[0].time < due))
		return;
	while (pool_share_take(s->share, due, &what, &slow_ns)) {
		sim_event_push(s, due, what);
		if (what >= 0)
			s->dev_slow_ns[s->op_dev[what]] += slow_ns;
	}
}

void sim_settle_pools(berth_sim *s)
{
	for (int32_t i = 0; i < s->n_dirty_dev && s->track; i++)
		sim_note_pool_peak(s, s->dirty_dev[i]);
	pool_share_settle(s->share, s->now);
	take_due(s);
}
