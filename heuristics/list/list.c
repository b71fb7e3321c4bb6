/* List scheduling; see list.h. */
#include "list.h"

#include "ready.h"

typedef struct pick {
	int32_t dev;
	int64_t start_ns, score;
} pick;

static void consider(berth_partial *part, const berth_problem *p, int32_t op, int32_t dev, int64_t ready_ns,
                     bool insertion, berth_list_score score, void *ctx, pick *best)
{
	int64_t start = berth_partial_start(part, op, dev, ready_ns, insertion),
		worth = score(ctx, part, op, dev, start, start + berth_op_time(p, op, dev));
	if (best->dev < 0 || worth < best->score)
		*best = (pick){dev, start, worth};
}

static void find_ready(const berth_partial *part, const berth_problem *p, int32_t op, berth_traffic *traffic,
                       int64_t *ready_ns)
{
	if (!traffic) {
		berth_partial_ready(part, op, ready_ns);
		return;
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		ready_ns[d] = berth_traffic_ready(traffic, part, op, d);
}

berth_status berth_list_schedule(berth_partial *part, const berth_problem *p, const int64_t *op_key,
                                 bool insertion, berth_traffic *traffic, berth_list_score score, void *ctx,
                                 berth_arena *tmp, berth_err *err)
{
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_ready list;
	int64_t *ready_ns;
	BERTH_TRY(berth_ready_new(p->g, tmp, &list, err));
	BERTH_TRY(BERTH_NEW(tmp, ready_ns, p->n_devs, err));
	berth_ready_start(&list, op_key);
	if (traffic)
		berth_traffic_reset(traffic);
	for (int32_t op; (op = berth_ready_next(&list)) >= 0;) {
		int32_t bound = berth_partial_dev(part, op), coloc = p->op_coloc[op];
		pick best = {.dev = -1};
		find_ready(part, p, op, traffic, ready_ns);
		for (int32_t d = 0; d < p->n_devs && bound < 0; d++)
			if (berth_op_legal(p, op, d) && berth_partial_fits(part, coloc, d))
				consider(part, p, op, d, ready_ns[d], insertion, score, ctx, &best);
		if (best.dev < 0) {
			int32_t d = bound >= 0 ? bound : berth_partial_roomiest(part, coloc);
			consider(part, p, op, d, ready_ns[d], insertion, score, ctx, &best);
		}
		int64_t end = berth_partial_place(part, op, best.dev, best.start_ns);
		if (traffic)
			berth_traffic_note(traffic, part, op, best.dev, end);
	}
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}
