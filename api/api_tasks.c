/* Tasks of several searches: methods compared, a cluster configured, copies on one machine, and a model whose
 * operators are cut. Each answers a document. */
#include "api.h"

#include "compare.h"
#include "configure.h"
#include "methods.h"
#include "own_method.h"
#include "replicas.h"
#include "split_model.h"

struct berth_document {
	berth_arena mem;
	const char *text;
};

/* What a task works with. */
typedef struct desk {
	const berth_options *o;
	const berth_method *method;
	berth_search_cfg cfg;
	api_listener listener;
	berth_json_out w; /* the object that is open */
	berth_arena *mem, *tmp;
} desk;

typedef berth_status task(desk *d, const void *asked, berth_err *err);

static berth_status write_document(task *run, const void *asked, desk *d, const char **text, berth_err *err)
{
	d->method = berth_method_default();
	if (d->o->method)
		BERTH_TRY(berth_method_named(d->o->method, d->mem, &d->method, err));
	BERTH_TRY(api_search_cfg(d->o, &d->listener, d->mem, &d->cfg, err));
	berth_json_out_init(&d->w, d->mem, true);
	berth_json_open(&d->w, NULL, '{');
	berth_status st = run(d, asked, err);
	berth_pool_free(d->cfg.pool);
	BERTH_TRY(st);
	berth_json_close(&d->w, '}');
	return berth_json_done(&d->w, text, NULL, err);
}

/* Everything of a task goes when its document is there. */
static berth_status answer(task *run, const void *asked, const berth_options *o, berth_document **out,
                           berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	desk d = {.o = o, .mem = &mem, .tmp = &tmp};
	const char *text;
	berth_document *document = calloc(1, sizeof *document);
	berth_status st = document ? write_document(run, asked, &d, &text, err) : berth_nomem(err);
	if (st == BERTH_OK && !(document->text = berth_arena_strdup(&document->mem, text)))
		st = berth_nomem(err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	GIVE(st, document, berth_document_free, out);
}

const char *berth_document_text(const berth_document *document)
{
	return document->text;
}

void berth_document_free(berth_document *document)
{
	if (document)
		berth_arena_free(&document->mem);
	free(document);
}

/* ---- methods compared ---- */

typedef struct comparison {
	const berth_model *model;
	const berth_machine *machine;
	const char *const *methods;
	int32_t seeds;
} comparison;

static berth_status put_method(desk *d, const char *name, const berth_compare_row *row, int32_t n,
                               berth_err *err)
{
	berth_json_out *w = &d->w;
	berth_compare_summary s;
	BERTH_TRY(berth_compare_summarise(row, n, d->tmp, &s, err));
	berth_json_open(w, NULL, '{');
	berth_json_put_string(w, "method", name);
	berth_json_put_number(w, "median", s.median);
	berth_json_put_number(w, "least", s.least);
	berth_json_put_number(w, "most", s.most);
	berth_json_put_number(w, "gap", s.gap);
	berth_json_open(w, "rows", '[');
	for (int32_t i = 0; i < n; i++) {
		berth_json_open(w, NULL, '{');
		berth_json_put_int(w, "seed", (int64_t)row[i].seed);
		berth_json_put_string(w, "status", row[i].status);
		berth_json_put_number(w, "value", row[i].value);
		berth_json_put_number(w, "gap", row[i].gap);
		berth_json_put_int(w, "evaluations", row[i].evaluations);
		berth_json_put_string(w, "note", row[i].note);
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
	berth_json_close(w, '}');
	return BERTH_OK;
}

static berth_status compare_on(desk *d, const comparison *x, const berth_plan *plan, berth_err *err)
{
	berth_compare_cfg cfg = {.n_seeds = x->seeds, .search = d->cfg};
	const berth_method **method;
	berth_compare_row *row;
	int32_t n;
	const char *const *name = x->methods;
	static const char *const usual[] = {"single",       "heft",   "ceft-cpop", "pbqp", "ceft-pbqp",
	                                    "local-search", "anneal", "berth",     NULL};
	const char *const *names = name ? name : usual;
	for (cfg.n_methods = 0; names[cfg.n_methods];)
		++cfg.n_methods;
	BERTH_TRY_NEW(d->mem, cfg.n_methods, err, method);
	for (int32_t i = 0; i < cfg.n_methods; i++)
		BERTH_TRY(berth_method_named(names[i], d->mem, &method[i], err));
	cfg.method = method;
	BERTH_TRY_NEW(d->mem, (size_t)cfg.n_methods * (size_t)x->seeds, err, row);
	berth_status st = berth_compare(&plan->p, &plan->bounds, &cfg, row, &n, d->mem, d->tmp, err);
	if (st == BERTH_EINTERRUPTED)
		return berth_fail(err, st, "compare: progress stopped it, so that there is no document");
	BERTH_TRY(st);
	berth_json_put_string(&d->w, "graph", plan->g.name);
	berth_json_put_string(&d->w, "system", plan->p.s->name);
	berth_json_put_string(&d->w, "objective", berth_objective_name(&d->cfg.objective));
	berth_json_put_number(&d->w, "lower_bound", n ? row[0].lower_bound : NAN);
	berth_json_open(&d->w, "methods", '[');
	for (int32_t i = 0; i < cfg.n_methods; i++)
		BERTH_TRY(put_method(d, method[i]->name, row + i * x->seeds, x->seeds, err));
	berth_json_close(&d->w, ']');
	return BERTH_OK;
}

static berth_status compare(desk *d, const void *asked, berth_err *err)
{
	const comparison *x = asked;
	berth_plan scratch = {0};
	if (x->seeds < 1 || x->seeds > 1000)
		return berth_fail(err, BERTH_EINVAL, "compare: %d seeds; expected 1 to 1000", (int)x->seeds);
	berth_status st = api_plan_compile(&scratch, x->model, x->machine, d->o, d->tmp, err);
	if (st == BERTH_OK)
		st = compare_on(d, x, &scratch, err);
	berth_arena_free(&scratch.mem);
	return st;
}

berth_status berth_task_compare(const berth_model *model, const berth_machine *machine,
                                const berth_options *options, const char *const *methods, int32_t seeds,
                                berth_document **out, berth_err *err)
{
	const comparison x = {model, machine, methods, seeds};
	berth_options o = api_options(options);
	o.method = NULL; /* methods tell */
	return answer(compare, &x, &o, out, err);
}

/* ---- a cluster ---- */

typedef struct configuring {
	const berth_model *const *model;
	const int64_t *batch;
	int32_t n;
	const berth_machine *machine;
	const char *goal;
} configuring;

static void put_copies(desk *d, const berth_copies *copies, const berth_configuration *c)
{
	const berth_cluster *hosts = copies->c;
	berth_member member[BERTH_MAX_DEVS];
	int32_t n = berth_config_members(copies, c, member);
	berth_json_open(&d->w, "copies", '[');
	for (int32_t k = 0; k < n; k++) {
		berth_json_open(&d->w, NULL, '{');
		berth_json_put_string(&d->w, "host", hosts->host_name[member[k].host]);
		berth_json_put_int(&d->w, "batch", copies->batch[member[k].batch]);
		berth_json_open(&d->w, "devices", '[');
		for (int32_t i = 0; i < member[k].crew->n; i++) {
			int32_t dev = berth_copy_dev(copies, member[k].host, member[k].crew->place[i]);
			berth_json_put_string(&d->w, NULL, hosts->s->dev_name[dev]);
		}
		berth_json_close(&d->w, ']');
		berth_json_close(&d->w, '}');
	}
	berth_json_close(&d->w, ']');
}

static berth_status configure(desk *d, const void *asked, berth_err *err)
{
	const configuring *x = asked;
	berth_configure_cfg cfg = berth_configure_cfg_default();
	berth_cluster cluster;
	berth_copies copies;
	berth_configured r;
	berth_graph *graph;
	berth_arena more = {0};
	BERTH_TRY(berth_goal_parse(x->goal, &cfg.goal, err));
	BERTH_TRY_NEW(d->mem, x->n, err, graph);
	for (int32_t i = 0; i < x->n; i++)
		graph[i] = x->model[i]->g;
	BERTH_TRY(berth_cluster_new(&x->machine->s, d->mem, d->tmp, &cluster, err));
	BERTH_TRY(berth_copies_new(&cluster, graph, x->batch, x->n, d->method, &d->cfg, d->mem, d->tmp,
	                           &copies, err));
	berth_status st = berth_configure(&copies, &cfg, d->cfg.cancel, d->mem, d->tmp, &more, &r, err);
	berth_arena_free(&more);
	BERTH_TRY(st);
	if (!r.found)
		return berth_fail(err, BERTH_EINFEASIBLE, "no copy of %s fits on devices of one host of %s",
		                  graph[0].name, x->machine->s.name);
	const berth_config_value *v = &r.best.simulated;
	berth_json_put_string(&d->w, "goal", berth_goals[cfg.goal].name);
	berth_json_put_number(&d->w, "value", berth_goal_value(cfg.goal, v));
	berth_json_put_number(&d->w, "bound", r.bound);
	berth_json_put_int(&d->w, "samples", v->samples);
	berth_json_put_number(&d->w, "step_s", v->step_s);
	berth_json_put_number(&d->w, "energy_j", v->energy_j);
	berth_json_put_number(&d->w, "power_w", v->power_w);
	berth_json_put_number(&d->w, "peak_w", v->peak_w);
	berth_json_put_string(&d->w, "exchange", berth_exchange_name(v->exchange.kind));
	put_copies(d, &copies, &r.best.c);
	return BERTH_OK;
}

berth_status berth_task_configure(const berth_model *const *models, const int64_t *batch, int32_t n,
                                  const berth_machine *machine, const char *goal,
                                  const berth_options *options, berth_document **out, berth_err *err)
{
	const configuring x = {models, batch, n, machine, goal};
	const berth_options told = api_options(options);
	const berth_options o = {.method = told.method,
	                         .seed = told.seed,
	                         .evaluations = told.evaluations ? told.evaluations : 1000,
	                         .time_s = told.time_s,
	                         .threads = told.threads};
	bool rising = n > 0;
	for (int32_t i = 0; i < n; i++)
		rising = rising && batch[i] > (i ? batch[i - 1] : 0);
	if (!rising)
		return berth_fail(
			err, BERTH_EINVAL,
			"configure: expected a model or more, at batches that are above 0 and rise");
	return answer(configure, &x, &o, out, err);
}

/* ---- copies on one machine ---- */

typedef struct copying {
	const berth_model *model;
	const berth_machine *machine;
	int32_t least, most;
} copying;

static berth_status place_copies(desk *d, const void *asked, berth_err *err)
{
	const copying *x = asked;
	const berth_graph *g = &x->model->g;
	const berth_system *s = &x->machine->s;
	int32_t least = x->least ? x->least : 1, most = x->most ? x->most : berth_replicas_most(g, s);
	berth_replicas r;
	if (least < 1 || most < least || most > BERTH_MOST_REPLICAS)
		return berth_fail(err, BERTH_EINVAL, "copies: %d to %d; expected 1 to %d", (int)least,
		                  (int)most, BERTH_MOST_REPLICAS);
	BERTH_TRY(berth_replicas_choose(g, s, least, most, d->method, &d->cfg, d->mem, d->tmp, &r, err));
	if (!r.n)
		return berth_fail(err, BERTH_EINFEASIBLE, "no number of copies of %s was found to fit on %s",
		                  g->name, s->name);
	berth_json_put_string(&d->w, "graph", g->name);
	berth_json_put_string(&d->w, "system", s->name);
	berth_json_put_number(&d->w, "per_s", 1 / r.sample_s);
	berth_json_put_int(&d->w, "evaluations", r.evaluations);
	berth_json_open(&d->w, "copies", '[');
	for (int32_t k = 0; k < r.n; k++) {
		berth_json_open(&d->w, NULL, '{');
		for (int32_t op = 0; op < g->n_ops; op++)
			berth_json_put_string(&d->w, g->op_name[op],
			                      s->dev_name[r.op_dev[k * g->n_ops + op]]);
		berth_json_close(&d->w, '}');
	}
	berth_json_close(&d->w, ']');
	if (!r.op_order)
		return BERTH_OK;
	berth_json_open(&d->w, "order", '[');
	for (int32_t i = 0; i < r.g.n_ops; i++)
		berth_json_put_string(&d->w, NULL, r.g.op_name[r.op_order[i]]);
	berth_json_close(&d->w, ']');
	return BERTH_OK;
}

berth_status berth_task_copies(const berth_model *model, const berth_machine *machine, int32_t least,
                               int32_t most, const berth_options *options, berth_document **out,
                               berth_err *err)
{
	const copying x = {model, machine, least, most};
	berth_options o = api_options(options);
	o.objective = berth_metrics[BERTH_THROUGHPUT].name;
	o.progress = NULL;
	return answer(place_copies, &x, &o, out, err);
}

/* ---- operators cut ---- */

typedef struct splitting {
	const char *file, *cut, *plan;
	const berth_machine *machine;
} splitting;

static void put_cut(desk *d, const berth_split_answer *x, const pieces_made *m)
{
	berth_json_open(&d->w, NULL, '{');
	berth_json_put_string(&d->w, "operator", m->op);
	berth_json_put_string(&d->w, "type", m->type);
	berth_json_put_string(&d->w, "axis", m->axis);
	berth_json_open(&d->w, "pieces", '[');
	for (int32_t i = 0; i < m->k; i++) {
		berth_json_open(&d->w, NULL, '{');
		berth_json_put_string(&d->w, "name", m->name[i]);
		berth_json_put_string(&d->w, "device", berth_split_device(x, m->name[i]));
		berth_json_put_int(&d->w, "from", m->own[i]);
		berth_json_put_int(&d->w, "to", m->own[i + 1]);
		berth_json_close(&d->w, '}');
	}
	berth_json_close(&d->w, ']');
	berth_json_close(&d->w, '}');
}

static void tell_program(void *ctx, const berth_cut_result *r, int64_t most, berth_score best)
{
	const berth_progress now = {.evaluations = r->evaluations, .best = best};
	const desk *d = ctx;
	(void)most;
	d->cfg.progress(d->cfg.progress_ctx, &now);
}

static berth_status search_split(desk *d, const splitting *x, berth_split_request *q, berth_err *err)
{
	berth_split_answer *a;
	BERTH_TRY_NEW(d->mem, 1, err, a);
	BERTH_TRY(berth_split_search(q, d->mem, d->tmp, a, err));
	if (!a->best->feasible)
		return berth_fail(err, BERTH_EINFEASIBLE,
		                  "neither whole operators nor pieces were found to fit on '%s'", q->s->name);
	/* The plan is for the new model as it is read from its bytes. */
	const pieces_model *made = &a->made;
	berth_split_files f = {.made = made, .model = x->file, .out = x->cut, .plan = x->plan};
	berth_graph after;
	size_t size;
	if (x->plan) {
		const char *data = berth_file_join(made->piece, made->n_pieces, d->mem, &size);
		BERTH_TRY(berth_got(data, err));
		BERTH_TRY(
			berth_graph_parse(x->cut, data, size, a->c.after, d->mem, d->tmp, &after, NULL, err));
		BERTH_TRY(berth_split_plan(a, &after, d->mem, d->tmp, &f.plan_text, &f.plan_size, err));
	}
	BERTH_TRY(berth_split_write(&f, d->tmp, err));
	berth_json_put_string(&d->w, "graph", q->g->name);
	berth_json_put_string(&d->w, "system", q->s->name);
	berth_json_put_string(&d->w, "objective", berth_objective_name(&d->cfg.objective));
	berth_json_put_number(&d->w, "value", a->best->value);
	berth_json_put_number(&d->w, "whole_value", a->r.whole.value);
	berth_json_put_number(&d->w, "lower_bound", a->r.lower_bound);
	berth_json_put_int(&d->w, "evaluations", a->r.evaluations);
	berth_json_open(&d->w, "cut", '[');
	for (int32_t i = 0; i < a->made.n_made; i++)
		put_cut(d, a, &a->made.made[i]);
	berth_json_close(&d->w, ']');
	return BERTH_OK;
}

static berth_status split_content(desk *d, const splitting *x, const berth_content *model,
                                  const berth_read_options *read, berth_err *err)
{
	const berth_read_options after = {.n_dims = 0};
	berth_read_report report;
	berth_graph g, ruled;
	berth_split_request q = {.model = model,
	                         .read = read,
	                         .after = &after,
	                         .s = &x->machine->s,
	                         .g = &g,
	                         .ruled = &ruled,
	                         .placed = &ruled,
	                         .bound = d->o->bound,
	                         .method = d->method,
	                         .cfg = &d->cfg,
	                         .told = d->cfg.progress ? tell_program : NULL,
	                         .ctx = d};
	if (strcmp(berth_content_format(model)->name, "ONNX") != 0)
		return berth_fail(err, BERTH_EINVAL, "split takes ONNX models, and %s is none", model->name);
	BERTH_TRY(berth_graph_parse(model->name, model->data, model->size, read, d->mem, d->tmp, &g, &report,
	                            err));
	BERTH_TRY(api_add_rules(&g, x->machine, d->o, d->mem, d->tmp, &ruled, err));
	/* What the new model needs beside it: told before anything is written. */
	bool apart = false;
	if (report.n_external)
		BERTH_TRY(berth_split_apart(x->file, x->cut, d->tmp, &apart, err));
	const char *text = berth_arena_printf(
		d->mem, "weights stand in files beside %s: %s can be run only with copies of them beside it",
		x->file, x->cut);
	berth_json_put_strings(&d->w, "warnings", &text, apart);
	BERTH_TRY(berth_got(text, err));
	return search_split(d, x, &q, err);
}

static berth_status split(desk *d, const void *asked, berth_err *err)
{
	const splitting *x = asked;
	const berth_read_options none = {.n_dims = 0};
	BERTH_MODEL(model);
	berth_read_options read;
	BERTH_TRY(berth_model_map(x->file, &none, d->mem, &model, &read, err));
	return split_content(d, x, &model, &read, err);
}

berth_status berth_task_split(const char *file, const berth_machine *machine, const berth_options *options,
                              const char *cut, const char *plan, berth_document **out, berth_err *err)
{
	const splitting x = {file, cut, plan, machine};
	berth_options o = api_options(options);
	o.colocate = NULL;
	o.granularity = NULL;
	o.max_cuts = 0;
	return answer(split, &x, &o, out, err);
}
