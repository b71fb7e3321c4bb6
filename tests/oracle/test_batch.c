/* The batched evaluator against the reference simulator in the two models where they coincide (order given; no contention, or channels in program order), on
 * every instruction set; and its bounds of memory against the peaks of the reference. */
#include "batch.h"
#include "graph_json.h"
#include "instance.h"
#include "rng.h"
#include "sim.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <string.h>

enum { N_SEEDS = 2000, LANES = BERTH_BATCH_LANES };

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
} world;

/* Instance seed without what the batched evaluator does not know; every other one with times that need 64 bits. */
static void open_world(world *w, uint64_t seed, int32_t max_devs)
{
	berth_err err;
	instance in;
	memset(w, 0, sizeof *w);
	instance_make(seed, 40, seed % 8 == 7 ? max_devs : 5, &in);
	assert_ok(berth_graph_parse_json("graph", in.graph, strlen(in.graph), &w->mem, &w->tmp, &w->g, &err), &err);
	assert_ok(berth_system_parse_json("system", in.system, strlen(in.system), &w->mem, &w->tmp, &w->s, &err), &err);
	instance_free(&in);
	w->s.contention = false;
	for (int32_t d = 0; d < w->s.n_devs; d++)
		w->s.dev_slots[d] = 1;
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
	for (int32_t i = 0; seed % 2 && i < w->p.n_ops * w->p.n_devs; i++)
		if (w->p.op_dev_time_ns[i] > 0)
			w->p.op_dev_time_ns[i] *= 4000000007;
}

static void close_world(world *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}

/* LANES random placements; only the first may have operators where they cannot run. */
static void draw(world *w, uint64_t seed, const berth_batch *b, int32_t **op_devs, uint8_t **lanes)
{
	int32_t n = w->p.n_ops;
	berth_rng rng = berth_rng_seed(seed, 1);
	berth_err err;
	assert_ok(BERTH_NEW(&w->mem, *op_devs, LANES * (size_t)n, &err), &err);
	assert_ok(BERTH_NEW(&w->mem, *lanes, LANES * (size_t)n, &err), &err);
	for (int32_t l = 0; l < LANES; l++) {
		int32_t *mine = *op_devs + (size_t)l * (size_t)n;
		for (int32_t op = 0; op < n; op++) {
			mine[op] = (int32_t)berth_rng_below(&rng, (uint32_t)w->p.n_devs);
			for (int32_t k = 0; l > 0 && k < w->p.n_devs && berth_op_time(&w->p, op, mine[op]) < 0; k++)
				mine[op] = (mine[op] + 1) % w->p.n_devs;
		}
		berth_batch_set(b, l, mine, *lanes);
	}
}

static void check_world(world *w, uint64_t seed, const berth_batch_cfg *cfg, int32_t count[3])
{
	int32_t *op_devs;
	int64_t latency[LANES];
	uint8_t *lanes;
	berth_batch *b;
	berth_sim *sim;
	berth_err err;
	assert_ok(berth_batch_new(&w->p, cfg, &w->mem, &b, &err), &err);
	assert_ok(berth_sim_new(&w->p, &w->mem, &sim, &err), &err);
	draw(w, seed, b, &op_devs, &lanes);
	berth_batch_run(b, lanes, latency);
	for (int32_t l = 0; l < LANES; l++) {
		berth_sim_result r;
		berth_sim_run(sim, op_devs + (size_t)l * (size_t)w->p.n_ops, berth_batch_order(b), &r);
		if (latency[l] != (r.runs ? r.latency_ns : -1))
			fail_msg("seed %llu isa %d lane %d: %lld, reference %lld", (unsigned long long)seed, (int)cfg->isa, l, (long long)latency[l],
			         r.runs ? (long long)r.latency_ns : -1LL);
		count[r.runs ? berth_batch_narrow(b) : 2]++;
	}
}

static void all_worlds(bool channels)
{
	for (int isa = BERTH_ISA_BASELINE; isa <= BERTH_ISA_AVX512; isa++) {
		int32_t count[3] = {0};
		if (!berth_isa_usable((berth_isa)isa)) {
			print_message("instruction set %d is not usable here: skipped\n", isa);
			continue;
		}
		for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
			world w;
			open_world(&w, seed, channels ? 8 : 12);
			w.s.contention = channels;
			w.s.channel_order = BERTH_CHANNELS_PROGRAM;
			if (w.s.cost_model == BERTH_COST_REFERENCE)
				check_world(&w, seed, &(berth_batch_cfg){.order = seed % 3 ? NULL : w.g.topo_op, .isa = (berth_isa)isa, .channels = channels}, count);
			close_world(&w);
		}
		for (int i = 0; i < 3; i++)
			assert_true(count[i] > N_SEEDS / 10);
	}
}

static void test_equals_reference(void **state)
{
	(void)state;
	all_worlds(false);
}

static void test_channels_equal_reference(void **state)
{
	(void)state;
	all_worlds(true);
}

/* Peaks under each order of the channels against the bounds; counts peaks, and those that are exact. */
static void check_memory(world *w, uint64_t seed, berth_isa isa, int64_t *n, int64_t *n_exact)
{
	static const bool contention[] = {false, true, true};
	static const berth_channel_order order[] = {BERTH_CHANNELS_REQUEST, BERTH_CHANNELS_REQUEST, BERTH_CHANNELS_PROGRAM};
	int32_t *op_devs;
	uint8_t *lanes;
	int64_t bound[BERTH_BATCH_MAX_DEVS_FULL * LANES];
	double excess[LANES];
	berth_batch *b;
	berth_sim *sim;
	berth_err err;
	assert_ok(berth_batch_new(&w->p, &(berth_batch_cfg){.isa = isa, .memory = true}, &w->mem, &b, &err), &err);
	draw(w, seed, b, &op_devs, &lanes);
	berth_batch_memory(b, lanes, bound);
	berth_batch_excess(b, bound, excess);
	for (int k = 0; k < 3; k++) {
		w->s.contention = contention[k];
		w->s.channel_order = order[k];
		assert_ok(berth_sim_new(&w->p, &w->mem, &sim, &err), &err);
		berth_sim_want_peaks(sim, true);
		for (int32_t l = 1; l < LANES; l++) {
			berth_sim_result r;
			berth_sim_run(sim, op_devs + (size_t)l * (size_t)w->p.n_ops, berth_batch_order(b), &r);
			for (int32_t d = 0; r.runs && d < w->p.n_devs; d++, ++*n) {
				*n_exact += bound[d * LANES + l] == berth_sim_peak_bytes(sim)[d];
				if (bound[d * LANES + l] < berth_sim_peak_bytes(sim)[d])
					fail_msg("seed %llu isa %d lane %d device %d: bound %lld, peak %lld", (unsigned long long)seed, (int)isa, l, d,
					         (long long)bound[d * LANES + l], (long long)berth_sim_peak_bytes(sim)[d]);
			}
			assert_true(!r.runs || excess[l] >= r.excess);
		}
	}
}

static void test_memory_bounds_peaks(void **state)
{
	(void)state;
	for (int isa = BERTH_ISA_BASELINE; isa <= BERTH_ISA_AVX512; isa++) {
		int64_t n = 0, n_exact = 0;
		for (uint64_t seed = 0; seed < N_SEEDS / 2 && berth_isa_usable((berth_isa)isa); seed++) {
			world w;
			open_world(&w, seed, 8);
			if (w.s.cost_model == BERTH_COST_REFERENCE)
				check_memory(&w, seed, (berth_isa)isa, &n, &n_exact);
			close_world(&w);
		}
		assert_true(n == 0 || n_exact > n / 10);
		if (n)
			print_message("instruction set %d: %lld of %lld peaks exact\n", isa, (long long)n_exact, (long long)n);
	}
}

/* A chain a, b, c of tensors of 10 and 20 bytes, c with 5 bytes of output and 7 of workspace, parameters of 100 bytes each. On one device: at most 100 * 3 + 20 + 5 + 7 (a's
 * tensor is gone). With b elsewhere: there 100 + 10 + 20; here the copy of b's counts from the beginning: 200 + 20 and a's, which left, + 5 + 7. */
static void test_memory_by_hand(void **state)
{
	static const char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"param_bytes\":100},{\"name\":\"b\",\"param_bytes\":100},"
	                            "{\"name\":\"c\",\"param_bytes\":100,\"output_bytes\":5,\"workspace_bytes\":7}],"
	                            "\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":10},{\"from\":\"b\",\"to\":\"c\",\"bytes\":20}]}";
	static const char system[] = "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"x\",\"peak_flops\":1},{\"name\":\"y\",\"peak_flops\":1,"
	                             "\"memory_bytes\":100}],\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1e9,\"both_ways\":true}]}";
	static const int32_t placement[2][3] = {{0, 0, 0}, {0, 1, 0}};
	int64_t peak[2 * LANES];
	double excess[LANES];
	uint8_t lanes[3 * LANES] = {0};
	berth_batch *b;
	berth_err err;
	world w = {0};
	(void)state;
	assert_ok(berth_graph_parse_json("graph", graph, strlen(graph), &w.mem, &w.tmp, &w.g, &err), &err);
	assert_ok(berth_system_parse_json("system", system, strlen(system), &w.mem, &w.tmp, &w.s, &err), &err);
	assert_ok(berth_problem_new(&w.g, &w.s, &w.mem, &w.tmp, &w.p, &err), &err);
	assert_ok(berth_batch_new(&w.p, &(berth_batch_cfg){.memory = true}, &w.mem, &b, &err), &err);
	for (int32_t l = 0; l < 2; l++)
		berth_batch_set(b, l, placement[l], lanes);
	berth_batch_memory(b, lanes, peak);
	berth_batch_excess(b, peak, excess);
	assert_int_equal(peak[0], 332);
	assert_int_equal(peak[LANES], 0);
	assert_int_equal(peak[1], 242);
	assert_int_equal(peak[LANES + 1], 130);
	assert_true(!(excess[0] > 0));
	assert_true(fabs(excess[1] - 0.3) <= 1e-12);
	close_world(&w);
}

static void test_refuses(void **state)
{
	(void)state;
	world w;
	berth_batch *b;
	berth_err err;
	open_world(&w, 0, 5);
	w.s.dev_slots[0] = 2;
	assert_int_equal(berth_batch_new(&w.p, &(berth_batch_cfg){0}, &w.mem, &b, &err), BERTH_ELIMIT);
	assert_contains(err.msg, "slots");
	w.s.dev_slots[0] = 1;
	w.s.cost_model = BERTH_COST_TARNAWSKI;
	assert_int_equal(berth_batch_new(&w.p, &(berth_batch_cfg){0}, &w.mem, &b, &err), BERTH_ELIMIT);
	close_world(&w);
}

static void test_allocations(void **state)
{
	(void)state;
	berth_status st = BERTH_ENOMEM;
	world w;
	open_world(&w, 1, 5);
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator f;
		failing_allocator_init(&f, k);
		berth_arena mem;
		berth_batch *b;
		berth_arena_init(&mem, &f.hook);
		st = berth_batch_new(&w.p, &(berth_batch_cfg){.channels = true, .memory = true}, &mem, &b, NULL);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		berth_arena_free(&mem);
		assert_int_equal(f.live, 0);
	}
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_equals_reference), cmocka_unit_test(test_channels_equal_reference),
	                                   cmocka_unit_test(test_memory_bounds_peaks), cmocka_unit_test(test_memory_by_hand), cmocka_unit_test(test_refuses), cmocka_unit_test(test_allocations)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
