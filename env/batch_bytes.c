/* The part of the batched evaluator's plan for memory; see batch_plan.h. */
#include "batch_plan.h"

/* Units of all that could ever be counted on one device: each size may be rounded up once for every time that it counts. */
static int32_t unit_shift(const berth_problem *p)
{
	const berth_graph *g = p->g;
	int64_t bytes = 0, items = 4 * (int64_t)g->n_ops + g->n_tensors + g->n_edges + g->n_params;
	int32_t shift = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		bytes += g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op] + g->op_workspace_bytes[op];
	for (int32_t t = 0; t < g->n_tensors; t++)
		bytes += 2 * g->tensor_bytes[t];
	for (int32_t i = 0; i < g->n_params; i++)
		bytes += g->param_bytes[i];
	while ((bytes >> shift) + items > INT32_MAX)
		shift++;
	return shift;
}

static int32_t units_of(const batch_plan *q, int64_t bytes)
{
	return (int32_t)((bytes >> q->unit_shift) + ((bytes & (((int64_t)1 << q->unit_shift) - 1)) != 0));
}

static berth_status shared_parameters(batch_plan *q, const berth_graph *g, berth_arena *mem, berth_err *err)
{
	q->n_shared = g->n_params;
	q->shared_off = g->param_op_off;
	q->shared_op = g->param_op;
	BERTH_TRY(BERTH_NEW(mem, q->shared_units, g->n_params, err));
	for (int32_t i = 0; i < g->n_params; i++)
		q->shared_units[i] = units_of(q, g->param_bytes[i]);
	return BERTH_OK;
}

static int32_t n_uses(const berth_graph *g, int32_t t)
{
	return g->tensor_use_off[t + 1] - g->tensor_use_off[t];
}

/* The inputs of step i; uses_left counts down. Returns the end of held. */
static int32_t take_inputs(batch_plan *q, const berth_graph *g, int32_t i, int32_t n, int32_t *uses_left, const int32_t *tensor_slot, batch_slots *slots)
{
	int32_t op = q->step[i].op;
	for (int32_t k = g->op_in_off[op]; k < g->op_in_off[op + 1]; k++) {
		int32_t t = g->in_tensor[k], units = units_of(q, g->tensor_bytes[t]);
		bool alone = n_uses(g, t) == 1, last = --uses_left[t] == 0;
		q->held[n++] = (batch_held){g->tensor_producer[t], units, alone ? -1 : tensor_slot[t], last};
		if (alone)
			q->memory[i].freed += units;
		else if (last)
			batch_slot_give(slots, tensor_slot[t]);
	}
	return n;
}

static berth_status new_memory(batch_plan *q, const berth_graph *g, berth_arena *tmp, berth_err *err)
{
	int32_t *uses_left, *tensor_slot, n = 0, n_new = 0;
	batch_slots slots = {0};
	BERTH_TRY(BERTH_NEW(tmp, uses_left, g->n_tensors, err));
	BERTH_TRY(BERTH_NEW(tmp, tensor_slot, g->n_tensors, err));
	BERTH_TRY(BERTH_NEW(tmp, slots.unused, g->n_tensors, err));
	for (int32_t t = 0; t < g->n_tensors; t++)
		uses_left[t] = n_uses(g, t);
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = q->step[i].op;
		batch_step_memory *m = &q->memory[i];
		m->always = units_of(q, g->op_param_bytes[op] + g->op_state_bytes[op]);
		m->made = units_of(q, g->op_output_bytes[op]);
		m->work = units_of(q, g->op_workspace_bytes[op]);
		n = m->held_end = take_inputs(q, g, i, n, uses_left, tensor_slot, &slots);
		m->new_off = n_new;
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++) {
			m->made += units_of(q, g->tensor_bytes[t]);
			if (n_uses(g, t) > 1)
				q->new_slot[n_new++] = tensor_slot[t] = batch_slot_take(&slots);
		}
		m->new_end = n_new;
	}
	q->n_held_slots = slots.n;
	return BERTH_OK;
}

berth_status batch_plan_memory(batch_plan *q, const berth_problem *p, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = p->g;
	q->unit_shift = unit_shift(p);
	BERTH_TRY(BERTH_NEW(mem, q->memory, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, q->held, g->n_edges, err));
	BERTH_TRY(BERTH_NEW(mem, q->new_slot, g->n_tensors, err));
	BERTH_TRY(shared_parameters(q, g, mem, err));
	berth_arena_mark mark = berth_arena_get_mark(mem);
	BERTH_TRY(new_memory(q, g, mem, err));
	berth_arena_reset(mem, mark);
	return BERTH_OK;
}
