/* Chain coarsening and acyclic heavy-edge clustering; see coarsen.h.
 *
 * Why the clusters of a round stay acyclic: every edge rises in top level (longest path from a source) by at least one. A cluster is either two nodes
 * of one level, or a lower node u at level t and an upper node v at t + 1 (a spanning pair). Call L the level of a cluster's lowest node. Along an edge
 * between clusters L never falls, and it rises where the target is not a spanning pair; so a cycle would consist of spanning pairs of one t, each edge
 * from a lower node to an upper one. A pair is not made where such an edge to or from another pair of that t exists; hence no cycle. */
#include "coarsen.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One level's graph: nodes in a topological order of the kept edges (u < v for each), parallel edges merged. */
typedef struct level {
	int32_t n, n_edges;
	double *cost;
	int64_t *bytes;
	int32_t *off, *to;     /* successors, CSR */
	double *score;
	int32_t *in_off, *from; /* predecessors */
} level;

typedef struct arc {
	int32_t from, to;
	double score;
} arc;

berth_coarsen_cfg berth_coarsen_cfg_default(int32_t target)
{
	return (berth_coarsen_cfg){.target = target, .max_bytes = INT64_MAX, .balance = 2.5};
}

/* ---- levels ---- */

static int compare_arcs(const void *pa, const void *pb)
{
	const arc *a = pa, *b = pb;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* CSR both ways from arcs; parallel ones add up. arcs is sorted in place. */
static berth_status link_level(level *l, arc *arcs, size_t n_arcs, berth_arena *tmp, berth_err *err)
{
	size_t m = 0;
	if (n_arcs)
		qsort(arcs, n_arcs, sizeof *arcs, compare_arcs);
	for (size_t i = 0; i < n_arcs; i++) {
		if (m && arcs[m - 1].from == arcs[i].from && arcs[m - 1].to == arcs[i].to)
			arcs[m - 1].score += arcs[i].score;
		else
			arcs[m++] = arcs[i];
	}
	l->n_edges = (int32_t)m;
	BERTH_TRY(BERTH_NEW(tmp, l->off, (size_t)l->n + 1, err));
	BERTH_TRY(BERTH_NEW(tmp, l->in_off, (size_t)l->n + 1, err));
	BERTH_TRY(BERTH_NEW(tmp, l->to, m, err));
	BERTH_TRY(BERTH_NEW(tmp, l->from, m, err));
	BERTH_TRY(BERTH_NEW(tmp, l->score, m, err));
	for (size_t i = 0; i < m; i++) {
		l->off[arcs[i].from + 1]++;
		l->in_off[arcs[i].to + 1]++;
		l->to[i] = arcs[i].to;
		l->score[i] = arcs[i].score;
	}
	for (int32_t v = 0; v < l->n; v++) {
		l->off[v + 1] += l->off[v];
		l->in_off[v + 1] += l->in_off[v];
	}
	int32_t *fill;
	BERTH_TRY(BERTH_NEW(tmp, fill, l->n, err));
	for (size_t i = 0; i < m; i++)
		l->from[l->in_off[arcs[i].to] + fill[arcs[i].to]++] = arcs[i].from;
	return BERTH_OK;
}

/* Units, numbered by their first operator in topological order. */
static berth_status number_units(const berth_graph *g, berth_coarsening *c, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	int32_t *of_coloc;
	BERTH_TRY(BERTH_NEW(mem, c->op_unit, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, of_coloc, g->n_colocs, err));
	for (int32_t i = 0; i < g->n_colocs; i++)
		of_coloc[i] = -1;
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k], group = g->op_coloc[op];
		if (group >= 0 && of_coloc[group] >= 0) {
			c->op_unit[op] = of_coloc[group];
			continue;
		}
		if (group >= 0)
			of_coloc[group] = c->n_units;
		c->op_unit[op] = c->n_units++;
	}
	return BERTH_OK;
}

static int64_t default_bytes(const berth_graph *g, int32_t op)
{
	int64_t sum = g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op];
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		sum += g->tensor_bytes[t];
	return sum;
}

static berth_status first_level(const berth_graph *g, const berth_coarsen_cfg *cfg, const berth_coarsening *c, level *l, berth_arena *tmp, berth_err *err)
{
	arc *arcs;
	size_t n_arcs = 0;
	*l = (level){.n = c->n_units};
	BERTH_TRY(BERTH_NEW(tmp, l->cost, l->n, err));
	BERTH_TRY(BERTH_NEW(tmp, l->bytes, l->n, err));
	BERTH_TRY(BERTH_NEW(tmp, arcs, g->n_edges, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		l->cost[c->op_unit[op]] += cfg->op_cost ? cfg->op_cost[op] : 1;
		l->bytes[c->op_unit[op]] += cfg->op_bytes ? cfg->op_bytes[op] : default_bytes(g, op);
	}
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
			int32_t u = c->op_unit[g->tensor_producer[t]], v = c->op_unit[g->edge_consumer[e]];
			if (u < v)
				arcs[n_arcs++] = (arc){u, v, cfg->edge_score ? cfg->edge_score[e] : (double)g->tensor_bytes[t]};
		}
	return link_level(l, arcs, n_arcs, tmp, err);
}

/* Kahn's order of the clusters of a level, lowest first member first: map[node] becomes the number in that order. leader[node]: its cluster's
 * first node. Returns the count. */
static berth_status renumber(const level *l, const int32_t *leader, int32_t *map, int32_t *n_out, berth_arena *tmp, berth_err *err)
{
	int32_t *waits, *rank, *queue, *next_member, *last_member, n = 0;
	BERTH_TRY(BERTH_NEW(tmp, waits, l->n, err));
	BERTH_TRY(BERTH_NEW(tmp, rank, l->n, err));
	BERTH_TRY(BERTH_NEW(tmp, queue, l->n, err));
	BERTH_TRY(BERTH_NEW(tmp, next_member, l->n, err));
	BERTH_TRY(BERTH_NEW(tmp, last_member, l->n, err));
	for (int32_t v = 0; v < l->n; v++) {
		next_member[v] = -1;
		last_member[v] = v;
		if (leader[v] != v) {
			next_member[last_member[leader[v]]] = v;
			last_member[leader[v]] = v;
		}
		for (int32_t i = l->off[v]; i < l->off[v + 1]; i++)
			waits[leader[l->to[i]]] += leader[l->to[i]] != leader[v];
	}
	int32_t head = 0, tail = 0;
	for (int32_t v = 0; v < l->n; v++)
		if (leader[v] == v && waits[v] == 0)
			queue[tail++] = v;
	while (head < tail) {
		int32_t c = queue[head++];
		rank[c] = n++;
		for (int32_t v = c; v >= 0; v = next_member[v])
			for (int32_t i = l->off[v]; i < l->off[v + 1]; i++) {
				int32_t to = leader[l->to[i]];
				if (to != c && --waits[to] == 0)
					queue[tail++] = to;
			}
	}
	for (int32_t v = 0; v < l->n; v++)
		map[v] = rank[leader[v]];
	*n_out = n;
	return BERTH_OK;
}

/* The next level under map. */
static berth_status contract(const level *l, const int32_t *map, int32_t n, level *out, berth_arena *tmp, berth_err *err)
{
	arc *arcs;
	size_t n_arcs = 0;
	*out = (level){.n = n};
	BERTH_TRY(BERTH_NEW(tmp, out->cost, n, err));
	BERTH_TRY(BERTH_NEW(tmp, out->bytes, n, err));
	BERTH_TRY(BERTH_NEW(tmp, arcs, l->n_edges, err));
	for (int32_t v = 0; v < l->n; v++) {
		out->cost[map[v]] += l->cost[v];
		out->bytes[map[v]] += l->bytes[v];
		for (int32_t i = l->off[v]; i < l->off[v + 1]; i++)
			if (map[v] != map[l->to[i]])
				arcs[n_arcs++] = (arc){map[v], map[l->to[i]], l->score[i]};
	}
	return link_level(out, arcs, n_arcs, tmp, err);
}

/* ---- rounds ---- */

typedef struct caps {
	double cost;
	int64_t bytes;
} caps;

static bool may_join(const level *l, caps cap, double cost, int64_t bytes, int32_t v)
{
	return cost + l->cost[v] <= cap.cost && bytes <= cap.bytes - l->bytes[v];
}

/* A node with one successor joins it where it is that one's only predecessor: whole chains at once, within the caps. */
static int32_t join_chains(const level *l, caps cap, int32_t *leader)
{
	int32_t joined = 0;
	for (int32_t v = 0; v < l->n; v++)
		leader[v] = v;
	for (int32_t head = 0; head < l->n; head++) {
		if (leader[head] != head)
			continue;
		double cost = l->cost[head];
		int64_t bytes = l->bytes[head];
		for (int32_t v = head; l->off[v + 1] - l->off[v] == 1;) {
			int32_t w = l->to[l->off[v]];
			if (l->in_off[w + 1] - l->in_off[w] != 1 || !may_join(l, cap, cost, bytes, w))
				break;
			leader[w] = head;
			cost += l->cost[w];
			bytes += l->bytes[w];
			joined++;
			v = w;
		}
	}
	return joined;
}

static void top_levels(const level *l, int32_t *top)
{
	for (int32_t v = 0; v < l->n; v++) {
		top[v] = 0;
		for (int32_t i = l->in_off[v]; i < l->in_off[v + 1]; i++)
			top[v] = top[l->from[i]] + 1 > top[v] ? top[l->from[i]] + 1 : top[v];
	}
}

/* Would the pair (u, v) of neighbouring levels touch another spanning pair of the same levels? mate[x]: partner of x or -1. */
static bool crosses_pair(const level *l, const int32_t *top, const int32_t *mate, int32_t u, int32_t v)
{
	for (int32_t i = l->off[u]; i < l->off[u + 1]; i++) {
		int32_t y = l->to[i];
		if (y != v && mate[y] >= 0 && top[y] == top[v] && top[mate[y]] == top[u])
			return true;
	}
	for (int32_t i = l->in_off[v]; i < l->in_off[v + 1]; i++) {
		int32_t x = l->from[i];
		if (x != u && mate[x] >= 0 && top[x] == top[u] && top[mate[x]] == top[v])
			return true;
	}
	return false;
}

typedef struct candidate {
	double rating;
	int32_t u, v;
} candidate;

static int compare_candidates(const void *pa, const void *pb)
{
	const candidate *a = pa, *b = pb;
	if (a->rating != b->rating)
		return a->rating > b->rating ? -1 : 1;
	if (a->u != b->u)
		return a->u < b->u ? -1 : 1;
	return (a->v > b->v) - (a->v < b->v);
}

/* A round's matching: at most `want` pairs, best rating first. */
static int32_t match(const level *l, caps cap, const int32_t *top, candidate *list, size_t n, int32_t want, int32_t *mate)
{
	int32_t joined = 0;
	if (n)
		qsort(list, n, sizeof *list, compare_candidates);
	for (size_t i = 0; i < n && joined < want; i++) {
		int32_t u = list[i].u, v = list[i].v;
		if (mate[u] >= 0 || mate[v] >= 0 || !may_join(l, cap, l->cost[u], l->bytes[u], v))
			continue;
		if (top[u] != top[v] && crosses_pair(l, top, mate, u, v))
			continue;
		mate[u] = v;
		mate[v] = u;
		joined++;
	}
	return joined;
}

/* Edges between neighbouring levels, rated by score per cost: heavy edges between light nodes first. */
static size_t edge_candidates(const level *l, const int32_t *top, candidate *list)
{
	size_t n = 0;
	for (int32_t u = 0; u < l->n; u++)
		for (int32_t i = l->off[u]; i < l->off[u + 1]; i++)
			if (top[l->to[i]] == top[u] + 1)
				list[n++] = (candidate){l->score[i] / (l->cost[u] + l->cost[l->to[i]] + 1e-300), u, l->to[i]};
	return n;
}

/* Where edges are used up: neighbours in each top level, lightest first, those that share a predecessor before others by their order. */
static size_t sibling_candidates(const level *l, const int32_t *top, int32_t *last_of_top, candidate *list)
{
	size_t n = 0;
	for (int32_t v = 0; v < l->n; v++)
		last_of_top[v] = -1;
	for (int32_t v = 0; v < l->n; v++) {
		int32_t u = last_of_top[top[v]];
		if (u >= 0)
			list[n++] = (candidate){1 / (l->cost[u] + l->cost[v] + 1e-300), u, v};
		last_of_top[top[v]] = v;
	}
	return n;
}

static berth_status round_of(const level *l, caps cap, int32_t target, bool siblings, int32_t *leader, int32_t *joined, berth_arena *tmp, berth_err *err)
{
	int32_t *top, *mate, *last;
	candidate *list;
	size_t room = (size_t)(l->n_edges > l->n ? l->n_edges : l->n);
	BERTH_TRY(BERTH_NEW(tmp, top, l->n, err));
	BERTH_TRY(BERTH_NEW(tmp, mate, l->n, err));
	BERTH_TRY(BERTH_NEW(tmp, last, l->n, err));
	BERTH_TRY(BERTH_NEW(tmp, list, room, err));
	for (int32_t v = 0; v < l->n; v++)
		mate[v] = -1;
	top_levels(l, top);
	size_t n = siblings ? sibling_candidates(l, top, last, list) : edge_candidates(l, top, list);
	*joined = match(l, cap, top, list, n, l->n - target, mate);
	for (int32_t v = 0; v < l->n; v++)
		leader[v] = mate[v] >= 0 && mate[v] < v ? mate[v] : v;
	return BERTH_OK;
}

/* ---- the whole ---- */

typedef struct coarsener {
	const berth_coarsen_cfg *cfg;
	berth_arena *mem, *tmp;
	berth_coarsening *c;
	int32_t *maps[256]; /* rounds are far fewer: each but the relaxing ones shrinks */
	int32_t counts[257];
	level now;
} coarsener;

/* Take leader as the next level. */
static berth_status take_level(coarsener *w, const int32_t *leader, berth_err *err)
{
	int32_t *map, n;
	level next;
	BERTH_TRY(BERTH_NEW(w->mem, map, w->now.n, err));
	BERTH_TRY(renumber(&w->now, leader, map, &n, w->tmp, err));
	BERTH_TRY(contract(&w->now, map, n, &next, w->tmp, err));
	w->maps[w->c->n_levels - 1] = map;
	w->counts[w->c->n_levels++] = n;
	w->now = next;
	return BERTH_OK;
}

static double total_cost(const level *l)
{
	double sum = 0;
	for (int32_t v = 0; v < l->n; v++)
		sum += l->cost[v];
	return sum;
}

static berth_status all_rounds(coarsener *w, berth_err *err)
{
	int32_t *leader, joined, target = w->cfg->target;
	double total = total_cost(&w->now);
	caps cap = {w->cfg->balance * total / target, w->cfg->max_bytes};
	BERTH_TRY(BERTH_NEW(w->tmp, leader, w->now.n, err));
	if (w->now.n > target) {
		caps small = {total / target, cap.bytes};
		if (join_chains(&w->now, small, leader))
			BERTH_TRY(take_level(w, leader, err));
	}
	while (w->now.n > target && w->c->n_levels < 250) {
		BERTH_TRY(round_of(&w->now, cap, target, false, leader, &joined, w->tmp, err));
		if (joined * 20 < w->now.n && joined < w->now.n - target) {
			/* Edges alone stall: allow siblings too, then heavier groups. */
			int32_t more = 0;
			if (!joined)
				BERTH_TRY(round_of(&w->now, cap, target, true, leader, &more, w->tmp, err));
			joined += more;
			if (cap.cost > total && !joined)
				return BERTH_OK;
			cap.cost *= 1.5;
		}
		if (joined)
			BERTH_TRY(take_level(w, leader, err));
	}
	return BERTH_OK;
}

static berth_status compose(const berth_graph *g, coarsener *w, berth_err *err)
{
	berth_coarsening *c = w->c;
	c->n_groups = w->counts[c->n_levels - 1];
	BERTH_TRY(BERTH_NEW(w->mem, c->op_group, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(w->mem, c->level_n, c->n_levels, err));
	BERTH_TRY(BERTH_NEW(w->mem, c->level_map, c->n_levels, err));
	for (int32_t l = 0; l < c->n_levels; l++) {
		c->level_n[l] = w->counts[l];
		c->level_map[l] = l + 1 < c->n_levels ? w->maps[l] : NULL;
	}
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t v = c->op_unit[op];
		for (int32_t l = 0; l + 1 < c->n_levels; l++)
			v = c->level_map[l][v];
		c->op_group[op] = v;
	}
	return BERTH_OK;
}

static berth_status coarsen(const berth_graph *g, const berth_coarsen_cfg *cfg, berth_arena *mem, berth_arena *tmp, berth_coarsening *c, berth_err *err)
{
	coarsener *w;
	BERTH_TRY(BERTH_NEW(tmp, w, 1, err));
	*w = (coarsener){.cfg = cfg, .mem = mem, .tmp = tmp, .c = c};
	BERTH_TRY(number_units(g, c, mem, tmp, err));
	BERTH_TRY(first_level(g, cfg, c, &w->now, tmp, err));
	c->n_levels = 1;
	w->counts[0] = c->n_units;
	BERTH_TRY(all_rounds(w, err));
	return compose(g, w, err);
}

berth_status berth_coarsen(const berth_graph *g, const berth_coarsen_cfg *cfg, berth_arena *mem, berth_arena *tmp, berth_coarsening *out, berth_err *err)
{
	berth_coarsening c = {0};
	if (cfg->target < 1)
		return berth_fail(err, BERTH_EINVAL, "%d groups wanted; expected 1 or more", cfg->target);
	if (!(cfg->balance > 1))
		return berth_fail(err, BERTH_EINVAL, "balance %g; expected more than 1", cfg->balance);
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = coarsen(g, cfg, mem, tmp, &c, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = c;
	return st;
}

/* ---- checks ---- */

static berth_status check_maps(const berth_graph *g, const berth_coarsening *c, berth_err *err)
{
	if (c->level_n[0] != c->n_units || c->level_n[c->n_levels - 1] != c->n_groups)
		return berth_fail(err, BERTH_EFORMAT, "levels go from %d to %d nodes, expected %d to %d", c->level_n[0], c->level_n[c->n_levels - 1], c->n_units,
		                  c->n_groups);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t v = c->op_unit[op];
		for (int32_t l = 0; l < c->n_levels; l++) {
			if (v < 0 || v >= c->level_n[l])
				return berth_fail(err, BERTH_EFORMAT, "operator %d: node %d of level %d out of range", op, v, l);
			v = l + 1 < c->n_levels ? c->level_map[l][v] : v;
		}
		if (v != c->op_group[op])
			return berth_fail(err, BERTH_EFORMAT, "operator %d: levels lead to group %d, the map says %d", op, v, c->op_group[op]);
	}
	return BERTH_OK;
}

static berth_status check_colocation(const berth_graph *g, const berth_coarsening *c, berth_arena *tmp, berth_err *err)
{
	int32_t *unit;
	BERTH_TRY(BERTH_NEW(tmp, unit, g->n_colocs, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t k = g->op_coloc[op];
		if (k >= 0 && unit[k] && unit[k] != c->op_unit[op] + 1)
			return berth_fail(err, BERTH_EFORMAT, "operator %d: its colocation group is in two units", op);
		if (k >= 0)
			unit[k] = c->op_unit[op] + 1;
	}
	return BERTH_OK;
}

/* Kahn's algorithm on the groups, over edges that run along the order of units. */
static berth_status check_acyclic(const berth_graph *g, const berth_coarsening *c, berth_arena *tmp, berth_err *err)
{
	level units, groups;
	int32_t *map, *leader, n;
	berth_coarsen_cfg plain = berth_coarsen_cfg_default(1);
	BERTH_TRY(first_level(g, &plain, c, &units, tmp, err));
	BERTH_TRY(BERTH_NEW(tmp, map, c->n_units, err));
	for (int32_t op = 0; op < g->n_ops; op++)
		map[c->op_unit[op]] = c->op_group[op];
	BERTH_TRY(contract(&units, map, c->n_groups, &groups, tmp, err));
	BERTH_TRY(BERTH_NEW(tmp, leader, c->n_groups, err));
	for (int32_t v = 0; v < c->n_groups; v++)
		leader[v] = v;
	BERTH_TRY(renumber(&groups, leader, map, &n, tmp, err));
	if (n != c->n_groups)
		return berth_fail(err, BERTH_EFORMAT, "the groups' graph has a cycle: %d of %d groups can be ordered", n, c->n_groups);
	return BERTH_OK;
}

static berth_status check_bytes(const berth_graph *g, const berth_coarsening *c, const berth_coarsen_cfg *cfg, berth_arena *tmp, berth_err *err)
{
	int64_t *bytes;
	int32_t *first;
	bool *several;
	BERTH_TRY(BERTH_NEW(tmp, bytes, c->n_groups, err));
	BERTH_TRY(BERTH_NEW(tmp, first, c->n_groups, err));
	BERTH_TRY(BERTH_NEW(tmp, several, c->n_groups, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t v = c->op_group[op];
		bytes[v] += cfg->op_bytes ? cfg->op_bytes[op] : default_bytes(g, op);
		several[v] |= first[v] && first[v] != c->op_unit[op] + 1;
		first[v] = c->op_unit[op] + 1;
	}
	for (int32_t v = 0; v < c->n_groups; v++)
		if (several[v] && bytes[v] > cfg->max_bytes)
			return berth_fail(err, BERTH_EFORMAT, "group %d holds %lld bytes, the cap is %lld", v, (long long)bytes[v], (long long)cfg->max_bytes);
	return BERTH_OK;
}

berth_status berth_coarsening_check(const berth_graph *g, const berth_coarsening *c, const berth_coarsen_cfg *cfg, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = check_maps(g, c, err);
	if (st == BERTH_OK)
		st = check_colocation(g, c, tmp, err);
	if (st == BERTH_OK)
		st = check_acyclic(g, c, tmp, err);
	if (st == BERTH_OK)
		st = check_bytes(g, c, cfg, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}

berth_status berth_coarsening_crossing_bytes(const berth_graph *g, const berth_coarsening *c, berth_arena *tmp, int64_t *bytes, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t *seen; /* [group] the last tensor that went there, + 1 */
	*bytes = 0;
	BERTH_TRY(BERTH_NEW(tmp, seen, c->n_groups, err));
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
			int32_t to = c->op_group[g->edge_consumer[e]];
			if (to == c->op_group[g->tensor_producer[t]] || seen[to] == t + 1)
				continue;
			seen[to] = t + 1;
			*bytes += g->tensor_bytes[t];
		}
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}
