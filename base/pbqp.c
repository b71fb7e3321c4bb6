/* PBQP: the public face. A problem is a pbqp_work that nothing is taken from. Solving extracts a copy of what
 * is allowed and reduces it exactly to a kernel of nodes with degree three or more. It answers the kernel in
 * the asked mode, and propagates back. */
#include "pbqp_work.h"

enum {
	LOST_LIMIT = 10000, /* nodes that look for any finite answer where no limit is given */
	ROOT_SWEEPS = 50    /* of pbqp_raise_bound before branch and bound */
};

struct berth_pbqp {
	pbqp_work w;
};

berth_status berth_pbqp_new(int32_t n_nodes, const int32_t *node_n_alts, berth_arena *mem, berth_pbqp **out,
                            berth_err *err)
{
	berth_pbqp *q;
	int64_t n_costs;
	n_costs = 0;
	if (n_nodes < 0)
		return berth_fail(err, BERTH_EINVAL, "PBQP: %d nodes; expected 0 or more", (int)n_nodes);
	for (int32_t v = 0; v < n_nodes; v++) {
		if (node_n_alts[v] <= 0)
			return berth_fail(err, BERTH_EINVAL,
			                  "PBQP: node %d has %d alternatives; expected 1 or more", (int)v,
			                  (int)node_n_alts[v]);
		n_costs += node_n_alts[v];
	}
	if (n_costs > INT32_MAX)
		return berth_fail(err, BERTH_EINVAL, "PBQP: %lld alternatives in all; the most is %d",
		                  (long long)n_costs, (int)INT32_MAX);
	BERTH_TRY_NEW(mem, 1, err, q);
	pbqp_work *w = &q->w;
	*w = (pbqp_work){.mem = mem, .n_nodes = n_nodes, .max_alts = 1};
	BERTH_TRY_NEW(mem, n_nodes, err, w->n_alts);
	BERTH_TRY_NEW(mem, (size_t)n_nodes + 1, err, w->cost_off);
	BERTH_TRY_NEW(mem, n_costs, err, w->cost);
	BERTH_TRY_NEW(mem, n_nodes, err, w->first, w->degree, w->alive);
	for (int32_t v = 0; v < n_nodes; v++) {
		w->n_alts[v] = node_n_alts[v];
		w->cost_off[v + 1] = w->cost_off[v] + node_n_alts[v];
		w->first[v] = -1;
		w->alive[v] = true;
		if (node_n_alts[v] > w->max_alts)
			w->max_alts = node_n_alts[v];
	}
	*out = q;
	return BERTH_OK;
}

int64_t *berth_pbqp_node(berth_pbqp *q, int32_t node)
{
	assert(node >= 0 && node < q->w.n_nodes);
	return q->w.cost + q->w.cost_off[node];
}

static berth_status check_edge(const pbqp_work *w, int32_t u, int32_t v, const int64_t *cost, berth_err *err)
{
	if (u < 0 || u >= w->n_nodes || v < 0 || v >= w->n_nodes || u == v)
		return berth_fail(err, BERTH_EINVAL,
		                  "PBQP: edge %d - %d; expected two different nodes below %d", (int)u, (int)v,
		                  (int)w->n_nodes);
	size_t n = (size_t)w->n_alts[u] * (size_t)w->n_alts[v];
	for (size_t at = 0; at < n; at++)
		if (cost[at] < 0 || cost[at] > BERTH_PBQP_INF)
			return berth_fail(err, BERTH_EINVAL,
			                  "PBQP: edge %d - %d costs %lld; expected 0 to BERTH_PBQP_INF",
			                  (int)u, (int)v, (long long)cost[at]);
	return BERTH_OK;
}

berth_status berth_pbqp_reserve(berth_pbqp *q, size_t n_edges, berth_err *err)
{
	pbqp_work *w = &q->w;
	assert(!w->cap_edge);
	BERTH_TRY_NEW(w->mem, 2 * n_edges, err, w->half);
	BERTH_TRY_NEW(w->mem, n_edges, err, w->edge);
	w->cap_edge = n_edges;
	return BERTH_OK;
}

static berth_status more_edges(pbqp_work *w, berth_err *err)
{
	size_t n = (size_t)w->n_edges, cap = w->cap_edge, cap_half = 2 * cap;
	if (n < cap)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(w->mem, w->half, 2 * n, &cap_half, err));
	BERTH_TRY(BERTH_GROW(w->mem, w->edge, n, &cap, err));
	w->cap_edge = cap_half / 2;
	return BERTH_OK;
}

berth_status berth_pbqp_edge(berth_pbqp *q, int32_t u, int32_t v, const int64_t *cost, berth_err *err)
{
	pbqp_work *w = &q->w;
	BERTH_TRY(check_edge(w, u, v, cost, err));
	int32_t h = pbqp_work_find(w, u, v);
	if (h < 0) {
		int64_t *matrix;
		size_t n = (size_t)w->n_alts[u] * (size_t)w->n_alts[v];
		if (w->n_edges >= INT32_MAX / 2 - w->n_nodes)
			return berth_fail(err, BERTH_EINVAL, "PBQP: more than %d edges", (int)w->n_edges);
		BERTH_TRY_NEW(w->mem, n, err, matrix);
		BERTH_TRY(more_edges(w, err));
		h = pbqp_work_link(w, u, v, matrix);
	}
	pbqp_view view = pbqp_view_of(w, h);
	for (int32_t i = 0; i < w->n_alts[u]; i++)
		for (int32_t j = 0; j < w->n_alts[v]; j++) {
			int64_t *at = pbqp_at(view, i, j);
			*at = pbqp_add(*at, cost[(ptrdiff_t)i * w->n_alts[v] + j]);
		}
	return BERTH_OK;
}

/* ---- solving ---- */

/* Largest finite of cost[n], added to *sum. */
static void add_largest(const int64_t *cost, size_t n, int64_t *sum)
{
	int64_t most = 0;
	for (size_t i = 0; i < n; i++)
		if (cost[i] < BERTH_PBQP_INF && cost[i] > most)
			most = cost[i];
	*sum = pbqp_add(*sum, most);
}

/* Answer the kernel in the asked mode. */
static berth_status solve_kernel(pbqp_work *kernel, berth_pbqp_mode mode, int64_t node_limit, int32_t *x,
                                 berth_pbqp_stats *stats, pbqp_counts *counts, berth_err *err)
{
	if (mode == BERTH_PBQP_RN_EARLY || mode == BERTH_PBQP_RN_LATE) {
		BERTH_TRY(pbqp_solve_rn(kernel, mode == BERTH_PBQP_RN_EARLY ? PBQP_RN_EARLY : PBQP_RN_LATE, x,
		                        counts, err));
		stats->cost = pbqp_work_cost(kernel, x);
	} else if (mode == BERTH_PBQP_RN_BOTH) {
		BERTH_TRY(pbqp_solve_both(kernel, x, &stats->cost, counts, err));
	} else {
		BERTH_TRY(pbqp_solve_best(kernel, x, &stats->cost, counts, err));
	}
	if (mode == BERTH_PBQP_EXACT && stats->cost > pbqp_lower_bound(kernel))
		BERTH_TRY(pbqp_raise_bound(kernel, ROOT_SWEEPS, err));
	stats->lower_bound = pbqp_lower_bound(kernel);
	bool complete = false,
	     lost = (mode == BERTH_PBQP_RN_BOTH || mode == BERTH_PBQP_BEST) && stats->cost >= BERTH_PBQP_INF;
	if ((mode == BERTH_PBQP_EXACT || lost) && stats->cost > stats->lower_bound)
		BERTH_TRY(pbqp_branch_and_bound(kernel, lost && node_limit <= 0 ? LOST_LIMIT : node_limit, x,
		                                &stats->cost, &stats->nodes, &complete, err));
	if (complete)
		stats->lower_bound = stats->cost;
	return BERTH_OK;
}

static berth_status solve(const pbqp_work *w, berth_pbqp_mode mode, int64_t node_limit, int32_t *x,
                          berth_pbqp_stats *stats, berth_arena *tmp, berth_err *err)
{
	pbqp_work copy, kernel;
	pbqp_reducer r;
	pbqp_counts counts = {0};
	int32_t *x_copy, *x_kernel;
	BERTH_CLEAR(x, w->n_nodes);
	BERTH_TRY(pbqp_work_extract(w, NULL, tmp, &copy, err));
	BERTH_TRY(pbqp_reducer_new(&copy, true, &r, err));
	BERTH_TRY(pbqp_reduce_exact(&r, err));
	BERTH_TRY(pbqp_work_extract(&copy, NULL, tmp, &kernel, err));
	BERTH_TRY_NEW(tmp, copy.n_nodes, err, x_copy);
	BERTH_TRY_NEW(tmp, kernel.n_nodes, err, x_kernel);
	BERTH_TRY(solve_kernel(&kernel, mode, node_limit, x_kernel, stats, &counts, err));
	pbqp_work_lift(&kernel, x_kernel, x_copy);
	pbqp_propagate(&r, x_copy);
	pbqp_work_lift(&copy, x_copy, x);
	assert(pbqp_work_cost(w, x) == stats->cost);
	stats->proven = stats->cost <= stats->lower_bound;
	stats->n_r0 = r.n_taken.n_r0 + counts.n_r0;
	stats->n_r1 = r.n_taken.n_r1 + counts.n_r1;
	stats->n_r2 = r.n_taken.n_r2 + counts.n_r2;
	stats->n_rn = r.n_taken.n_rn + counts.n_rn;
	return BERTH_OK;
}

berth_status berth_pbqp_solve(const berth_pbqp *q, berth_pbqp_mode mode, int64_t node_limit, int32_t *alt,
                              berth_pbqp_stats *stats, berth_arena *tmp, berth_err *err)
{
	berth_pbqp_stats st = {0};
	/* Node costs in range, and no finite assignment that reaches INF. */
	int64_t sum = 0;
	for (int32_t at = 0; at < q->w.cost_off[q->w.n_nodes]; at++)
		if (q->w.cost[at] < 0 || q->w.cost[at] > BERTH_PBQP_INF)
			return berth_fail(err, BERTH_EINVAL,
			                  "PBQP: a node cost is %lld; expected 0 to BERTH_PBQP_INF",
			                  (long long)q->w.cost[at]);
	for (int32_t v = 0; v < q->w.n_nodes; v++)
		add_largest(q->w.cost + q->w.cost_off[v], (size_t)q->w.n_alts[v], &sum);
	for (int32_t e = 0; e < q->w.n_edges; e++)
		add_largest(q->w.edge[e].cost,
		            (size_t)q->w.n_alts[q->w.half[2 * e + 1].to] *
		                    (size_t)q->w.n_alts[q->w.half[2 * e].to],
		            &sum);
	if (sum >= BERTH_PBQP_INF)
		return berth_fail(err, BERTH_EINVAL,
		                  "PBQP: finite costs sum up to 2^61 or more; scale them down");
	BERTH_SCRATCH(tmp);
	berth_status status = solve(&q->w, mode, node_limit, alt, &st, tmp, err);
	if (status == BERTH_OK && stats)
		*stats = st;
	return status;
}
