/* GGUF headers: published models against their cards and against the zoo, caches, options, parts, malformed
 * files, limits. */
#define _DEFAULT_SOURCE
#include "file.h"
#include "parse_gguf.h"
#include "gguf_bytes.h"
#include "load.h"
#include "shapes.h"
#include "support.h"
#include "threads.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct model {
	berth_arena mem;
	berth_graph g;
	berth_read_report r;
} model;

static berth_status parse(const gguf_bytes *b, const berth_gguf_options *opt, model *m, berth_err *err)
{
	berth_arena tmp = {0};
	*m = (model){0};
	berth_status st = parse_gguf("m.gguf", b->p, b->n, opt, &m->mem, &tmp, &m->g, &m->r, err);
	berth_arena_free(&tmp);
	return st;
}

static void read_model(const gguf_bytes *b, const berth_gguf_options *opt, model *m)
{
	berth_err err = {0};
	assert_ok(parse(b, opt, m, &err), &err);
	assert_ok(berth_graph_check(&m->g, &err), &err);
}

static void read_recipe(const char *name, int layers, const berth_gguf_options *opt, model *m)
{
	gguf_bytes b;
	gguf_write(&b, gguf_recipe_find(name), layers);
	read_model(&b, opt, m);
	free(b.p);
}

static berth_gguf_options options(int64_t batch, int64_t context, bool decode)
{
	berth_gguf_options opt = berth_gguf_options_default();
	opt.batch = batch;
	opt.context = context;
	opt.decode = decode;
	return opt;
}

static int64_t sum_of(const int64_t *x, int32_t n)
{
	int64_t sum = 0;
	for (int32_t i = 0; i < n; i++)
		sum += x[i];
	return sum;
}

static int32_t op_of(const model *m, const char *name)
{
	int32_t op = berth_graph_find(&m->g, name);
	if (op < 0)
		print_error("no operator %s\n", name);
	assert_true(op >= 0);
	return op;
}

/* The file has so many tensors with so many bytes together, and layers that run. */
static void expect_listed(const gguf_bytes *b, double bytes, uint64_t n_tensors, int32_t n_layers)
{
	berth_arena mem = {0}, tmp = {0};
	berth_gguf_list list;
	berth_err err = {0};
	const berth_content content = {.name = "m.gguf", .data = (const char *)b->p, .size = b->n};
	assert_ok(berth_gguf_list_tensors(&content, NULL, &mem, &tmp, &list, &err), &err);
	assert_near((double)sum_of(list.bytes, list.n_tensors), bytes, 0);
	assert_int_equal((uint64_t)list.n_tensors, n_tensors);
	assert_int_equal(list.n_layers, n_layers);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* ---- figures ---- */

/* Every byte of the file is held once; parameters are those of the cards, and so are the active ones
 * (multiply-accumulates of one token without context, and the embedding's row, which costs none). */
static void test_published_models(void **state)
{
	(void)state;
	berth_gguf_options token = options(1, 1, true);
	for (const gguf_recipe *r = gguf_recipes; r->name; r++) {
		gguf_bytes b;
		model m;
		gguf_write(&b, r, 0);
		read_model(&b, &token, &m);
		double embedding = (double)r->vocab * r->hidden;
		double macs = berth_graph_macs(&m.g), active = macs + (r->has & RECIPE_TIED ? 0 : embedding);
		assert_near((double)berth_graph_param_bytes(&m.g), b.tensor_bytes, 0);
		expect_listed(&b, b.tensor_bytes, b.n_tensors, r->layers);
		assert_int_equal(m.r.n_warnings, 0);
		assert_int_equal(shapes_missing(&m.g), 0);
		assert_near(b.elements / r->params, 1, 0.01);
		if (r->active <= 0)
			assert_near(active / r->params, 1, 0.01);
		else if (fabs(active / r->active - 1) > 0.07 &&
		         fabs(macs / r->active - 1) > 0.07) /* cards
		                                               count
		                                               the
		                                               embedding
		                                               or do
		                                               not */
			fail_msg("%s: %g active parameters (%g), published %g", r->name, active, macs,
			         r->active);
		free(b.p);
		berth_arena_free(&m.mem);
	}
}

/* The operator of the zoo's graph that stands for one of a file's; *op goes behind it. Attention is several
 * there: their work and cache together. */
static berth_op_spec zoo_op_like(const berth_graph *zoo, const char *name, int32_t *op)
{
	berth_op_spec sum = {.dims = *berth_graph_dims(zoo, *op)};
	bool flash = strstr(name, ".attn.flash");
	do {
		assert_true(*op < zoo->n_ops);
		sum.name = zoo->op_name[*op];
		sum.macs += zoo->op_macs[*op];
		sum.flops += zoo->op_flops[*op];
		sum.state_bytes += zoo->op_state_bytes[*op];
		sum.param_bytes += zoo->op_param_bytes[*op];
		sum.write_bytes = zoo->op_write_bytes[*op];
		++*op;
	} while (flash && !strstr(sum.name, ".context"));
	return sum;
}

/* The same model from the zoo: the same operators with the same work. */
static void test_equals_zoo(void **state)
{
	(void)state;
	static const struct {
		const char *recipe, *zoo;
		bool each;
	} cases[] = {{"llama-3-8b", "zoo:llama:kv-heads=8:ffn=14336:vocab=128256:seq=300:batch=3", false},
	             {"mixtral-8x7b", "zoo:moe:seq=300:batch=3", true},
	             {"mixtral-loose", "zoo:moe:seq=300:batch=3", true}};
	for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph zoo;
		berth_err err = {0};
		model m;
		char spec[160];
		berth_gguf_options opt = options(3, 300, i % 2);
		opt.each_expert = cases[i / 2].each;
		snprintf(spec, sizeof spec, "%s%s", cases[i / 2].zoo, i % 2 ? ":mode=decode" : "");
		assert_ok(berth_zoo_build(spec, &mem, &tmp, &zoo, &err), &err);
		read_recipe(cases[i / 2].recipe, 0, &opt, &m);
		int32_t at = 0;
		for (int32_t op = 0; op < m.g.n_ops; op++) {
			berth_op_spec like = zoo_op_like(&zoo, m.g.op_name[op], &at);
			bool flash = strstr(m.g.op_name[op], ".attn.flash"); /* has another shape */
			const berth_dims *dims = berth_graph_dims(&m.g, op);
			if ((!flash && memcmp(dims, &like.dims, sizeof like.dims) != 0) ||
			    m.g.op_macs[op] != like.macs || (!flash && m.g.op_flops[op] != like.flops) ||
			    m.g.op_state_bytes[op] != like.state_bytes ||
			    m.g.op_write_bytes[op] != 2 * like.write_bytes) /* 4-byte numbers against 2-byte
			                                                       ones */
				fail_msg("%s is not %s", m.g.op_name[op], like.name);
		}
		assert_int_equal(at, zoo.n_ops);
		berth_arena_free(&m.mem);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* Matrices and caches of other types: the file's and the zoo's have equal bytes, and norms stay as they are.
 * A file of 16-bit matrices is the same read as one. */
static void test_other_types(void **state)
{
	(void)state;
	static const char *const weights[] = {"q4_k", "q8_0", "f16"};
	static const char *const caches[] = {"q8_0", "q4_0", "f16"};
	for (int i = 0; i < 3; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph zoo;
		berth_err err = {0};
		model m, plain;
		char spec[160];
		int64_t norm = 4 * 4096;
		berth_gguf_options opt = options(1, 64, false), as_it_is = opt;
		opt.weights = weights[i];
		opt.cache = caches[i];
		snprintf(spec, sizeof spec,
		         "zoo:llama:kv-heads=8:ffn=14336:vocab=128256:seq=64:weights=%s:cache=%s", weights[i],
		         caches[i]);
		assert_ok(berth_zoo_build(spec, &mem, &tmp, &zoo, &err), &err);
		read_recipe("llama-3-8b", 0, &opt, &m);
		read_recipe("llama-3-8b", 0, &as_it_is, &plain);
		for (int32_t op = 0, at = 0; op < m.g.n_ops; op++) {
			berth_op_spec like = zoo_op_like(&zoo, m.g.op_name[op], &at);
			bool large = like.param_bytes > 100000;
			assert_int_equal(m.g.op_state_bytes[op], like.state_bytes);
			assert_int_equal(m.g.op_param_bytes[op], large              ? like.param_bytes
			                                         : like.param_bytes ? norm
			                                                            : 0);
			assert_true(i < 2 || m.g.op_param_bytes[op] == plain.g.op_param_bytes[op]);
		}
		berth_precision dtype = i == 0 ? BERTH_W4A16 : i == 1 ? BERTH_W8A16 : BERTH_F16;
		assert_shape(&m.g, "blk.3.ffn_up.weight", dtype, PRODUCT, 1, 64, 14336, 4096);
		assert_shape(&zoo, "layers.3.mlp.up_proj", dtype, PRODUCT, 1, 64, 14336, 4096);
		assert_shape(&m.g, "blk.3.ffn_norm.weight", BERTH_F32, ROWS, 64, 4096);
		int32_t up = berth_graph_find(&zoo, "layers.3.mlp.up_proj");
		double numbers = 4096.0 * 14336;
		assert_near((double)zoo.op_param_bytes[up],
		            numbers * (i == 0   ? 144.0 / 256
		                       : i == 1 ? 34.0 / 32
		                                : 2),
		            0);
		berth_arena_free(&m.mem);
		berth_arena_free(&plain.mem);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* All experts in one operator or each in its own: the same products, the same weights held, the same share
 * of them read. */
static void test_grain_of_experts(void **state)
{
	(void)state;
	for (int decode = 0; decode < 2; decode++) {
		model all, each;
		berth_gguf_options opt = options(2, 16, decode);
		read_recipe("mixtral-8x7b", 2, &opt, &all);
		opt.each_expert = true;
		read_recipe("mixtral-8x7b", 2, &opt, &each);
		assert_true(each.g.n_ops > all.g.n_ops);
		assert_int_equal(berth_graph_param_bytes(&all.g), berth_graph_param_bytes(&each.g));
		assert_near(berth_graph_macs(&all.g), berth_graph_macs(&each.g), 0);
		int32_t op = op_of(&all, "blk.1.ffn_up_exps.weight");
		double share = 1 - pow(0.75, decode ? 2 : 32), rows = decode ? 2 : 32,
		       weights = 8.0 * 4096 * 14336 / 32 * 18;
		assert_near((double)all.g.op_param_bytes[op], weights, 0);
		assert_near((double)all.g.op_read_bytes[op], weights * share + rows * (4096 + 2) * 4, 1);
		assert_near(all.g.op_macs[op], rows * 2 * 4096 * 14336, 0);
		double read = 0;
		for (int e = 0; e < 8; e++) {
			char name[40];
			snprintf(name, sizeof name, "blk.1.experts.%d.w3", e);
			op = op_of(&each, name);
			read += (double)each.g.op_read_bytes[op] -
			        (double)each.g.op_write_bytes[op] / 14336 * 4096;
		}
		assert_near(read, weights * share, 8);
		berth_arena_free(&all.mem);
		berth_arena_free(&each.mem);
	}
}

/* Operators are named after their tensors; quantised rows of the embedding are read as they are stored. */
static void test_names_and_bytes(void **state)
{
	(void)state;
	model m;
	berth_gguf_options opt = options(1, 32, true);
	read_recipe("gpt-oss-20b", 2, &opt, &m);
	static const char *const names[] = {"token_embd.weight",
	                                    "blk.1.attn_norm.weight",
	                                    "blk.1.attn_q.weight",
	                                    "blk.1.attn_q.bias",
	                                    "blk.1.attn_output.bias",
	                                    "blk.1.post_attention_norm.weight",
	                                    "blk.1.ffn_gate_inp.weight",
	                                    "blk.1.ffn_gate_exps.weight",
	                                    "blk.1.ffn_down_exps.weight",
	                                    "output_norm.weight",
	                                    "output.weight",
	                                    "blk.0.attn.flash",
	                                    "blk.0.ffn.residual"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		op_of(&m, names[i]);
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "blk.1.ffn_up_exps.weight")],
	                 32 * (2880 * 2880 / 32 * 17 + 2880 * 4)); /* with its bias */
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "blk.0.attn_norm.weight")],
	                 4 * (2880 + 64)); /* with
	                                      the
	                                      sinks,
	                                      which
	                                      have no
	                                      operator
	                                    */
	assert_int_equal(m.g.op_output_bytes[op_of(&m, "output.weight")], 201088 * 4);
	assert_string_equal(m.g.name, "m");
	berth_arena_free(&m.mem);
	read_recipe("llama-2-7b", 1, &opt, &m);
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "token_embd.weight")], 32000LL * 4096 / 32 * 18);
	assert_int_equal(m.g.op_read_bytes[op_of(&m, "token_embd.weight")], 4096 / 32 * 18 + 8);
	berth_arena_free(&m.mem);
	read_recipe("gemma-2-2b", 1, &opt, &m); /* one matrix for both */
	assert_int_equal(m.g.n_params, 1);
	assert_string_equal(m.g.param_name[0], "token_embd.weight");
	assert_int_equal(m.g.param_op_off[1], 2);
	berth_arena_free(&m.mem);
}

/* What the cache takes, in bytes of one token and one sequence. */
static void test_cache(void **state)
{
	(void)state;
	static const struct {
		const char *recipe, *cache;
		double layers, numbers, bytes; /* of whole attention: layers * numbers * bytes a token */
		double windowed;               /* layers that keep 4096 tokens at most */
	} cases[] = {{"llama-3-8b", "f16", 32, 2 * 8 * 128, 2, 0},
	             {"llama-3-8b", "q8_0", 32, 2 * 8 * 128, 34.0 / 32, 0},
	             {"llama-3-8b", "q4_0", 32, 2 * 8 * 128, 18.0 / 32, 0},
	             {"qwen3-30b-a3b", "f32", 48, 2 * 4 * 128, 4, 0},
	             {"gemma-2-2b", "f16", 13, 2 * 4 * 256, 2, 13},
	             {"deepseek-v2-lite", "f16", 27, 16 * (192 + 128), 2, 0},
	             {"deepseek-v3", "f16", 61, 512 + 64, 2, 0}};
	for (size_t i = 0; i < 2 * (sizeof cases / sizeof *cases); i++) {
		model m;
		berth_gguf_options opt = options(2, 10000, i % 2);
		opt.cache = cases[i / 2].cache;
		read_recipe(cases[i / 2].recipe, 0, &opt, &m);
		double token = cases[i / 2].numbers * cases[i / 2].bytes;
		assert_near((double)sum_of(m.g.op_state_bytes, m.g.n_ops),
		            2 * token * (cases[i / 2].layers * 10000 + cases[i / 2].windowed * 4096), 0);
		berth_arena_free(&m.mem);
	}
	/* A decoded token reads it all, but for its own row, which comes as a tensor. */
	model m;
	berth_gguf_options opt = options(2, 10000, true);
	read_recipe("llama-3-8b", 1, &opt, &m);
	int32_t op = op_of(&m, "blk.0.attn.flash");
	assert_int_equal(m.g.op_read_bytes[op], 2 * 2 * 9999 * 8 * 128 * 2 + 2 * (32 + 2 * 8) * 128 * 4);
	assert_near(m.g.op_macs[op], 2.0 * 32 * 10000 * 256, 0);
	assert_int_equal(m.g.op_write_bytes[op], 2 * 32 * 128 * 4); /* no scores */
	assert_int_equal(m.r.n_warnings, 1);
	assert_string_equal(m.r.warning[0], "a context of 10000 tokens: the model was made for 8192");
	berth_arena_free(&m.mem);
}

/* A file may say which layers attend within the window, by a period or one by one. */
static void test_window_pattern(void **state)
{
	(void)state;
	for (int each = 0; each < 2; each++) {
		gguf_bytes b;
		model m;
		const gguf_recipe *r = gguf_recipe_find("gemma-2-2b");
		berth_gguf_options opt = options(1, 5000, true);
		gguf_begin(&b);
		gguf_put_keys(&b, r, 3);
		if (each) {
			gguf_put_text(&b, "gemma2.attention.sliding_window_pattern");
			gguf_put_u32(&b, 9);
			gguf_put_u32(&b, 7); /* truth values */
			gguf_put_u64(&b, 3);
			gguf_put(&b, "\1\1\0", 3);
			b.n_keys++;
		} else {
			gguf_key_u32(&b, "gemma2.attention.sliding_window_pattern", 3);
		}
		gguf_put_tensors(&b, r, 0, 3, 1);
		gguf_end(&b);
		read_model(&b, &opt, &m);
		assert_int_equal(sum_of(m.g.op_state_bytes, m.g.n_ops), 2 * 4 * 256 * 2 * (2 * 4096 + 5000));
		free(b.p);
		berth_arena_free(&m.mem);
	}
}

static void key_list(gguf_bytes *b, const char *name, const uint32_t *x, int n)
{
	gguf_put_text(b, name);
	gguf_put_u32(b, 9);
	gguf_put_u32(b, 4);
	gguf_put_u64(b, (uint64_t)n);
	for (int i = 0; i < n; i++)
		gguf_put_u32(b, x[i]);
	b->n_keys++;
}

enum { UNLIKE = 5 };
static const uint32_t unlike_heads[UNLIKE] = {2, 0, 2, 2, 1}, unlike_kv[UNLIKE] = {1, 0, 0, 2, 1},
		      unlike_ffn[UNLIKE] = {16, 24, 8, 0, 16};

static void put_matrix(gguf_bytes *b, int layer, const char *name, int64_t in, int64_t out)
{
	char text[64];
	snprintf(text, sizeof text, "blk.%d.%s.weight", layer, name);
	gguf_put_tensor(b, text, 0, in, out, 0);
}

/* Of 8 columns, in heads of 4: one of each kind that deci has. */
static void unlike_model(gguf_bytes *b)
{
	gguf_begin(b);
	gguf_key_text(b, "general.architecture", "deci");
	gguf_key_u32(b, "deci.block_count", UNLIKE);
	gguf_key_u32(b, "deci.embedding_length", 8);
	gguf_key_u32(b, "deci.attention.key_length", 4);
	gguf_key_u32(b, "deci.attention.value_length", 4);
	key_list(b, "deci.attention.head_count", unlike_heads, UNLIKE);
	key_list(b, "deci.attention.head_count_kv", unlike_kv, UNLIKE);
	key_list(b, "deci.feed_forward_length", unlike_ffn, UNLIKE);
	gguf_put_tensor(b, "token_embd.weight", 0, 8, 32, 0);
	for (int i = 0; i < UNLIKE; i++) {
		if (unlike_heads[i])
			put_matrix(b, i, "attn_output", unlike_kv[i] ? 4 * unlike_heads[i] : 8, 8);
		if (unlike_kv[i]) {
			put_matrix(b, i, "attn_q", 8, 4 * unlike_heads[i]);
			put_matrix(b, i, "attn_k", 8, 4 * unlike_kv[i]);
			put_matrix(b, i, "attn_v", 8, 4 * unlike_kv[i]);
		}
		if (unlike_ffn[i]) {
			put_matrix(b, i, "ffn_gate", 8, unlike_ffn[i]);
			put_matrix(b, i, "ffn_up", 8, unlike_ffn[i]);
			put_matrix(b, i, "ffn_down", unlike_ffn[i], 8);
		}
	}
	gguf_end(b);
}

/* Layers of other widths, without attention, with a projection in its place, without a network behind it. */
static void test_unlike_layers(void **state)
{
	(void)state;
	gguf_bytes b;
	model m;
	double matrices = 0;
	berth_gguf_options opt = options(1, 10, true);
	unlike_model(&b);
	read_model(&b, &opt, &m);
	expect_listed(&b, b.tensor_bytes, b.n_tensors, UNLIKE);
	assert_near((double)berth_graph_param_bytes(&m.g), b.tensor_bytes, 0);
	assert_int_equal(m.r.n_warnings, 0);
	assert_int_equal(sum_of(m.g.op_state_bytes, m.g.n_ops), (8 + 16 + 8) * 10 * 2);
	for (int32_t i = 0; i < m.g.n_ops; i++)
		matrices += strstr(m.g.op_name[i], ".flash") ? 0 : m.g.op_macs[i];
	assert_near(matrices, b.tensor_bytes / 4, 0); /* of one token */
	op_of(&m, "blk.2.attn_output.weight");
	assert_int_equal(berth_graph_find(&m.g, "blk.2.attn.flash"), -1);
	assert_int_equal(berth_graph_find(&m.g, "blk.1.attn.residual"), -1);
	assert_int_equal(berth_graph_find(&m.g, "blk.3.ffn.residual"), -1);
	free(b.p);
	berth_arena_free(&m.mem);
}

/* Gate and up of all experts in one tensor: as two of half the width. */
static void test_joint_experts(void **state)
{
	(void)state;
	static const char *const names[] = {"attn_q",
	                                    "attn_k",
	                                    "attn_v",
	                                    "attn_output",
	                                    "blk.0.ffn_gate_exps.weight",
	                                    "blk.0.ffn_up_exps.weight"};
	model m[2];
	for (int joint = 0; joint < 2; joint++) {
		gguf_bytes b;
		gguf_begin(&b);
		gguf_key_text(&b, "general.architecture", "mellum");
		gguf_key_u32(&b, "mellum.block_count", 1);
		gguf_key_u32(&b, "mellum.embedding_length", 8);
		gguf_key_u32(&b, "mellum.attention.head_count", 2);
		gguf_key_u32(&b, "mellum.expert_count", 4);
		gguf_key_u32(&b, "mellum.expert_used_count", 2);
		gguf_put_tensor(&b, "token_embd.weight", 0, 8, 32, 0);
		for (int i = 0; i < 4; i++)
			put_matrix(&b, 0, names[i], 8, 8);
		put_matrix(&b, 0, "ffn_gate_inp", 8, 4);
		gguf_put_tensor(&b, "blk.0.ffn_down_exps.weight", 0, 6, 8, 4);
		if (joint)
			gguf_put_tensor(&b, "blk.0.ffn_gate_up_exps.weight", 0, 8, 12, 4);
		for (int i = 0; i < 2 && !joint; i++)
			gguf_put_tensor(&b, names[4 + i], 0, 8, 6, 4);
		gguf_end(&b);
		read_model(&b, NULL, &m[joint]);
		assert_int_equal(m[joint].r.n_warnings, 0);
		free(b.p);
	}
	op_of(&m[1], "blk.0.ffn_gate_up_exps.weight");
	assert_int_equal(berth_graph_param_bytes(&m[1].g), berth_graph_param_bytes(&m[0].g));
	assert_near(berth_graph_macs(&m[1].g), berth_graph_macs(&m[0].g), 0);
	for (int joint = 0; joint < 2; joint++)
		berth_arena_free(&m[joint].mem);
}

/* Layers that predict further tokens do not run; tensors of no known use are held. */
static void test_further_layers_and_tensors(void **state)
{
	(void)state;
	gguf_bytes b;
	model m;
	const gguf_recipe *r = gguf_recipe_find("llama-3-8b");
	gguf_begin(&b);
	gguf_put_keys(&b, r, 3);
	gguf_key_u32(&b, "llama.nextn_predict_layers", 1);
	gguf_put_tensors(&b, r, 0, 2, 1);
	gguf_put_tensor(&b, "blk.0.odd.weight", 0, 10, 10, 0);
	gguf_put_tensor(&b, "blk.1.odd.weight", 0, 10, 10, 0);
	gguf_put_tensor(&b, "rope_freqs.weight", 0, 64, 0, 0);
	double run = b.tensor_bytes;
	gguf_put_tensors(&b, r, 2, 3, 0);
	gguf_put_tensor(&b, "blk.2.nextn.eh_proj.weight", 0, 10, 10, 0);
	gguf_end(&b);
	read_model(&b, NULL, &m);
	expect_listed(&b, b.tensor_bytes, b.n_tensors, 2);
	assert_near((double)berth_graph_param_bytes(&m.g), run, 0);
	assert_int_equal(m.r.n_warnings, 2);
	assert_string_equal(m.r.warning[0], "10 tensors (416 MiB) of 1 layers that predict further tokens "
	                                    "are left out: these layers do not run");
	assert_string_equal(
		m.r.warning[1],
		"no use is known for tensors 'odd.weight'; their bytes count, their work does not");
	assert_int_equal(m.g.op_param_bytes[op_of(&m, "blk.0.attn_norm.weight")], 4096 * 4 + 400);
	free(b.p);
	berth_arena_free(&m.mem);
}

/* ---- files and options ---- */

static void write_file(const char *path, const gguf_bytes *b)
{
	FILE *f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(b->p, 1, b->n, f), b->n);
	assert_int_equal(fclose(f), 0);
}

static berth_status load(const char *spec, const berth_read_options *opt, model *m, berth_read_report *r,
                         berth_err *err)
{
	berth_arena tmp = {0};
	*m = (model){0};
	berth_status st = berth_graph_load(spec, opt, &m->mem, &tmp, &m->g, r, err);
	berth_arena_free(&tmp);
	return st;
}

static void test_words(void **state)
{
	(void)state;
	char path[] = "/tmp/berth-gguf-XXXXXX", spec[128];
	static const char *const batch[] = {"batch=4"};
	berth_read_options opt = {.dim = batch, .n_dims = 1};
	berth_read_report r;
	berth_err err = {0};
	gguf_bytes b;
	model m;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	gguf_write(&b, gguf_recipe_find("mixtral-8x7b"), 2);
	write_file(path, &b);
	snprintf(spec, sizeof spec, "%s:mode=decode:context=77:cache=q4_1:experts=each", path);
	assert_ok(load(spec, &opt, &m, &r, &err), &err);
	assert_string_equal(strchr(m.g.name, ':'), ":batch=4:context=77:mode=decode:experts=each:cache=q4_1");
	assert_int_equal(sum_of(m.g.op_state_bytes, m.g.n_ops), 4 * 77 * 2 * 2 * 8 * 128 / 32 * 20);
	assert_int_equal(r.n_dims, 2);
	assert_string_equal(r.dim_name[1], "context");
	assert_int_equal(r.dim_value[1], 77);
	berth_arena_free(&m.mem);
	assert_ok(load(path, NULL, &m, &r, &err), &err);
	assert_int_equal(r.dim_value[0], 1);
	assert_int_equal(r.dim_value[1], 4096);
	berth_arena_free(&m.mem);
	static const struct {
		const char *words, *part;
	} bad[] = {{"mode=chat", "mode is 'chat'; expected prefill or decode"},
	           {"contxt=5", "did you mean 'context'?"},
	           {"context=-1", "expected a whole number from"},
	           {"cache=f17", "expected f16 or f32"},
	           {"batch=1:batch=2", "'batch' stands twice"},
	           {"batch=65536:context=16777216", "choose smaller sizes"}};
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		snprintf(spec, sizeof spec, "%s:%s", path, bad[i].words);
		assert_int_equal(load(spec, NULL, &m, &r, &err), BERTH_EINVAL);
		assert_contains(err.msg, bad[i].part);
		berth_arena_free(&m.mem);
	}
	/* A file of that whole name comes first. */
	snprintf(spec, sizeof spec, "%s:mode=decode", path);
	write_file(spec, &b);
	assert_ok(load(spec, NULL, &m, &r, &err), &err);
	assert_int_equal(m.g.op_macs[op_of(&m, "output.weight")] > 0, 1);
	assert_int_equal(m.g.op_write_bytes[op_of(&m, "token_embd.weight")], 4096 * 4096 * 4);
	berth_arena_free(&m.mem);
	unlink(spec);
	unlink(path);
	free(b.p);
}

static void write_part(const char *path, int part, int parts)
{
	gguf_bytes b;
	const gguf_recipe *r = gguf_recipe_find("llama-2-7b");
	gguf_begin(&b);
	if (part == 0)
		gguf_put_keys(&b, r, parts);
	gguf_key_u32(&b, "split.no", (uint32_t)part);
	gguf_key_u32(&b, "split.count", (uint32_t)parts);
	gguf_put_tensors(&b, r, part, part + 1, part == 0);
	gguf_end(&b);
	write_file(path, &b);
	free(b.p);
}

/* Parts are found beside the first; one alone says how many there should be. */
static void test_parts(void **state)
{
	(void)state;
	char dir[] = "/tmp/berth-gguf-XXXXXX", path[3][64], odd[64];
	berth_err err = {0};
	model m, whole;
	assert_non_null(mkdtemp(dir));
	for (int i = 0; i < 3; i++) {
		snprintf(path[i], sizeof path[i], "%s/two-%05d-of-00003.gguf", dir, i + 1);
		write_part(path[i], i, 3);
	}
	assert_ok(load(path[0], NULL, &m, NULL, &err), &err);
	read_recipe("llama-2-7b", 3, NULL, &whole);
	assert_string_equal(m.g.name, "two");
	assert_int_equal(m.g.n_ops, whole.g.n_ops);
	assert_int_equal(berth_graph_param_bytes(&m.g), berth_graph_param_bytes(&whole.g));
	berth_arena_free(&m.mem);
	berth_arena_free(&whole.mem);
	snprintf(odd, sizeof odd, "%s/odd.gguf", dir);
	write_part(odd, 0, 3);
	assert_int_equal(load(odd, NULL, &m, NULL, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "one of 3 parts; expected a file named NAME-00001-of-00003.gguf");
	write_part(odd, 1, 3);
	assert_int_equal(load(odd, NULL, &m, NULL, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "part 1 of a model, counted from 0; expected the first one");
	assert_int_equal(load(path[1], NULL, &m, NULL, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "two-00002-of-00003.gguf: part 2 of 3 of a model; expected the first one, "
	                         "two-00001-of-00003.gguf");
	unlink(path[2]);
	assert_int_equal(load(path[0], NULL, &m, NULL, &err), BERTH_EIO);
	assert_contains(err.msg, "two-00003-of-00003.gguf: cannot open");
	berth_arena_free(&m.mem);
	for (int i = 0; i < 2; i++)
		unlink(path[i]);
	unlink(odd);
	rmdir(dir);
}

/* ---- malformed files ---- */

static void expect_bad(const gguf_bytes *b, const char *part)
{
	model m;
	berth_err err = {0};
	assert_int_equal(parse(b, NULL, &m, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "m.gguf: ");
	assert_contains(err.msg, part);
	berth_arena_free(&m.mem);
}

static void set_u64(gguf_bytes *b, size_t at, uint64_t x)
{
	for (int i = 0; i < 8; i++)
		b->p[at + (size_t)i] = (unsigned char)(x >> (8 * i));
}

/* Every truncation is an error that names a place. */
static void test_truncated(void **state)
{
	(void)state;
	gguf_bytes b;
	gguf_write(&b, gguf_recipe_find("mixtral-8x7b"), 1);
	for (size_t n = b.n; n-- > 0;) {
		gguf_bytes cut = b;
		cut.n = n;
		cut.p = malloc(n ? n : 1); /* of that very size, for the sanitizer */
		assert_non_null(cut.p);
		memcpy(cut.p, b.p, n);
		expect_bad(&cut, ": byte ");
		free(cut.p);
	}
	free(b.p);
}

static void test_bad_header(void **state)
{
	(void)state;
	gguf_bytes b;
	gguf_write(&b, gguf_recipe_find("llama-3-8b"), 1);
	gguf_bytes c = b;
	c.p = malloc(b.n);
	assert_non_null(c.p);
#define PATCH(at, x, part)                 \
	do {                               \
		memcpy(c.p, b.p, b.n);     \
		set_u64(&c, (at), (x));    \
		expect_bad(&c, (part));    \
	} while (0)
	PATCH(0, 7, "byte 0: no GGUF file");
	PATCH(8, UINT64_MAX, "byte 8: 18446744073709551615 tensors; expected at most");
	PATCH(8, 1u << 20, "byte 8: 1048576 tensors");
	PATCH(16, UINT64_MAX, "byte 16: 18446744073709551615 keys; expected at most");
	PATCH(b.keys_at, UINT64_MAX - 7,
	      "byte 24: a key of 18446744073709551608 bytes; expected at most the");
	PATCH(b.keys_at + 8 + 20, 77, "byte 52: a value of type 77; expected 0 to 12");
	PATCH(b.keys_at + 8 + 20 + 4, (uint64_t)1 << 62, "a string of 4611686018427387904 bytes");
	PATCH(b.keys_at + 8 + 20 + 4 + 8, 0x6d616c, "architecture 'lam"); /* "lam\0\0" */
	size_t rank = b.tensors_at + 8 + strlen("token_embd.weight");
	PATCH(rank, 0, "has 0 dimensions; expected 1 to 4");
	PATCH(rank, 5, "has 5 dimensions; expected 1 to 4");
	PATCH(rank + 4, 0, "has a dimension of 0; expected 1 to 2^53");
	PATCH(rank + 4, (uint64_t)1 << 63, "has a dimension of 9223372036854775808");
	PATCH(rank + 4, (uint64_t)1 << 52, "bytes; expected at most 2^53");
	PATCH(rank + 4, 2048, "tensor 'token_embd.weight' has rows of 2048; expected 4096");
	PATCH(rank + 20, 31, "has type 31, which is not known");
	PATCH(rank + 20, 99, "has type 99, which is not known");
	memcpy(c.p, b.p, b.n);
	c.p[4] = 1;
	expect_bad(&c, "byte 4: version 1; expected 2 or 3");
	c.p[4] = 0;
	c.p[7] = 3;
	expect_bad(&c, "byte 4: a big-endian file");
#undef PATCH
	free(c.p);
	free(b.p);
}

/* What a writer may get wrong: build the file anew each time, with one thing changed. */
typedef struct wrong {
	const char *part;
	void (*keys)(gguf_bytes *b), (*tensors)(gguf_bytes *b);
	int layers; /* of tensors; -1: none at all */
} wrong;

static void no_thing(gguf_bytes *b) { (void)b; }
static void nested(gguf_bytes *b)
{
	gguf_put_text(b, "deep");
	for (int i = 0; i < 1000000; i++) { /* an array of one array of one array ... */
		gguf_put_u32(b, 9);
		if (i)
			gguf_put_u64(b, 1);
	}
	b->n_keys++;
}
static void long_array(gguf_bytes *b)
{
	gguf_put_text(b, "long");
	gguf_put_u32(b, 9);
	gguf_put_u32(b, 8);
	gguf_put_u64(b, UINT64_MAX / 8);
	b->n_keys++;
}
static void odd_array(gguf_bytes *b)
{
	gguf_put_text(b, "odd");
	gguf_put_u32(b, 9);
	gguf_put_u32(b, 13);
	gguf_put_u64(b, 0);
	b->n_keys++;
}
static void two_counts(gguf_bytes *b) { gguf_key_u32(b, "llama.block_count", 1); }
static void many_experts(gguf_bytes *b) { gguf_key_u32(b, "llama.expert_count", 1u << 30); }
static void greedy(gguf_bytes *b)
{
	gguf_key_u32(b, "llama.expert_count", 4);
	gguf_key_u32(b, "llama.expert_used_count", 5);
}
static void odd_heads(gguf_bytes *b) { gguf_key_u32(b, "llama.attention.value_length", 100); }
static void text_size(gguf_bytes *b) { gguf_key_text(b, "llama.attention.key_length", "128"); }
static void all_further(gguf_bytes *b) { gguf_key_u32(b, "llama.nextn_predict_layers", 1); }
static void parts(gguf_bytes *b) { gguf_key_u32(b, "split.count", 4); }
static void far_layer(gguf_bytes *b) { gguf_put_tensor(b, "blk.1.attn_q.weight", 1, 4096, 4096, 0); }
static void twice(gguf_bytes *b) { gguf_put_tensor(b, "blk.0.attn_q.weight", 1, 4096, 4096, 0); }
static void router(gguf_bytes *b) { gguf_put_tensor(b, "blk.0.ffn_gate_inp.weight", 1, 4096, 4, 0); }
static void broken_rows(gguf_bytes *b) { gguf_put_tensor(b, "odd", 2, 33, 0, 0); }
static void nameless(gguf_bytes *b) { gguf_put_tensor(b, "", 1, 1, 1, 1); }
static void huge(gguf_bytes *b)
{
	for (int i = 0; i < 3; i++)
		gguf_put_tensor(b, "big", 0, (int64_t)1 << 26, 1 << 24, 0);
}
static void wide(gguf_bytes *b) { gguf_put_tensor(b, "output.weight", 1, 4096, 7, 0); }

static void test_bad_models(void **state)
{
	(void)state;
	static const wrong cases[] = {
		{"arrays in arrays, deeper than 4", nested, no_thing, 1},
		{"an array of 2305843009213693951 values; expected at most", long_array, no_thing, 1},
		{"an array of values of type 13", odd_array, no_thing, 1},
		{"key 'llama.block_count' stands twice", two_counts, no_thing, 1},
		{"1073741824 experts; expected at most 1024", many_experts, no_thing, 1},
		{"a token goes to 5 experts of 4", greedy, no_thing, 1},
		{"tensor 'blk.0.attn_output.weight' is [4096, 4096]; expected [3200, 4096]", odd_heads,
		 no_thing, 1},
		{"key 'llama.attention.key_length' has a value of type 8; expected an integer", text_size,
		 no_thing, 1},
		{"1 of 1 layers predict further tokens", all_further, no_thing, 1},
		{"one of 4 parts; expected a file named", parts, no_thing, 1},
		{"is one of layer 1; expected fewer than 1", no_thing, far_layer, 1},
		{"tensor 'blk.0.attn_q.weight' stands twice", no_thing, twice, 1},
		{"there is no tensor 'blk.0.attn_output.weight', which architecture llama needs", no_thing,
		 no_thing, 0},
		{"there is no tensor 'token_embd.weight'", no_thing, no_thing, -1},
		{"routes to experts; expected a key 'llama.expert_count' above 0", no_thing, router, 1},
		{"tensor 'odd' has rows of 33 elements; expected whole blocks of 32, as its type is Q4_0",
		 no_thing, broken_rows, 1},
		{"a tensor without a name", no_thing, nameless, 1},
		{"all tensors together have more than 2^53 bytes", no_thing, huge, 1},
		{"tensor 'output.weight' stands twice", no_thing, wide, 1},
	};
	const gguf_recipe *r = gguf_recipe_find("llama-3-8b");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		gguf_bytes b;
		gguf_begin(&b);
		gguf_put_keys(&b, r, 1);
		cases[i].keys(&b);
		if (cases[i].layers >= 0)
			gguf_put_tensors(&b, r, 0, cases[i].layers, 1);
		else
			gguf_put_tensors(&b, r, 0, 1, 0);
		cases[i].tensors(&b);
		gguf_end(&b);
		expect_bad(&b, cases[i].part);
		free(b.p);
	}
}

static void test_bad_experts(void **state)
{
	(void)state;
	static const struct {
		const char *name, *part;
		int64_t out;
	} cases[] = {{"blk.0.ffn_up.8.weight", "is one of expert 8; expected fewer than 8", 14336},
	             {"blk.0.ffn_up.7.weight", "stands twice", 14336},
	             {"blk.0.ffn_up_exps.weight",
	              "is [4096, 14336, 1, 1]; expected as many matrices as there are experts", 14336}};
	const gguf_recipe *r = gguf_recipe_find("mixtral-loose");
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		gguf_bytes b;
		gguf_write(&b, r, 1);
		gguf_put_tensor(&b, cases[i].name, 1, 4096, cases[i].out, 0);
		gguf_end(&b);
		expect_bad(&b, cases[i].part);
		free(b.p);
	}
	gguf_bytes b;
	gguf_begin(&b);
	gguf_put_keys(&b, r, 1);
	gguf_put_tensors(&b, gguf_recipe_find("llama-2-7b"), 0, 0, 1);
	gguf_recipe one = *gguf_recipe_find("mixtral-loose");
	one.experts = 7;
	gguf_put_tensors(&b, &one, 0, 1, 0);
	gguf_end(&b);
	expect_bad(&b, "7 tensors 'blk.0.ffn_gate.N.weight'; expected 8, the number of experts");
	free(b.p);
}

/* ---- limits ---- */

/* At most 4 times the file and 16 MB. CPU seconds of reading; frees b. */
static double expect_cheap(gguf_bytes *b)
{
	metering_allocator m;
	berth_arena mem, tmp;
	berth_graph g;
	metering_allocator_init(&m);
	berth_arena_init(&mem, &m.hook);
	berth_arena_init(&tmp, &m.hook);
	double start = berth_cpu_seconds();
	parse_gguf("m.gguf", b->p, b->n, NULL, &mem, &tmp, &g, NULL, NULL);
	double seconds = berth_cpu_seconds() - start;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	if (m.peak > 4 * b->n + (16u << 20))
		fail_msg("%zu bytes took %zu bytes", b->n, m.peak);
	free(b->p);
	return seconds;
}

static double read_layers(void *recipe, int n)
{
	gguf_bytes b;
	gguf_write(&b, gguf_recipe_find(recipe), n);
	return expect_cheap(&b);
}

/* Keys and tensors of no use, and words. */
static double read_litter(void *recipe, int n)
{
	const gguf_recipe *r = gguf_recipe_find(recipe);
	gguf_bytes b;
	gguf_begin(&b);
	gguf_put_keys(&b, r, 32);
	gguf_key_tokens(&b, "tokenizer.ggml.tokens", 4 * n);
	for (int i = 0; i < n; i++)
		gguf_key_u32(&b, "k", 1);
	gguf_put_tensors(&b, r, 0, 32, 1);
	for (int i = 0; i < n; i++) {
		char name[24];
		snprintf(name, sizeof name, "blk.%d.x%d", i % 32, i);
		gguf_put_tensor(&b, name, 0, 1, 0, 0);
	}
	gguf_end(&b);
	return expect_cheap(&b);
}

/* The largest graphs that small files make, many tensors of no use, a large vocabulary, many keys. */
static void test_limits(void **state)
{
	(void)state;
	static char names[][20] = {"llama-2-7b",  "deepseek-v3", "deepseek-v2-lite", "gpt-oss-20b",
	                           "qwen1.5-moe", "gemma-2-2b",  "mixtral-loose"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		assert_linear(read_layers, names[i], 384, names[i]);
	assert_linear(read_litter, "llama-3-8b", 50000, "litter");
	gguf_bytes b;
	gguf_begin(&b);
	gguf_put_keys(&b, gguf_recipe_find("llama-3-8b"), 385);
	gguf_put_tensors(&b, gguf_recipe_find("llama-3-8b"), 0, 1, 1);
	gguf_end(&b);
	expect_bad(&b, "385 layers; expected 1 to 384");
	free(b.p);
}

/* The header of a model of 100 GB with its vocabulary: nothing behind the header is touched. */
static void test_100_gigabytes(void **state)
{
	(void)state;
	char path[] = "/tmp/berth-gguf-XXXXXX";
	const gguf_recipe *r = gguf_recipe_find("mixtral-8x7b");
	berth_err err = {0};
	gguf_bytes b;
	model m;
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	gguf_begin(&b);
	gguf_put_keys(&b, r, 120);
	gguf_key_tokens(&b, "tokenizer.ggml.tokens", 150000);
	gguf_key_tokens(&b, "tokenizer.ggml.merges", 150000);
	gguf_put_tensors(&b, r, 0, 120, 1);
	gguf_end(&b);
	assert_int_equal(write(fd, b.p, b.n), b.n);
	assert_true(b.tensor_bytes > 90e9);
	if (ftruncate(fd, (off_t)b.n + (off_t)b.tensor_bytes) != 0) {
		print_message("no room for a sparse file of 100 GB: skipped\n");
		close(fd);
		unlink(path);
		skip();
	}
	close(fd);
	long before = support_page_faults();
	assert_ok(load(path, NULL, &m, NULL, &err), &err);
	long faults = support_page_faults() - before;
	print_message("header of %.0f GB and %zu bytes: %ld page faults\n", b.tensor_bytes / 1e9, b.n,
	              faults);
	assert_true(faults < 4000); /* 100 GB are 24 million pages */
	berth_arena_free(&m.mem);
	unlink(path);
	free(b.p);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	gguf_bytes b;
	gguf_write(&b, gguf_recipe_find("mixtral-loose"), 1);
	gguf_put_tensor(&b, "blk.0.odd.weight", 0, 10, 0, 0);
	gguf_end(&b);
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_graph g;
		berth_read_report r;
		berth_gguf_options opt;
		berth_err err;
		static const char *const words[] = {"batch=2", "mode=decode", "experts=each"};
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = berth_gguf_options_read("m.gguf", words, 3, &tmp, &opt, &err);
		if (st == BERTH_OK)
			st = parse_gguf("m.gguf", b.p, b.n, &opt, &mem, &tmp, &g, &r, &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 0);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
	free(b.p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_published_models),
	                                   cmocka_unit_test(test_equals_zoo),
	                                   cmocka_unit_test(test_other_types),
	                                   cmocka_unit_test(test_grain_of_experts),
	                                   cmocka_unit_test(test_names_and_bytes),
	                                   cmocka_unit_test(test_cache),
	                                   cmocka_unit_test(test_window_pattern),
	                                   cmocka_unit_test(test_unlike_layers),
	                                   cmocka_unit_test(test_joint_experts),
	                                   cmocka_unit_test(test_further_layers_and_tensors),
	                                   cmocka_unit_test(test_words),
	                                   cmocka_unit_test(test_parts),
	                                   cmocka_unit_test(test_truncated),
	                                   cmocka_unit_test(test_bad_header),
	                                   cmocka_unit_test(test_bad_models),
	                                   cmocka_unit_test(test_bad_experts),
	                                   cmocka_unit_test(test_limits),
	                                   cmocka_unit_test(test_100_gigabytes),
	                                   cmocka_unit_test(test_each_allocation_may_fail)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
