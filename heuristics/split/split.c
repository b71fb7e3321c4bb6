/* The splitting heuristic of DiviML (Y. Ghannane and M. S. Abdelfattah, "DiviML: a module-based heuristic for
 * mapping neural networks onto heterogeneous platforms", arXiv 2308.00127). Communities come from modularity
 * and are made acyclic. Each is solved exactly, in topological order, with what was placed before. This is
 * tried on groups of operators, the coarsest first, and on the operators, with communities of several sizes.
 * The best by the simulator is the answer. */
#include "split.h"

#include "coarsen.h"
#include "exact.h"
#include "exact_search.h"
#include "registry.h"

static berth_status group(const berth_problem *p, int32_t most_ops, berth_coarsening *c, berth_arena *mem,
                          berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	double *score;
	/* a community may be a third larger than the mean: the cap is most_ops */
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default((4 * p->n_ops + 3 * most_ops - 1) / (3 * most_ops));
	BERTH_TRY_NEW(mem, g->n_edges, err, score);
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t)
			score[e] = (double)p->class_mean_ns[p->tensor_class[t]];
	cfg.edge_score = score;
	cfg.balance = 4.0 / 3;
	BERTH_TRY(berth_grouper_find("modularity", &cfg.grouper, err));
	return berth_coarsen(g, &cfg, mem, tmp, c, err);
}

/* Groups cut into pieces of most_ops operators, by the first operator of colocation groups: label [n_ops],
 * returns how many. */
static int32_t cut(const berth_problem *p, const berth_coarsening *c, int32_t most_ops, int32_t *label,
                   int32_t *piece, int32_t *size)
{
	int32_t n = 0;
	for (int32_t k = 0; k < c->n_groups; k++)
		piece[k] = -1;
	for (int32_t op = 0; op < p->n_ops; op++)
		label[op] = -1;
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k], coloc = p->op_coloc[op], group = c->op_group[op],
			n_unit = p->coloc_off[coloc + 1] - p->coloc_off[coloc];
		if (label[op] >= 0)
			continue;
		if (piece[group] < 0 || size[piece[group]] + n_unit > most_ops) {
			size[n] = 0;
			piece[group] = n++;
		}
		BERTH_EACH (i, p->coloc_off, coloc)
			label[p->coloc_op[i]] = piece[group];
		size[piece[group]] += n_unit;
	}
	return n;
}

/* Kahn's order of labels, the lowest first; of a cycle too. rank out [n]. */
static void sort_labels(const berth_graph *g, const int32_t *label, int32_t n, int32_t *waits, int32_t *rank)
{
	BERTH_CLEAR(waits, n);
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t)
			waits[label[g->edge_consumer[e]]] +=
				label[g->edge_consumer[e]] != label[g->tensor_producer[t]];
	for (int32_t k = 0; k < n; k++)
		rank[k] = -1;
	for (int32_t k = 0; k < n; k++) {
		int32_t next = -1;
		for (int32_t i = 0; i < n && (next < 0 || waits[next] > 0); i++)
			if (rank[i] < 0 && (next < 0 || waits[i] == 0))
				next = i;
		rank[next] = k;
		for (int32_t op = 0; op < g->n_ops; op++)
			for (int32_t t = g->op_tensor_off[op];
			     label[op] == next && t < g->op_tensor_off[op + 1]; t++)
				BERTH_EACH (e, g->tensor_use_off, t)
					waits[label[g->edge_consumer[e]]] -=
						label[g->edge_consumer[e]] != next;
	}
}

berth_status split_communities_new(const berth_problem *p, int32_t most_ops, berth_arena *mem,
                                   berth_arena *tmp, split_communities *out, berth_err *err)
{
	berth_coarsening c;
	berth_arena scratch;
	int32_t *label, *piece, *size, *rank, *at;
	BERTH_TRY_NEW(mem, p->n_ops, err, out->op_comm, out->op);
	BERTH_TRY_NEW(mem, (size_t)p->n_ops + 1, err, out->off);
	BERTH_TRY_NEW(mem, p->n_ops, err, label, piece, size, rank);
	BERTH_TRY_NEW(mem, (size_t)p->n_ops + 1, err, at);
	out->n = 0;
	if (p->n_ops == 0)
		return BERTH_OK;
	berth_arena_init(&scratch, tmp->hook);
	berth_status st = group(p, most_ops, &c, &scratch, tmp, err);
	if (st == BERTH_OK) {
		out->n = cut(p, &c, most_ops, label, piece, size);
		sort_labels(p->g, label, out->n, piece, rank);
	}
	berth_arena_free(&scratch);
	for (int32_t op = 0; op < p->n_ops && st == BERTH_OK; op++) {
		out->op_comm[op] = rank[label[op]];
		out->off[out->op_comm[op] + 1]++;
	}
	for (int32_t k = 0; k < out->n; k++)
		at[k + 1] = out->off[k + 1] += out->off[k];
	for (int32_t k = 0; k < p->n_ops && st == BERTH_OK; k++)
		out->op[at[out->op_comm[p->g->topo_op[k]]]++] = p->g->topo_op[k];
	return st;
}

enum { MOST_OPS = 2000, N_SIZES = 4, N_TARGETS = 5, ROUNDS = 3 };

#define NODES 3000

static const int32_t sizes[N_SIZES] = {4, 6, 8, 12};

static const int32_t targets[N_TARGETS] = {16, 32, 64, 128, 256};

#define SEARCH_NS 1500.0 /* of a community's search, for each operator, device and operator of a community   \
	                  */

static bool colocs_fit(const berth_problem *p, int32_t most_ops)
{
	for (int32_t u = 0; u < p->n_colocs; u++)
		if (p->coloc_off[u + 1] - p->coloc_off[u] > most_ops)
			return false;
	return true;
}

/* Is there time to search one more community? Some take many times what is counted for them, so the clock is
 * looked at, too; but as a seed it comes to the same whatever the time. */
static bool go_on(void *ctx)
{
	berth_search *s = ctx;
	return berth_search_afford(s, 0) && (isfinite(s->may_work_ns) || !berth_search_over(s));
}

static berth_status split_solve(berth_search *s, berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t *op_dev, *order;
	BERTH_TRY_NEW(tmp, s->p->n_ops, err, op_dev, order);
	for (int32_t i = 0; i < N_SIZES; i++)
		if (colocs_fit(s->p, sizes[i]) &&
		    berth_search_afford(s, SEARCH_NS * s->p->n_ops * s->p->n_devs * sizes[i])) {
			split_cfg cfg = {.most_ops = sizes[i],
			                 .nodes = s->cfg.nodes > 0 ? s->cfg.nodes : NODES,
			                 .rounds = ROUNDS,
			                 .go_on = go_on,
			                 .ctx = s};
			BERTH_TRY(split_place(s->p, &cfg, op_dev, order, tmp, err));
			berth_exact_offer(s, op_dev, order, tmp);
		}
	return BERTH_OK;
}

static berth_status split_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	BERTH_TRY(berth_exact_needs_latency(s, "split", err));
	if (s->p->n_devs > BERTH_EXACT_SEARCH_DEVS)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "method split takes up to %d devices, this machine has %d",
		                  BERTH_EXACT_SEARCH_DEVS, (int)s->p->n_devs);
	for (int32_t i = 0; i < N_TARGETS; i++)
		if (targets[i] < s->p->n_ops && berth_search_afford(s, berth_search_evaluation_ns(s->p)))
			BERTH_TRY(berth_exact_grouped(s, targets[i], split_solve, tmp, err));
	if (s->p->n_ops <= MOST_OPS)
		BERTH_TRY(split_solve(s, tmp, err));
	return isfinite(s->best.excess) ? BERTH_OK : berth_method_single.run(s, tmp, err);
}

const berth_method berth_method_split = {"split",
                                         "Communities by modularity, each placed by exact search, one after "
                                         "the other (DiviML, Ghannane, Abdelfattah 2023).",
                                         false,
                                         split_run,
                                         NULL,
                                         "Ghannane, Abdelfattah (DiviML), arXiv 2308.00127"};
