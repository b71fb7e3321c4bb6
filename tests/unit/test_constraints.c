/* Rules of placements: a check written once more from the documentation, and every method against it on
 * random instances. Methods are told as an argument: test_constraints N [FIRST] takes N instances from seed
 * FIRST on (10000 from 1 without). */
#include "check.h"
#include "constraints.h"
#include "infeasible_subset.h"
#include "json.h"
#include "registry.h"
#include "relax.h"
#include "small_problem.h"
#include "solve.h"
#include "support.h"
#include "timeline.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_OPS = 9, MOST_DEVS = 4, MOST_POOLS = 2 };

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
	int32_t n_pools, pool[MOST_DEVS]; /* -1: none */
	int64_t pool_bytes[MOST_POOLS];   /* -1: unlimited */
} instance;

static int32_t below(berth_rng *rng, int32_t n)
{
	return (int32_t)berth_rng_below(rng, (uint32_t)n);
}

static bool chance(berth_rng *rng, int32_t one_in)
{
	return below(rng, one_in) == 0;
}

/* Memory pools in one of three instances, by a stream of their own: all else is as without them. */
static void draw_pools(uint64_t seed, instance *x)
{
	berth_rng rng = berth_rng_seed(seed, 78);
	int64_t least[MOST_POOLS] = {0};
	for (int32_t d = 0; d < x->n_devs; d++) {
		int32_t pool = chance(&rng, 4) ? -1 : below(&rng, MOST_POOLS);
		x->pool[d] = seed % 3 == 0 && pool <= x->n_pools ? pool : -1;
		if (x->pool[d] < 0)
			continue;
		x->n_pools = pool == x->n_pools ? pool + 1 : x->n_pools;
		least[pool] = x->memory[d] > least[pool] ? x->memory[d] : least[pool];
	}
	for (int32_t q = 0; q < x->n_pools; q++)
		x->pool_bytes[q] = chance(&rng, 4) ? -1 : least[q] + below(&rng, 40);
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
	draw_pools(seed, &x);
	return x;
}

static const char *graph_text(const instance *x, berth_arena *mem)
{
	berth_json_out w;
	berth_err err;
	const char *text;
	size_t len;
	char name[16];
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
		berth_json_put_int(&w, "read_bytes", 4 + op % 5); /* what pools see beside measured times */
		berth_json_open(&w, "time_s", '{');
		for (int32_t d = 0; d < x->n_devs; d++) {
			snprintf(name, sizeof name, "d%d", (int)d);
			berth_json_put_number(&w, name,
			                      x->cannot[op][d] ? NAN : 1e-3 * (1 + (op * 7 + d * 3) % 5));
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

static void put_pools(const instance *x, berth_json_out *w)
{
	char name[16];
	berth_json_open(w, "memory_pools", '[');
	for (int32_t q = 0; q < x->n_pools; q++) {
		berth_json_open(w, NULL, '{');
		snprintf(name, sizeof name, "p%d", (int)q);
		berth_json_put_string(w, "name", name);
		berth_json_put_number(w, "bandwidth", 5e3); /* about what one operator moves */
		if (x->pool_bytes[q] >= 0)
			berth_json_put_int(w, "bytes", x->pool_bytes[q]);
		berth_json_open(w, "devices", '[');
		for (int32_t d = 0; d < x->n_devs; d++) {
			snprintf(name, sizeof name, "d%d", (int)d);
			if (x->pool[d] == q)
				berth_json_put_string(w, NULL, name);
		}
		berth_json_close(w, ']');
		berth_json_close(w, '}');
	}
	berth_json_close(w, ']');
}

static const char *system_text(const instance *x, berth_arena *mem)
{
	berth_json_out w;
	berth_err err;
	const char *text;
	size_t len;
	char name[16];
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
	if (x->n_pools)
		put_pools(x, &w);
	berth_json_close(&w, '}');
	assert_ok(berth_json_done(&w, &text, &len, &err), &err);
	return text;
}

/* ---- the rules once more ---- */

/* reach [from][to]: a path of at least one edge whose inner operators are all on other devices than dev, or
 * of the other pass; through none: any path. */
static bool leaves_and_comes_back(const instance *x, const int32_t *op_dev, int32_t dev, bool backward)
{
	bool out[MOST_OPS] = {false}; /* reached from the piece by a path that has left it */
	for (int32_t op = 0; op < x->n_ops; op++) { /* operators are in topological order */
		bool inside = op_dev[op] == dev && x->backward[op] == backward, from_piece = false,
		     from_out = false;
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
		if ((x->pin[a] >= 0 && x->pin[a] != op_dev[a]) || x->forbid[a] == op_dev[a] ||
		    x->cannot[a][op_dev[a]])
			return false;
		for (int32_t b = 0; b < a; b++) {
			if (x->coloc[a] >= 0 && x->coloc[a] == x->coloc[b] && op_dev[a] != op_dev[b])
				return false;
			if (x->sep[a] >= 0 && x->sep[a] == x->sep[b] && op_dev[a] == op_dev[b])
				return false;
		}
	}
	for (int32_t d = 0; d < x->n_devs; d++)
		if (x->contiguous[d] &&
		    (leaves_and_comes_back(x, op_dev, d, false) || leaves_and_comes_back(x, op_dev, d, true)))
			return false;
	return true;
}

static bool memory_kept(const instance *x, const int64_t *peak_bytes, const int64_t *pool_peak_bytes)
{
	for (int32_t q = 0; q < x->n_pools; q++)
		if (x->pool_bytes[q] >= 0 && pool_peak_bytes[q] > x->pool_bytes[q])
			return false;
	for (int32_t d = 0; d < x->n_devs; d++)
		if (x->memory[d] >= 0 &&
		    (double)peak_bytes[d] > (double)x->memory[d] * (1 - x->margin[d]) + 1e-9)
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
	read_both(graph, system, &c->mem, &c->tmp, &c->g, &c->s);
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
			*memory |= memory_kept(x, berth_sim_last(sim).peak_bytes,
			                       berth_sim_last(sim).pool_peak_bytes);
		}
		for (op = 0; op < x->n_ops && ++op_dev[op] == x->n_devs; op++)
			op_dev[op] = 0;
	}
	berth_arena_free(&mem);
}

typedef struct count {
	int64_t n, answered, infeasible, missed; /* missed: of those with a solution */
} count;

static void run_method(compiled *c, const instance *x, uint64_t seed, const berth_method *m, bool solvable,
                       count *n)
{
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_solution r;
	berth_timeline t;
	berth_verdict v;
	berth_err err;
	berth_arena_mark mark = berth_arena_get_mark(&c->mem);
	cfg.evaluations = 200;
	berth_status st = berth_solve(&c->p, &c->bounds, m, &cfg, &c->mem, &c->tmp, &r, &err);
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
		assert_ok(berth_judge(&c->p, r.op_dev, r.op_order, NULL, &c->mem, &t, &v, &err), &err);
		bool kept = rules_kept(x, r.op_dev) && memory_kept(x, t.peak_bytes, t.pool_peak_bytes);
		if (r.feasible != kept || kept != v.feasible)
			fail_msg("seed %lld, %s: feasible %d, rules kept %d, %d violations", (long long)seed,
			         m->name, r.feasible, kept, v.broken.n);
	} else if (solvable) {
		fail_msg("seed %lld, %s: no answer where there is one", (long long)seed, m->name);
	}
	berth_arena_reset(&c->mem, mark);
}

/* The learned methods take longer: fewer instances. */
static void learned_methods_keep_the_rules(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= (BERTH_DEBUG ? 15 : 60); seed++) {
		instance x = draw(seed);
		compiled c = {0};
		bool rules, memory;
		count n = {0};
		compile(&c, &x);
		exists(&c, &x, &rules, &memory);
		for (int32_t m = berth_n_heuristics; m < berth_n_methods(); m++)
			run_method(&c, &x, seed, berth_method_at(m), memory, &n);
		berth_arena_free(&c.mem);
		berth_arena_free(&c.tmp);
	}
}

/* Solvers take longer too, and what runs in a process of its own. */
static bool is_slow(const berth_method *m)
{
	static const char *const slow[] = {
		"branch-and-bound", "milp", "ip", "dp", "metis", "scotch"};
	for (size_t i = 0; i < sizeof slow / sizeof *slow; i++)
		if (strcmp(m->name, slow[i]) == 0)
			return true;
	return false;
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
			fail_msg("seed %lld: no placement keeps the rules, and that was not found out",
			         (long long)seed);
		}
		for (int32_t m = 0; m < berth_n_heuristics && m < MOST_METHODS; m++)
			if (seed % 50 == 0 || !is_slow(berth_heuristics[m]))
				run_method(&c, &x, seed, berth_heuristics[m], memory, &n[m]);
		berth_arena_free(&c.mem);
		berth_arena_free(&c.tmp);
	}
	print_message("%lld instances with a solution, %lld without, %lld proven so from the rules\n",
	              (long long)solvable, (long long)unsolvable, (long long)proven);
	for (int32_t m = 0; m < berth_n_heuristics && m < MOST_METHODS; m++) {
		print_message("%-16s answered %6lld, not feasible %5lld, missed a solution %5lld\n",
		              berth_heuristics[m]->name, (long long)n[m].answered, (long long)n[m].infeasible,
		              (long long)n[m].missed);
		assert_true(n[m].missed * 100 <= solvable);
	}
	assert_true(solvable > n_instances / 4 && unsolvable > n_instances / 20);
}

/* ---- infeasible subsets ---- */

/* Take one rule off the instance. */
static void give_way(instance *x, const berth_rule *r)
{
	switch (r->kind) {
	case BERTH_VIOLATION_CANNOT_RUN: memset(x->cannot[r->op], 0, sizeof x->cannot[r->op]); return;
	case BERTH_VIOLATION_PIN: x->pin[r->op] = -1; return;
	case BERTH_VIOLATION_FORBID: x->forbid[r->op] = -1; return;
	case BERTH_VIOLATION_CONTIGUITY: x->contiguous[r->dev] = false; return;
	case BERTH_VIOLATION_MEMORY: x->memory[r->dev] = -1; return;
	case BERTH_VIOLATION_POOL: x->pool_bytes[r->pool] = -1; return;
	default: fail_msg("rule %d is not taken off so", r->kind);
	}
}

/* Groups go by their names, which end in their number. */
static void drop_group(const compiled *c, instance *x, const berth_rule *r)
{
	bool coloc = r->kind == BERTH_VIOLATION_COLOCATION;
	int32_t group = (coloc ? c->g.coloc_name : c->g.sep_name)[r->group][1] - '0',
		*op_group = coloc ? x->coloc : x->sep;
	for (int32_t op = 0; op < x->n_ops; op++)
		if (op_group[op] == group)
			op_group[op] = -1;
}

static void take_off(const compiled *c, instance *x, const berth_rule *r)
{
	if (r->kind == BERTH_VIOLATION_COLOCATION || r->kind == BERTH_VIOLATION_SEPARATION)
		drop_group(c, x, r);
	else
		give_way(x, r);
}

static bool same_rule(const berth_rule *a, const berth_rule *b)
{
	return a->kind == b->kind && a->op == b->op && a->dev == b->dev && a->group == b->group &&
	       a->pool == b->pool;
}

/* x with the rules of the infeasible subset alone, less one of them (-1: none). */
static instance only_subset(const compiled *c, const instance *x, const berth_infeasible_subset *f,
                              int32_t less)
{
	instance y = *x;
	berth_rule all[256];
	int32_t n = 0;
	for (int32_t op = 0; op < x->n_ops; op++) {
		all[n++] = (berth_rule){BERTH_VIOLATION_CANNOT_RUN, op, -1, -1, -1, -1};
		all[n++] = (berth_rule){BERTH_VIOLATION_PIN, op, x->pin[op], -1, -1, -1};
		all[n++] = (berth_rule){BERTH_VIOLATION_FORBID, op, x->forbid[op], -1, -1, -1};
	}
	for (int32_t d = 0; d < x->n_devs; d++) {
		all[n++] = (berth_rule){BERTH_VIOLATION_CONTIGUITY, -1, d, -1, -1, -1};
		all[n++] = (berth_rule){BERTH_VIOLATION_MEMORY, -1, d, -1, -1, -1};
	}
	for (int32_t q = 0; q < x->n_pools; q++)
		all[n++] = (berth_rule){BERTH_VIOLATION_POOL, -1, -1, -1, -1, q};
	for (int32_t i = 0; i < c->g.n_coloc_names; i++)
		all[n++] = (berth_rule){BERTH_VIOLATION_COLOCATION, -1, -1, i, -1, -1};
	for (int32_t i = 0; i < c->g.n_seps; i++)
		all[n++] = (berth_rule){BERTH_VIOLATION_SEPARATION, -1, -1, i, -1, -1};
	for (int32_t i = 0; i < n; i++) {
		bool in = false;
		for (int32_t k = 0; k < f->n; k++)
			in |= k != less && same_rule(&f->rule[k], &all[i]);
		if (!in)
			take_off(c, &y, &all[i]);
	}
	return y;
}

static bool is_solvable(const instance *x)
{
	compiled c = {0};
	bool rules, memory;
	compile(&c, x);
	exists(&c, x, &rules, &memory);
	berth_arena_free(&c.mem);
	berth_arena_free(&c.tmp);
	return memory;
}

static void check_subset(const compiled *c, const instance *x, uint64_t seed,
                           const berth_infeasible_subset *f)
{
	instance y = only_subset(c, x, f, -1);
	bool memory = false;
	if (is_solvable(&y))
		fail_msg("seed %lld: the rules of the infeasible subset can be kept", (long long)seed);
	for (int32_t k = 0; k < f->n; k++)
		memory |= f->rule[k].kind == BERTH_VIOLATION_MEMORY ||
		          f->rule[k].kind == BERTH_VIOLATION_POOL;
	for (int32_t k = 0; k < f->n && !memory; k++) { /* proofs from rules are complete */
		y = only_subset(c, x, f, k);
		if (!is_solvable(&y))
			fail_msg("seed %lld: rule %d of the subset is not needed", (long long)seed, k);
	}
}

/* By the system's rule, or with an order that a method makes, which can need less memory. */
static bool is_solved(const instance *x)
{
	compiled c = {0};
	bool solved = is_solvable(x);
	compile(&c, x);
	for (int32_t m = 0; m < berth_n_heuristics && !solved; m++) {
		berth_search_cfg cfg = berth_search_cfg_default();
		berth_solution r;
		berth_err err;
		cfg.evaluations = 300;
		berth_status st =
			berth_solve(&c.p, &c.bounds, berth_heuristics[m], &cfg, &c.mem, &c.tmp, &r, &err);
		solved = st == BERTH_OK && r.feasible;
	}
	berth_arena_free(&c.mem);
	berth_arena_free(&c.tmp);
	return solved;
}

static int64_t *bytes_of(instance *x, const berth_rule *r)
{
	return r->kind == BERTH_VIOLATION_POOL ? &x->pool_bytes[r->pool] : &x->memory[r->dev];
}

static void check_relaxations(const compiled *c, const instance *x, uint64_t seed,
                              const berth_relaxations *list)
{
	instance together = *x;
	for (int32_t i = 0; i < list->n; i++) {
		const berth_relaxation *r = &list->item[i];
		instance y = *x;
		if (r->add_bytes >= 0) {
			*bytes_of(&y, &r->rule) += r->add_bytes;
			*bytes_of(&together, &r->rule) += r->add_bytes;
		} else {
			take_off(c, &y, &r->rule);
			take_off(c, &together, &r->rule);
		}
		if (!list->together && !is_solved(&y))
			fail_msg("seed %lld: it does not fit with %s", (long long)seed, r->text);
		y = *x;
		if (r->least && r->add_bytes > 0) {
			*bytes_of(&y, &r->rule) += r->add_bytes - 1;
			if (is_solvable(&y))
				fail_msg("seed %lld: less than %s is enough", (long long)seed, r->text);
		}
	}
	if (list->together && !is_solved(&together))
		fail_msg("seed %lld: it does not fit with all of the relaxations", (long long)seed);
}

/* An operator that no device runs: nothing that is given up helps. */
static bool runs_nowhere(const instance *x)
{
	for (int32_t op = 0; op < x->n_ops; op++) {
		bool any = false;
		for (int32_t d = 0; d < x->n_devs; d++)
			any |= !x->cannot[op][d];
		if (!any)
			return true;
	}
	return false;
}

/* Stopped at any time, what is called infeasible is so, and nothing is called the smallest that was not
 * compared. Returns how often a subset was cut short. */
static int cut_everywhere(const compiled *c, const instance *x, uint64_t seed, const berth_objective *o)
{
	int cut = 0;
	for (double s = 1e-6;; s *= 1.5) {
		atomic_int cancel = s == 1e-6;
		berth_arena mem = {0}, tmp = {0};
		berth_patience until = {&cancel, berth_wall_seconds() + s};
		berth_infeasible_subset f;
		berth_relaxations list;
		berth_err err;
		assert_ok(berth_infeasible_subset_find(&c->p, o, &until, &mem, &tmp, &f, &err), &err);
		assert_true(!(f.cut_short && f.smallest && f.n > 1) && (f.proven || f.n == 0));
		if (f.proven && f.cut_short) {
			instance y = only_subset(c, x, &f, -1);
			if (is_solvable(&y))
				fail_msg("seed %lld: the rules of the subset cut short after %g s can be "
				         "kept",
				         (long long)seed, s);
			assert_ok(berth_relax(&c->p, o, &f, NULL, NULL, &until, &mem, &tmp, &list, &err),
			          &err);
			assert_int_equal(list.n, 0);
			cut++;
		}
		assert_true(!cancel || (f.cut_short && !f.proven));
		berth_arena_free(&mem);
		berth_arena_free(&tmp);
		if (!f.cut_short)
			return cut;
	}
}

static void infeasible_subsets_are_real_and_minimal(void **state)
{
	int32_t proven = 0, smallest = 0, relaxed = 0, unsolvable = 0, hopeless = 0, cut = 0;
	(void)state;
	for (uint64_t seed = 1; seed <= 1500; seed++) {
		instance x = draw(seed);
		compiled c = {0};
		bool rules, memory;
		berth_infeasible_subset f;
		berth_relaxations list;
		berth_err err;
		berth_objective latency = {.text = ""};
		if (x.n_ops > 7)
			continue;
		compile(&c, &x);
		exists(&c, &x, &rules, &memory);
		assert_ok(berth_infeasible_subset_find(&c.p, &latency, NULL, &c.mem, &c.tmp, &f, &err), &err);
		if (f.proven && memory)
			fail_msg("seed %lld: an infeasible subset in what can be solved", (long long)seed);
		if (!f.proven && !rules)
			fail_msg("seed %lld: no infeasible subset found among rules that cannot be kept",
			         (long long)seed);
		unsolvable += !memory;
		if (f.proven) {
			proven++;
			smallest += f.smallest;
			check_subset(&c, &x, seed, &f);
			assert_false(f.cut_short);
			cut += proven % 8 == 0 ? cut_everywhere(&c, &x, seed, &latency) : 0;
			assert_ok(berth_relax(&c.p, &latency, &f, NULL, NULL, NULL, &c.mem, &c.tmp, &list,
			                      &err),
			          &err);
			check_relaxations(&c, &x, seed, &list);
			relaxed += list.n > 0;
			hopeless += runs_nowhere(&x);
			if (!list.n && !runs_nowhere(&x))
				fail_msg("seed %lld: no relaxation", (long long)seed);
		}
		berth_arena_free(&c.mem);
		berth_arena_free(&c.tmp);
	}
	assert_true(cut > 0);
	print_message("%d of %d without a solution proven, %d with the smallest subset, %d with a "
	              "relaxation, %d with an operator that runs nowhere\n",
	              proven, unsolvable, smallest, relaxed, hopeless);
	assert_true(proven * 10 >= unsolvable * 9 && smallest * 10 >= proven * 9 &&
	            relaxed == proven - hopeless);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(every_method_keeps_the_rules),
	                                   cmocka_unit_test(learned_methods_keep_the_rules),
	                                   cmocka_unit_test(infeasible_subsets_are_real_and_minimal)};
	if (argc > 1)
		n_instances = atoll(argv[1]);
	if (argc > 2)
		first_seed = atoll(argv[2]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
