/* The card of a policy: from what it was made, what that cost, and what came of it. It stands in the file of
 * the policy as JSON text (docs/formats.md, "Policy card"). What a card does not say is not known. Nothing is
 * computed from it. */
#pragma once

#include "json.h"
#include "learner_cfg.h"
#include "objective.h"
#include "policy.h"
#include "safetensors.h"

/* Pairs that a card lists at most, bytes of a name there, and bytes of the text of a card. */
enum { BERTH_CARD_PAIRS = 64, BERTH_CARD_NAME = 400, BERTH_CARD_BYTES = 1 << 20 };

/* A pair that was kept aside, under one pass of the policy that training began with, and of this one. */
typedef struct berth_card_pair {
	const char *graph, *system;
	double before, after; /* of the objective; NAN: it does not fit */
} berth_card_pair;

typedef struct berth_policy_card {
	const char *data, *result; /* in words; NULL: not said */
	const char *from;          /* SHA-256 of the weights that training began with; NULL: not said */
	int64_t pairs;             /* learned from; -1: not said, here and below */
	int64_t evaluations;       /* in all, looks too */
	int64_t looks, taken;      /* of a tuning */
	double cpu_s;              /* by a rule of thumb; NAN: not said */
	int32_t n_kept;
	const berth_card_pair *kept; /* [n_kept] */
} berth_policy_card;

/* A card that says nothing. */
berth_policy_card berth_policy_card_blank(void);

/* The card as an object of a document. Names are cut to BERTH_CARD_NAME bytes, and of the pairs
 * BERTH_CARD_PAIRS are told. */
void berth_policy_card_put(berth_json_out *w, const char *key, const berth_policy_card *card);

/* Read a text of a card; file names it in messages. The card lives in mem. Fails: BERTH_EFORMAT (not such
 * JSON, an unknown key, a wrong type, longer than BERTH_CARD_BYTES, more pairs or longer names than a card
 * has), BERTH_ENOMEM. */
berth_status berth_policy_card_read(const char *file, const char *text, berth_arena *mem,
                                    berth_policy_card *out, berth_err *err);

/* Trained policies as files (safetensors): the network's tensors under the names of policy.h, the
 * configuration and where it comes from as notes, and, written by training, the state to go on from. */

enum { BERTH_POLICY_VERSION = 1 };

/* Batches of a round where a file does not say. */
enum { BERTH_TRAINED_AT_ONCE = 8 };

typedef struct berth_policy_file {
	policy_dims dims;
	policy_dims known; /* features that the file knows; further ones weigh 0. All 0: as dims */
	berth_learner_cfg cfg;
	berth_objective objective;
	bool each_objective; /* learned for latency, throughput, energy and edp */
	uint64_t seed;
	int64_t evaluations, steps;
	const char *trained_on;        /* "graph on system; ..." */
	int32_t at_once;               /* batches of a round of training; 0: as usual */
	int64_t teach;                 /* evaluations of a search for teachers; 0: it had none */
	const berth_policy_card *card; /* NULL: it has none */
	const nn_real *params;         /* [policy_param_count(&dims)] */
	/* The same of the policy that it was tuned from: it proposes its own placement, too, so that none is
	 * worse than it was. NULL: there is none. */
	const nn_real *base;
	safetensors_file raw; /* everything in the file */
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

/* The policy that comes with berth: checkpoints/zero-shot.safetensors, built into the library. Its card
 * stands beside it. */

/* The file's bytes; made by the build. */
extern const unsigned char berth_policy_zero_shot[];

extern const size_t berth_policy_zero_shot_size;

/* Read it, into mem. Fails: BERTH_ENOMEM. */
berth_status berth_policy_builtin(berth_arena *mem, berth_policy_file *out, berth_err *err);

/* Is it the one whose weights have this digest (berth_policy_file_digest)? Fails: BERTH_ENOMEM. */
berth_status berth_policy_builtin_is(const char *digest, berth_arena *tmp, bool *yes, berth_err *err);
