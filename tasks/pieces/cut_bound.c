/* The bound of all programs of pieces; see cut_bound.h. */
#include "cut_bound.h"

#include "bounds_load.h"
#include "cost_model.h"

#include <math.h>
#include <string.h>

/* What rounding to whole nanoseconds may take from the pieces of an operator, at most. */
#define ROUNDED_NS 2

static bool is_known(const berth_cutting *c)
{
	const berth_system *s = c->p->s;
	bool known = s->cost_model->strong_bounds && (berth_objective_is(&c->objective, BERTH_LATENCY) ||
	                                              berth_objective_is(&c->objective, BERTH_THROUGHPUT));
	for (int32_t d = 0; d < s->n_devs; d++)
		known &= s->dev_op_overhead_s[d] >= 1e-9;
	return known;
}

/* Operators as the sum of their pieces at least is: without what pieces may leave out, and rounded down. */
static berth_status least_problem(const berth_cutting *c, berth_arena *tmp, berth_graph *g, berth_system *s,
                                  berth_problem *out, berth_err *err)
{
	const berth_graph *whole = c->p->g;
	int64_t *bytes;
	*g = *whole;
	*s = *c->p->s;
	s->n_pools = 0;
	BERTH_TRY(BERTH_NEW(tmp, bytes, g->n_ops, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		double loose = c->axes[op] ? ceil(c->axes[op]->loose_bytes) : 0;
		bytes[op] = whole->op_read_bytes[op] - (int64_t)loose;
		bytes[op] = bytes[op] < 0 ? 0 : bytes[op];
	}
	g->op_read_bytes = bytes;
	berth_arena scratch = {.hook = tmp->hook};
	berth_status st = berth_problem_new(g, s, tmp, &scratch, out, err);
	berth_arena_free(&scratch);
	BERTH_TRY(st);
	for (int32_t op = 0; op < g->n_ops; op++)
		for (int32_t d = 0; c->axes[op] && d < s->n_devs; d++) {
			int64_t *ns = &out->op_dev_time_ns[(size_t)op * (size_t)s->n_devs + (size_t)d];
			*ns = *ns < 0 ? -1 : *ns > ROUNDED_NS ? *ns - ROUNDED_NS : 0;
		}
	return BERTH_OK;
}

/* The least time from the start to the end of op: of an operator that can be cut, of a piece. */
static int64_t least_ns(const berth_cutting *c, int32_t op)
{
	const berth_problem *p = c->p;
	int64_t least = INT64_MAX;
	for (int32_t d = 0; d < p->n_devs; d++) {
		if (!berth_op_legal(p, op, d))
			continue;
		int64_t ns = berth_op_time(p, op, d), fixed = (int64_t)(p->s->dev_op_overhead_s[d] * 1e9);
		ns = c->axes[op] && fixed < ns ? fixed : ns;
		least = ns < least ? ns : least;
	}
	return least == INT64_MAX ? 0 : least;
}

/* The longest path, each operator by one piece. One that has pieces which leave an input out begins anew. */
static berth_status longest_path(const berth_cutting *c, berth_arena *tmp, int64_t *out, berth_err *err)
{
	const berth_graph *g = c->p->g;
	int64_t *end;
	*out = 0;
	BERTH_TRY(BERTH_NEW(tmp, end, g->n_ops, err));
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i];
		for (int32_t k = g->op_in_off[op]; k < g->op_in_off[op + 1]; k++) {
			int64_t before = end[g->tensor_producer[g->in_tensor[k]]];
			if (!c->axes[op] || !c->axes[op]->skips)
				end[op] = before > end[op] ? before : end[op];
		}
		end[op] += least_ns(c, op);
		*out = end[op] > *out ? end[op] : *out;
	}
	return BERTH_OK;
}

static berth_status bound(const berth_cutting *c, berth_arena *tmp, double *out, berth_err *err)
{
	berth_graph g;
	berth_system s;
	berth_problem p;
	int64_t load_ns, path_ns = 0;
	double ns;
	BERTH_TRY(least_problem(c, tmp, &g, &s, &p, err));
	BERTH_TRY(berth_load_dual(&p, &load_ns, &ns, tmp, err));
	if (berth_objective_is(&c->objective, BERTH_LATENCY)) {
		BERTH_TRY(longest_path(c, tmp, &path_ns, err));
		ns = (double)(path_ns > load_ns ? path_ns : load_ns);
	}
	*out = ns * 1e-9;
	return BERTH_OK;
}

berth_status berth_cut_bound(const berth_cutting *c, berth_arena *tmp, double *out, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	*out = NAN;
	berth_status st = is_known(c) ? bound(c, tmp, out, err) : BERTH_OK;
	berth_arena_reset(tmp, mark);
	return st;
}
