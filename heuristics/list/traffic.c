/* Transfers that wait for channels; see traffic.h. */
#include "traffic.h"

#include "array.h"


berth_status berth_traffic_new(const berth_problem *p, berth_arena *mem, berth_traffic *out, berth_err *err)
{
	*out = (berth_traffic){.p = p};
	BERTH_TRY_NEW(mem, (size_t)p->g->n_tensors * (size_t)p->n_devs, err, out->arrive_ns);
	BERTH_TRY_NEW(mem, p->s->n_channels, err, out->free_ns);
	return BERTH_NEW(mem, out->claim_ns, p->s->n_channels, err);
}

void berth_traffic_reset(berth_traffic *w)
{
	size_t cells = (size_t)w->p->g->n_tensors * (size_t)w->p->n_devs;
	for (size_t i = 0; i < cells; i++)
		w->arrive_ns[i] = -1;
	BERTH_CLEAR(w->free_ns, w->p->s->n_channels);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* When tensor t is on dev, if it is sent there from home now. ends [n_channels]: the channels that it takes
 * get its ends. */
static int64_t send(const berth_traffic *w, int32_t t, int32_t home, int32_t dev, int64_t *ends)
{
	const berth_problem *p = w->p;
	int64_t at = w->arrive_ns[berth_cell(p, t, home)];
	int32_t r = berth_route(w->p, t, home, dev);
	BERTH_EACH (k, p->route_off, r) {
		int32_t link = p->route_link[k], c = p->s->link_channel[link];
		if (p->s->contention)
			at = later(at, later(ends[c], w->free_ns[c]));
		at += berth_hop_ns(p, t, link);
		ends[c] = at;
	}
	return at;
}

/* Nothing is claimed on the route of t. */
static void forget(const berth_traffic *w, int32_t t, int32_t home, int32_t dev)
{
	int32_t r = berth_route(w->p, t, home, dev);
	BERTH_EACH (k, w->p->route_off, r)
		w->claim_ns[w->p->s->link_channel[w->p->route_link[k]]] = 0;
}

int64_t berth_traffic_ready(berth_traffic *w, const berth_partial *part, int32_t op, int32_t dev)
{
	const berth_graph *g = w->p->g;
	int64_t ready = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = berth_partial_dev(part, g->tensor_producer[t]);
		ready = later(ready, berth_traffic_sent(w, t, dev) ? w->arrive_ns[berth_cell(w->p, t, dev)]
		                                                   : send(w, t, home, dev, w->claim_ns));
	}
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = berth_partial_dev(part, g->tensor_producer[t]);
		if (!berth_traffic_sent(w, t, dev))
			forget(w, t, home, dev);
	}
	return ready;
}

void berth_traffic_note(berth_traffic *w, const berth_partial *part, int32_t op, int32_t dev, int64_t end_ns)
{
	const berth_graph *g = w->p->g;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], home = berth_partial_dev(part, g->tensor_producer[t]);
		if (!berth_traffic_sent(w, t, dev))
			w->arrive_ns[berth_cell(w->p, t, dev)] = send(w, t, home, dev, w->free_ns);
	}
	BERTH_EACH (t, g->op_tensor_off, op)
		w->arrive_ns[berth_cell(w->p, t, dev)] = end_ns;
}
