/* Weak duality of the linear relaxation of placement; see certificate.h and docs/proofs.md. */
#include "certificate_check.h"

enum { MOST = 1 << 20 };

typedef struct work {
	const berth_certificate *c;
	const berth_problem *p;
	int64_t *tail;           /* [n_ops][n_devs] least time after the end there */
	certificate_wide *place; /* [n_ops][n_devs] what standing there costs */
	certificate_wide num, den;
} work;

static size_t cell(const work *w, int32_t i, int32_t d)
{
	return (size_t)i * (size_t)w->p->n_devs + (size_t)d;
}

/* Least time from the end of op on d to the end of its consumer j. */
static int64_t after(const work *w, int32_t t, int32_t d, int32_t j)
{
	int64_t least = CERTIFICATE_NEVER;
	for (int32_t e = 0; e < w->p->n_devs; e++) {
		if (!berth_op_legal(w->p, j, e))
			continue;
		int64_t all =
			berth_transfer_ns(w->p, t, d, e) + berth_op_time(w->p, j, e) + w->tail[cell(w, j, e)];
		least = all < least ? all : least;
	}
	return least;
}

static void find_tails(work *w)
{
	const berth_graph *g = w->p->g;
	for (int32_t k = g->n_ops - 1; k >= 0; k--)
		for (int32_t d = 0, op = g->topo_op[k]; d < w->p->n_devs; d++)
			for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
				for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
					int64_t way = after(w, t, d, g->edge_consumer[e]);
					int64_t *tail = &w->tail[cell(w, op, d)];
					*tail = way > *tail ? way : *tail;
				}
}

/* The rows of loads, memory and ends: what an operator pays for its device, and what the length is worth. */
static void charge_places(work *w)
{
	const berth_certificate *c = w->c;
	const berth_problem *p = w->p;
	for (int32_t k = 0; k < p->n_devs + p->n_pools; k++) {
		int64_t limit = certificate_limit(p, k);
		w->den += (certificate_wide)c->price[k] * certificate_units(p, k);
		w->num -= limit < 0 ? 0 : (certificate_wide)c->byte_price[k] * limit;
	}
	for (int32_t op = 0; op < p->n_ops; op++) {
		w->den += c->end_price[op];
		for (int32_t d = 0; d < p->n_devs; d++) {
			int32_t pool = berth_dev_pool(p, d);
			int64_t byte = c->byte_price[d] + (pool < 0 ? 0 : c->byte_price[p->n_devs + pool]);
			if (berth_op_legal(p, op, d))
				w->place[cell(w, op, d)] =
					certificate_charge(p, c->price, op, d) +
					(certificate_wide)byte * certificate_kept_bytes(p, op) +
					(certificate_wide)c->end_price[op] *
						(berth_op_time(p, op, d) + w->tail[cell(w, op, d)]);
		}
	}
}

/* What the channels and pools of the way of tensor t from d to e cost. */
static certificate_wide toll(const work *w, int32_t t, int32_t d, int32_t e)
{
	const berth_problem *p = w->p;
	size_t class = (size_t)p->tensor_class[t], devs = (size_t)p->n_devs, links = (size_t)p->s->n_links;
	int32_t r = p->class_pair_route[(class * devs + (size_t)d) * devs + (size_t)e];
	certificate_wide sum = 0;
	for (int32_t h = p->route_off[r]; h < p->route_off[r + 1]; h++) {
		size_t link = (size_t)p->route_link[h];
		sum += (certificate_wide)w->c->channel_price[p->s->link_channel[link]] *
		       p->class_link_ns[class * links + link];
		for (size_t side = 0; side < 2 && p->n_pools; side++) {
			int32_t pool = p->link_pool[2 * link + side];
			if (pool >= 0)
				sum += (certificate_wide)w->c->price[p->n_devs + pool] *
				       p->class_link_pool_ns[2 * (class * links + link) + side];
		}
	}
	return sum;
}

/* A tensor goes a way once for all consumers there: their parts are at most the toll, or it is paid beside.
 */
static void charge_ways(work *w, int32_t t)
{
	const berth_problem *p = w->p;
	const berth_graph *g = p->g;
	size_t pairs = (size_t)p->n_devs * (size_t)p->n_devs;
	for (int32_t d = 0; d < p->n_devs; d++)
		for (int32_t e = 0; e < p->n_devs; e++) {
			size_t pair = cell(w, d, e);
			certificate_wide rest = d != e && p->s->contention ? toll(w, t, d, e) : 0;
			for (int32_t k = g->tensor_use_off[t]; k < g->tensor_use_off[t + 1]; k++)
				rest -= (certificate_wide)w->c->way_price[(size_t)k * pairs + pair] *
				        w->c->grain;
			w->num += rest < 0 ? rest : 0;
		}
}

/* One edge: the least over the devices of both ends of what its rows leave. Shares go to the places. */
static void charge_edge(work *w, int32_t t, int32_t k)
{
	const berth_certificate *c = w->c;
	const berth_problem *p = w->p;
	int32_t i = p->g->tensor_producer[t], j = p->g->edge_consumer[k];
	certificate_wide least = 0;
	bool any = false;
	for (int32_t d = 0; d < p->n_devs; d++) {
		certificate_wide out = (certificate_wide)c->out_share[cell(w, k, d)] * c->grain;
		w->place[cell(w, i, d)] += out;
		w->place[cell(w, j, d)] += (certificate_wide)c->in_share[cell(w, k, d)] * c->grain;
		for (int32_t e = 0; e < p->n_devs && berth_op_legal(p, i, d); e++) {
			if (!berth_op_legal(p, j, e))
				continue;
			size_t at =
				((size_t)k * (size_t)p->n_devs + (size_t)d) * (size_t)p->n_devs + (size_t)e;
			certificate_wide cost =
				(certificate_wide)c->flow[k] *
					(berth_op_time(p, i, d) + berth_transfer_ns(p, t, d, e)) +
				(certificate_wide)c->way_price[at] * c->grain - out -
				(certificate_wide)c->in_share[cell(w, k, e)] * c->grain;
			least = !any || cost < least ? cost : least;
			any = true;
		}
	}
	w->num += least;
}

/* Starts are between 0 and upper; each colocation group takes its cheapest device. */
static berth_status close_columns(work *w, berth_arena *tmp, berth_err *err)
{
	const berth_certificate *c = w->c;
	const berth_problem *p = w->p;
	certificate_wide *start;
	BERTH_TRY(BERTH_NEW(tmp, start, p->n_ops, err));
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		for (int32_t k = p->g->tensor_use_off[t]; k < p->g->tensor_use_off[t + 1]; k++) {
			start[p->g->tensor_producer[t]] += c->flow[k];
			start[p->g->edge_consumer[k]] -= c->flow[k];
		}
	for (int32_t op = 0; op < p->n_ops; op++) {
		start[op] += c->end_price[op];
		w->num += start[op] < 0 ? start[op] * c->upper_ns : 0;
	}
	for (int32_t u = 0; u < p->n_colocs; u++) {
		certificate_wide least = 0;
		bool any = false;
		for (int32_t d = 0; d < p->n_devs; d++) {
			certificate_wide sum = 0;
			for (int32_t k = p->coloc_off[u]; k < p->coloc_off[u + 1]; k++)
				sum += w->place[cell(w, p->coloc_op[k], d)];
			if (berth_op_legal(p, p->coloc_op[p->coloc_off[u]], d) && (!any || sum < least)) {
				least = sum;
				any = true;
			}
		}
		w->num += least;
	}
	return BERTH_OK;
}

static berth_status check_kind(const work *w, berth_err *err)
{
	const berth_problem *p = w->p;
	if (p->n_ops > MOST || p->g->n_edges > MOST)
		return berth_fail(err, BERTH_EFORMAT,
		                  "a proof by relaxation is of %d operators and edges at most", MOST);
	for (int32_t k = 0; k < p->n_devs + p->n_pools; k++)
		if (w->c->byte_price[k] > 0 && certificate_limit(p, k) < 0)
			return berth_fail(err, BERTH_EFORMAT, "it prices memory that has no limit");
	for (int32_t k = 0; k < p->s->n_channels && !p->s->contention; k++)
		if (w->c->channel_price[k] > 0)
			return berth_fail(err, BERTH_EFORMAT, "it prices channels, where no transfer waits");
	bool timed = false;
	for (int32_t op = 0; op < p->n_ops; op++)
		timed |= w->c->end_price[op] > 0;
	for (int32_t k = 0; k < p->g->n_edges; k++)
		timed |= w->c->flow[k] > 0;
	return timed && w->c->load ? berth_fail(err, BERTH_EFORMAT,
	                                        "ends and flows are of the latency, not of the throughput")
	                           : BERTH_OK;
}

berth_status certificate_relaxation(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                    int64_t *proven_ns, berth_err *err)
{
	work w = {.c = c, .p = p};
	size_t cells = (size_t)p->n_ops * (size_t)p->n_devs;
	BERTH_TRY(check_kind(&w, err));
	BERTH_TRY(BERTH_NEW(tmp, w.tail, cells, err));
	BERTH_TRY(BERTH_NEW(tmp, w.place, cells, err));
	find_tails(&w);
	charge_places(&w);
	for (int32_t t = 0; t < p->g->n_tensors; t++) {
		charge_ways(&w, t);
		for (int32_t k = p->g->tensor_use_off[t]; k < p->g->tensor_use_off[t + 1]; k++)
			charge_edge(&w, t, k);
	}
	for (int32_t k = 0; k < p->s->n_channels; k++)
		w.den += c->channel_price[k];
	if (w.den == 0)
		return berth_fail(err, BERTH_EFORMAT, "all of its prices are 0");
	BERTH_TRY(close_columns(&w, tmp, err));
	int64_t bound = certificate_quotient(w.num, w.den, !c->load);
	*proven_ns = bound < c->upper_ns ? bound : c->upper_ns;
	return BERTH_OK;
}
