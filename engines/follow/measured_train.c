/* Placements that the engine runs, the simulator re-fitted to each, and in the end the best beside the
 * baselines. */
#include "measured_train.h"

#include "coloc.h"
#include "constraints.h"
#include "registry.h"
#include "search.h"
#include "times.h"

/* Runs of a placement: where its median is not known to 10 % it runs twice as often again. Evaluations of a
 * walk on the simulator, and walks until one finds a placement that is not known; turns of the final
 * comparison at most. */
enum { REPEATS = 5, EVALUATIONS = 4000, WALKS = 6, TURNS = 31, MAX_TRIALS = 256, MIN_PAIRS = 9 };

berth_mtrain_cfg berth_mtrain_cfg_default(void)
{
	return (berth_mtrain_cfg){.runs = 400, .seed = 1, .profile = berth_profile_cfg_default()};
}

berth_status berth_mtrain_open(berth_measured *m, const berth_mtrain_cfg *cfg, berth_arena *mem,
                               berth_arena *tmp, berth_mtrain *out, berth_err *err)
{
	*out = (berth_mtrain){.m = m, .cfg = cfg, .mem = mem};
	BERTH_TRY(berth_profile_run(m, &cfg->profile, mem, tmp, &out->profile, err));
	BERTH_TRY(berth_fitted_sim_profiled(&out->profile, m->g, m->s, mem, tmp, &out->sim, err));
	out->profiled = out->sim.s;
	return BERTH_OK;
}

/* ---- measuring ---- */

typedef berth_mtrain_trial trial;

typedef struct job {
	berth_mtrain *t;
	berth_arena *tmp;
	berth_mtrain_result *r;
	berth_calibration c;
	trial trial[MAX_TRIALS];
	int32_t n_trials;
	int64_t n_more;  /* runs beyond the first of a placement */
	berth_arena fit; /* the present simulator, once it was fitted */
} job;

int64_t berth_mtrain_least_runs(void)
{
	return 1 + REPEATS + 4 * MIN_PAIRS;
}

static bool cancelled(const job *j)
{
	return j->t->cfg->cancel && atomic_load(j->t->cfg->cancel);
}

static berth_status interrupted(const job *j, berth_err *err)
{
	return cancelled(j) ? berth_fail(err, BERTH_EINTERRUPTED,
	                                 "interrupted after %d measured placements; --resume goes on",
	                                 (int)j->r->n_measured)
	                    : BERTH_OK;
}

static bool may_go_on(const job *j, int64_t runs)
{
	return j->t->m->runs + runs <= j->t->cfg->runs && !cancelled(j);
}

static bool was_measured(const job *j, const int32_t *op_dev)
{
	for (int32_t i = 0; i < j->n_trials; i++)
		if (memcmp(j->trial[i].op_dev, op_dev, (size_t)j->t->sim.p.n_ops * sizeof *op_dev) == 0)
			return true;
	return false;
}

/* Whatever the engine refused or failed at: that placement does not count, and others may. */
static berth_status failed(job *j, berth_status st, const berth_err *why, berth_err *err)
{
	BERTH_TRY(interrupted(j, err));
	if (st == BERTH_ENOMEM || j->t->m->unwritten)
		return berth_fail(err, st, "%s", why->msg);
	j->r->n_failed++;
	return berth_got(j->r->failure = berth_arena_strdup(j->t->mem, why->msg), err);
}

static berth_status keep(job *j, const int32_t *op_dev, const int32_t *order, trial **out, berth_err *err)
{
	trial *x = &j->trial[j->n_trials];
	size_t size = (size_t)j->t->sim.p.n_ops * sizeof *op_dev;
	BERTH_TRY_NEW(j->t->mem, j->t->sim.p.n_ops, err, x->op_dev, x->order);
	memcpy(x->op_dev, op_dev, size);
	if (order)
		memcpy(x->order, order, size);
	else
		berth_start_order(&j->t->sim.p, j->t->sim.sim, op_dev, x->order);
	x->seconds = x->off = NAN;
	j->n_trials++;
	*out = x;
	return BERTH_OK;
}

/* Runs that only make a median better known take a quarter of the budget at most. They leave what the turns
 * at the end need. */
static bool may_repeat(const job *j)
{
	const berth_mtrain_cfg *cfg = j->t->cfg;
	return 4 * (j->n_more + 2 * REPEATS) <= cfg->runs && may_go_on(j, 1 + 3 * REPEATS + 4 * TURNS);
}

/* Measure a placement that was not yet. */
static berth_status measure_one(job *j, const int32_t *op_dev, const int32_t *order, berth_err *err)
{
	trial *x;
	berth_measurement run;
	berth_err why = {0};
	if (j->n_trials == MAX_TRIALS || was_measured(j, op_dev) || !may_go_on(j, berth_mtrain_least_runs()))
		return BERTH_OK;
	berth_steady_cfg runs = {
		.warmup = 1, .least = REPEATS, .most = may_repeat(j) ? 2 * REPEATS : REPEATS, .width = 0.1};
	BERTH_TRY(keep(j, op_dev, order, &x, err));
	berth_status st =
		berth_steady_run(j->t->m, &runs, x->op_dev, x->order, j->t->mem, j->tmp, &run, &why);
	if (st != BERTH_OK)
		return failed(j, st, &why, err);
	x->seconds = run.wall.median;
	j->n_more += run.n_samples > REPEATS ? run.n_samples : 0;
	j->r->n_measured++;
	x->off = fabs(berth_fitted_sim_latency_s(&j->t->sim, x->op_dev, x->order) / x->seconds - 1);
	return berth_calibration_add(&j->c, &run, 0, j->tmp, err);
}

/* Fit the simulator anew, into mem. */
static berth_status refit(job *j, berth_rng *draw, berth_arena *mem, berth_fitted_sim *out, berth_err *err)
{
	j->c.draw = draw;
	return berth_fitted_sim_refit(&j->c, mem, j->tmp, NULL, NULL, out, err);
}

/* What annealing on the present simulator finds; where that is known, on drawn ones. */
static berth_status measure_annealed(job *j, berth_arena *scratch, berth_err *err)
{
	const berth_mtrain_cfg *cfg = j->t->cfg;
	const int32_t n = j->n_trials;
	for (int32_t i = 0; i < WALKS && j->n_trials == n && !cancelled(j); i++) {
		const berth_search_cfg how = {.seed = cfg->seed + (uint64_t)(n * WALKS + i),
		                              .evaluations = EVALUATIONS,
		                              .pool = cfg->pool,
		                              .cancel = cfg->cancel};
		berth_rng rng = berth_rng_seed(how.seed, BERTH_STREAM_MEASURED);
		berth_fitted_sim drawn, *sim = &j->t->sim;
		berth_search s;
		if (i > 0) {
			if (!j->c.n_seen)
				return BERTH_OK;
			BERTH_TRY(refit(j, &rng, scratch, &drawn, err));
			sim = &drawn;
		}
		BERTH_TRY(berth_search_new(&sim->p, &how, scratch, &s, err));
		BERTH_TRY(berth_method_run(&berth_method_anneal, &s, j->tmp, err));
		BERTH_TRY(measure_one(j, s.best_dev, berth_search_order(&s), err));
	}
	return BERTH_OK;
}

static bool may_run(const berth_fitted_sim *f, const int32_t *op_dev, uint64_t *marks)
{
	berth_sim_result r;
	berth_sim_run(f->sim, op_dev, NULL, &r);
	return r.runs && r.fits && berth_constraints_broken(&f->p, op_dev, marks) == 0;
}

/* Each device alone that can run and hold it all, as far as a quarter of the budget goes. The rival in the
 * final comparison is then the fastest of them as measured, not as simulated. */
static berth_status measure_singles(job *j, berth_err *err)
{
	const berth_problem *p = &j->t->sim.p;
	uint64_t *marks;
	int32_t *op_dev;
	int64_t before = j->t->m->runs;
	BERTH_TRY_NEW(j->tmp, p->n_ops, err, op_dev);
	BERTH_TRY_NEW(j->tmp, berth_constraints_scratch(p), err, marks);
	for (int32_t d = 0; d < p->n_devs && 4 * (j->t->m->runs - before) < j->t->cfg->runs; d++)
		if (berth_coloc_put_all(p, d, op_dev) && may_run(&j->t->sim, op_dev, marks))
			BERTH_TRY(measure_one(j, op_dev, NULL, err));
	return BERTH_OK;
}

static berth_status measure_next(job *j, berth_arena *scratch, berth_err *err)
{
	const berth_mtrain_cfg *cfg = j->t->cfg;
	const int32_t n = j->n_trials, *op_dev, *order;
	if (cfg->propose) {
		BERTH_TRY(cfg->propose(cfg->propose_ctx, &j->t->sim.p, j->trial, n, scratch, j->tmp, &op_dev,
		                       &order, err));
		BERTH_TRY(measure_one(j, op_dev, order, err));
	}
	return j->n_trials == n ? measure_annealed(j, scratch, err) : BERTH_OK;
}

/* Until the runs are used up, or nothing is found that was not measured. */
static berth_status measure_all(job *j, berth_err *err)
{
	int32_t n = -1;
	BERTH_TRY(measure_singles(j, err));
	while (n < j->n_trials && may_go_on(j, berth_mtrain_least_runs())) {
		BERTH_ARENA(scratch);
		if (j->c.n_seen) {
			berth_arena_free(&j->fit);
			BERTH_TRY(refit(j, NULL, &j->fit, &j->t->sim, err));
			j->r->rounds++;
		}
		n = j->n_trials;
		BERTH_TRY(measure_next(j, &scratch, err));
	}
	return interrupted(j, err);
}

static void tell_errors(job *j)
{
	double sum[2] = {0};
	int32_t half = j->r->n_measured / 2, n[2] = {0}, k = 0;
	for (int32_t i = 0; i < j->n_trials; i++) {
		if (isnan(j->trial[i].seconds))
			continue;
		bool late = k++ >= half;
		sum[late] += j->trial[i].off;
		n[late]++;
	}
	j->r->first_error = n[0] ? sum[0] / n[0] : n[1] ? sum[1] / n[1] : NAN;
	j->r->simulated_error = n[1] ? sum[1] / n[1] : NAN;
}

/* In the end the simulator stands in the training's memory. */
static berth_status measure(job *j, berth_err *err)
{
	berth_err why;
	berth_status st = measure_all(j, err);
	tell_errors(j);
	if (j->c.n_seen && st != BERTH_ENOMEM && refit(j, NULL, j->t->mem, &j->t->sim, &why) != BERTH_OK)
		st = berth_nomem(err);
	berth_arena_free(&j->fit);
	return st;
}

/* ---- the final comparison ---- */

typedef struct contest {
	double *mine, *theirs[BERTH_N_RIVALS], *ratio; /* [pairs] seconds */
	const trial *best;
	trial single;
} contest;

static berth_status open_contest(job *j, contest *x, berth_err *err)
{
	int32_t n = TURNS;
	BERTH_TRY_NEW(j->tmp, n, err, x->mine, x->ratio);
	for (int i = 0; i < BERTH_N_RIVALS; i++)
		BERTH_TRY_NEW(j->tmp, n, err, x->theirs[i]);
	return BERTH_OK;
}

static berth_status time_once(job *j, const trial *x, int32_t threads, double *seconds, berth_err *err)
{
	BERTH_ARENA(scratch);
	berth_measurement run;
	berth_err why = {0};
	berth_status st =
		x ? berth_measured_run(j->t->m, x->op_dev, x->order, 0, 1, &scratch, j->tmp, &run, &why)
		  : berth_measured_whole(j->t->m, threads, 0, 1, &scratch, j->tmp, &run, &why);
	*seconds = st == BERTH_OK ? run.wall.median : NAN;
	return st == BERTH_OK ? BERTH_OK : failed(j, st, &why, err);
}

static berth_status judge(job *j, contest *x, int32_t n, berth_err *err)
{
	static const char *const names[BERTH_N_RIVALS] = {"single", "whole, 1 thread", "whole, all threads"};
	BERTH_TRY(berth_median_of(x->mine, n, j->tmp, &j->r->best_s, err));
	j->r->accepted = n >= 6;
	for (int i = 0; i < BERTH_N_RIVALS - !berth_measured_all_threads(j->t->m); i++) {
		berth_rival *r = &j->r->rival[i];
		int32_t k = 0;
		for (int32_t p = 0; p < n; p++)
			if (!isnan(x->theirs[i][p])) {
				x->ratio[k] = x->mine[p] / x->theirs[i][p];
				x->theirs[i][k++] = x->theirs[i][p];
			}
		*r = (berth_rival){.name = names[i], .seconds = NAN, .ratio = {NAN, NAN, NAN, NAN}};
		BERTH_TRY(berth_median_of(x->theirs[i], k, j->tmp, &r->seconds, err));
		if (k)
			BERTH_TRY(berth_spread_of(x->ratio, k, j->tmp, &r->ratio, err));
		r->beaten = k >= 6 && r->ratio.high < 1;
		j->r->accepted &= r->beaten;
	}
	j->r->pairs = n;
	return BERTH_OK;
}

static berth_status compare(job *j, berth_err *err)
{
	contest x = {0};
	int32_t n = 0;
	bool counts;
	for (int32_t i = 0; i < j->n_trials; i++)
		if (!isnan(j->trial[i].seconds) && (!x.best || j->trial[i].seconds < x.best->seconds))
			x.best = &j->trial[i];
	if (!x.best)
		return BERTH_OK;
	j->r->answered = true;
	j->r->op_dev = x.best->op_dev;
	j->r->order = x.best->order;
	BERTH_TRY(open_contest(j, &x, err));
	/* The fastest measured placement with all on one device, where there is one. */
	const berth_problem *p = &j->t->sim.p;
	const trial *best = NULL;
	for (int32_t i = 0; i < j->n_trials; i++) {
		bool one = !isnan(j->trial[i].seconds);
		for (int32_t op = 1; op < p->n_ops && one; op++)
			one = j->trial[i].op_dev[op] == j->trial[i].op_dev[0];
		if (one && (!best || j->trial[i].seconds < best->seconds))
			best = &j->trial[i];
	}
	if (best)
		x.single = *best;
	for (int32_t i = 0; n < TURNS && i < 2 * TURNS; i++) {
		if (i > 1 && !may_go_on(j, 4))
			break;
		/* One turn of all. The first turn only warms up. One in which the placement itself fails
		 * does not count. */
		BERTH_TRY(time_once(j, x.best, 0, &x.mine[n], err));
		counts = !isnan(x.mine[n]);
		if (x.single.op_dev)
			BERTH_TRY(time_once(j, &x.single, 0, &x.theirs[0][n], err));
		else
			x.theirs[0][n] = NAN;
		BERTH_TRY(time_once(j, NULL, 1, &x.theirs[1][n], err));
		x.theirs[2][n] = NAN;
		BERTH_TRY(berth_measured_all_threads(j->t->m) ? time_once(j, NULL, 0, &x.theirs[2][n], err)
		                                              : BERTH_OK);
		n += counts && i > 0;
	}
	BERTH_TRY(interrupted(j, err));
	return n ? judge(j, &x, n, err) : BERTH_OK;
}

berth_status berth_mtrain_run(berth_mtrain *t, berth_arena *tmp, berth_mtrain_result *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	berth_mtrain_result r = {.simulated_error = NAN, .first_error = NAN, .best_s = NAN};
	job *j;
	BERTH_TRY_NEW(t->mem, 1, err, j);
	j->t = t;
	j->tmp = tmp;
	j->r = &r;
	BERTH_TRY(berth_calibration_new(t->m->g, &t->profiled, t->profile.time_s, t->mem, &j->c, err));
	berth_status st = measure(j, err);
	if (st == BERTH_OK)
		st = compare(j, err);
	r.runs = t->m->runs;
	if (st == BERTH_OK || st == BERTH_EINTERRUPTED)
		*out = r;
	return st;
}
