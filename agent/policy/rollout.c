/* Sequential decoding on a search: the most probable placement is offered, then draws in batches on all
 * workers. The most probable one is found in passes, each by the ranks of the placement before. */
#include "rollout.h"

#include "offer_schedule.h"
#include "seeds.h"

berth_status berth_rollout_new(berth_search *s, const berth_encoding *e, berth_arena *mem, berth_rollout *out,
                               berth_err *err)
{
	int32_t workers = berth_pool_workers(s->cfg.pool);
	berth_rollout w = {.s = s, .e = e};
	BERTH_TRY_NEW(mem, workers, err, w.decoder);
	for (int32_t i = 0; i < workers; i++)
		BERTH_TRY(berth_decoder_new(e, mem, &w.decoder[i], err));
	*out = w;
	return BERTH_OK;
}

/* ---- the most probable placement ---- */

/* Passes at most, and in a row without a better placement. */
enum { MOST = 8, PATIENCE = 2 };

typedef struct greedy {
	const berth_rollout *w;
	const policy_stepper *net;
	berth_guide guide;
	int32_t *op_dev; /* [n_ops] of the last pass */
} greedy;

static berth_status schedule(void *ctx, berth_partial *part, berth_arena *tmp, berth_err *err)
{
	greedy *g = ctx;
	berth_decode_how how = {.temperature = 1, .guide = &g->guide};
	(void)tmp;
	(void)err;
	berth_decode(g->w->decoder[0], g->net, &how, part, NULL);
	berth_partial_devs(part, g->op_dev);
	return BERTH_OK;
}

berth_status berth_rollout_offer_greedy(const berth_rollout *w, const policy_stepper *net,
                                        const int32_t *from, berth_arena *tmp, berth_err *err)
{
	greedy g = {.w = w, .net = net};
	BERTH_SCRATCH(tmp);
	BERTH_TRY(berth_guide_new(w->e->p, tmp, &g.guide, err));
	BERTH_TRY_NEW(tmp, w->e->p->n_ops, err, g.op_dev);
	if (from)
		berth_guide_set(&g.guide, from);
	/* Each pass takes the operators by the ranks of the placement before; the first one by the problem's
	 * where there is none. */
	berth_search *s = g.w->s;
	int idle = 0;
	for (int k = 0; k < MOST && idle < PATIENCE && !s->cut; k++) {
		berth_score before = s->best;
		if ((k > 0 || g.guide.is_set) && !berth_search_afford(s, berth_seed_list_ns(s->p)))
			break;
		BERTH_TRY(berth_offer_schedule(s, schedule, &g, tmp, err));
		idle = berth_score_less(s->best, before) ? 0 : idle + 1;
		berth_guide_set(&g.guide, g.op_dev);
	}
	return BERTH_OK;
}

/* ---- draws ---- */

typedef struct drawing {
	const berth_rollout *w;
	const policy_stepper *net;
	const berth_rollout_batch *b;
} drawing;

static void draw_one(void *ctx, int32_t item, int32_t worker)
{
	const drawing *d = ctx;
	const berth_rollout_batch *b = d->b;
	size_t at = (size_t)item * (size_t)d->w->e->p->n_ops;
	berth_rng rng = berth_rng_seed(b->seed, BERTH_STREAM_ROLLOUT + (uint64_t)(b->first + item));
	berth_decode_how how = {.rng = &rng,
	                        .temperature = b->temperature,
	                        .key_sigma = b->key_sigma,
	                        .guide = b->guide};
	berth_decoder *decoder = d->w->decoder[worker];
	berth_partial *part = berth_decoder_partial(decoder);
	berth_partial_limit_memory(part, 0);
	berth_decode(decoder, d->net, &how, part, b->episode ? &b->episode[item] : NULL);
	berth_partial_devs(part, b->op_devs + at);
	berth_partial_order(part, b->orders + at);
	berth_search_score_ordered(d->w->s, worker, b->op_devs + at, b->orders + at, b->scores + 2 * item);
}

void berth_rollout_draw(const berth_rollout *w, const policy_stepper *net, const berth_rollout_batch *b)
{
	drawing d = {w, net, b};
	berth_pool_run(w->s->cfg.pool, b->n, draw_one, &d);
	berth_rollout_offer(w, b);
}

void berth_rollout_draw_alone(const berth_rollout *w, int32_t worker, const policy_stepper *net,
                              const berth_rollout_batch *b)
{
	drawing d = {w, net, b};
	for (int32_t i = 0; i < b->n; i++)
		draw_one(&d, i, worker);
}

void berth_rollout_offer(const berth_rollout *w, const berth_rollout_batch *b)
{
	berth_search_offer_scored(w->s, b->n, b->op_devs, b->orders, b->scores);
}
