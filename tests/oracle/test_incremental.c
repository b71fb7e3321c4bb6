/* The incremental evaluator against full runs of the reference simulator, to the last bit: random instances
 * under every order rule and under keys, chains of moves and limits; and that it saves work where it
 * should. */
#include "eval.h"
#include "incremental.h"
#include "instance.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "times.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { N_SEEDS = 800, N_MOVES = 12 };

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_sim *sim;
	berth_incremental *inc;
	int32_t *base, *trial;
	uint32_t *base_key, *trial_key;
	bool keyed;
	berth_rng rng;
	int32_t n_cut, n_whole;
} world;

static void start(world *w, uint64_t seed)
{
	berth_err err;
	w->rng = berth_rng_seed(seed, 1);
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
	assert_ok(berth_sim_new(&w->p, &w->mem, &w->sim, &err), &err);
	assert_ok(berth_incremental_new(&w->p, &w->mem, &w->inc, &err), &err);
	assert_ok(BERTH_NEW(&w->mem, w->base, w->p.n_ops, &err), &err);
	assert_ok(BERTH_NEW(&w->mem, w->trial, w->p.n_ops, &err), &err);
	assert_ok(BERTH_NEW(&w->mem, w->base_key, w->p.n_ops, &err), &err);
	assert_ok(BERTH_NEW(&w->mem, w->trial_key, w->p.n_ops, &err), &err);
}

static void open_instance(world *w, uint64_t seed)
{
	static const berth_order rule[] = {BERTH_ORDER_PRIORITY, BERTH_ORDER_PRIORITY, BERTH_ORDER_FIFO,
	                                   BERTH_ORDER_PROGRAM};
	instance in;
	memset(w, 0, sizeof *w);
	(seed % 3 == 1 ? instance_make_pooled : instance_make)(seed, 40, 5, &in);
	read_both(in.graph, in.system, &w->mem, &w->tmp, &w->g, &w->s);
	instance_free(&in);
	w->s.order = rule[seed % 4];
	w->s.channel_order = seed % 16 == 5 ? BERTH_CHANNELS_PROGRAM : BERTH_CHANNELS_REQUEST;
	start(w, seed);
}

static void open_zoo(world *w, const char *graph, const char *system)
{
	berth_err err;
	memset(w, 0, sizeof *w);
	assert_ok(berth_zoo_build(graph, &w->mem, &w->tmp, &w->g, &err), &err);
	assert_ok(berth_system_builtin(system, &w->mem, &w->tmp, &w->s, &err), &err);
	start(w, 1);
}

static void close_world(world *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}

static int32_t below(world *w, int32_t n)
{
	return (int32_t)berth_rng_below(&w->rng, (uint32_t)n);
}

static void use_keys(world *w, const uint32_t *key)
{
	berth_sim_use_keys(w->sim, w->keyed ? key : NULL);
	berth_incremental_use_keys(w->inc, w->keyed ? key : NULL);
}

static void change_key(world *w)
{
	int32_t op = below(w, w->p.n_ops), other = below(w, w->p.n_ops);
	w->trial_key[op] = w->base_key[other] + (uint32_t)below(w, 3) - 1;
}

/* The trial is the base with n operators moved, or with another key. */
static void draw_trial(world *w, int32_t n)
{
	memcpy(w->trial, w->base, (size_t)w->p.n_ops * sizeof *w->base);
	memcpy(w->trial_key, w->base_key, (size_t)w->p.n_ops * sizeof *w->base_key);
	for (; n > 0; n--)
		if (w->keyed && below(w, 2))
			change_key(w);
		else
			w->trial[below(w, w->p.n_ops)] = below(w, w->p.n_devs);
	use_keys(w, w->trial_key);
}

static void draw_base(world *w)
{
	for (int32_t op = 0; op < w->p.n_ops; op++)
		w->base_key[op] = UINT32_MAX / 4 + (uint32_t)below(w, 2 * w->p.n_ops);
	for (int32_t k = 0; k < w->p.n_ops; k++) {
		int32_t op = w->g.topo_op[k];
		w->base[op] = below(w, 5) ? (int32_t)((int64_t)k * w->p.n_devs / w->p.n_ops)
		                          : below(w, w->p.n_devs);
		for (int32_t i = 0; i < w->p.n_devs && berth_op_time(&w->p, op, w->base[op]) < 0; i++)
			w->base[op] = (w->base[op] + 1) % w->p.n_devs;
	}
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void assert_same(const berth_sim_result *a, const berth_sim_result *b)
{
	assert_int_equal(a->runs, b->runs);
	if (!a->runs)
		return;
	assert_int_equal(a->latency_ns, b->latency_ns);
	assert_int_equal(a->fits, b->fits);
	assert_true(same(a->load_s, b->load_s) && same(a->energy_j, b->energy_j) &&
	            same(a->excess, b->excess));
}

/* What keys come to is what the order of their starts comes to. */
static void check_order(world *w, const berth_sim_result *keyed)
{
	berth_sim_result r;
	berth_err err;
	int32_t *order;
	berth_arena_mark mark = berth_arena_get_mark(&w->tmp);
	assert_ok(BERTH_NEW(&w->tmp, order, w->p.n_ops, &err), &err);
	berth_start_order(&w->p, w->sim, w->trial, order);
	assert_true(berth_order_is_topological(&w->g, order, &w->mem));
	berth_sim_run(w->sim, w->trial, order, &r);
	assert_same(&r, keyed);
	berth_arena_reset(&w->tmp, mark);
}

static void check_trial(world *w)
{
	berth_sim_result full, part;
	berth_sim_run(w->sim, w->trial, NULL, &full);
	if (w->keyed && full.runs && berth_keys_work(&w->p))
		check_order(w, &full);
	assert_true(berth_incremental_run(w->inc, w->trial, INT64_MAX, &part));
	assert_same(&part, &full);
	if (!full.runs)
		return;
	for (int k = -2; k <= 1; k++) {
		int64_t limit = k == -2 ? full.latency_ns * 3 / 4 : full.latency_ns + k;
		bool known = berth_incremental_run(w->inc, w->trial, limit, &part);
		assert_int_equal(known, full.latency_ns <= limit);
		w->n_cut += !known;
		w->n_whole += known;
		if (known)
			assert_same(&part, &full);
	}
}

/* A walk: each trial changes 1 to 4 operators of the base, every third becomes the base. */
static void walk(world *w, int32_t n_moves)
{
	berth_sim_result r;
	draw_base(w);
	use_keys(w, w->base_key);
	if (w->p.n_ops == 0 || !berth_incremental_base(w->inc, w->base, &r))
		return;
	for (int32_t m = 0; m < n_moves; m++) {
		berth_sim_result full;
		draw_trial(w, 1 << below(w, 3));
		if (w->keyed && m % 4 == 2) { /* a run by the rule in between changes nothing */
			berth_incremental_use_keys(w->inc, NULL);
			berth_incremental_run(w->inc, w->base, INT64_MAX, &r);
			use_keys(w, w->trial_key);
		}
		check_trial(w);
		if (m % 3)
			continue;
		draw_trial(w, 1);
		berth_sim_run(w->sim, w->trial, NULL, &full);
		if (!full.runs)
			continue;
		memcpy(w->base, w->trial, (size_t)w->p.n_ops * sizeof *w->base);
		memcpy(w->base_key, w->trial_key, (size_t)w->p.n_ops * sizeof *w->base_key);
		assert_true(berth_incremental_base(w->inc, w->base, &r));
		assert_same(&r, &full);
	}
}

static void test_equals_full_runs(void **state)
{
	(void)state;
	int32_t n_cut = 0, n_whole = 0;
	for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
		world w;
		open_instance(&w, seed);
		walk(&w, N_MOVES);
		w.keyed = true;
		walk(&w, N_MOVES);
		n_cut += w.n_cut;
		n_whole += w.n_whole;
		close_world(&w);
	}
	assert_true(n_cut > N_SEEDS && n_whole > N_SEEDS);
}

static int64_t held_bytes(const world *w)
{
	int64_t all = 0;
	for (int32_t op = 0; op < w->p.n_ops; op++)
		all += w->g.op_param_bytes[op] + w->g.op_state_bytes[op];
	for (int32_t t = 0; t < w->g.n_tensors; t++)
		all += w->g.tensor_bytes[t];
	return all;
}

/* Real models; rounds saved and runs that skipped a part. */
static void test_models(void **state)
{
	static const char *const graph[] = {"zoo:resnet50", "zoo:inception-v3", "zoo:bert-base:training=1",
	                                    "zoo:random:ops=300:seed=3"};
	static const char *const system[] = {"4gpu", "cpu+2gpu", "hetero-cluster", "edge"};
	int64_t skipped = 0, in_pools = 0, with_memory = 0;
	(void)state;
	for (int i = 0; i < 4; i++)
		for (int k = 0; k < 4; k++) {
			world w;
			open_zoo(&w, graph[i], system[k]);
			for (int c = 0; c < 3; c++) { /* as it is; memory that never binds; memory that binds
				                         now and then */
				for (int32_t d = 0; d < w.p.n_devs && c > 0; d++)
					w.p.dev_limit_bytes[d] =
						c == 1 ? INT64_MAX / 2 : held_bytes(&w) / w.p.n_devs;
				if (k == 3)
					w.s.pool_bytes[0] = c < 2 ? INT64_MAX / 2 : held_bytes(&w);
				w.p.memory_free = false;
				assert_ok(berth_incremental_new(&w.p, &w.mem, &w.inc, NULL), NULL);
				walk(&w, 8);
				w.keyed = !w.keyed;
				walk(&w, 8);
				skipped += berth_incremental_skipped(w.inc);
				in_pools += k == 3 ? berth_incremental_skipped(w.inc) : 0;
				with_memory += c == 2 ? berth_incremental_skipped(w.inc) : 0;
			}
			close_world(&w);
		}
	print_message("%lld runs skipped a part, %lld in pools, %lld where memory was followed\n",
	              (long long)skipped, (long long)in_pools, (long long)with_memory);
	assert_true(skipped > 100 && in_pools > 10 && with_memory > 20);
}

static void test_saves_rounds(void **state)
{
	world w;
	berth_sim_result r;
	(void)state;
	open_zoo(&w, "zoo:resnet50", "4gpu");
	draw_base(&w);
	assert_true(berth_incremental_base(w.inc, w.base, &r));
	int64_t full = berth_incremental_rounds(w.inc);
	for (int32_t op = 0; op < w.p.n_ops; op++) {
		memcpy(w.trial, w.base, (size_t)w.p.n_ops * sizeof *w.base);
		w.trial[op] = (w.trial[op] + 1) % w.p.n_devs;
		assert_true(berth_incremental_run(w.inc, w.trial, INT64_MAX, &r));
	}
	assert_true(berth_incremental_rounds(w.inc) < (w.p.n_ops * full) * 3 / 4);
	close_world(&w);
}

enum { N_CHAIN = 200, MOST_TEXT = 1 << 16 };

static void add(char *text, const char *format, ...)
{
	size_t used = strlen(text);
	va_list args;
	va_start(args, format);
	assert_true(vsnprintf(text + used, MOST_TEXT - used, format, args) < (int)(MOST_TEXT - used));
	va_end(args);
}

/* Operators NAME0, NAME1, ... in a chain. */
static void add_chain(char *ops, char *edges, const char *name, const char *keys)
{
	for (int i = 0; i < N_CHAIN; i++)
		add(ops, "%s{\"name\":\"%s%d\",%s}", *ops ? "," : "", name, i, keys);
	for (int i = 1; i < N_CHAIN; i++)
		add(edges, "%s{\"from\":\"%s%d\",\"to\":\"%s%d\",\"bytes\":1000}", *edges ? "," : "", name,
		    i - 1, name, i);
}

static void open_text(world *w, const char *ops, const char *edges, const char *system)
{
	static char text[MOST_TEXT];
	memset(w, 0, sizeof *w);
	*text = 0;
	add(text, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[%s],\"edges\":[%s]}", ops, edges);
	read_both(text, system, &w->mem, &w->tmp, &w->g, &w->s);
	start(w, 1);
}

/* A chain on device 0; on device 1 each operator takes twice as long. */
static void open_chain(world *w)
{
	char ops[MOST_TEXT / 2] = "", edges[MOST_TEXT / 2] = "";
	add_chain(ops, edges, "o", "\"time_s\":{\"d\":1e-3,\"e\":2e-3}");
	open_text(w, ops, edges,
	          "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},"
	          "{\"name\":\"e\"}],"
	          "\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1e9,\"both_ways\":true}]}");
}

/* Rounds of the simulator since *before, which becomes what they are now. */
static int64_t rounds_since(const world *w, int64_t *before)
{
	int64_t rounds = berth_incremental_rounds(w->inc), was = *before;
	*before = rounds;
	return rounds - was;
}

/* A run above its limit ends when the operator that moved starts: what is behind it is known to be too long.
 * A base near the one before is run from where it differs. */
static void test_ends_early(void **state)
{
	(void)state;
	world w;
	berth_sim_result r;
	int64_t before = 0;
	open_chain(&w);
	assert_true(berth_incremental_base(w.inc, w.base, &r));
	int64_t all = rounds_since(&w, &before), limit = r.latency_ns;
	assert_true(all >= w.p.n_ops);
	w.trial[w.p.n_ops / 2] = 1;
	assert_false(berth_incremental_run(w.inc, w.trial, limit, &r));
	assert_true(rounds_since(&w, &before) < all / 10);
	memset(w.trial, 0, (size_t)w.p.n_ops * sizeof *w.trial);
	w.trial[w.p.n_ops - 2] = 1;
	assert_true(berth_incremental_base(w.inc, w.trial, &r));
	assert_true(rounds_since(&w, &before) < all / 10);
	berth_incremental_use_keys(w.inc, w.trial_key);
	assert_true(berth_incremental_base(w.inc, w.trial, &r)); /* by another rule: all of it */
	assert_true(rounds_since(&w, &before) >= w.p.n_ops);
	close_world(&w);
}

/* The same where memory is followed: the tails say it before the run meets the base again. */
static void test_ends_early_by_tails(void **state)
{
	(void)state;
	world w;
	berth_sim_result r;
	berth_err err;
	int64_t before = 0;
	open_chain(&w);
	w.p.memory_free = false;
	w.p.dev_limit_bytes[0] = 1000 * N_CHAIN / 2;
	assert_ok(berth_incremental_new(&w.p, &w.mem, &w.inc, &err), &err);
	assert_true(berth_incremental_base(w.inc, w.base, &r));
	int64_t all = rounds_since(&w, &before);
	w.trial[w.p.n_ops / 2] = 1;
	assert_false(berth_incremental_run(w.inc, w.trial, r.latency_ns, &r));
	assert_true(rounds_since(&w, &before) < all / 10);
	close_world(&w);
}

/* From any snapshot that a new base takes over, parameters are where it has them: on the device or in the
 * pool that has room for one of two. */
static void test_memory_of_a_new_base(void **state)
{
	(void)state;
	static const char *const limit[] = {
		"\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1e9,\"both_ways\":true}],"
		"\"devices\":[{\"name\":\"d\",\"memory_bytes\":150},{\"name\":\"e\"}]}",
		"\"links\":[{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1e9,\"both_ways\":true}],"
		"\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"}],\"memory_pools\":[{\"name\":\"p\","
		"\"devices\":[\"d\"],\"bandwidth\":1e9,\"bytes\":150}]}"};
	for (size_t i = 0; i < sizeof limit / sizeof *limit; i++) {
		world w;
		berth_sim_result part, full;
		char system[512] = "{\"format\":\"berth-system\",\"version\":1,";
		strcat(system, limit[i]);
		open_text(&w,
		          "{\"name\":\"a\",\"time_s\":{\"*\":1},\"param_bytes\":100},"
		          "{\"name\":\"b\",\"time_s\":{\"*\":1}},{\"name\":\"c\",\"time_s\":{\"*\":1}},"
		          "{\"name\":\"d\",\"time_s\":{\"*\":1},\"param_bytes\":100}",
		          "{\"from\":\"a\",\"to\":\"b\",\"bytes\":1},"
		          "{\"from\":\"b\",\"to\":\"c\",\"bytes\":1},"
		          "{\"from\":\"c\",\"to\":\"d\",\"bytes\":1}",
		          system);
		assert_true(berth_incremental_base(w.inc, w.base, &part));
		assert_false(part.fits);
		w.base[3] = 1;
		assert_true(berth_incremental_base(w.inc, w.base, &part));
		const int32_t trial[4] = {0, 1, 0, 1};
		berth_sim_run(w.sim, trial, NULL, &full);
		assert_true(full.fits);
		assert_true(berth_incremental_run(w.inc, trial, INT64_MAX, &part));
		assert_same(&part, &full);
		close_world(&w);
	}
}

/* Two chains share the bandwidth of a memory; an operator that has nothing to do with them moves. Once it has
 * ended, all goes on as in the base, with an operator of each chain under way. */
static void test_skips_in_pools(void **state)
{
	(void)state;
	world w;
	berth_sim_result r, again;
	int64_t before = 0;
	char ops[MOST_TEXT / 2] = "", edges[MOST_TEXT / 2] = "";
	add_chain(ops, edges, "a", "\"read_bytes\":1000000,\"pin\":\"d\"");
	add_chain(ops, edges, "b", "\"read_bytes\":700001,\"pin\":\"e\"");
	add(ops, ",{\"name\":\"x\",\"time_s\":{\"*\":5.5e-3}}");
	open_text(&w, ops, edges,
	          "{\"format\":\"berth-system\",\"version\":1,\"devices\":["
	          "{\"name\":\"d\",\"mem_bandwidth\":1e9},{\"name\":\"e\",\"mem_bandwidth\":1e9},"
	          "{\"name\":\"f\"},{\"name\":\"g\"}],"
	          "\"links\":["
	          "{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1e9,\"both_ways\":true},"
	          "{\"from\":\"d\",\"to\":\"f\",\"bandwidth\":1e9,\"both_ways\":true},"
	          "{\"from\":\"d\",\"to\":\"g\",\"bandwidth\":1e9,\"both_ways\":true}],"
	          "\"memory_pools\":[{\"name\":\"p\",\"devices\":[\"d\",\"e\"],\"bandwidth\":1.5e9}]}");
	for (int32_t op = 0; op < w.p.n_ops; op++)
		w.base[op] = w.trial[op] = op / N_CHAIN; /* 2, f: x */
	w.trial[2 * N_CHAIN] = 3;
	assert_true(berth_incremental_base(w.inc, w.base, &r));
	int64_t all = rounds_since(&w, &before);
	assert_true(berth_incremental_run(w.inc, w.trial, INT64_MAX, &again));
	assert_same(&again, &r);
	assert_true(rounds_since(&w, &before) < all / 10);
	assert_true(berth_incremental_skipped(w.inc) == 1);
	close_world(&w);
}

/* The same with queues before a channel and a device: one operator makes 50 tensors for another device, whose
 * operators take longer than the transfers. */
static void test_skips_with_queues(void **state)
{
	(void)state;
	enum { N = 50 };
	world w;
	berth_sim_result r, again;
	int64_t before = 0;
	char ops[MOST_TEXT / 2] = "", edges[MOST_TEXT / 2] = "";
	add(ops, "{\"name\":\"x\",\"time_s\":{\"*\":5e-3}},{\"name\":\"a\",\"time_s\":{\"*\":1e-3}}");
	for (int i = 0; i < N; i++) {
		add(ops, ",{\"name\":\"b%d\",\"time_s\":{\"*\":3e-3}}", i);
		add(edges, "%s{\"from\":\"a\",\"to\":\"b%d\",\"bytes\":1000000,"
			"\"tensor\":\"t%d\"}", i ? "," : "", i, i);
	}
	open_text(&w, ops, edges,
	          "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"d\"},{\"name\":\"e\"},"
	          "{\"name\":\"f\"},{\"name\":\"g\"}],\"links\":["
	          "{\"from\":\"d\",\"to\":\"e\",\"bandwidth\":1e9,\"both_ways\":true},"
	          "{\"from\":\"d\",\"to\":\"f\",\"bandwidth\":1e9,\"both_ways\":true},"
	          "{\"from\":\"d\",\"to\":\"g\",\"bandwidth\":1e9,\"both_ways\":true}]}");
	w.base[0] = 2;
	for (int32_t op = 2; op < w.p.n_ops; op++)
		w.base[op] = 1;
	memcpy(w.trial, w.base, (size_t)w.p.n_ops * sizeof *w.base);
	w.trial[0] = 3;
	assert_true(berth_incremental_base(w.inc, w.base, &r));
	int64_t all = rounds_since(&w, &before);
	assert_true(berth_incremental_run(w.inc, w.trial, INT64_MAX, &again));
	assert_same(&again, &r);
	assert_true(rounds_since(&w, &before) < all / 3);
	close_world(&w);
}

/* What an evaluator knows of its base stays when it is asked to prepare again. */
static void test_prepared_once(void **state)
{
	(void)state;
	world w;
	berth_err err;
	berth_eval e;
	berth_objective latency = berth_objective_of(BERTH_LATENCY);
	open_chain(&w);
	assert_ok(berth_eval_new(&w.p, &latency, &w.mem, &e, &err), &err);
	assert_null(e.near);
	assert_ok(berth_eval_want_near(&e, &w.mem, &err), &err);
	const berth_incremental *near = e.near;
	assert_non_null(near);
	assert_ok(berth_eval_want_near(&e, &w.mem, &err), &err);
	assert_ptr_equal(e.near, near);
	close_world(&w);
}

static void test_allocations(void **state)
{
	(void)state;
	berth_status st = BERTH_ENOMEM;
	world w;
	open_instance(&w, 0);
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator f;
		failing_allocator_init(&f, k);
		berth_arena mem;
		berth_incremental *inc;
		berth_arena_init(&mem, &f.hook);
		st = berth_incremental_new(&w.p, &mem, &inc, NULL);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		berth_arena_free(&mem);
		assert_int_equal(f.live, 0);
	}
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_equals_full_runs),
	                                   cmocka_unit_test(test_models), cmocka_unit_test(test_saves_rounds),
	                                   cmocka_unit_test(test_ends_early),
	                                   cmocka_unit_test(test_ends_early_by_tails),
	                                   cmocka_unit_test(test_memory_of_a_new_base),
	                                   cmocka_unit_test(test_skips_in_pools),
	                                   cmocka_unit_test(test_skips_with_queues),
	                                   cmocka_unit_test(test_prepared_once),
	                                   cmocka_unit_test(test_allocations)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
