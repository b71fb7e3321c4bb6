/* Stories of operators and changed machines on random instances: every other device against a simulation of
 * its own, slack against the run, systems left as they were, failing memory. */
#include "explain_op.h"
#include "instance.h"
#include "placement.h"
#include "small_problem.h"
#include "support.h"
#include "system_change.h"
#include "system_json.h"
#include "whatif.h"

#include <math.h>
#include <string.h>

typedef struct compiled {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_placement placement;
	berth_timeline t;
} compiled;

/* False where the instance's placement does not run. */
static bool compile(compiled *c, uint64_t seed, int max_ops)
{
	instance in;
	berth_err err;
	memset(c, 0, sizeof *c);
	(seed % 3 ? instance_make : instance_make_pooled)(seed, max_ops, 4, &in);
	read_both(in.graph, in.system, &c->mem, &c->tmp, &c->g, &c->s);
	assert_ok(berth_placement_parse_json("p", in.placement, strlen(in.placement), &c->g, &c->s, &c->mem,
	                                     &c->tmp, &c->placement, NULL, &err),
	          &err);
	instance_free(&in);
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
	assert_ok(berth_timeline_new(&c->p, c->placement.op_dev, c->placement.order, &c->mem, &c->t, &err),
	          &err);
	return c->t.r.runs;
}

static void discard(compiled *c)
{
	berth_arena_free(&c->mem);
	berth_arena_free(&c->tmp);
}

static int64_t latency_with(compiled *c, int32_t coloc, int32_t dev)
{
	int32_t op_dev[INSTANCE_MAX_OPS];
	berth_timeline t;
	berth_err err;
	memcpy(op_dev, c->placement.op_dev, (size_t)c->p.n_ops * sizeof *op_dev);
	for (int32_t op = 0; op < c->p.n_ops; op++)
		if (c->p.op_coloc[op] == coloc)
			op_dev[op] = dev;
	assert_ok(berth_timeline_new(&c->p, op_dev, c->placement.order, &c->mem, &t, &err), &err);
	return t.r.runs ? t.r.latency_ns : -1;
}

static void every_device_is_simulated(void **state)
{
	int32_t told = 0, bound = 0, waited = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 200; seed++) {
		compiled c;
		berth_objective latency = {.text = ""};
		if (!compile(&c, seed, 12)) {
			discard(&c);
			continue;
		}
		for (int32_t op = 0; op < c.p.n_ops; op++) {
			berth_op_story s;
			berth_err err;
			assert_ok(berth_explain_op(&c.p, &c.t, &latency, op, &c.mem, &c.tmp, &s, &err), &err);
			for (int32_t d = 0; d < c.p.n_devs; d++) {
				if (d == s.dev)
					assert_true(s.choice[d].latency_ns == c.t.r.latency_ns);
				else
					assert_true(s.choice[d].latency_ns ==
					            latency_with(&c, c.p.op_coloc[op], d));
			}
			assert_true(s.ready_ns <= s.start_ns && s.slack_ns >= 0 &&
			            s.end_ns + s.slack_ns <= c.t.r.latency_ns);
			for (int32_t i = 0; i < s.n_inputs; i++)
				assert_true(s.input[i].produced_ns + s.input[i].queued_ns +
				                    s.input[i].moving_ns ==
				            s.input[i].arrives_ns);
			told++;
			bound += s.binds != NULL;
			waited += s.n_before > 0;
		}
		discard(&c);
	}
	assert_true(told > 500 && bound > 20 && waited > 50);
}

/* The operator that ends last has no slack, and a chain of operators without slack leads to the start. */
static void slack_is_zero_on_a_chain(void **state)
{
	int32_t slack_somewhere = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		compiled c;
		int64_t slack[INSTANCE_MAX_OPS];
		berth_err err;
		if (compile(&c, seed, 30)) {
			int64_t first = INT64_MAX;
			assert_ok(berth_slack(&c.p, &c.t, slack, &c.tmp, &err), &err);
			for (int32_t op = 0; op < c.p.n_ops; op++) {
				if (c.t.end_ns[op] == c.t.r.latency_ns)
					assert_true(slack[op] == 0);
				if (slack[op] == 0 && c.t.start_ns[op] < first)
					first = c.t.start_ns[op];
				slack_somewhere += slack[op] > 0;
			}
			if (c.p.n_ops > 0 && first != 0)
				fail_msg("seed %d: the first operator without slack starts at %lld ns",
				         (int)seed, (long long)first);
		}
		discard(&c);
	}
	assert_true(slack_somewhere > 100);
}

static void changes_leave_the_system_alone(void **state)
{
	int32_t better = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		compiled c;
		const char *before, *after;
		size_t n_before, n_after;
		berth_err err;
		berth_whatif_row base, row;
		berth_whatif_cfg cfg = {.search = {.seed = 1, .evaluations = 50}};
		if (!compile(&c, seed, 10)) {
			discard(&c);
			continue;
		}
		assert_ok(berth_method_find("anneal", &cfg.method, &err), &err);
		assert_ok(berth_system_write_json(&c.s, false, &c.mem, &before, &n_before, &err), &err);
		const char *change = berth_arena_printf(&c.mem, "%s.slots=2,%s.memory_bytes=1x",
		                                        c.s.dev_name[0], c.s.dev_name[0]);
		assert_ok(berth_whatif(&c.g, &c.s, c.placement.op_dev, c.placement.order, NULL, &cfg, &c.mem,
		                       &c.tmp, &base, &err),
		          &err);
		assert_ok(berth_whatif(&c.g, &c.s, c.placement.op_dev, c.placement.order, change, &cfg,
		                       &c.mem, &c.tmp, &row, &err),
		          &err);
		assert_ok(berth_system_write_json(&c.s, false, &c.mem, &after, &n_after, &err), &err);
		assert_string_equal(before, after);
		assert_true(row.s.dev_slots[0] == 2 && base.s.dev_slots[0] == c.s.dev_slots[0]);
		assert_true(base.same.v.value == (double)c.t.r.latency_ns / 1e9);
		if (base.same.v.feasible)
			assert_true(base.anew.v.feasible && base.anew.v.value <= base.same.v.value);
		if (base.anew.v.feasible)
			assert_true(base.anew.v.value >= base.lower_bound);
		better += base.anew.v.feasible && base.anew.v.value < base.same.v.value;
		discard(&c);
	}
	assert_true(better > 5);
}

static void failing_memory(void **state)
{
	berth_objective latency = {.text = ""};
	uint64_t seed = 1;
	compiled c;
	(void)state;
	while (!compile(&c, seed, 8) || c.p.n_ops < 4 || c.t.n_hops == 0) {
		discard(&c);
		seed++;
	}
	berth_whatif_cfg cfg = {.search = {.seed = 1, .evaluations = 5}};
	assert_ok(berth_method_find("single", &cfg.method, NULL), &(berth_err){0});
	for (int what = 0; what < 2; what++)
		for (long k = 0;; k++) {
			failing_allocator f;
			berth_err err;
			berth_op_story s;
			berth_whatif_row row;
			failing_allocator_init(&f, k);
			berth_arena mem, tmp;
			berth_arena_init(&mem, &f.hook);
			berth_arena_init(&tmp, &f.hook);
			berth_status st =
				what ? berth_whatif(&c.g, &c.s, c.placement.op_dev, NULL, "", &cfg, &mem,
			                            &tmp, &row, &err)
				     : berth_explain_op(&c.p, &c.t, &latency, 3, &mem, &tmp, &s, &err);
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
			assert_int_equal(f.live, 0);
			if (st == BERTH_OK)
				break;
			assert_int_equal(st, BERTH_ENOMEM);
		}
	discard(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_device_is_simulated),
		cmocka_unit_test(slack_is_zero_on_a_chain),
		cmocka_unit_test(changes_leave_the_system_alone),
		cmocka_unit_test(failing_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
