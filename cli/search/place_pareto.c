/* place --pareto: a front of two objectives is searched for; each point is written to a file, and the front
 * told, where each point counts the operators of its devices. */
#include "place_pareto.h"

#include "methods.h"
#include "option_files.h"
#include "pareto.h"
#include "placement.h"
#include "print.h"
#include "report.h"
#include "results.h"
#include "say.h"
#include "tell.h"

enum { MOST_DEVICES = 4 }; /* that a row tells */

typedef struct view {
	const berth_problem *p;
	berth_pareto_cfg cfg;
	double bound[2];
	berth_pareto front;
	double solve_s, wall_s;
} view;

/* ---- arguments ---- */

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
	if (a->out && !cli_is_pattern(a->out))
		return berth_fail(err, BERTH_EINVAL,
		                  "place: with --pareto, -o takes a name with %%d for the number of the "
		                  "point, as in plan-%%d.json");
	v->cfg.most_points = PLACE_PARETO_POINTS;
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
	berth_placement p;
	const char *path = cli_numbered(&c->mem, a->out, i + 1);
	BERTH_TRY(berth_got(path, err));
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

static void count_devices(const view *v, const berth_pareto_point *x, int32_t *dev_ops)
{
	BERTH_CLEAR(dev_ops, v->p->n_devs);
	for (int32_t op = 0; op < v->p->n_ops; op++)
		dev_ops[x->op_dev[op]]++;
}

#define OBJECTIVE(K, IF) \
	K(TEXT, "name", "", "", berth_objective_name(o)) \
	K(TEXT, "unit", "", "empty: a sum of several", berth_objective_unit(o)) \
	K(NUMBER_OR_NULL, "lower_bound", "of the objective", "", v->bound[o - v->cfg.objective])
static RESULT_KIND(objective_kind, "", "", OBJECTIVE);

#define POINT(K, IF) \
	K(NUMBERS, "values", "of the objectives", "", x->value, 2) \
	K(TEXT, "method", "", "what found it", x->method) \
	K(TEXT, "order", "", "", berth_order_name(order ? BERTH_ORDER_GIVEN : v->p->s->order)) \
	K(MAP("text"), "placement", "", "", placement) \
	IF(order, TEXTS, "order_ops", "", "only with `given`", ops, v->p->n_ops)
static RESULT_KIND(point_kind, "", "", POINT);

/* A point on the page. */
#define DOT(K, IF) \
	K(NUMBERS, "values", "", "", x->value, 2) \
	K(TEXT, "method", "", "", x->method) \
	K(MAP("integer"), "devices", "", "", devices)
static RESULT_KIND(dot_kind, "", "", DOT);

#define FRONT(K, IF) \
	CLI_PAIR(K, v->p->g->name, v->p->s->name) \
	K(LIST(objective_kind), "objectives", "", "the two", objectives) \
	K(BOOL, "feasible", "", "there is a point", v->front.n > 0) \
	K(INT, "seed", "", "", (int64_t)v->cfg.search.seed) \
	K(INT, "evaluations", "", "", v->front.evaluations) \
	IF(!on_page, NUMBER, "solve_s", "s", "", v->solve_s) \
	IF(!on_page, NUMBER, "wall_s", "s", "", v->wall_s) \
	K(LIST(point_kind), "points", "", "none is better than another in both", points)
RESULT_KIND(pareto_document, "Pareto front", "`place --pareto O,O --json`.", FRONT);

static berth_status points_of(cli *c, const view *v, berth_result_list *list, berth_err *err)
{
	for (const berth_pareto_point *x = v->front.point; x && x - v->front.point < v->front.n; x++) {
		const int32_t *order = order_of(v, x);
		berth_result_map *placement = berth_result_map_new(&c->mem);
		const char **ops;
		BERTH_TRY_NEW(&c->mem, v->p->n_ops, err, ops);
		for (int32_t op = 0; op < v->p->n_ops; op++) {
			ops[op] = v->p->g->op_name[order ? order[op] : op];
			berth_result_map_add(placement, v->p->g->op_name[op],
			                     berth_result_text(v->p->s->dev_name[x->op_dev[op]]));
		}
		RESULT_ADD(list, POINT);
	}
	return BERTH_OK;
}

static berth_status dots_of(cli *c, const view *v, berth_result_list *list, berth_err *err)
{
	int32_t *dev_ops;
	BERTH_TRY_NEW(&c->mem, v->p->n_devs, err, dev_ops);
	for (const berth_pareto_point *x = v->front.point; x && x - v->front.point < v->front.n; x++) {
		berth_result_map *devices = berth_result_map_new(&c->mem);
		count_devices(v, x, dev_ops);
		for (int32_t d = 0; d < v->p->n_devs; d++)
			berth_result_map_add(devices, v->p->s->dev_name[d], berth_result_int(dev_ops[d]));
		RESULT_ADD(list, DOT);
	}
	return BERTH_OK;
}

/* The page has what does not differ from run to run. */
static berth_status front_of(cli *c, const view *v, bool on_page, const berth_result **out, berth_err *err)
{
	berth_result_list *objectives = berth_result_list_new(&c->mem, &objective_kind);
	berth_result_list *points = berth_result_list_new(&c->mem, on_page ? &dot_kind : &point_kind);
	for (const berth_objective *o = v->cfg.objective; o < v->cfg.objective + 2; o++)
		RESULT_ADD(objectives, OBJECTIVE);
	BERTH_TRY(on_page ? dots_of(c, v, points, err) : points_of(c, v, points, err));
	*out = RESULT_NEW(&c->mem, pareto_document, FRONT);
	return BERTH_OK;
}

static berth_status write_report(cli *c, const view *v, const char *path, berth_err *err)
{
	berth_page page;
	const berth_result *front;
	BERTH_TRY(front_of(c, v, true, &front, err));
	BERTH_TRY(cli_report_open(c, &page, "front", v->p->g->name, v->p->s->name, "", front, err));
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
	cli_cell_text(t, text);
}

static berth_status print_text(cli *c, const view *v, berth_err *err)
{
	char buf[32], count[32];
	int32_t *dev_ops;
	cli_table t;
	BERTH_TRY_NEW(&c->mem, v->p->n_devs, err, dev_ops);
	cli_say("%s on %s: ", v->p->g->name, v->p->s->name);
	if (v->front.n == 1)
		cli_say("one placement, the best found in both\n");
	else
		cli_say("%d placements, none better than another in both\n", v->front.n);
	cli_say("%s evaluations in %s, seed %llu\n\n", cli_count(count, v->front.evaluations),
	        berth_text_seconds(buf, v->wall_s), (unsigned long long)v->cfg.search.seed);
	cli_table_init(&t, &c->mem, "rrrl");
	cli_cell(&t, "point");
	for (int k = 0; k < 2; k++)
		cli_cell_text(&t, berth_objective_name(&v->cfg.objective[k]));
	cli_cell(&t, "operators");
	int32_t alike = 0; /* points that would be told as the one before */
	char told[2][2][32] = {{"", ""}};
	for (int32_t i = 0; i < v->front.n; i++) {
		const berth_pareto_point *x = &v->front.point[i];
		bool same = true;
		for (int k = 0; k < 2; k++) {
			cli_value(told[i % 2][k], &v->cfg.objective[k], x->value[k]);
			same &= strcmp(told[0][k], told[1][k]) == 0;
		}
		alike += same;
		if (same)
			continue;
		cli_cell_int(&t, i + 1);
		for (int k = 0; k < 2; k++)
			cli_cell_value(&t, &v->cfg.objective[k], x->value[k]);
		devices_cell(&t, v, x, dev_ops);
	}
	cli_cell(&t, "bound");
	for (int k = 0; k < 2; k++)
		cli_cell_value(&t, &v->cfg.objective[k], v->bound[k]);
	cli_cell(&t, "-");
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	if (alike)
		cli_say("(%d more, which differ%s from the point before by less than is shown)\n", (int)alike,
		        alike == 1 ? "s" : "");
	return BERTH_OK;
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
	const berth_result *front;
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
	BERTH_TRY(front_of(c, &v, false, &front, err));
	BERTH_TRY(cli_result(c, front, err));
	if (cli_in_words(c) && v.front.n)
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
