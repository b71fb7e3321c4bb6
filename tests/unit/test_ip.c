/* The integer program of the largest load and what stands on it: loads under moves against the evaluator,
 * the model against placements, ip against brute force and against the best values known of the shared
 * workloads (../shared/workloads; skipped without them). */
#include "bounds.h"
#include "load_system.h"
#include "max_load.h"
#include "max_load_lp.h"
#include "methods.h"
#include "rng.h"
#include "support.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct subject {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_eval eval;
} subject;

static void finish(subject *x)
{
	berth_objective throughput = berth_objective_of(BERTH_THROUGHPUT);
	berth_err err;
	assert_ok(berth_problem_new(&x->g, &x->s, &x->mem, &x->tmp, &x->p, &err), &err);
	assert_ok(berth_eval_new(&x->p, &throughput, &x->mem, &x->eval, &err), &err);
}

/* A random file: n nodes, some of one colour, some not for accelerators, memory for about half of them on
 * each. */
static void draw_subject(subject *x, uint64_t seed, int n, int n_acc, int n_cpu)
{
	char text[8192] = "", piece[512];
	berth_rng rng = berth_rng_seed(seed, 0);
	berth_err err;
	*x = (subject){0};
	sprintf(text, "{\"maxSizePerFPGA\":%d,\"maxFPGAs\":%d,\"maxCPUs\":%d,\"nodes\":[", 6 * n, n_acc,
	        n_cpu);
	for (int i = 0; i < n; i++) {
		unsigned acc = 1 + berth_rng_below(&rng, 9), bytes = berth_rng_below(&rng, 12);
		sprintf(piece,
		        "%s{\"id\":%d,\"supportedOnFpga\":%d,\"cpuLatency\":%u,\"fpgaLatency\":%u,"
		        "\"isBackwardNode\":0,\"size\":%u%s}",
		        i ? "," : "", i, berth_rng_below(&rng, 8) != 0, 3 * acc, acc, bytes,
		        i && i == n / 2 ? ",\"colorClass\":1"
		        : i == 0        ? ",\"colorClass\":1"
		                        : "");
		strcat(text, piece);
	}
	strcat(text, "],\"edges\":[");
	int n_edges = 0;
	for (int i = 0; i < n; i++) {
		unsigned cost = berth_rng_below(&rng, 6) == 0 ? 90 : berth_rng_below(&rng, 4);
		for (int k = i + 1; k < n; k++)
			if (berth_rng_below(&rng, 3) == 0) {
				sprintf(piece, "%s{\"sourceId\":%d,\"destId\":%d,\"cost\":%u}",
				        n_edges++ ? "," : "", i, k, cost);
				strcat(text, piece);
			}
	}
	strcat(text, "]}");
	assert_ok(berth_tarnawski_parse("drawn", text, strlen(text), &x->mem, &x->tmp, &x->g, &x->s, &err),
	          &err);
	finish(x);
}

static bool open_file(subject *x, const char *name)
{
	char path[512];
	*x = (subject){0};
	snprintf(path, sizeof path, BERTH_WORKLOADS "/dnn-partitioning/throughput/%s.json", name);
	berth_err err;
	berth_status st = berth_instance_load(path, NULL, NULL, &x->mem, &x->tmp, &x->g, &x->s, NULL, &err);
	if (st == BERTH_EIO)
		return false;
	assert_ok(st, &err);
	finish(x);
	return true;
}

static void close_subject(subject *x)
{
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
}

static double largest(const berth_max_load *m)
{
	double most = 0;
	for (int32_t d = 0; d < m->p->n_devs; d++)
		most = fmax(most, m->load_s[d]);
	return most;
}

/* A random legal placement of the items. */
static void scatter(const berth_max_load *m, berth_rng *rng, int32_t *op_dev)
{
	for (int32_t i = 0; i < m->n_items; i++) {
		int32_t dev;
		do
			dev = (int32_t)berth_rng_below(rng, (uint32_t)m->p->n_devs);
		while (isinf(m->item_s[(size_t)i * (size_t)m->p->n_devs + (size_t)dev]));
		for (int32_t k = m->item_off[i]; k < m->item_off[i + 1]; k++)
			op_dev[m->item_op[k]] = dev;
	}
}

/* After every move the loads are those of the evaluator. */
static void follow_moves(subject *x, uint64_t seed)
{
	berth_max_load m;
	berth_err err;
	berth_rng rng = berth_rng_seed(seed, 1);
	int32_t *op_dev = calloc((size_t)x->p.n_ops, sizeof *op_dev);
	assert_non_null(op_dev);
	assert_ok(berth_max_load_new(&x->p, INFINITY, &x->mem, &x->tmp, &m, &err), &err);
	assert_int_equal(m.n_items, x->p.n_colocs);
	scatter(&m, &rng, op_dev);
	berth_max_load_place(&m, op_dev);
	for (int step = 0; step < 200; step++) {
		double value = berth_eval_run(&x->eval, op_dev, NULL).value;
		assert_near(largest(&m), value, 1e-9 * (1 + value));
		int32_t item = (int32_t)berth_rng_below(&rng, (uint32_t)m.n_items),
			dev = (int32_t)berth_rng_below(&rng, (uint32_t)x->p.n_devs);
		if (berth_max_load_fits(&m, item, dev))
			berth_max_load_move(&m, item, dev);
		berth_max_load_devs(&m, op_dev);
	}
	free(op_dev);
}

static void test_loads_follow_moves(void **state)
{
	(void)state;
	static const char *const files[] = {"layer_bert24_training", "op_bert_l-3_training"};
	subject x;
	for (uint64_t seed = 1; seed <= 40; seed++) {
		draw_subject(&x, seed, 12, 3, 2);
		follow_moves(&x, seed);
		close_subject(&x);
	}
	for (int k = 0; k < 2; k++) {
		if (!open_file(&x, files[k]))
			skip();
		follow_moves(&x, 1);
		close_subject(&x);
	}
}

/* Any placement is a solution of its own model, whose value is its load. */
static void test_placements_are_solutions(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 60; seed++) {
		subject x;
		berth_max_load m;
		berth_max_load_lp l;
		berth_err err;
		int32_t op_dev[12];
		berth_rng rng = berth_rng_seed(seed, 2);
		draw_subject(&x, seed, 12, 3, 1);
		assert_ok(berth_max_load_new(&x.p, 60, &x.mem, &x.tmp, &m, &err), &err);
		scatter(&m, &rng, op_dev);
		berth_max_load_place(&m, op_dev);
		berth_score score = berth_eval_run(&x.eval, op_dev, NULL);
		assert_ok(berth_max_load_lp_new(&m, 0, &x.mem, &l, &err), &err);
		assert_near(berth_lp_value(&l.lp, l.start), score.value, 1e-8 * score.value);
		double violation = berth_lp_violation(&l.lp, l.start);
		assert_true(score.excess > 0 ? violation > 0 : violation < 1e-9); /* too little memory is the
		                                                                     only thing that can be
		                                                                     wrong */
		close_subject(&x);
	}
}

/* The least largest load over all placements; INFINITY: none fits. */
static double brute_force(subject *x)
{
	int32_t op_dev[8] = {0};
	double best = INFINITY;
	for (;;) {
		bool legal = true;
		for (int32_t op = 0; op < x->p.n_ops; op++)
			legal &= berth_op_legal(&x->p, op, op_dev[op]) &&
			         op_dev[op] == op_dev[x->p.coloc_op[x->p.coloc_off[x->p.op_coloc[op]]]];
		if (legal) {
			berth_score score = berth_eval_run(&x->eval, op_dev, NULL);
			best = berth_score_feasible(score) ? fmin(best, score.value) : best;
		}
		int32_t op = 0;
		while (op < x->p.n_ops && ++op_dev[op] == x->p.n_devs)
			op_dev[op++] = 0;
		if (op == x->p.n_ops)
			return best;
	}
}

static berth_search run_on(subject *x, const char *method, int64_t nodes, int64_t evaluations)
{
	berth_search s;
	berth_search_cfg cfg = {.objective = berth_objective_of(BERTH_THROUGHPUT),
	                        .seed = 1,
	                        .nodes = nodes,
	                        .evaluations = evaluations};
	const berth_method *m;
	berth_err err;
	assert_ok(berth_search_new(&x->p, &cfg, &x->mem, &s, &err), &err);
	assert_ok(berth_method_find(method, &m, &err), &err);
	assert_ok(berth_method_run(m, &s, &x->tmp, &err), &err);
	return s;
}

static berth_search run_ip(subject *x, int64_t nodes)
{
	return run_on(x, "ip", nodes, 0);
}

static void test_brute_force(void **state)
{
	(void)state;
	int proven = 0, counted = 0;
	const int n = BERTH_DEBUG ? 9 : support_sampled(30, 15, "instances");
	for (uint64_t seed = 1; seed <= (uint64_t)n; seed++) {
		subject x;
		berth_max_load m;
		berth_err err;
		double bound;
		draw_subject(&x, seed, 7, 2, seed % 2 ? 1 : 2);
		double best = brute_force(&x);
		berth_search s = run_ip(&x, 0);
		assert_true(isfinite(best) == berth_score_feasible(s.best));
		if (isfinite(best)) {
			assert_near(s.best.value, best, 1e-9 * best);
			assert_true(isnan(s.bound) || s.bound <= best * (1 + 1e-9));
			assert_ok(berth_max_load_new(&x.p, best, &x.mem, &x.tmp, &m, &err), &err);
			assert_ok(berth_max_load_bound(&m, best, &x.tmp, &bound, &err), &err);
			assert_true(bound <= best);
			counted += bound > 0.8 * best;
			proven += s.proof == BERTH_PROOF_OPTIMAL;
			assert_true(berth_lp_missing() || s.proof == BERTH_PROOF_OPTIMAL);
		}
		close_subject(&x);
	}
	assert_true(berth_lp_missing() || proven >= 2 * n / 3);
	assert_true(BERTH_DEBUG || counted >= 1);
}

/* `berth` knows that the largest load is all there is to it. */
static void test_berth_balances(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 10; seed++) {
		subject x;
		draw_subject(&x, seed, 7, 2, seed % 2 ? 1 : 2);
		double best = brute_force(&x);
		berth_search s = run_on(&x, "berth", 0, 1200);
		assert_true(isfinite(best) == berth_score_feasible(s.best));
		if (isfinite(best))
			assert_near(s.best.value, best, 1e-9 * best);
		close_subject(&x);
	}
	static const struct {
		const char *file;
		double ms; /* that walks which simulate do not reach in 10,000 evaluations */
	} w[] = {{"op_bert_l-6_inference", 29400}, {"layer_resnet50_inference", 33780}};
	for (size_t i = 0; i < sizeof w / sizeof *w; i++) {
		subject x;
		if (!open_file(&x, w[i].file))
			continue;
		berth_search s = run_on(&x, "berth", 0, 3000);
		assert_true(s.best.value * 1e3 <= w[i].ms && s.evaluations <= 3000);
		int64_t made = s.evaluations;
		assert_true(run_on(&x, "berth", 0, made).best.value == s.best.value);
		close_subject(&x);
	}
}

/* Published optima and best known values without contiguity; at most half a percent above. */
static void test_workloads(void **state)
{
	(void)state;
	static const struct {
		const char *file;
		double known, contiguous;
	} rows[] = {
		{"layer_bert24_inference", 17.71, 17.790}, {"layer_bert24_training", 39.79, 41.746},
		{"op_bert_l-3_inference", 21.91, 27.92},
		{"op_bert_l-6_inference", 28.33, 29.58},
	};
	for (size_t k = 0; k < (BERTH_DEBUG ? 1 : sizeof rows / sizeof *rows); k++) {
		subject x;
		if (!open_file(&x, rows[k].file))
			skip();
		berth_search s = run_ip(&x, 1);
		assert_true(berth_score_feasible(s.best));
		assert_true(s.best.value <= rows[k].known * 1.005 && s.best.value < rows[k].contiguous);
		assert_true(s.bound <= s.best.value && s.bound > 0.8 * s.best.value);
		if (k < 2)
			assert_true(s.bound >= s.best.value / 1.001); /* by counting: one accelerator has five
			                                                 of the 25 largest layers */
		close_subject(&x);
	}
}

static void test_refuses(void **state)
{
	(void)state;
	subject x;
	berth_search s;
	berth_search_cfg cfg = {.objective = berth_objective_of(BERTH_LATENCY), .seed = 1};
	const berth_method *m;
	berth_err err;
	draw_subject(&x, 1, 6, 2, 1);
	assert_ok(berth_method_find("ip", &m, &err), &err);
	assert_ok(berth_search_new(&x.p, &cfg, &x.mem, &s, &err), &err);
	assert_int_equal(berth_method_run(m, &s, &x.tmp, &err), BERTH_EUNSUPPORTED);
	close_subject(&x);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_loads_follow_moves),
		cmocka_unit_test(test_placements_are_solutions),
		cmocka_unit_test(test_brute_force),
		cmocka_unit_test(test_berth_balances),
		cmocka_unit_test(test_workloads),
		cmocka_unit_test(test_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
