/* Every placement under the system's order rule, and, where they are few enough, under every order that
 * devices can start their operators in. For up to MOST operators; more are grouped.
 *
 * What is proven: where orders were tried too, or do not matter (throughput), no placement with any order is
 * better. Else only that no placement is better under the system's rule. That is no bound on placements with
 * an order of their own. */
#include "coloc.h"
#include "exact.h"
#include "method.h"

enum { MOST = 12 };
#define TRIES 6e5       /* placements that are tried at most: 12 operators on 3 devices */
#define ORDER_TRIES 2e5 /* placements times orders, where orders are tried too */

typedef struct trial {
	berth_search *s;
	int32_t *op_dev, *order;
	uint32_t *above; /* [n_ops] producers, as bits */
	bool orders;
} trial;

/* Topological orders of all operators: those of each set that is closed upwards, from the empty one on. */
static berth_status count_orders(const trial *t, berth_arena *tmp, double *count, berth_err *err)
{
	int32_t n = t->s->p->n_ops;
	double *of;
	BERTH_TRY(BERTH_NEW(tmp, of, (size_t)1 << n, err));
	of[0] = 1;
	for (uint32_t set = 0; set < UINT32_C(1) << n; set++)
		for (int32_t op = 0; op < n && of[set] > 0; op++)
			if (!(set >> op & 1) && (t->above[op] & ~set) == 0)
				of[set | UINT32_C(1) << op] += of[set];
	*count = of[(UINT32_C(1) << n) - 1];
	return BERTH_OK;
}

static void offer(trial *t, const int32_t *order)
{
	berth_search *s = t->s;
	if (s->cfg.nodes > 0 && s->nodes == s->cfg.nodes)
		s->stopped = true;
	if (s->stopped)
		return;
	s->nodes++;
	berth_search_offer(s, t->op_dev, order);
}

static void try_orders(trial *t, int32_t at, uint32_t done)
{
	int32_t n = t->s->p->n_ops;
	if (at == n)
		offer(t, t->order);
	for (int32_t op = 0; op < n && !t->s->stopped; op++)
		if (!(done >> op & 1) && (t->above[op] & ~done) == 0) {
			t->order[at] = op;
			try_orders(t, at + 1, done | UINT32_C(1) << op);
		}
}

static void try_colocs(trial *t, int32_t coloc)
{
	const berth_problem *p = t->s->p;
	if (coloc == p->n_colocs) {
		offer(t, NULL);
		if (t->orders)
			try_orders(t, 0, 0);
		berth_search_budget_left(t->s, 1); /* time and cancelling */
		return;
	}
	for (int32_t d = 0; d < p->n_devs && !t->s->stopped; d++)
		if (berth_coloc_legal(p, coloc, d)) {
			berth_coloc_put(p, coloc, d, t->op_dev);
			try_colocs(t, coloc + 1);
		}
}

static double count_placements(const berth_problem *p)
{
	double count = 1;
	for (int32_t u = 0; u < p->n_colocs; u++)
		count *= berth_coloc_n_legal(p, u);
	return count;
}

static bool orders_matter(const berth_objective *o)
{
	const berth_metric_row *m = berth_objective_metric(o);
	return !m || !m->by_load;
}

static berth_status prepare(trial *t, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = t->s->p;
	const berth_graph *g = p->g;
	double orders;
	BERTH_TRY(BERTH_NEW(tmp, t->op_dev, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, t->order, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, t->above, p->n_ops, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++)
			t->above[op] |= UINT32_C(1) << g->tensor_producer[g->in_tensor[i]];
	BERTH_TRY(count_orders(t, tmp, &orders, err));
	t->orders = orders * count_placements(p) <= ORDER_TRIES &&
	            orders_matter(&t->s->cfg.objective);
	return BERTH_OK;
}

static berth_status solve(berth_search *s, berth_arena *tmp, berth_err *err)
{
	trial t = {.s = s};
	BERTH_TRY(prepare(&t, tmp, err));
	try_colocs(&t, 0);
	if (s->stopped) /* by a limit, or because the incumbent has reached the bound */
		s->proof = berth_score_feasible(s->best) && s->best.value <= s->bound ? BERTH_PROOF_OPTIMAL
		                                                                      : BERTH_PROOF_LIMIT;
	else if ((t.orders || !orders_matter(&s->cfg.objective)) && berth_score_feasible(s->best)) {
		s->proof = BERTH_PROOF_OPTIMAL;
		berth_search_prove(s, s->best.value);
	}
	return BERTH_OK;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	int32_t most = 1;
	for (double all = s->p->n_devs; most < MOST && (all *= s->p->n_devs) <= TRIES; most++)
		;
	return berth_exact_or_grouped(s, most, most, solve, tmp, err);
}

const berth_method berth_method_brute_force = {
	"brute-force",
	"Tries every placement, and every order where they are few, of up to 12 operators or groups.", false,
	run, NULL};
