/* Prices of a placement PBQP: what a colocation group on a device and a transfer between two cost, as seen
 * from a schedule with its slack, and what it costs to share a device. */
#include "pbqp_place.h"

#include "coloc.h"

enum {
	LOAD_STEPS = 200, /* of the subgradient method on the load dual */
	MAX_RIVALS = 8   /* of one operator among those that started before it, latest first */
};
#define MAX_RIVAL_ENTRIES 33554432.0 /* of the matrices of all rivals: 256 MiB; fewer rivals where needed */
#define SHARPNESS 8.0 /* of the fall of a share with slack */

/* ---- load prices ---- */

typedef struct load_dual {
	const berth_problem *p;
	double *price, *load; /* [n_devs] */
	double least;         /* sum over colocation groups of their least time */
} load_dual;

/* sum over colocation groups of min over devices of price * time; loads that the minima make. */
static double load_value(load_dual *l)
{
	const berth_problem *p = l->p;
	double sum = 0;
	l->least = 0;
	BERTH_CLEAR(l->load, p->n_devs);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		double least = INFINITY, least_time = INFINITY, load = 0;
		int32_t dev = 0;
		for (int32_t d = 0; d < p->n_devs; d++) {
			if (!berth_coloc_legal(p, u, d))
				continue;
			double time = (double)berth_coloc_time(p, u, d) / p->s->dev_slots[d];
			least_time = fmin(least_time, time);
			if (l->price[d] * time < least) {
				least = l->price[d] * time;
				load = time;
				dev = d;
			}
		}
		sum += least;
		l->least += least_time;
		l->load[dev] += load;
	}
	return sum;
}

/* Prices of the best load bound found (bounds.h), scaled so that all colocation groups together pay about
 * their least times. */
static berth_status load_prices(const berth_problem *p, double *dev_load_price, berth_arena *mem,
                                berth_err *err)
{
	load_dual l = {.p = p};
	double best = -1;
	BERTH_TRY_NEW(mem, p->n_devs, err, l.price, l.load);
	for (int32_t d = 0; d < p->n_devs; d++)
		l.price[d] = 1.0 / p->n_devs;
	for (int32_t step = 0; step < LOAD_STEPS; step++) {
		double value = load_value(&l);
		if (value > best) {
			best = value;
			BERTH_COPY(dev_load_price, l.price, p->n_devs);
		}
		/* One step of exponentiated gradient: devices with more load get dearer, prices sum up to
		 * 1. */
		int32_t n = l.p->n_devs;
		double most = 1, sum = 0;
		for (int32_t d = 0; d < n; d++)
			most = fmax(most, l.load[d]);
		for (int32_t d = 0; d < n; d++)
			sum += l.price[d] *= exp(l.load[d] / most / sqrt(1.0 + step));
		for (int32_t d = 0; d < n; d++)
			l.price[d] /= sum;
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		dev_load_price[d] *= l.least / fmax(best, 1);
	return BERTH_OK;
}

berth_status pbqp_pricer_new(const pbqp_place *m, berth_arena *mem, pbqp_pricer *out, berth_err *err)
{
	const berth_problem *p = m->p;
	pbqp_pricer x = {.m = m};
	BERTH_TRY_NEW(mem, p->n_devs, err, x.dev_ns_weight);
	BERTH_TRY_NEW(mem, p->s->n_channels, err, x.channel_ns_weight);
	BERTH_TRY_NEW(mem, p->n_devs, err, x.dev_byte_weight, x.dev_load_price);
	BERTH_TRY_NEW(mem, p->n_colocs, err, x.coloc_bytes, x.coloc_pin);
	BERTH_TRY_NEW(mem, p->n_ops, err, x.op_dev, x.start_ns, x.end_ns, x.tail_ns, x.op_share);
	BERTH_TRY_NEW(mem, m->n_uses, err, x.use_share, x.use_slack_ns, x.use_ns);
	BERTH_TRY(load_prices(p, x.dev_load_price, mem, err));
	berth_coloc_bytes(p, x.coloc_bytes);
	BERTH_TRY_NEW(mem, p->n_colocs, err, x.coloc_use);
	for (int32_t u = 0; u < p->n_colocs; u++)
		x.coloc_pin[u] = x.coloc_use[u] = -1;
	*out = x;
	return BERTH_OK;
}

/* ---- the schedule ---- */

typedef struct timed_op {
	int64_t start_ns;
	int32_t topo, op;
} timed_op;

static int compare_starts(const void *a, const void *b)
{
	const timed_op *x = a, *y = b;
	if (x->start_ns != y->start_ns)
		return x->start_ns < y->start_ns ? -1 : 1;
	return BERTH_COMPARE(x->topo, y->topo);
}

static berth_status by_start(const pbqp_pricer *x, timed_op **out, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->m->p;
	timed_op *seq;
	BERTH_TRY_NEW(tmp, p->n_ops, err, seq);
	for (int32_t op = 0; op < p->n_ops; op++)
		seq[op] = (timed_op){x->start_ns[op], p->g->op_topo[op], op};
	qsort(seq, (size_t)p->n_ops, sizeof *seq, compare_starts);
	*out = seq;
	return BERTH_OK;
}

/* Time from the end of t's producer to the schedule's end, through the consumer of edge e. */
static int64_t tail_through(const pbqp_pricer *x, int32_t t, int32_t e)
{
	const berth_problem *p = x->m->p;
	int32_t c = p->g->edge_consumer[e], dev = x->op_dev[c];
	return berth_transfer_ns(p, t, x->op_dev[p->g->tensor_producer[t]], dev) + berth_op_time(p, c, dev) +
	       x->tail_ns[c];
}

/* Tails over consumers and, with device true, over the next operator of a device with one slot. */
static berth_status set_tails(pbqp_pricer *x, bool device, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->m->p;
	timed_op *seq;
	int32_t *next;
	BERTH_TRY(by_start(x, &seq, tmp, err));
	BERTH_TRY_NEW(tmp, p->n_devs, err, next);
	memset(next, -1, (size_t)p->n_devs * sizeof *next);
	x->length_ns = 0;
	for (int32_t k = p->n_ops - 1; k >= 0; k--) {
		int32_t op = seq[k].op, dev = x->op_dev[op];
		const berth_graph *g = x->m->p->g;
		int64_t most = 0;
		BERTH_EACH (t, g->op_tensor_off, op)
			BERTH_EACH (e, g->tensor_use_off, t) {
				int64_t tail = tail_through(x, t, e);
				most = tail > most ? tail : most;
			}
		x->tail_ns[op] = most;
		if (device && p->s->dev_slots[dev] == 1) {
			int64_t tail =
				next[dev] >= 0 ? x->tail_ns[next[dev]] + berth_op_time(p, next[dev], dev) : 0;
			x->tail_ns[op] = tail > x->tail_ns[op] ? tail : x->tail_ns[op];
			next[dev] = op;
		}
		int64_t length = x->end_ns[op] + x->tail_ns[op];
		x->length_ns = length > x->length_ns ? length : x->length_ns;
	}
	return BERTH_OK;
}

static double slack_of(const pbqp_pricer *x, int32_t op)
{
	return (double)(x->length_ns - x->end_ns[op] - x->tail_ns[op]);
}

/* The uses stand tensor by tensor. */
static void set_uses(pbqp_pricer *x)
{
	for (int32_t last = 0, first = 0; first < x->m->n_uses; first = last) {
		int32_t t = x->m->use_tensor[first];
		while (last < x->m->n_uses && x->m->use_tensor[last] == t)
			last++;
		/* Slack of the uses [first, last) of tensor t, as the tightest consumer in each colocation
		 * group has it. */
		const berth_problem *p = x->m->p;
		int32_t producer = p->g->tensor_producer[t];
		for (int32_t use = first; use < last; use++) {
			x->use_slack_ns[use] = INFINITY;
			x->coloc_use[x->m->use_to[use]] = use;
		}
		BERTH_EACH (e, p->g->tensor_use_off, t) {
			int32_t c = p->g->edge_consumer[e], use = x->coloc_use[p->op_coloc[c]];
			double slack = (double)(x->length_ns - x->end_ns[producer] - tail_through(x, t, e));
			if (use < 0 || slack >= x->use_slack_ns[use])
				continue;
			x->use_slack_ns[use] = slack;
			x->use_ns[use] = (double)berth_transfer_ns(p, t, x->op_dev[producer], x->op_dev[c]);
		}
		for (int32_t use = first; use < last; use++)
			x->coloc_use[x->m->use_to[use]] = -1;
	}
	x->scheduled = true;
}

berth_status pbqp_pricer_schedule(pbqp_pricer *x, const int32_t *op_dev, const int64_t *start_ns,
                                  const int64_t *end_ns, berth_arena *tmp, berth_err *err)
{
	size_t n = (size_t)x->m->p->n_ops;
	if (n == 0)
		return BERTH_OK;
	BERTH_COPY(x->op_dev, op_dev, n);
	BERTH_COPY(x->start_ns, start_ns, n);
	BERTH_COPY(x->end_ns, end_ns, n);
	BERTH_TRY(set_tails(x, true, tmp, err));
	set_uses(x);
	return BERTH_OK;
}

berth_status pbqp_pricer_unhindered(pbqp_pricer *x, const int32_t *op_dev, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->m->p;
	const berth_graph *g = p->g;
	if (p->n_ops == 0)
		return BERTH_OK;
	BERTH_COPY(x->op_dev, op_dev, p->n_ops);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[k];
		x->start_ns[op] = 0;
		BERTH_EACH (i, g->op_in_off, op) {
			int32_t t = g->in_tensor[i], producer = g->tensor_producer[t];
			int64_t at =
				x->end_ns[producer] + berth_transfer_ns(p, t, op_dev[producer], op_dev[op]);
			x->start_ns[op] = at > x->start_ns[op] ? at : x->start_ns[op];
		}
		x->end_ns[op] = x->start_ns[op] + berth_op_time(p, op, op_dev[op]);
	}
	BERTH_TRY(set_tails(x, false, tmp, err));
	set_uses(x);
	return BERTH_OK;
}

/* ---- prices ---- */

/* 1 without slack, falling towards vector.idle. */
static double share(const pbqp_pricer *x, double slack_ns)
{
	double tight = 1 - slack_ns / fmax(1, (double)x->length_ns);
	return x->vector.idle + (1 - x->vector.idle) * pow(fmin(fmax(tight, 0), 1), SHARPNESS);
}

/* Price of a time that is ns, was now_ns in the schedule and has the slack there. */
static double slack_price(double share, double ns, double now_ns, double slack_ns)
{
	return share * ns + (1 - share) * fmax(0, ns - now_ns - slack_ns);
}

static double longest_ns(const berth_problem *p, int32_t op)
{
	int64_t most = 0;
	for (int32_t d = 0; d < p->n_devs; d++)
		if (berth_op_time(p, op, d) > most)
			most = berth_op_time(p, op, d);
	return (double)most;
}

static double op_price(const pbqp_pricer *x, int32_t op, int32_t dev)
{
	const berth_problem *p = x->m->p;
	double ns = (double)berth_op_time(p, op, dev), per_slot = ns / p->s->dev_slots[dev], latency = ns;
	if (x->scheduled)
		latency = slack_price(x->op_share[op], ns, (double)berth_op_time(p, op, x->op_dev[op]),
		                      slack_of(x, op));
	double load = 1 - x->vector.load + x->vector.load * x->dev_load_price[dev];
	double sum = x->ns_weight * load * latency + x->dev_ns_weight[dev] * per_slot;
	if (x->joule_weight > 0)
		sum += x->joule_weight *
		       ((p->s->dev_busy_w[dev] - p->s->dev_idle_w[dev]) * per_slot +
		        x->rebate_watts * (longest_ns(p, op) - ns)) *
		       1e-9;
	return sum;
}

double pbqp_coloc_price(const pbqp_pricer *x, int32_t coloc, int32_t dev)
{
	const berth_problem *p = x->m->p;
	double sum = x->dev_byte_weight[dev] * (double)x->coloc_bytes[coloc];
	if (x->coloc_pin[coloc] >= 0 && x->coloc_pin[coloc] != dev)
		return INFINITY;
	BERTH_EACH (i, p->coloc_off, coloc)
		sum += op_price(x, p->coloc_op[i], dev);
	return sum;
}

double pbqp_move_price(const pbqp_pricer *x, int32_t use, int32_t from, int32_t to)
{
	const berth_problem *p = x->m->p;
	const berth_system *s = p->s;
	int32_t t = x->m->use_tensor[use];
	double ns = (double)berth_transfer_ns(p, t, from, to), latency = ns;
	if (x->scheduled)
		latency = slack_price(x->use_share[use], ns, x->use_ns[use], x->use_slack_ns[use]);
	double sum = x->vector.move * x->ns_weight * latency;
	int32_t route = berth_route(p, t, from, to);
	BERTH_EACH (i, p->route_off, route) {
		int32_t link = p->route_link[i];
		sum += x->channel_ns_weight[s->link_channel[link]] * (double)berth_hop_ns(p, t, link);
		sum += x->joule_weight * s->link_joules_per_byte[link] * (double)p->g->tensor_bytes[t];
	}
	return sum;
}

/* ---- rivals ---- */

/* Has op so little slack that it can hinder one that starts at start_ns? Once false it stays so for later
 * starts. */
static bool can_hinder(const pbqp_pricer *x, int32_t op, int64_t start_ns)
{
	return (double)(x->end_ns[op] - start_ns) - slack_of(x, op) > 0;
}

/* As many rivals of one operator as the matrices of all have room for, one at least. */
static int32_t most_rivals(const berth_problem *p)
{
	double room = MAX_RIVAL_ENTRIES / ((double)p->n_ops * p->n_devs * p->n_devs);
	return room >= MAX_RIVALS ? MAX_RIVALS : room > 1 ? (int32_t)room : 1;
}

/* At most `most` rivals of b among the operators from *last back along before[], latest start first. What can
 * hinder nothing any more is taken out on the way, so that each operator is passed over once. */
static berth_status add_rivals_of(pbqp_pricer *x, size_t *cap, int32_t b, int32_t most, int32_t *last,
                                  int32_t *before, berth_arena *tmp, berth_err *err)
{
	const int32_t *op_coloc = x->m->p->op_coloc;
	for (int32_t *at = last, found = 0; *at >= 0 && found < most;) {
		int32_t a = *at;
		if (!can_hinder(x, a, x->start_ns[b])) {
			*at = before[a];
			continue;
		}
		at = &before[a];
		/* Overlap of two operators of the schedule that the slack of neither absorbs; b starts
		 * last. */
		int64_t end = x->end_ns[a] < x->end_ns[b] ? x->end_ns[a] : x->end_ns[b];
		double ns = (double)(end - x->start_ns[b]) - fmax(slack_of(x, a), slack_of(x, b));
		if (!(ns > 0) || op_coloc[a] == op_coloc[b])
			continue;
		BERTH_TRY(BERTH_GROW(tmp, x->rival, x->n_rivals, cap, err));
		x->rival[x->n_rivals++] =
			(pbqp_rival){op_coloc[a], op_coloc[b], x->vector.rival * x->ns_weight * ns};
		found++;
	}
	return BERTH_OK;
}

/* Pairs that the schedule runs at the same time. Such operators are independent, as one that needs the
 * other's output starts after it. */
static berth_status find_rivals(pbqp_pricer *x, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->m->p;
	size_t cap = 0;
	timed_op *seq;
	/* the latest of those that have started, and before each the one that was it then */
	int32_t *before, last = -1, most = most_rivals(p);
	x->n_rivals = 0;
	x->rival = NULL;
	if (!x->scheduled || !(x->vector.rival > 0) || !(x->ns_weight > 0))
		return BERTH_OK;
	BERTH_TRY(by_start(x, &seq, tmp, err));
	BERTH_TRY_NEW(tmp, p->n_ops, err, before);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t b = seq[k].op;
		if (!can_hinder(x, b, x->start_ns[b]))
			continue;
		BERTH_TRY(add_rivals_of(x, &cap, b, most, &last, before, tmp, err));
		before[b] = last;
		last = b;
	}
	return BERTH_OK;
}

berth_status pbqp_pricer_place(pbqp_pricer *x, const pbqp_vector *vector, int32_t *op_dev, berth_arena *tmp,
                               berth_err *err)
{
	BERTH_SCRATCH(tmp);
	x->vector = *vector;
	if (x->scheduled) {
		for (int32_t op = 0; op < x->m->p->n_ops; op++)
			x->op_share[op] = share(x, slack_of(x, op));
		for (int32_t use = 0; use < x->m->n_uses; use++)
			x->use_share[use] = share(x, x->use_slack_ns[use]);
	}
	BERTH_TRY(find_rivals(x, tmp, err));
	return pbqp_place_solve(x, op_dev, tmp, err);
}
