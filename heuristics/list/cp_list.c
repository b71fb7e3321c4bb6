/* Critical-path list scheduling with restarts, the baseline of X. Yao et al., "DOPPLER", ICLR 2026, section
 * 5: the ready operator of the largest upward rank goes to the device where it can start first.
 *
 * Reconstruction: the first schedule breaks ties to the lower index. Every restart draws ranks anew within
 * SPREAD of their value and breaks ties of devices at random, so that restarts differ on graphs without ties
 * too. Restarts go on while the budget lasts, two evaluations each. Where memory is short, the first schedule
 * is repaired, and restarts ask for each share of it in turn (offer_schedule.h). */
#include "list.h"
#include "method.h"
#include "repair.h"

#define SPREAD 0.2

typedef struct cp_list {
	berth_list list;
	int64_t *op_key;
	berth_rng rng;
	bool draws;
} cp_list;

/* Earliest start; low bits decide among equal ones. */
static int64_t cp_list_score(void *ctx, const berth_list_place *at)
{
	cp_list *x = ctx;
	int64_t start = at->start_ns < INT64_MAX / 256 ? at->start_ns * 256 : INT64_MAX - 256;
	return start + (x->draws ? (int64_t)berth_rng_below(&x->rng, 256) : 0);
}

static berth_status cp_list_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	cp_list x = {.rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD)};
	berth_partial *part;
	int32_t *op_dev, *order;
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, x.op_key, op_dev, order);
	BERTH_TRY(berth_partial_new(s->p, tmp, &part, err));
	x.list = (berth_list){.p = s->p, .op_key = x.op_key, .score = cp_list_score, .ctx = &x};
	for (int32_t op = 0; op < s->p->n_ops; op++)
		x.op_key[op] = s->p->op_rank_ns[op];
	BERTH_TRY(berth_offer_schedule(s, berth_list_schedule, &x.list, tmp, err));
	BERTH_TRY(berth_repair_incumbent(s, tmp, err)); /* restarts leave no budget for it in the end */
	x.draws = true;
	for (int64_t k = 0; berth_search_budget_left(s, 2) == 2; k++) {
		for (int32_t op = 0; op < x.list.p->n_ops; op++)
			x.op_key[op] = (int64_t)((double)x.list.p->op_rank_ns[op] *
			                          (1 + SPREAD * (berth_rng_unit(&x.rng) - 0.5)));
		berth_partial_reset(part);
		berth_partial_limit_memory(
			part, x.list.p->memory_free ? 0 : berth_memory_share[k % BERTH_MEMORY_TRIES]);
		BERTH_TRY(berth_list_schedule(&x.list, part, tmp, err));
		berth_partial_devs(part, op_dev);
		berth_partial_order(part, order);
		berth_search_offer_ordered(s, op_dev, order);
	}
	return BERTH_OK;
}

const berth_method berth_method_cp_list = {
	"cp-list",
	"Critical-path lists with restarts, each operator where it can start first (as in Yao et al. 2026).",
	true, cp_list_run, NULL, "Yao et al. (DOPPLER), ICLR 2026"};
