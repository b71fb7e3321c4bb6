/* The joint bound; see bounds_joint.h. */
#include "bounds_joint.h"

#include <math.h>
#include <string.h>

#define DOWN (1 - 1e-9) /* sums of up to millions of doubles, and the simulator's own rounding */
#define WORK 4e6
#define FIRST_STEP 0.5
#define LAST_STEP 1e-3

enum {
	LEAST_ITERATIONS = 40,
	MOST_ITERATIONS = 400,
	REST = 20,
	MULT_LATENCY = 0,
	MULT_LOAD,
	MULT_ENERGY,
	N_MULT
};

/* A point: rho of each resource (devices, then memory pools), then the multipliers of the limits. */
typedef struct solver {
	const berth_problem *p;
	const berth_joint *j;
	double ceft_s, idle_w;
	int32_t n_loads;      /* devices + pools */
	int32_t n;            /* n_loads + N_MULT */
	double *x, *best, *gradient, *scale, *load, *price;
	double most[N_MULT];  /* limits */
	double value;         /* of best */
} solver;

static double weight_of_latency(const solver *s, const double *x)
{
	const double *u = x + s->n_loads;
	return s->j->latency + u[MULT_LATENCY] + (s->j->energy + u[MULT_ENERGY]) * s->idle_w;
}

static double weight_of_load(const solver *s, const double *x)
{
	return s->j->load + x[s->n_loads + MULT_LOAD];
}

/* Watts beside those at rest; 0 where not known. */
static double busy_extra_w(const berth_problem *p, int32_t d)
{
	return p->has_energy ? p->s->dev_busy_w[d] - p->s->dev_idle_w[d] : 0;
}

/* Back to where bounds are proven. */
static void project(const solver *s, double *x)
{
	int32_t n = s->n_loads;
	double sum = 0;
	for (int32_t i = 0; i < s->n; i++)
		x[i] = fmax(x[i], 0);
	for (int k = 0; k < N_MULT; k++)
		if (!isfinite(s->most[k]))
			x[n + k] = 0;
	double least = weight_of_load(s, x), most = least + weight_of_latency(s, x);
	for (int32_t d = 0; d < n; d++)
		sum += x[d];
	double to = sum > most ? most : sum < least ? least : sum;
	for (int32_t d = 0; d < n; d++)
		x[d] = sum > 0 ? x[d] * (to / sum) : to / n;
}

/* Each operator where it is cheapest; load [n_loads] in seconds. Returns the sum of the prices. */
static double assign(const solver *s, const double *price, double *load)
{
	const berth_problem *p = s->p;
	double sum = 0;
	memset(load, 0, (size_t)s->n_loads * sizeof *load);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t best = -1;
		double least = INFINITY;
		for (int32_t d = 0; d < p->n_devs; d++) {
			int32_t pool = berth_dev_pool(p, d);
			double c = price[d] * (double)berth_op_time(p, op, d);
			if (pool >= 0)
				c += price[p->n_devs + pool] * (double)berth_op_pool_ns(p, op, d);
			if (berth_op_legal(p, op, d) && c < least) {
				least = c;
				best = d;
			}
		}
		if (best < 0)
			continue;
		sum += least;
		load[best] += (double)berth_op_time(p, op, best);
		if (berth_dev_pool(p, best) >= 0)
			load[p->n_devs + berth_dev_pool(p, best)] += (double)berth_op_pool_ns(p, op, best);
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		load[d] *= 1e-9 / p->s->dev_slots[d];
	for (int32_t k = p->n_devs; k < s->n_loads; k++)
		load[k] *= 1e-9;
	return sum * 1e-9;
}

/* Bound at x, with its supergradient. */
static double bound_at(const solver *s, const double *x, double *gradient)
{
	int32_t n = s->n_loads, devs = s->p->n_devs;
	const double *u = x + n;
	double energy = s->j->energy + u[MULT_ENERGY], extra = 0;
	double rest = weight_of_latency(s, x) + weight_of_load(s, x);
	for (int32_t k = 0; k < n; k++) {
		s->price[k] = x[k];
		if (k < devs)
			s->price[k] = (x[k] + energy * busy_extra_w(s->p, k)) / s->p->s->dev_slots[k];
		rest -= x[k];
	}
	rest -= 1e-12 * (weight_of_latency(s, x) + weight_of_load(s, x)); /* it is a difference */
	double value = (assign(s, s->price, s->load) + fmax(rest, 0) * s->ceft_s) * DOWN;
	for (int32_t k = 0; k < n; k++) {
		gradient[k] = s->load[k] - s->ceft_s;
		extra += k < devs ? busy_extra_w(s->p, k) * s->load[k] : 0;
	}
	for (int k = 0; k < N_MULT; k++) {
		bool is = isfinite(s->most[k]);
		value -= is ? u[k] * s->most[k] : 0;
		gradient[n + k] =
			!is ? 0 : (k == MULT_ENERGY ? extra + s->idle_w * s->ceft_s : s->ceft_s) - s->most[k];
	}
	return value;
}

static void step(solver *s, double length)
{
	double norm = 0;
	for (int32_t i = 0; i < s->n; i++)
		norm += s->gradient[i] * s->scale[i] * s->gradient[i] * s->scale[i];
	if (!(norm > 0))
		return;
	for (int32_t i = 0; i < s->n; i++)
		s->x[i] += length / sqrt(norm) * s->scale[i] * s->scale[i] * s->gradient[i];
}

static void climb(solver *s)
{
	int32_t n = s->n_loads;
	double cells = (double)s->p->n_ops * n + 1,
	       count = fmin(fmax(WORK / cells, LEAST_ITERATIONS), MOST_ITERATIONS);
	double total = weight_of_latency(s, s->x) + weight_of_load(s, s->x);
	for (int32_t d = 0; d < n; d++)
		s->x[d] = total / n;
	for (int k = 0; k < (int)count; k++) {
		project(s, s->x);
		double value = bound_at(s, s->x, s->gradient);
		if (value > s->value) {
			s->value = value;
			memcpy(s->best, s->x, (size_t)s->n * sizeof *s->x);
		} else if (k % REST == REST - 1 && isfinite(s->value)) { /* lost: back to the best point */
			memcpy(s->x, s->best, (size_t)s->n * sizeof *s->x);
			bound_at(s, s->x, s->gradient);
		}
		step(s, FIRST_STEP * pow(LAST_STEP / FIRST_STEP, (double)k / count));
	}
}

static berth_status solve(solver *s, double latency_s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	s->n_loads = p->n_devs + p->n_pools;
	s->n = s->n_loads + N_MULT;
	BERTH_TRY(BERTH_NEW(tmp, s->x, s->n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->best, s->n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->gradient, s->n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->scale, s->n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->load, s->n_loads, err));
	BERTH_TRY(BERTH_NEW(tmp, s->price, s->n_loads, err));
	for (int32_t d = 0; d < p->n_devs && p->has_energy; d++)
		s->idle_w += p->s->dev_idle_w[d];
	double total = weight_of_latency(s, s->x) + weight_of_load(s, s->x);
	for (int32_t i = 0; i < s->n; i++)
		s->scale[i] = total > 0 ? total : 1;
	if (isfinite(s->most[MULT_ENERGY]) && s->most[MULT_ENERGY] > 0) /* a joule for a second */
		s->scale[s->n_loads + MULT_ENERGY] *= latency_s / s->most[MULT_ENERGY];
	climb(s);
	return BERTH_OK;
}

berth_status berth_joint_bound(const berth_problem *p, const berth_joint *j, double ceft_s, double latency_s,
                               berth_arena *tmp, double *out, berth_err *err)
{
	solver s = {.p = p,
	            .j = j,
	            .ceft_s = ceft_s,
	            .value = -INFINITY,
	            .most = {j->most_latency, j->most_load, j->most_energy}};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = solve(&s, latency_s, tmp, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = fmax(s.value, 0);
	return st;
}
