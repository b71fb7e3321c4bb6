/* Trained policies as files (safetensors): the network's tensors under the names of policy.h, the
 * configuration and where it comes from as notes, and, written by training, the state to go on from. */
#ifndef BERTH_POLICY_FILE_H
#define BERTH_POLICY_FILE_H

#include "learner_cfg.h"
#include "objective.h"
#include "policy.h"
#include "policy_card.h"
#include "safetensors.h"

enum { BERTH_POLICY_VERSION = 1 };

/* Batches of a round where a file does not say. */
enum { BERTH_TRAINED_AT_ONCE = 8 };

typedef struct berth_policy_file {
	policy_dims dims;
	policy_dims known;            /* features that the file knows; further ones weigh 0. All 0: as dims */
	berth_learner_cfg cfg;
	berth_objective objective;
	bool each_objective;          /* learned for latency, throughput, energy and edp */
	uint64_t seed;
	int64_t evaluations, steps;
	const char *trained_on;       /* "graph on system; ..." */
	int32_t at_once;              /* batches of a round of training; 0: as usual */
	int64_t teach;                /* evaluations of a search for teachers; 0: it had none */
	const berth_policy_card *card; /* NULL: it has none */
	const nn_real *params;        /* [policy_param_count(&dims)] */
	/* The same of the policy that it was tuned from: it proposes its own placement, too, so that none is
	 * worse than it was. NULL: there is none. */
	const nn_real *base;
	safetensors_file raw;         /* everything in the file */
} berth_policy_file;

/* Read and check a policy. One with fewer features than there are today has weights of 0 for the others.
 * Fails: BERTH_EFORMAT (damaged, another format, a newer version, more features, a card that is none),
 * BERTH_EIO, BERTH_ENOMEM. The policy lives in mem. */
berth_status berth_policy_file_read(const char *path, berth_arena *mem, berth_policy_file *out,
                                    berth_err *err);

/* The same from bytes; file names them in messages. */
berth_status berth_policy_file_decode(const char *file, const void *data, size_t size, berth_arena *mem,
                                      berth_policy_file *out, berth_err *err);

/* What it was trained for, in words. */
const char *berth_policy_file_objective(const berth_policy_file *f);

/* SHA-256 of the parameters that it knows, as 64 digits. */
void berth_policy_file_digest(const berth_policy_file *f, char digest[65]);

/* Write a policy with further tensors (the state of training; NULL: none) atomically. Of f, raw is not used,
 * nor of more its notes. Fails: BERTH_EIO, BERTH_ENOMEM. */
berth_status berth_policy_file_write(const char *path, const berth_policy_file *f,
                                     const safetensors_file *more, berth_arena *tmp, berth_err *err);

#endif
