/* See training_work.h. */
#include "training_work.h"

const char *training_type_of(const berth_graph *g, int32_t op)
{
	return g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]];
}

bool training_has_params(const berth_graph *g, int32_t op)
{
	return g->op_param_bytes[op] > 0 || g->op_param_off[op + 1] > g->op_param_off[op];
}

int32_t training_root(trainer *t, int32_t op)
{
	while (t->op_root[op] != op)
		op = t->op_root[op] = t->op_root[t->op_root[op]];
	return op;
}

/* base/what, with '_' appended until no operator has that name. */
static berth_status free_name(trainer *t, const char *base, const char *what, const char **name,
                              berth_err *err)
{
	*name = *base ? berth_arena_printf(t->tmp, "%s/%s", base, what) : berth_arena_strdup(t->tmp, what);
	while (*name && berth_builder_find(t->b, *name) >= 0)
		*name = berth_arena_printf(t->tmp, "%s_", *name);
	return *name ? BERTH_OK : berth_nomem(err);
}

berth_status training_copy_limits(trainer *t, int32_t from, int32_t to, double factor, berth_err *err)
{
	const berth_graph *g = t->g;
	for (int32_t i = g->op_forbid_off[from]; i < g->op_forbid_off[from + 1]; i++)
		BERTH_TRY(berth_builder_forbid(t->b, to, g->forbid_dev[i], err));
	for (int32_t i = g->op_time_off[from]; i < g->op_time_off[from + 1]; i++)
		BERTH_TRY(berth_builder_time(t->b, to, berth_graph_time_name(g, i), factor * g->time_s[i],
		                             err));
	return BERTH_OK;
}

berth_status training_put_op(trainer *t, int32_t op, const berth_op_spec *spec, int32_t *out, berth_err *err)
{
	BERTH_TRY(BERTH_GROW(t->tmp, t->of, t->n_of, &t->cap_of, err));
	t->of[t->n_of++] = op;
	return berth_builder_op(t->b, spec, out, err);
}

berth_status training_derive(trainer *t, int32_t op, const char *base, const char *what, berth_op_spec spec,
                             double factor, int32_t *out, berth_err *err)
{
	BERTH_TRY(free_name(t, base, what, &spec.name, err));
	BERTH_TRY(training_put_op(t, op, &spec, out, err));
	return training_copy_limits(t, op, *out, factor, err);
}

const char *training_group_of(trainer *t, int32_t op)
{
	return training_has_params(t->g, op) ? t->op_group[training_root(t, op)] : NULL;
}

double training_cut_s(const trainer *t, int32_t slot)
{
	return slot < t->g->n_tensors && t->g->tensor_cut_s ? t->g->tensor_cut_s[slot] : 0;
}

berth_status training_put_edge(trainer *t, int32_t from, int32_t to, int64_t bytes, double cut_s,
                               const char *name, berth_err *err)
{
	BERTH_TRY(berth_builder_edge(t->b, from, to, bytes, name, err));
	return berth_builder_cut(t->b, cut_s, err);
}

berth_status training_edge(trainer *t, int32_t from, int32_t to, int32_t tensor, berth_err *err)
{
	return training_put_edge(t, from, to, t->g->tensor_bytes[tensor], training_cut_s(t, tensor),
	                         t->g->tensor_name[tensor], err);
}

berth_status training_derive_light(trainer *t, int32_t op, const char *base, const char *what,
                                   berth_op_spec spec, int32_t *out, berth_err *err)
{
	double forward = t->g->op_flops[op];
	return training_derive(t, op, base, what, spec, forward > spec.flops ? spec.flops / forward : 1, out,
	                       err);
}

int64_t training_optimizer_copies(const trainer *t)
{
	switch (t->opt->optimizer) {
	case BERTH_OPTIMIZER_SGD:
		return 1;
	case BERTH_OPTIMIZER_MOMENTUM:
		return 2;
	case BERTH_OPTIMIZER_ADAM:
		break;
	}
	return 3;
}
