/* Finds a schedule of samples in flight that reaches the throughput of a placement. Each device and channel
 * takes its turns within one period; memory is what all samples hold at once. */
#include "pipeline.h"

#include "cost_model.h"
#include "sort.h"

/* What takes turns: a device or a channel. What it does in a period stands behind each other on a line, from
 * where its first task is ready. */
typedef struct turns {
	int64_t base_ns, used_ns;
	bool begun;
} turns;

/* Bytes that a sample holds on a device for a while. */
typedef struct held {
	int32_t dev;
	int64_t from_ns, until_ns, bytes;
} held;

typedef struct work {
	const berth_problem *p;
	const berth_timeline *t;
	berth_pipeline *out;
	berth_arena *tmp;
	berth_err *err;
	turns *dev, *channel; /* [n_devs], [n_channels] */
	int64_t *start_ns, *end_ns;
	int64_t *ready_ns;            /* [n_ops] when all inputs are there */
	int64_t *from_ns, *until_ns;  /* [n_devs] when the tensor at hand is held there; until -1: never */
	size_t *first_hop, *last_hop; /* [n_tensors] its hops */
	held *held;
	int32_t n_held;
	size_t cap_held, cap_hops;
} work;

bool berth_pipeline_defined(const berth_problem *p)
{
	return !p->s->cost_model->new_scratch && p->n_pools == 0;
}

/* The largest load of a device or channel, rounded up. */
static int64_t period(const berth_problem *p, const berth_timeline *t)
{
	int64_t most = 0;
	for (int32_t d = 0; d < p->n_devs; d++) {
		int64_t slots = p->s->dev_slots[d];
		most = berth_max(most, t->dev_time_ns[d] / slots + (t->dev_time_ns[d] % slots != 0));
	}
	for (int32_t c = 0; p->s->contention && c < p->s->n_channels; c++)
		most = berth_max(most, t->channel_ns[c]);
	return most;
}

/* The start of a task that is ready: at its turn, in the first period from then on. */
static int64_t take_turn(const work *w, turns *r, int64_t ready_ns, int64_t time_ns)
{
	int64_t period_ns = w->out->period_ns;
	if (!r->begun)
		*r = (turns){.base_ns = ready_ns, .begun = true};
	int64_t late = (ready_ns - (r->base_ns + r->used_ns)) % period_ns;
	r->used_ns += time_ns;
	return ready_ns + (late > 0 ? period_ns - late : -late);
}

/* ---- the schedule ---- */

/* Send the tensor to dev, hop after hop. *there_ns: when it arrives. */
static berth_status send(work *w, int32_t tensor, int32_t dev, berth_arena *mem, int64_t *there_ns)
{
	const berth_problem *p = w->p;
	int32_t producer = p->g->tensor_producer[tensor], home = w->t->op_dev[producer];
	int32_t r = berth_route(p, tensor, home, dev);
	int64_t at = w->end_ns[producer];
	BERTH_EACH (h, p->route_off, r) {
		int32_t link = p->route_link[h];
		int64_t time = berth_hop_ns(p, tensor, link), start = at;
		if (p->s->contention)
			start = take_turn(w, &w->channel[p->s->link_channel[link]], at, time);
		BERTH_TRY(BERTH_PUSH(mem, w->out->hops, w->out->n_hops, &w->cap_hops, w->err,
		                     (berth_sim_hop){tensor, dev, link, at, start, start + time}));
		at = start + time;
	}
	*there_ns = at;
	return BERTH_OK;
}

/* Send a tensor once to every device that consumes it. */
static berth_status deliver(work *w, int32_t tensor, berth_arena *mem)
{
	const berth_graph *g = w->p->g;
	int32_t producer = g->tensor_producer[tensor];
	int64_t *there_ns = w->from_ns;
	for (int32_t d = 0; d < w->p->n_devs; d++)
		there_ns[d] = -1;
	there_ns[w->t->op_dev[producer]] = w->end_ns[producer];
	w->first_hop[tensor] = w->out->n_hops;
	BERTH_EACH (e, g->tensor_use_off, tensor) {
		int32_t op = g->edge_consumer[e], dev = w->t->op_dev[op];
		if (there_ns[dev] < 0)
			BERTH_TRY(send(w, tensor, dev, mem, &there_ns[dev]));
		w->ready_ns[op] = berth_max(w->ready_ns[op], there_ns[dev]);
	}
	w->last_hop[tensor] = w->out->n_hops;
	return BERTH_OK;
}

static int by_start(const void *ctx, int32_t a, int32_t b)
{
	const work *w = ctx;
	int64_t x = w->t->start_ns[a], y = w->t->start_ns[b];
	int32_t i = w->p->g->op_topo[a], k = w->p->g->op_topo[b];
	return x != y ? BERTH_COMPARE(x, y) : BERTH_COMPARE(i, k);
}

static berth_status schedule(work *w, berth_arena *mem)
{
	const berth_problem *p = w->p;
	int32_t *order, *scratch;
	BERTH_TRY_NEW(w->tmp, p->n_ops, w->err, order, scratch);
	for (int32_t k = 0; k < p->n_ops; k++)
		order[k] = k;
	berth_sort(order, (size_t)p->n_ops, scratch, by_start, w);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = order[k], dev = w->t->op_dev[op];
		int64_t time = berth_op_time(p, op, dev);
		w->start_ns[op] = take_turn(w, &w->dev[dev], w->ready_ns[op], time);
		w->end_ns[op] = w->start_ns[op] + time;
		w->out->latency_ns = berth_max(w->out->latency_ns, w->end_ns[op]);
		BERTH_EACH (t, p->g->op_tensor_off, op)
			BERTH_TRY(deliver(w, t, mem));
	}
	return BERTH_OK;
}

/* ---- memory ---- */

static berth_status hold(work *w, int32_t dev, int64_t from_ns, int64_t until_ns, int64_t bytes)
{
	if (bytes == 0)
		return BERTH_OK;
	return BERTH_PUSH(w->tmp, w->held, w->n_held, &w->cap_held, w->err,
	                  (held){dev, from_ns, berth_max(until_ns, from_ns + 1), bytes});
}

static berth_status hold_tensor(work *w, int32_t tensor)
{
	const berth_graph *g = w->p->g;
	int32_t producer = g->tensor_producer[tensor], home = w->t->op_dev[producer];
	for (int32_t d = 0; d < w->p->n_devs; d++)
		w->until_ns[d] = -1;
	w->from_ns[home] = w->start_ns[producer];
	w->until_ns[home] = w->end_ns[producer];
	for (size_t h = w->first_hop[tensor]; h < w->last_hop[tensor]; h++) {
		const berth_sim_hop *hop = &w->out->hops[h];
		if (w->p->s->link_from[hop->link] == home)
			w->until_ns[home] = berth_max(w->until_ns[home], hop->end_ns);
		if (w->until_ns[hop->dest] < 0)
			w->from_ns[hop->dest] = hop->start_ns;
		w->until_ns[hop->dest] = berth_max(w->until_ns[hop->dest], hop->end_ns);
	}
	BERTH_EACH (e, g->tensor_use_off, tensor) {
		int32_t op = g->edge_consumer[e], dev = w->t->op_dev[op];
		w->until_ns[dev] = berth_max(w->until_ns[dev], w->end_ns[op]);
	}
	for (int32_t d = 0; d < w->p->n_devs; d++)
		if (w->until_ns[d] >= 0)
			BERTH_TRY(hold(w, d, w->from_ns[d], w->until_ns[d], g->tensor_bytes[tensor]));
	return BERTH_OK;
}

/* What a sample holds for a while, and what is there for good: peak_bytes out. */
static berth_status hold_all(work *w, int64_t *peak_bytes)
{
	const berth_graph *g = w->p->g;
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t dev = w->t->op_dev[op];
		peak_bytes[dev] += g->op_param_bytes[op] + g->op_state_bytes[op];
		BERTH_TRY(hold(w, dev, w->start_ns[op], w->end_ns[op], g->op_workspace_bytes[op]));
		BERTH_TRY(hold(w, dev, w->start_ns[op], w->out->latency_ns, g->op_output_bytes[op]));
	}
	for (int32_t i = 0; i < g->n_params; i++) {
		for (int32_t d = 0; d < w->p->n_devs; d++)
			w->until_ns[d] = 0;
		BERTH_EACH (k, g->param_op_off, i) {
			int32_t dev = w->t->op_dev[g->param_op[k]];
			peak_bytes[dev] += w->until_ns[dev] ? 0 : g->param_bytes[i];
			w->until_ns[dev] = 1;
		}
	}
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_TRY(hold_tensor(w, t));
	return BERTH_OK;
}

/* A change of what a device holds, at a time of the period. */
typedef struct change {
	int32_t dev;
	int64_t at_ns, bytes;
} change;

/* By device and time; what goes before what comes. */
static int compare_changes(const void *a, const void *b)
{
	const change *x = a, *y = b;
	if (x->dev != y->dev)
		return BERTH_COMPARE(x->dev, y->dev);
	if (x->at_ns != y->at_ns)
		return BERTH_COMPARE(x->at_ns, y->at_ns);
	return BERTH_COMPARE(x->bytes, y->bytes);
}

/* Add to peak_bytes the most that all samples hold at a time of the period. What is held for L stands there
 * L / period times, and once more for the rest. */
static berth_status add_held(work *w, int64_t *peak_bytes)
{
	int64_t period_ns = w->out->period_ns, now = 0, most = 0;
	size_t n = 0;
	change *c;
	BERTH_TRY_NEW(w->tmp, 2 * (size_t)w->n_held, w->err, c);
	for (int32_t i = 0; i < w->n_held; i++) {
		const held *h = &w->held[i];
		int64_t length = h->until_ns - h->from_ns, at = h->from_ns % period_ns;
		int64_t end = at + length % period_ns;
		peak_bytes[h->dev] += length / period_ns * h->bytes;
		if (end > period_ns) { /* over the edge: at the beginning too */
			peak_bytes[h->dev] += h->bytes;
			c[n++] = (change){h->dev, end - period_ns, -h->bytes};
			c[n++] = (change){h->dev, at, h->bytes};
		} else if (end > at) {
			c[n++] = (change){h->dev, at, h->bytes};
			c[n++] = (change){h->dev, end, -h->bytes};
		}
	}
	if (n)
		qsort(c, n, sizeof *c, compare_changes);
	for (size_t i = 0; i < n; i++) {
		now += c[i].bytes;
		most = berth_max(most, now);
		if (i + 1 == n || c[i + 1].dev != c[i].dev) {
			peak_bytes[c[i].dev] += most;
			now = most = 0;
		}
	}
	return BERTH_OK;
}

/* ---- all of it ---- */

static berth_status find(work *w, berth_arena *mem)
{
	berth_pipeline *out = w->out;
	int64_t *peak_bytes;
	out->period_ns = period(w->p, w->t);
	out->fits = true;
	BERTH_TRY_NEW(mem, w->p->n_devs, w->err, peak_bytes);
	out->peak_bytes = peak_bytes;
	if (out->period_ns == 0)
		return BERTH_OK;
	const berth_problem *p = w->p;
	BERTH_TRY_NEW(w->tmp, p->n_devs, w->err, w->dev);
	BERTH_TRY_NEW(w->tmp, p->s->n_channels, w->err, w->channel);
	BERTH_TRY_NEW(w->tmp, p->n_ops, w->err, w->ready_ns);
	BERTH_TRY_NEW(w->tmp, p->n_devs, w->err, w->from_ns, w->until_ns);
	BERTH_TRY_NEW(w->tmp, p->g->n_tensors, w->err, w->first_hop, w->last_hop);
	BERTH_TRY_NEW(mem, p->n_ops, w->err, w->start_ns, w->end_ns);
	BERTH_TRY(schedule(w, mem));
	BERTH_TRY(hold_all(w, peak_bytes));
	BERTH_TRY(add_held(w, peak_bytes));
	out->start_ns = w->start_ns;
	out->end_ns = w->end_ns;
	out->in_flight = (out->latency_ns + out->period_ns - 1) / out->period_ns;
	for (int32_t d = 0; d < w->p->n_devs; d++)
		out->fits &= w->p->dev_limit_bytes[d] < 0 || peak_bytes[d] <= w->p->dev_limit_bytes[d];
	return BERTH_OK;
}

berth_status berth_pipeline_new(const berth_problem *p, const berth_timeline *t, berth_arena *mem,
                                berth_arena *tmp, berth_pipeline *out, berth_err *err)
{
	berth_pipeline x = {0};
	work w = {.p = p, .t = t, .out = &x, .tmp = tmp, .err = err};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(find(&w, mem));
	*out = x;
	return BERTH_OK;
}
