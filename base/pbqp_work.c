/* The graph under a PBQP solver: lists of half-edges, normalisation of one edge, and extraction of what is
 * left to solve. */
#include "pbqp_work.h"

int32_t pbqp_argmin(const int64_t *cost, int32_t n)
{
	int32_t best = 0;
	for (int32_t i = 1; i < n; i++)
		if (cost[i] < cost[best])
			best = i;
	return best;
}

int32_t pbqp_work_find(const pbqp_work *w, int32_t u, int32_t v)
{
	bool swap = w->degree[u] > w->degree[v];
	int32_t from = swap ? v : u, to = swap ? u : v;
	int32_t h = w->first[from];
	while (h >= 0 && w->half[h].to != to)
		h = w->half[h].next;
	return h >= 0 && swap ? h ^ 1 : h;
}

static void list_half(pbqp_work *w, int32_t from, int32_t h, int32_t to)
{
	int32_t next = w->first[from];
	w->half[h] = (pbqp_half){to, next, -1};
	if (next >= 0)
		w->half[next].prev = h;
	w->first[from] = h;
	w->degree[from]++;
}

int32_t pbqp_work_link(pbqp_work *w, int32_t u, int32_t v, int64_t *cost)
{
	int32_t e = w->n_edges++;
	assert((size_t)w->n_edges <= w->cap_edge);
	w->edge[e] = (pbqp_edge){cost, true, true};
	list_half(w, u, 2 * e, v);
	list_half(w, v, 2 * e + 1, u);
	return 2 * e;
}

void pbqp_work_unlink(pbqp_work *w, int32_t h)
{
	pbqp_half it = w->half[h];
	int32_t from = w->half[h ^ 1].to;
	if (it.prev >= 0)
		w->half[it.prev].next = it.next;
	else
		w->first[from] = it.next;
	if (it.next >= 0)
		w->half[it.next].prev = it.prev;
	w->degree[from]--;
	w->edge[h >> 1].live = false;
}

int64_t pbqp_work_cost(const pbqp_work *w, const int32_t *x)
{
	int64_t sum = w->base;
	for (int32_t v = 0; v < w->n_nodes; v++)
		sum = pbqp_add(sum, w->cost[w->cost_off[v] + x[v]]);
	for (int32_t e = 0; e < w->n_edges; e++) {
		int32_t u = w->half[2 * e + 1].to, v = w->half[2 * e].to;
		if (w->edge[e].live)
			sum = pbqp_add(sum,
			               w->edge[e].cost[(size_t)x[u] * (size_t)w->n_alts[v] + (size_t)x[v]]);
	}
	return sum;
}

/* Normalisation of one row of m entries, `col` apart. Returns whether its alternative became forbidden. */
static bool pull_row(int64_t *restrict at, int32_t m, int32_t col, int64_t *own,
                     const int64_t *restrict other)
{
	int64_t least = BERTH_PBQP_INF;
	for (int32_t j = 0; j < m; j++)
		if (other[j] < BERTH_PBQP_INF && at[(ptrdiff_t)j * col] < least)
			least = at[(ptrdiff_t)j * col];
	bool drop = *own >= BERTH_PBQP_INF || least >= BERTH_PBQP_INF,
	     forbidden = drop && *own < BERTH_PBQP_INF;
	if (!drop && least == 0)
		return false;
	for (int32_t j = 0; j < m; j++) {
		int64_t entry = at[(ptrdiff_t)j * col], rest = entry < BERTH_PBQP_INF ? entry - least : entry;
		at[(ptrdiff_t)j * col] = drop || other[j] >= BERTH_PBQP_INF ? 0 : rest;
	}
	*own = pbqp_add(*own, drop ? BERTH_PBQP_INF : least);
	return forbidden;
}

static int64_t less(int64_t entry, int64_t least)
{
	return entry < BERTH_PBQP_INF ? entry - least : entry;
}

/* pull_row for four alternatives that are all allowed at the other end. */
static inline bool pull_row_of_4(int64_t *restrict at, int32_t col, int64_t *own, const int64_t *other)
{
	int64_t a = at[0], b = at[col], c = at[2 * col], d = at[3 * col],
		least = berth_min(berth_min(a, b), berth_min(c, d));
	if (least >= BERTH_PBQP_INF || *own >= BERTH_PBQP_INF)
		return pull_row(at, 4, col, own, other);
	at[0] = less(a, least);
	at[col] = less(b, least);
	at[2 * col] = less(c, least);
	at[3 * col] = less(d, least);
	*own = pbqp_add(*own, least);
	return false;
}

static inline bool pull_4_by_4(int64_t *c, int32_t row, int32_t col, int64_t *own, const int64_t *other)
{
	bool forbidden = false;
	for (int32_t i = 0; i < 4; i++)
		forbidden |= pull_row_of_4(c + (ptrdiff_t)i * row, col, own + i, other);
	return forbidden;
}

static bool all_allowed(const int64_t *cost, int32_t n)
{
	int64_t most = 0;
	for (int32_t i = 0; i < n; i++)
		most = cost[i] > most ? cost[i] : most;
	return most < BERTH_PBQP_INF;
}

/* Would pull_row change nothing? */
static bool row_stays(const int64_t *at, int32_t m, int32_t col, int64_t own, const int64_t *other)
{
	int64_t least = BERTH_PBQP_INF, most = 0;
	for (int32_t j = 0; j < m; j++) {
		int64_t entry = at[(ptrdiff_t)j * col];
		if (other[j] < BERTH_PBQP_INF && entry < least)
			least = entry;
		most = entry > most ? entry : most;
	}
	return own < BERTH_PBQP_INF ? least == 0 : most == 0;
}

static bool all_rows_stay(const pbqp_work *w, int32_t h, const int64_t *own, const int64_t *other)
{
	pbqp_view view = pbqp_view_of(w, h);
	int32_t n = w->n_alts[w->half[h ^ 1].to], m = w->n_alts[w->half[h].to], i = 0;
	while (i < n && row_stays(view.c + (ptrdiff_t)i * view.row, m, view.col, own[i], other))
		i++;
	return i == n;
}

berth_status pbqp_work_own(pbqp_work *w, int32_t e, berth_err *err)
{
	size_t n = (size_t)w->n_alts[w->half[2 * e + 1].to] * (size_t)w->n_alts[w->half[2 * e].to];
	int64_t *matrix;
	if (w->edge[e].own)
		return BERTH_OK;
	BERTH_TRY_NEW(w->mem, n, err, matrix);
	w->edge[e].cost = BERTH_COPY(matrix, w->edge[e].cost, n);
	w->edge[e].own = true;
	return BERTH_OK;
}

berth_status pbqp_work_pull(pbqp_work *w, int32_t h, bool *forbidden, berth_err *err)
{
	int32_t v = w->half[h ^ 1].to, u = w->half[h].to;
	int64_t *own = w->cost + w->cost_off[v];
	const int64_t *other = w->cost + w->cost_off[u];
	*forbidden = false;
	if (!w->edge[h >> 1].own) {
		if (all_rows_stay(w, h, own, other))
			return BERTH_OK;
		BERTH_TRY(pbqp_work_own(w, h >> 1, err));
	}
	pbqp_view view = pbqp_view_of(w, h);
	if (w->n_alts[v] == 4 && w->n_alts[u] == 4 && all_allowed(other, 4)) {
		*forbidden = h & 1 ? pull_4_by_4(view.c, 1, 4, own, other)
		                   : pull_4_by_4(view.c, 4, 1, own, other);
		return BERTH_OK;
	}
	for (int32_t i = 0; i < w->n_alts[v]; i++)
		*forbidden |=
			pull_row(view.c + (ptrdiff_t)i * view.row, w->n_alts[u], view.col, own + i, other);
	return BERTH_OK;
}

/* ---- extraction ---- */

/* What an extraction needs to know of the outer problem. */
typedef struct extraction {
	const pbqp_work *outer;
	const bool *keep;
	int32_t *inner; /* [outer nodes] index in the extract, or -1 */
} extraction;

static bool kept(const extraction *x, int32_t v, int32_t i)
{
	int32_t at = x->outer->cost_off[v] + i;
	return x->outer->cost[at] < BERTH_PBQP_INF && (!x->keep || x->keep[at]);
}

/* Number the nodes that stay, fix those with one alternative; *n_costs = alternatives in all. False: a node
 * has none left. */
static bool number_nodes(const extraction *x, pbqp_work *out, int32_t *n_costs)
{
	*n_costs = 0;
	for (int32_t v = 0; v < x->outer->n_nodes; v++) {
		int32_t n = 0, last = -1;
		x->inner[v] = out->outer_fixed[v] = -1;
		if (!x->outer->alive[v])
			continue;
		for (int32_t i = 0; i < x->outer->n_alts[v]; i++)
			if (kept(x, v, i)) {
				n++;
				last = i;
			}
		if (n == 0)
			return false;
		if (n == 1) {
			out->outer_fixed[v] = last;
			continue;
		}
		x->inner[v] = out->n_nodes++;
		*n_costs += n;
	}
	return true;
}

static berth_status alloc_nodes(pbqp_work *w, int32_t n_costs, berth_err *err)
{
	BERTH_TRY_NEW(w->mem, w->n_nodes, err, w->n_alts);
	BERTH_TRY_NEW(w->mem, (size_t)w->n_nodes + 1, err, w->cost_off);
	BERTH_TRY_NEW(w->mem, n_costs, err, w->cost);
	BERTH_TRY_NEW(w->mem, w->n_nodes, err, w->first, w->degree, w->alive, w->outer_node);
	BERTH_TRY_NEW(w->mem, n_costs, err, w->label);
	return BERTH_NEW(w->mem, w->outer_alt, n_costs, err);
}

static void copy_nodes(const extraction *x, pbqp_work *out)
{
	int32_t at = 0;
	for (int32_t v = 0; v < x->outer->n_nodes; v++) {
		int32_t s = x->inner[v], only = out->outer_fixed[v];
		const int64_t *cost = x->outer->cost + x->outer->cost_off[v];
		if (only >= 0)
			out->base = pbqp_add(out->base, cost[only]);
		if (s < 0)
			continue;
		out->cost_off[s] = at;
		out->outer_node[s] = v;
		out->first[s] = -1;
		out->alive[s] = true;
		for (int32_t i = 0; i < x->outer->n_alts[v]; i++)
			if (kept(x, v, i)) {
				out->outer_alt[at] = i;
				out->label[at] =
					x->outer->label ? x->outer->label[x->outer->cost_off[v] + i] : i;
				out->cost[at++] = cost[i];
			}
		out->n_alts[s] = at - out->cost_off[s];
		if (out->n_alts[s] > out->max_alts)
			out->max_alts = out->n_alts[s];
	}
	out->cost_off[out->n_nodes] = at;
}

/* Edge h of the outer problem from the fixed node u to s: its row becomes part of s's costs. */
static void fold_edge(const extraction *x, pbqp_work *out, int32_t h, int32_t only, int32_t s)
{
	pbqp_view view = pbqp_view_of(x->outer, h);
	BERTH_EACH (at, out->cost_off, s)
		out->cost[at] = pbqp_add(out->cost[at], *pbqp_at(view, only, out->outer_alt[at]));
}

/* Do both ends of edge e of the outer problem, s and t here, keep all their alternatives? */
static bool keeps_all(const extraction *x, const pbqp_work *out, int32_t e, int32_t s, int32_t t)
{
	const pbqp_work *w = x->outer;
	return out->n_alts[s] == w->n_alts[w->half[2 * e + 1].to] &&
	       out->n_alts[t] == w->n_alts[w->half[2 * e].to];
}

/* Edge e of the outer problem between s and t: its matrix, or what is left of that in *pool. */
static void keep_edge(const extraction *x, pbqp_work *out, int32_t e, int32_t s, int32_t t, int64_t **pool)
{
	if (keeps_all(x, out, e, s, t)) {
		int32_t h = pbqp_work_link(out, s, t, x->outer->edge[e].cost);
		out->edge[h >> 1].own = false;
		return;
	}
	int64_t *to = *pool;
	const int32_t *alt_s = out->outer_alt + out->cost_off[s], *alt_t = out->outer_alt + out->cost_off[t];
	const int64_t *from = x->outer->edge[e].cost;
	size_t n = (size_t)out->n_alts[s], m = (size_t)out->n_alts[t],
	       width = (size_t)x->outer->n_alts[x->outer->half[2 * e].to];
	for (size_t i = 0; i < n; i++)
		for (size_t j = 0; j < m; j++)
			to[i * m + j] = from[(size_t)alt_s[i] * width + (size_t)alt_t[j]];
	pbqp_work_link(out, s, t, *pool);
	*pool += (size_t)out->n_alts[s] * (size_t)out->n_alts[t];
}

/* Keep, fold or add up the live edges. */
static berth_status copy_edges(const extraction *x, pbqp_work *out, berth_err *err)
{
	const pbqp_work *w = x->outer;
	size_t n_edges = 0, n_entries = 0;
	for (int32_t e = 0; e < w->n_edges; e++) {
		int32_t s = x->inner[w->half[2 * e + 1].to], t = x->inner[w->half[2 * e].to];
		if (s >= 0 && t >= 0 && w->edge[e].live) {
			n_edges++;
			if (!keeps_all(x, out, e, s, t))
				n_entries += (size_t)out->n_alts[s] * (size_t)out->n_alts[t];
		}
	}
	int64_t *pool;
	out->cap_edge = n_edges + (size_t)out->n_nodes; /* RII makes at most one of each node */
	BERTH_TRY_NEW(out->mem, 2 * out->cap_edge, err, out->half);
	BERTH_TRY(BERTH_NEW(out->mem, out->edge, out->cap_edge, err));
	BERTH_TRY_NEW(out->mem, n_entries, err, pool);
	for (int32_t e = 0; e < w->n_edges; e++) {
		int32_t u = w->half[2 * e + 1].to, v = w->half[2 * e].to;
		int32_t s = x->inner[u], t = x->inner[v], at_u = out->outer_fixed[u],
			at_v = out->outer_fixed[v];
		if (!w->edge[e].live || !w->alive[u] || !w->alive[v])
			continue;
		if (s >= 0 && t >= 0) {
			keep_edge(x, out, e, s, t, &pool);
		} else if (s >= 0) {
			fold_edge(x, out, 2 * e + 1, at_v, s);
		} else if (t >= 0) {
			fold_edge(x, out, 2 * e, at_u, t);
		} else {
			out->base =
				pbqp_add(out->base,
			                 w->edge[e].cost[(size_t)at_u * (size_t)w->n_alts[v] + (size_t)at_v]);
		}
	}
	return BERTH_OK;
}

berth_status pbqp_work_extract(const pbqp_work *w, const bool *keep, berth_arena *mem, pbqp_work *out,
                               berth_err *err)
{
	extraction x = {w, keep, NULL};
	int32_t n_costs;
	*out = (pbqp_work){.mem = mem, .base = w->base, .n_outer = w->n_nodes, .max_alts = 1};
	BERTH_TRY_NEW(mem, w->n_nodes, err, out->outer_fixed);
	BERTH_TRY_NEW(mem, w->n_nodes, err, x.inner);
	if (!number_nodes(&x, out, &n_costs)) {
		*out = (pbqp_work){.mem = mem, .base = BERTH_PBQP_INF, .max_alts = 1};
		return alloc_nodes(out, 0, err);
	}
	BERTH_TRY(alloc_nodes(out, n_costs, err));
	copy_nodes(&x, out);
	return copy_edges(&x, out, err);
}

void pbqp_work_lift(const pbqp_work *w, const int32_t *x, int32_t *x_outer)
{
	for (int32_t v = 0; v < w->n_outer; v++)
		if (w->outer_fixed[v] >= 0)
			x_outer[v] = w->outer_fixed[v];
	for (int32_t s = 0; s < w->n_nodes; s++)
		x_outer[w->outer_node[s]] = w->outer_alt[w->cost_off[s] + x[s]];
}
