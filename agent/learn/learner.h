/* Learning to place: one policy network, any number of pairs (a graph on a system each), trained by PPO and
 * by cloning.
 *
 * A step draws a batch of placements for one pair, scores them through the pair's search (which keeps the
 * incumbent), and updates the network. How placements are drawn is the decoding's part (learner_decoding).
 * Everything is a function of the seed and of the sequence of steps; random streams belong to (pair,
 * episode). */
#pragma once

#include "all_gather.h"
#include "learner_cfg.h"
#include "nn_table.h"
#include "policy_loss.h"
#include "rollout.h"

/* A graph on a system that is being learned, with all that must be saved to go on with the same bits. */
typedef struct berth_pair {
	berth_search *s; /* owner of the evaluations and of the incumbent */
	berth_encoding e;
	int32_t n_ops;
	uint64_t seed;    /* of its episodes */
	double reference; /* value of the best single device, for rewards */
	int64_t episodes; /* placements drawn so far */
	berth_baseline baseline;
	/* one-shot */
	int32_t n_window;       /* samples in the window now */
	int32_t *window_action; /* [window][n_groups] */
	double *window_reward;  /* [window] */
	/* sequential */
	berth_rollout rollout;
} berth_pair;

/* What a step tells. */
typedef struct berth_step_stats {
	int32_t n;                                      /* placements drawn */
	int32_t feasible;                               /* of them */
	double best, worst, mean;                       /* rewards of the batch */
	double mean_value;                              /* mean value of the feasible ones; NAN: none */
	double policy_loss, kl, clip_fraction, entropy; /* last epoch; 0 where none was made */
	double clone_loss;                              /* NAN: no cloning in this step */
	double grad_norm;
} berth_step_stats;

/* Scratch of the one-shot decoding, for the largest pair. cells: groups * devices. */
typedef struct berth_one_shot {
	policy_batch batch;        /* the samples of a step, gathered */
	int32_t *action;           /* [batch][n_groups] of the last step */
	int32_t *op_devs;          /* [workers][n_ops] */
	double *threshold;         /* [cells] to draw from */
	nn_real *logits, *dlogits; /* [cells] */
	nn_real *work;             /* [2 * cells] */
	nn_real *logp;             /* [cells] */
	int64_t *votes;            /* [cells] */
	nn_real *share;            /* [cells] what is cloned */
} berth_one_shot;

/* Scratch of the sequential decoding for a batch of the largest pair. */
typedef struct berth_sequence {
	int32_t most;                              /* episodes of a batch that there is room for */
	berth_episode *episode;                    /* [most] */
	int32_t *op_devs;                          /* [most][n_ops] of the last step */
	int32_t *orders;                           /* [most][n_ops] */
	berth_score *scores;                       /* [most][2] */
	nn_real *hidden, *logits, *dlogits, *work; /* of the steps of one episode */
	berth_guide guide;                         /* of the batch */
	int32_t *guide_dev;                        /* [n_ops] what it is made of */
	nn_real *keys, *dkeys;                     /* [n_groups] when the batch was drawn; gradient */
} berth_sequence;

/* A batch of placements of one pair on its way: drawn, scored, learned from. rows: placements of a step at
 * most. */
typedef struct berth_batch {
	berth_pair *pair;
	int32_t n;
	int32_t rank;            /* that draws it */
	int32_t best;            /* row of the best of its placements that is here */
	int64_t first;           /* episode */
	berth_baseline baseline; /* the pair's, moved by this batch */
	berth_step_stats stats;
	nn_real *acts, *grads;
	nn_real *advantage;      /* [rows] */
	berth_score *score;      /* [rows] */
	double *reward;          /* [rows] */
	berth_sequence sequence; /* of that decoding alone */
	bool ended;              /* no epoch of it is left */
	bool taught, search;     /* as its turn says */
	berth_status status;
	berth_err err;
} berth_batch;

/* Largest figures over all pairs. */
typedef struct learner_sizes {
	size_t groups, cells; /* cells: groups * devices */
	size_t ops, op_cells; /* op_cells: operators * devices */
	size_t acts, workers;
	size_t rows; /* placements of a step at most */
} learner_sizes;

typedef struct berth_learner {
	berth_learner_cfg cfg;
	policy_dims dims;
	uint64_t seed;
	nn_real *params; /* [policy_param_count(dims)] */
	adam_state adam;
	double lr_scale; /* cfg.lr times this is the rate; 1 at first */
	int64_t steps;
	berth_pair *pair; /* [n_pairs] */
	int32_t n_pairs;
	berth_batch *batch;      /* [cfg.at_once]; the first one serves what is done one by one, too */
	berth_one_shot one_shot; /* of that decoding alone */
	berth_ranks *ranks;      /* that share the batches of a round; NULL: one alone */
	int64_t evaluations;     /* that this rank has made in rounds */
	/* Called in each round when its n batches are dealt out, before they are drawn: open their pairs,
	 * those of other ranks with as much of a search as takes an incumbent. NULL: all are open. */
	berth_status (*open)(void *ctx, int32_t n, berth_err *err);
	void *open_ctx;
	/* Called in turns that are taught and search, by the worker that has the batch: a placement for the
	 * pair to be taught, with its order and its scores under the rule and under the order.
	 *   from  [n_ops] what the policy comes to; NULL: the pair has its first turn */
	berth_status (*teach)(void *ctx, int32_t pair, const int32_t *from, int32_t *op_dev, int32_t *order,
	                      berth_score scores[2], berth_err *err);
	void *teach_ctx;
} berth_learner;

/* A learner over the searches s[n_pairs], which it uses and does not own.
 *   params  copied; of cfg's dimensions. NULL: fresh ones by the seed
 *   mem     holds it
 *   tmp     scratch, reset at exit
 * Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status berth_learner_new(const berth_learner_cfg *cfg, uint64_t seed, const nn_real *params,
                               berth_search *const *s, int32_t n_pairs, berth_arena *mem, berth_arena *tmp,
                               berth_learner *out, berth_err *err);

/* The same in parts, for more pairs than memory holds at once: a learner of n_pairs that are closed; the pair
 * i in mem, which may go when nothing more is asked of it, and be opened again; what opened pairs take, added
 * to z; scratch for pairs of sizes up to z, to be called once. Of a closed pair the numbers stay. Sequential
 * decoding alone. Fail: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status berth_learner_new_closed(const berth_learner_cfg *cfg, uint64_t seed, int32_t n_pairs,
                                      berth_arena *mem, berth_learner *out, berth_err *err);

berth_status berth_learner_open_pair(berth_learner *l, int32_t i, berth_search *s, berth_arena *mem,
                                     berth_arena *tmp, berth_err *err);

void berth_learner_measure(const berth_learner *l, int32_t i, learner_sizes *z);

berth_status berth_learner_make_room(berth_learner *l, const learner_sizes *z, berth_arena *mem,
                                     berth_err *err);

/* Put placements of operators op_devs [n] -> [n_ops] into the policy of pair i by at most `steps` gradient
 * steps of cloning, softly: until their mean probability is cfg.seed_mass. No evaluations. */
berth_status berth_learner_clone_starts(berth_learner *l, int32_t i, int32_t n, const int32_t *const *op_devs,
                                        int32_t steps, berth_err *err);

/* Clone one placement of operators into the policy by a few gradient steps (imitation of the incumbent). */
berth_status berth_learner_clone(berth_learner *l, int32_t i, const int32_t *op_dev, int32_t steps,
                                 berth_err *err);

/* A batch of a round: on which pair, with how many evaluations at most (see berth_search_budget_left).
 * Taught: it draws nothing and imitates the pair's incumbent, without evaluations; sequential decoding alone.
 * search: l->teach is asked for a better incumbent first. */
typedef struct berth_turn {
	int32_t pair, left;
	bool taught, search;
} berth_turn;

/* n steps at once, at most cfg.at_once; pairs may repeat. stats [n] may be NULL.
 * All batches are drawn from the policy as it is, on all workers of the searches' pool (which is one for all
 * pairs). Each makes its own gradient steps, epoch by epoch, in the order of the turns. A gradient is then up
 * to n - 1 steps older than the policy that it moves. That allows as many threads as batches, for the whole
 * step, and the same bits for any number of them. The one-shot decoding makes its steps one after the other.
 * With ranks each does some of the batches, and what came of them is traded after each epoch
 * (sequence_ranks.h). Fails: BERTH_EINVAL where the network's numbers stop being finite; as
 * berth_ranks_trade; as l->teach, and then the learner is as it was before. */
berth_status berth_learner_round(berth_learner *l, int32_t n, const berth_turn *turn, berth_step_stats *stats,
                                 berth_err *err);

/* A round of one, whose placements all workers draw. */
berth_status berth_learner_step(berth_learner *l, int32_t i, int32_t left, berth_step_stats *stats,
                                berth_err *err);

/* The k-th of the placements that the last berth_learner_step drew, which was on pair i: op_dev [n_ops]. */
void berth_learner_drawn(const berth_learner *l, int32_t i, int32_t k, int32_t *op_dev);

/* The most probable placement under the present policy, offered to the search: one evaluation; sequential
 * two or more (berth_rollout_offer_greedy). Fails: BERTH_ENOMEM. */
berth_status berth_learner_offer_greedy(berth_learner *l, int32_t i, berth_arena *tmp, berth_err *err);

/* Samples that a pair's window keeps under these settings; 0: it has none. */
int32_t berth_learner_window(const berth_learner_cfg *cfg);

/* A decoding as the learner sees it. Adding one is a file with its operations and a line in
 * BERTH_DECODINGS. */
typedef struct learner_decoding {
	int32_t (*window)(const berth_learner_cfg *cfg); /* samples that a pair's window keeps */
	/* What it keeps of a pair and as scratch. Fail: BERTH_ENOMEM. */
	berth_status (*new_pair)(const berth_learner_cfg *cfg, berth_pair *pair, berth_arena *mem,
	                         berth_err *err);
	berth_status (*new_scratch)(berth_learner *l, const learner_sizes *z, berth_arena *mem,
	                            berth_err *err);
	/* As the functions of learner.h. Pairs have groups, but for a round. Its batches have their pair. */
	berth_status (*round)(berth_learner *l, int32_t n, const berth_turn *turn, berth_err *err);
	void (*drawn)(const berth_learner *l, const berth_pair *pair, int32_t k, int32_t *op_dev);
	berth_status (*offer_greedy)(berth_learner *l, berth_pair *pair, berth_arena *tmp, berth_err *err);
	/* At most `steps` gradient steps of cloning op_devs [n] -> [n_ops], until their mean probability is
	 * mass. */
	berth_status (*clone)(berth_learner *l, berth_pair *pair, int32_t n, const int32_t *const *op_devs,
	                      int32_t steps, double mass, berth_err *err);
} learner_decoding;

#define X(constant, operations, name) extern const learner_decoding learner_##operations;
BERTH_DECODINGS(X)
#undef X

/* ---- the parts of a step that all decodings share ---- */

/* Rewards of the batch's scores, its baseline, and the advantages. keep: share of the pair's baseline that
 * stays, in [0, 1). Reads the pair alone. */
void learner_note_rewards(berth_batch *b, double keep);

/* Take the batch into its pair: the baseline, the number of episodes. */
void learner_settle(const berth_batch *b, double keep);

/* What the last epoch of PPO told. */
void learner_note_ppo(const policy_ppo_stats *now, berth_step_stats *stats);

/* One Adam step from the batch's gradient; *norm: its length. Fails: BERTH_EINVAL where that is not
 * finite. */
berth_status learner_apply(berth_learner *l, const berth_batch *b, double *norm, berth_err *err);
