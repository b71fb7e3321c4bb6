/* Episodes of DOPPLER: features of a graph, which operator is ready, which device takes it. The two policies
 * that choose are networks of doppler_net.c. */
#include "doppler.h"

#include "offer_schedule.h"

/* ---- what the policies see ---- */

static int64_t mean_transfer(const berth_problem *p, int32_t tensor)
{
	return p->class_mean_ns[p->tensor_class[tensor]];
}

/* The arrays of a view while they are filled. */
typedef struct arrays {
	nn_real *node_x, *edge_x;
	int32_t *from, *to, *below, *above, *off;
} arrays;

/* The first edge that the longest path takes, down from its producer and up from its consumer. */
static void follow_paths(const berth_problem *p, const int64_t *down_ns, arrays *x)
{
	const berth_graph *g = p->g;
	for (int32_t op = 0; op < g->n_ops; op++)
		x->below[op] = x->above[op] = -1;
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t u = g->tensor_producer[t];
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t w = g->edge_consumer[e];
			int64_t tr = mean_transfer(p, t);
			if (x->below[u] < 0 && tr + p->op_rank_ns[w] + p->op_mean_ns[u] == p->op_rank_ns[u])
				x->below[u] = w;
			if (x->above[w] < 0 && down_ns[u] + p->op_mean_ns[u] + tr == down_ns[w])
				x->above[w] = u;
		}
	}
}

/* Column k of x to mean 0 and deviation 1; to 0 where all are equal. */
static void standardise(nn_real *x, int32_t n, size_t k)
{
	double sum = 0, squares = 0;
	for (int32_t i = 0; i < n; i++)
		sum += (double)x[(size_t)i * DOPPLER_NODE + k];
	for (int32_t i = 0; i < n; i++)
		squares += ((double)x[(size_t)i * DOPPLER_NODE + k] - sum / n) *
		           ((double)x[(size_t)i * DOPPLER_NODE + k] - sum / n);
	double deviation = sqrt(squares / n);
	for (int32_t i = 0; i < n; i++)
		x[(size_t)i * DOPPLER_NODE + k] =
			deviation > 1e-9
				? (nn_real)(((double)x[(size_t)i * DOPPLER_NODE + k] - sum / n) / deviation)
				: 0;
}

static void fill_nodes(const doppler_view *v, const int64_t *down_ns, nn_real *x)
{
	const berth_problem *p = v->p;
	const berth_graph *g = p->g;
	for (int32_t op = 0; op < g->n_ops; op++) {
		nn_real *row = BERTH_ROW(x, op, DOPPLER_NODE);
		double in = 0, out = 0;
		BERTH_EACH (i, g->op_in_off, op)
			in += (double)mean_transfer(p, g->in_tensor[i]);
		BERTH_EACH (t, g->op_tensor_off, op)
			out += (double)mean_transfer(p, t) *
			       (g->tensor_use_off[t + 1] - g->tensor_use_off[t]);
		row[0] = (nn_real)((double)p->op_mean_ns[op] / v->unit_ns);
		row[1] = (nn_real)((double)p->op_rank_ns[op] / v->unit_ns);
		row[2] = (nn_real)((double)down_ns[op] / v->unit_ns);
		row[3] = (nn_real)(in / v->unit_ns);
		row[4] = (nn_real)(out / v->unit_ns);
	}
	for (size_t k = 0; k < DOPPLER_NODE; k++)
		standardise(x, g->n_ops, k);
}

static void fill_least(const doppler_view *v)
{
	const berth_problem *p = v->p;
	for (int32_t op = 0; op < p->n_ops; op++) {
		v->op_least_ns[op] = INT64_MAX;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d) && berth_op_time(p, op, d) < v->op_least_ns[op])
				v->op_least_ns[op] = berth_op_time(p, op, d);
	}
}

berth_status doppler_view_new(const berth_problem *p, berth_arena *mem, berth_arena *tmp, doppler_view *out,
                              berth_err *err)
{
	BERTH_SCRATCH(tmp);
	doppler_view v = {.p = p};
	double total = 0;
	int64_t *down_ns;
	for (int32_t op = 0; op < p->n_ops; op++)
		total += (double)p->op_mean_ns[op];
	v.unit_ns = total > 0 ? total / p->n_ops : 1;
	arrays x;
	BERTH_TRY_NEW(mem, (size_t)p->g->n_ops * DOPPLER_NODE, err, x.node_x);
	BERTH_TRY_NEW(mem, (size_t)p->g->n_edges * DOPPLER_EDGE, err, x.edge_x);
	BERTH_TRY_NEW(mem, p->g->n_edges, err, x.from, x.to);
	BERTH_TRY_NEW(mem, p->g->n_ops, err, x.below, x.above);
	BERTH_TRY_NEW(mem, (size_t)p->g->n_ops + 1, err, x.off);
	BERTH_TRY_NEW(mem, p->n_ops, err, v.op_least_ns);
	BERTH_TRY_NEW(tmp, p->n_ops, err, down_ns);
	berth_downward_ranks(p, down_ns);
	double unit_ns = v.unit_ns;
	const berth_graph *g = p->g;
	for (int32_t op = 0; op <= g->n_ops; op++)
		/* Edges stand in the order of their producers. */
		x.off[op] = g->tensor_use_off[g->op_tensor_off[op]];
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t) {
			x.from[e] = g->tensor_producer[t];
			x.to[e] = g->edge_consumer[e];
			x.edge_x[e] = (nn_real)log1p((double)mean_transfer(p, t) / unit_ns);
		}
	follow_paths(p, down_ns, &x);
	fill_nodes(&v, down_ns, x.node_x);
	fill_least(&v);
	v.in = (doppler_input){p->n_ops, p->g->n_edges, p->n_devs, x.node_x, x.edge_x, x.from,
	                       x.to,     p->g->topo_op, x.below,   x.above,  x.off,    x.to};
	*out = v;
	return BERTH_OK;
}

/* ---- the state of the devices ---- */

berth_status doppler_actor_new(const doppler_view *v, const doppler_dims *dims, berth_arena *mem,
                               doppler_actor *out, berth_err *err)
{
	doppler_actor a = {.v = v, .dims = dims};
	size_t ops = (size_t)v->p->n_ops, devs = (size_t)v->p->n_devs, hidden = (size_t)dims->hidden;
	BERTH_TRY(berth_partial_new(v->p, mem, &a.part, err));
	BERTH_TRY_NEW(mem, ops, err, a.p);
	BERTH_TRY_NEW(mem, devs * hidden, err, a.held);
	BERTH_TRY_NEW(mem, 2 * devs * hidden, err, a.scratch);
	BERTH_TRY_NEW(mem, devs, err, a.logits);
	BERTH_TRY_NEW(mem, ops, err, a.ready, a.waits);
	BERTH_TRY_NEW(mem, devs, err, a.load_ns, a.ready_ns, a.start_ns, a.input_ns, a.input_start_ns,
	              a.input_end_ns);
	*out = a;
	return BERTH_OK;
}

berth_status doppler_episode_new(const doppler_view *v, berth_arena *mem, doppler_episode *out,
                                 berth_err *err)
{
	size_t ops = (size_t)v->p->n_ops, cells = ops * (size_t)v->p->n_devs;
	BERTH_TRY_NEW(mem, ops, err, out->op, out->dev);
	BERTH_TRY_NEW(mem, cells * DOPPLER_DEV, err, out->dev_x);
	return BERTH_NEW(mem, out->mask, cells, err);
}

/* sign(t) * log(1 + |t|) of a time in units. */
static nn_real scaled(const doppler_view *v, int64_t t)
{
	double x = (double)t / v->unit_ns;
	return (nn_real)(x < 0 ? -log1p(-x) : log1p(x));
}

/* The five figures of the paper and how much slower the operator is there, all relative to the best device,
 * so that they do not grow along the schedule. */
static void describe(doppler_actor *a, int32_t op, const uint8_t *mask, nn_real *x)
{
	const berth_problem *p = a->v->p;
	int64_t least_load = INT64_MAX, least_start = INT64_MAX;
	berth_partial_ready(a->part, op, a->ready_ns);
	/* Where and when the inputs of op were computed. */
	const berth_graph *g = p->g;
	const int64_t *start = berth_partial_start_ns(a->part), *end = berth_partial_end_ns(a->part);
	for (int32_t d = 0; d < p->n_devs; d++) {
		a->input_ns[d] = a->input_end_ns[d] = 0;
		a->input_start_ns[d] = INT64_MAX;
	}
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t u = g->tensor_producer[g->in_tensor[i]], d = berth_partial_dev(a->part, u);
		a->input_ns[d] += end[u] - start[u];
		a->input_start_ns[d] = start[u] < a->input_start_ns[d] ? start[u] : a->input_start_ns[d];
		a->input_end_ns[d] = end[u] > a->input_end_ns[d] ? end[u] : a->input_end_ns[d];
	}
	for (int32_t d = 0; d < p->n_devs; d++) {
		a->start_ns[d] =
			mask[d] ? berth_partial_start(a->part, op, d, a->ready_ns[d], false) : INT64_MAX;
		least_start = a->start_ns[d] < least_start ? a->start_ns[d] : least_start;
		least_load = mask[d] && a->load_ns[d] < least_load ? a->load_ns[d] : least_load;
	}
	BERTH_CLEAR(x, (size_t)p->n_devs * DOPPLER_DEV);
	for (int32_t d = 0; d < p->n_devs; d++, x += DOPPLER_DEV) {
		if (!mask[d])
			continue;
		x[0] = scaled(a->v, a->load_ns[d] - least_load);
		x[1] = scaled(a->v, a->input_ns[d]);
		if (a->input_start_ns[d] < INT64_MAX) {
			x[2] = scaled(a->v, least_start - a->input_start_ns[d]);
			x[3] = scaled(a->v, least_start - a->input_end_ns[d]);
		}
		x[4] = scaled(a->v, a->start_ns[d] - least_start);
		x[5] = (nn_real)log(((double)berth_op_time(p, op, d) + 1) /
		                    ((double)a->v->op_least_ns[op] + 1));
	}
}

/* ---- an episode ---- */

/* Index of the ready operator that goes next. */
static int32_t choose_op(doppler_actor *a, const nn_real *scores, int32_t n, berth_rng *rng)
{
	const berth_problem *p = a->v->p;
	int32_t best = 0;
	if (rng) {
		doppler_ready_probs(scores, a->ready, n, a->p);
		double u = berth_rng_unit(rng);
		for (int32_t i = 0; i < n - 1; i++)
			if ((u -= (double)a->p[i]) < 0)
				return i;
		return n - 1;
	}
	for (int32_t i = 1; i < n; i++) {
		int64_t rank = p->op_rank_ns[a->ready[i]], top = p->op_rank_ns[a->ready[best]];
		if (rank > top || (rank == top && p->g->op_topo[a->ready[i]] < p->g->op_topo[a->ready[best]]))
			best = i;
	}
	return best;
}

static int32_t choose_dev(doppler_actor *a, const nn_real *params, const nn_real *acts, int32_t op,
                          const nn_real *dev_x, const uint8_t *mask, berth_rng *rng)
{
	if (!rng) {
		/* The device with the least start. */
		int32_t best = -1;
		for (int32_t d = 0; d < a->v->p->n_devs; d++)
			if (mask[d] && (best < 0 || a->start_ns[d] < a->start_ns[best]))
				best = d;
		return best;
	}
	doppler_place_logits(a->dims, params, &a->v->in, acts, op, dev_x, a->held, a->scratch, a->logits);
	int32_t last = -1, n = a->v->p->n_devs;
	double max = -INFINITY, sum = 0;
	for (int32_t d = 0; d < n; d++)
		if (mask[d])
			max = fmax(max, (double)a->logits[d]);
	for (int32_t d = 0; d < n; d++)
		sum += mask[d] ? exp((double)a->logits[d] - max) : 0;
	double u = berth_rng_unit(rng) * sum;
	for (int32_t d = 0; d < n; d++)
		if (mask[d]) {
			last = d;
			if ((u -= exp((double)a->logits[d] - max)) < 0)
				break;
		}
	return last;
}

void doppler_episode_run(doppler_actor *a, const nn_real *params, const nn_real *acts, berth_rng *rng,
                         double memory, doppler_episode *ep)
{
	const berth_problem *p = a->v->p;
	const doppler_input *in = &a->v->in;
	size_t devs = (size_t)p->n_devs;
	const nn_real *scores = rng ? doppler_scores(a->dims, in, acts) : NULL;
	int32_t n;
	berth_partial_reset(a->part);
	berth_partial_limit_memory(a->part, memory);
	BERTH_CLEAR(a->held, devs * (size_t)a->dims->hidden);
	BERTH_CLEAR(a->load_ns, devs);
	doppler_ready_start(in, a->ready, a->waits, &n);
	for (size_t step = 0; step < (size_t)p->n_ops; step++) {
		int32_t op = doppler_ready_take(in, a->ready, a->waits, &n, choose_op(a, scores, n, rng));
		nn_real *dev_x = ep->dev_x + step * devs * DOPPLER_DEV;
		uint8_t *mask = ep->mask + step * devs;
		/* Devices that op can go to: its colocation group's, else the legal ones where it fits, else
		 * the one with most room. */
		int32_t bound = berth_partial_dev(a->part, op), coloc = p->op_coloc[op];
		bool any = false;
		for (int32_t d = 0; d < p->n_devs; d++) {
			mask[d] = bound < 0 && berth_op_legal(p, op, d) &&
			          berth_partial_fits(a->part, coloc, d);
			any |= mask[d];
		}
		if (!any)
			mask[bound >= 0 ? bound : berth_partial_roomiest(a->part, coloc)] = 1;
		describe(a, op, mask, dev_x);
		int32_t dev = choose_dev(a, params, acts, op, dev_x, mask, rng);
		ep->op[step] = op;
		ep->dev[step] = dev;
		berth_partial_place(a->part, op, dev, a->start_ns[dev]);
		a->load_ns[dev] += berth_op_time(p, op, dev);
		if (rng)
			doppler_hold(a->dims, in, acts, op, dev, a->held);
	}
}
