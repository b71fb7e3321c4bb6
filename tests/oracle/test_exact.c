/* The exact methods against trying everything: all placements under the system's rule, and all placements
 * with all orders, each scored by the reference simulator, on random instances of everything that the
 * formats can say. Every bound must hold for each of these placements. */
#include "bounds.h"
#include "bounds_parts.h"
#include "exact_search.h"
#include "instance.h"
#include "lp.h"
#include "machines.h"
#include "methods.h"
#include "search.h"
#include "small_problem.h"
#include "solve.h"
#include "support.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPS = 8 };

typedef struct world {
	berth_arena mem, tmp;
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_eval eval;
	berth_search_cfg cfg;
	/* the best of all, by metric; INFINITY: nothing is feasible */
	double rule[BERTH_N_METRICS], any[BERTH_N_METRICS];
	int64_t tried;
} world;

static void open_instance(world *w, uint64_t seed, int max_ops, int max_devices, bool pooled)
{
	berth_err err;
	instance in;
	memset(w, 0, sizeof *w);
	(pooled ? instance_make_pooled : instance_make)(seed, max_ops, max_devices, &in);
	read_both(in.graph, in.system, &w->mem, &w->tmp, &w->g, &w->s);
	assert_ok(berth_problem_new(&w->g, &w->s, &w->mem, &w->tmp, &w->p, &err), &err);
	w->cfg = berth_search_cfg_default();
	assert_ok(berth_eval_new(&w->p, &w->cfg.objective, &w->mem, &w->eval, &err), &err);
	berth_sim_want_peaks(w->eval.sim, true);
	instance_free(&in);
	for (int m = 0; m < BERTH_N_METRICS; m++)
		w->rule[m] = w->any[m] = INFINITY;
}

static void open_world(world *w, uint64_t seed, int max_ops, int max_devices)
{
	open_instance(w, seed, max_ops, max_devices, false);
}

static void close_world(world *w)
{
	berth_arena_free(&w->mem);
	berth_arena_free(&w->tmp);
}

static bool is_legal(const world *w, const int32_t *op_dev)
{
	for (int32_t op = 0; op < w->p.n_ops; op++)
		if (!berth_op_legal(&w->p, op, op_dev[op]) ||
		    op_dev[op] != op_dev[w->p.coloc_op[w->p.coloc_off[w->p.op_coloc[op]]]])
			return false;
	return true;
}

static void try_one(world *w, const int32_t *op_dev, const int32_t *order)
{
	w->tried++;
	if (!berth_score_feasible(berth_eval_run(&w->eval, op_dev, order)))
		return;
	berth_sim_result r;
	berth_sim_run(w->eval.sim, op_dev, order, &r);
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		double v = berth_metrics[m].value(&r);
		if (!order)
			w->rule[m] = fmin(w->rule[m], v);
		w->any[m] = fmin(w->any[m], v);
	}
}

static void try_orders(world *w, const int32_t *op_dev, int32_t *order, int32_t n, uint32_t done)
{
	if (n == w->p.n_ops)
		try_one(w, op_dev, order);
	for (int32_t op = 0; op < w->p.n_ops; op++) {
		bool ready = !(done >> op & 1);
		for (int32_t i = w->g.op_in_off[op]; i < w->g.op_in_off[op + 1]; i++)
			ready &= done >> w->g.tensor_producer[w->g.in_tensor[i]] & 1;
		if (!ready)
			continue;
		order[n] = op;
		try_orders(w, op_dev, order, n + 1, done | 1u << op);
	}
}

static void try_all(world *w)
{
	int32_t op_dev[MAX_OPS] = {0}, order[MAX_OPS];
	for (;;) {
		if (is_legal(w, op_dev)) {
			if (w->s.order != BERTH_ORDER_GIVEN)
				try_one(w, op_dev, NULL);
			try_orders(w, op_dev, order, 0, 0);
		}
		int32_t k = 0;
		while (k < w->p.n_ops && ++op_dev[k] == w->p.n_devs)
			op_dev[k++] = 0;
		if (k == w->p.n_ops)
			return;
	}
}

static void run_method(world *w, const char *name, berth_solution *r)
{
	berth_err err;
	const berth_method *m;
	berth_bounds b;
	assert_ok(berth_bounds_new(&w->p, &w->tmp, &b, &err), &err);
	assert_ok(berth_method_find(name, &m, &err), &err);
	assert_ok(berth_solve(&w->p, &b, m, &w->cfg, &w->mem, &w->tmp, r, &err), &err);
}

static void branch_and_bound_is_optimal(void **state)
{
	int solved = 0, improved = 0;
	const int n = support_sampled(BERTH_DEBUG ? 300 : 4000, BERTH_DEBUG ? 100 : 1000, "instances");
	(void)state;
	for (uint64_t seed = 0; seed < (uint64_t)n; seed++) {
		world w;
		berth_solution r;
		open_instance(&w, seed, seed % 100 == 0 ? 6 : seed % 5 == 0 ? 5 : 4, 3, seed % 4 == 3);
		try_all(&w);
		run_method(&w, "branch-and-bound", &r);
		double best = w.any[BERTH_LATENCY];
		if (isfinite(best) != r.feasible ||
		    (r.feasible && (r.value != best || strcmp(r.status, "optimal") != 0)))
			fail_msg("seed %d: branch and bound finds %.12g (%s, bound %.12g), trying all %.12g",
			         (int)seed, r.value, r.status, r.lower_bound, best);
		solved += r.feasible;
		improved += best < w.rule[BERTH_LATENCY];
		close_world(&w);
	}
	assert_true(solved > n * 3 / 8);
	assert_true(improved > n / 300); /* orders of their own matter, or the test is weak */
}

/* Where channels serve what comes first in the program, a placement without an order of its own runs as it
 * does with none of all orders. What is called optimal is so over these placements, too, and a bound is. */
static void placements_without_an_order_count(void **state)
{
	int optimal = 0, no_order = 0;
	(void)state;
	for (uint64_t seed = 0; seed < 300; seed++) {
		world w;
		berth_solution r;
		open_instance(&w, seed, 5, 3, false);
		w.s.contention = true;
		w.s.channel_order = BERTH_CHANNELS_PROGRAM;
		assert_ok(berth_eval_new(&w.p, &w.cfg.objective, &w.mem, &w.eval, &(berth_err){0}),
		          &(berth_err){0});
		try_all(&w);
		run_method(&w, "branch-and-bound", &r);
		double best = w.any[BERTH_LATENCY];
		optimal += strcmp(r.status, "optimal") == 0;
		no_order += strcmp(r.status, "optimal") != 0;
		if (isfinite(best) && (r.lower_bound > best * (1 + 1e-12) ||
		                       (strcmp(r.status, "optimal") == 0 && r.value != best)))
			fail_msg("seed %d: branch and bound says %.12g (%s, bound %.12g), trying all %.12g",
			         (int)seed, r.value, r.status, r.lower_bound, best);
		close_world(&w);
	}
	print_message("%d optimal, %d not\n", optimal, no_order);
	assert_true(optimal > 0 && no_order > 0);
}

static int64_t simulated_ns(void *ctx, const int32_t *dev, const int32_t *order)
{
	berth_sim_result r;
	berth_sim_run(((world *)ctx)->eval.sim, dev, order, &r);
	return r.latency_ns;
}

/* Two devices alike but for the memory pool of one of them are no mirror images: what the pool slows down
 * goes to the other. */
static void pools_tell_devices_apart(void **state)
{
	static const char *const graph =
		"{\"format\":\"berth-graph\",\"version\":1,\"ops\":[{\"name\":\"x\",\"read_bytes\":1000,"
	        "\"time_s\":{"
		"\"c\":1e-6}},{\"name\":\"y\",\"read_bytes\":1000,\"time_s\":{\"a\":1e-6,\"b\":1e-6}}]}";
	static const char *const system = "{\"format\":\"berth-system\",\"version\":1,\"devices\":[{\"name\":"
	                                  "\"c\"},{\"name\":\"a\"},{\"name\":"
					  "\"b\"}],\"links\":[{\"from\":\"c\",\"to\":\"a\",\"bandwidth\":1e9,"
	                                  "\"both_ways\":true},{\"from\":\"c\","
					  "\"to\":\"b\",\"bandwidth\":1e9,\"both_ways\":true},{\"from\":"
	                                  "\"a\",\"to\":\"b\",\"bandwidth\":1e9,"
					  "\"both_ways\":true}],\"memory_pools\":[{\"name\":\"p\","
	                                  "\"bandwidth\":1e9,\"devices\":[\"c\",\"a\"]}]}";
	const int32_t ops[] = {0, 1};
	berth_exact_search *x;
	berth_exact_search_result r;
	berth_err err;
	world w = {.cfg = berth_search_cfg_default()};
	(void)state;
	read_both(graph, system, &w.mem, &w.tmp, &w.g, &w.s);
	assert_ok(berth_problem_new(&w.g, &w.s, &w.mem, &w.tmp, &w.p, &err), &err);
	assert_ok(berth_eval_new(&w.p, &w.cfg.objective, &w.mem, &w.eval, &err), &err);
	assert_ok(berth_exact_search_new(&w.p, 2, ops, &w.mem, &x, &err), &err);
	berth_exact_search_cfg cfg = {BERTH_EXACT_SEARCH_NEVER, 0, simulated_ns, NULL, &w};
	berth_exact_search_run(x, &cfg, &r);
	assert_true(r.complete);
	assert_int_equal(r.best_ns, 1000); /* 2000 where both go through the pool */
	close_world(&w);
}

/* A larger graph than it can do is grouped: an answer, and no proof but by the bound of all placements. */
static void groups_prove_nothing(void **state)
{
	static const char *const names[] = {"branch-and-bound", "milp"};
	(void)state;
	const int enough = BERTH_DEBUG ? 4 : 8;
	for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
		int answers = 0;
		for (uint64_t seed = 0; seed < 200 && answers < enough; seed++) {
			world w;
			berth_solution r;
			if (k == 1 && !berth_lp_solver())
				break;
			open_world(&w, seed, 40, 3);
			w.cfg.nodes = 300;
			if (w.p.n_ops > 16) {
				run_method(&w, names[k], &r);
				answers += r.answered;
				assert_true(!r.feasible || r.value == r.lower_bound ||
				            strcmp(r.status, "limit") == 0);
			}
			close_world(&w);
		}
		assert_true(answers == enough || (k == 1 && !berth_lp_solver()));
	}
}

/* The model is a relaxation, so its bound holds for all placements and orders; where its answer meets it, it
 * is the best. */
static void milp_bounds_hold(void **state)
{
	int optimal = 0;
	const int n = support_sampled(BERTH_DEBUG ? 45 : 150, BERTH_DEBUG ? 15 : 45, "instances");
	(void)state;
	if (!berth_lp_solver())
		skip();
	for (uint64_t seed = 0; seed < (uint64_t)n; seed++) {
		world w;
		berth_solution r;
		open_instance(&w, seed, 4, 3, seed % 3 == 0);
		try_all(&w);
		run_method(&w, "milp", &r);
		double best = w.any[BERTH_LATENCY];
		if (isfinite(best)) {
			if (!(r.lower_bound <= best))
				fail_msg("seed %d: bound %.12g, best of all %.12g", (int)seed, r.lower_bound,
				         best);
			if (strcmp(r.status, "optimal") == 0) {
				optimal++;
				assert_near(r.value, best, 2e-6 * best);
			}
		}
		close_world(&w);
	}
	assert_true(optimal > n / 3);
}

/* The bound by windows alone, with all its work, and its certificate, which proves as much. Is it above that
 * of the paths? */
static bool hold_windows(world *w, uint64_t seed, const berth_bounds *fast)
{
	berth_bound_proof proof = {.mem = &w->mem};
	berth_bound_work all = {.left_ns = BERTH_BOUND_ALL, .proof = &proof};
	int64_t ns;
	berth_err err;
	assert_ok(berth_bounds_windows(&w->p, &all, &w->tmp, &ns, &err), &err);
	assert_true(w->p.n_ops < 3 || (proof.any && proof.best.bound_ns >= ns));
	assert_true(!proof.any || (double)proof.best.bound_ns / 1e9 <= w->any[BERTH_LATENCY]);
	if ((double)ns / 1e9 > w->any[BERTH_LATENCY])
		fail_msg("seed %d: windows tell %lld ns, best of all %.12g s", (int)seed, (long long)ns,
		         w->any[BERTH_LATENCY]);
	assert_true(w->p.n_ops < 3 || ns >= fast->ceft_ns);
	return ns > fast->ceft_ns;
}

/* No placement and order is better than any bound, for every metric; and the stronger bounds are above the
 * fast ones often enough. */
static void hold_bounds(uint64_t n_seeds, bool pooled)
{
	int stronger = 0, loaded = 0, cut = 0, closed = 0, peaks = 0, windows = 0, all = 0;
	for (uint64_t seed = 0; seed < n_seeds; seed++) {
		world w;
		berth_bounds fast, b;
		berth_err err;
		open_instance(&w, seed, seed % 50 == 0 ? 6 : seed % 5 == 0 ? 5 : 4, 3, pooled);
		try_all(&w);
		berth_bound_effort effort = {seed % 3 ? 5000 : 3, seed % 4 ? BERTH_BOUND_ALL : 1000000, true,
		                             true};
		assert_ok(berth_bounds_new(&w.p, &w.tmp, &fast, &err), &err);
		b = fast;
		assert_ok(berth_bounds_strengthen(&w.p, &effort, &w.tmp, &b, &err), &err);
		for (int m = 0; m < BERTH_N_METRICS && isfinite(w.any[BERTH_LATENCY]); m++) {
			if (isnan(b.value[m]))
				continue;
			if (!(b.value[m] <= w.any[m] && fast.value[m] <= b.value[m]))
				fail_msg("seed %d: %s bounds %.12g and %.12g, best of all %.12g", (int)seed,
				         berth_metrics[m].name, fast.value[m], b.value[m],
				         w.any[m]);
		}
		if (isfinite(w.any[BERTH_LATENCY])) {
			all++;
			closed += b.value[BERTH_LATENCY] == w.any[BERTH_LATENCY];
			peaks += b.value[BERTH_MEMORY] == w.any[BERTH_MEMORY];
			windows += hold_windows(&w, seed, &fast);
			stronger += b.latency_ns > fast.latency_ns;
			loaded += b.parts.load_s > fast.parts.load_s * (1 + 1e-6);
			cut += strcmp(b.kind, "auto") == 0;
			if (effort.work_ns == BERTH_BOUND_ALL)
				assert_string_equal(b.kind, "strong");
		}
		close_world(&w);
	}
	print_message(
		"%d instances, %d closed, %d stronger, %d by windows, %d for the load, %d cut; of the "
		"memory %d closed\n",
		all, closed, stronger, windows, loaded, cut, peaks);
	assert_true(all > (int)n_seeds / 3);
	assert_true(closed > all / 2);
	assert_true(peaks > all / 2);
	assert_true(stronger > (int)n_seeds / 150);
	assert_true(windows > (int)n_seeds / 150);
	assert_true(cut > (int)n_seeds / 150);
	assert_true(!berth_lp_solver() || loaded > (int)n_seeds / 150);
}

static void strong_bounds_hold(void **state)
{
	(void)state;
	/* sanitized, each solver takes long to load */
	int n = support_sampled(BERTH_DEBUG ? 300 : 3000, BERTH_DEBUG ? 75 : 750, "instances");
	hold_bounds((uint64_t)n, false);
}

static void strong_bounds_hold_with_pools(void **state)
{
	(void)state;
	int n = support_sampled(BERTH_DEBUG ? 150 : 1500, BERTH_DEBUG ? 40 : 400, "instances");
	hold_bounds((uint64_t)n, true);
}

static void strong_bounds_survive_failing_allocations(void **state)
{
	world w;
	berth_bounds fast;
	berth_err err;
	(void)state;
	for (uint64_t seed = 0;; seed++) {
		open_world(&w, seed, 40, 3);
		if (w.p.n_ops > 30 && berth_problem_feasible(&w.p, NULL) == BERTH_OK)
			break;
		close_world(&w);
	}
	assert_ok(berth_bounds_new(&w.p, &w.tmp, &fast, &err), &err);
	const int step = support_one_in(11, "failing allocations");
	for (long k = 0;; k += step) {
		berth_bound_effort effort = {100, BERTH_BOUND_ALL, true, true};
		failing_allocator f;
		berth_arena tmp;
		berth_bounds b = fast;
		failing_allocator_init(&f, k);
		berth_arena_init(&tmp, &f.hook);
		berth_status st = berth_bounds_strengthen(&w.p, &effort, &tmp, &b, &err);
		berth_arena_free(&tmp);
		assert_int_equal(f.live, 0);
		if (st == BERTH_OK) {
			assert_true(k > 2);
			break;
		}
		assert_int_equal(st, BERTH_ENOMEM);
		assert_true(b.latency_ns == fast.latency_ns);
	}
	close_world(&w);
}

/* ---- certificates ---- */

/* The k-th whole number of a document that stands outside of strings, and its end; NULL: there are fewer. */
static char *number_in(char *text, int k, char **end)
{
	bool quoted = false;
	for (char *at = text; *at; at++) {
		quoted ^= *at == '"';
		if (quoted || !((*at >= '0' && *at <= '9') || *at == '-'))
			continue;
		*end = at + strspn(at, "-0123456789");
		if (k-- == 0)
			return at;
		at = *end - 1;
	}
	return NULL;
}

/* The same document with one number changed, in mem. */
static const char *with_another_number(const char *text, berth_rng *rng, berth_arena *mem)
{
	char *copy = berth_arena_strdup(mem, text), *end;
	int n = 0;
	while (number_in(copy, n, &end))
		n++;
	char *at = number_in(copy, (int)berth_rng_below(rng, (uint32_t)n), &end);
	long long old = strtoll(at, NULL, 10), new = old;
	switch (berth_rng_below(rng, 5)) {
	case 0: new = old + 1; break;
	case 1: new = old - 1; break;
	case 2: new = 2 * old + 1; break;
	case 3: new = old / 2 - 1; break;
	default: new = (long long)berth_rng_below(rng, 1u << 30); break;
	}
	return berth_arena_printf(mem, "%.*s%lld%s", (int)(at - copy), copy, new, end);
}

typedef struct certificates {
	int made[BERTH_N_CERTIFICATES], whole, changed, refused;
} certificates;

/* Certificates with one number changed are refused, or prove what is so. */
static void change_numbers(const world *w, const char *text, int64_t best_ns, int times, berth_rng *rng,
                           berth_arena *mem, berth_arena *tmp, certificates *count)
{
	for (int k = 0; k < times; k++) {
		berth_err err = {0};
		berth_certificate c;
		int64_t ns;
		berth_arena_mark mark = berth_arena_get_mark(mem);
		const char *other = with_another_number(text, rng, mem);
		berth_status st = berth_certificate_parse("other", other, strlen(other), &w->p, mem, tmp, &c,
		                                          &err);
		if (st == BERTH_OK)
			st = berth_certificate_prove(&c, &w->p, tmp, &ns, &err);
		if (st == BERTH_OK && ns > best_ns)
			fail_msg("%lld ns are proven, the best is %lld ns, by %s", (long long)ns,
			         (long long)best_ns, other);
		if (st == BERTH_OK)
			st = berth_certificate_check(&c, &w->p, tmp, &err);
		assert_true(st == BERTH_OK || (st == BERTH_EFORMAT && err.msg[0]));
		count->changed++;
		count->refused += st != BERTH_OK;
		berth_arena_reset(mem, mark);
	}
}

/* What a certificate proves is written, read, checked, and not above the best of all placements. */
static void hold_certificate(world *w, bool load, uint64_t seed, certificates *count)
{
	double best = w->any[load ? BERTH_THROUGHPUT : BERTH_LATENCY];
	int64_t best_ns = isfinite(best) ? (int64_t)floor(best * 1e9 * (1 + 1e-12)) : 0, ns;
	berth_bound_proof proof = {.mem = &w->mem, .load = load, .nodes = 500};
	berth_bound_options o = {.bound = "strong", .evaluations = -1};
	berth_certificate again;
	berth_rng rng = berth_rng_seed(seed, 77);
	berth_err err;
	const char *text, *last;
	size_t len, n;
	if (!isfinite(best))
		return;
	assert_ok(berth_search_certify(&w->p, &o, load ? 0 : best_ns, &proof, &w->tmp, &err), &err);
	if (!proof.any)
		return;
	assert_true(proof.best.bound_ns <= best_ns);
	assert_ok(berth_certificate_write(&proof.best, &w->p, &w->mem, &text, &len, &err), &err);
	assert_ok(berth_certificate_parse("c", text, len, &w->p, &w->mem, &w->tmp, &again, &err), &err);
	assert_ok(berth_certificate_check(&again, &w->p, &w->tmp, &err), &err);
	assert_ok(berth_certificate_prove(&again, &w->p, &w->tmp, &ns, &err), &err);
	assert_true(ns == proof.best.bound_ns);
	assert_ok(berth_certificate_write(&again, &w->p, &w->mem, &last, &n, &err), &err);
	assert_true(n == len && memcmp(text, last, n) == 0);
	again.bound_ns = ns + 1;
	if (again.kind != BERTH_CERTIFICATE_BLOCKS || ns == 0 || again.n_claims == 0)
		assert_int_equal(berth_certificate_check(&again, &w->p, &w->tmp, &err), BERTH_EFORMAT);
	count->made[again.kind]++;
	count->whole += ns == best_ns;
	change_numbers(w, text, best_ns, 4, &rng, &w->mem, &w->tmp, count);
}

/* No claim above the best of all placements and orders is closed by machines. Is that best itself? */
static bool hold_machines(world *w, uint64_t seed)
{
	berth_machines m;
	berth_err err;
	int64_t best_ns = llround(w->any[BERTH_LATENCY] * 1e9);
	assert_ok(berth_machines_new(&w->p, &w->tmp, &m, &err), &err);
	assert_int_equal(best_ns % berth_common_divisor_ns(&w->p), 0);
	for (int64_t above = 1; above <= best_ns + 1; above *= 2)
		if (berth_machines_full(&m, best_ns + above))
			fail_msg("seed %d: %lld ns are proven, the best is %lld ns", (int)seed,
			         (long long)(best_ns + above), (long long)best_ns);
	return berth_machines_full(&m, best_ns);
}

static void machines_hold(void **state)
{
	int all = 0, closed = 0, units = 0;
	(void)state;
	for (uint64_t seed = 0; seed < (BERTH_DEBUG ? 150 : 600); seed++) {
		world w;
		open_instance(&w, seed, seed % 5 == 0 ? 5 : 4, 3, seed % 3 == 0);
		try_all(&w);
		if (isfinite(w.any[BERTH_LATENCY])) {
			all++;
			closed += hold_machines(&w, seed);
			units += berth_common_divisor_ns(&w.p) > 1;
		}
		close_world(&w);
	}
	print_message("%d instances, %d closed, %d with a common divisor\n", all, closed, units);
	assert_true(closed > all / 4 && units > 0);
}

/* ---- forged windows ---- */

enum { MOST_WINDOWS = MAX_OPS * 3 + 1, FORGED_PRICES = 6, TRIES = 6 };

/* One who makes windows with whatever ends and prices, and claims all that the checker takes. */
typedef struct forger {
	const world *w;
	berth_rng rng;
	berth_arena tmp;
	berth_window_claim window[MOST_WINDOWS];
	int32_t prices[MOST_WINDOWS][3];
	int64_t price[FORGED_PRICES * 6]; /* rows of devices and pools */
	int32_t n;
	int64_t paths_ns;
} forger;

static int64_t forged(forger *f, int32_t n)
{
	int64_t ns = -1;
	berth_certificate c = {.kind = BERTH_CERTIFICATE_WINDOWS,
	                       .window = f->window,
	                       .n_windows = n,
	                       .price_vector = f->price,
	                       .n_prices = FORGED_PRICES};
	berth_status st = berth_certificate_prove(&c, &f->w->p, &f->tmp, &ns, NULL);
	assert_true(st == BERTH_OK || st == BERTH_EFORMAT);
	return st == BERTH_OK ? ns : -1;
}

/* The most that is taken for the window at hand, with prices by chance. */
static void push_window(forger *f, int32_t last, int32_t to, int32_t first)
{
	berth_window_claim *k = &f->window[f->n];
	*k = (berth_window_claim){first, last, to, 0, f->prices[f->n]};
	for (int32_t d = 0; d < 3; d++)
		k->prices[d] = (int32_t)berth_rng_below(&f->rng, FORGED_PRICES + 1) - 1;
	int64_t low = 0, high = 1;
	for (; high < INT64_C(1) << 40 && (k->bound_ns = high, forged(f, f->n + 1) >= 0); high *= 4)
		low = high;
	while (low + 1 < high) {
		k->bound_ns = low + (high - low) / 2;
		*(forged(f, f->n + 1) >= 0 ? &low : &high) = k->bound_ns;
	}
	k->bound_ns = low;
}

static void forge_end(forger *f, int32_t last, int32_t to)
{
	berth_window_claim best = {0};
	int32_t prices[3] = {0};
	for (int t = 0; t < TRIES; t++) {
		push_window(f, last, to, (int32_t)berth_rng_below(&f->rng, (uint32_t)f->w->p.n_ops + 1) - 1);
		if (f->window[f->n].bound_ns <= best.bound_ns)
			continue;
		best = f->window[f->n];
		memcpy(prices, f->prices[f->n], sizeof prices);
	}
	if (best.bound_ns == 0)
		return;
	memcpy(f->prices[f->n], prices, sizeof prices);
	f->window[f->n++] = best;
}

static void forge(forger *f)
{
	const world *w = f->w;
	int32_t all = w->p.n_devs + w->p.n_pools;
	for (int32_t k = 0; k < FORGED_PRICES * all; k++)
		f->price[k] = berth_rng_below(&f->rng, 3) ? berth_rng_below(&f->rng, 1000) : 0;
	f->paths_ns = forged(f, 0);
	for (int32_t z = 0; z < w->p.n_ops; z++)
		for (int32_t d = 0; d < w->p.n_devs; d++)
			forge_end(f, w->g.topo_op[z], d);
	forge_end(f, -1, 0);
}

/* However windows are put together, what is proven by them is so. */
static void forged_windows_prove_nothing_wrong(void **state)
{
	int all = 0, raised = 0, whole = 0;
	(void)state;
	for (uint64_t seed = 0; seed < (BERTH_DEBUG ? 150 : 600); seed++) {
		world w;
		forger f = {.w = &w, .rng = berth_rng_seed(seed, 78)};
		open_instance(&w, seed, 5, 3, seed % 3 == 0);
		try_all(&w);
		double best = w.any[BERTH_LATENCY];
		if (isfinite(best)) {
			forge(&f);
			int64_t ns = forged(&f, f.n), best_ns = llround(best * 1e9);
			if (ns > best_ns)
				fail_msg("seed %d: %lld ns are proven, the best is %lld ns", (int)seed,
				         (long long)ns, (long long)best_ns);
			all++;
			raised += ns > f.paths_ns;
			whole += ns == best_ns;
		}
		berth_arena_free(&f.tmp);
		close_world(&w);
	}
	print_message("%d instances; %d raised above their paths, %d to the best\n", all, raised, whole);
	assert_true(raised > all / 20 && whole > all / 4);
}

static void certificates_hold(void **state)
{
	certificates count = {0};
	int all = 0;
	(void)state;
	const int n = support_sampled(BERTH_DEBUG ? 100 : 300, BERTH_DEBUG ? 40 : 150, "instances");
	for (uint64_t seed = 0; seed < (uint64_t)n; seed++) {
		world w;
		open_instance(&w, seed, seed % 5 == 0 ? 5 : 4, 3, seed % 3 == 0);
		try_all(&w);
		hold_certificate(&w, false, seed, &count);
		hold_certificate(&w, true, seed, &count);
		all += isfinite(w.any[BERTH_LATENCY]);
		close_world(&w);
	}
	print_message("%d instances; path %d, load %d, relaxation %d, blocks %d, windows %d, machines %d; "
	              "%d are the best; of %d changed %d are refused\n",
	              all, count.made[0], count.made[1], count.made[2], count.made[3], count.made[4],
	              count.made[5], count.whole, count.changed, count.refused);
	for (int k = 1; k < BERTH_N_CERTIFICATES; k++)
		assert_true(count.made[k] > 0 || k == BERTH_CERTIFICATE_MACHINES || /* machines_hold */
		            (k == BERTH_CERTIFICATE_RELAXATION && !berth_lp_solver()));
	assert_true(count.whole > all / 2);
	assert_true(count.changed >= 10 * n / 3);
	assert_true(count.refused > count.changed / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branch_and_bound_is_optimal),
		cmocka_unit_test(placements_without_an_order_count),
		cmocka_unit_test(pools_tell_devices_apart),
		cmocka_unit_test(groups_prove_nothing),
		cmocka_unit_test(milp_bounds_hold),
		cmocka_unit_test(strong_bounds_hold),
		cmocka_unit_test(strong_bounds_hold_with_pools),
		cmocka_unit_test(strong_bounds_survive_failing_allocations),
		cmocka_unit_test(certificates_hold),
		cmocka_unit_test(machines_hold),
		cmocka_unit_test(forged_windows_prove_nothing_wrong),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
