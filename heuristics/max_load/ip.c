/* `ip`: the max-load throughput of J. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan, F. Nina Paravecino,
 * NeurIPS 2020, without contiguity. The answer of `dp` is annealed (max_load_search.h), which serves graphs
 * of any size. Then their integer program is solved from it, where it is not too large and there is a solver,
 * for what it finds and proves. All limits are counts.
 *
 * Beyond the paper: colocation groups joined by a tensor that costs more than the incumbent's whole load are
 * one item. Equal devices are told apart by the first item on them. A counting bound (max_load.h) stands
 * beside the solver's.
 *
 * A bound is proven for placements no worse than the incumbent, so for all. The solver's holds within its
 * tolerance (1e-6). */
#include "max_load_lp.h"

#include "coloc.h"
#include "cost_model.h"
#include "exact.h"
#include "max_load_search.h"
#include "registry.h"

typedef struct builder {
	const berth_max_load *m;
	berth_lp *lp;
	berth_arena *mem;
	int32_t *col;        /* [n_items][n_devs] */
	int32_t *tensor_col; /* [n_tensors][n_devs] -1: no transfer can be */
	int32_t *dev_rank;   /* [n_devs] how many equal devices stand before it */
	int32_t *item_dev;   /* [n_items] the present placement, equal devices renamed */
	int32_t t_col;
	double upper;
} builder;

static double largest(const berth_max_load *m)
{
	double most = 0;
	for (int32_t d = 0; d < m->p->n_devs; d++)
		most = fmax(most, m->load_s[d]);
	return most;
}

static size_t cell(const builder *b, int32_t i, int32_t dev)
{
	return berth_cell(b->m->p, i, dev);
}

/* ---- equal devices ---- */

static bool equal(const berth_max_load *m, int32_t a, int32_t b)
{
	if (m->dev_s_per_byte[a] != m->dev_s_per_byte[b] || m->dev_limit_bytes[a] != m->dev_limit_bytes[b])
		return false;
	for (int32_t i = 0; i < m->n_items; i++)
		if (m->item_s[berth_cell(m->p, i, a)] != m->item_s[berth_cell(m->p, i, b)])
			return false;
	return true;
}

/* Rename equal devices by the first item on them. */
static berth_status rename_devices(builder *b, berth_err *err)
{
	int32_t *name;
	BERTH_TRY_NEW(b->mem, b->m->p->n_devs, err, name);
	for (int32_t d = 0; d < b->m->p->n_devs; d++)
		name[d] = -1;
	for (int32_t i = 0; i < b->m->n_items; i++) {
		int32_t dev = b->m->item_dev[i];
		for (int32_t d = 0; d < b->m->p->n_devs && name[dev] < 0; d++) {
			bool taken = false;
			for (int32_t e = 0; e < b->m->p->n_devs; e++)
				taken |= name[e] == d;
			if (!taken && equal(b->m, d, dev))
				name[dev] = d;
		}
		b->item_dev[i] = name[dev];
	}
	return BERTH_OK;
}

/* ---- columns ---- */

/* Is anybody who uses x in another item than its producer? */
static bool crosses(const berth_max_load *m, int32_t x)
{
	const berth_graph *g = m->p->g;
	bool any = false;
	BERTH_EACH (e, g->tensor_use_off, x)
		any |= m->op_item[g->edge_consumer[e]] != m->op_item[g->tensor_producer[x]];
	return any;
}

static berth_status transfer_columns(builder *b, berth_err *err)
{
	const berth_max_load *m = b->m;
	for (int32_t x = 0; x < m->p->g->n_tensors; x++)
		for (int32_t d = 0; d < m->p->n_devs; d++) {
			b->tensor_col[cell(b, x, d)] = -1;
			if (m->dev_s_per_byte[d] > 0 && m->p->g->tensor_bytes[x] > 0 && crosses(m, x))
				BERTH_TRY(berth_lp_col(b->lp, NULL, 0, 1, 0, false,
				                       &b->tensor_col[cell(b, x, d)], err));
		}
	return BERTH_OK;
}

/* ---- rows ---- */

static berth_status one_device_each(builder *b, berth_err *err)
{
	for (int32_t i = 0; i < b->m->n_items; i++) {
		BERTH_TRY(berth_lp_row(b->lp, NULL, 1, 1, err));
		for (int32_t d = 0; d < b->m->p->n_devs; d++)
			if (b->col[cell(b, i, d)] >= 0)
				BERTH_TRY(berth_lp_put(b->lp, b->col[cell(b, i, d)], 1, err));
	}
	return BERTH_OK;
}

/* y >= a - b on one device; an absent column is 0. */
static berth_status differs(builder *b, int32_t y, int32_t plus, int32_t minus, berth_err *err)
{
	if (plus < 0)
		return BERTH_OK;
	BERTH_TRY(berth_lp_row(b->lp, NULL, 0, BERTH_LP_INF, err));
	BERTH_TRY(berth_lp_put(b->lp, y, 1, err));
	BERTH_TRY(berth_lp_put(b->lp, plus, -1, err));
	return minus < 0 ? BERTH_OK : berth_lp_put(b->lp, minus, 1, err);
}

static berth_status transfers_of(builder *b, int32_t x, int32_t d, int32_t *seen, berth_err *err)
{
	const berth_graph *g = b->m->p->g;
	int32_t y = b->tensor_col[cell(b, x, d)], maker = b->m->op_item[g->tensor_producer[x]],
		stamp = x * b->m->p->n_devs + d;
	if (y < 0)
		return BERTH_OK;
	BERTH_EACH (e, g->tensor_use_off, x) {
		int32_t user = b->m->op_item[g->edge_consumer[e]];
		if (user == maker || seen[user] == stamp)
			continue;
		seen[user] = stamp;
		BERTH_TRY(differs(b, y, b->col[cell(b, maker, d)], b->col[cell(b, user, d)], err));
		BERTH_TRY(differs(b, y, b->col[cell(b, user, d)], b->col[cell(b, maker, d)], err));
	}
	return BERTH_OK;
}

static berth_status transfer_rows(builder *b, berth_err *err)
{
	int32_t *seen;
	BERTH_TRY_NEW(b->mem, b->m->n_items, err, seen);
	for (int32_t i = 0; i < b->m->n_items; i++)
		seen[i] = -1;
	for (int32_t x = 0; x < b->m->p->g->n_tensors; x++)
		for (int32_t d = 0; d < b->m->p->n_devs; d++)
			BERTH_TRY(transfers_of(b, x, d, seen, err));
	return BERTH_OK;
}

/* Bytes in units of the limit, so that the row is of order 1. */
static berth_status memory_row(builder *b, int32_t d, berth_err *err)
{
	const berth_max_load *m = b->m;
	if (m->dev_limit_bytes[d] == INT64_MAX)
		return BERTH_OK;
	double unit = fmax((double)m->dev_limit_bytes[d], 1);
	BERTH_TRY(berth_lp_row(b->lp, NULL, -BERTH_LP_INF, (double)m->dev_limit_bytes[d] / unit, err));
	for (int32_t i = 0; i < m->n_items; i++)
		if (b->col[cell(b, i, d)] >= 0)
			BERTH_TRY(berth_lp_put(b->lp, b->col[cell(b, i, d)], (double)m->item_bytes[i] / unit,
			                       err));
	return BERTH_OK;
}

/* ---- the start ---- */

static bool stands(const builder *b, int32_t op, int32_t d)
{
	return b->item_dev[b->m->op_item[op]] == d;
}

static berth_status build(builder *b, double least, berth_err *err)
{
	const berth_problem *p = b->m->p;
	BERTH_TRY_NEW(b->mem, (size_t)b->m->n_items * (size_t)p->n_devs, err, b->col);
	BERTH_TRY_NEW(b->mem, (size_t)p->g->n_tensors * (size_t)p->n_devs, err, b->tensor_col);
	BERTH_TRY_NEW(b->mem, p->n_devs, err, b->dev_rank);
	BERTH_TRY_NEW(b->mem, b->m->n_items, err, b->item_dev);
	for (int32_t d = 0; d < b->m->p->n_devs; d++) {
		b->dev_rank[d] = 0;
		for (int32_t e = 0; e < d; e++)
			b->dev_rank[d] += equal(b->m, e, d);
	}
	BERTH_TRY(rename_devices(b, err));
	BERTH_TRY(berth_lp_col(b->lp, "T", fmax(least, 0), b->upper, 1, false, &b->t_col, err));
	for (int32_t i = 0; i < b->m->n_items; i++)
		for (int32_t d = 0; d < b->m->p->n_devs; d++) {
			b->col[cell(b, i, d)] = -1;
			bool possible = b->m->item_s[cell(b, i, d)] <= b->upper &&
			                b->m->item_bytes[i] <= b->m->dev_limit_bytes[d];
			if (possible && b->dev_rank[d] <= i)
				BERTH_TRY(berth_lp_col(b->lp, NULL, 0, 1, 0, true, &b->col[cell(b, i, d)],
				                       err));
		}
	BERTH_TRY(transfer_columns(b, err));
	BERTH_TRY(one_device_each(b, err));
	for (int32_t d = 0; d < p->n_devs; d++) {
		const berth_max_load *m = b->m;
		BERTH_TRY(berth_lp_row(b->lp, NULL, 0, BERTH_LP_INF, err));
		BERTH_TRY(berth_lp_put(b->lp, b->t_col, 1, err));
		for (int32_t i = 0; i < m->n_items; i++)
			if (b->col[cell(b, i, d)] >= 0)
				BERTH_TRY(berth_lp_put(b->lp, b->col[cell(b, i, d)],
				                       -m->item_s[cell(b, i, d)], err));
		for (int32_t x = 0; x < m->p->g->n_tensors; x++)
			if (b->tensor_col[cell(b, x, d)] >= 0)
				BERTH_TRY(berth_lp_put(
					b->lp, b->tensor_col[cell(b, x, d)],
					-(double)m->p->g->tensor_bytes[x] * m->dev_s_per_byte[d], err));
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		BERTH_TRY(memory_row(b, d, err));
	return transfer_rows(b, err);
}

berth_status berth_max_load_lp_new(const berth_max_load *m, double least, berth_arena *mem,
                                   berth_max_load_lp *out, berth_err *err)
{
	builder b = {.m = m, .lp = &out->lp, .mem = mem, .upper = largest(m) * (1 + 1e-9)};
	berth_lp_init(&out->lp, "max_load", mem);
	BERTH_TRY(build(&b, least, err));
	out->item_dev_col = b.col;
	const berth_graph *g = b.m->p->g;
	double *x;
	BERTH_TRY_NEW(b.mem, b.lp->n_cols, err, x);
	for (int32_t i = 0; i < b.m->n_items; i++)
		if (b.col[cell(&b, i, b.item_dev[i])] >= 0)
			x[b.col[cell(&b, i, b.item_dev[i])]] = 1;
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t d = 0; d < b.m->p->n_devs; d++)
			for (int32_t e = g->tensor_use_off[t];
			     e < g->tensor_use_off[t + 1] && b.tensor_col[cell(&b, t, d)] >= 0; e++)
				if (stands(&b, g->tensor_producer[t], d) !=
				    stands(&b, g->edge_consumer[e], d))
					x[b.tensor_col[cell(&b, t, d)]] = 1;
	x[b.t_col] = b.upper;
	out->start = x;
	return BERTH_OK;
}

/* `ip`: the max-load throughput of J. Tarnawski, A. Phanishayee, N. Devanur, D. Mahajan, F. Nina Paravecino,
 * NeurIPS 2020, without contiguity. The answer of `dp` is annealed (max_load_search.h), which serves graphs
 * of any size. Then their integer program (max_load_lp.h) is solved from it, where it is not too large and
 * there is a solver, for what it finds and proves. All limits are counts.
 *
 * Beyond the paper: colocation groups joined by a tensor that costs more than the incumbent's whole load are
 * one item. Equal devices are told apart by the first item on them. A counting bound (max_load.h)
 * stands beside the solver's.
 *
 * A bound is proven for placements no worse than the incumbent, so for all. The solver's holds within its
 * tolerance (1e-6). */

enum { MOST_ENTRIES = 40000 }; /* of the model */

static const int64_t MOVES_AN_ITEM = 100000, MOST_MOVES = 20000000;

enum { MOST_NODES = 5000 };

#define NODES_OF(entries) (1.6e10 / (entries) / (entries)) /* default limit of nodes: some ten seconds */
#define TOLERANCE 1e-6

static berth_status check_knows(const berth_search *s, berth_err *err)
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
	berth_lp_options options = {
		.nodes = most_nodes(s, l.lp.n_entries), .start = l.start, .until = berth_search_patience(s)};
	BERTH_TRY_NEW(mem, s->p->n_ops, err, op_dev);
	BERTH_TRY(berth_lp_solve(&l.lp, &options, mem, tmp, &r, err));
	s->nodes = r.nodes;
	if (isfinite(r.value)) {
		for (int32_t op = 0; op < s->p->n_ops; op++)
			for (int32_t d = 0; d < s->p->n_devs; d++) {
				int32_t c = l.item_dev_col[berth_cell(s->p, m->op_item[op], d)];
				if (c >= 0 && r.x[c] > 0.5)
					op_dev[op] = d;
			}
		berth_search_offer(s, op_dev, NULL);
	}
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

static berth_status ip_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(check_knows(s, err));
	BERTH_TRY(start(s, tmp, err));
	s->proof = BERTH_PROOF_LIMIT;
	if (!berth_score_feasible(s->best) || s->p->n_ops == 0)
		return BERTH_OK;
	BERTH_ARENA(mem);
	berth_arena_init(&mem, tmp->hook);
	berth_max_load m;
	BERTH_TRY(new_loads(s, &mem, tmp, &m, err));
	int64_t moves = m.n_items * MOVES_AN_ITEM;
	BERTH_TRY(berth_can_move(s->p)
	                  ? berth_max_load_search(s, &m, moves < MOST_MOVES ? moves : MOST_MOVES, tmp, err)
	                  : BERTH_OK);
	BERTH_TRY(prove(s, &mem, tmp, err));
	if (s->best.value <= s->bound * (1 + 2 * TOLERANCE))
		s->proof = BERTH_PROOF_OPTIMAL;
	return BERTH_OK;
}

const berth_method berth_method_ip = {"ip",
                                      "Max-load throughput without contiguity: annealing from dp, then the "
                                      "integer program by CBC (Tarnawski et al. 2020).",
                                      false, ip_run, NULL, "Tarnawski et al., NeurIPS 2020"};
