/* Models whose operators are cut into pieces: what they compute in all is what the operators did. That they
 * compute the same numbers is tested in the real engine (tests/engines/pieces.c). */
#include "fail_each.h"
#include "file.h"
#include "onnx.h"
#include "onnx_bytes.h"
#include "onnx_model.h"
#include "pieces.h"
#include "support.h"
#include "text.h"
#include "training.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const fixtures[] = {"tagger",        "lstm_unrolled", "resnet18_batch", "encoder_dynamic",
                                       "decoder_cache", "vit",           "mobilenet_v2",   "efficientnet_b0",
                                       "inception_v3",  "swin",          "convnext",       "bert_base"};

typedef struct text {
	const unsigned char *data;
	size_t size;
} text;

static text joined(const pieces_model *p, berth_arena *mem)
{
	text t;
	t.data = berth_file_join(p->piece, p->n_pieces, mem, &t.size);
	assert_non_null(t.data);
	return t;
}

static text fixture(const char *name, berth_arena *mem)
{
	char path[300], *data;
	text t;
	berth_err err;
	snprintf(path, sizeof path, "%s/%s.onnx", BERTH_FIXTURES, name);
	assert_ok(berth_file_read(BERTH_READS_MODEL, path, mem, &data, &t.size, &err), &err);
	t.data = (const unsigned char *)data;
	return t;
}

static berth_graph graph_of(text t, berth_arena *mem, berth_arena *tmp)
{
	berth_graph g;
	berth_err err;
	assert_ok(berth_graph_parse_onnx("m.onnx", t.data, t.size, NULL, mem, tmp, &g, NULL, &err), &err);
	return g;
}

static pieces_model cut(text t, const pieces_options *opt, berth_arena *mem)
{
	pieces_model p;
	berth_err err;
	assert_ok(pieces_cut_model("m.onnx", t.data, t.size, NULL, opt, mem, &p, &err), &err);
	return p;
}

/* ---- sums ---- */

static int32_t op_of(const berth_graph *g, const char *name)
{
	for (int32_t op = 0; op < g->n_ops; op++)
		if (strcmp(g->op_name[op], name) == 0)
			return op;
	fail_msg("no operator %s", name);
	return -1;
}

static double sum(const double *x, int32_t n)
{
	double s = 0;
	for (int32_t i = 0; i < n; i++)
		s += x[i];
	return s;
}

static int64_t params(const berth_graph *g)
{
	int64_t s = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		s += g->op_param_bytes[op];
	for (int32_t i = 0; i < g->n_params; i++)
		s += g->param_bytes[i];
	return s;
}

/* Pieces of one operator: work and what they write are the operator's, times what they compute twice; its
 * shape is that of their shares, in its precision. */
static void check_made(const pieces_made *m, const berth_graph *before, const berth_graph *after)
{
	int32_t op = op_of(before, m->op);
	double flops = 0, written = 0, shaped = 0, done = 0, want = before->op_flops[op],
	       all = (double)before->op_write_bytes[op];
	berth_op_spec whole = berth_graph_op_spec(before, op);
	bool lines = strcmp(m->axis, "vocabulary") == 0, inner = lines || strcmp(m->axis, "inner") == 0;
	for (int32_t i = 0; i < m->k; i++) {
		int32_t piece = op_of(after, m->name[i]);
		flops += after->op_flops[piece];
		written += (double)after->op_write_bytes[piece];
		berth_op_spec part = berth_graph_op_spec(after, piece);
		assert_int_equal(part.dims.kind, whole.dims.kind);
		assert_int_equal(part.dtype, whole.dtype);
		shaped += berth_dims_work(&part.dims);
		done += (double)(m->to[i] - m->from[i]);
		assert_true(m->own[i] < m->own[i + 1] && m->from[i] <= m->own[i] &&
		            m->to[i] >= m->own[i + 1]);
	}
	assert_int_equal(m->own[0], 0);
	assert_int_equal(m->own[m->k], m->length);
	double times = done / (double)m->length;
	/* a piece of a table gives zeros for lines that it does not have */
	assert_near(flops / want, lines ? m->k : times, 1e-9);
	assert_near(written / all, inner ? m->k : times, 1e-9);
	if (whole.macs > 0 && whole.dims.kind)
		assert_near(shaped / berth_dims_work(&whole.dims), times, 1e-9);
}

static void check_sums(const char *name, bool overlap, berth_arena *mem, berth_arena *tmp)
{
	const double share[] = {2, 1, 3};
	const pieces_options opt = {.k = 3, .share = share, .overlap = overlap};
	text t = fixture(name, mem);
	pieces_model p = cut(t, &opt, mem);
	berth_graph before = graph_of(t, mem, tmp), after = graph_of(joined(&p, mem), mem, tmp);
	assert_true(p.n_made > 0);
	for (int32_t i = 0; i < p.n_made; i++)
		check_made(&p.made[i], &before, &after);
	assert_int_equal(params(&after), params(&before));
	assert_int_equal(p.n_made + p.n_refused, before.n_ops);
	if (!overlap)
		assert_near(sum(after.op_macs, after.n_ops), sum(before.op_macs, before.n_ops), 0.5);
}

static void test_sums(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * sizeof fixtures / sizeof *fixtures; i++) {
		berth_arena mem = {0}, tmp = {0};
		check_sums(fixtures[i / 2], i % 2, &mem, &tmp);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* ---- training steps ---- */

static berth_graph step_of(text t, int32_t replicas, berth_arena *mem, berth_arena *tmp)
{
	const char *const four[] = {"batch=4"};
	const berth_read_options read = {.dim = four, .n_dims = 1};
	berth_training_options opt = berth_training_options_default();
	berth_graph g, step;
	berth_err err;
	opt.replicas = replicas;
	/* a cut model has its batch fixed, and so knows no such word */
	if (berth_graph_parse_onnx("m.onnx", t.data, t.size, &read, mem, tmp, &g, NULL, &err) != BERTH_OK)
		g = graph_of(t, mem, tmp);
	assert_ok(berth_graph_training(&g, &opt, mem, tmp, &step, &err), &err);
	return step;
}

static int64_t states(const berth_graph *g)
{
	int64_t s = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		s += g->op_state_bytes[op];
	return s;
}

static int32_t reductions(const berth_graph *g)
{
	int32_t n = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		n += g->op_type[op] >= 0 && strcmp(g->type_name[g->op_type[op]], "AllReduce") == 0;
	return n;
}

/* A step of the cut model does the work of a step of the model. Cut along the batch, each piece has a copy of
 * all parameters' state and they are summed; along channels the state is shared out. */
static void test_training_steps(void **state)
{
	(void)state;
	static const char *const axes[] = {"0", "1"};
	for (size_t a = 0; a < 2; a++) {
		berth_arena mem = {0}, tmp = {0};
		berth_err err;
		const double half[] = {1, 1};
		const char *const four[] = {"batch=4"};
		const berth_read_options read = {.dim = four, .n_dims = 1};
		text t = fixture("resnet18_batch", &mem);
		berth_graph whole = step_of(t, 0, &mem, &tmp), g = graph_of(t, &mem, &tmp);
		pieces_ask ask[100];
		int32_t n = 0;
		for (int32_t op = 0; op < g.n_ops && n < 100; op++)
			ask[n++] = (pieces_ask){.op = g.op_name[op], .axis = axes[a], .k = 2, .share = half};
		const pieces_options opt = {.ask = ask, .n_asks = n};
		pieces_model p;
		assert_ok(pieces_cut_model("m.onnx", t.data, t.size, &read, &opt, &mem, &p, &err), &err);
		for (int32_t replicas = 0; replicas < 2; replicas++) {
			berth_graph step = step_of(joined(&p, &mem), replicas, &mem, &tmp);
			/* of all parameters, or of four biases that several convolutions have */
			int64_t again = replicas ? 0 : a ? 3 * (256 + 512 + 1024 + 2048) : states(&whole);
			assert_near(sum(step.op_macs, step.n_ops), sum(whole.op_macs, whole.n_ops), 0.5);
			assert_int_equal(params(&step), params(&whole));
			assert_int_equal(states(&step), states(&whole) + again);
			assert_int_equal(reductions(&step), replicas ? 0 : a ? 2 * 4 : 2 * step.n_params);
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* ---- styles ---- */

static const pieces_made *made_of(const pieces_model *p, const char *op)
{
	for (int32_t i = 0; i < p->n_made; i++)
		if (strcmp(p->made[i].op, op) == 0)
			return &p->made[i];
	return NULL;
}

static int64_t widest(const berth_graph *g, const char *type)
{
	int64_t most = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (g->op_type[op] >= 0 && strcmp(g->type_name[g->op_type[op]], type) == 0 &&
		    g->op_write_bytes[op] > most)
			most = g->op_write_bytes[op];
	return most;
}

/* A block of attention as people cut it: queries by columns, heads, the way back along what is summed, tokens
 * between. Sums are made in shares, and no operator takes more than it computes with. */
static void test_styles(void **state)
{
	(void)state;
	static const struct {
		const char *op, *axis;
	} cuts[] = {{"query/MatMul", "columns"},
	            {"MatMul", "1"},
	            {"Softmax", "1"},
	            {"out/MatMul", "inner"},
	            {"out/Add", "1"}};
	const double quarters[] = {1, 1, 1, 1};
	const pieces_options opt = {.k = 4, .share = quarters, .style = PIECES_TENSOR, .each = true};
	berth_arena mem = {0}, tmp = {0};
	text t = fixture("bert_base", &mem);
	pieces_model p = cut(t, &opt, &mem);
	berth_graph before = graph_of(t, &mem, &tmp), g = graph_of(joined(&p, &mem), &mem, &tmp);
	for (size_t i = 0; i < sizeof cuts / sizeof *cuts; i++) {
		char name[64];
		snprintf(name, sizeof name, "/blocks/blocks.0/attention/%s", cuts[i].op);
		const pieces_made *m = made_of(&p, name);
		assert_non_null(m);
		assert_string_equal(m->axis, cuts[i].axis);
	}
	assert_int_equal(params(&g), params(&before) + 4 * 4); /* a zero for each piece of the table */
	assert_near(sum(g.op_macs, g.n_ops), sum(before.op_macs, before.n_ops), 0.5);
	assert_int_equal(widest(&g, "Sum"), 128 / 4 * 768 * 4);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Along the batch nothing stands between pieces but what comes in and goes out. */
static void test_data_style(void **state)
{
	(void)state;
	const char *const four[] = {"batch=4"};
	const berth_read_options read = {.dim = four, .n_dims = 1};
	const double unlike[] = {3, 1};
	const pieces_options opt = {.k = 2, .share = unlike, .style = PIECES_DATA, .each = true};
	berth_arena mem = {0};
	berth_err err;
	pieces_model p;
	text t = fixture("resnet18_batch", &mem);
	assert_ok(pieces_cut_model("m.onnx", t.data, t.size, &read, &opt, &mem, &p, &err), &err);
	assert_int_equal(p.n_refused, 0);
	assert_int_equal(p.n_slices, 2);
	assert_int_equal(p.n_joins, 1);
	for (int32_t i = 0; i < p.n_made; i++)
		assert_int_equal(p.made[i].own[1], 3);
	berth_arena_free(&mem);
}

/* ---- what nobody needs ---- */

static bool *values_taken(const onnx_model *m, bool by_folded, berth_arena *mem)
{
	bool *taken = berth_arena_alloc(mem, m->n_values, sizeof *taken);
	assert_non_null(taken);
	for (size_t o = 0; o < m->n_outputs; o++)
		taken[m->output[o]] = true;
	for (size_t i = 0; i < m->n_nodes; i++)
		for (int32_t k = 0; k < m->node[i].n_all; k++)
			if (m->node[i].in[k] >= 0 && (by_folded || !m->node[i].folded))
				taken[m->node[i].in[k]] = true;
	return taken;
}

/* Somebody takes what each node makes: of all nodes, of operators. */
static void check_taken(const onnx_model *m, bool operators, berth_arena *mem)
{
	bool *taken = values_taken(m, !operators, mem);
	for (size_t i = 0; i < m->n_nodes; i++) {
		bool any = operators && m->node[i].folded;
		for (int32_t o = 0; o < m->node[i].n_out; o++)
			any |= m->node[i].out[o] >= 0 && taken[m->node[i].out[o]];
		if (!any)
			fail_msg("nobody takes what %s makes", m->node[i].name);
	}
}

static void check_needed(const char *name, const pieces_options *opt)
{
	berth_arena mem = {0};
	berth_err err;
	int32_t n_weights;
	pieces_model p = cut(fixture(name, &mem), opt, &mem);
	text t = joined(&p, &mem);
	onnx_model m = {.file = "m.onnx", .data = t.data, .size = t.size, .tmp = &mem};
	assert_ok(onnx_decode(&m, NULL, &n_weights, &err), &err);
	check_taken(&m, false, &mem);
	check_taken(&m, true, &mem);
	berth_arena_free(&mem);
}

/* No node of a cut model, and none that its graph has as an operator, makes what nobody takes. swin computes
 * shapes of values that are cut. */
static void test_needed(void **state)
{
	(void)state;
		const double share[] = {1, 1, 1, 1};
	const pieces_options opt[] = {{.k = 2, .share = share},
	                              {.k = 4, .share = share},
	                              {.k = 2, .share = share, .style = PIECES_TENSOR, .each = true}};
	for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++)
		for (size_t o = 0; o < sizeof opt / sizeof *opt; o++)
			check_needed(fixtures[i], &opt[o]);
}

/* Nothing to cut: the file, byte by byte. */
static void test_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
		berth_arena mem = {0};
		const pieces_options none = {.k = 0};
		text t = fixture(fixtures[i], &mem);
		pieces_model p = cut(t, &none, &mem);
		text same = joined(&p, &mem);
		assert_int_equal(same.size, t.size);
		assert_memory_equal(same.data, t.data, t.size);
		berth_arena_free(&mem);
	}
}

/* ---- small models ---- */

/* An initializer of floats 0, 1, 2, ... inside, or outside of the file. */
static void put_floats(bytes *graph, const char *name, int rows, int columns, bool outside)
{
	bytes *t = calloc(1, sizeof *t), *data = calloc(1, sizeof *data), *entry = calloc(1, sizeof *entry);
	assert_true(t && data && entry);
	put_number(t, 1, (uint64_t)rows);
	put_number(t, 1, (uint64_t)columns);
	put_number(t, 2, 1);
	put_text(t, 8, name);
	for (int i = 0; i < rows * columns && !outside; i++) {
		float x = (float)i;
		put_raw(data, &x, sizeof x);
	}
	if (!outside)
		put_message(t, 9, data);
	if (outside) {
		put_text(entry, 1, "location");
		put_text(entry, 2, "w.bin");
		put_message(t, 13, entry);
		entry->n = 0;
		put_text(entry, 1, "offset");
		put_text(entry, 2, "400");
		put_message(t, 13, entry);
		put_number(t, 14, 1);
	}
	put_message(graph, 5, t);
	free(t);
	free(data);
	free(entry);
}

/* The file around the graph, which is freed. */
static text model_of(bytes *graph, int opset, berth_arena *mem)
{
	bytes *file = calloc(1, sizeof *file);
	assert_non_null(file);
	put_model(file, graph, opset);
	unsigned char *copy = berth_arena_alloc(mem, file->n, 1);
	assert_non_null(copy);
	memcpy(copy, file->data, file->n);
	text t = {copy, file->n};
	free(graph);
	free(file);
	return t;
}

/* x [4,6] -> MatMul w [6,8] -> Relu -> MatMul v [8,4] -> y */
static text chain(bool outside, berth_arena *mem)
{
	bytes *graph = calloc(1, sizeof *graph), *unknown = calloc(1, sizeof *unknown);
	assert_true(graph && unknown);
	put_value(graph, 11, "x", 1, "4,6");
	put_value(graph, 12, "y", 1, "4,4");
	put_floats(graph, "w", 6, 8, outside);
	put_floats(graph, "v", 8, 4, outside);
	put_text(unknown, 100, "kept");
	put_node(graph, "MatMul", "first", "x,w", "a", unknown);
	put_node(graph, "Relu", "middle", "a", "b", NULL);
	put_node(graph, "MatMul", "second", "b,v", "y", NULL);
	free(unknown);
	return model_of(graph, 13, mem);
}

static const double halves[] = {1, 1}, thirds[] = {1, 2};

static pieces_ask ask_of(const char *op, const char *axis, const double *share)
{
	return (pieces_ask){.op = op, .axis = axis, .k = 2, .share = share};
}

/* Columns, then the same share of them, then a sum: no piece waits for another until the end. */
static void test_chain(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	const pieces_ask ask[] = {ask_of("first", "columns", thirds), ask_of("middle", "1", thirds),
	                          ask_of("second", "inner", thirds)};
	const pieces_options opt = {.ask = ask, .n_asks = 3};
	pieces_model p = cut(chain(false, &mem), &opt, &mem);
	assert_int_equal(p.n_made, 3);
	assert_int_equal(p.n_slices, 0);
	assert_int_equal(p.n_joins, 0);
	assert_int_equal(p.n_sums, 1);
	assert_int_equal(p.made[0].own[1], 3);
	berth_graph g = graph_of(joined(&p, &mem), &mem, &tmp);
	assert_int_equal(g.n_ops, 7);
	assert_int_equal(g.n_edges, 6);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static int times_in(text t, const void *part, size_t n)
{
	int times = 0;
	for (size_t i = 0; i + n <= t.size; i++)
		times += memcmp(t.data + i, part, n) == 0;
	return times;
}

static bool holds(text t, const void *part, size_t n)
{
	return times_in(t, part, n) > 0;
}

/* The shape of a value in pieces, from its dimension `start` on, is that of the whole, and nothing is joined
 * for it: x [4,6] -> Relu -> a -> Neg -> y; Shape of a -> s; z [1] -> Expand to s -> e */
static void check_shape(int64_t start, const char *axis, int64_t elements)
{
	berth_arena mem = {0}, tmp = {0};
	bytes *graph = calloc(1, sizeof *graph), *attrs = calloc(1, sizeof *attrs);
	assert_true(graph && attrs);
	attr_int(attrs, "start", start);
	put_value(graph, 11, "x", 1, "4,6");
	put_value(graph, 11, "z", 1, "1");
	put_value(graph, 12, "y", 1, "4,6");
	put_value(graph, 12, "e", 1, NULL);
	put_node(graph, "Relu", "relu", "x", "a", NULL);
	put_node(graph, "Shape", "shape", "a", "s", attrs);
	put_node(graph, "Expand", "expand", "z,s", "e", NULL);
	put_node(graph, "Neg", "neg", "a", "y", NULL);
	const pieces_ask ask[] = {ask_of("relu", axis, halves), ask_of("neg", axis, halves)};
	const pieces_options opt = {.ask = ask, .n_asks = 2};
	pieces_model p = cut(model_of(graph, 15, &mem), &opt, &mem);
	berth_graph g = graph_of(joined(&p, &mem), &mem, &tmp);
	assert_int_equal(p.n_joins, 1); /* of y */
	assert_int_equal(g.op_write_bytes[op_of(&g, "expand")], 4 * elements);
	free(attrs);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_shape(void **state)
{
	(void)state;
	check_shape(0, "0", 24);
	check_shape(0, "1", 24);
	check_shape(1, "0", 6);
	check_shape(1, "1", 6);
	check_shape(-2, "1", 24);
	check_shape(-9, "0", 24);
}

/* A field of the node that nobody knows stands in each of its pieces. */
static void test_unknown(void **state)
{
	(void)state;
	berth_arena mem = {0};
	const pieces_ask ask = ask_of("first", "rows", halves);
	const pieces_options opt = {.ask = &ask, .n_asks = 1};
	pieces_model p = cut(chain(false, &mem), &opt, &mem);
	assert_int_equal(times_in(joined(&p, &mem), "\xa2\x06\x04kept", 7), 2);
	berth_arena_free(&mem);
}

/* Columns of a weight that is inside of the file. */
static void test_weights_inside(void **state)
{
	(void)state;
	berth_arena mem = {0};
	const pieces_ask ask = ask_of("second", "columns", halves);
	const pieces_options opt = {.ask = &ask, .n_asks = 1};
	const float left[] = {0, 1, 4, 5, 8, 9, 12, 13, 16, 17, 20, 21, 24, 25, 28, 29},
		    whole[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19,
	                       20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38};
	pieces_model p = cut(chain(false, &mem), &opt, &mem);
	text t = joined(&p, &mem);
	assert_true(holds(t, left, sizeof left));
	assert_true(holds(t, whole, sizeof whole)); /* the other operator's */
	assert_false(holds(t, "\x01v", 2));
	berth_arena_free(&mem);
}

/* Rows of a weight stand together, columns do not. */
static void test_weights_outside(void **state)
{
	(void)state;
	berth_arena mem = {0};
	const pieces_ask rows = ask_of("second", "inner", halves),
			 columns = ask_of("second", "columns", halves);
	const pieces_options in_place = {.ask = &rows, .n_asks = 1}, refused = {.ask = &columns, .n_asks = 1},
			     copied = {.ask = &columns, .n_asks = 1, .outside = "new.bin"};
	text from = chain(true, &mem);
	pieces_model p = cut(from, &in_place, &mem);
	assert_int_equal(p.n_copies, 0);
	assert_true(holds(joined(&p, &mem),
	                  "\x12\x03"
	                  "464",
	                  5)); /* 400 + 4 rows of 4 floats */
	p = cut(from, &refused, &mem);
	assert_int_equal(p.n_made, 0);
	assert_contains(p.refused[0].why, "new file");
	p = cut(from, &copied, &mem);
	assert_int_equal(p.n_copies, 2);
	assert_int_equal(p.copy[1].at, 408);
	assert_int_equal(p.copy[1].rows, 8);
	assert_int_equal(p.copy[1].bytes, 8);
	assert_int_equal(p.copy[1].stride, 16);
	assert_true(holds(joined(&p, &mem), "new.bin", 7));
	berth_arena_free(&mem);
}

/* ---- what is refused ---- */

static void check_why(text t, const char *op, const char *axis, const char *why)
{
	berth_arena mem = {0};
	const pieces_ask ask = ask_of(op, axis, halves);
	const pieces_options opt = {.ask = &ask, .n_asks = 1};
	pieces_model p = cut(t, &opt, &mem);
	assert_int_equal(p.n_made, 0);
	assert_int_equal(p.n_refused, 1);
	assert_string_equal(p.refused[0].op, op);
	assert_contains(p.refused[0].why, why);
	berth_arena_free(&mem);
}

static void test_refused(void **state)
{
	(void)state;
	berth_arena mem = {0};
	check_why(fixture("tagger", &mem), "/lstm/LSTM", "0", "a state");
	check_why(fixture("greedy_loop", &mem), "/Loop", "0", "a body");
	check_why(fixture("resnet18_batch", &mem), "/conv1/Conv", "batch", "not fixed");
	check_why(fixture("lstm_unrolled", &mem), "/cells.0/Gemm_1", "columns", "is shared");
	check_why(fixture("efficientnet_b0", &mem),
	          "/features/features.1/features.1.0/block/block.0/block.0.0/Conv", "inner", "has groups");
	check_why(fixture("efficientnet_b0", &mem),
	          "/features/features.1/features.1.0/block/block.0/block.0.0/Conv", "batch",
	          "shorter than parts");
	check_why(chain(false, &mem), "middle", "inner", "no inner dimension");
	berth_arena_free(&mem);
}

/* x -> one operator, with a second input w where it has a shape -> y */
static text alone(const char *type, const char *in, int elem, const char *x, const char *w, const char *y,
                  const bytes *attrs, int opset, berth_arena *mem)
{
	bytes *graph = calloc(1, sizeof *graph);
	assert_non_null(graph);
	bool lines = strcmp(type, "Gather") == 0;
	put_value(graph, 11, "x", lines ? 7 : elem, x);
	if (w)
		put_weight(graph, "w", elem, w);
	if (strstr(in, ",b"))
		put_weight(graph, "b", elem, "6");
	put_value(graph, 12, "y", elem, y);
	put_node(graph, type, "op", in, "y", attrs);
	return model_of(graph, opset, mem);
}

static const char *axis_chosen(text t, berth_arena *mem)
{
	const pieces_options opt = {.k = 2, .share = halves};
	pieces_model p = cut(t, &opt, mem);
	return p.n_made ? p.made[0].axis : "none";
}

/* Below opset 11 Gemm cannot be without C. The inner axis is the cheapest here. */
static void test_bias_stays(void **state)
{
	(void)state;
	berth_arena mem = {0};
	for (int opset = 9; opset <= 13; opset += 4) {
		text with = alone("Gemm", "x,w,b", 1, "1,800", "800,6", "1,6", NULL, opset, &mem);
		if (opset < 11)
			check_why(with, "op", "inner", "without its bias");
		assert_string_equal(axis_chosen(with, &mem), opset < 11 ? "columns" : "inner");
	}
	berth_arena_free(&mem);
}

/* Types that Sum, and Where before it, take. */
static void test_types_that_add(void **state)
{
	(void)state;
	enum { FLOAT = 1, INT32 = 6, HALF = 10, DOUBLE = 11, BFLOAT = 16, FLOAT8 = 17 };
	static const struct {
		int elem, opset;
		bool sum, lines;
	} row[] = {{FLOAT, 12, true, true},    {HALF, 12, true, true},    {DOUBLE, 12, true, true},
	           {BFLOAT, 12, false, false}, {BFLOAT, 13, true, false}, {BFLOAT, 16, true, true},
	           {FLOAT8, 19, false, false}, {INT32, 13, false, false}};
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		berth_arena mem = {0};
		const pieces_ask ask = ask_of("op", "inner", halves);
		const pieces_options opt = {.ask = &ask, .n_asks = 1};
		int elem = row[i].elem, opset = row[i].opset;
		text product = alone("MatMul", "x,w", elem, "4,8", "8,6", "4,6", NULL, opset, &mem),
		     lines = alone("Gather", "w,x", elem, "2,3", "10,4", "2,3,4", NULL, opset, &mem);
		assert_int_equal(cut(product, &opt, &mem).n_made, row[i].sum);
		assert_int_equal(cut(lines, &opt, &mem).n_made, row[i].lines);
		if (elem == INT32)
			check_why(product, "op", "inner", "Sum takes no elements of its type");
		berth_arena_free(&mem);
	}
}

/* The padding of the last piece would be as large as the kernel. */
static void test_dilated_pool(void **state)
{
	(void)state;
	static const int64_t threes[] = {3, 3}, twos[] = {2, 2, 2, 2}, once[] = {1, 2};
	berth_arena mem = {0};
	bytes *attrs = calloc(1, sizeof *attrs);
	assert_non_null(attrs);
	attr_ints(attrs, "kernel_shape", threes, 2);
	attr_ints(attrs, "strides", threes, 2);
	attr_ints(attrs, "pads", twos, 4);
	attr_ints(attrs, "dilations", once, 2);
	text t = alone("MaxPool", "x", 1, "1,1,17,17", NULL, NULL, attrs, 13, &mem);
	const pieces_ask rows = ask_of("op", "rows", halves), columns = ask_of("op", "columns", halves);
	assert_int_equal(cut(t, &(pieces_options){.ask = &columns, .n_asks = 1}, &mem).n_made, 1);
	attr_int(attrs, "ceil_mode", 1);
	t = alone("MaxPool", "x", 1, "1,1,17,17", NULL, NULL, attrs, 13, &mem);
	check_why(t, "op", "columns", "dilated kernel");
	assert_int_equal(cut(t, &(pieces_options){.ask = &rows, .n_asks = 1}, &mem).n_made, 1);
	free(attrs);
	berth_arena_free(&mem);
}

/* Shares whose sum is beyond all numbers, and shares near 0. */
static void test_large_shares(void **state)
{
	(void)state;
	static const double large[] = {1e308, 1e308, 1e308}, small[] = {5e-324, 5e-324, 5e-324},
			    unlike[] = {5e-324, 1e308, 1e308};
	const double *const all[] = {large, small, unlike};
	const int64_t first[] = {2, 2, 1}, second[] = {4, 4, 3};
	for (int i = 0; i < 3; i++) {
		berth_arena mem = {0};
		const pieces_ask ask = {.op = "op", .axis = "0", .k = 3, .share = all[i]};
		text t = alone("Relu", "x", 1, "6,3", NULL, "6,3", NULL, 13, &mem);
		pieces_model p = cut(t, &(pieces_options){.ask = &ask, .n_asks = 1}, &mem);
		assert_int_equal(p.n_made, 1);
		assert_int_equal(p.made[0].own[1], first[i]);
		assert_int_equal(p.made[0].own[2], second[i]);
		berth_arena_free(&mem);
	}
}

static void check_bad(text t, const char *op, const char *axis, const char *words)
{
	berth_arena mem = {0};
	const pieces_ask ask = ask_of(op, axis, halves);
	const pieces_options opt = {.ask = &ask, .n_asks = 1};
	pieces_model p = {.n_pieces = 7};
	berth_err err = {0};
	assert_int_equal(pieces_cut_model("m.onnx", t.data, t.size, NULL, &opt, &mem, &p, &err),
	                 BERTH_EINVAL);
	assert_contains(err.msg, words);
	assert_int_equal(p.n_pieces, 7);
	berth_arena_free(&mem);
}

static void test_bad(void **state)
{
	(void)state;
	berth_arena mem = {0};
	text t = chain(false, &mem);
	check_bad(t, "third", "rows", "no operator 'third'");
	check_bad(t, "first", "channels", "no axis 'channels'");
	check_bad(t, "first", "2", "it has: 0 (rows), 1 (columns), inner");
	berth_arena_free(&mem);
}

/* ---- one model cut in many ways ---- */

static void test_once(void **state)
{
	(void)state;
	static const double three[] = {1, 1, 1};
	const pieces_options ways[] = {{.k = 2, .share = halves},
	                               {.k = 3, .share = three},
	                               {.k = 2, .share = halves}};
	berth_arena mem = {0}, each = {0};
	text t = fixture("mobilenet_v2", &mem);
	pieces_source *s;
	pieces_model p;
	berth_err err;
	assert_ok(pieces_open("m.onnx", t.data, t.size, NULL, &mem, &s, &err), &err);
	for (int i = 0; i < 3; i++) {
		assert_ok(pieces_cut_source(s, &ways[i], &each, &p, &err), &err);
		text a = joined(&p, &mem);
		p = cut(t, &ways[i], &each);
		text b = joined(&p, &each);
		assert_int_equal(a.size, b.size);
		assert_memory_equal(a.data, b.data, a.size);
		berth_arena_free(&each);
	}
	berth_arena_free(&mem);
}

static const pieces_axes *axes_of(const pieces_axes *list, int32_t n, const char *op)
{
	for (int32_t i = 0; i < n; i++)
		if (strcmp(list[i].op, op) == 0)
			return &list[i];
	return NULL;
}

static bool has_axis(const pieces_axes *a, const char *axis)
{
	for (int32_t i = 0; a && i < a->n; i++)
		if (strcmp(a->axis[i], axis) == 0)
			return true;
	return false;
}

/* What is listed can be cut so, and what is not cannot. */
static void test_list(void **state)
{
	(void)state;
	berth_arena mem = {0};
	text t = fixture("tagger", &mem);
	pieces_source *s;
	pieces_axes *list;
	pieces_model all = cut(t, &(pieces_options){.k = 2, .share = halves}, &mem);
	berth_err err;
	int32_t n;
	assert_ok(pieces_open("m.onnx", t.data, t.size, NULL, &mem, &s, &err), &err);
	assert_ok(pieces_list(s, NULL, &mem, &list, &n, &err), &err);
	assert_int_equal(n, all.n_made);
	for (int32_t i = 0; i < n; i++) {
		assert_true(axes_of(list, n, all.made[i].op) != NULL);
		for (int32_t d = 0; d < list[i].n; d++) {
			const pieces_ask ask = ask_of(list[i].op, list[i].axis[d], halves);
			assert_int_equal(cut(t, &(pieces_options){.ask = &ask, .n_asks = 1}, &mem).n_made, 1);
		}
	}
	assert_true(has_axis(axes_of(list, n, "/out/MatMul"), "inner"));
	assert_false(has_axis(axes_of(list, n, "/lstm/LSTM"), "0"));
	berth_arena_free(&mem);
}

/* A window of 1 every 2 rows reads half of them: a piece of a row reads one of the two that are its share. */
static void test_loose(void **state)
{
	(void)state;
	berth_arena mem = {0};
	text t = fixture("resnet50", &mem);
	pieces_source *s;
	pieces_axes *list;
	berth_err err;
	int32_t n, loose = 0;
	assert_ok(pieces_open("m.onnx", t.data, t.size, NULL, &mem, &s, &err), &err);
	assert_ok(pieces_list(s, NULL, &mem, &list, &n, &err), &err);
	for (int32_t i = 0; i < n; i++)
		loose += list[i].loose_bytes > 1e5;
	assert_int_equal(loose, 3); /* shortcuts */
	berth_arena_free(&mem);
}

/* ---- memory ---- */

static berth_status without_memory(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const text *t = ctx;
	const pieces_options opt = {.k = 2, .share = halves, .overlap = true};
	pieces_model p;
	(void)tmp;
	return pieces_cut_model("m.onnx", t->data, t->size, NULL, &opt, mem, &p, err);
}

static berth_status style_without_memory(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const text *t = ctx;
	const pieces_options opt = {.k = 2, .share = halves, .style = PIECES_TENSOR, .each = true};
	pieces_model p;
	(void)tmp;
	return pieces_cut_model("m.onnx", t->data, t->size, NULL, &opt, mem, &p, err);
}

static berth_status list_without_memory(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const text *t = ctx;
	pieces_source *s;
	pieces_axes *list;
	int32_t n;
	(void)tmp;
	BERTH_TRY(pieces_open("m.onnx", t->data, t->size, NULL, mem, &s, err));
	return pieces_list(s, NULL, mem, &list, &n, err);
}

static void test_memory(void **state)
{
	(void)state;
	berth_arena mem = {0};
	text small = chain(false, &mem), large = fixture("resnet18_batch", &mem);
	assert_fails_each(without_memory, &small, 1);
	assert_fails_each(list_without_memory, &small, 1);
	assert_fails_each(without_memory, &large, 97);
	assert_fails_each(style_without_memory, &large, 97);
	berth_arena_free(&mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),           cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_chain),          cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_weights_inside), cmocka_unit_test(test_weights_outside),
		cmocka_unit_test(test_refused),        cmocka_unit_test(test_bias_stays),
		cmocka_unit_test(test_types_that_add), cmocka_unit_test(test_dilated_pool),
		cmocka_unit_test(test_large_shares),   cmocka_unit_test(test_bad),
		cmocka_unit_test(test_once),           cmocka_unit_test(test_list),
		cmocka_unit_test(test_loose),          cmocka_unit_test(test_memory),
		cmocka_unit_test(test_training_steps), cmocka_unit_test(test_styles),
		cmocka_unit_test(test_data_style),     cmocka_unit_test(test_needed),
		cmocka_unit_test(test_shape)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
