/* Where the time of a simulated placement goes: its critical chain, walked back from the operator that ends
 * last, with what was lost on the way by cause. And by how much memory pools slowed what ran. */
#include "explain.h"

#include "cost_model.h"

/* ---- what memory pools slowed ---- */

static berth_slowed slowed(int32_t pool, int64_t took_ns, int64_t alone_ns)
{
	if (pool < 0 || took_ns <= alone_ns || alone_ns <= 0)
		return (berth_slowed){-1, 0, 1};
	return (berth_slowed){pool, took_ns - alone_ns, (double)took_ns / (double)alone_ns};
}

berth_slowed berth_op_slowed(const berth_problem *p, const berth_timeline *t, int32_t op)
{
	int32_t dev = t->op_dev[op];
	return slowed(berth_dev_pool(p, dev), t->end_ns[op] - t->start_ns[op], berth_op_time(p, op, dev));
}

berth_slowed berth_hop_slowed(const berth_problem *p, const berth_timeline *t, const berth_sim_hop *h)
{
	size_t class_link = (size_t)p->tensor_class[h->tensor] * (size_t)p->s->n_links + (size_t)h->link;
	if (!p->n_pools)
		return slowed(-1, 0, 0);
	int32_t from = p->link_pool[2 * h->link], to = p->link_pool[2 * h->link + 1],
		pool = from < 0 || (to >= 0 && t->pool_ns[to] > t->pool_ns[from]) ? to : from;
	return slowed(pool, h->end_ns - h->start_ns, p->class_link_ns[class_link]);
}

typedef struct walker {
	const berth_problem *p;
	const berth_timeline *t;
	int32_t *tensor_hop;   /* [n_tensors] the latest hop of the tensor; -1: none */
	int32_t *hop_before;   /* [n_hops] the one before of the same tensor; -1: none */
	berth_lost *lost; /* all places of a kind, kind by kind */
	int32_t first[BERTH_LOST_POOL + 2]; /* where each kind's begin; and the end */
	int64_t compute_ns;
} walker;

static berth_status index_hops(walker *w, berth_arena *tmp, berth_err *err)
{
	const berth_timeline *t = w->t;
	BERTH_TRY_NEW(tmp, w->p->g->n_tensors, err, w->tensor_hop);
	BERTH_TRY_NEW(tmp, t->n_hops, err, w->hop_before);
	for (int32_t i = 0; i < w->p->g->n_tensors; i++)
		w->tensor_hop[i] = -1;
	for (size_t h = 0; h < t->n_hops; h++) {
		w->hop_before[h] = w->tensor_hop[t->hops[h].tensor];
		w->tensor_hop[t->hops[h].tensor] = (int32_t)h;
	}
	return BERTH_OK;
}

static void lose(walker *w, berth_lost_kind kind, int32_t where, int64_t ns)
{
	berth_lost *lost = &w->lost[w->first[kind] + where];
	*lost = (berth_lost){kind, where, lost->ns + ns, lost->times + (ns > 0)};
}

/* Returns what was lost to a pool. */
static int64_t lose_to_pool(walker *w, berth_slowed x)
{
	if (x.pool >= 0)
		lose(w, BERTH_LOST_POOL, x.pool, x.ns);
	return x.ns;
}

/* The latest hop of tensor t towards dest, from hop h backwards; -1: none. */
static int32_t hop_to(const walker *w, int32_t h, int32_t dest)
{
	while (h >= 0 && w->t->hops[h].dest != dest)
		h = w->hop_before[h];
	return h;
}

/* Account for op and what it waited for; the producer of its last input, or -1 at a source. */
static int32_t step(walker *w, int32_t op)
{
	const berth_graph *g = w->p->g;
	const berth_timeline *t = w->t;
	int32_t dev = t->op_dev[op], last = -1;
	int64_t ready = 0;
	w->compute_ns += t->end_ns[op] - t->start_ns[op] - lose_to_pool(w, berth_op_slowed(w->p, t, op));
	BERTH_EACH (i, g->op_in_off, op) {
		/* Cost models of their own tell no hops: a tensor then counts as there when it is made, and
		 * what it takes as waiting for the device. */
		int32_t tensor = g->in_tensor[i];
		int32_t producer = w->p->g->tensor_producer[tensor];
		int32_t h = w->t->op_dev[producer] == dev ? -1 : hop_to(w, w->tensor_hop[tensor], dev);
		int64_t at = h < 0 ? w->t->end_ns[producer] : w->t->hops[h].end_ns;
		if (last < 0 || at > ready) {
			ready = at;
			last = g->in_tensor[i];
		}
	}
	lose(w, BERTH_LOST_DEVICE, dev, t->start_ns[op] - ready);
	if (last < 0)
		return -1;
	if (t->op_dev[g->tensor_producer[last]] != dev) {
		/* Time of the tensor's way to dest, hop by hop backwards. */
		for (int32_t h = hop_to(w, w->tensor_hop[last], dev); h >= 0;
		     h = hop_to(w, w->hop_before[h], dev)) {
			const berth_sim_hop *hop = &w->t->hops[h];
			int64_t slowed = lose_to_pool(w, berth_hop_slowed(w->p, w->t, hop));
			lose(w, BERTH_LOST_TRANSFER, hop->link, hop->end_ns - hop->start_ns - slowed);
			lose(w, BERTH_LOST_CHANNEL, w->p->s->link_channel[hop->link],
			     hop->start_ns - hop->request_ns);
		}
	}
	return g->tensor_producer[last];
}

/* Where nothing overlaps each operator and each tensor's way to another device is on the chain. */
static void add_all(walker *w, int32_t *tensor_at)
{
	const berth_problem *p = w->p;
	const berth_graph *g = p->g;
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t home = w->t->op_dev[g->tensor_producer[t]];
		tensor_at[home] = t + 1;
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = w->t->op_dev[g->edge_consumer[e]];
			if (tensor_at[to] == t + 1)
				continue;
			tensor_at[to] = t + 1;
			BERTH_EACH (i, p->route_off, berth_route(p, t, home, to))
				lose(w, BERTH_LOST_TRANSFER, p->route_link[i],
				     berth_hop_ns(p, t, p->route_link[i]));
		}
	}
	for (int32_t op = 0; op < p->n_ops; op++)
		w->compute_ns += w->t->end_ns[op] - w->t->start_ns[op];
}

static int compare_lost(const void *pa, const void *pb)
{
	const berth_lost *a = pa, *b = pb;
	if (a->ns != b->ns) return a->ns > b->ns ? -1 : 1;
	if (a->kind != b->kind) return a->kind < b->kind ? -1 : 1;
	return (a->where > b->where) - (a->where < b->where);
}

berth_status berth_explain(const berth_problem *p, const berth_timeline *t, berth_arena *mem,
                           berth_arena *tmp, berth_explanation *out, berth_err *err)
{
	BERTH_SCRATCH(tmp);
	walker w = {.p = p, .t = t};
	const berth_system *s = p->s;
	const int32_t places[] = {s->n_links, s->n_channels, s->n_devs, s->n_pools};
	berth_explanation e = {.latency_ns = t->r.latency_ns};
	int32_t op = -1, *tensor_at;
	for (int k = 0; k <= BERTH_LOST_POOL; k++)
		w.first[k + 1] = w.first[k] + places[k];
	const int32_t n = w.first[BERTH_LOST_POOL + 1];
	BERTH_TRY(index_hops(&w, tmp, err));
	BERTH_TRY_NEW(tmp, n, err, w.lost);
	BERTH_TRY_NEW(tmp, s->n_devs, err, tensor_at);
	BERTH_TRY_NEW(mem, n, err, e.lost);
	for (int32_t i = 0; i < p->n_ops && !s->cost_model->sums_times; i++)
		if (op < 0 || t->end_ns[i] > t->end_ns[op])
			op = i;
	while (op >= 0)
		op = step(&w, op);
	if (s->cost_model->sums_times)
		add_all(&w, tensor_at);
	for (int32_t i = 0; i < n; i++)
		if (w.lost[i].ns > 0)
			e.lost[e.n++] = w.lost[i];
	if (e.n)
		qsort(e.lost, (size_t)e.n, sizeof *e.lost, compare_lost);
	e.compute_ns = w.compute_ns;
	*out = e;
	return BERTH_OK;
}

char *berth_lost_text(const berth_problem *p, const berth_lost *lost, char *buf, size_t size)
{
	const berth_system *s = p->s;
	int32_t l = lost->where;
	if (lost->kind == BERTH_LOST_POOL) {
		snprintf(buf, size, "sharing memory pool %.80s", s->pool_name[lost->where]);
		return buf;
	}
	if (lost->kind == BERTH_LOST_DEVICE) {
		snprintf(buf, size, "waiting for %.80s, busy with other operators", s->dev_name[lost->where]);
		return buf;
	}
	for (int32_t i = s->n_links - 1; lost->kind == BERTH_LOST_CHANNEL && i >= 0; i--)
		if (s->link_channel[i] == lost->where)
			l = i;
	const char *from = s->dev_name[s->link_from[l]], *to = s->dev_name[s->link_to[l]],
		   *channel = s->channel_name[s->link_channel[l]];
	if (lost->kind == BERTH_LOST_TRANSFER)
		snprintf(buf, size, "transfers %.60s -> %.60s%s%.60s", from, to, channel ? " over " : "",
		         channel ? channel : "");
	else if (channel)
		snprintf(buf, size, "waiting for %.80s, busy with other transfers", channel);
	else
		snprintf(buf, size, "waiting for %.60s -> %.60s, busy with other transfers", from, to);
	return buf;
}
