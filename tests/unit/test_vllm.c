/* Plans in stages of vLLM: the best one against all, the nearest one, and even layers. */
#include "fail_each.h"
#include "gguf_bytes.h"
#include "load.h"
#include "problem.h"
#include "rng.h"
#include "support.h"
#include "system_json.h"
#include "vllm_plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 5, GPUS = 3, N_DEVS = GPUS + 1 };

static const char text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"four\",\"devices\":["
	"{\"name\":\"cpu\",\"peak_flops\":1e12,\"mem_bandwidth\":5e10,\"memory_bytes\":1000000000000},"
	"{\"name\":\"gpu0\",\"peak_flops\":1e13,\"mem_bandwidth\":5e11,\"memory_bytes\":8000000000},"
	"{\"name\":\"gpu1\",\"peak_flops\":2e13,\"mem_bandwidth\":3e11,\"memory_bytes\":8000000000},"
	"{\"name\":\"gpu2\",\"peak_flops\":2e13,\"mem_bandwidth\":9e11,\"memory_bytes\":8000000000}],"
	"\"links\":[{\"from\":\"cpu\",\"to\":\"gpu0\",\"bandwidth\":1e10,\"both_ways\":true},"
	"{\"from\":\"cpu\",\"to\":\"gpu1\",\"bandwidth\":2e8,\"both_ways\":true},"
	"{\"from\":\"cpu\",\"to\":\"gpu2\",\"bandwidth\":2e8,\"both_ways\":true}]}";

typedef struct machine {
	gguf_bytes bytes;
	berth_content content;
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_export_source x;
	vllm_plan plan;
	int32_t *op_dev, *other;
} machine;

static void open_machine(machine *m)
{
	berth_err err = {0};
	static const char *const word[] = {"mode=decode"};
	static const berth_read_options opt = {.dim = word, .n_dims = 1};
	*m = (machine){0};
	gguf_write(&m->bytes, gguf_recipe_find("llama-3-8b"), LAYERS);
	m->content = (berth_content){.name = "m.gguf", .data = (const char *)m->bytes.p, .size = m->bytes.n};
	assert_ok(berth_graph_parse("m.gguf", m->content.data, m->content.size, &opt, &m->mem, &m->tmp, &m->g,
	                            NULL, &err),
	          &err);
	assert_ok(berth_system_parse_json("four", text, sizeof text - 1, &m->mem, &m->tmp, &m->s, &err),
	          &err);
	assert_ok(berth_problem_new(&m->g, &m->s, &m->mem, &m->tmp, &m->p, &err), &err);
	m->x = (berth_export_source){.g = &m->g, .s = &m->s, .p = &m->p, .model = &m->content, .read = &opt};
	assert_ok(vllm_open(&m->x, &m->mem, &m->plan, &err), &err);
	assert_ok(BERTH_NEW(&m->mem, m->op_dev, m->g.n_ops, &err), &err);
	assert_ok(BERTH_NEW(&m->mem, m->other, m->g.n_ops, &err), &err);
}

static void close_machine(machine *m)
{
	berth_arena_free(&m->mem);
	berth_arena_free(&m->tmp);
	free(m->bytes.p);
}

/* The layers of plan number k, a digit each; false: a GPU comes twice. */
static bool set_plan(machine *m, int k, int32_t *op_dev)
{
	int32_t unit[LAYERS];
	bool seen[GPUS] = {false};
	for (int i = 0; i < LAYERS; i++, k /= GPUS) {
		unit[i] = k % GPUS;
		if (i && unit[i] == unit[i - 1])
			continue;
		if (seen[unit[i]])
			return false;
		seen[unit[i]] = true;
	}
	for (int32_t op = 0; op < m->g.n_ops; op++)
		op_dev[op] = 1 + unit[m->plan.op_unit[op]];
	return true;
}

static double value_of(machine *m, const int32_t *op_dev)
{
	vllm_memory memory[N_DEVS];
	berth_err err = {0};
	m->plan.err = &err;
	assert_ok(vllm_weigh(&m->plan, op_dev, &m->tmp, memory), &err);
	return vllm_full(&m->plan, memory) >= 0 ? INFINITY : berth_export_serial(&m->p, op_dev);
}

static int power(void)
{
	int n = 1;
	for (int i = 0; i < LAYERS; i++)
		n *= GPUS;
	return n;
}

static void test_best(void **state)
{
	(void)state;
	machine m;
	berth_rng rng = berth_rng_seed(3, 0);
	int found = 0, none = 0;
	open_machine(&m);
	double all = 0;
	for (int i = 0; i < LAYERS; i++)
		all += 1.2 * (double)m.plan.unit_bytes[i];
	for (int round = 0; round < 60; round++) {
		double least = INFINITY, bound = 0;
		berth_err err = {0};
		for (int d = 1; d < N_DEVS; d++)
			m.s.dev_memory_bytes[d] = (int64_t)(all * berth_rng_unit(&rng));
		for (int k = 0; k < power(); k++)
			if (set_plan(&m, k, m.other))
				least = fmin(least, value_of(&m, m.other));
		m.plan.err = &err;
		berth_status st = vllm_best(&m.plan, &m.tmp, m.op_dev, &bound);
		if (isinf(least)) {
			assert_int_equal(st, BERTH_EINFEASIBLE);
			none++;
			continue;
		}
		assert_ok(st, &err);
		found++;
		const double got = value_of(&m, m.op_dev);
		assert_true(bound <= least * (1 + 1e-12) && got >= least * (1 - 1e-12));
		assert_true(got <= least * (1 + 1e-12));
	}
	assert_true(found > 20 && none > 2);
	close_machine(&m);
}

static int32_t moved(const machine *m, const int32_t *a, const int32_t *b)
{
	int32_t n = 0;
	for (int32_t op = 0; op < m->g.n_ops; op++)
		n += a[op] != b[op];
	return n;
}

static void test_nearest(void **state)
{
	(void)state;
	machine m;
	berth_rng rng = berth_rng_seed(5, 0);
	open_machine(&m);
	int32_t *from = calloc((size_t)m.g.n_ops, sizeof *from);
	for (int round = 0; round < 20; round++) {
		berth_err err = {0};
		m.plan.err = &err;
		int32_t least = INT32_MAX;
		for (int32_t op = 0; op < m.g.n_ops; op++)
			from[op] = (int32_t)berth_rng_below(&rng, N_DEVS);
		m.x.op_dev = from;
		assert_ok(vllm_nearest(&m.plan, &m.tmp, m.op_dev), &err);
		for (int k = 0; k < power(); k++)
			if (set_plan(&m, k, m.other) && moved(&m, from, m.other) < least)
				least = moved(&m, from, m.other);
		assert_int_equal(moved(&m, from, m.op_dev), least);
	}
	free(from);
	close_machine(&m);
}

/* All on the first GPU where that holds it; else even layers, one more on those before the last. */
static void test_usual(void **state)
{
	(void)state;
	machine m;
	berth_err err = {0};
	int32_t units[N_DEVS] = {0};
	bool known;
	open_machine(&m);
	m.plan.err = &err;
	assert_ok(vllm_usual(&m.plan, &m.tmp, m.op_dev, &known), &err);
	assert_true(known);
	for (int32_t op = 0; op < m.g.n_ops; op++)
		assert_int_equal(m.op_dev[op], 1);
	m.s.dev_memory_bytes[1] = m.plan.unit_bytes[1];
	assert_ok(vllm_usual(&m.plan, &m.tmp, m.op_dev, &known), &err);
	for (int32_t op = 0, last = -1; op < m.g.n_ops; op++)
		if (m.plan.in_layer[op] && m.plan.op_unit[op] != last) {
			last = m.plan.op_unit[op];
			units[m.op_dev[op]]++;
		}
	assert_int_equal(units[1], 2);
	assert_int_equal(units[2], 2);
	assert_int_equal(units[3], 1);
	close_machine(&m);
}

static berth_status find_once(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	machine *m = ctx;
	int32_t *best;
	double bound;
	BERTH_TRY_NEW(mem, m->g.n_ops, err, best);
	return berth_export_vllm.best(&m->x, tmp, best, &bound, err);
}

static void test_out_of_memory(void **state)
{
	(void)state;
	machine m;
	open_machine(&m);
	assert_fails_each(find_once, &m, 1);
	close_machine(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_best), cmocka_unit_test(test_nearest),
	                                   cmocka_unit_test(test_usual),
	                                   cmocka_unit_test(test_out_of_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
