/* ONNX models as wholes: public figures of known networks (torchvision's model cards: multiply-accumulates
 * and parameters, within 1 %), analytic figures of encoders, symbolic dimensions, and weights that are graph
 * inputs. */
#include "graph_format.h"
#include "load.h"
#include "onnx.h"
#include "shapes.h"
#include "support.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct model {
	berth_arena mem;
	berth_graph g;
	berth_read_report r;
} model;

static void load(const char *path, const berth_read_options *opt, model *m)
{
	berth_arena tmp = {0};
	berth_err err;
	*m = (model){0};
	assert_ok(berth_graph_load(path, opt, &m->mem, &tmp, &m->g, &m->r, &err), &err);
	assert_ok(berth_graph_check(&m->g, &err), &err);
	assert_int_equal(berth_arena_size(&tmp), 0);
	berth_arena_free(&tmp);
}

static int32_t type_count(const berth_graph *g, const char *type)
{
	int32_t n = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		n += strcmp(g->type_name[g->op_type[op]], type) == 0;
	return n;
}

static int64_t read_bytes(const berth_graph *g, const char *op)
{
	int32_t i = berth_graph_find(g, op);
	assert_true(i >= 0);
	return g->op_read_bytes[i];
}

typedef struct figures {
	const char *name;
	int32_t ops, edges;
	double macs, params;
} figures;

static void check_figures(const char *folder, const figures *f)
{
	char path[1024];
	model m;
	snprintf(path, sizeof path, "%s/%s.onnx", folder, f->name);
	load(path, NULL, &m);
	assert_string_equal(m.g.name, f->name);
	assert_int_equal(m.g.n_ops, f->ops);
	assert_int_equal(m.g.n_edges, f->edges);
	assert_near(berth_graph_macs(&m.g), f->macs, f->macs * 0.01);
	assert_near(m.r.param_elements, f->params, f->params * 0.01);
	assert_near((double)berth_graph_param_bytes(&m.g), 4 * m.r.param_elements, 0);
	assert_int_equal(m.r.n_unknown, 0);
	assert_int_equal(m.r.n_warnings, 0);
	assert_int_equal(shapes_missing(&m.g), 0);
	berth_arena_free(&m.mem);
}

/* Initializers without data; the folder belongs to the measurements and may be missing. */
static void test_public_figures(void **state)
{
	(void)state;
	static const figures all[] = {
		{"alexnet", 20, 19, 0.714e9, 61.1e6}, {"inception_v3", 224, 258, 5.71e9, 23.8e6},
		{"mobilenet_v3_large", 161, 199, 0.217e9, 5.48e6},
		{"resnet50", 122, 137, 4.09e9, 25.6e6}, {"vgg16", 38, 37, 15.47e9, 138.4e6},
		{"bert_manual", 604, 713, 11.174e9, 109.48e6}};
	if (access(BERTH_WORKLOADS "/onnx", R_OK) != 0) {
		print_message("skipped: no folder %s\n", BERTH_WORKLOADS "/onnx");
		skip();
	}
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		check_figures(BERTH_WORKLOADS "/onnx", &all[i]);
}

/* The same kind of model, exported with the weights as graph inputs. */
static void test_weights_as_inputs(void **state)
{
	(void)state;
	static const figures all[] = {
		{"inception_v3", 224, 258, 5.71e9, 23.8e6}, {"resnet50", 122, 137, 4.09e9, 25.6e6},
		{"mobilenet_v2", 100, 109, 0.301e9, 3.50e6},
		{"resnet18_batch", 49, 56, 1.814e9, 11.69e6}, {"bert_base", 604, 713, 11.174e9, 109.48e6}};
	for (size_t i = 0; i < sizeof all / sizeof *all; i++)
		check_figures(BERTH_FIXTURES, &all[i]);
}

/* BERT base by its formula: 12 layers of hidden 768 over 128 tokens, and a pooler; a product of the whole
 * network is exact. */
static void test_encoder_is_exact(void **state)
{
	(void)state;
	model m;
	load(BERTH_FIXTURES "/bert_base.onnx", NULL, &m);
	double layers = 12, h = 768, t = 128;
	double macs = layers * (12 * t * h * h + 2 * t * t * h) + h * h;
	assert_near(berth_graph_macs(&m.g), macs, 0);
	assert_int_equal(type_count(&m.g, "MatMul"), 96);
	assert_int_equal(type_count(&m.g, "Identity"), 0); /* aliases of parameters */
	assert_int_equal(m.r.n_weight_inputs, 151);
	/* All norms share one scale and one bias in this file; each counts once. */
	assert_int_equal(m.g.n_params, 2);
	assert_int_equal(m.g.param_op_off[1], 25);
	assert_int_equal(m.g.param_bytes[0], 4 * 768);
	berth_arena_free(&m.mem);
}

static void test_bytes_of_one_layer(void **state)
{
	(void)state;
	model m;
	load(BERTH_FIXTURES "/resnet50.onnx", NULL, &m);
	int32_t op = berth_graph_find(&m.g, "/conv1/Conv");
	assert_true(op >= 0);
	int64_t weight = 64 * 3 * 7 * 7 * 4, bias = 64 * 4, in = 3 * 224 * 224 * 4, out = 64 * 112 * 112 * 4;
	assert_int_equal(m.g.op_read_bytes[op], in + weight + bias);
	assert_int_equal(m.g.op_write_bytes[op], out);
	assert_int_equal(m.g.op_param_bytes[op], weight); /* the bias is shared: equal ones are one tensor in
	                                                     this file */
	assert_int_equal(m.g.op_param_off[op + 1] - m.g.op_param_off[op], 1);
	assert_near(m.g.op_macs[op], 64.0 * 112 * 112 * 3 * 7 * 7, 0);
	assert_near(m.g.op_flops[op], 2 * m.g.op_macs[op], 0);
	assert_int_equal(m.g.tensor_bytes[m.g.op_tensor_off[op]], out);
	assert_string_equal(m.g.tensor_name[m.g.op_tensor_off[op]], "/conv1/Conv_output_0");
	op = berth_graph_find(&m.g, "/fc/Gemm");
	assert_int_equal(m.g.op_output_bytes[op], 1000 * 4);
	assert_int_equal(m.g.op_tensor_off[op + 1] - m.g.op_tensor_off[op], 0);
	op = berth_graph_find(&m.g, "/relu/Relu");
	assert_near(m.g.op_flops[op], 64.0 * 112 * 112, 0);
	assert_near(m.g.op_macs[op], 0, 0);
	berth_arena_free(&m.mem);
}

/* Every operator has the shape of its work, but those of several products and those with bodies. */
static void test_shapes(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		int32_t missing;
	} rows[] = {{"tagger", 2},          {"seq2seq", 4},        {"greedy_loop", 2},
	            {"lstm_unrolled", 0},   {"vit", 0},            {"swin", 0},
	            {"encoder_dynamic", 0}, {"decoder_cache", 0},  {"convnext", 0},
	            {"resnet18_batch", 0},  {"efficientnet_b0", 0}, {"bert_base", 0}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char path[1024];
		model m;
		snprintf(path, sizeof path, "%s/%s.onnx", BERTH_FIXTURES, rows[i].name);
		load(path, NULL, &m);
		assert_int_equal(shapes_missing(&m.g), rows[i].missing);
		berth_arena_free(&m.mem);
	}
}

static void test_symbolic_dimensions(void **state)
{
	(void)state;
	static const char *const four[] = {"batch=4"}, *const sizes[] = {"batch=3", "tokens=7"};
	model one, batch, m;
	load(BERTH_FIXTURES "/resnet18_batch.onnx", NULL, &one);
	load(BERTH_FIXTURES "/resnet18_batch.onnx", &(berth_read_options){.dim = four, .n_dims = 1}, &batch);
	assert_int_equal(one.r.n_dims, 1);
	assert_string_equal(one.r.dim_name[0], "batch");
	assert_int_equal(one.r.dim_value[0], 1);
	assert_int_equal(batch.r.dim_value[0], 4);
	assert_near(berth_graph_macs(&batch.g), 4 * berth_graph_macs(&one.g), 0);
	assert_int_equal(berth_graph_param_bytes(&batch.g), berth_graph_param_bytes(&one.g));
	berth_arena_free(&one.mem);
	berth_arena_free(&batch.mem);

	/* Shapes that the graph computes itself follow too: 2 layers of hidden 16, the pooler sees one token
	 * a sample. */
	load(BERTH_FIXTURES "/encoder_dynamic.onnx", &(berth_read_options){.dim = sizes, .n_dims = 2}, &m);
	double b = 3, t = 7, h = 16;
	assert_near(berth_graph_macs(&m.g), b * (2 * (12 * t * h * h + 2 * t * t * h) + h * h), 0);
	assert_int_equal(m.r.n_unknown, 0);
	assert_int_equal(type_count(&m.g, "Shape") + type_count(&m.g, "Range") + type_count(&m.g, "Cast"), 0);
	berth_arena_free(&m.mem);
}

static void test_recurrent(void **state)
{
	(void)state;
	model m;
	load(BERTH_FIXTURES "/tagger.onnx", NULL, &m);
	int32_t op = berth_graph_find(&m.g, "/lstm/LSTM");
	assert_true(op >= 0);
	assert_near(m.g.op_macs[op], 7.0 * 2 * 4 * 6 * (8 + 6), 0);
	assert_int_equal(type_count(&m.g, "LSTM"), 2);
	assert_int_equal(read_bytes(&m.g, "/word/Gather"), 50 * 8 * 4 + 7 * 2 * 8);
	berth_arena_free(&m.mem);
}

/* A decoder that goes on from a cache: two layers of hidden 256 with 2 groups of 32 for keys and values,
 * 4000 words, one weight used at both ends. */
static void test_decoder_with_cache(void **state)
{
	(void)state;
	static const char *const sizes[] = {"batch=3", "new=5", "past=100"};
	model m;
	load(BERTH_FIXTURES "/decoder_cache.onnx", &(berth_read_options){.dim = sizes, .n_dims = 3}, &m);
	double tokens = 3 * 5, h = 256, kv = 64, inner = 688, all = 105;
	assert_near(berth_graph_macs(&m.g),
	            tokens * (2 * (2 * h * h + 2 * h * kv + 3 * h * inner + 2 * h * all) + h * 4000), 0);
	assert_int_equal(m.r.n_unknown + m.r.n_warnings, 0);
	int64_t out = 0;
	for (int32_t op = 0; op < m.g.n_ops; op++)
		out += m.g.op_output_bytes[op];
	assert_int_equal(out, 4 * (15 * 4000 + 4 * 3 * 2 * 105 * 32)); /* logits and caches */
	int tied = 0;
	for (int32_t p = 0; p < m.g.n_params; p++)
		tied += m.g.param_bytes[p] == 4 * 4000 * 256 &&
		        m.g.param_op_off[p + 1] - m.g.param_op_off[p] == 2;
	assert_int_equal(tied, 1);
	berth_arena_free(&m.mem);
}

/* A loop costs what its body does, as often as is stated. */
static void test_loop_of_a_model(void **state)
{
	(void)state;
	static const char *const ten[] = {"/Loop=10"};
	model one, m;
	load(BERTH_FIXTURES "/greedy_loop.onnx", NULL, &one);
	load(BERTH_FIXTURES "/greedy_loop.onnx", &(berth_read_options){.dim = ten, .n_dims = 1}, &m);
	double first = 2 * 64 * 500, step = 2 * (128 * 64 + 64 * 500);
	assert_near(berth_graph_macs(&one.g), first + step, 0);
	assert_near(berth_graph_macs(&m.g), first + 10 * step, 0);
	assert_int_equal(one.r.n_loops, 1);
	assert_int_equal(m.r.n_loops, 0);
	berth_arena_free(&one.mem);
	berth_arena_free(&m.mem);
}

/* Source and target of any length: a bidirectional encoder of two layers, a decoder of two, attention, a
 * mixing layer and 2000 words. */
static void test_translator(void **state)
{
	(void)state;
	static const char *const sizes[] = {"batch=3", "source_words=11", "target_words=6"};
	model m;
	load(BERTH_FIXTURES "/seq2seq.onnx", &(berth_read_options){.dim = sizes, .n_dims = 3}, &m);
	double b = 3, s = 11, t = 6, h = 128, encoder = 2 * 2 * 4 * 64 * (h + 64),
	       decoder = 2 * 4 * h * (h + h);
	assert_near(berth_graph_macs(&m.g),
	            b * (s * encoder + t * decoder + 2 * t * s * h + t * (2 * h * h + h * 2000)), 0);
	assert_int_equal(m.r.n_unknown + m.r.n_warnings, 0);
	berth_arena_free(&m.mem);
}

static void test_bad_options(void **state)
{
	(void)state;
	static const struct { const char *dim, *part; } cases[] = {
		{"bach=4", "no symbolic dimension or loop 'bach' (did you mean 'batch'?)"},
		{"batch", "expected NAME=VALUE"}, {"batch=", "expected NAME=VALUE"},
		{"=4", "expected NAME=VALUE"}, {"batch=0", "from 1 to"}, {"batch=4x", "from 1 to"},
		{"batch=99999999999", "from 1 to"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_err err = {0};
		berth_read_options opt = {.dim = &cases[i].dim, .n_dims = 1};
		assert_int_equal(berth_graph_load(BERTH_FIXTURES "/resnet18_batch.onnx", &opt, &mem,
		                                       &tmp, &g, NULL, &err),
		                 BERTH_EINVAL);
		assert_contains(err.msg, cases[i].part);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* A graph read from ONNX survives the way through berth's own format. */
static void test_round_trip(void **state)
{
	(void)state;
	berth_arena tmp = {0};
	berth_graph back;
	berth_err err;
	model m;
	const char *text;
	size_t len;
	char one[65], two[65];
	load(BERTH_FIXTURES "/encoder_dynamic.onnx", NULL, &m);
	assert_ok(berth_graph_write_json(&m.g, true, &m.mem, &text, &len, &err), &err);
	assert_ok(berth_graph_parse_json("g.json", text, len, &m.mem, &tmp, &back, &err), &err);
	assert_ok(berth_graph_sha256(&m.g, &m.mem, one, &err), &err);
	assert_ok(berth_graph_sha256(&back, &m.mem, two, &err), &err);
	assert_string_equal(one, two);
	berth_arena_free(&tmp);
	berth_arena_free(&m.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_public_figures),
		cmocka_unit_test(test_weights_as_inputs),
		cmocka_unit_test(test_encoder_is_exact),
		cmocka_unit_test(test_bytes_of_one_layer),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_symbolic_dimensions),
		cmocka_unit_test(test_recurrent),
		cmocka_unit_test(test_decoder_with_cache),
		cmocka_unit_test(test_loop_of_a_model),
		cmocka_unit_test(test_translator),
		cmocka_unit_test(test_bad_options),
		cmocka_unit_test(test_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
