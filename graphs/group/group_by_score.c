/* Groups by edge scores, as HSDAG parses a graph (Duan et al., "A Structure-Aware Framework for Learning
 * Device Placements on Computation Graphs", NeurIPS 2024). The scores come as data. Every node picks its
 * incident edge of the highest score. The connected components of the picked edges, grown from the
 * highest score outwards, are the next level.
 *
 * In the paper every connected graph ends as one group. Here a round ends at the target count, components
 * keep within the caps, and a cyclic one is cut. What dominant edges cannot join, heavy edges join. */
#include "group.h"

#include "sort.h"

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
	return (a->v > b->v) - (a->v < b->v);
}

static bool pick(const group_level *l, int32_t v, dominant *out)
{
	bool any = false;
	for (int32_t i = l->in_off[v]; i < l->in_off[v + 1]; i++) {
		dominant d = {l->in_score[i], l->from[i], v};
		if (!any || compare_dominants(&d, out) < 0)
			*out = d;
		any = true;
	}
	for (int32_t i = l->off[v]; i < l->off[v + 1]; i++) {
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
