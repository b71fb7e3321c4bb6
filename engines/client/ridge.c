/* Linear least squares with a prior for each unknown (Hoerl & Kennard 1970), by conjugate gradients (Hestenes
 * & Stiefel 1952) in units of deviations. */
#include "ridge.h"

#include <assert.h>
#include <math.h>

berth_status berth_ridge_new(int32_t n_cols, berth_arena *mem, berth_ridge *out, berth_err *err)
{
	berth_ridge r = {.mem = mem, .n_cols = n_cols};
	BERTH_TRY_NEW(mem, n_cols, err, r.mean, r.deviation, r.beta, r.latest);
	for (int32_t c = 0; c < n_cols; c++)
		r.deviation[c] = 1;
	*out = r;
	return BERTH_OK;
}

berth_status berth_ridge_row(berth_ridge *r, double y, double noise, berth_err *err)
{
	assert(noise > 0);
	BERTH_TRY(BERTH_GROW(r->mem, r->row, (size_t)r->n_rows, &r->cap_row, err));
	r->row[r->n_rows++] = (berth_ridge_row_of){y, noise};
	return BERTH_OK;
}

berth_status berth_ridge_put(berth_ridge *r, int32_t col, double x, berth_err *err)
{
	assert(col >= 0 && col < r->n_cols && r->n_rows > 0);
	berth_ridge_entry *old = r->latest[col] ? &r->entry[r->latest[col] - 1] : NULL;
	if (old && old->row == r->n_rows - 1) {
		old->x += x;
		return BERTH_OK;
	}
	BERTH_TRY(BERTH_GROW(r->mem, r->entry, r->n_entries, &r->cap_entry, err));
	r->entry[r->n_entries++] = (berth_ridge_entry){r->n_rows - 1, col, x};
	r->latest[col] = r->n_entries;
	return BERTH_OK;
}

/* In units of deviations from the means, z, the sum of squares is |A z - b|^2 + |z|^2 with A = X deviation /
 * noise and b = (y - X mean) / noise. */
typedef struct descent {
	const berth_ridge *r;
	double *a;              /* [n_entries] of A */
	double *z, *slope, *way; /* [n_cols] */
	double *left, *change;  /* [n_rows] b - A z; A way */
} descent;

static berth_status start(const berth_ridge *r, descent *k, berth_arena *tmp, berth_err *err)
{
	k->r = r;
	BERTH_TRY_NEW(tmp, r->n_entries, err, k->a);
	BERTH_TRY_NEW(tmp, r->n_cols, err, k->z, k->slope, k->way);
	BERTH_TRY_NEW(tmp, r->n_rows, err, k->left, k->change);
	for (int32_t i = 0; i < r->n_rows; i++)
		k->left[i] = r->row[i].y / r->row[i].noise;
	for (size_t i = 0; i < r->n_entries; i++) {
		const berth_ridge_entry *e = &r->entry[i];
		k->left[e->row] -= e->x / r->row[e->row].noise * r->mean[e->col];
		k->a[i] = e->x / r->row[e->row].noise * r->deviation[e->col];
	}
	return BERTH_OK;
}

/* slope = A'left - z, half the negative gradient. Returns its square. */
static double find_slope(descent *k)
{
	double square = 0;
	for (int32_t c = 0; c < k->r->n_cols; c++)
		k->slope[c] = -k->z[c];
	for (size_t i = 0; i < k->r->n_entries; i++)
		k->slope[k->r->entry[i].col] += k->a[i] * k->left[k->r->entry[i].row];
	for (int32_t c = 0; c < k->r->n_cols; c++)
		square += k->slope[c] * k->slope[c];
	return square;
}

/* As far along the way as the sum falls. */
static void go(descent *k, double square)
{
	double length = 0;
	for (int32_t i = 0; i < k->r->n_rows; i++)
		k->change[i] = 0;
	for (size_t i = 0; i < k->r->n_entries; i++)
		k->change[k->r->entry[i].row] += k->a[i] * k->way[k->r->entry[i].col];
	for (int32_t i = 0; i < k->r->n_rows; i++)
		length += k->change[i] * k->change[i];
	for (int32_t c = 0; c < k->r->n_cols; c++)
		length += k->way[c] * k->way[c];
	double step = square / length;
	for (int32_t c = 0; c < k->r->n_cols; c++)
		k->z[c] += step * k->way[c];
	for (int32_t i = 0; i < k->r->n_rows; i++)
		k->left[i] -= step * k->change[i];
}

static void descend(descent *k, int32_t steps)
{
	static const double still = 1e-20; /* of the square of the slope */
	double square = find_slope(k), first = square, last = INFINITY;
	for (int32_t n = 0; n < steps && square > still * first; n++) {
		for (int32_t c = 0; c < k->r->n_cols; c++)
			k->way[c] = k->slope[c] + square / last * k->way[c];
		go(k, square);
		last = square;
		square = find_slope(k);
	}
}

berth_status berth_ridge_solve(berth_ridge *r, int32_t steps, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	descent k = {0};
	berth_status st = start(r, &k, tmp, err);
	if (st == BERTH_OK)
		descend(&k, steps);
	for (int32_t c = 0; c < r->n_cols && st == BERTH_OK; c++)
		r->beta[c] = r->mean[c] + r->deviation[c] * k.z[c];
	return st;
}
