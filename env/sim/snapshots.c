/* A snapshot copies the arrays of a simulator, and of what is under way only what it needs to go on. Two
 * states are alike if they go on alike: transfers are numbered as a run comes by them, so those are told
 * apart by what they carry. */
#include "snapshots.h"

enum { MAX_SNAPSHOTS = 64, MANY_OPS = 20000, SNAPSHOTS_OF_MANY = 16, MAX_COMPARED = 64 };

/* Counters of what each operator waits for; where memory is followed, what is held, too. */
static size_t n_waits(const berth_sim *s, bool memory)
{
	const berth_graph *g = s->p->g;
	return (size_t)g->n_ops + (memory ? (size_t)g->n_tensors + (size_t)g->n_edges : 0);
}

berth_status snapshots_new(berth_sim *sim, bool none, berth_arena *mem, snapshots *out, berth_err *err)
{
	const berth_problem *p = sim->p;
	bool many = p->n_ops > MANY_OPS;
	*out = (snapshots){.sim = sim, .most = none ? 0 : many ? SNAPSHOTS_OF_MANY : MAX_SNAPSHOTS};
	size_t count = (size_t)out->most + 1, resources = (size_t)berth_n_resources(p),
	       waits = n_waits(sim, !p->memory_free), things = (size_t)p->n_ops + (size_t)p->g->n_edges;
	snapshot k = {0};
	out->store_size = none ? 0 : 16384 + (many ? 16u : 96u) * things;
	BERTH_TRY_NEW(mem, out->store_size, err, out->store);
	BERTH_TRY_NEW(mem, (count + 1) * resources, err, out->peak_bytes);
	BERTH_TRY_NEW(mem, count, err, out->at);
	BERTH_TRY_NEW(mem, count * waits, err, k.waits);
	BERTH_TRY_NEW(mem, count * (size_t)p->n_devs, err, k.dev);
	BERTH_TRY_NEW(mem, count * (size_t)p->s->n_channels, err, k.chan);
	BERTH_TRY_NEW(mem, count * sim->n_sums, err, k.sums);
	BERTH_TRY_NEW(mem, count * resources, err, k.mem_bytes);
	for (size_t i = 0; i < count; i++) {
		out->at[i] = k;
		k.waits += waits;
		k.dev += p->n_devs;
		k.chan += p->s->n_channels;
		k.sums += sim->n_sums;
		k.mem_bytes += resources;
	}
	return BERTH_OK;
}

/* ---- taken ---- */

static bool is_under_way(const transfer *m)
{
	return m->hop < m->hop_end;
}

/* Is it delivered, and still holds memory? */
static bool is_held(const berth_sim *s, const transfer *m)
{
	return s->track && !is_under_way(m) && m->uses_left > 0;
}

static void count_lists(const berth_sim *s, snapshot *k)
{
	k->n_heap = s->n_heap;
	k->n_pieces = s->share ? s->share->n_pieces : 0;
	k->n_way = k->n_live = k->n_ready = 0;
	for (int32_t i = 0; i < s->n_moves; i++) {
		k->n_way += is_under_way(&s->moves[i]);
		k->n_live += is_under_way(&s->moves[i]) || is_held(s, &s->moves[i]);
	}
	for (int32_t d = 0; d < s->p->n_devs; d++)
		k->n_ready += s->dev[d].n_ready;
}

/* What differs in length, behind what the store holds. False where it has no room. */
static bool store_lists(snapshots *q, snapshot *k)
{
	const berth_sim *s = q->sim;
	int32_t way = 0, held = 0, ready = 0;
	count_lists(s, k);
	size_t bytes = (size_t)k->n_heap * sizeof *k->heap + (size_t)k->n_pieces * sizeof *k->piece +
	               (size_t)k->n_live * sizeof *k->live + (size_t)k->n_ready * sizeof *k->ready;
	if (bytes > q->store_size - q->store_used)
		return false;
	k->heap = (void *)(q->store + q->store_used);
	k->piece = (void *)(k->heap + k->n_heap);
	k->live = (void *)(k->piece + k->n_pieces);
	k->ready = (void *)(k->live + k->n_live);
	q->store_used += bytes;
	BERTH_COPY(k->heap, s->heap, k->n_heap);
	if (s->share)
		BERTH_COPY(k->piece, s->share->piece, k->n_pieces);
	for (int32_t i = 0; i < s->n_moves; i++)
		if (is_under_way(&s->moves[i]))
			k->live[way++] = (live_move){i, s->moves[i]};
		else if (is_held(s, &s->moves[i]))
			k->live[k->n_way + held++] = (live_move){i, s->moves[i]};
	for (int32_t d = 0; d < s->p->n_devs; ready += s->dev[d++].n_ready)
		BERTH_COPY(k->ready + ready, s->dev[d].ready, s->dev[d].n_ready);
	return true;
}

bool snapshots_take(snapshots *q)
{
	snapshot *k = &q->at[q->n];
	berth_sim *s = q->sim;
	const berth_problem *p = s->p;
	int32_t resources = berth_n_resources(p);
	if (!store_lists(q, k))
		return false;
	k->now = s->now;
	k->instant = s->instant;
	k->n_ended = s->n_ended;
	k->n_moves = s->n_moves;
	k->n_hops = s->n_hops;
	k->n_ends = s->n_ends;
	BERTH_COPY(k->waits, s->op_waits, n_waits(s, s->track));
	BERTH_COPY(k->dev, s->dev, p->n_devs);
	BERTH_COPY(k->chan, s->chan, p->s->n_channels);
	BERTH_COPY(k->sums, s->sums, s->n_sums);
	if (!s->track)
		return true;
	sim_sum_pools(p, s->mem_bytes);
	BERTH_COPY(k->mem_bytes, s->mem_bytes, resources);
	BERTH_COPY(BERTH_ROW(q->peak_bytes, q->n, resources), s->peak_bytes, resources);
	return true;
}

void snapshots_keep(snapshots *q, int32_t n)
{
	q->n = n;
	const snapshot *last = n ? &q->at[n - 1] : NULL;
	q->store_used = last ? (size_t)((unsigned char *)(last->ready + last->n_ready) - q->store) : 0;
}

int32_t snapshots_before(const snapshots *q, int64_t time)
{
	int32_t i = q->n - 1;
	while (i >= 0 && q->at[i].now >= time)
		i--;
	return i;
}

/* ---- put back ---- */

void snapshot_restore(berth_sim *s, const snapshot *k)
{
	const uint64_t *ready = k->ready;
	s->now = k->now;
	s->instant = k->instant;
	s->n_ended = k->n_ended;
	s->n_moves = k->n_moves;
	s->n_heap = k->n_heap;
	s->n_pending = s->n_dirty_dev = s->n_dirty_chan = 0;
	BERTH_COPY(s->op_waits, k->waits, n_waits(s, s->track));
	BERTH_COPY(s->chan, k->chan, s->p->s->n_channels);
	BERTH_COPY(s->heap, k->heap, k->n_heap);
	if (s->share)
		pool_share_set(s->share, k->piece, k->n_pieces);
	for (int32_t i = 0; i < k->n_live; i++)
		s->moves[k->live[i].id] = k->live[i].move;
	for (int32_t d = 0; d < s->p->n_devs; ready += s->dev[d++].n_ready) {
		uint64_t *room = s->dev[d].ready;
		s->dev[d] = k->dev[d];
		s->dev[d].ready = room;
		BERTH_COPY(room, ready, s->dev[d].n_ready);
	}
}

/* ---- compared ---- */

/* Are transfer `now` of the simulator and transfer `then` of the snapshot the same, under way? It is returned
 * as the snapshot has it; NULL: they are not. */
static const transfer *same_move(const berth_sim *s, const snapshot *k, int32_t now, int32_t then)
{
	const transfer *a = &s->moves[now];
	for (int32_t i = 0; i < k->n_way; i++)
		if (k->live[i].id == then) {
			const transfer *b = &k->live[i].move;
			return a->tensor == b->tensor && a->dest == b->dest && a->hop == b->hop ? b : NULL;
		}
	return NULL;
}

/* Is what ends an operator, or a transfer, that is the same? */
static bool same_what(const berth_sim *s, const snapshot *k, int32_t now, int32_t then)
{
	return now >= 0 || then >= 0 ? now == then : same_move(s, k, ~now, ~then) != NULL;
}

static bool same_event(const berth_sim *s, const snapshot *k, const event *now, const event *then)
{
	return now->time - s->now == then->time - k->now && same_what(s, k, now->what, then->what);
}

static bool same_piece(const berth_sim *s, const snapshot *k, const pool_piece *now, const pool_piece *then)
{
	int64_t shift = s->now - k->now;
	return now->end_ns - then->end_ns == shift && now->since_ns - then->since_ns == shift &&
	       now->alone_ns - then->alone_ns == shift && now->work == then->work &&
	       now->speed == then->speed && same_what(s, k, now->what, then->what);
}

/* Is all that is under way, outside and inside of pools, in the snapshot? */
static bool same_events(const berth_sim *s, const snapshot *k)
{
	for (int32_t i = 0; i < s->n_heap; i++) {
		int32_t j = 0;
		while (j < k->n_heap && !same_event(s, k, &s->heap[i], &k->heap[j]))
			j++;
		if (j == k->n_heap)
			return false;
	}
	for (int32_t i = 0; i < k->n_pieces; i++) {
		int32_t j = 0;
		while (j < k->n_pieces && !same_piece(s, k, &s->share->piece[i], &k->piece[j]))
			j++;
		if (j == k->n_pieces)
			return false;
	}
	return true;
}

static bool same_queue(const berth_sim *s, const snapshot *k, int32_t now, int32_t then)
{
	while (now >= 0 && then >= 0) {
		const transfer *b = same_move(s, k, now, then);
		if (!b)
			return false;
		now = s->moves[now].next;
		then = b->next;
	}
	return now < 0 && then < 0;
}

static int32_t n_before(const uint64_t *ready, int32_t n, uint64_t key)
{
	int32_t before = 0;
	for (int32_t i = 0; i < n; i++)
		before += ready[i] < key;
	return before;
}

/* Do the two heaps of one device hold the same operators in the same order? Keys of fifo are instants, of
 * which only the order counts. */
static bool same_ready(const device *v, const uint64_t *then)
{
	for (int32_t i = 0; i < v->n_ready; i++) {
		int32_t k = 0;
		while (k < v->n_ready && (uint32_t)then[k] != (uint32_t)v->ready[i])
			k++;
		if (k == v->n_ready ||
		    n_before(v->ready, v->n_ready, v->ready[i]) != n_before(then, v->n_ready, then[k]))
			return false;
	}
	return true;
}

bool snapshot_is_like(const berth_sim *s, const snapshot *k)
{
	const berth_problem *p = s->p;
	const uint64_t *ready = k->ready;
	int32_t n_pieces = s->share ? s->share->n_pieces : 0;
	if (s->n_heap != k->n_heap || n_pieces != k->n_pieces || k->n_heap + n_pieces > MAX_COMPARED ||
	    k->n_way > MAX_COMPARED)
		return false;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (s->dev[d].running != k->dev[d].running || s->dev[d].n_ready != k->dev[d].n_ready ||
		    s->dev[d].n_ready > MAX_COMPARED)
			return false;
	if (!same_events(s, k))
		return false;
	for (int32_t c = 0; c < p->s->n_channels; c++)
		if (s->chan[c].busy != k->chan[c].busy ||
		    !same_queue(s, k, s->chan[c].head, k->chan[c].head))
			return false;
	for (int32_t d = 0; d < p->n_devs; ready += s->dev[d++].n_ready)
		if (!same_ready(&s->dev[d], ready))
			return false;
	return memcmp(s->op_waits, k->waits, n_waits(s, false) * sizeof *k->waits) == 0;
}
