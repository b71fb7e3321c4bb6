/* HEFT, and HEFT with lookahead. */
#include "list.h"
#include "method.h"

/* HEFT: H. Topcuoglu, S. Hariri, M.-Y. Wu, "Performance-effective and low-complexity task scheduling for
 * heterogeneous computing", IEEE TPDS 13(3), 2002. Operators go by upward rank (mean times and mean
 * transfers; a topological order), each to the device where it ends first, in idle gaps too. The order of
 * starts is offered beside the placement. Two evaluations a try.
 *
 * Beyond the paper: a colocation group goes whole to the device of its first operator. Memory is kept as
 * offer_schedule.h says. */

enum { LOOK_AHEAD = 8 };

static berth_status heft_schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = ((const berth_search *)ctx)->p;
	(void)tmp;
	(void)err;
	for (int32_t k = 0; k < p->n_ops; k++) {
		int64_t start;
		if (k + LOOK_AHEAD < p->n_ops)
			berth_partial_look_ahead(part, p->prio_op[k + LOOK_AHEAD]);
		int32_t op = p->prio_op[k], dev = berth_partial_earliest(part, op, true, &start);
		berth_partial_place(part, op, dev, start);
	}
	return BERTH_OK;
}

static berth_status heft_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	return berth_offer_schedule(s, heft_schedule, s, tmp, err);
}

const berth_method berth_method_heft = {
	"heft", "Heterogeneous earliest finish time with insertion (Topcuoglu, Hariri, Wu 2002).", false,
	heft_run, NULL, "Topcuoglu, Hariri, Wu, TPDS 2002"};

/* HEFT with lookahead: L. F. Bittencourt, R. Sakellariou, E. R. M. Madeira, "DAG scheduling using a lookahead
 * variant of the heterogeneous earliest finish time algorithm", PDP 2010. Operators go by upward rank. A
 * device is judged by when the consumers could then end at best: by the latest of their earliest finishes.
 * Where an operator has no consumer, its own finish counts.
 *
 * Reconstruction: a consumer is judged by the producers that are placed already. The operator that is tried
 * blocks only the end of its own device. When the inputs of an operator that are placed can be on each device
 * is kept up to date. O(edges * devs^2) and the gaps that are searched. */

typedef struct lookahead {
	const berth_problem *p;
	int64_t *arrival_ns; /* [n_ops][n_devs] of the inputs that are placed; 0: none is */
	int32_t tried;       /* the operator at hand; -1: none yet */
} lookahead;

static int64_t *arrivals(const lookahead *x, int32_t op)
{
	return BERTH_ROW(x->arrival_ns, op, x->p->n_devs);
}

/* op was placed: its tensors come to its consumers. */
static void tell_consumers(const lookahead *x, const berth_partial *part, int32_t op)
{
	const berth_graph *g = x->p->g;
	int32_t from = berth_partial_dev(part, op);
	int64_t end = berth_partial_end_ns(part)[op];
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int64_t *at = arrivals(x, g->edge_consumer[e]);
			for (int32_t d = 0; d < x->p->n_devs; d++)
				at[d] = berth_max(at[d], end + berth_transfer_ns(x->p, t, from, d));
		}
}

/* Earliest finish of a consumer of tensor t of the operator that is tried. */
static int64_t consumer_finish(const lookahead *x, const berth_list_place *at, int32_t t, int32_t consumer)
{
	const berth_problem *p = x->p;
	const int64_t *placed = arrivals(x, consumer);
	int64_t best = INT64_MAX;
	for (int32_t d = 0; d < p->n_devs; d++) {
		if (!berth_op_legal(p, consumer, d))
			continue;
		int64_t ready = berth_max(placed[d], at->end_ns + berth_transfer_ns(p, t, at->dev, d));
		int64_t finish = berth_partial_start(at->part, consumer, d, ready, true) +
		                 berth_op_time(p, consumer, d);
		best = finish < best ? finish : best;
	}
	return best;
}

static int64_t lookahead_score(void *ctx, const berth_list_place *at)
{
	lookahead *x = ctx;
	const berth_graph *g = x->p->g;
	int32_t op = at->op;
	int64_t latest = at->end_ns;
	if (x->tried != op && x->tried >= 0) /* it was placed since */
		tell_consumers(x, at->part, x->tried);
	x->tried = op;
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t)
			latest = berth_max(latest, consumer_finish(x, at, t, g->edge_consumer[e]));
	return latest;
}

static berth_status lookahead_schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	lookahead *x = ctx;
	const berth_problem *p = x->p;
	x->tried = -1;
	BERTH_CLEAR(x->arrival_ns, (size_t)p->n_ops * (size_t)p->n_devs);
	berth_list list = {
		.p = p, .op_key = p->op_rank_ns, .insertion = true, .score = lookahead_score, .ctx = x};
	return berth_list_schedule(&list, part, tmp, err);
}

static berth_status lookahead_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	lookahead x = {.p = s->p};
	BERTH_TRY_NEW(tmp, (size_t)s->p->n_ops * (size_t)s->p->n_devs, err, x.arrival_ns);
	return berth_offer_schedule(s, lookahead_schedule, &x, tmp, err);
}

const berth_method berth_method_heft_lookahead = {
	"heft-lookahead",
	"HEFT that looks at the consumers' finishes too (Bittencourt, Sakellariou, Madeira 2010).", false,
	lookahead_run, NULL, "Bittencourt, Sakellariou, Madeira, PDP 2010"};
