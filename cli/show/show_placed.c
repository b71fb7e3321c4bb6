/* What stands where: of each device its operators, parameters and types, and what goes between devices. */
#include "show.h"

#include "engine_rules.h"
#include "op_times.h"
#include "option_files.h"
#include "plan_words.h"
#include "results.h"
#include "sandboxed.h"
#include "tell.h"

/* A placement file, to be undone by unmap_placement. */
typedef struct placement_text {
	const char *file;
	cli_text x;
	cJSON *doc;
} placement_text;

static void unmap_placement(placement_text *p)
{
	cJSON_Delete(p->doc);
	berth_json_unmap(&p->x);
}

static berth_status map_placement(cli *c, const char *path, placement_text *p, berth_err *err)
{
	*p = (placement_text){.file = path};
	BERTH_TRY(cli_json_map(c, BERTH_READS_PLAN, path, &p->x, err));
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

/* *training: a step of the graph is made of it. */
static berth_status load_graph(cli *c, const show_args *a, const cJSON *doc, bool *training, show_placed *v,
                               berth_err *err)
{
	berth_read_options opt = cli_read_options(c);
	const char *spec = a->graph ? a->graph : said(c, doc, "graph", "zoo");
	berth_read_report r;
	berth_err why;
	if (a->graph)
		BERTH_TRY(cli_training_module(c, training, &spec, err));
	berth_status st =
		spec ? berth_graph_load(spec, a->graph ? &opt : NULL, &c->mem, &c->tmp, &v->g, &r, &why)
		     : BERTH_EINVAL;
	if (st == BERTH_OK)
		BERTH_TRY(cli_graph_told(c, spec, &r, err));
	if (st == BERTH_OK || st == BERTH_ENOMEM || (a->graph && spec))
		return st == BERTH_OK ? st : berth_fail(err, st, "%s", why.msg);
	return berth_fail(err, BERTH_EINVAL,
	                  "show: the graph of the placement is no model of the zoo: give show GRAPH "
	                  "--placement PLAN");
}

static berth_status load_system(cli *c, const show_args *a, const cJSON *doc, show_placed *v, berth_err *err)
{
	const char *spec = a->on ? a->on : said(c, doc, "system", "system");
	berth_err why;
	berth_status st = spec ? cli_system_load(c, spec, &v->g, &v->s, &why) : BERTH_EINVAL;
	const berth_engine_rules *engine = NULL; /* of the plan */
	if (st == BERTH_OK && c->engine)
		BERTH_TRY(berth_rules_find(c->engine, &engine, err));
	if (st == BERTH_OK)
		return berth_system_for(engine, &v->s, err);
	if (st == BERTH_ENOMEM || a->on)
		return berth_fail(err, st, "%s", why.msg);
	return berth_fail(err, BERTH_EINVAL,
	                  "show: the system of the placement is no built-in one: give --on SYSTEM");
}

static berth_status load_parts(cli *c, const show_args *a, const placement_text *x, show_placed *v,
                               berth_err *err)
{
	const char *warning = NULL;
	bool training = a->training;
	BERTH_TRY(load_graph(c, a, x->doc, &training, v, err));
	if (training) {
		berth_graph step;
		BERTH_TRY(berth_graph_training(&v->g, NULL, &c->mem, &c->tmp, &step, err));
		v->g = step;
	}
	BERTH_TRY(load_system(c, a, x->doc, v, err));
	BERTH_TRY(berth_placement_parse_json(x->file, x->x.text, x->x.size, &v->g, &v->s, &c->mem, &c->tmp,
	                                     &v->placement, &warning, err));
	return warning ? cli_warn(c, err, "%s", warning) : BERTH_OK;
}

berth_status show_placed_load(cli *c, const show_args *a, show_placed *v, berth_err *err)
{
	placement_text x;
	BERTH_TRY(cli_plan_words_take(c, a->placement, a->graph, err));
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

static berth_status count(cli *c, view *v, berth_err *err)
{
	const berth_graph *g = &v->x.g;
	int32_t devs = v->x.s.n_devs, types = g->n_types + 1;
	bool *mark;
	BERTH_TRY_NEW(&c->mem, devs, err, mark, v->dev_ops, v->dev_params);
	BERTH_TRY_NEW(&c->mem, (size_t)devs * (size_t)types, err, v->dev_type_ns);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t d = v->x.placement.op_dev[op], type = g->op_type[op] < 0 ? types - 1 : g->op_type[op];
		int64_t time = berth_op_time(&v->x.p, op, d);
		v->dev_ops[d]++;
		v->dev_params[d] += g->op_param_bytes[op];
		BERTH_ROW(v->dev_type_ns, d, types)[type] += time > 0 ? time : 0;
	}
	for (int32_t p = 0; p < g->n_params; p++) {
		BERTH_EACH (i, g->param_op_off, p)
			mark[v->x.placement.op_dev[g->param_op[i]]] = true;
		for (int32_t d = 0; d < v->x.s.n_devs; d++) {
			v->dev_params[d] += mark[d] ? g->param_bytes[p] : 0;
			mark[d] = false;
		}
	}
	for (int32_t t = 0; t < g->n_tensors; t++) {
		const int32_t *op_dev = v->x.placement.op_dev;
		int32_t n = 0;
		BERTH_EACH (e, g->tensor_use_off, t)
			mark[op_dev[g->edge_consumer[e]]] = true;
		for (int32_t d = 0; d < v->x.s.n_devs; d++) {
			n += mark[d] && d != op_dev[g->tensor_producer[t]];
			mark[d] = false;
		}
		v->n_crossing += n > 0;
		v->crossing_bytes += n * g->tensor_bytes[t];
	}
	return BERTH_OK;
}

/* ---- output ---- */

#define DEVICE(K, IF) \
	K(TEXT, "name", "", "", v->x.s.dev_name[d]) \
	K(INT, "ops", "", "", v->dev_ops[d]) \
	K(INT, "param_bytes", "bytes", "a shared parameter once on each device", v->dev_params[d]) \
	K(NS, "time_s", "s", "of its operators", all_ns) \
	IF(times, TEXT, "times", "", "what these are from, as in [device load](#device-load)", times) \
	K(MAP("number"), "types_s", "s", "time of the type; empty name: without one", types)
static RESULT_KIND(device_kind, "", "", DEVICE);

#define PLACED(K, IF) \
	K(TEXT, "graph", "", "name", v->x.g.name) \
	K(TEXT, "system", "", "name", v->x.s.name) \
	K(TEXT_OR_NULL, "method", "", "as the placement says", v->x.placement.method) \
	K(NS_OR_NULL, "latency_s", "s", "simulated; null: an operator cannot run where it is", \
	  v->x.t.r.runs ? v->x.t.r.latency_ns : -1) \
	K(INT, "ops", "", "", v->x.g.n_ops) \
	K(LIST(device_kind), "devices", "", "", devices) \
	K(INT, "crossing_tensors", "", "that go to other devices", v->n_crossing) \
	K(INT, "crossing_bytes", "bytes", "once for each such device", v->crossing_bytes)
RESULT_KIND(show_placed_document, "Show a graph with a placement", "`show GRAPH --placement PLAN`.", PLACED);

berth_status show_placed_graph(cli *c, const show_args *a, berth_err *err)
{
	view made = {0}, *v = &made;
	BERTH_TRY(show_placed_load(c, a, &v->x, err));
	BERTH_TRY(count(c, v, err));
	int32_t n_types = v->x.g.n_types + 1;
	berth_result_list *list = berth_result_list_new(&c->mem, &device_kind);
	for (int32_t d = 0; d < v->x.s.n_devs; d++) {
		const int64_t *ns = BERTH_ROW(v->dev_type_ns, d, n_types);
		berth_result_map *types = berth_result_map_new(&c->mem);
		const char *times = berth_times_from(&v->x.p, v->x.placement.op_dev, d);
		int64_t all_ns = 0;
		for (int32_t k = 0; k < n_types; k++) {
			all_ns += ns[k];
			if (ns[k])
				berth_result_map_add(types, k + 1 < n_types ? v->x.g.type_name[k] : "",
				                     berth_result_ns(ns[k]));
		}
		RESULT_ADD(list, DEVICE);
	}
	berth_result_list *devices = list;
	const berth_result *r = RESULT_NEW(&c->mem, show_placed_document, PLACED);
	BERTH_TRY(cli_result(c, r, err));
	if (!cli_in_words(c))
		return BERTH_OK;
	cli_tell(r, NULL, "{graph} on {system}: ");
	cli_tell(r, NULL,
	         v->x.t.r.runs
	                 ? "latency {latency_s}"
	                 : "an operator is on a device that cannot run it; 'berth simulate' tells which");
	cli_tell(r, NULL, "[, by {method}]\n\n");
	BERTH_TRY(cli_tell_rows(c, devices, NULL, CLI_AS_TEXT,
	                        "device=name|operators=ops|parameters=param_bytes|time=time_s|"
	                        "<where the time goes=types_s",
	                        err));
	cli_tell(r, NULL, "\n{crossing_tensors} tensors go to other devices, {crossing_bytes}\n");
	return BERTH_OK;
}
