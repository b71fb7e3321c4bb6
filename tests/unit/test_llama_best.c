/* The best plan in whole layers that llama.cpp can be told, against all of them. */
#define _DEFAULT_SOURCE
#include "fail_each.h"
#include "gguf_bytes.h"
#include "llama_plan.h"
#include "load.h"
#include "problem.h"
#include "rng.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LAYERS = 4, UNITS = LAYERS + 1, N_DEVS = 4 };

static const char text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"four\",\"devices\":["
	"{\"name\":\"cpu\",\"peak_flops\":1e12,\"mem_bandwidth\":5e10,\"memory_bytes\":1000000000000},"
	"{\"name\":\"a\",\"peak_flops\":1e13,\"mem_bandwidth\":5e11,\"memory_bytes\":8000000000},"
	"{\"name\":\"b\",\"peak_flops\":2e13,\"mem_bandwidth\":3e11,\"memory_bytes\":8000000000},"
	"{\"name\":\"c\",\"peak_flops\":2e13,\"mem_bandwidth\":3e11,\"memory_bytes\":8000000000}],"
	"\"links\":[{\"from\":\"cpu\",\"to\":\"a\",\"bandwidth\":1e10,\"both_ways\":true},"
	"{\"from\":\"cpu\",\"to\":\"b\",\"bandwidth\":2e8,\"both_ways\":true},"
	"{\"from\":\"cpu\",\"to\":\"c\",\"bandwidth\":2e8,\"both_ways\":true}]}";

typedef struct machine {
	gguf_bytes bytes;
	berth_content content;
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_gguf_list file;
	llama_index ix;
	llama_plan plan;
	int32_t *op_dev;
} machine;

static void open_machine(machine *m, const char *recipe)
{
	berth_err err = {0};
	const char *const word[] = {"mode=decode"};
	berth_read_options opt = {.dim = word, .n_dims = 1};
	*m = (machine){0};
	gguf_write(&m->bytes, gguf_recipe_find(recipe), LAYERS);
	m->content = (berth_content){.name = "m.gguf", .data = (const char *)m->bytes.p, .size = m->bytes.n};
	assert_ok(berth_graph_parse("m.gguf", m->content.data, m->content.size, &opt, &m->mem, &m->tmp, &m->g,
	                            NULL, &err),
	          &err);
	assert_ok(berth_gguf_list_tensors(&m->content, &opt, &m->mem, &m->tmp, &m->file, &err), &err);
	assert_ok(berth_system_parse_json("four", text, sizeof text - 1, &m->mem, &m->tmp, &m->s, &err),
	          &err);
	assert_ok(berth_problem_new(&m->g, &m->s, &m->mem, &m->tmp, &m->p, &err), &err);
	assert_ok(llama_index_new(&m->file, &m->mem, &m->ix, &err), &err);
	m->plan = (llama_plan){.n_layers = LAYERS};
	assert_ok(BERTH_NEW(&m->mem, m->plan.unit_dev, UNITS, &err), &err);
	assert_ok(BERTH_NEW(&m->mem, m->plan.dev, N_DEVS + 1, &err), &err);
	assert_ok(BERTH_NEW(&m->mem, m->plan.dev_units, N_DEVS + 1, &err), &err);
	assert_ok(BERTH_NEW(&m->mem, m->plan.tensor_dev, m->file.n_tensors, &err), &err);
	assert_ok(BERTH_NEW(&m->mem, m->plan.told, m->file.n_tensors, &err), &err);
	assert_ok(BERTH_NEW(&m->mem, m->op_dev, m->g.n_ops, &err), &err);
}

static void close_machine(machine *m)
{
	berth_arena_free(&m->mem);
	berth_arena_free(&m->tmp);
	free(m->bytes.p);
}

/* Runs of the plan's units; false: no such plan. */
static bool set_runs(llama_plan *plan, const int32_t *unit)
{
	plan->n_devs = 0;
	for (int i = 0; i < UNITS; i++) {
		int32_t d = unit[i] ? unit[i] : LLAMA_CPU;
		plan->unit_dev[i] = d;
		if (d == LLAMA_CPU && plan->n_devs)
			return false;
		if (d == LLAMA_CPU)
			continue;
		if (plan->n_devs && plan->dev[plan->n_devs - 1] == d) {
			plan->dev_units[plan->n_devs - 1]++;
			continue;
		}
		for (int32_t k = 0; k < plan->n_devs; k++)
			if (plan->dev[k] == d)
				return false;
		plan->dev[plan->n_devs] = d;
		plan->dev_units[plan->n_devs++] = 1;
	}
	return true;
}

/* Seconds of the plan, INFINITY where it does not fit or breaks a rule. */
static double value_of(machine *m)
{
	llama_memory memory[N_DEVS + 1];
	bool told;
	berth_err err = {0};
	assert_ok(llama_memory_of(&m->plan, &m->file, &m->tmp, memory, &told, &err), &err);
	for (int32_t i = 0; i <= m->plan.n_devs; i++) {
		int64_t most = m->p.dev_limit_bytes[i < m->plan.n_devs ? m->plan.dev[i] : 0];
		if (memory[i].weights + memory[i].cache + memory[i].compute > most)
			return INFINITY;
	}
	assert_ok(llama_plan_ops(&m->g, &m->file, &m->plan, 0, &m->tmp, m->op_dev, &err), &err);
	for (int32_t op = 0; op < m->g.n_ops; op++)
		if (!berth_op_legal(&m->p, op, m->op_dev[op]))
			return INFINITY;
	return berth_export_serial(&m->p, m->op_dev);
}

/* Experts of each layer that is in the set go to the CPU. */
static void put_apart(machine *m, int set)
{
	for (int32_t t = 0; t < m->file.n_tensors; t++)
		if (m->ix.layer[t] >= 0 && set >> m->ix.layer[t] & 1 && llama_is_expert(m->ix.rest[t])) {
			m->plan.tensor_dev[t] = LLAMA_CPU;
			m->plan.told[t] = m->plan.unit_dev[m->ix.layer[t]] != LLAMA_CPU;
		}
}

/* Experts of the layers of the set may be on the CPU alone. */
static void pin(machine *m, int set)
{
	for (int32_t op = 0; op < m->g.n_ops; op++) {
		const char *rest;
		int32_t l = berth_gguf_layer_of(m->g.op_name[op], &rest);
		bool pinned = l >= 0 && llama_is_expert(rest) && set >> l & 1;
		for (int32_t d = 1; d < N_DEVS; d++)
			m->p.op_dev_legal[berth_cell(&m->p, op, d)] = !pinned;
	}
}

/* With no other experts on the CPU than those that are pinned there; *apart: with those of any layers. */
static double least_of_all(machine *m, int pinned, double *apart)
{
	double least = INFINITY;
	*apart = INFINITY;
	for (int k = 0; k < 1 << (2 * UNITS); k++) {
		int32_t unit[UNITS];
		for (int i = 0; i < UNITS; i++)
			unit[i] = k >> (2 * i) & 3;
		if (!set_runs(&m->plan, unit))
			continue;
		for (int set = 0; set < (m->file.experts ? 1 << LAYERS : 1); set++) {
			llama_plan_follow(&m->plan, &m->file, &m->ix);
			put_apart(m, set);
			double value = value_of(m);
			least = set == pinned ? fmin(least, value) : least;
			*apart = fmin(*apart, value);
		}
	}
	return least;
}

/* Times and memories at random: the best of all, and a bound that holds. */
static void draw(machine *m, berth_rng *rng)
{
	int64_t all = 0;
	for (int32_t t = 0; t < m->file.n_tensors; t++)
		all += m->file.bytes[t];
	for (int32_t d = 1; d < N_DEVS; d++) {
		double share = 0.1 + berth_rng_unit(rng), speed = 0.2 + 2 * berth_rng_unit(rng);
		m->p.dev_limit_bytes[d] = (int64_t)(share * (double)all);
		for (int32_t op = 0; op < m->g.n_ops; op++)
			m->p.op_dev_time_ns[berth_cell(&m->p, op, d)] =
				(int64_t)(1e5 * speed * berth_rng_unit(rng));
	}
	if (berth_rng_below(rng, 2)) { /* two of a kind */
		m->p.dev_limit_bytes[3] = m->p.dev_limit_bytes[2];
		for (int32_t op = 0; op < m->g.n_ops; op++)
			m->p.op_dev_time_ns[berth_cell(&m->p, op, 3)] = berth_op_time(&m->p, op, 2);
	}
	m->p.dev_limit_bytes[0] = berth_rng_below(rng, 3) ? INT64_MAX / 4 : all / 2;
}

static void check_best(const char *recipe, int n_trials)
{
	machine m;
	berth_rng rng = berth_rng_seed(7, 0);
	open_machine(&m, recipe);
	int n_found = 0;
	for (int trial = 0; trial < n_trials; trial++) {
		berth_export_source x = {.g = &m.g, .s = &m.s, .p = &m.p, .model = &m.content};
		berth_err err = {0};
		double bound, least, apart;
		int32_t *best;
		assert_ok(BERTH_NEW(&m.mem, best, m.g.n_ops, &err), &err);
		draw(&m, &rng);
		int pinned = 0;
		if (m.file.experts && trial % 2)
			pinned = 1 + (int)berth_rng_below(&rng, (1 << LAYERS) - 1);
		pin(&m, pinned);
		least = least_of_all(&m, pinned, &apart);
		berth_status st = llama_best(&x, &m.file, &m.tmp, best, &bound, &err);
		if (st == BERTH_EINFEASIBLE) {
			assert_true(isinf(least));
			continue;
		}
		assert_ok(st, &err);
		double found = berth_export_serial(&m.p, best);
		assert_true(isnan(bound) ? pinned : bound <= apart * (1 + 1e-12));
		assert_true(apart <= found * (1 + 1e-12));
		/* borders behind experts are guessed */
		assert_true(found <= least * (pinned ? 1.02 : 1 + 1e-12));
		x.op_dev = best;
		assert_ok(llama_plan_make(&x, &m.file, &m.mem, &m.tmp, &m.plan, &err), &err);
		assert_true(!isinf(value_of(&m)));
		n_found++;
	}
	assert_true(n_found > n_trials / 2);
	close_machine(&m);
}

static void test_dense(void **state)
{
	(void)state;
	check_best("llama-3-8b", BERTH_DEBUG ? 20 : 60);
	check_best("gemma-2-2b", 30);
}

/* Experts of any layers may go to the CPU, too: not above the best of whole layers. */
static void test_mixture(void **state)
{
	(void)state;
	check_best("mixtral-8x7b", BERTH_DEBUG ? 8 : 20);
}

static berth_status find_once(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	machine *m = ctx;
	berth_export_source x = {.g = &m->g, .s = &m->s, .p = &m->p, .model = &m->content};
	double bound;
	int32_t *best;
	BERTH_TRY_NEW(mem, m->g.n_ops, err, best);
	return berth_export_llama.best(&x, tmp, best, &bound, err);
}

static void test_out_of_memory(void **state)
{
	machine m;
	(void)state;
	open_machine(&m, "llama-3-8b");
	assert_fails_each(find_once, &m, 3);
	close_machine(&m);
}

/* The embedding cannot be on the CPU: it goes to the first device. Nor can anything: refused. */
static void test_no_cpu(void **state)
{
	machine m;
	berth_err err = {0};
	(void)state;
	open_machine(&m, "llama-3-8b");
	berth_export_source x = {.g = &m.g, .s = &m.s, .p = &m.p, .model = &m.content};
	double bound;
	for (int32_t op = 0; op < m.g.n_ops; op++)
		m.p.op_dev_legal[berth_cell(&m.p, op, 0)] = 0;
	assert_ok(llama_best(&x, &m.file, &m.tmp, m.op_dev, &bound, &err), &err);
	for (int32_t op = 0; op < m.g.n_ops; op++)
		assert_int_equal(m.op_dev[op], 1);
	m.p.dev_limit_bytes[1] = m.p.dev_limit_bytes[2] = m.p.dev_limit_bytes[3] = 1000;
	assert_int_equal(llama_best(&x, &m.file, &m.tmp, m.op_dev, &bound, &err), BERTH_EINFEASIBLE);
	close_machine(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_dense), cmocka_unit_test(test_mixture),
	                                   cmocka_unit_test(test_no_cpu),
	                                   cmocka_unit_test(test_out_of_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
