/* See run_history.h. */
#include "run_history.h"

#include <math.h>
#include <string.h>

enum { STEPS_TO_JUDGE = 3 };

static bool same(const berth_run_history *t, const int32_t *a, const int32_t *b)
{
	return memcmp(a, b, (size_t)t->n_ops * sizeof *a) == 0;
}

static berth_status find(berth_run_history *t, const int32_t *op_dev, const int32_t *order, berth_try **out,
                         berth_err *err)
{
	size_t size = (size_t)t->n_ops * sizeof *op_dev;
	for (size_t i = 0; i < t->n; i++)
		if (same(t, t->at[i]->op_dev, op_dev) && same(t, t->at[i]->order, order)) {
			*out = t->at[i];
			return BERTH_OK;
		}
	BERTH_TRY(BERTH_GROW(t->mem, t->at, t->n, &t->cap, err));
	BERTH_TRY(BERTH_NEW(t->mem, *out, 1, err));
	BERTH_TRY(BERTH_NEW(t->mem, (*out)->op_dev, t->n_ops, err));
	BERTH_TRY(BERTH_NEW(t->mem, (*out)->order, t->n_ops, err));
	memcpy((*out)->op_dev, op_dev, size);
	memcpy((*out)->order, order, size);
	t->at[t->n++] = *out;
	return BERTH_OK;
}

/* A room that was forgotten is kept for the next time. */
static void forget(berth_run_history *t)
{
	for (size_t i = 0; i < t->n; i++)
		t->at[i]->n_steps = 0;
	t->n_changes++;
}

static void add(berth_run_history *t, berth_try *x, int32_t n_steps, double step_s)
{
	if (x->n_steps >= STEPS_TO_JUDGE && !x->cold && fabs(step_s / x->step_s - 1) > t->threshold)
		forget(t);
	if (x->cold)
		x->n_steps = 0;
	x->step_s = (x->n_steps * x->step_s + n_steps * step_s) / (x->n_steps + n_steps);
	x->n_steps += n_steps;
	x->cold = t->cold;
}

berth_status berth_run_history_measure(berth_run_history *t, const int32_t *op_dev, const int32_t *order,
                                       int32_t n_steps, double step_s, berth_err *err)
{
	const berth_try *before = t->now;
	BERTH_TRY(find(t, op_dev, order, &t->now, err));
	t->cold = before && before != t->now;
	t->n_warm = t->cold ? 0 : t->n_warm + n_steps;
	if (!t->cold || t->now->n_steps == 0)
		add(t, t->now, n_steps, step_s);
	return BERTH_OK;
}

bool berth_run_history_has(const berth_run_history *t, const int32_t *op_dev, const int32_t *order)
{
	for (size_t i = 0; i < t->n; i++) {
		const berth_try *x = t->at[i];
		if (x == t->now || x->n_steps == 0 || !same(t, x->op_dev, op_dev))
			continue;
		if (!same(t, t->now->op_dev, op_dev) || same(t, x->order, order))
			return true;
	}
	return false;
}

bool berth_run_history_judged(const berth_run_history *t)
{
	return t->n_warm >= STEPS_TO_JUDGE;
}

const berth_try *berth_run_history_better(const berth_run_history *t)
{
	const berth_try *best = NULL;
	for (size_t i = 0; i < t->n; i++) {
		const berth_try *x = t->at[i];
		if (x->n_steps > 0 && (!best || x->step_s < best->step_s))
			best = x;
	}
	return best && berth_run_history_judged(t) && best->step_s * (1 + t->threshold) < t->now->step_s
	               ? best
	               : NULL;
}
