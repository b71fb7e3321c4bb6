/* What a user's pairs are in fine-tuning: some are learned from, others are kept aside, to see whether what
 * is learned holds for more than these. */
#pragma once

#include "train.h"

typedef struct berth_fine_tune {
	berth_train_item *learned; /* [n_learned] */
	int32_t n_learned;
	berth_train_item *kept;    /* [n_kept] */
	int32_t n_kept;
} berth_fine_tune;

/* CPU seconds of a tuning where nothing else is said. */
#define BERTH_FINE_TUNE_S 300.0

/* Settings of a training that begins at a policy, and those of the policy; evaluations that take so many CPU
 * seconds, by a rule of thumb, for the pairs that are learned from. Fails: BERTH_EUNSUPPORTED (a policy that
 * does not decode operator after operator), BERTH_EINVAL (one that was tuned itself: what it was tuned from
 * would be lost, and the new one could be worse). */
berth_status berth_fine_tune_cfg(const berth_policy_file *from, const berth_fine_tune *x, double seconds,
                                 berth_train_cfg *out, berth_err *err);

/* Of four pairs and more every fourth is kept aside. Of fewer all are learned from, and two draws of each are
 * kept aside: the same graph on the same machine with other speeds of devices and links, each times e^z with
 * z normal of deviation 0.1. Problems of draws live in mem. Fails: BERTH_EFORMAT (a figure out of range),
 * BERTH_ENOMEM. */
berth_status berth_fine_tune_split(const berth_train_item *item, int32_t n, uint64_t seed, berth_arena *mem,
                                   berth_arena *tmp, berth_fine_tune *out, berth_err *err);
