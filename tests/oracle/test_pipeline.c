/* Samples in flight against an unrolled pipeline: more samples than there can be at once, each with its own
 * copy of the schedule; every instant at which something begins is looked at. */
#include "instance.h"
#include "pipeline.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>
#include <string.h>

enum { MOST_IN_FLIGHT = 24 };

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	int32_t op_dev[INSTANCE_MAX_OPS];
	berth_timeline t;
	berth_pipeline x;
} world;

static bool open_world(world *w, uint64_t seed)
{
	instance in;
	berth_err err;
	berth_rng rng = berth_rng_seed(seed, 77);
	memset(w, 0, sizeof *w);
	instance_make(seed, 9, 4, &in);
	read_both(in.graph, in.system, &w->mem, &w->tmp, &w->g, &w->s);
	instance_free(&in);
	w->s.order = w->s.order == BERTH_ORDER_GIVEN ? BERTH_ORDER_PRIORITY : w->s.order;
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
	if (!berth_pipeline_defined(&w->p))
		return false;
	for (int32_t op = 0; op < w->p.n_ops; op++) {
		w->op_dev[op] = (int32_t)berth_rng_below(&rng, (uint32_t)w->p.n_devs);
		for (int32_t d = 0; d < w->p.n_devs && berth_op_time(&w->p, op, w->op_dev[op]) < 0; d++)
			w->op_dev[op] = d;
	}
	assert_ok(berth_timeline_new(&w->p, w->op_dev, NULL, &w->mem, &w->t, &err), &err);
	if (!w->t.r.runs)
		return false;
	assert_ok(berth_pipeline_new(&w->p, &w->t, &w->mem, &w->tmp, &w->x, &err), &err);
	return w->x.period_ns > 0 && w->x.in_flight <= MOST_IN_FLIGHT;
}

static void close_world(world *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}

/* When the tensor of an edge is at its consumer's device. */
static int64_t arrival(const world *w, int32_t tensor, int32_t dev)
{
	int32_t producer = w->g.tensor_producer[tensor], at = w->op_dev[producer];
	int64_t end = w->x.end_ns[producer];
	for (size_t h = 0; h < w->x.n_hops && at != dev; h++) {
		const berth_sim_hop *hop = &w->x.hops[h];
		if (hop->tensor != tensor || hop->dest != dev)
			continue;
		assert_int_equal(w->s.link_from[hop->link], at);
		assert_true(hop->start_ns >= end);
		at = w->s.link_to[hop->link];
		end = hop->end_ns;
	}
	assert_int_equal(at, dev);
	return end;
}

static void inputs_are_there(const world *w)
{
	for (int32_t t = 0; t < w->g.n_tensors; t++)
		for (int32_t e = w->g.tensor_use_off[t]; e < w->g.tensor_use_off[t + 1]; e++) {
			int32_t op = w->g.edge_consumer[e];
			assert_true(w->x.start_ns[op] >= arrival(w, t, w->op_dev[op]));
		}
	for (int32_t op = 0; op < w->p.n_ops; op++)
		assert_int_equal(w->x.end_ns[op] - w->x.start_ns[op],
		                 berth_op_time(&w->p, op, w->op_dev[op]));
}

/* Copies of [from, until), one a period from 0 on, that hold at an instant. */
static int64_t copies(const world *w, int64_t from, int64_t until, int64_t instant)
{
	int64_t n = 0;
	for (int64_t k = 0; k < 2 * MOST_IN_FLIGHT; k++)
		n += from + k * w->x.period_ns <= instant && instant < until + k * w->x.period_ns;
	return n;
}

static int64_t running(const world *w, int32_t dev, int64_t instant)
{
	int64_t n = 0;
	for (int32_t op = 0; op < w->p.n_ops; op++)
		if (w->op_dev[op] == dev)
			n += copies(w, w->x.start_ns[op], w->x.end_ns[op], instant);
	return n;
}

static int64_t carrying(const world *w, int32_t channel, int64_t instant)
{
	int64_t n = 0;
	for (size_t h = 0; h < w->x.n_hops; h++)
		if (w->s.link_channel[w->x.hops[h].link] == channel)
			n += copies(w, w->x.hops[h].start_ns, w->x.hops[h].end_ns, instant);
	return n;
}

static int64_t at_least_1(int64_t from, int64_t until)
{
	return until > from ? until : from + 1;
}

/* What a tensor holds on dev at an instant, in all samples. */
static int64_t tensor_bytes(const world *w, int32_t t, int32_t dev, int64_t instant)
{
	int32_t producer = w->g.tensor_producer[t];
	int64_t from = -1, until = -1;
	if (w->op_dev[producer] == dev) {
		from = w->x.start_ns[producer];
		until = w->x.end_ns[producer];
	}
	for (size_t h = 0; h < w->x.n_hops; h++) {
		const berth_sim_hop *hop = &w->x.hops[h];
		if (hop->tensor != t)
			continue;
		if (hop->dest == dev && (from < 0 || hop->start_ns < from))
			from = hop->start_ns;
		if ((hop->dest == dev || (w->s.link_from[hop->link] == dev && w->op_dev[producer] == dev)) &&
		    hop->end_ns > until)
			until = hop->end_ns;
	}
	for (int32_t e = w->g.tensor_use_off[t]; e < w->g.tensor_use_off[t + 1]; e++) {
		int32_t op = w->g.edge_consumer[e];
		if (w->op_dev[op] == dev && w->x.end_ns[op] > until)
			until = w->x.end_ns[op];
	}
	return from < 0 ? 0 : w->g.tensor_bytes[t] * copies(w, from, at_least_1(from, until), instant);
}

static int64_t bytes_at(const world *w, int32_t dev, int64_t instant)
{
	int64_t sum = 0;
	for (int32_t op = 0; op < w->p.n_ops; op++) {
		int64_t from = w->x.start_ns[op];
		if (w->op_dev[op] != dev)
			continue;
		sum += w->g.op_param_bytes[op] + w->g.op_state_bytes[op];
		sum += w->g.op_workspace_bytes[op] *
		       copies(w, from, at_least_1(from, w->x.end_ns[op]), instant);
		sum += w->g.op_output_bytes[op] *
		       copies(w, from, at_least_1(from, w->x.latency_ns), instant);
	}
	for (int32_t i = 0; i < w->g.n_params; i++) {
		bool here = false;
		for (int32_t k = w->g.param_op_off[i]; k < w->g.param_op_off[i + 1]; k++)
			here |= w->op_dev[w->g.param_op[k]] == dev;
		sum += here ? w->g.param_bytes[i] : 0;
	}
	for (int32_t t = 0; t < w->g.n_tensors; t++)
		sum += tensor_bytes(w, t, dev, instant);
	return sum;
}

/* Every instant at which something begins, in a period in which all samples are there. */
static void look_at(const world *w, int64_t instant, int64_t *peak)
{
	int64_t steady = (w->x.in_flight + 1) * w->x.period_ns + instant % w->x.period_ns;
	for (int32_t d = 0; d < w->p.n_devs; d++) {
		int64_t bytes = bytes_at(w, d, steady);
		peak[d] = bytes > peak[d] ? bytes : peak[d];
		assert_true(running(w, d, steady) <= w->s.dev_slots[d]);
	}
	for (int32_t c = 0; w->s.contention && c < w->s.n_channels; c++)
		assert_true(carrying(w, c, steady) <= 1);
}

static void pipelines_are_those_of_unrolled_samples(void **state)
{
	int several = 0, more = 0, n = 0, n_fit = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 500; seed++) {
		world w;
		int64_t peak[INSTANCE_MAX_DEVICES] = {0};
		bool any = open_world(&w, seed), fits = true;
		for (int32_t op = 0; any && op < w.p.n_ops; op++)
			look_at(&w, w.x.start_ns[op], peak);
		for (size_t h = 0; any && h < w.x.n_hops; h++)
			look_at(&w, w.x.hops[h].start_ns, peak);
		if (any) {
			n++;
			several += w.x.in_flight > 1;
			inputs_are_there(&w);
			assert_true(w.x.in_flight * w.x.period_ns >= w.x.latency_ns);
			assert_true((w.x.in_flight - 1) * w.x.period_ns < w.x.latency_ns);
			assert_true(fabs((double)w.x.period_ns - w.t.r.load_s * 1e9) < 1 + 1e-6);
			for (int32_t d = 0; d < w.p.n_devs; d++) {
				if (peak[d] != w.x.peak_bytes[d])
					fail_msg("seed %d, device %d: peak %lld, unrolled %lld", (int)seed,
					         (int)d, (long long)w.x.peak_bytes[d], (long long)peak[d]);
				more += w.x.peak_bytes[d] > w.t.peak_bytes[d];
				fits &= w.p.dev_limit_bytes[d] < 0 || peak[d] <= w.p.dev_limit_bytes[d];
			}
			assert_int_equal(w.x.fits, fits);
			n_fit += fits;
		}
		close_world(&w);
	}
	print_message("%d pipelines, %d with several samples in flight, %d devices need more\n", n, several,
	              more);
	assert_true(n > 200 && several > 100 && more > 50 && n_fit > 50 && n - n_fit > 50);
}

static void failing_memory(void **state)
{
	world w;
	uint64_t seed = 0;
	berth_status st = BERTH_ENOMEM;
	(void)state;
	for (; !open_world(&w, seed) || w.x.n_hops < 3; seed++)
		close_world(&w);
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator fail;
		berth_arena mem, tmp;
		berth_pipeline x;
		berth_err err;
		failing_allocator_init(&fail, k);
		berth_arena_init(&mem, &fail.hook);
		berth_arena_init(&tmp, &fail.hook);
		st = berth_pipeline_new(&w.p, &w.t, &mem, &tmp, &x, &err);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(fail.live, 0);
	}
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pipelines_are_those_of_unrolled_samples),
		cmocka_unit_test(failing_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
