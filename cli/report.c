/* What several verbs tell of a placement: violations, loads of devices and memory pools, models that share a
 * system, samples in flight, packed transfers, what was lost; and pages of --report. Kinds of results stand
 * before what fills them, tables for people behind. */
#include "report.h"

#include "explain.h"
#include "file.h"
#include "graph_load.h"
#include "op_times.h"
#include "print.h"
#include "say.h"
#include "system_change.h"

enum { MOST_CAUSES = 3, MOST_VIOLATIONS = 5, MOST_DEVICES = 12, MOST_MODELS = 12 };

static double bytes_or_null(int64_t bytes)
{
	return bytes >= 0 ? (double)bytes : NAN;
}

/* ---- violations ---- */

#define VIOLATION(K, IF) \
	K(TEXT, "kind", "", "see [feasibility](execution-model.md#feasibility)", \
	  berth_violation_name(v->kind)) \
	IF(v->op >= 0, TEXT, "op", "", "missing where it is of none", p->g->op_name[v->op]) \
	IF(v->dev >= 0, TEXT, "device", "", "the same", p->s->dev_name[v->dev]) \
	IF(v->pool >= 0, TEXT, "pool", "", "of `pool`: the memory pool", p->s->pool_name[v->pool]) \
	IF(v->metric >= 0, TEXT, "metric", "", "of `limit`", berth_metrics[v->metric].name) \
	IF(v->metric >= 0, NUMBER, "value", "of the metric", "of `limit`", v->value) \
	IF(v->metric >= 0, NUMBER, "most", "of the metric", "of `limit`", v->most) \
	IF(v->needed >= 0, INT, "needed", "bytes", "of `memory` and `pool`: the peak", v->needed) \
	IF(v->limit >= 0, INT, "limit", "bytes", \
	   "of `memory`: what the device may hold; of `pool`: its `bytes`", v->limit) \
	K(TEXT, "message", "", "", v->message)
RESULT_KIND(violation_kind, "Violation", "", VIOLATION);

const berth_result_list *report_violations(cli *c, const berth_problem *p, const berth_violations *list)
{
	berth_result_list *all = berth_result_list_new(&c->mem, &violation_kind);
	for (const berth_violation *v = list->item; v && v - list->item < list->n; v++)
		RESULT_ADD(all, VIOLATION);
	return all;
}

void report_print_violations(const berth_violations *list)
{
	for (int32_t i = 0; i < list->n && i < MOST_VIOLATIONS; i++)
		cli_say("  %s\n", list->item[i].message);
	if (list->n > MOST_VIOLATIONS)
		cli_say("  (and %d more)\n", list->n - MOST_VIOLATIONS);
}

berth_status report_broken(const cli *c, const char *plan, const berth_violations *list, berth_err *err)
{
	if (cli_in_words(c))
		return berth_fail(err, BERTH_EINFEASIBLE,
		                  "%s: infeasible; broken rules and limits, told above: %d", plan, list->n);
	return berth_fail(err, BERTH_EINFEASIBLE, "%s: infeasible: %s%s", plan, list->item[0].message,
	                  list->n > 1 ? " (and more)" : "");
}

/* ---- devices ---- */

#define METRICS(K, IF) \
	K(NUMBER_OR_NULL, "latency_s", "s", "null, here and below: not known", figure[BERTH_LATENCY]) \
	K(NUMBER_OR_NULL, "throughput_per_s", "1/s", \
	  "periods; with several graphs a period is a run of each", \
	  figure[BERTH_THROUGHPUT]) \
	K(NUMBER_OR_NULL, "energy_j", "J", "null too where a device has no watts", figure[BERTH_ENERGY]) \
	K(NUMBER_OR_NULL, "edp", "J s", "the same", figure[BERTH_EDP]) \
	K(NUMBER_OR_NULL, "peak_memory_bytes", "bytes", "the largest of a device or memory pool", \
	  figure[BERTH_MEMORY])
RESULT_KIND(metrics_kind, "", "", METRICS);

const berth_result *report_metrics(cli *c, const double *metric)
{
	double figure[BERTH_N_METRICS];
	for (int m = 0; m < BERTH_N_METRICS; m++)
		figure[m] = berth_metric_figure((berth_metric)m, metric[m]);
	return RESULT_NEW(&c->mem, metrics_kind, METRICS);
}

/* Sum of how long operators ran / slots, in seconds. */
static double busy_s(const berth_problem *p, const berth_timeline *t, int32_t d)
{
	return (double)t->dev_busy_ns[d] / 1e9 / p->s->dev_slots[d];
}

/* Sum of operators' own times / slots: what a sample takes of the period. */
static double load_s(const berth_problem *p, const berth_timeline *t, int32_t d)
{
	return (double)t->dev_time_ns[d] / 1e9 / p->s->dev_slots[d];
}

#define DEVICE(K, IF) \
	K(TEXT, "name", "", "", s->dev_name[d]) \
	K(NUMBER_OR_NULL, "busy_s", "s", "sum of how long its operators ran / slots", busy) \
	K(NUMBER_OR_NULL, "peak_memory_bytes", "bytes", "null: not known", peak_bytes) \
	K(NUMBER_OR_NULL, "memory_bytes", "bytes", "of the system; null: unlimited", \
	  bytes_or_null(s->dev_memory_bytes[d])) \
	IF(times, TEXT, "times", "", \
	   "what those of operators are from: `measured`, `calibrated`, `model`, `roofline`; missing: none", \
	   times)
RESULT_KIND(device_kind, "Device load", "", DEVICE);

void report_add_device(berth_result_list *all, const berth_problem *p, const int32_t *op_dev, int32_t d,
                       double busy, double peak_bytes)
{
	const berth_system *s = p->s;
	const char *times = op_dev ? berth_times_from(p, op_dev, d) : NULL;
	RESULT_ADD(all, DEVICE);
}

const berth_result_list *report_devices(cli *c, const berth_problem *p, const berth_timeline *t)
{
	berth_result_list *all = berth_result_list_new(&c->mem, &device_kind);
	for (int32_t d = 0; d < p->n_devs; d++)
		report_add_device(all, p, t->op_dev, d, t->r.runs ? busy_s(p, t, d) : NAN,
		                  t->r.runs ? (double)t->peak_bytes[d] : NAN);
	return all;
}

static report_span span_of(const berth_timeline *t, const berth_objective *o)
{
	bool period = o && berth_objective_is(o, BERTH_THROUGHPUT);
	return period ? (report_span){true, t->r.load_s, "of the period"}
	              : (report_span){false, (double)t->r.latency_ns / 1e9, "of the time"};
}

berth_status report_print_devices(cli *c, const berth_problem *p, const berth_timeline *t,
                                  const berth_objective *o, const int64_t *peak_bytes, berth_err *err)
{
	report_span span = span_of(t, o);
	const int64_t *peak = peak_bytes ? peak_bytes : t->peak_bytes;
	cli_table table;
	int32_t hidden = 0, shown = 0;
	cli_table_init(&table, &c->mem, "lrrrrrr");
	cli_table_head(&table, "device|operators|busy");
	cli_cell_text(&table, span.name);
	cli_table_head(&table, "peak memory|memory|sent");
	for (int32_t d = 0; d < p->n_devs; d++) {
		int64_t memory = p->s->dev_memory_bytes[d];
		double busy = span.period ? load_s(p, t, d) : busy_s(p, t, d);
		if (p->n_devs > MOST_DEVICES && (!t->dev_ops[d] || shown == MOST_DEVICES)) {
			hidden++;
			continue;
		}
		shown++;
		cli_cell_text(&table, p->s->dev_name[d]);
		cli_cell_int(&table, t->dev_ops[d]);
		cli_cell_seconds(&table, busy);
		cli_cell_percent(&table, span.s > 0 ? busy / span.s : NAN);
		cli_cell_bytes(&table, (double)peak[d]);
		cli_cell_bytes(&table, (double)memory);
		cli_cell_bytes(&table, (double)t->dev_sent_bytes[d]);
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	if (hidden)
		cli_say("(and %d more devices)\n", hidden);
	return BERTH_OK;
}

/* ---- models that share a system ---- */

/* When part i ends, in seconds. NAN: not known; only a simulation that ends with its last operator tells. */
static double end_s(const berth_graph_parts *parts, const berth_timeline *t, int32_t i)
{
	int64_t all = 0, end = 0;
	for (int32_t op = 0; t->r.runs && op < parts->first_op[parts->n]; op++) {
		all = t->end_ns[op] > all ? t->end_ns[op] : all;
		if (op >= parts->first_op[i] && op < parts->first_op[i + 1] && t->end_ns[op] > end)
			end = t->end_ns[op];
	}
	return t->r.runs && all == t->r.latency_ns ? (double)end / 1e9 : NAN;
}

#define MODEL(K, IF) \
	K(TEXT, "name", "", "its operators are called `name/...`", parts->name[i]) \
	K(NUMBER_OR_NULL, "end_s", "s", "when its last operator ends; null: not known", end_s(parts, t, i))
RESULT_KIND(model_kind, "Model", "", MODEL);

const berth_result_list *report_models(cli *c, const berth_graph_parts *parts, const berth_timeline *t)
{
	berth_result_list *all = berth_result_list_new(&c->mem, &model_kind);
	for (int32_t i = 0; i < parts->n; i++)
		RESULT_ADD(all, MODEL);
	return all;
}

berth_status report_print_models(cli *c, const berth_graph_parts *parts, const berth_timeline *t,
                                 berth_err *err)
{
	cli_table table;
	if (!parts->n)
		return BERTH_OK;
	cli_table_init(&table, &c->mem, "lrr");
	cli_table_head(&table, "model|operators|ends at");
	for (int32_t i = 0; i < parts->n && i < MOST_MODELS; i++) {
		double end = end_s(parts, t, i);
		cli_cell_text(&table, parts->name[i]);
		cli_cell_int(&table, parts->first_op[i + 1] - parts->first_op[i]);
		cli_cell_seconds(&table, end);
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	if (parts->n > MOST_MODELS)
		cli_say("(and %d more)\n", (int)(parts->n - MOST_MODELS));
	cli_say("\n");
	return BERTH_OK;
}

/* ---- what was lost ---- */

berth_status report_print_lost(cli *c, const berth_problem *p, const berth_timeline *t, berth_err *err)
{
	berth_explanation e;
	char cause[256], time[32], share[32];
	BERTH_TRY(berth_explain(p, t, &c->mem, &c->tmp, &e, err));
	if (!e.latency_ns)
		return BERTH_OK;
	cli_say("critical chain: computing %s (%s)%s\n",
	        berth_text_seconds(time, (double)e.compute_ns * 1e-9),
	        cli_percent(share, (double)e.compute_ns / (double)e.latency_ns), e.n ? "" : ", nothing lost");
	for (int32_t i = 0; i < e.n && i < MOST_CAUSES; i++)
		cli_say("  lost to %s: %s (%s)\n", berth_lost_text(p, &e.lost[i], cause, sizeof cause),
		        berth_text_seconds(time, (double)e.lost[i].ns * 1e-9),
		        cli_percent(share, (double)e.lost[i].ns / (double)e.latency_ns));
	return BERTH_OK;
}

/* ---- memory pools ---- */

#define POOL(K, IF) \
	K(TEXT, "name", "", "", p->s->pool_name[i]) \
	K(NUMBER_OR_NULL, "load_s", "s", "traffic at the whole bandwidth", \
	  t->r.runs ? (double)t->pool_ns[i] / 1e9 : NAN) \
	K(NUMBER_OR_NULL, "peak_memory_bytes", "bytes", "of all members together", \
	  t->r.runs ? (double)t->pool_peak_bytes[i] : NAN) \
	K(NUMBER_OR_NULL, "memory_bytes", "bytes", "`bytes` of the pool; null: unlimited", \
	  bytes_or_null(p->s->pool_bytes[i]))
RESULT_KIND(pool_kind, "Pool load", "", POOL);

const berth_result_list *report_pools(cli *c, const berth_problem *p, const berth_timeline *t)
{
	berth_result_list *all = berth_result_list_new(&c->mem, &pool_kind);
	for (int32_t i = 0; i < p->n_pools; i++)
		RESULT_ADD(all, POOL);
	return all;
}

berth_status report_print_pools(cli *c, const berth_problem *p, const berth_timeline *t,
                                const berth_objective *o, berth_err *err)
{
	report_span span = span_of(t, o);
	cli_table table;
	if (!p->n_pools)
		return BERTH_OK;
	cli_say("\n");
	cli_table_init(&table, &c->mem, "lrrrr");
	cli_table_head(&table, "memory pool|load");
	cli_cell_text(&table, span.name);
	cli_table_head(&table, "peak memory|memory");
	for (int32_t i = 0; i < p->n_pools; i++) {
		double load = (double)t->pool_ns[i] / 1e9;
		int64_t memory = p->s->pool_bytes[i];
		cli_cell_text(&table, p->s->pool_name[i]);
		cli_cell_seconds(&table, load);
		cli_cell_percent(&table, span.s > 0 ? load / span.s : NAN);
		cli_cell_bytes(&table, (double)t->pool_peak_bytes[i]);
		cli_cell_bytes(&table, (double)memory);
	}
	return cli_table_print(&table, CLI_AS_TEXT, err);
}

berth_status report_print_pools_of(cli *c, const berth_system *s, berth_err *err)
{
	cli_table table;
	if (!s->n_pools)
		return BERTH_OK;
	cli_say("\n");
	cli_table_init(&table, &c->mem, "lrrl");
	cli_table_head(&table, "memory pool|bytes/s|memory|devices");
	for (int32_t i = 0; i < s->n_pools; i++) {
		/* Names of the members, with commas. */
		const char *text = "";
		for (int32_t d = 0; d < s->n_devs && text; d++)
			if (s->dev_pool[d] == i)
				text = berth_arena_printf(&c->mem, "%s%s%s", text, *text ? ", " : "",
				                          s->dev_name[d]);
		const char *names = text;
		BERTH_TRY(berth_got(names, err));
		cli_cell_text(&table, s->pool_name[i]);
		cli_cell_bytes(&table, s->pool_bandwidth[i]);
		cli_cell_bytes(&table, (double)s->pool_bytes[i]);
		cli_cell_text(&table, names);
	}
	return cli_table_print(&table, CLI_AS_TEXT, err);
}

/* ---- packed transfers ---- */

static bool goes_packed(const berth_problem *p, const berth_sim_hop *h)
{
	return berth_hop_packed(p->s, h->link, (double)p->g->tensor_bytes[h->tensor]);
}

#define HOP(K, IF) \
	K(TEXT, "op", "", "producer", p->g->op_name[p->g->tensor_producer[hop->tensor]]) \
	K(TEXT, "from", "", "", p->s->dev_name[p->s->link_from[hop->link]]) \
	K(TEXT, "to", "", "", p->s->dev_name[p->s->link_to[hop->link]]) \
	K(INT, "bytes", "bytes", "before", p->g->tensor_bytes[hop->tensor])
static RESULT_FLAT_KIND(hop_kind, "", "", HOP);

#define PACKED(K, IF) \
	K(INT, "factor", "", "", factor) \
	K(NUMBER, "error", "", \
	  "by which a number is off at most: of itself (2x), of its tensor's largest (4x, 8x)", \
	  berth_packed_error(factor)) \
	K(LIST(hop_kind), "packed", "", "hops that go packed", all)
RESULT_KIND(packed_kind, "", "", PACKED);

const berth_result *report_packed(cli *c, const berth_problem *p, const berth_timeline *t)
{
	int factor;
	if (cli_compress_factor(c, &factor, NULL) != BERTH_OK || factor == 0)
		return NULL;
	berth_result_list *all = berth_result_list_new(&c->mem, &hop_kind);
	for (const berth_sim_hop *hop = t->hops; hop && (size_t)(hop - t->hops) < t->n_hops; hop++)
		if (goes_packed(p, hop))
			RESULT_ADD(all, HOP);
	return RESULT_NEW(&c->mem, packed_kind, PACKED);
}

void report_print_packed(const cli *c, const berth_problem *p, const berth_timeline *t)
{
	int factor, n = 0;
	double bytes = 0;
	char a[32];
	if (cli_compress_factor(c, &factor, NULL) != BERTH_OK || factor == 0)
		return;
	for (size_t h = 0; h < t->n_hops; h++)
		if (goes_packed(p, &t->hops[h])) {
			n++;
			bytes += (double)p->g->tensor_bytes[t->hops[h].tensor];
		}
	if (n == 0) {
		cli_say("none of %d transfers is packed\n", (int)t->n_hops);
		return;
	}
	cli_say("%d of %d transfers are packed, %s as 1/%d of it; a number is off by %.2g of %s at most\n", n,
	        (int)t->n_hops, berth_text_bytes(a, bytes), factor, berth_packed_error(factor),
	        factor == 2 ? "itself" : "its tensor's largest");
}

/* ---- samples in flight ---- */

berth_status report_pipeline_find(cli *c, const berth_problem *p, const berth_timeline *t,
                                  const berth_objective *o, report_pipeline *out, berth_err *err)
{
	report_pipeline x = {.told = t->r.runs && berth_objective_is(o, BERTH_THROUGHPUT) &&
	                             berth_pipeline_defined(p)};
	if (x.told)
		BERTH_TRY(berth_pipeline_new(p, t, &c->mem, &c->tmp, &x.x, err));
	x.told = x.told && x.x.period_ns > 0;
	*out = x;
	return BERTH_OK;
}

#define STAGE(K, IF) \
	K(TEXT, "name", "", "", p->s->dev_name[d]) \
	K(INT, "peak_memory_bytes", "bytes", "of all of them", x->x.peak_bytes[d])
static RESULT_KIND(stage_kind, "", "", STAGE);

#define PIPELINE(K, IF) \
	K(NS, "period_s", "s", "from sample to sample", x->x.period_ns) \
	K(NS, "latency_s", "s", "of one among the others", x->x.latency_ns) \
	K(INT, "samples_in_flight", "", "at most", x->x.in_flight) \
	K(BOOL, "fits", "", "all of them, in what devices may hold", x->x.fits) \
	K(LIST(stage_kind), "devices", "", "", devices)
RESULT_KIND(pipeline_kind, "", "", PIPELINE);

const berth_result *report_pipeline_result(cli *c, const berth_problem *p, const report_pipeline *x)
{
	if (!x->told)
		return NULL;
	berth_result_list *devices = berth_result_list_new(&c->mem, &stage_kind);
	for (int32_t d = 0; d < p->n_devs; d++)
		RESULT_ADD(devices, STAGE);
	return RESULT_NEW(&c->mem, pipeline_kind, PIPELINE);
}

void report_print_pipeline(const berth_problem *p, const report_pipeline *x)
{
	char a[32], b[32];
	if (!x->told)
		return;
	cli_say("\n%lld sample%s in flight, each for %s; peak memory is that of all of them\n",
	        (long long)x->x.in_flight, x->x.in_flight == 1 ? "" : "s",
	        berth_text_seconds(a, (double)x->x.latency_ns / 1e9));
	for (int32_t d = 0; d < p->n_devs; d++)
		if (p->dev_limit_bytes[d] >= 0 && x->x.peak_bytes[d] > p->dev_limit_bytes[d])
			cli_say("  too much for %s, which may hold %s: this throughput needs %s there\n",
			        p->s->dev_name[d], berth_text_bytes(a, (double)p->dev_limit_bytes[d]),
			        berth_text_bytes(b, (double)x->x.peak_bytes[d]));
}

/* ---- pages ---- */

berth_status cli_report_open(cli *c, berth_page *page, const char *kind, const char *graph,
                             const char *system, const char *unit, const berth_result *document,
                             berth_err *err)
{
	const char *title = graph ? berth_arena_printf(&c->mem, "%s on %s", graph, system)
	                          : berth_arena_printf(&c->mem, "berth %s", kind);
	BERTH_TRY(berth_got(title, err));
	berth_page_open(page, kind, title, &c->mem);
	berth_json_put_string(&page->w, "unit", unit);
	berth_result_put(&page->w, "document", berth_result_object(document));
	return BERTH_OK;
}

berth_status cli_report_write(cli *c, berth_page *page, const char *path, berth_err *err)
{
	const char *text;
	size_t len;
	berth_json_put_strings(&page->w, "warnings", c->warned.text, c->warned.n);
	BERTH_TRY(berth_page_done(page, &c->mem, &text, &len, err));
	return berth_file_write(path, text, len, err);
}
