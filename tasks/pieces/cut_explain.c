/* What can be said of programs of pieces: the bound that none is below, and what the cuts of each type of
 * operator gain. */
#include "cut_search.h"

#include "bounds_load.h"
#include "cost_model.h"
#include "cut_seeds.h"

/* ---- the bound ---- */

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
	BERTH_TRY_NEW(tmp, g->n_ops, err, bytes);
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
			int64_t *ns = &BERTH_ROW(out->op_dev_time_ns, op, s->n_devs)[d];
			*ns = *ns < 0 ? -1 : *ns > ROUNDED_NS ? *ns - ROUNDED_NS : 0;
		}
	return BERTH_OK;
}

/* The longest path, each operator by one piece. One that has pieces which leave an input out begins anew. */
static berth_status longest_path(const berth_cutting *c, berth_arena *tmp, int64_t *out, berth_err *err)
{
	const berth_graph *g = c->p->g;
	int64_t *end;
	*out = 0;
	BERTH_TRY_NEW(tmp, g->n_ops, err, end);
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i];
		BERTH_EACH (k, g->op_in_off, op) {
			int64_t before = end[g->tensor_producer[g->in_tensor[k]]];
			if (!c->axes[op] || !c->axes[op]->skips)
				end[op] = before > end[op] ? before : end[op];
		}
		/* The least time from the start to the end of op: of an operator that can be cut, of a
		 * piece. */
		const berth_problem *p = c->p;
		int64_t least = INT64_MAX;
		for (int32_t d = 0; d < p->n_devs; d++) {
			if (!berth_op_legal(p, op, d))
				continue;
			int64_t ns = berth_op_time(p, op, d),
				fixed = (int64_t)(p->s->dev_op_overhead_s[d] * 1e9);
			ns = c->axes[op] && fixed < ns ? fixed : ns;
			least = ns < least ? ns : least;
		}
		end[op] += least == INT64_MAX ? 0 : least;
		*out = end[op] > *out ? end[op] : *out;
	}
	return BERTH_OK;
}

static berth_status bound_programs(const berth_cutting *c, berth_arena *tmp, double *out, berth_err *err)
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
	BERTH_SCRATCH(tmp);
	*out = NAN;
	return is_known(c) ? bound_programs(c, tmp, out, err) : BERTH_OK;
}

/* ---- gains ---- */

static void add_operator(berth_cut_gain *x, const pieces_made *m)
{
	x->ops++;
	x->pieces += m->k;
	for (int32_t i = 0; i < m->k; i++) {
		double share = (double)(m->own[i + 1] - m->own[i]) / (double)m->length;
		x->least_share = share < x->least_share ? share : x->least_share;
		x->most_share = share > x->most_share ? share : x->most_share;
	}
}

static berth_status group_by_type(const pieces_model *m, berth_arena *mem, berth_cut_gain **out, int32_t *n,
                          berth_err *err)
{
	berth_strmap types;
	berth_strmap_init(&types, mem);
	*n = 0;
	BERTH_TRY_NEW(mem, m->n_made, err, *out);
	for (int32_t i = 0; i < m->n_made; i++) {
		int32_t at;
		BERTH_TRY(berth_strmap_add(&types, m->made[i].type, *n, &at, err));
		if (at == *n)
			(*out)[(*n)++] = (berth_cut_gain){.type = m->made[i].type, .least_share = 1};
		add_operator(&(*out)[at], &m->made[i]);
	}
	return BERTH_OK;
}

/* The program whose operators are as in `from`, but for those of the type, which are whole: op [n_ops] then.
 * each holds the program, mem the ways. */
static berth_status score_without(const berth_cutting *c, berth_cut_result *r, const char *type,
                                  const berth_cut_op *from, berth_arena *mem, berth_arena *each,
                                  berth_arena *tmp, berth_cut_op *op, berth_cut_program *out, berth_err *err)
{
	BERTH_COPY(op, from, c->p->n_ops);
	/* Operators of a type are whole; each is the scratch, mem holds their ways. */
	const berth_graph *g = c->p->g;
	const pieces_model *m = &r->cut.program->made;
	berth_strmap cut;
	berth_strmap_init(&cut, each);
	for (int32_t i = 0; i < m->n_made; i++) {
		int32_t found;
		if (strcmp(m->made[i].type, type) == 0)
			BERTH_TRY(berth_strmap_add(&cut, m->made[i].op, i, &found, err));
	}
	for (int32_t i = 0; i < g->n_ops; i++)
		if (berth_strmap_get(&cut, g->op_name[i]) >= 0)
			BERTH_TRY(berth_cut_whole(berth_cut_way_most(op[i].way), mem, &op[i].way, err));
	BERTH_TRY(berth_cut_program_make(c, op, each, tmp, out, err));
	r->programs++;
	r->evaluations += out->evaluations;
	return BERTH_OK;
}

berth_status berth_cut_explain(const berth_cutting *c, berth_cut_result *r, berth_arena *mem,
                               berth_arena *tmp, berth_cut_gain **out, int32_t *n, berth_err *err)
{
	BERTH_TRY(group_by_type(&r->cut.program->made, mem, out, n, err));
	for (berth_cut_gain *x = *out; x < *out + *n; x++) {
		berth_cut_op *op;
		berth_cut_program program;
		BERTH_ARENA(each);
		berth_arena_init(&each, mem->hook);
		BERTH_TRY_NEW(&each, c->p->n_ops, err, op);
		BERTH_TRY(score_without(c, r, x->type, r->cut.op, &each, &each, tmp, op, &program, err));
		x->undone = berth_score_feasible(program.score) ? program.score.value : NAN;
	}
	return BERTH_OK;
}

/* ---- types that are better whole ---- */

/* *gains: op is better without the cuts of this type, and has none of them now. best is its score. */
static berth_status try_whole(const berth_cutting *c, berth_cut_result *r, const char *type, berth_arena *mem,
                              berth_arena *each, berth_arena *tmp, berth_cut_op *op, berth_score *best,
                              bool *gains, berth_err *err)
{
	berth_cut_op *next;
	berth_cut_program program;
	BERTH_SCRATCH(each);
	BERTH_TRY_NEW(mem, c->p->n_ops, err, next);
	BERTH_TRY(score_without(c, r, type, op, mem, each, tmp, next, &program, err));
	*gains = program.made.n_made > 0 && berth_score_less(program.score, *best);
	if (!*gains)
		return BERTH_OK;
	*best = program.score;
	BERTH_COPY(op, next, c->p->n_ops);
	return BERTH_OK;
}

berth_status berth_cut_prune(const berth_cutting *c, berth_cut_result *r, bool (*over)(void *ctx), void *ctx,
                             berth_arena *mem, berth_arena *tmp, berth_cut_op *op, bool *any, berth_err *err)
{
	berth_score best = r->cut.program->score;
	berth_cut_gain *types;
	bool *whole;
	int32_t n_types;
	BERTH_ARENA(each); /* of one program */
	berth_arena_init(&each, mem->hook);
	*any = false;
	BERTH_COPY(op, r->cut.op, c->p->n_ops);
	BERTH_TRY(group_by_type(&r->cut.program->made, mem, &types, &n_types, err));
	BERTH_TRY_NEW(mem, n_types, err, whole);
	for (bool more = true; more;) {
		more = false;
		for (int32_t i = 0; i < n_types && !over(ctx); i++) {
			if (whole[i])
				continue;
			BERTH_TRY(try_whole(c, r, types[i].type, mem, &each, tmp, op, &best, &whole[i], err));
			more |= whole[i];
		}
		*any |= more;
	}
	return BERTH_OK;
}
