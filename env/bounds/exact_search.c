/* Instances of the exact search, and its first level; see exact_search.h. */
#include "exact_search_work.h"

#include "ceft.h"

#include <math.h>
#include <string.h>

/* ---- the instance ---- */

static void count_edges(const berth_problem *p, int32_t n, const int32_t *ops, const int32_t *local,
                        int32_t *n_tensors, int32_t *n_edges)
{
	const berth_graph *g = p->g;
	*n_tensors = *n_edges = 0;
	for (int32_t i = 0; i < n; i++)
		for (int32_t t = g->op_tensor_off[ops[i]]; t < g->op_tensor_off[ops[i] + 1]; t++) {
			int32_t uses = 0;
			for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
				uses += local[g->edge_consumer[e]] >= 0;
			*n_tensors += uses > 0;
			*n_edges += uses;
		}
}

static void fill_tensors(berth_exact_search *x, const int32_t *ops, const int32_t *local, int32_t *use)
{
	const berth_graph *g = x->p->g;
	int32_t k = 0;
	for (int32_t i = 0; i < x->n; i++) {
		x->out_off[i] = k;
		for (int32_t t = g->op_tensor_off[ops[i]]; t < g->op_tensor_off[ops[i] + 1]; t++) {
			exact_search_tensor u = {.producer = i, .use = use, .class = x->p->tensor_class[t]};
			for (int32_t e = g->tensor_use_off[t]; e < g->tensor_use_off[t + 1]; e++)
				if (local[g->edge_consumer[e]] >= 0)
					*use++ = local[g->edge_consumer[e]], u.n_uses++;
			if (u.n_uses)
				x->tensor[k++] = u;
		}
	}
	x->out_off[x->n] = k;
}

/* Inputs by operator, and all that is above it. */
static void fill_inputs(berth_exact_search *x)
{
	int32_t k = 0;
	for (int32_t i = 0; i < x->n; i++) {
		x->in_off[i] = k;
		x->above[i] = 0;
		for (int32_t t = 0; t < x->n_tensors; t++)
			for (int32_t u = 0; u < x->tensor[t].n_uses; u++)
				if (x->tensor[t].use[u] == i) {
					x->in[k++] = t;
					x->above[i] |= x->above[x->tensor[t].producer] |
					               UINT64_C(1) << x->tensor[t].producer;
				}
	}
	x->in_off[x->n] = k;
}

/* Bytes that op keeps on its device whatever the schedule: its own parameters and state. Shared parameters
 * may be there already. */
static int64_t kept_bytes(const berth_graph *g, int32_t op)
{
	return g->op_param_bytes[op] + g->op_state_bytes[op] + g->op_output_bytes[op];
}

static void fill_ops(berth_exact_search *x, const int32_t *ops, const int32_t *local)
{
	for (int32_t i = 0; i < x->n; i++) {
		x->bytes[i] = kept_bytes(x->p->g, ops[i]);
		x->leader[i] = i;
		int32_t coloc = x->p->op_coloc[ops[i]];
		for (int32_t k = x->p->coloc_off[coloc]; k < x->p->coloc_off[coloc + 1]; k++) {
			int32_t other = local[x->p->coloc_op[k]];
			if (other >= 0 && other < x->leader[i])
				x->leader[i] = other;
		}
		for (int32_t d = 0; d < x->n_devs; d++)
			x->time[i * x->n_devs + d] =
				berth_op_legal(x->p, ops[i], d) ? berth_op_time(x->p, ops[i], d) : -1;
	}
}

static berth_status new_arrays(berth_exact_search *x, berth_arena *mem, int32_t **use, berth_err *err)
{
	size_t n = (size_t)x->n, devs = (size_t)x->n_devs, edges = (size_t)x->n_edges,
	       jobs = edges * SMALL_MAX_HOPS + n;
	BERTH_TRY(BERTH_NEW(mem, x->time, n * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->release, n * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->after, n * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->tail, n * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->leader, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->bytes, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->held_before, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->tensor, x->n_tensors, err));
	BERTH_TRY(BERTH_NEW(mem, x->in_off, n + 1, err));
	BERTH_TRY(BERTH_NEW(mem, x->in, edges, err));
	BERTH_TRY(BERTH_NEW(mem, x->out_off, n + 1, err));
	BERTH_TRY(BERTH_NEW(mem, x->above, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->price, SMALL_PRICES * devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->rest, (n + 1) * SMALL_PRICES, err));
	BERTH_TRY(BERTH_NEW(mem, x->mirror, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->dev, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->head, n, err));
	BERTH_TRY(BERTH_NEW(mem, x->load, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->held, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->count, devs, err));
	BERTH_TRY(BERTH_NEW(mem, x->job, jobs, err));
	BERTH_TRY(BERTH_NEW(mem, x->move, edges, err));
	BERTH_TRY(BERTH_NEW(mem, x->order, n, err));
	return BERTH_NEW(mem, *use, edges, err);
}

berth_status berth_exact_search_new(const berth_problem *p, int32_t n, const int32_t *ops, berth_arena *mem,
                                    berth_exact_search **out, berth_err *err)
{
	berth_exact_search *x;
	int32_t *local, *use;
	if (n > BERTH_EXACT_SEARCH_OPS || p->n_devs > BERTH_EXACT_SEARCH_DEVS)
		return berth_fail(err, BERTH_EINVAL,
		                  "exact search takes up to %d operators and %d devices, these are %d and %d",
		                  BERTH_EXACT_SEARCH_OPS, BERTH_EXACT_SEARCH_DEVS, (int)n, (int)p->n_devs);
	BERTH_TRY(BERTH_NEW(mem, x, 1, err));
	BERTH_TRY(BERTH_NEW(mem, local, p->n_ops, err));
	for (int32_t op = 0; op < p->n_ops; op++)
		local[op] = -1;
	for (int32_t i = 0; i < n; i++)
		local[ops[i]] = i;
	x->p = p;
	x->n = n;
	x->n_devs = p->n_devs;
	count_edges(p, n, ops, local, &x->n_tensors, &x->n_edges);
	BERTH_TRY(new_arrays(x, mem, &use, err));
	fill_tensors(x, ops, local, use);
	fill_inputs(x);
	fill_ops(x, ops, local);
	*out = x;
	return BERTH_OK;
}

void berth_exact_search_set_time(berth_exact_search *x, int32_t i, int32_t dev, int64_t time_ns)
{
	x->time[i * x->n_devs + dev] = time_ns;
}

void berth_exact_search_set_outside(berth_exact_search *x, int32_t i, int32_t dev, int64_t release_ns,
                                    int64_t after_ns)
{
	x->release[i * x->n_devs + dev] = release_ns;
	x->after[i * x->n_devs + dev] = after_ns;
}

void berth_exact_search_set_held(berth_exact_search *x, int32_t dev, int64_t bytes)
{
	x->held_before[dev] = bytes;
}

static bool same_tensors(const berth_exact_search *a, const berth_exact_search *b)
{
	for (int32_t t = 0; t < a->n_tensors; t++) {
		const exact_search_tensor *u = &a->tensor[t], *v = &b->tensor[t];
		if (u->producer != v->producer || u->n_uses != v->n_uses || u->class != v->class ||
		    memcmp(u->use, v->use, (size_t)u->n_uses * sizeof *u->use) != 0)
			return false;
	}
	return true;
}

bool berth_exact_search_same(const berth_exact_search *a, const berth_exact_search *b)
{
	size_t n = (size_t)a->n, cells = n * (size_t)a->n_devs;
	if (a->p != b->p || a->n != b->n || a->n_tensors != b->n_tensors)
		return false;
	return n == 0 ||
	       (same_tensors(a, b) && memcmp(a->time, b->time, cells * sizeof *a->time) == 0 &&
	        memcmp(a->release, b->release, cells * sizeof *a->release) == 0 &&
	        memcmp(a->after, b->after, cells * sizeof *a->after) == 0 &&
	        memcmp(a->held_before, b->held_before, (size_t)a->n_devs * sizeof *a->held_before) == 0 &&
	        memcmp(a->leader, b->leader, n * sizeof *a->leader) == 0 &&
	        memcmp(a->bytes, b->bytes, n * sizeof *a->bytes) == 0);
}

/* ---- tables made before a run ---- */

static int64_t least_after(const berth_exact_search *x, int32_t class, int32_t from, int32_t to_op)
{
	int64_t least = BERTH_EXACT_SEARCH_NEVER;
	for (int32_t l = 0; l < x->n_devs; l++)
		if (exact_search_time(x, to_op, l) >= 0) {
			int64_t all = exact_search_transfer(x, class, from, l) +
			              exact_search_time(x, to_op, l) + x->tail[to_op * x->n_devs + l];
			least = all < least ? all : least;
		}
	return least;
}

static void fill_tails(berth_exact_search *x)
{
	for (int32_t i = x->n - 1; i >= 0; i--)
		for (int32_t d = 0; d < x->n_devs; d++) {
			int64_t longest = x->after[i * x->n_devs + d];
			for (int32_t t = x->out_off[i]; t < x->out_off[i + 1]; t++)
				for (int32_t u = 0; u < x->tensor[t].n_uses; u++) {
					int64_t way =
						least_after(x, x->tensor[t].class, d, x->tensor[t].use[u]);
					longest = way > longest ? way : longest;
				}
			x->tail[i * x->n_devs + d] =
				longest < BERTH_EXACT_SEARCH_NEVER ? longest : BERTH_EXACT_SEARCH_NEVER;
		}
}

/* Prices to try the load dual with: those that make the total work of all devices equal, each of them
 * changed by steps. */
static void fill_prices(berth_exact_search *x)
{
	static const double step[4] = {1, 0.6, 1.6, 0};
	int32_t devs = x->n_devs;
	double base[BERTH_EXACT_SEARCH_DEVS];
	for (int32_t d = 0; d < devs; d++) {
		double sum = 0;
		for (int32_t i = 0; i < x->n; i++)
			sum += exact_search_time(x, i, d) >= 0 ? (double)exact_search_time(x, i, d) : 0;
		base[d] = sum > 0 ? 1 / sum : 0;
	}
	x->n_prices = 0;
	for (int32_t k = 1; x->n_prices < SMALL_PRICES && k <= 4 * SMALL_PRICES; k++) {
		double *price = x->price + x->n_prices * devs, sum = 0;
		int32_t code = k - 1;
		for (int32_t d = 0; d < devs; d++, code /= 4) {
			price[d] = base[d] * step[code % 4];
			sum += price[d] * x->p->s->dev_slots[d];
		}
		if (code > 0)
			break; /* all combinations are made */
		if (!(sum > 0))
			continue;
		for (int32_t d = 0; d < devs; d++)
			price[d] /= sum;
		x->n_prices++;
	}
	for (int32_t k = 0; k < x->n_prices; k++) {
		x->rest[x->n * SMALL_PRICES + k] = 0;
		for (int32_t i = x->n - 1; i >= 0; i--) {
			double least = INFINITY;
			for (int32_t d = 0; d < devs; d++)
				if (exact_search_time(x, i, d) >= 0)
					least = fmin(least, x->price[k * devs + d] *
					                            (double)exact_search_time(x, i, d));
			x->rest[i * SMALL_PRICES + k] =
				x->rest[(i + 1) * SMALL_PRICES + k] + (isfinite(least) ? least : 0);
		}
	}
}

/* ---- mirror images ---- */

static int32_t swapped(int32_t d, int32_t a, int32_t b)
{
	return d == a ? b : d == b ? a : d;
}

static bool same_work(const berth_exact_search *x, int32_t a, int32_t b)
{
	const berth_problem *p = x->p;
	for (int32_t i = 0; i < x->n; i++)
		if (exact_search_time(x, i, a) != exact_search_time(x, i, b) ||
		    x->release[i * x->n_devs + a] != x->release[i * x->n_devs + b] ||
		    x->after[i * x->n_devs + a] != x->after[i * x->n_devs + b])
			return false;
	return p->s->dev_slots[a] == p->s->dev_slots[b] && x->held_before[a] == x->held_before[b] &&
	       p->dev_limit_bytes[a] == p->dev_limit_bytes[b] && p->dev_piece[a] < 0 && p->dev_piece[b] < 0;
}

/* Do all routes keep their times and the sharing of channels when a and b are exchanged? channel
 * [n_channels]: the image of each so far, -1. */
static bool same_routes(const berth_exact_search *x, int32_t a, int32_t b, int32_t *image, int32_t *origin)
{
	const berth_problem *p = x->p;
	size_t devs = (size_t)p->n_devs;
	for (int32_t c = 0; c < p->s->n_channels; c++)
		image[c] = origin[c] = -1;
	for (size_t c = 0; c < (size_t)p->n_classes; c++)
		for (int32_t from = 0; from < p->n_devs; from++)
			for (int32_t to = 0; to < p->n_devs; to++) {
				if (from == to)
					continue;
				int32_t r =
					p->class_pair_route[(c * devs + (size_t)from) * devs + (size_t)to];
				int32_t q =
					p->class_pair_route[(c * devs + (size_t)swapped(from, a, b)) * devs +
				                            (size_t)swapped(to, a, b)];
				if (p->route_off[r + 1] - p->route_off[r] !=
				    p->route_off[q + 1] - p->route_off[q])
					return false;
				for (int32_t h = 0; h < p->route_off[r + 1] - p->route_off[r]; h++) {
					int32_t l = p->route_link[p->route_off[r] + h],
						m = p->route_link[p->route_off[q] + h];
					int32_t u = p->s->link_channel[l], v = p->s->link_channel[m];
					if (p->class_link_ns[c * (size_t)p->s->n_links + (size_t)l] !=
					            p->class_link_ns[c * (size_t)p->s->n_links + (size_t)m] ||
					    (image[u] >= 0 && image[u] != v) ||
					    (origin[v] >= 0 && origin[v] != u))
						return false;
					image[u] = v;
					origin[v] = u;
				}
			}
	return true;
}

/* Can one tensor wait for itself on its way to a and to b? Then who goes first depends on device numbers. */
static bool share_a_channel(const berth_problem *p, int32_t a, int32_t b)
{
	size_t devs = (size_t)p->n_devs;
	for (int32_t from = 0; p->s->contention && p->n_classes > 0 && from < p->n_devs; from++) {
		if (from == a || from == b)
			continue;
		int32_t r = p->class_pair_route[(size_t)from * devs + (size_t)a],
			q = p->class_pair_route[(size_t)from * devs + (size_t)b];
		for (int32_t h = p->route_off[r]; h < p->route_off[r + 1]; h++)
			for (int32_t k = p->route_off[q]; k < p->route_off[q + 1]; k++)
				if (p->s->link_channel[p->route_link[h]] ==
				    p->s->link_channel[p->route_link[k]])
					return true;
	}
	return false;
}

enum { MAX_CHANNELS = 256 };

static void find_mirrors(berth_exact_search *x)
{
	int32_t image[MAX_CHANNELS], origin[MAX_CHANNELS];
	x->ties_matter = false;
	for (int32_t d = 0; d < x->n_devs; d++) {
		x->mirror[d] = -1;
		for (int32_t e = d - 1; e >= 0 && x->mirror[d] < 0 && x->p->s->n_channels <= MAX_CHANNELS;
		     e--)
			if (same_work(x, e, d) && same_routes(x, e, d, image, origin)) {
				x->mirror[d] = e;
				x->ties_matter |= share_a_channel(x->p, e, d);
			}
	}
	for (int32_t d = 0; d < x->n_devs && x->ties_matter && x->cfg->leaf; d++)
		x->mirror[d] = -1;
}

/* The device of d's kind before it is empty too: the same placements with numbers exchanged are tried
 * there. */
static bool mirrored(const berth_exact_search *x, int32_t d)
{
	return x->count[d] == 0 && x->mirror[d] >= 0 && x->count[x->mirror[d]] == 0;
}

/* ---- the first level ---- */

/* Earliest start of i on d after its placed inputs. */
static int64_t head_of(const berth_exact_search *x, int32_t i, int32_t d)
{
	int64_t head = x->release[i * x->n_devs + d];
	for (int32_t k = x->in_off[i]; k < x->in_off[i + 1]; k++) {
		const exact_search_tensor *t = &x->tensor[x->in[k]];
		int32_t from = x->dev[t->producer];
		int64_t at = x->head[t->producer] + exact_search_time(x, t->producer, from) +
		             exact_search_transfer(x, t->class, from, d);
		head = at > head ? at : head;
	}
	return head;
}

/* The load dual with operators before i where they are. Rounded down with a margin for the sums in double. */
static int64_t load_bound(const berth_exact_search *x, int32_t i)
{
	double most = 0;
	for (int32_t k = 0; k < x->n_prices; k++) {
		double sum = x->rest[i * SMALL_PRICES + k];
		for (int32_t d = 0; d < x->n_devs; d++)
			sum += x->price[k * x->n_devs + d] * (double)x->load[d];
		most = sum > most ? sum : most;
	}
	return (int64_t)(most * (1 - 1e-12));
}

static bool may_take(const berth_exact_search *x, int32_t i, int32_t d)
{
	if (exact_search_time(x, i, d) < 0 || mirrored(x, d) ||
	    (x->leader[i] < i && x->dev[x->leader[i]] != d))
		return false;
	return x->p->dev_limit_bytes[d] < 0 || x->held[d] + x->bytes[i] <= x->p->dev_limit_bytes[d];
}

static void put(berth_exact_search *x, int32_t i, int32_t d, int sign)
{
	x->dev[i] = sign > 0 ? d : -1;
	x->load[d] += sign * exact_search_time(x, i, d);
	x->held[d] += sign * x->bytes[i];
	x->count[d] += sign;
}

/* Bound of the node that has i on d (it is put). */
static int64_t node_bound(berth_exact_search *x, int32_t i, int32_t d, int64_t lower)
{
	int64_t tail = x->tail[i * x->n_devs + d];
	int64_t path = x->head[i] + exact_search_time(x, i, d) + tail;
	lower = path > lower ? path : lower;
	if (lower >= x->upper)
		return lower;
	int64_t load = load_bound(x, i + 1);
	lower = load > lower ? load : lower;
	if (lower >= x->upper)
		return lower;
	int64_t machines = exact_search_machines(x, i + 1, x->head, x->tail, x->n_devs);
	return machines > lower ? machines : lower;
}

static void place_from(berth_exact_search *x, int32_t i, int64_t lower)
{
	int64_t bound[BERTH_EXACT_SEARCH_DEVS], path[BERTH_EXACT_SEARCH_DEVS];
	int32_t dev[BERTH_EXACT_SEARCH_DEVS], n = 0;
	if (!exact_search_step(x, lower))
		return;
	if (i == x->n) {
		exact_search_order(x, lower);
		return;
	}
	for (int32_t d = 0; d < x->n_devs; d++) {
		if (!may_take(x, i, d))
			continue;
		x->head[i] = head_of(x, i, d);
		put(x, i, d, 1);
		int64_t b = node_bound(x, i, d, lower),
			own = x->head[i] + exact_search_time(x, i, d) + x->tail[i * x->n_devs + d];
		put(x, i, d, -1);
		int32_t k = n++;
		for (; k > 0 && (bound[k - 1] > b || (bound[k - 1] == b && path[k - 1] > own)); k--) {
			bound[k] = bound[k - 1];
			path[k] = path[k - 1];
			dev[k] = dev[k - 1];
		}
		bound[k] = b;
		path[k] = own;
		dev[k] = d;
	}
	for (int32_t k = 0; k < n && bound[k] < x->upper; k++) {
		x->head[i] = head_of(x, i, dev[k]);
		put(x, i, dev[k], 1);
		place_from(x, i + 1, bound[k]);
		put(x, i, dev[k], -1);
	}
}

bool exact_search_step(berth_exact_search *x, int64_t lower)
{
	x->nodes += !x->stopped;
	if (x->cfg->nodes > 0 && x->nodes >= x->cfg->nodes)
		x->stopped = true;
	if (x->cfg->stop && x->nodes % 1024 == 0 && x->cfg->stop(x->cfg->ctx))
		x->stopped = true;
	if (x->stopped && lower < x->open)
		x->open = lower;
	return !x->stopped;
}

void exact_search_found(berth_exact_search *x, int64_t value)
{
	if (value < x->upper)
		x->upper = x->best = value;
}

void berth_exact_search_run(berth_exact_search *x, const berth_exact_search_cfg *cfg,
                            berth_exact_search_result *out)
{
	x->cfg = cfg;
	x->upper = cfg->upper_ns;
	x->open = x->best = BERTH_EXACT_SEARCH_NEVER;
	x->nodes = 0;
	x->stopped = false;
	for (int32_t d = 0; d < x->n_devs; d++) {
		x->load[d] = x->count[d] = 0;
		x->held[d] = x->held_before[d];
	}
	for (int32_t i = 0; i < x->n; i++)
		x->dev[i] = -1;
	fill_tails(x);
	fill_prices(x);
	find_mirrors(x);
	if (x->upper > 0)
		place_from(x, 0, 0);
	*out = (berth_exact_search_result){.best_ns = x->best, .nodes = x->nodes, .complete = !x->stopped};
	out->lower_ns = x->open < x->upper ? x->open : x->upper;
}
