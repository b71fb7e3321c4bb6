/* Certificates by gates: a block between two gates takes as long as its claim for a pair of devices says,
 * or else as its paths take. Claims are proven by trees of cases, or by loads. */
#include "certificate_cases.h"

typedef struct work {
	const berth_certificate *c;
	const berth_problem *p;
	berth_arena *tmp;
	berth_err *err;
	int32_t *op;     /* [n_ops] of the block at hand */
	int64_t *end;    /* [n_ops][n_devs] least time from the block's beginning to the end there */
	int64_t *least;  /* [n_devs][n_devs] of the block at hand */
	int64_t *finish; /* [2][n_devs] of a gate */
	const berth_case_tree *tree;
	berth_block *block;
	int64_t claim_ns;
	int32_t at; /* in the tree */
} work;

static int32_t gate_of(const berth_certificate *c, int32_t block)
{
	return block >= 0 && block < c->n_gates ? c->gate[block] : -1;
}

/* ---- gates ---- */

/* Marks what is above or below op; op itself too. Returns how many. */
static int32_t mark_related(const berth_problem *p, int32_t op, uint8_t *mark)
{
	const berth_graph *g = p->g;
	int32_t n = 1;
	memset(mark, 0, (size_t)p->n_ops);
	mark[op] = 3;
	for (int32_t k = g->op_topo[op] + 1; k < p->n_ops; k++) {
		int32_t at = g->topo_op[k];
		BERTH_EACH (i, g->op_in_off, at)
			mark[at] |= mark[g->tensor_producer[g->in_tensor[i]]] & 1;
		n += mark[at];
	}
	for (int32_t k = g->op_topo[op] - 1; k >= 0; k--) {
		int32_t at = g->topo_op[k];
		BERTH_EACH_USE (e, g, at)
			mark[at] |= mark[g->edge_consumer[e]] & 2;
		n += mark[at] != 0;
	}
	return n;
}

static berth_status check_gates(work *w)
{
	const berth_problem *p = w->p;
	uint8_t *mark;
	BERTH_TRY_NEW(w->tmp, p->n_ops, w->err, mark);
	for (int32_t k = 0; k < w->c->n_gates; k++) {
		int32_t op = w->c->gate[k];
		if (k && p->g->op_topo[w->c->gate[k - 1]] >= p->g->op_topo[op])
			return berth_fail(w->err, BERTH_EFORMAT,
			                  "its gate '%.80s' does not come after '%.80s'", p->g->op_name[op],
			                  p->g->op_name[w->c->gate[k - 1]]);
		if (mark_related(p, op, mark) != p->n_ops)
			return berth_fail(w->err, BERTH_EFORMAT,
			                  "its gate '%.80s' is none: some operators stand beside it",
			                  p->g->op_name[op]);
	}
	return BERTH_OK;
}

/* ---- what a block takes by its paths ---- */

/* Operators of a block: its gates, and what is between them. */
static int32_t list_block(work *w, int32_t block)
{
	const berth_graph *g = w->p->g;
	int32_t before = gate_of(w->c, block - 1), after = gate_of(w->c, block), n = 0;
	int32_t last = after < 0 ? g->n_ops - 1 : g->op_topo[after];
	for (int32_t k = before < 0 ? 0 : g->op_topo[before]; k <= last; k++)
		w->op[n++] = g->topo_op[k];
	return n;
}

static int64_t *row(work *w, int32_t op)
{
	return w->end + (size_t)op * (size_t)w->p->n_devs;
}

/* When op can end on d at the earliest, if it takes what is between first (topological place) and it. */
static int64_t end_on(work *w, int32_t op, int32_t d, int32_t first)
{
	const berth_graph *g = w->p->g;
	int64_t ready = 0;
	BERTH_EACH (i, g->op_in_off, op) {
		int32_t t = g->in_tensor[i], from = g->tensor_producer[t];
		int64_t least = CERTIFICATE_NEVER;
		if (g->op_topo[from] < first)
			continue;
		for (int32_t l = 0; l < w->p->n_devs; l++) {
			int64_t there = row(w, from)[l] < CERTIFICATE_NEVER
			                        ? row(w, from)[l] + berth_transfer_ns(w->p, t, l, d)
			                        : CERTIFICATE_NEVER;
			least = there < least ? there : least;
		}
		ready = least > ready ? least : ready;
	}
	return ready < CERTIFICATE_NEVER ? ready + berth_op_time(w->p, op, d) : ready;
}

/* least[from][*] of a block of n operators. */
static void paths_from(work *w, int32_t block, int32_t n, int32_t from)
{
	const berth_problem *p = w->p;
	bool entry = gate_of(w->c, block - 1) >= 0, exit = gate_of(w->c, block) >= 0;
	int64_t *least = w->least + (size_t)from * (size_t)p->n_devs, longest = 0;
	for (int32_t k = 0; k < n; k++) {
		int64_t *end = row(w, w->op[k]), first = CERTIFICATE_NEVER;
		for (int32_t d = 0; d < p->n_devs; d++) {
			end[d] = CERTIFICATE_NEVER;
			if (entry && k == 0)
				end[d] = d == from ? 0 : CERTIFICATE_NEVER;
			else if (berth_op_legal(p, w->op[k], d))
				end[d] = end_on(w, w->op[k], d, n ? p->g->op_topo[w->op[0]] : 0);
			first = end[d] < first ? end[d] : first;
		}
		longest = first > longest ? first : longest;
	}
	for (int32_t d = 0; d < p->n_devs; d++)
		least[d] = !exit ? (d == 0 ? longest : CERTIFICATE_NEVER) : row(w, w->op[n - 1])[d];
}

/* ---- trees ---- */

static berth_status tree_fail(work *w, const char *what)
{
	return berth_fail(w->err, BERTH_EFORMAT, "node %d of tree %d: %s", (int)w->at,
	                  (int)(w->tree - w->c->tree), what);
}

static berth_status next_code(work *w, int32_t *code)
{
	if (w->at == w->tree->n)
		return tree_fail(w, "the tree ends early");
	*code = w->tree->code[w->at++];
	return BERTH_OK;
}

static berth_status walk(work *w, const berth_case *parent);

/* A device that is left out has a mirror image that is not. */
static bool stands_for(work *w, const berth_case *c, int32_t d, uint32_t mask)
{
	for (uint32_t left = mask; left; left &= left - 1)
		if (berth_case_mirrored(w->block, c, d, __builtin_ctz(left)))
			return true;
	return false;
}

/* May operator i be split over the devices of mask? */
static berth_status check_devices(work *w, const berth_case *c, int32_t i, uint32_t mask)
{
	if (i < 0 || i >= w->block->n || berth_case_fixed(c, i))
		return tree_fail(w, "the operator is not there, or has its device");
	for (uint32_t left = c->dev[i] & ~mask; left; left &= left - 1)
		if (!stands_for(w, c, __builtin_ctz(left), mask & c->dev[i]))
			return tree_fail(w, "a device is left out");
	return BERTH_OK;
}

static berth_status check_orders(work *w, const berth_case *c, int32_t i, int32_t j)
{
	bool open = i >= 0 && j >= 0 && i < w->block->n && j < w->block->n && i != j &&
	            berth_case_open_pair(w->block, c, i, j);
	return open ? BERTH_OK : tree_fail(w, "the order of the pair is not open");
}

/* The nodes below: operator i on each device of the mask j; or, by `orders`, i before j and j before i. */
static berth_status walk_below(work *w, const berth_case *c, bool orders)
{
	int32_t i = 0, j = 0;
	BERTH_SCRATCH(w->tmp);
	berth_case *child;
	BERTH_TRY(next_code(w, &i));
	BERTH_TRY(next_code(w, &j));
	BERTH_TRY(orders ? check_orders(w, c, i, j) : check_devices(w, c, i, (uint32_t)j));
	BERTH_TRY_NEW(w->tmp, 1, w->err, child);
	for (uint32_t left = orders ? 3 : (uint32_t)j; left; left &= left - 1) {
		int32_t k = __builtin_ctz(left);
		*child = *c;
		if (orders)
			berth_case_order(w->block, child, k ? j : i, k ? i : j);
		else
			berth_case_place(w->block, child, i, k);
		BERTH_TRY(walk(w, child));
	}
	return BERTH_OK;
}

/* A node and all below it. Each level decides something, so the depth is at most that of n + n^2 / 2. */
static berth_status walk(work *w, const berth_case *parent)
{
	BERTH_SCRATCH(w->tmp);
	berth_case *c;
	int32_t code = 0;
	BERTH_TRY(next_code(w, &code));
	BERTH_TRY_NEW(w->tmp, 1, w->err, c);
	*c = *parent;
	bool closed = berth_case_conclude(w->block, w->claim_ns, c);
	if (code == 0)
		return closed ? BERTH_OK : tree_fail(w, "it is not closed");
	if (code == 1) {
		int32_t k = 0;
		BERTH_TRY(next_code(w, &k));
		if (k < 0 || k >= w->c->n_prices)
			return tree_fail(w, "there are no such prices");
		size_t n = (size_t)berth_n_resources(w->p);
		return closed || berth_case_overloaded(w->block, w->claim_ns, c,
		                                       w->c->price_vector + (size_t)k * n)
		               ? BERTH_OK
		               : tree_fail(w, "loads at these prices leave room");
	}
	if (code != 2 && code != 3)
		return tree_fail(w, "no such kind of node");
	return closed ? tree_fail(w, "it is closed already") : walk_below(w, c, code == 3);
}

static berth_status check_tree(work *w, const berth_block_claim *k, int32_t n)
{
	berth_case first;
	BERTH_TRY(berth_block_new(w->p, n, w->op, gate_of(w->c, k->block - 1) >= 0,
	                          gate_of(w->c, k->block) >= 0, w->tmp, &w->block, w->err));
	berth_block_first_case(w->block, k->from, k->to, &first);
	w->tree = &w->c->tree[k->tree];
	w->at = 0;
	w->claim_ns = k->bound_ns;
	BERTH_TRY(walk(w, &first));
	return w->at == w->tree->n ? BERTH_OK : tree_fail(w, "more follows than the tree needs");
}

/* ---- claims ---- */

/* What is between the gates, at one vector of prices; the gate that ends the block comes after all of it. */
static berth_status check_loads(work *w, const berth_block_claim *k, int32_t n)
{
	const berth_problem *p = w->p;
	const int64_t *price = w->c->price_vector + (size_t)k->prices * (size_t)berth_n_resources(p);
	certificate_wide sum = 0, units = 0;
	int32_t exit = gate_of(w->c, k->block);
	for (int32_t r = 0; r < berth_n_resources(p); r++)
		units += (certificate_wide)price[r] * berth_units(p, r);
	for (int32_t i = gate_of(w->c, k->block - 1) >= 0; i < n - (exit >= 0); i++) {
		certificate_wide least = -1;
		for (int32_t d = 0; d < p->n_devs; d++)
			if (berth_op_legal(p, w->op[i], d)) {
				certificate_wide charge = certificate_charge(p, price, w->op[i], d);
				least = least < 0 || charge < least ? charge : least;
			}
		sum += least < 0 ? 0 : least;
	}
	int64_t last = exit >= 0 ? berth_op_time(p, exit, k->to) : 0;
	return units > 0 && certificate_quotient(sum, units, true) + last >= k->bound_ns
	               ? BERTH_OK
	               : berth_fail(w->err, BERTH_EFORMAT, "the loads of block %d are below its claim",
	                            (int)k->block);
}

static bool may_stand(const work *w, int32_t gate, int32_t d)
{
	return d >= 0 && d < w->p->n_devs && (gate < 0 ? d == 0 : berth_op_legal(w->p, gate, d));
}

static berth_status check_claim(work *w, const berth_block_claim *k, int32_t n)
{
	const berth_certificate *c = w->c;
	if (!may_stand(w, gate_of(c, k->block - 1), k->from) || !may_stand(w, gate_of(c, k->block), k->to))
		return berth_fail(w->err, BERTH_EFORMAT,
		                  "block %d has a claim of devices where its gates cannot be", (int)k->block);
	bool by_tree = k->tree >= 0;
	if (by_tree ? k->tree >= c->n_trees : k->prices < 0 || k->prices >= c->n_prices)
		return berth_fail(w->err, BERTH_EFORMAT, "the claim of block %d has no proof", (int)k->block);
	BERTH_SCRATCH(w->tmp);
	berth_status st = by_tree ? check_tree(w, k, n) : check_loads(w, k, n);
	int64_t *least = &w->least[berth_cell(w->p, k->from, k->to)];
	*least = k->bound_ns > *least ? k->bound_ns : *least;
	return st;
}

/* Claims stand in the order of blocks; *next is the first that is not used yet. */
static berth_status pass_block(work *w, int32_t block, int32_t *next)
{
	const berth_problem *p = w->p;
	size_t devs = (size_t)p->n_devs;
	int64_t *before = w->finish + (size_t)(block % 2) * devs,
		*finish = w->finish + (size_t)((block + 1) % 2) * devs;
	int32_t n = list_block(w, block), entry = gate_of(w->c, block - 1);
	for (int32_t d = 0; d < p->n_devs; d++)
		if (may_stand(w, entry, d))
			paths_from(w, block, n, d);
	for (; *next < w->c->n_claims && w->c->claim[*next].block == block; ++*next)
		BERTH_TRY(check_claim(w, &w->c->claim[*next], n));
	for (size_t e = 0; e < devs; e++) {
		finish[e] = CERTIFICATE_NEVER;
		for (size_t d = 0; d < devs; d++)
			if (may_stand(w, entry, (int32_t)d) && before[d] < CERTIFICATE_NEVER &&
			    w->least[d * devs + e] < CERTIFICATE_NEVER &&
			    before[d] + w->least[d * devs + e] < finish[e])
				finish[e] = before[d] + w->least[d * devs + e];
	}
	return BERTH_OK;
}

berth_status certificate_blocks(const berth_certificate *c, const berth_problem *p, berth_arena *tmp,
                                int64_t *proven_ns, berth_err *err)
{
	work w = {.c = c, .p = p, .tmp = tmp, .err = err};
	size_t devs = (size_t)p->n_devs;
	int32_t next = 0;
	BERTH_TRY_NEW(tmp, p->n_ops, err, w.op);
	BERTH_TRY_NEW(tmp, (size_t)p->n_ops * devs, err, w.end);
	BERTH_TRY_NEW(tmp, devs * devs, err, w.least);
	BERTH_TRY_NEW(tmp, 2 * devs, err, w.finish);
	BERTH_TRY(check_gates(&w));
	for (size_t d = 1; d < devs; d++)
		w.finish[d] = CERTIFICATE_NEVER;
	for (int32_t block = 0; block <= c->n_gates; block++)
		BERTH_TRY(pass_block(&w, block, &next));
	if (next < c->n_claims)
		return berth_fail(err, BERTH_EFORMAT, "its claims are not in the order of blocks");
	int64_t least = CERTIFICATE_NEVER;
	for (size_t d = 0; d < devs; d++) {
		int64_t at = w.finish[(size_t)((c->n_gates + 1) % 2) * devs + d];
		least = at < least ? at : least;
	}
	*proven_ns = least < CERTIFICATE_NEVER ? least : 0;
	return BERTH_OK;
}
