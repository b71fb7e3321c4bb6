/* What a page tells of a placement: operators and hops in time, memory, the graph. Long lists are columns: a
 * list for each figure. */
#include "page_plan.h"

#include "explain.h"
#include "explain_op.h"
#include "op_times.h"
#include "page_graph.h"
#include "sort.h"

enum { N_PARTS = 1000 }; /* of the time, in which operators that are not shown are summed up */

typedef struct plan {
	const berth_problem *p;
	const berth_timeline *t;
	berth_arena *mem, *tmp;
	int32_t *op; /* [n_shown] operators, by start */
	int32_t n_shown;
	int32_t *op_row;   /* [n_ops] its place there; -1: not shown */
	int64_t *slack_ns; /* [n_ops] */
	page_left left;
} plan;

/* ---- which operators and hops ---- */

/* Operators or hops, when they run. */
typedef struct spans {
	const int64_t *start_ns, *end_ns; /* [n] */
} spans;

static int longest_first(const void *ctx, int32_t a, int32_t b)
{
	const spans *x = ctx;
	int64_t time_a = x->end_ns[a] - x->start_ns[a], time_b = x->end_ns[b] - x->start_ns[b];
	return time_a != time_b ? (time_a > time_b ? -1 : 1) : BERTH_COMPARE(a, b);
}

static int by_start(const void *ctx, int32_t a, int32_t b)
{
	const spans *x = ctx;
	if (x->start_ns[a] != x->start_ns[b])
		return x->start_ns[a] < x->start_ns[b] ? -1 : 1;
	return BERTH_COMPARE(a, b);
}

/* The longest of n, at most `most`: out [n], by start. Returns how many. */
static berth_status choose(const spans *x, size_t n, size_t most, berth_arena *tmp, int32_t **out,
                           size_t *chosen, berth_err *err)
{
	int32_t *list, *scratch;
	BERTH_TRY_NEW(tmp, n, err, list, scratch);
	for (size_t i = 0; i < n; i++)
		list[i] = (int32_t)i;
	*chosen = n < most ? n : most;
	if (*chosen < n)
		berth_sort(list, n, scratch, longest_first, x);
	berth_sort(list, *chosen, scratch, by_start, x);
	*out = list;
	return BERTH_OK;
}

static berth_status choose_ops(plan *x, berth_err *err)
{
	const spans all = {x->t->start_ns, x->t->end_ns};
	int32_t n = x->p->n_ops;
	size_t chosen;
	char a[32], b[32], c[32];
	BERTH_TRY_NEW(x->tmp, n, err, x->op_row);
	BERTH_TRY(choose(&all, (size_t)n, BERTH_PAGE_OPS, x->tmp, &x->op, &chosen, err));
	x->n_shown = (int32_t)chosen;
	if (x->n_shown < n)
		page_left_add(
			&x->left, x->mem,
			"%s operators: the schedule and the list show the %s longest one by one. The other "
			"%s stand in the schedule as shares of busy time.",
			page_count(a, n), page_count(b, x->n_shown), page_count(c, n - x->n_shown));
	for (int32_t op = 0; op < n; op++)
		x->op_row[op] = -1;
	for (int32_t i = 0; i < x->n_shown; i++)
		x->op_row[x->op[i]] = i;
	return BERTH_OK;
}

/* ---- devices, channels ---- */

static void put_bytes(berth_json_out *w, const char *key, int64_t bytes)
{
	berth_json_put_number(w, key, bytes >= 0 ? (double)bytes : NAN);
}

static void put_devices(berth_json_out *w, const plan *x)
{
	const berth_system *s = x->p->s;
	berth_json_open(w, "devices", '[');
	for (int32_t d = 0; d < s->n_devs; d++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", s->dev_name[d]);
		berth_json_put_string(w, "kind", s->dev_kind[d]);
		berth_json_put_int(w, "slots", s->dev_slots[d]);
		if (berth_times_from(x->p, x->t->op_dev, d))
			berth_json_put_string(w, "times", berth_times_from(x->p, x->t->op_dev, d));
		berth_json_put_int(w, "ops", x->t->dev_ops[d]);
		berth_json_put_number(w, "busy_s", (double)x->t->dev_time_ns[d] / 1e9 / s->dev_slots[d]);
		berth_json_put_int(w, "peak_memory_bytes", x->t->peak_bytes[d]);
		put_bytes(w, "memory_bytes", s->dev_memory_bytes[d]);
		put_bytes(w, "limit_bytes", x->p->dev_limit_bytes[d]);
		berth_json_put_int(w, "sent_bytes", x->t->dev_sent_bytes[d]);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

/* "memory_pools": as in documents of --json; nothing without pools. */
static void put_pools(berth_json_out *w, const plan *x)
{
	const berth_system *s = x->p->s;
	if (!x->p->n_pools)
		return;
	berth_json_open(w, "memory_pools", '[');
	for (int32_t i = 0; i < x->p->n_pools; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", s->pool_name[i]);
		berth_json_put_number(w, "load_s", (double)x->t->pool_ns[i] / 1e9);
		berth_json_put_number(w, "peak_memory_bytes", (double)x->t->pool_peak_bytes[i]);
		put_bytes(w, "memory_bytes", s->pool_bytes[i]);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

/* ---- operators ---- */

/* A list for each of the keys, of rows [n][n_keys]. */
static void put_columns(berth_json_out *w, const char *const *key, int n_keys, const int64_t *row, int32_t n)
{
	for (int k = 0; k < n_keys; k++) {
		berth_json_open(w, key[k], '[');
		for (int32_t i = 0; i < n; i++)
			berth_json_put_int(w, NULL, row[(ptrdiff_t)i * n_keys + k]);
		berth_json_close(w, ']');
	}
}

static berth_status put_ops(berth_json_out *w, const plan *x, berth_err *err)
{
	static const char *const key[] = {"type", "device", "start_ns", "time_ns", "slack_ns"};
	enum { N_KEYS = sizeof key / sizeof *key };
	const berth_graph *g = x->p->g;
	const berth_timeline *t = x->t;
	int64_t(*row)[N_KEYS];
	BERTH_TRY_NEW(x->tmp, x->n_shown, err, row);
	berth_json_put_strings(w, "types", g->type_name, g->n_types);
	berth_json_open(w, "ops", '{');
	berth_json_open(w, "name", '[');
	for (int32_t i = 0; i < x->n_shown; i++) {
		int32_t op = x->op[i];
		const int64_t figure[] = {g->op_type[op], t->op_dev[op], t->start_ns[op],
		                          t->end_ns[op] - t->start_ns[op], x->slack_ns[op]};
		memcpy(row[i], figure, sizeof figure);
		berth_json_put_string(w, NULL, g->op_name[op]);
	}
	berth_json_close(w, ']');
	put_columns(w, key, N_KEYS, *row, x->n_shown);
	berth_json_close(w, '}');
	return BERTH_OK;
}

/* Time of [start, end) in each part of the run, added to part [N_PARTS]. */
static void add_parts(double *part, double part_ns, int64_t start_ns, int64_t end_ns)
{
	for (int i = (int)((double)start_ns / part_ns); i < N_PARTS && (double)i * part_ns < (double)end_ns;
	     i++) {
		double from = fmax((double)start_ns, i * part_ns),
		       until = fmin((double)end_ns, (i + 1) * part_ns);
		part[i] += fmax(until - from, 0);
	}
}

/* "rest": for each device thousandths of each part's time in which it is busy with what is not shown. */
static berth_status put_rest(berth_json_out *w, const plan *x, berth_err *err)
{
	double *part, part_ns = fmax((double)x->t->r.latency_ns / N_PARTS, 1);
	BERTH_TRY_NEW(x->tmp, (size_t)x->p->n_devs * N_PARTS, err, part);
	for (int32_t op = 0; op < x->p->n_ops; op++)
		if (x->op_row[op] < 0)
			add_parts(part + (size_t)x->t->op_dev[op] * N_PARTS, part_ns, x->t->start_ns[op],
			          x->t->end_ns[op]);
	berth_json_open(w, "rest", '[');
	for (int32_t d = 0; d < x->p->n_devs; d++) {
		berth_json_open(w, NULL, '[');
		for (int i = 0; i < N_PARTS; i++)
			berth_json_put_int(w, NULL,
			                   llround(1000 * part[(size_t)d * N_PARTS + (size_t)i] / part_ns /
			                           x->p->s->dev_slots[d]));
		berth_json_close(w, ']');
	}
	berth_json_close(w, ']');
	return BERTH_OK;
}

/* ---- transfers ---- */

static berth_status put_hops(berth_json_out *w, const plan *x, const int32_t *hop, int32_t n, berth_err *err)
{
	static const char *const key[] = {"op",       "from",    "to",        "destination", "channel",
	                                  "start_ns", "time_ns", "waited_ns", "bytes"};
	enum { N_KEYS = sizeof key / sizeof *key };
	const berth_graph *g = x->p->g;
	const berth_system *s = x->p->s;
	int64_t(*row)[N_KEYS];
	BERTH_TRY_NEW(x->tmp, n, err, row);
	berth_json_open(w, "transfers", '{');
	berth_json_open(w, "producer", '[');
	for (int32_t i = 0; i < n; i++) {
		const berth_sim_hop *h = &x->t->hops[hop[i]];
		int32_t op = g->tensor_producer[h->tensor];
		const int64_t figure[] = {x->op_row[op],
		                          s->link_from[h->link],
		                          s->link_to[h->link],
		                          h->dest,
		                          s->link_channel[h->link],
		                          h->start_ns,
		                          h->end_ns - h->start_ns,
		                          h->start_ns - h->request_ns,
		                          g->tensor_bytes[h->tensor]};
		memcpy(row[i], figure, sizeof figure);
		berth_json_put_string(w, NULL, x->op_row[op] < 0 ? g->op_name[op] : NULL);
	}
	berth_json_close(w, ']');
	put_columns(w, key, N_KEYS, *row, n);
	berth_json_close(w, '}');
	return BERTH_OK;
}

static berth_status put_transfers(berth_json_out *w, plan *x, berth_err *err)
{
	size_t all = x->t->n_hops, n;
	int32_t *hop;
	int64_t *start_ns, *end_ns;
	char a[32], b[32];
	BERTH_TRY_NEW(x->tmp, all, err, start_ns, end_ns);
	for (size_t i = 0; i < all; i++) {
		start_ns[i] = x->t->hops[i].start_ns;
		end_ns[i] = x->t->hops[i].end_ns;
	}
	const spans run = {start_ns, end_ns};
	BERTH_TRY(choose(&run, all, BERTH_PAGE_HOPS, x->tmp, &hop, &n, err));
	if (n < all)
		page_left_add(&x->left, x->mem, "Of %s transfers the %s longest are shown.",
		              page_count(a, (int64_t)all), page_count(b, (int64_t)n));
	berth_json_put_int(w, "n_transfers", (int64_t)all);
	return put_hops(w, x, hop, (int32_t)n, err);
}

/* ---- memory ---- */

static berth_status put_memory(berth_json_out *w, plan *x, berth_err *err)
{
	berth_memory_curve *c;
	int32_t n_devs = x->p->n_devs,
		parts = n_devs <= 10 ? BERTH_PAGE_STEPS / 2 : 10 * BERTH_PAGE_STEPS / 2 / n_devs;
	int64_t all = 0, kept = 0;
	char a[32], b[32];
	BERTH_TRY_NEW(x->mem, n_devs, err, c);
	BERTH_TRY(berth_memory_curves(x->p, x->t->op_dev, x->t->op_order, x->mem, x->tmp, c, err));
	berth_json_open(w, "memory", '[');
	for (int32_t d = 0; d < n_devs; d++) {
		all += c[d].n;
		berth_memory_curve_thin(&c[d], x->t->r.latency_ns, parts);
		kept += c[d].n;
		static const char *const at = "at_ns", *const bytes = "bytes";
		berth_json_open(w, NULL, '{');
		put_columns(w, &at, 1, c[d].at_ns, c[d].n);
		put_columns(w, &bytes, 1, c[d].bytes, c[d].n);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	if (kept < all)
		page_left_add(
			&x->left, x->mem,
			"Of %s changes of memory %s are shown: of each %s of the time the largest sum and "
			"the last one.",
			page_count(a, all), page_count(b, kept), parts == 1000 ? "thousandth" : "part");
	return BERTH_OK;
}

/* ---- where the time goes ---- */

static berth_status put_chain(berth_json_out *w, const plan *x, berth_err *err)
{
	berth_explanation e;
	char text[256];
	BERTH_TRY(berth_explain(x->p, x->t, x->mem, x->tmp, &e, err));
	berth_json_put_ns(w, "latency_s", e.latency_ns);
	berth_json_open(w, "chain", '[');
	for (int32_t i = -1; i < e.n; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "what",
		                      i < 0 ? "computing"
		                            : berth_lost_text(x->p, &e.lost[i], text, sizeof text));
		berth_json_put_ns(w, "time_s", i < 0 ? e.compute_ns : e.lost[i].ns);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	return BERTH_OK;
}

/* ---- all of it ---- */

berth_status berth_page_put_plan(berth_json_out *w, const berth_problem *p, const berth_timeline *t,
                                 berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	plan x = {.p = p, .t = t, .mem = mem, .tmp = tmp};
	BERTH_TRY(choose_ops(&x, err));
	BERTH_TRY_NEW(x.tmp, x.p->n_ops, err, x.slack_ns);
	BERTH_TRY(berth_slack(x.p, x.t, x.slack_ns, x.mem, err));
	berth_json_open(w, "plan", '{');
	BERTH_TRY(put_chain(w, &x, err));
	berth_json_put_int(w, "n_ops", x.p->n_ops);
	put_devices(w, &x);
	put_pools(w, &x);
	const berth_system *s = x.p->s;
	berth_json_open(w, "channels", '[');
	for (int32_t c = 0; c < s->n_channels; c++) {
		int32_t l = 0;
		while (s->link_channel[l] != c)
			l++;
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", s->channel_name[c]);
		berth_json_put_int(w, "from", s->link_from[l]);
		berth_json_put_int(w, "to", s->link_to[l]);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	BERTH_TRY(put_ops(w, &x, err));
	if (x.n_shown < x.p->n_ops)
		BERTH_TRY(put_rest(w, &x, err));
	BERTH_TRY(put_transfers(w, &x, err));
	BERTH_TRY(put_memory(w, &x, err));
	BERTH_TRY(page_put_graph(w, x.p, x.t, x.op_row, x.n_shown < x.p->n_ops, &x.left, x.mem, x.tmp,
	                         err));
	BERTH_TRY(page_left_put(w, &x.left, err));
	berth_json_close(w, '}');
	return BERTH_OK;
}
