/* One round of training over ranks: who draws which batch, what each rank sends to the others, and the
 * steps that all take alike. Everything goes in the order of batches, so that no bit depends on the number
 * of ranks. */
#include "sequence_ranks.h"

void sequence_deal(berth_learner *l, int32_t n, const int32_t *order, const int64_t *work)
{
	int64_t load[BERTH_MOST_AT_ONCE];
	int32_t rank[BERTH_MOST_AT_ONCE], n_ranks = sequence_is_shared(l) ? l->ranks->n : 1;
	berth_ranks_deal(n_ranks < BERTH_MOST_AT_ONCE ? n_ranks : BERTH_MOST_AT_ONCE, n, order, work, load,
	                 rank);
	for (int32_t k = 0; k < n; k++)
		l->batch[k].rank = rank[k];
}

typedef struct epoch {
	berth_learner *l;
	int32_t n, epoch;
} epoch;

static void pack_batch(const epoch *x, berth_batch *b, berth_pack *p)
{
	BERTH_PACK(p, b->status);
	BERTH_PACK(p, b->ended);
	BERTH_PACK(p, b->stats);
	if (x->epoch == 0) {
		/* The rewards, and the best placement: into the first row where another rank has drawn it. */
		const berth_sequence *q = &b->sequence;
		size_t n_ops = (size_t)b->pair->n_ops;
		if (p->how == BERTH_PACK_TAKE)
			b->best = 0;
		berth_pack_bytes(p, b->reward, (size_t)b->n * sizeof *b->reward);
		berth_pack_bytes(p, BERTH_ROW(q->op_devs, b->best, n_ops), n_ops * sizeof *q->op_devs);
		berth_pack_bytes(p, BERTH_ROW(q->orders, b->best, n_ops), n_ops * sizeof *q->orders);
		berth_pack_bytes(p, q->scores + 2 * (size_t)b->best, 2 * sizeof *q->scores);
	}
	if (b->status != BERTH_OK)
		BERTH_PACK(p, b->err);
	else if (!b->ended)
		berth_pack_bytes(p, b->grads, policy_param_count(&x->l->dims) * sizeof *b->grads);
}

static berth_status trade(void *ctx, int32_t rank, berth_pack *p, berth_err *err)
{
	const epoch *x = ctx;
	(void)err;
	for (int32_t k = 0; k < x->n; k++)
		if (x->l->batch[k].rank == rank)
			pack_batch(x, &x->l->batch[k], p);
	return BERTH_OK;
}

berth_status sequence_trade(berth_learner *l, int32_t n, int32_t k, berth_err *err)
{
	BERTH_ARENA(tmp);
	epoch x = {l, n, k};
	if (!sequence_is_shared(l))
		return BERTH_OK;
	return berth_ranks_trade(l->ranks, trade, &x, &tmp, err);
}
