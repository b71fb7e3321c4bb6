/* The first level of the exact search: devices. A node's bounds are paths, loads at fixed prices, and one
 * machine with heads and tails for each device and channel. */
#include "exact_search_work.h"

/* ---- one machine ---- */

static void sort_by_head(exact_search_job *job, int32_t n)
{
	for (int32_t i = 1; i < n; i++) {
		exact_search_job j = job[i];
		int32_t k = i;
		for (; k > 0 && job[k - 1].head > j.head; k--)
			job[k] = job[k - 1];
		job[k] = j;
	}
}

/* Least time in which one machine does all jobs, with heads and tails, preemption allowed: a lower bound
 * without. job is changed. 0 for none. O(n^2). */
static int64_t one_machine(exact_search_job *job, int32_t n)
{
	int64_t now = 0, length = 0;
	int32_t released = 0, done = 0;
	sort_by_head(job, n);
	while (done < n) {
		int32_t run = -1;
		while (released < n && job[released].head <= now)
			released++;
		for (int32_t i = 0; i < released; i++)
			if (job[i].time >= 0 && (run < 0 || job[i].tail > job[run].tail))
				run = i;
		if (run < 0) {
			now = job[released].head;
			continue;
		}
		int64_t until = released < n && job[released].head < now + job[run].time
		                        ? job[released].head
		                        : now + job[run].time;
		job[run].time -= until - now;
		now = until;
		if (job[run].time == 0) {
			length = now + job[run].tail > length ? now + job[run].tail : length;
			job[run].time = -1;
			done++;
		}
	}
	return length;
}

/* With several slots: all work between the least head and the least tail. */
static int64_t several_machines(const exact_search_job *job, int32_t n, int32_t slots)
{
	int64_t head = BERTH_EXACT_SEARCH_NEVER, tail = BERTH_EXACT_SEARCH_NEVER, sum = 0;
	for (int32_t i = 0; i < n; i++) {
		head = job[i].head < head ? job[i].head : head;
		tail = job[i].tail < tail ? job[i].tail : tail;
		sum += job[i].time;
	}
	return n ? head + (sum + slots - 1) / slots + tail : 0;
}

static int64_t device_bound(berth_exact_search *x, int32_t d, int32_t n_placed, const int64_t *head,
                            const int64_t *tail, int32_t stride)
{
	int32_t n = 0, slots = x->p->s->dev_slots[d];
	for (int32_t i = 0; i < n_placed; i++)
		if (x->dev[i] == d)
			x->job[n++] = (exact_search_job){head[i], exact_search_time(x, i, d),
			                                 tail[i * stride + (stride > 1 ? d : 0)]};
	if (n < 2)
		return 0;
	return slots == 1 ? one_machine(x->job, n) : several_machines(x->job, n, slots);
}

/* Least time from the arrival of a tensor at a device to the end, by its consumers there. */
static int64_t after_arrival(const berth_exact_search *x, const exact_search_tensor *t, int32_t dest,
                             int32_t n_placed, const int64_t *tail, int32_t stride)
{
	int64_t most = -1;
	for (int32_t u = 0; u < t->n_uses && t->use[u] < n_placed; u++) {
		int32_t i = t->use[u];
		if (x->dev[i] == dest) {
			int64_t after =
				exact_search_time(x, i, dest) + tail[i * stride + (stride > 1 ? dest : 0)];
			most = after > most ? after : most;
		}
	}
	return most;
}

static int32_t list_moves(berth_exact_search *x, int32_t n_placed)
{
	int32_t n = 0;
	for (int32_t k = 0; k < x->n_tensors && x->tensor[k].producer < n_placed; k++) {
		const exact_search_tensor *t = &x->tensor[k];
		uint32_t seen = UINT32_C(1) << x->dev[t->producer];
		for (int32_t u = 0; u < t->n_uses && t->use[u] < n_placed; u++) {
			int32_t dest = x->dev[t->use[u]];
			if (seen >> dest & 1)
				continue;
			seen |= UINT32_C(1) << dest;
			x->move[n++] = (exact_search_move){k, dest};
		}
	}
	return n;
}

/* Jobs of channel c among the moves. */
static int32_t channel_jobs(berth_exact_search *x, int32_t c, int32_t n_moves, int32_t n_placed,
                            const int64_t *head, const int64_t *tail, int32_t stride)
{
	const berth_problem *p = x->p;
	int32_t n = 0;
	for (int32_t m = 0; m < n_moves; m++) {
		const exact_search_tensor *t = &x->tensor[x->move[m].tensor];
		int32_t from = x->dev[t->producer], to = x->move[m].dest;
		int32_t r = p->class_pair_route[berth_class_cell(p, t->class, from, to)];
		int64_t at = head[t->producer] + exact_search_time(x, t->producer, from),
			whole = exact_search_transfer(x, t->class, from, to), before = 0;
		BERTH_EACH (h, p->route_off, r) {
			int64_t hop = p->class_link_ns[(size_t)t->class * (size_t)p->s->n_links +
			                               (size_t)p->route_link[h]];
			if (p->s->link_channel[p->route_link[h]] == c && n < x->n_edges * SMALL_MAX_HOPS)
				x->job[n++] = (exact_search_job){
					at + before, hop,
					whole - before - hop +
						after_arrival(x, t, to, n_placed, tail, stride)};
			before += hop;
		}
	}
	return n;
}

int64_t exact_search_machines(berth_exact_search *x, int32_t n_placed, const int64_t *head,
                              const int64_t *tail, int32_t stride)
{
	int64_t most = 0;
	for (int32_t d = 0; d < x->n_devs && most < x->upper; d++) {
		int64_t b = device_bound(x, d, n_placed, head, tail, stride);
		most = b > most ? b : most;
	}
	if (!x->p->s->contention || most >= x->upper)
		return most;
	int32_t n_moves = list_moves(x, n_placed);
	for (int32_t c = 0; n_moves > 1 && c < x->p->s->n_channels && most < x->upper; c++) {
		int32_t n = channel_jobs(x, c, n_moves, n_placed, head, tail, stride);
		int64_t b = n > 1 ? one_machine(x->job, n) : 0;
		most = b > most ? b : most;
	}
	return most;
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
			BERTH_EACH (k, x->out_off, i) {
				const exact_search_tensor *t = &x->tensor[k];
				for (int32_t u = 0; u < t->n_uses; u++) {
					int64_t way = least_after(x, t->class, d, t->use[u]);
					longest = way > longest ? way : longest;
				}
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
}

/* Least work at each price of the operators from each on. */
static void fill_rest(berth_exact_search *x)
{
	for (int32_t k = 0; k < x->n_prices; k++) {
		double sum = x->rest[x->n * SMALL_PRICES + k] = 0;
		for (int32_t i = x->n - 1; i >= 0; i--) {
			const double *price = x->price + k * x->n_devs;
			double least = INFINITY;
			for (int32_t d = 0; d < x->n_devs; d++)
				if (exact_search_time(x, i, d) >= 0)
					least = fmin(least, price[d] * (double)exact_search_time(x, i, d));
			sum += isfinite(least) ? least : 0;
			x->rest[i * SMALL_PRICES + k] = sum;
		}
	}
}

/* Least load on each memory pool of the operators from each on. */
static void fill_pool_rest(berth_exact_search *x)
{
	int32_t pools = x->p->n_pools;
	for (int32_t q = 0; q < pools; q++) {
		int64_t sum = x->pool_rest[x->n * pools + q] = 0;
		for (int32_t i = x->n - 1; i >= 0; i--) {
			int64_t least = -1;
			for (int32_t d = 0; d < x->n_devs; d++) {
				bool here = berth_dev_pool(x->p, d) == q;
				int64_t load = here ? x->pool_ns[i * x->n_devs + d] : 0;
				if (exact_search_time(x, i, d) >= 0 && (least < 0 || load < least))
					least = load;
			}
			sum += least > 0 ? least : 0;
			x->pool_rest[i * pools + q] = sum;
		}
	}
}

/* ---- the first level ---- */

/* The device of d's kind before it is empty too: the same placements with numbers exchanged are tried
 * there. */
static bool mirrored(const berth_exact_search *x, int32_t d)
{
	return x->count[d] == 0 && x->mirror[d] >= 0 && x->count[x->mirror[d]] == 0;
}

/* Earliest start of i on d after its placed inputs. */
static int64_t head_of(const berth_exact_search *x, int32_t i, int32_t d)
{
	int64_t head = x->release[i * x->n_devs + d];
	BERTH_EACH (k, x->in_off, i) {
		const exact_search_tensor *t = &x->tensor[x->in[k]];
		int32_t from = x->dev[t->producer];
		int64_t at = x->head[t->producer] + exact_search_time(x, t->producer, from) +
		             exact_search_transfer(x, t->class, from, d);
		head = at > head ? at : head;
	}
	return head;
}

/* The load dual with operators before i where they are, or the load of a memory pool. Rounded down with a
 * margin for the sums in double. */
static int64_t load_bound(const berth_exact_search *x, int32_t i)
{
	double most = 0;
	for (int32_t k = 0; k < x->n_prices; k++) {
		double sum = x->rest[i * SMALL_PRICES + k];
		for (int32_t d = 0; d < x->n_devs; d++)
			sum += x->price[k * x->n_devs + d] * (double)x->load[d];
		most = sum > most ? sum : most;
	}
	int64_t longest = (int64_t)(most * (1 - 1e-12));
	for (int32_t q = 0; q < x->p->n_pools; q++) {
		int64_t load = x->pool_load[q] + x->pool_rest[i * x->p->n_pools + q];
		longest = load > longest ? load : longest;
	}
	return longest;
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
	if (berth_dev_pool(x->p, d) >= 0)
		x->pool_load[berth_dev_pool(x->p, d)] += sign * x->pool_ns[i * x->n_devs + d];
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

void berth_exact_search_run(berth_exact_search *x, const berth_exact_search_cfg *cfg,
                            berth_exact_search_result *out)
{
	x->cfg = cfg;
	x->upper = cfg->upper_ns;
	x->open = x->best = BERTH_EXACT_SEARCH_NEVER;
	x->nodes = 0;
	x->stopped = x->left_open = false;
	x->depth = 0;
	for (int32_t d = 0; d < x->n_devs; d++) {
		x->load[d] = x->count[d] = 0;
		x->held[d] = x->held_before[d];
	}
	for (int32_t q = 0; q < x->p->n_pools; q++)
		x->pool_load[q] = 0;
	for (int32_t i = 0; i < x->n; i++)
		x->dev[i] = -1;
	fill_tails(x);
	fill_prices(x);
	fill_rest(x);
	fill_pool_rest(x);
	exact_search_mirrors(x);
	if (x->upper > 0)
		place_from(x, 0, 0);
	*out = (berth_exact_search_result){
		.best_ns = x->best, .nodes = x->nodes, .complete = !x->stopped && !x->left_open};
	out->lower_ns = x->open < x->upper ? x->open : x->upper;
}
