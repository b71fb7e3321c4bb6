/* A placement file at a glance, without its graph and system: what it says about itself, and how many
 * operators each device has. */
#include "json.h"
#include "print.h"
#include "sandboxed.h"
#include "say.h"
#include "show.h"
#include "text.h"

#include <math.h>
#include <stdio.h>

typedef struct view {
	const char *graph, *system, *method, *objective;
	double seed, evaluations, value, lower_bound; /* NAN: not said */
	int32_t n_ops, n_devs;
	bool ordered;
	const char **dev_name; /* [n_devs] in order of first use */
	int32_t *dev_ops;
} view;

static const char *text_of(const cJSON *doc, const char *key)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(doc, key);
	return cJSON_IsString(m) ? m->valuestring : NULL;
}

static double number_of(const cJSON *doc, const char *key)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(doc, key);
	return cJSON_IsNumber(m) ? m->valuedouble : NAN;
}

typedef struct counting {
	berth_arena *mem;
	berth_strmap devs;
	view *v;
	size_t cap_name, cap_ops;
} counting;

static berth_status add_device(counting *x, const char *name, berth_err *err)
{
	view *v = x->v;
	int32_t d;
	BERTH_TRY(BERTH_GROW(x->mem, v->dev_name, v->n_devs, &x->cap_name, err));
	BERTH_TRY(BERTH_GROW(x->mem, v->dev_ops, v->n_devs, &x->cap_ops, err));
	if (!(v->dev_name[v->n_devs] = berth_arena_strdup(x->mem, name)))
		return berth_nomem(err);
	return berth_strmap_add(&x->devs, v->dev_name[v->n_devs], v->n_devs, &d, err);
}

static berth_status count_op(void *ctx, const berth_json *at, berth_err *err)
{
	counting *x = ctx;
	view *v = x->v;
	if (!cJSON_IsString(at->item))
		return berth_json_fail(at, err, "expected the name of a device");
	int32_t d = berth_strmap_get(&x->devs, at->item->valuestring);
	if (d < 0) {
		BERTH_TRY(add_device(x, at->item->valuestring, err));
		d = v->n_devs++;
	}
	v->dev_ops[d]++;
	v->n_ops++;
	return BERTH_OK;
}

static berth_status count_ops(berth_arena *mem, const berth_json *map, view *v, berth_err *err)
{
	counting x = {.mem = mem, .v = v};
	berth_strmap_init(&x.devs, mem);
	return berth_json_each(map, count_op, &x, err);
}

static berth_status read_view(berth_arena *mem, const berth_json *doc, view *v, berth_err *err)
{
	berth_json map;
	const cJSON *order = cJSON_GetObjectItemCaseSensitive(doc->item, "order");
	if (cJSON_GetObjectItemCaseSensitive(doc->item, "format"))
		BERTH_TRY(berth_json_format(doc, "berth-placement", 1, err));
	BERTH_TRY(berth_json_object(doc, "placement", true, &map, err));
	v->graph = text_of(cJSON_GetObjectItemCaseSensitive(doc->item, "graph"), "name");
	v->system = text_of(cJSON_GetObjectItemCaseSensitive(doc->item, "system"), "name");
	v->method = text_of(doc->item, "method");
	v->objective = text_of(doc->item, "objective");
	v->seed = number_of(doc->item, "seed");
	v->evaluations = number_of(doc->item, "evaluations");
	v->value = number_of(doc->item, "value");
	v->lower_bound = number_of(doc->item, "lower_bound");
	v->ordered = cJSON_IsArray(order);
	return count_ops(mem, &map, v, err);
}

static berth_status print_json(cli *c, const view *v, berth_err *err)
{
	berth_json_out w;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "graph", v->graph);
	berth_json_put_string(&w, "system", v->system);
	berth_json_put_string(&w, "method", v->method);
	berth_json_put_number(&w, "seed", v->seed);
	berth_json_put_number(&w, "evaluations", v->evaluations);
	berth_json_put_string(&w, "objective", v->objective);
	berth_json_put_number(&w, "value", v->value);
	berth_json_put_number(&w, "lower_bound", v->lower_bound);
	berth_json_put_bool(&w, "ordered", v->ordered);
	berth_json_put_int(&w, "ops", v->n_ops);
	berth_json_open(&w, "devices", '{');
	for (int32_t d = 0; d < v->n_devs; d++)
		berth_json_put_int(&w, v->dev_name[d], v->dev_ops[d]);
	berth_json_close(&w, '}');
	berth_json_close(&w, '}');
	return cli_print_json(&w, err);
}

/* With the unit of the objective, where it is one. */
static const char *value_text(const view *v, double value, char buf[32])
{
	berth_objective o;
	if (berth_objective_parse(v->objective, &o, NULL) == BERTH_OK)
		return cli_value(buf, &o, value);
	snprintf(buf, 32, "%.4g", value);
	return buf;
}

static berth_status print_text(cli *c, const view *v, berth_err *err)
{
	cli_table t;
	char buf[32];
	cli_say("placement of %s on %s: %d operator%s on %d device%s%s\n", v->graph ? v->graph : "a graph",
	        v->system ? v->system : "a system", v->n_ops, v->n_ops == 1 ? "" : "s", v->n_devs,
	        v->n_devs == 1 ? "" : "s", v->ordered ? ", with an order" : "");
	if (v->method)
		cli_say("by %s\n", v->method);
	if (v->objective && !isnan(v->value))
		cli_say("%s %s", v->objective, value_text(v, v->value, buf));
	if (v->objective && !isnan(v->value) && !isnan(v->lower_bound))
		cli_say(", lower bound %s", value_text(v, v->lower_bound, buf));
	cli_say(v->objective && !isnan(v->value) ? "\n\n" : "\n");
	cli_table_init(&t, &c->mem, "lr");
	cli_table_head(&t, "device|operators");
	for (int32_t d = 0; d < v->n_devs; d++) {
		cli_cell(&t, "%s", v->dev_name[d]);
		cli_cell(&t, "%d", v->dev_ops[d]);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

static berth_status show(cli *c, const char *file, const char *text, size_t size, berth_err *err)
{
	view v = {0};
	cJSON *doc;
	BERTH_TRY(berth_json_parse_large(file, text, size, &doc, err));
	berth_json at = {doc, file, NULL, NULL, 0};
	berth_status st = read_view(&c->mem, &at, &v, err);
	if (st == BERTH_OK && c->json)
		st = print_json(c, &v, err);
	else if (st == BERTH_OK && !c->quiet)
		st = print_text(c, &v, err);
	cJSON_Delete(doc);
	return st;
}

berth_status show_placement(cli *c, const show_args *a, berth_err *err)
{
	cli_text x;
	if (a->out)
		return berth_fail(err, BERTH_EINVAL,
		                  "show: option -o is for graphs and systems, but %s is a placement",
		                  a->input);
	BERTH_TRY(cli_json_map(c, a->input, &x, err));
	berth_status st = show(c, a->input, x.text, x.size, err);
	cli_json_unmap(&x);
	return st;
}
