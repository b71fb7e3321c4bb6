/* The settings of learning. One table gives the struct, its defaults, its check, its comparison and its notes
 * in checkpoints. */
#pragma once

#include "status.h"

/* How a policy makes placements: X(constant, operations, name). The operations stand in agent/learn, one file
 * each. Checkpoints keep the index.
 *   one-shot    the network gives a distribution over devices for every group, and all groups are drawn on
 *               their own
 *   sequential  operators are placed one after the other along a list schedule (decode.h) */
#define BERTH_DECODINGS(X)               \
	X(ONE_SHOT, one_shot, "one-shot") \
	X(SEQUENTIAL, sequence, "sequential")

typedef enum berth_decoding {
#define X(constant, operations, name) BERTH_##constant,
	BERTH_DECODINGS(X)
#undef X
	BERTH_N_DECODINGS
} berth_decoding;

const char *berth_decoding_name(berth_decoding decoding);
/* Fails: BERTH_EINVAL, naming all. */
berth_status berth_decoding_parse(const char *name, berth_decoding *out, berth_err *err);

/* Batches of a round, and the width of the network, at most. */
enum { BERTH_MOST_AT_ONCE = 256, BERTH_WIDEST = 1024 };

/* X(type, field, note, default, least, most). Checkpoints keep the fields of X under their note. They do not
 * keep those of Y. */
#define BERTH_LEARNER_CFG(X, Y)                                                                         \
	/* Nodes that the policy sees of each graph. */                                                 \
	X(int32_t, groups, "cfg.groups", 64, 1, 4096)                                                   \
	/* Width of the network, and its rounds of messages; see policy.h. */                           \
	X(int32_t, hidden, "cfg.hidden", 48, 1, BERTH_WIDEST)                                           \
	X(int32_t, rounds, "cfg.rounds", 2, 0, 16)                                                      \
	/* Evaluations of a step. A one-shot placement takes one, a sequential one two. */              \
	X(int32_t, batch, "cfg.batch", 64, 2, 4096)                                                     \
	/* Sequential: batches of a round at most; see berth_learner_round. Training makes several. */  \
	Y(int32_t, at_once, NULL, 1, 1, BERTH_MOST_AT_ONCE)                                             \
	/* PPO's gradient steps on a batch. 0: no PPO. */                                               \
	X(int32_t, epochs, "cfg.epochs", 4, 0, 64)                                                      \
	/* Learning rate of Adam. */                                                                    \
	X(double, lr, "cfg.lr", 1e-3, 1e-9, 10)                                                         \
	/* PPO's clip and the weight of its entropy bonus; see policy_loss.h. */                        \
	X(double, clip, "cfg.clip", 0.2, 1e-3, 100)                                                     \
	X(double, entropy, "cfg.entropy", 0.003, 0, 10)                                                 \
	/* The epochs of a batch end when the mean KL divergence of a decision is above this. */        \
	X(double, kl_stop, "cfg.kl_stop", 0.03, 1e-6, 1e6)                                              \
	/* One-shot: samples from which the elite is taken, every so many. */                           \
	X(int32_t, window, "cfg.window", 128, 10, 65536)                                                \
	/* One-shot: share of the window that is cloned. */                                             \
	X(double, elite, "cfg.elite", 0.1, 1e-3, 1)                                                     \
	/* One-shot: gradient steps of cloning an elite. 0: no cross-entropy. */                        \
	X(int32_t, clone_steps, "cfg.clone_steps", 4, 0, 64)                                            \
	/* Cloning of what learning starts from stops at this mean probability. */                      \
	X(double, seed_mass, "cfg.seed_mass", 0.5, 0, 0.7)                                              \
	/* The policy sees where HEFT puts each group. */                                               \
	X(bool, hints, "cfg.hints", true, false, true)                                                  \
	X(berth_decoding, decoding, "cfg.sequential", BERTH_ONE_SHOT, 0, BERTH_N_DECODINGS - 1)         \
	/* Sequential: standard deviation of drawn keys, in mean operator times. */                     \
	X(double, key_sigma, "cfg.key_sigma", 0.5, 1e-6, 100)

typedef struct berth_learner_cfg {
#define X(type, field, note, initial, least, most) type field;
	BERTH_LEARNER_CFG(X, X)
#undef X
} berth_learner_cfg;

berth_learner_cfg berth_learner_cfg_default(void);
/* Fails: BERTH_EINVAL, naming the field and its range. */
berth_status berth_learner_cfg_range(const char *field, double x, double least, double most, berth_err *err);
/* All fields. Fails as that does. */
berth_status berth_learner_cfg_check(const berth_learner_cfg *cfg, berth_err *err);
/* Are the fields that checkpoints keep equal? */
bool berth_learner_cfg_equal(const berth_learner_cfg *a, const berth_learner_cfg *b);
