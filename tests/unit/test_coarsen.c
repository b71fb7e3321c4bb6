/* Groupers: invariants on zoo models and random graphs, the target reached, colocation groups whole,
 * colocated training-like graphs. */
#include "coarsen.h"
#include "graph_format.h"
#include "instance.h"
#include "support.h"
#include "zoo.h"

#include <stdio.h>
#include <string.h>

static void check(const berth_graph *g, const berth_coarsen_cfg *cfg, berth_coarsening *c, berth_arena *mem)
{
	berth_arena tmp = {0};
	berth_err err;
	assert_ok(berth_coarsen(g, cfg, mem, &tmp, c, &err), &err);
	assert_ok(berth_coarsening_check(g, c, cfg, &tmp, &err), &err);
	berth_arena_free(&tmp);
}

static void test_zoo_reaches_targets(void **state)
{
	(void)state;
	static const char *const spec[] = {"zoo:resnet50", "zoo:inception-v3", "zoo:bert-base"};
	static const int32_t target[] = {1, 8, 32, 64, 256};
	for (int m = 0; m < 3; m++)
		for (int k = 0; k < 5; k++) {
			berth_arena mem = {0}, tmp = {0};
			berth_graph g;
			berth_coarsening c;
			berth_err err;
			assert_ok(berth_zoo_build(spec[m], &mem, &tmp, &g, &err), &err);
			berth_coarsen_cfg cfg = berth_coarsen_cfg_default(target[k]);
			check(&g, &cfg, &c, &mem);
			int32_t want = target[k] < g.n_ops ? target[k] : g.n_ops;
			assert_true(c.n_groups <= want);
			assert_true(c.n_groups >= want / 2);
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
		}
}

static void test_random_graphs(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2000; seed++) {
		instance in;
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_coarsening c;
		berth_err err;
		instance_make(seed, 40, 3, &in);
		assert_ok(berth_graph_parse_json("g", in.graph, strlen(in.graph), &mem, &tmp, &g, &err),
		          &err);
		berth_coarsen_cfg cfg = berth_coarsen_cfg_default((int32_t)(seed % 9) + 1);
		if (seed % 3 == 0)
			cfg.max_bytes = 2000;
		check(&g, &cfg, &c, &mem);
		if (seed % 3)
			assert_true(c.n_groups <= cfg.target || c.n_groups <= c.n_colocs);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		instance_free(&in);
	}
}

/* A star of n operators, the centre first or last. */
static void star(int32_t n, bool inwards, berth_arena *mem, berth_arena *tmp, berth_graph *g)
{
	berth_builder *b;
	berth_err err;
	assert_ok(berth_builder_new(tmp, "star", &b, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		char name[16];
		snprintf(name, sizeof name, "o%d", i);
		assert_ok(berth_builder_op(b, &(berth_op_spec){.name = name}, NULL, &err), &err);
	}
	for (int32_t i = 1; i < n; i++)
		assert_ok(berth_builder_edge(b, inwards ? i - 1 : 0, inwards ? n - 1 : i, 1000, NULL, &err),
		          &err);
	assert_ok(berth_builder_finish(b, mem, g, &err), &err);
}

/* The centre takes one operator a round, so the others must join one another: levels by the logarithm. */
static void test_stars_shrink_fast(void **state)
{
	(void)state;
	enum { LEAST = 1000, TARGET = 16, LEVELS_AT_LEAST = 9 };
	for (int k = 0; k < 4; k++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_coarsening c;
		int32_t n = k < 2 ? LEAST : 16 * LEAST;
		star(n, k % 2, &mem, &tmp, &g);
		berth_coarsen_cfg cfg = berth_coarsen_cfg_default(TARGET);
		check(&g, &cfg, &c, &mem);
		assert_int_equal(c.n_groups, TARGET);
		assert_true(c.n_levels <= LEVELS_AT_LEAST + (k < 2 ? 0 : 4));
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* Bytes of tensors that leave their producer's group, each once per receiving group. */
static berth_status crossing_bytes(const berth_graph *g, const berth_coarsening *c, berth_arena *tmp,
                                   int64_t *bytes, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	int32_t *seen; /* [group] the last tensor that went there, + 1 */
	*bytes = 0;
	BERTH_TRY_NEW(tmp, c->n_groups, err, seen);
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
			int32_t to = c->op_group[g->edge_consumer[e]];
			if (to == c->op_group[g->tensor_producer[t]] || seen[to] == t + 1)
				continue;
			seen[to] = t + 1;
			*bytes += g->tensor_bytes[t];
		}
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}

/* Two colocated pairs that point against each other: the quotient of colocation groups is cyclic, the groups
 * are still well-formed. */
static void test_colocation_against_the_order(void **state)
{
	(void)state;
	static const char text[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"f1\","
	                           "\"colocate\":\"w1\"},{\"name\":\"f2\",\"colocate\":\"w2\"},"
				   "{\"name\":\"b2\",\"colocate\":\"w2\"},{\"name\":\"b1\",\"colocate\":"
	                           "\"w1\"},{\"name\":\"x\"}],\"edges\":["
				   "{\"from\":\"f1\",\"to\":\"f2\",\"bytes\":5},{\"from\":\"f2\",\"to\":"
	                           "\"x\",\"bytes\":5},{\"from\":\"x\",\"to\":\"b2\",\"bytes\":5},"
				   "{\"from\":\"b2\",\"to\":\"b1\",\"bytes\":5}]}";
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_coarsening c;
	berth_err err;
	int64_t bytes;
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &mem, &tmp, &g, &err), &err);
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(3);
	check(&g, &cfg, &c, &mem);
	assert_int_equal(c.n_colocs, 3);
	assert_int_equal(c.n_groups, 3);
	assert_ok(crossing_bytes(&g, &c, &tmp, &bytes, &err), &err);
	assert_int_equal(bytes, 20);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_checker_finds_faults(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_coarsening c;
	berth_err err;
	assert_ok(berth_zoo_build("zoo:resnet50", &mem, &tmp, &g, &err), &err);
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(16);
	check(&g, &cfg, &c, &mem);
	/* First and last operator in one group, alone with level maps to match: a cycle through all others.
	 */
	int32_t last = c.op_group[g.topo_op[g.n_ops - 1]], first = c.op_group[g.topo_op[0]];
	assert_int_not_equal(first, last);
	for (int32_t op = 0; op < g.n_ops; op++)
		c.op_group[op] = c.op_group[op] == last ? first : c.op_group[op];
	assert_int_equal(berth_coarsening_check(&g, &c, &cfg, &tmp, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "levels lead to group");
	for (int32_t v = 0; v < c.level_n[c.n_levels - 2]; v++)
		if (c.level_map[c.n_levels - 2][v] == last)
			c.level_map[c.n_levels - 2][v] = first;
	assert_int_equal(berth_coarsening_check(&g, &c, &cfg, &tmp, &err), BERTH_EFORMAT);
	assert_contains(err.msg, "cycle");
	cfg.max_bytes = 1;
	assert_int_equal(berth_coarsen(&g, &(berth_coarsen_cfg){.target = 0}, &mem, &tmp, &c, &err),
	                 BERTH_EINVAL);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* ---- the contract of every grouper ---- */

static berth_coarsen_cfg with(const char *grouper, int32_t target)
{
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(target);
	berth_err err;
	assert_ok(berth_grouper_find(grouper, &cfg.grouper, &err), &err);
	return cfg;
}

/* Same again; never fewer groups than wanted; all but chains reach the target where no cap forbids it and
 * nothing is unconnected for good. */
static void hold_contract(const berth_graph *g, const berth_coarsen_cfg *cfg)
{
	berth_arena mem = {0}, tmp = {0};
	berth_coarsening a, b;
	berth_err err;
	int64_t crossing;
	check(g, cfg, &a, &mem);
	check(g, cfg, &b, &mem);
	assert_int_equal(a.n_groups, b.n_groups);
	assert_int_equal(a.n_levels, b.n_levels);
	for (int32_t op = 0; op < g->n_ops; op++)
		assert_int_equal(a.op_group[op], b.op_group[op]);
	int32_t want = cfg->target < a.n_colocs ? cfg->target : a.n_colocs;
	assert_true(a.n_groups >= want);
	if (cfg->max_bytes == INT64_MAX && strcmp(cfg->grouper->name, "chain") != 0)
		assert_int_equal(a.n_groups, want);
	assert_ok(crossing_bytes(g, &a, &tmp, &crossing, &err), &err);
	if (a.n_groups == 1)
		assert_int_equal(crossing, 0);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_contract_on_the_zoo(void **state)
{
	(void)state;
	static const char *const specs[] = {"zoo:resnet50",
	                                    "zoo:inception-v3:training=1",
	                                    "zoo:bert-base",
	                                    "zoo:gpt2:training=1",
	                                    "zoo:llama-layer:tiles=4",
	                                    "zoo:random:ops=700:training=1:kinds=12",
	                                    "zoo:random:ops=1"};
	static const int32_t targets[] = {1, 16, 64, 256};
	int32_t n;
	const berth_grouper *groupers = berth_grouper_list(&n);
	for (size_t i = 0; i < sizeof specs / sizeof *specs; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_err err;
		assert_ok(berth_zoo_build(specs[i], &mem, &tmp, &g, &err), &err);
		for (int32_t k = 0; k < n; k++)
			for (size_t t = 0; t < sizeof targets / sizeof *targets; t++) {
				berth_coarsen_cfg cfg = with(groupers[k].name, targets[t]);
				hold_contract(&g, &cfg);
				cfg.max_bytes = 30000000;
				hold_contract(&g, &cfg);
			}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

static void test_contract_on_random_graphs(void **state)
{
	(void)state;
	int32_t n;
	const berth_grouper *groupers = berth_grouper_list(&n);
	for (uint64_t seed = 1; seed <= 400; seed++) {
		instance in;
		berth_arena mem = {0}, tmp = {0};
		berth_graph g;
		berth_err err;
		instance_make(seed, 40, 3, &in);
		assert_ok(berth_graph_parse_json("g", in.graph, strlen(in.graph), &mem, &tmp, &g, &err),
		          &err);
		for (int32_t k = 0; k < n; k++) {
			berth_coarsen_cfg cfg = with(groupers[k].name, (int32_t)(seed % 9) + 1);
			if (seed % 2)
				cfg.max_bytes = 3000;
			hold_contract(&g, &cfg);
		}
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		instance_free(&in);
	}
}

static void test_no_operators(void **state)
{
	(void)state;
	static const char text[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[]}";
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_err err;
	int32_t n;
	const berth_grouper *groupers = berth_grouper_list(&n);
	assert_ok(berth_graph_parse_json("g", text, strlen(text), &mem, &tmp, &g, &err), &err);
	for (int32_t k = 0; k < n; k++) {
		berth_coarsening c;
		berth_coarsen_cfg cfg = with(groupers[k].name, 4);
		check(&g, &cfg, &c, &mem);
		assert_int_equal(c.n_groups, 0);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	berth_arena keep = {0}, scratch = {0};
	berth_graph g;
	berth_err err;
	int32_t n;
	const berth_grouper *groupers = berth_grouper_list(&n);
	assert_ok(berth_zoo_build("zoo:bert-base", &keep, &scratch, &g, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		berth_coarsen_cfg cfg = with(groupers[i].name, 20);
		for (long k = 0;; k++) {
			failing_allocator f;
			berth_arena mem, tmp;
			berth_coarsening c;
			failing_allocator_init(&f, k);
			berth_arena_init(&mem, &f.hook);
			berth_arena_init(&tmp, &f.hook);
			berth_status st = berth_coarsen(&g, &cfg, &mem, &tmp, &c, &err);
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
	berth_arena_free(&keep);
	berth_arena_free(&scratch);
}

static void test_find(void **state)
{
	(void)state;
	const berth_grouper *found = NULL;
	berth_err err;
	assert_int_equal(berth_grouper_find("heavyedge", &found, &err), BERTH_EINVAL);
	assert_contains(err.msg, "did you mean 'heavy-edge'?");
	assert_null(found);
}

/* ---- what each is for ---- */

/* Two ladders of ten operators with heavy rungs and one light edge between them. */
static void ladders(berth_arena *mem, berth_arena *tmp, berth_graph *g)
{
	berth_builder *b;
	berth_err err;
	assert_ok(berth_builder_new(tmp, "ladders", &b, &err), &err);
	for (int i = 0; i < 20; i++) {
		char name[8];
		snprintf(name, sizeof name, "o%d", i);
		assert_ok(berth_builder_op(b, &(berth_op_spec){.name = name}, NULL, &err), &err);
	}
	for (int side = 0; side < 20; side += 10)
		for (int i = side; i < side + 10; i++)
			for (int k = i + 1; k <= i + 2 && k < side + 10; k++)
				assert_ok(berth_builder_edge(b, i, k, 1000, NULL, &err), &err);
	assert_ok(berth_builder_edge(b, 4, 15, 1, "light", &err), &err);
	assert_ok(berth_builder_finish(b, mem, g, &err), &err);
}

static void test_modularity_finds_communities(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_coarsening c;
	berth_coarsen_cfg cfg = with("modularity", 2);
	ladders(&mem, &tmp, &g);
	check(&g, &cfg, &c, &mem);
	assert_int_equal(c.n_groups, 2);
	for (int32_t op = 1; op < 20; op++)
		assert_int_equal(c.op_group[op] == c.op_group[0], op < 10);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Scores against the bytes: only the light edge and those of the first ladder count. */
static void test_scores_decide(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_coarsening c;
	double score[64] = {0};
	berth_coarsen_cfg cfg = with("by-score", 19);
	ladders(&mem, &tmp, &g);
	for (int32_t t = 0; t < g.n_tensors; t++)
		for (int32_t e = g.tensor_use_off[t]; e < g.tensor_use_off[t + 1]; e++)
			score[e] = g.tensor_bytes[t] == 1 ? 1 : 0.5;
	cfg.edge_score = score;
	cfg.balance = 10;
	check(&g, &cfg, &c, &mem);
	assert_int_equal(c.n_groups, 19);
	assert_int_equal(c.op_group[4], c.op_group[15]);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Of a chain whose scores fall each node picks its best edge: three become one group, where pairs of heavy
 * edges would be two and two. */
static void test_dominant_edges_join_more_than_pairs(void **state)
{
	(void)state;
	static const int64_t bytes[] = {900, 800, 100};
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_coarsening c;
	berth_builder *b;
	berth_err err;
	double score[3];
	berth_coarsen_cfg cfg = with("by-score", 2);
	assert_ok(berth_builder_new(&tmp, "chain", &b, &err), &err);
	for (int i = 0; i < 4; i++) {
		char name[8];
		snprintf(name, sizeof name, "o%d", i);
		assert_ok(berth_builder_op(b, &(berth_op_spec){.name = name}, NULL, &err), &err);
	}
	for (int i = 0; i < 3; i++)
		assert_ok(berth_builder_edge(b, i, i + 1, bytes[i], NULL, &err), &err);
	assert_ok(berth_builder_finish(b, &mem, &g, &err), &err);
	for (int32_t t = 0; t < g.n_tensors; t++)
		for (int32_t e = g.tensor_use_off[t]; e < g.tensor_use_off[t + 1]; e++)
			score[e] = (double)g.tensor_bytes[t];
	cfg.edge_score = score;
	cfg.balance = 10;
	check(&g, &cfg, &c, &mem);
	assert_int_equal(c.n_groups, 2);
	for (int32_t op = 1; op < 4; op++)
		assert_int_equal(c.op_group[op] == c.op_group[0], op < 3);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Operators of separation groups never come into one group. */
static void test_separated_operators_stay_apart(void **state)
{
	(void)state;
	int32_t n;
	const berth_grouper *list = berth_grouper_list(&n);
	for (int32_t k = 0; k < n; k++) {
		berth_arena mem = {0}, tmp = {0};
		berth_builder *b;
		berth_graph g;
		berth_err err;
		berth_coarsening c;
		berth_coarsen_cfg cfg = berth_coarsen_cfg_default(3);
		assert_ok(berth_builder_new(&tmp, "apart", &b, &err), &err);
		for (int32_t i = 0; i < 24; i++) {
			char name[8];
			snprintf(name, sizeof name, "o%d", (int)i);
			berth_op_spec spec = {
				.name = name, .param_bytes = 10, .separate = i % 8 == 3 ? "s" : NULL};
			assert_ok(berth_builder_op(b, &spec, NULL, &err), &err);
			if (i)
				assert_ok(berth_builder_edge(b, i - 1, i, 100 + i, NULL, &err), &err);
		}
		assert_ok(berth_builder_finish(b, &mem, &g, &err), &err);
		cfg.grouper = &list[k];
		check(&g, &cfg, &c, &mem);
		assert_true(c.n_groups < 12);
		assert_true(c.op_group[3] != c.op_group[11] && c.op_group[11] != c.op_group[19] &&
		            c.op_group[3] != c.op_group[19]);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_zoo_reaches_targets),
		cmocka_unit_test(test_random_graphs),
		cmocka_unit_test(test_stars_shrink_fast),
		cmocka_unit_test(test_colocation_against_the_order),
		cmocka_unit_test(test_checker_finds_faults),
		cmocka_unit_test(test_contract_on_the_zoo),
		cmocka_unit_test(test_contract_on_random_graphs),
		cmocka_unit_test(test_no_operators),
		cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_modularity_finds_communities),
		cmocka_unit_test(test_scores_decide),
		cmocka_unit_test(test_dominant_edges_join_more_than_pairs),
		cmocka_unit_test(test_separated_operators_stay_apart),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
