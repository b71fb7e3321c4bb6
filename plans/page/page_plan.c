/* What a page tells of a placement; see page_plan.h. Long lists are columns: a list for each figure. */
#include "page_plan.h"

#include "explain.h"
#include "explain_op.h"
#include "page_graph.h"
#include "sort.h"
#include "timeline.h"

#include <math.h>
#include <stdio.h>

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

/* ---- which operators ---- */

static int64_t time_of(const berth_timeline *t, int32_t op)
{
	return t->end_ns[op] - t->start_ns[op];
}

static int longest_first(const void *ctx, int32_t a, int32_t b)
{
	int64_t x = time_of(ctx, a), y = time_of(ctx, b);
	return x != y ? (x > y ? -1 : 1) : (a > b) - (a < b);
}

static int by_start(const void *ctx, int32_t a, int32_t b)
{
	const berth_timeline *t = ctx;
	if (t->start_ns[a] != t->start_ns[b])
		return t->start_ns[a] < t->start_ns[b] ? -1 : 1;
	return (a > b) - (a < b);
}

static berth_status choose_ops(plan *x, berth_err *err)
{
	int32_t n = x->p->n_ops, *scratch;
	char a[32], b[32], c[32];
	BERTH_TRY_NEW(x->tmp, n, err, x->op, x->op_row, scratch);
	for (int32_t op = 0; op < n; op++) {
		x->op[op] = op;
		x->op_row[op] = -1;
	}
	x->n_shown = n < BERTH_PAGE_OPS ? n : BERTH_PAGE_OPS;
	if (x->n_shown < n) {
		berth_sort(x->op, (size_t)n, scratch, longest_first, x->t);
		page_left_add(
			&x->left, x->mem,
			"%s operators: the schedule and the list show the %s longest one by one. The other "
			"%s stand in the schedule as shares of busy time.",
			page_count(a, n), page_count(b, x->n_shown), page_count(c, n - x->n_shown));
	}
	berth_sort(x->op, (size_t)x->n_shown, scratch, by_start, x->t);
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

static void put_channels(berth_json_out *w, const plan *x)
{
	const berth_system *s = x->p->s;
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
}

/* ---- operators ---- */

static void put_column(berth_json_out *w, const char *key, const plan *x,
                       int64_t (*figure)(const plan *, int32_t))
{
	berth_json_open(w, key, '[');
	for (int32_t i = 0; i < x->n_shown; i++)
		berth_json_put_int(w, NULL, figure(x, x->op[i]));
	berth_json_close(w, ']');
}

static int64_t type_of(const plan *x, int32_t op)
{
	return x->p->g->op_type[op];
}
static int64_t dev_of(const plan *x, int32_t op)
{
	return x->t->op_dev[op];
}
static int64_t start_of(const plan *x, int32_t op)
{
	return x->t->start_ns[op];
}
static int64_t length_of(const plan *x, int32_t op)
{
	return time_of(x->t, op);
}
static int64_t slack_of(const plan *x, int32_t op)
{
	return x->slack_ns[op];
}

static void put_ops(berth_json_out *w, const plan *x)
{
	const berth_graph *g = x->p->g;
	berth_json_open(w, "types", '[');
	for (int32_t i = 0; i < g->n_types; i++)
		berth_json_put_string(w, NULL, g->type_name[i]);
	berth_json_close(w, ']');
	berth_json_open(w, "ops", '{');
	berth_json_open(w, "name", '[');
	for (int32_t i = 0; i < x->n_shown; i++)
		berth_json_put_string(w, NULL, g->op_name[x->op[i]]);
	berth_json_close(w, ']');
	put_column(w, "type", x, type_of);
	put_column(w, "device", x, dev_of);
	put_column(w, "start_ns", x, start_of);
	put_column(w, "time_ns", x, length_of);
	put_column(w, "slack_ns", x, slack_of);
	berth_json_close(w, '}');
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

static int hops_longest_first(const void *ctx, int32_t a, int32_t b)
{
	const berth_sim_hop *h = ctx;
	int64_t x = h[a].end_ns - h[a].start_ns, y = h[b].end_ns - h[b].start_ns;
	return x != y ? (x > y ? -1 : 1) : (a > b) - (a < b);
}

static int hops_by_start(const void *ctx, int32_t a, int32_t b)
{
	const berth_sim_hop *h = ctx;
	if (h[a].start_ns != h[b].start_ns)
		return h[a].start_ns < h[b].start_ns ? -1 : 1;
	return (a > b) - (a < b);
}

typedef enum hop_figure {
	HOP_OP,
	HOP_FROM,
	HOP_TO,
	HOP_FOR,
	HOP_CHANNEL,
	HOP_START,
	HOP_TIME,
	HOP_WAITED,
	HOP_BYTES,
	N_HOP_FIGURES
} hop_figure;

static int64_t hop_value(const plan *x, const berth_sim_hop *h, hop_figure what)
{
	const berth_system *s = x->p->s;
	switch (what) {
	case HOP_OP:
		return x->op_row[x->p->g->tensor_producer[h->tensor]];
	case HOP_FROM:
		return s->link_from[h->link];
	case HOP_TO:
		return s->link_to[h->link];
	case HOP_FOR:
		return h->dest;
	case HOP_CHANNEL:
		return s->link_channel[h->link];
	case HOP_START:
		return h->start_ns;
	case HOP_TIME:
		return h->end_ns - h->start_ns;
	case HOP_WAITED:
		return h->start_ns - h->request_ns;
	case HOP_BYTES:
		return x->p->g->tensor_bytes[h->tensor];
	case N_HOP_FIGURES:
		break;
	}
	return 0;
}

static void put_hop_columns(berth_json_out *w, const plan *x, const int32_t *hop, int32_t n)
{
	static const char *const key[N_HOP_FIGURES] = {
		"op", "from", "to", "destination", "channel", "start_ns", "time_ns", "waited_ns", "bytes"};
	berth_json_open(w, "transfers", '{');
	berth_json_open(w, "producer", '[');
	for (int32_t i = 0; i < n; i++) {
		int32_t op = x->p->g->tensor_producer[x->t->hops[hop[i]].tensor];
		berth_json_put_string(w, NULL, x->op_row[op] < 0 ? x->p->g->op_name[op] : NULL);
	}
	berth_json_close(w, ']');
	for (int k = 0; k < N_HOP_FIGURES; k++) {
		berth_json_open(w, key[k], '[');
		for (int32_t i = 0; i < n; i++)
			berth_json_put_int(w, NULL, hop_value(x, &x->t->hops[hop[i]], (hop_figure)k));
		berth_json_close(w, ']');
	}
	berth_json_close(w, '}');
}

static berth_status put_transfers(berth_json_out *w, plan *x, berth_err *err)
{
	size_t all = x->t->n_hops, n = all < BERTH_PAGE_HOPS ? all : BERTH_PAGE_HOPS;
	int32_t *hop, *scratch;
	char a[32], b[32];
	BERTH_TRY_NEW(x->tmp, all, err, hop, scratch);
	for (size_t i = 0; i < all; i++)
		hop[i] = (int32_t)i;
	if (n < all) {
		berth_sort(hop, all, scratch, hops_longest_first, x->t->hops);
		page_left_add(&x->left, x->mem, "Of %s transfers the %s longest are shown.",
		              page_count(a, (int64_t)all), page_count(b, (int64_t)n));
	}
	berth_sort(hop, n, scratch, hops_by_start, x->t->hops);
	berth_json_put_int(w, "n_transfers", (int64_t)all);
	put_hop_columns(w, x, hop, (int32_t)n);
	return BERTH_OK;
}

/* ---- memory ---- */

static void put_curve(berth_json_out *w, const berth_memory_curve *c)
{
	berth_json_open(w, NULL, '{');
	berth_json_open(w, "at_ns", '[');
	for (int32_t i = 0; i < c->n; i++)
		berth_json_put_int(w, NULL, c->at_ns[i]);
	berth_json_close(w, ']');
	berth_json_open(w, "bytes", '[');
	for (int32_t i = 0; i < c->n; i++)
		berth_json_put_int(w, NULL, c->bytes[i]);
	berth_json_close(w, ']');
	berth_json_close(w, '}');
}

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
		put_curve(w, &c[d]);
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
	put_channels(w, &x);
	put_ops(w, &x);
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
