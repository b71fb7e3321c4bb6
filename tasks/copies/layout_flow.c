/* What a layout lets flow, and what no layout can have more of. */
#include "layout.h"

#include "flow.h"

#include <math.h>

/* ---- the flow ---- */

/* In whole units, of which there are so many to a request a second. */
static int64_t whole_rate(double per_s, double units)
{
	double x = per_s * units;
	return x < (double)BERTH_FLOW_ENDLESS ? (int64_t)x : BERTH_FLOW_ENDLESS;
}

static double rate_of(const berth_layout_task *x, const berth_layout_group *g)
{
	return x->kind[g->kind].per_s[g->from * (x->n_layers + 1) + g->to];
}

static berth_status check_groups(const berth_layout_task *x, const berth_layers *l, berth_err *err)
{
	for (int32_t i = 0; i < l->n_groups; i++) {
		const berth_layout_group *g = &l->group[i];
		int64_t used = 0;
		if (g->kind < 0 || g->kind >= x->n_kinds || g->from < 0 || g->to <= g->from ||
		    g->to > x->n_layers)
			return berth_fail(err, BERTH_EINVAL, "group %d: layers %d to %d of %d are none",
			                  i + 1, g->from + 1, g->to, x->n_layers);
		const berth_layout_kind *k = &x->kind[g->kind];
		if (!(rate_of(x, g) > 0))
			return berth_fail(
				err, BERTH_EINVAL,
				"group %d: a node of %.80s cannot hold layers %d to %d: give it fewer", i + 1,
				k->name, g->from + 1, g->to);
		for (int32_t j = 0; j <= i; j++)
			used += l->group[j].kind == g->kind ? l->group[j].n : 0;
		if (g->n < 1 || used > k->n_nodes)
			return berth_fail(err, BERTH_EINVAL,
			                  "group %d: %lld nodes of %.80s, and there are %lld", i + 1,
			                  (long long)used, k->name, (long long)k->n_nodes);
	}
	return BERTH_OK;
}

/* May a request that is done at the end of a go to b? */
static bool follows(const berth_layout_task *x, const berth_layout_group *a, const berth_layout_group *b)
{
	return x->aligned ? a->to == b->from : b->from <= a->to && a->to < b->to;
}

/* Nodes: source, sink, and two a group with its rate between them. All rates together are some 2^50
 * units. */
static berth_status join_groups(const berth_layout_task *x, const berth_layers *l, berth_flow *f,
                                double *units, berth_arena *tmp, berth_err *err)
{
	int32_t n = l->n_groups;
	double all = 0;
	for (int32_t i = 0; i < n; i++)
		all += (double)l->group[i].n * rate_of(x, &l->group[i]);
	*units = exp2(floor(50 - log2(fmax(all, 1e-300)))); /* a power, so that whole rates stay whole */
	BERTH_TRY(berth_flow_new(2 * n + 2, (int64_t)n * n + 3 * n, tmp, f, err));
	for (int32_t i = 0; i < n; i++) {
		const berth_layout_group *a = &l->group[i];
		berth_flow_join(f, 2 + 2 * i, 3 + 2 * i, whole_rate((double)a->n * rate_of(x, a), *units), 0);
	}
	for (int32_t i = 0; i < n; i++) {
		const berth_layout_group *a = &l->group[i];
		if (a->from == 0)
			berth_flow_join(f, 0, 2 + 2 * i, BERTH_FLOW_ENDLESS, 0);
		if (a->to == x->n_layers)
			berth_flow_join(f, 3 + 2 * i, 1, BERTH_FLOW_ENDLESS, 0);
		for (int32_t j = 0; j < n; j++) {
			const berth_layout_group *b = &l->group[j];
			double link =
				x->link_per_s ? x->link_per_s[a->kind * x->n_kinds + b->kind] : INFINITY;
			if (follows(x, a, b))
				berth_flow_join(f, 3 + 2 * i, 2 + 2 * j,
				                whole_rate((double)a->n * (double)b->n * link, *units), 0);
		}
	}
	return BERTH_OK;
}

static berth_status read_ways(const berth_flow *f, double units, berth_layers *out, berth_arena *mem,
                              berth_err *err)
{
	out->per_s = 0;
	out->n_ways = 0;
	for (int64_t a = 2 * out->n_groups; a < f->n_arcs; a += 2)
		out->n_ways += f->room[a ^ 1] > 0;
	BERTH_TRY_NEW(mem, out->n_ways, err, out->way);
	out->n_ways = 0;
	for (int32_t i = 0; i < out->n_groups; i++)
		out->group[i].per_s = (double)f->room[2 * i + 1] / units;
	for (int64_t a = 2 * out->n_groups; a < f->n_arcs; a += 2) {
		if (f->room[a ^ 1] == 0)
			continue;
		int32_t from = f->to[a ^ 1], to = f->to[a];
		double per_s = (double)f->room[a ^ 1] / units;
		out->per_s += to == 1 ? per_s : 0;
		out->way[out->n_ways++] = (berth_layout_way){from == 0 ? -1 : (from - 3) / 2,
		                                             to == 1 ? -1 : (to - 2) / 2, per_s};
	}
	return BERTH_OK;
}

static bool to_the_end(void *ctx, int64_t arcs)
{
	(void)ctx;
	(void)arcs;
	return true;
}

berth_status berth_layout_flow(const berth_layout_task *x, berth_layers *out, berth_arena *mem,
                               berth_arena *tmp, berth_err *err)
{
	berth_flow f;
	double units;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(check_groups(x, out, err));
	BERTH_TRY(join_groups(x, out, &f, &units, tmp, err));
	berth_flow_max(&f, 0, 1, to_the_end, NULL);
	return read_ways(&f, units, out, mem, err);
}

/* ---- the bound ---- */

static const double *most_rates(const berth_layout_kind *d)
{
	return d->most_per_s ? d->most_per_s : d->per_s;
}

/* The most of the layers' weight that all nodes can have, a node no more of each than the share of F that it
 * takes. layer [n_layers], may be NULL: has what they take. */
static double most_weight(const berth_layout_task *x, const double *sum, double F, double *layer)
{
	double all = 0;
	int32_t L = x->n_layers;
	for (int32_t k = 0; k < x->n_kinds; k++) {
		const berth_layout_kind *d = &x->kind[k];
		const double *rate = most_rates(d);
		double best = 0, share = 0;
		int32_t from = 0, to = 0;
		for (int32_t f = 0; f < L; f++)
			for (int32_t t = f + 1; t <= L && rate[f * (L + 1) + t] > 0; t++) {
				double s = fmin(rate[f * (L + 1) + t] / F, 1), w = s * (sum[t] - sum[f]);
				if (w > best) {
					best = w;
					share = s;
					from = f;
					to = t;
				}
			}
		all += (double)d->n_nodes * best;
		for (int32_t l = from; layer && l < to; l++)
			layer[l] += (double)d->n_nodes * share;
	}
	return all;
}

/* The largest F that these weights allow, from above; at most high. */
static double allowed(const berth_layout_task *x, const double *sum, double high)
{
	double low = 0;
	if (most_weight(x, sum, high, NULL) >= 1)
		return high;
	for (int i = 0; i < 48 && high - low > 1e-10 * high; i++) {
		double mid = (low + high) / 2;
		if (most_weight(x, sum, mid, NULL) >= 1)
			low = mid;
		else
			high = mid;
	}
	return low > 0 ? high : most_weight(x, sum, 1e-12 * high, NULL) >= 1 ? high : 0;
}

/* ---- the bound by layers: each has whole nodes ---- */

enum { GRID = 2000, PRICED = 150, HALVED = 12 };

typedef struct covers {
	const berth_layout_task *x;
	double *price, *used;      /* [n_kinds] of a node; nodes that the dearest cover of all layers uses */
	double *best;              /* [n_kinds][n_layers+1] most rate of a node with so many layers */
	double *cost;              /* [GRID+1] the least that covers so much of the flow */
	int32_t *kind_of, *len_of; /* [GRID+1] its last node */
} covers;

/* The least that a layer pays for nodes which together have F, each in units of F / GRID rounded up; a node
 * with n layers takes one n-th of its price. O(GRID * kinds * layers). */
static double cheapest_cover(covers *c, double F)
{
	int32_t L = c->x->n_layers;
	for (int32_t g = 1; g <= GRID; g++)
		c->cost[g] = INFINITY;
	for (int32_t k = 0; k < c->x->n_kinds; k++)
		for (int32_t n = 1; n <= L && c->best[k * (L + 1) + n] > 0; n++) {
			double units = ceil(c->best[k * (L + 1) + n] * GRID / F), pay = c->price[k] / n;
			int32_t u = units < GRID ? (int32_t)units : GRID;
			bool gains = n == L || c->best[k * (L + 1) + n + 1] * GRID / F <= u - 1;
			for (int32_t g = 1; g <= GRID && gains; g++) {
				double now = pay + c->cost[g > u ? g - u : 0];
				if (now < c->cost[g]) {
					c->cost[g] = now;
					c->kind_of[g] = k;
					c->len_of[g] = n;
				}
			}
		}
	BERTH_CLEAR(c->used, c->x->n_kinds);
	for (int32_t g = GRID; g > 0 && isfinite(c->cost[GRID]);) {
		int32_t k = c->kind_of[g], n = c->len_of[g];
		double units = ceil(c->best[k * (L + 1) + n] * GRID / F);
		c->used[k] += (double)L / n;
		g = units < g ? g - (int32_t)units : 0;
	}
	return c->cost[GRID];
}

/* Are there prices at which covering every layer costs more than all nodes are worth? */
static bool never_has(covers *c, double F)
{
	for (int32_t round = 0; round < PRICED; round++) {
		double all = 0, cover = cheapest_cover(c, F);
		for (int32_t k = 0; k < c->x->n_kinds; k++)
			all += c->price[k] * (double)c->x->kind[k].n_nodes;
		if (cover * c->x->n_layers > all * (1 + 1e-9))
			return true;
		for (int32_t k = 0; k < c->x->n_kinds; k++) {
			double over = c->x->kind[k].n_nodes > 0
			                      ? c->used[k] / (double)c->x->kind[k].n_nodes - 1
			                      : 0;
			c->price[k] *= exp(0.3 / sqrt(round + 1) * fmin(2, over)) / all;
		}
	}
	return false;
}

static berth_status bound_by_layers(const berth_layout_task *x, double *per_s, berth_arena *tmp,
                                    berth_err *err)
{
	int32_t L = x->n_layers;
	covers c = {.x = x};
	double low = 0.5 * *per_s;
	BERTH_TRY_NEW(tmp, x->n_kinds, err, c.price, c.used);
	BERTH_TRY_NEW(tmp, x->n_kinds * (L + 1), err, c.best);
	BERTH_TRY_NEW(tmp, GRID + 1, err, c.cost);
	BERTH_TRY_NEW(tmp, GRID + 1, err, c.kind_of, c.len_of);
	for (int32_t k = 0; k < x->n_kinds; k++)
		for (int32_t n = 1; n <= L && x->kind[k].n_nodes > 0; n++) {
			double *best = &c.best[k * (L + 1) + n];
			for (int32_t f = 0; f + n <= L; f++)
				*best = fmax(*best, most_rates(&x->kind[k])[f * (L + 1) + f + n]);
			c.price[k] = fmax(c.price[k], n * *best);
		}
	for (int i = 0; i < HALVED; i++) {
		double mid = (low + *per_s) / 2;
		if (never_has(&c, mid))
			*per_s = mid;
		else
			low = mid;
	}
	return BERTH_OK;
}

/* As much as it takes of all nodes; right already where these are alike. What nobody can hold weighs most. */
static void first_weights(const berth_layout_task *x, double *weight)
{
	int32_t L = x->n_layers;
	double most = 1e-300;
	for (int32_t l = 0; l < L; l++) {
		weight[l] = 0;
		for (int32_t k = 0; k < x->n_kinds; k++) {
			double per_s = most_rates(&x->kind[k])[l * (L + 1) + l + 1];
			weight[l] += per_s > 0 ? (double)x->kind[k].n_nodes / per_s : 0;
		}
		most = fmax(most, weight[l]);
	}
	for (int32_t l = 0; l < L; l++)
		weight[l] = weight[l] > 0 ? weight[l] : most;
}

berth_status berth_layout_bound(const berth_layout_task *x, berth_arena *tmp, double *per_s, berth_err *err)
{
	enum { ROUNDS = 200 };
	int32_t L = x->n_layers;
	double *weight, *sum, *layer, best = 0;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, L + 1, err, weight, sum, layer);
	for (int32_t k = 0; k < x->n_kinds; k++) {
		double most = 0;
		for (int32_t i = 0; i < (L + 1) * (L + 1); i++)
			most = fmax(most, most_rates(&x->kind[k])[i]);
		best += (double)x->kind[k].n_nodes * most;
	}
	first_weights(x, weight);
	for (int32_t round = 0; round < ROUNDS && best > 0; round++) {
		double all = 0, mean = 0;
		for (int32_t l = 0; l < L; l++)
			all += weight[l];
		for (int32_t l = 0; l < L; l++) {
			weight[l] /= all;
			sum[l + 1] = sum[l] + weight[l];
		}
		sum[L] = 1; /* rounding of sums is far below the 1e-9 that are put on top */
		best = allowed(x, sum, best);
		BERTH_CLEAR(layer, L);
		most_weight(x, sum, fmax(best, 1e-300), layer);
		for (int32_t l = 0; l < L; l++)
			mean += layer[l] / L;
		/* layers that the best ranges leave out weigh more from now on */
		for (int32_t l = 0; l < L && mean > 0; l++)
			weight[l] *= exp(fmax(-1, 1 - layer[l] / mean) * 0.5 / sqrt(round + 1));
	}
	if (best > 0)
		BERTH_TRY(bound_by_layers(x, &best, tmp, err));
	*per_s = best * (1 + 1e-9);
	return BERTH_OK;
}
