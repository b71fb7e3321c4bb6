/* The PBQP reductions. Lists of nodes by degree feed them: edges to normalise first, then R0, RI, RII, then
 * RN. A taken node keeps its edges and goes on the order. One rule propagates choices back to all of them:
 * the least cost against the neighbours that the node kept, which were taken later. Degrees never grow, so a
 * node enters each list once. */
#include "pbqp_work.h"

enum { NO_BUCKET = 3 };

static void note_degree(pbqp_reducer *r, int32_t v)
{
	int32_t d = r->w->degree[v];
	if (d >= r->bucket[v])
		return;
	r->bucket[v] = (unsigned char)d;
	r->low[d][r->n_low[d]++] = v;
}

static void queue_edge(pbqp_reducer *r, int32_t e)
{
	if (r->edge_queued[e])
		return;
	r->edge_queued[e] = true;
	r->edge_stack[r->n_stack++] = e;
}

static berth_status alloc_reducer(pbqp_reducer *r, berth_err *err)
{
	const pbqp_work *w = r->w;
	size_t n = (size_t)w->n_nodes, k = (size_t)w->max_alts;
	BERTH_TRY_NEW(w->mem, n, err, r->order, r->choice);
	for (int32_t d = 0; d < 3; d++)
		BERTH_TRY_NEW(w->mem, n, err, r->low[d]);
	BERTH_TRY_NEW(w->mem, n, err, r->bucket);
	BERTH_TRY_NEW(w->mem, w->cap_edge, err, r->edge_stack, r->edge_queued);
	BERTH_TRY_NEW(w->mem, n, err, r->head, r->next);
	return BERTH_NEW(w->mem, r->scratch, 3 * k * k + k, err);
}

berth_status pbqp_reducer_new(pbqp_work *w, bool normalise, pbqp_reducer *r, berth_err *err)
{
	*r = (pbqp_reducer){.w = w, .normalise = normalise, .top = -1};
	BERTH_TRY(alloc_reducer(r, err));
	memset(r->bucket, NO_BUCKET, (size_t)w->n_nodes);
	for (int32_t v = w->n_nodes - 1; v >= 0; v--) {
		r->choice[v] = -1;
		note_degree(r, v);
	}
	if (normalise)
		for (int32_t e = w->n_edges - 1; e >= 0; e--)
			queue_edge(r, e);
	return BERTH_OK;
}

/* ---- taking nodes ---- */

static void take(pbqp_reducer *r, int32_t v)
{
	r->w->alive[v] = false;
	r->order[r->n_order++] = v;
}

/* The neighbour at h forgets the node that h leaves. */
static void forget(pbqp_reducer *r, int32_t h)
{
	pbqp_work_unlink(r->w, h ^ 1);
	note_degree(r, r->w->half[h].to);
}

/* to[j] = min over i of cost[i] + C[i][j]. */
static void min_row(pbqp_view view, const int64_t *cost, int32_t n, int32_t m, int64_t *to)
{
	for (int32_t j = 0; j < m; j++)
		to[j] = BERTH_PBQP_INF;
	for (int32_t i = 0; i < n; i++)
		for (int32_t j = 0; j < m; j++) {
			int64_t sum = cost[i] + *pbqp_at(view, i, j);
			to[j] = sum < to[j] ? sum : to[j];
		}
}

/* Add to[] to the costs of v; edges of v are queued anew where an alternative became forbidden. */
static void raise_node(pbqp_reducer *r, int32_t v, const int64_t *to)
{
	pbqp_work *w = r->w;
	int64_t *cost = w->cost + w->cost_off[v];
	bool forbidden = false;
	for (int32_t j = 0; j < w->n_alts[v]; j++) {
		int64_t sum = pbqp_add(cost[j], to[j]);
		forbidden |= sum >= BERTH_PBQP_INF && cost[j] < BERTH_PBQP_INF;
		cost[j] = sum;
	}
	if (forbidden && r->normalise)
		for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next)
			queue_edge(r, h >> 1);
}

static void reduce_1(pbqp_reducer *r, int32_t v)
{
	pbqp_work *w = r->w;
	int32_t h = w->first[v], u = w->half[h].to;
	min_row(pbqp_view_of(w, h), w->cost + w->cost_off[v], w->n_alts[v], w->n_alts[u], r->scratch);
	take(r, v);
	forget(r, h);
	raise_node(r, u, r->scratch);
	r->n_taken.n_r1++;
}

/* The matrix seen along half-edge h, contiguous: itself, or transposed into buf. */
static const int64_t *oriented(const pbqp_work *w, int32_t h, int64_t *restrict buf)
{
	if (!(h & 1))
		return w->edge[h >> 1].cost;
	const int64_t *restrict c = w->edge[h >> 1].cost;
	int32_t n = w->n_alts[w->half[h ^ 1].to], m = w->n_alts[w->half[h].to];
	for (int32_t j = 0; j < m; j++)
		for (int32_t i = 0; i < n; i++)
			buf[(ptrdiff_t)i * m + j] = c[(ptrdiff_t)j * n + i];
	return buf;
}

/* d[j][k] = min over i of c[i] + a[i][j] + b[i][k]. */
static inline void min_plus(int32_t n, int32_t m, int32_t l, const int64_t *restrict c,
                            const int64_t *restrict a, const int64_t *restrict b, int64_t *restrict d)
{
	for (int32_t j = 0; j < m * l; j++)
		d[j] = BERTH_PBQP_INF;
	for (int32_t i = 0; i < n; i++)
		for (int32_t j = 0; j < m; j++) {
			int64_t left = c[i] + a[(ptrdiff_t)i * m + j];
			for (int32_t k = 0; k < l; k++) {
				int64_t sum = left + b[(ptrdiff_t)i * l + k], old = d[(ptrdiff_t)j * l + k];
				d[(ptrdiff_t)j * l + k] = sum < old ? sum : old;
			}
		}
}

/* Add delta [k_y][k_z] to the edge at h, which leaves y. */
static void add_matrix(pbqp_work *w, int32_t h, const int64_t *delta)
{
	pbqp_view view = pbqp_view_of(w, h);
	int32_t n = w->n_alts[w->half[h ^ 1].to], m = w->n_alts[w->half[h].to];
	for (int32_t i = 0; i < n; i++)
		for (int32_t j = 0; j < m; j++) {
			int64_t *at = pbqp_at(view, i, j);
			*at = pbqp_add(*at, delta[(ptrdiff_t)i * m + j]);
		}
}

static berth_status reduce_2(pbqp_reducer *r, int32_t v, berth_err *err)
{
	pbqp_work *w = r->w;
	int32_t hy = w->first[v], hz = w->half[hy].next, y = w->half[hy].to, z = w->half[hz].to;
	int32_t n = w->n_alts[v], m = w->n_alts[y], l = w->n_alts[z], yz = pbqp_work_find(w, y, z);
	size_t square = (size_t)w->max_alts * (size_t)w->max_alts;
	const int64_t *a = oriented(w, hy, r->scratch), *b = oriented(w, hz, r->scratch + square);
	int64_t *delta = r->scratch + 2 * square;
	if (yz < 0)
		BERTH_TRY_NEW(w->mem, (size_t)m * (size_t)l, err, delta);
	if (n == 4 && m == 4 && l == 4)
		min_plus(4, 4, 4, w->cost + w->cost_off[v], a, b, delta);
	else
		min_plus(n, m, l, w->cost + w->cost_off[v], a, b, delta);
	if (yz >= 0)
		BERTH_TRY(pbqp_work_own(w, yz >> 1, err));
	if (yz < 0)
		yz = pbqp_work_link(w, y, z, delta);
	else
		add_matrix(w, yz, delta);
	take(r, v);
	forget(r, hy);
	forget(r, hz);
	if (r->normalise)
		queue_edge(r, yz >> 1);
	r->n_taken.n_r2++;
	return BERTH_OK;
}

/* ---- normalisation ---- */

/* Is the matrix 0 wherever both ends are allowed? */
static bool is_zero(const pbqp_work *w, int32_t e)
{
	int32_t u = w->half[2 * e + 1].to, v = w->half[2 * e].to, m = w->n_alts[v];
	const int64_t *cost_u = w->cost + w->cost_off[u], *cost_v = w->cost + w->cost_off[v];
	for (int32_t i = 0; i < w->n_alts[u]; i++) {
		const int64_t *row = w->edge[e].cost + (ptrdiff_t)i * m;
		if (cost_u[i] < BERTH_PBQP_INF)
			for (int32_t j = 0; j < m; j++)
				if (row[j] && cost_v[j] < BERTH_PBQP_INF)
					return false;
	}
	return true;
}

static void queue_others(pbqp_reducer *r, int32_t v, int32_t e)
{
	const pbqp_work *w = r->w;
	for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next)
		if (h >> 1 != e)
			queue_edge(r, h >> 1);
}

static berth_status normalise_edge(pbqp_reducer *r, int32_t e, berth_err *err)
{
	pbqp_work *w = r->w;
	bool forbidden;
	r->edge_queued[e] = false;
	if (!w->edge[e].live)
		return BERTH_OK;
	BERTH_TRY(pbqp_work_pull(w, 2 * e, &forbidden, err));
	if (forbidden)
		queue_others(r, w->half[2 * e + 1].to, e);
	BERTH_TRY(pbqp_work_pull(w, 2 * e + 1, &forbidden, err));
	if (forbidden)
		queue_others(r, w->half[2 * e].to, e);
	if (is_zero(w, e)) {
		pbqp_work_unlink(w, 2 * e);
		pbqp_work_unlink(w, 2 * e + 1);
		note_degree(r, w->half[2 * e].to);
		note_degree(r, w->half[2 * e + 1].to);
	}
	return BERTH_OK;
}

/* Next node of degree d, or -1. Entries that went stale are dropped. */
static int32_t pop_low(pbqp_reducer *r, int32_t d)
{
	while (r->n_low[d] > 0) {
		int32_t v = r->low[d][--r->n_low[d]];
		if (r->w->alive[v] && r->w->degree[v] == d)
			return v;
	}
	return -1;
}

berth_status pbqp_reduce_exact(pbqp_reducer *r, berth_err *err)
{
	for (;;) {
		int32_t v;
		if (r->n_stack > 0)
			BERTH_TRY(normalise_edge(r, r->edge_stack[--r->n_stack], err));
		else if ((v = pop_low(r, 0)) >= 0) {
			pbqp_work *w = r->w;
			const int64_t *cost = w->cost + w->cost_off[v];
			w->base = pbqp_add(w->base, cost[pbqp_argmin(cost, w->n_alts[v])]);
			take(r, v);
			r->n_taken.n_r0++;
		} else if ((v = pop_low(r, 1)) >= 0)
			reduce_1(r, v);
		else if ((v = pop_low(r, 2)) >= 0)
			BERTH_TRY(reduce_2(r, v, err));
		else
			return BERTH_OK;
	}
}

/* ---- RN ---- */

/* A node of the highest degree left, -1: none. A node whose degree shrank since it was listed moves to the
 * front of its new list. */
static int32_t pop_highest(pbqp_reducer *r)
{
	const pbqp_work *w = r->w;
	if (r->top < 0) {
		/* Lists of the nodes left by degree, lowest index first. */
		r->top = 0;
		for (int32_t d = 0; d < w->n_nodes; d++)
			r->head[d] = -1;
		for (int32_t v = w->n_nodes - 1; v >= 0; v--)
			if (w->alive[v]) {
				int32_t d = w->degree[v];
				r->next[v] = r->head[d];
				r->head[d] = v;
				r->top = d > r->top ? d : r->top;
			}
	}
	for (; r->top > 2; r->top--)
		while (r->head[r->top] >= 0) {
			int32_t v = r->head[r->top], d = w->degree[v];
			r->head[r->top] = r->next[v];
			if (!w->alive[v])
				continue;
			if (d == r->top)
				return v;
			r->next[v] = r->head[d];
			r->head[d] = v;
		}
	return -1;
}

/* The next node alive of the sequence that the caller gave, -1: none. */
static int32_t pop_sequence(pbqp_reducer *r)
{
	while (r->at_sequence < r->w->n_nodes) {
		int32_t v = r->sequence[r->at_sequence++];
		if (r->w->alive[v])
			return v;
	}
	return -1;
}

void pbqp_look_ahead(const pbqp_work *w, int32_t v, int64_t *look)
{
	int32_t n = w->n_alts[v];
	BERTH_COPY(look, w->cost + w->cost_off[v], n);
	for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next) {
		int32_t u = w->half[h].to;
		const int64_t *cost = w->cost + w->cost_off[u];
		pbqp_view view = pbqp_view_of(w, h);
		for (int32_t i = 0; i < n; i++) {
			int64_t least = BERTH_PBQP_INF;
			for (int32_t j = 0; j < w->n_alts[u]; j++) {
				int64_t sum = cost[j] + *pbqp_at(view, i, j);
				least = sum < least ? sum : least;
			}
			look[i] = pbqp_add(look[i], least);
		}
	}
}

/* Take v with choice i: its row of every edge becomes part of the neighbour's costs. */
static void fix_node(pbqp_reducer *r, int32_t v, int32_t i)
{
	pbqp_work *w = r->w;
	w->base = pbqp_add(w->base, w->cost[w->cost_off[v] + i]);
	r->choice[v] = i;
	take(r, v);
	for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next) {
		pbqp_view view = pbqp_view_of(w, h);
		int32_t u = w->half[h].to;
		for (int32_t j = 0; j < w->n_alts[u]; j++)
			r->scratch[j] = *pbqp_at(view, i, j);
		forget(r, h);
		raise_node(r, u, r->scratch);
	}
}

berth_status pbqp_reduce_all(pbqp_reducer *r, pbqp_rn rn, const int32_t *keep, berth_err *err)
{
	for (;;) {
		BERTH_TRY(pbqp_reduce_exact(r, err));
		int32_t v = r->sequence ? pop_sequence(r) : pop_highest(r);
		if (v < 0)
			return BERTH_OK;
		r->n_taken.n_rn++;
		if (rn == PBQP_RN_EARLY) {
			pbqp_look_ahead(r->w, v, r->scratch);
			fix_node(r, v, pbqp_argmin(r->scratch, r->w->n_alts[v]));
		} else if (rn == PBQP_RN_KEEP) {
			fix_node(r, v, keep[v]);
		} else {
			take(r, v);
			for (int32_t h = r->w->first[v]; h >= 0; h = r->w->half[h].next)
				forget(r, h);
		}
	}
}

/* ---- propagation ---- */

static int32_t choose(const pbqp_reducer *r, int32_t v, const int32_t *x)
{
	const pbqp_work *w = r->w;
	int32_t n = w->n_alts[v];
	if (r->choice[v] >= 0)
		return r->choice[v];
	BERTH_COPY(r->scratch, w->cost + w->cost_off[v], n);
	for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next) {
		pbqp_view view = pbqp_view_of(w, h);
		const int64_t *c = view.c + (ptrdiff_t)x[w->half[h].to] * view.col;
		for (int32_t i = 0; i < n; i++)
			r->scratch[i] = pbqp_add(r->scratch[i], c[(ptrdiff_t)i * view.row]);
	}
	return pbqp_argmin(r->scratch, n);
}

void pbqp_propagate(const pbqp_reducer *r, int32_t *x)
{
	for (int32_t at = r->n_order - 1; at >= 0; at--)
		x[r->order[at]] = choose(r, r->order[at], x);
}
