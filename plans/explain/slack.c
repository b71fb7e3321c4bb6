/* Slack of operators: how late each could end. The run is a graph of operators and hops. An arc says that one
 * cannot start before another has ended. Arcs lead from a tensor to its hops and consumers, to the next on
 * the same slot of a device, and to the next on the same channel. Latest ends go backwards along arcs. */
#include "explain_op.h"

#include <stdlib.h>
#include <string.h>

/* An operator (below n_ops) or a hop. */
typedef struct event {
	int64_t start_ns, end_ns;
	int32_t node;
} event;

typedef struct slack {
	const berth_problem *p;
	const berth_timeline *t;
	int32_t n;          /* operators and hops */
	event *by_start;    /* [n] */
	int64_t *latest_ns; /* [n] latest end */
	int32_t *next;      /* [n] the next on the same slot or channel; -1: none */
	/* [n_ops] where devices keep a sequence: the next one, which does not start before; -1: none. */
	int32_t *follower;
	int32_t *dev_last;  /* [n_devs] the latest operator */
	int32_t *lane;      /* [all slots] the latest operator of each */
	int32_t *slot_off;  /* [n_devs+1] */
	int32_t *last;      /* [n_channels] the latest hop */
	int32_t *tensor_hop, *hop_after; /* hops of a tensor as a list, in order of time */
} slack;

static int compare_events(const void *pa, const void *pb)
{
	const event *a = pa, *b = pb;
	if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
	if (a->end_ns != b->end_ns) return a->end_ns < b->end_ns ? -1 : 1;
	return (a->node > b->node) - (a->node < b->node);
}

static void collect(slack *s)
{
	const berth_timeline *t = s->t;
	for (int32_t op = 0; op < s->p->n_ops; op++)
		s->by_start[op] = (event){t->start_ns[op], t->end_ns[op], op};
	for (size_t h = 0; h < t->n_hops; h++)
		s->by_start[(size_t)s->p->n_ops + h] =
			(event){t->hops[h].start_ns, t->hops[h].end_ns, s->p->n_ops + (int32_t)h};
	if (s->n)
		qsort(s->by_start, (size_t)s->n, sizeof *s->by_start, compare_events);
	for (int32_t i = 0; i < s->p->g->n_tensors; i++)
		s->tensor_hop[i] = -1;
	for (size_t h = t->n_hops; h-- > 0;) {
		s->hop_after[h] = s->tensor_hop[t->hops[h].tensor];
		s->tensor_hop[t->hops[h].tensor] = (int32_t)h;
	}
}

static int64_t free_since(const slack *s, int32_t lane)
{
	return s->lane[lane] < 0 ? -1 : s->t->end_ns[s->lane[lane]];
}

/* The slot of the device that became free last before start. */
static int32_t free_lane(const slack *s, int32_t dev, int64_t start_ns)
{
	int32_t best = -1;
	for (int32_t i = s->slot_off[dev]; i < s->slot_off[dev + 1]; i++)
		if (free_since(s, i) <= start_ns && (best < 0 || free_since(s, i) > free_since(s, best)))
			best = i;
	return best < 0 ? s->slot_off[dev] : best;
}

static void follow_up(slack *s)
{
	const int32_t *sequence = s->t->op_order ? s->t->op_order : s->p->g->topo_op;
	bool keeps = s->t->order == BERTH_ORDER_PROGRAM || s->t->order == BERTH_ORDER_GIVEN;
	for (int32_t k = 0; k < s->p->n_ops; k++) {
		int32_t op = sequence[k], dev = s->t->op_dev[op];
		s->follower[op] = -1;
		if (keeps && s->dev_last[dev] >= 0)
			s->follower[s->dev_last[dev]] = op;
		s->dev_last[dev] = op;
	}
}

/* Who follows whom on slots and channels. */
static void link_up(slack *s)
{
	const berth_problem *p = s->p;
	for (int32_t k = 0; k < s->n; k++) {
		int32_t node = s->by_start[k].node, *place;
		s->next[node] = -1;
		if (node < p->n_ops)
			place = &s->lane[free_lane(s, s->t->op_dev[node], s->by_start[k].start_ns)];
		else if (p->s->contention)
			place = &s->last[p->s->link_channel[s->t->hops[node - p->n_ops].link]];
		else
			continue;
		if (*place >= 0)
			s->next[*place] = node;
		*place = node;
	}
}

static int64_t latest_start(const slack *s, int32_t node)
{
	int64_t ns = node < s->p->n_ops ? s->t->end_ns[node] - s->t->start_ns[node]
	                                : s->t->hops[node - s->p->n_ops].end_ns -
	                                          s->t->hops[node - s->p->n_ops].start_ns;
	return s->latest_ns[node] - ns;
}

static void before(const slack *s, int64_t *latest, int32_t node)
{
	int64_t start = latest_start(s, node);
	*latest = start < *latest ? start : *latest;
}

static void before_consumers(const slack *s, int64_t *latest, int32_t tensor, int32_t dev)
{
	const berth_graph *g = s->p->g;
	for (int32_t e = g->tensor_use_off[tensor]; e < g->tensor_use_off[tensor + 1]; e++)
		if (s->t->op_dev[g->edge_consumer[e]] == dev)
			before(s, latest, g->edge_consumer[e]);
}

static int64_t latest_of_op(const slack *s, int32_t op)
{
	const berth_graph *g = s->p->g;
	int64_t latest = s->t->r.latency_ns;
	int32_t dev = s->t->op_dev[op];
	for (int32_t t = g->op_tensor_off[op]; t < g->op_tensor_off[op + 1]; t++) {
		before_consumers(s, &latest, t, dev);
		for (int32_t h = s->tensor_hop[t]; h >= 0; h = s->hop_after[h])
			if (s->p->s->link_from[s->t->hops[h].link] == dev)
				before(s, &latest, s->p->n_ops + h);
	}
	if (s->follower[op] >= 0) {
		int64_t end = latest_start(s, s->follower[op]) + s->t->end_ns[op] - s->t->start_ns[op];
		latest = end < latest ? end : latest;
	}
	return latest;
}

static int64_t latest_of_hop(const slack *s, int32_t hop)
{
	const berth_sim_hop *h = &s->t->hops[hop];
	int64_t latest = s->t->r.latency_ns;
	int32_t to = s->p->s->link_to[h->link];
	if (to == h->dest)
		before_consumers(s, &latest, h->tensor, to);
	for (int32_t i = s->tensor_hop[h->tensor]; i >= 0 && to != h->dest; i = s->hop_after[i])
		if (s->t->hops[i].dest == h->dest && s->p->s->link_from[s->t->hops[i].link] == to)
			before(s, &latest, s->p->n_ops + i);
	return latest;
}

/* One sweep from the end; true where anything changed. Events of no duration at one instant may need
 * another. */
static bool sweep(slack *s)
{
	bool changed = false;
	for (int32_t k = s->n - 1; k >= 0; k--) {
		int32_t node = s->by_start[k].node;
		int64_t latest =
			node < s->p->n_ops ? latest_of_op(s, node) : latest_of_hop(s, node - s->p->n_ops);
		if (s->next[node] >= 0)
			before(s, &latest, s->next[node]);
		changed |= latest < s->latest_ns[node];
		s->latest_ns[node] = latest;
	}
	return changed;
}

static berth_status run(slack *s, int64_t *op_slack_ns, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	BERTH_TRY(BERTH_NEW(tmp, s->by_start, s->n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->latest_ns, s->n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->next, s->n, err));
	BERTH_TRY(BERTH_NEW(tmp, s->follower, p->n_ops, err));
	BERTH_TRY(BERTH_NEW(tmp, s->dev_last, p->n_devs, err));
	BERTH_TRY(BERTH_NEW(tmp, s->slot_off, (size_t)p->n_devs + 1, err));
	BERTH_TRY(BERTH_NEW(tmp, s->last, p->s->n_channels, err));
	BERTH_TRY(BERTH_NEW(tmp, s->tensor_hop, p->g->n_tensors, err));
	BERTH_TRY(BERTH_NEW(tmp, s->hop_after, s->t->n_hops, err));
	for (int32_t d = 0; d < p->n_devs; d++)
		s->slot_off[d + 1] = s->slot_off[d] + p->s->dev_slots[d];
	BERTH_TRY(BERTH_NEW(tmp, s->lane, s->slot_off[p->n_devs], err));
	memset(s->lane, -1, (size_t)s->slot_off[p->n_devs] * sizeof *s->lane);
	memset(s->dev_last, -1, (size_t)p->n_devs * sizeof *s->dev_last);
	memset(s->last, -1, (size_t)p->s->n_channels * sizeof *s->last);
	for (int32_t i = 0; i < s->n; i++)
		s->latest_ns[i] = s->t->r.latency_ns;
	collect(s);
	link_up(s);
	follow_up(s);
	while (sweep(s))
		;
	for (int32_t op = 0; op < p->n_ops; op++)
		op_slack_ns[op] = s->latest_ns[op] - s->t->end_ns[op];
	return BERTH_OK;
}

berth_status berth_slack(const berth_problem *p, const berth_timeline *t, int64_t *op_slack_ns,
                         berth_arena *tmp, berth_err *err)
{
	slack s = {.p = p, .t = t, .n = p->n_ops + (int32_t)t->n_hops};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	berth_status st = run(&s, op_slack_ns, tmp, err);
	berth_arena_reset(tmp, mark);
	return st;
}
