/* What is remembered of placements: worse ones are left, noise is not believed, and another machine is begun
 * anew. */
#include "support.h"
#include "run_history.h"

#include <string.h>

static const int32_t p[] = {0, 0, 1}, q[] = {0, 1, 1}, r[] = {1, 1, 1}, order[] = {0, 1, 2},
		     other[] = {1, 0, 2};

typedef struct world {
	berth_arena mem;
	berth_run_history t;
	berth_err err;
} world;

static void make_world(world *w)
{
	*w = (world){0};
	w->t = (berth_run_history){.n_ops = 3, .threshold = 0.1, .mem = &w->mem};
}

static void measure(world *w, const int32_t *op_dev, const int32_t *by, int32_t n, double s)
{
	assert_ok(berth_run_history_measure(&w->t, op_dev, by, n, s, &w->err), &w->err);
}

static void worse_one_is_left(void **state)
{
	(void)state;
	world w;
	make_world(&w);
	assert_false(berth_run_history_has(&w.t, p, order));
	measure(&w, p, order, 5, 1);
	assert_null(berth_run_history_better(&w.t));
	assert_false(berth_run_history_has(&w.t, p, order)); /* it runs */
	measure(&w, q, order, 5, 1.5);
	assert_true(w.t.cold && !berth_run_history_better(&w.t)); /* it may be warming up */
	measure(&w, q, order, 5, 1.5);
	assert_memory_equal(berth_run_history_better(&w.t)->op_dev, p, sizeof p);
	assert_true(berth_run_history_has(&w.t, p, order));
	measure(&w, p, order, 5, 1);
	assert_null(berth_run_history_better(&w.t));
	assert_true(berth_run_history_has(&w.t, q, order) && berth_run_history_has(&w.t, q, other)); /* in any
	                                                                                                order
	                                                                                              */
	assert_false(berth_run_history_has(&w.t, p, other) || berth_run_history_has(&w.t, r, order));
	berth_arena_free(&w.mem);
}

static void noise_is_not_believed(void **state)
{
	(void)state;
	world w;
	make_world(&w);
	measure(&w, p, order, 5, 1);
	for (int i = 0; i < 10; i++) { /* within the threshold: neither worse nor another machine */
		measure(&w, q, order, 5, i % 2 ? 1.08 : 1.02);
		assert_null(berth_run_history_better(&w.t));
		assert_true(berth_run_history_has(&w.t, p, order));
	}
	assert_int_equal(w.t.n_changes, 0);
	measure(&w, q, order, 5, 1.5);
	assert_int_equal(w.t.n_changes, 1);
	assert_false(berth_run_history_has(&w.t, p, order));
	berth_arena_free(&w.mem);
}

static void first_window_is_not_judged(void **state)
{
	(void)state;
	world w;
	make_world(&w);
	measure(&w, p, order, 5, 1);
	assert_true(berth_run_history_judged(&w.t) && !w.t.cold); /* the first of all was warmed up */
	measure(&w, q, order, 5, 1.9);
	assert_false(berth_run_history_judged(&w.t));
	measure(&w, q, order, 2, 0.7);
	assert_false(berth_run_history_judged(&w.t)); /* too few */
	measure(&w, q, order, 1, 0.7);
	assert_true(berth_run_history_judged(&w.t));
	assert_null(berth_run_history_better(&w.t));
	assert_near(w.t.now->step_s, 0.7, 1e-12);
	measure(&w, p, order, 5, 3); /* cold again: what is known stands */
	assert_near(w.t.now->step_s, 1, 1e-12);
	assert_true(berth_run_history_has(&w.t, q, order));
	berth_arena_free(&w.mem);
}

static void another_machine_begins_anew(void **state)
{
	(void)state;
	world w;
	make_world(&w);
	measure(&w, p, order, 5, 1);
	measure(&w, q, order, 5, 1.3);
	measure(&w, q, order, 5, 0.8);
	measure(&w, q, order, 5, 2); /* what p took is of no worth now */
	assert_null(berth_run_history_better(&w.t));
	assert_false(berth_run_history_has(&w.t, p, order));
	assert_near(w.t.now->step_s, 2, 0);
	measure(&w, p, order, 5, 4);
	measure(&w, p, order, 5, 3);
	assert_memory_equal(berth_run_history_better(&w.t)->op_dev, q, sizeof q);
	assert_int_equal(w.t.n, 2); /* rooms are used again */
	berth_arena_free(&w.mem);
}

static void what_was_faster_once_is_known(void **state)
{
	(void)state;
	world w;
	make_world(&w);
	measure(&w, p, order, 5, 1);
	assert_null(berth_run_history_once_faster(&w.t)); /* it runs */
	measure(&w, p, order, 5, 4);
	measure(&w, q, order, 5, 0.5); /* cold: it says nothing */
	measure(&w, q, order, 5, 2);
	assert_memory_equal(berth_run_history_once_faster(&w.t)->op_dev, p, sizeof p);
	measure(&w, q, order, 5, 1.05); /* as fast as noise lets one tell */
	assert_null(berth_run_history_once_faster(&w.t));
	berth_arena_free(&w.mem);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worse_one_is_left), cmocka_unit_test(noise_is_not_believed),
		cmocka_unit_test(first_window_is_not_judged), cmocka_unit_test(another_machine_begins_anew),
		cmocka_unit_test(what_was_faster_once_is_known)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
