/* `pbqp` and `ceft-pbqp`: placement as a partitioned Boolean quadratic problem (Anderson & Gregg, CGO 2018, for layers; Huang, Fu & Hsu, SAMOS 2019, for
 * placements with CEFT, of which only the abstract could be read: what follows is a reconstruction).
 *
 *   node         a unit; alternatives: devices, those that are not legal cost infinitely much
 *   node cost    time of the unit on the device, times a price of the device
 *   edge cost    routed transfer time between the devices of producer and consumer; a tensor with several consumers counts for each of their
 *                units, though it travels once per device: an upper estimate
 *
 * The sum of these is not the makespan: on equal devices it is least on a single one. So the devices are priced: after each solution the price of a
 * device moves with its share of the load (and with its excess of memory), and transfers count in part. The best simulated placement of all
 * twenty vectors is kept.
 * `ceft-pbqp` pins the units of the CEFT critical path to the devices of that path. For the energy objective costs are joules and no prices
 * are needed for the busy part, which is a sum over operators and hops: there the plain solution minimises it exactly if the solver does. */
#include "ceft.h"
#include "method.h"
#include "pbqp.h"

#include <math.h>
#include <string.h>

enum { STEPS = 5 }; /* price vectors of each share of the transfers */

/* Transfers overlap with computing, so that only a part of them is lost time; what part is tried out. The first one is the plain problem. */
static const double transfer_share[] = {1, 0.4, 0.15, 0.05};
enum { N_SHARES = sizeof transfer_share / sizeof *transfer_share };

typedef struct pricer {
	berth_search *s;
	const berth_problem *p;
	size_t devs;
	bool joules;         /* costs are nanojoules, else nanoseconds */
	int64_t *unit_cost;  /* [n_units][n_devs] unpriced; BERTH_PBQP_INF: not legal, or pinned elsewhere */
	double *price;       /* [n_devs] */
	double transfers;    /* share of the edge costs that counts */
	int32_t *n_alts;     /* [n_units] all n_devs */
	int32_t *unit_dev;   /* [n_units] the answer */
	int32_t *op_dev;     /* [n_ops] */
	int64_t *edge_cost;  /* [n_devs][n_devs] scratch */
} pricer;

static int64_t rounded(double x)
{
	return x < 0x1p52 ? (int64_t)llround(x) : INT64_C(1) << 52;
}

/* Busy energy of a unit on a device beyond idling, in nanojoules: watts times nanoseconds. */
static int64_t unit_joules(const berth_problem *p, int32_t unit, int32_t dev)
{
	const berth_system *s = p->s;
	return rounded((s->dev_busy_w[dev] - s->dev_idle_w[dev]) * (double)berth_unit_time(p, unit, dev) / s->dev_slots[dev]);
}

static void fill_unit_costs(pricer *x)
{
	for (int32_t u = 0; u < x->p->n_units; u++)
		for (int32_t d = 0; d < x->p->n_devs; d++) {
			int64_t *cost = &x->unit_cost[(size_t)u * x->devs + (size_t)d];
			if (!berth_unit_legal(x->p, u, d))
				*cost = BERTH_PBQP_INF;
			else
				*cost = x->joules ? unit_joules(x->p, u, d) : berth_unit_time(x->p, u, d);
		}
}

/* Units of the CEFT critical path may only go where the path has them. A unit that is on it twice keeps the later place. */
static berth_status pin_path(pricer *x, berth_arena *tmp, berth_err *err)
{
	berth_ceft c;
	BERTH_TRY(berth_ceft_new(x->p, tmp, &c, err));
	int32_t op = c.end_op, dev = c.end_dev;
	while (op >= 0) {
		int64_t *cost = x->unit_cost + (size_t)x->p->op_unit[op] * x->devs;
		if (cost[dev] < BERTH_PBQP_INF)
			for (int32_t d = 0; d < x->p->n_devs; d++)
				cost[d] = d == dev ? cost[d] : BERTH_PBQP_INF;
		size_t cell = (size_t)op * x->devs + (size_t)dev;
		op = c.back_op[cell];
		dev = c.back_dev[cell];
	}
	return BERTH_OK;
}

/* Nanojoules of moving tensor t from a to b over all hops. */
static int64_t move_joules(const berth_problem *p, int32_t t, size_t pair)
{
	int32_t r = p->class_pair_route[(size_t)p->tensor_class[t] * (size_t)p->n_devs * (size_t)p->n_devs + pair];
	double sum = 0;
	for (int32_t i = r < 0 ? 0 : p->route_off[r]; r >= 0 && i < p->route_off[r + 1]; i++)
		sum += p->s->link_joules_per_byte[p->route_link[i]] * (double)p->g->tensor_bytes[t] * 1e9;
	return rounded(sum);
}

static int64_t edge_cost(const pricer *x, int32_t t, size_t pair)
{
	if (x->joules)
		return move_joules(x->p, t, pair);
	return rounded(x->transfers * (double)x->p->class_pair_ns[(size_t)x->p->tensor_class[t] * x->devs * x->devs + pair]);
}

static berth_status add_edges(const pricer *x, berth_pbqp *q, berth_err *err)
{
	const berth_problem *p = x->p;
	const berth_graph *g = p->g;
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t u = p->op_unit[g->tensor_producer[t]];
		for (size_t pair = 0; pair < x->devs * x->devs; pair++)
			x->edge_cost[pair] = edge_cost(x, t, pair);
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			if (p->op_unit[g->edge_consumer[e]] != u)
				BERTH_TRY(berth_pbqp_edge(q, u, p->op_unit[g->edge_consumer[e]], x->edge_cost, err));
	}
	return BERTH_OK;
}

/* Solve under the present prices and offer the answer; the simulator holds its loads and peaks afterwards. */
static berth_status solve(pricer *x, berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	const berth_problem *p = x->p;
	berth_pbqp *q;
	BERTH_TRY(berth_pbqp_new(p->n_units, x->n_alts, tmp, &q, err));
	for (int32_t u = 0; u < p->n_units; u++)
		for (size_t d = 0; d < x->devs; d++) {
			int64_t cost = x->unit_cost[(size_t)u * x->devs + d];
			berth_pbqp_node(q, u)[d] = cost < BERTH_PBQP_INF ? rounded((double)cost * x->price[d]) : cost;
		}
	BERTH_TRY(add_edges(x, q, err));
	BERTH_TRY(berth_pbqp_solve(q, BERTH_PBQP_BEST, 1, x->unit_dev, NULL, tmp, err));
	berth_arena_reset(tmp, mark);
	for (int32_t u = 0; u < p->n_units; u++)
		if (berth_unit_legal(p, u, x->unit_dev[u]))
			berth_unit_put(p, u, x->unit_dev[u], x->op_dev);
	berth_search_offer(x->s, x->op_dev, NULL);
	return BERTH_OK;
}

/* Move prices towards equal loads, by less and less; a device beyond its memory gets dearer in any case. */
static void reprice(pricer *x, int step)
{
	const berth_system *s = x->p->s;
	const int64_t *time = berth_sim_dev_time_ns(x->s->eval[0].sim), *peak = berth_sim_peak_bytes(x->s->eval[0].sim);
	double mean = 0, gain = 0.8 / (1 + 0.3 * step);
	for (size_t d = 0; d < x->devs; d++)
		mean += (double)time[d] / s->dev_slots[d] / (double)x->devs;
	for (size_t d = 0; d < x->devs && mean > 0; d++) {
		double load = (double)time[d] / s->dev_slots[d] / mean;
		x->price[d] *= exp(gain * fmin(fmax(load - 1, -1), 1));
		if (!x->p->memory_free && s->dev_memory_bytes[d] >= 0 && peak[d] > s->dev_memory_bytes[d])
			x->price[d] *= 1.3;
	}
}

static berth_status new_pricer(pricer *x, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->p;
	BERTH_TRY(BERTH_NEW(tmp, x->unit_cost, (size_t)p->n_units * x->devs, err));
	BERTH_TRY(BERTH_NEW(tmp, x->price, x->devs, err));
	BERTH_TRY(BERTH_NEW(tmp, x->n_alts, p->n_units, err));
	BERTH_TRY(BERTH_NEW(tmp, x->unit_dev, p->n_units, err));
	BERTH_TRY(BERTH_NEW(tmp, x->op_dev, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, x->edge_cost, x->devs * x->devs, err));
	for (int32_t u = 0; u < p->n_units; u++)
		x->n_alts[u] = p->n_devs;
	/* A legal start, should the solver ever leave a unit where it may not be. */
	for (int32_t u = 0; u < p->n_units; u++)
		for (int32_t d = p->n_devs - 1; d >= 0; d--)
			if (berth_unit_legal(p, u, d))
				berth_unit_put(p, u, d, x->op_dev);
	return BERTH_OK;
}

static berth_status run(berth_search *s, bool path, berth_arena *tmp, berth_err *err)
{
	pricer x = {.s = s, .p = s->p, .devs = (size_t)s->p->n_devs, .joules = s->cfg.objective == BERTH_ENERGY};
	BERTH_TRY(new_pricer(&x, tmp, err));
	fill_unit_costs(&x);
	if (path)
		BERTH_TRY(pin_path(&x, tmp, err));
	for (int k = 0; k < N_SHARES; k++) {
		x.transfers = transfer_share[k];
		for (size_t d = 0; d < x.devs; d++)
			x.price[d] = 1;
		for (int step = 0; step < STEPS; step++) {
			BERTH_TRY(solve(&x, tmp, err));
			if (x.devs == 1)
				return BERTH_OK;
			reprice(&x, step);
		}
	}
	return BERTH_OK;
}

static berth_status run_pbqp(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return run(s, false, tmp, err);
}

static berth_status run_ceft_pbqp(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return run(s, true, tmp, err);
}

const berth_method berth_method_pbqp = {"pbqp", "PBQP over units with priced devices, best of 20 price vectors (after Anderson & Gregg 2018)", false, run_pbqp};
const berth_method berth_method_ceft_pbqp = {"ceft-pbqp", "PBQP with the CEFT critical path pinned (after Huang, Fu & Hsu 2019)", false, run_ceft_pbqp};
