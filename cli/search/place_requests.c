/* Copies for requests of unlike sizes: the sizes are read and loaded, the copies chosen (request_mix.h), and
 * the answer written and told. */
#include "place_requests.h"

#include "copies_print.h"
#include "graph_load.h"
#include "place_replicas.h"
#include "print.h"
#include "request_mix.h"
#include "say.h"
#include "signals.h"
#include "text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define TIME_SHARE 0.9 /* of a time; the rest is for what follows the searches */

typedef struct view {
	berth_requests x;
	const char *words[BERTH_MOST_SIZES];
	double share[BERTH_MOST_SIZES];
	berth_graph graph[BERTH_MOST_SIZES];
	berth_system s;
	berth_mix mix;
	copies_plan plan;
} view;

/* ---- arguments ---- */

static berth_status read_size(const char *text, double *share, const char **words, berth_err *err)
{
	const char *end;
	*share = berth_text_number(text, &end);
	*words = end + 1;
	if (end == text || *end != ':' || !(*share > 0 && *share <= 1e9) || !strchr(end, '='))
		return berth_fail(err, BERTH_EINVAL,
		                  "option --requests: '%.60s' is not SHARE:WORD=N with a share above 0, as "
		                  "in 0.7:batch=1",
		                  text);
	return BERTH_OK;
}

static berth_status read_sizes(const cli_texts *given, view *v, berth_err *err)
{
	double sum = 0;
	if (given->n > BERTH_MOST_SIZES)
		return berth_fail(err, BERTH_EINVAL, "option --requests: %d sizes; expected at most %d",
		                  (int)given->n, BERTH_MOST_SIZES);
	for (int32_t i = 0; i < given->n; i++) {
		BERTH_TRY(read_size(given->text[i], &v->share[i], &v->words[i], err));
		for (int32_t k = 0; k < i; k++)
			if (strcmp(v->words[k], v->words[i]) == 0)
				return berth_fail(err, BERTH_EINVAL,
				                  "option --requests: '%.60s' stands twice", v->words[i]);
		sum += v->share[i];
	}
	for (int32_t i = 0; i < given->n; i++)
		v->share[i] /= sum;
	v->x = (berth_requests){given->n, v->graph, v->share};
	return BERTH_OK;
}

static berth_status load(cli *c, const place_requests_args *a, view *v, berth_err *err)
{
	if (c->n_args > 1)
		return berth_fail(err, BERTH_EINVAL, "place: --requests takes one model");
	if (strchr(a->given.text[0], ';'))
		return berth_fail(err, BERTH_EINVAL,
		                  "option --requests: '%.60s' has ';' in it: give ',' between sizes",
		                  a->given.text[0]);
	if (!a->replicas)
		return berth_fail(err, BERTH_EINVAL,
		                  "place: --requests is for copies of the model: give --replicas auto, or "
		                  "the most copies");
	BERTH_TRY(read_sizes(&a->given, v, err));
	for (int32_t i = 0; i < v->x.n; i++) {
		const char *model;
		BERTH_TRY(copies_model(c, c->args[0], v->words[i], &model, err));
		BERTH_TRY(cli_instance_load(c, model, a->on, &v->graph[i], &v->s, NULL, err));
	}
	return BERTH_OK;
}

static berth_status choose(cli *c, const place_requests_args *a, const cli_budget *budget,
                           const berth_method *method, view *v, berth_err *err)
{
	berth_search_cfg cfg;
	int32_t least = 1, most = berth_replicas_most(&v->graph[0], &v->s);
	BERTH_TRY(place_replicas_number(a->replicas, &least, &most, err));
	BERTH_TRY(cli_budget_open(budget, &cfg, err));
	place_replicas_limit(c, TIME_SHARE, &cfg);
	berth_status st = cli_budget_policy(budget, c, &cfg, err);
	if (st == BERTH_OK)
		st = berth_mix_choose(&v->x, &v->s, most, method, &cfg, &c->mem, &c->tmp, &v->mix, err);
	cli_budget_close(&cfg);
	return st;
}

/* ---- the plan ---- */

static bool to_stdout(const place_requests_args *a)
{
	return a->out && strcmp(a->out, "-") == 0;
}

static berth_status name_copies(cli *c, view *v, berth_err *err)
{
	BERTH_TRY(BERTH_NEW(&c->mem, v->plan.model, v->mix.n, err));
	for (int32_t k = 0; k < v->mix.n; k++)
		BERTH_TRY(copies_model(c, c->args[0], v->words[v->mix.copy[k].most], &v->plan.model[k], err));
	v->plan.n = v->mix.n;
	return BERTH_OK;
}

static berth_status write_plan(cli *c, const place_requests_args *a, const cli_budget *budget,
                               const berth_method *method, view *v, berth_err *err)
{
	berth_graph all;
	berth_placement p;
	int32_t *op_dev;
	v->plan.out = a->out;
	BERTH_TRY(name_copies(c, v, err));
	BERTH_TRY(berth_mix_unite(&v->x, &v->mix, &c->mem, &c->tmp, &all, &op_dev, err));
	BERTH_TRY(berth_placement_new(&all, &v->s, &c->mem, &c->tmp, &p, err));
	p.method = method->name;
	p.seed = budget->seed;
	p.evaluations = v->mix.evaluations;
	p.op_dev = op_dev;
	p.order = v->s.order == BERTH_ORDER_GIVEN ? all.topo_op : NULL;
	if (to_stdout(a))
		cli_document_begin();
	berth_status st = berth_placement_write(&p, &all, &v->s, a->out, true, &c->tmp, err);
	if (to_stdout(a))
		cli_document_end();
	return st;
}

/* ---- output ---- */

static void mark_devices(const view *v, const berth_mix_copy *copy, bool on[BERTH_MAX_DEVS])
{
	for (int32_t d = 0; d < v->s.n_devs; d++)
		on[d] = false;
	for (int32_t op = 0; op < v->graph[0].n_ops; op++)
		on[copy->op_dev[op]] = true;
}

static void put_copy(berth_json_out *w, const view *v, const berth_mix_copy *copy)
{
	bool on[BERTH_MAX_DEVS];
	mark_devices(v, copy, on);
	berth_json_open(w, NULL, '{');
	berth_json_flat(w, true);
	berth_json_open(w, "devices", '[');
	for (int32_t d = 0; d < v->s.n_devs; d++)
		if (on[d])
			berth_json_put_string(w, NULL, v->s.dev_name[d]);
	berth_json_close(w, ']');
	berth_json_open(w, "per_s", '[');
	for (int32_t i = 0; i < v->x.n; i++)
		berth_json_put_number(w, NULL, copy->per_s[i]);
	berth_json_close(w, ']');
	berth_json_close(w, '}');
	berth_json_flat(w, false);
}

static berth_status put(cli *c, const view *v, const berth_method *method, const cli_budget *budget,
                        berth_err *err)
{
	berth_json_out w;
	const berth_mix *m = &v->mix;
	berth_json_out_init(&w, &c->mem, true);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "graph", c->args[0]);
	berth_json_put_string(&w, "system", v->s.name);
	berth_json_put_string(&w, "method", method->name);
	berth_json_put_int(&w, "seed", (int64_t)budget->seed);
	berth_json_put_int(&w, "evaluations", m->evaluations);
	berth_json_put_bool(&w, "feasible", m->n > 0);
	berth_json_put_number(&w, "throughput_per_s", m->per_s);
	berth_json_put_number(&w, "bound_per_s", m->bound_per_s);
	berth_json_put_number(&w, "one_copy_per_s", m->one_per_s);
	berth_json_put_number(&w, "device_per_s", m->device_per_s);
	berth_json_put_string(&w, "device", m->device < 0 ? NULL : v->s.dev_name[m->device]);
	berth_json_open(&w, "requests", '[');
	for (int32_t i = 0; i < v->x.n; i++) {
		berth_json_open(&w, NULL, '{');
		berth_json_flat(&w, true);
		berth_json_put_string(&w, "words", v->words[i]);
		berth_json_put_number(&w, "share", v->share[i]);
		berth_json_close(&w, '}');
		berth_json_flat(&w, false);
	}
	berth_json_close(&w, ']');
	berth_json_open(&w, "copies", '[');
	for (int32_t k = 0; k < m->n; k++)
		put_copy(&w, v, &m->copy[k]);
	berth_json_close(&w, ']');
	copies_put(&w, &v->plan);
	return cli_end_json(c, &w, err);
}

static void print_head(const cli *c, const view *v)
{
	const berth_mix *m = &v->mix;
	char text[32];
	cli_say("%s on %s: %.4g requests/s by %d %s", c->args[0], v->s.name, m->per_s, (int)m->n,
	        m->n == 1 ? "copy" : "copies");
	if (isfinite(m->bound_per_s))
		cli_say("; none can have more than %.4g (%s less here)", m->bound_per_s,
		        cli_percent(text, 1 - m->per_s / m->bound_per_s));
	cli_say("\n");
	if (m->one_per_s > 0)
		cli_say("one copy: %.4g requests/s, %.2f times less\n", m->one_per_s,
		        m->per_s / m->one_per_s);
	if (m->device >= 0)
		cli_say("%s alone: %.4g requests/s, %.2f times less\n", v->s.dev_name[m->device],
		        m->device_per_s, m->per_s / m->device_per_s);
	cli_say("\n");
}

static berth_status print(cli *c, const view *v, berth_err *err)
{
	cli_table t;
	char columns[BERTH_MOST_SIZES + 2] = "l";
	const char *head = "devices of a copy";
	print_head(c, v);
	for (int32_t i = 0; i < v->x.n && head; i++) {
		columns[1 + i] = 'r';
		head = berth_arena_printf(&c->mem, "%s|%s (%.3g %%)", head, v->words[i], 100 * v->share[i]);
	}
	if (!head)
		return berth_nomem(err);
	cli_table_init(&t, &c->mem, columns);
	cli_table_head(&t, head);
	for (int32_t k = 0; k < v->mix.n; k++) {
		const berth_mix_copy *copy = &v->mix.copy[k];
		bool on[BERTH_MAX_DEVS];
		const char *devices = "";
		mark_devices(v, copy, on);
		for (int32_t d = 0; d < v->s.n_devs && devices; d++)
			if (on[d])
				devices = berth_arena_printf(&c->mem, "%s%s%s", devices, *devices ? "+" : "",
				                             v->s.dev_name[d]);
		if (!devices)
			return berth_nomem(err);
		cli_cell(&t, "%s", devices);
		for (int32_t i = 0; i < v->x.n; i++)
			cli_cell(&t, copy->per_s[i] > 0 ? "%.4g/s" : "-", copy->per_s[i]);
	}
	BERTH_TRY(cli_table_print(&t, CLI_AS_TEXT, err));
	copies_print(&v->plan, "");
	if (v->plan.out)
		cli_say("simulate tells periods of it, in which each copy has one request of that size: not "
		        "the rates above\n");
	return BERTH_OK;
}

berth_status place_requests(cli *c, const place_requests_args *a, const cli_budget *budget,
                            const berth_method *method, berth_err *err)
{
	view *v;
	BERTH_TRY(BERTH_NEW(&c->mem, v, 1, err));
	BERTH_TRY(load(c, a, v, err));
	BERTH_TRY(choose(c, a, budget, method, v, err));
	if (a->out && v->mix.n)
		BERTH_TRY(write_plan(c, a, budget, method, v, err));
	if (c->json)
		BERTH_TRY(put(c, v, method, budget, err));
	else if (!c->quiet && v->mix.n && !to_stdout(a))
		BERTH_TRY(print(c, v, err));
	if (v->mix.interrupted)
		return berth_fail(err, BERTH_EINTERRUPTED,
		                  "interrupted; the best copies so far are the answer");
	if (v->mix.n)
		return BERTH_OK;
	return berth_fail(err, BERTH_EINFEASIBLE,
	                  "no copies of %s fit on %s with requests of all sizes: give smaller ones, or more "
	                  "memory%s%s",
	                  c->args[0], v->s.name, a->out ? "; not written: " : "", a->out ? a->out : "");
}
