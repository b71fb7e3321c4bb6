/* What the policy sees, and that it learns: features of order 1, projections that respect the problem, a toy
 * whose optimum is known, cloning, rewards. */
#include "hsdag.h"
#include "instance.h"
#include "learner.h"
#include "methods.h"
#include "portfolio.h"
#include "registry.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void assert_order_one(const nn_real *x, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_true(fabs((double)x[i]) <= 20); /* NAN fails too */
}

static void check_encoding(const small_problem *x, const berth_encoding *e)
{
	policy_dims d = berth_encode_dims(4, 1);
	berth_err err;
	size_t groups = (size_t)e->n_groups, devs = (size_t)e->n_devs;
	assert_ok(policy_input_check(&d, &e->in, &err), &err);
	assert_order_one(e->in.node_x, groups * ENCODE_NODE);
	assert_order_one(e->in.edge_x, (size_t)e->in.n_edges * ENCODE_EDGE);
	assert_order_one(e->in.dev_x, devs * ENCODE_DEV);
	assert_order_one(e->in.pair_x, groups * devs * ENCODE_PAIR);
	assert_order_one(e->in.link_x, devs * devs * ENCODE_LINK);
	for (size_t pair = 0; pair < devs * devs && !x->g.tensor_cut_s; pair++) /* the mean tensor takes no
	                                                                           less than the smallest one
	                                                                         */
		assert_true(e->in.link_x[pair * ENCODE_LINK + 1] <= e->in.link_x[pair * ENCODE_LINK]);
}

/* Any group placement projects to a legal one, in which colocation groups stay together; lifting a
 * projection gives it back where groups have no fallbacks. */
static void check_projection(small_problem *x, const berth_encoding *e, uint64_t seed)
{
	int32_t *group_dev = berth_arena_alloc(&x->mem, (size_t)e->n_groups, sizeof *group_dev);
	int32_t *again = berth_arena_alloc(&x->mem, (size_t)e->n_groups, sizeof *again);
	int32_t *op_dev = berth_arena_alloc(&x->mem, (size_t)x->p.n_ops, sizeof *op_dev);
	int64_t *scratch =
		berth_arena_alloc(&x->mem, (size_t)e->n_groups * (size_t)e->n_devs, sizeof *scratch);
	berth_rng rng = berth_rng_seed(seed, 0);
	for (int32_t v = 0; v < e->n_groups; v++)
		do
			group_dev[v] = (int32_t)berth_rng_below(&rng, (uint32_t)e->n_devs);
		while (!e->in.mask[v * e->n_devs + group_dev[v]]);
	berth_encoding_project(e, group_dev, op_dev);
	bool moved = false;
	for (int32_t op = 0; op < x->p.n_ops; op++) {
		assert_true(berth_op_legal(&x->p, op, op_dev[op]));
		assert_int_equal(op_dev[op], op_dev[x->p.coloc_op[x->p.coloc_off[x->p.op_coloc[op]]]]);
		moved |= op_dev[op] != group_dev[e->co.op_group[op]];
	}
	berth_encoding_lift(e, op_dev, again, scratch);
	for (int32_t v = 0; v < e->n_groups && !moved; v++)
		assert_int_equal(again[v], group_dev[v]);
}

static const berth_aim latency = {.time = 1};

static void test_encodings(void **state)
{
	(void)state;
	static const char *const graph[] = {"zoo:resnet50", "zoo:bert-base:batch=16:training=1",
	                                    "zoo:inception-v3:batch=64"};
	static const char *const system[] = {"cpu+2gpu", "4gpu", "edge", "hetero-cluster"};
	for (int i = 0; i < 12; i++) {
		small_problem x;
		berth_encoding e;
		berth_err err;
		small_problem_build(&x, graph[i / 4], system[i % 4]);
		assert_ok(berth_encode(&x.p, latency, 64, i % 2, &x.mem, &x.tmp, &e, &err), &err);
		check_encoding(&x, &e);
		check_projection(&x, &e, 1);
		small_problem_free(&x);
	}
}

static void test_random_encodings(void **state)
{
	(void)state;
	int done = 0;
	for (uint64_t seed = 1; done < 300; seed++) {
		instance in;
		small_problem x;
		berth_encoding e;
		berth_err err;
		instance_make(seed, 20, 4, &in);
		small_problem_make(&x, in.graph, in.system);
		if (berth_problem_feasible(&x.p, &err) == BERTH_OK) {
			int32_t groups = 1 + (int32_t)(seed % 8);
			assert_ok(berth_encode(&x.p, latency, groups, seed % 2, &x.mem, &x.tmp, &e, &err),
			          &err);
			check_encoding(&x, &e);
			check_projection(&x, &e, seed);
			done++;
		}
		small_problem_free(&x);
		instance_free(&in);
	}
}

static void test_rewards(void **state)
{
	(void)state;
	assert_near(berth_reward(2, (berth_score){0, 1}), log(2), 1e-15);
	assert_near(berth_reward(1, (berth_score){0, 1e9}), -3, 0);
	assert_true(berth_reward(1, (berth_score){0.01, 1}) < berth_reward(1, (berth_score){0, 1}));
	assert_true(berth_reward(1, (berth_score){0.5, 1}) < berth_reward(1, (berth_score){0.1, 1}));
	assert_true(isfinite(berth_reward(1, berth_score_worst())));
	berth_baseline b = {0};
	assert_near(berth_baseline_move(&b, 0, 2, (const double[]){1, 3}), 2, 0);
	assert_near(berth_baseline_move(&b, 0.5, 1, (const double[]){4}), 4, 0);
	assert_near(b.mean, 3, 0);
	assert_near(b.var, 0.5, 0);
	assert_near(berth_baseline_advantage(&b, 3.5), 0.5 / (sqrt(0.5) + 1e-6), 1e-15);
	assert_near(berth_baseline_advantage(&b, -100), -4, 0);
}

/* What the policy holds most probable becomes the incumbent, whatever it was. */
static void offer_greedy(small_problem *x, berth_learner *l)
{
	berth_err err;
	l->pair[0].s->best = berth_score_worst();
	assert_ok(berth_learner_offer_greedy(l, 0, &x->tmp, &err), &err);
}

/* Two chains of ten operators, each fast on one device and slow on the other, nothing between them: the
 * optimum is 10 us, one device takes 110. */
static void test_learns_a_toy(void **state)
{
	(void)state;
	char graph[8192], *at = graph;
	at += sprintf(at, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[");
	for (int i = 0; i < 20; i++)
		at += sprintf(at, "%s{\"name\":\"o%d\",\"time_s\":{\"x\":%s,\"y\":%s}}", i ? "," : "", i,
		              i < 10 ? "1e-6" : "10e-6", i < 10 ? "10e-6" : "1e-6");
	at += sprintf(at, "],\"edges\":[");
	for (int i = 0; i < 20; i++)
		if (i % 10 != 9)
			at += sprintf(at, "%s{\"from\":\"o%d\",\"to\":\"o%d\",\"bytes\":1000}", i ? "," : "",
			              i, i + 1);
	sprintf(at, "]}");
	static const char system[] =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"x\"},{\"name\":\"y\"}],"
		"\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1e9,\"both_ways\":true}]}";
	small_problem x;
	berth_search s, *all = &s;
	berth_search_cfg cfg = {.seed = 1, .evaluations = 2000};
	berth_learner_cfg learner = berth_learner_cfg_default();
	berth_learner l;
	berth_err err;
	small_problem_make(&x, graph, system);
	learner.groups = 20;
	assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
	assert_ok(berth_learner_new(&learner, 1, NULL, &all, 1, &x.mem, &x.tmp, &l, &err), &err);
	assert_ok(berth_single_reference(&s, &l.pair[0].reference, &x.tmp, &err), &err);
	assert_near(l.pair[0].reference, 110e-6, 1e-12);
	int64_t left;
	while ((left = berth_search_budget_left(&s, learner.batch)) > 0)
		assert_ok(berth_learner_step(&l, 0, (int32_t)left, NULL, &err), &err);
	assert_near(s.best.value, 10e-6, 1e-12);
	/* And the policy itself holds it most probable. */
	assert_int_equal(s.evaluations, 2000);
	offer_greedy(&x, &l);
	for (int i = 0; i < 20; i++)
		assert_int_equal(s.best_dev[i], i >= 10);
	small_problem_free(&x);
}

/* One-shot learning: the same weights to the bit on any number of threads. */
static void test_one_shot_threads(void **state)
{
	(void)state;
	small_problem x;
	nn_real *first = NULL;
	small_problem_build(&x, "zoo:random:ops=60:seed=4", "hetero-cluster");
	for (int threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
		berth_search s, *all = &s;
		const int64_t n = BERTH_DEBUG ? 500 : 1200;
		berth_search_cfg cfg = {.seed = 1, .evaluations = n};
		berth_learner_cfg learner = berth_learner_cfg_default();
		berth_learner l;
		berth_err err;
		int64_t left;
		learner.batch = 8;
		learner.groups = 20;
		assert_ok(berth_pool_new(threads, &cfg.pool, &err), &err);
		assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
		assert_ok(berth_learner_new(&learner, 1, NULL, &all, 1, &x.mem, &x.tmp, &l, &err), &err);
		assert_ok(berth_single_reference(&s, &l.pair[0].reference, &x.tmp, &err), &err);
		while ((left = berth_search_budget_left(&s, learner.batch)) > 0) {
			berth_step_stats stats;
			assert_ok(berth_learner_step(&l, 0, (int32_t)left, &stats, &err), &err);
			assert_int_equal(stats.n, left);
		}
		berth_pool_free(cfg.pool);
		assert_int_equal(s.evaluations, n);
		if (first)
			assert_memory_equal(first, l.params, policy_param_count(&l.dims) * sizeof *first);
		first = l.params;
	}
	small_problem_free(&x);
}

/* A round of batches, some of one pair, that end in different epochs: the same weights and statistics to the
 * bit on any number of threads; and every episode is drawn once. */
static void test_round_threads(void **state)
{
	(void)state;
	static const berth_turn turn[] = {{.pair = 0, .left = 16},
	                                  {.pair = 1, .left = 9},
	                                  {.pair = 0, .left = 16},
	                                  {.pair = 0, .left = 2}};
	enum { TURNS = 4, ROUNDS = 6 };
	small_problem x[2];
	nn_real *first = NULL;
	berth_step_stats seen[TURNS];
	small_problem_build(&x[0], "zoo:random:ops=30:seed=4", "hetero-cluster");
	small_problem_build(&x[1], "zoo:resnet18", "cpu+2gpu");
	for (int threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
		berth_search s[2], *all[2] = {&s[0], &s[1]};
		berth_search_cfg cfg = {.seed = 1, .evaluations = INT64_MAX};
		berth_learner_cfg learner = berth_learner_cfg_default();
		berth_step_stats stats[TURNS];
		berth_learner l;
		berth_err err;
		learner.decoding = BERTH_SEQUENTIAL;
		learner.at_once = TURNS;
		learner.batch = 16;
		learner.kl_stop = 1e-3;
		assert_ok(berth_pool_new(threads, &cfg.pool, &err), &err);
		for (int i = 0; i < 2; i++)
			assert_ok(berth_search_new(&x[i].p, &cfg, &x[i].mem, &s[i], &err), &err);
		assert_ok(berth_learner_new(&learner, 1, NULL, all, 2, &x[0].mem, &x[0].tmp, &l, &err), &err);
		for (int i = 0; i < 2; i++)
			assert_ok(berth_single_reference(&s[i], &l.pair[i].reference, &x[i].tmp, &err), &err);
		int64_t before = s[0].evaluations;
		for (int k = 0; k < ROUNDS; k++)
			assert_ok(berth_learner_round(&l, TURNS, turn, stats, &err), &err);
		berth_pool_free(cfg.pool);
		assert_int_equal(l.steps, TURNS * ROUNDS);
		assert_int_equal(l.pair[0].episodes, ROUNDS * (8 + 8 + 1));
		assert_int_equal(l.pair[1].episodes, ROUNDS * 4);
		assert_int_equal(s[0].evaluations - before, 2 * l.pair[0].episodes);
		assert_int_equal(stats[1].n, 4);
		if (first) {
			assert_memory_equal(first, l.params, policy_param_count(&l.dims) * sizeof *first);
			for (int k = 0; k < TURNS; k++)
				assert_true(stats[k].mean == seen[k].mean && stats[k].kl == seen[k].kl);
		}
		first = l.params;
		memcpy(seen, stats, sizeof seen);
	}
	small_problem_free(&x[0]);
	small_problem_free(&x[1]);
}

/* Cloning a placement makes it the most probable one; that of starts stops at its mass. */
static void test_cloning_is_soft(void **state)
{
	(void)state;
	small_problem x;
	berth_search s, *all = &s;
	berth_search_cfg cfg = {.seed = 1, .evaluations = 100};
	berth_learner_cfg learner = berth_learner_cfg_default();
	berth_learner l;
	berth_err err;
	small_problem_build(&x, "zoo:resnet18", "cpu+2gpu");
	assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
	assert_ok(berth_learner_new(&learner, 1, NULL, &all, 1, &x.mem, &x.tmp, &l, &err), &err);
	int32_t *op_dev = berth_arena_alloc(&x.mem, (size_t)x.p.n_ops, sizeof *op_dev);
	for (int32_t op = 0; op < x.p.n_ops; op++)
		op_dev[op] = 2;
	const int32_t *start = op_dev;
	assert_ok(berth_learner_clone_starts(&l, 0, 1, &start, 200, &err), &err);
	offer_greedy(&x, &l);
	assert_memory_equal(s.best_dev, op_dev, (size_t)x.p.n_ops * sizeof *op_dev);
	double mass = 0;
	for (int32_t v = 0; v < l.pair[0].e.n_groups; v++)
		mass += exp((double)l.one_shot.logp[v * 3 + 2]) / l.pair[0].e.n_groups;
	assert_true(mass >= learner.seed_mass && mass <= 0.7);
	small_problem_free(&x);
}

static void test_config_is_checked(void **state)
{
	(void)state;
	berth_err err;
	berth_learner_cfg c = berth_learner_cfg_default();
	assert_ok(berth_learner_cfg_check(&c, &err), &err);
	c.seed_mass = 0.8;
	assert_int_equal(berth_learner_cfg_check(&c, &err), BERTH_EINVAL);
	assert_contains(err.msg, "seed_mass is 0.8; expected 0 to 0.7");
	c = berth_learner_cfg_default();
	c.lr = NAN;
	assert_int_equal(berth_learner_cfg_check(&c, &err), BERTH_EINVAL);
	for (int k = 0; k < BERTH_N_DECODINGS; k++) {
		const char *name = berth_decoding_name((berth_decoding)k);
		assert_ok(berth_decoding_parse(name, &c.decoding, &err), &err);
		assert_int_equal(c.decoding, k);
	}
	assert_int_equal(berth_decoding_parse("both", &c.decoding, &err), BERTH_EINVAL);
	assert_contains(err.msg, "unknown decoding 'both'; known: one-shot, sequential");
}

/* Every learned method that searches: legal, within its budget, the same on any number of threads. */
static void test_methods(void **state)
{
	const int64_t evaluations =
		support_sampled(BERTH_DEBUG ? 500 : 1700, BERTH_DEBUG ? 200 : 600, "evaluations");
	(void)state;
	for (int32_t m = berth_n_heuristics; m < berth_n_methods(); m++) {
		const berth_method *method = berth_method_at(m);
		int32_t *first = NULL;
		small_problem x;
		if (!method->searches)
			continue;
		small_problem_build(&x, "zoo:random:ops=80:seed=5", "hetero-cluster");
		for (int threads = 1; threads <= 8; threads += threads < 3 ? 1 : 5) {
			berth_search s;
			berth_search_cfg cfg = {.seed = 3, .evaluations = evaluations};
			berth_err err;
			assert_ok(berth_pool_new(threads, &cfg.pool, &err), &err);
			assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
			assert_ok(berth_method_run(method, &s, &x.tmp, &err), &err);
			berth_pool_free(cfg.pool);
			assert_int_equal(s.evaluations, evaluations);
			for (int32_t op = 0; op < x.p.n_ops; op++)
				assert_true(berth_op_legal(&x.p, op, s.best_dev[op]));
			if (first)
				assert_memory_equal(first, s.best_dev, (size_t)x.p.n_ops * sizeof *first);
			first = s.best_dev;
		}
		small_problem_free(&x);
	}
}

/* The methods on a table of their own, each allocation failing in turn; those of `policy` and `berth`
 * are tested in test_policy_file and test_train. */
static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	small_problem x;
	small_problem_build(&x, "zoo:random:ops=40", "hetero-cluster");
	for (int32_t m = berth_n_heuristics; m < berth_n_methods(); m++) {
		const berth_method *method = berth_method_at(m);
		berth_status st = BERTH_ENOMEM;
		if (!method->searches || method == berth_method_default())
			continue;
		for (long k = 0; st != BERTH_OK; k += BERTH_DEBUG ? 3 : 1) {
			failing_allocator f;
			berth_arena mem, tmp;
			berth_search s;
			berth_search_cfg cfg = {.seed = 1, .evaluations = 120};
			failing_allocator_init(&f, k);
			f.hook.each = false; /* searches take thousands of blocks */
			berth_arena_init(&mem, &f.hook);
			berth_arena_init(&tmp, &f.hook);
			st = berth_search_new(&x.p, &cfg, &mem, &s, NULL);
			if (st == BERTH_OK)
				st = berth_method_run(method, &s, &tmp, NULL);
			berth_arena_free(&mem);
			berth_arena_free(&tmp);
			assert_int_equal(f.live, 0);
			assert_true(st == BERTH_ENOMEM || (st == BERTH_OK && k > 0));
		}
	}
	small_problem_free(&x);
}

/* Least squares of log count[r - 1] over log r. */
static double slope(const double *count, int n_radii)
{
	double n = 0, x = 0, y = 0, xx = 0, xy = 0;
	for (int r = 1; r <= n_radii; r++) {
		n++;
		x += log(r);
		y += log(count[r - 1]);
		xx += log(r) * log(r);
		xy += log(r) * log(count[r - 1]);
	}
	return (n * xy - x * y) / (n * xx - x * x);
}

/* Counts within reach done by hand: a path from its end and from its inside, a star (one radius from its
 * middle); nodes out of reach do not count. */
static void test_fractal_dimensions(void **state)
{
	(void)state;
	static const int32_t path_u[] = {0, 1, 2, 3, 4, 5, 6}, path_v[] = {1, 2, 3, 4, 5, 6, 7},
			     star_u[] = {0, 0, 0, 0}, star_v[] = {1, 2, 3, 4};
	berth_arena tmp = {0};
	hsdag_graph path = {8, 7, path_u, path_v, NULL}, star = {6, 4, star_u, star_v, NULL};
	double d[8];
	berth_err err;
	assert_ok(hsdag_fractal_dimensions(&path, d, &tmp, &err), &err);
	assert_near(d[0], slope((const double[]){2, 3, 4, 5, 6, 7, 8}, 7), 1e-12);
	assert_near(d[7], d[0], 1e-12);
	assert_near(d[3], slope((const double[]){3, 5, 7, 8}, 4), 1e-12);
	assert_ok(hsdag_fractal_dimensions(&star, d, &tmp, &err), &err);
	assert_near(d[0], 0, 0);
	assert_near(d[1], log(5.0 / 2) / log(2), 1e-12); /* 2 nodes within 1, 5 within 2 */
	assert_near(d[5], 0, 0);                         /* on its own */
	berth_arena_free(&tmp);
}

/* Parsings keep nodes and colocation groups whole, reach the target, and follow the scores. */
static void test_parsings(void **state)
{
	(void)state;
	small_problem x;
	hsdag_view v;
	hsdag_parsing a, b;
	berth_err err;
	small_problem_build(&x, "zoo:inception-v3", "cpu+2gpu");
	assert_ok(hsdag_view_new(&x.p, &x.mem, &x.tmp, &v, &err), &err);
	assert_true(v.g.n_nodes < x.p.n_ops); /* chains */
	for (size_t i = 0; i < (size_t)v.g.n_nodes * HSDAG_FEATURES; i++)
		assert_true(fabs((double)v.g.node_x[i]) <= 20);
	nn_real *scores = berth_arena_alloc(&x.mem, (size_t)v.g.n_edges, sizeof *scores);
	berth_rng rng = berth_rng_seed(1, 1);
	for (int k = 0; k < 2; k++) {
		hsdag_parsing *r = k ? &b : &a;
		for (int32_t e = 0; e < v.g.n_edges; e++)
			scores[e] = (nn_real)berth_rng_unit(&rng);
		assert_ok(hsdag_parsing_new(&v, &x.mem, r, &err), &err);
		assert_ok(hsdag_parse(&v, scores, 24, &x.mem, &x.tmp, r, &err), &err);
		assert_in_range(r->c.n, 16, 32); /* nodes stay whole: a little off */
		for (int32_t op = 0; op < x.p.n_ops; op++) {
			assert_in_range(r->op_cluster[op], 0, r->c.n - 1);
			assert_int_equal(r->op_cluster[op], r->c.node_cluster[v.nodes.op_group[op]]);
			assert_int_equal(r->op_cluster[op],
			                 r->op_cluster[x.p.coloc_op[x.p.coloc_off[x.p.op_coloc[op]]]]);
		}
	}
	assert_memory_not_equal(a.op_cluster, b.op_cluster, (size_t)x.p.n_ops * sizeof *a.op_cluster);
	small_problem_free(&x);
}

/* Both forms of HSDAG learn: the best of many draws is better than that of their first. With sanitizers they
 * draw less, and learn little. */
static void test_hsdag_learns(void **state)
{
	(void)state;
	small_problem x;
	small_problem_build(&x, "zoo:random:ops=60:seed=4", "hetero-cluster");
	for (int ppo = 0; ppo < 2; ppo++) {
		double value[2];
		for (int late = 0; late < 2; late++) { /* best of 100 draws, and of many */
			berth_search s;
			berth_search_cfg cfg = {.seed = 2,
			                        .evaluations = !late ? 100 : BERTH_DEBUG ? 400 : 4000};
			berth_hsdag_cfg how = berth_hsdag_cfg_default();
			berth_err err;
			how.ppo = ppo;
			assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
			assert_ok(berth_hsdag_run(&s, &how, &x.tmp, &err), &err);
			assert_int_equal(s.evaluations, cfg.evaluations);
			value[late] = s.best.value;
		}
		assert_true(BERTH_DEBUG ? value[1] <= value[0] : value[1] < value[0] * (ppo ? 0.7 : 0.99));
	}
	small_problem_free(&x);
}

/* `berth` is never worse than its portfolio, whatever the budget. */
static void test_never_worse_than_its_parts(void **state)
{
	(void)state;
	static const char *const graph[] = {"zoo:resnet50", "zoo:resnet18:batch=256:training=1",
	                                    "zoo:random:ops=120:seed=9"};
	static const char *const system[] = {"cpu+2gpu", "4gpu", "edge", "hetero-cluster"};
	static const int64_t budget[] = {0, 1, 50, 800};
	if (support_answers_left())
		return;
	int pairs = support_sampled(12, 3, "graphs on systems");
	for (int i = 0; i < 12; i += pairs == 12 ? 1 : 5) {
		small_problem x;
		berth_search parts;
		berth_portfolio portfolio;
		berth_search_cfg cfg = {.seed = 1};
		const berth_method *method;
		berth_err err;
		small_problem_build(&x, graph[i / 4], system[i % 4]);
		assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &parts, &err), &err);
		assert_ok(berth_portfolio_run(&parts, &x.mem, &x.tmp, &portfolio, &err), &err);
		assert_ok(berth_method_find("berth", &method, &err), &err);
		for (int b = 0; b < 4; b++) {
			berth_search s;
			cfg.evaluations = budget[b];
			assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
			assert_ok(berth_method_run(method, &s, &x.tmp, &err), &err);
			assert_false(berth_score_less(parts.best, s.best));
		}
		small_problem_free(&x);
	}
}

int main(void)
{
	const struct CMUnitTest threaded[] = {
		cmocka_unit_test(test_one_shot_threads),
		cmocka_unit_test(test_round_threads),
		cmocka_unit_test(test_methods),
	};
	const struct CMUnitTest alone[] = {
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_random_encodings),
		cmocka_unit_test(test_rewards),
		cmocka_unit_test(test_learns_a_toy),
		cmocka_unit_test(test_cloning_is_soft),
		cmocka_unit_test(test_config_is_checked),
		cmocka_unit_test(test_each_allocation_may_fail),
		cmocka_unit_test(test_fractal_dimensions),
		cmocka_unit_test(test_parsings),
		cmocka_unit_test(test_hsdag_learns),
		cmocka_unit_test(test_never_worse_than_its_parts),
	};
	int failed = cmocka_run_group_tests(threaded, NULL, NULL);
	return support_threads_only() ? failed : failed + cmocka_run_group_tests(alone, NULL, NULL);
}
