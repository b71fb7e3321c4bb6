/* Memory over time on random instances: its largest sum is the simulator's peak, and every step is what the
 * table of the execution model comes to, added up anew from the timeline; thinning keeps peaks and ends. */
#include "compiled_instance.h"
#include "support.h"
#include "timeline.h"

#include <string.h>

/* ---- the table of the execution model ---- */

static bool within(int64_t from, int64_t at, int64_t until)
{
	return from <= at && at < until;
}

/* A tensor on device d at an instant. On its producer's device until the last consumer and departing hop
 * end there, elsewhere from its first hop to the last consumer there. */
static int64_t tensor_bytes(const compiled_instance *c, int32_t tensor, int32_t d, int64_t at)
{
	int32_t from = c->g.tensor_producer[tensor];
	bool home = c->t.op_dev[from] == d;
	int64_t begin = home ? c->t.start_ns[from] : INT64_MAX, end = home ? c->t.end_ns[from] : -1;
	for (int32_t e = c->g.tensor_use_off[tensor]; e < c->g.tensor_use_off[tensor + 1]; e++) {
		int32_t to = c->g.edge_consumer[e];
		if (c->t.op_dev[to] == d && c->t.end_ns[to] > end)
			end = c->t.end_ns[to];
	}
	for (size_t h = 0; h < c->t.n_hops; h++) {
		const berth_sim_hop *x = &c->t.hops[h];
		if (x->tensor != tensor)
			continue;
		if (home && c->s.link_from[x->link] == d && x->end_ns > end)
			end = x->end_ns;
		if (!home && x->dest == d && x->start_ns < begin)
			begin = x->start_ns;
	}
	return within(begin, at, end) ? c->g.tensor_bytes[tensor] : 0;
}

static int64_t held(const compiled_instance *c, int32_t d, int64_t at)
{
	const berth_graph *g = &c->g;
	int64_t sum = 0;
	for (int32_t op = 0; op < g->n_ops; op++) {
		if (c->t.op_dev[op] != d)
			continue;
		sum += g->op_param_bytes[op] + g->op_state_bytes[op];
		sum += at >= c->t.start_ns[op] ? g->op_output_bytes[op] : 0;
		sum += within(c->t.start_ns[op], at, c->t.end_ns[op]) ? g->op_workspace_bytes[op] : 0;
	}
	for (int32_t i = 0; i < g->n_params; i++) {
		bool user = false;
		for (int32_t k = g->param_op_off[i]; k < g->param_op_off[i + 1]; k++)
			user |= c->t.op_dev[g->param_op[k]] == d;
		sum += user ? g->param_bytes[i] : 0;
	}
	for (int32_t t = 0; t < g->n_tensors; t++)
		sum += tensor_bytes(c, t, d, at);
	return sum;
}

/* ---- tests ---- */

static void check_curve(const compiled_instance *c, int32_t d, const berth_memory_curve *m)
{
	int64_t peak = 0;
	assert_true(m->n > 0 && m->at_ns[0] == 0);
	for (int32_t i = 0; i < m->n; i++) {
		peak = m->bytes[i] > peak ? m->bytes[i] : peak;
		assert_true(i == 0 || (m->at_ns[i] >= m->at_ns[i - 1] && m->bytes[i] != m->bytes[i - 1]));
		if (i + 1 == m->n || m->at_ns[i + 1] > m->at_ns[i]) /* not a round of an instant with more */
			assert_true(m->bytes[i] == held(c, d, m->at_ns[i]));
	}
	assert_true(peak == c->t.peak_bytes[d]);
}

static void check_thinned(const compiled_instance *c, int32_t d, const berth_memory_curve *all,
                          int32_t n_parts)
{
	int64_t at[256], bytes[256], peak = 0;
	berth_memory_curve m = {at, bytes, all->n, 256, 256};
	assert_true(all->n <= 256);
	memcpy(at, all->at_ns, (size_t)all->n * sizeof *at);
	memcpy(bytes, all->bytes, (size_t)all->n * sizeof *bytes);
	berth_memory_curve_thin(&m, c->t.r.latency_ns, n_parts);
	assert_true(m.n <= 2 * n_parts + 1 && m.n <= all->n);
	for (int32_t i = 0; i < m.n; i++)
		peak = m.bytes[i] > peak ? m.bytes[i] : peak;
	assert_true(peak == c->t.peak_bytes[d] && at[0] == 0);
	assert_true(bytes[m.n - 1] == all->bytes[all->n - 1]);
}

static void test_random_instances(void **state)
{
	(void)state;
	int steps = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		compiled_instance c;
		berth_err err;
		berth_memory_curve curve[8];
		compiled_instance_make(&c, seed);
		for (int32_t d = 0; c.t.r.runs && d < c.p.n_devs; d++) {
			if (d == 0)
				assert_ok(berth_memory_curves(&c.p, c.placement.op_dev, c.placement.order,
				                              &c.mem, &c.tmp, curve, &err),
				          &err);
			check_curve(&c, d, &curve[d]);
			check_thinned(&c, d, &curve[d], 3);
			check_thinned(&c, d, &curve[d], 100);
			steps += curve[d].n;
		}
		compiled_instance_free(&c);
	}
	assert_true(steps > 2000);
}

static void test_failing_memory(void **state)
{
	(void)state;
	compiled_instance c;
	berth_memory_curve curve[8];
	berth_status st = BERTH_ENOMEM;
	compiled_instance_make(&c, 5);
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		st = berth_memory_curves(&c.p, c.placement.op_dev, c.placement.order, &mem, &tmp, curve,
		                         &err);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
	}
	compiled_instance_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_instances),
	                                   cmocka_unit_test(test_failing_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
