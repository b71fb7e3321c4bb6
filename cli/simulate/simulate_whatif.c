/* What another machine would bring, told: as members of the document of berth simulate, and as tables. */
#include "simulate_whatif.h"

#include "bounds.h"
#include "print.h"
#include "report.h"
#include "say.h"
#include "text.h"

#include <math.h>

/* ---- JSON ---- */

static void put_figures(berth_json_out *w, const berth_whatif_side *s)
{
	report_put_metrics(w, s->v.metric);
	berth_json_put_number(w, "value", s->v.value);
	berth_json_put_bool(w, "feasible", s->v.feasible);
	if (s->broken)
		berth_json_put_string(w, "broken", s->broken);
}

static void put_anew(berth_json_out *w, const berth_whatif_row *r, const berth_graph *g)
{
	const berth_whatif_side *s = &r->anew;
	berth_json_open(w, "resolved", '{');
	put_figures(w, s);
	berth_json_put_number(w, "lower_bound", r->lower_bound);
	berth_json_put_number(w, "gap", s->v.feasible ? berth_gap(s->v.value, r->lower_bound) : NAN);
	berth_json_put_int(w, "evaluations", s->evaluations);
	berth_json_open(w, "placement", '{');
	for (int32_t op = 0; s->op_dev && op < g->n_ops; op++)
		berth_json_put_string(w, g->op_name[op], r->s.dev_name[s->op_dev[op]]);
	berth_json_close(w, '}');
	berth_json_close(w, '}');
}

static void put_row(berth_json_out *w, const char *key, const berth_whatif_row *r, const berth_graph *g)
{
	berth_json_open(w, key, '{');
	put_figures(w, &r->same);
	put_anew(w, r, g);
	berth_json_close(w, '}');
}

void simulate_whatif_put_set(berth_json_out *w, const berth_whatif_rows *x, const berth_graph *g)
{
	berth_json_put_string(w, "objective", berth_objective_name(&x->objective));
	put_row(w, "base", &x->row[0], g);
	put_anew(w, &x->row[1], g);
}

void simulate_whatif_put_each(berth_json_out *w, const berth_whatif_rows *x, const berth_graph *g)
{
	berth_json_put_string(w, "objective", berth_objective_name(&x->objective));
	put_anew(w, &x->row[0], g);
	berth_json_open(w, "changes", '[');
	for (int32_t i = 1; i < x->n; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "change", x->change[i]);
		put_figures(w, &x->row[i].same);
		put_anew(w, &x->row[i], g);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

/* ---- text ---- */

static const char *fits_text(const berth_whatif_side *s)
{
	return s->v.feasible ? "yes" : "no";
}

berth_status simulate_whatif_print_set(cli *c, const berth_whatif_rows *x, berth_err *err)
{
	const berth_whatif_side *side[4] = {&x->row[0].same, &x->row[1].same, &x->row[0].anew,
	                                    &x->row[1].anew};
	cli_table t;
	char buf[32];
	cli_table_init(&t, &c->mem, "lrrrr");
	cli_cell(&t, "%s", "");
	cli_table_head(&t, "as it is|changed|re-solved|changed, re-solved");
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		if (isnan(side[0]->v.metric[m]) && isnan(side[1]->v.metric[m]) && isnan(side[3]->v.metric[m]))
			continue;
		cli_cell(&t, "%s", berth_metrics[m].label);
		for (int i = 0; i < 4; i++)
			cli_cell(&t, "%s", cli_metric(buf, (berth_metric)m, side[i]->v.metric[m]));
	}
	cli_cell(&t, "feasible");
	for (int i = 0; i < 4; i++)
		cli_cell(&t, "%s", fits_text(side[i]));
	cli_cell(&t, "lower bound");
	for (int i = 0; i < 4; i++)
		cli_cell(&t, "%s", cli_value(buf, &x->objective, x->row[i % 2].lower_bound));
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	cli_say("\n");
	return BERTH_OK;
}

static void change_cell(cli_table *t, const berth_whatif_side *s, const berth_whatif_side *base)
{
	if (!s->v.feasible || !base->v.feasible || !(base->v.value > 0))
		cli_cell(t, "-");
	else
		cli_cell(t, "%+.1f %%", 100 * (s->v.value / base->v.value - 1));
}

static void value_cell(cli_table *t, const berth_whatif_rows *x, const berth_whatif_side *s)
{
	char buf[32];
	cli_cell(t, "%s", s->v.feasible ? cli_value(buf, &x->objective, s->v.value) :
	                  s->answered   ? "does not fit" :
	                                  "cannot run");
}

berth_status simulate_whatif_print_each(cli *c, const berth_whatif_rows *x, berth_err *err)
{
	cli_table t;
	char buf[32];
	cli_say("%s, the same placement and solved anew\n", berth_objective_name(&x->objective));
	cli_table_init(&t, &c->mem, "lrrrrr");
	cli_table_head(&t, "change|same|change|anew|change|bound");
	for (int32_t i = 0; i < x->n; i++) {
		const berth_whatif_row *r = &x->row[i];
		cli_cell(&t, "%s", x->change[i]);
		value_cell(&t, x, &r->same);
		change_cell(&t, &r->same, &x->row[0].same);
		value_cell(&t, x, &r->anew);
		change_cell(&t, &r->anew, &x->row[0].anew);
		cli_cell(&t, "%s", cli_value(buf, &x->objective, r->lower_bound));
	}
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	cli_say("\n");
	return BERTH_OK;
}
