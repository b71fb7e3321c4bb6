/* Methods side by side: a row a method and seed, what the seeds of one method come to, and what methods come
 * to over many instances. */
#include "compare.h"

#include "check.h"

/* ---- rows ---- */

/* What the method did not do is told by the row. */
static berth_status no_answer(berth_compare_row *row, const char *why, berth_arena *mem, berth_err *err)
{
	row->note = berth_arena_strdup(mem, why);
	return berth_got(row->note, err);
}

/* Did the method end before it had proven what it can? Says so. */
static berth_status tell_end(const berth_problem *p, const berth_solution *r, berth_compare_row *row,
                             berth_arena *mem, berth_err *err)
{
	if (r->note)
		return no_answer(row, r->note, mem, err);
	if (strcmp(r->status, "limit") != 0)
		return BERTH_OK;
	row->note = r->groups && r->groups_optimal
	                    ? berth_arena_printf(mem, "solved %d groups of the %d operators", (int)r->groups,
	                                         (int)p->n_ops)
	                    : berth_arena_printf(mem, "ended by a limit after %lld nodes (--nodes, --time)",
	                                         (long long)r->nodes);
	return berth_got(row->note, err);
}

typedef struct watch {
	berth_compare_row *row;
	berth_arena *mem;
	double began;
	bool failed;
} watch;

static void watch_best(void *ctx, const berth_search *s)
{
	watch *w = ctx;
	berth_compare_row *r = w->row;
	const berth_search_point now = {s->evaluations, berth_cpu_seconds() - w->began, s->best.value};
	if (berth_score_feasible(s->best))
		w->failed |= BERTH_PUSH(w->mem, r->found, r->n_found, &r->cap_found, NULL, now) != BERTH_OK;
}

/* What it has found in a process of its own, in the place of what was seen of it here. */
static berth_status take_found(const berth_solution *s, berth_compare_row *r, berth_arena *mem,
                               berth_err *err)
{
	r->n_found = 0;
	for (int32_t i = 0; i < s->n_found; i++)
		BERTH_TRY(BERTH_PUSH(mem, r->found, r->n_found, &r->cap_found, err, s->found[i]));
	return BERTH_OK;
}

static berth_status fill_row(const berth_problem *p, const berth_bounds *bounds, const berth_compare_cfg *cfg,
                             berth_compare_row *row, berth_arena *mem, berth_arena *work, berth_arena *tmp,
                             berth_err *err)
{
	berth_search_cfg search = cfg->search;
	berth_solution r;
	berth_err why;
	search.seed = row->seed;
	double cpu = berth_cpu_seconds(), wall = berth_wall_seconds();
	watch seen = {row, mem, cpu, false};
	search.kept = watch_best;
	search.kept_ctx = &seen;
	berth_status st = berth_solve(p, bounds, cfg->method[row->method], &search, work, tmp, &r, &why);
	if (st == BERTH_ELIMIT || st == BERTH_EINFEASIBLE || st == BERTH_EINVAL || st == BERTH_EUNSUPPORTED) {
		row->status = st == BERTH_EUNSUPPORTED  ? "unsupported"
		              : st == BERTH_ELIMIT      ? "limit"
		              : st == BERTH_EINFEASIBLE ? "infeasible"
		                                        : "error";
		row->solve_s = berth_cpu_seconds() - cpu;
		row->wall_s = berth_wall_seconds() - wall;
		return no_answer(row, why.msg, mem, err);
	}
	if (st != BERTH_OK)
		return berth_fail(err, st, "%s", why.msg);
	if (seen.failed)
		return berth_nomem(err);
	if (r.n_found)
		BERTH_TRY(take_found(&r, row, mem, err));
	row->status = r.feasible ? "ok" : "infeasible";
	row->feasible = r.feasible;
	row->value = r.value;
	row->gap = r.gap;
	row->order = r.order;
	row->evaluations = r.evaluations;
	row->solve_s = r.solve_s;
	row->wall_s = r.wall_s;
	return r.feasible ? tell_end(p, &r, row, mem, err)
	                  : no_answer(row,
	                              r.answered ? "its placement breaks a rule, a limit or memory"
	                                         : "no placement keeps the rules",
	                              mem, err);
}

/* searched: what methods choose from; p: what plans are valued in. */
static berth_status fill_plan(const berth_problem *searched, const berth_problem *p,
                              const berth_compare_cfg *cfg, berth_compare_row *row, berth_arena *mem,
                              berth_arena *work, berth_err *err)
{
	const berth_compare_plan *plan = &cfg->plan[row->method - cfg->n_methods];
	const int32_t *order = plan->order;
	berth_timeline t;
	berth_verdict v;
	if (!plan->op_dev) {
		row->status = "unsupported";
		return no_answer(row, plan->why, mem, err);
	}
	if (!order && p->s->order == BERTH_ORDER_GIVEN)
		order = p->g->topo_op; /* as of a method that makes none */
	BERTH_TRY(berth_judge(p, plan->op_dev, order, &cfg->search.objective, work, &t, &v, err));
	row->order = t.order;
	row->evaluations = 1;
	row->feasible = v.feasible;
	row->status = v.feasible ? "ok" : "infeasible";
	if (!v.feasible)
		return no_answer(row, v.broken.item[0].message, mem, err);
	row->value = v.value;
	if (!berth_solve_has(searched, plan->op_dev))
		row->lower_bound = NAN;
	row->gap = berth_gap(v.value, row->lower_bound);
	return BERTH_OK;
}

static berth_status fill_rows(const berth_problem *p, const berth_bounds *bounds,
                              const berth_compare_cfg *cfg, berth_compare_row *row, int32_t *n,
                              berth_arena *mem, berth_arena *work, berth_arena *tmp, berth_err *err)
{
	double lower_bound;
	BERTH_TRY(berth_objective_check(&cfg->search.objective, p, err));
	BERTH_TRY(berth_bounds_objective(p, bounds, &cfg->search.objective, tmp, &lower_bound, err));
	for (int32_t i = 0; i < (cfg->n_methods + cfg->n_plans) * cfg->n_seeds; i++) {
		uint64_t seed = cfg->search.seed + (uint64_t)(i % cfg->n_seeds);
		row[i] = (berth_compare_row){.method = i / cfg->n_seeds,
		                             .seed = seed,
		                             .value = NAN,
		                             .gap = NAN,
		                             .order = p->s->order};
		row[i].lower_bound = lower_bound;
		if (cfg->told)
			cfg->told(cfg->told_ctx, row[i].method, seed);
		const berth_problem *whole = cfg->plans_of ? cfg->plans_of : p;
		BERTH_TRY(row[i].method < cfg->n_methods
		                  ? fill_row(p, bounds, cfg, &row[i], mem, work, tmp, err)
		                  : fill_plan(p, whole, cfg, &row[i], mem, work, err));
		berth_arena_free(work);
		if (cfg->search.cancel && atomic_load(cfg->search.cancel)) /* the row was cut short */
			return berth_fail(err, BERTH_EINTERRUPTED, "interrupted; the rows so far stand");
		++*n;
	}
	return BERTH_OK;
}

berth_status berth_compare(const berth_problem *p, const berth_bounds *bounds, const berth_compare_cfg *cfg,
                           berth_compare_row *row, int32_t *n, berth_arena *mem, berth_arena *tmp,
                           berth_err *err)
{
	BERTH_ARENA(work);
	*n = 0;
	berth_arena_init(&work, mem->hook);
	return fill_rows(p, bounds, cfg, row, n, mem, &work, tmp, err);
}

/* ---- summary ---- */

static berth_status summarise(const berth_compare_row *row, int32_t n, berth_arena *tmp,
                              berth_compare_summary *s, berth_err *err)
{
	double *value;
	BERTH_TRY_NEW(tmp, n, err, value);
	for (int32_t i = 0; i < n; i++) {
		s->evaluations += (double)row[i].evaluations / n;
		s->solve_s += row[i].solve_s / n;
		if (!row[i].feasible)
			continue;
		s->least = fmin(s->least, row[i].value);
		s->most = fmax(s->most, row[i].value);
		value[s->n_feasible++] = row[i].value;
	}
	if (!s->n_feasible)
		return BERTH_OK;
	s->median = berth_median(value, s->n_feasible, tmp);
	s->gap = berth_gap(s->median, row[0].lower_bound);
	if (s->n_feasible >= BERTH_LEAST_FOR_INTERVAL) {
		berth_interval i = berth_bootstrap(value, s->n_feasible, berth_median, tmp);
		s->low = i.low;
		s->high = i.high;
	}
	/* Values are numbers, so NAN says that memory ran out. */
	bool failed = isnan(s->median) || (s->n_feasible >= BERTH_LEAST_FOR_INTERVAL && isnan(s->low));
	return failed ? berth_nomem(err) : BERTH_OK;
}

berth_status berth_compare_summarise(const berth_compare_row *row, int32_t n, berth_arena *tmp,
                                     berth_compare_summary *out, berth_err *err)
{
	berth_compare_summary s = {
		.n_rows = n, .median = NAN, .least = NAN, .most = NAN, .low = NAN, .high = NAN, .gap = NAN};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(summarise(row, n, tmp, &s, err));
	*out = s;
	return BERTH_OK;
}

/* ---- over instances ---- */

#define SAME 1e-9 /* relative */

typedef struct table {
	const berth_compare_summary *summary; /* [n_instances][n_methods] */
	int32_t n_instances, n_methods, single, against;
	double *x;                            /* [n_instances] scratch */
} table;

static double median_of(const table *t, int32_t instance, int32_t method)
{
	return BERTH_ROW(t->summary, instance, t->n_methods)[method].median;
}

static double geomean(const double *x, int32_t n, berth_arena *tmp)
{
	(void)tmp;
	return berth_geomean(x, n);
}

static berth_status find_ratio(const table *t, int32_t method, berth_arena *tmp, berth_compare_overall *o,
                               berth_err *err)
{
	o->ratio = (berth_interval){NAN, NAN, NAN};
	for (int32_t i = 0; i < t->n_instances && t->single >= 0; i++) {
		double ratio = median_of(t, i, method) / median_of(t, i, t->single);
		if (ratio > 0 && isfinite(ratio))
			t->x[o->n_ratios++] = ratio;
	}
	if (o->n_ratios >= BERTH_LEAST_FOR_INTERVAL) {
		o->ratio = berth_bootstrap(t->x, o->n_ratios, geomean, tmp);
		return isnan(o->ratio.low) ? berth_nomem(err) : BERTH_OK;
	}
	if (o->n_ratios)
		o->ratio.middle = berth_geomean(t->x, o->n_ratios);
	return BERTH_OK;
}

/* Logarithm of the ratio of two values, below 0 where a is better; of no value at all it is infinite. */
static double difference(double a, double b)
{
	if (isnan(a) || isnan(b))
		return isnan(a) && isnan(b) ? 0 : isnan(a) ? INFINITY : -INFINITY;
	return fabs(a - b) <= SAME * fmax(fabs(a), fabs(b)) ? 0 : log(a / b);
}

static berth_status count_wins(const table *t, int32_t method, berth_arena *tmp, berth_compare_overall *o,
                          berth_err *err)
{
	o->p = o->p_corrected = NAN;
	for (int32_t i = 0; i < t->n_instances; i++) {
		double d = t->x[i] = difference(median_of(t, i, method), median_of(t, i, t->against));
		o->wins += d < 0;
		o->ties += d == 0;
		o->losses += d > 0;
	}
	if (method == t->against)
		return BERTH_OK;
	o->p = berth_signed_rank(t->x, t->n_instances, tmp);
	return isnan(o->p) ? berth_nomem(err) : BERTH_OK;
}

static berth_status over_instances(table *t, berth_arena *tmp, berth_compare_overall *out, berth_err *err)
{
	double *p, *corrected;
	BERTH_TRY_NEW(tmp, t->n_instances, err, t->x);
	BERTH_TRY_NEW(tmp, t->n_methods, err, p, corrected);
	for (int32_t m = 0; m < t->n_methods; m++) {
		out[m] = (berth_compare_overall){0};
		int64_t n_rows = 0;
		for (int32_t i = 0; i < t->n_instances; i++) {
			const berth_compare_summary *s =
				&BERTH_ROW(t->summary, i, t->n_methods)[m];
			n_rows += s->n_rows;
			out[m].n_feasible += s->n_feasible > 0;
			out[m].evaluations += s->evaluations * s->n_rows;
			out[m].solve_s += s->solve_s * s->n_rows;
		}
		out[m].n_instances = t->n_instances;
		if (n_rows) {
			out[m].evaluations /= (double)n_rows;
			out[m].solve_s /= (double)n_rows;
		}
		for (int32_t i = 0; i < t->n_instances; i++) {
			double gap = BERTH_ROW(t->summary, i, t->n_methods)[m].gap;
			if (!isnan(gap))
				t->x[out[m].n_gaps++] = 1 + gap;
		}
		out[m].gap = out[m].n_gaps ? berth_geomean(t->x, out[m].n_gaps) - 1 : NAN;
		BERTH_TRY(find_ratio(t, m, tmp, &out[m], err));
		BERTH_TRY(count_wins(t, m, tmp, &out[m], err));
		p[m] = out[m].p;
	}
	berth_holm(p, t->n_methods, corrected);
	for (int32_t m = 0; m < t->n_methods; m++)
		out[m].p_corrected = corrected[m];
	return BERTH_OK;
}

berth_status berth_compare_over_instances(const berth_compare_summary *summary, int32_t n_instances,
                                          int32_t n_methods, int32_t single, int32_t against,
                                          berth_arena *tmp, berth_compare_overall *out, berth_err *err)
{
	table t = {summary, n_instances, n_methods, single, against, NULL};
	BERTH_SCRATCH(tmp);
	return over_instances(&t, tmp, out, err);
}
