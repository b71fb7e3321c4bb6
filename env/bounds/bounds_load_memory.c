/* The load dual under limits of memory; see bounds_load_memory.h. */
#include "bounds_load_memory.h"

#include "bounds_load.h"

#include <math.h>
#include <string.h>

enum { STEPS = 1500, REST = 100, OP_NS = 4 };
#define FIRST_STEP 0.5
#define LAST_STEP 0.001
#define PARTS 0x1p36 /* prices of certificates are whole parts of it */

typedef struct work {
	const berth_problem *p;
	int32_t n;             /* devices + pools */
	double *units, *limit; /* [n] slots; bytes, below 0: no limit */
	double *kept;          /* [n_ops] bytes */
	double unit_ns;        /* what times are measured in: the bound without limits */
	/* [n] a: price of a unit's load, of 1 in all; m: what the whole memory is worth, in unit_ns */
	double *a, *m, *best_a, *best_m, *load, *used;
	double best;
} work;

static double charge(const work *w, int32_t op, int32_t d)
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

static void put(work *w, int32_t op, int32_t d)
{
	int32_t pool = berth_dev_pool(w->p, d);
	w->load[d] += (double)berth_op_time(w->p, op, d) / w->units[d] / w->unit_ns;
	w->used[d] += w->kept[op];
	if (pool >= 0) {
		w->load[w->p->n_devs + pool] += (double)berth_op_pool_ns(w->p, op, d) / w->unit_ns;
		w->used[w->p->n_devs + pool] += w->kept[op];
	}
}

/* The bound at the prices, in unit_ns, with the loads and bytes that each operator at its cheapest comes to.
 */
static double value(work *w)
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
			double c = berth_op_legal(p, op, d) ? charge(w, op, d) : INFINITY;
			if (c < least) {
				least = c;
				best = d;
			}
		}
		if (best < 0)
			continue;
		put(w, op, best);
		sum += least;
	}
	return sum;
}

/* Prices of loads by factors, as their sum stays 1; those of bytes by steps. */
static void step(work *w, double length)
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

static void climb(work *w)
{
	size_t bytes = (size_t)w->n * sizeof *w->a;
	for (int k = 0; k < STEPS; k++) {
		double now = value(w);
		if (now > w->best) {
			w->best = now;
			memcpy(w->best_a, w->a, bytes);
			memcpy(w->best_m, w->m, bytes);
		} else if (k % REST == REST - 1) { /* lost: back to the best */
			memcpy(w->a, w->best_a, bytes);
			memcpy(w->m, w->best_m, bytes);
			value(w);
		}
		step(w, FIRST_STEP * pow(LAST_STEP / FIRST_STEP, (double)k / STEPS));
	}
}

/* *limited: something has a limit. */
static berth_status prepare(work *w, bool *limited, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = w->p;
	double **array[] = {&w->units, &w->limit, &w->a, &w->m, &w->best_a, &w->best_m, &w->load, &w->used};
	double ns;
	int64_t whole_ns;
	w->n = p->n_devs + p->n_pools;
	for (size_t k = 0; k < sizeof array / sizeof *array; k++)
		BERTH_TRY(BERTH_NEW(tmp, *array[k], w->n, err));
	BERTH_TRY(BERTH_NEW(tmp, w->kept, p->n_ops, err));
	BERTH_TRY(berth_load_dual(p, &whole_ns, &ns, tmp, err));
	BERTH_TRY(berth_load_prices(p, w->a, tmp, err));
	w->unit_ns = ns;
	*limited = false;
	for (int32_t k = 0; k < w->n; k++) {
		w->units[k] = k < p->n_devs ? p->s->dev_slots[k] : 1;
		w->limit[k] =
			(double)(k < p->n_devs ? p->dev_limit_bytes[k] : p->s->pool_bytes[k - p->n_devs]);
		w->a[k] = fmax(w->a[k] * w->units[k], 1e-3 / w->n);
		*limited |= w->limit[k] > 0;
	}
	for (int32_t op = 0; op < p->n_ops; op++)
		w->kept[op] = (double)(p->g->op_param_bytes[op] + p->g->op_state_bytes[op] +
		                       p->g->op_output_bytes[op]);
	return BERTH_OK;
}

/* The best prices in whole numbers, proven. */
static berth_status prove(const work *w, bool load, berth_bound_work *budget, berth_arena *tmp, int64_t *ns,
                          berth_err *err)
{
	berth_certificate c = {.kind = BERTH_CERTIFICATE_LOAD, .load = load};
	berth_arena *mem = budget->proof ? budget->proof->mem : tmp;
	BERTH_TRY(BERTH_NEW(mem, c.price, w->n, err));
	BERTH_TRY(BERTH_NEW(mem, c.byte_price, w->n, err));
	for (int32_t k = 0; k < w->n; k++) {
		double byte = w->limit[k] > 0 ? w->best_m[k] * w->unit_ns / w->limit[k] * PARTS : 0;
		c.price[k] = llround(w->best_a[k] / w->units[k] * PARTS);
		c.byte_price[k] = llround(fmin(byte, (double)BERTH_CERTIFICATE_MOST_PRICE));
	}
	BERTH_TRY(berth_bound_proof_offer(budget->proof, w->p, &c, tmp, err));
	berth_status st = berth_certificate_prove(&c, w->p, tmp, ns, err);
	return st == BERTH_EFORMAT ? BERTH_OK : st;
}

static berth_status bound(work *w, berth_bound_work *budget, berth_arena *tmp, int64_t *lower_ns,
                          berth_err *err)
{
	bool limited;
	BERTH_TRY(prepare(w, &limited, tmp, err));
	if (!limited || !(w->unit_ns > 0))
		return BERTH_OK;
	climb(w);
	/* As a largest load it is rounded down, which serves the latency, too. */
	return prove(w, !budget->proof || budget->proof->load, budget, tmp, lower_ns, err);
}

berth_status berth_bounds_load_memory(const berth_problem *p, berth_bound_work *budget, berth_arena *tmp,
                                      int64_t *lower_ns, berth_err *err)
{
	work w = {.p = p};
	*lower_ns = 0;
	if (p->memory_free || berth_problem_feasible(p, NULL) != BERTH_OK ||
	    !berth_bound_spend(budget, (int64_t)STEPS * OP_NS * p->n_ops * p->n_devs))
		return BERTH_OK;
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = bound(&w, budget, tmp, lower_ns, err);
	berth_arena_reset(tmp, mark);
	return st;
}
