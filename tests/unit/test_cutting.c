/* Programs of pieces, in memory: they are what is written, pieces stand where they are told to, and the
 * search over them is never worse than whole operators and depends on nothing but its budget and seed. */
#include "cut_moves.h"
#include "cut_search.h"
#include "cut_seeds.h"
#include "fail_each.h"
#include "file.h"
#include "load.h"
#include "load_system.h"
#include "support.h"

#include <stdio.h>
#include <string.h>

/* A fixture on a system, ready to be cut. */
typedef struct bench {
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds bounds;
	char *data;
	size_t size;
	berth_cutting c;
} bench;

static berth_status bench_open(bench *b, const char *name, const char *system, berth_arena *mem,
                               berth_arena *tmp, berth_err *err)
{
	char path[300];
	pieces_source *source;
	snprintf(path, sizeof path, "%s/%s.onnx", BERTH_FIXTURES, name);
	BERTH_TRY(berth_file_read(path, mem, &b->data, &b->size, err));
	BERTH_TRY(berth_graph_parse("m.onnx", b->data, b->size, NULL, mem, tmp, &b->g, NULL, err));
	BERTH_TRY(berth_system_load(system, NULL, mem, tmp, &b->s, err));
	BERTH_TRY(berth_problem_new(&b->g, &b->s, mem, tmp, &b->p, err));
	BERTH_TRY(berth_bounds_new(&b->p, tmp, &b->bounds, err));
	BERTH_TRY(pieces_open("m.onnx", (const unsigned char *)b->data, b->size, NULL, mem, &source, err));
	b->c = (berth_cutting){.name = "m.onnx",
	                       .source = source,
	                       .p = &b->p,
	                       .objective = berth_search_cfg_default().objective};
	return berth_cutting_open(&b->c, mem, err);
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

/* ---- the search ---- */

static berth_status search(bench *b, const char *method, int64_t evaluations, berth_pool *pool,
                           berth_arena *mem, berth_arena *tmp, berth_cut_result *r, berth_err *err)
{
	const berth_method *m;
	berth_search_cfg cfg = berth_search_cfg_default();
	cfg.evaluations = evaluations;
	cfg.pool = pool;
	BERTH_TRY(berth_method_find(method, &m, err));
	return berth_cut_search(&b->c, &b->bounds, m, &cfg, mem, tmp, r, err);
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
	assert_ok(berth_cut_search(&b.c, &b.bounds, m, &cfg, &mem, &tmp, &r, &err), &err);
	check_answer(&b, &r, &mem);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static berth_status without_memory(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	bench b;
	berth_cut_result r;
	(void)ctx;
	BERTH_TRY(bench_open(&b, "tagger", "system:laptop", mem, tmp, err));
	return search(&b, "heft", 8, NULL, mem, tmp, &r, err);
}

static void test_memory(void **state)
{
	(void)state;
	assert_fails_each(without_memory, NULL, 4999);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_seeds), cmocka_unit_test(test_moves),
	                                   cmocka_unit_test(test_search), cmocka_unit_test(test_time),
	                                   cmocka_unit_test(test_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
