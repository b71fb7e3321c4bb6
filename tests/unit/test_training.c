/* Training graphs: costs of a step against the forward pass, peak memory against closed forms, structure of
 * small graphs worked out by hand. */
#include "graph_format.h"
#include "rng.h"
#include "shapes.h"
#include "sim.h"
#include "support.h"
#include "system_json.h"
#include "training.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define HEAD "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"t\","

typedef struct pair {
	berth_arena mem, tmp;
	berth_graph g, t; /* forward and training */
	berth_training_report report;
} pair;

static void parse(pair *p, const char *text)
{
	berth_err err;
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &p->mem, &p->tmp, &p->g, &err), &err);
}

static void train(pair *p, berth_optimizer optimizer)
{
	berth_err err;
	berth_training_options opt = berth_training_options_default();
	opt.optimizer = optimizer;
	opt.report = &p->report;
	assert_ok(berth_graph_training(&p->g, &opt, &p->mem, &p->tmp, &p->t, &err), &err);
	assert_ok(berth_graph_check(&p->t, &err), &err);
	assert_string_equal(p->t.name, p->g.name);
}

static void discard(pair *p)
{
	berth_arena_free(&p->mem);
	berth_arena_free(&p->tmp);
}

static int32_t find(const berth_graph *g, const char *name)
{
	int32_t op = berth_graph_find(g, name);
	if (op < 0)
		print_message("no operator '%s'\n", name);
	assert_true(op >= 0);
	return op;
}

/* The tensor (NULL: unnamed) that goes from one operator to the other; -1: there is none. */
static int32_t tensor_between(const berth_graph *g, const char *from, const char *to, const char *tensor)
{
	int32_t a = find(g, from), b = find(g, to);
	for (int32_t i = g->op_in_off[b]; i < g->op_in_off[b + 1]; i++) {
		int32_t t = g->in_tensor[i];
		bool same = tensor && g->tensor_name[t] ? strcmp(tensor, g->tensor_name[t]) == 0
		                                        : tensor == g->tensor_name[t];
		if (g->tensor_producer[t] == a && same)
			return t;
	}
	return -1;
}

/* Its bytes; -1: there is none. */
static int64_t edge(const berth_graph *g, const char *from, const char *to, const char *tensor)
{
	int32_t t = tensor_between(g, from, to, tensor);
	return t < 0 ? -1 : g->tensor_bytes[t];
}

/* What cutting it costs, which must be there. */
static double cut(const berth_graph *g, const char *from, const char *to, const char *tensor)
{
	int32_t t = tensor_between(g, from, to, tensor);
	assert_true(t >= 0);
	return g->tensor_cut_s[t];
}

static int32_t n_inputs(const berth_graph *g, const char *name)
{
	int32_t op = find(g, name);
	return g->op_in_off[op + 1] - g->op_in_off[op];
}

static const char *group(const berth_graph *g, const char *name)
{
	int32_t c = g->op_coloc_name[find(g, name)];
	return c < 0 ? "" : g->coloc_name[c];
}

static int32_t count_type(const berth_graph *g, const char *type)
{
	int32_t n = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		n += g->op_type[op] >= 0 && strcmp(g->type_name[g->op_type[op]], type) == 0;
	return n;
}

/* Two convolutions behind one Relu, added: a -> r -> {b, c} -> d. */
static void test_branches(void **state)
{
	(void)state;
	pair p = {0};
	parse(&p, HEAD
	      "\"ops\":[{\"name\":\"a\",\"type\":\"Conv\",\"flops\":200,\"macs\":100,\"read_bytes\":1100,"
	      "\"write_bytes\":400,\"param_bytes\":100,\"workspace_bytes\":7},"
	      "{\"name\":\"r\",\"type\":\"Relu\",\"flops\":100,\"read_bytes\":400,\"write_bytes\":400},"
	      "{\"name\":\"b\",\"type\":\"Conv\",\"flops\":600,\"macs\":300,\"read_bytes\":480,\"write_"
	      "bytes\":200,\"param_bytes\":80},"
	      "{\"name\":\"c\",\"type\":\"Conv\",\"flops\":800,\"macs\":400,\"read_bytes\":460,\"write_"
	      "bytes\":200,\"param_bytes\":60},"
	      "{\"name\":\"d\",\"type\":\"Add\",\"flops\":50,\"read_bytes\":400,\"write_bytes\":200,\"output_"
	      "bytes\":200}],"
	      "\"edges\":[{\"from\":\"a\",\"to\":\"r\",\"bytes\":400},{\"from\":\"r\",\"to\":\"b\",\"bytes\":"
	      "400},{\"from\":\"r\",\"to\":\"c\",\"bytes\":400},"
	      "{\"from\":\"b\",\"to\":\"d\",\"bytes\":200},{\"from\":\"c\",\"to\":\"d\",\"bytes\":200}]}");
	train(&p, BERTH_OPTIMIZER_ADAM);
	const berth_graph *t = &p.t;
	/* 5 forward, loss, grads of b and c twice, sum, grad of r, grad_weight of a, 3 updates */
	assert_int_equal(t->n_ops, 5 + 1 + 4 + 1 + 1 + 1 + 3);
	assert_int_equal(edge(t, "d", "loss", NULL), 200);
	assert_int_equal(t->op_output_bytes[find(t, "d")], 0);
	assert_int_equal(t->op_output_bytes[find(t, "loss")], 4);
	assert_near(t->op_flops[find(t, "loss")], 50, 0);
	assert_int_equal(edge(t, "loss", "b/grad_input", NULL), 200); /* the addition passes its gradient on
	                                                               */
	assert_int_equal(edge(t, "loss", "c/grad_weight", NULL), 200);
	assert_int_equal(edge(t, "r", "b/grad_weight", NULL), 400);
	assert_int_equal(edge(t, "r", "b/grad_input", NULL), -1); /* the weights are enough */
	assert_int_equal(n_inputs(t, "b/grad_input"), 1);
	assert_int_equal(n_inputs(t, "r/grad_sum"), 2);
	assert_int_equal(edge(t, "c/grad_input", "r/grad_sum", NULL), 400);
	assert_int_equal(edge(t, "r/grad_sum", "r/grad_input", NULL), 400);
	assert_int_equal(edge(t, "r", "r/grad_input", NULL), 400);
	assert_int_equal(edge(t, "a", "r/grad_input", NULL), -1);
	assert_int_equal(edge(t, "r/grad_input", "a/grad_weight", NULL), 400);
	assert_int_equal(edge(t, "a/grad_weight", "a/update", NULL), 0);
	int32_t op = find(t, "b/grad_input");
	assert_near(t->op_flops[op], 600, 0);
	assert_near(t->op_macs[op], 300, 0);
	assert_int_equal(t->op_read_bytes[op], 200 + 80);
	assert_int_equal(t->op_write_bytes[op], 400);
	op = find(t, "a/grad_weight");
	assert_int_equal(t->op_read_bytes[op], 400 + 1000); /* gradient, and what came from outside */
	assert_int_equal(t->op_write_bytes[op], 100);
	assert_int_equal(t->op_workspace_bytes[op], 7);
	op = find(t, "r/grad_sum");
	assert_near(t->op_flops[op], 100, 0);
	assert_int_equal(t->op_read_bytes[op], 800);
	assert_int_equal(t->op_write_bytes[op], 400);
	op = find(t, "a/update");
	assert_near(t->op_flops[op], 25, 0);
	assert_int_equal(t->op_read_bytes[op], 400);
	assert_int_equal(t->op_write_bytes[op], 300);
	assert_int_equal(t->op_state_bytes[find(t, "a")], 300);
	static const char *const of_b[] = {"b", "b/grad_input", "b/grad_weight", "b/update"};
	for (size_t i = 0; i < 4; i++)
		assert_string_equal(group(t, of_b[i]), "b");
	assert_string_equal(group(t, "r/grad_input"), "");
	for (op = 0; op < t->n_ops; op++)
		assert_int_equal(t->op_backward[op], strchr(t->op_name[op], '/') != NULL);
	assert_int_equal(p.report.n_unknown, 0);
	discard(&p);
}

/* x + x's own tail: one gradient comes twice to the same sum. Then Split and an output beside an unnamed
 * tensor. */
static void test_repeated_and_named(void **state)
{
	(void)state;
	pair p = {0};
	parse(&p, HEAD "\"ops\":[{\"name\":\"a\",\"type\":\"Gemm\",\"param_bytes\":8},{\"name\":\"s\","
	               "\"type\":\"Add\"},{\"name\":\"u\",\"type\":\"Add\",\"output_bytes\":4}],"
	               "\"edges\":[{\"from\":\"a\",\"to\":\"s\",\"bytes\":4},{\"from\":\"a\",\"to\":\"u\","
	               "\"bytes\":4},{\"from\":\"s\",\"to\":\"u\",\"bytes\":4}]}");
	train(&p, BERTH_OPTIMIZER_SGD);
	assert_int_equal(n_inputs(&p.t, "a/grad_sum"), 1);
	assert_int_equal(p.t.op_read_bytes[find(&p.t, "a/grad_sum")], 8);
	assert_int_equal(p.t.op_state_bytes[find(&p.t, "a")], 8);
	discard(&p);
	p = (pair){0};
	parse(&p, HEAD "\"ops\":[{\"name\":\"a\",\"type\":\"Gemm\",\"param_bytes\":8,\"output_bytes\":40},{"
	               "\"name\":\"s\",\"type\":\"Split\"},"
	               "{\"name\":\"m\",\"type\":\"Mul\",\"write_bytes\":6}],"
	               "\"edges\":[{\"from\":\"a\",\"to\":\"s\",\"bytes\":12},{\"from\":\"a\",\"to\":\"m\","
	               "\"bytes\":9,\"tensor\":\"output\"},"
	               "{\"from\":\"s\",\"to\":\"m\",\"bytes\":6,\"tensor\":\"x\"},{\"from\":\"s\",\"to\":"
	               "\"m\",\"bytes\":6,\"tensor\":\"y\"}]}");
	train(&p, BERTH_OPTIMIZER_MOMENTUM);
	assert_int_equal(edge(&p.t, "a", "loss", "output_"), 40);
	assert_int_equal(edge(&p.t, "m", "loss", NULL), 6);
	assert_int_equal(edge(&p.t, "loss", "m/grad_input", "m"), 6);
	assert_int_equal(edge(&p.t, "loss", "a/grad_weight", "a"), 40);
	assert_int_equal(edge(&p.t, "s", "m/grad_input", "y"), 6); /* kept: each factor for the other's
	                                                              gradient */
	assert_int_equal(edge(&p.t, "m/grad_input", "s/grad_input", "input1"), 6);
	assert_int_equal(edge(&p.t, "m/grad_input", "s/grad_input", "input2"), 6);
	assert_int_equal(edge(&p.t, "s/grad_input", "a/grad_weight", NULL), 12);
	assert_int_equal(p.t.op_state_bytes[find(&p.t, "a")], 16);
	discard(&p);
}

/* Rules by type: normalisation in one operator, a product of two activations, a bias, a scale, what has no
 * gradient. */
static void test_rules(void **state)
{
	(void)state;
	pair p = {0};
	parse(&p, HEAD "\"ops\":[{\"name\":\"e\",\"type\":\"Gather\",\"flops\":10,\"param_bytes\":1000},{"
	               "\"name\":\"n\",\"type\":\"LayerNormalization\",\"flops\":10,\"param_bytes\":16},"
	               "{\"name\":\"q\",\"type\":\"Add\",\"flops\":10,\"param_bytes\":8},{\"name\":\"m\","
	               "\"type\":\"MatMul\",\"flops\":80,\"macs\":40},"
	               "{\"name\":\"z\",\"type\":\"Div\",\"flops\":4},{\"name\":\"x\",\"type\":\"Softmax\","
	               "\"flops\":4},{\"name\":\"shape\",\"type\":\"Shape\"},"
	               "{\"name\":\"odd\",\"type\":\"Odd\",\"flops\":4,\"write_bytes\":16},{\"name\":"
	               "\"mask\",\"type\":\"Relu\"}],"
	               "\"edges\":[{\"from\":\"e\",\"to\":\"n\",\"bytes\":40},{\"from\":\"n\",\"to\":\"q\","
	               "\"bytes\":40},{\"from\":\"n\",\"to\":\"m\",\"bytes\":40},"
	               "{\"from\":\"q\",\"to\":\"m\",\"bytes\":40},{\"from\":\"m\",\"to\":\"z\",\"bytes\":16}"
	               ",{\"from\":\"z\",\"to\":\"x\",\"bytes\":16},"
	               "{\"from\":\"n\",\"to\":\"shape\",\"bytes\":40},{\"from\":\"shape\",\"to\":\"odd\","
	               "\"bytes\":8},{\"from\":\"x\",\"to\":\"odd\",\"bytes\":16},"
	               "{\"from\":\"mask\",\"to\":\"odd\",\"bytes\":16}]}");
	train(&p, BERTH_OPTIMIZER_ADAM);
	const berth_graph *t = &p.t;
	assert_near(t->op_flops[find(t, "n/grad_input")], 20, 0);
	assert_int_equal(edge(t, "n/grad_input", "n/update", "weight"), 0);
	assert_int_equal(edge(t, "e", "n/grad_input", NULL), 40);
	assert_int_equal(t->op_write_bytes[find(t, "n/grad_input")], 40 + 16);
	assert_int_equal(berth_graph_find(t, "n/grad_weight"), -1);
	assert_near(t->op_flops[find(t, "m/grad_input")], 160, 0);
	assert_int_equal(n_inputs(t, "m/grad_input"), 3);
	assert_int_equal(edge(t, "m/grad_input", "q/grad_weight", "input1"), 40); /* the bias reduces what it
	                                                                             passes on */
	assert_int_equal(edge(t, "m/grad_input", "n/grad_sum", "input1"), 40);
	assert_int_equal(berth_graph_find(t, "q/grad_input"), -1);
	assert_int_equal(n_inputs(t, "q/grad_weight"), 1);
	assert_int_equal(n_inputs(t, "z/grad_input"), 1); /* a constant divisor: nothing kept */
	assert_near(t->op_flops[find(t, "x/grad_input")], 8, 0);
	assert_int_equal(edge(t, "x", "x/grad_input", NULL), 16);
	assert_int_equal(n_inputs(t, "e/grad_weight"), 1);
	assert_int_equal(t->op_write_bytes[find(t, "e/grad_weight")], 1000);
	assert_int_equal(berth_graph_find(t, "shape/grad_input"), -1);
	assert_int_equal(berth_graph_find(t, "mask/grad_input"), -1);
	assert_int_equal(n_inputs(t, "odd/grad_input"), 4); /* gradient and, of an unknown type, all inputs */
	assert_near(t->op_flops[find(t, "odd/grad_input")], 8, 0);
	assert_int_equal(edge(t, "odd/grad_input", "x/grad_input", NULL), 16);
	assert_int_equal(p.report.n_unknown, 1);
	assert_string_equal(p.report.unknown_type[0], "Odd");
	discard(&p);
}

/* Tied weights get one update; groups that meet are merged; names in use are left alone; limits and times
 * carry over. */
static void test_shared_groups_names_times(void **state)
{
	(void)state;
	pair p = {0};
	parse(&p, HEAD "\"ops\":[{\"name\":\"a\",\"type\":\"Gather\",\"flops\":10,\"colocate\":\"c\",\"pin\":"
	               "\"cpu0\"},"
	               "{\"name\":\"b\",\"type\":\"MatMul\",\"flops\":20,\"macs\":10,\"param_bytes\":40,"
	               "\"time_s\":{\"gpu\":2,\"npu\":null},\"forbid\":[\"npu1\"]},"
	               "{\"name\":\"c\",\"type\":\"MatMul\",\"flops\":20,\"macs\":10,\"param_bytes\":16,"
	               "\"state_bytes\":5},"
	               "{\"name\":\"d\",\"type\":\"Relu\",\"colocate\":\"c\"},{\"name\":\"loss\",\"type\":"
	               "\"MatMul\",\"colocate\":\"k\",\"write_bytes\":4},"
	               "{\"name\":\"b/update\",\"type\":\"Shape\"}],"
	               "\"params\":[{\"name\":\"tied\",\"bytes\":100,\"ops\":[\"a\",\"loss\"]}],"
	               "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":8},{\"from\":\"b\",\"to\":\"c\","
	               "\"bytes\":8},{\"from\":\"c\",\"to\":\"d\",\"bytes\":8},"
	               "{\"from\":\"d\",\"to\":\"loss\",\"bytes\":8},{\"from\":\"d\",\"to\":\"b/"
	               "update\",\"bytes\":8}]}");
	train(&p, BERTH_OPTIMIZER_ADAM);
	const berth_graph *t = &p.t;
	assert_int_equal(count_type(t, "OptimizerUpdate"), 3); /* tied, b, c */
	assert_int_equal(n_inputs(t, "tied/update"), 2);
	assert_int_equal(t->op_read_bytes[find(t, "tied/update")], 400);
	assert_int_equal(t->op_state_bytes[find(t, "a")], 300);
	assert_int_equal(t->op_state_bytes[find(t, "loss")], 0);
	assert_int_equal(t->op_state_bytes[find(t, "c")], 5 + 48);
	assert_int_equal(t->n_params, 1);
	static const char *const tied[] = {
		"a", "d", "loss", "loss/grad_weight", "loss/grad_input", "a/grad_weight", "tied/update"};
	for (size_t i = 0; i < sizeof tied / sizeof *tied; i++)
		assert_string_equal(group(t, tied[i]), "c");
	assert_string_equal(group(t, "c"), "c_"); /* the group of operator c is not the group called c */
	assert_string_equal(group(t, "c/grad_weight"), "c_");
	assert_string_equal(group(t, "d/grad_input"), "");
	assert_string_equal(group(t, "b/update_"), "b");
	assert_int_equal(edge(t, "loss", "loss_", NULL), 4);
	assert_string_equal(t->op_pin[find(t, "a")], "cpu0");
	static const struct {
		const char *op;
		double seconds;
	} times[] = {{"b", 2}, {"b/grad_input", 2}, {"b/grad_weight", 2}, {"b/update_", 1}};
	for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
		int32_t op = find(t, times[i].op), at = t->op_time_off[op];
		assert_int_equal(t->op_time_off[op + 1] - at, 2);
		assert_near(t->time_s[at], times[i].seconds, 1e-12);
		assert_true(isnan(t->time_s[at + 1]));
		assert_string_equal(t->forbid_dev[t->op_forbid_off[op]], "npu1");
	}
	discard(&p);
}

/* A user of a shared parameter that gets no gradient takes no part in its update. */
static void test_shared_with_idle_user(void **state)
{
	(void)state;
	pair p = {0};
	parse(&p, HEAD "\"ops\":[{\"name\":\"idle\",\"type\":\"ArgMax\",\"output_bytes\":8},{\"name\":\"a\","
	               "\"type\":\"Gather\",\"write_bytes\":4}],"
	               "\"params\":[{\"name\":\"tied\",\"bytes\":100,\"ops\":[\"idle\",\"a\"]}]}");
	train(&p, BERTH_OPTIMIZER_MOMENTUM);
	assert_int_equal(p.t.op_state_bytes[find(&p.t, "idle")], 0);
	assert_int_equal(p.t.op_state_bytes[find(&p.t, "a")], 200);
	assert_int_equal(p.t.op_output_bytes[find(&p.t, "idle")], 8);
	assert_int_equal(n_inputs(&p.t, "tied/update"), 1);
	assert_int_equal(n_inputs(&p.t, "loss"), 1);
	discard(&p);
}

/* Random graphs of all types: every parameter is updated once, the forward part stays as it was. */
static void test_random_graphs(void **state)
{
	(void)state;
	for (int seed = 0; seed < 40; seed++) {
		pair p = {0};
		berth_err err;
		char spec[96];
		int32_t holders = 0;
		snprintf(spec, sizeof spec, "zoo:random:ops=60:kinds=12:seed=%d", seed);
		assert_ok(berth_zoo_build(spec, &p.mem, &p.tmp, &p.g, &err), &err);
		train(&p, BERTH_OPTIMIZER_ADAM);
		for (int32_t op = 0; op < p.g.n_ops; op++) {
			holders += p.g.op_param_bytes[op] > 0;
			assert_string_equal(p.t.op_name[op], p.g.op_name[op]);
			assert_near(p.t.op_flops[op], p.g.op_flops[op], 0);
			assert_int_equal(p.t.op_state_bytes[op], 3 * p.g.op_param_bytes[op]);
			assert_false(p.t.op_backward[op]);
		}
		for (int32_t op = p.g.n_ops + 1; op < p.t.n_ops; op++)
			assert_true(p.t.op_backward[op]);
		assert_true(holders > 0);
		assert_int_equal(count_type(&p.t, "OptimizerUpdate"), holders);
		discard(&p);
	}
}

static int64_t peak(pair *p, const char *order)
{
	char text[256];
	berth_system s;
	berth_problem problem;
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	snprintf(text, sizeof text,
	         "{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"order\":\"%s\",\"devices\":[{"
	         "\"name\":\"d\",\"peak_flops\":1e9}]}",
	         order);
	assert_ok(berth_system_parse_json("s", text, strlen(text), &p->mem, &p->tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&p->t, &s, &p->mem, &p->tmp, &problem, &err), &err);
	assert_ok(berth_sim_new(&problem, &p->mem, &sim, &err), &err);
	int32_t *op_dev = berth_arena_alloc(&p->mem, (size_t)p->t.n_ops, sizeof *op_dev);
	berth_sim_want_peaks(sim, true);
	berth_sim_run(sim, op_dev, NULL, &r);
	assert_true(r.runs);
	return berth_sim_last(sim).peak_bytes[0];
}

/* A chain of n layers of one type, params and output of equal size each. */
static void chain(pair *p, const char *type, int32_t n, int64_t params, int64_t out)
{
	berth_builder *b;
	berth_err err;
	assert_ok(berth_builder_new(&p->tmp, "chain", &b, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		char name[16];
		snprintf(name, sizeof name, "l%d", i);
		berth_op_spec s = {.name = name,
		                   .type = type,
		                   .flops = 2e6,
		                   .macs = 1e6,
		                   .read_bytes = out + params,
		                   .write_bytes = out,
		                   .param_bytes = params,
		                   .output_bytes = i == n - 1 ? out : 0};
		assert_ok(berth_builder_op(b, &s, NULL, &err), &err);
		if (i)
			assert_ok(berth_builder_edge(b, i - 1, i, out, NULL, &err), &err);
	}
	assert_ok(berth_builder_finish(b, &p->mem, &p->g, &err), &err);
}

/* Products keep their inputs: when the loss runs, all n outputs and its gradient live, with the loss's own
 * number. Parameters, gradients and optimiser state all the time. */
static void test_memory_of_a_chain(void **state)
{
	(void)state;
	static const berth_optimizer optimizers[] = {BERTH_OPTIMIZER_SGD, BERTH_OPTIMIZER_MOMENTUM,
	                                             BERTH_OPTIMIZER_ADAM};
	for (int32_t n = 2; n <= 30; n += 7)
		for (int i = 0; i < 3; i++) {
			pair p = {0};
			chain(&p, "Gemm", n, 1000, 700);
			train(&p, optimizers[i]);
			assert_int_equal(peak(&p, "program"), n * (2 + i) * 1000 + (n + 1) * 700 + 4);
			assert_near(berth_graph_macs(&p.t), (3.0 * n - 1) * 1e6, 0);
			discard(&p);
		}
}

/* Layers whose backward pass needs nothing of the forward pass hold no activations: an input and an output
 * at a time. */
static void test_memory_without_activations(void **state)
{
	(void)state;
	pair p = {0};
	chain(&p, "Transpose", 12, 0, 700);
	int64_t param_bytes[12] = {1000}; /* something to train in front */
	p.g.op_param_bytes = param_bytes;
	train(&p, BERTH_OPTIMIZER_SGD);
	assert_int_equal(peak(&p, "program"), 2 * 1000 + 2 * 700 + 4);
	discard(&p);
}

static void train_segments(pair *p, berth_optimizer optimizer, const int32_t *op_segment)
{
	berth_err err;
	berth_training_options opt = berth_training_options_default();
	opt.optimizer = optimizer;
	opt.op_segment = op_segment;
	assert_ok(berth_graph_training(&p->g, &opt, &p->mem, &p->tmp, &p->t, &err), &err);
	assert_ok(berth_graph_check(&p->t, &err), &err);
}

/* a -> b -> {c, d} -> loss: a gradient costs at a cut what its tensor does, be it a sum or not, and so does
 * a tensor that is computed again. */
static void test_cuts(void **state)
{
	(void)state;
	pair p = {0};
	parse(&p,
	      HEAD "\"ops\":[{\"name\":\"a\",\"type\":\"Conv\",\"flops\":100,\"param_bytes\":8},{\"name\":"
	           "\"b\",\"type\":\"Conv\",\"flops\":100,\"param_bytes\":8},"
	           "{\"name\":\"c\",\"type\":\"Conv\",\"flops\":100,\"param_bytes\":8,\"output_bytes\":4},{"
	           "\"name\":\"d\",\"type\":\"Conv\",\"flops\":100,\"param_bytes\":8,\"output_bytes\":4}],"
	           "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":16,\"cut_s\":0.25},{\"from\":\"b\","
	           "\"to\":\"c\",\"bytes\":12,\"cut_s\":0.5},"
	           "{\"from\":\"b\",\"to\":\"d\",\"bytes\":12,\"cut_s\":0.5}]}");
	train(&p, BERTH_OPTIMIZER_SGD);
	assert_near(cut(&p.t, "a", "b", NULL), 0.25, 0);
	assert_near(cut(&p.t, "b", "c", NULL), 0.5, 0);
	assert_near(cut(&p.t, "a", "b/grad_weight", NULL), 0.25, 0);
	assert_near(cut(&p.t, "c/grad_input", "b/grad_sum", NULL), 0.5, 0);
	assert_near(cut(&p.t, "b/grad_sum", "b/grad_input", NULL), 0.5, 0);
	assert_near(cut(&p.t, "b/grad_input", "a/grad_weight", NULL), 0.25, 0);
	train_segments(&p, BERTH_OPTIMIZER_SGD, (const int32_t[]){0, 0, 0, 1});
	assert_near(cut(&p.t, "a/recompute", "b/grad_weight", NULL), 0.25, 0);
	discard(&p);
}

/* k segments of m products: when the backward pass enters a segment, the k - 1 tensors between segments
 * live, the m - 1 inside this one (again), the gradient that comes and the one that goes. All but the last
 * product of a segment run once more. */
static void test_recomputation_of_a_chain(void **state)
{
	(void)state;
	for (int32_t k = 2; k <= 6; k++)
		for (int32_t m = 2; m <= 7; m++) {
			pair p = {0};
			int32_t op_segment[64];
			chain(&p, "Gemm", k * m, 1000, 700);
			train(&p, BERTH_OPTIMIZER_SGD);
			int64_t kept = peak(&p, "priority");
			for (int32_t op = 0; op < k * m; op++)
				op_segment[op] = op / m;
			train_segments(&p, BERTH_OPTIMIZER_SGD, op_segment);
			assert_int_equal(peak(&p, "program"), k * m * 2 * 1000 + (k + m) * 700 + 4);
			assert_true(peak(&p, "priority") <= kept);
			assert_near(berth_graph_macs(&p.t), (4.0 * k * m - 1 - k) * 1e6, 0);
			assert_int_equal(berth_graph_find(&p.t, "l1/recompute") >= 0, m > 2);
			discard(&p);
		}
}

/* Nothing to recompute: all operators apart, or all kept. */
static void test_no_recomputation(void **state)
{
	(void)state;
	for (int i = 0; i < 2; i++) {
		pair p = {0}, plain = {0};
		int32_t op_segment[9];
		chain(&p, "Gemm", 9, 1000, 700);
		chain(&plain, "Gemm", 9, 1000, 700);
		for (int32_t op = 0; op < 9; op++)
			op_segment[op] = i ? op : -1;
		train_segments(&p, BERTH_OPTIMIZER_SGD, op_segment);
		train(&plain, BERTH_OPTIMIZER_SGD);
		assert_int_equal(p.t.n_ops, plain.t.n_ops);
		assert_int_equal(p.t.n_edges, plain.t.n_edges);
		discard(&p);
		discard(&plain);
	}
}

/* Any partition of random graphs: legal; copies cost what the originals cost, stay with the parameters, and
 * keep the backward pass off what is consumed in its own segment only. */
static void test_recomputation_of_random_graphs(void **state)
{
	(void)state;
	for (int seed = 0; seed < 60; seed++) {
		pair p = {0};
		berth_err err;
		char spec[96];
		int32_t op_segment[80];
		berth_rng rng = berth_rng_seed((uint64_t)seed, 1);
		snprintf(spec, sizeof spec, "zoo:random:ops=80:kinds=12:seed=%d", seed);
		assert_ok(berth_zoo_build(spec, &p.mem, &p.tmp, &p.g, &err), &err);
		if (seed % 2)
			berth_training_segments(&p.g, 1 + seed % 9, op_segment);
		else
			for (int32_t op = 0; op < 80; op++)
				op_segment[op] = (int32_t)berth_rng_below(&rng, 4) - 1;
		train_segments(&p, BERTH_OPTIMIZER_ADAM, op_segment);
		for (int32_t op = 0; op < p.g.n_ops; op++) {
			char name[32];
			snprintf(name, sizeof name, "%s/recompute", p.g.op_name[op]);
			int32_t copy = berth_graph_find(&p.t, name);
			if (copy >= 0) {
				assert_true(op_segment[op] >= 0);
				assert_near(p.t.op_flops[copy], p.g.op_flops[op], 0);
				assert_int_equal(p.t.op_param_bytes[copy], 0);
				assert_int_equal(p.t.op_coloc_name[copy],
				                 p.g.op_param_bytes[op] > 0 ? p.t.op_coloc_name[op] : -1);
			}
			for (int32_t t = p.g.op_tensor_off[op]; t < p.g.op_tensor_off[op + 1]; t++) {
				bool inside = op_segment[op] >= 0;
				for (int32_t e = p.g.tensor_use_off[t]; e < p.g.tensor_use_off[t + 1]; e++)
					inside &= op_segment[p.g.edge_consumer[e]] == op_segment[op];
				for (int32_t e = p.t.tensor_use_off[p.t.op_tensor_off[op]];
				     inside && e < p.t.tensor_use_off[p.t.op_tensor_off[op + 1]]; e++)
					assert_true(p.t.edge_consumer[e] < p.g.n_ops);
			}
		}
		discard(&p);
	}
}

/* A batch of pictures in pieces needs less memory and less than half the forward pass more. */
static void test_recomputation_of_the_zoo(void **state)
{
	(void)state;
	static const char *const names[] = {"resnet50:batch=64", "bert-base:batch=32", "densenet121:batch=32",
	                                    "llama:layers=4", "rnnlm"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		pair p = {0}, again = {0};
		berth_err err;
		char spec[96];
		snprintf(spec, sizeof spec, "zoo:%s:training=1:optimizer=sgd", names[i]);
		assert_ok(berth_zoo_build(spec, &p.mem, &p.tmp, &p.t, &err), &err);
		snprintf(spec, sizeof spec, "zoo:%s:training=1:optimizer=sgd:recompute=6", names[i]);
		assert_ok(berth_zoo_build(spec, &again.mem, &again.tmp, &again.t, &err), &err);
		assert_ok(berth_graph_check(&again.t, &err), &err);
		int64_t params = 2 * berth_graph_param_bytes(&p.t);
		double keep = (double)(peak(&p, "program") - params),
		       less = (double)(peak(&again, "program") - params);
		if (!(less < 0.7 * keep))
			print_message("%s: %g of %g bytes\n", names[i], less, keep);
		assert_true(less < 0.7 * keep);
		assert_true(berth_graph_macs(&again.t) > berth_graph_macs(&p.t));
		assert_true(berth_graph_macs(&again.t) <= berth_graph_macs(&p.t) * 4 / 3 + 1);
		discard(&p);
		discard(&again);
	}
}

/* Multiply-accumulates of a step: three times the forward's, less the gradient of the input picture; updates
 * and state for all parameters. */
static void test_steps_of_the_zoo(void **state)
{
	(void)state;
	static const struct { const char *name, *first; } rows[] = {
		{"resnet18", "conv1"}, {"resnet50", "conv1"}, {"inception-v3", "Conv2d_1a_3x3.conv"},
		{"mobilenet-v2", "features.0.0"}, {"vgg16", "features.0"}, {"bert-base", NULL},
		{"gpt2", NULL}, {"chain-mm", NULL}, {"llama-layer", NULL},
		{"densenet121", "features.conv0"}, {"vit", "conv_proj"}, {"unet", "down1.conv1"},
		{"transformer", NULL}, {"rnnlm", NULL}, {"gnmt:seq=8", NULL},
		{"llama:layers=2:seq=1:batch=64", NULL}, {"moe:layers=2:seq=1:batch=64", NULL},
		{"randwire", "conv1.conv"}, {"nasnet-a:size=mobile", "stem.conv"}};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		pair p = {0};
		berth_graph step;
		berth_err err;
		char spec[64];
		int64_t state_sum = 0;
		int32_t holders = 0;
		snprintf(spec, sizeof spec, "zoo:%s", rows[i].name);
		assert_ok(berth_zoo_build(spec, &p.mem, &p.tmp, &p.g, &err), &err);
		snprintf(spec, sizeof spec, "zoo:%s:training=1:optimizer=momentum", rows[i].name);
		assert_ok(berth_zoo_build(spec, &p.mem, &p.tmp, &p.t, &err), &err);
		assert_ok(berth_graph_check(&p.t, &err), &err);
		berth_training_options opt = berth_training_options_default();
		opt.report = &p.report;
		assert_ok(berth_graph_training(&p.g, &opt, &p.mem, &p.tmp, &step, &err), &err);
		assert_int_equal(p.report.n_unknown, 0);
		for (int32_t op = 0; op < step.n_ops; op++) {
			const char *from = p.g.op_name[p.report.op_of[op]], *name = step.op_name[op];
			assert_true(op >= p.g.n_ops || p.report.op_of[op] == op);
			assert_true(!strstr(name, "/grad_input") || strncmp(name, from, strlen(from)) == 0);
		}
		double first = rows[i].first ? p.g.op_macs[find(&p.g, rows[i].first)] : 0;
		assert_near(berth_graph_macs(&p.t), 3 * berth_graph_macs(&p.g) - first, 0);
		assert_near(berth_graph_flops(&p.t) / berth_graph_flops(&p.g), 3, 0.1);
		for (int32_t op = 0; op < p.t.n_ops; op++) {
			state_sum += p.t.op_state_bytes[op];
			holders += p.t.op_param_bytes[op] > 0;
		}
		assert_int_equal(shapes_missing(&p.t), 0);
		assert_int_equal(state_sum, 2 * berth_graph_param_bytes(&p.t));
		assert_int_equal(count_type(&p.t, "OptimizerUpdate"), holders + p.t.n_params);
		assert_int_equal(count_type(&p.t, "SoftmaxCrossEntropyLoss"), 1);
		discard(&p);
	}
}

/* Gradients of products are products with their sides in another order. */
static void test_shapes(void **state)
{
	(void)state;
	pair p = {0};
	berth_err err;
	assert_ok(berth_zoo_build("zoo:bert-base:seq=32:dtype=f16:training=1:recompute=6", &p.mem, &p.tmp,
	                          &p.t, &err),
	          &err);
	assert_shape(&p.t, "layer.3.output.matmul", BERTH_F16, PRODUCT, 1, 32, 768, 3072);
	assert_shape(&p.t, "layer.3.output.matmul/grad_input", BERTH_F16, PRODUCT, 1, 32, 3072, 768);
	assert_shape(&p.t, "layer.3.output.matmul/grad_weight", BERTH_F16, PRODUCT, 1, 3072, 768, 32);
	assert_shape(&p.t, "layer.3.output.matmul/update", BERTH_F16, ROWS, 3072, 768);
	assert_shape(&p.t, "layer.3.attention.scores/grad_input", BERTH_F16, PRODUCT, 24, 32, 64, 32);
	assert_shape(&p.t, "layer.3.attention.softmax/grad_input", BERTH_F16, ROWS, 12 * 32, 32);
	assert_shape(&p.t, "layer.3.gelu/recompute", BERTH_F16, ROWS, 32, 3072);
	assert_shape(&p.t, "layer.3.output.norm/grad_sum", BERTH_F16, ROWS, 32, 768);
	discard(&p);
	assert_ok(berth_zoo_build("zoo:mobilenet-v2:training=1", &p.mem, &p.tmp, &p.t, &err), &err);
	assert_shape(&p.t, "features.2.conv.1.0/grad_weight", BERTH_F32, CONV, 1, 96, 96, 56 * 56, 9, 2, 96,
	             1);
	assert_shape(&p.t, "loss", BERTH_F32, ROWS, 1, 1000);
	discard(&p);
}

/* The activations that a batch of pictures leaves for the backward pass outweigh the parameters, and grow
 * with the batch. */
static void test_memory_grows_with_the_batch(void **state)
{
	(void)state;
	int64_t bytes[3], params = 0;
	for (int i = 0; i < 3; i++) {
		pair p = {0};
		berth_err err;
		char spec[64];
		snprintf(spec, sizeof spec, "zoo:resnet18:training=1:batch=%d", 8 * (i + 1));
		assert_ok(berth_zoo_build(spec, &p.mem, &p.tmp, &p.t, &err), &err);
		bytes[i] = peak(&p, "program");
		params = berth_graph_param_bytes(&p.t);
		discard(&p);
	}
	int64_t step = bytes[1] - bytes[0];
	assert_int_equal(bytes[2] - bytes[1], step);
	assert_int_equal(bytes[0] - step, 4 * params + 4); /* what is left without a batch: parameters and
	                                                      state, and the loss */
}

/* Two products behind each other whose weights are w and v, cut in two along the batch, joined at the end:
 * two replicas, or one copy where only one is asked for. */
static void test_pieces_share(void **state)
{
	(void)state;
	static const char text[] = HEAD
		"\"ops\":[{\"name\":\"a/piece 1 of 2\",\"type\":\"MatMul\",\"flops\":80,\"macs\":40},"
		"{\"name\":\"a/piece 2 of 2\",\"type\":\"MatMul\",\"flops\":80,\"macs\":40},"
		"{\"name\":\"b/piece 1 of 2\",\"type\":\"MatMul\",\"flops\":80,\"macs\":40},"
		"{\"name\":\"b/piece 2 of 2\",\"type\":\"MatMul\",\"flops\":80,\"macs\":40},"
		"{\"name\":\"y/joined\",\"type\":\"Concat\",\"output_bytes\":32}],"
		"\"params\":[{\"name\":\"w\",\"bytes\":100,\"ops\":[\"a/piece 1 of 2\",\"a/piece 2 of 2\"]},"
		"{\"name\":\"v\",\"bytes\":41,\"ops\":[\"b/piece 1 of 2\",\"b/piece 2 of 2\"]}],"
		"\"edges\":[{\"from\":\"a/piece 1 of 2\",\"to\":\"b/piece 1 of 2\",\"bytes\":8},"
		"{\"from\":\"a/piece 2 of 2\",\"to\":\"b/piece 2 of 2\",\"bytes\":8},"
		"{\"from\":\"b/piece 1 of 2\",\"to\":\"y/joined\",\"bytes\":16},"
		"{\"from\":\"b/piece 2 of 2\",\"to\":\"y/joined\",\"bytes\":16}]}";
	for (int32_t replicas = 0; replicas < 2; replicas++) {
		pair p = {0};
		berth_err err;
		berth_training_options opt = berth_training_options_default();
		opt.replicas = replicas;
		parse(&p, text);
		assert_ok(berth_graph_training(&p.g, &opt, &p.mem, &p.tmp, &p.t, &err), &err);
		assert_ok(berth_graph_check(&p.t, &err), &err);
		const berth_graph *t = &p.t;
		bool one = replicas == 1;
		assert_int_equal(berth_graph_find(t, "y/joined"), -1);
		assert_int_equal(count_type(t, "AllReduce"), one ? 0 : 4);
		assert_int_equal(count_type(t, "OptimizerUpdate"), one ? 2 : 4);
		assert_int_equal(count_type(t, "SoftmaxCrossEntropyLoss"), 2);
		assert_int_equal(t->op_state_bytes[find(t, "b/piece 1 of 2")], 3 * 41);
		assert_int_equal(t->op_state_bytes[find(t, "b/piece 2 of 2")], one ? 0 : 3 * 41);
		assert_int_equal(strcmp(group(t, "a/piece 1 of 2"), group(t, "a/piece 2 of 2")) == 0, one);
		if (!one) {
			assert_int_equal(
				edge(t, "b/piece 1 of 2/grad_weight", "v/all_reduce 2 of 2", "v/share 2"),
				20);
			assert_int_equal(
				edge(t, "b/piece 1 of 2/grad_weight", "v/all_reduce 1 of 2", "v/share 1"), 0);
			assert_int_equal(
				edge(t, "b/piece 2 of 2/grad_weight", "v/all_reduce 1 of 2", "v/share 1"),
				21);
			assert_int_equal(edge(t, "v/all_reduce 1 of 2", "v/update 2 of 2", NULL), 21);
			assert_int_equal(t->op_read_bytes[find(t, "v/all_reduce 1 of 2")], 42);
			assert_string_equal(group(t, "v/all_reduce 2 of 2"), group(t, "b/piece 2 of 2"));
			assert_int_equal(edge(t, "b/piece 2 of 2", "loss/piece 2 of 2", NULL), 16);
		}
		discard(&p);
	}
}

/* Only a join of pieces leaves: no operator that happens to be called so. */
static void test_names_like_joins(void **state)
{
	(void)state;
	static const struct { const char *from, *type, *params; bool leaves;
	} cases[] = {
		{"a/piece 1 of 1", "Concat", "", true},
		{"a/sum 1 of 1", "Concat", "", true},
		{"a/piece 1 of 1", "MatMul", "", false},
		{"a/piece 1 of 1", "Concat", ",\"param_bytes\":12", false},
		{"a", "Concat", "", false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		pair p = {0};
		char text[1024];
		snprintf(text, sizeof text,
		         HEAD "\"ops\":[{\"name\":\"%s\",\"type\":\"MatMul\",\"flops\":80,\"macs\":40,"
		              "\"param_bytes\":8},{\"name\":\"y/joined\",\"type\":\"%s\","
		              "\"output_bytes\":32%s}],"
		              "\"edges\":[{\"from\":\"%s\",\"to\":\"y/joined\",\"bytes\":16}]}",
		         cases[i].from, cases[i].type, cases[i].params, cases[i].from);
		parse(&p, text);
		train(&p, BERTH_OPTIMIZER_ADAM);
		assert_int_equal(berth_graph_find(&p.t, "y/joined") < 0, cases[i].leaves);
		assert_int_equal(count_type(&p.t, "OptimizerUpdate"), *cases[i].params ? 2 : 1);
		discard(&p);
	}
}

/* Four pieces in two replicas; pieces of pieces. */
static void test_replicas_of_pieces(void **state)
{
	(void)state;
	pair p = {0};
	berth_err err;
	berth_training_options opt = berth_training_options_default();
	opt.replicas = 2;
	parse(&p,
	      HEAD "\"ops\":[{\"name\":\"a/piece 1 of 2/piece 1 of 4\"},{\"name\":\"a/piece 1 of 2/piece 2 "
	           "of 4\"},"
	           "{\"name\":\"a/piece 1 of 2/piece 3 of 4\"},{\"name\":\"a/piece 2 of 2/piece 1 of 4\"}],"
	           "\"params\":[{\"name\":\"w\",\"bytes\":30,\"ops\":[\"a/piece 1 of 2/piece 1 of 4\","
	           "\"a/piece 1 of 2/piece 2 of 4\",\"a/piece 1 of 2/piece 3 of 4\",\"a/piece 2 of 2/piece 1 "
	           "of 4\"]}]}");
	assert_ok(berth_graph_training(&p.g, &opt, &p.mem, &p.tmp, &p.t, &err), &err);
	const berth_graph *t = &p.t;
	assert_int_equal(count_type(t, "AllReduce"), 3);
	assert_string_equal(group(t, "a/piece 1 of 2/piece 1 of 4"), group(t, "a/piece 1 of 2/piece 2 of 4"));
	assert_true(strcmp(group(t, "a/piece 1 of 2/piece 2 of 4"),
	                   group(t, "a/piece 1 of 2/piece 3 of 4")) != 0);
	assert_true(strcmp(group(t, "a/piece 1 of 2/piece 1 of 4"),
	                   group(t, "a/piece 2 of 2/piece 1 of 4")) != 0);
	assert_int_equal(n_inputs(t, "w/grad_sum 1 of 3"), 2);
	assert_int_equal(edge(t, "w/grad_sum 1 of 3", "w/all_reduce 2 of 3", "w/share 2"), 10);
	discard(&p);
}

/* The gradients of two slices of one tensor are put side by side by its sum. */
static void test_slices(void **state)
{
	(void)state;
	pair p = {0};
	parse(&p,
	      HEAD "\"ops\":[{\"name\":\"a\",\"type\":\"MatMul\",\"flops\":20,\"macs\":10,\"param_bytes\":8},"
	           "{\"name\":\"s\",\"type\":\"Slice\"},{\"name\":\"u\",\"type\":\"Slice\"},"
	           "{\"name\":\"b\",\"type\":\"Add\",\"output_bytes\":8}],"
	           "\"edges\":[{\"from\":\"a\",\"to\":\"s\",\"bytes\":16},{\"from\":\"a\",\"to\":\"u\","
	           "\"bytes\":16},"
	           "{\"from\":\"s\",\"to\":\"b\",\"bytes\":8},{\"from\":\"u\",\"to\":\"b\",\"bytes\":8}]}");
	train(&p, BERTH_OPTIMIZER_ADAM);
	const berth_graph *t = &p.t;
	assert_int_equal(berth_graph_find(t, "s/grad_input"), -1);
	assert_int_equal(edge(t, "loss", "a/grad_sum", NULL), 8);
	assert_int_equal(edge(t, "a/grad_sum", "a/grad_weight", NULL), 16);
	assert_int_equal(t->op_read_bytes[find(t, "a/grad_sum")], 16);
	assert_int_equal(t->op_write_bytes[find(t, "a/grad_sum")], 16);
	discard(&p);
}

static void test_errors(void **state)
{
	(void)state;
	static const struct { const char *text, *part; int64_t elem;
	} cases[] = {
		{"\"ops\":[]}", "no output depends on parameters", 4},
		{"\"ops\":[{\"name\":\"a\"}]}", "no output depends on parameters", 4},
		{"\"ops\":[{\"name\":\"a\",\"param_bytes\":4},{\"name\":\"s\",\"type\":\"Shape\"}],\"edges\":"
	         "[{\"from\":\"a\",\"to\":\"s\",\"bytes\":1}]}",
	         "no output depends", 4},
		{"\"ops\":[{\"name\":\"a\",\"backward\":true}]}", "operator 'a' is a backward operator", 4},
		{"\"ops\":[{\"name\":\"a\",\"param_bytes\":4}]}", "elem_bytes is 0; expected 1 or more", 0},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		pair p = {0};
		berth_err err = {0};
		char text[512];
		berth_training_options opt = berth_training_options_default();
		opt.elem_bytes = cases[i].elem;
		snprintf(text, sizeof text, HEAD "%s", cases[i].text);
		parse(&p, text);
		p.t.n_ops = -7;
		assert_int_equal(berth_graph_training(&p.g, &opt, &p.mem, &p.tmp, &p.t, &err), BERTH_EINVAL);
		assert_contains(err.msg, cases[i].part);
		assert_int_equal(p.t.n_ops, -7);
		discard(&p);
	}
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	pair p = {0};
	berth_err err;
	assert_ok(berth_zoo_build("zoo:resnet18", &p.mem, &p.tmp, &p.g, &err), &err);
	int32_t op_segment[100];
	assert_true(p.g.n_ops <= 100);
	berth_training_segments(&p.g, 5, op_segment);
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_graph g;
		berth_training_report report;
		berth_training_options opt = berth_training_options_default();
		opt.report = &report;
		opt.op_segment = op_segment;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = berth_graph_training(&p.g, &opt, &mem, &tmp, &g, &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 0);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
	discard(&p);
}

static void test_bad_segments(void **state)
{
	(void)state;
	pair p = {0};
	berth_err err = {0};
	int32_t op_segment[3] = {0, 3, -1};
	berth_training_options opt = berth_training_options_default();
	opt.op_segment = op_segment;
	chain(&p, "Gemm", 3, 8, 8);
	assert_int_equal(berth_graph_training(&p.g, &opt, &p.mem, &p.tmp, &p.t, &err), BERTH_EINVAL);
	assert_contains(err.msg, "operator 'l1' is in segment 3; expected -1 to 2");
	discard(&p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_branches),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_repeated_and_named),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_shared_groups_names_times),
		cmocka_unit_test(test_shared_with_idle_user),
		cmocka_unit_test(test_random_graphs),
		cmocka_unit_test(test_memory_of_a_chain),
		cmocka_unit_test(test_memory_without_activations),
		cmocka_unit_test(test_recomputation_of_a_chain),
		cmocka_unit_test(test_no_recomputation),
		cmocka_unit_test(test_recomputation_of_random_graphs),
		cmocka_unit_test(test_recomputation_of_the_zoo),
		cmocka_unit_test(test_steps_of_the_zoo),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_memory_grows_with_the_batch),
		cmocka_unit_test(test_pieces_share),
		cmocka_unit_test(test_names_like_joins),
		cmocka_unit_test(test_replicas_of_pieces),
		cmocka_unit_test(test_slices),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_bad_segments),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
