/* What stands around an operator: the queue against the list that it is of, and a diamond by hand. */
#include "around.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <string.h>

typedef struct around_case {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_ready ready;
	berth_partial *part;
	berth_around x;
	int64_t *least, *key;
} around_case;

static void open_case(around_case *c, const char *graph)
{
	berth_err err;
	*c = (around_case){0};
	assert_ok(berth_zoo_build(graph, &c->mem, &c->tmp, &c->g, &err), &err);
	assert_ok(berth_system_builtin("cpu+2gpu", &c->mem, &c->tmp, &c->s, &err), &err);
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
	assert_ok(berth_ready_new(&c->g, &c->mem, &c->ready, &err), &err);
	assert_ok(berth_partial_new(&c->p, &c->mem, &c->part, &err), &err);
	assert_ok(BERTH_NEW(&c->mem, c->least, c->p.n_ops, &err), &err);
	assert_ok(BERTH_NEW(&c->mem, c->key, c->p.n_ops, &err), &err);
	for (int32_t op = 0; op < c->p.n_ops; op++) {
		c->least[op] = INT64_MAX;
		for (int32_t v = 0; v < c->p.n_devs; v++)
			if (berth_op_legal(&c->p, op, v) && berth_op_time(&c->p, op, v) < c->least[op])
				c->least[op] = berth_op_time(&c->p, op, v);
		c->key[op] = -c->g.op_topo[op];
	}
	assert_ok(berth_around_new(&c->p, c->least, &c->mem, &c->x, &err), &err);
	berth_ready_start(&c->ready, c->key);
	berth_around_start(&c->x, &c->ready);
}

static void close_case(around_case *c)
{
	berth_arena_free(&c->mem);
	berth_arena_free(&c->tmp);
}

/* The queue is what waits in the list, at each step; at the end nothing is. */
static void assert_queue(const around_case *c)
{
	int64_t all = 0, sum = 0;
	for (int32_t k = 0; k < c->ready.n; k++)
		all += c->least[c->g.topo_op[c->ready.heap[k]]];
	for (int32_t v = 0; v < c->p.n_devs; v++)
		sum += c->x.queue_ns[v];
	assert_int_equal(c->x.queue_all_ns, all);
	assert_int_equal(sum, all);
}

static void test_queue(void **state)
{
	(void)state;
	around_case c;
	open_case(&c, "zoo:random:ops=120:seed=3:degree=3");
	for (int round = 0; round < 2; round++) {
		assert_queue(&c);
		for (int32_t op; (op = berth_ready_next(&c.ready)) >= 0;) {
			berth_around_take(&c.x, &c.ready, op);
			assert_queue(&c);
		}
		assert_int_equal(c.x.queue_all_ns, 0);
		berth_ready_start(&c.ready, c.key);
		berth_around_start(&c.x, &c.ready);
	}
	close_case(&c);
}

/* Shares of the inputs of consumers are by where their producers are; an operator's own output is none. */
static void test_mates(void **state)
{
	(void)state;
	around_case c;
	bool shared = false;
	open_case(&c, "zoo:random:ops=120:seed=3:degree=3");
	for (int32_t op, n = 0; (op = berth_ready_next(&c.ready)) >= 0; n++) {
		double sum = 0;
		int32_t fan = 0;
		for (int32_t t = c.g.op_tensor_off[op]; t < c.g.op_tensor_off[op + 1]; t++)
			fan += c.g.tensor_use_off[t + 1] - c.g.tensor_use_off[t];
		berth_around_look(&c.x, c.part, op);
		assert_int_equal(c.x.fan, fan < 16 ? fan : 16);
		for (int32_t v = 0; v < c.p.n_devs; v++) {
			sum += c.x.mate_share[v];
			assert_true(c.x.mate_share[v] >= 0 && c.x.heirs_slower[v] >= 0);
			assert_true(n > 0 || c.x.mate_share[v] == 0);
		}
		assert_true(sum == 0 || fabs(sum - 1) < 1e-12);
		shared |= c.x.mate_share[1] > 0 && c.x.mate_share[2] > 0;
		int32_t dev = n % 2 + 1;
		if (!berth_op_legal(&c.p, op, dev))
			dev = 0;
		int64_t start = berth_partial_start(c.part, op, dev, INT64_C(1) << 40, false);
		berth_partial_place(c.part, op, dev, start);
	}
	assert_true(shared);
	close_case(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_queue),
		cmocka_unit_test(test_mates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
