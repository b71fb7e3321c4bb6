/* See differential_checks.h. */
#include "differential_checks.h"

#include "bounds.h"
#include "certificate.h"
#include "check.h"
#include "compare.h"
#include "cost_model.h"
#include "engine_rules.h"
#include "explain.h"
#include "explain_op.h"
#include "exporters.h"
#include "granularity.h"
#include "graph_format.h"
#include "importers.h"
#include "incremental.h"
#include "infeasible_subset.h"
#include "methods.h"
#include "oracle.h"
#include "replicas.h"
#include "solve.h"
#include "system_change.h"
#include "system_json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_BRUTE_OPS = 5, MAX_PLACEMENTS = 250, MAX_ORDERS = 30 };

/* Ends the check with a text where cond does not hold. */
#define HOLD(c, cond, ...)                                                                                   \
	do {                                                                                                 \
		if (!(cond))                                                                                 \
			return berth_arena_printf(&(c)->mem, __VA_ARGS__);                                   \
	} while (0)

/* What cannot fail but for want of memory. */
static void done(berth_status st)
{
	if (st != BERTH_OK)
		abort();
}

static void *room(differential_case *c, int32_t n, size_t size)
{
	void *p = berth_arena_alloc(&c->mem, (size_t)n + 1, size);
	if (!p)
		abort();
	return p;
}

bool differential_open(differential_case *c, const char *graph, const char *system, const char *placement,
                       uint64_t seed)
{
	*c = (differential_case){.graph = graph, .system = system, .placement = placement, .seed = seed};
	return berth_graph_parse_json("graph", graph, strlen(graph), &c->mem, &c->tmp, &c->g, NULL) ==
	               BERTH_OK &&
	       berth_system_parse_json("system", system, strlen(system), &c->mem, &c->tmp, &c->s, NULL) ==
	               BERTH_OK &&
	       berth_placement_parse_json("plan", placement, strlen(placement), &c->g, &c->s, &c->mem,
	                                  &c->tmp, &c->pl, NULL, NULL) == BERTH_OK &&
	       berth_problem_new(&c->g, &c->s, &c->mem, &c->tmp, &c->p, NULL) == BERTH_OK;
}

void differential_close(differential_case *c)
{
	berth_arena_free(&c->mem);
	berth_arena_free(&c->tmp);
}

static bool near(double a, double b)
{
	return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= 1e-12 * fabs(b);
}

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

/* ---- draws ---- */

static int32_t below(berth_rng *r, int32_t n)
{
	return n > 0 ? (int32_t)berth_rng_below(r, (uint32_t)n) : 0;
}

/* A placement that runs and keeps pins, forbidden devices and colocation; false: none was found. */
static bool draw_legal(const differential_case *c, berth_rng *r, int32_t *op_dev)
{
	const berth_problem *p = &c->p;
	for (int32_t k = 0; k < p->n_colocs; k++) {
		int32_t from = p->coloc_off[k], d = below(r, p->n_devs), tries = 0;
		for (; tries < p->n_devs; tries++, d = (d + 1) % p->n_devs) {
			bool legal = true;
			for (int32_t i = from; i < p->coloc_off[k + 1]; i++)
				legal = legal && berth_op_legal(p, p->coloc_op[i], d);
			if (legal)
				break;
		}
		if (tries == p->n_devs)
			return false;
		for (int32_t i = from; i < p->coloc_off[k + 1]; i++)
			op_dev[p->coloc_op[i]] = d;
	}
	return true;
}

/* A topological order. */
static void draw_order(const differential_case *c, berth_rng *r, int32_t *order)
{
	const berth_graph *g = &c->g;
	bool placed[64] = {false};
	for (int32_t n = 0; n < g->n_ops; n++) {
		int32_t seen = 0, next = -1;
		for (int32_t op = 0; op < g->n_ops; op++) {
			bool ready = !placed[op];
			for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++)
				ready = ready && placed[g->tensor_producer[g->in_tensor[i]]];
			if (ready && below(r, ++seen) == 0)
				next = op;
		}
		placed[next] = true;
		order[n] = next;
	}
}

/* Latency, another metric, or a sum of two, perhaps under a limit that the value `seen` is near to. */
static bool draw_objective(const differential_case *c, berth_rng *r, const double seen[BERTH_N_METRICS],
                           berth_objective *out)
{
	char text[200];
	int a = below(r, BERTH_N_METRICS), b = below(r, BERTH_N_METRICS), m = below(r, BERTH_N_METRICS);
	int n = below(r, 2) ? snprintf(text, sizeof text, "%s", berth_metrics[a].name)
	                    : snprintf(text, sizeof text, "%g*%s+%g*%s", 0.25 * (1 + below(r, 8)),
	                               berth_metrics[a].name, 0.5 * (1 + below(r, 4)), berth_metrics[b].name);
	double limit = seen[m] * (0.5 + 0.25 * below(r, 5));
	if (below(r, 2) && limit > 0 && isfinite(limit))
		snprintf(text + n, sizeof text - (size_t)n, ":%s%s%.17g", berth_metrics[m].name,
		         berth_metrics[m].per ? ">=" : "<=", berth_metrics[m].per ? 1 / limit : limit);
	return berth_objective_parse(text, out, NULL) == BERTH_OK &&
	       berth_objective_check(out, &c->p, NULL) == BERTH_OK;
}

static const int32_t *own_order(const differential_case *c)
{
	return c->pl.order ? c->pl.order : c->s.order == BERTH_ORDER_GIVEN ? c->g.topo_op : NULL;
}

/* ---- the simulator against the oracle ---- */

static const char *compare_peaks(differential_case *c, const berth_sim *sim, const oracle_result *o,
                                 int64_t said)
{
	int64_t peak = 0;
	for (int32_t d = 0; d < c->s.n_devs; d++) {
		int64_t own = o->device[d].peak_memory_bytes;
		HOLD(c, berth_sim_last(sim).peak_bytes[d] == own, "peak of device %d: %lld, oracle %lld", d,
		     (long long)berth_sim_last(sim).peak_bytes[d], (long long)own);
		peak = own > peak ? own : peak;
	}
	for (int32_t q = 0; q < c->s.n_pools; q++) {
		int64_t own = o->pool[q].peak_memory_bytes;
		HOLD(c, berth_sim_last(sim).pool_peak_bytes[q] == own,
		     "peak of pool %d: %lld, oracle %lld", q,
		     (long long)berth_sim_last(sim).pool_peak_bytes[q], (long long)own);
		HOLD(c, (double)berth_sim_last(sim).pool_ns[q] * 1e-9 == o->pool[q].load_s, "load of pool %d",
		     q);
		peak = own > peak ? own : peak;
	}
	HOLD(c, said == peak, "largest peak %lld, oracle %lld", (long long)said, (long long)peak);
	return NULL;
}

static const char *compare_run(differential_case *c, const oracle_result *o)
{
	berth_sim *sim;
	berth_sim_result r;
	done(berth_sim_new(&c->p, &c->mem, &sim, NULL));
	berth_sim_want_peaks(sim, true);
	berth_sim_want_hops(sim,
	                    berth_arena_alloc(&c->mem, berth_sim_max_hops(&c->p), sizeof(berth_sim_hop)));
	berth_sim_run(sim, c->pl.op_dev, c->pl.order, &r);
	HOLD(c, r.runs == o->runs, "runs: %d, oracle %d", r.runs, o->runs);
	if (!r.runs)
		return NULL;
	HOLD(c, r.latency_ns == o->latency_ns, "latency %lld ns, oracle %lld", (long long)r.latency_ns,
	     (long long)o->latency_ns);
	for (int32_t op = 0; op < c->g.n_ops; op++)
		HOLD(c,
		     berth_sim_last(sim).start_ns[op] == o->start_ns[op] &&
		             berth_sim_last(sim).end_ns[op] == o->end_ns[op],
		     "operator %d runs %lld-%lld, oracle %lld-%lld", op,
		     (long long)berth_sim_last(sim).start_ns[op], (long long)berth_sim_last(sim).end_ns[op],
		     (long long)o->start_ns[op], (long long)o->end_ns[op]);
	HOLD(c, r.fits == o->memory_fits, "fits: %d, oracle %d", r.fits, o->memory_fits);
	HOLD(c, near(r.load_s, o->load_s), "load %.17g, oracle %.17g", r.load_s, o->load_s);
	HOLD(c, o->has_energy ? near(r.energy_j, o->energy_j) : isnan(r.energy_j),
	     "energy %.17g, oracle %.17g", r.energy_j, o->energy_j);
	HOLD(c, berth_sim_last(sim).n_hops == (size_t)o->n_hops, "%zu hops, oracle %d",
	     berth_sim_last(sim).n_hops,
	     o->n_hops);
	return compare_peaks(c, sim, o, r.peak_bytes);
}

static const char *against_oracle(differential_case *c)
{
	oracle_result o;
	const char *found = NULL;
	if (oracle_simulate(c->graph, c->system, c->placement, &o) == 0)
		found = compare_run(c, &o);
	oracle_free(&o);
	return found;
}

/* ---- the incremental evaluator against whole runs ---- */

typedef struct walk {
	differential_case *c;
	berth_rng rng;
	berth_sim *sim;
	berth_incremental *inc;
	int32_t *base, *trial;
	uint32_t *base_key, *trial_key;
	bool keyed;
} walk;

static const char *same_result(differential_case *c, const berth_sim_result *a, const berth_sim_result *b,
                               const char *what)
{
	HOLD(c, a->runs == b->runs, "%s: runs differ", what);
	if (!a->runs)
		return NULL;
	HOLD(c, a->latency_ns == b->latency_ns, "%s: latency %lld, whole run %lld", what,
	     (long long)a->latency_ns, (long long)b->latency_ns);
	HOLD(c,
	     a->fits == b->fits && same(a->load_s, b->load_s) && same(a->energy_j, b->energy_j) &&
	             same(a->excess, b->excess),
	     "%s: fits, load, energy or excess differ from the whole run's", what);
	return NULL;
}

static void use_keys(walk *w, const uint32_t *key)
{
	berth_sim_use_keys(w->sim, w->keyed ? key : NULL);
	berth_incremental_use_keys(w->inc, w->keyed ? key : NULL);
}

static void draw_trial(walk *w, int32_t moves)
{
	const berth_problem *p = &w->c->p;
	size_t n = (size_t)p->n_ops;
	memcpy(w->trial, w->base, n * sizeof *w->trial);
	memcpy(w->trial_key, w->base_key, n * sizeof *w->trial_key);
	for (; moves > 0; moves--) {
		int32_t op = below(&w->rng, p->n_ops);
		if (w->keyed && below(&w->rng, 2))
			w->trial_key[op] =
				w->base_key[below(&w->rng, p->n_ops)] + (uint32_t)below(&w->rng, 3) - 1;
		else
			w->trial[op] = below(&w->rng, p->n_devs);
	}
	use_keys(w, w->trial_key);
}

static const char *step(walk *w, int32_t number)
{
	berth_sim_result full, part;
	const char *bad;
	draw_trial(w, 1 << below(&w->rng, 4));
	berth_sim_run(w->sim, w->trial, NULL, &full);
	HOLD(w->c, berth_incremental_run(w->inc, w->trial, INT64_MAX, &part),
	     "move %d: no result without a limit", number);
	if ((bad = same_result(w->c, &part, &full, "a move")) || !full.runs)
		return bad;
	int64_t limit = full.latency_ns + below(&w->rng, 3) - 1;
	bool known = berth_incremental_run(w->inc, w->trial, limit, &part);
	HOLD(w->c, known == (full.latency_ns <= limit), "move %d: latency %lld, limit %lld, known %d", number,
	     (long long)full.latency_ns, (long long)limit, known);
	if (known && (bad = same_result(w->c, &part, &full, "a move under a limit")))
		return bad;
	if (below(&w->rng, 3))
		return NULL;
	memcpy(w->base, w->trial, (size_t)w->c->p.n_ops * sizeof *w->base);
	memcpy(w->base_key, w->trial_key, (size_t)w->c->p.n_ops * sizeof *w->base_key);
	HOLD(w->c, berth_incremental_base(w->inc, w->base, &part), "move %d: a base that runs is refused",
	     number);
	return same_result(w->c, &part, &full, "a new base");
}

static const char *walk_moves(walk *w)
{
	berth_sim_result r;
	const char *bad = NULL;
	if (!draw_legal(w->c, &w->rng, w->base))
		return NULL;
	for (int32_t op = 0; op < w->c->p.n_ops; op++)
		w->base_key[op] = UINT32_MAX / 4 + (uint32_t)below(&w->rng, 2 * w->c->p.n_ops);
	use_keys(w, w->base_key);
	if (!berth_incremental_base(w->inc, w->base, &r))
		return NULL;
	for (int32_t k = 0; k < 16 && !bad; k++)
		bad = step(w, k);
	return bad;
}

static const char *incremental(differential_case *c)
{
	walk w = {.c = c, .rng = berth_rng_seed(c->seed, 11)};
	static const berth_order rule[] = {BERTH_ORDER_PRIORITY, BERTH_ORDER_FIFO, BERTH_ORDER_PROGRAM};
	int32_t n = c->p.n_ops;
	berth_order kept = c->s.order;
	if (kept == BERTH_ORDER_GIVEN)
		c->s.order = rule[below(&w.rng, 3)];
	done(berth_sim_new(&c->p, &c->mem, &w.sim, NULL));
	done(berth_incremental_new(&c->p, &c->mem, &w.inc, NULL));
	w.base = room(c, n, sizeof *w.base);
	w.trial = room(c, n, sizeof *w.trial);
	w.base_key = room(c, n, sizeof *w.base_key);
	w.trial_key = room(c, n, sizeof *w.trial_key);
	const char *bad = walk_moves(&w);
	w.keyed = true;
	if (!bad)
		bad = walk_moves(&w);
	c->s.order = kept;
	return bad;
}

/* ---- bounds against values ---- */

typedef struct bounded {
	differential_case *c;
	berth_eval eval;
	berth_bounds fast, strong;
	berth_objective o; /* with value and whether its limits can be kept */
	double bound;
	bool has_objective, none;
	double best[BERTH_N_METRICS]; /* of feasible ones */
	int32_t n_feasible;
} bounded;

static const char *hold_value(bounded *b, const int32_t *op_dev, const int32_t *order)
{
	berth_sim_result r;
	differential_case *c = b->c;
	if (berth_eval_result(&b->eval, op_dev, order, &r) > 0)
		return NULL;
	b->n_feasible++;
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		double v = berth_metrics[m].value(&r);
		b->best[m] = fmin(b->best[m], v);
		HOLD(c, !(b->fast.value[m] > v), "%s %.17g is below the bound %.17g", berth_metrics[m].name,
		     v, b->fast.value[m]);
		HOLD(c, !(b->strong.value[m] > v), "%s %.17g is below the strong bound %.17g",
		     berth_metrics[m].name, v, b->strong.value[m]);
	}
	if (!b->has_objective || berth_objective_excess(&b->o, &r) > 0)
		return NULL;
	double v = berth_objective_value(&b->o, &r);
	HOLD(c, !b->none, "%s: proven that no placement keeps the limits, but one does",
	     berth_objective_name(&b->o));
	HOLD(c, !(b->bound > v), "%s: %.17g is below the bound %.17g", berth_objective_name(&b->o), v,
	     b->bound);
	return NULL;
}

/* Some placements, each by the rule and by some orders. */
static const char *hold_values(bounded *b, berth_rng *r)
{
	differential_case *c = b->c;
	int32_t *op_dev = room(c, c->p.n_ops, sizeof *op_dev), *order = room(c, c->p.n_ops, sizeof *order);
	const char *bad = NULL;
	for (int k = 0; k < 24 && !bad; k++) {
		if (!draw_legal(c, r, op_dev))
			return NULL;
		if (c->s.order != BERTH_ORDER_GIVEN)
			bad = hold_value(b, op_dev, NULL);
		for (int i = 0; i < 3 && !bad; i++) {
			draw_order(c, r, order);
			bad = hold_value(b, op_dev, order);
		}
	}
	return bad;
}

static bool make_bounds(bounded *b, berth_rng *r)
{
	differential_case *c = b->c;
	berth_bound_effort effort = {below(r, 2) ? 500 : 3, below(r, 3) ? BERTH_BOUND_ALL : 100000, true,
	                             true};
	berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_sim_result seen;
	double metric[BERTH_N_METRICS];
	int32_t *op_dev = room(c, c->p.n_ops, sizeof *op_dev);
	done(berth_bounds_new(&c->p, &c->tmp, &b->fast, NULL));
	b->strong = b->fast;
	done(berth_bounds_strengthen(&c->p, &effort, &c->tmp, &b->strong, NULL));
	done(berth_eval_new(&c->p, &latency, &c->mem, &b->eval, NULL));
	berth_sim_want_peaks(b->eval.sim, true);
	if (!draw_legal(c, r, op_dev))
		return false;
	berth_sim_run(b->eval.sim, op_dev, own_order(c), &seen);
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		metric[m] = seen.runs ? berth_metrics[m].value(&seen) : NAN;
		b->best[m] = INFINITY;
	}
	b->has_objective = draw_objective(c, r, metric, &b->o);
	if (b->has_objective) {
		done(berth_bounds_objective(&c->p, &b->strong, &b->o, &c->tmp, &b->bound, NULL));
		done(berth_bounds_limits_infeasible(&c->p, &b->strong, &b->o, &c->tmp, &b->none, NULL));
	}
	return true;
}

static const char *bounds(differential_case *c)
{
	bounded b = {.c = c};
	berth_rng r = berth_rng_seed(c->seed, 12);
	if (!make_bounds(&b, &r))
		return NULL;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		HOLD(c, !(b.fast.value[m] > b.strong.value[m]),
		     "%s: the strong bound %.17g is below the fast one %.17g", berth_metrics[m].name,
		     b.strong.value[m], b.fast.value[m]);
	const char *bad = hold_values(&b, &r);
	HOLD(c, bad || b.n_feasible == 0 || berth_problem_feasible(&c->p, NULL) == BERTH_OK,
	     "infeasible, but a placement is feasible");
	return bad;
}

/* Every placement of a small case, by the oracle. */
static const char *brute(differential_case *c)
{
	oracle_optimum o;
	berth_bounds b;
	double placements = pow(c->p.n_devs, c->p.n_ops);
	if (c->p.n_ops > MAX_BRUTE_OPS || placements > MAX_PLACEMENTS || c->s.order == BERTH_ORDER_GIVEN ||
	    oracle_brute_force(c->graph, c->system, &o) != 0 || o.n_feasible == 0)
		return NULL;
	berth_bound_effort all = berth_bound_effort_all(NULL);
	done(berth_bounds_new(&c->p, &c->tmp, &b, NULL));
	done(berth_bounds_strengthen(&c->p, &all, &c->tmp, &b, NULL));
	HOLD(c, b.latency_ns <= o.feasible.latency_ns, "latency bound %lld ns, best of all %lld",
	     (long long)b.latency_ns, (long long)o.feasible.latency_ns);
	HOLD(c, !(b.value[BERTH_THROUGHPUT] > o.feasible.load_s * (1 + 1e-12)),
	     "load bound %.17g, best of all %.17g", b.value[BERTH_THROUGHPUT], o.feasible.load_s);
	HOLD(c, !(b.value[BERTH_ENERGY] > o.feasible.energy_j * (1 + 1e-12)),
	     "energy bound %.17g, best of all %.17g", b.value[BERTH_ENERGY], o.feasible.energy_j);
	HOLD(c, !(b.value[BERTH_EDP] > o.feasible.edp * (1 + 1e-12)), "edp bound %.17g, best of all %.17g",
	     b.value[BERTH_EDP], o.feasible.edp);
	return NULL;
}

/* ---- methods ---- */

/* The placement of a method, judged by the simulator. */
static const char *judge_answer(differential_case *c, const berth_method *m, const berth_objective *o,
                                const berth_solution *r, const double *start)
{
	berth_timeline t;
	berth_verdict v;
	const char *name = m->name;
	if (!r->answered) {
		HOLD(c, !r->feasible, "%s: feasible without an answer", name);
		return NULL;
	}
	for (int32_t op = 0; op < c->p.n_ops; op++)
		HOLD(c, berth_op_legal(&c->p, op, r->op_dev[op]), "%s: operator %d is where it may not be",
		     name, op);
	HOLD(c, !r->op_order || berth_order_is_topological(&c->g, r->op_order, &c->tmp),
	     "%s: its order is none", name);
	const int32_t *order = r->op_order                       ? r->op_order
	                       : c->s.order == BERTH_ORDER_GIVEN ? c->g.topo_op
	                                                         : NULL;
	done(berth_judge(&c->p, r->op_dev, order, o, &c->mem, &t, &v, NULL));
	HOLD(c, v.feasible == r->feasible, "%s: says feasible %d, the simulator %d", name, r->feasible,
	     v.feasible);
	if (!r->feasible)
		return NULL;
	HOLD(c, near(r->value, v.value), "%s: value %.17g, the simulator %.17g", name, r->value, v.value);
	HOLD(c, !(r->lower_bound > r->value * (1 + 1e-9)), "%s: value %.17g below its bound %.17g", name,
	     r->value, r->lower_bound);
	HOLD(c, !start || !(r->value > *start * (1 + 1e-12)), "%s: value %.17g, it started from %.17g", name,
	     r->value, *start);
	return NULL;
}

static const char *one_method(differential_case *c, const berth_method *m, const berth_search_cfg *cfg,
                              const double *start, double *best, double *proven)
{
	berth_bounds b;
	berth_solution r;
	done(berth_bounds_new(&c->p, &c->tmp, &b, NULL));
	berth_status st = berth_solve(&c->p, &b, m, cfg, &c->mem, &c->tmp, &r, NULL);
	if (st == BERTH_EINVAL || st == BERTH_EUNSUPPORTED || st == BERTH_EFORMAT || st == BERTH_ELIMIT)
		return NULL;
	done(st);
	const char *bad = judge_answer(c, m, &cfg->objective, &r, m->searches ? start : NULL);
	if (!bad && r.feasible) {
		*best = fmin(*best, r.value);
		if (strcmp(r.status, "optimal") == 0)
			*proven = fmax(*proven, r.value);
	}
	HOLD(c, bad || !(isfinite(r.lower_bound) && isfinite(*best) && r.lower_bound > *best * (1 + 1e-9)),
	     "%s: bound %.17g, but %.17g was found", m->name, r.lower_bound, *best);
	return bad;
}

/* The cheap methods, one search of the others, and those that prove on small cases. */
static bool takes_part(const berth_method *m, int32_t i, int32_t chosen, int32_t n_ops)
{
	static const char *const exact[] = {"branch-and-bound", "milp", "ip", "dp"};
	if (berth_method_missing(m))
		return false;
	for (size_t k = 0; k < sizeof exact / sizeof *exact; k++)
		if (strcmp(m->name, exact[k]) == 0)
			return n_ops <= 6 && (k == 0 || i % 3 == chosen % 3);
	return !m->searches || i % 4 == chosen % 4;
}

static const char *methods(differential_case *c)
{
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_rng r = berth_rng_seed(c->seed, 13);
	berth_timeline t;
	berth_verdict v;
	const char *bad = NULL;
	double best = INFINITY, proven = -INFINITY;
	int32_t chosen = below(&r, 12);
	cfg.seed = c->seed;
	cfg.evaluations = 40;
	cfg.nodes = 300;
	int32_t *op_dev = room(c, c->p.n_ops, sizeof *op_dev);
	bool started = draw_legal(c, &r, op_dev) && c->s.order != BERTH_ORDER_GIVEN && below(&r, 2);
	done(berth_judge(&c->p, c->pl.op_dev, own_order(c), NULL, &c->mem, &t, &v, NULL));
	if (!draw_objective(c, &r, v.metric, &cfg.objective))
		cfg.objective = berth_objective_of(BERTH_LATENCY);
	if (started) {
		cfg.start_dev = op_dev;
		done(berth_judge(&c->p, op_dev, NULL, &cfg.objective, &c->mem, &t, &v, NULL));
	}
	const double *start = started && v.feasible ? &v.value : NULL;
	for (int32_t i = 0; i < berth_n_methods() && !bad; i++)
		if (takes_part(berth_method_at(i), i, chosen, c->p.n_ops))
			bad = one_method(c, berth_method_at(i), &cfg, start, &best, &proven);
	HOLD(c, bad || !(proven > best * (1 + 1e-9)), "proven optimal %.17g, but %.17g was found", proven,
	     best);
	return bad;
}

/* ---- writers and readers ---- */

static const char *files(differential_case *c)
{
	const char *text, *again;
	size_t n, m;
	berth_graph g;
	berth_system s;
	berth_placement pl;
	for (int pretty = 0; pretty < 2; pretty++) {
		done(berth_graph_write_json(&c->g, pretty, &c->mem, &text, &n, NULL));
		HOLD(c, berth_graph_parse_json("g", text, n, &c->mem, &c->tmp, &g, NULL) == BERTH_OK,
		     "its own graph file is refused");
		done(berth_graph_write_json(&g, pretty, &c->mem, &again, &m, NULL));
		HOLD(c, n == m && memcmp(text, again, n) == 0, "the graph reads back as another");
		done(berth_system_write_json(&c->s, pretty, &c->mem, &text, &n, NULL));
		HOLD(c, berth_system_parse_json("s", text, n, &c->mem, &c->tmp, &s, NULL) == BERTH_OK,
		     "its own system file is refused");
		done(berth_system_write_json(&s, pretty, &c->mem, &again, &m, NULL));
		HOLD(c, n == m && memcmp(text, again, n) == 0, "the system reads back as another");
		done(berth_placement_write_json(&c->pl, &c->g, &c->s, pretty, &c->mem, &text, &n, NULL));
		HOLD(c,
		     berth_placement_parse_json("p", text, n, &g, &s, &c->mem, &c->tmp, &pl, NULL, NULL) ==
		             BERTH_OK,
		     "its own plan is refused");
		done(berth_placement_write_json(&pl, &g, &s, pretty, &c->mem, &again, &m, NULL));
		HOLD(c, n == m && memcmp(text, again, n) == 0, "the plan reads back as another");
	}
	return NULL;
}

/* Of exporters that need no file of a model, and whose target can express the plan. */
static const char *export_one(differential_case *c, const berth_exporter *e, const berth_export_source *x)
{
	berth_export_out out = {.mem = &c->mem};
	size_t n = 0;
	berth_status st = berth_export_make(e, x, &c->tmp, &out, NULL);
	if (st == BERTH_EUNSUPPORTED || st == BERTH_EINVAL)
		return NULL;
	done(st);
	for (size_t i = 0; i < out.n_pieces; i++) {
		n += out.piece[i].size;
		HOLD(c, !memchr(out.piece[i].data, '\0', out.piece[i].size), "%s: it is no text", e->name);
	}
	HOLD(c, n > 0, "%s: it is empty", e->name);
	if (strcmp(e->suffix, ".json") == 0) {
		cJSON *doc = cJSON_ParseWithLength(out.piece[0].data, out.piece[0].size);
		HOLD(c, doc != NULL, "%s: it is no JSON", e->name);
		cJSON_Delete(doc);
	}
	return NULL;
}

static const char *exports(differential_case *c)
{
	berth_timeline t;
	done(berth_timeline_new(&c->p, c->pl.op_dev, own_order(c), &c->mem, &t, NULL));
	berth_export_source x = {.g = &c->g,
	                         .s = &c->s,
	                         .op_dev = c->pl.op_dev,
	                         .p = &c->p,
	                         .t = t.r.runs ? &t : NULL};
	for (int32_t i = 0; i < berth_n_exporters; i++) {
		const char *broken = berth_exporters[i]->model ? NULL : export_one(c, berth_exporters[i], &x);
		if (broken)
			return broken;
	}
	return NULL;
}

/* ---- explanations ---- */

static const char *explain_one(differential_case *c, const berth_timeline *t, const berth_objective *o,
                               int32_t op, int64_t slack)
{
	berth_op_story y;
	done(berth_explain_op(&c->p, t, o, op, &c->mem, &c->tmp, &y, NULL));
	const berth_op_choice *own = &y.choice[y.dev];
	HOLD(c, y.dev == c->pl.op_dev[op] && y.start_ns == t->start_ns[op] && y.end_ns == t->end_ns[op],
	     "story of operator %d: other times or another device", op);
	HOLD(c, y.ready_ns <= y.start_ns && y.slack_ns >= 0 && y.slack_ns == slack,
	     "story of operator %d: ready %lld, start %lld, slack %lld and %lld", op, (long long)y.ready_ns,
	     (long long)y.start_ns, (long long)y.slack_ns, (long long)slack);
	HOLD(c, own->latency_ns == t->r.latency_ns,
	     "story of operator %d: stays for %lld, the run takes %lld", op, (long long)own->latency_ns,
	     (long long)t->r.latency_ns);
	for (int32_t i = 0; i < y.n_inputs; i++)
		HOLD(c,
		     y.input[i].arrives_ns ==
		                     y.input[i].produced_ns + y.input[i].queued_ns + y.input[i].moving_ns &&
		             y.input[i].arrives_ns <= y.ready_ns,
		     "story of operator %d: input %d does not add up", op, i);
	return NULL;
}

static const char *explained(differential_case *c)
{
	berth_objective o = berth_objective_of(BERTH_LATENCY);
	berth_timeline t;
	berth_explanation x;
	const char *bad = NULL;
	int64_t sum, *slack = room(c, c->p.n_ops, sizeof *slack);
	done(berth_timeline_new(&c->p, c->pl.op_dev, own_order(c), &c->mem, &t, NULL));
	if (!t.r.runs || !c->p.n_ops)
		return NULL;
	done(berth_explain(&c->p, &t, &c->mem, &c->tmp, &x, NULL));
	sum = x.compute_ns;
	for (int32_t i = 0; i < x.n; i++) {
		HOLD(c, x.lost[i].ns > 0 && (i == 0 || x.lost[i].ns <= x.lost[i - 1].ns),
		     "lost time %d is out of order", i);
		sum += x.lost[i].ns;
	}
	HOLD(c, x.latency_ns == t.r.latency_ns && sum == x.latency_ns, "explained %lld ns of %lld",
	     (long long)sum, (long long)t.r.latency_ns);
	done(berth_slack(&c->p, &t, slack, &c->tmp, NULL));
	berth_rng r = berth_rng_seed(c->seed, 14);
	for (int k = 0; k < 3 && !bad; k++) {
		int32_t op = below(&r, c->p.n_ops);
		bad = explain_one(c, &t, &o, op, slack[op]);
	}
	return bad;
}

/* ---- the same case on another machine, and with other rules ---- */

/* The case on that system, opened anew; false: it is none there. */
static bool open_on(const differential_case *c, const char *system, differential_case *out)
{
	return differential_open(out, c->graph, system, c->placement, c->seed);
}

/* A figure of a device, or a device more. */
static const char *draw_change(const differential_case *c, berth_rng *r, berth_arena *mem)
{
	static const char *const keys[] = {"peak_flops", "mem_bandwidth", "op_overhead_s", "memory_bytes"};
	static const char *const factors[] = {"2x", "0.5x", "1.25x", "10x"};
	const char *dev = c->s.dev_name[below(r, c->s.n_devs)];
	const char *text = below(r, 4) == 0
	                           ? berth_arena_printf(mem, "+another=like:%s", dev)
	                           : berth_arena_printf(mem, "%s.%s=%s", dev, keys[below(r, 4)],
	                                                factors[below(r, 4)]);
	if (!text)
		abort();
	return text;
}

/* A changed machine is the machine that its file tells: the same run, the oracle's. */
static const char *changed(differential_case *c)
{
	berth_rng r = berth_rng_seed(c->seed, 15);
	const char *change = draw_change(c, &r, &c->mem), *text, *bad = NULL;
	size_t n;
	berth_system s;
	berth_problem p;
	differential_case other;
	berth_timeline here, there;
	if (berth_system_change(&c->s, change, &c->mem, &c->tmp, &s, NULL) != BERTH_OK)
		return NULL; /* a factor of nothing, say */
	done(berth_problem_new(&c->g, &s, &c->mem, &c->tmp, &p, NULL));
	done(berth_timeline_new(&p, c->pl.op_dev, own_order(c), &c->mem, &here, NULL));
	done(berth_system_write_json(&s, true, &c->mem, &text, &n, NULL));
	bool is = open_on(c, text, &other);
	if (is) {
		const int32_t *order = own_order(&other);
		done(berth_timeline_new(&other.p, other.pl.op_dev, order, &other.mem, &there, NULL));
		bad = here.r.runs != there.r.runs || here.r.latency_ns != there.r.latency_ns ||
		                      here.r.peak_bytes != there.r.peak_bytes
		              ? "other than its file says"
		              : against_oracle(&other);
		bad = bad ? berth_arena_printf(&c->mem, "%s: %s", change, bad) : NULL;
	}
	differential_close(&other);
	HOLD(c, is, "%s: the changed system is refused", change);
	return bad;
}

/* What holds of a machine holds where tensors travel packed. */
static const char *packed(differential_case *c)
{
	differential_case other;
	const char *bad = NULL;
	if (c->s.cost_model->run || !open_on(c, c->system, &other))
		return NULL;
	done(berth_system_pack(&other.s, 2 << (c->seed / 3 % 3), &other.mem, NULL));
	done(berth_problem_new(&other.g, &other.s, &other.mem, &other.tmp, &other.p, NULL));
	bad = incremental(&other);
	bad = bad ? bad : bounds(&other);
	bad = bad ? berth_arena_printf(&c->mem, "packed: %s", bad) : NULL;
	differential_close(&other);
	return bad;
}

/* Blocks stay whole, and the answer is worth on the graph without them what it is worth with them. */
static const char *whole_blocks(differential_case *c)
{
	const berth_method *m = NULL;
	berth_rng r = berth_rng_seed(c->seed, 16);
	berth_search_cfg cfg = berth_search_cfg_default();
	int32_t n_ops = c->g.n_ops, *block = room(c, n_ops, sizeof *block), dev[3] = {-1, -1, -1};
	const char *names[] = {"a", "b", "c"};
	berth_granularity x = {.op_block = block, .n_blocks = 3, .block_name = names};
	berth_graph g;
	berth_problem p;
	berth_bounds bound;
	berth_solution found;
	berth_timeline t;
	berth_verdict v;
	if (c->s.order == BERTH_ORDER_GIVEN || n_ops < 3)
		return NULL;
	for (int32_t op = 0; op < n_ops; op++)
		block[op] = op < 3 ? op : below(&r, 3);
	done(berth_granularity_apply(&c->g, &x, -1, &c->mem, &c->tmp, &g, NULL));
	if (berth_problem_new(&g, &c->s, &c->mem, &c->tmp, &p, NULL) != BERTH_OK)
		return NULL; /* no device is left for a block */
	cfg.evaluations = 30;
	done(berth_method_find(c->seed / 5 % 2 ? "heft" : "anneal", &m, NULL));
	done(berth_bounds_new(&p, &c->tmp, &bound, NULL));
	berth_status st = berth_solve(&p, &bound, m, &cfg, &c->mem, &c->tmp, &found, NULL);
	if (st != BERTH_OK || !found.feasible)
		return NULL;
	for (int32_t op = 0; op < n_ops; op++) {
		int32_t *of = &dev[block[op]];
		*of = *of < 0 ? found.op_dev[op] : *of;
		HOLD(c, *of == found.op_dev[op], "%s: block %s is on two devices", m->name,
		     names[block[op]]);
	}
	done(berth_judge(&c->p, found.op_dev, found.op_order, &cfg.objective, &c->mem, &t, &v, NULL));
	HOLD(c, v.feasible && v.value == found.value, "%s: worth %.17g with blocks, %.17g without", m->name,
	     found.value, v.value);
	return NULL;
}

/* ---- there and back ---- */

/* A table of the plan is read as the plan. */
static const char *back(differential_case *c)
{
	berth_export_out out = {.mem = &c->mem};
	berth_timeline t;
	berth_import_plan plan;
	berth_import_source from = {.file = "table.csv", .g = &c->g, .s = &c->s};
	done(berth_timeline_new(&c->p, c->pl.op_dev, own_order(c), &c->mem, &t, NULL));
	berth_export_source x = {.g = &c->g, .s = &c->s, .op_dev = c->pl.op_dev, .p = &c->p};
	x.t = t.r.runs ? &t : NULL;
	berth_status st = berth_export_make(&berth_export_csv, &x, &c->tmp, &out, NULL);
	if (st == BERTH_EINVAL || c->g.n_ops == 0)
		return NULL;
	done(st);
	from.text = berth_file_join(out.piece, out.n_pieces, &c->mem, &from.size);
	berth_err err = {BERTH_OK, ""};
	st = berth_import_read(&from, &c->mem, &c->tmp, &plan, &err);
	HOLD(c, st == BERTH_OK, "its own table is refused: %s", err.msg);
	for (int32_t op = 0; op < c->g.n_ops; op++)
		HOLD(c, plan.op_dev[op] == c->pl.op_dev[op],
		     "operator %d comes back on device %d, not %d", op, plan.op_dev[op], c->pl.op_dev[op]);
	return NULL;
}

/* ---- certificates ---- */

/* What is certified is proven again from its file, and no placement is below it. */
static const char *certified(differential_case *c)
{
	bool load = c->seed / 7 % 2;
	berth_bound_proof proof = {.mem = &c->mem, .load = load, .nodes = 200};
	berth_bound_options o = {.bound = "strong", .evaluations = -1};
	berth_rng r = berth_rng_seed(c->seed, 17);
	berth_certificate again;
	berth_timeline t;
	berth_verdict v;
	const char *text;
	size_t n;
	int64_t ns;
	int32_t *op_dev = room(c, c->p.n_ops, sizeof *op_dev);
	if (c->s.order == BERTH_ORDER_GIVEN || berth_problem_feasible(&c->p, NULL) != BERTH_OK)
		return NULL;
	berth_status st = berth_search_certify(&c->p, &o, 0, &proof, &c->tmp, NULL);
	if (st == BERTH_EUNSUPPORTED || st == BERTH_EFORMAT || (st == BERTH_OK && !proof.any))
		return NULL;
	done(st);
	done(berth_certificate_write(&proof.best, &c->p, &c->mem, &text, &n, NULL));
	HOLD(c, berth_certificate_parse("c", text, n, &c->p, &c->mem, &c->tmp, &again, NULL) == BERTH_OK,
	     "its own certificate is refused");
	st = berth_certificate_prove(&again, &c->p, &c->tmp, &ns, NULL);
	HOLD(c, st == BERTH_OK && ns == proof.best.bound_ns,
	     "certified %lld ns, read back it proves %lld", (long long)proof.best.bound_ns, (long long)ns);
	for (int k = 0; k < 30; k++) {
		if (!draw_legal(c, &r, op_dev))
			return NULL;
		done(berth_judge(&c->p, op_dev, NULL, NULL, &c->mem, &t, &v, NULL));
		double own = v.metric[load ? BERTH_THROUGHPUT : BERTH_LATENCY] * 1e9;
		HOLD(c, !v.feasible || (double)ns <= own * (1 + 1e-12),
		     "%s certificate of %lld ns, but %.17g was found",
		     berth_certificate_name(again.kind), (long long)ns, own);
	}
	return NULL;
}

/* ---- what is made of several searches, and plans for engines ---- */

/* The case with the graph and placement of several copies; false: it is none. */
static bool open_copies(const differential_case *c, const berth_replicas *r, berth_arena *mem,
                        differential_case *out)
{
	const char *graph, *placement;
	size_t n;
	berth_placement pl;
	done(berth_placement_new(&r->g, &c->s, mem, &out->tmp, &pl, NULL));
	memcpy(pl.op_dev, r->op_dev, (size_t)r->g.n_ops * sizeof *pl.op_dev);
	pl.order = (int32_t *)(size_t)r->op_order;
	done(berth_graph_write_json(&r->g, false, mem, &graph, &n, NULL));
	done(berth_placement_write_json(&pl, &r->g, &c->s, false, mem, &placement, &n, NULL));
	return differential_open(out, graph, c->system, placement, c->seed);
}

/* Copies of the graph are a graph: what was found is its value there, above its bound, and the oracle's. */
static const char *copies(differential_case *c)
{
	const berth_method *m = NULL;
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_replicas r;
	differential_case all = {.graph = NULL};
	berth_timeline t;
	berth_verdict v;
	berth_bounds b;
	int32_t n = 1 + (int32_t)(c->seed / 13 % 3);
	if (c->s.order == BERTH_ORDER_GIVEN || c->g.n_ops > 16 || !c->g.n_ops)
		return NULL;
	cfg.seed = c->seed;
	cfg.evaluations = 20;
	cfg.objective = berth_objective_of(BERTH_THROUGHPUT);
	done(berth_method_find(c->seed / 5 % 2 ? "local-search" : "anneal", &m, NULL));
	berth_status st = berth_replicas_choose(&c->g, &c->s, n, n, m, &cfg, &c->mem, &c->tmp, &r, NULL);
	if (st != BERTH_OK || !r.n)
		return NULL;
	HOLD(c, r.n == n && r.g.n_ops == n * c->g.n_ops, "%d copies, asked for %d", r.n, n);
	const char *bad = open_copies(c, &r, &c->mem, &all) ? NULL : "the copies are refused";
	if (!bad) {
		done(berth_judge(&all.p, r.op_dev, r.op_order, &cfg.objective, &all.mem, &t, &v, NULL));
		done(berth_bounds_new(&all.p, &all.tmp, &b, NULL));
		bad = !v.feasible                          ? "the placement of copies is infeasible"
		      : !near(v.value, r.sample_s * n)     ? "the copies are worth something else"
		      : b.value[BERTH_THROUGHPUT] > v.value ? "the copies are below their bound"
		                                            : against_oracle(&all);
		bad = bad ? berth_arena_printf(&c->mem, "%d copies: %s", n, bad) : NULL;
	}
	differential_close(&all);
	return bad;
}

/* Rows are what searches and the judge say. */
static const char *compared(differential_case *c)
{
	const berth_method *methods[3] = {NULL};
	berth_compare_plan plan = {"plan", c->pl.op_dev, c->pl.order, NULL};
	berth_search_cfg search = berth_search_cfg_default();
	berth_rng r = berth_rng_seed(c->seed, 18);
	berth_compare_row row[4];
	berth_bounds b;
	berth_timeline t;
	berth_verdict v;
	int32_t n;
	search.seed = c->seed;
	search.evaluations = 20;
	done(berth_judge(&c->p, c->pl.op_dev, own_order(c), NULL, &c->mem, &t, &v, NULL));
	draw_objective(c, &r, v.metric, &search.objective);
	done(berth_method_find("single", &methods[0], NULL));
	done(berth_method_find("heft", &methods[1], NULL));
	done(berth_method_find(c->seed / 5 % 2 ? "anneal" : "least-sum", &methods[2], NULL));
	done(berth_bounds_new(&c->p, &c->tmp, &b, NULL));
	const berth_compare_cfg cfg = {.method = methods,
	                               .n_methods = 3,
	                               .n_seeds = 1,
	                               .plan = &plan,
	                               .n_plans = 1,
	                               .search = search};
	if (berth_compare(&c->p, &b, &cfg, row, &n, &c->mem, &c->tmp, NULL) != BERTH_OK)
		return NULL; /* no sum of watts, say */
	HOLD(c, n == 4, "%d rows of 4", n);
	done(berth_judge(&c->p, c->pl.op_dev, own_order(c), &search.objective, &c->mem, &t, &v, NULL));
	HOLD(c, row[3].feasible == v.feasible && (!v.feasible || row[3].value == v.value),
	     "the plan's row says %d, %.17g, the judge %d, %.17g", row[3].feasible, row[3].value,
	     v.feasible, v.value);
	for (int i = 0; i < 3; i++) {
		berth_solution one;
		berth_status st =
			berth_solve(&c->p, &b, methods[i], &search, &c->mem, &c->tmp, &one, NULL);
		bool answers = st == BERTH_OK && one.feasible;
		HOLD(c, row[i].feasible == answers && (!answers || row[i].value == one.value),
		     "%s: its row says %d, %.17g, its search %d, %.17g", methods[i]->name, row[i].feasible,
		     row[i].value, answers, answers ? one.value : NAN);
		HOLD(c, !answers || !(row[i].lower_bound > row[i].value), "%s: %.17g is below its bound",
		     methods[i]->name, row[i].value);
	}
	return NULL;
}

/* A plan for an engine has one price, of the search, the judge and the exporter, and no bound above it. */
static const char *for_engine(differential_case *c)
{
	static const char *const engines[] = {"ort", "torch", "openvino"};
	const berth_engine_rules *e = NULL;
	const berth_method *m = NULL;
	berth_search_cfg cfg = berth_search_cfg_default();
	berth_system s = c->s;
	berth_problem p;
	berth_bounds b;
	berth_bound_effort effort = {100, BERTH_BOUND_ALL, true, true};
	berth_solution r;
	berth_timeline t;
	berth_verdict v;
	done(berth_rules_find(engines[c->seed / 7 % 3], &e, NULL));
	if (berth_system_for(e, &s, NULL) != BERTH_OK ||
	    berth_problem_new(&c->g, &s, &c->mem, &c->tmp, &p, NULL) != BERTH_OK)
		return NULL; /* a cost model of its own */
	cfg.seed = c->seed;
	cfg.evaluations = 30;
	done(berth_method_find(c->seed / 5 % 2 ? "least-sum" : "anneal", &m, NULL));
	done(berth_bounds_new(&p, &c->tmp, &b, NULL));
	done(berth_bounds_strengthen(&p, &effort, &c->tmp, &b, NULL));
	berth_status st = berth_solve(&p, &b, m, &cfg, &c->mem, &c->tmp, &r, NULL);
	if (st != BERTH_OK || !r.feasible)
		return NULL;
	done(berth_judge(&p, r.op_dev, r.op_order, &cfg.objective, &c->mem, &t, &v, NULL));
	HOLD(c, v.feasible && v.value == r.value, "%s for %s: found %.17g, judged %d, %.17g", m->name,
	     e->name, r.value, v.feasible, v.value);
	double sum = berth_export_serial(&p, r.op_dev);
	HOLD(c, e->times || near(sum, r.value), "for %s: %.17g, the exporter %.17g", e->name, r.value, sum);
	HOLD(c, !(b.value[BERTH_LATENCY] > r.value), "for %s: %.17g is below the bound %.17g", e->name,
	     r.value, b.value[BERTH_LATENCY]);
	return NULL;
}

const differential_check differential_checks[] = {
	{"oracle", "the simulator and the slow oracle, to the nanosecond and the byte", 1, against_oracle},
	{"incremental", "incremental runs and whole ones, to the bit, under moves and keys", 2, incremental},
	{"bounds", "no bound above a value, no proof against a placement", 4, bounds},
	{"brute", "bounds and the best of all placements by the oracle", 4, brute},
	{"methods", "legal, judged alike by the simulator, no worse than start and bound", 16, methods},
	{"files", "graph, system and plan read back to the same text", 2, files},
	{"exports", "exporters end with texts that are whole", 4, exports},
	{"explained", "times of explanations add up", 2, explained},
	{"changed", "a changed machine and the one that its file tells, and the oracle on it", 2, changed},
	{"packed", "incremental runs and bounds where tensors travel packed", 8, packed},
	{"blocks", "blocks stay whole, and the answer is worth the same without them", 4, whole_blocks},
	{"back", "a plan comes back from its table", 2, back},
	{"certified", "certificates prove the same when read, no placement is below", 8, certified},
	{"copies", "several copies are a graph: their value, bound and the oracle's run", 8, copies},
	{"compared", "rows of compare are what searches and the judge say", 8, compared},
	{"engine", "a plan for an engine has one price, and no bound above it", 4, for_engine},
};
const int differential_n_checks = sizeof differential_checks / sizeof *differential_checks;

const differential_check *differential_find(const char *name)
{
	for (int i = 0; i < differential_n_checks; i++)
		if (strcmp(differential_checks[i].name, name) == 0)
			return &differential_checks[i];
	return NULL;
}
