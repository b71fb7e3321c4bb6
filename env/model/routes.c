/* Tables of what lies between devices: routes, and what operators and hops ask of memory pools.
 *
 * Each class and destination has a tree of shortest paths, which begins as that of the
 * class before. Its lengths under the new hop times are upper bounds. Rounds over all links lower them until
 * they hold (R. Bellman, "On a routing problem", Quarterly of Applied Mathematics 16, 1958). Mostly one round
 * finds them right. */
#include "problem_tables.h"

/* Links by the device that they leave, quickest first for the class at hand. */
typedef struct arcs {
	int32_t *off;   /* [n_devs+1] */
	int32_t *to;    /* [n_links] */
	int32_t *link;  /* [n_links] */
	int64_t *ns;    /* [n_links] of the class at hand */
	bool all_pairs; /* every pair has a link */
} arcs;

/* Paths towards one destination. */
typedef struct tree {
	int32_t dest;
	int32_t *next;   /* [n_devs] the device after this one; -1: not known yet */
	int32_t *before; /* [n_devs] the same of the class before */
	int64_t *sum_ns; /* [n_devs] */
	int32_t *hops;   /* [n_devs] */
	bool *known;     /* [n_devs] scratch */
	bool *same;      /* [n_devs] is the whole path that of the class before? */
	int32_t *path;   /* [n_devs] scratch */
} tree;

/* Growing list of routes. */
typedef struct route_list {
	berth_arena *tmp;
	int32_t *link, *off;
	size_t n_links, cap_link, n_routes, cap_off;
	int32_t *last; /* [n_devs][n_devs] of each pair, the latest */
} route_list;

static berth_status new_arcs(const berth_problem *p, berth_arena *tmp, arcs *a, berth_err *err)
{
	const berth_system *s = p->s;
	int32_t n = 0;
	BERTH_TRY_NEW(tmp, p->n_devs + 1, err, a->off);
	BERTH_TRY_NEW(tmp, s->n_links, err, a->to, a->link, a->ns);
	for (int32_t v = 0; v < p->n_devs; v++) {
		for (int32_t u = 0; u < p->n_devs; u++) {
			int32_t l = s->link_of[berth_cell(p, v, u)];
			if (l < 0)
				continue;
			a->to[n] = u;
			a->link[n++] = l;
		}
		a->off[v + 1] = n;
	}
	a->all_pairs = n == p->n_devs * (p->n_devs - 1);
	return BERTH_OK;
}

/* The best next device of v by the lengths so far. False: nothing changed. */
static bool relax(const arcs *a, tree *t, int32_t v)
{
	int64_t least = INT64_MAX;
	int32_t hops = 0, next = -1;
	for (int32_t i = a->off[v]; i < a->off[v + 1] && a->ns[i] <= least; i++) {
		int32_t u = a->to[i];
		if (t->sum_ns[u] == INT64_MAX)
			continue;
		int64_t sum = t->sum_ns[u] + a->ns[i];
		if (sum < least ||
		    (sum == least && (t->hops[u] + 1 < hops || (t->hops[u] + 1 == hops && u < next)))) {
			least = sum;
			hops = t->hops[u] + 1;
			next = u;
		}
	}
	bool changed = least != t->sum_ns[v] || hops != t->hops[v];
	t->next[v] = next;
	t->sum_ns[v] = least;
	t->hops[v] = hops;
	return changed && next >= 0;
}

/* From the tree of the class before to that of this one. */
static void shortest(const berth_problem *p, const arcs *a, const int64_t *link_ns, tree *t)
{
	bool changed = true;
	BERTH_COPY(t->before, t->next, p->n_devs);
	/* Lengths along the tree as it is; not known: INT64_MAX. */
	for (int32_t v = 0; v < p->n_devs; v++) {
		t->known[v] = v == t->dest || t->next[v] < 0;
		t->sum_ns[v] = v == t->dest ? 0 : INT64_MAX;
		t->hops[v] = 0;
	}
	for (int32_t v = 0; v < p->n_devs; v++) {
		int32_t len = 0;
		for (int32_t u = v; !t->known[u]; u = t->next[u])
			t->path[len++] = u;
		while (len) {
			int32_t u = t->path[--len], w = t->next[u];
			t->sum_ns[u] = (link_ns[p->s->link_of[berth_cell(p, u, w)]]) + t->sum_ns[w];
			t->hops[u] = t->hops[w] + 1;
			t->known[u] = true;
		}
	}
	while (changed) {
		changed = false;
		for (int32_t v = 0; v < p->n_devs; v++)
			changed |= v != t->dest && relax(a, t, v);
	}
	/* Which paths are what they were? */
	int32_t n_devs = p->n_devs;
	for (int32_t v = 0; v < n_devs; v++)
		t->known[v] = v == t->dest;
	t->same[t->dest] = true;
	for (int32_t v = 0; v < n_devs; v++) {
		int32_t len = 0;
		for (int32_t u = v; !t->known[u]; u = t->next[u])
			t->path[len++] = u;
		while (len) {
			int32_t u = t->path[--len];
			t->same[u] = t->next[u] == t->before[u] && t->same[t->next[u]];
			t->known[u] = true;
		}
	}
}

static berth_status add_link(route_list *r, int32_t link, berth_err *err)
{
	return BERTH_PUSH(r->tmp, r->link, r->n_links, &r->cap_link, err, link);
}

/* The route of class c from a device to the tree's destination. */
static berth_status one_route(berth_problem *p, int32_t c, int32_t from, const tree *t, route_list *list,
                              berth_err *err)
{
	const berth_system *s = p->s;
	size_t n = (size_t)p->n_devs, pair = (size_t)from * n + (size_t)t->dest,
	       at = (size_t)c * n * n + pair;
	int32_t direct = s->link_of[pair];
	bool kept = list->last[pair] >= 0 && (direct >= 0 || t->same[from]);
	for (int32_t v = from; v != t->dest && direct < 0 && !kept; v = t->next[v])
		BERTH_TRY(add_link(list, s->link_of[(size_t)v * n + (size_t)t->next[v]], err));
	if (direct >= 0 && !kept)
		BERTH_TRY(add_link(list, direct, err));
	if (!kept) {
		route_list *r = list;
		BERTH_TRY(BERTH_GROW(r->tmp, r->off, r->n_routes + 1, &r->cap_off, err));
		r->last[pair] = (int32_t)r->n_routes;
		r->off[++r->n_routes] = (int32_t)r->n_links;
	}
	p->class_pair_ns[at] = direct >= 0 ? p->class_link_ns[(size_t)c * (size_t)s->n_links + (size_t)direct]
	                                   : t->sum_ns[from];
	p->class_pair_route[at] = list->last[pair];
	return BERTH_OK;
}

static berth_status routes_of_class(berth_problem *p, int32_t c, arcs *a, tree *t, int32_t *next,
                                    route_list *list, berth_err *err)
{
	size_t n = (size_t)p->n_devs;
	const int64_t *link_ns = p->class_link_ns + (size_t)c * (size_t)p->s->n_links;
	if (!a->all_pairs) {
		/* Insertion sort: the order is mostly that of the class before. */
		int32_t n_devs = p->n_devs;
		for (int32_t v = 0; v < n_devs; v++)
			BERTH_EACH (i, a->off, v) {
				int32_t l = a->link[i], to = a->to[i], k = i;
				for (; k > a->off[v] && a->ns[k - 1] > link_ns[l]; k--) {
					a->ns[k] = a->ns[k - 1];
					a->link[k] = a->link[k - 1];
					a->to[k] = a->to[k - 1];
				}
				a->ns[k] = link_ns[l];
				a->link[k] = l;
				a->to[k] = to;
			}
	}
	for (int32_t to = 0; to < p->n_devs; to++) {
		t->dest = to;
		t->next = next + (size_t)to * n;
		if (!a->all_pairs)
			shortest(p, a, link_ns, t);
		for (int32_t from = 0; from < p->n_devs; from++)
			if (from != to)
				BERTH_TRY(one_route(p, c, from, t, list, err));
		p->class_pair_route[((size_t)c * n + (size_t)to) * n + (size_t)to] = -1;
	}
	return BERTH_OK;
}

berth_status berth_routes_compile(berth_problem *p, const int32_t *by_class, berth_arena *mem,
                                  berth_arena *tmp, berth_err *err)
{
	size_t n = (size_t)p->n_devs, cells = (size_t)p->n_classes * n * n;
	route_list list = {.tmp = tmp};
	arcs a;
	tree t;
	int32_t *next;
	if (cells > INT32_MAX)
		return berth_fail(
			err, BERTH_ELIMIT,
			"%d tensor sizes on %d devices: the table of transfer times would be too large",
			p->n_classes, p->n_devs);
	BERTH_TRY_NEW(mem, cells, err, p->class_pair_ns, p->class_pair_route);
	BERTH_TRY(new_arcs(p, tmp, &a, err));
	BERTH_TRY_NEW(tmp, p->n_devs, err, t.before, t.sum_ns, t.hops, t.known, t.same, t.path);
	BERTH_TRY_NEW(tmp, n * n, err, next, list.last);
	BERTH_TRY(BERTH_GROW(tmp, list.off, 0, &list.cap_off, err));
	memset(list.last, -1, n * n * sizeof *list.last);
	memset(next, -1, n * n * sizeof *next);
	for (int32_t i = 0; i < p->n_classes; i++)
		BERTH_TRY(routes_of_class(p, by_class[i], &a, &t, next, &list, err));
	p->n_routes = (int32_t)list.n_routes;
	BERTH_TRY_NEW(mem, list.n_routes + 1, err, p->route_off);
	BERTH_TRY_NEW(mem, list.n_links, err, p->route_link);
	BERTH_COPY(p->route_off, list.off, (list.n_routes + 1));
	if (list.n_links)
		BERTH_COPY(p->route_link, list.link, list.n_links);
	return BERTH_OK;
}

/* ---- memory pools: the formulas are those of the execution model ---- */

#define MOST_LOAD_NS 0x1p61 /* above it the problem is refused: it is no more than a number that fits */

static int64_t whole_ns(double ns)
{
	return (int64_t)floor(fmin(ns, MOST_LOAD_NS));
}

static void op_figures(berth_problem *p, int32_t op, int32_t dev)
{
	size_t i = berth_cell(p, op, dev);
	int32_t pool = p->s->dev_pool[dev];
	double time = (double)p->op_dev_time_ns[i];
	double bytes = (double)p->g->op_read_bytes[op] + (double)p->g->op_write_bytes[op];
	if (pool < 0 || !(time > 0))
		return;
	p->op_dev_demand[i] = fmin(bytes / time, p->pool_rate[pool]);
	p->op_dev_pool_ns[i] = whole_ns(fmin(bytes / p->pool_rate[pool], time));
}

static void hop_figures(berth_problem *p, int32_t c, int32_t link)
{
	size_t i = (size_t)c * (size_t)p->s->n_links + (size_t)link;
	const int32_t *pool = &p->link_pool[2 * link];
	bool inside = pool[0] >= 0 && p->s->dev_pool[p->s->link_to[link]] == pool[0];
	double time = (double)p->class_link_ns[i], bytes = (double)p->class_bytes[c] * (inside ? 2 : 1);
	if ((pool[0] < 0 && pool[1] < 0) || !(time > 0))
		return;
	p->class_link_demand[i] = bytes / time;
	for (size_t k = 0; k < 2; k++)
		if (pool[k] >= 0)
			p->class_link_pool_ns[2 * i + k] = whole_ns(bytes / p->pool_rate[pool[k]]);
}

/* The most that transfers of a tensor of class c can load all pools. */
static double most_load(const berth_problem *p, int32_t c)
{
	size_t n = (size_t)p->n_devs, links = (size_t)p->s->n_links;
	double most = 0;
	for (size_t from = 0; from < n; from++) {
		double sum = 0;
		for (size_t to = 0; to < n; to++) {
			int32_t r = p->class_pair_route[((size_t)c * n + from) * n + to];
			if (r < 0)
				continue;
			BERTH_EACH (h, p->route_off, r) {
				size_t i = (size_t)c * links + (size_t)p->route_link[h];
				sum += (double)p->class_link_pool_ns[2 * i] +
				       (double)p->class_link_pool_ns[2 * i + 1];
			}
		}
		most = fmax(most, sum);
	}
	return most;
}

berth_status berth_pool_tables(berth_problem *p, berth_arena *mem, berth_arena *tmp, double *total_ns,
                               berth_err *err)
{
	const berth_system *s = p->s;
	size_t devs = (size_t)p->n_devs, links = (size_t)s->n_links;
	p->n_pools = s->n_pools;
	if (!p->n_pools)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, p->n_pools, err, p->pool_rate);
	BERTH_TRY_NEW(mem, 2 * links, err, p->link_pool);
	BERTH_TRY_NEW(mem, (size_t)p->n_ops * devs, err, p->op_dev_demand, p->op_dev_pool_ns);
	BERTH_TRY_NEW(mem, (size_t)p->n_classes * links, err, p->class_link_demand);
	BERTH_TRY_NEW(mem, 2 * (size_t)p->n_classes * links, err, p->class_link_pool_ns);
	for (int32_t i = 0; i < p->n_pools; i++)
		p->pool_rate[i] = s->pool_bandwidth[i] * 1e-9;
	for (size_t l = 0; l < links; l++) {
		int32_t from = s->dev_pool[s->link_from[l]], to = s->dev_pool[s->link_to[l]];
		p->link_pool[2 * l] = from;
		p->link_pool[2 * l + 1] = to == from ? -1 : to;
	}
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t d = 0; d < p->n_devs; d++)
			op_figures(p, op, d);
	for (int32_t c = 0; c < p->n_classes; c++)
		for (int32_t l = 0; l < s->n_links; l++)
			hop_figures(p, c, l);
	double *class_load;
	BERTH_TRY_NEW(tmp, p->n_classes, err, class_load);
	*total_ns *= 2; /* operators load pools for no longer than they take */
	for (int32_t c = 0; c < p->n_classes; c++)
		class_load[c] = most_load(p, c);
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		*total_ns += class_load[p->tensor_class[t]];
	return BERTH_OK;
}
