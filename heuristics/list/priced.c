/* `heft-priced` and `peft-priced`: list schedules with prices. HEFT takes for each operator the device where
 * it ends first. So a device that is rarely free first takes operators that it is bad at, and those that it
 * is good at come late. The load dual (bounds_load.h) knows a price of each device's time. An operator is
 * charged what it loads a device with times the price; what that is above its least charge raises the bound
 * of the latency for good. Here a device is judged by the end there plus that surcharge, times the number of
 * devices (an operator runs on one, the bound is a mean over all), times a weight.
 *
 * `peft-priced` also looks ahead: to the judgement it adds what is to come behind the operator, by PEFT's
 * optimistic cost table with surcharges in the times. So a chain whose tensors are dear to move goes where
 * the whole of it is charged least, which no operator of it tells alone. With weight 0 it is PEFT by HEFT's
 * ranks.
 *
 * Where transfers are dear the prices count on more devices than are worth using, so several weights are
 * tried, from the end alone nearly to the charge alone. Prices as the duals of fractional assignment
 * to unrelated machines: J. K. Lenstra, D. B. Shmoys, E. Tardos, "Approximation algorithms for scheduling
 * unrelated parallel machines", Math. Programming 46, 1990, section 2. The rule is berth's own.
 *
 * Three list schedules and six evaluations; five and ten. */
#include "bounds_load.h"
#include "ceft.h"
#include "list.h"
#include "method.h"
#include "offer_schedule.h"
#include "priced.h"
#include "seeds.h"

#include <math.h>

typedef struct priced {
	const berth_problem *p;
	double *price;    /* [n_devs + n_pools] of a nanosecond */
	int64_t *above;   /* [n_ops][n_devs] surcharges, of the weight at hand */
	int64_t *cost_ns; /* [n_ops][n_devs] times with them; NULL: without looking ahead */
	int64_t *tail_ns; /* [n_ops][n_devs] what is to come, or NULL */
} priced;

static size_t cell(const priced *x, int32_t op, int32_t dev)
{
	return (size_t)op * (size_t)x->p->n_devs + (size_t)dev;
}

static int64_t score(void *ctx, berth_partial *part, int32_t op, int32_t dev, int64_t start_ns,
                     int64_t end_ns)
{
	const priced *x = ctx;
	size_t at = cell(x, op, dev);
	(void)part, (void)start_ns;
	return end_ns + x->above[at] + (x->tail_ns ? x->tail_ns[at] : 0);
}

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = ((const priced *)ctx)->p;
	return berth_list_schedule(part, p, p->op_rank_ns, true, NULL, score, ctx, tmp, err);
}

/* What op is charged where it is charged least. */
static double least_charge(const berth_problem *p, const double *price, int32_t op)
{
	double least = INFINITY;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_op_legal(p, op, d))
			least = fmin(least, berth_load_charge(p, price, op, d));
	return least;
}

/* Sums along any path stay below BERTH_CEFT_NEVER. */
void berth_priced_charge(const berth_problem *p, const double *price, double weight, int64_t *above,
                         int64_t *cost_ns)
{
	double most = (double)BERTH_CEFT_NEVER / 2 / (p->n_ops + 1.0);
	for (int32_t op = 0; op < p->n_ops; op++) {
		double least = least_charge(p, price, op);
		for (int32_t d = 0; d < p->n_devs; d++) {
			size_t at = (size_t)op * (size_t)p->n_devs + (size_t)d;
			if (!berth_op_legal(p, op, d))
				continue;
			double over = berth_load_charge(p, price, op, d) - least;
			above[at] = llround(fmin(weight * p->n_devs * over, most));
			if (cost_ns)
				cost_ns[at] = berth_op_time(p, op, d) + above[at];
		}
	}
}

static void charge(priced *x, double weight)
{
	berth_priced_charge(x->p, x->price, weight, x->above, x->cost_ns);
	if (x->tail_ns)
		berth_ceft_tails(x->p, x->cost_ns, x->tail_ns);
}

static berth_status run_weights(priced *x, berth_search *s, int n, const double *weight, berth_arena *tmp,
                                berth_err *err)
{
	BERTH_TRY(BERTH_NEW(s->mem, x->price, x->p->n_devs + x->p->n_pools, err));
	BERTH_TRY(BERTH_NEW(s->mem, x->above, (size_t)x->p->n_ops * (size_t)x->p->n_devs, err));
	BERTH_TRY(berth_load_prices(x->p, x->price, tmp, err));
	for (int k = 0; k < n && (k == 0 || !s->cut); k++) {
		if (x->tail_ns && !berth_search_afford(s, berth_seed_table_ns(x->p)) && k > 0)
			break;
		charge(x, weight[k]);
		BERTH_TRY(berth_offer_schedule(s, schedule, x, tmp, err));
	}
	return BERTH_OK;
}

static berth_status run_heft(berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const double weights[] = {3, 8, 1};
	priced x = {.p = s->p};
	return run_weights(&x, s, sizeof weights / sizeof *weights, weights, tmp, err);
}

static berth_status run_peft(berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const double weights[] = {1, 3, 0, 8, 0.3};
	priced x = {.p = s->p};
	size_t cells = (size_t)s->p->n_ops * (size_t)s->p->n_devs;
	BERTH_TRY(BERTH_NEW(s->mem, x.cost_ns, cells, err));
	BERTH_TRY(BERTH_NEW(s->mem, x.tail_ns, cells, err));
	return run_weights(&x, s, sizeof weights / sizeof *weights, weights, tmp, err);
}

const berth_method berth_method_heft_priced = {
	"heft-priced",
	"HEFT that pays for devices' time by the prices of the load bound (Lenstra, Shmoys, Tardos 1990).",
	false, run_heft, NULL};

const berth_method berth_method_peft_priced = {
	"peft-priced", "heft-priced with a look ahead by PEFT's table, prices in it.", false, run_peft, NULL};
