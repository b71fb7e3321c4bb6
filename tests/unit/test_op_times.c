/* Where an operator's time comes from: measured, calibrated, the model, the roofline. */
#include "engine_rules.h"
#include "load_system.h"
#include "op_times.h"
#include "problem.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>

#define SYSTEM(devices) "{\"format\":\"berth-system\",\"version\":1,\"devices\":[" devices "]}"
#define GRAPH(ops, edges) "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[" ops "],\"edges\":[" edges "]}"
#define WORK "\"macs\":1e9,\"flops\":2e9,\"read_bytes\":8e6,\"write_bytes\":4e6"
#define DIMS "\"dims\":{\"b\":1,\"m\":1000,\"n\":1000,\"k\":1000}"

typedef struct pair {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
} pair;

static void read_pair(pair *x, const char *graph, const char *system)
{
	*x = (pair){0};
	read_both(graph, system, &x->mem, &x->tmp, &x->g, &x->s);
}

static void drop_pair(pair *x)
{
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
}

static berth_op_prediction predict(const pair *x, int32_t op, int32_t dev)
{
	int32_t t = x->g.op_type[op];
	berth_type_on_dev type = berth_type_look_up(&x->s, dev, t < 0 ? NULL : x->g.type_name[t]);
	return berth_op_predict(&x->g, &x->s, op, dev, &type);
}

static berth_op_prediction predict_one(const char *graph, const char *system)
{
	pair x;
	read_pair(&x, graph, system);
	berth_op_prediction y = predict(&x, 0, 0);
	drop_pair(&x);
	return y;
}

static void test_sources(void **state)
{
	(void)state;
	static const char plain[] = GRAPH("{\"name\":\"a\",\"type\":\"MatMul\"," DIMS "," WORK "}", "");
	static const char timed[] = GRAPH("{\"name\":\"a\"," WORK ",\"time_s\":{\"*\":0.5}}", "");
	static const char t4[] = SYSTEM("{\"name\":\"d\",\"like\":\"nvidia-t4\"}");
	berth_op_prediction x = predict_one(plain, t4);
	assert_int_equal(x.from, BERTH_TIME_MODEL);
	assert_true(x.error > 0 && x.error < 0.4);
	/* never above the hardware */
	assert_true(x.seconds > 2e9 / 8.141e12 && x.seconds < 3 * 2e9 / 8.141e12);
	assert_int_equal(predict_one(timed, t4).from, BERTH_TIME_MEASURED);
	assert_true(predict_one(timed, t4).seconds == 0.5 && predict_one(timed, t4).error == 0);
	x = predict_one(plain, SYSTEM("{\"name\":\"d\",\"peak_flops\":1e12,\"mem_bandwidth\":1e12}"));
	assert_int_equal(x.from, BERTH_TIME_ROOFLINE);
	assert_near(x.seconds, 2e-3, 1e-12);
	static const char scaled[] = SYSTEM(
		"{\"name\":\"d\",\"peak_flops\":1e12,\"op_overhead_s\":1,\"scale\":{\"*\":1,\"MatMul\":2}}");
	x = predict_one(plain, scaled);
	assert_int_equal(x.from, BERTH_TIME_CALIBRATED);
	assert_true(x.error < 0.3);
	assert_near(x.seconds, 1 + 4e-3, 1e-12);
	x = predict_one(plain,
	                "{\"format\":\"berth-system\",\"version\":1,\"times\":\"roofline\","
	                "\"devices\":[{\"name\":\"d\",\"like\":\"nvidia-t4\"}]}");
	assert_int_equal(x.from, BERTH_TIME_ROOFLINE);
}

/* Half precision goes by its own peak, or by what stands in for it; a device without any cannot run. */
static void test_precisions(void **state)
{
	(void)state;
	static const char half[] = GRAPH(
		"{\"name\":\"a\",\"type\":\"MatMul\",\"dtype\":\"f16\"," DIMS "," WORK "}", "");
	static const char full[] = GRAPH("{\"name\":\"a\",\"type\":\"MatMul\"," DIMS "," WORK "}", "");
	static const char both[] =
		SYSTEM("{\"name\":\"d\",\"peak_flops\":{\"f32\":1e12,\"f16\":4e12}}");
	assert_near(predict_one(half, both).seconds, 0.5e-3, 1e-12);
	assert_near(predict_one(half, SYSTEM("{\"name\":\"d\",\"peak_flops\":1e12}")).seconds, 2e-3, 1e-12);
	static const char whole[] = SYSTEM("{\"name\":\"d\",\"peak_flops\":{\"int8\":4e12}}");
	assert_true(isnan(predict_one(full, whole).seconds));
	assert_int_equal(predict_one(full, whole).from, BERTH_TIME_NONE);
	static const char v100[] = SYSTEM("{\"name\":\"d\",\"like\":\"nvidia-v100-pcie-32gb\"}");
	assert_true(predict_one(half, v100).seconds < 0.7 * predict_one(full, v100).seconds);
#define CONV(dtype) GRAPH("{\"name\":\"a\",\"type\":\"Conv\",\"dtype\":\"" dtype "\",\"dims\":{" \
	"\"b\":1,\"in\":100,\"out\":100,\"pixels\":10000,\"taps\":10,\"stride\":1,\"groups\":1," \
	"\"dilation\":1},\"flops\":2e9}", "")
	assert_true(predict_one(CONV("f16"), v100).seconds < predict_one(CONV("f32"), v100).seconds);
	assert_true(predict_one(CONV("f16"), v100).error > predict_one(half, v100).error);
	static const char p4[] = SYSTEM("{\"name\":\"d\",\"like\":\"nvidia-p4\"}"); /* f16 goes by f32 */
	assert_true(predict_one(half, p4).error == predict_one(full, p4).error);
	assert_true(predict_one(half, v100).error != predict_one(full, v100).error);
}

/* Norms and softmax are known by their names, in whatever words. */
static void test_rows(void **state)
{
	(void)state;
	static const struct {
		const char *type;
		berth_time_class rows;
	} cases[] = {{"LayerNormalization", BERTH_TIME_NORM},        {"layer_norm", BERTH_TIME_NORM},
	             {"RMSNorm", BERTH_TIME_NORM},                   {"LogSoftmax", BERTH_TIME_SOFTMAX},
	             {"softmax", BERTH_TIME_SOFTMAX},                {"Relu", BERTH_TIME_ELEMENTWISE},
	             {"BatchNormalization", BERTH_TIME_ELEMENTWISE}, {NULL, BERTH_TIME_ELEMENTWISE}};
	pair x;
	read_pair(&x, GRAPH("", ""), SYSTEM("{\"name\":\"d\"}"));
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		assert_int_equal(berth_type_look_up(&x.s, 0, cases[i].type).rows, cases[i].rows);
	drop_pair(&x);
}

/* One that stands by itself waits for its host; work without a shape is no wonder. */
static void test_alone(void **state)
{
	(void)state;
	pair x;
	read_pair(&x,
	          GRAPH("{\"name\":\"a\",\"type\":\"Relu\",\"write_bytes\":4},"
	                "{\"name\":\"b\",\"type\":\"Relu\",\"write_bytes\":4},"
	                "{\"name\":\"c\",\"type\":\"Relu\",\"write_bytes\":4},"
	                "{\"name\":\"d\",\"type\":\"Attention\",\"macs\":1e12,\"flops\":2e12,"
	                "\"write_bytes\":4}",
	                "{\"from\":\"a\",\"to\":\"b\",\"bytes\":4}"),
	          SYSTEM("{\"name\":\"d\",\"like\":\"nvidia-t4\"}"));
	assert_true(predict(&x, 0, 0).seconds == predict(&x, 1, 0).seconds);
	assert_true(predict(&x, 0, 0).seconds < 15e-6 && predict(&x, 2, 0).seconds > 20e-6);
	assert_true(predict(&x, 3, 0).seconds > 2e12 / 8.2e12);
	drop_pair(&x);
}

/* What two placements share cancels; measured times are not off. */
static void test_ratio(void **state)
{
	(void)state;
	pair x;
	berth_problem p;
	berth_err err;
	int32_t first[3] = {0, 0, 0}, second[3] = {1, 1, 1}, mixed[3] = {0, 0, 1}, timed[3] = {2, 2, 2};
	read_pair(&x,
	          GRAPH("{\"name\":\"a\",\"flops\":1e9,\"time_s\":{\"c\":1}},"
	                "{\"name\":\"b\",\"flops\":1e9,\"time_s\":{\"c\":1}},"
	                "{\"name\":\"c\",\"flops\":1e9,\"time_s\":{\"c\":1}}",
	                ""),
	          "{\"format\":\"berth-system\",\"version\":1,\"devices\":["
	          "{\"name\":\"a\",\"peak_flops\":1e9},{\"name\":\"b\",\"peak_flops\":1e9},{\"name\":\"c\"}],"
	          "\"links\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e9,\"both_ways\":true},"
	          "{\"from\":\"a\",\"to\":\"c\",\"bandwidth\":1e9,\"both_ways\":true}]}");
	assert_ok(berth_problem_new(&x.g, &x.s, &x.mem, &x.tmp, &p, &err), &err);
	double error = predict(&x, 0, 0).error;
	assert_true(berth_ratio_error(&p, first, first) == 0 && berth_ratio_error(&p, timed, timed) == 0);
	assert_near(berth_ratio_error(&p, first, second), sqrt(2) * error, 1e-12);
	assert_near(berth_ratio_error(&p, first, mixed), sqrt(2) * error / 3, 1e-12);
	assert_near(berth_ratio_error(&p, first, timed), error, 1e-12);
	drop_pair(&x);
}

/* Operators that are alike have their times from each other: those that they have by themselves. */
static void test_alike(void **state)
{
	(void)state;
	static const char *const graphs[] = {"zoo:nasnet-a:size=mobile", "zoo:rnnlm:seq=4:training=1",
	                                     "zoo:random:ops=300:heterogeneity=0"};
	for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
		pair x = {0};
		berth_problem p;
		berth_err err;
		assert_ok(berth_zoo_build(graphs[i], &x.mem, &x.tmp, &x.g, &err), &err);
		assert_ok(berth_system_builtin("edge", &x.mem, &x.tmp, &x.s, &err), &err);
		assert_ok(berth_problem_new(&x.g, &x.s, &x.mem, &x.tmp, &p, &err), &err);
		for (int32_t op = 0; op < p.n_ops; op++)
			for (int32_t d = 0; d < p.n_devs; d++) {
				double s = predict(&x, op, d).seconds;
				assert_int_equal(berth_op_time(&p, op, d), isnan(s) ? -1 : llround(1e9 * s));
			}
		drop_pair(&x);
	}
	pair x;
	read_pair(&x, GRAPH("{\"name\":\"a\"," WORK "},{\"name\":\"b\"," WORK "},"
	                    "{\"name\":\"c\",\"dtype\":\"f16\"," WORK "},"
	                    "{\"name\":\"d\",\"time_s\":{\"d\":1}," WORK "}",
	                    ""),
	          SYSTEM("{\"name\":\"d\",\"like\":\"nvidia-t4\"}"));
	assert_true(berth_op_alike(&x.g, 0, 1));
	assert_false(berth_op_alike(&x.g, 0, 2) || berth_op_alike(&x.g, 0, 3) || berth_op_alike(&x.g, 3, 3));
	drop_pair(&x);
}

/* Weights that a cache would hold come from memory where those of the model exceed it. */
static void test_far_weights(void **state)
{
	(void)state;
#define VECTOR(name, bytes) \
	"{\"name\":\"" name "\",\"type\":\"MatMul\",\"flops\":5e7,\"read_bytes\":" bytes \
	",\"param_bytes\":" bytes \
	",\"dims\":{\"b\":1,\"m\":1,\"n\":5000,\"k\":5000}}"
#define PAIR(bytes) \
	GRAPH(VECTOR("a", "1e8") "," VECTOR("b", bytes), "{\"from\":\"a\",\"to\":\"b\",\"bytes\":4}")
	static const char *const devices[] = {SYSTEM("{\"name\":\"d\",\"like\":\"amd-epyc-7742\"}"),
	                                      SYSTEM("{\"name\":\"d\",\"like\":\"nvidia-rtx-4090\"}")};
	pair near, far;
	for (int i = 0; i < 2; i++) {
		read_pair(&near, PAIR("1e6"), devices[i]);
		read_pair(&far, PAIR("1e9"), devices[i]);
		double least = 1e8 / far.s.dev_mem_bandwidth[0];
		assert_true(predict(&far, 0, 0).seconds >= least);
		assert_true(i == 1 || predict(&near, 0, 0).seconds < least);
		drop_pair(&near);
		drop_pair(&far);
	}
}

/* GPUs of AMD reach less of their peak; what is told of GPUs by figures alone is not known to be one. */
static void test_amd(void **state)
{
	(void)state;
	pair x;
	read_pair(&x,
	          GRAPH("{\"name\":\"a\",\"type\":\"MatMul\",\"flops\":2e12,"
	                "\"dims\":{\"b\":1,\"m\":10000,\"n\":10000,\"k\":10000}}",
	                ""),
	          SYSTEM("{\"name\":\"d\",\"like\":\"amd-rx-6600\"}"));
	double as_amd = predict(&x, 0, 0).seconds;
	x.s.dev_like[0] = NULL;
	double ratio = as_amd / predict(&x, 0, 0).seconds;
	assert_true(ratio > 1.1 && ratio < 1.3);
	drop_pair(&x);
}

/* PyTorch on a CPU takes longer for each operator by itself; on a GPU, and for other engines, all stays. */
static void test_eager(void **state)
{
	static const char conv[] = "{\"name\":\"a\",\"type\":\"Conv\",\"dims\":{\"b\":1,\"in\":64,\"out\":64,"
				   "\"pixels\":49,\"taps\":9,\"stride\":1,\"groups\":1,\"dilation\":1},"
				   "\"macs\":1806336,\"flops\":3612672,\"read_bytes\":160000,"
				   "\"write_bytes\":12544,\"param_bytes\":147456}";
	static const char pool[] = "{\"name\":\"b\",\"type\":\"MaxPool\",\"dims\":{\"rows\":1,\"width\":1},"
				   "\"flops\":2000,\"read_bytes\":16000,\"write_bytes\":4000}";
	static const char cpu[] = "{\"name\":\"c\",\"class\":\"cpu\",\"units\":1,\"peak_flops\":1e11,"
				  "\"mem_bandwidth\":2e10}";
	static const char gpu[] = "{\"name\":\"g\",\"like\":\"nvidia-t4\"}";
	static const char fresh[] = "{\"name\":\"c\",\"class\":\"cpu\",\"units\":1,\"peak_flops\":1e11,"
				    "\"mem_bandwidth\":2e10,\"fresh_bandwidth\":2e9}";
	static const char large[] = "{\"name\":\"a\",\"type\":\"Relu\",\"flops\":1e6,"
				    "\"read_bytes\":4000000,\"write_bytes\":4000000}";
	char graph[1000], system[400];
	static const char *const engines[] = {"none", "ort", "torch"};
	pair x;
	double s[3][2][2];
	berth_err err;
	(void)state;
	snprintf(graph, sizeof graph,
	         GRAPH("%s,%s", "{\"from\":\"a\",\"to\":\"b\",\"bytes\":12544}"), conv, pool);
	for (int i = 0; i < 6; i++) {
		const berth_engine_rules *e;
		snprintf(system, sizeof system, SYSTEM("%s"), i % 2 ? gpu : cpu);
		read_pair(&x, graph, system);
		assert_ok(berth_rules_find(engines[i / 2], &e, &err), &err);
		assert_ok(berth_system_for(e, &x.s, &err), &err);
		for (int32_t op = 0; op < 2; op++)
			s[i / 2][op][i % 2] = predict(&x, op, 0).seconds;
		drop_pair(&x);
	}
	for (int op = 0; op < 2; op++) {
		assert_true(s[1][op][0] == s[0][op][0]);
		assert_true(s[2][op][1] == s[0][op][1]);
	}
	assert_near(s[2][0][0] - s[0][0][0], 7e-6 + (3.3 * 147456 + 1.4 * 25088) / 2e10, 1e-12);
	assert_near(s[2][1][0] - s[0][1][0], 7e-6 + 1000 * 21e-9, 1e-12);
	for (int i = 0; i < 4; i++) { /* memory of large results, at the rate that the system gives it */
		const berth_engine_rules *e;
		snprintf(graph, sizeof graph, GRAPH("%s", ""), large);
		snprintf(system, sizeof system, SYSTEM("%s"), i % 2 ? fresh : cpu);
		read_pair(&x, graph, system);
		assert_ok(berth_rules_find(engines[i / 2 * 2], &e, &err), &err);
		assert_ok(berth_system_for(e, &x.s, &err), &err);
		s[i / 2][0][i % 2] = predict(&x, 0, 0).seconds;
		drop_pair(&x);
	}
	assert_true(s[0][0][0] == s[0][0][1]);
	assert_near(s[1][0][0] - s[0][0][0], 7e-6 + 1.4 * 4e6 / 2e10, 1e-12);
	assert_near(s[1][0][1] - s[0][0][1], 7e-6 + 4e6 / 2e9, 1e-12);
}

/* llama.cpp multiplies numbers of a byte at four times a CPU's peak in f32 or twice that in f16, whichever is
 * more, those of half a byte at half of it, but at a peak of their own as it is. */
static void test_whole(void **state)
{
	static const struct {
		const char *peaks, *dtype;
		double peak;
	} cases[] = {{"\"f32\":1e12", "w4a16", 2e12},
	             {"\"f32\":1e12", "w8a16", 4e12},
	             {"\"f32\":1e12,\"f16\":1e12", "w4a16", 2e12},
	             {"\"f32\":1e12,\"f16\":4e12", "w4a16", 4e12},
	             {"\"f32\":1e12,\"f16\":4e12", "w8a16", 8e12},
	             {"\"f32\":1e12,\"w8a16\":3e12", "w8a16", 3e12},
	             {"\"f32\":1e12,\"int8\":5e12", "int8", 5e12},
	             {"\"f32\":1e12,\"f16\":4e12", "f16", 4e12}};
	const berth_engine_rules *e;
	berth_err err;
	(void)state;
	assert_ok(berth_rules_find("llama.cpp", &e, &err), &err);
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char graph[300], system[200];
		pair x;
		snprintf(graph, sizeof graph,
		         GRAPH("{\"name\":\"a\",\"type\":\"MatMul\",\"dtype\":\"%s\",\"flops\":2e9}", ""),
		         cases[i].dtype);
		snprintf(system, sizeof system,
		         SYSTEM("{\"name\":\"c\",\"class\":\"cpu\",\"peak_flops\":{%s}}"), cases[i].peaks);
		read_pair(&x, graph, system);
		assert_ok(berth_system_for(e, &x.s, &err), &err);
		assert_near(predict(&x, 0, 0).seconds, 2e9 / cases[i].peak, 1e-12);
		drop_pair(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_sources), cmocka_unit_test(test_precisions),
	                                   cmocka_unit_test(test_rows), cmocka_unit_test(test_alone),
	                                   cmocka_unit_test(test_ratio), cmocka_unit_test(test_alike),
	                                   cmocka_unit_test(test_amd), cmocka_unit_test(test_eager),
	                                   cmocka_unit_test(test_far_weights), cmocka_unit_test(test_whole)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
