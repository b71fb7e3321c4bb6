/* The story of an operator; see explain_op.h. */
#include "explain_op.h"

#include "constraints.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct teller {
	const berth_problem *p;
	const berth_timeline *t;
	const berth_objective *o;
	berth_arena *mem, *tmp;
} teller;

/* ---- when ---- */

/* The way of a tensor to the device; hops are in order of their ends. */
static void follow(const teller *r, berth_op_input *in, int32_t dev)
{
	const berth_timeline *t = r->t;
	for (size_t h = 0; h < t->n_hops; h++) {
		const berth_sim_hop *hop = &t->hops[h];
		if (hop->tensor != in->tensor || hop->dest != dev)
			continue;
		in->queued_ns += hop->start_ns - hop->request_ns;
		in->moving_ns += hop->end_ns - hop->start_ns;
		in->arrives_ns = hop->end_ns > in->arrives_ns ? hop->end_ns : in->arrives_ns;
	}
}

static berth_status inputs(const teller *r, berth_op_story *s, berth_err *err)
{
	const berth_graph *g = r->p->g;
	int32_t first = g->op_in_off[s->op];
	s->n_inputs = g->op_in_off[s->op + 1] - first;
	s->last_input = -1;
	BERTH_TRY(BERTH_NEW(r->mem, s->input, s->n_inputs, err));
	for (int32_t i = 0; i < s->n_inputs; i++) {
		int32_t tensor = g->in_tensor[first + i], from = g->tensor_producer[tensor];
		s->input[i] = (berth_op_input){.tensor = tensor,
		                               .produced_ns = r->t->end_ns[from],
		                               .arrives_ns = r->t->end_ns[from]};
		if (r->t->op_dev[from] != s->dev)
			follow(r, &s->input[i], s->dev);
		if (s->last_input < 0 || s->input[i].arrives_ns > s->ready_ns) {
			s->last_input = i;
			s->ready_ns = s->input[i].arrives_ns;
		}
	}
	return BERTH_OK;
}

typedef struct started {
	int64_t start_ns;
	int32_t op;
} started;

static int compare_started(const void *pa, const void *pb)
{
	const started *a = pa, *b = pb;
	if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
	return (a->op > b->op) - (a->op < b->op);
}

/* What the device did while the operator waited for it. */
static berth_status waits(const teller *r, berth_op_story *s, berth_err *err)
{
	const berth_timeline *t = r->t;
	started *list;
	BERTH_TRY(BERTH_NEW(r->tmp, list, r->p->n_ops, err));
	for (int32_t op = 0; op < r->p->n_ops; op++)
		if (op != s->op && t->op_dev[op] == s->dev && t->end_ns[op] > s->ready_ns &&
		    t->start_ns[op] < s->start_ns)
			list[s->n_before++] = (started){t->start_ns[op], op};
	if (s->n_before)
		qsort(list, (size_t)s->n_before, sizeof *list, compare_started);
	BERTH_TRY(BERTH_NEW(r->mem, s->before_op, s->n_before, err));
	for (int32_t i = 0; i < s->n_before; i++)
		s->before_op[i] = list[i].op;
	return BERTH_OK;
}

/* ---- where else ---- */

static bool coloc_runs(const berth_problem *p, int32_t coloc, int32_t dev)
{
	for (int32_t i = p->coloc_off[coloc]; i < p->coloc_off[coloc + 1]; i++)
		if (berth_op_time(p, p->coloc_op[i], dev) < 0)
			return false;
	return true;
}

static bool same_violation(const berth_violation *a, const berth_violation *b)
{
	return a->kind == b->kind && a->op == b->op && a->pool == b->pool &&
	       (a->dev == b->dev || a->kind == BERTH_VIOLATION_SEPARATION) && a->metric == b->metric;
}

/* The first violation that the placement as it is does not have. */
static const char *first_new(const berth_violations *now, const berth_violations *then)
{
	for (int32_t i = 0; i < then->n; i++) {
		bool old = false;
		for (int32_t k = 0; k < now->n; k++)
			old |= same_violation(&now->item[k], &then->item[i]);
		if (!old)
			return then->item[i].message;
	}
	return NULL;
}

/* Put the colocation group on dev and simulate; broken is left empty where it cannot run. */
static berth_status try_device(const teller *r, berth_sim *sim, int32_t *op_dev, int32_t op, int32_t dev,
                               berth_op_choice *c, berth_err *err)
{
	const berth_problem *p = r->p;
	int32_t coloc = p->op_coloc[op];
	berth_timeline t = {.op_dev = op_dev};
	berth_verdict v;
	*c = (berth_op_choice){.time_ns = -1, .slowed = {-1, 0, 1}, .latency_ns = -1, .value = NAN};
	bool here = dev == r->t->op_dev[op];
	if (!here && !coloc_runs(p, coloc, dev)) {
		c->blocked = berth_arena_printf(r->mem, "it cannot run there");
		for (int32_t i = p->coloc_off[coloc]; i < p->coloc_off[coloc + 1]; i++)
			if (berth_op_time(p, op, dev) >= 0 && berth_op_time(p, p->coloc_op[i], dev) < 0)
				c->blocked = berth_arena_printf(
					r->mem, "'%s' of its colocation group cannot run there",
					p->g->op_name[p->coloc_op[i]]);
		return c->blocked ? BERTH_OK : berth_nomem(err);
	}
	for (int32_t i = p->coloc_off[coloc]; i < p->coloc_off[coloc + 1] && !here; i++)
		op_dev[p->coloc_op[i]] = dev;
	berth_sim_run(sim, op_dev, r->t->op_order, &t.r);
	t.peak_bytes = berth_sim_peak_bytes(sim);
	t.pool_peak_bytes = berth_sim_pool_peak_bytes(sim);
	t.start_ns = berth_sim_start_ns(sim);
	t.end_ns = berth_sim_end_ns(sim);
	BERTH_TRY(berth_judge_timeline(p, &t, r->o, r->mem, &v, err));
	c->time_ns = berth_op_time(p, op, dev);
	if (t.r.runs)
		c->slowed = berth_op_slowed(p, &t, op);
	c->latency_ns = t.r.runs ? t.r.latency_ns : -1;
	c->value = v.value;
	c->broken = v.broken;
	return BERTH_OK;
}

static berth_status choices(const teller *r, berth_op_story *s, berth_err *err)
{
	const berth_problem *p = r->p;
	int32_t *op_dev;
	berth_sim *sim;
	BERTH_TRY(BERTH_NEW(r->mem, s->choice, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(r->tmp, op_dev, p->n_ops, err));
	BERTH_TRY(berth_sim_new(p, r->tmp, &sim, err));
	berth_sim_want_peaks(sim, true);
	s->best_dev = -1;
	for (int32_t k = 0; k < p->n_devs; k++) {
		int32_t d = k == 0 ? s->dev : k <= s->dev ? k - 1 : k; /* the present device first */
		memcpy(op_dev, r->t->op_dev, (size_t)p->n_ops * sizeof *op_dev);
		BERTH_TRY(try_device(r, sim, op_dev, s->op, d, &s->choice[d], err));
		if (d == s->dev)
			continue;
		if (s->choice[d].time_ns >= 0)
			s->choice[d].blocked = first_new(&s->choice[s->dev].broken, &s->choice[d].broken);
		if (!isnan(s->choice[d].value) &&
		    (s->best_dev < 0 || s->choice[d].value < s->choice[s->best_dev].value ||
		     (s->choice[d].value == s->choice[s->best_dev].value && d < s->best_dev)))
			s->best_dev = d;
	}
	if (s->best_dev >= 0 && s->choice[s->best_dev].value < s->choice[s->dev].value)
		s->binds = s->choice[s->best_dev].blocked;
	return BERTH_OK;
}

static berth_status tell(const teller *r, int32_t op, berth_op_story *s, berth_err *err)
{
	int64_t *slack;
	*s = (berth_op_story){.op = op,
	                      .dev = r->t->op_dev[op],
	                      .start_ns = r->t->start_ns[op],
	                      .end_ns = r->t->end_ns[op]};
	BERTH_TRY(BERTH_NEW(r->tmp, slack, r->p->n_ops, err));
	BERTH_TRY(berth_slack(r->p, r->t, slack, r->tmp, err));
	s->slack_ns = slack[op];
	BERTH_TRY(inputs(r, s, err));
	BERTH_TRY(waits(r, s, err));
	return choices(r, s, err);
}

berth_status berth_explain_op(const berth_problem *p, const berth_timeline *t, const berth_objective *o,
                              int32_t op, berth_arena *mem, berth_arena *tmp, berth_op_story *out,
                              berth_err *err)
{
	teller r = {p, t, o, mem, tmp};
	berth_op_story s;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = tell(&r, op, &s, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = s;
	return st;
}
