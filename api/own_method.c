/* Methods of users' own: loaded and run in a process of their own, so that a crash, a leak or an endless loop
 * is theirs. What they answer is simulated anew here. */
#include "own_method.h"

#include "apart.h"
#include "api.h"
#include "library.h"
#include "methods.h"

#include <sys/resource.h>

/* How long one may take to return where no time is given: so much, and so much for each evaluation. Beyond a
 * time that is given it has LATE_S, or LATE_SHARE of it where that is more. CPU time is a tenth of the
 * clock's at least. */
#define PATIENCE_S 60.0
#define EVALUATION_S 0.01
#define LATE_S 1.0
#define LATE_SHARE 0.1
#define CPU_SHARE 0.1
#define MOST_S 1e9

typedef struct own_method {
	berth_method m; /* first: a search knows its method by this */
	const char *path;
	char about[512]; /* what it says of itself */
} own_method;

/* What a child tells, beside the placement. */
enum { POINTS = 64 };

typedef struct answer {
	int64_t evaluations, refused, illegal;
	int32_t illegal_op, illegal_dev, returned, any, ordered; /* no bool: any byte may come */
	int32_t n_found; /* of incumbents, every one of the latest and fewer of those before */
	berth_search_point found[POINTS];
} answer;

typedef struct job {
	own_method *own;
	berth_search *s; /* NULL: load it, no more */
	berth_arena *mem;
	double cpu_used; /* of the limit of CPU time, before the child */
	answer a;
	int32_t *op_dev, *order; /* [n_ops] */
} job;

/* ---- in the child ---- */

static void note_best(void *ctx, const berth_search *s)
{
	job *j = ctx;
	answer *a = &j->a;
	if (!berth_score_feasible(s->best))
		return;
	if (a->n_found == POINTS) {
		for (int32_t i = 1; i < POINTS / 2; i++) /* the first and the latest stay */
			a->found[i] = a->found[2 * i + 1];
		a->n_found = POINTS / 2;
	}
	a->found[a->n_found++] = (berth_search_point){s->evaluations, berth_cpu_seconds(), s->best.value};
}

static berth_status load_table(const char *path, const berth_own_method **out, berth_err *err)
{
	const char *why;
	bool absent;
	void *library = berth_library_load(path, true, &why, &absent);
	if (!library) /* the loader's words begin with the path */
		return why && strstr(why, path)
		               ? berth_fail(err, BERTH_EIO, "method %.400s", why)
		               : berth_fail(err, BERTH_EIO, "method %.200s: %.200s", path,
		                            why ? why : "it cannot be loaded");
	const berth_own_method *table = berth_library_look(library, "berth_method", &why);
	if (!table)
		return berth_fail(err, BERTH_EIO,
		                  "method %.200s exports no table berth_method (berth.h: berth_own_method)",
		                  path);
	if (table->version != BERTH_OWN_METHOD_VERSION)
		return berth_fail(
			err, BERTH_EINVAL,
			"method %.200s is of version %d of berth_own_method, and this berth knows %d: "
			"build it anew with the berth.h of this berth",
			path, (int)table->version, BERTH_OWN_METHOD_VERSION);
	*out = table;
	return BERTH_OK;
}

static void take_answer(job *j, const berth_evaluator *e)
{
	const berth_search *s = e->s;
	j->a.evaluations = s->evaluations;
	j->a.refused = e->refused;
	j->a.illegal = e->illegal;
	j->a.illegal_op = e->illegal_op;
	j->a.illegal_dev = e->illegal_dev;
	j->a.any = isfinite(s->best.excess);
	j->a.ordered = s->best_has_order;
	if (j->a.any)
		BERTH_COPY(j->op_dev, s->best_dev, s->p->n_ops);
	if (j->a.ordered)
		BERTH_COPY(j->order, s->best_order, s->p->n_ops);
}

static berth_status run_in_child(void *ctx, berth_err *err)
{
	job *j = ctx;
	const berth_own_method *table = NULL;
	berth_evaluator e = {.n_placed = 0};
	BERTH_TRY(load_table(j->own->path, &table, err));
	if (!j->s) {
		snprintf(j->own->about, sizeof j->own->about, "%s", table->about ? table->about : "");
		return BERTH_OK;
	}
	j->s->cfg.progress = NULL;
	j->s->cfg.kept = note_best;
	j->s->cfg.kept_ctx = j;
	if (j->s->cfg.cpu_s > 0) /* the clock of a process of its own */
		j->s->cpu_started = berth_cpu_seconds() - j->cpu_used;
	BERTH_TRY(api_evaluator_open(&e, j->s, j->mem, err));
	const berth_own_run r = {.e = &e,
	                         .view = &e.view,
	                         .seed = j->s->cfg.seed,
	                         .left = berth_evaluator_left,
	                         .value = berth_evaluator_value,
	                         .near = berth_evaluator_near,
	                         .clear = berth_schedule_clear,
	                         .finish = berth_schedule_finish,
	                         .put = berth_schedule_put,
	                         .take = berth_schedule_take};
	j->a.returned = table->run(&r);
	take_answer(j, &e);
	return BERTH_OK;
}

/* ---- here ---- */

static double patience_s(const berth_search *s)
{
	const berth_search_cfg *c = &s->cfg;
	double limit =
		c->cpu_s > 0 ? c->cpu_s / CPU_SHARE : PATIENCE_S + EVALUATION_S * (double)c->evaluations;
	if (c->time_s > 0)
		limit = fmax(berth_search_seconds_left(s), 0) + fmax(LATE_S, LATE_SHARE * c->time_s);
	return fmin(limit, MOST_S);
}

/* How it failed; in the words of whom it concerns. */
static berth_status tell_end(const job *j, berth_apart_end how, int by_signal, double limit_s, berth_err *err)
{
	const char *path = j->own->path;
	if (how == BERTH_APART_LATE)
		return berth_fail(err, BERTH_ELIMIT,
		                  "method %.200s did not %s within %.3g s, and was ended%s", path,
		                  j->s ? "return" : "load", limit_s, j->s ? " (--time gives it more)" : "");
	if (how == BERTH_APART_ENDED && by_signal)
		return berth_fail(err, BERTH_EINVAL, "method %.200s crashed: signal %d (%s)", path, by_signal,
		                  strsignal(by_signal));
	if (how == BERTH_APART_ENDED)
		return berth_fail(err, BERTH_EINVAL, "method %.200s ended its process instead of returning",
		                  path);
	if (j->a.returned != 0)
		return berth_fail(err, BERTH_EINVAL,
		                  "method %.200s failed: it returned %d after %lld evaluations", path,
		                  (int)j->a.returned, (long long)j->a.evaluations);
	return BERTH_OK;
}

/* What it did that others may not. Text in s->mem. */
static berth_status note_faults(const job *j, berth_search *s, berth_err *err)
{
	const answer *a = &j->a;
	const berth_problem *p = s->p;
	bool named = a->illegal_op >= 0 && a->illegal_op < p->n_ops;
	if (!a->illegal && !a->refused)
		return BERTH_OK;
	const char *of =
		!a->illegal ? ""
		: !named ? berth_arena_printf(s->mem, "%lld of its orders were none", (long long)a->illegal)
			 : berth_arena_printf(s->mem,
	                                      "%lld of its placements were none: the first put %s on %s, "
	                                      "where it may not "
	                                      "stand or is apart from its group",
	                                      (long long)a->illegal, p->g->op_name[a->illegal_op],
	                                      a->illegal_dev >= 0 && a->illegal_dev < p->n_devs
	                                              ? p->s->dev_name[a->illegal_dev]
	                                              : "no device");
	BERTH_TRY(berth_got(of, err));
	const char *more =
		!a->refused
			? ""
			: berth_arena_printf(
				  s->mem,
				  "%sit asked for %lld evaluation%s beyond its budget, not made",
				  *of ? "; " : "", (long long)a->refused, a->refused == 1 ? "" : "s");
	BERTH_TRY(berth_got(more, err));
	return berth_got(s->note = berth_arena_printf(s->mem, "%s%s", of, more), err);
}

/* How the value came to be, where the answer fits; else it is told of what mends it. What can be no such
 * point is left out. */
static berth_status take_found(const job *j, berth_search *s, berth_err *err)
{
	berth_search_point *found;
	bool fits = berth_score_feasible(s->best) && j->a.n_found > 0 && j->a.n_found <= POINTS;
	int32_t n = fits ? j->a.n_found : 0;
	BERTH_TRY_NEW(s->mem, n, err, found);
	s->n_found = 0;
	for (int32_t i = 0; i < n; i++) {
		const berth_search_point *x = &j->a.found[i];
		if (x->evaluations >= 0 && x->evaluations <= s->evaluations && x->cpu_s >= 0 &&
		    isfinite(x->cpu_s) && isfinite(x->value))
			found[s->n_found++] = *x;
	}
	s->found = found;
	return BERTH_OK;
}

static berth_status take(job *j, berth_search *s, berth_arena *tmp, berth_err *err)
{
	berth_evaluator e = {.s = s, .illegal_op = -1};
	const int32_t *order = j->a.ordered ? j->order : NULL;
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, e.place_of);
	BERTH_TRY(note_faults(j, s, err));
	/* The child's memory was the method's to write to: only what is simulated here counts. */
	if (!j->a.any || !api_evaluator_legal(&e, j->op_dev) || (order && !api_evaluator_ordered(&e, order)))
		return berth_fail(err, BERTH_EINVAL, "method %.200s valued no placement%s%s", j->own->path,
		                  s->note ? ": " : "", s->note ? s->note : "");
	int64_t least = s->evaluations, most = least > s->cfg.evaluations ? least : s->cfg.evaluations;
	berth_search_offer(s, j->op_dev, order);
	s->evaluations = j->a.evaluations < least ? least : j->a.evaluations > most ? most : j->a.evaluations;
	return take_found(j, s, err);
}

/* Run the child. What goes wrong there is the method's, but what the loader says. */
static berth_status run_apart(job *j, const berth_patience *until, double limit_s, int n_blocks,
                              const berth_apart_block *blocks, berth_err *err)
{
	berth_apart_end how = BERTH_APART_ENDED;
	int by_signal = -1; /* no child was begun, or heard of */
	berth_err why = {BERTH_OK, ""};
	berth_status st = berth_apart_until(until, run_in_child, j, n_blocks, blocks, &how, &by_signal, &why);
	bool loaders = !j->s && strstr(why.msg, j->own->path) && (st == BERTH_EINVAL || st == BERTH_EIO);
	if (st != BERTH_OK && by_signal >= 0 && !loaders)
		return berth_fail(err, BERTH_EINVAL, "method %.200s failed: %.250s", j->own->path, why.msg);
	if (st != BERTH_OK)
		return berth_fail(err, st, "%s", why.msg);
	if (until->cancel && atomic_load(until->cancel))
		return BERTH_OK; /* the user had enough: no answer, and not its fault */
	return tell_end(j, how, by_signal, limit_s, err);
}

static berth_status run_own(berth_search *s, berth_arena *tmp, berth_err *err)
{
	job j = {.own = (own_method *)s->method, .s = s, .mem = tmp};
	double limit_s = patience_s(s);
	const berth_patience until = {.cancel = s->cfg.cancel, .end_s = berth_wall_seconds() + limit_s};
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, j.op_dev, j.order);
	if (s->cfg.cpu_s > 0)
		j.cpu_used = berth_cpu_seconds() - s->cpu_started;
	size_t bytes = (size_t)s->p->n_ops * sizeof *j.op_dev;
	const berth_apart_block blocks[] = {{&j.a, sizeof j.a}, {j.op_dev, bytes}, {j.order, bytes}};
	BERTH_TRY(run_apart(&j, &until, limit_s, 3, blocks, err));
	return s->cfg.cancel && atomic_load(s->cfg.cancel) ? BERTH_OK : take(&j, s, tmp, err);
}

berth_status berth_method_named(const char *name, berth_arena *mem, const berth_method **out, berth_err *err)
{
	own_method *own;
	const berth_patience until = {.end_s = berth_wall_seconds() + PATIENCE_S};
	if (!strchr(name, '/'))
		return berth_method_find(name, out, err);
	BERTH_TRY_NEW(mem, 1, err, own);
	BERTH_TRY(berth_got(own->path = berth_arena_strdup(mem, name), err));
	own->m = (berth_method){
		.name = own->path, .about = own->about, .run = run_own, .source = ""};
	job j = {.own = own};
	const berth_apart_block block = {own->about, sizeof own->about};
	BERTH_TRY(run_apart(&j, &until, PATIENCE_S, 1, &block, err));
	own->about[sizeof own->about - 1] = '\0'; /* a child's word */
	*out = &own->m;
	return BERTH_OK;
}

int32_t berth_own_method_version(void)
{
	return BERTH_OWN_METHOD_VERSION;
}
