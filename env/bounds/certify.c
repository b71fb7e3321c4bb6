/* What bounds know, as certificates: the best of all that are offered, windows, and gates with trees
 * between them.
 *
 * Of gates not all that is known has to be proven. Blocks are taken from the first to the last. With what
 * is proven up to a block and what is known behind it, a pair of its devices needs no more than the length
 * of the whole chain leaves for it. */
#include "certify.h"

berth_status berth_bound_proof_offer(berth_bound_proof *x, const berth_problem *p, const berth_certificate *c,
                                     berth_arena *tmp, berth_err *err)
{
	int64_t proven_ns;
	if (!x || x->load != c->load)
		return BERTH_OK;
	berth_status st = berth_certificate_prove(c, p, tmp, &proven_ns, err);
	if (st == BERTH_EFORMAT)
		return BERTH_OK; /* it is none: dropped */
	BERTH_TRY(st);
	if (x->any && proven_ns <= x->best.bound_ns)
		return BERTH_OK;
	x->any = true;
	x->best = *c;
	x->best.bound_ns = proven_ns;
	x->best.graph_name = p->g->name;
	x->best.system_name = p->s->name;
	return BERTH_OK;
}

/* ---- windows ---- */

enum {
	RECENT = 64
}; /* price vectors that a new one is looked for among: windows that repeat have the same */

/* The index of a price vector, added where it is new. */
static berth_status find_vector(berth_window_proof *w, const double *price, int32_t *at, berth_err *err)
{
	int32_t n = berth_n_resources(w->p), k = w->c.n_prices * n;
	for (int32_t r = 0; r < n; r++) {
		BERTH_TRY(BERTH_GROW(w->x->mem, w->c.price_vector, k + r, &w->cap_prices, err));
		w->c.price_vector[k + r] = (int64_t)price[r];
	}
	const int64_t *new = w->c.price_vector + k;
	for (*at = w->c.n_prices - 1; *at >= 0 && *at >= w->c.n_prices - RECENT; --*at)
		if (memcmp(new, w->c.price_vector + (size_t)*at * (size_t)n, (size_t)n * sizeof *new) == 0)
			return BERTH_OK;
	*at = w->c.n_prices++;
	return BERTH_OK;
}

berth_status berth_window_proof_add(berth_window_proof *w, berth_window_claim claim, const double *price,
                                    int32_t stride, const int32_t *told, berth_err *err)
{
	int32_t cases = claim.first < 0 ? 1 : w->p->n_devs;
	BERTH_TRY_NEW(w->x->mem, cases, err, claim.prices);
	for (int32_t d = 0; d < cases; d++) {
		claim.prices[d] = -1;
		if (told[d] >= 0)
			BERTH_TRY(find_vector(w, price + (size_t)told[d] * (size_t)stride, &claim.prices[d],
			                      err));
	}
	return BERTH_PUSH(w->x->mem, w->c.window, w->c.n_windows, &w->cap_windows, err, claim);
}

berth_status berth_window_proof_offer(berth_window_proof *w, berth_arena *tmp, berth_err *err)
{
	w->c.kind = BERTH_CERTIFICATE_WINDOWS;
	return berth_bound_proof_offer(w->x, w->p, &w->c, tmp, err);
}

/* ---- gates ---- */

enum { HALVES = 5 };

typedef struct work {
	const berth_problem *p;
	const berth_known_block *block;
	int32_t n;
	berth_bound_proof *x;
	berth_arena *tmp;
	berth_err *err;
	int64_t *finish; /* [n+1][n_devs] of gates, proven */
	int64_t *rest;   /* [n+1][n_devs] from the end of a gate to the end of all, as known */
	int64_t target;
	berth_certificate c;
	size_t cap_claims, cap_trees;
	berth_tree_prices prices;
	int32_t *op; /* of the block at hand */
} work;

static bool may_stand(const work *w, int32_t gate, int32_t d)
{
	return gate < 0 ? d == 0 : berth_op_legal(w->p, gate, d);
}

static int64_t sum_of(int64_t a, int64_t b)
{
	return a < INT64_MAX / 4 && b < INT64_MAX / 4 ? a + b : INT64_MAX / 4;
}

static void find_rests(work *w)
{
	int32_t devs = w->p->n_devs;
	for (int32_t k = w->n - 1; k >= 0; k--)
		for (int32_t d = 0; d < devs; d++) {
			int64_t *rest = &w->rest[k * devs + d];
			*rest = INT64_MAX / 4;
			for (int32_t e = 0; e < devs && may_stand(w, w->block[k].entry, d); e++) {
				int64_t way = may_stand(w, w->block[k].exit, e)
				                      ? sum_of(w->block[k].lower[d * devs + e],
				                               w->rest[(k + 1) * devs + e])
				                      : INT64_MAX / 4;
				*rest = way < *rest ? way : *rest;
			}
		}
}

static int32_t list_ops(work *w, const berth_known_block *b)
{
	int32_t n = 0;
	if (b->entry >= 0)
		w->op[n++] = b->entry;
	for (int32_t k = b->first; k < b->last; k++)
		w->op[n++] = w->p->g->topo_op[k];
	if (b->exit >= 0)
		w->op[n++] = b->exit;
	return n;
}

/* A tree for a block that looks the same, if there is one. */
static const berth_block_claim *known_claim(const work *w, const berth_known_block *b, int32_t d, int32_t e,
                                            int64_t need)
{
	for (int32_t k = 0; k < w->c.n_claims; k++) {
		const berth_block_claim *c = &w->c.claim[k];
		const berth_known_block *of = &w->block[c->block];
		if (of->lower == b->lower && (of->entry < 0) == (b->entry < 0) &&
		    (of->exit < 0) == (b->exit < 0) && c->from == d && c->to == e && c->bound_ns >= need)
			return c;
	}
	return NULL;
}

static berth_status try_tree(work *w, berth_block *b, int32_t d, int32_t e, int64_t claim_ns,
                             berth_case_tree *tree, bool *proven)
{
	int64_t nodes = 0;
	return berth_tree_prove(b, d, e, claim_ns, w->x->nodes, &w->prices, w->x->mem, w->tmp, tree, proven,
	                        &nodes, w->err);
}

/* The most between low, which needs no proof, and high that a tree proves. *claim: what it is. */
static berth_status find_tree(work *w, int32_t n, const berth_known_block *b, int32_t d, int32_t e,
                              int64_t low, int64_t high, berth_block_claim *claim)
{
	berth_block *x;
	berth_case_tree tree, best = {0};
	bool proven;
	*claim = (berth_block_claim){.from = d, .to = e, .tree = -1, .prices = -1, .bound_ns = low};
	if (n > BERTH_CERTIFICATE_TREE_OPS || w->p->n_devs > BERTH_CERTIFICATE_TREE_DEVS) {
		/* Where a block is too large for trees: what its operators load, before the gate that ends
		 * it. */
		int64_t ns;
		int32_t at = -1, entry = b->entry >= 0, exit = b->exit >= 0;
		BERTH_TRY(berth_tree_loads(w->p, n - entry - exit, w->op + entry, &w->prices, &at, &ns,
		                           w->x->mem, w->tmp, w->err));
		ns += exit ? berth_op_time(w->p, b->exit, claim->to) : 0;
		if (at >= 0 && ns > claim->bound_ns) {
			claim->prices = at;
			claim->bound_ns = ns;
		}
		return BERTH_OK;
	}
	BERTH_TRY(berth_block_new(w->p, n, w->op, b->entry >= 0, b->exit >= 0, w->tmp, &x, w->err));
	BERTH_TRY(try_tree(w, x, d, e, high, &tree, &proven));
	for (int32_t k = 0; k < HALVES && !proven && high - low > low / 10000 + 1; k++) {
		int64_t half = low + (high - low) / 2;
		BERTH_TRY(try_tree(w, x, d, e, half, &tree, &proven));
		if (proven) {
			best = tree;
			low = half;
			proven = false;
		} else {
			high = half;
		}
	}
	if (proven) {
		best = tree;
		low = high;
	}
	if (best.n == 0)
		return BERTH_OK;
	BERTH_TRY(BERTH_GROW(w->x->mem, w->c.tree, w->c.n_trees, &w->cap_trees, w->err));
	w->c.tree[w->c.n_trees] = best;
	claim->tree = w->c.n_trees++;
	claim->bound_ns = low;
	return BERTH_OK;
}

/* What a pair of devices of block k comes to, proven where the chain needs it. */
static berth_status pass_pair(work *w, int32_t k, int32_t n, int32_t d, int32_t e, int64_t *length)
{
	const berth_known_block *b = &w->block[k];
	int32_t devs = w->p->n_devs;
	int64_t before = w->finish[k * devs + d], after = w->rest[(k + 1) * devs + e],
		known = b->lower[d * devs + e];
	*length = b->paths[d * devs + e];
	if (before >= INT64_MAX / 4 || after >= INT64_MAX / 4 || *length >= INT64_MAX / 4)
		return BERTH_OK;
	int64_t need = w->target - before - after;
	need = need < known ? need : known;
	if (need <= *length)
		return BERTH_OK;
	const berth_block_claim *same = known_claim(w, b, d, e, need);
	berth_block_claim claim;
	berth_arena_mark mark = berth_arena_get_mark(w->tmp);
	if (same)
		claim = *same;
	else
		BERTH_TRY(find_tree(w, n, b, d, e, *length, need, &claim));
	berth_arena_reset(w->tmp, mark);
	if (claim.tree < 0 && claim.prices < 0)
		return BERTH_OK;
	claim.block = k;
	*length = claim.bound_ns;
	return BERTH_PUSH(w->x->mem, w->c.claim, w->c.n_claims, &w->cap_claims, w->err, claim);
}

static berth_status pass_block(work *w, int32_t k)
{
	int32_t devs = w->p->n_devs, n = list_ops(w, &w->block[k]);
	int64_t *finish = w->finish + (k + 1) * devs, least = INT64_MAX / 4;
	for (int32_t e = 0; e < devs; e++) {
		finish[e] = INT64_MAX / 4;
		for (int32_t d = 0; d < devs && may_stand(w, w->block[k].exit, e); d++) {
			int64_t length;
			if (!may_stand(w, w->block[k].entry, d))
				continue;
			BERTH_TRY(pass_pair(w, k, n, d, e, &length));
			int64_t at = sum_of(w->finish[k * devs + d], length);
			finish[e] = at < finish[e] ? at : finish[e];
		}
		int64_t all = sum_of(finish[e], w->rest[(k + 1) * devs + e]);
		least = all < least ? all : least;
	}
	w->target = least; /* less than before where a proof fell short */
	return BERTH_OK;
}

berth_status berth_certify_blocks(const berth_problem *p, const berth_known_block *block, int32_t n_blocks,
                                  berth_bound_proof *x, berth_arena *tmp, berth_err *err)
{
	work w = {.p = p,
	          .block = block,
	          .n = n_blocks,
	          .x = x,
	          .tmp = tmp,
	          .err = err,
	          .c = {.kind = BERTH_CERTIFICATE_BLOCKS}};
	BERTH_SCRATCH(tmp);
	size_t devs = (size_t)w.p->n_devs;
	BERTH_TRY_NEW(w.tmp, ((size_t)w.n + 1) * devs, w.err, w.finish, w.rest);
	BERTH_TRY_NEW(w.tmp, w.p->n_ops, w.err, w.op);
	BERTH_TRY_NEW(w.x->mem, w.n, w.err, w.c.gate);
	for (int32_t k = 0; k < w.n; k++)
		if (w.block[k].exit >= 0)
			w.c.gate[w.c.n_gates++] = w.block[k].exit;
	for (int32_t d = 1; d < w.p->n_devs; d++)
		w.finish[d] = INT64_MAX / 4;
	find_rests(&w);
	w.target = w.rest[0];
	for (int32_t k = 0; k < w.n; k++)
		BERTH_TRY(pass_block(&w, k));
	w.c.price_vector = w.prices.price;
	w.c.n_prices = w.prices.n;
	return berth_bound_proof_offer(w.x, w.p, &w.c, w.tmp, w.err);
}
