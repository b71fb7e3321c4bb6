/* What stands around the search over cuts: problems, bounds and the model's bytes before it, the new model,
 * its gains and its plan behind it. */
#include "split_model.h"

static berth_status open_problems(const berth_split_request *q, berth_arena *mem, berth_arena *tmp,
                                  berth_split_answer *x, berth_err *err)
{
	berth_bound_options bound = berth_solve_bound(q->bound, q->cfg);
	pieces_source *source;
	BERTH_TRY(berth_problem_new(q->g, q->s, mem, tmp, &x->p, err));
	BERTH_TRY(berth_problem_new(q->placed, q->s, mem, tmp, &x->placed, err));
	BERTH_TRY(berth_search_bounds(&x->placed, &bound, tmp, &x->bounds, err));
	BERTH_TRY(pieces_open(q->model->name, (const unsigned char *)q->model->data, q->model->size, q->read,
	                      mem, &source, err));
	x->c = (berth_cutting){.name = q->model->name,
	                       .source = source,
	                       .after = q->after,
	                       .outside = q->outside,
	                       .p = &x->p,
	                       .placed = &x->placed,
	                       .ruled = q->ruled->plain ? q->ruled : NULL,
	                       .training = q->training,
	                       .objective = q->cfg->objective};
	return berth_cutting_open(&x->c, mem, err);
}

/* Nobody asked for what is cut in the answer. */
static berth_status make_model(berth_split_answer *x, berth_arena *mem, berth_err *err)
{
	const pieces_options nothing = {.n_asks = 0};
	if (!x->r.gains)
		return pieces_cut_source(x->c.source, &nothing, mem, &x->made, err);
	x->made = x->r.cut.program->made;
	x->made.n_asked = 0;
	x->replicas = x->r.cut.program->replicas;
	return BERTH_OK;
}

berth_status berth_split_search(const berth_split_request *q, berth_arena *mem, berth_arena *tmp,
                                berth_split_answer *x, berth_err *err)
{
	*x = (berth_split_answer){0};
	BERTH_TRY(open_problems(q, mem, tmp, x, err));
	BERTH_TRY(berth_cut_search(&x->c, &x->bounds, q->method, q->cfg, q->told, q->ctx, mem, tmp, &x->r,
	                           err));
	x->best = x->r.gains ? &x->r.cut.r : &x->r.whole;
	if (!x->best->feasible)
		return BERTH_OK;
	BERTH_TRY(make_model(x, mem, err));
	if (!x->r.gains || x->r.interrupted) /* then at once */
		return BERTH_OK;
	return berth_cut_explain(&x->c, &x->r, mem, tmp, &x->gain, &x->n_gains, err);
}

berth_status berth_split_plan(const berth_split_answer *x, const berth_graph *after, berth_arena *mem,
                              berth_arena *tmp, const char **text, size_t *size, berth_err *err)
{
	const berth_system *s = x->p.s;
	berth_placement plan;
	berth_graph step;
	if (x->c.training) {
		berth_training_options opt = *x->c.training;
		opt.replicas = x->replicas;
		BERTH_TRY(berth_graph_training(after, &opt, mem, tmp, &step, err));
		after = &step;
	}
	BERTH_TRY(berth_placement_new(after, s, mem, tmp, &plan, err));
	BERTH_TRY(berth_solution_tell(x->best, mem, &plan, err));
	return berth_placement_write_json(&plan, after, s, true, mem, text, size, err);
}

const char *berth_split_device(const berth_split_answer *x, const char *piece)
{
	int32_t op = berth_graph_find(&x->r.cut.program->g, piece);
	return op < 0 ? NULL : x->p.s->dev_name[x->r.cut.r.op_dev[op]];
}
