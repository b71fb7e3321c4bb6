/* Servers as nodes of a layout: rates of ranges of layers, by the model of times at several batches or as
 * measured. */
#include "serving.h"

static void take_more(double *best, int64_t batch, int64_t ns)
{
	*best = fmax(*best, (double)batch * 1e9 / (double)(ns > 0 ? ns : 1));
}

/* Of one batch: where it is better than what is there. How the others are laid decides what a node passes on,
 * to its own server or another one; one with all layers passes nothing on. */
static void add_batch(const berth_serving *x, int64_t batch, int32_t k, double *per_s, double *most_per_s)
{
	const berth_server_kind *d = &x->kind[k];
	int64_t border = berth_max(d->inside_ns, x->spans || d->n_servers > 1 ? d->outside_ns : 0);
	for (int32_t f = 0; f < x->n_blocks; f++) {
		int64_t ns = 0, bytes = 0;
		for (int32_t t = f + 1; t <= x->n_blocks && x->kind[k].block_ns[t - 1] >= 0; t++) {
			ns += x->kind[k].block_ns[t - 1];
			bytes += x->block_bytes[t - 1];
			if (d->memory_bytes >= 0 && bytes + x->work_bytes > d->memory_bytes)
				break;
			int32_t at = f * (x->n_blocks + 1) + t;
			take_more(&per_s[at], batch, t - f == x->n_blocks ? ns : berth_max(ns, border));
			take_more(&most_per_s[at], batch, ns);
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

bool berth_serving_same_devices(const berth_serving *a, const berth_serving *b)
{
	for (int32_t k = 0; k < a->n_kinds; k++)
		if (a->kind[k].dev != b->kind[k].dev)
			return false;
	return true;
}

berth_status berth_serving_nodes(const berth_serving *x, const int64_t *batch, int32_t n,
                                 const berth_serving *at, const double *step_s, berth_arena *mem,
                                 berth_layout_kind *kind, berth_err *err)
{
	int32_t L = x->n_blocks;
	for (int32_t k = 0; k < x->n_kinds; k++) {
		const double *own_s = step_s ? step_s + k * (L + 1) : NULL;
		double *per_s, *most_per_s;
		BERTH_TRY_NEW(mem, (size_t)(L + 1) * (size_t)(L + 1), err, per_s, most_per_s);
		bool measured = use_measured(own_s, L, per_s);
		for (int32_t b = 0; b < n && !measured; b++)
			if (x[b].kind[k].dev == at->kind[k].dev)
				add_batch(&x[b], batch[b], k, per_s, most_per_s);
		kind[k] = (berth_layout_kind){at->kind[k].name, at->kind[k].n_servers * at->kind[k].n_devs,
		                              per_s, measured ? NULL : most_per_s};
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
