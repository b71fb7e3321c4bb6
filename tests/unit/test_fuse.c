/* Kernels as operators: what a fused graph keeps of the plain one. */
#include "coarsen.h"
#include "support.h"
#include "zoo.h"

#include <math.h>
#include <string.h>

static void build(const char *spec, berth_graph *g, berth_arena *mem, berth_arena *tmp)
{
	berth_err err;
	assert_ok(berth_zoo_build(spec, mem, tmp, g, &err), &err);
}

static int64_t sum(const int64_t *x, int32_t n)
{
	int64_t s = 0;
	for (int32_t i = 0; i < n; i++)
		s += x[i];
	return s;
}

static int32_t of_type(const berth_graph *g, const char *type)
{
	int32_t n = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		n += g->op_type[op] >= 0 && strcmp(g->type_name[g->op_type[op]], type) == 0;
	return n;
}

/* Work and memory stay, traffic falls, and every graph has an order. */
static void test_sums(void **state)
{
	(void)state;
	static const char *const specs[] = {"zoo:resnet18", "zoo:bert-base",    "zoo:gnmt",
	                                    "zoo:nasnet-a", "zoo:inception-v3", "zoo:vit"};
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g, f;
		berth_err err;
		build(specs[i], &g, &mem, &tmp);
		assert_ok(berth_graph_fuse(&g, &mem, &tmp, &f, &err), &err);
		assert_ok(berth_graph_check(&f, &err), &err);
		assert_true(f.n_ops < g.n_ops);
		assert_true(fabs(berth_graph_flops(&f) / berth_graph_flops(&g) - 1) < 1e-12);
		assert_true(berth_graph_param_bytes(&f) == berth_graph_param_bytes(&g));
		assert_true(sum(f.op_output_bytes, f.n_ops) == sum(g.op_output_bytes, g.n_ops));
		assert_true(sum(f.op_read_bytes, f.n_ops) < sum(g.op_read_bytes, g.n_ops));
		assert_true(sum(f.op_write_bytes, f.n_ops) < sum(g.op_write_bytes, g.n_ops));
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* A convolution takes its norm and its activation, and keeps its shape; attention is one kernel. */
static void test_kernels(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g, f;
	berth_err err;
	build("zoo:resnet18", &g, &mem, &tmp);
	assert_ok(berth_graph_fuse(&g, &mem, &tmp, &f, &err), &err);
	int32_t conv = berth_graph_find(&f, "conv1"), plain = berth_graph_find(&g, "conv1");
	assert_true(conv >= 0);
	assert_int_equal(berth_graph_dims(&f, conv)->kind, BERTH_DIMS_CONV);
	assert_true(f.op_flops[conv] > g.op_flops[plain] && f.op_macs[conv] == g.op_macs[plain]);
	assert_int_equal(of_type(&f, "BatchNormalization") + of_type(&f, "Relu"), 0);
	assert_int_equal(of_type(&f, "Conv"), of_type(&g, "Conv"));
	build("zoo:bert-base", &g, &mem, &tmp);
	assert_ok(berth_graph_fuse(&g, &mem, &tmp, &f, &err), &err);
	assert_int_equal(of_type(&f, "Softmax"), 0);
	assert_int_equal(of_type(&f, "MatMul"), of_type(&g, "MatMul") - 12);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* What is pinned stays by itself. */
static void test_pins(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g, f;
	berth_err err;
	build("zoo:resnet18", &g, &mem, &tmp);
	int32_t relu = berth_graph_find(&g, "relu");
	assert_ok(BERTH_NEW(&mem, g.op_pin, g.n_ops, &err), &err);
	g.op_pin[relu] = "gpu0";
	assert_ok(berth_graph_fuse(&g, &mem, &tmp, &f, &err), &err);
	relu = berth_graph_find(&f, "relu");
	assert_true(relu >= 0);
	assert_string_equal(f.op_pin[relu], "gpu0");
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sums), cmocka_unit_test(test_kernels),
	                                   cmocka_unit_test(test_pins)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
