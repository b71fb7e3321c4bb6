/* The ways of requests over a layout as paths, each with its share, the widest first; and which of them whole
 * nodes can take for themselves. */
#include "layout.h"

/* What is left of each way, and by which way a group is reached by the most. */
typedef struct flow_left {
	const berth_layers *l;
	double *per_s;     /* [n_ways] */
	double *most;      /* [n_groups] */
	int32_t *by, *ord; /* [n_groups] way to it; ways' order: [n_ways], by the end of the group they lead
	                      from */
} flow_left;

/* Ways lead to groups that end later, so in the order of those each group is known before it is left. */
static int32_t end_of(const berth_layers *l, int32_t way)
{
	return l->way[way].from < 0 ? 0 : l->group[l->way[way].from].to;
}

static void sort_ways(flow_left *f)
{
	int32_t n = 0;
	for (int32_t end = 0; n < f->l->n_ways; end++)
		for (int32_t w = 0; w < f->l->n_ways; w++)
			if (end_of(f->l, w) == end)
				f->ord[n++] = w;
}

/* The way by which the widest path ends, and how wide that is; 0: nothing is left. */
static double widest(flow_left *f, int32_t *last)
{
	double best = 0;
	for (int32_t g = 0; g < f->l->n_groups; g++)
		f->most[g] = 0;
	for (int32_t i = 0; i < f->l->n_ways; i++) {
		int32_t w = f->ord[i], from = f->l->way[w].from, to = f->l->way[w].to;
		double wide = from < 0 ? f->per_s[w] : fmin(f->per_s[w], f->most[from]);
		double *at = to < 0 ? &best : &f->most[to];
		if (wide <= *at)
			continue;
		*at = wide;
		*(to < 0 ? last : &f->by[to]) = w;
	}
	return best;
}

static berth_status take_path(flow_left *f, int32_t last, double per_s, berth_arena *mem,
                              berth_layout_path *p, berth_err *err)
{
	*p = (berth_layout_path){.per_s = per_s};
	for (int32_t g = f->l->way[last].from; g >= 0; g = f->l->way[f->by[g]].from)
		p->n_stages++;
	BERTH_TRY_NEW(mem, p->n_stages, err, p->stage);
	f->per_s[last] -= per_s;
	for (int32_t g = f->l->way[last].from, i = p->n_stages - 1; g >= 0;
	     g = f->l->way[f->by[g]].from, i--) {
		p->stage[i] = (berth_layout_stage){.group = g, .to = f->l->group[g].to};
		f->per_s[f->by[g]] -= per_s;
	}
	for (int32_t i = 1; i < p->n_stages; i++)
		p->stage[i].from = p->stage[i - 1].to;
	return BERTH_OK;
}

/* As many nodes of each group as carry the path's part of what comes to it, one at the least; of those that
 * are left. */
static void take_nodes(const berth_layers *l, int64_t *left, berth_layout_path *p)
{
	double least = INFINITY;
	int64_t n = INT64_MAX;
	for (int32_t i = 0; i < p->n_stages; i++) {
		const berth_layout_group *g = &l->group[p->stage[i].group];
		int64_t part = (int64_t)((double)g->n * p->per_s / g->per_s + 1e-6);
		n = berth_min(n, berth_min(left[p->stage[i].group], berth_max(part, 1)));
		least = fmin(least, g->per_s / (double)g->n);
	}
	p->n = n;
	p->own_per_s = (double)n * least;
	for (int32_t i = 0; i < p->n_stages; i++)
		left[p->stage[i].group] -= n;
}

berth_status berth_layout_paths(const berth_layers *l, berth_arena *mem, berth_arena *tmp,
                                berth_layout_path **path, int32_t *n_paths, berth_err *err)
{
	flow_left f = {.l = l};
	size_t cap = 0;
	int64_t *left;
	int32_t last = 0;
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, l->n_ways, err, f.per_s, f.ord);
	BERTH_TRY_NEW(tmp, l->n_groups, err, f.most, f.by, left);
	for (int32_t i = 0; i < l->n_ways; i++)
		f.per_s[i] = l->way[i].per_s;
	for (int32_t g = 0; g < l->n_groups; g++)
		left[g] = l->group[g].n;
	sort_ways(&f);
	*path = NULL;
	*n_paths = 0;
	for (double wide; (wide = widest(&f, &last)) > 1e-9 * l->per_s;) {
		berth_layout_path p;
		BERTH_TRY(take_path(&f, last, wide, mem, &p, err));
		take_nodes(l, left, &p);
		BERTH_TRY(BERTH_PUSH(mem, *path, *n_paths, &cap, err, p));
	}
	return BERTH_OK;
}
