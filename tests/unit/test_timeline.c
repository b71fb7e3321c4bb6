/* Timelines of random instances: the explanation adds up to the latency, the trace shows every operator and
 * hop once and no two of a lane at once, violations agree with the slow oracle; figures changed by --set;
 * every allocation failing in turn. */
#include "check.h"
#include "explain.h"
#include "exporters.h"
#include "instance.h"
#include "oracle.h"
#include "placement.h"
#include "small_problem.h"
#include "support.h"
#include "system_change.h"
#include "system_json.h"

#include <math.h>
#include <string.h>

typedef struct compiled {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_placement placement;
} compiled;

static void compile(compiled *c, const instance *in)
{
	berth_err err;
	memset(c, 0, sizeof *c);
	read_both(in->graph, in->system, &c->mem, &c->tmp, &c->g, &c->s);
	assert_ok(berth_placement_parse_json("p", in->placement, strlen(in->placement), &c->g, &c->s, &c->mem,
	                                     &c->tmp, &c->placement, NULL, &err),
	          &err);
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
}

static void discard(compiled *c)
{
	berth_arena_free(&c->mem);
	berth_arena_free(&c->tmp);
}

static void check_explanation(compiled *c, const berth_timeline *t)
{
	berth_explanation e;
	berth_err err;
	char text[256];
	assert_ok(berth_explain(&c->p, t, &c->mem, &c->tmp, &e, &err), &err);
	int64_t sum = e.compute_ns;
	for (int32_t i = 0; i < e.n; i++) {
		sum += e.lost[i].ns;
		assert_true(e.lost[i].ns > 0 && e.lost[i].times > 0);
		assert_true(i == 0 || e.lost[i - 1].ns >= e.lost[i].ns);
		assert_true(strlen(berth_lost_text(&c->p, &e.lost[i], text, sizeof text)) > 10);
	}
	assert_int_equal(sum, t->r.latency_ns);
	for (int32_t op = 0; op < c->p.n_ops; op++) {
		berth_slowed x = berth_op_slowed(&c->p, t, op);
		int64_t took = t->end_ns[op] - t->start_ns[op],
			alone = berth_op_time(&c->p, op, t->op_dev[op]);
		assert_int_equal(took, alone + x.ns);
		assert_true((x.pool >= 0) == (x.ns > 0) && (x.times > 1) == (x.ns > 0));
	}
	assert_int_equal(e.latency_ns, t->r.latency_ns);
}

static double number(const cJSON *event, const char *key)
{
	const cJSON *m = cJSON_GetObjectItemCaseSensitive(event, key);
	return cJSON_IsNumber(m) ? m->valuedouble : NAN;
}

/* Do two events of one thread overlap? Whole nanoseconds, so that rounding of the file's microseconds is out
 * of the way. */
static bool overlap(const cJSON *a, const cJSON *b)
{
	long long a0 = llround(number(a, "ts") * 1e3), a1 = a0 + llround(number(a, "dur") * 1e3);
	long long b0 = llround(number(b, "ts") * 1e3), b1 = b0 + llround(number(b, "dur") * 1e3);
	return a0 < b1 && b0 < a1;
}

static void check_trace(compiled *c, const berth_timeline *t)
{
	size_t ops = 0, hops = 0;
	berth_err err;
	double sum_us = 0, ops_us = 0;
	berth_export_source x = {.g = &c->g, .s = &c->s, .op_dev = c->placement.op_dev, .p = &c->p, .t = t};
	berth_export_out out = {.mem = &c->mem};
	assert_ok(berth_export_make(&berth_export_trace, &x, &c->tmp, &out, &err), &err);
	assert_int_equal(out.n_pieces, 1);
	cJSON *doc = cJSON_ParseWithLength(out.piece[0].data, out.piece[0].size);
	const cJSON *list = cJSON_GetObjectItemCaseSensitive(doc, "traceEvents");
	assert_true(cJSON_IsArray(list));
	for (const cJSON *e = list->child; e; e = e->next) {
		if (strcmp(cJSON_GetObjectItemCaseSensitive(e, "ph")->valuestring, "X") != 0)
			continue;
		bool device = number(e, "pid") == 1;
		ops += device;
		hops += !device;
		sum_us += device ? number(e, "dur") : 0;
		for (const cJSON *o = e->next; o; o = o->next)
			if (number(o, "pid") == number(e, "pid") && number(o, "tid") == number(e, "tid"))
				assert_false(overlap(e, o));
	}
	for (int32_t op = 0; op < c->g.n_ops; op++)
		ops_us += (double)(t->end_ns[op] - t->start_ns[op]) * 1e-3;
	assert_int_equal(ops, c->g.n_ops);
	assert_int_equal(hops, t->n_hops);
	assert_near(sum_us, ops_us, 1e-6 * (1 + ops_us));
	cJSON_Delete(doc);
}

static void check_violations(compiled *c, const berth_timeline *t, const oracle_result *o)
{
	berth_verdict v;
	berth_violations none;
	berth_err err;
	bool memory = false;
	assert_ok(berth_judge_timeline(&c->p, t, NULL, &c->mem, &v, &err), &err);
	for (int32_t i = 0; i < v.broken.n; i++)
		memory |= v.broken.item[i].kind == BERTH_VIOLATION_MEMORY ||
		          v.broken.item[i].kind == BERTH_VIOLATION_POOL;
	assert_int_equal(v.feasible, o->feasible);
	assert_true(!o->runs || memory == !o->memory_fits);
	assert_ok(berth_check_problem(&c->p, &c->mem, &none, &err), &err);
	assert_int_equal(none.n == 0, berth_problem_feasible(&c->p, NULL) == BERTH_OK);
}

static void test_random_instances(void **state)
{
	(void)state;
	int ran = 0, broken = 0;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		instance in;
		oracle_result o;
		compiled c;
		berth_timeline t;
		berth_err err;
		(seed % 3 ? instance_make : instance_make_pooled)(seed, 14, 5, &in);
		assert_int_equal(oracle_simulate(in.graph, in.system, in.placement, &o), 0);
		compile(&c, &in);
		assert_ok(berth_timeline_new(&c.p, c.placement.op_dev, c.placement.order, &c.mem, &t, &err),
		          &err);
		assert_int_equal(t.r.runs, o.runs);
		check_violations(&c, &t, &o);
		broken += !o.feasible;
		if (t.r.runs) {
			ran++;
			assert_int_equal(t.r.latency_ns, o.latency_ns);
			check_explanation(&c, &t);
			check_trace(&c, &t);
		}
		discard(&c);
		oracle_free(&o);
		instance_free(&in);
	}
	assert_true(ran > 1000 && broken > 100);
}

/* A text names of a channel its first link, which is the last of all where others share theirs. */
static void test_lost_words(void **state)
{
	(void)state;
	static const char three[] =
		"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":"
		"[{\"name\":\"a\"},{\"name\":\"b\"},{\"name\":\"c\"}],\"links\":[{\"from\":\"a\","
		"\"to\":\"b\",\"bandwidth\":10,\"both_ways\":true,\"shared\":\"bus\"},{\"from\":\"c\","
		"\"to\":\"a\",\"bandwidth\":10,\"both_ways\":true}],\"memory_pools\":[{\"name\":\"ram\","
		"\"bandwidth\":9,\"devices\":[\"a\",\"b\"]}]}";
	static const struct {
		berth_lost lost;
		const char *text;
	} rows[] = {{{BERTH_LOST_TRANSFER, 1, 1, 1}, "transfers b -> a over bus"},
	            {{BERTH_LOST_TRANSFER, 3, 1, 1}, "transfers a -> c"},
	            {{BERTH_LOST_CHANNEL, 0, 1, 1}, "waiting for bus, busy with other transfers"},
	            {{BERTH_LOST_CHANNEL, 2, 1, 1}, "waiting for a -> c, busy with other transfers"},
	            {{BERTH_LOST_DEVICE, 2, 1, 1}, "waiting for c, busy with other operators"},
	            {{BERTH_LOST_POOL, 0, 1, 1}, "sharing memory pool ram"}};
	berth_arena mem = {0}, tmp = {0};
	berth_system s;
	berth_err err;
	char text[256];
	assert_ok(berth_system_parse_json("s", three, strlen(three), &mem, &tmp, &s, &err), &err);
	const berth_problem p = {.s = &s};
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		assert_string_equal(berth_lost_text(&p, &rows[i].lost, text, sizeof text), rows[i].text);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* ---- figures ---- */

static const char duo[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"duo\",\"devices\":[{\"name\":\"n.a\",\"peak_"
	"flops\":2e12,\"slots\":2},{\"name\":\"b\"}],"
	"\"links\":[{\"from\":\"n.a\",\"to\":\"b\",\"bandwidth\":10,\"both_ways\":true,\"shared\":\"bus\"}]}";

static void test_set(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_system s;
	berth_err err;
	assert_ok(berth_system_parse_json("s", duo, strlen(duo), &mem, &tmp, &s, &err), &err);
	assert_ok(berth_system_set(&s, "n.a.peak_flops=1.5x", &tmp, &err), &err);
	assert_true(s.dev_peak_flops[0] == 3e12);
	assert_ok(berth_system_set(&s, "n.a.slots=1.5x", &tmp, &err), &err);
	assert_int_equal(s.dev_slots[0], 3);
	assert_ok(berth_system_set(&s, "b.memory_bytes=2x", &tmp, &err), &err);
	assert_int_equal(s.dev_memory_bytes[1], -1);
	assert_ok(berth_system_set(&s, "b.memory_bytes=7", &tmp, &err), &err);
	assert_int_equal(s.dev_memory_bytes[1], 7);
	assert_ok(berth_system_set(&s, "bus.bandwidth=3x", &tmp, &err), &err);
	assert_true(s.link_bandwidth[0] == 30 && s.link_bandwidth[1] == 30);
	assert_ok(berth_system_set(&s, "b->n.a.bandwidth=5", &tmp, &err), &err);
	assert_true(s.link_bandwidth[s.link_of[2]] == 5 && s.link_bandwidth[s.link_of[1]] == 30);
	assert_int_equal(berth_system_set(&s, "b.peak_flops=2x", &tmp, &err), BERTH_EINVAL);
	assert_contains(err.msg, "has no peak_flops to multiply");
	assert_int_equal(berth_system_set(&s, "b.busy_w=2x", &tmp, &err), BERTH_EINVAL);
	assert_int_equal(berth_system_set(&s, "n.A.slots=2", &tmp, &err), BERTH_EINVAL);
	assert_contains(err.msg, "did you mean 'n.a'?");
	assert_int_equal(berth_system_set(&s, "b.slots=0", &tmp, &err), BERTH_EINVAL);
	assert_int_equal(berth_system_set(&s, "bus.bandwidth=infx", &tmp, &err), BERTH_EINVAL);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_exporters(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_export_source nothing = {0};
	const berth_exporter *e;
	berth_err err;
	for (int32_t i = 0; i < berth_n_exporters; i++) {
		const berth_exporter *x = berth_exporters[i];
		assert_ok(berth_exporter_find(x->name, &e, &err), &err);
		assert_ptr_equal(e, x);
		assert_true(x->about[0] && x->suffix[0] == '.');
		berth_status st = berth_export(x->name, &nothing, "/dev/null", &mem, &tmp, &err);
		assert_int_equal(st, BERTH_EINVAL);
		assert_non_null(strstr(err.msg, "needs"));
	}
	assert_int_equal(berth_exporter_find("dott", &e, &err), BERTH_EINVAL);
	const char *called[] = {"left"};
	berth_device_class class = BERTH_CLASS_CPU;
	const berth_system of_class = {.dev_name = called, .dev_kind = called, .dev_class = &class};
	assert_true(berth_system_is(&of_class, 0, "cpu") && !berth_system_is(&of_class, 0, "gpu"));
	assert_non_null(strstr(err.msg, "did you mean 'dot'?"));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* ---- failing memory ---- */

static berth_status all_of_it(const berth_problem *p, const berth_placement *placement, berth_arena *mem,
                              berth_arena *tmp, berth_err *err)
{
	berth_timeline t;
	berth_explanation e;
	berth_verdict v;
	berth_export_out out = {.mem = mem};
	BERTH_TRY(berth_judge(p, placement->op_dev, placement->order, NULL, mem, &t, &v, err));
	BERTH_TRY(berth_explain(p, &t, mem, tmp, &e, err));
	return berth_export_make(&berth_export_trace, &(berth_export_source){.p = p, .t = &t}, tmp, &out,
	                         err);
}

static void test_failing_memory(void **state)
{
	(void)state;
	instance in;
	compiled c;
	berth_status st = BERTH_ENOMEM;
	instance_make(5, 14, 5, &in);
	compile(&c, &in);
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator f;
		berth_arena mem, tmp;
		berth_err err;
		failing_allocator_init(&f, k);
		berth_arena_init(&mem, &f.hook);
		berth_arena_init(&tmp, &f.hook);
		st = all_of_it(&c.p, &c.placement, &mem, &tmp, &err);
		assert_true(st == BERTH_OK || st == BERTH_ENOMEM);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
	}
	discard(&c);
	instance_free(&in);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_instances),
	                                   cmocka_unit_test(test_lost_words),
	                                   cmocka_unit_test(test_set), cmocka_unit_test(test_exporters),
	                                   cmocka_unit_test(test_failing_memory)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
