/* Who makes what: symbolic dimensions, initializers, producers, and a topological order of the nodes. */
#include "onnx_model.h"

#include "units.h"

/* ---- symbolic dimensions ---- */

/* The trips of a node with a body, wherever it stands. */
static bool set_trips(const onnx_model *m, onnx_node *node, size_t n, const char *name, int64_t trips)
{
	for (size_t i = 0; i < n; i++) {
		for (int32_t b = 0; b < node[i].n_bodies; b++)
			if (set_trips(m, node[i].body[b].nodes.node, node[i].body[b].nodes.n, name, trips))
				return true;
		if (node[i].n_bodies && strcmp(node[i].type, "If") != 0 &&
		    strcmp(onnx_node_label(m, &node[i]), name) == 0) {
			node[i].trips = trips;
			return true;
		}
	}
	return false;
}

static berth_status apply_option(onnx_model *m, const char *text)
{
	char hint[128];
	const char *eq = strrchr(text, '='), *end = text;
	double value = eq ? berth_unit_number(BERTH_TOKENS, eq + 1, &end) : 0;
	if (!eq || eq == text || *end || !(value >= 1 && value <= INT32_MAX) || value != floor(value))
		return berth_fail(m->err, BERTH_EINVAL,
		                  "dimension '%.100s': expected NAME=VALUE with a value from 1 to 2147483647",
		                  text);
	char *name = berth_arena_strndup(m->tmp, text, (size_t)(eq - text));
	BERTH_TRY(berth_got(name, m->err));
	int32_t s = berth_strmap_get(&m->symbols, name);
	if (s < 0 && set_trips(m, m->node, m->n_nodes, name, (int64_t)value))
		return BERTH_OK;
	if (s < 0)
		return berth_fail(
			m->err, BERTH_EINVAL, "%s: no symbolic dimension or loop '%.80s'%s%s", m->file, name,
			m->n_symbols ? "" : "; the model has none: its sizes are fixed",
			berth_text_suggest(hint, sizeof hint, name, m->symbol, (int32_t)m->n_symbols));
	m->symbol_value[s] = (int64_t)value;
	m->symbol_how[s] = ONNX_STATED;
	return BERTH_OK;
}

static berth_status note_open(onnx_model *m)
{
	BERTH_TRY_NEW(m->tmp, m->n_inputs, m->err, m->open_dim);
	for (size_t i = 0; i < m->n_inputs; i++) {
		const onnx_value *v = &m->value[m->input[i]];
		int64_t *said;
		bool open;
		if (v->tensor)
			continue;
		/* A dimension that input v leaves open without a name gets one: x.2 is dimension 2 of x.
		 * open: v has symbols. */
		open = false;
		for (int32_t d = 0; d < v->said_rank; d++) {
			open |= v->said_dim[d] < 0;
			if (v->said_dim[d] != ONNX_UNKNOWN)
				continue;
			const char *name = berth_arena_printf(m->tmp, "%s.%d", v->name, d);
			BERTH_TRY(berth_got(name, m->err));
			BERTH_TRY(onnx_intern_symbol(m, name, &v->said_dim[d]));
		}
		if (!open)
			continue;
		BERTH_TRY_NEW(m->tmp, v->said_rank, m->err, said);
		BERTH_COPY(said, v->said_dim, v->said_rank);
		m->open_dim[i] = said;
	}
	return BERTH_OK;
}

/* ---- sources ---- */

/* From this IR on, an initializer that is an input too is what the input is where the caller gives nothing
 * else: nothing is folded that is made of it. */
enum { FIRST_DEFAULTS = 4 };

static berth_status place_initializers(onnx_model *m)
{
	for (size_t i = 0; i < m->n_tensors; i++) {
		onnx_value *v = &m->value[m->tensor_value[i]];
		const onnx_tensor *t = &m->tensor[i];
		if (v->tensor)
			return onnx_bad(m, t->at, "two initializers are named '%.80s'; expected one",
			                v->name);
		if (v->producer >= 0)
			return onnx_fail(m, &m->node[v->producer],
			                 "output '%.80s' is an initializer too; expected one source",
			                 v->name);
		v->tensor = t;
		v->constant = m->ir_version < FIRST_DEFAULTS || v->input < 0;
		v->elem = t->elem;
		v->rank = t->rank;
		v->dim = t->dim;
	}
	return BERTH_OK;
}

static berth_status place_inputs(onnx_model *m)
{
	for (size_t i = 0; i < m->n_inputs; i++) {
		onnx_value *v = &m->value[m->input[i]];
		if (v->producer >= 0)
			return onnx_fail(m, &m->node[v->producer],
			                 "output '%.80s' is an input of the graph too; expected one source",
			                 v->name);
		if (v->tensor)
			continue;
		if (onnx_count(v->said_rank, v->said_dim) > ONNX_MAX_ELEMENTS)
			return berth_fail(m->err, BERTH_EFORMAT,
			                  "%s: input '%.80s' has more than 2^48 elements",
			                  m->file, v->name);
		v->elem = v->said_elem;
		v->rank = v->said_rank;
		v->dim = v->said_dim;
	}
	return BERTH_OK;
}

static bool has_source(const onnx_value *v)
{
	return v->producer >= 0 || v->input >= 0 || v->tensor;
}

static berth_status check_sources(const onnx_model *m)
{
	for (size_t i = 0; i < m->n_nodes; i++)
		for (int32_t k = 0; k < m->node[i].n_all; k++) {
			if (m->node[i].in[k] < 0)
				continue;
			onnx_value *v = &m->value[m->node[i].in[k]];
			if (!has_source(v))
				return onnx_fail(m, &m->node[i],
				                 "input '%.80s' is made by nobody; expected an input of the "
				                 "graph, an initializer or the "
				                 "output of a node",
				                 v->name);
			v->used = true;
		}
	for (size_t i = 0; i < m->n_outputs; i++)
		if (!has_source(&m->value[m->output[i]]))
			return berth_fail(m->err, BERTH_EFORMAT,
			                  "%s: output '%.80s' of the graph is made by nobody; expected the "
			                  "output of a node",
			                  m->file, m->value[m->output[i]].name);
	return BERTH_OK;
}

/* ---- order ---- */

typedef struct visit {
	int32_t node, next; /* input to look at next */
} visit;

/* Depth first from the nodes in file order, so a sorted file keeps its order. state: 0 new, 1 on the stack,
 * 2 done. */
static berth_status order_from(onnx_model *m, int32_t root, unsigned char *state, visit *stack,
                               size_t *n_order)
{
	size_t depth = 0;
	if (state[root])
		return BERTH_OK;
	stack[depth++] = (visit){root, 0};
	state[root] = 1;
	while (depth) {
		visit *top = &stack[depth - 1];
		const onnx_node *n = &m->node[top->node];
		if (top->next == n->n_all) {
			state[top->node] = 2;
			m->order[(*n_order)++] = top->node;
			depth--;
			continue;
		}
		int32_t v = n->in[top->next++], p = v < 0 ? -1 : m->value[v].producer;
		if (p < 0 || state[p] == 2)
			continue;
		if (state[p] == 1)
			return onnx_fail(m, n,
			                 "input '%.80s' depends on this node itself: the graph has a cycle",
			                 m->value[v].name);
		state[p] = 1;
		stack[depth++] = (visit){p, 0};
	}
	return BERTH_OK;
}

berth_status onnx_resolve(onnx_model *m, const berth_read_options *opt)
{
	BERTH_TRY(place_initializers(m));
	BERTH_TRY(note_open(m));
	/* Symbols of graph inputs are 1 unless an option says otherwise; those of other values stay unknown
	 * (0). */
	for (int32_t i = 0; opt && i < opt->n_dims; i++)
		BERTH_TRY(apply_option(m, opt->dim[i]));
	for (int32_t i = 0; i < m->fits.n; i++) {
		m->symbol_value[m->fits.symbol[i]] = m->fits.value[i];
		m->symbol_how[m->fits.symbol[i]] = ONNX_FITTED;
	}
	for (size_t i = 0; i < m->n_inputs; i++) {
		const onnx_value *v = &m->value[m->input[i]];
		for (int32_t d = 0; d < v->said_rank && !v->tensor; d++)
			if (v->said_dim[d] <= -2) {
				size_t s = (size_t)(-2 - v->said_dim[d]);
				m->symbol_of_input[s] = true;
				m->symbol_value[s] = m->symbol_value[s] ? m->symbol_value[s] : 1;
			}
	}
	for (size_t i = 0; i < m->n_values; i++) {
		/* Declared dimensions become numbers; those left open ONNX_UNKNOWN. */
		for (int32_t d = 0; d < m->value[i].said_rank; d++)
			if (m->value[i].said_dim[d] <= -2) {
				int64_t x = m->symbol_value[-2 - m->value[i].said_dim[d]];
				m->value[i].symbolic = true;
				m->value[i].said_dim[d] = x ? x : ONNX_UNKNOWN;
			}
	}
	BERTH_TRY(place_inputs(m));
	BERTH_TRY(check_sources(m));
	unsigned char *state;
	berth_arena_mark scratch;
	visit *stack;
	size_t n_order = 0;
	BERTH_TRY_NEW(m->tmp, m->n_nodes, m->err, m->order);
	scratch = berth_arena_get_mark(m->tmp);
	BERTH_TRY_NEW(m->tmp, m->n_nodes, m->err, state, stack);
	for (size_t i = 0; i < m->n_nodes; i++)
		BERTH_TRY(order_from(m, (int32_t)i, state, stack, &n_order));
	berth_arena_reset(m->tmp, scratch);
	return BERTH_OK;
}
