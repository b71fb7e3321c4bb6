/* The bound by gates, the places where a graph is narrow: what is between two of them is searched exactly
 * for the devices of both, and added up along the graph. */
#include "bounds_parts.h"
#include "exact_search.h"

enum {
	MOST_OPS = 20000,
	SEARCHED = 32, /* operators of a block */
	MEMO = 64,
	HALVES = 8,
	FIRST_NODES = 32,
	MORE = 4
};

/* Of a node of the exact search, for each device; and nodes that setting up a run takes as long as. */
enum { NODE_NS = 300, RUN_NODES = 6 };

/* Of a block that is scored: an operator once; and, for each operator and two devices, making the problem. */
enum { SCORE_NS = 600, ALONE_NS = 1000 };

/* What is known of the blocks that look the same, for each pair of their gates' devices. */
typedef struct table {
	int64_t *lower; /* [n_devs][n_devs] from the end of the entry to that of the exit */
	int64_t *paths; /* [n_devs][n_devs] the same by paths alone */
	int64_t *nodes; /* [n_devs][n_devs] that its search was cut after; DONE: no more to be found */
	int32_t *round; /* [n_devs][n_devs] of its latest search */
	berth_block_alone *alone; /* to be scored by; NULL: it is not */
} table;
enum { DONE = -1 };

/* One block: operators first .. last-1 of the topological order, the gate before it and the gate that ends
 * it (-1: none). */
typedef struct block {
	int32_t first, last, entry, exit;
	bool closed; /* it runs alone */
	table *t;
} block;

/* A block as an instance, to know others by that look the same. */
typedef struct memo {
	berth_exact_search *x;
	block b;
} memo;

typedef struct work {
	const berth_problem *p;
	int64_t most_nodes;
	berth_bound_work *budget;
	bool scored; /* blocks that nothing passes by are scored by the simulator */
	berth_arena *mem;
	berth_err *err;
	block *block; /* [n_blocks] */
	int32_t n_blocks;
	int64_t *finish;  /* [n_blocks+1][n_devs] of the gates: a lower bound */
	int32_t *from;    /* [n_blocks+1][n_devs] the device of the gate before */
	int32_t *ops;     /* of the block at hand: gate, inside, gate */
	int32_t *passing; /* [n_ops+1] by place in topological order: edges that pass it by */
	int64_t *path;    /* [n_ops][n_devs] critical earliest finish times between gates */
	memo memo[MEMO];
	int32_t n_memo, round;
} work;

/* Which operators are above (down = false) or below each: how many of them. O(n_ops^2 / 64) words of tmp,
 * given back at exit. */
static berth_status count_related(const berth_problem *p, bool down, int32_t *count, berth_arena *tmp,
                                  berth_err *err)
{
	const berth_graph *g = p->g;
	size_t words = ((size_t)p->n_ops + 63) / 64;
	BERTH_SCRATCH(tmp);
	uint64_t *set;
	BERTH_TRY_NEW(tmp, (size_t)p->n_ops * words, err, set);
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = g->topo_op[down ? p->n_ops - 1 - k : k];
		uint64_t *row = set + (size_t)op * words;
		int32_t first = down ? g->op_tensor_off[op] : g->op_in_off[op],
			last = down ? g->op_tensor_off[op + 1] : g->op_in_off[op + 1];
		for (int32_t i = first; i < last; i++) {
			int32_t uses = down ? g->tensor_use_off[i + 1] - g->tensor_use_off[i] : 1;
			for (int32_t u = 0; u < uses; u++) {
				int32_t other = down ? g->edge_consumer[g->tensor_use_off[i] + u]
				                     : g->tensor_producer[g->in_tensor[i]];
				for (size_t w = 0; w < words; w++)
					row[w] |= set[(size_t)other * words + w];
				row[(size_t)other / 64] |= UINT64_C(1) << (other % 64);
			}
		}
		for (size_t w = 0; w < words; w++)
			count[op] += __builtin_popcountll(row[w]);
	}
	return BERTH_OK;
}

/* ---- one block ---- */

static int32_t block_ops(const work *w, const block *b)
{
	int32_t n = 0;
	if (b->entry >= 0)
		w->ops[n++] = b->entry;
	for (int32_t k = b->first; k < b->last; k++)
		w->ops[n++] = w->p->g->topo_op[k];
	if (b->exit >= 0)
		w->ops[n++] = b->exit;
	return n;
}

/* Let the gate at place i of the block run on dev only, taking time_ns there. */
static void fix_gate(berth_exact_search *x, int32_t n_devs, int32_t i, int32_t dev, int64_t time_ns)
{
	for (int32_t d = 0; d < n_devs; d++)
		berth_exact_search_set_time(x, i, d, d == dev ? time_ns : -1);
}

static bool may_stand(const work *w, int32_t gate, int32_t d)
{
	return gate < 0 ? d == 0 : berth_op_legal(w->p, gate, d);
}

/* ---- what every block is known by ---- */

/* Critical earliest finish times of the block with its entry's end on d at 0; tensors from outside cost
 * nothing. */
static void path_through(work *w, const block *b, int32_t n, int32_t d)
{
	const berth_graph *g = w->p->g;
	int32_t devs = w->p->n_devs;
	for (int32_t k = 0; k < n; k++) {
		int32_t op = w->ops[k];
		int64_t *row = w->path + (size_t)op * (size_t)devs;
		for (int32_t e = 0; e < devs; e++) {
			int64_t ready = 0;
			for (int32_t i = g->op_in_off[op]; i < g->op_in_off[op + 1] && op != b->entry; i++) {
				int32_t t = g->in_tensor[i], from = g->tensor_producer[t],
					at = g->op_topo[from];
				if (from != b->entry && (at < b->first || at >= b->last))
					continue;
				int64_t least = BERTH_EXACT_SEARCH_NEVER;
				for (int32_t l = 0; l < devs; l++) {
					int64_t there = w->path[(size_t)from * (size_t)devs + (size_t)l] +
					                berth_transfer_ns(w->p, t, l, e);
					least = there < least ? there : least;
				}
				ready = least > ready ? least : ready;
			}
			row[e] = berth_op_legal(w->p, op, e) ? ready + berth_op_time(w->p, op, e)
			                                     : BERTH_EXACT_SEARCH_NEVER;
			if (op == b->entry)
				row[e] = e == d ? 0 : BERTH_EXACT_SEARCH_NEVER;
		}
	}
}

/* One over what all operators of the block take of a resource: a device, or behind these a memory pool. 0:
 * nothing. */
static double base_price(const work *w, const block *b, int32_t resource)
{
	const berth_problem *p = w->p;
	double sum = 0;
	for (int32_t k = b->first; k < b->last; k++) {
		int32_t op = p->g->topo_op[k];
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, op, d))
				sum += d == resource ? (double)berth_op_time(p, op, d)
				       : berth_dev_pool(p, d) + p->n_devs == resource
				               ? (double)berth_op_pool_ns(p, op, d)
				               : 0;
	}
	return sum > 0 ? 1 / sum : 0;
}

/* Sum over the operators of the block of their least price, over weight. */
static double priced_load(const work *w, const block *b, const double *price, double weight)
{
	const berth_problem *p = w->p;
	double sum = 0;
	for (int32_t k = b->first; k < b->last; k++) {
		int32_t op = p->g->topo_op[k];
		double least = -1;
		for (int32_t d = 0; d < p->n_devs; d++) {
			int32_t pool = berth_dev_pool(p, d);
			double c = price[d] * (double)berth_op_time(p, op, d);
			if (pool >= 0)
				c += price[p->n_devs + pool] * (double)berth_op_pool_ns(p, op, d);
			if (berth_op_legal(p, op, d) && (least < 0 || c / weight < least))
				least = c / weight;
		}
		sum += least > 0 ? least : 0;
	}
	return sum;
}

/* Work inside the block at prices that weigh devices and memory pools by what all of it would take there. */
static int64_t load_inside(const work *w, const block *b)
{
	const berth_problem *p = w->p;
	int32_t n = berth_n_resources(p);
	double best = 0, base[2 * BERTH_EXACT_SEARCH_DEVS], price[2 * BERTH_EXACT_SEARCH_DEVS];
	for (int32_t k = 0; k < n; k++)
		base[k] = base_price(w, b, k);
	for (int32_t code = 0; code < 1 << (n < 6 ? n : 6); code++) {
		double weight = 0;
		for (int32_t k = 0; k < n; k++) {
			price[k] = code >> k & 1 ? 0 : base[k];
			weight += price[k] * berth_units(p, k);
		}
		double sum = weight > 0 ? priced_load(w, b, price, weight) : 0;
		best = sum > best ? sum : best;
	}
	return (int64_t)(best * (1 - 1e-12));
}

static void relax_block(work *w, const block *b, int32_t n)
{
	int32_t devs = w->p->n_devs;
	int64_t load = devs <= BERTH_EXACT_SEARCH_DEVS ? load_inside(w, b) : 0;
	for (int32_t d = 0; d < devs; d++) {
		if (!may_stand(w, b->entry, d))
			continue;
		path_through(w, b, n, d);
		for (int32_t e = 0; e < devs; e++) {
			int64_t longest = 0;
			if (!may_stand(w, b->exit, e))
				continue;
			for (int32_t k = 0; k < n; k++) {
				int64_t least = BERTH_EXACT_SEARCH_NEVER;
				for (int32_t l = 0; l < devs; l++) {
					int64_t at = w->path[(size_t)w->ops[k] * (size_t)devs + (size_t)l];
					least = at < least ? at : least;
				}
				longest =
					least > longest && least < BERTH_EXACT_SEARCH_NEVER ? least : longest;
			}
			int64_t gate = b->exit >= 0 ? berth_op_time(w->p, b->exit, e) : 0;
			int64_t at_exit =
				b->exit >= 0 ? w->path[(size_t)b->exit * (size_t)devs + (size_t)e] : longest;
			b->t->paths[d * devs + e] = at_exit;
			b->t->lower[d * devs + e] = at_exit > load + gate ? at_exit : load + gate;
		}
	}
}

/* Do memory pools slow the operators of two blocks of equal length alike? */
static bool same_demands(const work *w, const block *a, const block *b)
{
	const berth_problem *p = w->p;
	size_t devs = (size_t)p->n_devs;
	int32_t from = a->first - (a->entry >= 0), other = b->first - (b->entry >= 0),
		n = a->last + (a->exit >= 0) - from;
	for (int32_t i = 0; i < n && p->n_pools; i++)
		if (memcmp(p->op_dev_demand + (size_t)p->g->topo_op[from + i] * devs,
		           p->op_dev_demand + (size_t)p->g->topo_op[other + i] * devs,
		           devs * sizeof *p->op_dev_demand) != 0)
			return false;
	return true;
}

/* The table of a block that looks the same, if one is known. */
static table *known(const work *w, const block *b, const berth_exact_search *x)
{
	for (int32_t k = 0; k < w->n_memo && k < MEMO; k++) {
		const block *like = &w->memo[k].b;
		if ((like->entry >= 0) == (b->entry >= 0) && (like->exit >= 0) == (b->exit >= 0) &&
		    like->closed == b->closed && berth_exact_search_same(w->memo[k].x, x) &&
		    same_demands(w, like, b))
			return like->t;
	}
	return NULL;
}

static berth_status new_table(work *w, block *b, bool searched)
{
	int32_t cells = w->p->n_devs * w->p->n_devs;
	BERTH_TRY_NEW(w->mem, 1, w->err, b->t);
	BERTH_TRY_NEW(w->mem, cells, w->err, b->t->lower, b->t->paths, b->t->nodes, b->t->round);
	for (int32_t k = 0; k < cells && !searched; k++)
		b->t->nodes[k] = DONE;
	return BERTH_OK;
}

/* The block at hand as a problem of its own, where it is to be scored. Channels that go by the program may
 * have another order than devices; then scores are not of all schedules. */
static berth_status make_alone(work *w, const block *b, int32_t n)
{
	if (!w->scored || !b->closed || w->p->s->channel_order == BERTH_CHANNELS_PROGRAM ||
	    !berth_bound_spend(w->budget, (int64_t)n * w->p->n_devs * w->p->n_devs * ALONE_NS))
		return BERTH_OK;
	BERTH_ARENA(tmp);
	berth_arena_init(&tmp, w->mem->hook);
	return berth_block_alone_new(w->p, n, w->ops, b->entry >= 0, w->mem, &tmp, &b->t->alone, w->err);
}

static berth_status open_block(work *w, block *b)
{
	int32_t n = block_ops(w, b);
	bool searched = n <= SEARCHED && w->p->n_devs <= BERTH_EXACT_SEARCH_DEVS;
	if (searched && w->n_memo < MEMO) {
		memo *m = &w->memo[w->n_memo];
		berth_arena_mark mark = berth_arena_get_mark(w->mem);
		BERTH_TRY(berth_exact_search_new(w->p, n, w->ops, w->mem, &m->x, w->err));
		b->t = known(w, b, m->x);
		if (b->t) {
			berth_arena_reset(w->mem, mark); /* it holds a number of each operator of the graph */
			return BERTH_OK;
		}
		BERTH_TRY(new_table(w, b, true));
		BERTH_TRY(make_alone(w, b, n));
		m->b = *b;
		w->n_memo++;
	} else {
		BERTH_TRY(new_table(w, b, searched));
	}
	relax_block(w, b, n);
	return BERTH_OK;
}

/* ---- searches ---- */

/* What the simulator tells of a placement of a block. */
typedef struct scoring {
	berth_block_alone *alone;
	int64_t runs;
} scoring;

static int64_t score(void *ctx, const int32_t *dev, const int32_t *order)
{
	scoring *s = ctx;
	s->runs++;
	return berth_block_alone_ns(s->alone, dev, order);
}

static int64_t run_ns(const work *w, int64_t nodes)
{
	return (nodes + RUN_NODES) * w->p->n_devs * NODE_NS;
}

static void run(work *w, berth_exact_search *x, const berth_exact_search_cfg *cfg,
                berth_exact_search_result *out)
{
	berth_exact_search_run(x, cfg, out);
	berth_bound_spend(w->budget, run_ns(w, out->nodes));
}

/* Search a block between its gates on d and e, with more nodes than before. *more: that was possible. */
static berth_status refine(work *w, const block *b, int32_t d, int32_t e, bool *more)
{
	int32_t devs = w->p->n_devs, at = d * devs + e, n;
	int64_t *nodes = &b->t->nodes[at], *lower = &b->t->lower[at];
	int64_t want = *nodes ? MORE * *nodes : FIRST_NODES;
	berth_exact_search *x;
	bool done;
	if (*nodes == DONE || b->t->round[at] == w->round)
		return BERTH_OK;
	want = want < w->most_nodes ? want : w->most_nodes;
	if (w->budget->left_ns < BERTH_BOUND_ALL && w->budget->left_ns < run_ns(w, want)) {
		w->budget->cut = true;
		return BERTH_OK;
	}
	BERTH_SCRATCH(w->mem);
	n = block_ops(w, b);
	BERTH_TRY(berth_exact_search_new(w->p, n, w->ops, w->mem, &x, w->err));
	if (b->entry >= 0)
		fix_gate(x, devs, 0, d, 0);
	if (b->exit >= 0)
		fix_gate(x, devs, n - 1, e, berth_op_time(w->p, b->exit, e));
	/* Lower bound of the instance as it is now; done: it is exact. Where the search is cut, lengths
	 * between what is proven and the best found are tried, by halves: that nothing is shorter than a
	 * length near the bound takes far fewer nodes than the optimum. */
	const table *t = b->t;
	scoring s = {.alone = t->alone};
	berth_exact_search_cfg cfg = {.upper_ns = BERTH_EXACT_SEARCH_NEVER,
	                              .nodes = want,
	                              .leaf = t->alone ? score : NULL,
	                              .ctx = &s};
	berth_exact_search_result r;
	run(w, x, &cfg, &r);
	int64_t low = r.lower_ns, high = r.best_ns;
	for (int32_t k = 0; k < HALVES && !r.complete && high < BERTH_EXACT_SEARCH_NEVER && low < high; k++) {
		cfg.upper_ns = low + (high - low + 1) / 2;
		run(w, x, &cfg, &r);
		low = r.lower_ns > low ? r.lower_ns : low;
		high = r.best_ns < high ? r.best_ns : r.complete ? high : cfg.upper_ns;
		r.complete &= r.best_ns < BERTH_EXACT_SEARCH_NEVER; /* the optimum: done */
	}
	berth_bound_spend(w->budget, s.runs * n * SCORE_NS);
	done = r.complete || low >= high;
	int64_t found = low;
	*lower = found > *lower ? found : *lower;
	*nodes = done || want == w->most_nodes ? DONE : want;
	b->t->round[at] = w->round;
	*more = true;
	return BERTH_OK;
}

/* ---- the chain of blocks ---- */

/* The ends of all gates, and the way to each. */
static void chain(work *w)
{
	int32_t devs = w->p->n_devs;
	for (int32_t k = 0; k < w->n_blocks; k++) {
		const block *b = &w->block[k];
		const int64_t *before = w->finish + (size_t)k * (size_t)devs;
		int64_t *finish = w->finish + (size_t)(k + 1) * (size_t)devs;
		int32_t *from = w->from + (size_t)(k + 1) * (size_t)devs;
		for (int32_t e = 0; e < devs; e++) {
			finish[e] = BERTH_EXACT_SEARCH_NEVER;
			for (int32_t d = 0; d < devs && may_stand(w, b->exit, e); d++)
				if (may_stand(w, b->entry, d) &&
				    before[d] + b->t->lower[d * devs + e] < finish[e]) {
					finish[e] = before[d] + b->t->lower[d * devs + e];
					from[e] = d;
				}
		}
	}
}

/* Search the blocks of the shortest chain with more nodes, until that is exact or the work is done. Only they
 * can raise the bound. */
static berth_status raise_chain(work *w, int64_t *lower_ns)
{
	int32_t devs = w->p->n_devs;
	bool more = true;
	while (more) {
		const int64_t *last = w->finish + (size_t)w->n_blocks * (size_t)devs;
		int32_t e = 0;
		more = false;
		w->round++;
		chain(w);
		for (int32_t d = 1; d < devs; d++)
			e = last[d] < last[e] ? d : e;
		if (last[e] >= BERTH_EXACT_SEARCH_NEVER)
			return BERTH_OK;
		*lower_ns = last[e];
		if (!berth_bound_spend(w->budget, (int64_t)w->n_blocks * devs * devs))
			return BERTH_OK;
		for (int32_t k = w->n_blocks; k > 0; k--) {
			int32_t d = w->from[(size_t)k * (size_t)devs + (size_t)e];
			BERTH_TRY(refine(w, &w->block[k - 1], d, e, &more));
			e = d;
		}
	}
	return BERTH_OK;
}

/* Leave out gates that a tensor passes by, where what is between the others around them can be searched. */
static int32_t keep_closed(const work *w, int32_t *gate, int32_t n)
{
	int32_t kept = 0, closed = 0, place = -1; /* closed: kept up to the last that nothing passes by */
	for (int32_t i = 0; i <= n; i++) {
		int32_t at = i < n ? gate[i] : w->p->n_ops;
		bool passed = i < n && w->passing[at];
		if (!passed && at - place < SEARCHED)
			kept = closed;
		if (i < n)
			gate[kept++] = at;
		if (!passed) {
			closed = kept;
			place = at;
		}
	}
	return kept;
}

/* Does nothing else run while the block does, and do indices ascend in it? Equal requests of channels go by
 * the index, so then the block alone breaks ties as in the graph, and as blocks do that look the same. */
static bool is_closed(const work *w, const block *b)
{
	const int32_t *op = w->p->g->topo_op;
	int32_t from = b->first - (b->entry >= 0), to = b->last + (b->exit >= 0);
	for (int32_t k = from + 1; k < to; k++)
		if (op[k] <= op[k - 1])
			return false;
	return (b->entry < 0 || !w->passing[from]) && (b->exit < 0 || !w->passing[b->last]);
}

static berth_status open_blocks(work *w)
{
	const berth_problem *p = w->p;
	int32_t *gate, n;
	block b = {.entry = -1};
	BERTH_TRY_NEW(w->mem, p->n_ops, w->err, gate);
	int32_t *above, *below;
	BERTH_TRY_NEW(w->mem, p->n_ops, w->err, above, below);
	BERTH_TRY(count_related(p, false, above, w->mem, w->err));
	BERTH_TRY(count_related(p, true, below, w->mem, w->err));
	n = 0;
	for (int32_t k = 0; k < p->n_ops; k++)
		if (above[p->g->topo_op[k]] + below[p->g->topo_op[k]] == p->n_ops - 1)
			gate[n++] = k;
	/* How many edges pass each place of the topological order by. */
	const berth_graph *g = w->p->g;
	BERTH_TRY_NEW(w->mem, g->n_ops + 1, w->err, w->passing);
	for (int32_t t = 0; t < g->n_tensors; t++)
		BERTH_EACH (e, g->tensor_use_off, t) {
			w->passing[g->op_topo[g->tensor_producer[t]] + 1]++;
			w->passing[g->op_topo[g->edge_consumer[e]]]--;
		}
	for (int32_t k = 1; k < g->n_ops; k++)
		w->passing[k] += w->passing[k - 1];
	n = w->scored ? keep_closed(w, gate, n) : n;
	BERTH_TRY_NEW(w->mem, n + 1, w->err, w->block);
	for (int32_t k = 0; k <= n; k++) {
		b.last = k < n ? gate[k] : p->n_ops;
		b.exit = k < n ? p->g->topo_op[gate[k]] : -1;
		b.closed = is_closed(w, &b);
		if (b.exit >= 0 || b.first < b.last) {
			BERTH_TRY(open_block(w, &b));
			w->block[w->n_blocks++] = b;
		}
		b.entry = b.exit;
		b.first = b.last + 1;
	}
	return BERTH_OK;
}

/* What is known of all blocks, for a certificate. */
static berth_status certify(work *w)
{
	berth_known_block *known;
	BERTH_TRY_NEW(w->mem, w->n_blocks, w->err, known);
	for (int32_t k = 0; k < w->n_blocks; k++) {
		const block *b = &w->block[k];
		known[k] =
			(berth_known_block){b->first, b->last, b->entry, b->exit, b->t->paths, b->t->lower};
	}
	return berth_certify_blocks(w->p, known, w->n_blocks, w->budget->proof, w->mem, w->err);
}

static berth_status bound(work *w, int64_t *lower_ns)
{
	size_t devs = (size_t)w->p->n_devs;
	BERTH_TRY_NEW(w->mem, w->p->n_ops, w->err, w->ops);
	BERTH_TRY_NEW(w->mem, (size_t)w->p->n_ops * devs, w->err, w->path);
	BERTH_TRY(open_blocks(w));
	BERTH_TRY_NEW(w->mem, (size_t)(w->n_blocks + 1) * devs, w->err, w->finish, w->from);
	BERTH_TRY(raise_chain(w, lower_ns));
	return w->budget->proof && !w->scored ? certify(w) : BERTH_OK;
}

/* Of finding the gates, and of all blocks once without a search. */
static int64_t least_work(const berth_problem *p)
{
	int64_t n = p->n_ops, devs = p->n_devs;
	return 2 * p->g->n_edges * (n / 64 + 1) + p->g->n_edges * devs * devs * devs;
}

berth_status berth_bounds_blocks(const berth_problem *p, int64_t nodes, berth_bound_work *budget,
                                 berth_arena *tmp, int64_t *lower_ns, berth_err *err)
{
	berth_arena mem;
	*lower_ns = 0;
	if (p->n_ops == 0 || p->n_ops > MOST_OPS || berth_problem_feasible(p, NULL) != BERTH_OK ||
	    !berth_bound_spend(budget, least_work(p)))
		return BERTH_OK;
	berth_status st = BERTH_OK;
	for (int pass = 0; pass < 2 && st == BERTH_OK; pass++) {
		work w = {.p = p, .most_nodes = nodes, .budget = budget, .mem = &mem, .err = err};
		int64_t ns = 0;
		w.scored = pass;
		berth_arena_init(&mem, tmp->hook);
		st = bound(&w, &ns);
		*lower_ns = ns > *lower_ns ? ns : *lower_ns;
		berth_arena_free(&mem);
	}
	return st;
}
