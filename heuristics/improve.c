/* First improvement over moves of blocks of operators (colocation groups, or groups of them), and the local
 * search that is made of it. Blocks wait in a queue. The one in front is tried on its other devices,
 * and a move that improves is made at once.
 *
 * Moves are scored several at a time against the present placement. Those after the one that is made are
 * dropped unseen. So the result and the evaluations counted do not depend on the number of workers.
 *
 * Iterated local search: H. R. Lourenco, O. C. Martin, T. Stuetzle, "Iterated local search", Handbook of
 * Metaheuristics, 2003. It goes from the incumbent, at first the best of the portfolio, to a local optimum of
 * moves of single colocation groups. Then, until the budget ends, it makes one random move of several
 * colocation groups (moves.h) and improves from the colocation groups that were moved. Where that ended
 * worse, it goes back. */
#include "improve.h"

#include "coloc.h"

enum { MAX_AHEAD = 64 };

typedef struct move {
	int32_t block, dev;
	int64_t at; /* place of the block in the queue */
} move;

typedef struct improver {
	berth_search *s;
	const berth_problem *p;
	berth_blocks blocks;
	/* not NULL: blocks are colocation groups; one that moves puts its neighbours back into the queue */
	const berth_moves *near;
	int32_t *op_dev;    /* the caller's placement */
	berth_score *score; /* and its score */
	int64_t left;       /* evaluations that may still be made */
	int32_t *queue;     /* [blocks.n] ring: places at .. end */
	bool *waits;        /* [blocks.n] is in the queue */
	int64_t at, end;
	int32_t dev;   /* next move: the block at `at` to dev */
	int32_t ahead; /* moves scored at a time */
	move next[MAX_AHEAD];
	int32_t *trial;                /* [ahead][n_ops] */
	berth_keyed trials[MAX_AHEAD]; /* the same */
	berth_score trial_score[MAX_AHEAD];
	int64_t limit_ns[MAX_AHEAD];
} improver;

/* Would moving the block to dev change anything? */
static bool changes(const improver *m, int32_t block, int32_t dev)
{
	BERTH_EACH (i, m->blocks.off, block) {
		int32_t op = m->blocks.op[i];
		if (m->op_dev[op] != dev && berth_op_legal(m->p, op, dev))
			return true;
	}
	return false;
}

static void put(const improver *m, const move *x, int32_t *op_dev)
{
	BERTH_EACH (i, m->blocks.off, x->block)
		if (berth_op_legal(m->p, m->blocks.op[i], x->dev))
			op_dev[m->blocks.op[i]] = x->dev;
}

/* ---- the queue ---- */

static int32_t block_at(const improver *m, int64_t at)
{
	return m->queue[at % m->blocks.n];
}

static void push(improver *m, int32_t block)
{
	if (m->waits[block])
		return;
	m->waits[block] = true;
	m->queue[m->end++ % m->blocks.n] = block;
}

static void push_neighbours(improver *m, int32_t coloc)
{
	BERTH_EACH (i, m->near->coloc_near_off, coloc)
		push(m, m->near->coloc_near[i]);
}

/* The next move; false at the end of the queue. */
static bool next_move(improver *m, move *out)
{
	for (; m->at < m->end; m->at++, m->dev = 0)
		while (m->dev < m->p->n_devs) {
			*out = (move){block_at(m, m->at), m->dev++, m->at};
			if (changes(m, out->block, out->dev))
				return true;
		}
	return false;
}

/* ---- moves ---- */

static bool improves(void *ctx, int32_t i, berth_score score)
{
	const improver *m = ctx;
	(void)i;
	return berth_score_less(score, *m->score);
}

/* Score the next moves and make the first that improves. Returns moves scored; *made tells whether one was
 * made. */
static int64_t try_some(improver *m, bool *made)
{
	size_t n_ops = (size_t)m->p->n_ops;
	int64_t from = m->at;
	int32_t most = (int32_t)berth_search_budget_left(m->s, m->left < m->ahead ? m->left : m->ahead),
		n = 0, taken;
	while (n < most && next_move(m, &m->next[n])) {
		int32_t *trial = BERTH_ROW(m->trial, n, n_ops);
		BERTH_COPY(trial, m->op_dev, n_ops);
		m->trials[n] = (berth_keyed){.op_dev = trial};
		put(m, &m->next[n++], trial);
	}
	for (int32_t i = 0; i < n; i++)
		m->limit_ns[i] = berth_score_feasible(*m->score)
		                         ? berth_eval_latency_limit(&m->s->eval[0], m->score->value)
		                         : INT64_MAX;
	taken = n ? berth_search_offer_first(m->s, n, (berth_keyed){.op_dev = m->op_dev}, m->trials,
	                                     m->limit_ns, m->trial_score, improves, m)
	          : 0;
	*made = taken < n;
	if (*made) {
		*m->score = m->trial_score[taken];
		put(m, &m->next[taken], m->op_dev);
		m->at = m->next[taken].at; /* later moves were dropped */
		m->dev = m->next[taken].dev + 1;
	}
	for (; from < m->at; from++)
		m->waits[block_at(m, from)] = false;
	if (*made && m->near)
		push_neighbours(m, m->next[taken].block);
	return *made ? taken + 1 : n;
}

/* Until the queue is empty or no evaluation is left. Was any move made? */
static bool work_off(improver *m)
{
	int64_t n;
	bool made, any = false;
	while ((n = try_some(m, &made)) > 0) {
		m->left -= n;
		any |= made;
	}
	return any;
}

static berth_status new_improver(improver *m, berth_arena *tmp, berth_err *err)
{
	int32_t workers = berth_pool_workers(m->s->cfg.pool);
	m->ahead = workers < MAX_AHEAD ? workers : MAX_AHEAD;
	BERTH_TRY(berth_search_prepare_walk(m->s, err));
	BERTH_TRY_NEW(tmp, m->blocks.n, err, m->queue, m->waits);
	return BERTH_NEW(tmp, m->trial, (size_t)m->ahead * (size_t)m->p->n_ops, err);
}

static void shuffle(int32_t *list, int32_t n, berth_rng *rng)
{
	for (int32_t i = n - 1; i > 0; i--) {
		int32_t j = (int32_t)berth_rng_below(rng, (uint32_t)i + 1), x = list[i];
		list[i] = list[j];
		list[j] = x;
	}
}

berth_status berth_improve_blocks(berth_search *s, const berth_blocks *blocks, int32_t *op_dev,
                                  berth_score *score, int64_t evaluations, berth_rng *rng, berth_arena *tmp,
                                  berth_err *err)
{
	improver m = {
		.s = s, .p = s->p, .blocks = *blocks, .op_dev = op_dev, .score = score, .left = evaluations};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(new_improver(&m, tmp, err));
	for (int32_t b = 0; b < blocks->n; b++)
		m.queue[b] = b;
	do {
		shuffle(m.queue, blocks->n, rng);
		m.at = m.dev = 0;
		m.end = blocks->n;
	} while (work_off(&m) && m.at == m.end);
	return BERTH_OK;
}

static berth_blocks all_colocs(const berth_problem *p)
{
	return (berth_blocks){p->n_colocs, p->coloc_off, p->coloc_op};
}

berth_status berth_improve(berth_search *s, int32_t *op_dev, berth_score *score, int64_t evaluations,
                           berth_rng *rng, berth_arena *tmp, berth_err *err)
{
	berth_blocks colocs = all_colocs(s->p);
	return berth_improve_blocks(s, &colocs, op_dev, score, evaluations, rng, tmp, err);
}

/* The same from the given colocation groups and their neighbours. A colocation group that moves lets its
 * neighbours be tried again. Ends in a local optimum where only the neighbourhood of the colocation groups
 * had been changed from one, or when no budget is left. */
static berth_status improve_near(berth_search *s, const berth_moves *near, int32_t *op_dev,
                                 berth_score *score, const int32_t *colocs, int32_t n_colocs, berth_rng *rng,
                                 berth_arena *tmp, berth_err *err)
{
	improver m = {.s = s,
	              .p = s->p,
	              .blocks = all_colocs(s->p),
	              .near = near,
	              .op_dev = op_dev,
	              .score = score,
	              .left = INT64_MAX};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(new_improver(&m, tmp, err));
	for (int32_t i = 0; i < n_colocs; i++) {
		push(&m, colocs[i]);
		push_neighbours(&m, colocs[i]);
	}
	shuffle(m.queue, (int32_t)m.end, rng);
	work_off(&m);
	return BERTH_OK;
}

#define LARGEST_MOVE 0.05 /* of all colocation groups */

/* One random move and improvement around it, kept in op_dev if it ends no worse. */
static berth_status kick(berth_search *s, berth_moves *moves, int32_t *op_dev, berth_score *score,
                         int32_t *trial, berth_rng *rng, berth_arena *tmp, berth_err *err)
{
	size_t bytes = (size_t)s->p->n_ops * sizeof *op_dev;
	memcpy(trial, op_dev, bytes);
	if (berth_moves_draw(moves, LARGEST_MOVE, 1, rng, trial) == 0)
		return BERTH_OK;
	berth_score trial_score = berth_search_offer(s, trial, NULL);
	BERTH_TRY(improve_near(s, moves, trial, &trial_score, moves->moved, moves->n_moved, rng, tmp,
	                             err));
	if (berth_score_less(*score, trial_score))
		return BERTH_OK;
	*score = trial_score;
	memcpy(op_dev, trial, bytes);
	return BERTH_OK;
}

berth_status berth_local_search(berth_search *s, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = s->p;
	berth_rng rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD);
	berth_moves moves;
	int32_t *op_dev, *trial;
	if (!berth_can_move(p) || berth_search_budget_left(s, 1) == 0)
		return BERTH_OK;
	BERTH_TRY(berth_moves_new(p, tmp, &moves, err));
	BERTH_TRY_NEW(tmp, p->n_ops, err, op_dev, trial);
	BERTH_COPY(op_dev, s->best_dev, p->n_ops);
	/* The incumbent may have its value from an order of its own. */
	berth_score score = berth_search_offer(s, op_dev, NULL);
	BERTH_TRY(berth_improve(s, op_dev, &score, INT64_MAX, &rng, tmp, err));
	while (berth_search_budget_left(s, 1))
		BERTH_TRY(kick(s, &moves, op_dev, &score, trial, &rng, tmp, err));
	return BERTH_OK;
}
