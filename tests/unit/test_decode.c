/* Sequential decoding: HEFT as a special case, legal choices on random problems, features of order 1, what
 * is recorded, and that it learns. */
#include "decode.h"
#include "instance.h"
#include "learner.h"
#include "list.h"
#include "nn.h"
#include "portfolio.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct subject {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_encoding e;
	berth_decoder *d;
	policy_dims dims;
	nn_real *params, *acts;
	int32_t *dev;
} subject;

static void *need(berth_arena *mem, size_t n, size_t size)
{
	void *p = berth_arena_alloc(mem, n, size);
	assert_non_null(p);
	return p;
}

/* Encodes the compiled problem; the parameters are all 0. */
static void finish(subject *x)
{
	berth_err err;
	assert_ok(berth_encode(&x->p, (berth_aim){.time = 1}, 16, false, &x->mem, &x->tmp, &x->e, &err),
	          &err);
	assert_ok(berth_decoder_new(&x->e, &x->mem, &x->d, &err), &err);
	x->dims = berth_encode_dims(8, 1);
	x->params = need(&x->mem, policy_param_count(&x->dims), sizeof *x->params);
	x->acts = need(&x->mem, policy_acts_size(&x->dims, x->e.n_groups, x->e.in.n_edges, x->e.n_devs),
	               sizeof *x->acts);
	x->dev = need(&x->mem, (size_t)x->p.n_ops, sizeof *x->dev);
}

static void open_zoo(subject *x, const char *graph, const char *system)
{
	berth_err err;
	*x = (subject){0};
	assert_ok(berth_zoo_build(graph, &x->mem, &x->tmp, &x->g, &err), &err);
	assert_ok(berth_system_builtin(system, &x->mem, &x->tmp, &x->s, &err), &err);
	assert_ok(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err), &err);
	finish(x);
}

/* False: an operator has no device. */
static bool open_random(subject *x, uint64_t seed)
{
	berth_err err;
	instance in;
	instance_make(seed, 20, 5, &in);
	*x = (subject){0};
	read_both(in.graph, in.system, &x->mem, &x->tmp, &x->g, &x->s);
	assert_ok(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err), &err);
	instance_free(&in);
	if (berth_problem_feasible(&x->p, NULL) != BERTH_OK)
		return false;
	finish(x);
	return true;
}

static void close_subject(subject *x)
{
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
}

static nn_real *weight(subject *x, const char *name)
{
	for (int32_t i = 0; i < policy_tensor_count(); i++)
		if (strcmp(policy_tensor_at(&x->dims, i).name, name) == 0)
			return x->params + policy_tensor_at(&x->dims, i).offset;
	fail_msg("no tensor %s", name);
	return NULL;
}

static void decode(subject *x, const berth_decode_how *how, double share, berth_partial **part,
                   berth_episode *trace)
{
	policy_embed(&x->dims, x->params, &x->e.in, x->acts);
	policy_stepper net = policy_stepper_of(&x->dims, x->params, &x->e.in, x->acts);
	*part = berth_decoder_partial(x->d);
	berth_partial_limit_memory(*part, share);
	berth_decode(x->d, &net, how, *part, trace);
	berth_partial_devs(*part, x->dev);
}

static int64_t end_of(void *ctx, const berth_list_place *at)
{
	(void)ctx;
	return at->end_ns;
}

/* HEFT, with transfers that wait. */
static void test_contains_heft(void **state)
{
	(void)state;
	int checked = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		subject x;
		berth_err err;
		berth_partial *mine, *heft;
		berth_traffic traffic;
		berth_decode_how how = {.temperature = 1};
		if (open_random(&x, seed)) {
			weight(&x, "step_skip")[STEP_ENDS_FIRST] = 1;
			decode(&x, &how, 1, &mine, NULL);
			assert_ok(berth_partial_new(&x.p, &x.mem, &heft, &err), &err);
			assert_ok(berth_traffic_new(&x.p, &x.mem, &traffic, &err), &err);
			berth_list list = {.p = &x.p,
			                   .op_key = x.p.op_rank_ns,
			                   .insertion = true,
			                   .traffic = &traffic,
			                   .score = end_of};
			assert_ok(berth_list_schedule(&list, heft, &x.tmp, &err), &err);
			assert_memory_equal(berth_partial_start_ns(mine), berth_partial_start_ns(heft),
			                    (size_t)x.p.n_ops * sizeof(int64_t));
			for (int32_t op = 0; op < x.p.n_ops; op++)
				assert_int_equal(x.dev[op], berth_partial_dev(heft, op));
			checked++;
		}
		close_subject(&x);
	}
	assert_true(checked > 100);
}

/* Draws with random weights: legal, colocation groups whole, features of order 1, the same bits again; the
 * record says what the network says. */
static void test_random_policies(void **state)
{
	(void)state;
	int checked = 0, steps = 0;
	for (uint64_t seed = 1; seed <= 300; seed++) {
		subject x;
		berth_err err;
		berth_episode ep;
		berth_partial *part;
		berth_rng rng = berth_rng_seed(seed, 7), again = rng;
		if (!open_random(&x, seed)) {
			close_subject(&x);
			continue;
		}
		size_t ops = (size_t)x.p.n_ops, devs = (size_t)x.p.n_devs, cells = ops * devs;
		berth_rng init = berth_rng_seed(seed, BERTH_STREAM_INIT);
		policy_init(&x.dims, x.params, &init);
		for (size_t i = 0; i < policy_param_count(&x.dims); i++)
			x.params[i] *= 2;
		assert_ok(berth_episode_new(ops, cells, &x.mem, &ep, &err), &err);
		berth_decode_how how = {.rng = &rng, .temperature = 1, .key_sigma = 0.5};
		decode(&x, &how, 0, &part, &ep);
		for (int32_t op = 0; op < x.p.n_ops; op++) {
			assert_true(berth_op_legal(&x.p, op, x.dev[op]));
			assert_int_equal(x.dev[op], x.dev[x.p.coloc_op[x.p.coloc_off[x.p.op_coloc[op]]]]);
		}
		for (size_t i = 0; i < (size_t)ep.n_steps * devs * N_STEP; i++)
			assert_true(fabs((double)ep.x[i]) < 40);
		policy_steps rows = {(size_t)ep.n_steps, ep.node, ep.x};
		nn_real *hidden = need(&x.mem, cells * 8, sizeof *hidden),
			*logits = need(&x.mem, cells, sizeof *logits),
			*logp = need(&x.mem, cells, sizeof *logp);
		policy_steps_forward(&x.dims, x.params, &x.e.in, x.acts, &rows, hidden, logits);
		assert_int_equal(nn_log_softmax(rows.n, devs, logp, logits, ep.mask), rows.n);
		for (size_t i = 0; i < rows.n; i++)
			assert_near((double)ep.logp[i], (double)logp[i * devs + (size_t)ep.action[i]], 1e-3);
		int32_t *first = need(&x.mem, ops, sizeof *first);
		memcpy(first, x.dev, ops * sizeof *first);
		how.rng = &again;
		decode(&x, &how, 0, &part, NULL);
		assert_memory_equal(first, x.dev, ops * sizeof *first);
		/* forced along, the same placement comes out */
		decode(&x, &(berth_decode_how){.temperature = 1, .force = first}, 0, &part, &ep);
		assert_memory_equal(first, x.dev, ops * sizeof *first);
		checked++;
		steps += ep.n_steps;
		close_subject(&x);
	}
	assert_true(checked > 100 && steps > 500);
}

static void check_guided(const subject *x, const berth_guide *guide, const berth_episode *trace)
{
	size_t devs = (size_t)x->p.n_devs;
	for (int32_t i = 0; i < trace->n_steps; i++) {
		double here = 0, first = 0;
		for (size_t v = 0; v < devs; v++) {
			const nn_real *at = trace->x + ((size_t)i * devs + v) * N_STEP;
			here += (double)at[STEP_GUIDED_HERE];
			first += (double)at[STEP_GUIDED_FIRST];
			for (int k = STEP_GUIDED_LATER; k <= STEP_GUIDED_END; k++)
				assert_true(guide ? isfinite(at[k]) && at[k] >= 0 : at[k] == 0);
			assert_true(isfinite(at[STEP_GUIDED_LEAVING]) && at[STEP_GUIDED_LEAVING] >= 0);
			assert_true(guide || at[STEP_GUIDED_LEAVING] == 0);
		}
		if (guide)
			assert_true(here <= 1 && first >= 1);
		else
			assert_true(here == 0 && first == 0);
	}
}

/* A policy that stays where the guide was gives its placement back; one that has none sees nothing of it. */
static void test_guided(void **state)
{
	(void)state;
	int checked = 0;
	for (uint64_t seed = 1; seed <= 100; seed++) {
		subject x;
		berth_err err;
		berth_partial *part;
		berth_guide guide;
		berth_episode trace;
		berth_rng rng = berth_rng_seed(seed, 3);
		berth_decode_how drawn = {.rng = &rng, .temperature = 1},
		                 guided = {.temperature = 1, .guide = &guide};
		if (open_random(&x, seed)) {
			size_t bytes = (size_t)x.p.n_ops * sizeof(int32_t);
			assert_ok(berth_guide_new(&x.p, &x.mem, &guide, &err), &err);
			assert_ok(berth_episode_new((size_t)x.p.n_ops, (size_t)x.p.n_ops * (size_t)x.p.n_devs,
			                            &x.mem, &trace, &err),
			          &err);
			weight(&x, "step_skip")[STEP_GUIDED_HERE] = 9;
			decode(&x, &drawn, 1, &part, &trace);
			check_guided(&x, NULL, &trace);
			int32_t *was = need(&x.mem, (size_t)x.p.n_ops, sizeof *was);
			memcpy(was, x.dev, bytes);
			berth_guide_set(&guide, was);
			decode(&x, &guided, 1, &part, &trace);
			check_guided(&x, &guide, &trace);
			if (x.p.memory_free)
				assert_memory_equal(was, x.dev, bytes);
			checked++;
		}
		close_subject(&x);
	}
	assert_true(checked > 30);
}

/* What an objective asks for, and that the policy sees it where it counts alone. */
static void test_aims(void **state)
{
	(void)state;
	static const struct { const char *text; berth_aim aim; } row[] = {
		{"latency", {1, 0, 0}}, {"throughput", {0, 1, 0}}, {"energy", {0, 0, 1}}, {"edp", {1, 0, 1}},
		{"latency+3*energy", {0.5, 0, 0.5}}, {"memory", {0, 0, 0}}};
	berth_objective none = {0};
	assert_true(berth_aim_of(&none).time == 1);
	for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
		subject x;
		berth_err err;
		berth_objective o;
		berth_partial *part;
		berth_episode trace;
		berth_decode_how how = {.temperature = 1};
		assert_ok(berth_objective_parse(row[i].text, &o, &err), &err);
		berth_aim aim = berth_aim_of(&o);
		assert_true(aim.time == row[i].aim.time && aim.load == row[i].aim.load &&
		            aim.energy == row[i].aim.energy);
		open_zoo(&x, "zoo:resnet18", "cpu+2gpu");
		x.e.aim = aim;
		assert_ok(berth_episode_new((size_t)x.p.n_ops, (size_t)x.p.n_ops * (size_t)x.p.n_devs, &x.mem,
		                            &trace, &err),
		          &err);
		decode(&x, &how, 1, &part, &trace);
		double load = 0, energy = 0;
		for (size_t k = 0; k < (size_t)trace.n_steps * (size_t)x.p.n_devs; k++) {
			load += (double)trace.x[k * N_STEP + STEP_AIMED_LOAD];
			energy += (double)trace.x[k * N_STEP + STEP_AIMED_ENERGY];
		}
		assert_true((load > 0) == (aim.load > 0));
		assert_true((energy > 0) == (aim.energy > 0));
		close_subject(&x);
	}
}

/* Where loads count, a guide tells what each device comes to: no less than what it has so far, and the most
 * on some devices, not on all. */
static void test_guided_loads(void **state)
{
	(void)state;
	subject x;
	berth_err err;
	berth_partial *part;
	berth_guide guide;
	berth_episode trace;
	int32_t worst = 0;
	open_zoo(&x, "zoo:inception-v3", "cpu+2gpu");
	size_t ops = (size_t)x.p.n_ops, devs = (size_t)x.p.n_devs;
	int32_t *half = need(&x.mem, ops, sizeof *half);
	for (size_t op = 0; op < ops; op++)
		half[op] = 1 + (op < ops / 2);
	x.e.aim = (berth_aim){.load = 1};
	assert_ok(berth_guide_new(&x.p, &x.mem, &guide, &err), &err);
	assert_ok(berth_episode_new(ops, ops * devs, &x.mem, &trace, &err), &err);
	decode(&x, &(berth_decode_how){.temperature = 1, .force = half}, 1, &part, &trace);
	for (size_t k = 0; k < (size_t)trace.n_steps * devs; k++)
		assert_true(trace.x[k * N_STEP + STEP_AIMED_COMING] == 0 &&
		            trace.x[k * N_STEP + STEP_AIMED_WORST] == 0);
	berth_guide_set(&guide, half);
	decode(&x, &(berth_decode_how){.temperature = 1, .force = half, .guide = &guide}, 1, &part,
	       &trace);
	assert_true(trace.n_steps > 0);
	for (int32_t i = 0; i < trace.n_steps; i++) {
		const nn_real *first = trace.x + (size_t)i * devs * N_STEP;
		for (size_t v = 0; v < devs; v++)
			assert_true(first[v * N_STEP + STEP_AIMED_COMING] >=
			            first[v * N_STEP + STEP_AIMED_LOAD] - 1e-6f);
		const nn_real *there = first + (size_t)trace.action[i] * N_STEP;
		worst += there[STEP_AIMED_WORST] > 0;
	}
	assert_true(worst > 0 && worst < trace.n_steps); /* one half is the larger one */
	close_subject(&x);
}

/* PPO raises the mean reward on a machine whose slow network HEFT does not see, and the policy then beats
 * HEFT there in one pass. */
static void test_learns(void **state)
{
	(void)state;
	subject x;
	berth_err err;
	berth_search s, *all = &s;
	berth_search_cfg cfg = {.seed = 1, .evaluations = 40000};
	berth_learner_cfg learner = berth_learner_cfg_default();
	berth_learner l;
	berth_step_stats stats = {0};
	double first = 0, last = 0;
	open_zoo(&x, "zoo:ffnn:tiles=2", "hetero-cluster");
	learner.decoding = BERTH_SEQUENTIAL;
	learner.batch = 32;
	learner.hidden = 16;
	assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
	assert_ok(berth_learner_new(&learner, 1, NULL, &all, 1, &x.mem, &x.tmp, &l, &err), &err);
	assert_ok(berth_single_reference(&s, &l.pair[0].reference, &x.tmp, &err), &err);
	s.best = berth_score_worst();
	assert_ok(berth_learner_offer_greedy(&l, 0, &x.tmp, &err), &err);
	double untrained = s.best.value;
	for (int k = 0; k < 150; k++) {
		assert_ok(berth_learner_step(&l, 0, 32, &stats, &err), &err);
		first += k < 10 ? stats.mean / 10 : 0;
		last += k >= 140 ? stats.mean / 10 : 0;
	}
	s.best = berth_score_worst();
	assert_ok(berth_learner_offer_greedy(&l, 0, &x.tmp, &err), &err);
	print_message("mean reward %.3f to %.3f, greedy %.4g to %.4g s\n", first, last, untrained,
	              s.best.value);
	assert_true(last > first + 0.2);
	assert_true(s.best.value < untrained);
	close_subject(&x);
}

/* Following a placement again and again (convolutions here, the rest there) makes nearly all of it the most
 * probable one. */
static void test_imitates(void **state)
{
	(void)state;
	subject x;
	berth_err err;
	berth_search s, *all = &s;
	berth_search_cfg cfg = {.seed = 1, .evaluations = 100};
	berth_learner_cfg learner = berth_learner_cfg_default();
	berth_learner l;
	open_zoo(&x, "zoo:resnet18", "cpu+2gpu");
	learner.decoding = BERTH_SEQUENTIAL;
	assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
	assert_ok(berth_learner_new(&learner, 1, NULL, &all, 1, &x.mem, &x.tmp, &l, &err), &err);
	for (int32_t op = 0; op < x.p.n_ops; op++)
		x.dev[op] = strcmp(x.g.type_name[x.g.op_type[op]], "Conv") == 0 ? 2 : 1;
	assert_ok(berth_learner_clone(&l, 0, x.dev, 300, &err), &err);
	s.best = berth_score_worst();
	assert_ok(berth_learner_offer_greedy(&l, 0, &x.tmp, &err), &err);
	int32_t same = 0;
	for (int32_t op = 0; op < x.p.n_ops; op++)
		same += s.best_dev[op] == x.dev[op];
	print_message("%d of %d\n", same, x.p.n_ops);
	assert_true(10 * same > 9 * x.p.n_ops);
	close_subject(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_contains_heft),
		cmocka_unit_test(test_random_policies),
		cmocka_unit_test(test_guided),
		cmocka_unit_test(test_aims),
		cmocka_unit_test(test_guided_loads),
		cmocka_unit_test(test_learns),
		cmocka_unit_test(test_imitates),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
