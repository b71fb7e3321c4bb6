/* How well the simulator predicts an engine: placements are drawn, simulated and run, and their errors and
 * ranks compared, before and after fitting. */
#include "fidelity.h"

#include "coloc.h"
#include "threads.h"
#include "times.h"

enum { POOL_FACTOR = 8, STRATA = 20, SAMPLES = 5, TRIES = 4, WARMUP = 3, RIVALS = 8, TURNS = 5 };

berth_fidelity_cfg berth_fidelity_cfg_default(void)
{
	return (berth_fidelity_cfg){.calibration = 40,
	                            .test = 200,
	                            .max_strain = 1.1,
	                            .seed = 1,
	                            .profile = berth_profile_cfg_default()};
}

/* A placement of the pool. */
typedef struct drawn {
	int32_t *op_dev;
	double predicted_s;
	int32_t n_ops;
	bool taken;
} drawn;

/* A placement with the order in which it is run. */
typedef struct trial {
	const int32_t *op_dev;
	int32_t *order;
} trial;

typedef struct job {
	berth_measured *m;
	const berth_fidelity_cfg *cfg;
	berth_arena *mem, *tmp;
	berth_fidelity *r;
	berth_fitted_sim before, after; /* as profiled; as calibrated */
	berth_calibration c;
	drawn *pool;                    /* [n_pool] by predicted time */
	int32_t n_pool;
	double *strain, *width;         /* [test] of the placements that count */
	trial *trial;                   /* [test] the same */
} job;

/* ---- placements ---- */

/* Cut the topological order at random places. Each piece goes to a device, and some operators elsewhere. */
static void draw_placement(const berth_problem *p, berth_rng *rng, int32_t *op_dev)
{
	const berth_graph *g = p->g;
	double cut = pow(2, -1 - 7 * berth_rng_unit(rng)),
	       stray = berth_rng_unit(rng) < 0.5 ? 0 : 0.3 * berth_rng_unit(rng);
	double share = berth_rng_unit(rng); /* of the first device */
	int32_t dev = berth_rng_unit(rng) < share ? 0 : (int32_t)berth_rng_below(rng, (uint32_t)p->n_devs);
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i];
		if (berth_rng_unit(rng) < cut)
			dev = berth_rng_unit(rng) < share
			              ? 0
			              : (int32_t)berth_rng_below(rng, (uint32_t)p->n_devs);
		int32_t d = berth_rng_unit(rng) < stray ? (int32_t)berth_rng_below(rng, (uint32_t)p->n_devs)
		                                        : dev;
		for (int32_t k = 0; k < p->n_devs && !berth_op_legal(p, op, d); k++)
			d = (d + 1) % p->n_devs;
		op_dev[op] = d;
	}
	for (int32_t op = 0; op < p->n_ops; op++) /* colocated operators follow the first of them */
		op_dev[op] = op_dev[p->coloc_op[p->coloc_off[p->op_coloc[op]]]];
}

/* By time, and equal placements side by side. */
static int by_time(const void *a, const void *b)
{
	const drawn *x = a, *y = b;
	if (x->predicted_s != y->predicted_s)
		return BERTH_COMPARE(x->predicted_s, y->predicted_s);
	return memcmp(x->op_dev, y->op_dev, (size_t)x->n_ops * sizeof *x->op_dev);
}

/* Fill the pool with up to n different placements, fastest first: each device alone, the rest drawn. */
static berth_status draw_pool(job *j, int32_t n, berth_rng *rng, berth_err *err)
{
	const berth_problem *p = &j->before.p;
	drawn *pool = j->pool;
	for (int32_t i = 0; i < n; i++) {
		berth_sim_result r;
		BERTH_TRY_NEW(j->mem, p->n_ops, err, pool[i].op_dev);
		draw_placement(p, rng, pool[i].op_dev);
		if (i < p->n_devs)
			berth_coloc_put_all(p, i, pool[i].op_dev);
		berth_sim_run(j->before.sim, pool[i].op_dev, NULL, &r);
		pool[i].n_ops = p->n_ops;
		pool[i].predicted_s = r.runs && r.fits ? (double)r.latency_ns * 1e-9 : INFINITY;
	}
	qsort(pool, (size_t)n, sizeof *pool, by_time);
	for (int32_t i = 0; i < n && isfinite(pool[i].predicted_s); i++)
		if (!j->n_pool || by_time(&pool[j->n_pool - 1], &pool[i]) != 0)
			pool[j->n_pool++] = pool[i];
	return BERTH_OK;
}

/* Pick n of the pool, in turn from strata of equal width in log time. None is picked twice, so that test and
 * calibration placements are never the same. */
static int32_t pick(job *j, int32_t n, berth_rng *rng, drawn **out)
{
	drawn *pool = j->pool;
	double from = log(pool[0].predicted_s), to = log(pool[j->n_pool - 1].predicted_s);
	double width = (to - from) / STRATA;
	int32_t picked = 0;
	for (int32_t round = 0; round < j->n_pool && picked < n; round++)
		for (int32_t s = 0; s < STRATA && picked < n; s++) {
			int32_t found = -1, in = 0;
			for (int32_t i = 0; i < j->n_pool; i++) {
				double place = width > 0 ? (log(pool[i].predicted_s) - from) / width : 0;
				int32_t stratum = (int32_t)fmin(STRATA - 1, place);
				if (!pool[i].taken && stratum == s &&
				    berth_rng_below(rng, (uint32_t)++in) == 0)
					found = i;
			}
			if (found < 0)
				continue;
			pool[found].taken = true;
			out[picked++] = &pool[found];
		}
	return picked;
}

/* ---- measuring ---- */

typedef struct timed {
	berth_spread wall;
	double strain;       /* median of the samples that counted */
	bool counts;
} timed;

static bool calm(const job *j, double strain)
{
	return !(j->cfg->max_strain > 0 && strain > j->cfg->max_strain);
}

/* Run a placement until enough calm samples are there. Its measurements go to the calibration c, unless that
 * is NULL. A failing engine is a placement that does not count. */
static berth_status time_placement(job *j, const trial *x, berth_calibration *c, timed *out, berth_err *err)
{
	double wall[2 * SAMPLES], strain[2 * SAMPLES];
	int32_t n = 0;
	*out = (timed){.counts = false};
	for (int32_t try = 0; try < TRIES && n < SAMPLES; try++) {
		berth_measurement run;
		berth_err why = {0};
		berth_status st = berth_measured_run(j->m, x->op_dev, x->order, try == 0 ? WARMUP : 0,
		                                     SAMPLES, j->mem, j->tmp, &run, &why);
		if (st == BERTH_EIO || st == BERTH_ELIMIT) {
			j->r->n_failed++;
			return berth_got(j->r->failure = berth_arena_strdup(j->mem, why.msg), err);
		}
		if (st != BERTH_OK)
			return berth_fail(err, st, "%s", why.msg);
		for (int32_t i = 0; i < SAMPLES; i++)
			if (calm(j, run.strain[i])) {
				wall[n] = run.wall_s[i];
				strain[n++] = isnan(run.strain[i]) ? 1 : run.strain[i];
			}
		if (c)
			BERTH_TRY(berth_calibration_add(c, &run, j->cfg->max_strain, j->tmp, err));
	}
	if (n < SAMPLES) {
		j->r->n_flagged++;
		return BERTH_OK;
	}
	BERTH_TRY(berth_spread_of(wall, n, j->tmp, &out->wall, err));
	BERTH_TRY(berth_median_of(strain, n, j->tmp, &out->strain, err));
	out->counts = true;
	return BERTH_OK;
}

static void tell(const job *j, const char *what, int32_t done, int32_t of)
{
	if (j->cfg->progress)
		j->cfg->progress(j->cfg->progress_ctx, what, done, of);
}

/* ---- calibrating and testing ---- */

/* x, in the order of a simulator that predicts it. */
static berth_status prepare(job *j, const berth_fitted_sim *f, const drawn *x, trial *out, berth_err *err)
{
	out->op_dev = x->op_dev;
	BERTH_TRY_NEW(j->mem, f->p.n_ops, err, out->order);
	berth_start_order(&f->p, f->sim, x->op_dev, out->order);
	return BERTH_OK;
}

/* Run n placements of the pool and fit the simulator to them. trials [n]: what was run. */
static berth_status calibrate(job *j, drawn **pick_of, int32_t n, trial *trials, berth_err *err)
{
	timed t;
	for (int32_t i = 0; i < n; i++) {
		BERTH_TRY(prepare(j, &j->before, pick_of[i], &trials[i], err));
		BERTH_TRY(time_placement(j, &trials[i], &j->c, &t, err));
		j->r->n_calibration += t.counts;
		tell(j, "calibration", i + 1, n);
	}
	j->r->n_flagged = 0;
	return berth_fitted_sim_refit(&j->c, j->mem, j->tmp, &j->r->segment_error_before, NULL, &j->after,
	                              err);
}

/* Time a placement once more. It counts but once as flagged or failed. */
static berth_status time_again(job *j, const trial *x, berth_calibration *c, timed *out, berth_err *err)
{
	int32_t n_flagged = j->r->n_flagged, n_failed = j->r->n_failed;
	BERTH_TRY(time_placement(j, x, c, out, err));
	j->r->n_flagged = n_flagged;
	j->r->n_failed = n_failed;
	return BERTH_OK;
}

/* Run the test placements, and in between the calibration ones once more. What the machine does slowly over
 * the time of the tests is then in the calibration as it is in them. Fit to the calibration placements, and
 * predict the test placements. */
static berth_status test(job *j, drawn **pick_of, int32_t n, const trial *again, int32_t n_again,
                         berth_err *err)
{
	berth_fidelity *r = j->r;
	int32_t done = 0;
	for (int32_t i = 0; i < n; i++) {
		timed t, unused;
		trial x;
		BERTH_TRY(prepare(j, &j->after, pick_of[i], &x, err));
		BERTH_TRY(time_placement(j, &x, NULL, &t, err));
		if (t.counts) {
			j->strain[r->n] = t.strain;
			j->width[r->n] = berth_spread_width(&t.wall);
			j->trial[r->n] = x;
			r->measured_s[r->n] = t.wall.median;
			r->low_s[r->n] = t.wall.low;
			r->high_s[r->n++] = t.wall.high;
		}
		for (; (int64_t)done * n < (int64_t)(i + 1) * n_again; done++)
			BERTH_TRY(time_again(j, &again[done], &j->c, &unused, err));
		tell(j, "test", i + 1, n);
	}
	r->n_test = r->n;
	BERTH_TRY(berth_fitted_sim_refit(&j->c, j->mem, j->tmp, NULL, &r->segment_error_after, &j->after,
	                                 err));
	for (int32_t i = 0; i < r->n; i++) {
		const trial *x = &j->trial[i];
		r->profiled_s[i] = berth_fitted_sim_latency_s(&j->before, x->op_dev, x->order);
		r->calibrated_s[i] = berth_fitted_sim_latency_s(&j->after, x->op_dev, x->order);
	}
	return BERTH_OK;
}

/* The test placement of the least value that is not taken yet. -1: there is none. */
static int32_t least(const double *value, int32_t n, const int32_t *taken, int32_t n_taken)
{
	int32_t best = -1;
	for (int32_t i = 0; i < n; i++) {
		bool free = true;
		for (int32_t k = 0; k < n_taken; k++)
			free &= taken[k] != i;
		if (free && (best < 0 || value[i] < value[best]))
			best = i;
	}
	return best;
}

/* The least of many medians is partly luck, and so is where a load puts a placement's buffers. So the
 * placement that the simulator chooses runs again with those that were measured fastest. They run in turn,
 * each loaded anew. The regret is by the medians over the turns alone. */
static berth_status choose(job *j, berth_err *err)
{
	berth_fidelity *r = j->r;
	int32_t index[RIVALS], n = 0, count[RIVALS] = {0};
	double s[RIVALS][TURNS];
	r->turns_regret = NAN;
	for (int32_t i; n < RIVALS && (i = least(n ? r->measured_s : r->calibrated_s, r->n, index, n)) >= 0;)
		index[n++] = i;
	for (int32_t turn = 0; turn < TURNS; turn++)
		for (int32_t k = 0; k < n; k++) {
			timed t;
			BERTH_TRY(time_again(j, &j->trial[index[k]], NULL, &t, err));
			if (t.counts)
				s[k][count[k]++] = t.wall.median;
			tell(j, "turns", turn * n + k + 1, TURNS * n);
		}
	double chosen = 0;
	for (int32_t k = 0; k < n && count[0]; k++)
		if (count[k]) {
			double median;
			BERTH_TRY(berth_median_of(s[k], count[k], j->tmp, &median, err));
			chosen = k ? chosen : median;
			r->turns_regret = fmax(k ? r->turns_regret : 0, chosen / median - 1);
		}
	return BERTH_OK;
}

/* ---- errors ---- */

double berth_tau_disjoint(int32_t n, const double *predicted, const double *low, const double *high,
                          int64_t *pairs)
{
	int64_t agree = 0, all = 0;
	for (int32_t i = 0; i < n; i++)
		for (int32_t k = 0; k < i; k++) {
			int sign = high[i] < low[k] ? -1 : high[k] < low[i] ? 1 : 0;
			if (!sign)
				continue;
			all++;
			agree += predicted[i] < predicted[k] ? -sign : predicted[i] > predicted[k] ? sign : 0;
		}
	*pairs = all;
	return all ? (double)agree / (double)all : NAN;
}

static berth_fidelity_error errors_of(const berth_fidelity *r, const double *predicted)
{
	berth_fidelity_error e = {.all_pairs = (int64_t)r->n * (r->n - 1) / 2};
	int32_t first = 0, best = 0;
	if (!r->n)
		return (berth_fidelity_error){.mape = NAN, .bias = NAN, .tau = NAN, .regret = NAN};
	for (int32_t i = 0; i < r->n; i++) {
		e.mape += fabs(predicted[i] / r->measured_s[i] - 1) / r->n;
		e.bias += (predicted[i] / r->measured_s[i] - 1) / r->n;
		first = predicted[i] < predicted[first] ? i : first;
		best = r->measured_s[i] < r->measured_s[best] ? i : best;
	}
	e.tau = berth_tau_disjoint(r->n, predicted, r->low_s, r->high_s, &e.pairs);
	e.regret = r->measured_s[first] / r->measured_s[best] - 1;
	return e;
}

static berth_status sum_up(job *j, berth_err *err)
{
	berth_fidelity *r = j->r;
	r->profiled = errors_of(r, r->profiled_s);
	r->calibrated = errors_of(r, r->calibrated_s);
	r->least_s = r->most_s = r->best_s = NAN; /* of no tests */
	for (int32_t i = 0; i < r->n; i++) {
		r->least_s = fmin(r->least_s, r->calibrated_s[i]);
		r->most_s = fmax(r->most_s, r->calibrated_s[i]);
		r->best_s = fmin(r->best_s, r->measured_s[i]);
	}
	BERTH_TRY(berth_median_of(j->strain, r->n, j->tmp, &r->median_strain, err));
	return berth_median_of(j->width, r->n, j->tmp, &r->median_width, err);
}

static berth_status measure_whole(job *j, int32_t threads, double *seconds, berth_err *err)
{
	berth_measurement run;
	BERTH_TRY(berth_measured_whole(j->m, threads, 2, 11, j->mem, j->tmp, &run, err));
	*seconds = run.wall.median;
	return BERTH_OK;
}

/* The profiled simulator, and a pool of placements that it predicts. */
static berth_status open_pool(job *j, const berth_profile *profile, berth_rng *rng, berth_err *err)
{
	const berth_fidelity_cfg *cfg = j->cfg;
	int32_t n = POOL_FACTOR * (cfg->test + cfg->calibration);
	BERTH_TRY_NEW(j->mem, n, err, j->pool);
	BERTH_TRY(berth_fitted_sim_profiled(profile, j->m->g, j->m->s, j->mem, j->tmp, &j->before, err));
	BERTH_TRY(berth_calibration_new(j->m->g, &j->before.s, profile->time_s, j->mem, &j->c, err));
	BERTH_TRY(draw_pool(j, n, rng, err));
	return j->n_pool ? BERTH_OK : berth_fail(err, BERTH_EINFEASIBLE, "no placement drawn could run");
}

static berth_status run_all(job *j, berth_err *err)
{
	const berth_fidelity_cfg *cfg = j->cfg;
	berth_fidelity *r = j->r;
	drawn **test_pick, **calibration_pick;
	trial *again;
	berth_profile profile;
	berth_rng rng = berth_rng_seed(cfg->seed, BERTH_STREAM_RANDOM);
	BERTH_TRY_NEW(j->mem, cfg->test, err, test_pick);
	BERTH_TRY_NEW(j->mem, cfg->calibration, err, calibration_pick, again);
	BERTH_TRY_NEW(j->mem, cfg->test, err, j->trial);
	BERTH_TRY(berth_profile_run(j->m, &cfg->profile, j->mem, j->tmp, &profile, err));
	BERTH_TRY(open_pool(j, &profile, &rng, err));
	int32_t half = (j->n_pool + 1) / 2; /* the other half is for tests */
	int32_t n_calibration =
		pick(j, cfg->calibration < half ? cfg->calibration : half, &rng, calibration_pick);
	BERTH_TRY(measure_whole(j, 1, &r->whole_1_s, err));
	r->whole_all_s = NAN;
	if (berth_measured_all_threads(j->m))
		BERTH_TRY(measure_whole(j, 0, &r->whole_all_s, err));
	BERTH_TRY(calibrate(j, calibration_pick, n_calibration, again, err));
	/* Predictions of the pool by the calibrated simulator, fastest first again. */
	for (int32_t i = 0; i < j->n_pool; i++)
		j->pool[i].predicted_s = berth_fitted_sim_latency_s(&j->after, j->pool[i].op_dev, NULL);
	qsort(j->pool, (size_t)j->n_pool, sizeof *j->pool, by_time);
	int32_t n_test = pick(j, cfg->test, &rng, test_pick);
	BERTH_TRY(test(j, test_pick, n_test, again, n_calibration, err));
	BERTH_TRY(choose(j, err));
	r->fitted_graph = j->after.g;
	r->fitted_system = j->after.s;
	return sum_up(j, err);
}

berth_status berth_fidelity_run(berth_measured *m, const berth_fidelity_cfg *cfg, berth_arena *mem,
                                berth_arena *tmp, berth_fidelity *out, berth_err *err)
{
	berth_fidelity r = {0};
	job j = {.m = m, .cfg = cfg, .mem = mem, .tmp = tmp, .r = &r};
	double from = berth_wall_seconds();
	if (m->s->n_devs < 2)
		return berth_fail(err, BERTH_EINVAL,
		                  "fidelity: the system has one device; two or more are needed for "
		                  "placements to differ");
	double **lists[] = {&r.measured_s,   &r.low_s,  &r.high_s, &r.profiled_s,
	                    &r.calibrated_s, &j.strain, &j.width};
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		BERTH_TRY_NEW(mem, cfg->test, err, *lists[i]);
	BERTH_TRY(run_all(&j, err));
	r.wall_s = berth_wall_seconds() - from;
	*out = r;
	return BERTH_OK;
}

berth_status berth_fidelity_fit(berth_measured *m, const berth_profile *profile,
                                const berth_fidelity_cfg *cfg, berth_arena *mem, berth_arena *tmp,
                                berth_fidelity *out, berth_err *err)
{
	job j = {.m = m, .cfg = cfg, .mem = mem, .tmp = tmp, .r = out};
	drawn **picked;
	trial *ran;
	berth_rng rng = berth_rng_seed(cfg->seed, BERTH_STREAM_RANDOM);
	*out = (berth_fidelity){0};
	BERTH_TRY_NEW(mem, cfg->calibration, err, picked, ran);
	BERTH_TRY(open_pool(&j, profile, &rng, err));
	BERTH_TRY(calibrate(&j, picked, pick(&j, cfg->calibration, &rng, picked), ran, err));
	out->fitted_graph = j.after.g;
	out->fitted_system = j.after.s;
	return BERTH_OK;
}
