/* Infeasible problems; see report_infeasible.h. */
#include "report_infeasible.h"

#include "say.h"

#include <math.h>

enum { MOST_RULES = 8, MOST_CHANGES = 5 };

berth_status report_infeasible_find(cli *c, const berth_problem *p, const berth_objective *o,
                                    const int32_t *op_dev, const int32_t *order, const berth_patience *until,
                                    report_infeasible *out, berth_err *err)
{
	BERTH_TRY(berth_infeasible_subset_find(p, o, until, &c->mem, &c->tmp, &out->subset, err));
	return berth_relax(p, o, &out->subset, op_dev, order, until, &c->mem, &c->tmp, &out->relax, err);
}

static void put_rule(berth_json_out *w, const berth_problem *p, const berth_rule *r)
{
	berth_json_put_string(w, "kind", berth_violation_name(r->kind));
	if (r->op >= 0)
		berth_json_put_string(w, "op", p->g->op_name[r->op]);
	if (r->dev >= 0)
		berth_json_put_string(w, "device", p->s->dev_name[r->dev]);
	if (r->pool >= 0)
		berth_json_put_string(w, "pool", p->s->pool_name[r->pool]);
	if (r->group >= 0)
		berth_json_put_string(w, "group",
		                      r->kind == BERTH_VIOLATION_COLOCATION ? p->g->coloc_name[r->group]
		                                                            : p->g->sep_name[r->group]);
	if (r->metric >= 0)
		berth_json_put_string(w, "metric", berth_metrics[r->metric].name);
}

void report_put_infeasible(berth_json_out *w, const berth_problem *p, const report_infeasible *x)
{
	const berth_infeasible_subset *c = &x->subset;
	berth_json_open(w, "conflict", '{');
	berth_json_put_bool(w, "proven", c->proven);
	berth_json_put_bool(w, "smallest", c->smallest);
	berth_json_put_bool(w, "cut_short", c->cut_short);
	berth_json_open(w, "rules", '[');
	for (int32_t i = 0; i < c->n; i++) {
		berth_json_open(w, NULL, '{');
		put_rule(w, p, &c->rule[i]);
		berth_json_put_string(w, "message", c->message[i]);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_close(w, '}');
	berth_json_open(w, "relaxations", '[');
	for (int32_t i = 0; i < x->relax.n; i++) {
		const berth_relaxation *r = &x->relax.item[i];
		berth_json_open(w, NULL, '{');
		put_rule(w, p, &r->rule);
		if (r->add_bytes >= 0)
			berth_json_put_int(w, "add_bytes", r->add_bytes);
		if (!isnan(r->most))
			berth_json_put_number(w, "most", r->most);
		berth_json_put_bool(w, "least", r->least);
		berth_json_put_string(w, "text", r->text);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_put_bool(w, "relaxations_together", x->relax.together);
}

void report_print_infeasible(const report_infeasible *x)
{
	const berth_infeasible_subset *c = &x->subset;
	const berth_relaxations *r = &x->relax;
	if (c->proven)
		cli_say("%s%s:\n",
		        c->n == 1 ? "no placement keeps this rule" : "no placement keeps all of these rules",
		        c->cut_short              ? " (the time was over: fewer may be a conflict)"
		        : c->n > 1 && c->smallest ? ", and fewer are no conflict"
		                                  : "");
	for (int32_t i = 0; i < c->n && i < MOST_RULES; i++)
		cli_say("  %s\n", c->message[i]);
	if (c->n > MOST_RULES)
		cli_say("  (and %d more)\n", c->n - MOST_RULES);
	if (!c->proven)
		cli_say("%s\n", c->cut_short ? "not looked into: the time was over"
		                             : "not proven: a longer search may find a placement");
	if (r->n)
		cli_say("%s\n", r->together ? "it would fit with all of"
		                : r->n == 1 ? "it would fit with"
		                            : "it would fit with any one of");
	for (int32_t i = 0; i < r->n && i < MOST_CHANGES; i++)
		cli_say("  %s%s\n", r->item[i].text, r->item[i].least ? " (less is not enough)" : "");
	if (r->n > MOST_CHANGES)
		cli_say("  (and %d more)\n", r->n - MOST_CHANGES);
}
