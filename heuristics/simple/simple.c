/* The simplest methods, which others are measured by: one device, devices in turn, and chance. */
#include "simple.h"

#include "coloc.h"
#include "method.h"
#include "partial.h"
#include "repair.h"

/* The best single device: every colocation group on one device, the best one over all devices by score. A
 * colocation group may not be legal there (a pin, a list of types, a forbidden device). Then it goes to its
 * fastest legal device, the lowest of equals. One evaluation a device. */

static int32_t fastest_dev(const berth_problem *p, int32_t coloc)
{
	int32_t best = -1;
	int64_t best_ns = 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		if (!berth_coloc_legal(p, coloc, d))
			continue;
		int64_t ns = berth_coloc_time(p, coloc, d);
		if (best < 0 || ns < best_ns) {
			best = d;
			best_ns = ns;
		}
	}
	return best;
}

void berth_single_placement(const berth_problem *p, int32_t dev, int32_t *op_dev)
{
	for (int32_t u = 0; u < p->n_colocs; u++)
		berth_coloc_put(p, u, berth_coloc_legal(p, u, dev) ? dev : fastest_dev(p, u), op_dev);
}

static berth_status single_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	int32_t *op_dev;
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev);
	for (int32_t d = 0; d < p->n_devs; d++) {
		berth_single_placement(p, d, op_dev);
		berth_search_offer(s, op_dev, NULL);
	}
	return BERTH_OK;
}

const berth_method berth_method_single = {
	"single",
	"All operators on one device, the best one; what cannot run there on its fastest device.",
	false, single_run, NULL, "common practice"};

/* Round robin: colocation groups in topological order of their first operator, each on the next device
 * (cyclically) that is legal for it. One evaluation. */

static berth_status round_robin_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	int32_t *op_dev, next = 0;
	bool *coloc_done;
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, coloc_done);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t coloc = p->op_coloc[p->g->topo_op[k]];
		if (coloc_done[coloc])
			continue;
		coloc_done[coloc] = true;
		while (!berth_coloc_legal(p, coloc, next))
			next = (next + 1) % p->n_devs;
		berth_coloc_put(p, coloc, next, op_dev);
		next = (next + 1) % p->n_devs;
	}
	berth_search_offer(s, op_dev, NULL);
	return BERTH_OK;
}

const berth_method berth_method_round_robin = {
	"round-robin", "Units in topological order over the devices in turn.",
	false,         round_robin_run,
	NULL,          "common practice"};

/* Random search: one placement an evaluation until the budget ends, at least one. Each colocation group, in
 * topological order of its first operator, goes to a device drawn uniformly from the legal ones. A placement
 * has its own random stream.
 *
 * Where the first placement exceeds memory, it is repaired. Later draws are then from legal devices where the
 * colocation group fits by the upper bound of partial.h. Where it fits nowhere, it goes to the one with the
 * most memory left. */

enum { BATCH = 64 };

static int32_t draw_dev(berth_partial *part, const berth_problem *p, int32_t coloc, berth_rng *rng)
{
	int32_t n_fit = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		n_fit += berth_coloc_legal(p, coloc, d) && berth_partial_fits(part, coloc, d);
	if (n_fit == 0)
		return berth_partial_roomiest(part, coloc);
	int32_t skip = (int32_t)berth_rng_below(rng, (uint32_t)n_fit), d = -1;
	while (skip >= 0) {
		d++;
		skip -= berth_coloc_legal(p, coloc, d) && berth_partial_fits(part, coloc, d);
	}
	return d;
}

static void draw_placement(berth_partial *part, const berth_problem *p, berth_rng rng, int32_t *op_dev)
{
	berth_partial_reset(part);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k];
		if (berth_partial_dev(part, op) < 0)
			berth_partial_bind(part, p->op_coloc[op], draw_dev(part, p, p->op_coloc[op], &rng));
		op_dev[op] = berth_partial_dev(part, op);
	}
}

static berth_status random_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	berth_partial *part;
	berth_score *scores;
	int32_t *op_devs;
	uint64_t drawn = 0;
	int64_t n = 1;
	BERTH_TRY(berth_partial_new(p, tmp, &part, err));
	berth_partial_limit_memory(part, -1);
	BERTH_TRY_NEW(tmp, BATCH, err, scores);
	BERTH_TRY_NEW(tmp, (size_t)BATCH * (size_t)p->n_ops, err, op_devs);
	do {
		for (int64_t i = 0; i < n; i++, drawn++)
			draw_placement(part, p, berth_rng_seed(s->cfg.seed, BERTH_STREAM_RANDOM + drawn),
			               BERTH_ROW(op_devs, i, p->n_ops));
		berth_search_offer_batch(s, (int32_t)n, op_devs, scores);
		if (drawn == 1 && !berth_score_feasible(scores[0])) {
			berth_partial_limit_memory(part, 1);
			BERTH_TRY(berth_repair(s, op_devs, tmp, err));
		}
	} while ((n = berth_search_budget_left(s, BATCH)) > 0);
	return BERTH_OK;
}

const berth_method berth_method_random = {"random", "Uniformly drawn placements, the best of them.", true,
                                          random_run, NULL, "common practice"};
