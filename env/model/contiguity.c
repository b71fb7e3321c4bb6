/* Contiguity, operator after operator; see contiguity.h. */
#include "contiguity.h"

#include <string.h>

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

static bool has(const uint64_t *bits, int32_t piece)
{
	return piece >= 0 && (bits[piece / WORD] >> (piece % WORD) & 1);
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
	memset(t->met + (size_t)op * t->words, 0, t->words * sizeof *t->met);
	memset(t->left + (size_t)op * t->words, 0, t->words * sizeof *t->left);
	for (int32_t i = g->op_in_off[op]; !t->backwards && i < g->op_in_off[op + 1]; i++)
		join(t, op, g->tensor_producer[g->in_tensor[i]]);
	for (int32_t x = g->op_tensor_off[op]; t->backwards && x < g->op_tensor_off[op + 1]; x++)
		for (int32_t e = g->tensor_use_off[x]; e < g->tensor_use_off[x + 1]; e++)
			join(t, op, g->edge_consumer[e]);
}

bool contiguity_reenters(const contiguity *t, int32_t op, int32_t dev)
{
	return has(t->left + (size_t)op * t->words, piece_of(t->p, op, dev));
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
