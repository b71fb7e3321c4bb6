/* Learning to place: one policy network, any number of pairs (a graph on a system each), trained by PPO and
 * by cloning. Two decodings: one-shot (the network gives a distribution over devices for every group, and
 * all groups are drawn on their own; the elite of the latest samples is cloned: cross-entropy) and
 * sequential (decode.h: operators are placed one after the other along a list schedule; sequence.c).
 *
 * A step draws a batch of placements for one pair, scores them through the pair's search (which keeps the
 * incumbent), and updates the network. Everything is a function of the seed and of the sequence of steps;
 * random streams belong to (pair, episode). */
#ifndef BERTH_LEARNER_H
#define BERTH_LEARNER_H

#include "adam.h"
#include "policy_loss.h"
#include "rollout.h"

typedef struct berth_learner_cfg {
	int32_t groups;       /* nodes the policy sees of each graph, [1, 4096]; default 64 */
	int32_t hidden, rounds; /* of the network, see policy.h; defaults 48, 2 */
	int32_t batch;        /* evaluations a step, [2, 4096]; one a placement, sequential two; default 64 */
	int32_t batch_most;   /* one shot: what berth_learner_want grows to, [0, 4096]; default 1000. Not in
	                         checkpoints: training does not grow */
	int32_t epochs;       /* gradient steps on a batch, [0, 64]; 0: no PPO; default 4 */
	double lr;            /* of Adam, > 0; default 1e-3 */
	double clip, entropy; /* PPO, see policy_loss.h; defaults 0.2, 0.003 */
	double kl_stop; /* end the epochs of a batch when the mean KL of a decision is above, > 0; default
	                   0.03 */
	int32_t window; /* samples from which the elite is taken, every so many, [10, 65536]; default 128; two
	                   steps where they take more than batch */
	double elite;         /* share of the window that is cloned, (0, 1]; default 0.1 */
	int32_t clone_steps;  /* gradient steps of a cloning, [0, 64]; 0: no cross-entropy; default 4 */
	double seed_mass;     /* cloning of seeds stops when their mean probability reaches this, [0, 0.7];
	                         default 0.5 */
	bool hints;           /* the policy sees where HEFT puts each group; default true */
	bool sequential; /* decode along a list schedule; default false: one shot. Elite cloning and table are
	                    of the one shot */
	double key_sigma; /* sequential: deviation of drawn keys in mean operator times, (0, 100]; default 0.5
	                   */
	double table_lr;  /* > 0: logits get an own free term per (group, device) too, learned at this rate
	                     (one pair alone); default 0 */
} berth_learner_cfg;

berth_learner_cfg berth_learner_cfg_default(void);
/* Fails: BERTH_EINVAL, naming the field and its range. */
berth_status berth_learner_cfg_check(const berth_learner_cfg *cfg, berth_err *err);

/* "one-shot" or "sequential". */
const char *berth_decoding_name(bool sequential);
/* Fails: BERTH_EINVAL, naming the two. */
berth_status berth_decoding_parse(const char *name, bool *sequential, berth_err *err);

bool berth_learner_cfg_equal(const berth_learner_cfg *a, const berth_learner_cfg *b);

/* A graph on a system that is being learned, with all that must be saved to go on with the same bits. */
typedef struct berth_pair {
	berth_search *s;           /* owner of the evaluations and of the incumbent */
	berth_encoding e;
	double reference;          /* value of the best single device: rewards are log(reference / value) */
	int64_t episodes;          /* placements drawn so far */
	double mean, var;          /* moving mean and variance of rewards */
	int32_t n_window;          /* samples in the window now */
	int32_t *window_action;    /* [window][n_groups] */
	double *window_reward;     /* [window] */
	nn_real *table;            /* [n_groups][n_devs] free terms, or NULL */
	adam_state table_adam;
	berth_rollout walk;           /* sequential */
} berth_pair;

/* Scratch of the sequential decoding, for the largest pair. */
typedef struct berth_sequence {
	int32_t most;              /* episodes of a batch that there is room for */
	berth_episode *episode;    /* [most] */
	int32_t *orders;           /* [most][n_ops] */
	berth_score *scores;       /* [most][2] */
	nn_real *hidden, *logits, *dlogits, *work; /* of the steps of one episode */
	nn_real *keys, *dkeys;     /* [n_groups] when the batch was drawn; gradient */
} berth_sequence;

/* What a step tells. */
typedef struct berth_step_stats {
	int32_t n;                 /* placements drawn */
	double best, mean;         /* rewards of the batch */
	double mean_value;         /* mean value of the feasible ones; NAN: none */
	double policy_loss, kl, clip_fraction, entropy; /* last epoch; 0 where none was made */
	double clone_loss;         /* NAN: no cloning in this step */
	double grad_norm;
	int32_t feasible;
} berth_step_stats;

typedef struct berth_learner {
	berth_learner_cfg cfg;
	policy_dims dims;
	uint64_t seed;
	nn_real *params, *grads;   /* policy_param_count(dims) */
	adam_state adam;
	double lr_scale;           /* cfg.lr times this is the rate; 1 at first */
	int64_t steps;
	berth_pair *pair;
	int32_t n_pairs;
	/* scratch for the largest pair */
	nn_real *acts, *logits, *dlogits, *work, *logp, *advantage;
	int32_t *op_devs;
	berth_score *score;
	double *reward;
	/* one shot: the samples of a step, gathered; thresholds to draw from; what is cloned
	 * [n_groups][n_devs] */
	policy_batch batch;
	double *threshold;
	int64_t *votes;
	nn_real *share;
	int32_t *action;           /* [batch][n_groups] */
	berth_sequence seq;
} berth_learner;

/* A learner over the searches s[n_tasks], which it uses and does not own. params NULL: fresh ones by the
 * seed; else copied. dims of params must be those of cfg. Lives in mem; tmp is scratch. The network's rows
 * and scratch are sized once. Fails: BERTH_EINVAL, BERTH_ENOMEM. */
berth_status berth_learner_new(const berth_learner_cfg *cfg, uint64_t seed, const nn_real *params,
                               berth_search *const *s, int32_t n_pairs, berth_arena *mem, berth_arena *tmp,
                               berth_learner *out, berth_err *err);

/* Put placements of operators op_devs [n] -> [n_ops] into the policy of a pair by at most `steps` gradient
 * steps of cloning, softly: until their mean probability is cfg.seed_mass. No evaluations. */
berth_status berth_learner_clone_starts(berth_learner *l, int32_t pair, int32_t n,
                                        const int32_t *const *op_devs, int32_t steps, berth_err *err);

/* Placements that the next step on a pair should take: cfg.batch at first, then one in 64 of those drawn so
 * far, up to cfg.batch_most. What is left to learn takes ever finer differences, so a larger sample, and
 * fewer passes of the network a placement (Smith et al. 2018). */
int32_t berth_learner_want(const berth_learner *l, int32_t pair);

/* One step on a pair with at most `room` placements (see berth_search_budget_left). stats may be NULL.
 * Fails: BERTH_EINVAL where the network's numbers stop being finite. */
berth_status berth_learner_step(berth_learner *l, int32_t pair, int32_t left, berth_step_stats *stats,
                                berth_err *err);

/* The i-th of the placements that the last step drew, of the pair that it was on: op_dev [n_ops]. */
void berth_learner_drawn(const berth_learner *l, int32_t pair, int32_t i, int32_t *op_dev);

/* Clone one placement of operators into the policy by a few gradient steps (imitation of the incumbent). */
berth_status berth_learner_clone(berth_learner *l, int32_t pair, const int32_t *op_dev, int32_t steps,
                                 berth_err *err);

/* The most probable placement under the present policy, offered to the search: one evaluation, sequential
 * two or four (as berth_offer_schedule does). Fails: BERTH_ENOMEM. */
berth_status berth_learner_offer_greedy(berth_learner *l, int32_t pair, berth_arena *tmp, berth_err *err);

/* Reward of a score: log(reference / value), at least -3; below that for what does not fit memory, by its
 * excess. */
double berth_reward(double reference, berth_score score);

#endif
