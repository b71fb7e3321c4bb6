/* Levels of a coarsening: the graph of each, clusters taken as the next one, and clusters cut until their
 * graph is acyclic. */
#include "group.h"

#include "sort.h"

typedef struct arc {
	int32_t from, to;
	double score;
} arc;

/* ---- levels ---- */

/* Stable counting sort by one end, as the first pass (to) and the second (from). count: scratch [n + 1]. */
static void sort_by_end(const arc *in, size_t n_arcs, int32_t n, bool by_to, int32_t *count, arc *out)
{
	memset(count, 0, ((size_t)n + 1) * sizeof *count);
	for (size_t i = 0; i < n_arcs; i++)
		count[(by_to ? in[i].to : in[i].from) + 1]++;
	berth_csr_begin(count, (size_t)n);
	for (size_t i = 0; i < n_arcs; i++)
		out[count[by_to ? in[i].to : in[i].from]++] = in[i];
}

/* CSR both ways from arcs; parallel ones add up. arcs is sorted in place. */
static berth_status link_level(group_level *l, arc *arcs, size_t n_arcs, berth_arena *mem, berth_arena *tmp,
                               berth_err *err)
{
	size_t m = 0;
	arc *other;
	int32_t *count;
	BERTH_TRY_NEW(tmp, n_arcs, err, other);
	BERTH_TRY_NEW(tmp, (size_t)l->n + 1, err, count);
	sort_by_end(arcs, n_arcs, l->n, true, count, other);
	sort_by_end(other, n_arcs, l->n, false, count, arcs);
	for (size_t i = 0; i < n_arcs; i++) {
		if (m && arcs[m - 1].from == arcs[i].from && arcs[m - 1].to == arcs[i].to)
			arcs[m - 1].score += arcs[i].score;
		else
			arcs[m++] = arcs[i];
	}
	l->n_edges = (int32_t)m;
	BERTH_TRY_NEW(mem, (size_t)l->n + 1, err, l->off, l->in_off);
	BERTH_TRY_NEW(mem, m, err, l->to, l->from, l->score, l->in_score);
	for (size_t i = 0; i < m; i++) {
		l->off[arcs[i].from + 1]++;
		l->in_off[arcs[i].to + 1]++;
		l->to[i] = arcs[i].to;
		l->score[i] = arcs[i].score;
	}
	berth_csr_begin(l->off, (size_t)l->n);
	berth_csr_begin(l->in_off, (size_t)l->n);
	int32_t *fill;
	BERTH_TRY_NEW(tmp, l->n, err, fill);
	for (size_t i = 0; i < m; i++) {
		int32_t at = l->in_off[arcs[i].to] + fill[arcs[i].to]++;
		l->from[at] = arcs[i].from;
		l->in_score[at] = arcs[i].score;
	}
	return BERTH_OK;
}

berth_status group_number_colocs(const berth_graph *g, berth_coarsening *c, berth_arena *mem,
                                 berth_arena *tmp, berth_err *err)
{
	int32_t *of_coloc;
	BERTH_TRY_NEW(mem, g->n_ops, err, c->op_coloc);
	BERTH_TRY_NEW(tmp, g->n_coloc_names, err, of_coloc);
	for (int32_t i = 0; i < g->n_coloc_names; i++)
		of_coloc[i] = -1;
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k], group = g->op_coloc_name[op];
		if (group >= 0 && of_coloc[group] >= 0) {
			c->op_coloc[op] = of_coloc[group];
			continue;
		}
		if (group >= 0)
			of_coloc[group] = c->n_colocs;
		c->op_coloc[op] = c->n_colocs++;
	}
	return BERTH_OK;
}

int64_t group_default_bytes(const berth_graph *g, int32_t op)
{
	int64_t sum = g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op];
	BERTH_EACH (t, g->op_tensor_off, op)
		sum += g->tensor_bytes[t];
	return sum;
}

berth_status group_first_level(const berth_graph *g, const berth_coarsen_cfg *cfg, const berth_coarsening *c,
                               group_level *l, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	arc *arcs;
	size_t n_arcs = 0;
	BERTH_SCRATCH(tmp);
	*l = (group_level){.n = c->n_colocs};
	BERTH_TRY_NEW(mem, l->n, err, l->cost, l->bytes);
	BERTH_TRY_NEW(tmp, g->n_edges, err, arcs);
	for (int32_t op = 0; op < g->n_ops; op++) {
		l->cost[c->op_coloc[op]] += cfg->op_cost ? cfg->op_cost[op] : 1;
		l->bytes[c->op_coloc[op]] += cfg->op_bytes ? cfg->op_bytes[op] : group_default_bytes(g, op);
	}
	for (int32_t op = 0; op < g->n_ops; op++) { /* two operators of separation groups are too heavy for
		                                       one cluster */
		int64_t *bytes = &l->bytes[c->op_coloc[op]];
		if (g->op_sep[op] >= 0 && *bytes <= cfg->max_bytes / 2)
			*bytes = cfg->max_bytes / 2 + 1;
	}
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t u = c->op_coloc[g->tensor_producer[t]], v = c->op_coloc[g->edge_consumer[e]];
			if (u < v)
				arcs[n_arcs++] = (arc){u, v,
				                       cfg->edge_score ? cfg->edge_score[e]
				                                       : (double)g->tensor_bytes[t]};
		}
	return link_level(l, arcs, n_arcs, mem, tmp, err);
}

berth_status group_renumber(const group_level *l, const int32_t *leader, int32_t *map, int32_t *n_out,
                            berth_arena *tmp, berth_err *err)
{
	int32_t *waits, *rank, *queue, *next_member, *last_member, n = 0;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, l->n, err, waits, rank, queue, next_member, last_member);
	for (int32_t v = 0; v < l->n; v++) {
		next_member[v] = -1;
		last_member[v] = v;
		if (leader[v] != v) {
			next_member[last_member[leader[v]]] = v;
			last_member[leader[v]] = v;
		}
		BERTH_EACH (i, l->off, v)
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
			BERTH_EACH (i, l->off, v) {
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
berth_status group_contract(const group_level *l, const int32_t *map, int32_t n, group_level *out,
                            berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	arc *arcs;
	size_t n_arcs = 0;
	BERTH_SCRATCH(tmp);
	*out = (group_level){.n = n};
	BERTH_TRY_NEW(mem, n, err, out->cost, out->bytes);
	BERTH_TRY_NEW(tmp, l->n_edges, err, arcs);
	for (int32_t v = 0; v < l->n; v++) {
		out->cost[map[v]] += l->cost[v];
		out->bytes[map[v]] += l->bytes[v];
		BERTH_EACH (i, l->off, v)
			if (map[v] != map[l->to[i]])
				arcs[n_arcs++] = (arc){map[v], map[l->to[i]], l->score[i]};
	}
	return link_level(out, arcs, n_arcs, mem, tmp, err);
}

/* ---- for groupers ---- */

bool group_may_go_on(const group_work *w)
{
	return w->now.n > w->cfg->target && w->c->n_levels < GROUP_MAX_LEVELS - 6;
}

double group_total_cost(const group_level *l)
{
	double sum = 0;
	for (int32_t v = 0; v < l->n; v++)
		sum += l->cost[v];
	return sum;
}

group_caps group_caps_of(const group_work *w)
{
	return (group_caps){w->cfg->balance * group_total_cost(&w->now) / w->cfg->target, w->cfg->max_bytes};
}

bool group_fits(const group_level *l, group_caps cap, double cost, int64_t bytes, int32_t v)
{
	return cost + l->cost[v] <= cap.cost && bytes <= cap.bytes - l->bytes[v];
}

/* In debug builds, at every level: nodes stand in a topological order of the edges, and no cost is lost. */
static void level_must_hold(const group_level *l, const group_level *before)
{
	if (!BERTH_DEBUG)
		return;
	double cost = group_total_cost(before);
	assert(l->n <= before->n && l->off[l->n] == l->n_edges && l->in_off[l->n] == l->n_edges);
	assert(fabs(group_total_cost(l) - cost) <= 1e-9 * cost);
	for (int32_t v = 0; v < l->n; v++) {
		BERTH_EACH (i, l->off, v)
			assert(l->to[i] > v && l->to[i] < l->n);
		BERTH_EACH (i, l->in_off, v)
			assert(l->from[i] >= 0 && l->from[i] < v);
	}
}

berth_status group_take(group_work *w, const int32_t *leader)
{
	int32_t *map, n;
	group_level next;
	BERTH_TRY_NEW(w->mem, w->now.n, w->err, map);
	BERTH_TRY(group_renumber(&w->now, leader, map, &n, w->tmp, w->err));
	BERTH_TRY(group_contract(&w->now, map, n, &next, &w->level[1], w->tmp, w->err));
	level_must_hold(&next, &w->now);
	berth_arena before = w->level[0];
	w->level[0] = w->level[1];
	berth_arena_free(&before);
	w->level[1] = before;
	w->maps[w->c->n_levels - 1] = map;
	w->counts[w->c->n_levels++] = n;
	w->now = next;
	return BERTH_OK;
}

/* ---- making clusters acyclic ---- */

/* Stages of the nodes under labels: along an edge the stage never falls, and it rises where the label
 * changes. So clusters of one label and one stage make an acyclic graph: a way that leaves a cluster comes
 * to a higher stage (another label), or to another cluster of a higher stage. First the earliest stages;
 * then, backwards, each node as late as its successors allow if that joins it to one of them. */
static void find_stages(const group_level *l, const int32_t *label, int32_t *stage)
{
	for (int32_t v = 0; v < l->n; v++) {
		stage[v] = 0;
		BERTH_EACH (i, l->in_off, v) {
			int32_t u = l->from[i], least = stage[u] + (label[u] != label[v]);
			stage[v] = least > stage[v] ? least : stage[v];
		}
	}
	for (int32_t v = l->n - 1; v >= 0; v--) {
		int32_t latest = INT32_MAX;
		bool joins = false;
		BERTH_EACH (i, l->off, v) {
			int32_t w = l->to[i], most = stage[w] - (label[w] != label[v]);
			joins = most < latest    ? label[w] == label[v]
			        : most == latest ? joins || label[w] == label[v]
			                         : joins;
			latest = most < latest ? most : latest;
		}
		if (joins)
			stage[v] = latest;
	}
}

typedef struct place {
	int32_t label, stage, node;
} place;

static int compare_places(const void *pa, const void *pb)
{
	const place *a = pa, *b = pb;
	if (a->label != b->label)
		return a->label < b->label ? -1 : 1;
	if (a->stage != b->stage)
		return a->stage < b->stage ? -1 : 1;
	return BERTH_COMPARE(a->node, b->node);
}

berth_status group_take_labels(group_work *w, const int32_t *label, int32_t *shrunk)
{
	const group_level *l = &w->now;
	int32_t *stage, *leader;
	place *list;
	BERTH_SCRATCH(w->tmp);
	BERTH_TRY_NEW(w->tmp, l->n, w->err, stage, leader, list);
	find_stages(l, label, stage);
	for (int32_t v = 0; v < l->n; v++)
		list[v] = (place){label[v], stage[v], v};
	if (l->n)
		qsort(list, (size_t)l->n, sizeof *list, compare_places);
	*shrunk = 0;
	for (int32_t i = 0; i < l->n; i++) {
		bool same = i && list[i].label == list[i - 1].label && list[i].stage == list[i - 1].stage;
		leader[list[i].node] = same ? leader[list[i - 1].node] : list[i].node;
		*shrunk += same;
	}
	if (*shrunk)
		BERTH_TRY(group_take(w, leader));
	return BERTH_OK;
}

/* Groups by edge scores, as HSDAG parses a graph (Duan et al., "A Structure-Aware Framework for Learning
 * Device Placements on Computation Graphs", NeurIPS 2024). The scores come as data. Every node picks its
 * incident edge of the highest score. The connected components of the picked edges, grown from the
 * highest score outwards, are the next level.
 *
 * In the paper every connected graph ends as one group. Here a round ends at the target count, components
 * keep within the caps, and a cyclic one is cut. What dominant edges cannot join, heavy edges join. */
typedef struct dominant {
	double score;
	int32_t u, v; /* u < v */
} dominant;

/* Best first; among equals the lower nodes. */
static int compare_dominants(const void *pa, const void *pb)
{
	const dominant *a = pa, *b = pb;
	if (a->score != b->score)
		return a->score > b->score ? -1 : 1;
	if (a->u != b->u)
		return a->u < b->u ? -1 : 1;
	return BERTH_COMPARE(a->v, b->v);
}

static bool pick(const group_level *l, int32_t v, dominant *out)
{
	bool any = false;
	BERTH_EACH (i, l->in_off, v) {
		dominant d = {l->in_score[i], l->from[i], v};
		if (!any || compare_dominants(&d, out) < 0)
			*out = d;
		any = true;
	}
	BERTH_EACH (i, l->off, v) {
		dominant d = {l->score[i], v, l->to[i]};
		if (!any || compare_dominants(&d, out) < 0)
			*out = d;
		any = true;
	}
	return any;
}

/* The picked edges, best first, each once. */
static int32_t pick_all(const group_level *l, dominant *list)
{
	int32_t n = 0, kept = 0;
	for (int32_t v = 0; v < l->n; v++)
		n += pick(l, v, &list[n]);
	if (n)
		qsort(list, (size_t)n, sizeof *list, compare_dominants);
	for (int32_t i = 0; i < n; i++)
		if (!kept || compare_dominants(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	return kept;
}

static berth_status round_of(group_work *w, int32_t *shrunk)
{
	const group_level *l = &w->now;
	group_caps cap = group_caps_of(w);
	dominant *list;
	double *cost;
	int64_t *bytes;
	int32_t *root, left = l->n;
	BERTH_TRY_NEW(w->tmp, l->n, w->err, list, cost, bytes, root);
	for (int32_t v = 0; v < l->n; v++) {
		root[v] = v;
		cost[v] = l->cost[v];
		bytes[v] = l->bytes[v];
	}
	int32_t n = pick_all(l, list);
	for (int32_t i = 0; i < n && left > w->cfg->target; i++) {
		int32_t a = berth_union_top(root, list[i].u), b = berth_union_top(root, list[i].v);
		if (a == b || cost[a] + cost[b] > cap.cost || bytes[a] > cap.bytes - bytes[b])
			continue;
		root[a > b ? a : b] = a > b ? b : a;
		cost[a > b ? b : a] = cost[a] + cost[b];
		bytes[a > b ? b : a] = bytes[a] + bytes[b];
		left--;
	}
	for (int32_t v = 0; v < l->n; v++)
		root[v] = berth_union_top(root, v);
	return group_take_labels(w, root, shrunk);
}

berth_status group_run_by_score(group_work *w)
{
	int32_t shrunk = 1;
	while (shrunk && group_may_go_on(w))
		BERTH_TRY(round_of(w, &shrunk));
	return group_heavy_rounds(w);
}
