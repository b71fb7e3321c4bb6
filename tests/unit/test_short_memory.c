/* Each allocation fails in turn: what rooms base, graphs and env do for a command, where their own tests do
 * not try it. The run that succeeds gives the right result. */
#include "bounds.h"
#include "check.h"
#include "coarsen.h"
#include "compiled_instance.h"
#include "constraints.h"
#include "cost_model.h"
#include "explain.h"
#include "fail_each.h"
#include "file.h"
#include "graph_format.h"
#include "graph_union.h"
#include "incremental.h"
#include "infeasible_subset.h"
#include "load.h"
#include "load_system.h"
#include "partial.h"
#include "problem.h"
#include "quotient.h"
#include "support.h"
#include "system_change.h"
#include "system_json.h"
#include "system_warnings.h"
#include "tails.h"
#include "timeline.h"
#include "training.h"
#include "zoo.h"

#include <stdio.h>
#include <string.h>

static const char DUO[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"duo\",\"devices\":[{\"name\":\"a\","
	"\"peak_flops\":1e9,\"memory_bytes\":10},{\"name\":\"b\",\"memory_bytes\":100}],\"links\":["
	"{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e9,\"shared\":\"bus\"},"
	"{\"from\":\"b\",\"to\":\"a\",\"bandwidth\":1e9,\"shared\":\"bus\"}]}";
static const char NET[] = "{\"format\":\"berth-graph\",\"version\":1,\"name\":\"net\",\"ops\":["
			  "{\"name\":\"x.1\",\"time_s\":{\"*\":1}},"
			  "{\"name\":\"x.2\",\"time_s\":{\"*\":1},\"param_bytes\":60},"
			  "{\"name\":\"y\",\"time_s\":{\"*\":1},\"param_bytes\":60}],"
			  "\"edges\":[{\"from\":\"x.1\",\"to\":\"y\",\"bytes\":4}]}";

static void read_system(berth_arena *mem, berth_system *s)
{
	berth_arena tmp = {0};
	berth_err err;
	assert_ok(berth_system_parse_json("duo", DUO, strlen(DUO), mem, &tmp, s, &err), &err);
	berth_arena_free(&tmp);
}

static void read_graph(berth_arena *mem, berth_graph *g)
{
	berth_arena tmp = {0};
	berth_err err;
	assert_ok(berth_graph_parse_json("net", NET, strlen(NET), mem, &tmp, g, &err), &err);
	berth_arena_free(&tmp);
}

static berth_status change(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_system out;
	static const char changes[] = "+c=like:a,a.peak_flops=2x,+c->a=1GB/s@5us,+a->c=like:b->a,-c,-bus,"
				      "+b:a=2GB/s";
	BERTH_TRY(berth_system_change(ctx, changes, mem, tmp, &out, err));
	assert_int_equal(out.n_devs, 2);
	assert_int_equal(out.n_links, 2);
	assert_true(out.dev_peak_flops[0] == 2e9);
	return BERTH_OK;
}

static void test_change(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_system s;
	read_system(&mem, &s);
	assert_fails_each(change, &s, 1);
	assert_true(s.dev_peak_flops[0] == 1e9);
	berth_arena_free(&mem);
}

static berth_status set(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_system copy;
	BERTH_TRY(berth_system_clone(ctx, mem, &copy, err));
	BERTH_TRY(berth_system_set(&copy, "a->b.latency_s=5us", tmp, err));
	BERTH_TRY(berth_system_set(&copy, "b.memory_bytes=0.5x", tmp, err));
	assert_int_equal(copy.dev_memory_bytes[1], 50);
	return BERTH_OK;
}

static void test_set(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_system s;
	read_system(&mem, &s);
	assert_fails_each(set, &s, 1);
	assert_int_equal(s.dev_memory_bytes[1], 100);
	berth_arena_free(&mem);
}

typedef struct net_on_duo {
	berth_arena mem;
	berth_graph g;
	berth_system s;
} net_on_duo;

static berth_status rules(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	net_on_duo *c = ctx;
	berth_graph g = c->g;
	berth_problem p;
	berth_placement placement;
	const char *pin = "x.1=b", *forbid = "x.*=a", *colocate = "x.?,y";
	berth_rule_texts texts = {&pin, &forbid, &colocate, 1, 1, 1, NULL};
	BERTH_TRY(berth_graph_add_rules(&texts, &c->s, mem, tmp, &g, err));
	BERTH_TRY(berth_problem_new(&g, &c->s, mem, tmp, &p, err));
	BERTH_TRY(berth_placement_new(&g, &c->s, mem, tmp, &placement, err));
	assert_int_equal(p.n_colocs, 1);
	assert_false(p.op_dev_legal[0]); /* x.1 on a */
	return BERTH_OK;
}

/* 60 bytes each on devices of 10 and of 100: two rules that contradict each other. */
static berth_status infeasible(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	net_on_duo *c = ctx;
	berth_problem p;
	berth_infeasible_subset subset;
	BERTH_TRY(berth_problem_new(&c->g, &c->s, mem, tmp, &p, err));
	BERTH_TRY(berth_infeasible_subset_find(&p, NULL, NULL, mem, tmp, &subset, err));
	assert_true(subset.proven);
	assert_true(subset.n > 0);
	return BERTH_OK;
}

static void test_rules(void **state)
{
	(void)state;
	net_on_duo c = {0};
	read_graph(&c.mem, &c.g);
	read_system(&c.mem, &c.s);
	assert_fails_each(rules, &c, 1);
	assert_fails_each(infeasible, &c, 1);
	berth_arena_free(&c.mem);
}

static berth_status join(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_graph both, two[2] = {*(berth_graph *)ctx, *(berth_graph *)ctx};
	berth_graph_parts parts;
	BERTH_TRY(berth_graph_union(two, 2, mem, tmp, &both, &parts, err));
	assert_int_equal(both.n_ops, 2 * two[0].n_ops);
	assert_string_equal(parts.name[1], "net-2");
	return BERTH_OK;
}

static void test_union(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_graph g;
	read_graph(&mem, &g);
	assert_fails_each(join, &g, 1);
	berth_arena_free(&mem);
}

/* The problem of a random instance once more, and its bounds. */
static berth_status bounds(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	berth_problem p;
	berth_bounds b;
	berth_objective o;
	berth_bound_effort all = berth_bound_effort_all(NULL);
	double joint;
	bool none;
	BERTH_TRY(berth_objective_parse("latency+throughput:memory<=1TB", &o, err));
	BERTH_TRY(berth_problem_new(&c->g, &c->s, mem, tmp, &p, err));
	BERTH_TRY(berth_bounds_new(&p, tmp, &b, err));
	BERTH_TRY(berth_bounds_strengthen(&p, &all, tmp, &b, err));
	BERTH_TRY(berth_bounds_objective(&p, &b, &o, tmp, &joint, err));
	BERTH_TRY(berth_bounds_limits_infeasible(&p, &b, &o, tmp, &none, err));
	assert_true(!c->t.r.runs || !c->t.r.fits || b.latency_ns <= c->t.r.latency_ns);
	return BERTH_OK;
}

static void test_bounds(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= (BERTH_DEBUG ? 2 : 6); seed++) {
		compiled_instance c;
		compiled_instance_make(&c, seed);
		/* the LP solver takes most of the time */
		assert_fails_each(bounds, &c, BERTH_DEBUG ? 13 : 7);
		compiled_instance_free(&c);
	}
}

/* ---- what is made of a placed instance ---- */

static berth_status bases(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	berth_incremental *n;
	berth_tails tails;
	berth_sim_result r;
	(void)tmp;
	BERTH_TRY(berth_incremental_new(&c->p, mem, &n, err));
	BERTH_TRY(berth_incremental_want_log(n, mem, err));
	BERTH_TRY(berth_tails_new(&c->p, mem, &tails, err));
	assert_true(berth_incremental_base(n, c->placement.op_dev, &r));
	return BERTH_OK;
}

static berth_status judged(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	berth_timeline t;
	berth_verdict v;
	berth_explanation x;
	BERTH_TRY(berth_judge(&c->p, c->placement.op_dev, c->placement.order, NULL, mem, &t, &v, err));
	BERTH_TRY(berth_explain(&c->p, &t, mem, tmp, &x, err));
	assert_int_equal(x.latency_ns, c->t.r.latency_ns);
	return BERTH_OK;
}

static berth_status curves(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	berth_memory_curve *curve;
	BERTH_TRY_NEW(mem, c->p.n_devs, err, curve);
	return berth_memory_curves(&c->p, c->placement.op_dev, c->placement.order, mem, tmp, curve, err);
}

/* What schedulers ask for: each operator may run somewhere. */
static bool has_devices(const berth_problem *p)
{
	for (int32_t op = 0; op < p->n_ops; op++) {
		bool legal = false;
		for (int32_t d = 0; d < p->n_devs; d++)
			legal |= berth_op_legal(p, op, d);
		if (!legal)
			return false;
	}
	return true;
}

static berth_status scheduled(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	berth_partial *part;
	BERTH_TRY(berth_partial_new(&c->p, mem, &part, err));
	return berth_partial_schedule(part, c->p.op_rank_ns, tmp, err);
}

static berth_status coarse(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default(3);
	berth_coarsening x;
	berth_graph g;
	BERTH_TRY(berth_coarsen(&c->g, &cfg, mem, tmp, &x, err));
	BERTH_TRY(berth_coarsening_check(&c->g, &x, &cfg, tmp, err));
	BERTH_TRY(berth_quotient_new(&c->p, &x, mem, tmp, &g, err));
	assert_int_equal(g.n_ops, x.n_groups);
	return BERTH_OK;
}

static berth_status warned(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	const char **text;
	int32_t n;
	return berth_system_warnings(&c->s, &c->g, NULL, mem, tmp, &text, &n, err);
}

static berth_status mended(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	int32_t *op_dev;
	bool kept, none;
	BERTH_TRY_NEW(mem, c->p.n_ops, err, op_dev);
	memcpy(op_dev, c->placement.op_dev, (size_t)c->p.n_ops * sizeof *op_dev);
	BERTH_TRY(berth_constraints_mend(&c->p, op_dev, &kept, tmp, err));
	return berth_constraints_prove(&c->p, tmp, &none, err);
}

static berth_status trained(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	compiled_instance *c = ctx;
	berth_training_options opt = berth_training_options_default();
	berth_training_report report;
	berth_graph out;
	int32_t *segment;
	for (int32_t op = 0; op < c->g.n_ops; op++)
		if (c->g.op_backward[op]) { /* it is refused: nothing to see */
			BERTH_TRY_NEW(tmp, 1, err, segment);
			return BERTH_OK;
		}
	BERTH_TRY_NEW(tmp, c->g.n_ops, err, segment);
	berth_training_segments(&c->g, 2, segment);
	opt.op_segment = segment;
	opt.report = &report;
	BERTH_TRY(berth_graph_training(&c->g, &opt, mem, tmp, &out, err));
	assert_true(out.n_ops >= c->g.n_ops);
	return BERTH_OK;
}

static void test_placed(void **state)
{
	(void)state;
	static fallible *const what[] = {bases, judged, curves, scheduled, coarse, warned, mended, trained};
	int n = 0, all = 12 / support_one_in(3, "instances");
	for (uint64_t seed = 1; n < all; seed++) {
		compiled_instance c;
		compiled_instance_make(&c, seed);
		for (size_t i = 0; c.t.r.runs && i < sizeof what / sizeof *what; i++)
			if (what[i] != scheduled || has_devices(&c.p))
				assert_fails_each(what[i], &c, 1);
		n += c.t.r.runs;
		compiled_instance_free(&c);
	}
}

/* A problem under each cost model, simulated. */
static berth_status simulated(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	net_on_duo *c = ctx;
	berth_problem p;
	berth_timeline t;
	int32_t op_dev[64] = {0};
	BERTH_TRY(berth_problem_new(&c->g, &c->s, mem, tmp, &p, err));
	return berth_timeline_new(&p, op_dev, NULL, mem, &t, err);
}

static void test_cost_models(void **state)
{
	(void)state;
	static const char *const model[] = {"reference", "tarnawski", "placeto", "giph", "doppler"};
	for (size_t i = 0; i < sizeof model / sizeof *model; i++) {
		net_on_duo c = {0};
		berth_err err;
		read_graph(&c.mem, &c.g);
		read_system(&c.mem, &c.s);
		assert_true(c.g.n_ops < 64);
		assert_ok(berth_cost_model_find(model[i], &c.s.cost_model, &err), &err);
		assert_fails_each(simulated, &c, 1);
		berth_arena_free(&c.mem);
	}
}

/* The exported models, which use far more of the ONNX reader than the files made for its tests. */
static berth_status load(void *ctx, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_graph g;
	berth_read_report report;
	BERTH_TRY(berth_graph_load(ctx, NULL, mem, tmp, &g, &report, err));
	assert_true(g.n_ops > 5);
	return BERTH_OK;
}

static void test_files(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		long step;
	} file[] = {
		{"greedy_loop", 1}, {"tagger", 1},           {"convnext", 11}, {"lstm_unrolled", 31},
		{"vit", 11},        {"encoder_dynamic", 61}, {"seq2seq", 61},  {"swin", 61},
	};
	const int more = support_one_in(5, "failing allocations");
	for (size_t i = 0; i < sizeof file / sizeof *file; i++) {
		char path[sizeof BERTH_FIXTURES + 64];
		snprintf(path, sizeof path, "%s/%s.onnx", BERTH_FIXTURES, file[i].name);
		assert_fails_each(load, path, file[i].step * more);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_change), cmocka_unit_test(test_set),    cmocka_unit_test(test_rules),
		cmocka_unit_test(test_union),  cmocka_unit_test(test_bounds), cmocka_unit_test(test_files),
		cmocka_unit_test(test_placed), cmocka_unit_test(test_cost_models),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
