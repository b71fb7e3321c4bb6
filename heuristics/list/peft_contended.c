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
 * the schedule is made again and again: now the last one says where the operators behind were (ready.h), and
 * in which order all come. What is to come is a mean of both, of other shares from pass to pass, so that
 * passes do not come to rest. A pass need not be better than the one before; the last is when PATIENCE in a
 * row were not better than the best.
 *
 * First one schedule under each of several weights of the surcharges (priced.h); then passes under the best
 * weight, and without surcharges. At most 5 + 2 * (1 + MOST) list schedules, and two evaluations each. The
 * passes are berth's own. */
#include "bounds_load.h"
#include "ceft.h"
#include "coloc.h"
#include "list.h"
#include "method.h"
#include "offer_schedule.h"
#include "priced.h"
#include "ready.h"
#include "seeds.h"

#include <string.h>

enum { MOST = 16, PATIENCE = 4 };

/* Eighths of the guide in what is to come, pass by pass in turn. */
static const int64_t guided[] = {4, 8, 2, 6};
enum { N_GUIDED = sizeof guided / sizeof *guided };

typedef struct contended {
	const berth_problem *p;
	berth_traffic traffic;
	berth_guide guide;
	double *price;     /* [n_devs + n_pools] */
	int64_t *above_ns; /* [n_ops][n_devs] surcharges */
	int64_t *cost_ns;  /* [n_ops][n_devs] times with them */
	int64_t *tail_ns;  /* [n_ops][n_devs] what is to come at best */
	int64_t eighths;   /* of the guide in it, 0 to 8 */
	int32_t *op_dev;   /* [n_ops] of the last schedule */
} contended;

static int64_t score(void *ctx, berth_partial *part, int32_t op, int32_t dev, int64_t start_ns,
                     int64_t end_ns)
{
	const contended *x = ctx;
	size_t at = (size_t)op * (size_t)x->p->n_devs + (size_t)dev;
	(void)part, (void)start_ns;
	int64_t rest = x->tail_ns[at];
	if (x->guide.is_set)
		rest += (x->guide.rest_ns[at] - rest) / 8 * x->eighths;
	return end_ns + x->above_ns[at] + rest;
}

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	contended *x = ctx;
	const int64_t *key = x->guide.is_set ? x->guide.rank_ns : x->p->op_rank_ns;
	BERTH_TRY(berth_list_schedule(part, x->p, key, true, &x->traffic, score, ctx, tmp, err));
	berth_partial_devs(part, x->op_dev);
	return BERTH_OK;
}

static void charge(contended *x, double weight)
{
	berth_priced_charge(x->p, x->price, weight, x->above_ns, x->cost_ns);
	berth_ceft_tails(x->p, x->cost_ns, x->tail_ns);
}

/* A schedule without a guide; *best, of which weight, where it is the best so far. */
static berth_status try_weight(contended *x, berth_search *s, double weight, double *best, berth_arena *tmp,
                               berth_err *err)
{
	berth_score before = s->best;
	x->guide.is_set = false;
	charge(x, weight);
	BERTH_TRY(berth_offer_schedule(s, schedule, x, tmp, err));
	if (berth_score_less(s->best, before))
		*best = weight;
	return BERTH_OK;
}

/* Is the last schedule's placement the one that guided it? */
static bool is_guide(const contended *x)
{
	return memcmp(x->op_dev, x->guide.op_dev, (size_t)x->p->n_ops * sizeof *x->op_dev) == 0;
}

/* Pass after pass, each guided by the one before. One that changes nothing counts as half of the patience. */
static berth_status revise(contended *x, berth_search *s, double weight, berth_arena *tmp, berth_err *err)
{
	int idle = 0;
	BERTH_TRY(try_weight(x, s, weight, &weight, tmp, err));
	for (int k = 0; k < MOST && idle < PATIENCE && !s->cut; k++) {
		berth_score before = s->best;
		if (!berth_search_afford(s, berth_seed_list_ns(x->p)))
			break;
		berth_guide_set(&x->guide, x->op_dev);
		x->eighths = guided[k % N_GUIDED];
		BERTH_TRY(berth_offer_schedule(s, schedule, x, tmp, err));
		idle = berth_score_less(s->best, before) ? 0 : idle + (is_guide(x) ? PATIENCE / 2 : 1);
	}
	return BERTH_OK;
}

static berth_status run_weights(contended *x, berth_search *s, berth_arena *tmp, berth_err *err)
{
	static const double weights[] = {0, 1, 3, 8, 0.3};
	double best = 0;
	if (!berth_can_move(x->p))
		return try_weight(x, s, best, &best, tmp, err);
	for (size_t k = 0; k < sizeof weights / sizeof *weights && (k == 0 || !s->cut); k++) {
		if (k > 0 && !berth_search_afford(s, berth_seed_table_ns(x->p) + berth_seed_list_ns(x->p)))
			break;
		BERTH_TRY(try_weight(x, s, weights[k], &best, tmp, err));
	}
	BERTH_TRY(revise(x, s, best, tmp, err));
	return best > 0 && !s->cut ? revise(x, s, 0, tmp, err) : BERTH_OK;
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	contended x = {.p = p};
	size_t cells = (size_t)p->n_ops * (size_t)p->n_devs;
	BERTH_TRY(BERTH_NEW(s->mem, x.price, p->n_devs + p->n_pools, err));
	BERTH_TRY(BERTH_NEW(s->mem, x.above_ns, cells, err));
	BERTH_TRY(BERTH_NEW(s->mem, x.cost_ns, cells, err));
	BERTH_TRY(BERTH_NEW(s->mem, x.tail_ns, cells, err));
	BERTH_TRY(BERTH_NEW(s->mem, x.op_dev, p->n_ops, err));
	BERTH_TRY(berth_traffic_new(p, s->mem, &x.traffic, err));
	BERTH_TRY(berth_guide_new(p, s->mem, &x.guide, err));
	BERTH_TRY(berth_load_prices(p, x.price, tmp, err));
	return run_weights(&x, s, tmp, err);
}

const berth_method berth_method_peft_contended = {
	"peft-contended",
	"PEFT where transfers wait for channels (Sinnen and Sousa 2005), revised pass by pass.", false, run,
	NULL};
