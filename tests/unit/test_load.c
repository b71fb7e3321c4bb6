/* Which reader an input goes to, figures of a graph, DOT text; each with every allocation failing in turn. */
#include "exporters.h"
#include "file.h"
#include "graph.h"
#include "load.h"
#include "load_system.h"
#include "sandbox.h"
#include "support.h"
#include "text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define GRAPH                                                                                                \
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"a\",\"type\":"        \
	"\"Conv\",\"flops\":3},{\"name\":\"b\"},{\"name\":\"c\"}],"                                          \
	"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":5},{\"from\":\"a\",\"to\":\"c\",\"bytes\":5}]}"

/* A file in a fresh folder; the caller removes both. */
static const char *write_file(char path[64], const char *text, size_t size)
{
	strcpy(path, "/tmp/berth-load-XXXXXX");
	assert_non_null(mkdtemp(path));
	strcat(path, "/x");
	assert_int_equal(berth_file_write(path, text, size, NULL), BERTH_OK);
	return path;
}

static void remove_file(char *path)
{
	unlink(path);
	*strrchr(path, '/') = '\0';
	rmdir(path);
}

static berth_input kind_of(const char *text, size_t size)
{
	char path[64];
	berth_input kind = BERTH_INPUT_GRAPH;
	berth_err err;
	assert_ok(berth_input_of(write_file(path, text, size), NULL, &kind, &err), &err);
	remove_file(path);
	return kind;
}

static void test_kinds(void **state)
{
	(void)state;
	static const char policy[] = "\x19\0\0\0\0\0\0\0{\"__metadata__\":\"sha256\"}";
	assert_int_equal(kind_of(GRAPH, strlen(GRAPH)), BERTH_INPUT_GRAPH);
	assert_int_equal(kind_of("{\"format\":\"berth-system\"}", 25), BERTH_INPUT_SYSTEM);
	assert_int_equal(kind_of("{\"format\":\"berth-placement\"}", 28), BERTH_INPUT_PLACEMENT);
	assert_int_equal(kind_of("{\"placement\":{}}", 16), BERTH_INPUT_PLACEMENT);
	assert_int_equal(kind_of(policy, sizeof policy - 1), BERTH_INPUT_POLICY);
	assert_int_equal(kind_of("\x08\x07\x12\x00", 4), BERTH_INPUT_GRAPH);
	static const char longer[200] = "\x08\x01\0\0\0\0\0\0{\"sha256\""; /* 264 bytes in a file of 200 */
	assert_int_equal(kind_of(longer, sizeof longer), BERTH_INPUT_GRAPH);
	assert_int_equal(kind_of("\xff\x01\xff\xff\xff\xff\xff\xff{", 9), BERTH_INPUT_GRAPH); /* a length
	                                                                                         beyond the
	                                                                                         file */
}

/* The head of a policy begins with a bracket, takes two bytes or more, and ends in the file. */
static void test_head_of_policy(void **state)
{
	(void)state;
#define HEAD_OF(n) n "\0\0\0\0\0\0\0"
	static const struct {
		char data[24];
		size_t size;
		berth_input kind;
	} cases[] = {
		{HEAD_OF("\x0a") "{\"sha256\"}", 18, BERTH_INPUT_POLICY},
		{HEAD_OF("\x0a") "{\"sha256\"}\x01", 19, BERTH_INPUT_POLICY},
		{HEAD_OF("\x0b") "{\"sha256\"}", 18, BERTH_INPUT_GRAPH},
		{HEAD_OF("\x02") "{\"sha256\"}", 18, BERTH_INPUT_POLICY},
		{HEAD_OF("\x01") "{\"sha256\"}", 18, BERTH_INPUT_GRAPH},
		{HEAD_OF("\x01") "{", 9, BERTH_INPUT_GRAPH},
		{HEAD_OF("\x0a") "[\"sha256\"]", 18, BERTH_INPUT_GRAPH},
		{HEAD_OF("\x0a"), 8, BERTH_INPUT_GRAPH},
		{"\x0a\0\0\0\0\0\0\x01{\"sha256\"}", 18, BERTH_INPUT_GRAPH},
		{"\x0a\x01\0\0\0\0\0\0{\"sha256\"}", 18, BERTH_INPUT_GRAPH},
	};
#undef HEAD_OF
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		if (kind_of(cases[i].data, cases[i].size) != cases[i].kind)
			fail_msg("case %d", (int)i);
}

/* A published workload brings its machine, a graph does not; read apart or here is the same. */
static void test_workload_apart(void **state)
{
	(void)state;
	static const char workload[] =
		"{\"maxFPGAs\":2,\"maxCPUs\":1,\"maxSizePerFPGA\":100,\"nodes\":[{\"id\":0,"
		"\"supportedOnFpga\":1,\"cpuLatency\":2,\"fpgaLatency\":1,\"isBackwardNode\":0,\"size\":3}],"
		"\"edges\":[]}";
	const berth_sandbox sandbox = {.memory_bytes = 1 << 28, .cpu_s = 30, .answer_bytes = 1 << 20};
	bool there = berth_sandbox_there() == BERTH_SANDBOX_WORKS;
	for (int i = 0; i < 4; i++) {
		char path[64];
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_err err;
		const berth_read_options opt = {.sandbox = i % 2 && there ? &sandbox : NULL};
		const char *text = i < 2 ? workload : GRAPH;
		write_file(path, text, strlen(text));
		berth_status st = berth_instance_load(path, NULL, &opt, &mem, &tmp, &g, &s, NULL, &err);
		assert_int_equal(st, i < 2 ? BERTH_OK : BERTH_EINVAL);
		assert_int_equal(berth_is_workload(path, opt.sandbox), i < 2);
		if (i < 2)
			assert_true(g.n_ops == 1 && s.n_devs == 3 && s.dev_memory_bytes[0] == 100);
		else
			assert_contains(err.msg, "brings no machine of its own");
		remove_file(path);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* The machine that was described stands in the cache, if it was. */
static void test_host(void **state)
{
	(void)state;
	static const char system[] =
		"{\"format\":\"berth-system\",\"version\":1,\"name\":\"here\",\"devices\":["
		"{\"name\":\"d\"}]}";
	const char *cache = getenv("XDG_CACHE_HOME");
	char *before = cache ? strdup(cache) : NULL, folder[] = "/tmp/berth-load-XXXXXX";
	for (int there = 0; there < 2; there++) {
		berth_arena mem = {0}, tmp = {0};
		berth_system s;
		berth_err err;
		const char *path;
		assert_non_null(there ? folder : mkdtemp(folder));
		assert_int_equal(setenv("XDG_CACHE_HOME", folder, 1), 0);
		assert_ok(berth_system_host_path(&mem, &path, &err), &err);
		assert_string_equal(path, berth_arena_printf(&mem, "%s/berth/host.json", folder));
		if (there) {
			assert_ok(berth_make_folders(path, &tmp, &err), &err);
			assert_ok(berth_file_write(path, system, sizeof system - 1, &err), &err);
		}
		berth_status st = berth_system_load("system:host", NULL, &mem, &tmp, &s, &err);
		assert_int_equal(st, there ? BERTH_OK : BERTH_EINVAL);
		if (there)
			assert_string_equal(s.name, "here");
		else
			assert_string_equal(err.msg,
			                    "system:host: this machine was not described yet; 'berth "
			                    "profile --system' does so");
		if (there) {
			assert_int_equal(unlink(path), 0);
			assert_int_equal(rmdir(berth_arena_printf(&mem, "%s/berth", folder)), 0);
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
	assert_int_equal(rmdir(folder), 0);
	assert_int_equal(before ? setenv("XDG_CACHE_HOME", before, 1) : unsetenv("XDG_CACHE_HOME"), 0);
	free(before);
}

static void test_text(void **state)
{
	(void)state;
	assert_true(berth_text_is("{\n}", 3));
	assert_true(berth_text_is("", 0));
	assert_false(berth_text_is("\x08\x03", 2));
}

/* Load, measure and draw a graph with memory that fails at call k; BERTH_ENOMEM or all is well. */
static berth_status all_of_it(const char *path, berth_arena *mem, berth_arena *tmp, berth_graph_stats *stats,
                              const char **dot, berth_err *err)
{
	berth_graph g;
	berth_system s;
	int32_t op_dev[3] = {1, 0, 2};
	berth_export_out out = {.mem = mem};
	berth_input kind;
	BERTH_TRY(berth_input_of(path, NULL, &kind, err));
	BERTH_TRY(berth_graph_load(path, NULL, mem, tmp, &g, NULL, err));
	BERTH_TRY(berth_system_load("system:edge", NULL, mem, tmp, &s, err));
	BERTH_TRY(berth_graph_stats_new(&g, mem, tmp, stats, err));
	berth_export_source x = {.g = &g, .s = &s, .op_dev = op_dev};
	BERTH_TRY(berth_export_make(&berth_export_dot, &x, tmp, &out, err));
	*dot = out.piece[0].data;
	return BERTH_OK;
}

static void test_failing_memory(void **state)
{
	(void)state;
	char path[64];
	berth_status st = BERTH_ENOMEM;
	write_file(path, GRAPH, strlen(GRAPH));
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_graph_stats stats;
		const char *dot;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		st = all_of_it(path, &mem, &tmp, &stats, &dot, &err);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		if (st == BERTH_OK) {
			assert_int_equal(stats.depth, 2);
			assert_int_equal(stats.width, 2);
			assert_int_equal(stats.tensor_bytes, 5); /* one tensor, two uses */
			assert_int_equal(stats.type_ops[0], 1);
			assert_int_equal(stats.type_ops[1], 2);
			assert_int_equal(stats.type_by_ops[0], 1);
			assert_true(stats.type_flops[0] == 3);
			assert_contains(dot, "n0 -> n2");
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
	}
	remove_file(path);
}

/* Sums by type are the sums of the graph: of every figure, a shared parameter once. */
static void test_sums_by_type(void **state)
{
	(void)state;
	static const char *const specs[] = {"zoo:gpt2:training=1", "zoo:moe:layers=2:mode=decode",
	                                    "zoo:random:ops=200:seed=3"};
	for (int i = 0; i < 3; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_graph_stats s;
		berth_err err;
		assert_ok(berth_graph_load(specs[i], NULL, &mem, &tmp, &g, NULL, &err), &err);
		assert_ok(berth_graph_stats_new(&g, &mem, &tmp, &s, &err), &err);
		int64_t ops = 0, params = 0, state_bytes = 0, moved = 0, by_op = 0;
		double flops = 0, macs = 0;
		for (int32_t type = 0; type <= g.n_types; type++) {
			ops += s.type_ops[type];
			params += s.type_param_bytes[type];
			state_bytes += s.type_state_bytes[type];
			moved += s.type_read_bytes[type] + s.type_write_bytes[type];
			flops += s.type_flops[type];
			macs += s.type_macs[type];
		}
		for (int32_t op = 0; op < g.n_ops; op++)
			by_op += g.op_read_bytes[op] + g.op_write_bytes[op];
		assert_int_equal(ops, g.n_ops);
		assert_int_equal(params, berth_graph_param_bytes(&g));
		assert_int_equal(state_bytes, s.state_bytes);
		assert_int_equal(moved, s.moved_bytes);
		assert_int_equal(moved, by_op);
		assert_near(flops, berth_graph_flops(&g), 1e-9 * flops);
		assert_near(macs, berth_graph_macs(&g), 1e-9 * macs);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums_by_type),   cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_head_of_policy), cmocka_unit_test(test_host),
	                                   cmocka_unit_test(test_workload_apart),
		cmocka_unit_test(test_text),           cmocka_unit_test(test_failing_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
