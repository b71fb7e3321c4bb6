/* Judges a placement: it is simulated, and each rule and limit that it breaks becomes a violation in words.
 * What no placement could keep is found as well. */
#include "check.h"

#include "constraints.h"
#include "op_times.h"

const char *berth_violation_name(berth_violation_kind kind)
{
	static const char *const name[] = {"cannot-run", "pin",        "forbid", "colocation",
	                                   "separation", "contiguity", "cuts",   "rules",
	                                   "memory",     "pool",       "limit"};
	return name[kind];
}

/* One of that kind about op on dev, which may be -1, and as yet about nothing else. */
static berth_violation about(berth_violation_kind kind, int32_t op, int32_t dev)
{
	return (berth_violation){
		.kind = kind, .op = op, .dev = dev, .pool = -1, .needed = -1, .limit = -1, .metric = -1};
}

static berth_status add(berth_arena *mem, berth_violations *list, berth_violation v, berth_err *err)
{
	BERTH_TRY(berth_got(v.message, err));
	return BERTH_PUSH(mem, list->item, list->n, &list->cap, err, v);
}

static const char *type_of(const berth_graph *g, int32_t op)
{
	return g->op_type[op] >= 0 ? g->type_name[g->op_type[op]] : "no type";
}

static berth_status check_op(const berth_problem *p, int32_t op, int32_t dev, berth_arena *mem,
                             berth_violations *list, berth_err *err)
{
	const berth_graph *g = p->g;
	const char *name = g->op_name[op], *on = p->s->dev_name[dev], *pin = g->op_pin[op];
	berth_violation v = about(BERTH_VIOLATION_CANNOT_RUN, op, dev);
	if (berth_op_time(p, op, dev) < 0) {
		v.message = berth_arena_printf(mem, "operator '%s' (%s) cannot run on '%s'", name,
		                               type_of(g, op), on);
		BERTH_TRY(add(mem, list, v, err));
	}
	if (pin && strcmp(pin, on) != 0) {
		v.kind = BERTH_VIOLATION_PIN;
		v.message = berth_arena_printf(mem, "operator '%s' is pinned to '%s' but placed on '%s'",
		                               name, pin, on);
		BERTH_TRY(add(mem, list, v, err));
	}
	if (berth_op_forbids(p, op, dev)) {
		v.kind = BERTH_VIOLATION_FORBID;
		v.message = berth_arena_printf(mem, "operator '%s' is on '%s', which is forbidden to it",
		                               name, on);
		BERTH_TRY(add(mem, list, v, err));
	}
	return BERTH_OK;
}

static berth_status check_colocation(const berth_problem *p, const int32_t *op_dev, int32_t op,
                                     berth_arena *mem, berth_violations *list, berth_err *err)
{
	int32_t first = p->coloc_op[p->coloc_off[p->op_coloc[op]]], dev = op_dev[op];
	berth_violation v = about(BERTH_VIOLATION_COLOCATION, op, dev);
	if (dev == op_dev[first])
		return BERTH_OK;
	v.message = berth_arena_printf(
		mem, "operator '%s' is on '%s', but '%s' of its %s '%s' is on '%s'", p->g->op_name[op],
		p->s->dev_name[dev], p->g->op_name[first], berth_coloc_called(p->g),
		p->g->coloc_name[p->g->op_coloc_name[op]], p->s->dev_name[op_dev[first]]);
	return add(mem, list, v, err);
}

/* Of each group and device, the operators after the first. first_op [n_seps][n_devs]: 1 + the first. */
static berth_status check_separation(const berth_problem *p, const int32_t *op_dev, int32_t op,
                                     int32_t *first_op, berth_arena *mem, berth_violations *list,
                                     berth_err *err)
{
	int32_t sep = p->g->op_sep[op], dev = op_dev[op];
	if (sep < 0)
		return BERTH_OK;
	int32_t *first = &first_op[berth_cell(p, sep, dev)];
	if (!*first) {
		*first = op + 1;
		return BERTH_OK;
	}
	berth_violation v = about(BERTH_VIOLATION_SEPARATION, op, dev);
	v.message = berth_arena_printf(
		mem, "operator '%s' is on '%s' with '%s' of the same separation group '%s'",
		p->g->op_name[op], p->s->dev_name[dev], p->g->op_name[*first - 1], p->g->sep_name[sep]);
	return add(mem, list, v, err);
}

static berth_status check_coupled(const berth_problem *p, const int32_t *op_dev, berth_arena *mem,
                                  berth_violations *list, berth_err *err)
{
	int32_t *first_op;
	uint8_t *reenters;
	uint64_t *scratch;
	BERTH_TRY_NEW(mem, (size_t)p->g->n_seps * (size_t)p->n_devs, err, first_op);
	BERTH_TRY_NEW(mem, p->n_ops, err, reenters);
	BERTH_TRY_NEW(mem, berth_constraints_scratch(p), err, scratch);
	berth_constraints_reentries(p, op_dev, reenters, scratch);
	for (int32_t op = 0; op < p->n_ops; op++) {
		BERTH_TRY(check_separation(p, op_dev, op, first_op, mem, list, err));
		if (reenters[op]) {
			berth_violation v = about(BERTH_VIOLATION_CONTIGUITY, op, op_dev[op]);
			v.message = berth_arena_printf(mem,
			                               "a path leaves '%s', whose operators must be "
			                               "contiguous, and comes back to it at '%s'",
			                               p->s->dev_name[op_dev[op]], p->g->op_name[op]);
			BERTH_TRY(add(mem, list, v, err));
		}
	}
	berth_violation v = about(BERTH_VIOLATION_CUTS, -1, -1);
	if (berth_cuts_above(p, op_dev) == 0)
		return BERTH_OK;
	bool one = berth_cuts(p, op_dev) == 1;
	v.message = berth_arena_printf(mem, "%lld border%s between blocks %s, above the limit of %d",
	                               (long long)berth_cuts(p, op_dev), one ? "" : "s",
	                               one ? "is a cut" : "are cuts", p->max_cuts);
	return add(mem, list, v, err);
}

static berth_status check_memory(const berth_problem *p, const int64_t *peak_bytes, berth_arena *mem,
                                 berth_violations *list, berth_err *err)
{
	for (int32_t d = 0; d < p->n_devs; d++) {
		int64_t limit = p->dev_limit_bytes[d];
		berth_violation v = about(BERTH_VIOLATION_MEMORY, -1, d);
		v.needed = peak_bytes[d];
		v.limit = limit;
		char a[64], b[64];
		if (limit < 0 || peak_bytes[d] <= limit)
			continue;
		v.message = berth_arena_printf(mem, "device '%s' needs %s at its peak and has %s",
		                               p->s->dev_name[d], berth_text_bytes_exact(a, peak_bytes[d]),
		                               berth_text_bytes_exact(b, limit));
		BERTH_TRY(add(mem, list, v, err));
	}
	return BERTH_OK;
}

static berth_status check_pools(const berth_problem *p, const int64_t *peak_bytes, berth_arena *mem,
                                berth_violations *list, berth_err *err)
{
	for (int32_t i = 0; i < p->n_pools; i++) {
		int64_t limit = p->s->pool_bytes[i];
		berth_violation v = about(BERTH_VIOLATION_POOL, -1, -1);
		v.needed = peak_bytes[i];
		v.limit = limit;
		v.pool = i;
		char a[64], b[64];
		if (limit < 0 || peak_bytes[i] <= limit)
			continue;
		v.message = berth_arena_printf(
			mem, "memory pool '%s': its devices together need %s at their peak, it has %s",
			p->s->pool_name[i], berth_text_bytes_exact(a, peak_bytes[i]),
			berth_text_bytes_exact(b, limit));
		BERTH_TRY(add(mem, list, v, err));
	}
	return BERTH_OK;
}

static berth_status check_limits(const berth_objective *o, const double *metric, berth_arena *mem,
                                 berth_violations *list, berth_err *err)
{
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		double x = metric[m];
		if (!o->limits[m] || !(x > o->most[m]))
			continue;
		char a[64], b[64];
		berth_violation v = about(BERTH_VIOLATION_LIMIT, -1, -1);
		v.metric = m;
		v.value = x;
		v.most = o->most[m];
		v.message = berth_arena_printf(mem, "%s is %s, above its limit of %s", berth_metrics[m].name,
		                               berth_metric_text((berth_metric)m, x, a),
		                               berth_metric_text((berth_metric)m, o->most[m], b));
		BERTH_TRY(add(mem, list, v, err));
	}
	return BERTH_OK;
}

berth_status berth_judge_timeline(const berth_problem *p, const berth_timeline *t, const berth_objective *o,
                                  berth_arena *mem, berth_verdict *out, berth_err *err)
{
	berth_objective latency = berth_objective_of(BERTH_LATENCY);
	berth_verdict v = {.value = NAN};
	if (!o)
		o = &latency;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		v.metric[m] = t->r.runs ? berth_metrics[m].value(&t->r) : NAN;
	const int32_t *op_dev = t->op_dev;
	for (int32_t op = 0; op < p->n_ops; op++) {
		BERTH_TRY(check_op(p, op, op_dev[op], mem, &v.broken, err));
		BERTH_TRY(check_colocation(p, op_dev, op, mem, &v.broken, err));
	}
	BERTH_TRY(p->coupled ? check_coupled(p, op_dev, mem, &v.broken, err) : BERTH_OK);
	if (t->r.runs) {
		v.value = berth_objective_sum(o, v.metric);
		BERTH_TRY(check_memory(p, t->peak_bytes, mem, &v.broken, err));
		BERTH_TRY(check_pools(p, t->pool_peak_bytes, mem, &v.broken, err));
		BERTH_TRY(check_limits(o, v.metric, mem, &v.broken, err));
	}
	v.feasible = v.broken.n == 0;
	*out = v;
	return BERTH_OK;
}

berth_status berth_judge(const berth_problem *p, const int32_t *op_dev, const int32_t *order,
                         const berth_objective *o, berth_arena *mem, berth_timeline *t, berth_verdict *out,
                         berth_err *err)
{
	BERTH_TRY(berth_timeline_new(p, op_dev, order, mem, t, err));
	return berth_judge_timeline(p, t, o, mem, out, err);
}

static const char *reason_text(const berth_problem *p, int32_t op, berth_violation_kind kind,
                               berth_arena *mem)
{
	const char *name = p->g->op_name[op], *type = type_of(p->g, op), *sys = p->s->name;
	char asks[64];
	switch (kind) {
	case BERTH_VIOLATION_CANNOT_RUN:
		return berth_arena_printf(mem,
		                          "no device of '%s' can run operator '%s' (%s): give it a time_s, "
		                          "or add its type to a device's runs%s",
		                          sys, name, type, berth_op_asks_peak(p->g, op, asks));
	case BERTH_VIOLATION_PIN:
		return berth_arena_printf(mem, "operator '%s' (%s) is pinned to '%s', which cannot run it",
		                          name, type, p->g->op_pin[op]);
	case BERTH_VIOLATION_FORBID:
		return berth_arena_printf(
			mem, "every device of '%s' that can run operator '%s' (%s) is forbidden to it", sys,
			name, type);
	default:
		return berth_arena_printf(
			mem, "operator '%s': no device of '%s' is legal for all of its %s '%s'", name, sys,
			berth_coloc_called(p->g), p->g->coloc_name[p->g->op_coloc_name[op]]);
	}
}

berth_status berth_check_problem(const berth_problem *p, berth_arena *mem, berth_violations *out,
                                 berth_err *err)
{
	berth_violations list = {0};
	for (int32_t op = 0; op < p->n_ops; op++) {
		bool legal = false;
		for (int32_t d = 0; d < p->n_devs; d++)
			legal |= berth_op_legal(p, op, d);
		if (legal)
			continue;
		/* Why no device is legal for op: the first reason that leaves none. */
		bool runs = false, pinned = false, allowed = false;
		for (int32_t d = 0; d < p->n_devs; d++) {
			const char *name = p->s->dev_name[d];
			bool here = berth_op_time(p, op, d) >= 0;
			bool pin_ok = here && (!p->g->op_pin[op] || strcmp(p->g->op_pin[op], name) == 0);
			runs |= here;
			pinned |= pin_ok;
			allowed |= pin_ok && !berth_op_forbids(p, op, d);
		}
		berth_violation_kind kind = !runs      ? BERTH_VIOLATION_CANNOT_RUN
		                            : !pinned  ? BERTH_VIOLATION_PIN
		                            : !allowed ? BERTH_VIOLATION_FORBID
		                                       : BERTH_VIOLATION_COLOCATION;
		berth_violation v = about(kind, op, -1);
		v.message = reason_text(p, op, kind, mem);
		BERTH_TRY(add(mem, &list, v, err));
	}
	if (!list.n && p->rules_infeasible) {
		berth_violation v = about(BERTH_VIOLATION_RULES, -1, -1);
		v.message = berth_arena_printf(mem, "no placement keeps %s together with the other rules",
		                               berth_constraints_joining(p));
		BERTH_TRY(add(mem, &list, v, err));
	}
	*out = list;
	return BERTH_OK;
}
