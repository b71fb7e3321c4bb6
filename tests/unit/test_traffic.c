/* Transfers that wait for channels: a case by hand, and random problems against partial.h. */
#include "instance.h"
#include "methods.h"
#include "partial.h"
#include "sim.h"
#include "small_problem.h"
#include "support.h"
#include "traffic.h"

/* Two producers in two slots of a; each gives a tensor that takes 10 ns to b. p's has two consumers. */
static const char pairs[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"pairs\",\"ops\":["
	"{\"name\":\"p\",\"time_s\":{\"*\":5e-9}},{\"name\":\"q\",\"time_s\":{\"*\":5e-9}},"
	"{\"name\":\"c\",\"time_s\":{\"*\":1e-9}},{\"name\":\"d\",\"time_s\":{\"*\":1e-9}}],\"edges\":["
	"{\"from\":\"p\",\"to\":\"c\",\"bytes\":10},{\"from\":\"p\",\"to\":\"d\",\"bytes\":10},"
	"{\"from\":\"q\",\"to\":\"c\",\"bytes\":10}]}";
static const char two[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":["
	"{\"name\":\"a\",\"slots\":2},{\"name\":\"b\"}],\"links\":[{\"from\":\"a\",\"to\":\"b\","
	"\"bandwidth\":1e9},{\"from\":\"b\",\"to\":\"a\",\"bandwidth\":1e9}]}";

static void setup(small_problem *c, berth_partial **part, berth_traffic *w)
{
	berth_err err;
	assert_ok(berth_partial_new(&c->p, &c->mem, part, &err), &err);
	assert_ok(berth_traffic_new(&c->p, &c->mem, w, &err), &err);
	berth_traffic_reset(w);
}

static void put(berth_partial *part, berth_traffic *w, int32_t op, int32_t dev)
{
	int64_t at = berth_partial_start(part, op, dev, berth_traffic_look(w, op, dev).ready_ns, true);
	berth_traffic_note(w, op, dev, berth_partial_place(part, op, dev, at));
}

static void test_waits(void **state)
{
	(void)state;
	enum { P, Q, C, D };
	small_problem c;
	berth_partial *part;
	berth_traffic w;
	small_problem_make(&c, pairs, two);
	setup(&c, &part, &w);
	put(part, &w, P, 0);
	put(part, &w, Q, 0);
	assert_int_equal(berth_traffic_look(&w, D, 1).ready_ns, 15); /* p's tensor alone */
	assert_int_equal(berth_traffic_look(&w, C, 1).ready_ns, 25); /* q's waits for p's: one channel */
	assert_int_equal(berth_traffic_look(&w, C, 1).ready_ns, 25); /* asking sends nothing */
	assert_int_equal(berth_traffic_look(&w, C, 0).ready_ns, 5);
	assert_false(berth_traffic_sent(&w, c.g.in_tensor[c.g.op_in_off[C]], 1));
	put(part, &w, C, 1);
	assert_true(berth_traffic_sent(&w, c.g.in_tensor[c.g.op_in_off[C]], 1));
	assert_int_equal(berth_traffic_look(&w, D, 1).ready_ns, 15); /* it is there */
	assert_int_equal(berth_partial_length_ns(part), 26);
	berth_traffic_reset(&w);
	assert_false(berth_traffic_sent(&w, 0, 1));
	small_problem_free(&c);
}

/* A long transfer waits for a late producer; a short one is carried before it. */
/* Without contention a hop of no time from the beginning ends where its channel was free: the channel is
 * noted once all the same. */
static void test_hops_of_no_time(void **state)
{
	static const char graph[] =
		"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"five\",\"ops\":["
		"{\"name\":\"p\",\"time_s\":{\"*\":0}},{\"name\":\"q\",\"time_s\":{\"*\":0}},"
		"{\"name\":\"r\",\"time_s\":{\"*\":0}},{\"name\":\"s\",\"time_s\":{\"*\":0}},"
		"{\"name\":\"t\",\"time_s\":{\"*\":0}},{\"name\":\"c\",\"time_s\":{\"*\":1e-9}}],"
		"\"edges\":["
		"{\"from\":\"p\",\"to\":\"c\",\"bytes\":10},{\"from\":\"q\",\"to\":\"c\",\"bytes\":0},"
		"{\"from\":\"r\",\"to\":\"c\",\"bytes\":10},{\"from\":\"s\",\"to\":\"c\",\"bytes\":0},"
		"{\"from\":\"t\",\"to\":\"c\",\"bytes\":10}]}";
	static const char system[] =
		"{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"contention\":false,"
		"\"devices\":[{\"name\":\"a\"},{\"name\":\"b\"}],\"links\":["
		"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e9},"
		"{\"from\":\"b\",\"to\":\"a\",\"bandwidth\":1e9}]}";
	enum { FIVE = 5 };
	int32_t claimed[1 + FIVE] = {-1, -1, -1, -1, -1, -1};
	small_problem c;
	berth_partial *part;
	berth_traffic w;
	(void)state;
	small_problem_make(&c, graph, system);
	setup(&c, &part, &w);
	w.claimed = claimed;
	for (int32_t op = 0; op < FIVE; op++)
		put(part, &w, op, 0);
	assert_int_equal(berth_traffic_look(&w, FIVE, 1).ready_ns, 10);
	assert_int_equal(claimed[0], 0);
	assert_int_equal(claimed[1], -1);
	small_problem_free(&c);
}

static void test_gaps(void **state)
{
	(void)state;
	static const char late[] =
		"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"late\",\"ops\":["
		"{\"name\":\"p\",\"time_s\":{\"*\":50e-9}},{\"name\":\"q\",\"time_s\":{\"*\":5e-9}},"
		"{\"name\":\"c\",\"time_s\":{\"*\":1e-9}},{\"name\":\"d\",\"time_s\":{\"*\":1e-9}},"
		"{\"name\":\"e\",\"time_s\":{\"*\":1e-9}}],\"edges\":["
		"{\"from\":\"p\",\"to\":\"c\",\"bytes\":10},"
		"{\"from\":\"q\",\"to\":\"d\",\"tensor\":\"y\",\"bytes\":45},"
		"{\"from\":\"q\",\"to\":\"e\",\"tensor\":\"z\",\"bytes\":46}]}";
	enum { P, Q, C, D, E };
	small_problem c;
	berth_partial *part;
	berth_traffic w;
	small_problem_make(&c, late, two);
	setup(&c, &part, &w);
	put(part, &w, P, 0);
	put(part, &w, Q, 0);
	put(part, &w, C, 1); /* carried from 50 to 60 */
	assert_int_equal(berth_traffic_look(&w, E, 1).ready_ns, 106); /* 46 ns do not fit from 5 to 50 */
	put(part, &w, D, 1);
	assert_true(berth_traffic_sent(&w, c.g.in_tensor[c.g.op_in_off[D]], 1));
	assert_int_equal(berth_traffic_look(&w, D, 1).ready_ns, 50); /* 45 ns fit exactly */
	assert_int_equal(berth_traffic_look(&w, E, 1).ready_ns, 106);
	small_problem_free(&c);
}

/* Transfers are never earlier than alone; without contention they are the same. */
static void test_random_instances(void **state)
{
	(void)state;
	int same = 0, waited = 0;
	for (uint64_t seed = 1; seed <= 600; seed++) {
		instance in;
		small_problem c;
		berth_partial *part;
		berth_traffic w;
		instance_make(seed, 14, 4, &in);
		small_problem_make(&c, in.graph, in.system);
		instance_free(&in);
		setup(&c, &part, &w);
		for (int32_t k = 0; k < c.p.n_ops && berth_problem_feasible(&c.p, NULL) == BERTH_OK; k++) {
			int32_t op = c.p.prio_op[k], dev = berth_partial_roomiest(part, c.p.op_coloc[op]);
			int64_t alone[INSTANCE_MAX_DEVICES];
			dev = berth_partial_dev(part, op) >= 0 ? berth_partial_dev(part, op) : dev;
			berth_partial_ready(part, op, alone);
			for (int32_t d = 0; d < c.p.n_devs; d++) {
				int64_t ready = berth_traffic_look(&w, op, d).ready_ns;
				assert_true(ready >= alone[d]);
				if (!c.s.contention)
					assert_int_equal(ready, alone[d]);
				same += !c.s.contention;
				waited += ready > alone[d];
			}
			put(part, &w, op, dev);
		}
		small_problem_free(&c);
	}
	assert_true(same > 1000);
	assert_true(waited > 100);
}

static int compare_doubles(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* How long the schedule of a placement is, put in this order, by the simulated length. */
static double length_in_order(small_problem *c, const int32_t *op_dev, const int32_t *order,
                              int64_t latency_ns)
{
	berth_partial *part;
	berth_traffic w;
	setup(c, &part, &w);
	for (int32_t k = 0; k < c->p.n_ops; k++)
		put(part, &w, order[k], op_dev[order[k]]);
	return (double)berth_partial_length_ns(part) / (double)latency_ns;
}

/* What lists and policies see is what the simulator tells, where no pool slows operators: placements of a
 * search, put in the order of their simulated starts, are as long as simulated, within 2 % in the median; in
 * the order of lists they look 5 % longer at most. */
static void test_lengths_of_search_placements(void **state)
{
	static const char *const graphs[] = {"zoo:inception-v3:batch=8", "zoo:gnmt:seq=4",
	                                     "zoo:random:ops=150:seed=78",
	                                     "zoo:random:ops=200:seed=77:ccr=1"};
	static const char *const systems[] = {"cpu+2gpu", "hetero-cluster", "4gpu"};
	double as_run[12], as_listed[12];
	(void)state;
	for (int i = 0; i < 12; i++) {
		small_problem c;
		berth_search s;
		berth_search_cfg cfg = {.seed = 1, .evaluations = 400};
		const berth_method *anneal;
		berth_sim_result r;
		berth_err err;
		int32_t *order;
		small_problem_build(&c, graphs[i / 3], systems[i % 3]);
		assert_ok(berth_search_new(&c.p, &cfg, &c.mem, &s, &err), &err);
		assert_ok(berth_method_find("anneal", &anneal, &err), &err);
		assert_ok(berth_method_run(anneal, &s, &c.tmp, &err), &err);
		berth_eval_result(&s.eval[0], s.best_dev, berth_search_order(&s), &r);
		assert_ok(BERTH_NEW(&c.mem, order, c.p.n_ops, &err), &err);
		berth_sim_start_order(s.eval[0].sim, order);
		as_run[i] = length_in_order(&c, s.best_dev, order, r.latency_ns);
		as_listed[i] = length_in_order(&c, s.best_dev, c.p.prio_op, r.latency_ns);
		small_problem_free(&c);
	}
	qsort(as_run, 12, sizeof *as_run, compare_doubles);
	qsort(as_listed, 12, sizeof *as_listed, compare_doubles);
	assert_true(as_run[5] > 0.98 && as_run[6] < 1.02);
	assert_true(as_listed[5] > 0.98 && as_listed[6] < 1.05);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_waits),
		cmocka_unit_test(test_hops_of_no_time),
		cmocka_unit_test(test_gaps),
		cmocka_unit_test(test_random_instances),
		cmocka_unit_test(test_lengths_of_search_placements),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
