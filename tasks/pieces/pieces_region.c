/* Parts of values, where they are taken. Two pieces that were cut alike meet without a node between them;
 * what else is taken is made of the pieces that hold it, once. */
#include "pieces_state.h"

static const char *name_of(const pieces_state *x, int32_t v)
{
	return x->m.value[v].name;
}

static int64_t length_of(const pieces_state *x, int32_t v, int32_t dim)
{
	return x->m.value[v].dim[dim];
}

/* ---- nodes ---- */

berth_status pieces_number(pieces_state *x, int64_t value, const char **name, berth_err *err)
{
	const char *key = berth_arena_printf(x->mem, "%lld", (long long)value);
	int32_t found, at = (int32_t)x->n_numbers;
	BERTH_TRY(berth_got(key, err));
	BERTH_TRY(berth_strmap_add(&x->numbers, key, at, &found, err));
	if (found < at) {
		*name = x->number[found];
		return BERTH_OK;
	}
	BERTH_TRY(BERTH_GROW(x->mem, x->number, x->n_numbers, &x->cap_number, err));
	BERTH_TRY(pieces_name(x, &x->values, name, err, "number/%s", key));
	x->number[x->n_numbers++] = *name;
	return pieces_ints_put(x, *name, &value, 1, err);
}

static berth_status put_slice(pieces_state *x, const char *from_name, const char *name, int32_t dim,
                              int64_t from, int64_t to, berth_err *err)
{
	const int64_t axis = dim;
	const pieces_attr old[] = {{"axes", &axis, 1}, {"starts", &from, 1}, {"ends", &to, 1}};
	const char *in[] = {from_name, NULL, NULL, NULL};
	x->out->n_slices++;
	if (x->m.opset < 10)
		return pieces_put_node(x, "Slice", name, in, 1, name, old, 3, err);
	BERTH_TRY(pieces_number(x, from, &in[1], err));
	BERTH_TRY(pieces_number(x, to, &in[2], err));
	BERTH_TRY(pieces_number(x, axis, &in[3], err));
	return pieces_put_node(x, "Slice", name, in, 4, name, NULL, 0, err);
}

static berth_status put_concat(pieces_state *x, const char *const *in, int32_t n, const char *name,
                               const char *out, int32_t dim, berth_err *err)
{
	const int64_t axis = dim;
	const pieces_attr attr = {"axis", &axis, -1};
	x->out->n_joins++;
	return pieces_put_node(x, "Concat", name, in, n, out, &attr, 1, err);
}

/* ---- parts ---- */

static const pieces_part *find_part(const pieces_value *v, int32_t dim, int64_t from, int64_t to)
{
	for (const pieces_part *p = v->part; p; p = p->next)
		if (p->dim == dim && p->from == from && p->to == to)
			return p;
	return NULL;
}

/* Is the part there already? Then *name is its name. */
static bool is_made(const pieces_value *v, int32_t dim, int64_t from, int64_t to, const char **name)
{
	const pieces_part *made = find_part(v, dim, from, to);
	*name = made ? made->name : *name;
	return made;
}

static berth_status remember(pieces_state *x, int32_t v, pieces_part part, berth_err *err)
{
	pieces_part *p;
	BERTH_TRY_NEW(x->mem, 1, err, p);
	*p = part;
	p->next = x->value[v].part;
	x->value[v].part = p;
	return BERTH_OK;
}

static berth_status remember_part(pieces_state *x, int32_t v, int32_t dim, int64_t from, int64_t to,
                                  const char **name, berth_err *err)
{
	BERTH_TRY(pieces_name(x, &x->values, name, err, "%s/%d:%lld-%lld", name_of(x, v), (int)dim,
	                      (long long)from, (long long)to - 1));
	return remember(x, v, (pieces_part){dim, from, to, *name, NULL}, err);
}

/* A part that a piece makes for itself: it has the piece's number. */
static berth_status remember_own(pieces_state *x, int32_t v, int32_t dim, int64_t from, int64_t to,
                                 const char *what, const char **name, berth_err *err)
{
	BERTH_TRY(pieces_name(x, &x->values, name, err, "%s/%s %d of %d", name_of(x, v), what,
	                      (int)x->taker + 1, (int)x->takers));
	return remember(x, v, (pieces_part){dim, from, to, *name, NULL}, err);
}

/* [from, to) of one piece. */
static berth_status of_piece(pieces_state *x, int32_t v, const pieces_part *p, int64_t from, int64_t to,
                             const char **name, berth_err *err)
{
	int32_t dim = x->value[v].dim;
	if (p->from == from && p->to == to) {
		*name = p->name;
		return BERTH_OK;
	}
	if (is_made(&x->value[v], dim, from, to, name))
		return BERTH_OK;
	BERTH_TRY(remember_part(x, v, dim, from, to, name, err));
	return put_slice(x, p->name, *name, dim, from - p->from, to - p->from, err);
}

/* [from, to) of several pieces, each with what is its own of it. */
static berth_status of_pieces(pieces_state *x, int32_t v, int64_t from, int64_t to, const char **in,
                              int32_t *n, berth_err *err)
{
	const pieces_value *s = &x->value[v];
	for (int32_t i = 0; i < s->k; i++) {
		int64_t a = s->own[i] > from ? s->own[i] : from, b = s->own[i + 1] < to ? s->own[i + 1] : to;
		if (a < b)
			BERTH_TRY(of_piece(x, v, &s->piece[i], a, b, &in[(*n)++], err));
	}
	return BERTH_OK;
}

/* [from, to) along the dimension that the value is cut along, as one. */
static berth_status join_pieces(pieces_state *x, int32_t v, int64_t from, int64_t to, const char *node,
                                const char *out, berth_err *err)
{
	const char **in;
	int32_t n = 0;
	BERTH_TRY_NEW(x->mem, x->value[v].k, err, in);
	BERTH_TRY(of_pieces(x, v, from, to, in, &n, err));
	return put_concat(x, in, n, node, out, x->value[v].dim, err);
}

berth_status pieces_whole(pieces_state *x, int32_t v, berth_err *err)
{
	pieces_value *s = &x->value[v];
	s->whole = true;
	if (!s->k || s->joined)
		return BERTH_OK;
	s->joined = true;
	const char *name = berth_arena_printf(x->mem, "%s/joined", name_of(x, v));
	return name ? join_pieces(x, v, 0, length_of(x, v, s->dim), name, name_of(x, v), err)
	            : berth_nomem(err);
}

berth_status pieces_all(pieces_state *x, int32_t v, const char **name, berth_err *err)
{
	const pieces_value *s = &x->value[v];
	*name = name_of(x, v);
	if (!x->takers || !s->k)
		return pieces_whole(x, v, err);
	if (is_made(s, -1, x->taker, x->takers, name))
		return BERTH_OK;
	BERTH_TRY(remember_own(x, v, -1, x->taker, x->takers, "joined", name, err));
	return join_pieces(x, v, 0, length_of(x, v, s->dim), *name, *name, err);
}

berth_status pieces_sum_shares(pieces_state *x, const char *label, int32_t v, int32_t dim, int32_t k,
                               const int64_t *own, const char *const *in, const char **out, berth_err *err)
{
	const char **part, *name;
	BERTH_TRY_NEW(x->mem, k, err, part);
	for (int32_t j = 0; j < k; j++) {
		for (int32_t i = 0; i < k; i++) {
			BERTH_TRY(pieces_name(x, &x->values, &part[i], err, "%s/%d:%lld-%lld %d of %d", in[i],
			                      (int)dim, (long long)own[j], (long long)own[j + 1] - 1,
			                      (int)i + 1, (int)k));
			BERTH_TRY(put_slice(x, in[i], part[i], dim, own[j], own[j + 1], err));
		}
		name = berth_arena_printf(x->mem, "%s/sum %d of %d", label, (int)j + 1, (int)k);
		BERTH_TRY(berth_got(name, err));
		BERTH_TRY(pieces_name(x, &x->values, &out[j], err, "%s/sum %d of %d", name_of(x, v),
		                      (int)j + 1, (int)k));
		BERTH_TRY(pieces_put_node(x, "Sum", name, part, k, out[j], NULL, 0, err));
		x->out->n_sums++;
	}
	return BERTH_OK;
}

berth_status pieces_region(pieces_state *x, int32_t v, int32_t dim, int64_t from, int64_t to,
                           const char **name, berth_err *err)
{
	*name = name_of(x, v);
	if (from == 0 && to == length_of(x, v, dim))
		return pieces_all(x, v, name, err);
	if (is_made(&x->value[v], dim, from, to, name))
		return BERTH_OK;
	if (x->value[v].k && x->value[v].dim == dim) {
		const pieces_value *s = &x->value[v];
		for (int32_t i = 0; i < s->k; i++)
			if (s->piece[i].from == from && s->piece[i].to == to) {
				*name = s->piece[i].name;
				return BERTH_OK;
			}
		for (int32_t i = 0; i < s->k; i++)
			if (s->piece[i].from <= from && s->piece[i].to >= to)
				return of_piece(x, v, &s->piece[i], from, to, name, err);
		BERTH_TRY(remember_part(x, v, s->dim, from, to, name, err));
		return join_pieces(x, v, from, to, *name, *name, err);
	}
	if (x->value[v].k && x->takers) {
		/* [from, to) along dim of a value that is cut along another one: a part of each piece. */
		const pieces_value *s = &x->value[v];
		const char **in, *lines, *joined;
		int32_t n = 0;
		BERTH_TRY_NEW(x->mem, s->k, err, in);
		BERTH_TRY(of_pieces(x, v, 0, length_of(x, v, s->dim), in, &n, err));
		lines = berth_arena_printf(x->mem, "%d:%lld-%lld", (int)dim, (long long)from,
		                           (long long)to - 1);
		joined = lines ? berth_arena_printf(x->mem, "%s/joined", lines) : NULL;
		BERTH_TRY(berth_got(joined, err));
		for (int32_t i = 0; i < n; i++) {
			const char *whole = in[i];
			BERTH_TRY(pieces_name(x, &x->values, &in[i], err, "%s/%s %d of %d", name_of(x, v),
			                      lines, (int)i + 1, (int)n));
			BERTH_TRY(put_slice(x, whole, in[i], dim, from, to, err));
		}
		BERTH_TRY(remember_own(x, v, dim, from, to, joined, name, err));
		return put_concat(x, in, n, *name, *name, s->dim, err);
	}
	if (pieces_tensor_stands(x, v)) {
		BERTH_TRY(remember_part(x, v, dim, from, to, name, err));
		return pieces_tensor_part(x, v, dim, from, to, *name, err);
	}
	BERTH_TRY(pieces_whole(x, v, err));
	BERTH_TRY(remember_part(x, v, dim, from, to, name, err));
	return put_slice(x, name_of(x, v), *name, dim, from, to, err);
}
