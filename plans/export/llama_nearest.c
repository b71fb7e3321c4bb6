/* The plan nearest to another one that llama.cpp can be told: the order of layers by dynamic programming over
 * layers and sets of devices, then operators that follow their layer, then memory. */

#include "llama_plan.h"
#include "nearest.h"

enum { MOST = 8, ON_CPU = MOST, N_LAST = MOST + 1 };

#define NEVER (INT64_MAX / 4)
#define MOVED ((int64_t)1 << 38)   /* an operator elsewhere: above the times of a layer, as a rule */
#define LONGEST ((int64_t)1 << 30) /* nanoseconds */

typedef struct nearing {
	const berth_export_source *x;
	const berth_gguf_list *file;
	int32_t n_layers, n_devs;
	int32_t dev[N_LAST]; /* [n_devs] that layers stand on; [ON_CPU]: the CPU, -1: none */
	int32_t *op_layer;   /* [n_ops] -1: of none */
	bool *whole;         /* [n_layers] the layer stands on one device */
	int64_t *cost;       /* [n_layers][N_LAST] operators that would move, then times */
	int32_t *unit;       /* [n_layers] devices that were chosen */
	int32_t *op_dev;
	berth_arena *tmp;
	berth_err *err;
} nearing;

/* Columns are devices of layers, the CPU behind them. */
static int32_t column_of(const nearing *n, int32_t d)
{
	if (llama_on_cpu(n->x, d))
		return ON_CPU;
	for (int32_t k = 0; k < n->n_devs; k++)
		if (n->dev[k] == d)
			return k;
	return -1;
}

static berth_status find_devices(nearing *n)
{
	n->dev[ON_CPU] = -1;
	for (int32_t d = n->x->s->n_devs - 1; d >= 0; d--)
		if (llama_on_cpu(n->x, d))
			n->dev[ON_CPU] = d;
	for (int32_t op = 0; op < n->x->g->n_ops; op++) {
		int32_t d = n->op_dev[op], l = berth_gguf_layer_of(n->x->g->op_name[op], NULL);
		n->op_layer[op] = l < n->n_layers ? l : -1;
		if (n->op_layer[op] < 0 || column_of(n, d) >= 0)
			continue;
		if (n->n_devs == MOST)
			return berth_fail(n->err, BERTH_EUNSUPPORTED,
			                  "layers stand on more than %d devices; the nearest plan of "
			                  "llama.cpp is looked for on so many",
			                  MOST);
		n->dev[n->n_devs++] = d;
	}
	return BERTH_OK;
}

/* An operator's time on d; very long ones are alike. */
static int64_t time_on(const nearing *n, int32_t op, int32_t d)
{
	int64_t t = n->x->p ? berth_op_time(n->x->p, op, d) : 0;
	return t < LONGEST ? t : LONGEST;
}

static berth_status weigh(nearing *n)
{
	int32_t *first, n_ops = n->x->g->n_ops;
	BERTH_TRY_NEW(n->tmp, n->n_layers, n->err, first);
	for (int32_t l = 0; l < n->n_layers; l++) {
		first[l] = -1;
		n->whole[l] = true;
	}
	for (int32_t op = 0; op < n_ops; op++) {
		int32_t l = n->op_layer[op];
		if (l < 0)
			continue;
		int32_t layer = n->op_layer[op], at = column_of(n, n->op_dev[op]);
		int64_t *cost = n->cost + (ptrdiff_t)layer * N_LAST;
		for (int32_t k = 0; k < N_LAST; k++) {
			int32_t d = k < n->n_devs || k == ON_CPU ? n->dev[k] : -1;
			if (d < 0 || (n->x->p && !berth_op_legal(n->x->p, op, d)))
				cost[k] = NEVER;
			else if (cost[k] < NEVER)
				cost[k] += (k != at ? MOVED : 0) + time_on(n, op, d);
		}
		first[l] = first[l] < 0 ? n->op_dev[op] : first[l];
		n->whole[l] = n->whole[l] && n->op_dev[op] == first[l];
	}
	return BERTH_OK;
}

/* ---- the order of layers ---- */

/* best [2^n_devs][N_LAST]: the least cost of the layers so far on that set of devices, the newest on the last
 * one (ON_CPU: all on the CPU). from [n_layers][2^n_devs][N_LAST]: the column of the layer before. */
static berth_status choose(nearing *n)
{
	size_t n_sets = (size_t)1 << n->n_devs, size = n_sets * N_LAST;
	int64_t *best, *next;
	int8_t *from;
	BERTH_TRY_NEW(n->tmp, size, n->err, best, next);
	BERTH_TRY_NEW(n->tmp, size * (size_t)n->n_layers, n->err, from);
	for (size_t i = 0; i < size; i++)
		best[i] = NEVER;
	best[ON_CPU] = 0;
	for (int32_t l = 0; l < n->n_layers; l++) {
		const int64_t *cost = n->cost + (ptrdiff_t)l * N_LAST;
		for (size_t i = 0; i < size; i++)
			next[i] = NEVER;
		for (size_t i = 0; i < size; i++)
			for (int32_t k = 0; best[i] < NEVER && k < N_LAST; k++) {
				size_t set = i / N_LAST, last = i % N_LAST;
				bool again = (size_t)k == last, fresh = k < n->n_devs && !(set >> k & 1);
				size_t to = (fresh ? set | (size_t)1 << k : set) * N_LAST + (size_t)k;
				if ((!again && !fresh) || cost[k] >= NEVER || best[i] + cost[k] >= next[to])
					continue;
				next[to] = best[i] + cost[k];
				from[(size_t)l * size + to] = (int8_t)last;
			}
		memcpy(best, next, size * sizeof *best);
	}
	size_t end = 0;
	for (size_t i = 1; i < size; i++)
		end = best[i] < best[end] ? i : end;
	if (best[end] >= NEVER)
		return berth_fail(n->err, BERTH_EUNSUPPORTED,
		                  "no order of layers that llama.cpp can be told runs on these devices");
	for (int32_t l = n->n_layers - 1; l >= 0; l--) {
		size_t set = end / N_LAST, last = end % N_LAST, before = (size_t)from[(size_t)l * size + end];
		n->unit[l] = n->dev[last];
		if (before != last)
			set &= ~((size_t)1 << last);
		end = set * N_LAST + before;
	}
	return BERTH_OK;
}

/* ---- moving ---- */

/* Does it go with its layer? */
static bool is_bound(const nearing *n, int32_t op)
{
	int32_t l = n->op_layer[op];
	return l >= 0 && (n->whole[l] || n->x->g->op_state_bytes[op] > 0);
}

/* Beside what it takes, or beside a taker that stays. */
static bool beside_neighbour(const nearing *n, int32_t op)
{
	const berth_graph *g = n->x->g;
	BERTH_EACH (i, g->op_in_off, op)
		if (n->op_dev[g->tensor_producer[g->in_tensor[i]]] == n->op_dev[op])
			return true;
	BERTH_EACH_USE (e, g, op) {
		int32_t taker = g->edge_consumer[e];
		if (n->op_dev[taker] == n->op_dev[op] &&
		    (berth_graph_has_weights(g, taker) || is_bound(n, taker)))
			return true;
	}
	return false;
}

/* First what goes with its layer. Then, in the order of the graph, what is alone goes to what it takes, which
 * moves no more. */
static void move_ops(const nearing *n)
{
	const berth_graph *g = n->x->g;
	for (int32_t op = 0; op < g->n_ops; op++)
		if (is_bound(n, op))
			n->op_dev[op] = n->unit[n->op_layer[op]];
	for (int32_t i = 0; i < g->n_ops; i++) {
		int32_t op = g->topo_op[i], first = g->op_in_off[op];
		if (!is_bound(n, op) && !berth_graph_has_weights(g, op) && first < g->op_in_off[op + 1] &&
		    !beside_neighbour(n, op))
			n->op_dev[op] = n->op_dev[g->tensor_producer[g->in_tensor[first]]];
	}
}

/* ---- memory ---- */

/* Each device has as many layers as in the plan, in the order of their mean layers, the CPU first. */
static berth_status count_layers(nearing *n, bool *can)
{
	int64_t count[N_LAST] = {0}, sum[N_LAST] = {0};
	int32_t *at, next = 0;
	bool done[N_LAST] = {false};
	BERTH_TRY_NEW(n->tmp, n->n_layers, n->err, at);
	for (int32_t op = 0; op < n->x->g->n_ops; op++)
		if (n->op_layer[op] >= 0 && n->x->g->op_state_bytes[op] > 0)
			at[n->op_layer[op]] = column_of(n, n->x->op_dev[op]);
	for (int32_t l = 0; l < n->n_layers; l++) {
		count[at[l]]++;
		sum[at[l]] += l;
	}
	*can = true;
	for (int32_t i = 0, best = ON_CPU; i <= n->n_devs; i++) {
		for (int64_t k = 0; k < count[best]; k++) {
			*can = *can && n->cost[(ptrdiff_t)next * N_LAST + best] < NEVER;
			n->unit[next++] = n->dev[best];
		}
		done[best] = true;
		best = -1;
		for (int32_t k = 0; k < n->n_devs; k++)
			if (!done[k] && (best < 0 || sum[k] * count[best] < sum[best] * count[k]))
				best = k;
		if (best < 0)
			break;
	}
	return BERTH_OK;
}

/* The fewest moves may fill a device beyond its memory; then as many layers stay on each. */
static berth_status mend_memory(nearing *n)
{
	bool fits, can;
	size_t n_ops = (size_t)n->x->g->n_ops;
	int32_t *kept = n->unit;
	/* Weights and cache on each device are no more than it has, or than the plan had there. */
	int32_t n_all = n->x->s->n_devs;
	int64_t *now, *was;
	BERTH_TRY_NEW(n->tmp, n_all, n->err, now, was);
	fits = true;
	BERTH_TRY(berth_held_bytes(n->x->g, n->op_dev, n_all, n->tmp, now, n->err));
	BERTH_TRY(berth_held_bytes(n->x->g, n->x->op_dev, n_all, n->tmp, was, n->err));
	for (int32_t d = 0; n->x->p && d < n_all; d++) {
		int64_t has = n->x->s->dev_memory_bytes[d];
		fits = fits && (has < 0 || now[d] <= has || now[d] <= was[d]);
	}
	if (fits)
		return BERTH_OK;
	BERTH_TRY_NEW(n->tmp, n->n_layers, n->err, n->unit);
	BERTH_TRY(count_layers(n, &can));
	if (!can) {
		n->unit = kept;
		return BERTH_OK;
	}
	memcpy(n->op_dev, n->x->op_dev, n_ops * sizeof *n->op_dev);
	move_ops(n);
	return BERTH_OK;
}

/* One matrix for embedding and output: to one device, or the embedding to the CPU and the output to that of
 * the last layer. */
static void move_tied(const nearing *n)
{
	const berth_graph *g = n->x->g;
	int32_t embed = -1, output = -1;
	if (llama_tensor(n->file, "output.weight") >= 0)
		return;
	for (int32_t op = 0; op < g->n_ops; op++) {
		embed = strcmp(g->op_name[op], "token_embd.weight") == 0 ? op : embed;
		output = strcmp(g->op_name[op], "output.weight") == 0 ? op : output;
	}
	if (embed < 0 || output < 0 || n->op_dev[embed] == n->op_dev[output] ||
	    (llama_on_cpu(n->x, n->op_dev[embed]) && n->op_dev[output] == n->unit[n->n_layers - 1]))
		return;
	n->op_dev[embed] = n->op_dev[output];
}

berth_status llama_nearest(const berth_export_source *x, const berth_gguf_list *file, berth_arena *tmp,
                           int32_t *op_dev, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	nearing n = {
		.x = x, .file = file, .n_layers = file->n_layers, .op_dev = op_dev, .tmp = tmp, .err = err};
	int32_t n_ops = n.x->g->n_ops;
	BERTH_TRY_NEW(n.tmp, n_ops, n.err, n.op_layer);
	BERTH_TRY_NEW(n.tmp, n.n_layers, n.err, n.whole, n.unit);
	BERTH_TRY_NEW(n.tmp, (size_t)n.n_layers * N_LAST, n.err, n.cost);
	memcpy(n.op_dev, n.x->op_dev, (size_t)n_ops * sizeof *n.op_dev);
	BERTH_TRY(find_devices(&n));
	BERTH_TRY(weigh(&n));
	BERTH_TRY(choose(&n));
	move_ops(&n);
	BERTH_TRY(mend_memory(&n));
	move_tied(&n);
	return BERTH_OK;
}
