/* Which placement becomes the plan for an engine: what can be told is tried by making the export itself. */
#include "engine_plan.h"

#include "check.h"
#include "coloc.h"
#include "engine_rules.h"
#include "granularity.h"

/* ---- what stays together ---- */

/* May a go just where b may, with no rule of being apart? apart [n_colocs]. */
static bool go_alike(const berth_problem *p, const bool *apart, int32_t a, int32_t b)
{
	bool alike = !apart[p->op_coloc[a]] && !apart[p->op_coloc[b]];
	for (int32_t d = 0; d < p->n_devs; d++)
		alike = alike && berth_op_legal(p, a, d) == berth_op_legal(p, b, d);
	return alike;
}

/* Part the blocks of x where rules tell their operators apart: each joins the first part that goes where it
 * may go. */
static berth_status part_blocks(const berth_problem *p, berth_granularity *x, berth_arena *tmp,
                                berth_err *err)
{
	bool *apart;
	int32_t *first, *next; /* [n_ops] of parts, their first operators: of a block, behind one; -1 ends */
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, apart);
	BERTH_TRY_NEW(tmp, p->n_ops, err, first, next);
	for (int32_t op = 0; op < p->n_ops; op++) {
		first[op] = next[op] = -1;
		apart[p->op_coloc[op]] |= p->g->op_sep[op] >= 0;
	}
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k], *block = &x->op_block[op], *head = &first[*block], *at = head;
		while (*at >= 0 && !go_alike(p, apart, *at, op))
			at = &next[*at];
		if (*at >= 0) {
			*block = x->op_block[*at];
			continue;
		}
		*at = op;
		if (at == head)
			continue;
		x->block_name[x->n_blocks] = p->g->op_name[op]; /* it has room for all */
		*block = x->n_blocks++;
	}
	return BERTH_OK;
}

/* Does op_dev have the groups of g whole? first [n_coloc_names]: scratch of zeros. */
static bool is_whole(const berth_graph *g, const int32_t *op_dev, int32_t *first)
{
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t group = g->op_coloc_name[op];
		if (group < 0)
			continue;
		if (first[group] && op_dev[first[group] - 1] != op_dev[op])
			return false;
		first[group] = op + 1;
	}
	return true;
}

berth_status berth_engine_kernels(const berth_system *s, const int32_t *op_dev, berth_graph *g,
                                  berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_problem p;
	berth_granularity x;
	berth_graph fused;
	int32_t *first;
	if (!s->engine || !s->engine->fuses)
		return BERTH_OK;
	BERTH_TRY(berth_problem_new(g, s, mem, tmp, &p, err));
	BERTH_TRY(berth_granularity_find(g, BERTH_GRAIN_KERNEL, mem, tmp, &x, err));
	BERTH_TRY(part_blocks(&p, &x, tmp, err));
	BERTH_TRY(berth_granularity_apply(g, &x, -1, mem, tmp, &fused, err));
	fused.op_block = NULL; /* kernels have no order that cuts would count in */
	fused.n_blocks = 0;
	BERTH_TRY_NEW(mem, fused.n_coloc_names, err, first);
	if (!op_dev || is_whole(&fused, op_dev, first))
		*g = fused;
	return BERTH_OK;
}

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

/* Where group u goes by the rules, -1: it stays: to the quickest of its operators' default devices, where it
 * may go to none of them of all. bytes [n_colocs]: to one that has room before others; NULL: all have. */
static int32_t new_place(const berth_engine_plan *x, int32_t u, const int64_t *bytes, const int64_t *room)
{
	const berth_problem *p = x->x.p;
	bool own[BERTH_MAX_DEVS] = {false}, apart = false;
	int64_t least = INT64_MAX;
	int32_t at = -1;
	BERTH_EACH (i, p->coloc_off, u) {
		const int32_t d = x->usual[p->coloc_op[i]];
		own[d] = berth_coloc_legal(p, u, d);
		apart |= !own[d] || d != berth_coloc_dev(p, u, x->usual);
	}
	for (int tier = 0; tier < 3 && apart && at < 0; tier++)
		for (int32_t d = 0; d < p->n_devs; d++) {
			bool may = berth_coloc_legal(p, u, d) && (tier > 0 || own[d]) &&
			           (tier > 1 || !bytes || bytes[u] <= room[d]);
			int64_t ns = may ? berth_coloc_time(p, u, d) : least;
			at = ns < least ? d : at;
			least = ns < least ? ns : least;
		}
	return at;
}

/* What the engine does by itself, where rules tell some of it apart, into op_dev; with_room: by the memory
 * that is left. Returns how many groups have moved. */
static berth_status move_groups(const berth_engine_plan *x, bool with_room, int32_t *op_dev, int32_t *n,
                                berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->x.p;
	int64_t *bytes, room[BERTH_MAX_DEVS];
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, bytes);
	berth_coloc_bytes(p, bytes);
	BERTH_COPY(op_dev, x->usual, p->n_ops);
	for (int32_t d = 0; d < p->n_devs; d++)
		room[d] = p->dev_limit_bytes[d] < 0 ? INT64_MAX : p->dev_limit_bytes[d];
	*n = 0;
	for (int moves = 0; moves < 2; moves++) /* those that stay first */
		for (int32_t u = 0; u < p->n_colocs; u++) {
			const int32_t to = new_place(x, u, with_room ? bytes : NULL, room);
			if ((to >= 0) != moves)
				continue;
			if (moves)
				berth_coloc_put(p, u, to, op_dev);
			*n += moves;
			room[berth_coloc_dev(p, u, op_dev)] -= bytes[u];
		}
	return BERTH_OK;
}

/* *out NULL: it breaks no such rule, or is not known. */
static berth_status keep_rules(const berth_engine_plan *x, const berth_objective *o, berth_arena *mem,
                               berth_arena *tmp, int32_t **out, berth_err *err)
{
	int32_t *op_dev, n;
	double value;
	*out = NULL;
	if (!x->usual)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, x->x.p->n_ops, err, op_dev);
	BERTH_TRY(move_groups(x, false, op_dev, &n, tmp, err));
	if (!n)
		return BERTH_OK;
	*out = op_dev;
	BERTH_TRY(worth(x, op_dev, NULL, o, tmp, &value, err));
	return value < INFINITY ? BERTH_OK : move_groups(x, true, op_dev, &n, tmp, err);
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
	BERTH_TRY(keep_rules(x, o, mem, tmp, &op_dev, err));
	BERTH_TRY(offer(x, op_dev, NULL, o, mem, tmp, &c, &can, err));
	if (op_dev && !can)
		BERTH_TRY(offer_nearest(x, op_dev, o, mem, tmp, &c, err));
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
	x->kept = x->gain.keep && x->usual && (!x->anyhow || x->gain.same);
	if (!x->kept)
		return BERTH_OK;
	double value;
	BERTH_TRY(worth(x, x->usual, NULL, o, tmp, &value, err));
	answer(r, x->usual, NULL, value);
	x->note = c.latest;
	x->x.op_dev = x->usual;
	return BERTH_OK;
}
