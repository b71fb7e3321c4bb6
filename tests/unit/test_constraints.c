/* Rules of placements: a check written once more from the documentation, and every method against it on random instances. Methods are told as an argument:
 * test_constraints N [FIRST] takes N instances from seed FIRST on (10000 from 1 without). */
#include "check.h"
#include "constraints.h"
#include "graph_json.h"
#include "placing.h"
#include "support.h"
#include "system_json.h"
#include "timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 9, MOST_DEVS = 4 };

static int64_t n_instances = 10000, first_seed = 1;

/* ---- an instance ---- */

typedef struct instance {
	int32_t n_ops, n_devs, n_edges;
	int32_t from[64], to[64];
	int32_t coloc[MOST_OPS], sep[MOST_OPS], pin[MOST_OPS], forbid[MOST_OPS]; /* -1: none */
	bool backward[MOST_OPS], cannot[MOST_OPS][MOST_DEVS];
	bool contiguous[MOST_DEVS];
	int64_t memory[MOST_DEVS]; /* -1: unlimited */
	double margin[MOST_DEVS];
} instance;

static int32_t below(berth_rng *rng, int32_t n)
{
	return (int32_t)berth_rng_below(rng, (uint32_t)n);
}

static bool chance(berth_rng *rng, int32_t one_in)
{
	return below(rng, one_in) == 0;
}

static instance draw(uint64_t seed)
{
	berth_rng rng = berth_rng_seed(seed, 77);
	instance x = {.n_ops = 1 + below(&rng, MOST_OPS), .n_devs = 1 + below(&rng, MOST_DEVS)};
	int32_t rare = 3 + below(&rng, 6);
	for (int32_t op = 0; op < x.n_ops; op++) {
		x.coloc[op] = chance(&rng, rare) ? below(&rng, 2) : -1;
		x.sep[op] = chance(&rng, rare - 1) ? below(&rng, 2) : -1;
		x.pin[op] = chance(&rng, 2 * rare) ? below(&rng, x.n_devs) : -1;
		x.forbid[op] = chance(&rng, rare) ? below(&rng, x.n_devs) : -1;
		x.backward[op] = op > x.n_ops / 2 && chance(&rng, 3);
		for (int32_t d = 0; d < x.n_devs; d++)
			x.cannot[op][d] = chance(&rng, 12);
		for (int32_t from = 0; from < op; from++)
			if (chance(&rng, 3) && (!x.backward[from] || x.backward[op])) {
				x.from[x.n_edges] = from;
				x.to[x.n_edges++] = op;
			}
	}
	for (int32_t d = 0; d < x.n_devs; d++) {
		x.contiguous[d] = chance(&rng, 3);
		x.memory[d] = chance(&rng, 3) ? 10 + below(&rng, 60) : -1;
		x.margin[d] = chance(&rng, 3) ? 0.25 : 0;
	}
	return x;
}

static const char *graph_text(const instance *x, berth_arena *mem)
{
	berth_json_out w;
	berth_err err;
	const char *text;
	size_t len;
	char name[8];
	berth_json_out_init(&w, mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-graph");
	berth_json_put_int(&w, "version", 1);
	berth_json_open(&w, "ops", '[');
	for (int32_t op = 0; op < x->n_ops; op++) {
		snprintf(name, sizeof name, "o%d", (int)op);
		berth_json_open(&w, NULL, '{');
		berth_json_put_string(&w, "name", name);
		berth_json_put_int(&w, "param_bytes", 3 + op % 4);
		berth_json_open(&w, "time_s", '{');
		for (int32_t d = 0; d < x->n_devs; d++) {
			snprintf(name, sizeof name, "d%d", (int)d);
			berth_json_put_number(&w, name, x->cannot[op][d] ? NAN : 1e-3 * (1 + (op * 7 + d * 3) % 5));
		}
		berth_json_close(&w, '}');
		if (x->coloc[op] >= 0)
			berth_json_put_string(&w, "colocate", x->coloc[op] ? "c1" : "c0");
		if (x->sep[op] >= 0)
			berth_json_put_string(&w, "separate", x->sep[op] ? "s1" : "s0");
		snprintf(name, sizeof name, "d%d", (int)x->pin[op]);
		if (x->pin[op] >= 0)
			berth_json_put_string(&w, "pin", name);
		snprintf(name, sizeof name, "d%d", (int)x->forbid[op]);
		if (x->forbid[op] >= 0) {
			berth_json_open(&w, "forbid", '[');
			berth_json_put_string(&w, NULL, name);
			berth_json_close(&w, ']');
		}
		berth_json_put_bool(&w, "backward", x->backward[op]);
		berth_json_close(&w, '}');
	}
	berth_json_close(&w, ']');
	berth_json_open(&w, "edges", '[');
	for (int32_t e = 0; e < x->n_edges; e++) {
		berth_json_open(&w, NULL, '{');
		snprintf(name, sizeof name, "o%d", (int)x->from[e]);
		berth_json_put_string(&w, "from", name);
		snprintf(name, sizeof name, "o%d", (int)x->to[e]);
		berth_json_put_string(&w, "to", name);
		berth_json_put_int(&w, "bytes", 2);
		berth_json_close(&w, '}');
	}
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	assert_ok(berth_json_done(&w, &text, &len, &err), &err);
	return text;
}

static const char *system_text(const instance *x, berth_arena *mem)
{
	berth_json_out w;
	berth_err err;
	const char *text;
	size_t len;
	char name[8];
	berth_json_out_init(&w, mem, false);
	berth_json_open(&w, NULL, '{');
	berth_json_put_string(&w, "format", "berth-system");
	berth_json_put_int(&w, "version", 1);
	berth_json_open(&w, "devices", '[');
	for (int32_t d = 0; d < x->n_devs; d++) {
		berth_json_open(&w, NULL, '{');
		snprintf(name, sizeof name, "d%d", (int)d);
		berth_json_put_string(&w, "name", name);
		if (x->memory[d] >= 0)
			berth_json_put_int(&w, "memory_bytes", x->memory[d]);
		berth_json_put_number(&w, "memory_margin", x->margin[d]);
		berth_json_put_bool(&w, "contiguous", x->contiguous[d]);
		berth_json_close(&w, '}');
	}
	berth_json_close(&w, ']');
	berth_json_open(&w, "links", '[');
	for (int32_t d = 1; d < x->n_devs; d++) {
		berth_json_open(&w, NULL, '{');
		berth_json_put_string(&w, "from", "d0");
		snprintf(name, sizeof name, "d%d", (int)d);
		berth_json_put_string(&w, "to", name);
		berth_json_put_number(&w, "bandwidth", 1e4);
		berth_json_put_bool(&w, "both_ways", true);
		berth_json_close(&w, '}');
	}
	berth_json_close(&w, ']');
	berth_json_close(&w, '}');
	assert_ok(berth_json_done(&w, &text, &len, &err), &err);
	return text;
}

/* ---- the rules once more ---- */

/* reach [from][to]: a path of at least one edge whose inner operators are all on other devices than dev, or of the other pass; through none: any path. */
static bool leaves_and_comes_back(const instance *x, const int32_t *op_dev, int32_t dev, bool backward)
{
	bool out[MOST_OPS] = {false}; /* reached from the piece by a path that has left it */
	for (int32_t op = 0; op < x->n_ops; op++) { /* operators are in topological order */
		bool inside = op_dev[op] == dev && x->backward[op] == backward, from_piece = false, from_out = false;
		for (int32_t e = 0; e < x->n_edges; e++) {
			if (x->to[e] != op)
				continue;
			int32_t u = x->from[e];
			from_piece |= op_dev[u] == dev && x->backward[u] == backward;
			from_out |= out[u];
		}
		if (inside && from_out)
			return true;
		out[op] = from_out || (!inside && from_piece);
	}
	return false;
}

static bool rules_kept(const instance *x, const int32_t *op_dev)
{
	for (int32_t a = 0; a < x->n_ops; a++) {
		if ((x->pin[a] >= 0 && x->pin[a] != op_dev[a]) || x->forbid[a] == op_dev[a] || x->cannot[a][op_dev[a]])
			return false;
		for (int32_t b = 0; b < a; b++) {
			if (x->coloc[a] >= 0 && x->coloc[a] == x->coloc[b] && op_dev[a] != op_dev[b])
				return false;
			if (x->sep[a] >= 0 && x->sep[a] == x->sep[b] && op_dev[a] == op_dev[b])
				return false;
		}
	}
	for (int32_t d = 0; d < x->n_devs; d++)
		if (x->contiguous[d] && (leaves_and_comes_back(x, op_dev, d, false) || leaves_and_comes_back(x, op_dev, d, true)))
			return false;
	return true;
}

static bool memory_kept(const instance *x, const int64_t *peak_bytes)
{
	for (int32_t d = 0; d < x->n_devs; d++)
		if (x->memory[d] >= 0 && (double)peak_bytes[d] > (double)x->memory[d] * (1 - x->margin[d]) + 1e-9)
			return false;
	return true;
}

/* ---- every method ---- */

typedef struct compiled {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_bounds bounds;
} compiled;

static void compile(compiled *c, const instance *x)
{
	berth_err err;
	const char *graph = graph_text(x, &c->mem), *system = system_text(x, &c->mem);
	assert_ok(berth_graph_parse_json("g", graph, strlen(graph), &c->mem, &c->tmp, &c->g, &err), &err);
	assert_ok(berth_system_parse_json("s", system, strlen(system), &c->mem, &c->tmp, &c->s, &err), &err);
	assert_ok(berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, &err), &err);
	assert_ok(berth_bounds_new(&c->p, &c->tmp, &c->bounds, &err), &err);
}

/* Is there a placement that keeps all rules (and memory)? */
static void exists(const compiled *c, const instance *x, bool *rules, bool *memory)
{
	int32_t op_dev[MOST_OPS] = {0};
	berth_arena mem = {0};
	berth_sim *sim;
	berth_sim_result r;
	berth_err err;
	*rules = *memory = false;
	assert_ok(berth_sim_new(&c->p, &mem, &sim, &err), &err);
	berth_sim_want_peaks(sim, true);
	for (int32_t op = 0; op < x->n_ops && !*memory;) {
		if (rules_kept(x, op_dev)) {
			*rules = true;
			berth_sim_run(sim, op_dev, NULL, &r);
			*memory |= memory_kept(x, berth_sim_peak_bytes(sim));
		}
		for (op = 0; op < x->n_ops && ++op_dev[op] == x->n_devs; op++)
			op_dev[op] = 0;
	}
	berth_arena_free(&mem);
}

typedef struct count {
	int64_t n, answered, infeasible, missed; /* missed: of those with a solution */
} count;

static void run_method(compiled *c, const instance *x, uint64_t seed, const berth_method *m, bool solvable, count *n)
{
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_placing r;
	berth_timeline t;
	berth_violations broken;
	berth_err err;
	berth_arena_mark mark = berth_arena_get_mark(&c->mem);
	cfg.evaluations = 200;
	berth_status st = berth_placing_run(&c->p, &c->bounds, m, &cfg, &c->mem, &c->tmp, &r, &err);
	n->n++;
	if (st == BERTH_EINVAL || st == BERTH_ELIMIT || st == BERTH_EUNSUPPORTED) {
		berth_arena_reset(&c->mem, mark);
		return;
	}
	assert_ok(st, &err);
	n->answered += r.answered;
	n->infeasible += r.answered && !r.feasible;
	n->missed += solvable && !r.feasible;
	if (r.answered) {
		assert_ok(berth_timeline_new(&c->p, r.op_dev, r.op_order, &c->mem, &t, &err), &err);
		assert_ok(berth_check_placement(&c->p, r.op_dev, t.peak_bytes, &c->mem, &broken, &err), &err);
		bool kept = rules_kept(x, r.op_dev) && memory_kept(x, t.peak_bytes);
		if (r.feasible != kept || kept != (broken.n == 0))
			fail_msg("seed %lld, %s: feasible %d, rules kept %d, %d violations", (long long)seed, m->name, r.feasible, kept, broken.n);
	} else if (solvable) {
		fail_msg("seed %lld, %s: no answer where there is one", (long long)seed, m->name);
	}
	berth_arena_reset(&c->mem, mark);
}

static void every_method_keeps_the_rules(void **state)
{
	enum { MOST_METHODS = 64 };
	count n[MOST_METHODS] = {{0}};
	int64_t solvable = 0, unsolvable = 0, proven = 0;
	(void)state;
	for (int64_t k = 0; k < n_instances; k++) {
		uint64_t seed = (uint64_t)(first_seed + k);
		instance x = draw(seed);
		compiled c = {0};
		bool rules, memory;
		compile(&c, &x);
		exists(&c, &x, &rules, &memory);
		solvable += memory;
		unsolvable += !memory;
		if (berth_problem_feasible(&c.p, NULL) != BERTH_OK) {
			if (rules)
				fail_msg("seed %lld: called infeasible, but it is not", (long long)seed);
			proven++;
		} else if (!rules) {
			fail_msg("seed %lld: no placement keeps the rules, and that was not found out", (long long)seed);
		}
		for (int32_t m = 0; m < berth_n_heuristics && m < MOST_METHODS; m++)
			run_method(&c, &x, seed, berth_heuristics[m], memory, &n[m]);
		berth_arena_free(&c.mem);
		berth_arena_free(&c.tmp);
	}
	print_message("%lld instances with a solution, %lld without, %lld proven so from the rules\n", (long long)solvable, (long long)unsolvable, (long long)proven);
	for (int32_t m = 0; m < berth_n_heuristics && m < MOST_METHODS; m++) {
		print_message("%-16s answered %6lld, not feasible %5lld, missed a solution %5lld\n", berth_heuristics[m]->name, (long long)n[m].answered,
		              (long long)n[m].infeasible, (long long)n[m].missed);
		assert_true(n[m].missed * 100 <= solvable);
	}
	assert_true(solvable > n_instances / 4 && unsolvable > n_instances / 20);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_method_keeps_the_rules)};
	if (argc > 1)
		n_instances = atoll(argv[1]);
	if (argc > 2)
		first_seed = atoll(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
