/* Certificates by windows: ends are followed in topological order, raised by claims. What a claim says is
 * its ends and its prices: operators inside, heads, tails and loads are found here. */
#include "certificate_cases.h"

enum { BELOW = 1, ABOVE = 2 };

typedef struct work {
	const berth_certificate *c;
	const berth_problem *p;
	berth_err *err;
	int64_t *end; /* [n_ops][n_devs] least time to the end there */

	/* the window at hand */
	const berth_window_claim *k;
	uint8_t *side;        /* [n_ops] BELOW its first operator, ABOVE its last one */
	int32_t *in, n;       /* [n_ops] what is inside, in topological order */
	int64_t *after_first; /* [n_ops][n_devs] least time from the end of the first to the end there */
	int64_t *head, *tail; /* [n_ops][n_devs] from the first's end to the start, and on to the last's start
	                       */
	int64_t *before, *behind; /* [n_devs + n_pools] least head and tail on it */
} work;

static size_t cell(const work *w, int32_t op, int32_t d)
{
	return berth_cell(w->p, op, d);
}

/* Place in topological order: that of the beginning is before all, that of the end behind all. */
static int32_t first_place(const work *w)
{
	return w->k->first < 0 ? -1 : w->p->g->op_topo[w->k->first];
}

static int32_t last_place(const work *w)
{
	return w->k->last < 0 ? w->p->n_ops : w->p->g->op_topo[w->k->last];
}

static berth_status window_fail(const work *w, const char *what)
{
	const char *const *name = (const char *const *)w->p->g->op_name;
	return berth_fail(w->err, BERTH_EFORMAT, "window %d, from %s%.80s%s to %s%.80s%s: %s",
	                  (int)(w->k - w->c->window), w->k->first < 0 ? "" : "'",
	                  w->k->first < 0 ? "the beginning" : name[w->k->first], w->k->first < 0 ? "" : "'",
	                  w->k->last < 0 ? "" : "'", w->k->last < 0 ? "the end" : name[w->k->last],
	                  w->k->last < 0 ? "" : "'", what);
}

/* ---- what is inside ---- */

static bool is_below(const work *w, int32_t op)
{
	return w->k->first < 0 || (w->p->g->op_topo[op] > first_place(w) && w->side[op] & BELOW);
}

static bool is_above(const work *w, int32_t op)
{
	return w->k->last < 0 || (w->p->g->op_topo[op] < last_place(w) && w->side[op] & ABOVE);
}

static berth_status find_inside(work *w)
{
	/* Of operators from behind the first to the last one. */
	const berth_graph *g = w->p->g;
	for (int32_t z = first_place(w) + 1; z <= last_place(w) && z < g->n_ops; z++) {
		int32_t op = g->topo_op[z];
		w->side[op] = 0;
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t from = g->tensor_producer[g->in_tensor[i]];
			w->side[op] |= from == w->k->first || is_below(w, from) ? BELOW : 0;
		}
	}
	for (int32_t z = last_place(w) - 1; z > first_place(w); z--) {
		int32_t op = g->topo_op[z];
		BERTH_EACH_USE (e, g, op) {
			int32_t to = g->edge_consumer[e];
			w->side[op] |= to == w->k->last || is_above(w, to) ? ABOVE : 0;
		}
	}
	w->n = 0;
	for (int32_t z = first_place(w) + 1; z < last_place(w); z++)
		if (is_below(w, w->p->g->topo_op[z]) && is_above(w, w->p->g->topo_op[z]))
			w->in[w->n++] = w->p->g->topo_op[z];
	if (w->k->first >= 0 && w->k->last >= 0 && !is_below(w, w->k->last))
		return window_fail(w, "no path leads there");
	return w->k->last >= 0 && w->n > BERTH_CERTIFICATE_WINDOW_OPS
	               ? window_fail(w, "too many operators are inside")
	               : BERTH_OK;
}

/* ---- heads and tails ---- */

/* When op has its inputs on d, by ends [n_ops][n_devs] of their producers. Those that are not below the first
 * operator cost nothing; that one ended on `on` at 0. */
static int64_t ready_at(const work *w, int32_t op, int32_t d, const int64_t *end, int32_t on)
{
	const berth_graph *g = w->p->g;
	int64_t ready = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], from = g->tensor_producer[t];
		bool first = w->k && from == w->k->first;
		int64_t least = first ? berth_transfer_ns(w->p, t, on, d) : CERTIFICATE_NEVER;
		if (!first && w->k && !is_below(w, from))
			continue;
		for (int32_t l = 0; !first && l < w->p->n_devs; l++)
			if (end[cell(w, from, l)] < CERTIFICATE_NEVER) {
				int64_t there = end[cell(w, from, l)] + berth_transfer_ns(w->p, t, l, d);
				least = there < least ? there : least;
			}
		ready = least > ready ? least : ready;
	}
	return ready;
}

/* The end of op on d where its producers end so, and those that are not below the first cost nothing. */
static int64_t end_at(const work *w, int32_t op, int32_t d, const int64_t *end, int32_t on)
{
	int64_t ready = berth_op_legal(w->p, op, d) ? ready_at(w, op, d, end, on) : CERTIFICATE_NEVER;
	return ready < CERTIFICATE_NEVER ? ready + berth_op_time(w->p, op, d) : CERTIFICATE_NEVER;
}

/* Least time from the end of a producer on d to the last operator's start, by the consumer `to` of t. */
static int64_t way_after(const work *w, int32_t t, int32_t to, int32_t d)
{
	int64_t least = CERTIFICATE_NEVER;
	if (to == w->k->last)
		return berth_transfer_ns(w->p, t, d, w->k->to);
	for (int32_t l = 0; l < w->p->n_devs; l++) {
		int64_t tail = w->tail[cell(w, to, l)];
		if (berth_op_legal(w->p, to, l) && tail < CERTIFICATE_NEVER) {
			int64_t way = berth_transfer_ns(w->p, t, d, l) + berth_op_time(w->p, to, l) + tail;
			least = way < least ? way : least;
		}
	}
	return least;
}

/* ---- loads ---- */

static bool fits(const work *w, int32_t op, int32_t d, int32_t on, int64_t length_ns)
{
	const int32_t *coloc = w->p->op_coloc;
	size_t at = cell(w, op, d);
	if (!berth_op_legal(w->p, op, d) ||
	    (w->k->first >= 0 && coloc[op] == coloc[w->k->first] && d != on) ||
	    (w->k->last >= 0 && coloc[op] == coloc[w->k->last] && d != w->k->to))
		return false;
	return w->head[at] < CERTIFICATE_NEVER && w->tail[at] < CERTIFICATE_NEVER &&
	       w->head[at] + berth_op_time(w->p, op, d) + w->tail[at] <= length_ns;
}

static void note(work *w, int32_t resource, size_t at)
{
	w->before[resource] = w->head[at] < w->before[resource] ? w->head[at] : w->before[resource];
	w->behind[resource] = w->tail[at] < w->behind[resource] ? w->tail[at] : w->behind[resource];
}

/* What there is room for at these prices, once before and behind are known. */
static certificate_wide room_for(const work *w, int64_t length_ns, const int64_t *price)
{
	certificate_wide room = 0;
	for (int32_t r = 0; r < berth_n_resources(w->p); r++)
		if (w->before[r] < CERTIFICATE_NEVER && w->before[r] + w->behind[r] < length_ns)
			room += (certificate_wide)price[r] * berth_units(w->p, r) *
			        (length_ns - w->before[r] - w->behind[r]);
	return room;
}

/* Can the window not be done in length_ns? price: NULL: as an operator fits nowhere. */
static bool does_not_fit(work *w, int32_t on, int64_t length_ns, const int64_t *price)
{
	certificate_wide sum = 0;
	for (int32_t r = 0; r < berth_n_resources(w->p); r++)
		w->before[r] = w->behind[r] = CERTIFICATE_NEVER;
	for (int32_t z = 0; z < w->n; z++) {
		certificate_wide least = -1;
		for (int32_t d = 0; d < w->p->n_devs; d++) {
			int32_t op = w->in[z], pool = berth_dev_pool(w->p, d);
			if (!fits(w, op, d, on, length_ns))
				continue;
			certificate_wide charge = price ? certificate_charge(w->p, price, op, d) : 0;
			least = least < 0 || charge < least ? charge : least;
			note(w, d, cell(w, op, d));
			if (pool >= 0)
				note(w, w->p->n_devs + pool, cell(w, op, d));
		}
		if (least < 0)
			return true;
		sum += least;
	}
	return price && sum > room_for(w, length_ns, price);
}

/* ---- claims ---- */

/* That the last operator does not end before the claim, if the first one stands on `on`. */
static berth_status check_case(work *w, int32_t on, int32_t prices)
{
	const berth_window_claim *k = w->k;
	const berth_problem *p = w->p;
	size_t all = (size_t)berth_n_resources(p);
	int64_t start = k->first < 0 ? 0 : w->end[cell(w, k->first, on)];
	int64_t length = k->bound_ns - 1 - (k->last < 0 ? 0 : berth_op_time(p, k->last, k->to)) - start;
	if (start >= CERTIFICATE_NEVER || length < 0)
		return BERTH_OK;
	if (prices < -1 || prices >= w->c->n_prices)
		return window_fail(w, "there are no such prices");
	/* With the first operator on `on`. Of a window from the beginning they are what the known ends
	 * leave. */
	for (int32_t z = 0; z < w->n; z++)
		for (int32_t d = 0; d < w->p->n_devs; d++) {
			int32_t op = w->in[z];
			size_t at = cell(w, op, d);
			int64_t end = w->end[at];
			if (w->k->first >= 0)
				end = w->after_first[at] = end_at(w, op, d, w->after_first, on);
			w->head[at] = end < CERTIFICATE_NEVER ? end - berth_op_time(w->p, op, d)
			                                      : CERTIFICATE_NEVER;
		}
	if (k->last >= 0 && ready_at(w, k->last, k->to, k->first < 0 ? w->end : w->after_first, on) > length)
		return BERTH_OK;
	return does_not_fit(w, on, length, prices < 0 ? NULL : w->c->price_vector + (size_t)prices * all)
	               ? BERTH_OK
	               : window_fail(w, "there is room to end before its claim");
}

static berth_status check_window(work *w, const berth_window_claim *k)
{
	const berth_problem *p = w->p;
	w->k = k;
	if (k->last < 0 ? k->to != 0 : !berth_op_legal(p, k->last, k->to))
		return window_fail(w, "its end cannot stand on that device");
	BERTH_TRY(find_inside(w));
	const berth_graph *g = w->p->g;
	for (int32_t z = w->n - 1; z >= 0; z--)
		for (int32_t d = 0; d < w->p->n_devs; d++) {
			int32_t op = w->in[z];
			int64_t *tail = &w->tail[cell(w, op, d)];
			*tail = 0;
			BERTH_EACH (t, g->op_tensor_off, op)
				BERTH_EACH (e, g->tensor_use_off, t) {
					int32_t to = g->edge_consumer[e];
					if (to != w->k->last && !is_above(w, to))
						continue;
					int64_t way = way_after(w, t, to, d);
					*tail = way > *tail ? way : *tail;
				}
		}
	for (int32_t d = 0; d < (k->first < 0 ? 1 : p->n_devs); d++)
		if (k->first < 0 || berth_op_legal(p, k->first, d))
			BERTH_TRY(check_case(w, d, k->prices[d]));
	w->k = NULL;
	return BERTH_OK;
}

/* The windows that end in op, or -1, the end of the run; *next is the first that is not used yet. Each raises
 * one end: at[to]. */
static berth_status pass_windows(work *w, int32_t op, int32_t *next, int64_t *at)
{
	const berth_certificate *c = w->c;
	for (int32_t to = -1; *next < c->n_windows && c->window[*next].last == op; ++*next) {
		const berth_window_claim *k = &c->window[*next];
		if (k->to <= to)
			return berth_fail(
				w->err, BERTH_EFORMAT,
				"window %d is not behind the one before it, by its last operator and "
				"then its device",
				(int)*next);
		to = k->to;
		BERTH_TRY(check_window(w, k));
		at[to] = k->bound_ns > at[to] ? k->bound_ns : at[to];
	}
	return BERTH_OK;
}

static berth_status pass_ops(work *w, int32_t *next, int64_t *longest)
{
	const berth_problem *p = w->p;
	for (int32_t z = 0; z < p->n_ops; z++) {
		int32_t op = p->g->topo_op[z];
		int64_t least = CERTIFICATE_NEVER, *end = w->end + cell(w, op, 0);
		for (int32_t d = 0; d < p->n_devs; d++)
			end[d] = end_at(w, op, d, w->end, 0);
		BERTH_TRY(pass_windows(w, op, next, end));
		for (int32_t d = 0; d < p->n_devs; d++)
			least = end[d] < least ? end[d] : least;
		*longest = least < CERTIFICATE_NEVER && least > *longest ? least : *longest;
	}
	return BERTH_OK;
}

berth_status certificate_windows(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                 int64_t *proven_ns, berth_err *err)
{
	work w = {.c = c, .p = p, .err = err};
	size_t ops = (size_t)p->n_ops, cells = ops * (size_t)p->n_devs, all = (size_t)berth_n_resources(p);
	int32_t next = 0;
	int64_t longest = 0;
	BERTH_TRY_NEW(tmp, cells, err, w.end);
	BERTH_TRY_NEW(tmp, ops, err, w.side, w.in);
	BERTH_TRY_NEW(tmp, cells, err, w.after_first, w.head, w.tail);
	BERTH_TRY_NEW(tmp, all, err, w.before, w.behind);
	BERTH_TRY(pass_ops(&w, &next, &longest));
	BERTH_TRY(pass_windows(&w, -1, &next, &longest));
	if (next < c->n_windows)
		return berth_fail(err, BERTH_EFORMAT, "window %d is not in the order of the graph",
		                  (int)next);
	*proven_ns = longest;
	return BERTH_OK;
}
