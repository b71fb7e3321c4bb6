/* What moves are chosen by: places anew, joules, loads, temperatures. */
#include "anneal.h"
#include "coloc.h"
#include "compiled_instance.h"
#include "cost_model.h"
#include "estimate.h"
#include "graph_format.h"
#include "cooling.h"
#include "loads.h"
#include "screen.h"
#include "moves.h"
#include "rng.h"
#include "small_problem.h"
#include "support.h"
#include "systems_builtin.h"
#include "zoo.h"

#include <math.h>
#include <string.h>

/* The tails of op_dev as a base; false: runs do not go on from bases here. */
static bool tails_of(const berth_problem *p, const int32_t *op_dev, berth_arena *mem, berth_tails *t)
{
	berth_incremental *n;
	berth_err err;
	berth_sim_result r;
	assert_ok(berth_incremental_new(p, mem, &n, &err), &err);
	assert_ok(berth_incremental_want_log(n, mem, &err), &err);
	assert_true(berth_incremental_base(n, op_dev, &r));
	if (!berth_incremental_log(n))
		return false;
	assert_ok(berth_tails_new(p, mem, t, &err), &err);
	berth_tails_update(t, berth_incremental_log(n));
	return true;
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
	berth_tails t;
	berth_estimate e;
	berth_rng rng = berth_rng_seed(1, 1);
	const berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_prices prices;
	int32_t op_dev[5] = {0};
	read_both(chain_graph, chain_system, &mem, &tmp, &g, &s);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_true(tails_of(&p, op_dev, &mem, &t));
	assert_ok(berth_estimate_new(&p, &mem, &e, &err), &err);
	assert_ok(berth_prices_new(&p, &latency, &mem, &prices, &err), &err);
	berth_prices_update(&prices, t.base);
	for (int32_t op = 1; op < 4; op++) {
		op_dev[op] = 1;
		berth_estimate_begin(&e);
		berth_estimate_moved(&e, op);
		assert_true(berth_estimate_latency(&e, &t, op_dev, NULL, INT64_MAX) > t.base->latency_ns);
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
static int place_some(compiled_instance *c, uint64_t seed)
{
	const berth_problem *p = &c->p;
	berth_tails t;
	berth_arena mem = {0};
	berth_estimate e;
	berth_moves m;
	berth_err err;
	const berth_objective o = berth_objective_of(p->has_energy && seed % 2 ? BERTH_EDP : BERTH_LATENCY);
	berth_prices prices;
	int32_t op_dev[2][64];
	int moved = 0;
	if (!tails_of(p, c->t.op_dev, &mem, &t)) {
		berth_arena_free(&mem);
		return 0;
	}
	assert_true(p->n_ops <= 64);
	assert_ok(berth_prices_new(p, &o, &mem, &prices, &err), &err);
	berth_prices_update(&prices, t.base);
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
		berth_estimate_place(&e, &t, &prices, NULL, (double)(seed % 3) * 1e5, &rng, op_dev[again]);
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
	assert_true(compiled_instance_each(400, place_some) > 50);
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
static int check_joules(compiled_instance *c, uint64_t seed)
{
	const berth_problem *p = &c->p;
	const berth_objective o = berth_objective_of(BERTH_ENERGY);
	if (!p->has_energy || p->n_pools > 0)
		return 0;
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
	assert_true(compiled_instance_each(1500, check_joules) > 50);
}

/* ---- loads ---- */

/* Two operators move: loads, and with them the potential, are those of the simulator. Returns whether there
 * was something to compare. */
static int check_loads(compiled_instance *c, uint64_t seed)
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
	assert_true(compiled_instance_each(600, check_loads) > 50);
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

/* ---- styles ---- */

/* What was learned with estimates is for walks that have them. */
static void test_blind_walks_have_no_learned_style(void **state)
{
	(void)state;
	small_problem w;
	berth_err err;
	small_problem_build(&w, "zoo:alexnet", "edge");
	berth_search s = {.p = &w.p};
	assert_ptr_equal(berth_walk_style_of(&s), &berth_walks_learned.by_paths);
	assert_ok(berth_cost_model_find("tarnawski", &w.s.cost_model, &err), &err);
	assert_ptr_equal(berth_walk_style_of(&s), &berth_walks_by_hand.by_paths);
	small_problem_free(&w);
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
	berth_heats_begin(&h, berth_walks_by_hand.by_paths.first_temperature);
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

/* ---- kinds of moves ---- */

static void draw_kinds(berth_mix *m, int n, int32_t *drawn)
{
	berth_rng rng = berth_rng_seed(1, 6);
	memset(drawn, 0, BERTH_SCREEN_KINDS * sizeof *drawn);
	for (int i = 0; i < n; i++)
		drawn[berth_mix_draw(m, &rng)]++;
}

/* Large pieces are tried first, and forgotten where they bring nothing; what gains is drawn more often. */
static void test_kinds_that_gain_are_drawn(void **state)
{
	(void)state;
	enum { N = 1000 };
	berth_mix m;
	int32_t drawn[BERTH_SCREEN_KINDS];
	for (int paths = 0; paths < 2; paths++) {
		berth_screen_kind usual = paths ? BERTH_SCREEN_PATHS_ANEW : BERTH_SCREEN_LOADS_ANEW;
		berth_mix_begin(&m, paths ? berth_walks_by_hand.by_paths.share
		                          : berth_walks_by_hand.by_loads.share);
		draw_kinds(&m, 20, drawn);
		assert_true(drawn[BERTH_SCREEN_LOADS_LARGE] >= 4);
		draw_kinds(&m, 10 * N, drawn);
		draw_kinds(&m, N, drawn);
		assert_true(drawn[usual] > N / 2 && drawn[BERTH_SCREEN_LOADS_LARGE] < N / 10);
		for (int k = BERTH_SCREEN_PATHS; k <= BERTH_SCREEN_LOADS_ANEW; k++)
			assert_true((drawn[k] > 0) == (paths == (k <= BERTH_SCREEN_PATHS_ANEW)));
		berth_mix_gain(&m, BERTH_SCREEN_BLIND, 0.1);
		draw_kinds(&m, 100, drawn);
		assert_true(drawn[BERTH_SCREEN_BLIND] > 10);
	}
}

/* The value after some steps from a placement that is bad everywhere. */
static double walk_from_bad(const char *model, bool plain, uint64_t seed)
{
	berth_arena mem = {0}, tmp = {0};
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_search search;
	berth_annealer *a;
	berth_err err;
	berth_rng rng = berth_rng_seed(seed, 7);
	berth_search_cfg cfg = berth_search_cfg_default();
	int32_t *op_dev;
	assert_ok(berth_zoo_build(model, &mem, &tmp, &g, &err), &err);
	assert_ok(berth_system_builtin("hetero-cluster", &mem, &tmp, &s, &err), &err);
	assert_ok(berth_problem_new(&g, &s, &mem, &tmp, &p, &err), &err);
	assert_ok(berth_search_new(&p, &cfg, &mem, &search, &err), &err);
	assert_ok(BERTH_NEW(&mem, op_dev, p.n_ops, &err), &err);
	for (int32_t op = 0; op < p.n_ops; op++)
		op_dev[op] = (int32_t)berth_rng_below(&rng, (uint32_t)p.n_devs);
	assert_ok(berth_annealer_new(&search, 0, plain, rng, &mem, &a, &err), &err);
	assert_true(berth_anneal_cool(a, (berth_keyed){.op_dev = op_dev}, 1e-3, 200));
	double value = search.best.value;
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return value;
}

/* Where paths alone lost against blind moves: channels have too much to do. */
static void test_walks_from_bad_placements(void **state)
{
	(void)state;
	static const char *const model[] = {"zoo:random:ops=600:width=20:seed=1",
	                                    "zoo:random:ops=600:ccr=1:seed=2"};
	for (size_t i = 0; i < sizeof model / sizeof *model; i++)
		for (uint64_t seed = 1; seed < 3; seed++)
			assert_true(walk_from_bad(model[i], false, seed) <
			            walk_from_bad(model[i], true, seed));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_chain_changes_devices_at_once),
	                                   cmocka_unit_test(test_places_anew_legally),
	                                   cmocka_unit_test(test_joules_of_moves),
	                                   cmocka_unit_test(test_loads_of_moves),
	                                   cmocka_unit_test(test_loads_balance),
	                                   cmocka_unit_test(test_objectives_with_prices),
	                                   cmocka_unit_test(test_blind_walks_have_no_learned_style),
	                                   cmocka_unit_test(test_steps_go_where_they_pay),
	                                   cmocka_unit_test(test_kinds_that_gain_are_drawn),
	                                   cmocka_unit_test(test_walks_from_bad_placements)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
