/* Gather by lines of its table (an embedding by vocabulary). Each piece has some lines. It takes the indices
 * that name one of them, and gives zeros for the others, so that the sum of all pieces is what Gather gives:
 *   own     = index mod lines of the table - first line of the piece  (an index below 0 counts from the end)
 *   near    = own, not below 0 and not above the last line of the piece
 *   result  = Gather(the piece's lines, near) where near = own, else 0 */
#include "pieces_state.h"

static berth_status put(pieces_state *x, const char *base, const char *type, const char *a, const char *b,
                        const char **out, berth_err *err)
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
	BERTH_TRY(put(x, base, "Mod", index, all, &positive, err));
	BERTH_TRY(put(x, base, "Sub", positive, first, &out->own, err));
	BERTH_TRY(put(x, base, "Max", out->own, zero, &above, err));
	return put(x, base, "Min", above, last, &out->near, err);
}

/* Which results are the piece's, in the shape of the indices, with a dimension of 1 for each that the table's
 * lines have. */
static berth_status put_mask(pieces_state *x, const char *base, const pieces_lines *l, int32_t rank,
                             int32_t more, const char **out, berth_err *err)
{
	int64_t axes[ONNX_MAX_RANK];
	const char *flat, *list;
	BERTH_TRY(put(x, base, "Equal", l->own, l->near, &flat, err));
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
