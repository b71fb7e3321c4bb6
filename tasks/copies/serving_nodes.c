/* Servers as nodes of a layout: rates of ranges of layers, by the model of times at several batches or as
 * measured; layouts that keep a limit of a sample's time. */
#include "serving.h"

#include "search.h"

/* A kind's tables, each [(n_blocks+1)^2], and by which share of the limit a range is kept short. */
typedef struct tables {
	double *per_s, *time_s, *most_per_s; /* most_per_s [n_most] */
	double *least_s;                     /* the least time at any batch; INFINITY: it cannot */
	int64_t *batch, *read_bytes;         /* that per_s is at */
	int32_t *link;                       /* whose links it has: of which of the batches */
	int32_t n_most;
	double most_ns;      /* for all blocks; INFINITY: no limit */
	const double *share; /* [n_blocks+1] sums of the first blocks' shares of that */
} tables;

/* A node that reads so many bytes and takes run_ns for a batch, at least shared_ns where it passes it on, at
 * most border_ns for that, where it is better than what is there. With all layers it passes nothing on. */
static void take_more(tables *t, int32_t L, int32_t from, int32_t to, double batch, int32_t way, int32_t link,
                      int64_t read_bytes, double run_ns, double shared_ns, double border_ns)
{
	int32_t at = from * (L + 1) + to;
	bool on = to - from < L;
	double *most = &t->most_per_s[(way < t->n_most ? way : 0) * (L + 1) * (L + 1) + at];
	double per_s = batch * 1e9 / fmax(run_ns, on ? shared_ns : 0);
	*most = fmax(*most, batch * 1e9 / run_ns);
	t->least_s[at] = fmin(t->least_s[at], run_ns / 1e9);
	if (per_s <= t->per_s[at] ||
	    run_ns + (on ? border_ns : 0) > t->most_ns * (t->share[to] - t->share[from]) * (1 + 1e-9))
		return;
	t->per_s[at] = per_s;
	t->batch[at] = (int64_t)batch;
	t->read_bytes[at] = read_bytes;
	t->link[at] = link;
	t->time_s[at] = run_ns / 1e9;
}

static void add_batch(const berth_serving *x, int64_t batch, int32_t k, int32_t way, tables *to)
{
	const berth_server_kind *d = &x->kind[k];
	int64_t shared = x->spans || d->n_servers > 1 ? d->outside_ns : 0, border = 0;
	for (int32_t o = 0; o < x->n_kinds; o++)
		border = berth_max(border, berth_serving_way_ns(x, k, o));
	for (int32_t f = 0; f < x->n_blocks; f++) {
		int64_t ns = 0, bytes = x->work_bytes, must = x->work_bytes;
		for (int32_t t = f + 1; t <= x->n_blocks && d->block_ns[t - 1] >= 0; t++) {
			ns += d->block_ns[t - 1];
			bytes += x->block_bytes[t - 1];
			must += x->block_state_bytes[t - 1];
			int64_t read = berth_serving_read_bytes(d, bytes, must);
			if (read < 0)
				break;
			take_more(to, x->n_blocks, f, t, (double)batch, way, way, read,
			          berth_serving_step_ns(d, (double)berth_max(ns, 1), read), (double)shared,
			          (double)border);
		}
	}
}

/* What is not given takes as long as the next larger number of layers; with it what is passed on. */
static bool use_measured(const double *step_s, int32_t L, int32_t link, tables *to)
{
	double now_s = 0;
	for (int32_t n = L; step_s && n > 0; n--) {
		now_s = step_s[n] > 0 ? step_s[n] : now_s;
		for (int32_t f = 0; f + n <= L && now_s > 0; f++)
			take_more(to, L, f, f + n, 1, 0, link, 0, now_s * 1e9, 0, 0);
	}
	return now_s > 0;
}

void berth_serving_share(const berth_serving *x, const double *step_s, double *sum)
{
	for (int32_t k = 0; k < x->n_kinds; k++) {
		double all = 0, first = 0;
		bool measured = false;
		for (int32_t n = 1; step_s && n <= x->n_blocks; n++)
			measured |= step_s[k * (x->n_blocks + 1) + n] > 0;
		for (int32_t b = 0; b < x->n_blocks; b++)
			all += measured ? 1 : (double)berth_max(x->kind[k].block_ns[b], 1);
		for (int32_t b = 0; b < x->n_blocks; b++) {
			first += measured ? 1 : (double)berth_max(x->kind[k].block_ns[b], 1);
			sum[b + 1] += first / all / x->n_kinds;
		}
	}
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
	task->link_s = any ? time_s : NULL;
	task->n_links = n + 1;
	return BERTH_OK;
}

/* slack: how many times its share of the limit a range may take; the tables of kind [n_kinds], and the least
 * times [n_kinds], in mem. */
static berth_status make_nodes(const berth_serving *x, const int64_t *batch, int32_t n,
                               const berth_serving *at, const double *step_s, double slack, berth_arena *mem,
                               berth_layout_kind *kind, double **least_s, berth_err *err)
{
	int32_t L = x->n_blocks, size = (L + 1) * (L + 1);
	double *share, *batches;
	BERTH_TRY_NEW(mem, L + 1, err, share);
	BERTH_TRY_NEW(mem, n, err, batches);
	berth_serving_share(at, step_s, share);
	for (int32_t b = 0; b < n; b++)
		batches[b] = (double)batch[b];
	for (int32_t k = 0; k < x->n_kinds; k++) {
		tables t = {.n_most = at->most_ns > 0 ? n : 1, .share = share};
		t.most_ns = at->most_ns > 0 ? slack * (double)at->most_ns : INFINITY;
		BERTH_TRY_NEW(mem, size, err, t.per_s, t.time_s, t.least_s);
		BERTH_TRY_NEW(mem, size, err, t.batch, t.read_bytes);
		BERTH_TRY_NEW(mem, size, err, t.link);
		least_s[k] = t.least_s;
		for (int32_t i = 0; i < size; i++)
			t.least_s[i] = INFINITY;
		BERTH_TRY_NEW(mem, t.n_most * size, err, t.most_per_s);
		bool measured = use_measured(step_s ? step_s + k * (L + 1) : NULL, L, n, &t);
		for (int32_t b = 0; b < n && !measured; b++)
			if (are_among(&at->kind[k], &x[b].kind[k]))
				add_batch(&x[b], batch[b], k, b, &t);
		kind[k] = (berth_layout_kind){at->kind[k].name, at->kind[k].n_servers * at->kind[k].n_devs,
		                              t.per_s,          t.time_s,
		                              t.most_per_s,     batches,
		                              t.n_most,         t.batch,
		                              t.link,           t.link,
		                              t.read_bytes};
		if (measured) { /* a sample's times */
			BERTH_TRY_NEW(mem, 1, err, batches);
			*batches = 1;
			kind[k].most_batch = batches;
			kind[k].n_most = 1;
		}
	}
	return BERTH_OK;
}

berth_status berth_serving_lay(const berth_serving *x, const int64_t *batch, int32_t n,
                               const berth_serving *at, const double *step_s, const berth_layers *start,
                               int32_t tries, berth_arena *mem, berth_arena *tmp, berth_layers *out,
                               berth_err *err)
{
	/* What keeps the limit unasked is taken. Else longer than their share ranges may be where others on
	 * the way are shorter; at last each keeps it. */
	static const double slacks[] = {INFINITY, 2, 1.4, 1.15, 1, 1};
	enum { N = sizeof slacks / sizeof *slacks };
	bool limited = at->most_ns > 0;
	double most_s = (double)at->most_ns / 1e9;
	berth_layout_kind kind[BERTH_MOST_SERVER_KINDS];
	berth_layers best = {0};
	double *least_s[BERTH_MOST_SERVER_KINDS], quickest_s = 0;
	for (int i = 0; i < (limited ? N : 1) && !(i == 1 && best.per_s > 0); i++) {
		if (berth_layout_enough(at->cfg, best.per_s))
			break;
		berth_search_cfg part;
		berth_layout_task task = {.n_layers = at->n_blocks,
		                          .n_kinds = at->n_kinds,
		                          .kind = kind,
		                          .aligned = limited && i == N - 1,
		                          .most_s = i > 0 ? most_s : 0,
		                          .cfg = berth_layout_part(at->cfg, limited ? N - i : 1, &part)};
		int32_t effort = i > 0 ? (3 * tries + 9) / 10 : tries;
		berth_layers now, from = *start;
		from.bound_per_s = best.bound_per_s;
		BERTH_TRY(make_nodes(x, batch, n, at, step_s, slacks[i], mem, kind, least_s, err));
		BERTH_TRY(make_links(x, batch, n, mem, &task, err));
		quickest_s = berth_layout_quickest(&task, least_s, task.link_s);
		BERTH_TRY(berth_layout_search(&task, &from, effort, 1, mem, tmp, &now, err));
		if (i == 0) {
			BERTH_TRY(berth_layout_flow(&task, &from, mem, tmp, err));
			from.bound_per_s = now.bound_per_s;
			now = from.per_s * BERTH_MORE_THAN_COPIES >= now.per_s ? from : now;
			task.most_s = most_s;
			if (limited)
				BERTH_TRY(berth_layout_bound(&task, tmp, &now.bound_per_s, err));
		}
		best.bound_per_s = now.bound_per_s;
		if (now.per_s > best.per_s && (!limited || now.time_s <= most_s * (1 + 1e-9)))
			best = now;
	}
	*out = best;
	out->quickest_s = quickest_s;
	return BERTH_OK;
}

berth_status berth_serving_value(const berth_serving *x, const int64_t *batch, int32_t n,
                                 const berth_serving *at, const double *step_s, berth_arena *mem,
                                 berth_arena *tmp, berth_layers *l, berth_err *err)
{
	berth_layout_kind kind[BERTH_MOST_SERVER_KINDS];
	double *least_s[BERTH_MOST_SERVER_KINDS];
	berth_layout_task task = {
		.n_layers = at->n_blocks, .n_kinds = at->n_kinds, .kind = kind, .cfg = at->cfg};
	BERTH_TRY(make_nodes(x, batch, n, at, step_s, INFINITY, mem, kind, least_s, err));
	BERTH_TRY(make_links(x, batch, n, mem, &task, err));
	BERTH_TRY(berth_layout_flow(&task, l, mem, tmp, err));
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
