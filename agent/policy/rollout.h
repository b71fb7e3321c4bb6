/* Sequential decoding on a search: the most probable placement offered, and draws offered in batches on all
 * workers. */
#pragma once

#include "decode.h"
#include "search.h"

typedef struct berth_rollout {
	berth_search *s;
	const berth_encoding *e;
	berth_decoder **decoder; /* [workers of the search's pool] */
} berth_rollout;

/* For what e encodes, the problem of s. In mem. Fails: BERTH_ENOMEM. */
berth_status berth_rollout_new(berth_search *s, const berth_encoding *e, berth_arena *mem, berth_rollout *out,
                               berth_err *err);

/* Offer the most probable placement, with its order, and again with more of memory asked for where it does
 * not fit (berth_offer_schedule). Then the same with the operators listed by the ranks of that placement
 * (ready.h), up to 8 passes, until two in a row are no better. from [n_ops], of legal devices, guides the
 * first pass already; NULL: nothing does. Fails: BERTH_ENOMEM. */
berth_status berth_rollout_offer_greedy(const berth_rollout *w, const policy_stepper *net,
                                        const int32_t *from, berth_arena *tmp, berth_err *err);

/* A batch of draws. Episode i has the random stream (seed, first + i). */
typedef struct berth_rollout_batch {
	int32_t n;
	uint64_t seed;
	int64_t first;
	double temperature, key_sigma;
	const berth_guide *guide;  /* NULL: none */
	int32_t *op_devs, *orders; /* out [n][n_ops] */
	berth_score *scores;       /* out [n][2]: by the system's rule, by the order drawn */
	berth_episode *episode;    /* out [n], or NULL: not kept */
} berth_rollout_batch;

/* Draw and offer. 2 n evaluations. Same results for any number of workers. */
void berth_rollout_draw(const berth_rollout *w, const policy_stepper *net, const berth_rollout_batch *b);

/* The same in two halves, for those who draw several batches at once: draw and score all on one worker of the
 * pool, whose decoder and evaluator no one else uses meanwhile; and offer what was drawn. */
void berth_rollout_draw_alone(const berth_rollout *w, int32_t worker, const policy_stepper *net,
                              const berth_rollout_batch *b);
void berth_rollout_offer(const berth_rollout *w, const berth_rollout_batch *b);

/* The better of the two scores of draw i. */
static inline berth_score berth_rollout_score(const berth_rollout_batch *b, int32_t i)
{
	return b->scores[2 * i + berth_score_less(b->scores[2 * i + 1], b->scores[2 * i])];
}
