/* A graph whose kernels are operators: sums over the members of each, without what stays inside. */
#include "fuse.h"

typedef struct fusing {
	const berth_graph *g;
	int32_t *op_exit;  /* [n_ops] */
	int32_t *op_named; /* [n_ops] of exits: the member that the kernel is called after */
	int32_t *op_new;   /* [n_ops] of exits: the operator that the kernel becomes */
	berth_op_spec *spec; /* [n_ops] of exits */
	berth_builder *b;
	berth_arena *tmp;
	berth_err *err;
} fusing;

/* Members that must stand by themselves leave, and whoever has joined through them: backwards, so that
 * consumers are done before. */
static void split_kernels(fusing *f)
{
	const berth_graph *g = f->g;
	for (int32_t i = g->n_ops - 1; i >= 0; i--) {
		int32_t op = g->topo_op[i], exit = f->op_exit[op];
		bool left =
			g->op_pin[op] || g->op_pin[exit] || g->op_forbid_off[op] < g->op_forbid_off[op + 1] ||
			g->op_forbid_off[exit] < g->op_forbid_off[exit + 1] ||
			g->op_coloc_name[op] != g->op_coloc_name[exit] || g->op_sep[op] != g->op_sep[exit];
		BERTH_EACH (t, g->op_tensor_off, op)
			BERTH_EACH (e, g->tensor_use_off, t)
				left = left || f->op_exit[g->edge_consumer[e]] != exit;
		if (op != exit && left)
			f->op_exit[op] = op;
	}
}

/* Which member a kernel is called after: its one product. */
static void name_kernels(fusing *f)
{
	const berth_graph *g = f->g;
	for (int32_t op = 0; op < g->n_ops; op++)
		f->op_named[op] = op;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t *named = &f->op_named[f->op_exit[op]];
		if (g->op_macs[op] > 0 && g->op_macs[*named] > 0 && *named != op)
			*named = f->op_exit[op]; /* of two: attention */
		else if (g->op_macs[op] > 0)
			*named = op;
	}
}

static bool stays_inside(const fusing *f, int32_t t)
{
	int32_t exit = f->op_exit[f->g->tensor_producer[t]];
	BERTH_EACH (e, f->g->tensor_use_off, t)
		if (f->op_exit[f->g->edge_consumer[e]] != exit)
			return false;
	return f->g->tensor_use_off[t] < f->g->tensor_use_off[t + 1];
}

static int64_t less(int64_t a, int64_t b)
{
	return a > b ? a - b : 0;
}

static void add_member(fusing *f, int32_t op)
{
	const berth_graph *g = f->g;
	berth_op_spec *s = &f->spec[f->op_exit[op]];
	int64_t read = g->op_read_bytes[op], write = g->op_write_bytes[op];
	BERTH_EACH (i, g->op_in_off, op)
		if (f->op_exit[g->tensor_producer[g->in_tensor[i]]] == f->op_exit[op])
			read = less(read, g->tensor_bytes[g->in_tensor[i]]);
	BERTH_EACH (t, g->op_tensor_off, op)
		if (stays_inside(f, t))
			write = less(write, g->tensor_bytes[t]);
	s->flops += g->op_flops[op];
	s->macs += g->op_macs[op];
	s->read_bytes += read;
	s->write_bytes += write;
	s->param_bytes += g->op_param_bytes[op];
	s->state_bytes += g->op_state_bytes[op];
	s->output_bytes += g->op_output_bytes[op];
	if (g->op_workspace_bytes[op] > s->workspace_bytes)
		s->workspace_bytes = g->op_workspace_bytes[op];
}

/* Operators in the order of their exits. A shape that does not tell all of its work is none. */
static berth_status add_kernels(fusing *f)
{
	const berth_graph *g = f->g;
	int32_t *members;
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, members);
	for (int32_t op = 0; op < g->n_ops; op++)
		members[f->op_exit[op]]++;
	for (int32_t op = 0; op < g->n_ops; op++) {
		if (f->op_exit[op] != op)
			continue;
		if (f->spec[op].macs > g->op_macs[f->op_named[op]])
			f->spec[op].dims = (berth_dims){0};
		BERTH_TRY(berth_builder_op(f->b, &f->spec[op], &f->op_new[op], f->err));
		BERTH_EACH (i, g->op_time_off, op)
			if (members[op] == 1)
				BERTH_TRY(berth_builder_time(f->b, f->op_new[op], berth_graph_time_name(g, i),
				                             g->time_s[i], f->err));
		BERTH_EACH (i, g->op_forbid_off, op)
			BERTH_TRY(berth_builder_forbid(f->b, f->op_new[op], g->forbid_dev[i], f->err));
	}
	return BERTH_OK;
}

static berth_status add_edges(fusing *f)
{
	const berth_graph *g = f->g;
	int32_t *seen; /* the last tensor that came to the operator, + 1 */
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, seen);
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t from = f->op_exit[g->tensor_producer[t]];
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = f->op_exit[g->edge_consumer[e]];
			if (to == from || seen[to] == t + 1)
				continue;
			seen[to] = t + 1;
			BERTH_TRY(berth_builder_edge(f->b, f->op_new[from], f->op_new[to], g->tensor_bytes[t],
			                             g->tensor_name[t], f->err));
			if (g->tensor_cut_s)
				BERTH_TRY(berth_builder_cut(f->b, g->tensor_cut_s[t], f->err));
		}
	}
	return BERTH_OK;
}

static berth_status add_params(fusing *f)
{
	const berth_graph *g = f->g;
	int32_t *seen;
	BERTH_TRY_NEW(f->tmp, g->n_ops, f->err, seen);
	for (int32_t p = 0; p < g->n_params; p++) {
		int32_t param;
		BERTH_TRY(berth_builder_param(f->b, g->param_name[p], g->param_bytes[p], &param, f->err));
		BERTH_EACH (i, g->param_op_off, p) {
			int32_t exit = f->op_exit[g->param_op[i]];
			if (seen[exit] == p + 1)
				continue;
			seen[exit] = p + 1;
			BERTH_TRY(berth_builder_param_use(f->b, param, f->op_new[exit], f->err));
		}
	}
	return BERTH_OK;
}

berth_status berth_graph_fuse(const berth_graph *g, berth_arena *mem, berth_arena *tmp, berth_graph *out,
                              berth_err *err)
{
	fusing f = {.g = g, .tmp = tmp, .err = err};
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, g->n_ops, err, f.op_exit, f.op_named, f.op_new, f.spec);
	BERTH_TRY(berth_fusion_kernels(g, f.op_exit, tmp, err));
	split_kernels(&f);
	name_kernels(&f);
	for (int32_t op = 0; op < f.g->n_ops; op++) {
		if (f.op_exit[op] != op)
			continue;
		berth_op_spec named = berth_graph_op_spec(f.g, f.op_named[op]), *s = &f.spec[op];
		*s = named;
		s->flops = s->macs = 0;
		s->read_bytes = s->write_bytes = s->param_bytes = s->state_bytes = s->output_bytes = 0;
		s->workspace_bytes = 0;
	}
	for (int32_t op = 0; op < f.g->n_ops; op++)
		add_member(&f, op);
	BERTH_TRY(berth_builder_new(tmp, g->name, &f.b, err));
	BERTH_TRY(add_kernels(&f));
	BERTH_TRY(add_edges(&f));
	BERTH_TRY(add_params(&f));
	return berth_builder_finish(f.b, mem, out, err);
}
