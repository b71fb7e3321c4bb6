/* Set-up of the batched evaluator; see batch.h. The kernels are in batch_kernel.inc.
 *
 * 32 bits suffice: an operator's end is its time on top of either the end of another operator on its device or the end of a producer plus a transfer, and
 * following these back meets no operator twice, so that no end is above the sum over operators of the largest time plus the largest transfer to it. */
#include "batch_plan.h"

#include "sim.h"

struct berth_batch {
	batch_plan plan;
	const batch_kernels *kernels;
	bool is_narrow;
	int32_t *end32, *clock32;
	int64_t *end64, *clock64;
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

/* class_max: [n_classes], filled */
static bool fits_32(const berth_problem *p, int64_t *class_max)
{
	int64_t sum = 0;
	for (int32_t c = 0; c < p->n_classes; c++)
		class_max[c] = class_longest(p, c);
	for (int32_t op = 0; op < p->n_ops && sum < INT32_MAX; op++) {
		int64_t time = 0, in = 0;
		for (int32_t d = 0; d < p->n_devs; d++)
			time = max64(time, berth_op_time(p, op, d));
		for (int32_t i = p->g->op_in_off[op]; i < p->g->op_in_off[op + 1]; i++)
			in = max64(in, class_max[p->tensor_class[p->g->in_tensor[i]]]);
		if (time >= INT32_MAX || in >= INT32_MAX)
			return false;
		sum += time + in;
	}
	return sum < INT32_MAX;
}

static berth_status check(const berth_problem *p, const int32_t *order, const batch_kernels *kernels, berth_arena *mem, berth_err *err)
{
	if (!kernels)
		return berth_fail(err, BERTH_EINVAL, "batched evaluation: this processor or build lacks the instruction set asked for");
	if (p->s->cost_model != BERTH_COST_REFERENCE)
		return berth_fail(err, BERTH_ELIMIT, "batched evaluation: the system has a cost model of its own; use the reference simulator");
	if (p->n_devs > BERTH_BATCH_MAX_DEVS)
		return berth_fail(err, BERTH_ELIMIT, "batched evaluation: %d devices, at most %d; use the reference simulator", p->n_devs, BERTH_BATCH_MAX_DEVS);
	for (int32_t d = 0; d < p->n_devs; d++)
		if (p->s->dev_slots[d] != 1)
			return berth_fail(err, BERTH_ELIMIT, "batched evaluation: device '%s' has %d slots, 1 is supported; use the reference simulator",
			                  p->s->dev_name[d], p->s->dev_slots[d]);
	if (order && !berth_order_is_topological(p->g, order, mem))
		return berth_fail(err, BERTH_EINVAL, "batched evaluation: the order is not topological");
	return BERTH_OK;
}

static berth_status new_tables(berth_batch *b, const berth_problem *p, berth_arena *mem, berth_err *err)
{
	batch_plan *q = &b->plan;
	size_t ops = (size_t)p->n_ops, row = (size_t)1 << q->dev_shift, n = (size_t)p->n_devs, lanes = BERTH_BATCH_LANES;
	size_t slots = (size_t)q->n_slots, n_times = ops * row + lanes, n_pairs = (size_t)p->n_classes * row * row + lanes;
	if (b->is_narrow) {
		BERTH_TRY(BERTH_NEW(mem, q->step_time32, n_times, err));
		BERTH_TRY(BERTH_NEW(mem, q->class_pair32, n_pairs, err));
		BERTH_TRY(BERTH_NEW(mem, b->end32, (slots + 1) * lanes, err));
		BERTH_TRY(BERTH_NEW(mem, b->clock32, (n + 1) * lanes, err));
	} else {
		BERTH_TRY(BERTH_NEW(mem, q->step_time64, n_times, err));
		BERTH_TRY(BERTH_NEW(mem, q->class_pair64, n_pairs, err));
		BERTH_TRY(BERTH_NEW(mem, b->end64, (slots + 1) * lanes, err));
		BERTH_TRY(BERTH_NEW(mem, b->clock64, (n + 1) * lanes, err));
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
	int32_t *readers, *op_slot, *unused, n_unused = 0;
	BERTH_TRY(BERTH_NEW(mem, readers, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, op_slot, g->n_ops, err));
	BERTH_TRY(BERTH_NEW(mem, unused, g->n_ops, err));
	for (int32_t e = 0; e < g->n_edges; e++)
		readers[q->in[e].op]++;
	for (int32_t i = 0, e = 0; i < g->n_ops; i++) {
		int32_t op = q->step[i].op;
		for (; e < q->step[i].in_end; e++) {
			int32_t from = q->in[e].op;
			q->in[e].slot = op_slot[from];
			if (--readers[from] == 0)
				unused[n_unused++] = op_slot[from];
		}
		q->step[i].slot = op_slot[op] = n_unused ? unused[--n_unused] : q->n_slots++;
		if (readers[op] == 0)
			unused[n_unused++] = op_slot[op];
	}
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

berth_status berth_batch_new(const berth_problem *p, const int32_t *order, berth_isa isa, berth_arena *mem, berth_batch **out, berth_err *err)
{
	const batch_kernels *kernels = batch_kernels_of(isa);
	berth_batch *b;
	int64_t *class_max;
	BERTH_TRY(check(p, order, kernels, mem, err));
	BERTH_TRY(BERTH_NEW(mem, b, 1, err));
	BERTH_TRY(BERTH_NEW(mem, class_max, p->n_classes, err));
	batch_plan *q = &b->plan;
	b->kernels = kernels;
	b->is_narrow = fits_32(p, class_max);
	q->n_ops = p->n_ops;
	q->n_devs = p->n_devs;
	for (q->dev_shift = BATCH_LEAST_SHIFT; 1 << q->dev_shift < p->n_devs;)
		q->dev_shift++;
	BERTH_TRY(new_steps(q, p, order, mem, err));
	BERTH_TRY(new_tables(b, p, mem, err));
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
	if (b->is_narrow)
		b->kernels->narrow(&b->plan, op_lane_dev, b->end32, b->clock32, lane_latency_ns);
	else
		b->kernels->wide(&b->plan, op_lane_dev, b->end64, b->clock64, lane_latency_ns);
}
