/* What stands where: of each device its operators, parameters and types, and what goes between devices. */
#include "show_placed.h"

#include "json.h"
#include "option_files.h"
#include "print.h"
#include "report.h"
#include "sandboxed.h"
#include "say.h"
#include "show_types.h"
#include "text.h"
#include "training.h"

#include <math.h>

/* A placement file, to be undone by unmap_placement. */
typedef struct placement_text {
	const char *file;
	cli_text x;
	cJSON *doc;
} placement_text;

static void unmap_placement(placement_text *p)
{
	cJSON_Delete(p->doc);
	cli_json_unmap(&p->x);
}

static berth_status map_placement(cli *c, const char *path, placement_text *p, berth_err *err)
{
	*p = (placement_text){.file = path};
	BERTH_TRY(cli_json_map(c, path, &p->x, err));
	berth_status st = berth_json_parse_large(path, p->x.text, p->x.size, &p->doc, err);
	if (st != BERTH_OK)
		unmap_placement(p);
	return st;
}

/* "zoo:NAME" or "system:NAME" of what the placement file says under key; NULL: it says nothing. */
static const char *said(cli *c, const cJSON *doc, const char *key, const char *prefix)
{
	const cJSON *at = cJSON_GetObjectItemCaseSensitive(doc, key),
		    *name = cJSON_GetObjectItemCaseSensitive(at, "name");
	return cJSON_IsString(name) ? berth_arena_printf(&c->mem, "%s:%s", prefix, name->valuestring) : NULL;
}

static berth_status load_graph(cli *c, const show_args *a, const cJSON *doc, show_placed *v, berth_err *err)
{
	berth_read_options opt = cli_read_options(c);
	const char *spec = a->graph ? a->graph : said(c, doc, "graph", "zoo");
	berth_read_report r;
	berth_err why;
	BERTH_TRY(cli_training_check(a->training && a->graph, spec, err));
	berth_status st =
		spec ? berth_graph_load(spec, a->graph ? &opt : NULL, &c->mem, &c->tmp, &v->g, &r, &why)
		     : BERTH_EINVAL;
	if (st == BERTH_OK)
		BERTH_TRY(cli_check_external(c, spec, &r, err));
	if (st == BERTH_OK || st == BERTH_ENOMEM || (a->graph && spec))
		return st == BERTH_OK ? st : berth_fail(err, st, "%s", why.msg);
	return berth_fail(err, BERTH_EINVAL,
	                  "show: the graph of the placement is no model of the zoo: give --graph GRAPH");
}

static berth_status make_training(cli *c, show_placed *v, berth_err *err)
{
	berth_graph step;
	BERTH_TRY(berth_graph_training(&v->g, NULL, &c->mem, &c->tmp, &step, err));
	v->g = step;
	return BERTH_OK;
}

static berth_status load_system(cli *c, const show_args *a, const cJSON *doc, show_placed *v, berth_err *err)
{
	const char *spec = a->on ? a->on : said(c, doc, "system", "system");
	berth_err why;
	berth_status st = spec ? cli_system_load(c, spec, &v->g, &v->s, &why) : BERTH_EINVAL;
	if (st == BERTH_OK || st == BERTH_ENOMEM || a->on)
		return st == BERTH_OK ? st : berth_fail(err, st, "%s", why.msg);
	return berth_fail(err, BERTH_EINVAL,
	                  "show: the system of the placement is no built-in one: give --on SYSTEM");
}

static berth_status load_parts(cli *c, const show_args *a, const placement_text *x, show_placed *v,
                               berth_err *err)
{
	const char *warning = NULL;
	BERTH_TRY(load_graph(c, a, x->doc, v, err));
	if (a->training)
		BERTH_TRY(make_training(c, v, err));
	BERTH_TRY(load_system(c, a, x->doc, v, err));
	BERTH_TRY(berth_placement_parse_json(x->file, x->x.text, x->x.size, &v->g, &v->s, &c->mem, &c->tmp,
	                                     &v->placement, &warning, err));
	return warning ? cli_warn(c, err, "%s", warning) : BERTH_OK;
}

berth_status show_placed_load(cli *c, const show_args *a, show_placed *v, berth_err *err)
{
	placement_text x;
	BERTH_TRY(map_placement(c, a->placement, &x, err));
	berth_status st = load_parts(c, a, &x, v, err);
	unmap_placement(&x);
	BERTH_TRY(st);
	BERTH_TRY(berth_problem_new(&v->g, &v->s, &c->mem, &c->tmp, &v->p, err));
	v->objective = berth_objective_of(BERTH_LATENCY);
	if (v->placement.objective &&
	    berth_objective_parse(v->placement.objective, &v->objective, NULL) == BERTH_OK &&
	    berth_objective_check(&v->objective, &v->p, NULL) != BERTH_OK)
		v->objective = berth_objective_of(BERTH_LATENCY);
	return berth_timeline_new(&v->p, v->placement.op_dev, v->placement.order, &c->mem, &v->t, err);
}

berth_status show_placed_system(cli *c, const char *path, const char **out, berth_err *err)
{
	placement_text x;
	BERTH_TRY(map_placement(c, path, &x, err));
	*out = said(c, x.doc, "system", "system");
	unmap_placement(&x);
	return BERTH_OK;
}

/* ---- figures ---- */

typedef struct view {
	show_placed x;
	int32_t *dev_ops;       /* [n_devs] */
	int64_t *dev_params;    /* [n_devs] bytes, a shared parameter once a device */
	int64_t *dev_type_ns;   /* [n_devs][n_types + 1] */
	int32_t n_crossing;     /* tensors that another device takes */
	int64_t crossing_bytes; /* of them, once for each such device */
} view;

static void count_tensor(view *v, int32_t t, bool *takes)
{
	const berth_graph *g = &v->x.g;
	const int32_t *op_dev = v->x.placement.op_dev;
	int32_t n = 0;
	for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
		takes[op_dev[g->edge_consumer[e]]] = true;
	for (int32_t d = 0; d < v->x.s.n_devs; d++) {
		n += takes[d] && d != op_dev[g->tensor_producer[t]];
		takes[d] = false;
	}
	v->n_crossing += n > 0;
	v->crossing_bytes += n * g->tensor_bytes[t];
}

static void count_param(view *v, int32_t p, bool *holds)
{
	const berth_graph *g = &v->x.g;
	for (int32_t i = g->param_op_off[p]; i < g->param_op_off[p + 1]; i++)
		holds[v->x.placement.op_dev[g->param_op[i]]] = true;
	for (int32_t d = 0; d < v->x.s.n_devs; d++) {
		v->dev_params[d] += holds[d] ? g->param_bytes[p] : 0;
		holds[d] = false;
	}
}

static berth_status count(cli *c, view *v, berth_err *err)
{
	const berth_graph *g = &v->x.g;
	int32_t devs = v->x.s.n_devs, types = g->n_types + 1;
	bool *mark;
	BERTH_TRY(BERTH_NEW(&c->mem, mark, devs, err));
	BERTH_TRY(BERTH_NEW(&c->mem, v->dev_ops, devs, err));
	BERTH_TRY(BERTH_NEW(&c->mem, v->dev_params, devs, err));
	BERTH_TRY(BERTH_NEW(&c->mem, v->dev_type_ns, (size_t)devs * (size_t)types, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t d = v->x.placement.op_dev[op], type = g->op_type[op] < 0 ? types - 1 : g->op_type[op];
		int64_t time = berth_op_time(&v->x.p, op, d);
		v->dev_ops[d]++;
		v->dev_params[d] += g->op_param_bytes[op];
		v->dev_type_ns[(size_t)d * (size_t)types + (size_t)type] += time > 0 ? time : 0;
	}
	for (int32_t p = 0; p < g->n_params; p++)
		count_param(v, p, mark);
	for (int32_t t = 0; t < g->n_tensors; t++)
		count_tensor(v, t, mark);
	return BERTH_OK;
}

static int64_t time_of(const view *v, int32_t d)
{
	int32_t types = v->x.g.n_types + 1;
	int64_t sum = 0;
	for (int32_t k = 0; k < types; k++)
		sum += v->dev_type_ns[d * types + k];
	return sum;
}

/* ---- output ---- */

static void put_device(berth_json_out *w, const view *v, int32_t d)
{
	int32_t types = v->x.g.n_types + 1;
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "name", v->x.s.dev_name[d]);
	berth_json_put_int(w, "ops", v->dev_ops[d]);
	berth_json_put_int(w, "param_bytes", v->dev_params[d]);
	berth_json_put_ns(w, "time_s", time_of(v, d));
	berth_json_open(w, "types_s", '{');
	for (int32_t k = 0; k < types; k++)
		if (v->dev_type_ns[d * types + k])
			berth_json_put_ns(w, k + 1 < types ? v->x.g.type_name[k] : "",
			                  v->dev_type_ns[d * types + k]);
	berth_json_close(w, '}');
	berth_json_close(w, '}');
}

static berth_status print_json(cli *c, const view *v, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "graph", v->x.g.name);
	berth_json_put_string(&w, "system", v->x.s.name);
	berth_json_put_string(&w, "method", v->x.placement.method);
	berth_json_put_number(&w, "latency_s", v->x.t.r.runs ? (double)v->x.t.r.latency_ns / 1e9 : NAN);
	berth_json_put_int(&w, "ops", v->x.g.n_ops);
	berth_json_open(&w, "devices", '[');
	for (int32_t d = 0; d < v->x.s.n_devs; d++)
		put_device(&w, v, d);
	berth_json_close(&w, ']');
	berth_json_put_int(&w, "crossing_tensors", v->n_crossing);
	berth_json_put_int(&w, "crossing_bytes", v->crossing_bytes);
	return cli_end_json(c, &w, err);
}

static berth_status print_text(cli *c, const view *v, berth_err *err)
{
	cli_table t;
	char buf[32], types[160];
	cli_say("%s on %s: ", v->x.g.name, v->x.s.name);
	if (v->x.t.r.runs)
		cli_say("latency %s", berth_text_seconds(buf, (double)v->x.t.r.latency_ns / 1e9));
	else
		cli_say("an operator is on a device that cannot run it; 'berth simulate' tells which");
	cli_say("%s%s\n\n", v->x.placement.method ? ", by " : "",
	        v->x.placement.method ? v->x.placement.method : "");
	cli_table_init(&t, &c->mem, "lrrrl");
	cli_table_head(&t, "device|operators|parameters|time|where the time goes");
	for (int32_t d = 0; d < v->x.s.n_devs; d++) {
		show_top_types(&v->x.g, v->dev_type_ns + (size_t)d * ((size_t)v->x.g.n_types + 1), types,
		               sizeof types);
		cli_cell(&t, "%s", v->x.s.dev_name[d]);
		cli_cell(&t, "%d", v->dev_ops[d]);
		cli_cell(&t, "%s", berth_text_bytes(buf, (double)v->dev_params[d]));
		cli_cell(&t, "%s", berth_text_seconds(buf, (double)time_of(v, d) / 1e9));
		cli_cell(&t, "%s", types);
	}
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	cli_say("\n%d tensors go to other devices, %s\n", v->n_crossing,
	        berth_text_bytes(buf, (double)v->crossing_bytes));
	return BERTH_OK;
}

berth_status show_placed_graph(cli *c, const show_args *a, berth_err *err)
{
	view v = {0};
	BERTH_TRY(show_placed_load(c, a, &v.x, err));
	BERTH_TRY(count(c, &v, err));
	if (c->json)
		return print_json(c, &v, err);
	return c->quiet ? BERTH_OK : print_text(c, &v, err);
}
