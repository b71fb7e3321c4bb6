/* Cost models of published systems: placeto by hand, with bounds against all placements of small graphs;
 * giph and doppler as the shorthands they are; the table of models. */
#include "bounds.h"
#include "cost_model.h"
#include "engine_rules.h"
#include "instance.h"
#include "min_cut.h"
#include "rng.h"
#include "sim.h"
#include "small_problem.h"
#include "support.h"
#include "system_json.h"
#include "times.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_sim *sim;
} world;

static void open_world(world *w, const char *graph, const char *system)
{
	berth_err err;
	memset(w, 0, sizeof *w);
	read_both(graph, system, &w->mem, &w->tmp, &w->g, &w->s);
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
	assert_ok(berth_sim_new(&w->p, &w->mem, &w->sim, &err), &err);
}

/* A random instance under a cost model. */
static void open_random(world *w, const char *model, uint64_t seed, int32_t most_ops, int32_t most_devices,
                        double gap_s)
{
	berth_err err;
	instance in;
	memset(w, 0, sizeof *w);
	instance_make(seed, most_ops, most_devices, &in);
	read_both(in.graph, in.system, &w->mem, &w->tmp, &w->g, &w->s);
	instance_free(&in);
	assert_ok(berth_cost_model_find(model, &w->s.cost_model, &err), &err);
	w->s.op_gap_s = gap_s;
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
	assert_ok(berth_sim_new(&w->p, &w->mem, &w->sim, &err), &err);
}

static void close_world(world *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}

#define SYSTEM(rest)                                                                                         \
	"{\"format\":\"berth-system\",\"version\":1," rest                                                   \
	"\"devices\":[{\"name\":\"x\",\"kind\":\"k\"},{\"name\":\"y\",\"kind\":\"k\"},{\"name\":\"z\","      \
	"\"kind\":\"k\"}],\"links\":["                                                                       \
	"{\"from\":\"x\",\"to\":\"y\",\"latency_s\":2e-6,\"bandwidth\":1e9,\"both_ways\":true},{\"from\":"   \
	"\"x\",\"to\":\"z\",\"latency_s\":2e-6,\"bandwidth\":1e9,\"both_ways\":true},"                       \
	"{\"from\":\"y\",\"to\":\"z\",\"latency_s\":2e-6,\"bandwidth\":1e9,\"both_ways\":true}]}"
#define OP(name, us) "{\"name\":\"" name "\",\"param_bytes\":10,\"time_s\":{\"k\":" #us "e-6}}"
#define EDGE(from, to, tensor, bytes)                                                                        \
	"{\"from\":\"" from "\",\"to\":\"" to "\",\"tensor\":\"" tensor "\",\"bytes\":" #bytes "}"

/* a on x makes s (1,000 bytes) for b on y, c on z and d on x, and t (3,000 bytes) for e on y. */
static const char fan[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"ops\":[" OP("a", 10) "," OP("b", 4) "," OP("c", 5)
	"," OP("d", 7) "," OP("e", 1) "],\"edges\":["
	EDGE("a", "b", "s", 1000) "," EDGE("a", "c", "s", 1000) "," EDGE("a", "d", "s", 1000)
	"," EDGE("a", "e", "t", 3000) "]}";

/* In microseconds, with a gap of 3: a 0-10; d is ready at 10, x rests to 13: d 13-20. The bus of x: s for y
 * and z at once 10-13, t 13-18. b 13-17, y rests to 20 while e is ready at 18: e 20-21. c 13-18. Loads: x
 * (10 + 3) + (7 + 3) = 23, its bus 8, y 11. */
static void test_placeto_by_hand(void **state)
{
	static const int32_t place[] = {0, 1, 2, 0, 1};
	static const int64_t start[] = {0, 13000, 13000, 13000, 20000},
			     end[] = {10000, 17000, 18000, 20000, 21000};
	world w;
	berth_sim_result r;
	(void)state;
	open_world(&w, fan, SYSTEM("\"cost_model\":\"placeto\",\"op_gap_s\":3e-6,"));
	berth_sim_run(w.sim, place, NULL, &r);
	assert_true(r.runs && r.fits && isnan(r.energy_j));
	assert_int_equal(r.latency_ns, 21000);
	assert_true(fabs(r.load_s - 23e-6) <= 1e-15);
	for (int op = 0; op < 5; op++) {
		assert_int_equal(berth_sim_last(w.sim).start_ns[op], start[op]);
		assert_int_equal(berth_sim_last(w.sim).end_ns[op], end[op]);
	}
	assert_int_equal(berth_sim_last(w.sim).peak_bytes[0], 20);
	close_world(&w);
}

/* The model once more, by looking at everything at each instant. */
typedef struct plain_run {
	const berth_problem *p;
	const int32_t *place;
	int64_t gap, now;
	int64_t start[INSTANCE_MAX_OPS], end[INSTANCE_MAX_OPS]; /* -1: not yet */
	int64_t ready[INSTANCE_MAX_OPS];                        /* since when; -1: waits for inputs */
	int64_t asked[4 * INSTANCE_MAX_OPS], sent[4 * INSTANCE_MAX_OPS], there[4 * INSTANCE_MAX_OPS];
	int64_t dev_free[8], bus_free[8];
	double load[8], bus_load[8];
} plain_run;

static bool input_is_there(const plain_run *r, int32_t op, int32_t t)
{
	int32_t from = r->p->g->tensor_producer[t];
	if (r->place[from] == r->place[op])
		return r->end[from] >= 0 && r->end[from] <= r->now;
	return r->there[t] >= 0 && r->there[t] <= r->now;
}

/* Who is ready and which tensors are to be sent, now. */
static void look(plain_run *r)
{
	const berth_graph *g = r->p->g;
	for (int32_t op = 0; op < g->n_ops; op++) {
		bool all = true;
		for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++)
			all &= input_is_there(r, op, g->in_tensor[i]);
		if (all && r->ready[op] < 0)
			r->ready[op] = r->now;
	}
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t from = g->tensor_producer[t];
		bool leaves = false;
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			leaves |= r->place[g->edge_consumer[e]] != r->place[from];
		if (leaves && r->asked[t] < 0 && r->end[from] >= 0 && r->end[from] <= r->now)
			r->asked[t] = r->now;
	}
}

static void start_op(plain_run *r, int32_t d)
{
	int32_t best = -1;
	for (int32_t k = 0; k < r->p->n_ops; k++) {
		int32_t op = r->p->g->topo_op[k];
		if (r->place[op] == d && r->ready[op] >= 0 && r->start[op] < 0 &&
		    (best < 0 || r->ready[op] < r->ready[best]))
			best = op;
	}
	if (best < 0 || r->dev_free[d] > r->now)
		return;
	r->start[best] = r->now;
	r->end[best] = r->now + berth_op_time(r->p, best, d);
	r->dev_free[d] = r->end[best] + r->gap;
	r->load[d] += (double)(r->dev_free[d] - r->now) * 1e-9;
}

static void start_tensor(plain_run *r, int32_t d)
{
	const berth_graph *g = r->p->g;
	int32_t best = -1;
	int64_t time = 0;
	for (int32_t t = 0; t < g->n_tensors; t++)
		if (r->place[g->tensor_producer[t]] == d && r->asked[t] >= 0 && r->sent[t] < 0 &&
		    (best < 0 || r->asked[t] < r->asked[best]))
			best = t;
	if (best < 0 || r->bus_free[d] > r->now)
		return;
	for (int32_t e = g->tensor_use_off[best]; e < g->tensor_use_off[best + 1]; e++) {
		int64_t way = berth_transfer_ns(r->p, best, d, r->place[g->edge_consumer[e]]);
		time = way > time ? way : time;
	}
	r->sent[best] = r->now;
	r->there[best] = r->bus_free[d] = r->now + time;
	r->bus_load[d] += (double)time * 1e-9;
}

/* The next instant at which something ends, or -1. */
static int64_t next_instant(const plain_run *r)
{
	int64_t next = -1;
	const int64_t *lists[] = {r->end, r->there, r->dev_free};
	const int32_t n[] = {r->p->n_ops, r->p->g->n_tensors, r->p->n_devs};
	for (int k = 0; k < 3; k++)
		for (int32_t i = 0; i < n[k]; i++)
			if (lists[k][i] > r->now && (next < 0 || lists[k][i] < next))
				next = lists[k][i];
	return next;
}

static void run_plainly(plain_run *r, const berth_problem *p, const int32_t *place)
{
	*r = (plain_run){.p = p, .place = place, .gap = llround(p->s->op_gap_s * 1e9)};
	memset(r->start, -1, sizeof r->start);
	memset(r->end, -1, sizeof r->end);
	memset(r->ready, -1, sizeof r->ready);
	memset(r->asked, -1, sizeof r->asked);
	memset(r->sent, -1, sizeof r->sent);
	memset(r->there, -1, sizeof r->there);
	for (; r->now >= 0; r->now = next_instant(r))
		for (int32_t round = 0; round <= 2 * (p->n_ops + p->g->n_tensors); round++) { /* what takes no
			                                                                          time */
			look(r);
			for (int32_t d = 0; d < p->n_devs; d++) {
				start_op(r, d);
				start_tensor(r, d);
			}
		}
}

/* Random placements of random instances against the plain run: one scratch for all placements of one. */
static void test_placeto_against_plain(void **state)
{
	int n = 0, n_waits = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 400; seed++) {
		world w = {0};
		berth_sim_result r;
		plain_run plain;
		int32_t place[INSTANCE_MAX_OPS];
		berth_rng rng = berth_rng_seed(seed, 3);
		open_random(&w, "placeto", seed, 12, 4, (double)(seed % 4) * 1e-9);
		assert_true(w.g.n_tensors <= 4 * INSTANCE_MAX_OPS);
		for (int round = 0; round < 4 && berth_problem_feasible(&w.p, NULL) == BERTH_OK; round++) {
			int64_t latency = 0;
			double load = 0;
			for (int32_t op = 0; op < w.p.n_ops; op++)
				do
					place[op] = (int32_t)berth_rng_below(&rng, (uint32_t)w.p.n_devs);
				while (!berth_op_legal(&w.p, op, place[op]));
			berth_sim_run(w.sim, place, NULL, &r);
			run_plainly(&plain, &w.p, place);
			for (int32_t op = 0; op < w.p.n_ops; op++) {
				assert_int_equal(berth_sim_last(w.sim).start_ns[op], plain.start[op]);
				assert_int_equal(berth_sim_last(w.sim).end_ns[op], plain.end[op]);
				latency = plain.end[op] > latency ? plain.end[op] : latency;
				n_waits += plain.start[op] > plain.ready[op];
			}
			for (int32_t d = 0; d < w.p.n_devs; d++)
				load = fmax(load, fmax(plain.load[d], plain.bus_load[d]));
			assert_int_equal(r.latency_ns, latency);
			assert_near(r.load_s, load, 1e-12 + 1e-9 * load);
			n++;
		}
		close_world(&w);
	}
	assert_true(n > 800 && n_waits > 1000);
}

/* The default gap, and first ready first: q (ready at 2) goes before p (ready at 4) though p stands before
 * it. */
static void test_placeto_order_and_gap(void **state)
{
	static const char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[" OP("u", 4) "," OP(
		"p", 1) "," OP("v", 2) "," OP("q", 1) "],\"edges\":[" EDGE("u", "p", "t",
	                                                                   0) "," EDGE("v", "q", "t", 0) "]}";
	static const int32_t place[] = {0, 2, 1, 2};
	world w;
	berth_sim_result r;
	(void)state;
	open_world(&w, graph, SYSTEM("\"cost_model\":\"placeto\","));
	assert_true(w.s.op_gap_s == 5.7e-6);
	berth_sim_run(w.sim, place, NULL, &r);
	assert_int_equal(berth_sim_last(w.sim).start_ns[3], 4000);          /* v to 2, then 2 of transfer */
	assert_int_equal(berth_sim_last(w.sim).start_ns[1], 5000 + 5700);   /* q to 5, then the gap */
	int32_t order[4] = {-1, -1, -1, -1};
	static const int32_t by_start[4] = {0, 2, 3, 1};
	berth_start_order(&w.p, w.sim, place, order);
	assert_memory_equal(order, by_start, sizeof order);
	assert_int_equal(r.latency_ns, 11700);
	close_world(&w);
}

/* What gets ready at one instant goes by the order of the graph, also before the first of the file, and
 * before what gets ready later: while w runs on x, c and a get ready at 5 and b at 9. */
static void test_placeto_line(void **state)
{
#define LINE_OPS                                                                                             \
	OP("c", 1) "," OP("a", 1) "," OP("w", 20) "," OP("u", 3) "," OP("v", 1) "," OP("q", 6) "," OP("b", 1)
#define LINE_EDGES                                                                                           \
	EDGE("u", "c", "t", 0) "," EDGE("u", "a", "t", 0) ","                                                \
	EDGE("v", "c", "s", 0) "," EDGE("q", "b", "r", 0)
	static const char graph[] = "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[" LINE_OPS
				    "],\"edges\":[" LINE_EDGES "]}";
#undef LINE_OPS
#undef LINE_EDGES
	static const int32_t place[] = {0, 0, 0, 1, 2, 2, 0};
	static const int64_t start[] = {21000, 20000, 0, 0, 0, 1000, 22000};
	world w;
	berth_sim_result r;
	(void)state;
	open_world(&w, graph, SYSTEM("\"cost_model\":\"placeto\",\"op_gap_s\":0,"));
	assert_true(w.g.op_topo[1] < w.g.op_topo[0]);
	for (int round = 0; round < 2; round++) {
		berth_sim_run(w.sim, place, NULL, &r);
		assert_memory_equal(berth_sim_last(w.sim).start_ns, start, sizeof start);
		assert_int_equal(r.latency_ns, 23000);
	}
	close_world(&w);
}

/* Bounds hold for every placement; the stronger ones leave them as they are, but where the value is a sum. */
static void check_bounds(const char *model)
{
	int n = 0;
	for (uint64_t seed = 0; seed < 2000; seed++) {
		world w = {0};
		berth_bounds b, strong;
		berth_err err;
		berth_sim_result r;
		int32_t place[8] = {0};
		open_random(&w, model, seed, 5, 3, 2e-9);
		size_t used = berth_arena_get_mark(&w.tmp).used;
		assert_ok(berth_bounds_new(&w.p, &w.tmp, &b, &err), &err);
		assert_int_equal(berth_arena_get_mark(&w.tmp).used, used);
		strong = b;
		const berth_bound_effort effort = {100, BERTH_BOUND_ALL, true, true};
		assert_ok(berth_bounds_strengthen(&w.p, &effort, &w.tmp, &strong, &err), &err);
		assert_true(strong.latency_ns == b.latency_ns ||
		            (w.s.cost_model->sums_times && strong.latency_ns > b.latency_ns));
		assert_true(isnan(strong.value[BERTH_ENERGY]) == !w.p.has_energy);
		int32_t all = 1;
		for (int32_t op = 0; op < w.p.n_ops; op++)
			all *= w.p.n_devs;
		for (int32_t code = 0; code < all; code++) {
			bool legal = true;
			for (int32_t op = 0, rest = code; op < w.p.n_ops; op++, rest /= w.p.n_devs) {
				place[op] = rest % w.p.n_devs;
				legal &= berth_op_legal(&w.p, op, place[op]) &&
				         place[op] == place[w.p.coloc_op[w.p.coloc_off[w.p.op_coloc[op]]]];
			}
			if (!legal)
				continue;
			berth_sim_run(w.sim, place, NULL, &r);
			const berth_bounds *least = r.excess > 0 ? &b : &strong;
			assert_true(r.runs && r.latency_ns >= least->latency_ns &&
			            r.load_s >= least->value[BERTH_THROUGHPUT] * (1 - 1e-12));
			if (w.p.has_energy)
				assert_true(r.energy_j >= least->value[BERTH_ENERGY]);
			n++;
		}
		close_world(&w);
	}
	assert_true(n > 5000);
}

static void test_placeto_bounds(void **state)
{
	(void)state;
	check_bounds("placeto");
}

/* Microseconds: a 0-10; s to y and z 10-13-16, t to y 16-21; b 21-25, c 25-30, d 30-37, e 37-38. x holds two
 * operators and both tensors while a runs; y both tensors until b ends. */
static void test_serial_by_hand(void **state)
{
	static const int32_t place[] = {0, 1, 2, 0, 1};
	static const int64_t start[] = {0, 21000, 25000, 30000, 37000},
			     end[] = {10000, 25000, 30000, 37000, 38000}, peak[] = {4020, 4020, 1010};
	world w;
	berth_sim_result r;
	(void)state;
	open_world(&w, fan, SYSTEM("\"cost_model\":\"serial\","));
	berth_sim_want_peaks(w.sim, true);
	berth_sim_run(w.sim, place, NULL, &r);
	assert_int_equal(r.latency_ns, 38000);
	assert_true(fabs(r.load_s - 38e-6) <= 1e-15);
	for (int op = 0; op < 5; op++) {
		assert_int_equal(berth_sim_last(w.sim).start_ns[op], start[op]);
		assert_int_equal(berth_sim_last(w.sim).end_ns[op], end[op]);
	}
	assert_memory_equal(berth_sim_last(w.sim).peak_bytes, peak, sizeof peak);
	close_world(&w);
}

/* The latency is the sum of times, for any placement; all on one device is held as the execution model holds
 * it by the order of the graph. Bounds hold. */
static void test_serial(void **state)
{
	int n = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		world w = {0};
		berth_sim_result r;
		int32_t place[INSTANCE_MAX_OPS];
		uint8_t seen[8] = {0};
		berth_rng rng = berth_rng_seed(seed, 3);
		open_random(&w, "serial", seed, 12, 4, 0);
		for (int i = 0; i < 4 && berth_problem_feasible(&w.p, NULL) == BERTH_OK; i++, n++) {
			for (int32_t op = 0; op < w.p.n_ops; op++)
				do
					place[op] = (int32_t)berth_rng_below(&rng, (uint32_t)w.p.n_devs);
				while (!berth_op_legal(&w.p, op, place[op]));
			berth_sim_run(w.sim, place, NULL, &r);
			assert_int_equal(r.latency_ns, berth_sum_of_times(&w.p, place, seen));
		}
		for (int32_t d = 0; d < w.p.n_devs; d++) {
			berth_system alone = w.s;
			berth_problem p;
			berth_sim *sim;
			berth_sim_result one;
			berth_err err;
			bool runs = true;
			for (int32_t op = 0; op < w.p.n_ops; op++) {
				place[op] = d;
				runs &= berth_op_time(&w.p, op, d) > 0;
			}
			if (!runs)
				continue;
			alone.cost_model = &berth_cost_reference;
			alone.order = BERTH_ORDER_PROGRAM;
			w.s.dev_slots = alone.dev_slots = (int32_t[8]){1, 1, 1, 1, 1, 1, 1, 1};
			assert_ok(berth_problem_new(&w.g, &alone, &w.mem, &w.tmp, &p, &err), &err);
			assert_ok(berth_sim_new(&p, &w.mem, &sim, &err), &err);
			berth_sim_want_peaks(sim, true);
			berth_sim_want_peaks(w.sim, true);
			berth_sim_run(sim, place, NULL, &one);
			berth_sim_run(w.sim, place, NULL, &r);
			assert_true(r.latency_ns == one.latency_ns && r.peak_bytes == one.peak_bytes);
			assert_true(r.fits == one.fits);
			if (w.p.has_energy)
				assert_near(r.energy_j, one.energy_j, 1e-9 * one.energy_j);
		}
		close_world(&w);
	}
	assert_true(n > 800);
	check_bounds("serial");
}

/* The longest path, by the least times, of operators that something can run: a 2 us on z, nothing runs b, c 5
 * us. A time for a device stands before that for its kind. */
static void test_longest_path(void **state)
{
	(void)state;
	static const char graph[] =
		"{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
		"{\"name\":\"a\",\"time_s\":{\"z\":2e-6,\"k\":3e-6}},"
		"{\"name\":\"b\",\"time_s\":{\"elsewhere\":1}},"
		"{\"name\":\"c\",\"time_s\":{\"k\":5e-6}},{\"name\":\"d\",\"time_s\":{\"k\":6e-6}}],"
		"\"edges\":[" EDGE("a", "b", "s", 10) "," EDGE("b", "c", "t", 10) "]}";
	static const char *const system[] = {SYSTEM("\"cost_model\":\"placeto\","),
	                                     SYSTEM("\"cost_model\":\"tarnawski\",")};
	for (int i = 0; i < 2; i++) {
		world w;
		berth_bounds b;
		berth_err err;
		open_world(&w, graph, system[i]);
		size_t used = berth_arena_get_mark(&w.tmp).used;
		assert_ok(berth_bounds_new(&w.p, &w.tmp, &b, &err), &err);
		assert_int_equal(berth_arena_get_mark(&w.tmp).used, used);
		assert_int_equal(b.latency_ns, 7000);
		close_world(&w);
	}
}

/* Bounds of the longest operators that there are, rounded as runs are: never above, and close. */
static void test_bounds_of_long_operators(void **state)
{
	(void)state;
	static const char *const models[] = {"placeto", "tarnawski"};
	static const int32_t place[] = {0, 0, 0};
	for (int i = 0; i < 2; i++) {
		berth_arena text = {0};
		world w;
		berth_bounds b;
		berth_err err;
		berth_sim_result r;
		open_world(&w,
		           "{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
		           "{\"name\":\"a\",\"time_s\":{\"*\":1e6}},"
		           "{\"name\":\"b\",\"time_s\":{\"*\":999999.9}},"
		           "{\"name\":\"c\",\"time_s\":{\"*\":0.1}}],\"edges\":[" EDGE("a", "b", "s", 0) "]}",
		           berth_arena_printf(&text,
		                              "{\"format\":\"berth-system\",\"version\":1,\"cost_model\":"
		                              "\"%s\",\"devices\":[{\"name\":\"x\"}]}",
		                              models[i]));
		berth_sim_run(w.sim, place, NULL, &r);
		assert_ok(berth_bounds_new(&w.p, &w.tmp, &b, &err), &err);
		assert_true(b.latency_ns <= r.latency_ns && b.ceft_ns <= r.latency_ns);
		assert_true((double)b.ceft_ns >= 1999999.9e9 * (1 - 1e-11));
		assert_true(b.value[BERTH_THROUGHPUT] <= r.load_s &&
		            b.value[BERTH_THROUGHPUT] >= 2e6 * (1 - 1e-9));
		close_world(&w);
		berth_arena_free(&text);
	}
}

/* What has no time takes as long as its work does. */
static void test_tarnawski_work(void **state)
{
	(void)state;
	static const int32_t place[] = {1, 0};
	world w;
	berth_sim_result r;
	open_world(&w,
	           "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"flops\":8e6},"
	           "{\"name\":\"b\",\"time_s\":{\"cpu\":3e-6,\"x\":2e-6}}],\"edges\":[]}",
	           "{\"format\":\"berth-system\",\"version\":1,\"cost_model\":\"tarnawski\",\"devices\":["
	           "{\"name\":\"x\",\"kind\":\"cpu\",\"peak_flops\":1e12},{\"name\":\"y\",\"kind\":\"cpu\","
	           "\"peak_flops\":2e12}],\"links\":[{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1e9,"
	           "\"both_ways\":true}]}");
	berth_sim_run(w.sim, place, NULL, &r);
	assert_near(r.load_s, 4e-6, 1e-15);
	assert_int_equal(r.latency_ns, 4000);
	assert_int_equal(berth_sim_last(w.sim).end_ns[1], 2000);
	close_world(&w);
}

/* A byte costs an accelerator what its first link to a CPU takes, else its first link; a CPU nothing. */
static void test_tarnawski_links(void **state)
{
	(void)state;
	static const struct {
		const char *links;
		double bandwidth;
	} cases[] = {
		{"\"to\":\"x\",\"bandwidth\":10},{\"from\":\"a\",\"to\":\"c\",\"bandwidth\":20},{\"from\":"
	         "\"a\","
	         "\"to\":\"d\",\"bandwidth\":30",
	         20},
		{"\"to\":\"d\",\"bandwidth\":30},{\"from\":\"a\",\"to\":\"c\",\"bandwidth\":20},{\"from\":"
	         "\"a\","
	         "\"to\":\"x\",\"bandwidth\":10",
	         30},
		{"\"to\":\"x\",\"bandwidth\":10},{\"from\":\"a\",\"to\":\"y\",\"bandwidth\":20", 10},
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		berth_arena text = {0};
		world w;
		open_world(&w,
		           "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"o\",\"time_s\":{"
		           "\"*\":1}}],\"edges\":[]}",
		           berth_arena_printf(
				   &text,
				   "{\"format\":\"berth-system\",\"version\":1,\"cost_model\":\"tarnawski\","
				   "\"devices\":[{\"name\":\"x\",\"kind\":\"acc\"},{\"name\":\"y\",\"kind\":"
				   "\"acc\"},{\"name\":\"a\",\"kind\":\"acc\"},{\"name\":\"c\",\"kind\":"
		                   "\"cpu\"},"
				   "{\"name\":\"d\",\"kind\":\"cpu\"}],\"links\":["
				   "{\"from\":\"x\",\"to\":\"y\",\"bandwidth\":1},"
				   "{\"from\":\"y\",\"to\":\"c\",\"bandwidth\":2},"
				   "{\"from\":\"c\",\"to\":\"d\",\"bandwidth\":3},"
				   "{\"from\":\"d\",\"to\":\"a\",\"bandwidth\":4},"
				   "{\"from\":\"c\",\"to\":\"x\",\"bandwidth\":5},"
				   "{\"from\":\"a\",%s}]}",
				   cases[i].links));
		const berth_cost_model *m = w.s.cost_model;
		assert_near(m->s_per_byte(&w.p, 2), 1 / cases[i].bandwidth, 1e-15);
		assert_near(m->s_per_byte(&w.p, 0), 1, 0);
		assert_near(m->s_per_byte(&w.p, 1), 0.5, 0);
		assert_true(m->s_per_byte(&w.p, 3) < 0 && m->s_per_byte(&w.p, 4) < 0);
		close_world(&w);
		berth_arena_free(&text);
	}
}

/* Contention-free, first ready first: the transfers of s and t do not wait for each other, and each
 * consumer's stands alone. d 10-17; b and c 13-; e ready at 15, y busy to 17: 17-18. */
static void test_contention_free_names(void **state)
{
	static const char *const system[] = {SYSTEM("\"cost_model\":\"giph\","),
	                                     SYSTEM("\"cost_model\":\"doppler\",\"contention\":false,"),
	                                     SYSTEM("\"contention\":false,\"order\":\"fifo\",")};
	static const int32_t place[] = {0, 1, 2, 0, 1};
	const char *text[3];
	size_t len;
	berth_err err;
	world w[3];
	(void)state;
	for (int i = 0; i < 3; i++) {
		berth_sim_result r;
		open_world(&w[i], fan, system[i]);
		assert_true(!w[i].s.contention && w[i].s.order == BERTH_ORDER_FIFO &&
		            w[i].s.cost_model == &berth_cost_reference);
		berth_sim_run(w[i].sim, place, NULL, &r);
		assert_int_equal(r.latency_ns, 18000);
		assert_ok(berth_system_write_json(&w[i].s, false, &w[i].mem, &text[i], &len, &err), &err);
		assert_string_equal(text[i], text[0]);
	}
	for (int i = 0; i < 3; i++)
		close_world(&w[i]);
}

/* 40 operators, 12 shared parameters of up to 40 users, who may stand apart; what each device holds, counted
 * by the definition. */
static void test_shared_parameters(void **state)
{
	static const char *const system[] = {SYSTEM("\"cost_model\":\"tarnawski\","),
	                                     SYSTEM("\"cost_model\":\"placeto\",")};
	enum { OPS = 40, PARAMS = 12, MAX = 1 << 15 };
	static char text[MAX];
	(void)state;
	for (uint64_t seed = 0; seed < 20; seed++) {
		berth_rng rng = berth_rng_seed(seed, 0);
		bool uses[PARAMS][OPS];
		int32_t place[OPS],
			n = snprintf(text, MAX, "{\"format\":\"berth-graph\",\"version\":1,\"ops\":[");
		for (int i = 0; i < OPS; i++) {
			place[i] = (int32_t)berth_rng_below(&rng, 3);
			n += snprintf(text + n, (size_t)(MAX - n),
			              "%s{\"name\":\"o%d\",\"param_bytes\":10,\"time_s\":{\"k\":1e-6}}",
			              i ? "," : "", i);
		}
		n += snprintf(text + n, (size_t)(MAX - n), "],\"params\":[");
		for (int q = 0; q < PARAMS; q++) {
			n += snprintf(text + n, (size_t)(MAX - n),
			              "%s{\"name\":\"p%d\",\"bytes\":%d,\"ops\":[\"o0\"", q ? "," : "", q,
			              1000 << q);
			for (int i = 0; i < OPS; i++) {
				uses[q][i] = i == 0 || berth_rng_below(&rng, 12) < (uint32_t)q;
				if (i && uses[q][i])
					n += snprintf(text + n, (size_t)(MAX - n), ",\"o%d\"", i);
			}
			n += snprintf(text + n, (size_t)(MAX - n), "]}");
		}
		n += snprintf(text + n, (size_t)(MAX - n), "],\"edges\":[]}");
		assert_true(n < MAX);
		world w;
		berth_sim_result r;
		open_world(&w, text, system[seed % 2]);
		for (int round = 0; round < 2; round++) {
			berth_sim_run(w.sim, place, NULL, &r);
			for (int d = 0; d < 3; d++) {
				int64_t bytes = 0;
				for (int i = 0; i < OPS; i++)
					bytes += place[i] == d ? 10 : 0;
				for (int q = 0; q < PARAMS; q++) {
					bool here = false;
					for (int i = 0; i < OPS; i++)
						here |= uses[q][i] && place[i] == d;
					bytes += here ? 1000 << q : 0;
				}
				assert_int_equal(berth_sim_last(w.sim).peak_bytes[d], bytes);
			}
			place[0] = (place[0] + 1) % 3;
		}
		close_world(&w);
	}
}

/* A model is the execution model, a shorthand of it, or comes with its run, its scratch and its bounds. */
static void test_table(void **state)
{
	char names[256];
	int n = 0;
	(void)state;
	berth_cost_model_names(NULL, names, sizeof names);
	assert_string_equal(names, "reference, tarnawski, placeto, giph, doppler or serial");
	for (char *at = names, *name; (name = strtok_r(at, ", ", &at)) != NULL;) {
		const berth_cost_model *m = NULL;
		if (strcmp(name, "or") == 0)
			continue;
		assert_int_equal(berth_cost_model_find(name, &m, NULL), BERTH_OK);
		assert_string_equal(m->name, name);
		bool own = m != &berth_cost_reference && !m->contention_free;
		assert_true(own == (m->run && m->new_scratch && m->bounds));
		assert_true(!m->op_seconds == !m->s_per_byte && (own || !m->op_seconds));
		assert_true(!own || !(m->has_orders || m->strong_bounds || m->exact_methods));
		n++;
	}
	assert_int_equal(n, 6);
	assert_string_equal(berth_cost_model_names(berth_cost_model_sums, names, sizeof names), "tarnawski");
}

/* Devices have watts, the model has no energy: refused, not searched for in vain. */
static void test_no_energy(void **state)
{
	berth_err err;
	world w;
	(void)state;
	open_world(&w, fan, SYSTEM("\"cost_model\":\"placeto\","));
	for (int32_t d = 0; d < w.p.n_devs; d++)
		w.s.dev_idle_w[d] = w.s.dev_busy_w[d] = 1;
	assert_int_equal(berth_metric_check(BERTH_LATENCY, &w.p, &err), BERTH_OK);
	assert_int_equal(berth_metric_check(BERTH_ENERGY, &w.p, &err), BERTH_EFORMAT);
	assert_string_equal(err.msg, "objective energy is not defined under the cost model placeto");
	close_world(&w);
}

static void test_bad_keys(void **state)
{
	static const char *const bad[][2] = {
		{SYSTEM("\"cost_model\":\"placebo\","), "did you mean 'placeto'?"},
		{SYSTEM("\"op_gap_s\":1,"), "/op_gap_s: op_gap_s is for the cost model placeto only"},
		{SYSTEM("\"cost_model\":\"placeto\",\"op_gap_s\":-1,"), "/op_gap_s"},
		{SYSTEM("\"cost_model\":\"giph\",\"contention\":true,"), "/cost_model: cost model 'giph' is"},
		{SYSTEM("\"cost_model\":\"doppler\",\"order\":\"priority\","),
		 "/cost_model: cost model 'doppler' is"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		berth_arena mem = {0}, tmp = {0};
		berth_system s;
		berth_err err;
		assert_int_equal(
			berth_system_parse_json("system", bad[i][0], strlen(bad[i][0]), &mem, &tmp, &s, &err),
			BERTH_EFORMAT);
		assert_contains(err.msg, bad[i][1]);
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
	}
}

/* What it writes it reads. */
static void test_round_trip(void **state)
{
	world w;
	berth_system again;
	berth_err err;
	const char *text;
	size_t len;
	(void)state;
	open_world(&w, fan, SYSTEM("\"cost_model\":\"placeto\",\"op_gap_s\":1.5e-06,"));
	assert_ok(berth_system_write_json(&w.s, false, &w.mem, &text, &len, &err), &err);
	assert_ok(berth_system_parse_json("again", text, len, &w.mem, &w.tmp, &again, &err), &err);
	assert_true(again.cost_model == w.s.cost_model && again.op_gap_s == 1.5e-6);
	assert_string_equal(again.cost_model->name, "placeto");
	close_world(&w);
}

/* accelerate copies what the CPU holds to the GPU, unless all is on the CPU: what devices are busy for, and
 * the energy, are of the times that are taken. */
static void test_alone_on_the_cpu(void **state)
{
	static const char graph[] =
		"{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"a\",\"param_bytes\":1000000,"
		"\"time_s\":{\"c\":1e-3,\"g\":1e-3}},{\"name\":\"b\",\"time_s\":{\"c\":2e-3,\"g\":1e-3}}],"
		"\"edges\":[{\"from\":\"a\",\"to\":\"b\",\"bytes\":0}]}";
	static const char system[] =
		"{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":\"c\",\"kind\":\"cpu\","
		"\"idle_w\":1,\"busy_w\":2},{\"name\":\"g\",\"kind\":\"gpu\",\"idle_w\":1,\"busy_w\":500}],"
		"\"links\":[{\"from\":\"c\",\"to\":\"g\",\"bandwidth\":1e8,\"both_ways\":true,"
		"\"joules_per_byte\":0}]}";
	const berth_engine_rules *engine;
	world w;
	berth_sim_result r;
	berth_bounds b;
	berth_err err;
	(void)state;
	open_world(&w, graph, system);
	assert_ok(berth_rules_find("accelerate", &engine, &err), &err);
	assert_ok(berth_system_for(engine, &w.s, &err), &err);
	assert_ok(berth_problem_new(&w.g, &w.s, &w.mem, &w.tmp, &w.p, &err), &err);
	assert_ok(berth_sim_new(&w.p, &w.mem, &w.sim, &err), &err);
	berth_sim_want_peaks(w.sim, true);
	berth_sim_run(w.sim, (int32_t[]){0, 0}, NULL, &r);
	assert_int_equal(r.latency_ns, 3000000);
	assert_int_equal(berth_sim_last(w.sim).dev_time_ns[0], 3000000);
	assert_near(r.energy_j, 3e-3 * (2 + 1), 1e-12);
	assert_ok(berth_bounds_new(&w.p, &w.tmp, &b, &err), &err);
	for (int m = 0; m < BERTH_N_METRICS; m++)
		assert_true(!(b.value[m] > berth_metrics[m].value(&r)));
	berth_sim_run(w.sim, (int32_t[]){0, 1}, NULL, &r);
	assert_int_equal(berth_sim_last(w.sim).dev_time_ns[0], 11000000);
	assert_near(r.energy_j, 12e-3 * 2 + 11e-3 + 1e-3 * 499, 1e-12);
	/* where not all may be there, that is no bound */
	w.p.op_dev_legal[berth_cell(&w.p, 0, 1)] = w.p.op_dev_legal[berth_cell(&w.p, 1, 0)] = 0;
	assert_ok(berth_bounds_new(&w.p, &w.tmp, &b, &err), &err);
	assert_int_equal(b.latency_ns, r.latency_ns);
	assert_near(b.value[BERTH_ENERGY], r.energy_j, 1e-9);
	close_world(&w);
	/* a disk needs no figures: weights are copied from it */
	static const char disk[] =
		"{\"format\":\"berth-system\",\"version\":1,"
		"\"devices\":[{\"name\":\"disk\"},{\"name\":\"g\"}],"
		"\"links\":[{\"from\":\"disk\",\"to\":\"g\",\"bandwidth\":1e8,\"both_ways\":true}]}";
	open_world(&w, graph, disk);
	assert_ok(berth_system_for(engine, &w.s, &err), &err);
	assert_ok(berth_problem_new(&w.g, &w.s, &w.mem, &w.tmp, &w.p, &err), &err);
	assert_true(berth_op_legal(&w.p, 0, 0));
	assert_int_equal(berth_op_time(&w.p, 0, 0), 11000000);
	close_world(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placeto_by_hand),
		cmocka_unit_test(test_placeto_against_plain),
		cmocka_unit_test(test_placeto_order_and_gap),
		cmocka_unit_test(test_placeto_line),
		cmocka_unit_test(test_placeto_bounds),
		cmocka_unit_test(test_longest_path),
		cmocka_unit_test(test_serial_by_hand),
		cmocka_unit_test(test_serial),
		cmocka_unit_test(test_alone_on_the_cpu),
		cmocka_unit_test(test_bounds_of_long_operators),
		cmocka_unit_test(test_tarnawski_work),
		cmocka_unit_test(test_tarnawski_links),
		cmocka_unit_test(test_contention_free_names),
		cmocka_unit_test(test_shared_parameters),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_no_energy),
		cmocka_unit_test(test_bad_keys),
		cmocka_unit_test(test_round_trip),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
