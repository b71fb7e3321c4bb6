/* Programs of pieces, in memory: they are what is written, pieces stand where they are told to, and the
 * search over them is never worse than whole operators and depends on nothing but its budget and seed. */
#include "constraints.h"
#include "cut_search.h"
#include "cut_seeds.h"
#include "fail_each.h"
#include "file.h"
#include "load.h"
#include "load_system.h"
#include "onnx_bytes.h"
#include "onnx_model.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A fixture on a system, ready to be cut. */
typedef struct bench {
	berth_graph g, ruled, step;
	berth_system s;
	berth_problem p, placed;
	berth_bounds bounds;
	berth_cutting c;
	berth_training_options training;
} bench;

/* The model, for the system that is there. read may be NULL. */
static berth_status bench_read(bench *b, const char *data, size_t size, const berth_read_options *read,
                               berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	pieces_source *source;
	BERTH_TRY(berth_graph_parse("m.onnx", data, size, read, mem, tmp, &b->g, NULL, err));
	BERTH_TRY(berth_problem_new(&b->g, &b->s, mem, tmp, &b->p, err));
	BERTH_TRY(berth_bounds_new(&b->p, tmp, &b->bounds, err));
	BERTH_TRY(pieces_open("m.onnx", (const unsigned char *)data, size, read, mem, &source, err));
	b->c = (berth_cutting){.name = "m.onnx",
	                       .source = source,
	                       .p = &b->p,
	                       .placed = &b->p,
	                       .objective = berth_search_cfg_default().objective};
	return berth_cutting_open(&b->c, mem, err);
}

static berth_status bench_open(bench *b, const char *name, const char *system, berth_arena *mem,
                               berth_arena *tmp, berth_err *err)
{
	static const char *dim[] = {"batch=8"};
	static const berth_read_options batch = {.dim = dim, .n_dims = 1}; /* the bench keeps it */
	char path[300], *data;
	size_t size;
	snprintf(path, sizeof path, "%s/%s.onnx", BERTH_FIXTURES, name);
	BERTH_TRY(berth_file_read(BERTH_READS_MODEL, path, mem, &data, &size, err));
	BERTH_TRY(berth_system_load(system, NULL, mem, tmp, &b->s, err));
	return bench_read(b, data, size, strstr(name, "_batch") ? &batch : NULL, mem, tmp, err);
}

static int32_t op_of(const berth_graph *g, const char *name)
{
	for (int32_t op = 0; op < g->n_ops; op++)
		if (strcmp(g->op_name[op], name) == 0)
			return op;
	fail_msg("no operator %s", name);
	return -1;
}

/* ---- programs ---- */

/* Pieces stand on the devices of their ways, and the graph is that of the file that would be written. */
static void check_program(const bench *b, const berth_cut_op *op, const berth_cut_program *x,
                          berth_arena *mem, berth_arena *tmp)
{
	size_t size;
	const char *data = berth_file_join(x->made.piece, x->made.n_pieces, mem, &size);
	berth_graph g;
	berth_eval e;
	berth_err err;
	assert_ok(berth_graph_parse("m.onnx", data, size, NULL, mem, tmp, &g, NULL, &err), &err);
	assert_int_equal(g.n_ops, x->g.n_ops);
	for (int32_t i = 0; i < g.n_ops; i++)
		assert_string_equal(g.op_name[i], x->g.op_name[i]);
	for (int32_t i = 0; i < x->made.n_made; i++) {
		const pieces_made *m = &x->made.made[i];
		const berth_cut_way *way = op[op_of(&b->g, m->op)].way;
		assert_int_equal(m->k, way->k);
		for (int32_t k = 0; k < m->k; k++)
			assert_int_equal(x->op_dev[op_of(&x->g, m->name[k])], way->dev[k]);
	}
	assert_ok(berth_eval_new(&x->p, &b->c.objective, mem, &e, &err), &err);
	berth_score s = berth_eval_run(&e, x->op_dev, x->order);
	assert_true(s.value == x->score.value && s.excess == x->score.excess);
}

static void test_seeds(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	bench b;
	berth_err err;
	berth_cut_op *op;
	int32_t *whole, n = 0;
	assert_ok(bench_open(&b, "mobilenet_v2", "system:cpu+2gpu", &mem, &tmp, &err), &err);
	op = berth_arena_alloc(&mem, (size_t)b.p.n_ops, sizeof *op);
	whole = berth_arena_alloc(&mem, (size_t)b.p.n_ops, sizeof *whole);
	assert_true(op && whole);
	b.c.whole_dev = whole;
	for (int32_t k = 0; k < berth_n_cut_seeds; k++)
		for (int32_t i = 0;; i++, n++) {
			berth_cut_program x;
			bool more;
			assert_ok(berth_cut_seeds[k].make(&b.c, i, &mem, op, &more, &err), &err);
			if (!more)
				break;
			assert_ok(berth_cut_program_make(&b.c, op, &mem, &tmp, &x, &err), &err);
			assert_true(berth_score_feasible(x.score));
			assert_true((x.made.n_made > 0) == (strcmp(berth_cut_seeds[k].name, "whole") != 0));
			check_program(&b, op, &x, &mem, &tmp);
		}
	assert_true(n > berth_n_cut_seeds);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Whatever is drawn can be made. */
static void test_moves(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0}, each = {0};
	bench b;
	berth_err err;
	berth_rng rng = berth_rng_seed(1, 0);
	berth_cut_moves m;
	berth_cut_op *op;
	bool moved, more;
	int32_t n = 0;
	assert_ok(bench_open(&b, "tagger", "system:cpu+2gpu", &mem, &tmp, &err), &err);
	op = berth_arena_alloc(&mem, (size_t)b.p.n_ops, sizeof *op);
	assert_non_null(op);
	assert_ok(berth_cut_seeds[1].make(&b.c, 0, &mem, op, &more, &err), &err);
	assert_ok(berth_cut_moves_new(&b.c, &mem, &m, &err), &err);
	for (int32_t i = 0; i < 200; i++) {
		berth_cut_program x;
		assert_ok(berth_cut_moves_draw(&m, &rng, op, &moved, &err), &err);
		n += moved;
		if (!moved)
			continue;
		assert_ok(berth_cut_program_make(&b.c, op, &each, &tmp, &x, &err), &err);
		check_program(&b, op, &x, &each, &tmp);
		berth_arena_free(&each);
	}
	assert_true(n > 100);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* ---- rules and training steps ---- */

/* Rules, and then a training step of that. */
static berth_status bench_place(bench *b, const berth_rule_texts *rules, bool training, berth_arena *mem,
                                berth_arena *tmp, berth_err *err)
{
	b->ruled = b->g;
	BERTH_TRY(berth_graph_add_rules(rules, &b->s, mem, tmp, &b->ruled, err));
	b->c.ruled = b->ruled.plain ? &b->ruled : NULL;
	b->step = b->ruled;
	b->training = berth_training_options_default();
	b->c.training = training ? &b->training : NULL;
	if (training)
		BERTH_TRY(berth_graph_training(&b->ruled, &b->training, mem, tmp, &b->step, err));
	BERTH_TRY(berth_problem_new(&b->step, &b->s, mem, tmp, &b->placed, err));
	b->c.placed = &b->placed;
	BERTH_TRY(berth_cutting_open(&b->c, mem, err));
	return berth_bounds_new(&b->placed, tmp, &b->bounds, err);
}

/* What a program of a training step is: the step of the file that would be written, and legal. */
static void check_step(const berth_cut_program *x, berth_arena *mem, berth_arena *tmp)
{
	size_t size;
	const char *data = berth_file_join(x->made.piece, x->made.n_pieces, mem, &size);
	berth_training_options opt = berth_training_options_default();
	berth_graph g, step;
	berth_err err;
	opt.replicas = x->replicas;
	assert_ok(berth_graph_parse("m.onnx", data, size, NULL, mem, tmp, &g, NULL, &err), &err);
	assert_ok(berth_graph_training(&g, &opt, mem, tmp, &step, &err), &err);
	assert_int_equal(step.n_ops, x->g.n_ops);
	for (int32_t i = 0; i < step.n_ops; i++) {
		assert_string_equal(step.op_name[i], x->g.op_name[i]);
		assert_true(berth_op_legal(&x->p, i, x->op_dev[i]));
		assert_int_equal(x->op_dev[i], x->op_dev[x->p.coloc_op[x->p.coloc_off[x->p.op_coloc[i]]]]);
	}
	assert_true(!x->order || berth_order_is_topological(&x->g, x->order, tmp));
}

/* Data parallelism has a copy of weights for each piece, a pipeline one; whose order keeps less. */
static void test_step(void **state)
{
	(void)state;
	static const berth_rule_texts none = {.n_pins = 0};
	berth_arena mem = {0}, tmp = {0};
	bench b;
	berth_err err;
	berth_cut_op *op;
	int32_t n[2] = {0};
	assert_ok(bench_open(&b, "resnet18_batch", "system:4gpu", &mem, &tmp, &err), &err);
	assert_ok(bench_place(&b, &none, true, &mem, &tmp, &err), &err);
	op = berth_arena_alloc(&mem, (size_t)b.p.n_ops, sizeof *op);
	assert_non_null(op);
	for (int32_t k = 3; k < berth_n_cut_seeds; k++)
		for (int32_t i = 0; i < 3; i++) {
			berth_cut_program x;
			bool more, pipeline = strcmp(berth_cut_seeds[k].name, "pipeline") == 0;
			assert_ok(berth_cut_seeds[k].make(&b.c, i, &mem, op, &more, &err), &err);
			assert_true(more);
			assert_ok(berth_cut_program_make(&b.c, op, &mem, &tmp, &x, &err), &err);
			check_step(&x, &mem, &tmp);
			assert_int_equal(x.replicas, pipeline);
			assert_int_equal(x.evaluations, pipeline ? 5 : 3);
			n[pipeline]++;
		}
	assert_true(n[0] == 6 && n[1] == 3);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* What is pinned is whole and there; what is forbidden holds for pieces, and for what stands between them. */
static void test_rules(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	bench b;
	berth_err err;
	berth_cut_program x;
	berth_cut_op *op;
	bool more;
	assert_ok(bench_open(&b, "vit", "system:4gpu", &mem, &tmp, &err), &err);
	const char *pin = berth_arena_printf(&mem, "%s=gpu2", b.g.op_name[20]), *forbid = "*=gpu1";
	const berth_rule_texts rules = {.pin = &pin, .forbid = &forbid, .n_pins = 1, .n_forbids = 1};
	assert_ok(bench_place(&b, &rules, true, &mem, &tmp, &err), &err);
	op = berth_arena_alloc(&mem, (size_t)b.p.n_ops, sizeof *op);
	assert_non_null(op);
	assert_ok(berth_cut_seeds[1].make(&b.c, 2, &mem, op, &more, &err), &err);
	assert_false(more); /* three devices are left */
	assert_ok(berth_cut_seeds[1].make(&b.c, 1, &mem, op, &more, &err), &err);
	assert_true(more);
	assert_ok(berth_cut_program_make(&b.c, op, &mem, &tmp, &x, &err), &err);
	assert_true(x.made.n_made > 20);
	check_step(&x, &mem, &tmp);
	assert_int_equal(x.op_dev[op_of(&x.g, b.g.op_name[20])], 2);
	for (int32_t i = 0; i < x.g.n_ops; i++)
		assert_true(x.op_dev[i] != 1);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* ---- the search ---- */

static berth_status search(bench *b, const char *method, int64_t evaluations, berth_pool *pool,
                           berth_arena *mem, berth_arena *tmp, berth_cut_result *r, berth_err *err)
{
	const berth_method *m;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.evaluations = evaluations;
	cfg.pool = pool;
	BERTH_TRY(berth_method_find(method, &m, err));
	return berth_cut_search(&b->c, &b->bounds, m, &cfg, NULL, NULL, mem, tmp, r, err);
}

static void check_answer(bench *b, const berth_cut_result *r, berth_arena *mem)
{
	berth_eval e;
	berth_err err;
	assert_true(r->whole.feasible && r->cut.program && r->cut.r.feasible);
	assert_int_equal(r->gains, r->cut.r.value < r->whole.value);
	assert_true(r->cut.r.value <= r->cut.program->score.value);
	assert_ok(berth_eval_new(&r->cut.program->p, &b->c.objective, mem, &e, &err), &err);
	assert_true(berth_eval_run(&e, r->cut.r.op_dev, r->cut.r.op_order).value == r->cut.r.value);
}

/* Four like devices: pieces win. A model of eight small operators: whole ones do. On any number of threads.
 */
static void test_search(void **state)
{
	(void)state;
	static const struct {
		const char *model;
		bool gains;
	} cases[] = {{"vit", true}, {"tagger", false}};
	for (int i = 0; i < 2; i++) {
		berth_arena mem = {0}, tmp = {0};
		bench b;
		berth_cut_result one, two;
		berth_pool *pool;
		berth_err err;
		assert_ok(bench_open(&b, cases[i].model, "system:4gpu", &mem, &tmp, &err), &err);
		assert_ok(search(&b, "local-search", 200, NULL, &mem, &tmp, &one, &err), &err);
		check_answer(&b, &one, &mem);
		assert_int_equal(one.gains, cases[i].gains);
		assert_ok(berth_pool_new(2, &pool, &err), &err);
		assert_ok(search(&b, "local-search", 200, pool, &mem, &tmp, &two, &err), &err);
		assert_true(one.cut.r.value == two.cut.r.value && one.programs == two.programs);
		assert_true(one.whole.value == two.whole.value && one.evaluations == two.evaluations);
		berth_pool_free(pool);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* All evaluations are counted. A budget that is less than what the method answers at once is for one program.
 */
static void test_small_budget(void **state)
{
	(void)state;
	for (int64_t budget = 20; budget <= 80; budget += 30) {
		berth_arena mem = {0}, tmp = {0};
		bench b;
		berth_cut_result r;
		berth_err err;
		assert_ok(bench_open(&b, "vit", "system:4gpu", &mem, &tmp, &err), &err);
		assert_ok(search(&b, "local-search", budget, NULL, &mem, &tmp, &r, &err), &err);
		check_answer(&b, &r, &mem);
		assert_int_equal(r.programs, budget / 4);
		assert_int_equal(r.evaluations,
		                 r.whole.evaluations + 3 * (r.programs + 1) + r.cut.r.evaluations);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* ---- the bound ---- */

/* Two devices that are good at unlike things, with hardly anything between them. */
static const char unlike[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"unlike\",\"devices\":["
	"{\"name\":\"a\",\"peak_flops\":1e6,\"mem_bandwidth\":2e6,\"op_overhead_s\":1e-9},"
	"{\"name\":\"b\",\"peak_flops\":4e5,\"mem_bandwidth\":5e6,\"op_overhead_s\":1e-9}],\"links\":["
	"{\"from\":\"a\",\"to\":\"b\",\"latency_s\":1e-9,\"bandwidth\":1e12,\"both_ways\":true}]}";

/* Two products, of which the first is bound by its work; or a convolution that reads every second row, bound
 * by its bytes, and what follows it. */
static bytes small_model(bool conv)
{
	bytes graph = {0}, file = {0}, attrs = {0};
	const int64_t strides[] = {2, 2};
	put_value(&graph, 11, "x", ONNX_FLOAT, conv ? "1,1,7,6" : "4,6");
	put_value(&graph, 12, "z", ONNX_FLOAT, conv ? "1,1,4,3" : "4,3");
	put_weight(&graph, "w", ONNX_FLOAT, conv ? "1,1,1,1" : "6,4");
	if (conv) {
		attr_ints(&attrs, "strides", strides, 2);
		put_node(&graph, "Conv", "first", "x,w", "y", &attrs);
		put_node(&graph, "Relu", "second", "y", "z", NULL);
	} else {
		put_weight(&graph, "v", ONNX_FLOAT, "4,3");
		put_node(&graph, "MatMul", "first", "x,w", "y", NULL);
		put_node(&graph, "MatMul", "second", "y,v", "z", NULL);
	}
	put_model(&file, &graph, 17);
	return file;
}

/* The best value of a program over all placements of what it has. */
static double best_placement(const berth_cut_program *x, const berth_objective *o, berth_arena *mem)
{
	berth_eval e;
	berth_err err;
	double best = x->score.value;
	assert_true(x->g.n_ops <= 10);
	assert_ok(berth_eval_new(&x->p, o, mem, &e, &err), &err);
	for (uint32_t bits = 0; bits < 1u << x->g.n_ops; bits++) {
		for (int32_t op = 0; op < x->g.n_ops; op++)
			x->op_dev[op] = bits >> op & 1;
		double value = berth_eval_run(&e, x->op_dev, NULL).value;
		best = value < best ? value : best;
	}
	return best;
}

/* What the n-th choice makes of an operator; false: there are no more. */
static bool choose(const pieces_axes *a, int32_t n, berth_cut_op *out)
{
	static const int32_t dev[] = {0, 1};
	static const double share[][2] = {{1, 1}, {1, 3}, {3, 1}};
	static const berth_cut_way ways[] = {{2, dev, share[0]}, {2, dev, share[1]}, {2, dev, share[2]}},
				   whole = {1, dev, share[0]};
	*out = n ? (berth_cut_op){&ways[(n - 1) % 3], a && n <= 3 * a->n ? a->axis[(n - 1) / 3] : NULL, false}
	         : (berth_cut_op){&whole, NULL, false};
	return n == 0 || (a && n <= 3 * a->n);
}

static double best_program(const berth_cutting *c, berth_arena *tmp)
{
	berth_arena each = {0};
	berth_cut_op op[2];
	berth_cut_program x;
	berth_err err;
	double best = INFINITY;
	for (int32_t i = 0; choose(c->axes[0], i, &op[0]); i++)
		for (int32_t k = 0; choose(c->axes[1], k, &op[1]); k++) {
			assert_ok(berth_cut_program_make(c, op, &each, tmp, &x, &err), &err);
			best = fmin(best, best_placement(&x, &c->objective, &each));
			berth_arena_free(&each);
		}
	return best;
}

/* The first operator is measured on both devices, the other one on the first. */
static void put_times(berth_graph *g)
{
	static int32_t off[] = {0, 2, 3};
	static uint16_t key[] = {0, 1, 0};
	static double time_s[] = {5e-5, 8e-5, 4e-5};
	static const char *name[] = {"a", "b"};
	g->op_time_off = off;
	g->time_key = key;
	g->time_s = time_s;
	g->time_name = name;
	g->n_times = 3;
	g->n_time_names = 2;
}

/* Pieces have their share of a measured time behind the overhead; what is whole has all of it; what is not
 * measured has the roofline's. */
static void test_times(void **state)
{
	static const int32_t dev[] = {0, 1};
	static const double share[] = {1, 3};
	static const berth_cut_way way = {2, dev, share};
	berth_cut_op op[2] = {{.way = &way}, {.way = &way}};
	berth_arena mem = {0}, tmp = {0};
	bench b;
	berth_cut_program x, bare;
	bytes file = small_model(false);
	berth_err err;
	(void)state;
	assert_ok(berth_system_parse_json("unlike", unlike, strlen(unlike), &mem, &tmp, &b.s, &err), &err);
	b.s.dev_op_overhead_s[0] = 1e-5;
	b.s.dev_op_overhead_s[1] = 1; /* more than the operator takes: nothing of it shrinks */
	assert_ok(bench_read(&b, (const char *)file.data, file.n, NULL, &mem, &tmp, &err), &err);
	assert_ok(berth_cut_program_make(&b.c, op, &mem, &tmp, &bare, &err), &err);
	put_times(&b.g);
	assert_ok(berth_cut_program_make(&b.c, op, &mem, &tmp, &x, &err), &err);
	assert_int_equal(x.g.n_ops, bare.g.n_ops);
	assert_int_equal(x.made.n_made, 2);
	for (int i = 0; i < 2; i++) {
		const pieces_made *m = &x.made.made[i];
		int32_t whole = op_of(&b.g, m->op);
		for (int32_t k = 0; k < 2; k++) {
			int32_t piece = op_of(&x.g, m->name[k]);
			double part = x.g.op_flops[piece] / b.g.op_flops[whole], T = whole ? 4e-5 : 5e-5;
			assert_int_equal(berth_op_time(&x.p, piece, 0),
			                 llround(1e9 * (1e-5 + part * (T - 1e-5))));
			assert_int_equal(berth_op_time(&x.p, piece, 1),
			                 whole ? berth_op_time(&bare.p, piece, 1) : 80000);
		}
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* No program is below the bound, and the best is near it: with the roofline's times, and with measured
 * ones. */
static void test_bound(void **state)
{
	(void)state;
	for (int i = 0; i < 8; i++) {
		berth_arena mem = {0}, tmp = {0};
		bench b;
		bytes file = small_model(i % 2);
		double bound, best;
		berth_err err;
		assert_ok(berth_system_parse_json("unlike", unlike, strlen(unlike), &mem, &tmp, &b.s, &err),
		          &err);
		assert_ok(bench_read(&b, (const char *)file.data, file.n, NULL, &mem, &tmp, &err), &err);
		b.c.objective = berth_objective_of(i % 4 < 2 ? BERTH_LATENCY : BERTH_THROUGHPUT);
		assert_int_equal(b.p.n_ops, 2);
		if (i >= 4) {
			put_times(&b.g);
			assert_ok(berth_problem_new(&b.g, &b.s, &mem, &tmp, &b.p, &err), &err);
		}
		assert_ok(berth_cut_bound(&b.c, &tmp, &bound, &err), &err);
		best = best_program(&b.c, &tmp);
		assert_true(bound > 0 && bound <= best);
		assert_true(best < 2 * bound);
		b.s.dev_op_overhead_s[0] = 0; /* rounding may take more then */
		assert_ok(berth_cut_bound(&b.c, &tmp, &bound, &err), &err);
		assert_true(isnan(bound));
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* ---- limits ---- */

/* A time ends it. */
static void test_time(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	bench b;
	berth_cut_result r;
	berth_err err;
	const berth_method *m;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.evaluations = BERTH_UNLIMITED;
	cfg.cpu_s = 0.05;
	assert_ok(bench_open(&b, "tagger", "system:laptop", &mem, &tmp, &err), &err);
	assert_ok(berth_method_find("local-search", &m, &err), &err);
	assert_ok(berth_cut_search(&b.c, &b.bounds, m, &cfg, NULL, NULL, &mem, &tmp, &r, &err), &err);
	check_answer(&b, &r, &mem);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* A user who has enough at the n-th allocation of a search. */
typedef struct impatient {
	berth_allocator hook;
	long calls, enough_at;
	atomic_int cancel;
} impatient;

static void *alloc_impatiently(void *ctx, size_t size)
{
	impatient *x = ctx;
	if (x->calls++ == x->enough_at)
		atomic_store(&x->cancel, 1);
	return malloc(size);
}

static void free_impatiently(void *ctx, void *ptr)
{
	(void)ctx;
	free(ptr);
}

/* A search that is cancelled at some allocation; -1: at none. Allocations that it made. */
static long cancelled(long enough_at, berth_cut_result *r)
{
	berth_arena mem = {0}, tmp = {0}, own, scratch;
	impatient user = {{alloc_impatiently, free_impatiently, &user, true}, 0, enough_at, 0};
	bench b;
	berth_err err;
	const berth_method *m;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.evaluations = 100;
	cfg.cancel = &user.cancel;
	berth_arena_init(&own, &user.hook);
	berth_arena_init(&scratch, &user.hook);
	assert_ok(bench_open(&b, "vit", "system:4gpu", &mem, &tmp, &err), &err);
	assert_ok(berth_method_find("local-search", &m, &err), &err);
	assert_ok(berth_cut_search(&b.c, &b.bounds, m, &cfg, NULL, NULL, &own, &scratch, r, &err), &err);
	assert_int_equal(r->interrupted, enough_at >= 0);
	assert_true(r->whole.feasible);
	if (r->cut.program)
		check_answer(&b, r, &mem);
	else
		assert_false(r->gains);
	berth_arena_free(&own);
	berth_arena_free(&scratch);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return user.calls;
}

/* Wherever a user has enough, there is the best so far, and nothing more is tried. */
static void test_cancel(void **state)
{
	(void)state;
	enum { PARTS = BERTH_DEBUG ? 4 : 8 };
	berth_cut_result all, r;
	long calls = cancelled(-1, &all);
	int64_t before = 0;
	for (int i = 0; i < PARTS; i++) {
		cancelled(calls * i / PARTS, &r);
		assert_true(r.programs <= all.programs);
		assert_true(before <= r.evaluations && r.evaluations <= all.evaluations + 3);
		before = r.evaluations;
	}
	assert_true(before > all.evaluations / 4);
	cancelled(0, &r);
	assert_true(r.programs == 0 && r.evaluations < all.evaluations / 4);
}

/* ctx: with rules, a training step */
static berth_status without_memory(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	bench b;
	berth_cut_result r;
	const char *forbid = "*=cpu0";
	const berth_rule_texts rules = {.forbid = &forbid, .n_forbids = 1};
	BERTH_TRY(bench_open(&b, "tagger", "system:laptop", mem, tmp, err));
	if (ctx)
		BERTH_TRY(bench_place(&b, &rules, true, mem, tmp, err));
	return search(&b, "heft", 8, NULL, mem, tmp, &r, err);
}

static void test_memory(void **state)
{
	(void)state;
	assert_fails_each(without_memory, NULL, 4999);
	assert_fails_each(without_memory, &(bool){true}, 4999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds),  cmocka_unit_test(test_moves),
	                                   cmocka_unit_test(test_step),   cmocka_unit_test(test_rules),
	                                   cmocka_unit_test(test_search), cmocka_unit_test(test_small_budget),
	                                   cmocka_unit_test(test_times),  cmocka_unit_test(test_bound),
	                                   cmocka_unit_test(test_time),   cmocka_unit_test(test_cancel),
	                                   cmocka_unit_test(test_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
