/* Scales of predicted times: found by one model, told apart by several, by single operators; refused ones. */
#include "array.h"
#include "fail_each.h"
#include "op_times.h"
#include "quick.h"
#include "scales.h"
#include "small_problem.h"
#include "support.h"

#include <math.h>

/* One of each type; the second graph has four times the products. */
#define GRAPH(flops)                                                                                         \
	"{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":["                                 \
	"{\"name\":\"x\",\"type\":\"Conv\",\"flops\":1e9},{\"name\":\"y\",\"type\":\"MatMul\","              \
	"\"flops\":" flops "},"                                                                              \
	"{\"name\":\"z\",\"flops\":1e6}],\"edges\":[]}"
static const char duo[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"duo\",\"devices\":["
	"{\"name\":\"a\",\"peak_flops\":1e12,\"op_overhead_s\":1e-5,\"scale\":{\"*\":2,\"Relu\":3}},"
	"{\"name\":\"b\",\"peak_flops\":1e11,\"scale\":{\"Conv\":0.5}},{\"name\":\"c\",\"peak_flops\":1,"
        "\"runs\":[]}],"
	"\"links\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e9,\"both_ways\":true},"
	"{\"from\":\"a\",\"to\":\"c\",\"bandwidth\":1e9,\"both_ways\":true}]}";

typedef struct two {
	small_problem one, other; /* one more graph for the same system */
} two;

static void set_up(two *w)
{
	small_problem_make(&w->one, GRAPH("1e9"), duo);
	small_problem_make(&w->other, GRAPH("4e9"), duo);
}

static void tear_down(two *w)
{
	small_problem_free(&w->one);
	small_problem_free(&w->other);
}

static double op_seconds(const berth_graph *g, const berth_system *s, int32_t op, int32_t dev)
{
	berth_type_on_dev on =
		berth_type_look_up(s, dev, g->op_type[op] < 0 ? NULL : g->type_name[g->op_type[op]]);
	return berth_op_predict(g, s, op, dev, &on).seconds;
}

static double all_seconds(const berth_graph *g, const berth_system *s, int32_t dev)
{
	double sum = 0;
	for (int32_t op = 0; op < g->n_ops; op++)
		sum += op_seconds(g, s, op, dev);
	return sum;
}

static void fit(two *w, int32_t dev, const berth_timing *t, int32_t n, berth_scales_told *told)
{
	berth_err err;
	assert_ok(berth_scales_fit(&w->one.s, dev, t, n, "by", &w->one.mem, &w->one.tmp, told, &err), &err);
}

/* One timing: the model takes just as long, all types alike, the other devices as before. */
static void test_one_model(void **state)
{
	(void)state;
	two w;
	set_up(&w);
	berth_system *s = &w.one.s;
	berth_scales_told told;
	double before = all_seconds(&w.one.g, s, 0);
	fit(&w, 0, &(berth_timing){&w.one.g, -1, 3 * before}, 1, &told);
	assert_true(fabs(told.factor - 3) < 1e-9 && told.off < 1e-3);
	assert_true(fabs(all_seconds(&w.one.g, s, 0) / before - 3) < 0.003);
	assert_true(fabs(berth_by_type_get(&s->scale, 0, "*") - 6) < 0.02);
	assert_true(fabs(berth_by_type_get(&s->scale, 0, "Conv") - 6) < 0.02);
	assert_true(fabs(berth_by_type_get(&s->scale, 0, "Relu") - 9) < 0.03);
	assert_true(fabs(s->dev_op_overhead_s[0] - 3e-5) < 1e-7);
	assert_true(berth_by_type_get(&s->scale, 1, "Conv") == 0.5);
	assert_true(berth_by_type_get(&s->scale, 1, "MatMul") == 1);
	assert_string_equal(s->dev_calibrated[0], "by");
	assert_null(s->dev_calibrated[1]);
	tear_down(&w);
}

/* How much longer the model takes by the time model after n timings, each so many times what was predicted.
 * Its scales multiply the overhead, too, which stays as it was. */
static double by_time_model_of(const char *like, double times, int32_t n)
{
	char one[128];
	snprintf(one, sizeof one,
	         "{\"format\":\"berth-system\",\"version\":1,\"devices\":["
	         "{\"name\":\"a\",\"like\":\"%s\"}]}",
	         like);
	small_problem w;
	berth_scales_told told;
	berth_err err;
	small_problem_make(&w, GRAPH("1e9"), one);
	double before = all_seconds(&w.g, &w.s, 0), overhead = w.s.dev_op_overhead_s[0];
	berth_timing t[3];
	for (int i = 0; i < 3; i++)
		t[i] = (berth_timing){&w.g, -1, times * before};
	assert_ok(berth_scales_fit(&w.s, 0, t, n, "by", &w.mem, &w.tmp, &told, &err), &err);
	assert_true(fabs(told.factor - times) < 1e-9 && w.s.dev_op_overhead_s[0] == overhead);
	double after = all_seconds(&w.g, &w.s, 0) / before;
	small_problem_free(&w);
	return after;
}

static double by_time_model(double times, int32_t n)
{
	return by_time_model_of("nvidia-t4", times, n);
}

/* Within what the time model is off by, half of a timing may be the graph's own, the less the more there are;
 * what is far off is the device. On CPUs most may be the graph's: with half of it other models were further
 * off than without a timing. */
static void test_time_model(void **state)
{
	(void)state;
	const double cpu = by_time_model_of("epyc-7742", 1.1, 1);
	assert_true(cpu > 1.01 && cpu < 1.03 && by_time_model_of("epyc-7742", 9, 1) > 6);
	double one = by_time_model(1.1, 1), three = by_time_model(1.1, 3);
	assert_true(one > 1.04 && one < 1.07 && three > one + 0.01 && three < 1.095);
	assert_true(fabs(by_time_model(9, 1) - 9) < 0.01 && fabs(by_time_model(0.3, 1) - 0.3) < 0.01);
	assert_true(by_time_model(1.3, 1) < 1.2);
}

/* Operators by themselves take half as long again as in the model: they tell the types apart, and it how
 * long all takes. */
static void test_model_and_operators(void **state)
{
	(void)state;
	two w;
	set_up(&w);
	berth_system *s = &w.one.s;
	const berth_graph *g = &w.one.g;
	berth_scales_told told;
	double conv = op_seconds(g, s, 0, 0), product = op_seconds(g, s, 1, 0), all = all_seconds(g, s, 0);
	const berth_timing t[] = {{g, 0, 1.5 * conv}, {g, 1, 3 * product}, {g, -1, all + product}};
	fit(&w, 0, t, 3, &told);
	assert_true(fabs(all_seconds(g, s, 0) / (all + product) - 1) < 0.01);
	assert_true(op_seconds(g, s, 1, 0) / product > 1.1 * op_seconds(g, s, 0, 0) / conv);
	tear_down(&w);
}

/* Two mixes of types: what makes the second one longer is the type that it has more of. */
static void test_two_models(void **state)
{
	(void)state;
	two w;
	set_up(&w);
	berth_system *s = &w.one.s;
	berth_scales_told told;
	const berth_timing t[] = {{&w.one.g, -1, all_seconds(&w.one.g, s, 0)},
	                          {&w.other.g, -1, 1.2 * all_seconds(&w.other.g, s, 0)}};
	fit(&w, 0, t, 2, &told);
	double conv = berth_by_type_get(&s->scale, 0, "Conv"),
	       product = berth_by_type_get(&s->scale, 0, "MatMul");
	assert_true(told.off < 0.05);
	assert_true(product / conv > 1.3 && product / conv < 2);
	assert_true(product > 2 && conv < 2);
	tear_down(&w);
}

/* Operators one by one: a type that was not timed goes as all do. */
static void test_operators(void **state)
{
	(void)state;
	two w;
	set_up(&w);
	berth_system *s = &w.one.s;
	berth_scales_told told;
	const double mul = op_seconds(&w.one.g, s, 1, 0), more = op_seconds(&w.other.g, s, 1, 0);
	const berth_timing t[] = {{&w.one.g, 1, 2 * mul}, {&w.other.g, 1, 2 * more}};
	fit(&w, 0, t, 2, &told);
	assert_true(fabs(told.factor - 2) < 1e-9 && told.off < 0.01);
	assert_true(fabs(berth_by_type_get(&s->scale, 0, "MatMul") - 4) < 0.05);
	assert_true(fabs(berth_by_type_get(&s->scale, 0, "Conv") - 4) < 0.05);
	tear_down(&w);
}

/* The longest first, of equal ones the first, and no more than there are. */
static void test_quick(void **state)
{
	(void)state;
	two w;
	set_up(&w);
	const int32_t own[] = {0, 1, 2}, equal[] = {0, 0, 2};
	bool chosen[3];
	berth_err err;
	small_problem *x = &w.other;
	assert_ok(berth_quick_choose(&x->g, &x->s, 0, 1, own, chosen, &x->tmp, &err), &err);
	assert_true(!chosen[0] && chosen[1] && !chosen[2]);
	assert_ok(berth_quick_choose(&x->g, &x->s, 0, 2, equal, chosen, &x->tmp, &err), &err);
	assert_true(chosen[0] && !chosen[1] && chosen[2]);
	assert_ok(berth_quick_choose(&x->g, &x->s, 2, 9, own, chosen, &x->tmp, &err), &err);
	assert_true(!chosen[0] && !chosen[1] && !chosen[2]);
	tear_down(&w);
}

static void test_refused(void **state)
{
	(void)state;
	two w;
	set_up(&w);
	berth_scales_told told;
	berth_err err;
	const berth_timing slow = {&w.one.g, -1, 1e6}, any = {&w.one.g, -1, 1};
	assert_int_equal(berth_scales_fit(&w.one.s, 0, &slow, 1, "by", &w.one.mem, &w.one.tmp, &told, &err),
	                 BERTH_EINVAL);
	assert_contains(err.msg, "calibration: scale is ");
	assert_int_equal(berth_scales_fit(&w.one.s, 2, &any, 1, "by", &w.one.mem, &w.one.tmp, &told, &err),
	                 BERTH_EINVAL);
	assert_contains(err.msg, "device 'c' cannot run 'x' of g");
	assert_true(w.one.s.dev_op_overhead_s[0] == 1e-5 && !w.one.s.dev_calibrated[0]);
	tear_down(&w);
}

static berth_status work(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	small_problem *w = ctx;
	berth_system s = w->s;
	berth_scales_told told;
	return berth_scales_fit(&s, 0, &(berth_timing){&w->g, -1, 1}, 1, "by", mem, tmp, &told, err);
}

static void test_each_allocation_may_fail(void **state)
{
	(void)state;
	two w;
	set_up(&w);
	assert_fails_each(work, &w.one, 7);
	tear_down(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_model),
		cmocka_unit_test(test_time_model),
		cmocka_unit_test(test_model_and_operators), cmocka_unit_test(test_two_models),
		cmocka_unit_test(test_operators),
		cmocka_unit_test(test_quick), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_each_allocation_may_fail),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
