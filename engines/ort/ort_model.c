/* Reading, completing and running the unsplit model. */
#include "ort_model.h"
#include "text.h"

#include "beneath.h"
#include "file.h"
#include "ort_compare.h"
#include "rng.h"

#include <unistd.h>

/* ---- decoding ---- */

static berth_status list_ops(ort_model *m, berth_err *err)
{
	BERTH_TRY_NEW(m->mem, m->onnx.n_nodes, err, m->op_node, m->node_op);
	BERTH_TRY_NEW(m->mem, m->onnx.n_values, err, m->shape, m->data, m->value, m->stamp, m->value_op);
	memset(m->node_op, -1, m->onnx.n_nodes * sizeof *m->node_op);
	memset(m->value_op, -1, m->onnx.n_values * sizeof *m->value_op);
	for (size_t i = 0; i < m->onnx.n_nodes; i++) {
		const onnx_node *n = &m->onnx.node[i];
		for (int32_t k = 0; k < n->n_out && !n->folded; k++)
			if (n->out[k] >= 0)
				m->value_op[n->out[k]] = m->n_ops;
		if (n->folded)
			continue;
		m->node_op[i] = m->n_ops;
		m->op_node[m->n_ops++] = (int32_t)i;
	}
	return ort_model_names(m, m->onnx.output, (int32_t)m->onnx.n_outputs, m->mem, &m->out, err);
}

/* ---- tensors ---- */

berth_status ort_model_names(const ort_model *m, const int32_t *v, int32_t n, berth_arena *mem,
                             ort_tensors *out, berth_err *err)
{
	BERTH_TRY(ort_tensors_new(mem, (size_t)n, out, err));
	for (; out->n < n; out->n++)
		out->name[out->n] = m->onnx.value[v[out->n]].name;
	return BERTH_OK;
}

berth_status ort_model_room(const ort_model *m, int32_t v, berth_arena *mem, void **data, berth_err *err)
{
	*data = berth_arena_alloc(mem, m->shape[v].bytes + 64, 1);
	return berth_got(*data, err);
}

berth_status ort_model_add(const ort_model *m, int32_t v, void *data, ort_tensors *t, berth_err *err)
{
	return ort_tensors_add(m->lib, t, m->onnx.value[v].name, data, &m->shape[v], err);
}

/* ---- filling ---- */

typedef enum filling { FILL_INPUT, FILL_BIAS, FILL_SCALE, FILL_KERNEL, FILL_MATMUL } filling;

static double fan_in(const ort_shape *s, filling how)
{
	double fan = 1;
	if (how == FILL_MATMUL)
		return (double)s->dim[s->rank - 2];
	for (int32_t i = 1; i < s->rank; i++)
		fan *= (double)s->dim[i];
	return fan > 1 ? fan : 1;
}

static double draw(berth_rng *r, filling how, double width)
{
	double u = 2 * berth_rng_unit(r) - 1;
	return how == FILL_SCALE ? 1 + 0.5 * u : how == FILL_BIAS ? 0.1 * u : u * width;
}

static uint16_t half(float x)
{
	uint32_t bits;
	memcpy(&bits, &x, sizeof bits);
	int32_t e = (int32_t)(bits >> 23 & 255) - 112;
	if (e <= 0)
		return (uint16_t)(bits >> 16 & 0x8000);
	return (uint16_t)((bits >> 16 & 0x8000) | ((uint32_t)e << 10) | (bits >> 13 & 0x3ff));
}

static void put_number(void *data, size_t i, int32_t elem, double x)
{
	switch (elem) {
	case ONNX_FLOAT: ((float *)data)[i] = (float)x; break;
	case ONNX_DOUBLE: ((double *)data)[i] = x; break;
	case ONNX_FLOAT16: ((uint16_t *)data)[i] = half((float)x); break;
	case ONNX_BFLOAT16: {
		float f = (float)x;
		memcpy((uint16_t *)data + i, (unsigned char *)&f + 2, 2);
		break;
	}
	default: break;
	}
}

static void fill(ort_model *m, int32_t v, filling how)
{
	const ort_shape *s = &m->shape[v];
	size_t width = ort_elem_bytes(s->elem), n = s->bytes / width;
	berth_rng r = berth_rng_seed(1, (uint64_t)v);
	bool real = s->elem == ONNX_FLOAT || s->elem == ONNX_DOUBLE || s->elem == ONNX_FLOAT16 ||
	            s->elem == ONNX_BFLOAT16;
	double a = how == FILL_INPUT    ? 1
	           : how == FILL_MATMUL ? sqrt(3 / fan_in(s, how))
	                                : sqrt(6 / fan_in(s, how));
	for (size_t i = 0; i < n; i++) {
		if (real)
			put_number(m->data[v], i, s->elem, draw(&r, how, a));
		else
			((unsigned char *)m->data[v])[i * width] = (unsigned char)(berth_rng_next(&r) >> 31);
	}
}

/* How the weight input v is filled: by the first operator that takes it. */
static filling filling_of(const ort_model *m, int32_t v)
{
	const onnx_model *o = &m->onnx;
	for (size_t i = 0; i < o->n_nodes; i++)
		for (int32_t k = 0; k < o->node[i].n_in; k++) {
			const char *type = o->node[i].type;
			bool norm = strstr(type, "Normalization") != NULL;
			if (o->node[i].in[k] != v)
				continue;
			if (norm && (k == 1 || (k == 4 && strcmp(type, "BatchNormalization") == 0)))
				return FILL_SCALE;
			if (m->shape[v].rank < 2)
				return FILL_BIAS;
			return strcmp(type, "MatMul") == 0 ? FILL_MATMUL : FILL_KERNEL;
		}
	return FILL_BIAS;
}

static berth_status shape_of_input(ort_model *m, int32_t v, berth_err *err)
{
	const onnx_value *x = &m->onnx.value[v];
	ort_shape *s = &m->shape[v];
	size_t count = 1;
	if (x->rank < 0 || x->rank > ORT_MAX_RANK || !ort_elem_bytes(x->elem))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%.200s: input '%.80s' has no type or shape that the engine can fill",
		                  m->onnx.file, x->name);
	s->elem = x->elem;
	s->rank = x->rank;
	for (int32_t i = 0; i < x->rank; i++) {
		s->dim[i] = x->dim[i] < 0 ? 1 : x->dim[i];
		count *= (size_t)s->dim[i];
	}
	s->bytes = count * ort_elem_bytes(s->elem);
	return BERTH_OK;
}

/* Where a tensor's bytes stand in a file of their own: entries of external_data (13). */
typedef struct outside {
	const char *name; /* as the model has it; NULL: none */
	uint64_t offset;
	bool is, inside; /* inside: the model's file has bytes of it */
} outside;

/* Fields of a tensor that hold its numbers: packed ones, one for each type, or raw ones. */
static bool is_data(const protobuf_field *f)
{
	bool known = (f->number >= 4 && f->number <= 7) || (f->number >= 9 && f->number <= 11);
	return known && (f->type != PROTOBUF_BYTES || f->end > f->at);
}

static berth_status read_entry(ort_model *m, protobuf w, outside *o, berth_err *err)
{
	const char *key = "", *value = "";
	protobuf_field f;
	bool more;
	for (;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			break;
		if (f.number == 1 || f.number == 2)
			BERTH_TRY(protobuf_text(&w, &f, "external_data", m->mem,
			                        f.number == 1 ? &key : &value, err));
	}
	if (strcmp(key, "location") == 0)
		o->name = value;
	else if (strcmp(key, "offset") == 0)
		berth_text_whole(value, strlen(value), INT64_MAX, &o->offset); /* onnx_read has seen to it */
	return BERTH_OK;
}

static berth_status find_outside(ort_model *m, const onnx_tensor *t, outside *o, berth_err *err)
{
	protobuf w = {m->onnx.file, m->onnx.data, t->at, t->end};
	protobuf_field f;
	bool more;
	*o = (outside){0};
	for (;;) {
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			return BERTH_OK;
		if (f.number == 14 && f.type == PROTOBUF_VARINT)
			o->is = f.value == 1;
		o->inside |= is_data(&f);
		if (f.number == 13 && f.type == PROTOBUF_BYTES)
			BERTH_TRY(read_entry(m, protobuf_inside(&w, &f), o, err));
	}
}

/* The content of the file. false: it is not there. */
static bool read_outside(const char *model, const outside *o, void *data, size_t bytes)
{
	int fd;
	if (!o->name || berth_beneath_open(BERTH_READS_WEIGHTS, model, o->name, &fd, NULL) != BERTH_OK)
		return false;
	char *to = data;
	ssize_t n = 1;
	for (size_t at = 0; at < bytes && n > 0; at += (size_t)n)
		n = pread(fd, to + at, bytes - at, (off_t)(o->offset + at));
	close(fd);
	return n > 0;
}

static berth_status fill_outside(ort_model *m, int32_t v, const onnx_tensor *t, berth_err *err)
{
	outside o;
	ort_shape *s = &m->shape[v];
	BERTH_TRY(find_outside(m, t, &o, err));
	if (!o.is && (o.inside || t->count == 0))
		return BERTH_OK;
	if (t->rank > ORT_MAX_RANK || !ort_elem_bytes(t->elem))
		return berth_fail(err, BERTH_EFORMAT,
		                  "%.200s: weight '%.80s' has no type or shape that the engine can fill",
		                  m->onnx.file, t->name);
	s->elem = t->elem;
	s->rank = t->rank;
	memcpy(s->dim, t->dim, (size_t)t->rank * sizeof *s->dim);
	s->bytes = (size_t)t->count * ort_elem_bytes(t->elem);
	BERTH_TRY(ort_model_room(m, v, m->mem, &m->data[v], err));
	if (!read_outside(m->onnx.file, &o, m->data[v], s->bytes)) {
		fill(m, v, filling_of(m, v));
		m->missing = m->missing ? m->missing : o.name;
	}
	return BERTH_OK;
}

/* The value that a Constant gives. -1: the node is no Constant. */
static int32_t constant_of(const ort_model *m, int32_t node)
{
	const onnx_node *n = &m->onnx.node[node];
	return n->n_out == 1 && strcmp(n->type, "Constant") == 0 && !*n->domain ? n->out[0] : -1;
}

bool ort_model_makes(const ort_model *m, int32_t node)
{
	int32_t v = constant_of(m, node);
	return v >= 0 && m->data[v] && !m->value[v];
}

static bool is_used(const onnx_model *o, int32_t v)
{
	for (size_t i = 0; i < o->n_nodes; i++)
		for (int32_t k = 0; k < o->node[i].n_all; k++)
			if (o->node[i].in[k] == v)
				return true;
	return false;
}

static berth_status fill_inputs(ort_model *m, berth_err *err)
{
	BERTH_TRY_NEW(m->mem, m->onnx.n_inputs, err, m->input);
	BERTH_TRY(ort_tensors_new(m->mem, m->onnx.n_inputs, &m->in, err));
	for (size_t i = 0; i < m->onnx.n_inputs; i++) {
		int32_t v = m->onnx.input[i];
		bool weight = m->onnx.value[v].weight_input;
		if (m->onnx.value[v].tensor || !is_used(&m->onnx, v))
			continue;
		BERTH_TRY(shape_of_input(m, v, err));
		BERTH_TRY(ort_model_room(m, v, m->mem, &m->data[v], err));
		fill(m, v, weight ? filling_of(m, v) : FILL_INPUT);
		if (weight)
			continue;
		m->input[m->in.n] = v;
		BERTH_TRY(ort_model_add(m, v, m->data[v], &m->in, err));
	}
	return BERTH_OK;
}

/* ---- parts ---- */

void ort_put_value_info(berth_strbuf *graph, uint32_t field, const char *name, const ort_shape *shape)
{
	berth_strbuf dims = {.mem = graph->mem}, tensor = {.mem = graph->mem}, type = {.mem = graph->mem},
		     info = {.mem = graph->mem};
	onnx_put_text(&info, 1, name);
	for (int32_t i = 0; shape && i < shape->rank; i++) {
		berth_strbuf dim = {.mem = graph->mem};
		onnx_put_number(&dim, 1, (uint64_t)shape->dim[i]);
		onnx_put_message(&dims, 1, &dim);
	}
	if (shape) {
		onnx_put_number(&tensor, 1, (uint64_t)shape->elem);
		onnx_put_message(&tensor, 2, &dims);
		onnx_put_message(&type, 1, &tensor);
		onnx_put_message(&info, 2, &type);
	}
	onnx_put_message(graph, field, &info);
}

/* TensorProto as an initializer of a graph: its content is not copied twice. */
static void put_initializer(berth_strbuf *graph, const char *name, const ort_shape *shape, const void *data)
{
	berth_strbuf head = {.mem = graph->mem};
	for (int32_t i = 0; i < shape->rank; i++)
		onnx_put_number(&head, 1, (uint64_t)shape->dim[i]);
	onnx_put_number(&head, 2, (uint64_t)shape->elem);
	onnx_put_text(&head, 8, name);
	onnx_put_head(&head, 9, shape->bytes);
	onnx_put_head(graph, 5, head.len + shape->bytes);
	berth_strbuf_add(graph, head.text, head.len);
	berth_strbuf_add(graph, data, shape->bytes);
	graph->failed |= head.failed;
}

void ort_put_kept(berth_strbuf *b, const protobuf *w, const protobuf_field *f)
{
	berth_strbuf_add(b, w->data + f->tag_at, w->at - f->tag_at);
}

/* Fields of the model around the graph: IR version, operator sets, functions. */
static berth_status put_surroundings(ort_model *m, berth_strbuf *b, berth_err *err)
{
	protobuf w = {m->onnx.file, m->onnx.data, 0, m->onnx.size};
	for (;;) {
		protobuf_field f;
		bool more;
		BERTH_TRY(protobuf_next(&w, &f, &more, err));
		if (!more)
			return BERTH_OK;
		if (f.number == 1 || f.number == 8 || f.number == 25)
			ort_put_kept(b, &w, &f);
	}
}

static berth_status put_node(ort_model *m, int32_t node, berth_strbuf *graph, berth_err *err)
{
	protobuf w = {m->onnx.file, m->onnx.data, m->onnx.node[node].at, m->onnx.size};
	protobuf_field f;
	bool more;
	if (ort_model_makes(m, node)) {
		int32_t v = constant_of(m, node);
		put_initializer(graph, m->onnx.value[v].name, &m->shape[v], m->data[v]);
		return BERTH_OK;
	}
	BERTH_TRY(protobuf_next(&w, &f, &more, err));
	ort_put_kept(graph, &w, &f);
	return BERTH_OK;
}

static berth_status put_source(ort_model *m, int32_t v, berth_strbuf *graph, int32_t *in, int32_t *n_in,
                               berth_err *err)
{
	const onnx_value *x = &m->onnx.value[v];
	if (x->tensor && x->producer < 0 && !m->data[v]) {
		onnx_put_bytes(graph, x->tensor->sparse ? 15 : 5, m->onnx.data + x->tensor->at,
		              x->tensor->end - x->tensor->at);
	} else if (x->constant || (x->tensor && x->producer < 0)) {
		if (!m->data[v] && !(m->shape[v].elem && !m->shape[v].bytes))
			return berth_fail(err, BERTH_EFORMAT,
			                  "%.200s: the content of constant '%.80s' is not known",
			                  m->onnx.file, x->name);
		put_initializer(graph, x->name, &m->shape[v], m->data[v]);
	} else {
		ort_put_value_info(graph, 11, x->name, m->shape[v].elem ? &m->shape[v] : NULL);
		in[(*n_in)++] = v;
	}
	return BERTH_OK;
}

static berth_status put_sources(ort_model *m, const int32_t *nodes, int32_t n, berth_strbuf *graph,
                                int32_t *in, int32_t *n_in, berth_err *err)
{
	int32_t now = ++m->now;
	for (int32_t i = 0; i < n; i++)
		for (int32_t k = 0; k < m->onnx.node[nodes[i]].n_out; k++)
			if (m->onnx.node[nodes[i]].out[k] >= 0)
				m->stamp[m->onnx.node[nodes[i]].out[k]] = now;
	for (int32_t i = 0; i < n; i++)
		for (int32_t k = 0; k < m->onnx.node[nodes[i]].n_all; k++) {
			int32_t v = m->onnx.node[nodes[i]].in[k];
			if (v < 0 || m->stamp[v] == now)
				continue;
			m->stamp[v] = now;
			BERTH_TRY(put_source(m, v, graph, in, n_in, err));
		}
	return BERTH_OK;
}

berth_status ort_model_part(ort_model *m, const int32_t *nodes, int32_t n, const int32_t *out, int32_t n_out,
                            berth_arena *mem, int32_t *in, int32_t *n_in, berth_strbuf *bytes, berth_err *err)
{
	berth_strbuf graph = {.mem = mem};
	*bytes = (berth_strbuf){.mem = mem};
	*n_in = 0;
	for (int32_t i = 0; i < n; i++)
		BERTH_TRY(put_node(m, nodes[i], &graph, err));
	onnx_put_text(&graph, 2, "part");
	BERTH_TRY(put_sources(m, nodes, n, &graph, in, n_in, err));
	for (int32_t i = 0; i < n_out; i++)
		ort_put_value_info(&graph, 12, m->onnx.value[out[i]].name,
		                   m->shape[out[i]].elem ? &m->shape[out[i]] : NULL);
	BERTH_TRY(put_surroundings(m, bytes, err));
	onnx_put_message(bytes, 7, &graph);
	return bytes->failed ? berth_nomem(err) : BERTH_OK;
}

berth_status ort_model_alone(ort_model *m, int32_t op, int32_t more, berth_arena *mem, ort_tensors *in,
                             int32_t **out, int32_t *n_out, berth_strbuf *bytes, berth_err *err)
{
	const onnx_node *n = ort_model_node(m, op);
	int32_t *v, n_in = 0;
	BERTH_TRY_NEW(mem, m->onnx.n_values, err, v, *out);
	*n_out = 0;
	for (int32_t k = 0; k < n->n_out; k++)
		if (n->out[k] >= 0)
			(*out)[(*n_out)++] = n->out[k];
	BERTH_TRY(ort_model_part(m, &m->op_node[op], 1, *out, *n_out, mem, v, &n_in, bytes, err));
	BERTH_TRY(ort_tensors_new(mem, (size_t)(n_in + more), in, err));
	for (int32_t i = 0; i < n_in; i++)
		BERTH_TRY(ort_model_add(m, v[i], m->data[v[i]], in, err));
	return BERTH_OK;
}

/* ---- the unsplit model ---- */

static berth_status whole_session(ort_model *m, const int32_t *out, int32_t n_out, const ort_session_cfg *cfg,
                                  ort_session **s, berth_err *err)
{
	BERTH_ARENA(tmp);
	berth_strbuf bytes;
	int32_t *in, n_in;
	BERTH_TRY_NEW(&tmp, m->onnx.n_values, err, in);
	BERTH_TRY(ort_model_part(m, m->onnx.order, (int32_t)m->onnx.n_nodes, out, n_out, &tmp, in, &n_in,
	                         &bytes, err));
	return ort_session_new(m->lib, bytes.text, bytes.len, cfg, s, err);
}

berth_status ort_model_session(ort_model *m, const ort_session_cfg *cfg, ort_session **s, berth_err *err)
{
	return whole_session(m, m->onnx.output, (int32_t)m->onnx.n_outputs, cfg, s, err);
}

berth_status ort_model_whole(ort_model *m, int threads, ort_session **out, berth_err *err)
{
	const ort_session_cfg cfg = {.threads = threads, .level = m->level, .config = m->config};
	for (int32_t i = 0; i < m->n_whole; i++)
		if (m->whole_threads[i] == threads) {
			*out = m->whole[i];
			return BERTH_OK;
		}
	if (m->n_whole == ORT_MAX_WHOLE)
		return berth_fail(err, BERTH_EINVAL, "more than %d numbers of threads were asked for",
		                  ORT_MAX_WHOLE);
	BERTH_TRY(ort_model_session(m, &cfg, out, err));
	m->whole_threads[m->n_whole] = threads;
	m->whole[m->n_whole++] = *out;
	return BERTH_OK;
}

berth_status ort_model_run_whole(ort_model *m, ort_session *s, ort_value **outputs, berth_err *err)
{
	const ort_tensors out = {m->out.n, m->out.name, outputs};
	return ort_run(m->lib, s, &m->in, &out, err);
}

/* Run once, unoptimised, with every value as an output: shapes, types and contents of all. */
static berth_status probe(ort_model *m, berth_err *err)
{
	const ort_session_cfg cfg = {.threads = 1, .level = ORT_PLAIN, .config = m->config};
	onnx_model *o = &m->onnx;
	int32_t *v, n = 0;
	ort_tensors out;
	ort_session *s = NULL;
	BERTH_TRY_NEW(m->mem, o->n_values, err, v);
	for (size_t i = 0; i < o->n_nodes; i++)
		for (int32_t k = 0; k < o->node[i].n_out && !ort_model_makes(m, (int32_t)i); k++)
			if (o->node[i].out[k] >= 0)
				v[n++] = o->node[i].out[k];
	BERTH_TRY(ort_model_names(m, v, n, m->mem, &out, err));
	BERTH_TRY(whole_session(m, v, n, &cfg, &s, err));
	berth_status st = ort_run(m->lib, s, &m->in, &out, err);
	for (int32_t i = 0; i < n; i++)
		m->value[v[i]] = out.value[i];
	for (int32_t i = 0; i < n && st == BERTH_OK; i++)
		st = ort_value_look(m->lib, out.value[i], &m->shape[v[i]], &m->data[v[i]], err);
	ort_session_free(m->lib, s);
	return st;
}

/* Does the model compute with numbers of few steps? Pieces of it are fused otherwise than the whole then, and
 * where that rounds otherwise outputs lie steps apart. */
static bool is_quantised(const onnx_model *o)
{
	for (size_t i = 0; i < o->n_nodes; i++)
		if (strstr(o->node[i].type, "uantizeLinear") || strstr(o->node[i].type, "QLinear") ||
		    strstr(o->node[i].type, "Integer"))
			return true;
	return false;
}

/* Largest difference that can be rounding, by the coarsest type of any of the model's tensors. */
static double tolerance_of(const ort_model *m)
{
	double largest = 0;
	for (size_t v = 0; v < m->onnx.n_values; v++)
		largest = fmax(largest, ort_tolerance(m->shape[v].elem));
	return largest;
}

static berth_status expect(ort_model *m, berth_err *err)
{
	ort_session *s;
	BERTH_TRY_NEW(m->mem, m->out.n, err, m->expected, m->plain);
	for (int32_t i = 0; i < m->out.n; i++)
		m->plain[i] = m->data[m->onnx.output[i]];
	BERTH_TRY(ort_model_whole(m, 1, &s, err));
	berth_status st = ort_run(m->lib, s, &m->in, &m->out, err);
	for (int32_t i = 0; i < m->out.n && st == BERTH_OK; i++) {
		int32_t v = m->onnx.output[i];
		void *data = NULL;
		st = ort_value_look(m->lib, m->out.value[i], &m->shape[v], &data, err);
		if (st == BERTH_OK)
			st = ort_model_room(m, v, m->mem, &m->expected[i], err);
		if (st == BERTH_OK)
			memcpy(m->expected[i], data, m->shape[v].bytes);
	}
	ort_tensors_free(m->lib, &m->out);
	m->tolerance = tolerance_of(m);
	m->quantised = is_quantised(&m->onnx);
	return st;
}

berth_status ort_model_open(ort_lib *lib, const char *path, const berth_read_options *opt, int level,
                            const char *const *config, berth_arena *mem, ort_model *out, berth_err *err)
{
	*out = (ort_model){
		.lib = lib, .mem = mem, .level = level, .other_level = ORT_PLAIN, .config = config};
	int32_t n_weights;
	out->onnx = (onnx_model){.file = berth_arena_strdup(out->mem, path), .tmp = out->mem};
	BERTH_TRY(berth_got(out->onnx.file, err));
	BERTH_TRY(berth_file_map(BERTH_READS_MODEL, path, &out->onnx.data, &out->onnx.size, err));
	BERTH_TRY(onnx_decode(&out->onnx, opt, &n_weights, err));
	BERTH_TRY(list_ops(out, err));
	for (size_t i = 0; i < out->onnx.n_tensors; i++)
		if (!out->onnx.tensor[i].sparse)
			BERTH_TRY(fill_outside(out, out->onnx.tensor_value[i], &out->onnx.tensor[i], err));
	for (size_t i = 0; i < out->onnx.n_nodes; i++) {
		int32_t v = constant_of(out, (int32_t)i);
		if (v >= 0 && out->onnx.value[v].tensor && !out->onnx.value[v].tensor->sparse)
			BERTH_TRY(fill_outside(out, v, out->onnx.value[v].tensor, err));
	}
	BERTH_TRY(fill_inputs(out, err));
	BERTH_TRY(probe(out, err));
	return expect(out, err);
}

void ort_model_close(ort_model *m)
{
	for (int32_t i = 0; i < m->n_whole; i++)
		ort_session_free(m->lib, m->whole[i]);
	for (size_t v = 0; m->value && v < m->onnx.n_values; v++)
		ort_value_free(m->lib, m->value[v]);
	ort_tensors_free(m->lib, &m->in);
	berth_file_unmap(m->onnx.data, m->onnx.size);
	*m = (ort_model){0};
}

/* ---- comparing ---- */

void ort_model_swap_level(ort_model *m)
{
	int level = m->level;
	void **expected = m->expected;
	m->level = m->other_level;
	m->expected = m->plain;
	m->other_level = level;
	m->plain = expected;
}

double ort_model_difference(const ort_model *m, int32_t o, const void *data)
{
	const ort_shape *s = &m->shape[m->onnx.output[o]];
	return ort_difference(m->expected[o], data, s->elem, s->bytes / ort_elem_bytes(s->elem));
}
