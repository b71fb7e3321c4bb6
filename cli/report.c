/* Parts of reports; see report.h. */
#include "report.h"

#include "explain.h"
#include "print.h"
#include "text.h"

#include <math.h>
#include <stdio.h>

enum { MOST_CAUSES = 3, MOST_VIOLATIONS = 5, MOST_DEVICES = 12 };

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

/* Sum of operator times / slots, in seconds. */
static double busy_s(const berth_problem *p, const berth_timeline *t, int32_t d)
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

berth_status report_print_devices(cli *c, const berth_problem *p, const berth_timeline *t, berth_err *err)
{
	cli_table table;
	char a[32], b[32];
	int32_t hidden = 0, shown = 0;
	cli_table_init(&table, &c->mem, "lrrrrrr");
	cli_table_head(&table, "device|operators|busy|of the time|peak memory|memory|sent");
	for (int32_t d = 0; d < p->n_devs; d++) {
		int64_t memory = p->s->dev_memory_bytes[d];
		double latency = (double)t->r.latency_ns / 1e9;
		if (p->n_devs > MOST_DEVICES && (!t->dev_ops[d] || shown == MOST_DEVICES)) {
			hidden++;
			continue;
		}
		shown++;
		cli_cell(&table, "%s", p->s->dev_name[d]);
		cli_cell(&table, "%d", t->dev_ops[d]);
		cli_cell(&table, "%s", berth_text_seconds(a, busy_s(p, t, d)));
		cli_cell(&table, "%s", cli_percent(b, latency > 0 ? busy_s(p, t, d) / latency : NAN));
		cli_cell(&table, "%s", berth_text_bytes(a, (double)t->peak_bytes[d]));
		cli_cell(&table, "%s", memory >= 0 ? berth_text_bytes(b, (double)memory) : "-");
		cli_cell(&table, "%s", berth_text_bytes(a, (double)t->dev_sent_bytes[d]));
	}
	BERTH_TRY(cli_table_print(&table, CLI_AS_TEXT, err));
	if (hidden)
		printf("(and %d more devices)\n", hidden);
	return BERTH_OK;
}

berth_status report_print_lost(cli *c, const berth_problem *p, const berth_timeline *t, berth_err *err)
{
	berth_explanation e;
	char cause[256], time[32], share[32];
	BERTH_TRY(berth_explain(p, t, &c->mem, &c->tmp, &e, err));
	if (!e.latency_ns)
		return BERTH_OK;
	printf("critical chain: computing %s (%s)%s\n", berth_text_seconds(time, (double)e.compute_ns * 1e-9),
	       cli_percent(share, (double)e.compute_ns / (double)e.latency_ns), e.n ? "" : ", nothing lost");
	for (int32_t i = 0; i < e.n && i < MOST_CAUSES; i++)
		printf("  lost to %s: %s (%s)\n", berth_lost_text(p, &e.lost[i], cause, sizeof cause),
		       berth_text_seconds(time, (double)e.lost[i].ns * 1e-9),
		       cli_percent(share, (double)e.lost[i].ns / (double)e.latency_ns));
	return BERTH_OK;
}

void report_print_violations(const berth_violations *list)
{
	for (int32_t i = 0; i < list->n && i < MOST_VIOLATIONS; i++)
		printf("  %s\n", list->item[i].message);
	if (list->n > MOST_VIOLATIONS)
		printf("  (and %d more)\n", list->n - MOST_VIOLATIONS);
}
