/* The policy that ships, and what a search gets from it. */
#include "methods.h"
#include "policy_file.h"
#include "proposals.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <string.h>

typedef struct subject {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_search search;
} subject;

static void open_for(subject *x, const char *graph, const char *system, const berth_search_cfg *cfg)
{
	berth_err err;
	*x = (subject){0};
	assert_ok(berth_zoo_build(graph, &x->mem, &x->tmp, &x->g, &err), &err);
	assert_ok(berth_system_builtin(system, &x->mem, &x->tmp, &x->s, &err), &err);
	assert_ok(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err), &err);
	assert_ok(berth_search_new(&x->p, cfg, &x->mem, &x->search, &err), &err);
}

static void open_subject(subject *x, const char *graph, const char *system, int64_t evaluations,
                         berth_pool *pool)
{
	open_for(x, graph, system,
	         &(berth_search_cfg){.seed = 3, .evaluations = evaluations, .pool = pool});
}

static void close_subject(subject *x)
{
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
}

static void test_builtin_is_whole(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_policy_file f;
	berth_err err;
	assert_ok(berth_policy_builtin(&mem, &f, &err), &err);
	assert_int_equal(f.cfg.decoding, BERTH_SEQUENTIAL);
	for (size_t i = 0; i < policy_param_count(&f.dims); i++)
		assert_true(isfinite(f.params[i]));
	berth_arena_free(&mem);
}

static double value_of(const char *graph, const char *system, const char *method)
{
	subject x;
	const berth_method *m;
	berth_err err;
	open_subject(&x, graph, system, 0, NULL);
	assert_ok(berth_method_find(method, &m, &err), &err);
	assert_ok(berth_method_run(m, &x.search, &x.tmp, &err), &err);
	double value = berth_score_feasible(x.search.best) ? x.search.best.value : INFINITY;
	close_subject(&x);
	return value;
}

/* Every file that ships is scored: on models and machines that it was not trained on, one forward pass is
 * better than HEFT in geometric mean. */
static void test_shipped_policy_beats_heft(void **state)
{
	(void)state;
	static const char *const graphs[] = {"zoo:inception-v3:batch=16",
	                                     "zoo:nasnet-a:size=mobile:batch=8",
	                                     "zoo:gpt2",
	                                     "zoo:gnmt:seq=6",
	                                     "zoo:moe:layers=4",
	                                     "zoo:random:ops=400:seed=77",
	                                     "zoo:random:ops=150:seed=78:ccr=1"};
	static const char *const systems[] = {"cpu+2gpu",       "4gpu",
	                                      "edge",           "hetero-cluster",
	                                      "random:seed=77", "random:devices=3:topology=bus:seed=78"};
	enum { N = sizeof graphs / sizeof *graphs, M = sizeof systems / sizeof *systems };
	double sum = 0;
	int wins = 0, losses = 0, n = 0;
	for (int i = 0; i < N; i++)
		for (int k = 0; k < M; k++) {
			double heft = value_of(graphs[i], systems[k], "heft"),
			       policy = value_of(graphs[i], systems[k], "policy");
			if (!isfinite(heft) || !isfinite(policy))
				continue;
			sum += log(policy / heft);
			wins += policy < 0.999 * heft;
			losses += policy > 1.001 * heft;
			n++;
		}
	print_message("policy / HEFT %.3f in geometric mean, better on %d, worse on %d of %d\n", exp(sum / n),
	              wins, losses, n);
	assert_true(n >= 30);
	assert_true(exp(sum / n) < 0.97);
	assert_true(wins > losses);
}

/* Draws in two calls are those of one call, on any number of workers; each costs two evaluations; the budget
 * is kept. */
static void test_draws(void **state)
{
	(void)state;
	double value[4];
	int32_t dev[4][512];
	for (int k = 0; k < 4; k++) {
		subject x;
		berth_pool *pool = NULL;
		berth_err err;
		const berth_policy_file *f;
		berth_proposals p;
		if (k > 1)
			assert_ok(berth_pool_new(k, &pool, &err), &err);
		open_subject(&x, "zoo:inception-v3", "hetero-cluster", 101, pool);
		assert_ok(berth_proposals_policy(&x.search, &x.mem, &f, &err), &err);
		assert_ok(berth_proposals_new(f, &x.search, &x.mem, &x.tmp, &p, &err), &err);
		berth_proposals_offer_draws(&p, k == 1 ? 20 : 1000);
		berth_proposals_offer_draws(&p, 1000);
		assert_int_equal(x.search.evaluations, 100); /* one is left over */
		value[k] = x.search.best.value;
		memcpy(dev[k], x.search.best_dev, (size_t)x.p.n_ops * sizeof *dev[k]);
		assert_true(value[k] == value[0]);
		assert_memory_equal(dev[k], dev[0], (size_t)x.p.n_ops * sizeof *dev[k]);
		close_subject(&x);
		if (pool)
			berth_pool_free(pool);
	}
}

/* What the policy makes of answers of heuristics is legal and of their quality: over some pairs better in
 * geometric mean than the best of those answers and of the plain pass. */
static void test_revised(void **state)
{
	(void)state;
	static const char *const graphs[] = {"zoo:inception-v3:batch=16", "zoo:nasnet-a:size=mobile:batch=8",
	                                     "zoo:gnmt:seq=6", "zoo:random:ops=150:seed=78:ccr=1"};
	static const char *const methods[] = {"heft", "ceft-cpop", "pbqp", "scotch", "metis"};
	enum { N = sizeof graphs / sizeof *graphs, M = sizeof methods / sizeof *methods };
	double sum = 0;
	for (int i = 0; i < N; i++) {
		subject x, known;
		const berth_policy_file *f;
		berth_proposals p;
		berth_err err;
		open_subject(&x, graphs[i], "edge", 0, NULL);
		assert_ok(berth_proposals_policy(&x.search, &x.mem, &f, &err), &err);
		assert_ok(berth_proposals_new(f, &x.search, &x.mem, &x.tmp, &p, &err), &err);
		assert_ok(berth_proposals_offer_greedy(&p, &x.tmp, &err), &err);
		double before = x.search.best.value;
		for (int k = 0; k < M; k++) {
			const berth_method *m;
			int64_t made = x.search.evaluations;
			open_subject(&known, graphs[i], "edge", 0, NULL);
			assert_ok(berth_method_find(methods[k], &m, &err), &err);
			assert_ok(berth_method_run(m, &known.search, &known.tmp, &err), &err);
			before = fmin(before, known.search.best.value);
			const int32_t *twice[] = {known.search.best_dev, known.search.best_dev};
			assert_ok(berth_proposals_offer_revised(&p, 1, twice, &x.tmp, &err), &err);
			assert_true(x.search.evaluations >= made + 4); /* two passes at least */
			/* One that stands there twice is revised once. */
			made = x.search.evaluations;
			assert_ok(berth_proposals_offer_revised(&p, 2, twice, &x.tmp, &err), &err);
			assert_int_equal(x.search.evaluations, made);
			close_subject(&known);
		}
		assert_true(berth_score_feasible(x.search.best));
		sum += log(x.search.best.value / before) / N;
		close_subject(&x);
	}
	print_message("revised / best before %.4f in geometric mean\n", exp(sum));
	assert_true(sum < 0);
}

/* What `policy` is with fewer starts: one device, and passes from nothing and from each of these. */
static double value_with_fewer(const char *graph, const berth_search_cfg *cfg)
{
	static const char *const methods[] = {"heft", "ceft-cpop", "scotch", "metis"};
	subject x, known;
	const berth_method *m;
	const berth_policy_file *f;
	berth_proposals p;
	berth_err err;
	open_for(&x, graph, "hetero-cluster", cfg);
	assert_ok(berth_method_find("single", &m, &err), &err);
	assert_ok(berth_method_run(m, &x.search, &x.tmp, &err), &err);
	assert_ok(berth_proposals_policy(&x.search, &x.mem, &f, &err), &err);
	assert_ok(berth_proposals_new(f, &x.search, &x.mem, &x.tmp, &p, &err), &err);
	assert_ok(berth_proposals_offer_greedy(&p, &x.tmp, &err), &err);
	for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
		open_for(&known, graph, "hetero-cluster", cfg);
		assert_ok(berth_method_find(methods[i], &m, &err), &err);
		if (berth_method_run(m, &known.search, &known.tmp, &err) == BERTH_OK)
			assert_ok(berth_proposals_offer_revised(
					  &p, 1, (const int32_t *[]){known.search.best_dev}, &x.tmp, &err),
			          &err);
		close_subject(&known);
	}
	double value = x.search.best.value;
	close_subject(&x);
	return value;
}

/* log of what method `policy` comes to by that; its evaluations are added to made. */
static double gained(const char *graph, const berth_search_cfg *cfg, int64_t *made)
{
	subject x;
	const berth_method *m;
	berth_err err;
	open_for(&x, graph, "hetero-cluster", cfg);
	assert_ok(berth_method_find("policy", &m, &err), &err);
	assert_ok(berth_method_run(m, &x.search, &x.tmp, &err), &err);
	double gain = log(x.search.best.value / value_with_fewer(graph, cfg));
	*made += x.search.evaluations;
	close_subject(&x);
	return gain;
}

/* Method `policy` gains by what it begins at, for each objective; `pbqp`, some 40 evaluations, is among it
 * where joules count. */
static void test_begins(void **state)
{
	(void)state;
	static const char *const graphs[] = {"zoo:inception-v3:batch=16", "zoo:nasnet-a:size=mobile:batch=8",
	                                     "zoo:gnmt:seq=6", "zoo:random:ops=150:seed=78:ccr=1"};
	static const berth_metric metrics[] = {BERTH_LATENCY, BERTH_ENERGY, BERTH_EDP, BERTH_THROUGHPUT};
	enum { N = sizeof graphs / sizeof *graphs, M = sizeof metrics / sizeof *metrics };
	int64_t made[M] = {0};
	for (int k = 0; k < M; k++) {
		berth_search_cfg cfg = {.seed = 3, .objective = berth_objective_of(metrics[k])};
		double sum = 0;
		for (int i = 0; i < N; i++)
			sum += gained(graphs[i], &cfg, &made[k]) / N;
		print_message("%s: policy / with fewer starts %.4f in geometric mean\n",
		              berth_metrics[metrics[k]].name, exp(sum));
		assert_true(sum < 0.01); /* of four graphs */
	}
	assert_true(made[1] > made[0] + 30 * N && made[2] > made[0] + 30 * N);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builtin_is_whole),
		cmocka_unit_test(test_shipped_policy_beats_heft),
		cmocka_unit_test(test_draws),
		cmocka_unit_test(test_revised),
		cmocka_unit_test(test_begins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
