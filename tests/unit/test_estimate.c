/* Tails of simulated bases, and estimates of moves: what must hold of them, and how well they rank moves. */
#include "coloc.h"
#include "compiled_instance.h"
#include "estimate.h"
#include "graph_json.h"
#include "heats.h"
#include "loads.h"
#include "moves.h"
#include "prices.h"
#include "rng.h"
#include "support.h"
#include "system_json.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The log of op_dev as a base; NULL: runs do not go on from bases here. */
static const berth_base_log *log_of(const berth_problem *p, const int32_t *op_dev, berth_arena *mem,
                                    berth_incremental **n)
{
	berth_err err;
	berth_sim_result r;
	assert_ok(berth_incremental_new(p, mem, n, &err), &err);
	assert_ok(berth_incremental_want_log(*n, mem, &err), &err);
	assert_true(berth_incremental_base(*n, op_dev, &r));
	return berth_incremental_log(*n);
}

/* One operator at a time on each device, which takes as long as it takes alone. */
static bool is_plain(const berth_problem *p)
{
	bool plain = true;
	for (int32_t d = 0; d < p->n_devs; d++)
		plain &= p->s->dev_slots[d] == 1;
	return plain;
}

/* The log is the run, and no path through the base is longer than it. */
static void check_tails(const compiled_instance *c, const berth_base_log *log, const berth_tails *t)
{
	int64_t least = INT64_MAX;
	assert_int_equal(log->latency_ns, c->t.r.latency_ns);
	assert_int_equal(log->n_ends, c->p.n_ops + (int32_t)c->t.n_hops);
	for (int32_t op = 0; op < c->p.n_ops; op++) {
		int64_t slack = berth_tails_slack(t, op);
		assert_int_equal(log->start_ns[op], c->t.start_ns[op]);
		assert_int_equal(log->end_ns[op], c->t.end_ns[op]);
		assert_true(t->ready_ns[op] <= c->t.start_ns[op]);
		assert_true(t->tail_ns[op] >= berth_op_time(&c->p, op, log->op_dev[op]));
		least = slack < least ? slack : least;
	}
	if (is_plain(&c->p) && c->p.n_ops > 0)
		assert_int_equal(least, 0);
}

/* An operator that moves to where it is: nothing changes. */
static void check_stays(const compiled_instance *c, const berth_tails *t)
{
	berth_estimate e;
	berth_err err;
	berth_arena mem = {0};
	assert_ok(berth_estimate_new(&c->p, &mem, &e, &err), &err);
	for (int32_t op = 0; op < c->p.n_ops; op++) {
		berth_estimate_begin(&e);
		berth_estimate_moved(&e, op);
		int64_t ns = berth_estimate_latency(&e, t, c->t.op_dev, NULL, INT64_MAX);
		assert_true(ns <= t->base->latency_ns);
		if (!c->s.contention)
			assert_int_equal(ns, t->base->latency_ns);
	}
	berth_arena_free(&mem);
}

static void test_random_instances(void **state)
{
	(void)state;
	int logged = 0, plain = 0;
	for (uint64_t seed = 0; seed < 400; seed++) {
		compiled_instance c;
		berth_incremental *n;
		berth_tails t;
		berth_err err;
		compiled_instance_make(&c, seed);
		const berth_base_log *log =
			c.t.r.runs && !c.placement.order ? log_of(&c.p, c.t.op_dev, &c.mem, &n) : NULL;
		if (log) {
			assert_ok(berth_tails_new(&c.p, &c.mem, &t, &err), &err);
			berth_tails_update(&t, log);
			check_tails(&c, log, &t);
			if (is_plain(&c.p) && c.s.order == BERTH_ORDER_PRIORITY) {
				check_stays(&c, &t);
				plain++;
			}
			logged++;
		}
		compiled_instance_free(&c);
	}
	assert_true(logged > 50 && plain > 10);
}

/* ---- bases that go on from the one before ---- */

static void check_same_log(const compiled_instance *c, const berth_base_log *a, const berth_base_log *b)
{
	int32_t n_hops = a->n_ends - c->p.n_ops;
	assert_int_equal(a->latency_ns, b->latency_ns);
	assert_int_equal(a->n_ends, b->n_ends);
	assert_memory_equal(a->ends, b->ends, (size_t)a->n_ends * sizeof *a->ends);
	assert_memory_equal(a->op_dev, b->op_dev, (size_t)c->p.n_ops * sizeof *a->op_dev);
	assert_memory_equal(a->start_ns, b->start_ns, (size_t)c->p.n_ops * sizeof *a->start_ns);
	assert_memory_equal(a->end_ns, b->end_ns, (size_t)c->p.n_ops * sizeof *a->end_ns);
	for (int32_t h = 0; h < n_hops; h++) {
		const berth_sim_hop *x = &a->hops[h], *y = &b->hops[h];
		assert_int_equal(x->tensor, y->tensor);
		assert_int_equal(x->dest, y->dest);
		assert_int_equal(x->link, y->link);
		assert_int_equal(x->start_ns, y->start_ns);
		assert_int_equal(x->end_ns, y->end_ns);
	}
}

/* Operators move, one by one: the log of each base is that of a run from the beginning. Returns how many
 * bases there were. */
static int walk_bases(compiled_instance *c, uint64_t seed)
{
	enum { STEPS = 12 };
	berth_rng rng = berth_rng_seed(seed, 2);
	berth_incremental *n, *fresh;
	berth_sim_result r;
	berth_err err;
	int32_t *op_dev;
	int made = 0;
	if (!log_of(&c->p, c->t.op_dev, &c->mem, &n))
		return 0;
	assert_ok(BERTH_NEW(&c->mem, op_dev, c->p.n_ops, &err), &err);
	memcpy(op_dev, c->t.op_dev, (size_t)c->p.n_ops * sizeof *op_dev);
	for (int i = 0; i < STEPS; i++) {
		int32_t op = (int32_t)berth_rng_below(&rng, (uint32_t)c->p.n_ops), home = op_dev[op];
		op_dev[op] = (int32_t)berth_rng_below(&rng, (uint32_t)c->p.n_devs);
		if (!berth_incremental_base(n, op_dev, &r)) {
			assert_null(berth_incremental_log(n));
			op_dev[op] = home;
			continue;
		}
		check_same_log(c, berth_incremental_log(n), log_of(&c->p, op_dev, &c->mem, &fresh));
		made++;
	}
	return made;
}

static void test_logs_go_on(void **state)
{
	(void)state;
	int made = 0;
	for (uint64_t seed = 0; seed < 100; seed++) {
		compiled_instance c;
		compiled_instance_make(&c, seed);
		if (c.t.r.runs && !c.placement.order && c.p.n_ops > 0)
			made += walk_bases(&c, seed);
		compiled_instance_free(&c);
	}
	assert_true(made > 200);
}

/* ---- ranks ---- */

enum { N_MOVES = 300 };

static const int64_t *ranked;

static int by_value(const void *a, const void *b)
{
	int64_t x = ranked[*(const int *)a], y = ranked[*(const int *)b];
	return (x > y) - (x < y);
}

/* Mean rank of each of v [N_MOVES]; equal ones share theirs. */
static void ranks(const int64_t *v, double *rank)
{
	int seq[N_MOVES];
	for (int i = 0; i < N_MOVES; i++)
		seq[i] = i;
	ranked = v;
	qsort(seq, N_MOVES, sizeof *seq, by_value);
	for (int i = 0, j; i < N_MOVES; i = j) {
		for (j = i; j < N_MOVES && v[seq[j]] == v[seq[i]]; j++)
			;
		for (int k = i; k < j; k++)
			rank[seq[k]] = (i + j - 1) / 2.0;
	}
}

/* Spearman's. */
static double rank_correlation(const int64_t *a, const int64_t *b)
{
	double x[N_MOVES], y[N_MOVES], xy = 0, xx = 0, yy = 0, mean = (N_MOVES - 1) / 2.0;
	ranks(a, x);
	ranks(b, y);
	for (int i = 0; i < N_MOVES; i++) {
		xy += (x[i] - mean) * (y[i] - mean);
		xx += (x[i] - mean) * (x[i] - mean);
		yy += (y[i] - mean) * (y[i] - mean);
	}
	return xy / sqrt(xx * yy);
}

/* Single operators of a random placement go elsewhere: estimates against the simulator. */
static double correlation_on(const char *graph, const char *system)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_err err;
	berth_incremental *n;
	berth_tails t;
	berth_estimate e;
	berth_sim_result r;
	int32_t *op_dev;
	int64_t told[N_MOVES], found[N_MOVES];
	berth_rng rng = berth_rng_seed(3, 1);
	assert_ok(berth_zoo_build(graph, &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_builtin(system, &mem, &tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(BERTH_NEW(&mem, op_dev, p.n_ops, &err), &err);
	for (int32_t k = 0, d = 0; k < p.n_ops; k++) {
		d = berth_rng_below(&rng, 12) ? d : (int32_t)berth_rng_below(&rng, (uint32_t)p.n_devs);
		op_dev[g.topo_op[k]] = d;
	}
	const berth_base_log *log = log_of(&p, op_dev, &mem, &n);
	assert_non_null(log);
	assert_ok(berth_tails_new(&p, &mem, &t, &err), &err);
	assert_ok(berth_estimate_new(&p, &mem, &e, &err), &err);
	berth_tails_update(&t, log);
	for (int i = 0; i < N_MOVES; i++) {
		int32_t op = (int32_t)berth_rng_below(&rng, (uint32_t)p.n_ops), home = op_dev[op];
		op_dev[op] = (home + 1 + (int32_t)berth_rng_below(&rng, (uint32_t)p.n_devs - 1)) % p.n_devs;
		berth_estimate_begin(&e);
		berth_estimate_moved(&e, op);
		told[i] = berth_estimate_latency(&e, &t, op_dev, NULL, INT64_MAX);
		assert_true(berth_incremental_run(n, op_dev, INT64_MAX, &r));
		found[i] = r.latency_ns;
		op_dev[op] = home;
	}
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return rank_correlation(told, found);
}

static void test_ranks_of_moves(void **state)
{
	(void)state;
	static const char *const pairs[][2] = {{"zoo:inception-v3:batch=16", "cpu+2gpu"},
	                                       {"zoo:nasnet-a:size=mobile", "hetero-cluster"},
	                                       {"zoo:random:ops=300:seed=4", "cpu+2gpu"},
	                                       {"zoo:random:ops=300:seed=5:ccr=1", "hetero-cluster"}};
	for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
		double c = correlation_on(pairs[i][0], pairs[i][1]);
		print_message("%s on %s: rank correlation %.2f\n", pairs[i][0], pairs[i][1], c);
		assert_true(c > 0.4);
	}
}

/* ---- placing anew ---- */

/* A chain of four with heavy tensors between a source and a sink that stay; the other device is twice as
 * fast. Each operator alone would lose by its transfers what it gains. */
static const char chain_graph[] =
	"{\"format\":\"berth-graph\",\"version\":1,\"ops\":["
	"{\"name\":\"a\",\"time_s\":{\"*\":1e-3}},"
	"{\"name\":\"b\",\"time_s\":{\"slow\":4e-3,\"fast\":2e-3}},"
	"{\"name\":\"c\",\"time_s\":{\"slow\":4e-3,\"fast\":2e-3}},"
	"{\"name\":\"d\",\"time_s\":{\"slow\":4e-3,\"fast\":2e-3}},"
	"{\"name\":\"e\",\"time_s\":{\"*\":1e-3}}],\"edges\":["
	"{\"from\":\"a\",\"to\":\"b\",\"bytes\":1000},{\"from\":\"b\",\"to\":\"c\",\"bytes\":3000000},"
	"{\"from\":\"c\",\"to\":\"d\",\"bytes\":3000000},{\"from\":\"d\",\"to\":\"e\",\"bytes\":1000}]}";
static const char chain_system[] =
	"{\"format\":\"berth-system\",\"version\":1,\"name\":\"s\",\"devices\":[{\"name\":\"slow\"},"
	"{\"name\":\"fast\"}],\"links\":[{\"from\":\"slow\",\"to\":\"fast\",\"bandwidth\":1e9,"
	"\"both_ways\":true}]}";

static void test_chain_changes_devices_at_once(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_err err;
	berth_incremental *n;
	berth_tails t;
	berth_estimate e;
	berth_rng rng = berth_rng_seed(1, 1);
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_prices prices;
	int32_t op_dev[5] = {0};
	assert_ok(berth_graph_parse_json("g", chain_graph, strlen(chain_graph), &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_parse_json("s", chain_system, strlen(chain_system), &mem, &tmp, &s, &err),
	          &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	const berth_base_log *log = log_of(&p, op_dev, &mem, &n);
	assert_non_null(log);
	assert_ok(berth_tails_new(&p, &mem, &t, &err), &err);
	assert_ok(berth_estimate_new(&p, &mem, &e, &err), &err);
	assert_ok(berth_prices_new(&p, &latency, &mem, &prices, &err), &err);
	berth_tails_update(&t, log);
	berth_prices_update(&prices, log);
	for (int32_t op = 1; op < 4; op++) {
		op_dev[op] = 1;
		berth_estimate_begin(&e);
		berth_estimate_moved(&e, op);
		assert_true(berth_estimate_latency(&e, &t, op_dev, NULL, INT64_MAX) > log->latency_ns);
		op_dev[op] = 0;
	}
	berth_estimate_begin(&e);
	for (int32_t op = 3; op > 0; op--)
		berth_estimate_moved(&e, op);
	berth_estimate_place(&e, &t, &prices, NULL, 0, &rng, op_dev);
	assert_memory_equal(op_dev, ((int32_t[]){0, 1, 1, 1, 0}), sizeof op_dev);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static bool has_device(const berth_problem *p, int32_t coloc)
{
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_coloc_legal(p, coloc, d))
			return true;
	return false;
}

/* Groups stay together and where they may stand, what is not gathered does not move, and one seed places one
 * way. Returns how many operators moved. */
static int place_some(const compiled_instance *c, const berth_tails *t, uint64_t seed)
{
	const berth_problem *p = &c->p;
	berth_arena mem = {0};
	berth_estimate e;
	berth_moves m;
	berth_err err;
	const berth_objective o = berth_objective_of(p->has_energy && seed % 2 ? BERTH_EDP : BERTH_LATENCY);
	berth_prices prices;
	int32_t op_dev[2][64];
	int moved = 0;
	assert_true(p->n_ops <= 64);
	assert_ok(berth_prices_new(p, &o, &mem, &prices, &err), &err);
	berth_prices_update(&prices, t->base);
	assert_ok(berth_estimate_new(p, &mem, &e, &err), &err);
	assert_ok(berth_moves_new(p, &mem, &m, &err), &err);
	for (int again = 0; again < 2; again++) {
		berth_rng rng = berth_rng_seed(seed, 3);
		memcpy(op_dev[again], c->t.op_dev, (size_t)p->n_ops * sizeof **op_dev);
		berth_moves_gather(&m, (int32_t)berth_rng_below(&rng, (uint32_t)p->n_colocs),
		                   1 + (int32_t)berth_rng_below(&rng, 6), &rng);
		berth_estimate_begin(&e);
		for (int32_t i = 0; i < m.n_moved; i++)
			for (int32_t k = p->coloc_off[m.moved[i]]; k < p->coloc_off[m.moved[i] + 1]; k++)
				berth_estimate_moved(&e, p->coloc_op[k]);
		berth_estimate_place(&e, t, &prices, NULL, (double)(seed % 3) * 1e5, &rng, op_dev[again]);
	}
	assert_memory_equal(op_dev[0], op_dev[1], (size_t)p->n_ops * sizeof **op_dev);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t u = p->op_coloc[op], d = op_dev[0][op];
		bool gathered = e.seen[op] == e.stamp;
		assert_true(gathered || d == c->t.op_dev[op]);
		assert_true(!gathered || d == op_dev[0][p->coloc_op[p->coloc_off[u]]]);
		assert_true(!gathered || berth_coloc_legal(p, u, d) || !has_device(p, u));
		moved += d != c->t.op_dev[op];
	}
	berth_arena_free(&mem);
	return moved;
}

static void test_places_anew_legally(void **state)
{
	(void)state;
	int moved = 0;
	for (uint64_t seed = 0; seed < 400; seed++) {
		compiled_instance c;
		berth_incremental *n;
		berth_tails t;
		berth_err err;
		compiled_instance_make(&c, seed);
		const berth_base_log *log = c.t.r.runs && !c.placement.order && c.p.n_ops > 0
			? log_of(&c.p, c.t.op_dev, &c.mem, &n) : NULL;
		if (log) {
			assert_ok(berth_tails_new(&c.p, &c.mem, &t, &err), &err);
			berth_tails_update(&t, log);
			moved += place_some(&c, &t, seed);
		}
		compiled_instance_free(&c);
	}
	assert_true(moved > 50);
}

/* ---- prices ---- */

/* Joules above idling, by the simulator. */
static double burnt(const berth_problem *p, const berth_sim_result *r)
{
	double idle = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		idle += p->s->dev_idle_w[d];
	return r->energy_j - idle * (double)r->latency_ns * 1e-9;
}

/* Two operators move: the joules are those of the simulator. Returns whether there was something to compare.
 */
static bool check_joules(const compiled_instance *c, uint64_t seed)
{
	const berth_problem *p = &c->p;
	const berth_objective o = berth_objective_of(BERTH_ENERGY);
	berth_rng rng = berth_rng_seed(seed, 4);
	berth_arena mem = {0};
	berth_prices prices;
	berth_sim *sim;
	berth_sim_result from, to;
	berth_err err;
	int32_t op_dev[64], op[2];
	assert_ok(berth_prices_new(p, &o, &mem, &prices, &err), &err);
	assert_ok(berth_sim_new(p, &mem, &sim, &err), &err);
	memcpy(op_dev, c->t.op_dev, (size_t)p->n_ops * sizeof *op_dev);
	for (int i = 0; i < 2; i++) {
		op[i] = (int32_t)berth_rng_below(&rng, (uint32_t)p->n_ops);
		op_dev[op[i]] = (int32_t)berth_rng_below(&rng, (uint32_t)p->n_devs);
	}
	berth_sim_run(sim, c->t.op_dev, NULL, &from);
	berth_sim_run(sim, op_dev, NULL, &to);
	bool runs = from.runs && to.runs && op[0] != op[1];
	if (runs) {
		double told = berth_prices_joules(&prices, c->t.op_dev, op_dev, 2, op);
		assert_near(told, burnt(p, &to) - burnt(p, &from), 1e-9 * (1 + from.energy_j + to.energy_j));
	}
	berth_arena_free(&mem);
	return runs;
}

static void test_joules_of_moves(void **state)
{
	(void)state;
	int compared = 0;
	for (uint64_t seed = 0; seed < 1500; seed++) {
		compiled_instance c;
		compiled_instance_make(&c, seed);
		if (c.t.r.runs && !c.placement.order && c.p.n_ops > 0 && c.p.has_energy && c.p.n_pools == 0)
			compared += check_joules(&c, seed);
		compiled_instance_free(&c);
	}
	assert_true(compared > 50);
}

/* ---- loads ---- */

/* Two operators move: loads, and with them the potential, are those of the simulator. Returns whether there
 * was something to compare. */
static bool check_loads(const compiled_instance *c, uint64_t seed)
{
	const berth_problem *p = &c->p;
	berth_rng rng = berth_rng_seed(seed, 5);
	berth_arena mem = {0};
	berth_loads loads, after;
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	int32_t op_dev[64], op[2];
	assert_ok(berth_loads_new(p, &mem, &loads, &err), &err);
	assert_ok(berth_loads_new(p, &mem, &after, &err), &err);
	assert_ok(berth_sim_new(p, &mem, &sim, &err), &err);
	memcpy(op_dev, c->t.op_dev, (size_t)p->n_ops * sizeof *op_dev);
	for (int i = 0; i < 2; i++) {
		op[i] = (int32_t)berth_rng_below(&rng, (uint32_t)p->n_ops);
		op_dev[op[i]] = (int32_t)berth_rng_below(&rng, (uint32_t)p->n_devs);
	}
	berth_sim_run(sim, op_dev, NULL, &r);
	bool runs = r.runs && op[0] != op[1];
	if (runs) {
		double sum = 0;
		berth_loads_begin(&loads, c->t.op_dev);
		berth_loads_begin(&after, op_dev);
		assert_near(after.most, r.load_s * 1e9, 1e-6 * (1 + after.most));
		for (int32_t i = 0; i < loads.n && loads.most > 0; i++)
			sum += pow(after.load[i] / loads.most, 16) - pow(loads.load[i] / loads.most, 16);
		double told = berth_loads_change(&loads, c->t.op_dev, op_dev, 2, op);
		assert_near(told, loads.most > 0 ? sum : told, 1e-9 * (1 + fabs(sum)));
	}
	berth_arena_free(&mem);
	return runs;
}

static void test_loads_of_moves(void **state)
{
	(void)state;
	int compared = 0;
	for (uint64_t seed = 0; seed < 600; seed++) {
		compiled_instance c;
		compiled_instance_make(&c, seed);
		if (c.t.r.runs && !c.placement.order && c.p.n_ops > 0)
			compared += check_loads(&c, seed);
		compiled_instance_free(&c);
	}
	assert_true(compared > 50);
}

/* Eight equal operators without edges, all on one of four equal devices: placed anew they balance. */
static void test_loads_balance(void **state)
{
	(void)state;
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_err err;
	berth_loads loads;
	berth_rng rng = berth_rng_seed(1, 1);
	int32_t op_dev[8] = {0}, op[8], n_on[4] = {0};
	const char *graph = "{\"ops\":[{\"name\":\"a\",\"flops\":1e9},{\"name\":\"b\",\"flops\":1e9},"
			    "{\"name\":\"c\",\"flops\":1e9},{\"name\":\"d\",\"flops\":1e9},"
			    "{\"name\":\"e\",\"flops\":1e9},{\"name\":\"f\",\"flops\":1e9},"
			    "{\"name\":\"g\",\"flops\":1e9},{\"name\":\"h\",\"flops\":1e9}],"
			    "\"format\":\"berth-graph\",\"version\":1,\"edges\":[]}";
	assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_builtin("4gpu", &mem, &tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_loads_new(&p, &mem, &loads, &err), &err);
	berth_loads_begin(&loads, op_dev);
	for (int32_t i = 0; i < 8; i++) {
		op[i] = i;
		assert_true(berth_loads_critical(&loads, i, op_dev));
	}
	berth_loads_place(&loads, 8, op, 0, &rng, op_dev);
	for (int32_t i = 0; i < 8; i++)
		n_on[op_dev[i]]++;
	for (int32_t d = 0; d < 4; d++)
		assert_int_equal(n_on[d], 2);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
}

static void test_objectives_with_prices(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		bool known;
	} x[] = {{"latency", true},
	         {"energy", true},
	         {"edp", true},
	         {"throughput", false},
	         {"memory", false},
	         {"power", false},
	         {"latency:energy<=3", true},
	         {"0.5*latency+0.5*edp", true},
	         {"0.5*latency+0.5*power", false}};
	berth_objective o;
	berth_err err;
	for (size_t i = 0; i < sizeof x / sizeof *x; i++) {
		assert_ok(berth_objective_parse(x[i].text, &o, &err), &err);
		assert_int_equal(berth_prices_known(&o), x[i].known);
	}
}

/* ---- temperatures ---- */

/* Rounds in which only one temperature gains, told by gains alone. */
static void test_steps_go_where_they_pay(void **state)
{
	(void)state;
	enum { PAYS = 1, ROUNDS = 6 };
	berth_heats h;
	int64_t last[BERTH_HEATS] = {0};
	double value = 100;
	berth_heats_begin(&h);
	assert_int_equal(berth_heats_steps(&h), BERTH_HEATS_FIRST_STEPS);
	for (int round = 0; round < ROUNDS; round++)
		for (int i = 0; i < BERTH_HEATS; i++) {
			berth_score before = {.value = value};
			if (i == PAYS)
				value *= 0.99;
			last[i] = berth_heats_steps(&h);
			assert_true(last[i] > 0);
			berth_heats_tell(&h, before, (berth_score){.value = value});
		}
	assert_int_equal(last[PAYS], BERTH_HEATS_FIRST_STEPS << (ROUNDS - 1));
	for (int i = 0; i < BERTH_HEATS; i++)
		assert_true(i == PAYS || last[i] <= last[PAYS] / 16 + 1);
	/* what has become feasible gained more than any value; where nothing gains, nothing shifts */
	double share = h.share[0];
	for (int i = 0; i < BERTH_HEATS; i++)
		berth_heats_tell(&h, (berth_score){.value = 1}, (berth_score){.value = 1});
	assert_true(h.share[0] == share && h.share[PAYS] == 1);
	for (int i = 0; i < BERTH_HEATS; i++)
		berth_heats_tell(&h, (berth_score){.excess = i == 0, .value = 1},
		                 (berth_score){.value = i ? 0.5 : 9});
	assert_true(h.share[0] > share && h.share[PAYS] < 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_random_instances),
	                                   cmocka_unit_test(test_chain_changes_devices_at_once),
	                                   cmocka_unit_test(test_places_anew_legally),
	                                   cmocka_unit_test(test_steps_go_where_they_pay),
	                                   cmocka_unit_test(test_joules_of_moves),
	                                   cmocka_unit_test(test_loads_of_moves),
	                                   cmocka_unit_test(test_loads_balance),
	                                   cmocka_unit_test(test_objectives_with_prices),
	                                   cmocka_unit_test(test_logs_go_on),
	                                   cmocka_unit_test(test_ranks_of_moves)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
