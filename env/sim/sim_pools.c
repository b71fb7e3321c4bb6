/* Memory pools during a simulation: what is moved through them, and at which speed. The execution model's
 * "Memory pools" is the definition; the order of operations in double is part of it.
 *
 * A piece is an operator or a hop under way whose traffic goes through a pool, or a hop's through two. The
 * pieces of a pool share its rate by max-min fairness, as a fluid: none gets more than it asks, and none less
 * than another that asks more. A piece that gets less than it asks is slowed by that quotient. Few pieces are
 * under way at once, as many as slots and channels carry: everything here is linear in their number.
 *
 * It is apart from sim.c so that systems without pools do not pay for it. */
#include "sim_state.h"

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
	BERTH_TRY_NEW(mem, 1, err, q);
	q->p = p;
	q->cap = (int32_t)most_pieces(p);
	BERTH_TRY_NEW(mem, q->cap, err, q->piece);
	BERTH_TRY_NEW(mem, p->n_pools, err, q->n_in, q->level, q->changed);
	*out = q;
	return BERTH_OK;
}

/* One more (by 1) or less (by -1) in the pools of x. */
static void count_piece(pool_share *q, const pool_piece *x, int32_t by)
{
	for (int k = 0; k < 2; k++)
		if (x->pool[k] >= 0) {
			q->n_in[x->pool[k]] += by;
			q->changed[x->pool[k]] = true;
		}
	q->any_changed = true;
}

static void start_piece(pool_share *q, int32_t what, double demand, const int32_t pool[2], int64_t time_ns,
                        int64_t now)
{
	int64_t end = now + time_ns;
	pool_piece x = {demand, (double)time_ns, 1, now, end, end, what, {pool[0], pool[1]}};
	int32_t i = q->n_pieces++;
	assert(i < q->cap);
	for (; i > 0 && q->piece[i - 1].demand > demand; i--)
		q->piece[i] = q->piece[i - 1];
	q->piece[i] = x;
	count_piece(q, &x, 1);
}

static bool take_piece(pool_share *q, int64_t end_ns, int32_t *what, int64_t *slow_ns)
{
	int32_t i = 0;
	while (i < q->n_pieces && q->piece[i].end_ns != end_ns)
		i++;
	if (i == q->n_pieces)
		return false;
	*what = q->piece[i].what;
	*slow_ns = end_ns - q->piece[i].alone_ns;
	count_piece(q, &q->piece[i], -1);
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

static void settle_shares(pool_share *q, int64_t now)
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
		if (speed != q->piece[i].speed) {
			q->piece[i].work -= q->piece[i].speed * (double)(now - q->piece[i].since_ns);
			q->piece[i].speed = speed;
			q->piece[i].since_ns = now;
			/* the end may come sooner, when others end: so far off is as good as any other */
			q->piece[i].end_ns =
				now + (int64_t)fmin(ceil(fmax(q->piece[i].work, 0) / speed), 0x1p61);
		}
		if (q->piece[i].end_ns < q->next_ns)
			q->next_ns = q->piece[i].end_ns;
	}
}

void pool_share_set(pool_share *q, const pool_piece *piece, int32_t n)
{
	BERTH_CLEAR(q->n_in, q->p->n_pools);
	if (n)
		BERTH_COPY(q->piece, piece, n);
	q->n_pieces = n;
	q->next_ns = INT64_MAX;
	for (int32_t i = 0; i < n; i++) {
		count_piece(q, &q->piece[i], 1);
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

bool sim_start_op_in_pool(berth_sim *s, int32_t op, int32_t d, int64_t time_ns)
{
	size_t i = berth_cell(s->p, op, d);
	const int32_t pool[2] = {s->p->s->dev_pool[d], -1};
	if (!(s->p->op_dev_demand[i] > 0))
		return false;
	s->pool_ns[pool[0]] += s->p->op_dev_pool_ns[i];
	start_piece(s->share, op, s->p->op_dev_demand[i], pool, time_ns, s->now);
	return true;
}

bool sim_start_hop_in_pools(berth_sim *s, int32_t id, int64_t time_ns)
{
	const berth_problem *p = s->p;
	const transfer *m = &s->moves[id];
	size_t link = (size_t)p->route_link[m->hop];
	size_t i = (size_t)p->tensor_class[m->tensor] * (size_t)p->s->n_links + link;
	const int32_t *pool = &p->link_pool[2 * link];
	if (!(p->class_link_demand[i] > 0))
		return false;
	for (size_t k = 0; k < 2; k++)
		if (pool[k] >= 0)
			s->pool_ns[pool[k]] += p->class_link_pool_ns[2 * i + k];
	start_piece(s->share, ~id, p->class_link_demand[i], pool, time_ns, s->now);
	return true;
}

void sim_sum_pools(const berth_problem *p, int64_t *bytes)
{
	for (int32_t q = 0; q < p->n_pools; q++)
		bytes[p->n_devs + q] = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_dev_pool(p, d) >= 0)
			bytes[p->n_devs + berth_dev_pool(p, d)] += bytes[d];
}

/* What ends next goes into the heap: nothing changes before. */
static void take_due(berth_sim *s)
{
	int32_t what;
	int64_t slow_ns, due = s->share->next_ns;
	if (!s->share->n_pieces || (s->n_heap && s->heap[0].time < due))
		return;
	while (take_piece(s->share, due, &what, &slow_ns)) {
		sim_event_push(s, due, what);
		if (what >= 0)
			s->dev_slow_ns[s->op_dev[what]] += slow_ns;
	}
}

void sim_settle_pools(berth_sim *s)
{
	settle_shares(s->share, s->now);
	take_due(s);
}
