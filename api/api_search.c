/* Searching: options, plans, bounds, fronts; and what can be chosen among. */
#include "api.h"

#include "constraints.h"
#include "granularity.h"
#include "methods.h"
#include "own_method.h"
#include "pareto.h"
#include "policy_file.h"
#include "solve.h"

const char *berth_version(void)
{
	return BERTH_VERSION;
}

int32_t berth_method_count(void)
{
	return berth_n_methods();
}

const char *berth_method_name(int32_t i)
{
	return berth_method_at(i)->name;
}

const char *berth_method_about(int32_t i)
{
	return berth_method_at(i)->about;
}

/* ---- options ---- */

static void listen(void *ctx, const berth_progress *now)
{
	api_listener *l = ctx;
	double value = berth_score_feasible(now->best) && isfinite(now->best.value) ? now->best.value : NAN;
	if (l->options->progress(l->options->progress_ctx, now->evaluations, value))
		atomic_store(&l->stop, 1);
}

berth_options api_options(const berth_options *options)
{
	return options ? *options : (berth_options){0};
}

static berth_status read_policy(const char *path, berth_arena *mem, berth_search_cfg *cfg, berth_err *err)
{
	berth_policy_file *f;
	BERTH_TRY_NEW(mem, 1, err, f);
	BERTH_TRY(berth_policy_file_read(path, mem, f, err));
	cfg->policy = f;
	return BERTH_OK;
}

berth_status api_search_cfg(const berth_options *o, api_listener *l, berth_arena *mem, berth_search_cfg *out,
                            berth_err *err)
{
	berth_search_cfg cfg;
	if (o->evaluations < 0 || o->threads < 0 || o->walks < 0 || !(o->time_s >= 0))
		return berth_fail(err, BERTH_EINVAL,
		                  "options: evaluations %lld, threads %d, walks %d, time_s %g; expected none "
		                  "below 0",
		                  (long long)o->evaluations, (int)o->threads, (int)o->walks, o->time_s);
	berth_search_options said = {.objective = o->objective,
	                             .seed = o->seed ? o->seed : berth_search_cfg_default().seed,
	                             .evaluations = o->evaluations ? o->evaluations : -1,
	                             .time_s = o->time_s,
	                             .threads = o->threads ? o->threads : 1};
	BERTH_TRY(berth_search_cfg_open(&said, &cfg, err));
	berth_status st = o->policy ? read_policy(o->policy, mem, &cfg, err) : BERTH_OK;
	if (st != BERTH_OK) {
		berth_pool_free(cfg.pool);
		return st;
	}
	l->options = o;
	cfg.walks = o->walks;
	cfg.cancel = &l->stop;
	cfg.progress = o->progress ? listen : NULL;
	cfg.progress_ctx = l;
	*out = cfg;
	return BERTH_OK;
}

/* ---- one plan ---- */

static int32_t count(const char *const *list)
{
	int32_t n = 0;
	while (list && list[n])
		n++;
	return n;
}

/* A list of the plan's own: its rules may be looked at later. */
static berth_status copy_list(const char *const *list, int32_t n, berth_arena *mem, const char ***out,
                              berth_err *err)
{
	BERTH_TRY_NEW(mem, n, err, *out);
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(berth_got((*out)[i] = berth_arena_strdup(mem, list[i]), err));
	return BERTH_OK;
}

static berth_status add_blocks(const berth_options *o, berth_arena *mem, berth_arena *tmp, berth_graph *g,
                               berth_err *err)
{
	const char *name = o->granularity ? o->granularity : berth_grain_name(BERTH_GRAIN_OP);
	int32_t most = o->max_cuts > 0 ? o->max_cuts : o->max_cuts < 0 ? 0 : -1;
	berth_graph plain = *g;
	berth_granularity x;
	if (!o->granularity && most < 0)
		return BERTH_OK;
	BERTH_TRY(berth_granularity_named(name, NULL, &plain, mem, tmp, &x, err));
	return berth_granularity_apply(&plain, &x, most, mem, tmp, g, err);
}

berth_status api_add_rules(const berth_graph *plain, const berth_machine *machine, const berth_options *o,
                           berth_arena *mem, berth_arena *tmp, berth_graph *out, berth_err *err)
{
	berth_rule_texts r = {.n_pins = count(o->pin),
	                      .n_forbids = count(o->forbid),
	                      .n_colocates = count(o->colocate)};
	*out = *plain;
	BERTH_TRY(copy_list(o->pin, r.n_pins, mem, &r.pin, err));
	BERTH_TRY(copy_list(o->forbid, r.n_forbids, mem, &r.forbid, err));
	BERTH_TRY(copy_list(o->colocate, r.n_colocates, mem, &r.colocate, err));
	if (r.n_pins + r.n_forbids + r.n_colocates > 0)
		BERTH_TRY(berth_graph_add_rules(&r, &machine->s, mem, tmp, out, err));
	return add_blocks(o, mem, tmp, out, err);
}

berth_status api_plan_compile(berth_plan *plan, const berth_model *model, const berth_machine *machine,
                              const berth_options *o, berth_arena *tmp, berth_err *err)
{
	berth_objective objective = berth_objective_of(BERTH_LATENCY);
	berth_bound_options bounds = {.bound = o ? o->bound : "fast",
	                              .objective = &objective,
	                              .evaluations = o && o->evaluations ? o->evaluations : -1,
	                              .time_s = o ? o->time_s : 0};
	if (o && o->objective)
		BERTH_TRY(berth_objective_parse(o->objective, &objective, err));
	plan->model = model;
	plan->g = model->g;
	if (!plan->s.n_devs)
		plan->s = machine->s;
	if (o)
		BERTH_TRY(api_add_rules(&model->g, machine, o, &plan->mem, tmp, &plan->g, err));
	BERTH_TRY(berth_problem_new(&plan->g, &plan->s, &plan->mem, tmp, &plan->p, err));
	return berth_search_bounds(&plan->p, &bounds, tmp, &plan->bounds, err);
}

static berth_status search(berth_plan *plan, const berth_options *o, berth_search_cfg *cfg, berth_arena *tmp,
                           berth_err *err)
{
	const berth_method *method = berth_method_default();
	berth_solution r;
	if (o->method)
		BERTH_TRY(berth_method_named(o->method, &plan->mem, &method, err));
	if (o->start) {
		if (o->start->model != plan->model || o->start->p.n_devs != plan->p.n_devs)
			return berth_fail(
				err, BERTH_EINVAL,
				"options: the plan to start from is of another model, or of a machine with "
				"other devices");
	}
	BERTH_TRY(berth_problem_feasible(&plan->p, err));
	if (o->start) {
		cfg->start_dev = o->start->placement.op_dev;
		cfg->start_order = o->start->placement.order;
	}
	BERTH_TRY(berth_solve(&plan->p, &plan->bounds, method, cfg, &plan->mem, tmp, &r, err));
	BERTH_TRY(berth_solution_placement(&r, &plan->mem, tmp, &plan->placement, err));
	BERTH_TRY(api_plan_judge(plan, err));
	plan->status = r.status;
	if (r.lower_bound > plan->lower_bound)
		plan->lower_bound = r.lower_bound;
	return BERTH_OK;
}

static berth_status place(berth_plan *plan, const berth_model *model, const berth_machine *machine,
                          const berth_options *o, berth_arena *tmp, berth_err *err)
{
	api_listener l = {0};
	berth_search_cfg cfg;
	BERTH_TRY(api_plan_compile(plan, model, machine, o, tmp, err));
	BERTH_TRY(api_search_cfg(o, &l, &plan->mem, &cfg, err));
	berth_status st = search(plan, o, &cfg, tmp, err);
	berth_pool_free(cfg.pool);
	return st;
}

berth_status berth_place(const berth_model *model, const berth_machine *machine, const berth_options *options,
                         berth_plan **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_options o = api_options(options);
	berth_plan *plan = calloc(1, sizeof *plan);
	BERTH_TRY(berth_got(plan, err));
	berth_status st = place(plan, model, machine, &o, &tmp, err);
	berth_arena_free(&tmp);
	GIVE(st, plan, berth_plan_free, out);
}

/* ---- bounds ---- */

static berth_status bound(berth_plan *scratch, const berth_model *model, const berth_machine *machine,
                          const berth_options *o, berth_arena *tmp, double *out, berth_err *err)
{
	berth_objective objective = berth_objective_of(BERTH_LATENCY);
	if (o->objective)
		BERTH_TRY(berth_objective_parse(o->objective, &objective, err));
	BERTH_TRY(api_plan_compile(scratch, model, machine, o, tmp, err));
	BERTH_TRY(berth_problem_feasible(&scratch->p, err));
	BERTH_TRY(berth_objective_check(&objective, &scratch->p, err));
	return berth_bounds_objective(&scratch->p, &scratch->bounds, &objective, tmp, out, err);
}

berth_status berth_lower_bound(const berth_model *model, const berth_machine *machine,
                               const berth_options *options, double *out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_options o = api_options(options);
	berth_plan scratch = {0};
	berth_status st = bound(&scratch, model, machine, &o, &tmp, out, err);
	berth_arena_free(&scratch.mem);
	berth_arena_free(&tmp);
	return st;
}

/* ---- fronts ---- */

struct berth_front {
	berth_arena mem;
	berth_plan **plan; /* [n] */
	int32_t n;
	int64_t evaluations;
};

void berth_front_free(berth_front *f)
{
	for (int32_t i = 0; f && i < f->n; i++)
		berth_plan_free(f->plan[i]);
	if (f)
		berth_arena_free(&f->mem);
	free(f);
}

int32_t berth_front_count(const berth_front *f)
{
	return f->n;
}

const berth_plan *berth_front_plan(const berth_front *f, int32_t i)
{
	return f->plan[i];
}

int64_t berth_front_evaluations(const berth_front *f)
{
	return f->evaluations;
}

static berth_status search_front(berth_front *f, const berth_model *model, const berth_machine *machine,
                                 const berth_options *o, const char *against, int32_t most,
                                 berth_plan *scratch, berth_arena *tmp, berth_err *err)
{
	api_listener l = {0};
	berth_pareto_cfg cfg = {.most_points = most, .method = berth_method_default()};
	berth_pareto found;
	BERTH_TRY(berth_objective_parse(against, &cfg.objective[1], err));
	const berth_options quick = {.bound = o->bound ? o->bound : "fast"}; /* bounds are not told */
	BERTH_TRY(api_plan_compile(scratch, model, machine, &quick, tmp, err));
	BERTH_TRY(api_search_cfg(o, &l, &scratch->mem, &cfg.search, err));
	cfg.objective[0] = cfg.search.objective;
	berth_status st = !berth_objective_equal(&cfg.objective[0], &cfg.objective[1])
	                          ? BERTH_OK
	                          : berth_fail(err, BERTH_EINVAL,
	                                       "a front needs two different objectives, not %s twice",
	                                       berth_objective_name(&cfg.objective[0]));
	if (st == BERTH_OK)
		st = berth_pareto_search(&scratch->p, &cfg, &scratch->mem, tmp, &found, err);
	berth_pool_free(cfg.search.pool);
	BERTH_TRY(st);
	/* The points of the front as plans of their own. */
	const char *objective = berth_objective_name(&cfg.objective[0]);
	BERTH_TRY_NEW(&f->mem, found.n, err, f->plan);
	for (; f->n < found.n; f->n++) {
		const berth_pareto_point *x = &found.point[f->n];
		berth_plan *plan;
		BERTH_TRY(berth_plan_new(model, machine, x->op_dev, x->op_order, &plan, err));
		f->plan[f->n] = plan;
		plan->placement.method = x->method; /* a constant of its method */
		if (!(plan->placement.objective = berth_arena_strdup(&plan->mem, objective))) {
			f->n++;
			return berth_nomem(err);
		}
		BERTH_TRY(api_plan_judge(plan, err));
		plan->placement.value = plan->v.value;
	}
	f->evaluations = found.evaluations;
	return BERTH_OK;
}

berth_status berth_pareto_front(const berth_model *model, const berth_machine *machine,
                                const berth_options *options, const char *against, int32_t most,
                                berth_front **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_options o = api_options(options);
	berth_plan scratch = {0};
	berth_front *f = calloc(1, sizeof *f);
	BERTH_TRY(berth_got(f, err));
	berth_status st = search_front(f, model, machine, &o, against, most ? most : 64, &scratch, &tmp, err);
	berth_arena_free(&scratch.mem);
	berth_arena_free(&tmp);
	GIVE(st, f, berth_front_free, out);
}
