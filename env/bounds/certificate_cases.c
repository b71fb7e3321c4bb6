/* What follows from a case: earliest starts and least times after, devices and orders that cannot be,
 * machines that are full, and devices that are mirror images. */
#include "certificate_cases.h"


/* ---- mirror images: exchanging two devices changes no time, limit or channel's work ---- */

enum { MOST_CHANNELS = 256 };

static int32_t exchanged(int32_t l, int32_t d, int32_t e)
{
	return l == d ? e : l == e ? d : l;
}

static bool same_device(const berth_problem *p, int32_t d, int32_t e)
{
	for (int32_t op = 0; op < p->n_ops; op++)
		if (berth_op_legal(p, op, d) != berth_op_legal(p, op, e) ||
		    (berth_op_legal(p, op, d) && berth_op_time(p, op, d) != berth_op_time(p, op, e)))
			return false;
	return p->s->dev_slots[d] == p->s->dev_slots[e] && berth_dev_pool(p, d) == berth_dev_pool(p, e) &&
	       p->dev_limit_bytes[d] == p->dev_limit_bytes[e];
}

/* Two routes of a class with the same hops, over channels that stand for each other. */
static bool same_way(const berth_problem *p, int32_t class, int32_t r, int32_t q, int32_t *image,
                     int32_t *origin)
{
	const int64_t *hop = p->class_link_ns + (size_t) class * (size_t)p->s->n_links;
	int32_t n = p->route_off[r + 1] - p->route_off[r];
	if (n != p->route_off[q + 1] - p->route_off[q])
		return false;
	for (int32_t h = 0; h < n; h++) {
		int32_t a = p->route_link[p->route_off[r] + h], b = p->route_link[p->route_off[q] + h];
		int32_t u = p->s->link_channel[a], v = p->s->link_channel[b];
		if (hop[a] != hop[b] || (image[u] >= 0 && image[u] != v) ||
		    (origin[v] >= 0 && origin[v] != u))
			return false;
		image[u] = v;
		origin[v] = u;
	}
	return true;
}

static bool mirror_images(const berth_problem *p, int32_t d, int32_t e)
{
	int32_t image[MOST_CHANNELS], origin[MOST_CHANNELS];
	size_t devs = (size_t)p->n_devs;
	if (p->s->n_channels > MOST_CHANNELS || !same_device(p, d, e))
		return false;
	memset(image, 0xff, sizeof image);
	memset(origin, 0xff, sizeof origin);
	for (int32_t c = 0; c < p->n_classes; c++)
		for (int32_t k = 0; k < p->n_devs; k++)
			for (int32_t l = 0; l < p->n_devs; l++) {
				const int32_t *route = p->class_pair_route + (size_t)c * devs * devs;
				const int64_t *ns = p->class_pair_ns + (size_t)c * devs * devs;
				size_t at = (size_t)k * devs + (size_t)l,
				       to = (size_t)exchanged(k, d, e) * devs + (size_t)exchanged(l, d, e);
				if (k != l && (ns[at] != ns[to] ||
				               !same_way(p, c, route[at], route[to], image, origin)))
					return false;
			}
	return true;
}

bool berth_case_mirrored(berth_block *b, const berth_case *c, int32_t d, int32_t e)
{
	int8_t *known = &b->mirror[berth_cell(b->p, d, e)];
	for (int32_t i = 0; i < b->n; i++) {
		bool on_d = c->dev[i] >> d & 1, on_e = c->dev[i] >> e & 1;
		if (on_d != on_e || (berth_case_fixed(c, i) && (on_d || on_e)))
			return false;
	}
	if (*known < 0)
		*known = mirror_images(b->p, d, e);
	return *known;
}

enum { MOST_HOPS = 8 };

/* Work on one machine: earliest start, time, least time after it. */
typedef struct berth_block_job {
	int64_t head, time, tail;
} job;

/* ---- blocks ---- */

static int32_t local_of(const berth_block *b, const int32_t *local, int32_t op)
{
	int32_t i = local[op] - 1;
	return i >= 0 && b->op[i] == op ? i : -1;
}

/* in and out from the graph; local[op] - 1 is the place of op in the block. */
static void fill_edges(berth_block *b, const int32_t *local)
{
	const berth_graph *g = b->p->g;
	int32_t n_in = 0, n_out = 0;
	for (int32_t i = 0; i < b->n; i++) {
		int32_t op = b->op[i];
		b->in_off[i] = n_in;
		b->out_off[i] = n_out;
		BERTH_EACH (k, g->op_in_off, op) {
			int32_t from = local_of(b, local, g->tensor_producer[g->in_tensor[k]]);
			if (from < 0)
				continue;
			b->in[n_in++] = (berth_block_edge){g->in_tensor[k], from};
			b->above[i] |= b->above[from] | UINT64_C(1) << from;
		}
		BERTH_EACH (t, g->op_tensor_off, op)
			BERTH_EACH (e, g->tensor_use_off, t) {
				int32_t to = local_of(b, local, g->edge_consumer[e]);
				if (to >= 0)
					b->out[n_out++] = (berth_block_edge){t, to};
			}
	}
	b->in_off[b->n] = n_in;
	b->out_off[b->n] = n_out;
}

static int32_t count_edges(const berth_problem *p, int32_t n, const int32_t *op)
{
	const berth_graph *g = p->g;
	int32_t in = 0, out = 0;
	for (int32_t i = 0; i < n; i++) {
		in += g->op_in_off[op[i] + 1] - g->op_in_off[op[i]];
		BERTH_EACH (t, g->op_tensor_off, op[i])
			out += g->tensor_use_off[t + 1] - g->tensor_use_off[t];
	}
	return in > out ? in : out;
}

berth_status berth_block_new(const berth_problem *p, int32_t n, const int32_t *op, bool entry, bool exit,
                             berth_arena *mem, berth_block **out, berth_err *err)
{
	berth_block *b;
	int32_t *local, edges = 0;
	size_t devs = (size_t)p->n_devs, cells;
	if (n > BERTH_CERTIFICATE_TREE_OPS || p->n_devs > BERTH_CERTIFICATE_TREE_DEVS)
		return berth_fail(err, BERTH_EUNSUPPORTED,
		                  "cases are of up to %d operators and %d devices, these are %d and %d",
		                  BERTH_CERTIFICATE_TREE_OPS, BERTH_CERTIFICATE_TREE_DEVS, (int)n,
		                  (int)p->n_devs);
	edges = count_edges(p, n, op);
	cells = (size_t)n * devs;
	BERTH_TRY_NEW(mem, 1, err, b);
	*b = (berth_block){.p = p, .n = n, .entry = entry, .exit = exit, .n_jobs = n + edges * MOST_HOPS};
	BERTH_TRY_NEW(mem, n, err, b->op);
	BERTH_TRY_NEW(mem, p->n_ops, err, local);
	BERTH_TRY_NEW(mem, n + 1, err, b->in_off, b->out_off);
	BERTH_TRY_NEW(mem, edges, err, b->in, b->out);
	BERTH_TRY_NEW(mem, n, err, b->above);
	BERTH_TRY_NEW(mem, devs * devs, err, b->mirror);
	BERTH_TRY_NEW(mem, cells, err, b->head, b->tail);
	BERTH_TRY_NEW(mem, n, err, b->order);
	BERTH_TRY_NEW(mem, b->n_jobs, err, b->job);
	memset(b->mirror, 0xff, devs * devs);
	for (int32_t i = 0; i < n; i++) {
		b->op[i] = op[i];
		local[op[i]] = i + 1;
	}
	fill_edges(b, local);
	*out = b;
	return BERTH_OK;
}

/* Operators of one colocation group stand on the same devices. True: something changed. */
static bool join_colocated(const berth_block *b, berth_case *c)
{
	bool changed = false;
	for (int32_t i = 0; i < b->n; i++)
		for (int32_t j = i + 1; j < b->n; j++) {
			uint32_t both = c->dev[i] & c->dev[j];
			if (b->p->op_coloc[b->op[i]] != b->p->op_coloc[b->op[j]] ||
			    (c->dev[i] == both && c->dev[j] == both))
				continue;
			c->dev[i] = c->dev[j] = both;
			changed = true;
		}
	return changed;
}

void berth_block_first_case(const berth_block *b, int32_t from, int32_t to, berth_case *c)
{
	memset(c, 0, sizeof *c);
	for (int32_t i = 0; i < b->n; i++) {
		for (int32_t d = 0; d < b->p->n_devs; d++)
			if (berth_op_legal(b->p, b->op[i], d))
				c->dev[i] |= UINT32_C(1) << d;
		c->above[i] = b->above[i];
		for (uint64_t left = b->above[i]; left; left &= left - 1)
			c->below[__builtin_ctzll(left)] |= UINT64_C(1) << i;
	}
	if (b->entry)
		c->dev[0] &= UINT32_C(1) << from;
	if (b->exit)
		c->dev[b->n - 1] &= UINT32_C(1) << to;
	while (join_colocated(b, c))
		;
}

/* ---- heads and tails ---- */

/* When d, of one slot, can have done the operators of set that are fixed on it, each no earlier than start
 * (their heads, or their tails, for the way backwards). */
static int64_t done_after(const berth_block *b, const berth_case *c, uint64_t set, int32_t d,
                          const int64_t *start)
{
	int64_t at[BERTH_CERTIFICATE_TREE_OPS], time[BERTH_CERTIFICATE_TREE_OPS], now = 0;
	int32_t n = 0;
	for (uint64_t left = set; left; left &= left - 1) {
		int32_t i = __builtin_ctzll(left), k = n;
		if (c->dev[i] != UINT32_C(1) << d)
			continue;
		int64_t from = start[berth_block_cell(b, i, d)];
		for (; k > 0 && at[k - 1] > from; k--) {
			at[k] = at[k - 1];
			time[k] = time[k - 1];
		}
		at[k] = from;
		time[k] = berth_block_time(b, i, d);
		n++;
	}
	for (int32_t k = 0; k < n; k++)
		now = berth_max(now, at[k]) + time[k];
	return now;
}

static bool one_slot(const berth_block *b, int32_t d)
{
	return b->p->s->dev_slots[d] == 1;
}

/* The head of i on d, by its inputs and what its device does before it; or its tail, by its uses and what
 * comes after. */
static int64_t find_side(const berth_block *b, const berth_case *c, int32_t i, int32_t d, bool tail)
{
	const int32_t *off = tail ? b->out_off : b->in_off;
	const berth_block_edge *edge = tail ? b->out : b->in;
	const int64_t *known = tail ? b->tail : b->head;
	int64_t most = one_slot(b, d) ? done_after(b, c, tail ? c->below[i] : c->above[i], d, known) : 0;
	BERTH_EACH (k, off, i) {
		int64_t least = CERTIFICATE_NEVER;
		int32_t other = edge[k].other;
		for (uint32_t left = c->dev[other]; left; left &= left - 1) {
			int32_t l = __builtin_ctz(left);
			int64_t way = berth_transfer_ns(b->p, edge[k].tensor, tail ? d : l, tail ? l : d);
			int64_t there =
				known[berth_block_cell(b, other, l)] + berth_block_time(b, other, l) + way;
			least = there < least ? there : least;
		}
		most = berth_max(most, least);
	}
	return most;
}

static void find_heads_and_tails(berth_block *b, const berth_case *c)
{
	/* Operators so that each comes after all that are above it. */
	for (int32_t i = 0; i < b->n; i++) {
		int32_t k = i, count = __builtin_popcountll(c->above[i]);
		for (; k > 0 && __builtin_popcountll(c->above[b->order[k - 1]]) > count; k--)
			b->order[k] = b->order[k - 1];
		b->order[k] = i;
	}
	for (int32_t k = 0; k < b->n; k++)
		for (uint32_t left = c->dev[b->order[k]]; left; left &= left - 1) {
			int32_t i = b->order[k], d = __builtin_ctz(left);
			b->head[berth_block_cell(b, i, d)] = find_side(b, c, i, d, false);
		}
	for (int32_t k = b->n - 1; k >= 0; k--)
		for (uint32_t left = c->dev[b->order[k]]; left; left &= left - 1) {
			int32_t i = b->order[k], d = __builtin_ctz(left);
			b->tail[berth_block_cell(b, i, d)] = find_side(b, c, i, d, true);
		}
}

/* ---- machines ---- */

/* Jobs that end before claim on `slots` machines at once? No: for some set of them, the least head, all work
 * and the least tail reach it. job is sorted. */
static bool too_much(job *j, int32_t n, int32_t slots, int64_t claim_ns)
{
	for (int32_t i = 1; i < n; i++) {
		job at = j[i];
		int32_t k = i;
		for (; k > 0 && j[k - 1].tail < at.tail; k--)
			j[k] = j[k - 1];
		j[k] = at;
	}
	for (int32_t a = 0; a < n; a++) {
		int64_t sum = 0;
		for (int32_t k = 0; k < n; k++) {
			if (j[k].head < j[a].head)
				continue;
			sum += j[k].time;
			if (j[a].head + (sum + slots - 1) / slots + j[k].tail >= claim_ns)
				return true;
		}
	}
	return false;
}

static bool device_full(berth_block *b, const berth_case *c, int32_t d, int64_t claim_ns)
{
	int32_t n = 0;
	for (int32_t i = 0; i < b->n; i++)
		if (c->dev[i] == UINT32_C(1) << d)
			b->job[n++] = (job){b->head[berth_block_cell(b, i, d)], berth_block_time(b, i, d),
			                    b->tail[berth_block_cell(b, i, d)]};
	return too_much(b->job, n, b->p->s->dev_slots[d], claim_ns);
}

/* The hops over channel `channel` of tensor t, whose producer i is fixed, to device e. */
static int32_t add_hops(berth_block *b, int32_t i, int32_t from, int32_t t, int32_t e, int64_t after,
                        int32_t channel, int32_t n)
{
	const berth_problem *p = b->p;
	int32_t r = berth_route(p, t, from, e);
	int64_t at = b->head[berth_block_cell(b, i, from)] + berth_block_time(b, i, from), before = 0,
		whole = berth_transfer_ns(p, t, from, e);
	for (int32_t h = p->route_off[r]; h < p->route_off[r + 1] && h < p->route_off[r] + MOST_HOPS; h++) {
		int64_t hop = berth_hop_ns(p, t, p->route_link[h]);
		if (p->s->link_channel[p->route_link[h]] == channel)
			b->job[n++] = (job){at + before, hop, whole - before - hop + after};
		before += hop;
	}
	return n;
}

/* Least time from the arrival of tensor t of operator i on device e to the end, by its consumers that are
 * fixed there; -1: none is. */
static int64_t after_arrival(const berth_block *b, const berth_case *c, int32_t i, int32_t t, int32_t e)
{
	int64_t after = -1;
	BERTH_EACH (k, b->out_off, i) {
		int32_t to = b->out[k].other;
		if (b->out[k].tensor == t && c->dev[to] == UINT32_C(1) << e)
			after = berth_max(after,
			               berth_block_time(b, to, e) + b->tail[berth_block_cell(b, to, e)]);
	}
	return after;
}

static bool channel_full(berth_block *b, const berth_case *c, int32_t channel, int64_t claim_ns)
{
	int32_t n = 0;
	for (int32_t i = 0; i < b->n; i++) {
		if (!berth_case_fixed(c, i))
			continue;
		BERTH_EACH (k, b->out_off, i) {
			int32_t t = b->out[k].tensor, from = berth_case_dev(c, i);
			if (k > b->out_off[i] && b->out[k - 1].tensor == t)
				continue;
			for (int32_t e = 0; e < b->p->n_devs; e++) {
				int64_t after = e == from ? -1 : after_arrival(b, c, i, t, e);
				if (after >= 0)
					n = add_hops(b, i, from, t, e, after, channel, n);
			}
		}
	}
	return too_much(b->job, n, 1, claim_ns);
}

/* Does what dev keeps count for k, a device or behind the devices a pool? */
static bool counts_for(const berth_problem *p, int32_t dev, int32_t k)
{
	int32_t pool = berth_dev_pool(p, dev);
	return dev == k || (pool >= 0 && pool + p->n_devs == k);
}

/* More is kept on a device, or in a pool, than it may hold? */
static bool memory_full(const berth_block *b, const berth_case *c)
{
	const berth_problem *p = b->p;
	for (int32_t k = 0; k < berth_n_resources(p); k++) {
		int64_t limit = berth_limit_bytes(p, k), sum = 0;
		for (int32_t i = 0; i < b->n && limit >= 0; i++)
			if (berth_case_fixed(c, i) && counts_for(p, berth_case_dev(c, i), k))
				sum += berth_kept_bytes(p, b->op[i]);
		if (limit >= 0 && sum > limit)
			return true;
	}
	return false;
}

/* ---- conclusions ---- */

/* Take devices out that reach the claim. True: an operator has none left. */
static bool narrow(const berth_block *b, int64_t claim_ns, berth_case *c, bool *changed)
{
	for (int32_t i = 0; i < b->n; i++) {
		for (uint32_t left = c->dev[i]; left; left &= left - 1) {
			int32_t d = __builtin_ctz(left);
			size_t at = berth_block_cell(b, i, d);
			if (b->head[at] + berth_block_time(b, i, d) + b->tail[at] < claim_ns)
				continue;
			c->dev[i] &= ~(UINT32_C(1) << d);
			*changed = true;
		}
		if (!c->dev[i])
			return true;
	}
	*changed |= join_colocated(b, c);
	for (int32_t i = 0; i < b->n; i++)
		if (!c->dev[i])
			return true;
	return false;
}

bool berth_case_open_pair(const berth_block *b, const berth_case *c, int32_t i, int32_t j)
{
	return c->dev[i] == c->dev[j] && berth_case_fixed(c, i) && one_slot(b, berth_case_dev(c, i)) &&
	       !(c->above[i] >> j & 1) && !(c->above[j] >> i & 1);
}

static bool too_long(const berth_block *b, const berth_case *c, int32_t i, int32_t j, int64_t claim_ns)
{
	int32_t d = berth_case_dev(c, i);
	return b->head[berth_block_cell(b, i, d)] + berth_block_time(b, i, d) + berth_block_time(b, j, d) +
	               b->tail[berth_block_cell(b, j, d)] >=
	       claim_ns;
}

/* Set orders that can be one way only. True: a pair can be neither way. */
static bool set_orders(const berth_block *b, int64_t claim_ns, berth_case *c, bool *changed)
{
	for (int32_t i = 0; i < b->n; i++)
		for (int32_t j = i + 1; j < b->n; j++) {
			if (!berth_case_open_pair(b, c, i, j))
				continue;
			bool not_ij = too_long(b, c, i, j, claim_ns), not_ji = too_long(b, c, j, i, claim_ns);
			if (not_ij && not_ji)
				return true;
			if (not_ij || not_ji)
				berth_case_order(b, c, not_ij ? j : i, not_ij ? i : j);
			*changed |= not_ij || not_ji;
		}
	return false;
}

bool berth_case_conclude(berth_block *b, int64_t claim_ns, berth_case *c)
{
	for (bool changed = true; changed;) {
		changed = false;
		find_heads_and_tails(b, c);
		if (narrow(b, claim_ns, c, &changed))
			return true;
		if (!changed && set_orders(b, claim_ns, c, &changed))
			return true;
	}
	if (memory_full(b, c))
		return true;
	for (int32_t d = 0; d < b->p->n_devs; d++)
		if (device_full(b, c, d, claim_ns))
			return true;
	for (int32_t k = 0; b->p->s->contention && k < b->p->s->n_channels; k++)
		if (channel_full(b, c, k, claim_ns))
			return true;
	return false;
}

bool berth_case_overloaded(const berth_block *b, int64_t claim_ns, const berth_case *c, const int64_t *price)
{
	const berth_problem *p = b->p;
	certificate_wide sum = 0, units = 0;
	int64_t head = CERTIFICATE_NEVER, tail = CERTIFICATE_NEVER;
	for (int32_t k = 0; k < berth_n_resources(p); k++)
		units += (certificate_wide)price[k] * berth_units(p, k);
	for (int32_t i = b->entry; i < b->n - b->exit; i++) {
		certificate_wide least = -1;
		for (uint32_t left = c->dev[i]; left; left &= left - 1) {
			int32_t d = __builtin_ctz(left);
			size_t at = berth_block_cell(b, i, d);
			certificate_wide charge = certificate_charge(p, price, b->op[i], d);
			least = least < 0 || charge < least ? charge : least;
			head = b->head[at] < head ? b->head[at] : head;
			tail = b->tail[at] < tail ? b->tail[at] : tail;
		}
		sum += least < 0 ? 0 : least;
	}
	return units > 0 && head < CERTIFICATE_NEVER &&
	       sum >= (certificate_wide)(claim_ns - head - tail) * units;
}

void berth_case_place(const berth_block *b, berth_case *c, int32_t i, int32_t dev)
{
	c->dev[i] &= UINT32_C(1) << dev;
	while (join_colocated(b, c))
		;
}

void berth_case_order(const berth_block *b, berth_case *c, int32_t i, int32_t j)
{
	uint64_t up = c->above[i] | UINT64_C(1) << i, down = c->below[j] | UINT64_C(1) << j;
	for (int32_t k = 0; k < b->n; k++) {
		if (up >> k & 1)
			c->below[k] |= down;
		if (down >> k & 1)
			c->above[k] |= up;
	}
}
