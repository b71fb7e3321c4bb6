/* The card of a policy: from what it was made, what that cost, and what came of it. It stands in the file of
 * the policy as JSON text (docs/formats.md, "Policy card"). What a card does not say is not known. Nothing is
 * computed from it. */
#ifndef BERTH_POLICY_CARD_H
#define BERTH_POLICY_CARD_H

#include "json.h"

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
	int64_t looks, taken;      /* train_tune.h */
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

#endif
