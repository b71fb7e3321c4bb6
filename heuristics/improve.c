/* First improvement over moves of blocks of operators. A round goes through all blocks in random order and through their other devices; a move that
 * improves is made at once. Moves are scored in blocks against the present placement; those of a block after the one that is made are
 * dropped unseen, so that a block costs no evaluations and the result does not depend on the number of workers. */
#include "method.h"

#include <string.h>

enum { BLOCK = 16 };

typedef struct move {
	int32_t block, dev, at; /* at: place of the block in the round */
} move;

typedef struct improver {
	berth_search *s;
	const berth_problem *p;
	berth_blocks blocks;
	int32_t *op_dev;    /* the caller's placement */
	berth_score *score; /* and its score */
	int64_t left;       /* evaluations that may still be made */
	int32_t *seq;       /* [blocks.n] order of this round */
	int32_t at, dev;    /* next move: seq[at] to dev */
	move block[BLOCK];
	int32_t *trial;     /* [BLOCK][n_ops] */
	berth_score trial_score[BLOCK];
} improver;

/* Would moving the block to dev change anything? */
static bool changes(const improver *m, int32_t block, int32_t dev)
{
	for (int32_t i = m->blocks.off[block]; i < m->blocks.off[block + 1]; i++) {
		int32_t op = m->blocks.op[i];
		if (m->op_dev[op] != dev && berth_op_legal(m->p, op, dev))
			return true;
	}
	return false;
}

static void put(const improver *m, move x, int32_t *op_dev)
{
	for (int32_t i = m->blocks.off[x.block]; i < m->blocks.off[x.block + 1]; i++)
		if (berth_op_legal(m->p, m->blocks.op[i], x.dev))
			op_dev[m->blocks.op[i]] = x.dev;
}

/* The next move of the round; false at its end. */
static bool next_move(improver *m, move *out)
{
	for (; m->at < m->blocks.n; m->at++, m->dev = 0)
		while (m->dev < m->p->n_devs) {
			*out = (move){m->seq[m->at], m->dev++, m->at};
			if (changes(m, out->block, out->dev))
				return true;
		}
	return false;
}

static bool improves(void *ctx, int32_t i, berth_score score)
{
	const improver *m = ctx;
	(void)i;
	return berth_score_less(score, *m->score);
}

/* Score the next block of moves and make the first that improves. Returns moves scored; *made tells whether one was made. */
static int64_t try_block(improver *m, bool *made)
{
	size_t n_ops = (size_t)m->p->n_ops;
	int32_t room = (int32_t)berth_search_room(m->s, m->left < BLOCK ? m->left : BLOCK), n = 0;
	*made = false;
	while (n < room && next_move(m, &m->block[n])) {
		int32_t *trial = m->trial + (size_t)n * n_ops;
		memcpy(trial, m->op_dev, n_ops * sizeof *trial);
		put(m, m->block[n], trial);
		n++;
	}
	if (n == 0)
		return 0;
	int32_t taken = berth_search_offer_first(m->s, n, m->trial, m->trial_score, improves, m);
	if (taken == n)
		return n;
	*made = true;
	*m->score = m->trial_score[taken];
	put(m, m->block[taken], m->op_dev);
	m->at = m->block[taken].at; /* the rest of the block was dropped */
	m->dev = m->block[taken].dev + 1;
	return taken + 1;
}

static void shuffle(int32_t *list, int32_t n, berth_rng *rng)
{
	for (int32_t i = n - 1; i > 0; i--) {
		int32_t j = (int32_t)berth_rng_below(rng, (uint32_t)i + 1), x = list[i];
		list[i] = list[j];
		list[j] = x;
	}
}

berth_status berth_improve_blocks(berth_search *s, const berth_blocks *blocks, int32_t *op_dev, berth_score *score, int64_t evaluations, berth_rng *rng,
                                  berth_arena *tmp, berth_err *err)
{
	improver m = {.s = s, .p = s->p, .blocks = *blocks, .op_dev = op_dev, .score = score, .left = evaluations};
	berth_arena_mark mark = berth_arena_get_mark(tmp);
	bool round_made = true;
	BERTH_TRY(BERTH_NEW(tmp, m.seq, blocks->n, err));
	BERTH_TRY(BERTH_NEW(tmp, m.trial, (size_t)BLOCK * (size_t)s->p->n_ops, err));
	for (int32_t b = 0; b < blocks->n; b++)
		m.seq[b] = b;
	while (round_made) {
		int64_t n;
		bool made;
		shuffle(m.seq, blocks->n, rng);
		m.at = m.dev = 0;
		round_made = false;
		while ((n = try_block(&m, &made)) > 0) {
			m.left -= n;
			round_made |= made;
		}
		if (m.at < blocks->n)
			break; /* no evaluations left */
	}
	berth_arena_reset(tmp, mark);
	return BERTH_OK;
}

berth_status berth_improve(berth_search *s, int32_t *op_dev, berth_score *score, int64_t evaluations, berth_rng *rng, berth_arena *tmp, berth_err *err)
{
	berth_blocks units = {s->p->n_units, s->p->unit_off, s->p->unit_op};
	return berth_improve_blocks(s, &units, op_dev, score, evaluations, rng, tmp, err);
}
