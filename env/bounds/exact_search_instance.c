/* Instances of the exact search, and the count and the incumbent of a run; see exact_search.h. */
#include "exact_search_work.h"

#include <string.h>

static void count_edges(const berth_problem *p, int32_t n, const int32_t *ops, const int32_t *local,
                        int32_t *n_tensors, int32_t *n_edges)
{
	const berth_graph *g = p->g;
	*n_tensors = *n_edges = 0;
	for (int32_t i = 0; i < n; i++)
		for (int32_t t = g->op_tensor_off[ops[i]]; t < g->op_tensor_off[ops[i] + 1]; t++) {
			int32_t uses = 0;
			for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
				uses += local[g->edge_consumer[e]] >= 0;
			*n_tensors += uses > 0;
			*n_edges += uses;
		}
}

static void fill_tensors(berth_exact_search *x, const int32_t *ops, const int32_t *local, int32_t *use)
{
	const berth_graph *g = x->p->g;
	int32_t k = 0;
	for (int32_t i = 0; i < x->n; i++) {
		x->out_off[i] = k;
		for (int32_t t = g->op_tensor_off[ops[i]]; t < g->op_tensor_off[ops[i] + 1]; t++) {
			exact_search_tensor u = {.producer = i, .use = use, .class = x->p->tensor_class[t]};
			for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
				if (local[g->edge_consumer[e]] >= 0)
					*use++ = local[g->edge_consumer[e]], u.n_uses++;
			if (u.n_uses)
				x->tensor[k++] = u;
		}
	}
	x->out_off[x->n] = k;
}

/* Inputs by operator, and all that is above it. */
static void fill_inputs(berth_exact_search *x)
{
	int32_t k = 0;
	for (int32_t i = 0; i < x->n; i++) {
		x->in_off[i] = k;
		x->above[i] = 0;
		for (int32_t t = 0; t < x->n_tensors; t++)
			for (int32_t u = 0; u < x->tensor[t].n_uses; u++)
				if (x->tensor[t].use[u] == i) {
					x->in[k++] = t;
					x->above[i] |= x->above[x->tensor[t].producer] |
					               UINT64_C(1) << x->tensor[t].producer;
				}
	}
	x->in_off[x->n] = k;
}

/* Bytes that op keeps on its device whatever the schedule: its own parameters and state. Shared parameters
 * may be there already. */
static int64_t kept_bytes(const berth_graph *g, int32_t op)
{
	return g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op];
}

static void fill_ops(berth_exact_search *x, const int32_t *ops, const int32_t *local)
{
	for (int32_t i = 0; i < x->n; i++) {
		x->bytes[i] = kept_bytes(x->p->g, ops[i]);
		x->leader[i] = i;
		int32_t coloc = x->p->op_coloc[ops[i]];
		for (int32_t k = x->p->coloc_off[coloc]; k < x->p->coloc_off[coloc + 1]; k++) {
			int32_t other = local[x->p->coloc_op[k]];
			if (other >= 0 && other < x->leader[i])
				x->leader[i] = other;
		}
		for (int32_t d = 0; d < x->n_devs; d++)
			x->time[i * x->n_devs + d] =
				berth_op_legal(x->p, ops[i], d) ? berth_op_time(x->p, ops[i], d) : -1;
		for (int32_t d = 0; d < x->n_devs; d++)
			x->pool_ns[i * x->n_devs + d] = berth_op_pool_ns(x->p, ops[i], d);
	}
}

static berth_status new_arrays(berth_exact_search *x, berth_arena *mem, int32_t **use, berth_err *err)
{
	size_t n = (size_t)x->n, devs = (size_t)x->n_devs, edges = (size_t)x->n_edges,
	       jobs = edges * SMALL_MAX_HOPS + n;
	BERTH_TRY(BERTH_NEW(mem, x->time, n * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->release, n * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->after, n * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->tail, n * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->pool_ns, n * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->pool_rest, (n + 1) * (size_t)x->p->n_pools, err));
	BERTH_TRY(BERTH_NEW(mem, x->pool_load, x->p->n_pools, err));
	BERTH_TRY(BERTH_NEW(mem, x->leader, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->bytes, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->held_before, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->tensor, x->n_tensors, err));
	BERTH_TRY(BERTH_NEW(mem, x->in_off, n + 1, err));
	BERTH_TRY(BERTH_NEW(mem, x->in, edges, err));
	BERTH_TRY(BERTH_NEW(mem, x->out_off, n + 1, err));
	BERTH_TRY(BERTH_NEW(mem, x->above, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->price, SMALL_PRICES * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->rest, (n + 1) * SMALL_PRICES, err));
	BERTH_TRY(BERTH_NEW(mem, x->mirror, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->dev, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->head, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->load, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->held, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->count, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->job, jobs, err));
	BERTH_TRY(BERTH_NEW(mem, x->move, edges, err));
	BERTH_TRY(BERTH_NEW(mem, x->order, n, err));
	return BERTH_NEW(mem, *use, edges, err);
}

berth_status berth_exact_search_new(const berth_problem *p, int32_t n, const int32_t *ops, berth_arena *mem,
                                    berth_exact_search **out, berth_err *err)
{
	berth_exact_search *x;
	int32_t *local, *use;
	if (n > BERTH_EXACT_SEARCH_OPS || p->n_devs > BERTH_EXACT_SEARCH_DEVS)
		return berth_fail(err, BERTH_EINVAL,
		                  "exact search takes up to %d operators and %d devices, these are %d and %d",
		                  BERTH_EXACT_SEARCH_OPS, BERTH_EXACT_SEARCH_DEVS, (int)n, (int)p->n_devs);
	BERTH_TRY(BERTH_NEW(mem, x, 1, err));
	BERTH_TRY(BERTH_NEW(mem, local, p->n_ops, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		local[op] = -1;
	for (int32_t i = 0; i < n; i++)
		local[ops[i]] = i;
	x->p = p;
	x->n = n;
	x->n_devs = p->n_devs;
	count_edges(p, n, ops, local, &x->n_tensors, &x->n_edges);
	BERTH_TRY(new_arrays(x, mem, &use, err));
	fill_tensors(x, ops, local, use);
	fill_inputs(x);
	fill_ops(x, ops, local);
	*out = x;
	return BERTH_OK;
}

void berth_exact_search_set_time(berth_exact_search *x, int32_t i, int32_t dev, int64_t time_ns)
{
	int64_t *pool_ns = &x->pool_ns[i * x->n_devs + dev];
	x->time[i * x->n_devs + dev] = time_ns;
	*pool_ns = time_ns < *pool_ns ? (time_ns > 0 ? time_ns : 0) : *pool_ns;
}

void berth_exact_search_set_outside(berth_exact_search *x, int32_t i, int32_t dev, int64_t release_ns,
                                    int64_t after_ns)
{
	x->release[i * x->n_devs + dev] = release_ns;
	x->after[i * x->n_devs + dev] = after_ns;
}

void berth_exact_search_set_held(berth_exact_search *x, int32_t dev, int64_t bytes)
{
	x->held_before[dev] = bytes;
}

static bool same_tensors(const berth_exact_search *a, const berth_exact_search *b)
{
	for (int32_t t = 0; t < a->n_tensors; t++) {
		const exact_search_tensor *u = &a->tensor[t], *v = &b->tensor[t];
		if (u->producer != v->producer || u->n_uses != v->n_uses || u->class != v->class ||
		    memcmp(u->use, v->use, (size_t)u->n_uses * sizeof *u->use) != 0)
			return false;
	}
	return true;
}

bool berth_exact_search_same(const berth_exact_search *a, const berth_exact_search *b)
{
	size_t n = (size_t)a->n, cells = n * (size_t)a->n_devs;
	if (a->p != b->p || a->n != b->n || a->n_tensors != b->n_tensors)
		return false;
	return n == 0 ||
	       (same_tensors(a, b) && memcmp(a->time, b->time, cells * sizeof *a->time) == 0 &&
	        memcmp(a->pool_ns, b->pool_ns, cells * sizeof *a->pool_ns) == 0 &&
	        memcmp(a->release, b->release, cells * sizeof *a->release) == 0 &&
	        memcmp(a->after, b->after, cells * sizeof *a->after) == 0 &&
	        memcmp(a->held_before, b->held_before, (size_t)a->n_devs * sizeof *a->held_before) == 0 &&
	        memcmp(a->leader, b->leader, n * sizeof *a->leader) == 0 &&
	        memcmp(a->bytes, b->bytes, n * sizeof *a->bytes) == 0);
}

/* ---- a run ---- */

bool exact_search_step(berth_exact_search *x, int64_t lower)
{
	x->nodes += !x->stopped;
	if (x->cfg->nodes > 0 && x->nodes >= x->cfg->nodes)
		x->stopped = true;
	if (x->cfg->stop && x->nodes % 1024 == 0 && x->cfg->stop(x->cfg->ctx))
		x->stopped = true;
	if (x->stopped && lower < x->open)
		x->open = lower;
	return !x->stopped;
}

void exact_search_leave(berth_exact_search *x, int64_t lower)
{
	x->left_open = true;
	x->open = lower < x->open ? lower : x->open;
}

void exact_search_found(berth_exact_search *x, int64_t value)
{
	if (value < x->upper)
		x->upper = x->best = value;
}
