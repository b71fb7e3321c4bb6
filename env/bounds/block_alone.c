/* A block between two gates as a problem of its own, to be scored by the simulator. It is none where the
 * compiled block has other times than the graph has. */
#include "bounds_parts.h"

struct berth_block_alone {
	const berth_problem *p;
	berth_graph g;
	berth_problem own;
	berth_sim *sim;
	int32_t n;
	bool entry;
};

static berth_status add_op(berth_builder *b, const berth_graph *g, int32_t op, berth_err *err)
{
	berth_op_spec spec = berth_graph_op_spec(g, op);
	int32_t at;
	spec.colocate = spec.separate = spec.pin = NULL; /* placements are told */
	BERTH_TRY(berth_builder_op(b, &spec, &at, err));
	BERTH_EACH (i, g->op_time_off, op)
		BERTH_TRY(berth_builder_time(b, at, berth_graph_time_name(g, i), g->time_s[i], err));
	return BERTH_OK;
}

/* The edges of tensor t to operators of the block; local[op] - 1 is the place of op in it. */
static berth_status add_tensor(berth_builder *b, const berth_graph *g, int32_t t, const int32_t *local,
                               berth_err *err)
{
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t to = local[g->edge_consumer[e]] - 1;
		if (to < 0)
			continue;
		BERTH_TRY(berth_builder_edge(b, local[g->tensor_producer[t]] - 1, to, g->tensor_bytes[t],
		                             g->tensor_name[t], err));
		if (g->tensor_cut_s)
			BERTH_TRY(berth_builder_cut(b, g->tensor_cut_s[t], err));
	}
	return BERTH_OK;
}

static berth_status make_graph(berth_block_alone *x, const int32_t *ops, berth_arena *mem, berth_arena *tmp,
                               berth_err *err)
{
	const berth_graph *g = x->p->g;
	berth_builder *b;
	int32_t *local;
	BERTH_TRY_NEW(tmp, g->n_ops, err, local);
	BERTH_TRY(berth_builder_new(tmp, "block", &b, err));
	for (int32_t i = 0; i < x->n; i++) {
		local[ops[i]] = i + 1;
		BERTH_TRY(add_op(b, g, ops[i], err));
	}
	for (int32_t i = 0; i < x->n; i++)
		BERTH_EACH (t, g->op_tensor_off, ops[i])
			BERTH_TRY(add_tensor(b, g, t, local, err));
	return berth_builder_finish(b, mem, &x->g, err);
}

/* The block's tensor that is tensor t of the graph: that of the same name; -1: none leaves for the block. */
static int32_t own_tensor(const berth_block_alone *x, int32_t i, int32_t t)
{
	const char *name = x->p->g->tensor_name[t];
	BERTH_EACH (k, x->g.op_tensor_off, i) {
		const char *own = x->g.tensor_name[k];
		if (name && own ? strcmp(name, own) == 0 : name == own)
			return k;
	}
	return -1;
}

static bool same_times(const berth_block_alone *x, const int32_t *ops)
{
	const berth_problem *p = x->p, *own = &x->own;
	for (int32_t i = 0; i < x->n; i++) {
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_time(p, ops[i], d) != berth_op_time(own, i, d) ||
			    berth_op_pool_ns(p, ops[i], d) != berth_op_pool_ns(own, i, d))
				return false;
		BERTH_EACH (t, p->g->op_tensor_off, ops[i]) {
			int32_t k = own_tensor(x, i, t);
			for (int32_t d = 0; k >= 0 && d < p->n_devs; d++)
				for (int32_t e = 0; e < p->n_devs; e++)
					if (berth_transfer_ns(p, t, d, e) != berth_transfer_ns(own, k, d, e))
						return false;
		}
	}
	return true;
}

berth_status berth_block_alone_new(const berth_problem *p, int32_t n, const int32_t *ops, bool entry,
                                   berth_arena *mem, berth_arena *tmp, berth_block_alone **out,
                                   berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_block_alone *x;
	*out = NULL;
	BERTH_TRY_NEW(mem, 1, err, x);
	*x = (berth_block_alone){.p = p, .n = n, .entry = entry};
	berth_status st = make_graph(x, ops, mem, tmp, err);
	st = st ? st : berth_problem_new(&x->g, p->s, mem, tmp, &x->own, err);
	st = st ? st : berth_sim_new(&x->own, mem, &x->sim, err);
	if (st == BERTH_OK && same_times(x, ops))
		*out = x;
	return st == BERTH_ENOMEM ? st : BERTH_OK;
}

int64_t berth_block_alone_ns(berth_block_alone *x, const int32_t *dev, const int32_t *order)
{
	berth_sim_result r;
	berth_sim_run(x->sim, dev, order, &r);
	return r.latency_ns - (x->entry ? berth_op_time(&x->own, 0, dev[0]) : 0);
}
