/* Models that share a graph (graph_union.h): parts of the graph that no edge joins, each with one scope in
 * front of all its names. That scope tells no layer, and what stands between layers of one model is no block
 * of another. */
#include "granularity_find.h"
#include "sort.h"

#include <string.h>

/* A part of the graph, by its lowest operator. */
typedef struct part {
	const char *scope;
	size_t len;
	int32_t n_ops, model;
	bool common; /* all operators have the scope */
} part;

static void join_all(const berth_graph *g, int32_t *up)
{
	for (int32_t op = 0; op < g->n_ops; op++)
		up[op] = op;
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			berth_union_join(up, g->tensor_producer[t], g->edge_consumer[e]);
	for (int32_t i = 0; i < g->n_params; i++)
		for (int32_t k = g->param_op_off[i] + 1; k < g->param_op_off[i + 1]; k++)
			berth_union_join(up, g->param_op[k - 1], g->param_op[k]);
}

static void add(part *x, const char *name)
{
	size_t at = 0, end;
	bool last;
	if (!block_scope(name, &at, &end, &last) || last)
		return;
	if (!x->n_ops++) {
		*x = (part){.scope = name + at, .len = end - at, .n_ops = 1, .common = true};
		return;
	}
	x->common &= x->len == end - at && memcmp(x->scope, name + at, x->len) == 0;
}

berth_status blocks_find_models(block_finder *f)
{
	const berth_graph *g = f->g;
	int32_t *up, *n_ops;
	part *list;
	BERTH_TRY(BERTH_NEW(f->tmp, up, g->n_ops, f->err));
	BERTH_TRY(BERTH_NEW(f->tmp, n_ops, g->n_ops, f->err));
	BERTH_TRY(BERTH_NEW(f->tmp, list, g->n_ops, f->err));
	BERTH_TRY(BERTH_NEW(f->tmp, f->op_model, g->n_ops, f->err));
	BERTH_TRY(BERTH_NEW(f->tmp, f->op_skip, g->n_ops, f->err));
	join_all(g, up);
	for (int32_t op = 0; op < g->n_ops; op++) {
		n_ops[berth_union_top(up, op)]++;
		add(&list[berth_union_top(up, op)], g->op_name[op]);
	}
	for (int32_t op = 0; op < g->n_ops; op++) {
		part *x = &list[op];
		if (up[op] == op && x->common && x->n_ops > 1 && x->n_ops == n_ops[op])
			x->model = ++f->n_models;
	}
	for (int32_t op = 0; op < g->n_ops && f->n_models > 1; op++) {
		const part *x = &list[berth_union_top(up, op)];
		f->op_model[op] = x->model;
		f->op_skip[op] = x->model ? strspn(g->op_name[op], "./:") + x->len : 0;
	}
	return BERTH_OK;
}
