/* Guesses what a move does to the latency by heads and tails of a simulated base. What moved is gone through
 * by the topological order, and the longest path through it is the estimate. */
#include "estimate.h"

#include "coloc.h"

enum { MOST_AHEAD = 64 }; /* operators of a device that are looked at for a place */

berth_status berth_estimate_new(const berth_problem *p, berth_arena *mem, berth_estimate *out, berth_err *err)
{
	berth_estimate e = {.p = p};
	BERTH_TRY_NEW(mem, p->n_ops, err, e.end_ns);
	BERTH_TRY_NEW(mem, p->n_devs, err, e.free_ns);
	BERTH_TRY_NEW(mem, p->n_ops, err, e.seen, e.op);
	BERTH_TRY_NEW(mem, p->n_colocs, err, e.placed);
	*out = e;
	return BERTH_OK;
}

static int compare_i32(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return BERTH_COMPARE(x, y);
}

void berth_estimate_begin(berth_estimate *e)
{
	e->stamp++;
	e->n_ops = 0;
}

void berth_estimate_moved(berth_estimate *e, int32_t op)
{
	e->seen[op] = e->stamp;
	e->op[e->n_ops++] = e->p->g->op_topo[op];
}

/* What moved, by the topological order. */
static void sort_moved(berth_estimate *e)
{
	if (e->n_ops > 1)
		qsort(e->op, (size_t)e->n_ops, sizeof *e->op, compare_i32);
	for (int32_t i = 0; i < e->n_ops; i++)
		e->op[i] = e->p->g->topo_op[e->op[i]];
}

const int32_t *berth_estimate_ops(berth_estimate *e, int32_t *n)
{
	sort_moved(e);
	*n = e->n_ops;
	return e->op;
}

/* When all inputs of op are on device d. */
static int64_t ready_at(const berth_estimate *e, const berth_tails *t, int32_t op, int32_t d,
                        const int32_t *op_dev)
{
	const berth_graph *g = e->p->g;
	int64_t ready = 0;
	BERTH_EACH (k, g->op_in_off, op) {
		int32_t x = g->in_tensor[k], from = g->tensor_producer[x], home = op_dev[from], hop;
		bool moved = e->seen[from] == e->stamp;
		int64_t at = moved ? e->end_ns[from] : t->base->end_ns[from];
		if (home != d) {
			hop = moved ? -1 : berth_tails_hop(t, x, d);
			at = hop >= 0 && t->base->hops[hop].end_ns > at
			             ? t->base->hops[hop].end_ns
			             : at + berth_transfer_ns(e->p, x, home, d);
		}
		ready = at > ready ? at : ready;
	}
	return ready;
}

/* Does a go before op where both are ready? */
static bool goes_first(const berth_estimate *e, const berth_tails *t, const uint32_t *key, int32_t a,
                       int32_t op, int64_t ready)
{
	if (key)
		return key[a] < key[op];
	return e->p->s->order == BERTH_ORDER_FIFO ? t->ready_ns[a] < ready
	                                          : e->p->op_prio[a] < e->p->op_prio[op];
}

/* Where op, ready at that time, starts among the base's operators of device d. *next: the place of the first
 * one behind it. */
static int64_t start_at(const berth_estimate *e, const berth_tails *t, int32_t op, int32_t d, int64_t ready,
                        const uint32_t *key, int32_t *next)
{
	int32_t lo = t->dev_off[d], end = t->dev_off[d + 1], hi = end;
	int64_t now = ready;
	while (lo < hi) {
		int32_t mid = lo + (hi - lo) / 2;
		if (t->base->end_ns[t->dev_op[mid]] > ready)
			hi = mid;
		else
			lo = mid + 1;
	}
	for (int32_t k = 0; lo < end && k < MOST_AHEAD; lo++, k++) {
		int32_t v = t->dev_op[lo];
		if (e->seen[v] == e->stamp)
			continue;
		int64_t start = t->base->start_ns[v], time = t->base->end_ns[v] - start;
		if (start < now) /* it runs, or has just been put off */
			now = t->base->end_ns[v] > now ? t->base->end_ns[v] : now;
		else if (t->ready_ns[v] <= now && goes_first(e, t, key, v, op, ready))
			now += time;
		else
			break;
	}
	while (lo < end && e->seen[t->dev_op[lo]] == e->stamp)
		lo++;
	*next = lo;
	return now > e->free_ns[d] ? now : e->free_ns[d];
}

/* Longest tail of what takes op's tensors. What moves, too, is not looked at; or, where it has no device yet,
 * it is taken to be near. */
static int64_t tail_behind(const berth_estimate *e, const berth_tails *t, int32_t op, int32_t d,
                           const int32_t *op_dev, bool open)
{
	const berth_graph *g = e->p->g;
	int64_t tail = 0;
	BERTH_EACH (x, g->op_tensor_off, op)
		BERTH_EACH (k, g->tensor_use_off, x) {
			int32_t to = g->edge_consumer[k];
			bool moves = e->seen[to] == e->stamp;
			if (moves && !open)
				continue;
			int64_t rest = t->tail_ns[to];
			if (!moves)
				rest += berth_transfer_ns(e->p, x, d, op_dev[to]);
			tail = rest > tail ? rest : tail;
		}
	return tail;
}

/* How long op takes on device d. Within its memory pool it is slowed down as it was. */
static int64_t time_on(const berth_tails *t, int32_t op, int32_t d)
{
	const berth_problem *p = t->p;
	int32_t was = t->base->op_dev[op];
	int64_t alone = berth_op_time(p, op, d), before = berth_op_time(p, op, was);
	if (berth_dev_pool(p, d) < 0 || berth_dev_pool(p, d) != berth_dev_pool(p, was) || before <= 0)
		return alone;
	return (int64_t)((double)alone *
	                 ((double)(t->base->end_ns[op] - t->base->start_ns[op]) / (double)before));
}

/* The longest path through op on device d, and when it ends there. */
static int64_t path_through(const berth_estimate *e, const berth_tails *t, int32_t op, int32_t d,
                            const int32_t *op_dev, const uint32_t *op_key, bool open, int64_t *end)
{
	int32_t next;
	int64_t ready = ready_at(e, t, op, d, op_dev);
	*end = start_at(e, t, op, d, ready, op_key, &next) + time_on(t, op, d);
	int64_t path = *end + tail_behind(e, t, op, d, op_dev, open);
	if (next < t->dev_off[d + 1]) {
		int32_t v = t->dev_op[next];
		if (t->base->start_ns[v] <= *end && *end + t->tail_ns[v] > path)
			path = *end + t->tail_ns[v];
	}
	return path;
}

static void free_devices(berth_estimate *e)
{
	for (int32_t d = 0; d < e->p->n_devs; d++)
		e->free_ns[d] = 0;
}

int64_t berth_estimate_latency(berth_estimate *e, const berth_tails *t, const int32_t *op_dev,
                               const uint32_t *op_key, int64_t enough)
{
	int64_t longest = t->base->latency_ns;
	sort_moved(e);
	for (int32_t i = 0; i < e->n_ops; i++)
		if (berth_tails_slack(t, e->op[i]) <= 0)
			longest = 0; /* it was critical: what is left may be shorter */
	free_devices(e);
	for (int32_t i = 0; i < e->n_ops && longest < enough; i++) {
		int32_t op = e->op[i], d = op_dev[op];
		int64_t path = path_through(e, t, op, d, op_dev, op_key, false, &e->end_ns[op]);
		e->free_ns[d] = e->end_ns[op];
		longest = path > longest ? path : longest;
	}
	return longest;
}

/* ---- placing anew ---- */

/* Where op may go: all devices, or where there are many the present one, those of its neighbours, and some.
 */
static int32_t list_devices(berth_estimate *e, int32_t op, const int32_t *op_dev, berth_rng *rng)
{
	const berth_graph *g = e->p->g;
	int32_t n = 0, n_devs = e->p->n_devs;
	if (n_devs <= BERTH_ESTIMATE_DEVICES) {
		for (; n < n_devs; n++)
			e->dev[n] = n;
		return n;
	}
	e->dev[n++] = op_dev[op];
	for (int32_t k = g->op_in_off[op]; k < g->op_in_off[op + 1] && n < BERTH_ESTIMATE_DEVICES / 2; k++)
		e->dev[n++] = op_dev[g->tensor_producer[g->in_tensor[k]]];
	BERTH_EACH (x, g->op_tensor_off, op)
		for (int32_t k = g->tensor_use_off[x];
		     k < g->tensor_use_off[x + 1] && n < BERTH_ESTIMATE_DEVICES - 2; k++)
			e->dev[n++] = op_dev[g->edge_consumer[k]];
	for (int some = 0; some < 2; some++)
		e->dev[n++] = (int32_t)berth_rng_below(rng, (uint32_t)n_devs);
	return n;
}

static bool stays(const void *ctx, int32_t op)
{
	const berth_estimate *e = ctx;
	return e->seen[op] != e->stamp;
}

/* Its colocation group goes with the first of its operators. */
static void place_first(berth_estimate *e, const berth_tails *t, const berth_prices *prices, int32_t op,
                        const uint32_t *op_key, double noise_ns, berth_rng *rng, int32_t *op_dev)
{
	int32_t coloc = e->p->op_coloc[op], n = list_devices(e, op, op_dev, rng), chosen = op_dev[op];
	double least = INFINITY;
	for (int32_t i = 0; i < n; i++) {
		int32_t d = e->dev[i];
		int64_t end;
		if (!berth_coloc_legal(e->p, coloc, d))
			continue;
		double path = (double)path_through(e, t, op, d, op_dev, op_key, true, &end);
		path -= noise_ns * log(1 - berth_rng_unit(rng));
		double price = prices->per_ns * path;
		if (prices->per_joule > 0)
			price += prices->per_joule *
			         berth_prices_joules_at(prices, op, d, op_dev, stays, e);
		if (price < least) {
			least = price;
			chosen = d;
		}
	}
	berth_coloc_put(e->p, coloc, chosen, op_dev);
}

void berth_estimate_place(berth_estimate *e, const berth_tails *t, const berth_prices *prices,
                          const uint32_t *op_key, double noise_ns, berth_rng *rng, int32_t *op_dev)
{
	sort_moved(e);
	free_devices(e);
	for (int32_t i = 0; i < e->n_ops; i++) {
		int32_t op = e->op[i], coloc = e->p->op_coloc[op];
		if (e->placed[coloc] != e->stamp)
			place_first(e, t, prices, op, op_key, noise_ns, rng, op_dev);
		e->placed[coloc] = e->stamp;
		path_through(e, t, op, op_dev[op], op_dev, op_key, true, &e->end_ns[op]);
		e->free_ns[op_dev[op]] = e->end_ns[op];
	}
}
