/* The two uses of a language model, answering and reading, and a price for both at once. */
#pragma once

#include "problem_tables.h"

/* Of all tokens the shares that are made and that are read; together 1. */
typedef struct berth_uses {
	double answer, read;
} berth_uses;

/* From "answer:0.8,read:0.2", weights of any sum; what is not named is 0. NULL: all is answering. Fails:
 * BERTH_EINVAL (another word, a weight below 0, none above). */
berth_status berth_uses_parse(const char *text, berth_uses *out, berth_err *err);

/* What a plan for both uses makes small, in documents, where it was to be "latency". */
#define BERTH_USES_OBJECTIVE "token"

/* The times of p, of making a token, become those of a mean token: its own and those of `read`, which reads
 * `chunk` tokens at once. twin [ops of read]: the operator of p that one stands for; -1: none, it goes with
 * the one before. Transfers stay. All answering: nothing changes. O(ops * devs). Fails: BERTH_ENOMEM. */
berth_status berth_uses_mix(const berth_uses *u, berth_problem *p, const berth_problem *read,
                            const int32_t *twin, int64_t chunk, berth_arena *mem, berth_err *err);
