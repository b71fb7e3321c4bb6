/* The importer: the passes that decode a model, then the graph and the report. */
#include "onnx.h"

#include "onnx_infer.h"

/* ---- passes ---- */

static berth_status decode(onnx_model *m, const berth_read_options *opt, int32_t *n_weights)
{
	BERTH_TRY(onnx_read_model(m));
	BERTH_TRY(onnx_resolve(m, opt));
	BERTH_TRY(onnx_infer_model(m));
	BERTH_TRY(onnx_find_weights(m, n_weights));
	return onnx_fold_model(m);
}

berth_status onnx_decode(onnx_model *m, const berth_read_options *opt, int32_t *n_weights, berth_err *err)
{
	m->err = err;
	berth_status st = onnx_fit(m, opt, n_weights, decode);
	m->err = NULL; /* the model lives longer */
	return st;
}

/* ---- names ---- */

/* Node names that stand once: name -> node. Twice: -> a node whose flag repeated is set. */
typedef struct name_table {
	berth_strmap map;
	bool *repeated; /* [n_nodes] */
} name_table;

static bool stands_once(const name_table *t, const char *name)
{
	int32_t node = berth_strmap_get(&t->map, name);
	return node >= 0 && !t->repeated[node];
}

static const char *first_output(const onnx_model *m, const onnx_node *n)
{
	for (int32_t o = 0; o < n->n_out; o++)
		if (n->out[o] >= 0)
			return m->value[n->out[o]].name;
	return n->type;
}

/* Name of the operator: see onnx.h. Where the first output's name is some other operator's, a number is
 * added. */
static berth_status op_name(const onnx_model *m, const name_table *t, const berth_builder *b,
                            const onnx_node *n, const char **out)
{
	*out = n->name;
	if (stands_once(t, n->name))
		return BERTH_OK;
	*out = first_output(m, n);
	if (!stands_once(t, *out) && berth_builder_find(b, *out) < 0)
		return BERTH_OK;
	*out = berth_arena_printf(m->tmp, "%s#%d", *out, (int)(n - m->node));
	return *out ? BERTH_OK : berth_nomem(m->err);
}

/* ---- figures of an operator ---- */

typedef struct build {
	onnx_model *m;
	berth_builder *b;
	name_table names;
	int32_t *node_op;    /* [n_nodes] */
	int32_t *value_seen; /* [n_values] the last node that counted the value, + 1 */
	berth_read_report report;
} build;

static int64_t add(int64_t a, int64_t b)
{
	return a > INT64_MAX - b ? INT64_MAX : a + b;
}

static void count_inputs(build *s, int32_t node, berth_op_spec *spec)
{
	onnx_model *m = s->m;
	const onnx_node *n = &m->node[node];
	for (int32_t k = 0; k < n->n_all; k++) {
		int32_t v = n->in[k];
		if (v < 0 || s->value_seen[v] == node + 1)
			continue;
		s->value_seen[v] = node + 1;
		for (int32_t i = 0; i < m->value[v].n_roots; i++) {
			onnx_param *p = &m->param[m->value[v].root[i]];
			if (p->users == 1 && p->last_user != node) {
				spec->param_bytes = add(spec->param_bytes, p->bytes);
				p->last_user = node;
			}
		}
	}
}

/* ---- building ---- */

static berth_status build_op(build *s, int32_t node)
{
	onnx_node *n = &s->m->node[node];
	berth_op_spec spec = {.type = n->type};
	BERTH_TRY(op_name(s->m, &s->names, s->b, n, &spec.name));
	onnx_work w;
	BERTH_TRY(onnx_node_work(s->m, n, &w));
	spec.macs = w.macs;
	spec.flops = w.flops;
	spec.read_bytes = w.read_bytes;
	spec.write_bytes = w.write_bytes;
	spec.dtype = w.dtype;
	spec.dims = w.dims;
	for (int32_t o = 0; o < n->n_out; o++) {
		if (n->out[o] < 0)
			continue;
		bool known;
		const onnx_value *v = &s->m->value[n->out[o]];
		int64_t bytes = onnx_value_bytes(v, &known);
		if (v->is_output)
			spec.output_bytes = add(spec.output_bytes, bytes);
		s->report.n_outputs++;
		s->report.n_unknown += !known;
	}
	count_inputs(s, node, &spec);
	return berth_builder_op(s->b, &spec, &s->node_op[node], s->m->err);
}

static berth_status build_edges(build *s, int32_t node)
{
	onnx_model *m = s->m;
	const onnx_node *n = &m->node[node];
	int32_t stamp = -node - 1;
	for (int32_t k = 0; k < n->n_all; k++) {
		int32_t v = n->in[k];
		bool known;
		if (v < 0 || m->value[v].constant || m->value[v].producer < 0 || s->value_seen[v] == stamp)
			continue;
		s->value_seen[v] = stamp;
		BERTH_TRY(berth_builder_edge(s->b, s->node_op[m->value[v].producer], s->node_op[node],
		                             onnx_value_bytes(&m->value[v],
		                                              &known), m->value[v].name, s->m->err));
	}
	return BERTH_OK;
}

static berth_status build_params(build *s)
{
	onnx_model *m = s->m;
	int32_t *shared;
	BERTH_TRY_NEW(m->tmp, m->n_params, s->m->err, shared);
	for (size_t p = 0; p < m->n_params; p++) {
		shared[p] = -1;
		s->report.param_elements += m->param[p].users ? (double)m->param[p].elements : 0;
		if (m->param[p].users > 1)
			BERTH_TRY(berth_builder_param(s->b, m->value[m->param[p].value].name,
			                              m->param[p].bytes, &shared[p], s->m->err));
	}
	for (size_t i = 0; i < m->n_nodes; i++)
		if (!m->node[i].folded) {
			int32_t node = (int32_t)i;
			const onnx_node *n = &m->node[node];
			for (int32_t k = 0; k < n->n_all; k++) {
				const onnx_value *v = n->in[k] >= 0 ? &m->value[n->in[k]] : NULL;
				for (int32_t r = 0; v && r < v->n_roots; r++) {
					onnx_param *p = &m->param[v->root[r]];
					if (shared[v->root[r]] < 0 || p->last_user == node)
						continue;
					p->last_user = node;
					BERTH_TRY(berth_builder_param_use(s->b, shared[v->root[r]],
					                                  s->node_op[node], s->m->err));
				}
			}
		}
	return BERTH_OK;
}

static berth_status build_graph(build *s, const char *name)
{
	onnx_model *m = s->m;
	size_t n_ops = 0;
	for (size_t i = 0; i < m->n_nodes; i++)
		n_ops += !m->node[i].folded;
	BERTH_TRY(berth_builder_new(m->tmp, name, &s->b, s->m->err));
	BERTH_TRY(berth_builder_reserve(s->b, n_ops, s->m->err));
	berth_strmap_init(&s->names.map, m->tmp);
	BERTH_TRY(berth_strmap_reserve(&s->names.map, m->n_nodes, m->err));
	BERTH_TRY_NEW(m->tmp, m->n_nodes, m->err, s->names.repeated);
	for (size_t i = 0; i < m->n_nodes; i++) {
		int32_t found;
		if (!*m->node[i].name)
			continue;
		BERTH_TRY(berth_strmap_add(&s->names.map, m->node[i].name, (int32_t)i, &found, m->err));
		if (found != (int32_t)i)
			s->names.repeated[found] = true;
	}
	BERTH_TRY_NEW(m->tmp, m->n_nodes, s->m->err, s->node_op);
	BERTH_TRY_NEW(m->tmp, m->n_values, s->m->err, s->value_seen);
	/* How many operators use each parameter. */
	for (size_t i = 0; i < m->n_nodes; i++) {
		const onnx_node *n = &m->node[i];
		for (int32_t k = 0; k < n->n_all && !n->folded; k++) {
			const onnx_value *v = n->in[k] >= 0 ? &m->value[n->in[k]] : NULL;
			for (int32_t r = 0; v && r < v->n_roots; r++) {
				onnx_param *p = &m->param[v->root[r]];
				p->users += p->last_user != (int32_t)i;
				p->last_user = (int32_t)i;
			}
		}
	}
	for (size_t p = 0; p < m->n_params; p++)
		m->param[p].last_user = -1;
	for (size_t i = 0; i < m->n_nodes; i++)
		if (!m->node[i].folded)
			BERTH_TRY(build_op(s, (int32_t)i));
		else
			s->report.n_folded++;
	for (size_t i = 0; i < m->n_nodes; i++)
		if (!m->node[i].folded)
			BERTH_TRY(build_edges(s, (int32_t)i));
	return build_params(s);
}

static berth_status import(onnx_model *m, const berth_read_options *opt, berth_arena *mem, berth_graph *out,
                           berth_read_report *report)
{
	build s = {.m = m};
	berth_graph g;
	const char *name;
	BERTH_TRY(onnx_fit(m, opt, &s.report.n_weight_inputs, decode));
	/* "dir/resnet50.onnx" -> "resnet50"; the graph's own name where that is no UTF-8. */
	const char *slash = strrchr(m->file, '/'), *base = slash ? slash + 1 : m->file,
		   *dot = strrchr(base, '.');
	size_t n = dot && dot > base && strcmp(dot, ".onnx") == 0 ? (size_t)(dot - base) : strlen(base);
	name = m->name;
	if (n && berth_text_is_utf8(base, n))
		name = berth_arena_strndup(m->tmp, base, n);
	BERTH_TRY(name ? BERTH_OK : berth_nomem(m->err));
	berth_status st = build_graph(&s, name);
	if (st == BERTH_OK)
		st = berth_builder_finish(s.b, mem, &g, m->err);
	if (st == BERTH_EFORMAT && m->err && strncmp(m->err->msg, m->file, strlen(m->file)) != 0)
		return berth_fail_in(m->err, st, "%s: ", m->file);
	BERTH_TRY(st);
	BERTH_TRY(onnx_report(m, mem, &s.report));
	*out = g;
	if (report)
		*report = s.report;
	return BERTH_OK;
}

/* ---- memory ---- */

/* A node that exporters write, with names for itself, its inputs and its outputs, has at least
 * NODE_LENGTH bytes. A file whose weights stand beside it has little else in it. Nodes shorter than that
 * are granted nothing, and long ones need nothing. */
enum {
	FREE_BYTES = 16 * 1000 * 1000,
	BYTES_A_BYTE = 4,
	NODE_LENGTH = 48,
	LONG_NODE = 256,
	BYTES_A_NODE = 400
};

/* Nodes of that length in the main graph, as far as the file can be read. */
static size_t count_nodes(const onnx_model *m)
{
	protobuf w = {m->file, m->data, 0, m->size};
	protobuf_field f, node;
	size_t n = 0;
	for (bool more = true; protobuf_next(&w, &f, &more, NULL) == BERTH_OK && more;) {
		if (f.number != 7 || f.type != PROTOBUF_BYTES)
			continue;
		protobuf graph = protobuf_inside(&w, &f);
		for (bool other = true; protobuf_next(&graph, &node, &other, NULL) == BERTH_OK && other;)
			n += node.number == 1 && node.type == PROTOBUF_BYTES &&
			     node.end - node.at >= NODE_LENGTH && node.end - node.at < LONG_NODE;
	}
	return n;
}

/* What both arenas may take from their allocator: arenas keep what they take, so the sum is the peak. */
typedef struct budget {
	berth_allocator hook;
	const berth_allocator *below[2]; /* of mem and tmp; NULL: malloc and free */
	size_t left;
	bool spent;
} budget;

static void *budget_alloc(void *ctx, size_t size)
{
	budget *b = ctx;
	if (size > b->left) {
		b->spent = true;
		return NULL;
	}
	b->left -= size;
	return b->below[0] ? b->below[0]->alloc(b->below[0]->ctx, size) : malloc(size);
}

static void budget_free(void *ctx, void *p)
{
	budget *b = ctx;
	if (b->below[0])
		b->below[0]->free(b->below[0]->ctx, p);
	else
		free(p);
}

static berth_status import_within(onnx_model *m, const berth_read_options *opt, berth_arena *mem,
                                  berth_graph *out, berth_read_report *report)
{
	budget b = {{budget_alloc, budget_free, &b, mem->hook && mem->hook->each},
	            {mem->hook, m->tmp->hook},
	            FREE_BYTES + BYTES_A_BYTE * m->size + BYTES_A_NODE * count_nodes(m),
	            false};
	berth_arena_mark scratch = berth_arena_get_mark(m->tmp), kept = berth_arena_get_mark(mem);
	if (b.below[0] != b.below[1])
		/* allocators of two kinds: each keeps its own books */
		return import(m, opt, mem, out, report);
	mem->hook = m->tmp->hook = &b.hook;
	berth_status st = import(m, opt, mem, out, report);
	if (st == BERTH_ENOMEM && b.spent)
		st = berth_fail(m->err, BERTH_EFORMAT,
		                "%s: reading it takes more than %d bytes of memory for each of its %zu "
		                "bytes, %d for each node and %d MB: it holds more nodes, "
		                "values or attributes of a few bytes each than any exporter writes",
		                m->file, BYTES_A_BYTE, m->size, BYTES_A_NODE, FREE_BYTES / 1000000);
	berth_arena_reset(m->tmp, scratch);
	if (st != BERTH_OK)
		berth_arena_reset(mem, kept);
	mem->hook = b.below[0];
	m->tmp->hook = b.below[1];
	return st;
}

berth_status berth_graph_parse_onnx(const char *file, const unsigned char *data, size_t size,
                                    const berth_read_options *opt, berth_arena *mem, berth_arena *tmp,
                                    berth_graph *out, berth_read_report *report, berth_err *err)
{
	onnx_model m = {.file = file, .data = data, .size = size, .tmp = tmp, .err = err};
	berth_arena_mark scratch = berth_arena_get_mark(tmp), kept = berth_arena_get_mark(mem);
	berth_status st = import_within(&m, opt, mem, out, report);
	berth_arena_reset(tmp, scratch);
	if (st != BERTH_OK)
		berth_arena_reset(mem, kept);
	return st;
}

static bool is_binary(const char *data, size_t size)
{
	return !berth_text_is(data, size);
}

static berth_status parse_format(const berth_content *from, const berth_read_options *opt, berth_arena *mem,
                                 berth_arena *tmp, berth_graph *out, berth_read_report *report,
                                 berth_err *err)
{
	const unsigned char *data = (const unsigned char *)from->data;
	return berth_graph_parse_onnx(from->name, data, from->size, opt, mem, tmp, out, report, err);
}

const berth_format berth_format_onnx = {"ONNX", true, is_binary, parse_format, NULL};

