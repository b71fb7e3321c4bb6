/* See replan.h. */
#include "replan.h"

static berth_status solve(berth_replan *x, berth_err *err)
{
	const char *const names[BERTH_REPLAN_METHODS] = {x->method, "single"};
	berth_bounds bounds;
	BERTH_TRY(berth_bounds_new(&x->f.p, &x->mem, &bounds, err));
	for (int i = 0; i < BERTH_REPLAN_METHODS; i++) {
		const berth_method *method;
		berth_search_cfg cfg = berth_search_cfg_default();
		cfg.seed = x->seed;
		BERTH_TRY(berth_method_find(names[i], &method, err));
		BERTH_TRY(berth_solve(&x->f.p, &bounds, method, &cfg, &x->mem, &x->tmp, &x->answer[i], err));
	}
	return BERTH_OK;
}

static void work(void *ctx)
{
	berth_replan *x = ctx;
	double from = berth_wall_seconds();
	x->st = solve(x, &x->err);
	x->took_s = berth_wall_seconds() - from;
	atomic_store(&x->done, true);
}

berth_status berth_replan_begin(berth_replan *x, const berth_calibration *c, const char *method,
                                uint64_t seed, berth_err *err)
{
	berth_replan_give_up(x);
	x->method = method;
	x->seed = seed;
	BERTH_TRY(berth_fitted_sim_calibrated(c, &x->mem, &x->tmp, &x->f, err));
	berth_task_begin(&x->task, work, x);
	return BERTH_OK;
}

bool berth_replan_done(const berth_replan *x)
{
	return atomic_load(&x->done);
}

berth_status berth_replan_wait(berth_replan *x, berth_err *err)
{
	berth_task_wait(&x->task);
	return x->st == BERTH_OK ? BERTH_OK : berth_fail(err, x->st, "%s", x->err.msg);
}

void berth_replan_give_up(berth_replan *x)
{
	berth_task_wait(&x->task);
	berth_arena_free(&x->mem);
	berth_arena_free(&x->tmp);
	x->st = BERTH_OK;
	atomic_store(&x->done, false);
}
