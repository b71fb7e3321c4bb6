/* HEFT with prices. HEFT takes for each operator the device where it ends first. So a device that is rarely
 * free first takes operators that it is bad at, and those that it is good at come late. The load dual
 * (bounds_load.h) knows a price of each device's time. An operator is charged what it loads a device with
 * times the price; what that is above its least charge raises the bound of the latency for good. Here a
 * device is judged by the end there plus that surcharge, times the number of devices (an operator runs on
 * one, the bound is a mean over all), times a weight.
 *
 * Where transfers are dear the prices count on more devices than are worth using, so several weights are
 * tried, from the end alone nearly to the charge alone. Prices as the duals of fractional assignment
 * to unrelated machines: J. K. Lenstra, D. B. Shmoys, E. Tardos, "Approximation algorithms for scheduling
 * unrelated parallel machines", Math. Programming 46, 1990, section 2. The rule is berth's own.
 *
 * Three list schedules, six evaluations. */
#include "bounds_load.h"
#include "list.h"
#include "method.h"
#include "offer_schedule.h"

#include <math.h>

static const double weights[] = {3, 8, 1};

enum { N_WEIGHTS = sizeof weights / sizeof *weights };

typedef struct priced {
	const berth_problem *p;
	double *price; /* [n_devs + n_pools] of a nanosecond */
	double *least; /* [n_ops] the least charge of an operator */
	double weight;
} priced;

static int64_t score(void *ctx, berth_partial *part, int32_t op, int32_t dev, int64_t start_ns,
                     int64_t end_ns)
{
	const priced *x = ctx;
	double above = berth_load_charge(x->p, x->price, op, dev) - x->least[op];
	(void)part, (void)start_ns;
	return end_ns + llround(fmin(x->weight * above, 0x1p61));
}

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = ((const priced *)ctx)->p;
	return berth_list_schedule(part, p, p->op_rank_ns, true, score, ctx, tmp, err);
}

/* What each operator is charged where it is charged least. */
static void find_least(priced *x)
{
	for (int32_t op = 0; op < x->p->n_ops; op++) {
		x->least[op] = INFINITY;
		for (int32_t d = 0; d < x->p->n_devs; d++)
			if (berth_op_legal(x->p, op, d))
				x->least[op] =
					fmin(x->least[op], berth_load_charge(x->p, x->price, op, d));
	}
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	priced x = {.p = s->p};
	BERTH_TRY(BERTH_NEW(s->mem, x.price, x.p->n_devs + x.p->n_pools, err));
	BERTH_TRY(BERTH_NEW(s->mem, x.least, x.p->n_ops, err));
	BERTH_TRY(berth_load_prices(x.p, x.price, tmp, err));
	find_least(&x);
	for (int k = 0; k < N_WEIGHTS && (k == 0 || !s->cut); k++) {
		x.weight = weights[k] * x.p->n_devs;
		BERTH_TRY(berth_offer_schedule(s, schedule, &x, tmp, err));
	}
	return BERTH_OK;
}

const berth_method berth_method_heft_priced = {
	"heft-priced",
	"HEFT that pays for devices' time by the prices of the load bound (Lenstra, Shmoys, Tardos 1990).",
	false, run, NULL};
