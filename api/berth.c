/* The users' interface over the library: berth.h says what each function does. */
#include "status.h" /* first: berth.h leaves its copy out */

#include "berth.h"

#include "check.h"
#include "exporters.h"
#include "load.h"
#include "load_system.h"
#include "solve.h"
#include "policy_file.h"
#include "system_json.h"
#include "timeline.h"
#include "train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct berth_model {
	berth_arena mem;
	berth_graph g;
};

struct berth_machine {
	berth_arena mem;
	berth_system s;
};

struct berth_plan {
	berth_arena mem;
	berth_problem p;
	berth_bounds bounds;
	double lower_bound;
	berth_placement placement;
	berth_timeline t;
	berth_verdict v;
};

const char *berth_version(void)
{
	return BERTH_VERSION;
}

/* ---- models and machines ---- */

/* An object that is given to the caller if st is fine, and freed otherwise. */
#define GIVE(st, object, free_object, out) \
	do {                               \
		if ((st) == BERTH_OK)      \
			*(out) = (object); \
		else                       \
			free_object(object); \
		return (st);               \
	} while (0)

berth_status berth_model_load(const char *spec, berth_model **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_model *m = calloc(1, sizeof *m);
	if (!m)
		return berth_nomem(err);
	berth_status st = berth_graph_load(spec, NULL, &m->mem, &tmp, &m->g, NULL, err);
	berth_arena_free(&tmp);
	GIVE(st, m, berth_model_free, out);
}

berth_status berth_model_parse(const char *name, const void *data, size_t size, berth_model **out,
                               berth_err *err)
{
	berth_arena tmp = {0};
	berth_model *m = calloc(1, sizeof *m);
	berth_status st;
	if (!m)
		return berth_nomem(err);
	st = berth_graph_parse(name, data, size, NULL, &m->mem, &tmp, &m->g, NULL, err);
	berth_arena_free(&tmp);
	GIVE(st, m, berth_model_free, out);
}

void berth_model_free(berth_model *m)
{
	if (m)
		berth_arena_free(&m->mem);
	free(m);
}

int32_t berth_model_count(const berth_model *m)
{
	return m->g.n_ops;
}

const char *berth_model_op(const berth_model *m, int32_t op)
{
	return m->g.op_name[op];
}

int32_t berth_model_find(const berth_model *m, const char *name)
{
	return berth_graph_find(&m->g, name);
}

berth_status berth_machine_load(const char *spec, berth_machine **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_machine *m = calloc(1, sizeof *m);
	if (!m)
		return berth_nomem(err);
	berth_status st = berth_system_load(spec, &m->mem, &tmp, &m->s, err);
	berth_arena_free(&tmp);
	GIVE(st, m, berth_machine_free, out);
}

berth_status berth_machine_parse(const char *name, const void *data, size_t size, berth_machine **out,
                                 berth_err *err)
{
	berth_arena tmp = {0};
	berth_machine *m = calloc(1, sizeof *m);
	if (!m)
		return berth_nomem(err);
	berth_status st = berth_system_parse_json(name, data, size, &m->mem, &tmp, &m->s, err);
	berth_arena_free(&tmp);
	GIVE(st, m, berth_machine_free, out);
}

void berth_machine_free(berth_machine *m)
{
	if (m)
		berth_arena_free(&m->mem);
	free(m);
}

int32_t berth_machine_count(const berth_machine *m)
{
	return m->s.n_devs;
}

const char *berth_machine_device(const berth_machine *m, int32_t device)
{
	return m->s.dev_name[device];
}

/* ---- options ---- */

/* What a search is told through, behind the callback of the options. */
typedef struct listener {
	const berth_options *options;
	atomic_int stop;
} listener;

static void listen(void *ctx, const berth_progress *now)
{
	listener *l = ctx;
	double value = berth_score_feasible(now->best) && isfinite(now->best.value) ? now->best.value : NAN;
	if (l->options->progress(l->options->progress_ctx, now->evaluations, value))
		atomic_store(&l->stop, 1);
}

static berth_status check_options(const berth_options *o, berth_err *err)
{
	if (o->evaluations < 0 || o->threads < 0 || !(o->time_s >= 0))
		return berth_fail(err, BERTH_EINVAL,
		                  "options: evaluations %lld, threads %d, time_s %g; expected none below 0",
		                  (long long)o->evaluations, (int)o->threads, o->time_s);
	return BERTH_OK;
}

/* The search that the options describe; its pool is the caller's to free. */
static berth_status search_cfg(const berth_options *o, listener *l, berth_search_cfg *out, berth_err *err)
{
	berth_search_cfg cfg;
	BERTH_TRY(check_options(o, err));
	berth_search_options said = {.objective = o->objective,
	                             .seed = o->seed ? o->seed : berth_search_cfg_default().seed,
	                             .evaluations = o->evaluations ? o->evaluations : -1,
	                             .time_s = o->time_s,
	                             .threads = o->threads ? o->threads : 1};
	BERTH_TRY(berth_search_cfg_open(&said, &cfg, err));
	l->options = o;
	cfg.cancel = &l->stop;
	cfg.progress = o->progress ? listen : NULL;
	cfg.progress_ctx = l;
	*out = cfg;
	return BERTH_OK;
}

/* ---- plans ---- */

static berth_objective objective_of(const berth_plan *plan)
{
	berth_objective o = berth_objective_of(BERTH_LATENCY);
	if (plan->placement.objective)
		berth_objective_parse(plan->placement.objective, &o, NULL);
	return o;
}

/* Simulate and judge the placement that the plan holds. */
static berth_status judge(berth_plan *plan, berth_err *err)
{
	const berth_placement *pl = &plan->placement;
	berth_objective o = objective_of(plan);
	BERTH_TRY(berth_bounds_objective(&plan->p, &plan->bounds, &o, &plan->mem, &plan->lower_bound, err));
	return berth_judge(&plan->p, pl->op_dev, pl->order, &o, &plan->mem, &plan->t, &plan->v, err);
}

static berth_status compile(berth_plan *plan, const berth_model *model, const berth_machine *machine,
                            berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_problem_new(&model->g, &machine->s, &plan->mem, tmp, &plan->p, err));
	return berth_bounds_new(&plan->p, tmp, &plan->bounds, err);
}

static berth_status search(berth_plan *plan, const berth_options *o, const berth_search_cfg *base,
                           berth_arena *tmp, berth_err *err)
{
	const berth_method *method = berth_method_default();
	berth_search_cfg cfg = *base;
	berth_solution r;
	berth_policy_file policy;
	BERTH_TRY(berth_problem_feasible(&plan->p, err));
	if (o->method)
		BERTH_TRY(berth_method_find(o->method, &method, err));
	if (o->policy) {
		BERTH_TRY(berth_policy_file_read(o->policy, &plan->mem, tmp, &policy, err));
		cfg.policy = &policy;
	}
	BERTH_TRY(berth_solve(&plan->p, &plan->bounds, method, &cfg, &plan->mem, tmp, &r, err));
	BERTH_TRY(berth_solution_placement(&r, &plan->mem, tmp, &plan->placement, err));
	return judge(plan, err);
}

static berth_status place(berth_plan *plan, const berth_model *model, const berth_machine *machine,
                          const berth_options *o, berth_arena *tmp, berth_err *err)
{
	listener l = {0};
	berth_search_cfg cfg;
	BERTH_TRY(compile(plan, model, machine, tmp, err));
	BERTH_TRY(search_cfg(o, &l, &cfg, err));
	berth_status st = search(plan, o, &cfg, tmp, err);
	berth_pool_free(cfg.pool);
	return st;
}

berth_status berth_place(const berth_model *model, const berth_machine *machine, const berth_options *options,
                         berth_plan **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_options defaults = {0};
	berth_plan *plan = calloc(1, sizeof *plan);
	if (!plan)
		return berth_nomem(err);
	berth_status st = place(plan, model, machine, options ? options : &defaults, &tmp, err);
	berth_arena_free(&tmp);
	GIVE(st, plan, berth_plan_free, out);
}

void berth_plan_free(berth_plan *plan)
{
	if (plan)
		berth_arena_free(&plan->mem);
	free(plan);
}

int32_t berth_plan_device(const berth_plan *plan, int32_t op)
{
	return plan->placement.op_dev[op];
}

const char *berth_plan_device_of(const berth_plan *plan, const char *name)
{
	int32_t op = berth_graph_find(plan->p.g, name);
	return op < 0 ? NULL : plan->p.s->dev_name[plan->placement.op_dev[op]];
}

bool berth_plan_feasible(const berth_plan *plan)
{
	return plan->v.feasible;
}

double berth_plan_value(const berth_plan *plan)
{
	return plan->v.feasible ? plan->v.value : NAN;
}

double berth_plan_lower_bound(const berth_plan *plan)
{
	return plan->lower_bound;
}

int64_t berth_plan_evaluations(const berth_plan *plan)
{
	return plan->placement.evaluations;
}

berth_status berth_plan_write(const berth_plan *plan, const char *path, berth_err *err)
{
	berth_arena tmp = {0};
	berth_status st = berth_placement_write(&plan->placement, plan->p.g, plan->p.s, path, &tmp, err);
	berth_arena_free(&tmp);
	return st;
}

static berth_status read_plan(berth_plan *plan, const char *path, const berth_model *model,
                              const berth_machine *machine, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(compile(plan, model, machine, tmp, err));
	BERTH_TRY(berth_placement_read(path, &model->g, &machine->s, &plan->mem, tmp, &plan->placement, NULL,
	                               err));
	return judge(plan, err);
}

berth_status berth_plan_read(const char *path, const berth_model *model, const berth_machine *machine,
                             berth_plan **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_plan *plan = calloc(1, sizeof *plan);
	if (!plan)
		return berth_nomem(err);
	berth_status st = read_plan(plan, path, model, machine, &tmp, err);
	berth_arena_free(&tmp);
	GIVE(st, plan, berth_plan_free, out);
}

/* ---- advanced ---- */

static berth_status copy_indices(berth_arena *mem, const int32_t *from, int32_t n, int32_t **out,
                                 berth_err *err)
{
	BERTH_TRY(BERTH_NEW(mem, *out, n, err));
	if (n)
		memcpy(*out, from, (size_t)n * sizeof *from);
	return BERTH_OK;
}

static berth_status fill_plan(berth_plan *plan, const berth_model *model, const berth_machine *machine,
                              const int32_t *device, const int32_t *order, berth_arena *tmp, berth_err *err)
{
	int32_t n = model->g.n_ops;
	BERTH_TRY(compile(plan, model, machine, tmp, err));
	BERTH_TRY(berth_placement_new(&model->g, &machine->s, &plan->mem, tmp, &plan->placement, err));
	BERTH_TRY(copy_indices(&plan->mem, device, n, &plan->placement.op_dev, err));
	if (order)
		BERTH_TRY(copy_indices(&plan->mem, order, n, &plan->placement.order, err));
	berth_status st = berth_placement_check(&plan->placement, &model->g, &machine->s, tmp, err);
	if (st != BERTH_OK)
		return st == BERTH_EFORMAT ? berth_fail_in(err, BERTH_EINVAL, "plan: ") : st;
	return judge(plan, err);
}

berth_status berth_plan_new(const berth_model *model, const berth_machine *machine, const int32_t *device,
                            const int32_t *order, berth_plan **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_plan *plan = calloc(1, sizeof *plan);
	if (!plan)
		return berth_nomem(err);
	berth_status st = fill_plan(plan, model, machine, device, order, &tmp, err);
	berth_arena_free(&tmp);
	GIVE(st, plan, berth_plan_free, out);
}

static berth_status check_runs(const berth_plan *plan, berth_err *err)
{
	return plan->t.r.runs ? BERTH_OK
	                      : berth_fail(err, BERTH_EINFEASIBLE, "%s", plan->v.broken.item[0].message);
}

berth_status berth_plan_cost(const berth_plan *plan, berth_cost *out, berth_err *err)
{
	const double *metric = plan->v.metric;
	BERTH_TRY(check_runs(plan, err));
	*out = (berth_cost){metric[BERTH_LATENCY], 1 / metric[BERTH_THROUGHPUT], metric[BERTH_ENERGY],
	                    metric[BERTH_EDP]};
	return BERTH_OK;
}

void berth_plan_op_times(const berth_plan *plan, int32_t op, double *start_s, double *end_s)
{
	*start_s = plan->t.r.runs ? (double)plan->t.start_ns[op] / 1e9 : NAN;
	*end_s = plan->t.r.runs ? (double)plan->t.end_ns[op] / 1e9 : NAN;
}

int32_t berth_plan_violations(const berth_plan *plan)
{
	return plan->v.broken.n;
}

const char *berth_plan_violation(const berth_plan *plan, int32_t i)
{
	return plan->v.broken.item[i].message;
}

berth_status berth_plan_trace(const berth_plan *plan, const char *path, berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_export_source x = {plan->p.g, plan->p.s, plan->placement.op_dev, &plan->p, &plan->t};
	BERTH_TRY(check_runs(plan, err));
	berth_status st = berth_export("trace", &x, path, &mem, &tmp, err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

/* ---- experimental ---- */

static void listen_to_training(void *ctx, const berth_train_update *u)
{
	listener *l = ctx;
	if (l->options->progress && l->options->progress(l->options->progress_ctx, u->evaluations, NAN))
		atomic_store(&l->stop, 1);
}

static berth_status train_items(const berth_model *const *models, int32_t n_models,
                                const berth_machine *const *machines, int32_t n_machines, berth_arena *mem,
                                berth_arena *tmp, berth_train_item **out, berth_err *err)
{
	int32_t n = 0;
	BERTH_TRY(BERTH_NEW(mem, *out, (size_t)n_models * (size_t)n_machines, err));
	for (int32_t i = 0; i < n_models; i++)
		for (int32_t k = 0; k < n_machines; k++) {
			berth_problem *p;
			BERTH_TRY(BERTH_NEW(mem, p, 1, err));
			BERTH_TRY(berth_problem_new(&models[i]->g, &machines[k]->s, mem, tmp, p, err));
			(*out)[n++] = (berth_train_item){p, models[i]->g.name, machines[k]->s.name};
		}
	return BERTH_OK;
}

static berth_status train_on(const berth_train_item *item, int32_t n, const berth_options *o,
                             const char *path, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_train_cfg cfg = berth_train_cfg_default();
	berth_train_result result;
	berth_search_cfg search;
	listener l = {0};
	BERTH_TRY(search_cfg(o, &l, &search, err));
	cfg.objective = search.objective;
	cfg.seed = search.seed;
	cfg.pool = search.pool;
	cfg.cancel = search.cancel;
	cfg.path = path;
	cfg.update = listen_to_training;
	cfg.update_ctx = &l;
	if (o->evaluations)
		cfg.evaluations = o->evaluations;
	berth_status st = berth_train(&cfg, item, n, mem, tmp, &result, err);
	berth_pool_free(search.pool);
	return st;
}

berth_status berth_policy_train(const berth_model *const *models, int32_t n_models,
                                const berth_machine *const *machines, int32_t n_machines,
                                const berth_options *options, const char *path, berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_options defaults = {0};
	berth_train_item *item;
	if (n_models < 1 || n_machines < 1 || !path)
		return berth_fail(err, BERTH_EINVAL,
		                  "training needs a model, a machine and a path; found %d, %d and %s",
		                  (int)n_models, (int)n_machines, path ? path : "none");
	berth_status st = train_items(models, n_models, machines, n_machines, &mem, &tmp, &item, err);
	if (st == BERTH_OK)
		st = train_on(item, n_models * n_machines, options ? options : &defaults, path, &mem, &tmp,
		              err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}
