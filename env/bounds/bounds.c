/* Lower bounds; see bounds.h for the proofs. */
#include "bounds.h"

#include "bounds_blocks.h"
#include "bounds_lp.h"
#include "bounds_memory.h"
#include "bounds_path.h"
#include "ceft.h"
#include "cost_model.h"

#include <math.h>
#include <string.h>

__extension__ typedef __int128 wide;

#define DOWN (1 - 1e-12) /* for figures that the simulator sums in doubles, in another order */

/* The restricted master of the column generation:  min C  subject to  sum_k x_k load_k[d] <= C for each
 * device, sum_k x_k = 1, x >= 0, as a primal simplex with a dense inverse of the basis. load[d] is scaled by
 * slots and to size 1. */
typedef struct master {
	int32_t n;       /* devices; the basis has n + 1 rows */
	double *inverse; /* [n+1][n+1] */
	double *x;       /* [n+1] values of the basic variables */
	double *cost;    /* [n+1] 1 for C, 0 else */
	double *y;       /* [n+1] duals */
	double *column;  /* [n+1] entering column */
	double *step;    /* [n+1] inverse * column */
} master;

static void refresh_duals(master *m)
{
	int32_t rows = m->n + 1;
	for (int32_t j = 0; j < rows; j++) {
		m->y[j] = 0;
		for (int32_t i = 0; i < rows; i++)
			m->y[j] += m->cost[i] * m->inverse[i * rows + j];
	}
}

/* Bring m->column with its cost into the basis. False if nothing can leave. */
static bool pivot(master *m, double cost)
{
	int32_t rows = m->n + 1, out = -1;
	double least = INFINITY;
	for (int32_t i = 0; i < rows; i++) {
		m->step[i] = 0;
		for (int32_t j = 0; j < rows; j++)
			m->step[i] += m->inverse[i * rows + j] * m->column[j];
		if (m->step[i] > 1e-12 && m->x[i] / m->step[i] < least) {
			least = m->x[i] / m->step[i];
			out = i;
		}
	}
	if (out < 0)
		return false;
	double head = m->step[out];
	for (int32_t j = 0; j < rows; j++)
		m->inverse[out * rows + j] /= head;
	m->x[out] = least;
	for (int32_t i = 0; i < rows; i++) {
		if (i == out)
			continue;
		for (int32_t j = 0; j < rows; j++)
			m->inverse[i * rows + j] -= m->step[i] * m->inverse[out * rows + j];
		m->x[i] = fmax(m->x[i] - m->step[i] * least, 0);
	}
	m->cost[out] = cost;
	refresh_duals(m);
	return true;
}

/* Basis of one assignment x_0 = 1: C is its largest load (row top), the other rows have their slack. */
static void first_basis(master *m, const double *load)
{
	int32_t rows = m->n + 1, top = 0;
	for (int32_t d = 1; d < m->n; d++)
		if (load[d] > load[top])
			top = d;
	/* rows: load_d x0 - C + s_d = 0; x0 = 1. Basic in row d: s_d; in row top: C; in the last row: x0. */
	memset(m->inverse, 0, (size_t)rows * (size_t)rows * sizeof *m->inverse);
	for (int32_t d = 0; d < m->n; d++) {
		double *row = m->inverse + d * rows;
		row[top] = -1;
		if (d != top)
			row[d] = 1;
		row[m->n] = load[top] - (d == top ? 0 : load[d]);
		m->x[d] = row[m->n];
		m->cost[d] = d == top;
	}
	m->inverse[m->n * rows + m->n] = 1;
	m->x[m->n] = 1;
	m->cost[m->n] = 0;
	refresh_duals(m);
}

/* Put every operator where mu_d w_id is least; load[d] = sum of its times, scaled. Returns sum of the least
 * values. */
static double price(const berth_problem *p, const double *mu, double scale, double *load)
{
	double sum = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		load[d] = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t best = -1;
		double least = INFINITY;
		for (int32_t d = 0; d < p->n_devs; d++) {
			double c = mu[d] * (double)berth_op_time(p, op, d);
			if (berth_op_legal(p, op, d) && c < least) {
				least = c;
				best = d;
			}
		}
		if (best < 0)
			continue;
		load[best] += (double)berth_op_time(p, op, best) * scale;
		sum += least * scale;
	}
	return sum;
}

static berth_status new_master(master *m, int32_t n, berth_arena *tmp, berth_err *err)
{
	size_t rows = (size_t)n + 1;
	m->n = n;
	BERTH_TRY(BERTH_NEW(tmp, m->inverse, rows * rows, err));
	BERTH_TRY(BERTH_NEW(tmp, m->x, rows, err));
	BERTH_TRY(BERTH_NEW(tmp, m->cost, rows, err));
	BERTH_TRY(BERTH_NEW(tmp, m->y, rows, err));
	BERTH_TRY(BERTH_NEW(tmp, m->column, rows, err));
	return BERTH_NEW(tmp, m->step, rows, err);
}

/* Solve the dual to near optimality: mu[d] = lambda_d / slots_d, the best prices found. */
static berth_status solve_dual(const berth_problem *p, double *mu, berth_arena *tmp, berth_err *err)
{
	int32_t n = p->n_devs;
	const int32_t *slots = p->s->dev_slots;
	double *load, *trial, total = 0, best = -1;
	master m;
	BERTH_TRY(new_master(&m, n, tmp, err));
	BERTH_TRY(BERTH_NEW(tmp, load, n, err));
	BERTH_TRY(BERTH_NEW(tmp, trial, n, err));
	for (int32_t d = 0; d < n; d++)
		trial[d] = mu[d] = 1.0 / (n * slots[d]);
	price(p, trial, 1, load);
	for (int32_t d = 0; d < n; d++)
		total += load[d];
	double scale = total > 0 ? 1 / total : 1;
	for (int32_t iteration = 0; iteration < 200 + 60 * n; iteration++) {
		double value = price(p, trial, scale, load);
		if (value > best) {
			best = value;
			memcpy(mu, trial, (size_t)n * sizeof *mu);
		}
		for (int32_t d = 0; d < n; d++)
			load[d] /= slots[d];
		if (iteration == 0) {
			first_basis(&m, load);
		} else {
			if (value >= m.y[n] - 1e-13)
				break; /* no column prices out: optimal */
			memcpy(m.column, load, (size_t)n * sizeof *load);
			m.column[n] = 1;
			if (!pivot(&m, 0))
				break;
		}
		/* Slacks with a negative reduced cost enter until all prices are >= 0. */
		for (int32_t guard = 0; guard < 8 * n; guard++) {
			int32_t worst = -1;
			for (int32_t d = 0; d < n; d++)
				if (-m.y[d] < -1e-13 && (worst < 0 || m.y[d] > m.y[worst]))
					worst = d;
			if (worst < 0)
				break;
			memset(m.column, 0, ((size_t)n + 1) * sizeof *m.column);
			m.column[worst] = 1;
			if (!pivot(&m, 0))
				break;
		}
		double sum = 0;
		for (int32_t d = 0; d < n; d++)
			sum += trial[d] = fmax(-m.y[d], 0);
		if (!(sum > 0))
			break;
		for (int32_t d = 0; d < n; d++)
			trial[d] /= sum * slots[d];
	}
	return BERTH_OK;
}

/* The bound of whole-number prices, exactly: sum_i min_d price_d w_id over sum_d slots_d price_d. */
static void exact_dual(const berth_problem *p, const int64_t *price_of, wide *num, wide *den)
{
	*num = *den = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		*den += (wide)price_of[d] * p->s->dev_slots[d];
	for (int32_t op = 0; op < p->n_ops; op++) {
		wide least = -1;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d)) {
				wide c = (wide)price_of[d] * berth_op_time(p, op, d);
				least = least < 0 || c < least ? c : least;
			}
		*num += least < 0 ? 0 : least;
	}
}

/* Best of several roundings of mu to whole numbers: fine steps for accuracy, coarse ones because the exact
 * optimum often has small ratios. *whole_ns: rounded down; *ns: as a double, not above the exact figure. */
static berth_status load_dual(const berth_problem *p, int64_t *whole_ns, double *ns, berth_arena *tmp,
                              berth_err *err)
{
	double *mu, most = 0;
	int64_t *price_of;
	bool one_slot = true;
	*whole_ns = 0;
	*ns = 0;
	BERTH_TRY(BERTH_NEW(tmp, mu, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(tmp, price_of, p->n_devs, err));
	BERTH_TRY(solve_dual(p, mu, tmp, err));
	for (int32_t d = 0; d < p->n_devs; d++) {
		most = fmax(most, mu[d]);
		one_slot &= p->s->dev_slots[d] == 1;
	}
	int32_t coarse = (int64_t)p->n_ops * p->n_devs <= 4096 ? 64 : 0;
	for (int32_t step = 0; step <= coarse && most > 0; step++) {
		double k = step ? (double)step : 0x1p40;
		wide num, den;
		for (int32_t d = 0; d < p->n_devs; d++)
			price_of[d] = llround(mu[d] / most * k);
		exact_dual(p, price_of, &num, &den);
		int64_t whole = (int64_t)(num / den);
		double x = (double)whole + (one_slot ? 0 : (double)(num % den) / (double)den);
		if (!one_slot)
			x *= DOWN;
		*whole_ns = whole > *whole_ns ? whole : *whole_ns;
		*ns = fmax(*ns, x);
	}
	return BERTH_OK;
}

/* Longest of the operators' shortest loads: max_i min_d w_id / slots_d, in ns. */
static double longest_operator(const berth_problem *p)
{
	double most = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		double least = INFINITY;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d))
				least = fmin(least, (double)berth_op_time(p, op, d) / p->s->dev_slots[d] *
				                            (p->s->dev_slots[d] > 1 ? DOWN : 1));
		if (isfinite(least))
			most = fmax(most, least);
	}
	return most;
}

/* Idle power of all devices, and the least extra energy of all operators. */
static void least_energy(const berth_problem *p, double *idle_w, double *busy_j)
{
	const berth_system *s = p->s;
	*idle_w = *busy_j = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		*idle_w += s->dev_idle_w[d];
	for (int32_t op = 0; op < p->n_ops; op++) {
		double least = INFINITY;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d))
				least = fmin(least, (s->dev_busy_w[d] - s->dev_idle_w[d]) *
				                            ((double)berth_op_time(p, op, d) * 1e-9 /
				                             s->dev_slots[d]));
		if (isfinite(least))
			*busy_j += least;
	}
}

/* Values of all metrics from the parts. */
static void set_values(berth_bounds *b, berth_bound_parts parts)
{
	b->parts = parts;
	for (int m = 0; m < BERTH_N_METRICS; m++)
		b->value[m] = berth_metrics[m].bound(&parts);
}

/* Values of all metrics from the bounds of the latency and the load. */
static berth_status fill_values(const berth_problem *p, double load_s, berth_arena *tmp, berth_bounds *b,
                                berth_err *err)
{
	double latency = (double)b->latency_ns / 1e9;
	berth_bound_parts x = {latency, load_s, NAN, NAN, NAN};
	if (p->has_energy) {
		double idle_w, busy_j, joint, path;
		berth_joint energy = {0, 0, 1, INFINITY, INFINITY, INFINITY};
		least_energy(p, &idle_w, &busy_j);
		BERTH_TRY(
			berth_joint_bound(p, &energy, (double)b->ceft_ns * 1e-9, latency, tmp, &joint, err));
		BERTH_TRY(berth_path_joint(p, &energy, 0, tmp, &path, err));
		x.energy_j = fmax(fmax((idle_w * latency + busy_j) * DOWN, joint), path);
		BERTH_TRY(berth_path_edp(p, latency, x.energy_j, tmp, &x.edp, err));
		x.idle_w = idle_w * DOWN;
	}
	set_values(b, x);
	return BERTH_OK;
}

/* Under a cost model with bounds of its own. */
static berth_status cost_model_bounds(const berth_problem *p, berth_arena *tmp, berth_bounds *b,
                                      berth_err *err)
{
	berth_cost_bounds own;
	double load;
	BERTH_TRY(load_dual(p, &b->load_ns, &load, tmp, err));
	load = fmax(load, longest_operator(p));
	BERTH_TRY(p->s->cost_model->bounds(p, b->load_ns, load, tmp, &own, err));
	b->ceft_ns = own.path_ns;
	b->latency_ns = own.latency_ns;
	set_values(b, (berth_bound_parts){own.latency_s, own.load_s, NAN, NAN, NAN});
	return BERTH_OK;
}

static berth_status all_bounds(const berth_problem *p, berth_arena *tmp, berth_bounds *b, berth_err *err)
{
	berth_ceft ceft;
	double load;
	if (p->s->cost_model->bounds)
		return cost_model_bounds(p, tmp, b, err);
	BERTH_TRY(berth_ceft_new(p, tmp, &ceft, err));
	BERTH_TRY(load_dual(p, &b->load_ns, &load, tmp, err));
	b->ceft_ns = ceft.length_ns;
	b->latency_ns = b->ceft_ns > b->load_ns ? b->ceft_ns : b->load_ns;
	return fill_values(p, fmax(load, longest_operator(p)) * 1e-9, tmp, b, err);
}

berth_status berth_bounds_strengthen(const berth_problem *p, int64_t nodes, berth_arena *tmp, berth_bounds *b,
                                     berth_err *err)
{
	int64_t blocks, memory, linear, most = b->latency_ns;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	if (!p->s->cost_model->strong_bounds)
		return BERTH_OK;
	BERTH_TRY(berth_bounds_blocks(p, nodes, tmp, &blocks, err));
	BERTH_TRY(berth_bounds_memory(p, tmp, &memory, err));
	most = blocks > most ? blocks : most;
	most = memory > most ? memory : most;
	BERTH_TRY(berth_bounds_lp(p, most, tmp, &linear, err));
	most = linear > most ? linear : most;
	if (most > b->latency_ns) {
		berth_bounds stronger = *b;
		stronger.latency_ns = most;
		BERTH_TRY(fill_values(p, b->parts.load_s, tmp, &stronger, err));
		/* Some values are searched for, so they need not grow with the latency. */
		for (int m = 0; m < BERTH_N_METRICS; m++)
			if (stronger.value[m] < b->value[m])
				stronger.value[m] = b->value[m];
		*b = stronger;
	}
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}

berth_status berth_bounds_new(const berth_problem *p, berth_arena *tmp, berth_bounds *out, berth_err *err)
{
	berth_bounds b = {0};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = all_bounds(p, tmp, &b, err);
	berth_arena_reset(tmp, mark);
	if (st == BERTH_OK)
		*out = b;
	return st;
}

/* Weights and limits of the metrics that joint bounds weigh against each other. */
static berth_joint joint_of(const berth_objective *o)
{
	double weight[BERTH_N_JOINT + 1] = {0}, most[BERTH_N_JOINT + 1] = {INFINITY, INFINITY, INFINITY};
	for (int m = 0; m < BERTH_N_METRICS; m++) {
		int k = berth_metrics[m].joint;
		weight[k] += o->sums[m] ? o->weight[m] : berth_objective_is(o, (berth_metric)m);
		most[k] = o->limits[m] ? fmin(most[k], o->most[m]) : most[k];
	}
	return (berth_joint){.latency = weight[BERTH_JOINT_LATENCY],
	                     .load = weight[BERTH_JOINT_LOAD],
	                     .energy = weight[BERTH_JOINT_ENERGY],
	                     .most_latency = most[BERTH_JOINT_LATENCY],
	                     .most_load = most[BERTH_JOINT_LOAD],
	                     .most_energy = most[BERTH_JOINT_ENERGY]};
}

static berth_status bound_under_limits(const berth_problem *p, const berth_bounds *b,
                                       const berth_objective *o, berth_arena *tmp, double *out,
                                       berth_err *err)
{
	double apart = berth_objective_sum(o, b->value), together, path;
	berth_joint j = joint_of(o);
	*out = apart;
	bool alone = (!berth_objective_has_limits(o) && *berth_objective_unit(o)) ||
	             !p->s->cost_model->strong_bounds;
	if (alone || isnan(apart) || (!p->has_energy && isfinite(j.most_energy)))
		return BERTH_OK;
	BERTH_TRY(berth_joint_bound(p, &j, (double)b->ceft_ns * 1e-9, (double)b->latency_ns * 1e-9, tmp,
	                            &together, err));
	BERTH_TRY(berth_path_joint(p, &j, b->parts.load_s, tmp, &path, err));
	together = fmax(together, path);
	for (int m = 0; m < BERTH_N_METRICS; m++)
		if (o->sums[m] && berth_metrics[m].joint == BERTH_N_JOINT)
			together += o->weight[m] * b->value[m] * DOWN;
	*out = fmax(apart, together);
	return BERTH_OK;
}

berth_status berth_bounds_limits_conflict(const berth_problem *p, const berth_bounds *b,
                                          const berth_objective *o, berth_arena *tmp, bool *out,
                                          berth_err *err)
{
	*out = false;
	for (int m = 0; m < BERTH_N_METRICS && !*out; m++) {
		berth_objective alone = *o;
		double least;
		if (!o->limits[m])
			continue;
		for (int k = 0; k < BERTH_N_METRICS; k++) {
			alone.sums[k] = k == m;
			alone.weight[k] = k == m;
		}
		alone.limits[m] = false;
		BERTH_TRY(bound_under_limits(p, b, &alone, tmp, &least, err));
		*out = least > o->most[m] * (1 + 1e-9);
	}
	return BERTH_OK;
}

berth_status berth_bounds_objective(const berth_problem *p, const berth_bounds *b, const berth_objective *o,
                                    berth_arena *tmp, double *out, berth_err *err)
{
	bool conflict = false;
	BERTH_TRY(bound_under_limits(p, b, o, tmp, out, err));
	if (berth_objective_has_limits(o) && p->s->cost_model->strong_bounds)
		BERTH_TRY(berth_bounds_limits_conflict(p, b, o, tmp, &conflict, err));
	if (conflict)
		*out = NAN;
	return BERTH_OK;
}

double berth_gap(double value, double bound)
{
	return bound > 0 ? value / bound - 1 : NAN;
}
