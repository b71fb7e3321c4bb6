/* Training goes on while the machine changes: steps are run and looked at, the simulator follows them, and
 * another placement is solved and tried where it is worth its move. */
#include "adapt.h"

#include "run_history.h"
#include "times.h"

static const double threshold = 0.1; /* relative difference that asks for a new solution; below it is noise */
static const double rate = 0.5;      /* of the exponential average */

berth_adapt_cfg berth_adapt_cfg_default(void)
{
	return (berth_adapt_cfg){.steps = 200,
	                         .window = 5,
	                         .adapting = true,
	                         .slow_dev = -1,
	                         .slow_end = INT32_MAX,
	                         .ready_s = NAN,
	                         .profile = berth_profile_cfg_default()};
}

typedef struct job {
	berth_measured *m;
	const berth_adapt_cfg *cfg;
	berth_arena *mem, *tmp;
	berth_adaptation *r;
	berth_calibration c;
	berth_system s;       /* with the links of the profile */
	int32_t *op_dev, *order;
	bool slow;            /* the device of the configuration was slowed down */
	double predicted_s;   /* of the present placement, by the present profile */
	berth_run_history history;
	bool on_trial;        /* the present placement was taken on its prediction, and is not judged yet */
	int32_t n_mistakes;   /* trials in a row that were gone back on */
	int32_t wait;         /* windows to go without a new placement */
	const double *first_time_s; /* [n_ops][n_devs] as calibrated at the start */
	int32_t n_windows;    /* by the present placement */
	const berth_run_record *once; /* was faster once, and was tried just now; NULL: none */
	double once_s, now_s; /* a step by it, and by the present one before */
	berth_replan next;    /* is solved while steps go on */
	bool asked;           /* it is under way, or has its answers */
	int32_t asked_step;   /* where it began */
} job;

/* A placement by the present profile, with its order and predicted time. Its arena is given up afterwards, as
 * is what solved it. */
typedef struct solution {
	berth_arena *mem;
	berth_fitted_sim f;
	int32_t *op_dev, *order; /* [n_ops]; NULL: none is worth a trial */
	double value;
} solution;

/* Keep an answer if it is the best so far by the present profile, and was not run yet on this machine. */
static berth_status weigh(const job *j, solution *x, const berth_solution *r, berth_err *err)
{
	int32_t *order = r->op_order;
	if (!r->answered || !r->feasible)
		return BERTH_OK;
	if (!order) {
		BERTH_TRY_NEW(x->mem, x->f.p.n_ops, err, order);
		berth_start_order(&x->f.p, x->f.sim, r->op_dev, order);
	}
	double value = berth_fitted_sim_latency_s(&x->f, r->op_dev, order);
	if ((x->op_dev && !(value < x->value)) ||
	    (!j->cfg->oracle && berth_run_history_has(&j->history, r->op_dev, order)))
		return BERTH_OK;
	x->op_dev = r->op_dev;
	x->order = order;
	x->value = value;
	return BERTH_OK;
}

/* The best of the answers, as soon as they are there. They live as long as what solved them. */
static berth_status take_answers(job *j, berth_replan *from, solution *x, berth_err *err)
{
	BERTH_TRY(berth_replan_wait(from, err));
	for (int i = 0; i < BERTH_REPLAN_METHODS; i++)
		BERTH_TRY(weigh(j, x, &from->answer[i], err));
	return BERTH_OK;
}

/* Make a placement the present one. */
static void take(job *j, solution *x, const int32_t *op_dev, const int32_t *order)
{
	size_t size = (size_t)x->f.p.n_ops * sizeof *j->op_dev;
	memcpy(j->op_dev, op_dev, size);
	memcpy(j->order, order, size);
	j->predicted_s = berth_fitted_sim_latency_s(&x->f, j->op_dev, j->order);
	j->n_windows = 0;
}

/* Price the migration from the present placement to another, with making that one ready. Does it pay over the
 * steps that are left, and by more than noise? */
static berth_status price(job *j, const solution *x, const int32_t *op_dev, berth_switch *sw, berth_err *err)
{
	berth_migration migration;
	BERTH_TRY(berth_migration_cost(&x->f.p, j->op_dev, op_dev, j->tmp, &migration, err));
	sw->n_moved = migration.n_moved;
	sw->migration_s = migration.seconds + j->r->ready_s;
	double saved_s = (sw->predicted_from_s - sw->predicted_to_s) * (j->cfg->steps - sw->step);
	sw->done = saved_s > sw->migration_s &&
	           sw->predicted_to_s < sw->predicted_from_s * (1 - threshold);
	return BERTH_OK;
}

/* Go to a placement that was measured, if its step of to_s is worth leaving the present one's of from_s. */
static berth_status move_back(job *j, solution *x, int32_t step, const berth_run_record *to, double from_s,
                              double to_s, bool *gone, berth_err *err)
{
	berth_switch sw = {.step = step, .back = true, .predicted_from_s = from_s, .predicted_to_s = to_s};
	BERTH_TRY(price(j, x, to->op_dev, &sw, err));
	*gone = sw.done;
	if (!sw.done)
		return BERTH_OK;
	j->r->sw[j->r->n_switches++] = sw;
	take(j, x, to->op_dev, to->order);
	return BERTH_OK;
}

/* Leave a placement that turned out worse than another. *gone: was it left? */
static berth_status go_back(job *j, solution *x, int32_t step, bool *gone, berth_err *err)
{
	enum { MOST = 4 };
	const berth_run_record *better = berth_run_history_better(&j->history);
	*gone = false;
	if (j->on_trial && berth_run_history_judged(&j->history)) {
		j->on_trial = false;
		j->n_mistakes = better ? j->n_mistakes : 0;
	}
	if (better)
		BERTH_TRY(move_back(j, x, step, better, j->history.now->step_s, better->step_s, gone, err));
	if (!*gone)
		return BERTH_OK;
	j->n_mistakes += j->n_mistakes < MOST;
	j->wait = 1 << j->n_mistakes;
	return BERTH_OK;
}

/* Take what was solved since the last look, if it pays. */
static berth_status try_another(job *j, solution *x, int32_t step, berth_err *err)
{
	berth_switch *sw = &j->r->sw[j->r->n_switches];
	BERTH_TRY(berth_fitted_sim_calibrated(&j->c, x->mem, j->tmp, &x->f, err));
	BERTH_TRY(take_answers(j, &j->next, x, err));
	if (!x->op_dev)
		return BERTH_OK;
	*sw = (berth_switch){.step = step,
	                     .asked_step = j->asked_step,
	                     .predicted_from_s = j->predicted_s,
	                     .predicted_to_s = x->value};
	BERTH_TRY(price(j, x, x->op_dev, sw, err));
	j->r->n_switches++;
	if (!sw->done)
		return BERTH_OK;
	j->on_trial = true;
	take(j, x, x->op_dev, x->order);
	return BERTH_OK;
}

/* Have it placed anew, while steps go on. */
static berth_status ask_for_another(job *j, int32_t step, berth_err *err)
{
	j->asked = true;
	j->asked_step = step;
	return berth_replan_begin(&j->next, &j->c, err);
}

/* Go back to what was faster once, where it is so again. */
static berth_status return_to_it(job *j, solution *x, int32_t step, berth_err *err)
{
	const berth_run_record *once = j->once;
	bool gone;
	j->once = NULL;
	BERTH_TRY(move_back(j, x, step, once, j->now_s, j->once_s, &gone, err));
	j->on_trial = j->on_trial && !gone;
	return BERTH_OK;
}

/* Predict the present placement by the present profile, and see whether another one is better from step on.
 */
static berth_status look(job *j, int32_t step, bool parted, berth_err *err)
{
	BERTH_ARENA(mem);
	solution x = {.mem = &mem};
	bool gone = false;
	BERTH_TRY(berth_fitted_sim_calibrated(&j->c, &mem, j->tmp, &x.f, err));
	j->predicted_s = berth_fitted_sim_latency_s(&x.f, j->op_dev, j->order);
	if (!j->cfg->adapting || j->asked || step >= j->cfg->steps)
		return BERTH_OK;
	if (j->once)
		return return_to_it(j, &x, step, err);
	BERTH_TRY(go_back(j, &x, step, &gone, err));
	if (gone || j->on_trial || j->wait > 0) {
		j->wait -= !gone && j->wait > 0;
		return BERTH_OK;
	}
	return parted ? ask_for_another(j, step, err) : BERTH_OK;
}

static bool engine_failed(berth_status st)
{
	return st == BERTH_EIO || st == BERTH_ELIMIT;
}

/* Run the present placement, and once more where the engine dies of it. *took_s: of the last time. */
static berth_status run_placement(job *j, int32_t warmup, int32_t n, berth_arena *mem, berth_measurement *run,
                                  double *took_s, berth_err *err)
{
	double from = berth_wall_seconds();
	berth_status st = berth_measured_run(j->m, j->op_dev, j->order, warmup, n, mem, j->tmp, run, err);
	if (engine_failed(st) && !j->m->trains) {
		/* An engine that was started anew has forgotten it. */
		BERTH_TRY(j->slow ? berth_measured_set_speed(j->m, j->cfg->slow_dev, j->cfg->slow_speed,
		                                             j->tmp, err)
		                  : BERTH_OK);
		from = berth_wall_seconds();
		st = berth_measured_run(j->m, j->op_dev, j->order, warmup, n, mem, j->tmp, run, err);
	}
	*took_s = berth_wall_seconds() - from;
	return st;
}

/* What a window's steps came to. */
static void note_steps(job *j, int32_t step, int32_t n, const berth_measurement *run)
{
	for (int32_t i = 0; i < n; i++)
		j->r->total_s += run->wall_s[i];
	if (run->loss)
		memcpy(j->r->loss + step, run->loss, (size_t)n * sizeof *run->loss);
}

enum { MOST_TRIED = 2 };

/* A step by what was faster once; where it may be so again, a second one, as the engine warms up in the
 * first. *n: steps that were run. */
static berth_status try_it(job *j, int32_t step, int32_t *n, berth_arena *mem, berth_err *err)
{
	static const double hopeless = 1.5;
	const berth_run_record *once = j->once;
	berth_measurement run;
	j->now_s = j->history.now->step_s;
	j->once_s = INFINITY;
	for (*n = 0; *n < MOST_TRIED && (*n == 0 || j->once_s < hopeless * j->now_s); ++*n) {
		BERTH_TRY(berth_measured_run(j->m, once->op_dev, once->order, 0, 1, mem, j->tmp, &run, err));
		note_steps(j, step + *n, 1, &run);
		j->once_s = fmin(j->once_s, run.wall.median);
	}
	return berth_run_history_measure(&j->history, once->op_dev, once->order, *n, j->once_s, err);
}

/* What is to be tried in a window of n steps; NULL: nothing. */
static const berth_run_record *due(job *j, int32_t n)
{
	enum { EVERY = 6 };
	bool now = j->cfg->adapting && n > MOST_TRIED && ++j->n_windows % EVERY == 0 && !j->on_trial;
	return now ? berth_run_history_once_faster(&j->history) : NULL;
}

/* Is the time of a run that of the user's clock? */
static bool by_wall(const job *j)
{
	return strcmp(berth_engine_says(j->m->engine)->clock, "wall") == 0;
}

/* Single steps while it is placed anew: at most `most`, and as many as that takes. By any other clock than
 * the wall's it is one, so that nothing depends on how long solving takes. *n: steps that were run. */
static berth_status run_meanwhile(job *j, int32_t step, int32_t most, int32_t *n, berth_err *err)
{
	*n = 0;
	do {
		BERTH_ARENA(scratch);
		berth_measurement run;
		double took_s;
		BERTH_TRY(run_placement(j, 0, 1, &scratch, &run, &took_s, err));
		note_steps(j, step + (*n)++, 1, &run);
	} while (*n < most && by_wall(j) && !berth_replan_done(&j->next));
	return BERTH_OK;
}

/* What was asked for, behind steps that went on without it. They stand still for what is not there by then.
 */
static berth_status take_asked(job *j, int32_t step, berth_err *err)
{
	BERTH_ARENA(mem);
	solution x = {.mem = &mem};
	double from = berth_wall_seconds();
	berth_status st = berth_replan_wait(&j->next, err);
	j->r->waited_s += berth_wall_seconds() - from;
	j->r->solve_s += j->next.took_s;
	j->r->n_solved++;
	if (st == BERTH_OK)
		st = try_another(j, &x, step, err);
	j->asked = false;
	berth_replan_give_up(&j->next);
	return st;
}

/* A window of n steps by the present placement, a look behind it. *n_tried: steps beside them. */
static berth_status run_and_look(job *j, int32_t step, int32_t n, int32_t *n_tried, berth_err *err)
{
	BERTH_ARENA(scratch);
	berth_measurement run;
	berth_adaptation *r = j->r;
	int32_t n_changes = j->history.n_changes;
	double took_s;
	BERTH_TRY(run_placement(j, 0, n, &scratch, &run, &took_s, err));
	note_steps(j, step, n, &run);
	bool parted = fabs(run.wall.median / j->predicted_s - 1) > threshold;
	r->step[r->n] = step;
	r->step_s[r->n] = run.wall.median;
	r->predicted_s[r->n++] = j->predicted_s;
	BERTH_TRY(berth_run_history_measure(&j->history, j->op_dev, j->order, n, run.wall.median, err));
	/* On another machine a switch is not waited for that long. */
	enum { FEW = 2 };
	if (j->history.n_changes != n_changes && j->wait > FEW)
		j->wait = FEW;
	parted = parted && !j->history.cold; /* the engine warms up */
	if (!j->history.cold)
		BERTH_TRY(berth_calibration_follow(&j->c, &run, rate, j->tmp, err));
	if (j->once)
		BERTH_TRY(try_it(j, step + n, n_tried, &scratch, err));
	return look(j, step + n + *n_tried, parted, err);
}

/* The best placement by the times of a calibration, before any step is run with it. */
static berth_status place_now(job *j, const berth_calibration *c, solution *x, berth_err *err)
{
	berth_replan now = {0};
	BERTH_TRY(berth_fitted_sim_calibrated(c, x->mem, j->tmp, &x->f, err));
	berth_status st = berth_replan_begin(&now, c, err);
	if (st == BERTH_OK)
		st = take_answers(j, &now, x, err);
	if (st == BERTH_OK && x->op_dev)
		take(j, x, x->op_dev, x->order);
	berth_replan_give_up(&now);
	return st;
}

/* The calibration's times, or the first ones where they are kept, with the device of the configuration at a
 * speed. */
static berth_status copy_times(const job *j, double speed, berth_arena *mem, const double **out,
                               berth_err *err)
{
	const double *from = j->first_time_s ? j->first_time_s : j->c.time_s;
	int32_t n_devs = j->m->s->n_devs;
	size_t n = (size_t)j->m->g->n_ops * (size_t)n_devs;
	double *to;
	BERTH_TRY_NEW(mem, n, err, to);
	for (size_t i = 0; i < n; i++)
		to[i] = (int32_t)(i % (size_t)n_devs) == j->cfg->slow_dev ? from[i] / speed : from[i];
	*out = to;
	return BERTH_OK;
}

/* Its speed from now on, and what an oracle makes of it: the placement for the machine as it is known to be.
 */
static berth_status change_speed(job *j, double speed, berth_err *err)
{
	BERTH_ARENA(mem);
	solution x = {.mem = &mem};
	berth_calibration c = j->c;
	const double *time_s;
	berth_status st = berth_measured_set_speed(j->m, j->cfg->slow_dev, speed, j->tmp, err);
	j->slow = speed < 1;
	if (engine_failed(st))
		st = berth_measured_set_speed(j->m, j->cfg->slow_dev, speed, j->tmp, err);
	if (st != BERTH_OK || !j->cfg->oracle)
		return st;
	BERTH_TRY(copy_times(j, speed, &mem, &time_s, err));
	c.time_s = (double *)(uintptr_t)time_s;
	return place_now(j, &c, &x, err);
}

static berth_status start(job *j, const berth_profile *profile, berth_err *err)
{
	BERTH_ARENA(mem);
	solution x = {.mem = &mem};
	berth_measurement run;
	double took_s;
	BERTH_TRY(berth_profile_system(profile, j->m->s, j->m->g->n_ops, j->mem, &j->s, err));
	BERTH_TRY(berth_calibration_new(j->m->g, &j->s, profile->time_s, j->mem, &j->c, err));
	BERTH_TRY_NEW(j->mem, j->m->g->n_ops, err, j->op_dev, j->order);
	j->history =
		(berth_run_history){.n_ops = j->m->g->n_ops, .threshold = threshold, .mem = j->mem};
	BERTH_TRY(place_now(j, &j->c, &x, err));
	if (!x.op_dev)
		return berth_fail(err, BERTH_EINFEASIBLE, "no placement fits");
	BERTH_TRY(run_placement(j, 0, 1, j->mem, &run, &took_s, err));
	double ready_s = isnan(run.ready_s) ? fmax(0, took_s - run.wall.median) : run.ready_s;
	j->r->ready_s = isnan(j->cfg->ready_s) ? ready_s : j->cfg->ready_s;
	BERTH_TRY(run_placement(j, 1, j->cfg->window, j->mem, &run, &took_s, err));
	BERTH_TRY(berth_calibration_add(&j->c, &run, 0, j->tmp, err));
	BERTH_TRY(berth_calibration_fit(&j->c, j->tmp, NULL, NULL, err));
	if (j->cfg->oracle)
		BERTH_TRY(copy_times(j, 1, j->mem, &j->first_time_s, err));
	return look(j, j->cfg->steps, false, err);
}

static bool slows(const berth_adapt_cfg *cfg)
{
	return cfg->slow_dev >= 0;
}

/* The first window that begins at a step or later. */
static int32_t window_of(const berth_adaptation *r, int32_t step)
{
	int32_t i = 0;
	while (i < r->n && r->step[i] < step)
		i++;
	return i;
}

/* The last third of windows from, ..., to - 1. */
static int32_t tail_of(int32_t from, int32_t to)
{
	return from + 2 * (to - from) / 3;
}

static berth_status run_steps(job *j, const berth_profile *profile, berth_err *err)
{
	BERTH_TRY(start(j, profile, err));
	j->m->trains = j->cfg->trains;
	for (int32_t step = 0, n; step < j->cfg->steps; step += n) {
		/* Steps up to the next look. A window ends where the device changes its speed, and with the
		 * last step. */
		const berth_adapt_cfg *cfg = j->cfg;
		int32_t end = cfg->steps;
		if (slows(cfg) && step < cfg->slow_end && cfg->slow_end < end)
			end = cfg->slow_end;
		if (slows(cfg) && step < cfg->slow_step)
			end = cfg->slow_step;
		n = end - step < cfg->window ? end - step : cfg->window;
		if (slows(j->cfg) && step == j->cfg->slow_step)
			BERTH_TRY(change_speed(j, j->cfg->slow_speed, err));
		if (slows(j->cfg) && step == j->cfg->slow_end)
			BERTH_TRY(change_speed(j, 1, err));
		/* A window of at most n steps; n gets how many it had. What was asked for is taken before
		 * its last step, or after it where there is no other; a look in between decides nothing. */
		int32_t before = 0, behind = 0, now;
		bool afterwards = j->asked && n == 1 && step + 1 < j->cfg->steps;
		if (j->asked && n > 1) {
			BERTH_TRY(run_meanwhile(j, step, n - 1, &before, err));
			BERTH_TRY(take_asked(j, step + before, err));
		}
		now = n - before;
		j->once = due(j, now);
		now -= j->once ? MOST_TRIED : 0;
		BERTH_TRY(run_and_look(j, step + before, now, &behind, err));
		n = before + now + behind;
		BERTH_TRY(afterwards ? take_asked(j, step + n, err) : BERTH_OK);
	}
	berth_adaptation *r = j->r;
	int32_t slow = slows(j->cfg) ? window_of(r, j->cfg->slow_step) : 0;
	int32_t end = slows(j->cfg) ? window_of(r, j->cfg->slow_end) : r->n;
	int32_t after = tail_of(slow, end), again = tail_of(end, r->n);
	BERTH_TRY(berth_median_of(r->step_s, slows(j->cfg) ? slow : r->n, j->tmp, &r->before_s, err));
	BERTH_TRY(berth_median_of(r->step_s + after, end - after, j->tmp, &r->after_s, err));
	BERTH_TRY(berth_median_of(r->step_s + again, r->n - again, j->tmp, &r->again_s, err));
	r->op_dev = j->op_dev;
	return BERTH_OK;
}

berth_status berth_adapt_run(berth_measured *m, const berth_adapt_cfg *cfg, const berth_profile *profile,
                             berth_arena *mem, berth_arena *tmp, berth_adaptation *out, berth_err *err)
{
	berth_adaptation r = {0};
	berth_profile own;
	job j = {.m = m, .cfg = cfg, .mem = mem, .tmp = tmp, .r = &r};
	assert(cfg->steps > 0 && cfg->window > 0);
	assert(!slows(cfg) ||
	       (cfg->slow_step >= 0 && cfg->slow_step < cfg->steps && cfg->slow_end > cfg->slow_step));
	/* Three may be short: the last ones before the speed changes, and the last of all. So may be those in
	 * which another placement is tried, by a step. */
	int32_t windows = 2 * (cfg->steps / cfg->window) + 3;
	BERTH_TRY_NEW(mem, windows, err, r.step, r.step_s, r.predicted_s, r.sw);
	if (cfg->trains)
		BERTH_TRY_NEW(mem, cfg->steps, err, r.loss);
	if (!profile) {
		BERTH_TRY(berth_profile_run(m, &cfg->profile, mem, tmp, &own, err));
		profile = &own;
	}
	berth_status st = run_steps(&j, profile, err);
	m->trains = false;
	berth_replan_give_up(&j.next);
	BERTH_TRY(st);
	*out = r;
	return BERTH_OK;
}
