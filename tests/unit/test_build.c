/* What graphs are built from: a map of names, sorting, columns that grow in parts; a builder whose operators
 * and edges are changed before the graph is made. */
#include "columns.h"
#include "graph.h"
#include "name_index.h"
#include "rng.h"
#include "sort.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *ctx, int32_t a, int32_t b)
{
	const uint32_t *x = ctx;
	return (x[a] > x[b]) - (x[a] < x[b]);
}

static void test_sort(void **state)
{
	(void)state;
	enum { MOST = 200 };
	uint32_t value[MOST];
	int32_t x[MOST], scratch[MOST];
	berth_rng rng = berth_rng_seed(1, 1);
	for (int32_t round = 0; round < 400; round++) {
		int32_t n = round % MOST;
		for (int32_t i = 0; i < n; i++) {
			value[i] = berth_rng_next(&rng) % (uint32_t)(1 + round);
			x[i] = i;
		}
		berth_sort(x, (size_t)n, scratch, by_value, value);
		for (int32_t i = 1; i < n; i++) /* each once, as equals ascend */
			assert_true(value[x[i - 1]] < value[x[i]] ||
			            (value[x[i - 1]] == value[x[i]] && x[i - 1] < x[i]));
	}
}

static const char *name_of(const void *list, int32_t i)
{
	return ((const char(*)[8])list)[i];
}

static void test_name_index(void **state)
{
	(void)state;
	enum { MOST = 20000 };
	static char list[MOST][8];
	berth_arena mem = {0};
	berth_name_index x;
	berth_err err;
	int32_t found;
	berth_name_index_init(&x, &mem, name_of, list);
	assert_int_equal(berth_name_index_get(&x, "0"), -1);
	for (int32_t i = 0; i < MOST; i++) {
		snprintf(list[i], sizeof list[i], "%d", i);
		assert_int_equal(berth_name_index_get(&x, list[i]), -1);
		assert_ok(berth_name_index_add(&x, &found, &err), &err);
		assert_int_equal(found, i);
	}
	for (int32_t i = 0; i < MOST; i++)
		assert_int_equal(berth_name_index_get(&x, list[i]), i);
	assert_int_equal(berth_name_index_get(&x, "20000"), -1);
	berth_arena_free(&mem);
}

static void test_columns(void **state)
{
	(void)state;
	enum { ROWS = 20000 };
	static const unsigned char width[] = {1, 4, 8, 8, sizeof(char *)};
	static int64_t whole[ROWS];
	berth_arena mem = {0};
	columns c;
	berth_err err;
	columns_init(&c, &mem, width, 5);
	for (size_t i = 0; i < ROWS; i++) {
		assert_ok(columns_add(&c, &err), &err);
		assert_ok(columns_set_byte(&c, 0, i, (unsigned char)i, &err), &err);
		assert_ok(columns_set_int(&c, 1, i, -(int32_t)i, &err), &err);
		if (i % 10000 == 9999) /* a few of them */
			assert_ok(columns_set_long(&c, 2, i, (int64_t)i << 40, &err), &err);
		assert_ok(columns_set_double(&c, 3, i, 0, &err), &err);
		assert_ok(columns_set_text(&c, 4, i, i % 3 ? "x" : NULL, &err), &err);
	}
	for (size_t i = 0; i < ROWS; i++) {
		assert_int_equal(columns_byte(&c, 0, i), i % 256);
		assert_int_equal(columns_int(&c, 1, i), -(int32_t)i);
		assert_int_equal(columns_long(&c, 2, i), i % 10000 == 9999 ? (int64_t)i << 40 : 0);
		assert_true(columns_double(&c, 3, i) == 0 &&
		            (columns_text(&c, 4, i) != NULL) == (i % 3 != 0));
	}
	assert_true(columns_used(&c, 2) && !columns_used(&c, 3)); /* zeros take nothing */
	columns_move(&c, 2, whole);
	for (size_t i = 0; i < ROWS; i++)
		assert_int_equal(whole[i], i % 10000 == 9999 ? (int64_t)i << 40 : 0);
	assert_true(!columns_used(&c, 2) && columns_used(&c, 1));
	columns_drop_all(&c);
	assert_true(columns_int(&c, 1, ROWS - 1) == 0 && !columns_text(&c, 4, 1));
	assert_ok(columns_set_int(&c, 1, 7, 9, &err), &err);
	assert_true(columns_int(&c, 1, 7) == 9 && columns_int(&c, 1, 8) == 0);
	berth_arena_free(&mem);
}

/* Values that count up, or are the same everywhere, take no memory until one of them is another. */
static void test_columns_of_runs(void **state)
{
	(void)state;
	enum { ROWS = 100000 };
	static const unsigned char width[] = {4, 4, 8, sizeof(char *)};
	static char names[8 * ROWS];
	static int32_t copy[ROWS];
	berth_arena mem = {0};
	columns c;
	berth_err err;
	columns_init(&c, &mem, width, 4);
	for (size_t i = 0; i < ROWS; i++) {
		assert_ok(columns_add(&c, &err), &err);
		assert_ok(columns_set_int(&c, 0, i, (int32_t)i - 5, &err), &err);
		assert_ok(columns_set_int(&c, 1, i, 7, &err), &err);
		assert_ok(columns_set_double(&c, 2, i, 0.5, &err), &err);
		assert_ok(columns_set_text(&c, 3, i, names + 8 * i, &err), &err);
	}
	assert_true(berth_arena_size(&mem) < 40000);
	assert_ok(columns_set_int(&c, 0, 70000, -1, &err), &err);
	assert_ok(columns_set_int(&c, 1, 3, 8, &err), &err);
	for (size_t i = 0; i < ROWS; i++) {
		assert_int_equal(columns_int(&c, 0, i), i == 70000 ? -1 : (int32_t)i - 5);
		assert_int_equal(columns_int(&c, 1, i), i == 3 ? 8 : 7);
		assert_true(fabs(columns_double(&c, 2, i) - 0.5) <= 0);
		assert_ptr_equal(columns_text(&c, 3, i), names + 8 * i);
	}
	columns_move(&c, 0, copy);
	for (size_t i = 0; i < ROWS; i++)
		assert_int_equal(copy[i], i == 70000 ? -1 : (int32_t)i - 5);
	berth_arena_free(&mem);
}

/* Beside an array, with values that are often those of a run. */
static void test_columns_of_anything(void **state)
{
	(void)state;
	enum { ROWS = 60 };
	static const unsigned char width[] = {4};
	berth_rng rng = berth_rng_seed(1, 0);
	berth_err err;
	for (int round = 0; round < 2000; round++) {
		berth_arena mem = {0};
		columns c;
		int32_t plain[ROWS] = {0}, copy[ROWS] = {0};
		bool any = false;
		columns_init(&c, &mem, width, 1);
		for (size_t i = 0; i < ROWS; i++)
			assert_ok(columns_add(&c, &err), &err);
		for (uint32_t i = 0, k = 0; i < 80; i++) {
			k = berth_rng_below(&rng, 12) ? (k + 1) % ROWS : berth_rng_below(&rng, ROWS);
			plain[k] = (int32_t)(berth_rng_below(&rng, 9) ? k * (uint32_t)(round % 3) : 4);
			assert_ok(columns_set_int(&c, 0, k, plain[k], &err), &err);
			any |= plain[k] != 0;
		}
		for (size_t i = 0; i < ROWS; i++)
			assert_int_equal(columns_int(&c, 0, i), plain[i]);
		assert_true(columns_used(&c, 0) == any);
		columns_move(&c, 0, copy);
		assert_memory_equal(copy, plain, sizeof copy);
		berth_arena_free(&mem);
	}
}

static void test_changes(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_builder *b;
	berth_graph g;
	berth_err err;
	berth_op_spec spec = {.name = "a", .type = "Old", .flops = 7, .pin = "cpu0"};
	int32_t a, c;
	assert_ok(berth_builder_new(&tmp, "g", &b, &err), &err);
	assert_ok(berth_builder_op(b, &spec, &a, &err), &err);
	berth_builder_get(b, a, &spec);
	assert_string_equal(spec.type, "Old");
	assert_string_equal(spec.pin, "cpu0");
	spec.type = "New";
	spec.pin = NULL;
	spec.read_bytes = 9;
	assert_ok(berth_builder_set(b, a, &spec, &err), &err);
	spec = (berth_op_spec){.name = "c", .type = "New"};
	assert_ok(berth_builder_op(b, &spec, &c, &err), &err);
	assert_ok(berth_builder_own_edge(b, a, c, 5, &err), &err);
	assert_ok(berth_builder_edge(b, a, c, 5, "t", &err), &err);
	assert_int_equal(berth_builder_edges(b), 2);
	assert_ok(berth_builder_set_edge(b, 1, 6, NULL, false, &err), &err);
	assert_int_equal(berth_builder_set_edge(b, 1, -1, NULL, false, &err), BERTH_EFORMAT);
	assert_ok(berth_builder_finish(b, &mem, &g, &err), &err);
	assert_ok(berth_graph_check(&g, &err), &err);
	berth_arena_free(&tmp);
	assert_int_equal(g.n_types, 1); /* words that nobody has in the end are gone */
	assert_string_equal(g.type_name[g.op_type[a]], "New");
	assert_null(g.op_pin[a]);
	assert_true(g.op_flops[a] == 7 && g.op_read_bytes[a] == 9 && g.op_read_bytes[c] == 0);
	assert_int_equal(g.n_tensors, 2);
	assert_null(g.tensor_name[0]);
	assert_int_equal(g.tensor_bytes[0], 6);
	assert_ptr_equal(g.tensor_name[1], g.op_name[c]);
	assert_int_equal(g.tensor_bytes[1], 5);
	berth_arena_free(&mem);
}

/* What no reader hands on is refused here, too. */
static void test_refuses(void **state)
{
	(void)state;
	static const berth_op_spec bad[] = {
		{.name = NULL},
		{.name = ""},
		{.name = "x", .flops = -1},
		{.name = "x", .flops = INFINITY},
		{.name = "x", .macs = NAN},
		{.name = "x", .read_bytes = -1},
		{.name = "x", .write_bytes = -1},
		{.name = "x", .param_bytes = -1},
		{.name = "x", .state_bytes = INT64_MAX},
		{.name = "x", .workspace_bytes = -1},
		{.name = "x", .output_bytes = -1},
		{.name = "a"},
	};
	berth_arena tmp = {0};
	berth_builder *b;
	berth_err err;
	int32_t a, c, p;
	assert_ok(berth_builder_new(&tmp, "g", &b, &err), &err);
	assert_ok(berth_builder_op(b, &(berth_op_spec){.name = "a"}, &a, &err), &err);
	assert_ok(berth_builder_op(b, &(berth_op_spec){.name = "c"}, &c, &err), &err);
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
		assert_int_equal(berth_builder_op(b, &bad[i], NULL, &err), BERTH_EFORMAT);
	assert_int_equal(berth_builder_set(b, a, &bad[5], &err), BERTH_EFORMAT);
	assert_int_equal(berth_builder_time(b, a, "d", -1, &err), BERTH_EFORMAT);
	assert_int_equal(berth_builder_time(b, a, "d", 2e6, &err), BERTH_EFORMAT);
	assert_int_equal(berth_builder_edge(b, a, c, -1, NULL, &err), BERTH_EFORMAT);
	assert_int_equal(berth_builder_own_edge(b, a, c, INT64_MAX, &err), BERTH_EFORMAT);
	assert_ok(berth_builder_edge(b, a, c, 1, NULL, &err), &err);
	assert_int_equal(berth_builder_cut(b, -1, &err), BERTH_EFORMAT);
	assert_int_equal(berth_builder_cut(b, 1e9, &err), BERTH_EFORMAT);
	assert_int_equal(berth_builder_param(b, "p", -1, &p, &err), BERTH_EFORMAT);
	assert_int_equal(berth_builder_param(b, "p", INT64_MAX, &p, &err), BERTH_EFORMAT);
	assert_ok(berth_builder_param(b, "p", 1, &p, &err), &err);
	assert_int_equal(berth_builder_param(b, "p", 1, &p, &err), BERTH_EFORMAT);
	assert_int_equal(berth_builder_ops(b), 2); /* what was refused is not there */
	assert_int_equal(berth_builder_edges(b), 1);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sort), cmocka_unit_test(test_name_index),
	                                   cmocka_unit_test(test_columns),
	                                   cmocka_unit_test(test_columns_of_runs),
	                                   cmocka_unit_test(test_columns_of_anything),
	                                   cmocka_unit_test(test_changes),
	                                   cmocka_unit_test(test_refuses)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
