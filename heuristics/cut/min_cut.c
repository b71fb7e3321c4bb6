/* Minimum cuts by blocking flows, the placement on two devices by one, and the method `min-cut`. */
#include "min_cut.h"

#include "array.h"
#include "coloc.h"
#include "method.h"
#include "partition.h"
#include "simple.h"

#include <assert.h>
#include <math.h>

berth_status berth_flow_new(int32_t n_nodes, int64_t most_joins, berth_arena *mem, berth_flow *out,
                            berth_err *err)
{
	*out = (berth_flow){.n_nodes = n_nodes, .most_arcs = 2 * most_joins};
	BERTH_TRY_NEW(mem, n_nodes, err, out->first, out->at, out->level, out->queue, out->path);
	BERTH_TRY_NEW(mem, out->most_arcs, err, out->next, out->room, out->to);
	berth_flow_clear(out);
	return BERTH_OK;
}

void berth_flow_clear(berth_flow *f)
{
	f->n_arcs = 0;
	for (int32_t v = 0; v < f->n_nodes; v++)
		f->first[v] = -1;
}

static void add_arc(berth_flow *f, int32_t from, int32_t to, int64_t room)
{
	assert(f->n_arcs < f->most_arcs);
	f->to[f->n_arcs] = to;
	f->room[f->n_arcs] = room;
	f->next[f->n_arcs] = f->first[from];
	f->first[from] = f->n_arcs++;
}

void berth_flow_join(berth_flow *f, int32_t from, int32_t to, int64_t room, int64_t back)
{
	add_arc(f, from, to, room);
	add_arc(f, to, from, back);
}

/* Distances from the source over arcs with room; -1: out of reach. Returns the arcs that were looked at. */
static int64_t find_levels(berth_flow *f, int32_t source)
{
	int32_t head = 0, tail = 0;
	int64_t looked = 0;
	for (int32_t v = 0; v < f->n_nodes; v++)
		f->level[v] = -1;
	f->level[source] = 0;
	f->queue[tail++] = source;
	while (head < tail) {
		int32_t v = f->queue[head++];
		for (int64_t a = f->first[v]; a >= 0; a = f->next[a], looked++)
			if (f->room[a] && f->level[f->to[a]] < 0) {
				f->level[f->to[a]] = f->level[v] + 1;
				f->queue[tail++] = f->to[a];
			}
	}
	return looked;
}

/* Flow along the path of n arcs. Returns how many arcs of it stay: up to the first that is full. */
static int32_t push(berth_flow *f, int32_t n)
{
	int64_t most = BERTH_FLOW_ENDLESS;
	int32_t stays = n;
	for (int32_t i = 0; i < n; i++)
		most = f->room[f->path[i]] < most ? f->room[f->path[i]] : most;
	for (int32_t i = n - 1; i >= 0; i--) {
		f->room[f->path[i]] -= most;
		f->room[f->path[i] ^ 1] += most;
		stays = f->room[f->path[i]] ? stays : i;
	}
	return stays;
}

/* Fill the paths of the levels. Returns the arcs that were looked at. */
static int64_t block(berth_flow *f, int32_t source, int32_t sink)
{
	int32_t n = 0;
	int64_t looked = 0;
	BERTH_COPY(f->at, f->first, f->n_nodes);
	for (;;) {
		int32_t v = n ? f->to[f->path[n - 1]] : source;
		if (v == sink) {
			looked += n;
			n = push(f, n);
			continue;
		}
		int64_t a = f->at[v];
		while (a >= 0 && !(f->room[a] && f->level[f->to[a]] == f->level[v] + 1)) {
			a = f->next[a];
			looked++;
		}
		f->at[v] = a;
		if (a >= 0) {
			f->path[n++] = a;
		} else if (n) { /* a dead end: the arc to it is passed over from now on */
			int64_t in = f->path[--n];
			f->at[f->to[in ^ 1]] = f->next[in];
		} else {
			return looked;
		}
	}
}

bool berth_flow_max(berth_flow *f, int32_t source, int32_t sink, bool (*go_on)(void *ctx, int64_t arcs),
                    void *ctx)
{
	int64_t looked = find_levels(f, source);
	while (f->level[sink] >= 0) {
		if (!go_on(ctx, looked))
			return false;
		looked = block(f, source, sink);
		looked += find_levels(f, source);
	}
	return true;
}

/* See min_cut.h. The source's side of the cut is the first device, the sink's the second one. */

enum { SOURCE, SINK, FIRST_NODE, MOST_NODES = 1 << 30 };

#define MOST_PRICE 1e15 /* ns of a colocation group's bytes */

berth_status berth_min_cut_new(const berth_problem *p, berth_arena *mem, berth_min_cut *out, berth_err *err)
{
	int64_t nodes = FIRST_NODE + (int64_t)p->n_colocs + 2 * (int64_t)p->g->n_tensors;
	if (nodes > MOST_NODES)
		return berth_fail(err, BERTH_ELIMIT, "min-cut: more than %d colocation groups and tensors",
		                  MOST_NODES);
	*out = (berth_min_cut){.p = p};
	BERTH_TRY(berth_flow_new((int32_t)nodes, p->n_colocs + 2 * ((int64_t)p->g->n_tensors + p->g->n_edges),
	                         mem, &out->flow, err));
	BERTH_TRY_NEW(mem, p->n_colocs, err, out->node, out->fixed, out->stay[0], out->stay[1]);
	return BERTH_NEW(mem, out->seen, p->n_devs, err);
}

int64_t berth_sum_of_times(const berth_problem *p, const int32_t *op_dev, uint8_t *seen)
{
	const berth_graph *g = p->g;
	int64_t sum = 0;
	for (int32_t op = 0; op < p->n_ops; op++)
		sum += berth_op_time(p, op, op_dev[op]);
	for (int32_t t = 0; t < g->n_tensors; t++) {
		int32_t home = op_dev[g->tensor_producer[t]];
		BERTH_EACH (e, g->tensor_use_off, t) {
			int32_t to = op_dev[g->edge_consumer[e]];
			sum += to != home && !seen[to] ? berth_transfer_ns(p, t, home, to) : 0;
			seen[to] = 1;
		}
		BERTH_EACH (e, g->tensor_use_off, t)
			seen[op_dev[g->edge_consumer[e]]] = 0;
	}
	return sum;
}

/* Nodes, and what each costs by itself. */
static void number(berth_min_cut *c, const int32_t dev[2], const double *byte_ns, const int64_t *coloc_bytes,
                   const int32_t *op_dev)
{
	const berth_problem *p = c->p;
	c->n_nodes = FIRST_NODE;
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t now = c->fixed[u] = berth_coloc_dev(p, u, op_dev);
		c->node[u] = now == dev[0] || now == dev[1] ? c->n_nodes++ : -1;
		for (int k = 0; k < 2; k++) {
			double price = byte_ns ? byte_ns[dev[k]] * (double)coloc_bytes[u] : 0;
			c->stay[k][u] = BERTH_FLOW_ENDLESS;
			if (berth_coloc_legal(p, u, dev[k]))
				c->stay[k][u] =
					berth_coloc_time(p, u, dev[k]) + llround(fmin(price, MOST_PRICE));
		}
	}
}

/* A tensor to the devices that it must go to wherever the cut is: those of fixed consumers. */
static void add_fixed_consumers(berth_min_cut *c, const int32_t dev[2], int32_t t, int32_t from)
{
	const berth_problem *p = c->p;
	const berth_graph *g = p->g;
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t u = p->op_coloc[g->edge_consumer[e]], to = c->fixed[u];
		if (c->node[u] >= 0 || c->seen[to])
			continue;
		c->seen[to] = 1;
		for (int k = 0; k < 2; k++)
			if (c->stay[k][from] < BERTH_FLOW_ENDLESS)
				c->stay[k][from] += berth_transfer_ns(p, t, dev[k], to);
	}
	BERTH_EACH (e, g->tensor_use_off, t)
		c->seen[c->fixed[p->op_coloc[g->edge_consumer[e]]]] = 0;
}

/* Nodes that stand for "the tensor is needed on the second device" and "on the first one". Each consumer
 * there forces its node to its own side. */
static void add_tensor(berth_min_cut *c, const int32_t dev[2], int32_t t)
{
	const berth_problem *p = c->p;
	const berth_graph *g = p->g;
	int32_t from = p->op_coloc[g->tensor_producer[t]], producer = c->node[from], there = -1, here = -1;
	if (producer >= 0)
		add_fixed_consumers(c, dev, t, from);
	BERTH_EACH (e, g->tensor_use_off, t) {
		int32_t u = p->op_coloc[g->edge_consumer[e]];
		if (u == from || c->node[u] < 0)
			continue;
		if (there < 0) {
			there = c->n_nodes++;
			here = c->n_nodes++;
			int64_t to_second =
				berth_transfer_ns(p, t, producer < 0 ? c->fixed[from] : dev[0], dev[1]);
			int64_t to_first =
				berth_transfer_ns(p, t, producer < 0 ? c->fixed[from] : dev[1], dev[0]);
			berth_flow_join(&c->flow, producer < 0 ? SOURCE : producer, there, to_second, 0);
			berth_flow_join(&c->flow, here, producer < 0 ? SINK : producer, to_first, 0);
		}
		berth_flow_join(&c->flow, there, c->node[u], BERTH_FLOW_ENDLESS, 0);
		berth_flow_join(&c->flow, c->node[u], here, BERTH_FLOW_ENDLESS, 0);
	}
}

bool berth_min_cut_place(berth_min_cut *c, const int32_t dev[2], const double *byte_ns,
                         const int64_t *coloc_bytes, bool (*go_on)(void *ctx, int64_t arcs), void *ctx,
                         int32_t *op_dev)
{
	const berth_problem *p = c->p;
	number(c, dev, byte_ns, coloc_bytes, op_dev);
	berth_flow_clear(&c->flow);
	for (int32_t t = 0; t < p->g->n_tensors; t++)
		add_tensor(c, dev, t);
	for (int32_t u = 0; u < p->n_colocs; u++) {
		if (c->node[u] < 0)
			continue;
		/* what both sides cost need not flow */
		int64_t less = c->stay[0][u] < c->stay[1][u] ? c->stay[0][u] : c->stay[1][u];
		if (c->stay[1][u] > less)
			berth_flow_join(&c->flow, SOURCE, c->node[u], c->stay[1][u] - less, 0);
		if (c->stay[0][u] > less)
			berth_flow_join(&c->flow, c->node[u], SINK, c->stay[0][u] - less, 0);
	}
	if (!berth_flow_max(&c->flow, SOURCE, SINK, go_on, ctx))
		return false;
	for (int32_t u = 0; u < p->n_colocs; u++)
		if (c->node[u] >= 0)
			berth_coloc_put(p, u, dev[!berth_flow_at_source(&c->flow, c->node[u])], op_dev);
	return true;
}

/* Placements by minimum cuts (min_cut.h). From all operators on one device on, the operators of two devices
 * are spread over these two as is best, pair by pair, until no pair gains: swaps as of Y. Boykov, O. Veksler,
 * R. Zabih, "Fast approximate energy minimization via graph cuts", IEEE Trans. Pattern Analysis and Machine
 * Intelligence 23(11), 2001. On two devices the first cut is the least of all. Of more than MOST_DEVS devices
 * the fastest are looked at.
 *
 * Where the placement does not fit into memory, bytes on devices that are too full get a price that doubles
 * until it does. At most TRIES placements, one evaluation each. */

enum { MOST_DEVS = 8, MOST_ROUNDS = 8, TRIES = 16 };

#define ARC_NS 4.0         /* of work to look at an arc */
#define FIRST_PRICE 0.0625 /* of a byte, against all time over all bytes */

typedef struct cutter {
	berth_search *s;
	berth_min_cut cut;
	int32_t *dev, n_devs; /* the fastest first */
	int64_t *coloc_bytes; /* [n_colocs] */
	double *byte_ns;      /* [n_devs of the problem] */
	double first_price;
	int32_t *op_dev; /* [n_ops] */
} cutter;

static bool afford_arcs(void *ctx, int64_t arcs)
{
	return berth_search_afford(ctx, ARC_NS * (double)arcs);
}

/* One cut for every pair of devices. Returns false where time is over. */
static bool swap_pairs(cutter *c)
{
	for (int32_t i = 0; i < c->n_devs; i++)
		for (int32_t k = i + 1; k < c->n_devs; k++)
			if (!berth_min_cut_place(&c->cut, (int32_t[2]){c->dev[i], c->dev[k]}, c->byte_ns,
			                         c->coloc_bytes, afford_arcs, c->s, c->op_dev))
				return false;
	return true;
}

/* The sum with the prices of bytes. */
static double priced_sum(const cutter *c)
{
	const berth_problem *p = c->s->p;
	double sum = (double)berth_sum_of_times(p, c->op_dev, c->cut.seen);
	for (int32_t u = 0; u < p->n_colocs; u++)
		sum += c->byte_ns[berth_coloc_dev(p, u, c->op_dev)] * (double)c->coloc_bytes[u];
	return sum;
}

/* From all on the fastest device. Returns false where time is over. */
static bool place_by_cuts(cutter *c)
{
	double before = INFINITY;
	berth_single_placement(c->s->p, c->dev[0], c->op_dev);
	for (int i = 0; i < MOST_ROUNDS && c->n_devs > 1; i++) {
		if (!swap_pairs(c))
			return false;
		double now = priced_sum(c);
		if (c->n_devs == 2 || !(now < before))
			return true;
		before = now;
	}
	return true;
}

static void raise_price(cutter *c, int32_t dev)
{
	c->byte_ns[dev] = c->byte_ns[dev] > 0 ? 2 * c->byte_ns[dev] : c->first_price;
}

/* Bytes become dearer where there are more than the device has room for, or on the fullest one. */
static void raise_prices(cutter *c)
{
	const berth_problem *p = c->s->p;
	int32_t fullest = 0;
	double full[MOST_DEVS] = {0};
	for (int32_t i = 0; i < c->n_devs; i++) {
		int64_t most = berth_dev_most_bytes(p, c->dev[i]);
		for (int32_t u = 0; most >= 0 && u < p->n_colocs; u++)
			if (berth_coloc_dev(p, u, c->op_dev) == c->dev[i])
				full[i] += (double)c->coloc_bytes[u] / fmax(1, (double)most);
		fullest = full[i] > full[fullest] ? i : fullest;
		if (full[i] > 1)
			raise_price(c, c->dev[i]);
	}
	if (full[fullest] <= 1)
		raise_price(c, c->dev[fullest]);
}

static berth_status new_cutter(berth_search *s, cutter *c, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	double time = 0, bytes = 1, *speed;
	*c = (cutter){.s = s};
	BERTH_TRY_NEW(tmp, p->n_devs, err, c->dev, speed);
	BERTH_TRY_NEW(tmp, p->n_ops, err, c->op_dev);
	BERTH_TRY_NEW(tmp, p->n_colocs, err, c->coloc_bytes);
	BERTH_TRY_NEW(tmp, p->n_devs, err, c->byte_ns);
	BERTH_TRY(berth_min_cut_new(p, tmp, &c->cut, err));
	berth_coloc_bytes(p, c->coloc_bytes);
	for (int32_t u = 0; u < p->n_colocs; u++)
		bytes += (double)c->coloc_bytes[u];
	for (int32_t op = 0; op < p->n_ops; op++)
		time += (double)p->op_mean_ns[op];
	c->first_price = FIRST_PRICE * time / bytes;
	c->n_devs = partition_devs_by_speed(p, c->dev, speed);
	c->n_devs = c->n_devs < MOST_DEVS ? c->n_devs : MOST_DEVS;
	return BERTH_OK;
}

static berth_status min_cut_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	cutter c;
	BERTH_TRY(new_cutter(s, &c, tmp, err));
	berth_single_placement(s->p, c.dev[0], c.op_dev);
	berth_search_offer(s, c.op_dev, NULL);
	for (int i = 0; i < TRIES && place_by_cuts(&c); i++) {
		if (berth_score_feasible(berth_search_offer(s, c.op_dev, NULL)))
			break;
		raise_prices(&c);
	}
	return BERTH_OK;
}

const berth_method berth_method_min_cut = {
	"min-cut", "Least sum of operator and transfer times by minimum cuts (Stone 1977; Hu et al. 2019).",
	false, min_cut_run, NULL, "Stone, IEEE TSE 1977; Hu et al., INFOCOM 2019"};
