/* Parts of reports; see report.h. */
#include "report.h"

#include "explain.h"
#include "print.h"
#include "say.h"
#include "text.h"

#include <math.h>

enum { MOST_CAUSES = 3, MOST_VIOLATIONS = 5, MOST_DEVICES = 12, MOST_MODELS = 12 };

void report_put_violations(berth_json_out *w, const berth_problem *p, const berth_violations *list)
{
	berth_json_open(w, "violations", '[');
	for (int32_t i = 0; i < list->n; i++) {
		const berth_violation *v = &list->item[i];
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "kind", berth_violation_name(v->kind));
		if (v->op >= 0)
			berth_json_put_string(w, "op", p->g->op_name[v->op]);
		if (v->dev >= 0)
			berth_json_put_string(w, "device", p->s->dev_name[v->dev]);
		if (v->pool >= 0)
			berth_json_put_string(w, "pool", p->s->pool_name[v->pool]);
		if (v->metric >= 0) {
			berth_json_put_string(w, "metric", berth_metrics[v->metric].name);
			berth_json_put_number(w, "value", v->value);
			berth_json_put_number(w, "most", v->most);
		}
		if (v->needed >= 0)
			berth_json_put_int(w, "needed", v->needed);
		if (v->limit >= 0)
			berth_json_put_int(w, "limit", v->limit);
		berth_json_put_string(w, "message", v->message);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

void report_put_metrics(berth_json_out *w, const double *metric)
{
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (berth_metrics[m].key)
			berth_json_put_number(w, berth_metrics[m].key,
			                      berth_metric_figure((berth_metric)m, metric[m]));
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

void report_put_device(berth_json_out *w, const berth_system *s, int32_t d, double busy_s, double peak_bytes)
{
	int64_t memory = s->dev_memory_bytes[d];
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", s->dev_name[d]);
	berth_json_put_number(w, "busy_s", busy_s);
	berth_json_put_number(w, "peak_memory_bytes", peak_bytes);
	berth_json_put_number(w, "memory_bytes", memory >= 0 ? (double)memory : NAN);
	berth_json_close(w, '}');
}

void report_put_devices(berth_json_out *w, const berth_problem *p, const berth_timeline *t)
{
	berth_json_open(w, "devices", '[');
	for (int32_t d = 0; d < p->n_devs; d++)
		report_put_device(w, p->s, d, t->r.runs ? busy_s(p, t, d) : NAN,
		                  t->r.runs ? (double)t->peak_bytes[d] : NAN);
	berth_json_close(w, ']');
}

report_span report_span_of(const berth_timeline *t, const berth_objective *o)
{
	bool period = o && berth_objective_is(o, BERTH_THROUGHPUT);
	return period ? (report_span){true, t->r.load_s, "of the period"}
	              : (report_span){false, (double)t->r.latency_ns / 1e9, "of the time"};
}

berth_status report_print_devices(cli *c, const berth_problem *p, const berth_timeline *t,
                                  const berth_objective *o, const int64_t *peak_bytes, berth_err *err)
{
	report_span span = report_span_of(t, o);
	const int64_t *peak = peak_bytes ? peak_bytes : t->peak_bytes;
	cli_table table;
	char a[32], b[32];
	int32_t hidden = 0, shown = 0;
	cli_table_init(&table, &c->mem, "lrrrrrr");
	cli_table_head(&table, "device|operators|busy");
	cli_cell(&table, "%s", span.name);
	cli_table_head(&table, "peak memory|memory|sent");
	for (int32_t d = 0; d < p->n_devs; d++) {
		int64_t memory = p->s->dev_memory_bytes[d];
		double busy = span.period ? load_s(p, t, d) : busy_s(p, t, d);
		if (p->n_devs > MOST_DEVICES && (!t->dev_ops[d] || shown == MOST_DEVICES)) {
			hidden++;
			continue;
		}
		shown++;
		cli_cell(&table, "%s", p->s->dev_name[d]);
		cli_cell(&table, "%d", t->dev_ops[d]);
		cli_cell(&table, "%s", berth_text_seconds(a, busy));
		cli_cell(&table, "%s", cli_percent(b, span.s > 0 ? busy / span.s : NAN));
		cli_cell(&table, "%s", berth_text_bytes(a, (double)peak[d]));
		cli_cell(&table, "%s", memory >= 0 ? berth_text_bytes(b, (double)memory) : "-");
		cli_cell(&table, "%s", berth_text_bytes(a, (double)t->dev_sent_bytes[d]));
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	if (hidden)
		cli_say("(and %d more devices)\n", hidden);
	return BERTH_OK;
}

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

void report_put_models(berth_json_out *w, const berth_graph_parts *parts, const berth_timeline *t)
{
	if (!parts->n)
		return;
	berth_json_open(w, "models", '[');
	for (int32_t i = 0; i < parts->n; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", parts->name[i]);
		berth_json_put_number(w, "end_s", end_s(parts, t, i));
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

berth_status report_print_models(cli *c, const berth_graph_parts *parts, const berth_timeline *t,
                                 berth_err *err)
{
	cli_table table;
	char buf[32];
	if (!parts->n)
		return BERTH_OK;
	cli_table_init(&table, &c->mem, "lrr");
	cli_table_head(&table, "model|operators|ends at");
	for (int32_t i = 0; i < parts->n && i < MOST_MODELS; i++) {
		double end = end_s(parts, t, i);
		cli_cell(&table, "%s", parts->name[i]);
		cli_cell(&table, "%d", parts->first_op[i + 1] - parts->first_op[i]);
		cli_cell(&table, "%s", isnan(end) ? "-" : berth_text_seconds(buf, end));
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	if (parts->n > MOST_MODELS)
		cli_say("(and %d more)\n", (int)(parts->n - MOST_MODELS));
	cli_say("\n");
	return BERTH_OK;
}

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

void report_print_violations(const berth_violations *list)
{
	for (int32_t i = 0; i < list->n && i < MOST_VIOLATIONS; i++)
		cli_say("  %s\n", list->item[i].message);
	if (list->n > MOST_VIOLATIONS)
		cli_say("  (and %d more)\n", list->n - MOST_VIOLATIONS);
}
