/* Profiles, predictions, calibration and fidelity's statistics, on made-up figures whose answers are known.
 */
#include "calibrate.h"
#include "fidelity.h"
#include "graph_format.h"
#include "profile.h"
#include "profile_cache.h"
#include "small_problem.h"
#include "statistics.h"
#include "support.h"
#include "system_json.h"
#include "times.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char duo_text[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"duo\",\"contention\":false,\"devices\":[{"
        "\"name\":\"a\"},{\"name\":\"b\"}],"
	"\"links\":[{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e9,\"latency_s\":1e-5,\"both_ways\":true}]}";

/* A chain of n operators. */
static void make_chain(int32_t n, berth_arena *mem, berth_arena *tmp, berth_graph *g)
{
	berth_builder *b;
	berth_err err;
	char name[16];
	assert_ok(berth_builder_new(tmp, "chain", &b, &err), &err);
	for (int32_t i = 0; i < n; i++) {
		snprintf(name, sizeof name, "op%d", (int)i);
		const berth_op_spec spec = {.name = name,
		                            .type = i % 2 ? "Relu" : "Conv",
		                            .flops = 1e6 * (i + 1),
		                            .read_bytes = 1000 * (i % 3 + 1),
		                            .write_bytes = 500};
		assert_ok(berth_builder_op(b, &spec, NULL, &err), &err);
		if (i)
			assert_ok(berth_builder_edge(b, i - 1, i, 4000 * (1 + i % 5), NULL, &err), &err);
	}
	assert_ok(berth_builder_finish(b, mem, g, &err), &err);
}

static void make_duo(berth_arena *mem, berth_arena *tmp, berth_system *s)
{
	berth_err err;
	assert_ok(berth_system_parse_json("duo", duo_text, strlen(duo_text), mem, tmp, s, &err), &err);
}

/* ---- prediction ---- */

static void lines_are_found(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_graph g;
	double seconds[20], low[20], high[20];
	int32_t n;
	make_chain(20, &mem, &tmp, &g);
	for (int32_t op = 0; op < 20; op++) {
		double t = 2e-6 + g.op_flops[op] / 1e10 +
		           (double)(g.op_read_bytes[op] + g.op_write_bytes[op]) / 1e9;
		seconds[op] = op == 7 || op == 12 ? NAN : op % 2 ? 3 * t : t;
	}
	assert_ok(berth_predict_times(&g, seconds, low, high, &n, &tmp, &err), &err);
	assert_int_equal(n, 2);
	for (int i = 0; i < 2; i++) {
		int32_t op = i ? 12 : 7;
		double t = (2e-6 + g.op_flops[op] / 1e10 +
		            (double)(g.op_read_bytes[op] + g.op_write_bytes[op]) / 1e9) *
		           (i ? 1 : 3);
		assert_near(seconds[op] / t, 1, 0.1);
		assert_true(low[op] <= seconds[op] && seconds[op] <= high[op]);
	}
	for (int32_t op = 2; op < 20; op++)
		seconds[op] = NAN;
	assert_ok(berth_predict_times(&g, seconds, low, high, &n, &tmp, &err), &err);
	assert_int_equal(n, 0); /* two points are no line */
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void line_through_points(void **state)
{
	(void)state;
	berth_arena tmp = {0};
	berth_err err;
	const double x[] = {0, 1, 2, 3, 4}, y[] = {1, 3, 5, 700, 9}; /* one wild point */
	double start, slope;
	assert_ok(berth_line_through(x, y, 5, &tmp, &start, &slope, &err), &err);
	assert_near(slope, 2, 1e-12);
	assert_near(start, 1, 1e-12);
	berth_arena_free(&tmp);
}

/* ---- cache ---- */

static void cache_keeps_times(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	berth_profile_cache *c;
	char path[64];
	bool found;
	const berth_cached x = {7, {1.5, 1, 2, 0.1}, {NAN, NAN, NAN, NAN}};
	berth_cached y;
	snprintf(path, sizeof path, "/tmp/berth-cache-%ld.db", (long)getpid());
	unlink(path);
	berth_status st = berth_profile_cache_open(path, &mem, &c, &err);
	if (st == BERTH_EIO && strstr(err.msg, "without SQLite")) {
		printf("skipped: built without SQLite\n");
		skip();
	}
	assert_ok(st, &err);
	assert_ok(berth_profile_cache_put(c, "e", "d", "op", &x, &err), &err);
	berth_profile_cache_close(c);
	assert_ok(berth_profile_cache_open(path, &mem, &c, &err), &err);
	assert_ok(berth_profile_cache_get(c, "e", "d", "op", &y, &found, &err), &err);
	assert_true(found);
	assert_int_equal(y.n, 7);
	assert_near(y.wall.median, 1.5, 0);
	assert_true(isnan(y.cpu.median));
	assert_ok(berth_profile_cache_get(c, "e", "other device", "op", &y, &found, &err), &err);
	assert_false(found);
	berth_profile_cache_close(c);
	unlink(path);
	assert_int_equal(berth_profile_cache_open("/nowhere/cache.db", &mem, &c, &err), BERTH_EIO);
	assert_contains(err.msg, "/nowhere/cache.db");
	berth_arena_free(&mem);
}

/* The example as an engine of a machine with that processor; how many times came from the cache? */
static int32_t profile_on(const char *model, berth_profile_cache *c)
{
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_graph g;
	berth_system s;
	berth_measured m;
	berth_profile p;
	char program[400];
	static const char system[] = "{\"format\":\"berth-system\",\"version\":1,\"name\":\"one\","
	                             "\"devices\":[{\"name\":\"single\"}],\"links\":[]}";
	const char *argv[] = {"python3", "-c", program, NULL};
	snprintf(program, sizeof program,
	         "exec(open('%s').read().replace('\"kind\": \"cpu\"', '\"kind\": \"cpu\", \"model\": "
	         "\"%s\"'))",
	         BERTH_SOURCE "/engines/example.py", model);
	berth_measured_cfg cfg = berth_measured_cfg_default();
	berth_profile_cfg how = berth_profile_cfg_default();
	cfg.engine = (berth_engine_cfg){.name = "example", .argv = argv, .hello_s = 30};
	cfg.answer_s = 30;
	how.cache = c;
	make_chain(4, &mem, &tmp, &g);
	assert_ok(berth_system_parse_json("one", system, strlen(system), &mem, &tmp, &s, &err), &err);
	assert_ok(berth_measured_open(&cfg, &g, &s, &mem, &m, &err), &err);
	assert_contains(berth_engine_says(m.engine)->dev[0].text, model);
	assert_ok(berth_profile_run(&m, &how, &mem, &tmp, &p, &err), &err);
	assert_int_equal(p.n_cached + p.n_measured, 4);
	int32_t cached = p.n_cached;
	berth_measured_close(&m);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return cached;
}

/* The least time that was measured is a device's overhead; one of which nothing was keeps what it had. */
static void overhead_is_the_least_time(void **state)
{
	static const char system[] =
		"{\"format\":\"berth-system\",\"version\":1,\"name\":\"two\",\"devices\":["
	                             "{\"name\":\"a\"},{\"name\":\"b\",\"op_overhead_s\":7e-6}],\"links\":["
	                             "{\"from\":\"a\",\"to\":\"b\",\"bandwidth\":1e9,\"both_ways\":true}]}";
	berth_profiled row[] = {{.source = BERTH_PREDICTED}, {.source = BERTH_PREDICTED},
	                        {.source = BERTH_CACHED},    {.source = BERTH_CANNOT},
	                        {.source = BERTH_MEASURED},  {.source = BERTH_CANNOT}};
	double time_s[] = {1e-6, 1e-6, 3e-6, NAN, 5e-6, NAN};
	berth_link_fit link[2] = {{.n = 0}, {.n = 0}};
	berth_profile p = {.row = row, .time_s = time_s, .link = link};
	berth_arena mem = {0}, tmp = {0};
	berth_system s, fitted;
	berth_err err;
	(void)state;
	assert_ok(berth_system_parse_json("two", system, strlen(system), &mem, &tmp, &s, &err), &err);
	assert_ok(berth_profile_system(&p, &s, 3, &mem, &fitted, &err), &err);
	assert_true(fitted.dev_op_overhead_s[0] == 3e-6);
	assert_true(fitted.dev_op_overhead_s[1] == 7e-6);
	assert_true(s.dev_op_overhead_s[0] == 0);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void cache_knows_the_processor(void **state)
{
	(void)state;
	berth_arena mem = {0};
	berth_err err;
	berth_profile_cache *c;
	berth_status st = berth_profile_cache_open(":memory:", &mem, &c, &err);
	if (st == BERTH_EIO && strstr(err.msg, "without SQLite")) {
		printf("skipped: built without SQLite\n");
		skip();
	}
	assert_ok(st, &err);
	assert_int_equal(profile_on("Quick 1000", c), 0);
	assert_int_equal(profile_on("Quick 1000", c), 4);
	assert_int_equal(profile_on("Slow 10", c), 0);
	berth_profile_cache_close(c);
	berth_arena_free(&mem);
}

/* ---- calibration ---- */

enum { N = 12 };

/* What a cut before operator i costs where the tensor is made and where it is taken: after a Conv it breaks
 * a fusion, before one a layout is changed. */
static double out_cost(int32_t i, double scale)
{
	return scale * (i % 2 ? 3 : 1);
}

static double in_cost(int32_t i, double scale)
{
	return scale * (i % 2 ? 0.5 : 1 + 0.4 * (1 + i % 5));
}

/* A made-up run: every maximal piece of the chain on one device is a segment; hand-offs take hand_s, cuts by
 * the above. */
static void make_run(const int32_t *op_dev, double truth[N][2], double hand_s, double cut_s, berth_arena *mem,
                     berth_measurement *m)
{
	double t = 0;
	berth_err err;
	*m = (berth_measurement){.n_samples = 1};
	assert_ok(BERTH_NEW(mem, m->segment, N, &err), &err);
	assert_ok(BERTH_NEW(mem, m->wall_s, 1, &err), &err);
	assert_ok(BERTH_NEW(mem, m->strain, 1, &err), &err);
	m->strain[0] = 1;
	for (int32_t i = 0; i < N;) {
		berth_segment *s = &m->segment[m->n_segments++];
		assert_ok(BERTH_NEW(mem, s->op, N, &err), &err);
		assert_ok(BERTH_NEW(mem, s->start_s, 1, &err), &err);
		assert_ok(BERTH_NEW(mem, s->end_s, 1, &err), &err);
		s->dev = op_dev[i];
		t += i ? hand_s : 0;
		s->start_s[0] = t;
		t += i ? in_cost(i, cut_s) : 0;
		for (; i < N && op_dev[i] == s->dev; i++) {
			s->op[s->n_ops++] = i;
			t += truth[i][s->dev];
		}
		t += i < N ? out_cost(i, cut_s) : 0;
		s->end_s[0] = t;
	}
	m->wall_s[0] = t;
}

/* Mean relative difference of the calibration's times. */
static double off_by(const berth_calibration *c, const double *time_s)
{
	double sum = 0;
	for (int32_t i = 0; i < 2 * N; i++)
		sum += fabs(c->time_s[i] / time_s[i] - 1) / (2 * N);
	return sum;
}

static void calibration_finds_the_truth(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_graph g, fitted;
	berth_system s, linked;
	berth_calibration c;
	berth_problem p;
	berth_sim *sim;
	berth_sim_result r;
	berth_measurement m;
	double truth[N][2], first[N * 2], before, after;
	int32_t op_dev[N];
	berth_rng rng = berth_rng_seed(1, 0), draw = berth_rng_seed(2, 0);
	make_chain(N, &mem, &tmp, &g);
	make_duo(&mem, &tmp, &s);
	for (int32_t i = 0; i < N; i++) {
		truth[i][0] = 1e-3 * (1 + berth_rng_unit(&rng));
		truth[i][1] = 2.2 * truth[i][0];
		first[2 * i] = truth[i][0] * (0.6 + berth_rng_unit(&rng));
		first[2 * i + 1] = first[2 * i] * (0.95 + 0.1 * berth_rng_unit(&rng));
	}
	assert_ok(berth_calibration_new(&g, &s, first, &mem, &c, &err), &err);
	/* drawn times are far from what is given while no run tells, and near the truth in the end */
	c.draw = &draw;
	assert_ok(berth_calibration_fit(&c, &tmp, NULL, NULL, &err), &err);
	assert_true(off_by(&c, first) > 0.3);
	c.draw = NULL;
	for (int k = 0; k < 300; k++) {
		for (int32_t i = 0; i < N; i++)
			op_dev[i] = berth_rng_unit(&rng) < 0.5 || !i ? (int32_t)berth_rng_below(&rng, 2)
			                                             : op_dev[i - 1];
		make_run(op_dev, truth, 5e-5, 1e-4, &mem, &m);
		assert_ok(berth_calibration_add(&c, &m, 1.1, &tmp, &err), &err);
	}
	assert_ok(berth_calibration_fit(&c, &tmp, &before, &after, &err), &err);
	assert_true(before > 0.2);
	assert_true(after < 0.02);
	double at = off_by(&c, *truth);
	c.draw = &draw;
	assert_ok(berth_calibration_fit(&c, &tmp, NULL, NULL, &err), &err);
	assert_true(off_by(&c, *truth) > at);
	assert_true(off_by(&c, *truth) < at + 0.1);
	c.draw = NULL;
	assert_ok(berth_calibration_fit(&c, &tmp, NULL, NULL, &err), &err);
	assert_ok(berth_calibration_links(&c, &mem, &tmp, &linked, &err), &err);
	assert_near((linked.link_latency_s[0] + 4000 / linked.link_bandwidth[0]) / 5e-5, 1, 0.01);
	assert_ok(berth_calibration_graph(&c, &linked, &mem, &fitted, &err), &err);
	for (int32_t t = 0; t < N - 1; t++) /* tensor t goes from operator t to t + 1 */
		assert_near(fitted.tensor_cut_s[t] / (in_cost(t + 1, 1e-4) + out_cost(t + 1, 1e-4)), 1, 0.2);
	/* a placement that was not among them is predicted */
	for (int32_t i = 0; i < N; i++)
		op_dev[i] = i % 4 >= 2;
	make_run(op_dev, truth, 5e-5, 1e-4, &mem, &m);
	assert_ok(berth_problem_new(&fitted, &linked, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_sim_new(&p, &mem, &sim, &err), &err);
	berth_sim_run(sim, op_dev, NULL, &r);
	assert_near((double)r.latency_ns * 1e-9 / m.wall_s[0], 1, 0.02);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* What the graph says of cuts is where a calibration begins: kept where nothing was measured, and gone on
 * from where runs say otherwise. */
static void calibration_begins_with_the_graphs_cuts(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_graph g, fitted;
	berth_system s;
	berth_calibration c;
	berth_measurement m;
	double truth[N][2], first[N * 2], graph_cut_s[N];
	int32_t op_dev[N];
	berth_rng rng = berth_rng_seed(2, 0);
	make_chain(N, &mem, &tmp, &g);
	make_duo(&mem, &tmp, &s);
	for (int32_t i = 0; i < N; i++) {
		truth[i][0] = first[2 * i] = 1e-3 * (1 + berth_rng_unit(&rng));
		truth[i][1] = first[2 * i + 1] = 2 * truth[i][0];
		graph_cut_s[i] = i + 1 < N ? in_cost(i + 1, 1e-4) + out_cost(i + 1, 1e-4) : 0;
	}
	g.tensor_cut_s = graph_cut_s;
	assert_ok(berth_calibration_new(&g, &s, first, &mem, &c, &err), &err);
	assert_ok(berth_calibration_graph(&c, &s, &mem, &fitted, &err), &err);
	for (int32_t t = 0; t < N - 1; t++)
		assert_near(fitted.tensor_cut_s[t], graph_cut_s[t], 1e-15);
	for (int k = 0; k < 100; k++) { /* cuts cost three times that by now */
		for (int32_t i = 0; i < N; i++)
			op_dev[i] = berth_rng_unit(&rng) < 0.5 || !i ? (int32_t)berth_rng_below(&rng, 2)
			                                             : op_dev[i - 1];
		make_run(op_dev, truth, 5e-5, 3e-4, &mem, &m);
		assert_ok(berth_calibration_add(&c, &m, 1.1, &tmp, &err), &err);
	}
	assert_ok(berth_calibration_fit(&c, &tmp, NULL, NULL, &err), &err);
	assert_ok(berth_calibration_graph(&c, &s, &mem, &fitted, &err), &err);
	for (int32_t t = 0; t < N - 1; t++)
		assert_near(fitted.tensor_cut_s[t] / graph_cut_s[t], 3, 0.6);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Tensors of one size tell nothing of a link's bandwidth, however noisy; of many sizes they do. */
static void bandwidth_comes_of_sizes(void **state)
{
	(void)state;
	enum { HANDOFFS = 60 };
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_graph g;
	berth_system s, linked;
	berth_calibration c;
	berth_rng rng = berth_rng_seed(1, 0);
	static const double times[N * 2] = {0};
	berth_handoff handoff[HANDOFFS];
	make_chain(N, &mem, &tmp, &g);
	make_duo(&mem, &tmp, &s);
	for (int wide = 0; wide < 2; wide++) {
		assert_ok(berth_calibration_new(&g, &s, times, &mem, &c, &err), &err);
		for (int i = 0; i < HANDOFFS; i++) {
			int64_t bytes = 300 + i * (wide ? 100000 : 5);
			double noise = 1e-3 * berth_rng_unit(&rng) * (1 + i / 30.0);
			handoff[i] = (berth_handoff){0, bytes, 0.01 + (double)bytes / 1e8 + noise};
		}
		c.handoff = handoff;
		c.n_handoffs = HANDOFFS;
		assert_ok(berth_calibration_links(&c, &mem, &tmp, &linked, &err), &err);
		assert_near(linked.link_latency_s[0], 0.0105, 0.001);
		if (wide)
			assert_near(linked.link_bandwidth[0] / 1e8, 1, 0.1);
		else
			assert_true(fabs(linked.link_bandwidth[0] / s.link_bandwidth[0] - 1) < 1e-9);
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static berth_status calibrate_once(const berth_graph *g, const berth_system *s, const double *first,
                                   const berth_measurement *m, berth_arena *mem, berth_arena *tmp)
{
	berth_err err;
	berth_calibration c;
	berth_graph fitted;
	berth_system linked;
	BERTH_TRY(berth_calibration_new(g, s, first, mem, &c, &err));
	BERTH_TRY(berth_calibration_add(&c, m, 1.1, tmp, &err));
	BERTH_TRY(berth_calibration_fit(&c, tmp, NULL, NULL, &err));
	BERTH_TRY(berth_calibration_links(&c, mem, tmp, &linked, &err));
	BERTH_TRY(berth_calibration_graph(&c, &linked, mem, &fitted, &err));
	return berth_calibration_follow(&c, m, 0.5, tmp, &err);
}

static void each_allocation_of_a_calibration_may_fail(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_measurement m;
	double truth[N][2], first[N * 2];
	int32_t op_dev[N];
	make_chain(N, &mem, &tmp, &g);
	make_duo(&mem, &tmp, &s);
	for (int32_t i = 0; i < N; i++) {
		truth[i][0] = truth[i][1] = first[2 * i] = first[2 * i + 1] = 1e-3;
		op_dev[i] = i % 2;
	}
	make_run(op_dev, truth, 1e-5, 1e-4, &mem, &m);
	berth_status st = BERTH_ENOMEM;
	for (long k = 0; st != BERTH_OK; k++) {
		failing_allocator f;
		berth_arena a, b;
		failing_allocator_init(&f, k);
		berth_arena_init(&a, &f.hook);
		berth_arena_init(&b, &f.hook);
		st = calibrate_once(&g, &s, first, &m, &a, &b);
		berth_arena_free(&a);
		berth_arena_free(&b);
		assert_int_equal(f.live, 0);
		assert_true(st == BERTH_ENOMEM || (st == BERTH_OK && k > 0));
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Exact data gives the exact figures; what no row tells stays where it was; what rows tell of two unknowns
 * together is shared by the squares of their deviations. */
static void ridge_finds_and_shares(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_ridge r;
	berth_rng rng = berth_rng_seed(2, 0);
	static const double truth[4] = {3, -2, 0.5, 7};
	assert_ok(berth_ridge_new(7, &mem, &r, &err), &err);
	r.mean[4] = 5; /* in no row */
	r.deviation[5] = 1;
	r.deviation[6] = 3;
	for (int i = 0; i < 30; i++) {
		double x[4], y = 0;
		for (int k = 0; k < 4; k++) {
			x[k] = berth_rng_unit(&rng);
			y += x[k] * truth[k];
		}
		assert_ok(berth_ridge_row(&r, y, 1e-4, &err), &err);
		for (int k = 0; k < 4; k++) {
			assert_ok(berth_ridge_put(&r, k, x[k] / 2, &err), &err);
			assert_ok(berth_ridge_put(&r, k, x[k] / 2, &err), &err); /* adds up */
		}
	}
	assert_ok(berth_ridge_row(&r, 20, 1e-4, &err), &err);
	assert_ok(berth_ridge_put(&r, 5, 1, &err), &err);
	assert_ok(berth_ridge_put(&r, 6, 1, &err), &err);
	assert_ok(berth_ridge_solve(&r, 400, &tmp, &err), &err);
	for (int k = 0; k < 4; k++)
		assert_near(r.beta[k], truth[k], 1e-4);
	assert_near(r.beta[4], 5, 0);
	assert_near(r.beta[5], 2, 1e-3);
	assert_near(r.beta[6], 18, 1e-3);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* A sample that strained too much is left out; a device that slows down takes its idle operators along. */
static void following_a_slow_device(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_graph g;
	berth_system s;
	berth_calibration c;
	berth_measurement m;
	double truth[N][2], first[N * 2];
	int32_t op_dev[N];
	make_chain(N, &mem, &tmp, &g);
	make_duo(&mem, &tmp, &s);
	for (int32_t i = 0; i < N; i++) {
		first[2 * i] = first[2 * i + 1] = 1e-3;
		truth[i][0] = 1e-3;
		truth[i][1] = 4e-3;
		op_dev[i] = i >= 8;
	}
	assert_ok(berth_calibration_new(&g, &s, first, &mem, &c, &err), &err);
	make_run(op_dev, truth, 0, 0, &mem, &m);
	m.strain[0] = 3;
	assert_ok(berth_calibration_add(&c, &m, 1.1, &tmp, &err), &err);
	assert_int_equal(c.n_seen, 0);
	for (int k = 0; k < 12; k++)
		assert_ok(berth_calibration_follow(&c, &m, 0.5, &tmp, &err), &err);
	assert_near(c.time_s[2 * 9 + 1], 4e-3, 1e-5); /* ran there */
	assert_near(c.time_s[2 * 2 + 1], 4e-3, 1e-5); /* did not */
	assert_near(c.time_s[2 * 2 + 0], 1e-3, 1e-6);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void start_orders_are_topological(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_err err;
	berth_graph g, timed;
	berth_system s;
	berth_problem p;
	berth_sim *sim;
	double time_s[N * 2];
	int32_t op_dev[N], order[N];
	make_chain(N, &mem, &tmp, &g);
	make_duo(&mem, &tmp, &s);
	for (int32_t i = 0; i < N; i++) {
		time_s[2 * i] = i % 3 ? 0 : 1e-6; /* zero times make equal starts */
		time_s[2 * i + 1] = NAN;
		op_dev[i] = 0;
	}
	assert_ok(berth_graph_with_times(&g, &s, time_s, &mem, &timed, &err), &err);
	assert_ok(berth_graph_check(&timed, &err), &err);
	assert_ok(berth_problem_new(&timed, &s, &mem, &tmp, &p, &err), &err);
	assert_int_equal(berth_op_time(&p, 1, 1), -1);
	assert_ok(berth_sim_new(&p, &mem, &sim, &err), &err);
	berth_start_order(&p, sim, op_dev, order);
	assert_true(berth_order_is_topological(&timed, order, &tmp));
	for (int32_t i = 0; i < N; i++)
		op_dev[i] = order[i] = 1; /* where nothing runs */
	berth_start_order(&p, sim, op_dev, order);
	assert_true(berth_order_is_topological(&timed, order, &tmp));
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

/* Measured times take the place of those for the system's devices and their kinds, be it the last; those for
 * other names stay. */
static void times_of_other_names_stay(void **state)
{
	(void)state;
	static const char
		graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
			  "{\"name\":\"a\",\"time_s\":{\"x\":1,\"z\":2,\"k\":3,\"elsewhere\":4,\"*\":5}},{"
	                  "\"name\":\"b\"},"
			  "{\"name\":\"c\",\"time_s\":{\"kind\":6,\"other\":7,\"y\":8}}],\"edges\":[]}",
		system[] =
			"{\"format\":\"berth-system\",\"version\":1,\"devices\":["
			"{\"name\":\"x\"},{\"name\":\"y\",\"kind\":\"kind\"},{\"name\":\"z\",\"kind\":"
			"\"k\"}],\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1,\"both_ways\":true},"
			"{\"from\":\"x\",\"to\":\"z\",\"bandwidth\":1,\"both_ways\":true}]}";
	static const struct {
		const char *name;
		double s;
	} expected[] = {{"elsewhere", 4}, {"*", 5},  {"x", 10},    {"y", 11}, {"z", 12}, {"x", 20},
	                {"y", 21},        {"z", 22}, {"other", 7}, {"x", 30}, {"y", 31}, {"z", 32}};
	static const int32_t off[] = {0, 5, 8, 12};
	const double time_s[] = {10, 11, 12, 20, 21, 22, 30, 31, 32};
	small_problem w;
	berth_graph timed;
	berth_err err;
	small_problem_make(&w, graph, system);
	assert_ok(berth_graph_with_times(&w.g, &w.s, time_s, &w.mem, &timed, &err), &err);
	assert_ok(berth_graph_check(&timed, &err), &err);
	assert_int_equal(timed.n_times, 12);
	for (int32_t op = 0; op < 3; op++) {
		assert_int_equal(timed.op_time_off[op + 1], off[op + 1]);
		for (int32_t i = off[op]; i < off[op + 1]; i++) {
			int n = 0;
			for (int32_t k = off[op]; k < off[op + 1]; k++)
				n += strcmp(berth_graph_time_name(&timed, k), expected[i].name) == 0 &&
				     timed.time_s[k] == expected[i].s;
			assert_int_equal(n, 1);
		}
	}
	small_problem_free(&w);
}

/* ---- statistics ---- */

static void tau_over_disjoint_pairs(void **state)
{
	(void)state;
	const double low[] = {1, 2, 2.5, 5}, high[] = {1.5, 3, 3.5, 6}, right[] = {1, 2, 3, 4},
		     wrong[] = {4, 3, 2, 1}, half[] = {1, 2, 2, 1.5};
	int64_t pairs;
	assert_near(berth_tau_disjoint(4, right, low, high, &pairs), 1, 0);
	assert_int_equal(pairs, 5); /* 1 and 2 overlap */
	assert_near(berth_tau_disjoint(4, wrong, low, high, &pairs), -1, 0);
	assert_near(berth_tau_disjoint(4, half, low, high, &pairs), 0.2, 1e-12); /* 0 before 1, 2 and 3; 3
	                                                                            before 1 and 2 */
	assert_true(isnan(berth_tau_disjoint(1, right, low, high, &pairs)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_are_found),
		cmocka_unit_test(line_through_points),
		cmocka_unit_test(cache_keeps_times),
		cmocka_unit_test(overhead_is_the_least_time),
		cmocka_unit_test(cache_knows_the_processor),
		cmocka_unit_test(calibration_finds_the_truth),
		cmocka_unit_test(calibration_begins_with_the_graphs_cuts),
		cmocka_unit_test(ridge_finds_and_shares),
		cmocka_unit_test(bandwidth_comes_of_sizes),
		cmocka_unit_test(each_allocation_of_a_calibration_may_fail),
		cmocka_unit_test(following_a_slow_device),
		cmocka_unit_test(start_orders_are_topological),
		cmocka_unit_test(times_of_other_names_stay),
		cmocka_unit_test(tau_over_disjoint_pairs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
