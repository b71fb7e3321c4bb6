/* The cost model "placeto" (R. Addanki et al., "Placeto", NeurIPS 2019, the event simulator of its authors).
 * A device runs one operator at a time, earliest ready first, and rests for a fixed gap after each (op_gap_s
 * of the system). What leaves a device goes over its one output bus, one tensor at a time, earliest requested
 * first, and once for all other devices together: they have it when the transfer ends. A transfer takes the
 * routed time of the execution model, to the farthest of the devices that take the tensor. The authors'
 * machine has links of 25 us and 7,600 bytes a us. Ties: operators by topological index, tensors by index.
 *
 * Throughput: the largest load of a device (operators and gaps) or a bus. Slots, contention and order rules
 * say nothing.
 *
 * Events in instants, as in sim.c: all ends at an instant, then starts. O((ops + edges) log) a run. */
#include "cost_model.h"

#include "sort.h"

/* Items that wait for a device or a bus: sorted by (time since when, index). */
typedef struct line {
	int32_t head, tail;
	bool busy;
} line;

typedef struct happening {
	int64_t time;
	/* an operator ends; from n_ops on: a device is free again; from n_ops + n_devs on: a tensor has
	 * arrived */
	int32_t what;
} happening;

typedef struct placeto {
	const berth_problem *p;
	int64_t gap_ns, now;
	const int32_t *op_dev;
	int32_t *op_waits; /* [n_ops] inputs not there yet, and 1 until the run begins */
	line *dev, *bus;   /* [n_devs] */
	int32_t *op_prev, *op_next, *tensor_prev, *tensor_next; /* [n_ops], [n_tensors] in their lines */
	int64_t *op_since;            /* [n_ops] ready */
	int64_t *tensor_since;        /* [n_tensors] requested */
	int64_t *dev_load, *bus_load; /* [n_devs] */
	happening *heap;              /* [n_ops + n_devs + n_tensors] */
	int32_t n_heap;
} placeto;

static berth_status new_scratch(const berth_problem *p, berth_arena *mem, void **out, berth_err *err)
{
	size_t ops = (size_t)p->n_ops, devs = (size_t)p->n_devs, tensors = (size_t)p->g->n_tensors;
	placeto *s;
	BERTH_TRY_NEW(mem, 1, err, s);
	s->p = p;
	s->gap_ns = llround(p->s->op_gap_s * 1e9);
	BERTH_TRY_NEW(mem, ops, err, s->op_waits);
	BERTH_TRY_NEW(mem, devs, err, s->dev, s->bus);
	BERTH_TRY_NEW(mem, ops, err, s->op_prev, s->op_next, s->op_since);
	BERTH_TRY_NEW(mem, tensors, err, s->tensor_prev, s->tensor_next, s->tensor_since);
	BERTH_TRY_NEW(mem, devs, err, s->dev_load, s->bus_load);
	BERTH_TRY_NEW(mem, ops + devs + tensors, err, s->heap);
	*out = s;
	return BERTH_OK;
}

static bool is_before(const void *ctx, const void *a, const void *b)
{
	(void)ctx;
	return ((const happening *)a)->time < ((const happening *)b)->time;
}

static void push(placeto *s, int64_t time, int32_t what)
{
	happening new = {time, what};
	berth_heap_push(s->heap, (size_t)s->n_heap++, sizeof new, &new, is_before, NULL);
}

static int32_t pop(placeto *s)
{
	int32_t what = s->heap[0].what;
	berth_heap_pop(s->heap, (size_t)s->n_heap--, sizeof *s->heap, is_before, NULL);
	return what;
}

/* Join a line at its end, before those of the same instant with a larger rank (NULL: the index). */
static void join(line *l, int32_t item, int64_t now, int64_t *since, int32_t *prev, int32_t *next,
                 const int32_t *rank)
{
	int32_t after = l->tail;
	since[item] = now;
	while (after >= 0 && since[after] == now && (rank ? rank[after] > rank[item] : after > item))
		after = prev[after];
	prev[item] = after;
	next[item] = after >= 0 ? next[after] : l->head;
	*(after >= 0 ? &next[after] : &l->head) = item;
	*(next[item] >= 0 ? &prev[next[item]] : &l->tail) = item;
}

/* Take the first of the line; -1: nobody waits, or it is busy. */
static int32_t serve(line *l, int32_t *prev, const int32_t *next)
{
	int32_t item = l->busy ? -1 : l->head;
	if (item < 0)
		return -1;
	l->head = next[item];
	*(l->head >= 0 ? &prev[l->head] : &l->tail) = -1;
	l->busy = true;
	return item;
}

static void input_there(placeto *s, int32_t op)
{
	if (--s->op_waits[op] == 0)
		join(&s->dev[s->op_dev[op]], op, s->now, s->op_since, s->op_prev, s->op_next,
		     s->p->g->op_topo);
}

/* To the consumers on the producer's device, or to all others. Is there any other? */
static bool hand_over(placeto *s, int32_t t, bool at_home)
{
	const berth_graph *g = s->p->g;
	int32_t home = s->op_dev[g->tensor_producer[t]];
	bool others = false;
	BERTH_EACH (e, g->tensor_use_off, t) {
		bool here = s->op_dev[g->edge_consumer[e]] == home;
		others |= !here;
		if (here == at_home)
			input_there(s, g->edge_consumer[e]);
	}
	return others;
}

static int64_t transfer_time(const placeto *s, int32_t t, int32_t home)
{
	const berth_graph *g = s->p->g;
	int64_t longest = 0;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int64_t time = berth_transfer_ns(s->p, t, home, s->op_dev[g->edge_consumer[e]]);
		longest = time > longest ? time : longest;
	}
	return longest;
}

static void start_all(placeto *s, int64_t *start_ns)
{
	for (int32_t d = 0; d < s->p->n_devs; d++) {
		int32_t op = serve(&s->dev[d], s->op_prev, s->op_next),
			t = serve(&s->bus[d], s->tensor_prev, s->tensor_next);
		if (op >= 0) {
			int64_t time = berth_op_time(s->p, op, d);
			start_ns[op] = s->now;
			s->dev_load[d] += time + s->gap_ns;
			push(s, s->now + time, op);
		}
		if (t >= 0) {
			int64_t time = transfer_time(s, t, d);
			s->bus_load[d] += time;
			push(s, s->now + time, s->p->n_ops + s->p->n_devs + t);
		}
	}
}

static void run(void *scratch, const int32_t *op_dev, berth_cost_run *out)
{
	placeto *s = scratch;
	const berth_graph *g = s->p->g;
	int64_t load_ns = 0;
	s->op_dev = op_dev;
	s->now = out->latency_ns = 0;
	for (int32_t d = 0; d < s->p->n_devs; d++) {
		s->dev[d] = s->bus[d] = (line){-1, -1, false};
		s->dev_load[d] = s->bus_load[d] = 0;
	}
	for (int32_t op = 0; op < g->n_ops; op++)
		s->op_waits[op] = g->op_in_off[op + 1] - g->op_in_off[op] + 1;
	for (int32_t op = 0; op < g->n_ops; op++)
		input_there(s, op);
	start_all(s, out->start_ns);
	while (s->n_heap) {
		s->now = s->heap[0].time;
		while (s->n_heap && s->heap[0].time == s->now) {
			int32_t what = pop(s);
			int32_t t = what - g->n_ops - s->p->n_devs;
			if (t >= 0) {
				s->bus[s->op_dev[g->tensor_producer[t]]].busy = false;
				hand_over(s, t, false);
			} else if (what >= g->n_ops) {
				s->dev[what - g->n_ops].busy = false;
			} else {
				int32_t d = s->op_dev[what];
				out->end_ns[what] = s->now;
				push(s, s->now + s->gap_ns, g->n_ops + d);
				for (t = g->op_tensor_off[what]; t < g->op_tensor_off[what + 1]; t++)
					if (hand_over(s, t, true))
						join(&s->bus[d], t, s->now, s->tensor_since, s->tensor_prev,
						     s->tensor_next, NULL);
			}
		}
		start_all(s, out->start_ns);
	}
	for (int32_t op = 0; op < g->n_ops; op++)
		out->latency_ns = out->end_ns[op] > out->latency_ns ? out->end_ns[op] : out->latency_ns;
	for (int32_t d = 0; d < s->p->n_devs; d++) {
		load_ns = s->dev_load[d] > load_ns ? s->dev_load[d] : load_ns;
		load_ns = s->bus_load[d] > load_ns ? s->bus_load[d] : load_ns;
	}
	out->load_s = (double)load_ns * 1e-9;
}

/* The longest path by least times, without transfers and gaps. */
static berth_status longest_path(const berth_problem *p, berth_arena *tmp, int64_t *ns, berth_err *err)
{
	const berth_graph *g = p->g;
	int64_t *end, longest = 0;
	BERTH_TRY_NEW(tmp, p->n_ops, err, end);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k];
		int64_t least = INT64_MAX;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d) && berth_op_time(p, op, d) < least)
				least = berth_op_time(p, op, d);
		BERTH_EACH (i, g->op_in_off, op) {
			int64_t from = end[g->tensor_producer[g->in_tensor[i]]];
			end[op] = from > end[op] ? from : end[op];
		}
		end[op] += least < INT64_MAX ? least : 0;
		longest = end[op] > longest ? end[op] : longest;
	}
	*ns = longest;
	return BERTH_OK;
}

/* The longest path, and the load dual of operator times, of which a device runs one at a time however many
 * slots it has. */
static berth_status bounds(const berth_problem *p, int64_t work_ns, double load_ns, berth_arena *tmp,
                           berth_cost_bounds *out, berth_err *err)
{
	BERTH_TRY(longest_path(p, tmp, &out->path_ns, err));
	out->latency_ns = out->path_ns > work_ns ? out->path_ns : work_ns;
	out->load_s = load_ns * 1e-9;
	return BERTH_OK;
}

const berth_cost_model berth_cost_placeto = {
	.name = "placeto", .op_gap_s = 5.7e-6, .new_scratch = new_scratch, .run = run, .bounds = bounds};
