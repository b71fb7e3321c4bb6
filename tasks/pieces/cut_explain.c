/* What cuts gain; see cut_explain.h. */
#include "cut_explain.h"

#include "cut_seeds.h"
#include "text.h"

#include <math.h>
#include <string.h>

static void add(berth_cut_gain *x, const pieces_made *m)
{
	x->ops++;
	x->pieces += m->k;
	for (int32_t i = 0; i < m->k; i++) {
		double share = (double)(m->own[i + 1] - m->own[i]) / (double)m->length;
		x->least_share = share < x->least_share ? share : x->least_share;
		x->most_share = share > x->most_share ? share : x->most_share;
	}
}

static berth_status group(const pieces_model *m, berth_arena *mem, berth_cut_gain **out, int32_t *n,
                          berth_err *err)
{
	berth_strmap types;
	berth_strmap_init(&types, mem);
	*n = 0;
	BERTH_TRY(BERTH_NEW(mem, *out, m->n_made, err));
	for (int32_t i = 0; i < m->n_made; i++) {
		int32_t at;
		BERTH_TRY(berth_strmap_add(&types, m->made[i].type, *n, &at, err));
		if (at == *n)
			(*out)[(*n)++] = (berth_cut_gain){.type = m->made[i].type, .least_share = 1};
		add(&(*out)[at], &m->made[i]);
	}
	return BERTH_OK;
}

/* Operators of a type are whole; each is the scratch, mem holds their ways. */
static berth_status undo(const berth_cutting *c, const berth_cut_answer *a, const char *type,
                         berth_arena *mem, berth_arena *each, berth_cut_op *op, berth_err *err)
{
	const berth_graph *g = c->p->g;
	const pieces_model *m = &a->program->made;
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
	return BERTH_OK;
}

static berth_status value_without(const berth_cutting *c, berth_cut_result *r, berth_arena *each,
                                  berth_arena *tmp, berth_cut_gain *x, berth_err *err)
{
	berth_cut_op *op;
	berth_cut_program program;
	BERTH_TRY(BERTH_NEW(each, op, c->p->n_ops, err));
	memcpy(op, r->cut.op, (size_t)c->p->n_ops * sizeof *op);
	BERTH_TRY(undo(c, &r->cut, x->type, each, each, op, err));
	BERTH_TRY(berth_cut_program_make(c, op, each, tmp, &program, err));
	r->programs++;
	r->evaluations += program.evaluations;
	x->undone = berth_score_feasible(program.score) ? program.score.value : NAN;
	return BERTH_OK;
}

berth_status berth_cut_explain(const berth_cutting *c, berth_cut_result *r, berth_arena *mem,
                               berth_arena *tmp, berth_cut_gain **out, int32_t *n, berth_err *err)
{
	BERTH_TRY(group(&r->cut.program->made, mem, out, n, err));
	for (int32_t i = 0; i < *n; i++) {
		berth_arena each = {.hook = mem->hook};
		berth_status st = value_without(c, r, &each, tmp, &(*out)[i], err);
		berth_arena_free(&each);
		BERTH_TRY(st);
	}
	return BERTH_OK;
}

/* ---- types that are better whole ---- */

typedef struct pruning {
	const berth_cutting *c;
	berth_arena *mem, *tmp;
	berth_arena each; /* of one program; emptied after each */
	berth_cut_op *op; /* [n_ops] as far as it has come */
	berth_score best; /* of op, by rule */
	berth_cut_result *r;
} pruning;

/* *gains: op is better without the cuts of this type, and has none of them now. */
static berth_status try_whole(pruning *p, const char *type, bool *gains, berth_err *err)
{
	size_t bytes = (size_t)p->c->p->n_ops * sizeof *p->op;
	berth_cut_op *op;
	berth_cut_program program;
	BERTH_TRY(BERTH_NEW(p->mem, op, p->c->p->n_ops, err));
	memcpy(op, p->op, bytes);
	BERTH_TRY(undo(p->c, &p->r->cut, type, p->mem, &p->each, op, err));
	BERTH_TRY(berth_cut_program_make(p->c, op, &p->each, p->tmp, &program, err));
	p->r->programs++;
	p->r->evaluations += program.evaluations;
	*gains = program.made.n_made > 0 && berth_score_less(program.score, p->best);
	if (!*gains)
		return BERTH_OK;
	p->best = program.score;
	memcpy(p->op, op, bytes);
	return BERTH_OK;
}

/* Types once over. *any: some are whole now. */
static berth_status prune_once(pruning *p, const berth_cut_gain *types, int32_t n, bool *whole,
                               bool (*over)(void *ctx), void *ctx, bool *any, berth_err *err)
{
	*any = false;
	for (int32_t i = 0; i < n && !over(ctx); i++) {
		if (whole[i])
			continue;
		berth_arena_mark mark = berth_arena_get_mark(&p->each);
		BERTH_TRY(try_whole(p, types[i].type, &whole[i], err));
		berth_arena_reset(&p->each, mark);
		*any |= whole[i];
	}
	return BERTH_OK;
}

berth_status berth_cut_prune(const berth_cutting *c, berth_cut_result *r, bool (*over)(void *ctx), void *ctx,
                             berth_arena *mem, berth_arena *tmp, berth_cut_op *op, bool *any, berth_err *err)
{
	pruning p = {c, mem, tmp, {.hook = mem->hook}, op, r->cut.program->score, r};
	berth_cut_gain *types;
	bool *whole, more = true;
	int32_t n_types;
	berth_status st = BERTH_OK;
	*any = false;
	memcpy(op, r->cut.op, (size_t)c->p->n_ops * sizeof *op);
	BERTH_TRY(group(&r->cut.program->made, mem, &types, &n_types, err));
	BERTH_TRY(BERTH_NEW(mem, whole, n_types, err));
	while (st == BERTH_OK && more) {
		st = prune_once(&p, types, n_types, whole, over, ctx, &more, err);
		*any |= more;
	}
	berth_arena_free(&p.each);
	return st;
}
