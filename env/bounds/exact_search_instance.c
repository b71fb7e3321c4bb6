/* Instances of the exact search: a set of operators with what is around it, which devices of it are mirror
 * images, and the count and the incumbent of a run. */
#include "exact_search_work.h"

static void count_edges(const berth_problem *p, int32_t n, const int32_t *ops, const int32_t *local,
                        int32_t *n_tensors, int32_t *n_edges)
{
	const berth_graph *g = p->g;
	*n_tensors = *n_edges = 0;
	for (int32_t i = 0; i < n; i++)
		BERTH_EACH (t, g->op_tensor_off, ops[i]) {
			int32_t uses = 0;
			BERTH_EACH (e, g->tensor_use_off, t)
				uses += local[g->edge_consumer[e]] >= 0;
			*n_tensors += uses > 0;
			*n_edges += uses;
		}
}

static void fill_tensors(berth_exact_search *x, const int32_t *ops, const int32_t *local, int32_t *use)
{
	const berth_graph *g = x->p->g;
	int32_t k = 0;
	for (int32_t i = 0; i < x->n; i++) {
		x->out_off[i] = k;
		BERTH_EACH (t, g->op_tensor_off, ops[i]) {
			exact_search_tensor u = {.producer = i, .use = use, .class = x->p->tensor_class[t]};
			BERTH_EACH (e, g->tensor_use_off, t)
				if (local[g->edge_consumer[e]] >= 0)
					*use++ = local[g->edge_consumer[e]], u.n_uses++;
			if (u.n_uses)
				x->tensor[k++] = u;
		}
	}
	x->out_off[x->n] = k;
}

/* Inputs by operator, and all that is above it. */
static void fill_inputs(berth_exact_search *x)
{
	int32_t k = 0;
	for (int32_t i = 0; i < x->n; i++) {
		x->in_off[i] = k;
		x->above[i] = 0;
		for (int32_t t = 0; t < x->n_tensors; t++)
			for (int32_t u = 0; u < x->tensor[t].n_uses; u++)
				if (x->tensor[t].use[u] == i) {
					x->in[k++] = t;
					x->above[i] |= x->above[x->tensor[t].producer] |
					               UINT64_C(1) << x->tensor[t].producer;
				}
	}
	x->in_off[x->n] = k;
}

static void fill_ops(berth_exact_search *x, const int32_t *ops, const int32_t *local)
{
	for (int32_t i = 0; i < x->n; i++) {
		x->bytes[i] = berth_kept_bytes(x->p, ops[i]);
		x->leader[i] = i;
		int32_t coloc = x->p->op_coloc[ops[i]];
		BERTH_EACH (k, x->p->coloc_off, coloc) {
			int32_t other = local[x->p->coloc_op[k]];
			if (other >= 0 && other < x->leader[i])
				x->leader[i] = other;
		}
		for (int32_t d = 0; d < x->n_devs; d++)
			x->time[i * x->n_devs + d] =
				berth_op_legal(x->p, ops[i], d) ? berth_op_time(x->p, ops[i], d) : -1;
		for (int32_t d = 0; d < x->n_devs; d++)
			x->pool_ns[i * x->n_devs + d] = berth_op_pool_ns(x->p, ops[i], d);
	}
}

static berth_status new_arrays(berth_exact_search *x, berth_arena *mem, int32_t **use, berth_err *err)
{
	size_t n = (size_t)x->n, devs = (size_t)x->n_devs, edges = (size_t)x->n_edges,
	       jobs = edges * SMALL_MAX_HOPS + n;
	BERTH_TRY_NEW(mem, n * devs, err, x->time, x->release, x->after, x->tail, x->pool_ns);
	BERTH_TRY_NEW(mem, (n + 1) * (size_t)x->p->n_pools, err, x->pool_rest);
	BERTH_TRY_NEW(mem, x->p->n_pools, err, x->pool_load);
	BERTH_TRY_NEW(mem, n, err, x->leader, x->bytes);
	BERTH_TRY_NEW(mem, devs, err, x->held_before);
	BERTH_TRY_NEW(mem, x->n_tensors, err, x->tensor);
	BERTH_TRY_NEW(mem, n + 1, err, x->in_off);
	BERTH_TRY_NEW(mem, edges, err, x->in);
	BERTH_TRY_NEW(mem, n + 1, err, x->out_off);
	BERTH_TRY_NEW(mem, n, err, x->above);
	BERTH_TRY_NEW(mem, SMALL_PRICES * devs, err, x->price);
	BERTH_TRY_NEW(mem, (n + 1) * SMALL_PRICES, err, x->rest);
	BERTH_TRY_NEW(mem, devs, err, x->mirror);
	BERTH_TRY_NEW(mem, n, err, x->dev, x->head);
	BERTH_TRY_NEW(mem, devs, err, x->load, x->held, x->count);
	BERTH_TRY_NEW(mem, jobs, err, x->job);
	BERTH_TRY_NEW(mem, edges, err, x->move);
	BERTH_TRY_NEW(mem, n, err, x->order);
	return BERTH_NEW(mem, *use, edges, err);
}

berth_status berth_exact_search_new(const berth_problem *p, int32_t n, const int32_t *ops, berth_arena *mem,
                                    berth_exact_search **out, berth_err *err)
{
	berth_exact_search *x;
	int32_t *local, *use;
	if (n > BERTH_EXACT_SEARCH_OPS || p->n_devs > BERTH_EXACT_SEARCH_DEVS)
		return berth_fail(err, BERTH_EINVAL,
		                  "exact search takes up to %d operators and %d devices, these are %d and %d",
		                  BERTH_EXACT_SEARCH_OPS, BERTH_EXACT_SEARCH_DEVS, (int)n, (int)p->n_devs);
	BERTH_TRY_NEW(mem, 1, err, x);
	BERTH_TRY_NEW(mem, p->n_ops, err, local);
	for (int32_t op = 0; op < p->n_ops; op++)
		local[op] = -1;
	for (int32_t i = 0; i < n; i++)
		local[ops[i]] = i;
	x->p = p;
	x->n = n;
	x->n_devs = p->n_devs;
	count_edges(p, n, ops, local, &x->n_tensors, &x->n_edges);
	BERTH_TRY(new_arrays(x, mem, &use, err));
	fill_tensors(x, ops, local, use);
	fill_inputs(x);
	fill_ops(x, ops, local);
	*out = x;
	return BERTH_OK;
}

void berth_exact_search_set_time(berth_exact_search *x, int32_t i, int32_t dev, int64_t time_ns)
{
	int64_t *pool_ns = &x->pool_ns[i * x->n_devs + dev];
	x->time[i * x->n_devs + dev] = time_ns;
	*pool_ns = time_ns < *pool_ns ? (time_ns > 0 ? time_ns : 0) : *pool_ns;
}

void berth_exact_search_set_outside(berth_exact_search *x, int32_t i, int32_t dev, int64_t release_ns,
                                    int64_t after_ns)
{
	x->release[i * x->n_devs + dev] = release_ns;
	x->after[i * x->n_devs + dev] = after_ns;
}

void berth_exact_search_set_held(berth_exact_search *x, int32_t dev, int64_t bytes)
{
	x->held_before[dev] = bytes;
}

static bool same_tensors(const berth_exact_search *a, const berth_exact_search *b)
{
	for (int32_t t = 0; t < a->n_tensors; t++) {
		const exact_search_tensor *u = &a->tensor[t], *v = &b->tensor[t];
		if (u->producer != v->producer || u->n_uses != v->n_uses || u->class != v->class ||
		    memcmp(u->use, v->use, (size_t)u->n_uses * sizeof *u->use) != 0)
			return false;
	}
	return true;
}

bool berth_exact_search_same(const berth_exact_search *a, const berth_exact_search *b)
{
	size_t n = (size_t)a->n, cells = n * (size_t)a->n_devs;
	if (a->p != b->p || a->n != b->n || a->n_tensors != b->n_tensors)
		return false;
	return n == 0 ||
	       (same_tensors(a, b) && memcmp(a->time, b->time, cells * sizeof *a->time) == 0 &&
	        memcmp(a->pool_ns, b->pool_ns, cells * sizeof *a->pool_ns) == 0 &&
	        memcmp(a->release, b->release, cells * sizeof *a->release) == 0 &&
	        memcmp(a->after, b->after, cells * sizeof *a->after) == 0 &&
	        memcmp(a->held_before, b->held_before, (size_t)a->n_devs * sizeof *a->held_before) == 0 &&
	        memcmp(a->leader, b->leader, n * sizeof *a->leader) == 0 &&
	        memcmp(a->bytes, b->bytes, n * sizeof *a->bytes) == 0);
}

/* ---- a run ---- */

bool exact_search_step(berth_exact_search *x, int64_t lower)
{
	x->nodes += !x->stopped;
	if (x->cfg->nodes > 0 && x->nodes >= x->cfg->nodes)
		x->stopped = true;
	if (x->cfg->stop && x->nodes % 1024 == 0 && x->cfg->stop(x->cfg->ctx))
		x->stopped = true;
	if (x->stopped && lower < x->open)
		x->open = lower;
	return !x->stopped;
}

void exact_search_leave(berth_exact_search *x, int64_t lower)
{
	x->left_open = true;
	x->open = lower < x->open ? lower : x->open;
}

void exact_search_found(berth_exact_search *x, int64_t value)
{
	if (value < x->upper)
		x->upper = x->best = value;
}

/* ---- mirror images ---- */

enum { MAX_CHANNELS = 256 };

static int32_t swapped(int32_t d, int32_t a, int32_t b)
{
	return d == a ? b : d == b ? a : d;
}

static bool same_work(const berth_exact_search *x, int32_t a, int32_t b)
{
	const berth_problem *p = x->p;
	for (int32_t i = 0; i < x->n; i++)
		if (exact_search_time(x, i, a) != exact_search_time(x, i, b) ||
		    x->release[i * x->n_devs + a] != x->release[i * x->n_devs + b] ||
		    x->after[i * x->n_devs + a] != x->after[i * x->n_devs + b])
			return false;
	return p->s->dev_slots[a] == p->s->dev_slots[b] && x->held_before[a] == x->held_before[b] &&
	       berth_dev_pool(p, a) == berth_dev_pool(p, b) &&
	       p->dev_limit_bytes[a] == p->dev_limit_bytes[b] && p->dev_piece[a] < 0 && p->dev_piece[b] < 0;
}

/* The exchange of two devices, as far as it is known: where each channel goes, and from where; -1: open. */
typedef struct exchange {
	int32_t image[MAX_CHANNELS], origin[MAX_CHANNELS];
} exchange;

/* Do two links lead through the same memory pools? */
static bool same_pools(const berth_problem *p, int32_t l, int32_t m)
{
	return !p->n_pools || (p->link_pool[2 * l] == p->link_pool[2 * m] &&
	                       p->link_pool[2 * l + 1] == p->link_pool[2 * m + 1]);
}

/* Does route q take a tensor of the class as long as route r, hop by hop, through the same memory pools, over
 * channels that stand for each other? */
static bool same_hops(const berth_problem *p, int32_t class, int32_t r, int32_t q, exchange *e)
{
	const int64_t *link_ns = p->class_link_ns + (size_t) class * (size_t)p->s->n_links;
	int32_t n = p->route_off[r + 1] - p->route_off[r];
	if (p->route_off[q + 1] - p->route_off[q] != n)
		return false;
	for (int32_t h = 0; h < n; h++) {
		int32_t l = p->route_link[p->route_off[r] + h], m = p->route_link[p->route_off[q] + h];
		int32_t u = p->s->link_channel[l], v = p->s->link_channel[m];
		if (link_ns[l] != link_ns[m] || !same_pools(p, l, m) ||
		    (e->image[u] >= 0 && e->image[u] != v) || (e->origin[v] >= 0 && e->origin[v] != u))
			return false;
		e->image[u] = v;
		e->origin[v] = u;
	}
	return true;
}

/* Do all routes keep their times and the sharing of channels when a and b are exchanged? */
static bool same_routes(const berth_exact_search *x, int32_t a, int32_t b)
{
	const berth_problem *p = x->p;
	exchange e;
	memset(&e, 0xff, sizeof e);
	for (int32_t c = 0; c < p->n_classes; c++)
		for (int32_t from = 0; from < p->n_devs; from++)
			for (int32_t to = 0; to < p->n_devs; to++)
				if (from != to &&
				    !same_hops(p, c, p->class_pair_route[berth_class_cell(p, c, from, to)],
				               p->class_pair_route[berth_class_cell(p, c, swapped(from, a, b),
				                                              swapped(to, a, b))],
				               &e))
					return false;
	return true;
}

/* Can one tensor wait for itself on its way to a and to b? Then who goes first depends on device numbers. */
static bool share_a_channel(const berth_problem *p, int32_t a, int32_t b)
{
	for (int32_t from = 0; p->s->contention && p->n_classes > 0 && from < p->n_devs; from++) {
		if (from == a || from == b)
			continue;
		int32_t r = p->class_pair_route[berth_class_cell(p, 0, from, a)],
			q = p->class_pair_route[berth_class_cell(p, 0, from, b)];
		BERTH_EACH (h, p->route_off, r)
			BERTH_EACH (k, p->route_off, q)
				if (p->s->link_channel[p->route_link[h]] ==
				    p->s->link_channel[p->route_link[k]])
					return true;
	}
	return false;
}

void exact_search_mirrors(berth_exact_search *x)
{
	bool known = x->p->s->n_channels <= MAX_CHANNELS;
	x->ties_matter = false;
	for (int32_t d = 0; d < x->n_devs; d++) {
		x->mirror[d] = -1;
		for (int32_t e = d - 1; known && e >= 0 && x->mirror[d] < 0; e--)
			if (same_work(x, e, d) && same_routes(x, e, d)) {
				x->mirror[d] = e;
				x->ties_matter |= share_a_channel(x->p, e, d);
			}
	}
	for (int32_t d = 0; d < x->n_devs && x->ties_matter && x->cfg->leaf; d++)
		x->mirror[d] = -1;
}
