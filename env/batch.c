/* Set-up of the batched evaluator; see batch.h. The kernels are in batch_kernel.inc and batch_memory.inc.
 *
 * 32 bits suffice: an operator's end is its time on top of the end of another operator on its device or of the arrival of an input; an arrival is the end of a
 * producer, or of a hop; and a hop's end is its time on top of the end of its producer, the hop before or another hop of its channel. Following these
 * back meets no operator and no hop twice, so that no end is above the sum over operators of the largest time plus the sum over tensors of the
 * largest time of a route, for each device that may want it; where transfers never wait, one route for each input. */
#include "batch_plan.h"

#include "sim.h"

#include <string.h>

struct berth_batch {
	batch_plan plan;
	const berth_problem *p;
	const batch_kernels *kernels;
	bool is_narrow, channels;
	int32_t *end32, *clock32; /* ends, or with channels the times that inputs are there */
	int64_t *end64, *clock64;
	int32_t *seen, *peak;     /* memory */
};

bool berth_isa_usable(berth_isa isa)
{
	return batch_kernels_of(isa) != NULL;
}

static int64_t max64(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t class_longest(const berth_problem *p, int32_t c)
{
	size_t n = (size_t)p->n_devs;
	int64_t longest = 0;
	for (size_t i = 0; i < n * n; i++)
		longest = max64(longest, p->class_pair_ns[(size_t)c * n * n + i]);
	return longest;
}

/* class_max: [n_classes], filled. Sums of all durations are below 2^62 (berth_problem_new). */
static bool fits_32(const berth_problem *p, bool channels, int64_t *class_max)
{
	const berth_graph *g = p->g;
	int64_t sum = 0;
	for (int32_t c = 0; c < p->n_classes; c++)
		class_max[c] = class_longest(p, c);
	for (int32_t op = 0; op < p->n_ops && sum < INT32_MAX; op++) {
		int64_t time = 0, in = 0;
		for (int32_t d = 0; d < p->n_devs; d++)
			time = max64(time, berth_op_time(p, op, d));
		for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1] && !channels; i++)
			in = max64(in, class_max[p->tensor_class[g->in_tensor[i]]]);
		for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1] && channels; t++) {
			int32_t uses = g->tensor_use_off[t + 1] - g->tensor_use_off[t];
			int64_t longest = class_max[p->tensor_class[t]];
			in += longest < INT32_MAX ? longest * (uses < p->n_devs ? uses : p->n_devs) : INT32_MAX;
		}
		if (time >= INT32_MAX || in >= INT32_MAX)
			return false;
		sum += time + in;
	}
	return sum < INT32_MAX;
}

static berth_status check(const berth_problem *p, const berth_batch_cfg *cfg, const batch_kernels *kernels, berth_arena *mem, berth_err *err)
{
	int32_t most = cfg->channels || cfg->memory ? BERTH_BATCH_MAX_DEVS_FULL : BERTH_BATCH_MAX_DEVS;
	if (!kernels)
		return berth_fail(err, BERTH_EINVAL, "batched evaluation: this processor or build lacks the instruction set asked for");
	if (p->s->cost_model != BERTH_COST_REFERENCE)
		return berth_fail(err, BERTH_ELIMIT, "batched evaluation: the system has a cost model of its own; use the reference simulator");
	if (p->n_devs > most)
		return berth_fail(err, BERTH_ELIMIT, "batched evaluation: %d devices, at most %d; use the reference simulator", p->n_devs, most);
	for (int32_t d = 0; d < p->n_devs; d++)
		if (p->s->dev_slots[d] != 1)
			return berth_fail(err, BERTH_ELIMIT, "batched evaluation: device '%s' has %d slots, 1 is supported; use the reference simulator",
			                  p->s->dev_name[d], p->s->dev_slots[d]);
	if (cfg->order && !berth_order_is_topological(p->g, cfg->order, mem))
		return berth_fail(err, BERTH_EINVAL, "batched evaluation: the order is not topological");
	return BERTH_OK;
}

static berth_status new_tables(berth_batch *b, const berth_problem *p, berth_arena *mem, berth_err *err)
{
	batch_plan *q = &b->plan;
	size_t ops = (size_t)p->n_ops, row = (size_t)1 << q->dev_shift, n = (size_t)p->n_devs, lanes = BERTH_BATCH_LANES;
	size_t slots = (size_t)(b->channels ? q->n_ready_slots : q->n_slots), n_times = ops * row + lanes, n_pairs = (size_t)p->n_classes * row * row + lanes;
	if (b->is_narrow) {
		BERTH_TRY(BERTH_NEW(mem, q->step_time32, n_times, err));
		BERTH_TRY(BERTH_NEW(mem, q->class_pair32, n_pairs, err));
		BERTH_TRY(BERTH_NEW(mem, b->end32, (slots + 1) * lanes, err));
		BERTH_TRY(BERTH_NEW(mem, b->clock32, ((b->channels ? (size_t)q->n_channels : n) + 1) * lanes, err));
	} else {
		BERTH_TRY(BERTH_NEW(mem, q->step_time64, n_times, err));
		BERTH_TRY(BERTH_NEW(mem, q->class_pair64, n_pairs, err));
		BERTH_TRY(BERTH_NEW(mem, b->end64, (slots + 1) * lanes, err));
		BERTH_TRY(BERTH_NEW(mem, b->clock64, ((b->channels ? (size_t)q->n_channels : n) + 1) * lanes, err));
	}
	for (size_t i = 0; i < ops; i++)
		for (size_t d = 0; d < n; d++) {
			int64_t t = berth_op_time(p, q->step_op[i], (int32_t)d);
			if (b->is_narrow)
				q->step_time32[i * row + d] = (int32_t)t;
			else
				q->step_time64[i * row + d] = t;
		}
	for (size_t c = 0; c < (size_t)p->n_classes; c++)
		for (size_t x = 0; x < n * n; x++) {
			size_t at = c * row * row + x % n * row + x / n; /* [to][from] */
			int64_t t = p->class_pair_ns[c * n * n + x];
			if (b->is_narrow)
				q->class_pair32[at] = (int32_t)(t < INT32_MAX ? t : 0); /* a class that large has no consumer: fits_32 */
			else
				q->class_pair64[at] = t;
		}
	return BERTH_OK;
}

/* A place for the end of each step, free again for the step after its last reader: the ends that are still needed stay close together. */
static berth_status give_slots(batch_plan *q, const berth_problem *p, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = p->g;
	berth_arena_mark mark = berth_arena_get_mark(mem);
	int32_t *readers, *op_slot;
	batch_slots slots = {0};
	BERTH_TRY(BERTH_NEW(mem, readers, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, op_slot, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, slots.unused, g->n_ops, err));
	for (int32_t e = 0; e < g->n_edges; e++)
		readers[q->in[e].op]++;
	for (int32_t i = 0, e = 0; i < g->n_ops; i++) {
		int32_t op = q->step[i].op;
		for (; e < q->step[i].in_end; e++) {
			int32_t from = q->in[e].op;
			q->in[e].slot = op_slot[from];
			if (--readers[from] == 0)
				batch_slot_give(&slots, op_slot[from]);
		}
		q->step[i].slot = op_slot[op] = batch_slot_take(&slots);
		if (readers[op] == 0)
			batch_slot_give(&slots, op_slot[op]);
	}
	q->n_slots = slots.n;
	berth_arena_reset(mem, mark);
	return BERTH_OK;
}

static berth_status new_steps(batch_plan *q, const berth_problem *p, const int32_t *order, berth_arena *mem, berth_err *err)
{
	const berth_graph *g = p->g;
	BERTH_TRY(BERTH_NEW(mem, q->step_op, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, q->step, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, q->in, g->n_edges, err));
	for (int32_t i = 0, n = 0; i < g->n_ops; i++) {
		int32_t op = q->step_op[i] = q->step[i].op = order ? order[i] : p->prio_op[i];
		for (int32_t k = g->op_in_off[op]; k < g->op_in_off[op + 1]; k++) {
			int32_t t = g->in_tensor[k];
			q->in[n++] = (batch_in){.op = g->tensor_producer[t], .class = p->tensor_class[t]};
		}
		q->step[i].in_end = n;
	}
	return give_slots(q, p, mem, err);
}

berth_status berth_batch_new(const berth_problem *p, const berth_batch_cfg *cfg, berth_arena *mem, berth_batch **out, berth_err *err)
{
	const batch_kernels *kernels = batch_kernels_of(cfg->isa);
	size_t lanes = BERTH_BATCH_LANES;
	berth_batch *b;
	int64_t *class_max;
	BERTH_TRY(check(p, cfg, kernels, mem, err));
	BERTH_TRY(BERTH_NEW(mem, b, 1, err));
	BERTH_TRY(BERTH_NEW(mem, class_max, p->n_classes, err));
	batch_plan *q = &b->plan;
	b->p = p;
	b->kernels = kernels;
	b->channels = cfg->channels;
	b->is_narrow = fits_32(p, cfg->channels, class_max);
	q->n_ops = p->n_ops;
	q->n_devs = p->n_devs;
	for (q->dev_shift = BATCH_LEAST_SHIFT; 1 << q->dev_shift < p->n_devs;)
		q->dev_shift++;
	BERTH_TRY(new_steps(q, p, cfg->order, mem, err));
	if (cfg->channels)
		BERTH_TRY(batch_plan_channels(q, p, mem, err));
	BERTH_TRY(new_tables(b, p, mem, err));
	if (cfg->memory) {
		BERTH_TRY(batch_plan_memory(q, p, mem, err));
		BERTH_TRY(BERTH_NEW(mem, b->seen, ((size_t)q->n_held_slots + 1) * lanes, err));
		BERTH_TRY(BERTH_NEW(mem, b->peak, ((size_t)p->n_devs + 1) * lanes, err));
	}
	*out = b;
	return BERTH_OK;
}

const int32_t *berth_batch_order(const berth_batch *b)
{
	return b->plan.step_op;
}

bool berth_batch_narrow(const berth_batch *b)
{
	return b->is_narrow;
}

void berth_batch_set(const berth_batch *b, int32_t lane, const int32_t *op_dev, uint8_t *op_lane_dev)
{
	for (int32_t op = 0; op < b->plan.n_ops; op++)
		op_lane_dev[(size_t)op * BERTH_BATCH_LANES + (size_t)lane] = (uint8_t)op_dev[op];
}

void berth_batch_run(berth_batch *b, const uint8_t *op_lane_dev, int64_t lane_latency_ns[BERTH_BATCH_LANES])
{
	const batch_kernels *k = b->kernels;
	if (b->is_narrow)
		(b->channels ? k->channels_narrow : k->narrow)(&b->plan, op_lane_dev, b->end32, b->clock32, lane_latency_ns);
	else
		(b->channels ? k->channels_wide : k->wide)(&b->plan, op_lane_dev, b->end64, b->clock64, lane_latency_ns);
}

void berth_batch_memory(berth_batch *b, const uint8_t *op_lane_dev, int64_t *dev_lane_peak_bytes)
{
	b->kernels->memory(&b->plan, op_lane_dev, b->seen, b->peak);
	for (int32_t i = 0; i < b->plan.n_devs * BERTH_BATCH_LANES; i++)
		dev_lane_peak_bytes[i] = (int64_t)b->peak[i] << b->plan.unit_shift;
}

void berth_batch_excess(const berth_batch *b, const int64_t *dev_lane_peak_bytes, double lane_excess[BERTH_BATCH_LANES])
{
	memset(lane_excess, 0, BERTH_BATCH_LANES * sizeof *lane_excess);
	for (int32_t d = 0; d < b->plan.n_devs; d++) {
		int64_t cap = b->p->dev_limit_bytes[d];
		for (int32_t l = 0; l < BERTH_BATCH_LANES && cap >= 0; l++) {
			int64_t over = dev_lane_peak_bytes[d * BERTH_BATCH_LANES + l] - cap;
			lane_excess[l] += over > 0 ? (double)over / (double)(cap > 0 ? cap : 1) : 0;
		}
	}
}
