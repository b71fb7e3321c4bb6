/* An engine: a program that runs models, spoken to by JSON lines over its standard input and output
 * (docs/formats.md has the protocol). Here: starting it, asking with a time limit, and surviving whatever it
 * does. What questions and answers mean is measured.h's business.
 *
 * An engine that crashes, hangs, closes its output or writes what is no answer is killed, with all that it
 * started; the call says what happened and ends with its last words. The next question starts it again. */
#ifndef BERTH_ENGINE_CLIENT_H
#define BERTH_ENGINE_CLIENT_H

#include "json.h"

#include <stdatomic.h>

enum { BERTH_ENGINE_PROTOCOL = 1 };

typedef struct berth_engine_cfg {
	const char *name;        /* for messages */
	const char *const *argv; /* program (looked for in PATH where it has no slash) and its arguments,
	                            ended by NULL */
	double hello_s;          /* limit of the first answer; default 60 */
	const atomic_int *cancel; /* not 0: leave off waiting and kill the engine; NULL: none */
} berth_engine_cfg;

typedef struct berth_engine_device {
	const char *name, *kind;
	int64_t memory_bytes; /* -1: not said */
	const char *text;     /* all that it says of the device, as JSON: what a cache of times goes by */
} berth_engine_device;

/* What the engine says of itself; of its latest start. */
typedef struct berth_engine_hello {
	const char *engine, *version;
	const char *clock;  /* what its samples' wall_s means, "wall" by default */
	int32_t n_devs;     /* >= 1 */
	berth_engine_device *dev;
} berth_engine_hello;

typedef struct berth_engine berth_engine;

/* Start the engine and hear its hello. Everything lives in mem; berth_engine_stop ends the process. cfg's
 * texts must outlive it. Fails: BERTH_EIO (no such program, no answer, a bad one), BERTH_ELIMIT (no answer
 * in time), BERTH_EINTERRUPTED, BERTH_ENOMEM. */
berth_status berth_engine_start(const berth_engine_cfg *cfg, berth_arena *mem, berth_engine **out,
                                berth_err *err);
/* Ask it to leave, and kill it where it does not. e may be NULL. */
void berth_engine_stop(berth_engine *e);

const berth_engine_hello *berth_engine_says(const berth_engine *e);
const char *berth_engine_name(const berth_engine *e);
/* How often it was started; a caller that sees the number change has to load its model again. */
int32_t berth_engine_starts(const berth_engine *e);

bool berth_engine_runs(const berth_engine *e);

/* Start it again where it died. Fails as berth_engine_start does. */
berth_status berth_engine_revive(berth_engine *e, berth_err *err);

/* A question: opens {"id":N,"do":what; the caller adds members and passes w to berth_engine_ask, which
 * closes it. */
void berth_engine_question(berth_engine *e, const char *what, berth_json_out *w, berth_arena *tmp);
/* Send it and wait at most limit_s seconds for the answer; *answer is the caller's, to be freed by
 * cJSON_Delete. Fails: what the engine refuses by its "kind": "model" BERTH_EFORMAT, "device"
 * BERTH_EINFEASIBLE, else BERTH_EINVAL (the engine lives on); BERTH_EIO (it died, or wrote no answer),
 * BERTH_ELIMIT (no answer in time), BERTH_EINTERRUPTED, BERTH_ENOMEM. */
berth_status berth_engine_ask(berth_engine *e, berth_json_out *w, double limit_s, cJSON **answer,
                              berth_err *err);
/* Fail with text that an engine may have had a hand in: control characters and bytes that are no UTF-8
 * become blanks, and a character that was cut goes. */
berth_status berth_engine_fail(berth_err *err, berth_status st, const char *fmt, ...) BERTH_PRINTF(3, 4);
/* The caller found an answer that makes no sense: kill the engine. Adds its name to the message; returns
 * BERTH_EIO. */
berth_status berth_engine_lied(berth_engine *e, berth_err *err, const char *fmt, ...) BERTH_PRINTF(3, 4);

#endif
