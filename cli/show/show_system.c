/* A system at a glance: its devices, and its links as a matrix. Beside it the predicted times of operators on
 * it, with what each is from and how far off it may be. */
#include "file.h"
#include "op_times.h"
#include "print.h"
#include "report.h"
#include "results.h"
#include "say.h"
#include "show.h"
#include "system_json.h"
#include "tell.h"

/* ---- predicted times ---- */

enum { LONGEST = 20 }; /* in the table of text */

#define TIME(K, IF) \
	K(TEXT, "op", "", "operator", g->op_name[op]) \
	K(TEXT, "device", "", "", s->dev_name[d]) \
	K(NUMBER_OR_NULL, "time_s", "s", "null: it cannot run there", x.seconds) \
	K(NUMBER_OR_NULL, "error", "share", \
	  "mean of how far such times are off; 0: measured, null: it cannot run there", \
	  isnan(x.seconds) ? NAN : x.error) \
	K(TEXT, "from", "", "`measured`, `calibrated`, `model`, `roofline`, or `none`: it cannot run there", \
	  berth_time_from_name(x.from))
static RESULT_FLAT_KIND(time_kind, "", "", TIME);

#define TIMES(K, IF) \
	K(TEXT, "graph", "", "", g->name) \
	K(TEXT, "system", "", "", s->name) \
	K(LIST(time_kind), "times", "", "of each operator on each device", list)
RESULT_KIND(show_times_document, "Show times", "", TIMES);

typedef struct timed {
	int32_t op, dev;
	berth_op_prediction x;
} timed;

/* Longest first, what cannot run last; ties as they came. */
static int compare_timed(const void *pa, const void *pb)
{
	const timed *a = pa, *b = pb;
	double x = isnan(a->x.seconds) ? -1 : a->x.seconds, y = isnan(b->x.seconds) ? -1 : b->x.seconds;
	if (x != y)
		return BERTH_COMPARE(y, x);
	return a->op != b->op ? BERTH_COMPARE(a->op, b->op) : BERTH_COMPARE(a->dev, b->dev);
}

static const berth_result_list *rows_of(cli *c, const berth_graph *g, const berth_system *s, const timed *at,
                                        int32_t n)
{
	berth_result_list *list = berth_result_list_new(&c->mem, &time_kind);
	for (int32_t i = 0; i < n; i++) {
		int32_t op = at[i].op, d = at[i].dev;
		berth_op_prediction x = at[i].x;
		RESULT_ADD(list, TIME);
	}
	return list;
}

berth_status show_times(cli *c, const berth_graph *g, const berth_system *s, berth_err *err)
{
	timed *at;
	int32_t n = 0;
	BERTH_TRY_NEW(&c->tmp, (size_t)g->n_ops * (size_t)s->n_devs, err, at);
	for (int32_t op = 0; op < g->n_ops; op++)
		for (int32_t d = 0; d < s->n_devs; d++) {
			berth_type_on_dev type = berth_type_look_up(
				s, d, g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]);
			at[n++] = (timed){op, d, berth_op_predict(g, s, op, d, &type)};
		}
	const berth_result_list *list = rows_of(c, g, s, at, n);
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, show_times_document, TIMES), err));
	if (!cli_in_words(c))
		return BERTH_OK;
	if (n)
		qsort(at, (size_t)n, sizeof *at, compare_timed);
	cli_say("%s on %s: predicted times, longest first\n\n", g->name, s->name);
	BERTH_TRY(cli_tell_rows(c, rows_of(c, g, s, at, n < LONGEST ? n : LONGEST), NULL, CLI_AS_TEXT,
	                        "operator=op|device=device|time=time_s|error=error|from=from", err));
	if (n > LONGEST)
		cli_say("(and %d more; --json has all)\n", n - LONGEST);
	return BERTH_OK;
}

/* ---- devices and links ---- */

enum { MATRIX_DEVICES = 8 }; /* more are listed link by link */

static berth_status print_devices(cli *c, const berth_system *s, berth_err *err)
{
	cli_table t;
	char buf[32];
	bool prices = false;
	for (int32_t d = 0; d < s->n_devs; d++)
		prices |= !isnan(s->dev_price_h[d]);
	cli_table_init(&t, &c->mem, prices ? "llrrrrrrrr" : "llrrrrrrr");
	cli_table_head(&t, prices ? "device|kind|FLOP/s|memory/s|memory|overhead|slots|idle W|busy W|price/h"
	                          : "device|kind|FLOP/s|memory/s|memory|overhead|slots|idle W|busy W");
	for (int32_t d = 0; d < s->n_devs; d++) {
		cli_cell_text(&t, s->dev_name[d]);
		cli_cell_text(&t, s->dev_kind[d]);
		cli_cell(&t, "%s",
		         s->dev_peak_flops[d] > 0 ? berth_text_count(buf, s->dev_peak_flops[d]) : "-");
		cli_cell_bytes(&t, s->dev_mem_bandwidth[d] > 0 ? s->dev_mem_bandwidth[d] : NAN);
		cli_cell_bytes(&t, (double)s->dev_memory_bytes[d]);
		cli_cell_seconds(&t, s->dev_op_overhead_s[d]);
		cli_cell_int(&t, s->dev_slots[d]);
		cli_cell(&t, "%s", isnan(s->dev_idle_w[d]) ? "-" : berth_text_double(buf, s->dev_idle_w[d]));
		cli_cell(&t, "%s", isnan(s->dev_busy_w[d]) ? "-" : berth_text_double(buf, s->dev_busy_w[d]));
		if (prices)
			cli_cell(&t, "%s",
			         isnan(s->dev_price_h[d]) ? "-" : berth_text_double(buf, s->dev_price_h[d]));
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status print_matrix(cli *c, const berth_system *s, berth_err *err)
{
	cli_table t;
	char align[MATRIX_DEVICES + 2] = "l";
	for (int32_t d = 0; d < s->n_devs; d++)
		align[d + 1] = 'r';
	cli_table_init(&t, &c->mem, align);
	cli_cell(&t, "bytes/s from");
	for (int32_t d = 0; d < s->n_devs; d++)
		cli_cell_text(&t, s->dev_name[d]);
	for (int32_t from = 0; from < s->n_devs; from++) {
		cli_cell_text(&t, s->dev_name[from]);
		for (int32_t to = 0; to < s->n_devs; to++) {
			int32_t l = s->link_of[from * s->n_devs + to];
			cli_cell_bytes(&t, l < 0 ? NAN : s->link_bandwidth[l]);
		}
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status print_links(cli *c, const berth_system *s, berth_err *err)
{
	cli_table t;
	cli_table_init(&t, &c->mem, "llrrl");
	cli_table_head(&t, "from|to|bytes/s|latency|shared");
	for (int32_t l = 0; l < s->n_links; l++) {
		const char *channel = s->channel_name[s->link_channel[l]];
		cli_cell_text(&t, s->dev_name[s->link_from[l]]);
		cli_cell_text(&t, s->dev_name[s->link_to[l]]);
		cli_cell_bytes(&t, s->link_bandwidth[l]);
		cli_cell_seconds(&t, s->link_latency_s[l]);
		cli_cell_text(&t, channel);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status print_text(cli *c, const berth_system *s, berth_err *err)
{
	cli_say("%s: %d device%s, %d link%s in %d channel%s; order %s, %s\n\n", s->name, s->n_devs,
	        s->n_devs == 1 ? "" : "s", s->n_links, s->n_links == 1 ? "" : "s", s->n_channels,
	        s->n_channels == 1 ? "" : "s", berth_order_name(s->order),
	        s->contention ? "a channel carries one transfer at a time" : "transfers never wait");
	BERTH_TRY(print_devices(c, s, err));
	BERTH_TRY(report_print_pools_of(c, s, err));
	if (!s->n_links)
		return BERTH_OK;
	cli_say("\n");
	return s->n_devs <= MATRIX_DEVICES ? print_matrix(c, s, err) : print_links(c, s, err);
}

berth_status show_system(cli *c, const show_args *a, berth_err *err)
{
	berth_system s;
	const char *text;
	size_t len;
	BERTH_TRY(cli_system_load(c, a->input, NULL, &s, err));
	BERTH_TRY(berth_system_write_json(&s, true, &c->mem, &text, &len, err));
	if (a->out)
		BERTH_TRY(berth_file_write(a->out, text, len, err));
	if (c->json)
		cli_put_document(text, len);
	return cli_in_words(c) ? print_text(c, &s, err) : BERTH_OK;
}
