/* The reference simulator against the slow oracle, to the nanosecond and the byte, and its bounds against
 * brute force. */
#include "bounds.h"
#include "instance.h"
#include "oracle.h"
#include "sim.h"
#include "small_problem.h"
#include "support.h"

#include <cJSON.h>
#include <math.h>

enum { N_BARE = BERTH_DEBUG ? 1500 : 10000, N_POOLED = BERTH_DEBUG ? 1000 : 3000 }; /* instances */

/* The order that a placement carries, or NULL. */
static int32_t *read_order(small_problem *c, const char *placement)
{
	cJSON *doc = cJSON_Parse(placement);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(doc, "order");
	int32_t *order = NULL, n = 0;
	if (cJSON_IsArray(list)) {
		order = berth_arena_alloc(&c->mem, (size_t)c->g.n_ops, sizeof *order);
		for (const cJSON *m = list->child; m; m = m->next)
			order[n++] = berth_graph_find(&c->g, m->valuestring);
		assert_true(berth_order_is_topological(&c->g, order, &c->tmp));
	}
	cJSON_Delete(doc);
	return order;
}

static void same_run(uint64_t seed, small_problem *c, const oracle_result *o, const int32_t *order)
{
	berth_sim *sim;
	berth_err err;
	berth_sim_result r;
	assert_ok(berth_sim_new(&c->p, &c->mem, &sim, &err), &err);
	berth_sim_hop *hops = berth_arena_alloc(&c->mem, berth_sim_max_hops(&c->p), sizeof *hops);
	for (int round = 0; round < 2; round++) { /* the second run on used scratch */
		berth_sim_want_peaks(sim, round == 0);
		berth_sim_want_hops(sim, round ? hops : NULL);
		berth_sim_run(sim, o->dev, order, &r);
		bool bad = !r.runs || r.latency_ns != o->latency_ns || r.fits != o->memory_fits ||
		           !(fabs(r.load_s - o->load_s) <= 1e-12 * o->load_s) ||
		           (o->has_energy ? !(fabs(r.energy_j - o->energy_j) <= 1e-12 * fabs(o->energy_j))
		                          : !isnan(r.energy_j));
		for (int32_t op = 0; op < c->g.n_ops; op++)
			bad |= berth_sim_last(sim).start_ns[op] != o->start_ns[op] ||
			       berth_sim_last(sim).end_ns[op] != o->end_ns[op];
		int64_t peak = 0;
		for (int32_t d = 0; d < c->s.n_devs && round == 0; d++) {
			int64_t own = o->device[d].peak_memory_bytes;
			peak = own > peak ? own : peak;
			bad |= berth_sim_last(sim).peak_bytes[d] != own;
		}
		for (int32_t i = 0; i < c->s.n_pools; i++)
			bad |= (round == 0 &&
			        berth_sim_last(sim).pool_peak_bytes[i] != o->pool[i].peak_memory_bytes) ||
			       (double)berth_sim_last(sim).pool_ns[i] * 1e-9 != o->pool[i].load_s;
		for (int32_t i = 0; i < c->s.n_pools; i++)
			peak = o->pool[i].peak_memory_bytes > peak ? o->pool[i].peak_memory_bytes : peak;
		bad |= round == 0 && r.peak_bytes != peak;
		bad |= round && berth_sim_last(sim).n_hops != (size_t)o->n_hops;
		if (bad)
			print_error("seed %llu round %d: latency %lld, the oracle says %lld\n",
			            (unsigned long long)seed, round, (long long)r.latency_ns,
			            (long long)o->latency_ns);
		assert_false(bad);
	}
}

typedef struct tally { /* instances */
	int ran, slowed, too_large;
	int hops, routed, no_contention, two_pools, rule[4]; /* of those where something is slowed */
} tally;

static void count_slowed(const small_problem *c, const oracle_result *o, bool ordered, tally *count)
{
	count->too_large += !o->memory_fits;
	if (o->n_slowed_ops + o->n_slowed_hops == 0)
		return;
	count->slowed++;
	count->hops += o->n_slowed_hops > 0;
	count->routed += o->n_slowed_hops > 0 && o->n_hops > o->n_transfers;
	count->no_contention += !c->s.contention;
	count->two_pools += c->s.n_pools > 1;
	count->rule[ordered ? BERTH_ORDER_GIVEN : c->s.order]++;
}

static tally compare_instances(bool pooled, uint64_t n)
{
	tally count = {0};
	for (uint64_t seed = 1; seed <= n; seed++) {
		instance in;
		oracle_result o;
		small_problem c;
		(pooled ? instance_make_pooled : instance_make)(seed, 12, 5, &in);
		assert_int_equal(oracle_simulate(in.graph, in.system, in.placement, &o), 0);
		small_problem_make(&c, in.graph, in.system);
		int32_t *order = read_order(&c, in.placement);
		if (o.runs) {
			same_run(seed, &c, &o, order);
			count.ran++;
			count_slowed(&c, &o, order != NULL, &count);
		}
		small_problem_free(&c);
		oracle_free(&o);
		instance_free(&in);
	}
	return count;
}

static void test_equals_oracle(void **state)
{
	(void)state;
	tally count = compare_instances(false, N_BARE);
	assert_true(count.ran > N_BARE * 4 / 5 && count.slowed == 0);
}

static void test_equals_oracle_in_pools(void **state)
{
	(void)state;
	tally count = compare_instances(true, N_POOLED);
	print_message("%d instances with memory pools: in %d something is slowed, in %d hops, in %d of them "
	              "on routes; %d without contention, %d with several pools; %d do not fit\n",
	              count.ran, count.slowed, count.hops, count.routed, count.no_contention,
	              count.two_pools, count.too_large);
	assert_true(count.ran > N_POOLED * 4 / 5 && count.slowed > N_POOLED / 5);
	assert_true(count.hops > N_POOLED / 20 && count.routed > N_POOLED / 100);
	assert_true(count.no_contention > N_POOLED / 20 && count.two_pools > N_POOLED / 20);
	assert_true(count.too_large > N_POOLED / 20);
	for (int i = 0; i < 4; i++)
		assert_true(count.rule[i] > N_POOLED / 50);
}

/* bound <= best, both of one objective; best of all feasible placements. */
static void below(uint64_t seed, const char *what, double bound, double best)
{
	if (isnan(best) || isnan(bound) || bound <= best)
		return;
	print_error("seed %llu: %s bound %.17g above the optimum %.17g\n", (unsigned long long)seed, what,
	            bound, best);
	assert_true(bound <= best);
}

static void test_bounds_are_sound(void **state)
{
	(void)state;
	int checked = 0, tight = 0;
	for (uint64_t seed = 1; checked < N_BARE; seed++) {
		instance in;
		oracle_optimum best;
		small_problem c;
		berth_bounds b;
		berth_err err;
		instance_make(seed, seed % 50 ? 5 : 7, 3, &in);
		if (oracle_brute_force(in.graph, in.system, &best) == 0) {
			small_problem_make(&c, in.graph, in.system);
			assert_ok(berth_bounds_new(&c.p, &c.tmp, &b, &err), &err);
			if (best.feasible.latency_ns >= 0) {
				checked++;
				tight += best.feasible.latency_ns == b.latency_ns;
				below(seed, "latency", (double)b.latency_ns,
				      (double)best.feasible.latency_ns);
				below(seed, "throughput", b.value[BERTH_THROUGHPUT], best.feasible.load_s);
				below(seed, "energy", b.value[BERTH_ENERGY], best.feasible.energy_j);
				below(seed, "edp", b.value[BERTH_EDP], best.feasible.edp);
			}
			small_problem_free(&c);
		}
		instance_free(&in);
	}
	print_message("%d brute-forced instances with a feasible placement, latency bound tight on %d\n",
	              checked, tight);
	assert_true(tight > checked / 4);
}

/* A case worked by hand: two devices of weights (1, 3) and (3, 1) per operator; lambda = 1/2 each gives (1 +
 * 1) / 2 * n. */
static void test_load_dual_by_hand(void **state)
{
	(void)state;
	static const char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\","
	                            "\"time_s\":{\"x\":1e-9,\"y\":3e-9}},"
				    "{\"name\":\"b\",\"time_s\":{\"x\":3e-9,\"y\":1e-9}},{\"name\":\"c\","
	                            "\"time_s\":{\"x\":5e-9,\"y\":5e-9}}]}";
	static const char system[] =
		"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":[{\"name\":\"x\"},{"
	        "\"name\":\"y\"}],"
		"\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1e9,\"both_ways\":true}]}";
	small_problem c;
	berth_bounds b;
	berth_err err;
	small_problem_make(&c, graph, system);
	assert_ok(berth_bounds_new(&c.p, &c.tmp, &b, &err), &err);
	assert_int_equal(b.load_ns, 3); /* (1 + 1 + 5) / 2, rounded down */
	assert_int_equal(b.ceft_ns, 5);
	assert_near(b.value[BERTH_THROUGHPUT], 5e-9, 1e-24);
	small_problem_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_equals_oracle),
		cmocka_unit_test(test_equals_oracle_in_pools),
		cmocka_unit_test(test_bounds_are_sound),
		cmocka_unit_test(test_load_dual_by_hand),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
