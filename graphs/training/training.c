/* Reverse-mode differentiation of an operator graph, as costs. It walks the operators backwards and
 * collects for every tensor the gradients that its consumers give. It sums them and emits the operators
 * that turn them into gradients of inputs and parameters (rules in training_work.c). Deliberately
 * without gradient accumulation over batches or sparse gradients. */
#include "training.h"

#include "training_work.h"

berth_training_options berth_training_options_default(void)
{
	return (berth_training_options){.optimizer = BERTH_OPTIMIZER_ADAM, .elem_bytes = 4};
}

/* ---- facts about the forward graph ---- */

static int64_t input_bytes(const berth_graph *g, int32_t op)
{
	int64_t bytes = 0;
	BERTH_EACH (i, g->op_in_off, op)
		bytes += g->tensor_bytes[g->in_tensor[i]];
	return bytes;
}

/* Does it leave the graph? */
static bool is_output(const berth_graph *g, int32_t op)
{
	return g->op_output_bytes[op] > 0 || g->op_tensor_off[op] == g->op_tensor_off[op + 1];
}

/* An operator is active if parameters lie behind it (or in it) and a differentiable way leads on to an
 * output. */
static void find_active(trainer *t)
{
	const berth_graph *g = t->g;
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i];
		bool behind = berth_graph_has_weights(g, op);
		BERTH_EACH (k, g->op_in_off, op)
			behind |= t->op_active[g->tensor_producer[g->in_tensor[k]]];
		t->op_active[op] = behind && t->type_rule[g->op_type[op] + 1].cost != TRAINING_NONE;
	}
	for (int32_t i = g->n_ops - 1; i >= 0; i--) {
		int32_t op = g->topo_op[i];
		bool ahead = is_output(g, op);
		BERTH_EACH_USE (e, g, op)
			ahead |= t->op_active[g->edge_consumer[e]] ||
			         t->op_new[g->edge_consumer[e]] < 0;
		t->op_active[op] &= ahead && t->op_new[op] >= 0;
	}
}

/* ---- colocation groups ---- */

/* The first user of the parameter that shares op's copy of it. */
static int32_t first_of_copy(const trainer *t, int32_t param, int32_t op)
{
	int32_t i = t->g->param_op_off[param];
	while (t->op_replica[t->g->param_op[i]] != t->op_replica[op])
		i++;
	return t->g->param_op[i];
}

static berth_status join_groups(trainer *t)
{
	const berth_graph *g = t->g;
	int32_t *first;
	BERTH_TRY_NEW(t->tmp, g->n_coloc_names, t->err, first);
	memset(first, -1, (size_t)g->n_coloc_names * sizeof *first);
	for (int32_t op = 0; op < g->n_ops; op++)
		t->op_root[op] = op;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t c = g->op_coloc_name[op];
		if (c >= 0 && first[c] >= 0)
			berth_union_join(t->op_root, first[c], op);
		else if (c >= 0)
			first[c] = op;
	}
	for (int32_t p = 0; p < g->n_params; p++)
		BERTH_EACH (i, g->param_op_off, p)
			berth_union_join(t->op_root, first_of_copy(t, p, g->param_op[i]), g->param_op[i]);
	return BERTH_OK;
}

/* A group keeps the first name that a member brought; a new one is called after its first operator. */
static berth_status name_groups(trainer *t)
{
	const berth_graph *g = t->g;
	berth_strmap names;
	int32_t found;
	berth_strmap_init(&names, t->tmp);
	for (int32_t c = 0; c < g->n_coloc_names; c++)
		BERTH_TRY(berth_strmap_add(&names, g->coloc_name[c], c, &found, t->err));
	for (int32_t op = 0; op < g->n_ops; op++)
		if (g->op_coloc_name[op] >= 0 && !t->op_group[berth_union_top(t->op_root, op)])
			t->op_group[berth_union_top(t->op_root, op)] = g->coloc_name[g->op_coloc_name[op]];
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t root = berth_union_top(t->op_root, op);
		if (t->op_group[root] || !(t->op_active[op] || training_recomputes(t, op)) ||
		    !berth_graph_has_weights(g, op))
			continue;
		const char *name = g->op_name[op];
		while (berth_strmap_get(&names, name) >= 0)
			BERTH_TRY(berth_got(name = berth_arena_printf(t->tmp, "%s_", name), t->err));
		BERTH_TRY(berth_strmap_add(&names, name, op, &found, t->err));
		t->op_group[root] = name;
	}
	return BERTH_OK;
}

/* ---- adding operators ---- */

/* Bytes of gradient and optimiser state that op keeps: its own parameters', and shared ones' of which it is
 * the first active user of a copy. */
static int64_t state_bytes(const trainer *t, int32_t op)
{
	const berth_graph *g = t->g;
	int64_t bytes = g->op_param_bytes[op];
	BERTH_EACH (i, g->op_param_off, op) {
		int32_t p = g->op_param[i], k = g->param_op_off[p];
		while (!t->op_active[g->param_op[k]] || t->op_replica[g->param_op[k]] != t->op_replica[op])
			k++;
		bytes += g->param_op[k] == op ? g->param_bytes[p] : 0;
	}
	return training_optimizer_copies(t) * bytes;
}

static berth_status copy_forward(trainer *t)
{
	const berth_graph *g = t->g;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (t->op_new[op] >= 0) {
			int32_t copy;
			bool active = t->op_active[op];
			berth_op_spec spec = berth_graph_op_spec(g, op);
			spec.type = training_type_of(g, op);
			spec.colocate = t->op_group[berth_union_top(t->op_root, op)];
			spec.backward = false;
			if (active)
				spec.output_bytes = 0;
			if (active)
				spec.state_bytes += state_bytes(t, op);
			BERTH_TRY(training_put_op(t, op, &spec, &copy));
			BERTH_TRY(training_copy_limits(t, op, copy, 1));
		}
	for (int32_t k = 0; k < g->n_tensors; k++)
		BERTH_EACH (e, g->tensor_use_off, k)
			if (t->op_new[g->edge_consumer[e]] >= 0)
				BERTH_TRY(training_edge(t, t->op_new[g->tensor_producer[k]],
				                        t->op_new[g->edge_consumer[e]], k));
	for (int32_t p = 0; p < g->n_params; p++) {
		int32_t param;
		BERTH_TRY(berth_builder_param(t->b, g->param_name[p], g->param_bytes[p], &param, t->err));
		BERTH_EACH (i, g->param_op_off, p)
			BERTH_TRY(berth_builder_param_use(t->b, param, t->op_new[g->param_op[i]], t->err));
	}
	return BERTH_OK;
}

/* ---- slots and gradients ---- */

/* Slots of op: count of them, the i-th one, its bytes, an edge from it. */
static int32_t n_slots(const trainer *t, int32_t op)
{
	return t->g->op_tensor_off[op + 1] - t->g->op_tensor_off[op] + 1;
}

static int32_t slot_of(const trainer *t, int32_t op, int32_t i)
{
	return i < n_slots(t, op) - 1 ? t->g->op_tensor_off[op] + i : t->g->n_tensors + op;
}

static int64_t slot_bytes(const trainer *t, int32_t op, int32_t slot)
{
	const berth_graph *g = t->g;
	if (slot < g->n_tensors)
		return g->tensor_bytes[slot];
	return g->op_output_bytes[op] > 0 ? g->op_output_bytes[op] : g->op_write_bytes[op];
}

static berth_status slot_edge(trainer *t, int32_t op, int32_t slot, int32_t to)
{
	const berth_graph *g = t->g;
	const char *name = slot < g->n_tensors ? g->tensor_name[slot] : NULL;
	int32_t first = g->op_tensor_off[op], end = g->op_tensor_off[op + 1];
	if (slot >= g->n_tensors && first < end && !g->tensor_name[first]) { /* the unnamed tensor is
		                                                                something else */
		name = "output";
		for (int32_t k = first + 1; k < end; k++)
			if (strcmp(g->tensor_name[k], name) == 0) {
				BERTH_TRY(berth_got(name = berth_arena_printf(t->tmp, "%s_", name), t->err));
				k = first;
			}
	}
	return training_put_edge(t, t->op_new[op], to, slot_bytes(t, op, slot), training_cut_s(t, slot),
	                         name);
}

static berth_status add_gradient(trainer *t, gradient grad, int32_t *out)
{
	grad.last_reader = -1;
	BERTH_TRY(BERTH_GROW(t->tmp, t->grad, t->n_grads, &t->cap_grad, t->err));
	t->grad[t->n_grads] = grad;
	*out = (int32_t)t->n_grads++;
	return BERTH_OK;
}

static berth_status add_summand(trainer *t, int32_t slot, int32_t grad)
{
	BERTH_TRY(BERTH_GROW(t->tmp, t->summand, t->n_summands, &t->cap_summand, t->err));
	t->summand[t->n_summands] = (summand){grad, t->slot_first[slot]};
	t->slot_first[slot] = (int32_t)t->n_summands++;
	return BERTH_OK;
}

static berth_status read_gradient(trainer *t, int32_t grad, int32_t reader)
{
	gradient *d = &t->grad[grad];
	if (d->last_reader == reader)
		return BERTH_OK;
	d->last_reader = reader;
	return training_put_edge(t, d->op, reader, d->bytes, d->cut_s, d->tensor);
}

/* The one gradient of a slot: its only summand, or a sum, which puts gradients of parts in their place. */
static berth_status sum_slot(trainer *t, int32_t op, int32_t slot)
{
	int32_t first = t->slot_first[slot], n = 0, sum;
	int64_t bytes = slot_bytes(t, op, slot), summed = 0;
	for (int32_t s = first; s >= 0; s = t->summand[s].next) {
		summed += t->grad[t->summand[s].grad].bytes;
		n++;
	}
	if (n < 2 && (!n || summed == bytes)) {
		t->slot_grad[slot] = n ? t->summand[first].grad : -1;
		return BERTH_OK;
	}
	berth_op_spec spec = {.type = "GradSum", .backward = true, .write_bytes = bytes};
	spec.flops = (double)(bytes / t->opt->elem_bytes);
	spec.dims = training_rows(t, op, bytes);
	spec.read_bytes = summed; /* no more than the bytes of all edges, which a graph keeps below 2^61 */
	BERTH_TRY(training_derive_light(t, op, t->g->op_name[op], "grad_sum", spec, &sum));
	for (int32_t s = first; s >= 0; s = t->summand[s].next)
		BERTH_TRY(read_gradient(t, t->summand[s].grad, sum));
	return add_gradient(t, (gradient){.op = sum, .bytes = bytes, .cut_s = training_cut_s(t, slot)},
	                    &t->slot_grad[slot]);
}

/* ---- loss ---- */

/* The tensor of op that a join takes which is left out; -1: none. */
static int32_t tensor_of_join(const trainer *t, int32_t op)
{
	const berth_graph *g = t->g;
	BERTH_EACH (k, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, k)
			if (t->op_new[g->edge_consumer[e]] < 0)
				return k;
	return -1;
}

/* The loss over the outputs of one piece. */
static berth_status add_loss(trainer *t, int64_t piece, const char *name)
{
	const berth_graph *g = t->g;
	int32_t n = 0, last = -1, loss, grad;
	berth_op_spec spec = {.type = "SoftmaxCrossEntropyLoss", .output_bytes = t->opt->elem_bytes};
	for (int32_t op = 0; op < g->n_ops; op++)
		if (t->op_out_slot[op] >= 0 && t->op_piece[op] == piece) {
			spec.read_bytes += slot_bytes(t, op, t->op_out_slot[op]);
			last = op;
			n++;
		}
	spec.write_bytes = spec.read_bytes;
	spec.flops = (double)(spec.read_bytes / t->opt->elem_bytes);
	spec.dims = training_rows(t, last, spec.read_bytes);
	BERTH_TRY(training_derive_light(t, last, "", name, spec, &loss));
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t slot = t->op_out_slot[op];
		if (slot < 0 || t->op_piece[op] != piece)
			continue;
		gradient d = {.op = loss,
		              .tensor = n == 1 ? NULL : g->op_name[op],
		              .bytes = slot_bytes(t, op, slot),
		              .cut_s = training_cut_s(t, slot)};
		BERTH_TRY(slot_edge(t, op, slot, loss));
		BERTH_TRY(add_gradient(t, d, &grad));
		BERTH_TRY(add_summand(t, slot, grad));
	}
	return BERTH_OK;
}

/* Pieces that give a loss something, in piece [n_ops], in the order of operators. Returns their number.
 * O(ops * pieces). */
static int32_t pieces_of(const trainer *t, int64_t *piece)
{
	int32_t n = 0;
	for (int32_t op = 0; op < t->g->n_ops; op++) {
		int32_t k = 0;
		if (t->op_out_slot[op] < 0)
			continue;
		while (k < n && piece[k] != t->op_piece[op])
			k++;
		piece[k] = t->op_piece[op];
		n += k == n;
	}
	return n;
}

/* ---- backward operators ---- */

/* What the backward pass of one operator has to do. */
typedef struct task {
	int32_t op;
	training_rule rule;
	bool weights;         /* it has parameters */
	int32_t n_needing;    /* inputs whose gradient is wanted */
	int32_t n_wanted;     /* those of them that need an operator for it */
	int64_t wanted_bytes; /* of the latter */
	int64_t grad_bytes;   /* of the gradients of its outputs */
	int32_t only_grad;    /* the gradient if there is one, else -1 */
} task;

static bool wants(const trainer *t, int32_t tensor)
{
	return t->op_active[t->g->tensor_producer[tensor]];
}

static bool passes(const trainer *t, const task *k, int32_t tensor)
{
	int64_t bytes = k->only_grad < 0 ? -1 : t->grad[k->only_grad].bytes,
		whole = t->g->tensor_bytes[tensor];
	return bytes >= 0 && (k->rule.cost == TRAINING_PASS   ? bytes == whole
	                      : k->rule.cost == TRAINING_PART ? bytes <= whole && !k->weights
	                                                      : false);
}

static task look_at(const trainer *t, int32_t op)
{
	const berth_graph *g = t->g;
	task k = {.op = op,
	          .rule = t->type_rule[g->op_type[op] + 1],
	          .weights = berth_graph_has_weights(g, op),
	          .only_grad = -1};
	int32_t n = 0;
	for (int32_t i = 0; i < n_slots(t, op); i++) {
		int32_t grad = t->slot_grad[slot_of(t, op, i)];
		if (grad >= 0) {
			k.grad_bytes += t->grad[grad].bytes;
			k.only_grad = n++ ? -1 : grad;
		}
	}
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t tensor = g->in_tensor[i];
		bool wanted = wants(t, tensor) && !passes(t, &k, tensor);
		k.n_needing += wants(t, tensor);
		k.n_wanted += wanted;
		k.wanted_bytes += wanted ? g->tensor_bytes[tensor] : 0;
	}
	return k;
}

/* Does the backward operator (of the weights, or of the inputs alone) read this input of the forward pass
 * again? */
static bool keeps(const trainer *t, const task *k, bool for_weights, int32_t tensor)
{
	bool others = for_weights || k->n_needing > wants(t, tensor);
	return k->rule.keep & KEEP_INPUTS || (k->rule.keep & KEEP_OTHERS && others);
}

/* Edges into a backward operator: gradients of the outputs, and what the rule keeps. */
static berth_status read_forward(trainer *t, const task *k, bool for_weights, int32_t reader)
{
	const berth_graph *g = t->g;
	int32_t trigger = -1;
	for (int32_t i = 0; i < n_slots(t, k->op); i++) {
		int32_t slot = slot_of(t, k->op, i);
		if (t->slot_grad[slot] < 0)
			continue;
		BERTH_TRY(read_gradient(t, t->slot_grad[slot], reader));
		trigger = trigger < 0 ? t->grad[t->slot_grad[slot]].op : trigger;
	}
	for (int32_t i = 0; i < n_slots(t, k->op); i++) {
		int32_t slot = slot_of(t, k->op, i);
		if (t->slot_grad[slot] < 0 || !(k->rule.keep & KEEP_OUTPUTS))
			continue;
		BERTH_TRY(slot < t->g->n_tensors ? training_read(t, slot, trigger, reader)
		                                 : slot_edge(t, k->op, slot, reader));
	}
	BERTH_EACH (i, g->op_in_off, k->op) {
		int32_t tensor = g->in_tensor[i];
		if (keeps(t, k, for_weights, tensor))
			BERTH_TRY(training_read(t, tensor, trigger, reader));
	}
	return BERTH_OK;
}

/* Bytes that read_forward brings, and the inputs from outside where products and the like need them for the
 * weights. */
static int64_t kept_bytes(const trainer *t, const task *k, bool for_weights)
{
	const berth_graph *g = t->g;
	int64_t outside = g->op_read_bytes[k->op] - berth_graph_op_weights(g, k->op) - input_bytes(g, k->op);
	int64_t bytes = k->rule.keep & KEEP_OUTPUTS ? k->grad_bytes : 0;
	BERTH_EACH (i, g->op_in_off, k->op)
		bytes += keeps(t, k, for_weights, g->in_tensor[i]) ? g->tensor_bytes[g->in_tensor[i]] : 0;
	bool all = k->rule.keep & KEEP_INPUTS || (k->rule.keep & KEEP_OTHERS && for_weights);
	return bytes + (all && outside > 0 ? outside : 0);
}

/* Factors of a product that are parameters: one, or both where several parameters meet without an input. What
 * convolutions and Gemm have beside a weight is a bias. */
static int32_t n_weights(const berth_graph *g, int32_t op)
{
	const char *type = training_type_of(g, op);
	int32_t n = g->op_param_off[op + 1] - g->op_param_off[op] + (g->op_param_bytes[op] > 0);
	bool bias = type && (strncmp(type, "Conv", 4) == 0 || strcmp(type, "Gemm") == 0);
	return n > 1 && !bias && g->op_in_off[op] == g->op_in_off[op + 1] ? 2 : 1;
}

static double cost_factor(const trainer *t, const task *k, bool for_weights)
{
	switch (k->rule.cost) {
	case TRAINING_PRODUCT: return for_weights ? n_weights(t->g, k->op) : k->weights ? 1 : k->n_wanted;
	case TRAINING_TWICE:
	case TRAINING_UNKNOWN: return 2;
	default: return 1;
	}
}

static berth_op_spec backward_spec(trainer *t, const task *k, bool for_weights)
{
	const berth_graph *g = t->g;
	double factor = cost_factor(t, k, for_weights);
	berth_op_spec s = {.type = training_type_of(g, k->op),
	                   .backward = true,
	                   .flops = factor * g->op_flops[k->op],
	                   .macs = factor * g->op_macs[k->op],
	                   .dims = training_backward_dims(g, k->op, for_weights, factor),
	                   .workspace_bytes = g->op_workspace_bytes[k->op],
	                   .colocate = training_group_of(t, k->op)};
	s.read_bytes = k->grad_bytes + kept_bytes(t, k, for_weights);
	return s;
}

static berth_status add_grad_input(trainer *t, const task *k, bool with_weights)
{
	int32_t from;
	int64_t params = berth_graph_op_weights(t->g, k->op);
	berth_op_spec s = backward_spec(t, k, with_weights);
	s.read_bytes += params;
	s.write_bytes = k->wanted_bytes + (with_weights ? params : 0);
	BERTH_TRY(training_derive(t, k->op, t->g->op_name[k->op], "grad_input", s,
	                          cost_factor(t, k, with_weights), &from));
	BERTH_TRY(read_forward(t, k, with_weights, from));
	if (with_weights) {
		t->op_update_of[k->op] = from;
		t->op_update_tensor[k->op] = "weight";
	}
	/* Gradients of the wanted inputs, the i-th as tensor "input<i>" (unnamed if it is the only one). */
	const berth_graph *g = t->g;
	int32_t grad;
	BERTH_EACH (i, g->op_in_off, k->op) {
		int32_t tensor = g->in_tensor[i];
		if (!wants(t, tensor) || passes(t, k, tensor))
			continue;
		gradient d = {.op = from,
		              .bytes = g->tensor_bytes[tensor],
		              .cut_s = training_cut_s(t, tensor)};
		if (k->n_wanted > 1 &&
		    !(d.tensor = berth_arena_printf(t->tmp, "input%d", (int)(i - g->op_in_off[k->op]))))
			return berth_nomem(t->err);
		BERTH_TRY(add_gradient(t, d, &grad));
		BERTH_TRY(add_summand(t, tensor, grad));
	}
	return BERTH_OK;
}

static berth_status add_grad_weight(trainer *t, const task *k)
{
	berth_op_spec s = backward_spec(t, k, true);
	s.write_bytes = berth_graph_op_weights(t->g, k->op);
	BERTH_TRY(training_derive(t, k->op, t->g->op_name[k->op], "grad_weight", s, cost_factor(t, k, true),
	                          &t->op_update_of[k->op]));
	return read_forward(t, k, true, t->op_update_of[k->op]);
}

/* Products give the gradients of inputs and of weights in two operators; the others give both in one if both
 * are wanted. */
static berth_status differentiate(trainer *t, int32_t op)
{
	for (int32_t i = 0; i < n_slots(t, op); i++)
		BERTH_TRY(sum_slot(t, op, slot_of(t, op, i)));
	task k = look_at(t, op);
	bool apart = k.weights && (k.rule.cost == TRAINING_PRODUCT || k.n_wanted == 0);
	const berth_graph *g = t->g;
	BERTH_EACH (i, g->op_in_off, k.op)
		if (wants(t, g->in_tensor[i]) && passes(t, &k, g->in_tensor[i]))
			BERTH_TRY(add_summand(t, g->in_tensor[i], k.only_grad));
	if (k.n_wanted > 0)
		BERTH_TRY(add_grad_input(t, &k, k.weights && !apart));
	return apart ? add_grad_weight(t, &k) : BERTH_OK;
}

/* ---- the whole ---- */

static berth_status check_input(const berth_graph *g, const berth_training_options *opt, berth_err *err)
{
	if (opt->elem_bytes < 1)
		return berth_fail(err, BERTH_EINVAL, "elem_bytes is %lld; expected 1 or more",
		                  (long long)opt->elem_bytes);
	for (int32_t op = 0; op < g->n_ops; op++)
		if (g->op_backward[op])
			return berth_fail(err, BERTH_EINVAL,
			                  "graph '%s': operator '%s' is a backward operator; expected an "
			                  "inference graph",
			                  g->name, g->op_name[op]);
	for (int32_t op = 0; opt->op_segment && op < g->n_ops; op++)
		if (opt->op_segment[op] < -1 || opt->op_segment[op] >= g->n_ops)
			return berth_fail(err, BERTH_EINVAL,
			                  "operator '%s' is in segment %d; expected -1 to %d", g->op_name[op],
			                  opt->op_segment[op], g->n_ops - 1);
	return BERTH_OK;
}

static berth_status prepare(trainer *t)
{
	size_t n = (size_t)t->g->n_ops, slots = n + (size_t)t->g->n_tensors;
	BERTH_TRY_NEW(t->tmp, n, t->err, t->op_active, t->op_root, t->op_group, t->op_new, t->op_piece,
	              t->op_replica, t->op_out_slot, t->op_update_of);
	BERTH_TRY_NEW(t->tmp, n, t->err, t->op_update_tensor);
	BERTH_TRY_NEW(t->tmp, slots, t->err, t->slot_first, t->slot_grad);
	BERTH_TRY_NEW(t->tmp, t->g->n_types + 1, t->err, t->type_rule);
	for (int32_t i = 0; i <= t->g->n_types; i++)
		t->type_rule[i] = training_rule_of(i ? t->g->type_name[i - 1] : NULL);
	memset(t->op_update_of, -1, n * sizeof *t->op_update_of);
	memset(t->slot_first, -1, slots * sizeof *t->slot_first);
	memset(t->slot_grad, -1, slots * sizeof *t->slot_grad);
	return berth_builder_new(t->tmp, t->g->name, &t->b, t->err);
}

static berth_status report(const trainer *t, berth_arena *mem, berth_training_report *out)
{
	const berth_graph *g = t->g;
	bool *seen;
	int32_t *op_of;
	berth_training_report r = {0};
	BERTH_TRY_NEW(t->tmp, g->n_types + 1, t->err, seen);
	BERTH_TRY_NEW(mem, g->n_types + 1, t->err, r.unknown_type);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t type = g->op_type[op];
		if (!t->op_active[op] || seen[type + 1] ||
		    t->type_rule[g->op_type[op] + 1].cost != TRAINING_UNKNOWN)
			continue;
		seen[type + 1] = true;
		if (!(r.unknown_type[r.n_unknown++] =
		              berth_arena_strdup(mem, type < 0 ? "" : g->type_name[type])))
			return berth_nomem(t->err);
	}
	BERTH_TRY_NEW(mem, t->n_of, t->err, op_of);
	memcpy(op_of, t->of, t->n_of * sizeof *op_of);
	r.op_of = op_of;
	*out = r;
	return BERTH_OK;
}

static berth_status run(trainer *t, berth_arena *mem, berth_graph *out)
{
	BERTH_TRY(prepare(t));
	BERTH_TRY(training_name_replicas(t));
	find_active(t);
	BERTH_TRY(join_groups(t));
	BERTH_TRY(name_groups(t));
	const berth_graph *g = t->g;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t joined = tensor_of_join(t, op);
		t->op_out_slot[op] = -1;
		if (!t->op_active[op] || (joined < 0 && !is_output(g, op)))
			continue;
		int32_t k = g->op_tensor_off[op];
		while (k < g->op_tensor_off[op + 1] && g->tensor_bytes[k] != g->op_output_bytes[op])
			k++;
		t->op_out_slot[op] = joined >= 0                    ? joined
		                     : k < g->op_tensor_off[op + 1] ? k
		                                                    : g->n_tensors + op;
	}
	BERTH_TRY(training_prepare_recompute(t));
	BERTH_TRY(copy_forward(t));
	int64_t *piece;
	BERTH_TRY_NEW(t->tmp, t->g->n_ops, t->err, piece);
	int32_t n = pieces_of(t, piece);
	if (n == 0)
		return berth_fail(t->err, BERTH_EINVAL,
		                  "graph '%s': no output depends on parameters; training needs operators "
		                  "with param_bytes or params",
		                  t->g->name);
	for (int32_t i = 0; i < n; i++) {
		const char *name =
			n == 1 ? "loss"
			       : berth_arena_printf(t->tmp, "loss/piece %d of %d", (int)i + 1, (int)n);
		BERTH_TRY(berth_got(name, t->err));
		BERTH_TRY(add_loss(t, piece[i], name));
	}
	for (int32_t i = t->g->n_ops - 1; i >= 0; i--)
		if (t->op_active[t->g->topo_op[i]])
			BERTH_TRY(differentiate(t, t->g->topo_op[i]));
	BERTH_TRY(training_update(t));
	return berth_builder_finish(t->b, mem, out, t->err);
}

berth_status berth_graph_training(const berth_graph *g, const berth_training_options *opt, berth_arena *mem,
                                  berth_arena *tmp, berth_graph *out, berth_err *err)
{
	berth_training_options defaults = berth_training_options_default();
	berth_training_report told = {0};
	berth_graph made;
	trainer t = {.g = g, .opt = opt ? opt : &defaults, .tmp = tmp, .err = err};
	BERTH_TRY(check_input(g, t.opt, err));
	BERTH_SCRATCH(tmp);
	berth_status st = run(&t, mem, &made);
	if (st == BERTH_OK && t.opt->report)
		st = report(&t, mem, &told);
	BERTH_TRY(st);
	if (t.opt->report)
		*t.opt->report = told;
	*out = made;
	return BERTH_OK;
}
