/* Partitioning as placement: the graph and the machine that libraries are given, and what they make of
 * instances whose best cut is known. */
#include "coloc.h"
#include "instance.h"
#include "partition.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void finish(small_problem *c)
{
	berth_err err;
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
}

static const partition_library *const libraries[] = {&partition_metis, &partition_scotch};
enum { N_LIBRARIES = 2 };

static bool is_there(const partition_library *lib)
{
	if (!lib->cut)
		print_message("skipped: %s needs %s\n", lib->name, lib->package);
	return lib->cut;
}

/* ---- the job ---- */

static int32_t weight_between(const partition_job *j, int32_t u, int32_t v)
{
	int32_t weight = 0;
	for (int32_t i = j->off[u]; i < j->off[u + 1]; i++)
		if (j->to[i] == v) {
			assert_int_equal(weight, 0); /* one edge a pair */
			weight = j->weight[i];
		}
	return weight;
}

static void check_job(const berth_problem *p, const partition_job *j)
{
	int64_t work = 0, bytes = 0, cut = 0;
	double share = 0, bytes_share = 0;
	int32_t most = 0;
	for (int32_t a = 0; a < j->n_parts; a++) {
		share += j->share[a];
		bytes_share += j->bytes_share[a];
		assert_true(j->share[a] > 0);
		for (int32_t b = 0; b < j->n_parts; b++) {
			int32_t distance = j->distance[a * j->n_parts + b];
			assert_int_equal(distance, j->distance[b * j->n_parts + a]);
			assert_true(a == b ? distance == 0
			                   : distance >= PARTITION_DISTANCE_UNIT &&
			                             distance <= PARTITION_DISTANCE_MOST);
			most = distance > most ? distance : most;
		}
	}
	assert_true(fabs(share - 1) < 1e-9 && (!j->bytes || fabs(bytes_share - 1) < 1e-9));
	for (int32_t u = 0; u < j->n_colocs; u++) {
		assert_true(j->work[u] >= 1 && j->fixed[u] >= -1 && j->fixed[u] < j->n_parts);
		assert_true(j->fixed[u] < 0 || berth_coloc_legal(p, u, j->part_dev[j->fixed[u]]));
		work += j->work[u];
		bytes += j->bytes ? j->bytes[u] : 0;
		for (int32_t i = j->off[u]; i < j->off[u + 1]; i++) {
			assert_true(j->to[i] != u && j->weight[i] >= 1);
			assert_int_equal(weight_between(j, j->to[i], u), j->weight[i]);
			cut += j->weight[i];
		}
	}
	assert_true(work < 1 << 30 && bytes < 1 << 30 && cut * most < INT64_C(1) << 30);
}

static void test_jobs_hold(void **state)
{
	(void)state;
	int jobs = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		instance in;
		small_problem c;
		int32_t dev[BERTH_MAX_DEVS];
		double speed[BERTH_MAX_DEVS];
		instance_make(seed, 14, 5, &in);
		small_problem_make(&c, in.graph, in.system);
		instance_free(&in);
		int32_t n = partition_devs_by_speed(&c.p, dev, speed);
		for (int32_t i = 1; i < n; i++)
			assert_true(speed[dev[i - 1]] >= speed[dev[i]]);
		for (int32_t k = 2; k <= n && k <= c.p.n_colocs; k++) {
			partition_job j;
			berth_err err;
			assert_ok(partition_job_new(&c.p, k, dev, &c.mem, &c.tmp, &j, &err), &err);
			check_job(&c.p, &j);
			jobs++;
		}
		small_problem_free(&c);
	}
	assert_true(jobs > 300);
}

/* Edges of two tensors between the same colocation groups are one, with both times. */
static void test_parallel_edges_merge(void **state)
{
	(void)state;
	small_problem c;
	partition_job j;
	berth_err err;
	const int32_t dev[] = {0, 1};
	small_problem_make(&c,
	        "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\"},{\"name\":\"b\"},{"
	        "\"name\":\"c\",\"colocate\":\"g\"},{\"name\":\"d\",\"colocate\":\"g\"}],"
	        "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":1000},{\"from\":\"a\",\"to\":\"b\","
	        "\"bytes\":3000,\"tensor\":\"t\"},"
	        "{\"from\":\"a\",\"to\":\"c\",\"bytes\":1000},{\"from\":\"c\",\"to\":\"d\",\"bytes\":5000},{"
	        "\"from\":\"b\",\"to\":\"d\",\"bytes\":2000}]}",
	        "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"x\"},{\"name\":\"y\"}],"
	        "\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1e9,\"both_ways\":true}]}");
	assert_ok(partition_job_new(&c.p, 2, dev, &c.mem, &c.tmp, &j, &err), &err);
	int32_t a = c.p.op_coloc[0], b = c.p.op_coloc[1], g = c.p.op_coloc[2];
	assert_int_equal(j.n_colocs, 3);
	assert_int_equal(j.off[3], 6);
	assert_in_range(weight_between(&j, a, b), 4000, 4004);
	assert_in_range(weight_between(&j, a, g), 1000, 1002);
	assert_in_range(weight_between(&j, b, g), 2000, 2002);
	small_problem_free(&c);
}

/* ---- cuts that are known ---- */

/* n_chains chains of `size` operators, with edges of 1 MB from every operator to the next three;
 * neighbouring chains are joined by 1 kB, and pairs of chains (0 and 1, 2 and 3) by ten edges of 50 kB. */
static void chains(int n_chains, int size, const char *attribute, char *out, size_t len)
{
	size_t at = (size_t)snprintf(out, len, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[");
	for (int k = 0; k < n_chains; k++)
		for (int i = 0; i < size; i++)
			at += (size_t)snprintf(out + at, len - at, "%s{\"name\":\"o%d_%d\",\"flops\":1e6%s}",
			                       k + i ? "," : "", k, i, k + i ? "" : attribute);
	at += (size_t)snprintf(out + at, len - at, "],\"edges\":[");
	for (int k = 0; k < n_chains; k++)
		for (int i = 0; i < size; i++) {
			for (int d = 1; d <= 3 && i + d < size; d++)
				at += (size_t)snprintf(
					out + at, len - at,
					"%s{\"from\":\"o%d_%d\",\"to\":\"o%d_%d\",\"bytes\":1000000}",
					k + i + d > 1 ? "," : "", k, i, k, i + d);
			if (k % 2 == 0 && i < 10)
				at += (size_t)snprintf(out + at, len - at,
				                       ",{\"from\":\"o%d_%d\",\"to\":\"o%d_%d\",\"bytes\":"
				                       "50000,\"tensor\":\"pair\"}",
				                       k, i, k + 1, i);
			else if (k + 1 < n_chains && i == 0)
				at += (size_t)snprintf(out + at, len - at,
				                       ",{\"from\":\"o%d_%d\",\"to\":\"o%d_%d\",\"bytes\":"
				                       "1000,\"tensor\":\"next\"}",
				                       k, i, k + 1, i);
		}
	at += (size_t)snprintf(out + at, len - at, "]}");
	assert_true(at < len);
}

enum { CHAIN = 20 };

/* Every chain on one device, the chains on different ones; chain_dev out. */
static void check_chains(const small_problem *c, int n_chains, const int32_t *op_dev, int32_t *chain_dev)
{
	for (int k = 0; k < n_chains; k++) {
		chain_dev[k] = op_dev[k * CHAIN];
		for (int i = 0; i < CHAIN; i++)
			assert_int_equal(op_dev[k * CHAIN + i], chain_dev[k]);
		for (int o = 0; o < k; o++)
			assert_int_not_equal(chain_dev[o], chain_dev[k]);
	}
	assert_int_equal(c->p.n_ops, n_chains * CHAIN);
}

static void place(small_problem *c, const partition_library *lib, int32_t n_parts, double imbalance,
                  int32_t *op_dev)
{
	partition_job j;
	berth_err err;
	int32_t dev[BERTH_MAX_DEVS], *part, *part_dev;
	double speed[BERTH_MAX_DEVS];
	partition_devs_by_speed(&c->p, dev, speed);
	assert_ok(partition_job_new(&c->p, n_parts, dev, &c->mem, &c->tmp, &j, &err), &err);
	assert_ok(BERTH_NEW(&c->mem, part, j.n_colocs, &err), &err);
	assert_ok(BERTH_NEW(&c->mem, part_dev, j.n_parts, &err), &err);
	assert_ok(lib->cut(&j, imbalance, part, &err), &err);
	assert_ok(partition_match(&c->p, &j, part, part_dev, &c->tmp, &err), &err);
	partition_place(&c->p, &j, part, part_dev, op_dev);
}

/* Two hosts (devices 0 and 2, 1 and 3) of two equal devices, 100 times faster inside. */
#define LINK(a, b, rate) "{\"from\":\"d" a "\",\"to\":\"d" b "\",\"bandwidth\":" rate ",\"both_ways\":true}"
#define TWO_HOSTS                                                                                            \
	"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d0\",\"peak_flops\":1e9},{"     \
	"\"name\":\"d1\",\"peak_flops\":1e9},"                                                               \
	"{\"name\":\"d2\",\"peak_flops\":1e9},{\"name\":\"d3\",\"peak_flops\":1e9}],\"links\":[" LINK(       \
		"0", "2",                                                                                    \
		"1e10") "," LINK("1", "3",                                                                   \
	                         "1e10") "," LINK("0", "1",                                                  \
	                                          "1e8") "," LINK("0", "3",                                  \
	                                                          "1e8") "," LINK("2", "1",                  \
	                                                                          "1e8") "," LINK("2", "3",  \
	                                                                                          "1e8") "]" \
	                                                                                                 "}"

static void test_cuts_where_it_is_thin(void **state)
{
	(void)state;
	static char graph[200000];
	int32_t op_dev[4 * CHAIN], dev[4];
	chains(4, CHAIN, "", graph, sizeof graph);
	for (int l = 0; l < N_LIBRARIES; l++) {
		small_problem c;
		if (!is_there(libraries[l]))
			continue;
		small_problem_make(&c, graph, TWO_HOSTS);
		place(&c, libraries[l], 4, 1.05, op_dev);
		check_chains(&c, 4, op_dev, dev);
		/* what is joined by more stands in one host */
		assert_int_equal(dev[0] % 2, dev[1] % 2);
		assert_int_equal(dev[2] % 2, dev[3] % 2);
		small_problem_free(&c);
	}
}

/* A pinned operator takes its chain along. */
static void test_pins_pull(void **state)
{
	(void)state;
	static char graph[200000];
	int32_t op_dev[4 * CHAIN];
	for (int pin = 0; pin < 4; pin++)
		for (int l = 0; l < N_LIBRARIES; l++) {
			small_problem c;
			char attribute[32];
			if (!is_there(libraries[l]))
				continue;
			snprintf(attribute, sizeof attribute, ",\"pin\":\"d%d\"", pin);
			chains(4, CHAIN, attribute, graph, sizeof graph);
			small_problem_make(&c, graph, TWO_HOSTS);
			place(&c, libraries[l], 4, 1.05, op_dev);
			for (int i = 0; i < CHAIN; i++)
				assert_int_equal(op_dev[i], pin);
			small_problem_free(&c);
		}
}

/* Work goes by speed: on devices of speeds 4, 2 and 1, loads in time are equal within the imbalance and the
 * size of an operator. */
static void test_parts_follow_speed(void **state)
{
	(void)state;
	static const double speed[] = {4, 2, 1};
	static char graph[200000];
	int32_t op_dev[4 * CHAIN];
	chains(4, CHAIN, "", graph, sizeof graph);
	for (int l = 0; l < N_LIBRARIES; l++) {
		small_problem c;
		double n[3] = {0};
		if (!is_there(libraries[l]))
			continue;
		small_problem_make(
			&c, graph,
			"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d0\",\"peak_"
			"flops\":4e9},{\"name\":\"d1\",\"peak_flops\":2e9},"
			"{\"name\":\"d2\",\"peak_flops\":1e9}],\"links\":[" LINK("0", "1", "1e10") "," LINK(
				"0", "2", "1e10") "," LINK("1", "2", "1e10") "]}");
		place(&c, libraries[l], 3, 1.05, op_dev);
		for (int i = 0; i < 4 * CHAIN; i++)
			n[op_dev[i]]++;
		for (int d = 0; d < 3; d++)
			assert_true(fabs(n[d] - 4 * CHAIN * speed[d] / 7) <=
			            0.05 * 4 * CHAIN * speed[d] / 7 + 2);
		small_problem_free(&c);
	}
}

/* METIS balances bytes beside work: of two equal devices one has room for a quarter of the parameters; the
 * plain cut has twice that. */
static void test_bytes_are_balanced(void **state)
{
	(void)state;
	char graph[40000], attributes[64];
	size_t at = 0;
	int32_t op_dev[60];
	small_problem c;
	int64_t held = 0;
	if (!is_there(&partition_metis))
		return;
	at += (size_t)snprintf(graph, sizeof graph, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[");
	for (int i = 0; i < 60; i++) {
		snprintf(attributes, sizeof attributes, "\"flops\":1e6,\"param_bytes\":%d",
		         50 + 100 * (i % 2));
		at += (size_t)snprintf(graph + at, sizeof graph - at, "%s{\"name\":\"o%d\",%s}", i ? "," : "",
		                       i, attributes);
	}
	at += (size_t)snprintf(graph + at, sizeof graph - at, "],\"edges\":[");
	for (int i = 1; i < 60; i++)
		at += (size_t)snprintf(graph + at, sizeof graph - at,
		                       "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":1}", i > 1 ? "," : "",
		                       i - 1, i);
	snprintf(graph + at, sizeof graph - at, "]}");
	small_problem_make(
		&c, graph,
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d0\",\"peak_flops\":1e9}"
		",{\"name\":\"d1\",\"peak_flops\":1e9,\"memory_bytes\":2300}],"
		"\"links\":[" LINK("0", "1", "1e10") "]}");
	assert_false(c.p.memory_free);
	place(&c, &partition_metis, 2, 1.05, op_dev);
	int32_t n = 0;
	for (int i = 0; i < 60; i++)
		if (op_dev[i] == 1) {
			held += 50 + 100 * (i % 2);
			n++;
		}
	assert_true(held <= 2300 && n >= 15);
	small_problem_free(&c);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	small_problem c;
	berth_err err;
	memset(&c, 0, sizeof c);
	assert_ok(berth_zoo_build("zoo:random:ops=30", &c.mem, &c.tmp, &c.g, &err), &err);
	assert_ok(berth_system_builtin("cpu+2gpu", &c.mem, &c.tmp, &c.s, &err), &err);
	finish(&c);
	for (int l = 0; l < N_LIBRARIES; l++)
		for (long k = 0; is_there(libraries[l]); k++) {
			failing_allocator f;
			berth_arena mem, tmp;
			berth_search s;
			berth_search_cfg cfg = {.evaluations = 40};
			failing_allocator_init(&f, k);
			berth_arena_init(&mem, &f.hook);
			berth_arena_init(&tmp, &f.hook);
			berth_status st = berth_search_new(&c.p, &cfg, &mem, &s, NULL);
			if (st == BERTH_OK)
				st = partition_run(&s, libraries[l], &tmp, NULL);
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
			assert_int_equal(f.live, 0);
			if (st == BERTH_OK) {
				assert_true(k > 2);
				break;
			}
			assert_int_equal(st, BERTH_ENOMEM);
		}
	small_problem_free(&c);
}

/* Without its library a method says what to install. */
static void test_a_missing_library_is_named(void **state)
{
	(void)state;
	static const partition_library none = {.name = "other", .package = "libother-dev"};
	small_problem c;
	berth_search s;
	berth_search_cfg cfg = {.evaluations = 1};
	berth_err err;
	memset(&c, 0, sizeof c);
	assert_ok(berth_zoo_build("zoo:random:ops=5", &c.mem, &c.tmp, &c.g, &err), &err);
	assert_ok(berth_system_builtin("cpu+2gpu", &c.mem, &c.tmp, &c.s, &err), &err);
	finish(&c);
	assert_ok(berth_search_new(&c.p, &cfg, &c.mem, &s, &err), &err);
	assert_int_equal(partition_run(&s, &none, &c.tmp, &err), BERTH_EUNSUPPORTED);
	assert_non_null(strstr(err.msg, "libother-dev"));
	small_problem_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_jobs_hold),
		cmocka_unit_test(test_parallel_edges_merge),
		cmocka_unit_test(test_cuts_where_it_is_thin),
		cmocka_unit_test(test_pins_pull),
		cmocka_unit_test(test_parts_follow_speed),
		cmocka_unit_test(test_bytes_are_balanced),
		cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_a_missing_library_is_named),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
