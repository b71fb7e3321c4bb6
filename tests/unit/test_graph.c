/* The operator graph: numbering, JSON in and out, and every error of the reader with its place. */
#include "graph_format.h"
#include "json.h"
#include "support.h"

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static berth_status parse(const char *text, berth_arena *mem, berth_graph *g, berth_err *err)
{
	berth_arena tmp = {0};
	berth_status st = berth_graph_parse_json("g.json", text, strlen(text), mem, &tmp, g, err);
	berth_arena_free(&tmp);
	return st;
}

#define HEAD "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"t\","

static void test_numbering(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph g;
	berth_err err;
	assert_ok(
		parse(HEAD
	              "\"ops\":[{\"name\":\"c\"},{\"name\":\"a\",\"type\":\"Conv\",\"time_s\":{\"gpu\":1e-3,"
	              "\"cpu\":null}},{\"name\":\"b\"}],"
	              "\"edges\":[{\"from\":\"a\",\"to\":\"c\",\"bytes\":4,\"tensor\":\"z\"},{\"from\":\"a\","
	              "\"to\":\"b\",\"bytes\":8},"
	              "{\"from\":\"a\",\"to\":\"c\",\"bytes\":8},{\"from\":\"b\",\"to\":\"c\",\"bytes\":1}]}",
	              &mem, &g, &err),
		&err);
	assert_ok(berth_graph_check(&g, &err), &err);
	assert_int_equal(g.n_ops, 3);
	assert_int_equal(g.n_tensors, 3);
	assert_int_equal(g.n_edges, 4);
	assert_null(g.tensor_name[0]); /* a's unnamed output first */
	assert_string_equal(g.tensor_name[1], "z");
	assert_int_equal(g.edge_consumer[0], 0);
	assert_int_equal(g.edge_consumer[1], 2);
	assert_int_equal(g.topo_op[0], 1);
	assert_int_equal(g.topo_op[1], 2);
	assert_int_equal(g.topo_op[2], 0);
	assert_int_equal(g.op_in_off[1] - g.op_in_off[0], 3);
	assert_string_equal(berth_graph_time_name(&g, 0), "cpu");
	assert_true(isnan(g.time_s[0]));
	assert_true(g.time_s[1] == 1e-3);
	berth_arena_free(&mem);
}

static void test_round_trip(void **state)
{
	(void)state;
	static const char full[] =
		HEAD "\"ops\":[{\"name\":\"a\",\"type\":\"Conv\",\"dtype\":\"f16\",\"dims\":{"
	             "\"b\":1,\"in\":64,\"out\":64,\"pixels\":15625,\"taps\":16,\"stride\":2,\"groups\":1,"
		     "\"dilation\":3},\"flops\":2000000000.5,\"macs\":1024000000,"
	             "\"read_bytes\":1000000,\"write_bytes\":400000,"
		     "\"param_bytes\":100000,\"state_bytes\":7,\"workspace_bytes\":8,\"output_bytes\":9,"
	             "\"time_s\":{\"cpu0\":null,\"gpu\":0.0012},"
		     "\"colocate\":\"g1\",\"pin\":\"cpu0\",\"forbid\":[\"npu0\"],\"backward\":true},{"
	             "\"name\":\"b\\\"\\n\"}],"
		     "\"params\":[{\"name\":\"tied\",\"bytes\":1000,\"ops\":[\"a\",\"b\\\"\\n\"]}],"
		     "\"edges\":[{\"from\":\"a\",\"to\":\"b\\\"\\n\",\"bytes\":400000,\"tensor\":\"t0\","
	             "\"cut_s\":0.00025}]}";
	berth_arena mem = {0};
	berth_graph g, h;
	berth_err err;
	const char *text, *pretty;
	size_t len;
	char one[65], two[65];
	assert_ok(parse(full, &mem, &g, &err), &err);
	assert_ok(berth_graph_write_json(&g, false, &mem, &text, &len, &err), &err);
	assert_string_equal(text, full);
	assert_ok(berth_graph_write_json(&g, true, &mem, &pretty, &len, &err), &err);
	assert_ok(parse(pretty, &mem, &h, &err), &err);
	assert_ok(berth_graph_sha256(&g, &mem, one, &err), &err);
	assert_ok(berth_graph_sha256(&h, &mem, two, &err), &err);
	assert_string_equal(one, two);
	berth_arena_free(&mem);
}

static void test_errors(void **state)
{
	(void)state;
	static const struct { const char *text, *part;
	} cases[] = {
		{"", "g.json:1:1: the file is empty"},
		{"{\n \"format\": oops}", "g.json:2:"},
		{"{} x", "g.json:1:4: text after the end"},
		{"[1]", "expected an object"},
		{"{\"format\":\"berth-system\",\"version\":1}", "/format"},
		{"{\"format\":\"berth-graph\",\"version\":2}", "version 2"},
		{HEAD "\"ops\":[],\"egdes\":[]}", "unknown key 'egdes' (did you mean 'edges'?)"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"flop\":1}]}",
	         "/ops/0: unknown key 'flop' (did you mean 'flops'?)"},
		{HEAD "\"ops\":[{\"name\":\"a\"},{\"name\":\"a\"}]}", "/ops/1: two operators are named 'a'"},
		{HEAD "\"ops\":[{\"type\":\"a\"}]}", "/ops/0: key 'name' is missing"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"time_s\":{\"gpu\":-1}}]}",
	         "/ops/0/time_s/gpu: -1 is below"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"read_bytes\":1.5}]}", "/ops/0/read_bytes"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"flops\":1e999}]}", "too large"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"flops\":\"1\"}]}", "expected a number, found a string"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"name\":\"b\"}]}", "stands twice"},
		{HEAD "\"ops\":[{\"name\":\"a\"}],\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1}]}",
	         "/edges/0/to: unknown operator 'b'"},
		{HEAD "\"ops\":[{\"name\":\"a\"}],\"edges\":[{\"from\":\"a\",\"to\":\"a\",\"bytes\":1}]}",
	         "to itself"},
		{HEAD "\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"edges\":[{\"from\":\"a\",\"to\":\"b\","
	              "\"bytes\":1},{\"from\":\"b\",\"to\":\"a\",\"bytes\":1}]}",
	         "cycle: "},
		{HEAD "\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"edges\":[{\"from\":\"a\",\"to\":\"b\","
	              "\"bytes\":1},{\"from\":\"a\",\"to\":\"b\",\"bytes\":1}]}",
	         "stands twice"},
		{HEAD "\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}],\"edges\":[{\"from\":"
	              "\"a\",\"to\":\"b\",\"bytes\":1},{\"from\":\"a\",\"to\":\"c\",\"bytes\":2}]}",
	         "1 bytes on one edge and 2"},
		{HEAD
	         "\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}],\"edges\":[{\"from\":\"a\","
	         "\"to\":\"b\",\"bytes\":1,\"cut_s\":2},{\"from\":\"a\",\"to\":\"c\",\"bytes\":1}]}",
	         "a cut of 2 s on one edge and 0"},
		{HEAD "\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"edges\":[{\"from\":\"a\",\"to\":\"b\","
	              "\"bytes\":1,\"cut_s\":1e10}]}",
	         "a cut of 1e+10 s; expected 0"},
		{HEAD "\"ops\":[{\"name\":\"a\"}],\"params\":[{\"name\":\"p\",\"bytes\":1,\"ops\":[\"a\","
	              "\"a\"]}]}",
	         "twice"},
		{HEAD "\"ops\":[{\"name\":\"\"}]}", "empty name"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"dtype\":\"f61\"}]}",
	         "/ops/0/dtype: unknown precision 'f61'"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"dims\":{\"rows\":1}}]}",
	         "/ops/0/dims: expected b, m, n, k"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"dims\":{\"rows\":1,\"width\":0}}]}",
	         "width is 0; expected 1"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"dims\":{\"rows\":1,\"width\":2,\"k\":1}}]}",
	         "/ops/0/dims: expected b, m"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"macs\":9,\"dims\":{\"b\":1,\"m\":2,\"n\":2,\"k\":2}}]}",
	         "its dims are 8 multiply-accumulates, its macs 9"},
		{HEAD "\"ops\":[{\"name\":\"a\",\"dims\":{\"b\":1,\"in\":4,\"out\":3,\"pixels\":1,\"taps\":1,"
	              "\"stride\":1,\"groups\":2,\"dilation\":1}}]}",
	         "2 groups do not divide 4 channels into 3"},
		{"{\"format\":\"\xff\"}", "UTF-8"},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0};
		berth_graph g;
		berth_err err = {0};
		assert_int_equal(parse(cases[i].text, &mem, &g, &err), BERTH_EFORMAT);
		assert_contains(err.msg, cases[i].part);
		berth_arena_free(&mem);
	}
}

/* The same graph however its text is laid out: members in any order, spaces, an escaped key, brackets in
 * names. */
static void test_layouts(void **state)
{
	(void)state;
	static const char *const texts[] = {
		HEAD "\"ops\":[{\"name\":\"]},\\\"{[\"},{\"name\":\"b\",\"forbid\":[\"x\",\"y\"],\"time_s\":{"
	             "\"d\":1}}],\"edges\":[{\"from\":\"]},\\\"{[\",\"to\":\"b\",\"bytes\":4}]}",
		" { \"edges\" : [ { \"to\":\"b\" , \"from\":\"]},\\\"{[\",\n\"bytes\":4 } ] ,\t\"ops\":\r\n[ "
	        "{\"name\":\"]},\\\"{[\"} , {\"time_s\":{\"d\":1},\"forbid\":[\"x\",\"y\"],"
		"\"name\":\"b\"} ], \"params\" : [ ] , "
	        "\"name\":\"t\",\"version\":1,\"format\":\"berth-graph\" } \n",
		HEAD "\"\\u006fps\":[{\"name\":\"]},\\\"{[\"},{\"name\":\"b\",\"forbid\":[\"x\",\"y\"],"
	             "\"time_s\":{\"d\":1}}],\"edges\":[{\"from\":\"]},\\\"{[\",\"to\":\"b\",\"bytes\":4}]}",
	};
	char first[65], again[65];
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		berth_arena mem = {0};
		berth_graph g;
		berth_err err;
		assert_ok(parse(texts[i], &mem, &g, &err), &err);
		assert_int_equal(g.n_edges, 1);
		assert_ok(berth_graph_sha256(&g, &mem, i ? again : first, &err), &err);
		if (i)
			assert_string_equal(first, again);
		berth_arena_free(&mem);
	}
}

/* No text that is not JSON gets through: every byte of a document removed or replaced, and every cut of it.
 */
static void test_only_json(void **state)
{
	(void)state;
	static const char good[] = HEAD
		"\"ops\":[{\"name\":\"a\",\"flops\":1},{\"name\":\"b\",\"forbid\":[\"x\"]}],\"params\":[],"
		"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":4}]}";
	static const char with[] = "{}[],:\"\\0 ";
	char text[sizeof good];
	int taken = 0;
	for (size_t i = 0; i < sizeof good - 1; i++)
		for (size_t k = 0; k <= sizeof with; k++) {
			berth_arena mem = {0};
			berth_graph g;
			memcpy(text, good, sizeof good);
			if (k == sizeof with)
				text[i] = '\0';
			else if (k == sizeof with - 1)
				memmove(text + i, text + i + 1, sizeof good - 1 - i);
			else
				text[i] = with[k];
			cJSON *doc = cJSON_ParseWithOpts(text, NULL, 1);
			berth_status st = parse(text, &mem, &g, NULL);
			if (!doc)
				assert_int_equal(st, BERTH_EFORMAT);
			taken += st == BERTH_OK;
			cJSON_Delete(doc);
			berth_arena_free(&mem);
		}
	assert_true(taken > 20); /* names and figures may change */
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	static const char text[] = HEAD "\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"edges\":[{\"from\":"
	                                "\"a\",\"to\":\"b\",\"bytes\":1}]}";
	for (long k = 0;; k++) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_graph g;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = berth_graph_parse_json("g.json", text, strlen(text), &mem, &tmp, &g, &err);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 0);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
	}
}

/* A debug build ends where a pass hands on a broken graph; any other goes on. */
static void test_broken_graph(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph g;
	berth_err err;
	assert_ok(parse(HEAD "\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"}],"
	                     "\"params\":[{\"name\":\"p\",\"bytes\":1,\"ops\":[\"a\",\"b\"]}],\"edges\":[]}",
	                &mem, &g, &err),
	          &err);
	g.param_op[1] = 0;
	assert_int_equal(berth_graph_check(&g, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "users of parameter 0 not ascending");
	int how, null = open("/dev/null", O_WRONLY);
	pid_t child = fork();
	assert_true(child >= 0 && null >= 0);
	if (child == 0) {
		dup2(null, STDERR_FILENO);
		berth_graph_must_hold(&g);
		_exit(0);
	}
	close(null);
	assert_int_equal(waitpid(child, &how, 0), child);
	assert_int_equal(BERTH_DEBUG, WIFSIGNALED(how) && WTERMSIG(how) == SIGABRT);
	berth_arena_free(&mem);
}

/* Each invariant of a finished graph, broken by hand. */
static void test_each_invariant(void **state)
{
	(void)state;
	for (int broken = 0; broken < 19; broken++) {
		berth_arena mem = {0};
		berth_graph g;
		berth_err err;
		assert_ok(parse(HEAD "\"ops\":[{\"name\":\"a\",\"type\":\"A\",\"time_s\":{\"d\":1},"
			"\"forbid\":[\"e\"]},"
		                     "{\"name\":\"b\"},{\"name\":\"c\"}],\"params\":[{\"name\":\"p\","
		                     "\"bytes\":1,"
		                     "\"ops\":[\"a\",\"b\"]},{\"name\":\"q\",\"bytes\":1,\"ops\":[\"a\"]}],"
		                     "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1},{\"from\":\"a\","
		                     "\"to\":\"c\",\"bytes\":1},{\"from\":\"a\",\"to\":\"c\","
		                     "\"tensor\":\"t\","
		                     "\"bytes\":1}]}",
		                &mem, &g, &err),
		          &err);
		assert_ok(berth_graph_check(&g, &err), &err);
		switch (broken) {
		case 0: g.op_time_off[0] = 1; break;
		case 1: g.op_forbid_off[g.n_ops] = 0; break;
		case 2: g.op_tensor_off[1] = 9; break;
		case 3: g.tensor_use_off[1] = -1; break;
		case 4: g.op_in_off[g.n_ops] = 2; break;
		case 5: g.param_op_off[0] = 1; break;
		case 6: g.op_param_off[1] = 3; break;
		case 7: g.op_topo[0] = -1; break;
		case 8: g.op_topo[0] = 3; break;
		case 9: g.topo_op[0] = 1; break;
		case 10: g.op_type[0] = 1; break;
		case 11: g.op_coloc_name[0] = 0; break;
		case 12: g.op_sep[0] = 0; break;
		case 13: g.tensor_producer[0] = 1; break;
		case 14: g.tensor_name[1] = NULL; break;
		case 15: g.in_tensor[0] = -1; break;
		case 16: g.in_tensor[0] = 2; break;
		case 17: g.edge_consumer[0] = 2; break;
		case 18: g.op_param[1] = 0; break;
		}
		if (berth_graph_check(&g, &err) != BERTH_EFORMAT)
			fail_msg("broken in way %d, and not told", broken);
		berth_arena_free(&mem);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbering),
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_layouts),
		cmocka_unit_test(test_only_json),
		cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_broken_graph),
		cmocka_unit_test(test_each_invariant),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
