/* One question on its way to the engine, and its answer on its way to be read: what all questions of
 * measured.c have in common. Inside the folder only.
 *
 * Readers take members out of an answer. What cannot be true they refuse with BERTH_EFORMAT: that is the
 * engine's fault, which is killed for it (answer_judge). */
#pragma once

#include "measured.h"

typedef struct engine_answer {
	berth_measured *m;
	cJSON *item;
	berth_json at;         /* the whole of it */
	double took_s;         /* seconds until it came; infinite where the journal had it */
	const char *question, *text; /* where both are to be noted in the journal; else NULL */
	bool sound;            /* what its reader fails with is what was measured, no fault of the answer */
} engine_answer;

/* Ask the journal, where there is one (NULL: none), else the engine, for at most limit_s seconds and `most`
 * bytes. w is open. Fails: as berth_engine_ask, or as the journal says that it failed. answer_settle has to
 * follow, whatever comes; without a journal cJSON_Delete of the item will do. */
berth_status answer_ask(berth_measured *m, berth_journal *journal, berth_json_out *w, double limit_s,
                        size_t most, berth_arena *tmp, engine_answer *a, berth_err *err);

/* The end of a question. st is what came of asking and reading, and `why` its message. The journal gets to
 * know the answer only now that it was judged. What came from outside (BERTH_ENOMEM, BERTH_EINTERRUPTED) is
 * no outcome and not noted. Counts failures of the engine. Returns st; or BERTH_EIO where the journal cannot
 * be written. */
berth_status answer_settle(engine_answer *a, berth_status st, const berth_err *why, berth_err *err);

/* st of reading the answer: what made no sense (BERTH_EFORMAT, unless it is sound) kills the engine and
 * becomes BERTH_EIO, with the message that err has. */
berth_status answer_judge(const engine_answer *a, berth_status st, berth_err *err);

/* The entries of the array at->key, of which there must be n (-1: any number), in tmp. *count: how many. */
berth_status answer_rows(const berth_json *at, const char *key, int32_t n, berth_arena *tmp, berth_json **row,
                         int32_t *count, berth_err *err);
/* A list of n seconds >= 0, in mem. Where it is missing and not required all are NAN. Required ones cannot
 * last longer together than the answer took, where the engine's clock is the wall's. */
berth_status answer_seconds(const engine_answer *a, const berth_json *at, const char *key, int32_t n,
                            bool required, berth_arena *mem, double **out, berth_err *err);
/* "device": a device of the engine, as the system's. */
berth_status answer_device(const engine_answer *a, const berth_json *at, int32_t *dev, berth_err *err);

/* Seconds by which two readings of a clock may differ and still mean the same. */
#define ANSWER_CLOCK_SLACK_S 1e-3
