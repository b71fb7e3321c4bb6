/* Partial schedules: the worked example of Topcuoglu et al., gaps and slots, the memory bound against the
 * simulator. */
#include "ceft.h"
#include "instance.h"
#include "partial.h"
#include "rng.h"
#include "sim.h"
#include "small_problem.h"
#include "support.h"
#include "topcuoglu.h"

#include <string.h>

static berth_partial *new_partial(small_problem *c)
{
	berth_err err;
	berth_partial *part;
	assert_ok(berth_partial_new(&c->p, &c->mem, &part, &err), &err);
	return part;
}

static bool runs_everywhere(const small_problem *c)
{
	return berth_problem_feasible(&c->p, NULL) == BERTH_OK;
}

/* ---- the published example ---- */

static void test_heft_example(void **state)
{
	(void)state;
	/* Figure 3 and table 1 of the paper: starts of tasks 1 .. 10 by HEFT */
	static const int64_t start[10] = {0, 27, 9, 18, 28, 26, 38, 57, 56, 73};
	static const int32_t dev[10] = {2, 0, 2, 1, 2, 1, 2, 0, 1, 1};
	small_problem c;
	small_problem_make(&c, topcuoglu_graph, topcuoglu_system);
	berth_partial *part = new_partial(&c);
	for (int round = 0; round < 2; round++) { /* again after a reset */
		berth_partial_reset(part);
		for (int32_t k = 0; k < 10; k++) {
			int64_t at;
			int32_t op = c.p.prio_op[k], d = berth_partial_earliest(part, op, true, &at);
			berth_partial_place(part, op, d, at);
		}
		for (int32_t op = 0; op < 10; op++) {
			assert_int_equal(berth_partial_dev(part, op), dev[op]);
			assert_int_equal(berth_partial_start_ns(part)[op], start[op] * TOPCUOGLU_UNIT);
		}
		assert_int_equal(berth_partial_length_ns(part), 80 * TOPCUOGLU_UNIT);
	}
	berth_partial_reset(part);
	berth_err err;
	assert_ok(berth_partial_schedule(part, c.p.op_rank_ns, &c.tmp, &err), &err); /* ranks as keys: the
	                                                                                same list */
	assert_int_equal(berth_partial_length_ns(part), 80 * TOPCUOGLU_UNIT);
	small_problem_free(&c);
}

/* CPOP: tasks 1, 2, 9 and 10 are the critical path, on the second processor. */
static void test_cpop_example(void **state)
{
	(void)state;
	static const int32_t path[4] = {0, 1, 8, 9};
	int64_t rank_d[10] = {0}, key[10];
	small_problem c;
	berth_err err;
	small_problem_make(&c, topcuoglu_graph, topcuoglu_system);
	for (int32_t op = 0; op < 10; op++) {
		for (int32_t i = c.g.op_in_off[op]; i < c.g.op_in_off[op + 1]; i++) {
			int32_t t = c.g.in_tensor[i], from = c.g.tensor_producer[t];
			int64_t rank =
				rank_d[from] + c.p.op_mean_ns[from] + c.p.class_mean_ns[c.p.tensor_class[t]];
			rank_d[op] = rank > rank_d[op] ? rank : rank_d[op];
		}
		key[op] = rank_d[op] + c.p.op_rank_ns[op];
	}
	assert_int_equal(key[0], 108 * TOPCUOGLU_UNIT);
	berth_partial *part = new_partial(&c);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(key[path[i]], 108 * TOPCUOGLU_UNIT);
		berth_partial_bind(part, c.p.op_coloc[path[i]], 1);
	}
	assert_ok(berth_partial_schedule(part, key, &c.tmp, &err), &err);
	assert_int_equal(berth_partial_length_ns(part), 86 * TOPCUOGLU_UNIT);
	small_problem_free(&c);
}

/* ---- gaps and slots ---- */

static const char *const free_ops =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"free\",\"ops\":["
	"{\"name\":\"a\",\"time_s\":{\"d\":10e-9}},{\"name\":\"b\",\"time_s\":{\"d\":4e-9}},{\"name\":\"c\","
        "\"time_s\":{\"d\":6e-9}},"
	"{\"name\":\"z\",\"time_s\":{\"d\":0}},{\"name\":\"e\",\"time_s\":{\"d\":1e-9}}],\"edges\":[]}";

static int64_t put(berth_partial *part, int32_t op, int64_t ready, bool insertion)
{
	int64_t start = berth_partial_start(part, op, 0, ready, insertion);
	berth_partial_place(part, op, 0, start);
	return start;
}

static void test_gaps(void **state)
{
	(void)state;
	enum { A, B, C, Z, E };
	small_problem c;
	small_problem_make(&c, free_ops,
	        "{\"format\":\"berth-system\",\"version\":1,\"name\":\"one\",\"devices\":[{\"name\":\"d\"}],"
	        "\"links\":[]}");
	berth_partial *part = new_partial(&c);
	assert_int_equal(put(part, A, 20, true), 20);                      /* idle [0,20) */
	assert_int_equal(berth_partial_start(part, C, 0, 0, false), 30);   /* without insertion: after a */
	assert_int_equal(berth_partial_start(part, C, 0, 15, true), 30);   /* 15..21 is too long for what is
	                                                                      left of the gap */
	assert_int_equal(put(part, C, 14, true), 14);                      /* exactly: idle [0,14) */
	assert_int_equal(berth_partial_start(part, B, 0, 11, true), 30);
	assert_int_equal(put(part, Z, 5, true), 5); /* no time, but nothing may run across it */
	assert_int_equal(berth_partial_start(part, B, 0, 2, true), 5);
	assert_int_equal(put(part, B, 1, true), 1);
	assert_int_equal(put(part, E, 0, true), 0);                        /* fills [0,1) */
	assert_int_equal(berth_partial_length_ns(part), 30);
	int32_t order[5];
	berth_partial_order(part, order);
	static const int32_t expected[5] = {E, B, Z, C, A};
	assert_memory_equal(order, expected, sizeof order);
	small_problem_free(&c);
}

/* Free time of one slot against a list of what is taken: random starts, gaps that close and open again. */
static void test_random_gaps(void **state)
{
	(void)state;
	enum { N = 60 };
	berth_arena text = {0};
	const char *ops = "";
	small_problem c;
	berth_rng rng = berth_rng_seed(3, 1);
	for (int i = 0; i < N; i++)
		ops = berth_arena_printf(&text, "%s%s{\"name\":\"o%d\",\"time_s\":{\"d\":%de-9}}", ops,
		                         i ? "," : "", i, 1 + i % 4);
	small_problem_make(&c,
	        berth_arena_printf(&text, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s]}", ops),
	        "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"}]}");
	berth_partial *part = new_partial(&c);
	for (int round = 0; round < 20; round++) {
		bool taken[8 * N] = {false};
		berth_partial_reset(part);
		for (int32_t op = 0; op < N; op++) {
			int32_t length = 1 + op % 4, free_for = 0,
				ready = (int32_t)berth_rng_below(&rng, 3 * N), at = ready;
			for (; free_for < length; at++)
				free_for = taken[at] ? 0 : free_for + 1;
			assert_int_equal(put(part, op, ready, true), at - length);
			memset(taken + at - length, 1, (size_t)length);
		}
	}
	berth_arena_free(&text);
	small_problem_free(&c);
}

static void test_slots(void **state)
{
	(void)state;
	small_problem c;
	small_problem_make(&c, free_ops,
	        "{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":[{\"name\":\"d\","
	        "\"slots\":2}],\"links\":[]}");
	berth_partial *part = new_partial(&c);
	assert_int_equal(put(part, 0, 0, true), 0);
	assert_int_equal(put(part, 1, 3, true), 3); /* the other slot, idle [0,3) */
	assert_int_equal(put(part, 2, 0, true), 7);
	assert_int_equal(put(part, 4, 0, true), 0);
	assert_int_equal(berth_partial_length_ns(part), 13);
	small_problem_free(&c);
}

/* A memory pool that holds nothing is a limit like any other. */
static void test_empty_pool(void **state)
{
	(void)state;
	small_problem c;
	small_problem_make(&c,
	        "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"time_s\":{\"*\":1},"
	        "\"param_bytes\":1},{\"name\":\"b\",\"time_s\":{\"*\":1}}],\"edges\":[]}",
	        "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],"
	        "\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}],"
	        "\"memory_pools\":[{\"name\":\"p\",\"devices\":[\"d\"],\"bandwidth\":1,\"bytes\":0}]}");
	berth_partial *part = new_partial(&c);
	assert_false(berth_partial_holds(part, 0, 0));
	assert_true(berth_partial_holds(part, 0, 1));
	assert_true(berth_partial_holds(part, 1, 0));
	small_problem_free(&c);
}

/* What a device and those of other pools hold is no part of what others of its pool hold. */
static void test_two_pools(void **state)
{
	(void)state;
	small_problem c;
	small_problem_make(&c,
	        "{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
	        "{\"name\":\"a\",\"time_s\":{\"*\":1},\"param_bytes\":2},"
	        "{\"name\":\"b\",\"time_s\":{\"*\":1},\"param_bytes\":9},"
	        "{\"name\":\"c\",\"time_s\":{\"*\":1},\"param_bytes\":2},"
	        "{\"name\":\"d\",\"time_s\":{\"*\":1},\"param_bytes\":2}],\"edges\":[]}",
	        "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"},"
	        "{\"name\":\"f\"}],\"links\":["
	        "{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true},"
	        "{\"from\":\"d\",\"to\":\"f\",\"bandwidth\":1,\"both_ways\":true}],\"memory_pools\":["
	        "{\"name\":\"p\",\"devices\":[\"d\",\"f\"],\"bandwidth\":1,\"bytes\":5},"
	        "{\"name\":\"q\",\"devices\":[\"e\"],\"bandwidth\":1,\"bytes\":9}]}");
	berth_partial *part = new_partial(&c);
	berth_partial_bind(part, c.p.op_coloc[0], 0);
	berth_partial_bind(part, c.p.op_coloc[1], 1);
	assert_true(berth_partial_holds(part, c.p.op_coloc[2], 0));
	assert_false(berth_partial_holds(part, c.p.op_coloc[2], 1));
	berth_partial_bind(part, c.p.op_coloc[2], 2);
	assert_false(berth_partial_holds(part, c.p.op_coloc[3], 0));
	assert_false(berth_partial_holds(part, c.p.op_coloc[3], 2));
	small_problem_free(&c);
}

/* Sums beyond 2^63 are beyond a device, too: a parameter that a group's operators share, counted once for
 * each, and the largest workspace in every slot. */
static void test_beyond_all_memory(void **state)
{
	(void)state;
	enum { N_OPS = 1100 };
	static const char *const own[2] = {"", ",\"workspace_bytes\":9007199254740992"};
	char ops[N_OPS * 60], users[N_OPS * 10];
	for (int k = 0; k < 2; k++) {
		small_problem c;
		berth_arena text = {0};
		size_t n = 0, m = 0;
		for (int i = 0; i < N_OPS; i++) {
			n += (size_t)snprintf(ops + n, sizeof ops - n,
			                      "%s{\"name\":\"o%d\",\"time_s\":{\"*\":1}%s,"
			                      "\"colocate\":\"g\"}",
			                      i ? "," : "", i, i ? "" : own[k]);
			m += (size_t)snprintf(users + m, sizeof users - m, "%s\"o%d\"", i ? "," : "", i);
		}
		small_problem_make(
			&c,
			berth_arena_printf(&text,
		                           "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],"
		                           "\"params\":[{\"name\":\"w\",\"bytes\":%s,\"ops\":[%s]}]}",
		                           ops, k ? "1" : "9007199254740992", users),
			"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\","
			"\"slots\":1024,\"memory_bytes\":2000}],\"links\":[]}");
		assert_false(berth_partial_holds(new_partial(&c), 0, 0));
		berth_arena_free(&text);
		small_problem_free(&c);
	}
}

/* The same of the devices of a pool: the largest workspace in every slot of each. */
static void test_beyond_all_pools(void **state)
{
	(void)state;
	enum { N_DEVS = 4, N_OPS = 1040 };
	static char ops[N_OPS * 70];
	berth_arena text = {0};
	small_problem c;
	const char *devs = "", *names = "", *links = "";
	for (int i = 0, n = 0; i < N_OPS; i++)
		n += snprintf(ops + n, sizeof ops - (size_t)n,
		              "%s{\"name\":\"o%d\",\"time_s\":{\"*\":1}%s}", i ? "," : "", i,
		              i < N_DEVS ? ",\"workspace_bytes\":9007199254740992" : "");
	for (int d = 0; d < N_DEVS; d++) {
		devs = berth_arena_printf(&text, "%s%s{\"name\":\"d%d\",\"slots\":1024}", devs,
		                          d ? "," : "", d);
		names = berth_arena_printf(&text, "%s%s\"d%d\"", names, d ? "," : "", d);
		links = berth_arena_printf(&text,
		                           "%s%s{\"from\":\"d%d\",\"to\":\"d%d\",\"bandwidth\":1e9}",
		                           links, d ? "," : "", d, (d + 1) % N_DEVS);
	}
	small_problem_make(&c,
	        berth_arena_printf(&text, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s]}", ops),
	        berth_arena_printf(&text,
	                           "{\"format\":\"berth-system\",\"version\":1,\"devices\":[%s],"
	                           "\"links\":[%s],\"memory_pools\":[{\"name\":\"p\",\"devices\":[%s],"
	                           "\"bandwidth\":1,\"bytes\":9007199254740992}]}",
	                           devs, links, names));
	berth_partial *part = new_partial(&c);
	for (int32_t i = 0; i < N_OPS - 1; i++) {
		berth_partial_bind(part, c.p.op_coloc[i], i % N_DEVS);
		assert_true(berth_partial_pool_bytes(part, 0) >= INT64_C(9007199254740992));
		assert_true(berth_partial_room(part, 0) <= 0);
	}
	assert_false(berth_partial_holds(part, c.p.op_coloc[N_OPS - 1], 0));
	berth_arena_free(&text);
	small_problem_free(&c);
}

/* Another operator's separation is no concern of one that has none. */
static void test_separated(void **state)
{
	(void)state;
	small_problem c;
	small_problem_make(&c,
	        "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"time_s\":{\"*\":1}},"
	        "{\"name\":\"b\",\"time_s\":{\"*\":1},\"separate\":\"s\"},"
	        "{\"name\":\"c\",\"time_s\":{\"*\":1},\"separate\":\"s\"}],\"edges\":[]}",
	        "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],"
	        "\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1,\"both_ways\":true}]}");
	berth_partial *part = new_partial(&c);
	berth_partial_bind(part, c.p.op_coloc[2], 0);
	assert_true(berth_partial_fits(part, c.p.op_coloc[0], 0));
	assert_false(berth_partial_fits(part, c.p.op_coloc[1], 0));
	berth_partial_bind(part, c.p.op_coloc[0], 1);
	assert_true(berth_partial_fits(part, c.p.op_coloc[1], 1));
	small_problem_free(&c);
}

/* What devices hold does not depend on the order of binding, nor on which of a pair of words they stand in
 * where a set of devices takes two. */
static void test_order_of_binding(void **state)
{
	(void)state;
	enum { N_OPS = 40, N_DEVS = 70 };
	berth_arena text = {0};
	small_problem c;
	const char *ops = "", *edges = "", *devs = "", *links = "";
	int32_t dev[N_OPS];
	berth_rng rng = berth_rng_seed(5, 1);
	for (int i = 0; i < N_OPS; i++) {
		dev[i] = (int32_t)(1 + 62 * (berth_rng_below(&rng, 2)) + berth_rng_below(&rng, 3));
		ops = berth_arena_printf(&text, "%s%s{\"name\":\"o%d\",\"time_s\":{\"*\":1}}", ops,
		                         i ? "," : "", i);
		for (int k = 0; k < i; k++)
			if (berth_rng_below(&rng, 4) == 0)
				edges = berth_arena_printf(&text,
				                           "%s%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":"
				                           "%d,\"tensor\":\"t%d\"}",
				                           edges, *edges ? "," : "", k, i,
				                           1 << (k % 16 + i % 2), i % 2);
	}
	for (int d = 0; d < N_DEVS; d++)
		devs = berth_arena_printf(&text, "%s%s{\"name\":\"d%d\",\"memory_bytes\":9000}", devs,
		                          d ? "," : "", d);
	for (int d = 1; d < N_DEVS; d++)
		links = berth_arena_printf(&text,
		                           "%s%s{\"from\":\"d0\",\"to\":\"d%d\",\"bandwidth\":1e9,"
		                           "\"both_ways\":true}",
		                           links, d > 1 ? "," : "", d);
	small_problem_make(&c,
	        berth_arena_printf(&text,
	                           "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],\"edges\":[%s]}",
	                           ops, edges),
	        berth_arena_printf(
			&text, "{\"format\":\"berth-system\",\"version\":1,\"devices\":[%s],\"links\":[%s]}",
			devs, links));
	berth_partial *forwards = new_partial(&c), *backwards = new_partial(&c), *swapped = new_partial(&c);
	for (int32_t i = 0; i < N_OPS; i++) {
		berth_partial_bind(forwards, c.p.op_coloc[i], dev[i]);
		berth_partial_bind(swapped, c.p.op_coloc[i], dev[i] < 62 ? dev[i] + 62 : dev[i] - 62);
		berth_partial_bind(backwards, c.p.op_coloc[N_OPS - 1 - i], dev[N_OPS - 1 - i]);
	}
	for (int32_t d = 0; d < N_DEVS; d++) {
		bool used = (d >= 1 && d <= 3) || (d >= 63 && d <= 65);
		assert_int_equal(berth_partial_bytes(forwards, d), berth_partial_bytes(backwards, d));
		if (d >= 1 && d <= 3)
			assert_int_equal(berth_partial_bytes(forwards, d),
			                 berth_partial_bytes(swapped, d + 62));
		if (d >= 63 && d <= 65)
			assert_int_equal(berth_partial_bytes(forwards, d),
			                 berth_partial_bytes(swapped, d - 62));
		assert_true((berth_partial_bytes(forwards, d) > 0) == used);
	}
	berth_arena_free(&text);
	small_problem_free(&c);
}

/* ---- random instances ---- */

/* Earliest finishes, who decides them, and where the critical path ends, all by the definition. */
static void check_ceft(small_problem *c)
{
	const berth_problem *p = &c->p;
	berth_ceft t;
	berth_err err;
	berth_ceft_step end = {-1, -1};
	int64_t length = 0;
	assert_ok(berth_ceft_new(p, &c->mem, &t, &err), &err);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int64_t soonest = BERTH_CEFT_NEVER;
		int32_t where = -1;
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t ready = -1, finish = BERTH_CEFT_NEVER;
			berth_ceft_step by = {-1, -1};
			for (int32_t i = c->g.op_in_off[op]; i < c->g.op_in_off[op + 1]; i++) {
				int32_t from = c->g.tensor_producer[c->g.in_tensor[i]], at = -1;
				int64_t least = INT64_MAX;
				for (int32_t l = 0; l < p->n_devs; l++) {
					int64_t there = t.finish_ns[from * p->n_devs + l] +
					                berth_transfer_ns(p, c->g.in_tensor[i], l, d);
					if (berth_op_legal(p, from, l) && there < least) {
						least = there;
						at = l;
					}
				}
				if (least > ready) {
					ready = least;
					by = (berth_ceft_step){from, at};
				}
			}
			if (berth_op_legal(p, op, d))
				finish = (ready > 0 ? ready : 0) + berth_op_time(p, op, d);
			else
				by = (berth_ceft_step){-1, -1};
			berth_ceft_step before = berth_ceft_before(&t, (berth_ceft_step){op, d});
			assert_int_equal(t.finish_ns[op * p->n_devs + d], finish);
			assert_true(before.op == by.op && before.dev == by.dev);
			if (finish < soonest) {
				soonest = finish;
				where = d;
			}
		}
		bool is_sink = c->g.op_tensor_off[op] == c->g.op_tensor_off[op + 1];
		if (is_sink && (end.op < 0 || soonest > length)) {
			length = soonest;
			end = (berth_ceft_step){op, where};
		}
	}
	assert_int_equal(t.length_ns, length);
	assert_true(t.end.op == end.op && t.end.dev == end.dev);
}

/* No two operators of a slot overlap: at no start are more than `slots` operators of its device under way. */
static void check_schedule(uint64_t seed, const small_problem *c, const berth_partial *part)
{
	const int64_t *start = berth_partial_start_ns(part), *end = berth_partial_end_ns(part);
	for (int32_t op = 0; op < c->g.n_ops; op++) {
		int32_t dev = berth_partial_dev(part, op), busy = 0;
		int64_t ready[INSTANCE_MAX_DEVICES];
		assert_int_equal(end[op] - start[op], berth_op_time(&c->p, op, dev));
		berth_partial_ready(part, op, ready);
		assert_true(start[op] >= ready[dev]);
		for (int32_t o = 0; o < c->g.n_ops; o++)
			busy += berth_partial_dev(part, o) == dev && end[o] > start[o] &&
			        start[o] <= start[op] && start[op] < end[o];
		if (busy > c->s.dev_slots[dev])
			print_error("seed %llu: %d operators at once on device %d\n",
			            (unsigned long long)seed, busy, dev);
		assert_true(busy <= c->s.dev_slots[dev]);
	}
}

/* A tail is at least the best way on by each use, and that of some use, or 0. */
static void check_tails_by_definition(const small_problem *c, const int64_t *tail)
{
	const berth_problem *p = &c->p;
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t longest = 0;
			for (int32_t e = 0; e < c->g.n_edges; e++) {
				int32_t t = 0, to = c->g.edge_consumer[e];
				int64_t best = BERTH_CEFT_NEVER;
				while (c->g.tensor_use_off[t + 1] <= e)
					t++;
				for (int32_t l = 0; l < p->n_devs && c->g.tensor_producer[t] == op; l++) {
					int64_t way = berth_op_time(p, to, l) + tail[to * p->n_devs + l] +
					              berth_transfer_ns(p, t, d, l);
					best = berth_op_legal(p, to, l) && way < best ? way : best;
				}
				if (c->g.tensor_producer[t] == op)
					longest = best > longest ? best : longest;
			}
			assert_int_equal(tail[op * p->n_devs + d], longest);
		}
}

/* Nothing is over sooner than the tails say. Returns the operators for which they say it exactly. */
static int check_tails(small_problem *c, const berth_partial *part)
{
	int64_t tail[INSTANCE_MAX_OPS * INSTANCE_MAX_DEVICES];
	int exact = 0;
	berth_ceft_tails(&c->p, NULL, tail);
	check_tails_by_definition(c, tail);
	for (int32_t op = 0; op < c->g.n_ops; op++) {
		int64_t least =
			berth_partial_end_ns(part)[op] + tail[op * c->s.n_devs + berth_partial_dev(part, op)];
		assert_true(least <= berth_partial_length_ns(part));
		exact += least == berth_partial_length_ns(part);
	}
	return exact;
}

/* The bound is at least the simulated peak, and fits() is what bytes() says after binding. */
static int check_memory(small_problem *c, berth_partial *part, berth_sim *sim)
{
	int32_t op_dev[INSTANCE_MAX_OPS];
	berth_partial *fresh = new_partial(c);
	berth_sim_result r;
	int tight = 0;
	berth_partial_reset(part);
	berth_partial_reset(fresh);
	for (int32_t d = 0; d < c->s.n_devs; d++)
		assert_int_equal(berth_partial_bytes(part, d), 0);
	for (int32_t k = 0; k < c->g.n_ops; k++) {
		int32_t op = c->g.topo_op[k], coloc = c->p.op_coloc[op], dev;
		if (berth_partial_dev(part, op) >= 0)
			continue;
		for (dev = k % c->s.n_devs; !berth_op_legal(&c->p, op, dev); dev = (dev + 1) % c->s.n_devs)
			;
		bool fits = berth_partial_fits(part, coloc, dev);
		berth_partial_bind(part, coloc, dev);
		berth_partial_bind(fresh, coloc, dev);
		assert_int_equal(fits, berth_partial_room(part, dev) >= 0);
		assert_int_equal(berth_partial_bytes(part, dev), berth_partial_bytes(fresh, dev));
	}
	berth_partial_devs(part, op_dev);
	berth_sim_run(sim, op_dev, NULL, &r);
	for (int32_t d = 0; d < c->s.n_devs && !c->p.memory_free; d++) {
		assert_true(berth_partial_bytes(part, d) >= berth_sim_last(sim).peak_bytes[d]);
		tight += berth_partial_bytes(part, d) == berth_sim_last(sim).peak_bytes[d] &&
		         berth_sim_last(sim).peak_bytes[d] > 0;
	}
	return tight;
}

/* What dev holds, by the definition, of operators that are bound or of colocation group more (-1: none). */
typedef struct held {
	int64_t kept, moving, workspace, n_ops;
} held;

static held held_on(const small_problem *c, const berth_partial *part, int32_t dev, int32_t more)
{
	const berth_graph *g = &c->g;
	held h = {0};
	bool on[INSTANCE_MAX_OPS];
	for (int32_t op = 0; op < g->n_ops; op++) {
		on[op] = berth_partial_dev(part, op) == dev || c->p.op_coloc[op] == more;
		if (!on[op])
			continue;
		h.kept += g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op];
		h.workspace =
			g->op_workspace_bytes[op] > h.workspace ? g->op_workspace_bytes[op] : h.workspace;
		h.n_ops++;
	}
	for (int32_t q = 0; q < g->n_params; q++) {
		bool uses = false;
		for (int32_t i = g->param_op_off[q]; i < g->param_op_off[q + 1]; i++)
			uses |= on[g->param_op[i]];
		h.kept += uses ? g->param_bytes[q] : 0;
	}
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t from = g->tensor_producer[t];
		bool comes = false;
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			comes |= on[g->edge_consumer[e]] && berth_partial_dev(part, from) >= 0;
		h.moving += on[from] || comes ? g->tensor_bytes[t] : 0;
	}
	return h;
}

static int64_t of_share(held h, double share, int32_t slots)
{
	int64_t at_once = share > 0 ? (h.n_ops < slots ? h.n_ops : slots) : 0;
	return h.kept + (int64_t)(share * (double)h.moving) + at_once * h.workspace;
}

/* Limits of exactly what a device and its pool would hold are kept, and those of a byte less are not: for
 * each share of the tensors, at each step of binding all. Share 0 counts one workspace of the pool, the
 * largest. */
static int check_limits(small_problem *c, berth_rng *rng)
{
	static const double shares[] = {1, 0.5, 0};
	int64_t *limit = c->p.dev_limit_bytes, old_limit[INSTANCE_MAX_DEVICES],
		old_bytes[INSTANCE_MAX_DEVICES];
	int n_pooled = 0;
	c->p.memory_free = false;
	berth_partial *part = new_partial(c);
	memcpy(old_limit, limit, (size_t)c->p.n_devs * sizeof *limit);
	memcpy(old_bytes, c->s.pool_bytes, (size_t)c->p.n_pools * sizeof *old_bytes);
	for (int32_t coloc = 0; coloc < c->p.n_colocs; coloc++) {
		int32_t dev = (int32_t)berth_rng_below(rng, (uint32_t)c->p.n_devs),
			pool = c->p.n_pools ? c->s.dev_pool[dev] : -1;
		for (int k = 0; k < 3; k++) {
			held own = held_on(c, part, dev, coloc);
			int64_t largest = own.workspace,
				alone = of_share(own, shares[k], c->s.dev_slots[dev]), all = alone;
			for (int32_t d = 0; d < c->p.n_devs && pool >= 0; d++)
				if (d != dev && c->s.dev_pool[d] == pool) {
					held h = held_on(c, part, d, -1);
					all += of_share(h, shares[k], c->s.dev_slots[d]);
					largest = h.workspace > largest ? h.workspace : largest;
				}
			if (shares[k] <= 0) {
				alone += own.workspace;
				all += largest;
			}
			for (int64_t less = 0; less < 2; less++) {
				bool separated;
				limit[dev] = -1;
				if (pool >= 0)
					c->s.pool_bytes[pool] = -1;
				separated = berth_partial_fits(part, coloc, dev);
				limit[dev] = alone - less;
				berth_partial_limit_memory(part, shares[k]);
				if (alone > 0)
					assert_int_equal(berth_partial_fits(part, coloc, dev),
					                 separated && !less);
				if (alone > 0 && shares[k] == 1)
					assert_int_equal(berth_partial_holds(part, coloc, dev), !less);
				limit[dev] = -1;
				if (pool >= 0 && all > 0) {
					c->s.pool_bytes[pool] = all - less;
					assert_int_equal(berth_partial_fits(part, coloc, dev),
					                 separated && !less);
					limit[dev] = alone;
					assert_int_equal(berth_partial_fits(part, coloc, dev),
					                 separated && !less);
					n_pooled += all > alone;
				}
				berth_partial_limit_memory(part, -1);
				assert_int_equal(berth_partial_fits(part, coloc, dev), separated);
			}
			memcpy(limit, old_limit, (size_t)c->p.n_devs * sizeof *limit);
			memcpy(c->s.pool_bytes, old_bytes, (size_t)c->p.n_pools * sizeof *old_bytes);
		}
		berth_partial_bind(part, coloc, dev);
		for (int32_t d = 0; d < c->p.n_devs; d++) {
			int64_t bytes = of_share(held_on(c, part, d, -1), 1, c->s.dev_slots[d]), in_pool = 0,
				room = limit[d] < 0 ? INT64_MAX : limit[d] - bytes;
			assert_int_equal(berth_partial_bytes(part, d), bytes);
			pool = c->p.n_pools ? c->s.dev_pool[d] : -1;
			for (int32_t o = 0; o < c->p.n_devs && pool >= 0; o++)
				if (c->s.dev_pool[o] == pool)
					in_pool += of_share(held_on(c, part, o, -1), 1, c->s.dev_slots[o]);
			assert_int_equal(berth_partial_pool_bytes(part, d), in_pool);
			if (pool >= 0 && old_bytes[pool] >= 0 && old_bytes[pool] - in_pool < room)
				room = old_bytes[pool] - in_pool;
			assert_int_equal(berth_partial_room(part, d), room);
		}
		int32_t roomiest = -1, op = c->p.coloc_op[c->p.coloc_off[coloc]];
		for (int32_t d = c->p.n_devs - 1; d >= 0; d--)
			if (berth_op_legal(&c->p, op, d) &&
			    (roomiest < 0 ||
			     berth_partial_room(part, d) >= berth_partial_room(part, roomiest)))
				roomiest = d;
		assert_int_equal(berth_partial_roomiest(part, coloc), roomiest);
	}
	return n_pooled;
}

static void test_limits(void **state)
{
	(void)state;
	int n_pooled = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		instance in;
		small_problem c;
		berth_rng rng = berth_rng_seed(seed, 2);
		(seed % 3 ? instance_make_pooled : instance_make)(seed, 10, 4, &in);
		small_problem_make(&c, in.graph, in.system);
		n_pooled += check_limits(&c, &rng);
		small_problem_free(&c);
		instance_free(&in);
	}
	assert_true(n_pooled > 100);
}

static void test_random_instances(void **state)
{
	(void)state;
	int checked = 0, tight = 0, exact = 0;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		instance in;
		small_problem c;
		berth_err err;
		berth_sim *sim;
		instance_make(seed, 14, 4, &in);
		small_problem_make(&c, in.graph, in.system);
		if (runs_everywhere(&c)) {
			berth_partial *part = new_partial(&c);
			assert_ok(berth_partial_schedule(part, c.p.op_rank_ns, &c.tmp, &err), &err);
			check_schedule(seed, &c, part);
			exact += check_tails(&c, part);
			check_ceft(&c);
			assert_ok(berth_sim_new(&c.p, &c.mem, &sim, &err), &err);
			tight += check_memory(&c, part, sim);
			int32_t order[INSTANCE_MAX_OPS];
			assert_ok(berth_partial_schedule((berth_partial_reset(part), part), c.p.op_mean_ns,
			                                 &c.tmp, &err),
			          &err);
			berth_partial_order(part, order);
			assert_true(berth_order_is_topological(&c.g, order, &c.tmp));
			checked++;
		}
		small_problem_free(&c);
		instance_free(&in);
	}
	assert_true(checked > 500);
	assert_true(tight > 100);
	assert_true(exact > 1000);
}

/* The earliest finish of every operator, with insertion and without, on all kinds of problems, against the
 * definition. */
static void test_earliest(void **state)
{
	(void)state;
	int n_plain = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		instance in;
		small_problem c;
		instance_make(seed, 14, 4, &in);
		small_problem_make(&c, in.graph, in.system);
		instance_free(&in);
		bool plain = c.p.memory_free && c.g.n_seps == 0;
		for (int insertion = 0; insertion < 2 && runs_everywhere(&c); insertion++) {
			berth_partial *part = new_partial(&c);
			for (int32_t k = 0; k < c.p.n_ops; k++) {
				int32_t op = c.p.prio_op[k], coloc = c.p.op_coloc[op], want = -1;
				int64_t ready[8], at, end = 0;
				berth_partial_ready(part, op, ready);
				berth_partial_look_ahead(part, op);
				for (int32_t d = 0; d < c.p.n_devs; d++) {
					bool may = berth_partial_dev(part, op) < 0
					                   ? berth_op_legal(&c.p, op, d) &&
					                             berth_partial_fits(part, coloc, d)
					                   : d == berth_partial_dev(part, op);
					int64_t ends =
						may ? berth_partial_start(part, op, d, ready[d], insertion) +
								berth_op_time(&c.p, op, d)
						    : 0;
					if (may && (want < 0 || ends < end)) {
						want = d;
						end = ends;
					}
				}
				int32_t got = berth_partial_earliest(part, op, insertion, &at);
				assert_true(want < 0 ||
				            (got == want && at + berth_op_time(&c.p, op, got) == end));
				assert_true(berth_op_legal(&c.p, op, got));
				berth_partial_place(part, op, got, at);
			}
			n_plain += plain;
		}
		small_problem_free(&c);
	}
	assert_true(n_plain > 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_earliest),     cmocka_unit_test(test_heft_example),
		cmocka_unit_test(test_cpop_example), cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_random_gaps),  cmocka_unit_test(test_slots),
		cmocka_unit_test(test_empty_pool),   cmocka_unit_test(test_two_pools),
		cmocka_unit_test(test_separated),    cmocka_unit_test(test_order_of_binding),
		cmocka_unit_test(test_limits),       cmocka_unit_test(test_random_instances),
		cmocka_unit_test(test_beyond_all_memory), cmocka_unit_test(test_beyond_all_pools),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
