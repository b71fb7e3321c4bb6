/* Recomputation (Chen, Xu, Zhang & Guestrin, "Training Deep Nets with Sublinear Memory Cost", arXiv
 * 1604.06174). The backward pass of a segment first runs the segment's forward operators again, from the
 * tensors that enter it. So the tensors inside need not be kept. What leaves a segment is kept.
 *
 * No cycle arises from this. Copies read forward tensors, copies of the same segment, and the trigger,
 * which is there before the first of them. */
#include "training_work.h"

static int32_t segment_of(const trainer *t, int32_t op)
{
	return t->opt->op_segment ? t->opt->op_segment[op] : -1;
}

bool training_recomputes(const trainer *t, int32_t op)
{
	return segment_of(t, op) >= 0;
}

/* Consumed, and only within its producer's segment? */
static bool stays_inside(const trainer *t, int32_t tensor)
{
	const berth_graph *g = t->g;
	int32_t op = g->tensor_producer[tensor], segment = segment_of(t, op);
	if (segment < 0 || t->op_out_slot[op] == tensor)
		return false;
	for (int32_t e = g->tensor_use_off[tensor]; e < g->tensor_use_off[tensor + 1]; e++)
		if (segment_of(t, g->edge_consumer[e]) != segment)
			return false;
	return true;
}

berth_status training_prepare_recompute(trainer *t)
{
	BERTH_TRY_NEW(t->tmp, t->g->n_ops, t->err, t->op_copy, t->segment_trigger);
	BERTH_TRY_NEW(t->tmp, t->g->n_tensors, t->err, t->tensor_dropped);
	for (int32_t op = 0; op < t->g->n_ops; op++)
		t->op_copy[op] = t->segment_trigger[op] = -1;
	for (int32_t k = 0; k < t->g->n_tensors; k++)
		t->tensor_dropped[k] = stays_inside(t, k);
	return BERTH_OK;
}

/* A copy of op whose inputs are there, started by the trigger of the segment where no other copy starts it.
 */
static berth_status copy(trainer *t, int32_t op)
{
	const berth_graph *g = t->g;
	const char *signal;
	bool follows = false;
	berth_op_spec s = {.type = training_type_of(g, op),
	                   .backward = true,
	                   .flops = g->op_flops[op],
	                   .macs = g->op_macs[op],
	                   .dims = berth_graph_op_spec(g, op).dims,
	                   .read_bytes = g->op_read_bytes[op],
	                   .write_bytes = g->op_write_bytes[op],
	                   .workspace_bytes = g->op_workspace_bytes[op],
	                   .colocate = training_group_of(t, op)};
	BERTH_TRY(training_derive(t, op, g->op_name[op], "recompute", s, 1, &t->op_copy[op]));
	for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
		int32_t tensor = g->in_tensor[i], producer = g->tensor_producer[tensor],
			from = t->op_new[producer];
		if (t->tensor_dropped[tensor]) {
			from = t->op_copy[producer];
			follows = true;
		}
		BERTH_TRY(training_edge(t, from, t->op_copy[op], tensor));
	}
	if (follows)
		return BERTH_OK;
	/* A tensor name that no operator bears, since the loss names its tensors after operators. */
	signal = "recompute";
	while (signal && berth_builder_find(t->b, signal) >= 0)
		signal = berth_arena_printf(t->tmp, "%s_", signal);
	BERTH_TRY(signal ? BERTH_OK : berth_nomem(t->err));
	return berth_builder_edge(t->b, t->segment_trigger[segment_of(t, op)], t->op_copy[op], 0, signal,
	                          t->err);
}

/* Copies of op and of all that it needs in its segment, inputs first. stack: operators with the next input
 * to look at. */
static berth_status copy_with_inputs(trainer *t, int32_t op)
{
	const berth_graph *g = t->g;
	typedef struct frame {
		int32_t op, next;
	} frame;
	frame *stack = NULL;
	size_t n = 0, cap = 0;
	BERTH_TRY(BERTH_GROW(t->tmp, stack, n, &cap, t->err));
	stack[n++] = (frame){op, g->op_in_off[op]};
	while (n) {
		frame *top = &stack[n - 1];
		if (top->next == g->op_in_off[top->op + 1]) {
			BERTH_TRY(copy(t, top->op));
			n--;
			continue;
		}
		int32_t tensor = g->in_tensor[top->next++], from = g->tensor_producer[tensor];
		if (!t->tensor_dropped[tensor] || t->op_copy[from] >= 0)
			continue;
		BERTH_TRY(BERTH_GROW(t->tmp, stack, n, &cap, t->err));
		stack[n++] = (frame){from, g->op_in_off[from]};
	}
	return BERTH_OK;
}

berth_status training_read(trainer *t, int32_t tensor, int32_t trigger, int32_t reader)
{
	const berth_graph *g = t->g;
	int32_t producer = g->tensor_producer[tensor], from = t->op_new[producer];
	if (t->tensor_dropped[tensor]) {
		int32_t segment = segment_of(t, producer);
		if (t->segment_trigger[segment] < 0)
			t->segment_trigger[segment] = trigger;
		if (t->op_copy[producer] < 0)
			BERTH_TRY(copy_with_inputs(t, producer));
		from = t->op_copy[producer];
	}
	return training_edge(t, from, reader, tensor);
}

void berth_training_segments(const berth_graph *g, int32_t n_segments, int32_t *op_segment)
{
	double total = 0, made = 0;
	for (int32_t t = 0; t < g->n_tensors; t++)
		total += (double)g->tensor_bytes[t];
	for (int32_t k = 0; k < g->n_ops; k++) {
		int32_t op = g->topo_op[k];
		double before = made;
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
			made += (double)g->tensor_bytes[t];
		double middle = (before + made) / 2;
		int32_t segment = total > 0 ? (int32_t)(middle / total * n_segments) : 0;
		op_segment[op] = segment < n_segments ? segment : n_segments - 1;
	}
}
