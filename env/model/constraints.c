/* The rules of placements: compiled into a problem's tables, and counted where a placement breaks them.
 * Cuts and contiguity, which join colocation groups, come first. */
#include "constraints.h"

#include "sort.h"

/* ---- cuts ---- */

/* Operators by block, in topological order within each. */
static berth_status by_block(const berth_problem *p, int32_t **order, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *key, *off;
	BERTH_TRY_NEW(tmp, p->n_ops, err, key);
	for (int32_t k = 0; k < p->n_ops; k++)
		key[k] = g->op_block[g->topo_op[k]];
	return berth_csr_new(g->n_blocks, p->n_ops, key, g->topo_op, tmp, &off, order, err);
}

berth_status berth_cuts_operators(const berth_problem *p, int32_t *order, int32_t *op_chain, berth_arena *tmp,
                                  berth_err *err)
{
	BERTH_SCRATCH(tmp);
	int32_t *list, at = -1;
	BERTH_TRY(by_block(p, &list, tmp, err));
	for (int32_t k = 0; k < p->n_ops; k++) {
		at += k == 0 || p->op_coloc[list[k]] != p->op_coloc[list[k - 1]];
		order[k] = list[k];
		op_chain[list[k]] = at;
	}
	return BERTH_OK;
}

static berth_status compile_cuts(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	int32_t *list;
	p->max_cuts = -1;
	p->n_chain = 0;
	if (!p->g->op_block)
		return BERTH_OK;
	p->max_cuts = p->g->max_cuts;
	BERTH_TRY_NEW(mem, p->n_ops, err, p->chain_coloc);
	BERTH_TRY(by_block(p, &list, tmp, err));
	for (int32_t k = 0; k < p->n_ops; k++)
		if (k == 0 || p->op_coloc[list[k]] != p->op_coloc[list[k - 1]])
			p->chain_coloc[p->n_chain++] = p->op_coloc[list[k]];
	return BERTH_OK;
}

static int32_t first_op(const berth_problem *p, int32_t at)
{
	return p->coloc_op[p->coloc_off[p->chain_coloc[at]]];
}

int64_t berth_cuts(const berth_problem *p, const int32_t *op_dev)
{
	int64_t cuts = 0;
	for (int32_t k = 1; k < p->n_chain; k++)
		cuts += op_dev[first_op(p, k)] != op_dev[first_op(p, k - 1)];
	return cuts;
}

int64_t berth_cuts_above(const berth_problem *p, const int32_t *op_dev)
{
	int64_t above = p->max_cuts >= 0 ? berth_cuts(p, op_dev) - p->max_cuts : 0;
	return above > 0 ? above : 0;
}

/* Legal devices shrink along a stage until none is left; there a cut must be. That is the fewest, as a stage
 * that goes as far as it can never hinders those behind it. */
int64_t berth_cuts_least(const berth_problem *p)
{
	int64_t cuts = 0;
	int32_t from = 0;
	if (p->max_cuts < 0)
		return -1;
	for (int32_t k = 0; k < p->n_chain; k++) {
		bool any = false;
		for (int32_t d = 0; d < p->n_devs && !any; d++) {
			any = true;
			for (int32_t i = from; i <= k && any; i++)
				any = berth_op_legal(p, first_op(p, i), d);
		}
		if (any || from == k)
			continue;
		cuts++;
		from = k;
	}
	return cuts;
}

/* ---- contiguity ---- */

enum { WORD = 64 };

size_t contiguity_words(const berth_problem *p)
{
	return (2 * (size_t)p->n_pieces + WORD - 1) / WORD;
}

contiguity contiguity_new(const berth_problem *p, bool backwards, uint64_t *scratch)
{
	size_t words = contiguity_words(p);
	return (contiguity){p, words, backwards, scratch, scratch + words * ((size_t)p->n_ops + 1)};
}

static int32_t piece_of(const berth_problem *p, int32_t op, int32_t dev)
{
	return dev < 0 || p->dev_piece[dev] < 0 ? -1 : 2 * p->dev_piece[dev] + p->g->op_backward[op];
}

static void join(const contiguity *t, int32_t op, int32_t from)
{
	for (size_t w = 0; w < t->words; w++) {
		t->met[(size_t)op * t->words + w] |= t->met[(size_t)from * t->words + w];
		t->left[(size_t)op * t->words + w] |= t->left[(size_t)from * t->words + w];
	}
}

void contiguity_arrive(const contiguity *t, int32_t op)
{
	const berth_graph *g = t->p->g;
	BERTH_CLEAR(t->met + (size_t)op * t->words, t->words);
	BERTH_CLEAR(t->left + (size_t)op * t->words, t->words);
	for (int32_t i = g->op_in_off[op]; !t->backwards && i < g->op_in_off[op + 1]; i++)
		join(t, op, g->tensor_producer[g->in_tensor[i]]);
	for (int32_t x = g->op_tensor_off[op]; t->backwards && x < g->op_tensor_off[op + 1]; x++)
		BERTH_EACH (e, g->tensor_use_off, x)
			join(t, op, g->edge_consumer[e]);
}

bool contiguity_reenters(const contiguity *t, int32_t op, int32_t dev)
{
	const uint64_t *bits = t->left + (size_t)op * t->words;
	int32_t piece = piece_of(t->p, op, dev);
	return piece >= 0 && (bits[piece / WORD] >> (piece % WORD) & 1);
}

void contiguity_settle(const contiguity *t, int32_t op, int32_t dev)
{
	uint64_t *met = t->met + (size_t)op * t->words, *left = t->left + (size_t)op * t->words;
	int32_t piece = piece_of(t->p, op, dev);
	for (size_t w = 0; dev >= 0 && w < t->words; w++) {
		uint64_t own = piece >= 0 && (size_t)(piece / WORD) == w ? UINT64_C(1) << (piece % WORD) : 0;
		left[w] |= met[w] & ~own;
		met[w] |= own;
	}
}

int64_t contiguity_broken(const berth_problem *p, const int32_t *op_dev, uint8_t *breaks,
                                 uint64_t *scratch)
{
	contiguity t = contiguity_new(p, false, scratch);
	int64_t broken = 0;
	for (int32_t k = 0; k < p->n_ops; k++) {
		int32_t op = p->g->topo_op[k];
		contiguity_arrive(&t, op);
		bool here = contiguity_reenters(&t, op, op_dev[op]);
		broken += here;
		if (breaks)
			breaks[op] = here;
		contiguity_settle(&t, op, op_dev[op]);
	}
	return broken;
}

static bool same(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

/* ---- one operator, one device ---- */

bool berth_op_forbids(const berth_problem *p, int32_t op, int32_t dev)
{
	const berth_graph *g = p->g;
	BERTH_EACH (i, g->op_forbid_off, op)
		if (same(g->forbid_dev[i], p->s->dev_name[dev]))
			return true;
	return false;
}

bool berth_op_allows(const berth_problem *p, int32_t op, int32_t dev)
{
	const char *pin = p->g->op_pin[op];
	return berth_op_time(p, op, dev) >= 0 && (!pin || same(pin, p->s->dev_name[dev])) &&
	       !berth_op_forbids(p, op, dev);
}

static berth_status check_pin(const berth_problem *p, int32_t op, berth_err *err)
{
	const char *pin = p->g->op_pin[op];
	char hint[96];
	if (!pin || berth_system_find_dev(p->s, pin) >= 0)
		return BERTH_OK;
	return berth_fail(err, BERTH_EFORMAT,
	                  "operator '%s' is pinned to '%s', which system '%s' does not have%s",
	                  p->g->op_name[op], pin, p->s->name,
	                  berth_text_suggest(hint, sizeof hint, pin, p->s->dev_name, p->n_devs));
}

/* ---- compiling ---- */

static berth_status colocs(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *coloc_of_name;
	BERTH_TRY_NEW(mem, p->n_ops, err, p->op_coloc);
	BERTH_TRY_NEW(tmp, g->n_coloc_names, err, coloc_of_name);
	for (int32_t c = 0; c < g->n_coloc_names; c++)
		coloc_of_name[c] = -1;
	for (int32_t op = 0; op < p->n_ops; op++) {
		int32_t c = g->op_coloc_name[op];
		if (c >= 0 && coloc_of_name[c] >= 0) {
			p->op_coloc[op] = coloc_of_name[c];
			continue;
		}
		p->op_coloc[op] = p->n_colocs;
		if (c >= 0)
			coloc_of_name[c] = p->n_colocs;
		p->n_colocs++;
	}
	return berth_csr_new(p->n_colocs, p->n_ops, p->op_coloc, NULL, mem, &p->coloc_off, &p->coloc_op, err);
}

void berth_constraints_legal(berth_problem *p, int32_t dev)
{
	for (int32_t u = 0; u < p->n_colocs; u++) {
		bool ok = true;
		BERTH_EACH (i, p->coloc_off, u)
			ok = ok && berth_op_allows(p, p->coloc_op[i], dev);
		BERTH_EACH (i, p->coloc_off, u)
			p->op_dev_legal[berth_cell(p, p->coloc_op[i], dev)] = ok;
	}
}

berth_status berth_constraints_compile(berth_problem *p, berth_arena *mem, berth_arena *tmp, berth_err *err)
{
	const berth_graph *g = p->g;
	int32_t *sep_ops;
	BERTH_TRY(colocs(p, mem, tmp, err));
	BERTH_TRY_NEW(mem, (size_t)p->n_ops * (size_t)p->n_devs, err, p->op_dev_legal);
	for (int32_t op = 0; op < p->n_ops; op++)
		BERTH_TRY(check_pin(p, op, err));
	for (int32_t dev = 0; dev < p->n_devs; dev++)
		berth_constraints_legal(p, dev);
	const berth_system *s = p->s;
	BERTH_TRY_NEW(mem, p->n_devs, err, p->dev_limit_bytes, p->dev_piece);
	for (int32_t d = 0; d < p->n_devs; d++) {
		int64_t bytes = s->dev_memory_bytes[d];
		double margin = s->dev_memory_margin[d];
		p->dev_limit_bytes[d] =
			bytes >= 0 && margin > 0 ? bytes - (int64_t)ceil((double)bytes * margin) : bytes;
		p->dev_piece[d] = s->dev_contiguous[d] ? p->n_pieces++ : -1;
	}
	BERTH_TRY_NEW(tmp, g->n_seps, err, sep_ops);
	BERTH_TRY(compile_cuts(p, mem, tmp, err));
	p->coupled = p->n_pieces > 0 || p->max_cuts >= 0;
	for (int32_t op = 0; op < p->n_ops; op++)
		if (g->op_sep[op] >= 0)
			p->coupled |= ++sep_ops[g->op_sep[op]] > 1;
	return BERTH_OK;
}

/* ---- counting ---- */

static size_t dev_words(const berth_problem *p)
{
	return ((size_t)p->n_devs + WORD - 1) / WORD;
}

size_t berth_constraints_scratch(const berth_problem *p)
{
	size_t seps = dev_words(p) * (size_t)p->g->n_seps,
	       pieces = 2 * contiguity_words(p) * ((size_t)p->n_ops + 1);
	return (seps > pieces ? seps : pieces) + 1;
}

static int64_t separation_broken(const berth_problem *p, const int32_t *op_dev, uint64_t *taken)
{
	const berth_graph *g = p->g;
	size_t words = dev_words(p);
	int64_t broken = 0;
	BERTH_CLEAR(taken, words * (size_t)g->n_seps);
	for (int32_t op = 0; op < p->n_ops && g->n_seps; op++) {
		if (g->op_sep[op] < 0)
			continue;
		uint64_t *word = &taken[(size_t)g->op_sep[op] * words + (size_t)op_dev[op] / WORD],
			 bit = UINT64_C(1) << (op_dev[op] % WORD);
		broken += (*word & bit) != 0;
		*word |= bit;
	}
	return broken;
}

int64_t berth_groups_broken(const berth_problem *p, const int32_t *op_dev, uint64_t *scratch)
{
	if (!p->coupled)
		return 0;
	return separation_broken(p, op_dev, scratch) +
	       (p->n_pieces ? contiguity_broken(p, op_dev, NULL, scratch) : 0);
}

int64_t berth_constraints_broken(const berth_problem *p, const int32_t *op_dev, uint64_t *scratch)
{
	return berth_groups_broken(p, op_dev, scratch) + berth_cuts_above(p, op_dev);
}

const char *berth_constraints_joining(const berth_problem *p)
{
	bool joined = p->n_pieces > 0 || p->g->n_seps > 0;
	return p->max_cuts < 0 ? "separation and contiguity"
	       : joined        ? "separation, contiguity and cuts"
	                       : "cuts";
}

void berth_constraints_reentries(const berth_problem *p, const int32_t *op_dev, uint8_t *breaks,
                                 uint64_t *scratch)
{
	BERTH_CLEAR(breaks, p->n_ops);
	if (p->n_pieces)
		contiguity_broken(p, op_dev, breaks, scratch);
}
