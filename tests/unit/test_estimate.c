/* Tails of simulated bases, and estimates of moves: what must hold of them, and how well they rank moves. */
#include "compiled_instance.h"
#include "estimate.h"
#include "rng.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The log of op_dev as a base; NULL: runs do not go on from bases here. */
static const berth_base_log *log_of(const berth_problem *p, const int32_t *op_dev, berth_arena *mem,
                                    berth_incremental **n)
{
	berth_err err;
	berth_sim_result r;
	assert_ok(berth_incremental_new(p, mem, n, &err), &err);
	assert_ok(berth_incremental_want_log(*n, mem, &err), &err);
	assert_true(berth_incremental_base(*n, op_dev, &r));
	return berth_incremental_log(*n);
}

/* One operator at a time on each device, which takes as long as it takes alone. */
static bool is_plain(const berth_problem *p)
{
	bool plain = true;
	for (int32_t d = 0; d < p->n_devs; d++)
		plain &= p->s->dev_slots[d] == 1;
	return plain;
}

/* The log is the run, and no path through the base is longer than it. */
static void check_tails(const compiled_instance *c, const berth_base_log *log, const berth_tails *t)
{
	int64_t least = INT64_MAX;
	assert_int_equal(log->latency_ns, c->t.r.latency_ns);
	assert_int_equal(log->n_ends, c->p.n_ops + (int32_t)c->t.n_hops);
	for (int32_t op = 0; op < c->p.n_ops; op++) {
		int64_t slack = berth_tails_slack(t, op);
		assert_int_equal(log->start_ns[op], c->t.start_ns[op]);
		assert_int_equal(log->end_ns[op], c->t.end_ns[op]);
		assert_true(t->ready_ns[op] <= c->t.start_ns[op]);
		assert_true(t->tail_ns[op] >= berth_op_time(&c->p, op, log->op_dev[op]));
		least = slack < least ? slack : least;
	}
	if (is_plain(&c->p) && c->p.n_ops > 0)
		assert_int_equal(least, 0);
}

/* An operator that moves to where it is: nothing changes. */
static void check_stays(const compiled_instance *c, const berth_tails *t)
{
	berth_estimate e;
	berth_err err;
	berth_arena mem = {0};
	assert_ok(berth_estimate_new(&c->p, &mem, &e, &err), &err);
	for (int32_t op = 0; op < c->p.n_ops; op++) {
		berth_estimate_begin(&e);
		berth_estimate_moved(&e, op);
		int64_t ns = berth_estimate_latency(&e, t, c->t.op_dev, NULL, INT64_MAX);
		assert_true(ns <= t->base->latency_ns);
		if (!c->s.contention)
			assert_int_equal(ns, t->base->latency_ns);
	}
	berth_arena_free(&mem);
}

static void test_random_instances(void **state)
{
	(void)state;
	int logged = 0, plain = 0;
	for (uint64_t seed = 0; seed < 400; seed++) {
		compiled_instance c;
		berth_incremental *n;
		berth_tails t;
		berth_err err;
		compiled_instance_make(&c, seed);
		const berth_base_log *log =
			c.t.r.runs && !c.placement.order ? log_of(&c.p, c.t.op_dev, &c.mem, &n) : NULL;
		if (log) {
			assert_ok(berth_tails_new(&c.p, &c.mem, &t, &err), &err);
			berth_tails_update(&t, log);
			check_tails(&c, log, &t);
			if (is_plain(&c.p) && c.s.order == BERTH_ORDER_PRIORITY) {
				check_stays(&c, &t);
				plain++;
			}
			logged++;
		}
		compiled_instance_free(&c);
	}
	assert_true(logged > 50 && plain > 10);
}

/* ---- bases that go on from the one before ---- */

static void check_same_log(const compiled_instance *c, const berth_base_log *a, const berth_base_log *b)
{
	int32_t n_hops = a->n_ends - c->p.n_ops;
	assert_int_equal(a->latency_ns, b->latency_ns);
	assert_int_equal(a->n_ends, b->n_ends);
	assert_memory_equal(a->ends, b->ends, (size_t)a->n_ends * sizeof *a->ends);
	assert_memory_equal(a->op_dev, b->op_dev, (size_t)c->p.n_ops * sizeof *a->op_dev);
	assert_memory_equal(a->start_ns, b->start_ns, (size_t)c->p.n_ops * sizeof *a->start_ns);
	assert_memory_equal(a->end_ns, b->end_ns, (size_t)c->p.n_ops * sizeof *a->end_ns);
	for (int32_t h = 0; h < n_hops; h++) {
		const berth_sim_hop *x = &a->hops[h], *y = &b->hops[h];
		assert_int_equal(x->tensor, y->tensor);
		assert_int_equal(x->dest, y->dest);
		assert_int_equal(x->link, y->link);
		assert_int_equal(x->start_ns, y->start_ns);
		assert_int_equal(x->end_ns, y->end_ns);
	}
}

/* Operators move, one by one: the log of each base is that of a run from the beginning. Returns how many
 * bases there were. */
static int walk_bases(compiled_instance *c, uint64_t seed)
{
	enum { STEPS = 12 };
	berth_rng rng = berth_rng_seed(seed, 2);
	berth_incremental *n, *fresh;
	berth_sim_result r;
	berth_err err;
	int32_t *op_dev;
	int made = 0;
	if (!log_of(&c->p, c->t.op_dev, &c->mem, &n))
		return 0;
	assert_ok(BERTH_NEW(&c->mem, op_dev, c->p.n_ops, &err), &err);
	memcpy(op_dev, c->t.op_dev, (size_t)c->p.n_ops * sizeof *op_dev);
	for (int i = 0; i < STEPS; i++) {
		int32_t op = (int32_t)berth_rng_below(&rng, (uint32_t)c->p.n_ops), home = op_dev[op];
		op_dev[op] = (int32_t)berth_rng_below(&rng, (uint32_t)c->p.n_devs);
		if (!berth_incremental_base(n, op_dev, &r)) {
			assert_null(berth_incremental_log(n));
			op_dev[op] = home;
			continue;
		}
		check_same_log(c, berth_incremental_log(n), log_of(&c->p, op_dev, &c->mem, &fresh));
		made++;
	}
	return made;
}

static void test_logs_go_on(void **state)
{
	(void)state;
	assert_true(compiled_instance_each(100, walk_bases) > 200);
}

/* ---- ranks ---- */

enum { N_MOVES = 300 };

static const int64_t *ranked;

static int by_value(const void *a, const void *b)
{
	int64_t x = ranked[*(const int *)a], y = ranked[*(const int *)b];
	return (x > y) - (x < y);
}

/* Mean rank of each of v [N_MOVES]; equal ones share theirs. */
static void ranks(const int64_t *v, double *rank)
{
	int seq[N_MOVES];
	for (int i = 0; i < N_MOVES; i++)
		seq[i] = i;
	ranked = v;
	qsort(seq, N_MOVES, sizeof *seq, by_value);
	for (int i = 0, j; i < N_MOVES; i = j) {
		for (j = i; j < N_MOVES && v[seq[j]] == v[seq[i]]; j++)
			;
		for (int k = i; k < j; k++)
			rank[seq[k]] = (i + j - 1) / 2.0;
	}
}

/* Spearman's. */
static double rank_correlation(const int64_t *a, const int64_t *b)
{
	double x[N_MOVES], y[N_MOVES], xy = 0, xx = 0, yy = 0, mean = (N_MOVES - 1) / 2.0;
	ranks(a, x);
	ranks(b, y);
	for (int i = 0; i < N_MOVES; i++) {
		xy += (x[i] - mean) * (y[i] - mean);
		xx += (x[i] - mean) * (x[i] - mean);
		yy += (y[i] - mean) * (y[i] - mean);
	}
	return xy / sqrt(xx * yy);
}

/* Single operators of a random placement go elsewhere: estimates against the simulator. */
static double correlation_on(const char *graph, const char *system)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_err err;
	berth_incremental *n;
	berth_tails t;
	berth_estimate e;
	berth_sim_result r;
	int32_t *op_dev;
	int64_t told[N_MOVES], found[N_MOVES];
	berth_rng rng = berth_rng_seed(3, 1);
	assert_ok(berth_zoo_build(graph, &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_builtin(system, &mem, &tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(BERTH_NEW(&mem, op_dev, p.n_ops, &err), &err);
	for (int32_t k = 0, d = 0; k < p.n_ops; k++) {
		d = berth_rng_below(&rng, 12) ? d : (int32_t)berth_rng_below(&rng, (uint32_t)p.n_devs);
		op_dev[g.topo_op[k]] = d;
	}
	const berth_base_log *log = log_of(&p, op_dev, &mem, &n);
	assert_non_null(log);
	assert_ok(berth_tails_new(&p, &mem, &t, &err), &err);
	assert_ok(berth_estimate_new(&p, &mem, &e, &err), &err);
	berth_tails_update(&t, log);
	for (int i = 0; i < N_MOVES; i++) {
		int32_t op = (int32_t)berth_rng_below(&rng, (uint32_t)p.n_ops), home = op_dev[op];
		op_dev[op] = (home + 1 + (int32_t)berth_rng_below(&rng, (uint32_t)p.n_devs - 1)) % p.n_devs;
		berth_estimate_begin(&e);
		berth_estimate_moved(&e, op);
		told[i] = berth_estimate_latency(&e, &t, op_dev, NULL, INT64_MAX);
		assert_true(berth_incremental_run(n, op_dev, INT64_MAX, &r));
		found[i] = r.latency_ns;
		op_dev[op] = home;
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return rank_correlation(told, found);
}

static void test_ranks_of_moves(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {{"zoo:inception-v3:batch=16", "cpu+2gpu"},
	                                       {"zoo:nasnet-a:size=mobile", "hetero-cluster"},
	                                       {"zoo:random:ops=300:seed=4", "cpu+2gpu"},
	                                       {"zoo:random:ops=300:seed=5:ccr=1", "hetero-cluster"}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		double c = correlation_on(pairs[i][0], pairs[i][1]);
		print_message("%s on %s: rank correlation %.2f\n", pairs[i][0], pairs[i][1], c);
		assert_true(c > 0.4);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_instances),
	                                   cmocka_unit_test(test_logs_go_on),
	                                   cmocka_unit_test(test_ranks_of_moves)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
