/* Biased random-key genetic algorithm: J. F. Goncalves, M. G. C. Resende, J. Heuristics 17, 2011. The keys
 * are those of A. Paliwal et al., "REGAL", ICLR 2020: each colocation group has one for its device among the
 * legal ones, each operator one for its place in the list.
 *
 * A generation keeps its elite, draws some mutants anew, and breeds the rest: each key is an elite parent's
 * with probability BIAS, else another's. The first generation has the portfolio's best placement in it, with
 * keys for the order of upward ranks; the rest of it is drawn. Two evaluations a child: under the system's
 * rule and in its own order. */
#include "coloc.h"
#include "order_walk.h"
#include "ready.h"
#include "registry.h"

enum { POPULATION = 60, ELITE = 12, MUTANTS = 9 };
#define BIAS 0.7

typedef struct genetic {
	berth_search *s;
	berth_rng rng;
	int32_t n_keys;          /* colocation groups, then operators */
	float *keys, *next;      /* [POPULATION][n_keys] */
	berth_score *score;      /* [POPULATION] */
	berth_score *both;       /* [POPULATION][2] */
	int32_t *rank;           /* [POPULATION] best first */
	int32_t *op_devs, *orders; /* [POPULATION][n_ops] */
	int64_t *op_key;
	berth_ready ready;
	int32_t *legal;          /* [n_devs] scratch */
} genetic;

static float *keys_of(const genetic *x, float *all, int32_t i)
{
	return all + (size_t)i * (size_t)x->n_keys;
}

/* Legal devices of a colocation group into legal; returns how many. */
static int32_t list_legal(const genetic *x, int32_t coloc)
{
	int32_t n = 0;
	for (int32_t d = 0; d < x->s->p->n_devs; d++)
		if (berth_coloc_legal(x->s->p, coloc, d))
			x->legal[n++] = d;
	return n;
}

/* Score members from first on. */
static void evaluate(genetic *x, int32_t first)
{
	size_t at = (size_t)first * (size_t)x->s->p->n_ops;
	for (int32_t i = first; i < POPULATION; i++) {
		const berth_problem *p = x->s->p;
		const float *key = keys_of(x, x->keys, i);
		int32_t *dev = BERTH_ROW(x->op_devs, i, p->n_ops), *order = BERTH_ROW(x->orders, i, p->n_ops),
			n = 0;
		for (int32_t u = 0; u < p->n_colocs; u++) {
			int32_t n_legal = list_legal(x, u), k = (int32_t)(key[u] * (float)n_legal);
			berth_coloc_put(p, u, x->legal[k < n_legal ? k : n_legal - 1], dev);
		}
		for (int32_t op = 0; op < p->n_ops; op++)
			x->op_key[op] = (int64_t)((double)key[p->n_colocs + op] * 1e15);
		berth_ready_start(&x->ready, x->op_key);
		for (int32_t op; (op = berth_ready_next(&x->ready)) >= 0;)
			order[n++] = op;
	}
	berth_search_offer_batch_ordered(x->s, POPULATION - first, x->op_devs + at, x->orders + at, x->both);
	for (int32_t i = first; i < POPULATION; i++) {
		const berth_score *b = x->both + 2 * (i - first);
		x->score[i] = b[berth_score_less(b[1], b[0])];
	}
}

static void draw_member(genetic *x, float *key)
{
	for (int32_t k = 0; k < x->n_keys; k++)
		key[k] = (float)berth_rng_unit(&x->rng);
}

static void breed(genetic *x)
{
	for (int32_t i = 0; i < POPULATION; i++) {
		float *child = keys_of(x, x->next, i);
		const float *elite, *other;
		if (i < ELITE) {
			BERTH_COPY(child, keys_of(x, x->keys, x->rank[i]), x->n_keys);
			continue;
		}
		if (i >= POPULATION - MUTANTS) {
			draw_member(x, child);
			continue;
		}
		elite = keys_of(x, x->keys, x->rank[berth_rng_below(&x->rng, ELITE)]);
		other = keys_of(x, x->keys, x->rank[ELITE + berth_rng_below(&x->rng, POPULATION - ELITE)]);
		for (int32_t k = 0; k < x->n_keys; k++)
			child[k] = berth_rng_unit(&x->rng) < BIAS ? elite[k] : other[k];
	}
	berth_score kept[ELITE];
	for (int32_t i = 0; i < ELITE; i++)
		kept[i] = x->score[x->rank[i]];
	memcpy(x->score, kept, sizeof kept);
	float *swap = x->keys;
	x->keys = x->next;
	x->next = swap;
}

static berth_status new_genetic(genetic *x, berth_arena *tmp, berth_err *err)
{
	const berth_problem *p = x->s->p;
	size_t ops = (size_t)p->n_ops;
	x->n_keys = p->n_colocs + p->n_ops;
	BERTH_TRY_NEW(tmp, (size_t)POPULATION * (size_t)x->n_keys, err, x->keys, x->next);
	BERTH_TRY_NEW(tmp, POPULATION, err, x->score);
	BERTH_TRY_NEW(tmp, 2 * POPULATION, err, x->both);
	BERTH_TRY_NEW(tmp, POPULATION, err, x->rank);
	BERTH_TRY_NEW(tmp, POPULATION * ops, err, x->op_devs, x->orders);
	BERTH_TRY_NEW(tmp, ops, err, x->op_key);
	BERTH_TRY_NEW(tmp, p->n_devs, err, x->legal);
	return berth_ready_new(p->g, tmp, &x->ready, err);
}

static berth_status genetic_run(berth_search *s, berth_arena *tmp, berth_err *err)
{
	genetic x = {.s = s, .rng = berth_rng_seed(s->cfg.seed, BERTH_STREAM_METHOD)};
	int32_t first = 0;
	BERTH_TRY(berth_start_from_portfolio(s, tmp, err));
	if (!berth_can_move(s->p))
		return berth_walk_orders(s, tmp, err);
	BERTH_TRY(new_genetic(&x, tmp, err));
	/* Keys that decode to the best placement, and to the order of upward ranks. */
	float *key = x.keys;
	const berth_problem *p = x.s->p;
	for (int32_t u = 0; u < p->n_colocs; u++) {
		int32_t n_legal = list_legal(&x, u), at = 0;
		while (at < n_legal - 1 && x.legal[at] != berth_coloc_dev(p, u, s->best_dev))
			at++;
		key[u] = ((float)at + 0.5F) / (float)n_legal;
	}
	for (int32_t op = 0; op < p->n_ops; op++)
		key[p->n_colocs + op] = 1 - (float)p->op_prio[op] / (float)(p->n_ops + 1);
	for (int32_t i = 1; i < POPULATION; i++)
		draw_member(&x, keys_of(&x, x.keys, i));
	while (berth_search_budget_left(s, 2 * (POPULATION - first)) == 2 * (POPULATION - first)) {
		evaluate(&x, first);
		/* Best first; equal ones stay in their order. */
		for (int32_t i = 0; i < POPULATION; i++) {
			int32_t k = i;
			for (; k > 0 && berth_score_less(x.score[i], x.score[x.rank[k - 1]]); k--)
				x.rank[k] = x.rank[k - 1];
			x.rank[k] = i;
		}
		breed(&x);
		first = ELITE;
	}
	return BERTH_OK;
}

const berth_method berth_method_genetic = {
	"genetic",
	"Biased random-key genetic algorithm over devices and order (Goncalves, Resende 2011; REGAL 2020).",
	true, genetic_run, NULL, "Goncalves, Resende 2011; Paliwal et al. (REGAL), ICLR 2020"};
