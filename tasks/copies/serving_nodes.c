/* Servers as nodes of a layout: rates of ranges of layers, by the model of times at several batches or as
 * measured. */
#include "serving.h"

static double rate_of(const berth_serving *x, int64_t batch, int32_t k, int64_t ns, int64_t bytes)
{
	const berth_server_kind *d = &x->kind[k];
	int64_t most =
		berth_max(ns, berth_max(d->inside_ns, x->spans || d->n_servers > 1 ? d->outside_ns : 0));
	if (d->memory_bytes >= 0 && bytes + x->work_bytes > d->memory_bytes)
		return 0;
	return (double)batch * 1e9 / (double)(most > 0 ? most : 1);
}

/* Of one batch: where it is better than what is there. */
static void add_batch(const berth_serving *x, int64_t batch, int32_t k, double *per_s)
{
	for (int32_t f = 0; f < x->n_blocks; f++) {
		int64_t ns = 0, bytes = 0;
		for (int32_t t = f + 1; t <= x->n_blocks && x->kind[k].block_ns[t - 1] >= 0; t++) {
			ns += x->kind[k].block_ns[t - 1];
			bytes += x->block_bytes[t - 1];
			double *best = &per_s[f * (x->n_blocks + 1) + t],
			       now = rate_of(x, batch, k, ns, bytes);
			*best = now > *best ? now : *best;
		}
	}
}

/* What is not given takes as long as the next larger number of layers. */
static bool use_measured(const double *step_s, int32_t L, double *per_s)
{
	double now_s = 0;
	for (int32_t n = L; step_s && n > 0; n--) {
		now_s = step_s[n] > 0 ? step_s[n] : now_s;
		for (int32_t f = 0; f + n <= L && now_s > 0; f++)
			per_s[f * (L + 1) + f + n] = 1 / now_s;
	}
	return now_s > 0;
}

berth_status berth_serving_nodes(const berth_serving *x, const int64_t *batch, int32_t n,
                                 const double *step_s, berth_arena *mem, berth_layout_kind *kind,
                                 berth_err *err)
{
	int32_t L = x->n_blocks;
	for (int32_t k = 0; k < x->n_kinds; k++) {
		const double *own_s = step_s ? step_s + k * (L + 1) : NULL;
		double *per_s;
		BERTH_TRY_NEW(mem, (size_t)(L + 1) * (size_t)(L + 1), err, per_s);
		bool measured = use_measured(own_s, L, per_s);
		for (int32_t b = 0; b < n && !measured; b++)
			add_batch(&x[b], batch[b], k, per_s);
		kind[k] =
			(berth_layout_kind){x->kind[k].name, x->kind[k].n_servers * x->kind[k].n_devs, per_s};
	}
	return BERTH_OK;
}

berth_status berth_serving_layout(const berth_serving *x, const berth_serving_plan *plan, berth_arena *mem,
                                  berth_arena *tmp, berth_layers *out, berth_err *err)
{
	size_t cap = 0;
	*out = (berth_layers){0};
	for (int32_t i = 0; i < plan->n_groups; i++) {
		berth_serving_stage *stage;
		int32_t n;
		BERTH_TRY(berth_serving_stages(x, &plan->group[i], mem, tmp, &stage, &n, err));
		for (int32_t s = 0; s < n; s++)
			BERTH_TRY(BERTH_PUSH(mem, out->group, out->n_groups, &cap, err,
			                     (berth_layout_group){stage[s].kind, stage[s].from, stage[s].to,
			                                          plan->group[i].n, 0}));
	}
	return BERTH_OK;
}
