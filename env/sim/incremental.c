/* Runs of the simulator from the middle of one that went before: from the snapshot of a base before a
 * placement begins to differ from it, and over what goes on as it did in the base. */
#include "incremental.h"

#include "moved.h"

struct berth_incremental {
	const berth_problem *p;
	berth_sim *sim, *check; /* check: for BERTH_DEBUG */
	bool works, keys_work;  /* by the system's rule, by keys; false: every run is a full one */
	const uint32_t *op_key; /* [n_ops] of the placements that are given; NULL: the system's rule */

	/* the base, with what is known of it in m */
	bool has_base, base_keyed;
	bool follows_memory;   /* its run did */
	int64_t *tail_ns;      /* [n_ops] least time from an operator's start to the end of the run */
	int64_t *base_time_ns; /* [n_devs] */
	int32_t *base_ops;     /* [n_devs] */
	snapshots q;
	berth_base_log log;
	int32_t *ends;         /* [log.n_ends]; NULL: not wanted */
	berth_sim_hop *hops;

	moved m;
	int64_t rounds, skipped;
};

berth_status berth_incremental_new(const berth_problem *p, berth_arena *mem, berth_incremental **out,
                                   berth_err *err)
{
	berth_incremental *n;
	BERTH_TRY_NEW(mem, 1, err, n);
	n->p = p;
	n->keys_work = berth_keys_work(p);
	n->works = n->keys_work && (p->s->order == BERTH_ORDER_PRIORITY || p->s->order == BERTH_ORDER_FIFO);
	BERTH_TRY(berth_sim_new(p, mem, &n->sim, err));
	if (BERTH_DEBUG)
		BERTH_TRY(berth_sim_new(p, mem, &n->check, err));
	BERTH_TRY(moved_new(n->sim, mem, &n->m, err));
	BERTH_TRY_NEW(mem, p->n_ops, err, n->tail_ns);
	BERTH_TRY_NEW(mem, p->n_devs, err, n->base_time_ns, n->base_ops);
	*out = n;
	return snapshots_new(n->sim, !n->keys_work, mem, &n->q, err);
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

/* ---- to a snapshot ---- */

/* Operator times of all devices, and room for their ready lists. */
static void place_moved(berth_incremental *n, const int32_t *op_dev)
{
	const berth_problem *p = n->p;
	berth_sim *s = n->sim;
	BERTH_COPY(s->dev_time_ns, n->base_time_ns, p->n_devs);
	for (int32_t d = 0; d < p->n_devs; d++)
		s->dev[d].n_ready = n->base_ops[d];
	for (int32_t i = 0; i < n->m.n; i++) {
		int32_t op = n->m.op[i], gone = n->m.base_dev[op], here = op_dev[op];
		s->dev[gone].n_ready--;
		s->dev[here].n_ready++;
		s->dev_time_ns[gone] -= berth_op_time(p, op, gone);
		s->dev_time_ns[here] += berth_op_time(p, op, here);
	}
	sim_cut_ready_store(s);
}

/* Memory of a run that comes to snapshot `to` over stretches from `first` on as the base did, holding
 * more_bytes more all the time. */
static void follow_memory(berth_incremental *n, int32_t first, int32_t to)
{
	int32_t resources = berth_n_resources(n->p);
	berth_sim *s = n->sim;
	for (int32_t r = 0; r < resources; r++)
		s->mem_bytes[r] = n->q.at[to].mem_bytes[r] + n->m.more_bytes[r];
	for (; first <= to; first++)
		for (int32_t r = 0; r < resources; r++) {
			int64_t peak = BERTH_ROW(n->q.peak_bytes, first, resources)[r] + n->m.more_bytes[r];
			s->peak_bytes[r] = peak > s->peak_bytes[r] ? peak : s->peak_bytes[r];
		}
}

static void forget_moved(berth_incremental *n)
{
	for (int32_t i = 0; i < n->m.n; i++)
		n->sim->start_ns[n->m.op[i]] = n->sim->end_ns[n->m.op[i]] = -1;
}

/* A run of op_dev, which differs from the base by the moved operators, begins at snapshot i. */
static void begin_at(berth_incremental *n, int32_t i, const int32_t *op_dev)
{
	berth_sim *s = n->sim;
	forget_moved(n);
	place_moved(n, op_dev);
	s->track = n->follows_memory;
	snapshot_restore(s, &n->q.at[i]);
	BERTH_COPY(s->sums, n->q.at[i].sums, s->n_sums);
	sim_choose_rule(s, false);
	s->op_dev = op_dev;
	s->n_starts = 0; /* turns are told by full runs alone */
	s->over = false;
	s->tail_ns = NULL;
	if (!s->track)
		return;
	moved_count_bytes(&n->m, op_dev);
	BERTH_CLEAR(s->peak_bytes, berth_n_resources(n->p));
	follow_memory(n, 0, i);
}

/* From the beginning. False: an operator cannot run where it sits. */
static bool begin_fresh(berth_incremental *n, const int32_t *op_dev)
{
	n->sim->sure_to_fit = !n->follows_memory;
	bool runs = sim_begin(n->sim, op_dev, NULL);
	n->sim->sure_to_fit = false;
	return runs;
}

/* The state equals that of snapshot i. Go to the last snapshot before the next difference, or to the end of
 * the run. Returns the next snapshot that the run may meet. */
static int32_t skip(berth_incremental *n, int32_t i)
{
	berth_sim *s = n->sim;
	const snapshot *k = &n->q.at[i], *to;
	int64_t shift = s->now - k->now, next = moved_next_ns(&n->m, k->now);
	int32_t j = next == INT64_MAX ? n->q.n : snapshots_before(&n->q, next);
	if (j <= i || moved_input_on_its_way(&n->m, k) ||
	    (s->track && !moved_holds_the_same(&n->m, k->now)))
		return i + 1;
	to = &n->q.at[j];
	n->skipped++;
	if (s->track) {
		sim_sum_pools(n->p, s->mem_bytes);
		for (int32_t r = 0; r < berth_n_resources(n->p); r++)
			n->m.more_bytes[r] = s->mem_bytes[r] - k->mem_bytes[r];
		follow_memory(n, i + 1, j);
	}
	for (size_t h = 0; h < s->n_sums; h++)
		s->sums[h] += to->sums[h] - k->sums[h];
	snapshot_restore(s, to);
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
	const moved *m = &n->m;
	int32_t started = 0;
	s->limit_ns = limit_ns;
	while (s->n_heap) {
		if (s->over || s->heap[0].time > limit_ns)
			return false;
		sim_advance(s, true);
		n->rounds++;
		/* An operator that starts after all moved ones has none of them behind it: it has the tail
		 * that it had in the base. */
		for (; started < m->n && s->start_ns[m->op[started]] >= 0; started++)
			if (m->n == 1 && s->start_ns[m->op[0]] + tail_of(n, m->op[0], s->op_dev) > limit_ns)
				return false;
		if (started == m->n)
			s->tail_ns = n->tail_ns;
		if (!s->n_heap || s->heap[0].time == s->now)
			continue;
		while (next < n->q.n && n->q.at[next].n_ended < s->n_ended)
			next++;
		if (next < n->q.n && n->q.at[next].n_ended == s->n_ended &&
		    snapshot_is_like(s, &n->q.at[next]))
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

/* The last snapshot of the base before anything differs. -1: there is none. */
static int32_t first_difference(const berth_incremental *n)
{
	return snapshots_before(&n->q, moved_next_ns(&n->m, -1));
}

/* The base with the moved operators where op_dev has them, where they can run. */
static bool run_moved(berth_incremental *n, const int32_t *op_dev, int64_t limit_ns, berth_sim_result *out)
{
	int32_t i = first_difference(n);
	if (!n->follows_memory && !moved_sure_to_fit(&n->m))
		return full_run(n, op_dev, limit_ns, out);
	if (i >= 0) {
		begin_at(n, i, op_dev);
	} else {
		forget_moved(n);
		begin_fresh(n, op_dev);
	}
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
	moved_find(&n->m, op_dev, n->op_key);
	if (moved_can_run(&n->m, op_dev))
		known = run_moved(n, op_dev, limit_ns, &r);
	check_equal(n, op_dev, known, limit_ns, &r);
	if (known)
		*out = r;
	return known;
}

/* ---- the base ---- */

/* From here on the simulator's peaks are those since the last snapshot. */
static void begin_stretch(berth_sim *s)
{
	if (!s->track)
		return;
	sim_sum_pools(s->p, s->mem_bytes);
	BERTH_COPY(s->peak_bytes, s->mem_bytes, berth_n_resources(s->p));
}

/* From the present state, that of the last snapshot if there is one, to the end, leaving snapshots. */
static void record(berth_incremental *n)
{
	berth_sim *s = n->sim;
	snapshots *q = &n->q;
	const snapshot *last = q->n ? &q->at[q->n - 1] : NULL;
	int32_t step = n->p->n_ops / q->most + 1, due = last ? last->n_ended + step : 0;
	/* The log goes on behind what was logged before the last snapshot. Only runs of the base are
	 * logged. */
	s->hops = n->hops;
	s->ends = n->ends;
	s->n_hops = last ? last->n_hops : 0;
	s->n_ends = last ? last->n_ends : 0;
	if (last)
		begin_stretch(s);
	for (; s->n_heap; n->rounds++) {
		if (s->n_ended >= due && s->heap[0].time > s->now && q->n < q->most) {
			due = s->n_ended + step;
			if (snapshots_take(q)) {
				q->n++;
				begin_stretch(s);
			}
		}
		sim_advance(s, true);
	}
	snapshots_take(q); /* no list has anything now: the store has room */
	s->hops = NULL;
	s->ends = NULL;
	n->log = (berth_base_log){.serial = n->log.serial + 1,
	                          .op_dev = n->m.base_dev,
	                          .op_key = n->base_keyed ? n->m.base_key : NULL,
	                          .start_ns = n->m.base_start_ns,
	                          .end_ns = n->m.base_end_ns,
	                          .ends = n->ends,
	                          .n_ends = s->n_ends,
	                          .hops = n->hops,
	                          .latency_ns = s->now};
	if (!s->track)
		return;
	BERTH_CLEAR(n->m.more_bytes, berth_n_resources(n->p));
	follow_memory(n, 0, q->n);
}

/* Keep the snapshots up to i, which hold for the new base too, and go on from there. */
static void resume(berth_incremental *n, int32_t i, const int32_t *op_dev)
{
	const moved *m = &n->m;
	berth_sim *s = n->sim;
	int32_t resources = berth_n_resources(n->p);
	snapshots_keep(&n->q, i + 1);
	/* those of runs since then are over */
	BERTH_CLEAR(s->moves, n->q.at[i].n_moves);
	/* times of operators before the snapshot are those of the base before */
	BERTH_COPY(s->start_ns, m->base_start_ns, n->p->n_ops);
	BERTH_COPY(s->end_ns, m->base_end_ns, n->p->n_ops);
	begin_at(n, i, op_dev);
	for (int32_t k = 0; k <= i && n->follows_memory; k++)
		for (int32_t r = 0; r < resources; r++) {
			n->q.at[k].mem_bytes[r] += m->more_bytes[r];
			BERTH_ROW(n->q.peak_bytes, k, resources)[r] += m->more_bytes[r];
		}
	for (int32_t k = 0; k < m->n; k++) {
		int32_t op = m->op[k];
		n->base_ops[m->base_dev[op]]--;
		n->base_ops[op_dev[op]]++;
		m->base_dev[op] = op_dev[op];
		m->base_key[op] = n->op_key ? n->op_key[op] : 0;
	}
	s->op_dev = m->base_dev;
	moved_count_ever(&n->m);
}

static void keep_base(berth_incremental *n, const int32_t *op_dev)
{
	BERTH_COPY(n->m.base_dev, op_dev, n->p->n_ops);
	n->base_keyed = n->op_key != NULL;
	if (n->base_keyed)
		BERTH_COPY(n->m.base_key, n->op_key, n->p->n_ops);
}

static bool start_base(berth_incremental *n, const int32_t *op_dev)
{
	snapshots_keep(&n->q, 0);
	keep_base(n, op_dev);
	n->m.n = 0;
	moved_count_ever(&n->m);
	n->follows_memory = !moved_sure_to_fit(&n->m);
	bool runs = begin_fresh(n, n->m.base_dev);
	BERTH_CLEAR(n->base_ops, n->p->n_devs);
	for (int32_t op = 0; op < n->p->n_ops; op++)
		n->base_ops[n->m.base_dev[op]]++;
	return runs;
}

/* Times and tails of the base whose run has ended. */
static void keep_times(berth_incremental *n)
{
	const berth_sim *s = n->sim;
	BERTH_COPY(n->m.base_start_ns, s->start_ns, n->p->n_ops);
	BERTH_COPY(n->m.base_end_ns, s->end_ns, n->p->n_ops);
	BERTH_COPY(n->base_time_ns, s->dev_time_ns, n->p->n_devs);
	for (int32_t k = n->p->n_ops - 1; k >= 0; k--)
		n->tail_ns[n->p->g->topo_op[k]] = tail_of(n, n->p->g->topo_op[k], n->m.base_dev);
}

bool berth_incremental_base(berth_incremental *n, const int32_t *op_dev, berth_sim_result *out)
{
	int32_t i = -1;
	*out = (berth_sim_result){0};
	berth_sim_use_keys(n->sim, n->op_key);
	if (!works(n)) {
		keep_base(n, op_dev);
		berth_sim_run(n->sim, op_dev, NULL, out);
		return n->has_base = out->runs;
	}
	if (berth_incremental_has_base(n)) {
		moved_find(&n->m, op_dev, n->op_key);
		if (moved_can_run(&n->m, op_dev) && (n->follows_memory || moved_sure_to_fit(&n->m)))
			i = first_difference(n);
	}
	n->has_base = false;
	if (i >= 0)
		resume(n, i, op_dev);
	else if (!start_base(n, op_dev))
		return false;
	record(n);
	sim_conclude(n->sim, out);
	keep_times(n);
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
	return berth_incremental_has_base(n) && memcmp(n->m.base_dev, op_dev, ops * sizeof *op_dev) == 0 &&
	       (!n->op_key || memcmp(n->m.base_key, n->op_key, ops * sizeof *n->op_key) == 0);
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
