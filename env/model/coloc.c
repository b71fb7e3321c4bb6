/* Sums over colocation groups: their times, bytes and legal devices. They are put on a device as a whole
 * here. */
#include "coloc.h"

bool berth_coloc_put_all(const berth_problem *p, int32_t dev, int32_t *op_dev)
{
	bool all = true;
	for (int32_t u = 0; u < p->n_colocs; u++)
		if (berth_coloc_legal(p, u, dev))
			berth_coloc_put(p, u, dev, op_dev);
		else
			all = false;
	return all;
}

/* How many devices are legal for a colocation group. */
static int32_t n_legal(const berth_problem *p, int32_t coloc)
{
	int32_t n = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		n += berth_coloc_legal(p, coloc, d);
	return n;
}

bool berth_can_move(const berth_problem *p)
{
	for (int32_t u = 0; u < p->n_colocs; u++)
		if (n_legal(p, u) > 1)
			return true;
	return false;
}

int64_t berth_coloc_time(const berth_problem *p, int32_t coloc, int32_t dev)
{
	int64_t sum = 0;
	BERTH_EACH (i, p->coloc_off, coloc)
		sum += berth_op_time(p, p->coloc_op[i], dev);
	return sum;
}

void berth_coloc_bytes(const berth_problem *p, int64_t *coloc_bytes)
{
	const berth_graph *g = p->g;
	BERTH_CLEAR(coloc_bytes, p->n_colocs);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int64_t bytes = berth_kept_bytes(p, op);
		BERTH_EACH (t, g->op_tensor_off, op)
			bytes += g->tensor_bytes[t];
		BERTH_EACH (i, g->op_param_off, op)
			bytes += g->param_bytes[g->op_param[i]];
		coloc_bytes[p->op_coloc[op]] += bytes;
	}
}
