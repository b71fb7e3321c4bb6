/* Max-min fair shares of memory pools; see pool_share.h. Pieces stand in one list by demand. Pieces of equal
 * demand are treated alike, so that their order says nothing. */
#include "pool_share.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Pieces that can be under way at once: operators in the slots of members, and one hop a channel or, without
 * contention, one an edge. */
static size_t most_pieces(const berth_problem *p)
{
	int32_t hops = p->s->contention ? p->s->n_channels : p->g->n_edges;
	size_t most = (size_t)hops;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (p->s->dev_pool[d] >= 0)
			most += (size_t)(p->s->dev_slots[d] < p->n_ops ? p->s->dev_slots[d] : p->n_ops);
	return most;
}

berth_status pool_share_new(const berth_problem *p, berth_arena *mem, pool_share **out, berth_err *err)
{
	pool_share *q;
	*out = NULL;
	if (!p->n_pools)
		return BERTH_OK;
	BERTH_TRY(BERTH_NEW(mem, q, 1, err));
	q->p = p;
	q->cap = (int32_t)most_pieces(p);
	BERTH_TRY(BERTH_NEW(mem, q->piece, q->cap, err));
	BERTH_TRY(BERTH_NEW(mem, q->n_in, p->n_pools, err));
	BERTH_TRY(BERTH_NEW(mem, q->level, p->n_pools, err));
	BERTH_TRY(BERTH_NEW(mem, q->changed, p->n_pools, err));
	*out = q;
	return BERTH_OK;
}

void pool_share_reset(pool_share *q)
{
	pool_share_set(q, NULL, 0);
}

/* One more (by 1) or less (by -1) in the pools of x. */
static void count(pool_share *q, const pool_piece *x, int32_t by)
{
	for (int k = 0; k < 2; k++)
		if (x->pool[k] >= 0) {
			q->n_in[x->pool[k]] += by;
			q->changed[x->pool[k]] = true;
		}
	q->any_changed = true;
}

void pool_share_start(pool_share *q, int32_t what, double demand, const int32_t pool[2], int64_t time_ns,
                      int64_t now)
{
	int64_t end = now + time_ns;
	pool_piece x = {demand, (double)time_ns, 1, now, end, end, what, {pool[0], pool[1]}};
	int32_t i = q->n_pieces++;
	assert(i < q->cap);
	for (; i > 0 && q->piece[i - 1].demand > demand; i--)
		q->piece[i] = q->piece[i - 1];
	q->piece[i] = x;
	count(q, &x, 1);
}

bool pool_share_take(pool_share *q, int64_t end_ns, int32_t *what, int64_t *slow_ns)
{
	int32_t i = 0;
	while (i < q->n_pieces && q->piece[i].end_ns != end_ns)
		i++;
	if (i == q->n_pieces)
		return false;
	*what = q->piece[i].what;
	*slow_ns = end_ns - q->piece[i].alone_ns;
	count(q, &q->piece[i], -1);
	q->n_pieces--;
	memmove(&q->piece[i], &q->piece[i + 1], (size_t)(q->n_pieces - i) * sizeof *q->piece);
	return true;
}

/* The smallest asks are met first. Once one asks more than an equal part of what is left, all the rest get
 * that part. */
static double level_of(const pool_share *q, int32_t pool)
{
	double left = q->p->pool_rate[pool];
	int32_t n = q->n_in[pool];
	for (int32_t i = 0; n > 0; i++) {
		const pool_piece *x = &q->piece[i];
		if (x->pool[0] != pool && x->pool[1] != pool)
			continue;
		double part = left / (double)n--;
		if (x->demand > part)
			return part;
		left -= x->demand;
	}
	return INFINITY;
}

static double speed_of(const pool_share *q, const pool_piece *x)
{
	double speed = 1;
	for (int k = 0; k < 2; k++)
		if (x->pool[k] >= 0 && x->demand > q->level[x->pool[k]])
			speed = fmin(speed, q->level[x->pool[k]] / x->demand);
	return speed;
}

static void retime(pool_piece *x, double speed, int64_t now)
{
	x->work -= x->speed * (double)(now - x->since_ns);
	x->speed = speed;
	x->since_ns = now;
	/* the end may come sooner, when others end: so far off is as good as any other */
	x->end_ns = now + (int64_t)fmin(ceil(fmax(x->work, 0) / speed), 0x1p61);
}

void pool_share_settle(pool_share *q, int64_t now)
{
	if (!q->any_changed)
		return;
	for (int32_t pool = 0; pool < q->p->n_pools; pool++)
		if (q->changed[pool]) {
			q->level[pool] = level_of(q, pool);
			q->changed[pool] = false;
		}
	q->any_changed = false;
	q->next_ns = INT64_MAX;
	for (int32_t i = 0; i < q->n_pieces; i++) {
		double speed = speed_of(q, &q->piece[i]);
		if (speed != q->piece[i].speed)
			retime(&q->piece[i], speed, now);
		if (q->piece[i].end_ns < q->next_ns)
			q->next_ns = q->piece[i].end_ns;
	}
}

void pool_share_set(pool_share *q, const pool_piece *piece, int32_t n)
{
	memset(q->n_in, 0, (size_t)q->p->n_pools * sizeof *q->n_in);
	if (n)
		memcpy(q->piece, piece, (size_t)n * sizeof *piece);
	q->n_pieces = n;
	q->next_ns = INT64_MAX;
	for (int32_t i = 0; i < n; i++) {
		count(q, &q->piece[i], 1);
		if (q->piece[i].end_ns < q->next_ns)
			q->next_ns = q->piece[i].end_ns;
	}
}

void pool_share_shift(pool_share *q, int64_t by_ns)
{
	for (int32_t i = 0; i < q->n_pieces; i++) {
		q->piece[i].since_ns += by_ns;
		q->piece[i].end_ns += by_ns;
		q->piece[i].alone_ns += by_ns;
	}
	q->next_ns += q->n_pieces ? by_ns : 0;
}
