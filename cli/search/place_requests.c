/* Copies for requests of unlike sizes: the sizes are read and loaded, the copies chosen (request_mix.h), and
 * the answer written and told. */
#include "place_requests.h"

#include "copies_print.h"
#include "graph_load.h"
#include "print.h"
#include "request_mix.h"
#include "results.h"
#include "say.h"
#include "tell.h"

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

static berth_status read_sizes(const cli_texts *given, view *v, berth_err *err)
{
	double sum = 0;
	if (given->n > BERTH_MOST_SIZES)
		return berth_fail(err, BERTH_EINVAL, "option --requests: %d sizes; expected at most %d",
		                  (int)given->n, BERTH_MOST_SIZES);
	for (int32_t i = 0; i < given->n; i++) {
		const char *end;
		v->share[i] = berth_text_number(given->text[i], &end);
		v->words[i] = end + 1;
		if (end == given->text[i] || *end != ':' || !(v->share[i] > 0 && v->share[i] <= 1e9) ||
		    !strchr(end, '='))
			return berth_fail(
				err, BERTH_EINVAL,
				"option --requests: '%.60s' is not SHARE:WORD=N with a share above 0, as "
				"in 0.7:batch=1",
				given->text[i]);
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

/* ---- the plan ---- */

static berth_status write_plan(cli *c, const place_requests_args *a, const cli_budget *budget,
                               const berth_method *method, view *v, berth_err *err)
{
	berth_graph all;
	berth_placement p;
	int32_t *op_dev;
	v->plan.out = a->out;
	BERTH_TRY_NEW(&c->mem, v->mix.n, err, v->plan.model);
	for (int32_t k = 0; k < v->mix.n; k++)
		BERTH_TRY(copies_model(c, c->args[0], v->words[v->mix.copy[k].most], &v->plan.model[k], err));
	v->plan.n = v->mix.n;
	BERTH_TRY(berth_mix_unite(&v->x, &v->mix, &c->mem, &c->tmp, &all, &op_dev, err));
	BERTH_TRY(berth_placement_new(&all, &v->s, &c->mem, &c->tmp, &p, err));
	p.method = method->name;
	p.seed = budget->seed;
	p.evaluations = v->mix.evaluations;
	p.op_dev = op_dev;
	p.order = v->s.order == BERTH_ORDER_GIVEN ? all.topo_op : NULL;
	return copies_write(c, &v->plan, &p, &all, &v->s, err);
}

/* ---- output ---- */

#define SIZE(K, IF) \
	K(TEXT, "words", "", "of the model", v->words[i]) \
	K(NUMBER, "share", "", "of all requests", v->share[i])
static RESULT_FLAT_KIND(size_kind, "", "", SIZE);

#define COPY(K, IF) \
	K(TEXTS, "devices", "", "", device, n) \
	K(NUMBERS, "per_s", "requests/s", "of each size", copy->per_s, v->x.n)
static RESULT_FLAT_KIND(copy_kind, "", "", COPY);

#define REQUESTS(K, IF) \
	K(TEXT, "graph", "", "as it was given", c->args[0]) \
	K(TEXT, "system", "", "", v->s.name) \
	K(TEXT, "method", "", "", method->name) \
	K(INT, "seed", "", "", (int64_t)budget->seed) \
	K(INT, "evaluations", "", "of all searches", m->evaluations) \
	K(BOOL, "feasible", "", "false: no copies fit that serve all sizes", m->n > 0) \
	K(NUMBER, "throughput_per_s", "requests/s", "of all sizes", m->per_s) \
	K(NUMBER_OR_NULL, "bound_per_s", "requests/s", "that any copies have at most", m->bound_per_s) \
	K(NUMBER, "one_copy_per_s", "requests/s", "of the best single copy; 0: none fits", m->one_per_s) \
	K(NUMBER, "device_per_s", "requests/s", "of one copy whole on the best device; 0: none fits", \
	  m->device_per_s) \
	K(TEXT_OR_NULL, "device", "", "that device", m->device < 0 ? NULL : v->s.dev_name[m->device]) \
	K(LIST(size_kind), "requests", "", "sizes", sizes) \
	K(LIST(copy_kind), "copies", "", "", copies) \
	IF(v->plan.out, TEXTS, "models", "", \
	   "only with `-o`: the models that the plan is of, each copy at the largest size that it gets", \
	   v->plan.model, v->plan.n)
RESULT_KIND(requests_document, "Place with requests", "`place --requests --json`.", REQUESTS);

static berth_status add_copy(cli *c, const view *v, const berth_mix_copy *copy, berth_result_list *copies,
                             berth_err *err)
{
	bool on[BERTH_MAX_DEVS] = {false};
	const char **device;
	int32_t n = 0;
	BERTH_TRY_NEW(&c->mem, v->s.n_devs, err, device);
	for (int32_t op = 0; op < v->graph[0].n_ops; op++)
		on[copy->op_dev[op]] = true;
	for (int32_t d = 0; d < v->s.n_devs; d++)
		if (on[d])
			device[n++] = v->s.dev_name[d];
	RESULT_ADD(copies, COPY);
	return BERTH_OK;
}

static berth_status print_copies(cli *c, const view *v, const berth_result_list *copies, berth_err *err)
{
	cli_table t;
	char columns[BERTH_MOST_SIZES + 2] = "l";
	memset(columns + 1, 'r', (size_t)v->x.n);
	cli_table_init(&t, &c->mem, columns);
	cli_cell(&t, "devices of a copy");
	for (int32_t i = 0; i < v->x.n; i++)
		cli_cell(&t, "%s (%.3g %%)", v->words[i], 100 * v->share[i]);
	for (int32_t k = 0; k < v->mix.n; k++) {
		const double *per_s = v->mix.copy[k].per_s;
		const char *devices =
			cli_join(c, berth_result_get(&copies->item[k], "devices", NULL), "+", err);
		if (!devices)
			return BERTH_ENOMEM;
		cli_cell_text(&t, devices);
		for (int32_t i = 0; i < v->x.n; i++)
			cli_cell(&t, per_s[i] > 0 ? "%.4g/s" : "-", per_s[i]);
	}
	return cli_table_print(&t, CLI_AS_TEXT, err);
}

/* The document or text, which is left out where nothing was found. */
static berth_status tell_requests(cli *c, const view *v, const berth_method *method,
                                  const cli_budget *budget, berth_err *err)
{
	const berth_mix *m = &v->mix;
	berth_result_list *sizes = berth_result_list_new(&c->mem, &size_kind);
	berth_result_list *copies = berth_result_list_new(&c->mem, &copy_kind);
	for (int32_t i = 0; i < v->x.n; i++)
		RESULT_ADD(sizes, SIZE);
	for (int32_t k = 0; k < m->n; k++)
		BERTH_TRY(add_copy(c, v, &m->copy[k], copies, err));
	BERTH_TRY(cli_result(c, RESULT_NEW(&c->mem, requests_document, REQUESTS), err));
	if (!cli_in_words(c) || !m->n)
		return BERTH_OK;
	if (copies->failed)
		return berth_nomem(err);
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
	BERTH_TRY(print_copies(c, v, copies, err));
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
	BERTH_TRY_NEW(&c->mem, 1, err, v);
	if (c->n_args > 1)
		return berth_fail(err, BERTH_EINVAL, "place: --requests takes one model");
	if (strchr(a->given.text[0], ';'))
		return berth_fail(err, BERTH_EINVAL,
		                  "option --requests: '%.60s' has ';' in it: give ',' between sizes",
		                  a->given.text[0]);
	BERTH_TRY(read_sizes(&a->given, v, err));
	for (int32_t i = 0; i < v->x.n; i++) {
		const char *model;
		BERTH_TRY(copies_model(c, c->args[0], v->words[i], &model, err));
		BERTH_TRY(cli_instance_load(c, model, a->on, &v->graph[i], &v->s, NULL, err));
	}
	berth_search_cfg cfg;
	int32_t least = 1, most = berth_replicas_most(&v->graph[0], &v->s);
	BERTH_TRY(place_replicas_number(a->replicas, &least, &most, err));
	BERTH_TRY(cli_budget_open(budget, &cfg, err));
	place_replicas_limit(c, TIME_SHARE, &cfg);
	berth_status st = cli_budget_policy(budget, c, &cfg, err);
	if (st == BERTH_OK)
		st = berth_mix_choose(&v->x, &v->s, most, method, &cfg, &c->mem, &c->tmp, &v->mix, err);
	cli_budget_close(&cfg);
	BERTH_TRY(st);
	if (a->out && v->mix.n)
		BERTH_TRY(write_plan(c, a, budget, method, v, err));
	BERTH_TRY(tell_requests(c, v, method, budget, err));
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
