/* See run_history.h. */
#include "run_history.h"

#include <math.h>
#include <string.h>

enum { STEPS_TO_JUDGE = 3 };

static bool same(const berth_run_history *h, const int32_t *a, const int32_t *b)
{
	return memcmp(a, b, (size_t)h->n_ops * sizeof *a) == 0;
}

static berth_status find(berth_run_history *h, const int32_t *op_dev, const int32_t *order,
                         berth_run_record **out, berth_err *err)
{
	size_t size = (size_t)h->n_ops * sizeof *op_dev;
	for (size_t i = 0; i < h->n; i++)
		if (same(h, h->record[i]->op_dev, op_dev) && same(h, h->record[i]->order, order)) {
			*out = h->record[i];
			return BERTH_OK;
		}
	BERTH_TRY(BERTH_GROW(h->mem, h->record, h->n, &h->cap, err));
	BERTH_TRY(BERTH_NEW(h->mem, *out, 1, err));
	BERTH_TRY(BERTH_NEW(h->mem, (*out)->op_dev, h->n_ops, err));
	BERTH_TRY(BERTH_NEW(h->mem, (*out)->order, h->n_ops, err));
	memcpy((*out)->op_dev, op_dev, size);
	memcpy((*out)->order, order, size);
	h->record[h->n++] = *out;
	return BERTH_OK;
}

/* A record that was forgotten is filled again at the next run. */
static void forget(berth_run_history *h)
{
	for (size_t i = 0; i < h->n; i++)
		h->record[i]->n_steps = 0;
	h->n_changes++;
}

static void add(berth_run_history *h, berth_run_record *x, int32_t n_steps, double step_s)
{
	if (x->n_steps >= STEPS_TO_JUDGE && !x->cold && fabs(step_s / x->step_s - 1) > h->threshold)
		forget(h);
	if (x->cold)
		x->n_steps = 0;
	x->step_s = (x->n_steps * x->step_s + n_steps * step_s) / (x->n_steps + n_steps);
	x->n_steps += n_steps;
	x->cold = h->cold;
}

berth_status berth_run_history_measure(berth_run_history *h, const int32_t *op_dev, const int32_t *order,
                                       int32_t n_steps, double step_s, berth_err *err)
{
	const berth_run_record *before = h->now;
	BERTH_TRY(find(h, op_dev, order, &h->now, err));
	h->cold = before && before != h->now;
	h->n_warm = h->cold ? 0 : h->n_warm + n_steps;
	if (!h->cold || h->now->n_steps == 0)
		add(h, h->now, n_steps, step_s);
	if (!h->cold && (h->now->least_s == 0 || step_s < h->now->least_s))
		h->now->least_s = step_s;
	return BERTH_OK;
}

bool berth_run_history_has(const berth_run_history *h, const int32_t *op_dev, const int32_t *order)
{
	for (size_t i = 0; i < h->n; i++) {
		const berth_run_record *x = h->record[i];
		if (x == h->now || x->n_steps == 0 || !same(h, x->op_dev, op_dev))
			continue;
		if (!same(h, h->now->op_dev, op_dev) || same(h, x->order, order))
			return true;
	}
	return false;
}

bool berth_run_history_judged(const berth_run_history *h)
{
	return h->n_warm >= STEPS_TO_JUDGE;
}

const berth_run_record *berth_run_history_better(const berth_run_history *h)
{
	const berth_run_record *best = NULL;
	for (size_t i = 0; i < h->n; i++) {
		const berth_run_record *x = h->record[i];
		if (x->n_steps > 0 && (!best || x->step_s < best->step_s))
			best = x;
	}
	return best && berth_run_history_judged(h) && best->step_s * (1 + h->threshold) < h->now->step_s
	               ? best
	               : NULL;
}

const berth_run_record *berth_run_history_once_faster(const berth_run_history *h)
{
	const berth_run_record *best = NULL;
	for (size_t i = 0; i < h->n; i++) {
		const berth_run_record *x = h->record[i];
		if (x != h->now && x->least_s > 0 && (!best || x->least_s < best->least_s))
			best = x;
	}
	return best && best->least_s * (1 + h->threshold) < h->now->step_s ? best : NULL;
}
