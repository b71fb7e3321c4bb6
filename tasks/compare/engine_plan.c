/* Which placement becomes the plan for an engine: what can be told is tried by making the export itself. */
#include "engine_plan.h"

#include "check.h"
#include "engine_rules.h"

/* ---- before the search ---- */

/* Does the exporter have what it reads? */
static bool can_make(const berth_engine_plan *x)
{
	return !x->e->model || x->x.model;
}

/* By the latency, whatever the objective is: another candidate costs little. */
static berth_status find_best(berth_engine_plan *x, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	double bound;
	if (!x->e->best || !can_make(x))
		return BERTH_OK;
	BERTH_TRY_NEW(mem, x->x.g->n_ops, err, x->best);
	BERTH_SCRATCH(tmp);
	berth_status st = berth_export_best(x->e, &x->x, tmp, x->best, &bound, err);
	if (st == BERTH_EINFEASIBLE || st == BERTH_EUNSUPPORTED)
		x->best = NULL;
	else
		BERTH_TRY(st);
	return BERTH_OK;
}

berth_status berth_engine_plan_open(const berth_export_source *x, berth_arena *mem, berth_arena *tmp,
                                    berth_engine_plan *out, berth_err *err)
{
	berth_engine_plan p = {.engine = x->s->engine, .x = *x, .found = NAN};
	*out = (berth_engine_plan){0};
	if (!p.engine)
		return BERTH_OK;
	p.e = berth_exporter_for(p.engine);
	BERTH_TRY_NEW(mem, p.x.g->n_ops, err, p.usual);
	if (p.engine->reads && !p.x.model)
		p.why = "it takes reading the model once more, which a pipe does not allow";
	else
		BERTH_TRY(berth_engine_usual(p.engine, &p.x, tmp, p.usual, &p.why, err));
	if (p.why)
		p.usual = NULL;
	BERTH_TRY(find_best(&p, mem, tmp, err));
	*out = p;
	return BERTH_OK;
}

const int32_t *berth_engine_plan_start(const berth_engine_plan *x)
{
	return x->best ? x->best : x->usual;
}

/* ---- behind it ---- */

/* What a placement is worth; INFINITY: it breaks a rule. */
static berth_status worth(const berth_engine_plan *x, const int32_t *op_dev, const int32_t *order,
                          const berth_objective *o, berth_arena *tmp, double *value, berth_err *err)
{
	berth_timeline t;
	berth_verdict v;
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_judge(x->x.p, op_dev, order, o, tmp, &t, &v, err));
	*value = v.feasible ? v.value : INFINITY;
	return BERTH_OK;
}

/* Can the engine be told it? why (in mem): why not, or what is missing for it. */
static berth_status can_be_told(const berth_engine_plan *x, const int32_t *op_dev, berth_arena *mem,
                                berth_arena *tmp, bool *can, const char **why, berth_err *err)
{
	BERTH_ARENA(made);
	berth_export_source source = x->x;
	berth_export_out out = {.mem = &made};
	berth_err told = {0};
	*can = true;
	*why = NULL;
	if (!can_make(x))
		return BERTH_OK;
	source.op_dev = op_dev;
	berth_status st = berth_export_make(x->e, &source, tmp, &out, &told);
	if (st == BERTH_ENOMEM || st == BERTH_EIO) /* that says nothing of the plan */
		return berth_fail(err, st, "%s", told.msg);
	*can = st != BERTH_EUNSUPPORTED && !(st == BERTH_OK && out.unfit);
	if (st == BERTH_OK && !out.unfit)
		return BERTH_OK;
	*why = berth_arena_strdup(mem, st == BERTH_OK ? out.unfit : told.msg);
	return berth_got(*why, err);
}

typedef struct choice {
	const int32_t *op_dev, *order;
	double value;
	const char *why; /* the first that cannot be told is not told so */
	const char *latest; /* why the latest offer cannot be told, or what is missing for it */
} choice;

/* Take op_dev if it is worth more than what is chosen, and can be told. */
static berth_status offer(berth_engine_plan *x, const int32_t *op_dev, const int32_t *order,
                          const berth_objective *o, berth_arena *mem, berth_arena *tmp, choice *c,
                          bool *can, berth_err *err)
{
	double value;
	const char *why;
	*can = false;
	if (!op_dev)
		return BERTH_OK;
	BERTH_TRY(worth(x, op_dev, order, o, tmp, &value, err));
	BERTH_TRY(can_be_told(x, op_dev, mem, tmp, can, &why, err));
	c->latest = why;
	if (!*can && !c->why)
		c->why = why;
	if (!*can || !(value < c->value))
		return BERTH_OK;
	x->note = why;
	c->op_dev = op_dev;
	c->order = order;
	c->value = value;
	return BERTH_OK;
}

static berth_status offer_nearest(berth_engine_plan *x, const int32_t *op_dev, const berth_objective *o,
                                  berth_arena *mem, berth_arena *tmp, choice *c, berth_err *err)
{
	berth_export_source source = x->x;
	int32_t *near;
	bool can;
	if (!x->e->nearest || !can_make(x))
		return BERTH_OK;
	source.op_dev = op_dev;
	BERTH_TRY_NEW(mem, x->x.g->n_ops, err, near);
	berth_status st = berth_export_nearest(x->e, &source, tmp, near, err);
	if (st == BERTH_EUNSUPPORTED)
		return BERTH_OK;
	BERTH_TRY(st);
	return offer(x, near, NULL, o, mem, tmp, c, &can, err);
}

static void answer(berth_solution *r, int32_t *op_dev, int32_t *order, double value)
{
	if (value > r->value)
		r->proof = BERTH_PROOF_NONE;
	r->op_dev = op_dev;
	r->op_order = order;
	r->order = order ? BERTH_ORDER_GIVEN : r->p->s->order;
	r->value = value;
	r->feasible = isfinite(value);
	if (value < r->lower_bound) /* it is of a finer grain than what was searched and bounded */
		r->lower_bound = NAN;
	r->gap = berth_gap(r->value, r->lower_bound);
	berth_solution_settle(r);
}

berth_status berth_engine_plan_take(berth_engine_plan *x, const berth_objective *o, berth_solution *r,
                                    berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	choice c = {.value = INFINITY};
	bool can;
	int32_t *op_dev, *order = NULL;
	if (!x->engine)
		return BERTH_OK;
	if (r->feasible)
		BERTH_TRY(offer(x, r->op_dev, r->op_order, o, mem, tmp, &c, &can, err));
	if (r->feasible && !can)
		BERTH_TRY(offer_nearest(x, r->op_dev, o, mem, tmp, &c, err));
	x->dropped = c.why;
	BERTH_TRY(offer(x, x->best, NULL, o, mem, tmp, &c, &can, err));
	BERTH_TRY(offer(x, x->usual, NULL, o, mem, tmp, &c, &can, err));
	if (!c.op_dev && !r->feasible)
		return BERTH_OK;
	if (!c.op_dev)
		return berth_fail(err, BERTH_EUNSUPPORTED, "%s can be told no plan that was found: %s",
		                  x->engine->title, c.why ? c.why : "none fits");
	BERTH_TRY_NEW(mem, x->x.g->n_ops, err, op_dev);
	BERTH_COPY(op_dev, c.op_dev, x->x.g->n_ops);
	if (c.order) {
		BERTH_TRY_NEW(mem, x->x.g->n_ops, err, order);
		BERTH_COPY(order, c.order, x->x.g->n_ops);
	}
	r->answered = true;
	answer(r, op_dev, order, c.value);
	/* The best that can be told stands in r; is it worth telling? */
	x->found = r->value;
	x->x.op_dev = r->op_dev;
	BERTH_TRY(berth_export_gain_of(x->e, &x->x, o, r->value, mem, tmp, &x->gain, err));
	x->kept = x->gain.keep && x->usual;
	if (!x->kept)
		return BERTH_OK;
	double value;
	BERTH_TRY(worth(x, x->usual, NULL, o, tmp, &value, err));
	answer(r, x->usual, NULL, value);
	x->note = c.latest;
	x->x.op_dev = x->usual;
	return BERTH_OK;
}
