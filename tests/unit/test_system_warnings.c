/* What a machine's description leaves out: each gap by its text, and that nothing is told of what does not
 * count. */
#include "graph_format.h"
#include "load_system.h"
#include "support.h"
#include "system_json.h"
#include "system_warnings.h"
#include "systems_builtin.h"

#include <stdio.h>
#include <string.h>

#define SYSTEM "{\"format\":\"berth-system\",\"version\":1,"
#define WHOLE "\"peak_flops\":1e9,\"mem_bandwidth\":1e9,\"op_overhead_s\":1e-6,\"memory_bytes\":1000"
#define ONE(keys) SYSTEM "\"devices\":[{\"name\":\"d\"," keys "}]}"

static const char convs[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[{\"name\":\"a\",\"type\":\"Conv\","
	"\"flops\":10,\"read_bytes\":8,\"param_bytes\":8},{\"name\":\"b\",\"type\":\"Own\",\"flops\":"
	"10}],\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":8}]}";

/* What is told of system, with graph or without (NULL), its lines joined by newlines; in mem. slips: of
 * units, which most systems here have on purpose, and nothing else; else all but them. */
static const char *told_of(const char *system, const char *graph, bool slips, berth_arena *mem)
{
	berth_arena tmp = {0};
	berth_system s;
	berth_graph g;
	berth_err err;
	const char **text, *all = "";
	int32_t n;
	assert_ok(berth_system_parse_json("s.json", system, strlen(system), mem, &tmp, &s, &err), &err);
	if (graph)
		assert_ok(berth_graph_parse_json("g.json", graph, strlen(graph), mem, &tmp, &g, &err), &err);
	size_t used = berth_arena_get_mark(&tmp).used;
	assert_ok(berth_system_warnings(&s, graph ? &g : NULL, NULL, mem, &tmp, &text, &n, &err), &err);
	assert_int_equal(berth_arena_get_mark(&tmp).used, used);
	for (int32_t i = 0; i < n; i++)
		if (slips == (strstr(text[i], " meant?)") != NULL))
			all = berth_arena_printf(mem, "%s%s\n", all, text[i]);
	berth_arena_free(&tmp);
	return all;
}

static const char *told(const char *system, const char *graph, berth_arena *mem)
{
	return told_of(system, graph, false, mem);
}

#define FLOPS "device 'd' has no peak_flops: computing takes no time there\n"
#define BYTES "device 'd' has no mem_bandwidth: reading and writing take no time there\n"
#define START "device 'd' has op_overhead_s 0: starting an operator takes no time there\n"
#define MEMORY "device 'd' has no memory_bytes: what is placed there always fits\n"
#define NEITHER                                                                                              \
	"device 'd' has neither peak_flops nor mem_bandwidth: only operators with measured times run "       \
	"there\n"

/* A precision that a device with peaks by precision lacks is told; one number is for all. */
static void test_precisions(void **state)
{
	(void)state;
#define OF(dtype)                                                                                            \
	"{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"dtype\":\"" dtype              \
	"\",\"flops\":10}],\"edges\":[]}"
#define REST "\"mem_bandwidth\":1e9,\"op_overhead_s\":1e-6,\"memory_bytes\":1000"
	static const char both[] = ONE("\"peak_flops\":{\"f32\":1,\"f16\":2}," REST);
	berth_arena mem = {0};
	assert_string_equal(told(both, OF("f16"), &mem), "");
	assert_string_equal(told(both, OF("w4a16"), &mem), "");
	assert_string_equal(told(both, OF("f32"), &mem), "");
	assert_string_equal(told(both, OF("bf16"), &mem),
	                    "device 'd' has no peak in bf16: it counts as f32 there\n");
	assert_string_equal(told(both, OF("int4"), &mem),
	                    "device 'd' has no peak in int4: it counts as f16 there\n");
	assert_string_equal(told(ONE(WHOLE), OF("f16"), &mem), "");
	static const char few[] =
		ONE("\"peak_flops\":{\"int8\":2},\"op_overhead_s\":1e-6,\"memory_bytes\":1000");
	assert_string_equal(told(few, OF("f32"), &mem),
	                    "device 'd' has no peak in f32: what computes in it cannot run there\n");
	assert_string_equal(told(ONE("\"peak_flops\":{\"int8\":2}," REST), OF("int8"), &mem), "");
	assert_string_equal(told(ONE("\"like\":\"epyc-7742\""), OF("f32"), &mem), "");
	berth_arena_free(&mem);
}

/* A figure in a wrong unit is told with the one that was meant; what is built is not, and neither is what
 * says on purpose that there is no limit or no cost. */
static void test_slips(void **state)
{
	(void)state;
	static const struct {
		const char *keys, *link, *told;
	} cases[] = {
		{"\"memory_bytes\":24", "",
	         "has memory_bytes of 24 B, less than anything that was built (24 GB"},
		{"\"memory_bytes\":24576", "",
	         "24.576 KB, less than anything that was built (24.576 GB meant?)"},
		{"\"memory_bytes\":24000000000000", "",
	         "24 TB, more than anything that was built (24 GB meant?)"},
		{"\"peak_flops\":82.6", "",
	         "has peak_flops of 82.6 FLOP/s, less than anything that was built (82.6 T"},
		{"\"peak_flops\":{\"f32\":8e13,\"f16\":165}", "", "peak_flops of 165 FLOP/s"},
		{"\"mem_bandwidth\":1008", "",
	         "1.008 KB/s, less than anything that was built (1.008 TB/s meant?)"},
		{"\"op_overhead_s\":7", "",
	         "has op_overhead_s of 7 s, more than anything that was built (7 us meant?)"},
		{"\"idle_w\":1,\"busy_w\":450000", "",
	         "450 kW, more than anything that was built (450 W meant?)"},
		{"\"slots\":1", "\"bandwidth\":12.5",
	         "links 'gpu0'->'cpu' and 'cpu'->'gpu0' have bandwidth of 12.5 B/s, less than anything that "
	         "was "
	         "built (12.5 GB/s meant?)"},
		{"\"slots\":1", "\"bandwidth\":\"12.5GB/s\",\"latency_s\":10", "10 s, more than anything"},
		{"\"memory_bytes\":\"24GB\",\"peak_flops\":\"82.6TFLOP/s\",\"op_overhead_s\":\"7us\"",
	         "\"bandwidth\":\"100Gbit/s\",\"latency_s\":\"10us\"", ""},
		{"\"memory_bytes\":1000000000000000,\"op_overhead_s\":1e-12,\"peak_flops\":1e20",
	         "\"bandwidth\":1e20,\"latency_s\":1e-12", ""},
		{"\"memory_bytes\":4000000,\"peak_flops\":1e9,\"mem_bandwidth\":1e9", "", ""},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0};
		const char *text = berth_arena_printf(
			&mem,
			SYSTEM "\"devices\":[{\"name\":\"gpu0\",%s},{\"name\":\"cpu\"}],\"links\":[{\"from\":"
			       "\"gpu0\",\"to\":\"cpu\",\"both_ways\":true,%s}]}",
			cases[i].keys, *cases[i].link ? cases[i].link : "\"bandwidth\":1e10");
		const char *out = told_of(text, NULL, true, &mem);
		if (*cases[i].told)
			assert_contains(out, cases[i].told);
		else
			assert_string_equal(out, "");
		berth_arena_free(&mem);
	}
}

static void test_devices(void **state)
{
	(void)state;
	berth_arena mem = {0};
	assert_string_equal(told(ONE(WHOLE), NULL, &mem), "");
	assert_string_equal(
		told(ONE("\"mem_bandwidth\":1e9,\"op_overhead_s\":1e-6,\"memory_bytes\":1"), NULL, &mem),
		FLOPS);
	assert_string_equal(told(ONE("\"peak_flops\":1e9"), NULL, &mem), BYTES START MEMORY);
	assert_string_equal(told(ONE("\"slots\":1"), NULL, &mem), NEITHER MEMORY);
	assert_string_equal(
		told(SYSTEM
	             "\"devices\":[{\"name\":\"a\"," WHOLE "},{\"name\":\"b\",\"peak_flops\":1,"
	             "\"mem_bandwidth\":1,\"memory_bytes\":1},{\"name\":\"c\",\"peak_flops\":1,"
	             "\"mem_bandwidth\":1,\"memory_bytes\":1}],\"links\":[{\"from\":\"a\",\"to\":\"b\","
	             "\"bandwidth\":1,\"both_ways\":true},{\"from\":\"a\",\"to\":\"c\",\"bandwidth\":1,"
	             "\"latency_s\":1,\"both_ways\":true}]}",
	             NULL, &mem),
		"devices 'b' and 'c' have op_overhead_s 0: starting an operator takes no time there\n"
		"links 'a'->'b' and 'b'->'a' have latency_s 0: small transfers take no time there\n");
	/* a pool limits what its members hold, or does not */
	assert_string_equal(told(SYSTEM
	                         "\"devices\":[{\"name\":\"d\",\"peak_flops\":1,\"mem_bandwidth\":1,"
	                         "\"op_overhead_s\":1}],\"memory_pools\":[{\"name\":\"p\",\"bandwidth\":1,"
	                         "\"bytes\":5,\"devices\":[\"d\"]}]}",
	                         NULL, &mem),
	                    "");
	assert_string_equal(told(SYSTEM
	                         "\"devices\":[{\"name\":\"d\",\"peak_flops\":1,\"mem_bandwidth\":1,"
	                         "\"op_overhead_s\":1}],\"memory_pools\":[{\"name\":\"p\",\"bandwidth\":1,"
	                         "\"devices\":[\"d\"]}]}",
	                         NULL, &mem),
	                    MEMORY);
	assert_string_equal(told(SYSTEM
	                         "\"devices\":[{\"name\":\"d\",\"peak_flops\":1,\"mem_bandwidth\":1,"
	                         "\"op_overhead_s\":1}],\"memory_pools\":[{\"name\":\"p\",\"bandwidth\":1,"
	                         "\"bytes\":0,\"devices\":[\"d\"]}]}",
	                         NULL, &mem),
	                    "");
	/* a device without memory has a limit; one outside of the pool has none */
	assert_string_equal(
		told(ONE("\"peak_flops\":1,\"mem_bandwidth\":1,\"op_overhead_s\":1,\"memory_bytes\":0"), NULL,
	             &mem),
		"");
	assert_string_equal(
		told(SYSTEM "\"devices\":[{\"name\":\"c\",\"peak_flops\":1,\"mem_bandwidth\":1,"
	                    "\"op_overhead_s\":1},{\"name\":\"d\",\"peak_flops\":1,"
	                    "\"mem_bandwidth\":1,\"op_overhead_s\":1}],\"links\":[{\"from\":\"c\",\"to\":"
	                    "\"d\",\"bandwidth\":1,\"latency_s\":1,\"both_ways\":true}],"
	                    "\"memory_pools\":[{\"name\":\"p\",\"bandwidth\":1,\"bytes\":5,"
	                    "\"devices\":[\"c\"]}]}",
	             NULL, &mem),
		MEMORY);
	berth_arena_free(&mem);
}

/* What takes memory, by itself: each figure in the first operator and in the last. A cost model without
 * memory over time counts what stays. */
static void test_what_takes_memory(void **state)
{
	(void)state;
	static const struct {
		const char *keys, *rest;
		bool takes, stays;
	} cases[] = {
		{"\"param_bytes\":0", "\"edges\":[]", false, false},
		{"\"param_bytes\":1", "\"edges\":[]", true, true},
		{"\"state_bytes\":1", "\"edges\":[]", true, true},
		{"\"workspace_bytes\":1", "\"edges\":[]", true, false},
		{"\"output_bytes\":1", "\"edges\":[]", true, false},
		{"\"flops\":1", "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":0}]", false, false},
		{"\"flops\":1", "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1}]", true, false},
		{"\"flops\":1",
	         "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":0},{\"from\":\"a\",\"to\":\"c\","
	         "\"bytes\":1,"
	         "\"tensor\":\"t\"}]",
	         true, false},
		{"\"flops\":1", "\"params\":[{\"name\":\"v\",\"bytes\":0,\"ops\":[\"a\"]}]", false, false},
		{"\"flops\":1",
	         "\"params\":[{\"name\":\"v\",\"bytes\":0,\"ops\":[\"a\"]},{\"name\":\"w\",\"bytes\":1,"
	         "\"ops\":["
	         "\"b\"]}]",
	         true, true},
	};
	static const char *const system[] = {
		ONE("\"peak_flops\":1,\"mem_bandwidth\":1,\"op_overhead_s\":1"),
		SYSTEM "\"cost_model\":\"placeto\",\"devices\":[{\"name\":\"d\",\"peak_flops\":1,"
		       "\"mem_bandwidth\":1,\"op_overhead_s\":1}]}"};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		for (int last = 0; last < 2; last++) {
			berth_arena mem = {0};
			const char *graph = berth_arena_printf(
				&mem,
				"{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\"%s%s},"
				"{\"name\":\"b\"},{\"name\":\"c\"%s%s}],%s}",
				last ? "" : ",", last ? "" : cases[i].keys, last ? "," : "",
				last ? cases[i].keys : "", cases[i].rest);
			assert_string_equal(told(system[0], graph, &mem), cases[i].takes ? MEMORY : "");
			assert_string_equal(told(system[1], graph, &mem), cases[i].stays ? MEMORY : "");
			berth_arena_free(&mem);
		}
}

/* Many are counted. */
static void test_many(void **state)
{
	(void)state;
	berth_arena mem = {0};
	char text[2048] = SYSTEM "\"devices\":[";
	for (int n = 4; n <= 7; n++) {
		size_t len = strlen(SYSTEM "\"devices\":[");
		for (int d = 0; d < n; d++)
			len += (size_t)snprintf(text + len, sizeof text - len,
			                        "%s{\"name\":\"%c\",\"peak_flops\":1,\"mem_bandwidth\":1,"
			                        "\"op_overhead_s\":1}",
			                        d ? "," : "", 'a' + d);
		len += (size_t)snprintf(text + len, sizeof text - len, "],\"links\":[");
		for (int d = 1; d < n; d++)
			len += (size_t)snprintf(
				text + len, sizeof text - len,
				"%s{\"from\":\"a\",\"to\":\"%c\",\"bandwidth\":1,\"latency_s\":1,"
				"\"both_ways\":true}",
				d > 1 ? "," : "", 'a' + d);
		snprintf(text + len, sizeof text - len, "]}");
		const char *all = told(text, NULL, &mem);
		assert_contains(all, n == 4   ? "devices 'a', 'b', 'c' and 'd' have"
		                     : n == 5 ? "devices 'a', 'b', 'c', 'd' and 'e' have"
		                     : n == 6 ? "devices 'a', 'b', 'c', 'd' and 2 more have"
		                              : "devices 'a', 'b', 'c', 'd' and 3 more have");
	}
	berth_arena_free(&mem);
}

/* A graph says what counts. */
static void test_graph(void **state)
{
	(void)state;
	berth_arena mem = {0};
	assert_string_equal(told(ONE("\"peak_flops\":1e9"), convs, &mem), BYTES START MEMORY);
	/* it only computes, and keeps nothing */
	assert_string_equal(
		told(ONE("\"peak_flops\":1e9"),
	             "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"flops\":1}]}",
	             &mem),
		START);
	/* it only moves bytes */
	assert_string_equal(told(ONE("\"mem_bandwidth\":1,\"op_overhead_s\":1,\"memory_bytes\":1"),
	                         "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\","
	                         "\"read_bytes\":1}]}",
	                         &mem),
	                    "");
	/* one computes, another reads: both count, in any order, and nothing else asks for figures */
	static const char *const order[] = {"{\"name\":\"a\",\"flops\":1},{\"name\":\"b\",\"read_bytes\":1}",
	                                    "{\"name\":\"a\",\"read_bytes\":1},{\"name\":\"b\",\"flops\":1}"};
	for (int i = 0; i < 2; i++) {
		const char *graph = berth_arena_printf(
			&mem, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s,{\"name\":\"c\"}]}",
			order[i]);
		assert_string_equal(told(ONE("\"mem_bandwidth\":1,\"op_overhead_s\":1"), graph, &mem), FLOPS);
		assert_string_equal(told(ONE("\"peak_flops\":1,\"op_overhead_s\":1"), graph, &mem), BYTES);
		assert_string_equal(told(ONE("\"slots\":1"), graph, &mem), NEITHER);
		graph = berth_arena_printf(&mem,
		                           "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s,{\"name\":"
		                           "\"c\",\"time_s\":{\"d\":1}}]}",
		                           order[i]);
		assert_string_equal(told(ONE("\"slots\":1"), graph, &mem), "");
	}
	/* without tensors nothing is sent over a link */
	for (int sends = 0; sends < 2; sends++) {
		const char *graph =
			berth_arena_printf(&mem,
		                           "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":"
		                           "\"a\"},{\"name\":\"b\"}],\"edges\":[%s]}",
		                           sends ? "{\"from\":\"a\",\"to\":\"b\",\"bytes\":1}" : "");
		assert_string_equal(
			told(SYSTEM
		             "\"devices\":[{\"name\":\"d\"," WHOLE "},{\"name\":\"e\"," WHOLE "}],"
		             "\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"latency_s\":1},"
		             "{\"from\":\"e\",\"to\":\"d\",\"bandwidth\":1}]}",
		             graph, &mem),
			sends ? "link 'e'->'d' has latency_s 0: small transfers take no time there\n" : "");
	}
	/* it only writes */
	assert_contains(told(ONE("\"peak_flops\":1e9"),
	                     "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\","
	                     "\"write_bytes\":1}]}",
	                     &mem),
	                BYTES);
	/* all measured: by name, kind or for all */
	static const char *const key[] = {"d", "k", "*"};
	for (int i = 0; i < 3; i++) {
		char graph[256];
		snprintf(graph, sizeof graph,
		         "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"flops\":1,"
		         "\"read_bytes\":1,\"time_s\":{\"%s\":1}}]}",
		         key[i]);
		assert_string_equal(told(ONE("\"kind\":\"k\",\"efficiency\":{\"Cnov\":1}"), graph, &mem), "");
	}
	/* some are: the others are not to run there */
	static const char some[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\","
				   "\"flops\":1},{\"name\":\"b\","
				   "\"time_s\":{\"d\":1}}]}";
	assert_string_equal(told(ONE("\"memory_bytes\":1"), some, &mem), "");
	assert_string_equal(told(ONE("\"memory_bytes\":1"), convs, &mem), NEITHER);
	/* a type that it does not run needs no figures there */
	assert_string_equal(
		told(ONE("\"peak_flops\":1e9,\"runs\":[\"MatMul\"],\"memory_bytes\":1"), convs, &mem), "");
	berth_arena_free(&mem);
}

static void test_types(void **state)
{
	(void)state;
	berth_arena mem = {0};
	assert_string_equal(
		told(ONE(WHOLE ",\"efficiency\":{\"*\":1,\"Cnov\":0.5,\"FusedMatMul\":0.5,\"Own\":0.5},"
	                       "\"runs\":[\"Relu\",\"Mat Mul\"]"),
	             NULL, &mem),
		"device 'd': efficiency names type 'Cnov', which no set of operators has (did you mean "
		"'Conv'?)\n"
		"device 'd': efficiency names type 'Own', which no set of operators has\n"
		"device 'd': runs names type 'Mat Mul', which no set of operators has (did you mean "
		"'MatMul'?)\n");
	/* the graph has the type, be it its only one */
	assert_string_equal(told(ONE(WHOLE ",\"efficiency\":{\"Own\":0.5}"), convs, &mem), "");
	assert_string_equal(told(ONE(WHOLE ",\"efficiency\":{\"Own\":0.5}"),
	                         "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\","
	                         "\"type\":\"Own\",\"flops\":1}]}",
	                         &mem),
	                    "");
	assert_string_equal(
		told(ONE(WHOLE ",\"efficiency\":{\"t0\":1,\"t1\":1,\"t2\":1,\"t3\":1,\"t4\":1,\"t5\":1,"
	                       "\"t6\":1,\"t7\":1,\"t8\":1,\"t9\":1}"),
	             convs, &mem) +
			strlen(told(ONE(WHOLE ",\"efficiency\":{\"t0\":1,\"t1\":1,\"t2\":1,\"t3\":1,"
	                                      "\"t4\":1,\"t5\":1,\"t6\":1,\"t7\":1}"),
	                            convs, &mem)),
		"efficiency names 2 more types that no set of operators has\n");
	berth_arena_free(&mem);
}

/* Other cost models ask for less, and what is built in lacks nothing. */
static void test_models(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	const char **text;
	int32_t n, n_rows;
	berth_system s;
	berth_graph g;
	static const char workload[] =
		"{\"maxFPGAs\":2,\"maxCPUs\":1,\"maxSizePerFPGA\":100,\"nodes\":[{\"id\":0,"
		"\"supportedOnFpga\":1,"
		"\"cpuLatency\":2,\"fpgaLatency\":1,\"isBackwardNode\":0,\"size\":3}],\"edges\":[]}";
	assert_string_equal(told(SYSTEM
	                         "\"cost_model\":\"placeto\",\"devices\":[{\"name\":\"d\",\"peak_flops\":1,"
	                         "\"mem_bandwidth\":1,\"memory_bytes\":1}]}",
	                         convs, &mem),
	                    ""); /* op_gap_s takes the place of the overhead */
	assert_ok(berth_tarnawski_parse("w.json", workload, strlen(workload), &mem, &tmp, &g, &s, &err),
	          &err);
	assert_ok(berth_system_warnings(&s, &g, NULL, &mem, &tmp, &text, &n, &err), &err);
	assert_int_equal(n, 0);
	const berth_system_row *row = berth_system_builtin_list(&n_rows);
	for (int32_t i = 0; i < n_rows; i++) {
		assert_ok(berth_system_builtin(row[i].name, &mem, &tmp, &s, &err), &err);
		assert_ok(berth_system_warnings(&s, NULL, NULL, &mem, &tmp, &text, &n, &err), &err);
		assert_int_equal(n, 0);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_nomem(void **state)
{
	(void)state;
	berth_arena tmp = {0}, keep = {0};
	berth_system s;
	berth_err err;
	const char system[] = ONE("\"peak_flops\":1e9,\"efficiency\":{\"Cnov\":1}"), **text;
	int32_t n;
	assert_ok(berth_system_parse_json("s.json", system, strlen(system), &keep, &tmp, &s, &err), &err);
	berth_arena_free(&tmp);
	for (long k = 0;; k++) {
		failing_allocator f;
		failing_allocator_init(&f, k);
		berth_arena mem = {.hook = &f.hook}, scratch = {.hook = &f.hook};
		berth_status st = berth_system_warnings(&s, NULL, NULL, &mem, &scratch, &text, &n, &err);
		berth_arena_free(&mem);
		berth_arena_free(&scratch);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK)
			break;
		assert_int_equal(st, BERTH_ENOMEM);
	}
	assert_int_equal(n, 4);
	berth_arena_free(&keep);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_precisions), cmocka_unit_test(test_devices),
		cmocka_unit_test(test_slips),      cmocka_unit_test(test_what_takes_memory),
		cmocka_unit_test(test_many),       cmocka_unit_test(test_graph),
		cmocka_unit_test(test_types),      cmocka_unit_test(test_models),
		cmocka_unit_test(test_nomem),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
