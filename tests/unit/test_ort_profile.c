/* Times out of ONNX Runtime's profiles: what joins, medians, kinds of devices, failing allocations, and a
 * large profile in little memory. */
#include "file.h"
#include "graph_format.h"
#include "load.h"
#include "onnx.h"
#include "ort_profile.h"
#include "support.h"
#include "threads.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char graph_text[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"a\",\"time_s\":{"
        "\"cpu\":1,\"npu0\":2}},{\"name\":\"b\"}],\"edges\":[]}";

#define EVENT(name, us, provider)                                                                            \
	"{\"cat\":\"Node\",\"dur\":" #us ",\"name\":\"" name                                                 \
	"_kernel_time\",\"args\":{\"provider\":\"" provider "\"}}"

static void read_graph(berth_arena *mem, berth_graph *g)
{
	berth_arena tmp = {0};
	berth_err err;
	assert_ok(berth_graph_parse_json("g.json", graph_text, sizeof graph_text - 1, mem, &tmp, g, &err),
	          &err);
	berth_arena_free(&tmp);
}

static double time_of(const berth_graph *g, int32_t op, const char *key)
{
	for (int32_t i = g->op_time_off[op]; i < g->op_time_off[op + 1]; i++)
		if (strcmp(berth_graph_time_name(g, i), key) == 0)
			return g->time_s[i];
	return NAN;
}

static void join(const char *text, const char *device, berth_arena *mem, berth_graph *timed,
                 berth_ort_report *r)
{
	berth_arena tmp = {0};
	berth_graph g;
	berth_err err;
	read_graph(mem, &g);
	assert_ok(berth_graph_ort_times("p.json", text, strlen(text), device, &g, mem, &tmp, timed, r, &err),
	          &err);
	assert_ok(berth_graph_check(timed, &err), &err);
	assert_int_equal(berth_arena_size(&tmp), 0);
}

static void test_medians(void **state)
{
	(void)state;
	static const struct { const char *text; double a, b;
	} cases[] = {
		{"[" EVENT("a", 7, "CPUExecutionProvider") "]", 7, NAN},
		{"[" EVENT("a", 7, "CPUExecutionProvider") "," EVENT("a", 9, "CPUExecutionProvider") "]", 8,
	         NAN},
		{"[" EVENT("a", 70, "CPU") "," EVENT("a", 9, "CPU") "," EVENT("b", 1, "CPU") "," EVENT(
			 "a", 8, "CPU") "," EVENT("a", 1, "CPU") "]",
	         8, 1},
		{" [] ", 1e6, NAN}, /* what the graph said before */
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0};
		berth_graph timed;
		berth_ort_report r;
		join(cases[i].text, NULL, &mem, &timed, &r);
		assert_near(time_of(&timed, 0, "cpu"), cases[i].a / 1e6, 0);
		assert_near(time_of(&timed, 0, "npu0"), 2, 0);
		if (isnan(cases[i].b))
			assert_true(isnan(time_of(&timed, 1, "cpu")));
		else
			assert_near(time_of(&timed, 1, "cpu"), cases[i].b / 1e6, 0);
		assert_int_equal(r.n_timed + r.n_untimed, 2);
		berth_arena_free(&mem);
	}
}

static void test_devices(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph timed;
	berth_ort_report r;
	const char *text = "[" EVENT("b", 5, "CUDAExecutionProvider") "," EVENT(
		"b", 6, "QNNExecutionProvider") "," EVENT("x", 4, "CPU") "]";
	join(text, NULL, &mem, &timed, &r);
	assert_near(time_of(&timed, 1, "gpu"), 5e-6, 0);
	assert_near(time_of(&timed, 1, "npu"), 6e-6, 0);
	assert_int_equal(r.n_runs, 3);
	assert_int_equal(r.n_unjoined, 1);
	assert_string_equal(r.unjoined[0], "x");
	assert_int_equal(r.n_untimed, 1);
	assert_string_equal(r.untimed[0], "a");
	assert_near(r.joined_s, 11e-6, 0);
	assert_near(r.unjoined_s, 4e-6, 0);
	join(text, "gpu1", &mem, &timed, &r);
	assert_near(time_of(&timed, 1, "gpu1"), 5.5e-6, 0);
	assert_true(isnan(time_of(&timed, 1, "gpu")));
	berth_arena_free(&mem);
}

static void test_bad_profiles(void **state)
{
	(void)state;
	static const struct { const char *text, *part; } cases[] = {
		{"", "p.json:1:1"}, {"{}", "expected a profile"}, {"[1]", "expected a profile"},
		{"[{}", "p.json:1:"}, {"[{},]", "p.json:1:"},
		{"[{\"cat\":\"Node\",\"name\":\"a_kernel_time\"}]", "dur"},
		{"[{\"cat\":\"Node\",\"name\":\"a_kernel_time\",\"dur\":-1}]", "/0/dur: -1"},
		{"[{},{\"cat\":\"Node\",\"name\":3}]", "/1/name"},
		{"[{\"cat\":\"Node\",\"name\":\"a_kernel_time\",\"dur\":1e13}]", "at most 1e12"}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g, timed;
		berth_err err;
		read_graph(&mem, &g);
		assert_int_equal(berth_graph_ort_times("p.json", cases[i].text, strlen(cases[i].text), NULL,
		                                       &g, &mem, &tmp, &timed, NULL, &err),
		                 BERTH_EFORMAT);
		assert_contains(err.msg, cases[i].part);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	const char *text = "[" EVENT("a", 5, "CPU") "," EVENT("a", 6, "CUDA") "," EVENT("x", 4, "CPU") "]";
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_arena keep = {0}, mem, tmp;
		berth_graph g, timed;
		berth_ort_report r;
		berth_err err;
		read_graph(&keep, &g);
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = berth_graph_ort_times("p.json", text, strlen(text), NULL, &g, &mem, &tmp,
		                                        &timed, &r, &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		berth_arena_free(&keep);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 0);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
}

/* 20,000 runs: less memory than the file, besides what an arena starts with. */
static void test_many_runs(void **state)
{
	(void)state;
	static const char one[] = EVENT("a", 5, "CPUExecutionProvider") ",\n";
	size_t n = 20000, size = n * (sizeof one - 1) + 1;
	char *text = malloc(size + 1);
	berth_arena mem = {0}, tmp = {0};
	berth_graph g, timed;
	berth_ort_report r;
	berth_err err;
	assert_non_null(text);
	text[0] = '[';
	for (size_t i = 0; i < n; i++)
		memcpy(text + 1 + i * (sizeof one - 1), one, sizeof one - 1);
	text[size - 2] = ']';
	read_graph(&mem, &g);
	double start = berth_cpu_seconds();
	assert_ok(berth_graph_ort_times("p.json", text, size - 1, NULL, &g, &mem, &tmp, &timed, &r, &err),
	          &err);
	print_message("%zu bytes: %.1f ns a byte\n", size,
	              (berth_cpu_seconds() - start) * 1e9 / (double)size);
	assert_int_equal(r.n_runs, n);
	assert_near(time_of(&timed, 0, "cpu"), 5e-6, 0);
	assert_true(berth_arena_size(&mem) < size);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	free(text);
}

/* A profile that ONNX Runtime 1.30 wrote of a session at optimisation level 0: every operator joins; what it
 * wraps around them does not. */
static void test_real_profile(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g, timed;
	berth_ort_report r;
	berth_err err;
	char *text;
	size_t size;
	assert_ok(berth_graph_load(BERTH_FIXTURES "/resnet18_batch.onnx", NULL, &mem, &tmp, &g, NULL, &err),
	          &err);
	assert_ok(berth_file_read(BERTH_READS_MODEL,
	                          BERTH_FIXTURES "/resnet18_batch.profile.json", &mem, &text, &size, &err),
	          &err);
	assert_ok(berth_graph_ort_times("p.json", text, size, NULL, &g, &mem, &tmp, &timed, &r, &err), &err);
	assert_int_equal(r.n_timed, g.n_ops);
	assert_int_equal(r.n_untimed, 0);
	assert_int_equal(r.n_runs, 65);
	assert_int_equal(r.n_unjoined, 16);
	assert_true(r.unjoined_s < 0.01 * r.joined_s);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_medians),      cmocka_unit_test(test_devices),
		cmocka_unit_test(test_bad_profiles), cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_many_runs),    cmocka_unit_test(test_real_profile)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
