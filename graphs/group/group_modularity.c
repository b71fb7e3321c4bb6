/* Communities: the local moves of the Louvain method (Blondel, Guillaume, Lambiotte & Lefebvre, "Fast
 * unfolding of communities in large networks", J. Stat. Mech. 2008) on the undirected graph weighted by
 * scores, level by level, as DiviML splits models (Ghannane & Abdelfattah, arXiv 2308.00127). A community
 * keeps within the caps, no move leaves fewer communities than the target, and what would close a cycle is
 * cut off. Where communities end above the target, heavy edges go on.
 *
 * A move of node v to community c changes the modularity by (w(v, c) - k_v K_c / 2m) / m, with k the
 * weighted degree, K its sum over the community without v, m the sum of all weights. */
#include "group.h"

enum { MAX_SWEEPS = 8 };

typedef struct communities {
	const group_level *l;
	group_caps cap;
	int32_t *of;         /* [n] */
	int32_t *size;       /* [n] nodes of the community */
	double *degree;      /* [n] of the node */
	double *sum;         /* [n] degrees of the community */
	double *cost;        /* [n] */
	int64_t *bytes;      /* [n] */
	double *to;          /* [n] weight of the present node to a community; 0 between nodes */
	int32_t *near;       /* communities that to is set for, in order of discovery */
	int32_t n_near, left, target;
	double total;        /* sum of degrees = 2m */
} communities;

static void add_neighbour(communities *c, int32_t u, double weight)
{
	int32_t k = c->of[u];
	if (!(weight > 0))
		return;
	if (!(c->to[k] > 0))
		c->near[c->n_near++] = k;
	c->to[k] += weight;
}

/* Put v (weight sign: +1 in, -1 out) into community k. */
static void put(communities *c, int32_t v, int32_t k, int sign)
{
	c->size[k] += sign;
	c->sum[k] += sign * c->degree[v];
	c->cost[k] += sign * c->l->cost[v];
	c->bytes[k] += sign * c->l->bytes[v];
}

/* Move v to the neighbouring community of most gain, if any gains more than its own. */
static bool move(communities *c, int32_t v)
{
	const group_level *l = c->l;
	int32_t home = c->of[v], best = home;
	c->n_near = 0;
	BERTH_EACH (i, l->in_off, v)
		add_neighbour(c, l->from[i], l->in_score[i]);
	BERTH_EACH (i, l->off, v)
		add_neighbour(c, l->to[i], l->score[i]);
	put(c, v, home, -1);
	double most = c->to[home] - c->degree[v] * c->sum[home] / c->total;
	bool may_leave = c->size[home] > 0 || c->left > c->target;
	for (int32_t i = 0; i < c->n_near; i++) {
		int32_t k = c->near[i];
		double gain = c->to[k] - c->degree[v] * c->sum[k] / c->total;
		if (may_leave && k != home && group_fits(l, c->cap, c->cost[k], c->bytes[k], v) &&
		    (gain > most || (gain == most && best != home && k < best))) {
			most = gain;
			best = k;
		}
	}
	for (int32_t i = 0; i < c->n_near; i++)
		c->to[c->near[i]] = 0;
	c->left -= best != home && c->size[home] == 0;
	put(c, v, best, 1);
	c->of[v] = best;
	return best != home;
}

static berth_status round_of(group_work *w, int32_t *shrunk)
{
	communities c;
	*shrunk = 0;
	const group_level *l = &w->now;
	c = (communities){.l = l, .cap = group_caps_of(w), .left = l->n, .target = w->cfg->target};
	BERTH_TRY_NEW(w->tmp, l->n, w->err, c.of, c.size, c.degree, c.sum, c.cost, c.bytes, c.to,
	              c.near);
	for (int32_t v = 0; v < l->n; v++)
		BERTH_EACH (i, l->off, v) {
			c.degree[v] += l->score[i];
			c.degree[l->to[i]] += l->score[i];
			c.total += 2 * l->score[i];
		}
	for (int32_t v = 0; v < l->n; v++) {
		c.of[v] = v;
		c.size[v] = 1;
		c.sum[v] = c.degree[v];
		c.cost[v] = l->cost[v];
		c.bytes[v] = l->bytes[v];
	}
	if (!(c.total > 0))
		return BERTH_OK;
	for (int sweep = 0; sweep < MAX_SWEEPS; sweep++) {
		int32_t moved = 0;
		for (int32_t v = 0; v < w->now.n; v++)
			moved += move(&c, v);
		if (moved <= w->now.n / 100)
			break;
	}
	return group_take_labels(w, c.of, shrunk);
}

berth_status group_run_modularity(group_work *w)
{
	int32_t shrunk = 1;
	while (shrunk && group_may_go_on(w))
		BERTH_TRY(round_of(w, &shrunk));
	return group_heavy_rounds(w);
}
