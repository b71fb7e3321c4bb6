/* A lower bound by reparametrisation, in sweeps. At one node after the other, a sweep gathers what the node's
 * edges cost at least, banks the node's least cost in the base, and hands shares of the rest on to the edges
 * ahead. The order and the shares are those of sequential tree-reweighted message passing (Kolmogorov, PAMI
 * 2006), in whole numbers. The base never sinks, and the problem stays the same. */
#include "pbqp_work.h"

/* Hand 1/shares of v's costs to the edge at h. */
static void push(pbqp_work *w, int32_t v, int32_t h, int32_t shares)
{
	int64_t *cost = w->cost + w->cost_off[v];
	pbqp_view view = pbqp_view_of(w, h);
	int32_t m = w->n_alts[w->half[h].to];
	for (int32_t i = 0; i < w->n_alts[v]; i++) {
		if (cost[i] >= BERTH_PBQP_INF)
			continue;
		int64_t part = cost[i] / shares;
		cost[i] -= part;
		for (int32_t j = 0; j < m; j++) {
			int64_t *at = pbqp_at(view, i, j);
			*at = pbqp_add(*at, part);
		}
	}
}

static berth_status visit(pbqp_work *w, int32_t v, bool forward, berth_err *err)
{
	int32_t ahead = 0, behind = 0;
	bool forbidden;
	for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next) {
		BERTH_TRY(pbqp_work_pull(w, h, &forbidden, err));
		if ((w->half[h].to > v) == forward)
			ahead++;
		else
			behind++;
	}
	/* Move the least cost of v to the base. */
	int64_t *cost = w->cost + w->cost_off[v], least = cost[pbqp_argmin(cost, w->n_alts[v])];
	w->base = pbqp_add(w->base, least);
	for (int32_t i = 0; i < w->n_alts[v]; i++)
		cost[i] = cost[i] < BERTH_PBQP_INF ? cost[i] - least : cost[i];
	int32_t shares = ahead > behind ? ahead : behind;
	for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next)
		if ((w->half[h].to > v) == forward) {
			BERTH_TRY(pbqp_work_own(w, h >> 1, err));
			push(w, v, h, shares--);
		}
	return BERTH_OK;
}

berth_status pbqp_raise_bound(pbqp_work *w, int32_t n_sweeps, berth_err *err)
{
	for (int32_t sweep = 0; sweep < n_sweeps; sweep++) {
		int64_t before = w->base;
		for (int32_t v = 0; v < w->n_nodes; v++)
			if (w->alive[v])
				BERTH_TRY(visit(w, v, true, err));
		for (int32_t v = w->n_nodes - 1; v >= 0; v--)
			if (w->alive[v])
				BERTH_TRY(visit(w, v, false, err));
		if (w->base == before || w->base >= BERTH_PBQP_INF)
			break;
	}
	return BERTH_OK;
}

int64_t pbqp_lower_bound(const pbqp_work *w)
{
	int64_t sum = w->base;
	for (int32_t v = 0; v < w->n_nodes; v++)
		if (w->alive[v]) {
			const int64_t *cost = w->cost + w->cost_off[v];
			sum = pbqp_add(sum, cost[pbqp_argmin(cost, w->n_alts[v])]);
		}
	return sum;
}

/* Branch and bound over the kernel of a PBQP. At each node come exact reductions and a bound raised by
 * sweeps. What falls into connected parts is solved part by part. Else the search branches on the node of
 * highest degree, with alternatives in the order of their look-ahead. */

enum {
	MAX_DEPTH = 2000,
	SWEEPS = 3 /* of pbqp_raise_bound at each node */
};

#define MAX_BYTES ((size_t)1 << 29) /* of scratch, beyond which a branch is given up as at the node limit */

typedef struct search {
	berth_arena *mem;
	int64_t node_limit, nodes;
	size_t bytes_before;
	int32_t depth;
	bool complete; /* no limit was met */
} search;

static berth_status explore(search *s, pbqp_work *w, int64_t below, int32_t *x, int64_t *cost,
                            berth_err *err);

static bool limit_met(search *s)
{
	if ((s->node_limit > 0 && s->nodes >= s->node_limit) || s->depth > MAX_DEPTH ||
	    berth_arena_size(s->mem) - s->bytes_before > MAX_BYTES)
		s->complete = false;
	return !s->complete;
}

/* Label the nodes alive by connected part, in order of lowest node; returns the number of parts. stack
 * [n_nodes] is scratch. */
static int32_t label_parts(const pbqp_work *w, int32_t *part, int32_t *stack)
{
	int32_t n_parts = 0;
	memset(part, -1, (size_t)w->n_nodes * sizeof *part);
	for (int32_t root = 0; root < w->n_nodes; root++) {
		int32_t n = 0;
		if (!w->alive[root] || part[root] >= 0)
			continue;
		part[root] = n_parts;
		for (stack[n++] = root; n > 0;) {
			int32_t v = stack[--n];
			for (int32_t h = w->first[v]; h >= 0; h = w->half[h].next)
				if (part[w->half[h].to] < 0) {
					part[w->half[h].to] = n_parts;
					stack[n++] = w->half[h].to;
				}
		}
		n_parts++;
	}
	return n_parts;
}

/* A view of one part: the same arrays, with its own marks of who is alive, and base 0. */
static pbqp_work part_view(const pbqp_work *w, const int32_t *part, int32_t which, bool *alive)
{
	pbqp_work view = *w;
	for (int32_t v = 0; v < w->n_nodes; v++)
		alive[v] = part[v] == which;
	view.alive = alive;
	view.base = 0;
	return view;
}

/* The best answer below the given cost of what is alive in w and, where keep is not NULL, marked there: its
 * choices then stand in x. */
static berth_status explore_extract(search *s, const pbqp_work *w, const bool *keep, int64_t below,
                                    int32_t *x, int64_t *cost, berth_err *err)
{
	pbqp_work sub;
	int32_t *x_sub;
	BERTH_TRY(pbqp_work_extract(w, keep, s->mem, &sub, err));
	BERTH_TRY_NEW(s->mem, sub.n_nodes, err, x_sub);
	BERTH_TRY(explore(s, &sub, below, x_sub, cost, err));
	if (*cost < below)
		pbqp_work_lift(&sub, x_sub, x);
	return BERTH_OK;
}

/* Solve the parts one by one; `least` is the bound of all. */
static berth_status explore_parts(search *s, const pbqp_work *w, const int32_t *part, int32_t n_parts,
                                  int64_t below, int32_t *x, int64_t *cost, berth_err *err)
{
	int64_t sum = pbqp_lower_bound(w);
	bool *alive;
	BERTH_TRY_NEW(s->mem, w->n_nodes, err, alive);
	for (int32_t which = 0; which < n_parts; which++) {
		BERTH_SCRATCH(s->mem);
		pbqp_work view = part_view(w, part, which, alive);
		int64_t least = pbqp_lower_bound(&view), rest = below - (sum - least), got;
		BERTH_TRY(explore_extract(s, &view, NULL, rest, x, &got, err));
		if (got >= rest)
			return BERTH_OK;
		sum += got - least;
	}
	*cost = sum;
	return BERTH_OK;
}

static int32_t highest_degree(const pbqp_work *w)
{
	int32_t best = -1;
	for (int32_t v = 0; v < w->n_nodes; v++)
		if (w->alive[v] && (best < 0 || w->degree[v] > w->degree[best]))
			best = v;
	return best;
}

/* Mark what may still be part of an answer below the given cost: alternative i of v, and of the other nodes
 * those whose cost alone does not rule them out. Returns false if i itself is ruled out. */
static bool mark_kept(const pbqp_work *w, int32_t v, int32_t i, int64_t below, bool *keep)
{
	int64_t least = pbqp_lower_bound(w);
	for (int32_t u = 0; u < w->n_nodes; u++) {
		const int64_t *cost = w->cost + w->cost_off[u];
		if (!w->alive[u])
			continue;
		int64_t rest = least - cost[pbqp_argmin(cost, w->n_alts[u])];
		for (int32_t j = 0; j < w->n_alts[u]; j++)
			keep[w->cost_off[u] + j] =
				cost[j] < BERTH_PBQP_INF && rest + cost[j] < below && (u != v || j == i);
	}
	return keep[w->cost_off[v] + i];
}

/* Cost of the best answer with alternative i of v, if below the given one; its choices then stand in x. */
static berth_status explore_alternative(search *s, const pbqp_work *w, int32_t v, int32_t i, int64_t below,
                                        int32_t *x, int64_t *cost, berth_err *err)
{
	BERTH_SCRATCH(s->mem);
	bool *keep;
	*cost = below;
	BERTH_TRY_NEW(s->mem, w->cost_off[w->n_nodes], err, keep);
	return mark_kept(w, v, i, below, keep) ? explore_extract(s, w, keep, below, x, cost, err) : BERTH_OK;
}

/* The best answer of w below the given cost: *cost and x[n_nodes], or *cost = below where there is none (or
 * a limit was met). Consumes w. */
static berth_status explore(search *s, pbqp_work *w, int64_t below, int32_t *x, int64_t *cost, berth_err *err)
{
	pbqp_reducer r;
	int32_t *part, *stack;
	*cost = below;
	if (limit_met(s))
		return BERTH_OK;
	s->nodes++;
	BERTH_TRY(pbqp_reducer_new(w, true, &r, err));
	BERTH_TRY(pbqp_reduce_exact(&r, err));
	BERTH_TRY(pbqp_raise_bound(w, SWEEPS, err));
	int64_t least = pbqp_lower_bound(w);
	if (least >= below)
		return BERTH_OK;
	BERTH_TRY_NEW(s->mem, w->n_nodes, err, part, stack);
	int32_t n_parts = label_parts(w, part, stack);
	s->depth++;
	if (n_parts == 0)
		*cost = least;
	else if (n_parts > 1)
		BERTH_TRY(explore_parts(s, w, part, n_parts, below, x, cost, err));
	else {
		int32_t v = highest_degree(w), n = w->n_alts[v];
		int64_t *look;
		BERTH_TRY_NEW(s->mem, n, err, look);
		pbqp_look_ahead(w, v, look);
		*cost = below;
		for (int32_t k = 0; k < n; k++) {
			int32_t i = pbqp_argmin(look, n);
			int64_t got;
			if (look[i] >= BERTH_PBQP_INF)
				break;
			look[i] = BERTH_PBQP_INF;
			BERTH_TRY(explore_alternative(s, w, v, i, *cost, x, &got, err));
			if (got < *cost)
				*cost = got;
		}
	}
	s->depth--;
	if (*cost < below)
		pbqp_propagate(&r, x);
	return BERTH_OK;
}

berth_status pbqp_branch_and_bound(const pbqp_work *w, int64_t node_limit, int32_t *x, int64_t *cost,
                                   int64_t *nodes, bool *complete, berth_err *err)
{
	search s = {.mem = w->mem,
	            .node_limit = node_limit,
	            .bytes_before = berth_arena_size(w->mem),
	            .complete = true};
	BERTH_SCRATCH(w->mem);
	int64_t below = *cost;
	BERTH_TRY(explore_extract(&s, w, NULL, below, x, cost, err));
	*nodes = s.nodes;
	*complete = s.complete;
	return BERTH_OK;
}
