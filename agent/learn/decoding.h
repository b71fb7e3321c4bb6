/* A decoding as the learner sees it. Adding one is a file with its operations and a line in
 * BERTH_DECODINGS. */
#ifndef BERTH_DECODING_H
#define BERTH_DECODING_H

#include "learner.h"

typedef struct learner_decoding {
	int32_t draw_cost; /* evaluations that a placement takes */
	/* Evaluations of a step at most; samples that a pair's window keeps. */
	int32_t (*batch_most)(const berth_learner_cfg *cfg);
	int32_t (*window)(const berth_learner_cfg *cfg);
	/* What it keeps of a pair and as scratch. Fail: BERTH_ENOMEM. */
	berth_status (*new_pair)(const berth_learner_cfg *cfg, berth_pair *pair, berth_arena *mem,
	                         berth_err *err);
	berth_status (*new_scratch)(berth_learner *l, const learner_sizes *z, berth_arena *mem,
	                            berth_err *err);
	/* As the functions of learner.h. Pairs have groups, but for a round. Its batches have their pair. */
	berth_status (*round)(berth_learner *l, int32_t n, const berth_turn *turn, berth_err *err);
	void (*drawn)(const berth_learner *l, const berth_pair *pair, int32_t k, int32_t *op_dev);
	berth_status (*offer_greedy)(berth_learner *l, berth_pair *pair, berth_arena *tmp,
	                             berth_err *err);
	/* At most `steps` gradient steps of cloning op_devs [n] -> [n_ops], until their mean probability is
	 * mass. */
	berth_status (*clone)(berth_learner *l, berth_pair *pair, int32_t n, const int32_t *const *op_devs,
	                      int32_t steps, double mass, berth_err *err);
} learner_decoding;

#define X(constant, operations, name) extern const learner_decoding learner_##operations;
BERTH_DECODINGS(X)
#undef X

#endif
