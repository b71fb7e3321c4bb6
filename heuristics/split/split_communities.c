/* Communities for splitting, and their order; see split.h. */
#include "split.h"

#include "coarsen.h"

#include <string.h>

static berth_status group(const berth_problem *p, int32_t most_ops, berth_coarsening *c, berth_arena *mem,
                          berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	double *score;
	/* a community may be a third larger than the mean: the cap is most_ops */
	berth_coarsen_cfg cfg = berth_coarsen_cfg_default((4 * p->n_ops + 3 * most_ops - 1) / (3 * most_ops));
	BERTH_TRY(BERTH_NEW(mem, score, g->n_edges, err));
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
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
		for (int32_t i = p->coloc_off[coloc]; i < p->coloc_off[coloc + 1]; i++)
			label[p->coloc_op[i]] = piece[group];
		size[piece[group]] += n_unit;
	}
	return n;
}

/* Kahn's order of labels, the lowest first; of a cycle too. rank out [n]. */
static void sort_labels(const berth_graph *g, const int32_t *label, int32_t n, int32_t *waits, int32_t *rank)
{
	memset(waits, 0, (size_t)n * sizeof *waits);
	for (int32_t t = 0; t < g->n_tensors; t++)
		for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
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
				for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
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
	BERTH_TRY(BERTH_NEW(mem, out->op_comm, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, out->op, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, out->off, (size_t)p->n_ops + 1, err));
	BERTH_TRY(BERTH_NEW(mem, label, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, piece, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, size, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, rank, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, at, (size_t)p->n_ops + 1, err));
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
