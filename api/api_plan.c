/* Plans: what they say, files of them, and what they cost. */
#include "api.h"

#include "engine_rules.h"
#include "exporters.h"
#include "times.h"

berth_objective api_plan_objective(const berth_plan *plan)
{
	return berth_objective_of_plan(plan->placement.objective, &plan->p);
}

berth_status api_plan_judge(berth_plan *plan, berth_err *err)
{
	const berth_placement *pl = &plan->placement;
	berth_objective o = api_plan_objective(plan);
	BERTH_TRY(berth_bounds_objective(&plan->p, &plan->bounds, &o, &plan->mem, &plan->lower_bound, err));
	BERTH_TRY(berth_judge(&plan->p, pl->op_dev, pl->order, &o, &plan->mem, &plan->t, &plan->v, err));
	plan->status = !plan->v.feasible                           ? "infeasible"
	               : plan->v.value <= plan->lower_bound ? "optimal"
	                                                           : "feasible";
	return BERTH_OK;
}

berth_status api_plan_runs(const berth_plan *plan, berth_err *err)
{
	return plan->t.r.runs ? BERTH_OK
	                      : berth_fail(err, BERTH_EINFEASIBLE, "%s", plan->v.broken.item[0].message);
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

const char *berth_plan_status(const berth_plan *plan)
{
	return plan->status;
}

const char *berth_plan_method(const berth_plan *plan)
{
	return plan->placement.method;
}

const char *berth_plan_objective(const berth_plan *plan)
{
	return plan->placement.objective ? plan->placement.objective : "latency";
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

/* ---- making and keeping ---- */

berth_status berth_plan_write(const berth_plan *plan, const char *path, berth_err *err)
{
	berth_arena tmp = {0};
	berth_status st =
		berth_placement_write(&plan->placement, plan->p.g, plan->p.s, path, true, &tmp, err);
	berth_arena_free(&tmp);
	return st;
}

/* What a plan is made from: a file, or devices and an order. */
typedef struct source {
	const char *path;
	const int32_t *device, *order;
} source;

static berth_status copy_indices(berth_arena *mem, const int32_t *from, int32_t n, int32_t **out,
                                 berth_err *err)
{
	BERTH_TRY_NEW(mem, n, err, *out);
	if (n)
		BERTH_COPY(*out, from, n);
	return BERTH_OK;
}

/* The plan of a file, which is valued as its engine runs it. */
static berth_status read_file(berth_plan *plan, const berth_model *model, const berth_machine *machine,
                              const char *path, berth_arena *tmp, berth_err *err)
{
	const berth_engine_rules *engine = NULL;
	plan->s = machine->s;
	BERTH_TRY(berth_placement_read(path, &model->g, &plan->s, &plan->mem, tmp, &plan->placement, NULL,
	                               err));
	if (plan->placement.engine)
		BERTH_TRY(berth_rules_find(plan->placement.engine, &engine, err));
	BERTH_TRY(berth_system_for(engine, &plan->s, err));
	/* Times as the plan says them (cli/plan_words.h has all that the program can do with these words). */
	for (int32_t i = 0; i < plan->placement.n_system_words; i++) {
		const char *word = plan->placement.system_word[i];
		if (strcmp(word, "times=model") != 0 && strcmp(word, "times=roofline") != 0)
			return berth_fail(err, BERTH_EUNSUPPORTED,
			                  "%s: it was made with --%s, which the library does not do: place "
			                  "on a machine that `berth show --calibrate ... -o` has written",
			                  path, word);
		plan->s.roofline = strcmp(word, "times=roofline") == 0;
	}
	return BERTH_OK;
}

static berth_status fill(berth_plan *plan, const berth_model *model, const berth_machine *machine,
                         const source *from, berth_arena *tmp, berth_err *err)
{
	if (from->path)
		BERTH_TRY(read_file(plan, model, machine, from->path, tmp, err));
	BERTH_TRY(api_plan_compile(plan, model, machine, NULL, tmp, err));
	if (!from->path) {
		const berth_graph *g = plan->p.g;
		const berth_system *s = plan->p.s;
		BERTH_TRY(berth_placement_new(g, s, &plan->mem, tmp, &plan->placement, err));
		BERTH_TRY(copy_indices(&plan->mem, from->device, g->n_ops, &plan->placement.op_dev, err));
		if (from->order)
			BERTH_TRY(
				copy_indices(&plan->mem, from->order, g->n_ops, &plan->placement.order, err));
		berth_status st = berth_placement_check(&plan->placement, g, s, tmp, err);
		BERTH_TRY(st == BERTH_EFORMAT ? berth_fail_in(err, BERTH_EINVAL, "plan: ") : st);
	}
	return api_plan_judge(plan, err);
}

static berth_status new_plan(const berth_model *model, const berth_machine *machine, const source *from,
                             berth_plan **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_plan *plan = calloc(1, sizeof *plan);
	BERTH_TRY(berth_got(plan, err));
	berth_status st = fill(plan, model, machine, from, &tmp, err);
	berth_arena_free(&tmp);
	GIVE(st, plan, berth_plan_free, out);
}

berth_status berth_plan_read(const char *path, const berth_model *model, const berth_machine *machine,
                             berth_plan **out, berth_err *err)
{
	return new_plan(model, machine, &(source){.path = path}, out, err);
}

berth_status berth_plan_new(const berth_model *model, const berth_machine *machine, const int32_t *device,
                            const int32_t *order, berth_plan **out, berth_err *err)
{
	return new_plan(model, machine, &(source){.device = device, .order = order}, out, err);
}

/* ---- costs ---- */

berth_status berth_plan_cost(const berth_plan *plan, berth_cost *out, berth_err *err)
{
	const double *metric = plan->v.metric;
	BERTH_TRY(api_plan_runs(plan, err));
	*out = (berth_cost){metric[BERTH_LATENCY], 1 / metric[BERTH_THROUGHPUT], metric[BERTH_ENERGY],
	                    metric[BERTH_EDP]};
	return BERTH_OK;
}

berth_status berth_plan_device_use(const berth_plan *plan, int32_t device, berth_device_use *out,
                                   berth_err *err)
{
	const berth_timeline *t = &plan->t;
	if (device < 0 || device >= plan->p.n_devs)
		return berth_fail(err, BERTH_EINVAL, "plan: there is no device %d", (int)device);
	BERTH_TRY(api_plan_runs(plan, err));
	double alone_s = (double)t->dev_time_ns[device] / 1e9;
	*out = (berth_device_use){.operators = t->dev_ops[device],
	                          .busy_s = (double)t->dev_busy_ns[device] / 1e9,
	                          .load_s = alone_s / plan->p.s->dev_slots[device],
	                          .peak_bytes = t->peak_bytes[device],
	                          .limit_bytes = plan->p.dev_limit_bytes[device],
	                          .sent_bytes = t->dev_sent_bytes[device]};
	return BERTH_OK;
}

void berth_plan_op_times(const berth_plan *plan, int32_t op, double *start_s, double *end_s)
{
	*start_s = plan->t.r.runs ? (double)plan->t.start_ns[op] / 1e9 : NAN;
	*end_s = plan->t.r.runs ? (double)plan->t.end_ns[op] / 1e9 : NAN;
}

berth_status berth_plan_order(const berth_plan *plan, int32_t *order, berth_err *err)
{
	berth_arena mem = {0};
	berth_sim *sim;
	BERTH_TRY(api_plan_runs(plan, err));
	if (plan->placement.order) {
		BERTH_COPY(order, plan->placement.order, plan->p.n_ops);
		return BERTH_OK;
	}
	berth_status st = berth_sim_new(&plan->p, &mem, &sim, err);
	if (st == BERTH_OK)
		berth_start_order(&plan->p, sim, plan->placement.op_dev, order);
	berth_arena_free(&mem);
	return st;
}

int32_t berth_plan_violations(const berth_plan *plan)
{
	return plan->v.broken.n;
}

const char *berth_plan_violation(const berth_plan *plan, int32_t i)
{
	return plan->v.broken.item[i].message;
}

/* ---- for other programs ---- */

int32_t berth_export_count(void)
{
	return berth_n_exporters;
}

const char *berth_export_name(int32_t i)
{
	return berth_exporters[i]->name;
}

const char *berth_export_about(int32_t i)
{
	return berth_exporters[i]->about;
}

/* What is missing of the model's file that the target reads. */
static berth_status check_file(const berth_exporter *e, const berth_content *model, berth_err *err)
{
	if (!e->model)
		return BERTH_OK;
	if (!model)
		return berth_fail(err, BERTH_EINVAL, "export to %s reads the model: give its file", e->name);
	const char *format = berth_content_format(model)->name;
	return berth_exporter_takes(e, format)
	               ? BERTH_OK
	               : berth_fail(err, BERTH_EINVAL,
	                            "export to %s takes a model of the format %s, but %s is of the format %s",
	                            e->name, e->model, model->name, format);
}

static berth_status export_source(const berth_exporter *e, const berth_export_source *x, const char *path,
                                  berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_export_out made = {.mem = mem};
	BERTH_TRY(check_file(e, x->model, err));
	BERTH_TRY(berth_export_make(e, x, tmp, &made, err));
	if (made.unfit)
		return berth_fail(err, BERTH_EINFEASIBLE, "%s", made.unfit);
	return berth_file_write_pieces(path, made.piece, made.n_pieces, err);
}

static berth_status export_plan(const berth_plan *plan, const char *target, const char *file,
                                const char *const *theirs, const char *path, berth_arena *mem,
                                berth_arena *tmp, berth_err *err)
{
	const berth_read_options none = {.n_dims = 0};
	berth_export_source x = {.g = plan->p.g,
	                         .s = plan->p.s,
	                         .op_dev = plan->placement.op_dev,
	                         .p = &plan->p,
	                         .t = &plan->t,
	                         .theirs = theirs};
	const berth_exporter *e;
	BERTH_MODEL(model);
	berth_read_options words;
	BERTH_TRY(berth_exporter_find(target, &e, err));
	BERTH_TRY(api_plan_runs(plan, err));
	if (!file)
		return export_source(e, &x, path, mem, tmp, err);
	BERTH_TRY(berth_model_map(file, &none, mem, &model, &words, err));
	x.model = &model;
	x.read = &words;
	return export_source(e, &x, path, mem, tmp, err);
}

berth_status berth_plan_export(const berth_plan *plan, const char *target, const char *file,
                               const char *const *theirs, const char *path, berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	berth_status st = export_plan(plan, target, file, theirs, path, &mem, &tmp, err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}

berth_status berth_plan_trace(const berth_plan *plan, const char *path, berth_err *err)
{
	return berth_plan_export(plan, "trace", NULL, NULL, path, err);
}
