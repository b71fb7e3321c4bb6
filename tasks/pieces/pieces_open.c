/* A model that is to be cut: what it has, which dimensions its file leaves open, and what can be cut. */
#include "pieces_state.h"

/* ---- what the file leaves open ---- */

static berth_status decode(const pieces_source *s, const berth_read_options *read, onnx_model *m,
                           berth_err *err)
{
	int32_t n_weights;
	*m = (onnx_model){.file = s->m.file, .data = s->m.data, .size = s->m.size, .tmp = s->m.tmp};
	return onnx_decode(m, read, &n_weights, err);
}

/* The same model with other sizes for what the file leaves open: what differs depends on them. Where it
 * cannot be read with them, everything may. */
static berth_status find_open(pieces_source *s, berth_err *err)
{
	const berth_read_options *read = s->read;
	berth_read_options other = {.sandbox = NULL};
	const char **dim;
	onnx_model m;
	int32_t n = read ? read->n_dims : 0, more = 0;
	BERTH_TRY_NEW(s->m.tmp, s->m.n_values, err, s->open);
	BERTH_TRY_NEW(s->m.tmp, (size_t)n + s->m.n_symbols, err, dim);
	for (int32_t i = 0; i < n; i++)
		dim[i] = read->dim[i];
	for (size_t k = 0; k < s->m.n_symbols; k++) {
		if (!s->m.symbol_of_input[k] || pieces_is_given(read, s->m.symbol[k]))
			continue;
		dim[n + more] = berth_arena_printf(s->m.tmp, "%s=%lld", s->m.symbol[k],
		                                   (long long)s->m.symbol_value[k] + 7 + more);
		if (!dim[n + more++])
			return berth_nomem(err);
	}
	if (!more)
		return BERTH_OK;
	other.dim = dim;
	other.n_dims = n + more;
	berth_status st = decode(s, &other, &m, NULL);
	if (st == BERTH_ENOMEM)
		return berth_nomem(err);
	if (st != BERTH_OK)
		m.n_values = 0;
	for (size_t v = 0; v < s->m.n_values; v++) {
		const onnx_value *a = &s->m.value[v], *b = v < m.n_values ? &m.value[v] : NULL;
		for (int32_t d = 0; d < a->rank; d++)
			if (!b || b->rank != a->rank || a->dim[d] != b->dim[d])
				s->open[v] |= UINT64_C(1) << d;
	}
	return BERTH_OK;
}

/* ---- open axes, uses and names ---- */

berth_status pieces_open(const char *file, const unsigned char *data, size_t size,
                         const berth_read_options *read, berth_arena *mem, pieces_source **out,
                         berth_err *err)
{
	pieces_source *s;
	BERTH_TRY_NEW(mem, 1, err, s);
	*s = (pieces_source){.m = {.file = file, .data = data, .size = size, .tmp = mem}, .read = read};
	BERTH_TRY(decode(s, read, &s->m, err));
	if (s->m.n_inlined)
		return berth_fail(
			err, BERTH_EUNSUPPORTED,
			"%s: the model calls functions of its own, whose nodes stand in the file once for "
			"all calls; put them in place of the calls first (onnx.inliner)",
			file);
	BERTH_TRY(find_open(s, err));
	BERTH_TRY_NEW(s->m.tmp, s->m.n_values, err, s->uses);
	for (size_t i = 0; i < s->m.n_nodes; i++)
		for (int32_t k = 0; k < s->m.node[i].n_all; k++)
			if (s->m.node[i].in[k] >= 0)
				s->uses[s->m.node[i].in[k]]++;
	for (size_t o = 0; o < s->m.n_outputs; o++)
		s->uses[s->m.output[o]]++;
	/* Names that new ones keep clear of. Values of bodies are not told apart from those of the graph. */
	int32_t found;
	berth_strmap_init(&s->values, s->m.tmp);
	berth_strmap_init(&s->nodes, s->m.tmp);
	berth_strmap_init(&s->label, s->m.tmp);
	BERTH_TRY_NEW(s->m.tmp, s->m.n_nodes, err, s->again);
	BERTH_TRY(berth_strmap_reserve(&s->values, s->m.n_values, err));
	for (size_t v = 0; v < s->m.n_values; v++)
		BERTH_TRY(berth_strmap_add(&s->values, s->m.value[v].name, 0, &found, err));
	for (size_t i = 0; i < s->m.n_nodes; i++) {
		const char *label = onnx_node_label(&s->m, &s->m.node[i]);
		BERTH_TRY(berth_strmap_add(&s->nodes, s->m.node[i].name, 0, &found, err));
		BERTH_TRY(berth_strmap_add(&s->label, label, (int32_t)i, &found, err));
		s->again[found] |= found != (int32_t)i;
	}
	*out = s;
	return BERTH_OK;
}

berth_status pieces_state_new(const pieces_source *s, const pieces_options *opt, berth_arena *mem,
                              pieces_state *x, berth_err *err)
{
	*x = (pieces_state){.s = s,
	                    .m = s->m,
	                    .opt = opt,
	                    .read = s->read,
	                    .mem = mem,
	                    .open = s->open,
	                    .values = {.old = &s->values},
	                    .nodes = {.old = &s->nodes}};
	x->m.tmp = mem;
	berth_strmap_init(&x->values.added, mem);
	berth_strmap_init(&x->nodes.added, mem);
	berth_strmap_init(&x->numbers, mem);
	BERTH_TRY_NEW(mem, s->m.n_values, err, x->value);
	return BERTH_NEW(mem, x->cut, s->m.n_nodes, err);
}

/* ---- what can be cut ---- */

/* The least part of its share that a piece reads of what windows slide over. What [a, b) reads is concave in
 * a and in b, and its share linear: the part is least for all lines, for the first, the last, or one that no
 * padding clips. */
static double least_part(const pieces_spec *s, int32_t k)
{
	const int64_t at[][2] = {{0, s->length}, {0, 1}, {s->length - 1, s->length}};
	double lines = (double)s->window.length / (double)s->length, part = (double)s->window.extent / lines;
	for (int i = 0; i < 3; i++) {
		int64_t from, to;
		pieces_range(s, k, at[i][0], at[i][1], &from, &to);
		double reads = to > from ? (double)(to - from) : 0,
		       share = lines * (double)(at[i][1] - at[i][0]);
		part = reads < part * share ? reads / share : part;
	}
	return part < 1 ? part : 1;
}

/* Are there pieces without some input that a node makes? */
static bool skips(const pieces_state *x, const onnx_node *n, const pieces_spec *s)
{
	for (int32_t k = 0; k < n->n_in; k++) {
		const onnx_value *v = n->in[k] < 0 ? NULL : &x->m.value[n->in[k]];
		if (v && !v->constant && (s->in[k].first || (k == 1 && s->edit == PIECES_SHAPE)))
			return true;
	}
	return false;
}

static berth_status list_axes(pieces_state *x, int32_t node, pieces_axes *out, berth_err *err)
{
	const onnx_node *n = &x->m.node[node];
	pieces_at at = pieces_at_node(x, node);
	int32_t rank = n->n_out && n->out[0] >= 0 ? pieces_output(&at)->rank : -1;
	*out = (pieces_axes){.op = onnx_node_label(&x->m, n)};
	BERTH_TRY_NEW(x->mem, rank + 1, err, out->axis);
	for (int32_t d = 0; d <= rank; d++) {
		int32_t dim = d < rank ? d : PIECES_INNER;
		const char *why;
		char number[16];
		pieces_spec s;
		BERTH_TRY(pieces_consider(x, node, dim, &s, &why, err));
		if (why || s.length / s.unit < 2)
			continue;
		out->axis[out->n] = berth_arena_strdup(x->mem, pieces_axis_word(&at, dim, number));
		if (!out->axis[out->n++])
			return berth_nomem(err);
		/* Bytes of what pieces along this dimension read of which a piece is not sure to read its
		 * share. */
		double bytes = 0;
		for (int32_t k = 0; k < n->n_in; k++) {
			const onnx_value *v = n->in[k] < 0 ? NULL : &x->m.value[n->in[k]];
			bool known;
			if (v && s.in[k].first)
				bytes += (double)onnx_value_bytes(v, &known);
			else if (v && s.in[k].window)
				bytes += (double)onnx_value_bytes(v, &known) * (1 - least_part(&s, k));
		}
		out->skips |= skips(x, n, &s);
		out->loose_bytes = bytes > out->loose_bytes ? bytes : out->loose_bytes;
	}
	return BERTH_OK;
}

berth_status pieces_list(const pieces_source *s, const char *outside, berth_arena *mem, pieces_axes **out,
                         int32_t *n, berth_err *err)
{
	const pieces_options opt = {.outside = outside};
	pieces_state x;
	pieces_axes *list;
	BERTH_TRY(pieces_state_new(s, &opt, mem, &x, err));
	BERTH_TRY_NEW(mem, s->m.n_nodes, err, list);
	*n = 0;
	for (size_t i = 0; i < s->m.n_nodes; i++) {
		int32_t node = s->m.order[i], first;
		first = berth_strmap_get(&s->label, onnx_node_label(&s->m, &s->m.node[node]));
		if (s->m.node[node].folded || s->again[first])
			continue;
		BERTH_TRY(list_axes(&x, node, &list[*n], err));
		*n += list[*n].n > 0;
	}
	*out = list;
	return BERTH_OK;
}
