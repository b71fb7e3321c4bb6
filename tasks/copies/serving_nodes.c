/* Servers as nodes of a layout: rates of ranges of layers, by the model of times at several batches or as
 * measured; layouts that keep a limit of a sample's time. */
#include "serving.h"

#include "search.h"

/* A node that reads so many bytes and takes run_ns for a batch, at least shared_ns where it passes it on.
 * With all layers it passes nothing on. */
static void take_more(const berth_layout_kind *d, int32_t L, int32_t from, int32_t to, int64_t batch,
                      int32_t mode, int32_t link, int64_t read_bytes, double run_ns, double shared_ns)
{
	double samples = 1e9 * (double)batch, time_s[BERTH_MOST_LAYOUT_LIMITS] = {run_ns / 1e9};
	berth_layout_offer(d, L, mode, from, to, samples / fmax(run_ns, to - from < L ? shared_ns : 0),
	                   samples / run_ns, time_s, batch, read_bytes, link);
}

static void add_batch(const berth_serving *x, int64_t batch, int32_t k, int32_t mode,
                      const berth_layout_kind *to)
{
	const berth_server_kind *d = &x->kind[k];
	int64_t shared = x->spans || d->n_servers > 1 ? d->outside_ns : 0;
	for (int32_t f = 0; f < x->n_blocks; f++) {
		int64_t ns = 0, bytes = x->work_bytes, must = x->work_bytes;
		for (int32_t t = f + 1; t <= x->n_blocks && d->block_ns[t - 1] >= 0; t++) {
			ns += d->block_ns[t - 1];
			bytes += x->block_bytes[t - 1];
			must += x->block_state_bytes[t - 1];
			int64_t read = berth_serving_read_bytes(d, bytes, must);
			if (read < 0)
				break;
			take_more(to, x->n_blocks, f, t, batch, mode, mode, read,
			          berth_serving_step_ns(d, (double)berth_max(ns, 1), read), (double)shared);
		}
	}
}

/* What is not given takes as long as the next larger number of layers; with it what is passed on. */
static bool use_measured(const double *step_s, int32_t L, int32_t link, const berth_layout_kind *to)
{
	double now_s = 0;
	for (int32_t n = L; step_s && n > 0; n--) {
		now_s = step_s[n] > 0 ? step_s[n] : now_s;
		for (int32_t f = 0; f + n <= L && now_s > 0; f++)
			take_more(to, L, f, f + n, 1, 0, link, 0, now_s * 1e9, 0);
	}
	return now_s > 0;
}

/* Are all of a's devices among b's? */
static bool are_among(const berth_server_kind *a, const berth_server_kind *b)
{
	int32_t n = 0;
	for (int32_t i = 0; i < b->n_devs && n < a->n_devs; i++)
		n += b->dev[i] == a->dev[n];
	return n == a->n_devs;
}

bool berth_serving_same_devices(const berth_serving *a, const berth_serving *b)
{
	for (int32_t k = 0; k < a->n_kinds; k++)
		if (a->kind[k].n_devs != b->kind[k].n_devs || !are_among(&a->kind[k], &b->kind[k]))
			return false;
	return true;
}

/* The links at each batch, and behind them those of measured nodes: no limit but where there is none. */
static berth_status make_links(const berth_serving *x, const int64_t *batch, int32_t n, berth_arena *mem,
                               berth_layout_task *task, berth_err *err)
{
	int32_t K = x->n_kinds;
	double *per_s, *time_s;
	bool any = false;
	BERTH_TRY_NEW(mem, (n + 1) * K * K, err, per_s, time_s);
	for (int32_t i = 0; i < (n + 1) * K * K; i++) {
		int32_t b = i / (K * K);
		const berth_serving *of = &x[b < n ? b : 0];
		int64_t ns = berth_serving_link_ns(of, i / K % K, i % K);
		per_s[i] = ns < 0 ? 0 : ns > 0 && b < n ? (double)batch[b] * 1e9 / (double)ns : INFINITY;
		time_s[i] = ns < 0 || b == n ? 0 : (double)berth_serving_way_ns(of, i / K % K, i % K) / 1e9;
		any |= isfinite(per_s[i]);
	}
	task->link_per_s = any ? per_s : NULL;
	task->limit[0].link_s = any ? time_s : NULL;
	task->n_links = n + 1;
	return BERTH_OK;
}

/* Nodes and links in mem, and what serves most chosen. */
static berth_status make_task(const berth_serving *x, const int64_t *batch, int32_t n,
                              const berth_serving *at, const double *step_s, berth_arena *mem,
                              berth_layout_kind *kind, berth_layout_task *task, berth_err *err)
{
	int32_t L = x->n_blocks;
	*task = (berth_layout_task){.n_layers = L,
	                            .n_kinds = at->n_kinds,
	                            .kind = kind,
	                            .limit[0].most_s = (double)at->most_ns / 1e9,
	                            .n_limits = 1,
	                            .cfg = at->cfg};
	for (int32_t k = 0; k < x->n_kinds; k++) {
		BERTH_TRY(berth_layout_kind_new(&kind[k], at->kind[k].name,
		                                at->kind[k].n_servers * at->kind[k].n_devs, L,
		                                at->most_ns > 0 ? n : 1, mem, err));
		bool measured = use_measured(step_s ? step_s + k * (L + 1) : NULL, L, n, &kind[k]);
		for (int32_t b = 0; b < n && !measured; b++)
			if (are_among(&at->kind[k], &x[b].kind[k]))
				add_batch(&x[b], batch[b], k, b, &kind[k]);
	}
	BERTH_TRY(make_links(x, batch, n, mem, task, err));
	berth_layout_choose(task);
	return BERTH_OK;
}

berth_status berth_serving_lay(const berth_serving *x, const int64_t *batch, int32_t n,
                               const berth_serving *at, const double *step_s, const berth_layers *start,
                               int32_t tries, berth_arena *mem, berth_arena *tmp, berth_layers *out,
                               berth_err *err)
{
	berth_layout_kind kind[BERTH_MOST_SERVER_KINDS];
	berth_layout_task task;
	berth_layers from = *start;
	BERTH_TRY(make_task(x, batch, n, at, step_s, mem, kind, &task, err));
	task.spare = start->n_groups > 0;
	BERTH_TRY(berth_layout_flow(&task, &from, mem, tmp, err));
	BERTH_TRY(berth_layout_search(&task, start, tries, 1, mem, tmp, out, err));
	from.bound_per_s = out->bound_per_s;
	if (from.per_s * BERTH_MORE_THAN_COPIES >= out->per_s && berth_layout_keeps(&task, &from))
		*out = from;
	out->quickest_s = berth_layout_quickest(&task, 0, NULL);
	return BERTH_OK;
}

berth_status berth_serving_value(const berth_serving *x, const int64_t *batch, int32_t n,
                                 const berth_serving *at, const double *step_s, berth_arena *mem,
                                 berth_arena *tmp, berth_layers *l, berth_err *err)
{
	berth_layout_kind kind[BERTH_MOST_SERVER_KINDS];
	berth_layout_task task;
	BERTH_TRY(make_task(x, batch, n, at, step_s, mem, kind, &task, err));
	BERTH_TRY(berth_layout_flow(&task, l, mem, tmp, err));
	task.limit[0].most_s = 0;
	return berth_layout_bound(&task, tmp, &l->bound_per_s, err);
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
			                                          plan->group[i].n, 0, 0, 0}));
	}
	return BERTH_OK;
}
