/* The frame of list schedules: ready operators by key, each placed by the rule that the method gives. */
#include "list.h"

#include "ready.h"

typedef struct pick {
	int32_t dev;
	int64_t start_ns, score;
} pick;

static void consider_dev(const berth_list *l, berth_partial *part, int32_t op, int32_t dev, int64_t ready_ns,
                         pick *best)
{
	int64_t start = berth_partial_start(part, op, dev, ready_ns, l->insertion);
	berth_list_place at = {part, op, dev, start, start + berth_op_time(l->p, op, dev)};
	int64_t worth = l->score(l->ctx, &at);
	if (best->dev < 0 || worth < best->score)
		*best = (pick){dev, start, worth};
}

static void find_ready(const berth_list *l, const berth_partial *part, int32_t op, int64_t *ready_ns)
{
	if (!l->traffic) {
		berth_partial_ready(part, op, ready_ns);
		return;
	}
	for (int32_t d = 0; d < l->p->n_devs; d++)
		ready_ns[d] = berth_traffic_look(l->traffic, op, d).ready_ns;
}

berth_status berth_list_schedule(void *list, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	const berth_list *l = list;
	const berth_problem *p = l->p;
	BERTH_SCRATCH(tmp);
	berth_ready ready;
	int64_t *ready_ns;
	BERTH_TRY(berth_ready_new(p->g, tmp, &ready, err));
	BERTH_TRY_NEW(tmp, p->n_devs, err, ready_ns);
	berth_ready_start(&ready, l->op_key);
	if (l->traffic)
		berth_traffic_reset(l->traffic);
	for (int32_t op; (op = berth_ready_next(&ready)) >= 0;) {
		int32_t bound = berth_partial_dev(part, op), coloc = p->op_coloc[op];
		pick best = {.dev = -1};
		find_ready(l, part, op, ready_ns);
		for (int32_t d = 0; d < p->n_devs && bound < 0; d++)
			if (berth_op_legal(p, op, d) && berth_partial_fits(part, coloc, d))
				consider_dev(l, part, op, d, ready_ns[d], &best);
		if (best.dev < 0) {
			int32_t d = bound >= 0 ? bound : berth_partial_roomiest(part, coloc);
			consider_dev(l, part, op, d, ready_ns[d], &best);
		}
		int64_t end = berth_partial_place(part, op, best.dev, best.start_ns);
		if (l->traffic)
			berth_traffic_note(l->traffic, op, best.dev, end);
	}
	return BERTH_OK;
}
