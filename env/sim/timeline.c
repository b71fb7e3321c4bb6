/* A simulation with everything kept; see timeline.h. */
#include "timeline.h"

berth_status berth_timeline_new(const berth_problem *p, const int32_t *op_dev, const int32_t *order,
                                berth_arena *mem, berth_timeline *out, berth_err *err)
{
	berth_timeline t = {
		.op_dev = op_dev, .op_order = order, .order = order ? BERTH_ORDER_GIVEN : p->s->order};
	berth_sim *sim;
	BERTH_TRY(berth_sim_new(p, mem, &sim, err));
	BERTH_TRY(BERTH_NEW(mem, t.hops, berth_sim_max_hops(p), err));
	BERTH_TRY(BERTH_NEW(mem, t.dev_sent_bytes, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(mem, t.dev_ops, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(mem, t.dev_busy_ns, p->n_devs, err));
	berth_sim_want_peaks(sim, true);
	berth_sim_want_hops(sim, t.hops);
	berth_sim_run(sim, op_dev, order, &t.r);
	t.start_ns = berth_sim_start_ns(sim);
	t.end_ns = berth_sim_end_ns(sim);
	t.peak_bytes = berth_sim_peak_bytes(sim);
	t.channel_ns = berth_sim_channel_ns(sim);
	t.pool_ns = berth_sim_pool_ns(sim);
	t.pool_peak_bytes = berth_sim_pool_peak_bytes(sim);
	t.dev_time_ns = berth_sim_dev_time_ns(sim);
	for (int32_t d = 0; d < p->n_devs; d++)
		t.dev_busy_ns[d] = t.dev_time_ns[d] + berth_sim_dev_slow_ns(sim)[d];
	t.n_hops = t.r.runs ? berth_sim_n_hops(sim) : 0;
	for (int32_t op = 0; op < p->n_ops; op++)
		t.dev_ops[op_dev[op]]++;
	for (size_t h = 0; h < t.n_hops; h++)
		t.dev_sent_bytes[p->s->link_from[t.hops[h].link]] += p->g->tensor_bytes[t.hops[h].tensor];
	*out = t;
	return BERTH_OK;
}
