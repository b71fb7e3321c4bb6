/* List schedules that look ahead, or pay for devices' time: PEFT, and the rules with prices. All judge a
 * device by the end there, a surcharge, and what is to come behind; each method has some of these. */
#include "bounds_load.h"
#include "ceft.h"
#include "coloc.h"
#include "ready.h"
#include "list.h"
#include "method.h"
#include "seeds.h"

typedef struct ahead {
	berth_search *s;
	const berth_problem *p;
	berth_list list;
	double *price;     /* [n_devs + n_pools] of a nanosecond */
	int64_t *above_ns; /* [n_ops][n_devs] surcharges, of the weight at hand; NULL: none */
	int64_t *cost_ns;  /* [n_ops][n_devs] times with them; NULL: without looking ahead */
	int64_t *tail_ns;  /* [n_ops][n_devs] what is to come at best; NULL the same */
	berth_traffic traffic;
	berth_guide guide; /* is_set: an earlier schedule says, too, what is to come */
	int64_t eighths;   /* of the guide in it, 0 to 8 */
	int32_t *op_dev;   /* [n_ops] of the last schedule */
} ahead;

static int64_t ahead_score(void *ctx, const berth_list_place *place)
{
	const ahead *x = ctx;
	size_t at = berth_cell(x->p, place->op, place->dev);
	int64_t rest = x->tail_ns ? x->tail_ns[at] : 0;
	if (x->guide.is_set)
		rest += (x->guide.rest_ns[at] - rest) / 8 * x->eighths;
	return place->end_ns + (x->above_ns ? x->above_ns[at] : 0) + rest;
}

/* By upward rank; looks: with room for a table of what is to come. */
static berth_status ahead_new(berth_search *s, bool looks, ahead *x, berth_err *err)
{
	const berth_problem *p = s->p;
	size_t cells = (size_t)p->n_ops * (size_t)p->n_devs;
	*x = (ahead){.s = s, .p = p};
	x->list = (berth_list){
		.p = p, .op_key = p->op_rank_ns, .insertion = true, .score = ahead_score, .ctx = x};
	if (!looks)
		return BERTH_OK;
	BERTH_TRY_NEW(s->mem, cells, err, x->cost_ns);
	return BERTH_NEW(s->mem, x->tail_ns, cells, err);
}

/* PEFT: H. Arabnejad, J. G. Barbosa, "List scheduling algorithm for heterogeneous systems by an optimistic
 * cost table", IEEE TPDS 25(3), 2014. Ready operators go by the mean of their row of the table over the
 * devices that can run them. Each goes to the device where its finish plus the table's entry is least,
 * in idle gaps too. O(edges * devs^2). Memory is kept as offer_schedule.h says. */
static berth_status peft_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	ahead x;
	int64_t *op_key;
	const berth_problem *p = s->p;
	BERTH_TRY(ahead_new(s, true, &x, err));
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_key);
	berth_ceft_tails(p, NULL, x.tail_ns);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int64_t sum = 0, n = 0;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d)) {
				sum += x.tail_ns[berth_cell(p, op, d)];
				n++;
			}
		op_key[op] = n ? sum / n : 0;
	}
	x.list.op_key = op_key;
	return berth_offer_schedule(s, berth_list_schedule, &x.list, tmp, err);
}

const berth_method berth_method_peft = {
	"peft", "Predict earliest finish time by an optimistic cost table (Arabnejad, Barbosa 2014).", false,
	peft_run, NULL, "Arabnejad, Barbosa, TPDS 2014"};

/* `heft-priced` and `peft-priced`: list schedules with prices. HEFT takes for each operator the device where
 * it ends first. So a device that is rarely free first takes operators that it is bad at, and those that it
 * is good at come late. The load dual (bounds_load.h) knows a price of each device's time. An operator is
 * charged what it loads a device with times the price; what that is above its least charge raises the
 * bound of the latency for good. Here a device is judged by the end there plus that surcharge, times the
 * number of devices (an operator runs on one, the bound is a mean over all), times a weight.
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

/* What op is charged where it is charged least. */
static double least_charge(const berth_problem *p, const double *price, int32_t op)
{
	double least = INFINITY;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_op_legal(p, op, d))
			least = fmin(least, berth_load_charge(p, price, op, d));
	return least;
}

/* What is charged for each operator on each legal device above where it is charged least, in ns: by prices of
 * the load dual (bounds_load.h), times the number of devices, times weight. Other cells stay as they are.
 * Sums along any path stay below BERTH_CEFT_NEVER. O(ops * devs), and the table. */
static void set_weight(ahead *x, double weight)
{
	const berth_problem *p = x->p;
	double most = (double)BERTH_CEFT_NEVER / 2 / (p->n_ops + 1.0);
	for (int32_t op = 0; op < p->n_ops; op++) {
		double least = least_charge(p, x->price, op);
		for (int32_t d = 0; d < p->n_devs; d++) {
			size_t at = berth_cell(p, op, d);
			if (!berth_op_legal(p, op, d))
				continue;
			double over = berth_load_charge(p, x->price, op, d) - least;
			x->above_ns[at] = llround(fmin(weight * p->n_devs * over, most));
			if (x->cost_ns)
				x->cost_ns[at] = berth_op_time(p, op, d) + x->above_ns[at];
		}
	}
	if (x->tail_ns)
		berth_ceft_tails(p, x->cost_ns, x->tail_ns);
}

static berth_status new_prices(ahead *x, berth_arena *tmp, berth_err *err)
{
	berth_arena *mem = x->s->mem;
	BERTH_TRY_NEW(mem, x->p->n_devs + x->p->n_pools, err, x->price);
	BERTH_TRY_NEW(mem, (size_t)x->p->n_ops * (size_t)x->p->n_devs, err, x->above_ns);
	return berth_load_prices(x->p, x->price, tmp, err);
}

static berth_status priced_run(berth_search *s, bool looks, int n, const double *weight, berth_arena *tmp,
                               berth_err *err)
{
	ahead x;
	BERTH_TRY(ahead_new(s, looks, &x, err));
	BERTH_TRY(new_prices(&x, tmp, err));
	for (int k = 0; k < n && (k == 0 || !s->cut); k++) {
		if (looks && !berth_search_afford(s, berth_seed_table_ns(s->p)) && k > 0)
			break;
		set_weight(&x, weight[k]);
		BERTH_TRY(berth_offer_schedule(s, berth_list_schedule, &x.list, tmp, err));
	}
	return BERTH_OK;
}

static berth_status heft_priced_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const double weights[] = {3, 8, 1};
	return priced_run(s, false, sizeof weights / sizeof *weights, weights, tmp, err);
}

static berth_status peft_priced_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const double weights[] = {1, 3, 0, 8, 0.3};
	return priced_run(s, true, sizeof weights / sizeof *weights, weights, tmp, err);
}

const berth_method berth_method_heft_priced = {
	"heft-priced",
	"HEFT that pays for devices' time by the prices of the load bound (Lenstra, Shmoys, Tardos 1990).",
	false,
	heft_priced_run,
	NULL,
	"Lenstra, Shmoys, Tardos, Math. Programming 46, 1990"};

const berth_method berth_method_peft_priced = {
	"peft-priced", "heft-priced with a look ahead by PEFT's table, prices in it.", false, peft_priced_run,
	NULL,          "Arabnejad, Barbosa, TPDS 2014; Lenstra, Shmoys, Tardos 1990"};

/* `peft-contended`: list schedules that wait for channels, and look ahead.
 *
 * HEFT and its kin send every tensor as if it were alone. Where several devices share a channel, or many
 * tensors leave one device, that is far from what happens. Here a transfer waits for its channels behind
 * those that were sent before (traffic.h), as in: O. Sinnen, L. A. Sousa, "Communication contention in task
 * scheduling", IEEE TPDS 16(6), 2005, section 5.
 *
 * A device is judged by the end there and by what is to come behind, as PEFT does (H. Arabnejad, J. G.
 * Barbosa, "List scheduling algorithm for heterogeneous systems by an optimistic cost table", IEEE TPDS
 * 25(3), 2014), here with CEFT's tails. That table takes each operator behind to be wherever it is best. So
 * the schedule is made again and again: now the last one says where the operators behind were
 * (ready.h), and in which order all come. What is to come is a mean of both, of other shares from pass to
 * pass, so that passes do not come to rest. A pass need not be better than the one before; the last is when
 * PATIENCE in a row were not better than the best.
 *
 * First one schedule under each of several weights of the surcharges; then passes under
 * the best weight, and without surcharges. At most 5 + 2 * (1 + MOST) list schedules, and two
 * evaluations each. The passes are berth's own. */

enum { MOST_PASSES = 16, PATIENCE = 4 };

/* Eighths of the guide in what is to come, pass by pass in turn. */
static const int64_t guided[] = {4, 8, 2, 6};
enum { N_GUIDED = sizeof guided / sizeof *guided };

static berth_status contended_schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	ahead *x = ctx;
	x->list.op_key = x->guide.is_set ? x->guide.rank_ns : x->p->op_rank_ns;
	BERTH_TRY(berth_list_schedule(&x->list, part, tmp, err));
	berth_partial_devs(part, x->op_dev);
	return BERTH_OK;
}

/* A schedule without a guide; *best, of which weight, where it is the best so far. */
static berth_status try_weight(ahead *x, double weight, double *best, berth_arena *tmp, berth_err *err)
{
	berth_score before = x->s->best;
	x->guide.is_set = false;
	set_weight(x, weight);
	BERTH_TRY(berth_offer_schedule(x->s, contended_schedule, x, tmp, err));
	if (berth_score_less(x->s->best, before))
		*best = weight;
	return BERTH_OK;
}

/* Is the last schedule's placement the one that guided it? */
static bool is_guide(const ahead *x)
{
	return memcmp(x->op_dev, x->guide.op_dev, (size_t)x->p->n_ops * sizeof *x->op_dev) == 0;
}

/* Pass after pass, each guided by the one before. One that changes nothing counts as half of the patience. */
static berth_status revise_passes(ahead *x, double weight, berth_arena *tmp, berth_err *err)
{
	int idle = 0;
	berth_search *s = x->s;
	BERTH_TRY(try_weight(x, weight, &weight, tmp, err));
	for (int k = 0; k < MOST_PASSES && idle < PATIENCE && !s->cut; k++) {
		berth_score before = s->best;
		if (!berth_search_afford(s, berth_seed_list_ns(x->p)))
			break;
		berth_guide_set(&x->guide, x->op_dev);
		x->eighths = guided[k % N_GUIDED];
		BERTH_TRY(berth_offer_schedule(s, contended_schedule, x, tmp, err));
		idle = berth_score_less(s->best, before) ? 0 : idle + (is_guide(x) ? PATIENCE / 2 : 1);
	}
	return BERTH_OK;
}

static berth_status contended_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const double weights[] = {0, 1, 3, 8, 0.3};
	ahead x;
	double best = 0;
	BERTH_TRY(ahead_new(s, true, &x, err));
	BERTH_TRY_NEW(s->mem, s->p->n_ops, err, x.op_dev);
	BERTH_TRY(berth_traffic_new(s->p, s->mem, &x.traffic, err));
	BERTH_TRY(berth_guide_new(s->p, s->mem, &x.guide, err));
	BERTH_TRY(new_prices(&x, tmp, err));
	x.list.traffic = &x.traffic;
	if (!berth_can_move(s->p))
		return try_weight(&x, best, &best, tmp, err);
	for (size_t k = 0; k < sizeof weights / sizeof *weights && (k == 0 || !s->cut); k++) {
		if (k > 0 && !berth_search_afford(s, berth_seed_priced_ahead_ns(s->p)))
			break;
		BERTH_TRY(try_weight(&x, weights[k], &best, tmp, err));
	}
	BERTH_TRY(revise_passes(&x, best, tmp, err));
	return best > 0 && !s->cut ? revise_passes(&x, 0, tmp, err) : BERTH_OK;
}

const berth_method berth_method_peft_contended = {
	"peft-contended",
	"PEFT where transfers wait for channels (Sinnen and Sousa 2005), revised pass by pass.", false,
	contended_run, NULL, "Sinnen, Sousa, TPDS 2005; Arabnejad, Barbosa, TPDS 2014"};
