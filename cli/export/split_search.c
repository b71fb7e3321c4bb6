/* See split_search.h. */
#include "split_search.h"

#include "graph_load.h"
#include "progress.h"
#include "say.h"
#include "text.h"

/* The answer: the best program of pieces, or whole operators. */
static const berth_solution *answer(const split_search *x)
{
	return x->r.gains ? &x->r.cut.r : &x->r.whole;
}

static berth_status open(cli *c, split_search *x, const berth_graph *g, const berth_content *model,
                         const berth_read_options *read, berth_err *err)
{
	pieces_source *source;
	BERTH_TRY(cli_system_load(c, x->a->on, g, &x->s, err));
	BERTH_TRY(berth_problem_new(g, &x->s, &c->mem, &c->tmp, &x->p, err));
	BERTH_TRY(cli_budget_bounds(&x->a->budget, &x->p, &x->c.objective, &c->tmp, &x->bounds, err));
	BERTH_TRY(pieces_open(model->name, (const unsigned char *)model->data, model->size, read, &c->mem,
	                      &source, err));
	x->c.name = model->name;
	x->c.source = source;
	x->c.p = &x->p;
	return berth_cutting_open(&x->c, &c->mem, err);
}

static berth_status search(cli *c, split_search *x, const berth_method *method, berth_search_cfg *cfg,
                           berth_err *err)
{
	cli_progress progress;
	cfg->time_from = c->wall_from;
	cfg->cpu_from = c->cpu_from;
	cli_progress_start(&progress, c, x->p.g->name, cfg);
	berth_status st = cli_budget_policy(&x->a->budget, c, cfg, err);
	if (st == BERTH_OK)
		st = berth_cut_search(&x->c, &x->bounds, method, cfg, &c->mem, &c->tmp, &x->r, err);
	cli_progress_end(&progress);
	return st;
}

berth_status split_search_run(cli *c, const split_search_args *a, const berth_graph *g,
                              const berth_content *model, const berth_read_options *read,
                              const berth_read_options *after, const char *outside, split_search *x,
                              pieces_model *made, berth_err *err)
{
	const pieces_options nothing = {.n_asks = 0};
	const berth_method *method;
	berth_search_cfg cfg;
	BERTH_TRY(berth_method_find(a->method, &method, err));
	BERTH_TRY(cli_budget_open(&a->budget, &cfg, err));
	x->a = a;
	x->c = (berth_cutting){.after = after, .outside = outside, .objective = cfg.objective};
	berth_status st = open(c, x, g, model, read, err);
	if (st == BERTH_OK)
		st = search(c, x, method, &cfg, err);
	cli_budget_close(&cfg);
	BERTH_TRY(st);
	if (!answer(x)->feasible)
		return berth_fail(err, BERTH_EINFEASIBLE,
		                  "infeasible: neither whole operators nor pieces were found to fit on '%s'; "
		                  "'berth place' tells what stands against it",
		                  x->s.name);
	if (!x->r.gains)
		return pieces_cut_source(x->c.source, &nothing, &c->mem, made, err);
	*made = x->r.cut.program->made;
	made->n_asked = 0; /* nobody asked for them */
	return BERTH_OK;
}

berth_status split_search_write(cli *c, const split_search *x, const berth_graph *after, berth_err *err)
{
	berth_placement plan;
	if (!x->a->plan)
		return BERTH_OK;
	BERTH_TRY(berth_placement_new(after, &x->s, &c->mem, &c->tmp, &plan, err));
	BERTH_TRY(berth_solution_tell(answer(x), &c->mem, &plan, err));
	return berth_placement_write(&plan, after, &x->s, x->a->plan, true, &c->tmp, err);
}

/* ---- output ---- */

void split_search_put(berth_json_out *w, const split_search *x)
{
	const berth_solution *r = answer(x);
	berth_json_open(w, "search", '{');
	berth_json_put_string(w, "system", x->s.name);
	berth_json_put_string(w, "objective", berth_objective_name(&r->objective));
	berth_json_put_string(w, "method", r->method->name);
	berth_json_put_number(w, "value", r->value);
	berth_json_put_number(w, "whole_value", x->r.whole.value);
	berth_json_put_number(w, "whole_bound", x->r.whole.lower_bound);
	berth_json_put_string(w, "from", x->r.gains ? x->r.cut.from : NULL);
	berth_json_put_int(w, "seed", (int64_t)r->seed);
	berth_json_put_int(w, "programs", x->r.programs);
	berth_json_put_int(w, "evaluations", x->r.evaluations);
	berth_json_put_string(w, "plan", x->a->plan);
	berth_json_close(w, '}');
}

void split_search_print(const split_search *x)
{
	const berth_solution *r = answer(x);
	char value[32], whole[32], programs[32], count[32];
	cli_value(value, &r->objective, r->value);
	cli_value(whole, &r->objective, x->r.whole.value);
	if (!x->r.gains)
		cli_say("on %s: %s %s with whole operators, and no program of pieces was found to be "
		        "better: nothing is cut\n",
		        x->s.name, berth_objective_name(&r->objective), value);
	else if (!x->r.whole.feasible)
		cli_say("on %s: %s %s; no placement of whole operators was found that fits\n", x->s.name,
		        berth_objective_name(&r->objective), value);
	else
		cli_say("on %s: %s %s, with whole operators %s (%.2f times that)\n", x->s.name,
		        berth_objective_name(&r->objective), value, whole, x->r.whole.value / r->value);
	cli_say("by cuts and %s, %s programs and %s evaluations, seed %llu\n", r->method->name,
	        cli_count(programs, x->r.programs), cli_count(count, x->r.evaluations),
	        (unsigned long long)r->seed);
	if (x->a->plan)
		cli_say("plan: %s\n", x->a->plan);
}
