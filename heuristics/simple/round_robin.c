/* Round robin: colocation groups in topological order of their first operator, each on the next device
 * (cyclically) that is legal for it. One evaluation. */
#include "coloc.h"
#include "method.h"

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	int32_t *op_dev, next = 0;
	bool *coloc_done;
	BERTH_TRY(BERTH_NEW(tmp, op_dev, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, coloc_done, p->n_colocs, err));
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
	"round-robin", "Units in topological order over the devices in turn.", false, run, NULL};
