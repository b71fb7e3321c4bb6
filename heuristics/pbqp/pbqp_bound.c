/* A lower bound by reparametrisation, in sweeps. At one node after the other, a sweep gathers what the node's
 * edges cost at least, banks the node's least cost in the base, and hands shares of the rest on to the edges
 * ahead. The order and the shares are those of sequential tree-reweighted message passing (Kolmogorov, PAMI
 * 2006), in whole numbers. The base never sinks, and the problem stays the same. */
#include "pbqp_work.h"

/* Hand 1/shares of v's costs to the edge at h. */
static void push(pbqp_work *w, int32_t v, int32_t h, int32_t shares)
{
	int64_t *cost = w->cost + w->cost_off[v];
	pbqp_view view = pbqp_view_of(w, h);
	int32_t m = w->n_alts[w->half[h].to];
	for (int32_t i = 0; i < w->n_alts[v]; i++) {
		if (cost[i] >= BERTH_PBQP_INF)
			continue;
		int64_t part = cost[i] / shares;
		cost[i] -= part;
		for (int32_t j = 0; j < m; j++) {
			int64_t *at = view.c + (ptrdiff_t)i * view.row + (ptrdiff_t)j * view.col;
			*at = pbqp_add(*at, part);
		}
	}
}

/* Move the least cost of v to the base. */
static void bank(pbqp_work *w, int32_t v)
{
	int64_t *cost = w->cost + w->cost_off[v], least = cost[pbqp_argmin(cost, w->n_alts[v])];
	w->base = pbqp_add(w->base, least);
	for (int32_t i = 0; i < w->n_alts[v]; i++)
		cost[i] = cost[i] < BERTH_PBQP_INF ? cost[i] - least : cost[i];
}

static berth_status visit(pbqp_work *w, int32_t v, bool forward, berth_err *err)
{
	int32_t ahead = 0, behind = 0;
	bool forbidden;
	for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next) {
		BERTH_TRY(pbqp_work_pull(w, h, &forbidden, err));
		if ((w->half[h].to > v) == forward)
			ahead++;
		else
			behind++;
	}
	bank(w, v);
	int32_t shares = ahead > behind ? ahead : behind;
	for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next)
		if ((w->half[h].to > v) == forward) {
			BERTH_TRY(pbqp_work_own(w, h >> 1, err));
			push(w, v, h, shares--);
		}
	return BERTH_OK;
}

berth_status pbqp_raise_bound(pbqp_work *w, int32_t n_sweeps, berth_err *err)
{
	for (int32_t sweep = 0; sweep < n_sweeps; sweep++) {
		int64_t before = w->base;
		for (int32_t v = 0; v < w->n_nodes; v++)
			if (w->alive[v])
				BERTH_TRY(visit(w, v, true, err));
		for (int32_t v = w->n_nodes - 1; v >= 0; v--)
			if (w->alive[v])
				BERTH_TRY(visit(w, v, false, err));
		if (w->base == before || w->base >= BERTH_PBQP_INF)
			break;
	}
	return BERTH_OK;
}

int64_t pbqp_lower_bound(const pbqp_work *w)
{
	int64_t sum = w->base;
	for (int32_t v = 0; v < w->n_nodes; v++)
		if (w->alive[v]) {
			const int64_t *cost = w->cost + w->cost_off[v];
			sum = pbqp_add(sum, cost[pbqp_argmin(cost, w->n_alts[v])]);
		}
	return sum;
}
