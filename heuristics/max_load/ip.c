/* `ip`: the max-load throughput of J. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan, F. Nina Paravecino,
 * NeurIPS 2020, without contiguity. The answer of `dp` is annealed (max_load_search.h), which serves graphs
 * of any size. Then their integer program (max_load_lp.h) is solved from it, where it is not too large and
 * there is a solver, for what it finds and proves. All limits are counts.
 *
 * Beyond the paper: colocation groups joined by a tensor that costs more than the incumbent's whole load are
 * one item. Equal devices are told apart by the first item on them. A counting bound (max_load_bound.h)
 * stands beside the solver's.
 *
 * A bound is proven for placements no worse than the incumbent, so for all. The solver's holds within its
 * tolerance (1e-6). */
#include "coloc.h"
#include "cost_model.h"
#include "exact.h"
#include "max_load_bound.h"
#include "max_load_lp.h"
#include "max_load_search.h"
#include "registry.h"

#include <math.h>

enum { MOST_ENTRIES = 40000 };           /* of the model */
static const int64_t MOVES_AN_ITEM = 100000, MOST_MOVES = 20000000;
enum { MOST_NODES = 5000 };
#define NODES_OF(entries) (1.6e10 / (entries) / (entries)) /* default limit of nodes: some ten seconds */
#define TOLERANCE 1e-6

static berth_status check(const berth_search *s, berth_err *err)
{
	char names[256];
	if (berth_max_load_knows(s))
		return BERTH_OK;
	return berth_fail(err, BERTH_EUNSUPPORTED,
	                  "method ip solves the throughput of the cost model %s, without limits, separation "
	                  "and contiguity",
	                  berth_cost_model_names(berth_cost_model_sums, names, sizeof names));
}

/* dp where it knows the machine, else the best single device, made to fit. */
static berth_status start(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_status st = berth_method_run(&berth_method_dp, s, tmp, err);
	if (st != BERTH_OK && st != BERTH_EUNSUPPORTED)
		return berth_fail_in(err, st, "the start by dp failed: ");
	return st == BERTH_OK ? BERTH_OK : berth_method_run(&berth_method_single, s, tmp, err);
}

static berth_status new_loads(const berth_search *s, berth_arena *mem, berth_arena *tmp, berth_max_load *m,
                              berth_err *err)
{
	return berth_max_load_new(s->p, s->best.value * (1 + 1e-9), mem, tmp, m, err);
}

static berth_status anneal(berth_search *s, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_max_load m;
	BERTH_TRY(new_loads(s, mem, tmp, &m, err));
	int64_t moves = m.n_items * MOVES_AN_ITEM;
	return berth_can_move(s->p)
	               ? berth_max_load_search(s, &m, moves < MOST_MOVES ? moves : MOST_MOVES, tmp, err)
	               : BERTH_OK;
}

static void offer(berth_search *s, const berth_max_load *m, const berth_max_load_lp *l, const double *x,
                  int32_t *op_dev)
{
	for (int32_t op = 0; op < s->p->n_ops; op++)
		for (int32_t d = 0; d < s->p->n_devs; d++) {
			int32_t c =
				l->item_dev_col[(size_t)m->op_item[op] * (size_t)s->p->n_devs + (size_t)d];
			if (c >= 0 && x[c] > 0.5)
				op_dev[op] = d;
		}
	berth_search_offer(s, op_dev, NULL);
}

static int64_t most_nodes(const berth_search *s, size_t n_entries)
{
	double nodes = 1 + NODES_OF((double)n_entries + 1);
	return s->cfg.nodes > 0 ? s->cfg.nodes : (int64_t)fmin(nodes, MOST_NODES);
}

static berth_status solve_model(berth_search *s, const berth_max_load *m, berth_arena *mem, berth_arena *tmp,
                                berth_err *err)
{
	berth_max_load_lp l;
	berth_lp_result r;
	int32_t *op_dev;
	BERTH_TRY(berth_max_load_lp_new(m, s->bound, mem, &l, err));
	if (s->cfg.write_model)
		BERTH_TRY(berth_exact_write_model(s->cfg.write_model, &l.lp, mem, err));
	if (!berth_lp_solver() || (l.lp.n_entries > MOST_ENTRIES && s->cfg.nodes <= 0))
		return BERTH_OK;
	berth_lp_options options = {.nodes = most_nodes(s, l.lp.n_entries), .start = l.start,
	                            .until = berth_search_patience(s)};
	BERTH_TRY(BERTH_NEW(mem, op_dev, s->p->n_ops, err));
	BERTH_TRY(berth_lp_solve(&l.lp, &options, mem, tmp, &r, err));
	s->nodes = r.nodes;
	if (isfinite(r.value))
		offer(s, m, &l, r.x, op_dev);
	if (isfinite(r.bound) && r.status != BERTH_LP_INFEASIBLE)
		berth_search_prove(s, r.bound * (1 - TOLERANCE));
	return BERTH_OK;
}

static berth_status prove(berth_search *s, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_max_load m;
	double bound;
	BERTH_TRY(new_loads(s, mem, tmp, &m, err));
	berth_max_load_place(&m, s->best_dev);
	BERTH_TRY(berth_max_load_bound(&m, s->best.value, tmp, &bound, err));
	berth_search_prove(s, bound);
	berth_search_budget_left(s, 1); /* stops where that is close enough */
	return s->stopped ? BERTH_OK : solve_model(s, &m, mem, tmp, err);
}

static berth_status improve(berth_search *s, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(anneal(s, mem, tmp, err));
	BERTH_TRY(prove(s, mem, tmp, err));
	if (s->best.value <= s->bound * (1 + 2 * TOLERANCE))
		s->proof = BERTH_PROOF_OPTIMAL;
	return BERTH_OK;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_arena mem;
	BERTH_TRY(check(s, err));
	BERTH_TRY(start(s, tmp, err));
	s->proof = BERTH_PROOF_LIMIT;
	if (!berth_score_feasible(s->best) || s->p->n_ops == 0)
		return BERTH_OK;
	berth_arena_init(&mem, tmp->hook);
	berth_status st = improve(s, &mem, tmp, err);
	berth_arena_free(&mem);
	return st;
}

const berth_method berth_method_ip = {"ip",
                                      "Max-load throughput without contiguity: annealing from dp, then the "
                                      "integer program by CBC (Tarnawski et al. 2020).",
                                      false, run, NULL};
