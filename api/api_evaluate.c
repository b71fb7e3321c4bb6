/* What users' own methods work with: a problem as arrays, values of placements, a schedule that grows. All is
 * a search's, so that budget, clock and incumbent are those of every method. */
#include "api.h"

#define NEVER INT64_MAX

/* ---- making ---- */

static berth_view view_of(const berth_problem *p)
{
	const berth_graph *g = p->g;
	const berth_system *s = p->s;
	return (berth_view){.n_ops = p->n_ops,
	                    .n_devs = p->n_devs,
	                    .n_types = g->n_types,
	                    .n_groups = p->n_colocs,
	                    .n_tensors = g->n_tensors,
	                    .n_edges = g->n_edges,
	                    .n_sizes = p->n_classes,
	                    .n_links = s->n_links,
	                    .n_blocks = g->n_blocks,
	                    .op_name = g->op_name,
	                    .type_name = g->type_name,
	                    .op_type = g->op_type,
	                    .op_flops = g->op_flops,
	                    .op_read_bytes = g->op_read_bytes,
	                    .op_write_bytes = g->op_write_bytes,
	                    .op_param_bytes = g->op_param_bytes,
	                    .op_state_bytes = g->op_state_bytes,
	                    .op_workspace_bytes = g->op_workspace_bytes,
	                    .op_output_bytes = g->op_output_bytes,
	                    .op_dev_time_ns = p->op_dev_time_ns,
	                    .op_dev_legal = p->op_dev_legal,
	                    .op_rank_ns = p->op_rank_ns,
	                    .topo_op = g->topo_op,
	                    .rank_op = p->prio_op,
	                    .op_group = p->op_coloc,
	                    .group_off = p->coloc_off,
	                    .group_op = p->coloc_op,
	                    .op_apart = g->op_sep,
	                    .op_block = g->op_block,
	                    .max_cuts = g->max_cuts,
	                    .op_tensor_off = g->op_tensor_off,
	                    .tensor_producer = g->tensor_producer,
	                    .tensor_edge_off = g->tensor_use_off,
	                    .edge_consumer = g->edge_consumer,
	                    .op_in_off = g->op_in_off,
	                    .in_tensor = g->in_tensor,
	                    .tensor_bytes = g->tensor_bytes,
	                    .tensor_size = p->tensor_class,
	                    .size_pair_ns = p->class_pair_ns,
	                    .dev_name = s->dev_name,
	                    .dev_kind = s->dev_kind,
	                    .dev_limit_bytes = p->dev_limit_bytes,
	                    .dev_slots = s->dev_slots,
	                    .dev_contiguous = s->dev_contiguous,
	                    .dev_idle_w = s->dev_idle_w,
	                    .dev_busy_w = s->dev_busy_w,
	                    .link_from = s->link_from,
	                    .link_to = s->link_to,
	                    .link_bandwidth = s->link_bandwidth,
	                    .link_latency_s = s->link_latency_s};
}

berth_status api_evaluator_open(berth_evaluator *e, berth_search *s, berth_arena *mem, berth_err *err)
{
	const berth_problem *p = s->p;
	e->s = s;
	e->view = view_of(p);
	e->illegal_op = e->ready_of = -1;
	BERTH_TRY(berth_eval_want_near(&s->eval[0], mem, err));
	BERTH_TRY(berth_partial_new(p, mem, &e->part, err));
	BERTH_TRY_NEW(mem, p->n_devs, err, e->ready_ns);
	return BERTH_NEW(mem, e->place_of, p->n_ops, err);
}

static berth_status open_own(berth_evaluator *e, const berth_model *model, const berth_machine *machine,
                             const berth_options *o, berth_arena *tmp, berth_err *err)
{
	berth_arena *mem = &e->plan.mem;
	berth_search_cfg cfg;
	BERTH_TRY(api_plan_compile(&e->plan, model, machine, o, tmp, err));
	BERTH_TRY(api_search_cfg(o, &e->listener, mem, &cfg, err));
	e->pool = cfg.pool;
	cfg.progress = NULL;
	if (o->evaluations == 0)
		cfg.evaluations = BERTH_UNLIMITED;
	BERTH_TRY(berth_search_new(&e->plan.p, &cfg, mem, &e->own, err));
	return api_evaluator_open(e, &e->own, mem, err);
}

berth_status berth_evaluator_new(const berth_model *model, const berth_machine *machine,
                                 const berth_options *options, berth_evaluator **out, berth_err *err)
{
	BERTH_ARENA(tmp);
	berth_options o = api_options(options);
	berth_evaluator *e = calloc(1, sizeof *e);
	BERTH_TRY(berth_got(e, err));
	berth_status st = open_own(e, model, machine, &o, &tmp, err);
	GIVE(st, e, berth_evaluator_free, out);
}

void berth_evaluator_free(berth_evaluator *e)
{
	if (e) {
		berth_pool_free(e->pool);
		berth_arena_free(&e->told.mem);
		berth_arena_free(&e->plan.mem);
	}
	free(e);
}

const berth_view *berth_evaluator_view(const berth_evaluator *e)
{
	return &e->view;
}

uint64_t berth_evaluator_seed(const berth_evaluator *e)
{
	return e->s->cfg.seed;
}

/* ---- values ---- */

int64_t berth_evaluator_left(berth_evaluator *e)
{
	/* One is asked for: where more are, a search under a time sets aside what it would not come to. */
	berth_search *s = e->s;
	return berth_search_budget_left(s, 1) == 0 ? 0 : s->cfg.evaluations - s->evaluations;
}

void berth_evaluator_faults(const berth_evaluator *e, int64_t *illegal, int64_t *beyond)
{
	*illegal = e->illegal;
	*beyond = e->refused;
}

/* Is every operator on a device that is legal for it, together with its group? */
bool api_evaluator_legal(berth_evaluator *e, const int32_t *device)
{
	const berth_problem *p = e->s->p;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t dev = device[op];
		if (dev >= 0 && dev < p->n_devs && berth_op_legal(p, op, dev) &&
		    dev == device[p->coloc_op[p->coloc_off[p->op_coloc[op]]]])
			continue;
		if (e->illegal_op < 0) {
			e->illegal_op = op;
			e->illegal_dev = dev;
		}
		return false;
	}
	return true;
}

bool api_evaluator_ordered(const berth_evaluator *e, const int32_t *order)
{
	const berth_graph *g = e->s->p->g;
	for (int32_t op = 0; op < g->n_ops; op++)
		e->place_of[op] = -1;
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = order[k];
		if (op < 0 || op >= g->n_ops || e->place_of[op] >= 0)
			return false;
		e->place_of[op] = k;
		BERTH_EACH (i, g->op_in_off, op)
			if (e->place_of[g->tensor_producer[g->in_tensor[i]]] < 0)
				return false;
	}
	return true;
}

/* May one more be valued? */
static bool may(berth_evaluator *e)
{
	const berth_search *s = e->s;
	bool more = s->evaluations < s->cfg.evaluations && !(berth_search_timed(s) && berth_search_over(s));
	e->refused += !more;
	return more;
}

static double tell(berth_score score, double *excess)
{
	if (excess)
		*excess = score.excess;
	return excess || berth_score_feasible(score) ? score.value : INFINITY;
}

double berth_evaluator_value(berth_evaluator *e, const int32_t *device, const int32_t *order, double *excess)
{
	bool legal = api_evaluator_legal(e, device) && (!order || api_evaluator_ordered(e, order));
	e->illegal += !legal;
	return tell(legal && may(e) ? berth_search_offer(e->s, device, order) : berth_score_worst(), excess);
}

double berth_evaluator_near(berth_evaluator *e, const int32_t *base, const int32_t *device, double *excess)
{
	berth_search *s = e->s;
	berth_score score = berth_score_worst();
	bool legal = api_evaluator_legal(e, base) && api_evaluator_legal(e, device);
	e->illegal += !legal;
	if (legal && may(e)) {
		score = berth_eval_near(&s->eval[0], (berth_keyed){base, NULL}, (berth_keyed){device, NULL},
		                        INT64_MAX);
		s->evaluations++;
		berth_search_keep(s, score, device, NULL);
	}
	return tell(score, excess);
}

berth_status berth_evaluator_plan(berth_evaluator *e, const berth_plan **out, berth_err *err)
{
	BERTH_ARENA(tmp);
	const berth_search *s = e->s;
	berth_plan *plan = &e->told;
	berth_arena mem = plan->mem;
	int32_t n = s->p->n_ops;
	if (!isfinite(s->best.excess))
		return berth_fail(err, BERTH_ELIMIT,
		                  "evaluator: there is no plan, as no placement was valued");
	berth_arena_free(&mem);
	*plan = e->plan;
	plan->mem = mem;
	BERTH_TRY(berth_placement_new(s->p->g, s->p->s, &plan->mem, &tmp, &plan->placement, err));
	BERTH_TRY_NEW(&plan->mem, n, err, plan->placement.op_dev);
	BERTH_COPY(plan->placement.op_dev, s->best_dev, n);
	if (s->best_has_order) {
		BERTH_TRY_NEW(&plan->mem, n, err, plan->placement.order);
		BERTH_COPY(plan->placement.order, s->best_order, n);
	}
	plan->placement.objective = berth_objective_name(&s->cfg.objective);
	plan->placement.seed = s->cfg.seed;
	plan->placement.evaluations = s->evaluations;
	BERTH_TRY(api_plan_judge(plan, err));
	plan->placement.value = plan->v.value;
	plan->placement.lower_bound = plan->lower_bound;
	*out = plan;
	return BERTH_OK;
}

/* ---- a schedule ---- */

void berth_schedule_clear(berth_evaluator *e, double memory)
{
	berth_partial_reset(e->part);
	berth_partial_limit_memory(e->part, memory > 1 ? 1 : memory);
	e->n_placed = 0;
	e->ready_of = -1;
}

/* Does op wait for a time, and do all its producers have one? */
static bool is_next(const berth_evaluator *e, int32_t op)
{
	const berth_graph *g = e->s->p->g;
	const int64_t *end_ns = berth_partial_end_ns(e->part);
	if (op < 0 || op >= g->n_ops || end_ns[op] >= 0)
		return false;
	BERTH_EACH (i, g->op_in_off, op)
		if (end_ns[g->tensor_producer[g->in_tensor[i]]] < 0)
			return false;
	return true;
}

/* Where op starts on dev; NEVER: it may not stand there now. */
static int64_t start_of(berth_evaluator *e, int32_t op, int32_t dev)
{
	const berth_problem *p = e->s->p;
	if (op < 0 || dev < 0 || dev >= p->n_devs)
		return NEVER;
	if (e->ready_of != op) {
		if (!is_next(e, op))
			return NEVER;
		berth_partial_ready(e->part, op, e->ready_ns);
		e->ready_of = op;
	}
	if (!berth_op_legal(p, op, dev))
		return NEVER;
	int32_t bound = berth_partial_dev(e->part, op);
	if (bound >= 0 ? bound != dev : !berth_partial_fits(e->part, p->op_coloc[op], dev))
		return NEVER;
	return berth_partial_start(e->part, op, dev, e->ready_ns[dev], true);
}

int64_t berth_schedule_finish(berth_evaluator *e, int32_t op, int32_t device)
{
	int64_t start = start_of(e, op, device);
	return start == NEVER ? NEVER : start + berth_op_time(e->s->p, op, device);
}

int64_t berth_schedule_put(berth_evaluator *e, int32_t op, int32_t device)
{
	int64_t start = start_of(e, op, device);
	if (start == NEVER)
		return NEVER;
	e->n_placed++;
	e->ready_of = -1;
	return berth_partial_place(e->part, op, device, start);
}

bool berth_schedule_take(const berth_evaluator *e, int32_t *device, int32_t *order)
{
	if (e->n_placed < e->s->p->n_ops)
		return false;
	berth_partial_devs(e->part, device);
	if (order)
		berth_partial_order(e->part, order);
	return true;
}
