/* What a trained policy proposes for a search, without learning on: its most probable placement, and draws
 * from it. */
#pragma once

#include "method.h"
#include "policy_file.h"
#include "rollout.h"

typedef struct berth_proposals {
	berth_rollout rollout;
	berth_encoding e;
	int32_t n_nets;
	policy_stepper net[2]; /* of the policy, and before it of the one that it was tuned from, if any */
	nn_real *acts;         /* of the policy */
	berth_rollout_batch batch; /* scratch of a batch. n: draws that it holds */
	berth_guide guide;         /* of draws */
} berth_proposals;

/* The policy that s was given (cfg.policy), or the one that comes with berth. Fails: BERTH_ENOMEM. */
berth_status berth_proposals_policy(const berth_search *s, berth_arena *mem, const berth_policy_file **out,
                                    berth_err *err);

/* Encode the search's problem as f sees it, one forward pass of the encoder. f decodes sequentially. In mem;
 * tmp is scratch. Fails: BERTH_ENOMEM. */
berth_status berth_proposals_new(const berth_policy_file *f, berth_search *s, berth_arena *mem,
                                 berth_arena *tmp, berth_proposals *out, berth_err *err);

/* What counts as the work of one placement of two evaluations: they are seeds of a search, too (seeds.h). */
double berth_proposals_ns(const berth_problem *p);

/* Offer the most probable placement: two evaluations, more where memory is short. A policy that was tuned
 * offers that of the one that it was tuned from first, so that it is never worse. Fails: BERTH_ENOMEM. */
berth_status berth_proposals_offer_greedy(const berth_proposals *p, berth_arena *tmp, berth_err *err);

/* The same of a policy f that places all groups at once: one evaluation. Fails: BERTH_ENOMEM. */
berth_status berth_proposals_offer_at_once(const berth_policy_file *f, berth_search *s, berth_arena *tmp,
                                           berth_err *err);

/* Offer what the policy makes of the last of n > 0 placements known[i] [n_ops] of legal devices: passes that
 * are guided by it, and by each other (berth_rollout_offer_greedy). Nothing where it is alike one before it,
 * or the work is cut. What a policy was tuned from revises first. Fails: BERTH_ENOMEM. */
berth_status berth_proposals_offer_revised(const berth_proposals *p, int32_t n, const int32_t *const *known,
                                           berth_arena *tmp, berth_err *err);

/* Offer draws for up to `evaluations` evaluations, two a draw, as long as the budget lasts and the work may
 * be done. They are guided by the incumbent, each 16 by that of their beginning, and go on where the last
 * call ended. */
void berth_proposals_offer_draws(berth_proposals *p, int64_t evaluations);

/* `policy` as a method: one pass, and its revisions, as a search of their own. */
extern const berth_method berth_method_policy;
