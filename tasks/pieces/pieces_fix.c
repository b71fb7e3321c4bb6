/* Dimensions that are given: the new model is for these sizes, and says so. */
#include "pieces_state.h"

#include "onnx_edit.h"

#include <string.h>

/* ValueInfoProto.type (2) .tensor_type (1) .shape (2) .dim (1), which has dim_value (1) or dim_param (2). */
enum { DEPTH = 4 };
static const uint32_t path[DEPTH] = {2, 1, 2, 1};

bool pieces_is_given(const berth_read_options *opt, const char *name)
{
	size_t n = strlen(name);
	for (int32_t i = 0; opt && i < opt->n_dims; i++)
		if (strncmp(opt->dim[i], name, n) == 0 && opt->dim[i][n] == '=')
			return true;
	return false;
}

/* The given size of the symbol in field f; 0: none is given. */
static berth_status size_of(pieces_state *x, const onnx_wire *w, const onnx_field *f, int64_t *size,
                            berth_err *err)
{
	char *name = berth_arena_strndup(x->mem, (const char *)w->data + f->at, f->end - f->at);
	if (!name)
		return berth_nomem(err);
	int32_t s = berth_strmap_get(&x->m.symbols, name);
	*size = s >= 0 && pieces_is_given(x->read, name) ? x->m.symbol_value[s] : 0;
	return BERTH_OK;
}

static berth_status fix(pieces_state *x, onnx_wire w, int depth, berth_strbuf *out, bool *any,
                        berth_err *err);

/* The message that field f holds, fixed. */
static berth_status fix_inside(pieces_state *x, const onnx_wire *w, const onnx_field *f, int depth,
                               berth_strbuf *out, bool *any, berth_err *err)
{
	berth_strbuf in = {.mem = x->mem};
	BERTH_TRY(fix(x, onnx_wire_inside(w, f), depth, &in, any, err));
	out->failed |= in.failed;
	onnx_put_bytes(out, f->number, in.text, in.len);
	return BERTH_OK;
}

static berth_status fix(pieces_state *x, onnx_wire w, int depth, berth_strbuf *out, bool *any, berth_err *err)
{
	onnx_field f;
	for (bool more;;) {
		int64_t size = 0;
		BERTH_TRY(onnx_wire_next(&w, &f, &more, err));
		if (!more)
			return BERTH_OK;
		if (f.type == ONNX_BYTES && depth < DEPTH && f.number == path[depth]) {
			BERTH_TRY(fix_inside(x, &w, &f, depth + 1, out, any, err));
			continue;
		}
		if (f.type == ONNX_BYTES && depth == DEPTH && f.number == 2)
			BERTH_TRY(size_of(x, &w, &f, &size, err));
		*any = *any || size;
		if (size)
			onnx_put_number(out, 1, (uint64_t)size);
		else
			berth_strbuf_add(out, (const char *)w.data + f.tag_at, w.at - f.tag_at);
	}
}

berth_status pieces_fix(pieces_state *x, const onnx_wire *w, const onnx_field *f, berth_file_piece *out,
                        bool *any, berth_err *err)
{
	berth_strbuf b = {.mem = x->mem};
	*any = false;
	if (f->type != ONNX_BYTES || f->number < 11 || f->number > 13 || !x->read || !x->read->n_dims)
		return BERTH_OK;
	BERTH_TRY(fix(x, onnx_wire_inside(w, f), 0, &b, any, err));
	return *any ? pieces_field(x, f->number, &b, out, err) : BERTH_OK;
}
