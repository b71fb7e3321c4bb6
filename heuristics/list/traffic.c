/* Transfers that wait for channels: each hop is carried in the first idle gap that takes it. Lists and the
 * policy ask it when a device could begin. */
#include "traffic.h"

enum { MOST_GAPS = 4096 }; /* of all channels at a time */

berth_status berth_traffic_new(const berth_problem *p, berth_arena *mem, berth_traffic *out, berth_err *err)
{
	*out = (berth_traffic){.p = p};
	BERTH_TRY_NEW(mem, (size_t)p->g->n_tensors * (size_t)p->n_devs, err, out->arrive_ns);
	size_t most = (size_t)(p->g->n_edges < MOST_GAPS ? p->g->n_edges : MOST_GAPS);
	if (p->s->contention)
		BERTH_TRY(berth_idle_new(p->s->n_channels, most, mem, &out->idle, err));
	return BERTH_NEW(mem, out->claim_ns, p->s->n_channels, err);
}

void berth_traffic_reset(berth_traffic *w)
{
	size_t cells = (size_t)w->p->g->n_tensors * (size_t)w->p->n_devs;
	for (size_t i = 0; i < cells; i++)
		w->arrive_ns[i] = -1;
	berth_idle_reset(&w->idle);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* When tensor t is on dev, if it is sent there from home now. With claims no channel is taken; those that it
 * would take are claimed until then. */
static int64_t send(berth_traffic *w, int32_t t, int32_t home, int32_t dev, bool claims)
{
	const berth_problem *p = w->p;
	int64_t at = w->arrive_ns[berth_cell(p, t, home)];
	int32_t r = berth_route(p, t, home, dev);
	BERTH_EACH (k, p->route_off, r) {
		int32_t link = p->route_link[k], c = p->s->link_channel[link];
		int64_t time = berth_hop_ns(p, t, link);
		if (p->s->contention) {
			at = berth_idle_start(&w->idle, c, claims ? later(at, w->claim_ns[c]) : at, time);
			if (claims)
				w->claim_ns[c] = at + time;
			else
				berth_idle_take(&w->idle, berth_idle_find(&w->idle, c, at, at + time), at,
				                at + time);
		}
		at += time;
	}
	return at;
}

int64_t berth_traffic_ready(berth_traffic *w, const berth_partial *part, int32_t op, int32_t dev)
{
	const berth_graph *g = w->p->g;
	int64_t ready = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = berth_partial_dev(part, g->tensor_producer[t]);
		ready = later(ready, berth_traffic_sent(w, t, dev) ? w->arrive_ns[berth_cell(w->p, t, dev)]
		                                                   : send(w, t, home, dev, true));
	}
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = berth_partial_dev(part, g->tensor_producer[t]);
		if (!berth_traffic_sent(w, t, dev)) {
			/* Nothing is claimed on the route of t. */
			int32_t r = berth_route(w->p, t, home, dev);
			BERTH_EACH (k, w->p->route_off, r)
				w->claim_ns[w->p->s->link_channel[w->p->route_link[k]]] = 0;
		}
	}
	return ready;
}

void berth_traffic_note(berth_traffic *w, const berth_partial *part, int32_t op, int32_t dev, int64_t end_ns)
{
	const berth_graph *g = w->p->g;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = berth_partial_dev(part, g->tensor_producer[t]);
		if (!berth_traffic_sent(w, t, dev))
			w->arrive_ns[berth_cell(w->p, t, dev)] = send(w, t, home, dev, false);
	}
	BERTH_EACH (t, g->op_tensor_off, op)
		w->arrive_ns[berth_cell(w->p, t, dev)] = end_ns;
}
