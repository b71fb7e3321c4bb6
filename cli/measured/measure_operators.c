/* When operators ran in a measured run: those that took longest as a table, all of them as a trace. */
#include "measure_operators.h"

#include "file.h"
#include "print.h"
#include "say.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

static int by_length(const void *a, const void *b)
{
	const berth_operator_time *x = a, *y = b;
	double p = x->end_s - x->start_s, q = y->end_s - y->start_s;
	return p != q ? (p < q) - (p > q) : (x->start_s > y->start_s) - (x->start_s < y->start_s);
}

berth_status measure_operators_print(cli *c, const berth_graph *g, const berth_system *s,
                                     const berth_operator_time *x, int32_t n, berth_err *err)
{
	enum { MOST = 20 };
	cli_table t;
	berth_operator_time *sorted;
	char text[32];
	BERTH_TRY(BERTH_NEW(&c->mem, sorted, n, err));
	memcpy(sorted, x, (size_t)n * sizeof *x);
	qsort(sorted, (size_t)n, sizeof *sorted, by_length);
	cli_table_init(&t, &c->mem, "lllrrl");
	cli_table_head(&t, "operator|kernel|device|start|time|fused into");
	for (int32_t i = 0; i < n && i < MOST; i++) {
		cli_cell(&t, "%s", sorted[i].op >= 0 ? g->op_name[sorted[i].op] : "");
		cli_cell(&t, "%s", sorted[i].kernel);
		cli_cell(&t, "%s", s->dev_name[sorted[i].dev]);
		cli_cell(&t, "%s", berth_text_seconds(text, sorted[i].start_s));
		cli_cell(&t, "%s", berth_text_seconds(text, sorted[i].end_s - sorted[i].start_s));
		cli_cell(&t, "%s", sorted[i].in >= 0 ? g->op_name[sorted[i].in] : "");
	}
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	if (n > MOST)
		cli_say("the %d longest of %d; --json tells all\n", MOST, (int)n);
	return BERTH_OK;
}

static void put_thread(berth_json_out *w, int32_t d, const char *name)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", "thread_name");
	berth_json_put_string(w, "ph", "M");
	berth_json_put_int(w, "pid", 1);
	berth_json_put_int(w, "tid", d + 1);
	berth_json_open(w, "args", '{');
	berth_json_put_string(w, "name", name);
	berth_json_close(w, '}');
	berth_json_close(w, '}');
}

static void put_event(berth_json_out *w, const berth_graph *g, const berth_operator_time *x)
{
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", x->op >= 0 ? g->op_name[x->op] : x->kernel);
	berth_json_put_string(w, "cat", x->kernel);
	berth_json_put_string(w, "ph", "X");
	berth_json_put_int(w, "pid", 1);
	berth_json_put_int(w, "tid", x->dev + 1);
	berth_json_put_number(w, "ts", x->start_s * 1e6);
	berth_json_put_number(w, "dur", (x->end_s - x->start_s) * 1e6);
	berth_json_close(w, '}');
}

berth_status measure_operators_trace(cli *c, const char *path, const berth_graph *g, const berth_system *s,
                                     const berth_operator_time *x, int32_t n, berth_err *err)
{
	berth_json_out w;
	const char *text;
	size_t len;
	berth_json_out_init(&w, &c->mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_open(&w, "traceEvents", '[');
	for (int32_t d = 0; d < s->n_devs; d++)
		put_thread(&w, d, s->dev_name[d]);
	for (int32_t i = 0; i < n; i++)
		if (x[i].in < 0) /* a fused operator's event is its host's */
			put_event(&w, g, &x[i]);
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	BERTH_TRY(berth_json_done(&w, &text, &len, err));
	return berth_file_write(path, text, len, err);
}
