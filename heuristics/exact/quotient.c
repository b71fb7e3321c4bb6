/* Makes the groups of a coarsening operators of a small graph of their own. A tensor becomes one edge to each
 * other group that takes it. */
#include "quotient.h"

static berth_status add_groups(const berth_problem *p, const berth_coarsening *c, berth_builder *b,
                               berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	berth_op_spec *spec;
	BERTH_TRY_NEW(tmp, c->n_groups, err, spec);
	for (int32_t op = 0; op < g->n_ops; op++) {
		berth_op_spec *s = &spec[c->op_group[op]];
		s->flops += g->op_flops[op];
		s->macs += g->op_macs[op];
		s->read_bytes += g->op_read_bytes[op];
		s->write_bytes += g->op_write_bytes[op];
		s->param_bytes += g->op_param_bytes[op];
		s->state_bytes += g->op_state_bytes[op];
		s->output_bytes += g->op_output_bytes[op];
		s->workspace_bytes = g->op_workspace_bytes[op] > s->workspace_bytes
		                             ? g->op_workspace_bytes[op]
		                             : s->workspace_bytes;
	}
	for (int32_t k = 0; k < c->n_groups; k++) {
		BERTH_TRY(berth_got(spec[k].name = berth_arena_printf(tmp, "g%d", (int)k), err));
		BERTH_TRY(berth_builder_op(b, &spec[k], NULL, err));
	}
	return BERTH_OK;
}

/* Edges of tensor t from its group to each other group with a consumer. */
static berth_status add_tensor(const berth_problem *p, const berth_coarsening *c, int32_t t, int32_t *seen,
                               berth_builder *b, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t from = c->op_group[g->tensor_producer[t]];
	const char *name = NULL;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t to = c->op_group[g->edge_consumer[e]];
		if (to == from || seen[to] == t + 1)
			continue;
		seen[to] = t + 1;
		if (!name && !(name = berth_arena_printf(tmp, "t%09d", (int)t)))
			return berth_nomem(err);
		BERTH_TRY(berth_builder_edge(b, from, to, g->tensor_bytes[t], name, err));
		BERTH_TRY(berth_builder_cut(b, g->tensor_cut_s ? g->tensor_cut_s[t] : 0, err));
	}
	return BERTH_OK;
}

static berth_status build(const berth_problem *p, const berth_coarsening *c, berth_arena *mem,
                          berth_arena *tmp, berth_graph *out, berth_err *err)
{
	berth_builder *b;
	int32_t *seen;
	BERTH_TRY(berth_builder_new(tmp, p->g->name, &b, err));
	BERTH_TRY_NEW(tmp, c->n_groups, err, seen);
	BERTH_TRY(add_groups(p, c, b, tmp, err));
	int64_t *sum;
	BERTH_TRY_NEW(tmp, c->n_groups, err, sum);
	for (int32_t d = 0; d < p->n_devs; d++) {
		for (int32_t k = 0; k < c->n_groups; k++)
			sum[k] = 0;
		for (int32_t op = 0; op < p->n_ops; op++) {
			int64_t *s = &sum[c->op_group[op]];
			*s = *s < 0 || !berth_op_legal(p, op, d) ? -1 : *s + berth_op_time(p, op, d);
		}
		for (int32_t k = 0; k < c->n_groups; k++)
			BERTH_TRY(berth_builder_time(b, k, p->s->dev_name[d],
			                             sum[k] < 0 ? (double)NAN : (double)sum[k] / 1e9, err));
	}
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		BERTH_TRY(add_tensor(p, c, t, seen, b, tmp, err));
	const berth_graph *g = p->g;
	for (int32_t q = 0; q < g->n_params; q++) {
		int32_t param;
		BERTH_TRY(berth_builder_param(b, g->param_name[q], g->param_bytes[q], &param, err));
		BERTH_EACH (i, g->param_op_off, q) {
			int32_t k = c->op_group[g->param_op[i]];
			if (seen[k] == -1 - q)
				continue;
			seen[k] = -1 - q;
			BERTH_TRY(berth_builder_param_use(b, param, k, err));
		}
	}
	if (berth_builder_finish(b, mem, out, err) == BERTH_ENOMEM)
		return BERTH_ENOMEM;
	if (out->n_ops != c->n_groups)
		return berth_fail(err, BERTH_EUNSUPPORTED, "the groups' graph of %s has cycles by colocation",
		                  p->g->name);
	return BERTH_OK;
}

berth_status berth_quotient_new(const berth_problem *p, const berth_coarsening *c, berth_arena *mem,
                                berth_arena *tmp, berth_graph *out, berth_err *err)
{
	berth_graph g = {.n_ops = -1};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	if (p->g->n_seps > 0)
		return berth_fail(err, BERTH_EUNSUPPORTED, "groups of %s cannot keep its separation groups",
		                  p->g->name);
	berth_status st = build(p, c, mem, tmp, &g, err);
	if (mem != tmp)
		berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = g;
	return st;
}

berth_status berth_quotient_order(const berth_problem *p, const berth_coarsening *c,
                                  const int32_t *group_order, int32_t *order, berth_arena *tmp,
                                  berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t *next, at = 0;
	BERTH_TRY_NEW(tmp, c->n_groups + 1, err, next);
	for (int32_t op = 0; op < p->n_ops; op++)
		next[c->op_group[op]]++;
	for (int32_t k = 0; k < c->n_groups; k++) {
		int32_t size = next[group_order[k]];
		next[group_order[k]] = at;
		at += size;
	}
	for (int32_t k = 0; k < p->n_ops; k++)
		order[next[c->op_group[p->g->topo_op[k]]]++] = p->g->topo_op[k];
	return BERTH_OK;
}
