/* Plans for engines: one price in search, simulator, comparison and export, against all placements of small
 * graphs; what the engine does by itself is the plan where nothing beats it by more than predictions are off.
 * Engines that read the model (llama.cpp, vLLM) get small random ones; test_llama_best and test_vllm hold
 * their plans against all others. */
#include "check.h"
#include "compare.h"
#include "engine_plan.h"
#include "engine_rules.h"
#include "fail_each.h"
#include "gguf_bytes.h"
#include "instance.h"
#include "load.h"
#include "rng.h"
#include "scales.h"
#include "small_problem.h"
#include "support.h"
#include "system_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 6, MOST_DEVS = 3 };

/* The file of an engine that reads one. */
typedef struct file {
	gguf_bytes bytes;
	berth_content content;
	berth_read_options read;
} file;

/* A language model of one to three narrow layers, on a CPU and one or two GPUs, some of which hold a part. */
static void read_model(small_problem *w, uint64_t seed, file *f)
{
	static const char *const words[][2] = {{"mode=decode", "context=64"}, {"mode=prefill", "context=64"}};
	berth_rng r = berth_rng_seed(seed, 7);
	berth_err err = {0};
	gguf_recipe m = *gguf_recipe_find("llama-3-8b");
	char text[1000], *at = text, *end = text + sizeof text;
	int layers = 1 + (int)berth_rng_below(&r, 3), gpus = 1 + (int)berth_rng_below(&r, 2);
	m.kv_heads = 1 + (int)berth_rng_below(&r, 2);
	m.heads = 2 * m.kv_heads;
	m.key = m.value = 32;
	m.hidden = 32 * m.heads;
	m.ffn = 64 * (1 + (int)berth_rng_below(&r, 8));
	m.vocab = 128 * (1 + (int)berth_rng_below(&r, 8));
	gguf_write(&f->bytes, &m, layers);
	f->content = (berth_content){.name = "m.gguf", .data = (const char *)f->bytes.p, .size = f->bytes.n};
	f->read = (berth_read_options){.dim = words[berth_rng_below(&r, 2)], .n_dims = 2};
	assert_ok(berth_graph_parse("m.gguf", f->content.data, f->content.size, &f->read, &w->mem, &w->tmp,
	                            &w->g, NULL, &err),
	          &err);
	at += snprintf(at, (size_t)(end - at),
	               "{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":["
	               "{\"name\":\"cpu\",\"peak_flops\":%d,\"mem_bandwidth\":5e9}",
	               1000000 * (1 + (int)berth_rng_below(&r, 2000)));
	for (int i = 0; i < gpus; i++)
		at += snprintf(at, (size_t)(end - at),
		               ",{\"name\":\"gpu%d\",\"peak_flops\":1e12,\"mem_bandwidth\":%de8,"
		               "\"memory_bytes\":%lld}",
		               i, 1 + (int)berth_rng_below(&r, 500),
		               (long long)(f->bytes.tensor_bytes * 1.5 * berth_rng_unit(&r)) + 200000000);
	at += snprintf(at, (size_t)(end - at), "],\"links\":[");
	for (int i = 0; i < gpus; i++)
		at += snprintf(at, (size_t)(end - at),
		               "%s{\"from\":\"cpu\",\"to\":\"gpu%d\",\"bandwidth\":%de8,\"both_ways\":true}",
		               i ? "," : "", i, 1 + (int)berth_rng_below(&r, 100));
	snprintf(at, (size_t)(end - at), "]}");
	assert_ok(berth_system_parse_json("s", text, strlen(text), &w->mem, &w->tmp, &w->s, &err), &err);
}

static void open_world(small_problem *w, const char *engine, uint64_t seed, file *f)
{
	berth_err err;
	instance in;
	const berth_engine_rules *rules;
	memset(w, 0, sizeof *w);
	assert_ok(berth_rules_find(engine, &rules, &err), &err);
	*f = (file){.bytes = {0}};
	if (berth_rules_run(rules, "GGUF")) {
		read_model(w, seed, f);
	} else {
		instance_make(seed, MOST_OPS, MOST_DEVS, &in);
		read_both(in.graph, in.system, &w->mem, &w->tmp, &w->g, &w->s);
		instance_free(&in);
	}
	w->s.order = BERTH_ORDER_PRIORITY;
	assert_ok(berth_system_for(rules, &w->s, &err), &err);
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
}

static double value_of(small_problem *w, const berth_problem *p, const int32_t *op_dev,
                       const berth_objective *o, bool *feasible)
{
	berth_timeline t;
	berth_verdict v;
	berth_err err;
	assert_ok(berth_judge(p, op_dev, NULL, o, &w->mem, &t, &v, &err), &err);
	*feasible = v.feasible;
	return v.value;
}

/* As a row of a comparison has it. */
static double compared_value(small_problem *w, const berth_bounds *bounds, const int32_t *op_dev)
{
	const berth_compare_plan plan = {.name = "plan", .op_dev = op_dev};
	berth_compare_cfg cfg = {
		.n_seeds = 1, .plan = &plan, .n_plans = 1, .search = berth_search_cfg_default()};
	berth_compare_row row;
	berth_err err;
	int32_t n;
	assert_ok(berth_compare(&w->p, bounds, &cfg, &row, &n, &w->mem, &w->tmp, &err), &err);
	assert_int_equal(n, 1);
	return row.value;
}

/* The least value of all placements that p has feasible; INFINITY: there is none; NAN: they are too many. */
static double least_value(small_problem *w, const berth_problem *p, const berth_objective *o)
{
	if (w->p.n_ops > MOST_OPS)
		return NAN;
	int32_t all = 1, op_dev[INSTANCE_MAX_OPS];
	double least = INFINITY;
	for (int32_t op = 0; op < w->p.n_ops; op++)
		all *= w->p.n_devs;
	for (int32_t code = 0; code < all; code++) {
		bool legal = true, feasible;
		for (int32_t op = 0, rest = code; op < w->p.n_ops; op++, rest /= w->p.n_devs) {
			op_dev[op] = rest % w->p.n_devs;
			legal = legal && berth_op_legal(p, op, op_dev[op]);
		}
		double value = legal ? value_of(w, p, op_dev, o, &feasible) : INFINITY;
		least = legal && feasible ? fmin(least, value) : least;
	}
	return least;
}

typedef struct counts {
	int placed, kept, gained, fused;
} counts;

static void check(small_problem *w, const file *f, counts *n)
{
	const berth_objective o = berth_objective_of(BERTH_LATENCY);
	const berth_export_source source = {.g = &w->g,
	                                    .s = &w->s,
	                                    .p = &w->p,
	                                    .model = f->bytes.p ? &f->content : NULL,
	                                    .read = f->bytes.p ? &f->read : NULL};
	const berth_method *method;
	berth_bounds bounds;
	berth_engine_plan plan;
	berth_solution r;
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_export_gain gain;
	berth_graph g = w->g; /* with what the engine fuses as one */
	berth_problem p;
	berth_err err;
	bool feasible, usual_feasible = false;
	cfg.evaluations = 50;
	assert_ok(berth_engine_kernels(&w->s, NULL, &g, &w->mem, &w->tmp, &err), &err);
	assert_ok(berth_problem_new(&g, &w->s, &w->mem, &w->tmp, &p, &err), &err);
	assert_ok(berth_bounds_new(&p, &w->tmp, &bounds, &err), &err);
	assert_ok(berth_method_find("berth", &method, &err), &err);
	assert_ok(berth_engine_plan_open(&source, &w->mem, &w->tmp, &plan, &err), &err);
	cfg.start_dev = berth_engine_plan_start(&plan);
	berth_status st = berth_solve(&p, &bounds, method, &cfg, &w->mem, &w->tmp, &r, &err);
	if (st == BERTH_ELIMIT || !r.feasible)
		return;
	assert_ok(st, &err);
	double searched = r.value;
	assert_ok(berth_engine_plan_take(&plan, &o, &r, &w->mem, &w->tmp, &err), &err);
	n->placed++;

	n->fused += p.n_colocs < w->p.n_colocs;

	/* one price: of the answer, of the simulator, of a comparison, of the sum, of the export */
	assert_true(r.value == value_of(w, &w->p, r.op_dev, &o, &feasible) && feasible);
	assert_true(r.value == compared_value(w, &bounds, r.op_dev));
	if (w->s.engine->cost->sums_times && !w->s.engine->times)
		assert_near(r.value, berth_export_serial(&w->p, r.op_dev), 1e-15);
	berth_export_source written = source;
	written.op_dev = r.op_dev;
	assert_ok(berth_export_gain_of(plan.e, &written, &o, r.value, &w->mem, &w->tmp, &gain, &err), &err);
	assert_true(!gain.known || gain.plan == r.value);

	/* never worse than the default, and never below what is possible */
	double least = least_value(w, &p, &o);
	double usual = plan.usual ? value_of(w, &w->p, plan.usual, &o, &usual_feasible) : INFINITY;
	if (usual_feasible)
		assert_true(r.value <= usual && plan.found <= usual);
	if (!isnan(least)) {
		assert_true(plan.found <= searched && plan.found >= least * (1 - 1e-12));
		assert_true(isnan(r.lower_bound) || r.lower_bound <= least * (1 + 1e-12));
		assert_true(isnan(r.gap) || r.value <= least * (1 + r.gap) * (1 + 1e-12));
	}
	assert_true(plan.kept == (gain.known && usual_feasible && plan.gain.keep));
	if (plan.kept)
		assert_true(r.value == usual && plan.found >= usual * (1 - plan.gain.error) * (1 - 1e-12));
	n->kept += plan.kept;
	n->gained += usual_feasible && !plan.kept;
}

static void test_one_price(void **state)
{
	static const char *const engines[] = {"ort", "openvino", "torch", "accelerate", "llama.cpp", "vllm"};
	enum { N_ENGINES = sizeof engines / sizeof *engines };
	counts n[N_ENGINES] = {{0}}, all = {0};
	(void)state;
	for (uint64_t seed = 0; seed < 5000; seed++) {
		small_problem w;
		file f;
		open_world(&w, engines[seed % N_ENGINES], seed, &f);
		if (berth_problem_feasible(&w.p, NULL) == BERTH_OK)
			check(&w, &f, &n[seed % N_ENGINES]);
		small_problem_free(&w);
		free(f.bytes.p);
	}
	for (int i = 0; i < N_ENGINES; i++) {
		print_message("%s: %d placed, %d keep the default, %d gain on it\n", engines[i], n[i].placed,
		              n[i].kept, n[i].gained);
		assert_true(n[i].placed > 250);
		all = (counts){all.placed + n[i].placed, all.kept + n[i].kept, all.gained + n[i].gained,
		               all.fused + n[i].fused};
	}
	assert_true(n[0].fused > 20 && all.fused == n[0].fused);
	assert_true(all.placed > 3000 && all.kept > 200 && all.gained > 50);
}

/* ---- what ONNX Runtime fuses ---- */

enum { N_KERNEL_OPS = 6 };

#define FEW "\"peak_flops\":1e10"
#define T4 "\"like\":\"nvidia-t4\""

/* n_ops operators, of convolutions with a norm and an activation behind each: of flops FLOP, with a rule
 * each; they read, write and hand on 4 MB. For a CPU and two GPUs with these figures. */
static void open_kernels(small_problem *w, int n_ops, int flops, const char *const *rule, const char *gpu,
                         const char *gpu1)
{
	static const char *const type[] = {"Conv", "BatchNormalization", "Relu"};
	char graph[2000], system[1000], *at = graph, *end = graph + sizeof graph;
	const berth_engine_rules *rules;
	berth_err err;
	memset(w, 0, sizeof *w);
	at += snprintf(at, sizeof graph,
	               "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"g\",\"ops\":[");
	for (int op = 0; op < n_ops; op++)
		at += snprintf(at, (size_t)(end - at),
		               "%s{\"name\":\"%d\",\"type\":\"%s\",\"flops\":%d,\"read_bytes\":4000000,"
		               "\"write_bytes\":4000000%s%s}",
		               op ? "," : "", op, type[op % 3], flops, rule[op] ? "," : "",
		               rule[op] ? rule[op] : "");
	at += snprintf(at, (size_t)(end - at), "],\"edges\":[");
	for (int op = 1; op < n_ops; op++)
		at += snprintf(at, (size_t)(end - at), "%s{\"from\":\"%d\",\"to\":\"%d\",\"bytes\":4000000}",
		               op > 1 ? "," : "", op - 1, op);
	snprintf(at, (size_t)(end - at), "]}");
	snprintf(system, sizeof system,
	         "{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":["
	         "{\"name\":\"cpu\",\"like\":\"intel-xeon-gold-6148\"},{\"name\":\"gpu\",%s},"
	         "{\"name\":\"gpu1\",%s}],\"links\":[{\"from\":\"cpu\",\"to\":\"gpu\","
	         "\"bandwidth\":1e10,\"both_ways\":true},{\"from\":\"cpu\",\"to\":\"gpu1\","
	         "\"bandwidth\":1e10,\"both_ways\":true}]}",
	         gpu, gpu1);
	read_both(graph, system, &w->mem, &w->tmp, &w->g, &w->s);
	assert_ok(berth_rules_find("ort", &rules, &err), &err);
	assert_ok(berth_system_for(rules, &w->s, &err), &err);
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
}

/* A letter for each operator, one for all of a group; "-": it is in none. */
static const char *groups_of(const berth_graph *g, char text[N_KERNEL_OPS + 1])
{
	for (int op = 0; op < N_KERNEL_OPS; op++)
		text[op] = (char)(g->op_coloc_name[op] < 0 ? '-' : 'a' + g->op_coloc_name[op]);
	text[N_KERNEL_OPS] = '\0';
	return text;
}

/* What the engine does by itself, under rules that it does not know: a group that stands apart goes to the
 * quickest of its operators' devices, one that may go to none of them to the quickest that has room. */
static void test_kept_rules(void **state)
{
	static const char *const one = "\"colocate\":\"one\"",
				 *const not_gpu = "\"colocate\":\"one\",\"forbid\":[\"gpu\"]";
	static const struct {
		const char *rule;
		int32_t usual, expected; /* of the first operator, of the first two; all others are on 1 */
	} rows[] = {{one, 0, 1}, {not_gpu, 1, 0}};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const char *const rule[N_KERNEL_OPS] = {rows[i].rule, rows[i].rule};
		int32_t usual[N_KERNEL_OPS] = {rows[i].usual, 1, 1, 1, 1, 1};
		const berth_objective o = berth_objective_of(BERTH_LATENCY);
		small_problem w;
		berth_engine_plan plan;
		berth_err err;
		open_kernels(&w, N_KERNEL_OPS, 1000000000, rule, "\"peak_flops\":1e13",
		             "\"peak_flops\":1e14,\"memory_bytes\":1000000");
		const berth_export_source source = {.g = &w.g, .s = &w.s, .p = &w.p};
		berth_solution r = {.p = &w.p, .value = NAN, .lower_bound = NAN};
		assert_ok(berth_engine_plan_open(&source, &w.mem, &w.tmp, &plan, &err), &err);
		plan.usual = usual;
		plan.anyhow = true;
		assert_ok(berth_engine_plan_take(&plan, &o, &r, &w.mem, &w.tmp, &err), &err);
		assert_true(r.feasible);
		for (int op = 0; op < N_KERNEL_OPS; op++)
			assert_int_equal(r.op_dev[op], op < 2 ? rows[i].expected : 1);
		small_problem_free(&w);
	}
}

/* Rules of single operators part a kernel where these may not go to the same devices and nowhere else, and
 * what is left can be placed; a plan that parts one is of single operators. */
static void test_kernels(void **state)
{
	static const char *const cpu = "\"pin\":\"cpu\"", *const gpu = "\"pin\":\"gpu\"",
				 *const not_gpu = "\"forbid\":[\"gpu\"]", *const one = "\"colocate\":\"one\"",
				 *const apart = "\"separate\":\"two\"";
	static const struct {
		const char *rule[N_KERNEL_OPS];
		bool picky;
		const char *groups;
		int32_t plan[N_KERNEL_OPS];
		const char *groups_of_plan;
	} rows[] = {
		{{NULL}, false, "aaabbb", {1, 1, 1, 0, 0, 0}, "aaabbb"},
		{{NULL}, false, "aaabbb", {1, 1, 0, 0, 0, 0}, "------"},
		{{gpu}, false, "-aabbb", {1, 0, 0, 0, 0, 0}, "-aabbb"},
		{{NULL, NULL, cpu, gpu}, false, "aa--bb", {0, 0, 0, 1, 1, 1}, "aa--bb"},
		{{gpu, gpu, gpu}, false, "aaabbb", {1, 1, 1, 0, 0, 0}, "aaabbb"},
		{{gpu, NULL, cpu}, false, "---aaa", {1, 1, 0, 1, 1, 0}, "------"},
		{{gpu, cpu, gpu}, false, "a-abbb", {1, 0, 1, 0, 0, 0}, "a-abbb"},
		{{NULL, not_gpu, not_gpu}, false, "-aabbb", {1, 0, 0, 2, 2, 2}, "-aabbb"},
		{{NULL}, true, "-aa-bb", {2, 1, 1, 2, 0, 0}, "-aa-bb"},
		{{gpu, NULL, one, one, NULL, cpu}, false, "-aaaa-", {1, 1, 1, 1, 1, 0}, "-aaaa-"},
		{{apart, NULL, NULL, apart}, false, "-aa-bb", {1, 0, 0, 0, 1, 1}, "-aa-bb"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		small_problem w;
		berth_err err;
		char text[N_KERNEL_OPS + 1];
		open_kernels(&w, N_KERNEL_OPS, 1000000, rows[i].rule, FEW,
		             rows[i].picky ? FEW ",\"runs\":[\"Conv\"]" : FEW);
		berth_graph g = w.g, of_plan = w.g;
		assert_ok(berth_engine_kernels(&w.s, NULL, &g, &w.mem, &w.tmp, &err), &err);
		assert_string_equal(groups_of(&g, text), rows[i].groups);
		assert_ok(berth_engine_kernels(&w.s, rows[i].plan, &of_plan, &w.mem, &w.tmp, &err), &err);
		assert_string_equal(groups_of(&of_plan, text), rows[i].groups_of_plan);
		assert_ok(berth_problem_new(&g, &w.s, &w.mem, &w.tmp, &w.p, &err), &err);
		assert_ok(berth_problem_feasible(&w.p, &err), &err);
		small_problem_free(&w);
	}
}

static berth_status try_kernels(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	small_problem *w = ctx;
	berth_graph g = w->g;
	return berth_engine_kernels(&w->s, NULL, &g, mem, tmp, err);
}

static void test_kernels_fail(void **state)
{
	static const char *const rule[N_KERNEL_OPS] = {NULL};
	small_problem w;
	(void)state;
	open_kernels(&w, N_KERNEL_OPS, 1000000, rule, FEW, FEW);
	assert_fails_each(try_kernels, &w, 1);
	small_problem_free(&w);
}

/* Nanoseconds of n operators from op on, one after the other. */
static int64_t sum_of(const berth_problem *p, int32_t op, int32_t n, int32_t dev)
{
	int64_t sum = 0;
	for (int32_t end = op + n; op < end; op++)
		sum += berth_op_time(p, op, dev);
	return sum;
}

/* On a GPU whose times are predicted a kernel takes what an operator takes that does its work, reads what
 * comes in and writes what goes out, scaled as that; pins say nothing, nor that it is the whole graph. On a
 * CPU and where a member was measured it takes the sum of its operators. */
static void test_kernel_times(void **state)
{
	static const char *const none[N_KERNEL_OPS] = {NULL},
				 *const pinned[N_KERNEL_OPS] = {"\"pin\":\"cpu\""},
				 *const timed[N_KERNEL_OPS] = {NULL, "\"time_s\":{\"gpu\":0.001}"};
	const struct {
		const char *const *rule;
		const char *gpu;
		bool fused[2]; /* each kernel */
	} rows[] = {{none, T4, {true, true}},
	            {pinned, T4, {true, true}},
	            {timed, T4, {false, true}},
	            {none, T4 ",\"scale\":{\"*\":1.5}", {true, true}},
	            {none, FEW, {false, false}}};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		for (int flops = 1000; flops < 30000000; flops *= 31) {
			small_problem w, one, whole; /* one of two operators: what has no neighbour waits */
			berth_problem plain, of_one;
			berth_err err;
			open_kernels(&w, N_KERNEL_OPS, flops, rows[i].rule, rows[i].gpu, FEW);
			open_kernels(&one, 2, 3 * flops, none, rows[i].gpu, FEW);
			open_kernels(&whole, 3, flops, rows[i].rule, rows[i].gpu, FEW);
			berth_system s = w.s;
			s.engine = NULL;
			assert_ok(berth_problem_new(&w.g, &s, &w.mem, &w.tmp, &plain, &err), &err);
			assert_ok(berth_problem_new(&one.g, &s, &w.mem, &w.tmp, &of_one, &err), &err);
			for (int32_t k = 0; k < 2; k++) {
				int64_t apart = sum_of(&plain, 3 * k, 3, 1), now = sum_of(&w.p, 3 * k, 3, 1),
					as_one = berth_op_time(&of_one, 0, 1);
				assert_true(rows[i].fused[k] ? now < apart && llabs(now - as_one) <= 2
				                             : now == apart);
				for (int32_t dev = 0; dev < 3; dev += 2)
					assert_int_equal(sum_of(&w.p, 3 * k, 3, dev),
					                 sum_of(&plain, 3 * k, 3, dev));
			}
			assert_int_equal(sum_of(&whole.p, 0, 3, 1), sum_of(&w.p, 0, 3, 1));
			small_problem_free(&w);
			small_problem_free(&one);
			small_problem_free(&whole);
		}
}

static berth_status try_fit(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const small_problem *w = ctx;
	const berth_timing t = {&w->g, -1, 1e-3};
	berth_system s = w->s;
	berth_scales_told told;
	return berth_scales_fit(&s, 1, &t, 1, "by", mem, tmp, &told, err);
}

/* A timing of what is predicted of the whole graph changes no time, and one far off all of them. */
static void test_kernels_calibrated(void **state)
{
	static const char *const none[N_KERNEL_OPS] = {NULL};
	(void)state;
	for (int times = 1; times < 20; times += 9) {
		small_problem w;
		berth_problem p;
		berth_scales_told told;
		berth_err err;
		open_kernels(&w, N_KERNEL_OPS, 30000000, none, T4, FEW);
		const berth_timing t = {&w.g, -1, times * 1e-9 * (double)sum_of(&w.p, 0, N_KERNEL_OPS, 1)};
		assert_ok(berth_scales_fit(&w.s, 1, &t, 1, "by", &w.mem, &w.tmp, &told, &err), &err);
		assert_near(told.factor, times, 1e-3);
		assert_ok(berth_problem_new(&w.g, &w.s, &w.mem, &w.tmp, &p, &err), &err);
		for (int32_t op = 0; op < N_KERNEL_OPS; op++)
			assert_near((double)berth_op_time(&p, op, 1) / (double)berth_op_time(&w.p, op, 1),
			            times, times > 1 ? 0.01 : 0);
		assert_fails_each(try_fit, &w, 1);
		small_problem_free(&w);
	}
}

static berth_status try_times(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const small_problem *w = ctx;
	berth_problem p;
	return berth_problem_new(&w->g, &w->s, mem, tmp, &p, err);
}

/* Plans of kernels that have times of their own, scaled ones too, have one price, and are never below brute
 * force. */
static void test_kernel_price(void **state)
{
	static const char *const none[N_KERNEL_OPS] = {NULL};
	counts n = {0};
	(void)state;
	for (int flops = 1000; flops < 30000000; flops *= 31) {
		const file f = {.bytes = {0}};
		small_problem w;
		open_kernels(&w, N_KERNEL_OPS, flops, none, flops > 31000 ? T4 ",\"scale\":{\"*\":1.3}" : T4,
		             T4 ",\"memory_bytes\":9000000");
		check(&w, &f, &n);
		if (flops == 1000)
			assert_fails_each(try_times, &w, 1);
		small_problem_free(&w);
	}
	assert_true(n.placed == 4 && n.fused == 4);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_price), cmocka_unit_test(test_kernel_times),
		cmocka_unit_test(test_kernels_calibrated),
		cmocka_unit_test(test_kernel_price), cmocka_unit_test(test_kernels),
		cmocka_unit_test(test_kept_rules),
		cmocka_unit_test(test_kernels_fail)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
