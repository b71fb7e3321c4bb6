/* List schedules that know a critical path and place it first: CPOP, and those by the CEFT table. */
#include "ceft.h"
#include "method.h"
#include "offer_schedule.h"
#include "partial.h"

typedef struct ceft_pins {
	const berth_problem *p;
	berth_ceft ceft;
	const int64_t *op_key; /* [n_ops] largest first */
} ceft_pins;

/* CPOP, critical path on a processor (Topcuoglu, Hariri, Wu 2002; see heft.c). The priority of an operator is
 * rank_u + rank_d, the longest path through it by means. The operators of one longest path go to the one
 * device that runs them fastest together. Of the ready operators the one with the highest priority goes next.
 * Those off the path go to where they end first, with insertion. Two evaluations a try (offer_schedule.h).
 *
 * Beyond the paper: where no device runs the whole path, the one that runs most of its operators is taken.
 * The others go by finish time. So does a colocation group that may not fit there. */

/* The consumer that the longest path from op goes on to; -1 for a sink. Ties: the lower tensor, then the
 * lower consumer. */
static int32_t next_on_path(const berth_problem *p, int32_t op)
{
	const berth_graph *g = p->g;
	int32_t best = -1;
	int64_t best_rank = -1;
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int64_t rank =
				p->class_mean_ns[p->tensor_class[t]] + p->op_rank_ns[g->edge_consumer[e]];
			if (rank > best_rank) {
				best = g->edge_consumer[e];
				best_rank = rank;
			}
		}
	return best;
}

/* The device that can run most operators of the path, and of those the fastest; ties: the lowest. */
static int32_t path_dev(const berth_problem *p, int32_t first)
{
	int32_t best = 0, best_runs = -1;
	int64_t best_ns = 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		int32_t runs = 0;
		int64_t ns = 0;
		for (int32_t op = first; op >= 0; op = next_on_path(p, op))
			if (berth_op_legal(p, op, d)) {
				runs++;
				ns += berth_op_time(p, op, d);
			}
		if (runs > best_runs || (runs == best_runs && ns < best_ns)) {
			best = d;
			best_runs = runs;
			best_ns = ns;
		}
	}
	return best;
}

typedef struct cpop {
	const berth_problem *p;
	int64_t *op_key;    /* [n_ops] */
	int32_t first, dev; /* where the path starts; its device */
} cpop;

static berth_status cpop_schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const cpop *c = ctx;
	const berth_problem *p = c->p;
	for (int32_t op = c->first; op >= 0; op = next_on_path(p, op))
		if (berth_partial_dev(part, op) < 0 && berth_op_legal(p, op, c->dev) &&
		    berth_partial_fits(part, p->op_coloc[op], c->dev))
			berth_partial_bind(part, p->op_coloc[op], c->dev);
	return berth_partial_schedule(part, c->op_key, tmp, err);
}

static berth_status cpop_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	/* The first by priority has the largest upward rank: it is the source of a longest path. */
	cpop c = {.p = p, .first = p->n_ops ? p->prio_op[0] : -1};
	BERTH_TRY_NEW(tmp, p->n_ops, err, c.op_key);
	berth_downward_ranks(p, c.op_key);
	for (int32_t op = 0; op < p->n_ops; op++)
		c.op_key[op] += p->op_rank_ns[op];
	c.dev = path_dev(p, c.first);
	return berth_offer_schedule(s, cpop_schedule, &c, tmp, err);
}

const berth_method berth_method_cpop = {"cpop", "Critical path on a processor (Topcuoglu, Hariri, Wu 2002).",
                                        false, cpop_run, NULL, "Topcuoglu, Hariri, Wu, TPDS 2002"};

/* The table of p, in tmp, with keys that the caller sets. Fails: BERTH_ENOMEM. O(edges * devs^2). */
static berth_status ceft_pins_new(const berth_problem *p, berth_arena *tmp, ceft_pins *out, berth_err *err)
{
	*out = (ceft_pins){.p = p};
	return berth_ceft_new(p, tmp, &out->ceft, err);
}

/* A berth_schedule_fn, ctx a ceft_pins. Colocation groups of the path go to its devices, where they
 * fit, from the path's end. The others go by key to where they end first, with insertion. */
static berth_status ceft_pins_schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const ceft_pins *c = ctx;
	for (berth_ceft_step at = c->ceft.end; at.op >= 0; at = berth_ceft_before(&c->ceft, at)) {
		int32_t u = c->p->op_coloc[at.op];
		if (berth_partial_dev(part, at.op) < 0 && berth_partial_fits(part, u, at.dev))
			berth_partial_bind(part, u, at.dev);
	}
	return berth_partial_schedule(part, c->op_key, tmp, err);
}

/* CEFT-CPOP (Vasudevan, Gregg, arXiv 1701.08800): CPOP with the critical path of the CEFT table. The
 * operators of the path go to the path's own devices, not to one. The others go by rank_u + rank_d to where
 * they end first, with insertion. The paper was not at hand for its exact priorities; these are CPOP's.
 *
 * HEFT with the same pins (`heft-ceft` alone) is scheduled too, as it is the better one on about every second
 * random graph. The search keeps the best of both. Four evaluations, more where memory is short. */

static berth_status ceft_cpop_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	ceft_pins c;
	int64_t *through;
	BERTH_TRY(ceft_pins_new(p, tmp, &c, err));
	BERTH_TRY_NEW(tmp, p->n_ops, err, through);
	berth_downward_ranks(p, through);
	for (int32_t op = 0; op < p->n_ops; op++)
		through[op] += p->op_rank_ns[op];
	c.op_key = through;
	BERTH_TRY(berth_offer_schedule(s, ceft_pins_schedule, &c, tmp, err));
	c.op_key = p->op_rank_ns;
	return berth_offer_schedule(s, ceft_pins_schedule, &c, tmp, err);
}

const berth_method berth_method_ceft_cpop = {
	"ceft-cpop",
	"CPOP and HEFT with the critical path pinned to its CEFT devices (Vasudevan, Gregg 2017).", false,
	ceft_cpop_run, NULL, "Vasudevan, Gregg, arXiv 1701.08800"};

/* HEFT (heft.c) with the critical path of the CEFT table (A. Vasudevan, D. Gregg, arXiv 1701.08800) pinned to
 * the path's own devices. Ready operators go by upward rank: those of the path to their pins, the others to
 * where they end first, in idle gaps too. The pairing is ours; `ceft-cpop` has the same pins under CPOP's
 * priorities. Two evaluations a try (offer_schedule.h). */

static berth_status heft_ceft_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	ceft_pins c;
	BERTH_TRY(ceft_pins_new(s->p, tmp, &c, err));
	c.op_key = s->p->op_rank_ns;
	return berth_offer_schedule(s, ceft_pins_schedule, &c, tmp, err);
}

const berth_method berth_method_heft_ceft = {
	"heft-ceft", "HEFT with the critical path pinned to its CEFT devices (after Vasudevan, Gregg 2017).",
	false, heft_ceft_run, NULL, "Vasudevan, Gregg, arXiv 1701.08800"};

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

/* Latest arrival at the consumers that are placed, if op ran on dev and ended as the table says. */
static int64_t latest_arrival(const berth_problem *p, const berth_partial *part, int32_t op, int32_t dev,
                              int64_t finish)
{
	const berth_graph *g = p->g;
	int64_t latest = finish;
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = berth_partial_dev(part, g->edge_consumer[e]);
			if (to >= 0 && finish + berth_transfer_ns(p, t, dev, to) > latest)
				latest = finish + berth_transfer_ns(p, t, dev, to);
		}
	return latest;
}

static int32_t ceft_choose(const berth_problem *p, berth_partial *part, const berth_ceft *ceft, int32_t op)
{
	const int64_t *finish = BERTH_ROW(ceft->finish_ns, op, p->n_devs);
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

static berth_status ceft_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	berth_ceft ceft;
	berth_partial *part;
	int32_t *op_dev;
	BERTH_TRY(berth_ceft_new(p, tmp, &ceft, err));
	BERTH_TRY(berth_partial_new(p, tmp, &part, err));
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev);
	for (int k = 0; k < BERTH_MEMORY_TRIES; k++) {
		berth_partial_reset(part);
		berth_partial_limit_memory(part, berth_memory_share[k]);
		for (int32_t i = p->n_ops - 1; i >= 0; i--) {
			int32_t op = p->g->topo_op[i];
			if (berth_partial_dev(part, op) < 0)
				berth_partial_bind(part, p->op_coloc[op], ceft_choose(p, part, &ceft, op));
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
	false, ceft_run, NULL, "Vasudevan, Gregg, arXiv 1701.08800"};
