/* Times and bytes of a training step's layers on each kind of device, whole or over several devices of a
 * host. The search works on these tables alone. */
#include "pipelines.h"

#include "problem.h"

/* ---- a graph over several devices ---- */

/* The shape of a width-th: of many products some, of one its columns, or what is summed; of rows some. */
static berth_dims divide_dims(berth_dims d, int32_t width)
{
	enum { B, M, N, K };
	int at = d.kind == BERTH_DIMS_CONV ? 2 /* channels out */ : 0;
	if (d.kind == BERTH_DIMS_PRODUCT)
		at = d.at[B] % width == 0 ? B : d.at[N] % width == 0 ? N : d.at[K] % width == 0 ? K : M;
	d.at[at] = (d.at[at] + width - 1) / width;
	return d;
}

/* g with a width-th of each operator's work. */
static berth_status divide_graph(const berth_graph *g, int32_t width, berth_arena *mem, berth_graph *out,
                                 berth_err *err)
{
	*out = *g;
	int32_t n_times = g->op_time_off[g->n_ops];
	BERTH_TRY_NEW(mem, g->n_ops, err, out->op_flops, out->op_macs, out->op_read_bytes,
	              out->op_write_bytes);
	BERTH_TRY_NEW(mem, g->n_shapes, err, out->shape);
	BERTH_TRY_NEW(mem, n_times, err, out->time_s);
	for (int32_t op = 0; op < g->n_ops; op++) {
		out->op_flops[op] = g->op_flops[op] / width;
		out->op_macs[op] = g->op_macs[op] / width;
		out->op_read_bytes[op] = g->op_read_bytes[op] / width;
		out->op_write_bytes[op] = g->op_write_bytes[op] / width;
	}
	for (int32_t i = 0; i < g->n_shapes; i++)
		out->shape[i] =
			g->shape[i].kind == BERTH_DIMS_NONE ? g->shape[i] : divide_dims(g->shape[i], width);
	for (int32_t i = 0; i < n_times; i++)
		out->time_s[i] = g->time_s[i] / width;
	return BERTH_OK;
}

/* ---- bytes ---- */

typedef struct layer_bytes {
	int64_t *kept, *ahead, *back, work;
	int32_t *sums; /* [n_layers] all-reduces of its output over the devices of a replica, in one direction
	                */
} layer_bytes;

/* Tensors that go over the borders from layer `from` to `to`, and back. */
static void add_border(int64_t *ahead, int64_t *back, int32_t from, int32_t to, int64_t bytes)
{
	int64_t *at = from < to ? ahead : back;
	int32_t low = from < to ? from : to, high = from < to ? to : from;
	for (int32_t l = low + 1; l <= high; l++)
		at[l] += bytes;
}

/* What forward operators give to backward ones stays until these run, in each layer that has some. */
static berth_status count_layers(const berth_graph *g, const berth_granularity *blocks, berth_arena *mem,
                                 berth_arena *tmp, layer_bytes *x, berth_err *err)
{
	int32_t L = blocks->n_blocks, *seen;
	BERTH_TRY_NEW(mem, L + 1, err, x->kept, x->ahead, x->back);
	BERTH_TRY_NEW(tmp, L, err, x->sums, seen);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int64_t bytes = g->op_workspace_bytes[op];
		BERTH_EACH (t, g->op_tensor_off, op)
			bytes += g->tensor_bytes[t];
		x->work = berth_max(x->work, bytes);
		berth_dims_kind kind = berth_graph_dims(g, op)->kind;
		int32_t *sums = &x->sums[blocks->op_block[op]];
		if (!g->op_backward[op] && kind != BERTH_DIMS_ROWS && kind != BERTH_DIMS_NONE && *sums < 2)
			*sums += berth_graph_has_weights(g, op);
	}
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t from = blocks->op_block[g->tensor_producer[t]], low = from, high = from;
		bool back = g->op_backward[g->tensor_producer[t]];
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t op = g->edge_consumer[e], l = blocks->op_block[op];
			if (!back && g->op_backward[op] && seen[l] != t + 1) {
				seen[l] = t + 1;
				x->kept[l + 1] += g->tensor_bytes[t];
			}
			low = l < low ? l : low;
			high = l > high ? l : high;
		}
		add_border(x->ahead, x->back, from, high, g->tensor_bytes[t]);
		add_border(x->ahead, x->back, from, low, g->tensor_bytes[t]);
	}
	for (int32_t l = 0; l < L; l++)
		x->kept[l + 1] += x->kept[l];
	return BERTH_OK;
}

static berth_status count_weights(const berth_graph *g, const berth_granularity *blocks, berth_arena *mem,
                                  berth_train_task *x, berth_err *err)
{
	int64_t *param, *held;
	BERTH_TRY_NEW(mem, x->n_layers + 1, err, param, held);
	for (int32_t op = 0; op < g->n_ops; op++) {
		int32_t l = blocks->op_block[op];
		param[l + 1] += g->op_param_bytes[op];
		held[l + 1] += g->op_param_bytes[op] + g->op_state_bytes[op];
	}
	/* A shared parameter is in each layer that has a user, once. */
	for (int32_t p = 0; p < g->n_params; p++)
		BERTH_EACH (i, g->param_op_off, p) {
			int32_t l = blocks->op_block[g->param_op[i]], first = g->param_op_off[p];
			while (blocks->op_block[g->param_op[first]] != l)
				first++;
			if (first == i) {
				param[l + 1] += g->param_bytes[p];
				held[l + 1] += g->param_bytes[p];
			}
		}
	for (int32_t l = 0; l < x->n_layers; l++) {
		param[l + 1] += param[l];
		held[l + 1] += held[l];
	}
	x->param_bytes = param;
	x->held_bytes = held;
	return BERTH_OK;
}

/* ---- devices ---- */

/* By figures, as times at one batch may be alike and at others not; measured ones may go by names too. */
static bool same_device(const berth_problem *p, int32_t a, int32_t b)
{
	bool same = berth_dev_most_bytes(p, a) == berth_dev_most_bytes(p, b) &&
	            berth_device_figures_same(p->s, a, b);
	for (int32_t op = 0; op < p->n_ops && same; op++)
		same = berth_op_time(p, op, a) == berth_op_time(p, op, b) &&
		       berth_op_legal(p, op, a) == berth_op_legal(p, op, b);
	return same;
}

static int32_t count_in_host(const berth_problem *p, const berth_cluster *c, int32_t a, int32_t host)
{
	int32_t n = 0;
	BERTH_EACH (i, c->host_off, host)
		n += same_device(p, c->host_dev[i], a);
	return n;
}

/* Devices that do the same in hosts with as many of them. */
static berth_status find_kinds(const berth_problem *p, const berth_cluster *c, berth_train_task *x,
                               int32_t *dev_kind, berth_err *err)
{
	const berth_system *s = p->s;
	for (int32_t d = 0; d < s->n_devs; d++) {
		int32_t k = 0, per_host = count_in_host(p, c, d, c->dev_host[d]);
		if (s->dev_slots[d] > 1)
			return berth_fail(
				err, BERTH_EINVAL,
				"device '%s' has %d slots: pipelines of layers are for devices with "
				"one; leave out its \"slots\"",
				s->dev_name[d], s->dev_slots[d]);
		while (k < x->n_kinds &&
		       !(x->kind[k].per_host == per_host && same_device(p, x->kind[k].first, d)))
			k++;
		if (k == BERTH_MOST_TRAIN_KINDS)
			return berth_fail(err, BERTH_EINVAL,
			                  "%s has more than %d kinds of devices: leave some out of the file",
			                  s->name, BERTH_MOST_TRAIN_KINDS);
		if (k == x->n_kinds) {
			berth_train_kind *new = &x->kind[x->n_kinds++];
			*new = (berth_train_kind){.first = d,
			                          .name = s->dev_name[d],
			                          .per_host = per_host,
			                          .memory_bytes = berth_dev_most_bytes(p, d),
			                          .idle_w = s->dev_idle_w[d],
			                          .busy_w = s->dev_busy_w[d],
			                          .price_h = s->dev_price_h[d],
			                          .n_widths = 1};
			while (new->n_widths < BERTH_MOST_TRAIN_WIDTHS &&
			       per_host % berth_train_width(new->n_widths) == 0)
				new->n_widths++;
		}
		x->kind[k].n_devs++;
		dev_kind[d] = k;
	}
	return BERTH_OK;
}

/* ---- times ---- */

static bool is_update(const berth_graph *g, int32_t op)
{
	return g->op_type[op] >= 0 && strcmp(g->type_name[g->op_type[op]], "OptimizerUpdate") == 0;
}

/* Of one kind at one width: p is the graph divided, whole the graph. */
static berth_status time_layers(const berth_problem *p, const berth_graph *whole,
                                const berth_granularity *blocks, const layer_bytes *bytes,
                                const berth_train_kind *k, int32_t width, berth_arena *mem,
                                berth_train_times *out, berth_err *err)
{
	int32_t L = blocks->n_blocks;
	double *ahead, *back, *update;
	BERTH_TRY_NEW(mem, L + 1, err, ahead, back, update);
	for (int32_t op = 0; op < p->n_ops; op++) {
		double *at = is_update(whole, op) ? update : whole->op_backward[op] ? back : ahead;
		at[blocks->op_block[op] + 1] += fmax((double)berth_op_time(p, op, k->first), 0) / 1e9;
	}
	for (int32_t l = 0; l < L; l++) {
		double each = (double)berth_max(bytes->ahead[l], l + 1 < L ? bytes->ahead[l + 1] : 0) / width;
		double sum_s =
			width > 1 ? 2.0 * (width - 1) * (k->inside.latency_s + k->inside.byte_s * each) : 0;
		ahead[l + 1] += ahead[l] + bytes->sums[l] * sum_s;
		back[l + 1] += back[l] + bytes->sums[l] * sum_s;
		update[l + 1] += update[l];
	}
	*out = (berth_train_times){ahead, back, update};
	return BERTH_OK;
}

/* All kinds at one batch, b of n. */
static berth_status time_batch(const berth_graph *g, const berth_granularity *blocks,
                               const layer_bytes *bytes, int32_t b, berth_train_times *const *times,
                               berth_train_task *x, const berth_system *s, berth_arena *mem, berth_arena *tmp,
                               berth_arena *tmp2, berth_err *err)
{
	for (int32_t w = 0; w < BERTH_MOST_TRAIN_WIDTHS; w++) {
		BERTH_SCRATCH(tmp);
		berth_graph part;
		berth_problem p;
		bool any = false;
		for (int32_t k = 0; k < x->n_kinds; k++)
			any |= w < x->kind[k].n_widths;
		if (!any)
			break;
		BERTH_TRY(divide_graph(g, berth_train_width(w), tmp, &part, err));
		BERTH_TRY(berth_problem_new(&part, s, tmp, tmp2, &p, err));
		for (int32_t k = 0; k < x->n_kinds; k++)
			if (w < x->kind[k].n_widths)
				BERTH_TRY(time_layers(&p, g, blocks, bytes, &x->kind[k], berth_train_width(w),
				                      mem, &times[k][b * x->kind[k].n_widths + w], err));
	}
	return BERTH_OK;
}

static berth_status find_barred(const berth_problem *p, const berth_granularity *blocks, berth_train_kind *k,
                                berth_arena *mem, berth_err *err)
{
	int32_t *barred, L = blocks->n_blocks;
	BERTH_TRY_NEW(mem, L + 1, err, barred);
	for (int32_t op = 0; op < p->n_ops; op++)
		if (!berth_op_legal(p, op, k->first))
			barred[blocks->op_block[op] + 1] = 1;
	for (int32_t l = 0; l < L; l++)
		barred[l + 1] += barred[l];
	k->barred = barred;
	return BERTH_OK;
}

static berth_status check_graph(const berth_graph *g, berth_err *err)
{
	bool back = false;
	for (int32_t op = 0; op < g->n_ops; op++)
		back |= g->op_backward[op];
	return back ? BERTH_OK
	            : berth_fail(err, BERTH_EINVAL,
	                         "%s has no backward pass: give --training, or a graph of a training step",
	                         g->name);
}

berth_status berth_train_new(const berth_graph *graph, const int64_t *batch, int32_t n,
                             const berth_cluster *c, berth_arena *mem, berth_arena *tmp,
                             berth_granularity *blocks, berth_train_task *out, berth_err *err)
{
	berth_train_task x = {.n_batches = n, .batch = batch};
	berth_train_times *times[BERTH_MOST_TRAIN_KINDS];
	const int64_t **kept, **ahead, **back;
	int64_t *work;
	int32_t *dev_kind;
	BERTH_ARENA(tmp2);
	BERTH_SCRATCH(tmp);
	BERTH_TRY_NEW(mem, n, err, kept, ahead, back, work);
	BERTH_TRY_NEW(tmp, c->s->n_devs, err, dev_kind);
	for (int32_t b = 0; b < n; b++) {
		berth_granularity own;
		layer_bytes bytes = {0};
		BERTH_TRY(check_graph(&graph[b], err));
		BERTH_TRY(berth_granularity_find(&graph[b], BERTH_GRAIN_LAYER, b ? tmp : mem, &tmp2, &own,
		                                 err));
		if (b && own.n_blocks != x.n_layers)
			return berth_fail(err, BERTH_EINVAL, "%s has %d layers at batch %lld, and %d at %lld",
			                  graph->name, x.n_layers, (long long)batch[0], own.n_blocks,
			                  (long long)batch[b]);
		if (b == 0) {
			berth_problem p;
			*blocks = own;
			x.n_layers = own.n_blocks;
			BERTH_TRY(berth_problem_new(graph, c->s, tmp, &tmp2, &p, err));
			BERTH_TRY(find_kinds(&p, c, &x, dev_kind, err));
			BERTH_TRY(berth_train_ways(c, dev_kind, &x, mem, tmp, &tmp2, err));
			BERTH_TRY(count_weights(graph, &own, mem, &x, err));
			for (int32_t k = 0; k < x.n_kinds; k++) {
				BERTH_TRY(find_barred(&p, &own, &x.kind[k], mem, err));
				BERTH_TRY_NEW(mem, n * x.kind[k].n_widths, err, times[k]);
				x.kind[k].times = times[k];
			}
		}
		BERTH_TRY(count_layers(&graph[b], &own, mem, tmp, &bytes, err));
		BERTH_TRY(time_batch(&graph[b], &own, &bytes, b, times, &x, c->s, mem, tmp, &tmp2, err));
		kept[b] = bytes.kept;
		ahead[b] = bytes.ahead;
		back[b] = bytes.back;
		work[b] = bytes.work;
	}
	x.kept_bytes = kept;
	x.forward_bytes = ahead;
	x.backward_bytes = back;
	x.work_bytes = work;
	*out = x;
	return BERTH_OK;
}
