/* See prices.h. */
#include "prices.h"

bool berth_prices_known(const berth_objective *o)
{
	bool some = false;
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		if (!o->sums[m] && !berth_objective_is(o, (berth_metric)m))
			continue;
		if (m != BERTH_LATENCY && m != BERTH_ENERGY && m != BERTH_EDP)
			return false;
		some = true;
	}
	return some;
}

static double weight_of(const berth_objective *o, berth_metric m)
{
	return o->sums[m] ? o->weight[m] : berth_objective_is(o, m) ? 1 : 0;
}

berth_status berth_prices_new(const berth_problem *p, const berth_objective *objective, berth_arena *mem,
                              berth_prices *out, berth_err *err)
{
	berth_prices x = {.p = p, .objective = objective, .per_ns = 1};
	BERTH_TRY(BERTH_NEW(mem, x.seen, p->g->n_tensors, err));
	BERTH_TRY(berth_dests_new(p, mem, &x.dests, err));
	for (int32_t d = 0; d < p->n_devs && p->has_energy; d++)
		x.idle_w += p->s->dev_idle_w[d];
	*out = x;
	return BERTH_OK;
}

static double joules_above_idle(const berth_prices *x, const berth_base_log *b)
{
	double sum = 0;
	for (int32_t op = 0; op < x->p->n_ops; op++)
		sum += berth_op_joules(x->p, op, b->op_dev[op]);
	for (int32_t h = 0; h < b->n_ends - x->p->n_ops; h++)
		sum += x->p->s->link_joules_per_byte[b->hops[h].link] *
		       (double)x->p->g->tensor_bytes[b->hops[h].tensor];
	return sum;
}

void berth_prices_update(berth_prices *x, const berth_base_log *base)
{
	double energy = weight_of(x->objective, BERTH_ENERGY), edp = weight_of(x->objective, BERTH_EDP);
	if (x->serial == base->serial || !(energy > 0 || edp > 0))
		return;
	double s = (double)base->latency_ns * 1e-9, joules = joules_above_idle(x, base) + x->idle_w * s;
	x->serial = base->serial;
	x->per_joule = energy + edp * s;
	x->per_ns = 1e-9 * (weight_of(x->objective, BERTH_LATENCY) + energy * x->idle_w +
	                    edp * (joules + s * x->idle_w));
}

/* Of bringing tensor t to all that take it. */
static double tensor_joules(berth_prices *x, int32_t t, const int32_t *op_dev)
{
	const berth_graph *g = x->p->g;
	int32_t home = op_dev[g->tensor_producer[t]];
	double sum = 0;
	berth_dests_find(&x->dests, g, t, op_dev);
	for (int32_t i = 0; i < x->dests.n; i++)
		sum += berth_transfer_joules(x->p, t, home, x->dests.dev[i]);
	return sum;
}

static double tensor_change(berth_prices *x, int32_t t, const int32_t *base_dev, const int32_t *op_dev)
{
	if (x->seen[t] == x->stamp)
		return 0;
	x->seen[t] = x->stamp;
	return tensor_joules(x, t, op_dev) - tensor_joules(x, t, base_dev);
}

double berth_prices_joules(berth_prices *x, const int32_t *base_dev, const int32_t *op_dev, int32_t n,
                           const int32_t *op)
{
	const berth_graph *g = x->p->g;
	double sum = 0;
	x->stamp++;
	for (int32_t i = 0; i < n; i++) {
		int32_t v = op[i];
		sum += berth_op_joules(x->p, v, op_dev[v]) - berth_op_joules(x->p, v, base_dev[v]);
		for (int32_t t = g->op_tensor_off[v]; t < g->op_tensor_off[v + 1]; t++)
			sum += tensor_change(x, t, base_dev, op_dev);
		for (int32_t k = g->op_in_off[v]; k < g->op_in_off[v + 1]; k++)
			sum += tensor_change(x, g->in_tensor[k], base_dev, op_dev);
	}
	return sum;
}

double berth_prices_joules_at(const berth_prices *x, int32_t op, int32_t d, const int32_t *op_dev,
                              bool (*stays)(const void *ctx, int32_t op), const void *ctx)
{
	const berth_graph *g = x->p->g;
	double sum = berth_op_joules(x->p, op, d);
	for (int32_t k = g->op_in_off[op]; k < g->op_in_off[op + 1]; k++) {
		int32_t t = g->in_tensor[k], home = op_dev[g->tensor_producer[t]];
		if (home != d)
			sum += berth_transfer_joules(x->p, t, home, d);
	}
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
			int32_t to = g->edge_consumer[e];
			if (op_dev[to] != d && stays(ctx, to))
				sum += berth_transfer_joules(x->p, t, d, op_dev[to]);
		}
	return sum;
}
