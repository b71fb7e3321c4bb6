/* What HSDAG makes of a graph before and behind its network: features of nodes with their fractal dimension,
 * and clusters by the scores of edges. The network itself stands in hsdag_net.c. */
#include "hsdag.h"

#include "group_cfg.h"

/* ---- the graph of nodes ---- */

typedef struct pair {
	int32_t u, v;
} pair;

static int compare_pairs(const void *pa, const void *pb)
{
	const pair *a = pa, *b = pb;
	if (a->u != b->u)
		return a->u < b->u ? -1 : 1;
	return BERTH_COMPARE(a->v, b->v);
}

static pair pair_of(const hsdag_view *v, int32_t e, int32_t producer)
{
	int32_t a = v->nodes.op_group[producer], b = v->nodes.op_group[v->p->g->edge_consumer[e]];
	return a < b ? (pair){a, b} : (pair){b, a};
}

/* Every joined pair once, and which one each edge of the operators' graph is. */
static berth_status link_nodes(hsdag_view *v, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = v->p->g;
	pair *list;
	int32_t n = 0, kept = 0, *from, *to;
	BERTH_TRY_NEW(tmp, g->n_edges, err, list);
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t) {
			list[n] = pair_of(v, e, g->tensor_producer[t]);
			n += list[n].u != list[n].v;
		}
	if (n)
		qsort(list, (size_t)n, sizeof *list, compare_pairs);
	for (int32_t i = 0; i < n; i++)
		if (!kept || compare_pairs(&list[kept - 1], &list[i]) != 0)
			list[kept++] = list[i];
	BERTH_TRY_NEW(mem, kept, err, from, to);
	BERTH_TRY_NEW(mem, g->n_edges, err, v->edge_link);
	for (int32_t i = 0; i < kept; i++) {
		from[i] = list[i].u;
		to[i] = list[i].v;
	}
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t) {
			pair key = pair_of(v, e, g->tensor_producer[t]);
			const pair *at = key.u == key.v ? NULL
			                                : bsearch(&key, list, (size_t)kept, sizeof *list,
			                                          compare_pairs);
			v->edge_link[e] = at ? (int32_t)(at - list) : -1;
		}
	v->g = (hsdag_graph){v->nodes.n_groups, kept, from, to, NULL};
	return BERTH_OK;
}

/* ---- fractal dimensions ---- */

typedef struct neighbours {
	int32_t *off, *to; /* CSR, both directions */
} neighbours;

static berth_status list_neighbours(const hsdag_graph *g, neighbours *out, berth_arena *tmp, berth_err *err)
{
	int32_t *at;
	BERTH_TRY_NEW(tmp, (size_t)g->n_nodes + 1, err, out->off);
	BERTH_TRY_NEW(tmp, 2 * (size_t)g->n_edges, err, out->to);
	BERTH_TRY_NEW(tmp, g->n_nodes, err, at);
	for (int32_t e = 0; e < g->n_edges; e++) {
		out->off[g->edge_u[e] + 1]++;
		out->off[g->edge_v[e] + 1]++;
	}
	for (int32_t v = 0; v < g->n_nodes; v++) {
		out->off[v + 1] += out->off[v];
		at[v] = out->off[v];
	}
	for (int32_t e = 0; e < g->n_edges; e++) {
		out->to[at[g->edge_u[e]]++] = g->edge_v[e];
		out->to[at[g->edge_v[e]]++] = g->edge_u[e];
	}
	return BERTH_OK;
}

/* Least squares through (log r, log count), fed radius by radius. */
typedef struct line {
	double n, x, y, xx, xy;
} line;

static void add_point(line *l, double x, double y)
{
	l->n++;
	l->x += x;
	l->y += y;
	l->xx += x * x;
	l->xy += x * y;
}

/* Breadth first from v; seen[u] == v + 1: u was reached. */
static double dimension_of(const neighbours *x, int32_t v, int32_t *queue, int32_t *seen)
{
	line l = {0};
	int32_t head = 0, tail = 1;
	queue[0] = v;
	seen[v] = v + 1;
	for (int32_t r = 1; head < tail; r++) {
		int32_t end = tail;
		for (; head < end; head++)
			BERTH_EACH (i, x->off, queue[head])
				if (seen[x->to[i]] != v + 1) {
					seen[x->to[i]] = v + 1;
					queue[tail++] = x->to[i];
				}
		if (tail > end)
			add_point(&l, log((double)r), log((double)tail));
	}
	double spread = l.n * l.xx - l.x * l.x;
	return l.n < 2 || !(spread > 1e-12) ? 0 : (l.n * l.xy - l.x * l.y) / spread;
}

berth_status hsdag_fractal_dimensions(const hsdag_graph *g, double *dimension, berth_arena *tmp,
                                      berth_err *err)
{
	BERTH_SCRATCH(tmp);
	neighbours x;
	int32_t *queue, *seen;
	BERTH_TRY(list_neighbours(g, &x, tmp, err));
	BERTH_TRY_NEW(tmp, g->n_nodes, err, queue, seen);
	for (int32_t v = 0; v < g->n_nodes; v++)
		dimension[v] = dimension_of(&x, v, queue, seen);
	return BERTH_OK;
}

/* ---- features ---- */

static void one_hot(nn_real *x, double count, int most)
{
	x[count < most - 1 ? (int)count : most - 1] = 1;
}

static void place_features(nn_real *x, double place)
{
	for (int i = 0; i < HSDAG_POSITION; i += 2) {
		double angle = place / pow(10000, (double)i / HSDAG_POSITION);
		x[i] = (nn_real)sin(angle);
		x[i + 1] = (nn_real)cos(angle);
	}
}

typedef struct sums {
	double *n_ops, *bytes, *time, *in, *out, *dimension; /* [n_nodes] */
} sums;

static berth_status gather(const hsdag_view *v, sums *s, nn_real *x, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = v->p;
	const berth_graph *g = p->g;
	double **each[] = {&s->n_ops, &s->bytes, &s->time, &s->in, &s->out, &s->dimension};
	for (size_t i = 0; i < sizeof each / sizeof *each; i++)
		BERTH_TRY_NEW(tmp, v->g.n_nodes, err, *each[i]);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t node = v->nodes.op_group[op], type = g->op_type[op];
		s->n_ops[node]++;
		s->time[node] += (double)p->op_mean_ns[op];
		s->bytes[node] += (double)g->op_output_bytes[op];
		x[(size_t)node * HSDAG_FEATURES +
		  (size_t)(type < 0 || type >= HSDAG_TYPES ? HSDAG_TYPES - 1 : type)]++;
		BERTH_EACH (t, g->op_tensor_off, op) {
			s->bytes[node] += (double)g->tensor_bytes[t];
			BERTH_EACH (e, g->tensor_use_off, t)
				if (v->edge_link[e] >= 0) {
					s->out[node]++;
					s->in[v->nodes.op_group[g->edge_consumer[e]]]++;
				}
		}
	}
	return hsdag_fractal_dimensions(&v->g, s->dimension, tmp, err);
}

static double mean_of(const double *x, int32_t n)
{
	double sum = 0;
	for (int32_t i = 0; i < n; i++)
		sum += x[i];
	return n && sum > 0 ? sum / n : 1;
}

static berth_status describe(hsdag_view *v, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	sums s;
	nn_real *x;
	int32_t n = v->g.n_nodes;
	BERTH_TRY_NEW(mem, (size_t)n * HSDAG_FEATURES, err, x);
	BERTH_TRY(gather(v, &s, x, tmp, err));
	double bytes = mean_of(s.bytes, n), time = mean_of(s.time, n);
	for (int32_t i = 0; i < n; i++) {
		nn_real *row = BERTH_ROW(x, i, HSDAG_FEATURES), *rest = row + HSDAG_TYPES;
		for (int k = 0; k < HSDAG_TYPES; k++)
			row[k] /= (nn_real)s.n_ops[i];
		one_hot(rest, s.in[i], HSDAG_DEGREES);
		one_hot(rest + HSDAG_DEGREES, s.out[i], HSDAG_DEGREES);
		place_features(rest + 2 * HSDAG_DEGREES, i); /* groups are numbered in topological order */
		rest += 2 * HSDAG_DEGREES + HSDAG_POSITION;
		rest[0] = (nn_real)s.dimension[i];
		rest[1] = (nn_real)log1p(s.bytes[i] / bytes);
		rest[2] = (nn_real)log1p(s.time[i] / time);
	}
	v->g.node_x = x;
	return BERTH_OK;
}

/* ---- the whole ---- */

static berth_status group_nodes(hsdag_view *v, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_coarsen_cfg cfg;
	BERTH_TRY(berth_group_cfg(v->p, 1, tmp, &cfg, err));
	BERTH_TRY(berth_grouper_find("chain", &cfg.grouper, err));
	BERTH_TRY(berth_coarsen(v->p->g, &cfg, mem, tmp, &v->nodes, err));
	if (v->nodes.n_groups <= HSDAG_MOST)
		return BERTH_OK;
	BERTH_TRY(berth_group_cfg(v->p, HSDAG_MOST, tmp, &cfg, err));
	return berth_coarsen(v->p->g, &cfg, mem, tmp, &v->nodes, err);
}

berth_status hsdag_view_new(const berth_problem *p, berth_arena *mem, berth_arena *tmp, hsdag_view *out,
                            berth_err *err)
{
	BERTH_SCRATCH(tmp);
	hsdag_view v = {.p = p};
	BERTH_TRY(group_nodes(&v, mem, tmp, err));
	BERTH_TRY(link_nodes(&v, mem, tmp, err));
	BERTH_TRY(describe(&v, mem, tmp, err));
	BERTH_TRY_NEW(mem, p->n_ops, err, v.op_fallback);
	berth_fallbacks(p, v.op_fallback);
	*out = v;
	return BERTH_OK;
}

/* ---- parsing ---- */

berth_status hsdag_parsing_new(const hsdag_view *v, berth_arena *mem, hsdag_parsing *out, berth_err *err)
{
	hsdag_parsing r = {0};
	BERTH_TRY_NEW(mem, v->g.n_nodes, err, r.node_cluster);
	BERTH_TRY_NEW(mem, v->p->n_ops, err, r.op_cluster);
	BERTH_TRY_NEW(mem, (size_t)v->g.n_nodes * (size_t)v->p->n_devs, err, r.mask);
	BERTH_TRY_NEW(mem, v->p->g->n_edges, err, r.edge_score);
	*out = r;
	return BERTH_OK;
}

static berth_status parse(const hsdag_view *v, int32_t target, berth_arena *a, berth_arena *b,
                          hsdag_parsing *out, berth_err *err)
{
	const berth_problem *p = v->p;
	berth_coarsen_cfg cfg;
	berth_coarsening co;
	int32_t *number;
	BERTH_TRY(berth_group_cfg(p, target, a, &cfg, err));
	BERTH_TRY(berth_grouper_find("by-score", &cfg.grouper, err));
	cfg.edge_score = out->edge_score;
	BERTH_TRY(berth_coarsen(p->g, &cfg, a, b, &co, err));
	BERTH_TRY_NEW(a, co.n_groups, err, number);
	/* Nodes stay whole: each goes with its first operator. Clusters are numbered by their first node. */
	int32_t *node_cluster = out->node_cluster;
	int32_t n = 0;
	for (int32_t i = 0; i < v->g.n_nodes; i++)
		node_cluster[i] = -1;
	for (int32_t k = 0; k < co.n_groups; k++)
		number[k] = -1;
	for (int32_t op = 0; op < v->p->n_ops; op++) {
		int32_t node = v->nodes.op_group[op], k = co.op_group[op];
		if (node_cluster[node] < 0) {
			number[k] = number[k] < 0 ? n++ : number[k];
			node_cluster[node] = number[k];
		}
		out->op_cluster[op] = node_cluster[node];
	}
	out->c.n = n;
	memset(out->mask, 0, (size_t)out->c.n * (size_t)p->n_devs);
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t d = 0; d < p->n_devs; d++)
			out->mask[berth_cell(p, out->op_cluster[op], d)] |= berth_op_legal(p, op, d);
	return BERTH_OK;
}

berth_status hsdag_parse(const hsdag_view *v, const nn_real *scores, int32_t target, berth_arena *a,
                         berth_arena *b, hsdag_parsing *out, berth_err *err)
{
	berth_arena_mark mark_a = berth_arena_get_mark(a), mark_b = berth_arena_get_mark(b);
	for (int32_t e = 0; e < v->p->g->n_edges; e++)
		/* Nodes first. */
		out->edge_score[e] = v->edge_link[e] < 0 ? 2 : (double)scores[v->edge_link[e]];
	BERTH_TRY(parse(v, target, a, b, out, err));
	berth_arena_reset(a, mark_a);
	berth_arena_reset(b, mark_b);
	out->c.node_cluster = out->node_cluster;
	out->e = (berth_encoding){
		.p = v->p, .n_groups = out->c.n, .n_devs = v->p->n_devs, .op_fallback = v->op_fallback};
	out->e.co.op_group = out->op_cluster;
	out->e.in.mask = out->mask;
	return BERTH_OK;
}
