/* Plans kept between questions, and their runs as answers: what workers on cores and hosts share. */
#ifndef BERTH_PLAN_RUNS_H
#define BERTH_PLAN_RUNS_H

#include "ort_engine.h"
#include "ort_plan.h"

typedef struct plan_runs {
	const ort_device *dev;
	ort_plan_cfg cfg;
	const exec_kind *kind;
	void *ex;
	ort_plan plan[ENGINE_PLANS];
	int64_t used;
} plan_runs;

/* The plan of a placement, from those kept or new in place of the oldest. Fails: as ort_plan_new. */
berth_status plan_runs_get(plan_runs *r, ort_model *m, const int32_t *placement, const int32_t *order,
                           ort_plan **out, berth_err *err);
void plan_runs_forget(plan_runs *r);

/* "placement" and "order" (NULL: none) of a question. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status plan_runs_read(engine *e, const berth_json *q, int32_t **placement, int32_t **order,
                            berth_err *err);

/* Run the plan: warmup times unseen, then s->n times. s has lists for its segments. Fails: as
 * ort_plan_run. */
berth_status plan_runs_sample(plan_runs *r, ort_plan *p, int32_t warmup, engine_samples *s, berth_err *err);

/* All of an answer to "run" but the operators. */
void plan_runs_put(const engine *e, const ort_plan *p, const engine_samples *s, berth_json_out *w);

#endif
