/* The placement on two devices by one minimum cut (min_cut.h). The source's side of the cut is the first
 * device, the sink's the second one. */
#include "min_cut.h"

#include "coloc.h"

enum { SOURCE, SINK, FIRST_NODE, MOST_NODES = 1 << 30 };

#define DOWN (1 - 0x1p-50) /* no product of doubles is above the true one */

berth_status berth_min_cut_new(const berth_problem *p, berth_arena *mem, berth_min_cut *out, berth_err *err)
{
	int64_t nodes = FIRST_NODE + (int64_t)p->n_colocs + 2 * (int64_t)p->g->n_tensors;
	if (nodes > MOST_NODES)
		return berth_fail(err, BERTH_ELIMIT, "min-cut: more than %d colocation groups and tensors",
		                  MOST_NODES);
	*out = (berth_min_cut){.p = p};
	BERTH_TRY(berth_flow_new((int32_t)nodes, p->n_colocs + 2 * ((int64_t)p->g->n_tensors + p->g->n_edges),
	                         mem, &out->flow, err));
	BERTH_TRY_NEW(mem, p->n_colocs, err, out->node, out->fixed, out->stay[0], out->stay[1]);
	return BERTH_NEW(mem, out->seen, p->n_devs, err);
}

int64_t berth_sum_of_times(const berth_problem *p, const int32_t *op_dev, uint8_t *seen)
{
	const berth_graph *g = p->g;
	int64_t sum = 0;
	for (int32_t op = 0; op < p->n_ops; op++)
		sum += berth_op_time(p, op, op_dev[op]);
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t home = op_dev[g->tensor_producer[t]];
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = op_dev[g->edge_consumer[e]];
			sum += to != home && !seen[to] ? berth_transfer_ns(p, t, home, to) : 0;
			seen[to] = 1;
		}
		BERTH_EACH (e, g->tensor_use_off, t)
			seen[op_dev[g->edge_consumer[e]]] = 0;
	}
	return sum;
}

void berth_price_bytes(const berth_problem *p, const int64_t *coloc_bytes, const double *byte_ns,
                       int64_t *out)
{
	for (int32_t u = 0; u < p->n_colocs; u++)
		for (int32_t d = 0; d < p->n_devs; d++)
			out[berth_cell(p, u, d)] = (int64_t)fmin(byte_ns[d] * (double)coloc_bytes[u] * DOWN,
			                                         (double)BERTH_MOST_PRICE);
}

/* Nodes that stand for "the tensor is needed on the second device" and "on the first one". Each consumer
 * there forces its node to its own side. */
static void add_tensor(berth_min_cut *c, const int32_t dev[2], int32_t t)
{
	const berth_problem *p = c->p;
	const berth_graph *g = p->g;
	int32_t from = p->op_coloc[g->tensor_producer[t]], producer = c->node[from], there = -1, here = -1;
	if (producer >= 0) {
		/* A tensor to the devices that it must go to wherever the cut is: those of fixed
		 * consumers. */
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t u = p->op_coloc[g->edge_consumer[e]], to = c->fixed[u];
			if (c->node[u] >= 0 || c->seen[to])
				continue;
			c->seen[to] = 1;
			for (int k = 0; k < 2; k++)
				if (c->stay[k][from] < BERTH_FLOW_ENDLESS)
					c->stay[k][from] += berth_transfer_ns(p, t, dev[k], to);
		}
		BERTH_EACH (e, g->tensor_use_off, t)
			c->seen[c->fixed[p->op_coloc[g->edge_consumer[e]]]] = 0;
	}
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t u = p->op_coloc[g->edge_consumer[e]];
		if (u == from || c->node[u] < 0)
			continue;
		if (there < 0) {
			there = c->n_nodes++;
			here = c->n_nodes++;
			int64_t to_second =
				berth_transfer_ns(p, t, producer < 0 ? c->fixed[from] : dev[0], dev[1]);
			int64_t to_first =
				berth_transfer_ns(p, t, producer < 0 ? c->fixed[from] : dev[1], dev[0]);
			berth_flow_join(&c->flow, producer < 0 ? SOURCE : producer, there, to_second, 0);
			berth_flow_join(&c->flow, here, producer < 0 ? SINK : producer, to_first, 0);
		}
		berth_flow_join(&c->flow, there, c->node[u], BERTH_FLOW_ENDLESS, 0);
		berth_flow_join(&c->flow, c->node[u], here, BERTH_FLOW_ENDLESS, 0);
	}
}

bool berth_min_cut_place(berth_min_cut *c, const int32_t dev[2], const int64_t *price_ns,
                         bool (*go_on)(void *ctx, int64_t arcs), void *ctx, int32_t *op_dev)
{
	const berth_problem *p = c->p;
	/* Nodes, and what each costs by itself. */
	c->n_nodes = FIRST_NODE;
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t now = c->fixed[u] = berth_coloc_dev(p, u, op_dev);
		c->node[u] = now == dev[0] || now == dev[1] ? c->n_nodes++ : -1;
		for (int k = 0; k < 2; k++) {
			int64_t price = price_ns ? price_ns[berth_cell(p, u, dev[k])] : 0;
			c->stay[k][u] = BERTH_FLOW_ENDLESS;
			if (berth_coloc_legal(p, u, dev[k]) && price < BERTH_FLOW_ENDLESS)
				c->stay[k][u] = berth_coloc_time(p, u, dev[k]) + price;
		}
	}
	berth_flow_clear(&c->flow);
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		add_tensor(c, dev, t);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		if (c->node[u] < 0)
			continue;
		/* what both sides cost need not flow */
		int64_t less = c->stay[0][u] < c->stay[1][u] ? c->stay[0][u] : c->stay[1][u];
		if (c->stay[1][u] > less)
			berth_flow_join(&c->flow, SOURCE, c->node[u], c->stay[1][u] - less, 0);
		if (c->stay[0][u] > less)
			berth_flow_join(&c->flow, c->node[u], SINK, c->stay[0][u] - less, 0);
	}
	if (!berth_flow_max(&c->flow, SOURCE, SINK, go_on, ctx))
		return false;
	for (int32_t u = 0; u < p->n_colocs; u++)
		if (c->node[u] >= 0)
			berth_coloc_put(p, u, dev[!berth_flow_at_source(&c->flow, c->node[u])], op_dev);
	return true;
}
