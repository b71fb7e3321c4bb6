/* Placements under a given order: longest paths against the simulator, bit for bit, while operators move; and
 * the walk over orders against all schedules of small shops. */
#include "bounds.h"
#include "compiled_instance.h"
#include "op_sequence.h"
#include "fail_each.h"
#include "order_walk.h"
#include "registry.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

/* ---- longest paths ---- */

/* Times by the simulator, tails by what they mean, both from the beginning. */
static void check_times(const berth_sequence *q, berth_sim *sim)
{
	const berth_problem *p = q->p;
	berth_sim_result r;
	int64_t most = 0;
	berth_sim_run(sim, q->op_dev, q->order, &r);
	assert_true(r.runs);
	assert_int_equal(q->latency_ns, r.latency_ns);
	assert_memory_equal(q->start_ns, berth_sim_last(sim).start_ns,
	                    (size_t)p->n_ops * sizeof *q->start_ns);
	assert_memory_equal(q->end_ns, berth_sim_last(sim).end_ns, (size_t)p->n_ops * sizeof *q->end_ns);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t behind = q->behind[op];
		int64_t through = q->start_ns[op] + q->tail_ns[op];
		assert_true(through <= q->latency_ns);
		most = through > most ? through : most;
		if (behind >= 0)
			assert_true(q->tail_ns[op] >= q->end_ns[op] - q->start_ns[op] + q->tail_ns[behind]);
	}
	assert_int_equal(most, q->latency_ns);
}

/* Each operator of a random place on a random device. */
static int moves_of(compiled_instance *c, uint64_t seed)
{
	const berth_problem *p = &c->p;
	berth_rng rng = berth_rng_seed(seed, 1);
	berth_sequence q;
	berth_sim *sim;
	berth_err err;
	int32_t from[2], n = p->n_ops;
	int made = 0;
	if (!berth_sequence_exact(p))
		return 0;
	assert_ok(berth_sequence_new(p, &c->mem, &q, &err), &err);
	assert_ok(berth_sim_new(p, &c->mem, &sim, &err), &err);
	berth_sequence_set(&q, c->placement.op_dev, c->g.topo_op);
	berth_sequence_heads(&q, 0);
	berth_sequence_tails(&q, n - 1);
	check_times(&q, sim);
	for (int k = 0; k < 40; k++) {
		int32_t op = (int32_t)berth_rng_below(&rng, (uint32_t)n),
			x = (int32_t)berth_rng_below(&rng, (uint32_t)n), dev = q.op_dev[x];
		berth_sequence_move m = {op, dev, x, q.behind[x] == op ? q.behind[op] : q.behind[x]}, back;
		if (x == op || berth_op_time(p, op, dev) < 0)
			continue;
		back = berth_sequence_place(&q, op);
		int32_t *old = memcpy(berth_arena_alloc(&c->mem, (size_t)n, sizeof *old), q.order,
		                      (size_t)n * sizeof *old);
		int64_t latency_ns = q.latency_ns;
		if (!berth_sequence_change(&q, &m, &from[0], &from[1])) {
			assert_memory_equal(old, q.order, (size_t)n * sizeof *old);
			continue;
		}
		assert_true(berth_order_is_topological(p->g, q.order, &c->tmp));
		berth_sequence_heads(&q, from[0]);
		berth_sequence_tails(&q, from[1]);
		check_times(&q, sim);
		made++;
		if (k % 4)
			continue;
		assert_true(berth_sequence_change(&q, &back, &from[0], &from[1]));
		berth_sequence_heads(&q, from[0]);
		berth_sequence_tails(&q, from[1]);
		check_times(&q, sim);
		assert_int_equal(q.latency_ns, latency_ns);
	}
	return made;
}

static void times_are_the_simulators(void **state)
{
	(void)state;
	assert_true(compiled_instance_each(BERTH_DEBUG ? 400 : 4000, moves_of) > (BERTH_DEBUG ? 100 : 1000));
}

/* ---- all schedules of small shops ---- */

enum { JOBS = 3, STEPS = 3, DEVS = 3, OPS = JOBS * STEPS };

typedef struct shop {
	int time[OPS][DEVS]; /* ms; 0: not there */
} shop;

/* Each operator on one device, or on up to all of them. */
static shop draw_shop(berth_rng *rng, bool flexible)
{
	shop s = {0};
	for (int op = 0; op < OPS; op++) {
		int home = (int)berth_rng_below(rng, DEVS);
		for (int d = 0; d < DEVS; d++)
			if (d == home || (flexible && berth_rng_below(rng, 2)))
				s.time[op][d] = 1 + (int)berth_rng_below(rng, 9);
	}
	return s;
}

static const char shop_system[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"contention\":false,\"devices\":["
	"{\"name\":\"d0\",\"idle_w\":1,\"busy_w\":3},{\"name\":\"d1\",\"idle_w\":2,\"busy_w\":3},"
	"{\"name\":\"d2\",\"idle_w\":1,\"busy_w\":2}],\"links\":["
	"{\"from\":\"d0\",\"to\":\"d1\",\"bandwidth\":1e9,\"both_ways\":true},"
	"{\"from\":\"d1\",\"to\":\"d2\",\"bandwidth\":1e9,\"both_ways\":true},"
	"{\"from\":\"d0\",\"to\":\"d2\",\"bandwidth\":1e9,\"both_ways\":true}]}";

static void write_shop(const shop *s, char *text, size_t size)
{
	size_t n = (size_t)snprintf(text, size, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[");
	for (int op = 0; op < OPS; op++) {
		n += (size_t)snprintf(text + n, size - n, "%s{\"name\":\"%d\",\"time_s\":{", op ? "," : "",
		                      op);
		for (int d = 0, some = 0; d < DEVS; d++)
			if (s->time[op][d] > 0)
				n += (size_t)snprintf(text + n, size - n, "%s\"d%d\":%de-3",
				                      some++ ? "," : "", d, s->time[op][d]);
		n += (size_t)snprintf(text + n, size - n, "}}");
	}
	n += (size_t)snprintf(text + n, size - n, "],\"edges\":[");
	for (int op = 0; op < OPS; op++)
		if (op % STEPS)
			n += (size_t)snprintf(text + n, size - n,
			                      "%s{\"from\":\"%d\",\"to\":\"%d\",\"bytes\":0}",
			                      op > 1 ? "," : "", op - 1, op);
	snprintf(text + n, size - n, "]}");
}

/* The least latency of all schedules that go on from here, if it is below `best`: one operator after the
 * other, each as soon as it can. */
static int least(const shop *s, int done[JOBS], int job_ms[JOBS], int dev_ms[DEVS], int best)
{
	int n_done = 0, most = 0;
	for (int j = 0; j < JOBS; j++) {
		n_done += done[j];
		most = job_ms[j] > most ? job_ms[j] : most;
	}
	if (most >= best)
		return best;
	if (n_done == OPS)
		return most;
	for (int j = 0; j < JOBS; j++)
		for (int d = 0; d < DEVS && done[j] < STEPS; d++) {
			int time = s->time[j * STEPS + done[j]][d], job = job_ms[j], dev = dev_ms[d];
			if (time == 0)
				continue;
			job_ms[j] = dev_ms[d] = (job > dev ? job : dev) + time;
			done[j]++;
			best = least(s, done, job_ms, dev_ms, best);
			done[j]--;
			job_ms[j] = job;
			dev_ms[d] = dev;
		}
	return best;
}

/* Is the bound, which is not above the best, all of it? Its certificate proves no more. */
static bool hold_bound(small_problem *w, int best_ms)
{
	berth_bound_effort effort = berth_bound_effort_all(NULL);
	berth_bound_proof proof = {.mem = &w->mem};
	berth_bounds b;
	berth_err err;
	assert_ok(berth_bounds_new(&w->p, &w->tmp, &b, &err), &err);
	assert_ok(berth_bounds_strengthen(&w->p, &effort, &w->tmp, &b, &err), &err);
	assert_ok(berth_bounds_certify(&w->p, &effort, &proof, &w->tmp, &err), &err);
	assert_true(b.latency_ns <= best_ms * 1000000 && b.latency_ns % 1000000 == 0);
	assert_true(proof.any && proof.best.bound_ns <= b.latency_ns);
	assert_ok(berth_certificate_check(&proof.best, &w->p, &w->tmp, &err), &err);
	proof.best.bound_ns = best_ms * 1000000 + 1;
	assert_int_equal(berth_certificate_check(&proof.best, &w->p, &w->tmp, &err), BERTH_EFORMAT);
	return b.latency_ns == best_ms * 1000000;
}

static void best_of_all_schedules(void **state)
{
	(void)state;
	int closed = 0;
	const int n = BERTH_DEBUG ? 25 : 500; /* sanitized: the code is looked at, not the answers */
	for (int i = 0; i < n; i++) {
		static char text[4096];
		berth_rng rng = berth_rng_seed((uint64_t)i, 7);
		shop s = draw_shop(&rng, i % 2);
		small_problem w;
		berth_search_cfg cfg = berth_search_cfg_default();
		berth_search search;
		berth_err err;
		write_shop(&s, text, sizeof text);
		small_problem_make(&w, text, shop_system);
		cfg.evaluations = 3000;
		assert_ok(berth_search_new(&w.p, &cfg, &w.mem, &search, &err), &err);
		assert_ok(berth_method_run(&berth_method_heft, &search, &w.tmp, &err), &err);
		assert_ok(berth_walk_orders(&search, &w.tmp, &err), &err);
		int best = least(&s, (int[JOBS]){0}, (int[JOBS]){0}, (int[DEVS]){0}, 1000);
		closed += hold_bound(&w, best);
		assert_near(search.best.value, best * 1e-3, 1e-9);
		assert_int_equal(search.evaluations, 3000);
		berth_score again =
			berth_eval_run(&search.eval[0], search.best_dev, berth_search_order(&search));
		assert_true(again.value == search.best.value);
		small_problem_free(&w);
	}
	print_message("of %d shops %d are proven best\n", n, closed);
	assert_true(closed > n / 2);
}

/* Where no operator can move, the energy-delay product is least where the time is. */
static void products_are_walked(void **state)
{
	(void)state;
	for (int i = 0; i < (BERTH_DEBUG ? 10 : 60); i++) {
		static char text[4096];
		berth_rng rng = berth_rng_seed((uint64_t)i, 9);
		shop s = draw_shop(&rng, false);
		small_problem w;
		berth_search_cfg cfg = berth_search_cfg_default();
		berth_search search;
		berth_sim_result r;
		berth_err err;
		write_shop(&s, text, sizeof text);
		small_problem_make(&w, text, shop_system);
		cfg.evaluations = 3000;
		cfg.objective = berth_objective_of(BERTH_EDP);
		assert_ok(berth_search_new(&w.p, &cfg, &w.mem, &search, &err), &err);
		assert_ok(berth_method_run(&berth_method_anneal, &search, &w.tmp, &err), &err);
		berth_sim_run(search.eval[0].sim, search.best_dev, berth_search_order(&search), &r);
		assert_int_equal(r.latency_ns,
		                 1000000 * least(&s, (int[JOBS]){0}, (int[JOBS]){0}, (int[DEVS]){0}, 1000));
		small_problem_free(&w);
	}
}

/* What walks over orders, and what simulates them, without memory at each allocation in turn. */
static berth_status walk(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const small_problem *w = ctx;
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_search search;
	cfg.evaluations = 50;
	BERTH_TRY(berth_search_new(&w->p, &cfg, mem, &search, err));
	BERTH_TRY(berth_method_run(&berth_method_anneal, &search, tmp, err));
	assert_int_equal(search.evaluations, 50);
	return BERTH_OK;
}

static void allocations_fail(void **state)
{
	(void)state;
	for (int contention = 0; contention < 2; contention++) {
		static char text[4096];
		berth_rng rng = berth_rng_seed(1, 7);
		shop s = draw_shop(&rng, false);
		small_problem w;
		write_shop(&s, text, sizeof text);
		small_problem_make(&w, text, shop_system);
		w.s.contention = contention;
		assert_fails_each(walk, &w, BERTH_DEBUG ? 7 : 1);
		small_problem_free(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_the_simulators),
		cmocka_unit_test(best_of_all_schedules),
		cmocka_unit_test(products_are_walked),
		cmocka_unit_test(allocations_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
