/* Duals of the placement model as whole numbers; see placement_lp.h.
 *
 * A row's dual in model time becomes a price of S = 2^36 parts of the length, a share in model time one of S
 * parts of a nanosecond, over a grain that keeps it below 2^53. */
#include "placement_lp.h"

#include <math.h>

#define PARTS 0x1p36

typedef struct work {
	const berth_placement_lp *m;
	const berth_problem *p;
	const double *y;
	berth_certificate *c;
} work;

static double dual(const work *w, int32_t row)
{
	return row < 0 || !isfinite(w->y[row]) ? 0 : w->y[row];
}

static int64_t price(double x)
{
	return llround(fmin(fmax(x, 0), (double)BERTH_CERTIFICATE_MOST_PRICE));
}

static int64_t share(const work *w, double x)
{
	double most = (double)BERTH_CERTIFICATE_MOST_SHARE;
	return llround(fmin(fmax(x / (double)w->c->grain, -most), most));
}

/* Parts of a nanosecond that a dual in model time stands for. */
static double in_parts(const work *w, int32_t row)
{
	return dual(w, row) / w->m->scale * PARTS;
}

static void round_prices(work *w)
{
	const berth_problem *p = w->p;
	for (int32_t k = 0; k < p->n_devs + p->n_pools; k++) {
		int64_t limit = k < p->n_devs ? p->dev_limit_bytes[k] : p->s->pool_bytes[k - p->n_devs];
		w->c->price[k] = price(dual(w, w->m->load_row[k]) * PARTS);
		w->c->byte_price[k] =
			limit < 0 ? 0 : price(-in_parts(w, w->m->byte_row[k]) / fmax((double)limit, 1));
	}
	for (int32_t k = 0; k < p->s->n_channels; k++)
		w->c->channel_price[k] = price(dual(w, w->m->channel_row[k]) * PARTS);
	for (int32_t op = 0; op < p->n_ops; op++)
		w->c->end_price[op] = price(dual(w, w->m->end_row[op]) * PARTS);
	for (int32_t k = 0; k < p->g->n_edges; k++)
		w->c->flow[k] = price(dual(w, w->m->flow_row[k]) * PARTS);
}

/* The largest share fits. */
static void find_grain(work *w)
{
	size_t devs = (size_t)w->p->n_devs, edges = (size_t)w->p->g->n_edges;
	double most = 1;
	for (size_t k = 0; k < edges * devs; k++)
		most = fmax(most,
		            fmax(fabs(in_parts(w, w->m->out_row[k])), fabs(in_parts(w, w->m->in_row[k]))));
	for (size_t k = 0; k < edges * devs * devs; k++)
		most = fmax(most, in_parts(w, w->m->way_row[k]));
	w->c->grain = 1 + price(most / (double)BERTH_CERTIFICATE_MOST_SHARE);
}

static void round_shares(work *w)
{
	size_t devs = (size_t)w->p->n_devs, edges = (size_t)w->p->g->n_edges;
	find_grain(w);
	for (size_t k = 0; k < edges * devs; k++) {
		w->c->out_share[k] = share(w, in_parts(w, w->m->out_row[k]));
		w->c->in_share[k] = share(w, in_parts(w, w->m->in_row[k]));
	}
	for (size_t k = 0; k < edges * devs * devs; k++)
		w->c->way_price[k] = share(w, fmax(in_parts(w, w->m->way_row[k]), 0));
}

/* No more flows into an operator than out of it, or into the end: else its start would cost. What is missing
 * goes where most goes. */
static void repair_flows(work *w)
{
	const berth_graph *g = w->p->g;
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k];
		int64_t *most = &w->c->end_price[op], missing = -*most;
		for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
			int32_t t = g->in_tensor[i];
			for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
				missing += g->edge_consumer[e] == op ? w->c->flow[e] : 0;
		}
		for (int32_t e = g->tensor_use_off[g->op_tensor_off[op]];
		     e < g->tensor_use_off[g->op_tensor_off[op + 1]]; e++) {
			missing -= w->c->flow[e];
			most = w->c->flow[e] > *most ? &w->c->flow[e] : most;
		}
		if (missing > 0 && *most <= BERTH_CERTIFICATE_MOST_PRICE - missing)
			*most += missing;
	}
}

berth_status berth_placement_certificate(const berth_placement_lp *m, const berth_problem *p, const double *y,
                                         berth_arena *mem, berth_certificate *out, berth_err *err)
{
	size_t devs = (size_t)p->n_devs, edges = (size_t)p->g->n_edges, all = devs + (size_t)p->n_pools;
	berth_certificate c = {
		.kind = BERTH_CERTIFICATE_RELAXATION, .load = m->load, .upper_ns = m->upper_ns};
	work w = {m, p, y, &c};
	BERTH_TRY(BERTH_NEW(mem, c.price, all, err));
	BERTH_TRY(BERTH_NEW(mem, c.byte_price, all, err));
	BERTH_TRY(BERTH_NEW(mem, c.channel_price, p->s->n_channels, err));
	BERTH_TRY(BERTH_NEW(mem, c.end_price, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, c.flow, edges, err));
	BERTH_TRY(BERTH_NEW(mem, c.out_share, edges * devs, err));
	BERTH_TRY(BERTH_NEW(mem, c.in_share, edges * devs, err));
	BERTH_TRY(BERTH_NEW(mem, c.way_price, edges * devs * devs, err));
	round_prices(&w);
	round_shares(&w);
	if (!m->load)
		repair_flows(&w);
	*out = c;
	return BERTH_OK;
}
