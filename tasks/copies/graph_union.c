/* Several graphs as one: models that share a machine at the same time. Each graph is stated anew to one
 * builder. */
#include "graph_union.h"

typedef struct joiner {
	berth_builder *b;
	berth_arena *tmp;
	const berth_graph *g; /* the graph at hand, */
	const char *name;     /* its prefix, */
	int32_t first;        /* and where its operators begin */
	berth_err *err;
} joiner;

/* PREFIX/name in tmp; NULL for NULL. */
static berth_status prefixed(joiner *j, const char *name, const char **out)
{
	*out = name ? berth_arena_printf(j->tmp, "%s/%s", j->name, name) : NULL;
	return name && !*out ? berth_nomem(j->err) : BERTH_OK;
}

static berth_status add_op(joiner *j, int32_t op)
{
	const berth_graph *g = j->g;
	berth_op_spec s = berth_graph_op_spec(g, op);
	int32_t at;
	BERTH_TRY(prefixed(j, s.name, &s.name));
	BERTH_TRY(prefixed(j, s.colocate, &s.colocate));
	BERTH_TRY(prefixed(j, s.separate, &s.separate));
	BERTH_TRY(berth_builder_op(j->b, &s, &at, j->err));
	BERTH_EACH (i, g->op_time_off, op)
		BERTH_TRY(berth_builder_time(j->b, at, berth_graph_time_name(g, i), g->time_s[i], j->err));
	BERTH_EACH (i, g->op_forbid_off, op)
		BERTH_TRY(berth_builder_forbid(j->b, at, g->forbid_dev[i], j->err));
	return BERTH_OK;
}

static berth_status add_tensor(joiner *j, int32_t t)
{
	const berth_graph *g = j->g;
	BERTH_EACH (e, g->tensor_use_off, t) {
		BERTH_TRY(berth_builder_edge(j->b, j->first + g->tensor_producer[t],
		                             j->first + g->edge_consumer[e], g->tensor_bytes[t],
		                             g->tensor_name[t], j->err));
		if (g->tensor_cut_s)
			BERTH_TRY(berth_builder_cut(j->b, g->tensor_cut_s[t], j->err));
	}
	return BERTH_OK;
}

static berth_status add_param(joiner *j, int32_t p)
{
	const berth_graph *g = j->g;
	const char *name;
	int32_t at;
	BERTH_TRY(prefixed(j, g->param_name[p], &name));
	BERTH_TRY(berth_builder_param(j->b, name, g->param_bytes[p], &at, j->err));
	BERTH_EACH (i, g->param_op_off, p)
		BERTH_TRY(berth_builder_param_use(j->b, at, j->first + g->param_op[i], j->err));
	return BERTH_OK;
}

berth_status berth_graph_restate(const berth_graph *g, const char *prefix, berth_builder *b, berth_arena *tmp,
                                 berth_err *err)
{
	joiner j = {b, tmp, g, prefix, berth_builder_ops(b), err};
	for (int32_t op = 0; op < g->n_ops; op++)
		BERTH_TRY(add_op(&j, op));
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_TRY(add_tensor(&j, t));
	for (int32_t p = 0; p < g->n_params; p++)
		BERTH_TRY(add_param(&j, p));
	return BERTH_OK;
}

/* The graph's name, or with a number behind it where it is taken. */
static berth_status name_part(berth_graph_parts *p, const char *name, berth_arena *mem, berth_err *err)
{
	const char *as = name;
	for (int32_t i = 0, k = 2; i < p->n && as; i++)
		if (strcmp(p->name[i], as) == 0) {
			as = berth_arena_printf(mem, "%s-%d", name, k++);
			i = -1;
		}
	p->name[p->n++] = as ? berth_arena_strdup(mem, as) : NULL;
	return p->name[p->n - 1] ? BERTH_OK : berth_nomem(err);
}

/* "net (3 copies)" where all are called net, else all names with + between. In tmp; NULL: no memory. */
static const char *name_all(const berth_graph *g, const berth_graph_parts *p, berth_arena *tmp)
{
	const char *name = p->name[0];
	int32_t same = 1;
	while (same < p->n && strcmp(g[same].name, g[0].name) == 0)
		same++;
	if (p->n > 1 && same == p->n)
		return berth_arena_printf(tmp, "%s (%d copies)", name, (int)p->n);
	for (int32_t i = 1; i < p->n && name; i++)
		name = berth_arena_printf(tmp, "%s+%s", name, p->name[i]);
	return name;
}

berth_status berth_graph_union(const berth_graph *g, int32_t n, berth_arena *mem, berth_arena *tmp,
                               berth_graph *out, berth_graph_parts *parts, berth_err *err)
{
	berth_graph_parts p;
	int64_t n_ops = 0;
	for (int32_t i = 0; i < n; i++)
		n_ops += g[i].n_ops;
	if (n_ops > INT32_MAX)
		return berth_fail(err, BERTH_EFORMAT, "%lld operators are more than a graph holds",
		                  (long long)n_ops);
	p = (berth_graph_parts){0};
	BERTH_TRY_NEW(mem, n, err, p.name);
	BERTH_TRY_NEW(mem, n + 1, err, p.first_op);
	for (int32_t i = 0; i < n; i++) {
		BERTH_TRY(name_part(&p, g[i].name, mem, err));
		p.first_op[i + 1] = p.first_op[i] + g[i].n_ops;
	}
	BERTH_SCRATCH(tmp);
	berth_builder *b;
	const char *name = name_all(g, &p, tmp);
	BERTH_TRY(berth_got(name, err));
	BERTH_TRY(berth_builder_new(tmp, name, &b, err));
	for (int32_t i = 0; i < p.n; i++)
		BERTH_TRY(berth_graph_restate(&g[i], p.name[i], b, tmp, err));
	BERTH_TRY(berth_builder_finish(b, mem, out, err));
	if (parts)
		*parts = p;
	return BERTH_OK;
}
