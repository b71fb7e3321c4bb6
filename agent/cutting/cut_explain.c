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

/* What becomes of the operators, but for those of a type, which are whole. */
static berth_status undo(const berth_cutting *c, const berth_cut_answer *a, const char *type,
                         berth_arena *each, berth_cut_op *op, berth_err *err)
{
	const berth_graph *g = c->p->g;
	const pieces_model *m = &a->program->made;
	berth_strmap cut;
	memcpy(op, a->op, (size_t)g->n_ops * sizeof *op);
	berth_strmap_init(&cut, each);
	for (int32_t i = 0; i < m->n_made; i++) {
		int32_t found;
		if (strcmp(m->made[i].type, type) == 0)
			BERTH_TRY(berth_strmap_add(&cut, m->made[i].op, i, &found, err));
	}
	for (int32_t i = 0; i < g->n_ops; i++)
		if (berth_strmap_get(&cut, g->op_name[i]) >= 0)
			BERTH_TRY(berth_cut_whole(berth_cut_way_most(op[i].way), each, &op[i].way, err));
	return BERTH_OK;
}

static berth_status value_without(const berth_cutting *c, berth_cut_result *r, berth_arena *each,
                                  berth_arena *tmp, berth_cut_gain *x, berth_err *err)
{
	berth_cut_op *op;
	berth_cut_program program;
	BERTH_TRY(BERTH_NEW(each, op, c->p->n_ops, err));
	BERTH_TRY(undo(c, &r->cut, x->type, each, op, err));
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
