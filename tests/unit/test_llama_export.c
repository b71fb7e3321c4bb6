/* Plans as llama.cpp's command lines: layers, overrides, names of devices, and what cannot be said. */
#define _DEFAULT_SOURCE
#include "fail_each.h"
#include "gguf_bytes.h"
#include "importers.h"
#include "llama_plan.h"
#include "load.h"
#include "rng.h"
#include "support.h"

#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CPU, A, B, C, N_DEVS };

typedef struct model {
	gguf_bytes bytes;
	berth_content content;
	berth_arena mem, tmp;
	berth_graph g;
	berth_gguf_list file;
	int32_t *op_dev;
} model;

static void open_model(model *m, const char *recipe, int layers, int32_t n_words, const char *const *word)
{
	berth_err err = {0};
	berth_read_options opt = {.dim = word, .n_dims = n_words};
	*m = (model){0};
	gguf_write(&m->bytes, gguf_recipe_find(recipe), layers);
	m->content = (berth_content){.name = "m.gguf", .data = (const char *)m->bytes.p, .size = m->bytes.n};
	assert_ok(berth_graph_parse("m.gguf", m->content.data, m->content.size, &opt, &m->mem, &m->tmp, &m->g,
	                            NULL, &err),
	          &err);
	assert_ok(berth_gguf_list_tensors(&m->content, &opt, &m->mem, &m->tmp, &m->file, &err), &err);
	assert_ok(BERTH_NEW(&m->mem, m->op_dev, m->g.n_ops, &err), &err);
}

static void close_model(model *m)
{
	berth_arena_free(&m->mem);
	berth_arena_free(&m->tmp);
	free(m->bytes.p);
}

/* All operators whose names match. */
static void put(model *m, const char *regex, int32_t dev)
{
	regex_t r;
	int n = 0;
	assert_int_equal(regcomp(&r, regex, REG_EXTENDED | REG_NOSUB), 0);
	for (int32_t op = 0; op < m->g.n_ops; op++)
		if (regexec(&r, m->g.op_name[op], 0, NULL, 0) == 0) {
			m->op_dev[op] = dev;
			n++;
		}
	regfree(&r);
	assert_true(n > 0);
}

static const char *name_of[N_DEVS] = {"cpu", "a", "b", "c"}, *kind_of[N_DEVS] = {"cpu", "gpu", "gpu", "gpu"};
static berth_device_class class_of[N_DEVS];
static const berth_system four = {
	.n_devs = N_DEVS, .dev_name = name_of, .dev_kind = kind_of, .dev_class = class_of};

static berth_status line_of(model *m, const char *const *theirs, const char **line, berth_err *err)
{
	berth_export_source x = {.g = &m->g, .s = &four, .op_dev = m->op_dev, .theirs = theirs};
	llama_names names;
	llama_plan plan;
	BERTH_TRY(llama_names_read(&x, &m->mem, &names, err));
	BERTH_TRY(llama_plan_make(&x, &m->file, &m->mem, &m->tmp, &plan, err));
	return llama_line(m->content.name, &plan, &m->file, &names, &m->mem, &m->tmp, line, err);
}

static const char *const usual[N_DEVS] = {NULL, "CUDA0", "CUDA1", "CUDA2"};

static void expect(model *m, const char *text)
{
	berth_err err = {0};
	const char *line = "";
	assert_ok(line_of(m, usual, &line, &err), &err);
	assert_string_equal(line, text);
}

static void refuse_with(model *m, const char *const *theirs, berth_status status, const char *part)
{
	berth_err err = {0};
	const char *line = "";
	assert_int_equal(line_of(m, theirs, &line, &err), status);
	assert_contains(err.msg, part);
}

static void refuse(model *m, const char *part)
{
	refuse_with(m, usual, BERTH_EUNSUPPORTED, part);
}

#define HEAD "llama-server -m m.gguf -fit off "
#define TAIL " -c 4096 -np 1"

static void test_layers(void **state)
{
	model m;
	(void)state;
	open_model(&m, "llama-3-8b", 6, 0, NULL);
	expect(&m, HEAD "-dev none -ngl 0" TAIL);
	put(&m, "^(output|last)", A);
	expect(&m, HEAD "-dev CUDA0 -ngl 1 -sm layer" TAIL);
	put(&m, "^blk[.][2-5][.]", A);
	expect(&m, HEAD "-dev CUDA0 -ngl 5 -sm layer" TAIL);
	put(&m, "^(blk[.]5[.]|output|last)", B);
	expect(&m, HEAD "-dev CUDA0,CUDA1 -ngl 5 -sm layer -ts 3,2" TAIL);
	put(&m, "^blk[.]2[.]", C);
	expect(&m, HEAD "-dev CUDA2,CUDA0,CUDA1 -ngl 5 -sm layer -ts 1,2,2" TAIL);
	put(&m, "^blk[.][0-5][.]", B);
	expect(&m, HEAD "-dev CUDA1 -ngl 7 -sm layer" TAIL);
	put(&m, "^(output|last)", A);
	expect(&m, HEAD "-dev CUDA1,CUDA0 -ngl 7 -sm layer -ts 6,1" TAIL);
	close_model(&m);
}

/* What whole layers do not say is told tensor by tensor. */
static void test_overrides(void **state)
{
	model m;
	(void)state;
	open_model(&m, "llama-3-8b", 6, 0, NULL);
	put(&m, "^(blk|output|last)", A);
	put(&m, "^token_embd", A);
	expect(&m, HEAD "-dev CUDA0 -ngl 7 -sm layer -ot '^token_embd\\.weight$=CUDA0'" TAIL);
	put(&m, "^token_embd", CPU);
	put(&m, "^output[.]", CPU);
	expect(&m, HEAD "-dev CUDA0 -ngl 7 -sm layer -ot '^output\\.weight$=CPU'" TAIL);
	put(&m, "^output[.]", A);
	put(&m, "^blk[.][135][.]ffn_(up|down)", B);
	put(&m, "^blk[.]3[.]ffn_gate[.]weight", CPU);
	expect(&m, HEAD "-dev CUDA0,CUDA1 -ngl 7 -sm layer -ts 7,0 -ot "
	                "'^blk\\.(1|3|5)\\.(ffn_up\\.weight|ffn_down\\.weight)$=CUDA1,"
	                "^blk\\.3\\.ffn_gate\\.weight$=CPU'" TAIL);
	/* the output on a device of earlier layers */
	put(&m, "^blk", A);
	put(&m, "^blk[.][45]", B);
	expect(&m, HEAD "-dev CUDA0,CUDA1 -ngl 7 -sm layer -ts 4,3 -ot "
	                "'^(output_norm\\.weight|output\\.weight)$=CUDA0'" TAIL);
	close_model(&m);
}

static void test_experts(void **state)
{
	model m;
	(void)state;
	open_model(&m, "mixtral-8x7b", 4, 0, NULL);
	put(&m, "^(blk|output|last)", A);
	put(&m, "^blk[.][0-2][.]ffn_(gate|up|down)_exps", CPU);
	put(&m, "^blk[.][0-2][.]ffn_exps", CPU);
	expect(&m, HEAD "-dev CUDA0 -ngl 5 -sm layer -ncmoe 3" TAIL);
	put(&m, "^blk[.]1[.]ffn_(gate|up|down)_exps", A);
	put(&m, "^blk[.]1[.]ffn_exps", A);
	expect(&m, HEAD "-dev CUDA0 -ngl 5 -sm layer -ot '^blk\\.(0|2)\\.(ffn_gate_exps\\.weight|"
	                "ffn_up_exps\\.weight|ffn_down_exps\\.weight)$=CPU'" TAIL);
	put(&m, "^blk[.]0[.]", CPU);
	put(&m, "^blk[.]1[.]ffn_(gate|up|down)_exps", CPU);
	put(&m, "^blk[.]1[.]ffn_exps", CPU);
	expect(&m, HEAD "-dev CUDA0 -ngl 4 -sm layer -ncmoe 3" TAIL);
	close_model(&m);
}

static void test_tied(void **state)
{
	model m;
	(void)state;
	open_model(&m, "gemma-2-2b", 4, 0, NULL);
	put(&m, "^(blk|output|last)", A);
	expect(&m, HEAD "-dev CUDA0 -ngl 5 -sm layer" TAIL);
	put(&m, "^token_embd", A);
	expect(&m, HEAD "-dev CUDA0 -ngl 5 -sm layer -ot '^token_embd\\.weight$=CUDA0'" TAIL);
	put(&m, "^token_embd", B);
	refuse(&m, "share a matrix");
	put(&m, "^token_embd", CPU);
	put(&m, "^output[.]", CPU);
	expect(&m, HEAD "-dev CUDA0 -ngl 5 -sm layer -ot '^token_embd\\.weight$=CPU'" TAIL);
	close_model(&m);
}

static void test_refused(void **state)
{
	model m;
	(void)state;
	open_model(&m, "llama-3-8b", 6, 0, NULL);
	put(&m, "^(blk|output|last)", A);
	put(&m, "^blk[.]2[.]", B);
	refuse(&m, "layer 3 and its cache stand on 'a' again, behind layers on 'b'");
	put(&m, "^blk[.]2[.]", CPU);
	refuse(&m, "layer 2 and its cache stand on 'cpu' behind layer 1 on 'a'");
	put(&m, "^blk[.]2[.]", A);
	put(&m, "^blk[.]4[.]attn[.]flash", B);
	refuse(&m, "layer 5 and its cache stand on 'a' again, behind layers on 'b'");
	put(&m, "^blk[.]4[.]attn[.]flash", A);
	put(&m, "^blk[.]4[.]ffn[.]mul", B);
	refuse(&m, "operator 'blk.4.ffn.mul' holds no weight and is alone on 'b'");
	close_model(&m);
}

static void test_names(void **state)
{
	static const char *const rpc[N_DEVS] = {"CPU", "RPC[node1:50052]", "RPC[10.0.0.2:50053]", NULL},
				 *const bad[N_DEVS] = {NULL, "CUDA0,CUDA1", NULL, NULL},
				 *const no_port[N_DEVS] = {NULL, "RPC[node1]", NULL, NULL},
				 *const twice[N_DEVS] = {NULL, "CUDA0", "CUDA0", NULL},
				 *const none[N_DEVS] = {NULL};
	const char *line;
	berth_err err = {0};
	model m;
	(void)state;
	open_model(&m, "llama-3-8b", 6, 3, (const char *const[]){"mode=decode", "batch=2", "cache=q8_0"});
	put(&m, "^(blk|output|last)", A);
	put(&m, "^(blk[.][45]|output|last)", B);
	put(&m, "^blk[.]0[.]ffn_down", B);
	m.content.name = "it's my model.gguf";
	assert_ok(line_of(&m, rpc, &line, &err), &err);
	assert_string_equal(line, "llama-server -m 'it'\\''s my model.gguf' -fit off --rpc "
	                          "node1:50052,10.0.0.2:50053 -dev RPC0,RPC1 -ngl 7 -sm layer -ts 4,3 -ot "
	                          "'^blk\\.0\\.ffn_down\\.weight$=RPC1[10.0.0.2:50053]' -c 8192 -np 2 -ctk "
	                          "q8_0 -ctv q8_0");
	refuse_with(&m, bad, BERTH_EINVAL, "device 'a' is called 'CUDA0,CUDA1'");
	refuse_with(&m, no_port, BERTH_EINVAL, "device 'a' is called 'RPC[node1]'");
	refuse_with(&m, twice, BERTH_EINVAL, "devices 'a' and 'b' are both called 'CUDA0'");
	refuse_with(&m, none, BERTH_EINVAL, "device 'a' of the plan has no name");
	close_model(&m);
}

/* Numbers that the reader does not take for a layer's are none here either. */
static void test_layers_of_names(void **state)
{
	(void)state;
	const char *rest;
	assert_int_equal(berth_gguf_layer_of("blk.31.attn_q.weight", &rest), 31);
	assert_string_equal(rest, "attn_q.weight");
	assert_int_equal(berth_gguf_layer_of("blk.000000007.x", &rest), 7);
	assert_int_equal(berth_gguf_layer_of("blk.0000000007.x", &rest), -1);
	assert_int_equal(berth_gguf_layer_of("blk.1000000000.x.weight", &rest), -1);
	assert_int_equal(berth_gguf_layer_of("blk..x", &rest), -1);
	assert_int_equal(berth_gguf_layer_of("blk.5", &rest), -1);
	assert_int_equal(berth_gguf_layer_of("output.weight", &rest), -1);
	assert_string_equal(rest, "output.weight");
}

/* The graph was read when the file had more layers: no array is passed. */
static void test_fewer_layers_when_read_again(void **state)
{
	model m, shorter;
	berth_import_plan plan;
	berth_err err = {0};
	static const char log[] = "layer 0 assigned to device CPU\nlayer 1 assigned to device CPU\n"
				  "layer 2 assigned to device CPU\n";
	(void)state;
	open_model(&m, "llama-3-8b", 6, 0, NULL);
	open_model(&shorter, "llama-3-8b", 2, 0, NULL);
	m.file = shorter.file;
	refuse_with(&m, usual, BERTH_EFORMAT, "it changed while it was read");
	berth_import_source x = {.file = "log",
	                         .text = log,
	                         .size = sizeof log - 1,
	                         .g = &m.g,
	                         .s = &four,
	                         .model = &shorter.content};
	assert_int_equal(berth_import_read(&x, &m.mem, &m.tmp, &plan, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "m.gguf: the file changed while it was read");
	close_model(&shorter);
	close_model(&m);
}

/* ---- the nearest plan ---- */

enum { LAYERS = 4 };

/* May layers stand so: the CPU first, then each device once? */
static bool in_order(const int32_t *layer_dev)
{
	uint32_t seen = 0;
	for (int i = 0; i < LAYERS; i++) {
		int32_t d = layer_dev[i];
		if (i > 0 && d == layer_dev[i - 1])
			continue;
		if (i > 0 && (d == CPU || seen >> d & 1))
			return false;
		seen |= 1U << d;
	}
	return true;
}

static int32_t changed(const int32_t *a, const int32_t *b)
{
	int32_t n = 0;
	for (int i = 0; i < LAYERS; i++)
		n += a[i] != b[i];
	return n;
}

/* By brute force over all orders of layers on the devices that the plan uses. */
static int32_t fewest(const int32_t *layer_dev)
{
	int32_t best = LAYERS, other[LAYERS];
	uint32_t used = 1;
	for (int i = 0; i < LAYERS; i++)
		used |= 1U << layer_dev[i];
	for (int32_t k = 0; k < 1 << (2 * LAYERS); k++) {
		bool can = true;
		for (int i = 0; i < LAYERS; i++) {
			other[i] = k >> (2 * i) & 3;
			can = can && used >> other[i] & 1;
		}
		if (can && in_order(other) && changed(layer_dev, other) < best)
			best = changed(layer_dev, other);
	}
	return best;
}

static void find_nearest(model *m, int32_t *op_dev)
{
	berth_export_source x = {.g = &m->g, .s = &four, .op_dev = m->op_dev};
	berth_err err = {0};
	assert_ok(llama_nearest(&x, &m->file, &m->tmp, op_dev, &err), &err);
}

static void read_layers(const model *m, const int32_t *op_dev, int32_t *layer_dev)
{
	const char *rest;
	for (int32_t op = 0; op < m->g.n_ops; op++) {
		int32_t l = berth_gguf_layer_of(m->g.op_name[op], &rest);
		if (l >= 0 && m->g.op_state_bytes[op] > 0)
			layer_dev[l] = op_dev[op];
	}
}

/* From the plan in llama.cpp's words back to operators: all of a layer where they were. */
static void expect_back(model *m, const int32_t *op_dev)
{
	const berth_export_source x = {.g = &m->g, .s = &four, .op_dev = op_dev};
	berth_err err = {0};
	llama_plan plan;
	int32_t *back;
	const char *rest;
	assert_ok(llama_plan_make(&x, &m->file, &m->mem, &m->tmp, &plan, &err), &err);
	assert_ok(BERTH_NEW(&m->mem, back, m->g.n_ops, &err), &err);
	assert_ok(llama_plan_ops(&m->g, &m->file, &plan, CPU, &m->tmp, back, &err), &err);
	for (int32_t op = 0; op < m->g.n_ops; op++)
		if (berth_gguf_layer_of(m->g.op_name[op], &rest) >= 0)
			assert_int_equal(back[op], op_dev[op]);
}

/* Whole layers, anywhere: as few move as can be, what comes out can be told, and is the nearest to itself. */
static void test_nearest_layers(void **state)
{
	model m;
	(void)state;
	open_model(&m, "llama-3-8b", LAYERS, 0, NULL);
	berth_rng rng = berth_rng_seed(1, 0);
	int32_t *op_dev = calloc((size_t)m.g.n_ops, sizeof *op_dev), *again, *kept = m.op_dev;
	again = calloc((size_t)m.g.n_ops, sizeof *again);
	assert_true(op_dev && again);
	for (int trial = 0; trial < 60; trial++) {
		int32_t before[LAYERS], after[LAYERS];
		for (int i = 0; i < LAYERS; i++) {
			char regex[32];
			snprintf(regex, sizeof regex, "^blk[.]%d[.]", i);
			put(&m, regex, before[i] = (int32_t)berth_rng_below(&rng, N_DEVS));
		}
		put(&m, "^(output|last)", (int32_t)berth_rng_below(&rng, N_DEVS));
		put(&m, "^token_embd", (int32_t)berth_rng_below(&rng, N_DEVS));
		find_nearest(&m, op_dev);
		read_layers(&m, op_dev, after);
		assert_true(in_order(after));
		assert_int_equal(changed(before, after), fewest(before));
		m.op_dev = op_dev;
		berth_err err = {0};
		const char *line;
		assert_ok(line_of(&m, usual, &line, &err), &err);
		expect_back(&m, op_dev);
		find_nearest(&m, again);
		assert_memory_equal(again, op_dev, (size_t)m.g.n_ops * sizeof *again);
		m.op_dev = kept;
	}
	free(op_dev);
	free(again);
	close_model(&m);
}

/* Operators anywhere: what comes out can be told. */
static void test_nearest_operators(void **state)
{
	static const char *const recipe[] = {"llama-3-8b", "mixtral-8x7b"};
	model m;
	(void)state;
	for (int trial = 0; trial < 30; trial++) {
		open_model(&m, recipe[trial % 2], LAYERS, 0, NULL);
		berth_rng rng = berth_rng_seed(2, (uint64_t)trial);
		for (int32_t op = 0; op < m.g.n_ops; op++)
			m.op_dev[op] = (int32_t)berth_rng_below(&rng, N_DEVS);
		berth_err err = {0};
		const char *line;
		int32_t *op_dev;
		assert_ok(BERTH_NEW(&m.mem, op_dev, m.g.n_ops, &err), &err);
		find_nearest(&m, op_dev);
		m.op_dev = op_dev;
		assert_ok(line_of(&m, usual, &line, &err), &err);
		close_model(&m);
	}
}

/* ---- the default ---- */

static berth_status fit_and_back(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	model *m = ctx;
	static const int32_t dev[] = {A, B};
	static const int64_t free_bytes[] = {(int64_t)2 << 30, (int64_t)3 << 30};
	llama_machine machine = {.n_devs = 2, .dev = dev, .free_bytes = free_bytes};
	llama_plan plan;
	bool known;
	int32_t *op_dev, *near;
	BERTH_TRY(llama_fit(&m->file, &machine, mem, tmp, &plan, &known, err));
	BERTH_TRY_NEW(mem, m->g.n_ops, err, op_dev, near);
	BERTH_TRY(llama_plan_ops(&m->g, &m->file, &plan, CPU, tmp, op_dev, err));
	berth_export_source x = {.g = &m->g, .s = &four, .op_dev = op_dev};
	BERTH_TRY(llama_nearest(&x, &m->file, tmp, near, err));
	assert_true(known);
	assert_memory_equal(near, op_dev, (size_t)m->g.n_ops * sizeof *near);
	return BERTH_OK;
}

/* What does not fit: layers of the CPU first, then of each device; of a mixture the experts. That it can be
 * told, it is its own nearest plan. */
static void test_default(void **state)
{
	static const char *const recipe[] = {"llama-3-8b", "mixtral-8x7b"};
	model m;
	(void)state;
	for (int i = 0; i < 2; i++) {
		open_model(&m, recipe[i], LAYERS, 0, NULL);
		assert_fails_each(fit_and_back, &m, 7);
		close_model(&m);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_layers),
	                                   cmocka_unit_test(test_overrides),
	                                   cmocka_unit_test(test_experts),
	                                   cmocka_unit_test(test_tied),
	                                   cmocka_unit_test(test_refused),
	                                   cmocka_unit_test(test_names),
	                                   cmocka_unit_test(test_layers_of_names),
	                                   cmocka_unit_test(test_fewer_layers_when_read_again),
	                                   cmocka_unit_test(test_nearest_layers),
	                                   cmocka_unit_test(test_nearest_operators),
	                                   cmocka_unit_test(test_default)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
