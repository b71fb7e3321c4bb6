/* Which values are constant, and which parameters they are made of. onnx.h states the rules. */
#include "onnx_infer.h"
#include "sort.h"

enum { MAX_ROOTS = 64 }; /* of one folded value */

/* ---- weights among the graph inputs ---- */

typedef struct use {
	int32_t node, slot;
} use;

/* Uses of all values, CSR. */
typedef struct uses {
	int32_t *off; /* [n_values + 1] */
	use *use;
} uses;

static berth_status list_uses(const onnx_model *m, uses *u)
{
	size_t total = 0;
	int32_t *fill;
	BERTH_TRY_NEW(m->tmp, m->n_values + 1, m->err, u->off);
	BERTH_TRY_NEW(m->tmp, m->n_values, m->err, fill);
	for (size_t i = 0; i < m->n_nodes; i++)
		for (int32_t k = 0; k < m->node[i].n_all; k++)
			if (m->node[i].in[k] >= 0) {
				u->off[m->node[i].in[k] + 1]++;
				total++;
			}
	if (total > INT32_MAX)
		return berth_fail(m->err, BERTH_EFORMAT, "%s: more than %d uses of values", m->file,
		                  INT32_MAX);
	BERTH_TRY_NEW(m->tmp, total, m->err, u->use);
	berth_csr_begin(u->off, m->n_values);
	for (size_t i = 0; i < m->n_nodes; i++)
		for (int32_t k = 0; k < m->node[i].n_all; k++) {
			int32_t v = m->node[i].in[k];
			if (v >= 0)
				u->use[u->off[v] + fill[v]++] = (use){(int32_t)i, k};
		}
	return BERTH_OK;
}

/* Position of the first graph input that each value depends on; INT32_MAX: on none. */
static berth_status first_inputs(const onnx_model *m, int32_t **out)
{
	int32_t *first;
	BERTH_TRY_NEW(m->tmp, m->n_values, m->err, first);
	for (size_t v = 0; v < m->n_values; v++)
		first[v] = m->value[v].input >= 0 && !m->value[v].tensor ? m->value[v].input : INT32_MAX;
	for (size_t i = 0; i < m->n_nodes; i++) {
		const onnx_node *n = &m->node[m->order[i]];
		int32_t least = INT32_MAX;
		for (int32_t k = 0; k < n->n_all; k++)
			if (n->in[k] >= 0 && first[n->in[k]] < least)
				least = first[n->in[k]];
		for (int32_t o = 0; o < n->n_out; o++)
			if (n->out[o] >= 0)
				first[n->out[o]] = least;
	}
	*out = first;
	return BERTH_OK;
}

/* How sure a use makes that the input is a parameter: no; only if an earlier input is one; yes. */
typedef enum grade { GRADE_NO, GRADE_LATER, GRADE_YES } grade;

/* What goes into a sum is data as well as a bias; a matrix that something is multiplied by is a weight. */
static grade grade_mixer(const onnx_node *n, int32_t slot, int32_t rank, int32_t input, const int32_t *first)
{
	if (!strstr(n->type, "MatMul") || rank > 2)
		return GRADE_LATER;
	for (int32_t k = 0; k < n->n_in; k++)
		if (k != slot && n->in[k] >= 0 && first[n->in[k]] < input)
			return GRADE_YES;
	return GRADE_LATER;
}

static grade grade_use(const onnx_model *m, use u, int32_t rank, int32_t input, const int32_t *first)
{
	const onnx_node *n = &m->node[u.node];
	if (u.slot >= n->n_in || !n->op)
		return GRADE_NO;
	if (u.slot < 32 && (n->op->weight_slots >> u.slot & 1))
		return GRADE_YES;
	if ((n->op->flags & ONNX_WIDE) && u.slot == 0 && rank >= 2 && n->n_in > 1 && n->in[1] >= 0 &&
	    m->value[n->in[1]].rank >= 1)
		return GRADE_YES;
	return n->op->flags & ONNX_MIXER ? grade_mixer(n, u.slot, rank, input, first) : GRADE_NO;
}

/* The least sure use of the input, looked for through carriers; stack [n_values]. */
static grade grade_input(const onnx_model *m, int32_t value, const uses *u, const int32_t *first,
                         int32_t *stack)
{
	grade least = GRADE_YES;
	int32_t n_stack = 0, n_uses = 0, input = m->value[value].input;
	stack[n_stack++] = value;
	while (n_stack) {
		int32_t v = stack[--n_stack];
		if (m->value[v].is_output)
			return GRADE_NO;
		for (int32_t i = u->off[v]; i < u->off[v + 1]; i++, n_uses++) {
			const onnx_node *n = &m->node[u->use[i].node];
			if (u->use[i].slot == 0 && n->op && (n->op->flags & ONNX_CARRIER)) {
				for (int32_t o = 0; o < n->n_out; o++)
					if (n->out[o] >= 0)
						stack[n_stack++] = n->out[o];
				continue;
			}
			grade g = grade_use(m, u->use[i], m->value[v].rank, input, first);
			if (g == GRADE_NO)
				return GRADE_NO;
			least = g < least ? g : least;
		}
	}
	return n_uses ? least : GRADE_NO;
}

static bool may_be_weight(const onnx_value *v)
{
	return v->input > 0 && !v->tensor && !v->symbolic && v->rank >= 0 &&
	       (onnx_elem_is_real(v->elem) || onnx_elem_is_quantised(v->elem));
}

/* A file that holds weights has its weights in it. */
static bool holds_weights(const onnx_model *m)
{
	for (size_t i = 0; i < m->n_tensors; i++)
		if (m->tensor[i].count > 1 &&
		    (onnx_elem_is_real(m->tensor[i].elem) || onnx_elem_is_quantised(m->tensor[i].elem)))
			return true;
	return false;
}

berth_status onnx_find_weights(onnx_model *m, int32_t *n_found)
{
	uses u = {NULL, NULL};
	int32_t *first, *stack, sure = INT32_MAX;
	grade *g;
	*n_found = 0;
	BERTH_SCRATCH(m->tmp);
	if (holds_weights(m))
		return BERTH_OK;
	BERTH_TRY(list_uses(m, &u));
	BERTH_TRY(first_inputs(m, &first));
	BERTH_TRY_NEW(m->tmp, m->n_values, m->err, stack);
	BERTH_TRY_NEW(m->tmp, m->n_inputs, m->err, g);
	for (size_t i = 0; i < m->n_inputs; i++) {
		g[i] = may_be_weight(&m->value[m->input[i]]) ? grade_input(m, m->input[i], &u, first, stack)
		                                             : GRADE_NO;
		if (g[i] == GRADE_YES && sure == INT32_MAX)
			sure = (int32_t)i;
	}
	for (size_t i = 0; i < m->n_inputs; i++)
		if (g[i] == GRADE_YES || (g[i] == GRADE_LATER && (int32_t)i > sure)) {
			m->value[m->input[i]].constant = m->value[m->input[i]].weight_input = true;
			++*n_found;
		}
	return BERTH_OK;
}

/* ---- folding ---- */

static bool is_param_type(const onnx_value *v)
{
	return onnx_elem_is_real(v->elem) || onnx_elem_is_quantised(v->elem) ||
	       (v->quantised_bias && v->elem == ONNX_INT32);
}

/* Make value v a parameter of its own. */
static berth_status new_param(onnx_model *m, int32_t v, int64_t bytes, int64_t elements)
{
	int32_t *root;
	BERTH_TRY(BERTH_GROW(m->tmp, m->param, m->n_params, &m->cap_param, m->err));
	BERTH_TRY_NEW(m->tmp, 1, m->err, root);
	*root = (int32_t)m->n_params;
	m->param[m->n_params++] = (onnx_param){v, bytes, elements, 0, -1, 0};
	m->value[v].root = root;
	m->value[v].n_roots = 1;
	return BERTH_OK;
}

static bool all_inputs_constant(const onnx_model *m, const onnx_node *n)
{
	for (int32_t k = 0; k < n->n_all; k++)
		if (n->in[k] >= 0 && !m->value[n->in[k]].constant)
			return false;
	return true;
}

static bool all_outputs_known(const onnx_model *m, const onnx_node *n)
{
	bool any = false;
	for (int32_t o = 0; o < n->n_out; o++)
		if (n->out[o] >= 0) {
			any = true;
			if (!m->value[n->out[o]].ints && !m->value[n->out[o]].reals)
				return false;
		}
	return any;
}

bool onnx_folds(const onnx_model *m, const onnx_node *n)
{
	if (n->n_bodies || (n->op && (n->op->flags & ONNX_RANDOM)) || (!n->op && n->n_in == 0))
		return false;
	return all_inputs_constant(m, n) || all_outputs_known(m, n);
}

/* The parameters that the inputs are made of, each once; more than MAX_ROOTS: none, and the result will be
 * its own. */
static berth_status merge_roots(onnx_model *m, const onnx_node *n, const int32_t **out, int32_t *n_out)
{
	int32_t merged[MAX_ROOTS], count = 0, *copy, stamp = ++m->stamp;
	*n_out = 0;
	for (int32_t k = 0; k < n->n_in; k++) {
		const onnx_value *v = n->in[k] >= 0 ? &m->value[n->in[k]] : NULL;
		if (!v || !v->n_roots)
			continue;
		if (count == 0) {
			*out = v->root;
			memcpy(merged, v->root, (size_t)v->n_roots * sizeof *merged);
			count = v->n_roots;
			for (int32_t i = 0; i < count; i++)
				m->param[merged[i]].seen = stamp;
			continue;
		}
		for (int32_t i = 0; i < v->n_roots; i++) {
			if (m->param[v->root[i]].seen == stamp)
				continue;
			m->param[v->root[i]].seen = stamp;
			if (count == MAX_ROOTS)
				return BERTH_OK;
			merged[count++] = v->root[i];
			*out = NULL;
		}
	}
	*n_out = count;
	if (*out || !count)
		return BERTH_OK;
	BERTH_TRY_NEW(m->tmp, count, m->err, copy);
	memcpy(copy, merged, (size_t)count * sizeof *copy);
	*out = copy;
	return BERTH_OK;
}

berth_status onnx_fold_model(onnx_model *m)
{
	/* int32 initializers are parameters where they are the bias of a quantised operator. */
	for (size_t i = 0; i < m->n_nodes; i++) {
		const onnx_node *n = &m->node[i];
		int32_t slot = strcmp(n->type, "QLinearConv") == 0        ? 8
		               : strcmp(n->type, "DequantizeLinear") == 0 ? 0
		                                                          : -1;
		if (slot >= 0 && slot < n->n_in && n->in[slot] >= 0)
			m->value[n->in[slot]].quantised_bias = true;
	}
	for (size_t i = 0; i < m->n_tensors; i++) {
		const onnx_value *v = &m->value[m->tensor_value[i]];
		if (is_param_type(v) && v->tensor->count > 0)
			BERTH_TRY(new_param(m, m->tensor_value[i], v->tensor->bytes, v->tensor->count));
	}
	for (size_t i = 0; i < m->n_inputs; i++) {
		const onnx_value *v = &m->value[m->input[i]];
		int64_t n = onnx_count(v->rank, v->dim);
		if (v->weight_input && n > 0)
			BERTH_TRY(new_param(m, m->input[i], onnx_elem_bytes(v->elem, n), n));
	}
	for (size_t i = 0; i < m->n_nodes; i++) {
		onnx_node *n = &m->node[m->order[i]];
		if (onnx_folds(m, n)) {
			const int32_t *root = NULL;
			int32_t n_roots;
			n->folded = true;
			BERTH_TRY(merge_roots(m, n, &root, &n_roots));
			for (int32_t o = 0; o < n->n_out; o++) {
				if (n->out[o] < 0)
					continue;
				onnx_value *v = &m->value[n->out[o]];
				int64_t count = onnx_count(v->rank, v->dim);
				v->constant = true;
				if (!is_param_type(v))
					continue;
				v->root = root;
				v->n_roots = n_roots;
				if (!n_roots && count > 1)
					BERTH_TRY(new_param(m, n->out[o],
					                    v->tensor ? v->tensor->bytes
					                              : onnx_elem_bytes(v->elem, count),
					                    count));
			}
		}
	}
	return BERTH_OK;
}
