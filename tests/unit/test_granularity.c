/* Granularity: layers and parts of them by names, by repeats and from files; blocks as colocation groups; and
 * that every method keeps to them and to a limit of cuts, counted here anew. */
#include "constraints.h"
#include "fail_each.h"
#include "granularity.h"
#include "graph_format.h"
#include "graph_union.h"
#include "methods.h"
#include "relax.h"
#include "support.h"
#include "system_json.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static berth_arena mem, tmp;

static int tear_down(void **state)
{
	(void)state;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return 0;
}

static berth_graph zoo(const char *spec)
{
	berth_graph g;
	berth_err err;
	assert_ok(berth_zoo_build(spec, &mem, &tmp, &g, &err), &err);
	return g;
}

static berth_granularity find(const berth_graph *g, berth_grain grain)
{
	berth_granularity x;
	berth_err err;
	assert_ok(berth_granularity_find(g, grain, &mem, &tmp, &x, &err), &err);
	for (int32_t k = 0, seen = 0; k < g->n_ops; k++) { /* numbered as they come, each named */
		int32_t block = x.op_block[g->topo_op[k]];
		assert_true(block <= seen && block < x.n_blocks);
		seen += block == seen;
		assert_non_null(x.block_name[block]);
	}
	return x;
}

/* Names of the blocks, with commas between. */
static const char *names_of(const berth_granularity *x)
{
	const char *text = "";
	for (int32_t i = 0; i < x->n_blocks; i++)
		text = berth_arena_printf(&mem, "%s%s%s", text, i ? "," : "", x->block_name[i]);
	return text;
}

static int32_t block_of(const berth_graph *g, const berth_granularity *x, const char *op)
{
	int32_t i = berth_graph_find(g, op);
	assert_true(i >= 0);
	return x->op_block[i];
}

/* ---- finding ---- */

static void test_names(void **state)
{
	(void)state;
	static const struct {
		const char *spec;
		berth_grain grain;
		const char *names;
	} rows[] = {
		{"zoo:resnet18", BERTH_GRAIN_LAYER,
	         "input,layer1.0,layer1.1,layer2.0,layer2.1,layer3.0,layer3.1,layer4.0,layer4.1,output"},
		{"zoo:llama:layers=2", BERTH_GRAIN_LAYER, "embed_tokens,layers.0,layers.1,output"},
		{"zoo:llama:layers=2", BERTH_GRAIN_BLOCK,
	         "embed_tokens,layers.0.self_attn,layers.0.mlp,layers.1.self_attn,layers.1.mlp,output"},
		{"zoo:moe:layers=1:experts=2", BERTH_GRAIN_BLOCK,
	         "embed_tokens,layers.0.self_attn,layers.0.mlp,layers.0.experts.0,layers.0.experts.1,output"},
		{"zoo:moe:layers=1:experts=4", BERTH_GRAIN_LAYER, "embed_tokens,layers.0,output"},
		{"zoo:vit", BERTH_GRAIN_OP, NULL},
	};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		berth_graph g = zoo(rows[i].spec);
		berth_granularity x = find(&g, rows[i].grain);
		if (rows[i].names)
			assert_string_equal(names_of(&x), rows[i].names);
		else
			assert_int_equal(x.n_blocks, g.n_ops);
	}
}

/* A decoder and a network of residual blocks whose names tell nothing: the same layers. */
static void test_repeats(void **state)
{
	(void)state;
	berth_graph g = zoo("zoo:llama:layers=4"), h = g;
	berth_granularity named = find(&g, BERTH_GRAIN_LAYER), found;
	assert_ok(BERTH_NEW(&mem, h.op_name, g.n_ops, NULL), NULL);
	for (int32_t op = 0; op < g.n_ops; op++)
		h.op_name[op] = berth_arena_printf(&mem, "MatMul_%d", op);
	found = find(&h, BERTH_GRAIN_LAYER);
	assert_int_equal(found.n_blocks, named.n_blocks);
	assert_memory_equal(found.op_block, named.op_block, (size_t)g.n_ops * sizeof *found.op_block);
	assert_string_equal(names_of(&found), "MatMul_0,layer.0,layer.1,layer.2,layer.3,output");
	berth_granularity parts = find(&g, BERTH_GRAIN_BLOCK), found_parts = find(&h, BERTH_GRAIN_BLOCK);
	assert_memory_equal(found_parts.op_block, parts.op_block, (size_t)g.n_ops * sizeof *parts.op_block);
	assert_string_equal(found_parts.block_name[1], "layer.0/1");
}

/* A mask that every layer reads does not join them, and inputs may stand in any order. */
static void test_mask(void **state)
{
	(void)state;
#define A_OP(name, type) "{\"name\":\"" name "\",\"type\":\"" type "\"}"
#define AN_EDGE(a, b) "{\"from\":\"" a "\",\"to\":\"" b "\",\"bytes\":1}"
	static const char text[] =
		"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[" A_OP("y", "M") ","
		A_OP("x", "E") "," A_OP("c", "A") "," A_OP("b", "B") "," A_OP("a", "A") "," A_OP("d", "B") ","
		A_OP("f", "A") "," A_OP("e", "B") "],\"edges\":[" AN_EDGE("y", "c") "," AN_EDGE("y", "a") ","
		AN_EDGE("y", "f") "," AN_EDGE("x", "c") "," AN_EDGE("x", "b") "," AN_EDGE("c", "b") ","
		AN_EDGE("b", "a") "," AN_EDGE("b", "d") "," AN_EDGE("a", "d") "," AN_EDGE("d", "f") ","
		AN_EDGE("d", "e") "," AN_EDGE("f", "e") "]}";
	berth_graph g;
	berth_err err;
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &mem, &tmp, &g, &err), &err);
	berth_granularity x = find(&g, BERTH_GRAIN_LAYER);
	assert_string_equal(names_of(&x), "input,layer.0,layer.1,layer.2");
	assert_int_equal(block_of(&g, &x, "c"), block_of(&g, &x, "b"));
	assert_int_equal(block_of(&g, &x, "f"), block_of(&g, &x, "e"));
}

static void test_no_layers(void **state)
{
	(void)state;
	static const char text[] =
		"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"a\","
		"\"type\":\"A\"},{\"name\":\"b\",\"type\":\"B\"}],\"edges\":[{\"from\":\"a\",\"to\":"
		"\"b\",\"bytes\":1}]}";
	berth_graph g;
	berth_granularity x;
	berth_err err;
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &mem, &tmp, &g, &err), &err);
	assert_int_equal(berth_granularity_find(&g, BERTH_GRAIN_LAYER, &mem, &tmp, &x, &err), BERTH_EINVAL);
	assert_contains(err.msg, "no layers are known");
}

/* What a training step makes of an operator goes with it, and the groups of parameters stay whole. */
static void test_training(void **state)
{
	(void)state;
	berth_graph g = zoo("zoo:resnet18:training=1"), h;
	berth_granularity x = find(&g, BERTH_GRAIN_LAYER);
	berth_err err;
	assert_int_equal(block_of(&g, &x, "layer2.1.conv2"), block_of(&g, &x, "layer2.1.conv2/grad_weight"));
	assert_int_equal(block_of(&g, &x, "layer2.1.conv2"), block_of(&g, &x, "layer2.1.conv2/update"));
	assert_int_equal(block_of(&g, &x, "conv1"), block_of(&g, &x, "conv1/update"));
	assert_int_equal(x.n_blocks, 10);
	assert_ok(berth_granularity_apply(&g, &x, -1, &mem, &tmp, &h, &err), &err);
	assert_ok(berth_graph_check(&h, &err), &err);
	assert_int_equal(h.n_coloc_names, 10);
	assert_int_equal(h.max_cuts, -1);
	for (int32_t op = 0; op < g.n_ops; op++)
		assert_string_equal(h.coloc_name[h.op_coloc_name[op]], x.block_name[x.op_block[op]]);
}

/* Models that share a graph: the blocks of each as it has them alone. */
static void test_models(void **state)
{
	(void)state;
	berth_graph part[2] = {zoo("zoo:resnet18"), zoo("zoo:resnet34")}, both;
	berth_granularity x,
		alone[2] = {find(&part[0], BERTH_GRAIN_LAYER), find(&part[1], BERTH_GRAIN_LAYER)};
	berth_err err;
	assert_ok(berth_graph_union(part, 2, &mem, &tmp, &both, NULL, &err), &err);
	x = find(&both, BERTH_GRAIN_LAYER);
	assert_int_equal(x.n_blocks, alone[0].n_blocks + alone[1].n_blocks);
	for (int32_t op = 0; op < both.n_ops; op++)
		for (int32_t o = 0; o < op; o++) {
			int m = op >= part[0].n_ops, shift = m ? part[0].n_ops : 0;
			bool same = x.op_block[op] == x.op_block[o];
			assert_true(same == (o >= shift &&
			                     alone[m].op_block[op - shift] == alone[m].op_block[o - shift]));
		}
	assert_string_equal(x.block_name[0], "resnet18.input");
	assert_string_equal(x.block_name[1], "resnet18/layer1.0");
}

/* A colocation group of the graph joins the blocks it stands in. */
static void test_joined(void **state)
{
	(void)state;
	static const char text[] =
		"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"l.0.a\"},{"
		"\"name\":"
		"\"l.0.b\",\"colocate\":\"w\"},{\"name\":\"l.1.a\"},{\"name\":\"l.1.b\"},{\"name\":\"l.2.a\","
		"\"colocate\":\"w\"},{\"name\":\"l.2.b\"}],\"edges\":[]}";
	berth_graph g, h;
	berth_err err;
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &mem, &tmp, &g, &err), &err);
	berth_granularity x = find(&g, BERTH_GRAIN_LAYER);
	assert_string_equal(names_of(&x), "l.0,l.1,l.2");
	assert_ok(berth_granularity_apply(&g, &x, 1, &mem, &tmp, &h, &err), &err);
	assert_int_equal(h.n_coloc_names, 2);
	assert_int_equal(h.op_coloc_name[0], h.op_coloc_name[5]);
	assert_int_not_equal(h.op_coloc_name[0], h.op_coloc_name[2]);
	assert_string_equal(h.coloc_name[0], "l.0");
	berth_system s;
	berth_problem p;
	assert_ok(berth_system_builtin("cpu+2gpu", &mem, &tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&h, &s, &mem, &tmp, &p, &err), &err);
	assert_int_equal(p.n_chain, 3); /* l.0, l.1, and the group of l.0 again */
	int32_t apart[] = {0, 0, 1, 1, 0, 0}, together[] = {1, 1, 1, 1, 1, 1};
	assert_int_equal(berth_cuts(&p, apart), 2);
	assert_int_equal(berth_cuts_above(&p, apart), 1);
	assert_int_equal(berth_cuts(&p, together), 0);
}

/* Kernels: an activation with its convolution, a residual sum with both, x * sigmoid(x) and Gelu; a gate by
 * another branch, and what two take, are none. */
static berth_status find_kernels(void *ctx, berth_arena *to, berth_arena *scratch, berth_err *err)
{
	berth_granularity x;
	return berth_granularity_find(ctx, BERTH_GRAIN_KERNEL, to, scratch, &x, err);
}

static void test_kernels(void **state)
{
	(void)state;
	static const char *const op[][3] = {
		{"x", "Conv", ""}, {"relu", "Relu", "x"}, /* one */
		{"y", "Conv", "relu"}, {"sum", "Add", "y relu"}, {"end", "Relu", "sum"}, /* one */
		{"squeeze", "Conv", "end"}, {"gate", "Sigmoid", "squeeze"},
		{"gated", "Mul", "end gate"},
		{"z", "Conv", "gated"}, {"s", "Sigmoid", "z"}, {"swish", "Mul", "z s"}, /* z goes to both */
		{"m", "MatMul", "swish"}, {"bias", "Add", "m"}, {"d", "Div", "bias"}, {"e", "Erf", "d"},
		{"one", "Add", "e"}, {"half", "Mul", "bias one"}, {"gelu", "Mul", "half"}};
	berth_strbuf b = {.mem = &mem};
	const char *text, *sep = "";
	berth_graph g;
	berth_err err;
	berth_strbuf_printf(&b, "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[");
	for (size_t i = 0; i < sizeof op / sizeof *op; i++, sep = ",")
		berth_strbuf_printf(&b, "%s{\"name\":\"%s\",\"type\":\"%s\"}", sep, op[i][0], op[i][1]);
	berth_strbuf_printf(&b, "],\"edges\":[");
	sep = "";
	for (size_t i = 0; i < sizeof op / sizeof *op; i++)
		for (const char *from = op[i][2]; *from; from += strspn(from, " ")) {
			int n = (int)strcspn(from, " ");
			berth_strbuf_printf(&b, "%s{\"from\":\"%.*s\",\"to\":\"%s\",\"bytes\":4}", sep, n,
			                    from, op[i][0]);
			from += n;
			sep = ",";
		}
	berth_strbuf_printf(&b, "]}");
	assert_ok(berth_strbuf_done(&b, &text, NULL, &err), &err);
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &mem, &tmp, &g, &err), &err);
	berth_granularity x = find(&g, BERTH_GRAIN_KERNEL);
	assert_string_equal(names_of(&x), "x,y,squeeze,gated,z,s,m,d");
	assert_int_equal(block_of(&g, &x, "end"), block_of(&g, &x, "y"));
	assert_int_equal(block_of(&g, &x, "swish"), block_of(&g, &x, "s"));
	assert_int_equal(block_of(&g, &x, "gelu"), block_of(&g, &x, "d"));
	assert_fails_each(find_kernels, &g, 1);
}

static void test_file(void **state)
{
	(void)state;
#define FILE_OF(blocks) "{\"format\":\"berth-blocks\",\"version\":1,\"blocks\":[" blocks "]}"
	static const struct {
		const char *text, *names, *message;
	} rows[] = {
		{FILE_OF("{\"name\":\"front\",\"ops\":[\"conv1\",\"layer1.*\",\"layer1.0.conv1\"]}"),
	         "front,relu,", NULL},
		{FILE_OF(""), "conv1,relu,maxpool,", NULL},
		{FILE_OF("{\"name\":\"a\",\"ops\":[\"conv7\"]}"), NULL,
	         "blocks: /blocks/0/ops/0: unknown operator 'conv7' (did you mean 'conv1'?)"},
		{FILE_OF("{\"name\":\"a\",\"ops\":[\"layer9*\"]}"), NULL,
	         "/blocks/0/ops/0: no operator's name begins with 'layer9*'"},
		{FILE_OF("{\"name\":\"a\",\"ops\":[\"conv1\"]},{\"name\":\"b\",\"ops\":[\"conv*\"]}"), NULL,
	         "/blocks/1/ops/0: operator 'conv1' is in block 'a' already"},
		{FILE_OF("{\"name\":\"a\",\"ops\":[\"conv1\"]},{\"name\":\"a\",\"ops\":[\"relu\"]}"), NULL,
	         "two blocks are called 'a'"},
		{FILE_OF("{\"name\":\"\",\"ops\":[\"conv1\"]}"), NULL, "/0: a block has an empty name"},
		{FILE_OF("{\"name\":\"a\",\"ops\":[]}"), NULL, "block 'a' has no operators"},
		{FILE_OF("{\"name\":\"a\",\"ops\":[3]}"), NULL, "expected the name of an operator"},
		{FILE_OF("{\"name\":\"a\",\"op\":[]}"), NULL, "op"},
		{"{\"format\":\"berth-graph\",\"version\":1}", NULL, "berth-blocks"},
	};
	berth_graph g = zoo("zoo:resnet18");
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		berth_granularity x;
		berth_err err;
		berth_status st = berth_granularity_parse("blocks", rows[i].text, strlen(rows[i].text), &g,
		                                          &mem, &tmp, &x, &err);
		if (!rows[i].names) {
			assert_int_equal(st, BERTH_EFORMAT);
			assert_contains(err.msg, rows[i].message);
			continue;
		}
		assert_ok(st, &err);
		assert_memory_equal(names_of(&x), rows[i].names, strlen(rows[i].names));
	}
}

/* ---- keeping to it ---- */

typedef struct planned {
	berth_graph g;
	berth_granularity x;
	berth_system s;
	berth_problem p;
} planned;

/* Memory of device d is part[d] of what the graph holds. */
static void plan(planned *c, const char *spec, const char *system, berth_grain grain, int32_t max_cuts,
                 const double *part)
{
	berth_err err;
	berth_graph whole = zoo(spec);
	double held = (double)berth_graph_param_bytes(&whole);
	for (int32_t op = 0; op < whole.n_ops; op++)
		held += (double)whole.op_state_bytes[op];
	c->x = find(&whole, grain);
	assert_ok(berth_granularity_apply(&whole, &c->x, max_cuts, &mem, &tmp, &c->g, &err), &err);
	assert_ok(berth_system_builtin(system, &mem, &tmp, &c->s, &err), &err);
	for (int32_t d = 0; d < c->s.n_devs && part; d++)
		c->s.dev_memory_bytes[d] = (int64_t)(part[d] * held);
	assert_ok(berth_problem_new(&c->g, &c->s, &mem, &tmp, &c->p, &err), &err);
}

static void check_plan(const planned *c, const berth_search *s, const char *method)
{
	int32_t cuts = 0, before = -1;
	for (int32_t b = 0; b < c->x.n_blocks; b++) {
		int32_t dev = -1;
		for (int32_t op = 0; op < c->g.n_ops; op++) {
			if (c->x.op_block[op] != b)
				continue;
			if (dev >= 0 && s->best_dev[op] != dev)
				fail_msg("%s: block %s is torn", method, c->x.block_name[b]);
			dev = s->best_dev[op];
		}
		cuts += before >= 0 && dev != before;
		before = dev;
	}
	if (c->g.max_cuts >= 0 && cuts > c->g.max_cuts)
		fail_msg("%s: %d cuts, at most %d", method, cuts, c->g.max_cuts);
	if (!berth_score_feasible(s->best))
		fail_msg("%s: excess %g", method, s->best.excess);
}

static void run_all(const planned *c, int64_t evaluations)
{
	int32_t n = 0;
	for (int32_t i = 0; i < berth_n_methods(); i++) {
		const berth_method *m = berth_method_at(i);
		berth_search_cfg cfg = {.seed = 3, .evaluations = evaluations, .nodes = 20};
		berth_arena own = {0};
		berth_search s;
		berth_err err;
		if (berth_method_missing(m))
			continue;
		assert_ok(berth_search_new(&c->p, &cfg, &own, &s, &err), &err);
		berth_status st = berth_method_run(m, &s, &tmp, &err);
		if (st != BERTH_EUNSUPPORTED) {
			assert_ok(st, &err);
			check_plan(c, &s, m->name);
			n++;
		}
		berth_arena_free(&own);
	}
	assert_true(n > 20);
}

/* No device holds the model, so that stages there must be. */
static void test_all_methods(void **state)
{
	(void)state;
	static const double half[] = {0.4, 0.8, 0.8}, third[] = {4, 0.45, 0.45, 0.45, 0.45};
	planned c;
	plan(&c, "zoo:resnet18", "cpu+2gpu", BERTH_GRAIN_LAYER, 1, half);
	run_all(&c, 100);
	plan(&c, "zoo:resnet18", "cpu+2gpu", BERTH_GRAIN_OP, 2, half);
	run_all(&c, 60);
	plan(&c, "zoo:llama:layers=6:hidden=64:heads=4:kv-heads=4:ffn=128:vocab=100:seq=16", "4gpu",
	     BERTH_GRAIN_BLOCK, 2, third);
	run_all(&c, 60);
	plan(&c, "zoo:resnet18:training=1", "cpu+2gpu", BERTH_GRAIN_LAYER, -1, NULL);
	run_all(&c, 60);
}

/* The best plan of few blocks is found: every assignment is tried here. */
static void test_best(void **state)
{
	(void)state;
	static const double half[] = {0.4, 0.8, 0.8};
	planned c;
	berth_eval eval;
	berth_err err;
	berth_score best = berth_score_worst();
	int32_t *op_dev, n = 1;
	plan(&c, "zoo:llama:layers=4:hidden=64:heads=4:kv-heads=4:ffn=128:vocab=1000:seq=64", "cpu+2gpu",
	     BERTH_GRAIN_LAYER, 2, half);
	assert_int_equal(c.x.n_blocks, 6);
	assert_ok(berth_eval_new(&c.p, &(berth_objective){0}, &mem, &eval, &err), &err);
	assert_ok(BERTH_NEW(&mem, op_dev, c.g.n_ops, &err), &err);
	for (int32_t b = 0; b < c.x.n_blocks; b++)
		n *= c.s.n_devs;
	for (int32_t k = 0; k < n; k++) {
		for (int32_t op = 0; op < c.g.n_ops; op++) {
			int32_t x = k;
			for (int32_t b = 0; b < c.x.op_block[op]; b++)
				x /= c.s.n_devs;
			op_dev[op] = x % c.s.n_devs;
		}
		berth_score score = berth_eval_run(&eval, op_dev, NULL);
		best = berth_score_less(score, best) ? score : best;
	}
	berth_search_cfg cfg = {.seed = 1, .evaluations = 300};
	berth_search s;
	const berth_method *m;
	assert_ok(berth_method_find("anneal", &m, &err), &err);
	assert_ok(berth_search_new(&c.p, &cfg, &mem, &s, &err), &err);
	assert_ok(berth_method_run(m, &s, &tmp, &err), &err);
	assert_true(berth_score_feasible(best));
	assert_true(s.best.value == best.value);
}

/* Too few cuts are told, proven where devices are too small, and how many are enough. */
static void test_too_few(void **state)
{
	(void)state;
	static const double half[] = {0.4, 0.8, 0.8};
	planned c;
	berth_infeasible_subset subset;
	berth_relaxations relax;
	berth_err err;
	bool told = false, enough = false;
	plan(&c, "zoo:resnet18", "cpu+2gpu", BERTH_GRAIN_LAYER, 0, half);
	assert_ok(berth_infeasible_subset_find(&c.p, NULL, NULL, &mem, &tmp, &subset, &err), &err);
	assert_true(subset.proven);
	for (int32_t i = 0; i < subset.n; i++)
		told |= subset.rule[i].kind == BERTH_VIOLATION_CUTS;
	assert_true(told);
	berth_objective latency = berth_objective_of(BERTH_LATENCY);
	assert_ok(berth_relax(&c.p, &latency, &subset, NULL, NULL, NULL, &mem, &tmp, &relax, &err), &err);
	for (int32_t i = 0; i < relax.n; i++)
		enough |= strcmp(relax.item[i].text, "1 cut instead of 0") == 0;
	assert_true(enough);
}

/* A block that runs on one device only needs cuts about it, whatever is done. */
static void test_least(void **state)
{
	(void)state;
	berth_graph whole = zoo("zoo:resnet18"), g = whole;
	berth_granularity x = find(&whole, BERTH_GRAIN_LAYER);
	berth_system s;
	berth_problem p;
	berth_err err;
	assert_ok(BERTH_NEW(&mem, g.op_pin, g.n_ops, &err), &err);
	g.op_pin[berth_graph_find(&g, "layer2.0.conv1")] = "cpu0";
	g.op_pin[berth_graph_find(&g, "layer3.0.conv1")] = "gpu0";
	g.op_pin[berth_graph_find(&g, "layer4.0.conv1")] = "cpu0";
	for (int32_t cuts = 1; cuts <= 2; cuts++) {
		berth_graph h;
		assert_ok(berth_granularity_apply(&g, &x, cuts, &mem, &tmp, &h, &err), &err);
		assert_ok(berth_system_builtin("cpu+2gpu", &mem, &tmp, &s, &err), &err);
		assert_ok(berth_problem_new(&h, &s, &mem, &tmp, &p, &err), &err);
		assert_int_equal(berth_cuts_least(&p), 2);
		assert_int_equal(berth_problem_feasible(&p, &err), cuts < 2 ? BERTH_EINFEASIBLE : BERTH_OK);
		if (cuts < 2)
			assert_contains(err.msg, "keeps its rules of cuts together");
	}
}

/* Wherever memory ends: BERTH_ENOMEM, and nothing is lost. */
static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static const char file[] = FILE_OF("{\"name\":\"front\",\"ops\":[\"l*\"]}");
	berth_graph g = zoo("zoo:moe:layers=1:experts=2");
	for (long k = 0, done = 0; !done; k++) {
		failing_allocator f;
		berth_arena own, scratch;
		berth_granularity x;
		berth_graph h;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&own, &f.hook);
		berth_arena_init(&scratch, &f.hook);
		berth_status st = berth_granularity_find(&g, BERTH_GRAIN_BLOCK, &own, &scratch, &x, &err);
		if (st == BERTH_OK)
			st = berth_granularity_apply(&g, &x, 2, &own, &scratch, &h, &err);
		if (st == BERTH_OK)
			st = berth_granularity_parse("f", file, strlen(file), &g, &own, &scratch, &x, &err);
		done = st == BERTH_OK;
		assert_true(done || st == BERTH_ENOMEM);
		berth_arena_free(&own);
		berth_arena_free(&scratch);
		assert_int_equal(f.live, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_names, tear_down),
		cmocka_unit_test_teardown(test_repeats, tear_down),
		cmocka_unit_test_teardown(test_mask, tear_down),
		cmocka_unit_test_teardown(test_no_layers, tear_down),
		cmocka_unit_test_teardown(test_training, tear_down),
		cmocka_unit_test_teardown(test_models, tear_down),
		cmocka_unit_test_teardown(test_joined, tear_down),
		cmocka_unit_test_teardown(test_kernels, tear_down),
		cmocka_unit_test_teardown(test_file, tear_down),
		cmocka_unit_test_teardown(test_each_allocation_may_fail, tear_down),
		cmocka_unit_test_teardown(test_all_methods, tear_down),
		cmocka_unit_test_teardown(test_best, tear_down),
		cmocka_unit_test_teardown(test_too_few, tear_down),
		cmocka_unit_test_teardown(test_least, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
