/* Memory pools in reports; see report_pools.h. */
#include "report_pools.h"

#include "print.h"
#include "report.h"
#include "say.h"
#include "text.h"

#include <math.h>

void report_put_pools(berth_json_out *w, const berth_problem *p, const berth_timeline *t)
{
	if (!p->n_pools)
		return;
	berth_json_open(w, "memory_pools", '[');
	for (int32_t i = 0; i < p->n_pools; i++) {
		int64_t memory = p->s->pool_bytes[i];
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", p->s->pool_name[i]);
		berth_json_put_number(w, "load_s", t->r.runs ? (double)t->pool_ns[i] / 1e9 : NAN);
		berth_json_put_number(w, "peak_memory_bytes",
		                      t->r.runs ? (double)t->pool_peak_bytes[i] : NAN);
		berth_json_put_number(w, "memory_bytes", memory >= 0 ? (double)memory : NAN);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

berth_status report_print_pools(cli *c, const berth_problem *p, const berth_timeline *t,
                                const berth_objective *o, berth_err *err)
{
	report_span span = report_span_of(t, o);
	cli_table table;
	char a[32];
	if (!p->n_pools)
		return BERTH_OK;
	cli_say("\n");
	cli_table_init(&table, &c->mem, "lrrrr");
	cli_table_head(&table, "memory pool|load");
	cli_cell(&table, "%s", span.name);
	cli_table_head(&table, "peak memory|memory");
	for (int32_t i = 0; i < p->n_pools; i++) {
		double load = (double)t->pool_ns[i] / 1e9;
		int64_t memory = p->s->pool_bytes[i];
		cli_cell(&table, "%s", p->s->pool_name[i]);
		cli_cell(&table, "%s", berth_text_seconds(a, load));
		cli_cell(&table, "%s", cli_percent(a, span.s > 0 ? load / span.s : NAN));
		cli_cell(&table, "%s", berth_text_bytes(a, (double)t->pool_peak_bytes[i]));
		cli_cell(&table, "%s", memory >= 0 ? berth_text_bytes(a, (double)memory) : "-");
	}
	return cli_table_print(&table, CLI_AS_TEXT, err);
}

/* Names of the members, with commas. */
static const char *members(cli *c, const berth_system *s, int32_t pool)
{
	const char *text = "";
	for (int32_t d = 0; d < s->n_devs && text; d++)
		if (s->dev_pool[d] == pool)
			text = berth_arena_printf(&c->mem, "%s%s%s", text, *text ? ", " : "", s->dev_name[d]);
	return text;
}

berth_status report_print_pools_of(cli *c, const berth_system *s, berth_err *err)
{
	cli_table table;
	char a[32];
	if (!s->n_pools)
		return BERTH_OK;
	cli_say("\n");
	cli_table_init(&table, &c->mem, "lrrl");
	cli_table_head(&table, "memory pool|bytes/s|memory|devices");
	for (int32_t i = 0; i < s->n_pools; i++) {
		const char *names = members(c, s, i);
		if (!names)
			return berth_nomem(err);
		cli_cell(&table, "%s", s->pool_name[i]);
		cli_cell(&table, "%s", berth_text_bytes(a, s->pool_bandwidth[i]));
		cli_cell(&table, "%s",
		         s->pool_bytes[i] >= 0 ? berth_text_bytes(a, (double)s->pool_bytes[i]) : "-");
		cli_cell(&table, "%s", names);
	}
	return cli_table_print(&table, CLI_AS_TEXT, err);
}
