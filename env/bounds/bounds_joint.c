/* Joint bounds of weighted latency, load and energy under limits: by prices of devices and memory pools,
 * and along paths of the graph. */
#include "bounds_parts.h"

/* ---- by prices ---- */

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
	int32_t n_loads; /* devices + pools */
	int32_t n;       /* n_loads + N_MULT */
	double *x, *best, *gradient, *scale, *load, *price;
	double most[N_MULT]; /* limits */
	double value;        /* of best */
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
	BERTH_CLEAR(load, s->n_loads);
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

static void step_up(solver *s, double length)
{
	double norm = 0;
	for (int32_t i = 0; i < s->n; i++)
		norm += s->gradient[i] * s->scale[i] * s->gradient[i] * s->scale[i];
	if (!(norm > 0))
		return;
	for (int32_t i = 0; i < s->n; i++)
		s->x[i] += length / sqrt(norm) * s->scale[i] * s->scale[i] * s->gradient[i];
}

static void climb_joint(solver *s)
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
			BERTH_COPY(s->best, s->x, s->n);
		} else if (k % REST == REST - 1 && isfinite(s->value)) { /* lost: back to the best point */
			BERTH_COPY(s->x, s->best, s->n);
			bound_at(s, s->x, s->gradient);
		}
		step_up(s, FIRST_STEP * pow(LAST_STEP / FIRST_STEP, (double)k / count));
	}
}

static berth_status solve(solver *s, double latency_s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	s->n_loads = berth_n_resources(p);
	s->n = s->n_loads + N_MULT;
	BERTH_TRY_NEW(tmp, s->n, err, s->x, s->best, s->gradient, s->scale);
	BERTH_TRY_NEW(tmp, s->n_loads, err, s->load, s->price);
	for (int32_t d = 0; d < p->n_devs && p->has_energy; d++)
		s->idle_w += p->s->dev_idle_w[d];
	double total = weight_of_latency(s, s->x) + weight_of_load(s, s->x);
	for (int32_t i = 0; i < s->n; i++)
		s->scale[i] = total > 0 ? total : 1;
	if (isfinite(s->most[MULT_ENERGY]) && s->most[MULT_ENERGY] > 0) /* a joule for a second */
		s->scale[s->n_loads + MULT_ENERGY] *= latency_s / s->most[MULT_ENERGY];
	climb_joint(s);
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
	BERTH_SCRATCH(tmp);
	BERTH_TRY(solve(&s, latency_s, tmp, err));
	*out = fmax(s.value, 0);
	return BERTH_OK;
}

/* ---- along paths ---- */

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

static double path_row(const berth_problem *p, double *cost, int32_t op, double a, double c)
{
	const berth_graph *g = p->g;
	double least_j = least_joules(p, op), least = INFINITY;
	for (int32_t d = 0; d < p->n_devs; d++) {
		double *cell = &cost[berth_cell(p, op, d)], ready = 0;
		*cell = INFINITY;
		if (!berth_op_legal(p, op, d))
			continue;
		BERTH_EACH (i, g->op_in_off, op) {
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
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(tmp, (size_t)p->n_ops * (size_t)p->n_devs, err, cost);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k];
		longest = fmax(longest, path_row(p, cost, op, latency_weight, joule_weight));
		sum += least_joules(p, op);
	}
	*out = (longest + joule_weight * sum) * DOWN;
	return BERTH_OK;
}

/* ---- sums under limits ---- */

typedef struct tuner {
	const berth_problem *p;
	const berth_joint *j;
	double load_s, idle_w;
	double u, z; /* multipliers of the limits on latency and energy */
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
