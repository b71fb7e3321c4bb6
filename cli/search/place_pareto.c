/* Pareto fronts; see place_pareto.h. */
#include "place_pareto.h"

#include "methods.h"
#include "pareto.h"
#include "placement.h"
#include "print.h"
#include "report.h"
#include "say.h"
#include "text.h"
#include "threads.h"

#include <stdio.h>
#include <string.h>

enum { MOST_DEVICES = 4 };

typedef struct view {
	const berth_problem *p;
	berth_pareto_cfg cfg;
	double bound[2];
	berth_pareto front;
	double solve_s, wall_s;
} view;

/* ---- arguments ---- */

/* Has the pattern one %d and no other %? */
static bool is_pattern(const char *out)
{
	const char *at = strchr(out, '%');
	return at && at[1] == 'd' && !strchr(at + 1, '%');
}

static berth_status read_args(const place_pareto_args *a, view *v, berth_err *err)
{
	if (a->objectives.n != 2)
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --pareto needs two objectives with a comma between them, as in "
		                  "latency,energy");
	for (int k = 0; k < 2; k++)
		BERTH_TRY(berth_objective_parse(a->objectives.text[k], &v->cfg.objective[k], err));
	if (berth_objective_equal(&v->cfg.objective[0], &v->cfg.objective[1]))
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --pareto needs two different objectives, not %s twice",
		                  berth_objective_name(&v->cfg.objective[0]));
	if (a->points < 2 || a->points > BERTH_PARETO_MOST)
		return berth_fail(err, BERTH_EINVAL,
		                  "option --points: %lld is not a number of points from 2 to %d",
		                  (long long)a->points, BERTH_PARETO_MOST);
	if (a->out && !is_pattern(a->out))
		return berth_fail(err, BERTH_EINVAL,
		                  "place: with --pareto, -o takes a name with %%d for the number of the "
		                  "point, as in plan-%%d.json");
	v->cfg.most_points = (int32_t)a->points;
	return BERTH_OK;
}

/* ---- output ---- */

/* The order that the point was scored by. NULL: a rule made it. Under `given` it is the topological one. */
static int32_t *order_of(const view *v, const berth_pareto_point *x)
{
	bool given = v->p->s->order == BERTH_ORDER_GIVEN;
	return x->op_order || !given ? x->op_order : v->p->g->topo_op;
}

static berth_status write_point(cli *c, const view *v, const place_pareto_args *a, int32_t i, berth_err *err)
{
	const berth_pareto_point *x = &v->front.point[i];
	const char *mark = strstr(a->out, "%d");
	berth_placement p;
	char *path = berth_arena_printf(&c->mem, "%.*s%d%s", (int)(mark - a->out), a->out, i + 1, mark + 2);
	if (!path)
		return berth_nomem(err);
	BERTH_TRY(berth_placement_new(v->p->g, v->p->s, &c->mem, &c->tmp, &p, err));
	p.method = x->method;
	p.objective = berth_objective_name(&v->cfg.objective[0]);
	p.seed = v->cfg.search.seed;
	p.evaluations = v->front.evaluations;
	p.value = x->value[0];
	p.lower_bound = v->bound[0];
	p.op_dev = x->op_dev;
	p.order = order_of(v, x);
	return berth_placement_write(&p, v->p->g, v->p->s, path, true, &c->tmp, err);
}

static void put_point(berth_json_out *w, const view *v, const berth_pareto_point *x)
{
	const int32_t *order = order_of(v, x);
	berth_json_open(w, NULL, '{');
	berth_json_put_numbers(w, "values", x->value, 2);
	berth_json_put_string(w, "method", x->method);
	berth_json_put_string(w, "order", berth_order_name(order ? BERTH_ORDER_GIVEN : v->p->s->order));
	berth_json_open(w, "placement", '{');
	for (int32_t op = 0; op < v->p->n_ops; op++)
		berth_json_put_string(w, v->p->g->op_name[op], v->p->s->dev_name[x->op_dev[op]]);
	berth_json_close(w, '}');
	if (order) {
		berth_json_open(w, "order_ops", '[');
		berth_json_flat(w, true);
		for (int32_t k = 0; k < v->p->n_ops; k++)
			berth_json_put_string(w, NULL, v->p->g->op_name[order[k]]);
		berth_json_close(w, ']');
		berth_json_flat(w, false);
	}
	berth_json_close(w, '}');
}

/* What does not differ from run to run, but for the points. */
static void put_front(berth_json_out *w, const view *v)
{
	berth_json_put_string(w, "graph", v->p->g->name);
	berth_json_put_string(w, "system", v->p->s->name);
	berth_json_open(w, "objectives", '[');
	for (int k = 0; k < 2; k++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_string(w, "name", berth_objective_name(&v->cfg.objective[k]));
		berth_json_put_string(w, "unit", berth_objective_unit(&v->cfg.objective[k]));
		berth_json_put_number(w, "lower_bound", v->bound[k]);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_put_bool(w, "feasible", v->front.n > 0);
	berth_json_put_int(w, "seed", (int64_t)v->cfg.search.seed);
	berth_json_put_int(w, "evaluations", v->front.evaluations);
}

static berth_status print_json(cli *c, const view *v, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	put_front(&w, v);
	berth_json_put_number(&w, "solve_s", v->solve_s);
	berth_json_put_number(&w, "wall_s", v->wall_s);
	berth_json_open(&w, "points", '[');
	for (int32_t i = 0; i < v->front.n; i++)
		put_point(&w, v, &v->front.point[i]);
	berth_json_close(&w, ']');
	return cli_end_json(c, &w, err);
}

static void count_devices(const view *v, const berth_pareto_point *x, int32_t *dev_ops)
{
	memset(dev_ops, 0, (size_t)v->p->n_devs * sizeof *dev_ops);
	for (int32_t op = 0; op < v->p->n_ops; op++)
		dev_ops[x->op_dev[op]]++;
}

static berth_status write_report(cli *c, const view *v, const char *path, berth_err *err)
{
	berth_page page;
	int32_t *dev_ops;
	BERTH_TRY(BERTH_NEW(&c->mem, dev_ops, v->p->n_devs, err));
	BERTH_TRY(cli_report_open(c, &page, "front", v->p->g->name, v->p->s->name, "", err));
	berth_json_open(&page.w, "document", '{');
	put_front(&page.w, v);
	berth_json_open(&page.w, "points", '[');
	for (int32_t i = 0; i < v->front.n; i++) {
		const berth_pareto_point *x = &v->front.point[i];
		count_devices(v, x, dev_ops);
		berth_json_open(&page.w, NULL, '{');
		berth_json_put_numbers(&page.w, "values", x->value, 2);
		berth_json_put_string(&page.w, "method", x->method);
		berth_json_open(&page.w, "devices", '{');
		for (int32_t d = 0; d < v->p->n_devs; d++)
			berth_json_put_int(&page.w, v->p->s->dev_name[d], dev_ops[d]);
		berth_json_close(&page.w, '}');
		berth_json_close(&page.w, '}');
	}
	berth_json_close(&page.w, ']');
	berth_json_close(&page.w, '}');
	return cli_report_write(c, &page, path, err);
}

/* "gpu0 120, cpu0 1": the devices with the most operators. */
static void devices_cell(cli_table *t, const view *v, const berth_pareto_point *x, int32_t *dev_ops)
{
	char text[512] = "";
	int32_t n = v->p->n_devs;
	count_devices(v, x, dev_ops);
	for (int i = 0; i < MOST_DEVICES; i++) {
		int32_t most = 0;
		for (int32_t d = 1; d < n; d++)
			if (dev_ops[d] > dev_ops[most])
				most = d;
		if (!dev_ops[most])
			break;
		size_t len = strlen(text);
		snprintf(text + len, sizeof text - len, "%s%.120s %d", i ? ", " : "", v->p->s->dev_name[most],
		         dev_ops[most]);
		dev_ops[most] = 0;
	}
	cli_cell(t, "%s", text);
}

static berth_status print_text(cli *c, const view *v, berth_err *err)
{
	char buf[32], count[32];
	int32_t *dev_ops;
	cli_table t;
	BERTH_TRY(BERTH_NEW(&c->mem, dev_ops, v->p->n_devs, err));
	if (v->front.n == 1)
		cli_say("%s on %s: one placement, the best found in both\n", v->p->g->name, v->p->s->name);
	else
		cli_say("%s on %s: %d placements, none better than another in both\n", v->p->g->name,
		        v->p->s->name, v->front.n);
	cli_say("%s evaluations in %s, seed %llu\n\n", cli_count(count, v->front.evaluations),
	        berth_text_seconds(buf, v->wall_s), (unsigned long long)v->cfg.search.seed);
	cli_table_init(&t, &c->mem, "rrrl");
	cli_cell(&t, "point");
	for (int k = 0; k < 2; k++)
		cli_cell(&t, "%s", berth_objective_name(&v->cfg.objective[k]));
	cli_cell(&t, "operators");
	for (int32_t i = 0; i < v->front.n; i++) {
		const berth_pareto_point *x = &v->front.point[i];
		cli_cell(&t, "%d", i + 1);
		for (int k = 0; k < 2; k++)
			cli_cell(&t, "%s", cli_value(buf, &v->cfg.objective[k], x->value[k]));
		devices_cell(&t, v, x, dev_ops);
	}
	cli_cell(&t, "bound");
	for (int k = 0; k < 2; k++)
		cli_cell(&t, "%s", cli_value(buf, &v->cfg.objective[k], v->bound[k]));
	cli_cell(&t, "-");
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

/* ---- all of it ---- */

static berth_status search(cli *c, view *v, berth_err *err)
{
	double cpu = berth_cpu_seconds(), wall = berth_wall_seconds();
	BERTH_TRY(berth_pareto_search(v->p, &v->cfg, &c->mem, &c->tmp, &v->front, err));
	v->solve_s = berth_cpu_seconds() - cpu;
	v->wall_s = berth_wall_seconds() - wall;
	return BERTH_OK;
}

berth_status place_pareto(cli *c, const place_pareto_args *a, const cli_budget *budget,
                          const berth_problem *p, const berth_bounds *bounds, berth_err *err)
{
	view v = {.p = p, .cfg.method = berth_method_default()};
	BERTH_TRY(read_args(a, &v, err));
	for (int k = 0; k < 2; k++)
		BERTH_TRY(berth_bounds_objective(p, bounds, &v.cfg.objective[k], &c->tmp, &v.bound[k], err));
	BERTH_TRY(cli_budget_open(budget, &v.cfg.search, err));
	berth_status st = search(c, &v, err);
	bool interrupted = v.cfg.search.cancel && atomic_load(v.cfg.search.cancel);
	cli_budget_close(&v.cfg.search);
	BERTH_TRY(st);
	for (int32_t i = 0; a->out && i < v.front.n; i++)
		BERTH_TRY(write_point(c, &v, a, i, err));
	if (c->json)
		BERTH_TRY(print_json(c, &v, err));
	else if (!c->quiet && v.front.n)
		BERTH_TRY(print_text(c, &v, err));
	if (a->report)
		BERTH_TRY(write_report(c, &v, a->report, err));
	if (interrupted)
		return berth_fail(err, BERTH_EINTERRUPTED, "interrupted; the front so far is the answer");
	return v.front.n ? BERTH_OK
	                 : berth_fail(err, BERTH_EINFEASIBLE,
	                              "infeasible: no placement was found that keeps all rules, limits and "
	                              "memory");
}
