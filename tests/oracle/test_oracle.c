/* The slow oracle against small cases worked out by hand from the execution model, and against thousands of
 * random instances, which show that nothing crashes and that every feature of the formats occurs. JSON is
 * written with ' for " here. Times in the comments are nanoseconds. */
#include "instance.h"
#include "oracle.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define NEAR(a, b) assert_true(fabs((a) - (b)) <= 1e-12 * fabs(b) + 1e-30)

/* Two devices without a roofline; a hop takes 5 + bytes / 10 either way. */
#define DEVICES_2 "'devices':[{'name':'d0'},{'name':'d1'}]"
#define LINKS_2 "'links':[{'from':'d0','to':'d1','latency_s':5e-9,'bandwidth':1e10,'both_ways':true}]"
#define SYSTEM_2 "{" DEVICES_2 "," LINKS_2 "}"
#define SYSTEM_1 "{'devices':[{'name':'d0'}]}"

static void with_quotes(char out[4096], const char *json)
{
	assert_true(strlen(json) < 4096);
	strcpy(out, json);
	for (char *c = out; *c; c++)
		*c = *c == '\'' ? '"' : *c;
}

static int try_simulate(const char *graph, const char *system, const char *placement, oracle_result *r)
{
	char g[4096], s[4096], p[4096];
	with_quotes(g, graph);
	with_quotes(s, system);
	with_quotes(p, placement);
	return oracle_simulate(g, s, p, r);
}

static oracle_result simulate(const char *graph, const char *system, const char *placement)
{
	oracle_result r;
	assert_int_equal(try_simulate(graph, system, placement, &r), 0);
	return r;
}

static int64_t latency(const char *graph, const char *system, const char *placement) /* -1: cannot run */
{
	oracle_result r = simulate(graph, system, placement);
	int64_t ns = r.runs ? r.latency_ns : -1;
	oracle_free(&r);
	return ns;
}

/* a 0-10 on d0, hop 5 + 100 / 10 = 15, b 25-45 on d1. */
#define CHAIN                                                                                                \
	"{'ops':[{'name':'a','time_s':{'d0':10e-9,'d1':20e-9}},{'name':'b','time_s':{'d0':30e-9,'d1':20e-9}" \
	"}],"                                                                                                \
	"'edges':[{'from':'a','to':'b','bytes':100}]}"

static void test_chain(void **state)
{
	(void)state;
	oracle_result r = simulate(CHAIN, SYSTEM_2, "{'placement':{'a':'d0','b':'d1'}}");
	assert_true(r.runs && r.feasible && !r.has_energy);
	assert_int_equal(r.latency_ns, 45);
	assert_int_equal(r.end_ns[0], 10);
	assert_int_equal(r.start_ns[1], 25);
	assert_int_equal(r.dev[1], 1);
	NEAR(r.load_s, 20e-9); /* d0 10, d1 20, the channel 15 */
	NEAR(r.device[0].busy_s, 10e-9);
	assert_int_equal(r.device[0].peak_memory_bytes, 100); /* from 0 to 25 */
	assert_int_equal(r.device[1].peak_memory_bytes, 100); /* from 10 to 45 */
	oracle_free(&r);
	assert_int_equal(latency(CHAIN, SYSTEM_2, "{'placement':{'a':'d0','b':'d0'}}"), 10 + 30);
	assert_int_equal(latency(CHAIN, SYSTEM_2, "{'placement':{'a':'d1','b':'d0'}}"), 20 + 15 + 30);
}

/* The unnamed tensor (100 bytes, 15) goes once to d1 for b and c; t (50 bytes, 10) goes beside it for c. */
#define FAN                                                                                                  \
	"{'ops':[{'name':'a','time_s':{'d0':10e-9}},{'name':'b','time_s':{'d1':5e-9}},{'name':'c','time_s':" \
	"{'d1':5e-9}}],"                                                                                     \
	"'edges':[{'from':'a','to':'c','bytes':50,'tensor':'t'},{'from':'a','to':'b','bytes':100},{'from':'" \
	"a','to':'c','bytes':100}]}"

static void test_tensor_goes_once(void **state)
{
	(void)state;
	const char *placement = "{'placement':{'a':'d0','b':'d1','c':'d1'}}";
	oracle_result r = simulate(FAN, SYSTEM_2, placement);
	assert_int_equal(r.n_transfers, 2);
	assert_int_equal(r.n_waits, 1);        /* unnamed first: 10-25, then t 25-35 */
	assert_int_equal(r.start_ns[1], 25);
	assert_int_equal(r.latency_ns, 40);    /* c 35-40 */
	NEAR(r.load_s, 25e-9);                 /* the channel, 15 + 10 */
	assert_int_equal(r.device[0].peak_memory_bytes, 150);
	assert_int_equal(r.device[1].peak_memory_bytes, 150);
	oracle_free(&r);
	r = simulate(FAN, "{'contention':false," DEVICES_2 "," LINKS_2 "}", placement);
	assert_int_equal(r.n_waits, 0); /* t 10-20, unnamed 10-25; b and c are ready at 25, equal ranks: b
	                                   25-30, c 30-35 */
	assert_int_equal(r.latency_ns, 35);
	NEAR(r.load_s, 10e-9);                 /* no channel counts */
	oracle_free(&r);
}

static void test_shared_channel(void **state)
{
	(void)state;
	const char *graph = "{'ops':[{'name':'a','time_s':{'d0':10e-9}},{'name':'b','time_s':{'d1':10e-9}},"
	                    "{'name':'c','time_s':{'d1':5e-9}},{'name':'d','time_s':{'d0':5e-9}}],"
	                    "'edges':[{'from':'b','to':'d','bytes':100},{'from':'a','to':'c','bytes':100}]}";
	const char *placement = "{'placement':{'a':'d0','b':'d1','c':'d1','d':'d0'}}";
	const char *bus =
		"{" DEVICES_2
		",'links':[{'from':'d0','to':'d1','latency_s':5e-9,'bandwidth':1e10,'shared':'bus'},"
		"{'from':'d1','to':'d0','latency_s':5e-9,'bandwidth':1e10,'shared':'bus'}]}";
	oracle_result r = simulate(graph, SYSTEM_2, placement); /* a channel per direction: both 10-25 */
	assert_int_equal(r.latency_ns, 30);
	NEAR(r.load_s, 15e-9);
	oracle_free(&r);
	r = simulate(graph, bus, placement); /* both requested at 10; producer a has the lower index: a's
	                                        10-25, b's 25-40 */
	assert_int_equal(r.start_ns[2], 25);
	assert_int_equal(r.start_ns[3], 40);
	assert_int_equal(r.latency_ns, 45);
	NEAR(r.load_s, 30e-9);
	oracle_free(&r);
}

static void test_channel_order(void **state)
{
	(void)state;
	/* Bytewise, z (7a) is before the accented e (c3 a9), as unsigned bytes; hops of 0 bytes take the
	 * latency, 5. */
	const char *names = "{'ops':[{'name':'a','time_s':{'d0':1e-9}},{'name':'b','time_s':{'d1':1e-9}},{'"
	                    "name':'c','time_s':{'d1':1e-9}}],"
			    "'edges':[{'from':'a','to':'b','bytes':0,'tensor':'\xc3\xa9'},{'from':'a','to':'"
	                    "c','bytes':0,'tensor':'z'}]}";
	oracle_result r = simulate(names, SYSTEM_2, "{'placement':{'a':'d0','b':'d1','c':'d1'}}");
	assert_int_equal(r.start_ns[2], 6);
	assert_int_equal(r.start_ns[1], 11);
	oracle_free(&r);
	/* One tensor to d2 and d1 over one channel: d1, the lower index, first, though d2's consumer comes
	 * first. */
	const char *fan = "{'ops':[{'name':'a','time_s':{'d0':1e-9}},{'name':'b','time_s':{'d2':1e-9}},{'"
	                  "name':'c','time_s':{'d1':1e-9}}],"
			  "'edges':[{'from':'a','to':'b','bytes':0},{'from':'a','to':'c','bytes':0}]}";
	r = simulate(
		fan,
		"{'devices':[{'name':'d0'},{'name':'d1'},{'name':'d2'}],'links':["
		"{'from':'d0','to':'d1','latency_s':5e-9,'bandwidth':1e9,'both_ways':true,'shared':'bus'},"
		"{'from':'d0','to':'d2','latency_s':5e-9,'bandwidth':1e9,'both_ways':true,'shared':'bus'}]}",
		"{'placement':{'a':'d0','b':'d2','c':'d1'}}");
	assert_int_equal(r.start_ns[2], 6);
	assert_int_equal(r.start_ns[1], 11);
	oracle_free(&r);
}

static void test_routes(void **state)
{
	(void)state;
	const char *graph = "{'ops':[{'name':'a','time_s':{'d0':10e-9}},{'name':'b','time_s':{'d3':10e-9}}],"
	                    "'edges':[{'from':'a','to':'b','bytes':10}]}";
	const char *placement = "{'placement':{'a':'d0','b':'d3'}}";
	/* Two routes of two hops, 10 each way when x = 0; only the one by d1 costs energy: 1 J/byte * 10
	 * bytes. */
	const char *square =
		"{'devices':[{'name':'d0','idle_w':0,'busy_w':0},{'name':'d1','idle_w':0,'busy_w':0},"
		"{'name':'d2','idle_w':0,'busy_w':0},{'name':'d3','idle_w':0,'busy_w':0}],"
		"'links':[{'from':'d0','to':'d2','bandwidth':1e9,'both_ways':true},{'from':'d2','to':'d3','"
	        "bandwidth':1e9},"
		"{'from':'d0','to':'d1','bandwidth':1e9,'both_ways':true,'latency_s':%s},"
		"{'from':'d1','to':'d3','bandwidth':1e9,'joules_per_byte':1},{'from':'d3','to':'d0','"
	        "bandwidth':1e9}]}";
	char system[1024];
	snprintf(system, sizeof system, square, "0");
	oracle_result r = simulate(graph, system, placement);
	assert_int_equal(r.n_hops, 2);
	assert_int_equal(r.latency_ns, 10 + 20 + 10);
	NEAR(r.energy_j, 10.0); /* equal sums, equal hops: by the lower device */
	assert_int_equal(r.device[1].peak_memory_bytes, 0); /* in between holds nothing */
	assert_int_equal(r.device[0].peak_memory_bytes, 10);
	oracle_free(&r);
	snprintf(system, sizeof system, square, "1e-9");
	r = simulate(graph, system, placement);
	NEAR(r.energy_j, 0.0); /* 20 by d2 against 21 by d1 */
	oracle_free(&r);
	/* 5 + 5 + 10 by d1 and d2, 10 + 10 by d4: as long, fewer hops; then a direct link of 1000, which is
	 * always used. */
	const char *fewer =
		"{'devices':[{'name':'d0'},{'name':'d1'},{'name':'d2'},{'name':'d3'},{'name':'d4'}],'links':["
		"{'from':'d0','to':'d1','bandwidth':1e99,'latency_s':5e-9},{'from':'d1','to':'d2','bandwidth'"
	        ":1e99,'latency_s':5e-9},"
		"{'from':'d2','to':'d3','bandwidth':1e99,'latency_s':10e-9},{'from':'d0','to':'d4','"
	        "bandwidth':1e99,'latency_s':10e-9},"
		"{'from':'d4','to':'d3','bandwidth':1e99,'latency_s':10e-9},{'from':'d3','to':'d0','"
	        "bandwidth':1e99}%s]}";
	snprintf(system, sizeof system, fewer, "");
	r = simulate(graph, system, placement);
	assert_int_equal(r.n_hops, 2);
	assert_int_equal(r.latency_ns, 40);
	oracle_free(&r);
	snprintf(system, sizeof system, fewer, ",{'from':'d0','to':'d3','bandwidth':1e99,'latency_s':1e-6}");
	r = simulate(graph, system, placement);
	assert_int_equal(r.n_hops, 1);
	assert_int_equal(r.latency_ns, 1020);
	oracle_free(&r);
}

static void test_slots(void **state)
{
	(void)state;
	const char *graph = "{'ops':[{'name':'a','time_s':{'d0':10e-9}},{'name':'b','time_s':{'d0':20e-9}},{'"
	                    "name':'c','time_s':{'d0':5e-9}}]}";
	const char *placement = "{'placement':{'a':'d0','b':'d0','c':'d0'}}";
	oracle_result r = simulate(graph, "{'devices':[{'name':'d0','slots':2}]}", placement);
	assert_int_equal(r.start_ns[2], 10); /* b and a have the larger ranks; c takes a's slot */
	assert_int_equal(r.latency_ns, 20);
	NEAR(r.device[0].busy_s, 17.5e-9);
	NEAR(r.load_s, 17.5e-9);
	oracle_free(&r);
	assert_int_equal(latency(graph, SYSTEM_1, placement), 35);
}

static void test_slots_in_line(void **state)
{
	(void)state;
	/* program, two slots: b follows a, and c may start once a and b have started: with b, at 10, not
	 * after it. */
	const char *graph = "{'ops':[{'name':'a','time_s':{'d0':10e-9}},{'name':'b','time_s':{'d0':10e-9}},{'"
	                    "name':'c','time_s':{'d0':10e-9}}],"
			    "'edges':[{'from':'a','to':'b','bytes':0}]}";
	const char *placement = "{'placement':{'a':'d0','b':'d0','c':'d0'}}";
	assert_int_equal(latency(graph, "{'order':'program','devices':[{'name':'d0','slots':2}]}", placement),
	                 20);
	oracle_result r =
		simulate(graph, "{'order':'program','devices':[{'name':'d0','slots':2}]}", placement);
	assert_int_equal(r.start_ns[2], 10);
	oracle_free(&r);
	r = simulate(graph, "{'order':'fifo','devices':[{'name':'d0','slots':2}]}", placement);
	assert_int_equal(r.start_ns[2], 0);
	oracle_free(&r);
}

/* x (20, d1) feeds a (5, d0); b (5, d0) feeds c (50, d1); hops take 5. Topological indices are file indices.
 * Ranks: c 50, b 5 + 5 + 50 = 60, a 5, x 20 + 5 + 5 = 30. */
#define CROSS                                                                                                \
	"{'ops':[{'name':'x','time_s':{'d1':20e-9}},{'name':'a','time_s':{'d0':5e-9}},{'name':'b','time_s':" \
	"{'d0':5e-9}},"                                                                                      \
	"{'name':'c','time_s':{'d1':50e-9}}],'edges':[{'from':'x','to':'a','bytes':0},{'from':'b','to':'c'," \
	"'bytes':0}]}"
#define CROSS_PLACEMENT "'placement':{'x':'d1','a':'d0','b':'d0','c':'d1'}}"

static void test_program_and_given(void **state)
{
	(void)state;
	/* Ready first: b 0-5, hop 5-10, x 0-20, c 20-70, a 25-30. */
	assert_int_equal(latency(CROSS, SYSTEM_2, "{" CROSS_PLACEMENT), 70);
	assert_int_equal(latency(CROSS, "{'order':'fifo'," DEVICES_2 "," LINKS_2 "}", "{" CROSS_PLACEMENT),
	                 70);
	/* program: d0 waits for a: 25-30, b 30-35, hop 35-40, c 40-90. */
	assert_int_equal(latency(CROSS, "{'order':'program'," DEVICES_2 "," LINKS_2 "}", "{" CROSS_PLACEMENT),
	                 90);
	/* given: d1 waits for c: b 0-5, c 10-60, x 60-80, a 85-90; the placement's order goes before the
	 * system's. */
	oracle_result r = simulate(CROSS, "{'order':'program'," DEVICES_2 "," LINKS_2 "}",
	                           "{'order':['b','c','x','a']," CROSS_PLACEMENT);
	assert_int_equal(r.start_ns[3], 10);
	assert_int_equal(r.start_ns[0], 60);
	assert_int_equal(r.latency_ns, 90);
	oracle_free(&r);
	assert_int_equal(latency(CROSS, "{'order':'given'," DEVICES_2 "," LINKS_2 "}",
	                         "{'order':['b','x','c','a']," CROSS_PLACEMENT),
	                 70);
	assert_int_equal(
		try_simulate(CROSS, "{'order':'given'," DEVICES_2 "," LINKS_2 "}", "{" CROSS_PLACEMENT, &r),
		-1);
	assert_int_equal(try_simulate(CROSS, SYSTEM_2, "{'order':['c','b','x','a']," CROSS_PLACEMENT, &r),
	                 -1);
}

static void test_priority_and_fifo(void **state)
{
	(void)state;
	/* a (5) leads nowhere, b (5) to c (50) on d1 by a hop of 5. Ranks: a 5, b 60. */
	const char *graph = "{'ops':[{'name':'a','time_s':{'d0':5e-9}},{'name':'b','time_s':{'d0':5e-9}},{'"
	                    "name':'c','time_s':{'d1':50e-9}}],"
			    "'edges':[{'from':'b','to':'c','bytes':0}]}";
	const char *placement = "{'placement':{'a':'d0','b':'d0','c':'d1'}}";
	assert_int_equal(latency(graph, SYSTEM_2, placement), 5 + 5 + 50); /* b first */
	assert_int_equal(latency(graph, "{'order':'fifo'," DEVICES_2 "," LINKS_2 "}", placement),
	                 10 + 5 + 50); /* a first */
	/* d0 runs y 0-10. u is ready at 4 (by p), v at 2 (by q), hops of 0. Kahn: y 0, p 1, u 2, q 3, v 4. */
	const char *late = "{'ops':[{'name':'y','time_s':{'d0':10e-9}},{'name':'u','time_s':{'d0':5e-9}},{'"
	                   "name':'v','time_s':{'d0':5e-9}},"
			   "{'name':'p','time_s':{'d1':4e-9}},{'name':'q','time_s':{'d1':2e-9}}],"
			   "'edges':[{'from':'p','to':'u','bytes':0},{'from':'q','to':'v','bytes':0}]}";
	const char *system = "{'order':'%s','devices':[{'name':'d0'},{'name':'d1','slots':2}],'links':[{'"
	                     "from':'d0','to':'d1','bandwidth':1,'both_ways':true}]}";
	const char *where = "{'placement':{'y':'d0','u':'d0','v':'d0','p':'d1','q':'d1'}}";
	static const char *const rule[] = { "fifo", "program", "priority" };
	for (int i = 0; i < 3; i++) {
		char text[512];
		snprintf(text, sizeof text, system, rule[i]);
		oracle_result r = simulate(late, text, where);
		assert_int_equal(r.start_ns[1], i == 0 ? 15 : 10); /* u; equal ranks go by topological index
		                                                      too */
		assert_int_equal(r.start_ns[2], i == 0 ? 10 : 15); /* v */
		oracle_free(&r);
	}
}

static void test_ranks_are_floored(void **state)
{
	(void)state;
	/* b: mean of 1 and 2 is 1; so equal to a (1), and a, the lower index, goes first. */
	const char *graph =
		"{'ops':[{'name':'a','time_s':{'d0':1e-9}},{'name':'b','time_s':{'d0':1e-9,'d1':2e-9}}]}";
	oracle_result r = simulate(graph, SYSTEM_2, "{'placement':{'a':'d0','b':'d0'}}");
	assert_int_equal(r.start_ns[1], 1);
	oracle_free(&r);
	/* b: 1 + mean transfer floor((5 + 6) / 2) = 5 + c 1 = 7; a: 7. A mean of 5.5 or 6 would start b
	 * first. */
	graph = "{'ops':[{'name':'a','time_s':{'d0':7e-9}},{'name':'b','time_s':{'d0':1e-9}},{'name':'c','"
	        "time_s':{'d0':1e-9}}],"
		"'edges':[{'from':'b','to':'c','bytes':0}]}";
	r = simulate(graph,
	             "{" DEVICES_2 ",'links':[{'from':'d0','to':'d1','bandwidth':1,'latency_s':5e-9},{'from':"
	                           "'d1','to':'d0','bandwidth':1,'latency_s':6e-9}]}",
	             "{'placement':{'a':'d0','b':'d0','c':'d0'}}");
	assert_int_equal(r.start_ns[1], 7);
	oracle_free(&r);
}

static void test_op_time(void **state)
{
	(void)state;
	const char *device =
		"{'devices':[{'name':'d0','kind':'gpu','peak_flops':1e12,'efficiency':{'*':0.5,'Conv':0.25},"
		"'mem_bandwidth':1e9,'op_overhead_s':1e-9,'runs':['Conv','Gemm']}]}";
	static const struct {
		const char *op;
		int64_t ns;
	} cases[] = {
		{"'type':'Conv','flops':1000,'read_bytes':2,'write_bytes':1", 1 + 4}, /* 1000 / 250 against 3
	                                                                                 / 1 */
		{"'type':'Gemm','flops':1000,'read_bytes':2,'write_bytes':1", 1 + 3}, /* 1000 / 500 = 2 */
		{"'type':'Gemm'", 1},
		{"'type':'Relu','flops':1000", -1},         /* not in runs */
		{"'flops':1000", -1},                       /* no type: not in runs either */
		{"'type':'Relu','time_s':{'gpu':7e-9}", 7}, /* measured overrides runs, has no overhead */
		{"'type':'Gemm','time_s':{'gpu':7e-9,'d0':3e-9}", 3}, /* name before kind */
		{"'type':'Gemm','time_s':{'gpu':7e-9,'d0':null}", -1},
		{"'type':'Gemm','time_s':{'gpu':null}", -1},
		{"'type':'Gemm','time_s':{'cpu':null}", 1}, /* another machine's */
		{"'type':'Gemm','time_s':{'d0':2.6e-9}", 3},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char graph[512];
		snprintf(graph, sizeof graph, "{'ops':[{'name':'a',%s}]}", cases[i].op);
		assert_int_equal(latency(graph, device, "{'placement':{'a':'d0'}}"), cases[i].ns);
	}
	const char *graph = "{'ops':[{'name':'a','flops':8,'read_bytes':3}]}",
		   *where = "{'placement':{'a':'d0'}}";
	assert_int_equal(latency(graph, SYSTEM_1, where), -1); /* no roofline */
	assert_int_equal(latency(graph, "{'devices':[{'name':'d0','peak_flops':1e9}]}", where), 8);
	assert_int_equal(latency(graph, "{'devices':[{'name':'d0','mem_bandwidth':1e9}]}", where), 3);
}

#define MEMORY_GRAPH                                                                                         \
	"{'ops':[{'name':'a','param_bytes':100,'state_bytes':10,'workspace_bytes':7,'time_s':{'d0':10e-9}}," \
	"{'name':'b','workspace_bytes':3,'output_bytes':5,'time_s':{'d0':10e-9,'d1':10e-9}},{'name':'c','"   \
	"time_s':{'d0':10e-9}}],"                                                                            \
	"'params':[{'name':'w','bytes':1000,'ops':['a','b']}],"                                              \
	"'edges':[{'from':'a','to':'b','bytes':20},{'from':'b','to':'c','bytes':30}]}"

static void test_memory(void **state)
{
	(void)state;
	/* All on d0: 100 + 10 + 1000 = 1110 always. a: + 7 + 20 = 1137. b (a's 7 is freed): + 3 + 5 + 20 +
	 * 30 = 1168. c: + 5 + 30 = 1145. */
	for (int limit = 1167; limit <= 1168; limit++) {
		char system[128];
		snprintf(system, sizeof system, "{'devices':[{'name':'d0','memory_bytes':%d}]}", limit);
		oracle_result r =
			simulate(MEMORY_GRAPH, system, "{'placement':{'a':'d0','b':'d0','c':'d0'}}");
		assert_int_equal(r.device[0].peak_memory_bytes, 1168);
		assert_int_equal(r.feasible, limit == 1168);
		assert_true(r.rules_kept && r.latency_ns == 30);
		oracle_free(&r);
	}
	/* b on d1: d0: 1110, + 27 while a runs, + 20 until its hop ends, + 30 once b's starts to come back.
	 * d1: 1000, + 20 from the hop's start, + 3 + 5 + 30 while b runs. */
	oracle_result r = simulate(MEMORY_GRAPH, SYSTEM_2, "{'placement':{'a':'d0','b':'d1','c':'d0'}}");
	assert_int_equal(r.device[0].peak_memory_bytes, 1140);
	assert_int_equal(r.device[1].peak_memory_bytes, 1058);
	oracle_free(&r);
}

static void test_memory_in_flight(void **state)
{
	(void)state;
	/* a 0-1, its 100 bytes leave d0 1-16; b (90 bytes of workspace, 4) runs on d0 1-5, beside them: 190.
	 * c on d1 waits, holding 100. */
	const char *graph = "{'ops':[{'name':'a','time_s':{'d0':1e-9}},{'name':'b','workspace_bytes':90,'"
	                    "time_s':{'d0':4e-9}},"
			    "{'name':'c','workspace_bytes':1,'time_s':{'d1':1e-9}},{'name':'e','workspace_"
	                    "bytes':50,'time_s':{'d1':9e-9}}],"
			    "'edges':[{'from':'a','to':'c','bytes':100}]}";
	oracle_result r = simulate(graph, SYSTEM_2, "{'placement':{'a':'d0','b':'d0','c':'d1','e':'d1'}}");
	/* Ranks: a 1 + 15 + 1, b 4: a first. d1: e 0-9 holds 50, from 1 the arriving 100 too. */
	assert_int_equal(r.start_ns[1], 1);
	assert_int_equal(r.device[0].peak_memory_bytes, 190);
	assert_int_equal(r.device[1].peak_memory_bytes, 150);
	oracle_free(&r);
}

static void test_zero_durations(void **state)
{
	(void)state;
	/* Everything at 0, round by round: a holds 4 + 2, then b (a's 4 freed) 5 + 2 + 3, then c (5 and 2
	 * freed) 1 + 3. */
	const char *chain = "{'ops':[{'name':'a','workspace_bytes':4,'time_s':{'d0':0}},{'name':'b','"
	                    "workspace_bytes':5,'time_s':{'d0':0}},"
			    "{'name':'c','workspace_bytes':1,'time_s':{'d0':0}}],"
			    "'edges':[{'from':'a','to':'b','bytes':2},{'from':'b','to':'c','bytes':3}]}";
	oracle_result r = simulate(chain, SYSTEM_1, "{'placement':{'a':'d0','b':'d0','c':'d0'}}");
	assert_int_equal(r.latency_ns, 0);
	assert_int_equal(r.device[0].peak_memory_bytes, 10);
	oracle_free(&r);
	/* x (0) feeds y (10); w (10) waits since 0. In the second round y is ready at 0 as well, and has the
	 * lower topological index. */
	const char *tie = "{'ops':[{'name':'x','time_s':{'d0':0}},{'name':'y','time_s':{'d0':10e-9}},{'name':"
	                  "'w','time_s':{'d0':10e-9}}],"
			  "'edges':[{'from':'x','to':'y','bytes':1}]}";
	const char *where = "{'placement':{'x':'d0','y':'d0','w':'d0'}}";
	r = simulate(tie, "{'order':'fifo','devices':[{'name':'d0'}]}", where);
	assert_int_equal(r.start_ns[1], 0);
	assert_int_equal(r.start_ns[2], 10);
	oracle_free(&r);
	/* With two slots w starts in the first round, and y in the second. */
	assert_int_equal(latency(tie, "{'order':'fifo','devices':[{'name':'d0','slots':2}]}", where), 10);
	/* Two tensors of no duration cross one channel in two rounds; the second does not count as waiting,
	 * its instant is the same. */
	const char *two =
		"{'ops':[{'name':'a','time_s':{'d0':3e-9}},{'name':'b','time_s':{'d1':3e-9}}],"
		"'edges':[{'from':'a','to':'b','bytes':0},{'from':'a','to':'b','bytes':0,'tensor':'t'}]}";
	r = simulate(two, "{" DEVICES_2 ",'links':[{'from':'d0','to':'d1','bandwidth':1,'both_ways':true}]}",
	             "{'placement':{'a':'d0','b':'d1'}}");
	assert_int_equal(r.n_transfers, 2);
	assert_int_equal(r.latency_ns, 6);
	oracle_free(&r);
}

static void test_energy(void **state)
{
	(void)state;
	/* The chain: latency 45, d0 busy 10, d1 busy 20, 100 bytes moved.
	 * d0 1 * 45 + 2 * 10 = 65, d1 2 * 45 + 0 * 20 = 90, link 1 * 100: 255 nJ. d2, idle at 4 W: 180. */
	const char *system = "{'devices':[{'name':'d0','idle_w':1,'busy_w':3},{'name':'d1','idle_w':2,'busy_"
	                     "w':2},{'name':'d2'%s}],"
			     "'links':[{'from':'d0','to':'d1','latency_s':5e-9,'bandwidth':1e10,'both_ways':"
	                     "true,'joules_per_byte':1e-9},"
			     "{'from':'d1','to':'d2','bandwidth':1,'both_ways':true}]}";
	char text[1024];
	snprintf(text, sizeof text, system, ",'idle_w':4,'busy_w':9");
	oracle_result r = simulate(CHAIN, text, "{'placement':{'a':'d0','b':'d1'}}");
	assert_true(r.has_energy);
	NEAR(r.energy_j, 435e-9);
	oracle_free(&r);
	snprintf(text, sizeof text, system, "");
	r = simulate(CHAIN, text, "{'placement':{'a':'d0','b':'d1'}}");
	assert_false(r.has_energy); /* even though d2 runs nothing */
	oracle_free(&r);
}

/* A byte a nanosecond over the link. */
#define PIPE "'links':[{'from':'d0','to':'d1','bandwidth':1e9,'both_ways':true}]"
#define POOLS(pools) "{" DEVICES_2 "," PIPE ",'memory_pools':[" pools "]}"
#define ONE_POOL POOLS("{'name':'m','bandwidth':1e9,'devices':['d0','d1']}")

static void test_operators_in_a_pool(void **state)
{
	(void)state;
	/* a asks 20 / 10, which the pool's 1 limits to 1; b asks 2 / 10. b gets its 0.2, a the other 0.8: it
	 * would end at 12.5. At 10 b ends, 8 of a's 10 are done, and the rest runs at full speed. */
	const char *graph = "{'ops':[{'name':'a','read_bytes':20,'time_s':{'d0':10e-9}},{'name':'b','write_"
	                    "bytes':2,'time_s':{'d1':10e-9}}]}";
	oracle_result r = simulate(graph, ONE_POOL, "{'placement':{'a':'d0','b':'d1'}}");
	assert_int_equal(r.end_ns[0], 12);
	assert_int_equal(r.end_ns[1], 10);
	assert_true(r.n_slowed_ops == 1 && r.n_slowed_hops == 0);
	NEAR(r.device[0].busy_s, 12e-9);
	NEAR(r.pool[0].load_s, 12e-9); /* a's 20 bytes count for the 10 that it can take alone */
	NEAR(r.load_s, 12e-9);
	oracle_free(&r);
	/* three that ask 1 each, on one device of three slots: a third of the speed */
	const char *three =
		"{'ops':[{'name':'a','read_bytes':9,'time_s':{'*':9e-9}},{'name':'b','read_bytes':9,'time_s'"
		":{'*':9e-9}},{'name':'c','read_bytes':9,'time_s':{'*':9e-9}},"
		"{'name':'d','time_s':{'*':9e-9}}]}";
	r = simulate(three, "{'devices':[{'name':'d0','slots':4}],'memory_pools':[{'name':'m','bandwidth':"
	                    "1e9,'devices':['d0']}]}",
	             "{'placement':{'a':'d0','b':'d0','c':'d0','d':'d0'}}");
	assert_int_equal(r.n_slowed_ops, 3); /* d moves nothing */
	assert_int_equal(r.end_ns[3], 9);
	assert_int_equal(r.latency_ns, 27);
	oracle_free(&r);
}

static void test_hops_in_pools(void **state)
{
	(void)state;
	const char *graph = "{'ops':[{'name':'a','time_s':{'d0':0}},{'name':'b','time_s':{'d1':0}},"
	                    "{'name':'c','read_bytes':%d,'time_s':{'d0':10e-9}}],"
	                    "'edges':[{'from':'a','to':'b','bytes':10}]}";
	const char *where = "{'placement':{'a':'d0','b':'d1','c':'d0'}}";
	char text[512];
	/* 10 alone; read and written in the one pool it asks 2, and gets 1 */
	snprintf(text, sizeof text, graph, 0);
	oracle_result r = simulate(text, ONE_POOL, where);
	assert_int_equal(r.latency_ns, 20);
	NEAR(r.pool[0].load_s, 20e-9);
	NEAR(r.load_s, 20e-9);
	oracle_free(&r);
	/* Between a pool of 1 and one of 0.5 it asks 1 of each, and goes at 0.5. c asks 0.5, and has it. */
	snprintf(text, sizeof text, graph, 5);
	r = simulate(text, POOLS("{'name':'m','bandwidth':1e9,'devices':['d0']},{'name':'n','bandwidth':5e8,"
	                         "'devices':['d1']}"),
	             where);
	assert_int_equal(r.start_ns[1], 20);
	assert_int_equal(r.end_ns[2], 10);
	NEAR(r.pool[0].load_s, 15e-9);
	NEAR(r.pool[1].load_s, 20e-9);
	oracle_free(&r);
	/* c asks 1.5, of which it may have 1. Each gets half of the first pool, until c ends at 20, just when
	 * the hop ends, which the second pool holds to 0.5 as well. */
	snprintf(text, sizeof text, graph, 15);
	r = simulate(text, POOLS("{'name':'m','bandwidth':1e9,'devices':['d0']},{'name':'n','bandwidth':5e8,"
	                         "'devices':['d1']}"),
	             where);
	assert_int_equal(r.start_ns[1], 20);
	assert_int_equal(r.end_ns[2], 20);
	oracle_free(&r);
	/* A device outside of all pools: the hop asks 1 of the one pool. */
	r = simulate(text, POOLS("{'name':'m','bandwidth':5e8,'devices':['d1']}"), where);
	assert_int_equal(r.start_ns[1], 20);
	assert_int_equal(r.end_ns[2], 10);
	oracle_free(&r);
}

static void test_pool_memory(void **state)
{
	(void)state;
	/* The tensor of CHAIN is on both devices from 10 to 110, the end of the hop. */
	const char *pools[] = {"{'name':'m','bandwidth':1e12,'bytes':200,'devices':['d0','d1']}",
	                       "{'name':'m','bandwidth':1e12,'bytes':199,'devices':['d0','d1']}"};
	for (int i = 0; i < 2; i++) {
		char system[512];
		snprintf(system, sizeof system, "{" DEVICES_2 "," PIPE ",'memory_pools':[%s]}", pools[i]);
		oracle_result r = simulate(CHAIN, system, "{'placement':{'a':'d0','b':'d1'}}");
		assert_int_equal(r.pool[0].peak_memory_bytes, 200);
		assert_int_equal(r.memory_fits, i == 0);
		assert_int_equal(r.latency_ns, 10 + 100 + 20);
		assert_int_equal(r.n_slowed_hops, 0);
		oracle_free(&r);
	}
}

static void test_rules(void **state)
{
	(void)state;
	static const struct {
		const char *a, *b;
		bool kept;
	} cases[] = {
		{ "", "", true },
		{ ",'pin':'d0'", ",'pin':'d1'", true },
		{ ",'pin':'d1'", "", false },
		{ ",'forbid':['d1']", ",'forbid':['d0']", true },
		{ "", ",'forbid':['d0','d1']", false },
		{ ",'colocate':'g'", ",'colocate':'h'", true },
		{ ",'colocate':'g'", ",'colocate':'g'", false },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char graph[512];
		snprintf(graph, sizeof graph,
		         "{'ops':[{'name':'a','time_s':{'d0':1e-9}%s},{'name':'b','time_s':{'d1':1e-9}%s}]}",
		         cases[i].a, cases[i].b);
		oracle_result r = simulate(graph, SYSTEM_2, "{'placement':{'a':'d0','b':'d1'}}");
		assert_true(r.runs && r.memory_fits);
		assert_int_equal(r.rules_kept, cases[i].kept);
		assert_int_equal(r.feasible, cases[i].kept);
		oracle_free(&r);
	}
}

static void test_brute_force(void **state)
{
	(void)state;
	/* Chain a 10 | 20, b 30 | 20 with a hop of 15 and watts 0-1 | 0-2, as (device of a, device of b):
	 *   00: latency 40, load 40, energy 40     01: 10 + 15 + 20 = 45, 20, 10 + 40 = 50
	 *   10: 20 + 15 + 30 = 65, 30, 40 + 30 = 70  11: 40, 40, 80. EDP 1600, 2250, 4550, 3200. */
	const char *system = "{'devices':[{'name':'d0','idle_w':0,'busy_w':1},{'name':'d1','idle_w':0,'busy_"
	                     "w':2%s}]," LINKS_2 "}";
	char graph_json[4096], text[1024], system_json[4096];
	with_quotes(graph_json, CHAIN);
	snprintf(text, sizeof text, system, "");
	with_quotes(system_json, text);
	oracle_optimum o;
	assert_int_equal(oracle_brute_force(graph_json, system_json, &o), 0);
	assert_true(o.n_placements == 4 && o.n_run == 4 && o.n_feasible == 4);
	assert_int_equal(o.feasible.latency_ns, 40);
	NEAR(o.feasible.load_s, 20e-9);
	NEAR(o.feasible.energy_j, 40e-9);
	NEAR(o.feasible.edp, 1600e-18);
	/* d1 cannot hold the tensor: 00 alone is left. */
	snprintf(text, sizeof text, system, ",'memory_bytes':99");
	with_quotes(system_json, text);
	assert_int_equal(oracle_brute_force(graph_json, system_json, &o), 0);
	assert_int_equal(o.n_feasible, 1);
	NEAR(o.feasible.load_s, 40e-9);
	NEAR(o.any_memory.load_s, 20e-9);
	/* b pinned to d1 leaves 01 and 11, and neither fits. */
	with_quotes(graph_json, "{'ops':[{'name':'a','time_s':{'d0':10e-9,'d1':20e-9}},{'name':'b','pin':'d1'"
	                        ",'time_s':{'d0':30e-9,'d1':20e-9}}],"
	                        "'edges':[{'from':'a','to':'b','bytes':100}]}");
	assert_int_equal(oracle_brute_force(graph_json, system_json, &o), 0);
	assert_true(o.n_feasible == 0 && o.feasible.latency_ns == -1 && isnan(o.feasible.load_s) &&
	            isnan(o.feasible.edp));
	assert_int_equal(o.any_memory.latency_ns, 40);
	NEAR(o.any_memory.energy_j, 50e-9);
	NEAR(o.any.energy_j, 40e-9);
}

static void test_refused(void **state)
{
	(void)state;
	static const char *const where = "{'placement':{'a':'d0','b':'d1'}}";
	static const struct {
		const char *graph, *system, *placement;
	} cases[] = {
		{"{", SYSTEM_2, where},
		{CHAIN, "", where},
		{CHAIN, SYSTEM_2, "["},
		{CHAIN, SYSTEM_2, "{'placement':{'a':'d0'}}"},
		{CHAIN, SYSTEM_2, "{'placement':{'a':'d0','b':'d9'}}"},
		{CHAIN, "{" DEVICES_2 "}", where},
		{CHAIN, "{'order':'lifo'," DEVICES_2 "," LINKS_2 "}", where},
		{"{'ops':[{'name':'a'},{'name':'b'}],'edges':[{'from':'a','to':'c','bytes':0}]}", SYSTEM_2,
	         where},
		{"{'ops':[{'name':'a'},{'name':'b'}],'edges':[{'from':'a','to':'b','bytes':0},{'from':'b','"
	         "to':'a','bytes':0}]}",
	         SYSTEM_2, where},
		{"{'ops':[{'name':'a'},{'name':'b'}],'params':[{'name':'w','bytes':1,'ops':['c']}]}",
	         SYSTEM_2, where},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		oracle_result r;
		assert_int_equal(try_simulate(cases[i].graph, cases[i].system, cases[i].placement, &r), -1);
		assert_null(r.dev);
		oracle_free(&r);
	}
}

/* ---- random instances ---- */

static const char *const features[] = {/* that at least one instance in a hundred shows */
                                       "\"macs\"",
                                       "\"flops\"",
                                       "\"read_bytes\"",
                                       "\"write_bytes\"",
                                       "\"param_bytes\"",
                                       "\"state_bytes\"",
                                       "\"workspace_bytes\"",
                                       "\"output_bytes\"",
                                       "\"time_s\"",
                                       "\"tpu\"",
                                       ":null",
                                       "\"type\"",
                                       "\"colocate\"",
                                       "\"pin\"",
                                       "\"forbid\"",
                                       "\"backward\":true",
                                       "\"backward\":false",
                                       "\"params\"",
                                       "\"tensor\"",
                                       "\"bytes\":0",
                                       "\"kind\"",
                                       "\"peak_flops\"",
                                       "\"mem_bandwidth\"",
                                       "\"efficiency\"",
                                       "\"op_overhead_s\"",
                                       "\"slots\":1",
                                       "\"slots\":2",
                                       "\"slots\":3",
                                       "\"runs\"",
                                       "\"memory_bytes\"",
                                       "\"idle_w\"",
                                       "\"latency_s\"",
                                       "\"both_ways\":true",
                                       "\"both_ways\":false",
                                       "\"shared\":\"bus\"",
                                       "\"shared\":\"pcie\"",
                                       "\"joules_per_byte\"",
                                       "\"contention\":true",
                                       "\"contention\":false",
                                       "\"order\":\"priority\"",
                                       "\"order\":\"fifo\"",
                                       "\"order\":\"program\"",
                                       "\"order\":\"given\"",
                                       "\"order\":["};
enum { N_FEATURES = sizeof features / sizeof *features };

enum outcome {
	RUNS,
	CANNOT_RUN,
	FEASIBLE,
	BREAKS_RULES,
	TOO_LARGE,
	NO_WATTS,
	IDLE_TRANSFERS,
	ROUTED,
	WAITS,
	INSTANT,
	N_OUTCOMES
};

static void check_schedule(const instance *x, const oracle_result *r)
{
	int64_t last = 0;
	double busy = 0;
	assert_int_equal(r->n_ops, x->n_ops);
	assert_int_equal(r->n_devices, x->n_devices);
	assert_true(r->n_hops >= r->n_transfers && r->n_waits <= r->n_hops);
	for (int i = 0; i < r->n_ops; i++) {
		assert_true(r->start_ns[i] >= 0 && r->end_ns[i] >= r->start_ns[i] &&
		            r->dev[i] < r->n_devices);
		last = r->end_ns[i] > last ? r->end_ns[i] : last;
	}
	for (int d = 0; d < r->n_devices; d++)
		busy = fmax(busy, r->device[d].busy_s);
	assert_int_equal(r->latency_ns, last);
	assert_true(r->load_s >= busy && busy <= (double)last * 1e-9 * (1 + 1e-12));
}

static void test_instances(void **state)
{
	(void)state;
	enum { N = 10000 };
	int feature_count[N_FEATURES] = { 0 }, outcome_count[N_OUTCOMES] = { 0 };
	for (uint64_t seed = 0; seed < N; seed++) {
		instance x;
		oracle_result r;
		instance_make(seed, 12, 5, &x);
		for (int f = 0; f < N_FEATURES; f++)
			feature_count[f] += strstr(x.graph, features[f]) || strstr(x.system, features[f]) ||
			                    strstr(x.placement, features[f]);
		if (oracle_simulate(x.graph, x.system, x.placement, &r) != 0)
			fail_msg("seed %llu is refused", (unsigned long long)seed);
		outcome_count[r.runs ? RUNS : CANNOT_RUN]++;
		if (r.runs) {
			check_schedule(&x, &r);
			outcome_count[FEASIBLE] += r.feasible;
			outcome_count[BREAKS_RULES] += !r.rules_kept;
			outcome_count[TOO_LARGE] += !r.memory_fits;
			outcome_count[NO_WATTS] += !r.has_energy;
			outcome_count[IDLE_TRANSFERS] += r.n_transfers > 0 && r.n_waits == 0;
			outcome_count[ROUTED] += r.n_hops > r.n_transfers;
			outcome_count[WAITS] += r.n_waits > 0;
			outcome_count[INSTANT] += r.latency_ns == 0;
		}
		oracle_free(&r);
		instance_free(&x);
	}
	for (int f = 0; f < N_FEATURES; f++) {
		if (feature_count[f] < N / 100)
			fail_msg("%s is in only %d of %d instances", features[f], feature_count[f], (int)N);
	}
	for (int o = 0; o < N_OUTCOMES; o++) {
		if (outcome_count[o] < N / 100)
			fail_msg("outcome %d is that of only %d of %d instances", o, outcome_count[o],
			         (int)N);
	}
}

static void test_instances_repeat(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed < 50; seed++) {
		instance x, y;
		instance_make(seed, 1000, 1000, &x); /* cut to the limits */
		instance_make(seed, INSTANCE_MAX_OPS, INSTANCE_MAX_DEVICES, &y);
		assert_string_equal(x.graph, y.graph);
		assert_string_equal(x.system, y.system);
		assert_string_equal(x.placement, y.placement);
		assert_true(x.n_ops <= INSTANCE_MAX_OPS && x.n_devices <= INSTANCE_MAX_DEVICES);
		instance_free(&x);
		instance_free(&y);
	}
}

static void test_brute_force_instances(void **state)
{
	(void)state;
	int n_solved = 0, n_tight = 0, n_energy = 0;
	for (uint64_t seed = 0; seed < 300; seed++) {
		instance x;
		oracle_optimum o;
		oracle_result r;
		instance_make(seed, 4, 3, &x);
		assert_int_equal(oracle_simulate(x.graph, x.system, x.placement, &r), 0);
		if (oracle_brute_force(x.graph, x.system, &o) == 0) {
			n_solved += o.n_feasible > 0;
			n_tight += o.n_feasible > 0 && o.feasible.latency_ns > o.any_memory.latency_ns;
			n_energy += !isnan(o.feasible.energy_j);
			if (r.feasible && !strstr(x.placement, "\"order\""))
				assert_true(o.feasible.latency_ns <= r.latency_ns &&
				            o.feasible.load_s <= r.load_s);
			if (o.n_feasible)
				assert_true(o.any.latency_ns <= o.any_memory.latency_ns &&
				            o.any_memory.latency_ns <= o.feasible.latency_ns);
		}
		oracle_free(&r);
		instance_free(&x);
	}
	assert_true(n_solved > 100 && n_tight > 3 && n_energy > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_tensor_goes_once),
		cmocka_unit_test(test_shared_channel),
		cmocka_unit_test(test_channel_order),
		cmocka_unit_test(test_routes),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_slots_in_line),
		cmocka_unit_test(test_program_and_given),
		cmocka_unit_test(test_priority_and_fifo),
		cmocka_unit_test(test_ranks_are_floored),
		cmocka_unit_test(test_op_time),
		cmocka_unit_test(test_memory),
		cmocka_unit_test(test_memory_in_flight),
		cmocka_unit_test(test_zero_durations),
		cmocka_unit_test(test_energy),
		cmocka_unit_test(test_operators_in_a_pool),
		cmocka_unit_test(test_hops_in_pools),
		cmocka_unit_test(test_pool_memory),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_brute_force),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_instances),
		cmocka_unit_test(test_instances_repeat),
		cmocka_unit_test(test_brute_force_instances),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
