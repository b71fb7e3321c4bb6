/* The second level of the exact search: orders on devices for a complete placement. Pairs that can be one
 * way only are set, and the pair that matters most is branched on. */
#include "exact_search_work.h"

enum { N = BERTH_EXACT_SEARCH_OPS, MOST_DEPTH = 500 }; /* each level takes some 8 KB of the stack */

/* A node: what must start before and after each operator (transitively closed), earliest starts, least times
 * after. */
typedef struct node {
	uint64_t above[N], below[N];
	int64_t head[N], tail[N];
	int64_t lower;
} node;

static bool one_slot(const berth_exact_search *x, int32_t i)
{
	return x->p->s->dev_slots[x->dev[i]] == 1;
}

static bool before(const node *s, int32_t i, int32_t j)
{
	return s->above[j] >> i & 1;
}

/* i starts before j, and with i all above it before all below j. */
static void add_arc(const berth_exact_search *x, node *s, int32_t i, int32_t j)
{
	uint64_t up = s->above[i] | UINT64_C(1) << i, down = s->below[j] | UINT64_C(1) << j;
	for (int32_t k = 0; k < x->n; k++) {
		if (up >> k & 1)
			s->below[k] |= down;
		if (down >> k & 1)
			s->above[k] |= up;
	}
}

/* Operators in an order that the node's arcs allow. */
static void sort_by_above(const berth_exact_search *x, const node *s, int32_t *order)
{
	int32_t count[N];
	for (int32_t i = 0; i < x->n; i++)
		count[i] = __builtin_popcountll(s->above[i]);
	for (int32_t i = 0; i < x->n; i++) {
		int32_t k = i;
		for (; k > 0 && count[order[k - 1]] > count[i]; k--)
			order[k] = order[k - 1];
		order[k] = i;
	}
}

/* Earliest start of j after its inputs and after all that its device starts before it. */
static int64_t head_of(const berth_exact_search *x, const node *s, int32_t j)
{
	int32_t d = x->dev[j];
	int64_t head = x->release[j * x->n_devs + d], first = BERTH_EXACT_SEARCH_NEVER, sum = 0;
	BERTH_EACH (k, x->in_off, j) {
		const exact_search_tensor *t = &x->tensor[x->in[k]];
		int32_t i = t->producer;
		head = berth_max(head, s->head[i] + exact_search_time(x, i, x->dev[i]) +
		                             exact_search_transfer(x, t->class, x->dev[i], d));
	}
	for (uint64_t left = s->above[j]; left; left &= left - 1) {
		int32_t i = __builtin_ctzll(left);
		if (x->dev[i] != d)
			continue;
		head = berth_max(head, s->head[i] + (one_slot(x, i) ? exact_search_time(x, i, d) : 0));
		first = s->head[i] < first ? s->head[i] : first;
		sum += exact_search_time(x, i, d);
	}
	return first < BERTH_EXACT_SEARCH_NEVER && one_slot(x, j) ? berth_max(head, first + sum) : head;
}

/* Least time from the end of i to the end of all. */
static int64_t tail_of(const berth_exact_search *x, const node *s, int32_t i)
{
	int32_t d = x->dev[i];
	int64_t tail = x->after[i * x->n_devs + d], last = BERTH_EXACT_SEARCH_NEVER, sum = 0;
	BERTH_EACH (t, x->out_off, i)
		for (int32_t u = 0; u < x->tensor[t].n_uses; u++) {
			int32_t j = x->tensor[t].use[u];
			tail = berth_max(tail, exact_search_transfer(x, x->tensor[t].class, d, x->dev[j]) +
			                             exact_search_time(x, j, x->dev[j]) + s->tail[j]);
		}
	if (!one_slot(x, i))
		return tail;
	for (uint64_t left = s->below[i]; left; left &= left - 1) {
		int32_t j = __builtin_ctzll(left);
		if (x->dev[j] != d)
			continue;
		tail = berth_max(tail, exact_search_time(x, j, d) + s->tail[j]);
		last = s->tail[j] < last ? s->tail[j] : last;
		sum += exact_search_time(x, j, d);
	}
	return last < BERTH_EXACT_SEARCH_NEVER ? berth_max(tail, last + sum) : tail;
}

/* Heads, tails and the bound of paths. */
static void settle(const berth_exact_search *x, node *s)
{
	int32_t order[N];
	sort_by_above(x, s, order);
	for (int32_t k = 0; k < x->n; k++)
		s->head[order[k]] = head_of(x, s, order[k]);
	for (int32_t k = x->n - 1; k >= 0; k--)
		s->tail[order[k]] = tail_of(x, s, order[k]);
	for (int32_t i = 0; i < x->n; i++)
		s->lower = berth_max(s->lower, s->head[i] + exact_search_time(x, i, x->dev[i]) + s->tail[i]);
}

static bool open_pair(const berth_exact_search *x, const node *s, int32_t i, int32_t j)
{
	return x->dev[i] == x->dev[j] && !before(s, i, j) && !before(s, j, i);
}

/* Would i before j reach the incumbent? */
static bool too_long(const berth_exact_search *x, const node *s, int32_t i, int32_t j)
{
	return one_slot(x, i) && s->head[i] + exact_search_time(x, i, x->dev[i]) +
	                                         exact_search_time(x, j, x->dev[j]) + s->tail[j] >=
	                                 x->upper;
}

/* Set the pairs that only fit one way. False: some fit neither way. */
static bool select_arcs(const berth_exact_search *x, node *s)
{
	bool changed = true;
	while (changed && s->lower < x->upper) {
		changed = false;
		for (int32_t i = 0; i < x->n; i++)
			for (int32_t j = i + 1; j < x->n; j++) {
				if (!open_pair(x, s, i, j))
					continue;
				bool not_ij = too_long(x, s, i, j), not_ji = too_long(x, s, j, i);
				if (not_ij && not_ji)
					return false;
				if (not_ij || not_ji) {
					add_arc(x, s, not_ij ? j : i, not_ij ? i : j);
					changed = true;
				}
			}
		if (changed)
			settle(x, s);
	}
	return s->lower < x->upper;
}

/* Do i and j, of one device, run at once in the earliest schedule, where it has too few slots? */
static bool overlap(const berth_exact_search *x, const node *s, int32_t i, int32_t j)
{
	int64_t end_i = s->head[i] + exact_search_time(x, i, x->dev[i]),
		end_j = s->head[j] + exact_search_time(x, j, x->dev[j]);
	if (s->head[i] >= end_j || s->head[j] >= end_i)
		return false;
	if (one_slot(x, i))
		return true;
	int32_t at_once = 0;
	int64_t at = berth_max(s->head[i], s->head[j]);
	for (int32_t k = 0; k < x->n; k++)
		at_once += x->dev[k] == x->dev[i] && s->head[k] <= at &&
		           at < s->head[k] + exact_search_time(x, k, x->dev[k]);
	return at_once > x->p->s->dev_slots[x->dev[i]];
}

/* The open pair to branch on: one that overlaps, with the most time after it; or (any) one at all. */
static bool choose_pair(const berth_exact_search *x, const node *s, bool any, int32_t *a, int32_t *b)
{
	int64_t most = -1;
	for (int32_t i = 0; i < x->n; i++)
		for (int32_t j = i + 1; j < x->n; j++) {
			if (!open_pair(x, s, i, j) || !(any || overlap(x, s, i, j)))
				continue;
			int64_t weight = s->tail[i] + s->tail[j];
			if (weight > most) {
				most = weight;
				*a = i;
				*b = j;
			}
		}
	return most >= 0;
}

static void branch(berth_exact_search *x, const node *parent);

static void split(berth_exact_search *x, const node *s, int32_t i, int32_t j)
{
	node child[2];
	for (int k = 0; k < 2; k++) {
		child[k] = *s;
		add_arc(x, &child[k], k ? j : i, k ? i : j);
		settle(x, &child[k]);
	}
	int first = child[1].lower < child[0].lower;
	x->depth++;
	branch(x, &child[first]);
	branch(x, &child[!first]);
	x->depth--;
}

/* Score what the node's earliest schedule says. True: nothing below the node can be better. */
static bool score(berth_exact_search *x, const node *s)
{
	/* By earliest start; of equal ones those with less above them, which is a topological order as arcs
	 * never lead to an earlier start. */
	int32_t *order = x->order;
	for (int32_t i = 0; i < x->n; i++) {
		int32_t k = i, depth = __builtin_popcountll(s->above[i]);
		for (; k > 0; k--) {
			int32_t o = order[k - 1];
			if (s->head[o] < s->head[i] ||
			    (s->head[o] == s->head[i] && __builtin_popcountll(s->above[o]) <= depth))
				break;
			order[k] = o;
		}
		order[k] = i;
	}
	int64_t value = x->cfg->leaf(x->cfg->ctx, x->dev, x->order);
	exact_search_found(x, value);
	return value <= s->lower || x->upper <= s->lower;
}

static void branch(berth_exact_search *x, const node *parent)
{
	node s = *parent;
	int32_t i, j;
	if (s.lower >= x->upper || !exact_search_step(x, s.lower) || !select_arcs(x, &s))
		return;
	if (x->depth >= MOST_DEPTH) {
		exact_search_leave(x, s.lower);
		return;
	}
	int64_t machines = exact_search_machines(x, x->n, s.head, s.tail, 1);
	s.lower = berth_max(s.lower, machines);
	if (s.lower >= x->upper)
		return;
	if (choose_pair(x, &s, false, &i, &j)) {
		split(x, &s, i, j);
	} else if (!x->cfg->leaf) {
		/* Nothing overlaps: relaxed to the end, with several slots perhaps a little further. */
		exact_search_found(x, s.lower);
	} else if (!score(x, &s) && choose_pair(x, &s, true, &i, &j)) {
		split(x, &s, i, j);
	}
}

void exact_search_order(berth_exact_search *x, int64_t lower)
{
	node s;
	memset(&s, 0, sizeof s);
	for (int32_t i = 0; i < x->n; i++) {
		s.above[i] = x->above[i];
		for (uint64_t left = x->above[i]; left; left &= left - 1)
			s.below[__builtin_ctzll(left)] |= UINT64_C(1) << i;
	}
	s.lower = lower;
	settle(x, &s);
	branch(x, &s);
}
