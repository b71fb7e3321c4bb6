/* The batched evaluator against the reference simulator in the model where they coincide (order given, no contention), on every instruction set. */
#include "batch.h"
#include "graph_json.h"
#include "instance.h"
#include "rng.h"
#include "sim.h"
#include "support.h"
#include "system_json.h"

#include <string.h>

enum { N_SEEDS = 3000 };

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
} world;

/* Instance seed without what the batched evaluator does not know; every other one with times that need 64 bits. */
static void open_world(world *w, uint64_t seed)
{
	berth_err err;
	instance in;
	memset(w, 0, sizeof *w);
	instance_make(seed, 40, seed % 8 == 7 ? 12 : 5, &in);
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

static void check_world(world *w, uint64_t seed, berth_isa isa, const int32_t *order, int32_t count[3])
{
	int32_t n = w->p.n_ops, *op_dev;
	int64_t latency[BERTH_BATCH_LANES];
	uint8_t *lanes;
	berth_batch *b;
	berth_sim *sim;
	berth_err err;
	berth_rng rng = berth_rng_seed(seed, 1);
	assert_ok(berth_batch_new(&w->p, order, isa, &w->mem, &b, &err), &err);
	assert_ok(berth_sim_new(&w->p, &w->mem, &sim, &err), &err);
	assert_ok(BERTH_NEW(&w->mem, op_dev, BERTH_BATCH_LANES * (size_t)n, &err), &err);
	assert_ok(BERTH_NEW(&w->mem, lanes, BERTH_BATCH_LANES * (size_t)n, &err), &err);
	for (int32_t l = 0; l < BERTH_BATCH_LANES; l++) {
		int32_t *mine = op_dev + (size_t)l * (size_t)n;
		for (int32_t op = 0; op < n; op++) {
			mine[op] = (int32_t)berth_rng_below(&rng, (uint32_t)w->p.n_devs);
			for (int32_t k = 0; l > 0 && k < w->p.n_devs && berth_op_time(&w->p, op, mine[op]) < 0; k++)
				mine[op] = (mine[op] + 1) % w->p.n_devs;
		}
		berth_batch_set(b, l, mine, lanes);
	}
	berth_batch_run(b, lanes, latency);
	for (int32_t l = 0; l < BERTH_BATCH_LANES; l++) {
		berth_sim_result r;
		berth_sim_run(sim, op_dev + (size_t)l * (size_t)n, berth_batch_order(b), &r);
		if (latency[l] != (r.runs ? r.latency_ns : -1))
			fail_msg("seed %llu isa %d lane %d: %lld, reference %lld", (unsigned long long)seed, (int)isa, l, (long long)latency[l],
			         r.runs ? (long long)r.latency_ns : -1LL);
		count[r.runs ? berth_batch_narrow(b) : 2]++;
	}
}

static void test_equals_reference(void **state)
{
	(void)state;
	for (int isa = BERTH_ISA_BASELINE; isa <= BERTH_ISA_AVX512; isa++) {
		int32_t count[3] = {0};
		if (!berth_isa_usable((berth_isa)isa)) {
			print_message("instruction set %d is not usable here: skipped\n", isa);
			continue;
		}
		for (uint64_t seed = 0; seed < N_SEEDS; seed++) {
			world w;
			open_world(&w, seed);
			if (w.s.cost_model == BERTH_COST_REFERENCE)
				check_world(&w, seed, (berth_isa)isa, seed % 3 ? NULL : w.g.topo_op, count);
			close_world(&w);
		}
		for (int i = 0; i < 3; i++)
			assert_true(count[i] > N_SEEDS / 10);
	}
}

static void test_refuses(void **state)
{
	(void)state;
	world w;
	berth_batch *b;
	berth_err err;
	open_world(&w, 0);
	w.s.dev_slots[0] = 2;
	assert_int_equal(berth_batch_new(&w.p, NULL, BERTH_ISA_BEST, &w.mem, &b, &err), BERTH_ELIMIT);
	assert_contains(err.msg, "slots");
	w.s.dev_slots[0] = 1;
	w.s.cost_model = BERTH_COST_TARNAWSKI;
	assert_int_equal(berth_batch_new(&w.p, NULL, BERTH_ISA_BEST, &w.mem, &b, &err), BERTH_ELIMIT);
	close_world(&w);
}

static void test_allocations(void **state)
{
	(void)state;
	berth_status st = BERTH_ENOMEM;
	world w;
	open_world(&w, 1);
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator f;
		failing_allocator_init(&f, k);
		berth_arena mem;
		berth_batch *b;
		berth_arena_init(&mem, &f.hook);
		st = berth_batch_new(&w.p, NULL, BERTH_ISA_BEST, &mem, &b, NULL);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		berth_arena_free(&mem);
		assert_int_equal(f.live, 0);
	}
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_equals_reference), cmocka_unit_test(test_refuses), cmocka_unit_test(test_allocations)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
