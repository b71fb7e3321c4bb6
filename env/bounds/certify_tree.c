/* Trees of cases, searched for: how long a block takes at least, and the prices of loads that close cases.
 * The rules by which cases close are the checker's. */
#include "certify.h"

enum { CANDIDATES = 8, HALVES = 11, MASKED = 6, MOST_DEPTH = 600 };
#define PRICE_SCALE 0x1p30

typedef struct candidate {
	int64_t *price; /* [n_devs + n_pools] */
	int32_t at;     /* in prices; -1: not used yet */
} candidate;

typedef struct work {
	berth_block *b;
	int64_t claim_ns, left; /* nodes that may still be tried */
	bool by_place;          /* branch on the first open operator, not on the most critical one */
	candidate by[CANDIDATES];
	int32_t n_by, depth;
	bool shorter; /* a schedule of what is known is shorter than the claim */
	berth_tree_prices *prices;
	berth_arena *mem, *tmp;
	berth_case_tree *tree;
	berth_err *err;
} work;

/* ---- prices ---- */

/* Operators whose work is priced: those of a block, but for its gates. */
typedef struct span {
	const berth_problem *p;
	const int32_t *op; /* [n] */
	int32_t n;
} span;

/* What they are sure to load at these prices, of 1 a unit. */
static double worth(const span *x, const int64_t *price)
{
	const berth_problem *p = x->p;
	double sum = 0, units = 0;
	for (int32_t k = 0; k < berth_n_resources(p); k++)
		units += (double)price[k] * berth_units(p, k);
	for (int32_t i = 0; i < x->n; i++) {
		double least = -1;
		for (int32_t d = 0; d < p->n_devs; d++) {
			int32_t pool = berth_dev_pool(p, d);
			double c = (double)price[d] * (double)berth_op_time(p, x->op[i], d);
			if (pool >= 0)
				c += (double)price[p->n_devs + pool] *
				     (double)berth_op_pool_ns(p, x->op[i], d);
			if (berth_op_legal(p, x->op[i], d) && (least < 0 || c < least))
				least = c;
		}
		sum += least > 0 ? least : 0;
	}
	return units > 0 ? sum / units : 0;
}

/* The best, most first, of the vectors in which each resource has its base price or none: *n of by at most.
 */
static berth_status find_prices(const span *x, candidate *by, int32_t most_by, int32_t *n_by,
                                berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	int32_t n = berth_n_resources(x->p), codes = 1 << (n < MASKED ? n : MASKED);
	double most = 0, *base, value[CANDIDATES];
	int64_t *price;
	*n_by = 0;
	BERTH_TRY_NEW(tmp, n, err, base, price);
	for (int32_t c = 0; c < most_by; c++) {
		by[c].at = -1;
		BERTH_TRY_NEW(mem, n, err, by[c].price);
	}
	for (int32_t k = 0; k < n; k++) {
		/* One over what all operators would take of a resource; 0: nothing. */
		const berth_problem *p = x->p;
		double sum = 0;
		for (int32_t i = 0; i < x->n; i++)
			for (int32_t d = 0; d < p->n_devs; d++)
				if (berth_op_legal(p, x->op[i], d))
					sum += d == k ? (double)berth_op_time(p, x->op[i], d)
					       : berth_dev_pool(p, d) + p->n_devs == k
					               ? (double)berth_op_pool_ns(p, x->op[i], d)
					               : 0;
		base[k] = sum > 0 ? 1 / sum : 0;
		most = base[k] > most ? base[k] : most;
	}
	for (int32_t code = 0; code < codes && most > 0; code++) {
		for (int32_t k = 0; k < n; k++)
			price[k] =
				k < MASKED && (code >> k & 1) ? 0 : (int64_t)(base[k] / most * PRICE_SCALE);
		double sum = worth(x, price);
		if (!(sum > 0) || (*n_by == most_by && sum <= value[most_by - 1]))
			continue;
		int32_t at = *n_by < most_by ? (*n_by)++ : most_by - 1;
		int64_t *mine = by[at].price;
		for (; at > 0 && value[at - 1] < sum; at--) {
			value[at] = value[at - 1];
			by[at].price = by[at - 1].price;
		}
		value[at] = sum;
		by[at].price = mine;
		BERTH_COPY(mine, price, n);
	}
	return BERTH_OK;
}

static berth_status keep_prices(const berth_problem *p, candidate *c, berth_tree_prices *prices,
                                berth_arena *mem, berth_err *err)
{
	size_t n = (size_t)berth_n_resources(p);
	for (size_t k = 0; k < n && c->at < 0; k++) {
		size_t at = (size_t)prices->n * n + k;
		BERTH_TRY(BERTH_GROW(mem, prices->price, at, &prices->cap, err));
		prices->price[at] = c->price[k];
	}
	c->at = c->at < 0 ? prices->n++ : c->at;
	return BERTH_OK;
}

berth_status berth_tree_loads(const berth_problem *p, int32_t n, const int32_t *op, berth_tree_prices *prices,
                              int32_t *at, int64_t *ns, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const span x = {p, op, n};
	candidate best;
	int32_t n_by;
	*ns = 0;
	BERTH_TRY(find_prices(&x, &best, 1, &n_by, mem, tmp, err));
	if (n_by == 0)
		return BERTH_OK;
	BERTH_TRY(keep_prices(p, &best, prices, mem, err));
	*at = best.at;
	*ns = (int64_t)(worth(&x, best.price) * (1 - 1e-9));
	return BERTH_OK;
}

/* ---- branching ---- */

static berth_status put(work *w, int32_t code)
{
	return BERTH_PUSH(w->mem, w->tree->code, w->tree->n, &w->tree->cap, w->err, code);
}

/* The length of the longest path through i at its best. */
static int64_t through(const berth_block *b, const berth_case *c, int32_t i)
{
	int64_t least = INT64_MAX;
	for (uint32_t left = c->dev[i]; left; left &= left - 1) {
		size_t at = berth_block_cell(b, i, __builtin_ctz(left));
		int64_t all = b->head[at] + berth_block_time(b, i, __builtin_ctz(left)) + b->tail[at];
		least = all < least ? all : least;
	}
	return least;
}

/* How far the choice of a device for i moves the paths through it, and how long these are at least. */
static int64_t weight(const berth_block *b, const berth_case *c, int32_t i)
{
	int64_t most = 0;
	for (uint32_t left = c->dev[i]; left; left &= left - 1) {
		size_t at = berth_block_cell(b, i, __builtin_ctz(left));
		int64_t all = b->head[at] + berth_block_time(b, i, __builtin_ctz(left)) + b->tail[at];
		most = all > most ? all : most;
	}
	return most / 4 + through(b, c, i);
}

static int32_t choose_op(const work *w, const berth_case *c)
{
	int32_t best = -1;
	int64_t most = -1;
	for (int32_t i = 0; i < w->b->n; i++) {
		if (berth_case_fixed(c, i))
			continue;
		int64_t x = w->by_place ? 0 : weight(w->b, c, i);
		if (x > most) {
			most = x;
			best = i;
		}
	}
	return best;
}

static bool overlap(const berth_block *b, const berth_case *c, int32_t i, int32_t j)
{
	int32_t d = berth_case_dev(c, i);
	int64_t from_i = b->head[berth_block_cell(b, i, d)], from_j = b->head[berth_block_cell(b, j, d)];
	return from_i < from_j + berth_block_time(b, j, d) && from_j < from_i + berth_block_time(b, i, d);
}

static bool choose_pair(const work *w, const berth_case *c, int32_t *a, int32_t *z)
{
	int64_t most = -1;
	for (int32_t i = 0; i < w->b->n; i++)
		for (int32_t j = i + 1; j < w->b->n; j++) {
			if (!berth_case_open_pair(w->b, c, i, j) || !overlap(w->b, c, i, j))
				continue;
			int32_t d = berth_case_dev(c, i);
			int64_t x = w->b->tail[berth_block_cell(w->b, i, d)] +
			            w->b->tail[berth_block_cell(w->b, j, d)];
			if (x > most) {
				most = x;
				*a = i;
				*z = j;
			}
		}
	return most >= 0;
}

static berth_status branch(work *w, const berth_case *parent, bool *proven);

static berth_status branch_devices(work *w, const berth_case *c, int32_t i, bool *proven)
{
	uint32_t mask = 0;
	berth_case child;
	for (uint32_t left = c->dev[i]; left; left &= left - 1) {
		int32_t d = __builtin_ctz(left);
		bool stands = false;
		for (uint32_t have = mask; have && !stands; have &= have - 1)
			stands = berth_case_mirrored(w->b, c, d, __builtin_ctz(have));
		mask |= stands ? 0 : UINT32_C(1) << d;
	}
	BERTH_TRY(put(w, 2));
	BERTH_TRY(put(w, i));
	BERTH_TRY(put(w, (int32_t)mask));
	for (uint32_t left = mask; left && *proven; left &= left - 1) {
		child = *c;
		berth_case_place(w->b, &child, i, __builtin_ctz(left));
		w->depth++;
		BERTH_TRY(branch(w, &child, proven));
		w->depth--;
	}
	return BERTH_OK;
}

static berth_status branch(work *w, const berth_case *parent, bool *proven)
{
	berth_case c = *parent;
	int32_t i, j;
	if (w->left-- <= 0 || w->depth >= MOST_DEPTH) {
		*proven = false;
		return BERTH_OK;
	}
	if (berth_case_conclude(w->b, w->claim_ns, &c))
		return put(w, 0);
	for (int32_t k = 0; k < w->n_by; k++)
		if (berth_case_overloaded(w->b, w->claim_ns, &c, w->by[k].price)) {
			BERTH_TRY(keep_prices(w->b->p, &w->by[k], w->prices, w->mem, w->err));
			BERTH_TRY(put(w, 1));
			return put(w, w->by[k].at);
		}
	i = choose_op(w, &c);
	if (i >= 0)
		return branch_devices(w, &c, i, proven);
	if (choose_pair(w, &c, &i, &j)) {
		berth_case child;
		BERTH_TRY(put(w, 3));
		BERTH_TRY(put(w, i));
		BERTH_TRY(put(w, j));
		for (int side = 0; side < 2 && *proven; side++) {
			child = c;
			berth_case_order(w->b, &child, side ? j : i, side ? i : j);
			w->depth++;
			BERTH_TRY(branch(w, &child, proven));
			w->depth--;
		}
		return BERTH_OK;
	}
	*proven = false;
	w->shorter = true;
	return BERTH_OK;
}

berth_status berth_tree_prove(berth_block *b, int32_t from, int32_t to, int64_t claim_ns, int64_t most_nodes,
                              berth_tree_prices *prices, berth_arena *mem, berth_arena *tmp,
                              berth_case_tree *tree, bool *proven, int64_t *nodes, berth_err *err)
{
	work w = {.b = b,
	          .claim_ns = claim_ns,
	          .prices = prices,
	          .mem = mem,
	          .tmp = tmp,
	          .tree = tree,
	          .err = err};
	BERTH_SCRATCH(tmp);
	berth_case first;
	const span inside = {b->p, b->op + b->entry, b->n - b->entry - b->exit};
	berth_status st = find_prices(&inside, w.by, CANDIDATES, &w.n_by, tmp, tmp, err);
	*proven = false;
	for (int way = 0; way < 2 && !*proven && !w.shorter && st == BERTH_OK; way++) {
		berth_block_first_case(b, from, to, &first);
		*tree = (berth_case_tree){0};
		w.by_place = way;
		w.left = most_nodes;
		w.depth = 0;
		*proven = true;
		st = branch(&w, &first, proven);
		*nodes += most_nodes - w.left;
	}
	return st;
}

typedef struct climber {
	berth_block *b;
	int64_t most_nodes, *ns, *nodes;
	bool (*stop)(void *ctx);
	void *ctx;
} climber;

berth_status berth_tree_climb(const berth_problem *p, int64_t least_ns, int64_t most_ns, int64_t most_nodes,
                              bool (*stop)(void *ctx), void *ctx, berth_arena *tmp, int64_t *ns,
                              int64_t *nodes, berth_err *err)
{
	climber x = {.most_nodes = most_nodes, .ns = ns, .nodes = nodes, .stop = stop, .ctx = ctx};
	*ns = least_ns;
	*nodes = 0;
	if (p->n_ops > BERTH_CERTIFICATE_TREE_OPS || p->n_devs > BERTH_CERTIFICATE_TREE_DEVS ||
	    least_ns >= most_ns)
		return BERTH_OK;
	BERTH_ARENA(mem);
	berth_arena_init(&mem, tmp->hook);
	BERTH_TRY(berth_block_new(p, p->n_ops, p->g->topo_op, false, false, &mem, &x.b, err));
	int64_t claim = most_ns, above = most_ns + 1;
	for (int k = 0; k <= HALVES && *x.ns + 1 < above && !(x.stop && x.stop(x.ctx)); k++) {
		berth_tree_prices prices = {0};
		berth_case_tree tree;
		bool proven;
		BERTH_TRY(berth_tree_prove(x.b, 0, 0, claim, x.most_nodes, &prices, &mem, tmp, &tree, &proven,
		                           x.nodes, err));
		*x.ns = proven ? claim : *x.ns;
		above = proven ? above : claim;
		claim = *x.ns + (above - *x.ns) / 2;
	}
	return BERTH_OK;
}
