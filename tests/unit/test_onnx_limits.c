/* Files made to be expensive: whatever an ONNX file of a quarter of a megabyte holds, reading it takes time
 * that is linear in its size, at most 4 bytes of memory a byte and 16 MB (nodes of 48 to 255 bytes 400 more).
 * The answer is a graph or an error of format. */
#include "onnx.h"
#include "onnx_costly.h"
#include "support.h"
#include "threads.h"

#include <stdlib.h>

enum { SIZE = 1 << 18, SPARE = 16 * 1000 * 1000 };

static double read_costly(void *kind, int size)
{
	onnx_file file = {0};
	metering_allocator c;
	berth_arena mem, tmp;
	berth_graph g;
	berth_err err = {0};
	metering_allocator_init(&c);
	berth_arena_init(&mem, &c.hook);
	berth_arena_init(&tmp, &c.hook);
	size_t granted = onnx_write_costly(&file, *(const int *)kind, (size_t)size);
	double start = berth_cpu_seconds();
	berth_status st =
		berth_graph_parse_onnx("f.onnx", file.data, file.n, NULL, &mem, &tmp, &g, NULL, &err);
	double seconds = berth_cpu_seconds() - start;
	print_message("%-22s %7zu bytes: %5.1f MB: %.100s\n", onnx_costly_name(*(const int *)kind), file.n,
	              (double)c.peak / 1e6, st == BERTH_OK ? "read" : err.msg);
	assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
	assert_true(c.peak <= 4 * file.n + SPARE + 400 * granted);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	free(file.data);
	return seconds;
}

static void test_limits(void **state)
{
	(void)state;
	for (int kind = 0; kind < ONNX_COSTLY_KINDS; kind++)
		assert_linear(read_costly, &kind, SIZE, onnx_costly_name(kind));
}

static void test_large_model(void **state)
{
	(void)state;
	static const char *const formats[] = {"/model/layers.%u/self_attn/rotary_emb/%s_%u", "%.0u%s_%u"};
	enum { N = 20000 };
	for (int i = 0; i < 2; i++) {
		onnx_file file = {0};
		metering_allocator c;
		berth_arena mem, tmp;
		berth_graph g;
		berth_read_report r;
		berth_err err;
		metering_allocator_init(&c);
		berth_arena_init(&mem, &c.hook);
		berth_arena_init(&tmp, &c.hook);
		onnx_write_exported(&file, N, formats[i]);
		assert_ok(berth_graph_parse_onnx("f.onnx", file.data, file.n, NULL, &mem, &tmp, &g, &r, &err),
		          &err);
		print_message("%d nodes of %zu bytes each: %zu bytes of memory a node, %.1f a byte\n", N,
		              file.n / N, c.peak / N, (double)c.peak / (double)file.n);
		assert_int_equal(g.n_ops, N);
		assert_true(r.param_elements >= 768.0 * 768 * N / 10);
		assert_true(c.peak <= 4 * file.n + SPARE + 400 * (size_t)N);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		free(file.data);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_limits), cmocka_unit_test(test_large_model)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
