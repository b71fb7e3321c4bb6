/* The linear program of small communication times (C. Hanen and A. Munier, "An approximation algorithm for
 * scheduling dependent tasks on m processors with small communication delays", ETFA 1995; as used by Baechi).
 * Operators have mean times p and starts s, edges mean transfers c; w is the length. x is 0 where the edge's
 * consumer is the favourite child of its producer, else 1:
 *     minimise w
 *     s_i + p_i + c_ij x_ij <= s_j,  s_i + p_i <= w,  0 <= x <= 1
 *     sum over children of i of x >= children - 1
 *     sum over parents of j of x >= parents - 1
 * x is rounded at 1/2. By the sums at most one child and one parent of an operator is below. Where many
 * starts leave w alone, the program is free to choose any; a small cost of the starts decides for early ones.
 *
 * Operators in topological order are cut into windows, one program each. Starts of earlier windows are known
 * then. A producer of an earlier window can give a favourite only if it has none yet, and to an operator with
 * very many of them only if it is one of the latest. All others together are one row of that operator. */
#include "favourite.h"

#include "lp.h"
#include "sort.h"

favourite_cfg favourite_cfg_default(void)
{
	return (favourite_cfg){.window = 1000, .promptness = 0.01};
}

/* One edge a pair of operators that are not of one colocation group, by consumer. Its c is the sum over the
 * pair's tensors, as a channel carries them in turn. */
typedef struct pairs {
	size_t *off; /* [n_ops+1] of a consumer */
	int32_t *producer;
	int64_t *ns;
	int32_t *children; /* [n_ops] of a producer */
} pairs;

typedef struct favourite {
	const berth_problem *p;
	const favourite_cfg *cfg;
	pairs e;
	double scale;          /* model time of a nanosecond */
	double *op_end;        /* [n_ops] model time, of solved windows */
	int32_t *op_start_col; /* [n_ops] of the present window; -1: before it */
	int32_t *pair_col;     /* x, -1: fixed at 1 */
	/* [n_ops], [pairs] x of a producer in the present window, linked by pair; -1: the end */
	int32_t *op_first, *pair_next;
	int32_t *op_child;
} favourite;

static berth_status collect(const berth_problem *p, pairs *e, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	size_t n = 0;
	BERTH_TRY_NEW(tmp, (size_t)p->n_ops + 1, err, e->off);
	BERTH_TRY_NEW(tmp, (size_t)g->n_edges + 1, err, e->producer, e->ns);
	BERTH_TRY_NEW(tmp, p->n_ops, err, e->children);
	for (int32_t op = 0; op < p->n_ops; op++) {
		e->off[op] = n;
		/* Tensors ascend, so those of one producer are neighbours. */
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t t = g->in_tensor[i], from = g->tensor_producer[t];
			if (p->op_coloc[from] == p->op_coloc[op])
				continue;
			if (n == e->off[op] || e->producer[n - 1] != from) {
				e->children[from]++;
				e->producer[n++] = from;
			}
			e->ns[n - 1] += p->class_mean_ns[p->tensor_class[t]];
		}
	}
	e->off[p->n_ops] = n;
	return BERTH_OK;
}

/* ---- one window ---- */

enum { MOST_OUTSIDE = 64 }; /* producers of earlier windows that an operator may be the favourite of */

/* Is the producer of the pair in an earlier window? */
static bool is_outside(const favourite *f, size_t i)
{
	return f->op_start_col[f->e.producer[i]] < 0;
}

/* When what such a producer makes can be on another device. */
static double arrival(const favourite *f, size_t i)
{
	return f->op_end[f->e.producer[i]] + f->scale * (double)f->e.ns[i];
}

/* The earliest of the latest ones comes first; of equals the last. */
static bool is_earlier(const void *ctx, const void *a, const void *b)
{
	const size_t *i = a, *k = b;
	double x = arrival(ctx, *i), y = arrival(ctx, *k);
	return x != y ? x < y : *i > *k;
}

static berth_status add_columns(favourite *f, berth_lp *lp, int32_t first, int32_t end, berth_err *err)
{
	const berth_graph *g = f->p->g;
	double cost = f->cfg->promptness / (end - first);
	for (int32_t k = first; k < end; k++)
		BERTH_TRY(berth_lp_col(lp, NULL, 0, BERTH_LP_INF, cost, false,
		                       &f->op_start_col[g->topo_op[k]], err));
	for (int32_t k = first; k < end; k++) {
		int32_t op = g->topo_op[k];
		/* Those pairs of op with earlier windows that may have an x: pair_col is 0 there, else
		 * -1. */
		size_t latest[MOST_OUTSIDE + 1], n = 0;
		for (size_t i = f->e.off[op]; i < f->e.off[op + 1]; i++) {
			f->pair_col[i] = -1;
			if (!is_outside(f, i) || f->op_child[f->e.producer[i]] >= 0)
				continue;
			berth_heap_push(latest, n++, sizeof i, &i, is_earlier, f);
			if (n > MOST_OUTSIDE)
				berth_heap_pop(latest, n--, sizeof i, is_earlier, f);
		}
		while (n > 0)
			f->pair_col[latest[--n]] = 0;
		for (size_t i = f->e.off[op]; i < f->e.off[op + 1]; i++) {
			int32_t from = f->e.producer[i];
			if (is_outside(f, i) && f->pair_col[i] < 0)
				continue;
			BERTH_TRY(berth_lp_col(lp, NULL, 0, 1, 0, false, &f->pair_col[i], err));
			f->pair_next[i] = f->op_first[from];
			f->op_first[from] = (int32_t)i;
		}
	}
	return BERTH_OK;
}

/* All edges of op; those whose x is fixed at 1 say no more than the latest of them. */
static berth_status add_edges(const favourite *f, berth_lp *lp, int32_t op, berth_err *err)
{
	double least = 0;
	for (size_t i = f->e.off[op]; i < f->e.off[op + 1]; i++) {
		if (f->pair_col[i] >= 0) {
			/* s_j - s_i - c x >= p_i, or s_j - c x >= end_i where the producer's window is
			 * solved. */
			int32_t from = f->e.producer[i], start = f->op_start_col[from];
			double time = f->scale * (double)f->p->op_mean_ns[from],
			       wait = f->scale * (double)f->e.ns[i];
			BERTH_TRY(berth_lp_row(lp, NULL, start >= 0 ? time : f->op_end[from], BERTH_LP_INF,
			                       err));
			BERTH_TRY(berth_lp_put(lp, f->op_start_col[op], 1, err));
			if (start >= 0)
				BERTH_TRY(berth_lp_put(lp, start, -1, err));
			BERTH_TRY(berth_lp_put(lp, f->pair_col[i], -wait, err));
		} else
			least = fmax(least, arrival(f, i));
	}
	if (!(least > 0))
		return BERTH_OK;
	BERTH_TRY(berth_lp_row(lp, NULL, least, BERTH_LP_INF, err));
	return berth_lp_put(lp, f->op_start_col[op], 1, err);
}

static berth_status add_parents(const favourite *f, berth_lp *lp, int32_t op, berth_err *err)
{
	double n = 0;
	for (size_t i = f->e.off[op]; i < f->e.off[op + 1]; i++)
		n += f->pair_col[i] >= 0;
	if (n < 2)
		return BERTH_OK;
	BERTH_TRY(berth_lp_row(lp, NULL, n - 1, BERTH_LP_INF, err));
	for (size_t i = f->e.off[op]; i < f->e.off[op + 1]; i++)
		if (f->pair_col[i] >= 0)
			BERTH_TRY(berth_lp_put(lp, f->pair_col[i], 1, err));
	return BERTH_OK;
}

/* For a producer with x in this window, once: its list is taken. */
static berth_status add_children(favourite *f, berth_lp *lp, int32_t from, berth_err *err)
{
	double n = 0;
	for (int32_t i = f->op_first[from]; i >= 0; i = f->pair_next[i])
		n++;
	int32_t first = f->op_first[from];
	f->op_first[from] = -1;
	if (n < 2)
		return BERTH_OK;
	BERTH_TRY(berth_lp_row(lp, NULL, n - 1, BERTH_LP_INF, err));
	for (int32_t i = first; i >= 0; i = f->pair_next[i])
		BERTH_TRY(berth_lp_put(lp, f->pair_col[i], 1, err));
	return BERTH_OK;
}

static berth_status solve_window(favourite *f, int32_t first, int32_t end, double *length, berth_arena *tmp,
                                 berth_err *err)
{
	berth_lp lp;
	berth_lp_result r;
	int32_t w;
	BERTH_ARENA(mem);
	berth_arena_init(&mem, tmp->hook);
	berth_lp_init(&lp, "favourite children", &mem);
	BERTH_TRY(berth_lp_col(&lp, "length", 0, BERTH_LP_INF, 1, false, &w, err));
	BERTH_TRY(add_columns(f, &lp, first, end, err));
	for (int32_t k = first; k < end; k++) {
		int32_t op = f->p->g->topo_op[k];
		BERTH_TRY(
			berth_lp_row(&lp, NULL, f->scale * (double)f->p->op_mean_ns[op], BERTH_LP_INF, err));
		BERTH_TRY(berth_lp_put(&lp, w, 1, err));
		BERTH_TRY(berth_lp_put(&lp, f->op_start_col[op], -1, err));
		BERTH_TRY(add_edges(f, &lp, op, err));
		BERTH_TRY(add_parents(f, &lp, op, err));
		for (size_t i = f->e.off[op]; i < f->e.off[op + 1]; i++)
			BERTH_TRY(add_children(f, &lp, f->e.producer[i], err));
	}
	BERTH_TRY(berth_lp_solve(&lp, NULL, &mem, tmp, &r, err));
	/* Round, and leave the window behind. Without a solution (the solver gave up) it has no favourites,
	 * and starts are as in the relaxation without transfers. */
	bool solved = isfinite(r.value);
	for (int32_t k = first; k < end; k++) {
		int32_t op = f->p->g->topo_op[k];
		double start = solved ? r.x[f->op_start_col[op]] : 0;
		for (size_t i = f->e.off[op]; i < f->e.off[op + 1]; i++) {
			if (!solved)
				start = fmax(start, f->op_end[f->e.producer[i]]);
			else if (f->pair_col[i] >= 0 && r.x[f->pair_col[i]] < 0.5 - 1e-9)
				f->op_child[f->e.producer[i]] = op;
		}
		f->op_end[op] = start + f->scale * (double)f->p->op_mean_ns[op];
	}
	for (int32_t k = first; k < end; k++)
		f->op_start_col[f->p->g->topo_op[k]] = -1;
	if (isfinite(r.value) && r.x[w] > *length)
		*length = r.x[w];
	return BERTH_OK;
}

static berth_status new_favourite(favourite *f, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = f->p;
	double sum = 1;
	BERTH_TRY(collect(p, &f->e, tmp, err));
	BERTH_TRY_NEW(tmp, p->n_ops, err, f->op_end, f->op_start_col, f->op_first);
	BERTH_TRY_NEW(tmp, f->e.off[p->n_ops], err, f->pair_col, f->pair_next);
	for (int32_t op = 0; op < p->n_ops; op++) {
		f->op_start_col[op] = f->op_first[op] = f->op_child[op] = -1;
		sum += (double)p->op_mean_ns[op];
	}
	f->scale = (p->n_ops + 1) / sum; /* an operator takes 1 in the mean */
	return BERTH_OK;
}

berth_status favourite_children(const berth_problem *p, const favourite_cfg *cfg, int32_t *op_child,
                                double *length_ns, berth_arena *tmp, berth_err *err)
{
	favourite f = {.p = p, .cfg = cfg, .op_child = op_child};
	double length = 0;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(new_favourite(&f, tmp, err));
	for (int32_t first = 0; first < p->n_ops && (first == 0 || !cfg->go_on || cfg->go_on(cfg->ctx));
	     first += cfg->window) {
		int32_t end = p->n_ops - first < cfg->window ? p->n_ops : first + cfg->window;
		BERTH_TRY(solve_window(&f, first, end, &length, tmp, err));
	}
	if (length_ns)
		*length_ns = length / f.scale;
	return BERTH_OK;
}
