/* See show_types.h. */
#include "show_types.h"

#include "print.h"
#include "say.h"
#include "text.h"

#include <math.h>
#include <stdio.h>

enum { TOP_TYPES = 10, TOP_TIMES = 3 };

const char *show_type_name(const berth_graph *g, int32_t type)
{
	return type < g->n_types && type >= 0 ? g->type_name[type] : "(none)";
}

void show_top_types(const berth_graph *g, const int64_t *ns, char *buf, size_t size)
{
	int64_t sum = 0, below = INT64_MAX;
	int32_t last = -1;
	size_t at = 0;
	buf[0] = '\0';
	for (int32_t i = 0; i <= g->n_types; i++)
		sum += ns[i];
	for (int k = 0; k < TOP_TIMES; k++) {
		int32_t best = -1;
		for (int32_t i = 0; i <= g->n_types; i++)
			if (ns[i] > 0 && (ns[i] < below || (ns[i] == below && i > last)) &&
			    (best < 0 || ns[i] > ns[best]))
				best = i;
		if (best < 0 || at + 1 >= size)
			return;
		below = ns[best];
		last = best;
		int n = snprintf(buf + at, size - at, "%s%s %.0f %%", k ? ", " : "", show_type_name(g, best),
		                 100.0 * (double)ns[best] / (double)sum);
		at += n > 0 ? (size_t)n : 0;
	}
}

berth_status show_types_print(cli *c, const berth_graph *g, const berth_graph_stats *s, berth_err *err)
{
	static const char *const heads[] = {"type",  "operators",   "FLOP",
	                                    "share", "bytes moved", "parameters"};
	cli_table t;
	double flops = berth_graph_flops(g);
	int32_t shown = 0, types = 0;
	cli_table_init(&t, &c->mem, "lrrrrr");
	for (size_t i = 0; i < sizeof heads / sizeof *heads; i++)
		cli_cell(&t, "%s", heads[i]);
	for (int32_t i = 0; i <= g->n_types; i++) {
		char text[32];
		int32_t type = s->type_by_ops[i];
		types += s->type_ops[type] > 0;
		if (!s->type_ops[type] || shown == TOP_TYPES)
			continue;
		shown++;
		cli_cell(&t, "%s", show_type_name(g, type));
		cli_cell(&t, "%d", s->type_ops[type]);
		cli_cell(&t, "%s", berth_text_count(text, s->type_flops[type]));
		cli_cell(&t, "%s", cli_percent(text, flops > 0 ? s->type_flops[type] / flops : NAN));
		cli_cell(&t, "%s",
		         berth_text_bytes(text, (double)s->type_read_bytes[type] +
		                                        (double)s->type_write_bytes[type]));
		cli_cell(&t, "%s",
		         s->type_param_bytes[type] ? berth_text_bytes(text, (double)s->type_param_bytes[type])
		                                   : "-");
	}
	cli_say("\n");
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	if (types > shown)
		cli_say("(and %d more type%s)\n", types - shown, types - shown == 1 ? "" : "s");
	return BERTH_OK;
}

static const char *key_of(const berth_graph *g, int32_t type)
{
	return type < g->n_types ? g->type_name[type] : "";
}

void show_types_json(berth_json_out *w, const berth_graph *g, const berth_graph_stats *s)
{
	berth_json_open(w, "by_type", '{');
	for (int32_t i = 0; i <= g->n_types; i++) {
		int32_t type = s->type_by_ops[i];
		if (!s->type_ops[type])
			continue;
		berth_json_open(w, key_of(g, type), '{');
		berth_json_flat(w, true);
		berth_json_put_int(w, "ops", s->type_ops[type]);
		berth_json_put_number(w, "flops", s->type_flops[type]);
		berth_json_put_number(w, "macs", s->type_macs[type]);
		berth_json_put_int(w, "read_bytes", s->type_read_bytes[type]);
		berth_json_put_int(w, "write_bytes", s->type_write_bytes[type]);
		berth_json_put_int(w, "param_bytes", s->type_param_bytes[type]);
		berth_json_put_int(w, "state_bytes", s->type_state_bytes[type]);
		berth_json_close(w, '}');
		berth_json_flat(w, false);
	}
	berth_json_close(w, '}');
}

void show_type_times_json(berth_json_out *w, const char *key, const berth_graph *g,
                          const berth_graph_stats *s, const int64_t *type_ns)
{
	berth_json_open(w, key, '{');
	for (int32_t i = 0; i <= g->n_types; i++)
		if (type_ns[s->type_by_ops[i]] > 0)
			berth_json_put_ns(w, key_of(g, s->type_by_ops[i]), type_ns[s->type_by_ops[i]]);
	berth_json_close(w, '}');
}
