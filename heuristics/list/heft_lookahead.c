/* HEFT with lookahead: L. F. Bittencourt, R. Sakellariou, E. R. M. Madeira, "DAG scheduling using a lookahead
 * variant of the heterogeneous earliest finish time algorithm", PDP 2010. Operators go by upward rank. A
 * device is judged by when the consumers could then end at best: by the latest of their earliest finishes.
 * Where an operator has no consumer, its own finish counts.
 *
 * Reconstruction: a consumer is judged by the producers that are placed already. The operator that is tried
 * blocks only the end of its own device. O(edges * devs^2 * inputs). */
#include "list.h"
#include "method.h"
#include "offer_schedule.h"

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* When tensors of placed producers other than `but` can be on dev for op. */
static int64_t arrivals(const berth_problem *p, const berth_partial *part, int32_t op, int32_t but,
                        int32_t dev)
{
	const berth_graph *g = p->g;
	int64_t ready = 0;
	for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1]; i++) {
		int32_t t = g->in_tensor[i], from = g->tensor_producer[t];
		int64_t end = berth_partial_end_ns(part)[from];
		if (from != but && end >= 0)
			ready = max64(ready,
			              end + berth_transfer_ns(p, t, berth_partial_dev(part, from), dev));
	}
	return ready;
}

/* Earliest finish of a consumer of tensor t, made on dev at end_ns. */
static int64_t consumer_finish(const berth_problem *p, const berth_partial *part, int32_t t, int32_t consumer,
                               int32_t dev, int64_t end_ns)
{
	int64_t best = INT64_MAX;
	for (int32_t d = 0; d < p->n_devs; d++) {
		if (!berth_op_legal(p, consumer, d))
			continue;
		int64_t ready = max64(arrivals(p, part, consumer, p->g->tensor_producer[t], d),
		                      end_ns + berth_transfer_ns(p, t, dev, d));
		int64_t finish =
			berth_partial_start(part, consumer, d, ready, true) + berth_op_time(p, consumer, d);
		best = finish < best ? finish : best;
	}
	return best;
}

typedef struct lookahead {
	const berth_problem *p;
} lookahead;

static int64_t score(void *ctx, berth_partial *part, int32_t op, int32_t dev, int64_t start_ns,
                     int64_t end_ns)
{
	const berth_problem *p = ((const lookahead *)ctx)->p;
	const berth_graph *g = p->g;
	int64_t latest = end_ns;
	(void)start_ns;
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
			latest = max64(latest, consumer_finish(p, part, t, g->edge_consumer[e], dev, end_ns));
	return latest;
}

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = ((const lookahead *)ctx)->p;
	return berth_list_schedule(part, p, p->op_rank_ns, true, NULL, score, ctx, tmp, err);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	lookahead x = {s->p};
	return berth_offer_schedule(s, schedule, &x, tmp, err);
}

const berth_method berth_method_heft_lookahead = {
	"heft-lookahead",
	"HEFT that looks at the consumers' finishes too (Bittencourt, Sakellariou, Madeira 2010).", false,
	run, NULL};
