/* Why one operator runs where and when it does: its inputs, its slack, and what every other device would
 * cost. */
#include "explain_op.h"

#include "constraints.h"
#include "cost_model.h"

/* ---- slack ---- */

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
	return BERTH_COMPARE(a->node, b->node);
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
	BERTH_EACH (i, s->slot_off, dev)
		if (free_since(s, i) <= start_ns && (best < 0 || free_since(s, i) > free_since(s, best)))
			best = i;
	return best < 0 ? s->slot_off[dev] : best;
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
	BERTH_EACH (e, g->tensor_use_off, tensor)
		if (s->t->op_dev[g->edge_consumer[e]] == dev)
			before(s, latest, g->edge_consumer[e]);
}

static int64_t latest_of_op(const slack *s, int32_t op)
{
	const berth_graph *g = s->p->g;
	int64_t latest = s->t->r.latency_ns;
	int32_t dev = s->t->op_dev[op];
	BERTH_EACH (t, g->op_tensor_off, op) {
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

berth_status berth_slack(const berth_problem *p, const berth_timeline *t, int64_t *op_slack_ns,
                         berth_arena *tmp, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	slack s = {.p = p, .t = t, .n = p->n_ops + (int32_t)t->n_hops};
	BERTH_TRY_NEW(tmp, s.n, err, s.by_start, s.latest_ns, s.next);
	BERTH_TRY_NEW(tmp, p->n_ops, err, s.follower);
	BERTH_TRY_NEW(tmp, p->n_devs, err, s.dev_last);
	BERTH_TRY_NEW(tmp, (size_t)p->n_devs + 1, err, s.slot_off);
	BERTH_TRY_NEW(tmp, p->s->n_channels, err, s.last);
	BERTH_TRY_NEW(tmp, p->g->n_tensors, err, s.tensor_hop);
	BERTH_TRY_NEW(tmp, s.t->n_hops, err, s.hop_after);
	for (int32_t d = 0; d < p->n_devs; d++)
		s.slot_off[d + 1] = s.slot_off[d] + p->s->dev_slots[d];
	BERTH_TRY_NEW(tmp, s.slot_off[p->n_devs], err, s.lane);
	memset(s.lane, -1, (size_t)s.slot_off[p->n_devs] * sizeof *s.lane);
	memset(s.dev_last, -1, (size_t)p->n_devs * sizeof *s.dev_last);
	memset(s.last, -1, (size_t)p->s->n_channels * sizeof *s.last);
	for (int32_t i = 0; i < s.n; i++)
		s.latest_ns[i] = s.t->r.latency_ns;
	collect(&s);
	link_up(&s);
	const int32_t *sequence = s.t->op_order ? s.t->op_order : s.p->g->topo_op;
	bool keeps = s.t->order == BERTH_ORDER_PROGRAM || s.t->order == BERTH_ORDER_GIVEN;
	for (int32_t k = 0; k < s.p->n_ops; k++) {
		int32_t op = sequence[k], dev = s.t->op_dev[op];
		s.follower[op] = -1;
		if (keeps && s.dev_last[dev] >= 0)
			s.follower[s.dev_last[dev]] = op;
		s.dev_last[dev] = op;
	}
	while (sweep(&s))
		;
	for (int32_t op = 0; op < p->n_ops; op++) /* where all is a sum, each delay delays the run */
		op_slack_ns[op] = p->s->cost_model->sums_times ? 0 : s.latest_ns[op] - s.t->end_ns[op];
	return BERTH_OK;
}

typedef struct teller {
	const berth_problem *p;
	const berth_timeline *t;
	const berth_objective *o;
	berth_arena *mem, *tmp;
} teller;

/* ---- when ---- */

/* The way of a tensor to the device; hops are in order of their ends. */
static void follow(const teller *r, berth_op_input *in, int32_t dev)
{
	const berth_timeline *t = r->t;
	for (size_t h = 0; h < t->n_hops; h++) {
		const berth_sim_hop *hop = &t->hops[h];
		if (hop->tensor != in->tensor || hop->dest != dev)
			continue;
		in->queued_ns += hop->start_ns - hop->request_ns;
		in->moving_ns += hop->end_ns - hop->start_ns;
		in->arrives_ns = hop->end_ns > in->arrives_ns ? hop->end_ns : in->arrives_ns;
	}
}

static berth_status inputs(const teller *r, berth_op_story *s, berth_err *err)
{
	const berth_graph *g = r->p->g;
	int32_t first = g->op_in_off[s->op];
	s->n_inputs = g->op_in_off[s->op + 1] - first;
	s->last_input = -1;
	BERTH_TRY_NEW(r->mem, s->n_inputs, err, s->input);
	for (int32_t i = 0; i < s->n_inputs; i++) {
		int32_t tensor = g->in_tensor[first + i], from = g->tensor_producer[tensor];
		s->input[i] = (berth_op_input){.tensor = tensor,
		                               .produced_ns = r->t->end_ns[from],
		                               .arrives_ns = r->t->end_ns[from]};
		if (r->t->op_dev[from] != s->dev)
			follow(r, &s->input[i], s->dev);
		if (s->last_input < 0 || s->input[i].arrives_ns > s->ready_ns) {
			s->last_input = i;
			s->ready_ns = s->input[i].arrives_ns;
		}
	}
	return BERTH_OK;
}

typedef struct started {
	int64_t start_ns;
	int32_t op;
} started;

static int compare_started(const void *pa, const void *pb)
{
	const started *a = pa, *b = pb;
	if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns ? -1 : 1;
	return BERTH_COMPARE(a->op, b->op);
}

/* What the device did while the operator waited for it. */
static berth_status waits(const teller *r, berth_op_story *s, berth_err *err)
{
	const berth_timeline *t = r->t;
	started *list;
	BERTH_TRY_NEW(r->tmp, r->p->n_ops, err, list);
	for (int32_t op = 0; op < r->p->n_ops; op++)
		if (op != s->op && t->op_dev[op] == s->dev && t->end_ns[op] > s->ready_ns &&
		    t->start_ns[op] < s->start_ns)
			list[s->n_before++] = (started){t->start_ns[op], op};
	if (s->n_before)
		qsort(list, (size_t)s->n_before, sizeof *list, compare_started);
	BERTH_TRY_NEW(r->mem, s->n_before, err, s->before_op);
	for (int32_t i = 0; i < s->n_before; i++)
		s->before_op[i] = list[i].op;
	return BERTH_OK;
}

/* ---- where else ---- */

static bool coloc_runs(const berth_problem *p, int32_t coloc, int32_t dev)
{
	BERTH_EACH (i, p->coloc_off, coloc)
		if (berth_op_time(p, p->coloc_op[i], dev) < 0)
			return false;
	return true;
}

static bool same_violation(const berth_violation *a, const berth_violation *b)
{
	return a->kind == b->kind && a->op == b->op && a->pool == b->pool &&
	       (a->dev == b->dev || a->kind == BERTH_VIOLATION_SEPARATION) && a->metric == b->metric;
}

/* The first violation that the placement as it is does not have. */
static const char *first_new(const berth_violations *now, const berth_violations *then)
{
	for (int32_t i = 0; i < then->n; i++) {
		bool old = false;
		for (int32_t k = 0; k < now->n; k++)
			old |= same_violation(&now->item[k], &then->item[i]);
		if (!old)
			return then->item[i].message;
	}
	return NULL;
}

/* Put the colocation group on dev and simulate; broken is left empty where it cannot run. */
static berth_status try_device(const teller *r, berth_sim *sim, int32_t *op_dev, int32_t op, int32_t dev,
                               berth_op_choice *c, berth_err *err)
{
	const berth_problem *p = r->p;
	int32_t coloc = p->op_coloc[op];
	berth_timeline t = {.op_dev = op_dev};
	berth_verdict v;
	*c = (berth_op_choice){.time_ns = -1, .slowed = {-1, 0, 1}, .latency_ns = -1, .value = NAN};
	bool here = dev == r->t->op_dev[op];
	if (!here && !coloc_runs(p, coloc, dev)) {
		c->blocked = berth_arena_printf(r->mem, "it cannot run there");
		BERTH_EACH (i, p->coloc_off, coloc)
			if (berth_op_time(p, op, dev) >= 0 && berth_op_time(p, p->coloc_op[i], dev) < 0)
				c->blocked = berth_arena_printf(
					r->mem, "'%s' of its colocation group cannot run there",
					p->g->op_name[p->coloc_op[i]]);
		return berth_got(c->blocked, err);
	}
	for (int32_t i = p->coloc_off[coloc]; i < p->coloc_off[coloc + 1] && !here; i++)
		op_dev[p->coloc_op[i]] = dev;
	berth_sim_run(sim, op_dev, r->t->op_order, &t.r);
	t.peak_bytes = berth_sim_last(sim).peak_bytes;
	t.pool_peak_bytes = berth_sim_last(sim).pool_peak_bytes;
	t.start_ns = berth_sim_last(sim).start_ns;
	t.end_ns = berth_sim_last(sim).end_ns;
	BERTH_TRY(berth_judge_timeline(p, &t, r->o, r->mem, &v, err));
	c->time_ns = berth_op_time(p, op, dev);
	if (t.r.runs)
		c->slowed = berth_op_slowed(p, &t, op);
	c->latency_ns = t.r.runs ? t.r.latency_ns : -1;
	c->value = v.value;
	c->broken = v.broken;
	return BERTH_OK;
}

static berth_status choices(const teller *r, berth_op_story *s, berth_err *err)
{
	const berth_problem *p = r->p;
	int32_t *op_dev;
	berth_sim *sim;
	BERTH_TRY_NEW(r->mem, p->n_devs, err, s->choice);
	BERTH_TRY_NEW(r->tmp, p->n_ops, err, op_dev);
	BERTH_TRY(berth_sim_new(p, r->tmp, &sim, err));
	berth_sim_want_peaks(sim, true);
	s->best_dev = -1;
	for (int32_t k = 0; k < p->n_devs; k++) {
		int32_t d = k == 0 ? s->dev : k <= s->dev ? k - 1 : k; /* the present device first */
		memcpy(op_dev, r->t->op_dev, (size_t)p->n_ops * sizeof *op_dev);
		BERTH_TRY(try_device(r, sim, op_dev, s->op, d, &s->choice[d], err));
		if (d == s->dev)
			continue;
		if (s->choice[d].time_ns >= 0)
			s->choice[d].blocked = first_new(&s->choice[s->dev].broken, &s->choice[d].broken);
		if (!isnan(s->choice[d].value) &&
		    (s->best_dev < 0 || s->choice[d].value < s->choice[s->best_dev].value ||
		     (s->choice[d].value == s->choice[s->best_dev].value && d < s->best_dev)))
			s->best_dev = d;
	}
	if (s->best_dev >= 0 && s->choice[s->best_dev].value < s->choice[s->dev].value)
		s->binds = s->choice[s->best_dev].blocked;
	return BERTH_OK;
}

berth_status berth_explain_op(const berth_problem *p, const berth_timeline *t, const berth_objective *o,
                              int32_t op, berth_arena *mem, berth_arena *tmp, berth_op_story *out,
                              berth_err *err)
{
	BERTH_SCRATCH(tmp);
	teller r = {p, t, o, mem, tmp};
	berth_op_story s;
	int64_t *slack_ns;
	s = (berth_op_story){.op = op,
	                      .dev = r.t->op_dev[op],
	                      .start_ns = r.t->start_ns[op],
	                      .end_ns = r.t->end_ns[op]};
	BERTH_TRY_NEW(r.tmp, r.p->n_ops, err, slack_ns);
	BERTH_TRY(berth_slack(r.p, r.t, slack_ns, r.tmp, err));
	s.slack_ns = slack_ns[op];
	BERTH_TRY(inputs(&r, &s, err));
	BERTH_TRY(waits(&r, &s, err));
	BERTH_TRY(choices(&r, &s, err));
	*out = s;
	return BERTH_OK;
}
