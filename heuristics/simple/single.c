/* The best single device: every colocation group on one device, the best one over all devices by score. A
 * colocation group may not be legal there (a pin, a list of types, a forbidden device). Then it goes to its
 * fastest legal device, the lowest of equals. One evaluation a device. */
#include "single.h"

#include "coloc.h"
#include "method.h"

static int32_t fastest(const berth_problem *p, int32_t coloc)
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
		berth_coloc_put(p, u, berth_coloc_legal(p, u, dev) ? dev : fastest(p, u), op_dev);
}

static berth_status run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	int32_t *op_dev;
	BERTH_TRY(BERTH_NEW(tmp, op_dev, p->n_ops, err));
	for (int32_t d = 0; d < p->n_devs; d++) {
		berth_single_placement(p, d, op_dev);
		berth_search_offer(s, op_dev, NULL);
	}
	return BERTH_OK;
}

const berth_method berth_method_single = {
	"single", "All operators on one device, the best one; what cannot run there on its fastest device.",
	false, run, NULL};
