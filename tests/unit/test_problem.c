/* Compiled problems: what no result shows of their tables, and why there is no legal device. */
#include "graph_format.h"
#include "instance.h"
#include "small_problem.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <string.h>

/* Devices d, in a memory pool, and e, in none. */
static void open_world(small_problem *w, const char *ops)
{
	berth_arena text = {0};
	const char *graph = berth_arena_printf(
		&text, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],\"edges\":[]}", ops);
	const char *system =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],"
		"\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}],"
		"\"memory_pools\":[{\"name\":\"p\",\"devices\":[\"d\"],\"bandwidth\":1e9}]}";
	small_problem_make(w, graph, system);
	berth_arena_free(&text);
}

/* An operator that takes no time asks nothing of its memory pool. */
static void no_time_no_share(void **state)
{
	(void)state;
	small_problem w;
	open_world(&w, "{\"name\":\"a\",\"time_s\":{\"*\":0},\"read_bytes\":8},"
	               "{\"name\":\"b\",\"time_s\":{\"*\":1},\"read_bytes\":8}");
	const double *demand = w.p.op_dev_demand;
	assert_true(demand[0] == 0 && demand[1] == 0 && demand[2] > 0 && demand[3] == 0);
	small_problem_free(&w);
}

/* The first reason that leaves no device is told. */
static void all_are_forbidden(void **state)
{
	(void)state;
	small_problem w;
	berth_err err;
	open_world(&w, "{\"name\":\"a\",\"time_s\":{\"d\":null,\"e\":1},\"forbid\":[\"e\"],"
	               "\"colocate\":\"c\"}");
	assert_int_equal(berth_problem_feasible(&w.p, &err), BERTH_EINFEASIBLE);
	assert_contains(err.msg, "its pin and forbidden devices leave no device");
	small_problem_free(&w);
}

/* No sum of times may reach 2^60 ns, 1.15e9 s: each kind of sum just below and just above. */
static void too_long_to_simulate(void **state)
{
	(void)state;
#define TAKES(name, type, s) "{\"name\":\"" name "\",\"type\":\"" type "\",\"flops\":" s "}"
#define SENDS(bytes) "{\"from\":\"a\",\"to\":\"b\",\"bytes\":" bytes "}"
	static const struct {
		const char *ops, *edges, *says;
	} cases[] = {
		{TAKES("a", "of d", "1.1e9"), "", NULL},
		{TAKES("a", "of d", "1.2e9"), "",
	         "operator 'a' takes 1.2e+09 s on 'd': too long to simulate"},
		{TAKES("a", "of e", "1.2e9"), "",
	         "operator 'a' takes 1.2e+09 s on 'e': too long to simulate"},
		{TAKES("a", "both", "5.5e8"), "", NULL},
		{TAKES("a", "both", "6e8"), "", "operator 'a' takes 6e+08 s on 'e': too long to simulate"},
		/* the longest of each operator */
		{TAKES("a", "both", "5e8") "," TAKES("b", "of e", "6e8"), "", NULL},
		{TAKES("a", "of d", "6e8") "," TAKES("b", "of e", "6e8"), "",
	         "all operators and transfers together take 1.2e+09 s: too long to simulate"},
		/* links of a byte a second: a hop, both ways, mean times for all pairs and operators */
		{TAKES("a", "both", "0") "," TAKES("b", "both", "0"), SENDS("1200000000"),
	         "a tensor of 1200000000 bytes takes 1.2e+09 s from 'd' to 'e': too long"},
		{TAKES("a", "both", "0") "," TAKES("b", "both", "0"), SENDS("600000000"),
	         "a tensor of 600000000 bytes takes 1.2e+09 s over all links: too long"},
		{TAKES("a", "both", "0") "," TAKES("b", "both", "0"), SENDS("300000000"),
	         "all operators and transfers together take 1.2e+09 s: too long to simulate"},
		{TAKES("a", "both", "0") "," TAKES("b", "both", "2e7"), SENDS("280000000"), NULL},
		{TAKES("a", "both", "0") "," TAKES("b", "both", "4e7"), SENDS("280000000"),
	         "all operators and transfers together take 1.16e+09 s: too long to simulate"},
	};
#undef TAKES
#undef SENDS
	static const char system[] =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":["
		"{\"name\":\"d\",\"peak_flops\":1,\"runs\":[\"of d\",\"both\"]},"
		"{\"name\":\"e\",\"peak_flops\":1,\"runs\":[\"of e\",\"both\"]}],"
		"\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}]}";
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_problem p;
		berth_err err;
		const char *graph = berth_arena_printf(
			&mem, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],\"edges\":[%s]}",
			cases[i].ops, cases[i].edges);
		assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
		assert_ok(berth_system_parse_json("s", system, strlen(system), &mem, &tmp, &s, &err), &err);
		size_t used = berth_arena_get_mark(&tmp).used;
		berth_status st = berth_problem_new(&g, &s, &mem, &tmp, &p, &err);
		assert_int_equal(st, cases[i].says ? BERTH_EFORMAT : BERTH_OK);
		if (cases[i].says)
			assert_contains(err.msg, cases[i].says);
		assert_int_equal(berth_arena_get_mark(&tmp).used, used);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* Memory is no matter where the smallest memory, or the smallest member's part of a pool, holds all there
 * is: 30 bytes of parameters, state, outputs, workspaces, tensors and shared parameters. */
static void memory_is_free(void **state)
{
	(void)state;
	static const char graph[] =
		"{\"format\":\"berth-graph\",\"version\":1,"
		"\"params\":[{\"name\":\"w\",\"bytes\":7,\"ops\":[\"a\",\"b\"]}],\"ops\":["
		"{\"name\":\"a\",\"time_s\":{\"*\":1},\"param_bytes\":2,\"state_bytes\":3},"
		"{\"name\":\"b\",\"time_s\":{\"*\":1},\"workspace_bytes\":4,\"output_bytes\":5}],"
		"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":9}]}";
	static const struct {
		const char *d, *e, *pools;
		bool is;
	} cases[] = {
		{"", "", "", true},
		{",\"memory_bytes\":30", "", "", true},
		{",\"memory_bytes\":29", "", "", false},
		{",\"memory_bytes\":90", ",\"memory_bytes\":29", "", false},
		{",\"memory_bytes\":29", ",\"memory_bytes\":90", "", false},
		{",\"memory_bytes\":0", "", "", false},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":30,\"devices\":[\"d\"]}", true},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":29,\"devices\":[\"e\"]}", false},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":0,\"devices\":[\"e\"]}", false},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":60,\"devices\":[\"d\",\"e\"]}", true},
		{"", "", "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":59,\"devices\":[\"d\",\"e\"]}", false},
		{"", "",
	         "{\"name\":\"p\",\"bandwidth\":1,\"bytes\":90,\"devices\":[\"e\"]},"
	         "{\"name\":\"q\",\"bandwidth\":1,\"bytes\":29,\"devices\":[\"d\"]}",
	         false},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena text = {0};
		small_problem w;
		small_problem_make(
			&w, graph,
			berth_arena_printf(&text,
		                           "{\"format\":\"berth-system\",\"version\":1,\"devices\":["
		                           "{\"name\":\"d\"%s},{\"name\":\"e\"%s}],\"links\":[{\"from\":"
		                           "\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}],"
		                           "\"memory_pools\":[%s]}",
		                           cases[i].d, cases[i].e, cases[i].pools));
		if (w.p.memory_free != cases[i].is)
			fail_msg("case %d: memory is%s free", (int)i, w.p.memory_free ? "" : " not");
		small_problem_free(&w);
		berth_arena_free(&text);
	}
}

#define LINK(a, b) "{\"from\":\"" a "\",\"to\":\"" b "\",\"bandwidth\":1,\"both_ways\":true}"

/* No sum over the devices of a pool may pass 2^62 bytes. */
static void too_much_for_a_pool(void **state)
{
	(void)state;
	static const struct {
		int n_ops; /* of 2^53 bytes */
		const char *members;
		bool fits;
	} cases[] = {{128, "\"a\",\"b\",\"c\",\"d\"", true},
	             {129, "\"a\",\"b\",\"c\",\"d\"", false},
	             {129, "\"a\",\"b\",\"c\"", true},
	             {170, "\"a\",\"b\",\"c\"", true},
	             {171, "\"a\",\"b\",\"c\"", false}};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_system s;
		berth_problem p;
		berth_err err;
		const char *ops = "{\"name\":\"o\",\"time_s\":{\"*\":1}}";
		for (int k = 0; k < cases[i].n_ops; k++)
			ops = berth_arena_printf(&mem,
			                         "%s,{\"name\":\"o%d\",\"time_s\":{\"*\":1},"
			                         "\"param_bytes\":9007199254740992}",
			                         ops, k);
		ops = berth_arena_printf(&mem, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s]}",
		                         ops);
		const char *system = berth_arena_printf(
			&mem,
			"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"a\"},{\"name\":"
			"\"b\"},{\"name\":\"c\"},{\"name\":\"d\"}],\"links\":["
			LINK("a", "b") "," LINK("b", "c") "," LINK("c", "d")
			"],\"memory_pools\":[{\"name\":\"p\","
			"\"bandwidth\":1,\"devices\":[%s]}]}",
			cases[i].members);
		assert_ok(berth_graph_parse_json("g", ops, strlen(ops), &mem, &tmp, &g, &err), &err);
		assert_ok(berth_system_parse_json("s", system, strlen(system), &mem, &tmp, &s, &err), &err);
		assert_int_equal(berth_problem_new(&g, &s, &mem, &tmp, &p, &err),
		                 cases[i].fits ? BERTH_OK : BERTH_EFORMAT);
		if (!cases[i].fits)
			assert_contains(err.msg, "devices of memory pool 'p' may hold 1.");
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* The time for a device stands before that for its kind, and this one before that for all, wherever they
 * stand; without one the roofline tells, of the figures that there are. */
static void times_of_operators(void **state)
{
	(void)state;
	static const struct {
		const char *keys, *devs;
		int64_t ns[2];
	} cases[] = {
		{"\"time_s\":{\"*\":1e-9,\"k\":2e-9,\"d\":3e-9}", "", {3, 2}},
		{"\"time_s\":{\"d\":3e-9,\"k\":2e-9,\"*\":1e-9}", "", {3, 2}},
		{"\"time_s\":{\"k\":2e-9,\"*\":1e-9}", "", {2, 2}},
		{"\"time_s\":{\"*\":1e-9,\"e\":4e-9}", "", {1, 4}},
		{"\"time_s\":{\"*\":1e-9,\"zz\":4e-9}", "", {1, 1}},
		{"\"time_s\":{\"zz\":4e-9}", "", {-1, -1}},
		{"\"time_s\":{\"d\":null,\"*\":1e-9}", "", {-1, 1}},
		{"\"flops\":6e9", ",\"peak_flops\":1e18", {6, 6}},
		{"\"flops\":6e9,\"type\":\"t\"",
	         ",\"peak_flops\":1e18,\"efficiency\":{\"t\":0.5,\"*\":0.25}",
	         {12, 12}},
		{"\"flops\":6e9,\"type\":\"u\"",
	         ",\"peak_flops\":1e18,\"efficiency\":{\"t\":0.5,\"*\":0.25}",
	         {24, 24}},
		{"\"flops\":6e9,\"read_bytes\":9", ",\"peak_flops\":1e18", {6, 6}},
		{"\"flops\":6e9,\"read_bytes\":9", ",\"mem_bandwidth\":1e9", {9, 9}},
		{"\"write_bytes\":4,\"read_bytes\":9", ",\"mem_bandwidth\":1e9", {13, 13}},
		{"\"flops\":6e9,\"read_bytes\":5", ",\"peak_flops\":1e18,\"mem_bandwidth\":1e9", {6, 6}},
		{"\"flops\":6e9,\"read_bytes\":7", ",\"peak_flops\":1e18,\"mem_bandwidth\":1e9", {7, 7}},
		{"\"flops\":6e9", ",\"peak_flops\":1e18,\"op_overhead_s\":5e-9", {11, 11}},
		{"\"flops\":0", ",\"peak_flops\":1e18,\"op_overhead_s\":5e-9", {5, 5}},
		{"\"flops\":6e9", "", {-1, -1}},
		{"\"flops\":6e9,\"type\":\"t\"", ",\"peak_flops\":1e18,\"runs\":[\"s\",\"t\"]", {6, 6}},
		{"\"flops\":6e9,\"type\":\"u\"", ",\"peak_flops\":1e18,\"runs\":[\"s\",\"t\"]", {-1, -1}},
		{"\"flops\":6e9", ",\"peak_flops\":1e18,\"runs\":[\"s\",\"t\"]", {-1, -1}},
		{"\"type\":\"u\",\"time_s\":{\"*\":1e-9}", ",\"runs\":[\"s\"]", {1, 1}},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena text = {0};
		small_problem w;
		const char *graph = berth_arena_printf(
			&text, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",%s}]}",
			cases[i].keys);
		const char *system = berth_arena_printf(
			&text,
			"{\"format\":\"berth-system\",\"version\":1,\"devices\":["
			"{\"name\":\"d\",\"kind\":\"k\"%s},{\"name\":\"e\",\"kind\":\"k\"%s}],\"links\":["
			"{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}]}",
			cases[i].devs, cases[i].devs);
		small_problem_make(&w, graph, system);
		for (int32_t d = 0; d < 2; d++)
			if (berth_op_time(&w.p, 0, d) != cases[i].ns[d])
				fail_msg("case %d: %lld ns on device %d", (int)i,
				         (long long)berth_op_time(&w.p, 0, d), (int)d);
		small_problem_free(&w);
		berth_arena_free(&text);
	}
}

static void check_means_and_ranks(const berth_problem *p)
{
	const berth_graph *g = p->g;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int64_t sum = 0, count = 0, below = 0;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_time(p, op, d) >= 0) {
				sum += berth_op_time(p, op, d);
				count++;
			}
		assert_int_equal(p->op_mean_ns[op], count ? sum / count : 0);
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
			for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
				int64_t way = p->class_mean_ns[p->tensor_class[t]] +
				              p->op_rank_ns[g->edge_consumer[e]];
				below = way > below ? way : below;
				assert_int_equal(g->in_tensor[p->edge_in_pos[e]], t);
				assert_true(p->edge_in_pos[e] >= g->op_in_off[g->edge_consumer[e]] &&
				            p->edge_in_pos[e] < g->op_in_off[g->edge_consumer[e] + 1]);
			}
		assert_int_equal(p->op_rank_ns[op], p->op_mean_ns[op] + below);
	}
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t a = p->prio_op[k ? k - 1 : 0], b = p->prio_op[k];
		assert_int_equal(p->op_prio[b], k);
		assert_true(k == 0 || p->op_rank_ns[a] > p->op_rank_ns[b] ||
		            (p->op_rank_ns[a] == p->op_rank_ns[b] && g->op_topo[a] < g->op_topo[b]));
	}
}

static void check_classes(const berth_problem *p)
{
	const berth_graph *g = p->g;
	int32_t n = 0;
	int64_t devs = p->n_devs;
	for (int32_t k = 0; k < p->n_ops; k++)
		for (int32_t t = g->op_tensor_off[g->topo_op[k]]; t < g->op_tensor_off[g->topo_op[k] + 1];
		     t++) {
			int32_t c = p->tensor_class[t];
			assert_true(c >= 0 && c <= n);
			assert_int_equal(p->class_bytes[c], g->tensor_bytes[t]);
			assert_true(p->class_cut_s[c] == g->tensor_cut_s[t]);
			for (int32_t other = 0; other < c; other++)
				assert_true(p->class_bytes[other] != p->class_bytes[c] ||
				            p->class_cut_s[other] != p->class_cut_s[c]);
			n += c == n;
		}
	assert_int_equal(p->n_classes, n);
	for (int32_t c = 0; c < n; c++) {
		int64_t sum = 0;
		for (int64_t i = 0; i < devs * devs; i++)
			sum += p->class_pair_ns[c * devs * devs + i];
		assert_int_equal(p->class_mean_ns[c], devs > 1 ? sum / (devs * (devs - 1)) : 0);
		for (int32_t l = 0; l < p->s->n_links; l++)
			assert_int_equal(p->class_link_ns[c * p->s->n_links + l],
			                 llround((p->s->link_latency_s[l] +
			                          (double)p->class_bytes[c] / p->s->link_bandwidth[l] +
			                          p->class_cut_s[c]) *
			                         1e9));
	}
}

/* Means, ranks, priorities, inputs, classes and hops of random problems, some of whose tensors have cuts. */
static void tables_by_definition(void **state)
{
	(void)state;
	int n_cut = 0, n_equal = 0;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		instance in;
		small_problem w;
		berth_problem p;
		berth_err err;
		instance_make(seed, 14, 4, &in);
		small_problem_make(&w, in.graph, in.system);
		assert_ok(BERTH_NEW(&w.mem, w.g.tensor_cut_s, w.g.n_tensors, &err), &err);
		for (int32_t t = 0; t < w.g.n_tensors; t++) {
			w.g.tensor_cut_s[t] = (double)((uint64_t)t * seed % 3) * 1e-9;
			n_cut += w.g.tensor_cut_s[t] > 0;
		}
		assert_ok(berth_problem_new(&w.g, &w.s, &w.mem, &w.tmp, &p, &err), &err);
		check_means_and_ranks(&p);
		check_classes(&p);
		for (int32_t k = 1; k < p.n_ops; k++)
			n_equal += p.op_rank_ns[p.prio_op[k]] == p.op_rank_ns[p.prio_op[k - 1]];
		small_problem_free(&w);
		instance_free(&in);
	}
	assert_true(n_cut > 100 && n_equal > 20);
}

/* Why no device is legal: it runs nowhere, rules leave none, its colocation group leaves none. */
static void no_device_is_legal(void **state)
{
	(void)state;
	static const struct {
		const char *ops, *says;
	} cases[] = {
		{"{\"name\":\"a\",\"time_s\":{\"*\":1}}", NULL},
		{"{\"name\":\"b\",\"time_s\":{\"*\":1}},{\"name\":\"a\",\"type\":\"T\"}",
	         "can run operator 'a' (T): give it a time_s, or add its type to a device's runs"},
		{"{\"name\":\"a\"}", "no device of 's' can run operator 'a' (no type): give it"},
		{"{\"name\":\"a\",\"type\":\"T\",\"time_s\":{\"d\":1},\"pin\":\"e\"}",
	         "operator 'a' (T): its pin and forbidden devices leave no device of 's'"},
		{"{\"name\":\"a\",\"time_s\":{\"d\":1},\"forbid\":[\"d\"]}",
	         "operator 'a' (no type): its pin and forbidden devices leave no device"},
		{"{\"name\":\"a\",\"time_s\":{\"d\":1},\"colocate\":\"c\"},"
	         "{\"name\":\"b\",\"time_s\":{\"e\":1},\"colocate\":\"c\"}",
	         "operator 'a': no device of 's' is legal for all of its colocation group 'c'"},
		{"{\"name\":\"a\",\"time_s\":{\"*\":1},\"separate\":\"x\"},"
	         "{\"name\":\"b\",\"time_s\":{\"*\":1},\"separate\":\"x\"}",
	         NULL},
		{"{\"name\":\"a\",\"time_s\":{\"d\":1},\"separate\":\"x\"},"
	         "{\"name\":\"b\",\"time_s\":{\"d\":1},\"separate\":\"x\"}",
	         "no placement of 'g' on 's' keeps its rules of "},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena text = {0};
		small_problem w;
		berth_err err;
		small_problem_make(
			&w,
			berth_arena_printf(
				&text,
				"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[%s],"
				"\"edges\":[]}",
				cases[i].ops),
			"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":[{\"name\":"
		        "\"d\"},"
			"{\"name\":\"e\"}],\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_"
		        "ways\":true}]}");
		assert_int_equal(berth_problem_feasible(&w.p, &err),
		                 cases[i].says ? BERTH_EINFEASIBLE : BERTH_OK);
		if (cases[i].says)
			assert_contains(err.msg, cases[i].says);
		small_problem_free(&w);
		berth_arena_free(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_time_no_share),     cmocka_unit_test(too_long_to_simulate),
		cmocka_unit_test(memory_is_free),       cmocka_unit_test(times_of_operators),
		cmocka_unit_test(tables_by_definition), cmocka_unit_test(no_device_is_legal),
		cmocka_unit_test(all_are_forbidden),    cmocka_unit_test(too_much_for_a_pool),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
