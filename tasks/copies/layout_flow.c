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
	return x->kind[g->kind].now.per_s[g->from * (x->n_layers + 1) + g->to];
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

/* The place in link_per_s and link_s of what a group passes on to nodes of kind to, or gets from such. */
static int32_t link_at(const berth_layout_task *x, const berth_layout_group *g, int32_t other, bool gets)
{
	const berth_layout_rates *k = &x->kind[g->kind].now;
	const int32_t *link = gets ? k->link_in : k->link_out;
	int32_t at = link ? link[g->from * (x->n_layers + 1) + g->to] : 0, from = gets ? other : g->kind;
	return (at * x->n_kinds + from) * x->n_kinds + (gets ? g->kind : other);
}

/* Seconds from the end of a, NULL: the source, to that of b. */
static double time_from(const berth_layout_task *x, int32_t limit, const berth_layout_group *a,
                        const berth_layout_group *b)
{
	const double *time_s = x->kind[b->kind].now.time_s[limit], *link_s = x->limit[limit].link_s;
	return (time_s ? time_s[b->from * (x->n_layers + 1) + b->to] : 0) +
	       (a && link_s ? link_s[link_at(x, a, b->kind, false)] : 0);
}

/* May a request that is done at the end of a go to b? */
static bool follows(const berth_layout_task *x, const berth_layout_group *a, const berth_layout_group *b)
{
	bool yes = x->aligned ? a->to == b->from : b->from <= a->to && a->to < b->to;
	for (int32_t i = 0; i < x->n_limits && yes && x->strict; i++) {
		const double *due_s = x->limit[i].due_s;
		yes = !due_s || time_from(x, i, a, b) <= (due_s[b->to] - due_s[a->to]) * (1 + 1e-9);
	}
	return yes;
}

/* A group's ports to and from each kind, behind the nodes of groups. */
static int32_t port_of(const berth_layout_task *x, int32_t n, int32_t group, int32_t other, bool gets)
{
	return 2 * n + 2 + 2 * (group * x->n_kinds + other) + gets;
}

static double link_rate(const berth_layout_task *x, const berth_layout_group *g, int32_t other, bool gets)
{
	return x->link_per_s ? x->link_per_s[link_at(x, g, other, gets)] : INFINITY;
}

/* Nodes: source, sink, two a group with its rate between them, and with links its ports. All rates together
 * are some 2^50 units. *first: the arc of the first way. */
static berth_status join_groups(const berth_layout_task *x, const berth_layers *l, berth_flow *f,
                                double *units, int64_t *first, berth_arena *tmp, berth_err *err)
{
	int32_t n = l->n_groups, ports = x->link_per_s ? 2 * n * x->n_kinds : 0;
	double all = 0;
	for (int32_t i = 0; i < n; i++)
		all += (double)l->group[i].n * rate_of(x, &l->group[i]);
	*units = exp2(floor(50 - log2(fmax(all, 1e-300)))); /* a power, so that whole rates stay whole */
	BERTH_TRY(berth_flow_new(2 * n + 2 + ports, (int64_t)n * n + 3 * n + ports, tmp, f, err));
	for (int32_t i = 0; i < n; i++) {
		const berth_layout_group *a = &l->group[i];
		berth_flow_join(f, 2 + 2 * i, 3 + 2 * i, whole_rate((double)a->n * rate_of(x, a), *units), 0);
	}
	for (int32_t i = 0; i < ports; i++) {
		int32_t group = i / 2 / x->n_kinds, other = i / 2 % x->n_kinds, port = 2 * n + 2 + i;
		const berth_layout_group *a = &l->group[group];
		int64_t room = whole_rate((double)a->n * link_rate(x, a, other, i % 2), *units);
		berth_flow_join(f, i % 2 ? port : 3 + 2 * group, i % 2 ? 2 + 2 * group : port, room, 0);
	}
	*first = f->n_arcs;
	for (int32_t i = 0; i < n; i++) {
		const berth_layout_group *a = &l->group[i];
		if (a->from == 0)
			berth_flow_join(f, 0, 2 + 2 * i, BERTH_FLOW_ENDLESS, 0);
		if (a->to == x->n_layers)
			berth_flow_join(f, 3 + 2 * i, 1, BERTH_FLOW_ENDLESS, 0);
		for (int32_t j = 0; j < n; j++) {
			const berth_layout_group *b = &l->group[j];
			if (follows(x, a, b) && link_rate(x, a, b->kind, false) > 0 &&
			    link_rate(x, b, a->kind, true) > 0)
				berth_flow_join(f, ports ? port_of(x, n, i, b->kind, false) : 3 + 2 * i,
				                ports ? port_of(x, n, j, a->kind, true) : 2 + 2 * j,
				                BERTH_FLOW_ENDLESS, 0);
		}
	}
	return BERTH_OK;
}

/* The group that such a node of the flow is part of. */
static int32_t group_at(const berth_layout_task *x, const berth_layers *l, int32_t node)
{
	int32_t port = node - 2 - 2 * l->n_groups;
	return port < 0 ? (node - 2) / 2 : port / 2 / x->n_kinds;
}

static berth_status read_ways(const berth_layout_task *x, const berth_flow *f, double units, int64_t first,
                              berth_layers *out, berth_arena *mem, berth_err *err)
{
	out->per_s = 0;
	out->n_ways = 0;
	for (int64_t a = first; a < f->n_arcs; a += 2)
		out->n_ways += f->room[a ^ 1] > 0;
	BERTH_TRY_NEW(mem, out->n_ways, err, out->way);
	out->n_ways = 0;
	for (int32_t i = 0; i < out->n_groups; i++) {
		berth_layout_group *g = &out->group[i];
		const int64_t *batch = x->kind[g->kind].now.batch, *read = x->kind[g->kind].now.read_bytes;
		int32_t at = g->from * (x->n_layers + 1) + g->to;
		g->per_s = (double)f->room[2 * i + 1] / units;
		g->batch = batch ? batch[at] : 0;
		g->read_bytes = read ? read[at] : 0;
	}
	for (int64_t a = first; a < f->n_arcs; a += 2) {
		if (f->room[a ^ 1] == 0)
			continue;
		int32_t from = f->to[a ^ 1], to = f->to[a];
		double per_s = (double)f->room[a ^ 1] / units;
		out->per_s += to == 1 ? per_s : 0;
		out->way[out->n_ways++] = (berth_layout_way){from == 0 ? -1 : group_at(x, out, from),
		                                             to == 1 ? -1 : group_at(x, out, to), per_s};
	}
	return BERTH_OK;
}

/* Of the way that takes longest, as a limit counts. Each way leads to a group that ends later. */
static berth_status find_longest(const berth_layout_task *x, const berth_layers *l, int32_t limit,
                                 berth_arena *tmp, double *longest_s, berth_err *err)
{
	bool more = true;
	double *at_s;
	BERTH_SCRATCH(tmp);
	*longest_s = 0;
	BERTH_TRY_NEW(tmp, l->n_groups + 1, err, at_s);
	while (more) {
		more = false;
		for (int32_t i = 0; i < l->n_ways; i++) {
			const berth_layout_way *w = &l->way[i];
			const berth_layout_group *from = w->from < 0 ? NULL : &l->group[w->from];
			double now = (from ? at_s[w->from] : 0) +
			             (w->to < 0 ? 0 : time_from(x, limit, from, &l->group[w->to]));
			double *to = w->to < 0 ? longest_s : &at_s[w->to];
			more |= now > *to;
			*to = fmax(*to, now);
		}
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
	int64_t first;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(check_groups(x, out, err));
	BERTH_TRY(join_groups(x, out, &f, &units, &first, tmp, err));
	berth_flow_max(&f, 0, 1, to_the_end, NULL);
	BERTH_TRY(read_ways(x, &f, units, first, out, mem, err));
	for (int32_t i = 0; i < BERTH_MOST_LAYOUT_LIMITS; i++)
		BERTH_TRY(find_longest(x, out, i, tmp, &out->time_s[i], err));
	return BERTH_OK;
}

/* ---- the bound ---- */

static bool is_over(const berth_layout_task *x)
{
	return berth_layout_over(x->cfg, NULL, 0, 0);
}

/* In the i-th mode of a node of d, however long a request is there; 0: it cannot, nor hold more. */
static double held_rate(const berth_layout_task *x, const berth_layout_kind *d, int32_t i, int32_t from,
                        int32_t to)
{
	int32_t at = from * (x->n_layers + 1) + to;
	return d->n_modes ? d->mode[i].most_per_s[at] : d->now.per_s[at];
}

static double mode_time(const berth_layout_task *x, const berth_layout_kind *d, int32_t limit, int32_t i,
                        int32_t from, int32_t to)
{
	bool any = d->n_modes && limit < x->n_limits && d->mode[i].time_s[limit];
	return any ? d->mode[i].time_s[limit][from * (x->n_layers + 1) + to] : 0;
}

/* 0 also where a request would be there for longer than it may: with more layers it may be there shorter. */
static double most_rate(const berth_layout_task *x, const berth_layout_kind *d, int32_t i, int32_t from,
                        int32_t to)
{
	for (int32_t l = 0; l < x->n_limits; l++) {
		double most_s = x->limit[l].most_s;
		if (most_s > 0 && mode_time(x, d, l, i, from, to) > most_s * (1 + 1e-9))
			return 0;
	}
	return held_rate(x, d, i, from, to);
}

/* Prices of layers, as sums of the first ones, and of the time that a request may take; together 1 less
 * what the time has. */
typedef struct prices {
	const double *sum;
	double time;
	int32_t limit;
} prices;

/* The most that all nodes can gain, a node no more of each layer than the share of F that it takes, and less
 * what the requests' time there costs. used [n_layers+1], may be NULL: has what they take, of time last. */
static double most_gain(const berth_layout_task *x, prices p, double F, double *used)
{
	double all = 0, most_s = x->limit[p.limit].most_s;
	int32_t L = x->n_layers;
	for (int32_t k = 0; k < x->n_kinds; k++) {
		const berth_layout_kind *d = &x->kind[k];
		double best = 0, share = 0, best_s = 0;
		int32_t from = 0, to = 0;
		for (int32_t i = 0; i < berth_max(d->n_modes, 1); i++)
			for (int32_t f = 0; f < L; f++)
				for (int32_t t = f + 1; t <= L && held_rate(x, d, i, f, t) > 0; t++) {
					double per_s = most_rate(x, d, i, f, t), s = fmin(per_s / F, 1);
					if (s * (p.sum[t] - p.sum[f]) <= best)
						continue;
					double part =
						p.time > 0 ? mode_time(x, d, p.limit, i, f, t) / most_s : 0;
					double w = s * (p.sum[t] - p.sum[f] - p.time * part);
					if (w <= best)
						continue;
					best = w;
					share = s;
					best_s = part;
					from = f;
					to = t;
				}
		all += (double)d->n_nodes * best;
		for (int32_t l = from; used && l < to; l++)
			used[l] += (double)d->n_nodes * share;
		if (used)
			used[L] += (double)d->n_nodes * share * best_s;
	}
	return all;
}

/* The largest F that these prices allow, from above; at most high. 0: nothing flows that takes no longer
 * than it may. Time has a thousand millionth, to which limits are kept, and 1e-12 for rounding. */
static double allowed(const berth_layout_task *x, prices p, double high)
{
	double low = 0, least = 1 - p.time - (p.time > 0 ? 1e-9 * p.time + 1e-12 : 0), most = high;
	if (most_gain(x, p, high, NULL) >= least)
		return high;
	for (int i = 0; i < 48 && high - low > 1e-10 * high; i++) {
		double mid = (low + high) / 2;
		if (most_gain(x, p, mid, NULL) >= least)
			low = mid;
		else
			high = mid;
	}
	if (low > 0)
		return high;
	return most_gain(x, p, 1e-12 * high, NULL) >= least - 1e-12 ? most : 0;
}

/* ---- the bound by layers: each has whole nodes ---- */

enum { GRID = 2000, PRICED = 150, HALVED = 12 };

/* A node with n layers: so many units of the flow, for one n-th of its price. */
typedef struct cover {
	int32_t units, kind, n;
	double pay;
} cover;

typedef struct covers {
	const berth_layout_task *x;
	double *price, *used; /* [n_kinds] of a node; nodes that the dearest cover of all layers uses */
	double *best;         /* [n_kinds][n_layers+1] most rate of a node with so many layers */
	double *cost;         /* [GRID+1] the least that covers so much of the flow; -1: nobody asks */
	int32_t *by;          /* [GRID+1] with which node */
	cover *node;          /* [n_nodes] */
	int32_t n_nodes;
} covers;

/* Nodes that a layer may have. Of one with as many units and no fewer layers the others are left out. */
static void list_nodes(covers *c, double F)
{
	int32_t L = c->x->n_layers;
	c->n_nodes = 0;
	for (int32_t k = 0; k < c->x->n_kinds; k++)
		for (int32_t n = 1; n <= L; n++) {
			const double *best = &c->best[k * (L + 1) + n];
			double units = ceil(*best * GRID / F);
			int32_t u = units < GRID ? (int32_t)units : GRID;
			if (*best > 0 && (n == L || best[1] * GRID / F <= u - 1))
				c->node[c->n_nodes++] = (cover){u, k, n, c->price[k] / n};
		}
}

/* The least that a layer pays for nodes which together have F, each in units of F / GRID rounded up. Only
 * what is left of all units behind some nodes is asked for. O(GRID * kinds * layers). */
static double cheapest_cover(covers *c, double F)
{
	list_nodes(c, F);
	for (int32_t g = 0; g <= GRID; g++)
		c->cost[g] = g < GRID ? -1 : INFINITY;
	for (int32_t g = GRID; g > 0; g--)
		for (int32_t i = 0; i < c->n_nodes && c->cost[g] >= 0; i++)
			c->cost[g > c->node[i].units ? g - c->node[i].units : 0] = INFINITY;
	c->cost[0] = 0;
	for (int32_t g = 1; g <= GRID; g++) {
		double least = INFINITY;
		for (int32_t i = 0; i < c->n_nodes && c->cost[g] >= 0; i++) {
			const cover *d = &c->node[i];
			double now = d->pay + c->cost[g > d->units ? g - d->units : 0];
			c->by[g] = now < least ? i : c->by[g];
			least = now < least ? now : least;
		}
		c->cost[g] = least;
	}
	BERTH_CLEAR(c->used, c->x->n_kinds);
	for (int32_t g = GRID; g > 0 && isfinite(c->cost[GRID]);) {
		const cover *d = &c->node[c->by[g]];
		c->used[d->kind] += (double)c->x->n_layers / d->n;
		g = g > d->units ? g - d->units : 0;
	}
	return c->cost[GRID];
}

/* Are there prices at which covering every layer costs more than all nodes are worth? */
static bool never_has(covers *c, double F)
{
	for (int32_t round = 0; round < PRICED && !is_over(c->x); round++) {
		double all = 0, layer = cheapest_cover(c, F);
		for (int32_t k = 0; k < c->x->n_kinds; k++)
			all += c->price[k] * (double)c->x->kind[k].n_nodes;
		if (layer * c->x->n_layers > all * (1 + 1e-9))
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
	BERTH_TRY_NEW(tmp, x->n_kinds * L, err, c.node);
	BERTH_TRY_NEW(tmp, GRID + 1, err, c.cost);
	BERTH_TRY_NEW(tmp, GRID + 1, err, c.by);
	for (int32_t k = 0; k < x->n_kinds; k++)
		for (int32_t n = 1; n <= L && x->kind[k].n_nodes > 0; n++) {
			double *best = &c.best[k * (L + 1) + n];
			for (int32_t i = 0; i < berth_max(x->kind[k].n_modes, 1); i++)
				for (int32_t f = 0; f + n <= L; f++)
					*best = fmax(*best, most_rate(x, &x->kind[k], i, f, f + n));
			c.price[k] = fmax(c.price[k], n * *best);
		}
	for (int i = 0; i < HALVED; i++) {
		double mid = (low + *per_s) / 2;
		if (never_has(&c, mid)) /* where it ends early it proves nothing */
			*per_s = mid;
		else
			low = mid;
	}
	return BERTH_OK;
}

/* As much as it takes of all nodes, by the best range that has it; right already where these are alike. What
 * nobody can hold weighs most. best [n_layers] is scratch. */
static void first_weights(const berth_layout_task *x, double *weight, double *best)
{
	int32_t L = x->n_layers;
	double most = 1e-300;
	BERTH_CLEAR(weight, L);
	for (int32_t k = 0; k < x->n_kinds; k++) {
		const berth_layout_kind *d = &x->kind[k];
		BERTH_CLEAR(best, L);
		for (int32_t i = 0; i < berth_max(d->n_modes, 1); i++)
			for (int32_t f = 0; f < L; f++) {
				double per_s = 0;
				for (int32_t l = L - 1; l >= f; l--) {
					per_s = fmax(per_s, most_rate(x, d, i, f, l + 1));
					best[l] = fmax(best[l], per_s);
				}
			}
		for (int32_t l = 0; l < L; l++)
			weight[l] += best[l] > 0 ? (double)d->n_nodes / best[l] : 0;
	}
	for (int32_t l = 0; l < L; l++)
		most = fmax(most, weight[l]);
	for (int32_t l = 0; l < L; l++)
		weight[l] = weight[l] > 0 ? weight[l] : most;
}

/* Prices of layers from first_weights on, moved towards what is used too much; of a limit's time, with
 * `timed`, from a third on. *per_s falls to what they allow. */
static void lower_bound(const berth_layout_task *x, double *weight, double *sum, double *used, bool timed,
                        int32_t limit, double *per_s)
{
	enum { ROUNDS = 200 };
	int32_t L = x->n_layers;
	double time = timed ? 1 / 3.0 : 0;
	first_weights(x, weight, used);
	for (int32_t round = 0; round<ROUNDS && * per_s> 0 && !is_over(x); round++) {
		double all = 0, mean = 0;
		for (int32_t l = 0; l < L; l++)
			all += weight[l];
		for (int32_t l = 0; l < L; l++) {
			weight[l] /= all;
			sum[l + 1] = sum[l] + weight[l];
		}
		sum[L] = 1; /* rounding of sums is far below the 1e-9 that are put on top */
		*per_s = allowed(x, (prices){sum, time, limit}, *per_s);
		BERTH_CLEAR(used, L + 1);
		most_gain(x, (prices){sum, time, limit}, fmax(*per_s, 1e-300), used);
		for (int32_t l = 0; l < L; l++)
			mean += used[l] / L;
		/* layers that the best ranges leave out weigh more from now on */
		for (int32_t l = 0; l < L && mean > 0; l++)
			weight[l] *= exp(fmax(-1, 1 - used[l] / mean) * 0.5 / sqrt(round + 1));
		if (timed && mean > 0)
			time = fmin(0.97,
			            time * exp(fmax(-1, fmin(1, used[L] / mean - 1)) / sqrt(round + 1)));
	}
}

berth_status berth_layout_bound(const berth_layout_task *x, berth_arena *tmp, double *per_s, berth_err *err)
{
	int32_t L = x->n_layers;
	double *weight, *sum, *used, best = 0;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, L + 1, err, weight, sum, used);
	for (int32_t k = 0; k < x->n_kinds; k++) {
		double most = 0;
		for (int32_t i = 0; i < berth_max(x->kind[k].n_modes, 1); i++)
			for (int32_t f = 0; f < L; f++)
				for (int32_t t = f + 1; t <= L; t++)
					most = fmax(most, most_rate(x, &x->kind[k], i, f, t));
		best += (double)x->kind[k].n_nodes * most;
	}
	lower_bound(x, weight, sum, used, false, 0, &best);
	for (int32_t i = 0; i < x->n_limits; i++)
		if (x->limit[i].most_s > 0)
			lower_bound(x, weight, sum, used, true, i, &best);
	if (best > 0)
		BERTH_TRY(bound_by_layers(x, &best, tmp, err));
	*per_s = best * (1 + 1e-9);
	return BERTH_OK;
}
