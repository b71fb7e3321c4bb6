/* The load dual by column generation: prices of devices and memory pools, and what all operators cost at
 * least at these. The bound is evaluated in whole numbers. */
#include "bounds_load.h"

__extension__ typedef __int128 wide;

/* What operators load: devices, then memory pools. */
typedef struct resources {
	const berth_problem *p;
	int32_t n;      /* devices + pools */
	int32_t *units; /* [n] slots of a device; 1 for a pool */
} resources;

/* The restricted master of the column generation:  min C  subject to  sum_k x_k load_k[r] <= C for each
 * resource, sum_k x_k = 1, x >= 0, as a primal simplex with a dense inverse of the basis. load[r] is scaled
 * by units and to size 1. */
typedef struct master {
	int32_t n;       /* resources; the basis has n + 1 rows */
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
	BERTH_CLEAR(m->inverse, (size_t)rows * (size_t)rows);
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

static berth_status new_resources(const berth_problem *p, berth_arena *tmp, resources *r, berth_err *err)
{
	r->p = p;
	r->n = berth_n_resources(p);
	BERTH_TRY_NEW(tmp, r->n, err, r->units);
	for (int32_t k = 0; k < r->n; k++)
		r->units[k] = berth_units(p, k);
	return BERTH_OK;
}

/* Put every operator where its price is least; load[r] = sum of its times, scaled. Returns sum of the least
 * values. */
static double price(const resources *r, const double *mu, double scale, double *load)
{
	const berth_problem *p = r->p;
	double sum = 0;
	for (int32_t k = 0; k < r->n; k++)
		load[k] = 0;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t best = -1;
		double least = INFINITY;
		for (int32_t d = 0; d < p->n_devs; d++) {
			double c = berth_load_charge(p, mu, op, d);
			if (berth_op_legal(p, op, d) && c < least) {
				least = c;
				best = d;
			}
		}
		if (best < 0)
			continue;
		load[best] += (double)berth_op_time(p, op, best) * scale;
		if (berth_dev_pool(p, best) >= 0)
			load[p->n_devs + berth_dev_pool(p, best)] +=
				(double)berth_op_pool_ns(p, op, best) * scale;
		sum += least * scale;
	}
	return sum;
}

/* Slacks with a negative reduced cost enter until all prices are >= 0. */
static void enter_slacks(master *m)
{
	for (int32_t guard = 0; guard < 8 * m->n; guard++) {
		int32_t worst = -1;
		for (int32_t d = 0; d < m->n; d++)
			if (-m->y[d] < -1e-13 && (worst < 0 || m->y[d] > m->y[worst]))
				worst = d;
		if (worst < 0)
			return;
		BERTH_CLEAR(m->column, m->n + 1);
		m->column[worst] = 1;
		if (!pivot(m, 0))
			return;
	}
}

/* Prices of the master: its duals, scaled so that price * units sums to 1. False: they are all 0. */
static bool read_prices(const master *m, const int32_t *units, double *price_of)
{
	double sum = 0;
	for (int32_t d = 0; d < m->n; d++)
		sum += price_of[d] = fmax(-m->y[d], 0);
	for (int32_t d = 0; d < m->n && sum > 0; d++)
		price_of[d] /= sum * units[d];
	return sum > 0;
}

/* Solve the dual to near optimality: mu[k] = lambda_k / units_k, the best prices found. */
static berth_status solve_dual(const resources *r, double *mu, berth_arena *tmp, berth_err *err)
{
	int32_t n = r->n;
	double *load, *trial, total = 0, best = -1;
	master m;
	size_t rows = (size_t)n + 1;
	m.n = n;
	BERTH_TRY_NEW(tmp, rows * rows, err, m.inverse);
	BERTH_TRY_NEW(tmp, rows, err, m.x, m.cost, m.y, m.column, m.step);
	BERTH_TRY_NEW(tmp, n, err, load, trial);
	for (int32_t d = 0; d < n; d++)
		trial[d] = mu[d] = 1.0 / (n * r->units[d]);
	price(r, trial, 1, load);
	for (int32_t d = 0; d < n; d++)
		total += load[d];
	double scale = total > 0 ? 1 / total : 1;
	for (int32_t iteration = 0; iteration < 200 + 60 * n; iteration++) {
		double value = price(r, trial, scale, load);
		if (value > best) {
			best = value;
			BERTH_COPY(mu, trial, n);
		}
		for (int32_t d = 0; d < n; d++)
			load[d] /= r->units[d];
		if (iteration == 0) {
			first_basis(&m, load);
		} else {
			if (value >= m.y[n] - 1e-13)
				break; /* no column prices out: optimal */
			BERTH_COPY(m.column, load, n);
			m.column[n] = 1;
			if (!pivot(&m, 0))
				break;
		}
		enter_slacks(&m);
		if (!read_prices(&m, r->units, trial))
			break;
	}
	return BERTH_OK;
}

/* The bound of whole-number prices, exactly: sum_i min_d (price_d w_id + price_q its load on the pool q of d)
 * over sum_k units_k price_k. */
static void exact_dual(const resources *r, const int64_t *price_of, wide *num, wide *den)
{
	const berth_problem *p = r->p;
	*num = *den = 0;
	for (int32_t k = 0; k < r->n; k++)
		*den += (wide)price_of[k] * r->units[k];
	for (int32_t op = 0; op < p->n_ops; op++) {
		wide least = -1;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d)) {
				wide c = (wide)price_of[d] * berth_op_time(p, op, d);
				if (berth_dev_pool(p, d) >= 0)
					c += (wide)price_of[p->n_devs + berth_dev_pool(p, d)] *
					     berth_op_pool_ns(p, op, d);
				least = least < 0 || c < least ? c : least;
			}
		*num += least < 0 ? 0 : least;
	}
}

/* Whole-number prices near mu: fine ones for accuracy at step 0, coarse ones because the exact optimum often
 * has small ratios. */
static void round_prices(const resources *r, const double *mu, int32_t step, int64_t *price_of)
{
	double k = step ? (double)step : 0x1p40, most = 0;
	for (int32_t i = 0; i < r->n; i++)
		most = fmax(most, mu[i]);
	for (int32_t i = 0; i < r->n; i++)
		price_of[i] = most > 0 ? llround(mu[i] / most * k) : 0;
}

static int32_t most_steps(const berth_problem *p)
{
	return (int64_t)p->n_ops * p->n_devs <= 4096 ? 64 : 0;
}

berth_status berth_load_dual(const berth_problem *p, int64_t *whole_ns, double *ns, berth_arena *tmp,
                             berth_err *err)
{
	resources r;
	double *mu;
	int64_t *price_of;
	bool one_slot = true;
	*whole_ns = 0;
	*ns = 0;
	BERTH_TRY(new_resources(p, tmp, &r, err));
	BERTH_TRY_NEW(tmp, r.n, err, mu, price_of);
	BERTH_TRY(solve_dual(&r, mu, tmp, err));
	for (int32_t k = 0; k < r.n; k++)
		one_slot &= r.units[k] == 1;
	for (int32_t step = 0; step <= most_steps(p); step++) {
		wide num, den;
		round_prices(&r, mu, step, price_of);
		exact_dual(&r, price_of, &num, &den);
		if (den == 0)
			continue;
		int64_t whole = (int64_t)(num / den);
		double x = (double)whole + (one_slot ? 0 : (double)(num % den) / (double)den);
		if (!one_slot)
			x *= BERTH_DOWN;
		*whole_ns = whole > *whole_ns ? whole : *whole_ns;
		*ns = fmax(*ns, x);
	}
	return BERTH_OK;
}

berth_status berth_load_certify(const berth_problem *p, berth_bound_proof *proof, berth_arena *tmp,
                                berth_err *err)
{
	resources r;
	double *mu;
	berth_certificate c = {.kind = BERTH_CERTIFICATE_LOAD, .load = proof->load};
	BERTH_TRY(new_resources(p, tmp, &r, err));
	BERTH_TRY_NEW(tmp, r.n, err, mu);
	BERTH_TRY(solve_dual(&r, mu, tmp, err));
	for (int32_t step = 0; step <= most_steps(p); step++) {
		BERTH_TRY_NEW(proof->mem, r.n, err, c.price);
		round_prices(&r, mu, step, c.price);
		BERTH_TRY(berth_bound_proof_offer(proof, p, &c, tmp, err));
	}
	return BERTH_OK;
}

berth_status berth_load_prices(const berth_problem *p, double *mu, berth_arena *tmp, berth_err *err)
{
	resources r;
	BERTH_TRY(new_resources(p, tmp, &r, err));
	return solve_dual(&r, mu, tmp, err);
}
