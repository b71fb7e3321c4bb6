/* The reference simulator: discrete events, in instants. Each instant is rounds of two phases: all ends that
 * are due, then all starts; zero durations give further rounds of the same instant.
 *
 *   events    A binary heap of (time, what ends): an operator or a hop.
 *   devices   Each has a heap of ready operators, keyed by the order rule. Program and given hold back all
 *             but the next one.
 *   channels  Each has a list of waiting transfers, sorted by (request instant, tensor, destination). With
 *             no contention none waits. In program order the list is sorted by places in the channel's
 *             sequence, which is known beforehand, and all but the next one are held back.
 *   pools     What goes through a memory pool is under way in sim_pools.c in the place of the heap, as its
 *             end moves when others come and go. It goes into the heap when it is what ends next.
 *
 * Instants are numbered, so that (instant, index) packs into 64 bits and orders as (time, index) does. */
#include "sim_state.h"

#include "cost_model.h"
#include "sort.h"

/* ---- set-up ---- */

static berth_status new_arrays(berth_sim *s, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = s->p->g;
	size_t ops = (size_t)g->n_ops, edges = (size_t)g->n_edges, devs = (size_t)s->p->n_devs,
	       chans = (size_t)s->p->s->n_channels;
	BERTH_TRY_NEW(mem, ops, err, s->op_n_in, s->op_start_bytes, s->op_seq, s->seq_op, s->ready_store,
	              s->start_seq, s->start_ns, s->end_ns);
	BERTH_TRY_NEW(mem, edges, err, s->moves, s->pending);
	BERTH_TRY_NEW(mem, ops + (size_t)g->n_tensors + edges, err, s->op_waits);
	s->tensor_holds = s->op_waits + ops;
	s->in_move = s->tensor_holds + g->n_tensors;
	BERTH_TRY_NEW(mem, ops + edges, err, s->heap);
	BERTH_TRY_NEW(mem, devs, err, s->dev, s->dest_move, s->dirty_dev, s->dev_time_ns, s->told_bytes);
	BERTH_TRY_NEW(mem, berth_n_resources(s->p), err, s->mem_bytes, s->peak_bytes);
	BERTH_TRY_NEW(mem, chans, err, s->chan, s->dirty_chan);
	if (s->places) {
		BERTH_TRY_NEW(mem, berth_sim_max_hops(s->p), err, s->hop_place);
		BERTH_TRY_NEW(mem, g->n_tensors, err, s->tensor_place);
	}
	s->n_sums = chans + (size_t)s->p->s->n_links + (size_t)s->p->n_pools + devs;
	BERTH_TRY_NEW(mem, s->n_sums, err, s->sums);
	s->chan_ns = s->sums;
	s->link_bytes = s->chan_ns + chans;
	s->pool_ns = s->link_bytes + s->p->s->n_links;
	s->dev_slow_ns = s->pool_ns + s->p->n_pools;
	return BERTH_OK;
}

berth_status berth_sim_new(const berth_problem *p, berth_arena *mem, berth_sim **out, berth_err *err)
{
	const berth_graph *g = p->g;
	berth_sim *s;
	BERTH_TRY_NEW(mem, 1, err, s);
	s->p = p;
	s->places = p->s->contention && p->s->channel_order == BERTH_CHANNELS_PROGRAM;
	BERTH_TRY(new_arrays(s, mem, err));
	BERTH_TRY(pool_share_new(p, mem, &s->share, err));
	for (int32_t op = 0; op < g->n_ops; op++) {
		s->op_n_in[op] = g->op_in_off[op + 1] - g->op_in_off[op];
		s->op_start_bytes[op] = g->op_output_bytes[op] + g->op_workspace_bytes[op];
		BERTH_EACH (t, g->op_tensor_off, op)
			s->op_start_bytes[op] += g->tensor_bytes[t];
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		s->dest_move[d] = -1;
	if (p->s->cost_model->run)
		BERTH_TRY(p->s->cost_model->new_scratch(p, mem, &s->cost_scratch, err));
	*out = s;
	return BERTH_OK;
}

void berth_sim_want_peaks(berth_sim *s, bool peaks)
{
	s->want_peaks = peaks;
}

void berth_sim_use_keys(berth_sim *s, const uint32_t *op_key)
{
	s->op_key = op_key;
}

bool berth_keys_work(const berth_problem *p)
{
	return p->s->cost_model->has_orders &&
	       !(p->s->contention && p->s->channel_order == BERTH_CHANNELS_PROGRAM);
}

void berth_sim_want_hops(berth_sim *s, berth_sim_hop *hops)
{
	s->hops = hops;
}

void berth_sim_want_memory(berth_sim *s, berth_sim_holds *holds, void *ctx)
{
	s->want_peaks |= holds != NULL;
	s->holds = holds;
	s->holds_ctx = ctx;
	for (int32_t d = 0; d < s->p->n_devs; d++)
		s->told_bytes[d] = -1;
}

size_t berth_sim_max_hops(const berth_problem *p)
{
	int32_t longest = 1;
	for (int32_t r = 0; r < p->n_routes; r++)
		if (p->route_off[r + 1] - p->route_off[r] > longest)
			longest = p->route_off[r + 1] - p->route_off[r];
	return (size_t)p->g->n_edges * (size_t)longest;
}

/* ---- the two kinds of heap ---- */

static bool ends_before(const void *ctx, const void *a, const void *b)
{
	(void)ctx;
	return ((const event *)a)->time < ((const event *)b)->time;
}

static bool starts_before(const void *ctx, const void *a, const void *b)
{
	(void)ctx;
	return *(const uint64_t *)a < *(const uint64_t *)b;
}

void sim_event_push(berth_sim *s, int64_t time, int32_t what)
{
	event new = {time, what};
	berth_heap_push(s->heap, (size_t)s->n_heap++, sizeof new, &new, ends_before, NULL);
}

/* ---- ends ---- */

static void touch_dev(berth_sim *s, int32_t d)
{
	if (!s->dev[d].dirty) {
		s->dev[d].dirty = true;
		s->dirty_dev[s->n_dirty_dev++] = d;
	}
}

static void touch_chan(berth_sim *s, int32_t c)
{
	if (!s->chan[c].dirty) {
		s->chan[c].dirty = true;
		s->dirty_chan[s->n_dirty_chan++] = c;
	}
}

/* Every input is there: into the ready heap of its device. The upper half of the key is that of the order
 * rule, the lower half the operator's place. */
static void make_ready(berth_sim *s, int32_t op)
{
	const berth_problem *p = s->p;
	int32_t d = s->op_dev[op];
	uint64_t key;
	if (s->by_sequence)
		key = (uint64_t)(uint32_t)s->op_seq[op];
	else if (s->op_key)
		key = (uint64_t)s->op_key[op] << 32 | (uint32_t)p->g->op_topo[op];
	else if (s->fifo)
		key = s->instant << 32 | (uint32_t)p->g->op_topo[op];
	else
		key = (uint64_t)(uint32_t)p->op_prio[op];
	berth_heap_push(s->dev[d].ready, (size_t)s->dev[d].n_ready++, sizeof key, &key, starts_before, NULL);
	touch_dev(s, d);
}

static void input_arrived(berth_sim *s, int32_t op)
{
	if (--s->op_waits[op] == 0)
		make_ready(s, op);
}

static int32_t channel_of(const berth_sim *s, const transfer *m)
{
	return s->p->s->link_channel[s->p->route_link[m->hop]];
}

/* Queue the present hop of the transfer, sorted by request instant, tensor, destination. Requests come in
 * order of time, so only those of the same instant are ever passed. */
static void request_hop(berth_sim *s, int32_t id)
{
	transfer *m = &s->moves[id];
	m->key = s->instant << 32 | (uint32_t)m->tensor;
	m->request_ns = s->now;
	if (!s->p->s->contention) {
		s->pending[s->n_pending++] = id;
		return;
	}
	if (s->places)
		m->key = (uint64_t)(uint32_t)s->hop_place[m->place + m->hop];
	int32_t c = channel_of(s, m), after = s->chan[c].tail;
	while (after >= 0 && (s->moves[after].key > m->key ||
	                      (s->moves[after].key == m->key && s->moves[after].dest > m->dest)))
		after = s->moves[after].prev;
	m->prev = after;
	m->next = after >= 0 ? s->moves[after].next : s->chan[c].head;
	if (after >= 0)
		s->moves[after].next = id;
	else
		s->chan[c].head = id;
	if (m->next >= 0)
		s->moves[m->next].prev = id;
	else
		s->chan[c].tail = id;
	touch_chan(s, c);
}

/* Where the hops of the transfers from first on, all of one tensor, stand in hop_place. */
static void find_places(berth_sim *s, int32_t first)
{
	for (int32_t i = first; i < s->n_moves; i++) {
		transfer *m = &s->moves[i];
		m->place = s->tensor_place[m->tensor] - m->hop;
		for (int32_t k = first; k < s->n_moves; k++)
			if (s->moves[k].dest < m->dest)
				m->place += s->moves[k].hop_end - s->moves[k].hop;
	}
}

/* The tensor was made on its producer's device. Consumers there get it; one transfer is requested to each
 * other device that takes it. */
static void tensor_made(berth_sim *s, int32_t t, int32_t home)
{
	const berth_problem *p = s->p;
	const berth_graph *g = p->g;
	int32_t first = s->n_moves, local = 0;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t op = g->edge_consumer[e], d = s->op_dev[op];
		int32_t in = p->edge_in_pos[e];
		if (d == home) {
			s->in_move[in] = -1;
			local++;
			input_arrived(s, op);
			continue;
		}
		if (s->dest_move[d] < 0) {
			int32_t r = berth_route(p, t, home, d);
			s->dest_move[d] = s->n_moves;
			s->moves[s->n_moves++] = (transfer){.tensor = t,
			                                    .dest = d,
			                                    .hop = p->route_off[r],
			                                    .hop_end = p->route_off[r + 1]};
		}
		s->in_move[in] = s->dest_move[d];
		s->moves[s->dest_move[d]].uses_left++;
	}
	s->tensor_holds[t] = local + s->n_moves - first;
	if (s->places)
		find_places(s, first);
	for (int32_t id = first; id < s->n_moves; id++) {
		s->dest_move[s->moves[id].dest] = -1;
		request_hop(s, id);
	}
}

/* A consumer has ended: its inputs may go. */
static void release_inputs(berth_sim *s, int32_t op)
{
	const berth_graph *g = s->p->g;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], id = s->in_move[i];
		int32_t *left = id < 0 ? &s->tensor_holds[t] : &s->moves[id].uses_left;
		if (--*left == 0)
			s->mem_bytes[s->op_dev[op]] -= g->tensor_bytes[t];
	}
}

static void end_op(berth_sim *s, int32_t op)
{
	const berth_graph *g = s->p->g;
	int32_t d = s->op_dev[op];
	s->end_ns[op] = s->now;
	s->n_ended++;
	if (s->ends)
		s->ends[s->n_ends++] = op;
	s->dev[d].running--;
	touch_dev(s, d);
	BERTH_EACH (t, g->op_tensor_off, op)
		tensor_made(s, t, d);
	if (s->track) {
		s->mem_bytes[d] -= g->op_workspace_bytes[op];
		release_inputs(s, op);
	}
}

/* The tensor is at its destination: hand it to the consumers there. */
static void deliver(berth_sim *s, const transfer *m)
{
	const berth_graph *g = s->p->g;
	BERTH_EACH (e, g->tensor_use_off, m->tensor)
		if (s->op_dev[g->edge_consumer[e]] == m->dest)
			input_arrived(s, g->edge_consumer[e]);
}

static bool is_first_hop(const berth_sim *s, const transfer *m)
{
	return s->p->s->link_from[s->p->route_link[m->hop]] == s->op_dev[s->p->g->tensor_producer[m->tensor]];
}

static void end_hop(berth_sim *s, int32_t id)
{
	const berth_problem *p = s->p;
	transfer *m = &s->moves[id];
	int32_t link = p->route_link[m->hop];
	if (p->s->contention) {
		int32_t c = p->s->link_channel[link];
		s->chan[c].busy = false;
		touch_chan(s, c);
	}
	if (s->ends)
		s->ends[s->n_ends++] = ~(int32_t)s->n_hops;
	if (s->hops)
		s->hops[s->n_hops++] =
			(berth_sim_hop){m->tensor, m->dest, link, m->request_ns, m->start_ns, s->now};
	if (s->track && is_first_hop(s, m) && --s->tensor_holds[m->tensor] == 0)
		s->mem_bytes[p->s->link_from[link]] -= p->g->tensor_bytes[m->tensor];
	if (++m->hop < m->hop_end)
		request_hop(s, id);
	else
		deliver(s, m);
}

/* ---- starts ---- */

/* Of device or pool i. */
static void note_peak(berth_sim *s, int32_t i)
{
	if (s->mem_bytes[i] > s->peak_bytes[i])
		s->peak_bytes[i] = s->mem_bytes[i];
}

/* All starts of the round are made. */
static void note_pool_peaks(berth_sim *s)
{
	sim_sum_pools(s->p, s->mem_bytes);
	for (int32_t i = s->p->n_devs; i < berth_n_resources(s->p); i++)
		note_peak(s, i);
}

static void tell_memory(berth_sim *s)
{
	for (int32_t d = 0; d < s->p->n_devs; d++)
		if (s->mem_bytes[d] != s->told_bytes[d]) {
			s->told_bytes[d] = s->mem_bytes[d];
			s->holds(s->holds_ctx, s->now, d, s->mem_bytes[d]);
		}
}

static void start_op(berth_sim *s, int32_t op, int32_t d)
{
	int64_t time = berth_op_time(s->p, op, d);
	s->dev[d].running++;
	s->dev[d].n_started++;
	s->start_ns[op] = s->now;
	s->start_seq[op] = s->n_starts++;
	if (s->tail_ns && s->now + s->tail_ns[op] > s->limit_ns)
		s->over = true;
	if (s->track)
		s->mem_bytes[d] += s->op_start_bytes[op];
	if (!s->share || !sim_start_op_in_pool(s, op, d, time))
		sim_event_push(s, s->now + time, op);
}

static void start_ops(berth_sim *s, int32_t d)
{
	device *v = &s->dev[d];
	int32_t slots = s->p->s->dev_slots[d];
	while (v->n_ready && v->running < slots) {
		uint32_t place = (uint32_t)v->ready[0];
		if (s->by_sequence && place != (uint32_t)(v->first + v->n_started))
			break;
		berth_heap_pop(v->ready, (size_t)v->n_ready--, sizeof *v->ready, starts_before, NULL);
		start_op(s, s->key_op[place], d);
	}
	v->dirty = false;
}

static void start_hop(berth_sim *s, int32_t id)
{
	const berth_problem *p = s->p;
	transfer *m = &s->moves[id];
	int32_t link = p->route_link[m->hop];
	int64_t time = berth_hop_ns(p, m->tensor, link);
	m->start_ns = s->now;
	s->chan_ns[p->s->link_channel[link]] += time;
	s->link_bytes[link] += p->g->tensor_bytes[m->tensor];
	if (s->track && is_first_hop(s, m)) {
		s->mem_bytes[m->dest] += p->g->tensor_bytes[m->tensor];
		touch_dev(s, m->dest);
	}
	if (!s->share || !sim_start_hop_in_pools(s, id, time))
		sim_event_push(s, s->now + time, ~id);
}

static void start_channel(berth_sim *s, int32_t c)
{
	channel *v = &s->chan[c];
	v->dirty = false;
	if (v->busy || v->head < 0 || (s->places && s->moves[v->head].key != (uint64_t)v->n_started))
		return;
	v->n_started++;
	int32_t id = v->head;
	v->head = s->moves[id].next;
	if (v->head >= 0)
		s->moves[v->head].prev = -1;
	else
		v->tail = -1;
	v->busy = true;
	start_hop(s, id);
}

/* The start phase of a round. Devices and channels do not see each other's starts, so their order is free. */
static void start_phase(berth_sim *s)
{
	for (int32_t i = 0; i < s->n_pending; i++)
		start_hop(s, s->pending[i]);
	s->n_pending = 0;
	for (int32_t i = 0; i < s->n_dirty_chan; i++)
		start_channel(s, s->dirty_chan[i]);
	s->n_dirty_chan = 0;
	for (int32_t i = 0; i < s->n_dirty_dev; i++) {
		start_ops(s, s->dirty_dev[i]);
		if (s->track)
			note_peak(s, s->dirty_dev[i]);
	}
	if (s->share && s->track && s->n_dirty_dev)
		note_pool_peaks(s);
	if (s->share)
		sim_settle_pools(s);
	s->n_dirty_dev = 0;
	if (s->holds)
		tell_memory(s);
}

/* ---- a run ---- */

/* Parameters and state of what sits on each device, each shared parameter once per device. That is the peak
 * so far. */
static void rest_memory(berth_sim *s)
{
	const berth_graph *g = s->p->g;
	for (int32_t op = 0; op < g->n_ops; op++)
		s->mem_bytes[s->op_dev[op]] += g->op_param_bytes[op] + g->op_state_bytes[op];
	for (int32_t i = 0; i < g->n_params; i++) {
		BERTH_EACH (k, g->param_op_off, i) {
			int32_t d = s->op_dev[g->param_op[k]];
			if (s->dest_move[d] == -1)
				s->mem_bytes[d] += g->param_bytes[i];
			s->dest_move[d] = 0; /* counted */
		}
		BERTH_EACH (k, g->param_op_off, i)
			s->dest_move[s->op_dev[g->param_op[k]]] = -1;
	}
	sim_sum_pools(s->p, s->mem_bytes);
	BERTH_COPY(s->peak_bytes, s->mem_bytes, berth_n_resources(s->p));
}

/* Places of the operators in their device's sequence, numbered device after device. seq [n_ops]: operators in
 * the order to keep. */
static void sequences(berth_sim *s, const int32_t *seq)
{
	int32_t n = s->p->n_ops;
	for (int32_t k = 0; k < n; k++) {
		int32_t op = seq[k];
		device *v = &s->dev[s->op_dev[op]];
		s->op_seq[op] = v->first + v->n_started;
		s->seq_op[s->op_seq[op]] = op;
		v->n_started++;
	}
	for (int32_t d = 0; d < s->p->n_devs; d++)
		s->dev[d].n_started = 0;
}

static void place_hops(berth_sim *s, int32_t t, int32_t *n)
{
	const berth_problem *p = s->p;
	const berth_graph *g = p->g;
	int32_t home = s->op_dev[g->tensor_producer[t]];
	s->tensor_place[t] = *n;
	BERTH_EACH (e, g->tensor_use_off, t)
		s->dest_move[s->op_dev[g->edge_consumer[e]]] = 0;
	s->dest_move[home] = -1;
	for (int32_t d = 0; d < p->n_devs; d++) {
		int32_t r = berth_route(p, t, home, d);
		if (s->dest_move[d] < 0)
			continue;
		BERTH_EACH (h, p->route_off, r)
			s->hop_place[(*n)++] = s->chan[p->s->link_channel[p->route_link[h]]].n_started++;
		s->dest_move[d] = -1;
	}
}

/* Sequences of all channels. seq [n_ops]: operators in the order to keep. */
static void channel_sequences(berth_sim *s, const int32_t *seq)
{
	const berth_graph *g = s->p->g;
	int32_t n = 0;
	for (int32_t k = 0; k < g->n_ops; k++)
		BERTH_EACH (t, g->op_tensor_off, seq[k])
			place_hops(s, t, &n);
	for (int32_t c = 0; c < s->p->s->n_channels; c++)
		s->chan[c].n_started = 0;
}

void sim_cut_ready_store(berth_sim *s)
{
	uint64_t *store = s->ready_store;
	for (int32_t d = 0; d < s->p->n_devs; d++) {
		s->dev[d].ready = store;
		s->dev[d].first = (int32_t)(store - s->ready_store);
		store += s->dev[d].n_ready;
		s->dev[d].n_ready = 0;
	}
}

/* Clear the state of the last run; false if an operator cannot run where it sits. */
static bool reset(berth_sim *s, const int32_t *op_dev)
{
	const berth_problem *p = s->p;
	size_t ops = (size_t)p->n_ops, devs = (size_t)p->n_devs;
	s->op_dev = op_dev;
	s->now = 0;
	s->instant = 0;
	s->n_ended = s->n_starts = 0;
	s->tail_ns = NULL;
	s->over = false;
	s->n_moves = s->n_pending = s->n_heap = s->n_dirty_dev = s->n_dirty_chan = 0;
	s->n_hops = 0;
	s->n_ends = 0;
	BERTH_CLEAR(s->sums, s->n_sums);
	if (ops)
		BERTH_COPY(s->op_waits, s->op_n_in, ops);
	BERTH_CLEAR(s->dev, devs);
	BERTH_CLEAR(s->dev_time_ns, devs);
	BERTH_CLEAR(s->mem_bytes, berth_n_resources(p));
	for (int32_t c = 0; c < p->s->n_channels; c++)
		s->chan[c] = (channel){.head = -1, .tail = -1};
	if (s->share)
		pool_share_set(s->share, NULL, 0);
	bool runs = true;
	for (size_t op = 0; op < ops; op++) {
		int64_t time = berth_op_time(p, (int32_t)op, op_dev[op]);
		runs &= time >= 0;
		s->dev_time_ns[op_dev[op]] += time;
		s->dev[op_dev[op]].n_ready++;
	}
	sim_cut_ready_store(s);
	return runs;
}

void sim_advance(berth_sim *s, bool once)
{
	do {
		s->instant += s->heap[0].time > s->now;
		s->now = s->heap[0].time;
		do {
			int32_t what = s->heap[0].what;
			berth_heap_pop(s->heap, (size_t)s->n_heap--, sizeof *s->heap, ends_before, NULL);
			if (what >= 0)
				end_op(s, what);
			else
				end_hop(s, ~what);
		} while (s->n_heap && s->heap[0].time == s->now);
		start_phase(s);
	} while (s->n_heap && !once);
}

static double largest_load(const berth_sim *s)
{
	double most = 0;
	for (int32_t d = 0; d < s->p->n_devs; d++)
		most = fmax(most, (double)s->dev_time_ns[d] * 1e-9 / s->p->s->dev_slots[d]);
	for (int32_t c = 0; s->p->s->contention && c < s->p->s->n_channels; c++)
		most = fmax(most, (double)s->chan_ns[c] * 1e-9);
	for (int32_t i = 0; i < s->p->n_pools; i++)
		most = fmax(most, (double)s->pool_ns[i] * 1e-9);
	return most;
}

static double energy(const berth_sim *s, int64_t latency_ns)
{
	const berth_system *y = s->p->s;
	if (!s->p->has_energy)
		return NAN;
	double sum = 0;
	for (int32_t l = 0; l < y->n_links; l++)
		sum += y->link_joules_per_byte[l] * (double)s->link_bytes[l];
	for (int32_t d = 0; d < s->p->n_devs; d++)
		sum += y->dev_idle_w[d] * ((double)latency_ns * 1e-9) +
		       (y->dev_busy_w[d] - y->dev_idle_w[d]) *
		               ((double)(s->dev_time_ns[d] + s->dev_slow_ns[d]) * 1e-9 / y->dev_slots[d]);
	return sum;
}

static double excess_over(int64_t peak, int64_t cap)
{
	return cap >= 0 && peak > cap ? (double)(peak - cap) / (double)(cap > 0 ? cap : 1) : 0;
}

static double memory_excess(const berth_sim *s)
{
	double sum = 0;
	for (int32_t i = 0; s->track && i < berth_n_resources(s->p); i++)
		sum += excess_over(s->peak_bytes[i], berth_limit_bytes(s->p, i));
	return sum;
}

static int64_t largest_peak(const berth_sim *s)
{
	int64_t most = 0;
	for (int32_t i = 0; s->track && i < berth_n_resources(s->p); i++)
		most = s->peak_bytes[i] > most ? s->peak_bytes[i] : most;
	return most;
}

/* Under another cost model: no hops; the order says nothing. */
static void run_other_model(berth_sim *s, const int32_t *op_dev, berth_sim_result *out)
{
	const berth_cost_model *m = s->p->s->cost_model;
	berth_cost_run r = {.start_ns = s->start_ns, .end_ns = s->end_ns, .link_bytes = s->link_bytes};
	s->track = !m->memory_over_time || s->want_peaks || !(s->p->memory_free || s->sure_to_fit);
	if (s->track)
		rest_memory(s);
	if (s->holds)
		tell_memory(s);
	if (s->track && m->memory_over_time) {
		r.mem_bytes = s->mem_bytes;
		r.peak_bytes = s->peak_bytes;
	}
	m->run(s->cost_scratch, op_dev, &r);
	s->now = r.latency_ns;
	if (s->p->alone_ns) { /* operators may have taken other times than those of their devices */
		BERTH_CLEAR(s->dev_time_ns, s->p->n_devs);
		for (int32_t op = 0; op < s->p->n_ops; op++)
			s->dev_time_ns[op_dev[op]] += s->end_ns[op] - s->start_ns[op];
	}
	sim_conclude(s, out);
	out->load_s = r.load_s;
}

void sim_choose_rule(berth_sim *s, bool order_given)
{
	const berth_problem *p = s->p;
	berth_order rule = order_given ? BERTH_ORDER_GIVEN : s->op_key ? BERTH_ORDER_PRIORITY : p->s->order;
	s->by_sequence = rule == BERTH_ORDER_PROGRAM || rule == BERTH_ORDER_GIVEN;
	s->fifo = rule == BERTH_ORDER_FIFO;
	s->key_op = s->fifo || s->op_key ? p->g->topo_op : p->prio_op;
}

static void begin(berth_sim *s, const int32_t *order)
{
	const berth_problem *p = s->p;
	s->track = s->want_peaks || !(p->memory_free || s->sure_to_fit);
	sim_choose_rule(s, order != NULL);
	if (s->by_sequence) {
		sequences(s, order ? order : p->g->topo_op);
		s->key_op = s->seq_op;
	}
	if (s->places)
		channel_sequences(s, order ? order : p->g->topo_op);
	if (s->track)
		rest_memory(s);
	for (int32_t op = 0; op < p->n_ops; op++)
		if (!s->op_waits[op])
			make_ready(s, op);
	start_phase(s);
}

bool sim_begin(berth_sim *s, const int32_t *op_dev, const int32_t *order)
{
	if (!reset(s, op_dev))
		return false;
	begin(s, order);
	return true;
}

void sim_conclude(const berth_sim *s, berth_sim_result *out)
{
	out->runs = true;
	out->latency_ns = s->now;
	out->load_s = largest_load(s);
	out->energy_j = energy(s, s->now);
	out->peak_bytes = largest_peak(s);
	out->excess = memory_excess(s);
	out->fits = !(out->excess > 0);
}

void berth_sim_run(berth_sim *s, const int32_t *op_dev, const int32_t *order, berth_sim_result *out)
{
	*out = (berth_sim_result){0};
	if (!reset(s, op_dev))
		return;
	if (s->cost_scratch) {
		run_other_model(s, op_dev, out);
		return;
	}
	begin(s, order);
	if (s->n_heap)
		sim_advance(s, false);
	sim_conclude(s, out);
}

berth_sim_details berth_sim_last(const berth_sim *s)
{
	return (berth_sim_details){s->start_ns,    s->end_ns,     s->dev_time_ns,
	                           s->dev_slow_ns, s->peak_bytes, s->peak_bytes + s->p->n_devs,
	                           s->pool_ns,     s->chan_ns,    s->link_bytes,
	                           s->n_hops};
}

static int by_time(const void *a, const void *b)
{
	const event *x = a, *y = b;
	return x->time != y->time ? BERTH_COMPARE(x->time, y->time)
	                          : BERTH_COMPARE(x->what, y->what);
}

void berth_sim_start_order(berth_sim *s, int32_t *order)
{
	const berth_graph *g = s->p->g;
	size_t n = (size_t)g->n_ops;
	if (n > 0 && s->cost_scratch) {
		for (size_t op = 0; op < n; op++)
			s->heap[op] = (event){s->start_ns[op], g->op_topo[op]};
		qsort(s->heap, n, sizeof *s->heap, by_time);
		for (size_t k = 0; k < n; k++)
			order[k] = g->topo_op[s->heap[k].what];
	} else {
		for (int32_t op = 0; op < g->n_ops; op++)
			order[s->start_seq[op]] = op;
	}
}

bool berth_order_is_topological(const berth_graph *g, const int32_t *order, berth_arena *tmp)
{
	BERTH_SCRATCH(tmp);
	int32_t *at = berth_arena_alloc(tmp, (size_t)g->n_ops, sizeof *at);
	bool ok = at != NULL;
	for (int32_t k = 0; ok && k < g->n_ops; k++) {
		ok = order[k] >= 0 && order[k] < g->n_ops && at[order[k]] == 0;
		if (ok)
			at[order[k]] = k + 1;
	}
	for (int32_t t = 0; ok && t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t)
			ok = ok && at[g->tensor_producer[t]] < at[g->edge_consumer[e]];
	return ok;
}
