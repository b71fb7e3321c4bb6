/* What another machine would bring, told: as members of the document of berth simulate, and as tables. */
#include "simulate_whatif.h"

#include "print.h"
#include "report.h"
#include "results.h"
#include "say.h"

/* ---- the documents ---- */

#define WHATIF(K, IF) \
	K(ALL_OF(metrics_kind), "", "", "", report_metrics(c, s->v.metric)) \
	K(NUMBER_OR_NULL, "value", "of the objective", "", s->v.value) \
	K(BOOL, "feasible", "", "", s->v.feasible) \
	IF(s->broken, TEXT, "broken", "", "what stands against it first; else missing", s->broken)
static RESULT_KIND(whatif_kind, "What-if", "", WHATIF);

#define SOLUTION(K, IF) \
	K(ALL_OF(whatif_kind), "", "", "all its keys", side_of(c, s)) \
	K(NUMBER_OR_NULL, "lower_bound", "of the objective", "", r->lower_bound) \
	K(NUMBER_OR_NULL, "gap", "share", "", \
	  s->v.feasible ? berth_gap(s->v.value, r->lower_bound) : NAN) \
	K(INT, "evaluations", "", "", s->evaluations) \
	K(MAP("text"), "placement", "", "empty: none was found", placement)
static RESULT_KIND(solution_kind, "Solution", "", SOLUTION);

#define BASE(K, IF) \
	K(ALL_OF(whatif_kind), "", "", "", side_of(c, &x->row[0].same)) \
	K(OBJECT(solution_kind), "resolved", "", "and solved anew", solution_of(c, &x->row[0], g))
static RESULT_KIND(base_kind, "", "", BASE);

#define CHANGE(K, IF) \
	K(TEXT, "change", "", "as given", x->change[i]) \
	K(ALL_OF(whatif_kind), "", "", "", side_of(c, &x->row[i].same)) \
	K(OBJECT(solution_kind), "resolved", "", "and solved anew", solution_of(c, &x->row[i], g))
static RESULT_KIND(change_kind, "", "", CHANGE);

#define SET(K, IF) \
	K(ALL_OF(simulate_document), "", "", "all its keys", simulated) \
	K(TEXT, "objective", "", "of the solutions", berth_objective_name(&x->objective)) \
	K(OBJECT(base_kind), "base", "", "the machine as in the file, with the placement as it is", base) \
	K(OBJECT(solution_kind), "resolved", "", "the changed machine, solved anew", \
	  solution_of(c, &x->row[1], g))
RESULT_KIND(simulate_set_document, "Simulate with changes",
            "`simulate --set`: the document is that of the changed machine.", SET);

#define EACH(K, IF) \
	K(ALL_OF(simulate_document), "", "", "all its keys", simulated) \
	K(TEXT, "objective", "", "of the solutions", berth_objective_name(&x->objective)) \
	K(OBJECT(solution_kind), "resolved", "", "the machine in the file, solved anew", \
	  solution_of(c, &x->row[0], g)) \
	K(LIST(change_kind), "changes", "", "a changed machine each, with the placement as it is", changes)
RESULT_KIND(simulate_each_document, "Simulate with rows of changes",
            "`simulate --what-if`: the document is that of the machine in the file.", EACH);

static const berth_result *side_of(cli *c, const berth_whatif_side *s)
{
	return RESULT_NEW(&c->mem, whatif_kind, WHATIF);
}

static const berth_result *solution_of(cli *c, const berth_whatif_row *r, const berth_graph *g)
{
	const berth_whatif_side *s = &r->anew;
	berth_result_map *placement = berth_result_map_new(&c->mem);
	for (int32_t op = 0; s->op_dev && op < g->n_ops; op++)
		berth_result_map_add(placement, g->op_name[op],
		                     berth_result_text(r->s.dev_name[s->op_dev[op]]));
	return RESULT_NEW(&c->mem, solution_kind, SOLUTION);
}

const berth_result *simulate_whatif_set(cli *c, const berth_whatif_rows *x, const berth_graph *g,
                                        const berth_result *simulated)
{
	const berth_result *base = RESULT_NEW(&c->mem, base_kind, BASE);
	return RESULT_NEW(&c->mem, simulate_set_document, SET);
}

const berth_result *simulate_whatif_each(cli *c, const berth_whatif_rows *x, const berth_graph *g,
                                         const berth_result *simulated)
{
	berth_result_list *changes = berth_result_list_new(&c->mem, &change_kind);
	for (int32_t i = 1; i < x->n; i++)
		RESULT_ADD(changes, CHANGE);
	return RESULT_NEW(&c->mem, simulate_each_document, EACH);
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
	cli_cell_text(&t, "");
	cli_table_head(&t, "as it is|changed|re-solved|changed, re-solved");
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		if (isnan(side[0]->v.metric[m]) && isnan(side[1]->v.metric[m]) && isnan(side[3]->v.metric[m]))
			continue;
		cli_cell_text(&t, berth_metrics[m].label);
		for (int i = 0; i < 4; i++)
			cli_cell(&t, "%s", cli_metric(buf, (berth_metric)m, side[i]->v.metric[m]));
	}
	cli_cell(&t, "feasible");
	for (int i = 0; i < 4; i++)
		cli_cell_text(&t, fits_text(side[i]));
	cli_cell(&t, "lower bound");
	for (int i = 0; i < 4; i++)
		cli_cell_value(&t, &x->objective, x->row[i % 2].lower_bound);
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
	cli_say("%s, the same placement and solved anew\n", berth_objective_name(&x->objective));
	cli_table_init(&t, &c->mem, "lrrrrr");
	cli_table_head(&t, "change|same|change|anew|change|bound");
	for (int32_t i = 0; i < x->n; i++) {
		const berth_whatif_row *r = &x->row[i];
		cli_cell_text(&t, x->change[i]);
		value_cell(&t, x, &r->same);
		change_cell(&t, &r->same, &x->row[0].same);
		value_cell(&t, x, &r->anew);
		change_cell(&t, &r->anew, &x->row[0].anew);
		cli_cell_value(&t, &x->objective, r->lower_bound);
	}
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	cli_say("\n");
	return BERTH_OK;
}
