/* Transfers that wait for channels: each hop is carried in the first idle gap that takes it. Lists and the
 * policy ask it when a device could begin. */
#include "traffic.h"

enum { MOST_GAPS = 4096 }; /* of all channels at a time */

berth_status berth_traffic_new(const berth_problem *p, berth_arena *mem, berth_traffic *out, berth_err *err)
{
	*out = (berth_traffic){.p = p};
	BERTH_TRY_NEW(mem, (size_t)p->g->n_tensors * (size_t)p->n_devs, err, out->arrive_ns);
	BERTH_TRY_NEW(mem, p->g->n_tensors, err, out->home);
	BERTH_TRY_NEW(mem, p->s->n_channels, err, out->load_ns, out->channel);
	BERTH_TRY_NEW(mem, p->s->n_channels, err, out->claimed);
	if (!p->s->contention)
		return BERTH_OK;
	size_t most = p->lists_queue ? 0 : (size_t)(p->g->n_edges < MOST_GAPS ? p->g->n_edges : MOST_GAPS);
	return berth_idle_new(p->s->n_channels, most, mem, &out->idle, err);
}

void berth_traffic_reset(berth_traffic *w)
{
	memset(w->arrive_ns, -1,
	       (size_t)w->p->g->n_tensors * (size_t)w->p->n_devs * sizeof *w->arrive_ns);
	BERTH_CLEAR(w->load_ns, w->p->s->n_channels);
	berth_idle_reset(&w->idle);
}

static int64_t later(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* What of channel c is claimed by a hop that takes time from then on, on top of what was. */
static void claim(berth_traffic *w, int32_t c, int64_t at, int64_t time, int32_t *n_claimed,
                  berth_transfers *out)
{
	berth_claim *x = &w->channel[c];
	if (x->end_ns == 0)
		w->claimed[*n_claimed] = c;
	*n_claimed += x->end_ns == 0 && at + time > 0;
	x->end_ns = later(x->end_ns, at + time); /* 0 again would claim it twice */
	x->load_ns += time;
	out->sum_ns += time;
	if (time)
		out->busiest_ns = later(out->busiest_ns, w->load_ns[c] + x->load_ns);
}

berth_transfers berth_traffic_look(berth_traffic *w, int32_t op, int32_t dev)
{
	const berth_problem *p = w->p;
	berth_transfers out = {0};
	int32_t n_claimed = 0;
	BERTH_EACH (i, p->g->op_in_off, op) {
		int32_t t = p->g->in_tensor[i];
		const int64_t *arrive_ns = BERTH_ROW(w->arrive_ns, t, p->n_devs);
		int64_t at = arrive_ns[dev];
		if (at < 0) {
			int32_t r = berth_route(p, t, w->home[t], dev);
			at = arrive_ns[w->home[t]];
			BERTH_EACH (k, p->route_off, r) {
				int32_t link = p->route_link[k], c = p->s->link_channel[link];
				int64_t time = berth_hop_ns(p, t, link);
				if (p->s->contention)
					at = berth_idle_start(&w->idle, c, later(at, w->channel[c].end_ns),
					                      time);
				claim(w, c, at, time, &n_claimed, &out);
				at += time;
			}
		}
		out.ready_ns = later(out.ready_ns, at);
	}
	for (int32_t k = 0; k < n_claimed; k++)
		w->channel[w->claimed[k]] = (berth_claim){0};
	return out;
}

/* Tensor t goes from its home to dev; when it is there. */
static int64_t send(berth_traffic *w, int32_t t, int32_t dev)
{
	const berth_problem *p = w->p;
	int64_t at = w->arrive_ns[berth_cell(p, t, w->home[t])];
	int32_t r = berth_route(p, t, w->home[t], dev);
	BERTH_EACH (k, p->route_off, r) {
		int32_t link = p->route_link[k], c = p->s->link_channel[link];
		int64_t time = berth_hop_ns(p, t, link);
		if (p->s->contention) {
			at = berth_idle_start(&w->idle, c, at, time);
			berth_idle_take(&w->idle, berth_idle_find(&w->idle, c, at, at + time), at, at + time);
		}
		w->load_ns[c] += time;
		at += time;
	}
	return at;
}

void berth_traffic_note(berth_traffic *w, int32_t op, int32_t dev, int64_t end_ns)
{
	const berth_graph *g = w->p->g;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i];
		if (!berth_traffic_sent(w, t, dev))
			w->arrive_ns[berth_cell(w->p, t, dev)] = send(w, t, dev);
	}
	BERTH_EACH (t, g->op_tensor_off, op) {
		w->arrive_ns[berth_cell(w->p, t, dev)] = end_ns;
		w->home[t] = dev;
	}
}
