/* The load dual: a lower bound of the largest load of a device or a memory pool. */
#pragma once

#include "certify.h"
#include "problem.h"

/* A margin for figures that the simulator sums in doubles, in another order. */
#define BERTH_DOWN (1 - 1e-12)

/* max over lambda in the simplex of
 *     sum over operators of min over legal devices of lambda_d w_id / slots_d + lambda_q load_id,
 * where q is the memory pool of d, if it has one, and load_id the operator's load there (berth_op_pool_ns).
 * It is the LP dual of fractional assignment to unrelated machines, so any lambda gives a
 * bound.
 *   whole_ns  rounded down
 *   ns        as a double, not above the exact figure
 * The LP is solved by column generation. The bound is then evaluated in exact integers, so that rounding
 * cannot break it. An operator without a legal device does not count. tmp is scratch. Fails: BERTH_ENOMEM.
 * O(iterations * ops * devs). */
berth_status berth_load_dual(const berth_problem *p, int64_t *whole_ns, double *ns, berth_arena *tmp,
                             berth_err *err);

/* The best of these bounds as a certificate, for the latency or, where proof->load, for the largest load.
 * Errors and cost as above. */
berth_status berth_load_certify(const berth_problem *p, berth_bound_proof *proof, berth_arena *tmp,
                                berth_err *err);

/* Prices of the dual, near the best: mu[n_devs + n_pools] for a nanosecond of load on a device and on a pool;
 * an operator is charged berth_load_charge. Same method, errors and cost. */
berth_status berth_load_prices(const berth_problem *p, double *mu, berth_arena *tmp, berth_err *err);

/* What op on the legal device d adds to the dual's bound under these prices, ns. */
static inline double berth_load_charge(const berth_problem *p, const double *mu, int32_t op, int32_t d)
{
	int32_t pool = berth_dev_pool(p, d);
	double c = mu[d] * (double)berth_op_time(p, op, d);
	return pool < 0 ? c : c + mu[p->n_devs + pool] * (double)berth_op_pool_ns(p, op, d);
}
