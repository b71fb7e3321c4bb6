/* Bounds along paths; see bounds_path.h. */
#include "bounds_path.h"

#include <math.h>

#define DOWN (1 - 1e-9) /* sums of doubles along a path, and the simulator's own rounding */

enum { N_SLOPES = 13, N_LINES = N_SLOPES + 1, N_GRID = 13, N_REFINE = 8 };

/* ---- one bound ---- */

static double least_joules(const berth_problem *p, int32_t op)
{
	double least = INFINITY;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_op_legal(p, op, d))
			least = fmin(least, berth_op_joules(p, op, d));
	return isfinite(least) ? least : 0;
}

/* Least cost until tensor t is on dev. */
static double arrival(const berth_problem *p, const double *cost, double latency_weight, int32_t t,
                      int32_t dev)
{
	const double *from = cost + (size_t)p->g->tensor_producer[t] * (size_t)p->n_devs;
	double best = INFINITY;
	for (int32_t d = 0; d < p->n_devs; d++) {
		double way_s = (double)berth_transfer_ns(p, t, d, dev) * 1e-9;
		best = fmin(best, from[d] + latency_weight * way_s);
	}
	return best;
}

static double row(const berth_problem *p, double *cost, int32_t op, double a, double c)
{
	const berth_graph *g = p->g;
	double least_j = least_joules(p, op), least = INFINITY;
	for (int32_t d = 0; d < p->n_devs; d++) {
		double *cell = &cost[(size_t)op * (size_t)p->n_devs + (size_t)d], ready = 0;
		*cell = INFINITY;
		if (!berth_op_legal(p, op, d))
			continue;
		for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
			double at = arrival(p, cost, a, g->in_tensor[i], d);
			/* Of a producer without a legal device its own length counts no further. */
			ready = isfinite(at) ? fmax(ready, at) : ready;
		}
		*cell = ready + a * ((double)berth_op_time(p, op, d) * 1e-9) +
		        c * (berth_op_joules(p, op, d) - least_j);
		least = fmin(least, *cell);
	}
	return isfinite(least) ? least : 0;
}

/* path(A, C) of docs/proofs.md. p->has_energy where C > 0. O(edges * devs^2). */
static berth_status path_bound(const berth_problem *p, double latency_weight, double joule_weight,
                               berth_arena *tmp, double *out, berth_err *err)
{
	double *cost, longest = 0, sum = 0;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	BERTH_TRY(BERTH_NEW(tmp, cost, (size_t)p->n_ops * (size_t)p->n_devs, err));
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k];
		longest = fmax(longest, row(p, cost, op, latency_weight, joule_weight));
		sum += least_joules(p, op);
	}
	berth_arena_reset(tmp, mark);
	*out = (longest + joule_weight * sum) * DOWN;
	return BERTH_OK;
}

/* ---- sums under limits ---- */

typedef struct tuner {
	const berth_problem *p;
	const berth_joint *j;
	double load_s, idle_w;
	double u, z;   /* multipliers of the limits on latency and energy */
	double best;
	berth_arena *tmp;
	berth_err *err;
} tuner;

static berth_status try_at(tuner *t, double u, double z, double *value)
{
	const berth_joint *j = t->j;
	double c = j->energy + z;
	BERTH_TRY(path_bound(t->p, j->latency + u + c * t->idle_w, c, t->tmp, value, t->err));
	*value += j->load * t->load_s - (u > 0 ? u * j->most_latency : 0) - (z > 0 ? z * j->most_energy : 0);
	return BERTH_OK;
}

/* The best multiplier of one limit, from a grid of factors of scale and then between its neighbours. */
static berth_status tune(tuner *t, bool of_energy, double scale)
{
	double *own = of_energy ? &t->z : &t->u, factor = 10, at = *own > 0 ? *own : scale, value;
	int n = N_GRID;
	for (int round = 0; round < 3; round++, n = N_REFINE, factor = pow(factor, 1.0 / (N_REFINE / 2)))
		for (int k = 0, from = -n / 2; k < n; k++) {
			double x = at * pow(factor, from + k);
			BERTH_TRY(try_at(t, of_energy ? t->u : x, of_energy ? x : t->z, &value));
			if (value > t->best) {
				t->best = value;
				*own = x;
			}
			if (k == n - 1 && *own > 0)
				at = *own;
		}
	return BERTH_OK;
}

berth_status berth_path_joint(const berth_problem *p, const berth_joint *j, double load_s, berth_arena *tmp,
                              double *out, berth_err *err)
{
	tuner t = {.p = p, .j = j, .load_s = load_s, .tmp = tmp, .err = err};
	bool by_latency = isfinite(j->most_latency), by_energy = isfinite(j->most_energy);
	for (int32_t d = 0; d < p->n_devs && p->has_energy; d++)
		t.idle_w += p->s->dev_idle_w[d];
	BERTH_TRY(try_at(&t, 0, 0, &t.best));
	double plain = t.best;
	for (int round = 0; round < 1 + (by_latency && by_energy); round++) {
		if (by_energy && plain > 0)
			BERTH_TRY(tune(&t, true, plain / j->most_energy));
		if (by_latency && plain > 0)
			BERTH_TRY(tune(&t, false, plain / j->most_latency));
	}
	*out = t.best;
	return BERTH_OK;
}

/* ---- energy times delay ---- */

/* Energy that goes with latency T at least. */
static double energy_at(const double *height, const double *slope, double latency_s)
{
	double most = 0;
	for (int k = 0; k < N_LINES; k++)
		most = fmax(most, height[k] - slope[k] * latency_s);
	return most;
}

berth_status berth_path_edp(const berth_problem *p, double latency_s, double energy_j, berth_arena *tmp,
                            double *out, berth_err *err)
{
	double height[N_LINES] = {energy_j}, slope[N_LINES] = {0}, idle_w = 0, least = energy_j * latency_s;
	*out = least * DOWN;
	if (!(latency_s > 0))
		return BERTH_OK;
	for (int32_t d = 0; d < p->n_devs; d++)
		idle_w += p->s->dev_idle_w[d];
	for (int k = 1; k < N_LINES; k++) {
		slope[k] = energy_j / latency_s * exp2((k - 1 - N_SLOPES / 2) * 0.5);
		BERTH_TRY(path_bound(p, slope[k] + idle_w, 1, tmp, &height[k], err));
	}
	least = latency_s * energy_at(height, slope, latency_s);
	for (int a = 0; a < N_LINES; a++)
		for (int b = 0; b < a; b++) { /* where two lines meet */
			double at =
				slope[a] != slope[b] ? (height[a] - height[b]) / (slope[a] - slope[b]) : 0;
			if (at > latency_s)
				least = fmin(least, at * energy_at(height, slope, at));
		}
	*out = fmax(least * DOWN, *out);
	return BERTH_OK;
}
