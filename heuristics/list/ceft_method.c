/* The CEFT table alone as a placement: A. Vasudevan, D. Gregg, "Mutual inclusivity of the critical path and
 * its partial schedule on heterogeneous systems", arXiv 1701.08800. The paper takes a critical path and its
 * devices from the table. That the whole table gives a placement is our reading.
 *
 * Sinks go to the device of their least critical earliest finish time (CEFT). Then, backwards, each
 * colocation group goes to the device from which its tensors reach its consumers first; these are placed by
 * then. That is the least max over consumers of CEFT + transfer. Ties: the least CEFT, then the lowest
 * device.
 *
 * One evaluation. Where the placement exceeds a device's memory, more follow, with colocation groups only
 * where they fit by a larger and larger share of their tensors (offer_schedule.h). */
#include "ceft.h"
#include "method.h"
#include "offer_schedule.h"
#include "partial.h"

/* Latest arrival at the consumers that are placed, if op ran on dev and ended as the table says. */
static int64_t latest_arrival(const berth_problem *p, const berth_partial *part, int32_t op, int32_t dev,
                              int64_t finish)
{
	const berth_graph *g = p->g;
	int64_t latest = finish;
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++) {
			int32_t to = berth_partial_dev(part, g->edge_consumer[e]);
			if (to >= 0 && finish + berth_transfer_ns(p, t, dev, to) > latest)
				latest = finish + berth_transfer_ns(p, t, dev, to);
		}
	return latest;
}

static int32_t choose(const berth_problem *p, berth_partial *part, const berth_ceft *ceft, int32_t op)
{
	const int64_t *finish = ceft->finish_ns + (size_t)op * (size_t)p->n_devs;
	int32_t best = -1;
	int64_t best_at = 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		if (!berth_op_legal(p, op, d) || !berth_partial_fits(part, p->op_coloc[op], d))
			continue;
		int64_t at = latest_arrival(p, part, op, d, finish[d]);
		if (best < 0 || at < best_at || (at == best_at && finish[d] < finish[best])) {
			best = d;
			best_at = at;
		}
	}
	return best >= 0 ? best : berth_partial_roomiest(part, p->op_coloc[op]);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	berth_ceft ceft;
	berth_partial *part;
	int32_t *op_dev;
	BERTH_TRY(berth_ceft_new(p, tmp, &ceft, err));
	BERTH_TRY(berth_partial_new(p, tmp, &part, err));
	BERTH_TRY(BERTH_NEW(tmp, op_dev, p->n_ops, err));
	for (int k = 0; k < BERTH_MEMORY_TRIES; k++) {
		berth_partial_reset(part);
		berth_partial_limit_memory(part, berth_memory_share[k]);
		for (int32_t i = p->n_ops - 1; i >= 0; i--) {
			int32_t op = p->g->topo_op[i];
			if (berth_partial_dev(part, op) < 0)
				berth_partial_bind(part, p->op_coloc[op], choose(p, part, &ceft, op));
		}
		berth_partial_devs(part, op_dev);
		if (berth_score_feasible(berth_search_offer(s, op_dev, NULL)))
			break;
	}
	return BERTH_OK;
}

const berth_method berth_method_ceft = {
	"ceft",
	"Placement read backwards from the table of critical earliest finish times (Vasudevan, Gregg 2017).",
	false, run, NULL};
