/* The cost model "serial": how engines run a plan that do one thing at a time (ONNX Runtime, OpenVINO,
 * PyTorch without streams). Operators run one after the other in topological order, whatever their devices.
 * When one has ended, each of its tensors goes to each other device that needs it, once, by the routed time
 * of the execution model, one after the other; then the next operator starts. Nothing overlaps, so the
 * latency is a sum, of which minimum cuts find the least on two devices (H. S. Stone, "Multiprocessor
 * scheduling with the aid of network flow algorithms", IEEE Trans. Software Engineering 3(1), 1977).
 *
 * Throughput: a sample a run. Memory and energy: as in the execution model. Order rules, slots, contention
 * and the bandwidth of pools say nothing. O(ops + edges) a run. */
#include "cost_model.h"

typedef struct serial {
	const berth_problem *p;
	int32_t *in_edge;    /* [inputs] the edge that an input is */
	int32_t *first_to;   /* [n_devs] the first edge of the tensor at hand to that device; -1: none yet */
	int32_t *edge_first; /* [n_edges] the first edge of its tensor to the same device */
	int32_t *left;       /* [n_edges] at first edges: consumers there that have not ended */
	berth_cost_run *out;
} serial;

static berth_status new_scratch(const berth_problem *p, berth_arena *mem, void **out, berth_err *err)
{
	const berth_graph *g = p->g;
	serial *s;
	BERTH_TRY_NEW(mem, 1, err, s);
	s->p = p;
	BERTH_TRY_NEW(mem, g->n_edges, err, s->in_edge, s->edge_first, s->left);
	BERTH_TRY_NEW(mem, p->n_devs, err, s->first_to);
	for (int32_t e = 0; e < g->n_edges; e++)
		s->in_edge[p->edge_in_pos[e]] = e;
	*out = s;
	return BERTH_OK;
}

static void hold(const serial *s, int32_t dev, int64_t bytes)
{
	int64_t *mem = s->out->mem_bytes, *peak = s->out->peak_bytes;
	int32_t pool = berth_dev_pool(s->p, dev) < 0 ? -1 : s->p->n_devs + berth_dev_pool(s->p, dev);
	mem[dev] += bytes;
	peak[dev] = mem[dev] > peak[dev] ? mem[dev] : peak[dev];
	if (pool < 0)
		return;
	mem[pool] += bytes;
	peak[pool] = mem[pool] > peak[pool] ? mem[pool] : peak[pool];
}

static int64_t bytes_at_start(const serial *s, int32_t op)
{
	const berth_graph *g = s->p->g;
	int64_t sum = g->op_output_bytes[op] + g->op_workspace_bytes[op];
	BERTH_EACH (t, g->op_tensor_off, op)
		sum += g->tensor_bytes[t];
	return sum;
}

/* Tensor t to all devices that need it. Returns when that is done. */
static int64_t send(serial *s, const int32_t *op_dev, int32_t t, int64_t now)
{
	const berth_graph *g = s->p->g;
	int32_t home = op_dev[g->tensor_producer[t]];
	bool stays = false;
	/* The first edge of tensor t to each device, with the consumers there. */
	BERTH_EACH (e, g->tensor_use_off, t)
		s->first_to[op_dev[g->edge_consumer[e]]] = -1;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t *first = &s->first_to[op_dev[g->edge_consumer[e]]];
		if (*first < 0) {
			*first = e;
			s->left[e] = 0;
		}
		s->edge_first[e] = *first;
		s->left[*first]++;
	}
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t to = op_dev[g->edge_consumer[e]];
		stays |= to == home;
		if (to == home || s->edge_first[e] != e)
			continue;
		now += berth_transfer_ns(s->p, t, home, to);
		const berth_problem *p = s->p;
		BERTH_EACH (i, p->route_off, berth_route(p, t, home, to))
			s->out->link_bytes[p->route_link[i]] += p->g->tensor_bytes[t];
		if (s->out->mem_bytes)
			hold(s, to, g->tensor_bytes[t]);
	}
	if (!stays && s->out->mem_bytes)
		hold(s, home, -g->tensor_bytes[t]);
	return now;
}

/* Is everything where the engine takes other times then? */
static bool is_alone(const berth_problem *p, const int32_t *op_dev)
{
	for (int32_t op = 0; p->alone_ns && op < p->n_ops; op++)
		if (op_dev[op] != p->alone_dev)
			return false;
	return p->alone_ns;
}

static void run(void *scratch, const int32_t *op_dev, berth_cost_run *out)
{
	serial *s = scratch;
	const berth_graph *g = s->p->g;
	int64_t now = 0;
	const bool alone = is_alone(s->p, op_dev);
	s->out = out;
	for (int32_t k = 0; k < s->p->n_ops; k++) {
		int32_t op = g->topo_op[k], dev = op_dev[op];
		out->start_ns[op] = now;
		if (out->mem_bytes)
			hold(s, dev, bytes_at_start(s, op));
		out->end_ns[op] = now += alone ? s->p->alone_ns[op] : berth_op_time(s->p, op, dev);
		if (out->mem_bytes) {
			hold(s, dev, -g->op_workspace_bytes[op]);
			/* Inputs that nothing else on the device needs go. */
			BERTH_EACH (i, g->op_in_off, op)
				if (--s->left[s->edge_first[s->in_edge[i]]] == 0)
					hold(s, dev, -g->tensor_bytes[g->in_tensor[i]]);
		}
		BERTH_EACH (t, g->op_tensor_off, op)
			now = send(s, op_dev, t, now);
	}
	out->latency_ns = now;
	out->load_s = (double)now * 1e-9;
}

/* Least times of all colocation groups, one after the other. */
static berth_status bounds(const berth_problem *p, int64_t work_ns, double load_ns, berth_arena *tmp,
                           berth_cost_bounds *out, berth_err *err)
{
	(void)load_ns, (void)tmp, (void)err;
	int64_t sum = 0;
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int64_t least = INT64_MAX;
		for (int32_t d = 0; d < p->n_devs; d++) {
			int64_t ns = 0;
			if (!berth_op_legal(p, p->coloc_op[p->coloc_off[u]], d))
				continue;
			BERTH_EACH (i, p->coloc_off, u)
				ns += berth_op_time(p, p->coloc_op[i], d);
			least = ns < least ? ns : least;
		}
		sum += least < INT64_MAX ? least : 0;
	}
	sum = sum > work_ns ? sum : work_ns;
	if (berth_may_be_alone(p) && p->alone_sum_ns < sum)
		sum = p->alone_sum_ns;
	out->path_ns = out->latency_ns = sum;
	out->load_s = (double)sum * 1e-9;
	return BERTH_OK;
}

const berth_cost_model berth_cost_serial = {.name = "serial",
                                            .has_energy = true,
                                            .memory_over_time = true,
                                            .sums_times = true,
                                            .new_scratch = new_scratch,
                                            .run = run,
                                            .bounds = bounds};
