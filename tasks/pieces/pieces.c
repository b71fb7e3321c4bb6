/* From a model to the model with pieces: decide, write. */
#include "pieces.h"

#include "onnx_edit.h"
#include "pieces_state.h"

/* ---- pieces of a node ---- */

typedef struct piece_at {
	pieces_state *x;
	int32_t node, i; /* piece i */
	const pieces_cut *c;
	int64_t from, to;
	const char **in, **out;
} piece_at;

/* The shape that a piece makes: the operator's, but for the dimension that is cut. */
static berth_status take_shape(piece_at *p, berth_err *err)
{
	pieces_state *x = p->x;
	const onnx_value *y = &x->m.value[x->m.node[p->node].out[0]];
	int64_t *dim;
	BERTH_TRY_NEW(x->mem, y->rank, err, dim);
	BERTH_COPY(dim, y->dim, y->rank);
	dim[p->c->spec.dim] = p->to - p->from;
	BERTH_TRY(pieces_name(x, &x->values, &p->in[1], err, "%s/shape", p->out[0]));
	return pieces_ints_put(x, p->in[1], dim, y->rank, err);
}

static berth_status name_outputs(piece_at *p, berth_err *err)
{
	pieces_state *x = p->x;
	const onnx_node *n = &x->m.node[p->node];
	for (int32_t o = 0; o < n->n_out; o++) {
		p->out[o] = "";
		if (n->out[o] >= 0)
			BERTH_TRY(pieces_name(x, &x->values, &p->out[o], err, "%s/piece %d of %d",
			                      x->m.value[n->out[o]].name, (int)p->i + 1, (int)p->c->k));
	}
	return BERTH_OK;
}

static berth_status put_copy(piece_at *p, const char *name, berth_err *err)
{
	const pieces_spec *s = &p->c->spec;
	pieces_attr attr = {0};
	int64_t pads[2 * PIECES_SPATIAL], group = (p->to - p->from) / s->unit;
	if (s->edit == PIECES_PADS) {
		/* Padding of the piece along the dimension that is cut: as far as its windows reach beyond
		 * the input. */
		const pieces_window *w = &p->c->spec.window;
		int64_t from = p->from * w->stride - w->before,
			to = (p->to - 1) * w->stride - w->before + w->extent;
		BERTH_COPY(pads, w->pads, 2 * w->n);
		pads[w->at] = from < 0 ? -from : 0;
		pads[w->n + w->at] = to > w->length ? to - w->length : 0;
		attr = (pieces_attr){"pads", pads, 2 * s->window.n};
	} else if (s->edit == PIECES_GROUP)
		attr = (pieces_attr){"group", &group, -1};
	return pieces_put_copy(p->x, p->node, name, p->in, p->out, &attr, attr.name != NULL,
	                       s->edit == PIECES_PADS ? "auto_pad" : NULL, err);
}

/* The piece between nodes that leave other pieces' lines alone. */
static berth_status put_lines(piece_at *p, const char *name, berth_err *err)
{
	pieces_state *x = p->x;
	const onnx_node *n = &x->m.node[p->node];
	const onnx_value *table = &x->m.value[n->in[0]];
	pieces_lines l;
	size_t before = x->n_nodes;
	BERTH_TRY(pieces_lines_before(x, name, p->in[1], table->dim[0], p->from, p->to, &l, err));
	p->in[1] = l.near;
	BERTH_TRY(put_copy(p, name, err));
	BERTH_TRY(pieces_lines_behind(x, name, &l, x->m.value[n->in[1]].rank, table->rank - 1, table->elem,
	                              p->out[0], &p->out[0], err));
	x->out->n_lookups += (int32_t)(x->n_nodes - before) - 1; /* beside the piece */
	return BERTH_OK;
}

static berth_status put_piece(piece_at *p, berth_err *err)
{
	const char *label = onnx_node_label(&p->x->m, &p->x->m.node[p->node]), *name;
	const onnx_node *n = &p->x->m.node[p->node];
	const pieces_spec *s = &p->c->spec;
	for (int32_t k = 0; k < n->n_in; k++) {
		int64_t from, to;
		p->in[k] = "";
		if (n->in[k] < 0 || (s->in[k].first && p->i > 0) || (k == 1 && s->edit == PIECES_SHAPE))
			continue;
		if (s->in[k].dim < 0) {
			BERTH_TRY(pieces_all(p->x, n->in[k], &p->in[k], err));
			continue;
		}
		pieces_range(s, k, p->from, p->to, &from, &to);
		BERTH_TRY(pieces_region(p->x, n->in[k], s->in[k].dim, from, to, &p->in[k], err));
	}
	BERTH_TRY(s->edit == PIECES_SHAPE ? take_shape(p, err) : BERTH_OK);
	BERTH_TRY(pieces_name(p->x, &p->x->nodes, &name, err, "%s/piece %d of %d", label, (int)p->i + 1,
	                      (int)p->c->k));
	p->c->name[p->i] = name;
	return p->c->spec.edit == PIECES_LINES ? put_lines(p, name, err) : put_copy(p, name, err);
}

/* From now on the value is there in pieces along dim. */
static berth_status becomes_pieces(pieces_state *x, pieces_value *v, int32_t dim, int32_t k,
                                   const int64_t *own, berth_err *err)
{
	v->dim = dim;
	v->k = k;
	v->own = own;
	return BERTH_NEW(x->mem, v->piece, k, err);
}

static berth_status add_up(pieces_state *x, int32_t node, const pieces_cut *c, const char *const *const *out,
                           berth_err *err)
{
	const char **in, *name;
	BERTH_TRY_NEW(x->mem, c->k, err, in);
	for (int32_t i = 0; i < c->k; i++)
		in[i] = out[i][0];
	name = berth_arena_printf(x->mem, "%s/sum", onnx_node_label(&x->m, &x->m.node[node]));
	BERTH_TRY(berth_got(name, err));
	x->out->n_sums++;
	return pieces_put_node(x, "Sum", name, in, c->k, x->m.value[x->m.node[node].out[0]].name, NULL, 0,
	                       err);
}

/* The same in shares. */
static berth_status add_shares(pieces_state *x, int32_t node, const pieces_cut *c,
                               const char *const *const *out, berth_err *err)
{
	const onnx_node *n = &x->m.node[node];
	pieces_value *v = &x->value[n->out[0]];
	const char **in, **sum;
	BERTH_TRY_NEW(x->mem, c->k, err, in, sum);
	for (int32_t i = 0; i < c->k; i++)
		in[i] = out[i][0];
	BERTH_TRY(pieces_sum_shares(x, onnx_node_label(&x->m, n), n->out[0], c->out_dim, c->k, c->sum_own, in,
	                            sum, err));
	BERTH_TRY(becomes_pieces(x, v, c->out_dim, c->k, c->sum_own, err));
	for (int32_t j = 0; j < c->k; j++)
		v->piece[j] = (pieces_part){c->out_dim, c->sum_own[j], c->sum_own[j + 1], sum[j], NULL};
	return BERTH_OK;
}

static berth_status put_pieces(pieces_state *x, int32_t node, const pieces_cut *c, berth_err *err)
{
	const onnx_node *n = &x->m.node[node];
	const char ***out;
	BERTH_TRY_NEW(x->mem, c->k, err, out);
	for (int32_t i = 0; i < c->k; i++) {
		piece_at p = {.x = x, .node = node, .i = i, .c = c, .from = c->from[i], .to = c->to[i]};
		BERTH_TRY_NEW(x->mem, n->n_in + 2, err, p.in);
		BERTH_TRY_NEW(x->mem, n->n_out, err, p.out);
		BERTH_TRY(name_outputs(&p, err));
		x->taker = i;
		x->takers = c->each ? c->k : 0;
		BERTH_TRY(put_piece(&p, err));
		out[i] = p.out;
	}
	x->takers = 0;
	const char *const *const *made = (const char *const *const *)out;
	if (c->spec.dim != PIECES_INNER) {
		for (int32_t o = 0; o < n->n_out; o++) {
			pieces_value *v = n->out[o] < 0 ? NULL : &x->value[n->out[o]];
			if (!v)
				continue;
			BERTH_TRY(becomes_pieces(x, v, c->spec.dim, c->k, c->own, err));
			for (int32_t i = 0; i < c->k; i++)
				v->piece[i] =
					(pieces_part){c->spec.dim, c->from[i], c->to[i], made[i][o], NULL};
		}
		return BERTH_OK;
	}
	return c->out_dim < 0 ? add_up(x, node, c, made, err) : add_shares(x, node, c, made, err);
}

/* ---- the new file ---- */

static berth_status add_bytes(pieces_state *x, const void *data, size_t size, size_t *cap, berth_err *err)
{
	return BERTH_PUSH(x->mem, x->out->piece, x->out->n_pieces, cap, err, (berth_file_piece){data, size});
}

/* Was the value there, and is nobody left who takes it? */
static bool is_gone(const pieces_state *x, int32_t v)
{
	return x->s->uses[v] > 0 && !x->value[v].whole;
}

/* A Constant whose pieces stand in its place. */
static bool is_spent(const pieces_state *x, int32_t node)
{
	const onnx_node *n = &x->m.node[node];
	return n->folded && n->n_out == 1 && n->out[0] >= 0 && strcmp(n->type, "Constant") == 0 &&
	       is_gone(x, n->out[0]);
}

/* The value that an initializer (name in field 8) or a ValueInfoProto (1) speaks of. -1: none of the file. */
static berth_status value_of(pieces_state *x, const protobuf *w, const protobuf_field *field, int32_t *v,
                             berth_err *err)
{
	uint32_t number = field->number == 5 ? 8 : 1;
	protobuf in = protobuf_inside(w, field);
	protobuf_field f;
	*v = -1;
	for (bool more = true; more;) { /* the last name counts */
		BERTH_TRY(protobuf_next(&in, &f, &more, err));
		if (!more || f.number != number || f.type != PROTOBUF_BYTES)
			continue;
		BERTH_TRY(berth_arena_room(x->mem, &x->text, f.end - f.at + 1, &x->cap_text, err));
		memcpy(x->text, w->data + f.at, f.end - f.at);
		x->text[f.end - f.at] = 0;
		*v = berth_strmap_get(&x->m.values, x->text);
	}
	return BERTH_OK;
}

/* Does the field of the graph speak of something that is no longer there? */
static berth_status is_dropped(pieces_state *x, const protobuf *w, const protobuf_field *f, bool *out,
                               berth_err *err)
{
	int32_t v;
	*out = false;
	if (f->type != PROTOBUF_BYTES || (f->number != 5 && f->number != 11 && f->number != 13))
		return BERTH_OK;
	BERTH_TRY(value_of(x, w, f, &v, err));
	*out = v >= 0 && is_gone(x, v) &&
	       (f->number != 11 || x->m.value[v].weight_input || x->m.value[v].tensor);
	return BERTH_OK;
}

/* A field that is no node: as it stands, with dimensions that are given, or not at all. */
static berth_status add_field(pieces_state *x, const protobuf *w, const protobuf_field *f, size_t *cap,
                              berth_err *err)
{
	berth_file_piece fixed = {w->data + f->tag_at, w->at - f->tag_at};
	bool any;
	BERTH_TRY(is_dropped(x, w, f, &any, err));
	if (any)
		return BERTH_OK;
	BERTH_TRY(pieces_fix(x, w, f, &fixed, &any, err));
	return add_bytes(x, fixed.data, fixed.size, cap, err);
}

static berth_status write_graph(pieces_state *x, protobuf w, size_t *cap, berth_err *err)
{
	protobuf_field f;
	bool nodes = false;
	for (bool more;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			break;
		if (f.number == 1 && f.type == PROTOBUF_BYTES) {
			if (!nodes) {
				for (size_t i = 0; i < x->n_nodes; i++)
					if (x->node[i].old < 0 || !is_spent(x, x->node[i].old))
						BERTH_TRY(add_bytes(x, x->node[i].data, x->node[i].size, cap,
						                    err));
			}
			nodes = true;
		} else
			BERTH_TRY(add_field(x, &w, &f, cap, err));
	}
	for (size_t i = 0; i < x->n_weights; i++)
		BERTH_TRY(add_bytes(x, x->weight[i].data, x->weight[i].size, cap, err));
	for (size_t i = 0; i < x->n_inputs; i++)
		BERTH_TRY(add_bytes(x, x->input[i].data, x->input[i].size, cap, err));
	return BERTH_OK;
}

static berth_status write_model(pieces_state *x, berth_err *err)
{
	protobuf w = {x->m.file, x->m.data, 0, x->m.size};
	protobuf_field f;
	size_t cap = 0;
	bool graph = false;
	for (bool more;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			return BERTH_OK;
		if (f.number != 7 || f.type != PROTOBUF_BYTES) {
			BERTH_TRY(add_bytes(x, w.data + f.tag_at, w.at - f.tag_at, &cap, err));
			continue;
		}
		if (graph)
			return berth_fail(err, BERTH_EUNSUPPORTED, "%s: byte %zu: the model has two graphs",
			                  x->m.file, f.tag_at);
		graph = true;
		/* The graph (7) with a head of its new length; the rest of the model as it stands. */
		berth_strbuf head = {.mem = x->mem};
		size_t slot = x->out->n_pieces, size = 0, len;
		const char *text;
		BERTH_TRY(add_bytes(x, "", 0, &cap, err));
		BERTH_TRY(write_graph(x, protobuf_inside(&w, &f), &cap, err));
		for (size_t i = slot; i < x->out->n_pieces; i++)
			size += x->out->piece[i].size;
		onnx_put_head(&head, f.number, size);
		BERTH_TRY(berth_strbuf_done(&head, &text, &len, err));
		x->out->piece[slot] = (berth_file_piece){text, len};
	}
}

static berth_status list_made(pieces_state *x, berth_err *err)
{
	pieces_model *o = x->out;
	BERTH_TRY_NEW(x->mem, x->m.n_nodes, err, o->made);
	for (size_t j = 0; j < x->m.n_nodes; j++) {
		int32_t node = x->m.order[j];
		const pieces_cut *c = x->cut[node];
		if (c)
			o->made[o->n_made++] = (pieces_made){onnx_node_label(&x->m, &x->m.node[node]),
			                                     x->m.node[node].type,
			                                     c->axis,
			                                     c->spec.length,
			                                     c->k,
			                                     c->own,
			                                     c->from,
			                                     c->to,
			                                     c->name};
	}
	return BERTH_OK;
}

/* writes: the new model too, not only what it is to be. */
static berth_status cut_source(const pieces_source *s, const pieces_options *opt, bool writes,
                               berth_arena *mem, pieces_model *out, berth_err *err)
{
	pieces_model made = {0};
	pieces_state x;
	BERTH_TRY(pieces_state_new(s, opt, mem, &x, err));
	x.out = &made;
	BERTH_TRY(pieces_plan(&x, err));
	if (writes) {
		BERTH_TRY(pieces_find_idle(&x, err));
		for (size_t j = 0; j < x.m.n_nodes; j++) {
			int32_t node = x.m.order[j];
			if (x.cut[node])
				BERTH_TRY(put_pieces(&x, node, x.cut[node], err));
			else if (x.fate[node] == PIECES_BY_PIECE)
				BERTH_TRY(pieces_put_shape(&x, node, err));
			else if (x.fate[node] == PIECES_STAYS) {
				/* The node as it is, of whole values. */
				const onnx_node *n = &x.m.node[node];
				for (int32_t k = 0; k < n->n_all; k++)
					if (n->in[k] >= 0)
						BERTH_TRY(pieces_whole(&x, n->in[k], err));
				BERTH_TRY(pieces_put_old(&x, node, err));
			}
		}
		for (size_t o = 0; o < x.m.n_outputs; o++)
			BERTH_TRY(pieces_whole(&x, x.m.output[o], err));
		BERTH_TRY(write_model(&x, err));
	}
	BERTH_TRY(list_made(&x, err));
	*out = made;
	return BERTH_OK;
}

berth_status pieces_cut_source(const pieces_source *s, const pieces_options *opt, berth_arena *mem,
                               pieces_model *out, berth_err *err)
{
	return cut_source(s, opt, true, mem, out, err);
}

berth_status pieces_plan_source(const pieces_source *s, const pieces_options *opt, berth_arena *mem,
                                pieces_model *out, berth_err *err)
{
	return cut_source(s, opt, false, mem, out, err);
}

berth_status pieces_cut_model(const char *file, const unsigned char *data, size_t size,
                              const berth_read_options *read, const pieces_options *opt, berth_arena *mem,
                              pieces_model *out, berth_err *err)
{
	pieces_source *s;
	BERTH_TRY(pieces_open(file, data, size, read, mem, &s, err));
	return pieces_cut_source(s, opt, mem, out, err);
}
