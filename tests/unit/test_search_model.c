/* Searches by another evaluator: what is kept is what the reference says, whatever the other one likes. */
#include "methods.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>

typedef struct likes {
	berth_eval eval;
	double power;       /* of the reference's values: 1, 0 (all alike), -1 (the wrong way round) */
	int32_t most;       /* placements at once, so far */
	int64_t n;
} likes;

static void score(void *ctx, int32_t n, const int32_t *const *op_devs, berth_score *scores)
{
	likes *l = ctx;
	for (int32_t i = 0; i < n; i++) {
		scores[i] = berth_eval_run(&l->eval, op_devs[i], NULL);
		scores[i].value = pow(scores[i].value, l->power);
	}
	l->n += n;
	l->most = n > l->most ? n : l->most;
}

/* The best that the method finds with such an evaluator; 0: none but the reference. */
static double best_of(const char *name, double power, int32_t at_once)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_search search;
	berth_err err;
	const berth_method *m;
	berth_search_model model = {at_once, score, NULL};
	berth_search_cfg cfg = {.seed = 5, .evaluations = 3000, .model = at_once ? &model : NULL};
	likes l = {.power = power};
	assert_ok(berth_zoo_build("zoo:inception-v3", &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_builtin("cpu+2gpu", &mem, &tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_eval_new(&p, &cfg.objective, &mem, &l.eval, &err), &err);
	model.ctx = &l;
	assert_ok(berth_search_new(&p, &cfg, &mem, &search, &err), &err);
	assert_ok(berth_method_find(name, &m, &err), &err);
	assert_ok(berth_method_run(m, &search, &tmp, &err), &err);
	berth_score again = berth_eval_run(&l.eval, search.best_dev, search.best_has_order ? search.best_order : NULL);
	assert_true(again.value == search.best.value && again.excess == search.best.excess);
	assert_true(l.most <= at_once && (at_once == 0) == (l.n == 0));
	assert_true(search.evaluations <= 3000 + 100); /* what seeds need beyond */
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return search.best.value;
}

static void test_reference_decides(void **state)
{
	static const char *const method[] = {"anneal", "cem", "berth"};
	(void)state;
	for (int m = 0; m < 3; m++) {
		double exact = best_of(method[m], 0, 0), same = best_of(method[m], 1, 7), none = best_of(method[m], 0, 64), worst = best_of(method[m], -1, 1);
		print_message("%s: %.9g by the reference, %.9g by one that ranks the same, %.9g and %.9g by those that do not\n", method[m], exact, same, none, worst);
		assert_true(same <= exact * 1.1);  /* it ranks as the reference does */
		assert_true(same <= none && same <= worst);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reference_decides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
