/* Relaxations; see relax.h. */
#include "relax.h"

#include "anneal.h"
#include "registry.h"

enum {
	EVALUATIONS = 300,
	LIMIT_EVALUATIONS = 1000,
	MEMORY_ROUNDS = 8,
	LARGE = 2000,
	LARGE_ROUNDS = 3,
	LARGE_METHODS = 2,
	HUGE_GRAPH = 20000,
	MOST_RULES = 16,
	MOST_TURNS = 12
};
#define COMPILE_NS 500.0 /* a rule of thumb for a problem, for each operator and edge */

typedef struct relaxer {
	const berth_problem *p;
	const berth_objective *o;
	const berth_infeasible_subset *subset;
	const int32_t *op_dev, *order; /* the least infeasible placement found, or NULL */
	berth_verdict v;               /* of it */
	const berth_patience *until;
	berth_arena *mem, *tmp, *work; /* work: of one search */
	berth_relaxations *out;
	size_t cap;
	berth_err *err;
} relaxer;

/* ---- searches ---- */

/* Can q be offered the placement that was found? Rules were only taken away, so it keeps the rest. */
static bool may_offer(const relaxer *r, const berth_problem *q)
{
	for (int32_t op = 0; r->op_dev && op < q->n_ops; op++)
		if (!berth_op_legal(q, op, r->op_dev[op]) ||
		    r->op_dev[op] != r->op_dev[q->coloc_op[q->coloc_off[q->op_coloc[op]]]])
			return false;
	return r->op_dev != NULL;
}

/* Is there time to compile a problem without one of the rules? */
static bool may_compile(const relaxer *r)
{
	double s = COMPILE_NS * 1e-9 * ((double)r->p->n_ops + r->p->g->n_edges);
	return !berth_patience_over(r->until) &&
	       (!r->until || r->until->end_s <= 0 || berth_wall_seconds() + s < r->until->end_s);
}

/* Search q for a placement, from the one that was found; *found where it is feasible. The search lives in
 * work. */
static berth_status search(const relaxer *r, const berth_problem *q, const berth_objective *o,
                           int64_t evaluations, berth_search *s, bool *found)
{
	berth_search_cfg cfg = {.objective = *o, .seed = 1, .evaluations = evaluations};
	*found = false;
	*s = (berth_search){.best = berth_score_worst()};
	if (berth_patience_over(r->until) || berth_problem_feasible(q, NULL) != BERTH_OK)
		return BERTH_OK;
	if (r->until) {
		cfg.cancel = r->until->cancel;
		cfg.time_s = r->until->end_s > 0 ? fmax(r->until->end_s - berth_wall_seconds(), 1e-3) : 0;
	}
	BERTH_TRY(berth_search_new(q, &cfg, r->work, s, r->err));
	if (may_offer(r, q))
		berth_search_offer(s, r->op_dev, r->order);
	bool large = q->n_ops > LARGE; /* then the two fastest methods, with their repair, must do */
	for (int32_t i = 0;
	     i < berth_n_seeds && (!large || i < LARGE_METHODS) && !berth_patience_over(r->until); i++)
		BERTH_TRY(berth_method_run(berth_seeds[i].method, s, r->tmp, r->err));
	if (!large && (!berth_score_feasible(s->best) || evaluations > EVALUATIONS))
		BERTH_TRY(berth_method_run(&berth_method_anneal, s, r->tmp, r->err));
	*found = berth_score_feasible(s->best);
	return BERTH_OK;
}

static berth_status add(relaxer *r, berth_relaxation x)
{
	BERTH_TRY(berth_got(x.text, r->err));
	return BERTH_PUSH(r->mem, r->out->item, r->out->n, &r->cap, r->err, x);
}

/* ---- memory ---- */

static bool is_of_memory(berth_violation_kind kind)
{
	return kind == BERTH_VIOLATION_MEMORY || kind == BERTH_VIOLATION_POOL;
}

/* The figure of a system that a rule of memory is about: of a device, or of a memory pool. */
static int64_t *bytes_of(const berth_system *s, const berth_rule *rule)
{
	return rule->kind == BERTH_VIOLATION_POOL ? &s->pool_bytes[rule->pool]
	                                          : &s->dev_memory_bytes[rule->dev];
}

/* It would have to be `bytes` in all: nothing where it is as much, or where a device would have more than its
 * memory pool. */
static berth_status add_memory(relaxer *r, const berth_rule *rule, int64_t bytes, bool least)
{
	char buf[64];
	bool pool = rule->kind == BERTH_VIOLATION_POOL;
	int64_t more = bytes - *bytes_of(r->p->s, rule);
	int64_t most = pool ? -1 : berth_dev_pool_bytes(r->p, rule->dev);
	if (more <= 0 || (most >= 0 && bytes > most))
		return BERTH_OK;
	return add(r, (berth_relaxation){*rule, more, NAN, least,
	                                 berth_arena_printf(r->mem, "+%s on %s%s",
	                                                    berth_text_bytes_exact(buf, more),
	                                                    pool ? "memory pool " : "",
	                                                    pool ? r->p->s->pool_name[rule->pool]
	                                                         : r->p->s->dev_name[rule->dev])});
}

/* What the figure must be for this peak. */
static int64_t memory_for(const relaxer *r, const berth_rule *rule, int64_t peak_bytes)
{
	double margin = rule->kind == BERTH_VIOLATION_POOL ? 0 : r->p->s->dev_memory_margin[rule->dev];
	return margin > 0 ? (int64_t)ceil((double)peak_bytes / (1 - margin)) : peak_bytes;
}

static int64_t memory_of(const relaxer *r, const berth_rule *rule, const berth_timeline *t)
{
	return memory_for(r, rule,
	                  rule->kind == BERTH_VIOLATION_POOL ? t->pool_peak_bytes[rule->pool]
	                                                     : t->peak_bytes[rule->dev]);
}

/* A placement where the device or pool has this memory, -1: any. *bytes = what it needs there; -1: none was
 * found. */
static berth_status fit_memory(relaxer *r, const berth_rule *rule, int64_t memory_bytes, int64_t *bytes)
{
	berth_graph g;
	berth_system s;
	berth_problem q;
	berth_search found_by;
	berth_timeline t;
	bool found;
	*bytes = -1;
	if (!may_compile(r))
		return BERTH_OK;
	BERTH_TRY(berth_rule_drop(r->p, rule, r->work, &g, &s, r->err));
	*bytes_of(&s, rule) = memory_bytes;
	BERTH_TRY(berth_problem_new(&g, &s, r->work, r->tmp, &q, r->err));
	BERTH_TRY(search(r, &q, r->o, EVALUATIONS, &found_by, &found));
	if (!found)
		return BERTH_OK;
	BERTH_TRY(berth_timeline_new(&q, found_by.best_dev, berth_search_order(&found_by), r->work, &t,
	                             r->err));
	int64_t needed = memory_of(r, rule, &t);
	*bytes = memory_bytes >= 0 && needed > memory_bytes ? memory_bytes : needed;
	return BERTH_OK;
}

/* The proven least is tried first. Else the least is found by halving between what is too little and what was
 * found to be enough. */
static berth_status least_memory(relaxer *r, const berth_rule *rule, int64_t *bytes, bool *least)
{
	int32_t k = rule->kind == BERTH_VIOLATION_POOL ? r->p->n_devs + rule->pool : rule->dev;
	int64_t proven = r->subset->least_bytes[k], low = *bytes_of(r->p->s, rule);
	*least = proven > low;
	*bytes = -1;
	if (*least)
		BERTH_TRY(fit_memory(r, rule, proven, bytes));
	if (*bytes >= 0)
		return BERTH_OK;
	*least = false;
	low = proven > low ? proven : low;
	BERTH_TRY(fit_memory(r, rule, -1, bytes));
	int rounds = r->p->n_ops > HUGE_GRAPH ? 0 : r->p->n_ops > LARGE ? LARGE_ROUNDS : MEMORY_ROUNDS;
	for (int round = 0; round < rounds && *bytes > low + 1; round++) {
		int64_t middle = low + (*bytes - low) / 2, needed;
		BERTH_TRY(fit_memory(r, rule, middle, &needed));
		if (needed >= 0)
			*bytes = needed;
		else
			low = middle;
	}
	return BERTH_OK;
}

/* What the placement that was found needs, if this rule is all that it breaks; -1: it breaks others. */
static int64_t found_memory(const relaxer *r, const berth_rule *rule)
{
	const berth_violation *v = r->v.broken.item;
	bool alone = r->v.broken.n == 1 && v->kind == rule->kind && v->dev == rule->dev &&
	             v->pool == rule->pool;
	return alone ? memory_for(r, rule, v->needed) : -1;
}

static berth_status relax_memory(relaxer *r, const berth_rule *rule)
{
	int64_t bytes, known = found_memory(r, rule);
	bool least;
	BERTH_TRY(least_memory(r, rule, &bytes, &least));
	if (known >= 0 && (bytes < 0 || known < bytes)) {
		bytes = known;
		least = false;
	}
	return add_memory(r, rule, bytes, least);
}

/* ---- limits and rules ---- */

/* The metric would come down to `most` only: nothing where that is within the limit. */
static berth_status add_limit(relaxer *r, const berth_rule *rule, double most, bool least)
{
	const berth_metric_row *m = &berth_metrics[rule->metric];
	const char *text;
	char a[64], b[64];
	double limit = r->o->most[rule->metric];
	if (!(most > limit))
		return BERTH_OK;
	if (m->per)
		text = berth_arena_printf(r->mem, "%s>=%.6g instead of %.6g %ss/s", m->name, 1 / most,
		                          1 / limit, m->per);
	else
		text = berth_arena_printf(r->mem, "%s<=%s instead of %s", m->name,
		                          berth_metric_text((berth_metric)rule->metric, most, a),
		                          berth_metric_text((berth_metric)rule->metric, limit, b));
	return add(r, (berth_relaxation){*rule, -1, most, least, text});
}

/* The other limits stay; the metric itself is made as small as a search can. */
static berth_status relax_limit(relaxer *r, const berth_rule *rule)
{
	berth_objective o = berth_objective_of((berth_metric)rule->metric);
	berth_search s;
	berth_bounds b;
	bool found;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (m != rule->metric && r->o->limits[m]) {
			o.limits[m] = true;
			o.most[m] = r->o->most[m];
		}
	BERTH_TRY(search(r, r->p, &o, LIMIT_EVALUATIONS, &s, &found));
	if (!found || !(s.best.value > r->o->most[rule->metric]))
		return BERTH_OK;
	BERTH_TRY(berth_bounds_new(r->p, r->tmp, &b, r->err));
	bool least = s.best.value <= b.value[rule->metric] * (1 + 1e-9);
	return add_limit(r, rule, s.best.value, least);
}

static const char *rule_text(const relaxer *r, const berth_rule *rule)
{
	const berth_graph *g = r->p->g;
	const char *op = rule->op >= 0 ? g->op_name[rule->op] : "",
		   *dev = rule->dev >= 0 ? r->p->s->dev_name[rule->dev] : "";
	switch (rule->kind) {
	case BERTH_VIOLATION_PIN: return berth_arena_printf(r->mem, "drop the pin of '%s' to %s", op, dev);
	case BERTH_VIOLATION_FORBID: return berth_arena_printf(r->mem, "allow %s to '%s'", dev, op);
	case BERTH_VIOLATION_COLOCATION:
		return berth_arena_printf(r->mem, "%s %s '%s'", g->coloc_called ? "part" : "drop",
		                          berth_coloc_called(g), g->coloc_name[rule->group]);
	case BERTH_VIOLATION_CUTS: return berth_arena_printf(r->mem, "any number of cuts");
	case BERTH_VIOLATION_SEPARATION:
		return berth_arena_printf(r->mem, "drop separation group '%s'", g->sep_name[rule->group]);
	default: return berth_arena_printf(r->mem, "let the operators on %s be apart", dev);
	}
}

static berth_status add_rule(relaxer *r, const berth_rule *rule)
{
	return add(r, (berth_relaxation){*rule, -1, NAN, false, rule_text(r, rule)});
}

static berth_status relax_rule(relaxer *r, const berth_rule *rule)
{
	berth_graph g;
	berth_system s;
	berth_problem q;
	berth_search found_by;
	bool found;
	if (!may_compile(r))
		return BERTH_OK;
	BERTH_TRY(berth_rule_drop(r->p, rule, r->work, &g, &s, r->err));
	BERTH_TRY(berth_problem_new(&g, &s, r->work, r->tmp, &q, r->err));
	BERTH_TRY(search(r, &q, r->o, EVALUATIONS, &found_by, &found));
	return found ? add_rule(r, rule) : BERTH_OK;
}

/* As few cuts more as a search finds a placement for. */
static berth_status relax_cuts(relaxer *r, const berth_rule *rule)
{
	enum { MOST_MORE = 16 };
	bool found = false;
	int32_t most = r->p->n_chain - 1, cuts = r->p->max_cuts;
	for (int32_t more = 1; more <= MOST_MORE && cuts < most && !found && may_compile(r); more++) {
		berth_graph g = *r->p->g;
		berth_problem q;
		berth_search found_by;
		g.max_cuts = ++cuts;
		BERTH_TRY(berth_problem_new(&g, r->p->s, r->work, r->tmp, &q, r->err));
		BERTH_TRY(search(r, &q, r->o, EVALUATIONS, &found_by, &found));
	}
	return found ? add(r, (berth_relaxation){*rule, -1, NAN, false,
	                                         berth_arena_printf(r->mem, "%d cut%s instead of %d", cuts,
	                                                            cuts == 1 ? "" : "s", r->p->max_cuts)})
	             : BERTH_OK;
}

static berth_status relax_one(relaxer *r, const berth_rule *rule)
{
	BERTH_SCRATCH(r->work);
	return rule->kind == BERTH_VIOLATION_CANNOT_RUN ? BERTH_OK
	       : is_of_memory(rule->kind)               ? relax_memory(r, rule)
	       : rule->kind == BERTH_VIOLATION_LIMIT    ? relax_limit(r, rule)
	       : rule->kind == BERTH_VIOLATION_CUTS     ? relax_cuts(r, rule)
	                                                : relax_rule(r, rule);
}

/* ---- what a placement breaks ---- */

/* Where no single change is enough and memory alone is short: what the placement needs on all devices and
 * pools together. */
static berth_status relax_together(relaxer *r, const berth_violations *broken)
{
	for (int32_t i = 0; i < broken->n; i++)
		if (!is_of_memory(broken->item[i].kind))
			return BERTH_OK;
	for (int32_t i = 0; i < broken->n; i++) {
		const berth_violation *v = &broken->item[i];
		berth_rule rule = {v->kind, -1, v->dev, -1, -1, v->pool};
		BERTH_TRY(add_memory(r, &rule, memory_for(r, &rule, v->needed), false));
	}
	r->out->together = broken->n > 1;
	return BERTH_OK;
}

/* ---- several infeasible subsets ---- */

/* A problem from which rules are taken one after the other. */
typedef struct turn {
	berth_graph g;
	berth_system s;
	berth_problem p;
	berth_objective o;
	berth_rule gone[MOST_TURNS];
	int32_t n;
} turn;

/* The first rule of the subset that can go; NULL: none can. */
static const berth_rule *first_to_go(const berth_infeasible_subset *c)
{
	for (int32_t i = 0; i < c->n; i++)
		if (c->rule[i].kind != BERTH_VIOLATION_CANNOT_RUN)
			return &c->rule[i];
	return NULL;
}

static berth_status let_go(const relaxer *r, turn *t, const berth_rule *rule)
{
	berth_graph g;
	berth_system s;
	if (rule->kind == BERTH_VIOLATION_LIMIT) { /* how far it goes is seen at the end */
		t->o.limits[rule->metric] = false;
		return BERTH_OK;
	}
	t->gone[t->n++] = *rule;
	BERTH_TRY(berth_rule_drop(&t->p, rule, r->work, &g, &s, r->err));
	t->g = g;
	t->s = s;
	return berth_problem_new(&t->g, &t->s, r->work, r->tmp, &t->p, r->err);
}

/* What went, as the placement needs it. */
static berth_status add_gone(relaxer *r, const turn *t, const berth_search *found_by)
{
	berth_timeline line;
	BERTH_TRY(berth_timeline_new(&t->p, found_by->best_dev, berth_search_order(found_by), r->work, &line,
	                             r->err));
	for (int32_t i = 0; i < t->n; i++) {
		const berth_rule *rule = &t->gone[i];
		if (is_of_memory(rule->kind))
			BERTH_TRY(add_memory(r, rule, memory_of(r, rule, &line), false));
		else if (rule->kind == BERTH_VIOLATION_LIMIT)
			BERTH_TRY(add_limit(r, rule, berth_metrics[rule->metric].value(&line.r),
			                    false));
		else
			BERTH_TRY(add_rule(r, rule));
	}
	r->out->together = r->out->n > 1;
	return BERTH_OK;
}

/* What the placement that was found still breaks goes too, if it is memory and limits only. */
static berth_status let_rest_go(const relaxer *r, turn *t, const berth_search *found_by, bool *found)
{
	berth_timeline line;
	berth_verdict verdict;
	BERTH_TRY(berth_judge(&t->p, found_by->best_dev, berth_search_order(found_by), r->o, r->work, &line,
	                      &verdict, r->err));
	*found = t->n + verdict.broken.n <= MOST_TURNS;
	for (int32_t i = 0; i < verdict.broken.n && *found; i++) {
		const berth_violation *v = &verdict.broken.item[i];
		*found = is_of_memory(v->kind) || v->kind == BERTH_VIOLATION_LIMIT;
		if (*found)
			t->gone[t->n++] = (berth_rule){v->kind, -1, v->dev, -1, v->metric, v->pool};
	}
	return BERTH_OK;
}

/* One rule of each subset goes, until there is none and a placement is found. */
static berth_status relax_in_turn(relaxer *r)
{
	turn *t;
	berth_infeasible_subset c = *r->subset;
	berth_search found_by;
	bool found = false;
	BERTH_TRY_NEW(r->work, 1, r->err, t);
	t->p = *r->p;
	t->o = *r->o;
	while (c.proven) {
		const berth_rule *rule = first_to_go(&c);
		if (!rule || t->n == MOST_TURNS || !may_compile(r))
			return BERTH_OK;
		BERTH_TRY(let_go(r, t, rule));
		BERTH_TRY(berth_infeasible_subset_find(&t->p, &t->o, r->until, r->work, r->tmp, &c, r->err));
	}
	/* The present limits count, not those that went: as near to all of them as can be. */
	BERTH_TRY(search(r, &t->p, r->o, LIMIT_EVALUATIONS, &found_by, &found));
	if (berth_problem_feasible(&t->p, NULL) != BERTH_OK || !isfinite(found_by.best.excess))
		return BERTH_OK;
	if (!found)
		BERTH_TRY(let_rest_go(r, t, &found_by, &found));
	return found ? add_gone(r, t, &found_by) : BERTH_OK;
}

/* ---- all of it ---- */

static int class_of(const berth_relaxation *x)
{
	return is_of_memory(x->rule.kind) ? 0 : x->rule.kind == BERTH_VIOLATION_LIMIT ? 1 : 2;
}

static bool goes_before(const relaxer *r, const berth_relaxation *a, const berth_relaxation *b)
{
	if (class_of(a) != class_of(b))
		return class_of(a) < class_of(b);
	if (class_of(a) == 0)
		return a->add_bytes < b->add_bytes;
	return class_of(a) == 1 &&
	       a->most / r->o->most[a->rule.metric] < b->most / r->o->most[b->rule.metric];
}

static berth_status relax(relaxer *r)
{
	berth_timeline t;
	if (r->op_dev)
		BERTH_TRY(berth_judge(r->p, r->op_dev, r->order, r->o, r->work, &t, &r->v, r->err));
	for (int32_t i = 0; r->subset->proven && i < r->subset->n && i < MOST_RULES; i++)
		BERTH_TRY(relax_one(r, &r->subset->rule[i]));
	if (!r->subset->proven) {
		for (int32_t i = 0; i < r->v.broken.n; i++) {
			const berth_violation *v = &r->v.broken.item[i];
			berth_rule rule = {v->kind, v->op, v->dev, -1, v->metric, v->pool};
			if (is_of_memory(v->kind) || v->kind == BERTH_VIOLATION_LIMIT)
				BERTH_TRY(relax_one(r, &rule));
		}
	}
	berth_relaxation *x = r->out->item;
	for (int32_t i = 1; i < r->out->n; i++)
		for (int32_t k = i; k > 0 && goes_before(r, &x[k], &x[k - 1]); k--) {
			berth_relaxation swap = x[k];
			x[k] = x[k - 1];
			x[k - 1] = swap;
		}
	if (!r->out->n && r->subset->proven)
		BERTH_TRY(relax_in_turn(r));
	return r->out->n || !r->v.broken.n ? BERTH_OK : relax_together(r, &r->v.broken);
}

berth_status berth_relax(const berth_problem *p, const berth_objective *o,
                         const berth_infeasible_subset *subset, const int32_t *op_dev,
                         const int32_t *order, const berth_patience *until, berth_arena *mem,
                         berth_arena *tmp, berth_relaxations *out, berth_err *err)
{
	berth_relaxations list = {0};
	BERTH_ARENA(work);
	relaxer r = {.p = p,
	             .o = o,
	             .subset = subset,
	             .op_dev = op_dev,
	             .order = order,
	             .until = until,
	             .mem = mem,
	             .tmp = tmp,
	             .work = &work,
	             .out = &list,
	             .err = err};
	BERTH_SCRATCH(tmp);
	berth_arena_init(&work, mem->hook);
	BERTH_TRY(relax(&r));
	*out = list;
	return BERTH_OK;
}
