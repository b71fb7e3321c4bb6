/* Bounds where devices cannot hold all operators: of the largest load, and of the length of a path, with
 * prices for what operators keep. Prices are found by subgradients. */
#include "bounds_load.h"
#include "bounds_parts.h"
#include "ceft.h"

/* ---- load and memory ---- */

enum { LOAD_STEPS = 1500, REST = 100, OP_NS = 4 }; /* OP_NS: of a step, for an operator on a device */
#define FIRST_STEP 0.5
#define LAST_STEP 0.001
#define PARTS 0x1p36 /* prices of certificates are whole parts of it */

typedef struct loads {
	const berth_problem *p;
	int32_t n;             /* devices + pools */
	double *units, *limit; /* [n] slots; bytes, below 0: no limit */
	double *kept;          /* [n_ops] bytes */
	double unit_ns;        /* what times are measured in: the bound_load without limits */
	/* [n] a: price of a unit's load, of 1 in all; m: what the whole memory is worth, in unit_ns */
	double *a, *m, *best_a, *best_m, *load, *used;
	double best;
} loads;

static double charge_op(const loads *w, int32_t op, int32_t d)
{
	const berth_problem *p = w->p;
	int32_t pool = berth_dev_pool(p, d);
	double c = w->a[d] / w->units[d] * (double)berth_op_time(p, op, d) / w->unit_ns;
	if (w->limit[d] > 0)
		c += w->m[d] * w->kept[op] / w->limit[d];
	if (pool >= 0) {
		c += w->a[p->n_devs + pool] * (double)berth_op_pool_ns(p, op, d) / w->unit_ns;
		if (w->limit[p->n_devs + pool] > 0)
			c += w->m[p->n_devs + pool] * w->kept[op] / w->limit[p->n_devs + pool];
	}
	return c;
}

/* The bound_load at the prices, in unit_ns, with the loads and bytes that each operator at its cheapest
 * comes to. */
static double load_value(loads *w)
{
	const berth_problem *p = w->p;
	double sum = 0;
	for (int32_t k = 0; k < w->n; k++) {
		w->load[k] = w->used[k] = 0;
		sum -= w->limit[k] > 0 ? w->m[k] : 0;
	}
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t best = -1;
		double least = INFINITY;
		for (int32_t d = 0; d < p->n_devs; d++) {
			double c = berth_op_legal(p, op, d) ? charge_op(w, op, d) : INFINITY;
			if (c < least) {
				least = c;
				best = d;
			}
		}
		if (best < 0)
			continue;
		int32_t pool = berth_dev_pool(w->p, best);
		w->load[best] += (double)berth_op_time(w->p, op, best) / w->units[best] / w->unit_ns;
		w->used[best] += w->kept[op];
		if (pool >= 0) {
			w->load[w->p->n_devs + pool] += (double)berth_op_pool_ns(w->p, op, best) / w->unit_ns;
			w->used[w->p->n_devs + pool] += w->kept[op];
		}
		sum += least;
	}
	return sum;
}

/* Prices of loads by factors, as their sum stays 1; those of bytes by steps. */
static void step_prices(loads *w, double length)
{
	double most = 0, sum = 0;
	for (int32_t k = 0; k < w->n; k++) {
		most = fmax(most, fabs(w->load[k]));
		if (w->limit[k] > 0)
			most = fmax(most, fabs(w->used[k] / w->limit[k] - 1));
	}
	for (int32_t k = 0; k < w->n && most > 0; k++) {
		w->a[k] *= exp(length * w->load[k] / most);
		sum += w->a[k];
		if (w->limit[k] > 0)
			w->m[k] = fmax(w->m[k] + length * (w->used[k] / w->limit[k] - 1) / most, 0);
	}
	for (int32_t k = 0; k < w->n && sum > 0; k++)
		w->a[k] /= sum;
}

/* *limited: something has a limit. */
static berth_status prepare_loads(loads *w, bool *limited, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = w->p;
	double **array[] = {&w->units, &w->limit, &w->a, &w->m, &w->best_a, &w->best_m, &w->load, &w->used};
	double ns;
	int64_t whole_ns;
	w->n = berth_n_resources(p);
	for (size_t k = 0; k < sizeof array / sizeof *array; k++)
		BERTH_TRY_NEW(tmp, w->n, err, *array[k]);
	BERTH_TRY_NEW(tmp, p->n_ops, err, w->kept);
	BERTH_TRY(berth_load_dual(p, &whole_ns, &ns, tmp, err));
	BERTH_TRY(berth_load_prices(p, w->a, tmp, err));
	w->unit_ns = ns;
	*limited = false;
	for (int32_t k = 0; k < w->n; k++) {
		w->units[k] = berth_units(p, k);
		w->limit[k] = (double)berth_limit_bytes(p, k);
		w->a[k] = fmax(w->a[k] * w->units[k], 1e-3 / w->n);
		*limited |= w->limit[k] > 0;
	}
	for (int32_t op = 0; op < p->n_ops; op++)
		w->kept[op] = (double)berth_kept_bytes(p, op);
	return BERTH_OK;
}

berth_status berth_bounds_load_memory(const berth_problem *p, berth_bound_work *budget, berth_arena *tmp,
                                      int64_t *lower_ns, berth_err *err)
{
	loads w = {.p = p};
	*lower_ns = 0;
	if (p->memory_free || berth_problem_feasible(p, NULL) != BERTH_OK ||
	    !berth_bound_spend(budget, (int64_t)LOAD_STEPS * OP_NS * p->n_ops * p->n_devs))
		return BERTH_OK;
	BERTH_SCRATCH(tmp);
	bool limited;
	BERTH_TRY(prepare_loads(&w, &limited, tmp, err));
	if (!limited || !(w.unit_ns > 0))
		return BERTH_OK;
	size_t bytes = (size_t)w.n * sizeof *w.a;
	for (int k = 0; k < LOAD_STEPS; k++) {
		double now = load_value(&w);
		if (now > w.best) {
			w.best = now;
			memcpy(w.best_a, w.a, bytes);
			memcpy(w.best_m, w.m, bytes);
		} else if (k % REST == REST - 1) { /* lost: back to the best */
			memcpy(w.a, w.best_a, bytes);
			memcpy(w.m, w.best_m, bytes);
			load_value(&w);
		}
		step_prices(&w, FIRST_STEP * pow(LAST_STEP / FIRST_STEP, (double)k / LOAD_STEPS));
	}
	/* As a largest load it is rounded down, which serves the latency, too. */
	/* The best prices in whole numbers, proven. */
	bool load = !budget->proof || budget->proof->load;
	berth_certificate c = {.kind = BERTH_CERTIFICATE_LOAD, .load = load};
	berth_arena *mem = budget->proof ? budget->proof->mem : tmp;
	BERTH_TRY_NEW(mem, w.n, err, c.price, c.byte_price);
	for (int32_t k = 0; k < w.n; k++) {
		double byte = w.limit[k] > 0 ? w.best_m[k] * w.unit_ns / w.limit[k] * PARTS : 0;
		c.price[k] = llround(w.best_a[k] / w.units[k] * PARTS);
		c.byte_price[k] = llround(fmin(byte, (double)BERTH_CERTIFICATE_MOST_PRICE));
	}
	BERTH_TRY(berth_bound_proof_offer(budget->proof, w.p, &c, tmp, err));
	berth_status st = berth_certificate_prove(&c, w.p, tmp, lower_ns, err);
	return st == BERTH_EFORMAT ? BERTH_OK : st;
}

/* ---- path and memory ---- */

#define UNIT 0x1p40 /* prices of certificates are below it */

enum { STEPS = 400 };

typedef struct path_work {
	const berth_problem *p;
	double *bytes; /* [n_ops] */
	/* what has a limit: devices, then memory pools */
	int32_t n_limits;
	double *limit;   /* [n_limits] bytes; below 0: none */
	double *price;   /* [n_limits] ns a byte */
	double *best;    /* [n_limits] those of the best bound_path */
	double *used;    /* [n_limits] bytes in the minimum */
	double *cost;    /* [path][n_devs] */
	int32_t *back;   /* [path][n_devs] */
	int32_t *path;   /* operators of the path, first to last */
	int32_t *tensor; /* [path] the tensor from the one before; [0] unused */
	bool *on_path;   /* [n_ops] */
	int32_t n_path;
} path_work;

/* The tensor that leads from one operator to another by the longest way at its best, as the table of
 * earliest finish times has it. */
static int32_t tensor_between(const berth_problem *p, int32_t from, int32_t to)
{
	int32_t best = -1;
	BERTH_EACH (i, p->g->op_in_off, to) {
		int32_t t = p->g->in_tensor[i];
		if (p->g->tensor_producer[t] == from &&
		    (best < 0 || p->g->tensor_bytes[t] > p->g->tensor_bytes[best]))
			best = t;
	}
	return best;
}

/* Ns that a byte on device d costs: there and in its pool. */
static double price_on(const path_work *w, int32_t d)
{
	int32_t pool = berth_dev_pool(w->p, d);
	return pool < 0 ? w->price[d] : w->price[d] + w->price[w->p->n_devs + pool];
}

static void use_bytes(path_work *w, int32_t op, int32_t d)
{
	int32_t pool = berth_dev_pool(w->p, d);
	w->used[d] += w->bytes[op];
	if (pool >= 0)
		w->used[w->p->n_devs + pool] += w->bytes[op];
}

/* Shortest way of the path at the prices; uses are added to w->used. */
static double price_path(path_work *w)
{
	const berth_problem *p = w->p;
	int32_t devs = p->n_devs;
	for (int32_t k = 0; k < w->n_path; k++)
		for (int32_t d = 0; d < devs; d++) {
			int32_t op = w->path[k], at = k * devs + d;
			double least = k ? INFINITY : 0;
			for (int32_t l = 0; k && l < devs; l++) {
				double c = w->cost[at - d - devs + l] +
				           (double)berth_transfer_ns(p, w->tensor[k], l, d);
				if (c < least) {
					least = c;
					w->back[at] = l;
				}
			}
			w->cost[at] = berth_op_legal(p, op, d) ? least + (double)berth_op_time(p, op, d) +
			                                                 price_on(w, d) * w->bytes[op]
			                                       : INFINITY;
		}
	int32_t best = 0;
	const double *last = w->cost + (w->n_path - 1) * devs;
	for (int32_t d = 1; d < devs; d++)
		if (last[d] < last[best])
			best = d;
	double value = last[best];
	for (int32_t k = w->n_path - 1, d = best; k >= 0 && isfinite(value); k--) {
		use_bytes(w, w->path[k], d);
		d = w->back[k * devs + d];
	}
	return value;
}

/* The bound_path at the prices, with a margin for rounding. */
static double lagrangian(path_work *w)
{
	const berth_problem *p = w->p;
	double value = 0, paid = 0;
	for (int32_t k = 0; k < w->n_limits; k++) {
		w->used[k] = 0;
		paid += w->price[k] > 0 ? w->price[k] * w->limit[k] : 0;
	}
	value = price_path(w);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t best = -1;
		for (int32_t d = 0; d < p->n_devs && !w->on_path[op]; d++)
			if (berth_op_legal(p, op, d) && (best < 0 || price_on(w, d) < price_on(w, best)))
				best = d;
		if (best >= 0) {
			use_bytes(w, op, best);
			value += price_on(w, best) * w->bytes[op];
		}
	}
	return (value - paid) - 1e-11 * (value + paid);
}

/* Polyak's steps along the subgradient towards a guess of the best value that grows and shrinks with
 * success. */
static double climb_path(path_work *w)
{
	double best = 0, target = 0;
	for (int32_t step = 0; step < STEPS; step++) {
		double value = lagrangian(w), norm = 0;
		if (!isfinite(value))
			return best;
		if (step == 0)
			target = value;
		if (value > best) {
			best = value;
			BERTH_COPY(w->best, w->price, w->n_limits);
		}
		double aim = best + target * (step < 100 ? 0.3 : step < 200 ? 0.1 : step < 300 ? 0.03 : 0.01);
		for (int32_t k = 0; k < w->n_limits; k++) {
			double g = w->limit[k] < 0 ? 0 : w->used[k] - w->limit[k];
			norm += w->price[k] <= 0 && g < 0 ? 0 : g * g;
		}
		if (!(norm > 0))
			return best;
		for (int32_t k = 0; k < w->n_limits; k++) {
			double g = w->limit[k] < 0 ? 0 : w->used[k] - w->limit[k];
			w->price[k] = fmax(w->price[k] + (aim - value) / norm * g, 0);
		}
	}
	return best;
}

/* *limited: something has a limit. */
static berth_status find_limits(path_work *w, bool *limited, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = w->p;
	*limited = false;
	w->n_limits = berth_n_resources(p);
	BERTH_TRY_NEW(tmp, w->n_limits, err, w->limit);
	for (int32_t k = 0; k < w->n_limits; k++) {
		int64_t bytes = berth_limit_bytes(p, k);
		w->limit[k] = (double)bytes;
		*limited |= bytes >= 0;
	}
	return BERTH_OK;
}

/* The best prices in whole numbers, as a certificate. */
static berth_status certify_path(const path_work *w, berth_bound_proof *proof, berth_arena *tmp,
                                 berth_err *err)
{
	double most = 0, unit = UNIT;
	berth_certificate c = {.kind = BERTH_CERTIFICATE_PATH, .n_path = w->n_path};
	for (int32_t k = 0; k < w->n_limits; k++)
		most = fmax(most, w->limit[k] < 0 ? 0 : w->best[k]);
	unit = floor(most > 1 ? unit / most : unit);
	c.unit = unit > 1 ? (int64_t)unit : 1;
	BERTH_TRY_NEW(proof->mem, w->n_limits, err, c.price);
	BERTH_TRY_NEW(proof->mem, w->n_path, err, c.path);
	for (int32_t k = 0; k < w->n_limits; k++)
		c.price[k] = w->limit[k] < 0 ? 0 : llround(fmin(w->best[k] * (double)c.unit, UNIT));
	BERTH_COPY(c.path, w->path, w->n_path);
	return berth_bound_proof_offer(proof, w->p, &c, tmp, err);
}

static berth_status bound_path(path_work *w, berth_bound_proof *proof, berth_arena *tmp, int64_t *lower_ns,
                               berth_err *err)
{
	const berth_problem *p = w->p;
	size_t ops = (size_t)p->n_ops, devs = (size_t)p->n_devs;
	bool limited;
	berth_ceft ceft;
	BERTH_TRY(find_limits(w, &limited, tmp, err));
	if (!limited)
		return BERTH_OK;
	BERTH_TRY_NEW(tmp, ops, err, w->bytes);
	BERTH_TRY_NEW(tmp, w->n_limits, err, w->price, w->best, w->used);
	BERTH_TRY_NEW(tmp, ops * devs, err, w->cost, w->back);
	BERTH_TRY_NEW(tmp, ops, err, w->path, w->tensor, w->on_path);
	BERTH_TRY(berth_ceft_new(p, tmp, &ceft, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		w->bytes[op] = (double)berth_kept_bytes(p, op);
	int32_t n = 0;
	for (berth_ceft_step at = ceft.end; at.op >= 0; at = berth_ceft_before(&ceft, at)) {
		w->path[n++] = at.op;
		w->on_path[at.op] = true;
	}
	w->n_path = n;
	for (int32_t k = 0; k < n / 2; k++) {
		int32_t op = w->path[k];
		w->path[k] = w->path[n - 1 - k];
		w->path[n - 1 - k] = op;
	}
	for (int32_t k = 1; k < n; k++)
		w->tensor[k] = tensor_between(p, w->path[k - 1], w->path[k]);
	if (w->n_path > 0)
		*lower_ns = (int64_t)fmin(climb_path(w), (double)BERTH_CEFT_NEVER);
	return proof && w->n_path > 0 ? certify_path(w, proof, tmp, err) : BERTH_OK;
}

berth_status berth_bounds_memory(const berth_problem *p, berth_bound_work *budget, berth_arena *tmp,
                                 int64_t *lower_ns, berth_err *err)
{
	path_work w = {.p = p};
	*lower_ns = 0;
	if (p->memory_free || berth_problem_feasible(p, NULL) != BERTH_OK ||
	    !berth_bound_spend(budget, STEPS * OP_NS * p->n_ops * p->n_devs))
		return BERTH_OK;
	BERTH_SCRATCH(tmp);
	return bound_path(&w, budget->proof, tmp, lower_ns, err);
}
