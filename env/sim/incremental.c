/* Runs of the simulator from the middle of one that went before: snapshots of a base, where a placement
 * begins to differ from it, and where it goes on alike again, so that the rest is known. */
#include "incremental.h"

#include "sim_state.h"

enum { MAX_SNAPSHOTS = 64, MANY_OPS = 20000, SNAPSHOTS_OF_MANY = 16, MAX_COMPARED = 64 };

typedef struct live_move {
	int32_t id;
	transfer move;
} live_move;

/* The state between two instants. */
typedef struct snapshot {
	int64_t now;
	uint64_t instant;
	int32_t n_ended, n_moves, n_heap, n_pieces, n_ready;
	int32_t n_way, n_live; /* transfers under way; with those that were delivered and still hold memory */
	int32_t n_hops, n_ends; /* logged before it */
	int32_t *op_waits;     /* [n_ops] */
	device *dev;           /* [n_devs] */
	channel *chan;         /* [n_channels] */
	int64_t *sums;         /* [n_sums] of the simulator */

	/* where memory is tracked */
	int64_t *mem_bytes, *peak_bytes; /* [resources] */
	int64_t *peak_from;    /* [resources] from it to the next one, or to the end */
	int32_t *tensor_holds; /* [n_tensors] */
	int32_t *in_move;      /* [n_edges] */

	/* in the store, one behind the other */
	event *heap;       /* [n_heap] */
	pool_piece *piece; /* [n_pieces] under way in pools */
	live_move *live;   /* [n_live] */
	uint64_t *ready;   /* [n_ready] device after device */
} snapshot;

struct berth_incremental {
	const berth_problem *p;
	berth_sim *sim, *check; /* check: for BERTH_DEBUG */
	bool works, keys_work;  /* by the system's rule, by keys; false: every run is a full one */
	const uint32_t *op_key; /* [n_ops] of the placements that are given; NULL: the system's rule */

	/* the base */
	bool has_base, base_keyed;
	uint32_t *base_key;       /* [n_ops] */
	int32_t *base_dev;        /* [n_ops] */
	int64_t *base_start_ns, *base_end_ns; /* [n_ops] */
	int64_t *tail_ns;         /* [n_ops] least time from an operator's start to the end of the run */
	int64_t *base_time_ns;    /* [n_devs] */
	int32_t *base_ops;        /* [n_devs] */
	bool follows_memory;      /* its run did */
	int64_t *ever_bytes;      /* [resources] all that it ever holds */
	berth_base_log log;       /* of its run; ends NULL: not wanted */
	int32_t *ends;            /* the same */
	berth_sim_hop *hops;

	int32_t max_snaps, n_snaps;
	snapshot *snap; /* [max_snaps + 1] of the base by time; behind the last one the end of the run */
	unsigned char *store;
	size_t store_size, store_used;

	int32_t *moved, n_moved; /* [n_ops] operators that differ from the base */
	int64_t *more_bytes;     /* [resources] held beyond what the base holds at the same moment */
	int64_t rounds, skipped;
};

/* ---- set-up ---- */

/* A block for each kind of array, cut into snapshots. */
static berth_status new_snapshots(berth_incremental *n, berth_arena *mem, berth_err *err)
{
	const berth_problem *p = n->p;
	size_t count = (size_t)n->max_snaps + 1, resources = (size_t)berth_n_resources(p);
	size_t tensors = p->memory_free ? 0 : (size_t)p->g->n_tensors,
	       edges = p->memory_free ? 0 : (size_t)p->g->n_edges;
	snapshot k = {0};
	BERTH_TRY_NEW(mem, count, err, n->snap);
	BERTH_TRY_NEW(mem, count * (size_t)p->n_ops, err, k.op_waits);
	BERTH_TRY_NEW(mem, count * (size_t)p->n_devs, err, k.dev);
	BERTH_TRY_NEW(mem, count * (size_t)p->s->n_channels, err, k.chan);
	BERTH_TRY_NEW(mem, count * n->sim->n_sums, err, k.sums);
	BERTH_TRY_NEW(mem, count * resources, err, k.mem_bytes, k.peak_bytes, k.peak_from);
	BERTH_TRY_NEW(mem, count * tensors, err, k.tensor_holds);
	BERTH_TRY_NEW(mem, count * edges, err, k.in_move);
	for (size_t i = 0; i < count; i++) {
		n->snap[i] = k;
		k.op_waits += p->n_ops;
		k.dev += p->n_devs;
		k.chan += p->s->n_channels;
		k.sums += n->sim->n_sums;
		k.mem_bytes += resources;
		k.peak_bytes += resources;
		k.peak_from += resources;
		k.tensor_holds += tensors;
		k.in_move += edges;
	}
	return BERTH_OK;
}

static berth_status new_base(berth_incremental *n, berth_arena *mem, berth_err *err)
{
	const berth_problem *p = n->p;
	BERTH_TRY_NEW(mem, p->n_ops, err, n->base_dev, n->base_key, n->base_start_ns, n->base_end_ns,
	              n->tail_ns, n->moved);
	BERTH_TRY_NEW(mem, p->n_devs, err, n->base_time_ns, n->base_ops);
	BERTH_TRY_NEW(mem, berth_n_resources(p), err, n->more_bytes, n->ever_bytes);
	return BERTH_OK;
}

berth_status berth_incremental_new(const berth_problem *p, berth_arena *mem, berth_incremental **out,
                                   berth_err *err)
{
	berth_incremental *n;
	BERTH_TRY_NEW(mem, 1, err, n);
	n->p = p;
	n->keys_work = berth_keys_work(p);
	n->works = n->keys_work && (p->s->order == BERTH_ORDER_PRIORITY || p->s->order == BERTH_ORDER_FIFO);
	n->max_snaps = p->n_ops > MANY_OPS ? SNAPSHOTS_OF_MANY : MAX_SNAPSHOTS;
	BERTH_TRY(berth_sim_new(p, mem, &n->sim, err));
	if (BERTH_DEBUG)
		BERTH_TRY(berth_sim_new(p, mem, &n->check, err));
	BERTH_TRY(new_base(n, mem, err));
	if (n->keys_work)
		n->store_size = 16384 + (p->n_ops > MANY_OPS ? 16u : 96u) *
		                                ((size_t)p->n_ops + (size_t)p->g->n_edges);
	else
		n->max_snaps = 0;
	BERTH_TRY(new_snapshots(n, mem, err));
	BERTH_TRY_NEW(mem, n->store_size, err, n->store);
	*out = n;
	return BERTH_OK;
}

berth_status berth_incremental_want_log(berth_incremental *n, berth_arena *mem, berth_err *err)
{
	size_t hops = berth_sim_max_hops(n->p);
	if (n->ends)
		return BERTH_OK;
	BERTH_TRY_NEW(mem, hops, err, n->hops);
	BERTH_TRY_NEW(mem, hops + (size_t)n->p->n_ops, err, n->ends);
	n->has_base = false;
	return BERTH_OK;
}

/* Can a run go on from a base? */
static bool works(const berth_incremental *n)
{
	return n->op_key ? n->keys_work : n->works;
}

/* ---- snapshots ---- */

static bool is_under_way(const transfer *m)
{
	return m->hop < m->hop_end;
}

/* Is it delivered, and still holds memory? */
static bool is_held(const berth_sim *s, const transfer *m)
{
	return s->track && !is_under_way(m) && m->uses_left > 0;
}

/* Lay out the lists of k behind what the store holds. False where it has no room. */
static bool lay_out_lists(berth_incremental *n, snapshot *k)
{
	size_t bytes = (size_t)k->n_heap * sizeof *k->heap + (size_t)k->n_pieces * sizeof *k->piece +
	               (size_t)k->n_live * sizeof *k->live + (size_t)k->n_ready * sizeof *k->ready;
	if (bytes > n->store_size - n->store_used)
		return false;
	k->heap = (event *)(void *)(n->store + n->store_used);
	k->piece = (pool_piece *)(void *)(k->heap + k->n_heap);
	k->live = (live_move *)(void *)(k->piece + k->n_pieces);
	k->ready = (uint64_t *)(void *)(k->live + k->n_live);
	n->store_used += bytes;
	return true;
}

/* The variable part; false where the store has no room. */
static bool store_lists(berth_incremental *n, snapshot *k)
{
	const berth_sim *s = n->sim;
	int32_t way = 0, held, ready = 0;
	k->n_heap = s->n_heap;
	k->n_way = k->n_live = k->n_ready = 0;
	k->n_pieces = s->share ? s->share->n_pieces : 0;
	for (int32_t i = 0; i < s->n_moves; i++) {
		k->n_way += is_under_way(&s->moves[i]);
		k->n_live += is_under_way(&s->moves[i]) || is_held(s, &s->moves[i]);
	}
	for (int32_t d = 0; d < n->p->n_devs; d++)
		k->n_ready += s->dev[d].n_ready;
	if (!lay_out_lists(n, k))
		return false;
	BERTH_COPY(k->heap, s->heap, k->n_heap);
	if (s->share)
		BERTH_COPY(k->piece, s->share->piece, k->n_pieces);
	held = k->n_way;
	for (int32_t i = 0; i < s->n_moves; i++)
		if (is_under_way(&s->moves[i]))
			k->live[way++] = (live_move){i, s->moves[i]};
		else if (is_held(s, &s->moves[i]))
			k->live[held++] = (live_move){i, s->moves[i]};
	for (int32_t d = 0; d < n->p->n_devs; ready += s->dev[d++].n_ready)
		BERTH_COPY(k->ready + ready, s->dev[d].ready, (size_t)s->dev[d].n_ready);
	return true;
}

/* The simulator's state into k; false where the store has no room. */
static bool take(berth_incremental *n, snapshot *k)
{
	const berth_problem *p = n->p;
	berth_sim *s = n->sim;
	size_t resources = (size_t)berth_n_resources(p);
	if (!store_lists(n, k))
		return false;
	k->now = s->now;
	k->instant = s->instant;
	k->n_ended = s->n_ended;
	k->n_moves = s->n_moves;
	k->n_hops = (int32_t)s->n_hops;
	k->n_ends = s->n_ends;
	BERTH_COPY(k->op_waits, s->op_waits, p->n_ops);
	BERTH_COPY(k->dev, s->dev, p->n_devs);
	BERTH_COPY(k->chan, s->chan, p->s->n_channels);
	BERTH_COPY(k->sums, s->sums, s->n_sums);
	if (!s->track)
		return true;
	sim_sum_pools(p, s->mem_bytes);
	BERTH_COPY(k->mem_bytes, s->mem_bytes, resources);
	BERTH_COPY(k->peak_bytes, s->peak_bytes, resources);
	BERTH_CLEAR(k->peak_from, resources);
	BERTH_COPY(k->tensor_holds, s->tensor_holds, p->g->n_tensors);
	BERTH_COPY(k->in_move, s->in_move, p->g->n_edges);
	return true;
}

static void forget_moved(berth_incremental *n)
{
	for (int32_t i = 0; i < n->n_moved; i++)
		n->sim->start_ns[n->moved[i]] = n->sim->end_ns[n->moved[i]] = -1;
}

/* Operator times of all devices, and room for their ready lists. */
static void restore_devices(berth_incremental *n, const int32_t *op_dev)
{
	const berth_problem *p = n->p;
	berth_sim *s = n->sim;
	BERTH_COPY(s->dev_time_ns, n->base_time_ns, p->n_devs);
	for (int32_t d = 0; d < p->n_devs; d++)
		s->dev[d].n_ready = n->base_ops[d];
	for (int32_t i = 0; i < n->n_moved; i++) {
		int32_t op = n->moved[i], gone = n->base_dev[op], here = op_dev[op];
		s->dev[gone].n_ready--;
		s->dev[here].n_ready++;
		s->dev_time_ns[gone] -= berth_op_time(p, op, gone);
		s->dev_time_ns[here] += berth_op_time(p, op, here);
	}
	sim_cut_ready_store(s);
}

/* Put the simulator into the state of k, but for sums and memory. */
static void restore_state(berth_incremental *n, const snapshot *k)
{
	const berth_problem *p = n->p;
	berth_sim *s = n->sim;
	const uint64_t *ready = k->ready;
	s->now = k->now;
	s->instant = k->instant;
	s->n_ended = k->n_ended;
	s->n_moves = k->n_moves;
	s->n_heap = k->n_heap;
	s->n_pending = s->n_dirty_dev = s->n_dirty_chan = 0;
	BERTH_COPY(s->op_waits, k->op_waits, p->n_ops);
	BERTH_COPY(s->chan, k->chan, p->s->n_channels);
	BERTH_COPY(s->heap, k->heap, k->n_heap);
	if (s->share)
		pool_share_set(s->share, k->piece, k->n_pieces);
	for (int32_t i = 0; i < k->n_live; i++)
		s->moves[k->live[i].id] = k->live[i].move;
	for (int32_t d = 0; d < p->n_devs; ready += s->dev[d++].n_ready) {
		uint64_t *room = s->dev[d].ready;
		s->dev[d] = k->dev[d];
		s->dev[d].ready = room;
		BERTH_COPY(room, ready, (size_t)s->dev[d].n_ready);
	}
}

/* What is held in k, and more_bytes. */
static void restore_memory(berth_incremental *n, const snapshot *k)
{
	const berth_graph *g = n->p->g;
	berth_sim *s = n->sim;
	BERTH_COPY(s->tensor_holds, k->tensor_holds, g->n_tensors);
	BERTH_COPY(s->in_move, k->in_move, g->n_edges);
	for (int32_t i = 0; i < berth_n_resources(n->p); i++)
		s->mem_bytes[i] = k->mem_bytes[i] + n->more_bytes[i];
}

/* All of the state of k, for a run of op_dev to begin there. op_dev differs from the base by the moved
 * operators. */
static void restore(berth_incremental *n, const snapshot *k, const int32_t *op_dev)
{
	berth_sim *s = n->sim;
	forget_moved(n);
	restore_devices(n, op_dev);
	restore_state(n, k);
	BERTH_COPY(s->sums, k->sums, s->n_sums);
	sim_choose_rule(s, false);
	s->op_dev = op_dev;
	s->n_starts = 0; /* turns are told by full runs alone */
	s->over = false;
	s->tail_ns = NULL;
	s->track = n->follows_memory;
	if (!s->track)
		return;
	restore_memory(n, k);
	for (int32_t i = 0; i < berth_n_resources(n->p); i++)
		s->peak_bytes[i] = k->peak_bytes[i] + n->more_bytes[i];
}

/* ---- what differs ---- */

/* What has another key counts as moved: it changes nothing before it is ready. */
static void find_moved(berth_incremental *n, const int32_t *op_dev)
{
	enum { BLOCK = 32 };
	const uint32_t *key = n->op_key ? n->op_key : n->base_key;
	n->n_moved = 0;
	for (int32_t from = 0; from < n->p->n_ops; from += BLOCK) {
		int32_t end = n->p->n_ops - from < BLOCK ? n->p->n_ops : from + BLOCK;
		size_t count = (size_t)(end - from);
		if (memcmp(op_dev + from, n->base_dev + from, count * sizeof *op_dev) == 0 &&
		    memcmp(key + from, n->base_key + from, count * sizeof *key) == 0)
			continue;
		for (int32_t op = from; op < end; op++)
			if (op_dev[op] != n->base_dev[op] || key[op] != n->base_key[op])
				n->moved[n->n_moved++] = op;
	}
}

static bool can_run(const berth_incremental *n, const int32_t *op_dev)
{
	bool can = true;
	for (int32_t i = 0; i < n->n_moved; i++)
		can &= berth_op_time(n->p, n->moved[i], op_dev[n->moved[i]]) >= 0;
	return can;
}

/* Add sign * the bytes of shared parameter q to each device that holds a user of it under op_dev. */
static void add_shared(berth_incremental *n, int32_t q, const int32_t *op_dev, int64_t sign)
{
	const berth_graph *g = n->p->g;
	int32_t *seen = n->sim->dest_move; /* -1 between runs */
	BERTH_EACH (k, g->param_op_off, q) {
		int32_t d = op_dev[g->param_op[k]];
		if (seen[d] == -1)
			n->more_bytes[d] += sign * g->param_bytes[q];
		seen[d] = 0;
	}
	BERTH_EACH (k, g->param_op_off, q)
		seen[op_dev[g->param_op[k]]] = -1;
}

/* All that the base's devices ever hold: parameters and state, tensors made or brought there, outputs and
 * workspaces. A copy is counted for each consumer. */
static void count_ever(berth_incremental *n)
{
	const berth_problem *p = n->p;
	const berth_graph *g = p->g;
	BERTH_CLEAR(n->ever_bytes, p->n_devs);
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t d = n->base_dev[op];
		n->ever_bytes[d] +=
			g->op_param_bytes[op] + g->op_state_bytes[op] + n->sim->op_start_bytes[op];
		BERTH_EACH (k, g->op_in_off, op)
			if (n->base_dev[g->tensor_producer[g->in_tensor[k]]] != d)
				n->ever_bytes[d] += g->tensor_bytes[g->in_tensor[k]];
		BERTH_EACH (k, g->op_param_off, op)
			n->ever_bytes[d] += g->param_bytes[g->op_param[k]];
	}
	sim_sum_pools(p, n->ever_bytes);
}

/* Bytes that moving op can bring to all devices together, at most: its own, its inputs, and what it makes
 * once for each consumer. */
static int64_t bytes_of(const berth_incremental *n, int32_t op)
{
	const berth_graph *g = n->p->g;
	int64_t bytes = g->op_param_bytes[op] + g->op_state_bytes[op] + n->sim->op_start_bytes[op];
	BERTH_EACH (k, g->op_in_off, op)
		bytes += g->tensor_bytes[g->in_tensor[k]];
	BERTH_EACH (k, g->op_param_off, op)
		bytes += g->param_bytes[g->op_param[k]];
	BERTH_EACH (t, g->op_tensor_off, op)
		bytes += g->tensor_bytes[t] * (g->tensor_use_off[t + 1] - g->tensor_use_off[t]);
	return bytes;
}

/* Is it proven that the base with the moved operators anywhere else fits? */
static bool sure_to_fit(const berth_incremental *n)
{
	int64_t more = 0;
	bool sure = true;
	if (n->p->memory_free)
		return true;
	for (int32_t i = 0; i < n->n_moved; i++)
		more += bytes_of(n, n->moved[i]);
	for (int32_t i = 0; i < berth_n_resources(n->p); i++) {
		int64_t limit = berth_limit_bytes(n->p, i);
		sure &= limit < 0 || n->ever_bytes[i] + more <= limit;
	}
	return sure;
}

/* Parameters and state that came and went with the moved operators. */
static void count_bytes(berth_incremental *n, const int32_t *op_dev)
{
	const berth_graph *g = n->p->g;
	BERTH_CLEAR(n->more_bytes, n->p->n_devs);
	for (int32_t i = 0; i < n->n_moved; i++) {
		int32_t op = n->moved[i];
		int64_t bytes = g->op_param_bytes[op] + g->op_state_bytes[op];
		if (op_dev[op] == n->base_dev[op])
			continue;
		n->more_bytes[op_dev[op]] += bytes;
		n->more_bytes[n->base_dev[op]] -= bytes;
		BERTH_EACH (k, g->op_param_off, op) {
			int32_t q = g->op_param[k], first = g->param_op_off[q];
			while (op_dev[g->param_op[first]] == n->base_dev[g->param_op[first]])
				first++;
			if (g->param_op[first] != op) /* counted with its first moved user */
				continue;
			add_shared(n, q, op_dev, 1);
			add_shared(n, q, n->base_dev, -1);
		}
	}
	sim_sum_pools(n->p, n->more_bytes);
}

/* Index of the last snapshot before time; -1: none. */
static int32_t last_before(const berth_incremental *n, int64_t time)
{
	int32_t i = n->n_snaps - 1;
	while (i >= 0 && n->snap[i].now >= time)
		i--;
	return i;
}

/* ---- going on as the base did ---- */

static bool same_transfer(const transfer *a, const transfer *b)
{
	return a->tensor == b->tensor && a->dest == b->dest && a->hop == b->hop;
}

/* Transfer id under way in k; NULL: it is not. */
static const transfer *find_live(const snapshot *k, int32_t id)
{
	for (int32_t i = 0; i < k->n_way; i++)
		if (k->live[i].id == id)
			return &k->live[i].move;
	return NULL;
}

/* Is what is under way the same in both? A run numbers its transfers as they come. */
static bool same_what(const berth_incremental *n, const snapshot *k, int32_t now, int32_t then)
{
	if (now >= 0 || then >= 0)
		return now == then;
	const transfer *b = find_live(k, ~then);
	return b && same_transfer(&n->sim->moves[~now], b);
}

static bool same_event(const berth_incremental *n, const snapshot *k, event now, event then)
{
	return now.time - n->sim->now == then.time - k->now && same_what(n, k, now.what, then.what);
}

/* Do two pieces in pools go on alike? */
static bool same_piece(const berth_incremental *n, const snapshot *k, const pool_piece *now,
                       const pool_piece *then)
{
	int64_t shift = n->sim->now - k->now;
	return now->end_ns - then->end_ns == shift && now->since_ns - then->since_ns == shift &&
	       now->alone_ns - then->alone_ns == shift && now->work == then->work &&
	       now->speed == then->speed && same_what(n, k, now->what, then->what);
}

/* Is what is under way outside and inside of pools the same? */
static bool same_events(const berth_incremental *n, const snapshot *k)
{
	const berth_sim *s = n->sim;
	for (int32_t i = 0; i < s->n_heap; i++) {
		int32_t j = 0;
		while (j < k->n_heap && !same_event(n, k, s->heap[i], k->heap[j]))
			j++;
		if (j == k->n_heap)
			return false;
	}
	for (int32_t i = 0; i < k->n_pieces; i++) {
		int32_t j = 0;
		while (j < k->n_pieces && !same_piece(n, k, &s->share->piece[i], &k->piece[j]))
			j++;
		if (j == k->n_pieces)
			return false;
	}
	return true;
}

static bool same_queue(const berth_incremental *n, const snapshot *k, int32_t now, int32_t then)
{
	while (now >= 0 && then >= 0) {
		const transfer *a = &n->sim->moves[now], *b = find_live(k, then);
		if (!b || !same_transfer(a, b))
			return false;
		now = a->next;
		then = b->next;
	}
	return now < 0 && then < 0;
}

/* Do the two heaps of one device hold the same operators in the same order? Keys of fifo are instants, of
 * which only the order counts. */
static bool same_ready(const device *v, const uint64_t *then)
{
	for (int32_t i = 0; i < v->n_ready; i++) {
		int32_t before_now = 0, before_then = -1;
		for (int32_t k = 0; k < v->n_ready; k++) {
			before_now += v->ready[k] < v->ready[i];
			if ((uint32_t)then[k] != (uint32_t)v->ready[i])
				continue;
			before_then = 0;
			for (int32_t m = 0; m < v->n_ready; m++)
				before_then += then[m] < then[k];
		}
		if (before_now != before_then)
			return false;
	}
	return true;
}

/* Is the simulator's state that of k, but for the time? */
static bool same_state(const berth_incremental *n, const snapshot *k)
{
	const berth_problem *p = n->p;
	const berth_sim *s = n->sim;
	const uint64_t *ready = k->ready;
	int32_t n_pieces = s->share ? s->share->n_pieces : 0;
	if (s->n_heap != k->n_heap || n_pieces != k->n_pieces || k->n_heap + n_pieces > MAX_COMPARED ||
	    k->n_way > MAX_COMPARED)
		return false;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (s->dev[d].running != k->dev[d].running || s->dev[d].n_ready != k->dev[d].n_ready ||
		    s->dev[d].n_ready > MAX_COMPARED)
			return false;
	if (!same_events(n, k))
		return false;
	for (int32_t c = 0; c < p->s->n_channels; c++)
		if (s->chan[c].busy != k->chan[c].busy ||
		    !same_queue(n, k, s->chan[c].head, k->chan[c].head))
			return false;
	for (int32_t d = 0; d < p->n_devs; ready += s->dev[d++].n_ready)
		if (!same_ready(&s->dev[d], ready))
			return false;
	return memcmp(s->op_waits, k->op_waits, (size_t)p->n_ops * sizeof *k->op_waits) == 0;
}

/* The first end of a producer of a moved operator after time in the base. Where nothing differs, nothing does
 * until then; time -1: in all of the run. INT64_MAX: there is none. -1: a moved operator has all its inputs
 * and has not ended, which differs. */
static int64_t next_difference(const berth_incremental *n, int64_t time)
{
	const berth_graph *g = n->p->g;
	int64_t next = INT64_MAX;
	for (int32_t i = 0; i < n->n_moved; i++) {
		int32_t op = n->moved[i];
		bool made = true;
		BERTH_EACH (k, g->op_in_off, op) {
			int64_t end = n->base_end_ns[g->tensor_producer[g->in_tensor[k]]];
			made &= end <= time;
			if (end > time && end < next)
				next = end;
		}
		if (made && n->base_end_ns[op] > time)
			return -1;
	}
	return next;
}

/* Is an input of a moved operator on its way to any device in k? It may come to where the operator was, or
 * to where it is. */
static bool input_on_its_way(const berth_incremental *n, const snapshot *k)
{
	const berth_graph *g = n->p->g;
	for (int32_t l = 0; l < k->n_way; l++)
		for (int32_t i = 0; i < n->n_moved; i++)
			BERTH_EACH (j, g->op_in_off, n->moved[i])
				if (g->in_tensor[j] == k->live[l].move.tensor)
					return true;
	return false;
}

/* Have all consumers of what op makes ended by that time in the base? */
static bool is_used_up(const berth_incremental *n, int32_t op, int64_t time)
{
	const berth_graph *g = n->p->g;
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t)
			if (n->base_end_ns[g->edge_consumer[e]] > time)
				return false;
	return true;
}

/* Is any input of op made by that time in the base? */
static bool has_inputs(const berth_incremental *n, int32_t op, int64_t time)
{
	const berth_graph *g = n->p->g;
	BERTH_EACH (k, g->op_in_off, op)
		if (n->base_end_ns[g->tensor_producer[g->in_tensor[k]]] <= time)
			return true;
	return false;
}

/* The state equals that of a snapshot at that time. Are the same tensors held at the same places, and will be
 * until the next difference? Who has ended is the same in both, and so is what goes from where to where, but
 * for tensors that moved operators make, and those that they wait for. */
static bool holds_the_same(const berth_incremental *n, int64_t time)
{
	for (int32_t i = 0; i < n->n_moved; i++) {
		int32_t op = n->moved[i];
		if (n->base_end_ns[op] <= time ? !is_used_up(n, op, time) : has_inputs(n, op, time))
			return false;
	}
	return true;
}

static int64_t most_of(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Memory of what is skipped, from snapshot i to snapshot j: that of the base, and what is held more now, all
 * the time. */
static void skip_memory(berth_incremental *n, int32_t i, int32_t j)
{
	berth_sim *s = n->sim;
	sim_sum_pools(n->p, s->mem_bytes);
	for (int32_t r = 0; r < berth_n_resources(n->p); r++) {
		n->more_bytes[r] = s->mem_bytes[r] - n->snap[i].mem_bytes[r];
		for (int32_t k = i; k < j; k++)
			s->peak_bytes[r] =
				most_of(s->peak_bytes[r], n->snap[k].peak_from[r] + n->more_bytes[r]);
	}
	restore_memory(n, &n->snap[j]);
}

/* The state equals that of snapshot i. Go to the last snapshot before the next difference, or to the end of
 * the run. Returns the next snapshot that the run may meet. */
static int32_t skip(berth_incremental *n, int32_t i)
{
	berth_sim *s = n->sim;
	const snapshot *k = &n->snap[i], *to;
	int64_t shift = s->now - k->now, next = next_difference(n, k->now);
	int32_t j = next == INT64_MAX ? n->n_snaps : last_before(n, next);
	if (j <= i || input_on_its_way(n, k) || (s->track && !holds_the_same(n, k->now)))
		return i + 1;
	to = &n->snap[j];
	n->skipped++;
	if (s->track)
		skip_memory(n, i, j);
	for (size_t h = 0; h < s->n_sums; h++)
		s->sums[h] += to->sums[h] - k->sums[h];
	restore_state(n, to);
	s->now += shift;
	for (int32_t h = 0; h < s->n_heap; h++)
		s->heap[h].time += shift;
	if (s->share)
		pool_share_shift(s->share, shift);
	return j + 1;
}

/* ---- a run ---- */

/* Least time from the start of op to the end of the run. */
static int64_t tail_of(const berth_incremental *n, int32_t op, const int32_t *op_dev)
{
	const berth_problem *p = n->p;
	const berth_graph *g = p->g;
	int64_t longest = 0;
	BERTH_EACH (t, g->op_tensor_off, op)
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = g->edge_consumer[e];
			int64_t rest = berth_transfer_ns(p, t, op_dev[op], op_dev[to]) + n->tail_ns[to];
			longest = rest > longest ? rest : longest;
		}
	return berth_op_time(p, op, op_dev[op]) + longest;
}

/* From the present state to the end. next: the first snapshot that the run may meet. False: above the
 * limit. */
static bool finish(berth_incremental *n, int32_t next, int64_t limit_ns, berth_sim_result *out)
{
	berth_sim *s = n->sim;
	int32_t started = 0;
	s->limit_ns = limit_ns;
	while (s->n_heap) {
		if (s->over || s->heap[0].time > limit_ns)
			return false;
		sim_advance(s, true);
		n->rounds++;
		/* An operator that starts after all moved ones has none of them behind it: it has the tail
		 * that it had in the base. */
		for (; started < n->n_moved && s->start_ns[n->moved[started]] >= 0; started++)
			if (n->n_moved == 1 &&
			    s->start_ns[n->moved[0]] + tail_of(n, n->moved[0], s->op_dev) > limit_ns)
				return false;
		if (started == n->n_moved)
			s->tail_ns = n->tail_ns;
		if (!s->n_heap || s->heap[0].time == s->now)
			continue;
		while (next < n->n_snaps && n->snap[next].n_ended < s->n_ended)
			next++;
		if (next < n->n_snaps && n->snap[next].n_ended == s->n_ended && same_state(n, &n->snap[next]))
			next = skip(n, next);
	}
	s->tail_ns = NULL;
	if (s->over || s->now > limit_ns)
		return false;
	sim_conclude(s, out);
	return true;
}

static void check_equal(berth_incremental *n, const int32_t *op_dev, bool known, int64_t limit_ns,
                        const berth_sim_result *r)
{
	berth_sim_result full;
	if (!BERTH_DEBUG)
		return;
	berth_sim_use_keys(n->check, n->op_key);
	berth_sim_run(n->check, op_dev, NULL, &full);
	assert(known ? full.runs == r->runs : full.runs && full.latency_ns > limit_ns);
	if (known && full.runs)
		assert(full.latency_ns == r->latency_ns && full.fits == r->fits &&
		       memcmp(&full.load_s, &r->load_s, sizeof full.load_s) == 0 &&
		       memcmp(&full.energy_j, &r->energy_j, sizeof full.energy_j) == 0 &&
		       memcmp(&full.excess, &r->excess, sizeof full.excess) == 0);
}

static bool full_run(berth_incremental *n, const int32_t *op_dev, int64_t limit_ns, berth_sim_result *out)
{
	berth_sim_result r;
	berth_sim_run(n->sim, op_dev, NULL, &r);
	if (r.runs && r.latency_ns > limit_ns)
		return false;
	*out = r;
	return true;
}

/* From the beginning. False: an operator cannot run where it sits. */
static bool begin_fresh(berth_incremental *n, const int32_t *op_dev)
{
	n->sim->sure_to_fit = !n->follows_memory;
	bool runs = sim_begin(n->sim, op_dev, NULL);
	n->sim->sure_to_fit = false;
	return runs;
}

/* The base with the moved operators where op_dev has them, where they can run. */
static bool run_moved(berth_incremental *n, const int32_t *op_dev, int64_t limit_ns, berth_sim_result *out)
{
	int32_t i = last_before(n, next_difference(n, -1));
	if (!n->follows_memory && !sure_to_fit(n))
		return full_run(n, op_dev, limit_ns, out);
	if (i < 0) {
		forget_moved(n);
		begin_fresh(n, op_dev);
		return finish(n, 0, limit_ns, out);
	}
	if (n->follows_memory)
		count_bytes(n, op_dev);
	restore(n, &n->snap[i], op_dev);
	return finish(n, i + 1, limit_ns, out);
}

bool berth_incremental_run(berth_incremental *n, const int32_t *op_dev, int64_t limit_ns,
                           berth_sim_result *out)
{
	bool known = true;
	berth_sim_result r = {0};
	berth_sim_use_keys(n->sim, n->op_key);
	if (!works(n) || n->base_keyed != (n->op_key != NULL))
		return full_run(n, op_dev, limit_ns, out);
	assert(n->has_base);
	find_moved(n, op_dev);
	if (can_run(n, op_dev))
		known = run_moved(n, op_dev, limit_ns, &r);
	check_equal(n, op_dev, known, limit_ns, &r);
	if (known)
		*out = r;
	return known;
}

/* ---- the base ---- */

/* The last snapshot of a base whose memory is followed; NULL: none. While the base runs on, the simulator's
 * peaks are those since then. */
static snapshot *last_with_memory(const berth_incremental *n)
{
	return n->sim->track && n->n_snaps ? &n->snap[n->n_snaps - 1] : NULL;
}

static void begin_stretch(berth_incremental *n)
{
	berth_sim *s = n->sim;
	if (!last_with_memory(n))
		return;
	sim_sum_pools(n->p, s->mem_bytes);
	BERTH_COPY(s->peak_bytes, s->mem_bytes, berth_n_resources(n->p));
}

/* Now the simulator's peaks are those since the beginning. */
static void end_stretch(berth_incremental *n)
{
	const snapshot *from = last_with_memory(n);
	int64_t *peak = n->sim->peak_bytes;
	for (int32_t i = 0; from && i < berth_n_resources(n->p); i++) {
		from->peak_from[i] = most_of(from->peak_from[i], peak[i]);
		peak[i] = most_of(from->peak_bytes[i], from->peak_from[i]);
	}
}

/* From the present state, that of the last snapshot if there is one, to the end, leaving snapshots. */
static void record(berth_incremental *n)
{
	const berth_problem *p = n->p;
	berth_sim *s = n->sim;
	int32_t step = p->n_ops / n->max_snaps + 1;
	int32_t due = n->n_snaps ? n->snap[n->n_snaps - 1].n_ended + step : 0;
	/* The log goes on behind what was logged before the last snapshot. Only runs of the base are
	 * logged. */
	const snapshot *last = n->n_snaps ? &n->snap[n->n_snaps - 1] : NULL;
	n->sim->hops = n->hops;
	n->sim->ends = n->ends;
	n->sim->n_hops = last ? (size_t)last->n_hops : 0;
	n->sim->n_ends = last ? last->n_ends : 0;
	begin_stretch(n);
	for (; s->n_heap; n->rounds++) {
		if (s->n_ended >= due && s->heap[0].time > s->now && n->n_snaps < n->max_snaps) {
			end_stretch(n);
			n->n_snaps += take(n, &n->snap[n->n_snaps]);
			begin_stretch(n);
			due = s->n_ended + step;
		}
		sim_advance(s, true);
	}
	end_stretch(n);
	take(n, &n->snap[n->n_snaps]); /* no list has anything now: the store has room */
	n->log = (berth_base_log){.serial = n->log.serial + 1,
	                          .op_dev = n->base_dev,
	                          .op_key = n->base_keyed ? n->base_key : NULL,
	                          .start_ns = n->base_start_ns,
	                          .end_ns = n->base_end_ns,
	                          .ends = n->ends,
	                          .n_ends = n->sim->n_ends,
	                          .hops = n->hops,
	                          .latency_ns = n->sim->now};
	n->sim->hops = NULL;
	n->sim->ends = NULL;
}

/* Keep the snapshots up to i, which hold for the new base too, and go on from there. */
static void resume(berth_incremental *n, int32_t i, const int32_t *op_dev)
{
	snapshot *last = &n->snap[i];
	n->n_snaps = i + 1;
	n->store_used = (size_t)((unsigned char *)(last->ready + last->n_ready) - n->store);
	/* those of runs since then are over */
	BERTH_CLEAR(n->sim->moves, last->n_moves);
	restore(n, last, op_dev);
	for (snapshot *k = n->snap; k <= last && n->follows_memory; k++)
		for (int32_t r = 0; r < berth_n_resources(n->p); r++) {
			k->mem_bytes[r] += n->more_bytes[r];
			k->peak_bytes[r] += n->more_bytes[r];
			k->peak_from[r] = k == last ? 0 : k->peak_from[r] + n->more_bytes[r];
		}
	for (int32_t k = 0; k < n->n_moved; k++) {
		int32_t op = n->moved[k];
		n->base_ops[n->base_dev[op]]--;
		n->base_ops[op_dev[op]]++;
		n->base_dev[op] = op_dev[op];
		n->base_key[op] = n->op_key ? n->op_key[op] : 0;
	}
	n->sim->op_dev = n->base_dev;
	count_ever(n);
}

static void keep_keys(berth_incremental *n)
{
	n->base_keyed = n->op_key != NULL;
	if (n->base_keyed)
		BERTH_COPY(n->base_key, n->op_key, n->p->n_ops);
}

static bool start_base(berth_incremental *n, const int32_t *op_dev)
{
	n->n_snaps = n->n_moved = 0;
	n->store_used = 0;
	BERTH_COPY(n->base_dev, op_dev, n->p->n_ops);
	keep_keys(n);
	count_ever(n);
	n->follows_memory = !sure_to_fit(n);
	bool runs = begin_fresh(n, n->base_dev);
	BERTH_CLEAR(n->base_ops, n->p->n_devs);
	for (int32_t op = 0; op < n->p->n_ops; op++)
		n->base_ops[n->base_dev[op]]++;
	return runs;
}

bool berth_incremental_base(berth_incremental *n, const int32_t *op_dev, berth_sim_result *out)
{
	int32_t i = -1;
	*out = (berth_sim_result){0};
	berth_sim_use_keys(n->sim, n->op_key);
	if (!works(n)) {
		BERTH_COPY(n->base_dev, op_dev, n->p->n_ops);
		keep_keys(n);
		berth_sim_run(n->sim, op_dev, NULL, out);
		return n->has_base = out->runs;
	}
	if (n->has_base && n->base_keyed == (n->op_key != NULL)) {
		find_moved(n, op_dev);
		i = can_run(n, op_dev) && (n->follows_memory || sure_to_fit(n))
		            ? last_before(n, next_difference(n, -1))
		            : -1;
	}
	n->has_base = false;
	if (i >= 0) {
		if (n->follows_memory)
			count_bytes(n, op_dev);
		/* times of operators before the snapshot are those of the base before */
		BERTH_COPY(n->sim->start_ns, n->base_start_ns, n->p->n_ops);
		BERTH_COPY(n->sim->end_ns, n->base_end_ns, n->p->n_ops);
		resume(n, i, op_dev);
	} else if (!start_base(n, op_dev)) {
		return false;
	}
	record(n);
	sim_conclude(n->sim, out);
	/* Times and tails of the base whose run has ended. */
	const berth_problem *p = n->p;
	const berth_sim *s = n->sim;
	BERTH_COPY(n->base_start_ns, s->start_ns, p->n_ops);
	BERTH_COPY(n->base_end_ns, s->end_ns, p->n_ops);
	BERTH_COPY(n->base_time_ns, s->dev_time_ns, p->n_devs);
	for (int32_t k = p->n_ops - 1; k >= 0; k--)
		n->tail_ns[p->g->topo_op[k]] = tail_of(n, p->g->topo_op[k], n->base_dev);
	n->has_base = true;
	check_equal(n, op_dev, true, INT64_MAX, out);
	return true;
}

bool berth_incremental_has_base(const berth_incremental *n)
{
	return n->has_base && n->base_keyed == (n->op_key != NULL);
}

const berth_base_log *berth_incremental_log(const berth_incremental *n)
{
	return n->ends && works(n) && berth_incremental_has_base(n) ? &n->log : NULL;
}

bool berth_incremental_is_base(const berth_incremental *n, const int32_t *op_dev)
{
	size_t ops = (size_t)n->p->n_ops;
	return berth_incremental_has_base(n) && memcmp(n->base_dev, op_dev, ops * sizeof *op_dev) == 0 &&
	       (!n->op_key || memcmp(n->base_key, n->op_key, ops * sizeof *n->op_key) == 0);
}

void berth_incremental_use_keys(berth_incremental *n, const uint32_t *op_key)
{
	n->op_key = op_key;
}

int64_t berth_incremental_rounds(const berth_incremental *n)
{
	return n->rounds;
}

int64_t berth_incremental_skipped(const berth_incremental *n)
{
	return n->skipped;
}
