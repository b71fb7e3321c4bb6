/* The graph of a coarsening's groups: what leaves a group, and what its operators come to. */
#include "instance.h"
#include "quotient.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"


/* a feeds b and c of one group, which feed d; b and d share a parameter. */
static const char diamond[] =
	"{\"format\":\"berth-graph\",\"version\":1,"
	"\"params\":[{\"name\":\"w\",\"bytes\":7,\"ops\":[\"b\",\"d\"]}],\"ops\":["
	"{\"name\":\"a\",\"time_s\":{\"*\":1}},"
	"{\"name\":\"b\",\"time_s\":{\"d\":2,\"e\":null},\"workspace_bytes\":3},"
	"{\"name\":\"c\",\"time_s\":{\"*\":4},\"workspace_bytes\":2},"
	"{\"name\":\"d\",\"time_s\":{\"*\":8}}],\"edges\":["
	"{\"from\":\"a\",\"to\":\"b\",\"bytes\":10},{\"from\":\"a\",\"to\":\"c\",\"bytes\":10},"
	"{\"from\":\"b\",\"to\":\"c\",\"bytes\":20},{\"from\":\"b\",\"to\":\"d\",\"bytes\":20},"
	"{\"from\":\"c\",\"to\":\"d\",\"bytes\":30}]}";
static const char two[] =
	"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],"
	"\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}]}";

static void of_a_diamond(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g, q;
	berth_system s;
	berth_problem p;
	berth_err err;
	int32_t group[4] = {0, 1, 1, 2};
	berth_coarsening c = {.n_groups = 3, .op_group = group};
	read_both(diamond, two, &mem, &tmp, &g, &s);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_quotient_new(&p, &c, &mem, &tmp, &q, &err), &err);
	static const int32_t from[] = {0, 1, 1}, to[] = {1, 2, 2};
	static const int64_t bytes[] = {10, 20, 30};
	assert_int_equal(q.n_ops, 3);
	assert_int_equal(q.n_tensors, 3);
	assert_int_equal(q.n_edges, 3);
	for (int32_t t = 0; t < 3; t++) {
		assert_int_equal(q.tensor_producer[t], from[t]);
		assert_int_equal(q.edge_consumer[q.tensor_use_off[t]], to[t]);
		assert_int_equal(q.tensor_bytes[t], bytes[t]);
	}
	assert_int_equal(q.op_workspace_bytes[1], 3);
	assert_int_equal(q.n_params, 1);
	assert_int_equal(q.param_op_off[1], 2);
	assert_ok(berth_problem_new(&q, &s, &mem, &tmp, &p, &err), &err);
	assert_int_equal(berth_op_time(&p, 1, 0), 6000000000);
	assert_true(berth_op_time(&p, 1, 1) < 0);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Groups in the order given, inside of them the order of the graph; some groups are empty. */
static void order_of_groups(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		enum { MOST = 7 };
		instance in;
		small_problem w;
		berth_err err;
		berth_rng rng = berth_rng_seed(seed, 0);
		int32_t group[INSTANCE_MAX_OPS], order[INSTANCE_MAX_OPS], turn[MOST], place[MOST];
		instance_make(seed, 20, 2, &in);
		small_problem_make(&w, in.graph, in.system);
		berth_coarsening c = {.n_groups = 1 + (int32_t)berth_rng_below(&rng, MOST),
		                      .op_group = group};
		for (int32_t k = 0; k < c.n_groups; k++)
			turn[k] = k;
		for (int32_t k = c.n_groups - 1; k > 0; k--) {
			int32_t other = (int32_t)berth_rng_below(&rng, (uint32_t)k + 1), kept = turn[k];
			turn[k] = turn[other];
			turn[other] = kept;
		}
		for (int32_t k = 0; k < c.n_groups; k++)
			place[turn[k]] = k;
		for (int32_t op = 0; op < w.p.n_ops; op++) {
			group[op] = (int32_t)berth_rng_below(&rng, (uint32_t)c.n_groups);
			order[op] = -1;
		}
		size_t used = berth_arena_get_mark(&w.tmp).used;
		assert_ok(berth_quotient_order(&w.p, &c, turn, order, &w.tmp, &err), &err);
		assert_int_equal(berth_arena_get_mark(&w.tmp).used, used);
		for (int32_t k = 1; k < w.p.n_ops; k++) {
			int32_t a = order[k - 1], b = order[k];
			assert_true(a >= 0 && a < w.p.n_ops && b >= 0 && b < w.p.n_ops);
			assert_true(place[group[a]] < place[group[b]] ||
			            (group[a] == group[b] && w.g.op_topo[a] < w.g.op_topo[b]));
		}
		small_problem_free(&w);
		instance_free(&in);
	}
}

/* Sums of a group, by the definition; times that are not legal make the group's none. */
static void sums_of_groups(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 150; seed++) {
		instance in;
		small_problem w;
		berth_graph q;
		berth_problem of;
		berth_err err;
		int32_t group[INSTANCE_MAX_OPS];
		instance_make(seed, 12, 3, &in);
		small_problem_make(&w, in.graph, in.system);
		berth_coarsening c = {.n_groups = w.p.n_ops < 4 ? w.p.n_ops : 4, .op_group = group};
		for (int32_t k = 0; k < w.p.n_ops; k++) /* along the order: no cycles but by colocation */
			group[w.g.topo_op[k]] = k * c.n_groups / w.p.n_ops;
		size_t used = berth_arena_get_mark(&w.tmp).used;
		berth_status st = berth_quotient_new(&w.p, &c, &w.mem, &w.tmp, &q, &err);
		assert_int_equal(st, w.g.n_seps ? BERTH_EUNSUPPORTED : BERTH_OK);
		assert_int_equal(berth_arena_get_mark(&w.tmp).used, used);
		if (st == BERTH_OK)
			assert_ok(berth_problem_new(&q, &w.s, &w.mem, &w.tmp, &of, &err), &err);
		for (int32_t k = 0; st == BERTH_OK && k < c.n_groups; k++) {
			int64_t kept[3] = {0}, moved[2] = {0}, workspace = 0, time[8] = {0};
			double flops = 0;
			for (int32_t op = 0; op < w.p.n_ops; op++) {
				if (group[op] != k)
					continue;
				flops += w.g.op_flops[op];
				moved[0] += w.g.op_read_bytes[op];
				moved[1] += w.g.op_write_bytes[op];
				kept[0] += w.g.op_param_bytes[op];
				kept[1] += w.g.op_state_bytes[op];
				kept[2] += w.g.op_output_bytes[op];
				workspace = w.g.op_workspace_bytes[op] > workspace
				                    ? w.g.op_workspace_bytes[op]
				                    : workspace;
				for (int32_t d = 0; d < w.p.n_devs; d++)
					time[d] = time[d] < 0 || !berth_op_legal(&w.p, op, d)
					                  ? -1
					                  : time[d] + berth_op_time(&w.p, op, d);
			}
			assert_true(q.op_flops[k] == flops && q.op_read_bytes[k] == moved[0] &&
			            q.op_write_bytes[k] == moved[1] && q.op_param_bytes[k] == kept[0] &&
			            q.op_state_bytes[k] == kept[1] && q.op_output_bytes[k] == kept[2] &&
			            q.op_workspace_bytes[k] == workspace);
			for (int32_t d = 0; d < w.p.n_devs; d++)
				assert_int_equal(berth_op_time(&of, k, d), time[d]);
		}
		small_problem_free(&w);
		instance_free(&in);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(of_a_diamond), cmocka_unit_test(order_of_groups),
	                                   cmocka_unit_test(sums_of_groups)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
