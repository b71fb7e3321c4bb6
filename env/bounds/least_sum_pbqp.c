/* The sum of operator and transfer times as a PBQP, colocation group by colocation group, solved for
 * least_sum.c. A tensor of several consumers gets a node of its own, whose alternatives are its ways, where
 * these are not too many. */
#include "least_sum.h"

#include "coloc.h"
#include "pbqp.h"

enum { MOST_WAYS = 256, LESS_WAYS = 64, MOST_MASK_DEVS = 63, MOST_SPREAD = 10, SOLVER_NODES = 2000 };

#define NODE_ENTRIES 1e7 /* of matrices of all nodes of the solver's tree, about */
#define QUICK_ENTRIES 2e6       /* of all matrices: more only with less ways */
#define MOST_ENTRIES 33554432.0 /* 256 MiB */

typedef struct builder {
	berth_sum_pbqp *x;
	const bool *usable;
	int32_t *group, n_groups; /* [n_colocs] other groups that consume the tensor at hand */
	int32_t *latest;          /* [n_colocs] the tensor that a group was listed for last */
	/* ways of the tensor: its home, and where else it is needed */
	int32_t n_ways, most_ways, way_home[MOST_WAYS];
	uint64_t way_to[MOST_WAYS];
	int64_t *matrix; /* [MOST_WAYS or n_devs][n_devs] */
} builder;

static int32_t home_of(const builder *b, int32_t t)
{
	return b->x->p->op_coloc[b->x->p->g->tensor_producer[t]];
}

static void list_groups(builder *b, int32_t t)
{
	const berth_problem *p = b->x->p;
	b->n_groups = 0;
	BERTH_EACH (e, p->g->tensor_use_off, t) {
		int32_t u = p->op_coloc[p->g->edge_consumer[e]];
		if (u == home_of(b, t) || b->latest[u] == t)
			continue;
		b->latest[u] = t;
		b->group[b->n_groups++] = u;
	}
}

static int count_bits(uint64_t mask)
{
	int n = 0;
	for (; mask; mask &= mask - 1)
		n++;
	return n;
}

static uint64_t devices_of(const builder *b, int32_t u)
{
	uint64_t mask = 0;
	BERTH_EACH (at, b->x->alt_off, u)
		mask |= UINT64_C(1) << b->x->alt_dev[at];
	return mask;
}

static bool add_way(builder *b, int32_t home, uint64_t to)
{
	if (b->n_ways == b->most_ways)
		return false;
	b->way_home[b->n_ways] = home;
	b->way_to[b->n_ways++] = to;
	return true;
}

/* All ways of a tensor with several consumers, to nowhere first; false: they are too many. */
static bool list_ways(builder *b, int32_t t)
{
	uint64_t there = 0;
	b->n_ways = 0;
	if (b->x->p->n_devs > MOST_MASK_DEVS)
		return false;
	for (int32_t i = 0; i < b->n_groups; i++)
		there |= devices_of(b, b->group[i]);
	if (count_bits(there) > MOST_SPREAD)
		return false;
	BERTH_EACH (at, b->x->alt_off, home_of(b, t))
		if (!add_way(b, b->x->alt_dev[at], 0))
			return false;
	BERTH_EACH (at, b->x->alt_off, home_of(b, t)) {
		uint64_t others = there & ~(UINT64_C(1) << b->x->alt_dev[at]);
		for (uint64_t to = others; to; to = (to - 1) & others)
			if (count_bits(to) <= b->n_groups && !add_way(b, b->x->alt_dev[at], to))
				return false;
	}
	return true;
}

static berth_status list_alternatives(builder *b, berth_arena *mem, berth_err *err)
{
	const berth_problem *p = b->x->p;
	int32_t n = 0;
	BERTH_TRY_NEW(mem, (size_t)p->n_colocs + 1, err, b->x->alt_off);
	BERTH_TRY_NEW(mem, (size_t)p->n_colocs * (size_t)p->n_devs, err, b->x->alt_dev);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		for (int32_t d = 0; d < p->n_devs; d++)
			if (b->usable[berth_cell(p, u, d)])
				b->x->alt_dev[n++] = d;
		b->x->alt_off[u + 1] = n;
	}
	return BERTH_OK;
}

static int32_t n_alts(const builder *b, int32_t u)
{
	return b->x->alt_off[u + 1] - b->x->alt_off[u];
}

static void forget_latest(builder *b)
{
	for (int32_t u = 0; u < b->x->p->n_colocs; u++)
		b->latest[u] = -1;
}

/* Alternatives of all nodes, [n_colocs + n_tensors] at most; the matrices are counted. Returns the nodes. */
static int32_t count_nodes(builder *b, int32_t most_ways, int32_t *alts)
{
	const berth_problem *p = b->x->p;
	int32_t n = p->n_colocs;
	forget_latest(b);
	b->most_ways = most_ways;
	b->x->entries = 0;
	b->x->exact = true;
	for (int32_t u = 0; u < p->n_colocs; u++)
		alts[u] = n_alts(b, u);
	for (int32_t t = 0; t < p->g->n_tensors; t++) {
		list_groups(b, t);
		int32_t home = home_of(b, t), rows = n_alts(b, home);
		bool spread = b->n_groups > 1 && list_ways(b, t);
		if (spread) {
			alts[n++] = b->n_ways;
			b->x->entries += (double)b->n_ways * rows;
			rows = b->n_ways;
		}
		b->x->exact &= spread || b->n_groups < 2;
		for (int32_t i = 0; i < b->n_groups; i++)
			b->x->entries += (double)rows * n_alts(b, b->group[i]);
	}
	return n;
}

/* The tensor's own node: what each way costs, and what it asks of the home and of consumers. */
static berth_status add_spread(builder *b, int32_t t, int32_t node, berth_err *err)
{
	const berth_problem *p = b->x->p;
	int64_t *cost = berth_pbqp_node(b->x->q, node), *at = b->matrix;
	for (int32_t w = 0; w < b->n_ways; w++) {
		cost[w] = 0;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (b->way_to[w] >> d & 1)
				cost[w] += berth_transfer_ns(p, t, b->way_home[w], d);
		BERTH_EACH (k, b->x->alt_off, home_of(b, t))
			*at++ = b->x->alt_dev[k] == b->way_home[w] ? 0 : BERTH_PBQP_INF;
	}
	BERTH_TRY(berth_pbqp_edge(b->x->q, node, home_of(b, t), b->matrix, err));
	for (int32_t i = 0; i < b->n_groups; i++) {
		at = b->matrix;
		for (int32_t w = 0; w < b->n_ways; w++)
			BERTH_EACH (k, b->x->alt_off, b->group[i]) {
				int32_t d = b->x->alt_dev[k];
				bool there = d == b->way_home[w] || (b->way_to[w] >> d & 1);
				*at++ = there ? 0 : BERTH_PBQP_INF;
			}
		BERTH_TRY(berth_pbqp_edge(b->x->q, node, b->group[i], b->matrix, err));
	}
	return BERTH_OK;
}

static berth_status add_tensors(builder *b, berth_err *err)
{
	const berth_problem *p = b->x->p;
	int32_t node = p->n_colocs;
	forget_latest(b);
	for (int32_t t = 0; t < p->g->n_tensors; t++) {
		list_groups(b, t);
		if (b->n_groups > 1 && list_ways(b, t))
			BERTH_TRY(add_spread(b, t, node++, err));
		else if (b->n_groups) {
			/* Each of the consumers pays its share of the way. */
			int32_t home = home_of(b, t);
			for (int32_t i = 0; i < b->n_groups; i++) {
				int64_t *at = b->matrix;
				BERTH_EACH (k, b->x->alt_off, home)
					BERTH_EACH (l, b->x->alt_off, b->group[i])
						*at++ = berth_transfer_ns(p, t, b->x->alt_dev[k],
						                          b->x->alt_dev[l]) /
						        b->n_groups;
				BERTH_TRY(berth_pbqp_edge(b->x->q, home, b->group[i], b->matrix, err));
			}
		}
	}
	return BERTH_OK;
}

berth_status berth_sum_pbqp_new(const berth_problem *p, const bool *usable, berth_arena *mem,
                                berth_sum_pbqp *out, berth_err *err)
{
	int32_t *alts;
	builder *b;
	*out = (berth_sum_pbqp){.p = p};
	BERTH_TRY_NEW(mem, 1, err, b);
	b->x = out;
	b->usable = usable;
	BERTH_TRY_NEW(mem, p->n_colocs, err, b->group, b->latest);
	BERTH_TRY_NEW(mem, (size_t)p->n_colocs + (size_t)p->g->n_tensors, err, alts);
	BERTH_TRY(list_alternatives(b, mem, err));
	int32_t n = count_nodes(b, MOST_WAYS, alts);
	if (out->entries > QUICK_ENTRIES)
		n = count_nodes(b, LESS_WAYS, alts);
	if (out->entries > MOST_ENTRIES)
		return BERTH_OK;
	int32_t rows = p->n_devs > MOST_WAYS ? p->n_devs : MOST_WAYS;
	BERTH_TRY_NEW(mem, (size_t)rows * (size_t)p->n_devs, err, b->matrix);
	out->n_nodes = n;
	BERTH_TRY(berth_pbqp_new(n, alts, mem, &out->q, err));
	return add_tensors(b, err);
}

berth_status berth_sum_pbqp_solve(const berth_sum_pbqp *x, const int64_t *price_ns, bool effort,
                                  int32_t *op_dev, int64_t *least_ns, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	const berth_problem *p = x->p;
	berth_pbqp_stats stats;
	int32_t *alt;
	BERTH_TRY_NEW(tmp, x->n_nodes, err, alt);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int64_t *cost = berth_pbqp_node(x->q, u);
		BERTH_EACH (at, x->alt_off, u)
			*cost++ = berth_coloc_time(p, u, x->alt_dev[at]) +
			          price_ns[berth_cell(p, u, x->alt_dev[at])];
	}
	int64_t nodes = (int64_t)fmax(1, fmin(SOLVER_NODES, NODE_ENTRIES / x->entries));
	BERTH_TRY(berth_pbqp_solve(x->q, effort ? BERTH_PBQP_EXACT : BERTH_PBQP_BEST, nodes, alt, &stats, tmp,
	                           err));
	for (int32_t u = 0; u < p->n_colocs; u++)
		berth_coloc_put(p, u, x->alt_dev[x->alt_off[u] + alt[u]], op_dev);
	*least_ns = stats.lower_bound;
	return BERTH_OK;
}
