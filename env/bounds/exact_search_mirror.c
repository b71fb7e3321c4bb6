/* Devices that are mirror images of each other in an exact search; see exact_search.h. */
#include "exact_search_work.h"

#include <string.h>

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

static int32_t route_of(const berth_problem *p, int32_t class, int32_t from, int32_t to)
{
	size_t devs = (size_t)p->n_devs;
	return p->class_pair_route[((size_t) class * devs + (size_t)from) * devs + (size_t)to];
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
		    (e->image[u] >= 0 && e->image[u] != v) ||
		    (e->origin[v] >= 0 && e->origin[v] != u))
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
				    !same_hops(p, c, route_of(p, c, from, to),
				               route_of(p, c, swapped(from, a, b), swapped(to, a, b)), &e))
					return false;
	return true;
}

/* Can one tensor wait for itself on its way to a and to b? Then who goes first depends on device numbers. */
static bool share_a_channel(const berth_problem *p, int32_t a, int32_t b)
{
	for (int32_t from = 0; p->s->contention && p->n_classes > 0 && from < p->n_devs; from++) {
		if (from == a || from == b)
			continue;
		int32_t r = route_of(p, 0, from, a), q = route_of(p, 0, from, b);
		for (int32_t h = p->route_off[r]; h < p->route_off[r + 1]; h++)
			for (int32_t k = p->route_off[q]; k < p->route_off[q + 1]; k++)
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
