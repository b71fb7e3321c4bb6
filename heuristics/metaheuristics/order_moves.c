/* Moves of the walk over orders, and what is expected of them; see order_moves.h. */
#include "order_moves.h"

#include "coloc.h"

#include <math.h>

enum {
	MOST_MOVES = 1024,
	LONG = 24, /* of longer blocks some places are drawn: */
	SAMPLED = 24,
	SPAN = 500,      /* operators that one passes at most */
	PAIRS = 64,      /* of operator and device that are drawn, where there are twice as many */
	PLACES = 12,     /* on another device */
	SLOTS = 1 << 16, /* of what is tabu: what shares one is tabu together */
	TENURE = 10
};

berth_status berth_order_moves_new(const berth_problem *p, const berth_sequence *now, berth_rng *rng,
                                   berth_arena *mem, berth_order_moves *out, berth_err *err)
{
	berth_order_moves m = {.p = p, .now = now, .rng = rng, .devices = berth_can_move(p)};
	BERTH_TRY_NEW(mem, (size_t)p->n_devs + 1, err, m.dev_off);
	BERTH_TRY_NEW(mem, p->n_ops, err, m.dev_op, m.critical);
	BERTH_TRY_NEW(mem, MOST_MOVES, err, m.list);
	BERTH_TRY_NEW(mem, SPAN + 1, err, m.span_ns);
	BERTH_TRY_NEW(mem, SLOTS, err, m.until);
	*out = m;
	return BERTH_OK;
}

static int64_t time_of(const berth_sequence *q, int32_t op)
{
	return q->end_ns[op] - q->start_ns[op];
}

static int64_t end_of(const berth_sequence *q, int32_t op)
{
	return op >= 0 ? q->end_ns[op] : 0;
}

static int64_t tail_of(const berth_sequence *q, int32_t op)
{
	return op >= 0 ? q->tail_ns[op] : 0;
}

static bool is_critical(const berth_sequence *q, int32_t op)
{
	return q->start_ns[op] + q->tail_ns[op] >= q->latency_ns;
}

/* ---- what is tabu ---- */

/* Of op before another one of its device; of op on device d as `other` n_ops + d. */
static int64_t *slot(berth_order_moves *m, int32_t op, int32_t other)
{
	uint64_t h = (uint64_t)(uint32_t)op << 32 | (uint32_t)other;
	return &m->until[(h * UINT64_C(0x9E3779B97F4A7C15)) >> 48];
}

static bool is_tabu(berth_order_moves *m, int32_t op, int32_t other)
{
	return *slot(m, op, other) >= m->step;
}

void berth_order_moves_forbid(berth_order_moves *m, const berth_sequence_move *x)
{
	const berth_sequence *q = m->now;
	int32_t op = x->op, per = m->p->n_ops / m->p->n_devs / m->p->n_devs,
		tenure = TENURE + (per < 2 * TENURE ? per : 2 * TENURE);
	int64_t till = m->step + tenure + (int32_t)berth_rng_below(m->rng, (uint32_t)tenure / 2 + 1);
	if (x->dev != q->op_dev[op])
		*slot(m, op, m->p->n_ops + q->op_dev[op]) = till;
	else if (x->before >= 0 && q->at[x->before] > q->at[op])
		for (int32_t y = op; y != x->before;)
			*slot(m, op, y = q->behind[y]) = till;
	else
		for (int32_t y = op; y != x->behind;)
			*slot(m, y = q->before[y], op) = till;
}

/* ---- moves and their estimates ---- */

static void add(berth_order_moves *m, berth_order_move c)
{
	if (m->n_list < MOST_MOVES)
		m->list[m->n_list++] = c;
}

/* May data go from op to x, which runs later? May they to op from x, which runs before? Then op cannot pass
 * it. Either may be said where it is not so. */
static bool may_reach(const berth_sequence *q, int32_t op, int32_t x)
{
	const berth_graph *g = q->p->g;
	BERTH_EACH_USE (e, g, op) {
		int32_t to = g->edge_consumer[e];
		if (to == x || (q->at[to] < q->at[x] && q->end_ns[to] <= q->start_ns[x]))
			return true;
	}
	return false;
}

static bool may_be_reached(const berth_sequence *q, int32_t op, int32_t x)
{
	const berth_graph *g = q->p->g;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t from = g->tensor_producer[g->in_tensor[i]];
		if (from == x || (q->at[from] > q->at[x] && q->start_ns[from] >= q->end_ns[x]))
			return true;
	}
	return false;
}

/* Operator i of the block goes behind operator j, i < j <= i + SPAN. */
static void add_later(berth_order_moves *m, const int32_t *block, int32_t i, int32_t j)
{
	const berth_sequence *q = m->now;
	int32_t op = block[i], to = block[j];
	berth_order_move c = {.move = {op, q->op_dev[op], to, q->behind[to]}};
	int64_t at = end_of(q, q->before[op]), tail;
	for (int32_t k = i + 1; k <= j; k++) {
		m->span_ns[k - i] = berth_max(q->ready_ns[block[k]], at);
		at = m->span_ns[k - i] + time_of(q, block[k]);
		c.tabu |= is_tabu(m, block[k], op);
	}
	tail = time_of(q, op) + berth_max(q->data_tail_ns[op], tail_of(q, q->behind[to]));
	c.ns = berth_max(q->ready_ns[op], at) + tail;
	for (int32_t k = j; k > i; k--) {
		tail = time_of(q, block[k]) + berth_max(q->data_tail_ns[block[k]], tail);
		c.ns = berth_max(c.ns, m->span_ns[k - i] + tail);
	}
	add(m, c);
}

/* Operator j of the block goes before operator i, j - SPAN <= i < j. */
static void add_earlier(berth_order_moves *m, const int32_t *block, int32_t i, int32_t j)
{
	const berth_sequence *q = m->now;
	int32_t op = block[j], to = block[i];
	berth_order_move c = {.move = {op, q->op_dev[op], q->before[to], to}};
	int64_t start = berth_max(q->ready_ns[op], end_of(q, q->before[to])), at = start + time_of(q, op),
		tail = tail_of(q, q->behind[op]);
	for (int32_t k = i; k < j; k++) {
		m->span_ns[k - i] = berth_max(q->ready_ns[block[k]], at);
		at = m->span_ns[k - i] + time_of(q, block[k]);
		c.tabu |= is_tabu(m, op, block[k]);
	}
	for (int32_t k = j - 1; k >= i; k--) {
		tail = time_of(q, block[k]) + berth_max(q->data_tail_ns[block[k]], tail);
		c.ns = berth_max(c.ns, m->span_ns[k - i] + tail);
	}
	c.ns = berth_max(c.ns, start + time_of(q, op) + berth_max(q->data_tail_ns[op], tail));
	add(m, c);
}

static void swap_neighbours(berth_order_moves *m, const int32_t *block, int32_t i)
{
	if (!may_reach(m->now, block[i], block[i + 1]))
		add_later(m, block, i, i + 1);
}

/* To the farthest places that it may go to. */
static void insert_far(berth_order_moves *m, const int32_t *block, int32_t n, int32_t i)
{
	int32_t j = n - 1 < i + SPAN ? n - 1 : i + SPAN;
	while (j > i && may_reach(m->now, block[i], block[j]))
		j--;
	if (j > i + 1)
		add_later(m, block, i, j);
	for (j = i > SPAN ? i - SPAN : 0; j < i && may_be_reached(m->now, block[i], block[j]);)
		j++;
	if (j < i - 1)
		add_earlier(m, block, j, i);
}

/* Some operators of a long block. */
static void draw_places(berth_order_moves *m, const int32_t *block, int32_t n)
{
	for (int32_t k = 0; k < SAMPLED; k++) {
		int32_t i = (int32_t)berth_rng_below(m->rng, (uint32_t)n),
			far = 1 + (int32_t)exp2(berth_rng_unit(m->rng) * log2(n < SPAN ? n : SPAN));
		insert_far(m, block, n, i);
		if (i + far < n && !may_reach(m->now, block[i], block[i + far]))
			add_later(m, block, i, i + far);
		if (i - far >= 0 && !may_be_reached(m->now, block[i], block[i - far]))
			add_earlier(m, block, i - far, i);
	}
}

/* Nothing changes for the better unless an operator leaves the front or the end of its block. */
static void look_at_block(berth_order_moves *m, const int32_t *block, int32_t n)
{
	swap_neighbours(m, block, 0);
	if (n == 2)
		return;
	swap_neighbours(m, block, n - 2);
	if (n > LONG)
		draw_places(m, block, n);
	for (int32_t i = 0; i < n && n <= LONG; i++)
		insert_far(m, block, n, i);
}

/* Runs of critical operators on one device without a gap. */
static void look_at_blocks(berth_order_moves *m, int32_t d)
{
	const berth_sequence *q = m->now;
	int32_t from = -1, end = m->dev_off[d + 1];
	for (int32_t i = m->dev_off[d]; i <= end; i++) {
		bool critical = i < end && is_critical(q, m->dev_op[i]);
		if (from >= 0 && (!critical || q->start_ns[m->dev_op[i]] != q->end_ns[m->dev_op[i - 1]])) {
			if (i - from > 1)
				look_at_block(m, m->dev_op + from, i - from);
			from = -1;
		}
		if (critical && from < 0)
			from = i;
	}
}

/* When all inputs of op would be on device d. */
static int64_t ready_on(const berth_order_moves *m, int32_t op, int32_t d)
{
	const berth_graph *g = m->p->g;
	const berth_sequence *q = m->now;
	int64_t ready = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], from = g->tensor_producer[t],
			h = !m->tails || q->op_dev[from] == d ? -1 : berth_tails_hop(m->tails, t, d);
		int64_t way = q->op_dev[from] == d ? 0 : berth_transfer_ns(m->p, t, q->op_dev[from], d);
		ready = berth_max(ready, h >= 0 ? m->tails->base->hops[h].end_ns : q->end_ns[from] + way);
	}
	return ready;
}

/* The longest tail behind op on device d, by what takes its tensors. */
static int64_t data_tail_on(const berth_order_moves *m, int32_t op, int32_t d)
{
	const berth_graph *g = m->p->g;
	const berth_sequence *q = m->now;
	int64_t tail = 0;
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = g->edge_consumer[e];
			int64_t way = q->op_dev[to] == d ? 0 : berth_transfer_ns(m->p, t, d, q->op_dev[to]);
			tail = berth_max(tail, q->tail_ns[to] + way);
		}
	return tail;
}

/* The first place in dev_op on device d whose operator ends behind that time. */
static int32_t first_behind(const berth_order_moves *m, int32_t d, int64_t ns)
{
	int32_t low = m->dev_off[d], high = m->dev_off[d + 1];
	while (low < high) {
		int32_t middle = (low + high) / 2;
		if (m->now->end_ns[m->dev_op[middle]] > ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* op, which is critical, goes to device d, to the place of the best estimate. */
static void look_at_device(berth_order_moves *m, int32_t op, int32_t d)
{
	const berth_sequence *q = m->now;
	if (d == q->op_dev[op] || !berth_op_legal(m->p, op, d))
		return;
	int64_t ready = ready_on(m, op, d), tail = data_tail_on(m, op, d), time = berth_op_time(m->p, op, d);
	int32_t from = first_behind(m, d, ready), end = m->dev_off[d + 1];
	berth_order_move c = {.tabu = is_tabu(m, op, m->p->n_ops + d), .ns = INT64_MAX};
	for (int32_t i = from; i <= end && i < from + PLACES; i++) {
		int32_t before = i > m->dev_off[d] ? m->dev_op[i - 1] : -1,
			behind = i < end ? m->dev_op[i] : -1;
		int64_t start = berth_max(ready, end_of(q, before));
		if (start >= c.ns || (before >= 0 && may_reach(q, op, before)))
			break;
		int64_t ns = start + time + berth_max(tail, tail_of(q, behind));
		if (ns < c.ns && (behind < 0 || !may_be_reached(q, op, behind))) {
			c.ns = ns;
			c.move = (berth_sequence_move){op, d, before, behind};
		}
	}
	if (c.ns < INT64_MAX)
		add(m, c);
}

static void look_at_devices(berth_order_moves *m)
{
	int32_t n = m->n_critical, n_devs = m->p->n_devs;
	if ((int64_t)n * (n_devs - 1) <= 2 * PAIRS) {
		for (int32_t i = 0; i < n; i++)
			for (int32_t d = 0; d < n_devs; d++)
				look_at_device(m, m->critical[i], d);
		return;
	}
	for (int32_t k = 0; k < PAIRS; k++) {
		int32_t op = m->critical[berth_rng_below(m->rng, (uint32_t)n)];
		look_at_device(m, op, (int32_t)berth_rng_below(m->rng, (uint32_t)n_devs));
	}
}

/* Operators by device, and those that are critical and may go to another device alone. */
static void list_operators(berth_order_moves *m)
{
	const berth_problem *p = m->p;
	const berth_sequence *q = m->now;
	m->n_critical = 0;
	BERTH_CLEAR(m->dev_off, p->n_devs + 1);
	for (int32_t op = 0; op < p->n_ops; op++)
		m->dev_off[q->op_dev[op] + 1]++;
	for (int32_t d = 0; d < p->n_devs; d++)
		m->dev_off[d + 1] += m->dev_off[d];
	for (int32_t i = 0; i < p->n_ops; i++) {
		int32_t op = q->order[i], c = p->op_coloc[op];
		m->dev_op[m->dev_off[q->op_dev[op]]++] = op;
		if (is_critical(q, op) && p->coloc_off[c + 1] - p->coloc_off[c] == 1)
			m->critical[m->n_critical++] = op;
	}
	for (int32_t d = p->n_devs; d > 0; d--)
		m->dev_off[d] = m->dev_off[d - 1];
	m->dev_off[0] = 0;
}

void berth_order_moves_look(berth_order_moves *m)
{
	m->step++;
	m->n_list = 0;
	list_operators(m);
	for (int32_t d = 0; d < m->p->n_devs; d++)
		if (m->p->s->dev_slots[d] == 1)
			look_at_blocks(m, d);
	if (m->devices && m->n_critical > 0)
		look_at_devices(m);
}
