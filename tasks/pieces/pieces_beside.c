/* Nodes beside the pieces: those that nobody needs any more, and those that pieces of a table need around
 * them. */
#include "pieces_state.h"

/* ---- nodes that go ---- */

/* Nodes that nobody needs once operators are cut. A piece of a Reshape has a shape of its own, so that what
 * made the operator's has no taker left; and the Shape of a value that is there in pieces needs no whole: it
 * is that of a piece, but for the dimension that is cut. Only nodes that are known without running are left
 * out. Operators of the model stay, and with them every bound of programs (docs/proofs.md). */

/* A Shape of a value that is there in pieces; below opset 6 Add takes no integers. */
static bool is_of_piece(const pieces_state *x, const onnx_node *n)
{
	return x->m.opset >= 6 && n->folded && strcmp(n->type, "Shape") == 0 && !*n->domain && n->n_in == 1 &&
	       n->in[0] >= 0 && pieces_is_cut(x, n->in[0]) && x->m.value[n->out[0]].rank == 1;
}

/* Does nobody take what the node makes, and did somebody before? */
static bool is_idle(const pieces_state *x, const onnx_node *n, const bool *taken)
{
	int32_t uses = 0;
	for (int32_t o = 0; o < n->n_out; o++) {
		if (n->out[o] >= 0 && taken[n->out[o]])
			return false;
		uses += n->out[o] >= 0 ? x->s->uses[n->out[o]] : 0;
	}
	return n->folded && uses > 0;
}

static void take_inputs_of(const pieces_state *x, int32_t node, bool *taken)
{
	const onnx_node *n = &x->m.node[node];
	bool own_shape = x->cut[node] && x->cut[node]->spec.edit == PIECES_SHAPE;
	for (int32_t k = 0; k < n->n_all; k++)
		if (n->in[k] >= 0 && !(k == 1 && own_shape))
			taken[n->in[k]] = true;
}

berth_status pieces_find_idle(pieces_state *x, berth_err *err)
{
	bool *taken;
	BERTH_TRY_NEW(x->mem, x->m.n_values, err, taken);
	BERTH_TRY_NEW(x->mem, x->m.n_nodes, err, x->fate);
	for (size_t o = 0; o < x->m.n_outputs; o++)
		taken[x->m.output[o]] = true;
	for (size_t j = x->m.n_nodes; j-- > 0;) {
		int32_t node = x->m.order[j];
		const onnx_node *n = &x->m.node[node];
		if (is_idle(x, n, taken))
			x->fate[node] = PIECES_GOES;
		else if (is_of_piece(x, n))
			x->fate[node] = PIECES_BY_PIECE;
		else
			take_inputs_of(x, node, taken);
	}
	return BERTH_OK;
}

/* What lies between a piece's shape and that of all: 0, but for the dimension that is cut. */
static berth_status put_rest(pieces_state *x, const onnx_node *n, const pieces_part *piece, const char **name,
                             berth_err *err)
{
	const onnx_value *v = &x->m.value[n->in[0]], *out = &x->m.value[n->out[0]];
	int64_t *rest, first = onnx_attr_int(n, "start", 0);
	first = first < 0 ? first + v->rank : first;
	first = first < 0 ? 0 : first;
	BERTH_TRY_NEW(x->mem, out->dim[0], err, rest);
	if (piece->dim >= first && piece->dim - first < out->dim[0])
		rest[piece->dim - first] = v->dim[piece->dim] - (piece->to - piece->from);
	BERTH_TRY(pieces_name(x, &x->values, name, err, "%s/rest", out->name));
	return pieces_ints_put(x, *name, rest, (int32_t)out->dim[0], err);
}

berth_status pieces_put_shape(pieces_state *x, int32_t node, berth_err *err)
{
	const onnx_node *n = &x->m.node[node];
	const pieces_value *v = &x->value[n->in[0]];
	const char *name, *sum[2], *label = onnx_node_label(&x->m, n), *out = x->m.value[n->out[0]].name;
	BERTH_TRY(pieces_name(x, &x->nodes, &name, err, "%s/piece 1 of %d", label, (int)v->k));
	BERTH_TRY(pieces_name(x, &x->values, &sum[0], err, "%s/piece 1 of %d", out, (int)v->k));
	BERTH_TRY(put_rest(x, n, &v->piece[0], &sum[1], err));
	BERTH_TRY(pieces_put_copy(x, node, name, &v->piece[0].name, &sum[0], NULL, 0, NULL, err));
	name = berth_arena_printf(x->mem, "%s/all", label);
	return name ? pieces_put_node(x, "Add", name, sum, 2, out, NULL, 0, err) : berth_nomem(err);
}

/* ---- lines of a table ---- */

/* Gather by lines of its table (an embedding by vocabulary). Each piece has some lines. It takes the indices
 * that name one of them, and gives zeros for the others, so that the sum of all pieces is what Gather gives:
 *   own     = index mod lines of the table - first line of the piece  (an index below 0 counts from the end)
 *   near    = own, not below 0 and not above the last line of the piece
 *   result  = Gather(the piece's lines, near) where near = own, else 0 */

static berth_status put_binary(pieces_state *x, const char *base, const char *type, const char *a,
                               const char *b, const char **out, berth_err *err)
{
	const char *in[] = {a, b};
	BERTH_TRY(pieces_name(x, &x->values, out, err, "%s/%s", base, type));
	return pieces_put_node(x, type, *out, in, 2, *out, NULL, 0, err);
}

berth_status pieces_lines_before(pieces_state *x, const char *base, const char *index, int64_t lines,
                                 int64_t from, int64_t to, pieces_lines *out, berth_err *err)
{
	const char *all, *first, *zero, *last, *positive, *above;
	BERTH_TRY(pieces_number(x, lines, &all, err));
	BERTH_TRY(pieces_number(x, from, &first, err));
	BERTH_TRY(pieces_number(x, 0, &zero, err));
	BERTH_TRY(pieces_number(x, to - from - 1, &last, err));
	BERTH_TRY(put_binary(x, base, "Mod", index, all, &positive, err));
	BERTH_TRY(put_binary(x, base, "Sub", positive, first, &out->own, err));
	BERTH_TRY(put_binary(x, base, "Max", out->own, zero, &above, err));
	return put_binary(x, base, "Min", above, last, &out->near, err);
}

/* Which results are the piece's, in the shape of the indices, with a dimension of 1 for each that the table's
 * lines have. */
static berth_status put_mask(pieces_state *x, const char *base, const pieces_lines *l, int32_t rank,
                             int32_t more, const char **out, berth_err *err)
{
	int64_t axes[ONNX_MAX_RANK];
	const char *flat, *list;
	BERTH_TRY(put_binary(x, base, "Equal", l->own, l->near, &flat, err));
	*out = flat;
	if (!more)
		return BERTH_OK;
	for (int32_t i = 0; i < more; i++)
		axes[i] = rank + i;
	const pieces_attr attr = {"axes", axes, more};
	BERTH_TRY(pieces_name(x, &x->values, out, err, "%s/mask", base));
	if (x->m.opset < 13)
		return pieces_put_node(x, "Unsqueeze", *out, &flat, 1, *out, &attr, 1, err);
	BERTH_TRY(pieces_name(x, &x->values, &list, err, "%s/axes", base));
	BERTH_TRY(pieces_ints_put(x, list, axes, more, err));
	const char *in[] = {flat, list};
	return pieces_put_node(x, "Unsqueeze", *out, in, 2, *out, NULL, 0, err);
}

berth_status pieces_lines_behind(pieces_state *x, const char *base, const pieces_lines *l, int32_t rank,
                                 int32_t more, int32_t elem, const char *made, const char **out,
                                 berth_err *err)
{
	const char *mask, *zero;
	BERTH_TRY(put_mask(x, base, l, rank, more, &mask, err));
	BERTH_TRY(pieces_name(x, &x->values, &zero, err, "%s/zero", base));
	BERTH_TRY(pieces_zero_put(x, zero, elem, err));
	const char *in[] = {mask, made, zero};
	BERTH_TRY(pieces_name(x, &x->values, out, err, "%s/Where", base));
	return pieces_put_node(x, "Where", *out, in, 3, *out, NULL, 0, err);
}
