/* Chains first, then acyclic heavy-edge clustering round by round, after Herrmann et al., "Multilevel
 * Algorithms for Acyclic Partitioning of Directed Acyclic Graphs" (SIAM J. Sci. Comput. 2019).
 *
 * Why the clusters of a round stay acyclic: every edge rises in top level (longest path from a source) by at
 * least one. A cluster is either two nodes of one level, or a lower node u at level t and an upper node v at
 * t + 1 (a spanning pair). Call L the level of a cluster's lowest node. Along an edge between clusters L
 * never falls, and it rises where the target is not a spanning pair; so a cycle would consist of spanning
 * pairs of one t, each edge from a lower node to an upper one. A pair is not made where such an edge to or
 * from another pair of that t exists; hence no cycle. */
#include "group.h"

/* ---- chains ---- */

/* Join chains within caps, at most `most` joins; returns how many. leader is set for all nodes. */
static int32_t join_chains(const group_level *l, group_caps cap, int32_t most, int32_t *leader)
{
	int32_t joined = 0;
	for (int32_t v = 0; v < l->n; v++)
		leader[v] = v;
	for (int32_t head = 0; head < l->n && joined < most; head++) {
		if (leader[head] != head)
			continue;
		double cost = l->cost[head];
		int64_t bytes = l->bytes[head];
		for (int32_t v = head; joined < most && l->off[v + 1] - l->off[v] == 1;) {
			int32_t w = l->to[l->off[v]];
			if (l->in_off[w + 1] - l->in_off[w] != 1 || !group_fits(l, cap, cost, bytes, w))
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

berth_status group_run_chain(group_work *w)
{
	int32_t *leader;
	if (!group_may_go_on(w))
		return BERTH_OK;
	BERTH_TRY_NEW(w->tmp, w->now.n, w->err, leader);
	if (!join_chains(&w->now, group_caps_of(w), w->now.n - w->cfg->target, leader))
		return BERTH_OK;
	return group_take(w, leader);
}

/* ---- heavy edges ---- */

#define LEAST 1e-300 /* keeps ratings of nodes without cost finite */

/* Would the pair (u, v) of neighbouring levels touch another spanning pair of the same levels? mate[x]:
 * partner of x or -1. */
static bool crosses_pair(const group_level *l, const int32_t *top, const int32_t *mate, int32_t u, int32_t v)
{
	BERTH_EACH (i, l->off, u) {
		int32_t y = l->to[i];
		if (y != v && mate[y] >= 0 && top[y] == top[v] && top[mate[y]] == top[u])
			return true;
	}
	BERTH_EACH (i, l->in_off, v) {
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
	return BERTH_COMPARE(a->v, b->v);
}

/* A round's matching: at most `want` pairs, best rating first. */
static int32_t match(const group_level *l, group_caps cap, const int32_t *top, candidate *list, size_t n,
                     int32_t want, int32_t *mate)
{
	int32_t joined = 0;
	if (n)
		qsort(list, n, sizeof *list, compare_candidates);
	for (size_t i = 0; i < n && joined < want; i++) {
		int32_t u = list[i].u, v = list[i].v;
		if (mate[u] >= 0 || mate[v] >= 0 || !group_fits(l, cap, l->cost[u], l->bytes[u], v))
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
static size_t edge_candidates(const group_level *l, const int32_t *top, candidate *list)
{
	size_t n = 0;
	for (int32_t u = 0; u < l->n; u++)
		BERTH_EACH (i, l->off, u)
			if (top[l->to[i]] == top[u] + 1)
				list[n++] = (candidate){
					l->score[i] / (l->cost[u] + l->cost[l->to[i]] + LEAST), u, l->to[i]};
	return n;
}

/* Where edges are used up: neighbours in each top level, lightest first, those that share a predecessor
 * before others by their order. */
static size_t sibling_candidates(const group_level *l, const int32_t *top, const int32_t *mate,
                                 int32_t *last_of_top, candidate *list)
{
	size_t n = 0;
	for (int32_t v = 0; v < l->n; v++)
		last_of_top[v] = -1;
	for (int32_t v = 0; v < l->n; v++) {
		int32_t u = last_of_top[top[v]];
		if (mate[v] >= 0)
			continue;
		if (u >= 0)
			list[n++] = (candidate){1 / (l->cost[u] + l->cost[v] + LEAST), u, v};
		last_of_top[top[v]] = v;
	}
	return n;
}

/* Do so few join that other ways are needed? */
static bool stalls(const group_level *l, int32_t target, int32_t joined)
{
	return joined * (int64_t)20 < l->n && joined < l->n - target;
}

/* Pairs along edges. Where these stall, siblings too: the centre of a star takes one operator a round. */
static berth_status round_of(const group_work *w, group_caps cap, int32_t *leader, int32_t *joined,
                             bool *stalled)
{
	const group_level *l = &w->now;
	int32_t *top, *mate, *last, target = w->cfg->target;
	candidate *list;
	size_t room = (size_t)(l->n_edges > l->n ? l->n_edges : l->n);
	BERTH_SCRATCH(w->tmp);
	BERTH_TRY_NEW(w->tmp, l->n, w->err, top, mate, last);
	BERTH_TRY_NEW(w->tmp, room, w->err, list);
	for (int32_t v = 0; v < l->n; v++)
		mate[v] = -1;
	for (int32_t v = 0; v < l->n; v++) {
		top[v] = 0;
		BERTH_EACH (i, l->in_off, v)
			top[v] = top[l->from[i]] + 1 > top[v] ? top[l->from[i]] + 1 : top[v];
	}
	int32_t want = l->n - target;
	*joined = match(l, cap, top, list, edge_candidates(l, top, list), want, mate);
	*stalled = stalls(l, target, *joined);
	if (*stalled)
		*joined += match(l, cap, top, list, sibling_candidates(l, top, mate, last, list),
		                 want - *joined, mate);
	for (int32_t v = 0; v < l->n; v++)
		leader[v] = mate[v] >= 0 && mate[v] < v ? mate[v] : v;
	return BERTH_OK;
}

berth_status group_heavy_rounds(group_work *w)
{
	int32_t *leader, joined;
	bool stalled;
	double total = group_total_cost(&w->now);
	group_caps cap = group_caps_of(w);
	BERTH_TRY_NEW(w->tmp, w->now.n, w->err, leader);
	while (group_may_go_on(w)) {
		BERTH_TRY(round_of(w, cap, leader, &joined, &stalled));
		if (cap.cost > total && !joined)
			return BERTH_OK;
		if (stalled)
			cap.cost *= 1.5;
		if (joined)
			BERTH_TRY(group_take(w, leader));
	}
	return BERTH_OK;
}

berth_status group_run_heavy_edge(group_work *w)
{
	if (group_may_go_on(w)) {
		int32_t *leader;
		group_caps small = {group_total_cost(&w->now) / w->cfg->target, w->cfg->max_bytes};
		BERTH_TRY_NEW(w->tmp, w->now.n, w->err, leader);
		if (join_chains(&w->now, small, w->now.n, leader))
			BERTH_TRY(group_take(w, leader));
	}
	return group_heavy_rounds(w);
}
