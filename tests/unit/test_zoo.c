/* The zoo: public figures of the models, counts of operators against the ONNX exports, linearity in the
 * batch, specs and their errors. */
#include "graph_format.h"
#include "shapes.h"
#include "support.h"
#include "zoo.h"
#include "zoo_figures.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void build(const char *spec, berth_arena *mem, berth_graph *g)
{
	berth_arena tmp = {0};
	berth_err err = {0};
	assert_ok(berth_zoo_build(spec, mem, &tmp, g, &err), &err);
	assert_ok(berth_graph_check(g, &err), &err);
	berth_arena_free(&tmp);
}

static int32_t count_type(const berth_graph *g, const char *type)
{
	int32_t n = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		n += g->op_type[op] >= 0 && strcmp(g->type_name[g->op_type[op]], type) == 0;
	return n;
}

/* Multiply-accumulates and parameters as published. */
static void test_public_figures(void **state)
{
	(void)state;
	int n;
	const zoo_figure *f = zoo_figures(&n);
	for (int i = 0; i < n; i++) {
		zoo_counts c;
		berth_err err;
		double tolerance = f[i].tolerance > 0 ? f[i].tolerance : 0.01;
		assert_ok(zoo_count(&f[i], &c, &err), &err);
		if (f[i].macs > 0)
			assert_near(c.macs / f[i].macs, 1, tolerance);
		assert_near(c.params / f[i].params, 1, tolerance);
	}
}

/* Operators that the ONNX files of the same models hold (views, constants and aliases left aside). */
static void test_operators_of_the_exports(void **state)
{
	(void)state;
	static const struct { const char *spec, *type; int32_t n; } rows[] = {
		{"zoo:resnet50", "Conv", 53}, {"zoo:resnet50", "Relu", 49}, {"zoo:resnet50", "Add", 16},
		{"zoo:resnet50", "MaxPool", 1},
		{"zoo:resnet50", "GlobalAveragePool", 1}, {"zoo:resnet50", "Gemm", 1},
		{"zoo:resnet50", "BatchNormalization", 0},
		{"zoo:inception-v3", "Conv", 94}, {"zoo:inception-v3", "Relu", 94},
		{"zoo:inception-v3", "Concat", 11},
		{"zoo:inception-v3", "AveragePool", 9}, {"zoo:inception-v3", "MaxPool", 4},
		{"zoo:inception-v3", "GlobalAveragePool", 1},
		{"zoo:inception-v3", "Gemm", 1}, {"zoo:bert-base", "MatMul", 96},
		{"zoo:bert-base", "Transpose", 48},
		{"zoo:bert-base", "Softmax", 12}, {"zoo:bert-base", "LayerNormalization", 25},
		{"zoo:bert-base", "Gather", 3}, {"zoo:bert-base", "Gemm", 1},
		{"zoo:vgg16", "Conv", 13}, {"zoo:vgg16", "Relu", 15}, {"zoo:vgg16", "MaxPool", 5},
		{"zoo:vgg16", "Gemm", 3}, {"zoo:vgg16", "AveragePool", 1},
		{"zoo:alexnet", "Conv", 5}, {"zoo:alexnet", "Relu", 7}, {"zoo:alexnet", "MaxPool", 3},
		{"zoo:alexnet", "Gemm", 3},
		{"zoo:densenet121", "Conv", 120}, {"zoo:densenet121", "Concat", 58 + 4 - 4},
		{"zoo:densenet121", "AveragePool", 3},
		{"zoo:vit", "MatMul", 12 * 6}, {"zoo:vit", "LayerNormalization", 25},
		{"zoo:unet", "Conv", 19}, {"zoo:unet", "ConvTranspose", 4},
		{"zoo:nasnet-a", "Concat", 18 + 4 + 2 + 2}, {"zoo:transformer", "Softmax", 18},
		{"zoo:moe:layers=2", "TopK", 2}, {"zoo:moe:layers=2", "MatMul", 2 * (4 + 2 + 1 + 24) + 1},
		{"zoo:mobilenet-v2", "Conv", 52}, {"zoo:mobilenet-v2", "Clip", 35},
		{"zoo:mobilenet-v2", "Add", 10}, {"zoo:mobilenet-v2", "Gemm", 1},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		berth_arena mem = {0};
		berth_graph g;
		build(rows[i].spec, &mem, &g);
		if (count_type(&g, rows[i].type) != rows[i].n)
			print_message("%s: %s\n", rows[i].spec, rows[i].type);
		assert_int_equal(count_type(&g, rows[i].type), rows[i].n);
		berth_arena_free(&mem);
	}
}

/* Exact figures of single operators, worked out by hand. */
static void test_single_operators(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph g;
	build("zoo:resnet50:batch=2", &mem, &g);
	assert_string_equal(g.name, "resnet50:batch=2");
	int32_t op = berth_graph_find(&g, "layer2.0.conv2");
	assert_true(op >= 0);
	assert_near(g.op_macs[op], 2.0 * 28 * 28 * 128 * 128 * 9, 0);
	assert_near(g.op_flops[op], 2 * g.op_macs[op], 0);
	assert_int_equal(g.op_param_bytes[op], (128 * 128 * 9 + 128) * 4);
	assert_int_equal(g.op_read_bytes[op], 2 * 56 * 56 * 128 * 4 + g.op_param_bytes[op]);
	assert_int_equal(g.op_write_bytes[op], 2 * 28 * 28 * 128 * 4);
	assert_int_equal(g.tensor_bytes[g.op_tensor_off[op]], g.op_write_bytes[op]);
	op = berth_graph_find(&g, "layer1.2.relu3"); /* feeds the next block and its shortcut */
	assert_int_equal(g.tensor_use_off[g.op_tensor_off[op] + 1] - g.tensor_use_off[g.op_tensor_off[op]],
	                 2);
	op = berth_graph_find(&g, "fc");
	assert_int_equal(g.op_output_bytes[op], 2 * 1000 * 4);
	build("zoo:bert-base:seq=64", &mem, &g);
	op = berth_graph_find(&g, "layer.3.attention.scores");
	assert_near(g.op_macs[op], 64.0 * 64 * 768, 0);
	assert_int_equal(g.op_write_bytes[op], 12 * 64 * 64 * 4);
	op = berth_graph_find(&g, "embeddings.word");
	assert_int_equal(g.op_param_bytes[op], 30522 * 768 * 4);
	assert_int_equal(g.op_read_bytes[op], 64 * 768 * 4 + 64 * 8);
	berth_arena_free(&mem);
}

static void test_batch_and_type_scale(void **state)
{
	(void)state;
	static const char *const names[] = {"resnet18", "inception-v3", "bert-base"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		berth_arena mem = {0};
		berth_graph one, eight, half;
		char spec[64];
		snprintf(spec, sizeof spec, "zoo:%s", names[i]);
		build(spec, &mem, &one);
		snprintf(spec, sizeof spec, "zoo:%s:batch=8", names[i]);
		build(spec, &mem, &eight);
		snprintf(spec, sizeof spec, "zoo:%s:dtype=f16", names[i]);
		build(spec, &mem, &half);
		assert_near(berth_graph_flops(&eight), 8 * berth_graph_flops(&one), 0);
		assert_near(berth_graph_flops(&half), berth_graph_flops(&one), 0);
		assert_int_equal(berth_graph_param_bytes(&eight), berth_graph_param_bytes(&one));
		assert_int_equal(2 * berth_graph_param_bytes(&half), berth_graph_param_bytes(&one));
		for (int32_t t = 0; t < one.n_tensors; t++) {
			assert_int_equal(eight.tensor_bytes[t], 8 * one.tensor_bytes[t]);
			assert_int_equal(2 * half.tensor_bytes[t], one.tensor_bytes[t]);
		}
		berth_arena_free(&mem);
	}
}

static bool any_backward(const berth_graph *g)
{
	bool any = false;
	for (int32_t op = 0; op < g->n_ops; op++)
		any |= g->op_backward[op];
	return any;
}

/* Rows are the numbers that an operator writes, or those that it reads where it reduces them. */
static void check_rows(const berth_graph *g)
{
	for (int32_t op = 0; op < g->n_ops; op++) {
		berth_dims d = berth_graph_op_spec(g, op).dims;
		double bytes = 4 * berth_dims_work(&d), written = (double)g->op_write_bytes[op],
		       read = (double)g->op_read_bytes[op];
		if (d.kind == BERTH_DIMS_ROWS && (bytes < written || bytes > fmax(read, written)))
			fail_msg("%s: %g bytes of rows, of %g written and %g read", g->op_name[op], bytes,
			         written, read);
	}
}

/* Shapes of single operators, worked out by hand. */
static void test_shapes(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph g;
	build("zoo:resnet50:batch=2", &mem, &g);
	assert_shape(&g, "layer2.0.conv2", BERTH_F32, CONV, 2, 128, 128, 28 * 28, 9, 2, 1, 1);
	assert_shape(&g, "maxpool", BERTH_F32, ROWS, 2 * 64, 112 * 112);
	assert_shape(&g, "fc", BERTH_F32, PRODUCT, 1, 2, 1000, 2048);
	build("zoo:mobilenet-v2:dtype=f16", &mem, &g);
	assert_shape(&g, "features.1.conv.0.0", BERTH_F16, CONV, 1, 32, 32, 112 * 112, 9, 1, 32, 1);
	build("zoo:resnet50:dtype=int8", &mem, &g);
	assert_shape(&g, "fc", BERTH_INT8, PRODUCT, 1, 1, 1000, 2048);
	assert_int_equal(g.op_write_bytes[berth_graph_find(&g, "fc")], 1000);
	build("zoo:bert-base:dtype=bf16:training=1", &mem, &g);
	assert_shape(&g, "layer.3.attention.query.matmul", BERTH_BF16, PRODUCT, 1, 128, 768, 768);
	build("zoo:unet", &mem, &g);
	assert_shape(&g, "up4.upconv", BERTH_F32, CONV, 1, 1024, 512, 28 * 28, 4, 2, 1, 1);
	build("zoo:bert-base:seq=64:batch=2", &mem, &g);
	assert_shape(&g, "layer.3.attention.query.matmul", BERTH_F32, PRODUCT, 1, 128, 768, 768);
	assert_shape(&g, "layer.3.attention.scores", BERTH_F32, PRODUCT, 2 * 12, 64, 64, 64);
	assert_shape(&g, "layer.3.attention.softmax", BERTH_F32, ROWS, 2 * 12 * 64, 64);
	assert_shape(&g, "layer.3.output.norm", BERTH_F32, ROWS, 128, 768);
	build("zoo:moe:seq=64:weights=q4_k", &mem, &g);
	assert_shape(&g, "layers.0.self_attn.scores", BERTH_F16, PRODUCT, 8, 4 * 64, 64, 128);
	assert_shape(&g, "layers.0.experts.3.w2", BERTH_W4A16, PRODUCT, 1, 16, 4096, 14336);
	assert_shape(&g, "layers.0.gate", BERTH_F16, PRODUCT, 1, 64, 8, 4096);
	build("zoo:moe:mode=decode:weights=q8_0", &mem, &g);
	assert_shape(&g, "lm_head", BERTH_W8A16, PRODUCT, 1, 1, 32000, 4096);
	assert_shape(&g, "layers.0.experts.3.w2", BERTH_W8A16, NONE, 0); /* a quarter of a row */
	berth_arena_free(&mem);
}

/* Every row of the table builds with its defaults, its operators have shapes, and its parameters are well
 * formed. */
static void test_table(void **state)
{
	(void)state;
	int32_t n;
	const berth_zoo_model *m = berth_zoo_list(&n);
	assert_true(n > 0);
	for (int32_t i = 0; i < n; i++) {
		berth_arena mem = {0};
		berth_graph g;
		char spec[64];
		snprintf(spec, sizeof spec, "zoo:%s", m[i].name);
		build(spec, &mem, &g);
		assert_string_equal(g.name, m[i].name);
		assert_true(g.n_ops > 0);
		assert_false(any_backward(&g));
		if (strcmp(m[i].name, "random") != 0) /* figures without shapes */
			assert_int_equal(shapes_missing(&g), 0);
		if (g.op_dtype[0] == 0)
			check_rows(&g);
		for (int32_t k = 0; k < m[i].n_params; k++)
			assert_true(m[i].param[k].choice
			                    ? m[i].param[k].choice[(int)m[i].param[k].def] != NULL
			                    : m[i].param[k].def >= m[i].param[k].min &&
			                              m[i].param[k].def <= m[i].param[k].max);
		berth_arena_free(&mem);
	}
}

/* Tiled programs do the work of the whole ones, whatever the grid: products by their formulas; a layer of
 * Llama-7B holds 202.4 M parameters. */
static void test_tiles(void **state)
{
	(void)state;
	static const double h = 4096, s = 4096, f = 11008;
	const struct { const char *spec; double macs, params; } rows[] = {
		{"zoo:chain-mm:size=1000:matrices=5", 4e9, 5e6},
		{"zoo:ffnn:batch=300:hidden=500:layers=3", 3.0 * 300 * 500 * 500, 3.0 * 500 * 500},
		{"zoo:llama-block", 4 * h * h * s + 2 * s * s * h, 4 * h * h + h},
		{"zoo:llama-layer", 4 * h * h * s + 2 * s * s * h + 3 * h * f * s, 202383360},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int tiles = 1; tiles <= 8; tiles *= 2) {
			berth_arena mem = {0};
			berth_graph g;
			char spec[96];
			int64_t outputs = 0;
			snprintf(spec, sizeof spec, "%s:tiles=%d", rows[i].spec, tiles);
			build(spec, &mem, &g);
			assert_near(berth_graph_macs(&g) / rows[i].macs, 1, 1e-12);
			assert_near((double)berth_graph_param_bytes(&g), 4 * rows[i].params, 0);
			for (int32_t op = 0; op < g.n_ops; op++) {
				bool unused = g.op_tensor_off[op] == g.op_tensor_off[op + 1];
				assert_int_equal(unused, g.op_output_bytes[op] > 0);
				outputs += unused;
			}
			assert_int_equal(outputs, tiles * tiles);
			berth_arena_free(&mem);
		}
	berth_arena mem = {0};
	berth_graph g;
	build("zoo:chain-mm", &mem, &g);
	assert_int_equal(count_type(&g, "MatMul"), 7 * 8);
	assert_int_equal(count_type(&g, "Add"), 7 * 4);
	build("zoo:ffnn:tiles=3:layers=2", &mem, &g);
	assert_int_equal(g.n_ops, 2 * (27 + 18 + 9));
	berth_arena_free(&mem);
}

static int64_t sum_of(const int64_t *x, int32_t n)
{
	int64_t sum = 0;
	for (int32_t i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

/* The cache of keys and values is state, in both modes; a decoded token costs each weight outside the
 * embedding once, and attention over the cache. */
static void test_decoder_modes(void **state)
{
	(void)state;
	static const char *const specs[] = {
		"zoo:llama:layers=3:hidden=512:heads=8:kv-heads=2:ffn=1024:seq=100:batch=4",
		"zoo:moe:layers=3:hidden=512:heads=8:kv-heads=2:ffn=1024:seq=100:batch=4"};
	for (int i = 0; i < 2; i++) {
		berth_arena mem = {0};
		berth_graph prefill, decode, step;
		char spec[160];
		double layer = 512 * 512 * 2 + 2 * 512 * 128, ffn = 3.0 * 512 * 1024,
		       active = i ? 2 * ffn + 512 * 8 : ffn, head = 512.0 * 32000;
		build(specs[i], &mem, &prefill);
		snprintf(spec, sizeof spec, "%s:mode=decode", specs[i]);
		build(spec, &mem, &decode);
		snprintf(spec, sizeof spec, "%s:training=1:optimizer=sgd", specs[i]);
		build(spec, &mem, &step);
		int64_t cache = 3 * 4 * 2 * 100 * 128 * 2; /* layers, samples, keys and values, tokens,
		                                              columns, bytes */
		assert_int_equal(sum_of(prefill.op_state_bytes, prefill.n_ops), cache);
		assert_int_equal(sum_of(decode.op_state_bytes, decode.n_ops), cache);
		assert_int_equal(sum_of(step.op_state_bytes, step.n_ops), berth_graph_param_bytes(&step));
		assert_int_equal(berth_graph_param_bytes(&prefill), berth_graph_param_bytes(&decode));
		assert_near(berth_graph_macs(&decode), 4 * (3 * (layer + active + 2 * 100 * 512) + head), 1);
		assert_near(berth_graph_macs(&prefill), 4 * (300 * (layer + active + 2 * 100 * 512) + head),
		            1);
		int32_t op = berth_graph_find(&decode, "layers.1.self_attn.scores");
		assert_int_equal(decode.op_read_bytes[op], 4 * 100 * 128 * 2 + 4 * 512 * 2);
		berth_arena_free(&mem);
	}
}

/* A decoded token reads the matrices of the experts that it goes to; among many tokens each expert is chosen
 * by some. */
static void test_experts_read(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		double share; /* of the experts' weights that is read */
	} cases[] = {{"zoo:moe:layers=1:mode=decode", 0.25},
	             {"zoo:moe:layers=1:mode=decode:batch=2", 1 - 0.75 * 0.75},
	             {"zoo:moe:layers=1", 1},
	             {"zoo:moe:layers=1:mode=decode:top=8", 1}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0};
		berth_graph g;
		build(cases[i].spec, &mem, &g);
		int32_t op = berth_graph_find(&g, "layers.0.experts.7.w2");
		double rows = (double)(g.op_write_bytes[op] / 4096), weights = 4096.0 * 14336 * 2;
		assert_near((double)g.op_param_bytes[op], weights, 0);
		assert_near((double)g.op_read_bytes[op], ceil(weights * cases[i].share) + rows * 14336, 0);
		berth_arena_free(&mem);
	}
}

/* Steps share the weights of their layer, so parameters do not grow with the sequence, and work does. */
static void test_unrolled(void **state)
{
	(void)state;
	static const char *const names[] = {"rnnlm", "gnmt"};
	for (int i = 0; i < 2; i++)
		for (int layers = 2; layers <= 4; layers += 2) {
			berth_arena mem = {0};
			berth_graph g, twice;
			char spec[96];
			snprintf(spec, sizeof spec, "zoo:%s:layers=%d:seq=6", names[i], layers);
			build(spec, &mem, &g);
			snprintf(spec, sizeof spec, "zoo:%s:layers=%d:seq=12", names[i], layers);
			build(spec, &mem, &twice);
			assert_int_equal(berth_graph_param_bytes(&g), berth_graph_param_bytes(&twice));
			assert_true(berth_graph_macs(&twice) >= 2 * berth_graph_macs(&g));
			assert_int_equal(count_type(&twice, "Split"),
			                 12 * layers * (i ? 2 : 1) + (i ? 12 : 0));
			berth_arena_free(&mem);
		}
}

/* One wiring a seed, whatever the generator. */
static void test_wirings(void **state)
{
	(void)state;
	static const char *const generator[] = {"ws", "er", "ba"};
	for (int i = 0; i < 3; i++) {
		berth_arena mem = {0};
		berth_graph a, b, c;
		char spec[96];
		snprintf(spec, sizeof spec, "zoo:randwire:graph=%s:seed=7", generator[i]);
		build(spec, &mem, &a);
		build(spec, &mem, &b);
		snprintf(spec, sizeof spec, "zoo:randwire:graph=%s:seed=8", generator[i]);
		build(spec, &mem, &c);
		assert_int_equal(a.n_edges, b.n_edges);
		assert_memory_equal(a.edge_consumer, b.edge_consumer,
		                    (size_t)a.n_edges * sizeof *a.edge_consumer);
		assert_true(a.n_edges != c.n_edges ||
		            memcmp(a.edge_consumer, c.edge_consumer,
		                   (size_t)a.n_edges * sizeof *a.edge_consumer) != 0);
		assert_int_equal(count_type(&a, "Conv"), 2 + 3 * 32 * 2 + 1);
		berth_arena_free(&mem);
	}
}

/* Random graphs: the asked number of operators and types, one graph a seed, only the last layer unused, and
 * the ratio of transfer to operator time. */
static void test_random(void **state)
{
	(void)state;
	for (int seed = 0; seed < 5; seed++)
		for (int kinds = 1; kinds <= 12; kinds += 11) {
			berth_arena mem = {0};
			berth_graph g, again, other;
			char spec[160], one[65], two[65], three[65];
			berth_err err;
			snprintf(spec, sizeof spec, "zoo:random:ops=3000:width=10:kinds=%d:ccr=2:seed=%d",
			         kinds, seed);
			build(spec, &mem, &g);
			build(spec, &mem, &again);
			snprintf(spec, sizeof spec, "zoo:random:ops=3000:width=10:kinds=%d:ccr=2:seed=%d",
			         kinds, seed + 100);
			build(spec, &mem, &other);
			again.name = other.name = g.name;
			assert_ok(berth_graph_sha256(&g, &mem, one, &err), &err);
			assert_ok(berth_graph_sha256(&again, &mem, two, &err), &err);
			assert_ok(berth_graph_sha256(&other, &mem, three, &err), &err);
			assert_string_equal(one, two);
			assert_string_not_equal(one, three);
			assert_int_equal(g.n_ops, 3000);
			assert_int_equal(g.n_types, kinds);
			double transfer = 0, time = 0;
			int32_t outputs = 0;
			for (int32_t op = 0; op < g.n_ops; op++) {
				bool unused = g.op_tensor_off[op] == g.op_tensor_off[op + 1];
				assert_int_equal(unused, g.op_output_bytes[op] > 0);
				outputs += unused;
				transfer += (double)g.op_write_bytes[op] / 1e10;
				time += fmax(g.op_flops[op] / 1e13,
				             (double)(g.op_read_bytes[op] + g.op_write_bytes[op]) / 1e12);
			}
			assert_true(outputs < 2 * 10);
			assert_near(transfer / time / 2, 1, 0.1);
			assert_near((double)g.n_edges / g.n_ops, 2, 0.2);
			berth_arena_free(&mem);
		}
}

/* Without heterogeneity all operators of the one type are alike; a step of any random graph can be built. */
static void test_random_extremes(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph g;
	build("zoo:random:ops=50:heterogeneity=0:kinds=1:ccr=0:width=1", &mem, &g);
	for (int32_t op = 0; op < g.n_ops; op++) {
		assert_near(g.op_flops[op], 1e9, 2);
		assert_int_equal(g.op_write_bytes[op], 0);
		assert_int_equal(g.op_topo[op], op);
	}
	build("zoo:random:ops=300:width=300:training=1", &mem, &g);
	assert_true(g.n_ops > 600 && any_backward(&g));
	build("zoo:random:ops=1", &mem, &g);
	assert_int_equal(g.n_ops, 1);
	berth_arena_free(&mem);
}

static void test_spec_errors(void **state)
{
	(void)state;
	static const struct { const char *spec, *part; } cases[] = {
		{"resnet50", "expected zoo:NAME"},
		{"zoo:", "unknown model ''"},
		{"zoo:resnet5", "unknown model 'resnet5' (did you mean 'resnet50'?)"},
		{"zoo:resnet50:bach=2", "no parameter 'bach' (did you mean 'batch'?)"},
		{"zoo:resnet50:batch", "'batch' stands without a value"},
		{"zoo:resnet50:", "'' stands without a value"},
		{"zoo:resnet50:batch=", "batch is ''; expected a whole number from 1 to 65536"},
		{"zoo:resnet50:batch=0", "batch is '0'; expected a whole number from 1 to 65536"},
		{"zoo:resnet50:batch=-1", "batch is '-1'"},
		{"zoo:resnet50:batch=1.5", "batch is '1.5'"},
		{"zoo:resnet50:batch=two", "batch is 'two'"},
		{"zoo:resnet50:batch=inf", "batch is 'inf'"},
		{"zoo:resnet50:batch=nan", "batch is 'nan'"},
		{"zoo:resnet50:batch= 2", "batch is ' 2'"},
		{"zoo:resnet50:batch=0x10", "batch is '0x10'"},
		{"zoo:resnet50:batch=1e999", "batch is '1e999'"},
		{"zoo:resnet50:batch=99999999999999999999", "batch is '99999999999999999999'"},
		{"zoo:resnet50:batch=2:batch=2", "'batch' stands twice"},
		{"zoo:resnet50:dtype=f4", "dtype is 'f4'; expected f32 or f16 or bf16 or tf32 or f8 or int8"},
		{"zoo:resnet50:seq=5", "no parameter 'seq'"},
		{"zoo:resnet50:training=yes", "training is 'yes'; expected a whole number from 0 to 1"},
		{"zoo:resnet50:training=1:optimizer=adamw",
		 "optimizer is 'adamw'; expected sgd or momentum or adam"},
		{"zoo:random:ops=30000:gflops=1e6", "beyond 2^61"},
		{"zoo:ffnn:batch=3:tiles=4", "tiles is 4; expected at most 3"},
		{"zoo:llama-block:heads=6:tiles=4", "expected tiles to divide heads"},
		{"zoo:llama:hidden=100:heads=3", "expected heads to divide hidden"},
		{"zoo:llama:kv-heads=5", "expected kv-heads to divide heads"},
		{"zoo:moe:experts=4:top=5", "top is 5; expected at most 4"},
		{"zoo:llama:mode=decode:training=1", "expected mode=prefill"},
		{"zoo:llama:weights=q4_k:training=1",
		 "a type of weights or of a cache, or a chunk, is given with training=1"},
		{"zoo:moe:weights=q4k", "weights is 'q4k'"},
		{"zoo:resnet50:recompute=4", "recompute is given without training=1"},
		{"zoo:llama:mode=chat", "mode is 'chat'; expected prefill or decode"},
		{"zoo:gnmt:layers=1", "layers is '1'; expected a whole number from 2 to 8"},
		{"zoo:rnnlm:hidden=-5", "hidden is '-5'"},
		{"zoo:randwire:graph=ring", "graph is 'ring'; expected ws or er or ba"},
		{"zoo:bert-base:seq=513", "seq is '513'; expected a whole number from 1 to 512"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g = {.n_ops = -7};
		berth_err err = {0};
		assert_int_equal(berth_zoo_build(cases[i].spec, &mem, &tmp, &g, &err), BERTH_EINVAL);
		assert_contains(err.msg, cases[i].part);
		assert_int_equal(g.n_ops, -7);
		assert_int_equal(berth_zoo_build(cases[i].spec, &mem, &tmp, &g, NULL), BERTH_EINVAL);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* The largest sizes that a spec allows fit or are refused; none overflows. */
static void test_largest_sizes(void **state)
{
	(void)state;
	int32_t n;
	const berth_zoo_model *m = berth_zoo_list(&n);
	int each = BERTH_DEBUG ? support_sampled(1, 16, "for one model that is looked at") : 1;
	for (int32_t i = 0; i < n; i += each) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_err err = {0};
		char spec[512];
		int len = snprintf(spec, sizeof spec, "zoo:%s", m[i].name);
		for (int32_t k = 0; k < m[i].n_params; k++)
			if (!m[i].param[k].choice)
				len += snprintf(spec + len, sizeof spec - (size_t)len, ":%s=%.0f",
				                m[i].param[k].name, m[i].param[k].max);
		berth_status st = berth_zoo_build(spec, &mem, &tmp, &g, &err);
		assert_true(st == BERTH_OK || st == BERTH_EINVAL);
		if (st == BERTH_OK) {
			assert_ok(berth_graph_check(&g, &err), &err);
			for (int32_t op = 0; op < g.n_ops; op++)
				assert_true(isfinite(g.op_flops[op]) && g.op_read_bytes[op] >= 0 &&
				            g.op_write_bytes[op] >= 0);
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static const char *const specs[] = {"zoo:alexnet:batch=2:training=1", "zoo:llama-layer",
	                                    "zoo:random:training=1"};
	const int step = support_one_in(4, "failing allocations");
	size_t i = 0;
	for (long k = 0; i < sizeof specs / sizeof *specs; k += step) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_graph g;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = berth_zoo_build(specs[i], &mem, &tmp, &g, &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 0);
			k = -step;
			i++;
			continue;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_public_figures),
		cmocka_unit_test(test_operators_of_the_exports),
		cmocka_unit_test(test_single_operators),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_batch_and_type_scale),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_tiles),
		cmocka_unit_test(test_decoder_modes), cmocka_unit_test(test_experts_read),
		cmocka_unit_test(test_unrolled),
		cmocka_unit_test(test_wirings),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_random_extremes),
		cmocka_unit_test(test_spec_errors),
		cmocka_unit_test(test_largest_sizes),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
