/* Why a plan costs what it costs. */
#include "api.h"

#include "explain.h"
#include "explain_op.h"

struct berth_account {
	berth_arena mem;
	const berth_plan *plan;
	berth_explanation whole;
	const char **text; /* [whole.n] */
};

void berth_account_free(berth_account *a)
{
	if (a)
		berth_arena_free(&a->mem);
	free(a);
}

static berth_status fill(berth_account *a, berth_arena *tmp, berth_err *err)
{
	char buf[512];
	BERTH_TRY(api_plan_runs(a->plan, err));
	BERTH_TRY(berth_explain(&a->plan->p, &a->plan->t, &a->mem, tmp, &a->whole, err));
	BERTH_TRY_NEW(&a->mem, a->whole.n, err, a->text);
	for (int32_t i = 0; i < a->whole.n; i++) {
		const char *text = berth_lost_text(&a->plan->p, &a->whole.lost[i], buf, sizeof buf);
		BERTH_TRY(berth_got(a->text[i] = berth_arena_strdup(&a->mem, text), err));
	}
	return BERTH_OK;
}

berth_status berth_plan_explain(const berth_plan *plan, berth_account **out, berth_err *err)
{
	berth_arena tmp = {0};
	berth_account *a = calloc(1, sizeof *a);
	BERTH_TRY(berth_got(a, err));
	a->plan = plan;
	berth_status st = fill(a, &tmp, err);
	berth_arena_free(&tmp);
	GIVE(st, a, berth_account_free, out);
}

double berth_account_compute(const berth_account *a)
{
	return (double)a->whole.compute_ns / 1e9;
}

int32_t berth_account_count(const berth_account *a)
{
	return a->whole.n;
}

const char *berth_account_lost(const berth_account *a, int32_t i, double *seconds, int32_t *times)
{
	*seconds = (double)a->whole.lost[i].ns / 1e9;
	*times = a->whole.lost[i].times;
	return a->text[i];
}

static berth_status tell(const berth_plan *plan, int32_t op, berth_op_reason *out, double *value,
                         berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	berth_op_story s;
	berth_objective o = api_plan_objective(plan);
	BERTH_TRY(api_plan_runs(plan, err));
	BERTH_TRY(berth_explain_op(&plan->p, &plan->t, &o, op, mem, tmp, &s, err));
	*out = (berth_op_reason){.device = s.dev,
	                         .ready_s = (double)s.ready_ns / 1e9,
	                         .start_s = (double)s.start_ns / 1e9,
	                         .end_s = (double)s.end_ns / 1e9,
	                         .slack_s = (double)s.slack_ns / 1e9,
	                         .best_other = s.best_dev};
	for (int32_t d = 0; value && d < plan->p.n_devs; d++)
		value[d] = s.choice[d].broken.n == 0 || d == s.dev ? s.choice[d].value : NAN;
	return BERTH_OK;
}

berth_status berth_plan_explain_op(const berth_plan *plan, int32_t op, berth_op_reason *out, double *value,
                                   berth_err *err)
{
	berth_arena mem = {0}, tmp = {0};
	if (op < 0 || op >= plan->p.n_ops)
		return berth_fail(err, BERTH_EINVAL, "plan: there is no operator %d", (int)op);
	berth_status st = tell(plan, op, out, value, &mem, &tmp, err);
	berth_arena_free(&mem);
	berth_arena_free(&tmp);
	return st;
}
